// Launches that need not be: copies of intermediates, work that nothing reads, neighbours.
#include "codegen/helpers.hpp"

namespace lift::codegen_tests {

namespace {

struct Shape {
  int launches, temporaries;
  friend bool operator==(const Shape&, const Shape&) = default;
  friend std::ostream& operator<<(std::ostream& os, const Shape& s) {
    return os << s.launches << " launches, " << s.temporaries << " temporaries";
  }
};

// Of the program's plan, which gives what the interpreter gives with its sizes as arguments, built in, and where
// kernels check.
Shape shapeOf(const std::string& text, const Sizes& sizes, const CompileOptions& options = {}) {
  const Program program = parse(text), built = at(program, sizes);
  CompileOptions checks = options;
  checks.checkBounds = true;
  CHECK(wrong(built, options) == "");
  CHECK(wrong(built, checks) == "");
  const Tensors inputs = inputsOf(built);
  const kernel::Plan plan = compile(program, options);
  CHECK(differences(emulate(plan, inputs, sizes), interpret(built, inputs), sumTolerance) == "");
  const kernel::Plan constant = compile(built, options);
  for (const kernel::Launch& l : plan.launches)
    CHECK(l.arguments.size() == plan.kernels[static_cast<std::size_t>(l.kernel)].arguments.size());
  return {static_cast<int>(constant.launches.size()), temporariesOf(constant)};
}

const std::string pooled = R"(
  let r = slide2D(2, 2, 2, 2, x) |> map2D(fun w => maximumIndexed(join(w))) in
  let (places, values) = unzip2D(r) in )";
std::string pool(const std::string& types, const std::string& result) {
  return "def main(x: [2 * h][2 * w]f32): (" + types + ") = " + pooled + result;
}

}  // namespace

TEST_CASE("an intermediate that is only copied to a result is the result") {
  const Sizes sizes{{"h", 5}, {"w", 6}};
  const std::string both = "[h][w]f32, [h][w]i32";
  CHECK(shapeOf(pool(both, "(values, places)"), sizes) == Shape{1, 0});
  CHECK(shapeOf(pool("[h][w]i32, [h][w]f32", "unzip2D(r)"), sizes) == Shape{1, 0});
  CHECK(shapeOf(pool("[h * w]f32, [h][w]i32", "(join(values), places)"), sizes) == Shape{1, 0});
  CHECK(compile(at(parse(pool(both, "(values, places)")), sizes)).kernels[0].name == "main_");
  // What is read otherwise stays, also where it is copied somewhere else.
  CHECK(shapeOf(pool(both, "(map2D(fun v => v * 2.0, values), places)"), sizes) == Shape{2, 1});
  CHECK(shapeOf(pool("[h][w]f32, [h][w]f32", "(values, values)"), sizes) == Shape{2, 0});
  CHECK(shapeOf(pool("[w][h]f32, [h][w]i32", "(transpose(values), places)"), sizes) == Shape{2, 1});
  CHECK(shapeOf(R"(
    def main(x: [n]f32): [n]f32 = let a = toGlobal(map(sin, x)) in scatter(a, map(fun v => i32(v) % n, x), a))",
                {{"n", 7}})
            .temporaries == 1);
}

TEST_CASE("what nothing reads is not stored") {
  const std::string text = R"(
    def main(heads: [n]i32, xs: [n]f32): [n]f32 =
      zip(heads, xs) |> scan((0, 0.0), fun ((f, a), (g, x)) => (f | g, if g != 0 then x else a + x)) |> map(fun p => p.1))";
  CHECK(shapeOf(text, {{"n", 9}}) == Shape{1, 0});
  const kernel::Plan plan = compile(parse(text));
  CHECK(plan.kernels[0].arguments.size() == 3);
  CHECK_FALSE(contains(plan.sources[0], "|"));
}

TEST_CASE("what a loop of launches exchanges is copied to the result") {
  const std::string text = R"(
    def main(x: [n]f32, k: i32): ([n]f32, [n]f32) =
      iterate(20, fun (a, b) => (map(fun v => v + 1.0, reorder(reverse, b)), map(fun v => v * 0.5, a)), (x, x)))";
  const kernel::Plan plan = compile(at(parse(text), {{"n", 8}}));
  CHECK(plan.loops.size() == 1);
  CHECK(wrong(text, {{"n", 8}}) == "");
}

TEST_CASE("what one work-item computes and reads again is done by one launch") {
  CHECK(shapeOf(R"(
    def main(a: [n]i32, b: [n]i32): i32 =
      let step = fun (row, d) => generate(n, fun i => if i == 0 then d else min(row[i - 1], row[i]) + a[i]) in
      let last = b |> reduce(generate(n, fun i => i), step) in
      last[n - 1])",
                {{"n", 6}})
            .launches == 1);
}

