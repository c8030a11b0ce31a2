// What is read off programs: each constraint with its kind, its tunables and its place.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/inputs.hpp"
#include "lift/space.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

Program programOf(const std::string& text, const std::map<std::string, std::int64_t>& sizes = {}) {
  return atValues(parseProgram(*addSource("test.lift", text)), sizes);
}

std::string example(const std::string& file) {
  return readFile(std::string(LIFT_SOURCE_DIR) + "/examples/" + file).value();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

DeviceLimits profile(const std::string& name) { return parseDeviceLimits(runtime::readProfile(name).toJson()); }
DeviceLimits mali() { return profile("mali-g72"); }

std::string all(const std::vector<Constraint>& constraints) {
  std::string text;
  for (const Constraint& c : constraints) text += std::string(name(c.kind)) + " " + c.str() + "\n";
  return text;
}

// Whether there is a constraint of the kind with exactly these tunables whose text contains all parts.
bool has(const std::vector<Constraint>& constraints, Constraint::Kind kind, const std::vector<std::string>& tunables,
         const std::vector<std::string>& parts) {
  return std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& c) {
    std::vector<std::string> names;
    for (const NatVar v : c.variables) names.push_back(v.name());
    std::sort(names.begin(), names.end());
    const std::string text = c.str();
    return c.kind == kind && names == tunables &&
           std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return text.find(p) != std::string::npos; });
  });
}

constexpr auto algorithm = Constraint::Kind::algorithm;
constexpr auto hardware = Constraint::Kind::hardware;

const std::map<std::string, std::int64_t> vggLayer7 = {
    {"inputChannels", 128}, {"numKernels", 128}, {"inputHeight", 112}, {"inputWidth", 112}};

}  // namespace

TEST_CASE("direct convolution: the constraints that the paper names are inferred") {
  const Program program = programOf(example("direct_conv.lift"), vggLayer7);
  const std::vector<Constraint> constraints = constraintsOf(program, mali());
  INFO(all(constraints));

  CHECK(has(constraints, algorithm, {"kappa"}, {"kappa | 128", "split(kappa)", "test.lift:"}));
  CHECK(has(constraints, algorithm, {"sigma", "theta"}, {"sigma | ", "split(sigma)", "test.lift:"}));
  CHECK(has(constraints, algorithm, {"omega"}, {"omega | 1152", "split(omega)", "test.lift:"}));
  CHECK(has(constraints, algorithm, {"omega", "upsilon"}, {"upsilon | omega", "asVector(upsilon)", "test.lift:"}));
  CHECK(has(constraints, algorithm, {"upsilon"}, {"upsilon | 16", "the vectors of"}));
  CHECK(has(constraints, algorithm, {"omega"}, {"reorder(stride("}));
  CHECK(has(constraints, algorithm, {"rho", "theta"}, {"theta - 2 | ", "slideStrict(theta, theta - 2)", "test.lift:"}));
  CHECK(has(constraints, algorithm, {"rho", "theta"}, {"theta <= ", "slideStrict(theta, theta - 2)"}));

  // Table 1's sizes of groups, and memory.
  CHECK(has(constraints, hardware, {"sigma", "theta"}, {"<= 384", "mapLcl(1)", "test.lift:"}));
  CHECK(has(constraints, hardware, {"omega"}, {"1152/omega <= 384", "mapLcl(0)", "test.lift:"}));
  CHECK(has(constraints, hardware, {"omega", "sigma", "theta"}, {"<= 384", "the work-group of mapWrg(1)"}));
  CHECK(has(constraints, hardware, {"kappa", "sigma", "upsilon"}, {"<= 1024", "private bytes"}));
  CHECK(
      has(constraints, hardware, {"kappa", "omega", "rho", "sigma", "theta"}, {"<= 1073741824", "bytes of toGlobal"}));
  CHECK(has(constraints, hardware, {"kappa", "omega", "rho", "sigma", "theta"}, {"<= 4294967296", "all buffers"}));

  for (const Constraint& c : constraints) CHECK_FALSE(c.condition.origin.empty());
}

TEST_CASE("direct convolution with a stride: what is cropped is whole") {
  const std::string text = replaced(
      replaced(example("direct_conv.lift"), "def kernelStride = 1", "def kernelStride = 2"),
      ": [numKernels][inputHeight][inputWidth]f32", ": [numKernels][(inputHeight + 1) / 2][(inputWidth + 1) / 2]f32");
  auto sizes = vggLayer7;
  sizes["inputHeight"] = sizes["inputWidth"] = 111;  // 56 windows of 3 at every second place of 113
  const Space space = spaceOf(programOf(text, sizes), mali());
  INFO(all(space.constraints()));
  int points = 0;
  Sampler sampler(space, 1);
  for (auto config = sampler.next(); config && points < 200; config = sampler.next(), points++)
    CHECK(config->at("rho") % 2 == 0);
  CHECK(points == 200);
}

