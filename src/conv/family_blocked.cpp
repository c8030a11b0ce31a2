// The family `blocked`: a register tile per work-item, pixels by vectors of output channels, as the fastest direct
// convolutions of processors have it (DESIGN: what the hardware allows). Every step is a rule; the order is
//
//   the reduction's domain in blocks of input channels, taps, channels of a block;
//   kernels in groups of vectors * lanes, windows of a row in tiles of `pixels`;
//   the groups outermost, then rows, tiles; a tile's windows and a group's kernels innermost;
//   the reduction out of these two, so that its accumulator is the tile; lanes over kernels;
//   the domain as three loops; the weights in the order of the loops, by a kernel of their own that runs once;
//   groups, rows and tiles over work-groups of one work-item, everything else in loops of which the tile's are
//   unrolled.
#include <algorithm>

#include "family.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

constexpr std::int64_t mostPixels = 32, mostVectors = 8, mostLanes = 16;
// Accumulators that are worth having: more than any device has registers for.
constexpr std::int64_t mostAccumulators = 64;

bool hasLanes(const ConvSpec& spec) { return spec.ocPerGroup() % 2 == 0; }

// The map over the windows of one row: they slide over columns of a variable, the rows of a window.
bool isOverWindows(Expr e) {
  if (!isMapOver(e, Prim::slide)) return false;
  const Expr slid = argumentOf(argumentOf(e, 1), 0);
  return isApplied(slid, Prim::transpose) && argumentOf(slid, 0).is(Expr::Form::variable);
}

bool isOverGroupsOfKernels(Expr e) {
  return isMapOver(e, Prim::split) && isApplied(argumentOf(argumentOf(e, 1), 0), Prim::zip);
}

// A map around the map over groups of kernels.
bool isAroundGroups(Expr e) {
  return isApplied(e, Prim::map) && argumentOf(e, 0).is(Expr::Form::lambda) &&
         isOverGroupsOfKernels(argumentOf(e, 0).body());
}

void tile(Rewriting& r, Nat pixels, Nat kernels) {
  r.apply(inside([](Expr e) { return isMapOver(e, Prim::zip) && isApplied(argumentOf(e, 0).body(), Prim::reduce); },
                 use("mapSplit", {{"k", kernels}})));
  r.apply(inside(isOverWindows, use("mapSplit", {{"k", pixels}})));
  r.apply(topDown(use("splitSlide")));
  r.apply(topDown(use("mapFusionMoves")));
  r.apply(layoutsOut());
  for (const char* outer : {"windows", "tiles", "rows"}) {
    r.apply(named(outer, inside(isAroundGroups, use("mapInterchange"))));
    r.apply(layoutsOut());
  }
}

void reduceTiles(Rewriting& r, std::optional<Nat> lanes) {
  r.apply(topDown(use("mapReduceZipRight")));
  if (lanes) {
    r.apply(topDown(use("vectoriseAccumulators", {{"w", *lanes}})));
    r.apply(topDown(use("mapAsScalarOut")));
  }
  r.apply(topDown(use("mapReduceZipLeft")));
  r.apply(layoutsOut());
  r.apply(normalise({"mapIdentity", "mapFirst", "mapSecond", "transposeMapJoin", "mapJoin", "zipJoin", "reduceJoin",
                     "reduceMap", "mapFusionMoves"}));
}

void arrangeWeights(Rewriting& r, bool grouped) {
  r.apply(inside([](Expr e) { return isApplied(e, Prim::reduce); }, argument(argument(use("keepAhead")))));
  r.apply(topDown(use("precompute")));
  if (grouped) r.apply(topDown(use("precompute")));
  r.apply(inside([](Expr e) { return isApplied(e, Prim::toGlobal); },
                 argument(seq({normalise({"mapOfFirst", "mapOfSecond", "mapOfLastTwo"}), copyInParallel(3)}))));
}

void lower(Rewriting& r, bool grouped, Nat unroll) {
  for (int i = 0; i < (grouped ? 2 : 1); i++) r.apply(inside(isComputingMap, use("mapFlatten")));
  for (const char* rule : {"mapToGroups2", "mapToGroups1", "mapToGroups0"}) r.apply(inside(isComputingMap, use(rule)));
  for (int i = 0; i < 2; i++) r.apply(topDown(use("reduceToLoop")));
  r.apply(topDown(use("reduceToUnrolled", {{"u", unroll}})));
  for (int i = 0; i < 2; i++) r.apply(inside(isComputingMap, use("mapToUnrolled", {{"u", 0}})));
}

std::int64_t largestDivisor(std::int64_t n, std::int64_t most) {
  for (std::int64_t d = std::min(n, most); d > 1; d--)
    if (n % d == 0) return d;
  return 1;
}

}  // namespace

void deriveBlocked(const ConvSpec& spec, Rewriting& r) {
  const Nat pixels = r.tunable("pixels", 1, std::min(spec.ow, mostPixels));
  std::optional<Nat> lanes;
  if (hasLanes(spec)) lanes = r.tunable("lanes", 2, std::min(spec.ocPerGroup(), mostLanes));
  const Nat vectors = r.tunable("vectors", 1, std::min(spec.ocPerGroup(), mostVectors));
  const Nat channels = r.tunable("channels", 1, spec.icPerGroup());
  const Nat unroll = r.tunable("unroll", 1, 16);
  const bool grouped = spec.groups > 1;
  r.assume({SizeCondition::Kind::lessEqual, pixels * vectors, mostAccumulators, "accumulators of a work-item"});

  exposeWindows(r);
  r.apply(topDown(use("reduceInnerFirst", {{"k", channels}})));
  tile(r, pixels, vectors * lanes.value_or(1));
  reduceTiles(r, lanes);
  arrangeWeights(r, grouped);
  lower(r, grouped, unroll);
}

ConvConfig blockedDefaults(const ConvSpec& spec) {
  // As many accumulators as leave registers for the operands, and at least two vectors to use each input for.
  constexpr std::int64_t registers = 28;
  ConvConfig config;
  std::int64_t kernels = spec.ocPerGroup();
  if (hasLanes(spec)) {
    std::int64_t lanes = mostLanes;
    while (kernels % lanes != 0) lanes /= 2;
    config["lanes"] = lanes;
    kernels /= lanes;
  }
  std::int64_t best = 0;
  for (std::int64_t vectors = 1; vectors <= std::min(kernels, mostVectors); vectors++) {
    if (kernels % vectors != 0) continue;
    const std::int64_t pixels = largestDivisor(spec.ow, std::min(mostPixels, registers / vectors));
    const std::int64_t worth = pixels * vectors * 100 / (pixels + vectors);  // multiplications per operand loaded
    if (worth <= best) continue;
    best = worth;
    config["pixels"] = pixels;
    config["vectors"] = vectors;
  }
  config["channels"] = largestDivisor(spec.icPerGroup(), 16);
  config["unroll"] = std::min<std::int64_t>(16, config["channels"]);
  return config;
}

}  // namespace lift::detail
