#include "lift/canonical.hpp"

#include <algorithm>

namespace lift {

Canonical::Known Canonical::of(Expr e) {
  if (const auto known = known_.find(e); known != known_.end()) return known->second;
  Known made{e, 0};
  if (e.isApply()) {
    const Known f = of(e.function()), x = of(e.argument());
    made = {Expr::apply(f.term, x.term), std::max(f.height, x.height)};
  } else if (e.isLambda()) {
    // No lambda below has this parameter, since all are lower.
    const Known below = of(e.body());
    const Expr own = parameter(below.height, e.parameter().type());
    made = {Expr::lambda(own, substitute(below.term, e.parameter(), own)), below.height + 1};
  } else if (mayFail(e)) {
    made.term = Expr::primitive(e.prim(), e.nats(), e.type(), static_cast<std::uint8_t>(e.op()));
  }
  known_.insert_or_assign(e, made);
  return made;
}

Expr Canonical::parameter(std::size_t height, Type type) {
  if (height >= parameters_.size()) parameters_.resize(height + 1);
  auto& ofHeight = parameters_[height];
  if (!ofHeight.contains(type)) ofHeight.emplace(type, Expr::variable("x", type));
  return ofHeight.at(type);
}

}  // namespace lift
