// Device memory of a plan.
#include <numeric>

#include "lift/device.hpp"

namespace lift::runtime {

Layout layoutOf(const kernel::Plan& plan, const Binding& binding) {
  Layout layout;
  const auto lifetimes = kernel::temporaryLifetimes(plan);
  const int prepared = static_cast<int>(plan.preparation.size());
  layout.temporaries = kernel::shareTemporaries(plan, binding.bytes);
  layout.memory.temporaries =
      std::accumulate(layout.temporaries.bytes.begin(), layout.temporaries.bytes.end(), std::int64_t{0});
  for (std::size_t b = 0; b < plan.buffers.size(); b++) switch (plan.buffers[b].role) {
      case kernel::PlanBuffer::Role::input:
        layout.memory.inputs += binding.bytes[b];
        break;
      case kernel::PlanBuffer::Role::output:
        layout.memory.outputs += binding.bytes[b];
        break;
      case kernel::PlanBuffer::Role::temporary:
        if (!lifetimes[b]) break;
        layout.memory.temporariesUnshared += binding.bytes[b];
        if (lifetimes[b]->first < prepared && lifetimes[b]->last >= prepared)
          layout.memory.prepared += binding.bytes[b];
        break;
    }
  return layout;
}

}  // namespace lift::runtime
