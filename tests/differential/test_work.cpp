// What random programs over n elements cost: no more than twice as much for twice as many. What all elements determine
// is computed once, not by every work-item that needs it.
//
// LIFT_TEST_SEED and LIFT_DIFF_COUNT choose another or a longer run.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>

#include "differential/judges.hpp"
#include "harness/work.hpp"
#include "lift/text.hpp"

namespace lift::differential {
namespace {

// Launches, first and last elements cost something whatever the size.
constexpr double slack = 1.05;
// Of a hundred programs, those that may cost more.
constexpr std::int64_t exceptions = 1;

double workAt(const kernel::Plan& plan, const Program& program, std::int64_t n) {
  std::map<NatVar, std::int64_t> sizes;
  for (const NatVar v : program.sizes) sizes.emplace(v, n);
  return test::work(plan, sizes);
}

}  // namespace

TEST_CASE("the work of random programs grows with their size and no faster") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", std::max(800, 2000 / thinning));
  const std::int64_t seed = seedOr(20);
  std::int64_t judged = 0, summaries = 0, faster = 0;
  std::string worst;
  for (std::int64_t i = 0; i < count; i++) {
    Choices choices = Choices::random(static_cast<std::uint64_t>(seed * 1000003 + i));
    const Generated generated = generate(choices);
    if (!generated.used.contains("symbolic size") || generated.used.contains("symbolic count")) continue;
    const Program program = parseProgram(*addSource("program.lift", generated.text));
    INFO("LIFT_TEST_SEED=" << seed << ", program " << i << "\n" << generated.text);
    const kernel::Plan plan = compile(program);
    const double once = workAt(plan, program, 4096), twice = workAt(plan, program, 8192);
    CHECK(once > 0);
    if (twice > 2 * once * slack) {
      faster++;
      worst = fmt::format("LIFT_TEST_SEED={}, program {}: {} operations and accesses, then {}\n{}", seed, i, once,
                          twice, generated.text);
    }
    judged++;
    summaries += generated.used.contains("scalar of an array");
  }
  std::cout << "work of random programs: " << judged << " over n of seed " << seed << ", " << summaries
            << " with a value that all elements determine; " << faster << " cost more than they should" << std::endl;
  INFO(worst);
  CHECK(faster * 100 <= exceptions * judged);
  CHECK(judged * 10 >= count);
  CHECK(summaries * 100 >= count);
}

}  // namespace lift::differential
