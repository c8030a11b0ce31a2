// The shape of kernels: the paper's listings, the absence of what costs time, launch geometry.
#include <iterator>
#include <regex>

#include "codegen/helpers.hpp"
#include "lift/files.hpp"

namespace lift::codegen_tests {
namespace {

// Scalars that the kernel declares as accumulators.
int accumulators(const std::string& source) {
  const std::regex declaration(R"(\n +float acc\w*( =|;))");
  return static_cast<int>(
      std::distance(std::sregex_iterator(source.begin(), source.end(), declaration), std::sregex_iterator()));
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const auto p = text.find(from);
  REQUIRE(p != std::string::npos);
  text.replace(p, from.size(), to);
}

// Listing 3 without padding.
Program unpaddedLayer() {
  std::string text = readFile(LIFT_SOURCE_DIR "/examples/conv_layer.lift").value();
  replace(text, "def padSize = 1", "def padSize = 0");
  replace(text, "[numKernels][inputHeight][inputWidth]f32 =", "[numKernels][inputHeight - 2][inputWidth - 2]f32 =");
  return parse(text);
}

struct Partial {
  std::int64_t height, width, channels, kernels, theta, kappa, sigma, omega, upsilon;

  std::int64_t stride() const { return theta - 2; }
  std::int64_t tileRows() const { return (height - theta) / stride() + 1; }
  std::int64_t tileColumns() const { return (width - theta) / stride() + 1; }
  std::int64_t windows() const { return stride() * stride(); }
  std::int64_t chunks() const { return 9 * channels / omega; }

