#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fixtures.hpp"

using namespace lift;
using namespace lift::runtime;
using namespace lift::runtime::testing;

namespace {

DeviceInfo fake(int platform, int device, const std::string& platformName, const std::string& name,
                const std::string& vendor) {
  DeviceInfo d;
  d.platformIndex = platform;
  d.deviceIndex = device;
  d.platform = platformName;
  d.platformVendor = platformName == "Portable Computing Language" ? "The pocl project" : "";
  d.name = name;
  d.vendor = vendor;
  return d;
}

std::vector<DeviceInfo> fakes() {
  return {fake(0, 0, "ARM Platform", "Mali-G72 r0p3", "ARM"), fake(0, 1, "ARM Platform", "Mali-G31", "ARM"),
          fake(1, 0, "Portable Computing Language", "pthread-cortex-a73", "Arm Ltd."), nullDeviceInfo()};
}

std::size_t choose(std::optional<std::string> platform, std::optional<std::string> device) {
  return chooseDevice(fakes(), {std::move(platform), std::move(device)});
}

}  // namespace

TEST_CASE("no choice is the first OpenCL device", "[null]") { CHECK(choose({}, {}) == 0); }

TEST_CASE("devices are named by part of their name or vendor, in any case", "[null]") {
  CHECK(choose({}, "g31") == 1);
  CHECK(choose({}, "CORTEX") == 2);
  CHECK(choose({}, "arm ltd") == 2);
  CHECK(choose({}, "mali") == 0);  // the first of several
}

TEST_CASE("platforms are named by part of their name or vendor, or by index", "[null]") {
  CHECK(choose("portable", {}) == 2);
  CHECK(choose("POCL", {}) == 2);
  CHECK(choose("1", {}) == 2);
  CHECK(choose("0", {}) == 0);
  CHECK(choose("arm", "g31") == 1);
}

TEST_CASE("an index counts among the devices of the platforms that match", "[null]") {
  CHECK(choose({}, "0") == 0);
  CHECK(choose({}, "2") == 2);
  CHECK(choose("pocl", "0") == 2);
  CHECK(choose("arm", "1") == 1);
}

TEST_CASE("pseudo devices are named exactly, whatever the platform", "[null]") {
  CHECK(choose({}, "null") == 3);
  CHECK(choose("pocl", "NULL") == 3);
  const std::string m = messageOf(ExitStatus::device, [] { choose({}, "nul"); });
  CHECK(has(m, "no OpenCL device matches \"nul\""));
}

TEST_CASE("a choice that matches nothing lists what exists and how to choose", "[null]") {
  const std::string m = messageOf(ExitStatus::device, [] { choose({}, "geforce"); });
  CHECK(has(m, "error: no OpenCL device matches \"geforce\""));
  CHECK(has(m, "there is device 1 of platform 0: Mali-G31 (ARM Platform)"));
  CHECK(has(m, "there is device 0 of platform 1: pthread-cortex-a73 (Portable Computing Language)"));
  CHECK(has(m, "there is the device null"));
  CHECK(has(m, "LIFTC_DEVICE"));
  CHECK(has(m, "liftc devices"));
}

TEST_CASE("the device must be of the chosen platform: there is no fallback", "[null]") {
  const std::string m = messageOf(ExitStatus::device, [] { choose("pocl", "mali"); });
  CHECK(has(m, "no OpenCL device of the platforms that match \"pocl\" matches \"mali\""));
}

TEST_CASE("unknown platforms and indices out of range", "[null]") {
  CHECK(has(messageOf(ExitStatus::device, [] { choose("cuda", {}); }), "no OpenCL platform matches \"cuda\""));
  CHECK(has(messageOf(ExitStatus::device, [] { choose("7", {}); }), "no OpenCL platform 7"));
  CHECK(has(messageOf(ExitStatus::device, [] { choose({}, "3"); }), "there is no OpenCL device 3"));
  CHECK(has(messageOf(ExitStatus::device, [] { choose({}, "99999999999999999999999"); }), "there is no OpenCL device"));
  CHECK(has(messageOf(ExitStatus::device, [] { choose("99999999999999999999999", {}); }), "no OpenCL platform"));
}

TEST_CASE("without any OpenCL device the message says what to install", "[null]") {
  const std::string m = messageOf(ExitStatus::device, [] { chooseDevice({nullDeviceInfo()}, {.device = "0"}); });
  CHECK(has(m, "no OpenCL device was found"));
  CHECK(has(m, "pocl-opencl-icd"));
  CHECK(has(m, "OCL_ICD_VENDORS"));
  CHECK(has(m, "there is the device null"));
}

TEST_CASE("the environment chooses where nothing is given", "[null]") {
  const Variable platform("LIFTC_PLATFORM", "pocl");
  const Variable device("LIFTC_DEVICE", "");
  const DeviceChoice all = DeviceChoice{}.withEnvironment();
  CHECK(all.platform == "pocl");
  CHECK_FALSE(all.device.has_value());
  const DeviceChoice given = DeviceChoice{.platform = "arm", .device = "1"}.withEnvironment();
  CHECK(given.platform == "arm");
  CHECK(given.device == "1");
}

TEST_CASE("a pseudo device opens by name and from the environment", "[null]") {
  CHECK(openDevice({.device = "null"})->info().name == "null");
  const Variable device("LIFTC_DEVICE", "null");
  CHECK(openDevice()->info().name == "null");
}

