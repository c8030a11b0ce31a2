// Index-set splitting: a loop over whose middle conditions, minima, maxima or remainders are known becomes three, of
// what comes before, of the middle, where they are decided, and of what comes after. So do the statements of
// work-groups that ask many times whether theirs is the first or the last in a dimension.
#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "expand.hpp"
#include "lift/nat_code.hpp"
#include "pass_list.hpp"
#include "pieces.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t fewestIterations = 6;       // loops of fewer are written out
constexpr std::int64_t longestBorder = 16;         // iterations before or after the middle; at most a quarter of all
constexpr std::int64_t mostNodes = 20'000;         // of a body, of which three copies are made
constexpr std::int64_t mostNodesOfWhole = 1000;    // where no lanes gain: beside more, a condition costs nothing
constexpr int fewestChoices = 12;                  // of a work-group's statements, that its index alone decides
constexpr std::int64_t mostNodesWrittenOut = 600;  // of the iterations of a border; a single one always is

// What holds in the middle of a loop, and how many iterations that leaves before and after it.
class Middle {
 public:
  explicit Middle(const For& loop) : index_(loop.index), count_(loop.count), nodes_(nodesOf(loop.body)) {
    if (const auto n = count_.constant()) longest_ = std::clamp<std::int64_t>(*n / 4, 1, longestBorder);
    isShort_ = count_.constant().value_or(fewestIterations) < fewestIterations;
  }

  Nat before() const { return min(Nat(borders_.before), count_); }
  Nat after() const { return min(Nat(borders_.after), count_ - before()); }
  // Whether splitting off the borders pays: in the middle it decides a whole condition, a condition in which the lanes
  // of a vector differ, or an index. Conditions that stay partly open are still tested there.
  bool pays() const { return lanesPay_ || (pays_ && nodes_ <= mostNodesOfWhole); }
  std::int64_t nodes() const { return nodes_; }
  // How many choices by the index alone are decided in statements that add to sums. Each choice that stays there costs
  // much, since the sums do not stay in registers across it.
  int choices() const { return choices_; }

  // The statements as they are in the middle.
  Block decided(Block statements) {
    for (Stmt& s : statements) {
      accumulates_ = accumulates(s);
      mapRoots(s, [&](const ExprPtr& e) { return decided(e); });
      mapOwnNats(s, [&](Nat n) { return decided(n); });
      forEachBlock(s, [&](Block& inner) { inner = decided(std::move(inner)); });
    }
    return statements;
  }

 private:
  struct Borders {
    std::int64_t before = 0, after = 0;
    int decided = 0;  // what cannot be known without them
  };

  ExprPtr decided(const ExprPtr& e) {
    const auto* t = as<Test>(e);
    if (const auto* c = as<Choose>(e)) {
      const int before = borders_.decided;
      const ExprPtr condition = decided(c->condition);
      choices_ += accumulates_ && borders_.decided > before && asksForIndexAlone(*c->condition);
      return choose(condition, decided(c->then), decided(c->otherwise));
    }
    if (t == nullptr) {
      const bool isLane = std::exchange(isLane_, isLane_ || is<MakeVector>(e));
      const ExprPtr mapped = mapChildren(e, [&](const ExprPtr& c) { return decided(c); });
      isLane_ = isLane;
      return mapNats(mapped, [&](Nat n) { return decided(n); });
    }
    std::vector<Comparison> open;
    const int before = borders_.decided;
    std::optional<bool> all = true;
    for (const Comparison& c : t->all) {
      const Comparison now{decided(c.lhs), c.relation, decided(c.rhs)};
      const auto holds = isTrue(now);
      if (holds && !*holds) all = false;
      if (!holds && all != false) all = std::nullopt;
      if (!holds) open.push_back(now);
    }
    if (borders_.decided > before) gain(all && !isShort_);
    return all == false ? literal(ScalarValue::ofInteger(Scalar::boolean, 0)) : test(std::move(open));
  }

