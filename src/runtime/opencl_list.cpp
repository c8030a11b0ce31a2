// Which OpenCL devices exist, and what they are.
#include <pthread.h>

#include <sstream>
#include <type_traits>

#include "cl_bindings.hpp"
#include "host_memory.hpp"
#include "opencl_device.hpp"
#include "opencl_list.hpp"

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

// While it lives, threads are created with large stacks where the C library lets one ask for that. PoCL's, which it
// creates when its devices are first asked for, keep the variables of all work-items of a group on their stacks, more
// than the usual 8 MiB where large groups have many. Of a stack, only what is used takes memory.
class LargeStacks {
 public:
#ifdef __GLIBC__
  LargeStacks() {
    constexpr std::size_t large = 128U << 20U;
    std::size_t usual = 0;
    pthread_attr_t attributes;
    if (pthread_getattr_default_np(&attributes) != 0) return;
    if (pthread_attr_getstacksize(&attributes, &usual) == 0 && usual < large && set(attributes, large)) before_ = usual;
    pthread_attr_destroy(&attributes);
  }
  ~LargeStacks() {
    pthread_attr_t attributes;
    if (before_ == 0 || pthread_getattr_default_np(&attributes) != 0) return;
    set(attributes, before_);
    pthread_attr_destroy(&attributes);
  }
  LargeStacks(const LargeStacks&) = delete;
  LargeStacks& operator=(const LargeStacks&) = delete;

 private:
  static bool set(pthread_attr_t& attributes, std::size_t size) {
    return pthread_attr_setstacksize(&attributes, size) == 0 && pthread_setattr_default_np(&attributes) == 0;
  }
  std::size_t before_ = 0;  // bytes; 0: nothing was changed
#else
  LargeStacks() {}
#endif
};

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

}  // namespace

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
    for (std::size_t d = 0; d < devices.size(); d++) {
      DeviceInfo info = describe(platforms[p], devices[d]);
      info.platformIndex = static_cast<int>(p);
      info.deviceIndex = static_cast<int>(d);
      all.push_back({std::move(info), platforms[p], devices[d]});
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
