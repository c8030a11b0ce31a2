#include "lift/terms.hpp"

#include <unordered_set>

namespace lift {

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

bool isWrittenThrough(Prim prim) {
  switch (prim) {
    case Prim::unzip:
    case Prim::zip:
    case Prim::tuple:
    case Prim::concat:
      return true;
    default:
      return isInvertibleLayout(prim);
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

bool onlyMovesData(Expr e) {
  return !anyPrimitive(e, [](Expr p) { return !movesData(p.prim()); });
}

}  // namespace lift
