// Programs of several parts, derived part by part and judged against the interpreter.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "lift/interpreter.hpp"
#include "lift/parts.hpp"
#include "lift/text.hpp"

namespace lift::parted {

struct Case {
  std::string name, text;
  std::map<std::string, std::int64_t> sizes;
  std::vector<std::pair<Pattern, std::string>> parts;  // in order, with their families
};

inline Program symbolic(const Case& c) { return parseProgram(*addSource(c.name + ".lift", c.text)); }

inline Program load(const Case& c) {
  const Program program = symbolic(c);
  std::map<NatVar, Nat> sizes;
  for (const NatVar s : program.sizes) sizes.emplace(s, Nat(c.sizes.at(s.name())));
  return specialise(program, sizes);
}

inline const std::string product =
    "def product(a, b) = a |> map(fun row => transpose(b) |> map(fun column => dotProduct(row, column)))\n";
inline const std::string smooth =
    "def smooth(w, xs) = xs |> padClamp2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1)\n"
    "  |> map2D(fun window => dotProduct(join(window), join(w)))\n";
inline const std::string planes =
    "def main(xs: [d][h][w]f32): [d - 2][h - 2][w - 2]f32 =\n"
    "  slide3D(3, 3, 3, 1, 1, 1, xs) |> map3D(fun window => sum(join(join(window))) / 27.0)\n";
inline const std::string signal =
    "def main(xs: [n]f32, w: [5]f32): [n]f32 =\n"
    "  xs |> pad(2, 2, 0.0) |> slide(5, 1) |> map(fun window => dotProduct(window, w))\n";

inline const std::vector<Case>& cases() {
  using P = Pattern;
  static const std::vector<Case> all = {
      {"sequence",
       product + smooth +
           "def main(a: [n][k]f32, b: [k][m]f32, w: [3][3]f32): [n][m]f32 =\n"
           "  product(a, b)\n"
           "    |> smooth(w)\n"
           "    |> map2D(fun x => max(x, 0.0) * 0.5)\n",
       {{"n", 12}, {"k", 10}, {"m", 32}},
       {{P::product, "tiles"}, {P::stencil, "lanes"}, {P::elementwise, "default"}}},
      {"few rows, many columns that are read in order",
       "def main(a: [n][k]f32, b: [m][k]f32): [n][m]f32 = matmul(a, transpose(b))\n",
       {{"n", 5}, {"k", 9}, {"m", 40}},
       {{P::product, "panels"}}},
      {"layers",
       "def main(xs: [h][w][c]f32, ks: [o][3][3][c]f32): f32 =\n"
       "  slide2D(3, 3, 1, 1, xs)\n"
       "    |> map2D(fun window => ks |> map(fun kernel =>\n"
       "         dotProduct(join(join(window)), join(join(kernel)))))\n"
       "    |> map3D(fun x => max(x, 0.0))\n"
       "    |> join |> join |> sum\n",
       {{"h", 8}, {"w", 9}, {"c", 3}, {"o", 8}},
       {{P::convolution, "tiles"}, {P::reduction, "default"}}},
      {"sharing",
       product + "def main(a: [n][k]f32, b: [k][m]f32, c: [k][m]f32): ([n][m]f32, [n][m]f32) =\n"
                 "  (product(a, b), product(a, c))\n",
       {{"n", 8}, {"k", 6}, {"m", 16}},
       {{P::product, "tiles"}, {P::product, "tiles"}}},
      {"iterated",
       product + smooth +
           "def main(a: [n][n]f32, b: [n][n]f32, w: [3][3]f32): [n][n]f32 =\n"
           "  product(a, b) |> iterate(20, fun xs => xs |> smooth(w) |> map2D(fun x => 0.125 * x))\n",
       {{"n", 16}},
       {{P::product, "tiles"}, {P::stencil, "lanes"}, {P::elementwise, "default"}}},
      {"other spellings",
       // The second operand is stored by its columns; sums of products are a map and a sum; the result is transposed.
       "def main(a: [n][k]f32, bt: [m][k]f32): [m][n]f32 =\n"
       "  bt |> map(fun column => a |> map(fun row =>\n"
       "    zip(row, column) |> map(fun (x, y) => x * y) |> sum))\n",
       {{"n", 16}, {"k", 5}, {"m", 40}},
       {{P::product, "panels"}}},
      {"batch",
       product + "def main(as: [b][n][k]f32, bs: [b][k][m]f32): [b][n][m]f32 =\n"
                 "  zip(as, bs) |> map(fun (x, y) => product(x, y))\n",
       {{"b", 3}, {"n", 4}, {"k", 5}, {"m", 8}},
       {{P::product, "tiles"}}},
      {"epilogues",
       "def main(alpha: f32, a: [n][k]f32, b: [k][m]f32, c: [n]f32): [n][m]f32 =\n"
       "  zip(a, c) |> map(fun (row, x) => transpose(b) |> map(fun column =>\n"
       "    max(alpha * dotProduct(row, column) + x, 0.0)))\n",
       {{"n", 8}, {"k", 5}, {"m", 16}},
       {{P::product, "tiles"}}},
      {"odd",
       product + "def main(a: [n][k]f32, b: [k][m]f32): [n][m]f32 = product(a, b)\n",
       {{"n", 7}, {"k", 3}, {"m", 13}},
       {{P::product, "default"}}},
      // Sizes that no tile divides.
      {"uneven product",
       product + "def main(a: [n][k]f32, b: [k][m]f32): [n][m]f32 = product(a, b)\n",
       {{"n", 13}, {"k", 5}, {"m", 37}},
       {{P::product, "panels"}}},
      {"uneven rest",
       "def main(alpha: f32, a: [n][k]f32, bt: [m][k]f32): [m][n]f32 =\n"
       "  transpose(a |> map(fun row => bt |> map(fun column => max(alpha * dotProduct(row, column), 0.0))))\n",
       {{"n", 37}, {"k", 3}, {"m", 19}},
       {{P::product, "panels"}}},
      {"uneven stencil",
       smooth + "def main(w: [3][3]f32, xs: [n][m]f32): [n][m]f32 = smooth(w, xs)\n",
       {{"n", 7}, {"m", 45}},
       {{P::stencil, "lanes"}}},
      {"uneven steps",
       "def main(xs: [h][w]f32) =\n"
       "  slide2D(3, 2, 2, 3, xs) |> map2D(fun window => maximum(join(window)))\n",
       {{"h", 12}, {"w", 62}},
       {{P::stencil, "lanes"}}},
      {"uneven planes", planes, {{"d", 4}, {"h", 5}, {"w", 23}}, {{P::stencil, "lanes"}}},
      {"uneven signal", signal, {{"n", 83}}, {{P::stencil, "lanes"}}},
      {"rows",
       "def main(xs: [n][m]f32): [n]f32 =\n"
       "  let means = xs |> map(fun row => sum(row) / f32(m)) in\n"
       "  means |> map(fun x => x - sum(means) / f32(n))\n",
       {{"n", 9}, {"m", 20}},
       {{P::rows, "default"}, {P::reduction, "default"}, {P::elementwise, "default"}}},
      {"planes", planes, {{"d", 5}, {"h", 6}, {"w", 18}}, {{P::stencil, "lanes"}}},
      {"signal", signal, {{"n", 64}}, {{P::stencil, "lanes"}}},
  };
  return all;
}

inline std::map<std::string, Tensor> inputsOf(const Program& program) {
  std::map<std::string, Tensor> inputs;
  for (const Expr p : program.parameters) {
    std::vector<std::int64_t> shape;
    for (const Nat n : shapeOf(p.type())) shape.push_back(*n.constant());
    Tensor t(scalarOf(baseOf(p.type())), shape);
    fillRandom(t, 7, p.name());
    inputs.emplace(p.name(), std::move(t));
  }
  return inputs;
}

// The largest error of the program derived part by part, run on the device, against the interpreter.
inline double errorOn(runtime::Device& device, const Case& c) {
  const Program program = load(c);
  const Workload workload = programWorkload(program, 0);
  const Variant variant = derive(workload, partsFamilyName);
  verify(variant.program);
  const auto inputs = inputsOf(program);
  const auto run = device.load(compileVariant(variant, variant.defaults))->run(inputs);
  return largestError(run.outputs, interpret(program, inputs));
}
inline constexpr double tolerance = 1e-5;

}  // namespace lift::parted
