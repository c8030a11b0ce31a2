// Transformations of terms that keep their meaning. Each is a rule: it says nothing of when it pays (cost.hpp does, and
// the default mapping decides).
#pragma once

#include <functional>
#include <vector>

#include "accumulation.hpp"
#include "lift/expr.hpp"

namespace lift::detail {

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

// reduce(z, f, xs)  ->  the same by `lanes` accumulators that take turns, put together at the end, then the rest
Expr laneReduction(const Accumulation& accumulation, Expr init, Expr f, Expr in, int lanes);

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

}  // namespace lift::detail
