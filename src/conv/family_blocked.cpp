// The family `blocked`: a register tile per work-item, pixels by vectors of output channels, as the fastest direct
// convolutions of processors have it (DESIGN: what the hardware allows). Every step is a rule; the order is
//
//   the reduction's domain in blocks of input channels, taps, channels of a block;
//   kernels in groups of vectors * lanes and batches of such groups; windows in tiles of `bands` * `rows` by `pixels`;
//   the batches outermost, then tiles; then a tile's bands, a batch's groups, a band's rows; a row's windows and a
//   group's kernels innermost;
//   the reduction out of these two, so that they are its accumulator; lanes over kernels;
//   the domain as three loops; a tile's inputs copied, as all its groups and rows read them, unless windows share
//   little; the weights in the order of the loops, by a kernel of their own that runs once;
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

// A tile copies the rows that its windows read, and only these; gaps within a row are copied, so that rows stay long
// enough for register tiles.
Phases phasesOf(const ConvSpec& spec) { return {allPhases(spec).rows, false}; }

// Whether a tile's inputs are copied: a copy costs about as much as `fewestProducts` products of each element with
// vectors of output channels. Where windows share less, as with strides and few channels, each is read where it is.
bool copiesInputs(const ConvSpec& spec) {
  const bool isPadded = spec.padTop + spec.padLeft + spec.padBottom + spec.padRight > 0;
  if (spec.kh * spec.kw == 1 && !isPadded) return false;
  constexpr std::int64_t fewestProducts = 6;
  const std::int64_t vectors = ceilDiv(spec.ocPerGroup(), lanesFor(spec.ocPerGroup()));
  return spec.kh * spec.kw * vectors >= fewestProducts * spec.sh * spec.sw;
}
// Odd numbers of channels are copied in vectors of three where they can be: images have three.
bool copiesThrees(std::int64_t channels) { return !hasVectors(channels) && channels % 3 == 0; }

// Maps over groups of kernels, and over batches of such groups.
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

