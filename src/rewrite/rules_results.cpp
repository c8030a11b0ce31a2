// Computed rule: what is done with each element of a result, where that element is computed.
#include "computed.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {
namespace {

using namespace build;

// The scalar function of nested maps over the elements of an array of so many dimensions.
std::optional<Expr> elementFunction(Expr map) {
  const Spine s = spineOf(map);
  if (!s.isPrim(Prim::map) || s.arguments.size() != 2 || !s.arguments[0].is(Expr::Form::lambda)) return std::nullopt;
  const Expr f = s.arguments[0], x = f.parameter();
  if (x.type().is(Type::Kind::scalar)) return f.body().type() == x.type() ? std::optional(f) : std::nullopt;
  const Spine inner = spineOf(f.body());
  if (!inner.isPrim(Prim::map) || inner.arguments.size() != 2 || inner.arguments[1] != x ||
      inner.arguments[0].hasFree(x))
    return std::nullopt;
  return elementFunction(f.body());
}

class Computed {
 public:
  explicit Computed(Expr f) : f_(f) {}
  // Whether loops were met on the way that work-items or groups run: else a map is as good.
  bool isPlaced() const { return isPlaced_; }

  // The term with f of each of its scalars; nothing where it is made of what is not an array of these alone.
  std::optional<Expr> in(Expr e) {
    const Spine s = spineOf(e);
    if (!s.head.is(Expr::Form::primitive) || s.arguments.empty()) return of(e);
    const Prim p = s.head.prim();
    Spine now = s;
    const bool isMap = traits(p).loop == Traits::Loop::map && s.arguments.size() == 2;
    if ((isMap && (p != Prim::map || !onlyMovesData(s.arguments[0]))) || p == Prim::let) {
      isPlaced_ = isPlaced_ || isKernelMap(p);
      const Expr f = withFreshBinders(s.arguments[0]);
      const auto body = in(f.body());
      if (!body) return std::nullopt;
      now.arguments[0] = Expr::lambda(f.parameter(), *body);
      return applyAll(now.head, now.arguments);
    }
    const bool passes = isMap || isInvertibleLayout(p) || isCrop(p) || p == Prim::asScalar || p == Prim::toGlobal;
    if (!passes) return of(isReduce(p) && e.type().isArray() ? call(Prim::toPrivate, {e}) : e);
    const auto below = in(s.arguments.back());
    if (!below) return std::nullopt;
    now.arguments.back() = *below;
    return applyAll(now.head, now.arguments);
  }

 private:
  std::optional<Expr> of(Expr e) const {
    const Expr f = withFreshBinders(f_);
    const Type scalar = f.parameter().type(), t = e.type();
    if (t == scalar) return let(f.parameter(), e, f.body());
    if (t.is(Type::Kind::vector) && t.element() == scalar) return call(Prim::vectorize, {t.length()}, {f, e});
    if (!t.isArray()) return std::nullopt;
    const Expr x = Expr::variable("x", t.element());
    const auto each = of(x);
    if (!each) return std::nullopt;
    return call(Prim::mapSeqUnroll, {Nat(0)}, {Expr::lambda(x, *each), e});
  }

  Expr f_;
  bool isPlaced_ = false;
};

std::optional<Expr> mapIntoResult(Expr e) {
  const auto f = elementFunction(e);
  if (!f) return std::nullopt;
  Computed computed(*f);
  const auto made = computed.in(spineOf(e).arguments[1]);
  return made && computed.isPlaced() ? std::optional(etaLong(*made)) : std::nullopt;
}

}  // namespace

std::vector<Rule> resultRules() {
  return {computedRule({"mapIntoResult",
                        "map(fun x => 0.5 * f(x + 0.5), join(mapWrg(0, fun x => mapLcl(0, g, x), (xs: [n][m]t)))) => "
                        "join(mapWrg(0, fun x => mapLcl(0, fun y => 0.5 * f(g(y) + 0.5), x), xs))",
                        "functor law: an element is finished where it is computed"},
                       mapIntoResult)};
}

}  // namespace lift::rewrite::detail
