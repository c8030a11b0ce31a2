#include "host_executable.hpp"

#include <cstring>

#include "outputs.hpp"

namespace lift::runtime {

using kernel::PlanBuffer;

void HostExecutable::upload(const Binding& binding, const DeviceMemory& memory,
                            const std::map<std::string, Tensor>& inputs) {
  if (sizes_ != binding.sizes) allocate(binding, memory);
  for (std::size_t b = 0; b < plan().buffers.size(); b++) {
    const PlanBuffer& buffer = plan().buffers[b];
    const auto bytes = static_cast<std::size_t>(binding.bytes[b]);
    if (bytes == 0) continue;
    if (buffer.role == PlanBuffer::Role::input) std::memcpy(buffers_[b], inputs.at(buffer.name).bytes.data(), bytes);
    if (buffer.role == PlanBuffer::Role::output) std::memset(buffers_[b], 0xFF, bytes);
  }
}

std::map<std::string, Tensor> HostExecutable::download(const Binding& binding) {
  return readOutputs(plan(), binding, [&](std::size_t b, Tensor& tensor) {
    std::memcpy(tensor.bytes.data(), buffers_[b], tensor.bytes.size());
  });
}

void HostExecutable::allocate(const Binding& binding, const DeviceMemory& memory) {
  // The old ones first, so that both sets are never there together.
  sizes_.reset();
  memory_.clear();
  buffers_.assign(plan().buffers.size(), nullptr);
  requireHostMemory(plan(), binding, memory.use);
  const auto create = [&](std::int64_t bytes) { return memory_.emplace_back(allocateHostMemory(bytes)).get(); };
  std::vector<void*> slots;
  for (const std::int64_t bytes : memory.temporaries.bytes) slots.push_back(create(bytes));
  for (std::size_t b = 0; b < plan().buffers.size(); b++) {
    const int slot = memory.temporaries.slot[b];
    if (slot >= 0)
      buffers_[b] = slots[static_cast<std::size_t>(slot)];
    else if (plan().buffers[b].role != PlanBuffer::Role::temporary)
      buffers_[b] = create(binding.bytes[b]);
  }
  allocated();
  sizes_ = binding.sizes;
}

}  // namespace lift::runtime
