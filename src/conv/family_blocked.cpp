// The family `blocked`: a register tile per work-item, pixels by vectors of output channels, as the fastest direct
// convolutions of processors have it (DESIGN: what the hardware allows). Every step is a rule; the order is
//
//   the reduction's domain in blocks of input channels, taps, channels of a block;
//   kernels in groups of vectors * lanes and batches of such groups; windows in tiles of `bands` * `rows` by `pixels`;
//   the batches outermost, then tiles; then a tile's bands, a batch's groups, a band's rows; a row's windows and a
//   group's kernels innermost;
//   the reduction out of these two, so that they are its accumulator; lanes over kernels;
//   the domain as three loops; a tile's inputs copied, as all its groups and rows read them; the weights in the order
//   of the loops, by a kernel of their own that runs once;
//   batches and tiles over work-groups of one work-item, everything else in loops, of which the accumulator's are
//   unrolled.
#include <algorithm>

#include "family.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

constexpr std::int64_t mostRows = 16, mostPixels = 32, mostVectors = 8;
// Accumulators that are worth having: more than any device has registers for.
constexpr std::int64_t mostAccumulators = 64;

// The map over the windows of one row, or tiles of them: they slide over columns of a variable, the rows of a window.
bool isOverWindows(Expr e) {
  if (!isMapOver(e, Prim::slide)) return false;
  const Expr slid = argumentOf(argumentOf(e, 1), 0);
  return isApplied(slid, Prim::transpose) && argumentOf(slid, 0).is(Expr::Form::variable);
}
bool isOverRows(Expr e) { return isMapOver(e, Prim::slide) && isOverWindows(bodyOf(e)); }

// Maps over groups of kernels, and over batches of such groups.
bool isOverGroups(Expr e) { return isMapOver(e, Prim::split) && isApplied(argumentOf(argumentOf(e, 1), 0), Prim::zip); }
bool isOverBatches(Expr e) {
  return isMapOver(e, Prim::split) && isApplied(argumentOf(argumentOf(e, 1), 0), Prim::split);
}

bool isAroundBatches(Expr e) { return isMap(e) && isOverBatches(bodyOf(e)); }

// The map over a tile's windows or rows, around the map over a batch's groups.
bool isAroundOneBatch(Expr e) {
  if (!isMapOver(e, Prim::slide)) return false;
  const Expr inner = bodyOf(e);
  return isMap(inner) && argumentOf(inner, 1).is(Expr::Form::variable);
}

bool isOverKernels(Expr e) { return isMapOver(e, Prim::zip) && isApplied(bodyOf(e), Prim::reduce); }

// Windows along one dimension in chunks of k, the chunks cut from the input.
void tileWindows(Rewriting& r, bool (*where)(Expr), Nat k) {
  r.apply(inside(where, use("mapSplit", {{"k", k}})));
  r.apply(topDown(use("splitSlide")));
  r.apply(normalise({"mapFusionMoves"}));
  r.apply(layoutsOut());
}

