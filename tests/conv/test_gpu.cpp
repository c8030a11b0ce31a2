#include <catch2/catch.hpp>

#include "lift/conv_operator.hpp"
#include "lift/kernel_passes.hpp"

using namespace lift;

namespace {

Choice chosen(const ConvSpec& layer, const char* profile, const std::string& family = "") {
  const runtime::DeviceInfo device = runtime::readProfile(profile);
  return choose(convWorkload(layer, {}), &device, {.family = family, .tuned = false});
}

std::int64_t itemsOf(const kernel::Kernel& k) {
  std::int64_t items = 1;
  for (const Nat& n : k.range.global) items *= n.constant().value();
  return items;
}

}  // namespace

TEST_CASE("on a GPU a layer takes the family for GPUs, with sums that its registers hold", "[null]") {
  std::int64_t layers = 0, vectors = 0, sums = 0;
  for (const char* profile :
       {"portable", "mali-g72", "mali-g57", "adreno-630", "intel-gpu", "amd-gfx900", "amd-gfx1030", "nvidia"})
    for (const char* layer : {"ic128ih56oc256kh3ph1", "ic512ih14oc512kh3ph1", "ic16ih17oc16kh1kw7ph0pw3",
                              "ic8ih31oc24kh3sh3ph1", "g4ic16ih9oc16kh3ph1", "ic3ih19oc64kh3ph1"}) {
      INFO(layer << " for " << profile);
      const runtime::DeviceInfo device = runtime::readProfile(profile);
      const Choice choice = choose(convWorkload(parseConv(layer), {}), &device, {.family = "tiled", .tuned = false});
      const Config& c = choice.config;
      CHECK(c.at("pixels") * c.at("kernels") <= device.registers * 3 / 4);
      CHECK(spaceOf(choice.variant, parseDeviceLimits(device.toJson())).contains(c));
      for (const kernel::Kernel& k : compileVariant(choice.variant, c).kernels) {
        CHECK(kernel::localBytes(k) == Nat(0));
        const kernel::Counts counts = kernel::count(k);
        CHECK(counts.barriers == 0);
        CHECK(counts.privateArrays == 0);
        vectors += counts.global.bytesLoaded == 16 * counts.global.loads ? 1 : 0;
      }
      sums += c.at("pixels") * c.at("kernels");
      layers++;
    }
  CHECK(chosen(parseConv("ic128ih56oc256kh3ph1"), "portable").variant.family == "tiled");
  CHECK(layers == 48);
  CHECK(vectors >= 32);
  CHECK(sums >= 6 * layers);
  // Of few kernels a group, too, where inputs are vectors; else most of a tile's vectors would be cropped.
  for (const char* layer : {"ic64ih28oc1kh3ph1", "g32ic64ih28oc32kh3ph1"}) {
    for (const char* profile : {"mali-g72", "adreno-630", "portable", "nvidia", "amd-gfx1030"})
      CHECK(chosen(parseConv(layer), profile).variant.family == "tiled");
  }
  for (const char* profile : {"mali-g72", "adreno-630", "portable"})
    CHECK(chosen(parseConv("ic3ih56oc1kh3ph1"), profile).variant.family == "naive");
  // Its kernels access vectors as such; those for processors by vload.
  const ConvSpec layer = parseConv("ic16ih14oc32kh3ph1");
  const auto text = [](const Variant& v) {
    std::string all;
    for (const std::string& s : compileVariant(v, v.defaults).sources) all += s;
    return all;
  };
  CHECK(text(chosen(layer, "mali-g72").variant).find("*(const __global float4*)") != std::string::npos);
  const Variant ofProcessor = chosen(layer, "generic-cpu").variant;
  CHECK_FALSE(ofProcessor.workload.family(ofProcessor.family).forGpus);
  CHECK(text(ofProcessor).find("*(const __global float") == std::string::npos);
}

