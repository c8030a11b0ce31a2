// Private to kernel: what expressions and statements mention, and how.
#pragma once

#include <optional>

#include "lift/kernel_walk.hpp"

namespace lift::kernel {

// Calls f(VarId) for every variable that an expression reads.
template <class F>
void forEachRead(const Expr& e, F&& f) {
  forEachExpr(e, [&](const Expr& inner) {
    if (const auto* v = as<VarRef>(inner)) f(v->variable);
  });
}

// The variable to which a statement itself gives a value.
inline std::optional<VarId> assignedBy(const Stmt& s) {
  if (const auto* d = as<Declare>(s)) return d->value ? std::optional(d->variable) : std::nullopt;
  if (const auto* a = as<Assign>(s)) return a->variable;
  if (const auto* a = as<AssignLane>(s)) return a->variable;
  if (const auto* c = as<Combine>(s)) return c->variable;
  return std::nullopt;
}

// Calls f(VarId) for every variable that a statement or anything in it mentions, declarations excepted.
template <class F>
void forEachMention(const Stmt& s, F&& f) {
  const auto one = [&](const Stmt& inner) {
    forEachRoot(inner, [&](const ExprPtr& e) { forEachRead(*e, f); });
    if (const auto v = assignedBy(inner)) f(*v);
    if (const auto v = ownRead(inner)) f(*v);
  };
  one(s);
  forEachBlock(s, [&](const Block& b) { forEachStmt(b, one); });
}

// The greatest constant by which the index itself is divided in the statements (pass_nest.cpp), or 0.
std::int64_t divisorIn(const Block& block, NatVar index);

}  // namespace lift::kernel
