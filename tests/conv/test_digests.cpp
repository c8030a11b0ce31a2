// Digests of all generated convolution kernels: changes to them are visible, and deliberate.
//
// kernel_digests.txt has a line for every family and layer of shapes/ at its default configuration, and for the layers
// of `varied` more: each tunable at its smallest. UPDATE=1 writes the file anew.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "conv/helpers.hpp"
#include "lift/conv_operator.hpp"
#include "lift/digest.hpp"

using namespace lift;
using namespace lift::test;

namespace {

const std::set<std::string> varied = {"vgg16_0", "alexnet_1",   "yolo_C1",   "stride2",
                                      "groups4", "groups3_odd", "depthwise", "depthwise_times2"};

// Families of the strategy of one that is recorded for all layers.
const std::set<std::string> others = {"winograd2", "winograd6"};

const std::string file = LIFT_SOURCE_DIR "/tests/conv/kernel_digests.txt";

// Of all kernels of the plan, their NDRanges (which are in their texts), and their order.
std::string digestOf(const kernel::Plan& plan) {
  std::string all;
  for (const auto* launches : {&plan.preparation, &plan.launches}) {
    for (const kernel::Launch& l : *launches) all += plan.sources[static_cast<std::size_t>(l.kernel)];
    all += '\0';
  }
  return runtime::hex(runtime::sha256(all)).substr(0, 16);
}

std::string describe(const Config& config) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : config) parts.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string lineOf(const Variant& variant, const Config& config) {
  CompileOptions options;
  options.passes.verifyEach = true;
  return fmt::format("{} {} {} {}", digestOf(compileVariant(variant, config, options)), variant.family,
                     variant.workload.descriptor, describe(config));
}

// Each tunable at its smallest, the others as in the default: those that are configurations.
std::vector<Config> smallest(const Variant& variant) {
  std::vector<Config> out;
  for (const NatVar t : variant.program.tunables) {
    Config config = variant.defaults;
    config[t.name()] = t.lower();
    if (config == variant.defaults) continue;
    try {
      configured(variant, config);
      out.push_back(config);
    } catch (const UserError&) {
    }
  }
  return out;
}

std::vector<std::string> generated() {
  std::vector<std::string> lines;
  std::set<std::string> seen;  // some layers are in several files
  for (const char* name : {"vgg16.txt", "alexnet.txt", "yolov1.txt", "odd.txt"}) {
    for (ConvSpec spec : shapes(name)) {
      const bool vary = varied.count(spec.name) > 0;
      spec.name.clear();
      if (!seen.insert(spec.str()).second) continue;
      const Workload workload = convWorkload(spec);
      for (const OperatorFamily& family : workload.families) {
        if (!vary && others.count(family.name) > 0) continue;
        const Variant variant = derive(workload, family.name);
        lines.push_back(lineOf(variant, variant.defaults));
        if (!vary) continue;
        for (const Config& config : smallest(variant)) lines.push_back(lineOf(variant, config));
      }
    }
  }
  std::sort(lines.begin(), lines.end(),
            [](const std::string& a, const std::string& b) { return a.substr(a.find(' ')) < b.substr(b.find(' ')); });
  return lines;
}

std::vector<std::string> recorded() {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("the configurations that ship with liftc give kernels, on one device at least those that were measured") {
  const tune::Database& shipped = tune::shippedDefaults();
  std::map<std::string, int> measured, current;  // by device
  std::map<std::string, CompileTarget> targets;
  for (const tune::DeviceRow& d : shipped.devices()) targets[d.id] = parseDeviceLimits(d.properties).target;
  for (const tune::Measurement& m : shipped.select({})) {
    const std::string key = m.key.problem;
    INFO(key << " of " << m.key.device);
    REQUIRE(key.rfind("conv ", 0) == 0);
    Workload workload = convOperator().parse(key.substr(5));
    workload.target = targets.at(m.key.device);
    CHECK(workload.key() == key);
    measured[m.key.device]++;
    if (tune::kernelIdentity(compileVariant(derive(workload, m.key.family), m.key.config)) == m.key.kernels)
      current[m.key.device]++;
  }
  CHECK(measured.size() >= 2);
  INFO("after a change to kernels, scripts/measure_defaults.sh measures them again, on the devices that are at hand");
  CHECK(std::ranges::any_of(measured, [&](const auto& m) { return m.second >= 9 && current[m.first] == m.second; }));
}

TEST_CASE("generated convolution kernels are those that are recorded") {
  const std::vector<std::string> now = generated();
  CHECK(now.size() >= 60 * 3);
  if (std::getenv("UPDATE")) {
    std::ofstream out(file);
    for (const std::string& line : now) out << line << "\n";
    REQUIRE(out);
    return;
  }
  const std::vector<std::string> then = recorded();
  std::set<std::string> gone(then.begin(), then.end());
  std::vector<std::string> changed;
  for (const std::string& line : now)
    if (!gone.erase(line)) changed.push_back(line);
  INFO(changed.size() << " of " << now.size() << " plans are not those of tests/conv/kernel_digests.txt, and "
                      << gone.size() << " of the file's are no more");
  for (std::size_t i = 0; i < std::min<std::size_t>(changed.size(), 3); i++) UNSCOPED_INFO(changed[i]);
  INFO("if their change is meant: UPDATE=1 test_conv 'generated convolution kernels*', and commit the file");
  CHECK(changed.empty());
  CHECK(gone.empty());
}
