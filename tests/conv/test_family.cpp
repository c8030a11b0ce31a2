// Families of convolutions: derivations that replay, whose every step keeps the layer's meaning, and programs that are
// right at every configuration of their space. Small layers; emulator and interpreter, no device.
#include <fmt/format.h>

#include <set>

#include "conv/helpers.hpp"
#include "harness/sample.hpp"
#include "lift/conv_operator.hpp"
#include "lift/cook_toom.hpp"
#include "lift/device.hpp"
#include "lift/exact.hpp"
#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/space.hpp"

using namespace lift;
using namespace lift::test;

namespace {

// What a strategy may trip over, each in a layer small enough for the interpreter.
const std::vector<std::string> layers = {
    "ic3ih5iw4oc4kh3kw2ph1pw0n\"odd input channels\"",
    "ic2ih6oc5kh3ph1n\"odd output channels\"",
    "ic1ih3oc1kh3n\"one window\"",
    "mb2ic6ih4iw5oc6kh1n\"batch, one tap\"",
    "ic2ih7iw6oc4kh3sh2ph1n\"stride\"",
    "ic4ih6iw9oc2kh2kw3sh2sw3n\"two strides\"",
    "ic3ih7iw9oc3kh4kw5sh3sw2ph1pw2n\"phases of long kernels\"",
    "ic2ih8oc2kh2sh3n\"trailing rows\"",
    "ic2ih6oc4oh6kh2ph0n\"padded at the bottom only\"",
    "ic2ih8iw7oc4kh3dh1ph2n\"dilation\"",
    "ic2ih9iw8oc2kh3sh1sw2dh2dw0ph2pw1n\"dilated rows, stride of columns\"",
    "mb2ic4ih5iw9oc4kh1kw5n\"kernels of one row\"",
    "g2mb1ic4ih5oc8kh3ph1n\"groups\"",
    "g3mb2ic9ih4iw3oc3kh2n\"odd groups\"",
    "g4ic4ih5oc8kh3ph1n\"depthwise, twice\"",
    "g5mb2ic5ih6iw5oc5kh3sh2ph1n\"depthwise, odd\"",
};

// Families of the strategy of another, at other sizes or in another memory.
const std::set<std::string> variations = {"winograd2", "winograd6", "winogradFused"};

// Every layer with every family.
struct Case {
  ConvSpec spec;
  Variant variant;
  ConvTensors tensors;
  Tensor expected;

  std::map<std::string, Tensor> inputs() const {
    return {{"input", tensors.input}, {"weights", tensors.weights}, {"biases", tensors.bias}};
  }
  Program atDefaults(const Program& p) const { return atValues(p, variant.defaults); }
  bool right(const std::map<std::string, Tensor>& outputs) const {
    return largestError(outputs, {{"out", expected}}) <= variant.toleranceAt({});
  }
};

template <class F>
void forEachCase(F&& f) {
  for (const std::string& layer : layers)
    for (const OperatorFamily& family : convWorkload(parseConv(layer)).families) {
      INFO("family " << family.name << ", layer " << layer);
      const ConvSpec spec = parseConv(layer);
      Case c{spec, derive(convWorkload(spec), family.name), randomConvTensors(spec, 1), Tensor()};
      c.expected = reference(spec, c.tensors);
      f(c);
    }
}

// The seed of random configurations.
std::uint64_t seed() { return static_cast<std::uint64_t>(seedOr(1)); }

Space spaceOf(const Variant& variant) { return lift::spaceOf(variant, DeviceLimits{}); }

// Values of all tunables from their ranges, whatever the constraints.
Config anywhere(const Variant& variant, std::mt19937_64& random) {
  Config config;
  for (const NatVar t : variant.program.tunables) {
    const auto range = static_cast<std::uint64_t>(t.upper()->constant().value() - t.lower() + 1);
    config[t.name()] = t.lower() + static_cast<std::int64_t>(random() % range);
  }
  return config;
}

std::string refusal(const Variant& variant, const Config& config) {
  try {
    configured(variant, config);
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::usage);
    return render(error.diagnostics());
  }
  return {};
}

auto isNamed(const char* name) {
  return [name](const OperatorFamily& f) { return f.name == name; };
}

}  // namespace

TEST_CASE("derivations of families replay to the same program, also from their text") {
  forEachCase([](const Case& c) {
    const Variant& v = c.variant;
    const std::string wanted = print(v.program, Names::canonical);
    CHECK_NOTHROW(verify(v.program));
    CHECK(print(replay(v.source, v.derivation), Names::canonical) == wanted);

    const auto read = rewrite::Derivation::parse(v.derivation.str(), v.source);
    CHECK(read.str() == v.derivation.str());
    CHECK(print(replay(v.source, read), Names::canonical) == wanted);
  });
}

