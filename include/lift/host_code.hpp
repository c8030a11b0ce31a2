// Host code: a plan as a C library of two files that needs OpenCL 1.2 and nothing else.
//
//   const HostCode code = printHostCode(plan);   // write them as host.h and host.c: the source includes "host.h"
//
// For a plan `dot` of a size n, inputs x and y and a result out, the header declares (C99 and C++):
//
//   typedef struct dot_plan dot_plan;
//   cl_int dot_create(cl_context context, cl_device_id device, const char* build_options, dot_plan** plan);
//   const char* dot_build_log(const dot_plan* plan);
//   size_t dot_bytes_of_x(int n);   // and of y and out
//   cl_int dot_run(dot_plan* plan, cl_command_queue queue, int n, cl_mem x, cl_mem y, cl_mem out,
//                  cl_uint nwait, const cl_event* wait, cl_event* done);
//   void dot_destroy(dot_plan* plan);
//
// and dot_prepare when the plan has launches of preparation. Context, device, queue, buffers and events are the
// caller's; nothing is copied. docs/host_code.md is the guide for those who call it.
#pragma once

#include <string>

#include "lift/kernel.hpp"

namespace lift {

struct HostCode {
  std::string header;  // host.h
  std::string source;  // host.c
};

// Deterministic. The plan's sources must be there. Names that C or C++ or the interface itself need get an underscore
// ("int" becomes "int_"), "x.0" becomes "x_0". Conditions on sizes that are not in the plan, those of the program
// (`split` wants a divisor), are not checked by the host code.
//
// All names that the two files define for a linker begin with `prefix` and an underscore; without one, with the plan's
// name. Throws UserError (usage) for a prefix that is no such beginning.
HostCode printHostCode(const kernel::Plan& plan, const std::string& prefix = {});

// The plan as a library of C11 without OpenCL, for GCC and Clang: kernels are functions, shared among threads by OpenMP
// where that is on. For the program above NAME.h declares
//
//   dot_plan* dot_create(void);
//   size_t dot_bytes_of_x(int n);   // and of y and out
//   int dot_run(dot_plan* plan, int n, const float* x, const float* y, float* out);
//   void dot_destroy(dot_plan* plan);
//
// docs/c_target.md is the guide. Throws UserError (program) for kernels that are no plain C: see kernel::printC.
struct CCode {
  std::string name;  // of the files, without ".h" and ".c"
  std::string header;
  std::string source;  // includes "NAME.h"
};
CCode printCCode(const kernel::Plan& plan, const std::string& prefix = {});

}  // namespace lift
