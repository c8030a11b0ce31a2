// All devices there are: those of OpenCL and those that are built in.
#include <algorithm>
#include <cctype>
#include <mutex>
#include <utility>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "opencl_device.hpp"

namespace lift::runtime {
namespace {

struct BuiltIn {
  std::string name;
  std::function<DeviceInfo()> info;  // asks a compiler, perhaps
  std::function<std::unique_ptr<Device>()> open;
};

class Registry {
 public:
  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  void add(BuiltIn device) {
    const std::scoped_lock lock(mutex_);
    for (BuiltIn& d : devices_)
      if (d.name == device.name) {
        d = std::move(device);
        return;
      }
    devices_.push_back(std::move(device));
  }

  std::vector<BuiltIn> all() {
    const std::scoped_lock lock(mutex_);
    return devices_;
  }

 private:
  // In the order in which they are listed.
  Registry()
      : devices_{{"native", nativeDeviceInfo, makeNativeDevice},
                 {"emulator", emulatorDeviceInfo, makeEmulatorDevice},
                 {"null", nullDeviceInfo, makeNullDevice}} {}

  std::mutex mutex_;
  std::vector<BuiltIn> devices_;
};

bool sameName(const std::string& a, const std::string& b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// Before OpenCL is touched: what is built in must work where drivers are missing or broken.
std::optional<BuiltIn> builtIn(const DeviceChoice& wanted) {
  if (wanted.device)
    for (BuiltIn& d : Registry::instance().all())
      if (sameName(d.name, *wanted.device)) return std::move(d);
  return std::nullopt;
}

DeviceInfo chosenOpenCl(const DeviceChoice& wanted) {
  std::vector<DeviceInfo> devices = listOpenClDevices();
  for (const BuiltIn& d : Registry::instance().all()) devices.emplace_back().name = d.name;
  return devices[chooseDevice(devices, wanted)];
}

}  // namespace

void registerDevice(DeviceInfo info, std::function<std::unique_ptr<Device>()> open) {
  ensure(info.builtIn() && !info.name.empty() && open, "a registered device needs a name and no platform");
  std::string name = info.name;
  Registry::instance().add({std::move(name), [info = std::move(info)] { return info; }, std::move(open)});
}

std::vector<DeviceInfo> listDevices() {
  std::vector<DeviceInfo> devices = listOpenClDevices();
  for (const BuiltIn& d : Registry::instance().all()) devices.push_back(d.info());
  return devices;
}

bool haveOpenClDevice() { return !listOpenClDevices().empty(); }

DeviceInfo findDevice(const DeviceChoice& choice) {
  const DeviceChoice wanted = choice.withEnvironment();
  if (const auto d = builtIn(wanted)) return d->info();
  return chosenOpenCl(wanted);
}

std::unique_ptr<Device> openDevice(const DeviceChoice& choice) {
  const DeviceChoice wanted = choice.withEnvironment();
  if (const auto d = builtIn(wanted)) return d->open();
  return openOpenClDevice(chosenOpenCl(wanted));
}

}  // namespace lift::runtime
