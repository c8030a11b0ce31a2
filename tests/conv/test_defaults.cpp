// What a layer takes where nothing was measured: its family, and the configuration to start from, on several devices.
#include <fmt/format.h>

#include "conv/helpers.hpp"
#include "lift/conv_operator.hpp"
#include "lift/device.hpp"
#include "lift/space.hpp"

using namespace lift;
using namespace lift::test;

TEST_CASE("defaults of `blocked` are lowered to a small device") {
  DeviceLimits small;
  small.localBytes = 32768;
  for (const char* layer : {"ic64ih224oc64kh3ph1", "ic512ih14oc512kh3ph1", "ic256ih14oc128kh5ph2"}) {
    const Variant variant = derive(convWorkload(parseConv(layer)), "blocked");
    const Space space = lift::spaceOf(variant.program, small);
    const auto lowered = space.lowered(variant.defaults);
    INFO(layer << ": " << str(variant.defaults) << " to " << str(lowered.value_or(Config{})));
    REQUIRE(lowered);
    CHECK_FALSE(space.contains(variant.defaults));
    CHECK(space.contains(*lowered));
    CHECK(lowered->at("lanes") == variant.defaults.at("lanes"));
  }
}

TEST_CASE("Winograd in one kernel is chosen where caches and local memory suit it", "[null]") {
  const auto chosenOn = [](const char* layer, std::uint64_t local, std::uint64_t cache) {
    runtime::DeviceInfo device;
    device.name = "a processor";
    device.type = "cpu";
    device.computeUnits = 2;
    device.maxWorkGroupSize = 4096;
    device.maxWorkItemSizes = {4096, 4096, 4096};
    device.localMemory = local;
    device.cacheBytes = cache;
    device.maxAllocation = std::uint64_t{1} << 32;
    return choose(convWorkload(parseConv(layer)), &device, {.tuned = false}).variant.family;
  };
  constexpr std::uint64_t kib = 1 << 10, mib = 1 << 20;
  const char *few = "ic64ih112oc128kh3ph1", *many = "ic128ih56oc256kh3ph1";  // channels
  for (const char* layer : {few, many}) CHECK(chosenOn(layer, 2 * mib, 32 * mib) == "winogradFused");
  // A cache that the kernels are not in, and one that belongs to many more cores.
  for (const std::uint64_t cache : {2 * mib, 480 * mib}) {
    CHECK(chosenOn(few, 2 * mib, cache) == "winogradFused");
    CHECK(chosenOn(many, 2 * mib, cache) == "winograd");
  }
  // Local memory for blocks of half as many tiles, and of very few.
  for (const char* layer : {few, many}) CHECK(chosenOn(layer, 256 * kib, 32 * mib) == "winogradFused");
  for (const char* layer : {few, many}) CHECK(chosenOn(layer, 32 * kib, 32 * mib) == "winograd");
}

TEST_CASE("registers are used whatever the number of windows and kernels") {
  for (const char* layer : {"ic64ih1iw43oc64kh1kw3", "ic64ih13oc80kh3ph1", "ic32ih7oc48kh3", "ic32ih17oc112kh3ph1"})
    for (const char* family : {"blocked", "im2col"}) {
      const Workload w = convWorkload(parseConv(layer));
      const Config& config = w.family(family).defaults;
      INFO(layer << " by " << family << ": " << str(config));
      CHECK(config.at("pixels") * config.at("vectors") >= 10);
    }
}

