// What a plan promises before it runs.
#include <algorithm>

#include "lift/kernel_passes.hpp"

namespace lift::kernel {
namespace {

// What processors with vectors of 256 bits have, and a work-item of a graphics processor at half occupancy, about.
constexpr double vectorBytes = 32, registerBytes = 32 * vectorBytes;
constexpr double scalarBytes = 4;

// Of any width, as instructions of the vectors' width at most.
double instructions(double count, double bytes) { return std::max(count, bytes / vectorBytes); }

double instructionsOf(const Counts& c) {
  double total = c.laneMoves;
  for (const Traffic& t : {c.global, c.local, c.priv})
    total += instructions(t.loads, t.bytesLoaded) + instructions(t.stores, t.bytesStored);
  // Of values that live through a loop, those that registers do not hold are loaded and stored by each operation.
  const auto live = static_cast<double>(c.liveBytes);
  const double spilled = live > registerBytes ? 1 - registerBytes / live : 0;
  return total + instructions(c.operations, c.flops * scalarBytes) * (1 + 2 * spilled);
}

}  // namespace

double estimateOf(const Plan& plan) {
  double total = 0;
  forEachLaunch(
      plan.launches.size(), plan.loops, [](Nat n) { return n.constant().value_or(1); },
      [&](std::size_t i) {
        total += instructionsOf(count(plan.kernels[static_cast<std::size_t>(plan.launches[i].kernel)]));
      },
      [](int, int) {});
  return total;
}

}  // namespace lift::kernel
