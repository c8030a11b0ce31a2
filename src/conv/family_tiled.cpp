// The family `tiled`: a tile of pixels by output channels in the registers of a work-item, for GPUs; no local memory,
// no barriers, as ARM's own direct convolutions have it. Every step is a rule; the order is
//
//   the reduction in vectors of input channels; where their number is odd, vectors of output channels instead;
//   the padded input, by a kernel of its own, so that no load asks where it is;
//   output channels, padded to whole tiles, in groups of `kernels`; a row's windows, padded likewise, in tiles of
//   `pixels`; a tile's windows and a group's kernels innermost;
//   the reduction out of these two, so that they are its accumulator, and as three loops: rows, columns, channels;
//   the weights in the order of the loops, those of neighbouring groups side by side, by a kernel of their own that
//   runs once;
//   a work-item for each group of each tile: neighbours read the same inputs, and weights and outputs beside each
//   other.
#include <algorithm>

#include "family.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

constexpr std::int64_t mostPixels = 16, mostKernels = 32;

bool areArranged(Expr e) { return isApplied(e, Prim::toGlobal) && readsWeights(e); }

// Every vector of a pixel's channels copied by a work-item of its own.
Strategy copyPixels(bool grouped, std::optional<Nat> vector) {
  const Strategy pixel = vector ? seq({use("copyMap"), use("vectoriseMap", {{"w", *vector}})}) : use("copyMap");
  const Strategy row = seq({use("copyMap"), function(body(pixel)), attempt(use("mapAsScalarOut")),
                            inside(isMap, seq({use("mapFlatten"), argument(use("mapToGlobal0"))}))});
  const Strategy rows = seq({use("copyMap"), function(body(row)), use("mapToGlobal1")});
  if (!grouped) return seq({use("copyMap"), function(body(rows)), use("mapToGlobal2")});
  const Strategy groups = seq({use("copyMap"), function(body(rows))});
  return seq({use("copyMap"), function(body(groups)), use("mapFlatten"), argument(use("mapToGlobal2"))});
}

// An array's vectors, all dimensions as one, each copied by a work-item of its own.
std::optional<Expr> copyVectors(Expr e, Rewriting& r) {
  return e.type().element().isArray() ? seq({use("splitOfJoin"), argument(copyVectors)})(e, r)
                                      : seq({use("copyMap"), use("mapToGlobal0")})(e, r);
}

void tile(Rewriting& r, Nat pixels, Nat kernels) {
  r.apply(inside(isOverReduction, use("mapSplit", {{"k", kernels}})));
  splitWindows(r, isWindowsMap, pixels);
  applyLayoutsOut(r, inside(around(isOverFilledBlocks), use("mapInterchange")));
}

void arrange(Rewriting& r, bool grouped) {
  r.apply(inside(isReduction, argument(argument(use("keepAhead")))));
  r.apply(topDown(use("precompute")));
  r.apply(topDown(use("keepFirstInside")));
  if (grouped) r.apply(topDown(use("precompute")));
  r.apply(ofWhatIsUsed());
  r.apply(inside(areArranged, argument(copyVectors)));
}

void lower(Rewriting& r, bool grouped, Nat unroll) {
  for (int level = 0; level < (grouped ? 2 : 1); level++)  // images, groups of channels, rows
    applyLayoutsOut(r, computing("mapFlatten"));
  r.apply(computing("mapToGlobal1"));
  r.apply(computing("mapFlatten"));  // tiles, groups of kernels
  r.apply(computing("mapToGlobal0"));
  lowerTile(r, 2, unroll);
}

}  // namespace

bool copiesInput(const ConvSpec& s, Layout input) {
  return s.groups > 1 || s.padTop + s.padLeft + s.padBottom + s.padRight > 0 || input == Layout::nchw;
}

void padAhead(Rewriting& r, bool grouped, std::optional<Nat> vector) {
  r.apply(inside(isRowsMap, argument(argument(use("keepAhead")))));
  for (int level = 0; level < (grouped ? 2 : 1); level++) r.apply(topDown(use("precompute")));
  r.apply(ofWhatIsUsed());
  r.apply(kept([](Expr e) { return !contains(e, Prim::reduce); }, copyPixels(grouped, vector)));
}

