#include "host_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/free_memory.hpp"

namespace lift::runtime {

HostMemory allocateHostMemory(std::int64_t bytes) {
  constexpr std::int64_t widestVector = 128;
  const std::int64_t alignment = bytes >= largePageBytes ? largePageBytes : widestVector;
  const auto size = static_cast<std::size_t>((bytes / alignment + 1) * alignment);
  HostMemory memory(std::aligned_alloc(static_cast<std::size_t>(alignment), size));
  if (!memory) throw UserError(ExitStatus::device, fmt::format("cannot allocate {} bytes", bytes));
#ifdef MADV_HUGEPAGE
  if (bytes >= largePageBytes) madvise(memory.get(), size, MADV_HUGEPAGE);  // a wish: its failure changes nothing
#endif
  return memory;
}

void requireHostMemory(const kernel::Plan& plan, const Binding& binding, const MemoryUse& use) {
  constexpr std::int64_t large = std::int64_t{64} << 20U;  // what is smaller is as well tried
  if (use.total() < large) return;
  const std::int64_t left = freeMemory();
  if (use.total() <= left) return;
  const auto largest = static_cast<std::size_t>(std::ranges::max_element(binding.bytes) - binding.bytes.begin());
  throw UserError(ExitStatus::device,
                  fmt::format("the program needs {} bytes on this machine ({} for {}, the largest array), {} are free",
                              use.total(), binding.bytes[largest], plan.buffers[largest].name, left));
}

// The C library adds up the caches of all cores of some processors, also where a virtual machine has but two of them:
// the system's own account comes first.
std::uint64_t lastCacheBytes() {
  std::uint64_t most = 0;
  for (int i = 0;; i++) {
    const auto size = readFile(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", i));  // "1024K"
    if (!size) break;
    most = std::max<std::uint64_t>(most, std::strtoull(size->c_str(), nullptr, 10) << 10);
  }
  if (most > 0) return most;
  return static_cast<std::uint64_t>(std::max({0L, sysconf(_SC_LEVEL2_CACHE_SIZE), sysconf(_SC_LEVEL3_CACHE_SIZE)}));
}

}  // namespace lift::runtime
