// What a plan promises before it runs.
#pragma once

#include "lift/kernel.hpp"

namespace lift::explore::detail {

// Instructions of all work-items of all launches: accesses, operations, and what registers do not hold. Comparable
// between plans of one program; smaller is better.
double estimateOf(const kernel::Plan& plan);

}  // namespace lift::explore::detail
