// The family `winograd`: convolutions by Cook-Toom algorithms of rows and columns. Every step is a rule; the order is
//
//   windows in tiles of m by m, kernels outside of a tile's windows;
//   the sum over channels outside of the tile, so that each channel's part is a filter of two dimensions;
//   that filter by cookToom2D; its last linear map out of the sum over channels;
//   transformed weights, transformed tiles and their products kept, and moved out of all maps: kernels of their own;
//   the products as one matrix product for each of the (m + r - 1)² positions, tiles by output channels, in register
//   tiles of pixels by vectors of output channels;
//   the transforms in lanes over channels.
#include <algorithm>

#include "family.hpp"
#include "lift/cook_toom.hpp"
#include "lift/terms.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

// The map over the windows of one row, or tiles of them: they slide over columns of a variable, the rows of a window.
bool isOverWindows(Expr e) {
  if (!isMapOver(e, Prim::slide)) return false;
  const Expr slid = argumentOf(argumentOf(e, 1), 0);
  return isApplied(slid, Prim::transpose) && argumentOf(slid, 0).is(Expr::Form::variable);
}
bool isOverRows(Expr e) { return isMapOver(e, Prim::slide) && isOverWindows(bodyOf(e)); }

bool isOverKernels(Expr e) { return isMapOver(e, Prim::zip); }
bool isAroundKernels(Expr e) { return isMap(e) && isOverKernels(bodyOf(e)); }
bool isReduction(Expr e) { return isApplied(e, Prim::reduce); }

// The pair of a transformed kernel and a transformed tile.
bool isTransformedPair(Expr e) {
  return isApplied(e, Prim::zip) && isApplied(argumentOf(e, 0), Prim::let) && isApplied(argumentOf(e, 1), Prim::let);
}

void tileWindows(Rewriting& r, bool (*where)(Expr), Nat k) {
  r.apply(inside(where, use("mapSplit", {{"k", k}})));
  r.apply(topDown(use("splitSlide")));
  r.apply(normalise({"mapFusionMoves"}));
  r.apply(layoutsOut());
}

// Windows more, at the bottom and the right, to fill the last tiles, and the crop of what they give.
void extend(Rewriting& r, std::int64_t rows, std::int64_t columns) {
  if (columns > 0) {
    r.apply(inside(isOverRows, use("padColumns", {{"r", columns}})));
    r.apply(normalise({"mapWindows"}));
  }
  if (rows > 0) r.apply(inside(isOverRows, use("padWindows", {{"r", rows}})));
}

// From rows, windows, kernels to columns of tiles, tiles, kernels, rows, windows.
void tile(Rewriting& r, const Winograd& w) {
  tileWindows(r, isOverWindows, w.columns.m);
  tileWindows(r, isOverRows, w.rows.m);
  r.apply(topDown(use("slideInterchange")));
  r.apply(normalise({"transposeTwice"}));
  r.apply(layoutsOut());
  for (int inner = 0; inner < 2; inner++) {  // windows, rows
    r.apply(inside(isAroundKernels, use("mapInterchange")));
    r.apply(layoutsOut());
  }
}

void transform(Rewriting& r, const Winograd& w) {
  r.apply(topDown(use("sumOfChannels")));
  r.apply(topDown(use(cookToomRule({w.rows, w.columns}))));
  r.apply(topDown(use("linearOutOfSum")));
}

// What was kept last, out of the maps that it depends on.
void moveOut(Rewriting& r, int maps) {
  for (int map = 0; map < maps; map++) {
    r.apply(topDown(use("precompute")));
    r.apply(normalise(
        {"mapOfFirst", "mapOfSecond", "mapOfLastTwo", "mapOfNestedEnds", "mapOfNestedLast", "mapFirst", "mapSecond"}));
  }
}

void separate(Rewriting& r) {
  r.apply(inside(isTransformedPair, argument(use("keepAhead"))));
  moveOut(r, 4);  // channels, tiles, columns of tiles, images
  r.apply(inside(isReduction, use("keepAhead")));
  moveOut(r, 4);  // kernels, tiles, columns of tiles, images
  r.apply(inside([](Expr e) { return isApplied(e, Prim::zip) && isApplied(argumentOf(e, 0), Prim::let); },
                 function(use("keepAhead"))));
  moveOut(r, 2);  // channels, kernels
}

