// All devices there are: those of OpenCL and the registered pseudo devices.
#include <algorithm>
#include <cctype>
#include <mutex>
#include <utility>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "opencl_device.hpp"

namespace lift::runtime {
namespace {

struct PseudoDevice {
  DeviceInfo info;
  std::function<std::unique_ptr<Device>()> open;
};

class Registry {
 public:
  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  void add(PseudoDevice device) {
    const std::scoped_lock lock(mutex_);
    for (PseudoDevice& d : devices_)
      if (d.info.name == device.info.name) {
        d = std::move(device);
        return;
      }
    devices_.push_back(std::move(device));
  }

  std::vector<PseudoDevice> all() {
    const std::scoped_lock lock(mutex_);
    return devices_;
  }

 private:
  // The built-in ones, in the order in which they are listed.
  Registry() : devices_{{emulatorDeviceInfo(), makeEmulatorDevice}, {nullDeviceInfo(), makeNullDevice}} {}

  std::mutex mutex_;
  std::vector<PseudoDevice> devices_;
};

std::vector<DeviceInfo> infosOf(const std::vector<PseudoDevice>& devices) {
  std::vector<DeviceInfo> infos;
  for (const PseudoDevice& d : devices) infos.push_back(d.info);
  return infos;
}

bool sameName(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

void registerDevice(DeviceInfo info, std::function<std::unique_ptr<Device>()> open) {
  ensure(info.pseudo() && !info.name.empty() && open, "a registered device needs a name and no platform");
  Registry::instance().add({std::move(info), std::move(open)});
}

std::vector<DeviceInfo> listDevices() {
  std::vector<DeviceInfo> devices = listOpenClDevices();
  for (DeviceInfo& info : infosOf(Registry::instance().all())) devices.push_back(std::move(info));
  return devices;
}

std::unique_ptr<Device> openDevice(const DeviceChoice& choice) {
  const DeviceChoice wanted = choice.withEnvironment();
  const std::vector<PseudoDevice> pseudo = Registry::instance().all();
  // Before OpenCL is touched: a pseudo device must work where drivers are missing or broken.
  if (wanted.device)
    for (const PseudoDevice& d : pseudo)
      if (sameName(d.info.name, *wanted.device)) return d.open();
  std::vector<DeviceInfo> devices = listOpenClDevices();
  for (DeviceInfo& info : infosOf(pseudo)) devices.push_back(std::move(info));
  return openOpenClDevice(devices[chooseDevice(devices, wanted)]);
}

}  // namespace lift::runtime
