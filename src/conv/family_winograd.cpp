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

#ifndef SHOW
#define SHOW(what)
#endif

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

// From rows, windows, kernels to columns of tiles, tiles, kernels, rows, windows.
void tile(Rewriting& r, Nat m) {
  tileWindows(r, isOverWindows, m);
  tileWindows(r, isOverRows, m);
  r.apply(topDown(use("slideInterchange")));
  r.apply(normalise({"transposeTwice"}));
  r.apply(layoutsOut());
  for (int inner = 0; inner < 2; inner++) {  // windows, rows
    r.apply(inside(isAroundKernels, use("mapInterchange")));
    r.apply(layoutsOut());
  }
}

void transform(Rewriting& r, const Rule& algorithm) {
  r.apply(topDown(use("sumOfChannels")));
  r.apply(topDown(use(algorithm)));
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
  SHOW("separate");
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
void multiply(Rewriting& r, Nat tiles, Nat kernels, Nat lanes) {
  for (int dimension = 0; dimension < 2; dimension++) r.apply(kept(products, topDown(use("mapJoinFlat"))));
  r.apply(topDown(use("productsByPosition")));
  r.apply(inside(isOverTiles, use("tileMaps", {{"k", tiles}, {"l", kernels}})));
  r.apply(layoutsOut());
  const Strategy zeros = inside(isReduction, at({0, 0, 1}, use("mapConstant")));
  r.apply(topDown(use("mapReduceZipRight")));
  r.apply(zeros);
  r.apply(topDown(use("vectoriseAccumulators", {{"w", lanes}})));
  r.apply(topDown(use("mapAsScalarOut")));
  r.apply(topDown(use("mapReduceZipLeft")));
  r.apply(zeros);
  r.apply(layoutsOut());
  r.apply(normalise({"keptMap", "keptJoin", "keptSplit", "keptTranspose"}));
  SHOW("multiply");
}

// Transformed tiles as the products read them; transformed weights copied into the order of the loops.
void arrange(Rewriting& r) {
  const auto isPair = [](Expr e) { return isApplied(e, Prim::zip) && contains(e, Prim::toGlobal); };
  r.apply(kept(products, inside(isPair, function(use("keepMoved")))));
  r.apply(inside([](Expr e) { return isReduction(e) && isApplied(argumentOf(e, 2), Prim::zip); },
                 argument(argument(use("keepAhead")))));
  SHOW("ahead");
  moveOut(r, 2);  // groups of kernels, positions
  SHOW("arranged");
}

// The steps of the transforms apart, what is between them in registers; lanes over channels.
void transformInLanes(Rewriting& r, Nat load, Nat lanes) {
  const auto isName = [](Expr e) {
    return isApplied(e, Prim::let) && onlyMovesData(argumentOf(e, 1)) && !isMap(argumentOf(e, 1));
  };
  while (r.tryApply(inside(isName, use("letInline")))) {
  }
  r.apply(topDown(use("mapLet")));
  r.apply(topDown(use("vectorise2DWith", {{"l", lanes}})));
  r.apply(kept(tiles, topDown(use("vectorise2D", {{"l", load}}))));
  for (const char* rule : {"vectorizeLet2DWith", "vectorizeLet2D"}) r.apply(topDown(use(rule)));
  SHOW("lanes");
  r.apply(everywhere([&](Expr e, Rewriting& rw) -> std::optional<Expr> {
    return isApplied(e, Prim::let) && argumentOf(e, 1).type().isArray() ? use("letToPrivate")(e, rw) : std::nullopt;
  }));
  r.apply(layoutsOut());
  SHOW("transforms");
}

void lower(Rewriting& r, Nat unroll) {
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
  SHOW("lowered");
}

constexpr std::int64_t mostTiles = 32, mostVectors = 8, mostLanes = 16, mostAccumulators = 64;

std::int64_t widestVector(std::int64_t channels) {
  std::int64_t width = mostLanes;
  while (channels % width != 0) width /= 2;
  return width;
}

std::int64_t tilesOf(const ConvSpec& s, std::int64_t m) {
  return s.batch * ((s.oh + m - 1) / m) * ((s.ow + m - 1) / m);
}

}  // namespace

std::string whyNotWinograd(const ConvSpec& s) {
  if (s.kh != s.kw || s.kh < 2) return "its kernels are not square, of 2 by 2 or more";
  if (s.sh != 1 || s.sw != 1) return "its stride is not 1";
  if (s.dh != 0 || s.dw != 0) return "it is dilated";
  if (s.groups != 1) return "it has groups of channels";
  if (s.ic % 2 != 0 || s.oc % 2 != 0) return "a number of channels is odd, so that there are no vectors";
  return {};
}

void deriveWinograd(const ConvSpec& spec, int m, Rewriting& r) {
  const int taps = static_cast<int>(spec.kh);
  const Nat tiles = r.tunable("tiles", 1, std::min(tilesOf(spec, m), mostTiles));
  const Nat vectors = r.tunable("vectors", 1, std::min(spec.oc, mostVectors));
  const Nat lanes = r.tunable("lanes", 2, std::min(spec.oc, mostLanes));
  const Nat load = r.tunable("load", 2, std::min(spec.ic, mostLanes));
  const Nat unroll = r.tunable("unroll", 1, 16);
  r.assume({SizeCondition::Kind::lessEqual, tiles * vectors, mostAccumulators, "accumulators of a work-item"});
  r.assume({SizeCondition::Kind::divides, unroll, spec.ic, "copies of the loop over channels"});

  exposeWindows(r);
  tile(r, m);
  transform(r, cookToomRule(2, m, taps, defaultPoints(m, taps)));
  separate(r);
  multiply(r, tiles, vectors * lanes, lanes);
  arrange(r);
  transformInLanes(r, load, lanes);
  lower(r, unroll);
}

Config winogradDefaults(const ConvSpec& spec, int m) {
  Config config;
  config["lanes"] = widestVector(spec.oc);
  config["load"] = widestVector(spec.ic);
  config["unroll"] = largestDivisor(spec.ic, 4);
  // As many accumulators as leave registers for the operands; see blockedDefaults.
  constexpr std::int64_t registers = 28;
  const std::int64_t kernels = spec.oc / config["lanes"];
  std::int64_t most = 0;
  for (const std::int64_t vectors : {4, 3, 2, 5, 6, 1}) {
    if (kernels % vectors != 0) continue;
    const std::int64_t tiles = largestDivisor(tilesOf(spec, m), std::min(mostTiles, registers / vectors));
    if (tiles * vectors <= most) continue;
    most = tiles * vectors;
    config["tiles"] = tiles;
    config["vectors"] = vectors;
  }
  return config;
}

}  // namespace lift::detail
