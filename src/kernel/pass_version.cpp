// Loop versioning: a loop that fills a tile in local or private memory, with padding or clamped indices, asks for each
// element whether it is inside of the array. Of most tiles all are, which is asked once in front of the loop:
//   for (i) tile[i] = first + i > 0 ? x[first + i - 1] : 0   =>   if (first > 0) for (i) tile[i] = x[first + i - 1];
//                                                                 else the loop as it was
// So do vectors whose lanes are gathered since some of them may be clamped or padded: of most, none is.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "expand.hpp"
#include "lift/nat_code.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t fewestIterations = 3, mostNodes = 200;
constexpr std::int64_t mostNodesOfLanes = 20'000;
constexpr std::size_t mostConditions = 4;

// A vector of memory, where its lanes are not one after the other gathered.
bool isGathered(const Choose& c) { return is<Load>(c.then) && is<MakeVector>(c.otherwise); }

ExprPtr gathered(const ExprPtr& e) {
  const auto* c = as<Choose>(e);
  return c != nullptr && isGathered(*c) ? c->otherwise : mapChildren(e, gathered);
}

bool gathers(const Block& statements) {
  return anyStmt(statements, [](const Stmt& s) { return anyExpr(s, [](const Expr& e) { return is<MakeVector>(e); }); });
}

bool isOrdered(const Comparison& c) { return c.relation == Relation::less || c.relation == Relation::lessEqual; }

// x + c < y, with no constant in y.
Comparison normal(const Comparison& c) {
  const Nat last = c.rhs.kind() == Nat::Kind::sum ? c.rhs.operands().back() : c.rhs,
            offset = last.constant() ? last : 0;
  return {c.lhs - offset - Nat(c.relation == Relation::less ? 0 : 1), Relation::less, c.rhs - offset};
}

// Whether they differ by a constant, and the second holds where the first does.
bool implies(const Comparison& a, const Comparison& b) {
  const Comparison x = normal(a), y = normal(b);
  return x.rhs == y.rhs && (x.lhs - y.lhs).constant().value_or(-1) >= 0;
}

// What must hold in front of a loop, so that all conditions hold in all of its iterations and no index is clamped.
class Needs {
 public:
  explicit Needs(const For& loop) { within(loop); }
  // Of the lanes of vectors alone, wherever they are.
  Needs() : ofLanes_(true) {}

  // The statements under these conditions; none where there is nothing to gain.
  std::optional<Block> decided(const Block& body) {
    Block result = statements(body);
    if (!gains_ || fails_) return std::nullopt;
    return result;
  }
  ExprPtr condition() const { return test(all_); }
  bool always() const { return all_.empty(); }
  std::size_t count() const { return all_.size(); }
  bool mentions(NatVar v) const {
    return std::ranges::any_of(all_, [&](const Comparison& c) { return c.lhs.mentions(v) || c.rhs.mentions(v); });
  }

 private:
  void within(const For& loop) {
    const auto n = loop.count.constant();
    fails_ = fails_ || !n;
    last_[loop.index] = n.value_or(1) - 1;
    forEachStmt(loop.body, [&](const Stmt& s) {
      if (const auto* inner = as<For>(s)) within(*inner);
    });
  }

  Block statements(Block body) {
    for (Stmt& s : body) {
      mapRoots(s, [&](const ExprPtr& e) { return decided(e); });
      mapOwnNats(s, [&](Nat n) { return decided(n); });
      forEachBlock(s, [&](Block& inner) { inner = statements(std::move(inner)); });
    }
    return body;
  }

  ExprPtr decided(const ExprPtr& e) {
    const bool wasLane = std::exchange(isLane_, isLane_ || is<MakeVector>(e));
    const ExprPtr result = decidedIn(e);
    isLane_ = wasLane;
    return result;
  }

  ExprPtr decidedIn(const ExprPtr& e) {
    const auto* c = as<Choose>(e);
    if (c != nullptr && (!ofLanes_ || isLane_ || isGathered(*c)))
      if (const auto* t = as<Test>(c->condition)) {
        gains_ = gains_ || ofLanes_;
        for (const Comparison& x : t->all) need(x);
        return decided(c->then);
      }
    const ExprPtr mapped = mapChildren(e, [&](const ExprPtr& c) { return decided(c); });
    return ofLanes_ && !isLane_ ? mapped : mapNats(mapped, [&](Nat n) { return decided(n); });
  }

  // An index min(a, b) or max(a, b) that varies in the loop is taken to be the operand that varies.
  Nat decided(Nat n) {
    if (!varies(n)) return n;
    const auto& parts = n.operands();
    switch (n.kind()) {
      case Nat::Kind::sum:
      case Nat::Kind::product: {
        Nat result = decided(parts[0]);
        for (std::size_t i = 1; i < parts.size(); i++) result = combine(n.kind(), result, decided(parts[i]));
        return result;
      }
      case Nat::Kind::min:
      case Nat::Kind::max: {
        if (parts.size() != 2 || varies(parts[0]) == varies(parts[1])) return n;
        const auto [clamped, bound] = varies(parts[0]) ? std::pair(parts[0], parts[1]) : std::pair(parts[1], parts[0]);
        gains_ = gains_ || ofLanes_;
        need(n.kind() == Nat::Kind::min ? Comparison{clamped, Relation::lessEqual, bound}
                                        : Comparison{bound, Relation::lessEqual, clamped});
        return decided(clamped);
      }
      default: return n;
    }
  }