  Program program() const {
    return at(example("partial_conv"), {{"paddedInputHeight", height},
                                        {"paddedInputWidth", width},
                                        {"inputChannels", channels},
                                        {"numKernels", kernels},
                                        {"theta", theta},
                                        {"kappa", kappa},
                                        {"sigma", sigma},
                                        {"omega", omega},
                                        {"upsilon", upsilon}});
  }
};

// Sums the chunks, puts the tiles side by side, and compares with Listing 3 without padding and with biases of zero.
void checkPartial(const Partial& p) {
  const Program program = p.program();
  const Tensors inputs = inputsOf(program);
  const Tensor partial = emulate(compile(program), inputs).at("out");
  REQUIRE(partial.shape == std::vector<std::int64_t>{p.tileRows() * p.tileColumns(), p.kernels / p.kappa, p.kappa,
                                                     p.windows() / p.sigma, p.sigma, p.chunks()});
  Tensor whole(Scalar::f32, {p.kernels, p.tileRows() * p.stride(), p.tileColumns() * p.stride()});
  std::int64_t next = 0;
  for (std::int64_t tile = 0; tile < p.tileRows() * p.tileColumns(); tile++)
    for (std::int64_t kernel = 0; kernel < p.kernels; kernel++)
      for (std::int64_t window = 0; window < p.windows(); window++) {
        double sum = 0;
        for (std::int64_t chunk = 0; chunk < p.chunks(); chunk++) sum += partial.get(next++);
        const std::int64_t row = tile / p.tileColumns() * p.stride() + window / p.stride();
        const std::int64_t column = tile % p.tileColumns() * p.stride() + window % p.stride();
        whole.set((kernel * whole.shape[1] + row) * whole.shape[2] + column, sum);
      }
  const Program layer = at(
      unpaddedLayer(),
      {{"inputHeight", p.height}, {"inputWidth", p.width}, {"inputChannels", p.channels}, {"numKernels", p.kernels}});
  const Tensors layerInputs{
      {"weights", inputs.at("weights")}, {"biases", Tensor(Scalar::f32, {p.kernels})}, {"input", inputs.at("input")}};
  const Tensors expected{{"out", whole}};
  CHECK(differences(emulate(compile(layer), layerInputs), expected, sumTolerance) == "");
  CHECK(differences(interpret(layer, layerInputs), expected, sumTolerance) == "");
}

}  // namespace

TEST_CASE("Listing 1 becomes Listing 2: one accumulator, one loop of nine taps, no memory but the arguments") {
  const kernel::Plan plan = compile(example("stencil2d"));
  REQUIRE(plan.kernels.size() == 1);
  CHECK(plan.launches.size() == 1);
  CHECK(temporariesOf(plan) == 0);
  const auto structure = kernel::structure(plan.kernels[0]);
  CHECK(structure.at("private_array") == 0);
  CHECK(structure.at("local_bytes") == 0);
  CHECK(structure.at("barrier") == 0);
  CHECK(structure.at("if") == 0);
  const std::string source = sourceOf(plan);
  CHECK(accumulators(source) == 1);
  CHECK(occurrences(source, "< 9; i++)") == 1);
  CHECK(occurrences(source, "get_local_id(0)") == 1);
  CHECK(occurrences(source, "get_group_id(0)") == 1);
}

TEST_CASE("Listing 2's loops over groups and items are there when the launch does not follow the sizes") {
  CompileOptions options;
  options.groups[0] = 32;
  options.local[0] = 64;
  const kernel::Plan plan = compile(example("stencil2d"), options);
  CHECK(kernel::structure(plan.kernels[0]).at("loop") == 3);
  CHECK(contains(sourceOf(plan), "wrg0 += get_num_groups(0)"));
  CHECK(contains(sourceOf(plan), "lcl0 += get_local_size(0)"));
  // As many groups as rows: that loop goes. As many items as columns: the other goes too.
  CHECK(kernel::structure(compile(example("stencil2d")).kernels[0]).at("loop") == 2);
  const kernel::Plan exact = compile(at(example("stencil2d"), {{"height", 34}, {"width", 66}}));
  CHECK(kernel::structure(exact.kernels[0]).at("loop") == 1);
  CHECK(kernel::structure(exact.kernels[0]).at("if") == 0);
  CHECK(rangeOf(exact.kernels[0]) == "2048 1 1; 64 1 1");
}

TEST_CASE("Listing 3 by default: three loops, no arrays, no division") {
  const Sizes sizes{{"numKernels", 4}, {"inputHeight", 8}, {"inputWidth", 9}, {"inputChannels", 5}};
  for (const bool constant : {true, false}) {
    const kernel::Plan plan = compile(constant ? at(example("conv_layer"), sizes) : example("conv_layer"));
    REQUIRE(plan.kernels.size() == 1);
    CHECK(temporariesOf(plan) == 0);
    const auto structure = kernel::structure(plan.kernels[0]);
    CHECK(structure.at("loop") == 3);
    CHECK(structure.at("private_array") == 0);
    CHECK(structure.at("barrier") == 0);
    CHECK_FALSE(contains(sourceOf(plan), "/"));
    CHECK_FALSE(contains(sourceOf(plan), "%"));
  }
}

TEST_CASE("Listing 4: Table 1's NDRange, sigma * kappa scalar accumulators, no array") {
  const Partial p{11, 11, 8, 8, 5, 4, 3, 12, 4};
  const kernel::Plan plan = compile(p.program());
  REQUIRE(plan.kernels.size() == 1);
  CHECK(temporariesOf(plan) == 0);
  const kernel::NDRange& range = plan.kernels[0].range;
  CHECK(range.local[0] == Nat(p.chunks()));             // partitions of a window
  CHECK(range.local[1] == Nat(p.windows() / p.sigma));  // window groups in a tile
  CHECK(range.local[2] == Nat(1));
  CHECK(range.global[0] / range.local[0] == Nat(p.kernels / p.kappa));             // kernel groups
  CHECK(range.global[1] / range.local[1] == Nat(p.tileRows() * p.tileColumns()));  // tiles
  const auto structure = kernel::structure(plan.kernels[0]);
  CHECK(structure.at("private_array") == 0);
  CHECK(structure.at("local_bytes") == 0);
  CHECK(structure.at("barrier") == 0);
  CHECK(structure.at("loop") == 1);
  CHECK(accumulators(sourceOf(plan)) == p.sigma * p.kappa);
}

TEST_CASE("Listing 4 with its chunks summed and tiles put together is Listing 3: 11 by 11 by 8") {
  checkPartial({11, 11, 8, 8, 5, 4, 3, 12, 4});
}

TEST_CASE("Listing 4 with its chunks summed and tiles put together is Listing 3: 8 by 10 by 4") {
  checkPartial({8, 10, 4, 6, 4, 2, 2, 6, 2});
}

TEST_CASE("a scalar that a whole group computes is stored by one work-item") {
  const std::string text = R"(
    def main(x: [n][64]f32): [n]f32 =
      x |> mapWrg(0, fun row =>
        let parts = toLocal(mapLcl(0, fun part => reduceSeq(0.0, add, part), split(8, row))) in
        reduceSeq(0.0, add, parts)))";
  CHECK(wrong(text, {{"n", 3}}) == "");
  const kernel::Plan plan = compile(at(parse(text), {{"n", 3}}));
  CHECK(kernel::structure(plan.kernels[0]).at("if") == 1);
  CHECK(kernel::structure(plan.kernels[0]).at("barrier") == 1);
  CHECK(rangeOf(plan.kernels[0]) == "24 1 1; 8 1 1");
}

