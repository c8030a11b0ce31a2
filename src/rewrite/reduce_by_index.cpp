// Reductions by index: found where they are written as comparisons; made of such that may take their pairs in any
// order.
#include <limits>

#include "computed.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

// acc becomes `update` where the index is `key`, else it stays.
struct Update {
  Expr key;
  Expr update;
};

// The other side of a comparison of `index` for equality.
std::optional<Expr> keyOf(Expr condition, Expr index, Expr accumulator) {
  const Spine s = spineOf(condition);
  if (!s.isPrim(Prim::op) || s.head.op() != Op::eq) return std::nullopt;
  for (const std::size_t side : {0, 1}) {
    const Expr key = s.arguments[1 - side];
    if (s.arguments[side] == index && !key.hasFree(index) && !key.hasFree(accumulator)) return key;
  }
  return std::nullopt;
}

// A step of a reduction as an update of the elements that one key selects. `index` and `accumulator` are variables.
std::optional<Update> updateOf(Expr step, Expr index, Expr accumulator) {
  Spine s = spineOf(step);
  for (; s.isPrim(Prim::let); s = spineOf(step)) {
    if (s.arguments[1].hasFree(accumulator)) return std::nullopt;
    step = etaLong(substitute(s.arguments[0].body(), s.arguments[0].parameter(), s.arguments[1]));
  }
  if (!isChoice(s)) {
    // acc op (if index == key then v else neutral)
    if (!s.isPrim(Prim::op) || s.arguments.size() != 2) return std::nullopt;
    const auto neutral = neutralOf(s.head.op(), step.type());
    const std::size_t side = s.arguments[0] == accumulator ? 1 : 0;
    const Spine choice = spineOf(s.arguments[side]);
    if (!neutral || s.arguments[1 - side] != accumulator || !isChoice(choice) || choice.arguments[2] != *neutral)
      return std::nullopt;
    s.arguments[side] = choice.arguments[1];
    return updateOf(call(Prim::ifThenElse, {choice.arguments[0], applyAll(s.head, s.arguments), accumulator}), index,
                    accumulator);
  }
  const auto& a = s.arguments;
  if (a[2] != accumulator) return std::nullopt;
  const auto at = [&](Expr key, Expr e) { return substitute(e, index, key); };
  if (const auto key = keyOf(a[0], index, accumulator)) return Update{*key, at(*key, a[1])};
  // index == key && c
  const Spine both = spineOf(a[0]);
  if (!both.isPrim(Prim::op) || both.head.op() != Op::logicalAnd) return std::nullopt;
  for (const std::size_t side : {0, 1}) {
    const auto key = keyOf(both.arguments[side], index, accumulator);
    if (!key || (side == 1 && mayFailWithin(*key))) continue;
    const Expr inner = call(Prim::ifThenElse, {both.arguments[1 - side], a[1], accumulator});
    return Update{*key, at(*key, inner)};
  }
  return std::nullopt;
}

// reduceByIndex of xs, whose elements are x in `update`.
Expr byIndex(Expr init, const Update& update, Expr accumulator, Expr x, Expr xs) {
  const Expr p = Expr::variable("p", Type::tuple({accumulator.type(), x.type()}));
  const Expr f = Expr::lambda(p, etaLong(substitute(update.update, {{accumulator, get(p, 0)}, {x, get(p, 1)}})));
  const Expr pairs = map(withFreshBinders(Expr::lambda(x, tuple({update.key, x}))), xs);
  return call(Prim::reduceByIndex, {init, f, pairs});
}

// map(fun index => reduction, indices(n)) by index.
std::optional<Expr> fromReductions(Expr index, Expr reduction, Nat n) {
  const Spine s = spineOf(reduction);
  if (!s.isPrim(Prim::reduce)) return std::nullopt;
  auto step = foldStepOf(s.arguments[1]);
  if (!step) return std::nullopt;
  Expr xs = s.arguments[2];
  for (Spine map = spineOf(xs); map.isPrim(Prim::map) && xs.hasFree(index); map = spineOf(xs)) {
    const Expr f = withFreshBinders(map.arguments[0]);
    step->body = etaLong(substitute(step->body, step->element, f.body()));
    step->element = f.parameter();
    xs = map.arguments[1];
  }
  if (xs.hasFree(index)) return std::nullopt;
  const auto update = updateOf(step->body, index, step->accumulator);
  if (!update) return std::nullopt;
  const Expr init = s.arguments[0];
  const Expr zs = init.hasFree(index) ? map(withFreshBinders(Expr::lambda(index, init)), indices(n)) : fill(n, init);
  return byIndex(zs, *update, step->accumulator, step->element, xs);
}

