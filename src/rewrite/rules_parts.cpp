// Computed rules: reductions and scans in parts.
#include <algorithm>
#include <cmath>

#include "computed.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {
namespace {

using namespace build;

// The chunks of an array, which has one at least, and what they leave; nothing where they leave nothing.
struct Chunks {
  Expr chunks;
  std::optional<Expr> rest;
};
Chunks chunksOf(Expr in, Expr whole, Nat chunk) {
  const Nat length = in.type().length(), chunked = length / chunk * chunk;
  if (dividesEvenly(chunk, length)) return {split(chunk, in), std::nullopt};
  return {split(chunk, take(chunked, in)), drop(chunked, whole)};
}

bool hasChunk(Expr in, Nat chunk) { return lessEqual(chunk, in.type().length()) != Truth::refuted; }

std::optional<Expr> reduceInChunks(Expr e, Nat chunk) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduce) || !hasChunk(s.arguments[2], chunk)) return std::nullopt;
  const Expr init = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
  const auto accumulation = init.type().isRegister() ? accumulationOf(init, f) : std::nullopt;
  if (!accumulation) return std::nullopt;
  // A function that makes the elements is applied in the chunks: split(c, map(g, ys)) = map(map(g), split(c, ys)).
  Expr from = in;
  std::vector<Expr> functions;
  for (Spine m = spineOf(from); m.isPrim(Prim::map); m = spineOf(from)) {
    functions.push_back(m.arguments[0]);
    from = m.arguments[1];
  }
  const Chunks parts = chunksOf(from, in, chunk);
  const Expr part = Expr::variable("chunk", Type::array(chunk, from.type().element()));
  Expr elements = part;
  for (auto g = functions.rbegin(); g != functions.rend(); ++g) elements = map(withFreshBinders(*g), elements);
  const Expr each = Expr::lambda(part, reduce(accumulation->start, withFreshBinders(f), elements));
  const Expr done = reduceSeq(init, withFreshBinders(accumulation->combine), map(each, parts.chunks));
  return parts.rest ? reduceSeq(done, f, *parts.rest) : done;
}

// map(fun a => reduce(i, f, in(a)), as)  ->  the same of chunks of all rows, the first chunks of all before the second,
// and what the chunks of a row leave put together.
std::optional<Expr> reduceRowsInChunks(Expr e, Nat chunk) {
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::map) || !s.arguments[0].isLambda()) return std::nullopt;
  const Expr a = s.arguments[0].parameter(), rows = s.arguments[1];
  const Spine reduction = spineOf(s.arguments[0].body());
  if (!reduction.isPrim(Prim::reduce) || !hasChunk(reduction.arguments[2], chunk)) return std::nullopt;
  const Expr init = reduction.arguments[0], f = reduction.arguments[1], in = reduction.arguments[2];
  if (init.hasFree(a) || f.hasFree(a) || !in.hasFree(a)) return std::nullopt;
  const auto accumulation = init.type().isRegister() ? accumulationOf(init, f) : std::nullopt;
  if (!accumulation) return std::nullopt;
  const Chunks parts = chunksOf(in, in, chunk);
  const Expr ofRows = call(Prim::transpose, {map(withFreshBinders(Expr::lambda(a, parts.chunks)), rows)});
  const auto ofChunk = [&](Expr chunk) { return reduce(accumulation->start, withFreshBinders(f), chunk); };
  const auto ofChunks = [&](Expr chunks) { return map("chunk", chunks, ofChunk); };
  const Expr partials = call(Prim::transpose, {map("chunks", ofRows, ofChunks)});
  const auto combined = [&](Expr results) { return reduce(init, withFreshBinders(accumulation->combine), results); };
  if (!parts.rest) return map("p", partials, combined);
  const Expr both = zip({rows, partials}), p = Expr::variable("p", both.type().element());
  const Expr rest = etaLong(substitute(withFreshBinders(*parts.rest), a, get(p, 0)));
  return map(Expr::lambda(p, reduce(combined(get(p, 1)), withFreshBinders(f), rest)), both);
}

std::optional<Expr> reduceInVectors(Expr e, Nat lanes) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduce) || lanes == Nat(1) || !hasChunk(s.arguments[2], lanes)) return std::nullopt;
  const Expr init = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
  const auto accumulation = init.type().isRegister() ? accumulationOf(init, f) : std::nullopt;
  if (!accumulation || !accumulation->commutative) return std::nullopt;
  return vectorReduction(*accumulation, init, f, in, lanes, Prim::reduce);
}

