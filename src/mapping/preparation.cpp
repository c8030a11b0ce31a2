#include "preparation.hpp"

#include <algorithm>
#include <unordered_set>

#include "lift/build.hpp"

namespace lift::detail {
namespace {

// So few elements are reduced faster by comparisons, several at once, than one after the other in memory.
constexpr std::int64_t comparedElements = 8;
// Accumulators that a work-item keeps in registers.
constexpr std::int64_t registerAccumulators = 16;

bool isAtMost(Nat count, std::int64_t most) { return count.constant() && *count.constant() <= most; }

// Operations of the names that a term begins with.
double workOfNames(Expr e) {
  Work work;
  double sum = 0;
  for (const auto& [name, value] : letsOf(e).bound) sum += work.of(value);
  return sum;
}

// Of the arguments of a primitive, the function runs many times.
bool isLoop(const Spine& s) { return s.head.isPrimitive() && traits(s.head.prim()).loop != Traits::Loop::none; }

// Whether a let in the term has that name and value.
bool isNamedAgain(Expr term, Expr name, Expr value) {
  return anyTerm(term, [&](Expr e) {
    const Spine s = spineOf(e);
    return s.isCall(Prim::let) && s.arguments[0].parameter() == name && s.arguments[1] == value;
  });
}

// The greatest subterms of `body` that some loop in it computes again and again though nothing bound in `body` occurs
// in them.
class Invariants {
 public:
  explicit Invariants(const std::function<bool(Expr)>& pays) : pays_(pays) {}

  std::vector<Expr> of(Expr body) {
    visit(body, false, false);
    return std::move(found_);
  }

 private:
  // `guarded`: what runs perhaps not at all.
  void visit(Expr e, bool inLoop, bool guarded) {
    if (e.isLambda()) {
      bound_.insert(e.parameter());
      visit(e.body(), inLoop, guarded);
      bound_.erase(e.parameter());
      return;
    }
    if (!e.isApply()) return;
    if (inLoop && isFree(e) && pays_(e) && !(guarded && mayFailWithin(e))) {
      if (std::ranges::find(found_, e) == found_.end()) found_.push_back(e);
      return;
    }
    const Spine s = spineOf(e);
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      const Expr a = s.arguments[i];
      const bool runs = a.isLambda() && isLoop(s);
      visit(a, inLoop || runs, guarded || isOptional(s, i));
    }
  }

  bool isFree(Expr e) const {
    const auto& free = e.freeVariables();
    return std::ranges::none_of(free, [&](Expr v) { return bound_.count(v) > 0; });
  }

  const std::function<bool(Expr)>& pays_;
  std::unordered_set<Expr> bound_;
  std::vector<Expr> found_;
};

}  // namespace

Expr underLayouts(Expr e) {
  for (;;) {
    const Spine s = spineOf(e);
    const auto isLayout = [&] {
      if (s.isCall(Prim::map)) return isInvertibleIn(s.arguments[0].body(), s.arguments[0].parameter());
      return s.head.isPrimitive() && s.arguments.size() == 1 && isInvertibleLayout(s.head.prim());
    };
    if (!isLayout()) return e;
    e = s.arguments.back();
  }
}

Expr Preparation::run(Expr e) {
  e = rows(unlessKept(elements(byKey(generates(names(e))))), false);
  return flatNames(invariants(e));
}

Expr Preparation::names(Expr e) {
  if (const Spine s = spineOf(e); s.isCall(Prim::let)) {
    if (onlyMovesData(s.arguments[1])) return names(apply("letInline", e));
    if (spineOf(s.arguments[1]).isPrim(Prim::tuple)) return names(apply("letTuple", e));
  }
  return parts(e, [this](Expr a) { return names(a); });
}

Expr Preparation::generates(Expr e) {
  e = parts(e, [this](Expr a) { return generates(a); });
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::generate) || build::isIndices(e)) return e;
  if (const Spine f = spineOf(s.arguments[0].body());
      f.isPrim(Prim::id) && f.arguments[0] == s.arguments[0].parameter())
    return functionBody(e, 0, [this](Expr b) { return apply("idAway", b); });
  return apply("generateAsMap", e);
}

