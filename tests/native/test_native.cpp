// The processor as a device, through the C target and the system's compiler.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "lift/codegen.hpp"
#include "lift/conv.hpp"
#include "lift/conv_operator.hpp"
#include "lift/diagnostic.hpp"
#include "lift/interpreter.hpp"
#include "lift/text.hpp"
#include "runtime/fixtures.hpp"

using namespace lift;
using namespace lift::runtime;
using namespace lift::runtime::testing;

namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, Tensor>;

std::unique_ptr<Device> native() { return openDevice({.device = "native"}); }

Program parsed(const std::string& text) { return parseProgram(*addSource("native.lift", text)); }

Tensor random(Scalar scalar, std::vector<std::int64_t> shape, const std::string& name) {
  Tensor t(scalar, std::move(shape));
  fillRandom(t, 1, name);
  return t;
}

const char* dot = "def main(x: [n]f32, y: [n]f32) = zip(x, y) |> map(fun (a, b) => a * b) |> reduce(0.0, add)";

// A compiler of the name CC that does as the script says when it is to build.
class Script {
 public:
  explicit Script(const std::string& building) : variable_("CC", (folder_.path() / "cc").string()) {
    const fs::path file = folder_.path() / "cc";
    std::ofstream(file) << "#!/bin/sh\ncase \"$*\" in *-dM*) exec cc \"$@\";; esac\n" << building << '\n';
    fs::permissions(file, fs::perms::owner_all);
  }

 private:
  TemporaryFolder folder_;
  Variable variable_;
};

}  // namespace

TEST_CASE("the native device says what it is") {
  const auto device = native();
  const DeviceInfo& d = device->info();
  CHECK(d.name == "native");
  CHECK(d.type == "cpu");
  CHECK(d.builtIn());
  CHECK_FALSE(d.pseudo());
  CHECK(d.takesC());
  for (const std::string& s : {d.platform, d.platformVersion, d.driverVersion, d.vendor, d.deviceVersion})
    CHECK_FALSE(s.empty());
  CHECK(d.computeUnits >= 1);
  CHECK(d.vectorWidthF32 >= 4);
  CHECK(d.globalMemory > d.cacheBytes);
  CHECK(d.toJson() == findDevice({.device = "Native"}).toJson());
}

TEST_CASE("programs mean the same on the native device, at sizes left open, too") {
  struct Case {
    std::string text;
    Tensors inputs;
    std::map<std::string, std::int64_t> sizes = {};
  };
  const std::vector<Case> cases{
      {dot, {{"x", random(Scalar::f32, {5000}, "x")}, {"y", random(Scalar::f32, {5000}, "y")}}},
      {"def main(x: [n][m]f16, s: f32) = transpose(x) |> map(scan(s, fun (a, v) => a + f32(v)))",
       {{"x", random(Scalar::f16, {33, 20}, "x")}, {"s", random(Scalar::f32, {}, "s")}}},
      {"def main(k: nat in 0.., x: [n]f32) = let s = x[0] * 0.5 in "
       "iterate(k, fun y => map(fun v => v * 0.5 + s, reorder(reverse, y)), x)",
       {{"x", random(Scalar::f32, {100}, "x")}},
       {{"k", 21}}},
      {"def main(x: [n]i8) = map(fun v => i32(v) / 3, x)", {{"x", random(Scalar::i8, {1000}, "x")}}}};
  const auto device = native();
  for (const Case& c : cases) {
    INFO(c.text);
    const Program program = parsed(c.text);
    const auto executable = device->load(compile(program), c.sizes, {.buildOptions = "-O1"});
    const Execution e = executable->run(c.inputs);
    CHECK(e.timer == Timer::host);
    CHECK(e.milliseconds() > 0);
    std::map<NatVar, Nat> sizes;
    for (const auto& [v, value] : bindSizes(executable->plan(), typesOf(c.inputs), c.sizes).sizes)
      sizes.emplace(v, Nat(value));
    CHECK(largestError(e.outputs, interpret(specialise(program, sizes), c.inputs)) < 1e-4);
    CHECK(largestError(executable->measure(c.inputs, {.repetitions = 3, .outputs = true}).outputs, e.outputs) == 0);
  }
}

TEST_CASE("vectors become integers of another size on the native device") {  // GCC 12 broke off
  const Program program = parsed("def main(x: [16]f32) = asScalar(map(vectorize(4, fun v => u64(v)), asVector(4, x)))");
  const Tensors inputs{{"x", random(Scalar::f32, {16}, "x")}};
  CHECK(largestError(native()->load(compile(program))->run(inputs).outputs, interpret(program, inputs)) == 0);
}