// scan(z, f, xs)  ->  join(map(fun (offset, chunk) => scan(offset, f, chunk), zip(offsets, split(c, xs')))) ++ rest
// where xs = xs' ++ …, offsets = scanExclusive(z, combine, totals), totals = map(fun chunk => reduce(start, f, chunk),
// split(c, xs')).
template <Prim scan>
std::optional<Expr> scanInChunks(Expr e, Nat chunk) {
  const Spine s = spineOf(e);
  if (!s.isPrim(scan) || !hasChunk(s.arguments[2], chunk)) return std::nullopt;
  const Expr init = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
  const auto accumulation = init.type().isRegister() ? accumulationOf(init, f) : std::nullopt;
  if (!accumulation) return std::nullopt;
  const Chunks parts = chunksOf(in, in, chunk);
  const auto scanned = [&](Expr start, Expr xs) { return call(scan, {start, withFreshBinders(f), xs}); };
  const Expr totals =
      map("chunk", parts.chunks, [&](Expr part) { return reduce(accumulation->start, withFreshBinders(f), part); });
  const Expr offsets = call(Prim::scanExclusiveSeq, {init, withFreshBinders(accumulation->combine), totals});
  const auto fromOffset = [&](Expr p) { return scanned(get(p, 0), get(p, 1)); };
  const Expr first = call(Prim::join, {map("p", zip({offsets, parts.chunks}), fromOffset)});
  if (!parts.rest) return first;
  const Expr before = reduceSeq(init, withFreshBinders(accumulation->combine), totals);
  return call(Prim::concat, {first, scanned(before, *parts.rest)});
}

// reduce(i, fun (acc, x) => combine((acc, reduce(start, f, xs(x)))), in)  ->  reduce(i, fun (acc, x) => reduce(acc, f,
// xs(x)), in)
std::optional<Expr> reduceOfReductions(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduce) || !s.arguments[0].type().isRegister() || !s.arguments[1].isLambda()) return std::nullopt;
  const Expr p = s.arguments[1].parameter(), body = s.arguments[1].body();
  const Spine outer = spineOf(body);
  for (const Expr inner : outer.arguments) {
    const Spine sum = spineOf(inner);
    if (!sum.isPrim(Prim::reduce) || inner.type() != s.arguments[0].type() || !sum.arguments[0].freeVariables().empty())
      continue;
    const auto accumulation = accumulationOf(sum.arguments[0], sum.arguments[1]);
    if (!accumulation || sum.arguments[0] != accumulation->start) continue;
    // What the outer function does with the accumulator and the inner result is to combine them.
    const Expr acc = Expr::variable("acc", inner.type()), r = Expr::variable("r", inner.type());
    const Expr combined =
        etaLong(substitute(accumulation->combine.body(), accumulation->combine.parameter(), tuple({acc, r})));
    if (replaceTerms(body, {{get(p, 0), acc}, {inner, r}}) != combined) continue;
    return reduce(s.arguments[0], Expr::lambda(p, reduce(get(p, 0), sum.arguments[1], sum.arguments[2])),
                  s.arguments[2]);
  }
  return std::nullopt;
}

// The factors of a product, from the left.
std::vector<Expr> factorsOf(Expr product) {
  const Spine s = spineOf(product);
  if (!s.isPrim(Prim::op) || s.head.op() != Op::mul || s.arguments.size() != 2) return {product};
  std::vector<Expr> factors = factorsOf(s.arguments[0]);
  for (const Expr f : factorsOf(s.arguments[1])) factors.push_back(f);
  return factors;
}

Expr productOf(const std::vector<Expr>& factors) {
  Expr product = factors[0];
  for (std::size_t i = 1; i < factors.size(); i++) product = operation(Op::mul, {product, factors[i]});
  return product;
}

// What the function of a sum adds to its accumulator, if it does nothing else.
std::optional<Expr> addendOf(Expr f) {
  if (!f.isLambda()) return std::nullopt;
  const Spine add = spineOf(f.body());
  if (!add.isPrim(Prim::op) || add.head.op() != Op::add || !f.body().type().isScalar() ||
      !isFloat(f.body().type().scalar()))
    return std::nullopt;
  const Expr acc = get(f.parameter(), 0), x = Expr::variable("x", get(f.parameter(), 1).type());
  for (std::size_t i = 0; i < 2; i++) {
    const Expr addend = add.arguments[1 - i];
    if (add.arguments[i] == acc && !replaceTerms(addend, {{get(f.parameter(), 1), x}}).hasFree(f.parameter()))
      return addend;
  }
  return std::nullopt;
}

