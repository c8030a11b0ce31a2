// The family `depthwise`: lanes over groups, for layers of many groups with few channels each. Every step is a rule;
// the order is
//
//   groups, padded to whole vectors, in blocks of lanes * vectors; windows outside of a block's groups, kernels of a
//   group outside of the groups;
//   windows, padded to whole tiles, in tiles of `rows` by `pixels`;
//   the reduction out of a block's groups and out of a row's windows, so that these are its accumulator; lanes over
//   groups;
//   a tile's inputs copied, where their vectors must be gathered; the weights in the order of the loops, by a kernel of
//   their own; blocks and tiles over work-groups of one work-item, blocks that share lines of the input one after the
//   other; everything else in loops, of which the accumulator's are unrolled.
//
// `depthwiseTiled` is the same for GPUs: a work-item for each tile of a row and vector of groups, neighbours having
// neighbouring groups, whose inputs and outputs lie beside each other; nothing is copied.
#include <algorithm>
#include <initializer_list>

#include "family.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

constexpr std::int64_t mostRows = 32, mostPixels = 32, mostVectors = 8;
constexpr std::int64_t mostTaps = 25;         // that follow one another without a loop
constexpr std::int64_t mostTapsWithRest = 9;  // where groups that are left over have theirs apart
constexpr std::int64_t mostTapsOnGpus = 9;    // whose registers hold less

bool isOverKernels(Expr e) { return isMapOver(e, Prim::zip) && isMap(bodyOf(e)); }

std::int64_t lanesUpTo(std::int64_t most, std::int64_t groups) {
  std::int64_t lanes = 2;
  while (lanes < most && lanes < groups) lanes *= 2;
  return lanes;
}

// Whether the widest vectors leave groups over, and vectors that divide them are a fourth of these or fewer.
bool hasRest(const ConvSpec& spec) {
  const std::int64_t lanes = lanesUpTo(mostLanes, spec.groups);
  return spec.groups % lanes != 0 && (spec.icPerGroup() > 1 || 4 * widestVectorOf(spec.groups, {}) <= lanes);
}

// Lanes of the default: of the vectors that divide the groups if that takes fewer vectors, where a last vector that is
// filled in part counts as two more.
std::int64_t lanesOf(const ConvSpec& spec, const VectorRegisters& of) {
  constexpr std::int64_t costOfRest = 2;
  const std::int64_t lanes = lanesUpTo(of.lanes, spec.groups), dividing = widestVectorOf(spec.groups, of);
  if (spec.icPerGroup() > 1) return lanes;
  const bool isFewer = spec.groups / dividing < ceilDiv(spec.groups, lanes) + costOfRest;
  return !hasRest(spec) || (dividing > 1 && isFewer) ? dividing : lanes;
}

// Whether a tile's inputs are copied to memory of their own first. Vectors over groups are not contiguous where other
// channels lie in between; elsewhere inputs are read where they are. Then only a tile's first and last pixels can be
// outside of the image, and of a row's taps all or none. Between `nhwc` so are groups that vectors leave over.
bool gathers(const ConvSpec& spec, const ConvLayouts& layouts) {
  return spec.icPerGroup() > 1 || (hasRest(spec) && layouts.input != Layout::nhwc);
}

bool readsRestInPlace(const ConvSpec& spec, const ConvLayouts& layouts) {
  return hasRest(spec) && !gathers(spec, layouts);
}

// Vectors of a block: a single one where groups that are left over are read in place, since of it alone it is known
// which lanes these are.
std::int64_t mostVectorsOf(const ConvSpec& spec, const ConvLayouts& layouts) {
  return readsRestInPlace(spec, layouts) ? 1 : std::min(spec.groups, mostVectors);
}

// Inputs of a channel that a tile reads: each in a line of its own.
std::int64_t linesOf(const ConvSpec& spec, std::int64_t pixels, std::int64_t rows) {
  return ((rows - 1) * spec.sh + spec.extentH()) * ((pixels - 1) * spec.sw + spec.extentW());
}