TEST_CASE("what stands outside of every parallel loop is done once, whatever the launch") {
  const std::string text = "def main(x: [n]f32): f32 = reduceSeq(0.0, add, x)";
  CHECK(rangeOf(compile(at(parse(text), {{"n", 9}})).kernels[0]) == "1 1 1; 1 1 1");
  CompileOptions many;
  many.local = {4, 2, 1};
  many.groups = {2, 1, 1};
  CHECK(wrong(text, {{"n", 9}}, many) == "");
}

TEST_CASE("NDRange: work-items in groups that divide the work, or cover it") {
  const auto range = [](const std::string& text, const Sizes& sizes = {}, const CompileOptions& options = {}) {
    return rangeOf(compile(at(parse(text), sizes), options).kernels.at(0));
  };
  const std::string one = "def main(x: [n]f32): [n]f32 = mapGlb(0, fun v => v + 1.0, x)";
  CHECK(range(one, {{"n", 20}}) == "20 1 1; 20 1 1");
  CHECK(range(one, {{"n", 64}}) == "64 1 1; 64 1 1");
  CHECK(range(one, {{"n", 96}}) == "96 1 1; 48 1 1");
  CHECK(range(one, {{"n", 101}}) == "128 1 1; 64 1 1");
  CHECK(range(one) == "64*((n + 63)/64) 1 1; 64 1 1");
  CompileOptions small;
  small.maxGroupSize = 16;
  CHECK(range(one, {{"n", 96}}, small) == "96 1 1; 16 1 1");
  CHECK(range(one, {}, small) == "16*((n + 15)/16) 1 1; 16 1 1");

  // Few work-items of many statements are several groups, for as many cores.
  const std::string sums = "def main(x: [n][m]f32): [n]f32 = mapGlb(0, fun row => reduceSeq(0.0, add, row), x)";
  CHECK(range(sums, {{"n", 64}, {"m", 100}}) == "64 1 1; 64 1 1");
  CHECK(range(sums, {{"n", 64}, {"m", 5000}}) == "64 1 1; 16 1 1");
  CHECK(range(sums, {{"n", 64}}) == "64 1 1; 16 1 1");
  CHECK(range(sums, {{"n", 16}, {"m", 5000}}) == "16 1 1; 8 1 1");
  CHECK(range(sums, {{"n", 6}, {"m", 5000}}) == "6 1 1; 6 1 1");
  CHECK(range(sums, {{"n", 1024}, {"m", 5000}}) == "1024 1 1; 64 1 1");

  const std::string rows = "def main(x: [n][m]f32): [n][m]f32 = mapGlb2D(fun v => v + 1.0, x)";
  CHECK(range(rows, {{"n", 5}, {"m", 7}}) == "7 5 1; 7 1 1");

  const std::string groups = "def main(x: [n][m]f32): [n][m]f32 = mapWrg(0, mapLcl(0, fun v => v + 1.0), x)";
  CHECK(range(groups, {{"n", 5}, {"m", 7}}) == "35 1 1; 7 1 1");
  CHECK(range(groups, {{"m", 500}}) == "256*n 1 1; 256 1 1");
  CHECK(range(groups, {{"n", 5}}) == "320 1 1; 64 1 1");
  CHECK(range(groups, {{"m", 500}}, small) == "16*n 1 1; 16 1 1");
  CompileOptions given;
  given.local[0] = 8;
  given.groups[0] = 3;
  CHECK(range(groups, {}, given) == "24 1 1; 8 1 1");
  CHECK(wrong(groups, {{"n", 5}, {"m", 37}}, given) == "");
  CHECK(wrong(groups, {{"n", 5}, {"m", 37}}, small) == "");
}

