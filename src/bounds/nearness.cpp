// Plans against bounds.
#include <algorithm>
#include <cmath>

#include "lift/bounds.hpp"
#include "lift/cook_toom.hpp"

namespace lift::bounds {
namespace {

// Outputs of a tile of the Winograd algorithm that a derivation uses; 0 where it uses none.
int winogradTile(const rewrite::Derivation& derivation) {
  int most = 0;
  for (const rewrite::Step& step : derivation.steps)
    if (rewrite::isCookToomName(step.rule))
      for (const auto& f : rewrite::cookToomDimensions(step.rule)) most = std::max(most, f[0].m);
  return most;
}

// Of the smallest element that the plan is given or gives.
std::int64_t elementBytes(const kernel::Plan& plan) {
  std::int64_t least = 8;
  for (const kernel::PlanBuffer& b : plan.buffers)
    if (b.role != kernel::PlanBuffer::Role::temporary) least = std::min<std::int64_t>(least, info(b.scalar).bytes);
  return least;
}

Nearness start(const kernel::Plan& plan, std::int64_t fastBytes) {
  Nearness n;
  n.traffic = trafficOf(plan);
  n.fast = std::max(fastBytes, static_cast<std::int64_t>(std::ceil(n.traffic.workingSet)));
  return n;
}

Nearness finish(Nearness n, std::int64_t bound) {
  n.bound = bound;
  n.ratio = n.traffic.distinct / static_cast<double>(bound);
  return n;
}

}  // namespace

Nearness nearnessOf(const ConvSpec& layer, const rewrite::Derivation& derivation, const kernel::Plan& plan,
                    std::int64_t fastBytes) {
  Nearness n = start(plan, fastBytes);
  const std::int64_t bytes = elementBytes(plan), fast = n.fast / bytes;
  const int tile = winogradTile(derivation);
  const bool isWinograd = tile > 0 && whyNotWinograd(layer).empty();
  const ConvBound bound = isWinograd ? winogradBound(layer, tile, fast) : boundOf(layer, fast);
  n.algorithm = bound.algorithm;
  return finish(std::move(n), bound.bound * bytes);
}

Nearness nearnessOf(const std::vector<Part>& parts, const kernel::Plan& plan, std::int64_t fastBytes) {
  Nearness n = start(plan, fastBytes);
  std::int64_t bound = 0;
  for (const Part& part : parts) {
    const PartBound b = boundOf(part, n.fast);
    bound += b.bound * b.elementBytes;
  }
  n.algorithm = "parts";
  return finish(std::move(n), bound);
}

}  // namespace lift::bounds