TEST_CASE("what preparation computes stays, and a wrong index is reported, on the native device") {
  const Program program = parsed("def main(x: [n]f32, w: [n]f32) = zip(x, map(fun v => sqrt(v * v), w)) |> map(mul)");
  CompileOptions options;
  options.constants = {"w"};
  const auto executable = native()->load(compile(program, options), {}, {.buildOptions = "-O1"});
  const Execution e = executable->run({{"x", tensorOf({1, 2, 3})}, {"w", tensorOf({-1, 4, 2})}});
  CHECK(valuesOf(e.outputs.begin()->second) == std::vector<double>{1, 8, 6});
  CHECK(executable->plan().preparation.size() == e.preparation.size());

  CompileOptions checking;
  checking.checkBounds = true;
  const auto checked = native()->load(compile(parsed("def main(x: [4]i32) = map(fun i => x[i], x)"), checking), {},
                                      {.buildOptions = "-O1"});
  Tensor x(Scalar::i32, {4});
  x.set(2, 7);
  CHECK(has(messageOf(ExitStatus::program, [&] { checked->run({{"x", x}}); }), "out of range"));
}

TEST_CASE("families of a layer run on the native device, or are refused with the reason") {
  const auto device = native();
  const Workload w = convWorkload(parseConv("ic16ih9iw11oc20kh3ph1"));
  const Tensors inputs = w.makeInputs(1), expected = w.expected(inputs);
  std::vector<std::string> refused;
  for (const OperatorFamily& family : w.families) {
    INFO(family.name);
    const Variant v = derive(w, family.name);
    try {
      const auto executable = device->load(compileVariant(v, v.defaults), {}, {.buildOptions = "-O1"});
      CHECK(largestError(executable->run(inputs).outputs, expected) <= v.tolerance);
    } catch (const UserError& e) {
      CHECK(e.status() == ExitStatus::device);
      CHECK(has(e.what(), "plain C only"));
      refused.push_back(family.name);
    }
  }
  CHECK(refused == std::vector<std::string>{"staged", "stagedSplitK", "winogradStaged"});

  // What is asked for is refused when it is loaded; what is chosen or searched is not among these.
  CHECK(choose(w, &device->info()).variant.family != "staged");
  for (const auto& s : tune::Problem(tuningProblem(w, device->info())).subspaces) CHECK(s.search.name != "staged");
}

TEST_CASE("a launch on the native device has all threads") {
  const auto executable = native()->load(compile(parsed("def main(x: [n]f32) = map(fun v => v + 1.0, x)")));
  executable->run({{"x", random(Scalar::f32, {100000}, "x")}});
  const auto tasks = fs::directory_iterator("/proc/self/task");
  CHECK(std::distance(begin(tasks), end(tasks)) >= static_cast<std::ptrdiff_t>(std::thread::hardware_concurrency()));
}

TEST_CASE("libraries of kernels are built once; damaged ones are built again") {
  const kernel::Plan plan = compile(parsed(dot));
  const Tensors inputs{{"x", tensorOf({1, 2, 3})}, {"y", tensorOf({1, 1, 2})}};
  const auto load = [&](const std::string& options = {}) {
    const auto executable = native()->load(plan, {}, {.buildOptions = "-O1 " + options});
    CHECK(valuesOf(executable->run(inputs).outputs.begin()->second) == std::vector<double>{9});
    return executable->build();
  };
  clearCache();
  CHECK(load().cacheHits == 0);
  CHECK(load().cacheHits == 1);
  CHECK(load("-DOTHER").cacheHits == 0);
  for (const auto& entry : fs::directory_iterator(cacheSummary().directory)) fs::resize_file(entry.path(), 1000);
  CHECK(load().cacheHits == 0);
  CHECK(load().cacheHits == 1);
  const auto device = native();
  device->load(plan);
  CHECK(device->load(plan)->build().programs == 0);  // loaded already
}

TEST_CASE("compilers that are missing, refuse, or crash are told of") {
  const auto build = [] { native()->load(compile(parsed(dot)), {}, {.cache = false}); };
  {
    const Variable none("CC", "no-such-compiler");
    CHECK(has(messageOf(ExitStatus::device, build), "'no-such-compiler', which CC names, is not found"));
    CHECK(nativeDeviceInfo().platform.empty());
  }
  {
    const Variable unset("CC", std::nullopt), path("PATH", "/nowhere");
    const std::string m = messageOf(ExitStatus::device, build);
    CHECK(has(m, "no C compiler is found"));
    CHECK(has(m, "install gcc or clang"));
  }
  const std::string refused = messageOf(
      ExitStatus::device, [] { native()->load(compile(parsed(dot)), {}, {.buildOptions = "-std=no-such-standard"}); });
  CHECK(has(refused, "cannot build kernels for native"));
  CHECK(has(refused, "no-such-standard"));
  const Script crashing("kill -SEGV $$");
  CHECK(has(messageOf(ExitStatus::device, build), "killed by signal 11"));
}