// Whether the lines that a row of a tile reads displace each other.
bool displaces(const ConvSpec& spec, const ConvLayouts& layouts, std::int64_t pixels) {
  return !gathers(spec, layouts) && linesOf(spec, pixels, 1) > linesHeld(channelsApart(spec, layouts.input));
}

// Whether blocks of groups follow one another at each tile: neighbours have parts of the same lines where a pixel's
// channels are together, and find them still there unless they displace each other.
bool sharesLines(const ConvSpec& spec, const ConvLayouts& layouts) {
  constexpr std::int64_t usual = 8;  // pixels of a tile
  return layouts.input == Layout::nhwc && !displaces(spec, layouts, evenTile(spec.ow, usual, pixelBorder));
}

void exposeGroups(Rewriting& r, std::int64_t groups, Nat block) {
  r.apply(topDown(use("groupsPadded", {{"r", missingTo(groups, block)}})));
  r.apply(topDown(use("groupsSplit", {{"k", block}})));
  r.apply(topDown(use("groupsInWindows")));
  applyLayoutsOut(r, topDown(use("kernelsOutOfGroups")));
}

void reduceTiles(Rewriting& r, Nat lanes) {
  r.apply(topDown(use("mapReduceGroups")));
  r.apply(topDown(use("vectoriseGroups", {{"w", lanes}})));
  windowsIntoReduction(r);
}

// `places`: the rules that say where blocks of groups, tiles of rows and tiles of a row run.
// Taps follow one another without a loop where a row, and where all rows have at most so many.
void lower(Rewriting& r, const ConvSpec& spec, std::initializer_list<const char*> places, std::int64_t mostOfRow,
           std::int64_t mostOfAll) {
  r.apply(computing("mapFlatten"));
  for (const char* rule : places) r.apply(computing(rule));
  for (int i = 0; i < 2; i++) r.apply(computing("mapToLoop"));
  // Taps one after the other, that neighbouring pixels share what is loaded and few conditions depend on the tap; long
  // kernels' rows in a loop. With more channels in a group, loops are long enough.
  const bool isAlone = spec.icPerGroup() == 1;
  for (const bool unrolled : {isAlone && spec.kh * spec.kw <= mostOfAll, isAlone && spec.kw <= mostOfRow, false})
    r.apply(topDown(use(unrolled ? "reduceToUnrolledFully" : "reduceToLoop")));  // rows, columns, channels
  for (int i = 0; i < 2; i++) r.apply(computing("mapToUnrolled", {{"u", 0}}));
}

// Up to the reductions of tiles, in lanes over groups.
void inTiles(Rewriting& r, const ConvSpec& spec, Nat rows, Nat pixels, Nat lanes, Nat vectors) {
  exposeWindows(r);
  exposeGroups(r, spec.groups, lanes * vectors);
  padWindowsTo(r, spec, rows, pixels);
  splitWindows(r, isWindowsMap, pixels);
  splitWindows(r, isRowsMap, rows);
  r.apply(topDown(use("slideInterchange")));
  applyLayoutsOut(r, normalise({"transposeTwice"}));
  applyLayoutsOut(r, inside(around(isOverKernels), use("mapInterchange")));
  reduceTiles(r, lanes);
}

}  // namespace

