// The default mapping, the rules of mappings, kernel boundaries.
#include "codegen/helpers.hpp"

namespace lift::codegen_tests {
namespace {

int kernels(const std::string& text) { return static_cast<int>(compile(parse(text)).kernels.size()); }
int launches(const std::string& text) { return static_cast<int>(compile(parse(text)).launches.size()); }

// "line:column message" of every complaint.
std::vector<std::string> violations(const std::string& text) {
  std::vector<std::string> out;
  for (const Diagnostic& d : complaints(parse(text))) {
    REQUIRE(d.span.file);
    const Position p = positionOf(*d.span.file, d.span.begin);
    out.push_back(fmt::format("{}:{} {}", p.line, p.column, d.message));
  }
  return out;
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a map becomes one over global work-items") {
  const std::string text = "def main(x: [n]f32): [n]f32 = map(fun v => v + 1.0, x)";
  CHECK(contains(mapped(text), "mapGlb(0, fun"));
  CHECK(kernels(text) == 1);
  CHECK(wrong(text, {{"n", 7}}) == "");
}

TEST_CASE("the three outermost maps of a nest are dimensions 2, 1, 0; what is below is sequential") {
  const std::string text = "def main(x: [a][b][c][4]f32): [a][b][c][4]f32 = map3D(map(fun v => v * 2.0), x)";
  const std::string result = mapped(text);
  CHECK(result.find("mapGlb(2") < result.find("mapGlb(1"));
  CHECK(result.find("mapGlb(1") < result.find("mapGlb(0"));
  CHECK(occurrences(result, "mapGlb") == 3);
  CHECK(wrong(text, {{"a", 2}, {"b", 3}, {"c", 2}}) == "");
}

TEST_CASE("a map over one element takes no dimension") {
  const std::string text = "def main(x: [1][n][m]f32): [1][n][m]f32 = map3D(fun v => v * 2.0, x)";
  CHECK(occurrences(mapped(text), "mapGlb(1") == 1);
  CHECK_FALSE(contains(mapped(text), "mapGlb(2"));
  CHECK(rangeOf(compile(at(parse(text), {{"n", 3}, {"m", 5}})).kernels[0]) == "5 3 1; 5 1 1");
  CHECK(wrong(text, {{"n", 3}, {"m", 5}}) == "");
}

TEST_CASE("a reduction over joined arrays is nested reductions, over a single row or several zipped") {
  const std::string one = "def main(x: [n][a][b]f32): [n]f32 = map(fun y => reduce(0.0, add, join(y)), x)";
  CHECK(occurrences(mapped(one), "reduceSeq") == 2);
  CHECK_FALSE(contains(mapped(one), "join"));
  CHECK(wrong(one, {{"n", 2}, {"a", 3}, {"b", 4}}) == "");
  const std::string two = R"(
    def main(x: [n][2][3][5]f32, w: [2][3][5]f32): [n]f32 =
      map(fun y => reduce(0.0, fun (acc, (p, q)) => acc + p * q, zip(join(join(y)), join(join(w)))), x))";
  CHECK(occurrences(mapped(two), "reduceSeq") == 3);
  CHECK(kernel::structure(compile(parse(two)).kernels[0]).at("loop") == 3);
  CHECK(wrong(two, {{"n", 3}}) == "");
  // Rows of different lengths do not fit together.
  const std::string uneven = R"(
    def main(x: [n][2][6]f32, w: [3][4]f32): [n]f32 =
      map(fun y => reduce(0.0, fun (acc, (p, q)) => acc + p * q, zip(join(y), join(w))), x))";
  CHECK(occurrences(mapped(uneven), "reduceSeq") == 1);
  CHECK(wrong(uneven, {{"n", 3}}) == "");
}

TEST_CASE("a mapped program is left as it is") {
  const Program program = example("matmul");
  CHECK(isMapped(program));
  CHECK(mapByDefault(program).body == program.body);
  CHECK_FALSE(isMapped(example("conv_layer")));
  CHECK_FALSE(isMapped(parse("def main(x: [n]f32): [n]f32 = toGlobal(map(fun v => v + 1.0, x))")));
  CHECK_FALSE(isMapped(mapByDefault(parse("def main(x: f32): f32 = x + 1.0"))));
}

