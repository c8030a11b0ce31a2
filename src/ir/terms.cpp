#include "lift/terms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "lift/build.hpp"
#include "rebuild.hpp"

namespace lift {

bool isInvertibleIn(Expr body, Expr parameter) {
  if (body == parameter) return true;
  const Spine s = spineOf(body);
  if (!s.head.isPrimitive() || s.arguments.empty()) return false;
  if ((isInvertibleLayout(s.head.prim()) || s.isPrim(Prim::unzip)) && s.arguments.size() == 1)
    return isInvertibleIn(s.arguments[0], parameter);
  if (s.head.prim() == Prim::map && s.arguments.size() == 2 && s.arguments[0].isLambda() &&
      !s.arguments[0].hasFree(parameter))
    return isInvertibleIn(s.arguments[0].body(), s.arguments[0].parameter()) &&
           isInvertibleIn(s.arguments[1], parameter);
  return false;
}

namespace {

bool isCropIn(Expr body, Expr parameter) {
  if (body == parameter) return true;
  const Spine s = spineOf(body);
  if (!s.head.isPrimitive() || s.arguments.empty()) return false;
  if (isInvertibleLayout(s.head.prim()) || isCrop(s.head.prim()))
    return s.arguments.size() == 1 && isCropIn(s.arguments[0], parameter);
  return s.isCall(Prim::map) && s.arguments[0].isLambda() && !s.arguments[0].hasFree(parameter) &&
         isCropIn(s.arguments[0].body(), s.arguments[0].parameter()) && isCropIn(s.arguments[1], parameter);
}

}  // namespace

bool isCroppedResult(Expr e) {
  const Spine s = spineOf(e);
  if (!s.head.isPrimitive() || s.arguments.empty()) return false;
  if (isKernelMap(s.head.prim())) return traits(s.head.prim()).loop == Traits::Loop::map;
  if (s.isPrim(Prim::concat)) return std::ranges::all_of(s.arguments, isCroppedResult);
  if (isInvertibleLayout(s.head.prim()) || isCrop(s.head.prim()))
    return s.arguments.size() == 1 && isCroppedResult(s.arguments[0]);
  return s.isCall(Prim::map) && s.arguments[0].isLambda() &&
         isCropIn(s.arguments[0].body(), s.arguments[0].parameter()) && isCroppedResult(s.arguments[1]);
}

bool isResultLayout(const Spine& s, Crops crops) {
  if (!s.head.isPrimitive() || s.arguments.empty()) return false;
  const Prim prim = s.head.prim();
  const bool mayCrop = crops == Crops::yes;
  if (isInvertibleLayout(prim) || prim == Prim::unzip || (mayCrop && isCrop(prim))) return true;
  if (prim != Prim::map || s.arguments.size() != 2) return false;
  const Expr f = etaLong(s.arguments[0]);
  return f.isLambda() && (mayCrop ? isCropIn : isInvertibleIn)(f.body(), f.parameter());
}

Expr underLayouts(Expr e) {
  for (Spine s = spineOf(e); isResultLayout(s, Crops::no); s = spineOf(e)) e = s.arguments.back();
  return e;
}

bool isOptional(const Spine& s, std::size_t argument) {
  if (!s.head.isPrimitive()) return false;
  if (s.isPrim(Prim::op)) return argument > 0 && (s.head.op() == Op::logicalAnd || s.head.op() == Op::logicalOr);
  switch (traits(s.head.prim()).lazy) {
    case Traits::Lazy::none: return false;
    case Traits::Lazy::branches: return argument > 0;
    case Traits::Lazy::functions: return s.arguments[argument].type().isFunction();
  }
  return false;
}

bool choosesWhatMayFail(const Spine& s) {
  for (std::size_t i = 0; i < s.arguments.size(); i++)
    if (isOptional(s, i) && !s.arguments[i].type().isFunction() && mayFailWithin(s.arguments[i])) return true;
  return false;
}

std::size_t treeSize(Expr e, std::size_t most, std::unordered_map<Expr, std::size_t>& known) {
  if (!e.isLambda() && !e.isApply()) return 1;
  if (const auto found = known.find(e); found != known.end()) return found->second;
  std::size_t size = 1;
  if (e.isLambda())
    size += treeSize(e.body(), most, known);
  else
    size += treeSize(e.function(), most, known) + treeSize(e.argument(), most, known);
  return known[e] = std::min(size, most + 1);
}

bool anyTerm(Expr e, const std::function<bool(Expr)>& test) {
  std::unordered_set<Expr> seen;
  const std::function<bool(Expr)> visit = [&](Expr x) -> bool {
    if (!seen.insert(x).second) return false;
    if (test(x)) return true;
    switch (x.form()) {
      case Expr::Form::lambda: return visit(x.body());
      case Expr::Form::apply: return visit(x.function()) || visit(x.argument());
      default: return false;
    }
  };
  return visit(e);
}

bool anyPrimitive(Expr e, const std::function<bool(Expr)>& test) {
  return anyTerm(e, [&](Expr x) { return x.isPrimitive() && test(x); });
}

void forEachTerm(Expr e, const std::function<void(Expr)>& visit) {
  anyTerm(e, [&](Expr x) { return visit(x), false; });
}

std::optional<std::vector<std::pair<Expr, Expr>>> usedOfZip(Expr variable, Expr array, Expr term) {
  constexpr int all = 8;
  // Down to the last arrays; where the term uses an element of an inner zip as a whole, to those of the outermost.
  for (const int depth : {all, 1}) {
    std::vector<std::pair<Expr, Expr>> components;
    const std::function<void(Expr, Expr, int)> collect = [&](Expr element, Expr of, int left) {
      const Spine zipped = spineOf(of);
      if (left == 0 || !zipped.isPrim(Prim::zip)) return components.emplace_back(element, of), void();
      for (std::size_t i = 0; i < zipped.arguments.size(); i++)
        collect(build::get(element, i), zipped.arguments[i], left - 1);
    };
    collect(variable, array, depth);
    std::vector<std::pair<Expr, Expr>> used;
    Expr rest = term;
    for (const auto& component : components) {
      const Expr element = component.first;
      const Expr without = replaceTerms(rest, {{element, Expr::variable("x", element.type())}});
      if (without != rest) used.push_back(component);
      rest = without;
    }
    if (!rest.hasFree(variable) && used.size() < components.size()) return used;
  }
  return std::nullopt;
}

bool runsInParallel(Expr e) {
  return anyPrimitive(e, [](Expr p) { return isKernelMap(p.prim()); });
}

namespace {

// Divides by a literal or a size that is not zero, or takes an element at a literal within the array.
bool isSafeByLiteral(const Spine& s) {
  if (s.arguments.size() != 2) return false;
  const auto literal = [&](std::size_t i) { return s.arguments[i].isLiteral(); };
  if (s.isPrim(Prim::op) && s.arguments[1].isNatLiteral())
    return less(Nat(0), s.arguments[1].natValue()) == Truth::proved;
  if (s.isPrim(Prim::op)) return literal(1) && s.arguments[1].value().integer != 0;
  if (!s.isPrim(Prim::at) || !literal(0)) return false;
  const std::int64_t index = s.arguments[0].value().integer;
  return index >= 0 && less(Nat(index), s.arguments[1].type().length()) == Truth::proved;
}

}  // namespace

bool mayFail(const Spine& s) { return mayFail(s.head) && !isSafeByLiteral(s); }

bool mayFailWithin(Expr e) {
  std::unordered_set<Expr> seen;
  const std::function<bool(Expr)> visit = [&](Expr x) -> bool {
    if (!seen.insert(x).second) return false;
    if (x.isLambda()) return visit(x.body());
    if (!x.isApply()) return mayFail(x);
    const Spine s = spineOf(x);
    if (s.head.isPrimitive() ? mayFail(s) : visit(s.head)) return true;
    return std::ranges::any_of(s.arguments, visit);
  };
  return visit(e);
}

using Loop = Traits::Loop;

bool isReduce(Prim p) { return traits(p).loop == Loop::reduce; }
bool isIteration(Prim p) { return traits(p).loop == Loop::iterate; }
bool isScan(const Spine& s) { return s.isPrim(Prim::scan) || s.isPrim(Prim::scanExclusive); }
bool isFold(const Spine& s) { return s.isPrim(Prim::reduce) || isScan(s); }
bool isSlide(Expr p) { return p.prim() == Prim::slide || p.prim() == Prim::slideStrict; }
bool isPadding(Expr p) {
  return p.prim() == Prim::pad || p.prim() == Prim::padClamp || p.prim() == Prim::padMirror ||
         p.prim() == Prim::padWrap;
}
bool foldsArrays(const Spine& s) { return isFold(s) && holdsArrays(s.arguments[0].type()); }
bool stepsOverArrays(const Spine& s) {
  return s.isPrim(Prim::iterate) ? holdsArrays(s.arguments[1].type()) : s.isPrim(Prim::reduce) && foldsArrays(s);
}

bool runsInOrder(Prim p) {
  const Loop loop = traits(p).loop;
  return loop == Loop::scan || loop == Loop::reduceByIndex || loop == Loop::iterate;
}

bool takesSteps(Expr primitive) { return isReduce(primitive.prim()) || runsInOrder(primitive.prim()); }

double estimate(Nat n) {
  if (const auto c = n.constant()) return static_cast<double>(*c);
  const auto& parts = n.operands();
  const auto fold = [&](double init, const std::function<double(double, double)>& f) {
    for (const Nat p : parts) init = f(init, estimate(p));
    return init;
  };
  switch (n.kind()) {
    case Nat::Kind::constant:
    case Nat::Kind::variable: return unknownSize;
    case Nat::Kind::sum: return fold(0, [](double a, double b) { return a + b; });
    case Nat::Kind::product: return fold(1, [](double a, double b) { return a * b; });
    case Nat::Kind::floorDiv: return std::max(1.0, estimate(parts[0]) / std::max(1.0, estimate(parts[1])));
    case Nat::Kind::mod: return estimate(parts[1]) / 2;
    case Nat::Kind::min: return fold(estimate(parts[0]), [](double a, double b) { return std::min(a, b); });
    case Nat::Kind::max: return fold(estimate(parts[0]), [](double a, double b) { return std::max(a, b); });
  }
  return unknownSize;
}

namespace {

// What proofs would take long for: i * i, that times itself, and so on.
bool isLarge(Nat n) {
  constexpr std::size_t mostTerms = 64, mostFactors = 8;
  const bool isSum = n.kind() == Nat::Kind::sum;
  if (isSum && n.operands().size() > mostTerms) return true;
  const auto hasManyFactors = [](Nat t) { return t.kind() == Nat::Kind::product && t.operands().size() > mostFactors; };
  return isSum ? std::ranges::any_of(n.operands(), hasManyFactors) : hasManyFactors(n);
}

std::optional<Nat> computed(Op op, const std::vector<Nat>& n) {
  const auto divisible = [&] {
    return lessEqual(Nat(0), n[0]) == Truth::proved && less(Nat(0), n[1]) == Truth::proved;
  };
  switch (op) {
    case Op::add: return n[0] + n[1];
    case Op::sub: return n[0] - n[1];
    case Op::mul: return n[0] * n[1];
    case Op::neg: return -n[0];
    case Op::min: return min(n[0], n[1]);
    case Op::max: return max(n[0], n[1]);
    case Op::div: return divisible() ? std::optional(floorDiv(n[0], n[1])) : std::nullopt;
    case Op::mod: return divisible() ? std::optional(mod(n[0], n[1])) : std::nullopt;
    default: return std::nullopt;
  }
}

// The largest absolute value that the number may have; of a size that is not known, four times itself still fits.
double magnitude(Nat n) {
  constexpr double unknown = 215;
  if (const auto c = n.constant()) return std::abs(static_cast<double>(*c));
  if (const auto v = n.variable()) return v->upper() ? magnitude(*v->upper()) : unknown;
  const auto& parts = n.operands();
  double result = n.kind() == Nat::Kind::product ? 1 : 0;
  for (std::size_t i = 0; i < parts.size(); i++) {
    const double m = magnitude(parts[i]);
    switch (n.kind()) {
      case Nat::Kind::sum: result += m; break;
      case Nat::Kind::product: result *= m; break;
      case Nat::Kind::floorDiv: result = std::max(result, i == 0 ? m : 0.0); break;
      case Nat::Kind::mod: result = std::max(result, i == 1 ? m : 0.0); break;
      default: result = std::max(result, m);
    }
  }
  return result;
}

}  // namespace

bool fitsInt(Nat n) {
  constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto lower = n.lower(), upper = n.upper();
  if (lower && upper) return least <= *lower && *upper <= most;
  return magnitude(n) <= static_cast<double>(most);
}

std::optional<Nat> onNats(Op op, const std::vector<Nat>& n) {
  const auto result = computed(op, n);
  return result && (isLarge(*result) || !fitsInt(*result)) ? std::nullopt : result;
}

bool onlyMovesData(Expr e) {
  return !anyPrimitive(e, [](Expr p) { return !movesData(p.prim()); });
}

namespace {

class Replacement : public detail::Rebuilding<Replacement> {
 public:
  explicit Replacement(const std::unordered_map<Expr, Expr>& replacements) : replacements_(replacements) {}

  Expr rebuilt(Expr e) {
    const auto found = replacements_.find(e);
    return found == replacements_.end() ? parts(e) : found->second;
  }

 private:
  const std::unordered_map<Expr, Expr>& replacements_;
};

class FreshBinders : public detail::Rebuilding<FreshBinders> {
 public:
  Expr rebuilt(Expr e) {
    if (!e.isLambda()) return parts(e);
    const Expr fresh = Expr::variable(e.parameter().name(), e.parameter().type());
    memo_.insert_or_assign(e.parameter(), fresh);
    return Expr::lambda(fresh, (*this)(e.body()));
  }
};

}  // namespace

Expr replaceTerms(Expr e, const std::unordered_map<Expr, Expr>& replacements) { return Replacement(replacements)(e); }

LetChain letsOf(Expr e) {
  LetChain lets{{}, e};
  for (Spine s = spineOf(e); s.isCall(Prim::let); s = spineOf(lets.body)) {
    lets.bound.emplace_back(s.arguments[0].parameter(), s.arguments[1]);
    lets.body = s.arguments[0].body();
  }
  return lets;
}

Expr withFreshBinders(Expr e) { return FreshBinders()(e); }

}  // namespace lift
