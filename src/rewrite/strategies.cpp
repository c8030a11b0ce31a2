#include "lift/strategies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lift/integers.hpp"
#include "lift/terms.hpp"

namespace lift::strategies {

using namespace rewrite;

Strategy raise() { return normalise({"global0ToMap", "global1ToMap", "global2ToMap", "loopToMap", "loopToReduce"}); }

Strategy tidy() {
  return seq({normalise({"mapIdentity", "idAway", "transposeTwice", "joinSplit", "splitJoin", "asScalarAsVector",
                         "asVectorAsScalar", "letInline", "mapFirst", "mapSecond", "mapOfFirst", "mapOfSecond",
                         "mapFusionMoves", "reduceMap"}),
              normalise({"mapTransposeOut", "mapJoinOut", "mapAsScalarOut"})});
}

Strategy layoutsOut() { return normalise({"mapTransposeOut", "mapJoinOut", "mapSplitOut", "mapTakeOut", "mapMapOut"}); }

Strategy fused() { return seq({tidy(), normalise({"reduceMapFusion", "letInline"}), tidy()}); }

Strategy ofWhatIsUsed() {
  return normalise(
      {"mapOfFirst", "mapOfSecond", "mapOfLastTwo", "mapOfNestedEnds", "mapOfNestedLast", "mapFirst", "mapSecond"});
}

bool isComputingMap(Expr e) {
  const Spine s = spineOf(e);
  return s.isCall(Prim::map) && !onlyMovesData(s.arguments[0]);
}

Strategy outermost(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    const std::function<std::optional<Expr>(Expr)> walk = [&](Expr term) -> std::optional<Expr> {
      if (isComputingMap(term)) return s(term, r);
      const Spine spine = spineOf(term);
      if (!isResultLayout(spine, Crops::yes)) return std::nullopt;
      return argument([&](Expr inner, Rewriting&) { return walk(inner); })(term, r);
    };
    return walk(e);
  };
}

Strategy placedBy(std::string_view rule, int dimensions) {
  const Strategy here = use(fmt::format("{}{}", rule, dimensions - 1));
  if (dimensions == 1) return outermost(here);
  return outermost(seq({function(body(placedBy(rule, dimensions - 1))), here}));
}

Strategy parallel(int dimensions) { return placedBy("mapToGlobal", dimensions); }

Strategy sequential(std::int64_t unrolled, std::int64_t unroll) {
  const auto isShort = [unrolled](Expr e) {
    if (!isComputingMap(e)) return false;
    const auto length = e.type().length().constant();
    return length && *length <= unrolled;
  };
  const Strategy reductions = unroll == 1 ? use("reduceToLoop") : use("reduceToUnrolled", {{"u", Nat(unroll)}});
  return seq({attempt(everywhere(reductions)), attempt(everywhere(when(isShort, use("mapToUnrolledFully")))),
              attempt(everywhere(when(isComputingMap, use("mapToLoop"))))});
}

Strategy below(int maps, Strategy s) {
  for (; maps > 0; maps--) s = outermost(function(body(std::move(s))));
  return s;
}

namespace {

// A nest of maps over work-items, as many as there are dimensions, and of loops; what the innermost computes in steps.
// What the maps run over stays as it is: its elements are computed where they are read.
Strategy inParallel(int maps, std::int64_t unrolled = 64, std::int64_t unroll = 1) {
  constexpr int most = 3;
  Strategy loops = below(maps, sequential(unrolled, unroll));
  for (int i = maps; i-- > most;) loops = seq({loops, below(i, outermost(use("mapToLoop")))});
  return seq({loops, parallel(std::min(most, maps))});
}

}  // namespace

Strategy copyInParallel(int dimensions) {
  const Strategy here = use(fmt::format("mapToGlobal{}", dimensions - 1));
  if (dimensions == 1) return seq({use("copyMap"), here});
  return seq({use("copyMap"), function(body(copyInParallel(dimensions - 1))), here});
}