TEST_CASE("elementwise producers and rearrangements fuse into their consumers") {
  for (const std::string text :
       {"def main(x: [n]f32): [n]f32 = x |> map(fun v => v + 1.0) |> map(fun v => v * 2.0)",
        "def main(x: [1000]f32): f32 = x |> map(fun v => v + 1.0) |> reduce(0.0, add)",
        "def main(x: [n][m]f32): [m][n]f32 = x |> map2D(fun v => v + 1.0) |> transpose |> map2D(fun v => v * v)",
        "def main(x: [n]f32): [n]f32 = let y = reorder(reverse, x) in map(fun (a, b) => a + b, zip(x, y))",
        "def main(x: [n]f32): [n]f32 = padClamp(1, 1, x) |> slide(3, 1) |> map(reduce(0.0, add))"}) {
    INFO(text);
    CHECK(kernels(text) == 1);
    CHECK(temporariesOf(compile(parse(text))) == 0);
  }
}

TEST_CASE("intermediates that would be computed more than once are kernels of their own") {
  // Sums of rows, each read by every element of the result.
  const std::string sums = R"(
    def main(x: [n][m]f32): [n][n]f32 =
      let sums = map(reduce(0.0, add), x) in
      map(fun a => map(fun b => a * b, sums), sums))";
  CHECK(kernels(sums) == 2);
  CHECK(temporariesOf(compile(parse(sums))) == 1);
  CHECK(wrong(sums, {{"n", 3}, {"m", 4}}) == "");
  // Without the name, too.
  const std::string product = R"(
    def product(a, b) = map(fun row => map(fun column => dotProduct(row, column), transpose(b)), a)
    def main(a: [m][k]f32, b: [k][l]f32, c: [l][n]f32): [m][n]f32 = product(product(a, b), c))";
  CHECK(kernels(product) == 2);
  CHECK(wrong(at(parse(product, "main"), {{"m", 2}, {"k", 3}, {"l", 4}, {"n", 5}})) == "");
}

TEST_CASE("cheap results that overlapping windows share are computed again, but not without bound") {
  const auto chain = [](int stages) {
    std::string text = "def main(x: [40]f32) = x";
    for (int i = 0; i < stages; ++i) text += " |> slide(3, 1) |> map(fun w => w[0] + w[1] * w[2])";
    return text;
  };
  // 2 operations, 2 + 3 * 2, 2 + 3 * 8: the third stage is stored, and so is every third after it.
  for (const auto& [stages, expected] : {std::pair{1, 1}, {2, 1}, {3, 1}, {4, 2}, {6, 2}, {7, 3}, {12, 4}}) {
    INFO(stages << " stages");
    CHECK(kernels(chain(stages)) == expected);
    CHECK(wrong(chain(stages), {}) == "");
  }
  // Windows in two dimensions share more; windows side by side, nothing.
  const std::string square = R"(
    def stage(x) = slide2D(3, 3, 1, 1, x) |> map2D(fun w => w[0][0] + w[1][1] + w[2][2] + w[1][0])
    def main(x: [12][12]f32) = stage(stage(stage(stage(x)))))";
  CHECK(kernels(square) == 2);
  CHECK(wrong(square, {}) == "");
  // What is stored is the stage, not its windows.
  const std::string sums = R"(
    def stage(x) = slide2D(3, 3, 1, 1, x) |> map2D(fun w => reduce2D(0.0, add, w))
    def main(x: [9][9]f32) = stage(stage(x)))";
  CHECK(kernels(sums) == 2);
  CHECK(wrong(sums, {}) == "");
  std::string apart = "def main(x: [729]f32) = x";
  for (int i = 0; i < 6; ++i) apart += " |> slide(3, 3) |> map(fun w => w[0] + w[1] * w[2])";
  CHECK(kernels(apart) == 1);
}

TEST_CASE("toGlobal makes a kernel of what would be fused") {
  const std::string text = R"(
    def main(x: [n]f32): [n]f32 = x |> map(fun v => v + 1.0) |> toGlobal |> reorder(reverse) |> map(fun v => v * 2.0))";
  CHECK(kernels(text) == 2);
  const kernel::Plan plan = compile(parse(text));
  CHECK(temporariesOf(plan) == 1);
  REQUIRE(plan.launches.size() == 2);
  CHECK(plan.launches[0].arguments.back() == plan.launches[1].arguments.front());
  CHECK(wrong(text, {{"n", 7}}) == "");
}

TEST_CASE("results that only move data are copied, each element by a work-item") {
  for (const std::string text :
       {"def main(x: [n][m]f32): [m][n]f32 = transpose(x)", "def main(x: [n][m]f32): [n * m]f32 = join(x)",
        "def main(x: [n][m]f32): [n][m + 3]f32 = map(pad(1, 2, 0.0), x)",
        "def main(x: [n][m]f32): ([m][n]f32, [n][m]f32) = (transpose(x), map(reorder(reverse), x))",
        "def main(x: [n][m]f32): [n + n][m]f32 = concat(x, reorder(reverse, x))"}) {
    INFO(text);
    CHECK(contains(mapped(text), "mapGlb"));
    CHECK(wrong(text, {{"n", 3}, {"m", 4}}) == "");
  }
}

