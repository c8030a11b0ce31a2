// The family `staged`: blocks of pixels by output channels, their inputs and weights copied to local memory a few
// elements of the reduction at a time, for GPUs whose local memory is apart from their caches: the implicit matrix
// product of all windows and all kernels (Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014). Every
// step is a rule; the order is
//
//   the padded input, by a kernel of its own, so that no load asks where it is;
//   the windows of all images in one row, padded to whole blocks, as are the kernels;
//   the product of windows and kernels in blocks, by work-groups (rewrite::strategies::stagedProduct).
#include <algorithm>
#include <cmath>

#include "family.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

constexpr std::int64_t mostOfItem = 16, mostItems = 64, mostDepth = 64;
constexpr std::int64_t usualDepth =
    16;  // the best of layers of VGG-16 on an NVIDIA H200, where depths are multiples of 4
constexpr std::int64_t mostAccumulators = 128;  // more than any device has registers for

}  // namespace

strategies::StagedProduct stagedBlock(const BatchedProduct& product, Rewriting& r) {
  const std::string& row = product.row;
  strategies::StagedProduct p;
  p.rows = r.tunable(row + "s", 2, mostOfItem);
  p.columns = r.tunable("kernels", 2, mostOfItem);
  p.lanes = r.tunable("lanes", 2, 4);
  p.rowLanes = r.tunable(row + "Lanes", 2, 4);
  p.rowItems = r.tunable(row + "Items", 1, mostItems);
  p.columnItems = r.tunable("kernelItems", 1, mostItems);
  p.depth = r.tunable("depth", 1, std::min(product.depth, mostDepth));
  if (hasVectors(product.channels)) p.vector = r.tunable("vector", 2, 4);
  p.unroll = r.tunable("unroll", 1, 16);
  r.assume({SizeCondition::Kind::lessEqual, p.rows * p.columns, mostAccumulators, "accumulators of a work-item"});
  r.assume({SizeCondition::Kind::divides, p.lanes, Nat(4), "lanes of registers"});
  r.assume({SizeCondition::Kind::divides, p.rowLanes, Nat(4), "lanes of rows"});
  if (p.vector) {
    r.assume({SizeCondition::Kind::divides, *p.vector, Nat(4), "lanes of a copy"});
    r.assume({SizeCondition::Kind::divides, *p.vector, product.channels, "whole vectors of channels"});
  }
  r.assume({SizeCondition::Kind::divides, p.unroll, p.depth, "copies of the loop over a copied block"});
  p.batch = true;
  return p;
}

namespace {

// Of all windows and all kernels; of several groups for each image and group.
BatchedProduct productOf(const ConvSpec& s) {
  const bool grouped = s.groups > 1;
  return {.row = "pixel",
          .batch = grouped ? s.batch * s.groups : 1,
          .rows = (grouped ? 1 : s.batch) * s.oh * s.ow,
          .columns = s.ocPerGroup(),
          .depth = s.reduction(),
          .channels = s.icPerGroup()};
}

}  // namespace

void deriveStaged(const ConvSpec& spec, Layout input, Rewriting& r) {
  const bool grouped = spec.groups > 1;
  const BatchedProduct product = productOf(spec);
  strategies::StagedProduct p = stagedBlock(product, r);
  exposeWindows(r);
  if (copiesInput(spec, input)) padAhead(r, grouped, p.vector);
  for (int level = 0; level < (grouped ? 1 : 2); level++) {  // rows, images
    r.apply(inside([&](Expr e) { return isMap(e) && isOverReductions(bodyOf(e)); }, use("mapFlattenInner")));
    r.apply(layoutsOut());
    r.apply(normalise({"splitTwice"}));
  }
  if (grouped) {  // images, groups
    r.apply(inside(isComputingMap, use("mapFlatten")));
    r.apply(layoutsOut());
  }
  r.apply(inside(isOverReduction, use("mapPadded", {{"k", missingTo(spec.ocPerGroup(), p.columns * p.columnItems)}})));
  r.apply(layoutsOut());
  r.apply(inside(isOverReductions, use("mapPadded", {{"k", missingTo(product.rows, p.rows * p.rowItems)}})));
  r.apply(layoutsOut());
  p.batch = grouped;
  r.apply(inside(isComputingMap, strategies::stagedProduct(p)));
}

