// What a search expects of points that it has not measured: the model of the explorers "model" and "walk".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lift/experience.hpp"
#include "trees.hpp"

namespace lift::tune {

// Drafts as rows of equal length: what forecasts say, then the logarithms of tunables, each family's in columns of its
// own. What a draft does not have is NaN.
class Columns {
 public:
  void add(const Draft& draft);  // its tunables get columns
  Trees::Row row(const Draft& draft) const;

  const std::map<std::string, std::size_t>& tunables() const { return tunables_; }  // "family tunable": its place
  void setTunables(std::map<std::string, std::size_t> tunables) { tunables_ = std::move(tunables); }

 private:
  std::map<std::string, std::size_t> tunables_;
};

// Weights w that minimise |X w - y|² + |D w|², D² the diagonal `shrinkage`, over rows that come one by one.
class Ridge {
 public:
  explicit Ridge(std::vector<double> shrinkage);
  void add(const std::vector<double>& row, double target);
  double operator()(const std::vector<double>& row) const;

 private:
  std::vector<std::vector<double>> normal_;  // lower triangle of X'X + D²
  std::vector<double> projected_;            // X'y
  mutable std::optional<std::vector<double>> weights_;
};

// Logarithms of times, to the base 2. A forecast's instructions come first, or what experience makes of it; what they
// miss is learnt for each family by a ridge regression, and what that misses by gradient-boosted trees over all
// families. Trees are trained on resamples of what was measured, several times: `member` says which to ask. Members
// differ where little is known, so that a search that asks another one each time explores (bootstrapped Thompson
// sampling: Eckles and Kaptein 2014).
class CostModel {
 public:
  CostModel(std::shared_ptr<const Experience> experience, std::uint64_t seed);

  void learn(const Draft& draft, double logTime);
  // Comparable with each other, up to a constant, even before anything was learnt.
  std::vector<double> expected(const std::vector<const Draft*>& drafts, std::size_t member);

 private:
  struct Lesson {
    Draft draft;
    double logTime = 0;
    double base = 0;  // what forecast or experience says
  };
  struct Member {
    std::optional<Trees> trees;
    std::size_t trainedOn = 0;  // lessons
    std::size_t columns = 0;    // of tunables, then
  };

  std::vector<double> bases(const std::vector<const Draft*>& drafts) const;
  double corrected(const Draft& draft, double base) const;
  void train(Member& member, std::size_t index);

  std::shared_ptr<const Experience> experience_;
  std::uint64_t seed_;
  Columns columns_;
  std::vector<Lesson> lessons_;
  std::map<std::string, Ridge> corrections_;  // by family
  std::vector<Member> members_;
  std::optional<double> level_;  // from bases to times
};

// What is known of points before they are built, and which of them exist: forecasts, asked for once.
class Drafts {
 public:
  explicit Drafts(const std::vector<SearchSpace>& families);
  // Null where the point does not compile.
  const Draft* of(const Point& point);
  bool knows(const Point& point) const { return drafts_.count(point) > 0; }
  const SearchSpace& family(const std::string& name) const { return families_.at(name); }

 private:
  std::map<std::string, SearchSpace> families_;
  std::map<Point, std::optional<Draft>> drafts_;
};

// The logarithm of the time that a model should learn of an outcome; of what has no time, something slow.
class Times {
 public:
  double of(const Outcome& outcome);

 private:
  double slowest_ = 1;
};

}  // namespace lift::tune
