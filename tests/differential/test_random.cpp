// Random typed programs: the interpreter against the mapped program, the printer, and the compiler under the emulator.
// Counts how often each construct was exercised and fails where one got too few.
//
// LIFT_TEST_SEED and LIFT_DIFF_COUNT choose another or a longer run (tests/long.sh), LIFT_DIFF_SHRINK the number of
// attempts to shrink a failure.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>

#include "differential/generator.hpp"
#include "differential/judges.hpp"

namespace lift::differential {
namespace {

constexpr const char* constructs[] = {
    // layouts, and what reads them
    "map", "split", "join", "transpose", "slide", "pad", "padClamp", "padMirror", "padWrap", "take", "drop", "reorder",
    "concat", "zip", "at", "tuple", "vectorize", "toGlobal", "array literal",
    // arrays that are made
    "nested generate", "generate2D", "generate3D",
    // reductions and loops
    "reduce", "scan", "scanExclusive", "reduceByIndex", "reduction of integers", "rounded sum", "scalar of an array",
    "divided reduction", "iterate", "iterate of two arrays", "iterateWhile", "many repetitions", "symbolic count",
    "launch loop", "launch loop with a condition", "scan of rows", "scan of tuples", "reduce of rows",
    "state of products", "window of indices",
    // numbers of other types
    "integers", "f16", "approximated function",
    // what may fail
    "guard", "guarded index", "guarded division", "guarding && or ||", "let in a branch", "if of tuples",
    "if of arrays", "conditional",
    // definitions
    "named function", "partial application", "function of a function", "hidden name",
    // results and sizes
    "array and scalar", "several arrays", "symbolic size",
    // programs that say where they run, and kernels
    "mapWrg", "mapLcl", "toLocal", "reduceSeq", "barrier", "if", "private_array"};

}  // namespace

TEST_CASE("random programs mean the same to the interpreter and to the compiler under the emulator") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", std::max(400, 2000 / thinning));
  const std::int64_t seed = seedOr(20);
  const auto attempts = static_cast<int>(setting("LIFT_DIFF_SHRINK", 2000));
  const auto device = runtime::makeEmulatorDevice();
  const auto judge = [&](const Generated& g) { return disagreement(g, *device); };
  std::map<std::string, int> used;
  for (std::int64_t i = 0; i < count; i++) {
    Choices choices = Choices::random(static_cast<std::uint64_t>(seed * 1000003 + i));
    const Generated generated = generate(choices);
    for (const auto& [what, n] : generated.used) used[what] += n;
    if (disagreement(generated, *device, &used).empty()) continue;
    // Not through Catch, which would break its lines.
    std::cout << shrinkProgram(choices.drawn(), attempts, judge).str("emulator");
    FAIL("LIFT_TEST_SEED=" << seed << ", program " << i << " disagrees; shrunk above");
  }
  std::string counts = fmt::format("random programs on the emulator: {} of seed {};", count, seed);
  for (const auto& [what, n] : used) counts += fmt::format(" {} {}", what, n);
  std::cout << counts << std::endl;
  for (const char* what : constructs) {
    INFO(what);  // the rarest is in 1.2 of a hundred
    CHECK(used[what] * 200 >= count);
  }
}

}  // namespace lift::differential
