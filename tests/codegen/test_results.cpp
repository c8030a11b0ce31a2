// Kernels in the emulator against the interpreter: kinds of data, sizes symbolic and not, faults seeded.
#include <algorithm>
#include <set>

#include "codegen/helpers.hpp"

namespace lift::codegen_tests {

TEST_CASE("every example gives the same with its sizes as arguments and with its sizes built in") {
  struct Run {
    std::string name;
    Sizes sizes;
  };
  for (const Run& run : std::vector<Run>{
           {"conv_layer", {{"numKernels", 3}, {"inputHeight", 5}, {"inputWidth", 6}, {"inputChannels", 4}}},
           {"dot", {{"n", 37}}},
           {"gaussian_blur", {{"h", 7}, {"w", 9}}},
           {"matmul", {{"n", 5}, {"k", 6}, {"m", 7}}},
           {"stencil2d", {{"height", 6}, {"width", 9}}},
           {"partial_conv",
            {{"paddedInputHeight", 8}, {"paddedInputWidth", 8}, {"inputChannels", 4}, {"numKernels", 4}}}}) {
    INFO(run.name);
    const Program program =
        at(example(run.name), {{"theta", 4}, {"kappa", 2}, {"sigma", 2}, {"omega", 6}, {"upsilon", 2}});
    const Program built = at(program, run.sizes);
    const Tensors inputs = inputsOf(built);
    const Tensors expected = interpret(built, inputs);
    CHECK(differences(emulate(compile(built), inputs), expected, sumTolerance) == "");
    if (run.name == "partial_conv") continue;  // below
    CHECK(differences(emulate(compile(program), inputs), expected, sumTolerance) == "");
  }
}

TEST_CASE("Listing 4 with symbolic extents of the input") {
  const Program program = at(example("partial_conv"), {{"theta", 4},
                                                       {"kappa", 2},
                                                       {"sigma", 2},
                                                       {"omega", 6},
                                                       {"upsilon", 2},
                                                       {"inputChannels", 4},
                                                       {"numKernels", 4}});
  const Program built = at(program, {{"paddedInputHeight", 8}, {"paddedInputWidth", 10}});
  const Tensors inputs = inputsOf(built);
  CHECK(differences(emulate(compile(program), inputs), interpret(built, inputs), sumTolerance) == "");
}

TEST_CASE("what parallel loops compute is cropped where it is stored, by their kernel") {
  for (const char* text : {
           "def main(x: [10]f32): [10]f32 = "
           "take(10, join(mapWrg(0, fun c => mapSeq(fun v => v * 2.0, c), split(4, padClamp(0, 2, x)))))",
           "def main(x: [10]f32): [10]f32 = take(10, asScalar(mapGlb(0, fun v => vectorize(4, fun a => a + 1.0, v), "
           "asVector(4, padClamp(0, 2, x)))))",
           "def main(x: [5][7]f32): [3][5]f32 = "
           "map(fun r => take(5, r), take(3, mapGlb(1, fun r => mapGlb(0, fun v => v * v, r), x)))",
           "def main(x: [5][6]f32): [5][4]f32 = transpose(take(4, transpose(mapGlb(0, fun r => "
           "asScalar(mapSeq(fun v => vectorize(2, fun a => a - 1.0, v), asVector(2, r))), x))))",
           "def main(x: [5][3]f32): [12]f32 = take(12, join(mapGlb(0, fun r => mapSeq(fun v => v * v, r), x)))",
       }) {
    INFO(text);
    const Program program = parse(text);
    const Tensors inputs = inputsOf(program);
    const kernel::Plan plan = compile(program);
    CHECK(plan.launches.size() == 1);
    CHECK(differences(emulate(plan, inputs), interpret(program, inputs), 0) == "");
  }
}

TEST_CASE("each lane of a vector may read another element of an array") {
  const Program program = parse(
      "def main(x: [8]i32): [8]f32 = asScalar(mapGlb(0, fun v => vectorize(4, fun i => "
      "[0.5, 1.0, -2.0][(i % 3 + 3) % 3] * f32(i), v), asVector(4, x)))");
  const Tensors inputs = inputsOf(program);
  CHECK(differences(emulate(compile(program), inputs), interpret(program, inputs), 0) == "");
}

TEST_CASE("lanes evaluate no operand that they would not evaluate alone") {
  for (const char* f : {"fun k => if k != 0 then 7 / k else 2", "fun k => select(k != 0 && 7 / k < 3, k, 2)",
                        "fun k => select(k == 0 || 7 / k < 3, k, 2)"}) {
    INFO(f);
    const Program program =
        parse(std::string("def main(x: [8]i32): [8]i32 = asScalar(mapGlb(0, fun v => vectorize(4, ") + f +
              ", v), asVector(4, x)))");
    const Tensors inputs{{"x", Tensor(Scalar::i32, {8})}};  // zeros
    CHECK(differences(emulate(compile(program), inputs), interpret(program, inputs), 0) == "");
  }
}

TEST_CASE("tuples as accumulators: the greatest element and where it is") {
  CHECK(wrong(R"(
    def main(x: [n][m]f32): [n](f32, i32) =
      x |> map(fun row => reduce((-inf, -1), fun ((best, at), (v, i)) => select(v > best, v, best) |> fun b =>
        (b, select(v > best, i, at)), zip(row, generate(m, fun i => i)))))",
              {{"n", 3}, {"m", 11}}) == "");
}

