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
      {"mapOfNestedEnds",
       "map(fun ((x, y), z) => f((x, z)), zip(zip(xs, ys), zs)) => map(fun (x, z) => f((x, z)), zip(xs, zs))",
       "projection"},
      {"mapOfNestedLast",
       "map(fun ((x, y), z) => f((y, z)), zip(zip(xs, ys), zs)) => map(fun (y, z) => f((y, z)), zip(ys, zs))",
       "projection"},
      {"letInline", "let(f, x) => f(x)", "beta", When::inlines},
      {"zipUnzip", "zip(unzip((xs: [n](t, u))).0, unzip(xs).1) => xs", "inverse"},
      {"generateAt", "generate(n, fun i => (xs: [n]t)[i]) => xs", "extensionality"},
      {"takeAll", "take(n, (xs: [n]t)) => xs", "identity"},
      {"takeTake", "take(n, take(m, xs)) => take(n, xs)", "composition of prefixes"},
      {"takeOfPadded", "take(n, padClamp(0, k, (xs: [n]t))) => xs", "inverse"},
      {"takeOfFirst", "take(n, concat((xs: [n]t), ys)) => xs", "projection"},
      {"dropDrop", "drop(n, drop(m, xs)) => drop(n + m, xs)", "composition of suffixes"},
      {"dropFirst", "drop(n, concat((xs: [n]t), ys)) => ys", "projection"},
      {"concatTakeDrop", "concat(take(n, xs), drop(n, xs)) => xs", "inverse"},
      {"padPad", "pad(a, b, v, pad(l, r, v, xs)) => pad(a + l, b + r, v, xs)", "composition of paddings"},
      {"padClampTwice", "padClamp(a, b, padClamp(l, r, xs)) => padClamp(a + l, b + r, xs)", "composition of paddings"},
      {"shiftShift", "reorder(shift(a), reorder(shift(b), xs)) => reorder(shift(a + b), xs)", "rotations add up"},
      {"slideTouching", "slide(n, n, xs) => split(n, xs)", "windows that touch are chunks", When::always},
      {"slideStrictAway", "slideStrict(n, s, xs) => slide(n, s, xs)", "both drop nothing"},
      {"iterateOnce", "iterate(1, f, x) => f(x)", "unfolding"},
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
      {"mapFission", "map(fun x => let(g, f(x)), xs) => map(g, map(f, xs))", "functor law, ICFP 2015 (Steuwer et al.)"},
      {"mapPairFission", "map(fun x => (f(x), g(x)), xs) => zip(map(f, xs), map(g, xs))", "maps tupled"},
      {"zipOfMaps", "zip(map(f, xs), map(g, ys)) => map(fun (x, y) => (f(x), g(y)), zip(xs, ys))", "naturality"},
      {"zipSwap", "zip(xs, ys) => map(fun (y, x) => (x, y), zip(ys, xs))", "symmetry of products"},
      {"zipNested", "zip(xs, zip(ys, zs)) => map(fun (x, y, z) => (x, (y, z)), zip(xs, ys, zs))",
       "associativity of products"},
      {"mapConstant", "map(fun x => v, (xs: [n]t)) => generate(n, fun i => v)", "functor law"},
      {"generateAsMap", "generate(n, f) => map(f, generate(n, fun i => i))", "functor law"},
      {"mapGenerate", "map(f, generate(n, g)) => generate(n, fun i => let(f, g(i)))", "deforestation"},
      {"mapLet", "map(f, let(g, x)) => let(fun y => map(f, g(y)), x)", "let floats out"},
      {"letUnfold", "let(f, x) => f(x)", "beta"},
      {"letLet", "let(g, let(f, x)) => let(fun y => let(g, f(y)), x)", "let floats out"},
      {"letInvariant", "map(fun x => let(fun y => f((x, y)), e), xs) => let(fun y => map(fun x => f((x, y)), xs), e)",
       "code motion out of loops"},
      {"mapPeel", "map(f, xs) => concat(map(f, take(k, xs)), map(f, drop(k, xs)))", "peeling"},
      {"mapStrided", "map(f, xs) => reorder(unstride(s), map(f, reorder(stride(s), xs)))",
       "lift-conv §4.1, coalescing"},
      {"mapJoinFlat", "map(fun xs => map(f, xs), xss) => split(m, map(f, join((xss: [n][m]t))))", "naturality"},
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
      {"mapReduceFission",
       "map(fun x => c((x, reduce(i(x), f, xs(x)))), ys) => "
       "map(fun (x, r) => c((x, r)), zip(ys, map(fun x => reduce(i(x), f, xs(x)), ys)))",
       "functor law: what is done with a reduction, apart"},
      {"reduceMapFusion", "reduce(i, f, map(g, xs)) => reduce(i, fun (acc, x) => let(fun y => f((acc, y)), g(x)), xs)",
       "fold fusion, ICFP 2015"},
      {"reduceMapFission", "reduce(i, fun (acc, x) => let(fun y => f((acc, y)), g(x)), xs) => reduce(i, f, map(g, xs))",
       "fold fusion, backwards"},
      {"joinReduce", "reduce(i, fun (acc, xs) => reduce(acc, f, xs), xss) => reduce(i, f, join(xss))",
       "fold of folds, backwards"},
      {"reduceInterchange",
       "reduce(i, fun (acc, xs) => reduce(acc, f, xs), xss) => "
       "reduce(i, fun (acc, xs) => reduce(acc, f, xs), transpose(xss))",
       "loop interchange", When::accumulates},
      {"reducePeel", "reduce(i, f, xs) => reduce(reduce(i, f, take(k, xs)), f, drop(k, xs))", "peeling"},
      {"reduceConcat", "reduce(i, f, concat(xs, ys)) => reduce(reduce(i, f, xs), f, ys)", "fold of a concatenation"},
      {"reduceTogether",
       "(reduce(i, f, xs), reduce(j, g, xs)) => reduce((i, j), fun ((a, b), x) => (f((a, x)), g((b, x))), xs)",
       "banana split"},
      {"scanMap", "scan(i, f, map(g, xs)) => scan(i, fun (acc, x) => let(fun y => f((acc, y)), g(x)), xs)",
       "fold fusion"},
  };
}

}  // namespace lift::rewrite::detail
