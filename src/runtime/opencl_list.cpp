// Which OpenCL devices exist, and what they are.
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <type_traits>

#include "cl_bindings.hpp"
#include "host_memory.hpp"
#include "lift/files.hpp"
#include "opencl_device.hpp"
#include "opencl_list.hpp"
#include "team.hpp"

namespace lift::runtime {
namespace {

std::string trimmed(const std::string& s) {
  const std::string_view blanks(" \0\n\t", 4);
  const std::size_t begin = s.find_first_not_of(blanks);
  return begin == std::string::npos ? "" : s.substr(begin, s.find_last_not_of(blanks) + 1 - begin);
}

// A property that a driver does not answer keeps its default.
template <int property, class Object, class T>
void query(const Object& object, T& value) {
  try {
    if constexpr (std::is_same_v<T, std::string>)
      value = trimmed(object.template getInfo<property>());
    else
      value = static_cast<T>(object.template getInfo<property>());
  } catch (const cl::Error&) {
  }
}

const char* typeName(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return "gpu";
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return "cpu";
  if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0) return "accelerator";
  return "custom";
}

DeviceInfo describe(const cl::Platform& platform, const cl::Device& device) {
  DeviceInfo d;
  query<CL_PLATFORM_NAME>(platform, d.platform);
  query<CL_PLATFORM_VENDOR>(platform, d.platformVendor);
  query<CL_PLATFORM_VERSION>(platform, d.platformVersion);
  query<CL_DEVICE_NAME>(device, d.name);
  query<CL_DEVICE_VENDOR>(device, d.vendor);
  query<CL_DRIVER_VERSION>(device, d.driverVersion);
  query<CL_DEVICE_VERSION>(device, d.deviceVersion);
  query<CL_DEVICE_OPENCL_C_VERSION>(device, d.languageVersion);
  cl_device_type type = 0;
  query<CL_DEVICE_TYPE>(device, type);
  d.type = typeName(type);
  query<CL_DEVICE_MAX_COMPUTE_UNITS>(device, d.computeUnits);
  query<CL_DEVICE_MAX_CLOCK_FREQUENCY>(device, d.clockMHz);
  query<CL_DEVICE_MAX_WORK_GROUP_SIZE>(device, d.maxWorkGroupSize);
  std::vector<std::size_t> items;
  query<CL_DEVICE_MAX_WORK_ITEM_SIZES>(device, items);
  for (std::size_t i = 0; i < 3; i++) d.maxWorkItemSizes[i] = i < items.size() ? items[i] : 1;
  query<CL_DEVICE_LOCAL_MEM_SIZE>(device, d.localMemory);
  cl_device_local_mem_type localType = CL_GLOBAL;
  query<CL_DEVICE_LOCAL_MEM_TYPE>(device, localType);
  d.localMemoryIsDedicated = localType == CL_LOCAL;
  query<CL_DEVICE_GLOBAL_MEM_SIZE>(device, d.globalMemory);
  query<CL_DEVICE_MAX_MEM_ALLOC_SIZE>(device, d.maxAllocation);
  query<CL_DEVICE_IMAGE2D_MAX_WIDTH>(device, d.maxImageWidth);
  query<CL_DEVICE_IMAGE2D_MAX_HEIGHT>(device, d.maxImageHeight);
  cl_bool images = CL_FALSE;
  query<CL_DEVICE_IMAGE_SUPPORT>(device, images);
  if (images == CL_FALSE) d.maxImageWidth = d.maxImageHeight = 0;
  query<CL_DEVICE_GLOBAL_MEM_CACHE_SIZE>(device, d.cacheBytes);
  // Some drivers tell of the cache that a core has to itself.
  if (d.type == "cpu") d.cacheBytes = std::max(d.cacheBytes, lastCacheBytes());
  query<CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE>(device, d.cacheLineBytes);
  query<CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT>(device, d.vectorWidthF32);
  query<CL_DEVICE_HOST_UNIFIED_MEMORY>(device, d.unifiedMemory);
  std::string extensions;
  query<CL_DEVICE_EXTENSIONS>(device, extensions);
  std::istringstream words(extensions);
  for (std::string word; words >> word;) d.extensions.push_back(word);
  d.fp16 = d.hasExtension("cl_khr_fp16");
  d.fp64 = d.hasExtension("cl_khr_fp64");
  return d;
}

// PoCL's devices of one unit, where there is one for each unit of its only other device: they are not listed, but
// compute for that one.
std::vector<cl::Device> takeMembers(std::vector<cl::Device>& devices) {
  const auto isOfOneUnit = [](const cl::Device& d) {
    std::string name;
    query<CL_DEVICE_NAME>(d, name);
    return name.starts_with("basic-") || name.starts_with("cpu-minimal-");
  };
  const auto others = std::stable_partition(devices.begin(), devices.end(), [&](auto& d) { return !isOfOneUnit(d); });
  std::vector<cl::Device> members(others, devices.end());
  if (others - devices.begin() != 1) return {};
  unsigned units = 0;
  query<CL_DEVICE_MAX_COMPUTE_UNITS>(devices.front(), units);
  if (members.size() < units) return {};
  members.resize(units);  // PoCL may have been told to use fewer cores
  devices.resize(1);
  return members;
}

// Whether a control group gives the process less time than its cores have, as containers do; threads that wait busily
// would use it up.
bool isRationed() {
  const auto quota = readFile("/sys/fs/cgroup/cpu.max");  // "max 100000", or microseconds of so many
  if (quota) return !quota->starts_with("max");
  const auto first = readFile("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");  // of version 1; -1: all
  return first && !first->starts_with("-1");
}

}  // namespace

void requestTeams() {
  constexpr unsigned most = 64;
  const unsigned cores = std::thread::hardware_concurrency();
  if (cores == 0 || cores > most || isRationed()) return;
  // Each member's device takes what the first one compiled from there.
  if (const char* kept = std::getenv("POCL_KERNEL_CACHE"); kept != nullptr && kept == std::string_view("0")) return;
  std::string devices = "pthread";
  for (unsigned i = 0; i < cores; i++) devices += " basic";
  setenv("POCL_DEVICES", devices.c_str(), 0);
}

std::vector<OpenClDevice> findOpenClDevices() {
  const LargeStacks stacks;
  std::vector<OpenClDevice> all;
  std::vector<cl::Platform> platforms;
  try {
    cl::Platform::get(&platforms);
  } catch (const cl::Error&) {  // no platform is an error to the loader, and none to us
  }
  for (std::size_t p = 0; p < platforms.size(); p++) {
    std::vector<cl::Device> devices;
    try {
      platforms[p].getDevices(CL_DEVICE_TYPE_ALL, &devices);
    } catch (const cl::Error&) {
    }
    const std::vector<cl::Device> members = takeMembers(devices);
    for (std::size_t d = 0; d < devices.size(); d++) {
      DeviceInfo info = describe(platforms[p], devices[d]);
      info.platformIndex = static_cast<int>(p);
      info.deviceIndex = static_cast<int>(d);
      all.push_back({std::move(info), platforms[p], devices[d], members});
    }
  }
  return all;
}

std::vector<DeviceInfo> listOpenClDevices() {
  std::vector<DeviceInfo> infos;
  for (OpenClDevice& d : findOpenClDevices()) infos.push_back(std::move(d.info));
  return infos;
}

}  // namespace lift::runtime