TEST_CASE("a derivation with a step left out does not pass for the whole") {
  const Variant whole = derive(convWorkload(parseConv(layers[0])), "blocked");
  int noticed = 0;
  for (std::size_t i = 0; i < whole.derivation.steps.size(); i++) {
    rewrite::Derivation less = whole.derivation;
    less.steps.erase(less.steps.begin() + static_cast<std::ptrdiff_t>(i));
    try {
      if (print(replay(whole.source, less), Names::canonical) != print(whole.program, Names::canonical)) noticed++;
    } catch (const UserError&) {
      noticed++;
    }
  }
  CHECK(noticed == static_cast<int>(whole.derivation.steps.size()));
}

TEST_CASE("every step of a derivation keeps types and, without rounding, the layer's results") {
  // Interpreting takes long: for these layers after every step, for the others, and families of a strategy that
  // another has, at the end.
  const std::set<std::string> followed = {"one window", "two strides", "dilation", "groups"};
  int steps = 0;
  std::int64_t compared = 0;
  test::Sample sample(3);
  forEachCase([&](const Case& c) {
    if (!sample.takes()) return;
    const auto exactly = [&](const Program& p) { return interpretExactly(c.atDefaults(p), c.inputs()); };
    const Value wanted = exactly(c.variant.source);
    replay(c.variant.source, c.variant.derivation, [&](const rewrite::Step& step, const Program& program) {
      INFO("step " << step.str());
      CHECK_NOTHROW(verify(program));
      if (followed.count(c.spec.name) == 0 || variations.count(c.variant.family) > 0) return;
      CHECK(exactDifference(wanted, exactly(program), &compared).value_or("") == "");
      steps++;
    });
    CHECK(exactDifference(wanted, exactly(c.variant.program), &compared).value_or("") == "");
    CHECK(c.right(interpret(c.atDefaults(c.variant.source), c.inputs())));
    CHECK(c.right(interpret(c.atDefaults(c.variant.program), c.inputs())));
  });
  CHECK(steps >= (test::Sample::takesAll() ? 500 : 150));
  CHECK(compared >= 50 * steps);
}

TEST_CASE("a derivation with a wrong coefficient is found wrong without rounding, and by its results") {
  const ConvSpec spec = parseConv("ic4ih8oc4kh3ph1");
  const Variant v = derive(convWorkload(spec), "winograd");
  const ConvTensors tensors = randomConvTensors(spec, seed());
  const Case c{spec, v, tensors, reference(spec, tensors)};
  const auto exactly = [&](const Program& p) { return interpretExactly(c.atDefaults(p), c.inputs()); };
  // The program that comes of the derivation's steps with another text of the algorithm's rule.
  const auto derivedBy = [&](const std::string& from, const std::string& to) {
    rewrite::Rewriting r(v.source);
    for (const rewrite::Step& step : v.derivation.steps) {
      std::string text = rewrite::ruleNamed(step.rule).text();
      if (!rewrite::isCookToomName(step.rule)) {
        r.apply(at(step.path, rewrite::use(step.rule, step.arguments)));
        continue;
      }
      const std::size_t place = text.find(from);
      REQUIRE(place != std::string::npos);
      const rewrite::Rule broken({"broken", text.replace(place, from.size(), to), "broken", rewrite::When::rounds});
      r.apply(at(step.path, rewrite::use(broken, step.arguments)));
    }
    return r.program();
  };
  const auto isWrong = [&](const Program& p) {
    const bool byValue = exactDifference(exactly(v.source), exactly(p)).has_value();
    const bool byResult = !c.right(interpret(c.atDefaults(p), c.inputs()));
    CHECK(byValue == byResult);
    return byValue;
  };
  INFO("LIFT_TEST_SEED=" << seed());
  CHECK_FALSE(isWrong(derivedBy("x[5]", "x[5]")));
  CHECK(isWrong(derivedBy("[2.25, 4.0,", "[2.5, 4.0,")));         // an entry of a matrix
  CHECK_FALSE(isWrong(derivedBy("[2.25, 4.0,", "[2.25, 5.0,")));  // of points that are not taken
  CHECK(isWrong(derivedBy("[3.375, 8.0,", "[8.0, 8.0,")));        // of another point
  CHECK(isWrong(derivedBy("(32.0 / 119.0)", "0.27")));
  CHECK(isWrong(derivedBy("* x[3] + x[5]", "* x[3]")));  // the last row of a tile
}

