// The explorer "walk": random walks side by side (Zhang et al., "I/O Lower Bounds for Auto-tuning of Convolutions in
// CNNs", PPoPP 2021, section 6.2). Each goes from a point to a neighbour that the model expects to be faster, or,
// seldom, a little slower; where the walks end is measured, and they go on from there with a model that has learnt of
// it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "cost_model.hpp"
#include "draws.hpp"
#include "explorers.hpp"
#include "random.hpp"

namespace lift::tune {
namespace {

class Walks : public Explorer {
 public:
  Walks(const std::vector<SearchSpace>& families, const ExplorerOptions& options)
      : drafts_(families),
        draws_(families, options.seed),
        random_(options.seed),
        model_(options.experience, options.seed),
        wanted_(std::max(guessesAtOnce, guessesByFamily * families.size())) {}

  // The first guesses are random points, which are measured as they are; then each walk gives a point.
  std::vector<Point> next(std::size_t most) override {
    std::vector<Point> batch;
    while (batch.size() < most) {
      const bool starting = guesses_.size() < wanted_;
      auto point = starting || random_.unit() < jump ? drawn() : walked(turn_++ % guesses_.size());
      if (!point) point = drawn();  // all that the walk came by is known
      if (!point) break;
      if (starting) guesses_.push_back(*point);
      batch.push_back(std::move(*point));
    }
    return batch;
  }

  void tell(const std::vector<Outcome>& outcomes) override {
    for (const Outcome& o : outcomes) {
      model_.learn(*drafts_.of(o.point), times_.of(o));
      if (o.milliseconds) known_.insert({*o.milliseconds, o.point});
    }
    // The walks go on from the best points that are known.
    std::size_t at = 0;
    for (auto it = known_.begin(); it != known_.end() && at < guesses_.size(); ++it) guesses_[at++] = it->second;
  }

 private:
  static constexpr std::size_t guessesAtOnce = 8, guessesByFamily = 4;
  static constexpr int steps = 12;
  static constexpr double temperature = 0.1;  // of logarithms to the base 2: what a step may lose
  static constexpr double jump = 0.05;        // chance of a random point

  std::optional<Point> drawn() {
    while (auto point = draws_.next())
      if (!asked_.count(*point) && drafts_.of(*point)) {
        asked_.insert(*point);
        return point;
      }
    return std::nullopt;
  }

  // The point that is expected to be the fastest of those on a walk that were not asked for.
  std::optional<Point> walked(std::size_t guess) {
    const std::size_t member = turn_;
    Point at = guesses_[guess];
    double here = expected(at, member);
    std::optional<Point> best;
    double bestExpected = std::numeric_limits<double>::infinity();
    for (int step = 0; step < steps; step++) {
      const std::vector<Config> neighbours = drafts_.family(at.family).neighbours(at.config);
      if (neighbours.empty()) break;
      Point to{at.family, neighbours[random_.below(neighbours.size())]};
      if (!drafts_.of(to)) continue;
      const double there = expected(to, member);
      if (!asked_.count(to) && there < bestExpected) {
        best = to;
        bestExpected = there;
      }
      if (there > here && random_.unit() >= std::exp2((here - there) / temperature)) continue;
      at = std::move(to);
      here = there;
    }
    if (best) asked_.insert(*best);
    return best;
  }

  double expected(const Point& point, std::size_t member) {
    return model_.expected({drafts_.of(point)}, member).front();
  }

  Drafts drafts_;
  Draws draws_;
  Random random_;
  CostModel model_;
  Times times_;
  std::size_t wanted_;  // guesses
  std::size_t turn_ = 0;
  std::vector<Point> guesses_;  // where walks begin
  std::set<Point> asked_;
  std::set<std::pair<double, Point>> known_;  // by time
};

}  // namespace

std::unique_ptr<Explorer> makeWalks(const std::vector<SearchSpace>& families, const ExplorerOptions& options) {
  return std::make_unique<Walks>(families, options);
}

}  // namespace lift::tune
