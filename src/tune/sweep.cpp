#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "lift/diagnostic.hpp"
#include "lift/tune.hpp"

namespace lift::tune {
namespace {

using Clock = std::chrono::steady_clock;

// Points that are chosen together. Not a number of cores: a search must not depend on the machine.
constexpr std::size_t batchSize = 8;
constexpr double gain = 0.01;  // what counts as an improvement for the budget of patience

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

template <class F>
auto timed(double& seconds, const F& f) {
  const auto begin = Clock::now();
  auto result = f();
  seconds += since(begin);
  return result;
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
    for (const Subspace& s : problem_.subspaces) families.push_back(s.search);
    const auto explorer =
        makeExplorer(options_.explorer, families,
                     {.seed = options_.seed, .points = options_.points, .experience = options_.experience});
    while (result_.ended.empty()) step(*explorer);
    const auto begin = Clock::now();
    if (result_.ended != "stopped") retimeBest();
    result_.seconds.again = since(begin);
    return std::move(result_);
  }

 private:
  void step(Explorer& explorer) {
    const auto left = static_cast<std::size_t>(options_.points - result_.points);
    if (left == 0) return end("points");
    if (options_.patience > 0 && sinceGain_ >= options_.patience) return end("patience");
    if (expired()) return end("time");
    const std::vector<Point> batch =
        timed(result_.seconds.choosing, [&] { return explorer.next(std::min(batchSize, left)); });
    if (batch.empty()) return end("all points");
    const auto outcomes = outcomesOf(batch);
    if (outcomes.size() < batch.size()) return end(options_.stop() ? "stopped" : "time");
    timed(result_.seconds.choosing, [&] { return explorer.tell(outcomes), true; });
  }

  // What a point is compiled to; no kernels where it is not.
  struct Compiled {
    std::string kernels;
    kernel::Forecast forecast;
  };

  // Fewer than the batch when a budget of time ended in between; what was measured is in the database all the same.
  std::vector<Outcome> outcomesOf(const std::vector<Point>& batch) {
    std::vector<std::optional<Measurement>> measured(batch.size());
    std::vector<Compiled> compiled(batch.size());
    std::vector<std::string> troubles(batch.size());
    std::vector<std::size_t> taskOf;                // positions in the batch
    std::map<std::string, std::size_t> measuredBy;  // kernels, and which of the batch is measured for all of them
    std::vector<std::pair<std::size_t, std::size_t>> equals;  // positions: of one, and of whose time it has
    for (std::size_t i = 0; i < batch.size(); i++) {
      measured[i] = timed(result_.seconds.compiling, [&] { return known(batch[i], compiled[i]); });
      if (measured[i]) continue;
      troubles[i] = troubleAt(result_.points + static_cast<std::int64_t>(i) + 1);
      if (troubles[i].empty() && !compiled[i].kernels.empty()) {
        if (const auto other = ofEqualKernels(compiled[i].kernels)) {
          measured[i] = shared(batch[i], *other);
          continue;
        }
        const auto [first, isNew] = measuredBy.emplace(compiled[i].kernels, i);
        if (!isNew) {
          equals.emplace_back(i, first->second);
          continue;
        }
      }
      taskOf.push_back(i);
    }
    // What takes longest to build comes first, so that no builder waits for another at the end.
    std::stable_sort(taskOf.begin(), taskOf.end(), [&](std::size_t a, std::size_t b) {
      return statements(compiled[a].forecast) > statements(compiled[b].forecast);
    });
    std::vector<Task> tasks;
    for (const std::size_t i : taskOf) tasks.push_back({batch[i], troubles[i]});
    for (const auto& m : measured)
      if (m) account(*m, false);
    const auto done = [&](std::size_t task, Measurement m) {
      m.key = keyOf(tasks[task].point, m.key.kernels);
      m.derivation = derivations_.at(tasks[task].point.family);
      m.generator = options_.generator;
      m.provenance = options_.provenance;
      m.measuredAt = utcNow();
      database_.add(m);
      if (const Compiled& c = compiled[taskOf[task]]; !c.kernels.empty() && c.kernels == m.key.kernels)
        database_.keep(c.kernels, c.forecast);
      tally(m);
      account(m, true);
      measured[taskOf[task]] = std::move(m);
    };
    const auto begin = Clock::now();
    const double timing = result_.seconds.timing;
    if (!tasks.empty()) measurer_.measure(tasks, bestMs(), done, options_.stop, [&] { return expired(); });
    result_.seconds.building += since(begin) - (result_.seconds.timing - timing);
    for (const auto& [one, other] : equals)
      if (measured[other]) account(*(measured[one] = shared(batch[one], *measured[other])), false);
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < batch.size() && measured[i]; i++) outcomes.push_back(outcomeOf(batch[i], *measured[i]));
    return outcomes;
  }

