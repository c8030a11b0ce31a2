// Size conditions as code over the values of tunables: what a search evaluates millions of times.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lift/expr.hpp"
#include "lift/nat_code.hpp"

namespace lift::detail {

class Predicate {
 public:
  // `slots` numbers the variables.
  Predicate(const SizeCondition& condition, const std::map<NatVar, int>& slots);

  // No for a value that does not exist: beyond 64 bits, or a division by zero.
  bool holdsAt(const std::vector<std::int64_t>& values) const;
  // Whether no values of these ranges satisfy it, as far as the ranges alone tell.
  bool isRefutedOver(const std::vector<Range>& ranges) const;

  const std::vector<int>& variables() const { return variables_; }  // slots, ascending
  bool mentions(int slot) const;

 private:
  SizeCondition::Kind kind_;
  NatCode left_, right_;
  std::vector<int> variables_;
};

}  // namespace lift::detail