void deriveTiled(const ConvSpec& spec, Layout input, bool images, Rewriting& r) {
  const bool grouped = spec.groups > 1, alongInputs = hasVectors(spec.icPerGroup());
  const Nat pixels = r.tunable("pixels", 1, std::min(spec.ow, mostPixels));
  const Nat kernels = r.tunable("kernels", 1, std::min(spec.ocPerGroup() + mostLanes - 1, mostKernels));
  const Nat vector = images ? r.tunable("vector", 4, 4) : r.tunable("vector", 2, mostLanes);
  const Nat unroll = r.tunable("unroll", 1, 16);
  assumeAccumulators(r, pixels * kernels);
  assumeLanes(r, vector);
  r.assume({SizeCondition::Kind::divides, vector, alongInputs ? Nat(spec.icPerGroup()) : kernels, "whole vectors"});
  r.assume({SizeCondition::Kind::divides, unroll, alongInputs ? floorDiv(spec.icPerGroup(), vector) : spec.icPerGroup(),
            "copies of the loop over channels"});

  exposeWindows(r);
  if (alongInputs) {
    r.apply(topDown(use("reduceDot", {{"v", vector}})));
    r.apply(normalise({"asVectorJoin", "mapJoin"}));
  }
  applyLayoutsOut(r, inside(isOverReduction, use("mapPadded", {{"k", missingTo(spec.ocPerGroup(), kernels)}})));
  padWindowsTo(r, spec, 1, pixels);
  if (copiesInput(spec, input)) padAhead(r, grouped, alongInputs ? std::optional(vector) : std::nullopt);
  tile(r, pixels, kernels);
  r.apply(topDown(use("mapReduceZipRight")));
  if (!alongInputs) r.apply(topDown(use("vectoriseAccumulators", {{"w", vector}})));
  windowsIntoReduction(r, alongInputs ? Lanes::ofElements : Lanes::ofResults);
  arrange(r, grouped);
  lower(r, grouped, unroll);
  if (images) r.apply(inside(areArranged, use("keepInImage")));
}

namespace {

// Of float4 where channels allow it: GPUs load so many at once.
std::int64_t vectorOf(const ConvSpec& s) {
  return hasVectors(s.icPerGroup()) ? std::min<std::int64_t>(4, widestVector(s.icPerGroup())) : 4;
}

// Registers of a step: the sums, the operands that it loads, and more addresses than usual of groups and of inputs that
// are loaded one by one (without them Mesa's compiler for Mali spills).
std::int64_t registersOf(const ConvSpec& s, std::int64_t pixels, std::int64_t kernels) {
  constexpr std::int64_t addresses = 8;
  const std::int64_t ofInput = hasVectors(s.icPerGroup()) ? vectorOf(s) : 1;
  return pixels * kernels + ofInput * (pixels + kernels) + (s.groups > 1 || ofInput == 1 ? addresses : 0);
}

// Loads of a step for each product.
double loadsOf(const ConvSpec& s, std::int64_t pixels, std::int64_t kernels) {
  const double n = static_cast<double>(pixels), k = static_cast<double>(kernels), v = static_cast<double>(vectorOf(s));
  return hasVectors(s.icPerGroup()) ? (n + k) / (n * k * v) : (n + k / v) / (n * k);
}

}  // namespace

bool fillsTiles(const ConvSpec& s) { return 2 * s.ocPerGroup() > vectorOf(s); }

bool suitsTiles(const ConvSpec& s) { return fillsTiles(s) || hasVectors(s.icPerGroup()); }

Config tiledDefaults(const ConvSpec& s) {
  Config config{{"unroll", 1}};
  config["pixels"] = evenTile(s.ow, 4, pixelBorder);
  config["vector"] = vectorOf(s);
  config["kernels"] = hasVectors(s.icPerGroup()) ? std::min<std::int64_t>(4, s.ocPerGroup()) : 4;
  return config;
}

// On a GPU: a tile that three quarters of the registers hold, the rest being addresses, with few loads for each
// product, little left over of the output's columns and channels, and work-items enough to hide the latency of memory.
Config tiledPreferred(const ConvSpec& s, const runtime::DeviceInfo& device) {
  if (device.type != "gpu") return {};
  Config config = tiledDefaults(s);
  const std::int64_t registers = (device.registers > 0 ? device.registers : 64) * 3 / 4;
  // What is cropped in both dimensions is guarded twice, and work-items wait for each other before they store.
  constexpr double itemsOfUnit = 256, loadsOfProduct = 0.25, cropped = 1.25;
  const double wanted = itemsOfUnit * std::max(1, device.computeUnits);
  const std::int64_t lanes = hasVectors(s.icPerGroup()) ? 1 : vectorOf(s);
  double least = 0;
  for (std::int64_t pixels = 1; pixels <= std::min(s.ow, mostPixels); pixels++)
    for (std::int64_t kernels = lanes; kernels <= std::min(ceilDiv(s.ocPerGroup(), lanes) * lanes, mostKernels);
         kernels += lanes) {
      if (registersOf(s, pixels, kernels) > registers || pixels * kernels > mostAccumulators) continue;
      const double tiles = static_cast<double>(ceilDiv(s.ow, pixels) * ceilDiv(s.ocPerGroup(), kernels));
      const double items = tiles * static_cast<double>(s.batch * s.groups * s.oh);
      const double products = tiles * static_cast<double>(pixels * kernels);
      const double crop = s.ocPerGroup() % kernels == 0 ? 1 : cropped;
      const double cost =
          crop * products * (loadsOf(s, pixels, kernels) + loadsOfProduct) * std::max(1.0, wanted / items);
      if (least > 0 && cost >= least) continue;
      least = cost;
      config["pixels"] = pixels;
      config["kernels"] = kernels;
    }
  return config;
}

}  // namespace lift::detail