// Terms of a map's body that are evaluated once for each element, whatever the data.
void reductionsIn(Expr e, std::vector<Expr>& found) {
  if (!e.isApply()) return;
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::reduce)) return found.push_back(e);
  for (std::size_t i = 0; i < s.arguments.size(); i++) {
    if (isOptional(s, i)) continue;
    if (s.isPrim(Prim::let) && i == 0)
      reductionsIn(s.arguments[0].body(), found);
    else
      reductionsIn(s.arguments[i], found);
  }
}

// The term that is the index in the function of a map over indices, alone or zipped with other arrays.
std::optional<Expr> indexIn(const Spine& map) {
  const Expr p = map.arguments[0].parameter(), in = map.arguments[1];
  if (isIndices(in)) return p;
  const Spine zip = spineOf(in);
  for (std::size_t i = 0; zip.isPrim(Prim::zip) && i < zip.arguments.size(); i++)
    if (isIndices(zip.arguments[i])) return get(p, static_cast<int>(i));
  return std::nullopt;
}

}  // namespace

std::optional<Expr> mapByKey(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::map)) return std::nullopt;
  const auto place = indexIn(s);
  if (!place) return std::nullopt;
  const Expr p = s.arguments[0].parameter(), body = s.arguments[0].body();
  const Expr index = Expr::variable("b", place->type());
  std::vector<Expr> candidates;
  reductionsIn(body, candidates);
  for (const Expr reduction : candidates) {
    const Expr indexed = replaceTerms(reduction, {{*place, index}});
    if (indexed.hasFree(p)) continue;
    const auto found = fromReductions(index, indexed, e.type().length());
    if (!found) continue;
    if (reduction == body) return found;
    const Expr name = Expr::variable("reduced", found->type());
    const Spine apart = spineOf(fission(e, reduction));
    return let(name, *found, map(apart.arguments[0], zip({s.arguments[1], name})));
  }
  return std::nullopt;
}

// reduce(zs, fun (acc, x) => map(fun (a, b) => …, zip(acc, indices(n))), xs) by index.
std::optional<Expr> reduceByKey(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduce)) return std::nullopt;
  const Expr zs = s.arguments[0];
  if (!zs.type().isArray()) return std::nullopt;
  const auto step = foldStepOf(s.arguments[1]);
  const Spine map = step ? spineOf(step->body) : Spine{zs, {}};
  if (!map.isPrim(Prim::map)) return std::nullopt;
  const Expr p = map.arguments[0].parameter();
  const Expr a = Expr::variable("a", zs.type().element()), b = Expr::variable("b", Type::scalar(Scalar::i32));
  std::unordered_map<Expr, Expr> names;
  if (const Spine in = spineOf(map.arguments[1]); in.isPrim(Prim::zip) && in.arguments.size() == 2) {
    const int own = in.arguments[0] == step->accumulator ? 0 : 1;
    if (in.arguments[static_cast<std::size_t>(own)] != step->accumulator ||
        !isIndices(in.arguments[static_cast<std::size_t>(1 - own)]))
      return std::nullopt;
    names = {{get(p, own), a}, {get(p, 1 - own), b}};
  } else if (isIndices(map.arguments[1])) {
    nameReads(map.arguments[0], p, step->accumulator, a, names);
    names.emplace(p, b);
  } else {
    return std::nullopt;
  }
  const Expr element = replaceTerms(map.arguments[0].body(), names);
  if (element.hasFree(p) || element.hasFree(step->accumulator)) return std::nullopt;
  const auto update = updateOf(element, b, a);
  if (!update) return std::nullopt;
  return byIndex(zs, *update, a, step->element, s.arguments[2]);
}

