#include "cost.hpp"

#include <algorithm>
#include <functional>

#include "lift/terms.hpp"
#include "lowering.hpp"

namespace lift::detail {

double estimate(Nat n) {
  if (const auto c = n.constant()) return static_cast<double>(*c);
  const auto& parts = n.operands();
  const auto fold = [&](double init, const std::function<double(double, double)>& f) {
    for (const Nat p : parts) init = f(init, estimate(p));
    return init;
  };
  switch (n.kind()) {
    case Nat::Kind::constant:
    case Nat::Kind::variable:
      return unknownSize;
    case Nat::Kind::sum:
      return fold(0, [](double a, double b) { return a + b; });
    case Nat::Kind::product:
      return fold(1, [](double a, double b) { return a * b; });
    case Nat::Kind::floorDiv:
      return std::max(1.0, estimate(parts[0]) / std::max(1.0, estimate(parts[1])));
    case Nat::Kind::mod:
      return estimate(parts[1]) / 2;
    case Nat::Kind::min:
      return fold(estimate(parts[0]), [](double a, double b) { return std::min(a, b); });
    case Nat::Kind::max:
      return fold(estimate(parts[0]), [](double a, double b) { return std::max(a, b); });
  }
  return unknownSize;
}

bool holdsArrays(Type type) {
  if (!type.is(Type::Kind::tuple)) return type.isArray();
  const auto& parts = type.components();
  return std::any_of(parts.begin(), parts.end(), holdsArrays);
}

bool computesElements(Expr e) {
  const Spine s = spineOf(e);
  return s.isPrim(Prim::map) && s.arguments.size() == 2 &&
         !isInvertibleIn(s.arguments[0].body(), s.arguments[0].parameter());
}

bool computesArray(Expr e) {
  if (!e.is(Expr::Form::apply) || !holdsArrays(e.type())) return false;
  const Spine s = spineOf(e);
  if (!s.head.is(Expr::Form::primitive)) return false;
  if (isIteration(s.head.prim())) return true;
  if (!e.type().isArray()) return false;
  return computesElements(e) || isScan(s.head.prim()) ||
         ((s.isPrim(Prim::let) || isReduce(s.head.prim())) && !onlyMovesData(e));
}

bool runsLoop(Expr primitive) {
  return isReduce(primitive.prim()) || isScan(primitive.prim()) || isIteration(primitive.prim());
}

bool sharesElements(const Spine& s) {
  const auto overlapping = [](Expr p) {
    return (p.prim() == Prim::slide || p.prim() == Prim::slideStrict) &&
           lessEqual(p.nats()[0], p.nats()[1]) != Truth::proved;
  };
  if (!s.head.is(Expr::Form::primitive)) return false;
  if (s.isPrim(Prim::map)) return onlyMovesData(s.arguments[0]) && anyPrimitive(s.arguments[0], overlapping);
  return overlapping(s.head);
}

double occurrences(Expr e, Expr variable) {
  std::unordered_map<Expr, double> counts;
  const std::function<double(Expr)> visit = [&](Expr x) -> double {
    if (x == variable) return 1;
    if (!x.hasFree(variable)) return 0;
    if (const auto known = counts.find(x); known != counts.end()) return known->second;
    if (x.is(Expr::Form::lambda)) return visit(x.body());
    const Spine s = spineOf(x);
    double count = 0;
    for (const Expr a : s.arguments) {
      const bool mapped = s.isPrim(Prim::map) && !a.is(Expr::Form::lambda);
      count += visit(a) * (mapped ? occurrences(s.arguments[0].body(), s.arguments[0].parameter()) : 1);
    }
    return counts[x] = count;
  };
  return visit(e);
}

double Work::of(Expr e) {
  if (e.is(Expr::Form::lambda)) return of(e.body());
  if (!e.is(Expr::Form::apply)) return 0;
  if (const auto found = known_.find(e); found != known_.end()) return found->second;
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::toGlobal)) return 0;  // is there
  double times = 1, work = 0;
  if (s.head.is(Expr::Form::primitive)) {
    const Prim prim = s.head.prim();
    if (prim == Prim::op || prim == Prim::convert || prim == Prim::at) work = 1;
    if (isIteration(prim) || prim == Prim::generate) times = estimate(s.head.nats()[0]);
    if (prim == Prim::map || isSequentialMap(prim) || isParallelMap(prim) || isReduce(prim) || isScan(prim))
      times = estimate(s.arguments.back().type().length());
  }
  for (const Expr a : s.arguments) work += of(a) * (a.is(Expr::Form::lambda) ? times : 1);
  return known_[e] = work;
}

}  // namespace lift::detail
