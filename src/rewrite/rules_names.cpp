// Computed rules of names: lets taken apart, given, moved and dropped; and rules made for a place below a term.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include "computed.hpp"
#include "lift/diagnostic.hpp"
#include "terms.hpp"

namespace lift::rewrite {

namespace detail {
namespace {

using namespace build;

// Below every let of that value in the term, and of that name if one is given: the let's body, with `now` for the name.
class Dropped {
 public:
  Dropped(std::optional<Expr> name, Expr value, Expr now) : name_(name), value_(value), now_(now) {}

  Expr in(Expr e) {
    if (!e.isApply() && !e.isLambda()) return e;
    if (const auto done = known_.find(e); done != known_.end()) return done->second;
    const Spine s = spineOf(e);
    Expr out = e;
    if (s.isCall(Prim::let) && s.arguments[1] == value_ && (!name_ || s.arguments[0].parameter() == *name_)) {
      out = in(s.arguments[0].body());
      if (now_ != s.arguments[0].parameter()) out = substitute(out, s.arguments[0].parameter(), now_);
    } else {
      out = withParts(e, [this](Expr a) { return in(a); });
    }
    known_.emplace(e, out);
    return out;
  }

 private:
  std::optional<Expr> name_;
  Expr value_, now_;
  std::unordered_map<Expr, Expr> known_;
};

// let x = v in e  ->  the same without lets of x to v in e
std::optional<Expr> letAgain(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::let)) return std::nullopt;
  const Expr x = s.arguments[0].parameter(), v = s.arguments[1], body = s.arguments[0].body();
  const Expr without = Dropped(std::nullopt, v, x).in(body);
  return without == body ? std::nullopt : std::optional(let(x, v, etaLong(without)));
}

// The array with so many of its outer dimensions behind the next one: 1 transposes it.
Expr broughtToFront(Expr array, std::size_t dimensions) {
  if (dimensions == 0) return array;
  if (dimensions == 1) return call(Prim::transpose, {array});
  return call(Prim::transpose, {map("row", array, [&](Expr row) { return broughtToFront(row, dimensions - 1); })});
}

// Arrays of which a term reads the elements at an index, and their names in it.
struct ElementsRead {
  std::vector<Expr> arrays, names;
  Expr term;
};

// Of all arrays with at least `count` elements that do not depend on the parameter of the term's function, behind other
// dimensions perhaps that are bound in the term; the first `count` are read.
ElementsRead elementsReadAt(Expr i, Nat count, Expr e, Expr parameter) {
  ElementsRead found{{}, {}, e};
  std::unordered_map<Expr, Expr> reads;
  const auto always = evaluatedAlways(e);
  anySubterm(e, [&](Expr term, const std::vector<Expr>& binders) {
    Spine read = spineOf(term);
    if (!read.isCall(Prim::at) || read.arguments[0] != i || reads.contains(term)) return false;
    const auto isBound = [&](Expr x) {
      return x.hasFree(i) || x.hasFree(parameter) || std::ranges::any_of(binders, [&](Expr b) { return x.hasFree(b); });
    };
    std::vector<Spine> outer;  // reads of outer dimensions, from the inside
    Expr array = read.arguments[1];
    for (read = spineOf(array); isBound(array) && read.isPrim(Prim::at); read = spineOf(array)) {
      if (read.arguments[0].hasFree(i)) return false;
      outer.push_back(read);
      array = read.arguments[1];
    }
    if (isBound(array) || (mayFailWithin(array) && !always.contains(term))) return false;
    array = broughtToFront(array, outer.size());
    if (lessEqual(count, array.type().length()) != Truth::proved) return false;
    found.arrays.push_back(array.type().length() == count ? array : take(count, array));
    found.names.push_back(Expr::variable("x", array.type().element()));
    Expr now = found.names.back();
    for (auto o = outer.rbegin(); o != outer.rend(); ++o) now = call(Prim::at, {o->arguments[0], now});
    reads.emplace(term, now);
    return false;
  });
  found.term = replaceTerms(e, reads);
  return found;
}

// generate(n, fun i => e[xs[i]])  ->  map(fun (i, x) => e[x], zip(indices(n), xs)) for all arrays of which i itself is
// an index.
std::optional<Expr> elementsOfIndices(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::generate)) return std::nullopt;
  const Nat count = s.head.nats()[0];
  const Expr i = s.arguments[0].parameter();
  auto [arrays, elements, body] = elementsReadAt(i, count, s.arguments[0].body(), i);
  if (elements.empty()) return std::nullopt;
  if (body.hasFree(i)) {
    arrays.insert(arrays.begin(), indices(count));
    elements.insert(elements.begin(), i);
  }
  const Expr in = zip(arrays), p = Expr::variable(i.name(), in.type().element());
  std::unordered_map<Expr, Expr> parts{{elements[0], p}};
  for (std::size_t k = 0; elements.size() > 1 && k < elements.size(); k++)
    parts.insert_or_assign(elements[k], get(p, k));
  return map(Expr::lambda(p, etaLong(substitute(body, parts))), in);
}

