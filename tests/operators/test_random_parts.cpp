// Random programs derived part by part, against the interpreter. LIFT_TEST_SEED and LIFT_DIFF_COUNT choose another or a
// longer run.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <iostream>
#include <random>

#include "differential/judges.hpp"
#include "lift/diagnostic.hpp"
#include "lift/parts.hpp"

using namespace lift;
using namespace lift::differential;

namespace {

// What programs consist of is drawn from few spellings, so that most parts have a family that derives them.
class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}

  std::string program() {
    const int n = number(3, 16), k = number(1, 6), m = number(0, 1) == 0 ? number(4, 40) : 2 * number(2, 20);
    const bool stored = number(0, 2) == 0;  // by its columns
    const std::string columns = stored ? "b" : "transpose(b)";
    const std::string term = one({"dotProduct(row, column)", "dotProduct(column, row)",
                                  "(zip(row, column) |> map(fun (x, y) => x * y) |> sum)",
                                  "(zip(column, row) |> map(fun (x, y) => square(x - y)) |> sum)"});
    const bool columnsFirst = number(0, 3) == 0;
    std::string body = columnsFirst
                           ? fmt::format("{} |> map(fun column => a |> map(fun row => {}))", columns, rest(term))
                           : fmt::format("a |> map(fun row => {} |> map(fun column => {}))", columns, rest(term));
    if (number(0, 1) == 0) body += " |> map2D(fun x => max(x, -0.5))";
    int h = number(1, 3), w = number(1, 3);
    body = one({fmt::format("padClamp2D(1, 1, 1, 1, {})", body), fmt::format("padWrap2D(1, 1, 1, 1, {})", body),
                fmt::format("pad2D(1, 1, 1, 1, 0.25, {})", body), fmt::format("transpose({})", body),
                fmt::format("padMirror2D(2, 2, 1, 1, {})", body)});
    const int down = number(1, 2), right = number(1, 2) / 2 + 1;
    const auto ofLine = [&] {
      return rest(one(
          {"dotProduct(window, join(w))", "maximum(window)", "(sum(window) - window[0])", "(0.5 * window[0] + 1.0)"}));
    };
    switch (number(0, 4)) {
      case 0:  // of each row
        h = 1;
        body = fmt::format("{} |> map(fun r => r |> slide({}, {}) |> map(fun window => {}))", body, w, right, ofLine());
        break;
      case 1:  // of each column
        w = 1;
        body = fmt::format("{} |> slide({}, {}) |> map(fun rows => transpose(rows) |> map(fun window => {}))", body, h,
                           down, ofLine());
        break;
      default:
        body =
            fmt::format("{} |> slide2D({}, {}, {}, {}) |> map2D(fun window => {})", body, h, w, down, right,
                        rest(one({"dotProduct(join(window), join(w))", "sum(join(window))", "maximum(join(window))",
                                  "(sum(map(maximum, window)) - window[0][0])",
                                  "(zip2D(window, w) |> map2D(fun (x, y) => square(x - y)) |> join |> sum)",
                                  "(let (s, k) = join(window) |> reduce((0.0, 0), fun (acc, x) => (acc.0 + x, if x > "
                                  "window[0][0] then acc.1 + 1 else acc.1)) in s + f32(k))"})));
    }
    if (number(0, 1) == 0) body += " |> map2D(fun x => 0.5 * x)";
    return fmt::format("def main(a: [{}][{}]f32, b: {}f32, w: [{}][{}]f32) =\n  {}\n", n, k,
                       stored ? fmt::format("[{}][{}]", m, k) : fmt::format("[{}][{}]", k, m), h, w, body);
  }

 private:
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::string one(const std::vector<std::string>& of) {
    return of[static_cast<std::size_t>(number(0, static_cast<int>(of.size()) - 1))];
  }
  // What is done with the value, perhaps nothing.
  std::string rest(const std::string& value) {
    return one({value, fmt::format("max({}, 0.0)", value), fmt::format("0.5 * {} + 1.0", value)});
  }

  std::mt19937_64 random_;
};

