// Arrays in the default mapping: reductions by index, reductions of arrays, arrays that functions name.
#include "codegen/helpers.hpp"
#include "lift/mapping.hpp"

namespace lift::codegen_tests {
namespace {

kernel::Plan planAt(const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
  return compile(at(parse(text), sizes));
}

// Histograms of 32 bins and their like, as people write them.
const std::vector<std::string> comparisons{
    "generate(32, fun b => sum(map(fun x => if x == b then 1 else 0, xs)))",
    "generate(32, fun b => count(fun x => b == x, xs))",
    "generate(32, fun b => count(fun x => x == b && x % 2 == 0, xs))",
    "generate(32, fun b => reduce(b, fun (acc, x) => if x == b then acc + x else acc, xs))",
    "generate(32, fun b => let c = count(fun x => x == b, xs) in c * c + b)",
    "generate(32, fun b => count(fun x => x == b, xs) - reduce(5, fun (m, x) => if b == x / 2 then max(m, x) else m, "
    "xs))",
    "reduce(fill(32, 0), fun (h, x) => zip(h, generate(32, id)) |> map(fun (c, b) => if b == x then c + 1 else c), xs)",
    "reduce(fill(32, 0), fun (h, x) => zip(generate(32, id), h) |> map(fun (b, c) => if x == b then c + x else c), xs)",
    "reduce(fill(32, 0), fun (h, x) => generate(32, fun b => if b == x then h[b] + 1 else h[b]), xs)",
};

}  // namespace

TEST_CASE("comparisons of every element with every index are reductions by index") {
  for (const std::string& body : comparisons) {
    const std::string text = "def main(xs: [n]i32): [32]i32 = " + body;
    INFO(text);
    // A comparison with each bin would be 32 operations for each element.
    CHECK(operationsOf(planAt(text, {{"n", 32768}})) < 32768 * 24);
    for (const std::int64_t n : {1, 7, 50}) {
      CHECK(wrong(text, {{"n", n}}) == "");
      CHECK(wrong(text, {{"n", n}}, inChunks(4)) == "");
    }
  }
}

TEST_CASE("what only looks like a reduction by index stays as it is") {
  for (const char* body :
       {"generate(32, fun b => sum(map(fun x => if x <= b then 1 else 0, xs)))",
        "generate(32, fun b => sum(map(fun x => if x == b then 1 else 2, xs)))",
        "generate(32, fun b => sum(map(fun x => if x + b == b then 1 else 0, xs)))",
        "generate(32, fun b => reduce(1, fun (acc, x) => if x == b then acc * 2 else acc + 1, xs))",
        "generate(32, fun b => reduce(1, fun (acc, x) => if acc == b then acc + x else acc, xs))",
        "generate(32, fun b => reduce(1, fun (acc, x) => acc * (if x == b then 3 else 0), xs))",
        "reduce(fill(32, 0), fun (h, x) => zip(h, reverse(h)) |> map(fun (c, b) => if b == x then c + 1 else c), xs)",
        "reduce(fill(32, 0), fun (h, x) => generate(32, fun b => if b == x then h[31 - b] + 1 else h[b]), xs)"}) {
    const std::string text = std::string("def main(xs: [n]i32): [32]i32 = ") + body;
    INFO(text);
    for (const std::int64_t n : {1, 7, 50}) CHECK(wrong(text, {{"n", n}}) == "");
  }
}

TEST_CASE("a reduction by index in chunks, a rest, and an order that must be kept") {
  for (const char* body : {"reduceByIndex(fill(7, 0.0), add, pairs)", "reduceByIndex(fill(7, 1.5), max, pairs)",
                           "reduceByIndex(generate(7, fun i => f32(i)), fun (_, x) => x, pairs)",
                           "reduceByIndex(fill(7, 1.0), fun (a, x) => a * 0.5 + x, pairs)",
                           "reduceByIndex(fill(7, 3.0), fun (a, x) => if x < a then x else a, pairs)"}) {
    const std::string text =
        "def main(ks: [n]i32, xs: [n]f32): [7]f32 = let pairs = zip(map(fun k => k % 9 - 1, ks), xs) in " +
        std::string(body);
    INFO(text);
    for (const std::int64_t n : {1, 5, 8, 41, 64})
      for (const std::int64_t chunk : {2, 8}) CHECK(wrong(text, {{"n", n}}, inChunks(chunk)) == "");
  }
}

TEST_CASE("elements of a reduction by index that are arrays are replaced as a whole") {
  const std::string text =
      "def main(ks: [n]i32, xs: [n][4]f32): [3][4]f32 = reduceByIndex(fill(3, generate(4, fun i => f32(i))), "
      "fun (s, row) => zipWith(fun (a, r) => a * 0.5 + r, reverse(s), row), zip(map(fun k => k % 4, ks), xs))";
  for (const std::int64_t n : {1, 9}) CHECK(wrong(text, {{"n", n}}) == "");
}

TEST_CASE("elements of a reduction by index that are arrays are divided, alone and in tuples") {
  struct Row {
    std::string type, init, f;
    bool divided;
  };
  for (const auto& [type, init, f, divided] : std::vector<Row>{
           {"[5][20]f32", "fill(20, 0.0)", "fun (s, row) => zipWith(add, s, row)", true},
           {"[5][20]f32", "fill(20, 9.0)", "fun (s, row) => zip(row, s) |> map(fun (r, a) => min(r, a))", true},
           {"[5][20]f32", "fill(20, 0.5)", "fun (s, row) => generate(20, fun j => s[j] + row[j] * row[3])", true},
           {"[5]([20]f32, i32)", "(fill(20, 0.0), 0)", "fun ((s, c), row) => (zipWith(add, s, row), c + 1)", true},
           {"[5]([20]f32, f32)", "(fill(20, 0.0), 1.0)", "fun ((s, c), row) => (zipWith(add, s, row), c + s[2])",
            false},
           {"[5][20]f32", "fill(20, 0.0)", "fun (s, row) => zipWith(add, reverse(s), row)", false}}) {
    const std::string text = "def main(ks: [n]i32, xs: [n][20]f32): " + type +
                             " = reduceByIndex(generate(5, fun i => " + init + "), " + f +
                             ", zip(map(fun k => k % 7 - 1, ks), xs))";
    INFO(text);
    CHECK((compile(parse(text), inChunks(8)).launches.size() > 1) == divided);
    for (const std::int64_t n : {1, 8, 41}) CHECK(wrong(text, {{"n", n}}, inChunks(8)) == "");
  }
}

namespace {

CompileOptions ofGpu(std::int64_t chunk = 0) {
  CompileOptions options;
  options.mapping.isGpu = true;
  options.mapping.chunk = chunk;
  return options;
}

}  // namespace

TEST_CASE("work-items of a GPU reduce by index together, in memory that another kernel has filled") {
  struct Row {
    std::string type, body;
    std::size_t launches;  // of 5000 pairs and 6000 elements
  };
  for (const auto& [type, body, launches] : std::vector<Row>{
           {"[m]f32", "reduceByIndex(generate(m, fun i => f32(i)), add, zip(map(fun k => k * 37 % 6000, ks), xs))", 2},
           {"[m]i32", "reduceByIndex(fill(m, 5), fun (a, y) => if y > 2 then a - y else a, zip(ks, ys))", 2},
           {"[m]f32", "reduceByIndex(fill(m, 2.0), fun (a, x) => x * a, zip(map(fun k => k * 37 % 6000 - 1, ks), xs))",
            2},
           {"[m]f32", "reduceByIndex(fill(m, lowest), max, zip(map(fun k => k % 10 - 1, ks), xs))", 2},
           {"[m](i32, f32)",
            "reduceByIndex(fill(m, (0, 0.5)), fun ((c, t), x) => if x > 0.0 then (c + 1, min(t, x)) else (c, t), "
            "zip(map(fun k => k % 11 - 1, ks), xs))",
            2},
           {"[m]f32", "scatter(generate(m, fun i => f32(i)), map(fun k => k * 7 % 11 - 1, ks), xs)", 3},
           {"[m](f32, i32)", "scatter(fill(m, (1.0, 2)), map(fun k => k * 7 % 11 - 1, ks), zip(xs, ys))", 3},
           {"[m]f32",
            "reduceByIndex(fill(m, 1.0), fun (_, x) => x * x + 1.0, map(fun (k, x) => (k % 5, x * 2.0), zip(ks, xs)))",
            3},
           {"[m][20]f32", "scatter(fill(m, fill(20, 0.5)), ks, map(fun x => generate(20, fun j => x * f32(j)), xs))",
            4},
           {"[m][20]f32",
            "reduceByIndex(fill(m, fill(20, 0.5)), fun (s, row) => generate(20, fun j => s[j] + row[j] * row[3]), "
            "zip(map(fun k => k % 5 - 1, ks), map(fun x => generate(20, fun j => x * f32(j)), xs)))",
            2},
           {"[m][20]f32", "reduceByIndex(fill(m, fill(20, 0.0)), fun (s, x) => map(fun a => a + x, s), zip(ks, xs))",
            2},
           {"[m]f32", "reduceByIndex(fill(m, 1.0), fun (a, x) => a * 0.5 + x, zip(map(fun k => k % 5, ks), xs))", 2},
           {"[m]f32", "reverse(reduceByIndex(fill(m, 0.0), add, zip(ks, xs)))", 2},
           {"[1][m]f32", "split(m, reduceByIndex(fill(m, 0.0), add, zip(ks, xs)))", 2},
           {"([m]f32, [n]f32)", "(reduceByIndex(fill(m, 0.0), add, zip(ks, xs)), map(fun x => x * 2.0, xs))", 2},
           {"([n]f32, [n]f32)", "(reduceByIndex(xs, add, zip(ks, xs)), map(fun x => x * 2.0, xs))", 2},
           {"[n](f32, f32)", "zip(reduceByIndex(fill(n, 0.0), add, zip(ks, xs)), xs)", 3},
           {"[n + m]f32",
            "concat(reduceByIndex(fill(n, 0.0), add, zip(ks, xs)), reduceByIndex(fill(m, 1.0), max, zip(ks, xs)))", 5},
           {"[n]f32", "if xs[0] > 0.0 then reduceByIndex(fill(n, 0.0), add, zip(ks, xs)) else xs", 3},
           {"[m]f32", "reduceByIndex(scatter(fill(m, 0.0), ys, xs), max, zip(ks, xs))", 5}}) {
    const std::string text = "def main(m: nat, ks: [n]i32, xs: [n]f32, ys: [n]i32): " + type + " = " + body;
    INFO(text);
    const kernel::Plan plan = compile(at(parse(text), {{"n", 5000}, {"m", 6000}}), ofGpu());
    CHECK(plan.launches.size() == launches);
    const auto itemsOf = [](const kernel::Launch& l, const kernel::Plan& p) {
      const auto& global = p.kernels[static_cast<std::size_t>(l.kernel)].range.global;
      return (global[0] * global[1] * global[2]).constant().value_or(0);
    };
    const bool isInOrder = body.find("a * 0.5") != std::string::npos;
    for (const kernel::Launch& l : plan.launches) CHECK((itemsOf(l, plan) >= 5000 || isInOrder));
    for (const auto& [n, m] : {std::pair{1, 1}, {41, 7}, {300, 64}, {300, 900}})
      for (const std::int64_t chunk : {0, 4}) CHECK(wrong(text, {{"n", n}, {"m", m}}, ofGpu(chunk)) == "");
    CompileOptions strict = ofGpu();
    strict.mapping.strictReductions = true;
    CHECK(wrong(text, {{"n", 41}, {"m", 900}}, strict) == "");
    const kernel::Plan symbolic = compile(parse(text), ofGpu());
    const Program known = at(parse(text), {{"n", 50}, {"m", 9}});
    const Tensors inputs = inputsOf(known), expected = interpret(known, inputs);
    const auto loaded = runtime::makeEmulatorDevice()->load(symbolic, {{"n", 50}, {"m", 9}});
    for (int run = 0; run < 2; run++)  // what was updated is filled again
      CHECK(differences(loaded->run(inputs).outputs, expected, sumTolerance) == "");
    const Mapping mapping = mappingOf(known, ofGpu(4).mapping);
    CHECK(print(rewrite::replay(known, mapping.derivation)) == print(mapping.program));
  }
  const std::string sums =
      "def main(m: nat, ks: [n]i32, xs: [n]f32): [m]f32 = reduceByIndex(fill(m, 0.0), add, zip(ks, xs))";
  const auto itemsOf = [&](const CompileOptions& options) {
    return rangeOf(compile(at(parse(sums), {{"n", 5000}, {"m", 6000}}), options).kernels.back());
  };
  CompileOptions strict = ofGpu();
  strict.mapping.strictReductions = true;
  CHECK(itemsOf(ofGpu()).starts_with("5000 1 1;"));
  CHECK(itemsOf(strict).starts_with("1 1 1;"));  // in order
  CHECK(itemsOf({}).starts_with("1 1 1;"));
  const std::string source = compile(parse(sums), ofGpu()).sources.back();
  CHECK(contains(source, "atomic_cmpxchg("));
  CHECK(contains(source, "#ifdef __NV_CL_C_VERSION\n  __asm__ volatile(\"red.global.add.f32"));
}

TEST_CASE("reduceByIndexGlb where a program places it: a kernel of its own") {
  for (const char* body :
       {"[n]f32 = reduceByIndexGlb(fill(n, 0.5), add, zip(ks, xs))",
        "[n](f32, i32) = zip(reduceByIndexGlb(fill(n, 0.5), add, zip(ks, xs)), ks)",
        "[1]f32 = take(1, reduceByIndexGlb(xs, add, zip(ks, xs)))",
        "[n]f32 = mapGlb(0)(fun x => x + 1.0)(reduceByIndexGlb(xs, add, zip(ks, xs)))",
        "[n]f32 = map(fun i => reduceByIndexGlb(xs, add, zip(ks, xs))[i], generate(n, id))",
        "[n]f32 = reduceByIndexGlb(reduceByIndexGlb(xs, add, zip(ks, xs)), max, "
        "zip(mapGlb(0)(fun k => k + 1)(ks), xs))",
        "(f32, [n]f32) = (sum(xs), reduceByIndexGlb(xs, add, zip(ks, xs)))",
        "[n]f32 = iterate(20, fun v => reduceByIndexGlb(v, max, zip(ks, v)), xs)",
        "[n]f32 = let z = xs[0] in reduceByIndexGlb(fill(n, z), add, zip(ks, map(fun x => x * z, xs)))"}) {
    const std::string text = std::string("def main(ks: [n]i32, xs: [n]f32): ") + body;
    INFO(text);
    for (const std::int64_t n : {1, 50, 300}) CHECK(wrong(text, {{"n", n}}) == "");
  }
  CHECK(
      contains(wrong("def main(ks: [n]i32, xs: [n]f32): [2][n]f32 = map(fun s => reduceByIndexGlb(map(fun x => x * s, "
                     "xs), add, zip(ks, xs)), [1.0, 2.0])",
                     {{"n", 9}}),
               "reduceByIndexGlb inside of a map"));
}

TEST_CASE("in a loop over kernels, elements that are updated where they are start anew in each step") {
  for (const char* body :
       {"iterate(S, fun v => reduceByIndex(map(fun a => a * 0.5, v), add, zip(ks, v)), xs)",
        "iterate(S, fun v => reduceByIndex(fill(n, 0.125), add, zip(ks, map(fun a => a * 0.25, v))), xs)",
        "iterate(S, fun v => scatter(fill(n, 0.125), ks, map(fun a => a * 0.25, v)), xs)",
        "iterate(S, fun (v, i) => (reduceByIndex(fill(n, 0.125), add, zip(ks, map(fun a => a * 0.25, v))), "
        "i + 1), (xs, 0)).0",
        "iterate(S, fun (v, i) => (reduceByIndex(v, add, zip(ks, map(fun a => a * 0.25, v))), i + 1), "
        "(map(fun x => x * 0.001, xs), 0)).0",
        "iterate(S, fun (v, i) => (map(fun (a, b) => a + b, zip(v, reduceByIndex(fill(n, 0.125), max, "
        "zip(ks, xs)))), i + 1), (xs, 0)).0",
        "iterate(S, fun v => map(fun (a, b) => a * 0.5 + b * 0.01, zip(v, reduceByIndex(fill(n, 0.125), add, zip(ks, "
        "v)))), xs)",
        "iterateWhile(S, fun v => v[0] < 8.0, fun v => reduceByIndex(fill(n, 1.5), max, zip(ks, map(fun a "
        "=> a * 1.25, v))), xs)"})
    for (const char* steps : {"3", "20"}) {
      std::string text = std::string("def main(ks: [n]i32, xs: [n]f32): [n]f32 = ") + body;
      text.replace(text.find('S'), 1, steps);
      INFO(text);
      for (const std::int64_t n : {1, 41, 300})
        for (const std::int64_t chunk : {0, 4}) CHECK(wrong(text, {{"n", n}}, ofGpu(chunk)) == "");
    }
}

TEST_CASE("on a processor, what a reduction by index starts from is computed by many work-items where it costs much") {
  const std::string text =
      "def main(m: nat, ks: [n]i32, xs: [n]f32): [m]f32 = scatter(generate(m, fun i => exp(f32(i) * 0.00001) * 0.5), "
      "ks, xs)";
  CHECK(compile(at(parse(text), {{"n", 50}, {"m", 20000}})).launches.size() == 2);
  CHECK(compile(at(parse(text), {{"n", 50}, {"m", 200}})).launches.size() == 1);
  CHECK(compile(at(parse("def main(m: nat, ks: [n]i32, xs: [n]f32): [m]f32 = scatter(fill(m, 0.0), ks, xs)"),
                   {{"n", 50}, {"m", 20000}}))
            .launches.size() == 1);
  CHECK(wrong(text, {{"n", 50}, {"m", 20000}}) == "");
}

TEST_CASE("scans in chunks") {
  for (const char* body :
       {"scan(0.25, add, xs)", "scanExclusive(0.25, add, xs)", "cumprod(map(fun x => x + 1.0, xs))",
        "scan(xs[0], max, map(fun x => sum(generate(4, fun i => x * f32(i))), xs))",
        "scan(0.0, fun (a, x) => if x > 0.0 then a + x else a, xs)", "scan(0.0, fun (a, x) => a * 0.5 + x, xs)",
        "map(fun x => x * 2.0, scanExclusive(1.0, min, reverse(xs)))"}) {
    const std::string text = std::string("def main(xs: [n]f32): [n]f32 = ") + body;
    INFO(text);
    for (const std::int64_t n : {1, 5, 8, 41, 64})
      for (const std::int64_t chunk : {2, 8}) CHECK(wrong(text, {{"n", n}}, inChunks(chunk)) == "");
  }
  // Twice the work at most, and chunks for all cores.
  const kernel::Plan plan = planAt("def main(xs: [n]f32): [n]f32 = scan(0.0, add, xs)", {{"n", 1 << 20}});
  CHECK(plan.kernels.size() == 3);
  CHECK(operationsOf(plan) < 2.1 * (1 << 20));
  CHECK(plan.kernels.back().range.global[0] == Nat(1024));
}

TEST_CASE("large accumulators that are reduced element by element are reductions of each element") {
  for (const char* body :
       {"reduce(fill(40, 0.0), fun (acc, x) => zipWith(add, acc, x), xs)",
        "reduce(xs[0], fun (acc, x) => map(fun (a, y) => max(a, y) * 0.5, zip(acc, x)), xs)",
        "reduce(xs[0], fun (acc, x) => map(fun a => a * 0.5 + x[3], acc), xs)",
        "reduce(xs[0], fun (acc, x) => zip(x, acc, reverse(x)) |> map(fun (p, a, q) => a + p * q), xs)"}) {
    const std::string text = std::string("def main(xs: [n][40]f32): [40]f32 = ") + body;
    INFO(text);
    const kernel::Plan plan = planAt(text, {{"n", 20}});
    for (const kernel::Kernel& k : plan.kernels)
      for (const kernel::Buffer& b : k.buffers) CHECK(b.space == kernel::AddressSpace::global);
    for (const std::int64_t n : {1, 20}) CHECK(wrong(text, {{"n", n}}) == "");
  }
}

TEST_CASE("columns that share the work of their rows are reduced together") {
  const std::string text =
      "def main(ps: [n][3]f32): [n][3]f32 = ps |> map(fun a => ps |> map(fun b => "
      "let d = zipWith(sub, b, a) in let r = sqrt(sum(map(square, d)) + 0.1) in map(fun x => x / (r * r * r), d)) "
      "|> transpose |> map(sum))";
  // Distance and root once for each pair, not once for each of three sums.
  CHECK(operationsOf(planAt(text, {{"n", 64}})) < 64 * 64 * 30);
  for (const std::int64_t n : {1, 2, 9}) CHECK(wrong(text, {{"n", n}}) == "");
}

TEST_CASE("an array that is named and read once is not stored, one that is read often is") {
  const std::string once =
      "def main(xs: [n]f32): [n]f32 = let a = map(fun x => sum(generate(40, fun i => x * f32(i))), xs) in "
      "let b = map(square, xs) in zipWith(add, a, b)";
  CHECK(planAt(once, {{"n", 4096}}).kernels.size() == 1);
  CHECK(wrong(once, {{"n", 9}}) == "");
  const std::string often =
      "def main(xs: [n][m]f32, ys: [k][m]f32): [n][k]f32 = xs |> map(fun row => "
      "let w = map(fun x => sum(generate(20, fun i => x / (f32(i) + 1.0))), row) in map(dotProduct(w), ys))";
  CHECK(planAt(often, {{"n", 64}, {"m", 64}, {"k", 64}}).kernels.size() == 2);
  CHECK(wrong(often, {{"n", 3}, {"m", 5}, {"k", 4}}) == "");
}

TEST_CASE("an element of an array that is read alone is computed alone") {
  const auto launches = [](const std::string& reads) {
    const std::string text =
        "def main(xs: [n]i32): [n]i32 = let flags = map(fun x => 1 - (x & 1), xs) in map(fun x => " + reads + ", xs)";
    CHECK(wrong(text, {{"n", 9}}) == "");
    return compile(at(parse(text), {{"n", 5000}})).launches.size();
  };
  CHECK(launches("x + flags[n - 1]") == 1);
  CHECK(launches("x + flags[n - 1] * flags[xs[0] & 3]") == 1);
}

TEST_CASE("an array of a few operations on memory is computed wherever it is read") {
  const auto kernels = [](const std::string& flags, int n = 1 << 16) {
    const std::string text = "def main(xs: [n]i32, ys: [n]i32): [n]i32 = let f = " + flags +
                             " in let p = scanExclusive(0, add, f) in zipWith(fun (a, b) => a * b, f, p)";
    CHECK(wrong(text, {{"n", 9}}) == "");
    CHECK(wrong(text, {{"n", 9}}, inChunks(4)) == "");
    return planAt(text, {{"n", n}}).kernels.size();
  };
  const std::size_t fewest = kernels("xs");
  CHECK(kernels("map(fun x => 1 - (x & 1), xs)") == fewest);
  CHECK(kernels("map(fun x => (x * x * x + 7) % 5 * x, xs)") == fewest + 1);
  CHECK(kernels("map(fun x => ys[max(0, min(x, 3))], xs)") == fewest + 1);
}

TEST_CASE("a work-item keeps the costly elements of an array of its own that it reads again") {
  const std::string text =
      "def main(xs: [n]f32): [n][4]f32 = xs |> map(fun x => "
      "let a = generate(5, fun i => exp(x * f32(i)) + 1.0) in slide(2, 1, a) |> map(fun w => w[0] * w[1]))";
  CHECK(wrong(text, {{"n", 7}}) == "");
  CHECK(occurrences(sourceOf(planAt(text, {{"n", 4096}})), "exp(") == 5);
  // Of long rows in vectors, and so are sums of what is kept.
  const std::string powers = "def main(xs: [n][m]f32): [n][m]f32 = map(softmax, xs)";
  for (const std::int64_t m : {64, 77, 100, 130, 4096}) CHECK(wrong(powers, {{"n", 3}, {"m", m}}) == "");
  const std::string source = sourceOf(planAt(powers, {{"n", 100}, {"m", 1000}}));
  CHECK(occurrences(source, "exp(vload8(") == 1);
  CHECK(occurrences(source, "exp(") == 1);
  CHECK(contains(source, "vload16(0, p + 16 * i)"));
  // What no wide vectors divide ends in narrower ones.
  const std::string odd = sourceOf(planAt(powers, {{"n", 100}, {"m", 237}}));
  for (const char* vector : {"exp(vload16(", "exp(vload8(", "exp(vload4("}) CHECK(occurrences(odd, vector) == 1);
  CHECK(occurrences(odd, "exp(") == 4);
}

TEST_CASE("what one work-item goes over is computed by many before, where that is much") {
  const auto kernels = [](const std::string& value) {
    const std::string text =
        "def main(ks: [n]i32, xs: [n]f32): [n]f32 = scatter(fill(n, 0.0), ks, map(fun x => " + value + ", xs))";
    CHECK(wrong(text, {{"n", 9}}) == "");
    return planAt(text, {{"n", 1 << 16}}).kernels.size();
  };
  CHECK(kernels("x * x + 1.0") == 1);
  CHECK(kernels("exp(x) * sin(x)") == 2);
}

TEST_CASE("steps of a reduction of arrays that change nothing are left out") {
  const auto text = [](const std::string& step) {
    return "def main(xs: [n][50]f32): [n][6]f32 = xs |> map(fun row => row |> map(fun x => x * 10.0 - 5.0) |> "
           "reduce(fill(6, 0.5), fun (best, x) => generate(6, fun j => " +
           step + ")))";
  };
  for (const char* step :
       {"if x <= best[j] then best[j] else if j > 0 && x > best[max(j - 1, 0)] then best[max(j - 1, 0)] else x",
        "if best[j] < x then (if j == 5 then x else best[j + 1]) else best[j]",
        "if x >= best[j] then best[j] else (x + best[5 - j]) * 0.5",
        "if x < best[j] then 0.25 * (x + best[j]) else best[j]"}) {
    INFO(step);
    CHECK(wrong(text(step), {{"n", 7}}) == "");
    CHECK(contains(print(mapByDefault(at(parse(text(step)), {{"n", 7}})).body), "inf"));
  }
  const std::string zipped =
      "def main(xs: [n]f32): [6]f32 = xs |> reduce(fill(6, 0.5), fun (best, x) => zip(best, generate(6, id), best) |> "
      "map(fun (b, j, c) => if x > b then best[5 - j] + x else c))";
  CHECK(wrong(zipped, {{"n", 40}}) == "");
  CHECK(contains(print(mapByDefault(at(parse(zipped), {{"n", 40}})).body), "inf"));
  for (const char* step : {"if x <= best[j] then best[0] else x", "if x <= best[j] + f32(j) then best[j] else x",
                           "if x == best[j] then best[j] else x"}) {
    INFO(step);
    CHECK(wrong(text(step), {{"n", 7}}) == "");
    CHECK(!contains(print(mapByDefault(at(parse(text(step)), {{"n", 7}})).body), "inf"));
  }
  // NaN compares with nothing.
  const Program program =
      at(parse(text("if x <= best[j] then best[j] else if j > 2 then x else best[j] * x")), {{"n", 2}});
  Tensors inputs = inputsOf(program);
  for (const int i : {3, 20, 49, 61}) inputs.at("xs").set(i, std::nan(""));
  const Tensor actual = emulate(compile(program), inputs).at("out"), expected = interpret(program, inputs).at("out");
  for (std::int64_t i = 0; i < expected.size(); i++) {
    CAPTURE(i);
    CHECK((actual.get(i) == expected.get(i) || (std::isnan(actual.get(i)) && std::isnan(expected.get(i)))));
  }
}

TEST_CASE("numbers that a row's map of loops shares are stored, and the map's elements run in parallel") {
  // A gate's index and sum: neither hides the columns.
  const std::string text =
      "def main(xs: [n][d]f32, gates: [e][d]f32, ms: [e][d][h]f32): [n][h]f32 = xs |> map(fun x => "
      "let s = map(dotProduct(x), gates) in let k = argmax(s) in let t = sum(map(fun v => abs(v) + 1.0, x)) in "
      "map(fun c => dotProduct(x, c) / t, transpose(ms[k])))";
  const kernel::Plan plan = planAt(text, {{"n", 128}, {"d", 16}, {"e", 4}, {"h", 64}});
  CHECK(plan.kernels.size() == 3);
  CHECK(rangeOf(plan.kernels.back()) == "64 128 1; 64 1 1");
  CHECK(wrong(text, {{"n", 5}, {"d", 3}, {"e", 4}, {"h", 7}}) == "");
  // Numbers that take more work than the map, and a map without loops, stay where they are.
  const std::string costly =
      "def main(xs: [n][d]f32): [n][2]f32 = xs |> map(fun x => let m = maximum(x) in "
      "generate(2, fun i => sum(map(fun v => v - m, take(1 + d / 64, x))) * f32(i)))";
  CHECK(planAt(costly, {{"n", 128}, {"d", 64}}).kernels.size() == 1);
  const std::string scaled =
      "def main(xs: [n][d]f32): [n][d]f32 = xs |> map(fun x => let m = maximum(x) in map(fun v => v / m, x))";
  CHECK(planAt(scaled, {{"n", 128}, {"d", 64}}).kernels.size() == 1);
}

TEST_CASE("costly numbers are computed once where loops of few work-items compute them often") {
  const std::string text =
      "def main(h: f32, xs: [n]f32, ys: [m]f32): [n]f32 =\n"
      "  xs |> map(fun x => reduce(0.0, fun (acc, y) => if acc < y then acc + pow(h, 9.0) else x, ys))";
  CHECK(planAt(text, {{"n", 128}, {"m", 64}}).kernels.size() == 1);
  CHECK(planAt(text, {{"n", 128}, {"m", 1024}}).kernels.size() == 2);
  CHECK(planAt(text, {}).kernels.size() == 2);
  CHECK(wrong(text, {{"n", 5}, {"m", 7}}) == "");
}

TEST_CASE("steps of few rows are kernels where their work is worth them, and read no more than they use") {
  // Rotations of two rows of matrices each, of which numbers are named.
  const auto rotations = [](int n, int count) {
    std::string text =
        "def rot(q: i32, m: [k][k]f32): [k][k]f32 = let a = m[0][0] in let b = m[q][0] in let r = sqrt(a * a + b * b) "
        "in "
        "let c = a / r in let s = b / r in generate2D(k, k, fun (i, j) => if i == 0 then c * m[0][j] + s * m[q][j] "
        "else "
        "if i == q then c * m[q][j] - s * m[0][j] else m[i][j])\n";
    text += fmt::format("def main(xs: [3][{0}][{0}]f32): [3][{0}][{0}]f32 = xs |> map(fun m => m", n);
    for (int i = 0; i < count; i++) text += fmt::format(" |> rot({})", 1 + i % (n - 1));
    return text + ")";
  };
  const auto lengthOfMapped = [&](int count) { return print(mapByDefault(parse(rotations(40, count)))).size(); };
  const auto few = lengthOfMapped(5), more = lengthOfMapped(10);
  CHECK(more < 3 * few);
  CHECK(compile(parse(rotations(40, 5))).kernels.size() == 5);
  CHECK(compile(parse(rotations(4, 2))).kernels.size() == 2);
  CHECK(wrong(rotations(4, 3), {}) == "");
  CHECK(wrong(rotations(24, 3), {}) == "");
}

TEST_CASE("chains of names that are each read several times compile in time that grows with their number") {
  std::string tuples = "def main(x: [n]f32, y: [n]f32): ([n]f32, [n]f32) = let p0 = (x, y) in ";
  for (int i = 0; i < 24; i++)
    tuples +=
        fmt::format("let p{1} = (zipWith(add, p{0}.0, reverse(p{0}.1)), zipWith(mul, p{0}.1, p{0}.0)) in ", i, i + 1);
  CHECK(compile(at(parse(tuples + "p24"), {{"n", 100}})).kernels.size() >= 2);
}

}  // namespace lift::codegen_tests