TEST_CASE("what is preferred on processors with other registers is a point of the space, fits them, and is right") {
  const auto emulator = runtime::makeEmulatorDevice();
  int others = 0;
  for (const int lanes : {4, 8, 16})
    for (const char* layer : {"ic3ih17oc40kh3sh2ph1", "ic24ih9oc40kh1", "ic16ih14oc32kh3ph1", "g16ic16ih9oc16kh5ph2",
                              "g2ic32ih8oc48kh3ph1", "ic7ih6oc9kh2"}) {
      const ConvSpec spec = parseConv(layer);
      runtime::DeviceInfo device;
      device.type = "cpu";
      device.computeUnits = 2;
      device.vectorWidthF32 = lanes;
      const ConvTensors tensors = randomConvTensors(spec, 1);
      const Workload w = convWorkload(spec);
      for (const OperatorFamily& family : w.families) {
        const Config config = family.preferred && !family.forGpus ? family.preferred(device) : Config();
        if (config.empty()) continue;
        INFO(layer << " by " << family.name << " of " << lanes << " lanes: " << str(config));
        const Variant v = derive(w, family.name);
        for (const Constraint* broken : lift::spaceOf(v, DeviceLimits{}).why(config)) FAIL_CHECK(broken->str());
        if (const auto at = config.find("lanes"); at != config.end()) CHECK(at->second <= lanes);
        const char* inputs = config.contains("pixels") ? "pixels" : config.contains("tiles") ? "tiles" : "kernels";
        const std::int64_t across = config.at(family.name == "dots" ? "kernels" : "vectors");
        if (family.name != "depthwise")
          CHECK(config.at(inputs) * across + std::min(config.at(inputs), across) <= (lanes == 16 ? 32 : 16));
        if (family.name.starts_with("winograd") && family.name != "winograd") continue;  // as `winograd`
        const auto out = emulator->load(compileVariant(v, config))
                             ->run({{"input", tensors.input}, {"weights", tensors.weights}, {"biases", tensors.bias}})
                             .outputs;
        CHECK(largestError(out, {{"out", reference(spec, tensors)}}) <= v.toleranceAt({}));
        others++;
      }
    }
  CHECK(others >= 30);
}

TEST_CASE("depthwise layers prefer half of the registers, and as few vectors as their groups need") {
  struct Preferred {
    const char* layer;
    int registerLanes;
    std::int64_t lanes, pixels;
  };
  for (const Preferred& p :
       std::vector<Preferred>{{"g240ic240ih28oc240kh5ph2", 8, 8, 7},
                              {"g480ic480ih14oc480kh3ph1", 8, 8, 7},
                              {"g480ic480ih14oc480kh3ph1", 16, 16, 14},
                              {"g64ic64ih57oc64kh3ph1", 8, 8, 8},        // tiles that do not divide the row
                              {"g116ic116ih28oc116kh3sh2ph1", 8, 8, 7},  // 15 vectors, 29 of four
                              {"g12ic12ih56oc12kh3ph1", 8, 4, 8},
                              {"g72ic72ih56oc72kh5sh2ph2", 8, 8, 7}}) {  // read in place
    runtime::DeviceInfo device;
    device.type = "cpu";
    device.vectorWidthF32 = p.registerLanes;
    const Workload w = convWorkload(parseConv(p.layer));
    Config config = w.family("depthwise").preferred(device);
    if (config.empty()) config = w.family("depthwise").defaults;  // those of such registers
    INFO(p.layer << ": " << str(config));
    CHECK(config.at("lanes") == p.lanes);
    CHECK(config.at("pixels") == p.pixels);
  }
}

TEST_CASE(
    "sums are in vectors of input channels where vectors of output channels have lanes to spare, or outputs are one") {
  const auto first = [](const char* layer, Layout weights = Layout::ohwi) {
    return convWorkload(parseConv(layer), {.weights = weights}).families.front().name;
  };
  for (const char* layer : {"ic64ih224oc3kh3ph1", "ic512ih28oc1kh1", "ic128ih28oc12kh3ph1", "ic256ih14oc33kh3ph1",
                            "ic4096ih1oc4096kh1", "ic512ih7oc4096kh7ph0", "mb4ic512ih1oc1000kh1"}) {
    INFO(layer);
    CHECK(first(layer) == "dots");
  }
  for (const char* layer : {"ic64ih56oc256kh1", "ic96ih56oc24kh1", "ic3ih224oc3kh3ph1", "ic16ih1oc40kh1"}) {
    INFO(layer);  // full vectors, short sums, no vectors
    CHECK(first(layer) != "dots");
  }
  CHECK(first("ic4096ih1oc4096kh1", Layout::oihw) == "dots");  // of one tap the same order
  CHECK(first("ic512ih7oc4096kh7ph0", Layout::oihw) != "dots");
}

