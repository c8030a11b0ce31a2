// A loop whose conditions change at places that are known when it begins, in pieces:
//   for (j < n) y[j] = j <= i ? x[i - j] : 0   =>   for (j < min(i + 1, n)) y[j] = x[i - j];
//                                                   for (j < n - min(i + 1, n)) y[min(i + 1, n) + j] = 0;
// as diagonals, triangles, prefixes and halves are computed. Compilers make vectors of loops without conditions.
#include "pieces.hpp"

#include <algorithm>

#include "expand.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t fewestIterations = 16;
constexpr std::int64_t fewestOfConstant = 64;  // tiles with borders are smaller: pass_version
constexpr std::int64_t mostNodes = 2000;       // of all copies
constexpr std::size_t mostPoints = 6;

// Where a comparison changes: true from the point on, before it, or only there.
struct Change {
  enum class Holds : std::uint8_t { from, before, at, notAt } holds;
  Nat point;
};

std::optional<Change> changeOf(const Comparison& c, NatVar index) {
  const auto linear = (c.rhs - c.lhs).linearIn(index);
  const std::int64_t slope = linear ? linear->coefficient.constant().value_or(0) : 0;
  if (slope != 1 && slope != -1) return std::nullopt;
  const Nat rest = linear->rest;
  const bool up = slope == 1;
  switch (c.relation) {
    case Relation::less: return Change{up ? Change::Holds::from : Change::Holds::before, up ? Nat(1) - rest : rest};
    case Relation::lessEqual:
      return Change{up ? Change::Holds::from : Change::Holds::before, up ? -rest : rest + Nat(1)};
    case Relation::equal: return Change{Change::Holds::at, up ? -rest : rest};
    case Relation::notEqual: return Change{Change::Holds::notAt, up ? -rest : rest};
  }
  return std::nullopt;
}

bool isAtMost(Nat a, Nat b) {
  if (lessEqual(a, b) == Truth::proved) return true;
  const auto all = [](Nat n, auto&& holds) { return std::ranges::all_of(n.operands(), holds); };
  if (a.kind() == Nat::Kind::max) return all(a, [&](Nat x) { return isAtMost(x, b); });
  if (b.kind() == Nat::Kind::min) return all(b, [&](Nat x) { return isAtMost(a, x); });
  return false;
}

class Pieces {
 public:
  Pieces(Kernel& kernel, const For& loop, Points at, const std::set<NatVar>& uniform)
      : loop_(loop), where_(at), uniform_(uniform), copies_(kernel, [](const For&, For&) { return -1; }) {}

  std::optional<Block> run() {
    const std::int64_t fewest = where_ == Points::constant ? fewestOfConstant : fewestIterations;
    if (loop_.count.upper().value_or(fewest) < fewest) return std::nullopt;
    for (const Stmt& s : loop_.body) collect(s);
    const auto nodes = nodesOf(loop_.body) * static_cast<std::int64_t>(points_.size() + 1);
    if (!pays_ || points_.size() > mostPoints || nodes > mostNodes) return std::nullopt;
    inOrder();
    Block pieces;
    Nat from = 0;
    for (std::size_t i = 0; i <= points_.size(); i++) {
      Nat to = loop_.count;
      if (i < points_.size() && !isAtMost(to, points_[i]))
        to = isAtMost(points_[i], to) ? points_[i] : min(points_[i], to);
      if (!isAtMost(from, to)) to = max(from, to);
      if (!isAtMost(to, from)) piece(i, from, to, pieces);
      from = to;
    }
    return pieces;
  }

 private:
  // The points at which comparisons of the statement change.
  void collect(const Stmt& s) {
    const auto* branch = as<If>(s);
    if (branch != nullptr && guards(*branch->condition)) pays_ = true;
    forEachExpr(s, [&](const Expr& e) {
      if (const auto* c = as<Choose>(e))
        pays_ = pays_ || ((loads(*c->then) || loads(*c->otherwise)) && guards(*c->condition));
      if (const auto* t = as<Test>(e))
        for (const Comparison& c : t->all) {
          const auto change = known(c);
          if (!change) continue;
          add(change->point);
          if (change->holds == Change::Holds::at || change->holds == Change::Holds::notAt) add(change->point + Nat(1));
        }
    });
    forEachBlock(s, [&](const Block& inner) {
      for (const Stmt& x : inner) collect(x);
    });
  }

  std::optional<Change> known(const Comparison& c) const {
    const auto change = changeOf(c, loop_.index);
    const auto isUniform = [&](NatVar v) { return uniform_.contains(v); };
    return change && std::ranges::all_of(change->point.variables(), isUniform) ? change : std::nullopt;
  }