bool contains(Expr e, Prim prim) {
  if (e.is(Expr::Form::primitive)) return e.prim() == prim;
  if (e.is(Expr::Form::lambda)) return contains(e.body(), prim);
  return e.is(Expr::Form::apply) && (contains(e.function(), prim) || contains(e.argument(), prim));
}

// What is kept: the products, and the transformed tiles, transformed weights and weights as they are read within.
Strategy kept(bool (*which)(Expr), Strategy s) {
  return inside([which](Expr e) { return isApplied(e, Prim::toGlobal) && which(argumentOf(e, 0)); },
                argument(std::move(s)));
}
bool products(Expr e) { return contains(e, Prim::reduce); }
bool tiles(Expr e) { return contains(e, Prim::slide) && !products(e); }
bool arranged(Expr e) { return contains(e, Prim::toGlobal) && !contains(e, Prim::slide); }
bool weights(Expr e) { return !contains(e, Prim::slide) && !contains(e, Prim::toGlobal); }

bool isOverTiles(Expr e) { return isMap(e) && isMap(bodyOf(e)) && isReduction(bodyOf(bodyOf(e))); }

// The products of all tiles of all images, a matrix product for each position, kept as they are computed: tiles of
// `tiles` by `kernels`, the reduction outside of them, lanes over kernels.
void multiply(Rewriting& r, Nat tiles, Nat kernels, std::optional<Nat> lanes) {
  for (int dimension = 0; dimension < 2; dimension++) r.apply(kept(products, topDown(use("mapJoinFlat"))));
  r.apply(topDown(use("productsByPosition")));
  r.apply(inside(isOverTiles, use("tileMaps", {{"k", tiles}, {"l", kernels}})));
  r.apply(layoutsOut());
  const Strategy zeros = inside(isReduction, at({0, 0, 1}, use("mapConstant")));
  r.apply(topDown(use("mapReduceZipRight")));
  r.apply(zeros);
  if (lanes) {
    r.apply(topDown(use("vectoriseAccumulators", {{"w", *lanes}})));
    r.apply(topDown(use("mapAsScalarOut")));
  }
  r.apply(topDown(use("mapReduceZipLeft")));
  r.apply(zeros);
  r.apply(layoutsOut());
  r.apply(normalise({"keptMap", "keptJoin", "keptSplit", "keptTranspose"}));
}

// Transformed tiles as the products read them; transformed weights copied into the order of the loops.
void arrange(Rewriting& r) {
  const auto isPair = [](Expr e) { return isApplied(e, Prim::zip) && contains(e, Prim::toGlobal); };
  r.apply(kept(products, inside(isPair, function(use("keepMoved")))));
  r.apply(inside([](Expr e) { return isReduction(e) && isApplied(argumentOf(e, 2), Prim::zip); },
                 argument(argument(use("keepAhead")))));
  moveOut(r, 2);  // groups of kernels, positions
}

// The steps of the transforms apart, what is between them in registers; lanes over channels.
void stage(Rewriting& r, std::optional<Nat> load, std::optional<Nat> lanes) {
  const auto isRenaming = [](Expr e) {
    return isApplied(e, Prim::let) && onlyMovesData(argumentOf(e, 1)) && !isMap(argumentOf(e, 1));
  };
  const auto isStep = [](Expr e) { return isApplied(e, Prim::let) && argumentOf(e, 1).type().isArray(); };
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

bool isMappedToGroups(Expr e) { return spineOf(e).isPrim(Prim::mapWrg); }

void lower(Rewriting& r, bool crops, Nat unroll) {
  const auto computing = [](const char* rule, Arguments arguments = {}) {
    return inside(isComputingMap, use(rule, std::move(arguments)));
  };
  const auto overTiles = [&](const std::function<Strategy(Strategy)>& where) {
    r.apply(where(computing("mapFlatten")));
    r.apply(layoutsOut());
    for (const char* rule : {"mapToGroups1", "mapToGroups0", "mapToLoop"}) r.apply(where(computing(rule)));
  };
  overTiles([](Strategy s) { return s; });
  overTiles([](Strategy s) { return kept(tiles, std::move(s)); });
  for (const char* rule : {"mapToGroups2", "mapToGroups0", "mapToGroups1"}) r.apply(kept(products, computing(rule)));
  for (int i = 0; i < 2; i++) r.apply(kept(products, computing("mapToUnrolled", {{"u", 0}})));
  r.apply(topDown(use("reduceToUnrolled", {{"u", unroll}})));
  r.apply(kept(arranged, copyInParallel(3)));
  for (const char* rule : {"mapToGlobal1", "mapToGlobal0"}) r.apply(kept(weights, computing(rule)));
  if (!crops) return;
  r.apply(inside(isMappedToGroups, use("keepAhead")));
  r.apply(argument(use("keepMoved")));
  r.apply(copyInParallel(3));
}

constexpr std::int64_t mostTiles = 32, mostVectors = 8, mostLanes = 16, mostAccumulators = 64;
constexpr std::int64_t mostProducts = 8;  // of one dimension: more round too much

bool hasVectors(std::int64_t channels) { return channels % 2 == 0; }

std::int64_t widestVector(std::int64_t channels) {
  std::int64_t width = mostLanes;
  while (channels % width != 0) width /= 2;
  return width;
}

// Windows that are missing to whole tiles.
std::int64_t missing(std::int64_t windows, std::int64_t m) { return (m - windows % m) % m; }

std::int64_t tilesOf(const ConvSpec& s, const Winograd& w) {
  return s.batch * ((s.oh + missing(s.oh, w.rows.m)) / w.rows.m) * ((s.ow + missing(s.ow, w.columns.m)) / w.columns.m);
}

}  // namespace

