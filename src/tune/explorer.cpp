#include "lift/explorer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "draws.hpp"
#include "explorers.hpp"
#include "lift/diagnostic.hpp"
#include "random.hpp"

namespace lift::tune {
namespace {

class RandomSearch : public Explorer {
 public:
  RandomSearch(const std::vector<SearchSpace>& families, const ExplorerOptions& options)
      : draws_(families, options.seed) {}

  std::vector<Point> next(std::size_t most) override {
    return collected(most, [this] { return draws_.next(); });
  }

  void tell(const std::vector<Outcome>& /*outcomes*/) override {}

 private:
  Draws draws_;
};

class ExhaustiveSearch : public Explorer {
 public:
  ExhaustiveSearch(const std::vector<SearchSpace>& families, const ExplorerOptions& options) {
    const auto wanted = static_cast<std::size_t>(options.points);
    const auto add = [&](const std::string& family, const Config& config) {
      if (points_.size() < wanted) points_.push_back({family, config});
      return points_.size() < wanted;
    };
    for (const SearchSpace& f : families)
      for (const Config& config : f.start) add(f.name, config);
    for (const SearchSpace& f : families)
      f.forEach([&](const Config& config) {
        const bool isStart = std::ranges::find(f.start, config) != f.start.end();
        return isStart || add(f.name, config);
      });
  }

  std::vector<Point> next(std::size_t most) override {
    const std::size_t end = std::min(at_ + most, points_.size());
    const auto begin = points_.begin();
    const std::vector<Point> batch(begin + static_cast<std::ptrdiff_t>(at_), begin + static_cast<std::ptrdiff_t>(end));
    at_ = end;
    return batch;
  }

  void tell(const std::vector<Outcome>& /*outcomes*/) override {}

 private:
  std::vector<Point> points_;
  std::size_t at_ = 0;
};

// Simulated annealing (Kirkpatrick et al. 1983) over the logarithm of time, so that "a little worse" is a ratio and the
// temperatures need not be fitted to the problem. It differs from the textbook where measurements are dear and the same
// each time: it begins with a few random points and goes on from the best; it never measures a point twice, and goes
// back to the best point that still has unknown neighbours when the current one has none; and now and then it draws a
// random point, since what lies between two families, or two regions, may be a wall.
class Annealing : public Explorer {
 public:
  Annealing(const std::vector<SearchSpace>& families, const ExplorerOptions& options)
      : families_(families), draws_(families, options.seed), random_(options.seed), points_(options.points) {
    const auto share = static_cast<std::int64_t>(std::ceil(startShare * static_cast<double>(points_)));
    start_ = std::clamp<std::int64_t>(share, 2, mostStart) * static_cast<std::int64_t>(families.size());
  }

  std::vector<Point> next(std::size_t most) override {
    return collected(most, [this] { return choose(); });
  }

  void tell(const std::vector<Outcome>& outcomes) override {
    for (const Outcome& o : outcomes) {
      told_++;
      if (!o.milliseconds) continue;
      const State state{std::log(*o.milliseconds), o.point};
      known_.insert(state);
      if (!current_ || accepts(state)) current_ = state;
      if (told_ <= start_) current_ = *known_.begin();
    }
  }

 private:
  struct State {
    double energy = 0;
    Point point;
    auto operator<=>(const State&) const = default;
  };

  static constexpr double startShare = 0.01;       // of the points: drawn at random, for each family
  static constexpr std::int64_t mostStart = 10;    // …but no more than these
  static constexpr double hot = 0.1, cold = 0.01;  // temperatures: 10 % and 1 % slower are taken one time in e
  static constexpr double jump = 0.1;              // chance of a random point

  bool accepts(const State& state) {
    const double worse = state.energy - current_->energy;
    const double chance = random_.unit();
    return worse <= 0 || chance < std::exp(-worse / temperature());
  }

  double temperature() const {
    const double progress =
        std::min(1.0, static_cast<double>(told_) / static_cast<double>(std::max<std::int64_t>(points_, 1)));
    return hot * std::pow(cold / hot, progress);
  }

  std::optional<Point> choose() {
    const bool starting = static_cast<std::int64_t>(asked_.size()) < start_;
    if (starting || !current_ || random_.unit() < jump)
      if (auto point = draws_.fresh(asked_)) return point;
    if (current_)
      if (auto point = unknownNeighbour(current_->point)) return point;
    return elsewhere();
  }

  std::optional<Point> unknownNeighbour(const Point& point) {
    const auto family = std::ranges::find_if(families_, [&](const SearchSpace& f) { return f.name == point.family; });
    std::vector<Config> unknown;
    for (Config& config : family->neighbours(point.config))
      if (!asked_.count({point.family, config})) unknown.push_back(std::move(config));
    if (unknown.empty()) return std::nullopt;
    Point chosen{point.family, unknown[random_.below(unknown.size())]};
    asked_.insert(chosen);
    return chosen;
  }

  std::optional<Point> elsewhere() {
    for (const State& state : known_) {
      if (exhausted_.count(state.point)) continue;
      if (auto point = unknownNeighbour(state.point)) {
        current_ = state;
        return point;
      }
      exhausted_.insert(state.point);
    }
    return draws_.fresh(asked_);
  }

  std::vector<SearchSpace> families_;
  Draws draws_;
  Random random_;
  std::int64_t points_, start_ = 0, told_ = 0;
  std::set<Point> asked_, exhausted_;
  std::set<State> known_;  // by energy
  std::optional<State> current_;
};

struct Row {
  std::string_view name;
  std::unique_ptr<Explorer> (*make)(const std::vector<SearchSpace>&, const ExplorerOptions&);
};

template <class T>
std::unique_ptr<Explorer> make(const std::vector<SearchSpace>& families, const ExplorerOptions& options) {
  return std::make_unique<T>(families, options);
}

constexpr std::array<Row, 6> explorers = {{{"random", &make<RandomSearch>},
                                           {"exhaustive", &make<ExhaustiveSearch>},
                                           {"annealing", &make<Annealing>},
                                           {"model", &makeModelGuided},
                                           {"walk", &makeWalks},
                                           {"q", &makeQ}}};

}  // namespace

std::vector<std::string> explorerNames() {
  std::vector<std::string> names;
  for (const Row& row : explorers) names.emplace_back(row.name);
  return names;
}

std::unique_ptr<Explorer> makeExplorer(std::string_view name, const std::vector<SearchSpace>& families,
                                       const ExplorerOptions& options) {
  for (const Row& row : explorers)
    if (row.name == name) return row.make(families, options);
  throw UserError(ExitStatus::usage, fmt::format("unknown explorer '{}'", name),
                  fmt::format("explorers are {}", fmt::join(explorerNames(), ", ")));
}

}  // namespace lift::tune