namespace {

// A component of element k, computed alone where maps and zips make the array.
Expr componentAt(Expr xs, int component, Expr k) {
  const auto elementAt = [&](Expr ys) { return call(Prim::at, {k, ys}); };
  const Spine s = spineOf(xs);
  if (s.isPrim(Prim::zip)) return elementAt(s.arguments[static_cast<std::size_t>(component)]);
  if (!s.isPrim(Prim::map)) return get(elementAt(xs), component);
  const Expr f = withFreshBinders(s.arguments[0]), y = f.parameter(), body = etaLong(get(f.body(), component));
  if (const Spine in = spineOf(s.arguments[1]); in.isPrim(Prim::zip)) {
    std::unordered_map<Expr, Expr> parts;
    for (std::size_t i = 0; i < in.arguments.size(); i++)
      parts.emplace(get(y, static_cast<int>(i)), elementAt(in.arguments[i]));
    if (const Expr made = replaceTerms(body, parts); !made.hasFree(y)) return made;
  }
  return etaLong(substitute(body, y, elementAt(s.arguments[1])));
}

}  // namespace

std::optional<Expr> lastByIndex(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduceByIndex) || !s.arguments[1].isLambda()) return std::nullopt;
  const Expr zs = s.arguments[0], f = s.arguments[1], xs = s.arguments[2], p = f.parameter();
  const Expr v = Expr::variable("v", p.type().components()[1]);
  const Expr made = replaceTerms(f.body(), {{get(p, 1), v}});
  if (made.hasFree(p)) return std::nullopt;
  const Expr x = Expr::variable("x", xs.type().element());
  const Expr keys = map(Expr::lambda(x, get(x, 0)), xs), i32 = Expr::variable("k", Type::scalar(Scalar::i32));
  const Expr pair = Expr::variable("p", Type::tuple({i32.type(), i32.type()}));
  const Expr later = Expr::lambda(pair, operation(Op::max, {get(pair, 0), get(pair, 1)}));
  const Expr last = call(Prim::reduceByIndex,
                         {fill(zs.type().length(), integer(-1)), later, zip({keys, indices(xs.type().length())})});
  const Expr both = zip({zs, last}), q = Expr::variable("q", both.type().element()), k = get(q, 1);
  const auto valueAt = [&](Expr at) { return etaLong(substitute(made, v, componentAt(xs, 1, at))); };
  const auto chosen = [&](Expr then, Expr otherwise) {
    return call(Prim::ifThenElse, {operation(Op::lt, {k, integer(0)}), then, otherwise});
  };
  // In front of the choice, whose branches could not name what is kept in memory.
  const Expr value = valueAt(operation(Op::max, {k, integer(0)}));
  if (!zs.type().element().isArray()) {
    const Expr name = Expr::variable("value", value.type());
    return map(Expr::lambda(q, let(name, value, chosen(get(q, 0), name))), both);
  }
  // Element by element, each of which may go to a work-item of its own.
  const Expr rows = zip({get(q, 0), value});
  const Expr r = Expr::variable("r", rows.type().element());
  return map(Expr::lambda(q, map(Expr::lambda(r, chosen(get(r, 0), get(r, 1))), rows)), both);
}

namespace {

// Whether numbers of i32 tell so many elements apart.
bool isNumbered(Nat elements) { return elements.constant().value_or(0) <= std::numeric_limits<std::int32_t>::max(); }

// then where the key is an index below n, else -1, which is no index.
Expr whereIndex(Expr key, Nat n, Expr then) {
  const Expr isIndex =
      operation(Op::logicalAnd, {operation(Op::ge, {key, integer(0)}), operation(Op::lt, {key, Expr::nat(n)})});
  return call(Prim::ifThenElse, {isIndex, then, integer(-1)});
}

Expr joined(Expr row, Nat width, Expr column) {
  return operation(Op::add, {operation(Op::mul, {row, Expr::nat(width)}), column});
}

}  // namespace