// Whether the array has as its elements 0, 1, …
bool countsUp(Expr array) {
  const Spine s = spineOf(array);
  if (!s.isCall(Prim::generate)) return false;
  const Expr i = s.arguments[0].parameter(), value = s.arguments[0].body();
  const Spine same = spineOf(value);
  return value == i || (same.isCall(Prim::id) && same.arguments[0] == i);
}

// map(fun (i, y) => e[xs[i]], zip(indices(n), ys))  ->  map(fun (i, y, x) => e[x], zip(indices(n), ys, xs)); the same
// of a reduction.
template <Prim loop>
std::optional<Expr> elementsBesideIndices(Expr e) {
  constexpr bool folds = loop == Prim::reduce;
  const Spine s = spineOf(e);
  if (!s.isCall(loop)) return std::nullopt;
  const Spine zipped = spineOf(s.arguments.back());
  if (!zipped.isPrim(Prim::zip)) return std::nullopt;
  const auto counter = std::ranges::find_if(zipped.arguments, countsUp);
  if (counter == zipped.arguments.end()) return std::nullopt;
  const auto k = static_cast<std::size_t>(counter - zipped.arguments.begin());
  const Expr f = s.arguments[folds ? 1 : 0], i = Expr::variable("i", Type::scalar(Scalar::i32));
  const auto elementOf = [&](Expr parameter) { return folds ? get(parameter, 1) : parameter; };
  auto [arrays, names, body] = elementsReadAt(
      i, counter->type().length(), replaceTerms(f.body(), {{get(elementOf(f.parameter()), k), i}}), f.parameter());
  if (names.empty()) return std::nullopt;
  std::vector<Expr> all = zipped.arguments, before;  // what the function had of each array
  for (std::size_t j = 0; j < all.size(); j++) before.push_back(j == k ? i : get(elementOf(f.parameter()), j));
  all.insert(all.end(), arrays.begin(), arrays.end());
  before.insert(before.end(), names.begin(), names.end());
  if (!body.hasFree(i)) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
    before.erase(before.begin() + static_cast<std::ptrdiff_t>(k));
  }
  const Expr in = zip(all);
  const Type element = in.type().element();
  const Expr p = Expr::variable("p", folds ? Type::tuple({s.arguments[0].type(), element}) : element);
  std::unordered_map<Expr, Expr> now;
  for (std::size_t j = 0; j < all.size(); j++)
    now.emplace(before[j], all.size() == 1 ? elementOf(p) : get(elementOf(p), j));
  if (folds) now.emplace(get(f.parameter(), 0), get(p, 0));
  body = replaceTerms(body, now);
  if (body.hasFree(f.parameter())) return std::nullopt;
  const Expr g = Expr::lambda(p, etaLong(body));
  return folds ? call(Prim::reduce, {s.arguments[0], g, in}) : map(g, in);
}

// x  ->  (x.0, x.1)
std::optional<Expr> tupleOfParts(Expr e) {
  if (!e.type().isTuple()) return std::nullopt;
  return tuple(components(e));
}