  bool varies(Nat n) const {
    return std::ranges::any_of(
        n.variables(), [&](NatVar v) { return ofLanes_ ? v.role() == NatVar::Role::index : last_.contains(v); });
  }

  // Adds a condition; where it varies in the loop, as it is at the iteration where it is hardest to satisfy.
  void need(const Comparison& c) {
    if (!isOrdered(c)) {
      fails_ = true;
      return;
    }
    const Nat lhs = decided(c.lhs), rhs = decided(c.rhs);
    std::map<NatVar, Nat> worst;
    for (const NatVar v : (rhs - lhs).variables()) {
      const auto last = last_.find(v);
      if (last == last_.end()) continue;
      const auto linear = (rhs - lhs).linearIn(v);
      const auto slope = linear ? linear->coefficient.constant() : std::nullopt;
      fails_ = fails_ || !slope;
      worst.emplace(v, slope.value_or(0) > 0 ? 0 : last->second);
    }
    gains_ = gains_ || !worst.empty();
    const Comparison now{lhs.substitute(worst), c.relation, rhs.substitute(worst)};
    const Truth truth = c.relation == Relation::less ? less(now.lhs, now.rhs) : lessEqual(now.lhs, now.rhs);
    fails_ = fails_ || truth == Truth::refuted;
    if (truth != Truth::unknown) return;
    if (ofLanes_) return strictest(now);
    const auto same = [&](const Comparison& x) { return x.lhs == now.lhs && x.rhs == now.rhs; };
    const auto known = std::ranges::find_if(all_, same);
    if (known == all_.end())
      all_.push_back(now);
    else if (now.relation == Relation::less)  // the stricter one
      known->relation = Relation::less;
  }

  // Of conditions that differ by a constant, the one that implies the others.
  void strictest(const Comparison& c) {
    for (Comparison& x : all_)
      if (implies(c, x) || implies(x, c)) {
        if (implies(c, x)) x = normal(c);
        return;
      }
    all_.push_back(normal(c));
  }

  std::unordered_map<NatVar, std::int64_t> last_;  // of the loop's index and of those within it
  std::vector<Comparison> all_;
  bool gains_ = false, fails_ = false;
  bool ofLanes_ = false, isLane_ = false;
};

class Version {
 public:
  explicit Version(Kernel& kernel) : kernel_(kernel) {}

  void block(Block& statements) {
    for (Stmt& s : statements) {
      forEachBlock(s, [&](Block& inner) { block(inner); });
      if (const auto* f = as<For>(s)) s = loop(*f);
    }
  }

  // The statements that gather vectors, of an innermost loop for instance, where sizes are open: of known ones the loop
  // is split where borders are.
  void lanes(Block& statements) {
    if (kernel_.sizes.empty() || !gathers(statements)) return;
    if (anyStmt<For>(statements, [](const For& f) { return gathers(f.body); })) {
      for (Stmt& s : statements) forEachBlock(s, [&](Block& inner) { lanes(inner); });
      return;
    }
    Needs needs;
    const auto whole = nodesOf(statements) <= mostNodesOfLanes ? needs.decided(statements) : std::nullopt;
    if (!whole || needs.always() || needs.count() > mostConditions || !mayBranch(statements, needs)) return;
    changed_ = true;
    Block some = statements;
    forEachStmt(some, [](Stmt& s) { mapRoots(s, gathered); });
    Expander copies(kernel_);
    statements = Block{{If{needs.condition(), copies.run(*whole), copies.run(some)}}};
  }
  bool changed() const { return changed_; }

 private:
  // Whether the conditions are known before the statements, between which no barrier may come to stand.
  bool mayBranch(const Block& statements, const Needs& needs) const {
    const auto isLocal = [&](BufferId b) { return kernel_.buffers[b].space == AddressSpace::local; };
    return std::ranges::none_of(usedBuffers(statements), isLocal) && !anyStmt(statements, [&](const Stmt& s) {
             const auto* d = as<DeclareIndex>(s);
             const auto* f = as<For>(s);
             return is<Barrier>(s) || is<Combine>(s) || (f != nullptr && f->kind != LoopKind::sequential) ||
                    (d != nullptr && needs.mentions(d->variable));
           });
  }

  Stmt loop(const For& f) {
    if (f.count.constant().value_or(0) < fewestIterations || f.kind != LoopKind::sequential || f.running ||
        f.unroll == -1 || !fills(f.body) || nodesOf(f.body) > mostNodes)
      return {f};
    Needs needs(f);
    const auto inside = needs.decided(f.body);
    if (!inside) return {f};
    if (needs.always()) return {withBody(f, *inside)};
    Expander copies(kernel_, [](const For&, For&) { return -1; });
    Block then = copies.run({{withBody(f, *inside)}});
    return {If{needs.condition(), std::move(then), copies.run({{f}})}};
  }

  // Only stores to tiles, perhaps in loops.
  bool fills(const Block& body) const {
    return std::ranges::all_of(body, [&](const Stmt& s) {
      if (const auto* inner = as<For>(s))
        return inner->kind == LoopKind::sequential && !inner->running && fills(inner->body);
      const auto* store = as<Store>(s);
      return store != nullptr && kernel_.buffers[store->buffer].space != AddressSpace::global;
    });
  }

  Kernel& kernel_;
  bool changed_ = false;
};

}  // namespace

Kernel versionPass(Kernel kernel, const PassOptions& options) {
  Version version(kernel);
  version.block(kernel.body);
  version.lanes(kernel.body);
  return version.changed() ? simplifyPass(std::move(kernel), options) : kernel;
}

}  // namespace lift::kernel
