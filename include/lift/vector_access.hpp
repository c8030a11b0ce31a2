// What goes before the text of OpenCL kernels when it is built, for one driver's sake.
#pragma once

#include <string>
#include <vector>

namespace lift::kernel {

// Definitions of vloadn and vstoren, for n = 2, 4, 8 and 16, as accesses of whole vectors at addresses that are aligned
// as their elements are, of the types and the n that stand in these sources. They count on PoCL alone, which takes
// vectors apart into pairs: LLVM puts them together again, but takes 5 to 8 times as long to compile such a kernel, and
// adds up some of them by pairs. To be put in front of a program once; empty where no source has a vloadn or vstoren.
std::string vectorAccess(const std::vector<std::string>& sources);

}  // namespace lift::kernel