namespace {

// A row copied in vectors, where its elements are scalars.
Strategy copyRow(Nat lanes) {
  return seq({use("copyMap"), use("vectoriseMap", {{"w", lanes}}), argument(use("mapToUnrolled", {{"u", 0}}))});
}

// The rows of an array of matrices copied by a work-item each.
Strategy copyRows(Nat lanes) {
  const Strategy matrix = seq({use("copyMap"), function(body(copyRow(lanes))), use("mapToGlobal0")});
  return orElse(seq({use("copyMap"), function(body(matrix)), use("mapToGlobal1")}), copyInParallel(3));
}

// A transposed matrix copied: row by row of the transpose, or, with `inBlocks`, so many elements of each row of the
// matrix at a time, in vectors.
Strategy copyTransposed(Nat lanes, const std::optional<Nat>& inBlocks) {
  const auto rows = [](Nat width, const Strategy& placed) {
    const Strategy row = orElse(copyRow(width), seq({use("copyMap"), use("mapToLoop")}));
    return seq({use("copyMap"), function(body(row)), placed});
  };
  if (!inBlocks) return rows(lanes, use("mapToLoop"));
  constexpr std::int64_t together = 8;  // rows whose vectors are transposed in registers
  const Strategy block = rows(*inBlocks, use("mapToUnrolled", {{"u", together}}));
  return seq({use("transposeInBlocks", {{"k", *inBlocks}}),
              argument(seq({function(body(argument(block))), use("mapToLoop")}))});
}

// Whether evaluating the term reduces something, not once for each element of something else.
bool reducesOnce(Expr e) {
  if (!e.isApply()) return false;
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::reduce)) return true;
  return std::ranges::any_of(s.arguments, reducesOnce);
}

// A map whose function does more with a reduction than give it: the reductions first, then the rest.
Strategy reductionsApart() {
  const auto doesMore = [](Expr e) {
    if (!isComputingMap(e)) return false;
    const Expr body = spineOf(e).arguments[0].body();
    const Spine s = spineOf(body);
    const bool gives = s.isPrim(Prim::reduce) || (s.head.isPrimitive() && isInvertibleLayout(s.head.prim()));
    return !gives && reducesOnce(body);
  };
  return attempt(seq({inside(doesMore, use("mapReduceFission")), tidy()}));
}

// What is reduced for a map to go on with stays in registers.
Strategy reducedInRegisters() {
  const auto goesOn = [](Expr e) { return isComputingMap(e) && reducesOnce(spineOf(e).arguments[1]); };
  return attempt(seq({normalise({"mapAsScalar"}), inside(goesOn, argument(topDown(use("reduceToPrivateMemory"))))}));
}

// A reduction of rows that are joined as one of each row: indices without divisions.
Strategy sumsOfRows() {
  return seq({normalise({"transposeMapJoin", "mapJoin", "zipJoin", "reduceJoin", "reduceMap"}), tidy()});
}

}  // namespace

Nat missingTo(Nat n, Nat divisor) { return divisor * floorDiv(n + divisor - Nat(1), divisor) - n; }

Strategy filled(Nat divisor, std::optional<Nat> vector) {
  return [=](Expr e, Rewriting& r) {
    Arguments arguments{{"k", missingTo(e.type().length(), divisor)}};
    if (vector) arguments.emplace("v", *vector);
    return use(vector ? "mapPaddedInVectors" : "mapPadded", arguments)(e, r);
  };
}

namespace {

// Groups over the outermost maps, s at the body of the last.
Strategy inGroups(int dimensions, const Strategy& s) {
  const Strategy below = dimensions == 1 ? s : inGroups(dimensions - 1, s);
  return outermost(seq({function(body(below)), use(fmt::format("mapToGroups{}", dimensions - 1))}));
}

// The maps of a product filled, and the crops outside of both.
Strategy filledMaps(const ProductTile& tile) {
  const Nat rows = tile.rows * tile.tilesOfGroup.value_or(1);
  const Strategy columns = function(body(seq({outermost(filled(tile.columns)), tidy()})));
  std::vector<Strategy> steps;
  if (tile.fillColumns) steps.push_back(outermost(columns));
  if (tile.fillRows) steps.push_back(outermost(filled(rows)));
  steps.push_back(normalise({"mapTakeOut"}));
  return steps.size() == 1 ? identity() : seq(std::move(steps));
}

}  // namespace