  void gain(bool ofWhole) {
    lanesPay_ = lanesPay_ || isLane_;
    pays_ = pays_ || ofWhole;
  }

  static bool accumulates(const Stmt& s) {
    const auto* a = as<Assign>(s);
    const auto* st = as<Store>(s);
    return anyExpr(s, [&](const Expr& e) {
      if (const auto* v = as<VarRef>(e)) return a != nullptr && v->variable == a->variable;
      const auto* l = as<Load>(e);
      return st != nullptr && l != nullptr && l->buffer == st->buffer && l->index == st->index;
    });
  }

  bool asksForIndexAlone(const Expr& condition) const {
    const auto* t = as<Test>(condition);
    return t != nullptr && std::ranges::any_of(t->all, [&](const Comparison& c) {
             return (c.rhs - c.lhs).variables() == std::vector{index_};
           });
  }

  Nat decided(Nat n) {
    if (!n.mentions(index_)) return n;
    const auto [at, isNew] = known_.try_emplace(n, n);
    if (!isNew) return at->second;
    const int before = borders_.decided;
    const Nat result = decidedAnew(n);
    if (borders_.decided > before) gain(!isShort_);
    return known_[n] = result;
  }

  Nat decidedAnew(Nat n) {
    std::vector<Nat> parts;
    for (const Nat part : n.operands()) parts.push_back(decided(part));
    switch (n.kind()) {
      case Nat::Kind::constant:
      case Nat::Kind::variable: return n;
      case Nat::Kind::sum: return sum(parts);
      case Nat::Kind::product:
        return std::accumulate(parts.begin() + 1, parts.end(), parts[0], [](Nat a, Nat b) { return a * b; });
      case Nat::Kind::min:
      case Nat::Kind::max: {
        const bool isMin = n.kind() == Nat::Kind::min;
        const auto firstIsLess = isPositiveOrZero(parts[1] - parts[0]);
        if (firstIsLess) return *firstIsLess == isMin ? parts[0] : parts[1];
        return combine(n.kind(), parts[0], parts[1]);
      }
      case Nat::Kind::mod:
      case Nat::Kind::floorDiv: {
        const bool isMod = n.kind() == Nat::Kind::mod;
        const Nat a = parts[0], divisor = parts[1];
        for (const std::int64_t quotient : {0, 1, -1})
          if (isQuotient(a, divisor, Nat(quotient))) return isMod ? a - Nat(quotient) * divisor : Nat(quotient);
        return combine(n.kind(), a, divisor);
      }
    }
    return n;
  }

  std::optional<bool> isTrue(const Comparison& c) {
    const Nat difference = c.rhs - c.lhs;
    switch (c.relation) {
      case Relation::less: return isPositive(difference);
      case Relation::lessEqual: return isPositive(difference + Nat(1));
      case Relation::equal:
      case Relation::notEqual:
        if (holds([&] { return isPositive(difference) == true; }) ||
            holds([&] { return isPositive(-difference) == true; }))
          return c.relation == Relation::notEqual;
    }
    return std::nullopt;
  }

  bool isQuotient(Nat a, Nat divisor, Nat quotient) {
    if (divisor.lower().value_or(0) < 1) return false;
    const Nat rest = a - quotient * divisor;
    return holds([&] { return isPositive(rest + Nat(1)) == true && isPositive(divisor - rest) == true; });
  }

  // Whether n is positive (or negative) all over the middle; iterations where it is 0 may be counted to either.
  std::optional<bool> isPositiveOrZero(Nat n) {
    const Borders saved = borders_;
    const auto unlessNegative = isPositive(n + Nat(1));
    const Borders widened = std::exchange(borders_, saved);
    const auto ifPositive = isPositive(n);
    if (ifPositive && borders_.before + borders_.after <= widened.before + widened.after) return ifPositive;
    if (unlessNegative) borders_ = widened;
    return unlessNegative ? unlessNegative : ifPositive;
  }

