// Results read back, the same on every device.
#pragma once

#include <map>
#include <string>

#include "lift/device.hpp"

namespace lift::runtime {

// The outputs of a plan, by name; read(buffer, tensor) fills those that have elements.
template <class Read>
std::map<std::string, Tensor> readOutputs(const kernel::Plan& plan, const Binding& binding, const Read& read) {
  std::map<std::string, Tensor> outputs;
  for (std::size_t b = 0; b < plan.buffers.size(); b++) {
    const kernel::PlanBuffer& buffer = plan.buffers[b];
    if (buffer.role != kernel::PlanBuffer::Role::output) continue;
    Tensor tensor(buffer.scalar, binding.shapes[b]);
    if (!tensor.bytes.empty()) read(b, tensor);
    outputs.emplace(buffer.name, std::move(tensor));
  }
  return outputs;
}

}  // namespace lift::runtime
