// Generated kernels against kernels written by hand for the same algorithm, in turns in one process.
//
//   bench_handwritten ROOT [NAME] [--repetitions N] [--device D]
//
// ROOT is the source tree. Of its tools/bench/handwritten, each name has a .cl file: the best that we can write for the
// device class of the continuous integration, against a .lift file that maps the same algorithm by hand; and in
// `simple`, what one writes in ten minutes, against programs of tests/programs that say nothing of where they run.
// Both compute the same from the same data, and their results are compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "cli/cli.hpp"
#include "lift/bench.hpp"
#include "lift/codegen.hpp"
#include "lift/conv_operator.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/inputs.hpp"
#include "lift/operator.hpp"
#include "lift/opset.hpp"
#include "lift/text.hpp"

namespace {

using namespace lift;
using kernel::PlanBuffer;
using Role = PlanBuffer::Role;

// A program, and how the kernels of a .cl file that computes the same are launched.
struct Written {
  std::string name;   // of the file NAME.cl in `folder`
  std::string group;  // a heading of the table
  std::string folder;
  std::string program, entry;
  std::map<std::string, std::int64_t> sizes;  // of the program
  std::vector<PlanBuffer> buffers;            // whose names and shapes are those of the program's inputs and outputs
  std::vector<bench::WrittenKernel> kernels;
  double perOutput;       // operations summed up in an output, of which the tolerance follows
  bool positive = false;  // inputs between 1 and 2, not between -1 and 1
};

PlanBuffer buffer(const char* name, std::vector<Nat> shape, Role role, Scalar scalar = Scalar::f32) {
  return {name, scalar, std::move(shape), role};
}
PlanBuffer in(const char* name, std::vector<Nat> shape, Scalar scalar = Scalar::f32) {
  return buffer(name, std::move(shape), Role::input, scalar);
}
PlanBuffer out(std::vector<Nat> shape, Scalar scalar = Scalar::f32, const char* name = "out") {
  return buffer(name, std::move(shape), Role::output, scalar);
}
PlanBuffer temporary(const char* name, std::vector<Nat> shape) {
  return buffer(name, std::move(shape), Role::temporary);
}

kernel::NDRange items(std::array<std::int64_t, 3> global, std::array<std::int64_t, 3> local) {
  kernel::NDRange range;
  for (std::size_t d = 0; d < 3; d++) range.global[d] = Nat(global[d]), range.local[d] = Nat(local[d]);
  return range;
}
// Every work-group is one work-item.
kernel::NDRange groups(std::int64_t x, std::int64_t y = 1) { return items({x, y, 1}, {1, 1, 1}); }
// In groups of 64 work-items.
kernel::NDRange line(std::int64_t n) { return items({n, 1, 1}, {64, 1, 1}); }
kernel::NDRange grid(std::int64_t w, std::int64_t h, std::int64_t d = 1) { return items({w, h, d}, {64, 1, 1}); }

Written best(std::string name, std::vector<PlanBuffer> buffers, std::vector<bench::WrittenKernel> kernels,
             double perOutput) {
  const std::string folder = "tools/bench/handwritten/";
  return {name,     "the best by hand", folder, folder + name + ".lift", "", {}, std::move(buffers), std::move(kernels),
          perOutput};
}
Written simple(std::string name, std::string file, std::string entry, std::map<std::string, std::int64_t> sizes,
               std::vector<PlanBuffer> buffers, std::vector<bench::WrittenKernel> kernels, double perOutput,
               bool positive = false) {
  return {std::move(name),
          "simple by hand",
          "tools/bench/handwritten/simple/",
          "tests/programs/" + file + ".lift",
          std::move(entry),
          std::move(sizes),
          std::move(buffers),
          std::move(kernels),
          perOutput,
          positive};
}

const std::vector<Written>& table() {
  constexpr std::int64_t many = 1 << 22, parts = 256, reducing = parts * 64;
  static const std::vector<Written> rows = {
      best("dot", {in("x", {many}), in("y", {many}), temporary("parts", {64}), out({})},
           {{"partial", groups(64), {"x", "y", "parts"}}, {"total", groups(1), {"parts", "out"}}}, many),
      best("gemv", {in("a", {2048, 2048}), in("x", {2048}), out({2048})}, {{"gemv", groups(512), {"a", "x", "out"}}},
           2048),
      best("mm", {in("a", {768, 768}), in("b", {768, 768}), out({768, 768})},
           {{"mm", groups(24, 64), {"a", "b", "out"}}}, 768),
      best("jacobi", {in("x", {2050, 2050}), out({2048, 2048})}, {{"jacobi", groups(2048), {"x", "out"}}}, 5),
      best("blur",
           {in("weights", {9}), in("image", {1032, 1032}), temporary("between", {1032, 1024}), out({1024, 1024})},
           {{"rows", groups(1032), {"weights", "image", "between"}},
            {"columns", groups(1024), {"weights", "between", "out"}}},
           81),
      // Rows of a power of two would make the time depend on where in memory the buffers happen to lie.
      best("transpose", {in("x", {2064, 2064}), out({2064, 2064})}, {{"tiles", groups(129, 129), {"x", "out"}}}, 1),
      best("mandelbrot", {in("corner", {2}), out({512, 512})}, {{"mandelbrot", groups(512), {"corner", "out"}}}, 1),

      simple("softmax", "normalise", "softmax", {{"n", many}},
             {in("xs", {many}), temporary("parts", {parts}), temporary("m", {1}), temporary("es", {many}),
              temporary("sum", {1}), out({many})},
             {{"greatestParts", line(reducing), {"xs", "parts"}},
              {"greatest", line(64), {"parts", "m"}},
              {"powers", line(reducing), {"xs", "m", "es", "parts"}},
              {"total", line(64), {"parts", "sum"}},
              {"divided", line(many), {"es", "sum", "out"}}},
             many),
      simple("softmaxRows", "normalise", "softmaxRows", {{"rows", 2048}, {"n", 2048}},
             {in("xs", {2048, 2048}), out({2048, 2048})}, {{"rows", line(2048), {"xs", "out"}}}, 2048),
      simple("variance", "normalise", "variance", {{"n", many}},
             {in("xs", {many}), temporary("parts", {parts}), temporary("m", {1}), out({})},
             {{"sums", line(reducing), {"xs", "parts"}},
              {"mean", line(64), {"parts", "m"}},
              {"squares", line(reducing), {"xs", "m", "parts"}},
              {"mean", line(64), {"parts", "out"}}},
             many),
      simple("layerNorm", "normalise", "layerNorm", {{"rows", 2048}, {"n", 2048}},
             {in("gamma", {2048}), in("beta", {2048}), in("xs", {2048, 2048}), out({2048, 2048})},
             {{"rows", line(2048), {"gamma", "beta", "xs", "out"}}}, 2048),
      simple("histogram", "histogram", "main", {{"n", many}}, {in("xs", {many}, Scalar::i32), out({1024}, Scalar::i32)},
             {{"clear", line(1024), {"out"}}, {"count", line(64 * 64), {"xs", "out"}}}, 0),
      simple("relative", "nearest", "relative", {{"n", many}},
             {in("q.0", {}), in("q.1", {}), in("points.0", {many}), in("points.1", {many}), temporary("ds", {many}),
              temporary("parts", {parts}), temporary("least", {1}), out({many})},
             {{"distances", line(reducing), {"q.0", "q.1", "points.0", "points.1", "ds", "parts"}},
              {"least", line(64), {"parts", "least"}},
              {"subtracted", line(many), {"ds", "least", "out"}}},
             2),
      simple("forces", "bodies", "forces", {{"n", 4096}},
             {in("positions", {4096, 3}), in("masses", {4096}), out({4096, 3})},
             {{"forces", line(4096), {"positions", "masses", "out"}}}, 4096, true),
      simple("mandelbrot", "mandelbrot", "zoomed", {{"h", 512}, {"w", 768}, {"k", 256}}, {out({512, 768}, Scalar::i32)},
             {{"count", grid(768, 512), {"out"}}}, 256),
      simple(
          "harris", "harris", "main", {{"h", 1024}, {"w", 1024}},
          {in("image", {1024, 1024}), temporary("ix", {1024, 1024}), temporary("iy", {1024, 1024}), out({1024, 1024})},
          {{"gradients", grid(1024, 1024), {"image", "ix", "iy"}}, {"response", grid(1024, 1024), {"ix", "iy", "out"}}},
          81),
      simple("heat", "stencil3d", "heat", {{"d", 128}, {"h", 128}, {"w", 128}},
             {in("x", {128, 128, 128}), out({128, 128, 128})}, {{"heat", grid(128, 128, 128), {"x", "out"}}}, 7),
      simple("clamped", "stencil3d", "clamped", {{"d", 128}, {"h", 128}, {"w", 128}},
             {in("x", {128, 128, 128}), out({128, 128, 128})}, {{"mean", grid(128, 128, 128), {"x", "out"}}}, 27),
      simple("binomial", "options", "binomial", {{"n", 8192}, {"steps", 64}},
             {in("rate", {}), in("volatility", {}), in("options.0", {8192}), in("options.1", {8192}),
              in("options.2", {8192}), out({8192})},
             {{"puts", line(8192), {"rate", "volatility", "options.0", "options.1", "options.2", "out"}}}, 4096, true),
      simple("attention", "attention", "main", {{"m", 512}, {"n", 512}, {"d", 64}, {"e", 64}},
             {in("queries", {512, 64}), in("keys", {512, 64}), in("values", {512, 64}), out({512, 64})},
             {{"attend", line(512), {"queries", "keys", "values", "out"}}}, 512),
      simple("median", "median", "main", {{"h", 1024}, {"w", 1024}}, {in("image", {1024, 1024}), out({1024, 1024})},
             {{"median", grid(1024, 1024), {"image", "out"}}}, 0),
      simple("bilateral", "borders", "bilateral", {{"h", 1024}, {"w", 1024}},
             {in("image", {1024, 1024}), out({1024, 1024})}, {{"bilateral", grid(1024, 1024), {"image", "out"}}}, 49),
      simple("reaction", "borders", "reaction", {{"h", 1024}, {"w", 1024}},
             {in("u", {1024, 1024}), in("v", {1024, 1024}), out({1024, 1024}, Scalar::f32, "out.0"),
              out({1024, 1024}, Scalar::f32, "out.1")},
             {{"reaction", grid(1024, 1024), {"u", "v", "out.0", "out.1"}}}, 0),
      simple("life", "life", "main", {{"generations", 1}, {"h", 1024}, {"w", 1024}},
             {in("cells", {1024, 1024}, Scalar::i32), out({1024, 1024}, Scalar::i32)},
             {{"next", grid(1024, 1024), {"cells", "out"}}}, 0),
      simple("heads", "products", "heads", {{"b", 8}, {"n", 256}, {"d", 64}},
             {in("q", {8, 256, 64}), in("k", {8, 256, 64}), in("v", {8, 256, 64}), out({8, 256, 64})},
             {{"attend", grid(256, 8), {"q", "k", "v", "out"}}}, 256),
      simple("assign", "products", "assign", {{"n", 65536}, {"d", 16}, {"k", 64}},
             {in("points", {65536, 16}), in("centres", {64, 16}), out({65536}, Scalar::i32)},
             {{"assign", line(65536), {"points", "centres", "out"}}}, 0),
      simple("channelsLast", "products", "channelsLast", {{"h", 56}, {"w", 56}, {"c", 64}, {"f", 64}},
             {in("image", {56, 56, 64}), in("kernels", {64, 3, 3, 64}), in("bias", {64}), out({56, 56, 64})},
             {{"convolve", grid(64, 56, 56), {"image", "kernels", "bias", "out"}}}, 576),
      simple("channelsFirst", "products", "channelsFirst", {{"h", 56}, {"w", 56}, {"c", 64}, {"f", 64}},
             {in("image", {64, 58, 58}), in("kernels", {64, 64, 3, 3}), out({64, 56, 56})},
             {{"convolve", items({56, 56, 64}, {56, 1, 1}), {"image", "kernels", "out"}}}, 576),
      simple("distances", "products", "distances", {{"n", 1024}, {"m", 1024}, {"d", 64}},
             {in("a", {1024, 64}), in("b", {1024, 64}), out({1024, 1024})},
             {{"distances", grid(1024, 1024), {"a", "b", "out"}}}, 64),
      simple("columns", "products", "columns", {{"n", 2048}, {"m", 2048}},
             {in("a", {2048, 2048}), in("x", {2048}), out({2048})}, {{"columns", line(2048), {"a", "x", "out"}}}, 2048),
      simple("batched", "products", "batched", {{"b", 16}, {"n", 256}, {"m", 256}, {"k", 64}},
             {in("a", {16, 256, 64}), in("c", {16, 256, 64}), out({16, 256, 256})},
             {{"products", grid(256, 256, 16), {"a", "c", "out"}}}, 64),
      simple("separable", "products", "separable", {{"h", 1024}, {"w", 1024}},
             {in("image", {1024, 1024}), in("gx", {7}), in("gy", {7}), temporary("between", {1024, 1024}),
              out({1024, 1024})},
             {{"rows", grid(1024, 1024), {"image", "gx", "between"}},
              {"columns", grid(1024, 1024), {"between", "gy", "out"}}},
             49),
      simple("volume", "products", "volume", {{"d", 128}, {"h", 128}, {"w", 128}},
             {in("x", {128, 128, 128}), in("k", {3, 3, 3}), out({128, 128, 128})},
             {{"volume", grid(128, 128, 128), {"x", "k", "out"}}}, 27),
      simple("layers", "products", "layers", {{"n", 128}, {"i", 784}, {"h", 512}, {"o", 10}},
             {in("x", {128, 784}), in("w1", {512, 784}), in("b1", {512}), in("w2", {10, 512}), in("b2", {10}),
              temporary("between", {128, 512}), out({128, 10})},
             {{"hidden", grid(512, 128), {"x", "w1", "b1", "between"}},
              {"last", line(128), {"between", "w2", "b2", "out"}}},
             4096),
  };
  return rows;
}

std::map<std::string, Tensor> randomInputs(const Written& row) {
  std::map<std::string, Tensor> inputs;
  for (const PlanBuffer& b : row.buffers) {
    if (b.role != Role::input) continue;
    std::vector<std::int64_t> shape;
    for (const Nat extent : b.shape) shape.push_back(*extent.constant());
    Tensor& t = inputs.emplace(b.name, Tensor(b.scalar, shape)).first->second;
    fillRandom(t, 1, b.name);
    for (std::int64_t i = 0; row.positive && i < t.size(); i++) t.set(i, 1.5 + t.get(i) / 2);
  }
  return inputs;
}

struct Times {
  double written = 0, generated = 0;  // milliseconds
  double ratio() const { return generated / written; }
};
struct Measured {
  Times median, fastest;
};

Program programOf(const Written& row, const std::string& root) {
  return atValues(readProgram(root + "/" + row.program, row.entry), row.sizes);
}

// What `liftc run` takes where nothing was tuned: each part by its family, else the default mapping.
kernel::Plan planOf(const Program& program, const runtime::DeviceInfo& device) {
  ChoiceOptions untuned;
  untuned.tuned = false;
  const Choice choice = choose(programWorkload(program, 0), &device, untuned);
  return compileVariant(choice.variant, choice.config);
}

Measured measure(const Written& row, const std::string& root, runtime::Device& device, int repetitions) {
  const Program program = programOf(row, root);
  const std::map<std::string, Tensor> inputs = randomInputs(row);
  const auto written = bench::contestPlan(
      device, bench::planOf(readInput(root + "/" + row.folder + row.name + ".cl"), row.buffers, row.kernels), inputs);
  const auto generated = bench::contestPlan(device, planOf(program, device.info()), inputs);
  bench::TurnOptions turns;
  turns.repetitions = repetitions;
  turns.quieten = bench::waitUntilQuiet;
  const auto times = bench::measureInTurns({written.get(), generated.get()}, turns);

  // Sums in different orders differ by about an ulp for the square root of their length; far more is a mistake.
  const double tolerance = 1e-6 * (2 + std::sqrt(row.perOutput));
  const auto actual = generated->outputs();
  for (const auto& [name, expected] : written->outputs()) {
    const Difference d = compare(actual.at(name), expected, rootMeanSquare(expected));
    if (d.maxRel > tolerance)
      throw UserError(ExitStatus::wrong, fmt::format("{}: {} differs by {:.1e} at {}", row.name, name, d.maxRel, d.at));
  }
  return {{runtime::median(times[0]), runtime::median(times[1])},
          {*std::ranges::min_element(times[0]), *std::ranges::min_element(times[1])}};
}

// Geometric means of ratios.
struct Mean {
  double median = 0, fastest = 0;  // sums of logarithms
  int count = 0;
  void add(const Measured& m) { median += std::log(m.median.ratio()), fastest += std::log(m.fastest.ratio()), count++; }
};

void run(const std::string& root, const std::string& only, const std::string& deviceName, int repetitions) {
  runtime::DeviceChoice choice;
  if (!deviceName.empty()) choice.device = deviceName;
  const auto device = runtime::openDevice(choice);
  std::cout << device->info().name << "\n";
  std::map<std::string, Mean> means;
  std::string group;
  const auto endGroup = [&] {
    if (const Mean& m = means[group]; m.count > 0)
      std::cout << fmt::format("{:<12} {:>44.3f} {:>17.3f}\n", "geo. mean", std::exp(m.median / m.count),
                               std::exp(m.fastest / m.count));
  };
  for (const Written& row : table()) {
    if (!only.empty() && row.name != only) continue;
    if (row.group != group) {
      endGroup();
      group = row.group;
      std::cout << fmt::format("{:<12} {:>20} {:>14} {:>8} {:>17}\n", "", group + ", ms", "generated, ms", "ratio",
                               "ratio of fastest");
    }
    const Measured measured = measure(row, root, *device, repetitions);
    means[group].add(measured);
    const Times& t = measured.median;
    std::cout << fmt::format("{:<12} {:>20.3f} {:>14.3f} {:>8.3f} {:>17.3f}\n", row.name, t.written, t.generated,
                             t.ratio(), measured.fastest.ratio())
              << std::flush;
  }
  if (group.empty()) throw UserError(ExitStatus::usage, "there is no '" + only + "'");
  endGroup();
}

}  // namespace

int main(int argc, char** argv) {
  cli::App app{"Measures generated kernels against kernels written by hand for the same algorithm, in turns."};
  std::string root, only, device;
  int repetitions = 20;
  app.add_option("root", root, "The source tree")->required();
  app.add_option("name", only, "Only this one");
  app.add_option("--device", device, "Index or part of the name; else LIFTC_DEVICE, else the first");
  app.add_option("--repetitions", repetitions, "Turns of each")->positive()->capture_default_str();
  if (const auto status = app.parse(argc, argv, static_cast<int>(ExitStatus::usage))) return *status;
  registerOperator(convOperator());  // parts of programs are recognised as liftc does
  for (Operator& op : tensorOperators()) registerOperator(std::move(op));
  try {
    run(root, only, device, repetitions);
  } catch (const UserError& e) {
    std::cerr << render(e.diagnostics());
    return static_cast<int>(e.status());
  }
  return 0;
}