// Long sums of elements that lie in memory in order: of rows, of rows and a vector, of rows and rows, these also for a
// batch that is between the loops over rows, or within them.
std::string drawnSums(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto number = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  const auto one = [&](const std::vector<std::string>& of) {
    return of[static_cast<std::size_t>(number(0, static_cast<int>(of.size()) - 1))];
  };
  const int n = number(2, 40), m = number(1, 9), k = number(0, 1) == 0 ? 16 * number(4, 6) : number(64, 100);
  const int form = number(0, 7);
  std::vector<std::string> sums{"dotProduct(row, x)", "dotProduct(x, row)",
                                "(zip(row, x) |> map(fun (a, b) => square(a - b)) |> sum)"};
  if (form < 3)
    for (const char* s : {"reduce(0.25, add, row)", "maximum(row)",
                          "reduce((0.0, 0.0), fun (acc, a) => (acc.0 + a, acc.1 + a * a), row).1"})
      sums.emplace_back(s);
  std::string sum = one(sums);
  if (number(0, 2) == 0) sum = fmt::format("sqrt(abs({}))", sum);
  const std::string rows = fmt::format("map(fun row => {})", sum);
  switch (form) {
    case 0: return fmt::format("def main(a: [{}][{}]f32, x: [{}]f32) = a |> {}\n", n, k, k, rows);
    case 1:
      return fmt::format(
          "def main(a: [{}][{}][{}]f32, xs: [{}][{}]f32) =\n  zip(a, xs) |> map(fun (rows, x) => rows |> {})\n", m, n,
          k, m, k, rows);
    case 2: return fmt::format("def main(a: [{}][{}]f32, x: [{}]f32) = transpose(a) |> {}\n", k, n, k, rows);
    case 6:
      return fmt::format(
          "def main(a: [{}][{}][{}]f32, b: [{}][{}][{}]f32) =\n"
          "  a |> map(fun xs => zip(xs, b) |> map(fun (x, ys) => ys |> {}))\n",
          n, m, k, m, m + 1, k, rows);
    case 7:
      return fmt::format(
          "def main(a: [{}][{}][{}]f32, b: [{}][{}][{}]f32) =\n"
          "  a |> map(fun xs => b |> map(fun ys => zip(ys, xs) |> map(fun (row, x) => {})))\n",
          n, m, k, m + 1, m, k, sum);
    default:
      return fmt::format("def main(a: [{}][{}]f32, b: [{}][{}]f32) =\n  a |> map(fun x => b |> {})\n", n, k, m + 1, k,
                         rows);
  }
}

// Reductions to tuples: of every element with all others, of columns, of rows and columns; divided, chosen, in order.
std::string drawnTuples(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto number = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  const int n = number(2, 40), k = number(1, 9), m = number(2, 40), batch = number(1, 3);
  struct Step {
    const char *start, *body, *element;  // of accumulators p, q, of x and y; what the element of the result is
  };
  static constexpr Step steps[] = {
      {"(0.0, 0.5)", "let d = x - y in (p + d, q + d * d)", "(p, q)"},
      {"(0.0, 0.0)", "(p + x * y, if x < 0.25 then q - y else q)", "(q, (p, 0.5 * p))"},
      {"(-8.0, 0)", "if x > p then (x, i) else (p, q)", "(p, q)"},
      {"(0.0, 1)", "(p * 0.5 + x, q * 3 + i)", "[p, f32(q % 7)]"},
      {"(0.0, 0.0)", "let d = x - p in let now = p + d / f32(i + 1) in (now, q + d * (x - now))", "p + q"},
  };
  const Step& step = steps[number(0, 4)];
  const auto reduced = [&](const std::string& xs, const std::string& ys) {
    return fmt::format(
        "(let (p, q) = zip({}, {}, generate({}, id)) |> reduce({}, fun ((p, q), (x, y, i)) => {}) in {})", xs, ys, k,
        step.start, step.body, step.element);
  };
  switch (number(0, 5)) {
    case 5:
      return fmt::format(
          "def main(a: [{0}][{1}]f32, b: [{0}][{2}]f32) = zip(a, b) |> map(fun (xs, ys) =>\n"
          "  (xs |> reduce((fill({2} + 1, 0.5), 0.0), fun ((row, best), x) =>\n"
          "    let inner = zip(slide(2, 1, row), ys) |> map(fun (w, y) => if x < y then 0.5 * w[0] + x else w[1] - y) "
          "in\n"
          "    let now = concat([0.25], scan(x, fun (left, v) => max(left - 0.5, v), inner)) in\n"
          "    (now, max(best, maximum(now))))).1)\n",
          n, k, number(1, 9));
    case 4:
      return fmt::format(
          "def main(a: [{0}][{1}]f32, b: [{1}]f32) =\n  reduce(b, fun (s, x) => zip(s, x) |> map(fun (p, y) => {2}), "
          "a)\n",
          k, n, step.body[0] == '(' ? "p * 0.5 + y" : "if y > 0.25 then p - y else max(p, y)");
    case 0:
      return fmt::format("def main(a: [{}]f32, b: [{}]f32) = a |> map(fun y =>\n  {})\n", n, k,
                         reduced("b", fmt::format("fill({}, y)", k)));
    case 1:
      return fmt::format("def main(a: [{}][{}]f32, b: [{}]f32) = transpose(a) |> map(fun column =>\n  {})\n", k, n, k,
                         reduced("column", "b"));
    case 2:
      return fmt::format(
          "def main(a: [{}][{}]f32, b: [{}][{}]f32) = a |> map(fun row => transpose(b) |> map(fun column =>\n  {}))\n",
          n, k, k, m, reduced("row", "column"));
    default:
      return fmt::format(
          "def main(a: [{0}][{1}][{2}](f32, f32), b: [{2}][{3}](f32, f32)) = a |> map(fun rows => rows |> map(fun row "
          "=>\n  transpose(b) |> map(fun column => zip(row, column) |> reduce((0.0, 0.0), fun ((re, im), (x, y)) =>\n"
          "    (re + x.0 * y.0 - x.1 * y.1, im + x.0 * y.1 + x.1 * y.0)))))\n",
          batch, n, k, m);
  }
}

