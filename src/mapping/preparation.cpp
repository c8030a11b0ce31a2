#include "preparation.hpp"

#include "lift/build.hpp"
#include "lift/strategies.hpp"

namespace lift::detail {
namespace {

// So few elements are reduced faster by comparisons, several at once, than one after the other in memory.
constexpr std::int64_t comparedElements = 8;

bool isAtMost(Nat count, std::int64_t most) { return count.constant() && *count.constant() <= most; }

// Operations of the names that a term begins with.
double workOfNames(Expr e) {
  Work work;
  double sum = 0;
  for (const auto& [name, value] : letsOf(e).bound) sum += work.of(value);
  return sum;
}

// Whether a let in the term has that name and value.
bool isNamedAgain(Expr term, Expr name, Expr value) {
  return anyTerm(term, [&](Expr e) {
    const Spine s = spineOf(e);
    return s.isCall(Prim::let) && s.arguments[0].parameter() == name && s.arguments[1] == value;
  });
}

}  // namespace

Expr Preparation::run(Expr e) {
  e = rows(unlessKept(elements(byKey(generates(names(e))))), false);
  return flatNames(*strategies::invariantsNamed(pays_)(e, rewriting_));
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
  if (!s.isPrim(Prim::reduce) || !e.type().isArray() || isAtMost(e.type().length(), registerElements) ||
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
  if (!isMap || !inMap || !isAtMost(e.type().length(), registerElements)) return e;
  // What each column would compute again.
  const Spine columns = spineOf(spineOf(e).arguments[1]);
  const Spine shared = columns.isPrim(Prim::transpose) ? spineOf(columns.arguments[0]) : columns;
  if (!shared.isPrim(Prim::map) || workOfNames(shared.arguments[0].body()) <= recomputedOperations / 2) return e;
  return attempt("reduceRows", e).value_or(e);
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
