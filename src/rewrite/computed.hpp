// Computed rules: what no pattern says, as functions of a term that the rule's left side fits. Each keeps type and
// meaning, says nothing of when it pays, and gives nothing where it does not apply.
#pragma once

#include <optional>
#include <vector>

#include "lift/accumulation.hpp"
#include "lift/rewrite.hpp"

namespace lift::rewrite::detail {

std::vector<Rule> namingRules();    // of names and tuples
std::vector<Rule> chunkingRules();  // reductions and scans in parts
std::vector<Rule> computedVectorRules();
std::vector<Rule> resultRules();  // what is done with the elements of a result
Rule transpositionRule();
// Rules made for a place below the term, written name<0110>; those of a few places.
std::vector<Rule> placeRules();
bool isPlaceRuleName(std::string_view name);
const Rule& placeRuleNamed(std::string_view name);  // throws UserError (usage)

// A rule without tunables.
Rule computedRule(const RuleRow& row, std::optional<Expr> (*compute)(Expr));

// map(fun x => e[v], xs)  ->  map(fun (x, t) => e[t], zip(xs, map(fun x => v, xs)))
Expr fission(Expr map, Expr value);

// let p = (v, w) in e  ->  let x = v in let y = w in e[p := (x, y)]; nothing where the value is no written tuple
std::optional<Expr> letTuple(Expr let);

// reduce(z, f, xs)  ->  the same by `lanes` accumulators that take turns, put together at the end, then the rest: the
// lanes of vectors where functions of scalars make accumulators and elements, else an array of accumulators.
Expr laneReduction(const Accumulation& accumulation, Expr init, Expr f, Expr in, Nat lanes);
// The same by lanes of vectors only, which `loop` (reduce, reduceSeq) reduces; nothing where there are none.
std::optional<Expr> vectorReduction(const Accumulation& accumulation, Expr init, Expr f, Expr in, Nat lanes, Prim loop);

// map(f, xs)  ->  asScalar(map(g, vss)): vss holds as vectors of so many lanes what the elements hold (scalars,
// windows, tuples), and g is f on vectors: operations lane by lane, reductions with vectors as accumulators, iterations
// that end early as long as a lane goes on. What f gives is put together again component by component. Nothing where
// lanes would index with values of their own, or branches or steps may fail, or where f is no functional term.
std::optional<Expr> mapInLanes(Expr map, Nat lanes);

// if c then a else b  ->  select(c, a, b), of scalars and tuples of them; both are computed, so what may fail in one
// takes element 0, or divides by 1, where it is not chosen. Likewise c && d -> select(c, d, false) and
// c || d -> select(c, true, d).
std::optional<Expr> ifAsSelect(Expr conditional);
std::optional<Expr> andAsSelect(Expr conjunction);
std::optional<Expr> orAsSelect(Expr disjunction);

// Every element of an array reduced by those of the input that belong to it, written as a comparison of each with every
// index, becomes one update for each element of the input:
//   map(fun b => reduce(z, fun (acc, x) => if b == k(x) then f(acc, x) else acc, xs), indices(n))
//     ->  reduceByIndex(fill(n, z), f, map(fun x => (k(x), x), xs))
//   reduce(zs, fun (acc, x) => map(fun (a, b) => if b == k(x) then f(a, x) else a, zip(acc, indices(n))), xs)
//     ->  reduceByIndex(zs, f, map(fun x => (k(x), x), xs))
// The first also with acc + (if b == k(x) then v(x) else 0), and where the map goes on with what the reduction leaves.
std::optional<Expr> mapByKey(Expr map);
std::optional<Expr> reduceByKey(Expr reduction);

// A reduction of arrays element by element is one reduction for each element:
//   reduce(zs, fun (acc, x) => map(f, zip(acc, ys(x))), xs)
//     ->  map(fun (z, column) => reduce(z, f, column), zip(zs, transpose(map(ys, xs))))
std::optional<Expr> reduceElements(Expr reduction);

// The same where the arrays are computed by maps: each element is computed where it is reduced.
//   reduce(fill(n, z), fun (acc, x) => map(f, zip(acc, map(g(x), ys(x)))), xs)
//     ->  map(fun column => reduce(z, fun (acc, (x, y)) => f(acc, g(x)(y)), zip(xs, column)), transpose(map(ys, xs)))
std::optional<Expr> reduceElementsOfMaps(Expr reduction);

// The other way round, for columns that would each compute again what their rows share:
//   map(fun column => reduce(z, f, column), transpose(map(ys, xs)))
//     ->  reduce(fill(n, z), fun (acc, x) => map(f, zip(acc, ys(x))), xs)
std::optional<Expr> reduceRows(Expr map);

// A step that leaves all elements of its accumulator as they are where one value compares so with each of them asks
// that first, of the least or greatest of them, which is kept beside them:
//   reduce(zs, fun (acc, x) => map(fun j => if v(x) <= acc[j] then acc[j] else f(acc, x, j), indices(n)), xs)
//     ->  reduce((zs, least(zs)), fun ((acc, m), x) => if v(x) <= m then (acc, m) else
//           let y = map(fun j => …, indices(n)) in (y, least(y)), xs).0
std::optional<Expr> reduceUnlessKept(Expr reduction);

// generate(n, fun i => generate(k, fun j => e[xs[i + j]]))  ->  the same of slide(k, 1, xs)[i][j], with any factors,
// constants and dimensions; nothing where a place may be outside.
std::optional<Expr> windowsOfIndices(Expr generate);

// The same of if … then xs[i + j - 1] else v, where the condition holds just within the array: of pad(…, v, xs).
std::optional<Expr> paddingOfIndices(Expr generate);

// generate(n, fun i => e[xs[max(i - 1, 0)]])  ->  the same of padClamp(1, 0, xs)[i]; also where indices wrap around or
// turn back at the ends, by minima, remainders or conditions, in any dimension.
std::optional<Expr> bordersOfIndices(Expr generate);

// generate(n, fun i => e[xs[i], xs[i + 2]])  ->  the same of w[0] and w[2], where w is slide(3, 1, xs)[i]; with any
// factors and dimensions, of loops in one another.
std::optional<Expr> windowsBesideIndices(Expr generate);

// generate(n * m, fun t => f(t / m, t % m))  ->  join(generate(n, fun a => generate(m, fun b => f(a, b)))), also where
// multiples of m divide t.
std::optional<Expr> digitsOfIndices(Expr generate);
std::optional<Expr> digitsOfReduced(Expr reduce);

// reduceByIndex(zs, fun (z, v) => g(v), xs)  ->  map(fun (z, k) => if k < 0 then z else g(xs[k].1), zip(zs, last)),
// where last has the greatest k for each index:
//   reduceByIndex(fill(n, -1), max, zip(map(fun x => x.0, xs), generate(m, fun k => k)))
std::optional<Expr> lastByIndex(Expr reduction);

// reduceByIndex(zs, fun (z, x) => map(g(x), z), xs), of rows  ->  split(d, reduceByIndex(join(zs), …, join(pairs)))
// by their elements: pairs has one for each pair and element of a row.
std::optional<Expr> reduceRowsByIndex(Expr reduction);

// map(fun x => reduceByIndex(zs(x), f, ys(x)), xs)  ->  split(n, reduceByIndex(join(map(zs, xs)), f, join(pairs)))
// whose pairs have indices in the joined arrays; also below layouts.
std::optional<Expr> reduceEachByIndex(Expr map);

// reduceByIndex(zs, f, xs)  ->  map(fun (z, column) => reduce(z, combine, column),
//   zip(zs, transpose(map(fun chunk => reduceByIndex(starts, f, chunk), split(c, xs')))))
// where xs = xs' ++ rest, the rest being shorter than a chunk; it is reduced by index too, and combined last.
std::optional<Expr> reduceByIndexInChunks(Expr reduction, Nat chunk);

}  // namespace lift::rewrite::detail
