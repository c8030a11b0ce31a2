// Explorers on invented landscapes and on recorded sweeps.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/explorer.hpp"

using namespace lift;
using namespace lift::tune;

namespace {

// a | 48, b <= a, c free: 10 divisors, tied values.
std::vector<Config> points() {
  std::vector<Config> all;
  for (std::int64_t a = 1; a <= 48; a++)
    for (std::int64_t b = 1; b <= a; b *= 2)
      for (std::int64_t c = 0; c < 6; c++)
        if (48 % a == 0) all.push_back({{"a", a}, {"b", b}, {"c", c}});
  return all;
}

// Smooth in the logarithms, one basin for each family, and some points that fail.
std::optional<double> landscape(const Point& p) {
  const double a = std::log2(static_cast<double>(p.config.at("a"))),
               b = std::log2(static_cast<double>(p.config.at("b")));
  const auto c = static_cast<double>(p.config.at("c"));
  if (p.config.at("a") == 6 && p.config.at("c") == 3) return std::nullopt;
  const double floor = p.family == "good" ? 1 : 3;
  return floor * (1 + 0.2 * std::pow(a - 4, 2) + 0.1 * std::pow(b - 2, 2) + 0.1 * std::pow(c - 4, 2));
}

std::vector<SearchSpace> families() {
  return {searchSpaceOfPoints("bad", points()), searchSpaceOfPoints("good", points())};
}

std::vector<Measurement> recorded() {
  std::vector<Measurement> all;
  for (const char* family : {"bad", "good"})
    for (const Config& config : points()) {
      Measurement m;
      m.key.family = family;
      m.key.config = config;
      const auto time = landscape({family, config});
      m.status = time ? Status::ok : Status::crash;
      if (time) m.times = {*time};
      m.buildMs = 100;
      all.push_back(m);
    }
  return all;
}

std::vector<Point> search(const std::string& name, std::uint64_t seed, std::size_t batch, std::int64_t most) {
  const auto explorer = makeExplorer(name, families(), {.seed = seed, .points = most});
  std::vector<Point> asked;
  for (auto next = explorer->next(batch); !next.empty() && static_cast<std::int64_t>(asked.size()) < most;
       next = explorer->next(batch)) {
    CHECK(next.size() <= batch);
    std::vector<Outcome> outcomes;
    for (const Point& p : next) outcomes.push_back({p, landscape(p)});
    asked.insert(asked.end(), next.begin(), next.end());
    explorer->tell(outcomes);
  }
  return asked;
}

}  // namespace

TEST_CASE("every explorer asks for every point, for none twice, for none that is not there") {
  std::set<Point> all;
  for (const char* family : {"bad", "good"})
    for (const Config& config : points()) all.insert({family, config});
  for (const std::string& name : explorerNames())
    for (const std::size_t batch : {1U, 7U}) {
      INFO(name);
      const auto asked = search(name, 3, batch, 1'000'000);
      CHECK(asked.size() == all.size());
      CHECK(std::set<Point>(asked.begin(), asked.end()) == all);
    }
}

TEST_CASE("a search is determined by its seed") {
  for (const std::string& name : explorerNames()) {
    INFO(name);
    CHECK(search(name, 1, 4, 100) == search(name, 1, 4, 100));
    if (name != "exhaustive") CHECK(search(name, 1, 4, 100) != search(name, 2, 4, 100));
  }
}

TEST_CASE("random search goes through the families in turn") {
  const auto asked = search("random", 1, 8, 40);
  for (std::size_t i = 0; i < asked.size(); i++) CHECK(asked[i].family == (i % 2 == 0 ? "bad" : "good"));
}

TEST_CASE("neighbours of recorded points are near, and tied tunables move together") {
  const SearchSpace family = searchSpaceOfPoints("f", points());
  const std::vector<Config> all = points();
  const std::set<Config> valid(all.begin(), all.end());
  int pairs = 0, checked = 0;
  for (const Config& config : all)
    for (const Config& other : family.neighbours(config)) {
      REQUIRE(valid.count(other) == 1);
      int changed = 0;
      for (const auto& [name, value] : config) changed += other.at(name) != value;
      REQUIRE(changed >= 1);
      REQUIRE(changed <= 2);
      pairs += changed == 2;
      checked++;
    }
  CHECK(checked > 1000);
  CHECK(pairs > 0);  // a smaller, and b that must not exceed it
}

