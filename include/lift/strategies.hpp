// Strategies that many programs share, composed of the rules of the tables.
#pragma once

#include "lift/rewrite.hpp"

namespace lift::strategies {

// OpenCL maps and reductions back to functional ones.
rewrite::Strategy raise();

// What only rearranges data fused into what reads it, layouts of results moved outwards.
rewrite::Strategy tidy();

// Tidied, and what is mapped in front of a reduction done by the reduction.
rewrite::Strategy fused();

// s at the outermost map that computes; layouts of the result around it are passed over.
rewrite::Strategy outermost(rewrite::Strategy s);

// The outermost maps, nested in each other, over global dimensions dimensions - 1 … 0.
rewrite::Strategy parallel(int dimensions);

// Everything else in loops: maps over at most `unrolled` elements unrolled, reductions unrolled by `unroll` (1: not,
// 0: completely).
rewrite::Strategy sequential(std::int64_t unrolled = 64, std::int64_t unroll = 1);

// Below so many outermost maps: s at the body of the last.
rewrite::Strategy below(int maps, rewrite::Strategy s);

// Every element of an array of that rank copied by a work-item of its own.
rewrite::Strategy copyInParallel(int dimensions);

// The innermost of three dimensions at most, of which windows are slid over, has so many windows more that `columns`
// divides them; what they give is cropped. In functional form.
rewrite::Strategy filledWindows(Nat columns, int outer);

// A matrix product, map of map of reduce below `batch` more maps, in functional form: tiles of rows by columns, lanes
// over columns, one tile per work-item in registers. rows, columns and lanes divide what they cut, but for what is
// filled: there the last tile computes rows or columns again, and they are cropped. With panels, the columns of each
// tile are copied to where they are read one after the other, by a kernel of its own, and work-items that read the same
// follow each other; only without a batch. Filled columns are vectors only where they are
// copied, by panels or by `prepared`.
struct ProductTile {
  Nat rows, columns, lanes;
  int batch = 0;
  bool panels = false;
  bool fillRows = false, fillColumns = false;
  rewrite::Strategy prepared = {};  // what is done once it is filled, before it is cut
};
rewrite::Strategy matrixProduct(const ProductTile& tile);

// A stencil in functional form: for every window below `outer` maps (rows of images: 1) a reduction of it, or of its
// zip with weights. `columns` neighbouring windows per work-item, in lanes; the reduction is unrolled by `unroll` (0:
// completely). columns and lanes divide what they cut.
rewrite::Strategy stencil(Nat columns, Nat lanes, int outer = 1, std::int64_t unroll = 0);

}  // namespace lift::strategies