TEST_CASE("rows of few elements share work-groups") {
  const auto rangeAt = [](const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
    return rangeOf(compile(at(parse(text), sizes)).kernels.at(0));
  };
  const std::string rows = "def main(xs: [n][m]f32): [n][m]f32 = map(fun row => map(fun x => x * 2.0, row), xs)";
  CHECK(rangeAt(rows, {{"n", 4096}, {"m", 4}}) == "4 4096 1; 4 16 1");
  CHECK(rangeAt(rows, {{"n", 4099}, {"m", 3}}) == "3 4116 1; 3 21 1");
  CHECK(rangeAt(rows, {{"m", 4}}).ends_with("; 4 16 1"));
  CHECK(rangeAt(rows, {{"n", 256}, {"m", 4}}) == "4 256 1; 4 8 1");  // and enough groups are left
  CHECK(rangeAt(rows, {{"n", 16}, {"m", 4}}) == "4 16 1; 4 1 1");
  CHECK(rangeAt(rows, {{"n", 4096}, {"m", 32}}) == "32 4096 1; 32 1 1");
  const std::string planes =
      "def main(xs: [n][m][3]f32): [n][m][3]f32 = map(fun p => map(fun row => map(fun x => x * 2.0, row), p), xs)";
  CHECK(rangeAt(planes, {{"n", 64}, {"m", 2}}) == "3 2 64; 3 1 2");
  CHECK(rangeAt(planes, {{"n", 64}, {"m", 640}}) == "3 640 64; 3 20 1");
  // Work-items of long loops keep a group of their own row.
  const std::string sums =
      "def main(xs: [n][m][k]f32): [n][m]f32 = map(fun p => map(fun r => reduce(0.0, add, r), p), xs)";
  CHECK(rangeAt(sums, {{"n", 4096}, {"m", 4}, {"k", 3}}) == "4 4096 1; 4 16 1");
  CHECK(rangeAt(sums, {{"n", 4096}, {"m", 4}}) == "4 4096 1; 4 1 1");
  for (const std::int64_t n : {1, 33, 64})
    CHECK(wrong(rows, {{"n", n}, {"m", 3}}) + wrong(planes, {{"n", n}, {"m", 2}}) == "");
  // On a GPU, however few rows there are, and however long.
  CompileOptions gpu;
  gpu.target.isGpu = true;
  const auto rangeOnGpu = [&](const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
    return rangeOf(compile(at(parse(text), sizes), gpu).kernels.at(0));
  };
  CHECK(rangeOnGpu(rows, {{"n", 28}, {"m", 5}}) == "5 28 1; 5 28 1");
  CHECK(rangeOnGpu(sums, {{"n", 4096}, {"m", 4}}) == "4 4096 1; 4 16 1");
  CHECK(rangeOnGpu(rows, {{"n", 4096}, {"m", 32}}) == "32 4096 1; 32 2 1");
  CHECK(wrong(rows, {{"n", 28}, {"m", 5}}, gpu) == "");
}

TEST_CASE("nests of more maps than dimensions are as many work-items as fill a device") {
  const auto itemsAt = [](const std::string& text, const Sizes& sizes, bool isGpu) {
    CompileOptions options;
    options.target.isGpu = isGpu;
    std::int64_t items = 1;
    const kernel::Plan plan = compile(at(parse(text), sizes), options);
    for (const Nat n : plan.kernels.at(0).range.global) items *= n.constant().value();
    return items;
  };
  const std::string deep =
      "def main(xs: [a][b][c][d][e]f32): [a][b][c][d][e]f32 = map(map(map(map(map(fun x => x * 2.0)))), xs)";
  const std::string rows = R"(
    def main(xs: [a][b][c][d][e]f32): [a][b][c][d][e]f32 =
      map(map(map(map(fun r => let m = reduce(-inf, max, r) in map(fun x => x - m, r)))), xs))";
  const Sizes small{{"a", 2}, {"b", 3}, {"c", 2}, {"d", 5}, {"e", 7}};
  CHECK(itemsAt(deep, small, false) == 420);
  CHECK(itemsAt(deep, small, true) == 420);
  CHECK(itemsAt(rows, small, true) >= 60);
  CHECK(wrong(deep, small) == "");
  CHECK(wrong(rows, small) == "");
  // Where the outer maps are enough for a processor, its work-items have rows of their own; a GPU's neighbours
  // elements.
  const Sizes large{{"a", 8}, {"b", 4}, {"c", 4}, {"d", 5}, {"e", 16}};
  CHECK(itemsAt(deep, large, false) == 128);
  CHECK(itemsAt(deep, large, true) == 128 * 5 * 16);
  // Numbers of a pixel stay together.
  const std::string pixels =
      "def main(xs: [a][b][c][3]f32): [a][b][c][3]f32 = map(map(map(map(fun x => x * 2.0))), xs)";
  CHECK(itemsAt(pixels, {{"a", 2}, {"b", 5}, {"c", 16}}, true) == 160);
}