// reduce(z, f, zip(join(xss), join(yss)))  ->  the same of rows, in the same order
std::optional<Expr> reduceZipJoin(Expr e) {
  const Spine s = spineOf(e);
  const Spine in = s.isPrim(Prim::reduce) ? spineOf(s.arguments[2]) : s;
  if (!in.isPrim(Prim::zip) || !s.isPrim(Prim::reduce)) return std::nullopt;
  std::vector<Expr> rows;
  for (const Expr a : in.arguments) {
    const Spine joined = spineOf(a);
    if (!joined.isPrim(Prim::join)) return std::nullopt;
    const Type row = joined.arguments[0].type();
    if (!rows.empty() &&
        (rows[0].type().length() != row.length() || rows[0].type().element().length() != row.element().length()))
      return std::nullopt;
    rows.push_back(joined.arguments[0]);
  }
  const Expr init = s.arguments[0], outer = zip(rows);
  const Expr p = Expr::variable("p", Type::tuple({init.type(), outer.type().element()}));
  const Expr inner = reduce(get(p, 0), s.arguments[1], zip(components(get(p, 1))));
  return reduce(init, Expr::lambda(p, inner), outer);
}

}  // namespace

std::optional<Expr> letTuple(Expr e) {
  const Spine s = spineOf(e);
  const Spine parts = s.isCall(Prim::let) ? spineOf(s.arguments[1]) : s;
  if (!s.isCall(Prim::let) || !parts.isPrim(Prim::tuple)) return std::nullopt;
  const Expr name = s.arguments[0].parameter();
  std::vector<Expr> names;
  for (std::size_t i = 0; i < parts.arguments.size(); i++)
    names.push_back(Expr::variable(name.name() + std::to_string(i), parts.arguments[i].type()));
  Expr inner = etaLong(substitute(s.arguments[0].body(), name, tuple(names)));
  for (std::size_t i = names.size(); i-- > 0;) inner = let(names[i], parts.arguments[i], inner);
  return inner;
}

Expr fission(Expr map, Expr value) {
  const Spine s = spineOf(map);
  const Expr x = s.arguments[0].parameter(), in = s.arguments[1];
  const Expr values = build::map(withFreshBinders(Expr::lambda(x, value)), in);
  const Expr p = Expr::variable("p", Type::tuple({x.type(), value.type()}));
  const Expr now = replaceTerms(s.arguments[0].body(), {{value, get(p, 1)}});
  return build::map(Expr::lambda(p, etaLong(substitute(now, x, get(p, 0)))), zip({in, values}));
}

