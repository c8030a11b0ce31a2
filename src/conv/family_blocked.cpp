// The family `blocked`: a register tile per work-item, pixels by vectors of output channels, as the fastest direct
// convolutions of processors have it (DESIGN: what the hardware allows). Every step is a rule; the order is
//
//   the reduction's domain in blocks of input channels, taps (of blocked: rows of them), channels of a block;
//   kernels in groups of vectors * lanes and batches of such groups; windows in tiles of `bands` * `rows` by `pixels`;
//   the batches outermost, then tiles; then a tile's bands, a batch's groups, a band's rows; a row's windows and a
//   group's kernels innermost;
//   the reduction out of these two, so that they are its accumulator; lanes over kernels;
//   the domain as three loops; a tile's inputs copied, as all its groups and rows read them, unless windows share
//   little; the weights in the order of the loops, by a kernel of their own that runs once;
//   batches and tiles over work-groups of one work-item, everything else in loops, of which the accumulator's are
//   unrolled.
//
// `planes` has lanes over pixels instead, and `planesInPlace` reads the weights where they are. So does `dots`, whose
// accumulators are vectors of input channels, added up after the reduction.
#include <algorithm>

#include "family.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

constexpr std::int64_t mostRows = 16, mostSingles = 32, mostVectors = 8;

// A tile copies the rows that its windows read, and only these; gaps within a row are copied, so that rows stay long
// enough for register tiles.
Phases phasesOf(const ConvSpec& spec) { return {allPhases(spec).rows, false}; }

// Whether a tile's inputs are copied: a copy costs about as much as `fewestProducts` products of each element with
// vectors of output channels. Where windows share less, as with strides and few channels, each is read where it is. So
// are single elements, unless each channel's are a cache line of their own, as in planes, of which the first cache has
// not enough for the next group of many kernels: of small planes, or strided ones, copies gained (measured).
bool copiesInputs(const ConvSpec& spec, Layout input) {
  constexpr std::int64_t line = 64 / sizeof(float), small = 128, manyLines = 512, manyKernels = 256;
  const bool isPadded = spec.padTop + spec.padLeft + spec.padBottom + spec.padRight > 0;
  if (spec.kh * spec.kw == 1 && !isPadded) {
    const std::int64_t plane = spec.ih * spec.iw;
    return input == Layout::nchw && plane >= line && (plane <= small || spec.sw > 1) &&
           spec.icPerGroup() >= manyLines && spec.ocPerGroup() >= manyKernels;
  }
  constexpr std::int64_t fewestProducts = 2;
  const std::int64_t vectors = ceilDiv(spec.ocPerGroup(), lanesFor(spec.ocPerGroup(), {}));
  return spec.kh * spec.kw * vectors >= fewestProducts * spec.sh * spec.sw;
}
// Odd numbers of channels are copied in vectors of three where they can be: images have three.
bool copiesThrees(std::int64_t channels) { return !hasVectors(channels) && channels % 3 == 0; }

// A map over batches of groups of kernels.
bool isOverBatches(Expr e) {
  return isMapOver(e, Prim::split) && isApplied(argumentOf(argumentOf(e, 1), 0), Prim::split);
}

// The map over a tile's windows or rows, around the map over a batch's groups.
bool isAroundOneBatch(Expr e) {
  if (!isMapOver(e, Prim::slide)) return false;
  const Expr inner = bodyOf(e);
  return isMap(inner) && argumentOf(inner, 1).isVariable();
}

bool isAroundKernels(Expr e) { return isMapOver(e, Prim::slide) && isOverReduction(bodyOf(e)); }

// Layers whose windows are single elements, all of the image: rows may as well be of any length.
bool isPointwise(const ConvSpec& s) {
  return s.kh * s.kw == 1 && s.sh == 1 && s.sw == 1 && s.padTop + s.padLeft + s.padBottom + s.padRight == 0;
}

// Such layers of several images, whose rows follow one another in memory: all are one image.
bool joinsImages(const ConvSpec& s, const ConvLayouts& layouts) {
  return isPointwise(s) && s.batch > 1 && s.groups == 1 && layouts.input == Layout::nhwc &&
         layouts.output == Layout::nhwc;
}