TEST_CASE("devices can be registered, and replaced by name", "[null]") {
  DeviceInfo info = nullDeviceInfo();
  info.name = "registered";
  int opened = 0;
  registerDevice(info, makeNullDevice);
  registerDevice(info, [&] {
    opened++;
    return makeNullDevice();
  });
  const std::vector<DeviceInfo> all = listDevices();
  CHECK(std::count_if(all.begin(), all.end(), [](const DeviceInfo& d) { return d.name == "registered"; }) == 1);
  openDevice({.device = "Registered"});
  CHECK(opened == 1);
  registerDevice(info, makeNullDevice);
  DeviceInfo unnamed = nullDeviceInfo();
  unnamed.name.clear();
  CHECK_THROWS_AS(registerDevice(unnamed, makeNullDevice), InternalError);
}

TEST_CASE("the list ends with the pseudo devices", "[null]") {
  const std::vector<DeviceInfo> all = listDevices();
  const auto null = std::find_if(all.begin(), all.end(), [](const DeviceInfo& d) { return d.name == "null"; });
  REQUIRE(null != all.end());
  CHECK(std::all_of(null, all.end(), [](const DeviceInfo& d) { return d.pseudo(); }));
}

TEST_CASE("a device as JSON", "[null]") {
  DeviceInfo d = fakes()[1];
  d.maxWorkItemSizes = {1024, 512, 64};
  d.globalMemory = 5'000'000'000;
  d.extensions = {"cl_khr_fp16", "cl_khr_fp64"};
  d.fp16 = true;
  const auto j = nlohmann::json::parse(d.toJson());
  CHECK(j.at("platform_index") == 0);
  CHECK(j.at("device_index") == 1);
  CHECK(j.at("name") == "Mali-G31");
  CHECK(j.at("max_work_item_sizes") == nlohmann::json({1024, 512, 64}));
  CHECK(j.at("global_memory_bytes") == 5'000'000'000);
  CHECK(j.at("fp16") == true);
  CHECK(j.at("fp64") == false);
  CHECK(j.at("extensions").size() == 2);
  CHECK(d.hasExtension("cl_khr_fp16"));
  CHECK_FALSE(d.hasExtension("cl_khr"));
  CHECK(d.toJson().rfind("{\"platform_index\":0,\"device_index\":1,\"platform\":", 0) == 0);  // the order is fixed
}

TEST_CASE("profiles: shipped ones, files, and what is wrong in one", "[null]") {
  const DeviceInfo portable = readProfile("portable");
  CHECK(portable.localMemory == 32768);
  CHECK(portable.maxGlobalSizes[2] == 4294967295);
  CHECK_FALSE(portable.pseudo());
  CHECK(readProfile("mali-g72").maxWorkGroupSize == 384);

  const TemporaryFolder folder;
  const std::string file = (folder.path() / "profile.json").string();
  const auto read = [&](const std::string& text) {
    std::ofstream(file) << text;
    return readProfile(file);
  };
  DeviceInfo d = fakes()[1];  // what `liftc devices --json` prints of a device is a profile
  d.extensions = {"cl_khr_fp16"};
  d.type = "gpu";
  const std::string printed = d.toJson();
  d.platformIndex = d.deviceIndex = -1;
  CHECK(read(printed).toJson() == d.toJson());
  CHECK(read(portable.toJson()).toJson() == portable.toJson());
  for (const char* wrong :
       {"", "[]", "{}", R"({"name": 3})", R"({"name": "x"})", R"({"name": "x", "type": "GPU"})",
        R"({"name": "x", "type": "gpu", "max_work_group_size": -1})",
        R"({"name": "x", "type": "gpu", "max_work_item_sizes": [1, 2]})",
        R"({"name": "x", "type": "gpu", "local_memory_bytes": "big"})", R"({"name": "x", "type": "gpu", "fp64": 1})",
        R"({"name": "x", "type": "gpu", "extensions": [1]})", R"({"name": "x", "type": "gpu", "local_memory": 1})"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(read(wrong), UserError);
  }
  CHECK_THROWS_AS(readProfile(file), UserError);
}

TEST_CASE("what decides about kernels is a profile in one line", "[null]") {
  for (const char* name : {"portable", "mali-g72", "nvidia-h200", "generic-cpu"}) {
    const DeviceInfo device = readProfile(name);
    const std::string text = device.description();
    CAPTURE(text);
    const DeviceInfo read = readProfile(text);
    CHECK(read.description() == text);
    CHECK(read.type == device.type);
    CHECK(read.maxWorkItemSizes == device.maxWorkItemSizes);
    CHECK(read.localMemoryIsDedicated == device.localMemoryIsDedicated);
    CHECK(read.throughput.bundle == device.throughput.bundle);
  }
  DeviceInfo processor = readProfile("generic-cpu");
  processor.platform = "Portable Computing Language, 3";
  CHECK(readProfile(processor.description()).platform == "Portable Computing Language  3");
  for (const char* wrong : {"type=GPU", "type=gpu,warp=32", "type=gpu,max_work_group_size=-1", "type=gpu,fp16=1",
                            "type=gpu,max_work_item_sizes=1:2", "type=gpu,compute_units"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(readProfile(wrong), UserError);
  }
}

TEST_CASE("JSON of pseudo devices, of lists and of names that are not UTF-8", "[null]") {
  std::vector<DeviceInfo> all = fakes();
  all[0].name = "Mali \xFF";
  const auto j = nlohmann::json::parse(toJson(all, 2));
  REQUIRE(j.size() == 4);
  CHECK(j[3].at("platform_index").is_null());
  CHECK(j[3].at("type") == "pseudo");
  CHECK(j[0].at("name").get<std::string>().rfind("Mali ", 0) == 0);
}
