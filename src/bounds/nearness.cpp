// Plans against bounds.
#include <algorithm>
#include <cmath>

#include "lift/bounds.hpp"
#include "lift/cook_toom.hpp"

namespace lift::bounds {
namespace {

// Outputs of a tile of the Winograd algorithm that a derivation uses; nothing where it uses none.
std::optional<TileOutputs> winogradTile(const rewrite::Derivation& derivation) {
  for (const rewrite::Step& step : derivation.steps)
    if (rewrite::isCookToomName(step.rule)) {
      const auto dimensions = rewrite::cookToomDimensions(step.rule);
      return TileOutputs{dimensions.front()[0].m, dimensions.back()[0].m};
    }
  return std::nullopt;
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
  const auto tile = winogradTile(derivation);
  if (tile && !whyNotWinograd(layer).empty()) {  // the direct algorithm's bound is none of it
    n.algorithm = "inputs and outputs";
    return finish(std::move(n), boundOf(layer, fast).compulsory * bytes);
  }
  const ConvBound bound = tile ? winogradBound(layer, *tile, fast) : boundOf(layer, fast);
  n.algorithm = bound.algorithm;
  return finish(std::move(n), bound.bound * bytes);
}

Nearness nearnessOf(const std::vector<Part>& parts, const std::vector<std::string>& families, const kernel::Plan& plan,
                    std::int64_t fastBytes) {
  Nearness n = start(plan, fastBytes);
  std::int64_t bound = 0;
  for (std::size_t i = 0; i < parts.size(); i++) {
    const PartBound b = boundOf(parts[i], n.fast);
    const bool isWinograd =
        i < families.size() && winogradTile(derive(parts[i].workload, families[i]).derivation).has_value();
    bound += (isWinograd ? b.compulsory : b.bound) * b.elementBytes;
  }
  n.algorithm = "parts";
  return finish(std::move(n), bound);
}

}  // namespace lift::bounds