// The layer as `blocked` and `dots` compute it.
ConvSpec imagesOf(const ConvSpec& layer, const ConvLayouts& layouts) {
  ConvSpec s = decimated(layer, phasesOf(layer));
  if (!joinsImages(s, layouts)) return s;
  s.ih = s.oh = s.batch * s.oh;
  s.batch = 1;
  return s;
}

ConvSpec inRowsOf(std::int64_t length, const ConvSpec& layer) {
  ConvSpec s = layer;
  s.ih = s.oh = ceilDiv(s.oh * s.ow, length);
  s.iw = s.ow = length;
  return s;
}

// Taps that one loop takes with the channels of a block: a row of a window is side by side in memory, unless dilated.
std::int64_t tapsTogether(const ConvSpec& s) { return s.dilatesColumns() ? 1 : s.kw; }

// A register tile, `vectors` vectors of lanes by so many single ones, and the loops around it.
struct Tile {
  Nat bands, rows, singles, lanes, vectors, groups, channels, unroll;
};

Tile tileTunables(Rewriting& r, const ConvSpec& spec, std::int64_t height, const char* singles,
                  std::int64_t mostOfThese, std::int64_t acrossVectors, std::int64_t taps) {
  const Tile t{r.tunable("bands", 1, std::min(height, mostRows)),
               r.tunable("rows", 1, std::min(height, mostRows)),
               r.tunable(singles, 1, std::min(mostOfThese, mostSingles)),
               r.tunable("lanes", 2, mostLanes),
               r.tunable("vectors", 1, std::min(acrossVectors, mostVectors)),
               r.tunable("groups", 1, spec.ocPerGroup()),
               r.tunable("channels", 1, spec.icPerGroup()),
               r.tunable("unroll", 1, 16)};
  assumeAccumulators(r, t.singles * t.vectors);
  assumeLanes(r, t.lanes);
  r.assume({SizeCondition::Kind::divides, t.unroll, t.channels * Nat(taps), "copies of the innermost loop"});
  return t;
}

// The reduction in blocks of channels.
void blockChannels(Rewriting& r, std::int64_t taps, Nat channels) {
  r.apply(topDown(use(taps > 1 ? "reduceInnerFirstInRows" : "reduceInnerFirst", {{"k", channels}})));
}

// Kernels more, to whole batches of groups; what they give is cropped.
void padKernels(Rewriting& r, const ConvSpec& spec, const Tile& t, Nat kernels) {
  applyLayoutsOut(r,
                  inside(isOverReduction, use("mapPadded", {{"k", missingTo(spec.ocPerGroup(), kernels * t.groups)}})));
}

// Windows more, to whole tiles of rows by pixels; of a layer whose rows are joined these are of so many pixels.
void padWindows(Rewriting& r, const ConvSpec& spec, Nat rows, Nat pixels) {
  if (isPointwise(spec))
    padRowsTo(r, floorDiv(Nat(spec.oh * spec.ow) + pixels - Nat(1), pixels), Nat(1), rows);
  else
    padWindowsTo(r, spec, rows, pixels);
}

// From rows, windows, kernels to batches, tiles of rows, tiles of windows, bands, groups, rows, windows, kernels: the
// last two are the register tile.
void tile(Rewriting& r, const Tile& t, Nat pixels, Nat kernels) {
  r.apply(inside(isOverReduction, use("mapSplit", {{"k", kernels}})));
  r.apply(inside(isOverFilledBlocks, use("mapSplit", {{"k", t.groups}})));
  splitWindows(r, isWindowsMap, pixels);
  for (const Nat k : {t.rows, t.bands}) {
    splitWindows(r, isRowsMap, k);
    r.apply(topDown(use("slideInterchange")));
    applyLayoutsOut(r, normalise({"transposeTwice"}));
  }
  for (int outer = 0; outer < 5; outer++)  // windows, rows, bands, tiles of windows, tiles of rows
    applyLayoutsOut(r, inside(around(isOverBatches), use("mapInterchange")));
  for (int inner = 0; inner < 2; inner++)  // windows, rows
    applyLayoutsOut(r, inside(isAroundOneBatch, use("mapInterchange")));
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
  for (int i = 0; i < outer; i++) r.apply(computing("mapFlatten"));
  for (const char* rule : {"mapToGroups2", "mapToGroups1", "mapToGroups0", "mapToLoop", "mapToLoop", "mapToLoop"})
    r.apply(computing(rule));
  lowerTile(r, 2, unroll);
}

}  // namespace

