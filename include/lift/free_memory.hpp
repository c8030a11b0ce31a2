// Memory that is left, so that what would exhaust it is refused before any of it is taken.
#pragma once

#include <cstdint>

namespace lift {

// Bytes that this process can still take: what the system has available, or less where a control group or a limit of
// the process says so. The largest number where the system tells nothing.
std::int64_t freeMemory();

}  // namespace lift
