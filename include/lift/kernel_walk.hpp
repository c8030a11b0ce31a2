// Traversal of kernels: what passes, printer, verifier and emulator share.
#pragma once

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

// Calls f(const ExprPtr&) on the operands of one expression.
template <class F>
void forEachChild(const Expr& e, F&& f) {
  match(
      e.node, [](const Literal&) {}, [](const Index&) {}, [](const VarRef&) {}, [](const Load&) {}, [](const Test&) {},
      [&](const Operation& o) {
        for (const ExprPtr& a : o.args) f(a);
      },
      [&](const Convert& c) { f(c.value); }, [&](const Splat& s) { f(s.value); }, [&](const Lane& l) { f(l.vector); },
      [&](const MakeVector& m) {
        for (const ExprPtr& l : m.lanes) f(l);
      },
      [&](const Choose& c) {
        f(c.condition);
        f(c.then);
        f(c.otherwise);
      });
}

// Calls f(const Expr&) on an expression and everything below it, operands first.
template <class F>
void forEachExpr(const Expr& e, F&& f) {
  forEachChild(e, [&](const ExprPtr& c) { forEachExpr(*c, f); });
  f(e);
}

// Calls f(Nat) on the integers of one expression, not of its operands.
template <class F>
void forEachNat(const Expr& e, F&& f) {
  if (const auto* i = std::get_if<Index>(&e.node)) f(i->value);
  if (const auto* l = std::get_if<Load>(&e.node)) f(l->index);
  if (const auto* t = std::get_if<Test>(&e.node))
    for (const Comparison& c : t->all) {
      f(c.lhs);
      f(c.rhs);
    }
}

// The expression with every operand replaced by f(operand); the same pointer when nothing changes.
template <class F>
ExprPtr mapChildren(const ExprPtr& e, F&& f) {
  const auto with = [&](auto node) { return std::make_shared<const Expr>(Expr{e->type, std::move(node)}); };
  const auto mapAll = [&](const std::vector<ExprPtr>& old, bool& changed) {
    std::vector<ExprPtr> result;
    result.reserve(old.size());
    for (const ExprPtr& a : old) {
      result.push_back(f(a));
      changed |= result.back() != a;
    }
    return result;
  };
  return match(
      e->node,
      [&](const Operation& o) -> ExprPtr {
        bool changed = false;
        std::vector<ExprPtr> args = mapAll(o.args, changed);
        return changed ? with(Operation{o.op, std::move(args)}) : e;
      },
      [&](const Convert& c) -> ExprPtr {
        ExprPtr v = f(c.value);
        return v == c.value ? e : with(Convert{v});
      },
      [&](const Splat& s) -> ExprPtr {
        ExprPtr v = f(s.value);
        return v == s.value ? e : with(Splat{v});
      },
      [&](const Lane& l) -> ExprPtr {
        ExprPtr v = f(l.vector);
        return v == l.vector ? e : lane(v, l.lane);
      },
      [&](const MakeVector& m) -> ExprPtr {
        bool changed = false;
        std::vector<ExprPtr> lanes = mapAll(m.lanes, changed);
        return changed ? with(MakeVector{std::move(lanes)}) : e;
      },
      [&](const Choose& c) -> ExprPtr {
        ExprPtr condition = f(c.condition), then = f(c.then), otherwise = f(c.otherwise);
        if (condition == c.condition && then == c.then && otherwise == c.otherwise) return e;
        return with(Choose{condition, then, otherwise});
      },
      [&](const auto&) -> ExprPtr { return e; });
}

// The expression with its own integers (not its operands') replaced by f(Nat).
template <class F>
ExprPtr mapNats(const ExprPtr& e, F&& f) {
  const auto with = [&](auto node) { return std::make_shared<const Expr>(Expr{e->type, std::move(node)}); };
  if (const auto* i = std::get_if<Index>(&e->node)) {
    const Nat n = f(i->value);
    return n == i->value ? e : with(Index{n});
  }
  if (const auto* l = std::get_if<Load>(&e->node)) {
    const Nat n = f(l->index);
    return n == l->index ? e : with(Load{l->buffer, n});
  }
  if (const auto* t = std::get_if<Test>(&e->node)) {
    bool changed = false;
    std::vector<Comparison> all;
    for (const Comparison& c : t->all) {
      all.push_back({f(c.lhs), c.relation, f(c.rhs)});
      changed |= all.back().lhs != c.lhs || all.back().rhs != c.rhs;
    }
    return changed ? with(Test{std::move(all)}) : e;
  }
  return e;
}

