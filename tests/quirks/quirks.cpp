// Drivers' quirks, put in front of the real driver with LD_PRELOAD. LIFT_QUIRK names one:
//   no-profiling   no queue has profiling
//   no-clock       the device's clock stands still
//   slow-clock     it moves by nanoseconds only
//   small-groups   the device allows 16 work-items in a group
//   flat-groups    the device allows 8 work-items in a group's first dimension, one in the others
//   small-memory   the device has 1,024 bytes of local memory
//   modest         compiled kernels are said to allow one work-item, and run with more
//   sub-groups     the device reports sub-groups, whose functions are wrong, or not there
//   opencl-1.1     the device's compiler is one of OpenCL 1.1
//   silent         it refuses everything, and has no log
//   crashing       it crashes
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

bool has(std::string_view quirk) {
  const char* wanted = std::getenv("LIFT_QUIRK");
  return wanted != nullptr && wanted == quirk;
}

}  // namespace

// The function of the same name behind this library.
#define REAL(name) reinterpret_cast<decltype(&(name))>(dlsym(RTLD_NEXT, #name))

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
                                      cl_int* error) {
  if (has("no-profiling") && (properties & CL_QUEUE_PROFILING_ENABLE) != 0) {
    if (error != nullptr) *error = CL_INVALID_QUEUE_PROPERTIES;
    return nullptr;
  }
  return REAL(clCreateCommandQueue)(context, device, properties, error);
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                    const cl_queue_properties* properties, cl_int* error) {
  for (const cl_queue_properties* p = properties; has("no-profiling") && p != nullptr && *p != 0; p += 2)
    if (p[0] == CL_QUEUE_PROPERTIES && (p[1] & CL_QUEUE_PROFILING_ENABLE) != 0) {
      if (error != nullptr) *error = CL_INVALID_QUEUE_PROPERTIES;
      return nullptr;
    }
  return REAL(clCreateCommandQueueWithProperties)(context, device, properties, error);
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void* value, size_t* written) {
  const cl_int status = REAL(clGetEventProfilingInfo)(event, what, size, value, written);
  if (has("no-clock") && status == CL_SUCCESS && value != nullptr && size >= sizeof(cl_ulong))
    *static_cast<cl_ulong*>(value) = 0;
  if (has("slow-clock") && status == CL_SUCCESS && value != nullptr && size >= sizeof(cl_ulong))
    *static_cast<cl_ulong*>(value) = what == CL_PROFILING_COMMAND_END ? 12 : 10;
  return status;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void* value, size_t* written) {
  const cl_int status = REAL(clGetDeviceInfo)(device, what, size, value, written);
  if (has("small-groups") && what == CL_DEVICE_MAX_WORK_GROUP_SIZE && status == CL_SUCCESS && value != nullptr)
    *static_cast<size_t*>(value) = 16;
  if (has("flat-groups") && what == CL_DEVICE_MAX_WORK_ITEM_SIZES && status == CL_SUCCESS && value != nullptr)
    for (size_t d = 0; d < size / sizeof(size_t); d++) static_cast<size_t*>(value)[d] = d == 0 ? 8 : 1;
  if (has("small-memory") && what == CL_DEVICE_LOCAL_MEM_SIZE && status == CL_SUCCESS && value != nullptr)
    *static_cast<cl_ulong*>(value) = 1024;
  if (has("near-cache") && what == CL_DEVICE_GLOBAL_MEM_CACHE_SIZE && status == CL_SUCCESS && value != nullptr)
    *static_cast<cl_ulong*>(value) = 4096;
  if (has("sub-groups") && what == CL_DEVICE_EXTENSIONS && status == CL_SUCCESS && value != nullptr) {
    constexpr std::string_view other = "cl_khr_byte_addressable_store", subgroups = "cl_khr_subgroups             ";
    static_assert(other.size() == subgroups.size());
    if (char* at = std::strstr(static_cast<char*>(value), other.data()))
      std::memcpy(at, subgroups.data(), other.size());
  }
  if (has("opencl-1.1") && what == CL_DEVICE_OPENCL_C_VERSION && status == CL_SUCCESS && value != nullptr)
    std::memcpy(static_cast<char*>(value) + std::strlen("OpenCL C "), "1.1", 3);
  return status;
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                      void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  if (has("silent")) return CL_INVALID_BUILD_OPTIONS;
  if (has("crashing")) __builtin_trap();
  return REAL(clBuildProgram)(program, count, devices, options, notify, data);
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what, size_t size,
                             void* value, size_t* written) {
  if (has("silent") && what == CL_PROGRAM_BUILD_LOG) return CL_INVALID_PROGRAM;
  return REAL(clGetProgramBuildInfo)(program, device, what, size, value, written);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t size,
                                void* value, size_t* written) {
  const cl_int status = REAL(clGetKernelWorkGroupInfo)(kernel, device, what, size, value, written);
  if (has("modest") && what == CL_KERNEL_WORK_GROUP_SIZE && status == CL_SUCCESS && value != nullptr)
    *static_cast<size_t*>(value) = 1;
  return status;
}
