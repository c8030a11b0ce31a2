// The solver against brute force: the same points, the same number, no point twice.
#include <catch2/catch.hpp>

#include "constraints/small_spaces.hpp"

using namespace lift;
using namespace small;

namespace {

std::set<Config> enumerated(const Space& space) {
  std::set<Config> points;
  space.forEach([&](const Config& c) {
    CHECK(points.insert(c).second);
    return true;
  });
  return points;
}

std::set<Config> drawnUntilExhausted(const Space& space, std::uint64_t seed, Sampler::Mode mode) {
  std::set<Config> points;
  Sampler sampler(space, seed, mode);
  while (const auto config = sampler.next()) CHECK(points.insert(*config).second);
  CHECK_FALSE(sampler.next());
  return points;
}

}  // namespace

TEST_CASE("small spaces: the solver's points are those of brute force") {
  int nonEmpty = 0;
  for (const Example& example : examples()) {
    INFO(example.name);
    const std::set<Config> expected = bruteForce(example);
    const Space space = example.space();
    CHECK(enumerated(space) == expected);
    const Count count = space.count();
    CHECK(count.exact);
    CHECK(count.points == static_cast<double>(expected.size()));
    for (const auto mode : {Sampler::Mode::asConstrained, Sampler::Mode::uniform})
      for (const std::uint64_t seed : {1, 2, 3}) CHECK(drawnUntilExhausted(space, seed, mode) == expected);
    nonEmpty += !expected.empty();
  }
  CHECK(nonEmpty >= 10);
}
