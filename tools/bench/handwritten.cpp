// Generated kernels against kernels written by hand for the same algorithm, in turns in one process.
//
//   bench_handwritten FOLDER [NAME] [--repetitions N] [--device D]
//
// FOLDER is tools/bench/handwritten: for each name a .cl file, the best that we can write for the device class of the
// continuous integration, and a .lift file that maps the same algorithm by hand. Both compute the same from the same
// data, and their results are compared.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>

#include "lift/bench.hpp"
#include "lift/codegen.hpp"
#include "lift/diagnostic.hpp"
#include "lift/text.hpp"

namespace {

using namespace lift;
using kernel::PlanBuffer;
using Role = PlanBuffer::Role;

// How the kernels of a .cl file are launched; every work-group is one work-item.
struct Written {
  std::string name;
  std::vector<PlanBuffer> buffers;
  std::vector<bench::WrittenKernel> kernels;
  double perOutput;  // operations summed up in an output, of which the tolerance follows
};

PlanBuffer buffer(const char* name, std::vector<Nat> shape, Role role) {
  return {name, Scalar::f32, std::move(shape), role};
}

kernel::NDRange groups(std::int64_t x, std::int64_t y = 1) {
  kernel::NDRange range;
  range.global = {Nat(x), Nat(y), Nat(1)};
  return range;
}

const std::vector<Written>& table() {
  static const std::vector<Written> rows = {
      {"dot",
       {buffer("x", {1 << 22}, Role::input), buffer("y", {1 << 22}, Role::input),
        buffer("parts", {64}, Role::temporary), buffer("out", {}, Role::output)},
       {{"partial", groups(64), {"x", "y", "parts"}}, {"total", groups(1), {"parts", "out"}}},
       1 << 22},
      {"gemv",
       {buffer("a", {2048, 2048}, Role::input), buffer("x", {2048}, Role::input), buffer("out", {2048}, Role::output)},
       {{"gemv", groups(512), {"a", "x", "out"}}},
       2048},
      {"mm",
       {buffer("a", {768, 768}, Role::input), buffer("b", {768, 768}, Role::input),
        buffer("out", {768, 768}, Role::output)},
       {{"mm", groups(24, 64), {"a", "b", "out"}}},
       768},
      {"jacobi",
       {buffer("x", {2050, 2050}, Role::input), buffer("out", {2048, 2048}, Role::output)},
       {{"jacobi", groups(2048), {"x", "out"}}},
       5},
      {"blur",
       {buffer("weights", {9}, Role::input), buffer("image", {1032, 1032}, Role::input),
        buffer("between", {1032, 1024}, Role::temporary), buffer("out", {1024, 1024}, Role::output)},
       {{"rows", groups(1032), {"weights", "image", "between"}},
        {"columns", groups(1024), {"weights", "between", "out"}}},
       81},
      // Rows of a power of two would make the time depend on where in memory the buffers happen to lie.
      {"transpose",
       {buffer("x", {2064, 2064}, Role::input), buffer("out", {2064, 2064}, Role::output)},
       {{"tiles", groups(129, 129), {"x", "out"}}},
       1},
  };
  return rows;
}

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError(ExitStatus::program, "cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::map<std::string, Tensor> randomInputs(const Written& row) {
  std::map<std::string, Tensor> inputs;
  for (const PlanBuffer& b : row.buffers) {
    if (b.role != Role::input) continue;
    std::vector<std::int64_t> shape;
    for (const Nat extent : b.shape) shape.push_back(*extent.constant());
    fillRandom(inputs.emplace(b.name, Tensor(b.scalar, shape)).first->second, 1, b.name);
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

Measured measure(const Written& row, const std::string& folder, runtime::Device& device, int repetitions) {
  const std::string path = folder + "/" + row.name;
  const Program program = parseProgram(*addSource(path + ".lift", readFile(path + ".lift")));
  const std::map<std::string, Tensor> inputs = randomInputs(row);
  const auto written =
      bench::contestPlan(device, bench::planOf(readFile(path + ".cl"), row.buffers, row.kernels), inputs);
  const auto generated = bench::contestPlan(device, compile(program), inputs);
  bench::TurnOptions turns;
  turns.repetitions = repetitions;
  turns.quieten = bench::waitUntilQuiet;
  const auto times = bench::measureInTurns({written.get(), generated.get()}, turns);

  // Sums in different orders differ by about an ulp for the square root of their length; far more is a mistake.
  const double tolerance = 1e-6 * (2 + std::sqrt(row.perOutput));
  const Tensor expected = written->output();
  const Difference d = compare(generated->output(), expected, convErrorFloor(expected));
  if (!d.sameShape || !d.finite || d.maxRel > tolerance)
    throw UserError(ExitStatus::wrong, fmt::format("{}: the results differ by {:.1e} at {}", row.name, d.maxRel, d.at));
  return {{runtime::median(times[0]), runtime::median(times[1])},
          {*std::min_element(times[0].begin(), times[0].end()), *std::min_element(times[1].begin(), times[1].end())}};
}

void run(const std::string& folder, const std::string& only, const std::string& deviceName, int repetitions) {
  runtime::DeviceChoice choice;
  if (!deviceName.empty()) choice.device = deviceName;
  const auto device = runtime::openDevice(choice);
  std::cout << fmt::format("{}\n{:<10} {:>14} {:>14} {:>8} {:>17}\n", device->info().name, "", "by hand, ms",
                           "generated, ms", "ratio", "ratio of fastest");
  double logarithms = 0, logarithmsFastest = 0;
  int count = 0;
  for (const Written& row : table()) {
    if (!only.empty() && row.name != only) continue;
    const auto [t, fastest] = measure(row, folder, *device, repetitions);
    logarithms += std::log(t.ratio());
    logarithmsFastest += std::log(fastest.ratio());
    ++count;
    std::cout << fmt::format("{:<10} {:>14.3f} {:>14.3f} {:>8.3f} {:>17.3f}\n", row.name, t.written, t.generated,
                             t.ratio(), fastest.ratio())
              << std::flush;
  }
  if (count == 0) throw UserError(ExitStatus::usage, "there is no '" + only + "'");
  std::cout << fmt::format("{:<10} {:>38.3f} {:>17.3f}\n", "geo. mean", std::exp(logarithms / count),
                           std::exp(logarithmsFastest / count));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures generated kernels against kernels written by hand for the same algorithm, in turns."};
  std::string folder, only, device;
  int repetitions = 20;
  app.add_option("folder", folder, "tools/bench/handwritten")->required();
  app.add_option("name", only, "Only this one");
  app.add_option("--device", device, "Index or part of the name; else LIFTC_DEVICE, else the first");
  app.add_option("--repetitions", repetitions, "Turns of each")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(folder, only, device, repetitions);
  } catch (const UserError& e) {
    std::cerr << render(e.diagnostics());
    return static_cast<int>(e.status());
  }
  return 0;
}