TEST_CASE("Winograd refuses layers that it has no program for, with the reason") {
  for (const auto& [layer, family, why] : {std::tuple("ic4ih9oc8kh3sh2dh1", "winograd", "gaps between its taps"),
                                           {"ic4ih8oc8kh2sh2", "winograd2", "one tap of each phase"},
                                           {"g2mb1ic4ih8oc8kh3", "winograd", "groups"},
                                           {"ic4ih8oc8kh1", "winograd", "one tap"},
                                           {"g4ic4ih8oc8kh1", "winograd", "one tap"},
                                           {"ic4ih18oc8kh9", "winograd", "too long"},
                                           {"ic4ih8oc8kh5", "winograd6", "6 outputs; winograd has those of 4"},
                                           {"ic4ih8oc8kh7", "winograd", "4 outputs; winograd2 has those of 2"},
                                           {"ic4ih8iw9oc8kh7kw1", "winograd", "winograd2"}})
    CHECK_THROWS_WITH(derive(convWorkload(parseConv(layer)), family), Catch::Contains(why));
}

TEST_CASE("tiles are smaller where kernels are long") {
  int programs = 0;
  for (const char* layer : {"ic2ih9oc4kh7", "ic2ih9oc4kh7kw1", "ic2ih9oc4kh7kw6", "ic2ih9oc4kh6", "g2ic4ih9oc4kh7"}) {
    const ConvSpec spec = parseConv(layer);
    const Workload w = convWorkload(spec);
    const auto in = w.makeInputs(1);
    for (const OperatorFamily& f : w.families) {
      if (!f.name.starts_with("winograd")) continue;
      INFO(layer << " " << f.name);
      const Variant v = derive(w, f.name);
      const auto out = runtime::makeEmulatorDevice()->load(compileVariant(v, v.defaults))->run(in).outputs;
      CHECK(largestError(out, w.expected(in)) <= v.toleranceAt({}));
      programs++;
    }
  }
  CHECK(programs == 15);
}

TEST_CASE("random configurations of families are right on the emulator") {
  constexpr int perCase = 3;
  const auto device = runtime::makeEmulatorDevice();
  int tuned = 0;
  forEachCase([&](const Case& c) {
    const Space space = lift::spaceOf(c.variant, parseDeviceLimits(device->info().toJson()));
    Sampler sampler(space, seed());
    int samples = 0;
    while (samples < perCase) {
      const auto config = sampler.next();
      if (!config) break;
      INFO("LIFT_TEST_SEED=" << seed() << ", configuration " << str(*config));
      CHECK(c.right(device->load(compileVariant(c.variant, *config))->run(c.inputs()).outputs));
      samples++;
    }
    const std::int64_t points = static_cast<std::int64_t>(space.count().points);
    CHECK(samples == std::min<std::int64_t>(perCase, points));
    if (!c.variant.program.tunables.empty()) tuned += samples;
  });
  CHECK(tuned >= 30);
}

TEST_CASE("families read and write tensors in the layouts of their callers") {
  const auto device = runtime::makeEmulatorDevice();
  constexpr Layout nhwc = Layout::nhwc, nchw = Layout::nchw, ohwi = Layout::ohwi, oihw = Layout::oihw;
  test::Sample sample(3);
  int checked = 0;
  forEachCase([&](const Case& c) {
    if (c.variant.family == "winograd2" || c.variant.family == "winograd6" || !sample.takes()) return;
    for (const ConvLayouts& layouts : {ConvLayouts{nchw, ohwi, nhwc}, ConvLayouts{nhwc, oihw, nhwc},
                                       ConvLayouts{nhwc, ohwi, nchw}, ConvLayouts{nchw, oihw, nchw}}) {
      INFO(layouts.str());
      const Variant variant = derive(convWorkload(c.spec, layouts), c.variant.family);
      auto outputs = device->load(compileVariant(variant, {}))->run(c.tensors.in(layouts)).outputs;
      CHECK(outputs.at("out").shape == convertLayout(c.expected, nhwc, layouts.output).shape);
      outputs["out"] = convertLayout(outputs.at("out"), layouts.output, nhwc);
      CHECK(c.right(outputs));
      checked++;
    }
  });
  CHECK(checked >= (test::Sample::takesAll() ? 300 : 100));
}

