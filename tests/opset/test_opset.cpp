// The operators against references, interpreter and emulator.

#include <cmath>

#include "lift/conv_operator.hpp"
#include "lift/interpreter.hpp"
#include "lift/parts.hpp"
#include "opset/cases.hpp"
#include "refusals.hpp"

using namespace lift;
using opsets::Case;

namespace {

constexpr std::uint64_t seed = 47;

[[maybe_unused]] const bool registered = (registerOperator(convOperator()), true);  // parts that are layers

Program whole(const Workload& w) { return w.outer ? w.outer(w.program) : w.program; }

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(); i++) sum += a.get(i) * b.get(i);
  return sum;
}

}  // namespace

TEST_CASE("random workloads: program and reference agree, descriptors read back") {
  std::mt19937_64 random(seed);
  int checked = 0;
  for (const Operator& op : tensorOperators())
    for (int i = 0; i < 12; i++, checked++) {
      const Case c = opsets::drawn(op.name, random);
      INFO(c.op << " " << c.descriptor << " of seed " << seed);
      const Workload w = c.workload();
      CHECK(op.parse(w.descriptor).descriptor == w.descriptor);
      CHECK(w.operations > 0);
      const auto inputs = w.makeInputs(1);
      std::int64_t bytes = 0;
      for (const auto& [name, t] : inputs) bytes += static_cast<std::int64_t>(t.bytes.size());
      const auto expected = w.expected(inputs);
      CHECK(w.tensorBytes == bytes + static_cast<std::int64_t>(expected.at("out").bytes.size()));
      CHECK(largestError(interpret(whole(w), inputs), expected) <= w.tolerance);
    }
  CHECK(checked == 84);
}

TEST_CASE("random workloads on the emulator, by every family that takes them") {
  const auto device = runtime::makeEmulatorDevice();
  std::mt19937_64 random(seed + 1);
  std::map<std::string, int> families;
  for (const Operator& op : tensorOperators())
    for (int i = 0; i < 5; i++) {
      const Case c = opsets::drawn(op.name, random);
      const Workload w = c.workload();
      for (const OperatorFamily& family : w.families) {
        INFO(c.op << " " << c.descriptor << " by " << family.name << ", of seed " << seed + 1);
        CHECK(opsets::judge(w, family.name, *device).ok());
        families[family.name]++;
      }
    }
  for (const char* descriptor : {"ic3ih5oc4kh3ph1", "ic2id3ih4oc3kd2kh3kw5pd1ph1pw2", "ic3ih5oc2kh6sh2ph2"}) {
    const Workload w = Case{"deconv", descriptor}.workload();
    INFO(descriptor << " by winograd");
    CHECK(opsets::judge(w, "winograd", *device).ok());
  }
  for (const char* name : {"parts", "program", "blocked", "naive", "paper", "depthwise"}) CHECK(families[name] > 0);
}

// <conv(x), y> = <x, deconv(y)> with the channels of the weights exchanged: neither is computed by the other.
TEST_CASE("a transposed convolution is the convolution's adjoint") {
  std::mt19937_64 random(seed + 2);
  int checked = 0;
  for (int i = 0; i < 60; i++) {
    const ConvNdSpec up = parseConvNd(opsets::drawn("deconv", random).descriptor, true);
    if (up.groups != 1) continue;
    ConvNdSpec down = up;
    down.transposed = false;
    std::swap(down.ic, down.oc);
    for (ConvAxis& a : down.axes) std::swap(a.in, a.out);
    Tensor x(Scalar::f32, down.inputShape()), y(Scalar::f32, up.inputShape()), w(Scalar::f32, down.weightShape()),
        exchanged(Scalar::f32, up.weightShape());
    fillRandom(x, seed, "x");
    fillRandom(y, seed, "y");
    fillRandom(w, seed, "w");
    for (std::int64_t o = 0; o < down.oc; o++)
      for (std::int64_t t = 0; t < down.taps(); t++)
        for (std::int64_t c = 0; c < down.ic; c++)
          exchanged.set((c * down.taps() + t) * down.oc + o, w.get((o * down.taps() + t) * down.ic + c));
    const double one = dot(convNdReference(down, x, w, Tensor(Scalar::f32, {down.oc})), y);
    const double other = dot(x, convNdReference(up, y, exchanged, Tensor(Scalar::f32, {up.oc})));
    INFO(up.str());
    CHECK(std::abs(one - other) <= 1e-4 * (1 + std::abs(one)));
    checked++;
  }
  CHECK(checked >= 30);
}

