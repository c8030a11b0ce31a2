// What restates a program so that its parts stand alone (restate.cpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lift/rewrite.hpp"

namespace lift::detail::parts {

inline const rewrite::Path toBody = {0, 1, 0};  // of a map or a reduction: the body of its function

bool isLoop(const Spine& s);
// The function of a loop, and what it runs over.
Expr functionOf(const Spine& loop);

// What stands around a term: loops and names, from the outermost. Names outside of all loops are as good as inputs.
struct Binder {
  Expr variable;        // of a reduction: accumulator and element
  Expr value;           // a name's; what a loop runs over
  rewrite::Path place;  // of the loop or the let
  bool isLoop = false;

  // Whether the term needs what stands in the accumulator of a reduction.
  bool accumulates(Expr term) const;
  // Of a map over arrays that are zipped: those whose elements the term needs, where it does not need all.
  std::optional<std::vector<Expr>> arraysOf(Expr term) const;
};

// The next term to be lifted out of the loops around it: a product that is worth a family, what stands in its way, or
// an array that would be computed again for each of its elements.
std::optional<rewrite::Path> placeToLift(Expr program);
// The part at `place` by maps of its own, outside of all loops whose elements it depends on; `place` is where it is
// then.
std::optional<Expr> lifted(Expr e, rewrite::Rewriting& r, rewrite::Path& place);

// At every place that no loop runs, the strategy that `chosen` has for the term, where it applies.
rewrite::Strategy outsideLoops(const std::function<std::optional<rewrite::Strategy>(Expr)>& chosen);

// Iterations or folds within maps whose steps multiply by what is the same for all elements, as those of all elements,
// by the rule that exchanges both: the products are parts.
rewrite::Strategy loopsOutside(Prim loop, const char* rule);

// The loops of a product in the order batch, rows, columns.
rewrite::Strategy productLoops();

// Products of long sums as products of chunks, whose results are added, and columns that are reduced in chunks of rows.
rewrite::Strategy deepProductsInChunks();
rewrite::Strategy columnsInChunks();

}  // namespace lift::detail::parts
