// liftc tune --replay: explorers compared on recorded sweeps, and predictions held to them.
#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "lift/diagnostic.hpp"
#include "lift/experience.hpp"
#include "lift/files.hpp"
#include "lift/predict.hpp"
#include "lift/tune_report.hpp"
#include "sweep.hpp"
#include "workload.hpp"

namespace lift::liftc {
namespace {

constexpr std::array<std::size_t, 3> trials = {16, 64, 256};  // after which the regret is told

using Forecasts = std::map<tune::Point, kernel::Forecast>;

struct Recorded {
  tune::ProblemRow problem;
  std::string device;
  tune::Recording recording;
  Forecasts forecasts;  // empty: `why`
  std::string why;
};

// What each recorded point that ran gives, as it is compiled now. Throws UserError where the record does not say what
// was compiled, or liftc makes other configurations of it today.
template <class T>
std::map<tune::Point, T> ofEachPoint(const tune::ProblemRow& problem, const tune::Recording& recording,
                                     const std::function<T(const kernel::Plan&)>& of, const T& failed) {
  if (problem.command.empty()) throw UserError(ExitStatus::program, "the record does not say what was compiled");
  const Workload workload = ProblemChoice::parse(problem.command).workload();
  std::map<tune::Point, T> all;
  for (const tune::SearchSpace& family : recording.families()) {
    const Variant variant = derive(workload, family.name);
    family.forEach([&](const Config& config) {
      const tune::Point point{family.name, config};
      all[point] = recording.time(point) ? of(compileVariant(variant, config)) : failed;
      return true;
    });
  }
  return all;
}

Forecasts forecastsOf(const tune::ProblemRow& problem, const tune::Recording& recording) {
  return ofEachPoint<kernel::Forecast>(problem, recording, kernel::forecastOf,
                                       {std::numeric_limits<double>::infinity(), {}});
}

// Calls f(problem, measurements) for each problem of the files that has any.
template <class F>
void forEachProblem(const std::vector<std::string>& files, F&& f) {
  for (const std::string& file : files) {
    std::istringstream in(readInput(file));
    auto db = tune::Database::inMemory();
    tune::importLines(db, in, file);
    for (const tune::ProblemRow& problem : db.problems())
      if (const auto measurements = db.select({.problem = problem.key}); !measurements.empty())
        f(problem, measurements);
  }
}

std::vector<Recorded> recordedIn(const std::vector<std::string>& files) {
  std::vector<Recorded> all;
  forEachProblem(files, [&](const tune::ProblemRow& problem, const std::vector<tune::Measurement>& measurements) {
    Recorded r{problem, measurements.front().key.device, tune::Recording(measurements), {}, {}};
    try {
      r.forecasts = forecastsOf(problem, r.recording);
    } catch (const UserError& e) {
      r.why = e.diagnostics().front().message;
    }
    all.push_back(std::move(r));
  });
  return all;
}

// What the others teach of this one: leave one problem out.
std::shared_ptr<const tune::Experience> experienceFor(const Recorded& one, const std::vector<Recorded>& all) {
  std::vector<tune::Lesson> lessons;
  for (const Recorded& other : all) {
    if (other.problem.key == one.problem.key || other.device != one.device) continue;
    for (const auto& [point, forecast] : other.forecasts)
      if (const auto time = other.recording.time(point))
        lessons.push_back({other.problem.key, {point, forecast}, *time});
  }
  return tune::Experience::of(lessons);
}

tune::Comparison compared(const Recorded& one, const std::vector<Recorded>& all, int seeds, double seconds) {
  tune::Comparison comparison{one.problem.label, one.recording.points(), seconds, {}};
  tune::Recording::Forecasts forecast;
  if (one.why.empty()) forecast = [&](const tune::Point& point) { return one.forecasts.at(point); };
  const auto add = [&](const std::string& title, const std::string& explorer,
                       const std::shared_ptr<const tune::Experience>& experience) {
    const tune::Searches searches(explorer, one.recording, seeds, forecast, experience);
    tune::Comparison::Row row{
        title, searches.measurementsTo(0.05), searches.measurementsTo(0.01), {}, searches.regretAfter(seconds)};
    for (std::size_t trial = 1; trial <= trials.back(); trial++) row.regrets.push_back(searches.regretAt(trial));
    comparison.rows.push_back(std::move(row));
  };
  for (const std::string& explorer : tune::explorerNames()) {
    const bool guided = explorer == "model" || explorer == "walk";
    if (!guided || one.why.empty()) add(explorer, explorer, nullptr);
  }
  if (const auto experience = one.why.empty() ? experienceFor(one, all) : nullptr)
    add("model (taught)", "model", experience);
  return comparison;
}

Json jsonOf(const Recorded& one, const tune::Comparison& comparison) {
  Json row = {{"problem", one.problem.key}, {"label", comparison.title}, {"points", comparison.points}};
  if (!one.why.empty()) row["why_no_model"] = one.why;
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  for (const tune::Comparison::Row& r : comparison.rows) {
    Json regrets = Json::object();
    for (const std::size_t t : trials) regrets[std::to_string(t)] = finite(r.regrets[t - 1]);
    row["explorers"].push_back({{"explorer", r.explorer},
                                {"to_5_percent", r.to5},
                                {"to_1_percent", r.to1},
                                {"regret_at", regrets},
                                {"regret_after", finite(r.regretAfter)}});
  }
  return row;
}

void print(const tune::Comparison& comparison) {
  std::cout << fmt::format("\n{:<26} {:>8} {:>8} {:>10}", fmt::format("{}, {}", comparison.title, comparison.points),
                           "to 5 %", "to 1 %", "regret at");
  for (const std::size_t t : trials) std::cout << fmt::format(" {:>7}", t);
  std::cout << fmt::format(" {:>9}\n", fmt::format("{:g} s", comparison.budgetSeconds));
  const auto percent = [](double regret, int width) {
    return std::isfinite(regret) ? fmt::format(" {:>{}.1f} %", regret * 100, width - 2)
                                 : fmt::format(" {:>{}}", "-", width);
  };
  for (const tune::Comparison::Row& r : comparison.rows) {
    std::cout << fmt::format("  {:<24} {:>8} {:>8} {:>10}", r.explorer, r.to5, r.to1, "");
    for (const std::size_t t : trials) std::cout << percent(r.regrets[t - 1], 7);
    std::cout << percent(r.regretAfter, 9) << "\n";
  }
}

}  // namespace

int compareExplorers(const std::vector<std::string>& files, int seeds, double seconds, const std::string& report,
                     bool json) {
  const std::vector<Recorded> all = recordedIn(files);
  std::vector<tune::Comparison> comparisons;
  if (!json)
    std::cout << fmt::format("measurements until within 5 % and 1 % of the best; medians over {} seeds\n", seeds);
  Json rows = Json::array();
  for (const Recorded& one : all) {
    comparisons.push_back(compared(one, all, seeds, seconds));
    rows.push_back(jsonOf(one, comparisons.back()));
    if (json) continue;
    print(comparisons.back());
    if (!one.why.empty()) std::cout << fmt::format("  no model of {}: {}\n", one.problem.label, one.why);
  }
  if (json) printJson(Json{{"schema", 2}, {"seeds", seeds}, {"seconds", seconds}, {"rows", rows}});
  if (!json && !tune::hasTrees()) std::cout << "\nwithout XGBoost: models are linear, and nothing is taught\n";
  if (!report.empty()) writeFile(report, tune::comparisonReport(comparisons, seeds));
  return 0;
}

int judgePredictions(const std::vector<std::string>& files, const std::string& profile, bool json) {
  const runtime::DeviceInfo device = runtime::readProfile(profile);
  std::string notes;
  Json rows = Json::array();
  if (!json)
    std::cout << fmt::format("predicted for {}, beside what was measured\n{:<34} {:>7} {:>17} {:>21} {:>20}\n",
                             device.name, "recorded sweep", "points", "rank correlation", "measured / predicted",
                             "best predicted is at");
  forEachProblem(files, [&](const tune::ProblemRow& problem, const std::vector<tune::Measurement>& measurements) {
    const tune::Recording recording(measurements);
    std::map<tune::Point, double> costs;
    try {
      costs = ofEachPoint<double>(
          problem, recording, [&](const kernel::Plan& plan) { return predict(plan, device).milliseconds; },
          std::numeric_limits<double>::infinity());
    } catch (const UserError& e) {
      if (e.status() == ExitStatus::usage) throw;
      notes += fmt::format("no predictions of {}: {}\n", problem.label, e.diagnostics().front().message);
      return;
    }
    std::vector<double> measured, predicted, ratios;
    for (const auto& [point, cost] : costs)
      if (const auto time = recording.time(point)) {
        measured.push_back(*time);
        predicted.push_back(cost);
        ratios.push_back(*time / cost);
      }
    if (measured.size() < 2) return;
    const double rank = rankCorrelation(measured, predicted), ratio = runtime::median(ratios);
    // How much slower than the fastest is what would have been chosen.
    const auto chosen = std::ranges::min_element(predicted) - predicted.begin();
    const double loss = measured[static_cast<std::size_t>(chosen)] / *std::ranges::min_element(measured);
    rows.push_back({{"problem", problem.key},
                    {"label", problem.label},
                    {"points", measured.size()},
                    {"rank_correlation", rank},
                    {"measured_by_predicted", ratio},
                    {"chosen_by_best", loss}});
    if (!json)
      std::cout << fmt::format("{:<34} {:>7} {:>17.2f} {:>21.2f} {:>14.2f} × best\n", problem.label, measured.size(),
                               rank, ratio, loss);
  });
  if (json) printJson(Json{{"schema", 1}, {"profile", profile}, {"rows", rows}});
  if (!json) std::cout << notes;
  return 0;
}

}  // namespace lift::liftc
