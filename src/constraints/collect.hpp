// Private to constraints: what is collected while a term is walked.
#pragma once

#include <string>
#include <vector>

#include "lift/space.hpp"

namespace lift::detail {

// Constraints in the order in which they are found, without those that hold anyway and without repetitions.
class Constraints {
 public:
  explicit Constraints(const Program& program) : program_(program) {}

  void add(Constraint::Kind kind, const SizeCondition& condition);
  void lessEqual(Constraint::Kind kind, Nat left, Nat right, std::string origin);
  std::vector<Constraint> take() { return std::move(found_); }
  const std::vector<Constraint>& found() const { return found_; }

  // " at file:line:column", where that is known of a primitive.
  std::string place(Expr primitive) const;

 private:
  const Program& program_;
  std::vector<Constraint> found_;
};

// Work-items, work-groups and memory of a mapped term, held to the limits of a device.
void addResources(const Program& program, const DeviceLimits& limits, Constraints& constraints);

}  // namespace lift::detail
