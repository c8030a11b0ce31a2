// The explorer "q": FlexTensor's search (Zheng et al., ASPLOS 2020, section 5.1). A state is a point, an action the
// direction to a neighbour, its reward how much faster that is, (E' - E) / E with E = 1 / time. Where to start is drawn
// among the points that were measured, the faster the likelier, as in simulated annealing; which direction to take says
// a network of four fully connected layers, trained on what was measured (deep Q-learning: Mnih et al. 2015).
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "draws.hpp"
#include "explorers.hpp"
#include "network.hpp"
#include "random.hpp"

namespace lift::tune {
namespace {

using State = std::vector<double>;

// Which tunables a step raises or lowers, as a number: one tunable, or two of which constraints tie one to the other.
class Directions {
 public:
  explicit Directions(const Config& any) : tunables_(any.size()) {}

  std::size_t count() const { return 2 * tunables_ * tunables_ + 2 * tunables_; }

  // Of more changes than two, which no neighbour has, the first two.
  std::size_t of(const Config& from, const Config& to) const {
    std::vector<std::size_t> changes;  // 2 × position, + 1 where it is raised
    std::size_t position = 0;
    for (const auto& [name, value] : from) {
      const std::int64_t other = to.at(name);
      if (other != value && changes.size() < 2) changes.push_back(2 * position + (other > value ? 1 : 0));
      position++;
    }
    if (changes.empty()) return 0;
    if (changes.size() == 1) return changes[0];
    const std::size_t signs = 2 * (changes[0] % 2) + changes[1] % 2;
    const std::size_t low = changes[0] / 2, high = changes[1] / 2;
    return 2 * tunables_ + 4 * (high * (high - 1) / 2 + low) + signs;
  }

 private:
  std::size_t tunables_;
};

State stateOf(const Config& config) {
  constexpr double scale = 0.25;  // of logarithms to the base 2, so that all are about 1
  State state;
  for (const auto& [name, value] : config)
    state.push_back(scale * std::log2(1 + static_cast<double>(std::max<std::int64_t>(value, 0))));
  return state;
}

// One family's values of directions, learnt from steps. A family has tunables of its own, and so a network of its own.
class Values {
 public:
  Values(const Config& any, Random& random)
      : directions_(any),
        network_({any.size(), hidden, hidden, hidden, directions_.count()}, random),
        target_(network_) {}

  const Directions& directions() const { return directions_; }
  std::vector<double> operator()(const Config& from) const { return network_(stateOf(from)); }

  // A step that was made; `onwards` are the directions that lead on from where it ended.
  void remember(const Config& from, const Config& to, double reward, std::vector<std::size_t> onwards) {
    steps_.push_back({stateOf(from), directions_.of(from, to), reward, stateOf(to), std::move(onwards)});
    if (steps_.size() > mostSteps) steps_.pop_front();
  }

  // The target network, a copy of before, says what the next steps are worth: else the network would chase itself.
  void train(Random& random) {
    if (steps_.empty()) return;
    for (int round = 0; round < rounds; round++) {
      std::vector<Network::Sample> batch;
      for (std::size_t i = 0; i < batchSize; i++) {
        const Step& step = steps_[random.below(steps_.size())];
        batch.push_back({step.from, step.direction, step.reward + discount * worth(step)});
      }
      network_.train(batch);
    }
    target_ = network_;
  }

 private:
  struct Step {
    State from;
    std::size_t direction = 0;
    double reward = 0;
    State to;
    std::vector<std::size_t> onwards;
  };

  static constexpr std::size_t hidden = 32, mostSteps = 2000, batchSize = 16;
  static constexpr int rounds = 4;
  static constexpr double discount = 0.5;  // the paper's alpha, whose value it does not give

  double worth(const Step& step) const {
    if (step.onwards.empty()) return 0;
    const std::vector<double> values = target_(step.to);
    double best = -std::numeric_limits<double>::infinity();
    for (const std::size_t d : step.onwards) best = std::max(best, values[d]);
    return best;
  }

  Directions directions_;
  Network network_, target_;
  std::deque<Step> steps_;
};

class QSearch : public Explorer {
 public:
  QSearch(const std::vector<SearchSpace>& families, const ExplorerOptions& options)
      : draws_(families, options.seed), random_(options.seed) {
    for (const SearchSpace& f : families) {
      families_.emplace(f.name, f);
      starts_ += std::max(fewestStarts, f.start.size());
    }
  }

