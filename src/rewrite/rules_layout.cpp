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
      {"transposeMapSplit",
       "transpose(map(fun r => split(k, r), xss)) => map(fun b => transpose(b), split(k, transpose(xss)))",
       "naturality"},
      {"splitTranspose",
       "split(k, transpose(xss)) => map(fun b => transpose(b), transpose(map(fun r => split(k, r), xss)))",
       "naturality"},
      {"slideTranspose",
       "slide(n, s, transpose(xss)) => map(fun w => transpose(w), transpose(map(fun r => slide(n, s, r), xss)))",
       "naturality"},
      {"transposeJoin", "transpose(join(xsss)) => map(fun p => join(p), transpose(map(fun b => transpose(b), xsss)))",
       "naturality"},
      {"transposeZip",
       "transpose(map(fun (xs, ys) => zip(xs, ys), zip(xss, yss))) => "
       "map(fun (xs, ys) => zip(xs, ys), zip(transpose(xss), transpose(yss)))",
       "naturality"},
      {"slideZip", "slide(n, s, zip(xs, ys)) => map(fun (a, b) => zip(a, b), zip(slide(n, s, xs), slide(n, s, ys)))",
       "naturality"},
      {"reverseMap", "reorder(reverse, map(f, xs)) => map(f, reorder(reverse, xs))", "naturality"},
      {"strideMap", "reorder(stride(s), map(f, xs)) => map(f, reorder(stride(s), xs))", "naturality"},
      {"unstrideMap", "reorder(unstride(s), map(f, xs)) => map(f, reorder(unstride(s), xs))", "naturality"},
      {"takeMap", "take(n, map(f, xs)) => map(f, take(n, xs))", "naturality"},
      {"dropMap", "drop(n, map(f, xs)) => map(f, drop(n, xs))", "naturality"},
      {"mapConcat", "map(f, concat(xs, ys)) => concat(map(f, xs), map(f, ys))", "naturality"},
      {"concatMaps", "concat(map(f, xs), map(f, ys)) => map(f, concat(xs, ys))", "naturality"},
      {"mapPad", "map(f, pad(l, r, v, xs)) => pad(l, r, f(v), map(f, xs))", "naturality"},
      {"padClampMap", "padClamp(l, r, map(f, xs)) => map(f, padClamp(l, r, xs))", "naturality"},
      {"padMirrorMap", "padMirror(l, r, map(f, xs)) => map(f, padMirror(l, r, xs))", "naturality"},
      {"padWrapMap", "padWrap(l, r, map(f, xs)) => map(f, padWrap(l, r, xs))", "naturality"},
      {"transposePadClamp", "transpose(map(fun r => padClamp(a, b, r), xss)) => padClamp(a, b, transpose(xss))",
       "naturality"},
      {"takeSlide", "take(k, slide(n, s, xs)) => slide(n, s, take((k - 1) * s + n, xs))", "windows of a prefix"},
      {"dropSlide", "drop(k, slide(n, s, xs)) => slide(n, s, drop(k * s, xs))", "windows of a suffix"},
      {"strideAsTranspose", "reorder(stride(s), xs) => join(transpose(split(s, xs)))", "lift-conv §3.3"},
      {"transposeAsStride", "join(transpose(split(s, xs))) => reorder(stride(s), xs)", "lift-conv §3.3"},
      {"gatherMap", "map(f, xs)[i] => f(xs[i])", "naturality"},
      {"gatherGenerate", "generate(n, f)[i] => f(i)", "beta"},
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
      {"vectoriseAccumulatorsLeft",
       "reduce(i, fun (accs, (as, b)) => map(fun (acc, a) => f((acc, a, b)), zip(accs, as)), zip(ass, bs)) => "
       "asScalar(reduce(asVector(w, i), fun (accs, (as, b)) => "
       "map(fun (acc, a) => vectorize(w, fun (s, t) => f((s, t, b)), (acc, a)), zip(accs, as)), "
       "zip(map(fun as => asVector(w, as), ass), bs)))",
       "lift-conv §4.3, lanes over windows"},
      {"vectoriseSums",
       "reduce(i, fun (accs, es) => map(fun (acc, e) => f((acc, e)), zip(accs, es)), ess) => "
       "asScalar(reduce(asVector(w, i), fun (accs, es) => "
       "map(fun (acc, e) => vectorize(w, fun (s, t) => f((s, t)), (acc, e)), zip(accs, es)), "
       "map(fun es => asVector(w, es), ess)))",
       "lift-conv §4.3, lanes over results"},
      {"asVectorMap", "asVector(w, map(f, xs)) => map(fun v => vectorize(w, f, v), asVector(w, xs))", "naturality"},
      {"mapAsScalar", "map(f, asScalar((vs: [n]<w>t))) => asScalar(map(fun v => vectorize(w, f, v), vs))",
       "naturality"},
      {"joinAsScalar", "join(map(fun vs => asScalar(vs), vss)) => asScalar(join(vss))", "naturality"},
      {"vectoriseZip",
       "map(fun (x, y) => f((x, y)), zip(xs, ys)) => "
       "asScalar(map(fun (v, u) => vectorize(w, fun (x, y) => f((x, y)), (v, u)), zip(asVector(w, xs), asVector(w, "
       "ys))))",
       "lift-conv §4.3"},
      {"laneSums",
       "reduce((i: f32), fun (acc, x) => acc + f(x), xs) => i + dot(splat(w, 1.0), "
       "reduce(splat(w, 0.0), fun (acc, v) => acc + vectorize(w, f, v), asVector(w, xs)))",
       "partial sums in lanes", When::rounds},
  };
}