TEST_CASE("iterate over kernels makes one kernel and a launch for every step") {
  const std::string text = R"(
    def main(x: [n]f32): [n]f32 =
      x |> iterate(5, fun y => padClamp(1, 1, y) |> slide(3, 1) |> map(fun w => 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2])
        |> toGlobal))";
  CHECK(launches(text) == 5);
  CHECK(kernels(text) == 1);
  CHECK(wrong(text, {{"n", 9}}) == "");
  // Each step reads what the one before has written.
  const kernel::Plan plan = compile(parse(text));
  for (std::size_t i = 1; i < plan.launches.size(); i++)
    CHECK(plan.launches[i].arguments.front() == plan.launches[i - 1].arguments.back());
  CHECK(plan.buffers[static_cast<std::size_t>(plan.launches.back().arguments.back())].name == "out");
}

TEST_CASE("what the last step of an iteration over tuples leaves in memory is not copied by one work-item") {
  const Program p = parse(
      "def main(x: [64][64]f32): [64][64]f32 = let (i, r) = iterate(20, fun (i, v) => (i + 1, map2D(fun e => e * 0.5 + "
      "f32(i), transpose(v))), (0, x)) in r");
  const kernel::Plan plan = compile(p);
  for (const kernel::Kernel& k : plan.kernels) {
    INFO(k.name);
    CHECK(kernel::structure(k).at("loop") == 0);  // a loop would copy
  }
  const Tensors inputs = inputsOf(p);
  CHECK(differences(emulate(plan, inputs), interpret(p, inputs), 1e-6) == "");
}

TEST_CASE("the results of unzip2D have a dimension for rows and one for columns") {
  const kernel::Plan plan =
      compile(parse("def main(x: [64][48]f32) = unzip(map(unzip, map2D(fun e => (e * 0.5, e + 1.0), x)))"));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(rangeOf(plan.kernels[0]).starts_with("48 64 1;"));
}

