// Private to runtime: plans whose buffers are memory of this process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host_memory.hpp"
#include "lift/device.hpp"

namespace lift::runtime {

class HostExecutable : public Executable {
 protected:
  using Executable::Executable;

  void upload(const Binding& binding, const DeviceMemory& memory, const std::map<std::string, Tensor>& inputs) override;
  std::map<std::string, Tensor> download(const Binding& binding) override;

  // Where each buffer of the plan lies, when others than before have been allocated: null for those of no launch.
  // Temporaries of one slot share theirs.
  std::vector<void*> buffers_;
  virtual void allocated() {}

 private:
  void allocate(const Binding& binding, const DeviceMemory& memory);

  std::vector<HostMemory> memory_;
  std::optional<std::map<NatVar, std::int64_t>> sizes_;  // for which the buffers are
};

}  // namespace lift::runtime
