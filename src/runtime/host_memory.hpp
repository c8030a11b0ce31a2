// Memory of this process that kernels on the processor read and write.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "lift/device.hpp"

namespace lift::runtime {

struct FreeHostMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using HostMemory = std::unique_ptr<void, FreeHostMemory>;

// From so many bytes on memory lies in large pages, where the system has some.
constexpr std::int64_t largePageBytes = std::int64_t{2} << 20U;

// At least so many bytes, aligned for every vector type. Large memory asks the system for large pages: weights that are
// read once a run, from more pages than the processor keeps addresses of, come 10 to 20 % faster.
// Throws UserError (device) where there is no more memory.
HostMemory allocateHostMemory(std::int64_t bytes);

// Throws UserError (device) where this machine has less memory left than a plan's buffers take of it.
void requireHostMemory(const kernel::Plan& plan, const Binding& binding, const MemoryUse& use);

// Bytes of the last cache that this processor's cores have; 0: not known.
std::uint64_t lastCacheBytes();

}  // namespace lift::runtime
