// The device's peak: chains of fused multiply-adds that wait for nothing but themselves.
#include <fmt/format.h>

#include <algorithm>

#include "plan.hpp"

namespace lift::bench {
namespace {

using kernel::PlanBuffer;

// Enough chains to hide the latency of two units (4 to 5 cycles each), few enough for 16 registers.
constexpr std::int64_t chains = 12;

std::string sourceFor(int width) {
  std::string declare, step, sum;
  for (int c = 0; c < chains; ++c) {
    declare += fmt::format("  V a{} = (V)(factors[0] + {}.0f + (float)get_global_id(0));\n", c, c);
    step += fmt::format("    a{0} = fma(a{0}, m, b);\n", c);
    sum += fmt::format("{}a{}", c ? " + " : "", c);
  }
  const std::string lanes = width == 1 ? "" : std::to_string(width);
  const std::string store = width == 1 ? "out[get_global_id(0)] = sum;" : "out[get_global_id(0)] = sum.s0;";
  return fmt::format(R"(typedef float{} V;
__kernel void peak(__global const float* restrict factors, __global const int* restrict rounds,
                   __global float* restrict out) {{
  const V m = (V)(factors[0]), b = (V)(factors[1]);
{}  const int n = rounds[0];
#pragma unroll 8
  for (int i = 0; i < n; i++) {{
{}  }}
  const V sum = {};
  {}
}}
)",
                     lanes, declare, step, sum, store);
}

}  // namespace

double peakGflops(runtime::Device& device) {
  const runtime::DeviceInfo& info = device.info();
  if (info.pseudo()) return 0;
  const int width = std::clamp(info.vectorWidthF32, 1, 16);
  // A core runs one work-item at a time; other devices hide latencies with many.
  const std::int64_t local = info.type == "cpu" ? 1 : std::min<std::int64_t>(64, std::int64_t(info.maxWorkGroupSize));
  const std::int64_t items = std::max(1, info.computeUnits) * (info.type == "cpu" ? 4 : 32) * local;
  kernel::NDRange range;
  range.global[0] = Nat(items);
  range.local[0] = Nat(local);
  const auto executable = device.load(planOf(sourceFor(width),
                                             {{"factors", Scalar::f32, {2}, PlanBuffer::Role::input},
                                              {"rounds", Scalar::i32, {1}, PlanBuffer::Role::input},
                                              {"out", Scalar::f32, {items}, PlanBuffer::Role::output}},
                                             {{"peak", range, {"factors", "rounds", "out"}}}));
  Tensor factors(Scalar::f32, {2}), rounds(Scalar::i32, {1});
  factors.set(0, 0.999);
  factors.set(1, 0.001);
  // Rounds are added until a run is long beside its launch; then the fastest of several.
  double milliseconds = 0;
  std::int64_t count = 1 << 12;
  while (milliseconds < 5 && count < (1 << 28)) {
    count *= 2;
    rounds.set(0, static_cast<double>(count));
    executable->prepare({{"factors", factors}, {"rounds", rounds}});
    executable->repeat();
    milliseconds = executable->repeat().milliseconds;
  }
  for (int i = 0; i < 100; ++i) milliseconds = std::min(milliseconds, executable->repeat().milliseconds);
  return 2e-6 * static_cast<double>(items * count * chains * width) / milliseconds;
}

double copyBandwidth(runtime::Device& device) {
  if (device.info().pseudo()) return 0;
  constexpr std::int64_t count = 1 << 26;  // of f32: 256 MB
  const bool isCpu = device.info().type == "cpu";
  // A core copies a stretch of its own; neighbouring work-items of other devices neighbouring elements.
  const std::int64_t local = isCpu ? 1 : 64, stretch = isCpu ? 1 << 16 : 16;
  kernel::NDRange range;
  range.global[0] = Nat(count / stretch);
  range.local[0] = Nat(local);
  const std::string source =
      fmt::format(R"(
__kernel void copy(__global const float* restrict from, __global float* restrict to) {{
  const int first = get_group_id(0) * {} + get_local_id(0) * {};
  for (int i = 0; i < {}; i++) vstore4(vload4(first + i * {}, from), first + i * {}, to);
}}
)",
                  local * stretch / 4, isCpu ? stretch / 4 : 1, stretch / 4, isCpu ? 1 : local, isCpu ? 1 : local);
  const auto executable = device.load(planOf(
      source,
      {{"from", Scalar::f32, {count}, PlanBuffer::Role::input}, {"to", Scalar::f32, {count}, PlanBuffer::Role::output}},
      {{"copy", range, {"from", "to"}}}));
  executable->prepare({{"from", Tensor(Scalar::f32, {count})}});
  double milliseconds = executable->repeat().milliseconds;
  for (int i = 0; i < 10; i++) milliseconds = std::min(milliseconds, executable->repeat().milliseconds);
  return 2e-6 * static_cast<double>(count) * 4 / milliseconds;
}

double emptyRun(runtime::Device& device, const TurnOptions& options) {
  if (device.info().pseudo()) return 0;
  const auto plan =
      planOf("__kernel void nothing(__global const float* in, __global float* out) {}\n",
             {{"in", Scalar::f32, {1}, PlanBuffer::Role::input}, {"out", Scalar::f32, {1}, PlanBuffer::Role::output}},
             {{"nothing", {}, {"in", "out"}}});
  const auto contestant = contestPlan(device, plan, {{"in", Tensor(Scalar::f32, {1})}});
  return runtime::median(measureInTurns({contestant.get()}, options)[0]);
}

}  // namespace lift::bench
