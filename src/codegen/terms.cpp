#include <algorithm>

#include "lift/build.hpp"
#include "lift/diagnostic.hpp"
#include "lowering.hpp"

namespace lift::detail {

Span spanOf(const Spans& spans, Expr primitive) {
  const auto found = spans.find(primitive);
  return found == spans.end() ? Span{} : found->second;
}

void refuse(const Spans& spans, Expr primitive, std::string message, std::string hint) {
  throw UserError(ExitStatus::program,
                  {Diagnostic{Severity::error, spanOf(spans, primitive), std::move(message), std::move(hint), {}}});
}

bool goesOnReducing(Expr f) {
  const Expr p = f.parameter();
  const Spine s = spineOf(f.body());
  if (!s.head.isPrimitive() || !isReduce(s.head.prim()) || s.arguments.size() != 3) return false;
  const auto isComponent = [p](Expr e, const Nat& i) {
    const Spine get = spineOf(e);
    return get.isPrim(Prim::get) && get.head.nats()[0] == i && get.arguments.size() == 1 && get.arguments[0] == p;
  };
  // Of the parameter, function and elements of the inner reduction may use the element.
  const std::function<bool(Expr)> usesElementOnly = [&](Expr e) {
    if (!e.hasFree(p) || isComponent(e, 1)) return true;
    if (e.isLambda()) return usesElementOnly(e.body());
    return e.isApply() && usesElementOnly(e.function()) && usesElementOnly(e.argument());
  };
  return isComponent(s.arguments[0], 0) && usesElementOnly(s.arguments[1]) && usesElementOnly(s.arguments[2]);
}

namespace {

Expr copied(Expr e, int dimension) {
  const Expr x = Expr::variable("x", e.type().element());
  const Expr element = dimension > 0 ? copied(x, dimension - 1) : x;
  return build::call(Prim::mapGlb, {Nat(dimension)}, {Expr::lambda(x, element), e});
}

}  // namespace

Expr copied(Expr e) {
  if (e.type().isTuple()) {
    std::vector<Expr> parts = build::components(e);
    for (Expr& p : parts) p = copied(p);
    return build::tuple(parts);
  }
  const int depth = std::min<int>(3, static_cast<int>(shapeOf(e.type()).size()));
  return depth == 0 ? e : copied(e, depth - 1);
}

namespace {

// The argument through which the result of an invertible layout, or of a let, is written.
std::optional<Expr> writtenThrough(const Spine& s) {
  if (!s.head.isPrimitive() || s.arguments.empty()) return std::nullopt;
  if (s.isPrim(Prim::let)) return s.arguments[0].body();
  const bool isLayout = isInvertibleLayout(s.head.prim()) ||
                        (s.isPrim(Prim::map) && isInvertibleIn(s.arguments[0].body(), s.arguments[0].parameter()));
  return isLayout ? std::optional(s.arguments.back()) : std::nullopt;
}

}  // namespace

bool isComputedInParallel(Expr e) {
  const Spine s = spineOf(e);
  if (s.head.isPrimitive()) {
    if (endsKernel(s) || s.isCall(Prim::reduceByIndex)) return isComputedInParallel(s.arguments[0]);
    if (s.isCall(Prim::let)) return isComputedInParallel(s.arguments[0].body());
    if (isReduce(s.head.prim()) && s.arguments.size() == 3) return runsInParallel(s.arguments[1]);
  }
  return runsInParallel(e);
}

std::optional<Expr> updateOf(Expr e) {
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::reduceByIndex) || s.isPrim(Prim::reduceByIndexGlb)) {
    const auto leaves = leavesOf(e.type());
    const bool rounds = std::ranges::any_of(leaves, [](const Leaf& l) { return l.scalar == Scalar::f16; });
    const bool isApart = s.isPrim(Prim::reduceByIndexGlb) || isComputedInParallel(s.arguments[0]);
    return isApart && !rounds ? std::optional(e) : std::nullopt;
  }
  const auto below = writtenThrough(s);
  return below ? updateOf(*below) : std::nullopt;
}

Expr startOf(Expr e) {
  Spine s = spineOf(e);
  if (s.isPrim(Prim::reduceByIndex) || s.isPrim(Prim::reduceByIndexGlb)) return s.arguments[0];
  Expr& below = s.isPrim(Prim::let) ? s.arguments[0] : s.arguments.back();
  below = s.isPrim(Prim::let) ? Expr::lambda(below.parameter(), startOf(below.body())) : startOf(below);
  return applyAll(s.head, s.arguments);
}

}  // namespace lift::detail