TEST_CASE("work-groups are within a device's sizes of each dimension") {
  CompileOptions flat;
  flat.target.groupSizes = {8, 2, 1};
  const auto range = [&](const std::string& text, const Sizes& sizes) {
    return rangeOf(compile(at(parse(text), sizes), flat).kernels.at(0));
  };
  CHECK(range("def main(x: [n]f32): [n]f32 = map(fun v => v + 1.0, x)", {{"n", 96}}) == "96 1 1; 8 1 1");
  const std::string rows = "def main(xs: [n][m]f32): [n][m]f32 = map(fun row => map(fun x => x * 2.0, row), xs)";
  CHECK(range(rows, {{"n", 4096}, {"m", 4}}) == "4 4096 1; 4 2 1");
  const std::string groups = "def main(x: [n][m]f32): [n][m]f32 = mapWrg(0, mapLcl(0, fun v => v + 1.0), x)";
  CHECK(range(groups, {{"n", 5}, {"m", 500}}) == "40 1 1; 8 1 1");
  CHECK(wrong(groups, {{"n", 5}, {"m", 37}}, flat) == "");
}

TEST_CASE("groups of a GPU whose largest is no power of two are the next smaller one, unless asked for") {
  CompileOptions gpu;
  gpu.target.isGpu = true;
  gpu.target.groupSize = 384;
  const auto range = [&] {
    const std::string text = "def main(x: [n][m]f32): [n][m]f32 = mapWrg(0, mapLcl(0, fun v => v + 1.0), x)";
    return rangeOf(compile(at(parse(text), {{"n", 5}, {"m", 5000}}), gpu).kernels.at(0));
  };
  CHECK(range() == "1280 1 1; 256 1 1");
  gpu.maxGroupSize = 384;
  CHECK(range() == "1920 1 1; 384 1 1");
}

TEST_CASE("dimensions share the room of a group") {
  const std::string text = R"(
    def main(x: [4][20][30]f32): [4][20][30]f32 = mapWrg(0, mapLcl2D(fun v => v * 2.0), x))";
  CompileOptions options;
  options.maxGroupSize = 64;
  const kernel::Kernel k = compile(parse(text), options).kernels[0];
  CHECK(rangeOf(k) == "120 2 1; 30 2 1");
  CHECK(wrong(text, {}, options) == "");
}

TEST_CASE("accumulators that are arrays stay in place where every element is read only for itself") {
  const std::string inPlace = R"(
    def main(x: [n]f32): [4]f32 =
      reduceSeq(generate(4, fun i => f32(i)), fun (acc, v) => mapSeq(fun a => a * 0.5 + v, acc), x))";
  const std::string doubled = R"(
    def main(x: [n]f32): [4]f32 =
      reduceSeq(generate(4, fun i => f32(i)), fun (acc, v) => mapSeq(fun a => a * 0.5 + v, reorder(reverse, acc)), x))";
  CHECK(wrong(inPlace, {{"n", 5}}) == "");
  CHECK(wrong(doubled, {{"n", 5}}) == "");
  CompileOptions lowered;
  lowered.passes.skip = {"trips", "unroll", "simplify", "scalars", "declare", "copies", "dead", "hoist"};
  const auto arrays = [&](const std::string& text) {
    return kernel::structure(compile(at(parse(text), {{"n", 5}}), lowered).kernels[0]).at("private_array");
  };
  CHECK(arrays(inPlace) == 1);
  CHECK(arrays(doubled) == 2);
  CHECK(wrong(doubled, {{"n", 5}}, lowered) == "");
  // Of constant size, neither is an array in the end.
  for (const std::string& text : {inPlace, doubled})
    CHECK(kernel::structure(compile(at(parse(text), {{"n", 5}})).kernels[0]).at("private_array") == 0);
}

