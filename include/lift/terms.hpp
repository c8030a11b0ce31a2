// Questions about terms, and changes of them, that code generation, rewriting and the inference of constraints share.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lift/expr.hpp"
#include "lift/primitive.hpp"

namespace lift {

// body, as a function of `parameter`, is a chain of invertible layouts (also under map).
bool isInvertibleIn(Expr body, Expr parameter);
// A result of parallel loops under layouts, of which `take` may crop some: it is written where it belongs, and what is
// cropped is not.
bool isCroppedResult(Expr e);
// Evaluating the term (all of it) only moves data; variables and literals count.
bool onlyMovesData(Expr e);
// Whether evaluating the term may find its data wrong. Integers divided by literals do not.
bool mayFailWithin(Expr e);
// Whether there are evaluations of the application that leave the argument out.
bool isOptional(const Spine& s, std::size_t argument);
// An operation on integers as one on sizes and indices; nothing where they have none.
std::optional<Nat> onNats(Op op, const std::vector<Nat>& operands);
bool anyPrimitive(Expr e, const std::function<bool(Expr primitive)>& test);

// The term with f applied to what is directly below it: the body of a lambda, the arguments of an application.
template <class F>
Expr withParts(Expr e, F&& f) {
  if (e.is(Expr::Form::lambda)) return Expr::lambda(e.parameter(), f(e.body()));
  if (!e.is(Expr::Form::apply)) return e;
  Spine s = spineOf(e);
  for (Expr& a : s.arguments) a = f(a);
  return applyAll(s.head, s.arguments);
}

// Every occurrence of the keys replaced; keys may be any terms. The replacements' free variables must not be bound in
// the term.
Expr replaceTerms(Expr e, const std::unordered_map<Expr, Expr>& replacements);

// The same term with new bound variables.
Expr withFreshBinders(Expr e);

}  // namespace lift
