// OpenCL devices. Only this module's OpenCL files include the bindings.
#pragma once

#include <memory>
#include <vector>

#include "lift/device.hpp"

namespace lift::runtime {

// All devices of all platforms; what a driver refuses to tell keeps its default. Never throws for OpenCL's reasons.
std::vector<DeviceInfo> listOpenClDevices();

// Opens the device with this platform and device index.
std::unique_ptr<Device> openOpenClDevice(const DeviceInfo& info);

}  // namespace lift::runtime
