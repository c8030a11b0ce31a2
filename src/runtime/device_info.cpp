// What is known of a device, as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "lift/device.hpp"

namespace lift::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json json(const DeviceInfo& d) {
  const auto index = [](int i) { return i < 0 ? Json(nullptr) : Json(i); };
  Json j;
  j["platform_index"] = index(d.platformIndex);
  j["device_index"] = index(d.deviceIndex);
  j["platform"] = d.platform;
  j["platform_vendor"] = d.platformVendor;
  j["platform_version"] = d.platformVersion;
  j["name"] = d.name;
  j["vendor"] = d.vendor;
  j["driver_version"] = d.driverVersion;
  j["device_version"] = d.deviceVersion;
  j["language_version"] = d.languageVersion;
  j["type"] = d.type;
  j["compute_units"] = d.computeUnits;
  j["clock_mhz"] = d.clockMHz;
  j["max_work_group_size"] = d.maxWorkGroupSize;
  j["max_work_item_sizes"] = d.maxWorkItemSizes;
  j["local_memory_bytes"] = d.localMemory;
  j["local_memory_is_dedicated"] = d.localMemoryIsDedicated;
  j["global_memory_bytes"] = d.globalMemory;
  j["max_allocation_bytes"] = d.maxAllocation;
  j["cache_bytes"] = d.cacheBytes;
  j["cache_line_bytes"] = d.cacheLineBytes;
  j["vector_width_f32"] = d.vectorWidthF32;
  j["fp16"] = d.fp16;
  j["fp64"] = d.fp64;
  j["unified_memory"] = d.unifiedMemory;
  j["extensions"] = d.extensions;
  return j;
}

// Drivers may report names that are not UTF-8; that must not keep a user from seeing the list.
std::string dump(const Json& j, int indent) { return j.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace

bool DeviceInfo::hasExtension(const std::string& extension) const {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

std::string DeviceInfo::toJson(int indent) const { return dump(json(*this), indent); }

std::string toJson(const std::vector<DeviceInfo>& devices, int indent) {
  Json all = Json::array();
  for (const DeviceInfo& d : devices) all.push_back(json(d));
  return dump(all, indent);
}

}  // namespace lift::runtime