// Calls f(const ExprPtr&) on the expressions that a statement itself holds (not those of nested statements).
template <class F>
void forEachRoot(const Stmt& s, F&& f) {
  match(
      s.node,
      [&](const Declare& d) {
        if (d.value) f(*d.value);
      },
      [&](const Assign& a) { f(a.value); }, [&](const AssignLane& a) { f(a.value); },
      [&](const DeclareIndex& d) { f(d.value); }, [&](const Store& st) { f(st.value); },
      [&](const If& i) { f(i.condition); }, [&](const Fault& x) { f(x.value); }, [](const auto&) {});
}

// Replaces the expressions that a statement itself holds by f(ExprPtr).
template <class F>
void mapRoots(Stmt& s, F&& f) {
  match(
      s.node,
      [&](Declare& d) {
        if (d.value) d.value = f(*d.value);
      },
      [&](Assign& a) { a.value = f(a.value); }, [&](AssignLane& a) { a.value = f(a.value); },
      [&](DeclareIndex& d) { d.value = f(d.value); }, [&](Store& st) { st.value = f(st.value); },
      [&](If& i) { i.condition = f(i.condition); }, [&](Fault& x) { x.value = f(x.value); }, [](auto&) {});
}

// Calls f(Nat) on the integers that a statement itself holds outside of its expressions.
template <class F>
void forEachOwnNat(const Stmt& s, F&& f) {
  match(
      s.node, [&](const Store& st) { f(st.index); }, [&](const For& l) { f(l.count); },
      [&](const Fault& x) { f(x.bound); }, [](const auto&) {});
}

// Replaces them by f(Nat).
template <class F>
void mapOwnNats(Stmt& s, F&& f) {
  match(
      s.node, [&](Store& st) { st.index = f(st.index); }, [&](For& l) { l.count = f(l.count); },
      [&](Fault& x) { x.bound = f(x.bound); }, [](auto&) {});
}

// The variable that a statement itself reads outside of its expressions.
inline std::optional<VarId> ownRead(const Stmt& s) {
  const auto* loop = std::get_if<For>(&s.node);
  return loop != nullptr ? loop->running : std::nullopt;
}

// The same loop around another body.
inline For withBody(const For& loop, Block body) {
  return {loop.index, loop.count, loop.kind, loop.dim, loop.trip, loop.unroll, std::move(body), loop.running};
}

// Calls f(Block&) on the blocks directly inside a statement; S is Stmt or const Stmt.
template <class S, class F>
void forEachBlock(S& s, F&& f) {
  if (auto* loop = std::get_if<For>(&s.node)) f(loop->body);
  if (auto* branch = std::get_if<If>(&s.node)) {
    f(branch->then);
    f(branch->otherwise);
  }
}

// Calls f(Stmt&) on every statement, outer ones first; S is Block or const Block.
template <class B, class F>
void forEachStmt(B& block, F&& f) {
  for (auto& s : block) {
    f(s);
    forEachBlock(s, [&](auto& inner) { forEachStmt(inner, f); });
  }
}

// Number of work-items, groups, … that a parallel loop is distributed over.
inline Nat parallelism(const NDRange& range, LoopKind kind, int dim) {
  const auto d = static_cast<std::size_t>(dim);
  switch (kind) {
    case LoopKind::group:
      return floorDiv(range.global[d], range.local[d]);
    case LoopKind::local:
      return range.local[d];
    case LoopKind::global:
      return range.global[d];
    case LoopKind::sequential:
      break;
  }
  return 1;
}

}  // namespace lift::kernel
