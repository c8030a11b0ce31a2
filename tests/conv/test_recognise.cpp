// Convolutions in programs: recognised however they are written, derived by the families of the layer, judged by the
// interpreter.
#include <algorithm>
#include <catch2/catch.hpp>

#include "lift/exact.hpp"
#include "lift/rewrite_check.hpp"
#include "recognised.hpp"

using namespace lift;
using recognised::Case;

namespace {

std::string keyOf(const std::string& layer) { return layer.empty() ? "" : operatorNamed("conv").parse(layer).key(); }

}  // namespace

TEST_CASE("convolutions are recognised however they are written") {
  recognised::registerConv();
  for (const Case& c : recognised::cases()) DYNAMIC_SECTION(c.name) {
      const PartedProgram parted = partsOf(recognised::load(c));
      verify(parted.program);
      std::vector<std::string> found, expected;
      for (const Part& p : parted.parts) found.push_back(p.same ? p.same->key() : "");
      for (const std::string& layer : c.layers) expected.push_back(keyOf(layer));
      CHECK(found == expected);
    }
}

TEST_CASE("elements that are computed of very many others are no layer's, which does not take long to see") {
  recognised::registerConv();
  std::string text = "def main(xs: [4][64]f32): [4][64]f32 = xs |> map(fun y0 => ";
  for (int i = 0; i < 24; i++)
    text += "let y" + std::to_string(i + 1) + " = let s = sum(y" + std::to_string(i) +
            ") in map(fun a => a / s + exp(a), y" + std::to_string(i) + ") in ";
  for (const Part& p : partsOf(parseProgram(*addSource("rows.lift", text + "y24)"))).parts) CHECK(!p.same);
}

TEST_CASE("families of a layer derive the parts that compute it") {
  recognised::registerConv();
  const auto device = runtime::makeEmulatorDevice();
  std::size_t turn = 0;
  for (const Case& c : recognised::cases()) {
    turn++;
    DYNAMIC_SECTION(c.name) {
      int derived = 0, layers = 0;
      const Program program = recognised::load(c);
      const PartedProgram parted = partsOf(program);
      const auto inputs = recognised::inputsOf(program);
      const auto expected = interpret(program, inputs);
      std::vector<PartChoice> choices;
      for (const Part& p : parted.parts) choices.push_back(defaultChoice(p));
      for (std::size_t i = 0; i < parted.parts.size(); i++) {
        if (!parted.parts[i].same) continue;
        layers++;
        // The first, and another in turn.
        const auto& families = parted.parts[i].workload.families;
        for (const OperatorFamily& f : {families[0], families[1 + turn % (families.size() - 1)]}) {
          INFO(f.name);
          std::vector<PartChoice> now = choices;
          now[i] = {f.name, f.defaults, "given"};
          Workload w = programWorkload(program, 0);
          w.families = {partsFamily(parted, now)};
          const Variant v = derive(w, partsFamilyName);
          verify(v.program);
          const auto run = device->load(compileVariant(v, v.defaults))->run(inputs);
          CHECK(largestError(run.outputs, expected) < 2e-5);
          derived++;
        }
      }
      CHECK(layers == std::count_if(c.layers.begin(), c.layers.end(), [](const auto& l) { return !l.empty(); }));
      CHECK(derived == 2 * layers);
    }
  }
}

TEST_CASE("convolutions of halves are recognised, and their families round results alone") {
  recognised::registerConv();
  const auto device = runtime::makeEmulatorDevice();
  int derived = 0;
  for (const std::string elements : {"f16", "h16"}) {
    Case c = recognised::cases()[0];
    for (std::size_t at = 0; (at = c.text.find("f32", at)) != std::string::npos;) c.text.replace(at, 3, elements);
    const Program program = recognised::load(c);
    const PartedProgram parted = partsOf(program);
    REQUIRE(parted.parts.size() == 1);
    REQUIRE(parted.parts[0].same);
    CHECK(parted.parts[0].same->key() == keyOf(c.layers[0] + " with elements " + elements));
    if (elements == "h16") continue;  // rounded in another order
    const auto inputs = programWorkload(program, 0).makeInputs(7);
    const auto expected = interpret(program, inputs);
    for (const OperatorFamily& f : parted.parts[0].workload.families) {
      INFO(f.name);
      Workload w = programWorkload(program, 0);
      w.families = {partsFamily(parted, {{f.name, f.defaults, "given"}})};
      const Variant v = derive(w, partsFamilyName);
      const auto run = device->load(compileVariant(v, v.defaults))->run(inputs);
      CHECK(largestError(run.outputs, expected) < 1.02 * 0x1p-10);  // one rounding of either, and what f32 rounds
      derived++;
    }
  }
  CHECK(derived >= 6);
}