TEST_CASE("neighbouring launches of short, independent work become one") {
  // Fields of each other's neighbours.
  const auto fields = [](const std::string& value) {
    return R"(
      def main(ex: [h][w]f32, ey: [h][w]f32, hx: [h][w]f32, hy: [h][w]f32):
          ([h][w]f32, [h][w]f32, [h][w]f32, [h][w]f32) =
        let next = fun (f, y, x) => if y < h && x < w then f[y][x] else 0.0 in
        let before = fun (f, y, x) => if y >= 0 && x >= 0 then f[y][x] else 0.0 in
        let f = fun v => )" +
           value + R"( in
        let nhx = generate2D(h, w, fun (y, x) => hx[y][x] - 0.5 * f(next(ey, y + 1, x) - ey[y][x])) in
        let nhy = generate2D(h, w, fun (y, x) => hy[y][x] - 0.5 * f(next(ex, y, x + 1) - ex[y][x])) in
        let nex = generate2D(h, w, fun (y, x) => ex[y][x] + 0.5 * (nhy[y][x] - before(nhy, y, x - 1) + before(nhx, y, x - 1))) in
        let ney = generate2D(h, w, fun (y, x) => ey[y][x] + 0.5 * (nhx[y][x] - before(nhx, y - 1, x) + before(nhy, y - 1, x))) in
        (nex, ney, nhx, nhy))";
  };
  const Sizes sizes{{"h", 9}, {"w", 70}};
  CHECK(shapeOf(fields("v"), sizes) == Shape{2, 0});
  const kernel::Plan plan = compile(parse(fields("v")));  // one nest of loops
  REQUIRE(plan.kernels.size() == 2);
  CHECK(occurrences(plan.sources[0], "get_global_id(0)") == 1);
  CHECK(plan.kernels[0].name == "main_2");
  CHECK(plan.kernels[1].name == "main_");
  // Registers would run out, or loops take the time anyway.
  std::string costly = "v";
  for (int i = 0; i < 8; i++) costly = "exp(sin(" + costly + "))";
  CHECK(shapeOf(fields(costly), sizes).launches == 3);
  CHECK(shapeOf(fields("(generate(9, fun i => sin(v * f32(i))) |> sum)"), sizes).launches == 3);
}

TEST_CASE("launches of unlike ranges, that depend on each other, or of parts and the whole of a loop are not joined") {
  const auto two = [](const std::string& b, const std::string& result, const std::string& m = "n") {
    return "def main(x: [n]f32, y: [" + m + "]f32): ([n]f32, [" + m + "]f32) =\n" +
           "let a = toGlobal(map(fun v => v * 2.0 + 1.0, x)) in let b = toGlobal(" + b + ") in " + result;
  };
  const std::string twice = "map(fun v => v * 3.0, y)";
  CHECK(shapeOf(two(twice, "(a, b)"), {{"n", 70}}).launches == 1);
  const Program lanes =
      at(parse("def main(x: [n]f32, y: [n]f32): ([n]f32, [n]f32) = let a = toGlobal(mapGlb(0, fun l => "
               "mapSeq(fun v => v * 2.0, l), split(4, x)) |> join) in "
               "(a, toGlobal(mapGlb(0, fun l => mapSeq(fun v => v * 3.0, l), split(4, y)) |> join))"),
         {{"n", 280}});
  CHECK(compile(lanes).launches.size() == 1);
  CHECK(wrong(lanes) == "");
  CHECK(shapeOf(two(twice, "(a, b)", "m"), {{"n", 70}, {"m", 6}}).launches == 2);
  CHECK(shapeOf(two("map(fun v => v * 3.0, reorder(reverse, a))", "(a, b)"), {{"n", 70}}).launches == 2);
  // What depends on weights alone is computed once.
  CompileOptions weights;
  weights.constants = {"x"};
  const std::string sums = "(map(fun (p, q) => p + q, zip(reorder(reverse, a), reorder(reverse, b))), b)";
  const kernel::Plan plan = compile(at(parse(two(twice, sums)), {{"n", 70}}), weights);
  CHECK(plan.preparation.size() == 1);
  CHECK(plan.launches.size() == 2);
  // In each step, and once behind all of them.
  const std::string loop = R"(
    def main(x: [n]f32): ([n]f32, [n]f32, [n]f32) =
      let (a, b) = iterate(20, fun (a, b) =>
        let c = toGlobal(map(fun v => v * 0.5, reorder(reverse, a))) in
        let d = toGlobal(map(fun v => v + 1.0, reorder(reverse, b))) in
        (map(fun (p, q) => p - q, zip(reorder(reverse, c), d)), map(fun (p, q) => p + q, zip(c, reorder(reverse, d)))), (x, x)) in
      (a, b, map(fun v => v * 2.0, reorder(reverse, x))))";
  CHECK(wrong(loop, {{"n", 66}}) == "");
  const kernel::Plan looped = compile(at(parse(loop), {{"n", 66}}));
  REQUIRE(looped.loops.size() == 1);
  CHECK(looped.loops[0].last - looped.loops[0].first == 2);
}

}  // namespace lift::codegen_tests
