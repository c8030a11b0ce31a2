// Traversal of kernels: what passes, printer, verifier and emulator share.
#pragma once

#include <set>
#include <utility>
#include <variant>

#include "lift/diagnostic.hpp"
#include "lift/kernel.hpp"

namespace lift::kernel {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

template <class Node, class... F>
decltype(auto) match(Node&& node, F&&... f) {
  return std::visit(Overloaded{std::forward<F>(f)...}, std::forward<Node>(node));
}

// Of the walks below: what is const is walked as const, else f may replace what it gets.

// Calls f(ExprPtr&) on the operands of one expression.
template <class E, class F>
void forEachChild(E& e, F&& f) {
  if (auto* operation = as<Operation>(e))
    for (auto& a : operation->args) f(a);
  if (auto* convert = as<Convert>(e)) f(convert->value);
  if (auto* splat = as<Splat>(e)) f(splat->value);
  if (auto* lane = as<Lane>(e)) f(lane->vector);
  if (auto* any = as<AnyLane>(e)) f(any->vector);
  if (auto* vector = as<MakeVector>(e))
    for (auto& l : vector->lanes) f(l);
  if (auto* choice = as<Choose>(e)) {
    f(choice->condition);
    f(choice->then);
    f(choice->otherwise);
  }
}

// Calls f(const Expr&) on an expression and everything below it, operands first.
template <class F>
void forEachExpr(const Expr& e, F&& f) {
  forEachChild(e, [&](const ExprPtr& c) { forEachExpr(*c, f); });
  f(e);
}

// Calls f(Nat&) on the integers of one expression, not of its operands.
template <class E, class F>
void forEachNat(E& e, F&& f) {
  if (auto* index = as<Index>(e)) f(index->value);
  if (auto* load = as<Load>(e)) f(load->index);
  if (auto* test = as<Test>(e))
    for (auto& c : test->all) {
      f(c.lhs);
      f(c.rhs);
    }
}

// The expression with every operand replaced by f(operand); the same pointer when nothing changes.
template <class F>
ExprPtr mapChildren(const ExprPtr& e, F&& f) {
  if (const auto* l = as<Lane>(e)) {
    ExprPtr vector = f(l->vector);
    return vector == l->vector ? e : lane(std::move(vector), l->lane);
  }
  Expr now = *e;
  bool changed = false;
  forEachChild(now, [&](ExprPtr& child) {
    ExprPtr by = f(child);
    changed |= by != child;
    child = std::move(by);
  });
  return changed ? std::make_shared<const Expr>(std::move(now)) : e;
}

// The expression with its own integers (not its operands') replaced by f(Nat).
template <class F>
ExprPtr mapNats(const ExprPtr& e, F&& f) {
  Expr now = *e;
  bool changed = false;
  forEachNat(now, [&](Nat& n) {
    const Nat by = f(n);
    changed |= by != n;
    n = by;
  });
  return changed ? std::make_shared<const Expr>(std::move(now)) : e;
}

// The expression with all its integers, those of its operands too, replaced by f(Nat).
template <class F>
ExprPtr mapAllNats(const ExprPtr& e, const F& f) {
  return mapNats(mapChildren(e, [&](const ExprPtr& c) { return mapAllNats(c, f); }), f);
}

// Calls f(ExprPtr&) on the expressions that a statement itself holds (not those of nested statements).
template <class S, class F>
void forEachRoot(S& s, F&& f) {
  if (auto* declare = as<Declare>(s); declare != nullptr && declare->value) f(*declare->value);
  if (auto* assign = as<Assign>(s)) f(assign->value);
  if (auto* assign = as<AssignLane>(s)) f(assign->value);
  if (auto* declare = as<DeclareIndex>(s)) f(declare->value);
  if (auto* store = as<Store>(s)) f(store->value);
  if (auto* branch = as<If>(s)) f(branch->condition);
  if (auto* fault = as<Fault>(s)) f(fault->value);
}

// Calls f(const Expr&) on these and everything below them, operands first.
template <class F>
void forEachExpr(const Stmt& s, F&& f) {
  forEachRoot(s, [&](const ExprPtr& e) { forEachExpr(*e, f); });
}

// Calls f(buffer, index, width, whether it is a store) on the accesses that a statement itself makes, loads first.
template <class F>
void forEachAccess(const Stmt& s, F&& f) {
  forEachExpr(s, [&](const Expr& e) {
    if (const auto* l = as<Load>(e)) f(l->buffer, l->index, e.type.width, false);
  });
  if (const auto* st = as<Store>(s)) f(st->buffer, st->index, st->value->type.width, true);
}

// Replaces the expressions that a statement itself holds by f(ExprPtr).
template <class F>
void mapRoots(Stmt& s, F&& f) {
  forEachRoot(s, [&](ExprPtr& e) { e = f(e); });
}

// Calls f(Nat&) on the integers that a statement itself holds outside of its expressions.
template <class S, class F>
void forEachOwnNat(S& s, F&& f) {
  if (auto* store = as<Store>(s)) f(store->index);
  if (auto* prefetch = as<Prefetch>(s)) f(prefetch->index);
  if (auto* loop = as<For>(s)) f(loop->count);
  if (auto* fault = as<Fault>(s)) f(fault->bound);
}

// Calls f(Nat) on these and on those of its expressions.
template <class F>
void forEachNat(const Stmt& s, F&& f) {
  forEachOwnNat(s, f);
  forEachExpr(s, [&](const Expr& e) { forEachNat(e, f); });
}

// Replaces those outside of its expressions by f(Nat).
template <class F>
void mapOwnNats(Stmt& s, F&& f) {
  forEachOwnNat(s, [&](Nat& n) { n = f(n); });
}

// Replaces these and those of its expressions by f(Nat).
template <class F>
void mapAllNats(Stmt& s, const F& f) {
  mapOwnNats(s, f);
  mapRoots(s, [&](const ExprPtr& e) { return mapAllNats(e, f); });
}

// The variable that a statement itself reads outside of its expressions.
inline std::optional<VarId> ownRead(const Stmt& s) {
  if (const auto* combine = as<Combine>(s)) return combine->variable;
  const auto* loop = as<For>(s);
  return loop != nullptr ? loop->running : std::nullopt;
}

// The same loop around another body.
inline For withBody(const For& loop, Block body) {
  return {loop.index, loop.count, loop.kind, loop.dim, loop.trip, loop.unroll, std::move(body), loop.running};
}

// Calls f(Block&) on the blocks directly inside a statement.
template <class S, class F>
void forEachBlock(S& s, F&& f) {
  if (auto* loop = as<For>(s)) f(loop->body);
  if (auto* branch = as<If>(s)) {
    f(branch->then);
    f(branch->otherwise);
  }
}

// Calls f(Stmt&) on every statement, outer ones first.
template <class B, class F>
void forEachStmt(B& block, F&& f) {
  for (auto& s : block) {
    f(s);
    forEachBlock(s, [&](auto& inner) { forEachStmt(inner, f); });
  }
}

// Whether f(statement) of any of them; whether f(expression) of any of those in an expression or in a statement itself.
// With a type (anyStmt<For>, anyExpr<Load>): of those of that type, as which f gets them.
template <class F>
bool anyStmt(const Block& block, F&& f) {
  bool found = false;
  forEachStmt(block, [&](const Stmt& s) { found = found || f(s); });
  return found;
}
template <class In, class F>
bool anyExpr(const In& in, F&& f) {
  bool found = false;
  forEachExpr(in, [&](const Expr& e) { found = found || f(e); });
  return found;
}
template <class T, class F>
bool anyStmt(const Block& block, F&& f) {
  return anyStmt(block, [&](const Stmt& s) { return is<T>(s) && f(*as<T>(s)); });
}
template <class T, class In, class F>
bool anyExpr(const In& in, F&& f) {
  return anyExpr(in, [&](const Expr& e) { return is<T>(e) && f(*as<T>(e)); });
}

// Whether no other loop is in it.
inline bool isInnermost(const For& loop) {
  return !anyStmt(loop.body, [](const Stmt& s) { return is<For>(s); });
}

// The buffers that statements load from and store to.
inline std::set<BufferId> usedBuffers(const Block& block) {
  std::set<BufferId> used;
  forEachStmt(block, [&](const Stmt& s) { forEachAccess(s, [&](BufferId b, Nat, int, bool) { used.insert(b); }); });
  return used;
}

// Number of work-items, groups, … that a parallel loop is distributed over.
inline Nat parallelism(const NDRange& range, LoopKind kind, int dim) {
  const auto d = static_cast<std::size_t>(dim);
  switch (kind) {
    case LoopKind::group: return floorDiv(range.global[d], range.local[d]);
    case LoopKind::local: return range.local[d];
    case LoopKind::global: return range.global[d];
    case LoopKind::sequential: break;
  }
  return 1;
}

}  // namespace lift::kernel
