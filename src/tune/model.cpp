// The explorer "model": compiling a point takes milliseconds, building and running it seconds, so that many are
// compiled for each that is measured (ANCHORS: analytic drafts, as of Pruner, ASPLOS 2025, and cost models that learn
// from what is measured, as of Ansor, OSDI 2020).
//
// Expected is the logarithm of a point's time: that of its estimate, and a correction for each family, a ridge
// regression on the estimate and the values of the tunables, which begins at none.
#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "draws.hpp"
#include "random.hpp"

namespace lift::tune {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}

// The weights w that minimise |X w - y|² + |D w|², D the diagonal of the square roots of `shrinkage`: by Cholesky's
// decomposition of the normal equations.
Vector ridge(const std::vector<Vector>& rows, const Vector& targets, const Vector& shrinkage) {
  const std::size_t n = shrinkage.size();
  std::vector<Vector> a(n, Vector(n, 0.0));
  Vector w(n, 0.0);
  for (std::size_t i = 0; i < n; i++) a[i][i] = shrinkage[i];
  for (std::size_t r = 0; r < rows.size(); r++)
    for (std::size_t i = 0; i < n; i++) {
      w[i] += rows[r][i] * targets[r];
      for (std::size_t j = 0; j <= i; j++) a[i][j] += rows[r][i] * rows[r][j];
    }
  for (std::size_t i = 0; i < n; i++)
    for (std::size_t j = 0; j <= i; j++) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; k++) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  for (std::size_t i = 0; i < n; i++) {
    for (std::size_t k = 0; k < i; k++) w[i] -= a[i][k] * w[k];
    w[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; k++) w[i] -= a[k][i] * w[k];
    w[i] /= a[i][i];
  }
  return w;
}

// What a family's points cost beyond their estimates, learnt from those that were measured.
class Correction {
 public:
  void learn(const Config& config, double logEstimate, double residual) {
    rows_.push_back(features(config, logEstimate));
    targets_.push_back(residual);
    Vector shrinkage(rows_.back().size(), 1.0);
    shrinkage[0] = 0.1;  // the family's level
    weights_ = ridge(rows_, targets_, shrinkage);
  }

  double of(const Config& config, double logEstimate) const {
    return weights_.empty() ? 0 : dot(weights_, features(config, logEstimate));
  }

 private:
  // The level, the estimate, each tunable's logarithm and its square: the best value may be in the middle.
  static Vector features(const Config& config, double logEstimate) {
    constexpr double scale = 0.25;  // of logarithms to the base 2, so that all are about 1
    Vector x{1, scale * logEstimate};
    for (const auto& [name, value] : config) {
      const double log = scale * std::log2(1 + static_cast<double>(std::max<std::int64_t>(value, 0)));
      x.push_back(log);
      x.push_back(log * log);
    }
    return x;
  }

  std::vector<Vector> rows_;
  Vector targets_, weights_;
};

class ModelGuided : public Explorer {
 public:
  ModelGuided(const std::vector<SearchSpace>& families, const ExplorerOptions& options)
      : draws_(families, options.seed), random_(options.seed) {
    for (const SearchSpace& f : families) {
      families_.emplace(f.name, f);
      for (const Config& config : f.start) start_.push_back({f.name, config});
    }
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
      for (const Config& config : families_.at(best_->family).neighbours(best_->config)) add({best_->family, config});
    for (std::size_t i = 0; i < drafts * (most - batch.size()); i++) {
      auto point = draws_.next();
      if (!point) break;
      add(*point);
    }
    while (batch.size() < most && !pool_.empty()) take(random_.unit() < surprises ? any() : expectedBest());
    return batch;
  }

  void tell(const std::vector<Outcome>& outcomes) override {
    for (const Outcome& o : outcomes) {
      const double estimate = seen_.at(o.point);
      if (o.milliseconds && *o.milliseconds < bestTime_) {
        bestTime_ = *o.milliseconds;
        best_ = o.point;
      }
      if (o.milliseconds) slowest_ = std::max(slowest_, *o.milliseconds);
      // What failed is not to be expected fast.
      const double time = std::log2(o.milliseconds.value_or(failed * slowest_));
      if (!scale_) scale_ = time - estimate;
      corrections_[o.point.family].learn(o.point.config, estimate, time - estimate - *scale_);
    }
  }

 private:
  static constexpr std::size_t drafts = 12;  // points that are drawn for each that is measured
  static constexpr double surprises = 0.1;   // share of points that are measured whatever is expected of them
  static constexpr double failed = 2;        // times the slowest, for points that have no time

  // Into the pool, where the point is new and compiles.
  bool add(const Point& point) {
    const auto [at, isNew] = seen_.emplace(point, 0);
    if (!isNew) return false;
    const SearchSpace& family = families_.at(point.family);
    if (family.estimate) at->second = std::log2(std::max(family.estimate(point.config), 1.0));
    if (!std::isfinite(at->second)) return false;
    pool_.insert(point);
    return true;
  }

  double expected(const Point& point) const {
    const double estimate = seen_.at(point);
    const auto found = corrections_.find(point.family);
    return estimate + (found == corrections_.end() ? 0 : found->second.of(point.config, estimate));
  }

  Point expectedBest() const {
    return *std::min_element(pool_.begin(), pool_.end(),
                             [&](const Point& a, const Point& b) { return expected(a) < expected(b); });
  }

  Point any() { return *std::next(pool_.begin(), static_cast<std::ptrdiff_t>(random_.below(pool_.size()))); }

  std::map<std::string, SearchSpace> families_;
  std::vector<Point> start_;
  Draws draws_;
  Random random_;
  std::map<Point, double> seen_;  // the logarithms of their estimates
  std::set<Point> pool_;          // seen, and not asked for yet
  std::map<std::string, Correction> corrections_;
  std::optional<Point> best_;
  double bestTime_ = std::numeric_limits<double>::infinity(), slowest_ = 1;
  std::optional<double> scale_;  // from instructions to milliseconds, in logarithms
};

}  // namespace

std::unique_ptr<Explorer> makeModelGuided(const std::vector<SearchSpace>& families, const ExplorerOptions& options) {
  return std::make_unique<ModelGuided>(families, options);
}

}  // namespace lift::tune
