// Barriers in their places, with the control flow around them made the same for all work-items of a group.
#pragma once

#include <unordered_map>

#include "dependence.hpp"

namespace lift::kernel {

using Placement = std::unordered_map<const Stmt*, Barrier>;  // the barrier that goes before a statement

// Rebuilds the body of the kernel with the barriers. Where one lands in a loop that does not run equally often for all
// work-items of a group, or in a conditional that they may decide differently, the loop is made to run equally often
// and everything but the barriers is guarded. Throws UserError where that is impossible.
Block insertBarriers(Kernel& kernel, const Dependence& dependence, const Placement& placed);

}  // namespace lift::kernel
