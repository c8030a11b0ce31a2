// What compiling costs as programs grow: the time for each unit of program should stay about the same.
//
//   bench_compile [--stages N] [--definitions N] [--operations N]
//
// Nothing is run: the times are of parsing, checking and compiling to OpenCL C, without the driver's.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <limits>

#include "cli/cli.hpp"
#include "lift/codegen.hpp"
#include "lift/diagnostic.hpp"
#include "lift/stopwatch.hpp"
#include "lift/text.hpp"

namespace {

using namespace lift;

// Stencil stages one after the other, each on the results of the one before, in kernels of their own.
std::string chainOfKernels(int stages) {
  std::string text = fmt::format("def main(x: [{}]f32) = x\n", 1024 + 2 * stages);
  for (int i = 0; i < stages; ++i) text += "  |> slide(3, 1) |> map(fun w => w[0] + w[1] * w[2])\n";
  return text;
}

// The same in one kernel: a work-group takes a tile through all stages in local memory.
std::string chainInLocalMemory(int stages) {
  std::string text = fmt::format("def main(x: [{}]f32) = x |> slideStrict({}, 64) |> mapWrg(0)(fun tile => tile\n",
                                 1024 + 2 * stages, 64 + 2 * stages);
  for (int i = 0; i < stages; ++i)
    text += fmt::format("  |> slide(3, 1) |> mapLcl(0)(fun w => w[0] + w[1] * w[2]){}\n",
                        i + 1 < stages ? " |> toLocal" : ")");
  return text + "  |> join\n";
}

// Definitions of scalars, each a few operations on what the one before it gives.
std::string chainOfDefinitions(int definitions) {
  std::string text = "def d0(x, y) = x * y\n";
  for (int i = 1; i <= definitions; ++i)
    text += fmt::format("def d{0}(x, y) = let z = d{1}(x, y) in z * z + y\n", i, i - 1);
  return text + fmt::format("def main(xs: [1024]f32) = map(fun x => d{}(x, x + 1.0), xs)\n", definitions);
}

// A column of lets, each of them used twice by the next.
std::string columnOfLets(int lets) {
  std::string text = "def main(xs: [1024]f32) = map(fun x => let a0 = x in\n";
  for (int i = 1; i <= lets; ++i) text += fmt::format("  let a{0} = a{1} * a{1} + x in\n", i, i - 1);
  return text + fmt::format("  a{}, xs)\n", lets);
}

// An inner product that is unrolled completely: a multiplication and an addition for each element.
std::string unrolledSum(int operations) {
  return fmt::format(
      "def main(x: [64][{0}]f32, w: [{0}]f32) =\n"
      "  x |> mapGlb(0)(fun row => zip(row, w) |> reduceSeqUnroll(0, 0.0, fun (acc, (a, b)) => acc + a * b))\n",
      operations / 2);
}

// Eight steps of a matrix product on a tile of accumulators, all unrolled: everything in registers.
std::string unrolledTile(int operations) {
  return fmt::format(
      "def main(a: [64][8][{0}]f32, b: [8][16]f32) =\n"
      "  a |> mapGlb(0)(fun tile => zip(tile, b) |> reduceSeqUnroll(0, fill2D({0}, 16, 0.0), fun (acc, (us, vs)) =>\n"
      "    zip(acc, us) |> mapSeqUnroll(0)(fun (row, u) => zip(row, vs) |> mapSeqUnroll(0)(fun (s, v) => s + u * v)))\n"
      "  |> mapSeqUnroll(0)(mapSeqUnroll(0)(id)))\n",
      operations / 256);
}

double processorMilliseconds() { return std::clock() * (1000.0 / CLOCKS_PER_SEC); }

struct Cost {
  double milliseconds = std::numeric_limits<double>::infinity();  // of processor time, everything together
  StageTime slowest;                                              // by the host's clock
};

Cost attempt(const std::string& text) {
  const double begin = processorMilliseconds();
  const Stopwatch watch;
  const Program program = parseProgram(*addSource("cost.lift", text));
  const double parse = watch.milliseconds();
  CompileReport report;
  compile(program, {}, &report);
  report.times.push_back({"parse", parse});
  return {processorMilliseconds() - begin, *std::ranges::max_element(report.times, [](const auto& a, const auto& b) {
            return a.milliseconds < b.milliseconds;
          })};
}

// The best of a few attempts: what else runs on the machine only adds.
Cost costOf(const std::string& text) {
  Cost best;
  for (int i = 0; i < 3; ++i)
    if (const Cost cost = attempt(text); cost.milliseconds < best.milliseconds) best = cost;
  return best;
}

void print(const char* title, const char* unit, const std::function<std::string(int)>& program, int first, int last) {
  std::cout << fmt::format("{}\n{:>10} {:>10} {:>14}  slowest\n", title, unit, "ms", fmt::format("us / {}", unit));
  for (int n = first; n <= last; n *= 2) {
    const Cost cost = costOf(program(n));
    std::cout << fmt::format("{:>10} {:>10.2f} {:>14.2f}  {} {:.2f} ms\n", n, cost.milliseconds,
                             1000 * cost.milliseconds / n, cost.slowest.stage, cost.slowest.milliseconds)
              << std::flush;
  }
}

}  // namespace

int main(int argc, char** argv) {
  cli::App app{"Prints what compiling costs as programs grow."};
  int stages = 64, operations = 8192, definitions = 256;
  app.add_option("--stages", stages, "Length of the longest chain")->capture_default_str();
  app.add_option("--definitions", definitions, "Length of the longest chain of definitions or lets")
      ->capture_default_str();
  app.add_option("--operations", operations, "Operations of the largest kernel")->capture_default_str();
  if (const auto status = app.parse(argc, argv, static_cast<int>(ExitStatus::usage))) return *status;
  try {
    print("stencil stages, a kernel each", "stages", chainOfKernels, 1, stages);
    print("stencil stages in local memory, one kernel", "stages", chainInLocalMemory, 1, stages);
    print("definitions, each using the one before", "definitions", chainOfDefinitions, 8, definitions);
    print("lets, each using the one before twice", "lets", columnOfLets, 8, definitions);
    print("an inner product, unrolled", "operations", unrolledSum, 512, operations);
    print("a tile of a matrix product, unrolled", "operations", unrolledTile, 512, operations);
  } catch (const UserError& e) {
    std::cerr << render(e.diagnostics());
    return static_cast<int>(e.status());
  }
  return 0;
}
