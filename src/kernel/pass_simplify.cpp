// Conditions that are known, operations on literals.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

using Key = std::tuple<const detail::NatNode*, Relation, const detail::NatNode*>;
Key keyOf(const Comparison& c) { return {c.lhs.node(), c.relation, c.rhs.node()}; }

Truth prove(const Comparison& c) {
  switch (c.relation) {
    case Relation::less: return less(c.lhs, c.rhs);
    case Relation::lessEqual: return lessEqual(c.lhs, c.rhs);
    case Relation::equal: return equal(c.lhs, c.rhs);
    case Relation::notEqual:
      switch (equal(c.lhs, c.rhs)) {
        case Truth::proved: return Truth::refuted;
        case Truth::refuted: return Truth::proved;
        default: return Truth::unknown;
      }
  }
  return Truth::unknown;
}

// x + 3 < n implies x + 1 < n; x < 7 implies x < 9.
bool implies(const Comparison& known, const Comparison& c) {
  if (known.relation != Relation::less || c.relation != Relation::less) return false;
  return (known.rhs == c.rhs && lessEqual(c.lhs, known.lhs) == Truth::proved) ||
         (known.lhs == c.lhs && lessEqual(known.rhs, c.rhs) == Truth::proved);
}

std::optional<bool> constantCondition(const ExprPtr& e) {
  if (e->type.width != 1) return std::nullopt;
  if (const auto* l = as<Literal>(e)) return l->value.truth();
  if (const auto* t = as<Test>(e))
    if (t->all.empty()) return true;
  return std::nullopt;
}

// x - 1 < 8 as x < 9: a constant on one side alone, so long as an index can be so large; and x <= 8, x <= n - 1 as x <
// 9, x < n.
Comparison collected(Comparison c) {
  const auto isSmall = [](Nat n) { return *n.constant() == static_cast<std::int32_t>(*n.constant()); };
  const auto move = [&](Nat& sum, Nat& constant) {
    if (!constant.constant() || sum.kind() != Nat::Kind::sum) return;
    const Nat offset = sum.operands().back();
    const Nat moved = constant - offset;
    if (!offset.constant() || !isSmall(moved)) return;
    constant = moved;
    sum = sum - offset;
  };
  move(c.lhs, c.rhs);
  move(c.rhs, c.lhs);
  if (c.relation == Relation::lessEqual) {
    const Nat offset = c.rhs.kind() == Nat::Kind::sum ? c.rhs.operands().back() : c.rhs;
    if (offset.constant() && (c.rhs.constant() ? isSmall(c.rhs + 1) : *offset.constant() < 0))
      c = {c.lhs, Relation::less, c.rhs + 1};
  }
  return c;
}

ExprPtr truth(bool value) { return literal(ScalarValue::ofInteger(Scalar::boolean, value ? 1 : 0)); }

class Simplifier {
 public:
  Simplifier(const std::vector<Buffer>& buffers, const PassOptions& options) : buffers_(buffers), options_(options) {}

  Block block(const Block& from) {
    Block to;
    append(from, to);
    return to;
  }

 private:
  // Comparisons that hold where we are, because an enclosing condition says so.
  class Assume {
   public:
    Assume(Simplifier& s, const ExprPtr& condition) : s_(s) {
      if (const auto* t = as<Test>(condition))
        for (const Comparison& c : t->all)
          if (s.known_.insert(keyOf(c)).second) added_.push_back(c);
      s.assumed_.insert(s.assumed_.end(), added_.begin(), added_.end());
    }
    ~Assume() {
      for (const Comparison& c : added_) s_.known_.erase(keyOf(c));
      s_.assumed_.resize(s_.assumed_.size() - added_.size());
    }
    Assume(const Assume&) = delete;
    Assume& operator=(const Assume&) = delete;

   private:
    Simplifier& s_;
    std::vector<Comparison> added_;
  };

