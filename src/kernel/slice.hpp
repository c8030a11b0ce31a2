// Some lanes of a vector expression.
#pragma once

#include "lift/kernel_walk.hpp"

namespace lift::kernel {

// The lanes first … first + count - 1 of a vector. `leaf(e)` are these of a variable or a load, `whole(e)` is a scalar
// operand as it shall be.
template <class Leaf, class Whole>
ExprPtr slice(const ExprPtr& e, int first, int count, const Leaf& leaf, const Whole& whole) {
  const auto again = [&](const ExprPtr& c) { return slice(c, first, count, leaf, whole); };
  return match(
      e->node, [&](const Literal& l) { return literal(l.value, count); }, [&](const VarRef&) { return leaf(e); },
      [&](const Load&) { return leaf(e); }, [&](const Splat& s) { return splat(whole(s.value), count); },
      [&](const MakeVector& m) {
        std::vector<ExprPtr> lanes(m.lanes.begin() + first, m.lanes.begin() + first + count);
        for (ExprPtr& l : lanes) l = whole(l);
        return makeVector(std::move(lanes));
      },
      [&](const Choose& c) { return choose(whole(c.condition), again(c.then), again(c.otherwise)); },
      [&](const auto&) {  // lane by lane: operations, conversions
        Expr now = *e;
        now.type.width = count;
        forEachChild(now, [&](ExprPtr& child) { child = again(child); });
        return std::make_shared<const Expr>(std::move(now));
      });
}

}  // namespace lift::kernel