Strategy filledWindows(Nat columns, int outer) {
  // By what the columns of the maps lack, which need not be those of the result: that may be turned.
  const auto filledBy = [columns](const std::string& rule, std::size_t dimension) -> Strategy {
    return [=](Expr map, Rewriting& r) -> std::optional<Expr> {
      const auto shape = shapeOf(map.type());
      if (dimension >= shape.size()) return std::nullopt;
      return use(rule, {{"k", missingTo(shape[dimension], columns)}})(map, r);
    };
  };
  // Of rows one by one, with what is computed of their elements; where the rows are no plain windows, the last of
  // them again. What else has rows of that length, further inside, stays as it is.
  const Strategy ofRows = below(outer, outermost(filledBy("moreWindows", 0)));
  const auto namesMap = [](Expr x) {
    const Spine let = spineOf(x);
    return let.isCall(Prim::let) && isComputingMap(let.arguments[1]);
  };
  const Strategy fused =
      seq({normalise({"mapFusion"}), repeat(topDown(when(namesMap, use("letUnfold")))), normalise({"mapFusion"})});
  Strategy more =
      seq({orElse(seq({fused, ofRows}), below(outer, outermost(filled(columns)))), normalise({"mapTakeOut"})});
  if (outer == 1 || outer == 2)
    more = orElse(outermost(filledBy(fmt::format("moreWindows{}D", outer + 1), static_cast<std::size_t>(outer))),
                  std::move(more));
  return named("windows to fill tiles", std::move(more));
}

Strategy matrixProduct(const ProductTile& tile) {
  // Of the operands, either may be the row's.
  const auto either = [](std::string name, std::string_view a, std::string_view b, const Arguments& arguments = {}) {
    return seq(
        {reductionsApart(), named(std::move(name), topDown(orElse(use(a, arguments), use(b, arguments)))), tidy()});
  };
  // The chunks of columns: transposed, kept, transposed back.
  const Strategy inPanels = seq({use("copyMap"), function(body(seq({use("columnsFirst"), argument(use("keepAhead"))}))),
                                 use("precompute"), use("mapOfSecond"), argument(argument(copyRows(tile.lanes)))});
  const int dimensions = std::min(3, 2 + tile.batch);
  const bool near = tile.tilesOfGroup.has_value();
  // A group's tiles, one after the other, and the columns that they share.
  const Strategy tilesApart = seq({below(tile.batch + 2, outermost(use("mapSplit", {{"k", tile.rows}}))), tidy()});
  const Strategy copied = argument(argument(argument(copyTransposed(tile.lanes, tile.copiedInBlocks))));
  const Strategy tilesOfGroup =
      seq({below(tile.batch + 2, outermost(use("mapToLoop"))),
           below(tile.batch + 1, outermost(seq({use("copyNear"), function(body(copied))}))), tidy()});
  const Strategy placed = tile.panels
                              ? outermost(seq({function(body(outermost(use("mapToGlobal1")))), use("mapToGlobal0")}))
                          : near ? inGroups(dimensions, identity())
                                 : parallel(dimensions);
  const Strategy row = either("a row of the tile", "mapReduceZipRight", "mapReduceZipLeft");
  const Strategy ofScalars = seq(
      {row, either("its columns in lanes", "vectoriseAccumulators", "vectoriseAccumulatorsLeft", {{"w", tile.lanes}})});
  // Accumulators that are tuples.
  const Strategy columns = below(tile.batch + (near ? 4 : 3), outermost(use("mapInLanes", {{"w", tile.lanes}})));
  const Nat rows = tile.rows * tile.tilesOfGroup.value_or(1);
  return seq({below(tile.batch, filledMaps(tile)), tile.prepared ? tile.prepared : identity(),
              below(tile.batch, topDown(use("tileMaps", {{"k", rows}, {"l", tile.columns}}))), tidy(),
              near ? tilesApart : identity(),
              tile.panels ? named("panels", below(1, outermost(argument(inPanels)))) : identity(),
              orElse(ofScalars, seq({named("its columns in lanes", columns), tidy(), row})),
              either("its rows", "mapReduceZipLeft", "mapReduceZipRight"), sumsOfRows(), reducedInRegisters(),
              near ? named("columns of a group", tilesOfGroup) : identity(), placed, sequential()});
}

namespace {

// The lanes of vectors that take turns as accumulators, put together once the reduction is done.
Strategy sumsInLanes() {
  constexpr std::int64_t lanes = 16;
  return seq({named("sums in lanes", topDown(use("reduceInVectors", {{"w", Nat(lanes)}}))), tidy(), reductionsApart()});
}

// The reductions of a map at once: a map of each step.
Strategy reductionsTogether(std::string what) {
  return seq({named(std::move(what),
                    topDown(orElse(use("mapReduceZipLeft"), orElse(use("mapReduceZipRight"), use("mapReduce"))))),
              tidy()});
}

// Of more maps than work-groups have dimensions, `outer` and one below, the outermost two as one until there are not.
Strategy inDimensions(int& outer) {
  constexpr int dimensions = 3;
  Strategy flat = identity();
  for (; outer >= dimensions; outer--) flat = seq({flat, outermost(use("mapFlatten")), tidy()});
  return flat;
}

}  // namespace