void deriveBlocked(const ConvSpec& layer, const ConvLayouts& layouts, Rewriting& r) {
  const Phases phases = phasesOf(layer);
  const ConvSpec spec = imagesOf(layer, layouts);
  const bool joins = isPointwise(spec);
  const std::int64_t all = spec.oh * spec.ow;
  const std::int64_t taps = tapsTogether(spec);
  const Tile t = tileTunables(r, spec, joins ? all : spec.oh, "pixels", joins ? all : spec.ow, spec.ocPerGroup(), taps);
  const bool copies = copiesInputs(spec, layouts.input);
  std::optional<Nat> load;
  if (copies && hasVectors(spec.icPerGroup())) load = r.tunable("load", 2, std::min(spec.icPerGroup(), mostLanes));
  if (copies && copiesThrees(spec.icPerGroup())) load = Nat(3);
  if (load) r.assume({SizeCondition::Kind::divides, *load, t.channels, "vectors of the copy of the inputs"});

  exposePhases(layer, phases, r);
  if (joinsImages(layer, layouts)) r.apply(topDown(use("joinImages")));
  if (joins) r.apply(topDown(use("joinRows", {{"k", t.singles}})));
  blockChannels(r, taps, t.channels);
  padKernels(r, spec, t, t.vectors * t.lanes);
  padWindows(r, spec, t.bands * t.rows, t.singles);
  tile(r, t, t.singles, t.vectors * t.lanes);
  r.apply(topDown(use("mapReduceZipRight")));
  r.apply(topDown(use("vectoriseAccumulators", {{"w", t.lanes}})));
  windowsIntoReduction(r);
  if (copies) copyInputs(r, t.channels, load);
  arrangeWeights(r, spec.groups > 1 ? 3 : 2);
  lower(r, 1 + int{spec.groups > 1} + phases.count(), t.unroll);
}

void derivePlanes(const ConvSpec& layer, bool inPlace, Rewriting& r) {
  const Phases phases = phasesOf(layer);
  const ConvSpec spec = decimated(layer, phases);
  const bool joins = isPointwise(spec);
  const std::int64_t all = spec.oh * spec.ow;
  const Tile t =
      tileTunables(r, spec, joins ? ceilDiv(all, 2) : spec.oh, "kernels", spec.ocPerGroup(), joins ? all : spec.ow, 1);
  const Nat pixels = t.vectors * t.lanes, rows = t.bands * t.rows;

  exposePhases(layer, phases, r);
  if (joins) r.apply(topDown(use("joinRows", {{"k", pixels}})));
  blockChannels(r, 1, t.channels);
  padKernels(r, spec, t, t.singles);
  padWindows(r, spec, rows, pixels);
  tile(r, t, pixels, t.singles);
  applyLayoutsOut(r, inside(isAroundKernels, use("mapInterchange")));
  r.apply(topDown(use("mapReduceZipLeft")));
  r.apply(topDown(use("vectoriseAccumulatorsLeft", {{"w", t.lanes}})));
  r.apply(topDown(use("mapAsScalarOut")));
  r.apply(topDown(use("mapReduceZipRight")));
  reductionInLoops(r);
  if (!joins) r.apply(inside(isWindowsMap, use("copyPlanes")));
  if (!inPlace) arrangeWeights(r, spec.groups > 1 ? 3 : 2);
  lower(r, 1 + int{spec.groups > 1} + phases.count(), t.unroll);
}