// Scans, sums and choices of columns of several types, whose results are columns or rows, longer or shorter than they.
std::string drawnColumns(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto number = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  static const std::vector<std::pair<const char*, std::vector<const char*>>> ofTypes = {
      {"f32",
       {"cumsum(c)", "scan(g, fun (a, v) => 0.5 * a + v, c)", "scanExclusive(lowest, max, c)", "softmax(c)",
        "concat([g], scan(0.0, fun (a, v) => if v > g then a + v else 0.25, c))",
        "let d = map(fun v => v - g, c) in let s = maximum(d) in map(fun v => v * s, d)",
        "zipWith(fun (v, a) => v - a, c, cumsum(c))", "reverse(scan(g, add, reverse(c)))",
        "map(sum, slide(2, 1, concat(c, [g])))",
        "(scan((0.5, 0), fun ((a, k), v) => (a * v, if a > v then k + 1 else k), c) |> map(fun (a, k) => a + "
        "f32(k)))"}},
      {"i32",
       {"cumsum(c)", "scan(g, fun (a, v) => if v > a then v else a - 1, c)", "scanExclusive(1, bitXor, c)",
        "let n = count(fun v => v > g, c) in map(fun v => v * n, c)",
        "drop(1, scan(7, fun (a, v) => 3 * a + v, concat([g], c)))"}},
      {"f16", {"map(fun v => f16(v * sum(c)), c)", "scan(g, fun (a, v) => max(0.5 * a, v), c)"}},
  };
  const auto& [type, functions] = ofTypes[static_cast<std::size_t>(number(0, 9)) % 3];
  const std::string f = functions[static_cast<std::size_t>(number(0, static_cast<int>(functions.size()) - 1))];
  const int h = number(1, 12), w = number(2, 40), batch = number(1, 3);
  const std::string given = fmt::format("[{}][{}]{}", h, w, type);
  std::string columns = fmt::format("zip(transpose(x), gs) |> map(fun (c, g) => {})", f);
  if (number(0, 4) > 0) columns = "transpose(" + columns + ")";
  if (number(0, 2) > 0) return fmt::format("def main(x: {}, gs: [{}]{}) = {}\n", given, w, type, columns);
  return fmt::format("def main(xs: [{}]{}, gs: [{}]{}) = xs |> map(fun x => {})\n", batch, given, w, type, columns);
}

// A family of the part at a point of its space on the device; the default mapping where the family does not derive the
// part.
PartChoice drawn(const Part& part, std::uint64_t seed, const DeviceLimits& limits) {
  const auto& families = part.workload.families;
  try {
    const Variant v = derive(part.workload, families[seed % families.size()].name);
    const auto point = Sampler(spaceOf(v, limits), seed).next();
    if (point || v.program.tunables.empty()) return {v.family, point.value_or(Config()), "drawn"};
  } catch (const UserError&) {
  }
  return {defaultFamily, {}, "drawn"};
}

}  // namespace

