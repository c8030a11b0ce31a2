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
  std::vector<cl::Device> members;  // of a team that computes for it (opencl_team.hpp): one for each of its units
};

// What a driver refuses to tell keeps its default. Does not throw for OpenCL's reasons.
std::vector<OpenClDevice> findOpenClDevices();

}  // namespace lift::runtime