namespace {

// A window that is the whole image is read where it is.
bool dotsCopies(const ConvSpec& spec, Layout input) {
  const bool isImage = spec.oh * spec.ow == 1 && spec.padTop + spec.padLeft + spec.padBottom + spec.padRight == 0;
  return copiesInputs(spec, input) && (input == Layout::nchw || !isImage);
}

}  // namespace

void deriveDots(const ConvSpec& layer, const ConvLayouts& layouts, Rewriting& r) {
  const Phases phases = phasesOf(layer);
  const ConvSpec spec = imagesOf(layer, layouts);
  const bool joins = isPointwise(spec);
  const std::int64_t all = spec.oh * spec.ow, height = std::min(joins ? all : spec.oh, mostRows);
  const Nat kernels = r.tunable("kernels", 1, std::min(spec.ocPerGroup(), mostSingles));
  const Tile t{.bands = r.tunable("bands", 1, height),
               .rows = r.tunable("rows", 1, height),
               .singles = r.tunable("pixels", 1, std::min(joins ? all : spec.ow, mostSingles)),
               .lanes = r.tunable("lanes", 2, mostLanes),
               .vectors = kernels,
               .groups = r.tunable("groups", 1, spec.ocPerGroup()),
               .channels = spec.icPerGroup(),
               .unroll = r.tunable("unroll", 1, 16)};
  assumeAccumulators(r, t.singles * kernels);
  assumeLanes(r, t.lanes);
  r.assume({SizeCondition::Kind::divides, t.lanes, t.channels, "whole vectors of input channels"});
  r.assume({SizeCondition::Kind::divides, t.unroll, floorDiv(t.channels, t.lanes) * Nat(tapsTogether(spec)),
            "copies of the innermost loop"});

  exposePhases(layer, phases, r);
  if (joinsImages(layer, layouts)) r.apply(topDown(use("joinImages")));
  if (joins) r.apply(topDown(use("joinRows", {{"k", t.singles}})));
  r.apply(topDown(use("reduceDot", {{"v", t.lanes}})));
  for (int both = 0; both < 2; both++) r.apply(topDown(use("asVectorJoin")));
  padKernels(r, spec, t, kernels);
  padWindows(r, spec, t.bands * t.rows, t.singles);
  tile(r, t, t.singles, kernels);
  for (const char* rule : {"mapReduceZipRight", "mapReduceZipLeft", "dotsOutOfSums"}) r.apply(topDown(use(rule)));
  reductionInLoops(r);
  if (dotsCopies(spec, layouts.input)) copyInputs(r, t.channels, t.lanes);
  lower(r, 1 + int{spec.groups > 1} + phases.count(), t.unroll);
  for (int map = 0; map < 2; map++) r.apply(computing("mapToUnrolled", {{"u", 0}}));  // of a step of the sums
}