TEST_CASE("more steps than a few, and steps that are not known, are a loop of launches") {
  const std::string reversing = R"(
    def main(steps: nat, x: [n]f32): [n]f32 =
      iterate(steps, fun y => mapGlb(0, fun v => v * 0.5, reorder(reverse, y)), x))";
  const std::string blur = R"(
    def main(steps: nat, x: [n]f32): ([n]f32, f32) =
      let y = iterate(steps + steps, fun y => padClamp(1, 1, y) |> slide(3, 1)
        |> map(fun w => 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2] + 0.001 * maximum(x)), x) in
      (map(fun v => v + 1.0, y), y[0]))";
  const std::string pairs = R"(
    def step(dt, (xs, vs)) =
      let fs = map(fun x => sum(map(fun y => (y - x) * 0.001, xs)), xs) in
      let new = zipWith(fun (v, f) => v + f * dt, vs, fs) in
      (zipWith(fun (x, v) => x + v * dt, xs, new), new)
    def main(steps: nat, x: [n]f32): [n]f32 = iterate(steps, fun s => step(0.5, s), (x, map(fun v => v * 0.0, x))).0)";
  const std::string nested = R"(
    def main(steps: nat, x: [n]f32): [n]f32 =
      iterate(steps, fun y => let z = iterate(steps * 20, fun w => map(fun v => v * 0.99, reorder(reverse, w)), y) in
        map(fun (a, b) => a + 0.1 * b, zip(z, y)), x))";
  const auto check = [](const std::string& text, std::size_t most) {
    INFO(text);
    const kernel::Plan symbolic = compile(parse(text));
    CHECK(symbolic.loops.size() >= 1);
    CHECK(symbolic.launches.size() <= most);
    for (const std::int64_t steps : {1, 2, 3, 17, 40}) {
      INFO(steps << " steps");
      const Program known = at(parse(text), {{"n", 5}, {"steps", steps}});
      CHECK(wrong(known) == "");
      const Tensors inputs = inputsOf(known), expected = interpret(known, inputs);
      const auto loaded = runtime::makeEmulatorDevice()->load(symbolic, {{"n", 5}, {"steps", steps}});
      CHECK(differences(loaded->run(inputs).outputs, expected, sumTolerance) == "");
      CHECK(differences(loaded->run(inputs).outputs, expected, sumTolerance) == "");  // once more, buffers exchanged
    }
  };
  check(reversing, 3);
  check(blur, 9);
  check(pairs, 10);
  check(nested, 9);

  // Components of a step's value that the step has stored are the next state where they are: nothing is copied.
  const std::string smooth = R"(
    def smooth(x: [n]f32): [n]f32 = map(fun w => 0.3 * w[0] + 0.4 * w[1] + 0.2 * w[2], slide(3, 1, padClamp(1, 1, x)))
    def main(steps: nat, x: [n]f32): )";
  const auto steps = [&](const std::string& type, const std::string& step, const std::string& start) {
    return smooth + type + " = iterate(steps, fun s => " + step + ", " + start + ")";
  };
  const std::string settles =
      steps("([n]f32, f32)", "let y = smooth(smooth(s.0)) in (y, maximum(zipWith(fun (a, b) => abs(a - b), y, s.0)))",
            "(x, 0.0)");
  const std::string exchanged =
      steps("([n]f32, [n]f32)", "let y = smooth(s.0) in (smooth(s.1), smooth(y))", "(x, smooth(x))");
  const std::string twice = steps("([n]f32, [n]f32)", "let y = smooth(smooth(s.1)) in (y, y)", "(x, smooth(x))");
  const std::string kept =
      steps("([n]f32, [n]f32, [n]f32)", "(s.1, smooth(smooth(s.2)), s.0)", "(x, smooth(x), smooth(smooth(x)))");
  const std::string constant = steps(
      "([n]f32, [n]f32, f32)", "let y = smooth(smooth(s.1)) in (smooth(smooth(x)), y, maximum(y))", "(x, x, 0.0)");
  const std::string forgets = steps("[n]f32", "smooth(smooth(x))", "x");
  const std::string within = steps(
      "([n]f32, [n]f32)", "let a = iterate(steps * 20, fun y => smooth(y), s.0) in (a, smooth(smooth(a)))", "(x, x)");
  for (const std::string& text : {settles, exchanged, twice, kept, constant, forgets, within}) check(text, 12);
  const kernel::Plan settling = compile(parse(settles));
  REQUIRE(settling.loops.size() == 1);
  CHECK(settling.loops[0].last - settling.loops[0].first == 3);  // smoothed, the maximum in two

  // A count that may be 0 leaves what was.
  const std::string maybe = R"(
    def main(steps: nat, x: [n]f32): [n]f32 = iterate(steps - 1, fun y => map(fun v => v * 0.5, y), x))";
  const kernel::Plan plan = compile(parse(maybe));
  for (const std::int64_t steps : {1, 2, 3}) {
    const Program known = at(parse(maybe), {{"n", 5}, {"steps", steps}});
    const Tensors inputs = inputsOf(known);
    CHECK(differences(emulate(plan, inputs, {{"n", 5}, {"steps", steps}}), interpret(known, inputs), 0) == "");
  }
  // What does not change from step to step is computed before: the maximum of x, once.
  const kernel::Plan once = compile(parse(blur));
  REQUIRE(once.loops.size() == 1);
  CHECK(once.loops[0].last - once.loops[0].first == 1);
}

