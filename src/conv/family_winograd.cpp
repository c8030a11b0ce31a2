// The families `winograd`: convolutions by Cook-Toom algorithms of rows and columns. Every step is a rule; the order is
//
//   windows in tiles of m by m, kernels outside of a tile's windows;
//   the sum over channels outside of the tile, so that each channel's part is a filter of two dimensions;
//   that filter by cookToom; its last linear map out of the sum over channels;
//   transformed tiles and kernels are kept, and moved out of the maps that need them: kernels in panels, as the
//   products read them, tiles out of all maps, or of those within a block of tiles, which a work-group keeps in local
//   memory; a block's kernels are taken some at a time; the products are one matrix product for each of the (m + r -
//   1)² positions, tiles by output channels, in register tiles of tiles by vectors of output channels, and are kept
//   where the tiles are; the transforms run in two steps, rows and columns, in lanes over channels.
#include <algorithm>

#include "lift/terms.hpp"
#include "winograd.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

// The map over groups of channels: over their inputs, weights and biases, beside what was kept for each.
bool isOverGroups(Expr e) {
  if (!isMap(e)) return false;
  Type element = argumentOf(e, 1).type().element();
  while (element.isTuple() && element.components().size() == 2) element = element.components()[0];
  return element.isTuple();
}

bool isOverKernels(Expr e) { return isMapOver(e, Prim::zip) && !isOverGroups(e); }

// The pair of a transformed kernel and a transformed tile.
bool isTransformedPair(Expr e) {
  return isApplied(e, Prim::zip) && isApplied(argumentOf(e, 0), Prim::let) && isApplied(argumentOf(e, 1), Prim::let);
}

// That of a transformed kernel and a tile that was transformed before.
bool isPairOfKernel(Expr e) { return isApplied(e, Prim::zip) && isApplied(argumentOf(e, 0), Prim::let); }

bool isOverKept(Expr e) { return isMapOver(e, Prim::toGlobal); }

// Windows more, at the bottom and the right, to fill the last tiles, and the crop of what they give.
void extend(Rewriting& r, std::int64_t rows, std::int64_t columns) {
  if (columns > 0) {
    r.apply(inside(isRowsMap, use("padColumns", {{"r", columns}})));
    r.apply(normalise({"mapWindows"}));
  }
  if (rows > 0) r.apply(inside(isRowsMap, use("padWindows", {{"r", rows}})));
}

// From rows, windows, kernels to rows of tiles, tiles, kernels, rows, windows.
void tile(Rewriting& r, const Winograd& w) {
  splitWindows(r, isWindowsMap, w.columns.m);
  splitWindows(r, isRowsMap, w.rows.m);
  r.apply(topDown(use("slideInterchange")));
  applyLayoutsOut(r, normalise({"transposeTwice"}));
  for (int inner = 0; inner < 2; inner++)  // windows, rows
    applyLayoutsOut(r, inside(around(isOverKernels), use("mapInterchange")));
}

// The algorithm at each of its sets of points.
std::vector<CookToom> choices(const CookToom& f) {
  std::vector<CookToom> all;
  for (const auto& points : goodPoints(f.m, f.r)) all.push_back(cookToom(f.m, f.r, points));
  return all;
}

void transform(Rewriting& r, const Winograd& w, std::optional<Nat> points) {
  const Rule& rule = cookToomRule({choices(w.rows), choices(w.columns)});
  r.apply(topDown(use("sumOfChannels")));
  r.apply(topDown(use(rule, points ? Arguments{{"points", *points}} : Arguments())));
  r.apply(topDown(use("linearOutOfSum")));
}

// A map whose body keeps something that depends on its element.
bool keepsOwn(Expr e) {
  if (!isMap(e)) return false;
  const Expr element = argumentOf(e, 0).parameter();
  const std::function<bool(Expr)> keeps = [&](Expr t) {
    if (!t.hasFree(element)) return false;
    if (isApplied(t, Prim::toGlobal)) return true;
    if (t.isLambda()) return keeps(t.body());
    return t.isApply() && (keeps(t.function()) || keeps(t.argument()));
  };
  return keeps(bodyOf(e));
}

