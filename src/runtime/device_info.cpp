// What is known of a device, as JSON, and back: profiles of devices that are not at hand.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "profiles.hpp"

namespace lift::runtime {
namespace {

using Json = nlohmann::ordered_json;

// The keys that every device has, but for its place in the list.
template <typename Info, typename Visit>
void forEachProperty(Info& d, const Visit& visit) {
  visit("platform", d.platform);
  visit("platform_vendor", d.platformVendor);
  visit("platform_version", d.platformVersion);
  visit("name", d.name);
  visit("vendor", d.vendor);
  visit("driver_version", d.driverVersion);
  visit("device_version", d.deviceVersion);
  visit("language_version", d.languageVersion);
  visit("type", d.type);
  visit("compute_units", d.computeUnits);
  visit("clock_mhz", d.clockMHz);
  visit("max_work_group_size", d.maxWorkGroupSize);
  visit("max_work_item_sizes", d.maxWorkItemSizes);
  visit("local_memory_bytes", d.localMemory);
  visit("local_memory_is_dedicated", d.localMemoryIsDedicated);
  visit("global_memory_bytes", d.globalMemory);
  visit("max_allocation_bytes", d.maxAllocation);
  visit("max_image_width", d.maxImageWidth);
  visit("max_image_height", d.maxImageHeight);
  visit("cache_bytes", d.cacheBytes);
  visit("cache_line_bytes", d.cacheLineBytes);
  visit("vector_width_f32", d.vectorWidthF32);
  visit("fp16", d.fp16);
  visit("fp64", d.fp64);
  visit("unified_memory", d.unifiedMemory);
  visit("extensions", d.extensions);
}

// Those that profiles may add.
template <typename Info, typename Visit>
void forEachProfileProperty(Info& d, const Visit& visit) {
  visit("max_global_sizes", d.maxGlobalSizes);
  visit("private_memory_bytes", d.privateMemory);
  visit("registers", d.registers);
  visit("bundle", d.throughput.bundle);
  visit("fma_per_cycle", d.throughput.fmaPerCycle);
  visit("half_fma_per_cycle", d.throughput.halfFmaPerCycle);
  visit("accesses_per_100_cycles", d.throughput.accessesPer100Cycles);
  visit("texels_per_100_cycles", d.throughput.texelsPer100Cycles);
  visit("items_per_unit", d.throughput.itemsPerUnit);
  visit("cache_bytes_per_cycle", d.throughput.cachePerCycle);
  visit("bandwidth_mb_s", d.throughput.bandwidth);
  visit("launch_ns", d.throughput.launchNanoseconds);
  visit("efficiency_percent", d.throughput.efficiency);
}

Json json(const DeviceInfo& d) {
  const auto index = [](int i) { return i < 0 ? Json(nullptr) : Json(i); };
  Json j;
  j["platform_index"] = index(d.platformIndex);
  j["device_index"] = index(d.deviceIndex);
  forEachProperty(d, [&](const char* key, const auto& value) { j[key] = value; });
  forEachProfileProperty(d, [&](const char* key, const auto& value) {
    if (value != std::decay_t<decltype(value)>{}) j[key] = value;
  });
  return j;
}

// Drivers may report names that are not UTF-8; that must not keep a user from seeing the list.
std::string dump(const Json& j, int indent) { return j.dump(indent, ' ', false, Json::error_handler_t::replace); }

// What a value of the type has to look like in a profile.
bool fits(const Json& j, const std::string*) { return j.is_string(); }
bool fits(const Json& j, const bool*) { return j.is_boolean(); }
bool fits(const Json& j, const int*) { return j.is_number_unsigned() && j.get<std::uint64_t>() < (1U << 31); }
bool fits(const Json& j, const std::uint64_t*) { return j.is_number_unsigned(); }
template <typename T>
bool areFit(const Json& j, const T* element) {
  return j.is_array() && std::ranges::all_of(j, [&](const Json& e) { return fits(e, element); });
}
bool fits(const Json& j, const std::array<std::uint64_t, 3>* a) {
  return areFit(j, a->data()) && j.size() == a->size();
}
bool fits(const Json& j, const std::vector<std::string>*) { return areFit(j, static_cast<std::string*>(nullptr)); }
const char* expected(const std::string*) { return "a text"; }
const char* expected(const bool*) { return "true or false"; }
const char* expected(const int*) { return "a number below 2^31"; }
const char* expected(const std::uint64_t*) { return "a number of at least 0"; }
const char* expected(const std::array<std::uint64_t, 3>*) { return "three numbers of at least 0"; }
const char* expected(const std::vector<std::string>*) { return "a list of texts"; }

DeviceInfo parseProfile(std::string_view text, const std::string& file, ExitStatus wrong = ExitStatus::program) {
  const auto fail = [&](const std::string& what, const std::string& hint) {
    throw UserError(wrong, fmt::format("'{}': {}", file, what), hint);
  };
  const Json j = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!j.is_object()) fail("expected a JSON object", "an entry of `liftc devices --json` is one");
  DeviceInfo d;
  std::vector<std::string> known{"platform_index", "device_index"};
  const auto read = [&](const char* key, auto& value) {
    known.emplace_back(key);
    const auto found = j.find(key);
    if (found == j.end()) return;
    if (!fits(*found, &value)) fail(fmt::format("expected {} in \"{}\"", expected(&value), key), {});
    found->get_to(value);
  };
  forEachProperty(d, read);
  forEachProfileProperty(d, read);
  for (const auto& item : j.items())
    if (std::ranges::find(known, item.key()) == known.end())
      fail(fmt::format("unknown key \"{}\"", item.key()), fmt::format("keys are {}", fmt::join(known, ", ")));
  if (d.name.empty()) fail("expected a text \"name\"", {});
  // What kernels are good depends on it more than on anything else.
  constexpr std::array types{"cpu", "gpu", "accelerator", "custom"};
  if (std::ranges::find(types, d.type) == types.end())
    fail(fmt::format("expected a \"type\" of {}", fmt::join(types, ", ")), {});
  return d;
}

constexpr std::string_view described = "type=";  // a profile in one line begins so

// "type=gpu,max_work_item_sizes=1024:1024:64,…" as an object. What is wrong in it, parseProfile says.
Json readDescription(const std::string& text) {
  Json j{{"name", "the device described"}};
  const auto valueOf = [](const std::string& value) {
    if (value == "true" || value == "false") return Json(value == "true");
    const bool isNumber = !value.empty() && value.find_first_not_of("0123456789:") == std::string::npos;
    if (!isNumber) return Json(value);
    const std::string list = value.find(':') == std::string::npos ? value : "[" + value + "]";
    std::string json = list;
    std::ranges::replace(json, ':', ',');
    const Json number = Json::parse(json, nullptr, false);
    return number.is_discarded() ? Json(value) : number;
  };
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto equals = std::min(part.find('='), part.size());
    j[part.substr(0, equals)] = valueOf(part.substr(std::min(equals + 1, part.size())));
  }
  return j;
}