TEST_CASE("steps that go on while a condition holds are a loop of launches that ends early") {
  const std::string until = R"(
    def main(x: [n]f32): [n]f32 =
      let (r, d) = iterateWhile(60, fun (u, d) => d > 0.125, fun (u, d) =>
        let v = map(fun w => (w[0] + w[2]) * 0.5, slide(3, 1, padClamp(1, 1, u))) in
        (v, maximum(map(fun (a, b) => abs(a - b), zip(u, v)))), (x, 1.0)) in r)";
  const std::string asArrays = R"(
    def main(x: [n]f32): [n]f32 = iterateWhile(40, fun v => sum(map(fun a => a * a, v)) > 0.5 && v[0] > -2.0,
      fun v => map(fun a => a * 0.75, reorder(reverse, v)), x))";
  const std::string counted = R"(
    def main(steps: nat, x: [n]f32): ([n]f32, i32) = iterateWhile(steps - 1, fun (v, k) => k < 7,
      fun (v, k) => (map(fun a => a * 0.5 + 1.0, v), k + 1), (x, 0)))";
  // Loops in the condition, around and inside; nothing of one is asked in the others' turns.
  const std::string nested = R"(
    def main(steps: nat, x: [n]f32): [n]f32 =
      iterate(steps, fun y => iterateWhile(30, fun v =>
          sum(iterate(20, fun w => map(fun a => a * 0.9, reorder(reverse, w)), v)) < 0.2,
        fun v => iterateWhile(3, fun u => u[0] < 4.0, fun u => map(fun a => a + 0.25, u), map(fun a => a * 1.5, v)), y), x))";
  // The step indexes where the condition says that it may; what it indexes does not change.
  const std::string guarded = R"(
    def main(x: [n]f32, k: [n]i32): ([n]f32, i32) = iterateWhile(50, fun (v, i) => i < n && k[i] >= 0 && k[i] < n,
      fun (v, i) => (map(fun a => a * 0.5 + x[k[i]] + maximum(map(fun (b, j) => b + x[k[i]], zip(x, k))), v), i + 1), (x, 0)))";
  const std::string inPlace = R"(
    def main(x: [n]f32): ([n]f32, i32) = iterateWhile(20, fun (v, i) => i < n - 1 && v[i] < 3.0,
      fun (v, i) => (reduceByIndex(v, fun (a, b) => a + b, map(fun j => (j, x[j] * 0.5), indices(n))), i + 1), (x, 0)))";
  const auto loopsOf = [](const std::string& text) { return compile(parse(text)).loops; };
  for (const std::string& text : {until, asArrays, counted, nested, guarded, inPlace}) {
    INFO(text);
    const kernel::Plan symbolic = compile(parse(text));
    runtime::verify(symbolic);
    CHECK(std::ranges::any_of(symbolic.loops, [](const auto& l) { return l.condition.has_value(); }));
    const bool hasSteps = symbolic.sizes.size() > 1;
    for (const std::int64_t n : {1, 5, 33})
      for (const std::int64_t steps : hasSteps ? std::vector<std::int64_t>{1, 2, 12} : std::vector<std::int64_t>{1}) {
        INFO("n = " << n << ", steps = " << steps);
        std::map<std::string, std::int64_t> sizes{{"n", n}};
        if (hasSteps) sizes["steps"] = steps;
        const Program known = at(parse(text), sizes);
        const Tensors inputs = inputsOf(known), expected = interpret(known, inputs);
        const auto loaded = runtime::makeEmulatorDevice()->load(symbolic, sizes);
        CHECK(differences(loaded->run(inputs).outputs, expected, sumTolerance) == "");
        CHECK(differences(loaded->run(inputs).outputs, expected, sumTolerance) == "");  // once more, buffers exchanged
        CHECK(wrong(known) == "");
      }
  }
  // Both ends: the condition never holds, or always.
  for (const char* condition : {"false", "true"})
    CHECK(wrong(fmt::format("def main(x: [n]f32): [n]f32 = iterateWhile(5, fun v => {}, fun v => map(fun a => a * 0.5, "
                            "v), x)",
                            condition),
                {{"n", 7}}) == "");
  // The condition is asked in front of the step, in the same turn.
  const auto loops = loopsOf(until);
  REQUIRE(loops.size() == 1);
  REQUIRE(loops[0].condition.has_value());
  CHECK(loops[0].condition->at == loops[0].first + 1);
  CHECK(loops[0].condition->at < loops[0].last);
  // Little work stays with one work-item, which asks in no time.
  CHECK(compile(at(parse(until), {{"n", 64}})).loops.empty());
  CHECK(compile(at(parse(until), {{"n", 100000}})).loops.size() == 1);
  CHECK(loopsOf("def main(x: [n][3]f32): [n][3]f32 = map(fun r => iterateWhile(9, fun v => v[0] < 1.0, fun v => "
                "map(fun a => a + 0.5, v), r), x)")
            .empty());
  // A program may say itself where the steps run.
  CHECK(loopsOf("def main(x: [n]f32): [n]f32 = iterateWhile(9, fun v => v[0] < 1.0, mapGlb(0)(fun a => a + 0.5), x)")
            .size() == 1);
}

TEST_CASE("steps of a reduction that are much work run over many work-items") {
  const auto recurrent = [](const std::string& step) {
    return "def main(x: [t][n]f32, w: [n][n]f32): ([n]f32, i32) = x |> reduce((fill(n, 0.1), 0), fun ((s, k), x) => "
           "(zipWith(fun (r, v) => " +
           step + ", w, x), k + 1))";
  };
  // Each step reads the whole state.
  const std::string product = recurrent("0.01 * (dotProduct(r, s) + v)");
  CHECK(wrong(at(parse(product), {{"t", 3}, {"n", 192}})) == "");
  CHECK(wrong(at(parse(product), {{"t", 40}, {"n", 192}})) == "");
  const kernel::Plan plan = compile(at(parse(product), {{"t", 40}, {"n", 192}}));
  REQUIRE(plan.loops.size() == 1);
  CHECK(plan.loops[0].last - plan.loops[0].first <= 4);
  // Of elements that are computed they are there before the first step.
  const std::string computed =
      "def main(x: [t][n]f32, w: [n][n]f32): [n]f32 = map(fun r => map(fun v => exp(v) * "
      "maximum(r), r), x) |> reduce(fill(n, 0.1), fun (s, x) => "
      "zipWith(fun (r, v) => 0.01 * (dotProduct(r, s) + v), w, x))";
  CHECK(wrong(at(parse(computed), {{"t", 40}, {"n", 192}})) == "");
  // Steps of little work stay in one kernel.
  CHECK(compile(at(parse(recurrent("0.5 * (v + s[0])")), {{"t", 40}, {"n", 192}})).loops.empty());
}