  std::string troubleAt(std::int64_t position) const {
    const auto found = options_.troubles.find(position);
    return found == options_.troubles.end() ? "" : found->second;
  }

  static float statements(const kernel::Forecast& forecast) {
    const auto& names = kernel::featureNames();
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), "statements") - names.begin());
    return at < forecast.features.size() ? forecast.features[at] : 0;
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
      if (!isPeer(m)) return m;
    return std::nullopt;
  }

  // The time of another point, as this one's: the kernels are the same.
  Measurement shared(const Point& point, const Measurement& other) {
    Measurement m = other;
    m.key = keyOf(point, other.key.kernels);
    m.derivation = derivations_.at(point.family);
    m.detail = fmt::format("measured as {} {}", other.key.family, lift::str(other.key.config));
    database_.add(m);
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
    if (std::isfinite(options_.seconds)) left = options_.seconds - elapsed();
    if (result_.fresh > 0) {
      const double rate = elapsed() / static_cast<double>(result_.fresh);
      const double rest = rate * static_cast<double>(options_.points - result_.points);
      left = std::min(left.value_or(rest), rest);
    }
    return left;
  }

  // The best few, measured again in turns: a single time may have been lucky.
  void retimeBest() {
    std::sort(valid_.begin(), valid_.end(),
              [](const Measurement& a, const Measurement& b) { return a.median() < b.median(); });
    if (valid_.size() > static_cast<std::size_t>(options_.retimed))
      valid_.resize(static_cast<std::size_t>(options_.retimed));
    std::vector<Measurement> again;
    std::vector<Point> points;
    for (Measurement m : valid_) {
      m.key.phase = Phase::retime;
      if (database_.find(m.key)) continue;
      points.push_back({m.key.family, m.key.config});
      again.push_back(std::move(m));
    }
    const auto times =
        points.empty() ? std::vector<std::vector<double>>() : measurer_.retime(points, options_.rounds, options_.stop);
    for (std::size_t i = 0; i < again.size(); i++) {
      if (times[i].empty()) continue;
      again[i].times = times[i];
      again[i].provenance = options_.provenance;
      again[i].measuredAt = utcNow();
      database_.add(again[i]);
    }
    chooseBest();
  }

  void chooseBest() {
    std::vector<Measurement> candidates = valid_;
    for (const Measurement& m : valid_) {
      Key key = m.key;
      key.phase = Phase::retime;
      if (auto again = database_.find(key)) candidates.push_back(std::move(*again));
    }
    result_.best = fastest(candidates);
  }

  // What the database has of the point's kernels as they are now. Where the compiler hung or died, it is not asked
  // again in this process; another version may be better.
  std::optional<Measurement> known(const Point& point, Compiled& compiled) const {
    std::vector<Measurement> found = database_.select({.problem = problem_.row.key,
                                                       .device = device_.id,
                                                       .family = point.family,
                                                       .phase = Phase::sweep,
                                                       .config = point.config});
    const auto lost = [&](const Measurement& m) {
      return m.key.kernels.empty() && m.status != Status::buildError && m.generator == options_.generator;
    };
    auto match = std::find_if(found.begin(), found.end(), lost);
    if (match == found.end()) {
      compiled = compile(point);
      match = std::find_if(found.begin(), found.end(),
                           [&](const Measurement& m) { return m.key.kernels == compiled.kernels; });
    }
    return match == found.end() ? std::nullopt : std::optional(std::move(*match));
  }

  Compiled compile(const Point& point) const {
    const PlanOf& planOf = problem_.subspace(point.family).plan;
    if (!planOf) return {};
    try {
      const kernel::Plan plan = planOf(point.config);
      return {kernelIdentity(plan, options_.buildOptions), kernel::forecastOf(plan)};
    } catch (const UserError&) {
      return {};  // beyond today's conditions
    } catch (const InternalError&) {
      return {};  // the worker will say it
    }
  }

  double bestMs() const { return result_.best ? result_.best->median() : std::numeric_limits<double>::infinity(); }
  double elapsed() const { return since(begin_); }
  bool expired() const { return elapsed() >= options_.seconds; }
  void end(const char* why) { result_.ended = options_.stop() ? "stopped" : why; }

  const Problem& problem_;
  const DeviceRow& device_;
  Database& database_;
  Measurer& measurer_;
  const SweepOptions& options_;
  const std::function<void(const Progress&)>& tell_;
  const Clock::time_point begin_ = Clock::now();
  std::map<std::string, std::string> derivations_;  // ids, by family
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
