// The explorer "model": compiling a point takes milliseconds, building and running it seconds, so that several are
// compiled for each that is measured (ANCHORS: analytic drafts, as of Pruner, ASPLOS 2025, and cost models that learn
// from what is measured, as of Ansor, OSDI 2020).
#include <algorithm>
#include <limits>
#include <set>

#include "cost_model.hpp"
#include "draws.hpp"
#include "explorers.hpp"
#include "random.hpp"

namespace lift::tune {
namespace {

class ModelGuided : public Explorer {
 public:
  ModelGuided(const std::vector<SearchSpace>& families, const ExplorerOptions& options)
      : drafts_(families),
        draws_(families, options.seed),
        random_(options.seed),
        model_(options.experience, options.seed) {
    for (const SearchSpace& f : families)
      for (const Config& config : f.start) start_.push_back({f.name, config});
  }

  std::vector<Point> next(std::size_t most) override {
    std::vector<Point> batch;
    const auto take = [&](const Point& point) {
      pool_.erase(point);
      batch.push_back(point);
    };
    for (; !start_.empty() && batch.size() < most; start_.erase(start_.begin()))
      if (add(start_.front())) take(start_.front());
    if (batch.size() == most) return batch;

    if (best_)
      for (const Config& config : drafts_.family(best_->family).neighbours(best_->config)) add({best_->family, config});
    const std::size_t wanted = most - batch.size();
    for (std::size_t i = 0; i < drawn * wanted || pool_.size() < wanted; i++) {
      auto point = draws_.next();
      if (!point) break;
      add(*point);
    }
    while (batch.size() < most && !pool_.empty()) take(random_.unit() < surprises ? any() : expectedBest());
    return batch;
  }

  void tell(const std::vector<Outcome>& outcomes) override {
    for (const Outcome& o : outcomes) {
      if (o.milliseconds && *o.milliseconds < bestTime_) {
        bestTime_ = *o.milliseconds;
        best_ = o.point;
      }
      model_.learn(*drafts_.of(o.point), times_.of(o));
    }
  }

 private:
  static constexpr std::size_t drawn = 8;   // points that are drawn for each that is measured
  static constexpr double surprises = 0.1;  // share of points that are measured whatever is expected of them

  // Into the pool, where the point is new and compiles.
  bool add(const Point& point) { return !drafts_.knows(point) && drafts_.of(point) && pool_.insert(point).second; }

  // Another member of the model each time: points of a batch would else be much alike.
  Point expectedBest() {
    std::vector<const Draft*> drafts;
    for (const Point& point : pool_) drafts.push_back(drafts_.of(point));
    const std::vector<double> expected = model_.expected(drafts, turn_++);
    const auto best = std::ranges::min_element(expected) - expected.begin();
    return drafts[static_cast<std::size_t>(best)]->point;
  }

  Point any() { return *std::next(pool_.begin(), static_cast<std::ptrdiff_t>(random_.below(pool_.size()))); }

  Drafts drafts_;
  std::vector<Point> start_;
  Draws draws_;
  Random random_;
  CostModel model_;
  Times times_;
  std::set<Point> pool_;  // drafted, and not asked for yet
  std::size_t turn_ = 0;
  std::optional<Point> best_;
  double bestTime_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::unique_ptr<Explorer> makeModelGuided(const std::vector<SearchSpace>& families, const ExplorerOptions& options) {
  return std::make_unique<ModelGuided>(families, options);
}

}  // namespace lift::tune