TEST_CASE("blocked copies the inputs of windows that share much, and reads others where they are") {
  const auto copies = [](const char* layer) {
    const Variant v = derive(convWorkload(parseConv(layer)), "blocked");
    const kernel::Plan plan = compileVariant(v, v.defaults);
    return std::any_of(plan.kernels.begin(), plan.kernels.end(),
                       [](const kernel::Kernel& k) { return kernel::localBytes(k) != Nat(0); });
  };
  CHECK(copies("ic3ih16oc64kh3ph1"));
  CHECK(copies("ic16ih16oc64kh3sh2ph1"));
  CHECK(copies("g4ic32ih16oc32kh3ph1"));
  CHECK(copies("ic3ih16oc16kh3sh2ph1"));
  CHECK(!copies("ic3ih16oc16kh3sh3ph1"));
  CHECK(!copies("g4ic32ih16oc32kh3sh3ph1"));
  CHECK(!copies("ic16ih16oc64kh1"));
}

TEST_CASE("dots adds up a vector for each output, once, and reads the weights where they are") {
  const Variant v = derive(convWorkload(parseConv("ic16ih6oc8kh3ph1")), "dots");
  const kernel::Plan plan = compileVariant(v, {{"lanes", 8}, {"kernels", 2}, {"pixels", 3}, {"unroll", 1}});
  CHECK(kernel::workspaceOf(plan) == 0);
  REQUIRE(plan.kernels.size() == 1);
  const std::string& source = plan.sources.back();
  const auto count = [&](const std::string& text) {
    int n = 0;
    for (std::size_t at = source.find(text); at != std::string::npos; at = source.find(text, at + 1)) n++;
    return n;
  };
  CHECK(count("float8 acc_") == 6);
  CHECK(count("biases[") == 2 * 3);  // of a sum, where the loops have ended
  CHECK(source.rfind("for (") < source.find("biases["));
  const Variant planes = derive(convWorkload(parseConv("ic15ih6oc8kh3ph1")), "planesInPlace");
  CHECK(kernel::workspaceOf(compileVariant(planes, planes.defaults)) == 0);
}

TEST_CASE("1x1 layers of several images are computed as one image, whose tiles go across images") {
  const auto device = runtime::makeEmulatorDevice();
  const auto joins = [](const Variant& v) {
    return std::ranges::any_of(v.derivation.steps, [](const auto& step) { return step.rule == "joinImages"; });
  };
  for (const char* layer : {"mb5ic6ih1oc7kh1", "mb3ic10ih3iw5oc9kh1"})
    for (const char* family : {"blocked", "dots"}) {
      INFO(layer << " by " << family);
      const ConvSpec spec = parseConv(layer);
      const Workload w = convWorkload(spec);
      const Variant v = derive(w, family);
      CHECK(joins(v));
      const auto in = w.makeInputs(1);
      for (const std::int64_t pixels : {1, 2, 4, 7}) {
        const Config config = v.completed({{"pixels", std::min(pixels, spec.batch * spec.oh * spec.ow)}});
        CHECK(largestError(device->load(compileVariant(v, config))->run(in).outputs, w.reference(in)) <= v.tolerance);
      }
    }
  CHECK_FALSE(joins(derive(convWorkload(parseConv("mb5ic6ih2oc7kh1"), {.input = Layout::nchw}), "blocked")));
  CHECK_FALSE(joins(derive(convWorkload(parseConv("g2mb5ic6ih2oc8kh1")), "blocked")));
  CHECK_FALSE(joins(derive(convWorkload(parseConv("mb5ic6ih4oc7oh2kh1sh2")), "blocked")));
}