void deriveDepthwise(const ConvSpec& spec, const ConvLayouts& layouts, Rewriting& r) {
  const Nat rows = r.tunable("rows", 1, std::min(spec.oh, mostRows));
  const Nat pixels = r.tunable("pixels", 1, std::min(spec.ow, mostPixels));
  const Nat lanes = r.tunable("lanes", 2, mostLanes);
  const Nat vectors = r.tunable("vectors", 1, mostVectorsOf(spec, layouts));
  assumeAccumulators(r, pixels * vectors);
  assumeLanes(r, lanes);

  inTiles(r, spec, rows, pixels, lanes, vectors);
  if (gathers(spec, layouts)) r.apply(inside(isWindowsMap, use("copyGroups", {{"v", lanes}})));
  arrangeWeights(r, 2);  // kernels of a group, blocks of groups
  // Groups that are left over have statements of their own.
  const std::int64_t mostOfAll = readsRestInPlace(spec, layouts) ? mostTapsWithRest : mostTaps;
  if (sharesLines(spec, layouts))
    lower(r, spec, {"mapToGroups0", "mapToGroups2", "mapToGroups1"}, mostTaps, mostOfAll);
  else
    lower(r, spec, {"mapToGroups2", "mapToGroups1", "mapToGroups0"}, mostTaps, mostOfAll);
}

void deriveDepthwiseTiled(const ConvSpec& spec, Rewriting& r) {
  const Nat pixels = r.tunable("pixels", 1, std::min(spec.ow, mostPixels));
  const Nat lanes = r.tunable("lanes", 2, mostLanes);
  assumeAccumulators(r, pixels * lanes);
  assumeLanes(r, lanes);

  inTiles(r, spec, 1, pixels, lanes, 1);
  arrangeWeights(r, 2);
  lower(r, spec, {"mapToGlobal0", "mapToGlobal2", "mapToGlobal1"}, mostTapsOnGpus, mostTapsOnGpus);
}

namespace {

// On GPUs: vectors of four groups, or of two that divide them, by four pixels, which share what they load.
Config tileOfGpus(const ConvSpec& spec) {
  constexpr std::int64_t most = 4;
  const std::int64_t lanes = hasVectors(spec.groups) ? std::min(most, widestVector(spec.groups)) : most;
  return {{"lanes", lanes}, {"pixels", evenTile(spec.ow, most, pixelBorder)}};
}

}  // namespace

// Where a large device has local memory of its own, tiles of a small layer leave most of it idle. Groups that vectors
// leave over are read one by one at each tap, which must be few.
bool prefersDepthwiseTiled(const ConvSpec& spec, const ConvLayouts& layouts, const runtime::DeviceInfo& device) {
  constexpr std::int64_t tapsOfUnit = 512 * 9;  // of all its work-items
  if (device.type != "gpu" || spec.ocPerGroup() > 2 || layouts.input == Layout::nchw || layouts.output == Layout::nchw)
    return false;
  const Config tile = tileOfGpus(spec);
  const std::int64_t lanes = tile.at("lanes"), pixels = tile.at("pixels");
  if (spec.groups % lanes != 0 && spec.kh * spec.kw > mostTapsOnGpus) return false;
  const std::int64_t items = spec.batch * spec.oh * ceilDiv(spec.ow, pixels) * ceilDiv(spec.groups, lanes);
  return !device.localMemoryIsDedicated || items * spec.kh * spec.kw >= tapsOfUnit * std::max(1, device.computeUnits);
}

Config depthwiseTiledDefaults(const ConvSpec& spec) {
  constexpr std::int64_t mostLoaded = 32;
  Config tile = tileOfGpus(spec);
  std::int64_t &lanes = tile.at("lanes"), &pixels = tile.at("pixels");
  if (((pixels - 1) * spec.sw + spec.extentW()) * lanes > mostLoaded) {
    lanes = 2;
    // Gaps between taps make the row so long that most of its loads may be of padding, and ask for it.
    if (spec.dilatesColumns()) pixels = std::min<std::int64_t>(pixels, 2);
  }
  return tile;
}

Config depthwiseTiledPreferred(const ConvSpec& spec, const runtime::DeviceInfo& device) {
  return device.type == "gpu" && device.localMemoryIsDedicated ? tileOfGpus(spec) : Config();
}

namespace {

std::int64_t widestOf(std::int64_t n) { return hasVectors(n) ? widestVector(n) : 1; }

}  // namespace