TEST_CASE("direct convolution: the paper's best point is valid, what is not is explained") {
  // Table 4: layer 7 was best with tiles of 5 by 5, 4 kernels, 3 windows, 144 elements, padding 11, vectors of 4.
  const Program program = programOf(example("direct_conv.lift"), vggLayer7);
  const Space space = spaceOf(program, mali());
  Config config{{"theta", 5}, {"kappa", 4}, {"sigma", 3}, {"omega", 144}, {"rho", 11}, {"upsilon", 4}};
  CHECK(space.contains(config));
  config["rho"] = 10;
  REQUIRE(space.why(config).size() >= 1);
  for (const Constraint* c : space.why(config)) CHECK(c->condition.str().find("rho") != std::string::npos);
  config["rho"] = 11;
  config["theta"] = 2;  // below its range
  CHECK(has({*space.why(config).front()}, Constraint::Kind::user, {"theta"}, {"3 <= theta", "tune theta in 3..128"}));
}

TEST_CASE("a sampled point holds when it is put into the program") {
  const Program program = programOf(example("direct_conv.lift"), vggLayer7);
  const Space space = spaceOf(program, mali());
  Sampler sampler(space, 7);
  int points = 0;
  for (; points < 100; points++) {
    const auto config = sampler.next();
    REQUIRE(config);
    INFO(str(*config));
    CHECK(space.contains(*config));
    std::map<NatVar, Nat> values;
    for (const NatVar t : program.tunables) values.emplace(t, Nat(config->at(t.name())));
    const Program fixed = specialise(program, values);
    CHECK(fixed.tunables.empty());
    CHECK(fixed.conditions.empty());
    verify(fixed);
  }
  CHECK(points == 100);
}

TEST_CASE("sizes that are open stay in the constraints") {
  const auto constraints =
      constraintsOf(programOf("tune k in 1..64\ndef main(xs: [n]f32) = split(k, xs) |> map(sum)"), {});
  CHECK(has(constraints, algorithm, {"k", "n"}, {"k | n", "split(k) of [n]f32 at test.lift:2:"}));
}

TEST_CASE("every primitive's requirements become constraints") {
  const auto constraints = [](const std::string& body) {
    return constraintsOf(programOf("tune k in 1..64\ndef main(xs: [48]f32) = " + body), {});
  };
  CHECK(has(constraints("slide(k, 1, xs) |> map(sum)"), algorithm, {"k"}, {"k <= 48", "slide(k, 1)"}));
  CHECK(has(constraints("take(k, xs)"), algorithm, {"k"}, {"k <= 48", "take(k)"}));
  CHECK(has(constraints("drop(k, xs)"), algorithm, {"k"}, {"k <= 47", "drop(k)"}));
  CHECK(has(constraints("crop(k, k, xs)"), algorithm, {"k"}, {"1 <= ", "padClamp"}));
  CHECK(has(constraints("pad(0, -k, 0.0, xs)"), algorithm, {"k"}, {"1 <= ", "pad(0, -k)"}));
  CHECK(has(constraints("reorder(stride(k), xs)"), algorithm, {"k"}, {"k | 48", "reorder(stride(k))"}));
  CHECK(has(constraints("reorder(transpose(k, 6), xs)"), algorithm, {"k"}, {"= 48", "reorder(transpose(k, 6))"}));
  CHECK(has(constraints("asScalar(asVector(k, xs))"), algorithm, {"k"}, {"k | 16", "the vectors of"}));
  CHECK(has(constraints("generate(k - 3, fun i => f32(i))"), algorithm, {"k"}, {"1 <= k - 3", "generate(k - 3)"}));
  CHECK(has(constraints("zip(split(k, xs), split(4, xs)) |> map(fun (a, b) => sum(b))"), algorithm, {"k"},
            {"48/k", "12", "the lengths of two types"}));
}