namespace {

// The same of a reduction, where the value is known from an element alone.
std::optional<Expr> fissionOfReduction(Expr reduction, Expr value) {
  const Spine s = spineOf(reduction);
  const Expr p = s.arguments[1].parameter(), in = s.arguments[2];
  const Expr x = Expr::variable("x", in.type().element());
  const Expr ofElement = replaceTerms(value, {{get(p, 1), x}});
  if (ofElement.hasFree(p)) return std::nullopt;
  const Expr elements = zip({in, build::map(withFreshBinders(Expr::lambda(x, ofElement)), in)});
  const Expr q = Expr::variable("p", Type::tuple({s.arguments[0].type(), elements.type().element()}));
  const Expr acc = get(q, 0), element = get(get(q, 1), 0);
  const Expr now = replaceTerms(s.arguments[1].body(), {{value, get(get(q, 1), 1)}});
  const Expr body = replaceTerms(now, {{get(p, 0), acc}, {get(p, 1), element}});
  const Expr f = Expr::lambda(q, etaLong(substitute(body, p, tuple({acc, element}))));
  return call(s.head.prim(), {s.arguments[0], f, elements});
}

// map(f, zip(…, map(g, xs), …))  ->  map(fun t => let z = g(t.k) in f((…, z, …)), zip(…, xs, …)) for all maps there
std::optional<Expr> mapFusionOfZipped(Expr e) {
  const Spine s = spineOf(e);
  const Spine zipped = s.isCall(Prim::map) ? spineOf(s.arguments[1]) : s;
  if (!zipped.isPrim(Prim::zip) || !s.arguments[0].isLambda()) return std::nullopt;
  std::vector<Expr> arrays = zipped.arguments, functions(arrays.size(), s.arguments[0]);
  bool any = false;
  for (std::size_t i = 0; i < arrays.size(); i++) {
    const Spine inner = spineOf(arrays[i]);
    const bool fuses = inner.isCall(Prim::map) && inner.arguments[0].isLambda();
    any = any || fuses;
    functions[i] = fuses ? inner.arguments[0] : Expr::nat(0);
    if (fuses) arrays[i] = inner.arguments[1];
  }
  if (!any) return std::nullopt;
  const Expr all = zip(arrays), t = Expr::variable("p", all.type().element());
  std::vector<Expr> elements;
  std::vector<std::pair<Expr, Expr>> names;
  for (std::size_t i = 0; i < arrays.size(); i++) {
    elements.push_back(get(t, static_cast<int>(i)));
    if (functions[i] == Expr::nat(0)) continue;
    const Expr z = Expr::variable("z", functions[i].type().result());
    names.emplace_back(z, substitute(functions[i].body(), functions[i].parameter(), elements[i]));
    elements[i] = z;
  }
  Expr body = substitute(s.arguments[0].body(), s.arguments[0].parameter(), tuple(elements));
  for (auto n = names.rbegin(); n != names.rend(); ++n) body = let(n->first, n->second, body);
  return build::map(Expr::lambda(t, etaLong(withFreshBinders(body))), all);
}

std::optional<Expr> mapOfUsed(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::map) || !s.arguments[0].isLambda()) return std::nullopt;
  const Expr f = s.arguments[0];
  const auto used = usedOfZip(f.parameter(), s.arguments[1], f.body());
  if (!used || used->empty()) return std::nullopt;
  std::vector<Expr> arrays;
  for (const auto& [element, array] : *used) arrays.push_back(array);
  const Expr zipped = build::zip(arrays), x = Expr::variable("x", zipped.type().element());
  std::unordered_map<Expr, Expr> now;
  for (std::size_t i = 0; i < used->size(); i++)
    now.emplace((*used)[i].first, used->size() == 1 ? x : build::get(x, i));
  return build::map(Expr::lambda(x, replaceTerms(f.body(), now)), zipped);
}

}  // namespace

Rule computedRule(const RuleRow& row, std::optional<Expr> (*compute)(Expr)) {
  return Rule(row, {}, [compute](Expr e, const Arguments&) { return compute(e); });
}

