// Every program of the catalogue through the compiler, its kernels interpreted under the emulator's checks.
#include <catch2/catch.hpp>

#include "lift/text.hpp"
#include "programs/on_device.hpp"
#include "refusals.hpp"

namespace lift::programs {

TEST_CASE("the emulator computes what the references compute, and finds nothing wrong with the kernels") {
  const auto device = runtime::makeEmulatorDevice();
  for (const CatalogueEntry& entry : catalogue()) DYNAMIC_SECTION(entry.name()) {
      CHECK(runOn(*device, entry) == "");
    }
}

TEST_CASE("so do the kernels as lowered, with only the passes that correctness needs") {
  const auto device = runtime::makeEmulatorDevice();
  CompileOptions options;
  options.passes.skip = {"trips", "unroll", "simplify", "scalars", "declare", "copies", "dead", "hoist"};
  for (const CatalogueEntry& entry : catalogue()) DYNAMIC_SECTION(entry.name()) {
      CHECK(runOn(*device, entry, options) == "");
    }
}

TEST_CASE("so do kernels launched with other work-group sizes than they ask for") {
  const auto device = runtime::makeEmulatorDevice();
  CompileOptions options;
  options.groups = {2, 3, 1};
  for (const CatalogueEntry& entry : catalogue()) DYNAMIC_SECTION(entry.name()) {
      const bool reducesTogether = entry.entry == "together";  // reduceLcl: groups of one dimension
      options.local = {3, reducesTogether ? 1 : 2, 1};
      CHECK(runOn(*device, entry, options) == "");
    }
}

TEST_CASE("kernels that check their indices and divisors compute the same") {
  const auto device = runtime::makeEmulatorDevice();
  CompileOptions options;
  options.checkBounds = true;
  for (const CatalogueEntry& entry : catalogue())
    if (entry.file == "guards" || entry.file == "spmv" || entry.file == "conv_layer") DYNAMIC_SECTION(entry.name()) {
        CHECK(runOn(*device, entry, options) == "");
      }
}

TEST_CASE("a wrong index or divisor is found where it stands in the program") {
  const auto report = [](const std::string& text) -> std::string {
    const Program program = parseProgram(*addSource("wrong.lift", text));
    CompileOptions options;
    options.checkBounds = true;
    Tensor x(Scalar::i32, {4});
    for (int i = 0; i < 4; i++) x.set(i, i);
    const auto run = [&] { runtime::makeEmulatorDevice()->load(compile(program, options))->run({{"x", x}}); };
    const auto errors = test::diagnosticsOf(run);
    return errors.empty() ? "nothing" : placeOf(errors[0].span) + " " + errors[0].message;
  };
  CHECK(report("def main(x: [4]i32) = map(fun i => x[i], x)") == "nothing");
  CHECK(report("def main(x: [4]i32) = map(fun i => x[i + 1], x)") ==
        "wrong.lift:1:36 index 4 is out of range of 4 elements");
  CHECK(report("def main(x: [4]i32) = map(fun i => if i < 2 then x[1 - i] else x[1 - i], x)") ==
        "wrong.lift:1:64 index -1 is out of range of 4 elements");
  // Inside of the buffer, but not of the row.
  CHECK(report("def main(x: [4]i32) = split(2, x) |> map(fun r => r[r[0]])") ==
        "wrong.lift:1:51 index 2 is out of range of 2 elements");
  // In one of two rows, of which one is put into memory.
  CHECK(report("def main(x: [4]i32) = map(fun i => sum(if i > 2 then split(2, x)[i - 2] else split(2, x)[x[i]]), x)") ==
        "wrong.lift:1:78 index 2 is out of range of 2 elements");
  CHECK(report("def main(x: [4]i32) = map(fun i => 5 / (i - 3), x)") ==
        "wrong.lift:1:36 an integer is divided by zero");
  CHECK(report("def main(x: [4]i32) = asVector(2, x) |> map(fun v => v % v) |> asScalar") ==
        "wrong.lift:1:54 an integer is divided by zero");
}

}  // namespace lift::programs