  void append(const Block& from, Block& to) {
    for (const Stmt& s : from) {
      if (const auto* i = as<If>(s)) {
        const ExprPtr condition = expr(i->condition);
        if (const auto known = constantCondition(condition)) {
          append(*known ? i->then : i->otherwise, to);
          continue;
        }
        If result{condition, {}, {}};
        {
          const Assume assume(*this, condition);
          result.then = block(i->then);
        }
        result.otherwise = block(i->otherwise);
        if (!result.then.empty() || !result.otherwise.empty()) to.push_back({std::move(result)});
      } else if (const auto* f = as<For>(s)) {
        to.push_back({withBody(*f, block(f->body))});
      } else {
        to.push_back(s);
        mapRoots(to.back(), [&](const ExprPtr& e) { return expr(e); });
        if (assignsToItself(to.back())) to.pop_back();
      }
    }
  }

  // Whether the statement assigns a variable or a private element to itself, which is what remains of `x = x + 0`.
  bool assignsToItself(const Stmt& s) const {
    if (const auto* a = as<Assign>(s)) {
      const auto* v = as<VarRef>(a->value);
      return v != nullptr && v->variable == a->variable;
    }
    const auto* st = as<Store>(s);
    const auto* l = st == nullptr ? nullptr : as<Load>(st->value);
    return l != nullptr && l->buffer == st->buffer && l->index == st->index &&
           buffers_[st->buffer].space == AddressSpace::priv;
  }

  Truth decide(const Comparison& c) {
    const Key key = keyOf(c);
    if (known_.contains(key) || std::ranges::any_of(assumed_, [&](const Comparison& k) { return implies(k, c); }))
      return Truth::proved;
    const auto found = proofs_.find(key);
    if (found != proofs_.end()) return found->second;
    return proofs_[key] = prove(c);
  }

  ExprPtr expr(const ExprPtr& e) {
    if (const auto* c = as<Choose>(e)) {
      const ExprPtr condition = expr(c->condition);
      if (const auto known = constantCondition(condition)) return expr(*known ? c->then : c->otherwise);
      ExprPtr then;
      {
        const Assume assume(*this, condition);
        then = expr(c->then);
      }
      const ExprPtr otherwise = expr(c->otherwise);
      if (isBoolean(then, otherwise)) return asChosen(condition, then, otherwise);
      if (const ExprPtr both = joined(condition, then, otherwise)) return both;
      if (condition == c->condition && then == c->then && otherwise == c->otherwise) return e;
      return choose(condition, then, otherwise);
    }
    if (const auto* t = as<Test>(e)) {
      std::vector<Comparison> open;
      std::set<Key> listed;
      bool same = true;
      for (const Comparison& stated : t->all) {
        const Comparison c = collected(stated);
        same = same && c == stated;
        const Truth known = decide(c);
        if (known == Truth::refuted) return truth(false);
        if (known == Truth::unknown && listed.insert(keyOf(c)).second) open.push_back(c);
      }
      if (same && open.size() == t->all.size()) return e;
      return open.empty() ? truth(true) : test(std::move(open));
    }
    if (const auto* i = as<Index>(e))
      if (const auto n = i->value.constant()) return literal(ScalarValue::ofInteger(Scalar::i32, *n));
    const ExprPtr mapped = mapChildren(e, [&](const ExprPtr& c) { return expr(c); });
    if (const auto* o = as<Operation>(mapped)) return fold(mapped, *o);
    if (const auto* c = as<Convert>(mapped))
      if (const auto* l = as<Literal>(c->value))
        return literal(convert(l->value, mapped->type.scalar), mapped->type.width);
    if (const auto* s = as<Splat>(mapped)) return splat(s->value, mapped->type.width);
    if (const auto* l = as<Load>(mapped)) return fold(mapped, *l);
    if (const auto* m = as<MakeVector>(mapped)) return fold(mapped, m->lanes);
    return mapped;
  }