std::vector<RuleRow> memoryRules() {
  return {
      {"precompute",
       "map(fun x => c((x, toGlobal(f(x)))), xs) => map(fun (x, y) => c((x, y)), zip(xs, toGlobal(map(f, xs))))",
       "one-time preparation of weights"},
      {"keepAhead", "x => toGlobal(x)", "identity"},
      {"keepNot", "toGlobal(x) => x", "identity"},
      {"keepMoved", "f(toGlobal(x)) => toGlobal(f(x))", "what is kept laid out as it is read", When::moves},
      {"keepNear", "toGlobal(x) => toLocal(x)", "what one group computes and reads"},
      {"keptMap", "toGlobal(map(f, xs)) => map(f, toGlobal(xs))", "what is kept laid out as it is computed",
       When::moves},
      {"keptJoin", "toGlobal(join(xs)) => join(toGlobal(xs))", "what is kept laid out as it is computed"},
      {"keptSplit", "toGlobal(split(n, xs)) => split(n, toGlobal(xs))", "what is kept laid out as it is computed"},
      {"keptTranspose", "toGlobal(transpose(xs)) => transpose(toGlobal(xs))",
       "what is kept laid out as it is computed"},
      {"copyMap", "xs => map(fun x => x, xs)", "functor law"},
      {"copyToPrivate", "map(f, xs) => map(fun x => let(f, toPrivate(id(x))), xs)", "lift-conv §4.2"},
      {"copyBlocked",
       "map(f, (xs: [n][w][h][c]t)) => map(fun x => let("
       "fun b => f(map(fun col => map(fun row => join(row), transpose(col)), transpose(map(fun p => transpose(p), "
       "b)))), "
       "toLocal(transpose(map(fun row => transpose(row), "
       "id(map(fun row => map(fun p => split(k, p), row), transpose(x))))))), xs)",
       "layout of direct convolutions: blocks of channels outermost"},
      {"copyBlockedInVectors",
       "map(f, (xs: [n][w][h][c]t)) => map(fun x => let("
       "fun b => f(map(fun col => map(fun row => asScalar(join(row)), transpose(col)), "
       "transpose(map(fun p => transpose(p), b)))), "
       "toLocal(transpose(map(fun row => transpose(row), "
       "id(map(fun row => map(fun p => split(k, asVector(v, p)), row), transpose(x))))))), xs)",
       "layout of direct convolutions: blocks of channels outermost"},
      {"copyToLocal", "map(f, xs) => map(fun x => let(f, toLocal(id(x))), xs)", "lift-conv §4.2"},
      {"letToPrivate", "let(f, x) => let(f, toPrivate(x))", "lift-conv §4.2"},
      {"letToLocal", "let(f, x) => let(f, toLocal(x))", "lift-conv §4.2"},
      {"letToGlobal", "let(f, x) => let(f, toGlobal(x))", "lift-conv §4.2"},
      {"mapToGlobalMemory", "map(f, xs) => toGlobal(map(f, xs))", "a kernel of its own"},
      {"mapToLocalMemory", "map(f, xs) => toLocal(map(f, xs))", "lift-conv §4.2"},
      {"mapToPrivateMemory", "map(f, xs) => toPrivate(map(f, xs))", "lift-conv §4.2"},
      {"reduceToPrivateMemory", "reduce(i, f, xs) => toPrivate(reduce(i, f, xs))", "lift-conv §4.2"},
      {"shareArray", "map(f, xs) => let(fun ys => map(f, ys), xs)", "let"},
      {"copyArrayToLocal", "map(f, xs) => let(fun ys => map(f, ys), toLocal(map(fun x => id(x), xs)))",
       "lift-conv §4.2, reuse across work-items"},
      {"copyArrayToPrivate", "map(f, xs) => let(fun ys => map(f, ys), toPrivate(map(fun x => id(x), xs)))",
       "lift-conv §4.2"},
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
      {"mapToUnrolledFully", "map(f, xs) => mapSeqUnroll(0, f, xs)", "lift-conv §3.2"},
      {"reduceToUnrolledFully", "reduce(i, f, xs) => reduceSeqUnroll(0, i, f, xs)", "lift-conv §3.2"},
      {"scanToLoop", "scan(i, f, xs) => scanSeq(i, f, xs)", "lift-conv §3.2"},
      {"scanExclusiveToLoop", "scanExclusive(i, f, xs) => scanExclusiveSeq(i, f, xs)", "lift-conv §3.2"},
      {"loopToUnrolled", "mapSeq(f, xs) => mapSeqUnroll(u, f, xs)", "unrolling"},
      {"reduceLoopToUnrolled", "reduceSeq(i, f, xs) => reduceSeqUnroll(u, i, f, xs)", "unrolling"},
  };
}

