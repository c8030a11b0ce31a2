// What is computed of each element of a result: a bias and a residual added, a scale for each channel, an activation.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lift/expr.hpp"

namespace lift::rewrite {

// Nested maps over an array and others zipped with it, at any depth:
//   map(fun (row, (r, s)) => map(fun (x, y, b) => max(x * s + y + b, 0), zip(row, r, bs)), zip(result, zip(rs, ss)))
// Each of its elements is `value` of an element of `result`, which no other part of the term reads, and of one of each
// other array at the same place. `others` are of the result's shape: what does not vary along a dimension is repeated
// (fill(n, bs)), by a layout, without memory.
struct Epilogue {
  struct Other {
    Expr element, array;
  };
  Expr result, element, value;
  std::vector<Other> others;
};
// Which of the arrays that the outermost map runs over is the result, the first one that `isResult` accepts, says the
// caller. Nothing where the term is no such map, or its elements are no scalars.
std::optional<Epilogue> epilogueOf(Expr map, const std::function<bool(Expr)>& isResult);

}  // namespace lift::rewrite
