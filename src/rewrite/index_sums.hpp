// Sums of indices of loops, by which elements of arrays are read.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lift/expr.hpp"

namespace lift::rewrite::detail {

// Of indices of generate, and of elements of arrays of indices that other loops take.
using Counts = std::unordered_map<Expr, Nat>;
Counts countsIn(Expr e);

// A sum of indices, each with a factor, from the outermost; and of a constant.
struct AffineIndex {
  std::vector<std::pair<Expr, std::int64_t>> terms;
  std::int64_t constant = 0;

  void add(const AffineIndex& other, std::int64_t factor);
};

// An integer that is written out, perhaps as a size.
std::optional<std::int64_t> integerOf(Expr e);
std::optional<AffineIndex> affineIndex(Expr e, const Counts& counts);
Expr indexOf(const AffineIndex& sum);
bool areEqual(const AffineIndex& a, const AffineIndex& b);
// The least and the greatest value of a sum of indices.
std::optional<std::pair<std::int64_t, std::int64_t>> rangeOf(const AffineIndex& sum, const Counts& counts);

// An array, or its rows at any depth, so that the elements at sums of indices are those at one index after another.
struct IndexedArray {
  Expr array;
  std::vector<Expr> indices;
};
// An element of an array: the array and the indices, the outermost first.
std::optional<IndexedArray> readOf(Expr e);
Expr elementAt(const IndexedArray& read);
bool dependsOn(Expr e, const std::vector<Expr>& binders);
// Calls `visit` on every term, with the binders between, but not on what a term is made of that it takes as an element.
void forEachRead(Expr e, const std::function<bool(Expr term, const std::vector<Expr>& binders)>& visit);

// Names of what is an index replaced by that.
Expr withoutNamesOfIndices(Expr e, const std::function<bool(Expr)>& isIndex);

// map(fun element => body, xs)
Expr mapped(Expr element, Expr body, Expr xs);

// The first number in from..to of which the test, whose answer changes at most once, does not say what it says of
// `from`; to + 1 where there is none.
template <class Test>
std::int64_t firstChange(std::int64_t from, std::int64_t to, Test&& test) {
  const auto first = test(from);
  std::int64_t same = from, other = to + 1;
  while (other - same > 1) {
    const std::int64_t middle = same + (other - same) / 2;
    (test(middle) == first ? same : other) = middle;
  }
  return other;
}

// An index as a function of a sum of indices, linear in each piece of its range: what minima, maxima, remainders and
// conditions make of it. A condition is 0 or 1.
struct Piece {
  std::int64_t from, to, slope, shift;
  std::int64_t at(std::int64_t v) const { return slope * v + shift; }
};
struct PiecewiseIndex {
  AffineIndex sum;  // without a constant
  std::vector<Piece> pieces;
};
std::optional<PiecewiseIndex> piecewiseIndex(Expr e, const Counts& counts);
// a where the condition holds, else b.
std::optional<PiecewiseIndex> chosenIndex(const PiecewiseIndex& condition, const PiecewiseIndex& a,
                                          const PiecewiseIndex& b);

// What an index beyond the ends of an array of so many elements reads.
enum class Border : std::uint8_t { none, value, clamp, mirror, wrap };
struct BorderedIndex {
  AffineIndex sum;
  Border border = Border::none;
  std::int64_t front = 0, behind = 0;  // elements that the sum goes beyond the ends
};
std::optional<BorderedIndex> borderedIndex(const PiecewiseIndex& index, std::int64_t length);

}  // namespace lift::rewrite::detail
