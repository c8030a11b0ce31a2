// What programs compute of a layer's outputs, of other arrays, too: finished where the outputs are written, in every
// family, without a kernel of its own.
#include <catch2/catch.hpp>

#include "lift/diagnostic.hpp"
#include "recognised.hpp"

using namespace lift;
using recognised::Case;

namespace {

const std::string layer =
    "def layer(x, k) = x |> pad2D(1, 1, 1, 1, fill(6, 0.0)) |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
    "  k |> map(fun kernel => dotProduct(flatten3D(window), flatten3D(kernel))))\n";

const std::vector<Case>& epilogues() {
  static const std::vector<Case> all = {
      {"a residual, relu",
       layer + "def main(x: [5][7][6]f32, k: [10][3][3][6]f32, r: [5][7][10]f32): [5][7][10]f32 =\n"
               "  zipWith3D(fun (y, z) => relu(y + z), layer(x, k), r)\n",
       {"ic6ih5iw7oc10kh3ph1"}},
      {"bias, scales, a residual of another layout, a factor for each row",
       layer + "def main(x: [5][7][6]f32, k: [16][3][3][6]f32, b: [16]f32, s: [16]f32, r: [16][5][7]f32, f: [5]f32): "
               "[5][7][16]f32 =\n"
               "  let y = layer(x, k) |> map2D(fun p => zipWith(add, p, b)) |> map2D(fun p => zipWith(mul, p, s)) in\n"
               "  zip(y, transpose(r) |> map(transpose), f) |> map(fun (row, more, a) =>\n"
               "    zipWith2D(fun (u, v) => max(u, v) * a, row, more))\n",
       {"ic6ih5iw7oc16kh3ph1"}},
      {"channels first, a residual, a mask of integers",
       "def main(x: [6][8][7]f32, k: [12][6][3][3]f32, r: [12][6][5]f32, m: [6][5]i32): [12][6][5]f32 =\n"
       "  let windows = x |> slide3D(6, 3, 3, 1, 1, 1) |> join in\n"
       "  let y = k |> map(fun kernel => windows |> map2D(fun v => dotProduct(flatten3D(v), flatten3D(kernel)))) in\n"
       "  zip(y, r) |> map(fun (plane, more) => zipWith2D(fun (u, v, keep) => if keep == 1 then u - v else 0.0, plane, "
       "more, m))\n",
       {"ic6ih8iw7oc12kh3 with input nchw, weights oihw, output nchw"}},
      {"stride 2, flat",
       "def main(x: [11][12][4]f32, k: [8][3][3][4]f32, r: [288]f32): [288]f32 =\n"
       "  let y = x |> pad2D(0, 1, 1, 1, fill(4, 0.0)) |> slide2D(3, 3, 2, 2) |> map2D(fun window =>\n"
       "    k |> map(fun kernel => dotProduct(flatten3D(window), flatten3D(kernel)))) in\n"
       "  zipWith(fun (u, v) => u * sigmoid(v), flatten3D(y), r)\n",
       {"ic4ih11iw12oc8oh6ow6kh3kw3sh2ph1pw0"}},
      {"depthwise, a residual",
       "def main(x: [8][9][12]f32, k: [12][3][3]f32, b: [12]f32): [8][9][12]f32 =\n"
       "  let y = x |> pad2D(1, 1, 1, 1, fill(12, 0.0)) |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
       "    zip(window |> join |> transpose, k, b) |> map(fun (w, kernel, bias) => dotProduct(w, join(kernel)) + "
       "bias)) in\n"
       "  zipWith3D(fun (a, c) => min(max(a, 0.0), 6.0) + c, y, x)\n",
       {"g12ic12ih8iw9oc12kh3ph1"}},
      {"groups, a residual",
       "def main(x: [7][8][8]f32, k: [2][6][3][3][4]f32, r: [7][8][12]f32): [7][8][12]f32 =\n"
       "  let y = x |> pad2D(1, 1, 1, 1, fill(8, 0.0)) |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
       "    zip(window |> map2D(split(4)) |> map(transpose) |> transpose, k) |> map(fun (w, kernels) =>\n"
       "      kernels |> map(fun kernel => dotProduct(flatten3D(w), flatten3D(kernel)))) |> join) in\n"
       "  zipWith3D(add, r, y)\n",
       {"g2ic8ih7iw8oc12kh3ph1"}},
      {"two layers, added",
       layer + "def main(x: [5][7][6]f32, k: [10][3][3][6]f32, z: [5][7][6]f32, l: [10][3][3][6]f32): [5][7][10]f32 =\n"
               "  zipWith3D(fun (u, v) => relu(u + v), layer(x, k), layer(z, l))\n",
       {"ic6ih5iw7oc10kh3ph1", "ic6ih5iw7oc10kh3ph1"}},
      {"a block",
       layer + "def main(x: [5][7][6]f32, k: [6][3][3][6]f32, l: [6][3][3][6]f32, b: [6]f32): [5][7][6]f32 =\n"
               "  let y = layer(x, k) |> map2D(fun p => zipWith(add, p, b)) |> map3D(relu) in\n"
               "  zipWith3D(fun (u, v) => relu(u + v), layer(y, l), x)\n",
       {"ic6ih5iw7oc6kh3ph1", "ic6ih5iw7oc6kh3ph1"}},
  };
  return all;
}

PartedProgram parted(const Case& c) {
  recognised::registerConv();
  return partsOf(recognised::load(c));
}

// Kernels that the program asks for, also where a copy to the result is saved.
std::size_t stagesOf(const Program& program) {
  struct Outlined {};
  std::size_t stages = 0;
  CompileOptions options;
  options.dump = [&](std::string_view stage, const std::string& text) {
    if (stage != "outline") return;
    for (auto at = text.find("-- "); at != std::string::npos; at = text.find("-- ", at + 1)) stages++;
    throw Outlined();
  };
  try {
    compile(program, options);
  } catch (const Outlined&) {
    return stages;
  }
  return 0;
}

}  // namespace

