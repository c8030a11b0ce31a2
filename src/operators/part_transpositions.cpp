// Families of data that is moved into another order.
#include <algorithm>

#include "lift/strategies.hpp"
#include "lift/transposition.hpp"
#include "part_tiles.hpp"

namespace lift::detail::parts {

using namespace rewrite;

namespace {

// The tile in registers: whole lines of caches where 16 lanes fill one, or whole rows where these are shorter. Of wider
// tiles of bytes compilers take seconds.
strategies::TransposedTiles tilesOf(const Transposition& t) {
  constexpr std::int64_t line = 64, widest = 16;
  const std::int64_t lanes = std::min(widest, line / static_cast<std::int64_t>(info(scalarOf(t.element)).bytes));
  strategies::TransposedTiles tiles{std::min(lanes, t.rows), std::min(lanes, t.columns)};
  tiles.rowsTogether = t.rowsFollow && tiles.columns == t.columns;
  tiles.columnsTogether = t.columnsFollow && tiles.rows == t.rows;
  tiles.batch = t.batch > 1;
  tiles.batchInside = t.batchInside;
  return tiles;
}

// How many tiles a work-item has: so much as takes longer than giving it to one, along the longer side.
struct TilesOfItem {
  TilesOfItem(const Transposition& t, const strategies::TransposedTiles& tiles)
      : mostRows(ceilDiv(t.rows, tiles.rows)), mostColumns(ceilDiv(t.columns, tiles.columns)) {
    constexpr std::int64_t elementsOfItem = 1 << 10;
    const std::int64_t wanted = std::max<std::int64_t>(1, elementsOfItem / (tiles.rows * tiles.columns));
    const auto even = [&](std::int64_t n) { return ceilDiv(n, ceilDiv(n, wanted)); };
    (mostRows > mostColumns ? rows : columns) = even(std::max(mostRows, mostColumns));
    if (tiles.batch) matrices = largestDivisor(t.batch, std::max<std::int64_t>(1, wanted / (rows * columns)));
  }

  std::int64_t mostRows, mostColumns;
  std::int64_t rows = 1, columns = 1, matrices = 1;
};

}  // namespace

strategies::TransposedTiles usualTiles(const Transposition& t) {
  strategies::TransposedTiles tiles = tilesOf(t);
  const TilesOfItem usual(t, tiles);
  tiles.rowTiles = usual.rows;
  tiles.columnTiles = usual.columns;
  tiles.matrices = usual.matrices;
  return tiles;
}

std::vector<OperatorFamily> transpositionFamilies(const Transposition& t) {
  const strategies::TransposedTiles tiles = tilesOf(t);
  if (!haveVectors(tiles)) return {};
  const TilesOfItem usual(t, tiles);
  const auto derive = [=](Rewriting& r) {
    strategies::TransposedTiles chosen = tiles;
    chosen.rowTiles = r.tunable("rowTiles", 1, usual.mostRows);
    chosen.columnTiles = r.tunable("columnTiles", 1, usual.mostColumns);
    if (tiles.batch) chosen.matrices = r.tunable("matrices", 1, t.batch);
    r.apply(use("asTransposition"));
    r.within(t.moved, [&] { r.apply(strategies::transposedTiles(chosen)); });
    if (t.computes) r.apply(strategies::outermost(use("mapIntoResult")));
  };
  Config defaults{{"rowTiles", usual.rows}, {"columnTiles", usual.columns}};
  if (tiles.batch) defaults["matrices"] = usual.matrices;
  return {{.name = "tiles",
           .meaning = "tiles transposed in registers",
           .derive = derive,
           .defaults = std::move(defaults),
           .forProcessors = true}};  // neighbouring work-items read and write what lies far apart
}

}  // namespace lift::detail::parts