TEST_CASE("large states of a work-item are in global memory, not on a stack") {
  const std::string text =
      "def main(x: [n][n]f32): [n][n]f32 = iterateWhile(3, fun v => v[0][0] < 8.0, fun v => map2D(fun w => w[0][0] + "
      "w[1][1], slide2D(2, 2, 1, 1, padClamp2D(1, 0, 0, 1, v))), x)";
  const auto privateArrays = [&](std::int64_t n) {
    const Program program = at(parse(text), {{"n", n}});
    if (n < 100) CHECK(wrong(program) == "");
    std::int64_t arrays = 0;
    for (const kernel::Kernel& k : compile(program).kernels)
      for (const kernel::Buffer& b : k.buffers) arrays += b.space == kernel::AddressSpace::priv;
    return arrays;
  };
  CHECK(privateArrays(20) > 0);
  CHECK(privateArrays(70) == 0);
  CHECK(privateArrays(2048) == 0);
}

TEST_CASE("steps of a reduction whose result is read behind a condition") {
  const std::string state =
      "(x |> reduce(fill(n, 0.1), fun (s, x) => zipWith(fun (r, v) => 0.01 * (dotProduct(r, s) + v), w, x)))";
  const std::string head = "def main(x: [t][n]f32, w: [n][n]f32, k: [1]i32): f32 = ";
  const std::string read = "if k[0] >= 0 && k[0] < n then v[k[0]] else 0.25";
  const auto loops = [&](const std::string& text) {
    const Program program = at(parse(text), {{"t", 20}, {"n", 192}});
    CHECK(wrong(program) == "");
    return compile(program).loops.size();
  };
  // Before the condition where the program names it there, else by one work-item: steps read the input by indices.
  CHECK(loops(head + "let v = " + state + " in " + read) == 1);
  CHECK(loops(head + "if k[0] >= 0 && k[0] < n then let v = " + state + " in v[k[0]] else 0.25") == 0);
}

TEST_CASE("steps of a scan that are much work run over many work-items, and write their results in place") {
  const std::string product = "zipWith(fun (r, v) => 0.01 * (dotProduct(r, s) + v), w, x)";
  const std::vector<std::string> programs{
      "def main(x: [t][n]f32, w: [n][n]f32): [t][n]f32 = x |> scan(fill(n, 0.1), fun (s, x) => " + product + ")",
      "def main(x: [t][n]f32, w: [n][n]f32): [t][n]f32 = x |> scanExclusive(fill(n, 0.1), fun (s, x) => " + product +
          ")",
      "def main(x: [t][n]f32, w: [n][n]f32): [t][n]f32 = x |> scan((fill(n, 0.1), fill(n, 0.2)), fun ((s, c), x) => "
      "let d = " +
          product + " in (zipWith(add, c, d), d)) |> map(fun (s, c) => s)"};
  for (const std::string& text : programs) {
    INFO(text);
    for (const std::int64_t steps : {1, 3, 20}) CHECK(wrong(at(parse(text), {{"t", steps}, {"n", 192}})) == "");
    const kernel::Plan plan = compile(at(parse(text), {{"t", 20}, {"n", 192}}));
    REQUIRE(plan.loops.size() == 1);
    CHECK(plan.loops[0].last - plan.loops[0].first <= 4);
    // The results, of all steps, are no state that steps exchange.
    for (const auto& [a, b] : plan.loops[0].swaps)
      CHECK(plan.buffers[static_cast<std::size_t>(a)].shape != std::vector<Nat>{20, 192});
  }
}

TEST_CASE("a table of constants that cost more than reading them is computed once") {
  const std::string text = R"(
    def table = generate2D(8, 8, fun (u, x) => 0.5 * cos(f32((2 * x + 1) * u) / 16.0) + sqrt(f32(u)))
    def main(x: [n][8]f32): [n][8]f32 = map(fun row => map(fun t => dotProduct(row, t), table), x))";
  CHECK(wrong(at(parse(text), {{"n", 70}})) == "");
  const kernel::Plan plan = compile(at(parse(text), {{"n", 70}}));
  const auto computes = [](const std::string& source) { return source.find("cos(") != std::string::npos; };
  CHECK(std::count_if(plan.sources.begin(), plan.sources.end(), computes) == 1);
  CHECK(plan.sources.size() == 2);
}