// The value as readDescription reads it.
std::string words(const Json& value) {
  if (value.is_array()) return fmt::format("{}", fmt::join(value.get<std::vector<std::uint64_t>>(), ":"));
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  std::ranges::replace(text, ',', ' ');
  return text;
}

}  // namespace

std::string DeviceInfo::description() const {
  // Names decide nothing, but that of a processor's compiler, nor does what is asked of a driver when kernels are
  // built.
  const std::vector<std::string_view> left{"platform_index",   "device_index",   "type",           "name",
                                           "platform_vendor",  "vendor",         "driver_version", "device_version",
                                           "platform_version", "unified_memory", "clock_mhz",      "extensions"};
  std::string text = std::string(described) + type;
  const Json own = json(*this), unknown = json({});
  for (const auto& [key, value] : own.items()) {
    const bool isPassing = key == "global_memory_bytes" || key == "max_allocation_bytes";  // of processors
    if (std::ranges::find(left, key) != left.end() || (isPassing && type == "cpu") ||
        (key == "platform" && type != "cpu") || (key == "language_version" && !takesC()))
      continue;
    if (const auto same = unknown.find(key); same == unknown.end() || *same != value)
      text += fmt::format(",{}={}", key, words(value));
  }
  return text;
}

bool DeviceInfo::hasExtension(const std::string& extension) const {
  return std::ranges::find(extensions, extension) != extensions.end();
}

std::string DeviceInfo::toJson(int indent) const { return dump(json(*this), indent); }

std::string toJson(const std::vector<DeviceInfo>& devices, int indent) {
  Json all = Json::array();
  for (const DeviceInfo& d : devices) all.push_back(json(d));
  return dump(all, indent);
}

DeviceInfo readProfile(const std::string& nameOrFile) {
  std::string names;
  for (const ShippedProfile& p : shippedProfiles()) {
    if (p.name == nameOrFile) return parseProfile(p.json, nameOrFile);
    names += (names.empty() ? "" : ", ") + std::string(p.name);
  }
  const auto text = readFile(nameOrFile);
  if (!text && nameOrFile.starts_with(described))
    return parseProfile(readDescription(nameOrFile).dump(), nameOrFile, ExitStatus::usage);
  if (!text)
    throw UserError(
        ExitStatus::usage, fmt::format("there is no profile '{}', and no such file can be read", nameOrFile),
        fmt::format("profiles are {}; `liftc devices --json` prints what a file of one's own may hold", names));
  return parseProfile(*text, nameOrFile);
}

}  // namespace lift::runtime
