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
      {"mapFirst", "map(fun (x, y) => x, zip(xs, ys)) => xs", "projection"},
      {"mapSecond", "map(fun (x, y) => y, zip(xs, ys)) => ys", "projection"},
      {"mapOfFirst", "map(fun (x, y) => f(x), zip(xs, ys)) => map(f, xs)", "projection"},
      {"mapOfSecond", "map(fun (x, y) => f(y), zip(xs, ys)) => map(f, ys)", "projection"},
      {"reduceOfSecond",
       "reduce(i, fun (acc, (x, y)) => f((acc, y)), zip(xs, ys)) => reduce(i, fun (acc, y) => f((acc, y)), ys)",
       "projection"},
      {"mapOfLastTwo", "map(fun (x, y, z) => f((y, z)), zip(xs, ys, zs)) => map(fun (y, z) => f((y, z)), zip(ys, zs))",
       "projection"},
      {"mapOfNestedEnds",
       "map(fun ((x, y), z) => f((x, z)), zip(zip(xs, ys), zs)) => map(fun (x, z) => f((x, z)), zip(xs, zs))",
       "projection"},
      {"mapOfNestedLast",
       "map(fun ((x, y), z) => f((y, z)), zip(zip(xs, ys), zs)) => map(fun (y, z) => f((y, z)), zip(ys, zs))",
       "projection"},
      {"letInline", "let(f, x) => f(x)", "beta", When::inlines},
  };
}

std::vector<RuleRow> algorithmicRules() {
  return {
      {"mapFusion", "map(g, map(f, xs)) => map(fun x => let(g, f(x)), xs)", "functor law"},
      {"elementOfMap", "map(f, (xs: [n]t))[i] => let(f, xs[i])", "functor law, of one element"},
      {"mapFusionMoves", "map(g, map(f, xs)) => map(fun x => g(f(x)), xs)", "functor law", When::moves},
      {"mapOfIndices", "map(f, generate(n, fun i => i)) => generate(n, f)", "functor law"},
      {"mapSplit", "map(f, xs) => join(map(fun ys => map(f, ys), split(k, xs)))", "lift-conv §3.4"},
      {"mapInterchange",
       "map(fun x => map(fun y => f((x, y)), ys), xs) => transpose(map(fun y => map(fun x => f((x, y)), xs), ys))",
       "lift-conv §4"},
      {"mapIterate",
       "map(fun x => iterate(k, fun s => f((x, s)), i(x)), xs) => "
       "iterate(k, fun ss => map(fun (x, s) => f((x, s)), zip(xs, ss)), map(fun x => i(x), xs))",
       "all elements step by step"},
      {"mapFlatten",
       "map(fun x => map(fun y => f((x, y)), (ys(x): [m]t)), xs) => "
       "split(m, map(fun (x, y) => f((x, y)), join(map(fun x => map(fun y => (x, y), ys(x)), xs))))",
       "product of index spaces"},
      {"mapFlattenInner", "map(fun x => map(f, (ys(x): [m]t)), xs) => split(m, map(f, join(map(fun x => ys(x), xs))))",
       "product of index spaces"},
      {"mapPeel", "map(f, xs) => concat(map(f, take(k, xs)), map(f, drop(k, xs)))", "peeling"},
      {"mapFission", "map(fun x => let(g, f(x)), xs) => map(g, map(f, xs))", "functor law, ICFP 2015 (Steuwer et al.)"},
      {"mapConstant", "map(fun x => v, (xs: [n]t)) => generate(n, fun i => v)", "functor law"},
      {"generateAsMap", "generate(n, f) => map(f, generate(n, fun i => i))", "functor law"},
      {"inOneGroup", "(x: t) => map(fun i => x, generate(1, fun i => i))[0]", "functor law, of the only element"},
      {"letValue", "x => let(fun y => y, x)", "beta, from right to left"},
      {"mapLet", "map(f, let(g, x)) => let(fun y => map(f, g(y)), x)", "let floats out"},
      {"letUnfold", "let(f, x) => f(x)", "beta"},
      {"joinMap", "join(map(fun x => map(f, (g(x): [m]t)), xs)) => map(f, join(map(fun x => g(x), xs)))", "naturality"},
      {"mapJoinFlat", "map(fun xs => map(f, xs), xss) => split(m, map(f, join((xss: [n][m]t))))", "naturality"},
  };
}

std::vector<RuleRow> reductionRules() {
  return {
      {"reduceJoin", "reduce(i, f, join(xss)) => reduce(i, fun (acc, xs) => reduce(acc, f, xs), xss)", "fold of folds"},
      {"reduceSplit", "reduce(i, f, xs) => reduce(i, fun (acc, ys) => reduce(acc, f, ys), split(k, xs))",
       "fold of folds"},
      {"reduceExchanged", "reduce(i, f, zip(xs, ys)) => reduce(i, fun (acc, (y, x)) => f((acc, (x, y))), zip(ys, xs))",
       "zip of the same the other way around"},
      {"reduceFlatten",
       "reduce(i, fun (acc, x) => reduce(acc, f, (g(x): [m]t)), xs) => reduce(i, f, join(map(fun x => g(x), xs)))",
       "fold of folds, backwards"},
      {"reduceMap", "reduce(i, g, map(f, xs)) => reduce(i, fun (acc, x) => g((acc, f(x))), xs)", "fold fusion",
       When::moves},
      {"reduceInnerFirst",
       "reduce(i, f, zip(join((xss: [n][m]t)), join((yss: [n][m]u)))) => reduce(i, f, "
       "zip(join(join(transpose(map(fun xs => split(k, xs), xss)))), "
       "join(join(transpose(map(fun ys => split(k, ys), yss))))))",
       "design of direct convolutions: blocks of the inner dimension outermost", When::accumulates},
      {"reduceInnerFirstInRows",
       "reduce(i, f, zip(join(join((xsss: [n][l][m]t))), join(join((ysss: [n][l][m]u))))) => reduce(i, f, "
       "zip(join(join(transpose(map(fun xss => map(fun xs => join(xs), transpose(map(fun xs => split(k, xs), xss))), "
       "xsss)))), join(join(transpose(map(fun yss => map(fun ys => join(ys), transpose(map(fun ys => split(k, ys), "
       "yss))), ysss))))))",
       "design of direct convolutions: blocks of the inner dimension outermost, a window's rows of a block together",
       When::accumulates},
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
      {"mapReduceFission",
       "map(fun x => c((x, reduce(i(x), f, xs(x)))), ys) => "
       "map(fun (x, r) => c((x, r)), zip(ys, map(fun x => reduce(i(x), f, xs(x)), ys)))",
       "functor law: what is done with a reduction, apart"},
      {"reduceMapFusion", "reduce(i, f, map(g, xs)) => reduce(i, fun (acc, x) => let(fun y => f((acc, y)), g(x)), xs)",
       "fold fusion, ICFP 2015"},
  };
}

}  // namespace lift::rewrite::detail