TEST_CASE("taps that lie in the padding of a tile take no part, whatever their weights") {
  const auto device = runtime::makeEmulatorDevice();
  // Outputs that are finite where the taps of a row, or of a column, are infinite.
  const auto finite = [&](const ConvSpec& spec, const std::function<bool(std::int64_t y, std::int64_t x)>& isInfinite) {
    const Variant v = derive(convWorkload(spec), "blocked");
    ConvTensors tensors = randomConvTensors(spec, 1);
    const std::int64_t channels = spec.icPerGroup();
    for (std::int64_t i = 0; i < spec.oc * spec.reduction(); i++)
      if (isInfinite(i / channels / spec.kw % spec.kh, i / channels % spec.kw))
        tensors.weights.set(i, std::numeric_limits<double>::infinity());
    const auto outputs = device->load(compileVariant(v, v.defaults))
                             ->run({{"input", tensors.input}, {"weights", tensors.weights}, {"biases", tensors.bias}})
                             .outputs;
    std::vector<bool> all;
    for (std::int64_t i = 0; i < spec.oh * spec.ow * spec.oc; i++)
      all.push_back(std::isfinite(outputs.at("out").get(i)));
    return all;
  };
  for (const char* layer :
       {"ic64ih14oc32kh3ph1", "ic64ih7oc64kh3ph1", "ic64ih10iw28oc32kh3ph1", "ic16ih6iw224oc32kh3ph1",
        "ic3ih9iw48oc32kh3ph1", "ic64ih14oc32kh3sh2ph1", "ic19ih13oc33kh3ph1", "ic8ih9iw20oc24kh5ph2",
        "ic16ih11oc16kh3dh1ph2", "ic32ih12iw5oc16kh7kw1ph3pw0"}) {
    INFO(layer);
    const ConvSpec spec = parseConv(layer);
    const auto all = finite(spec, [](std::int64_t y, std::int64_t) { return y == 0; });
    CHECK(std::count(all.begin(), all.begin() + spec.ow * spec.oc, true) == spec.ow * spec.oc);
  }
  // Columns of taps that are in no pixel of a tile.
  for (const char* layer :
       {"ic16ih6oc16kh3dh5ph6", "ic64ih4iw12oc32kh1kw3ph0pw12dh0dw11", "ic16ih8iw14oc32kh3dh13ph14"}) {
    INFO(layer);
    const auto all = finite(parseConv(layer), [](std::int64_t, std::int64_t x) { return x == 0; });
    CHECK(std::count(all.begin(), all.end(), true) == std::ssize(all));
  }
  // Those that are beside the image of the first or last pixel of a row, wherever the row is in tiles.
  for (const char* layer : {"ic64ih14oc32kh3ph1", "ic64ih7oc64kh3ph1", "ic16ih6iw28oc32kh3ph1", "ic64ih14oc32kh3sh2ph1",
                            "ic8ih9iw20oc24kh5ph2", "ic32ih12iw5oc16kh1kw7ph0pw3", "ic19ih13oc33kh3ph1"}) {
    INFO(layer);
    const ConvSpec spec = parseConv(layer);
    for (const bool isFirst : {true, false}) {
      const std::int64_t tap = isFirst ? 0 : spec.kw - 1, pixel = isFirst ? 0 : spec.ow - 1;
      if (!isFirst && pixel * spec.sw + tap - spec.padLeft < spec.iw) continue;
      const auto all = finite(spec, [&](std::int64_t, std::int64_t x) { return x == tap; });
      for (std::int64_t y = 0; y < spec.oh; y++) {
        const auto at = all.begin() + (y * spec.ow + pixel) * spec.oc;
        CHECK(std::count(at, at + spec.oc, true) == spec.oc);
      }
    }
  }
}

TEST_CASE("families read and write blocks of channels") {
  const auto device = runtime::makeEmulatorDevice();
  int cases = 0;
  for (const char* layer :
       {"ic16ih5iw7oc24kh3ph1", "ic24ih4iw5oc16kh1", "ic32ih6oc48kh1sh2", "g16mb2ic16ih6iw5oc16kh3sh2ph1",
        "g24ic24ih5oc24kh3ph1", "g4ic32ih5oc32kh3ph1", "g2ic16ih4oc32kh3ph1"}) {
    const ConvSpec spec = parseConv(layer);
    const auto blocks = [](std::int64_t n) { return n % 16 == 0 ? Layout::nChw16c : Layout::nChw8c; };
    const ConvLayouts layouts{blocks(spec.ic), Layout::ohwi, blocks(spec.oc)};
    const Workload w = convWorkload(spec, layouts);
    const ConvTensors tensors = randomConvTensors(spec, seed());
    const Tensor expected = convReference(spec, tensors.input, tensors.weights, tensors.bias);
    for (const char* family : {"blocked", "depthwise", "winograd", "winogradFused", "naive"}) {
      if (std::none_of(w.families.begin(), w.families.end(), isNamed(family))) continue;
      const Variant variant = derive(w, family);
      INFO("LIFT_TEST_SEED=" << seed() << ", " << w.descriptor << ", " << family << ", " << str(variant.defaults));
      const auto outputs = device->load(compileVariant(variant, {}))->run(tensors.in(layouts)).outputs;
      const Tensor out = convertLayout(outputs.at("out"), layouts.output, Layout::nhwc);
      CHECK(largestError({{"out", out}}, {{"out", expected}}) <= variant.toleranceAt({}));
      cases++;
    }
  }
  CHECK(cases >= 20);
}