std::vector<Rule> namingRules() {
  return {
      computedRule(
          {"mapOfUsed", "map(fun ((x, y, z), w) => f((y, w)), zip(zip(xs, ys, zs), ws)) => map(f, zip(ys, ws))",
           "projection: of arrays side by side those that the function uses"},
          mapOfUsed),
      computedRule({"elementsOfIndices",
                    "generate(n, fun i => f((i, (xs: [n]t)[i]))) => map(f, zip(generate(n, fun i => i), xs))",
                    "an index that only selects elements"},
                   elementsOfIndices),
      computedRule({"elementsBesideIndices",
                    "map(fun (y, i) => f((y, (xs: [n]t)[i])), zip(ys, generate(n, fun i => i))) => "
                    "map(f, zip(ys, xs))",
                    "the same beside other arrays"},
                   elementsBesideIndices<Prim::map>),
      computedRule({"reducedBesideIndices",
                    "reduce(z, fun (acc, (y, i)) => f((acc, y, (xs: [n]t)[i])), zip(ys, generate(n, fun i => i))) => "
                    "reduce(z, fun (acc, (y, x)) => f((acc, y, x)), zip(ys, xs))",
                    "the same, reduced"},
                   elementsBesideIndices<Prim::reduce>),
      computedRule({"windowsOfIndices",
                    "generate(n, fun i => generate(k, fun j => f((xs: [n + k]t)[i + j]))) => map(fun w => map(f, w), "
                    "take(n, slide(k, 1, xs)))",
                    "sums of indices select elements of windows"},
                   windowsOfIndices),
      computedRule({"paddingOfIndices",
                    "generate(5, fun i => generate(k, fun j => f(if i + j < 1 || i + j > 5 then 2 else "
                    "(xs: [5]i32)[i + j - 1]))) => map(fun w => map(f, w), slide(k, 1, pad(1, k - 2, 2, xs)))",
                    "the same where a condition says what stands outside of the array"},
                   paddingOfIndices),
      computedRule({"bordersOfIndices",
                    "generate(5, fun i => generate(k, fun j => f((xs: [5]i32)[max(0, min(i + j - 1, 4))]))) => "
                    "map(fun w => map(f, w), slide(k, 1, padClamp(1, k - 2, xs)))",
                    "indices that end where the array does read it with padding"},
                   bordersOfIndices),
      computedRule({"windowsBesideIndices",
                    "generate(n, fun i => f(((xs: [n + 2]t)[i], xs[i + 2]))) => map(fun w => f((w[0], w[2])), "
                    "slide(3, 1, xs))",
                    "elements beside one index are of one window"},
                   windowsBesideIndices),
      computedRule({"digitsOfIndices",
                    "generate(n * 3, fun t => f((t / 3, t % 3))) => join(generate(n, fun a => generate(3, fun b => "
                    "f((a, b)))))",
                    "an index of rows and columns"},
                   digitsOfIndices),
      computedRule({"digitsOfReduced",
                    "reduce(i, fun (acc, t) => f((acc, t / 3, t % 3)), generate(n * 3, fun t => t)) => reduce(i, fun "
                    "(acc, a) => reduce(acc, fun (acc, b) => f((acc, a, b)), generate(3, fun b => b)), generate(n, fun "
                    "a => a))",
                    "the same of indices that are reduced"},
                   digitsOfReduced),
      computedRule({"mapFusionOfZipped",
                    "map(fun (x, y) => f((x, y)), zip(map(g, xs), ys)) => map(fun (x, y) => let(fun z => f((z, y)), "
                    "g(x)), zip(xs, ys))",
                    "functor law, of zipped maps"},
                   mapFusionOfZipped),
      computedRule(
          {"letTuple", "let(f, (x, y)) => let(fun x => let(fun y => f((x, y)), y), x)", "a name for each component"},
          letTuple),
      computedRule({"letAgain", "let x = g(v) in let y = g(v) in f((x, y)) => let x = g(v) in f((x, x))",
                    "one name for one value"},
                   letAgain),
      computedRule({"tupleOfParts", "(x: (t, u)) => (x.0, x.1)", "surjective pairing"}, tupleOfParts),
      computedRule({"reduceZipJoin",
                    "reduce(i, f, zip(join((xss: [n][m]t)), join((yss: [n][m]u)))) => "
                    "reduce(i, fun (acc, (xs, ys)) => reduce(acc, f, zip(xs, ys)), zip(xss, yss))",
                    "fold of folds"},
                   reduceZipJoin),
  };
}

// ------------------------------------------------------------------------------------------------------------ places

namespace {

// A part of a term, and what stands around it.
struct Place {
  Expr part;
  std::vector<Expr> binders;
  std::vector<Spine> owners;  // of each binder's function: what it is an argument of
  bool optional = false;      // evaluations of the term may leave it out