  // decides(); the borders that it asked for are dropped again if it decides nothing.
  template <class F>
  bool holds(F&& decides) {
    const Borders saved = borders_;
    if (decides()) return true;
    borders_ = saved;
    return false;
  }

  // Whether an integer is greater than 0 all over the middle, or nowhere there; widens the borders as that needs. It
  // is first + c * i at iteration i, and last - c * k at the k-th before the last.
  std::optional<bool> isPositive(Nat n) {
    const auto linear = n.linearIn(index_);
    if (!linear) return std::nullopt;
    const std::int64_t c = linear->coefficient.constant().value_or(0);
    if (c == 0 || c != static_cast<std::int32_t>(c)) return std::nullopt;
    const Nat first = linear->rest, last = linear->rest + Nat(c) * (count_ - Nat(1));
    const std::int64_t step = std::abs(c);
    const auto least = (c > 0 ? first : last).lower(), greatest = (c > 0 ? last : first).upper();
    const auto stepsTo = [&](std::int64_t distance) { return distance <= 0 ? 0 : (distance - 1) / step + 1; };
    const std::int64_t untilPositive = least && *least > INT32_MIN ? stepsTo(1 - *least) : INT64_MAX;
    const std::int64_t untilNot = greatest ? stepsTo(*greatest) : INT64_MAX;
    const bool positive = untilPositive <= untilNot;
    const std::int64_t steps = std::min(untilPositive, untilNot);
    if (steps > longest_) return std::nullopt;
    std::int64_t& border = (c > 0) == positive ? borders_.before : borders_.after;
    border = std::max(border, steps);
    borders_.decided += steps > 0;
    return positive;
  }

  NatVar index_;
  Nat count_;
  std::int64_t longest_ = longestBorder;
  Borders borders_;
  std::int64_t nodes_;
  bool pays_ = false, lanesPay_ = false, isLane_ = false, isShort_ = false;
  bool accumulates_ = false;
  int choices_ = 0;
  std::unordered_map<Nat, Nat> known_;
};

class Split {
 public:
  explicit Split(Kernel& kernel)
      : kernel_(kernel), copies_(kernel), uniform_(kernel.sizes.begin(), kernel.sizes.end()) {}

  bool run() {
    kernel_.body = block(groups(std::move(kernel_.body)));
    return changed_;
  }

 private:
  Block block(const Block& from) {
    Block to;
    for (const Stmt& s : from) {
      if (const auto* f = as<For>(s)) {
        if (f->kind == LoopKind::sequential) uniform_.insert(f->index);
        Block body = block(f->body);
        uniform_.erase(f->index);
        loop(withBody(*f, std::move(body)), to);
      } else {
        to.push_back(s);
        forEachBlock(to.back(), [&](Block& inner) { inner = block(inner); });
      }
    }
    return to;
  }

  void loop(For f, Block& to) {
    const bool isCandidate = f.kind == LoopKind::sequential && !f.running && f.unroll != -1 &&
                             f.count.upper().value_or(INT64_MAX) > 1 && isInnermost(f) && nodesOf(f.body) <= mostNodes;
    if (!isCandidate) return to.push_back({std::move(f)});
    if (inPieces(f, Points::given, to)) return;
    if (aroundMiddle(f, to)) return;
    if (!inPieces(f, Points::constant, to)) to.push_back({std::move(f)});
  }

  bool aroundMiddle(const For& f, Block& to) {
    Middle middle(f);
    const Block inside = middle.decided(f.body);
    if (!(storesResults(f) ? middle.pays() : fillsRows(f, inside))) return false;
    changed_ = true;
    const Nat before = middle.before(), after = middle.after();
    if (f.count.constant().value_or(fewestIterations) < fewestIterations) {
      range(f, 0, f.count, 0, f.body, to);
      return true;
    }
    range(f, 0, before, middle.nodes(), f.body, to);
    range(f, before, f.count - before - after, mostNodesWrittenOut, inside, to);
    range(f, f.count - after, after, middle.nodes(), f.body, to);
    return true;
  }