Expr Preparation::byKey(Expr e) {
  e = parts(e, [this](Expr a) { return byKey(a); });
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::map) && !isAtMost(e.type().length(), comparedElements - 1))
    if (const auto found = attempt("mapByKey", e)) return byKey(*found);
  if (s.isPrim(Prim::reduce) && e.type().isArray() && !isAtMost(e.type().length(), comparedElements - 1))
    if (const auto found = attempt("reduceByKey", e)) return *found;
  return e;
}

Expr Preparation::elements(Expr e) {
  e = parts(e, [this](Expr a) { return elements(a); });
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduce) || !e.type().isArray() || isAtMost(e.type().length(), registerAccumulators) ||
      workOfNames(s.arguments[1].body()) > recomputedOperations)
    return e;
  return attempt("reduceElements", e).value_or(e);
}

Expr Preparation::unlessKept(Expr e) {
  e = parts(e, [this](Expr a) { return unlessKept(a); });
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduce) || !e.type().isArray() || isAtMost(e.type().length(), 1)) return e;
  return attempt("reduceUnlessKept", e).value_or(e);
}

Expr Preparation::rows(Expr e, bool inMap) {
  const bool isMap = spineOf(e).isPrim(Prim::map);
  e = parts(e, [&](Expr a) { return rows(a, inMap || (isMap && a.isLambda())); });
  if (!isMap || !inMap || !isAtMost(e.type().length(), registerAccumulators)) return e;
  // What each column would compute again.
  const Spine columns = spineOf(spineOf(e).arguments[1]);
  const Spine shared = columns.isPrim(Prim::transpose) ? spineOf(columns.arguments[0]) : columns;
  if (!shared.isPrim(Prim::map) || workOfNames(shared.arguments[0].body()) <= recomputedOperations / 2) return e;
  return attempt("reduceRows", e).value_or(e);
}

Expr Preparation::invariants(Expr e) {
  const Spine s = spineOf(e);
  const bool inwards = isLoop(s) || s.isPrim(Prim::let);
  return parts(e, [&](Expr a) {
    if (!inwards || !a.isLambda()) return invariants(a);
    return body(a, [&](Expr b) {
      std::size_t named = 0;
      for (const Expr v : Invariants(pays_).of(b))
        if (const auto path = rewrite::pathOf(v, b)) {
          b = applyTo("letOf", *path, b);
          named++;
        }
      const std::function<Expr(Expr, std::size_t)> below = [&](Expr term, std::size_t lets) {
        if (lets == 0) return invariants(term);
        term = functionBody(term, 0, [&](Expr inner) { return below(inner, lets - 1); });
        return argument(term, 1, [&](Expr v) { return invariants(v); });
      };
      return below(b, named);
    });
  });
}

Expr Preparation::flatNames(Expr e) {
  if (e.isLambda()) return body(e, [this](Expr b) { return flatNames(b); });
  if (!e.isApply()) return e;
  return flatArguments(e, spineOf(e).isCall(Prim::let) ? 1 : 0, false, [this](Expr b) { return flatNames(b); });
}

// The term with flat arguments from `from` on; `isFlat`: that one is already. A let in an argument moves out before
// what it names is looked at, so that each let of a chain moves once and not through all that are around it. `below` is
// for the body, where the term is a let.
Expr Preparation::flatArguments(Expr e, std::size_t from, bool isFlat, const Change& below) {
  for (std::size_t i = from; i < spineOf(e).arguments.size(); i++, isFlat = false) {
    const auto isInside = [&] {
      const Spine s = spineOf(e);
      return !isOptional(s, i) && spineOf(s.arguments[i]).isCall(Prim::let);
    };
    if (!isFlat && !isInside()) {
      e = argument(e, i, [this](Expr a) { return flatNames(a); });
      isFlat = true;
    }
    if (!isInside()) continue;
    e = applyTo("letOut", argumentPath(spineOf(e), i), e);
    return flatArguments(e, 1, isFlat, [&](Expr inner) { return flatArguments(inner, i, isFlat, below); });
  }
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::let)) return e;
  if (isNamedAgain(s.arguments[0].body(), s.arguments[0].parameter(), s.arguments[1])) e = apply("letAgain", e);
  return functionBody(e, 0, below);
}

}  // namespace lift::detail
