// OpenCL's objects behind the list of devices.
#pragma once

#include <vector>

#include "cl_bindings.hpp"
#include "lift/device.hpp"

namespace lift::runtime {

struct OpenClDevice {
  DeviceInfo info;
  cl::Platform platform;
  cl::Device device;
};

// What a driver refuses to tell keeps its default. Does not throw for OpenCL's reasons.
std::vector<OpenClDevice> findOpenClDevices();

}  // namespace lift::runtime