// As the rules of lowering say, with the program's names: kernels of the default mapping speak as the program does.
std::vector<RuleRow> placingRules() {
  constexpr bool whole = true;
  constexpr When always = When::always;
  return {
      {"mapInParallel0", "map(f, xs) => mapGlb(0, f, xs)", "lift-conv §3.2", always, whole},
      {"mapInParallel1", "map(f, xs) => mapGlb(1, f, xs)", "lift-conv §3.2", always, whole},
      {"mapInParallel2", "map(f, xs) => mapGlb(2, f, xs)", "lift-conv §3.2", always, whole},
      {"mapInOrder", "map(f, xs) => mapSeq(f, xs)", "lift-conv §3.2", always, whole},
      {"reduceInOrder", "reduce(i, f, xs) => reduceSeq(i, f, xs)", "lift-conv §3.2", always, whole},
      {"scanInOrder", "scan(i, f, xs) => scanSeq(i, f, xs)", "lift-conv §3.2", always, whole},
      {"scanExclusiveInOrder", "scanExclusive(i, f, xs) => scanExclusiveSeq(i, f, xs)", "lift-conv §3.2", always,
       whole},
  };
}

std::vector<RuleRow> raisingRules() {
  return {
      {"global0ToMap", "mapGlb(0, f, xs) => map(f, xs)", "lowering, backwards"},
      {"global1ToMap", "mapGlb(1, f, xs) => map(f, xs)", "lowering, backwards"},
      {"global2ToMap", "mapGlb(2, f, xs) => map(f, xs)", "lowering, backwards"},
      {"loopToMap", "mapSeq(f, xs) => map(f, xs)", "lowering, backwards"},
      {"loopToReduce", "reduceSeq(i, f, xs) => reduce(i, f, xs)", "lowering, backwards"},
  };
}

}  // namespace lift::rewrite::detail