TEST_CASE("weights are read through images on GPUs that have a pipe for them", "[null]") {
  for (const char* layer : {"ic128ih56oc256kh1", "ic3ih19oc64kh3ph1", "g4ic16ih9oc16kh3ph1"})
    for (const char* profile : {"mali-g72", "mali-g57", "adreno-630"}) {
      INFO(layer << " for " << profile);
      const Choice choice = chosen(parseConv(layer), profile);
      CHECK(choice.variant.family == "tiledImages");
      const kernel::Plan plan = compileVariant(choice.variant, choice.config);
      CHECK(std::ranges::count_if(plan.buffers, &kernel::PlanBuffer::isImage) == 1);
      CHECK(plan.preparation.size() == 1);
      CHECK(plan.sources[0].find("write_imagef(") != std::string::npos);
      CHECK(plan.sources.back().find("read_imagef(") != std::string::npos);
    }
  const Workload even = convWorkload(parseConv("ic6ih19oc64kh3ph1"), {});
  CHECK(even.refused.count("tiledImages") == 1);
  // A device without images has no such configuration.
  runtime::DeviceInfo device = runtime::readProfile("mali-g72");
  device.maxImageWidth = 0;
  const Choice without = choose(convWorkload(parseConv("ic128ih56oc256kh1"), {}), &device, {.tuned = false});
  CHECK(without.variant.family == "tiled");
  CHECK(without.origin.find("no configuration of tiledImages") != std::string::npos);
}

TEST_CASE("preparation copies each vector of the weights by a work-item", "[null]") {
  for (const char* layer : {"ic128ih14oc64kh3ph1", "ic3ih19oc64kh3ph1", "g4ic16ih9oc16kh3ph1"})
    for (const char* family : {"tiled", "tiledImages"}) {
      INFO(layer << ", " << family);
      const Choice choice = chosen(parseConv(layer), "mali-g72", family);
      const kernel::Plan plan = compileVariant(choice.variant, choice.config);
      REQUIRE(plan.preparation.size() == 1);
      const kernel::Kernel& copy = plan.kernels[static_cast<std::size_t>(plan.preparation[0].kernel)];
      const kernel::Counts counts = kernel::count(copy);
      CHECK(counts.global.stores <= static_cast<double>(itemsOf(copy)));
    }
}

TEST_CASE("blocks of a layer that are copied to local memory fit devices where it is apart", "[null]") {
  std::int64_t layers = 0;
  for (const char* profile : {"adreno-630", "intel-gpu", "amd-gfx900", "amd-gfx1030", "nvidia"})
    for (const char* layer : {"ic128ih56oc256kh3ph1", "ic512ih14oc512kh3ph1", "ic16ih17oc16kh1kw7ph0pw3",
                              "ic3ih224oc64kh3ph1", "ic8ih31oc24kh3sh3ph1", "g2mb3ic34ih9oc32kh3ph1"}) {
      INFO(layer << " for " << profile);
      const runtime::DeviceInfo device = runtime::readProfile(profile);
      const Choice choice = chosen(parseConv(layer), profile, "staged");
      const Config& c = choice.config;
      CHECK(spaceOf(choice.variant, parseDeviceLimits(device.toJson())).contains(c));
      CHECK(c.at("pixels") * c.at("kernels") < device.registers);
      const kernel::Plan plan = compileVariant(choice.variant, c);
      const kernel::Kernel& product = plan.kernels.back();
      const std::int64_t block = c.at("pixels") * c.at("pixelItems") + c.at("kernels") * c.at("kernelItems");
      CHECK(kernel::localBytes(product) == Nat(4 * c.at("depth") * block));
      const kernel::Counts counts = kernel::count(product);
      CHECK(counts.barriers > 0);
      CHECK(counts.privateArrays == 0);
      layers++;
    }
  CHECK(layers == 30);
}