namespace {

// Programs with each part by a family drawn of those that derive it, some at other points than the default, against the
// interpreter; how often each family was drawn.
std::map<std::string, int> deriveDrawn(const std::string& what, std::int64_t count,
                                       const std::function<std::string(std::uint64_t seed)>& program) {
  const std::int64_t seed = seedOr(31);
  const auto device = runtime::makeEmulatorDevice();
  const DeviceLimits limits = parseDeviceLimits(device->info().toJson());
  std::map<std::string, int> families;
  for (std::int64_t i = 0; i < count; i++) {
    const Case c(program(static_cast<std::uint64_t>(seed * 1000003 + i)));
    INFO("LIFT_TEST_SEED=" << seed << ", program " << i << "\n" << c.text);
    const Workload w = programWorkload(c.specialised, 0);
    const PartedProgram& parted = *w.family(partsFamilyName).parted;
    std::vector<PartChoice> choices;
    for (const Part& part : parted.parts) choices.push_back(drawn(part, static_cast<std::uint64_t>(i), limits));
    for (const PartChoice& choice : choices) families[choice.family]++;
    Workload by = w;
    by.families = {partsFamily(parted, choices)};
    const Variant v = derive(by, partsFamilyName);
    const auto outputs = device->load(compileVariant(v, v.defaults))->run(c.inputs).outputs;
    REQUIRE(compareResults(outputs, c.expected, {Tolerance{}.fused, longestSum(c.specialised)}) == "");
  }
  std::string text = fmt::format("random {}: {} of seed {};", what, count, seed);
  for (const auto& [name, n] : families) text += fmt::format(" {} {}", name, n);
  std::cout << text << std::endl;
  return families;
}

}  // namespace

TEST_CASE("random products and stencils mean the same when they are derived", "[null]") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", thinning > 1 ? 80 : 160);  // each family has its share
  auto families = deriveDrawn("products and stencils", count, [](std::uint64_t s) { return Drawing(s).program(); });
  for (const char* family : {"tiles", "panels", "staged", "strips", "lanes", "vectors", "default"})
    CHECK(families[family] * 40 >= count);
}

TEST_CASE("random sums of rows mean the same when they are derived", "[null]") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", thinning > 1 ? 40 : 160);  // each family has its share
  auto families = deriveDrawn("sums of rows", count, drawnSums);
  for (const char* family : {"rows", "dots", "groups"}) CHECK(families[family] * 40 >= count);
}

TEST_CASE("random reductions to tuples mean the same when they are derived", "[null]") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", 120 / thinning);
  auto families = deriveDrawn("reductions to tuples", count, drawnTuples);
  CHECK(families["vectors"] * 8 >= count);
  CHECK(families["copied"] + families["panels"] >= count / 60);
}

TEST_CASE("random scans and sums of columns mean the same when they are derived", "[null]") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", 120 / thinning);
  auto families = deriveDrawn("scans and sums of columns", count, drawnColumns);
  CHECK(families["vectors"] * 8 >= count);
}

TEST_CASE("random programs mean the same when their parts are derived", "[null]") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", 600 / thinning);
  const std::int64_t seed = seedOr(31);
  const auto device = runtime::makeEmulatorDevice();
  std::int64_t programs = 0, parts = 0, several = 0;
  std::map<std::string, int> families;
  for (std::int64_t i = 0; i < count; i++) {
    Choices choices = Choices::random(static_cast<std::uint64_t>(seed * 1000003 + i));
    const Case c(generate(choices).text);
    if (isMapped(c.specialised)) continue;
    INFO("LIFT_TEST_SEED=" << seed << ", program " << i << "\n" << c.text);
    const Workload w = programWorkload(c.specialised, 0);
    const Variant v = derive(w, partsFamilyName);
    verify(v.program);
    const auto outputs = device->load(compileVariant(v, v.defaults))->run(c.inputs).outputs;
    REQUIRE(compareResults(outputs, c.expected, {Tolerance{}.fused, longestSum(c.specialised)}) == "");
    const OperatorFamily& family = w.family(partsFamilyName);
    programs++;
    parts += std::ssize(*family.choices);
    several += family.choices->size() > 1;
    for (const PartChoice& choice : *family.choices) families[choice.family]++;
  }
  std::string text = fmt::format("random programs by parts: {} of seed {}, {} parts;", programs, seed, parts);
  for (const auto& [name, n] : families) text += fmt::format(" {} {}", name, n);
  std::cout << text << std::endl;
  CHECK(programs * 2 >= count);
  CHECK(several * 10 >= count);
}