TEST_CASE("a transposed convolution computes no products with taps that only fill its kernels up") {
  const Workload w = Case{"deconv", "ic4ih6oc32kh3sh2ph1"}.workload();
  REQUIRE(w.families[0].parted);
  std::vector<std::string> taps;
  for (const Part& part : w.families[0].parted->parts) {
    REQUIRE(part.same);
    const std::string& layer = part.same->descriptor;
    taps.push_back(layer.substr(layer.find("kh"), std::string("kh1kw1").size()));
  }
  CHECK(taps == std::vector<std::string>{"kh2kw2", "kh2kw1", "kh1kw2", "kh1kw1"});
  // Each writes its part of the result, and nothing is copied.
  const Variant v = derive(w, w.families[0].name);
  const kernel::Plan plan = compileVariant(v, v.defaults);
  CHECK(plan.launches.size() == taps.size());
  // Local memory is counted for the kernel that has it: the last one, of one tap, copies no inputs.
  CHECK(kernel::localBytes(plan.kernels[static_cast<std::size_t>(plan.launches.back().kernel)]) == Nat(0));

  const auto device = runtime::makeEmulatorDevice();
  // Several remainders of a kind share biases; groups, images; crops at both ends.
  for (const char* descriptor :
       {"g2ic2ih2oc64kh5sh3ph2", "ic1ih2iw3oc33kh3kw5sh2sw2ph0pw1", "mb2ic2iw4oc37kw5sw3pw2"}) {
    INFO(descriptor);
    const Workload one = Case{"deconv", descriptor}.workload();
    CHECK(one.families[0].parted);
    CHECK(opsets::judge(one, one.families[0].name, *device).ok());
  }
}

TEST_CASE("descriptors of convolutions") {
  const auto axes = [](const char* text, bool transposed) { return parseConvNd(text, transposed); };
  CHECK(axes("ic2iw9oc3kw3", false).rank == 1);
  CHECK(axes("ic2ih9oc3kh3", false).rank == 2);
  const ConvNdSpec cube = axes("ic2id9oc3kd3pd1", false);
  CHECK(cube.rank == 3);
  CHECK(cube.axes[2] == cube.axes[0]);
  CHECK(axes("ic2ih9oc3oh5kh3sh2", false).axes[1].padStart == 1);  // from the output's size
  CHECK(axes("ic2ih7oc3kh4sh2ph1", true).axes[1].out == 14);
  const ConvAxis odd = axes("ic2ih7oc3oh14kh3sh2ph1", true).axes[1];  // with an output padding of one
  CHECK(odd.out == 14);
  CHECK(odd.padEnd == 0);
  for (const char* text : {"ic2ih7oc3oh13kh3sh2ph1n\"named\"", "g2 mb3 ic4 oc6 id5ih6iw7 kd1kh2kw3"}) {
    ConvNdSpec spec = axes(text, true);
    spec.name.clear();
    CHECK(parseConvNd(spec.str(), true) == spec);
  }
}

TEST_CASE("what descriptors cannot say") {
  const auto messages = [](const std::string& op, const std::string& text) {
    std::string all;
    for (const Diagnostic& d : test::diagnosticsOf([&] { static_cast<void>(Case{op, text}.workload()); }))
      all += d.message + "\n";
    return all;
  };
  CHECK(messages("gemv", "m4") == "missing 'k' (columns)\n");
  CHECK(messages("gemv", "m4k0") == "'k' must be at least 1\n");
  CHECK(messages("gemv", "m4k3m5z2") == "'m' is given twice\nunknown key 'z'\n");
  CHECK(messages("gemm", "m-4n k3") == "'m' must be at least 1\nexpected a number after 'n'\n");
  CHECK(messages("gemm", "m70000n70000k1") == "out has more than 2147483647 elements\n");
  CHECK(messages("gemm", "m4n4k4+") == "expected a key\n");
  CHECK(messages("shift", "c3h4w4k9") == "windows of 9 elements are larger than the padded image\n");
  CHECK(messages("conv3d", "ic3id4oc2") == "missing 'kw' (kernel columns)\n");
  CHECK(messages("conv3d", "g2ic3id4oc2kd1") == "'ic' is 3, which is not divisible into 2 groups ('g')\n");
  CHECK(messages("conv3d", "ic3iw4oc2kw6") == "a kernel of 6 columns is larger than the padded input of 4\n");
  CHECK(messages("conv3d", "ic3iw9ow2oc2kw3") ==
        "an output of 2 columns does not fit an input of 9: it needs a padding of -5 at the end\n");
  CHECK(messages("deconv", "ic3iw4oc2kw3pw3") == "padding 3 leaves none of 6 columns\n");
  CHECK(messages("deconv", "ic3iw4oc2kw3ow20sw2") ==
        "an output of 20 columns does not fit an input of 4: it needs a padding of -11 at the end\n");
}