TEST_CASE("sums of layers with few outputs are split where blocks are too few for the units", "[null]") {
  for (const char* layer : {"ic1024ih14oc1024oh7kh3sh2ph1", "ic1024ih7oc1024kh3ph1", "ic1024ih14oc512kh1",
                            "ic2048ih1oc1000kh1", "ic1024ih1iw196oc512oh1kh1kw1"}) {
    INFO(layer);
    const runtime::DeviceInfo device = runtime::readProfile("nvidia-h200");
    const Choice choice = chosen(parseConv(layer), "nvidia-h200");
    CHECK(choice.variant.family == "stagedSplitK");
    CHECK(spaceOf(choice.variant, parseDeviceLimits(device.toJson())).contains(choice.config));
    const kernel::Plan plan = compileVariant(choice.variant, choice.config);
    std::int64_t groups = 1;
    for (const kernel::Kernel& k : plan.kernels)
      for (int d = 0; d < 3 && kernel::localBytes(k) != Nat(0); d++)
        groups *= *(k.range.global[d] / k.range.local[d]).constant();
    CHECK(groups > 100);
  }
  for (const char* layer : {"ic256ih56oc256kh1", "ic64ih56oc256kh1", "ic512ih28oc512kh1"})
    CHECK(chosen(parseConv(layer), "nvidia-h200").variant.family == "staged");
  CHECK(chosen(parseConv("ic512ih28oc512kh3ph1"), "nvidia-h200").variant.family == "winogradStaged");
  CHECK(convWorkload(parseConv("g2ic64ih7oc64kh3ph1"), {}).refused.count("stagedSplitK") == 1);
}

TEST_CASE("Winograd's products are staged on GPUs of which more is known than limits", "[null]") {
  std::int64_t layers = 0;
  for (const char* profile : {"adreno-630", "intel-gpu", "amd-gfx900", "amd-gfx1030", "nvidia"})
    for (const char* layer :
         {"ic128ih56oc256kh3ph1", "ic512ih14oc512kh3ph1", "ic96ih27oc256kh5ph2", "mb3ic50ih40oc70kh3"}) {
      INFO(layer << " for " << profile);
      const Choice choice = chosen(parseConv(layer), profile);
      CHECK(choice.variant.family == "winogradStaged");
      const kernel::Plan plan = compileVariant(choice.variant, choice.config);
      CHECK(plan.preparation.size() == 1);
      CHECK(plan.launches.size() == 3);
      for (const kernel::Kernel& k : plan.kernels) {
        CHECK(kernel::count(k).privateArrays == 0);
        CHECK(itemsOf(k) >= 3500);  // no fewer than kernels that are transformed
      }
      layers++;
    }
  CHECK(layers == 20);
  // On Mali transforms of tiles that reach over the edge spill registers.
  for (const auto& [layer, family] : {std::pair("ic128ih56oc256kh3ph1", "winogradStaged"),
                                      {"ic64ih224oc64kh3ph1", "winogradStaged"},
                                      {"ic512ih14oc512kh3ph1", "tiledImages"},
                                      {"ic96ih27oc256kh5ph2", "tiledImages"}})
    CHECK(chosen(parseConv(layer), "mali-g72").variant.family == family);
  for (const char* layer : {"ic8ih56oc256kh3ph1", "ic64ih14oc256kh1", "g4ic128ih56oc256kh3ph1", "ic128ih56oc256kh1",
                            "ic3ih224oc64kh7sh2ph3"})
    CHECK(chosen(parseConv(layer), "nvidia").variant.family == "staged");
  for (const char* layer : {"ic3ih224oc64kh3ph1", "g16ic128ih56oc256kh3ph1"})
    CHECK(chosen(parseConv(layer), "nvidia").variant.family == "tiled");
  const runtime::DeviceInfo device = runtime::readProfile("nvidia");
  const Workload planes = convWorkload(parseConv("ic128ih56oc256kh3ph1"), {.input = Layout::nchw});
  CHECK(choose(planes, &device, {.tuned = false}).variant.family == "stagedSplitK");
  // Half precision is none for Winograd: the direct families, as if there were no other.
  for (const auto& [profile, family] : {std::pair("mali-g72", "tiledImages"), {"amd-gfx1030", "staged"}}) {
    const runtime::DeviceInfo halves = runtime::readProfile(profile);
    const Workload layer = convWorkload(parseConv("ic128ih56oc256kh3ph1"), {.elements = Scalar::h16});
    CHECK(choose(layer, &halves, {.tuned = false}).variant.family == family);
  }
  CHECK(chosen(parseConv("ic128ih56oc256kh3ph1"), "portable").variant.family == "tiled");
}

