// What searches go by: trees, networks, cost models, experience.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "../../src/tune/cost_model.hpp"
#include "../../src/tune/network.hpp"
#include "../../src/tune/random.hpp"
#include "lift/experience.hpp"
#include "lift/files.hpp"
#include "lift/process.hpp"

using namespace lift;
using namespace lift::tune;

namespace {

constexpr std::uint64_t seed = 20261122;

// Time of a point of a problem that is `scale` times as large: a valley in the logarithms, on which the count of
// instructions has no bearing.
double timeOf(const Config& config, double scale) {
  const auto a = static_cast<double>(config.at("a")), b = static_cast<double>(config.at("b"));
  return scale * std::exp2(0.3 * std::pow(a - 6, 2) + 0.2 * std::fabs(b - 3));
}

std::vector<Draft> drafts() {
  std::vector<Draft> all;
  for (std::int64_t a = 0; a < 12; a++)
    for (std::int64_t b = 0; b < 8; b++) all.push_back({{"family", {{"a", a}, {"b", b}}}, {1000, {}}});
  return all;
}

std::vector<const Draft*> pointersTo(const std::vector<Draft>& drafts) {
  std::vector<const Draft*> pointers;
  for (const Draft& d : drafts) pointers.push_back(&d);
  return pointers;
}

// Of the large problem only points about the fastest, whose times are longer than all of the small one.
std::vector<Lesson> lessons() {
  std::vector<Lesson> all;
  for (const double scale : {1.0, 1e4})
    for (const Draft& d : drafts())
      if (scale == 1 || std::abs(d.point.config.at("a") - 6) <= 3)
        all.push_back({scale == 1 ? "small" : "large", d, timeOf(d.point.config, scale)});
  return all;
}

const Draft& fastest(const std::vector<Draft>& drafts, const std::vector<double>& expected) {
  return drafts[static_cast<std::size_t>(std::min_element(expected.begin(), expected.end()) - expected.begin())];
}

}  // namespace

TEST_CASE("a network learns what each of its outputs should be, and its gradients are those of its error") {
  Random random(seed);
  CAPTURE(seed);
  Network network({2, 16, 16, 16, 2}, random);
  std::vector<Network::Sample> samples;
  for (int i = 0; i < 64; i++) {
    const double x = random.unit(), y = random.unit();
    samples.push_back({{x, y}, 0, x * y});
    samples.push_back({{x, y}, 1, x - y});
  }
  const double before = network.train(samples);
  for (int i = 0; i < 3000; i++) network.train(samples);
  const double after = network.train(samples);
  INFO(before << " before, " << after << " after");
  CHECK(after < 0.002);
  CHECK(after < before / 50);
  CHECK(network({0.5, 0.25})[0] == Approx(0.125).margin(0.1));
  CHECK(network({0.5, 0.25})[1] == Approx(0.25).margin(0.1));
}

TEST_CASE("a ridge regression finds the weights of a linear function") {
  Random random(seed);
  Ridge ridge({1e-6, 1e-6, 1e-6});
  for (int i = 0; i < 50; i++) {
    const double x = random.unit(), y = random.unit();
    ridge.add({1, x, y}, 3 + 2 * x - y);
  }
  CHECK(ridge({1, 10, 20}) == Approx(3 + 20 - 20).epsilon(1e-3));
}

TEST_CASE("a cost model that was told of some points expects the others in their order") {
  const std::vector<Draft> all = drafts();
  CostModel model(nullptr, seed);
  // Before anything was learnt, and without forecasts that differ, all are expected alike.
  const std::vector<double> first = model.expected(pointersTo(all), 0);
  CHECK(*std::max_element(first.begin(), first.end()) == *std::min_element(first.begin(), first.end()));
  for (std::size_t i = 0; i < all.size(); i += 3) model.learn(all[i], std::log2(timeOf(all[i].point.config, 1)));
  const std::vector<double> expected = model.expected(pointersTo(all), 0);
  int pairs = 0, right = 0;
  for (std::size_t i = 0; i < all.size(); i++)
    for (std::size_t j = 0; j < all.size(); j++) {
      if (timeOf(all[i].point.config, 1) * 1.5 > timeOf(all[j].point.config, 1)) continue;
      pairs++;
      right += expected[i] < expected[j];
    }
  INFO(right << " of " << pairs);
  CHECK(pairs > 1000);
  CHECK(right > 0.9 * pairs);
}

TEST_CASE("a family of which nothing was known is learnt of at any time") {
  CostModel model(nullptr, seed);
  std::vector<Draft> all = drafts();
  for (std::size_t i = 0; i < 40; i++) model.learn(all[i], std::log2(timeOf(all[i].point.config, 1)));
  static_cast<void>(model.expected(pointersTo(all), 0));  // trains trees
  const Draft other{{"other", {{"c", 3}, {"d", 5}}}, {1000, {}}};
  model.learn(other, 1);
  all.push_back(other);
  const std::vector<double> expected = model.expected(pointersTo(all), 0);
  CHECK(std::all_of(expected.begin(), expected.end(), [](double e) { return std::isfinite(e); }));
}

TEST_CASE("what failed is not to be expected fast, what was given up on no faster than that") {
  Times times;
  const Point point{"family", {}};
  CHECK(times.of({point, 8.0}) == 3);
  CHECK(times.of({point, 2.0}) == 1);
  CHECK(times.of({point, std::nullopt, 32.0}) == 5);
  CHECK(times.of({point, std::nullopt}) > 3);
}

TEST_CASE("experience of some problems tells the fast points of another") {
  const auto experience = Experience::of(lessons());
  CHECK((experience != nullptr) == hasTrees());
  if (!experience) return;
  const std::vector<Draft> all = drafts();
  const Draft& best = fastest(all, experience->expected(pointersTo(all)));
  CHECK(timeOf(best.point.config, 1) < 1.5);
  CHECK(Experience::of({}) == nullptr);

  // A model that begins with it goes by it.
  CostModel model(experience, seed);
  CHECK(timeOf(fastest(all, model.expected(pointersTo(all), 0)).point.config, 1) < 1.5);
}

TEST_CASE("experience is kept in a file that may be gone, damaged or of other lessons") {
  if (!hasTrees()) return;
  const std::vector<Draft> all = drafts();
  const auto expected = Experience::of(lessons())->expected(pointersTo(all));
  const TemporaryFolder folder;
  const auto file = folder.path() / "kept";
  CHECK(Experience::kept(lessons(), file)->expected(pointersTo(all)) == expected);
  REQUIRE(std::filesystem::exists(file));
  const auto written = std::filesystem::last_write_time(file);
  CHECK(Experience::kept(lessons(), file)->expected(pointersTo(all)) == expected);
  CHECK(std::filesystem::last_write_time(file) == written);  // it was read

  const std::string whole = readFile(file).value();
  REQUIRE(whole.size() > 1000);
  int damages = 0;
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 50) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
    std::ofstream(file, std::ios::binary) << (damages % 2 == 0 ? damaged : whole.substr(0, at));
    CHECK(Experience::kept(lessons(), file)->expected(pointersTo(all)) == expected);
    damages++;
  }
  CHECK(damages >= 50);

  std::vector<Lesson> others = lessons();
  for (Lesson& lesson : others) lesson.milliseconds = 1 / lesson.milliseconds;
  CHECK(Experience::kept(others, file)->expected(pointersTo(all)) != expected);
  CHECK(Experience::kept(lessons(), "/nowhere/kept")->expected(pointersTo(all)) == expected);
}
