// Straight-line code for integers, and what its operations do to ranges and to numbers.
#include "lift/nat_code.hpp"

#include <algorithm>
#include <array>

#include "lift/diagnostic.hpp"
#include "node.hpp"

namespace lift {

namespace {

bool infinite(std::int64_t a) { return a == Range::minusInfinity || a == Range::plusInfinity; }

std::int64_t saturate(__int128 value) {
  if (value <= Range::minusInfinity) return Range::minusInfinity;
  if (value >= Range::plusInfinity) return Range::plusInfinity;
  return static_cast<std::int64_t>(value);
}

std::int64_t multiplyBounds(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? Range::plusInfinity : Range::minusInfinity;
  return saturate(static_cast<__int128>(a) * b);
}

// The bound of a quotient; `b` is positive and may be infinite.
std::int64_t divideBounds(std::int64_t a, std::int64_t b) {
  if (infinite(a)) return a;
  if (b == Range::plusInfinity) return a < 0 ? -1 : 0;
  return detail::floorQuotient(a, b);
}

}  // namespace

Range operator+(Range a, Range b) {
  Range sum;
  if (a.lower != Range::minusInfinity && b.lower != Range::minusInfinity)
    sum.lower = saturate(static_cast<__int128>(a.lower) + b.lower);
  if (a.upper != Range::plusInfinity && b.upper != Range::plusInfinity)
    sum.upper = saturate(static_cast<__int128>(a.upper) + b.upper);
  // A bound beyond the type on the wrong side is no bound.
  if (sum.lower == Range::plusInfinity) sum.lower = Range::plusInfinity - 1;
  if (sum.upper == Range::minusInfinity) sum.upper = Range::minusInfinity + 1;
  return sum;
}

Range operator*(Range a, Range b) {
  const std::array corners{multiplyBounds(a.lower, b.lower), multiplyBounds(a.lower, b.upper),
                           multiplyBounds(a.upper, b.lower), multiplyBounds(a.upper, b.upper)};
  Range product{*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
  if (product.lower == Range::plusInfinity) product.lower = Range::plusInfinity - 1;
  if (product.upper == Range::minusInfinity) product.upper = Range::minusInfinity + 1;
  return product;
}

namespace {

Range floorDiv(Range a, Range b) {
  if (b.upper <= -1) {  // a / b == -a / -b
    a = a * Range{-1, -1};
    b = b * Range{-1, -1};
  }
  if (b.lower < 1 || b.upper < b.lower) return {};
  return {divideBounds(a.lower, a.lower >= 0 ? b.upper : b.lower),
          divideBounds(a.upper, a.upper >= 0 ? b.lower : b.upper)};
}

Range mod(Range a, Range b) {
  Range result;
  if (b.lower != Range::minusInfinity) result.lower = std::min<std::int64_t>(b.lower + 1, 0);
  if (b.upper != Range::plusInfinity) result.upper = std::max<std::int64_t>(b.upper - 1, 0);
  if (b.lower >= 1 && a.lower >= 0) result.upper = std::min(result.upper, a.upper);
  return result;
}

Range min(Range a, Range b) { return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)}; }
Range max(Range a, Range b) { return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)}; }

[[noreturn]] void noOperation() { throw InternalError("a leaf is no operation on integers"); }

template <class T>
T combined(Nat::Kind kind, T a, T b) {
  switch (kind) {
    case Nat::Kind::sum: return a + b;
    case Nat::Kind::product: return a * b;
    case Nat::Kind::floorDiv: return floorDiv(a, b);
    case Nat::Kind::mod: return mod(a, b);
    case Nat::Kind::min: return min(a, b);
    case Nat::Kind::max: return max(a, b);
    default: noOperation();
  }
}

}  // namespace

Nat combine(Nat::Kind kind, Nat a, Nat b) { return combined(kind, a, b); }
Range combine(Nat::Kind kind, Range a, Range b) { return combined(kind, a, b); }

std::optional<std::int64_t> combine(Nat::Kind kind, std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return std::nullopt;
  std::int64_t result = 0;
  switch (kind) {
    case Nat::Kind::sum: return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case Nat::Kind::product: return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case Nat::Kind::floorDiv:
      if (*b == 0 || (*b == -1 && *a == Range::minusInfinity)) return std::nullopt;
      return detail::floorQuotient(*a, *b);
    case Nat::Kind::mod: return *b == 0 ? std::nullopt : std::optional(detail::floorRemainder(*a, *b));
    case Nat::Kind::min: return std::min(*a, *b);
    case Nat::Kind::max: return std::max(*a, *b);
    default: noOperation();
  }
}

NatCode::NatCode(Nat value, const std::function<std::size_t(NatVar)>& placeOf) { append(value, placeOf); }

void NatCode::append(Nat value, const std::function<std::size_t(NatVar)>& placeOf) {
  if (value.constant() || value.variable()) {
    const auto constant = value.constant();
    steps_.push_back({value.kind(), constant ? *constant : static_cast<std::int64_t>(placeOf(*value.variable()))});
    deepest_ = std::max(deepest_, ++depth_);
    return;
  }
  const std::vector<Nat>& operands = value.operands();
  append(operands[0], placeOf);
  for (std::size_t i = 1; i < operands.size(); i++) {
    append(operands[i], placeOf);
    steps_.push_back({value.kind(), 0});
    --depth_;
  }
}

}  // namespace lift
