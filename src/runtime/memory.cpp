// Device memory of a plan.
#include <numeric>

#include "lift/device.hpp"

namespace lift::runtime {

DeviceMemory deviceMemoryOf(const kernel::Plan& plan, const Binding& binding) {
  DeviceMemory memory;
  const auto lifetimes = kernel::temporaryLifetimes(plan);
  const int prepared = static_cast<int>(plan.preparation.size());
  memory.temporaries = kernel::shareTemporaries(plan, binding.bytes);
  memory.use.temporaries =
      std::accumulate(memory.temporaries.bytes.begin(), memory.temporaries.bytes.end(), std::int64_t{0});
  for (std::size_t b = 0; b < plan.buffers.size(); b++) switch (plan.buffers[b].role) {
      case kernel::PlanBuffer::Role::input: memory.use.inputs += binding.bytes[b]; break;
      case kernel::PlanBuffer::Role::output: memory.use.outputs += binding.bytes[b]; break;
      case kernel::PlanBuffer::Role::temporary:
        if (!lifetimes[b]) break;
        memory.use.temporariesUnshared += binding.bytes[b];
        if (lifetimes[b]->first < prepared && lifetimes[b]->last >= prepared) memory.use.prepared += binding.bytes[b];
        break;
    }
  return memory;
}

}  // namespace lift::runtime
