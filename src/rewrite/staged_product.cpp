// The strategy of products whose operands are copied to local memory block by block.
#include "lift/strategies.hpp"

#include "lift/terms.hpp"

namespace lift::strategies {

using namespace rewrite;

namespace {

bool isReduction(Expr e) { return spineOf(e).isCall(Prim::reduce); }
// The map over columns, around the reduction of each; the map over rows around it.
bool isOverColumns(Expr e) { return isComputingMap(e) && isReduction(spineOf(e).arguments[0].body()); }
bool isOverRows(Expr e) { return isComputingMap(e) && isOverColumns(spineOf(e).arguments[0].body()); }

// s at the function of the outermost reduction.
Strategy inStep(Strategy s) { return inside(isReduction, function(std::move(s))); }

Strategy times(int n, const Strategy& s) {
  return n > 0 ? seq(std::vector<Strategy>(static_cast<std::size_t>(n), s)) : identity();
}

// Zeros more, so that whole steps are reduced.
Strategy filledSteps(Nat depth) {
  return [depth](Expr e, Rewriting& r) {
    return use("reduceFilled", {{"k", missingTo(spineOf(e).arguments[2].type().length(), depth)}})(e, r);
  };
}

// In the map over columns, what is the same for all columns becomes the first operand of their reductions.
Strategy rowsFirst() {
  return [](Expr e, Rewriting& r) -> std::optional<Expr> {
    const Expr f = spineOf(e).arguments[0];
    const Spine zipped = spineOf(spineOf(f.body()).arguments[2]);
    const bool exchanged = zipped.isPrim(Prim::zip) && zipped.arguments[0].hasFree(f.parameter());
    return exchanged ? function(body(use("reduceExchanged")))(e, r) : e;
  };
}

}  // namespace

Strategy stagedProduct(const StagedProduct& p) {
  const Nat rows = p.rows * p.rowItems, columns = p.columns * p.columnItems;
  const auto fill = [](bool (*where)(Expr), Nat block, const StagedProduct::Copy& copy) {
    return seq({inside(where, filled(block, copy.across ? copy.vector : std::nullopt)), layoutsOut()});
  };
  const auto tiles = [](Nat k, Nat l) {
    return seq({inside(isOverRows, use("tileMaps", {{"k", k}, {"l", l}})), layoutsOut()});
  };
  const Strategy right = topDown(use("mapReduceZipRight")), left = topDown(use("mapReduceZipLeft"));
  // Steps of `depth` elements, out of the maps over a work-item's columns and rows and over a group's work-items.
  const Strategy steps =
      seq({inside(isReduction,
                  seq({p.fillDepth ? filledSteps(p.depth) : identity(), use("reduceSplit", {{"k", p.depth}})})),
           normalise({"splitZip", "mapFusionMoves"}), normalise({"reduceMap"}),
           inside(isOverColumns, use("mapReduceZipRight")), inside(isOverColumns, use("mapReduceZipLeft")),
           inside(isOverColumns, use("mapReduceZipRight")), inside(isOverColumns, use("mapReduceZipLeft"))});
  const Strategy registers =
      inStep(seq({right, normalise({"mapFirst", "mapSecond"}), topDown(use("vectoriseAccumulators", {{"w", p.lanes}})),
                  topDown(use("mapAsScalarOut")), left, layoutsOut(),
                  normalise({"mapIdentity", "mapFirst", "mapSecond", "mapFusionMoves"}),
                  inside(isReduction, use("elementsInVectors", {{"w", p.rowLanes}}))}));
  const auto copied = [&](const StagedProduct::Copy& copy) {
    Arguments arguments{{"p", p.rowItems}, {"q", p.columnItems}};
    if (copy.vector) arguments.emplace("v", *copy.vector);
    const char* along = copy.vector ? "copyAlongInVectors" : "copyAlong";
    const char* across = copy.vector ? "copyAcrossInVectors" : "copyAcross";
    return argument(use(copy.across ? across : along, std::move(arguments)));
  };
  const Strategy near = seq({inside(isReduction, use("nameElements")),
                             inStep(body(seq({copied(p.ofRows), function(body(copied(p.ofColumns)))})))});
  const auto map = [](const char* rule, Arguments arguments = {}) {
    return inside(isComputingMap, use(rule, std::move(arguments)));
  };
  return seq({inside(isOverColumns, rowsFirst()), fill(isOverColumns, columns, p.ofColumns),
              fill(isOverRows, rows, p.ofRows), times(p.batch - 1, seq({map("mapFlatten"), layoutsOut()})),
              tiles(rows, columns), tiles(p.rows, p.columns), steps, registers, near,
              inside(isReduction, use("reduceByItems", {{"w", p.lanes}})),
              p.batch > 0 ? map("mapToGroups2") : identity(), map("mapToGroups1"), map("mapToGroups0"),
              inStep(seq({map("mapToItems1"), map("mapToItems0"),
                          inside(isReduction, use("reduceToUnrolled", {{"u", p.unroll}})),
                          times(2, map("mapToUnrolled", {{"u", 0}}))})),
              inside(isReduction, use("reduceToLoop"))});
}

Strategy stagedSplitK(StagedProduct p, Nat chunk) {
  p.batch = 1;
  const auto isOfChunks = [](Expr e) { return isComputingMap(e) && isOverRows(spineOf(e).arguments[0].body()); };
  return seq({inside(isOverColumns, rowsFirst()),
              inside(isOverRows, seq({use("columnSumsInChunks", {{"c", std::move(chunk)}}),
                                      inside(isOfChunks, seq({use("keepAhead"), argument(stagedProduct(p))})),
                                      below(2, sequential()), parallel(2)}))});
}

}  // namespace lift::strategies
