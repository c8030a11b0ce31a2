// What the default mapping computes once, and reductions that it divides.
#include "codegen/helpers.hpp"

namespace lift::codegen_tests {
namespace {

kernel::Plan planOf(const std::string& text, const CompileOptions& options = {}) {
  return compile(parse(text), options);
}
// Operations of all launches at the size.
double operationsAt(const std::string& text, std::int64_t n) {
  return operationsOf(compile(at(parse(text), {{"n", n}})));
}
std::string notesOf(const std::string& text, const CompileOptions& options = {}) {
  CompileReport report;
  compile(parse(text), options, &report);
  std::string all;
  for (const kernel::Note& n : report.notes)
    if (n.pass == "map") all += n.text + "\n";
  return all;
}

}  // namespace

TEST_CASE("values of whole arrays are computed once: operations are linear in the size") {
  const std::string softmax =
      "def softmax(xs) = let m = maximum(xs) in let s = sum(map(fun x => exp(x - m), xs)) in "
      "map(fun x => exp(x - m) / s, xs)\n";
  for (const std::string& text :
       {std::string("def main(x: [n]f32): [n]f32 = let m = maximum(x) in map(fun v => v / m, x)"),
        std::string("def main(x: [n]f32): [n]f32 = map(fun v => v / maximum(x), x)"),
        std::string("def main(x: [n]f32): ([n]f32, f32) = (map(fun v => v / maximum(x), x), maximum(x))"),
        softmax + "def main(x: [n]f32): [n]f32 = softmax(x)",
        softmax + "def main(x: [n]f32): [4][n]f32 = map(softmax, generate(4, fun i => x))",
        std::string("def main(x: [3][n]f32): [3][n]f32 = map(fun row => map(fun v => v / maximum(row), row), x)"),
        softmax + "def main(x: [100][n]f32): [100][n]f32 = map(fun r => map(fun v => v * 2.0, softmax(r)), x)",
        std::string(
            "def main(x: [n][100]f32): [n][100]f32 = map(fun row => map(fun v => v / maximum(row), row), x)")}) {
    INFO(text);
    CHECK(operationsAt(text, 4096) < 4.5 * operationsAt(text, 1024));
    for (const std::int64_t n : {1, 7, 50}) {
      CHECK(wrong(text, {{"n", n}}) == "");
      CHECK(wrong(text, {{"n", n}}, inChunks(4)) == "");
    }
  }
}

TEST_CASE("a work-group reduces its row together, by sub-groups where the compiler has them") {
  const std::string text = "def main(x: [5][n]f32): [5]f32 = x |> mapWrg(0)(fun row => reduceLcl(1.0, F, row))";
  const auto with = [&](const std::string& f) { return std::string(text).replace(text.find('F'), 1, f); };
  for (const char* f : {"add", "max", "mul", "fun (acc, v) => acc + v * v", "fun (acc, v) => min(v, acc)"})
    for (const std::int64_t n : {1, 7, 64, 1000}) {
      INFO(f << " of " << n);
      CHECK(wrong(with(f), {{"n", n}}) == "");
    }
  CHECK(wrong("def main(x: [3][n]f32): [3](f32, bool) = x |> mapWrg(0)(fun row => reduceLcl((0.0, true), "
              "fun (acc, v) => (acc.0 + v * v, acc.1 && v < 2.0), row))",
              {{"n", 100}}) == "");
  const kernel::Plan plan = planOf(with("add"));
  CHECK(contains(plan.sources[0], "sub_group_reduce_add(x)"));
  // Several calls that PoCL 3.1 does not inline share their local memory with the groups of other threads.
  CHECK(contains(plan.sources[0], "__attribute__((always_inline)) static inline float group_reduce_add_f32"));
  CHECK(!contains(planOf(with("mul")).sources[0], "sub_group"));
  // As many parts as work-items: of a row of unknown length 64, of a short one as many as it has.
  const auto parts = [](const kernel::Plan& p) { return kernel::localBytes(p.kernels[0]).constant(); };
  CHECK(parts(plan) == 64 * 4);
  CHECK(parts(compile(at(parse(with("add")), {{"n", 12}}))) == 12 * 4);
  CHECK(contains(render(complaints(parse("def main(x: [5][8][8]f32): [5][8]f32 = x |> mapWrg(0)(fun m => let s = "
                                         "reduceLcl(0.0, add, join(m)) in m |> mapLcl(1)(fun r => s * r[0]))"))),
                 "reduceLcl in a work-group of more than one dimension"));
}

TEST_CASE("a work-group updates elements by index in local memory, each update at once") {
  const std::string text =
      "def main(x: [5][n]i32): [5][7]i32 = x |> mapWrg(0)(fun row => mapLcl(0, id, "
      "reduceByIndexLcl(mapLcl(0, id, fill(7, 3)), F, map(fun v => (v % 9 + 1, v), row))))";
  const auto with = [&](const std::string& f) { return std::string(text).replace(text.find('F'), 1, f); };
  CompileOptions unfenced;
  unfenced.passes.skip = {"barriers"};
  for (const char* f : {"add", "max", "bitXor", "mul", "fun (count, v) => if v > 0 then count + 1 else count"})
    for (const std::int64_t n : {1, 7, 300}) {
      INFO(f << " of " << n);
      CHECK(wrong(with(f), {{"n", n}}) == "");
      if (n > 7) CHECK(contains(wrong(with(f), {{"n", n}}, unfenced), "race"));
    }
  CHECK(contains(planOf(with("add")).sources[0], "atomic_add("));
  const std::string real =
      "def main(x: [5][n]f32): [5][7](f32, i32) = x |> mapWrg(0)(fun row => mapLcl(0, id, reduceByIndexLcl(mapLcl(0, "
      "id, "
      "fill(7, (0.5, 1))), fun ((s, c), v) => (s + v, min(c, i32(v))), map(fun v => (i32(v) % 9 + 1, v), row))))";
  for (const std::int64_t n : {1, 7, 300}) CHECK(wrong(real, {{"n", n}}) == "");
  CHECK(contains(planOf(real).sources[0], "atomic_cmpxchg("));
}

TEST_CASE("a scalar result beside an array, and an array that is named and a result, are stored once") {
  const std::string text = R"(
    def main(x: [n]f32): ([n]f32, f32, (f32, [n]f32)) =
      let y = map(fun v => v * v, x) in (y, sum(y), (maximum(x), map(fun v => v + 1.0, y))))";
  const kernel::Plan plan = planOf(text, inChunks(4));
  CHECK(wrong(text, {{"n", 11}}, inChunks(4)) == "");
  std::vector<std::string> outputs;
  for (const auto& b : plan.buffers)
    if (b.role == kernel::PlanBuffer::Role::output) outputs.push_back(b.name);
  CHECK(outputs == std::vector<std::string>{"out.0", "out.1", "out.2.0", "out.2.1"});
  // The first launch writes the array to the result, where the others read it.
  const auto& first = plan.launches[0].arguments;
  CHECK(plan.buffers[static_cast<std::size_t>(first.back())].name == "out.0");
  // Twice the same: the second is a copy.
  const std::string twice = "def main(x: [n]f32): ([n]f32, [n]f32) = let y = map(exp, x) in (y, y)";
  CHECK(wrong(twice, {{"n", 5}}) == "");
  CHECK(planOf(twice).launches.size() == 2);
}