// What was kept last, which is the innermost, out of a map that it depends on.
Strategy innermostOut() {
  return bottomUp([](Expr e, Rewriting& rewriting) {
    return keepsOwn(e) ? use("precompute")(e, rewriting) : std::optional<Expr>();
  });
}

void moveOut(Rewriting& r, int maps) {
  for (int map = 0; map < maps; map++) {
    r.apply(innermostOut());
    r.apply(ofWhatIsUsed());
  }
}

// Transformed tiles out of the channels, and of `outer` maps around tiles.
void keepTiles(Rewriting& r, int outer) {
  r.apply(inside(isTransformedPair, argument(use("keepAhead"))));
  moveOut(r, 2 + outer);  // channels, tiles
}

// Transformed kernels, which depend on weights alone, out of the channels, the kernels and the groups; in panels of so
// many kernels, as the products read them.
void keepKernels(Rewriting& r, std::optional<Nat> panel, bool grouped) {
  r.apply(inside(isPairOfKernel, function(use("keepAhead"))));
  moveOut(r, 2);  // channels, kernels
  if (panel) r.apply(inside(isOverKernels, argument(argument(use("keepInPanels", {{"l", *panel}})))));
  if (!grouped) return;
  r.apply(inside(isOverGroups, use("precompute")));
  r.apply(ofWhatIsUsed());
}

// A block names its transformed tiles, so that a loop over its kernels, so many at a time, stands around its products.
void inParts(Rewriting& r, Nat kernels) {
  r.apply(inside(isOverKept, seq({argument(use("keepByPosition")), use("shareArray")})));
  r.apply(inside(isOverKernels, use("mapSplit", {{"k", kernels}})));
  applyLayoutsOut(r, normalise({"splitZip", "mapFusionMoves"}));
  applyLayoutsOut(r, inside(around(isOverKernels), use("mapInterchange")));
}

// The products out of the maps that need them; a block, within which they stay (outer = 0), names them.
void keepProducts(Rewriting& r, int outer) {
  r.apply(inside(isReduction, use("keepAhead")));
  moveOut(r, 2 + outer);  // kernels, tiles
  if (outer == 0) r.apply(inside(isOverKept, use("shareArray")));
}

// What is kept: the products, which read the others; transformed tiles; transformed kernels.
bool products(Expr e) { return contains(e, Prim::reduce); }
bool tiles(Expr e) { return !readsWeights(e) && !products(e); }
bool kernels(Expr e) { return readsWeights(e) && !contains(e, Prim::toGlobal); }

bool isOverTiles(Expr e) { return isMap(e) && isMap(bodyOf(e)) && isReduction(bodyOf(bodyOf(e))); }

// The products of tiles of `outer` dimensions more as a matrix product for each position.
void byPosition(Rewriting& r, int outer) {
  for (int map = 0; map < outer; map++) r.apply(kept(products, topDown(use("mapJoinFlat"))));
  r.apply(topDown(use("productsByPosition")));
}

// The products in the order in which they are computed: what lays them out otherwise stands behind the keeping.
void keepAsComputed(Rewriting& r) {
  const Strategy before =
      orElse(orElse(use("keptMap"), use("keptJoin")), orElse(use("keptSplit"), use("keptTranspose")));
  while (r.tryApply(inside(isKept(products), before))) {
  }
}

// The products in tiles of `tiles` by `kernels`, the reduction outside of them, lanes over kernels.
void multiply(Rewriting& r, int outer, Nat tiles, Nat kernels, std::optional<Nat> lanes) {
  byPosition(r, outer);
  r.apply(inside(isOverTiles, [&](Expr e, Rewriting& rewriting) {
    return use("mapPadded", {{"k", missingTo(e.type().length(), tiles)}})(e, rewriting);
  }));
  applyLayoutsOut(r, inside(isOverTiles, use("tileMaps", {{"k", tiles}, {"l", kernels}})));
  const Strategy zeros = inside(isReduction, at({0, 0, 1}, use("mapConstant")));
  r.apply(topDown(use("mapReduceZipRight")));
  r.apply(zeros);
  if (lanes) {
    r.apply(topDown(use("vectoriseAccumulators", {{"w", *lanes}})));
    r.apply(topDown(use("mapAsScalarOut")));
  }
  r.apply(topDown(use("mapReduceZipLeft")));
  applyLayoutsOut(r, zeros);
  keepAsComputed(r);
}

