// PoCL's devices of one compute unit, computed on by a team of threads.
#pragma once

#include <memory>
#include <vector>

#include "cl_program.hpp"
#include "lift/device.hpp"
#include "team.hpp"

namespace lift::runtime {

// PoCL's device for all cores wakes its threads for every kernel, and the caller at its end, which takes some 10 us;
// its devices of one unit ("basic", or "cpu-minimal") compute in the thread that launches, at once. So each member of a
// team has one of these, and they share out the groups of every launch.
struct OpenClTeam {
  explicit OpenClTeam(std::vector<cl::Device> devices)
      : devices(std::move(devices)), context(this->devices), team(static_cast<int>(this->devices.size()), isPinned()) {}

  std::vector<cl::Device> devices;
  cl::Context context;
  BuiltPrograms kept;
  Team team;

 private:
  static bool isPinned();  // as PoCL pins threads of its own, by POCL_AFFINITY
};

// Whether a team computes it: not where kernels ask how many groups or work-items a launch has, or read images.
bool isForTeams(const kernel::Plan& plan);

std::unique_ptr<Executable> loadOnTeam(std::shared_ptr<OpenClTeam> team, const DeviceInfo& info,
                                       const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes,
                                       const LoadOptions& options);

}  // namespace lift::runtime
