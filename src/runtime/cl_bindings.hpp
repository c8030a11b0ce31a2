// The OpenCL C++ bindings as this module uses them: exceptions on, and OpenCL 1.2, which every driver has and which is
// all that plans need. (Aiming higher, the bindings choose functions by the platform's version at run time, and those
// of 2023.02 do not compile with a minimum of 1.2.)
#pragma once

#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <string>
#include <utility>

#include "lift/diagnostic.hpp"

namespace lift::runtime {

// "CL_OUT_OF_RESOURCES (-5)".
std::string clErrorName(int code);

// "cannot DOING: clCreateBuffer failed with CL_…", status device, with a hint where there is one.
UserError clFailure(const std::string& doing, const cl::Error& error);

// Runs `body`; an error of OpenCL leaves as a UserError.
template <class F>
auto guarded(const std::string& doing, F&& body) {
  try {
    return std::forward<F>(body)();
  } catch (const cl::Error& error) {
    throw clFailure(doing, error);
  }
}

}  // namespace lift::runtime