// The products by work-groups that copy what they read to local memory, transformed tiles and kernels as these do.
void multiplyStaged(Rewriting& r, int outer, const strategies::StagedProduct& block) {
  byPosition(r, outer);
  keepAsComputed(r);
  const auto isPair = [](Expr e) { return isApplied(e, Prim::zip) && contains(e, Prim::toGlobal); };
  r.apply(kept(products, inside(isPair, seq({function(use("keepMoved")), argument(use("keepMoved"))}))));
  r.apply(kept(products, strategies::stagedProduct(block)));
}

// Transformed tiles laid out as the products read them.
void tilesAsRead(Rewriting& r) {
  const auto isPair = [](Expr e) { return isApplied(e, Prim::zip) && contains(e, Prim::toGlobal); };
  r.apply(kept(products, inside(isPair, function(use("keepMoved")))));
}

// The steps of the transforms apart, what is between them in registers; lanes over channels.
void stage(Rewriting& r, std::optional<Nat> load, std::optional<Nat> lanes) {
  const auto isRenaming = [](Expr e) {
    return isApplied(e, Prim::let) && onlyMovesData(argumentOf(e, 1)) && !isMap(argumentOf(e, 1));
  };
  const auto isStep = [](Expr e) {
    return isApplied(e, Prim::let) && argumentOf(e, 1).type().isArray() && !contains(argumentOf(e, 1), Prim::toGlobal);
  };
  while (r.tryApply(inside(isRenaming, use("letInline")))) {
  }
  r.apply(topDown(use("mapLet")));
  if (lanes) {
    r.apply(topDown(use("vectorise2DWith", {{"l", *lanes}})));
    r.apply(topDown(use("vectorizeLet2DWith")));
  }
  if (load) {
    r.apply(kept(tiles, topDown(use("vectorise2D", {{"l", *load}}))));
    r.apply(topDown(use("vectorizeLet2D")));
  }
  r.apply(everywhere([&](Expr e, Rewriting& rewriting) {
    return isStep(e) ? use("letToPrivate")(e, rewriting) : std::optional<Expr>();
  }));
  r.apply(layoutsOut());
}

// Around tiles are maps over their rows and `images` maps more, of images and of phases.

// The transforms of tiles and of products: rows of tiles, tiles, channels.
void placeTransforms(Rewriting& r, int images, std::initializer_list<const char*> rules) {
  const auto overTiles = [&](const std::function<Strategy(Strategy)>& where) {
    for (int map = 0; map < images; map++) applyLayoutsOut(r, where(computing("mapFlatten")));
    for (const char* rule : rules) r.apply(where(computing(rule)));
  };
  overTiles([](Strategy s) { return s; });
  overTiles([](Strategy s) { return kept(tiles, std::move(s)); });
}

// Tiles and products by kernels of their own, a group for each tile, and for each tile of the products.
void placeApart(Rewriting& r, int images) {
  placeTransforms(r, images, {"mapToGroups1", "mapToGroups0", "mapToLoop"});
  for (const char* rule : {"mapToGroups2", "mapToGroups0", "mapToGroups1"}) r.apply(kept(products, computing(rule)));
}

// A group for each block of tiles, which keeps its tiles and products to itself.
void placeTogether(Rewriting& r, int images) {
  for (int map = 1; map < images; map++) applyLayoutsOut(r, computing("mapFlatten"));
  for (const char* rule : {"mapToGroups1", "mapToGroups0"}) r.apply(computing(rule));
  for (int i = 0; i < 3; i++) r.apply(computing("mapToLoop"));  // kernels at a time, tiles, kernels
  for (int i = 0; i < 2; i++) r.apply(kept(tiles, computing("mapToLoop")));
  for (int i = 0; i < 3; i++) r.apply(kept(products, computing("mapToLoop")));
}