  bool inPieces(const For& f, Points at, Block& to) {
    auto pieces = kernel::inPieces(kernel_, f, at, uniform_);
    if (!pieces) return false;
    changed_ = true;
    std::ranges::move(*pieces, std::back_inserter(to));
    return true;
  }

  // One loop over work-groups, the innermost that pays.
  Block groups(Block statements) {
    for (Stmt& s : statements)
      if (auto* f = as<For>(s); f != nullptr && f->kind == LoopKind::group) {
        const bool changed = changed_;
        f->body = groups(std::move(f->body));
        if (changed_ == changed) f->body = bordersApart(*f);
      }
    return statements;
  }

  // The statements of a group, each border's apart; without barriers, which are for groups as a whole.
  Block bordersApart(const For& f) {
    if (f.trip != Trip::exactlyOnce || f.count.constant().value_or(1) < 2 || nodesOf(f.body) > mostNodes ||
        storesTo(f.body, AddressSpace::local))
      return f.body;
    Middle middle(f);
    const Block inside = middle.decided(f.body);
    if (middle.choices() < fewestChoices) return f.body;
    changed_ = true;
    const Nat i = f.index, before = middle.before(), beyond = f.count - middle.after();
    const auto border = [&](Nat first, Nat end) {
      return copies_.run(f.body, f.index, (end - first).constant() == 1 ? first : i);
    };
    const auto unless = [&](Nat bound, Block then, Block otherwise) {
      return Block{{If{test({{i, Relation::less, bound}}), std::move(then), std::move(otherwise)}}};
    };
    Block body = before == beyond ? border(beyond, f.count) : copies_.run(inside);
    if (before != beyond && beyond != f.count) body = unless(beyond, std::move(body), border(beyond, f.count));
    return before.constant() == 0 ? body : unless(before, border(0, before), std::move(body));
  }

  // The loop over so many iterations from `first` on.
  void range(const For& f, Nat first, Nat count, std::int64_t nodes, const Block& body, Block& to) {
    const auto n = count.constant();
    if (n && (*n <= 1 || *n * nodes <= mostNodesWrittenOut)) {
      for (std::int64_t i = 0; i < *n; i++)
        for (Stmt& s : copies_.run(body, f.index, first + Nat(i))) to.push_back(std::move(s));
      return;
    }
    For part = withBody(f, {});
    part.index = NatVar::index(f.index.name(), count);
    part.count = count;
    part.body = copies_.run(body, f.index, first + Nat(part.index));
    to.push_back({std::move(part)});
  }

  bool storesResults(const For& f) const { return storesTo(f.body, AddressSpace::global); }

  // Tiles in local and private memory are too small to pay for longer kernels, unless nothing is asked for each element
  // of a row any more: then compilers copy it in vectors.
  bool fillsRows(const For& f, const Block& inside) const {
    constexpr std::int64_t fewestElements = 16;
    return f.count.constant().value_or(0) >= fewestElements && asks(f.body, f.index) && !asks(inside, f.index);
  }
  static bool asks(const Block& statements, NatVar index) {
    return anyStmt(statements, [&](const Stmt& s) {
      return anyExpr(s, [&](const Expr& e) {
        const auto* t = as<Test>(e);
        return t != nullptr && std::ranges::any_of(t->all, [&](const Comparison& c) {
                 return c.lhs.mentions(index) || c.rhs.mentions(index);
               });
      });
    });
  }

  bool storesTo(const Block& body, AddressSpace space) const {
    return anyStmt<Store>(body, [&](const Store& st) { return kernel_.buffers[st.buffer].space == space; });
  }

  Kernel& kernel_;
  Expander copies_;
  std::set<NatVar> uniform_;  // values that work-items share, of sizes and of sequential loops around
  bool changed_ = false;
};

}  // namespace

Kernel splitPass(Kernel kernel, const PassOptions& options) {
  return Split(kernel).run() ? simplifyPass(std::move(kernel), options) : kernel;
}

}  // namespace lift::kernel