std::optional<Expr> reduceRowsByIndex(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduceByIndex) || !s.arguments[1].isLambda()) return std::nullopt;
  const Expr zs = s.arguments[0], xs = s.arguments[2];
  const Type row = zs.type().element();
  if (!row.isArray()) return std::nullopt;
  const Expr f = withFreshBinders(s.arguments[1]), p = f.parameter();
  const Spine update = spineOf(f.body());
  if (!update.isPrim(Prim::map)) return std::nullopt;
  // The function of element j of a row: own becomes `element`.
  const Expr q = update.arguments[0].parameter(), in = update.arguments[1];
  const Expr own = Expr::variable("own", row.element()), j = Expr::variable("j", Type::scalar(Scalar::i32));
  std::unordered_map<Expr, Expr> names;
  if (const Spine arrays = spineOf(in); arrays.isPrim(Prim::zip)) {
    for (std::size_t i = 0; i < arrays.arguments.size(); i++) {
      const Expr array = arrays.arguments[i];
      names.emplace(get(q, static_cast<int>(i)), array == get(p, 0) ? own : call(Prim::at, {j, array}));
    }
  } else if (isIndices(in)) {
    nameReads(update.arguments[0], q, get(p, 0), own, names);
    names.emplace(q, j);
  } else {
    names.emplace(q, in == get(p, 0) ? own : call(Prim::at, {j, in}));
  }
  const Expr element = replaceTerms(update.arguments[0].body(), names);
  const Expr x = Expr::variable("x", p.type().components()[1]);
  const Expr ofElement = replaceTerms(element, {{get(p, 1), x}});
  if (ofElement.hasFree(p) || ofElement.hasFree(q)) return std::nullopt;
  // Pairs of places in the joined rows and of what updates them; those of no row stay such.
  const Nat n = zs.type().length(), width = row.length();
  if (!isNumbered(n * width)) return std::nullopt;
  const Expr pair = Expr::variable("pair", xs.type().element());
  const Expr ofRow = tuple({whereIndex(get(pair, 0), n, joined(get(pair, 0), width, j)), tuple({get(pair, 1), j})});
  const Expr pairs = map(Expr::lambda(pair, map(Expr::lambda(j, ofRow), indices(width))), xs);
  const Expr u = Expr::variable("u", Type::tuple({own.type(), Type::tuple({x.type(), j.type()})}));
  const Expr g = Expr::lambda(
      u, etaLong(substitute(ofElement, {{own, get(u, 0)}, {x, get(get(u, 1), 0)}, {j, get(get(u, 1), 1)}})));
  return split(width, call(Prim::reduceByIndex, {call(Prim::join, {zs}), g, call(Prim::join, {pairs})}));
}

std::optional<Expr> reduceEachByIndex(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::map)) return std::nullopt;
  const Expr x = s.arguments[0].parameter(), xs = s.arguments[1], body = s.arguments[0].body();
  Expr reduction = body;
  for (Spine l = spineOf(body); l.head.isPrimitive() && isInvertibleLayout(l.head.prim()) && l.arguments.size() == 1;
       l = spineOf(reduction))
    reduction = l.arguments[0];
  const Spine r = spineOf(reduction);
  if (!r.isPrim(Prim::reduceByIndex) || r.arguments[1].hasFree(x)) return std::nullopt;
  const Nat count = e.type().length(), n = reduction.type().length();
  if (!isNumbered(count * n)) return std::nullopt;
  const Expr rows = zip({xs, indices(count)}), q = Expr::variable("q", rows.type().element());
  const Expr ofRow = etaLong(substitute(withFreshBinders(r.arguments[2]), x, get(q, 0)));
  const Expr pair = Expr::variable("pair", ofRow.type().element());
  const Expr numbered = tuple({whereIndex(get(pair, 0), n, joined(get(q, 1), n, get(pair, 0))), get(pair, 1)});
  const Expr pairs = map(Expr::lambda(q, map(Expr::lambda(pair, numbered), ofRow)), rows);
  const Expr starts = map(withFreshBinders(Expr::lambda(x, r.arguments[0])), xs);
  const Expr all =
      split(n, call(Prim::reduceByIndex, {call(Prim::join, {starts}), r.arguments[1], call(Prim::join, {pairs})}));
  if (reduction == body) return all;
  const Expr y = Expr::variable("y", reduction.type());
  return map(Expr::lambda(y, replaceTerms(body, {{reduction, y}})), all);
}

}  // namespace lift::rewrite::detail
