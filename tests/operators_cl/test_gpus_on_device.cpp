// What graphics processors get, on an OpenCL device: groups that reduce together, and that update elements at once.
#include "operators/parted.hpp"
#include "operators/steps_of_groups.hpp"

using namespace lift;

TEST_CASE("what a GPU gets is right on a device", "[cl]") {
  const auto device = runtime::openDevice();
  const runtime::DeviceInfo gpu = runtime::readProfile("nvidia");
  for (const char* text :
       {"def main(x: [n]f32): f32 = sum(x) / 3.0\n", "def main(x: [n]f32): [n]f32 = softmax(x)\n",
        "def main(x: [n]i32): [40]i32 = generate(40, fun b => sum(map(fun v => if v % 40 == b then 1 else 0, x)))\n",
        "def main(x: [n]i32): [9]i32 = reduceByIndex(fill(9, 5), max, map(fun v => (abs(v) % 10, v), x))\n",
        "def main(x: [n]f32): [9]f32 = reduceByIndex(fill(9, 0.5), add, map(fun v => (i32(abs(v) * 10.0), v), x))\n",
        "def main(x: [n]f32): [6000](i32, f32) = reduceByIndex(fill(6000, (0, 0.5)), fun ((c, s), v) => "
        "(c + 1, s + v), map(fun v => (i32(abs(v) * 100.0), v), x))\n",
        "def main(x: [n]f32): [900][8]f32 = reduceByIndex(fill(900, fill(8, 0.5)), fun (s, v) => map(fun a => max(a, "
        "v), "
        "s), map(fun v => (i32(abs(v) * 100.0), v), x))\n",
        "def main(x: [n]f32): [n]f32 = scatter(reverse(x), map(fun v => i32(abs(v) * 1000.0), x), x)\n",
        "def main(x: [n]f32): [n]f32 = scan(0.0, add, x)\n",
        "def main(x: [n]f32): f32 = maximum(map(fun w => w[0] - 2.0 * w[1], slide(2, 1, padClamp(0, 1, x))))\n"}) {
    INFO(text);
    for (const std::int64_t n : {4096, 50001}) {
      INFO(n);
      const Program program = parted::load({"gpu", text, {{"n", n}}, {}});
      const Choice choice = choose(programWorkload(program, 0), &gpu, {.tuned = false});
      const auto inputs = parted::inputsOf(program);
      const auto run = device->load(compileVariant(choice.variant, choice.config))->run(inputs);
      CHECK(largestError(run.outputs, interpret(program, inputs)) < parted::tolerance);
    }
  }
}

TEST_CASE("what the groups of a GPU share is right on a device", "[cl]") {
  const auto device = runtime::openDevice();
  const runtime::DeviceInfo gpu = runtime::readProfile("nvidia");
  constexpr std::size_t step = 3;  // PoCL takes seconds to build the kernels of each
  for (std::size_t i = 0; i < steps::cases().size(); i += step) {
    const steps::Case& c = steps::cases()[i];
    INFO(c.text);
    const Program program = parted::load({"steps", c.text, c.sizes, {}});
    const Choice choice = choose(programWorkload(program, 0), &gpu, {.tuned = false});
    const auto inputs = parted::inputsOf(program);
    const auto run = device->load(compileVariant(choice.variant, choice.config))->run(inputs);
    CHECK(largestError(run.outputs, interpret(program, inputs)) < parted::tolerance);
  }
}
