// Computed rule: what is done with each element of a result, where that element is computed.
#include "computed.hpp"
#include "lift/epilogue.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {
namespace {

using namespace build;

class Computed {
 public:
  using Arrays = std::vector<Expr>;  // the epilogue's others, each in the layout of the term that they go with

  explicit Computed(const Epilogue& epilogue) {
    names_.push_back(epilogue.element);
    for (const Epilogue::Other& other : epilogue.others) names_.push_back(other.element);
    f_ = epilogue.value;
    for (auto n = names_.rbegin(); n != names_.rend(); ++n) f_ = Expr::lambda(*n, f_);
  }
  // Whether the way to the result led through loops that work-items or groups run. If not, a map of the result does as
  // well.
  bool isPlaced() const { return isPlaced_; }

  // The term with the epilogue's value of each of its scalars; nothing where it is made of what is not an array of
  // these alone.
  std::optional<Expr> in(Expr e, const Arrays& others) {
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive() || s.arguments.empty()) return of(e, others);
    const Prim p = s.head.prim();
    const bool isMap = traits(p).loop == Traits::Loop::map && s.arguments.size() == 2;
    if (p == Prim::let) {
      const Expr f = withFreshBinders(s.arguments[0]);
      const auto body = in(f.body(), others);
      if (!body) return std::nullopt;
      return let(f.parameter(), s.arguments[1], *body);
    }
    if (isMap && (p != Prim::map || !onlyMovesData(s.arguments[0]))) {
      isPlaced_ = isPlaced_ || isKernelMap(p);
      return inMap(s, others);
    }
    const bool passes = isMap || isInvertibleLayout(p) || isCrop(p) || p == Prim::asScalar || p == Prim::toGlobal;
    if (!passes) return of(isReduce(p) && e.type().isArray() ? call(Prim::toPrivate, {e}) : e, others);
    const auto before = ofAll(others, [&](Expr other) { return beforeLayout(s, other); });
    if (!before) return std::nullopt;
    const auto below = in(s.arguments.back(), *before);
    if (!below) return std::nullopt;
    return laidOut(s, *below);
  }

 private:
  std::optional<Expr> inMap(const Spine& s, const Arrays& others) {
    const Expr f = withFreshBinders(s.arguments[0]), x = f.parameter();
    Arrays all{s.arguments[1]};
    all.insert(all.end(), others.begin(), others.end());
    const Expr zipped = zip(all);
    const Expr p = others.empty() ? x : Expr::variable(x.name(), zipped.type().element());
    const auto body = in(others.empty() ? f.body() : substitute(f.body(), x, get(p, 0)), elementsOf(p, others.size()));
    if (!body) return std::nullopt;
    return call(s.head.prim(), s.head.nats(), {Expr::lambda(p, *body), zipped});
  }

  // The others in a tuple of an element and `count` others.
  static Arrays elementsOf(Expr p, std::size_t count) {
    Arrays elements;
    for (std::size_t i = 0; i < count; i++) elements.push_back(get(p, i + 1));
    return elements;
  }

  // The layout of an array whose elements may be of another type.
  static Expr laidOut(const Spine& s, Expr in) {
    if (s.arguments.back().type() == in.type()) {
      std::vector<Expr> arguments = s.arguments;
      arguments.back() = in;
      return applyAll(s.head, arguments);
    }
    if (!s.isPrim(Prim::map)) {
      const auto detail = s.isPrim(Prim::reorder) ? static_cast<std::uint8_t>(s.head.indexFn()) : std::uint8_t{0};
      return call(s.head.prim(), s.head.nats(), {in}, detail);
    }
    const Expr f = s.arguments[0], x = Expr::variable(f.parameter().name(), in.type().element());
    const std::function<Expr(Expr)> below = [&](Expr e) {
      return e == f.parameter() ? x : laidOut(spineOf(e), below(spineOf(e).arguments.back()));
    };
    return map(Expr::lambda(x, below(f.body())), in);
  }

  // The array that the layout turns into `other`; zeros stand for what the layout crops.
  static std::optional<Expr> beforeLayout(const Spine& s, Expr other) {
    const Type in = s.arguments.back().type();
    switch (s.head.prim()) {
      case Prim::id:
      case Prim::toGlobal: return other;
      case Prim::join: return split(in.element().length(), other);
      case Prim::split: return call(Prim::join, {other});
      case Prim::transpose: return call(Prim::transpose, {other});
      case Prim::asScalar:
        if (!other.type().element().isScalar()) return std::nullopt;
        return call(Prim::asVector, {in.element().length()}, {other});
      case Prim::asVector: return call(Prim::asScalar, {other});
      case Prim::take: {
        const Type element = other.type().element();
        if (baseOf(element).isVector()) return std::nullopt;
        return call(Prim::pad, {Nat(0), in.length() - other.type().length()}, {zeros(element), other});
      }
      case Prim::map: {
        const Expr row = Expr::variable("row", other.type().element());
        const auto undone = before(s.arguments[0].body(), s.arguments[0].parameter(), row);
        if (!undone) return std::nullopt;
        return *undone == row ? other : map(Expr::lambda(row, *undone), other);
      }
      default: return std::nullopt;
    }
  }