TEST_CASE("FlexTensor's cases: as many as the paper counts, each named") {
  int cases = 0;
  for (const auto& [list, count] : opsets::lists()) {
    INFO(list);
    CHECK(opsets::listed(list, false).size() == static_cast<std::size_t>(count));
    for (const Case& c : opsets::listed(list, false)) CHECK_FALSE(c.workload().label.empty());
    cases += list == "BCM" || list == "SHO" ? 0 : count;
  }
  CHECK(cases == 110);
}

TEST_CASE("FlexTensor's cases, made small, on the emulator") {
  const auto device = runtime::makeEmulatorDevice();
  int cases = 0;
  for (const auto& [list, count] : opsets::lists())
    for (const Case& c : opsets::listed(list, true)) {
      INFO(c.op << " " << c.descriptor);
      const Workload w = c.workload();
      CHECK(opsets::judge(w, w.families[0].name, *device).ok());
      cases++;
    }
  CHECK(cases == 119);
}

// A measurement of a configuration of the choice's variant.
tune::Measurement measured(const Workload& w, const runtime::DeviceInfo& device, const Choice& choice,
                           const Config& config, tune::Phase phase, double ms) {
  tune::Measurement m;
  m.key = {w.key(),
           tune::deviceRow(device).id,
           tune::kernelIdentity(compileVariant(choice.variant, config)),
           choice.variant.family,
           config,
           phase};
  m.times = {ms};
  return m;
}

TEST_CASE("a slow point that was measured is not taken before a choice that was not, until that was measured, too") {
  const Workload w = Case{"gemm", "m64n64k64"}.workload();
  const runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  const Choice unmeasured = choose(w, &device);
  auto db = tune::Database::inMemory();
  REQUIRE(db.add(tune::deviceRow(device)));
  const auto add = [&](const Config& config, tune::Status status, double ms) {
    tune::Measurement m = measured(w, device, unmeasured, config, tune::Phase::sweep, ms);
    m.status = status;
    REQUIRE(db.add(m));
  };
  const Config slow = {{"p1_rows", 1}, {"p1_columns", 2}, {"p1_lanes", 2}};
  REQUIRE(slow != unmeasured.config);
  add(slow, tune::Status::ok, 5);
  const Choice choice = choose(w, &device, {.own = &db});
  CHECK(choice.config == unmeasured.config);
  CHECK_FALSE(choice.measured);
  CHECK_THAT(choice.origin, Catch::Contains("is expected to be slower"));

  // Of about as many instructions: the time decides.
  Config near = unmeasured.config;
  near["p1_rows"] /= 2;
  add(near, tune::Status::ok, 4);
  CHECK(choose(w, &device, {.own = &db}).config == near);
  // Measured beside it, the default is no choice any more, however many instructions the other has.
  auto both = tune::Database::inMemory();
  std::swap(db, both);
  REQUIRE(db.add(tune::deviceRow(device)));
  add(slow, tune::Status::ok, 5);
  add(unmeasured.config, tune::Status::crash, 0);
  CHECK(choose(w, &device, {.own = &db}).config == slow);
}

