// Rules about what is computed: simplification, maps, reductions.
#include "tables.hpp"

namespace lift::rewrite::detail {

std::vector<RuleRow> simplificationRules() {
  return {
      {"mapIdentity", "map(fun x => x, xs) => xs", "functor law"},
      {"idAway", "id(x) => x", "identity"},
      {"transposeTwice", "transpose(transpose(xs)) => xs", "lift-conv §4"},
      {"joinSplit", "join(split(k, xs)) => xs", "lift-conv §4"},
      {"splitJoin", "split(k, join((xs: [n][k]t))) => xs", "lift-conv §4"},
      {"asScalarAsVector", "asScalar(asVector(k, xs)) => xs", "lift-conv §4"},
      {"asVectorAsScalar", "asVector(k, asScalar((xs: [n]<k>t))) => xs", "lift-conv §4"},
      {"reverseTwice", "reorder(reverse, reorder(reverse, xs)) => xs", "inverse"},
      {"unstrideStride", "reorder(unstride(s), reorder(stride(s), xs)) => xs", "inverse"},
      {"strideUnstride", "reorder(stride(s), reorder(unstride(s), xs)) => xs", "inverse"},
      {"unzipZip", "unzip(zip(xs, ys)) => (xs, ys)", "inverse"},
      {"mapFirst", "map(fun (x, y) => x, zip(xs, ys)) => xs", "projection"},
      {"mapSecond", "map(fun (x, y) => y, zip(xs, ys)) => ys", "projection"},
      {"mapOfFirst", "map(fun (x, y) => f(x), zip(xs, ys)) => map(f, xs)", "projection"},
      {"mapOfSecond", "map(fun (x, y) => f(y), zip(xs, ys)) => map(f, ys)", "projection"},
      {"mapOfLastTwo", "map(fun (x, y, z) => f((y, z)), zip(xs, ys, zs)) => map(fun (y, z) => f((y, z)), zip(ys, zs))",
       "projection"},
      {"letInline", "let(f, x) => f(x)", "beta", When::inlines},
  };
}

std::vector<RuleRow> algorithmicRules() {
  return {
      {"mapFusion", "map(g, map(f, xs)) => map(fun x => let(g, f(x)), xs)", "functor law"},
      {"mapFusionMoves", "map(g, map(f, xs)) => map(fun x => g(f(x)), xs)", "functor law", When::moves},
      {"mapSplit", "map(f, xs) => join(map(fun ys => map(f, ys), split(k, xs)))", "lift-conv §3.4"},
      {"mapInterchange",
       "map(fun x => map(fun y => f((x, y)), ys), xs) => transpose(map(fun y => map(fun x => f((x, y)), xs), ys))",
       "lift-conv §4"},
      {"mapFlatten",
       "map(fun x => map(fun y => f((x, y)), (ys(x): [m]t)), xs) => "
       "split(m, map(fun (x, y) => f((x, y)), join(map(fun x => map(fun y => (x, y), ys(x)), xs))))",
       "product of index spaces"},
  };
}

std::vector<RuleRow> reductionRules() {
  return {
      {"reduceJoin", "reduce(i, f, join(xss)) => reduce(i, fun (acc, xs) => reduce(acc, f, xs), xss)", "fold of folds"},
      {"reduceSplit", "reduce(i, f, xs) => reduce(i, fun (acc, ys) => reduce(acc, f, ys), split(k, xs))",
       "fold of folds"},
      {"reduceMap", "reduce(i, g, map(f, xs)) => reduce(i, fun (acc, x) => g((acc, f(x))), xs)", "fold fusion",
       When::moves},
      {"reduceTransposed", "reduce(i, f, join(xss)) => reduce(i, f, join(transpose(xss)))", "lift-conv §4.2",
       When::accumulates},
      {"reduceInnerFirst",
       "reduce(i, f, zip(join((xss: [n][m]t)), join((yss: [n][m]u)))) => reduce(i, f, "
       "zip(join(join(transpose(map(fun xs => split(k, xs), xss)))), "
       "join(join(transpose(map(fun ys => split(k, ys), yss))))))",
       "design of direct convolutions: blocks of the inner dimension outermost", When::accumulates},
      {"mapReduce",
       "map(fun x => reduce(i(x), f, xs(x)), ys) => "
       "reduce(map(i, ys), fun (accs, es) => map(f, zip(accs, es)), transpose(map(xs, ys)))",
       "lift-conv §4.2"},
      {"mapReduceZipRight",
       "map(fun x => reduce(i(x), fun (acc, (a, b)) => f((acc, a, b)), zip(as, bs(x))), xs) => "
       "reduce(map(i, xs), fun (accs, (a, bs)) => map(fun (acc, b) => f((acc, a, b)), zip(accs, bs)), "
       "zip(as, transpose(map(bs, xs))))",
       "lift-conv §4.2, reuse of inputs across kernels"},
      {"mapReduceZipLeft",
       "map(fun x => reduce(i(x), fun (acc, (a, b)) => f((acc, a, b)), zip(as(x), bs)), xs) => "
       "reduce(map(i, xs), fun (accs, (as, b)) => map(fun (acc, a) => f((acc, a, b)), zip(accs, as)), "
       "zip(transpose(map(as, xs)), bs))",
       "lift-conv §4.2, reuse of weights across windows"},
  };
}

}  // namespace lift::rewrite::detail
