// Plans against bounds.
#include <algorithm>
#include <cmath>

#include "lift/bounds.hpp"
#include "lift/cook_toom.hpp"

namespace lift::bounds {
namespace {

constexpr double elementBytes = 4;

// Outputs of a tile of the Winograd algorithm that a derivation uses; 0 where it uses none.
int winogradTile(const rewrite::Derivation& derivation) {
  int most = 0;
  for (const rewrite::Step& step : derivation.steps)
    if (rewrite::isCookToomName(step.rule))
      for (const auto& f : rewrite::cookToomDimensions(step.rule)) most = std::max(most, f[0].m);
  return most;
}

Nearness start(const kernel::Plan& plan, std::int64_t fast) {
  Nearness n;
  n.traffic = trafficOf(plan);
  n.fast = std::max(fast, static_cast<std::int64_t>(std::ceil(n.traffic.workingSet / elementBytes)));
  return n;
}

Nearness finish(Nearness n, std::int64_t bound) {
  n.bound = bound;
  n.ratio = n.traffic.distinct / (static_cast<double>(bound) * elementBytes);
  return n;
}

}  // namespace

Nearness nearnessOf(const ConvSpec& layer, const rewrite::Derivation& derivation, const kernel::Plan& plan,
                    std::int64_t fast) {
  Nearness n = start(plan, fast);
  const int tile = winogradTile(derivation);
  const bool isWinograd = tile > 0 && whyNotWinograd(layer).empty();
  const ConvBound bound = isWinograd ? winogradBound(layer, tile, n.fast) : boundOf(layer, n.fast);
  n.algorithm = bound.algorithm;
  return finish(std::move(n), bound.bound);
}

Nearness nearnessOf(const std::vector<Part>& parts, const kernel::Plan& plan, std::int64_t fast) {
  Nearness n = start(plan, fast);
  std::int64_t bound = 0;
  for (const Part& part : parts) bound += boundOf(part, n.fast).bound;
  n.algorithm = "parts";
  return finish(std::move(n), bound);
}

}  // namespace lift::bounds
