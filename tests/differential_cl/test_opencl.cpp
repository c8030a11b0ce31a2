// Random typed programs on an OpenCL device, many to a build; under Oclgrind too (tests/oclgrind.sh).
//
// LIFT_TEST_SEED and LIFT_DIFF_CL_COUNT choose another or a longer run (tests/long.sh), LIFT_DIFF_SHRINK the number of
// attempts to shrink a failure, LIFT_BUILD_OPTIONS the options of the device's compiler.
#include <catch2/catch.hpp>
#include <iostream>

#include "differential/found.hpp"
#include "differential/generator.hpp"
#include "differential/judges.hpp"
#include "harness/sample.hpp"

namespace lift::differential {
namespace {

constexpr std::int64_t programsToABuild = 50;
// Compilers may fuse operations that the interpreter rounds twice, and iteration makes the difference grow.
constexpr double tolerance = 1e-4;

runtime::LoadOptions loading() {
  const char* given = std::getenv("LIFT_BUILD_OPTIONS");
  return {given ? given : "", false};
}

// A new context each time: Oclgrind 21.10 takes memory for uninitialised that it hands out a second time.
std::vector<std::string> judge(std::vector<Case> cases) {
  return Batch(std::move(cases)).run(*runtime::openDevice(), loading(), tolerance);
}

std::string judgeOne(const Generated& program) { return judge({Case(program.text)}).front(); }

}  // namespace

TEST_CASE("programs that once were wrong mean the same to the interpreter and on the OpenCL device") {
  const auto device = runtime::openDevice();
  test::Sample sample(3);
  for (const Found& f : found) {
    if (!sample.takes()) continue;
    INFO(f.what << f.text);
    CHECK(disagreement(f.text, *device) == "");
  }
}

// A team may give such launches to one of its threads after some runs.
TEST_CASE("short launches that depend on each other give the same in each of many runs") {
  const Case c(
      "def main(xs: [4][16]f32): [4][16]f32 = iterate(100, fun ys => mapGlb(1, mapGlb(0, fun y => y + 0.5), "
      "ys), xs)");
  REQUIRE(c.plan.loops.size() == 1);
  const auto executable = runtime::openDevice()->load(c.plan, {}, loading());
  for (int run = 0; run < 30; run++)
    REQUIRE(compareResults(executable->run(c.inputs).outputs, c.expected, Tolerance{tolerance, 0}) == "");
}

TEST_CASE("random programs mean the same to the interpreter and on the OpenCL device") {
  const std::int64_t count = setting("LIFT_DIFF_CL_COUNT", 50);
  const std::int64_t seed = seedOr(20);
  const auto attempts = static_cast<int>(setting("LIFT_DIFF_SHRINK", 100));
  const runtime::DeviceInfo info = runtime::openDevice()->info();
  REQUIRE_FALSE(info.pseudo());
  std::int64_t judged = 0;
  for (std::int64_t first = 0; first < count; first += programsToABuild) {
    std::vector<Choices::List> drawn;
    std::vector<Case> cases;
    for (std::int64_t i = first; i < std::min(count, first + programsToABuild); i++) {
      Choices choices = Choices::random(static_cast<std::uint64_t>(seed * 1000003 + i));
      cases.emplace_back(generate(choices).text);
      drawn.push_back(choices.drawn());
    }
    const std::vector<std::string> wrong = judge(std::move(cases));
    judged += static_cast<std::int64_t>(wrong.size());
    for (std::size_t i = 0; i < wrong.size(); i++) {
      if (wrong[i].empty()) continue;
      std::cout << "in a build of many: " << wrong[i] << "\n"
                << shrinkProgram(drawn[i], attempts, judgeOne).str(info.name);
      FAIL("LIFT_TEST_SEED=" << seed << ", program " << first + static_cast<std::int64_t>(i)
                             << " disagrees; shrunk above");
    }
  }
  CHECK(judged == count);
  std::cout << "random programs on " << info.platform << ": " << judged << " of seed " << seed << std::endl;
}

}  // namespace lift::differential