// Where two factors and more are left in the inner sum, and what leaves it depends on the outer one's element.
std::optional<Expr> factorsOutOfSum(Expr e) {
  const Spine s = spineOf(e);
  const auto added = s.isCall(Prim::reduce) ? addendOf(s.arguments[1]) : std::nullopt;
  const Spine sum = added ? spineOf(*added) : s;
  const auto product = added && sum.isCall(Prim::reduce) ? addendOf(sum.arguments[1]) : std::nullopt;
  if (!product || !sum.arguments[0].isLiteral() || sum.arguments[0].value().asDouble() != 0) return std::nullopt;
  const Expr p = s.arguments[1].parameter(), q = sum.arguments[1].parameter();
  std::vector<Expr> inside, outside;
  for (const Expr f : factorsOf(*product)) (f.hasFree(q) ? inside : outside).push_back(f);
  if (inside.size() < 2 || std::ranges::none_of(outside, [&](Expr f) { return f.hasFree(p); })) return std::nullopt;
  const Expr left =
      reduce(sum.arguments[0], Expr::lambda(q, operation(Op::add, {get(q, 0), productOf(inside)})), sum.arguments[2]);
  outside.push_back(left);
  return reduce(s.arguments[0], Expr::lambda(p, operation(Op::add, {get(p, 0), productOf(outside)})), s.arguments[2]);
}

}  // namespace

std::optional<Expr> reduceByIndexInChunks(Expr e, Nat chunk) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduceByIndex) || !hasChunk(s.arguments[2], chunk)) return std::nullopt;
  const Expr zs = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
  const Expr z = Expr::variable("z", zs.type().element());
  const auto accumulation = accumulationOf(z, f);
  if (!accumulation) return std::nullopt;
  const Chunks parts = chunksOf(in, in, chunk);
  const auto reduced = [&](Expr xs) {
    const Expr starts = accumulation->start.hasFree(z) ? map(withFreshBinders(Expr::lambda(z, accumulation->start)), zs)
                                                       : fill(zs.type().length(), accumulation->start);
    return call(Prim::reduceByIndex, {starts, withFreshBinders(f), xs});
  };
  std::vector<Expr> arrays{zs, call(Prim::transpose, {map("chunk", parts.chunks, reduced)})};
  if (parts.rest) arrays.push_back(reduced(*parts.rest));
  const Expr all = zip(arrays), p = Expr::variable("p", all.type().element());
  const Expr done = reduce(get(p, 0), withFreshBinders(accumulation->combine), get(p, 1));
  if (!parts.rest) return map(Expr::lambda(p, done), all);
  const Expr combine = withFreshBinders(accumulation->combine);
  const Expr last = substitute(combine.body(), combine.parameter(), tuple({done, get(p, 2)}));
  return map(Expr::lambda(p, etaLong(last)), all);
}

namespace {

// What the term is where the others are zero, if that is known.
std::optional<double> whereZero(Expr e, const std::vector<Expr>& zeros) {
  const Spine s = spineOf(e);
  if (std::ranges::find(zeros, e) != zeros.end()) return 0;
  if (e.isLiteral()) return e.value().asDouble();
  std::vector<double> values;
  for (const Expr a : s.arguments) {
    if (a.isLambda()) continue;
    const auto value = whereZero(a, zeros);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if (s.isPrim(Prim::let) && s.arguments[0].isLambda() && values[0] == 0) {
    std::vector<Expr> more = zeros;
    more.push_back(s.arguments[0].parameter());
    return whereZero(s.arguments[0].body(), more);
  }
  if (!s.isPrim(Prim::op)) return std::nullopt;
  switch (s.head.op()) {
    case Op::add: return values[0] + values[1];
    case Op::sub: return values[0] - values[1];
    case Op::mul: return values[0] * values[1];
    case Op::abs: return std::abs(values[0]);
    default: return std::nullopt;
  }
}

// Of two arrays of numbers, where zeros of both add zero.
std::optional<Expr> reduceFilled(Expr e, const Arguments& arguments) {
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::reduce) || !s.arguments[1].isLambda()) return std::nullopt;
  const Spine zipped = spineOf(s.arguments[2]), sum = spineOf(s.arguments[1].body());
  if (!zipped.isPrim(Prim::zip) || zipped.arguments.size() != 2 || !sum.isPrim(Prim::op)) return std::nullopt;
  const Expr p = s.arguments[1].parameter(), acc = get(p, 0), element = get(p, 1);
  const auto is = [&](Op op, std::size_t place) { return sum.head.op() == op && sum.arguments[place] == acc; };
  if (!is(Op::add, 0) && !is(Op::add, 1) && !is(Op::sub, 0)) return std::nullopt;
  const auto added = whereZero(sum.arguments[is(Op::add, 1) ? 0 : 1], {get(element, 0), get(element, 1)});
  if (!added || *added != 0) return std::nullopt;
  std::vector<Expr> filled;
  for (const Expr xs : zipped.arguments) {
    if (!xs.type().element().isScalar()) return std::nullopt;
    filled.push_back(call(Prim::pad, {Nat(0), arguments.at("k")}, {zeros(xs.type().element()), xs}));
  }
  return reduce(s.arguments[0], s.arguments[1], zip(filled));
}

}  // namespace

