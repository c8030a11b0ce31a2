// Questions and changes of terms that matching and the rules' conditions share.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lift/build.hpp"
#include "lift/expr.hpp"
#include "lift/terms.hpp"

namespace lift::rewrite::detail {

// Equal up to the identity of bound variables.
bool alphaEqual(Expr a, Expr b);

using build::component;

// f(x) of all x, where there is one of each.
template <class Range, class F>
auto ofAll(const Range& range, F&& f) {
  std::optional<std::vector<typename decltype(f(*range.begin()))::value_type>> all(std::in_place);
  for (const auto& x : range) {
    auto result = f(x);
    if (!result) return decltype(all)();
    all->push_back(std::move(*result));
  }
  return all;
}

// Calls `visit` on the term and its subterms, in the order of the text, with the binders between; stops at true.
bool anySubterm(Expr e, const std::function<bool(Expr, const std::vector<Expr>& binders)>& visit);

// The terms in a term that no condition leaves out.
std::unordered_set<Expr> evaluatedAlways(Expr e);

// Whether let(f, x) may be f(x): computing x at each use costs no more than computing it once.
bool inlines(Expr f, Expr x);

// Adds array[index] -> name to the replacements where the term has that.
void nameReads(Expr term, Expr index, Expr array, Expr name, std::unordered_map<Expr, Expr>& replacements);

// The body of a reduction's function, as a term of one accumulator and one element; nothing where it takes them
// together.
struct FoldStep {
  Expr accumulator, element, body;
};
std::optional<FoldStep> foldStepOf(Expr f);

// Whether a reduction by this function of (accumulator, element) gives the same result, but for rounding, whatever
// order its elements come in, as far as accumulationOf sees.
bool accumulates(Expr f);

// Whether the function is linear, by the form of its body: sums, multiples by what does not depend on its parameter,
// and rearrangements, in maps and lets as well.
bool isLinear(Expr f);

}  // namespace lift::rewrite::detail