TEST_CASE("tuples of arrays as accumulators") {
  CHECK(wrong(R"(
    def main(x: [n]f32): ([3]f32, f32) =
      reduceSeq((generate(3, fun i => f32(i)), 0.0),
        fun ((rows, total), v) => (mapSeq(fun r => r * 0.5 + total, reorder(reverse, rows)), total + v), x))",
              {{"n", 5}}) == "");
}

TEST_CASE("vectors: elementwise, reduced, as accumulators, of every width") {
  for (const int w : {2, 3, 4, 8, 16}) {
    INFO(w);
    const std::string width = std::to_string(w);
    const Sizes sizes{{"n", 3 * w}};
    CHECK(wrong("def main(x: [n]f32): [n]f32 = asVector(" + width + ", x) |> map(fun v => v * v + v) |> asScalar",
                sizes) == "");
    CHECK(wrong("def main(x: [n]f32): f32 = zip(asVector(" + width + ", x), asVector(" + width +
                    ", reorder(reverse, x))) |> reduce(0.0, fun (acc, (a, b)) => acc + dot(a, b))",
                sizes) == "");
    CHECK(wrong("def main(x: [n]f32): [" + width + "]f32 = join(mapSeq(fun v => v, split(" + width +
                    ", asScalar(generate(1, fun _ => reduceSeq(splat(" + width +
                    ", 0.0), fun (acc, v) => acc + v, asVector(" + width + ", x)))))))",
                sizes) == "");
  }
}

TEST_CASE("one load for a vector of neighbours, none for one of strangers") {
  const auto source = [](const std::string& in) {
    return sourceOf(compile(
        parse("def main(x: [64]f32): [64]f32 = asVector(4, " + in + ") |> mapGlb(0, fun v => v + v) |> asScalar")));
  };
  CHECK(contains(source("x"), "vload4("));
  CHECK(contains(source("x"), "vstore4("));
  CHECK_FALSE(contains(source("reorder(reverse, x)"), "vload4("));
  CHECK(contains(source("reorder(reverse, x)"), "(float4)("));
}

