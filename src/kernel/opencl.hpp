// What OpenCL C and its headers keep for themselves.
#pragma once

#include <string>

namespace lift::kernel {

bool isReservedInOpencl(const std::string& name);

}  // namespace lift::kernel
