// Building programs, through the cache of binaries.
#include "cl_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "build_failure.hpp"
#include "cache.hpp"
#include "lift/stopwatch.hpp"
#include "lift/vector_access.hpp"

namespace lift::runtime {
namespace {

// OpenCL C 1.2; for kernels that use sub-groups on a device that has them a version with these, but for Intel's. On
// processors, whose sub-groups are loops, nothing is gained, and PoCL 6.0 adds them up wrongly.
std::string standardFor(const DeviceInfo& device, const std::vector<SourceUnit>& units) {
  const bool isIntels = device.hasExtension("cl_intel_subgroups");
  if (device.type == "cpu" || (!isIntels && !device.hasExtension("cl_khr_subgroups")) ||
      std::ranges::none_of(units,
                           [](const SourceUnit& u) { return u.source.find("LIFT_SUBGROUPS") != std::string::npos; }))
    return "-cl-std=CL1.2";
  const bool isVersion2 = device.deviceVersion.starts_with("OpenCL 2");
  return fmt::format("-cl-std=CL{} -DLIFT_SUBGROUPS", isIntels ? "1.2" : isVersion2 ? "2.0" : "3.0");
}

// Clang counts warnings on the standard error stream; vectors wider than registers have some.
constexpr const char* noWarnings = " -w";

// Whether the driver keeps what it compiles itself. Asked for a binary, PoCL compiles each kernel once more, for groups
// of any size, which takes as long as compiling it for those that are launched.
bool keepsKernels(const DeviceInfo& device) {
  const char* kept = std::getenv("POCL_KERNEL_CACHE");
  return device.platform == "Portable Computing Language" && (kept == nullptr || kept != std::string_view("0"));
}

class Builder {
 public:
  Builder(const cl::Context& context, const std::vector<cl::Device>& devices, const DeviceInfo& info,
          const std::vector<SourceUnit>& units, const LoadOptions& options, BuiltPrograms& kept)
      : context_(context),
        device_(devices.front()),
        info_(info),
        units_(units),
        kept_(kept),
        options_(standardFor(info, units) + (options.buildOptions.empty() ? "" : " " + options.buildOptions) +
                 noWarnings),
        cache_(options.cache && devices.size() == 1 && !keepsKernels(info) ? ProgramCache::fromEnvironment()
                                                                           : ProgramCache(std::nullopt)) {
    for (const cl::Device& d : devices) devices_.push_back(d());
  }

  BuiltKernels run() {
    built_.kernels.resize(units_.size());
    const Stopwatch watch;
    takeKept();
    std::vector<SourceUnit> missing;
    std::vector<std::size_t> places;
    for (std::size_t u = 0; u < units_.size(); u++) {
      if (built_.kernels[u]() != nullptr) continue;  // kept
      missing.push_back(units_[u]);
      places.push_back(u);
    }
    for (ProgramGroup& group : groupSources(missing)) {
      for (std::size_t& u : group.units) u = places[u];
      build(group);
    }
    built_.report.milliseconds = watch.milliseconds();
    return std::move(built_);
  }

 private:
  void takeKept() {
    for (std::size_t u = 0; u < units_.size(); u++)
      if (const auto program = kept_.of(options_, units_[u].source)) {
        try {
          built_.kernels[u] = cl::Kernel(*program, units_[u].name.c_str());
        } catch (const cl::Error& error) {
          throw clFailure("build kernel " + units_[u].name, error);
        }
        built_.programs.push_back(*program);
      }
  }

  void build(const ProgramGroup& group) {
    const std::string source = kernel::vectorAccess(group.sources) + concatenate(group.sources);
    const Digest key = cacheKey({source, options_, info_.platform, info_.platformVersion, info_.name, info_.vendor,
                                 info_.driverVersion, info_.deviceVersion});
    if (fromCache(group, key)) return;
    try {
      const cl::Program program(context_, source);
      const cl_int status = clBuildProgram(program(), static_cast<cl_uint>(devices_.size()), devices_.data(),
                                           options_.c_str(), nullptr, nullptr);
      if (status != CL_SUCCESS) return explain(group, source, status, logOf(program));
      const std::vector<cl::Kernel> kernels = createKernels(group, program);
      // Not earlier: some drivers compile only when a kernel is created, and their binaries are empty before.
      save(program, key);
      accept(group, program, kernels);
    } catch (const cl::Error& error) {
      throw clFailure("build " + describe(group), error);
    }
  }