TEST_CASE("vectors of elements that are clamped or cropped in the last of them") {
  // The last vector has ten elements; with two in a row there is a loop inside, whose vectors are not one of known
  // place.
  for (const int count : {58, 48, 49, 10}) {
    for (const int vectors : {1, 2}) {
      const int width = 16 * vectors, padded = (count + width - 1) / width * width;
      const Program p = parse(fmt::format(
          "def main(x: [{0}]f32): [{0}]f32 = take({0}, join(mapWrg(0, fun block => asScalar(mapSeq(fun v => v * v + v, "
          "asVector(16, block))), split({1}, padClamp(0, {2}, x)))))",
          count, width, padded - count));
      INFO(count << " elements in " << vectors << " vectors");
      const kernel::Plan plan = compile(p);
      const Tensors inputs = inputsOf(p);
      CHECK(differences(emulate(plan, inputs), interpret(p, inputs), 1e-6) == "");
      const std::string source = sourceOf(plan);
      CHECK(contains(source, "vload16(") == (count > 10));
      CHECK(contains(source, "vstore16(") == (count > 10));
      CHECK(contains(source, "min(") == (vectors == 2 && count > width));
      if (vectors == 1) CHECK(contains(source, "vstore8(") == (count == 58));
      if (vectors == 1) CHECK_FALSE(contains(source, "vstore4("));
    }
  }
}

TEST_CASE("vectors of elements that are clamped at a size that is not known") {
  const Program p = parse(
      "def main(x: [n]f32): [n]f32 = take(n, join(mapGlb(0, fun block => asScalar(mapSeq(fun v => v * v, asVector(16, "
      "block))), split(16, padClamp(0, 15 - (n + 15) % 16, x)))))");
  const kernel::Plan plan = compile(p);
  CHECK(contains(sourceOf(plan), "vload16("));
  for (const std::int64_t n : {1, 15, 16, 37}) {
    INFO(n);
    const Program sized = at(p, {{"n", n}});
    const Tensors inputs = inputsOf(sized);
    CHECK(differences(emulate(plan, inputs, {{"n", n}}), interpret(sized, inputs), 1e-6) == "");
  }
}

TEST_CASE("private vectors written lane by lane, as values and as accumulators") {
  for (const std::string body :
       {"mapGlb(0, fun row => let y = toPrivate(asVector(4, mapSeq(fun v => v * 2.0, row))) in "
        "reduceSeq(0.0, fun (a, v) => a + dot(v, v), reorder(reverse, y)), x)",
        "mapGlb(0, fun row => asScalar(reduceSeq(generate(2, fun i => splat(4, f32(i))), fun (acc, v) => "
        "asVector(4, mapSeq(fun a => a * 0.5 + v, reorder(reverse, asScalar(acc)))), row)), x)",
        "mapGlb(0, fun row => asScalar(reduceSeq(generate(2, fun i => splat(4, f32(i))), fun (acc, v) => "
        "asVector(4, mapSeq(fun a => a * 0.5 + v, asScalar(acc))), row)), x)"}) {
    INFO(body);
    CHECK(wrong("def main(x: [3][8]f32) = " + body) == "");
  }
}

TEST_CASE("half is a storage type: kernels compute in float and need no extension") {
  const std::string text = "def main(x: [n]f16, y: [n]f16): [n]f16 = zip(x, y) |> map(fun (a, b) => a * b + a)";
  const Program program = at(parse(text), {{"n", 13}});
  const Tensors inputs = inputsOf(program);
  // Rounded once at the end instead of after every operation: within a unit or two of half's last place.
  CHECK(differences(emulate(compile(program), inputs), interpret(program, inputs), 2e-3) == "");
  const std::string source = sourceOf(compile(program));
  CHECK(contains(source, "vload_half"));
  CHECK(contains(source, "vstore_half"));
  CHECK_FALSE(contains(source, "cl_khr_fp16"));
}

