// What graphics processors get: many work-items, of which neighbours read and write what lies side by side. Counted on
// the kernels' trees for a device that is not at hand; results are judged by the emulator.
#include "lift/mapping.hpp"
#include "lift/predict.hpp"
#include "lift/terms.hpp"
#include "parted.hpp"
#include "programs/catalogue.hpp"
#include "steps_of_groups.hpp"

using namespace lift;

namespace {

Choice chosenOn(const runtime::DeviceInfo& device, const Program& program) {
  return choose(programWorkload(program, 0), &device, {.tuned = false});
}

}  // namespace

TEST_CASE("on a GPU work is over many work-items, and neighbours read and write side by side", "[null]") {
  struct Row {
    const char *file, *entry;
    programs::Sizes sizes;
    std::size_t launches;
  };
  const runtime::DeviceInfo device = runtime::readProfile("nvidia");
  constexpr std::int64_t million = 1 << 20;
  for (const Row& row : {Row{"dot", "main", {{"n", 4 * million}}, 2},
                         {"normalise", "softmax", {{"n", 4 * million}}, 6},
                         {"normalise", "variance", {{"n", 4 * million}}, 4},
                         {"histogram", "main", {{"n", 4 * million}}, 2},
                         {"nearest", "relative", {{"n", 4 * million}}, 4},
                         {"attention", "main", {{"m", 1024}, {"n", 1024}, {"d", 64}, {"e", 64}}, 4},
                         {"harris", "main", {{"h", 1024}, {"w", 1024}}, 2},
                         {"life", "main", {{"generations", 1}, {"h", 1024}, {"w", 1024}}, 1},
                         {"stencil3d", "clamped", {{"d", 128}, {"h", 128}, {"w", 128}}, 1},
                         {"products", "separable", {{"h", 1024}, {"w", 1024}}, 2},
                         {"products", "volume", {{"d", 128}, {"h", 128}, {"w", 128}}, 1},
                         {"products", "distances", {{"n", 1024}, {"m", 1024}, {"d", 64}}, 1},
                         {"products", "columns", {{"n", 2048}, {"m", 2048}}, 2},
                         {"products", "layers", {{"n", 128}, {"i", 784}, {"h", 512}, {"o", 10}}, 3}}) {
    INFO(row.file << " " << row.entry);
    const Choice choice = chosenOn(device, programs::load({row.file, row.entry, row.sizes, {}, 0, {}}));
    const kernel::Plan plan = compileVariant(choice.variant, choice.config);
    CHECK(plan.launches.size() == row.launches);
    for (const kernel::Launch& launch : plan.launches) {
      const kernel::Kernel& k = plan.kernels[static_cast<std::size_t>(launch.kernel)];
      INFO(k.name);
      const KernelWork work = workOf(k, device);
      // The work of a launch that leaves the device idle is short.
      const double items = std::max(work.items, 512.0 * device.computeUnits);
      const double ofItem = work.accesses / work.bundles;
      CHECK(items / work.items * ofItem < 8192);
      // Of vectors of four, and what is not aligned. A transposed copy of an operand reads or writes far apart.
      if (ofItem > 4) CHECK(work.lines / work.accesses < 5);
    }
  }
}

TEST_CASE("every program of the catalogue is right as a GPU gets it", "[null]") {
  const auto emulator = runtime::makeEmulatorDevice();
  const runtime::DeviceInfo device = runtime::readProfile("nvidia");
  for (const programs::CatalogueEntry& entry : programs::catalogue()) {
    const Program program = programs::load(entry);
    if (isMapped(program) || !program.tunables.empty()) continue;
    CAPTURE(entry.name());
    const Choice choice = chosenOn(device, program);
    const auto inputs = programs::inputsOf(entry, program);
    const auto run = emulator->load(compileVariant(choice.variant, choice.config))->run(inputs);
    CHECK(programs::judge(entry, run.outputs, entry.reference(inputs)) == "");
  }
}

