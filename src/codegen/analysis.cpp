#include "analysis.hpp"

#include <algorithm>
#include <set>

#include "lift/kernel_walk.hpp"

namespace lift::detail {

// ------------------------------------------------------------------------------------------------------------- uses

Uses::Uses(Expr parameter, Expr body) : parameter_(parameter) { visit(body, 1); }

int Uses::of(const std::vector<int>& path) const {
  int n = 0;
  for (const auto& [used, count] : counts_) {
    const auto common = static_cast<std::ptrdiff_t>(std::min(used.size(), path.size()));
    if (std::equal(used.begin(), used.begin() + common, path.begin())) n += count;
  }
  return n;
}

void Uses::visit(Expr e, int weight) {
  if (!e.hasFree(parameter_)) return;
  std::vector<int> path;
  Expr inner = e;
  while (inner.is(Expr::Form::apply) && inner.function().is(Expr::Form::primitive) &&
         inner.function().prim() == Prim::get) {
    path.insert(path.begin(), static_cast<int>(*inner.function().nats()[0].constant()));
    inner = inner.argument();
  }
  if (inner == parameter_) {
    counts_[path] += weight;
    return;
  }
  if (e.is(Expr::Form::lambda)) visit(e.body(), 2);
  if (!e.is(Expr::Form::apply)) return;
  const bool let = e.function().is(Expr::Form::primitive) && e.function().prim() == Prim::let;
  if (let && e.argument().is(Expr::Form::lambda)) {  // runs once
    visit(e.argument().body(), weight);
  } else {
    visit(e.function(), weight);
    visit(e.argument(), weight);
  }
}

// --------------------------------------------------------------------------------------------------------- in place

namespace {

using kernel::Block;

bool isWatched(const std::vector<kernel::BufferId>& buffers, kernel::BufferId b) {
  return std::find(buffers.begin(), buffers.end(), b) != buffers.end();
}

}  // namespace

bool mayStoreInPlace(const Block& block, const std::vector<kernel::BufferId>& buffers) {
  std::vector<kernel::Load> pending;  // loads whose store has not come yet
  bool safe = true;
  for (const kernel::Stmt& s : block) {
    kernel::forEachRoot(s, [&](const kernel::ExprPtr& root) {
      kernel::forEachExpr(*root, [&](const kernel::Expr& e) {
        if (const auto* l = std::get_if<kernel::Load>(&e.node); l && isWatched(buffers, l->buffer))
          pending.push_back(*l);
      });
    });
    kernel::forEachBlock(s, [&](const Block& inner) { safe = safe && mayStoreInPlace(inner, buffers); });
    const auto* store = std::get_if<kernel::Store>(&s.node);
    if (!store || !isWatched(buffers, store->buffer)) continue;
    for (const kernel::Load& l : pending) safe = safe && l.buffer == store->buffer && l.index == store->index;
    pending.clear();
  }
  return safe && pending.empty();
}

// ------------------------------------------------------------------------------------------------------------ sizes

std::vector<NatVar> sizesIn(const Block& block) {
  std::set<NatVar> sizes;
  const auto note = [&](Nat n) {
    if (n.constant()) return;
    for (const NatVar v : n.variables())
      if (v.role() == NatVar::Role::size || v.role() == NatVar::Role::tunable) sizes.insert(v);
  };
  kernel::forEachStmt(block, [&](const kernel::Stmt& s) {
    if (const auto* store = std::get_if<kernel::Store>(&s.node)) note(store->index);
    if (const auto* loop = std::get_if<kernel::For>(&s.node)) note(loop->count);
    kernel::forEachRoot(s, [&](const kernel::ExprPtr& root) {
      kernel::forEachExpr(*root, [&](const kernel::Expr& e) { kernel::forEachNat(e, note); });
    });
  });
  return {sizes.begin(), sizes.end()};
}

}  // namespace lift::detail
