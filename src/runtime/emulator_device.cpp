// The emulator as a device: slow, and strict. A kernel that reads out of bounds or uninitialised memory, races or
// diverges at a barrier is an error here, whatever its results.
#include <fmt/format.h>

#include "host_device.hpp"
#include "host_memory.hpp"
#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "lift/emulator.hpp"
#include "lift/stopwatch.hpp"
#include "outputs.hpp"

namespace lift::runtime {
namespace {

class EmulatorExecutable : public Executable {
 public:
  EmulatorExecutable(const DeviceInfo& info, const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes)
      : Executable(info, plan, sizes) {}

 protected:
  void upload(const Binding& binding, const DeviceMemory& memory,
              const std::map<std::string, Tensor>& inputs) override {
    memory_.clear();
    requireHostMemory(plan(), binding, memory.use);
    memory_.assign(plan().buffers.size(), {});
    written_.assign(plan().buffers.size(), false);
    for (std::size_t b = 0; b < plan().buffers.size(); b++) {
      const kernel::PlanBuffer& buffer = plan().buffers[b];
      if (buffer.role == kernel::PlanBuffer::Role::input) {
        memory_[b] = inputs.at(buffer.name).bytes;
        written_[b] = true;
      } else {
        memory_[b].assign(static_cast<std::size_t>(binding.bytes[b]), std::byte{0xFF});
      }
    }
  }

  Repetition launch(const Binding& binding, const std::vector<kernel::Launch>& launches,
                    const std::vector<kernel::LaunchLoop>& loops, int runs, Timed) override {
    const Stopwatch watch;
    for (int r = 0; r < runs; r++)
      kernel::forEachLaunch(
          launches.size(), loops, [&](Nat n) { return binding.evaluate(n); },
          [&](std::size_t i) { run(binding, launches[i]); },
          [&](int a, int b) {
            std::swap(memory_[static_cast<std::size_t>(a)], memory_[static_cast<std::size_t>(b)]);
            std::vector<bool>::swap(written_[static_cast<std::size_t>(a)], written_[static_cast<std::size_t>(b)]);
          },
          [&](int b) { return memory_[static_cast<std::size_t>(b)][0] != std::byte{0}; });
    return {0, watch.milliseconds() / runs, std::vector<double>(launches.size(), 0.0)};
  }
  std::map<std::string, Tensor> download(const Binding& binding) override {
    return readOutputs(plan(), binding, [&](std::size_t b, Tensor& tensor) { tensor.bytes = memory_[b]; });
  }

 private:
  void run(const Binding& binding, const kernel::Launch& l) {
    const kernel::Kernel& kernel = plan().kernels[static_cast<std::size_t>(l.kernel)];
    if (geometryOf(kernel, binding).empty()) return;
    std::vector<std::vector<std::byte>> arguments;
    kernel::EmulatorOptions options;
    for (const int b : l.arguments) {
      const auto i = static_cast<std::size_t>(b);
      arguments.push_back(memory_[i]);
      options.uninitialised.push_back(!written_[i]);
    }
    const kernel::EmulatorReport report = kernel::emulate(kernel, arguments, binding.sizes, options);
    for (std::size_t a = 0; a < l.arguments.size(); a++) {
      const auto i = static_cast<std::size_t>(l.arguments[a]);
      if (kernel.buffers[kernel.arguments[a]].readOnly) continue;
      memory_[i] = std::move(arguments[a]);
      written_[i] = true;
    }
    if (report.ok()) return;
    std::vector<Diagnostic> errors;
    for (const std::string& f : report.findings)
      errors.push_back({Severity::error, {}, fmt::format("kernel {}: {}", kernel.name, f), {}, {}});
    if (report.suppressed > 0) errors.back().hint = fmt::format("and {} more of the kind", report.suppressed);
    if (!report.completed)
      errors.push_back(
          {Severity::error, {}, fmt::format("kernel {}: stopped after {} steps", kernel.name, report.steps), {}, {}});
    throw UserError(ExitStatus::wrong, std::move(errors));
  }

  std::vector<std::vector<std::byte>> memory_;  // by plan buffer
  std::vector<bool> written_;
};

}  // namespace

DeviceInfo emulatorDeviceInfo() {
  DeviceInfo d = nullDeviceInfo();
  d.name = "emulator";
  d.deviceVersion = "emulator 1";
  d.computeUnits = 1;
  return d;
}

std::unique_ptr<Device> makeEmulatorDevice() {
  return std::make_unique<HostDevice<EmulatorExecutable>>(emulatorDeviceInfo());
}

}  // namespace lift::runtime
