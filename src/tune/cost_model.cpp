#include "cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "random.hpp"

namespace lift::tune {
namespace {

constexpr std::size_t members = 4;
constexpr std::size_t fewestForTrees = 8;
// Trees are trained again once there is this share of new lessons, and on no fewer.
constexpr double freshShare = 1.0 / 16;

// Of a point's time, how much the forecast's instructions tell before anything was measured: an exponent. Less than 1,
// since fewer instructions may well be slower.
constexpr double trust = 0.75;

double logInstructions(const Draft& draft) { return std::log2(std::max(1.0, draft.forecast.instructions)); }

double logarithm(std::int64_t value) { return std::log2(1 + static_cast<double>(std::max<std::int64_t>(value, 0))); }

std::string columnName(const Draft& draft, const std::string& tunable) { return draft.point.family + " " + tunable; }

// The level, the instructions, each tunable's logarithm and its square (the best value may be in the middle), and what
// the forecast says; scaled so that all are about 1.
std::vector<double> ridgeRow(const Draft& draft) {
  constexpr double scale = 0.25, featureScale = 0.1;
  std::vector<double> row{1, scale * logInstructions(draft)};
  for (const auto& [name, value] : draft.point.config) {
    const double log = scale * logarithm(value);
    row.push_back(log);
    row.push_back(log * log);
  }
  for (const float f : draft.forecast.features) row.push_back(featureScale * static_cast<double>(f));
  return row;
}

Ridge ridgeFor(const std::vector<double>& row) {
  std::vector<double> shrinkage(row.size(), 0.3);
  shrinkage[0] = 0.1;  // the family's level
  return Ridge(std::move(shrinkage));
}

}  // namespace

void Columns::add(const Draft& draft) {
  for (const auto& [tunable, value] : draft.point.config)
    tunables_.emplace(columnName(draft, tunable), tunables_.size());
}

Trees::Row Columns::row(const Draft& draft) const {
  const std::size_t features = kernel::featureNames().size();
  Trees::Row row(features + tunables_.size(), std::numeric_limits<float>::quiet_NaN());
  std::copy(draft.forecast.features.begin(), draft.forecast.features.end(), row.begin());
  for (const auto& [tunable, value] : draft.point.config) {
    const auto column = tunables_.find(columnName(draft, tunable));
    if (column != tunables_.end()) row[features + column->second] = static_cast<float>(logarithm(value));
  }
  return row;
}

Ridge::Ridge(std::vector<double> shrinkage) : projected_(shrinkage.size(), 0.0) {
  for (std::size_t i = 0; i < shrinkage.size(); i++) {
    normal_.emplace_back(i + 1, 0.0);
    normal_[i][i] = shrinkage[i];
  }
}

void Ridge::add(const std::vector<double>& row, double target) {
  for (std::size_t i = 0; i < row.size(); i++) {
    projected_[i] += row[i] * target;
    for (std::size_t j = 0; j <= i; j++) normal_[i][j] += row[i] * row[j];
  }
  weights_.reset();
}

// By Cholesky's decomposition of the normal equations.
double Ridge::operator()(const std::vector<double>& row) const {
  if (!weights_) {
    const std::size_t n = projected_.size();
    std::vector<std::vector<double>> a = normal_;
    std::vector<double> w = projected_;
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
    weights_ = std::move(w);
  }
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); i++) sum += row[i] * (*weights_)[i];
  return sum;
}

CostModel::CostModel(std::shared_ptr<const Experience> experience, std::uint64_t seed)
    : experience_(std::move(experience)), seed_(seed), members_(members) {}

std::vector<double> CostModel::bases(const std::vector<const Draft*>& drafts) const {
  if (experience_) return experience_->expected(drafts);
  std::vector<double> bases;
  for (const Draft* d : drafts) bases.push_back(trust * logInstructions(*d));
  return bases;
}

double CostModel::corrected(const Draft& draft, double base) const {
  const auto found = corrections_.find(draft.point.family);
  return base + level_.value_or(0) + (found == corrections_.end() ? 0 : found->second(ridgeRow(draft)));
}

void CostModel::learn(const Draft& draft, double logTime) {
  const double base = bases({&draft}).front();
  if (!level_) level_ = logTime - base;
  const std::vector<double> row = ridgeRow(draft);
  auto found = corrections_.find(draft.point.family);
  if (found == corrections_.end()) found = corrections_.emplace(draft.point.family, ridgeFor(row)).first;
  found->second.add(row, logTime - base - *level_);
  columns_.add(draft);
  lessons_.push_back({draft, logTime, base});
}

void CostModel::train(Member& member, std::size_t index) {
  const std::size_t known = lessons_.size();
  const auto fresh = static_cast<double>(known - member.trainedOn);
  const std::size_t columns = columns_.tunables().size();
  const bool grown =
      member.columns != columns;  // by a family of which nothing was known: trees take rows of one length
  if (known < fewestForTrees || (!grown && fresh < std::max(1.0, freshShare * static_cast<double>(known)))) return;
  member.columns = columns;
  Random random(seed_ + 1009 * known + index);
  std::vector<Trees::Row> rows;
  std::vector<float> targets;
  for (std::size_t i = 0; i < known; i++) {
    const Lesson& lesson = lessons_[random.below(known)];
    rows.push_back(columns_.row(lesson.draft));
    targets.push_back(static_cast<float>(lesson.logTime - corrected(lesson.draft, lesson.base)));
  }
  member.trees = Trees::trained(rows, targets, {.seed = random.bits()});
  member.trainedOn = known;
}

std::vector<double> CostModel::expected(const std::vector<const Draft*>& drafts, std::size_t member) {
  std::vector<double> expected = bases(drafts);
  for (std::size_t i = 0; i < drafts.size(); i++) expected[i] = corrected(*drafts[i], expected[i]);
  if (!Trees::available()) return expected;
  Member& chosen = members_[member % members];
  train(chosen, member % members);
  if (!chosen.trees) return expected;
  std::vector<Trees::Row> rows;
  for (const Draft* d : drafts) rows.push_back(columns_.row(*d));
  const std::vector<float> missed = (*chosen.trees)(rows);
  for (std::size_t i = 0; i < drafts.size(); i++) expected[i] += static_cast<double>(missed[i]);
  return expected;
}

Drafts::Drafts(const std::vector<SearchSpace>& families) {
  for (const SearchSpace& f : families) families_.emplace(f.name, f);
}

const Draft* Drafts::of(const Point& point) {
  const auto [at, isNew] = drafts_.emplace(point, std::nullopt);
  if (isNew) {
    const SearchSpace& f = family(point.family);
    Draft draft{point, f.forecast ? f.forecast(point.config) : kernel::Forecast{1, {}}};
    if (std::isfinite(draft.forecast.instructions)) at->second = std::move(draft);
  }
  return at->second ? &*at->second : nullptr;
}

double Times::of(const Outcome& outcome) {
  constexpr double failed = 2;  // times the slowest: what failed is not to be expected fast
  if (outcome.milliseconds) slowest_ = std::max(slowest_, *outcome.milliseconds);
  const double time = outcome.milliseconds ? *outcome.milliseconds
                      : outcome.atLeast    ? *outcome.atLeast
                                           : failed * slowest_;
  return std::log2(std::max(time, std::numeric_limits<double>::min()));
}

}  // namespace lift::tune