TEST_CASE("associative reductions are divided, whatever the size and the chunk") {
  struct Row {
    std::string text;
    bool exact;
  };
  for (const auto& [text, exact] : std::vector<Row>{
           {"def main(x: [n]f32): f32 = reduce(1.5, add, x)", false},
           {"def main(x: [n]i32): i32 = reduce(5, fun (acc, v) => acc - v, x)", true},
           {"def main(x: [n]i64): i64 = reduce(3, fun (acc, v) => v * acc, x)", true},
           {"def main(x: [n]f32): f32 = reduce(-0.5, fun (acc, v) => max(v * v, acc), x)", true},
           {"def main(x: [n]u32): u32 = reduce(7, bitXor, x)", true},
           {"def main(x: [n]i32): bool = reduce(true, fun (acc, v) => acc && v < 100, x)", true},
           {"def main(x: [n]f32, y: [n]f32): f32 = zip(x, y) |> reduce(0.0, fun (acc, (a, b)) => fma(a, b, acc))",
            false},
           {"def main(x: [n]f32): f32 = reduce(0.0, fun (acc, v) => if v > 0.0 then acc + v else acc, x)", false},
           {"def main(x: [n][3]f32): f32 = reduce(0.0, fun (acc, row) => reduce(acc, add, row), x)", false},
           {"def main(x: [n]f32): (f32, i32) = reduce((0.0, 100), fun ((s, c), v) => (s + v, c + 1), x)", false},
           {"def main(x: [n]f32): (f32, i32) = zip(x, generate(n, id)) |> reduce((inf, -1), fun (a, b) =>\n"
            "  (if b.0 < a.0 then b.0 else a.0, if b.0 < a.0 then b.1 else a.1))",
            true},
           {"def main(x: [n]f32): (f32, i32) = zip(x, generate(n, id)) |> reduce((inf, -1), fun (a, b) =>\n"
            "  if b.0 < a.0 then b else a)",
            true},
           {"def main(x: [n]i32): (i32, i32) = zip(map(fun v => v / 16, x), generate(n, id)) |> reduce((-99, -1), fun "
            "(a, b) =>\n"
            "  (if a.0 > b.0 then a.0 else b.0, if a.0 > b.0 then a.1 else b.1))",
            true}}) {
    INFO(text);
    const kernel::Plan symbolic = planOf(text, inChunks(4));
    CHECK(symbolic.launches.size() == 2);
    CompileOptions strict = inChunks(4);
    strict.mapping.strictReductions = true;
    CHECK(planOf(text, strict).launches.size() == (exact ? 2 : 1));
    for (const std::int64_t n : {1, 3, 4, 5, 8, 23, 64, 131}) {
      INFO("n = " << n);
      const Program program = at(parse(text), {{"n", n}});
      for (const std::int64_t chunk : {4, 32, 64}) CHECK(wrong(program, inChunks(chunk)) == "");
      const Tensors inputs = inputsOf(program);
      CHECK(differences(emulate(symbolic, inputs, {{"n", n}}), interpret(program, inputs), sumTolerance) == "");
    }
  }
}

