// What compilers print of a kernel. Each takes the commands' output and the assembly; what is not there stays unknown.
#pragma once

#include "lift/offline.hpp"

namespace lift::detail {

KernelStatistics parseClang(const std::string& output, const std::string& assembly);      // warnings
KernelStatistics parseAmd(const std::string& output, const std::string& assembly);        // LLVM's remarks
KernelStatistics parsePtxas(const std::string& output, const std::string& assembly);      // ptxas -v; PTX
KernelStatistics parseIntel(const std::string& output, const std::string& assembly);      // ocloc; Gen assembly
KernelStatistics parsePanfrost(const std::string& output, const std::string& assembly);   // SHADER-DB lines
KernelStatistics parseFreedreno(const std::string& output, const std::string& assembly);  // "CL prog" lines

}  // namespace lift::detail