TEST_CASE("within little memory the next fastest family is taken that fits") {
  runtime::DeviceInfo device;
  device.type = "cpu";
  device.computeUnits = 2;
  device.vectorWidthF32 = 16;
  device.localMemory = 1 << 20;
  const auto within = [&](std::int64_t most, const char* layer, const ConvLayouts& layouts = {}) {
    const Choice choice =
        choose(convWorkload(parseConv(layer), layouts), &device, {.tuned = false, .maxWorkspace = most});
    CHECK(kernel::workspaceOf(compileVariant(choice.variant, choice.config)) <= most);
    return choice.variant.family;
  };
  CHECK(within(anyWorkspace, "ic512ih28oc512kh3ph1") == "winograd");
  CHECK(within(32'000'000, "ic512ih28oc512kh3ph1") == "winograd2");
  CHECK(within(10'000'000, "ic512ih28oc512kh3ph1") == "blocked");
  CHECK(within(0, "ic512ih28oc512kh3ph1") == "dots");
  CHECK(within(0, "ic512ih28oc512kh3ph1", {.weights = Layout::oihw}) == "planesInPlace");
  CHECK(within(0, "ic512ih28oc512kh1", {.weights = Layout::oihw}) == "dots");
  CHECK(within(0, "ic512ih28oc512kh1", {.input = Layout::nchw}) == "planesInPlace");
  CHECK(within(0, "g32ic256ih28oc256kh3ph1") == "dots");
  CHECK(within(0, "ic33ih28oc33kh3ph1") == "planesInPlace");
}

TEST_CASE("layers in planes are computed in vectors of pixels where the registers make that faster") {
  struct Preferred {
    const char* layer;
    const char* on8;   // AVX2's registers
    const char* on16;  // AVX-512's
  };
  for (const Preferred& p : std::vector<Preferred>{{"ic128ih28oc512kh1", "planes", "planes"},
                                                   {"ic64ih56oc64kh1", "planes", "planes"},
                                                   {"ic256ih14oc1024kh1", "blocked", "planes"},  // no whole vectors
                                                   {"ic256ih14oc256kh1", "blocked", "blocked"},
                                                   {"ic512ih28oc128kh1", "blocked", "planes"},
                                                   {"ic256ih27oc48kh1", "blocked", "planes"},
                                                   {"ic256ih7oc1024kh1", "blocked", "blocked"},  // 49 of 64 lanes
                                                   {"ic3ih224oc64kh7sh2ph3", "blocked", "planes"},
                                                   {"ic3ih224oc64kh3ph1", "planes", "planes"},
                                                   {"g144ic144ih56oc144kh3ph1", "planes", "planes"},
                                                   {"g32ic256ih28oc256kh3ph1", "blocked", "planes"},
                                                   {"g512ic512ih14oc512kh3ph1", "depthwise", "planes"},
                                                   {"g64ic64ih112oc64kh3sh2ph1", "depthwise", "planes"},
                                                   {"g144ic144ih56oc144kh3sh2ph1", "depthwise", "depthwise"}}) {
    const Workload w = convWorkload(parseConv(p.layer), {.input = Layout::nchw, .output = Layout::nchw});
    const auto familyOf = [&](int lanes) {
      runtime::DeviceInfo device;
      device.type = "cpu";
      device.computeUnits = 2;
      device.vectorWidthF32 = lanes;
      return choose(w, &device, {.tuned = false}).variant.family;
    };
    INFO(p.layer);
    CHECK(familyOf(8) == p.on8);
    CHECK(familyOf(16) == p.on16);
    CHECK(w.families.front().name == p.on16);
  }
}