  bool isFree(Expr e) const {
    return std::ranges::none_of(binders, [&](Expr b) { return e.hasFree(b); });
  }
  // Whether it may be evaluated in front of the term.
  bool mayMove(Expr e) const { return isFree(e) && !(optional && mayFailWithin(e)); }
};

// Nothing where the path leads nowhere, or to a primitive that lacks arguments.
std::optional<Place> placeAt(Expr e, const Path& path) {
  Place place{e, {}, {}, false};
  Spine owner{e, {}};
  for (std::size_t i = 0; i < path.size(); i++) {
    const Expr now = place.part;
    if (now.isLambda()) {
      if (path[i] != 0) return std::nullopt;
      place.binders.push_back(now.parameter());
      place.owners.push_back(owner);
      place.part = now.body();
      continue;
    }
    const Spine s = spineOf(now);
    // Zeros lead past the last arguments, a one to the argument.
    const auto one = std::find(path.begin() + static_cast<std::ptrdiff_t>(i), path.end(), 1);
    const auto past = static_cast<std::size_t>(one - path.begin()) - i;
    if (one == path.end() || past >= s.arguments.size()) return std::nullopt;
    const std::size_t argument = s.arguments.size() - 1 - past;
    i += past;
    place.optional = place.optional || isOptional(s, argument);
    place.part = s.arguments[argument];
    owner = s;
  }
  return place;
}

Expr replacedAt(Expr e, const Path& path, Expr by, std::size_t from = 0) {
  if (from == path.size()) return by;
  if (e.isLambda()) return Expr::lambda(e.parameter(), replacedAt(e.body(), path, by, from + 1));
  return path[from] == 0 ? Expr::apply(replacedAt(e.function(), path, by, from + 1), e.argument())
                         : Expr::apply(e.function(), replacedAt(e.argument(), path, by, from + 1));
}

using ComputationAt = std::optional<Expr> (*)(Expr, const Path&, const Arguments&);

std::optional<Expr> letOf(Expr e, const Path& path, const Arguments&) {
  const auto place = placeAt(e, path);
  if (!place || place->part.type().isFunction() || !place->mayMove(place->part)) return std::nullopt;
  const Expr t = Expr::variable("t", place->part.type());
  return let(t, place->part, replaceTerms(e, {{place->part, t}}));
}

std::optional<Expr> letOut(Expr e, const Path& path, const Arguments&) {
  const auto place = placeAt(e, path);
  const Spine s = place ? spineOf(place->part) : Spine{e, {}};
  if (!place || path.empty() || !s.isCall(Prim::let) || !place->mayMove(s.arguments[1])) return std::nullopt;
  const Expr name = s.arguments[0].parameter(), value = s.arguments[1];
  const Expr fresh = Expr::variable(name.name(), name.type());
  return let(fresh, value, etaLong(Dropped(name, value, fresh).in(e)));
}

std::optional<Expr> letInto(Expr e, const Path& path, const Arguments&) {
  const auto place = placeAt(e, path);
  const Spine s = spineOf(e);
  if (!place || !s.isCall(Prim::let) || path.size() < 3 || path[1] != 1)
    return std::nullopt;  // 010…: in the function's body
  if (place->part.type().isFunction()) return std::nullopt;
  const Expr own = let(s.arguments[0].parameter(), s.arguments[1], place->part);
  return replacedAt(e, path, withFreshBinders(own));
}

// The part there, of the function of a map or a fold, where no name that it needs is bound inside of that
// function.
std::optional<Expr> partOfFunction(Expr e, const Path& path) {
  const auto place = placeAt(e, path);
  if (!place || path.size() < 3 || path[0] != 0 || path[1] != 1 || place->part.type().isFunction()) return std::nullopt;
  Place below = *place;
  below.binders.erase(below.binders.begin());  // of the function itself
  return below.mayMove(place->part) ? std::optional(place->part) : std::nullopt;
}

std::optional<Expr> mapFission(Expr e, const Path& path, const Arguments&) {
  const auto part = spineOf(e).isPrim(Prim::map) ? partOfFunction(e, path) : std::nullopt;
  return part ? std::optional(fission(e, *part)) : std::nullopt;
}

std::optional<Expr> reduceFission(Expr e, const Path& path, const Arguments&) {
  const Spine s = spineOf(e);
  const auto part = isFold(s) ? partOfFunction(e, path) : std::nullopt;
  return part ? fissionOfReduction(e, *part) : std::nullopt;
}

std::optional<Expr> reduceInLanes(Expr e, const Path& path, const Arguments& arguments) {
  const auto place = placeAt(e, path);
  const Spine s = place ? spineOf(place->part) : Spine{e, {}};
  if (!s.isPrim(Prim::reduce) || !s.arguments[0].type().isRegister()) return std::nullopt;
  Rows rows;  // what is around the reduction tells of its elements
  Path above;
  for (const std::uint8_t child : path) {
    const Expr on = placeAt(e, above) ? placeAt(e, above)->part : e;
    if (const Spine map = spineOf(on); map.isCall(Prim::map))
      rows.emplace(map.arguments[0].parameter(), map.arguments[1]);
    above.push_back(child);
  }
  const auto accumulation = accumulationOf(s.arguments[0], s.arguments[1], growing(s.arguments[2], rows));
  const Nat lanes = arguments.at("w");
  if (!accumulation || !accumulation->commutative || lessEqual(Nat(2), lanes) != Truth::proved ||
      lessEqual(lanes, s.arguments[2].type().length()) == Truth::refuted)
    return std::nullopt;
  return replacedAt(e, path, laneReduction(*accumulation, s.arguments[0], s.arguments[1], s.arguments[2], lanes));
}

// The indices in an element of the array, and how many there are of each.
void findIndices(Expr array, Expr element, std::vector<std::pair<Expr, Nat>>& found) {
  const Spine s = spineOf(array);
  if (countsUp(array)) found.emplace_back(element, array.type().length());
  if (s.isCall(Prim::get)) {
    const Expr written = component(s.arguments[0], static_cast<std::size_t>(*s.head.nats()[0].constant()));
    if (written != array) findIndices(written, element, found);
  }
  if (s.isPrim(Prim::zip))
    for (std::size_t i = 0; i < s.arguments.size(); i++) findIndices(s.arguments[i], get(element, i), found);
}

// The indices that the function's parameter holds.
std::vector<std::pair<Expr, Nat>> indicesOf(const Spine& loop, Expr parameter) {
  std::vector<std::pair<Expr, Nat>> found;
  if (loop.isCall(Prim::generate)) found.emplace_back(parameter, loop.head.nats()[0]);
  if (loop.isCall(Prim::map)) findIndices(loop.arguments[1], parameter, found);
  if (loop.isCall(Prim::reduce) || loop.isCall(Prim::scan) || loop.isCall(Prim::scanExclusive))
    findIndices(loop.arguments[2], get(parameter, 1), found);
  return found;
}

// The part there, of which nothing but indices is bound in the term, in a table in front of it.
std::optional<Expr> tableOf(Expr e, const Path& path, const Arguments&) {
  const auto place = placeAt(e, path);
  if (!place || !place->part.type().isScalar()) return std::nullopt;
  Expr value = place->part;
  std::vector<std::pair<Expr, Expr>> used;  // an index, and its name in the table
  std::vector<Nat> counts;
  for (std::size_t k = place->binders.size(); k-- > 0;) {
    const Expr bound = place->binders[k];
    const Spine& owner = place->owners[k];
    if (!value.hasFree(bound)) continue;
    if (owner.isCall(Prim::let) && owner.arguments[1].type().isRegister()) {
      value = etaLong(substitute(value, bound, owner.arguments[1]));
      continue;
    }
    for (const auto& [index, count] : indicesOf(owner, bound)) {
      const Expr name = Expr::variable("i", index.type());
      const Expr now = replaceTerms(value, {{index, name}});
      if (now == value) continue;
      value = now;
      used.emplace_back(index, name);
      counts.push_back(count);
    }
    if (value.hasFree(bound)) return std::nullopt;
  }
  if (used.empty() || mayFailWithin(value)) return std::nullopt;
  Expr table = withFreshBinders(value);
  for (std::size_t k = 0; k < used.size(); k++)
    table = call(Prim::generate, {counts[k]}, {Expr::lambda(used[k].second, table)});
  const Expr name = Expr::variable("table", table.type());
  Expr read = name;
  for (std::size_t k = used.size(); k-- > 0;) read = call(Prim::at, {used[k].first, read});
  return let(name, table, replacedAt(e, path, read));
}

struct PlaceRule {
  RuleRow row;
  ComputationAt compute;
  std::vector<std::string_view> tabled;  // places of those in the table
  std::vector<std::string> tunables = {};
};

const std::vector<PlaceRule>& allPlaceRules() {
  static const auto& all = *new std::vector<PlaceRule>{
      {{"letOf", "f(v) => let(f, v)", "the part there gets a name"}, letOf, {"1", "01", "101"}},
      {{"letOut", "f(let(g, x)) => let(fun y => f(g(y)), x)", "let floats out"}, letOut, {"1", "01"}},
      {{"letInto", "let x = h(v) in f((x, g(x))) => let x = h(v) in f((x, let(g, h(v))))",
        "the part there gets a let of its own"},
       letInto,
       {"0101", "01001"}},
      {{"tableOf",
        "map(fun x => f((x, generate(n, fun i => g(exp(f32(i)))))), xs) => let table = generate(n, fun i => "
        "exp(f32(i))) in map(fun x => f((x, generate(n, fun i => g(table[i])))), xs)",
        "the part there, of indices alone, in a table"},
       tableOf,
       {"0101111011"}},
      {{"mapFission", "map(fun x => f((x, g(x))), xs) => map(fun (x, t) => f((x, t)), zip(xs, map(g, xs)))",
        "functor law: the part there by a map of its own"},
       mapFission,
       {"0101", "01001"}},
      {{"reduceFission",
        "reduce(i, fun (acc, x) => f((acc, g(x))), xs) => reduce(i, fun (acc, (x, t)) => f((acc, t)), zip(xs, map(g, "
        "xs)))",
        "fold fusion, backwards: the part there by a map of its own"},
       reduceFission,
       {"0101"}},
      {{"reduceInLanes",
        "reduce(i, f, xs) => reduce(i, combine, reduce(generate(w, fun k => start), "
        "fun (acc, x) => map(f, zip(acc, x)), split(w, xs)))",
        "accumulators that take turns", When::accumulates},
       reduceInLanes,
       {""},
       {"w"}}};
  return all;
}

Rule placeRule(const PlaceRule& rule, const Path& path, std::string_view written) {
  RuleRow row = rule.row;
  const std::string name = written.empty() ? std::string(row.name) : fmt::format("{}<{}>", row.name, written);
  row.name = name;
  return Rule(row, rule.tunables, [compute = rule.compute, path](Expr e, const Arguments& arguments) {
    return compute(e, path, arguments);
  });
}

std::optional<Path> parsed(std::string_view text) {
  Path path;
  for (const char c : text) {
    if (c != '0' && c != '1') return std::nullopt;
    path.push_back(static_cast<std::uint8_t>(c - '0'));
  }
  return path;
}

const PlaceRule* rowOf(std::string_view name) {
  const std::string_view family = name.substr(0, name.find('<'));
  for (const PlaceRule& rule : allPlaceRules())
    if (rule.row.name == family) return &rule;
  return nullptr;
}

}  // namespace

std::vector<Rule> placeRules() {
  std::vector<Rule> rules;
  for (const PlaceRule& rule : allPlaceRules())
    for (const std::string_view at : rule.tabled) rules.push_back(placeRule(rule, *parsed(at), at));
  return rules;
}

bool isPlaceRuleName(std::string_view name) { return name.find('<') != std::string_view::npos && rowOf(name); }

const Rule& placeRuleNamed(std::string_view name) {
  static std::mutex mutex;
  static auto& made = *new std::map<std::string, std::unique_ptr<const Rule>, std::less<>>;
  const std::lock_guard lock(mutex);
  if (const auto found = made.find(name); found != made.end()) return *found->second;
  const std::size_t open = name.find('<') + 1;
  const std::string_view written = name.substr(open, name.size() - open - 1);
  const auto path = parsed(written);
  if (!path || name.back() != '>' || written.empty())
    throw UserError(ExitStatus::usage, fmt::format("'{}' is no rule", name),
                    fmt::format("write the place of a part, as in {}<0110>", rowOf(name)->row.name));
  return *made.emplace(std::string(name), std::make_unique<Rule>(placeRule(*rowOf(name), *path, written)))
              .first->second;
}

}  // namespace detail

}  // namespace lift::rewrite
