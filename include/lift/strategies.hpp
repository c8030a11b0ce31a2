// Strategies that many programs share, composed of the rules of the tables.
#pragma once

#include "lift/rewrite.hpp"

namespace lift::strategies {

// OpenCL maps and reductions back to functional ones.
rewrite::Strategy raise();

// What only rearranges data fused into what reads it, layouts of results moved outwards.
rewrite::Strategy tidy();

// s at the outermost map that computes; layouts of the result around it are passed over.
rewrite::Strategy outermost(rewrite::Strategy s);

// The outermost maps, nested in each other, over global dimensions dimensions - 1 … 0.
rewrite::Strategy parallel(int dimensions);

// Everything else in loops: maps over at most `unrolled` elements unrolled, reductions unrolled by `unroll` (1: not,
// 0: completely).
rewrite::Strategy sequential(std::int64_t unrolled = 64, std::int64_t unroll = 1);

// A matrix product, map of map of reduce, in functional form: tiles of rows by columns, lanes over columns, one tile
// per work-item in registers. rows, columns and lanes divide what they cut.
rewrite::Strategy matrixProduct(Nat rows, Nat columns, Nat lanes);

// A stencil: for every row a map over its windows, which reduces the zip of a window with weights: columns neighbouring
// windows per work-item, in lanes.
rewrite::Strategy stencil(Nat columns, Nat lanes);

}  // namespace lift::strategies
