// Transformations of terms that keep their meaning. Each is a rule: it says nothing of when it pays (cost.hpp does, and
// the default mapping decides).
#pragma once

#include <functional>
#include <vector>

#include "accumulation.hpp"
#include "lift/expr.hpp"

namespace lift::detail {

// A rule by its name in the table of transform.cpp, and the equation as steps of derivations show it. Throws
// InternalError for a name that is not there.
std::string_view equationOf(std::string_view rule);

// let y = v in e  ->  e[y := v]                      where v only rearranges
// let p = (v, w) in e  ->  let x = v in let y = w in e[p := (x, y)]
Expr namesOfValuesOnly(Expr e);

// generate(n, f)  ->  map(f, generate(n, id)): the maps of a nest are all maps
Expr generatesAsMaps(Expr e);

// map(fun x => … map(fun y => … v …) …)  ->  map(fun x => let t = v in … map(fun y => … t …) …)
// where v does not depend on y, and `pays` says so; the same for other loops inside of a lambda. What an `if` guards
// stays there unless it is total.
Expr loopInvariants(Expr e, const std::function<bool(Expr)>& pays);

// reduce(z, f, xs)  ->  reduce(reduce(z, combine, map(fun chunk => reduce(start, f, chunk), split(c, xs'))), f, rest)
// where xs = xs' ++ rest, the rest being shorter than a chunk.
struct PartialReduction {
  Expr partials;                    // what the chunks leave
  std::function<Expr(Expr)> whole;  // the reduction, given the partials or where they are kept
};
PartialReduction partialReduction(const Accumulation& accumulation, Expr init, Expr f, Expr in, Nat chunk);

// scan(z, f, xs)  ->  join(map(fun (offset, chunk) => scan(offset, f, chunk), zip(offsets, split(c, xs')))) ++ rest
// where xs = xs' ++ …, offsets = scanExclusive(z, combine, totals), totals = map(fun chunk => reduce(start, f, chunk),
// split(c, xs')); the same for scanExclusive.
struct PartialScan {
  Expr totals;                            // of the chunks
  std::function<Expr(Expr)> offsets;      // what stands before each chunk, given the totals
  std::function<Expr(Expr, Expr)> whole;  // the scan, given totals and offsets
};
PartialScan partialScan(const Accumulation& accumulation, const Spine& scan, Nat chunk);

// reduce(z, f, xs)  ->  the same by `lanes` accumulators that take turns, put together at the end, then the rest
Expr laneReduction(const Accumulation& accumulation, Expr init, Expr f, Expr in, int lanes);

// Every element of an array reduced by those of the input that belong to it, written as a comparison of each with every
// index, becomes one update for each element of the input:
//   map(fun b => reduce(z, fun (acc, x) => if b == k(x) then f(acc, x) else acc, xs), indices(n))
//     ->  reduceByIndex(fill(n, z), f, map(fun x => (k(x), x), xs))
//   reduce(zs, fun (acc, x) => map(fun (a, b) => if b == k(x) then f(a, x) else a, zip(acc, indices(n))), xs)
//     ->  reduceByIndex(zs, f, map(fun x => (k(x), x), xs))
// The first also with acc + (if b == k(x) then v(x) else 0), and where the map goes on with what the reduction leaves.
Expr reductionsByIndex(Expr e);

// A reduction of arrays element by element is one reduction for each element:
//   reduce(zs, fun (acc, x) => map(f, zip(acc, ys(x))), xs)
//     ->  map(fun (z, column) => reduce(z, f, column), zip(zs, transpose(map(ys, xs))))
// where there are too many elements for registers.
Expr reductionsOfElements(Expr e);

// The other way round, where few columns would each compute again what their rows share:
//   map(fun column => reduce(z, f, column), transpose(map(ys, xs)))
//     ->  reduce(fill(n, z), fun (acc, x) => map(f, zip(acc, ys(x))), xs)
// inside of a map, whose elements go to different work-items.
Expr reductionsOfRows(Expr e);

// reduceByIndex(zs, f, xs)  ->  map(fun (z, column) => reduce(z, combine, column),
//   zip(zs, transpose(map(fun chunk => reduceByIndex(starts, f, chunk), split(c, xs')))))
// where xs = xs' ++ rest, the rest being shorter than a chunk; it is reduced by index too, and combined last.
struct PartialByIndex {
  Expr partials;                                                // what the chunks leave
  std::optional<Expr> rest;                                     // what the rest leaves
  std::function<Expr(Expr, const std::optional<Expr>&)> whole;  // the reduction, given both or where they are kept
};
// `combine` and `start` are of an element z.
PartialByIndex partialByIndex(const Accumulation& accumulation, Expr z, const Spine& reduction, Nat chunk);

// A map, or maps inside of each other with layouts between them.
//   map(fun x => e[v], xs)  ->  map(fun (x, t) => e[t], zip(xs, map(fun x => v, xs)))
// `levels` of maps, v being in the innermost.
struct Fission {
  Expr values;                     // the nest of v alone
  std::function<Expr(Expr)> rest;  // the nest, given the values or where they are kept
};
Fission fission(Expr nest, int levels, Expr value);

// The part of a map's body that is below invertible layouts.
Expr underLayouts(Expr e);

// f(let x = v in e)  ->  let x = v in f(e), also where f is another let; what an `if`, && or || guards stays there.
Expr flatNames(Expr e);
// The names that a term begins with, and the term below them.
struct Names {
  std::vector<std::pair<Expr, Expr>> bound;  // variable and value
  Expr body;
};
Names namesOf(Expr e);

}  // namespace lift::detail