TEST_CASE("equal stages share a kernel, whatever they are called") {
  const std::string text = R"(
    def main(x: [n]f32, y: [n]f32): [n]f32 =
      let a = toGlobal(map(fun v => v * 2.0 + 1.0, x)) in
      let b = toGlobal(map(fun w => w * 2.0 + 1.0, a)) in
      map(fun (p, q) => p - q, zip(y, reorder(reverse, b))))";
  CHECK(launches(text) == 3);
  CHECK(kernels(text) == 2);
  CHECK(wrong(text, {{"n", 6}}) == "");
}

TEST_CASE("stages that each read the one before twice are visited once each") {
  std::string text =
      "def stage(y) = let s = sum(y) in map(fun a => a / s + exp(a), y)\n"
      "def main(xs: [m][n]f32): [m][n]f32 = map(fun r => r";
  for (int i = 0; i < 24; i++) text += " |> stage";
  CHECK(!compile(at(parse(text + ", xs)"), {{"m", 16}, {"n", 4096}})).sources.empty());
}

TEST_CASE("violations of the mapping rules are reported where they stand") {
  CHECK(violations("def main(x: [n]f32): [n]f32 =\n  mapLcl(0, fun v => v + 1.0, x)") ==
        Texts{"2:3 mapLcl outside of mapWrg"});
  CHECK(
      violations("def main(x: [n][m]f32): [n][m]f32 =\n  mapGlb(0, fun r =>\n    mapGlb(0, fun v => v + 1.0, r), x)") ==
      Texts{"3:5 mapGlb(0) inside mapGlb(0)"});
  CHECK(
      violations("def main(x: [n][m]f32): [n][m]f32 =\n  mapWrg(0, fun r =>\n    mapGlb(1, fun v => v + 1.0, r), x)") ==
      Texts{"3:5 mapGlb inside a work-group"});
  CHECK(
      violations("def main(x: [n][m]f32): [n][m]f32 =\n  mapWrg(1, fun r =>\n    mapWrg(1, fun v => v + 1.0, r), x)") ==
      Texts{"3:5 mapWrg(1) inside mapWrg(1)"});
  CHECK(
      violations("def main(x: [n][m]f32): [n][m]f32 =\n  mapGlb(1, fun r =>\n    mapWrg(0, fun v => v + 1.0, r), x)") ==
      Texts{"3:5 mapWrg inside a work-item's work"});
  CHECK(violations("def main(x: [a][n][m]f32): [a][n][m]f32 =\n  mapWrg(0, mapLcl(0, fun r =>\n"
                   "    mapLcl(0, fun v => v + 1.0, r)), x)") == Texts{"3:5 mapLcl(0) inside mapLcl(0)"});
  CHECK(
      violations("def main(x: [n][4]f32): [n][4]f32 =\n  mapGlb(0, fun r =>\n    mapSeq(fun v => v, toLocal(r)), x)") ==
      Texts{"3:24 toLocal outside of mapWrg"});
}

TEST_CASE("all violations are reported at once") {
  CHECK(violations("def main(x: [n][m]f32): ([n][m]f32, [n][m]f32) =\n  (mapLcl(0, mapSeq(fun v => v + 1.0), x),\n"
                   "   mapGlb(0, mapGlb(0, fun v => v + 1.0), x))") ==
        Texts{"2:4 mapLcl outside of mapWrg", "3:14 mapGlb(0) inside mapGlb(0)"});
}

TEST_CASE("a map that nobody places runs in the loops that read it, where its parallel maps must fit") {
  const std::string groupItems = R"(
    def main(x: [8][16][4]f32): [8][16]f32 = mapWrg(0, fun tile =>
      tile |> map(fun row => toLocal(mapLcl(DIM, fun v => v * 2.0, row))) |> mapLcl(0, reduceSeq(0.0, add)), x))";
  const auto at = [&](const std::string& dim) {
    return std::string(groupItems).replace(groupItems.find("DIM"), 3, dim);
  };
  CHECK(violations(at("0")) == Texts{"3:38 mapLcl(0) would run inside mapLcl(0), where its result is read"});
  CHECK(wrong(at("1")) == "");
}

TEST_CASE("a kernel does not read what all its work-groups compute") {
  const std::string read = "the result of mapGlb is read inside its own kernel";
  CHECK(violations("def main(x: [8][16]f32): [8]f32 =\n"
                   "  x |> map(fun r => toGlobal(mapGlb(0, fun v => v * 2.0, r))) |> mapGlb(1, reduceSeq(0.0, add))") ==
        Texts{"2:30 " + read});
  CHECK(violations(
            "def main(x: [8][16]f32): [8]f32 =\n"
            "  x |> mapGlb(1, fun r => let y = toGlobal(mapGlb(0, fun v => v * 2.0, r)) in reduceSeq(0.0, add, y))") ==
        Texts{"2:44 " + read});
  CHECK(violations("def main(x: [16][4]f32): [4]f32 =\n"
                   "  reduceSeq(fill(4, 0.0), fun (acc, r) => mapGlb(0, fun (a, b) => a + b, zip(acc, r)), x)") ==
        Texts{"2:43 " + read});
}

