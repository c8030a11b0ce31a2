// Programs of f16: computed in f32 by whatever family derives them, and rounded where they give a result. Sums here go
// far up before they come down again, so that what is rounded in between shows.

#include <catch2/catch.hpp>
#include <set>

#include "lift/diagnostic.hpp"
#include "parted.hpp"

using namespace lift;

namespace {

struct Sum {
  const char* text;
  std::string falling;  // the parameter whose second half, along the dimension of the sum, is negative
  std::size_t dimension;
  std::set<std::string> families;  // that derive a part of it
};

const std::vector<Sum>& sums() {
  static const std::vector<Sum> all{
      {"def main(a: [6][1200]f16, b: [1200][32]f16) = matmul(a, b)", "b", 0, {"tiles"}},
      {"def main(a: [4][1200]f16, b: [24][1200]f16) = matmul(a, transpose(b))", "b", 1, {"dots"}},
      {"def main(a: [2][4][600]f16, b: [2][20][600]f16) = zip(a, b) |> map(fun (x, y) => matmul(x, transpose(y)))",
       "b",
       2,
       {"dots"}},
      {"def main(xs: [9][3000]f16): [9]f16 = map(fun row => 0.5 * sum(row), xs)", "xs", 1, {"rows"}},
      {"def main(xs: [1500][16]f16, x: [1500]f16) = transpose(xs) |> map(fun c => dotProduct(c, x))",
       "x",
       0,
       {"lanes"}},
      {"def main(xs: [20][44]f16, w: [18][18]f16) = slide2D(18, 18, 1, 1, xs) |> "
       "map2D(fun v => dotProduct(join(v), join(w)))",
       "w",
       0,
       {"strips", "lanes", "vectors"}},
      {"def main(xs: [6000]f16): f16 = sum(xs)", "xs", 0, {"default"}},
      {"def main(xs: [9000]f16): [9000]f16 = scan(0.0, add, xs)", "xs", 0, {"default"}},
      {"def main(xs: [5000]f16): [3]f16 = "
       "reduceByIndex(fill(3, 0.0), add, zip(generate(5000, fun i => i % 3), xs))",
       "xs",
       0,
       {"default"}},
      {"def main(xs: [64]f16): f16 = let ys = toGlobal(map(fun x => 30000.0 * x, xs)) in "
       "0.001 * (sum(take(31, ys)) + sum(drop(31, ys)))",
       "xs",
       0,
       {"default"}},
      {"def main(xs: [64]f16): [64]f16 = map(fun x => x + 4096.0 * (3.0 * [1.0 / 3.0, 0.5][0] - 1.0), xs)",
       "",
       0,
       {"default"}},
      {"def main(xs: [64]f16): [64]f16 = iterate(20, fun v => map(fun x => x * 1.07 + 0.001, v), xs)",
       "",
       0,
       {"default"}},
  };
  return all;
}

// Programs that say where their work runs: accumulators in private, in global and in local memory.
const std::vector<Sum>& placed() {
  static const std::vector<Sum> all{
      {"def main(a: [6][1200]f16, b: [1200][8]f16) = a |> mapGlb(0)(fun row => reduceSeq(fill(8, 0.0), "
       "fun (acc, (x, c)) => mapSeq(fun (s, y) => s + x * y, zip(acc, c)), zip(row, b)))",
       "b",
       0,
       {}},
      {"def main(xs: [8][900]f16) = toGlobal(split(90, join(xs)) |> mapGlb(0)(reduceSeq(0.0, add))) |> split(10) |> "
       "mapGlb(0)(reduceSeq(0.0, add))",
       "xs",
       1,
       {}},
      {"def main(xs: [4][800]f16) = xs |> mapWrg(0)(fun row => let parts = toLocal(split(100, row) |> "
       "mapLcl(0)(reduceSeq(0.0, add))) in split(8, parts) |> mapLcl(0)(reduceSeq(0.0, add))) |> join",
       "xs",
       1,
       {}},
  };
  return all;
}

std::map<std::string, Tensor> inputsOf(const Program& program, const Sum& sum) {
  auto inputs = parted::inputsOf(program);
  for (auto& [name, tensor] : inputs) {
    std::int64_t inner = 1;
    for (std::size_t d = sum.dimension + 1; d < tensor.shape.size(); d++) inner *= tensor.shape[d];
    for (std::int64_t i = 0; i < tensor.size(); i++) {
      const double size = 0.75 + tensor.get(i) / 4;
      const bool falls =
          name == sum.falling && 2 * (i / inner % tensor.shape[sum.dimension]) >= tensor.shape[sum.dimension];
      tensor.set(i, falls ? -size : size);
    }
  }
  return inputs;
}

// Both are rounded to half, perhaps from different sides of the middle of two halves.
constexpr double oneRounding = 1.01 * 0x1p-10;

}  // namespace

TEST_CASE("sums of f16 are rounded as results alone, in every family", "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  int derived = 0;
  for (const Sum& sum : sums()) {
    const Program program = parseProgram(*addSource("halves.lift", sum.text));
    const auto inputs = inputsOf(program, sum);
    const auto expected = interpret(program, inputs);
    const PartedProgram parted = partsOf(program);
    std::set<std::string> missing = sum.families;
    for (std::size_t p = 0; p < parted.parts.size(); p++)
      for (const OperatorFamily& family : parted.parts[p].workload.families) {
        INFO(sum.text << "\npart " << p + 1 << " by " << family.name);
        std::vector<PartChoice> choices(parted.parts.size(), PartChoice{defaultFamily, {}, ""});
        choices[p] = {family.name, family.defaults, ""};
        Workload w = programWorkload(program, 0);
        w.families = {partsFamily(parted, choices)};
        try {
          const Variant v = derive(w, partsFamilyName);
          CHECK(largestError(device->load(compileVariant(v, v.defaults))->run(inputs).outputs, expected) < oneRounding);
        } catch (const UserError& e) {
          if (missing.contains(family.name)) FAIL_CHECK(e.what());
          continue;
        }
        missing.erase(family.name);
        derived++;
      }
    INFO(sum.text << " lacks " << (missing.empty() ? "" : *missing.begin()));
    CHECK(missing.empty());
  }
  CHECK(derived >= 20);
}

TEST_CASE("sums of f16 that a program places are rounded as results alone", "[null]") {
  const auto device = runtime::makeEmulatorDevice();
  for (const Sum& sum : placed()) {
    INFO(sum.text);
    const Program program = parseProgram(*addSource("halves.lift", sum.text));
    const auto inputs = inputsOf(program, sum);
    CHECK(largestError(device->load(compile(program))->run(inputs).outputs, interpret(program, inputs)) < oneRounding);
  }
}
