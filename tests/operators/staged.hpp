// Products in blocks whose operands go through local memory, judged against the interpreter.
#pragma once

#include "parted.hpp"

namespace lift::staged {

// An NVIDIA GPU's.
inline runtime::DeviceInfo gpu() {
  runtime::DeviceInfo device = runtime::readProfile("nvidia");
  device.computeUnits = 2;  // blocks of several work-items, of small products, too
  return device;
}

struct Product {
  const char *name, *text;
};

inline const std::vector<Product>& products() {
  static const std::vector<Product> all = {
      {"rows by columns", "def main(a: [n][k]f32, b: [k][m]f32) = matmul(a, b)\n"},
      {"rows by rows",
       "def main(a: [n][k]f32, b: [m][k]f32) = a |> map(fun x => b |> map(fun y => dotProduct(y, x)))\n"},
      {"columns by columns", "def main(a: [k][n]f32, b: [k][m]f32) = matmul(transpose(a), b)\n"},
      {"columns by rows", "def main(a: [k][n]f32, b: [m][k]f32) = matmul(transpose(a), transpose(b))\n"},
      {"a batch, of which one operand is the same",
       "def main(a: [3][n][k]f32, b: [k][m]f32) = a |> map(fun x => matmul(x, b))\n"},
      {"batches of batches",
       "def main(a: [2][3][n][k]f64, b: [2][3][k][m]f64) = zip(a, b) |> map(fun (xs, ys) =>\n"
       "  zip(xs, ys) |> map(fun (x, y) => matmul(x, y)))\n"},
      {"distances, and roots of them",
       "def main(a: [n][k]f32, b: [m][k]f32) = a |> map(fun x => b |> map(fun y =>\n"
       "  sqrt(zip(x, y) |> map(fun (p, q) => square(p - q)) |> sum)))\n"},
      {"a layer, with what is done with its result",
       "def main(a: [n][k]f32, b: [k][m]f32, c: [m]f32) =\n"
       "  matmul(a, b) |> map(fun row => zipWith(fun (x, y) => relu(x + y), row, c))\n"},
      {"shortest paths",
       "def main(a: [n][k]i32, b: [k][m]i32) = a |> map(fun x => transpose(b) |> map(fun y =>\n"
       "  zip(x, y) |> map(fun (p, q) => p + q) |> minimum))\n"},
  };
  return all;
}

inline Part partOf(const Product& p, std::map<std::string, std::int64_t> sizes) {
  const PartedProgram parted = partsOf(parted::load({p.name, p.text, std::move(sizes), {}}));
  REQUIRE(parted.parts.size() == 1);
  return parted.parts[0];
}

inline const OperatorFamily& familyOf(const Part& part) { return part.workload.family("staged"); }

// Of each product, and of sizes that blocks divide and others: how many blocks are right.
inline int rightOn(runtime::Device& device, const std::function<bool()>& takes) {
  int blocks = 0;
  for (const Product& p : products())
    for (const auto& [n, m, k] : {std::array<std::int64_t, 3>{32, 48, 16}, {37, 41, 19}, {5, 66, 12}, {50, 34, 8}}) {
      if (!takes()) continue;
      INFO(p.name << ", " << n << " by " << m << ", sums of " << k);
      const Part part = partOf(p, {{"n", n}, {"m", m}, {"k", k}});
      const Variant v = derive(part.workload, "staged");
      verify(v.program);
      const auto inputs = part.workload.makeInputs(5);
      const auto expected = part.workload.expected(inputs);
      for (const Config& c : {familyOf(part).defaults, familyOf(part).preferred(gpu())}) {
        INFO(str(c));
        CHECK(spaceOf(v, {}).contains(c));
        const kernel::Plan plan = compileVariant(v, c);
        REQUIRE(plan.kernels.size() == 1);
        CHECK(kernel::count(plan.kernels[0]).barriers > 0);
        CHECK(kernel::count(plan.kernels[0]).privateArrays == 0);
        CHECK(largestError(device.load(plan)->run(inputs).outputs, expected) < parted::tolerance);
        blocks++;
      }
    }
  return blocks;
}

}  // namespace lift::staged