  std::vector<Point> next(std::size_t most) override {
    return collected(most, [this] { return choose(); });
  }

  void tell(const std::vector<Outcome>& outcomes) override {
    for (const Outcome& o : outcomes) {
      const double speed = o.milliseconds ? 1 / *o.milliseconds : 0;
      learn(o.point, speed);
      if (speed > 0) known_.push_back({o.point, speed});
      best_ = std::max(best_, speed);
      if (++told_ % trainEvery == 0)
        for (auto& [family, values] : values_) values.train(random_);
    }
  }

 private:
  struct Known {
    Point point;
    double speed = 0;
  };

  static constexpr std::size_t fewestStarts = 4;  // random points, of each family
  static constexpr double gamma = 8;  // how much likelier fast points are to be started from; the paper gives no value
  static constexpr double epsilon = 0.1;  // chance of a direction whatever its value
  static constexpr double jump = 0.05;    // chance of a random point: neighbours may not connect the space
  static constexpr double mostReward = 4;
  static constexpr std::int64_t trainEvery = 5;  // trials, as the paper does

  void learn(const Point& point, double speed) {
    const auto origin = origins_.find(point);
    if (origin == origins_.end()) return;
    const Known& from = origin->second;
    const double reward = std::min(mostReward, speed / from.speed - 1);
    Values& values = valuesOf(point);
    std::vector<std::size_t> onwards;
    for (const Config& config : families_.at(point.family).neighbours(point.config))
      onwards.push_back(values.directions().of(point.config, config));
    values.remember(from.point.config, point.config, reward, std::move(onwards));
    origins_.erase(origin);
  }

  Values& valuesOf(const Point& point) {
    const auto found = values_.find(point.family);
    return found != values_.end() ? found->second
                                  : values_.emplace(point.family, Values(point.config, random_)).first->second;
  }

  std::optional<Point> choose() {
    const bool starting = asked_.size() < starts_;
    if (starting || known_.empty() || random_.unit() < jump)
      if (auto point = draws_.fresh(asked_)) return point;
    while (!known_.empty()) {
      const std::size_t at = start();
      if (auto point = step(known_[at])) return point;
      known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(at));  // all around it is known
    }
    return draws_.fresh(asked_);
  }

  std::size_t start() {
    std::vector<double> upTo;
    double sum = 0;
    for (const Known& k : known_) upTo.push_back(sum += std::exp(-gamma * (best_ - k.speed) / best_));
    const double drawn = random_.unit() * sum;
    const auto at = std::ranges::upper_bound(upTo, drawn) - upTo.begin();
    return std::min(static_cast<std::size_t>(at), known_.size() - 1);
  }

  // The neighbour in the direction that is worth most, of those that were not asked for yet.
  std::optional<Point> step(const Known& from) {
    std::vector<Config> unknown;
    for (Config& config : families_.at(from.point.family).neighbours(from.point.config))
      if (!asked_.count({from.point.family, config})) unknown.push_back(std::move(config));
    if (unknown.empty()) return std::nullopt;
    std::size_t chosen = random_.below(unknown.size());
    if (random_.unit() >= epsilon) {
      const Values& values = valuesOf(from.point);
      const std::vector<double> worth = values(from.point.config);
      const auto of = [&](const Config& to) { return worth[values.directions().of(from.point.config, to)]; };
      chosen = static_cast<std::size_t>(
          std::ranges::max_element(unknown, [&](const Config& a, const Config& b) { return of(a) < of(b); }) -
          unknown.begin());
    }
    Point point{from.point.family, std::move(unknown[chosen])};
    asked_.insert(point);
    origins_.emplace(point, from);
    return point;
  }

  std::map<std::string, SearchSpace> families_;
  Draws draws_;
  Random random_;
  std::size_t starts_ = 0;
  std::int64_t told_ = 0;
  double best_ = 0;
  std::set<Point> asked_;
  std::vector<Known> known_;        // that have neighbours which were not asked for, as far as is known
  std::map<Point, Known> origins_;  // of points that were asked for and not told of yet: where the step began
  std::map<std::string, Values> values_;
};

}  // namespace

std::unique_ptr<Explorer> makeQ(const std::vector<SearchSpace>& families, const ExplorerOptions& options) {
  return std::make_unique<QSearch>(families, options);
}

}  // namespace lift::tune
