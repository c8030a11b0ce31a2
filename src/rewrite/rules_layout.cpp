// Rules about where data is: layouts moved about, tiles, lanes.
#include <fmt/format.h>

#include <map>

#include "tables.hpp"

namespace lift::rewrite::detail {

std::vector<RuleRow> movementRules() {
  return {
      {"mapJoin", "map(f, join(xss)) => join(map(fun xs => map(f, xs), xss))", "naturality"},
      {"slideMap", "slide(n, s, map(f, xs)) => map(fun w => map(f, w), slide(n, s, xs))", "naturality"},
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
      {"windowsOfColumns",
       "transpose(map(fun x => map(f, slide(n, s, g(x))), transpose((xss: [h][w]t)))) => "
       "map(fun rows => map(f, transpose(rows)), slide(n, s, transpose(map(fun x => g(x), transpose(xss)))))",
       "naturality: windows of columns, those of neighbouring columns side by side", When::computes},
      {"zipJoin",
       "zip(join((xss: [n][m]t)), join((yss: [n][m]u))) => join(map(fun (xs, ys) => zip(xs, ys), zip(xss, yss)))",
       "naturality"},
      {"joinMapZip",
       "join(map(fun x => zip((a(x): [m]t), (b(x): [m]u)), xs)) => zip(join(map(fun x => a(x), xs)), "
       "join(map(fun x => b(x), xs)))",
       "naturality"},
      {"joinTwice", "join(join(xsss)) => join(map(fun xss => join(xss), xsss))", "regrouping"},
      {"splitTwice", "map(fun x => split(n, x), split(m, xs)) => split(m / n, split(n, xs))", "regrouping"},
      {"splitZip", "split(k, zip(xs, ys)) => map(fun (a, b) => zip(a, b), zip(split(k, xs), split(k, ys)))",
       "naturality"},
      {"asVectorJoin", "asVector(w, join((xss: [n][m]t))) => join(map(fun xs => asVector(w, xs), xss))", "naturality"},
      {"transposeInBlocks",
       "transpose((xss: [n][m]t)) => join(map(fun b => transpose(b), transpose(map(fun xs => split(k, xs), xss))))",
       "transposition block by block"},
      {"transposeFilled",
       "transpose((xss: [n][m]t)) => take(m, map(fun r => take(n, r), transpose(padClamp(0, k, map(fun xs => "
       "padClamp(0, l, xs), xss)))))",
       "rows and columns more, which are cropped"},
      {"transposeInTiles",
       "transpose((xss: [n][m]t)) => join(map(fun c => map(fun r => join(r), transpose(map(fun b => transpose(b), "
       "split(k, transpose(c))))), split(l, transpose(xss))))",
       "transposition of tiles of k rows by l columns"},
      {"transposeByHalves",
       "transpose((xss: [n][m]t)) => split(n, join(transpose(split(2 * m, asScalar(toPrivate(mapSeqUnroll(0, "
       "fun v => v, asVector(w, join(transpose(split(n / 2 * m, join(xss))))))))))))",
       "the halves interleaved in vectors in registers, and what is left to transpose of them"},
      {"joinRows",
       "map(fun rows => map(f, slide(1, 1, transpose(rows))), slide(1, 1, (xs: [h][w]t))) => "
       "split(w, take(h * w, join(map(fun rows => map(f, slide(1, 1, transpose(rows))), slide(1, 1, "
       "split(k, padClamp(0, (h * w + k - 1) / k * k - h * w, join(xs))))))))",
       "windows of single elements: of an image, or of rows of k elements"},
      {"joinImages",
       "map(fun x => map(f, slide(1, 1, x)), (xs: [n][h]t)) => "
       "split(h, join(map(fun x => map(f, slide(1, 1, x)), split(n * h, join(xs)))))",
       "windows of single rows: of images, or of one of all their rows"},
      {"columnOfRows", "map(fun x => f(x)[i], (xs: [n]t)) => transpose(map(fun x => f(x), xs))[i]",
       "the elements at one index of all rows are a column", When::selects},
      {"columnsFirst", "(xss: [n][m]t) => transpose(transpose(xss))", "row-major to column-major"},
  };
}

std::vector<RuleRow> vectorRules() {
  return {
      {"vectoriseMap", "map(f, xs) => asScalar(map(fun v => vectorize(w, f, v), asVector(w, xs)))", "lift-conv §4.3"},
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
      {"mapAsScalar", "map(f, asScalar((vs: [n]<w>t))) => asScalar(map(fun v => vectorize(w, f, v), vs))",
       "naturality"},
      {"laneSums",
       "reduce((i: float), fun (acc, x) => acc + f(x), xs) => i + dot(splat(w, 1.0), "
       "reduce(splat(w, 0.0), fun (acc, v) => acc + vectorize(w, f, v), asVector(w, xs)))",
       "partial sums in lanes", When::rounds},
  };
}

std::vector<RuleRow> memoryRules() {
  // The text of a copy to local memory by a group of p by q work-items, each of which copies a part: neighbouring work-
  // items copy neighbouring elements. What is read along a row is written across it, so that afterwards neighbours
  // again read neighbouring elements.
  static const auto near = [](const std::string& row, const std::string& rows, std::string_view layout) {
    const std::string byItems = fmt::format(
        "join(join(mapSeqUnroll(0, fun g => mapLcl(1, fun r => mapLcl(0, fun e => e, r), g), split(p, split(q, "
        "join({}))))))",
        rows);
    return fmt::format("(xss: [a][b][k]t) => split(b, transpose(toLocal({})))",
                       fmt::format(fmt::runtime(layout), fmt::format(fmt::runtime(row), byItems)));
  };
  static const std::string inVectors = "map(fun r => asScalar(r), split({} / v, {{}}))",
                           vectorsOf = "map(fun r => asVector(v, r), {})";
  static const std::string copyAlong = near("split(k, {})", "join(xss)", "transpose({})");
  static const std::string copyAlongInVectors = near(
      fmt::format(fmt::runtime(inVectors), "k"), fmt::format(fmt::runtime(vectorsOf), "join(xss)"), "transpose({})");
  static const std::string copyAcross = near("split(a * b, {})", "transpose(join(xss))", "{}");
  static const std::string copyAcrossInVectors =
      near(fmt::format(fmt::runtime(inVectors), "a * b"), fmt::format(fmt::runtime(vectorsOf), "transpose(join(xss))"),
           "{}");
  // Every accumulator of every work-item, in vectors.
  static const auto eachItem = [](const std::string& accumulators) {
    return "mapLcl(1, fun r => mapLcl(0, fun e => mapSeqUnroll(0, fun s => asScalar(mapSeqUnroll(0, fun v => v, "
           "asVector(w, s))), e), r), " +
           accumulators + ")";
  };
  static const std::string reduceByItems =
      "reduce((i: [a][b][c][d]t), f, xs) => " + eachItem("reduce(" + eachItem("i") + ", f, xs)");
  return {
      {"precompute",
       "map(fun x => c((x, toGlobal(f(x)))), xs) => map(fun (x, y) => c((x, y)), zip(xs, toGlobal(map(f, xs))))",
       "one-time preparation of weights"},
      {"keepAhead", "x => toGlobal(x)", "identity"},
      {"keepNot", "toGlobal(x) => x", "identity"},
      {"keepMoved", "f(toGlobal(x)) => toGlobal(f(x))", "what is kept laid out as it is read", When::moves},
      {"keepInImage", "toGlobal(x) => toImage(x)", "what one kernel leaves to others in vectors of four"},
      {"keepInNoImage", "toImage(x) => x", "identity"},
      {"keepNear", "toGlobal(x) => toLocal(x)", "what one group computes and reads"},
      {"keptMap", "toGlobal(map(f, xs)) => map(f, toGlobal(xs))", "what is kept laid out as it is computed",
       When::moves},
      {"keptJoin", "toGlobal(join(xs)) => join(toGlobal(xs))", "what is kept laid out as it is computed"},
      {"keptSplit", "toGlobal(split(n, xs)) => split(n, toGlobal(xs))", "what is kept laid out as it is computed"},
      {"keptTranspose", "toGlobal(transpose(xs)) => transpose(toGlobal(xs))",
       "what is kept laid out as it is computed"},
      {"keepByPosition",
       "toGlobal((xs: [n][c][a][b]t)) => map(fun es => map(fun e => split(b, e), transpose(es)), "
       "transpose(toGlobal(transpose(map(fun cs => transpose(map(fun c => join(c), cs)), xs)))))",
       "what is kept laid out as it is read"},
      {"keepInPanels",
       "toGlobal((xs: [n][c][a][b]t)) => join(map(fun panel => map(fun e => map(fun x => split(b, x), transpose(e)), "
       "transpose(map(fun e => transpose(e), panel))), toGlobal(map(fun ks => map(fun e => transpose(e), "
       "transpose(map(fun k => transpose(map(fun c => join(c), k)), ks))), split(l, xs)))))",
       "what is kept laid out as it is read"},
      {"keepFirstInside",
       "toGlobal((xs: [g][a][b][c][k]t)) => transpose(map(fun as => transpose(map(fun bs => transpose(map(fun cs => "
       "transpose(cs), bs)), as)), toGlobal(map(fun as => map(fun bs => map(fun cs => transpose(cs), transpose(bs)), "
       "transpose(as)), transpose(xs)))))",
       "what neighbouring work-items read, side by side"},
      {"splitOfJoin", "(xss: [n][m]t) => split(m, join(xss))", "inverse layouts"},
      {"copyMap", "xs => map(fun x => x, xs)", "functor law"},
      {"rowsInRegisters",
       "(xss: [n][m]t) => map(fun vs => asScalar(vs), toPrivate(mapSeqUnroll(0, fun xs => mapSeqUnroll(0, fun v => v, "
       "asVector(w, xs)), xss)))",
       "functor law: rows loaded in vectors"},
      {"rowsTogetherInRegisters",
       "(xss: [n][m]t) => split(m, asScalar(toPrivate(mapSeqUnroll(0, fun v => v, asVector(w, join(xss))))))",
       "functor law: rows that follow each other loaded in vectors"},
      {"copyRows",
       "(xss: [n][m]t) => mapSeqUnroll(0, fun xs => asScalar(mapSeqUnroll(0, fun v => v, asVector(w, xs))), xss)",
       "functor law: rows stored in vectors"},
      {"copyRowsTogether", "(xss: [n][m]t) => split(m, asScalar(mapSeqUnroll(0, fun v => v, asVector(w, join(xss)))))",
       "functor law: rows that follow each other stored in vectors"},
      {"reduceToSteps",
       "reduce(i, f, (xs: [n]t)) => let(fun ys => get(0, iterate(n, fun (s, k) => (f((s, ys[k])), k + 1), (i, 0))), "
       "xs)",
       "a fold as a loop, each of whose steps may run over many work-items"},
      {"scanToSteps",
       "scan(i, f, (xs: [n]t)) => let(fun ys => get(1, iterate(n, fun (s, out, k) => let(fun r => (r, "
       "reduceByIndex(out, fun (o, v) => v, [(k, r)]), k + 1), f((s, ys[k]))), (i, map(fun y => i, ys), 0))), xs)",
       "a scan as a loop, each of whose steps writes one result"},
      {"scanExclusiveToSteps",
       "scanExclusive(i, f, (xs: [n]t)) => let(fun ys => get(1, iterate(n, fun (s, out, k) => (f((s, ys[k])), "
       "reduceByIndex(out, fun (o, v) => v, [(k, s)]), k + 1), (i, map(fun y => i, ys), 0))), xs)",
       "a scan as a loop, each of whose steps writes one result"},
      {"scanAsRow", "scan(i, f, (xs: [n]t)) => join(map(fun row => scan(i, f, row), split(n, xs)))", "the only row"},
      {"scanExclusiveAsRow",
       "scanExclusive(i, f, (xs: [n]t)) => join(map(fun row => scanExclusive(i, f, row), split(n, xs)))",
       "the only row"},
      {"scanFilled", "scan(i, f, (xs: [n]t)) => take(n, scan(i, f, padClamp(0, k, xs)))", "elements more, cropped"},
      {"scanExclusiveFilled", "scanExclusive(i, f, (xs: [n]t)) => take(n, scanExclusive(i, f, padClamp(0, k, xs)))",
       "elements more, cropped"},
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
      {"copyPlanes",
       "map(f, (xs: [n][w][h][c]t)) => map(fun x => let("
       "fun b => f(transpose(map(fun row => transpose(row), transpose(b)))), "
       "toLocal(id(transpose(map(fun row => transpose(row), transpose(x)))))), xs)",
       "layout of direct convolutions: channels outermost, for vectors of pixels"},
      {"copyNear", "map(f, (xs: [p][n][m]t)) => map(fun x => let(f, transpose(toLocal(transpose(x)))), xs)",
       "what a group reads again and again, in local memory"},
      {"copyAlong", copyAlong, "a tile in local memory, copied by all work-items of a group"},
      {"copyAlongInVectors", copyAlongInVectors, "a tile in local memory, copied by all work-items of a group"},
      {"copyAcross", copyAcross, "a tile in local memory, copied by all work-items of a group"},
      {"copyAcrossInVectors", copyAcrossInVectors, "a tile in local memory, copied by all work-items of a group"},
      {"nameElements",
       "reduce(i, f, zip(xs, ys)) => reduce(i, fun (acc, (x, y)) => let(fun x => let(fun y => f((acc, (x, y))), y), "
       "x), zip(xs, ys))",
       "let"},
      {"letToPrivate", "let(f, x) => let(f, toPrivate(x))", "lift-conv §4.2"},
      {"reduceToPrivateMemory", "reduce(i, f, xs) => toPrivate(reduce(i, f, xs))", "lift-conv §4.2"},
      {"elementsInVectors",
       "reduce(i, fun (accs, (as, b)) => f((accs, as, b)), zip((ass: [k][p]t), bs)) => reduce(i, fun (accs, (as, b)) "
       "=> "
       "let(fun xs => f((accs, xs, b)), toPrivate(asScalar(mapSeqUnroll(0, fun v => v, asVector(w, as))))), "
       "zip(ass, bs))",
       "one load for what a work-item reads side by side"},
      {"reduceByItems", reduceByItems, "accumulators of a group's work-items"},
      {"shareArray", "map(f, xs) => let(fun ys => map(f, ys), xs)", "let"},
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
      {"mapToLocalMemory", "map(f, xs) => toLocal(map(f, xs))", "lift-conv §4.2"},
      {"mapToItems0", "map(f, xs) => mapLcl(0, f, xs)", "lift-conv §3.2"},
      {"mapToItems1", "map(f, xs) => mapLcl(1, f, xs)", "lift-conv §3.2"},
      {"reduceToItems", "reduce(i, f, xs) => reduceLcl(i, f, xs)", "a group's work-items put together what each has",
       When::accumulates},
      {"reduceByIndexToItems", "reduceByIndex(zs, f, xs) => reduceByIndexLcl(mapLcl(0, fun z => z, zs), f, xs)",
       "a group's work-items update its elements", When::accumulates},
      {"reduceByIndexToGlobal", "reduceByIndex(zs, f, xs) => reduceByIndexGlb(zs, f, xs)",
       "all work-items update its elements", When::accumulates},
      {"mapToLoop", "map(f, xs) => mapSeq(f, xs)", "lift-conv §3.2"},
      {"mapToUnrolled", "map(f, xs) => mapSeqUnroll(u, f, xs)", "lift-conv §3.2"},
      {"reduceToLoop", "reduce(i, f, xs) => reduceSeq(i, f, xs)", "lift-conv §3.2"},
      {"reduceToUnrolled", "reduce(i, f, xs) => reduceSeqUnroll(u, i, f, xs)", "lift-conv §3.2"},
      {"mapToUnrolledFully", "map(f, xs) => mapSeqUnroll(0, f, xs)", "lift-conv §3.2"},
      {"reduceToUnrolledFully", "reduce(i, f, xs) => reduceSeqUnroll(0, i, f, xs)", "lift-conv §3.2"},
  };
}

// Functions are moved as they are, with their bound names, so that kernels of the default mapping use the program's
// names.
std::vector<RuleRow> placingRules() {
  static const std::map<std::string_view, std::string_view> names = {{"mapToGlobal0", "mapInParallel0"},
                                                                     {"mapToGlobal1", "mapInParallel1"},
                                                                     {"mapToGlobal2", "mapInParallel2"},
                                                                     {"mapToLoop", "mapInOrder"},
                                                                     {"reduceToLoop", "reduceInOrder"}};
  std::vector<RuleRow> rows = {
      {"scanInOrder", "scan(i, f, xs) => scanSeq(i, f, xs)", "lift-conv §3.2"},
      {"scanExclusiveInOrder", "scanExclusive(i, f, xs) => scanExclusiveSeq(i, f, xs)", "lift-conv §3.2"},
  };
  for (RuleRow row : loweringRules())
    if (const auto name = names.find(row.name); name != names.end()) {
      row.name = name->second;
      rows.push_back(row);
    }
  for (RuleRow& row : rows) row.whole = true;
  return rows;
}

std::vector<RuleRow> raisingRules() {
  return {
      {"global0ToMap", "mapGlb(0, f, xs) => map(f, xs)", "lowering, backwards"},
      {"global1ToMap", "mapGlb(1, f, xs) => map(f, xs)", "lowering, backwards"},
      {"global2ToMap", "mapGlb(2, f, xs) => map(f, xs)", "lowering, backwards"},
      {"loopToMap", "mapSeq(f, xs) => map(f, xs)", "lowering, backwards"},
      {"loopToReduce", "reduceSeq(i, f, xs) => reduce(i, f, xs)", "lowering, backwards"},
      {"loopToScanExclusive", "scanExclusiveSeq(i, f, xs) => scanExclusive(i, f, xs)", "lowering, backwards"},
  };
}

}  // namespace lift::rewrite::detail
