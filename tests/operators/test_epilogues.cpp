// What is computed of each element of a part's result, of other arrays, too: of the part, in every family, without a
// kernel of its own.
#include <set>

#include "parted.hpp"

using namespace lift;

namespace {

struct Case {
  std::string name, text;
  Pattern pattern;
};

const std::vector<Case>& cases() {
  using P = Pattern;
  static const std::vector<Case> all = {
      {"product, residual",
       "def main(a: [12][10]f32, b: [10][32]f32, r: [12][32]f32): [12][32]f32 =\n"
       "  zipWith2D(fun (x, y) => relu(x + y), matmul(a, b), r)\n",
       P::product},
      {"product whose rows are pairs",
       "def main(a: [48][64]f32, w: [48][64]f32, s: [48]f32, t: [48]f32): [48][48]f32 =\n"
       "  a |> map(fun row => zip(w, s, t) |> map(fun (c, u, v) => dotProduct(row, c) * u + v))\n",
       P::product},
      {"uneven product, a factor of rows and one of columns, the residual transposed",
       "def main(a: [13][5]f32, b: [5][37]f32, r: [37][13]f32, f: [13]f32, g: [37]f32): [13][37]f32 =\n"
       "  zip(matmul(a, b), transpose(r), f) |> map(fun (row, more, p) => zip(row, more, g) |> map(fun (x, y, q) =>\n"
       "    max(x * p + y, 0.0) * q))\n",
       P::product},
      {"small product written with the residual of its rows",
       "def main(a: [20][33]f32, b: [33][13]f32, r: [20][13]f32): [20][13]f32 =\n"
       "  zip(a, r) |> map(fun (row, more) => zip(transpose(b), more) |> map(fun (c, x) => dotProduct(row, c) + x))\n",
       P::product},
      {"small product in a batch, with a bias and the residual of its rows",
       "def main(a: [3][16][9]f32, b: [3][9][24]f32, t: [24]f32, r: [3][16][24]f32): [3][16][24]f32 =\n"
       "  zip(a, b, r) |> map(fun (x, y, z) => zip(x, z) |> map(fun (row, more) =>\n"
       "    zip(transpose(y), t, more) |> map(fun (c, u, v) => max(dotProduct(row, c) + u + v, 0.0))))\n",
       P::product},
      {"product in a batch, a mask and a flat residual",
       "def main(a: [3][8][6]f32, b: [3][6][16]f32, m: [8][16]i32, r: [384]f32): [384]f32 =\n"
       "  let c = zip(a, b) |> map(fun (x, y) => matmul(x, y)) |> map(fun x => zipWith2D(fun (v, k) =>\n"
       "    if k == 0 then v else 0.0, x, m)) in\n"
       "  zipWith(sub, join(join(c)), r)\n",
       P::product},
      {"few rows by many: sums in lanes",
       "def main(a: [4][96]f32, w: [20][96]f32, t: [20]f32, r: [4][20]f32): [4][20]f32 =\n"
       "  zip(matmul(a, transpose(w)), r) |> map(fun (row, more) => zip(row, t, more) |> map(fun (c, v, y) => c + v - "
       "y))\n",
       P::product},
      {"rows, a residual and a gate",
       "def main(a: [21][80]f32, x: [80]f32, r: [21]f32): [21]f32 =\n"
       "  zipWith(fun (y, z) => sigmoid(y) * z, matvec(a, x), r)\n",
       P::rows},
      {"columns, a residual",
       "def main(a: [9][40]f32, x: [9]f32, r: [40]f32): [40]f32 =\n"
       "  zipWith(fun (y, z) => y * 0.5 + z, transpose(a) |> map(fun c => dotProduct(c, x)), r)\n",
       P::rows},
      {"stencil, a residual",
       parted::smooth + "def main(x: [7][33]f32, w: [3][3]f32, r: [7][33]f32): [7][33]f32 =\n"
                        "  zipWith2D(fun (y, z) => abs(y - z), smooth(w, x), r)\n",
       P::stencil},
  };
  return all;
}

Program load(const Case& c) { return parseProgram(*addSource(c.name + ".lift", c.text)); }

}  // namespace

TEST_CASE("what is computed of a result's elements is of its part, in every family") {
  const auto device = runtime::makeEmulatorDevice();
  std::set<std::string> families;
  for (const Case& c : cases()) DYNAMIC_SECTION(c.name) {
      const Program program = load(c);
      const PartedProgram parted = partsOf(program);
      REQUIRE(parted.parts.size() == 1);
      const Part& part = parted.parts[0];
      CHECK(part.pattern == c.pattern);
      REQUIRE(part.same);
      const auto inputs = parted::inputsOf(program);
      const auto expected = interpret(program, inputs);
      REQUIRE(part.workload.families.size() > 1);
      for (const OperatorFamily& f : part.workload.families) {
        INFO(f.name);
        if (!f.derive) continue;
        Workload w = programWorkload(program, 0);
        w.families = {partsFamily(parted, {{f.name, f.defaults, ""}})};
        const Variant v = derive(w, partsFamilyName);
        verify(v.program);
        const kernel::Plan plan = compileVariant(v, v.defaults);
        CHECK(largestError(device->load(plan)->run(inputs).outputs, expected) < parted::tolerance);
        CHECK(plan.launches.size() == compileVariant(derive(*part.same, f.name), f.defaults).launches.size());
        const Program again = rewrite::replay(v.source, v.derivation);
        CHECK(print(again.body, Names::canonical) == print(v.program.body, Names::canonical));
        families.insert(f.name);
      }
    }
}

TEST_CASE("what is read twice, or asked to be in memory, is a part of its own") {
  const auto partsIn = [](const std::string& body) {
    const std::string text = "def main(a: [12][10]f32, b: [10][32]f32, r: [12][32]f32) = " + body;
    return partsOf(parseProgram(*addSource("kept.lift", text))).parts.size();
  };
  CHECK(partsIn("zipWith2D(add, matmul(a, b), r)") == 1);
  CHECK(partsIn("let p = matmul(a, b) in zipWith2D(add, p, r)") == 1);
  CHECK(partsIn("let p = matmul(a, b) in (p, zipWith2D(add, p, r))") == 2);
  CHECK(partsIn("let p = matmul(a, b) in zipWith2D(mul, p, zipWith2D(add, p, r))") > 1);
  CHECK(partsIn("let p = toGlobal(matmul(a, b)) in zipWith2D(add, p, r)") == 2);
}