TEST_CASE("of equal elements the first is found by accumulators that take turns") {
  struct Row {
    std::string candidates;  // pairs of a value of few different ones, and an index
    std::string choice;
    bool inTurns;
  };
  const std::string byIndex = "zip(map(fun v => i32(v * 3.0), x), generate(n, id))";
  for (const auto& [candidates, choice, inTurns] : std::vector<Row>{
           {byIndex, "if b.0 < a.0 then b else a", true},
           {byIndex, "if a.0 > b.0 then b else a", true},
           {byIndex, "if a.0 <= b.0 then a else b", true},
           {byIndex, "(if b.0 > a.0 then b.0 else a.0, if b.0 > a.0 then b.1 else a.1)", true},
           {"generate(n, fun i => (i32(x[i] * 3.0), i))", "if b.0 < a.0 then b else a", true},
           // The last of equals; an index that does not grow; one that falls.
           {byIndex, "if b.0 <= a.0 then b else a", false},
           {byIndex, "if a.0 < b.0 then a else b", false},
           {"zip(map(fun v => i32(v * 3.0), x), generate(n, fun i => i / 2))", "if b.0 < a.0 then b else a", false},
           {"generate(n, fun i => (i32(x[i] * 3.0), 1000 - i))", "if b.0 < a.0 then b else a", false}}) {
    const std::string text =
        "def main(x: [n]f32): (i32, i32) = reduce((0, -1), fun (a, b) => " + choice + ", " + candidates + ")";
    INFO(text);
    const auto lanes = [](const kernel::Plan& plan) {
      for (const auto& k : plan.kernels)
        if (contains(kernel::printOpenCL(k), "int16 acc")) return true;
      return false;
    };
    CHECK(lanes(planOf(text, inChunks(128))) == (inTurns && !contains(candidates, "x[i]")));
    for (const std::int64_t n : {70, 131, 400})
      for (const std::int64_t chunk : {64, 128}) CHECK(wrong(text, {{"n", n}}, inChunks(chunk)) == "");
  }
}

TEST_CASE("what a condition guards is computed once only where it cannot fail") {
  // Elements are below 5: the branch is never taken, and its indices are beyond the array.
  const std::string failing = R"(
    def main(x: [n]f32): [n]f32 =
      map(fun v => if v > 5.0 then v + sum(map(fun w => x[i32(w) + 1000000], x)) else v, x))";
  const std::string total = "def main(x: [n]f32): [n]f32 = map(fun v => if v > 0.5 then v / maximum(x) else v, x)";
  // The right side of && and || is such a branch.
  const std::string both = R"(
    def main(x: [n]f32): [n]i32 =
      map(fun v => if v > 5.0 && sum(map(fun i => x[i + 1000000], generate(n, id))) > 1.0 then 1 else 0, x))";
  const std::string either = R"(
    def main(x: [n]f32): [n]i32 =
      map(fun v => if v < 5.0 || sum(map(fun i => x[i + 1000000], generate(n, id))) > 1.0 then 1 else 0, x))";
  CHECK(planOf(failing).launches.size() == 1);
  CHECK(planOf(total).launches.size() == 3);
  for (const std::string& text : {failing, total, both, either}) {
    CHECK(wrong(text, {{"n", 9}}) == "");
    CHECK(wrong(text, {{"n", 9}}, inChunks(4)) == "");
  }
}

