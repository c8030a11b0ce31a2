// An OpenCL device in slow motion: runs a kernel and finds what real devices hide.
//
// The work-items of a group go through the kernel in lock-step, statement by statement, under masks; groups run one
// after the other. Every access is checked: out of bounds, uninitialised, racing with another work-item since the last
// barrier that fences its memory, or with another group. A barrier that not all work-items reach is reported, and so is
// a loop that does not make as many iterations as its `trip` says. Arithmetic is that of ops.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lift/kernel.hpp"

namespace lift::kernel {

struct EmulatorOptions {
  std::uint64_t stepLimit = 4'000'000'000;  // statements by work-item
  std::size_t maxFindings = 20;             // further ones are counted only
  bool allowUniformWrites = false;          // several work-items may write one and the same value
  std::vector<bool> uninitialised;          // by argument: contents are undefined at the start
};

struct EmulatorReport {
  std::vector<std::string> findings;  // "race: write of tile[3] by work-item (0,0,0) … "
  std::uint64_t suppressed = 0;       // findings beyond maxFindings
  std::uint64_t steps = 0;
  bool completed = true;  // false: the step limit was reached
  bool ok() const { return findings.empty() && completed; }
};

// `memory` holds the contents of the arguments in argument order and receives the results; `sizes` binds every symbolic
// size. Wrong argument counts, byte counts or unbound sizes throw UserError.
EmulatorReport emulate(const Kernel& kernel, std::vector<std::vector<std::byte>>& memory,
                       const std::map<NatVar, std::int64_t>& sizes = {}, const EmulatorOptions& options = {});

}  // namespace lift::kernel
