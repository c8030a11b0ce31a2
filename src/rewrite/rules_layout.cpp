// Rules about where data is: layouts moved about, tiles, lanes.
#include "tables.hpp"

namespace lift::rewrite::detail {

std::vector<RuleRow> movementRules() {
  return {
      {"splitMap", "split(k, map(f, xs)) => map(fun ys => map(f, ys), split(k, xs))", "naturality"},
      {"joinMap", "join(map(fun ys => map(f, ys), xss)) => map(f, join(xss))", "naturality"},
      {"mapJoin", "map(f, join(xss)) => join(map(fun xs => map(f, xs), xss))", "naturality"},
      {"slideMap", "slide(n, s, map(f, xs)) => map(fun w => map(f, w), slide(n, s, xs))", "naturality"},
      {"transposeMapMap", "transpose(map(fun r => map(f, r), xss)) => map(fun c => map(f, c), transpose(xss))",
       "naturality"},
      {"transposeMapTranspose",
       "map(fun r => transpose(r), transpose(map(fun r => transpose(r), xsss))) => "
       "transpose(map(fun c => transpose(c), transpose(xsss)))",
       "braid of three dimensions"},
      {"mapTransposeOut", "map(fun x => transpose(f(x)), xs) => map(fun y => transpose(y), map(f, xs))", "functor law",
       When::computes},
      {"mapJoinOut", "map(fun x => join(f(x)), xs) => map(fun y => join(y), map(f, xs))", "functor law",
       When::computes},
      {"mapAsScalarOut", "map(fun x => asScalar(f(x)), xs) => map(fun y => asScalar(y), map(f, xs))", "functor law",
       When::computes},
      {"mapMapOut", "map(fun x => map(g, f(x)), xs) => map(fun y => map(g, y), map(f, xs))", "functor law",
       When::computes},
      {"transposeMapJoin",
       "transpose(map(fun x => join(f(x)), xs)) => join(map(fun p => transpose(p), transpose(map(f, xs))))",
       "naturality"},
      {"transposeMapSlide",
       "transpose(map(fun r => slide(n, s, r), xss)) => map(fun w => transpose(w), slide(n, s, transpose(xss)))",
       "naturality"},
      {"zipJoin",
       "zip(join((xss: [n][m]t)), join((yss: [n][m]u))) => join(map(fun (xs, ys) => zip(xs, ys), zip(xss, yss)))",
       "naturality"},
      {"zipMapLeft", "zip(map(f, xs), ys) => map(fun (x, y) => (f(x), y), zip(xs, ys))", "naturality"},
      {"zipMapRight", "zip(xs, map(f, ys)) => map(fun (x, y) => (x, f(y)), zip(xs, ys))", "naturality"},
      {"splitZip", "split(k, zip(xs, ys)) => map(fun (a, b) => zip(a, b), zip(split(k, xs), split(k, ys)))",
       "naturality"},
      {"joinJoin", "join(join(xsss)) => join(map(fun xss => join(xss), xsss))", "associativity"},
      {"joinMapJoin", "join(map(fun xss => join(xss), xsss)) => join(join(xsss))", "associativity"},
  };
}

std::vector<RuleRow> tilingRules() {
  return {
      {"splitSlide", "split(k, slide(n, s, xs)) => map(fun t => slide(n, s, t), slide((k - 1) * s + n, k * s, xs))",
       "lift-conv §3.4, overlapped tiling"},
      {"rowsInChunks", "join(xss) => join(join(map(fun xs => split(k, xs), xss)))", "inverse"},
  };
}

std::vector<RuleRow> vectorRules() {
  return {
      {"vectoriseMap", "map(f, xs) => asScalar(map(fun v => vectorize(w, f, v), asVector(w, xs)))", "lift-conv §4.3"},
      {"asVectorJoin", "asVector(w, join((xss: [n][m]t))) => join(map(fun xs => asVector(w, xs), xss))", "naturality"},
      {"vectoriseAccumulators",
       "reduce(i, fun (accs, (a, bs)) => map(fun (acc, b) => f((acc, a, b)), zip(accs, bs)), zip(as, bss)) => "
       "asScalar(reduce(asVector(w, i), fun (accs, (a, bs)) => "
       "map(fun (acc, b) => vectorize(w, fun (s, t) => f((s, a, t)), (acc, b)), zip(accs, bs)), "
       "zip(as, map(fun bs => asVector(w, bs), bss))))",
       "lift-conv §4.3, lanes over kernels"},
  };
}

std::vector<RuleRow> memoryRules() {
  return {
      {"precompute",
       "map(fun x => c((x, toGlobal(f(x)))), xs) => map(fun (x, y) => c((x, y)), zip(xs, toGlobal(map(f, xs))))",
       "one-time preparation of weights"},
      {"keepAhead", "x => toGlobal(x)", "identity"},
      {"copyMap", "xs => map(fun x => x, xs)", "functor law"},
      {"copyToPrivate", "map(f, xs) => map(fun x => let(f, toPrivate(id(x))), xs)", "lift-conv §4.2"},
      {"copyBlocked",
       "map(f, (xs: [n][w][h][c]t)) => map(fun x => let("
       "fun b => f(map(fun col => map(fun row => join(row), transpose(col)), transpose(map(fun p => transpose(p), "
       "b)))), "
       "toLocal(id(map(fun p => transpose(p), transpose(map(fun col => transpose(map(fun row => split(k, row), col)), "
       "x)))))), xs)",
       "layout of direct convolutions: blocks of channels outermost"},
      {"copyBlockedInVectors",
       "map(f, (xs: [n][w][h][c]t)) => map(fun x => let("
       "fun b => f(map(fun col => map(fun row => asScalar(join(row)), transpose(col)), "
       "transpose(map(fun p => transpose(p), b)))), "
       "toLocal(id(map(fun p => transpose(p), transpose(map(fun col => transpose(map(fun row => "
       "split(k, asVector(v, row)), col)), x)))))), xs)",
       "layout of direct convolutions: blocks of channels outermost"},
      {"copyToLocal", "map(f, xs) => map(fun x => let(f, toLocal(id(x))), xs)", "lift-conv §4.2"},
  };
}

std::vector<RuleRow> loweringRules() {
  return {
      {"mapToGlobal0", "map(f, xs) => mapGlb(0, f, xs)", "lift-conv §3.2"},
      {"mapToGlobal1", "map(f, xs) => mapGlb(1, f, xs)", "lift-conv §3.2"},
      {"mapToGlobal2", "map(f, xs) => mapGlb(2, f, xs)", "lift-conv §3.2"},
      {"mapToGroups0", "map(f, xs) => mapWrg(0, f, xs)", "lift-conv §3.2"},
      {"mapToGroups1", "map(f, xs) => mapWrg(1, f, xs)", "lift-conv §3.2"},
      {"mapToGroups2", "map(f, xs) => mapWrg(2, f, xs)", "lift-conv §3.2"},
      {"mapToItems0", "map(f, xs) => mapLcl(0, f, xs)", "lift-conv §3.2"},
      {"mapToItems1", "map(f, xs) => mapLcl(1, f, xs)", "lift-conv §3.2"},
      {"mapToItems2", "map(f, xs) => mapLcl(2, f, xs)", "lift-conv §3.2"},
      {"mapToLoop", "map(f, xs) => mapSeq(f, xs)", "lift-conv §3.2"},
      {"mapToUnrolled", "map(f, xs) => mapSeqUnroll(u, f, xs)", "lift-conv §3.2"},
      {"reduceToLoop", "reduce(i, f, xs) => reduceSeq(i, f, xs)", "lift-conv §3.2"},
      {"reduceToUnrolled", "reduce(i, f, xs) => reduceSeqUnroll(u, i, f, xs)", "lift-conv §3.2"},
  };
}

}  // namespace lift::rewrite::detail