TEST_CASE("depthwise layers are vectors of channels by pixels where these fill the device", "[null]") {
  for (const char* layer : {"g144ic144ih56oc144kh3ph1", "g32ic32ih112oc64kh5sh2ph2", "g19mb2ic19ih17oc19kh3"}) {
    INFO(layer);
    for (const char* profile : {"mali-g72", "mali-g57", "portable"}) {
      const Choice choice = chosen(parseConv(layer), profile);
      CHECK(choice.variant.family == "depthwiseTiled");
      const kernel::Plan plan = compileVariant(choice.variant, choice.config);
      CHECK(plan.launches.size() == 1);
      const kernel::Kernel& k = plan.kernels.back();
      CHECK(kernel::localBytes(k) == Nat(0));
      CHECK(kernel::count(k).privateArrays == 0);
      CHECK(k.range.local[0] != Nat(1));
    }
    CHECK(chosen(parseConv(layer), "nvidia").variant.family != "depthwiseTiled");
  }
  for (const char* layer : {"g144ic144ih56oc144kh3ph1", "g96ic96ih56oc96kh7ph3"})
    CHECK(chosen(parseConv(layer), "adreno-630").variant.family == "depthwiseTiled");
  CHECK(chosen(parseConv("g96ic96ih56oc96kh7ph3"), "nvidia").variant.family == "depthwiseTiled");
  // A row of taps that loads much is of vectors of two where registers are few.
  CHECK(chosen(parseConv("g24ic24ih14oc24kh5sh2ph2"), "mali-g72").config.at("lanes") == 2);
  CHECK(chosen(parseConv("g144ic144ih56oc144kh5sh2ph2"), "adreno-630").config.at("lanes") == 4);
  // Vectors divide the groups where they can; groups that are left over are read one by one at each tap.
  CHECK(chosen(parseConv("g58ic58ih28oc58kh3ph1"), "mali-g72").config.at("lanes") == 2);
  CHECK(chosen(parseConv("g7ic7ih29oc7kh5sh2ph2"), "mali-g72").variant.family == "naive");
  // Rows of many taps are a loop: one after the other, their loads take more registers than there are.
  const Choice five = chosen(parseConv("g64ic64ih28oc64kh5ph2"), "mali-g72");
  CHECK(kernel::count(compileVariant(five.variant, five.config).kernels.back()).loops == 1);
  // No vectors over groups: groups of several channels, and planes.
  CHECK(chosen(parseConv("g4ic16ih9oc16kh3ph1"), "mali-g72").variant.family != "depthwiseTiled");
  const runtime::DeviceInfo device = runtime::readProfile("mali-g72");
  const Workload planes =
      convWorkload(parseConv("g16ic16ih9oc16kh3ph1"), {.input = Layout::nchw, .output = Layout::nchw});
  CHECK(choose(planes, &device, {.tuned = false}).variant.family != "depthwiseTiled");
}

TEST_CASE("neighbours in a GPU's dimension 0 write neighbouring channels of layers of groups", "[null]") {
  for (const char* layer : {"g144ic144ih56oc144kh3ph1", "g96mb2ic96ih27oc192kh5sh2ph2", "g58ic58ih28oc58kh3ph1"}) {
    INFO(layer);
    const ConvSpec spec = parseConv(layer);
    const Choice choice = chosen(spec, "nvidia");
    CHECK(choice.variant.family == "naive");
    const kernel::Plan plan = compileVariant(choice.variant, choice.config);
    REQUIRE(plan.kernels.size() == 1);
    CHECK(plan.kernels[0].range.global[0].constant().value() >= spec.groups);
    CHECK(itemsOf(plan.kernels[0]) >= spec.groups * spec.oh);
    // On a processor, too, they are not one work-item.
    CHECK(itemsOf(compileVariant(derive(convWorkload(spec, {}), "naive"), {}).kernels[0]) >= spec.groups * spec.oh);
  }
}