TEST_CASE("the model finds fast points early, where its estimates are right up to a factor for each family") {
  const Recording recording(recorded());
  std::vector<SearchSpace> families = recording.families();
  for (SearchSpace& f : families) {
    f.start = {{{"a", 48}, {"b", 1}, {"c", 0}}};  // as families have defaults
    f.forecast = [name = f.name, &recording](const Config& config) -> kernel::Forecast {
      const auto time = recording.time({name, config});
      if (!time) return {std::numeric_limits<double>::infinity(), {}};
      return {*time * (name == "good" ? 4e6 : 1e6), {}};  // the slow family seems the faster one
    };
  }
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    CAPTURE(seed);
    const auto explorer = makeExplorer("model", families, {.seed = seed, .points = 1000});
    const std::vector<Standing> curve = replay(*explorer, recording, 20);
    REQUIRE(!curve.empty());
    CHECK(curve.back().best <= recording.best() * 1.05);
  }
  // Points that do not compile are never asked for.
  for (SearchSpace& f : families)
    f.forecast = [](const Config& config) -> kernel::Forecast {
      return {config.at("a") == 1 ? 1.0 : std::numeric_limits<double>::infinity(), {}};
    };
  const auto explorer = makeExplorer("model", families, {.seed = 1, .points = 1000});
  int asked = 0;
  for (auto batch = explorer->next(3); !batch.empty(); batch = explorer->next(3)) {
    std::vector<Outcome> outcomes;
    for (const Point& p : batch) {
      CHECK(p.config.at("a") == 1);
      outcomes.push_back({p, 1.0});
      asked++;
    }
    explorer->tell(outcomes);
  }
  CHECK(asked > 2);
}

TEST_CASE("what goes by measurements needs fewer of them than random search") {
  const Recording recording(recorded());
  CHECK(recording.best() == Approx(1).epsilon(0.2));
  const double random = Searches("random", recording, 20).measurementsTo(0.05);
  for (const char* explorer : {"annealing", "model", "walk", "q"}) {
    const double needed = Searches(explorer, recording, 20).measurementsTo(0.05);
    INFO(random << " random, " << needed << " " << explorer);
    CHECK(needed * 2 < random);
  }
}

TEST_CASE("a search's curve never rises, and its figures are read off it") {
  const Recording recording(recorded());
  const auto explorer = makeExplorer("random", recording.families(), {.seed = 1, .points = 1000});
  const std::vector<Standing> curve = replay(*explorer, recording, 1000);
  REQUIRE(curve.size() > 10);
  for (std::size_t i = 1; i < curve.size(); i++) {
    CHECK(curve[i].best <= curve[i - 1].best);
    CHECK(curve[i].seconds > curve[i - 1].seconds);
  }
  CHECK(curve.back().best == recording.best());

  const Searches one("random", recording, 1);
  CHECK(one.measurementsTo(0) == static_cast<double>(curve.size()));
  CHECK(one.regretAt(5) == Approx(curve[4].best / recording.best() - 1));
  CHECK(one.regretAt(100'000) == 0);
  // A measurement counts when it has ended.
  CHECK(one.regretAfter(curve[4].seconds) == one.regretAt(5));
  CHECK(one.regretAfter(curve[4].seconds * 0.9999) == one.regretAt(4));
  CHECK(one.regretAfter(1e9) == 0);
  CHECK(std::isinf(one.regretAfter(0)));
  // Two are built at a time; what a recording of old does not tell of its runs is a fifth of a second at least.
  CHECK(recording.seconds({"good", points().front()}) == Approx(0.1 / 2 + 0.2));
}

TEST_CASE("searches on recorded sweeps of layers, and of a matrix product") {
  int recordings = 0;
  for (const char* name : {"vgg16_2", "vgg16_10", "vgg16_24", "matmul_tiled_96"}) {
    const std::string file = fmt::format("{}/tests/tune/recorded/{}.jsonl", LIFT_SOURCE_DIR, name);
    std::ifstream in(file);
    Database db = Database::inMemory();
    importLines(db, in, file);
    const Recording recording(db.select({}));
    CHECK(recording.points() >= 70);
    const double random = Searches("random", recording, 20).measurementsTo(0.05);
    for (const char* explorer : {"annealing", "q"}) {
      const double needed = Searches(explorer, recording, 20).measurementsTo(0.05);
      INFO(name << ": " << random << " random, " << needed << " " << explorer);
      CHECK(needed < random * 1.2);
    }
    recordings++;
  }
  CHECK(recordings == 4);
}

TEST_CASE("an unknown explorer") { CHECK_THROWS_AS(makeExplorer("guess", families(), {}), UserError); }