TEST_CASE("states of iterations stay in place where every element is read only for itself") {
  CompileOptions lowered;
  lowered.passes.skip = {"trips", "unroll", "simplify", "scalars", "declare", "copies", "dead", "hoist"};
  const auto arrays = [&](const std::string& steps) {
    const std::string text = "def main(x: [n][4]f32): [n][4]f32 = mapGlb(0)(fun r => " + steps + " |> mapSeq(id), x)";
    INFO(text);
    CHECK(wrong(text, {{"n", 5}}) == "");
    CHECK(wrong(text, {{"n", 5}}, lowered) == "");
    return kernel::structure(compile(at(parse(text), {{"n", 5}}), lowered).kernels[0]).at("private_array");
  };
  CHECK(arrays("iterate(100, fun s => mapSeq(fun a => a * 0.5 + 1.0, s), r)") == 1);
  CHECK(arrays("iterate(100, fun s => mapSeq(fun a => a * 0.5 + 1.0, reorder(reverse, s)), r)") == 2);
  CHECK(arrays("iterateWhile(100, fun s => s[0] < 1.75, fun s => mapSeq(fun a => a * 0.5 + 1.0, s), r)") == 1);
  CHECK(arrays("iterateWhile(100, fun s => s[0] < 1.75, fun s => mapSeq(fun a => a * 0.5 + s[0], s), r)") == 2);
  CHECK(arrays("iterateWhile(9, fun (s, k) => k < 7, fun (s, k) => (mapSeq(fun a => a * 0.5 + f32(k), s), k + 1), (r, "
               "0)).0") == 1);
  CHECK(arrays("iterate(100, fun s => zipWith(fun (a, b) => a * 0.5 + b, s, r), r)") == 1);
}

TEST_CASE("an iteration whose condition compares what each step counts with a bound is a loop of so many steps") {
  const auto counts = [](const std::string& most, const std::string& condition, const std::string& next,
                         const std::string& start) {
    const std::string text = fmt::format(
        "def main(m: nat in 0..9, x: [n]f32, k: [n]i32): [n](i32, f32) =\n"
        "  generate(n, fun i => iterateWhile({}, fun (e, a) => {}, fun (e, a) => ({}, a * 0.5 + f32(e % 16)), ({}, "
        "x[i])))",
        most, condition, next, start);
    INFO(text);
    bool isCounted = true;
    for (const std::int64_t m : {0, 1, 5}) {
      const Sizes sizes{{"n", 6}, {"m", m}};
      CHECK(wrong(text, sizes) == "");
      isCounted = isCounted && !contains(compile(at(parse(text), sizes)).sources[0], "running");
      CompileOptions checks;
      checks.checkBounds = true;
      CHECK(wrong(text, sizes, checks) == "");
    }
    return isCounted && !contains(compile(parse(text)).sources[0], "running");
  };
  // The most steps, the bound, and none decide.
  CHECK(counts("20", "e < k[i] % 16", "e + 1", "k[(i + 1) % n] % 16"));
  CHECK(counts("5", "k[i] % 16 > e", "1 + e", "-3"));
  CHECK(counts("m", "e < n", "e + 1", "i"));
  CHECK(counts("m + 3", "e < 2147483647", "e + 1", "k[i] - 2147483647"));
  CHECK(counts("4", "e < -2147483647", "e + 1", "2147483600"));
  CHECK(counts("m + 1", "e < 12 / (abs(k[i] % 8) + 1)", "e + 1", "0"));
  CHECK(counts("4", "e < k[i] % 16", "let d = e in d + 1", "0"));
  // A bound that is asked for though it may not be there, that changes, that may be passed; other steps and
  // comparisons.
  CHECK_FALSE(counts("m", "e < 12 / (abs(k[i] % 8) + 1)", "e + 1", "0"));
  CHECK_FALSE(counts("6", "e < i32(a)", "e + 1", "0"));
  CHECK_FALSE(counts("6", "e < k[i] % 16", "e + 2", "0"));
  CHECK_FALSE(counts("6", "e <= k[i] % 16", "e + 1", "0"));
  CHECK_FALSE(counts("6", "e < k[i] % 16", "if a > 0.5 then e + 1 else e", "0"));
  CHECK(wrong("def main(k: [n]i32): [n]i32 = map(fun b => iterateWhile(7, fun e => e < b % 16, fun e => e + 1, -2), k)",
              {{"n", 9}}) == "");
}

