// Products in blocks whose operands go through local memory: whatever lies side by side, of any sizes.
#include <fmt/format.h>

#include "parted.hpp"

using namespace lift;

namespace {

// An NVIDIA GPU's.
runtime::DeviceInfo gpu() {
  runtime::DeviceInfo device = runtime::readProfile("nvidia");
  device.computeUnits = 2;  // blocks of several work-items, of small products, too
  return device;
}

struct Product {
  const char *name, *text;
};

const std::vector<Product>& products() {
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

Part partOf(const Product& p, std::map<std::string, std::int64_t> sizes) {
  const PartedProgram parted = partsOf(parted::load({p.name, p.text, std::move(sizes), {}}));
  REQUIRE(parted.parts.size() == 1);
  return parted.parts[0];
}

const OperatorFamily& staged(const Part& part) { return part.workload.family("staged"); }

}  // namespace

TEST_CASE("products in blocks are right, whatever lies side by side, of any sizes", "[null]") {
  const auto emulator = runtime::makeEmulatorDevice();
  int blocks = 0;
  for (const Product& p : products())
    for (const auto& [n, m, k] : {std::array<std::int64_t, 3>{32, 48, 16}, {37, 41, 19}, {5, 66, 12}, {50, 34, 8}}) {
      INFO(p.name << ", " << n << " by " << m << ", sums of " << k);
      const Part part = partOf(p, {{"n", n}, {"m", m}, {"k", k}});
      for (const Config& c : {staged(part).defaults, staged(part).preferred(gpu())}) {
        INFO(str(c));
        Workload w = part.workload;
        const Variant v = derive(w, "staged");
        verify(v.program);
        CHECK(spaceOf(v, {}).contains(c));
        const kernel::Plan plan = compileVariant(v, c);
        CHECK(plan.kernels.size() == 1);
        CHECK(kernel::count(plan.kernels[0]).barriers > 0);
        CHECK(kernel::count(plan.kernels[0]).privateArrays == 0);
        const auto inputs = w.makeInputs(5);
        CHECK(largestError(emulator->load(plan)->run(inputs).outputs, w.expected(inputs)) < parted::tolerance);
        blocks++;
      }
    }
  CHECK(blocks == 72);
}

TEST_CASE("products are in blocks on GPUs with local memory of its own, where blocks pay", "[null]") {
  const auto chosen = [](const Product& p, std::int64_t n, std::int64_t m, const runtime::DeviceInfo& device) {
    const Program program = parted::load({p.name, p.text, {{"n", n}, {"m", m}, {"k", 256}}, {}});
    const Choice choice = choose(programWorkload(program, 0), &device, {.tuned = false});
    return choice.variant.family == partsFamilyName && choice.config.contains("p1_rowItems");
  };
  for (const Product& p : products()) {
    INFO(p.name);
    CHECK(chosen(p, 256, 256, gpu()));
    CHECK_FALSE(chosen(p, 256, 256, runtime::readProfile("mali-g72")));
    CHECK_FALSE(chosen(p, 256, 256, runtime::readProfile("generic-cpu")));
  }
  CHECK_FALSE(chosen(products()[0], 8, 256, gpu()));
  CHECK_FALSE(chosen(products()[0], 256, 8, gpu()));
}

TEST_CASE("blocks of products copy in vectors and keep what they add in registers", "[null]") {
  runtime::DeviceInfo device = gpu();
  device.computeUnits = 132;
  for (const Product& p : products()) {
    INFO(p.name);
    const Part part = partOf(p, {{"n", 2048}, {"m", 2048}, {"k", 2048}});
    const Config c = staged(part).preferred(device);
    CHECK(c.at("rows") * c.at("columns") == 64);
    CHECK(c.at("rowItems") * c.at("columnItems") == 256);
    CHECK(c.at("rowVector") == 4);
    CHECK(c.at("columnVector") == 4);
  }
}