Strategy rowSums(const RowSums& given) {
  RowSums tile = given;
  const Strategy flat = inDimensions(tile.outer);
  const Nat together = tile.rows * tile.group;
  const auto cut = [](int maps, Nat k) { return seq({below(maps, outermost(use("mapSplit", {{"k", k}}))), tidy()}); };
  const Strategy whole =
      tile.fill ? seq({below(tile.outer, outermost(filled(together))), normalise({"mapTakeOut"})}) : identity();
  return seq({tidy(), flat, whole, cut(tile.outer, together), cut(tile.outer + 1, tile.rows), reductionsApart(),
              sumsInLanes(), reductionsTogether("the rows of an item"), reducedInRegisters(),
              inGroups(tile.outer + 1, outermost(use("mapToItems0"))), sequential()});
}

namespace {

// s at the map of what names are given in front of.
Strategy belowNames(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) {
    return spineOf(e).isPrim(Prim::let) ? function(body(belowNames(s)))(e, r) : s(e, r);
  };
}

}  // namespace

Strategy rowsOfGroups(int outer, std::optional<Nat> elements) {
  const Strategy reductions = elements ? topDown(seq({use("reduceSplit", {{"k", *elements}}), use("reduceToItems")}))
                                       : everywhere(use("reduceToItems"));
  const Strategy flat = inDimensions(outer);
  return seq({fused(), flat, reductions, attempt(below(outer + 1, belowNames(outermost(use("mapToItems0"))))),
              placedBy("mapToGroups", outer + 1), sequential(64, 0)});
}

namespace {

// s wherever it applies outside of functions and of what a condition decides about.
Strategy whereRunOnce(const Strategy& s) {
  return [s](Expr e, Rewriting& r) -> std::optional<Expr> {
    const auto further = [&s](Expr x, Rewriting& inner) { return whereRunOnce(s)(x, inner); };
    if (!e.isApply() || spineOf(e).isPrim(Prim::ifThenElse)) return e;
    if (auto changed = s(e, r)) return changed;
    return spineOf(e).isPrim(Prim::let) ? seq({function(body(further)), argument(further)})(e, r) : all(further)(e, r);
  };
}

// A reduction in chunks, perhaps within one of what they leave.
std::optional<Expr> chunksByGroups(Expr e, Rewriting& r) {
  const Strategy chunks =
      seq({use("keepAhead"), argument(seq({function(body(use("reduceToItems"))), use("mapToGroups0")}))});
  const Path init{0, 0, 1};
  const auto isOfMap = [](Expr x) {
    const Spine s = spineOf(x);
    return s.arguments.size() == 3 && isComputingMap(s.arguments[2]);
  };
  return seq({orElse(when(isOfMap, argument(chunks)), at(init, chunksByGroups)), use("loopToReduce"),
              use("reduceToItems")})(e, r);
}

}  // namespace

Strategy reductionsByGroups(Nat chunk) {
  const Strategy divided = whereRunOnce(seq({use("reduceInChunks", {{"c", chunk}}), chunksByGroups}));
  return seq({fused(), [divided](Expr e, Rewriting& r) -> std::optional<Expr> {
                const auto changed = divided(e, r);
                return changed == e ? std::nullopt : changed;
              }});
}

Strategy dotProducts(Nat rows, Nat columns, int batch) {
  return seq({tidy(), below(batch, topDown(use("tileMaps", {{"k", rows}, {"l", columns}}))), tidy(), reductionsApart(),
              sumsInLanes(), reductionsTogether("a row of the tile"), reductionsApart(), reductionsTogether("its rows"),
              reducedInRegisters(), inParallel(2 + batch)});
}

Strategy stencil(Nat columns, Nat lanes, int outer, std::int64_t unroll) {
  const Arguments width{{"w", lanes}};
  return seq({tidy(), below(outer, outermost(use("mapSplit", {{"k", columns}}))), tidy(), reductionsApart(),
              named("neighbouring windows",
                    topDown(seq({orElse(use("mapReduceZipLeft"), orElse(use("mapReduceZipRight"), use("mapReduce"))),
                                 name("windows")}))),
              tidy(),
              named("in lanes",
                    at("windows", orElse(use("vectoriseAccumulatorsLeft", width),
                                         orElse(use("vectoriseAccumulators", width), use("vectoriseSums", width))))),
              tidy(), sumsOfRows(), reducedInRegisters(), inParallel(outer + 1, 64, unroll)});
}