std::vector<Rule> chunkingRules() {
  const auto inChunks = [](RuleRow row, std::optional<Expr> (*compute)(Expr, Nat)) {
    return Rule(row, {"c"}, [compute](Expr e, const Arguments& arguments) { return compute(e, arguments.at("c")); });
  };
  return {
      Rule(RuleRow{"reduceInVectors",
                   "reduce(i, f, xs) => combine((i, fold(combine, reduce(splat(w, start), "
                   "fun (acc, v) => vectorize(w, f, (acc, v)), asVector(w, xs)))))",
                   "accumulators that take turns, in lanes", When::accumulates},
           {"w"}, [](Expr e, const Arguments& arguments) { return reduceInVectors(e, arguments.at("w")); }),
      inChunks({"reduceInChunks",
                "reduce(i, f, xs) => reduceSeq(i, combine, map(fun chunk => reduce(start, f, chunk), "
                "split(c, xs)))",
                "a function that only adds to its accumulator, from the start of its operation", When::accumulates},
               reduceInChunks),
      inChunks(
          {"reduceRowsInChunks",
           "map(fun x => reduce(i, f, g(x)), xs) => map(fun p => reduce(i, combine, p), transpose(map(fun chunks => "
           "map(fun chunk => reduce(start, f, chunk), chunks), transpose(map(fun x => split(c, g(x)), xs)))))",
           "the first chunks of all rows before the second", When::accumulates},
          reduceRowsInChunks),
      inChunks({"scanInChunks",
                "scan(i, f, xs) => join(map(fun (offset, chunk) => scan(offset, f, chunk), "
                "zip(offsets, split(c, xs))))",
                "every chunk from what stands before it", When::accumulates},
               scanInChunks<Prim::scan>),
      inChunks({"scanExclusiveInChunks",
                "scanExclusive(i, f, xs) => join(map(fun (offset, chunk) => "
                "scanExclusive(offset, f, chunk), zip(offsets, split(c, xs))))",
                "every chunk from what stands before it", When::accumulates},
               scanInChunks<Prim::scanExclusive>),
      inChunks({"reduceByIndexInChunks",
                "reduceByIndex(zs, f, xs) => map(fun (z, column) => reduce(z, combine, column), zip(zs, "
                "transpose(map(fun chunk => reduceByIndex(starts, f, chunk), split(c, xs)))))",
                "every chunk into elements of its own", When::accumulates},
               reduceByIndexInChunks),
      computedRule({"lastByIndex",
                    "reduceByIndex(zs, fun (z, v) => g(v), xs) => map(fun (z, k) => if k < 0 then z else g(xs[k].1), "
                    "zip(zs, reduceByIndex(fill(n, -1), max, zip(map(fun x => x.0, xs), generate(m, fun k => k)))))",
                    "the last value for each index is that of the greatest place"},
                   lastByIndex),
      computedRule({"reduceRowsByIndex",
                    "reduceByIndex(zs, fun (z, x) => map(fun (a, b) => f((a, b)), zip(z, ys(x))), xs) => split(d, "
                    "reduceByIndex(join(zs), fun (a, (x, j)) => f((a, ys(x)[j])), join(map(fun (k, x) => map(fun j => "
                    "(if k >= 0 && k < n then k * d + j else -1, (x, j)), generate(d, fun j => j)), xs))))",
                    "rows that are updated element by element"},
                   reduceRowsByIndex),
      computedRule(
          {"reduceEachByIndex",
           "map(fun x => reduceByIndex((zs: [n]u), f, ys(x)), xs) => split(n, reduceByIndex(join(map(fun x => zs, "
           "xs)), f, join(map(fun (x, i) => map(fun (k, y) => (if k >= 0 && k < n then i * n + k else -1, y), "
           "ys(x)), zip(xs, generate(m, fun i => i))))))",
           "arrays that are updated as one"},
          reduceEachByIndex),
      Rule(RuleRow{"reduceFilled",
                   "reduce((i: f32), fun (acc, (x, y)) => acc + x * y, zip(xs, ys)) => reduce(i, fun (acc, (x, y)) => "
                   "acc + x * y, zip(pad(0, k, 0.0, xs), pad(0, k, 0.0, ys)))",
                   "zeros more, which add zero"},
           {"k"}, reduceFilled),
      computedRule({"reduceOfReductions",
                    "reduce((i: f32), fun (acc, x) => acc + reduce(0.0, fun (a, y) => a + f(y), (g(x): [m]t)), xs) => "
                    "reduce(i, fun (acc, x) => reduce(acc, fun (a, y) => a + f(y), g(x)), xs)",
                    "a sum of sums", When::rounds},
                   reduceOfReductions),
      computedRule({"factorsOutOfSum",
                    "reduce((i: f32), fun (acc, x) => acc + reduce(0.0, fun (a, y) => a + f(y) * c(x) * g(y), (ys(x): "
                    "[m]t)), xs) => reduce(i, fun (acc, x) => acc + c(x) * reduce(0.0, fun (a, y) => a + f(y) * g(y), "
                    "ys(x)), xs)",
                    "distributivity", When::rounds},
                   factorsOutOfSum),
      computedRule({"mapByKey",
                    "map(fun b => reduce(z, fun (acc, x) => if b == k(x) then f((acc, x)) else acc, xs), "
                    "generate(n, fun i => i)) => reduceByIndex(fill(n, z), f, map(fun x => (k(x), x), xs))",
                    "a reduction for each index of the elements with that key: one update for each element"},
                   mapByKey),
      computedRule({"reduceByKey",
                    "reduce(zs, fun (acc, x) => map(fun (a, b) => if b == k(x) then f((a, x)) else a, "
                    "zip(acc, generate(n, fun i => i))), xs) => reduceByIndex(zs, f, map(fun x => (k(x), x), xs))",
                    "an update of the one element with that key"},
                   reduceByKey),
      computedRule({"reduceElements",
                    "reduce(zs, fun (acc, x) => map(fun (a, y) => f((a, y)), zip(acc, ys(x))), xs) => "
                    "map(fun (z, column) => reduce(z, f, column), zip(zs, transpose(map(ys, xs))))",
                    "lift-conv §4.2, backwards"},
                   reduceElements),
      computedRule({"reduceElementsOfMaps",
                    "reduce(generate(n, fun i => z), fun (acc, x) => map(fun (a, y) => f((a, y)), "
                    "zip(acc, map(fun v => g((x, v)), ys(x)))), xs) => map(fun column => "
                    "reduce(z, fun (acc, (x, v)) => f((acc, g((x, v)))), zip(xs, column)), transpose(map(ys, xs)))",
                    "a sum of arrays that maps compute, element by element"},
                   reduceElementsOfMaps),
      computedRule({"reduceRows",
                    "map(fun column => reduce(z, f, column), transpose(map(ys, xs))) => "
                    "reduce(fill(n, z), fun (acc, x) => map(f, zip(acc, ys(x))), xs)",
                    "lift-conv §4.2"},
                   reduceRows),
      computedRule(
          {"reduceUnlessKept",
           "reduce(zs, fun (acc, x) => map(fun j => if v(x) <= acc[j] then acc[j] else f((acc[j], x)), "
           "generate(n, fun i => i)), xs) => reduce((zs, least(zs)), fun ((acc, m), x) => if v(x) <= m then "
           "(acc, m) else let y = map(fun j => f((acc[j], x)), generate(n, fun i => i)) in (y, least(y)), xs).0",
           "a step that changes nothing, told by one comparison"},
          reduceUnlessKept),
  };
}

}  // namespace lift::rewrite::detail
