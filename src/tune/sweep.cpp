#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "lift/diagnostic.hpp"
#include "lift/stopwatch.hpp"
#include "lift/tune.hpp"
#include "process.hpp"

namespace lift::tune {
namespace {

// Points that are chosen together. Not a number of cores: a search must not depend on the machine.
constexpr std::size_t batchSize = 4;
// Of these so many are under way: the next is chosen while the last is built, knowing what came of those before it.
constexpr std::size_t batchesAtOnce = 2;
constexpr double gain = 0.01;  // what counts as an improvement for the budget of patience

template <class F>
auto timed(double& seconds, const F& f) {
  const Stopwatch watch;
  auto result = f();
  seconds += watch.seconds();
  return result;
}

// What a point is compiled to; no kernels where it is not.
struct Compiled {
  std::string kernels;
  kernel::Forecast forecast{std::numeric_limits<double>::infinity(), {}};
};

// Where the compiler failed: it looks fast, so that the point is asked for, and the worker says how.
Compiled unknownFailure() { return {"", {1, std::vector<float>(kernel::featureNames().size())}}; }

Json answerOf(const Compiled& c) {
  return {{"kernels", c.kernels}, {"instructions", c.forecast.instructions}, {"features", c.forecast.features}};
}

Compiled compiledOf(const Json& answer) {
  if (answer.is_null()) return {};
  return {answer.at("kernels"), {answer.at("instructions"), answer.at("features").get<std::vector<float>>()}};
}

class Sweep {
 public:
  Sweep(const Problem& problem, const DeviceRow& device, Database& database, Measurer& measurer,
        const SweepOptions& options, const std::function<void(const Progress&)>& tell)
      : problem_(problem), device_(device), database_(database), measurer_(measurer), options_(options), tell_(tell) {
    database.add(problem.row);
    database.add(device);
    for (const Subspace& s : problem.subspaces) {
      const DerivationRow row = derivationRow(s.derivation);
      database.add(row);
      derivations_[s.search.name] = row.id;
    }
  }

  SweepResult run() {
    std::vector<SearchSpace> families;
    for (const Subspace& s : problem_.subspaces) {
      families.push_back(s.search);
      if (s.plan && s.search.forecast)
        families.back().forecast = [this, name = s.search.name](const Config& c) {
          return compiled({name, c}).forecast;
        };
    }
    const auto explorer =
        makeExplorer(options_.explorer, families,
                     {.seed = options_.seed, .points = options_.points, .experience = options_.experience});
    const auto done = [&](std::size_t task, Measurement m) { took(underWay_.at(task), std::move(m)); };
    const Stopwatch building;
    measurer_.measure([&] { return timed(result_.seconds.choosing, [&] { return tasksOf(*explorer); }); },
                      [&] { return bestMs(); }, done, options_.stop, [&] { return late(); });
    result_.seconds.building = building.seconds() - result_.seconds.choosing - result_.seconds.timing;
    if (result_.points < chosen_ || result_.ended.empty()) result_.ended = "time";
    if (options_.stop()) result_.ended = "stopped";
    const Stopwatch again;
    if (result_.ended != "stopped") retimeBest();
    result_.seconds.again = again.seconds();
    return std::move(result_);
  }

 private:
  // Points that were chosen together.
  struct Batch {
    std::vector<Point> points;
    std::vector<std::optional<Measurement>> measured;
    bool complete() const {
      return std::ranges::all_of(measured, [](const auto& m) { return !!m; });
    }
  };
  struct Place {
    std::shared_ptr<Batch> batch;
    std::size_t at = 0;
    const Point& point() const { return batch->points[at]; }
    std::optional<Measurement>& measured() const { return batch->measured[at]; }
  };