// From rows, windows, kernels to batches, tiles of rows, tiles of windows, bands, groups, rows, windows, kernels.
void tile(Rewriting& r, Nat bands, Nat rows, Nat pixels, Nat kernels, Nat groups) {
  r.apply(inside(isOverKernels, use("mapSplit", {{"k", kernels}})));
  r.apply(inside(isOverGroups, use("mapSplit", {{"k", groups}})));
  tileWindows(r, isOverWindows, pixels);
  for (const Nat k : {rows, bands}) {
    tileWindows(r, isOverRows, k);
    r.apply(topDown(use("slideInterchange")));
    r.apply(normalise({"transposeTwice"}));
    r.apply(layoutsOut());
  }
  for (int outer = 0; outer < 5; outer++) {  // windows, rows, bands, tiles of windows, tiles of rows
    r.apply(inside(isAroundBatches, use("mapInterchange")));
    r.apply(layoutsOut());
  }
  for (int inner = 0; inner < 2; inner++) {  // windows, rows
    r.apply(inside(isAroundOneBatch, use("mapInterchange")));
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

// The tile's inputs, padding included, in memory of their own: blocks of channels, rows, columns, channels of a block.
void copyInputs(Rewriting& r, Nat channels, std::optional<Nat> load) {
  if (load)
    r.apply(inside(isOverWindows, use("copyBlockedInVectors", {{"k", floorDiv(channels, *load)}, {"v", *load}})));
  else
    r.apply(inside(isOverWindows, use("copyBlocked", {{"k", channels}})));
}

// The weights of all batches in the order that the loops read them, by a kernel of their own.
void arrangeWeights(Rewriting& r, bool grouped) {
  r.apply(inside([](Expr e) { return isApplied(e, Prim::reduce); }, argument(argument(use("keepAhead")))));
  for (int level = 0; level < (grouped ? 3 : 2); level++) r.apply(topDown(use("precompute")));
  r.apply(inside([](Expr e) { return isApplied(e, Prim::toGlobal); },
                 argument(seq({normalise({"mapOfFirst", "mapOfSecond", "mapOfLastTwo"}), copyInParallel(3)}))));
}

void lower(Rewriting& r, bool grouped, Nat unroll) {
  for (int i = 0; i < (grouped ? 2 : 1); i++) r.apply(inside(isComputingMap, use("mapFlatten")));
  for (const char* rule : {"mapToGroups2", "mapToGroups1", "mapToGroups0", "mapToLoop", "mapToLoop", "mapToLoop"})
    r.apply(inside(isComputingMap, use(rule)));
  for (int i = 0; i < 2; i++) r.apply(topDown(use("reduceToLoop")));
  r.apply(topDown(use("reduceToUnrolled", {{"u", unroll}})));
  for (int i = 0; i < 2; i++) r.apply(inside(isComputingMap, use("mapToUnrolled", {{"u", 0}})));
}

}  // namespace

void deriveBlocked(const ConvSpec& spec, Rewriting& r) {
  const bool grouped = spec.groups > 1;
  const Nat bands = r.tunable("bands", 1, std::min(spec.oh, mostRows));
  const Nat rows = r.tunable("rows", 1, std::min(spec.oh, mostRows));
  const Nat pixels = r.tunable("pixels", 1, std::min(spec.ow, mostPixels));
  std::optional<Nat> lanes, load;
  if (hasVectors(spec.ocPerGroup())) lanes = r.tunable("lanes", 2, std::min(spec.ocPerGroup(), mostLanes));
  const Nat vectors = r.tunable("vectors", 1, std::min(spec.ocPerGroup(), mostVectors));
  const Nat groups = r.tunable("groups", 1, spec.ocPerGroup());
  const Nat channels = r.tunable("channels", 1, spec.icPerGroup());
  if (hasVectors(spec.icPerGroup())) load = r.tunable("load", 2, std::min(spec.icPerGroup(), mostLanes));
  const Nat unroll = r.tunable("unroll", 1, 16);
  r.assume({SizeCondition::Kind::lessEqual, pixels * vectors, mostAccumulators, "accumulators of a work-item"});
  r.assume({SizeCondition::Kind::divides, unroll, channels, "copies of the loop over a block's channels"});
  if (load) r.assume({SizeCondition::Kind::divides, *load, channels, "vectors of the copy of the inputs"});

  exposeWindows(r);
  r.apply(topDown(use("reduceInnerFirst", {{"k", channels}})));
  tile(r, bands, rows, pixels, vectors * lanes.value_or(1), groups);
  reduceTiles(r, lanes);
  copyInputs(r, channels, load);
  arrangeWeights(r, grouped);
  lower(r, grouped, unroll);
}

Config blockedDefaults(const ConvSpec& spec) {
  Config config;
  std::int64_t kernels = spec.ocPerGroup();
  if (hasVectors(kernels)) {
    config["lanes"] = widestVector(kernels);
    kernels /= config["lanes"];
  }
  // As many accumulators as leave registers for the operands. Each input should serve two vectors, more do not pay: the
  // weights of a vector take a load of their own, an input comes with the multiplication.
  constexpr std::int64_t registers = 28;
  std::int64_t most = 0;
  for (const std::int64_t vectors : {2, 3, 4, 5, 6, 7, 8, 1}) {
    if (kernels % vectors != 0) continue;
    const std::int64_t pixels = largestDivisor(spec.ow, std::min(mostPixels, registers / vectors));
    if (pixels * vectors <= most) continue;
    most = pixels * vectors;
    config["pixels"] = pixels;
    config["vectors"] = vectors;
  }
  // Enough groups to pay for the copy of the inputs, blocks of channels that a tile's inputs stay in the nearest cache.
  config["groups"] = largestDivisor(kernels / config["vectors"], 4);
  config["channels"] = largestDivisor(spec.icPerGroup(), 32);
  if (hasVectors(spec.icPerGroup())) {
    if (config["channels"] % 2 != 0) config["channels"] = 2;
    config["load"] = widestVector(config["channels"]);
  }
  config["unroll"] = largestDivisor(config["channels"], 4);
  // The more rows of a tile, the fewer inputs are copied twice. What is copied takes its part of a near cache; several
  // cores want their part of the tiles.
  constexpr std::int64_t mostCopied = (512 << 10) / sizeof(float), fewestTiles = 8;
  const std::int64_t columns = (config["pixels"] - 1) * spec.sw + spec.extentW();
  const std::int64_t batches = kernels / config["vectors"] / config["groups"] * spec.groups * spec.batch;
  const auto isGood = [&](std::int64_t rows) {
    return spec.oh % rows == 0 && spec.ow / config["pixels"] * (spec.oh / rows) * batches >= fewestTiles &&
           ((rows - 1) * spec.sh + spec.extentH()) * columns * spec.icPerGroup() <= mostCopied;
  };
  std::int64_t rows = 8;
  while (rows > 1 && !isGood(rows)) rows--;
  // Where a near cache holds the weights of all groups, a row's groups follow each other, that its outputs are written
  // together; else a group's rows, that its weights are read from afar but once.
  constexpr std::int64_t mostWeights = (256 << 10) / sizeof(float);
  const bool areNear =
      spec.ocPerGroup() / (kernels / config["vectors"] / config["groups"]) * spec.reduction() <= mostWeights;
  config["bands"] = areNear ? rows : 1;
  config["rows"] = areNear ? 1 : rows;
  return config;
}

}  // namespace lift::detail