  // Whether a condition changes within the loop, at a point as asked for.
  bool guards(const Expr& condition) const {
    const auto changes = [&](const Comparison& c) {
      const auto change = known(c);
      return change && (change->point.constant() ? where_ == Points::constant && isInside(change->point)
                                                 : where_ == Points::given);
    };
    return anyExpr<Test>(condition, [&](const Test& t) { return std::ranges::any_of(t.all, changes); });
  }
  static bool loads(const Expr& value) {
    return anyExpr(value, [](const Expr& e) { return is<Load>(e); });
  }

  bool isInside(Nat point) const { return !isAtMost(point, 0) && !isAtMost(loop_.count, point); }
  void add(Nat point) {
    if (isInside(point) && std::ranges::find(points_, point) == points_.end()) points_.push_back(point);
  }

  // The points in ascending order as far as their order is known, else in the order in which conditions ask for them.
  void inOrder() {
    std::vector<Nat> left = std::move(points_);
    points_.clear();
    while (!left.empty()) {
      const auto isFirst = [&](Nat p) {
        return std::ranges::all_of(left, [&](Nat q) { return q == p || !isAtMost(q, p) || isAtMost(p, q); });
      };
      auto next = std::ranges::find_if(left, isFirst);
      if (next == left.end()) next = left.begin();
      points_.push_back(*next);
      left.erase(next);
    }
  }

  // The iterations in [from, to): those at or after the first i points, before the next.
  void piece(std::size_t i, Nat from, Nat to, Block& pieces) {
    at_ = i;
    For part = withBody(loop_, decided(loop_.body));
    Nat start = from;
    if (!from.constant() && !from.variable()) {
      const NatVar named = NatVar::fresh("from", 0, loop_.count, NatVar::Role::index);
      pieces.push_back({DeclareIndex{named, index(from)}});
      start = named;
    }
    part.count = to - from;
    part.index = NatVar::index(loop_.index.name(), part.count);
    part.body = copies_.run(part.body, loop_.index, start + Nat(part.index));
    pieces.push_back({std::move(part)});
  }

  // Whether the index is at or after the point all over the piece, or before it.
  std::optional<bool> isFrom(Nat point) const {
    for (std::size_t i = 0; i < at_; i++)
      if (isAtMost(point, points_[i])) return true;
    if (at_ < points_.size() && isAtMost(points_[at_], point)) return false;
    if (isAtMost(point, 0)) return true;
    if (isAtMost(loop_.count, point)) return false;
    return std::nullopt;
  }

  std::optional<bool> holds(const Comparison& c) const {
    const auto change = known(c);
    if (!change) return std::nullopt;
    const auto from = isFrom(change->point);
    switch (change->holds) {
      case Change::Holds::from: return from;
      case Change::Holds::before: return from ? std::optional(!*from) : std::nullopt;
      case Change::Holds::at:
      case Change::Holds::notAt: {
        const auto after = isFrom(change->point + Nat(1));
        const bool isAt = change->holds == Change::Holds::at;
        if (from == false || after == true) return !isAt;
        return from == true && after == false ? std::optional(isAt) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  Block decided(Block statements) const {
    for (Stmt& s : statements) {
      mapRoots(s, [&](const ExprPtr& e) { return decided(e); });
      forEachBlock(s, [&](Block& inner) { inner = decided(std::move(inner)); });
    }
    return statements;
  }

  ExprPtr decided(const ExprPtr& e) const {
    if (const auto* c = as<Choose>(e)) return choose(decided(c->condition), decided(c->then), decided(c->otherwise));
    const auto* t = as<Test>(e);
    if (t == nullptr) return mapChildren(e, [&](const ExprPtr& c) { return decided(c); });
    std::vector<Comparison> open;
    for (const Comparison& c : t->all) {
      const auto is = holds(c);
      if (is == false) return literal(ScalarValue::ofInteger(Scalar::boolean, 0));
      if (!is) open.push_back(c);
    }
    return test(std::move(open));
  }

  const For& loop_;
  const Points where_;
  const std::set<NatVar>& uniform_;
  Expander copies_;
  std::vector<Nat> points_;
  std::size_t at_ = 0;  // points before the piece
  bool pays_ = false;
};

}  // namespace

std::optional<Block> inPieces(Kernel& kernel, const For& loop, Points at, const std::set<NatVar>& uniform) {
  return Pieces(kernel, loop, at, uniform).run();
}

}  // namespace lift::kernel