  // What is to be measured of the next points; none where the search ends, or has to know more to go on. The explorer
  // is always asked for a batch before it is told of the one before, whatever came when: else a search that was
  // stopped would not go on as it would have.
  std::vector<Task> tasksOf(Explorer& explorer) {
    tell(explorer);
    while (result_.ended.empty() && batches_.size() < batchesAtOnce) {
      const auto left = static_cast<std::size_t>(options_.points - chosen_);
      if (left == 0) return end("points");
      if (options_.patience > 0 && sinceGain_ >= options_.patience) return end("patience");
      if (late()) return end("time");
      const auto batch = std::make_shared<Batch>();
      batch->points = explorer.next(std::min(batchSize, left));
      if (batch->points.empty()) return end("all points");
      batch->measured.resize(batch->points.size());
      if (chosen_ == 0) first_ = batch->points.front();
      batches_.push_back(batch);
      std::vector<Task> tasks = unknownOf(batch);
      tell(explorer);
      if (!tasks.empty()) return tasks;
    }
    return {};
  }

  std::vector<Task> end(const char* why) {
    result_.ended = why;
    return {};
  }

  void tell(Explorer& explorer) {
    while (batches_.size() == batchesAtOnce && batches_.front()->complete()) {
      const Batch& batch = *batches_.front();
      std::vector<Outcome> outcomes;
      for (std::size_t i = 0; i < batch.points.size(); i++)
        outcomes.push_back(outcomeOf(batch.points[i], *batch.measured[i]));
      explorer.tell(outcomes);
      batches_.pop_front();
    }
  }