TEST_CASE("what was measured of a layer is taken for the part of a program that computes it, which says so") {
  recognised::registerConv();
  const Case& c = recognised::cases()[0];
  const Workload layer = operatorNamed("conv").parse(c.layers[0]), program = programWorkload(recognised::load(c), 0);
  const runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  const auto chosen = [&](const tune::Database& db) {
    const Choice all = choose(program, &device, {.family = partsFamilyName, .own = &db});
    return all.variant.workload.family(partsFamilyName).choices->at(0);
  };
  auto db = tune::Database::inMemory();
  const PartChoice before = chosen(db);
  CHECK(before.family == layer.families[0].name);
  CHECK_THAT(before.origin, !Catch::Contains("measured"));

  const Variant v = derive(layer, "winograd2");
  Config config = v.defaults;
  config["unroll"] = 1;
  REQUIRE(config != v.defaults);
  REQUIRE(v.family != before.family);
  tune::Measurement m;
  m.key = {layer.key(), tune::deviceRow(device).id, tune::kernelIdentity(compileVariant(v, config)), v.family,
           config,      tune::Phase::sweep};
  m.times = {1, 1, 1};
  REQUIRE(db.add(tune::deviceRow(device)));
  REQUIRE(db.add(m));
  const PartChoice after = chosen(db);
  CHECK(after.family == v.family);
  CHECK(after.config == config);
  CHECK_THAT(after.origin, Catch::Contains("measured on this device"));
}

TEST_CASE("what was measured on another device is taken while its kernels are what they were") {
  const Workload layer = convWorkload(parseConv("ic24ih10oc40kh3ph1"), {});
  const runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  const Variant v = derive(layer, "winograd2");
  const auto chosen = [&](const std::string& driver, const std::string& kernels) {
    runtime::DeviceInfo other = device;
    other.driverVersion = driver;
    tune::Measurement m;
    m.key = {layer.key(), tune::deviceRow(other).id, kernels, v.family, v.defaults, tune::Phase::sweep};
    m.times = {1, 1, 1};
    auto db = tune::Database::inMemory();
    REQUIRE(db.add(tune::deviceRow(other)));
    REQUIRE(db.add(m));
    return choose(layer, &device, {.own = &db});
  };
  const std::string current = tune::kernelIdentity(compileVariant(v, v.defaults)), former(current.size(), '0');
  CHECK(chosen("another", current).variant.family == v.family);
  const Choice refused = chosen("another", former);
  CHECK(refused.variant.family != v.family);
  CHECK_THAT(refused.origin, Catch::Contains("is no longer what was measured there"));
}

TEST_CASE("the derivation of a recognised convolution replays, and is exact") {
  recognised::registerConv();
  for (const Case& c : recognised::cases()) DYNAMIC_SECTION(c.name) {
      const Program program = recognised::load(c);
      const Variant v = derive(programWorkload(program, 0), partsFamilyName);
      const Program again = rewrite::replay(v.source, v.derivation);
      CHECK(print(again.body, Names::canonical) == print(v.program.body, Names::canonical));
      const auto difference = rewrite::exactDifference(program, configured(v, v.defaults), 3);
      CHECK(difference.value_or("") == "");
    }
}

TEST_CASE("the rule that restates convolutions is exact") {
  recognised::registerConv();
  const auto result = rewrite::checkRule(rewrite::ruleNamed("asConvolution"), {.samples = 30});
  CHECK(result.samples == 30);
  CHECK(!result.disagreement);
}