TEST_CASE("booleans and 64-bit integers, stored, computed and chosen by") {
  CHECK(wrong("def main(x: [n]f32, y: [n]f32): [n]bool = zip(x, y) |> map(fun (a, b) => a < b && b > 0.0)",
              {{"n", 17}}) == "");
  CHECK(wrong("def main(flags: [n]bool, x: [n]f32): [n]f32 = zip(flags, x) |> map(fun (f, v) => select(f, v, 0.0 - v))",
              {{"n", 17}}) == "");
  CHECK(wrong("def main(flags: [n][m]bool): [n]bool = map(all, flags)", {{"n", 9}, {"m", 3}}) == "");
  CHECK(wrong("def main(x: [n]i64): [n]i64 = map(fun v => v * 4000000000i64 + v / 3i64, x)", {{"n", 17}}) == "");
  CHECK(wrong("def main(x: [n]i64): i64 = reduce(5000000000i64, add, x)", {{"n", 17}}) == "");
  CHECK(wrong("def main(x: [n]i32): [n]i64 = scan(0i64, fun (acc, v) => acc + i64(v), x)", {{"n", 17}}) == "");
}

TEST_CASE("scans, inclusive and exclusive, of scalars and of tuples") {
  CHECK(wrong("def main(x: [n]f32): [n]f32 = scan(0.0, add, x)", {{"n", 9}}) == "");
  CHECK(wrong("def main(x: [n][m]f32): [n][m]f32 = map(scanExclusive(1.0, fun (a, v) => a * 0.5 + v), x)",
              {{"n", 3}, {"m", 5}}) == "");
  CHECK(wrong("def main(x: [n]f32): [n](f32, f32) = scan((0.0, 0.0), fun ((a, b), v) => (b, a + v), x)", {{"n", 9}}) ==
        "");
}

TEST_CASE("results written through layouts under the maps") {
  for (const std::string body :
       {"transpose(mapGlb(0, mapSeq(fun v => v + 1.0), x))", "join(mapGlb(0, mapSeq(fun v => v + 1.0), x))",
        "mapGlb(0, fun r => reorder(reverse, mapSeq(fun v => v + 1.0, r)), x)",
        "mapGlb(0, fun r => split(2, mapSeq(fun v => v + 1.0, r)), x)",
        "reorder(stride(3), mapGlb(0, fun r => mapSeq(fun v => v + 1.0, r), x))",
        "map(reorder(shift(1)), mapGlb(0, mapSeq(fun v => v + 1.0), x))",
        "unzip(mapGlb(0, fun r => (reduceSeq(0.0, add, r), 1.0), x))",
        "map(unzip, mapGlb(0, fun r => mapSeq(fun v => (v + 1.0, v), r), x))",
        "concat(mapGlb(0, mapSeq(fun v => v + 1.0), x), mapGlb(0, mapSeq(fun v => v * 2.0), x))",
        "map(asScalar, mapGlb(0, fun r => mapSeq(fun v => v + v, asVector(2, r)), x))"}) {
    INFO(body);
    CHECK(wrong("def main(x: [6][4]f32) = " + body) == "");
  }
}

TEST_CASE("a staging program without its barriers is found out") {
  const std::string text = R"(
    def main(x: [n]f32): [n]f32 =
      split(8, x) |> mapWrg(0, fun g =>
        toLocal(mapLcl(0, fun v => v * v, g)) |> reorder(reverse) |> mapLcl(0, fun v => v + 1.0)) |> join)";
  const Program program = at(parse(text), {{"n", 24}});
  CHECK(wrong(program) == "");
  CHECK(kernel::structure(compile(program).kernels[0]).at("barrier") == 1);
  CompileOptions options;
  options.passes.skip = {"barriers"};
  const kernel::Plan racing = compile(program, options);
  CHECK(kernel::structure(racing.kernels[0]).at("barrier") == 0);
  const auto run = [&] { emulate(racing, inputsOf(program)); };
  CHECK(contains(test::refusalOf(run, ExitStatus::wrong), "race"));
}