void lowerKernels(Rewriting& r) {
  for (const char* rule : {"mapToGlobal1", "mapToGlobal0"}) r.apply(kept(kernels, computing(rule)));
}

void lower(Rewriting& r, bool fused, int images, Nat unroll) {
  fused ? placeTogether(r, images) : placeApart(r, images);
  for (int i = 0; i < 2; i++) r.apply(kept(products, computing("mapToUnrolled", {{"u", 0}})));
  lowerKernels(r);
  if (fused)
    for (const auto which : {tiles, products}) r.apply(inside(isKept(which), use("keepNear")));
  r.apply(topDown(use("reduceToUnrolled", {{"u", unroll}})));
}

bool isCrop(Expr e) { return isApplied(e, Prim::take) || (isMap(e) && isApplied(bodyOf(e), Prim::take)); }

// What is cropped of the last tiles, by a kernel of its own, which reads images as large as all tiles.
void crop(Rewriting& r, bool rows, bool columns) {
  const Strategy keep = use("keepAhead");
  r.apply(inside(isCrop, argument(rows && columns ? argument(keep) : keep)));
  while (r.tryApply(innermostOut())) r.apply(ofWhatIsUsed());
  r.apply(copyInParallel(3));
}

constexpr std::int64_t mostVectors = 8;
constexpr std::int64_t mostProducts = 8;  // of one dimension: more round too much

}  // namespace

std::string whyNotWinograd(const ConvSpec& s, bool fused) {
  if ((s.sh > 1 && s.dilatesRows()) || (s.sw > 1 && s.dilatesColumns()))
    return "it has a stride, and gaps between its taps";
  const ConvSpec spec = atStrideOne(s);
  if (spec.kh == 1 && spec.kw == 1)
    return s.kh * s.kw == 1 ? "its kernels have one tap" : "its kernels have one tap of each phase of the stride";
  if (std::max(spec.kh, spec.kw) >= mostProducts) return "its kernels are too long";
  if (s.groups > 1 && !fused) return "it has groups of channels, which winogradFused takes";
  return {};
}

Winograd winogradOf(const ConvSpec& layer, std::int64_t m, bool fused) {
  const ConvSpec spec = atStrideOne(layer);
  const auto algorithm = [m](std::int64_t taps) {
    const std::int64_t outputs = taps == 1 ? 1 : std::min(m, mostProducts + 1 - taps);
    return cookToom(static_cast<int>(outputs), static_cast<int>(taps));
  };
  return {algorithm(spec.kh), algorithm(spec.kw), fused};
}

std::int64_t choicesOfPoints(const Winograd& w) {
  return static_cast<std::int64_t>(std::max(choices(w.rows).size(), choices(w.columns).size()));
}

Winograd atPoints(const Winograd& w, std::int64_t points) {
  ensure(points >= 1, "sets of points are counted from 1 on");
  const auto chosen = [&](const CookToom& f) {
    const std::vector<CookToom> all = choices(f);
    return all[std::min(static_cast<std::size_t>(points), all.size()) - 1];
  };
  return {chosen(w.rows), chosen(w.columns), w.fused};
}