TEST_CASE("accumulators that are transposed, shifted or mixed in every step") {
  for (const std::string step :
       {"mapSeq2D(fun a => a * 0.5 + v, transpose(acc))", "mapSeq2D(fun a => a * 0.5 + v, reorder(shift(1), acc))",
        "mapSeq(fun row => mapSeq(fun a => a * 0.5 + v, reorder(reverse, row)), acc)",
        "mapSeq(fun (a, b) => mapSeq(fun (p, q) => p * 0.5 + q * v, zip(a, b)), zip(acc, reorder(reverse, acc)))",
        "transpose(mapSeq2D(fun a => a * 0.5 + v, acc))",
        "mapSeq(fun row => mapSeq(fun a => a * 0.25 + reduceSeq(v, add, row), row), acc)"}) {
    INFO(step);
    CHECK(wrong("def main(x: [n]f32): [3][3]f32 = reduceSeq(generate2D(3, 3, fun (i, j) => f32(i) - 0.5 * f32(j)), "
                "fun (acc, v) => " +
                    step + ", x)",
                {{"n", 4}}) == "");
  }
}

TEST_CASE("two compilations print the same kernels") {
  for (const std::string name : {"stencil2d", "conv_layer", "gaussian_blur", "matmul", "dot"}) {
    INFO(name);
    const kernel::Plan first = compile(example(name)), second = compile(example(name));
    CHECK(first.sources == second.sources);
    CHECK(first.launches.size() == second.launches.size());
  }
  const Partial p{11, 11, 8, 8, 5, 4, 3, 12, 4};
  CHECK(compile(p.program()).sources == compile(p.program()).sources);
}

TEST_CASE("what is named outside of every map is computed once in each kernel that needs it") {
  const int length = 150;
  std::string chain = "def main(a0: f32, xs: [n]f32): [n]f32 = ";
  for (int i = 1; i <= length; i++) chain += fmt::format("let a{} = a{} * a{} in ", i, i - 1, i - 1);
  const kernel::Plan plan = compile(parse(chain + fmt::format("map(fun x => x + a{}, xs)", length)));
  REQUIRE(plan.sources.size() == 1);
  CHECK(occurrences(sourceOf(plan), " * ") == length);

  const std::string tuples = R"(
    def main(a: f32, b: i32, xs: [n]f32): [n]f32 =
      let c = a * a + 1.0 in
      let y = toGlobal(map(fun x => x * c, xs)) in
      let p = (c * a, c + a) in
      let q = (p.0 * p.1, p.0 + p.1) in
      let e = if b > 0 then (let r = 6 / b in r * r) else 7 in
      map(fun v => v * q.0 + q.1 + f32(e), reorder(reverse, y)))";
  const kernel::Plan two = compile(parse(tuples));
  REQUIRE(two.sources.size() == 2);
  CHECK(occurrences(sourceOf(two, 0), "a[0]") == 2);
  CHECK(occurrences(sourceOf(two, 1), "c * ") == 1);
  CHECK(wrong(tuples, {{"n", 9}}) == "");

  // The steps of a loop of launches name what changes from step to step, and what does not.
  const std::string loop = R"(
    def main(a: f32, k: nat in 0.., xs: [n]f32): [n]f32 =
      let c = a * 0.5 in
      iterate(k, fun y => let s = y[0] * c in let t = s * s + s in map(fun v => v * 0.5 + t, reorder(reverse, y)), xs))";
  for (const int steps : {0, 1, 3}) CHECK(wrong(loop, {{"n", 9}, {"k", steps}}) == "");
  const Program open = parse(loop);
  const Tensors inputs = inputsOf(at(open, {{"n", 9}, {"k", 20}}));
  CHECK(differences(emulate(compile(open), inputs, {{"k", 20}}), interpret(at(open, {{"n", 9}, {"k", 20}}), inputs),
                    sumTolerance) == "");
}

TEST_CASE("numbers that the steps of an iteration count on are constants of each step") {
  const std::string text = R"(
    def main(xs: [n][16]i32): [n][16]i32 = map(fun row =>
      let (y, _) = iterate(4, fun (y, half) => (generate(16, fun i => y[i / half] + y[i % half]), 2 * half), (row, 1)) in y, xs))";
  const std::string source = sourceOf(compile(parse(text)), 0);
  CHECK(source.find("quotient_int") == std::string::npos);
  CHECK(wrong(text, {{"n", 3}}) == "");
}