// From rows, windows, kernels to batches, tiles of rows, tiles of windows, bands, groups, rows, windows, kernels.
void tile(Rewriting& r, Nat bands, Nat rows, Nat pixels, Nat kernels, Nat groups) {
  r.apply(inside(isOverReduction, use("mapSplit", {{"k", kernels}})));
  r.apply(inside(isOverFilledBlocks, use("mapSplit", {{"k", groups}})));
  splitWindows(r, isWindowsMap, pixels);
  for (const Nat k : {rows, bands}) {
    splitWindows(r, isRowsMap, k);
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

void reduceTiles(Rewriting& r, Nat lanes) {
  r.apply(topDown(use("mapReduceZipRight")));
  r.apply(topDown(use("vectoriseAccumulators", {{"w", lanes}})));
  windowsIntoReduction(r);
}

// The tile's inputs, padding included, in memory of their own: blocks of channels, rows, columns, channels of a block.
void copyInputs(Rewriting& r, Nat channels, std::optional<Nat> load) {
  if (load)
    r.apply(inside(isWindowsMap, use("copyBlockedInVectors", {{"k", floorDiv(channels, *load)}, {"v", *load}})));
  else
    r.apply(inside(isWindowsMap, use("copyBlocked", {{"k", channels}})));
}

// `outer`: maps around the tiles, of images and groups.
void lower(Rewriting& r, int outer, Nat unroll) {
  for (int i = 0; i < outer; i++) r.apply(inside(isComputingMap, use("mapFlatten")));
  for (const char* rule : {"mapToGroups2", "mapToGroups1", "mapToGroups0", "mapToLoop", "mapToLoop", "mapToLoop"})
    r.apply(inside(isComputingMap, use(rule)));
  for (int i = 0; i < 2; i++) r.apply(topDown(use("reduceToLoop")));
  r.apply(topDown(use("reduceToUnrolled", {{"u", unroll}})));
  for (int i = 0; i < 2; i++) r.apply(inside(isComputingMap, use("mapToUnrolled", {{"u", 0}})));
}

}  // namespace

void deriveBlocked(const ConvSpec& layer, Rewriting& r) {
  const Phases phases = phasesOf(layer);
  const ConvSpec spec = decimated(layer, phases);
  const bool grouped = spec.groups > 1;
  const Nat bands = r.tunable("bands", 1, std::min(spec.oh, mostRows));
  const Nat rows = r.tunable("rows", 1, std::min(spec.oh, mostRows));
  const Nat pixels = r.tunable("pixels", 1, std::min(spec.ow, mostPixels));
  const Nat lanes = r.tunable("lanes", 2, mostLanes);
  const Nat vectors = r.tunable("vectors", 1, std::min(spec.ocPerGroup(), mostVectors));
  const Nat groups = r.tunable("groups", 1, spec.ocPerGroup());
  const Nat channels = r.tunable("channels", 1, spec.icPerGroup());
  std::optional<Nat> load;
  if (copiesInputs(spec) && hasVectors(spec.icPerGroup()))
    load = r.tunable("load", 2, std::min(spec.icPerGroup(), mostLanes));
  if (copiesInputs(spec) && copiesThrees(spec.icPerGroup())) load = Nat(3);
  const Nat unroll = r.tunable("unroll", 1, 16);
  r.assume({SizeCondition::Kind::lessEqual, pixels * vectors, mostAccumulators, "accumulators of a work-item"});
  r.assume({SizeCondition::Kind::divides, lanes, Nat(mostLanes), "lanes of registers"});
  r.assume({SizeCondition::Kind::divides, unroll, channels, "copies of the loop over a block's channels"});
  if (load) r.assume({SizeCondition::Kind::divides, *load, channels, "vectors of the copy of the inputs"});

  exposePhases(layer, phases, r);
  r.apply(topDown(use("reduceInnerFirst", {{"k", channels}})));
  r.apply(inside(isOverReduction, use("mapPadded", {{"k", missingTo(spec.ocPerGroup(), vectors * lanes * groups)}})));
  r.apply(layoutsOut());
  padWindowsTo(r, spec, bands * rows, pixels);
  tile(r, bands, rows, pixels, vectors * lanes, groups);
  reduceTiles(r, lanes);
  if (copiesInputs(spec)) copyInputs(r, channels, load);
  arrangeWeights(r, grouped ? 3 : 2);
  lower(r, 1 + int{grouped} + phases.count(), unroll);
}

namespace {

// Pixels of a tile whose inputs a near cache holds at once where they are read in place.
std::int64_t mostPixelsInPlace(const ConvSpec& spec, Layout input) {
  if (copiesInputs(spec)) return mostPixels;
  return linesHeld(channelsApart(spec, input) * spec.sw);
}

// Pixels and vectors of a register tile: as many accumulators as leave registers for the operands, with little left
// over of the output's width and channels. A step of a tile costs its products, at least as many as hide the latency of
// one, a load for each vector of weights, and part of one for each input, which comes with the multiplication.
void chooseTile(const ConvSpec& spec, Layout input, std::int64_t kernels, Config& config) {
  constexpr std::int64_t registers = 28;
  constexpr double latency = 8, ofVector = 1, ofPixel = 0.25, ofLoop = 1;
  const std::int64_t most = std::min(mostPixels, mostPixelsInPlace(spec, input));
  double least = 0;
  for (const std::int64_t vectors : {2, 3, 4, 5, 6, 7, 8, 1}) {
    const std::int64_t pixels = evenTile(spec.ow, std::min(most, registers / vectors), pixelBorder);
    const double products = std::max(latency, static_cast<double>(pixels * vectors));
    const double step = products + ofVector * static_cast<double>(vectors) + ofPixel * static_cast<double>(pixels);
    const double all = static_cast<double>(ceilDiv(kernels, vectors) * ceilDiv(spec.ow, pixels)) * (step + ofLoop);
    if (vectors > kernels || (least > 0 && all >= least)) continue;
    least = all;
    config["pixels"] = pixels;
    config["vectors"] = vectors;
  }
}

}  // namespace

Config blockedDefaults(const ConvSpec& layer, const ConvLayouts& layouts) {
  const ConvSpec spec = decimated(layer, phasesOf(layer));
  Config config;
  const std::int64_t lanes = config["lanes"] = lanesFor(spec.ocPerGroup(), layouts.output);
  const std::int64_t kernels = ceilDiv(spec.ocPerGroup(), lanes);
  chooseTile(spec, layouts.input, kernels, config);
  const std::int64_t groups = ceilDiv(kernels, config["vectors"]), tilesOfRow = ceilDiv(spec.ow, config["pixels"]);
  // Inputs that are read where they are, block by block of their layout: no index needs a division. In planes each
  // channel of a tile's row is a cache line of its own, of which half of the first cache holds so many.
  constexpr std::int64_t mostPlanes = 256;
  const std::int64_t inPlace = blockOf(layouts.input) > 1      ? blockOf(layouts.input)
                               : layouts.input == Layout::nchw ? mostPlanes
                                                               : spec.icPerGroup();
  constexpr std::int64_t mostCopiedTogether = 32;
  if (copiesInputs(spec)) {  // blocks of as wide vectors as the channels have
    const std::int64_t load = copiesThrees(spec.icPerGroup()) ? 3 : widestVector(spec.icPerGroup());
    config["channels"] = load * largestDivisor(spec.icPerGroup() / load, mostCopiedTogether / load);
    if (hasVectors(spec.icPerGroup())) config["load"] = load;
  } else {
    config["channels"] = largestDivisor(spec.icPerGroup(), inPlace);
  }
  config["unroll"] = largestDivisor(config["channels"], 4);
  // Enough groups to pay for the copy of the inputs. The more rows of a tile, the fewer inputs are copied twice. What
  // is copied takes its part of a near cache; several cores want their part of the tiles.
  constexpr std::int64_t mostCopied = (512 << 10) / sizeof(float), fewestTiles = 8;
  const std::int64_t columns = (config["pixels"] - 1) * spec.sw + spec.extentW();
  const auto tiles = [&](std::int64_t perBatch, std::int64_t rows) {
    return tilesOfRow * ceilDiv(spec.oh, rows) * ceilDiv(groups, perBatch) * spec.groups * spec.batch;
  };
  std::int64_t perBatch = largestDivisor(groups, 4);
  while (perBatch > 1 && tiles(perBatch, 1) < fewestTiles) perBatch = largestDivisor(groups, perBatch - 1);
  config["groups"] = perBatch;
  const auto isGood = [&](std::int64_t rows) {
    return tiles(perBatch, rows) >= fewestTiles &&
           ((rows - 1) * spec.sh + spec.extentH()) * columns * spec.icPerGroup() <= mostCopied;
  };
  std::int64_t rows = std::min<std::int64_t>(8, spec.oh);
  while (rows > 1 && !isGood(rows)) rows--;
  // Neighbouring tiles of rows copy the same rows of the input, unless no row is in two windows.
  const bool isCopiedTwice = copiesInputs(spec) && spec.extentH() > spec.sh;
  rows = evenTile(spec.oh, rows, isCopiedTwice ? rowBorder : 0);
  // Where a near cache holds the weights of all groups, a row's groups follow each other, that its outputs are written
  // together; else a group's rows, that its weights are read from afar but once.
  constexpr std::int64_t mostWeights = (256 << 10) / sizeof(float);
  const bool areNear = perBatch * config["vectors"] * lanes * spec.reduction() <= mostWeights;
  config["bands"] = areNear ? rows : 1;
  config["rows"] = areNear ? 1 : rows;
  return config;
}

}  // namespace lift::detail
