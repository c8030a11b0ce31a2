// Experience: what measurements of some problems on a device tell of the points of others.
//
//   std::vector<Lesson> lessons = …                           // forecasts and times, of problems
//   const auto experience = Experience::of(lessons);          // null: nothing to learn from, or no XGBoost
//   makeExplorer("model", families, {.experience = experience});
//
// A model of gradient-boosted trees (Chen and Guestrin, KDD 2016) on what forecasts say of kernels and on the values of
// tunables, trained on the logarithms of times, each problem's about its own mean: what it expects says which of a
// problem's points are faster, not how fast they are. It needs XGBoost; `hasTrees` says whether liftc was built with
// it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lift/explorer.hpp"

namespace lift::tune {

bool hasTrees();

// A point and what is known of it before it is built.
struct Draft {
  Point point;
  kernel::Forecast forecast;
};

// What was measured of a problem's point.
struct Lesson {
  std::string problem;  // ProblemRow::key
  Draft draft;
  double milliseconds = 0;
};

// What the database tells of other problems on the device: the times of points whose forecasts it has, also of those
// that were given up on.
std::vector<Lesson> lessonsOf(const Database& database, const std::string& device, const std::string& exceptProblem);

class Experience {
 public:
  virtual ~Experience() = default;
  // The logarithms of the points' times, to the base 2, up to a constant of the problem that they are of.
  virtual std::vector<double> expected(const std::vector<const Draft*>& drafts) const = 0;

  // Null where there are too few lessons (`fewestLessons`) or liftc was built without XGBoost. Equal lessons in the
  // same order give equal experience.
  static constexpr std::size_t fewestLessons = 32;
  static std::shared_ptr<const Experience> of(const std::vector<Lesson>& lessons);
  // As `of`, from a file that an earlier call left where it was of the same lessons; else it is trained and the file
  // written. The file may be missing or damaged; where it cannot be written, nothing is kept.
  static std::shared_ptr<const Experience> kept(const std::vector<Lesson>& lessons, const std::filesystem::path& file);
};

}  // namespace lift::tune
