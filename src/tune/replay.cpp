// Recorded sweeps as measuring devices.
#include <algorithm>
#include <limits>
#include <set>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "lift/explorer.hpp"
#include "random.hpp"

namespace lift::tune {
namespace {

// Points by value of each tunable, for searchSpaceOfPoints.
struct PointSet {
  explicit PointSet(const std::vector<Config>& points) : points(points.begin(), points.end()) {
    for (const Config& config : points)
      for (const auto& [name, value] : config) values[name].insert(value);
  }

  // `config` with `name` at the value nearest to its own, in one direction, that is a point; nothing if there is none.
  std::optional<Config> moved(Config config, const std::string& name, bool up) const {
    const std::set<std::int64_t>& all = values.at(name);
    for (auto it = all.find(config.at(name)); it != all.end();) {
      if (up ? ++it == all.end() : it == all.begin()) break;
      if (!up) --it;
      config[name] = *it;
      if (points.count(config)) return config;
    }
    return std::nullopt;
  }

  // `config` with `name` at the next of all values that occur, whether or not that is a point.
  std::optional<Config> stepped(Config config, const std::string& name, bool up) const {
    const std::set<std::int64_t>& all = values.at(name);
    auto it = all.find(config.at(name));
    if (up ? ++it == all.end() : it == all.begin()) return std::nullopt;
    config[name] = up ? *it : *std::prev(it);
    return config;
  }

  std::vector<Config> neighbours(const Config& config) const {
    std::set<Config> found;
    for (const auto& [first, ignored] : config)
      for (const bool up : {false, true}) {
        if (auto other = moved(config, first, up)) found.insert(std::move(*other));
        const auto step = stepped(config, first, up);
        if (!step || points.count(*step)) continue;
        for (const auto& [second, alsoIgnored] : config)
          for (const bool secondUp : {false, true})
            if (second != first)
              if (auto other = moved(*step, second, secondUp)) found.insert(std::move(*other));
      }
    return {found.begin(), found.end()};
  }

  std::set<Config> points;
  std::map<std::string, std::set<std::int64_t>> values;
};

// What measuring took. Recordings of before 2026-11 do not tell what the runs took: three or more, in 0.2 s or longer.
double secondsOf(const Measurement& m, double builders) {
  constexpr double fewestRuns = 4, sampleMs = 200;
  const double building = m.compileMs + m.buildMs + m.firstMs;
  const double once = m.times.empty() ? 0 : m.median();
  const double timing = m.timingMs > 0 || m.times.empty() ? m.timingMs : std::max(sampleMs, fewestRuns * once);
  return (building / builders + timing) * 1e-3;
}

}  // namespace

SearchSpace searchSpaceOfPoints(const std::string& name, const std::vector<Config>& points) {
  const auto set = std::make_shared<const PointSet>(points);
  SearchSpace family;
  family.name = name;
  family.draw = [set](std::uint64_t seed) {
    std::vector<Config> order(set->points.begin(), set->points.end());
    Random(seed).shuffle(order);
    return [order, at = std::size_t{0}]() mutable {
      return at < order.size() ? std::optional(order[at++]) : std::nullopt;
    };
  };
  family.forEach = [set](const std::function<bool(const Config&)>& visit) {
    for (const Config& config : set->points)
      if (!visit(config)) return;
  };
  family.neighbours = [set](const Config& config) { return set->neighbours(config); };
  return family;
}

Recording::Recording(const std::vector<Measurement>& measurements) {
  for (const Phase phase : {Phase::sweep, Phase::retime})
    for (const Measurement& m : measurements) {
      if (m.key.phase != phase) continue;
      Recorded& recorded = points_[{m.key.family, m.key.config}];
      recorded.time = m.valid() ? std::optional(m.median()) : std::nullopt;
      if (phase == Phase::sweep) recorded.seconds = secondsOf(m, builders);
    }
}

std::vector<SearchSpace> Recording::families(const Forecasts& forecast) const {
  std::map<std::string, std::vector<Config>> points;
  for (const auto& [point, recorded] : points_) points[point.family].push_back(point.config);
  std::vector<SearchSpace> families;
  for (const auto& [name, configs] : points) {
    families.push_back(searchSpaceOfPoints(name, configs));
    if (forecast)
      families.back().forecast = [forecast, name = name](const Config& config) { return forecast({name, config}); };
  }
  return families;
}

const Recording::Recorded& Recording::at(const Point& point) const {
  const auto found = points_.find(point);
  ensure(found != points_.end(), "an explorer asked for a point that was not recorded");
  return found->second;
}

std::optional<double> Recording::time(const Point& point) const { return at(point).time; }
double Recording::seconds(const Point& point) const { return at(point).seconds; }

double Recording::best() const {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [point, recorded] : points_) best = std::min(best, recorded.time.value_or(best));
  return best;
}

std::vector<Standing> replay(Explorer& explorer, const Recording& recording, std::size_t most) {
  const double goal = recording.best();
  std::vector<Standing> curve;
  double best = std::numeric_limits<double>::infinity(), seconds = 0;
  for (auto batch = explorer.next(1); !batch.empty(); batch = explorer.next(1)) {
    const auto time = recording.time(batch.front());
    best = std::min(best, time.value_or(best));
    seconds += recording.seconds(batch.front());
    curve.push_back({best, seconds});
    if (best <= goal || curve.size() == most) break;
    explorer.tell({{batch.front(), time}});
  }
  return curve;
}

Searches::Searches(std::string_view explorer, const Recording& recording, int seeds,
                   const Recording::Forecasts& forecast, std::shared_ptr<const Experience> experience)
    : best_(recording.best()), points_(recording.points()) {
  const std::vector<SearchSpace> families = recording.families(forecast);
  for (int seed = 1; seed <= seeds; seed++) {
    const auto search = makeExplorer(explorer, families,
                                     {.seed = static_cast<std::uint64_t>(seed),
                                      .points = static_cast<std::int64_t>(points_),
                                      .experience = experience});
    curves_.push_back(replay(*search, recording, points_));
  }
}

double Searches::measurementsTo(double margin) const {
  std::vector<double> counts;
  for (const std::vector<Standing>& curve : curves_) {
    const auto reached = std::ranges::find_if(curve, [&](const Standing& s) { return s.best <= best_ * (1 + margin); });
    counts.push_back(static_cast<double>(reached == curve.end() ? points_ : reached - curve.begin() + 1));
  }
  return runtime::median(std::move(counts));
}

double Searches::regretAt(std::size_t trials) const {
  std::vector<double> regrets;
  for (const std::vector<Standing>& curve : curves_) regrets.push_back(regretOf(curve, std::min(trials, curve.size())));
  return runtime::median(std::move(regrets));
}

double Searches::regretAfter(double seconds) const {
  std::vector<double> regrets;
  for (const std::vector<Standing>& curve : curves_) {
    const auto end = std::ranges::find_if(curve, [&](const Standing& s) { return s.seconds > seconds; });
    regrets.push_back(regretOf(curve, static_cast<std::size_t>(end - curve.begin())));
  }
  return runtime::median(std::move(regrets));
}

// After the first so many measurements.
double Searches::regretOf(const std::vector<Standing>& curve, std::size_t measurements) const {
  return measurements == 0 ? std::numeric_limits<double>::infinity() : curve[measurements - 1].best / best_ - 1;
}

}  // namespace lift::tune