std::string whyNotWinograd(const ConvSpec& s) {
  if (s.sh != 1 || s.sw != 1) return "its stride is not 1";
  if (s.dh != 0 || s.dw != 0) return "its kernels are dilated";
  if (s.groups != 1) return "it has groups of channels";
  if (s.kh == 1 && s.kw == 1) return "its kernels have one tap";
  if (std::max(s.kh, s.kw) >= mostProducts) return "its kernels are too long";
  return {};
}

Winograd winogradOf(const ConvSpec& spec, std::int64_t m) {
  const auto algorithm = [m](std::int64_t taps) {
    const std::int64_t outputs = taps == 1 ? 1 : std::min(m, mostProducts + 1 - taps);
    return cookToom(static_cast<int>(outputs), static_cast<int>(taps));
  };
  return {algorithm(spec.kh), algorithm(spec.kw)};
}

void deriveWinograd(const ConvSpec& spec, const Winograd& w, Rewriting& r) {
  const Nat tiles = r.tunable("tiles", 1, std::min(tilesOf(spec, w), mostTiles));
  const Nat vectors = r.tunable("vectors", 1, std::min(spec.oc, mostVectors));
  std::optional<Nat> lanes, load;
  if (hasVectors(spec.oc)) lanes = r.tunable("lanes", 2, std::min(spec.oc, mostLanes));
  if (hasVectors(spec.ic)) load = r.tunable("load", 2, std::min(spec.ic, mostLanes));
  const Nat unroll = r.tunable("unroll", 1, 16);
  r.assume({SizeCondition::Kind::lessEqual, tiles * vectors, mostAccumulators, "accumulators of a work-item"});
  r.assume({SizeCondition::Kind::divides, unroll, spec.ic, "copies of the loop over channels"});
  const std::int64_t rows = missing(spec.oh, w.rows.m), columns = missing(spec.ow, w.columns.m);

  exposeWindows(r);
  extend(r, rows, columns);
  tile(r, w);
  transform(r, w);
  separate(r);
  multiply(r, tiles, vectors * lanes.value_or(1), lanes);
  arrange(r);
  stage(r, load, lanes);
  lower(r, rows > 0 || columns > 0, unroll);
}

Config winogradDefaults(const ConvSpec& spec, const Winograd& w) {
  Config config{{"unroll", largestDivisor(spec.ic, 4)}};
  std::int64_t kernels = spec.oc;
  if (hasVectors(spec.oc)) kernels /= config["lanes"] = widestVector(spec.oc);
  if (hasVectors(spec.ic)) config["load"] = widestVector(spec.ic);
  // As many accumulators as leave registers for the operands; see blockedDefaults.
  constexpr std::int64_t registers = 28;
  std::int64_t most = 0;
  for (const std::int64_t vectors : {4, 3, 2, 5, 6, 1}) {
    if (kernels % vectors != 0) continue;
    const std::int64_t tiles = largestDivisor(tilesOf(spec, w), std::min(mostTiles, registers / vectors));
    if (tiles * vectors <= most) continue;
    most = tiles * vectors;
    config["tiles"] = tiles;
    config["vectors"] = vectors;
  }
  return config;
}

}  // namespace lift::detail
