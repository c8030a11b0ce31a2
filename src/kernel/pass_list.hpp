// The pass functions; passes.cpp lists them.
#pragma once

#include <string>
#include <utility>

#include "lift/kernel_passes.hpp"

namespace lift::kernel {

Kernel simplifyPass(Kernel kernel, const PassOptions& options);
Kernel tripsPass(Kernel kernel, const PassOptions& options);
Kernel ownPass(Kernel kernel, const PassOptions& options);
Kernel unrollPass(Kernel kernel, const PassOptions& options);
Kernel nestPass(Kernel kernel, const PassOptions& options);
Kernel splitPass(Kernel kernel, const PassOptions& options);
Kernel scalarsPass(Kernel kernel, const PassOptions& options);
Kernel declarePass(Kernel kernel, const PassOptions& options);
Kernel copiesPass(Kernel kernel, const PassOptions& options);
Kernel deadPass(Kernel kernel, const PassOptions& options);
Kernel fusePass(Kernel kernel, const PassOptions& options);
Kernel unswitchPass(Kernel kernel, const PassOptions& options);
Kernel versionPass(Kernel kernel, const PassOptions& options);
Kernel absentPass(Kernel kernel, const PassOptions& options);
Kernel lanesPass(Kernel kernel, const PassOptions& options);
Kernel widenPass(Kernel kernel, const PassOptions& options);
Kernel orderPass(Kernel kernel, const PassOptions& options);
Kernel transposePass(Kernel kernel, const PassOptions& options);
Kernel joinPass(Kernel kernel, const PassOptions& options);
Kernel narrowPass(Kernel kernel, const PassOptions& options);
Kernel streamPass(Kernel kernel, const PassOptions& options);
Kernel prefetchPass(Kernel kernel, const PassOptions& options);
Kernel barriersPass(Kernel kernel, const PassOptions& options);
Kernel aheadPass(Kernel kernel, const PassOptions& options);
Kernel hoistPass(Kernel kernel, const PassOptions& options);

inline void note(const PassOptions& options, const char* pass, std::string text) {
  if (options.notes != nullptr) options.notes->push_back({pass, std::move(text)});
}

}  // namespace lift::kernel