Strategy mapsInLanes(Nat lanes, int outer, bool fill) {
  const Strategy whole = fill ? seq({below(outer, outermost(filled(lanes))), normalise({"mapTakeOut"})}) : identity();
  return seq({tidy(), whole, below(outer, outermost(use("mapSplit", {{"k", lanes}}))), tidy(),
              named("lanes", below(outer + 1, outermost(use("mapInLanes", {{"w", lanes}})))), tidy(), sumsOfRows(),
              reducedInRegisters(), inParallel(outer + 1)});
}

Strategy stripsInLanes(Nat lanes, Nat vectors, std::function<bool(Expr)> isLoop, int outer) {
  const Strategy loops = attempt(everywhere(when(std::move(isLoop), use("reduceToLoop"))));
  return seq({tidy(), below(outer, outermost(use("mapSplit", {{"k", lanes * vectors}}))), tidy(),
              below(outer + 1, outermost(use("mapSplit", {{"k", lanes}}))), tidy(),
              named("lanes", below(outer + 2, outermost(use("mapInLanes", {{"w", lanes}})))), tidy(), sumsOfRows(),
              reducedInRegisters(), below(outer + 2, seq({loops, sequential(64, 0)})),
              below(outer + 1, outermost(use("mapToLoop"))), inParallel(outer + 1, 64, 0)});
}

namespace {

std::int64_t lanesFor(std::int64_t elements, std::int64_t ofRow, bool together) {
  return widestVector(together ? elements : ofRow);
}

// A tile transposed in registers, half by half; what an odd number of rows leaves is taken element by element.
Strategy transposedByHalves(std::int64_t rows, Nat lanes) {
  if (rows % 2 != 0) return identity();
  return seq({use("transposeByHalves", {{"w", lanes}}), argument(argument(transposedByHalves(rows / 2, lanes)))});
}

Strategy transposedInRegisters(const TransposedTiles& t) {
  const std::int64_t elements = t.rows * t.columns;
  const Nat in = lanesFor(elements, t.columns, t.rowsTogether), out = lanesFor(elements, t.rows, t.columnsTogether);
  const Strategy loaded = use(t.rowsTogether ? "rowsTogetherInRegisters" : "rowsInRegisters", {{"w", in}});
  const Strategy inside = seq({argument(loaded), transposedByHalves(t.rows, widestVector(elements))});
  if (!t.columnsTogether) return seq({use("copyRows", {{"w", out}}), argument(inside)});
  return seq({use("copyRowsTogether", {{"w", out}}), argument(argument(argument(argument(argument(inside)))))});
}

// The matrix in tiles of rows by columns, s at each of them.
Strategy inTiles(Nat rows, Nat columns, const Strategy& overColumns, const Strategy& overRows, const Strategy& s) {
  const Strategy strip = argument(argument(seq({function(body(s)), overRows})));
  return seq(
      {use("transposeInTiles", {{"k", rows}, {"l", columns}}), argument(seq({function(body(strip)), overColumns}))});
}

}  // namespace

bool haveVectors(const TransposedTiles& t) {
  const std::int64_t elements = t.rows * t.columns;
  return lanesFor(elements, t.columns, t.rowsTogether) > 1 && lanesFor(elements, t.rows, t.columnsTogether) > 1;
}

Strategy transposedTiles(const TransposedTiles& t) {
  return [t](Expr e, Rewriting& r) -> std::optional<Expr> {
    const auto shape = shapeOf(t.batch ? spineOf(e).arguments.back().type().element() : spineOf(e).arguments[0].type());
    const Nat rows = t.rowTiles * Nat(t.rows), columns = t.columnTiles * Nat(t.columns);
    const bool inside = t.batch && t.batchInside;
    const Strategy tile = inTiles(t.rows, t.columns, use("mapToLoop"), use("mapToLoop"), transposedInRegisters(t));
    const Strategy blocks = inTiles(rows, columns, use(inside ? "mapToGlobal2" : "mapToGlobal1"),
                                    use(inside ? "mapToGlobal1" : "mapToGlobal0"), tile);
    const Strategy matrix =
        seq({use("transposeFilled", {{"k", missingTo(shape[0], rows)}, {"l", missingTo(shape[1], columns)}}),
             argument(argument(blocks))});
    if (!t.batch) return matrix(e, r);
    const Strategy matrices = seq({function(body(matrix)), use("mapToLoop")});
    return seq({use("mapSplit", {{"k", t.matrices}}),
                argument(seq({function(body(matrices)), use(inside ? "mapToGlobal0" : "mapToGlobal2")}))})(e, r);
  };
}

}  // namespace lift::strategies