TEST_CASE("at most as many lanes are loaded from planes as the first cache keeps at the same place") {
  struct Loaded {
    const char* layer;
    std::int64_t ofPlanes, ofPixels;
  };
  for (const Loaded& l : std::vector<Loaded>{{"ic64ih224oc64kh3ph1", 8, 16},
                                             {"ic64ih64oc64kh3ph1", 8, 16},
                                             {"ic64ih16oc64kh3ph1", 8, 16},
                                             {"ic64ih56oc64kh3ph1", 8, 16},
                                             {"ic20ih224oc64kh3ph1", 4, 4}})
    for (const char* family : {"winogradFused", "winograd"}) {
      const auto lanesOf = [&](Layout input) {
        return convWorkload(parseConv(l.layer), {.input = input}).family(family).defaults.at("load");
      };
      INFO(l.layer);
      CHECK(lanesOf(Layout::nchw) == l.ofPlanes);
      CHECK(lanesOf(Layout::nhwc) == l.ofPixels);
    }
}

TEST_CASE("blocks of tiles do not begin in the middle of one row of planes and end in that of another") {
  const auto blockOf = [](const char* layer, Layout layout) {
    return convWorkload(parseConv(layer), {.input = layout, .output = layout})
        .family("winogradFused")
        .defaults.at("block");
  };
  CHECK(blockOf("ic64ih224oc64kh3ph1", Layout::nhwc) == 16);
  CHECK(blockOf("ic64ih224oc64kh3ph1", Layout::nchw) == 14);  // a row has 56 tiles
  CHECK(blockOf("ic128ih28oc128kh3ph1", Layout::nchw) == 7);
  CHECK(blockOf("ic16ih16oc16kh3ph1", Layout::nchw) % 4 == 0);
}

TEST_CASE("tunables that a configuration leaves out are as the device prefers them") {
  runtime::DeviceInfo device;
  device.type = "cpu";
  device.computeUnits = 2;
  device.vectorWidthF32 = 8;
  const Workload w = convWorkload(parseConv("ic16ih14oc32kh3ph1"));
  const Config usual = choose(w, &device, {.family = "blocked", .tuned = false}).config;
  Config asked = usual;
  asked["unroll"] = usual.at("unroll") == 1 ? 2 : 1;
  const Config given{{"unroll", asked.at("unroll")}};
  CHECK(choose(w, &device, {.family = "blocked", .config = given}).config == asked);
  CHECK(choose(w, nullptr, {.family = "blocked", .config = given}).config == given);
  const Config wrong{{"unroll", 0}};  // for `configured` to refuse
  CHECK(choose(w, &device, {.family = "blocked", .config = wrong}).config == wrong);
}

TEST_CASE("defaults fit layers of awkward sizes") {
  const auto defaultsOf = [](const char* layer, const char* family) {
    return convWorkload(parseConv(layer)).family(family).defaults;
  };
  for (const std::int64_t channels : {80, 136, 176}) {  // whose largest divisors are odd, or twice an odd number
    const Config config = defaultsOf(fmt::format("ic{}ih14oc32kh3ph1", channels).c_str(), "blocked");
    CHECK(config.at("load") >= 8);
    CHECK(config.at("channels") % config.at("load") == 0);
  }
  // 17² tiles: no number divides them that leaves few registers unused.
  const Config products = defaultsOf("ic64ih66oc64kh3ph1", "winograd");
  CHECK(products.at("tiles") * products.at("vectors") >= 12);
  // Kernels in a row that is longer than what registers hold.
  CHECK(defaultsOf("g64ic64ih1iw400oc64kh1kw31pw15ph0", "depthwise").at("pixels") >= 8);
}