namespace {

// Pixels of a tile whose inputs a near cache holds at once where they are read in place.
std::int64_t mostPixelsInPlace(const ConvSpec& spec, Layout input) {
  if (copiesInputs(spec, input)) return mostSingles;
  return linesHeld(channelsApart(spec, input) * spec.sw);
}

// Whether a tile's outputs are written after so few products that writing them takes a good part of the time.
bool isShort(const ConvSpec& spec) {
  constexpr std::int64_t mostProducts = 128;
  return spec.reduction() <= mostProducts;
}

// Pixels and vectors of a register tile: as many accumulators as leave registers for the operands, with little left
// over of the output's width and channels. Of short reductions and many registers only as many as hide the latency of
// a multiply-add: the fewer outputs a tile has, the more tiles a core has in flight at once, the writing of one beside
// the products of the next.
void chooseTile(const ConvSpec& spec, Layout input, std::int64_t kernels, const VectorRegisters& of, Config& config) {
  const std::int64_t most = std::min(mostSingles, mostPixelsInPlace(spec, input));
  if (isShort(spec) && !loadsInputs(of)) {
    constexpr std::int64_t hidingLatency = 8;
    config["pixels"] = evenTile(spec.ow, std::min(most, hidingLatency), pixelBorder);
    config["vectors"] = 1;
    return;
  }
  double least = 0;
  for (const std::int64_t vectors : {2, 3, 4, 5, 6, 7, 8, 1}) {
    const std::int64_t pixels =
        evenTile(spec.ow, std::min(most, accumulatorsBeside(vectors, of) / vectors), pixelBorder);
    const double all =
        static_cast<double>(ceilDiv(kernels, vectors) * ceilDiv(spec.ow, pixels)) * stepCost(pixels, vectors, of);
    if (vectors > kernels || (least > 0 && all >= least)) continue;
    least = all;
    config["pixels"] = pixels;
    config["vectors"] = vectors;
  }
}

// The loops around a register tile of pixels by kernels: enough groups, at most `mostGroups`, to pay for the copy of
// the inputs, which takes `groupBorder` groups' work. The more rows of a tile, the fewer inputs are copied twice. What
// is copied takes its part of a near cache; several cores want their part of the tiles.
void chooseLoops(const ConvSpec& spec, bool copies, std::int64_t pixels, std::int64_t kernels, std::int64_t mostGroups,
                 double groupBorder, Config& config) {
  constexpr std::int64_t mostCopied = (512 << 10) / sizeof(float), fewestTiles = 8;
  const std::int64_t groups = ceilDiv(spec.ocPerGroup(), kernels), columns = (pixels - 1) * spec.sw + spec.extentW();
  const auto tiles = [&](std::int64_t perBatch, std::int64_t rows) {
    return ceilDiv(spec.ow, pixels) * ceilDiv(spec.oh, rows) * ceilDiv(groups, perBatch) * spec.groups * spec.batch;
  };
  std::int64_t perBatch = evenTile(groups, mostGroups, groupBorder);
  while (perBatch > 1 && tiles(perBatch, 1) < fewestTiles) perBatch = evenTile(groups, perBatch - 1, groupBorder);
  config["groups"] = perBatch;
  const auto isGood = [&](std::int64_t rows) {
    return tiles(perBatch, rows) >= fewestTiles &&
           ((rows - 1) * spec.sh + spec.extentH()) * columns * spec.icPerGroup() <= mostCopied;
  };
  // Of single elements rows share nothing.
  std::int64_t rows = copies && spec.kh * spec.kw == 1 ? 1 : std::min<std::int64_t>(8, spec.oh);
  while (rows > 1 && !isGood(rows)) rows--;
  // Neighbouring tiles of rows copy the same rows of the input, unless no row is in two windows.
  rows = evenTile(spec.oh, rows, copies && spec.extentH() > spec.sh ? rowBorder : 0);
  // Where a near cache holds the weights of all groups, the groups of a row follow each other, so that the row's
  // outputs are written together. Else the rows of a group follow each other, so that its weights are read from far
  // memory only once.
  constexpr std::int64_t mostWeights = (256 << 10) / sizeof(float);
  const bool areNear = perBatch * kernels * spec.reduction() <= mostWeights;
  config["bands"] = areNear ? rows : 1;
  config["rows"] = areNear ? 1 : rows;
}

}  // namespace

