// Sizes as straight-line code over the values of tunables: what a search evaluates millions of times.
//
// Arithmetic is checked: a value beyond 64 bits, or a division by zero, is no value.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "lift/expr.hpp"
#include "lift/nat.hpp"

namespace lift::detail {

// All values from low to high; the ends of int64_t stand for infinity.
struct Interval {
  static constexpr std::int64_t minusInfinity = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max();

  std::int64_t low = minusInfinity, high = infinity;
};

class Formula {
 public:
  // `slots` numbers the variables.
  Formula(Nat value, const std::map<NatVar, int>& slots);

  std::optional<std::int64_t> at(const std::vector<std::int64_t>& values) const;
  // An interval that holds every value over these ranges of the variables.
  Interval over(const std::vector<Interval>& ranges) const;

 private:
  struct Step {
    Nat::Kind kind = Nat::Kind::constant;
    std::int64_t value = 0;  // of a constant; slot of a variable
  };
  void append(Nat value, const std::map<NatVar, int>& slots);

  std::vector<Step> steps_;  // in postfix order
  std::size_t depth_ = 0, deepest_ = 0;
};

// A size condition, compiled.
class Predicate {
 public:
  Predicate(const SizeCondition& condition, const std::map<NatVar, int>& slots);

  // No for a value that does not exist.
  bool holdsAt(const std::vector<std::int64_t>& values) const;
  // Whether no values of these ranges satisfy it, as far as the ranges alone tell.
  bool isRefutedOver(const std::vector<Interval>& ranges) const;

  const std::vector<int>& variables() const { return variables_; }  // slots, ascending
  bool mentions(int slot) const;

 private:
  SizeCondition::Kind kind_;
  Formula left_, right_;
  std::vector<int> variables_;
};

}  // namespace lift::detail