TEST_CASE("private memory that a group fills is read by the work-items that filled it") {
  const std::string sums = R"(
    def main(x: [8][16][4]f32): [8][4]f32 = mapWrg(0, fun rows =>
      rows |> reduceSeq(fill(4, 0.0), fun (acc, row) => mapLcl(0, fun (a, b) => a + b, zip(acc, row))) READ, x))";
  const auto readBy = [&](const std::string& read) { return std::string(sums).replace(sums.find("READ"), 4, read); };
  const auto refused = complaints(parse(readBy("")));
  REQUIRE(refused.size() == 1);
  CHECK(contains(refused[0].message, "private array acc are read by work-items that did not compute them"));
  CHECK(wrong(readBy("|> mapLcl(0, id)")) == "");
}

TEST_CASE("what a work-group keeps in global memory is not read by others") {
  const std::string rows =
      "def main(x: [k][n]f32): [k][n]f32 = mapGlb(1, fun r => KEPT |> mapGlb(0, fun v => v * 2.0), x)";
  const auto keeping = [&](const std::string& kept) { return std::string(rows).replace(rows.find("KEPT"), 4, kept); };
  for (const std::string kept : {"toGlobal(scanSeq(0.0, add, r))", "scanSeq(0.0, add, r)"}) {
    const auto refused = complaints(parse(keeping(kept)));
    REQUIRE(refused.size() == 1);
    CHECK(contains(refused[0].message, "are read by work-groups that did not compute them"));
  }
  CHECK(wrong(keeping("scanSeq(0.0, add, r)"), {{"k", 3}, {"n", 100}}) == "");
}

TEST_CASE("maps that read a scan or an iteration are no dimension: every work-item would do it again") {
  const std::string text =
      "def main(x: [k][n]f32): [k][n]f32 = map(fun r => scan(0.0, add, r) |> map(fun v => v * 2.0), x)";
  CHECK(occurrences(mapped(text), "mapGlb(") == 1);
  CHECK(wrong(text, {{"k", 3}, {"n", 100}}) == "");
  const std::string closed =
      "def main(x: [k]f32): [k][k]f32 = map(fun v => scan(0.0, add, x) |> map(fun w => v * w), x)";
  CHECK(kernels(closed) == 4);  // three of them for the scan, in chunks
  CHECK(contains(mapped(closed), "mapGlb(1"));
  CHECK(wrong(closed, {{"k", 9}}) == "");
}

TEST_CASE("numbers that take a loop and are the same for a whole row are computed once, not by each work-item") {
  for (const std::string text : {
           "def main(x: [k][n]f32, y: [n]f32): [k][n]f32 = map(sum, x) |> map(fun s => map(fun v => s * v, y))",
           "def main(x: [k][n]f32): [k][n]f32 = zip(x, map(sum, x)) |> map(fun (r, s) => map(fun v => v - s, r))",
           "def main(x: [2][k][n]f32, y: [n]f32): [2][k][n]f32 = "
           "map(fun m => map(sum, m) |> map(fun s => map(fun v => s * v, y)), x)",
           "def main(x: [2][k][n]f32): [2][k][n]f32 = "
           "map(fun m => zip(m, map(sum, m)) |> map(fun (r, s) => map(fun v => v - s, r)), x)",
       }) {
    INFO(text);
    CHECK(kernels(text) == 2);
    CHECK(contains(mapped(text), "mapGlb(1"));
    CHECK(wrong(text, {{"k", 40}, {"n", 9}}) == "");
  }
  // A number that takes no loop is.
  CHECK(kernels("def main(x: [k]f32, y: [n]f32): [k][n]f32 = "
                "map(fun v => v + 1.0, x) |> map(fun s => map(fun v => s * v, y))") == 1);
}

TEST_CASE("mappings that keep the rules are not complained of") {
  for (const std::string text :
       {"def main(x: [n][m]f32): [n][m]f32 = mapWrg(0, fun r => toLocal(mapLcl(0, id, r)) |> mapLcl(0, id), x)",
        "def main(x: [n][m]f32): [n][m]f32 = mapGlb(0, mapGlb(1, fun v => v + 1.0), x)",
        "def main(x: [a][n][m]f32): [a][n][m]f32 = mapWrg(2, mapWrg(0, mapLcl(1, fun v => v + 1.0)), x)"}) {
    INFO(text);
    CHECK_NOTHROW(checkMapping(parse(text)));
  }
}

}  // namespace lift::codegen_tests
