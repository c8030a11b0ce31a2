// Questions about the space of a program's configurations, which need no measuring.
#pragma once

#include "problem.hpp"

namespace lift::liftc {

struct SpaceQuestion {
  std::string profile;  // limits of a device that is not at hand
  std::string why;      // a configuration
  bool explain = false;

  void add(cli::App& app);
  bool isAsked() const { return explain || !why.empty(); }
  // Prints the answer for each family of the problem; the exit status.
  int answer(const ProblemChoice& problem, bool json) const;
};

}  // namespace lift::liftc