  // Whether `c ? then : otherwise` is boolean with a constant side, so that `&&`, `||` and `!` say it without a choice.
  static bool isBoolean(const ExprPtr& then, const ExprPtr& otherwise) {
    return then->type == ValueType{Scalar::boolean, 1} && (constantCondition(then) || constantCondition(otherwise));
  }
  ExprPtr asChosen(const ExprPtr& condition, const ExprPtr& then, const ExprPtr& otherwise) const {
    const auto made = [&](Op op, std::vector<ExprPtr> args) {
      const ExprPtr e = operation(op, std::move(args));
      return fold(e, std::get<Operation>(e->node));
    };
    if (const auto known = constantCondition(then))
      return *known ? made(Op::logicalOr, {condition, otherwise})
                    : made(Op::logicalAnd, {made(Op::logicalNot, {condition}), otherwise});
    return *constantCondition(otherwise) ? made(Op::logicalOr, {made(Op::logicalNot, {condition}), then})
                                         : made(Op::logicalAnd, {condition, then});
  }
  static bool isOpposite(const ExprPtr& e) {
    const auto* o = as<Operation>(e);
    return o != nullptr && o->op == Op::logicalNot;
  }

  static bool isSameTest(const ExprPtr& a, const ExprPtr& b) {
    if (a == b) return true;
    const auto *x = as<Test>(a), *y = as<Test>(b);
    return x != nullptr && y != nullptr && x->all == y->all;
  }

  // Lanes that are neighbours in memory, or chosen by one condition, as one vector.
  ExprPtr fold(const ExprPtr& e, const std::vector<ExprPtr>& lanes) const {
    const auto all = [&](const auto& is) {
      for (std::size_t l = 0; l < lanes.size(); l++)
        if (!is(lanes[l], Nat(static_cast<std::int64_t>(l)))) return false;
      return true;
    };
    if (const auto* first = as<Load>(lanes[0])) {
      const bool consecutive = all([&](const ExprPtr& lane, Nat l) {
        const auto* next = as<Load>(lane);
        return next != nullptr && next->buffer == first->buffer && next->index == first->index + l;
      });
      const Buffer& memory = buffers_[first->buffer];  // private arrays may become scalars
      if (consecutive && memory.width == 1 && memory.space != AddressSpace::priv)
        return load(first->buffer, first->index, e->type);
    }
    const auto* first = as<Choose>(lanes[0]);
    const auto isChosen = [&](const ExprPtr& lane, Nat) {
      const auto* c = as<Choose>(lane);
      return c != nullptr && isSameTest(c->condition, first->condition);
    };
    if (first == nullptr || !all(isChosen)) return e;
    std::vector<ExprPtr> then, otherwise;
    for (const ExprPtr& lane : lanes) {
      then.push_back(std::get<Choose>(lane->node).then);
      otherwise.push_back(std::get<Choose>(lane->node).otherwise);
    }
    const auto vector = [&](std::vector<ExprPtr> parts) {
      const ExprPtr made = makeVector(std::move(parts));
      const auto* m = as<MakeVector>(made);
      return m == nullptr ? made : fold(made, m->lanes);
    };
    return choose(first->condition, vector(std::move(then)), vector(std::move(otherwise)));
  }

  // One condition in place of two, a ? b ? x : y : y, where y costs nothing; null if it is not of this form.
  static ExprPtr joined(const ExprPtr& condition, const ExprPtr& then, const ExprPtr& otherwise) {
    const auto* inner = as<Choose>(then);
    if (inner == nullptr || !isSameLiteral(inner->otherwise, otherwise)) return nullptr;
    const auto* outerTest = as<Test>(condition);
    const auto* innerTest = as<Test>(inner->condition);
    if (outerTest == nullptr || innerTest == nullptr) return nullptr;
    std::vector<Comparison> all = outerTest->all;
    all.insert(all.end(), innerTest->all.begin(), innerTest->all.end());
    return choose(test(std::move(all)), inner->then, otherwise);
  }

