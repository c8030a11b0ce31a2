// From the sources of a plan to its kernels.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cl_bindings.hpp"
#include "lift/device.hpp"

namespace lift::runtime {

// One kernel's source and the name of its function.
struct SourceUnit {
  std::string name;
  std::string source;
};

// Sources that go into one program.
struct ProgramGroup {
  std::vector<std::string> sources;  // distinct
  std::vector<std::size_t> units;    // which units it holds
};

// Drivers take long to start a compilation and little longer for more kernels, so all units share a program, except
// where different sources define kernels of one name.
std::vector<ProgramGroup> groupSources(const std::vector<SourceUnit>& units);

// The sources one after the other. Helper functions (static) that several of them define are kept apart by renaming.
std::string concatenate(const std::vector<std::string>& sources);

// The function that a source defines as its kernel: `wanted` if it is there, else the first; `wanted` if there is none.
std::string kernelNameIn(const std::string& source, const std::string& wanted);

struct BuiltKernels {
  std::vector<cl::Program> programs;
  std::vector<cl::Kernel> kernels;  // one per unit
  BuildReport report;
};

// What a device's loads have built, of all threads: programs by options and a kernel's source. Plans that share
// kernels, configurations of one problem, do not build them again.
class BuiltPrograms {
 public:
  std::optional<cl::Program> of(const std::string& options, const std::string& source) const;
  void keep(const std::string& options, const std::string& source, const cl::Program& program);

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, cl::Program> programs_;
};

// Builds for all of the devices, which are alike, or takes from the cache. Throws UserError (device) with the driver's
// log and the beginning of the source.
BuiltKernels buildKernels(const cl::Context& context, const std::vector<cl::Device>& devices, const DeviceInfo& info,
                          const std::vector<SourceUnit>& units, const LoadOptions& options, BuiltPrograms& kept);

// Sets what the launch passes. `set` holds the buffers that were set before for launches of this kernel at these sizes,
// which stay: runs that follow one another set arguments once.
void setArguments(cl::Kernel& compiled, const kernel::Kernel& kernel, const kernel::Launch& launch,
                  const Binding& binding, const std::vector<cl::Memory>& buffers, std::vector<cl_mem>& set);

}  // namespace lift::runtime