TEST_CASE("local and private memory are held to the device") {
  DeviceLimits limits;
  limits.localBytes = 128;
  limits.privateBytes = 64;
  limits.groupSize = 32;
  const auto constraints = constraintsOf(programOf(R"(
    tune k in 1..64
    def main(xs: [1024]f32) = split(k, xs) |> mapWrg(0, fun chunk =>
      let(fun tile => mapLcl(0, fun x => reduceSeq(init = x, f = fun (a, b) => a + b, mapSeq(fun y => y * x, tile)), tile),
        toLocal(mapLcl(0, fun x => x, chunk))))
  )"),
                                         limits);
  INFO(all(constraints));
  CHECK(has(constraints, hardware, {"k"}, {"4*k <= 128", "local bytes of a work-group of mapWrg(0)"}));
  CHECK(has(constraints, hardware, {"k"}, {"4*k + 4 <= 64", "private bytes of a work-item of mapWrg(0)"}));
  CHECK(has(constraints, hardware, {"k"}, {"k <= 32", "the work-group of mapWrg(0)"}));
}

TEST_CASE("what is the same in all turns of the loops around it is kept in memory once") {
  DeviceLimits limits;
  limits.bufferBytes = 8192;
  const auto kept = [&](const std::string& element) {
    return constraintsOf(programOf(R"(
    tune k in 1..64
    def main(xs: [1024]f32, ys: [64]f32) = split(k, xs) |> mapWrg(0, fun chunk => mapLcl(0, fun x =>
      reduceSeq(init = x, f = fun (a, b) => a + b, toGlobal(mapSeq(fun y => )" +
                                   element + ", ys))), chunk))"),
                         limits);
  };
  CHECK_FALSE(has(kept("-y"), hardware, {"k"}, {"bytes of toGlobal"}));
  CHECK(has(kept("x * y"), hardware, {"k"}, {"<= 8192", "bytes of toGlobal"}));
}

TEST_CASE("images are held to the device") {
  const auto of = [](const DeviceLimits& limits) {
    return constraintsOf(programOf(R"(
    tune k in 1..64
    def main(xs: [2048]<4>f32) = mapGlb(0, fun v => v + v, toImage(mapGlb(0, fun v => v, take(32 * k, xs)))) )"),
                         limits);
  };
  CHECK(has(of(parseDeviceLimits(R"({"name": "x", "max_image_width": 1024, "max_image_height": 1})")), hardware, {"k"},
            {"128*k <= 4096", "elements of toImage"}));
  for (const char* none : {R"({"name": "x"})", R"({"name": "x", "max_image_width": 1000, "max_image_height": 2})"})
    CHECK(has(of(parseDeviceLimits(none)), hardware, {"k"}, {"128*k <= 0", "elements of toImage"}));
  CHECK_FALSE(has(of({}), hardware, {"k"}, {"elements of toImage"}));
}

TEST_CASE("profiles") {
  const DeviceLimits limits = mali();
  CHECK(limits.name == "Mali-G72 MP12");
  CHECK(limits.groupSize == 384);
  CHECK(limits.groupSizes[2] == 384);
  CHECK(profile("generic-cpu").groupSize == 4096);

  const DeviceLimits open = parseDeviceLimits(R"({"name": "x", "local_memory_bytes": 0})");
  CHECK(open.localBytes == DeviceLimits::unlimited);
  CHECK(open.globalSizes[0] == DeviceLimits::unlimited);

  // Lines are asked for ahead in C and by PoCL, whose compilers have a way to; not on accelerators, nor by others.
  const auto lineBytes = [](const char* keys) {
    return parseDeviceLimits(fmt::format(R"({{"name": "x", {}}})", keys)).target.lineBytes;
  };
  const char* pocl = R"("platform": "Portable Computing Language", "cache_line_bytes": 128, "type": )";
  CHECK(lineBytes(R"("language_version": "C11", "type": "cpu")") == 64);
  CHECK(lineBytes((std::string(pocl) + R"("cpu")").c_str()) == 128);
  CHECK(lineBytes((std::string(pocl) + R"("gpu")").c_str()) == 0);
  const auto stored = [&](const std::string& keys) {
    return parseDeviceLimits(fmt::format(R"({{"name": "x", "cache_bytes": 1000, {}}})", keys)).target.cacheBytes;
  };
  CHECK(stored(std::string(pocl) + R"("cpu")") == 1000);
  CHECK(stored(std::string(pocl) + R"("gpu")") == 0);
  CHECK(lineBytes(R"("platform": "Intel(R) OpenCL", "type": "cpu", "cache_line_bytes": 64)") == 0);
  for (const char* wrong :
       {"", "[]", "{}", R"({"name": 3})", R"({"name": "x", "max_work_group_size": -1})",
        R"({"name": "x", "max_work_item_sizes": [1, 2]})", R"({"name": "x", "local_memory_bytes": "big"})"})
    CHECK_THROWS_AS(parseDeviceLimits(wrong), UserError);
}