TEST_CASE("what is taken untuned stays where what was measured beside it is not clearly faster") {
  const Workload w = Case{"gemm", "m64n64k64"}.workload();
  const runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  const Choice unmeasured = choose(w, &device);
  Config other = unmeasured.config;
  other["p1_rows"] /= 2;
  for (const double ms : {0.99, 0.9}) {
    auto db = tune::Database::inMemory();
    REQUIRE(db.add(tune::deviceRow(device)));
    for (const auto& [config, time] : {std::pair(unmeasured.config, 1.0), {other, ms}})
      REQUIRE(db.add(measured(w, device, unmeasured, config, tune::Phase::retime, time)));
    const Choice choice = choose(w, &device, {.own = &db});
    CHECK(choice.config == (ms < 0.98 ? other : unmeasured.config));
    if (ms > 0.98) CHECK_THAT(choice.origin, Catch::Contains("is not clearly faster than what is taken untuned"));
  }
}

TEST_CASE("every search begins with what is taken where nothing was measured") {
  runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  device.vectorWidthF32 = 4;  // other tiles than the families' defaults
  int others = 0;             // that are not the families' defaults
  for (const auto& [op, descriptor] : std::vector<std::pair<std::string, std::string>>{
           {"gemm", "m256n192k100"}, {"gemv", "m128k640"}, {"bilinear", "i8j12k16l16"}}) {
    const Workload w = Case{op, descriptor}.workload();
    const Choice unmeasured = choose(w, &device);
    others += unmeasured.config == derive(w, unmeasured.variant.family).defaults ? 0 : 1;
    std::vector<tune::SearchSpace> families;
    for (const tune::Subspace& s : tuningProblem(w, device).subspaces) families.push_back(s.search);
    for (const std::string& explorer : tune::explorerNames()) {
      INFO(op << " " << descriptor << " by " << explorer);
      const auto first = tune::makeExplorer(explorer, families, {.points = 4})->next(1);
      REQUIRE(first.size() == 1);
      CHECK(first[0].family == unmeasured.variant.family);
      CHECK(first[0].config == unmeasured.config);
    }
  }
  CHECK(others > 0);
}

TEST_CASE("products are cut as caches hold them") {
  const runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  const auto chosen = [&](const char* descriptor) {
    const Workload w = Case{"gemm", descriptor}.workload();
    const std::string family = w.family(partsFamilyName).choices->at(0).family;
    return std::pair(family, choose(w, &device).config);
  };
  CHECK(chosen("m128n768k768").first == "tiles");
  CHECK(chosen("m64n3136k64").first == "tiles");
  // The steps of a column displace each other from the second cache.
  CHECK(chosen("m1024n1024k1024").first == "near");
  CHECK(chosen("m2048n128k4096").first == "near");
  CHECK(chosen("m256n196k1000").first == "near");  // no vector divides 196 columns
  // Rows of 4 KiB displace each other from the first cache, those of 4000 bytes do not.
  CHECK(chosen("m256n196k1024").second.at("p1_rows") <= linesHeld(1024));
  CHECK(chosen("m1024n196k1000").second.at("p1_rows") > linesHeld(1024));
}

TEST_CASE("a group copies its columns near, in vectors, and reads what a cache holds") {
  const runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  const Choice c = choose(Case{"gemm", "m256n196k4096"}.workload(), &device);
  CHECK(c.config.at("p1_columns") * 4096 * 4 <= 768 << 10);
  const kernel::Plan compiled = compileVariant(c.variant, c.config);
  REQUIRE(compiled.sources.size() == 1);
  CHECK_THAT(compiled.sources[0], Catch::Contains("__local") && Catch::Contains("reqd_work_group_size(1, 1, 1)") &&
                                      Catch::Contains("vload16") && Catch::Contains("vstore16"));
}

TEST_CASE("tiles of a group are so many that all units have groups") {
  runtime::DeviceInfo device = runtime::readProfile("generic-cpu");
  for (const int units : {2, 64}) {
    device.computeUnits = units;
    const Config config = choose(Case{"gemm", "m1024n256k1024"}.workload(), &device).config;
    const auto groups = [&](const char* size, std::int64_t length) {
      return (length + config.at(size) - 1) / config.at(size);
    };
    const std::int64_t tiles = groups("p1_rows", 1024);
    CHECK((tiles + config.at("p1_group") - 1) / config.at("p1_group") * groups("p1_columns", 256) >= units);
  }
}