TEST_CASE("reductions that are not known to be associative stay in sequence, and say so") {
  for (const std::string text :
       {"def main(x: [n]f32): f32 = reduce(0.0, fun (acc, v) => acc * 0.5 + v, x)",
        "def main(x: [n]f32): f32 = reduce(0.0, fun (acc, v) => acc / (v + 2.0), x)",
        "def main(x: [n]f32): f32 = reduce(0.0, fun (acc, v) => acc + v * acc, x)",
        "def main(x: [n]i32): i32 = reduce(0, fun (acc, v) => if acc < 10 then acc + v else acc, x)",
        "def main(x: [n]i32): i32 = reduce(0, fun (acc, v) => if v < 10 then acc + v else acc * v, x)",
        "def main(x: [n]f32): (f32, f32) = reduce((0.0, 0.0), fun ((s, t), v) => (s + t, t + v), x)",
        "def main(x: [n]f32): (f32, f32) = zip(x, x) |> reduce((0.0, 0.0), fun (a, b) =>\n"
        "  (if b.0 < a.0 then b.0 else a.0, if b.0 < a.0 then a.1 else b.1))"}) {
    INFO(text);
    CHECK(planOf(text, inChunks(4)).launches.size() == 1);
    CHECK(contains(notesOf(text, inChunks(4)), "not known to be associative"));
    CHECK(wrong(text, {{"n", 23}}, inChunks(4)) == "");
  }
  CompileOptions strict = inChunks(4);
  strict.mapping.strictReductions = true;
  CHECK(contains(notesOf("def main(x: [n]f32): f32 = reduce(0.0, add, x)", strict), "--strict-reductions"));
}

TEST_CASE("reductions in few rows are divided, too, also where the rows are normalised by them") {
  const std::string sums = "def main(x: [3][n]f32): [3]f32 = map(sum, x)";
  CHECK(rangeOf(compile(at(parse(sums), {{"n", 64}}), inChunks(4)).kernels[0]) == "16 3 1; 16 1 1");
  const std::string many = "def main(x: [300][n]f32): [300]f32 = map(sum, x)";
  CHECK(planOf(many).launches.size() == 1);
  const std::string square = "def main(x: [2][3][n]f32): [3][2]f32 = transpose(map(map(sum), x))";
  CHECK(planOf(square, inChunks(4)).launches.size() == 2);
  for (const std::string& text : {sums, many, square})
    for (const std::int64_t n : {2, 11, 70}) CHECK(wrong(text, {{"n", n}}, inChunks(4)) == "");
}

TEST_CASE("nested generate has all its dimensions, and is stored where it is expensive") {
  CHECK(occurrences(mapped("def main(x: [n]f32): [n][n]f32 = generate2D(n, n, fun (i, j) => x[i] * x[j])"), "mapGlb") ==
        2);
  CHECK(occurrences(mapped("def main(n: nat): [n][n][n]i32 = generate3D(n, n, n, fun (i, j, k) => i * j + k)"),
                    "mapGlb") == 3);
  // Each row's sums are computed once, not for every column of the transposed array.
  const std::string forces = R"(
    def main(x: [n][3]f32): [3]f32 =
      let f = generate(n, fun i => generate(3, fun c => reduce(0.0, fun (acc, y) => acc + y[c] - x[i][c], x))) in
      f |> transpose |> map(sum))";
  CHECK(operationsAt(forces, 256) < 256 * 256 * 3 * 3);
  CHECK(wrong(forces, {{"n", 12}}) == "");
}

TEST_CASE("inner loops do not compute again what they do not change") {
  const std::string text = R"(
    def main(x: [n][m]f32): [n]f32 =
      map(fun row => reduce(0.0, fun (acc, v) => acc + v * reduce(1.0, fun (p, w) => p + w * w, row), row), x))";
  const Program program = at(parse(text), {{"n", 100}, {"m", 50}});
  CHECK(kernel::count(compile(program).kernels[0]).flops < 100 * 50 * 8);
  CHECK(wrong(program) == "");
}

TEST_CASE("a number that is computed of named numbers and arrays is divided where it is much") {
  const std::string text =
      "def main(x: [n]f32): f32 = let t = sum(x) / 3.0 in let b = map(fun v => v - t, x) in sum(zipWith(mul, b, b))";
  const auto items = [&](std::int64_t n) {
    const kernel::Plan plan = compile(at(parse(text), {{"n", n}}));
    double most = 0;
    for (const auto& k : plan.kernels) most = std::max(most, static_cast<double>(*k.range.global[0].constant()));
    return std::pair(plan.kernels.size(), most);
  };
  CHECK(items(64) == std::pair<std::size_t, double>(1, 1));  // no launch is worth it
  CHECK(items(1 << 17).second >= 1024);
  CHECK(wrong(text, {{"n", 9}}) == "");
}

}  // namespace lift::codegen_tests