TEST_CASE("families have elements of half, stored and computed in") {
  const auto device = runtime::makeEmulatorDevice();
  int cases = 0, rounded = 0, winograds = 0;
  for (const char* layer : {"ic8ih6iw7oc16kh3ph1", "mb2ic5ih6oc7kh3sh2ph1", "g4ic16ih5oc16kh3ph1", "ic6ih5oc4kh1"}) {
    const ConvSpec spec = parseConv(layer);
    for (const Scalar elements : {Scalar::f16, Scalar::h16}) {
      const ConvLayouts layouts{.input = Layout::nchw, .elements = elements};
      const Workload w = convWorkload(spec, layouts);
      CHECK(w.descriptor == spec.str() + " with input nchw, elements " + std::string(info(elements).name));
      for (const char* family : {"naive", "blocked", "staged", "tiled", "paper"})
        CHECK(std::any_of(w.families.begin(), w.families.end(), isNamed(family)));
      const auto inputs = w.makeInputs(seed());
      const Tensor expected = w.reference(inputs).at("out");
      CHECK(expected.scalar == elements);
      for (const OperatorFamily& family : w.families) {
        const Variant variant = derive(w, family.name);
        INFO("LIFT_TEST_SEED=" << seed() << ", " << w.descriptor << ", " << family.name << ", "
                               << str(variant.defaults));
        const Tensor out = device->load(compileVariant(variant, {}))->run(inputs).outputs.at("out");
        const Difference difference = compare(out, expected, rootMeanSquare(expected));
        CHECK(difference.finite);
        CHECK(difference.maxRel <= variant.toleranceAt({}));
        winograds += family.name.starts_with("winograd") ? 1 : 0;
        rounded += elements == Scalar::h16 && difference.maxRel > convTolerance(spec, Scalar::f16) ? 1 : 0;
        cases++;
      }
    }
  }
  CHECK(cases >= 40);
  CHECK(winograds >= 15);
  CHECK(rounded >= 14);  // sums in half are not those in f32
  CHECK_THROWS_WITH(convOperator().parse("ic8ih6oc8kh1 with elements i8"),
                    Catch::Contains("no layers of elements 'i8'"));
}

TEST_CASE("Winograd in half is refused where its tolerance would let any result pass") {
  const ConvSpec large = parseConv("ic64ih14oc64kh3ph1");
  const auto refusedOf = [&](Scalar elements) { return convWorkload(large, {.elements = elements}).refused; };
  CHECK(refusedOf(Scalar::h16).contains("winograd6"));
  CHECK_FALSE(refusedOf(Scalar::h16).contains("winograd2"));
  CHECK_FALSE(refusedOf(Scalar::f16).contains("winograd6"));
}

TEST_CASE("copies of f16 are numbers of f32 for processors that have no arithmetic of halves") {
  const ConvSpec spec = parseConv("ic8ih6oc8kh3ph1");
  const Workload w = convWorkload(spec, {.elements = Scalar::f16});
  const auto inputs = w.makeInputs(seed());
  const Tensor expected = w.reference(inputs).at("out");
  int copies = 0;
  for (const char* family : {"im2col", "tiled"})
    for (const auto& [type, fp16, kept] :
         {std::tuple("cpu", false, Scalar::f32), {"cpu", true, Scalar::f16}, {"gpu", false, Scalar::f16}}) {
      INFO(family << " on a " << type << ", fp16 " << fp16);
      runtime::DeviceInfo device;
      device.name = device.type = type;
      device.fp16 = fp16;
      const Choice choice = choose(w, &device, {.family = family, .tuned = false});
      const tune::Problem problem = tuningProblem(w, device, {family});
      const kernel::Plan chosen = compileVariant(choice.variant, choice.config);
      for (const kernel::Plan& plan : {chosen, problem.subspaces.at(0).plan(choice.variant.defaults)})
        for (const kernel::PlanBuffer& b : plan.buffers) {
          const bool isCopy = b.role == kernel::PlanBuffer::Role::temporary;
          CHECK(b.scalar == (isCopy ? kept : Scalar::f16));
          copies += isCopy ? 1 : 0;
        }
      const Tensor out = runtime::makeEmulatorDevice()->load(chosen)->run(inputs).outputs.at("out");
      CHECK(compare(out, expected, rootMeanSquare(expected)).maxRel <= choice.variant.toleranceAt(choice.config));
    }
  CHECK(copies == 24);  // windows or padded inputs, and weights
}

