// Questions about the space of a program's configurations, which need no measuring.
#pragma once

#include "common.hpp"

namespace liftc {

struct SpaceQuestion {
  std::string profile;  // limits of a device that is not at hand
  std::string why;      // a configuration
  bool explain = false;

  void add(CLI::App& app);
  bool isAsked() const { return explain || !why.empty(); }
  // Prints the answer; the exit status.
  int answer(const ProgramOptions& program, const DeviceOptions& device, bool json) const;
};

}  // namespace liftc
