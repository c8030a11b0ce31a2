// What is promised of samples: seeds, distribution, neighbourhoods, explanations.
#include <catch2/catch.hpp>
#include <cmath>

#include "constraints/small_spaces.hpp"

using namespace lift;
using namespace small;

namespace {

std::vector<Config> draw(const Space& space, std::uint64_t seed, int points, Sampler::Mode mode) {
  std::vector<Config> drawn;
  Sampler sampler(space, seed, mode);
  for (int i = 0; i < points; i++)
    if (const auto config = sampler.next()) drawn.push_back(*config);
  return drawn;
}

Example example(const std::string& name) {
  for (Example& e : examples())
    if (e.name == name) return std::move(e);
  throw std::logic_error("no example " + name);
}

// Sum over the points of (times drawn first - expected)^2 / expected, over many seeds.
double chiSquare(const Space& space, const std::set<Config>& points, Sampler::Mode mode, int draws) {
  std::map<Config, int> drawn;
  for (int seed = 0; seed < draws; seed++) drawn[draw(space, static_cast<std::uint64_t>(seed), 1, mode).at(0)]++;
  const double expected = static_cast<double>(draws) / static_cast<double>(points.size());
  double sum = 0;
  for (const Config& p : points) sum += (drawn[p] - expected) * (drawn[p] - expected) / expected;
  return sum;
}

}  // namespace

TEST_CASE("equal seeds draw equal points, other seeds others") {
  const Space space = example("the paper's in small").space();
  for (const auto mode : {Sampler::Mode::asConstrained, Sampler::Mode::uniform}) {
    const auto first = draw(space, 1, 50, mode);
    CHECK(first.size() == 50);
    CHECK(first == draw(space, 1, 50, mode));
    CHECK(first != draw(space, 2, 50, mode));
  }
}

TEST_CASE("uniform sampling draws every point alike, sampling as constrained does not") {
  const Example chain = example("a chain of divisors");
  const Space space = chain.space();
  const std::set<Config> points = bruteForce(chain);
  REQUIRE(points.size() == 80);
  // With 79 degrees of freedom chi-square exceeds 140 about once in 30,000 times.
  CHECK(chiSquare(space, points, Sampler::Mode::uniform, 4000) < 140);
  CHECK(chiSquare(space, points, Sampler::Mode::asConstrained, 4000) > 200);
}

TEST_CASE("what does not fit the effort is estimated, with an interval") {
  const Example small = example("the paper's in small");
  const Space space = small.space();
  const auto exact = static_cast<double>(bruteForce(small).size());
  const Count estimate = space.count(/*effort=*/10);
  CHECK_FALSE(estimate.exact);
  CHECK(estimate.low < estimate.points);
  CHECK(estimate.points < estimate.high);
  CHECK(estimate.high - estimate.low < exact);
  CHECK(std::abs(estimate.points - exact) < estimate.high - estimate.low);  // about four standard errors
}