TEST_CASE("Winograd in one kernel keeps products of some kernels at a time, of tiles of several rows") {
  const auto device = runtime::makeEmulatorDevice();
  for (const char* layer : {"mb2ic6ih11iw7oc12kh3ph1", "g2ic8ih9iw6oc24kh3ph1"}) {
    INFO("LIFT_TEST_SEED=" << seed() << ", " << layer);
    const ConvSpec spec = parseConv(layer);
    const ConvTensors tensors = randomConvTensors(spec, seed());
    const Tensor expected = reference(spec, tensors);
    const Variant v = derive(convWorkload(spec), "winogradFused");
    std::vector<std::int64_t> local;
    for (const std::int64_t kernels : {12, 4}) {
      const kernel::Plan plan = compileVariant(
          v, v.completed({{"block", 6}, {"kernels", kernels}, {"lanes", 2}, {"tiles", 3}, {"vectors", 2}}));
      local.push_back(0);  // of the kernel that has any
      for (const kernel::Kernel& k : plan.kernels) local.back() += kernel::localBytes(k).constant().value();
      const Tensor out = device->load(plan)
                             ->run({{"input", tensors.input}, {"weights", tensors.weights}, {"biases", tensors.bias}})
                             .outputs.at("out");
      CHECK(compare(out, expected, rootMeanSquare(expected)).maxRel <= v.toleranceAt({}));
    }
    CHECK(local[0] - local[1] == 36 * 6 * (12 - 4) * std::int64_t{sizeof(float)});
  }
}

TEST_CASE("each set of points has its own tolerance, within which its results are") {
  const ConvSpec spec = parseConv("ic16ih8oc4kh3ph1");
  const ConvTensors tensors = randomConvTensors(spec, seed());
  const Tensor expected = reference(spec, tensors);
  const auto device = runtime::makeEmulatorDevice();
  for (const char* family : {"winograd", "winogradFused"}) {
    const Variant v = derive(convWorkload(spec), family);
    CHECK(v.defaults.at("points") == 1);
    CHECK(v.toleranceAt({}) == v.toleranceAt({{"points", 1}}));
    std::set<double> tolerances;
    std::set<std::string> kernels;
    for (std::int64_t points = 1; points <= 4; points++) {
      INFO("LIFT_TEST_SEED=" << seed() << ", " << family << ", points " << points);
      const double tolerance = v.toleranceAt({{"points", points}});
      CHECK(tolerance <= v.tolerance);
      tolerances.insert(tolerance);
      const kernel::Plan plan = compileVariant(v, {{"points", points}});
      for (const std::string& source : plan.sources) {
        CHECK(source.find("table") == std::string::npos);  // coefficients are constants
        kernels.insert(source);
      }
      const Tensor out = device->load(plan)
                             ->run({{"input", tensors.input}, {"weights", tensors.weights}, {"biases", tensors.bias}})
                             .outputs.at("out");
      CHECK(compare(out, expected, rootMeanSquare(expected)).maxRel <= tolerance);
    }
    CHECK(tolerances.size() == 4);
    CHECK(kernels.size() >= 8);
  }
  // There is one set of F(2, 3), and of F(6, 3).
  for (const char* family : {"winograd2", "winograd6"})
    CHECK_FALSE(derive(convWorkload(spec), family).defaults.contains("points"));
}

TEST_CASE("groups of families are as large as they are compiled to, and their private memory is a work-item's") {
  const Variant variant = derive(convWorkload(parseConv("ic512ih28oc256kh1")), "staged");
  DeviceLimits large;
  large.groupSize = 4096;
  const Space space = lift::spaceOf(variant, large);
  Config config{{"depth", 32},     {"kernelItems", 64}, {"kernels", 16}, {"lanes", 2}, {"pixelItems", 4},
                {"pixelLanes", 2}, {"pixels", 8},       {"unroll", 8},   {"vector", 2}};
  REQUIRE(space.contains(config));
  const kernel::Plan plan = compileVariant(variant, config);
  std::int64_t elements = 0;
  for (const kernel::Buffer& b : plan.kernels.back().buffers)
    if (b.space == kernel::AddressSpace::priv) elements += b.width * b.count.constant().value();
  CHECK(elements <= 256);
  config["pixelItems"] = 8;
  CHECK_FALSE(space.contains(config));
}

