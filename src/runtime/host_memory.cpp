#include "host_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include "lift/diagnostic.hpp"

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

}  // namespace lift::runtime
