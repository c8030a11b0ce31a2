// The strategy of products whose operands are copied to local memory block by block.
#include "lift/strategies.hpp"
#include "lift/terms.hpp"

namespace lift::strategies {

using namespace rewrite;

namespace {

bool isReduction(Expr e) {
  const Spine s = spineOf(e);
  return s.isPrim(Prim::reduce) && s.arguments.size() == 3;
}
// The map over columns, around the reduction of each; the map over rows around it.
bool isOverColumns(Expr e) { return isComputingMap(e) && isReduction(spineOf(e).arguments[0].body()); }
bool isOverRows(Expr e) { return isComputingMap(e) && isOverColumns(spineOf(e).arguments[0].body()); }

// s at the function of the outermost reduction.
Strategy inStep(Strategy s) { return inside(isReduction, function(std::move(s))); }

Strategy times(int n, const Strategy& s) { return seq(std::vector<Strategy>(static_cast<std::size_t>(n), s)); }

}  // namespace

Strategy stagedProduct(const StagedProduct& p) {
  const auto tiles = [](Nat rows, Nat columns) {
    return seq({inside(isOverRows, use("tileMaps", {{"k", rows}, {"l", columns}})), layoutsOut()});
  };
  const Strategy right = topDown(use("mapReduceZipRight")), left = topDown(use("mapReduceZipLeft"));
  // Steps of `depth` elements, out of the maps over a work-item's columns and rows and over a group's work-items.
  const Strategy steps =
      seq({inside(isReduction, use("reduceSplit", {{"k", p.depth}})), normalise({"splitZip", "mapFusionMoves"}),
           normalise({"reduceMap"}), inside(isOverColumns, use("mapReduceZipRight")),
           inside(isOverColumns, use("mapReduceZipLeft")), inside(isOverColumns, use("mapReduceZipRight")),
           inside(isOverColumns, use("mapReduceZipLeft"))});
  const Strategy registers =
      inStep(seq({right, normalise({"mapFirst", "mapSecond"}), topDown(use("vectoriseAccumulators", {{"w", p.lanes}})),
                  topDown(use("mapAsScalarOut")), left, layoutsOut(),
                  normalise({"mapIdentity", "mapFirst", "mapSecond", "mapFusionMoves"}),
                  inside(isReduction, use("elementsInVectors", {{"w", p.rowLanes}}))}));
  Arguments copies{{"p", p.rowItems}, {"q", p.columnItems}};
  if (p.vector) copies.emplace("v", *p.vector);
  const Strategy near = inside(isReduction, use(p.vector ? "stageInVectors" : "stage", copies));
  const auto map = [](const char* rule, Arguments arguments = {}) {
    return inside(isComputingMap, use(rule, std::move(arguments)));
  };
  return seq({tiles(p.rows * p.rowItems, p.columns * p.columnItems), tiles(p.rows, p.columns), steps, registers, near,
              inside(isReduction, use("reduceByItems", {{"w", p.lanes}})), p.batch ? map("mapToGroups2") : identity(),
              map("mapToGroups1"), map("mapToGroups0"),
              inStep(seq({map("mapToItems1"), map("mapToItems0"),
                          inside(isReduction, use("reduceToUnrolled", {{"u", p.unroll}})),
                          times(2, map("mapToUnrolled", {{"u", 0}}))})),
              inside(isReduction, use("reduceToLoop"))});
}

}  // namespace lift::strategies