// In one case, since deriving all families takes most of its time.
TEST_CASE("single elements of planes are copied where they are of small planes and many channels") {
  const auto copies = [](const char* layer, const char* family, Layout layout) {
    const Variant v = derive(convWorkload(parseConv(layer), {.input = layout, .output = layout}), family);
    return compileVariant(v, {}).sources.back().find("__local") != std::string::npos;
  };
  CHECK(copies("ic512ih7oc256kh1", "blocked", Layout::nchw));
  CHECK_FALSE(copies("ic512ih7oc256kh1", "blocked", Layout::nhwc));
  CHECK_FALSE(copies("ic256ih7oc256kh1", "blocked", Layout::nchw));
  CHECK_FALSE(copies("ic512ih14oc256kh1", "blocked", Layout::nchw));
  CHECK(copies("ic512ih14oc256kh1sh2", "blocked", Layout::nchw));
  CHECK_FALSE(copies("ic32ih28oc64kh1", "planes", Layout::nchw));  // read in place
  CHECK_FALSE(copies("ic32ih14oc64kh1", "planes", Layout::nchw));
  CHECK(copies("ic32ih28oc64kh3ph1", "planes", Layout::nchw));
}

TEST_CASE("blocks of groups follow one another at each tile where they share lines of the input") {
  const auto blocksAt = [](const char* layer, Layout input) {  // the dimension of 8 blocks of 8 groups
    const Variant v = derive(convWorkload(parseConv(layer), {.input = input}), "depthwise");
    const auto range =
        compileVariant(v, {{"lanes", 8}, {"pixels", 7}, {"rows", 7}, {"vectors", 1}}).kernels.back().range;
    return range.global[0].constant() == 8 ? 0 : range.global[2].constant() == 8 ? 2 : -1;
  };
  CHECK(blocksAt("g64ic64ih28oc64kh3ph1", Layout::nhwc) == 0);
  CHECK(blocksAt("g64ic64ih28oc64kh3ph1", Layout::nChw8c) == 2);
  CHECK(blocksAt("g64ic64ih28oc64kh3ph1", Layout::nchw) == 2);
}

TEST_CASE("groups that vectors leave over are read in place, of kernels of any size, as vectors") {
  for (const char* layer : {"g44ic44ih28oc44kh3ph1", "g44ic44ih28oc44kh5ph2", "g11ic11ih40oc11kh7sh2ph3"}) {
    const Variant v = derive(convWorkload(parseConv(layer)), "depthwise");
    const std::string source = compileVariant(v, {{"lanes", 8}}).sources.back();
    INFO(layer << "\n" << source);
    CHECK(source.find("__local") == std::string::npos);
    CHECK(source.find(layer[1] == '4' ? "float4 acc_0 = vload4(0, biases" : "(float4)(vload2(0, input") !=
          std::string::npos);
  }
}

TEST_CASE("a dimension of one tap has no phases of dilation") {
  const auto sources = [](const char* layer) {
    const Variant v = derive(convWorkload(parseConv(layer)), "blocked");
    return compileVariant(v, v.defaults).sources;
  };
  CHECK(sources("ic4ih1iw64oc16kh1kw2dh7dw7ph0") == sources("ic4ih1iw64oc16kh1kw2dh0dw7ph0"));
}

TEST_CASE("defaults are points of their spaces, and what is no point is refused, by a condition that is named") {
  int inside = 0, outside = 0;
  forEachCase([&](const Case& c) {
    const Space space = spaceOf(c.variant);
    for (const Constraint* broken : space.why(c.variant.defaults)) FAIL_CHECK(broken->str());
    CHECK(space.contains(c.variant.defaults));

    std::mt19937_64 random(seed());
    for (int i = 0; i < 40; i++) {
      const Config config = anywhere(c.variant, random);
      INFO("LIFT_TEST_SEED=" << seed() << ", configuration " << str(config));
      const std::string refused = refusal(c.variant, config);
      CHECK(refused.empty() == space.contains(config));
      if (!refused.empty()) CHECK_THAT(refused, Catch::Contains("does not hold at the given sizes"));
      (refused.empty() ? inside : outside)++;
    }

    for (const NatVar t : c.variant.program.tunables)
      for (const std::int64_t value : {t.lower() - 1, t.upper()->constant().value() + 1})
        CHECK_THAT(refusal(c.variant, {{t.name(), value}}),
                   Catch::Contains(fmt::format("{} = {} is out of its range", t.name(), value)));
    if (c.variant.defaults.contains("points"))
      for (const std::int64_t points : {-1, 0, 5})
        CHECK_THROWS_WITH(c.variant.toleranceAt({{"points", points}}), Catch::Contains("is out of its range, 1 to 4"));
    CHECK_THAT(refusal(c.variant, {{"sprinkles", 4}}), Catch::Contains("has no tunable 'sprinkles'"));
  });
  CHECK(inside >= 20);
  CHECK(outside >= 100);
  CHECK_THROWS_WITH(derive(convWorkload(parseConv(layers[0])), "guessed"),
                    Catch::Contains("there is no family 'guessed'"));
}