  // What a table holds at a constant index.
  ExprPtr fold(const ExprPtr& e, const Load& l) const {
    const std::vector<ScalarValue>& values = buffers_[l.buffer].values;
    const auto index = l.index.constant();
    const auto width = static_cast<std::size_t>(e->type.width);
    if (values.empty() || !index || *index < 0 || static_cast<std::size_t>(*index) + width > values.size()) return e;
    std::vector<ExprPtr> lanes;
    bool isOne = true;
    for (std::size_t i = 0; i < width; i++) {
      lanes.push_back(literal(values[static_cast<std::size_t>(*index) + i]));
      isOne = isOne && isSameLiteral(lanes[i], lanes[0]);
    }
    return isOne ? literal(values[static_cast<std::size_t>(*index)], e->type.width) : makeVector(std::move(lanes));
  }

  // Factors 1 and -1, and what a factor or summand 0 leaves; null where nothing is saved.
  ExprPtr identity(const ExprPtr& e, const Operation& o) const {
    const bool isReal = isFloat(e->type.scalar);
    const auto is = [](const ExprPtr& x, int value) {
      const auto* l = as<Literal>(x);
      return l != nullptr && l->value.asDouble() == value && !(value == 0 && std::signbit(l->value.real));
    };
    const ExprPtr &a = o.args[0], &b = o.args.back();
    switch (o.op) {
      case Op::mul:
        for (const auto& [factor, x] : {std::pair(a, b), std::pair(b, a)}) {
          if (is(factor, 1)) return x;
          if (is(factor, -1) && info(e->type.scalar).isSigned) return operation(Op::neg, {x});
          if (is(factor, 0) && (!isReal || options_.finiteMath)) return factor;
        }
        return nullptr;
      case Op::add:  // -0.0 + 0.0 is 0.0, but nothing else is changed by 0.0
        if (isReal && !options_.finiteMath) return nullptr;
        return is(a, 0) ? b : is(b, 0) ? a : nullptr;
      case Op::sub: return is(b, 0) ? a : nullptr;
      default: return nullptr;
    }
  }

  ExprPtr fold(const ExprPtr& e, const Operation& o) const {
    if (e->type.width == 1) {
      const auto known = constantCondition(o.args[0]);
      if (o.op == Op::select && known) return o.args[*known ? 1 : 2];
      if (o.op == Op::logicalAnd || o.op == Op::logicalOr) {
        const bool neutral = o.op == Op::logicalAnd;  // what leaves the other operand as it is
        if (known) return o.args[*known == neutral ? 1 : 0];
        if (const auto second = constantCondition(o.args[1])) return o.args[*second == neutral ? 0 : 1];
      }
      if (o.op == Op::logicalNot && isOpposite(o.args[0])) return std::get<Operation>(o.args[0]->node).args[0];
      if (o.op == Op::select && isBoolean(o.args[1], o.args[2])) return asChosen(o.args[0], o.args[1], o.args[2]);
    }
    if (const ExprPtr less = identity(e, o)) return less;
    std::vector<ScalarValue> values;
    for (const ExprPtr& a : o.args) {
      const auto* l = as<Literal>(a);
      if (l == nullptr) return e;
      values.push_back(l->value);
    }
    // Division by zero is the program's affair when it runs, not ours.
    if ((o.op == Op::div || o.op == Op::mod) && !isFloat(values[0].type) && values[1].integer == 0) return e;
    return literal(lift::apply(o.op, values), e->type.width);
  }

  const std::vector<Buffer>& buffers_;
  const PassOptions& options_;
  std::set<Key> known_;
  std::vector<Comparison> assumed_;  // the same, from the outermost condition on
  std::map<Key, Truth> proofs_;
};

}  // namespace

Kernel simplifyPass(Kernel kernel, const PassOptions& options) {
  kernel.body = Simplifier(kernel.buffers, options).block(kernel.body);
  return kernel;
}

}  // namespace lift::kernel