  // The same for a chain of layouts applied to the parameter.
  static std::optional<Expr> before(Expr chain, Expr parameter, Expr other) {
    if (chain == parameter) return other;
    const Spine s = spineOf(chain);
    if (!s.head.isPrimitive() || s.arguments.empty()) return std::nullopt;
    if (s.isPrim(Prim::map) && s.arguments[0].hasFree(parameter)) return std::nullopt;
    const auto undone = beforeLayout(s, other);
    return undone ? before(s.arguments.back(), parameter, *undone) : std::nullopt;
  }

  std::optional<Expr> of(Expr e, const Arrays& others) const {
    const Type scalar = names_[0].type(), t = e.type();
    if (t.isArray()) {
      Arrays all{e};
      all.insert(all.end(), others.begin(), others.end());
      const Expr zipped = zip(all), x = Expr::variable("x", zipped.type().element());
      const auto each = of(others.empty() ? x : get(x, 0), elementsOf(x, others.size()));
      if (!each) return std::nullopt;
      constexpr std::int64_t unrolled = 64;
      const Expr f = Expr::lambda(x, *each);
      const bool isShort = t.length().constant().value_or(unrolled + 1) <= unrolled;
      return isShort ? call(Prim::mapSeqUnroll, {Nat(0)}, {f, zipped}) : call(Prim::mapSeq, {f, zipped});
    }
    std::vector<Expr> names;
    Expr value = withFreshBinders(f_);
    for (std::size_t i = 0; i <= others.size(); i++) {
      names.push_back(value.parameter());
      value = value.body();
    }
    if (t == scalar) {
      for (std::size_t i = others.size(); i-- > 0;) value = let(names[i + 1], others[i], value);
      return let(names[0], e, value);
    }
    if (!t.isVector() || t.element() != scalar) return std::nullopt;
    if (others.empty()) return call(Prim::vectorize, {t.length()}, {Expr::lambda(names[0], value), e});
    Arrays lanes{e};
    lanes.insert(lanes.end(), others.begin(), others.end());
    const Expr p = Expr::variable("p", typeOfScalars(names));
    std::unordered_map<Expr, Expr> elements;
    for (std::size_t i = 0; i < names.size(); i++) elements.emplace(names[i], get(p, i));
    return call(Prim::vectorize, {t.length()}, {Expr::lambda(p, substitute(value, elements)), tuple(lanes)});
  }

  static Type typeOfScalars(const std::vector<Expr>& names) {
    std::vector<Type> types;
    for (const Expr n : names) types.push_back(n.type());
    return Type::tuple(std::move(types));
  }

  std::vector<Expr> names_;  // of the element and those of the others
  Expr f_ = Expr::nat(0);    // a function of them, one after the other
  bool isPlaced_ = false;
};

std::optional<Expr> mapIntoResult(Expr e) {
  // The first array that is computed by loops of work-items.
  const auto isPlaced = [](Expr array) { return anyPrimitive(array, [](Expr p) { return isKernelMap(p.prim()); }); };
  const auto epilogue = epilogueOf(e, isPlaced);
  if (!epilogue) return std::nullopt;
  Computed computed(*epilogue);
  Computed::Arrays others;
  for (const Epilogue::Other& other : epilogue->others) others.push_back(other.array);
  const auto made = computed.in(epilogue->result, others);
  return made && computed.isPlaced() ? std::optional(etaLong(*made)) : std::nullopt;
}

}  // namespace

std::vector<Rule> resultRules() {
  return {computedRule({"mapIntoResult",
                        "map(fun (x, y) => 0.5 * f((x + 0.5, y)), zip(join(mapWrg(0, fun x => mapLcl(0, g, x), (xs: "
                        "[n][m]t))), ys)) => join(mapWrg(0, fun (x, y) => mapLcl(0, fun (x, y) => "
                        "0.5 * f((g(x) + 0.5, y)), zip(x, y)), zip(xs, split(m, ys))))",
                        "functor law: an element is finished where it is computed"},
                       mapIntoResult)};
}

}  // namespace lift::rewrite::detail
