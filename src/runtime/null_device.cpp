// The device that does nothing: for what lies above the runtime, where there is no driver.
#include "host_device.hpp"
#include "lift/device.hpp"
#include "outputs.hpp"

namespace lift::runtime {
namespace {

class NullExecutable : public Executable {
 public:
  NullExecutable(const DeviceInfo& info, const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes)
      : Executable(info, plan, sizes) {}

 protected:
  void upload(const Binding&, const DeviceMemory&, const std::map<std::string, Tensor>&) override {}

  Repetition launch(const Binding&, const std::vector<kernel::Launch>& launches, const std::vector<kernel::LaunchLoop>&,
                    int, Timed) override {
    return {0, 0, std::vector<double>(launches.size(), 0.0)};
  }

  std::map<std::string, Tensor> download(const Binding& binding) override {
    return readOutputs(plan(), binding, [](std::size_t, const Tensor&) {});
  }
};

}  // namespace

DeviceInfo nullDeviceInfo() {
  DeviceInfo d;
  d.platform = "liftc";
  d.platformVendor = "liftc";
  d.name = "null";
  d.vendor = "liftc";
  d.driverVersion = "1";
  d.deviceVersion = "null 1";
  d.languageVersion = "OpenCL C 1.2";
  d.type = "pseudo";
  d.computeUnits = 16;
  d.clockMHz = 1000;
  d.maxWorkGroupSize = 4096;
  d.maxWorkItemSizes = {4096, 4096, 4096};
  d.localMemory = 64U << 10U;
  d.globalMemory = std::uint64_t{64} << 30U;
  d.maxAllocation = std::uint64_t{16} << 30U;
  d.maxImageWidth = d.maxImageHeight = 1U << 16U;
  d.cacheBytes = 32U << 20U;
  d.cacheLineBytes = 64;
  d.vectorWidthF32 = 16;
  d.fp16 = true;
  d.fp64 = true;
  d.unifiedMemory = true;
  return d;
}

std::unique_ptr<Device> makeNullDevice() { return std::make_unique<HostDevice<NullExecutable>>(nullDeviceInfo()); }

}  // namespace lift::runtime