Config blockedDefaults(const ConvSpec& layer, const ConvLayouts& layouts, const VectorRegisters& of) {
  const ConvSpec image = imagesOf(layer, layouts);
  const ConvSpec spec = isPointwise(image) ? inRowsOf(image.oh * image.ow, image) : image;
  const bool copies = copiesInputs(spec, layouts.input);
  Config config;
  const std::int64_t lanes = config["lanes"] = lanesFor(spec.ocPerGroup(), of, layouts.output);
  const std::int64_t kernels = ceilDiv(spec.ocPerGroup(), lanes);
  chooseTile(spec, layouts.input, kernels, of, config);
  // Inputs that are read in place are taken block by block of their layout, so that no index needs a division. In
  // planes each channel of a tile's row is a cache line of its own, and half of the first cache holds so many.
  constexpr std::int64_t mostPlanes = 256;
  const std::int64_t inPlace = blockOf(layouts.input) > 1      ? blockOf(layouts.input)
                               : layouts.input == Layout::nchw ? mostPlanes
                                                               : spec.icPerGroup();
  constexpr std::int64_t mostCopiedTogether = 64;
  if (copies) {  // blocks of as wide vectors as the channels have
    const std::int64_t load = copiesThrees(spec.icPerGroup()) ? 3 : widestVectorOf(spec.icPerGroup(), of);
    config["channels"] = load * largestDivisor(spec.icPerGroup() / load, mostCopiedTogether / load);
    if (hasVectors(spec.icPerGroup())) config["load"] = load;
  } else {
    config["channels"] = largestDivisor(spec.icPerGroup(), inPlace);
  }
  // Of copied inputs and two vectors two copies are faster than four (measured), but three than one.
  config["unroll"] = largestDivisor(config["channels"] * tapsTogether(spec), 4);
  if (copies && config["vectors"] == 2 && config["unroll"] == 4) config["unroll"] = 2;
  const std::int64_t pixels = config["pixels"];
  // The outputs of a pixel are side by side, and best written together if a core's own cache has room for all weights.
  constexpr std::int64_t mostOfAllGroups = (128 << 10) / sizeof(float);
  const std::int64_t mostGroups = spec.ocPerGroup() * spec.reduction() <= mostOfAllGroups ? kernels
                                  : copies && spec.kh * spec.kw == 1                      ? 16
                                                                                          : 4;
  chooseLoops(isPointwise(image) ? inRowsOf(pixels, image) : spec, copies, pixels, lanes * config["vectors"],
              mostGroups, 0, config);
  return config;
}

Config dotsDefaults(const ConvSpec& layer, const ConvLayouts& layouts, const VectorRegisters& of) {
  const ConvSpec image = imagesOf(layer, layouts);
  const ConvSpec spec = isPointwise(image) ? inRowsOf(image.oh * image.ow, image) : image;
  Config config{{"lanes", widestVectorOf(spec.icPerGroup(), of)}, {"unroll", 1}};
  // Beside the sums a step has registers for the operands of one side, and one for an operand of the other. Each
  // operand is loaded once.
  constexpr std::int64_t most = 8;
  constexpr double latency = 8, ofOperand = 0.5;
  double least = 0;
  for (std::int64_t kernels = 1; kernels <= std::min(spec.ocPerGroup(), most); kernels++)
    for (std::int64_t pixels = 1; pixels <= std::min(spec.ow, most); pixels++) {
      if (kernels * pixels + std::min(kernels, pixels) + 1 > of.count) break;
      const double all = static_cast<double>(ceilDiv(spec.ocPerGroup(), kernels) * ceilDiv(spec.ow, pixels)) *
                         (std::max(latency, static_cast<double>(kernels * pixels)) +
                          ofOperand * static_cast<double>(kernels + pixels));
      if (least > 0 && all >= least) continue;
      least = all;
      config["kernels"] = kernels;
      config["pixels"] = pixels;
    }
  chooseLoops(isPointwise(image) ? inRowsOf(config["pixels"], image) : spec, dotsCopies(spec, layouts.input),
              config["pixels"], config["kernels"], 16, 0, config);
  return config;
}

bool suitsDots(const ConvSpec& spec, const ConvLayouts& layouts) {
  constexpr std::int64_t fewestLanes = 4;
  return layouts.input != Layout::nchw && (layouts.weights == Layout::ohwi || spec.kh * spec.kw == 1) &&
         widestVectorOf(spec.icPerGroup(), {}) >= fewestLanes;
}

bool hasFewKernels(const ConvSpec& spec) {
  constexpr std::int64_t few = 9;
  return spec.groups == 1 && spec.oc <= few;
}

