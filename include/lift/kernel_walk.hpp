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
  if (auto* operation = std::get_if<Operation>(&e.node))
    for (auto& a : operation->args) f(a);
  if (auto* convert = std::get_if<Convert>(&e.node)) f(convert->value);
  if (auto* splat = std::get_if<Splat>(&e.node)) f(splat->value);
  if (auto* lane = std::get_if<Lane>(&e.node)) f(lane->vector);
  if (auto* any = std::get_if<AnyLane>(&e.node)) f(any->vector);
  if (auto* vector = std::get_if<MakeVector>(&e.node))
    for (auto& l : vector->lanes) f(l);
  if (auto* choice = std::get_if<Choose>(&e.node)) {
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
  if (auto* index = std::get_if<Index>(&e.node)) f(index->value);
  if (auto* load = std::get_if<Load>(&e.node)) f(load->index);
  if (auto* test = std::get_if<Test>(&e.node))
    for (auto& c : test->all) {
      f(c.lhs);
      f(c.rhs);
    }
}

// The expression with every operand replaced by f(operand); the same pointer when nothing changes.
template <class F>
ExprPtr mapChildren(const ExprPtr& e, F&& f) {
  if (const auto* l = std::get_if<Lane>(&e->node)) {
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

// Calls f(ExprPtr&) on the expressions that a statement itself holds (not those of nested statements).
template <class S, class F>
void forEachRoot(S& s, F&& f) {
  if (auto* declare = std::get_if<Declare>(&s.node); declare != nullptr && declare->value) f(*declare->value);
  if (auto* assign = std::get_if<Assign>(&s.node)) f(assign->value);
  if (auto* assign = std::get_if<AssignLane>(&s.node)) f(assign->value);
  if (auto* declare = std::get_if<DeclareIndex>(&s.node)) f(declare->value);
  if (auto* store = std::get_if<Store>(&s.node)) f(store->value);
  if (auto* branch = std::get_if<If>(&s.node)) f(branch->condition);
  if (auto* fault = std::get_if<Fault>(&s.node)) f(fault->value);
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
    if (const auto* l = std::get_if<Load>(&e.node)) f(l->buffer, l->index, e.type.width, false);
  });
  if (const auto* st = std::get_if<Store>(&s.node)) f(st->buffer, st->index, st->value->type.width, true);
}

// Replaces the expressions that a statement itself holds by f(ExprPtr).
template <class F>
void mapRoots(Stmt& s, F&& f) {
  forEachRoot(s, [&](ExprPtr& e) { e = f(e); });
}

// Calls f(Nat&) on the integers that a statement itself holds outside of its expressions.
template <class S, class F>
void forEachOwnNat(S& s, F&& f) {
  if (auto* store = std::get_if<Store>(&s.node)) f(store->index);
  if (auto* prefetch = std::get_if<Prefetch>(&s.node)) f(prefetch->index);
  if (auto* loop = std::get_if<For>(&s.node)) f(loop->count);
  if (auto* fault = std::get_if<Fault>(&s.node)) f(fault->bound);
}

// Replaces them by f(Nat).
template <class F>
void mapOwnNats(Stmt& s, F&& f) {
  forEachOwnNat(s, [&](Nat& n) { n = f(n); });
}

// The variable that a statement itself reads outside of its expressions.
inline std::optional<VarId> ownRead(const Stmt& s) {
  if (const auto* combine = std::get_if<Combine>(&s.node)) return combine->variable;
  const auto* loop = std::get_if<For>(&s.node);
  return loop != nullptr ? loop->running : std::nullopt;
}

// The same loop around another body.
inline For withBody(const For& loop, Block body) {
  return {loop.index, loop.count, loop.kind, loop.dim, loop.trip, loop.unroll, std::move(body), loop.running};
}

// Calls f(Block&) on the blocks directly inside a statement.
template <class S, class F>
void forEachBlock(S& s, F&& f) {
  if (auto* loop = std::get_if<For>(&s.node)) f(loop->body);
  if (auto* branch = std::get_if<If>(&s.node)) {
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
template <class Loop>
bool anyLoop(const Block& block, Loop&& f) {
  return anyStmt(block, [&](const Stmt& s) {
    const auto* loop = std::get_if<For>(&s.node);
    return loop != nullptr && f(*loop);
  });
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
