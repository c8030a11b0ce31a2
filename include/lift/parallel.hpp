// Loops over all cores of the host, for judges and peers.
#pragma once

#include <cstdint>
#include <functional>

namespace lift {

// Calls body(0) … body(count - 1), each once, on all cores in no particular order; returns when all have returned.
// `body` must not throw.
void parallelFor(std::int64_t count, const std::function<void(std::int64_t)>& body);

}  // namespace lift
