#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "lift/diagnostic.hpp"
#include "lift/tune.hpp"

namespace lift::tune {
namespace {

using Clock = std::chrono::steady_clock;

// Points that are chosen together. Not a number of cores: a search must not depend on the machine.
constexpr std::size_t batchSize = 8;
constexpr double gain = 0.01;  // what counts as an improvement for the budget of patience

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

class Sweep {
 public:
  Sweep(const Problem& problem, const DeviceRow& device, Database& database, Measurer& measurer,
        const SweepOptions& options, const std::function<void(const Progress&)>& tell)
      : problem_(problem),
        device_(device),
        database_(database),
        measurer_(measurer),
        options_(options),
        tell_(tell),
        regenerate_(regenerateBy([&problem](const std::string& family) { return problem.subspace(family).plan; },
                                 options.buildOptions)) {
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
    const auto explorer = makeExplorer(options_.explorer, families, {.seed = options_.seed, .points = options_.points});
    while (result_.ended.empty()) step(*explorer);
    if (result_.ended != "stopped") retimeBest();
    return std::move(result_);
  }

 private:
  void step(Explorer& explorer) {
    const auto left = static_cast<std::size_t>(options_.points - result_.points);
    if (left == 0) return end("points");
    if (options_.patience > 0 && sinceGain_ >= options_.patience) return end("patience");
    if (expired()) return end("time");
    const std::vector<Point> batch = explorer.next(std::min(batchSize, left));
    if (batch.empty()) return end("all points");
    const auto outcomes = outcomesOf(batch);
    if (outcomes.size() < batch.size()) return end(options_.stop() ? "stopped" : "time");
    explorer.tell(outcomes);
  }

  // Fewer than the batch when a budget of time ended in between; what was measured is in the database all the same.
  std::vector<Outcome> outcomesOf(const std::vector<Point>& batch) {
    std::vector<std::optional<Measurement>> measured(batch.size());
    std::vector<Task> tasks;
    std::vector<std::size_t> taskOf;
    for (std::size_t i = 0; i < batch.size(); i++) {
      measured[i] = known(batch[i]);
      if (measured[i]) continue;
      const auto trouble = options_.troubles.find(result_.points + static_cast<std::int64_t>(i) + 1);
      tasks.push_back({batch[i], trouble == options_.troubles.end() ? "" : trouble->second});
      taskOf.push_back(i);
    }
    for (const auto& m : measured)
      if (m) account(*m, false);
    const auto done = [&](std::size_t task, Measurement m) {
      const Point& point = tasks[task].point;
      m.key = {problem_.row.key, device_.id, m.key.kernels, point.family, point.config, Phase::sweep};
      m.derivation = derivations_.at(point.family);
      m.generator = options_.generator;
      m.provenance = options_.provenance;
      m.measuredAt = now();
      database_.add(m);
      account(m, true);
      measured[taskOf[task]] = std::move(m);
    };
    if (!tasks.empty()) measurer_.measure(tasks, bestMs(), done, [&] { return options_.stop() || expired(); });
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < batch.size() && measured[i]; i++)
      outcomes.push_back({batch[i], counts(*measured[i]) ? std::optional(measured[i]->median()) : std::nullopt});
    return outcomes;
  }

  bool counts(const Measurement& m) const { return m.valid() && m.workspaceBytes <= options_.maxWorkspace; }

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
      again[i].measuredAt = now();
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

  // What the database has of the point's kernels as they are now.
  std::optional<Measurement> known(const Point& point) const {
    std::vector<Measurement> found = database_.select({.problem = problem_.row.key,
                                                       .device = device_.id,
                                                       .family = point.family,
                                                       .phase = Phase::sweep,
                                                       .config = point.config});
    if (found.empty()) return std::nullopt;
    // Where the compiler hung or died, it is not asked again in this process; another version may be better.
    const auto lost = [&](const Measurement& m) {
      return m.key.kernels.empty() && m.status != Status::buildError && m.generator == options_.generator;
    };
    auto match = std::find_if(found.begin(), found.end(), lost);
    if (match == found.end())
      match = std::find_if(
          found.begin(), found.end(),
          [now = regenerate_(point.family, point.config)](const Measurement& m) { return m.key.kernels == now; });
    return match == found.end() ? std::nullopt : std::optional(std::move(*match));
  }

  double bestMs() const { return result_.best ? result_.best->median() : std::numeric_limits<double>::infinity(); }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool expired() const { return elapsed() >= options_.seconds; }
  void end(const char* why) { result_.ended = options_.stop() ? "stopped" : why; }

  const Problem& problem_;
  const DeviceRow& device_;
  Database& database_;
  Measurer& measurer_;
  const SweepOptions& options_;
  const std::function<void(const Progress&)>& tell_;
  const Regenerate regenerate_;
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