TEST_CASE("what is computed of a layer's outputs is of its part, in every family") {
  const auto device = runtime::makeEmulatorDevice();
  std::size_t families = 0;
  for (const Case& c : epilogues()) DYNAMIC_SECTION(c.name) {
      const PartedProgram p = parted(c);
      REQUIRE(p.parts.size() == c.layers.size());
      const Program program = recognised::load(c);
      const auto inputs = recognised::inputsOf(program);
      const auto expected = interpret(program, inputs);
      for (std::size_t i = 0; i < p.parts.size(); i++) {
        REQUIRE(p.parts[i].same);
        CHECK(p.parts[i].same->key() == operatorNamed("conv").parse(c.layers[i]).key());
      }
      const Part& last = p.parts.back();
      for (const OperatorFamily& f : last.same->families) {
        if (!f.derive) continue;
        INFO(f.name);
        std::vector<PartChoice> choices;
        for (const Part& part : p.parts)
          choices.push_back({part.same->families[0].name, part.same->families[0].defaults, ""});
        choices.back() = {f.name, f.defaults, ""};
        Workload w = programWorkload(program, 0);
        w.families = {partsFamily(p, choices)};
        const Variant v = derive(w, partsFamilyName);
        verify(v.program);
        CompileOptions options;
        options.passes.verifyEach = true;
        const kernel::Plan plan = compileVariant(v, v.defaults, options);
        CHECK(largestError(device->load(plan)->run(inputs).outputs, expected) < 1e-4);
        // As many kernels as the layers have by themselves.
        std::size_t kernels = 0;
        for (std::size_t i = 0; i < p.parts.size(); i++)
          kernels += stagesOf(configured(derive(*p.parts[i].same, choices[i].family), choices[i].config));
        CHECK(stagesOf(configured(v, v.defaults)) == kernels);
        families++;
      }
    }
  CHECK(families > 0);
}

TEST_CASE("the derivation of a layer with an epilogue replays, and is exact") {
  for (const Case& c : epilogues()) DYNAMIC_SECTION(c.name) {
      recognised::registerConv();
      const Program program = recognised::load(c);
      const Variant v = derive(programWorkload(program, 0), partsFamilyName);
      const Program again = rewrite::replay(v.source, v.derivation);
      CHECK(print(again.body, Names::canonical) == print(v.program.body, Names::canonical));
    }
}
