// What the device can do at all, by programs of the language, so that every device that runs plans is measured.
#include <fmt/format.h>

#include <algorithm>

#include "lift/codegen.hpp"
#include "lift/text.hpp"
#include "plan.hpp"

namespace lift::bench {
namespace {

kernel::Plan planOf(const std::string& name, const std::string& text) {
  return compile(parseProgram(*addSource(fmt::format("<{}>", name), text)));
}

// A core runs one work-item at a time; other devices hide latencies with many.
bool isCpu(const runtime::DeviceInfo& info) { return info.type == "cpu"; }

double leastMilliseconds(runtime::Executable& prepared, int runs) {
  double least = prepared.repeat().milliseconds;
  for (int i = 0; i < runs; i++) least = std::min(least, prepared.repeat().milliseconds);
  return least;
}

}  // namespace

double peakGflops(runtime::Device& device) {
  const runtime::DeviceInfo& info = device.info();
  if (info.pseudo()) return 0;
  // Enough chains to hide the latency of two units (4 to 5 cycles each), few enough for 16 registers.
  constexpr std::int64_t chains = 12;
  const std::int64_t width = std::clamp(info.vectorWidthF32, 1, 16), units = std::max(1, info.computeUnits);
  const std::int64_t items = units * (isCpu(info) ? 4 : 2048);
  const bool isVector = width > 1;
  const kernel::Plan plan = planOf(
      "peak", fmt::format(R"(
def main(n: nat, factors: [2]f32, seeds: [{}][{}]f32) =
  let (m, b) = (factors[0], factors[1]) in
  seeds |> {}(0)(fun row =>
    generate(n, fun i => i)
    |> reduceSeqUnroll(8, {}, fun (chains, i) => chains |> mapSeqUnroll(0)({}))
    |> reduceSeqUnroll(0, {}, add))
)",
                          items, chains * width, isCpu(info) ? "mapWrg" : "mapGlb",
                          isVector ? fmt::format("asVector({}, row)", width) : "row",
                          isVector ? fmt::format("vectorize({}, fun x => x * m + b)", width) : "fun x => x * m + b",
                          isVector ? fmt::format("splat({}, 0.0)", width) : "0.0"));
  Tensor factors(Scalar::f32, {2}), seeds(Scalar::f32, {items, chains * width});
  factors.set(0, 0.999);
  factors.set(1, 0.001);
  fillRandom(seeds, 1, "seeds");
  // Rounds are added until a run is long beside its launch; then the fastest of several.
  double milliseconds = 0;
  std::int64_t rounds = 1 << 12;
  while (milliseconds < 5 && rounds < (1 << 28)) {
    rounds *= 2;
    const auto executable = device.load(plan, {{"n", rounds}});
    executable->prepare({{"factors", factors}, {"seeds", seeds}});
    milliseconds = leastMilliseconds(*executable, 1);
    if (milliseconds >= 5) milliseconds = leastMilliseconds(*executable, 100);
  }
  return 2e-6 * static_cast<double>(items * rounds * chains * width) / milliseconds;
}

double copyBandwidth(runtime::Device& device) {
  if (device.info().pseudo()) return 0;
  constexpr std::int64_t count = 1 << 26;  // of f32: 256 MB
  // A core copies a stretch of its own; neighbouring work-items of other devices neighbouring elements.
  const auto executable = device.load(
      planOf("copy", fmt::format("def main(from: [{}]f32) = asVector(4, from) |> {} |> asScalar\n", count,
                                 isCpu(device.info()) ? "split(16384) |> mapWrg(0)(mapSeq(fun v => v)) |> join"
                                                      : "mapGlb(0)(fun v => v)")));
  executable->prepare({{"from", Tensor(Scalar::f32, {count})}});
  return 2e-6 * static_cast<double>(count) * 4 / leastMilliseconds(*executable, 10);
}

double emptyRun(runtime::Device& device, const TurnOptions& options) {
  if (device.info().pseudo()) return 0;
  const kernel::Plan plan = planOf("empty", "def main(x: [1]f32) = x |> mapGlb(0)(fun v => v)\n");
  const auto contestant = contestPlan(device, plan, {{"x", Tensor(Scalar::f32, {1})}});
  return runtime::median(measureInTurns({contestant.get()}, options)[0]);
}

}  // namespace lift::bench
