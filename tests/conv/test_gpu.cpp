#include <catch2/catch.hpp>

#include "lift/conv_operator.hpp"

using namespace lift;

namespace {

Choice chosen(const ConvSpec& layer, const char* profile) {
  const runtime::DeviceInfo device = runtime::readProfile(profile);
  return choose(convWorkload(layer, {}), &device, {.tuned = false});
}

}  // namespace

TEST_CASE("on a GPU a layer takes the family for GPUs, with sums that its registers hold", "[null]") {
  int layers = 0, vectors = 0;
  for (const char* profile : {"portable", "mali-g72", "adreno-630", "intel-gpu", "amd-gfx1030", "nvidia"})
    for (const char* layer : {"ic128ih56oc256kh3ph1", "ic512ih14oc512kh3ph1", "ic16ih17oc16kh1kw7ph0pw3",
                              "ic8ih31oc24kh3sh3ph1", "g4ic16ih9oc8kh3ph1"}) {
      INFO(layer << " for " << profile);
      const runtime::DeviceInfo device = runtime::readProfile(profile);
      const Choice choice = chosen(parseConv(layer), profile);
      CHECK(choice.variant.family == "paper");
      const Config& c = choice.config;
      CHECK(4 * c.at("kappa") * c.at("sigma") <= device.registers);
      CHECK(spaceOf(choice.variant, parseDeviceLimits(device.toJson())).contains(c));
      layers++;
      vectors += static_cast<int>(c.count("upsilon"));
    }
  CHECK(layers == 30);
  CHECK(vectors >= 18);
  // Its kernels access vectors as such; those for processors by vload.
  const ConvSpec layer = parseConv("ic16ih14oc32kh3ph1");
  const auto text = [](const Variant& v) {
    std::string all;
    for (const std::string& s : compileVariant(v, v.defaults).sources) all += s;
    return all;
  };
  CHECK(text(chosen(layer, "mali-g72").variant).find("*(const __global float4*)") != std::string::npos);
  const Variant ofProcessor = chosen(layer, "generic-cpu").variant;
  CHECK(ofProcessor.family != "paper");
  CHECK(text(ofProcessor).find("*(const __global float") == std::string::npos);
}
