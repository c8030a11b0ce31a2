// Rules of filters: sums over channels taken apart from sums over taps, linear maps moved out of sums.
#include <fmt/format.h>

#include "tables.hpp"

namespace lift::rewrite::detail {
namespace {

// Sums of two-dimensional arrays, element by element.
constexpr const char* sum2D =
    "fun (accs, es) => map(fun (as, bs) => map(fun (a, b) => a + b, zip(as, bs)), zip(accs, es))";

// `type`: of the numbers, where nothing else says it.
std::string zeros2D(const std::string& n, const std::string& m, const std::string& type = {}) {
  return fmt::format("generate({}, fun i => generate({}, fun j => 0.0{}))", n, m, type);
}

constexpr const char* products = "fun (acc, (x, w)) => acc + x * w";

// Of an array of rows, columns and channels: channels outermost.
std::string channels(const std::string& xs) { return fmt::format("transpose(map(fun row => transpose(row), {}))", xs); }

// Of an array of arrays of p by q: its p * q positions outermost, and back.
std::string positions(const std::string& xs) {
  return fmt::format("transpose(map(fun x => transpose(map(fun y => join(y), x)), {}))", xs);
}
std::string fromPositions(const std::string& xs) {
  return fmt::format("map(fun x => map(fun y => split(q, y), transpose(x)), transpose({}))", xs);
}

// The outermost dimension of three in vectors of l, and back.
std::string inVectors(const std::string& xs) {
  return fmt::format("transpose(map(fun r => transpose(map(fun e => asVector(l, e), transpose(r))), transpose({})))",
                     xs);
}
std::string fromVectors(const std::string& xs) {
  return fmt::format("transpose(map(fun r => transpose(map(fun e => asScalar(e), transpose(r))), transpose({})))", xs);
}

// Of rows and columns that s and t divide: every s by t of them one place, whose channels are those of all.
std::string phasesAsChannels(const std::string& xs) {
  return fmt::format(
      "map(fun rows => map(fun x => join(join(x)), transpose(map(fun row => split(t, row), rows))), split(s, {}))", xs);
}

}  // namespace

std::vector<RuleRow> filterRules() {
  static const std::string stridesToChannels = fmt::format(
      "map(fun rows => map(fun w => map(fun (g, b) => reduce(b, {products}, zip(join(join(transpose(w))), "
      "join(join(g)))), zip((gs: [o][p][q][c]float), bs)), slide(q, t, transpose(rows))), "
      "slide(p, s, (d: [h][v][c]float))) => "
      "map(fun rows => map(fun w => map(fun (g, b) => reduce(b, {products}, zip(join(join(transpose(w))), "
      "join(join(g)))), zip(map(fun g => {taps}, gs), bs)), slide((q + t - 1) / t, 1, transpose(rows))), "
      "slide((p + s - 1) / s, 1, {inputs}))",
      fmt::arg("products", products),
      fmt::arg("taps",
               phasesAsChannels("pad(0, (p + s - 1) / s * s - p, generate((q + t - 1) / t * t, fun j => generate(c, "
                                "fun i => 0.0)), map(fun row => pad(0, (q + t - 1) / t * t - q, generate(c, "
                                "fun i => 0.0), row), g))")),
      fmt::arg("inputs",
               phasesAsChannels("take(((h - p) / s + (p + s - 1) / s) * s, padClamp(0, (p + s - 1) / s * s - p, "
                                "map(fun row => take(((v - q) / t + (q + t - 1) / t) * t, "
                                "padClamp(0, (q + t - 1) / t * t - q, row)), d)))")));
  static const std::string sumOfChannels = fmt::format(
      "map(fun rows => map(fun w => reduce((b: float), {products}, zip(join(join(transpose(w))), join(join((g: "
      "[r][s][c]float))))), "
      "slide(s, 1, transpose(rows))), slide(r, 1, (d: [h][v][c]float))) => "
      "map(fun ys => map(fun y => b + y, ys), reduce({zeros}, {sum}, map(fun (dc, gc) => "
      "map(fun rows => map(fun w => reduce(0.0, {products}, zip(join(transpose(w)), join((gc: [r][s]float)))), "
      "slide(s, 1, transpose(rows))), slide(r, 1, dc)), zip({d}, {g}))))",
      fmt::arg("products", products), fmt::arg("zeros", zeros2D("h - r + 1", "v - s + 1")), fmt::arg("sum", sum2D),
      fmt::arg("d", channels("d")), fmt::arg("g", channels("g")));
  static const std::string linearOutOfSum = fmt::format(
      "reduce({before}, {sum}, map(fun x => let(f, (g(x): [k][l]float)), xs)) => "
      "let(f, reduce({after}, {sum}, map(fun x => g(x), xs)))",
      fmt::arg("before", zeros2D("n", "m", "float")), fmt::arg("after", zeros2D("k", "l")), fmt::arg("sum", sum2D));
  static const std::string productsByPosition = fmt::format(
      "map(fun v => map(fun u => reduce({zeros}, {sum}, map(fun (x, y) => "
      "map(fun (as, bs) => map(fun (a, b) => a * b, zip(as, bs)), zip(y, x)), zip(v, u))), (us: [k][c][p][q]float)), "
      "(vs: [t][c][p][q]float)) => {products}",
      fmt::arg("zeros", zeros2D("p", "q")), fmt::arg("sum", sum2D),
      fmt::arg("products", fromPositions(fmt::format(
                               "map(fun (ve, ue) => map(fun v => map(fun u => reduce(0.0, fun (acc, (x, y)) => "
                               "acc + y * x, zip(v, u)), ue), ve), zip({}, {}))",
                               positions("vs"), positions("us")))));
  static const std::string vectorise2D =
      fmt::format("map(fun x => (f(x): [p][q]u), (xs: [c][h][w]t)) => {}",
                  fromVectors(fmt::format("map(fun v => vectorize(l, f, v), {})", inVectors("xs"))));
  static const std::string vectorise2DWith =
      fmt::format("map(fun (b, x) => (f((b, x)): [p][q]u), zip(bs, (xs: [c][h][w]t))) => {}",
                  fromVectors(fmt::format("map(fun (b, v) => vectorize(l, fun (b, x) => f((b, x)), (b, v)), "
                                          "zip(asVector(l, bs), {}))",
                                          inVectors("xs"))));
  return {
      {"sumOfChannels", sumOfChannels, "a filter of many channels is the sum of the channels' filters", When::rounds},
      {"linearOutOfSum", linearOutOfSum, "linearity", When::linear},
      {"stridesToChannels", stridesToChannels, "decimation: a filter of stride s is the sum of its phases' filters",
       When::rounds},
      {"productsByPosition", productsByPosition, "interchange: one matrix product for each position"},
      {"vectorise2D", vectorise2D, "lift-conv §4.3, lanes over arrays"},
      {"vectorise2DWith", vectorise2DWith, "lift-conv §4.3, lanes over arrays"},
      {"vectorizeLet2D",
       "vectorize(l, fun x => let(fun y => (g((x, y)): [m][n]s), (f(x): [p][q]u)), (v: [h][w]<l>t)) => "
       "let(fun y => vectorize(l, fun (x, y) => g((x, y)), (v, y)), vectorize(l, fun x => f(x), v))",
       "lanes are independent"},
      {"vectorizeLet2DWith",
       "vectorize(l, fun (b, x) => let(fun y => (g((b, x, y)): [m][n]s), (f((b, x)): [p][q]u)), ((c: <l>t), (v: "
       "[h][w]<l>t))) => "
       "let(fun y => vectorize(l, fun (b, x, y) => g((b, x, y)), (c, v, y)), vectorize(l, fun (b, x) => f((b, x)), "
       "(c, v)))",
       "lanes are independent"},
  };
}

}  // namespace lift::rewrite::detail