// Found by the test above with other seeds.
TEST_CASE("programs that were derived wrongly are right", "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  const char* const step = GENERATE(
      // A name of a value in a register in front of what is kept.
      "def main(x: [7]f32) =\n  let v = padWrap(3, 1, let s = reduce(0.5, fun (a, b) => a * 0.5 + b, x) in map(fun a "
      "=> a "
      "* 0.5 + s, x)) in (v, reduce(0.0, fun (a, b) => a + b, v))\n",
      // toGlobal in a loop.
      "def main(x: [4][3][3]f32) =\n  map(fun v => transpose(map2D(abs, map(fun row => iterate(3, fun r => map(fun a "
      "=> "
      "max(a * 0.5, 0.25), r), row), toGlobal(map(fun row => map(fun a => a + 1.0, row), v))))), x)\n",
      "def main(x: [5][2][2]f32) =\n  let v = transpose(map(fun rows => map2D(fun a => select(a > 0.0, a, -a * 0.5), "
      "join(rows)), slide(1, 3, map(fun a => toGlobal(a), x)))) in (v, sum(join(join(v))))\n",
      // A table that is read in both branches, one of which is computed in steps.
      "def main(x: [4][1]f32) =\n  map(fun v => map(fun w => reduce(0.5, fun (acc, a) => acc * 0.5 + abs(a) - 0.5, w), "
      "slide(3, 1, let t = generate(6, fun i => v[0] * [0.5, 1.0, -2.0][i % 3]) in if t[0] > 0.0 then map(fun a => a - "
      "0.75, t) else map(fun a => a - 0.5, t))), x)\n",
      // Results that are repeated, not written through what repeats them.
      "def main(x: [3][6][7]f32) =\n  map(fun v => map(fun w => concat(w, w), map2D(fun a => fma(a, a, 0.125), "
      "slide(4, 2, "
      "reduce(generate(7, fun i => 0.0), fun (acc, a) => map(fun (p, q) => p + q * 0.5, zip(acc, a)), v)))), x)\n",
      // More loops than the result has dimensions.
      "def main(x: [2][8][6][9]f32) =\n  map(fun v => join(map(fun w => map3D(fun a => fma(a, a, 0.125), w), map(fun w "
      "=> transpose(w), "
      "transpose(map(fun w => slide(1, 2, w), v))))), x)\n",
      // Filled tiles of a product in a loop whose steps are kernels.
      "def main(x: [9][9]f32) =\n  iterate(2, fun v => map(fun row => map(fun column => reduce(0.0, fun (acc, p) => "
      "acc + "
      "p.0 * p.1, zip(row, column)), transpose(v)), v), x)\n",
      // What fails where its condition does not hold, around which products, rows and parts are derived.
      "def main(a: [64][64]i32, at: [64]i32, b: [64][64]i32) =\n  map(fun i => map(fun c => if i >= 0 then reduce(0, "
      "fun (s, (x, y)) => s + x * y, zip(a[i % 64], c)) else 7, b), map(fun v => min(v, 30), at))\n",
      "def main(d: [5000]i32) =\n  map(fun v => if v > 1000 then maximum(map(fun w => w / (d[1] - d[1]), d)) else v, "
      "d)\n",
      "def main(d: [2000]i32, z: [64]i32, a: [64][64]i32) =\n  (map(fun v => v > 1000 && sum(z) / (z[1] - z[1]) > 3, "
      "d), map(fun r => map(fun c => reduce(0, fun (s, (x, y)) => s + x * y, zip(r, c)), transpose(a)), a))\n",
      // What is kept, read once and perhaps never.
      "def main(x: [1]f32) =\n  let v = toGlobal(generate(1, fun i => x[i])) in generate(1, fun k => if k > 0 then "
      "v[k] "
      "else 0.5)\n");
  const Case c(step);
  INFO(c.text);
  const Workload w = programWorkload(c.specialised, 0);
  for (const OperatorFamily& family : w.families) {
    const Variant v = derive(w, family.name);
    const auto outputs = device->load(compileVariant(v, v.defaults))->run(c.inputs).outputs;
    CHECK(compareResults(outputs, c.expected, {Tolerance{}.fused, longestSum(c.specialised)}) == "");
  }
}