  // What the database does not have, what takes longest to build first; the first point of a search, which others must
  // beat, before all.
  std::vector<Task> unknownOf(const std::shared_ptr<Batch>& batch) {
    std::vector<Place> unknown;
    std::vector<std::string> troubles;
    for (std::size_t i = 0; i < batch->points.size(); i++) {
      const Place place{batch, i};
      const std::string trouble = troubleAt(++chosen_);
      if ((place.measured() = known(place.point()))) {
        account(*place.measured(), false);
        continue;
      }
      const std::string& kernels = compiled(place.point()).kernels;
      if (trouble.empty() && !kernels.empty()) {
        if (const auto other = ofEqualKernels(kernels)) {
          account(*(place.measured() = shared(place.point(), *other)), false);
          continue;
        }
        const auto [first, isNew] = waitingFor_.emplace(kernels, std::vector<Place>());
        if (!isNew) {
          first->second.push_back(place);
          continue;
        }
      }
      unknown.push_back(place);
      troubles.push_back(trouble);
    }
    const auto order = [&](std::size_t i) {
      const bool first = chosen_ == static_cast<std::int64_t>(batch->points.size()) && unknown[i].at == 0;
      return first ? std::numeric_limits<double>::infinity() : statements(unknown[i].point());
    };
    std::vector<std::size_t> sorted(unknown.size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::ranges::stable_sort(sorted, [&](auto a, auto b) { return order(a) > order(b); });
    std::vector<Task> tasks;
    for (const std::size_t i : sorted) {
      tasks.push_back({unknown[i].point(), troubles[i], statements(unknown[i].point())});
      underWay_.push_back(unknown[i]);
    }
    return tasks;
  }

  void took(const Place& place, Measurement m) {
    m.key = keyOf(place.point(), m.key.kernels);
    m.derivation = derivations_.at(place.point().family);
    m.generator = options_.generator;
    m.provenance = options_.provenance;
    m.measuredAt = utcNow();
    database_.replace(m);  // perhaps what ended under a smaller limit
    const Compiled& made = compiled(place.point());
    if (!made.kernels.empty() && made.kernels == m.key.kernels) database_.keep(made.kernels, made.forecast);
    tally(m);
    account(m, true);
    place.measured() = m;
    const auto waiting = waitingFor_.extract(made.kernels);
    if (!waiting.empty())
      for (const Place& other : waiting.mapped()) account(*(other.measured() = shared(other.point(), m)), false);
  }

  std::string troubleAt(std::int64_t position) const {
    const auto found = options_.troubles.find(position);
    return found == options_.troubles.end() ? "" : found->second;
  }

  double statements(const Point& point) {
    const std::vector<float>& features = compiled(point).forecast.features;
    const auto& names = kernel::featureNames();
    const auto at = static_cast<std::size_t>(std::ranges::find(names, "statements") - names.begin());
    return at < features.size() ? std::exp2(static_cast<double>(features[at])) : 0;
  }

  Outcome outcomeOf(const Point& point, const Measurement& m) const {
    const bool givenUpOn = m.status == Status::skipped || m.status == Status::runTimeout;
    return {point, counts(m) ? std::optional(m.median()) : std::nullopt,
            givenUpOn && !m.times.empty() ? std::optional(m.median()) : std::nullopt};
  }

  Key keyOf(const Point& point, const std::string& kernels) const {
    return {problem_.row.key, device_.id, kernels, point.family, point.config, Phase::sweep};
  }

  std::optional<Measurement> ofEqualKernels(const std::string& kernels) const {
    const auto found = database_.select(
        {.problem = problem_.row.key, .device = device_.id, .kernels = kernels, .phase = Phase::sweep});
    for (const Measurement& m : found)
      if (!isPeer(m) && !endedEarly(m)) return m;
    return std::nullopt;
  }

  // The time of another point, as this one's: the kernels are the same.
  Measurement shared(const Point& point, const Measurement& other) {
    Measurement m = other;
    m.key = keyOf(point, other.key.kernels);
    m.derivation = derivations_.at(point.family);
    m.detail = fmt::format("measured as {} {}", other.key.family, lift::str(other.key.config));
    database_.replace(m);
    result_.equal++;
    return m;
  }

  void tally(const Measurement& m) {
    result_.seconds.timing += m.timingMs * 1e-3;
    result_.compilerSeconds += m.compileMs * 1e-3;
    result_.driverSeconds += m.buildMs * 1e-3;
    result_.firstSeconds += m.firstMs * 1e-3;
  }

  bool counts(const Measurement& m) const {
    return m.valid() && m.workspaceBytes <= options_.maxWorkspace && m.maxError <= options_.maxError;
  }

  void account(const Measurement& m, bool fresh) {
    result_.points++;
    result_.fresh += fresh;
    result_.byStatus[m.status]++;
    const double before = bestMs();
    const bool improved = counts(m) && m.median() < before;
    sinceGain_ = counts(m) && m.median() < before * (1 - gain) ? 0 : sinceGain_ + 1;
    if (counts(m)) valid_.push_back(m);
    if (improved) result_.best = m;
    if (tell_) tell_({m, fresh, improved, result_, options_.points, secondsLeft()});
  }

  // By the rate of the points measured so far; never more than the budget of time leaves.
  std::optional<double> secondsLeft() const {
    std::optional<double> left;
    if (std::isfinite(options_.seconds)) left = std::max(0.0, options_.seconds - elapsed());
    if (result_.fresh > 0) {
      const double rate = elapsed() / static_cast<double>(result_.fresh);
      const double rest = rate * static_cast<double>(options_.points - result_.points);
      left = std::min(left.value_or(rest), rest);
    }
    return left;
  }

  // The best few, measured again in turns: a single time may have been lucky. With them what is taken where nothing was
  // measured, that a search does not end with less; and what was measured again before, whose times are of other hours.
  void retimeBest() {
    std::ranges::stable_sort(valid_, {}, &Measurement::median);
    std::vector<Measurement> again;
    std::vector<Point> points;
    bool isKnown = false;
    for (const Measurement& m : valid_) {
      const Point point{m.key.family, m.key.config};
      Measurement timed = m;
      timed.key.phase = Phase::retime;
      const auto before = database_.find(timed.key);
      if (std::ssize(points) >= options_.retimed && point != first_ && !before) continue;
      isKnown = isKnown || before;
      if (before) timed = *before;
      points.push_back(point);
      again.push_back(std::move(timed));
    }
    if (result_.fresh > 0 || !isKnown) {
      const auto times = measurer_.retime(points, options_.rounds, options_.stop);
      for (std::size_t i = 0; i < again.size(); i++) {
        if (times[i].empty()) continue;
        again[i].times = times[i];
        again[i].provenance = options_.provenance;
        again[i].measuredAt = utcNow();
        database_.replace(again[i]);
      }
    }
    // What is taken untuned stays where nothing is clearly better.
    const auto untuned = std::ranges::find_if(again, [&](const Measurement& m) {
      return Point{m.key.family, m.key.config} == first_;
    });
    const std::optional<Measurement> kept = untuned != again.end() ? std::optional(*untuned) : std::nullopt;
    again.insert(again.end(), valid_.begin(), valid_.end());
    result_.best = fastest(again);
    if (kept && !isClearlyBetter(*result_.best, *kept)) result_.best = kept;
  }

  // Whether it was ended by a limit of the user's that is larger now; what is hopeless is so under any.
  bool endedEarly(const Measurement& m) const {
    if (m.status == Status::buildTimeout) return m.buildMs < options_.limits.buildSeconds * 1e3;
    return m.status == Status::runTimeout && m.times.empty() &&
           std::max(m.firstMs, m.timingMs) < options_.limits.runSeconds * 1e3;
  }

  // What the database has of the point's kernels as they are now. Where this version of the compiler hung or died, it
  // is not asked again; another may be better.
  std::optional<Measurement> known(const Point& point) {
    std::vector<Measurement> found = database_.select({.problem = problem_.row.key,
                                                       .device = device_.id,
                                                       .family = point.family,
                                                       .phase = Phase::sweep,
                                                       .config = point.config});
    std::erase_if(found, [&](const Measurement& m) { return endedEarly(m); });
    const auto lost = [&](const Measurement& m) {
      return m.key.kernels.empty() && m.status != Status::buildError && m.generator == options_.generator;
    };
    auto match = std::ranges::find_if(found, lost);
    if (match == found.end() && !found.empty())
      match =
          std::ranges::find_if(found, [&](const Measurement& m) { return m.key.kernels == compiled(point).kernels; });
    return match == found.end() ? std::nullopt : std::optional(std::move(*match));
  }

  // Once, for the explorer and for what is measured.
  const Compiled& compiled(const Point& point) {
    const auto [at, isNew] = compiled_.emplace(point, Compiled());
    if (isNew && problem_.subspace(point.family).plan) {
      const auto answer =
          compiler_.ask({{"family", point.family}, {"config", point.config}}, options_.limits.buildSeconds);
      at->second = answer ? compiledOf(*answer) : unknownFailure();
    }
    return at->second;
  }

  Json compile(const Json& request) const {
    try {
      const kernel::Plan plan = problem_.subspace(request.at("family")).plan(request.at("config").get<Config>());
      return answerOf({kernelIdentity(plan, options_.buildOptions), kernel::forecastOf(plan)});
    } catch (const UserError&) {  // beyond today's conditions
      return {};
    } catch (const InternalError&) {
      return answerOf(unknownFailure());
    }
  }

  double bestMs() const { return result_.best ? result_.best->median() : std::numeric_limits<double>::infinity(); }
  double elapsed() const { return watch_.seconds(); }
  // Whatever the budget, one point is measured.
  bool late() const { return result_.points > 0 && elapsed() >= options_.seconds; }

  const Problem& problem_;
  const DeviceRow& device_;
  Database& database_;
  Measurer& measurer_;
  const SweepOptions& options_;
  const std::function<void(const Progress&)>& tell_;
  const Stopwatch watch_;
  std::map<std::string, std::string> derivations_;  // ids, by family
  std::map<Point, Compiled> compiled_;
  Replica compiler_{[this](const Json& request) { return compile(request); }};
  std::int64_t chosen_ = 0;                               // points
  Point first_;                                           // of them
  std::deque<std::shared_ptr<Batch>> batches_;            // that the explorer was not told of
  std::vector<Place> underWay_;                           // by number of task
  std::map<std::string, std::vector<Place>> waitingFor_;  // kernels that are measured, and what has the same
  std::vector<Measurement> valid_;
  SweepResult result_;
  std::int64_t sinceGain_ = 0;
};

}  // namespace

SweepResult sweep(const Problem& problem, const DeviceRow& device, Database& database, Measurer& measurer,
                  const SweepOptions& options, const std::function<void(const Progress&)>& tell) {
  return Sweep(problem, device, database, measurer, options, tell).run();
}

}  // namespace lift::tune