TEST_CASE("a store beside its place is found out") {
  kernel::Plan plan = compile(at(parse("def main(x: [n]f32): [n]f32 = map(fun v => v + 1.0, x)"), {{"n", 8}}));
  int moved = 0;
  for (kernel::Stmt& s : plan.kernels.at(0).body)
    if (auto* store = as<kernel::Store>(s)) {
      store->index = store->index + Nat(1);
      moved++;
    } else if (auto* loop = as<kernel::For>(s)) {
      for (kernel::Stmt& t : loop->body)
        if (auto* inner = as<kernel::Store>(t)) {
          inner->index = inner->index + Nat(1);
          moved++;
        }
    }
  REQUIRE(moved == 1);
  Tensor x(Scalar::f32, {8});
  const auto run = [&] { emulate(plan, {{"x", x}}); };
  CHECK(contains(test::refusalOf(run, ExitStatus::wrong), "bounds"));
}

TEST_CASE("every pass can be left out but those that correctness needs") {
  const Program program =
      at(example("conv_layer"), {{"numKernels", 2}, {"inputHeight", 4}, {"inputWidth", 5}, {"inputChannels", 3}});
  for (const kernel::Pass& pass : kernel::passes()) {
    INFO(pass.name);
    CompileOptions options;
    options.passes.skip = {std::string(pass.name)};
    CHECK(wrong(program, options) == "");
  }
}

TEST_CASE("the report names every stage once, in order, and the dump shows each") {
  CompileReport report;
  CompileOptions options;
  std::vector<std::string> shown;
  options.dump = [&](std::string_view stage, const std::string& text) {
    CHECK_FALSE(text.empty());
    shown.emplace_back(stage);
  };
  compile(example("conv_layer"), options, &report);
  std::vector<std::string> stages;
  for (const StageTime& t : report.times) stages.push_back(t.stage);
  CHECK(std::set<std::string>(stages.begin(), stages.end()).size() == stages.size());
  REQUIRE(stages.size() > 4);
  CHECK(std::vector<std::string>(stages.begin(), stages.begin() + 3) ==
        std::vector<std::string>{"map", "outline", "lower"});
  CHECK(stages.back() == "print");
  for (const kernel::Pass& pass : kernel::passes())
    CHECK(std::find(stages.begin(), stages.end(), pass.name) != stages.end());
  REQUIRE(shown.size() == 4 + kernel::pipeline().size());
  CHECK(shown.back() == "print");
  for (std::size_t i = 0; i < kernel::pipeline().size(); i++) CHECK(shown[i + 3] == kernel::pipeline()[i]->name);
}

TEST_CASE("what the stage map prints can be read back and compiles to the same kernel") {
  std::string printed;
  CompileOptions options;
  options.dump = [&](std::string_view stage, const std::string& text) {
    if (stage == "map") printed = text;
  };
  const kernel::Plan plan = compile(example("conv_layer"), options);
  CHECK(compile(parse(printed)).sources == plan.sources);
}

TEST_CASE("private and local memory of symbolic size is refused, with what to do") {
  const auto privateArray =
      complaints(parse("def main(x: [k][n]f32): [k]f32 = mapGlb(0, fun r => toPrivate(mapSeq(fun v => v + 1.0, r)) "
                       "|> reduceSeq(0.0, add), x)"));
  REQUIRE(privateArray.size() == 1);
  CHECK(contains(privateArray[0].message, "private memory needs constant sizes"));
  CHECK(contains(privateArray[0].hint, "--size n="));
  CHECK(privateArray[0].span.file);
  const auto localArray =
      complaints(parse("def main(x: [k][n]f32): [k][n]f32 = mapWrg(0, fun r => toLocal(mapLcl(0, fun v => v + 1.0, r)) "
                       "|> mapLcl(0, fun v => v * 2.0), x)"));
  REQUIRE(localArray.size() == 1);
  CHECK(contains(localArray[0].message, "local memory needs constant sizes"));
}