TEST_CASE("programs whose sizes stay open are right as a GPU gets them", "[null]") {
  const auto emulator = runtime::makeEmulatorDevice();
  const runtime::DeviceInfo device = runtime::readProfile("nvidia");
  int run = 0;
  for (const programs::CatalogueEntry& entry : programs::catalogue()) {
    const Program program = programs::load(entry);
    if (isMapped(program) || !program.tunables.empty()) continue;
    CAPTURE(entry.name());
    programs::CatalogueEntry open = entry;
    open.sizes.clear();
    const Choice choice = chosenOn(device, programs::load(open));
    const auto inputs = programs::inputsOf(entry, program);
    const kernel::Plan plan = compileVariant(choice.variant, choice.config);
    std::map<std::string, std::int64_t> given;
    for (const auto& [name, value] : entry.sizes)
      if (std::ranges::any_of(plan.sizes, [&, n = std::string(name)](NatVar v) { return v.name() == n; }))
        given[name] = value;
    const auto result = emulator->load(plan, given)->run(inputs);
    CHECK(programs::judge(entry, result.outputs, entry.reference(inputs)) == "");
    run++;
  }
  CHECK(run > 50);
}

TEST_CASE("long reductions have work-groups on GPUs, whatever their length", "[null]") {
  const auto emulator = runtime::makeEmulatorDevice();
  const runtime::DeviceInfo device = runtime::readProfile("nvidia");
  for (const char* text :
       {"def main(x: [n]f32): f32 = sum(x) / 3.0\n", "def main(x: [n]i32): (i32, i32) = (sum(x), maximum(x))\n",
        "def main(x: [n]f32, y: [n]f32): f32 = let m = average(x) in sqrt(abs(dotProduct(map(fun v => v - m, x), "
        "y)))\n",
        "def main(x: [n]f32): [n]f32 = let s = sum(map(square, x)) in map(fun v => v / s, x)\n",
        "def main(x: [n]f32): i32 = argmax(x)\n"}) {
    INFO(text);
    for (const std::int64_t n : {2048, 4099, 5000}) {
      INFO(n);
      const Program program = parted::load({"long", text, {{"n", n}}, {}});
      const Choice choice = chosenOn(device, program);
      const kernel::Plan plan = compileVariant(choice.variant, choice.config);
      CHECK(plan.kernels.size() > 1);
      const auto inputs = parted::inputsOf(program);
      CHECK(largestError(emulator->load(plan)->run(inputs).outputs, interpret(program, inputs)) < parted::tolerance);
    }
  }
}

TEST_CASE("rows of arrays of any number of dimensions have a work-group each on GPUs", "[null]") {
  const auto emulator = runtime::makeEmulatorDevice();
  const runtime::DeviceInfo device = runtime::readProfile("nvidia");
  for (const char* row : {"softmax", "sum"}) {
    INFO(row);
    const std::string text = std::string("def main(x: [a][b][c][d][n]f32) = map3D(fun m => map(") + row + ", m), x)\n";
    const Program program =
        parted::load({"rows", text.c_str(), {{"a", 2}, {"b", 3}, {"c", 2}, {"d", 3}, {"n", 128}}, {}});
    const Choice choice = chosenOn(device, program);
    const kernel::Plan plan = compileVariant(choice.variant, choice.config);
    REQUIRE(plan.kernels.size() == 1);
    const auto& range = plan.kernels[0].range;
    CHECK(range.global[0] * range.global[1] * range.global[2] == Nat(2 * 3 * 2 * 3) * range.local[0]);
    const auto inputs = parted::inputsOf(program);
    CHECK(largestError(emulator->load(plan)->run(inputs).outputs, interpret(program, inputs)) < parted::tolerance);
    const Choice onProcessor = chosenOn(runtime::readProfile("generic-cpu"), program);
    const kernel::Plan other = compileVariant(onProcessor.variant, onProcessor.config);
    CHECK(largestError(emulator->load(other)->run(inputs).outputs, interpret(program, inputs)) < parted::tolerance);
  }
}