TEST_CASE("searches on a processor begin with families for GPUs only where these are asked for", "[null]") {
  const runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  const Workload layer = convWorkload(parseConv("ic128ih28oc256kh3ph1"), {});
  int others = 0;
  for (const tune::Subspace& all : tuningProblem(layer, device).subspaces) {
    INFO(all.search.name);
    const bool forGpus = layer.family(all.search.name).forGpus;
    others += forGpus ? 0 : 1;
    CHECK(all.search.start.empty() == forGpus);
    CHECK_FALSE(tuningProblem(layer, device, {all.search.name}).subspaces[0].search.start.empty());
  }
  CHECK(others > 1);
}

TEST_CASE("searches begin with shipped configurations from before a family had all its tunables", "[null]") {
  const runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  int later = 0;
  for (const char* layer : {"ic256ih28oc512kh3ph1", "ic64ih224oc64kh3ph1", "ic512ih28oc512kh3ph1"}) {
    INFO(layer);
    const tune::SearchSpace first = tuningProblem(convWorkload(parseConv(layer), {}), device).subspaces[0].search;
    REQUIRE_FALSE(first.start.empty());
    const auto points = first.start[0].find("points");
    later += points != first.start[0].end() && points->second == 1 ? 1 : 0;
  }
  CHECK(later > 0);
}

TEST_CASE("how a processor computes by Winograd follows from its caches", "[null]") {
  runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  const auto on = [&](const char* layer, std::uint64_t own, std::uint64_t last) {
    device.localMemory = own;
    device.cacheBytes = last;
    const Choice choice = choose(convWorkload(parseConv(layer), {}), &device, {.tuned = false});
    CHECK(spaceOf(choice.variant, parseDeviceLimits(device.toJson())).contains(choice.config));
    return choice;
  };
  constexpr std::uint64_t near = 32 << 20, far = 480 << 20, small = 1 << 20, large = 2 << 20;
  // 4.7 MB of transformed kernels, and 2.4 MB.
  CHECK(on("ic128ih56oc256kh3ph1", small, near).variant.family == "winogradFused");
  CHECK(on("ic128ih56oc256kh3ph1", small, far).variant.family == "winograd");
  CHECK(on("ic128ih112oc128kh3ph1", small, far).variant.family == "winogradFused");
  CHECK(on("ic128ih112oc128kh3ph1", small, near).config.at("block") == 14);
  CHECK(on("ic128ih112oc128kh3ph1", large, near).config.at("block") == 28);
  CHECK(on("ic96ih27oc256kh5ph2", small, near).variant.family == "winogradFused");
  CHECK(on("ic96ih27oc256kh5ph2", small, far).variant.family == "winograd");
  CHECK(on("ic512ih28oc512kh3ph1", small, near).variant.family == "winograd");
  CHECK(on("ic512ih14oc1024kh3ph1", small, near).variant.family == "winograd2");      // 16 tiles of 4 by 4
  CHECK(on("ic512ih33oc256kh3ph24dh23", small, near).variant.family == "winograd2");  // phases of 2 by 2
  CHECK(on("ic256ih2oc256kh3ph1mb4", small, near).variant.family == "winograd2");
  CHECK(on("ic64ih28oc64kh1", large, far).variant.family == "blocked");
  // Most of their windows is padding, which `blocked` leaves out.
  for (const char* layer : {"ic128ih1oc1024kh5ph4", "ic128ih1oc1024kh7ph6", "ic256ih2oc512kh4ph3"})
    CHECK(on(layer, small, near).variant.family == "blocked");
  for (const char* layer : {"ic64ih8oc64kh3ph1", "ic16ih32oc16kh3ph1", "ic384ih8oc384kh1kw3ph0pw1",
                            "ic128ih17oc192kh7kw1ph3pw0", "g32ic256ih28oc256kh3ph1"})
    CHECK(on(layer, small, near).variant.family == "winogradFused");
  for (const char* layer : {"ic33ih28oc47kh3ph1", "ic64ih28oc65kh3ph1", "ic16ih14oc16kh3ph1"})
    CHECK(on(layer, small, near).variant.family == "blocked");
}
