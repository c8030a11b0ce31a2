// Names for what a term computes more than once.
#pragma once

#include <unordered_set>

#include "lift/expr.hpp"

namespace lift::detail {

// Inference shares terms: what it elaborates once and uses again is one node with several parents, which whoever walks
// the term as a tree would meet once for each way to it. This binds those of the `shared` terms by `let`, at the
// innermost place that all uses are below; not where an evaluation of that place could do without the value, and not
// what only rearranges data.
//
// It also puts the value of a `single` variable, one that a let binds, in the variable's place where it is used once
// and not under a lambda.
Expr nameShared(Expr term, const std::unordered_set<Expr>& shared, const std::unordered_set<Expr>& single);

// Without lets of what is a name, a literal or a size; a lambda at an argument becomes a let.
Expr withoutAliases(Expr term);

}  // namespace lift::detail