TEST_CASE("work-groups of GPUs share steps over arrays, scans and rows", "[null]") {
  const auto emulator = runtime::makeEmulatorDevice();
  const runtime::DeviceInfo device = runtime::readProfile("nvidia");
  for (const steps::Case& c : steps::cases()) {
    INFO(c.text);
    const Program program = parted::load({"steps", c.text, c.sizes, {}});
    const Choice choice = chosenOn(device, program);
    const kernel::Plan plan = compileVariant(choice.variant, choice.config);
    const auto isOfSteps = [&](const kernel::Kernel& k) {
      const auto& [global, local] = k.range;
      const bool keeps = std::ranges::any_of(k.buffers, [](const kernel::Buffer& b) {
        return b.space == kernel::AddressSpace::local && b.count != Nat(0);
      });
      return keeps && local[0] != Nat(1) && global[0] * global[1] * global[2] == local[0] * Nat(c.groups);
    };
    CHECK(std::ranges::count_if(plan.kernels, isOfSteps) == c.kernels);
    for (const kernel::Kernel& k : plan.kernels)
      CHECK(std::ranges::none_of(k.buffers, [](const kernel::Buffer& b) {
        return b.space == kernel::AddressSpace::priv && b.count != Nat(0);
      }));
    const auto inputs = parted::inputsOf(program);
    CHECK(largestError(emulator->load(plan)->run(inputs).outputs, interpret(program, inputs)) < parted::tolerance);
  }
}

TEST_CASE("steps of little work are a group's, though each could be a product of all the batch", "[null]") {
  const std::string text =
      "def main(pi: [s]f32, t: [s][s]f32, em: [b][l][s]f32): [b][s]f32 = em |> map(fun e => e |> reduce(pi,\n"
      "  fun (alpha, ek) => zipWith(add, ek, map(fun col => maximum(zipWith(add, col, alpha)), transpose(t)))))\n";
  runtime::DeviceInfo device = runtime::readProfile("nvidia-h200");
  device.privateMemory = 0;  // not known, as of devices at hand
  const auto launches = [&](std::int64_t states) {
    const Program program = parted::load({"viterbi", text, {{"s", states}, {"b", 512}, {"l", 100}}, {}});
    const Choice choice = chosenOn(device, program);
    return compileVariant(choice.variant, choice.config).launches.size();
  };
  CHECK(launches(64) == 1);
  CHECK(launches(512) > 1);  // of a loop of the host's
}

TEST_CASE("what groups share fits the local memory that every GPU has", "[null]") {
  const runtime::DeviceInfo device = runtime::readProfile("portable");
  const auto local = [&](const steps::Case& c, std::int64_t n) {
    std::map<std::string, std::int64_t> sizes = c.sizes;
    sizes["n"] = n;
    const Choice choice = chosenOn(device, parted::load({"fits", c.text, sizes, {}}));
    std::int64_t most = 0;
    for (const kernel::Kernel& k : compileVariant(choice.variant, choice.config).kernels)
      most = std::max(most, kernel::localBytes(k).constant().value());
    return most;
  };
  int shared = 0;
  for (const steps::Case& c : steps::cases()) {
    if (!c.sizes.contains("n")) continue;
    INFO(c.text);
    for (const std::int64_t n : {20, 50, 300, 600, 900}) {
      INFO(n);
      const std::int64_t bytes = local(c, n);
      CHECK(bytes <= 32 << 10);
      shared += bytes > 0 ? 1 : 0;
    }
  }
  CHECK(shared > 30);
}

TEST_CASE("groups of GPUs keep the order of reductions where that is asked for", "[null]") {
  const auto reducesTogether = [](bool strict) {
    steps::Case solve = steps::cases()[1];
    const Program mapped = mapByDefault(parted::load({"strict", solve.text, solve.sizes, {}}),
                                        {.strictReductions = strict, .isGpu = true});
    return anyPrimitive(mapped.body, [](Expr p) { return p.prim() == Prim::reduceLcl; });
  };
  CHECK(reducesTogether(false));
  CHECK_FALSE(reducesTogether(true));
}
