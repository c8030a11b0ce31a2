#include "formula.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "lift/diagnostic.hpp"

namespace lift::detail {
namespace {

using Kind = Nat::Kind;
using Number = std::int64_t;

Number floorQuotient(Number a, Number b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

std::optional<Number> apply(Kind kind, Number a, Number b) {
  Number result = 0;
  switch (kind) {
    case Kind::sum:
      if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
      return result;
    case Kind::product:
      if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
      return result;
    case Kind::floorDiv:
      if (b == 0 || (b == -1 && a == Interval::minusInfinity)) return std::nullopt;
      return floorQuotient(a, b);
    case Kind::mod:
      if (b == 0) return std::nullopt;
      return b == -1 ? 0 : a - b * floorQuotient(a, b);
    case Kind::min:
      return std::min(a, b);
    case Kind::max:
      return std::max(a, b);
    default:
      throw InternalError("not an operation on sizes");
  }
}

bool isInfinite(Number x) { return x == Interval::minusInfinity || x == Interval::infinity; }

// Saturating; an infinite operand decides.
Number addEnds(Number a, Number b) {
  if (isInfinite(a)) return a;
  if (isInfinite(b)) return b;
  Number result = 0;
  if (__builtin_add_overflow(a, b, &result)) return a < 0 ? Interval::minusInfinity : Interval::infinity;
  return result;
}

Number multiplyEnds(Number a, Number b) {
  if (a == 0 || b == 0) return 0;
  Number result = 0;
  if (isInfinite(a) || isInfinite(b) || __builtin_mul_overflow(a, b, &result))
    return (a < 0) != (b < 0) ? Interval::minusInfinity : Interval::infinity;
  return result;
}

Number divideEnds(Number a, Number positive) {
  if (isInfinite(a)) return a;
  return isInfinite(positive) ? (a < 0 ? -1 : 0) : floorQuotient(a, positive);
}

template <class Combine>
Interval hull(const Interval& a, const Interval& b, Combine combine) {
  const std::array<Number, 4> ends{combine(a.low, b.low), combine(a.low, b.high), combine(a.high, b.low),
                                   combine(a.high, b.high)};
  const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
  return {*low, *high};
}

Interval apply(Kind kind, const Interval& a, const Interval& b) {
  switch (kind) {
    case Kind::sum:
      return {addEnds(a.low, b.low), addEnds(a.high, b.high)};
    case Kind::product:
      return hull(a, b, multiplyEnds);
    case Kind::floorDiv:
      if (b.low < 1) return {};
      return hull(a, b, divideEnds);
    case Kind::mod:
      if (b.low < 1) return {};
      return {0, isInfinite(b.high) ? b.high : b.high - 1};
    case Kind::min:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Kind::max:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    default:
      throw InternalError("not an operation on sizes");
  }
}

constexpr std::size_t maxDepth = 64;

}  // namespace

Formula::Formula(Nat value, const std::map<NatVar, int>& slots) {
  append(value, slots);
  ensure(deepest_ <= maxDepth, "a size is nested too deeply");
}

void Formula::append(Nat value, const std::map<NatVar, int>& slots) {
  if (value.constant() || value.variable()) {
    steps_.push_back({value.kind(), value.constant() ? *value.constant() : slots.at(*value.variable())});
    deepest_ = std::max(deepest_, ++depth_);
    return;
  }
  const std::vector<Nat>& operands = value.operands();
  append(operands[0], slots);
  for (std::size_t i = 1; i < operands.size(); i++) {
    append(operands[i], slots);
    steps_.push_back({value.kind(), 0});
    --depth_;
  }
}

std::optional<std::int64_t> Formula::at(const std::vector<std::int64_t>& values) const {
  std::array<Number, maxDepth> stack;  // NOLINT: every element is written before it is read
  std::size_t top = 0;
  for (const Step& s : steps_) {
    if (s.kind == Kind::constant) {
      stack[top++] = s.value;
    } else if (s.kind == Kind::variable) {
      stack[top++] = values[static_cast<std::size_t>(s.value)];
    } else {
      const auto result = apply(s.kind, stack[top - 2], stack[top - 1]);
      if (!result) return std::nullopt;
      stack[--top - 1] = *result;
    }
  }
  return stack[0];
}

Interval Formula::over(const std::vector<Interval>& ranges) const {
  std::array<Interval, maxDepth> stack;
  std::size_t top = 0;
  for (const Step& s : steps_) {
    if (s.kind == Kind::constant) {
      stack[top++] = {s.value, s.value};
    } else if (s.kind == Kind::variable) {
      stack[top++] = ranges[static_cast<std::size_t>(s.value)];
    } else {
      stack[top - 2] = apply(s.kind, stack[top - 2], stack[top - 1]);
      --top;
    }
  }
  return stack[0];
}

Predicate::Predicate(const SizeCondition& condition, const std::map<NatVar, int>& slots)
    : kind_(condition.kind), left_(condition.left, slots), right_(condition.right, slots) {
  std::set<int> used;
  for (const Nat side : {condition.left, condition.right})
    for (const NatVar v : side.variables()) used.insert(slots.at(v));
  variables_.assign(used.begin(), used.end());
}

bool Predicate::holdsAt(const std::vector<std::int64_t>& values) const {
  const auto left = left_.at(values), right = right_.at(values);
  if (!left || !right) return false;
  switch (kind_) {
    case SizeCondition::Kind::divides:
      return *left > 0 && *right % *left == 0;
    case SizeCondition::Kind::lessEqual:
      return *left <= *right;
    case SizeCondition::Kind::equal:
      return *left == *right;
  }
  return false;
}

bool Predicate::isRefutedOver(const std::vector<Interval>& ranges) const {
  const Interval left = left_.over(ranges), right = right_.over(ranges);
  switch (kind_) {
    case SizeCondition::Kind::divides:
      return left.high < 1 || (right.low > 0 && left.low > right.high);
    case SizeCondition::Kind::lessEqual:
      return left.low > right.high;
    case SizeCondition::Kind::equal:
      return left.low > right.high || right.low > left.high;
  }
  return false;
}

bool Predicate::mentions(int slot) const { return std::binary_search(variables_.begin(), variables_.end(), slot); }

}  // namespace lift::detail
