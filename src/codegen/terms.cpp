#include "lift/diagnostic.hpp"
#include "lowering.hpp"

namespace lift::detail {

bool isInvertibleLayout(Prim prim) {
  switch (prim) {
    case Prim::join:
    case Prim::split:
    case Prim::transpose:
    case Prim::reorder:
    case Prim::asVector:
    case Prim::asScalar:
    case Prim::id:
      return true;
    default:
      return false;
  }
}

bool isInvertibleIn(Expr body, Expr parameter) {
  if (body == parameter) return true;
  const Spine s = spineOf(body);
  if (!s.head.is(Expr::Form::primitive) || s.arguments.empty()) return false;
  if (isInvertibleLayout(s.head.prim()) && s.arguments.size() == 1) return isInvertibleIn(s.arguments[0], parameter);
  if (s.head.prim() == Prim::map && s.arguments.size() == 2 && s.arguments[0].is(Expr::Form::lambda) &&
      !s.arguments[0].hasFree(parameter))
    return isInvertibleIn(s.arguments[0].body(), s.arguments[0].parameter()) &&
           isInvertibleIn(s.arguments[1], parameter);
  return false;
}

bool isParallelMap(Prim p) { return p == Prim::mapGlb || p == Prim::mapWrg || p == Prim::mapLcl; }
bool isSequentialMap(Prim p) { return p == Prim::mapSeq || p == Prim::mapSeqUnroll; }
bool isReduce(Prim p) { return p == Prim::reduce || p == Prim::reduceSeq || p == Prim::reduceSeqUnroll; }
bool isExclusiveScan(Prim p) { return p == Prim::scanExclusive || p == Prim::scanExclusiveSeq; }
bool isScan(Prim p) { return p == Prim::scan || p == Prim::scanSeq || isExclusiveScan(p); }

bool anyPrimitive(Expr e, const std::function<bool(Expr)>& test) {
  std::unordered_set<Expr> seen;
  const std::function<bool(Expr)> visit = [&](Expr x) -> bool {
    if (!seen.insert(x).second) return false;
    switch (x.form()) {
      case Expr::Form::primitive:
        return test(x);
      case Expr::Form::lambda:
        return visit(x.body());
      case Expr::Form::apply:
        return visit(x.function()) || visit(x.argument());
      default:
        return false;
    }
  };
  return visit(e);
}

bool goesOnReducing(Expr f) {
  const Expr p = f.parameter();
  const Spine s = spineOf(f.body());
  if (!s.head.is(Expr::Form::primitive) || !isReduce(s.head.prim()) || s.arguments.size() != 3) return false;
  const auto isComponent = [p](Expr e, const Nat& i) {
    const Spine get = spineOf(e);
    return get.isPrim(Prim::get) && get.head.nats()[0] == i && get.arguments.size() == 1 && get.arguments[0] == p;
  };
  // Of the parameter, function and elements of the inner reduction may use the element.
  const std::function<bool(Expr)> usesElementOnly = [&](Expr e) {
    if (!e.hasFree(p) || isComponent(e, 1)) return true;
    if (e.is(Expr::Form::lambda)) return usesElementOnly(e.body());
    return e.is(Expr::Form::apply) && usesElementOnly(e.function()) && usesElementOnly(e.argument());
  };
  return isComponent(s.arguments[0], 0) && usesElementOnly(s.arguments[1]) && usesElementOnly(s.arguments[2]);
}

bool onlyMovesData(Expr e) {
  return !anyPrimitive(e, [](Expr p) { return !movesData(p.prim()); });
}

}  // namespace lift::detail