TEST_CASE("constants of unrolled steps are folded, so that indices made of them are understood") {
  const std::string text = R"(
    def main(xs: [n][64]f32): [n][64]f32 = map(fun row => iterate(3, fun (y, h) => (generate(64, fun i =>
      let j = i % (2 * h) in let a = y[i / (2 * h) * h + j % h] in if j < h then a + 1.0 else a), 2 * h), (row, 1)).0, xs))";
  const std::string source = sourceOf(compile(parse(text)), 0);
  CHECK(source.find("(uint)") == std::string::npos);
  CHECK(wrong(text, {{"n", 3}}) == "");
}

TEST_CASE("what nothing reads is not stored, and what is only copied to the result is stored there") {
  const std::string segments = R"(
    def main(heads: [n]i32, xs: [n]f32): [n]f32 = zip(heads, xs)
      |> scan((0, 0.0), fun ((f, a), (g, x)) => (f | g, if g != 0 then x else a + x)) |> map(fun p => p.1))";
  const kernel::Plan plan = compile(parse(segments));
  CHECK(plan.launches.size() == 1);
  CHECK(plan.kernels[0].arguments.size() == 3);
  CHECK(plan.kernels[0].name == "main_");
  CHECK(wrong(segments, {{"n", 9}}) == "");
  // What is read otherwise, too, or is a result itself, is where it was.
  for (const char* body :
       {"let s = scan(0.0, sub, xs) in (s, map(fun x => x + s[0], s))",
        "let s = scan(0.0, sub, xs) in (reorder(reverse, s), s)",
        "let s = scan((0.0, 1.0), fun ((a, b), x) => (x - a, b * x), xs) in (map(fun p => p.0, s), s)",
        "let s = iterate(20, fun v => scan(0.0, sub, v), xs) in (s, s)"}) {
    INFO(body);
    CHECK(wrong("def main(xs: [n]f32) = " + std::string(body), {{"n", 9}}) == "");
  }
}

TEST_CASE("what takes longer than a wrong branch is computed where it is chosen") {
  const auto sourceFor = [](const std::string& value) {
    const std::string text = "def main(xs: [n]f32): [n](f32, f32) = map(fun x => if x > 0.5 then let y = " + value +
                             " in (x * y, y) else (x, 0.0), xs)";
    CHECK(wrong(text, {{"n", 7}}) == "");
    return sourceOf(compile(parse(text)), 0);
  };
  CHECK(sourceFor("x + 2.0").find("} else {") == std::string::npos);
  CHECK(sourceFor("1.0 / x / (x + 1.0) / (x + 2.0)").find("} else {") != std::string::npos);
}

TEST_CASE("loops over windows that were joined are written out inside of others") {
  const std::string text = R"(
    def main(k: [m][3][3]f32, xs: [m][12]f32): [4]f32 = generate(4, fun y => sum(generate(m, fun c =>
      sum(join(generate2D(3, 3, fun (i, j) => k[c][i][j] * xs[c][y + 3 * i - j + 2]))))))";
  const std::string source = sourceOf(compile(parse(text + ")")), 0);
  CHECK(source.find("% 3") == std::string::npos);
  CHECK(wrong(text + ")", {{"m", 5}}) == "");
}

TEST_CASE("lanes of which it is not known how many are stored are a loop") {
  const Program program = parse(R"(
    def main(xs: [16 * k]f32, n: nat in 1..16 * k): [n]f32 =
      take(n, asScalar(mapGlb(0)(fun v => v * splat(16, 2.0))(asVector(16, xs)))))");
  const kernel::Plan plan = compile(program);
  CHECK(occurrences(sourceOf(plan), "if (") == 3);  // of the work-item, of all lanes, of a lane
  for (const std::int64_t n : {1, 16, 19, 32}) {
    const Sizes sizes{{"k", 2}, {"n", n}};
    const Program known = at(program, sizes);
    const Tensors inputs = inputsOf(known);
    CHECK(differences(emulate(plan, inputs, sizes), interpret(known, inputs), 0) == "");
  }
}

}  // namespace lift::codegen_tests