bool prefersLanesOfGroups(const ConvSpec& spec) {
  if (spec.icPerGroup() == 1) return widestOf(spec.ocPerGroup()) < std::min(spec.groups, mostLanes);
  // Inputs are gathered and outputs scattered, which costs as much as vectors of a fourth of the lanes lose.
  return 4 * widestOf(spec.ocPerGroup()) <= std::min(spec.groups, mostLanes);
}

Config depthwiseDefaults(const ConvSpec& spec, const ConvLayouts& layouts, const VectorRegisters& of) {
  Config config;
  std::int64_t lanes = lanesOf(spec, of);
  for (const Layout layout : {layouts.input, layouts.output})
    if (blockOf(layout) > 1) lanes = std::min(lanes, blockOf(layout));
  config["lanes"] = lanes;
  const std::int64_t blocks = ceilDiv(spec.groups, lanes);
  // As many accumulators as leave registers for weights and inputs, which several pixels share: half of the registers.
  // A short row whole, where its inputs are gathered; a row of the image before more vectors, unless the lines that a
  // row of the tile reads displace each other: then lines beside each other.
  constexpr std::int64_t mostOfRow = 14;
  const std::int64_t registers = of.count / 2 - 2;
  const auto pixelsOf = [&](std::int64_t most) {
    if (!gathers(spec, layouts)) return evenTile(spec.ow, std::min(most, of.count / 2), pixelBorder);
    return spec.ow <= most ? spec.ow : evenTile(spec.ow, std::min(most, registers), pixelBorder);
  };
  std::int64_t pixels = pixelsOf(mostOfRow);
  const bool apart = displaces(spec, layouts, pixels);
  if (apart) pixels = pixelsOf(registers / 2);
  config["pixels"] = pixels;
  const std::int64_t fewest = of.count / 4;  // accumulators that hide the latency of a product
  const std::int64_t wanted = apart ? registers / pixels : fewest / pixels;
  const std::int64_t vectors = config["vectors"] =
      largestDivisor(blocks, std::min(mostVectorsOf(spec, layouts), std::max<std::int64_t>(1, wanted)));
  // Rows as many as leave several cores their part of the tiles, a near cache room for what is copied, and the first
  // cache the lines that the next block has part of, or a block's rows of the image that the tiles of a row share.
  constexpr std::int64_t mostCopied = (64 << 10) / sizeof(float), fewestTiles = 8, mostLines = 200;
  constexpr std::int64_t firstCache = (32 << 10) / sizeof(float);
  constexpr std::int64_t line = 64 / sizeof(float);
  const bool shares =
      sharesLines(spec, layouts) && (lanes * vectors % line != 0 || channelsApart(spec, layouts.input) % line != 0);
  const std::int64_t ofRow = ((pixels - 1) * spec.sw + spec.extentW()) * lanes * vectors * spec.icPerGroup();
  const std::int64_t others = blocks / vectors * spec.batch * ceilDiv(spec.ow, pixels);
  const std::int64_t ofImageRow = spec.iw * blockOf(layouts.input);
  const bool inBlocks = blockOf(layouts.input) > 1 && !gathers(spec, layouts);
  const auto isGood = [&](std::int64_t rows) {
    const std::int64_t rowsRead = (rows - 1) * spec.sh + spec.extentH();
    return others * ceilDiv(spec.oh, rows) >= fewestTiles && (!shares || linesOf(spec, pixels, rows) <= mostLines) &&
           (!inBlocks || rowsRead * ofImageRow <= firstCache) &&
           (!gathers(spec, layouts) || rowsRead * ofRow <= mostCopied);
  };
  std::int64_t most = std::min<std::int64_t>(spec.oh, 16);
  while (most > 1 && !isGood(most)) most--;
  config["rows"] = evenTile(spec.oh, most, 1);  // a group's begin takes a row's work
  return config;
}

}  // namespace lift::detail