bool prefersPlanes(const ConvSpec& layer, const ConvLayouts& layouts, const VectorRegisters& of) {
  const ConvSpec s = decimated(layer, phasesOf(layer));
  const bool isStrided = s.sh > 1 || s.sw > 1;
  const std::int64_t width = isPointwise(s) ? s.oh * s.ow : s.ow, lanes = lanesFor(width, {});
  const auto fills = [&](std::int64_t perCent) { return 100 * width >= perCent * ceilDiv(width, lanes) * lanes; };
  // Per cent of a vector's lanes that must be in use: `most` where products take the time, `less` where loads and
  // stores do.
  constexpr std::int64_t most = 90, less = 84, fewChannels = 4, shortRow = 28, longRow = 56, longPlane = 512;
  const bool isPlane = layouts.input == Layout::nchw && layouts.output == Layout::nchw;
  if (hasFewKernels(s) && !isStrided && (isPlane || s.kh * s.kw > 1)) return fills(less);
  if (!isPlane) return false;
  // Without products with an element of memory planes have to be whole vectors to be faster, vectors of single pixels a
  // stride apart to be rare, and blocked's vectors to be half empty.
  const bool loads = loadsInputs(of);
  if (isPointwise(s)) {
    const bool areWhole = width % mostLanes == 0;
    if (loads) return areWhole && s.ocPerGroup() >= s.icPerGroup();
    return fills(less) && (areWhole || width >= longPlane || s.ocPerGroup() >= 2 * s.icPerGroup());
  }
  if (s.groups > 1 && s.ocPerGroup() == 1 && !loads) return fills(less) && (!isStrided || s.ow >= longRow);
  if (s.groups > 1) return !isStrided && s.ow >= shortRow && fills(less) && (!loads || s.ocPerGroup() < of.lanes);
  if (s.ic <= fewChannels) return (!isStrided || (s.sw == 2 && !loads)) && fills(less);
  return !isStrided && fills(most);
}

// Kernels and vectors of a register tile, chosen as blocked's pixels and vectors are: with one vector of pixels a
// weight comes with its multiplication; of several, each takes a load of its own. Vectors of windows are no whole
// lines.
Config planesDefaults(const ConvSpec& layer, const VectorRegisters& of) {
  const ConvSpec spec = decimated(layer, phasesOf(layer));
  const bool joins = isPointwise(spec);
  Config config;
  const std::int64_t width = joins ? spec.oh * spec.ow : spec.ow;
  const std::int64_t lanes = config["lanes"] = lanesFor(width, of);
  constexpr std::int64_t mostKernels = 16;
  // Kernels' weights are to these tiles what inputs are to blocked's.
  const auto costOf = [&](std::int64_t kernels, std::int64_t vectors) {
    if (loadsInputs(of)) return stepCost(kernels, vectors, of);
    constexpr double latency = 12, ofVector = 1, ofKernel = 0.5;
    return std::max(latency, static_cast<double>(kernels * vectors)) + ofVector * static_cast<double>(vectors) +
           (vectors > 1 ? ofKernel * static_cast<double>(kernels) : 0);
  };
  const auto registers = [&](std::int64_t vectors) {
    return std::min(of.count / 4 * 3, accumulatorsBeside(vectors, of));
  };
  const std::int64_t ofRow = ceilDiv(width, lanes);
  double least = 0;
  for (std::int64_t vectors = 1; vectors <= std::min(mostVectors, ofRow); vectors++) {
    if (joins && width % lanes == 0 && ofRow % vectors != 0) continue;  // so that nothing is cropped
    for (std::int64_t kernels = 1; kernels <= std::min({spec.ocPerGroup(), mostKernels, registers(vectors) / vectors});
         kernels++) {
      const double all =
          static_cast<double>(ceilDiv(spec.ocPerGroup(), kernels) * ceilDiv(ofRow, vectors)) * costOf(kernels, vectors);
      if (least > 0 && all >= least) continue;
      least = all;
      config["kernels"] = kernels;
      config["vectors"] = vectors;
    }
  }
  config["channels"] = largestDivisor(spec.icPerGroup(), 32);
  config["unroll"] = 1;
  const std::int64_t pixels = lanes * config["vectors"];
  chooseLoops(joins ? inRowsOf(pixels, spec) : spec, !joins, pixels, config["kernels"], 16, 1, config);
  return config;
}

}  // namespace lift::detail
