// Choosing a device from a list. No silent fallback: a choice that names nothing is an error that says what exists.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "lift/characters.hpp"
#include "lift/device.hpp"
#include "lift/diagnostic.hpp"

namespace lift::runtime {
namespace {

std::string lowered(const std::string& s) {
  std::string out = s;
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return lowered(text).find(lowered(part)) != std::string::npos;
}

bool isIndex(const std::string& s) { return !s.empty() && std::ranges::all_of(s, isDigit); }

// Only for strings of digits; too many of them is an index that no list has.
std::size_t asIndex(const std::string& s) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  return error == std::errc{} ? value : std::numeric_limits<std::size_t>::max();
}

bool platformMatches(const DeviceInfo& d, const std::string& wanted) {
  if (isIndex(wanted)) return static_cast<std::size_t>(d.platformIndex) == asIndex(wanted);
  return contains(d.platform, wanted) || contains(d.platformVendor, wanted);
}

bool deviceMatches(const DeviceInfo& d, const std::string& wanted) {
  return contains(d.name, wanted) || contains(d.vendor, wanted);
}

constexpr const char* howToChoose =
    "choose with --platform and --device or the variables LIFTC_PLATFORM and LIFTC_DEVICE: an index or a part of the "
    "name or vendor; `liftc devices` shows all";

[[noreturn]] void fail(const std::vector<DeviceInfo>& devices, std::string message, std::string hint) {
  Diagnostic d;
  d.message = std::move(message);
  d.hint = std::move(hint);
  for (const DeviceInfo& device : devices) {
    Diagnostic note;
    note.severity = Severity::note;
    note.message = device.builtIn() ? fmt::format("there is the device {}", device.name)
                                    : fmt::format("there is device {} of platform {}: {} ({})", device.deviceIndex,
                                                  device.platformIndex, device.name, device.platform);
    d.notes.push_back(std::move(note));
  }
  throw UserError(ExitStatus::device, std::vector<Diagnostic>{std::move(d)});
}

std::optional<std::string> orEnvironment(const std::optional<std::string>& given, const char* variable) {
  if (given && !given->empty()) return given;
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

DeviceChoice DeviceChoice::withEnvironment() const {
  return {.platform = orEnvironment(platform, "LIFTC_PLATFORM"), .device = orEnvironment(device, "LIFTC_DEVICE")};
}

std::size_t chooseDevice(const std::vector<DeviceInfo>& devices, const DeviceChoice& choice) {
  if (choice.device)
    for (std::size_t i = 0; i < devices.size(); i++)
      if (devices[i].builtIn() && lowered(devices[i].name) == lowered(*choice.device)) return i;

  std::vector<std::size_t> candidates;
  bool anyOpenCl = false;
  for (std::size_t i = 0; i < devices.size(); i++) {
    if (devices[i].builtIn()) continue;
    anyOpenCl = true;
    if (!choice.platform || platformMatches(devices[i], *choice.platform)) candidates.push_back(i);
  }
  if (!anyOpenCl)
    fail(
        devices, "no OpenCL device was found",
        "`--device native` (or LIFTC_DEVICE=native) runs kernels on the processor by way of a C compiler; else install "
        "a driver (the package pocl-opencl-icd) and check that OCL_ICD_VENDORS, if set, names the folder of its .icd "
        "file. PoCL has no device, either, where it cannot write its cache, whose folder POCL_CACHE_DIR names, else "
        "XDG_CACHE_HOME or HOME. `liftc devices` shows what is seen");
  if (candidates.empty())
    fail(devices,
         isIndex(*choice.platform) ? fmt::format("there is no OpenCL platform {} with a device", *choice.platform)
                                   : fmt::format("no OpenCL platform matches \"{}\"", *choice.platform),
         howToChoose);
  if (!choice.device) return candidates.front();

  const std::string within =
      choice.platform ? fmt::format(" of the platforms that match \"{}\"", *choice.platform) : "";
  if (isIndex(*choice.device)) {
    const std::size_t index = asIndex(*choice.device);
    if (index < candidates.size()) return candidates[index];
    fail(devices, fmt::format("there is no OpenCL device {}{}", *choice.device, within), howToChoose);
  }
  for (std::size_t i : candidates)
    if (deviceMatches(devices[i], *choice.device)) return i;
  fail(devices, fmt::format("no OpenCL device{} matches \"{}\"", within, *choice.device), howToChoose);
}

}  // namespace lift::runtime
