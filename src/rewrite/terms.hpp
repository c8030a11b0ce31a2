// Questions and changes of terms that matching and the rules' conditions share.
#pragma once

#include <functional>
#include <vector>

#include "lift/build.hpp"
#include "lift/expr.hpp"
#include "lift/terms.hpp"

namespace lift::rewrite::detail {

// Equal up to the identity of bound variables.
bool alphaEqual(Expr a, Expr b);

using build::component;

// Calls `visit` on the term and its subterms, in the order of the text, with the binders between; stops at true.
bool anySubterm(Expr e, const std::function<bool(Expr, const std::vector<Expr>& binders)>& visit);

// Whether let(f, x) may be f(x): computing x at each use costs no more than computing it once.
bool inlines(Expr f, Expr x);

// Whether a reduction by this function of (accumulator, element) gives the same result, but for rounding, whatever
// order its elements come in, as far as accumulationOf sees.
bool accumulates(Expr f);

// Whether the function is linear, by the form of its body: sums, multiples by what does not depend on its parameter,
// and rearrangements, in maps and lets as well.
bool isLinear(Expr f);

}  // namespace lift::rewrite::detail
