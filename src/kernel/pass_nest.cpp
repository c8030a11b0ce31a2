// A loop that divides its index by a number which divides its count becomes two, which count quotient and remainder:
// what arrays that were joined, or split, are read by needs no division then, and follows in memory. Where the quotient
// takes few values, and functions are computed of the remainder alone, all its values share one loop: the two results
// of a butterfly share a sine.
#include <algorithm>

#include "expand.hpp"
#include "mentions.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t fewestInner = 8;  // iterations: a loop of fewer is dearer than dividing, unless they are costly
constexpr std::int64_t mostQuotients = 4;  // that share a loop

// The greatest constant by which the index itself is divided in n, or 0.
std::int64_t divisorIn(Nat n, NatVar index) {
  if (!n.mentions(index)) return 0;
  std::int64_t greatest = 0;
  if ((n.kind() == Nat::Kind::floorDiv || n.kind() == Nat::Kind::mod) && n.operands()[0] == Nat(index))
    greatest = n.operands()[1].constant().value_or(0);
  for (const Nat part : n.operands()) greatest = std::max(greatest, divisorIn(part, index));
  return greatest;
}

}  // namespace

std::int64_t divisorIn(const Block& block, NatVar index) {
  std::int64_t greatest = 0;
  forEachStmt(
      block, [&](const Stmt& s) { forEachNat(s, [&](Nat n) { greatest = std::max(greatest, divisorIn(n, index)); }); });
  return greatest;
}

namespace {

// Whether it computes functions that take longer than a loop's own work.
bool isCostly(const Stmt& s) {
  return anyExpr<Operation>(s, [](const Operation& o) { return !info(o.op).isExact; });
}

class Nest {
 public:
  explicit Nest(Kernel& kernel) : kernel_(kernel), copies_(kernel) {}

  bool changed() const { return changed_; }

  Block block(Block statements) {
    for (Stmt& s : statements) {
      if (auto* f = as<For>(s)) loop(*f);
      forEachBlock(s, [&](Block& inner) { inner = block(std::move(inner)); });
    }
    return statements;
  }

 private:
  void loop(For& f) {
    const std::int64_t count = f.count.constant().value_or(0);
    if (f.kind != LoopKind::sequential || f.running || f.unroll == -1 || !isInnermost(f)) return;
    const std::int64_t inner = divisorIn(f.body, f.index);
    if (inner < 2 || inner >= count || count % inner != 0 || inner % std::max(f.unroll, 1) != 0) return;
    const bool costly = std::ranges::any_of(f.body, isCostly);
    if (inner < fewestInner && !costly) return;
    changed_ = true;
    const NatVar quotient = NatVar::index(f.index.name(), count / inner);
    const NatVar remainder = NatVar::index(f.index.name(), inner);
    For within = f;
    within.index = remainder;
    within.count = inner;
    within.body = copies_.run(f.body, f.index, Nat(inner) * Nat(quotient) + Nat(remainder));
    if (count / inner <= mostQuotients && costly && mayTakeTurns(f)) {
      if (auto shared = sideBySide(within.body, quotient)) {
        within.body = std::move(*shared);
        f = std::move(within);
        return loop(f);
      }
    }
    f.index = quotient;
    f.count = count / inner;
    f.unroll = 0;
    f.body = {{std::move(within)}};
  }

  // Whether the iterations may run in any order: each stores elements of its own and reads none that others store.
  static bool mayTakeTurns(const For& f) {
    std::vector<std::pair<BufferId, Nat>> stores;
    std::set<BufferId> loaded;
    bool may = true;
    for (const Stmt& s : f.body) {
      const auto* d = as<Declare>(s);
      const auto* st = as<Store>(s);
      forEachExpr(s, [&](const Expr& e) {
        if (const auto* l = as<Load>(e)) loaded.insert(l->buffer);
      });
      may = may && (st == nullptr ? d != nullptr && d->value : !st->update && st->value->type.width == 1);
      if (st != nullptr) stores.emplace_back(st->buffer, st->index);
    }
    const auto areApart = [&](Nat a, Nat b) {
      const auto first = a.linearIn(f.index);
      const std::int64_t step = first ? std::abs(first->coefficient.constant().value_or(0)) : 0;
      const auto distance = (b - a).constant();
      return step > 0 && distance && (*distance == 0 || std::abs(*distance) >= step * f.count.constant().value());
    };
    return may && std::ranges::all_of(stores, [&](const auto& a) {
             return !loaded.contains(a.first) && std::ranges::all_of(stores, [&](const auto& b) {
               return a.first != b.first || areApart(a.second, b.second);
             });
           });
  }

  // The body for all values of the quotient side by side, with what does not depend on the quotient computed once for
  // all of them; nothing where no costly function is shared that way.
  std::optional<Block> sideBySide(const Block& body, NatVar quotient) {
    constexpr std::int64_t mostNodes = 1000;
    if (nodesOf(body) * (quotient.upper()->constant().value() + 1) > mostNodes) return std::nullopt;
    Block shared, rest;
    std::set<VarId> own;  // of a quotient
    for (const Stmt& s : body) {
      const auto* d = as<Declare>(s);
      bool depends = d == nullptr;
      forEachNat(s, [&](Nat n) { depends = depends || n.mentions(quotient); });
      forEachMention(s, [&](VarId v) { depends = depends || own.contains(v); });
      if (depends && d != nullptr) own.insert(d->variable);
      (depends ? rest : shared).push_back(s);
    }
    if (std::ranges::none_of(shared, isCostly)) return std::nullopt;
    for (std::int64_t q = 0; q <= quotient.upper()->constant().value(); q++)
      std::ranges::move(copies_.run(rest, quotient, q), std::back_inserter(shared));
    return shared;
  }

  Kernel& kernel_;
  Expander copies_;
  bool changed_ = false;
};

}  // namespace

Kernel nestPass(Kernel kernel, const PassOptions& options) {
  Nest nest(kernel);
  kernel.body = nest.block(std::move(kernel.body));
  return nest.changed() ? simplifyPass(std::move(kernel), options) : kernel;
}

}  // namespace lift::kernel
