// Private to runtime: devices that are known without asking a driver.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lift/device.hpp"

namespace lift::runtime {

// A device whose loaded plans are of one class, made of the device's properties, the plan and its sizes.
template <class Loaded>
class HostDevice final : public Device {
 public:
  explicit HostDevice(DeviceInfo info) : info_(std::move(info)) {}
  const DeviceInfo& info() const override { return info_; }

 protected:
  std::unique_ptr<Executable> loadChecked(const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes,
                                          const LoadOptions&) override {
    return std::make_unique<Loaded>(info_, plan, sizes);
  }

 private:
  const DeviceInfo info_;
};

}  // namespace lift::runtime
