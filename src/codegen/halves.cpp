// Which arrays of f16 are kept in halves: see lowering.hpp.
#include <algorithm>
#include <array>

#include "lift/terms.hpp"
#include "lowering.hpp"

namespace lift::detail {

namespace {

bool holdsF16(Type type) {
  if (type.isFunction()) return false;
  const std::vector<Leaf> leaves = leavesOf(type);
  return std::ranges::any_of(leaves, [](const Leaf& l) { return l.scalar == Scalar::f16; });
}

// Whether the result of the operation on halves is a half without rounding: it chooses an operand, or gives an integral
// value or another sign.
bool givesHalves(Op op) {
  constexpr std::array all{Op::neg, Op::abs, Op::min, Op::max, Op::select, Op::floor, Op::ceil, Op::round, Op::trunc};
  return std::ranges::find(all, op) != all.end();
}

}  // namespace

void Halves::add(Expr variable) {
  if (holdsF16(variable.type())) kept_.insert(variable);
}

bool Halves::inBody(Expr f, bool arguments) {
  if (!f.isLambda()) return false;
  bound_[f.parameter()] = arguments;
  return areAllOf(f.body());
}

bool Halves::areAllOf(Expr e) {
  if (!holdsF16(e.type())) return true;
  if (e.isVariable()) {
    const auto found = bound_.find(e);
    return found != bound_.end() ? found->second : has(e);
  }
  if (e.isLiteral()) return convert(e.value(), Scalar::f16).real == e.value().real;
  const Spine s = spineOf(e);
  if (!s.head.isPrimitive()) return false;
  const auto& a = s.arguments;
  const auto all = [&](std::size_t from) {
    return std::all_of(a.begin() + static_cast<std::ptrdiff_t>(from), a.end(), [&](Expr x) { return areAllOf(x); });
  };
  const Prim p = s.head.prim();
  switch (p) {
    case Prim::convert: return true;
    case Prim::op: return givesHalves(s.head.op()) && all(0);
    case Prim::let:
    case Prim::vectorize: return inBody(a[0], areAllOf(a[1]));
    case Prim::ifThenElse: return all(1);
    case Prim::iterateWhile: return areAllOf(a[2]) && inBody(a[1], true);
    case Prim::splat: return all(0);
    default: break;
  }
  switch (traits(p).loop) {
    case Traits::Loop::none: return movesData(p) && all(0);
    case Traits::Loop::map: return inBody(a[0], areAllOf(a[1]));
    case Traits::Loop::generate: return inBody(a[0], true);
    case Traits::Loop::reduce:
    case Traits::Loop::scan:
    case Traits::Loop::reduceByIndex:  // what is accumulated are halves if they stay such
      return areAllOf(a[0]) && areAllOf(a[2]) && inBody(a[1], true);
    case Traits::Loop::iterate: return areAllOf(a[1]) && inBody(a[0], true);
  }
  return false;
}

}  // namespace lift::detail
