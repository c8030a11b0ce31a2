// Reductions of arrays, and arrays of reductions: which of both a kernel computes.
#include "computed.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

Expr named(const LetChain& names, Expr body) {
  for (auto n = names.bound.rbegin(); n != names.bound.rend(); ++n) body = let(n->first, n->second, body);
  return body;
}

}  // namespace

std::optional<Expr> reduceElements(Expr reduction) {
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
      const Expr component = get(q, static_cast<int>(i)), array = zipped.arguments[i];
      if (array == accumulator) {
        elements.emplace(component, z);
        continue;
      }
      if (array.hasFree(accumulator)) return std::nullopt;
      others.push_back(array);
      otherElements.push_back(Expr::variable("y", component.type()));
      elements.emplace(component, otherElements.back());
    }
    if (others.size() == zipped.arguments.size()) return std::nullopt;
  }
  const Expr element = replaceTerms(map.arguments[0].body(), elements);
  if (element.hasFree(q)) return std::nullopt;
  // The elements of a column: x, and what the other arrays have there.
  std::vector<Expr> arrays{zs};
  for (const Expr y : others) {
    const Expr rows = build::map(withFreshBinders(Expr::lambda(x, named(names, y))), xs);
    arrays.push_back(call(Prim::transpose, {rows}));
  }
  const Expr all = zip(arrays), r = Expr::variable("p", all.type().element());
  std::vector<Expr> columns{xs};
  for (std::size_t i = 1; i < arrays.size(); i++) columns.push_back(get(r, static_cast<int>(i)));
  const Expr column = zip(columns);
  const Expr t = Expr::variable("t", Type::tuple({z.type(), column.type().element()}));
  std::unordered_map<Expr, Expr> parts{{z, get(t, 0)}, {x, columns.size() > 1 ? get(get(t, 1), 0) : get(t, 1)}};
  for (std::size_t i = 0; i < otherElements.size(); i++)
    parts.emplace(otherElements[i], get(get(t, 1), static_cast<int>(i) + 1));
  const Expr function = Expr::lambda(t, etaLong(substitute(named(names, element), parts)));
  const Expr start = columns.size() > 1 ? get(r, 0) : r;
  return build::map(Expr::lambda(r, reduce(start, withFreshBinders(function), column)), all);
}

std::optional<Expr> reduceRows(Expr ofColumns) {
  const Spine s = spineOf(ofColumns);
  if (!s.isPrim(Prim::map) || !s.arguments[0].is(Expr::Form::lambda)) return std::nullopt;
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
  const Expr step = etaLong(substitute(named(names, sums), g.parameter(), get(p, 1)));
  return reduce(zs, withFreshBinders(Expr::lambda(p, step)), rows.arguments[1]);
}

}  // namespace lift::rewrite::detail