TEST_CASE("a space too large to count can be sampled, but not uniformly") {
  std::vector<NatVar> tunables;
  Nat sum = 0;
  for (int i = 0; i < 12; i++) {
    tunables.push_back(tunable("t" + std::to_string(i), 1, 100));
    sum = sum + Nat(tunables.back()) * Nat(tunables.back()) * (i + 1);
  }
  const Space space(tunables, {mustDivide(7, sum)});
  CHECK_FALSE(space.count(100'000).exact);
  const auto points = draw(space, 1, 100, Sampler::Mode::asConstrained);
  CHECK(points.size() == 100);
  for (const Config& p : points) CHECK(space.contains(p));
  CHECK_THROWS_AS(Sampler(space, 1, Sampler::Mode::uniform), UserError);
}

TEST_CASE("neighbours are valid, near, and lead through the space") {
  const Example small = example("the paper's in small");
  const Space space = small.space();
  const std::set<Config> all = bruteForce(small);
  int moves = 0;
  for (const Config& from : all) {
    std::set<Config> seen;
    for (const Config& to : space.neighbours(from)) {
      CHECK(all.count(to) == 1);
      CHECK(seen.insert(to).second);
      int changed = 0;
      for (const auto& [name, value] : from) changed += to.at(name) != value;
      CHECK((changed == 1 || changed == 2));
      moves++;
    }
  }
  CHECK(moves > static_cast<int>(all.size()));

  std::set<Config> reached{*all.begin()};
  std::vector<Config> open{*all.begin()};
  while (!open.empty()) {
    const Config from = open.back();
    open.pop_back();
    for (const Config& to : space.neighbours(from))
      if (reached.insert(to).second) open.push_back(to);
  }
  CHECK(reached.size() * 10 >= all.size() * 9);  // 451 of 467
}

TEST_CASE("a configuration is lowered to a point, its first tunables first") {
  const NatVar rows = tunable("rows", 1, 16), width = tunable("width", 2, 16);
  const Space space({rows, width}, {mustDivide(rows, 16), mustNotExceed(Nat(rows) * width, 32)});
  const auto lowered = [&](std::int64_t r, std::int64_t w) { return space.lowered({{"rows", r}, {"width", w}}); };
  CHECK(lowered(4, 8) == Config{{"rows", 4}, {"width", 8}});
  CHECK(lowered(16, 8) == Config{{"rows", 4}, {"width", 8}});
  CHECK(lowered(7, 8) == Config{{"rows", 4}, {"width", 8}});
  CHECK(lowered(16, 99) == Config{{"rows", 2}, {"width", 16}});
  CHECK_FALSE(Space({width}, {mustNotExceed(8, width)}).lowered({{"width", 4}}));
  CHECK_THROWS_AS(space.lowered({{"rows", 1}}), UserError);

  // One that another is a multiple of: both together, not each to its least.
  const NatVar block = tunable("block", 1, 14), tiles = tunable("tiles", 1, 14);
  const Space tied({block, tiles}, {mustDivide(block, 14), mustDivide(tiles, block), mustNotExceed(block, 6)});
  CHECK(tied.lowered({{"block", 7}, {"tiles", 7}}) == Config{{"block", 2}, {"tiles", 2}});
  // What does not help stays a multiple of what follows.
  const NatVar lanes = tunable("lanes", 2, 16);
  const Space wide({block, lanes}, {mustDivide(lanes, block), mustDivide(lanes, 16), mustNotExceed(lanes, 4)});
  CHECK(wide.lowered({{"block", 8}, {"lanes", 8}}) == Config{{"block", 8}, {"lanes", 4}});
}

TEST_CASE("a point is valid, or is told what it violates") {
  const Example small = example("the paper's in small");
  const Space space = small.space();
  const Config valid = *bruteForce(small).begin();
  CHECK(space.contains(valid));
  CHECK(space.why(valid).empty());

  Config broken = valid;
  broken["vector"] = 3;
  CHECK_FALSE(space.contains(broken));
  const auto why = space.why(broken);
  REQUIRE_FALSE(why.empty());
  for (const Constraint* c : why) CHECK(c->condition.str().find("vector") != std::string::npos);

  CHECK_THROWS_AS(space.contains({{"vector", 1}}), UserError);
  Config other = valid;
  other["nonsense"] = 1;
  CHECK_THROWS_AS(space.why(other), UserError);
}

TEST_CASE("spaces that cannot be searched are refused") {
  const NatVar wide = NatVar::fresh("wide", 1, std::nullopt, NatVar::Role::tunable);
  CHECK_THROWS_AS(Space({wide}, {}), UserError);
  CHECK_THROWS_AS(Space({tunable("a", 1, 2), tunable("a", 1, 2)}, {}), UserError);
  const NatVar size = NatVar::size("n"), a = tunable("a", 1, 2);
  CHECK_THROWS_AS(Space({a}, {mustDivide(a, size)}), UserError);
}