  // Whatever a driver dislikes about a binary it wrote itself: the source is there.
  bool fromCache(const ProgramGroup& group, const Digest& key) {
    const std::optional<std::string> binary = cache_.load(key);
    if (!binary) return false;
    try {
      const cl::Program::Binaries binaries{std::vector<unsigned char>(binary->begin(), binary->end())};
      const cl::Program program(context_, {device_}, binaries);
      program.build(device_, options_.c_str());
      accept(group, program, createKernels(group, program));
      built_.report.cacheHits++;
      return true;
    } catch (const cl::Error&) {
      return false;
    }
  }

  void save(const cl::Program& program, const Digest& key) {
    if (!cache_.file(key)) return;
    try {
      const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
      if (binaries.size() == 1)
        cache_.store(key, {reinterpret_cast<const char*>(binaries[0].data()), binaries[0].size()});
    } catch (const cl::Error&) {  // a driver without binaries: nothing is cached
    }
  }

  std::vector<cl::Kernel> createKernels(const ProgramGroup& group, const cl::Program& program) const {
    std::vector<cl::Kernel> kernels;
    for (std::size_t u : group.units) kernels.emplace_back(program, units_[u].name.c_str());
    return kernels;
  }

  void accept(const ProgramGroup& group, const cl::Program& program, const std::vector<cl::Kernel>& kernels) {
    for (std::size_t i = 0; i < group.units.size(); i++) built_.kernels[group.units[i]] = kernels[i];
    built_.programs.push_back(program);
    built_.report.programs++;
    for (const std::string& source : group.sources) kept_.keep(options_, source, program);
  }

  std::string describe(const ProgramGroup& group) const {
    std::string text = group.units.size() == 1 ? "kernel " : "kernels ";
    for (std::size_t i = 0; i < group.units.size(); i++) text += (i > 0 ? ", " : "") + units_[group.units[i]].name;
    return text;
  }

  // Empty where a driver has none.
  std::string logOf(const cl::Program& program) const {
    try {
      return program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_);
    } catch (const cl::Error&) {
      return {};
    }
  }

  // A failure of several sources together is blamed on the first that fails alone. If none does, they only cannot
  // stand in one program, and each has its own now.
  void explain(const ProgramGroup& group, const std::string& source, cl_int status, const std::string& log) {
    if (group.sources.size() > 1) {
      for (const std::string& s : group.sources) {
        ProgramGroup single{{s}, {}};
        for (std::size_t u : group.units)
          if (units_[u].source == s) single.units.push_back(u);
        build(single);
      }
      return;
    }
    throw buildFailure(fmt::format("cannot build {} for {}: clBuildProgram failed with {}", describe(group), info_.name,
                                   clErrorName(status)),
                       "options were " + options_, log, source);
  }

  const cl::Context& context_;
  const cl::Device& device_;  // the first
  std::vector<cl_device_id> devices_;
  const DeviceInfo& info_;
  const std::vector<SourceUnit>& units_;
  BuiltPrograms& kept_;
  const std::string options_;
  const ProgramCache cache_;
  BuiltKernels built_;
};

}  // namespace

std::optional<cl::Program> BuiltPrograms::of(const std::string& options, const std::string& source) const {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find({options, source});
  return found == programs_.end() ? std::nullopt : std::optional(found->second);
}

void BuiltPrograms::keep(const std::string& options, const std::string& source, const cl::Program& program) {
  constexpr std::size_t most = 256;
  const std::lock_guard lock(mutex_);
  if (programs_.size() >= most) programs_.clear();
  programs_.insert_or_assign({options, source}, program);
}

void setArguments(cl::Kernel& compiled, const kernel::Kernel& kernel, const kernel::Launch& launch,
                  const Binding& binding, const std::vector<cl::Memory>& buffers, std::vector<cl_mem>& set) {
  const bool sizes = set.empty();
  set.resize(launch.arguments.size());
  cl_uint argument = 0;
  for (const int b : launch.arguments) {
    const cl::Memory& buffer = buffers[static_cast<std::size_t>(b)];
    if (set[argument] != buffer()) compiled.setArg(argument, buffer);
    set[argument++] = buffer();
  }
  if (!sizes) return;
  for (const NatVar v : kernel.sizes) compiled.setArg(argument++, static_cast<cl_int>(binding.sizes.at(v)));
}

BuiltKernels buildKernels(const cl::Context& context, const std::vector<cl::Device>& devices, const DeviceInfo& info,
                          const std::vector<SourceUnit>& units, const LoadOptions& options, BuiltPrograms& kept) {
  return Builder(context, devices, info, units, options, kept).run();
}

}  // namespace lift::runtime
