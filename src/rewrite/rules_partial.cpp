// Rules of two-step convolutions on GPUs: padding and tiling windows, partial reductions, reuse across maps.
#include <fmt/format.h>

#include "tables.hpp"

namespace lift::rewrite::detail {

namespace {

// Sums of all rows as and columns bs, of chunks of c steps each: the sums of each chunk are computed for all of them,
// and added up. What is summed is `step` of an element of `operands`, which are the elements of a row a and a column b,
// or of `chunk`, those of a chunk of both; `first` is where a sum begins, `combined` what is made of a row's parts.
std::string inChunks(std::string_view step, std::string_view first, std::string_view operands, std::string_view chunk,
                     std::string_view combined, std::string_view chunksOfRows, std::string_view chunksOfColumns) {
  return fmt::format(
      "map(fun a => map(fun b => reduce(({}: float), {}, zip({})), bs), as) => "
      "map(fun parts => {}, transpose(map(fun (ac, bc) => map(fun a => map(fun b => reduce(0.0, {}, zip({})), bc), "
      "ac), "
      "zip(transpose(map(fun r => split(c, {}), as)), transpose(map(fun r => split(c, {}), bs))))))",
      first, step, operands, combined, step, chunk, chunksOfRows, chunksOfColumns);
}

// Of products, chunks filled with zeros.
std::string productInChunks(std::string_view operands, std::string_view chunk) {
  const auto filled = [](const char* row) { return fmt::format("pad(0, (k + c - 1) / c * c - k, 0.0, {})", row); };
  return inChunks("fun (acc, (x, y)) => acc + x * y", "i", operands, chunk,
                  "map(fun p => reduce(i, fun (acc, x) => acc + x, p), transpose(parts))", filled("f(r)"),
                  filled("g(r)"));
}

// The sums of a tile, of all rows xs and columns ws of each step.
std::string sumsOfTile(std::string_view first, std::string_view step, std::string_view steps) {
  return fmt::format(
      "reduce({}, fun (accs, (xs, ws)) => map(fun (as, x) => map(fun (a, w) => {}, zip(as, ws)), zip(accs, xs)), {})",
      first, step, steps);
}

// Whole chunks; each column's sums begin with a number of its own.
std::string columnSumsInChunks() {
  return inChunks("fun (acc, x) => acc + h(x)", "i(b)", "f(a), g(b)", "a, b",
                  "map(fun (p, b) => reduce(i(b), fun (acc, x) => acc + x, p), zip(transpose(parts), bs))", "f(r)",
                  "g(r)");
}

}  // namespace

std::vector<RuleRow> partialRules() {
  static const std::string inChunks = productInChunks("(f(a): [k]float), (g(b): [k]float)", "a, b"),
                           swapped = productInChunks("(g(b): [k]float), (f(a): [k]float)", "b, a"),
                           ofColumns = columnSumsInChunks();
  static const std::string dotsOutOfSums =
      sumsOfTile("(i: [p][k]float)", "a + dot(x, w)", "zip((xs: [n][p]<l>float), (ws: [n][k]<l>float))") +
      " => let(fun sums => map(fun (is, vs) => map(fun (a, v) => "
      "a + dot(splat(l, 1.0), v), zip(is, vs)), zip(i, sums)), " +
      sumsOfTile("generate(p, fun x => generate(k, fun w => splat(l, 0.0)))", "a + x * w", "zip(xs, ws)") + ")";
  static const char* const origin = "partial sums, the chunks outside of the tiles";
  return {
      {"productInChunks", inChunks, origin, When::rounds},
      {"productInChunksSwapped", swapped, origin, When::rounds},
      {"columnSumsInChunks", ofColumns, origin, When::rounds},
      {"mapTakeOut", "map(fun x => take(n, f(x)), xs) => map(fun y => take(n, y), map(f, xs))", "functor law",
       When::computes},
      {"mapSplitOut", "map(fun x => split(n, f(x)), xs) => map(fun y => split(n, y), map(f, xs))", "functor law",
       When::computes},
      {"mapWindows", "map(fun w => map(f, w), slide(n, s, xs)) => slide(n, s, map(f, xs))", "naturality", When::moves},
      {"padWindows",
       "map(f, slide(n, s, (xs: [m]t))) => take((m - n + s) / s, map(f, slide(n, s, padClamp(0, r, xs))))",
       "lift-conv §4.2.1, §4.2.4"},
      {"padColumns",
       "map(fun rows => map(f, slide(n, s, (transpose(rows): [m]t))), xss) => map(fun y => take((m - n + s) / s, y), "
       "map(fun rows => map(f, slide(n, s, transpose(rows))), "
       "map(fun rows => map(fun row => padClamp(0, r, row), rows), xss)))",
       "lift-conv §4.2.1, §4.2.4"},
      {"rowPhases",
       "map(fun row => map(f, row), map(fun row => map(fun x => map(g, join(slide(1, d, x))), row), "
       "map(fun ws => transpose(ws), slide(d * (k - 1) + 1, 1, map(fun row => slide(l, s, row), (xs: [h][w]t)))))) => "
       "take(h - d * (k - 1), join(transpose(map(fun phase => map(fun row => map(f, row), "
       "map(fun row => map(fun x => map(g, x), row), "
       "map(fun ws => transpose(ws), slide(k, 1, map(fun row => slide(l, s, row), phase))))), "
       "transpose(split(d, padClamp(0, d * n - h, xs)))))))",
       "decimation: dilated windows of every d-th row have no gaps"},
      {"columnPhases",
       "map(fun row => map(f, row), map(fun row => map(fun x => map(fun taps => join(slide(1, d, taps)), x), row), "
       "map(fun ws => transpose(ws), slide(l, s, map(fun row => slide(d * (k - 1) + 1, 1, row), (xs: [h][w]t)))))) => "
       "map(fun row => take(w - d * (k - 1), row), map(fun row => join(transpose(row)), "
       "transpose(map(fun phase => map(fun row => map(f, row), "
       "map(fun ws => transpose(ws), slide(l, s, map(fun row => slide(k, 1, row), phase)))), "
       "transpose(map(fun row => transpose(split(d, padClamp(0, d * n - w, row))), xs))))))",
       "decimation: dilated windows of every d-th column have no gaps"},
      {"slideTiled",
       "slide(n, s, xs) => join(map(fun tile => slideStrict(n, s, tile), slideStrict(e, e - (n - s), xs)))",
       "lift-conv §4.2.2, §5.2"},
      {"tileColumns",
       "map(fun rows => map(f, slideStrict(m, t, transpose(rows))), slideStrict(n, s, xs)) => "
       "transpose(map(fun cols => map(fun r => f(transpose(r)), slideStrict(n, s, transpose(cols))), "
       "slideStrict(m, t, transpose(xs))))",
       "lift-conv §4.2.2, tiles before windows"},
      {"reduceStrided", "reduce(i, f, xs) => reduce(i, f, reorder(stride(s), xs))", "lift-conv §4.2.2, coalescing",
       When::accumulates},
      {"strideZip", "reorder(stride(s), zip(xs, ys)) => zip(reorder(stride(s), xs), reorder(stride(s), ys))",
       "naturality"},
      {"reducePartial",
       "reduce((i: float), fun (acc, x) => acc + f(x), xs) => reduce(i, fun (acc, p) => acc + p, "
       "map(fun c => reduce(0.0, fun (acc, x) => acc + f(x), c), split(k, xs)))",
       "lift-conv §4.2, partial reduction", When::rounds},
      {"reduceDot",
       "reduce((i: float), fun (acc, (x, w)) => acc + x * w, zip(xs, ws)) => "
       "reduce(i, fun (acc, (x, w)) => acc + dot(x, w), zip(asVector(v, xs), asVector(v, ws)))",
       "lift-conv §4.2.2, §5.1", When::rounds},
      {"dotsOutOfSums", dotsOutOfSums, "partial sums in lanes, added up once", When::rounds},
      {"mapMapZipRight",
       "map(fun x => map(fun (a, b) => f((a, b)), zip(as, bs(x))), xs) => "
       "transpose(map(fun (a, bs) => map(fun b => f((a, b)), bs), zip(as, transpose(map(bs, xs)))))",
       "lift-conv §4.2.2"},
      {"mapMapZipLeft",
       "map(fun x => map(fun (a, b) => f((a, b)), zip(as(x), bs)), xs) => "
       "transpose(map(fun (as, b) => map(fun a => f((a, b)), as), zip(transpose(map(as, xs)), bs)))",
       "lift-conv §4.2.2"},
  };
}

}  // namespace lift::rewrite::detail