TEST_CASE("what loops carry and leave behind may have symbolic sizes: a work-item's part of global memory") {
  for (const std::string text :
       {"def main(x: [k][n]f32): [n]f32 = reduce(fill(n, 0.0), fun (acc, row) => zipWith(add, acc, row), x)",
        "def main(x: [k][n]f32): [k][n]f32 = scan(fill(n, 0.0), fun (acc, row) => zipWith(add, reorder(reverse, acc), "
        "row), x)",
        "def main(x: [k][n]f32): [k][n]f32 = map(fun r => scan((0.0, 1.0), fun ((a, b), v) => (a + v, b * v), r) |> "
        "map(fun (a, b) => a + b), x)",
        "def main(x: [k][n]f32): [k][n]f32 = map(fun r => iterate(3, fun s => scan(0.0, add, s), r), x)",
        "def main(x: [k][n]f32): [k][n]f32 = mapWrg(0, fun r => split(1, r) |> mapLcl(0, scanSeq(0.0, add)) |> "
        "join, x)"}) {
    INFO(text);
    const Program program = parse(text);
    const kernel::Plan plan = compile(program);
    for (const auto& k : plan.kernels) CHECK(kernel::structure(k)["barrier"] == 0);
    const Sizes sizes{{"k", 70}, {"n", 5}};
    const Program known = at(program, sizes);
    const Tensors inputs = inputsOf(known);
    CHECK(differences(emulate(plan, inputs, sizes), interpret(known, inputs), sumTolerance) == "");
  }
}

TEST_CASE("results that work-items share differently have a kernel each, of sizes known or not") {
  const std::string state = "scan(fill(m, 0), fun (acc, r) => zipWith(fun (a, b) => a + b, acc, r), x)";
  const std::string rows =
      "map(fun r => scan((0, 0), fun ((p, q), e) => (p + e, max(q, e)), r) |> map(fun (p, q) => p * q), x)";
  const std::string steps = "iterateWhile(5, fun v => sum(map(sum, v)) < 100, fun v => map2D(fun e => e + 1, v), x)";
  const std::string elements = "let t = map(maximum, x) in map(fun (r, k) => map(fun e => e - k, r), zip(x, t))";
  const std::vector<std::string> all = {state, rows, steps, elements, "map(sum, x)"};
  int pairs = 0;
  for (const std::string& a : all)
    for (const std::string& b : all) {
      if (a == b) continue;
      const std::string text = "def main(x: [n][m]i32) = (" + a + ", " + b + ")";
      INFO(text);
      const Sizes sizes{{"n", 5}, {"m", 7}};
      const Program program = parse(text), built = at(program, sizes);
      const Tensors inputs = inputsOf(built);
      const Tensors expected = interpret(built, inputs);
      CHECK(differences(emulate(compile(built), inputs), expected, 0) == "");
      CHECK(differences(emulate(compile(program), inputs, sizes), expected, 0) == "");
      pairs++;
    }
  CHECK(pairs == 20);
  // What one work-item computes step after step is not computed again by those that have rows.
  const auto plan = compile(at(parse("def main(x: [n][m]i32) = (" + state + ", map(sum, x))"), {{"n", 5}, {"m", 7}}));
  CHECK(plan.launches.size() == 2);
}

TEST_CASE("constants that are converted to half are rounded to it") {
  CHECK(wrong("def main(x: [4]f32): [4]f32 = map(fun v => v + 64.0 * f32(f16(0.1)), x)") == "");
}

TEST_CASE("tunables need values before code is generated") {
  const auto found = complaints(example("partial_conv"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].message == "the tunable theta has no value");
}

TEST_CASE("buffers are named as the parameters and out, with the paths of tuples") {
  const kernel::Plan plan =
      compile(parse("def main(points: [n](f32, f32), scale: f32): ([n]f32, [n]f32) = unzip(map(fun (a, b) => (a * "
                    "scale, b), points))"));
  std::vector<std::string> names;
  for (const auto& b : plan.buffers) names.push_back(b.name);
  CHECK(names == std::vector<std::string>{"points.0", "points.1", "scale", "out.0", "out.1"});
  CHECK(plan.name == "main");
  REQUIRE(plan.sizes.size() == 1);
  CHECK(plan.sizes[0].name() == "n");
}

}  // namespace lift::codegen_tests