namespace {

// What a block has to fit into, and what its cost depends on.
struct Limits {
  std::int64_t registers = 64, items = 256, localBytes = 32 << 10, units = 16;
};

// Elements of the reduction in a step: they divide it, in whole vectors, which all work-items copy the same number of.
std::int64_t depthOf(const BatchedProduct& of, std::int64_t vector, std::int64_t most, const Config& c) {
  for (std::int64_t depth = std::min({of.depth, most, mostDepth}); depth > 0; depth--)
    if (of.depth % depth == 0 && depth % vector == 0 &&
        c.at(of.row + "s") * depth / vector % c.at("kernelItems") == 0 &&
        c.at("kernels") * depth / vector % c.at(of.row + "Items") == 0)
      return depth;
  return 0;
}

// Cycles of a unit for each product, from what units of GPUs have in common: four vectors of local memory or 16 copied
// elements take as long as 64 products; beside them a step has its barriers, and a block what is cropped. A unit with
// few work-items waits for memory.
double costOf(const BatchedProduct& of, const Config& c, const Limits& limits) {
  const auto at = [&](const std::string& name) { return static_cast<double>(c.at(name)); };
  const double rowItems = at(of.row + "Items"), items = rowItems * at("kernelItems");
  const double p = at(of.row + "s"), k = at("kernels"), rows = p * rowItems, columns = k * at("kernelItems");
  constexpr double ofBarriers = 32, itemsOfUnit = 256;
  const double product = 1 + (p + 3 * k) / (p * k) + 16 * (1 / rows + 1 / columns) + ofBarriers / (at("depth") * p * k);
  const auto blocks = [](std::int64_t n, double block) { return std::ceil(static_cast<double>(n) / block); };
  const double groups = blocks(of.rows, rows) * blocks(of.columns, columns) * static_cast<double>(of.batch);
  const double ofUnit = std::ceil(groups / static_cast<double>(limits.units));
  return product * rows * columns * ofUnit * std::max(1.0, itemsOfUnit / (ofUnit * items));
}

Config cheapest(const BatchedProduct& of, const Limits& limits) {
  const std::int64_t vector = hasVectors(of.channels) ? std::min<std::int64_t>(4, widestVector(of.channels)) : 1;
  const std::string rows = of.row + "s", rowLanes = of.row + "Lanes", rowItems = of.row + "Items";
  Config best;
  double least = 0;
  const auto consider = [&](Config c) {
    const std::int64_t p = c[rows], k = c["kernels"], items = c[rowItems] * c["kernelItems"];
    constexpr std::int64_t ofAddresses = 16, fewestItems = 16;
    if (p > std::max<std::int64_t>(2, of.rows) || p * k > mostAccumulators ||
        p * k + p + k + ofAddresses > limits.registers)
      return;
    if (items < fewestItems || items > limits.items) return;
    const auto rowBytes = static_cast<std::int64_t>(sizeof(float)) * (p * c[rowItems] + k * c["kernelItems"]);
    if ((c["depth"] = depthOf(of, vector, std::min(usualDepth, limits.localBytes / rowBytes), c)) == 0) return;
    c["lanes"] = std::min<std::int64_t>(4, k);
    c[rowLanes] = std::min<std::int64_t>(4, p);
    c["unroll"] = largestDivisor(c["depth"], 4);
    if (vector > 1) c["vector"] = vector;
    const double cost = costOf(of, c, limits);
    if (!best.empty() && cost >= least) return;
    least = cost;
    best = c;
  };
  for (std::int64_t p = 2; p <= mostOfItem; p *= 2)
    for (const std::int64_t k : {4, 8, 16, 2})
      for (std::int64_t m = 1; m <= mostItems; m *= 2)
        for (std::int64_t n = 1; n <= mostItems; n *= 2)
          consider({{rows, p}, {"kernels", k}, {rowItems, m}, {"kernelItems", n}});
  if (!best.empty()) return best;
  // No block is copied evenly: one work-item of its own.
  best = {{rows, 2}, {"kernels", 2}, {"lanes", 2}, {rowLanes, 2}, {rowItems, 1}, {"kernelItems", 1}, {"unroll", 1}};
  best["depth"] = std::max(vector, depthOf(of, vector, 32, best));
  if (vector > 1) best["vector"] = vector;
  return best;
}

Limits limitsOf(const runtime::DeviceInfo& device) {
  Limits limits;
  if (device.registers > 0) limits.registers = device.registers;
  if (device.maxWorkGroupSize > 0)
    limits.items = std::min<std::int64_t>(limits.items, static_cast<std::int64_t>(device.maxWorkGroupSize));
  // Two groups of a unit work in turns: one copies while the other computes.
  if (device.localMemory > 0) limits.localBytes = static_cast<std::int64_t>(device.localMemory) / 2;
  if (device.computeUnits > 0) limits.units = device.computeUnits;
  return limits;
}

}  // namespace

Config stagedDefaults(const BatchedProduct& of) { return cheapest(of, {}); }

Config stagedPreferred(const BatchedProduct& of, const runtime::DeviceInfo& device) {
  return device.type == "gpu" ? cheapest(of, limitsOf(device)) : Config();
}

Config stagedDefaults(const ConvSpec& s) { return stagedDefaults(productOf(s)); }

Config stagedPreferred(const ConvSpec& s, const runtime::DeviceInfo& device) {
  return stagedPreferred(productOf(s), device);
}

}  // namespace lift::detail
