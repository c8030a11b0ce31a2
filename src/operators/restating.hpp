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

// A loop or a name (let) around a term. Names outside of all loops do not count: they are like inputs.
struct Binder {
  Expr variable;        // the name, or a loop's element; of a reduction the pair of accumulator and element
  Expr value;           // what the name stands for, or the array that a loop runs over
  rewrite::Path place;  // of the loop or the let
  bool isLoop = false;

  // Whether the term needs what stands in the accumulator of a reduction.
  bool accumulates(Expr term) const;
  // Of a loop over zipped arrays: those whose elements the term needs; nothing where it needs all of them.
  std::optional<std::vector<Expr>> arraysOf(Expr term) const;
};

// The next term to be lifted out of the loops around it: a product that is worth a family, what stands in its way, or
// an array that would be computed again for each of its elements.
std::optional<rewrite::Path> placeToLift(Expr program);
// The term with its part at `place` computed by maps of its own in front of the loops around it; `place` becomes the
// part's new place. Nothing where a loop cannot be divided so.
std::optional<Expr> lifted(Expr e, rewrite::Rewriting& r, rewrite::Path& place);

// At every place that no loop runs, the strategy that `chosen` has for the term, where it applies.
rewrite::Strategy outsideLoops(const std::function<std::optional<rewrite::Strategy>(Expr)>& chosen);

// Iterations or folds within maps become iterations or folds of all elements together, by the rule that exchanges the
// two loops, where a step multiplies by an array that is the same for all elements: then it is a matrix product, and a
// part.
rewrite::Strategy loopsOutside(Prim loop, const char* rule);

// The loops of a product in the order batch, rows, columns.
rewrite::Strategy productLoops();

// Products of long sums as products of chunks, whose results are added, and columns that are reduced in chunks of rows.
rewrite::Strategy deepProductsInChunks();
rewrite::Strategy columnsInChunks();

}  // namespace lift::detail::parts
