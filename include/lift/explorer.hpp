// Explorers: which points of a search to measure next.
//
//   auto explorer = makeExplorer("annealing", families, {.seed = 1, .points = 300});
//   for (auto batch = explorer->next(8); !batch.empty(); batch = explorer->next(8)) {
//     …  measure the batch …
//     explorer->tell(outcomes);
//   }
//
// A search goes over one or more families of programs at once, each with tunables of its own. An explorer never asks
// for a point twice. What it asks for depends on the seed, the sizes of the batches and what it was told, and on
// nothing else: told the same, it asks for the same again, which is how a killed sweep goes on.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/kernel_passes.hpp"
#include "lift/tune_db.hpp"

namespace lift::tune {

struct Point {
  std::string family;
  Config config;
  auto operator<=>(const Point&) const = default;
};

// A family's configurations, as an explorer sees them.
struct SearchSpace {
  std::string name;  // the family's
  // A stream of distinct points in random order, determined by the seed; nothing at its end.
  std::function<std::function<std::optional<Config>()>(std::uint64_t seed)> draw;
  // All points, in a fixed order, until the visitor returns false.
  std::function<void(const std::function<bool(const Config&)>& visit)> forEach;
  // The points next to one, in a fixed order; all valid.
  std::function<std::vector<Config>(const Config&)> neighbours;
  // What a point's kernels promise before anything of them is built; its instructions are comparable between the
  // spaces of one search, and infinite for a point that does not compile. Empty: nothing is known.
  std::function<kernel::Forecast(const Config&)> forecast = {};
  // Valid points that are known to be good: every search asks for them first, for those of the first family before all.
  std::vector<Config> start = {};
};

// The search space of these points. Neighbours differ in one tunable, which has the next smaller or larger value that
// occurs with the others' values; or in two, of which one has the next value of all that occur and the other the
// nearest that goes with it.
SearchSpace searchSpaceOfPoints(const std::string& name, const std::vector<Config>& points);

// A point's time; nothing for a point that has none (it failed, or was given up on).
struct Outcome {
  Point point;
  std::optional<double> milliseconds;
  std::optional<double> atLeast = {};  // of a point that was given up on: it takes longer than this
};

class Explorer {
 public:
  virtual ~Explorer() = default;
  // Up to `most` points that were not asked for before; none at the end of the search.
  virtual std::vector<Point> next(std::size_t most) = 0;
  // The outcomes of the last batch, in its order.
  virtual void tell(const std::vector<Outcome>& outcomes) = 0;
};

class Experience;  // lift/experience.hpp

struct ExplorerOptions {
  std::uint64_t seed = 1;
  std::int64_t points = 1000;  // how many will be asked for at most: what annealing cools by
  // What other problems have taught, for the explorers that go by a model; none: only what this search measures.
  std::shared_ptr<const Experience> experience = {};
};

// "random": the paper's search, points of the families in turn. "exhaustive": all points, in order,
// after those to begin with. "annealing": moves to neighbouring points that are better, or, the less likely the later
// in the search, a little worse. "model": of many points and the neighbours of the best, those that a model expects to
// be fastest, which learns from forecasts and from what was measured. "walk": random walks side by side to points that
// the same model expects to be faster (Zhang et al., PPoPP 2021, section 6). "q": steps from fast points in the
// direction that a network values most (FlexTensor, ASPLOS 2020, section 5). Throws UserError (usage) for another name.
std::unique_ptr<Explorer> makeExplorer(std::string_view name, const std::vector<SearchSpace>& families,
                                       const ExplorerOptions& options);
std::vector<std::string> explorerNames();

// ------------------------------------------------------------------------------------------------ record and replay

// A sweep that was recorded is a measuring device for explorers: it answers at once, and always the same.
class Recording {
 public:
  // Of measurements of one problem on one device; a point that was measured again has its later time.
  explicit Recording(const std::vector<Measurement>& measurements);

  // `forecast`: of points of all families, as SearchSpace has it; where it is empty, models know only tunables.
  using Forecasts = std::function<kernel::Forecast(const Point&)>;
  std::vector<SearchSpace> families(const Forecasts& forecast = {}) const;
  std::optional<double> time(const Point& point) const;
  // What measuring it took: building and the first run, divided by `builders` at a time, and the runs that were timed.
  double seconds(const Point& point) const;
  double best() const;  // infinite when no point has a time
  std::size_t points() const { return points_.size(); }

 private:
  static constexpr double builders = 2;
  struct Recorded {
    std::optional<double> time;
    double seconds = 0;
  };
  const Recorded& at(const Point& point) const;

  std::map<Point, Recorded> points_;
};

// A search after one of its measurements.
struct Standing {
  double best = 0;     // milliseconds; infinite before the first point that has a time
  double seconds = 0;  // that all measurements so far took
};
// After each measurement of a search; up to `most`, or until the recording's best is found. Batches of one: what counts
// is each decision.
std::vector<Standing> replay(Explorer& explorer, const Recording& recording, std::size_t most);

// Searches with seeds 1 … n, of which medians tell.
class Searches {
 public:
  Searches(std::string_view explorer, const Recording& recording, int seeds, const Recording::Forecasts& forecast = {},
           std::shared_ptr<const Experience> experience = {});

  // Measurements until a point is within `margin` of the recording's best; a search that does not get there counts as
  // all points.
  double measurementsTo(double margin) const;
  // How much slower than the recording's best the best of the first `trials` measurements is: 0.1 for 10 %. Infinite
  // where none of them has a time.
  double regretAt(std::size_t trials) const;
  // The same for the measurements that end within so many seconds, as long as those of the recording took.
  double regretAfter(double seconds) const;

 private:
  double regretOf(const std::vector<Standing>& curve, std::size_t measurements) const;

  std::vector<std::vector<Standing>> curves_;  // of each search
  double best_;
  std::size_t points_;
};

}  // namespace lift::tune
