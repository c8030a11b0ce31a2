// Reductions of arrays, and arrays of reductions: which of both a kernel computes.
#include <algorithm>

#include "computed.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

// Which arrays a step's columns are made of: the arrays that it adds as they are, or those below the maps that compute
// them.
enum class Columns : bool { results, inputs };

// The element of an array all of whose elements are the same.
std::optional<Expr> elementOfFill(Expr e) {
  const Spine s = spineOf(e);
  const bool fills = s.isPrim(Prim::generate) && !s.arguments[0].body().hasFree(s.arguments[0].parameter());
  return fills ? std::optional(s.arguments[0].body()) : std::nullopt;
}

// Whether a map computes something for all its elements together, which its function says for each.
bool sharesWork(Expr function) {
  return anyTerm(function.body(), [&](Expr e) {
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive() || !takesSteps(s.head) || e.type().isFunction()) return false;
    return std::ranges::all_of(e.freeVariables(), [&](Expr v) { return function.hasFree(v); });
  });
}

// The array below maps, whose functions are added.
Expr belowMaps(Expr array, std::vector<Expr>& functions) {
  for (Spine s = spineOf(array); s.isCall(Prim::map) && !onlyMovesData(s.arguments[0]); s = spineOf(array)) {
    if (sharesWork(s.arguments[0])) break;
    functions.push_back(s.arguments[0]);
    array = s.arguments[1];
  }
  return array;
}

// f(x), by a name where f uses it more than once.
Expr applied(Expr f, Expr x) {
  if (inlines(f, x)) return substitute(f.body(), f.parameter(), x);
  return let(f.parameter(), x, f.body());
}

std::optional<Expr> reduceElements(Expr reduction, Columns columnsOf) {
  const Spine s = spineOf(reduction);
  if (!s.isPrim(Prim::reduce)) return std::nullopt;
  const Expr zs = s.arguments[0], f = s.arguments[1], xs = s.arguments[2];
  if (!zs.type().isArray()) return std::nullopt;
  const auto step = foldStepOf(f);
  if (!step) return std::nullopt;
  const Expr accumulator = step->accumulator, x = step->element;
  const LetChain names = letsOf(step->body);
  for (const auto& [name, value] : names.bound)
    if (value.hasFree(accumulator)) return std::nullopt;
  const Spine map = spineOf(names.body);
  if (!map.isPrim(Prim::map) || map.arguments[0].hasFree(accumulator)) return std::nullopt;
  // What the map is over: the accumulator, alone or zipped with other arrays.
  const Expr in = map.arguments[1], q = map.arguments[0].parameter();
  const Expr z = Expr::variable("z", zs.type().element());
  std::unordered_map<Expr, Expr> elements;
  std::vector<Expr> others, otherElements;
  if (in == accumulator) {
    elements = {{q, z}};
  } else {
    const Spine zipped = spineOf(in);
    if (!zipped.isPrim(Prim::zip)) return std::nullopt;
    for (std::size_t i = 0; i < zipped.arguments.size(); i++) {
      const Expr component = get(q, static_cast<int>(i));
      Expr array = zipped.arguments[i];
      if (array == accumulator) {
        elements.emplace(component, z);
        continue;
      }
      if (array.hasFree(accumulator)) return std::nullopt;
      std::vector<Expr> functions;  // that make the elements, the last first
      if (columnsOf == Columns::inputs) array = belowMaps(array, functions);
      others.push_back(array);
      otherElements.push_back(Expr::variable("y", array.type().element()));
      Expr element = otherElements.back();
      for (auto g = functions.rbegin(); g != functions.rend(); ++g) element = applied(*g, element);
      elements.emplace(component, element);
    }
    if (others.size() == zipped.arguments.size()) return std::nullopt;
  }
  const Expr element = replaceTerms(map.arguments[0].body(), elements);
  if (element.hasFree(q)) return std::nullopt;
  // The elements of a column: x, and what the other arrays have there.
  std::vector<Expr> arrays;
  const std::optional<Expr> start = columnsOf == Columns::inputs ? elementOfFill(zs) : std::nullopt;
  if (!start) arrays.push_back(zs);
  for (const Expr y : others) {
    const Expr rows = build::map(withFreshBinders(Expr::lambda(x, let(names.bound, y))), xs);
    arrays.push_back(call(Prim::transpose, {rows}));
  }
  if (arrays.empty()) return std::nullopt;
  const Expr all = zip(arrays), r = Expr::variable("p", all.type().element());
  const auto partOf = [&](std::size_t i) { return arrays.size() > 1 ? get(r, static_cast<int>(i)) : r; };
  std::vector<Expr> columns{xs};
  for (std::size_t i = start ? 0 : 1; i < arrays.size(); i++) columns.push_back(partOf(i));
  const Expr column = zip(columns);
  const Expr t = Expr::variable("t", Type::tuple({z.type(), column.type().element()}));
  std::unordered_map<Expr, Expr> parts{{z, get(t, 0)}, {x, columns.size() > 1 ? get(get(t, 1), 0) : get(t, 1)}};
  for (std::size_t i = 0; i < otherElements.size(); i++)
    parts.emplace(otherElements[i], get(get(t, 1), static_cast<int>(i) + 1));
  const Expr function = Expr::lambda(t, etaLong(substitute(let(names.bound, element), parts)));
  const Expr sum = reduce(start ? *start : partOf(0), withFreshBinders(function), column);
  return build::map(Expr::lambda(r, sum), all);
}

}  // namespace

std::optional<Expr> reduceElements(Expr reduction) { return reduceElements(reduction, Columns::results); }

std::optional<Expr> reduceElementsOfMaps(Expr reduction) { return reduceElements(reduction, Columns::inputs); }

std::optional<Expr> reduceRows(Expr ofColumns) {
  const Spine s = spineOf(ofColumns);
  if (!s.isPrim(Prim::map) || !s.arguments[0].isLambda()) return std::nullopt;
  const Expr h = s.arguments[0];
  const Spine columns = spineOf(s.arguments[1]), reduction = spineOf(h.body());
  if (!columns.isPrim(Prim::transpose) || !reduction.isPrim(Prim::reduce)) return std::nullopt;
  const Spine rows = spineOf(columns.arguments[0]);
  const auto& r = reduction.arguments;
  const Expr column = h.parameter();
  if (!rows.isPrim(Prim::map) || r[2] != column || r[0].hasFree(column) || r[1].hasFree(column)) return std::nullopt;
  const Nat count = column.type().length(), few = s.arguments[1].type().length();
  const Expr g = rows.arguments[0];
  const LetChain names = letsOf(g.body());
  if (count == Nat(0)) return std::nullopt;
  const Expr zs = fill(few, r[0]);
  const Expr p = Expr::variable("p", Type::tuple({zs.type(), g.parameter().type()}));
  const Expr sums = map(withFreshBinders(r[1]), zip({get(p, 0), names.body}));
  const Expr step = etaLong(substitute(let(names.bound, sums), g.parameter(), get(p, 1)));
  return reduce(zs, withFreshBinders(Expr::lambda(p, step)), rows.arguments[1]);
}

}  // namespace lift::rewrite::detail
