// Strategies that many programs share, composed of the rules of the tables.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "lift/rewrite.hpp"

namespace lift::strategies {

// OpenCL maps and reductions back to functional ones.
rewrite::Strategy raise();

// What only rearranges data fused into what reads it, layouts of results moved outwards.
rewrite::Strategy tidy();

// Tidied, and what is mapped in front of a reduction done by the reduction.
rewrite::Strategy fused();

// Maps over zipped arrays whose functions use only some of them: over those alone.
rewrite::Strategy ofWhatIsUsed();

// A name, in front of the loops, for the greatest terms that loops compute again and again and for which it `pays`;
// outside of all loops nothing is named.
rewrite::Strategy invariantsNamed(std::function<bool(Expr)> pays);

// Tables in front of all loops for what they compute again and again of the same indices, where that is `costly`.
rewrite::Strategy tablesOfIndices(std::function<bool(Expr)> costly);

// Layouts of results, moved out of the maps that compute them.
rewrite::Strategy layoutsOut();

// A map, applied to a function that does more than move data and to an array.
bool isComputingMap(Expr e);

// s at the outermost map that computes; layouts of the result around it are passed over.
rewrite::Strategy outermost(rewrite::Strategy s);

// The outermost maps, nested in each other, by the rule for dimensions dimensions - 1 … 0: mapToGroups, mapToGlobal.
rewrite::Strategy placedBy(std::string_view rule, int dimensions);

// The outermost maps, nested in each other, over global dimensions dimensions - 1 … 0.
rewrite::Strategy parallel(int dimensions);

// Everything else in loops: maps over at most `unrolled` elements unrolled, reductions unrolled by `unroll` (1: not,
// 0: completely).
rewrite::Strategy sequential(std::int64_t unrolled = 64, std::int64_t unroll = 1);

// Below so many outermost maps: s at the body of the last.
rewrite::Strategy below(int maps, rewrite::Strategy s);

// What n lacks to the next multiple of the divisor.
Nat missingTo(Nat n, Nat divisor);

// A map over so many more elements that `divisor` divides them, the last one again and again, or the last vector of so
// many; what they give is cropped.
rewrite::Strategy filled(Nat divisor, std::optional<Nat> vector = {});

// Every element of an array of that rank copied by a work-item of its own.
rewrite::Strategy copyInParallel(int dimensions);

// The innermost dimension below `outer` others has so many windows more that `columns` divides them; what they give is
// cropped. In functional form.
rewrite::Strategy filledWindows(Nat columns, int outer);

// A matrix product, map of map of reduce below `batch` more maps, in functional form: tiles of rows by columns, lanes
// over columns, in registers. rows, columns and lanes divide what they cut, but for what is filled: there the last tile
// computes rows or columns again, and they are cropped. A work-item has one tile; with tilesOfGroup, a group of one
// work-item has so many, one below the other, whose columns it copies to local memory first. Filled columns are vectors
// only where they are copied, there or by `prepared`.
struct ProductTile {
  Nat rows, columns, lanes;
  int batch = 0;  // with tilesOfGroup at most 1
  // The columns of each tile are copied to where they are read one after the other by a kernel of its own, and
  // work-items that read the same follow each other; only without a batch.
  bool panels = false;
  bool fillRows = false, fillColumns = false;
  rewrite::Strategy prepared = {};  // what is done once it is filled, before it is cut
  std::optional<Nat> tilesOfGroup = {};
  // Of columns whose elements lie one after the other: they are copied to local memory in vectors of so many, which
  // divide the reduction.
  std::optional<Nat> copiedInBlocks = {};
};
rewrite::Strategy matrixProduct(const ProductTile& tile);

// A map of reductions below `outer` more maps, in functional form, whose elements come from memory in order: `rows` of
// them per work-item at once, each in lanes of vectors, and `group` work-items in a group. rows and their product with
// group divide the map, but where it is filled: there the last group computes rows again, and they are cropped.
struct RowSums {
  Nat rows, group;
  int outer = 0;  // at most 2
  bool fill = false;
};
rewrite::Strategy rowSums(const RowSums& tile);

// A work-group for each row below `outer` maps, whose work-items reduce it together, so many neighbouring elements in a
// step, where that is given: these divide it. What is computed of each element with the reductions, they share.
rewrite::Strategy rowsOfGroups(int outer, std::optional<Nat> elements = {});

// A work-group for each element below `outer` maps, at most two, whose work-items share what computes it: each step of
// iterations and folds over arrays, whose states are in local memory, in turns; the rows of a scan; reductions.
// Reductions by index and iterateWhile outside of a step's maps are refused.
rewrite::Strategy stepsOfGroups(int outer);
// These iterations, folds, scans and reductions in a term, outside of the functions of maps.
std::vector<Expr> loopsOfGroup(Expr e);

// The rules of a scan, or of a scanExclusive.
struct ScanRules {
  std::string_view inOrder, inChunks, filled, asRow;
};
const ScanRules& rulesOfScan(Prim scan);

// Reductions that no loop runs, each in chunks of so many elements by a work-group each; what these give one group puts
// together. Its work-items do the rest.
rewrite::Strategy reductionsByGroups(Nat chunk);

// The same of a matrix product whose operands both have the elements of a sum in order: tiles of rows by columns, one
// per work-item. rows and columns divide what they cut.
rewrite::Strategy dotProducts(Nat rows, Nat columns, int batch = 0);

// A matrix product, map of map of reduce below `batch` more maps, in functional form, in blocks of rows by columns
// whose operands a work-group copies to local memory, `depth` elements of the reduction at a time. A block has rowItems
// by columnItems work-items, each rows by columns accumulators, columns in lanes. The last blocks are filled, and
// cropped.
struct StagedProduct {
  // Copied in vectors of neighbours in memory, or one by one: neighbours are elements of a sum, or, across, the rows or
  // columns of the product.
  struct Copy {
    bool across = false;
    std::optional<Nat> vector = {};
  };
  Nat rows, columns, lanes;
  Nat rowLanes;  // of vectors that rows' elements are loaded in
  Nat rowItems, columnItems;
  Nat depth, unroll;
  Copy ofRows = {}, ofColumns = {};
  bool fillDepth = false;  // the last step is filled with zeros, which add zero; else depth divides the reduction
  int batch = 0;
};
rewrite::Strategy stagedProduct(const StagedProduct& p);
// The same below no more maps, its sums in chunks, which divide them: a product for each chunk, by groups of its own,
// and a kernel that adds up what these leave (split-K).
rewrite::Strategy stagedSplitK(StagedProduct p, Nat chunk);

// A stencil in functional form: for every window below `outer` maps (rows of images: 1) a reduction of it, or of its
// zip with weights. `columns` neighbouring windows per work-item, in lanes; the reduction is unrolled by `unroll` (0:
// completely). columns and lanes divide what they cut.
rewrite::Strategy stencil(Nat columns, Nat lanes, int outer = 1, std::int64_t unroll = 0);

// A map below `outer` more maps, in functional form, whatever it computes of an element: `lanes` neighbouring elements
// per work-item, one in each lane of vectors. lanes divides their number, but where it is filled: there the last vector
// computes elements again, and they are cropped.
rewrite::Strategy mapsInLanes(Nat lanes, int outer = 1, bool fill = false);

// The same, `vectors` of them one after the other; lanes * vectors divides their number. Reductions become loops where
// `isLoop` says so, and are written out elsewhere.
rewrite::Strategy stripsInLanes(Nat lanes, Nat vectors, std::function<bool(Expr)> isLoop, int outer = 1);

// transpose(xss), or map(fun m => transpose(m), xsss) of `batch` matrices, in tiles: in registers rows by columns, of
// which a work-item has rowTiles by columnTiles. Where tiles do not divide a matrix the last rows and columns are read
// again and cropped. `matrices` of a batch per work-item, one after the other, divide the batch.
struct TransposedTiles {
  std::int64_t rows, columns;  // vectors have up to 16 lanes of them
  Nat rowTiles = 1, columnTiles = 1, matrices = 1;
  // Rows of the tile follow each other in memory, and so do those of its transpose: then as one they are vectors.
  bool rowsTogether = false, columnsTogether = false;
  bool batch = false;
  bool batchInside = false;  // matrices are written between the rows of others
};
rewrite::Strategy transposedTiles(const TransposedTiles& tiles);
// Whether there are vectors of them.
bool haveVectors(const TransposedTiles& tiles);

}  // namespace lift::strategies