namespace {

std::optional<Nat> tunablePoints(const Winograd& w, Rewriting& r) {
  const std::int64_t n = choicesOfPoints(w);
  return n > 1 ? std::optional(r.tunable("points", 1, n)) : std::nullopt;
}

// Up to tiles, transforms and products, all kept; a block of tiles by itself where one is given.
void transformTiles(Rewriting& r, const ConvSpec& layer, const Winograd& w, std::optional<Nat> points,
                    std::optional<Nat> block) {
  const ConvSpec spec = atStrideOne(layer);
  exposePhases(layer, allPhases(layer), r);
  if (layer.sh > 1 || layer.sw > 1) r.apply(topDown(use("stridesToChannels")));
  extend(r, missingWindows(spec.oh, w.rows.m), missingWindows(spec.ow, w.columns.m));
  tile(r, w);
  if (block) {
    r.apply(inside(around(around(isOverKernels)), use("mapFlattenInner")));
    r.apply(layoutsOut());
    applyLayoutsOut(r, inside(around(isOverKernels), use("mapSplit", {{"k", *block}})));
  }
  transform(r, w, points);
}

// Maps around the rows of tiles: images, groups, phases.
int mapsOfImages(const ConvSpec& layer) { return 1 + int{layer.groups > 1} + allPhases(layer).count(); }

}  // namespace

void deriveWinograd(const ConvSpec& layer, const Winograd& w, Rewriting& r) {
  const ConvSpec spec = atStrideOne(layer);
  const int images = mapsOfImages(layer);
  const std::int64_t in = spec.icPerGroup(), out = spec.ocPerGroup();
  std::optional<Nat> block, kernels, lanes, load;
  if (w.fused) {
    block = r.tunable("block", 1, tilesOfImage(spec, w));
    kernels = r.tunable("kernels", 1, out);
  }
  const Nat tiles = r.tunable("tiles", 1, std::min(w.fused ? tilesOfImage(spec, w) : tilesOf(spec, w), mostTiles));
  const Nat vectors = r.tunable("vectors", 1, std::min(out, mostVectors));
  if (hasVectors(out)) lanes = r.tunable("lanes", 2, std::min(out, mostLanes));
  if (hasVectors(in)) load = r.tunable("load", 2, std::min(in, mostLanes));
  const Nat unroll = r.tunable("unroll", 1, 16);
  const std::optional<Nat> points = tunablePoints(w, r);
  assumeAccumulators(r, tiles * vectors);
  r.assume({SizeCondition::Kind::divides, unroll, in, "copies of the loop over channels"});
  for (const auto& width : {lanes, load})
    if (width) assumeLanes(r, *width);
  const int outer = w.fused ? 0 : images + 1;

  transformTiles(r, layer, w, points, block);
  const Nat panel = vectors * lanes.value_or(1);
  keepTiles(r, outer);
  keepKernels(r, panel, spec.groups > 1);
  if (kernels) inParts(r, *kernels);
  keepProducts(r, outer);
  multiply(r, outer, tiles, panel, lanes);
  if (!w.fused) tilesAsRead(r);
  stage(r, load, lanes);
  lower(r, w.fused, images, unroll);
  const bool rows = missingWindows(spec.oh, w.rows.m) > 0, columns = missingWindows(spec.ow, w.columns.m) > 0;
  if (rows || columns) crop(r, rows, columns);
}

StagedSize stagedProducts(const ConvSpec& layer, const Winograd& w) {
  const ConvSpec s = atStrideOne(layer);
  const StagedSize::Operand channels{.neighbours = s.ic};
  return {.batch = w.products(),
          .rows = tilesOf(s, w),
          .columns = s.oc,
          .depth = s.ic,
          .ofRows = channels,
          .ofColumns = channels,
          .batchLoops = 1};
}

void deriveWinogradStaged(const ConvSpec& layer, const Winograd& w, Rewriting& r) {
  const int images = mapsOfImages(layer);
  const strategies::StagedProduct block = stagedTunables(r, stagedProducts(layer, w), namesOfStagedProducts());
  const std::optional<Nat> points = tunablePoints(w, r);

  transformTiles(r, layer, w, points, std::nullopt);
  keepTiles(r, images + 1);
  keepKernels(r, std::nullopt, false);
  keepProducts(r, images + 1);
  stage(r, std::nullopt, std::nullopt);
  multiplyStaged(r, images + 1, block);
  placeTransforms(r, images, {"mapToGlobal2", "mapToGlobal1", "mapToGlobal0"});
  lowerKernels(r);
}

}  // namespace lift::detail
