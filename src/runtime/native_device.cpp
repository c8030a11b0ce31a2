// The processor itself: kernels as C, built by the system's compiler and called in this process. A launch is a call
// that OpenMP shares among threads, which takes a microsecond or two where drivers of OpenCL take tens to wake theirs.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "build_failure.hpp"
#include "cache.hpp"
#include "host_executable.hpp"
#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/process.hpp"
#include "lift/stopwatch.hpp"
#include "native_compiler.hpp"

namespace lift::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using kernel::Launch;

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

// ----------------------------------------------------------------------------------------------------------- building

std::string entryName(std::size_t kernel) { return fmt::format("lift_launch_{}", kernel); }

// The kernels, and for each a function that takes its arguments from arrays.
std::string sourceOf(const kernel::Plan& plan) {
  for (const kernel::Kernel& k : plan.kernels)
    if (const std::string why = kernel::whyNotC(k); !why.empty())
      throw UserError(ExitStatus::device,
                      fmt::format("the device native takes plain C only, and kernel {} is none: {}", k.name, why),
                      "an OpenCL device runs it");
  const kernel::CKernels printed = kernel::printC(plan.kernels);
  std::string text = printed.text;
  for (std::size_t k = 0; k < plan.kernels.size(); k++) {
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < plan.kernels[k].arguments.size(); i++)
      arguments.push_back(fmt::format("buffers[{}]", i));
    for (std::size_t i = 0; i < plan.kernels[k].sizes.size(); i++) arguments.push_back(fmt::format("sizes[{}]", i));
    text += fmt::format("\nvoid {}(void* const* buffers, const int* sizes) {{\n  {}({});\n}}\n", entryName(k),
                        printed.names[k], fmt::join(arguments, ", "));
  }
  return text;
}

// Libraries that were built stay, of all threads: configurations of one problem share kernels.
class Builder {
 public:
  explicit Builder(NativeCompiler compiler) : compiler_(std::move(compiler)) {}

  NativeLibrary build(const kernel::Plan& plan, const LoadOptions& options, BuildReport& report) {
    const Stopwatch watch;
    const std::string source = sourceOf(plan);
    const Digest key = cacheKey({source, fmt::format("{}", fmt::join(commandWith(options), " ")), compiler_.macros});
    NativeLibrary library = find(key, source, options, report);
    report.milliseconds = watch.milliseconds();
    return library;
  }

 private:
  std::vector<std::string> commandWith(const LoadOptions& options) const {
    std::vector<std::string> command = compiler_.command;
    // No operation of the language sets errno or traps.
    for (const char* word : {"-std=gnu11", "-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno",
                             "-fno-trapping-math", "-fopenmp", "-fPIC", "-shared", "-w"})
      command.emplace_back(word);
    std::istringstream words(options.buildOptions);
    command.insert(command.end(), std::istream_iterator<std::string>(words), {});
    for (const char* word : {"kernels.c", "-o", "kernels.so", "-lm"}) command.emplace_back(word);
    return command;
  }

  NativeLibrary find(const Digest& key, const std::string& source, const LoadOptions& options, BuildReport& report) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto kept = libraries_.find(key); kept != libraries_.end()) return kept->second;
    }
    report.programs = 1;
    const ProgramCache cache = options.cache ? ProgramCache::fromEnvironment() : ProgramCache(std::nullopt);
    const TemporaryFolder folder;
    const auto file = folder.path() / "kernels.so";
    const auto loaded = [&] {
      NativeLibrary library(file);
      const std::lock_guard lock(mutex_);
      libraries_.emplace(key, library);
      return library;
    };
    if (const auto binary = cache.load(key)) {
      writeTemporary(file, *binary);
      try {
        NativeLibrary library = loaded();
        report.cacheHits = 1;
        return library;
      } catch (const UserError&) {  // whatever keeps it from being loaded: the source is there
      }
    }
    compile(folder.path(), source, options);
    cache.store(key, readFile(file).value_or(""));
    return loaded();
  }

  void compile(const std::filesystem::path& folder, const std::string& source, const LoadOptions& options) const {
    constexpr double mostSeconds = 120;
    writeTemporary(folder / "kernels.c", source);
    const std::vector<std::string> command = commandWith(options);
    const Finished f = runProgram(command, folder, mostSeconds, Limit::processor);
    if (f.ok()) return;
    throw buildFailure(fmt::format("cannot build kernels for native: {} failed: {}", compiler_.command[0], f.end),
                       fmt::format("the command was {}", fmt::join(command, " ")), f.output, source);
  }

  static void writeTemporary(const std::filesystem::path& path, const std::string& contents) try {
    writeFile(path, contents);
  } catch (const UserError& e) {
    throw UserError(ExitStatus::device, e.diagnostics().front().message,
                    "TMPDIR names another folder for what is temporary");
  }

  const NativeCompiler compiler_;
  std::mutex mutex_;
  std::map<Digest, NativeLibrary> libraries_;
};

// ------------------------------------------------------------------------------------------------------------ running

class NativeExecutable : public HostExecutable {
 public:
  NativeExecutable(const DeviceInfo& info, Builder& builder, const kernel::Plan& plan,
                   const std::map<std::string, std::int64_t>& sizes, const LoadOptions& options)
      : HostExecutable(info, plan, sizes) {
    const NativeLibrary library = builder.build(plan, options, build_);
    for (std::size_t k = 0; k < plan.kernels.size(); k++) functions_.push_back(library.function(entryName(k)));
  }

  Timer timer() const override { return Timer::host; }

 protected:
  Repetition launch(const Binding& binding, const std::vector<Launch>& launches,
                    const std::vector<kernel::LaunchLoop>& loops, int runs, Timed) override {
    struct Call {
      NativeLibrary::Function function = nullptr;  // none: there are no work-items
      const std::vector<int>* buffers = nullptr;
      std::vector<int> sizes;
    };
    std::vector<Call> calls;
    std::vector<void*> arguments;
    for (const Launch& l : launches) {
      const auto k = static_cast<std::size_t>(l.kernel);
      const kernel::Kernel& kernel = plan().kernels[k];
      Call& call = calls.emplace_back();
      if (!geometryOf(kernel, binding).empty()) call.function = functions_[k];
      call.buffers = &l.arguments;
      for (const NatVar v : kernel.sizes) call.sizes.push_back(static_cast<int>(binding.sizes.at(v)));
      arguments.resize(std::max(arguments.size(), l.arguments.size()));
    }
    std::vector<Clock::duration> times(launches.size(), Clock::duration::zero());
    const auto begin = Clock::now();
    auto last = begin;
    const auto one = [&](std::size_t i) {
      const Call& call = calls[i];
      if (call.function == nullptr) return;
      std::size_t at = 0;
      for (const int b : *call.buffers) arguments[at++] = buffers_[static_cast<std::size_t>(b)];
      call.function(arguments.data(), call.sizes.data());
      const auto now = Clock::now();
      times[i] += now - last;
      last = now;
    };
    for (int r = 0; r < runs; r++)
      kernel::forEachLaunch(
          launches.size(), loops, [&](Nat n) { return binding.evaluate(n); }, one,
          [&](int a, int b) {
            std::swap(buffers_[static_cast<std::size_t>(a)], buffers_[static_cast<std::size_t>(b)]);
          },
          [&](int b) { return *static_cast<const unsigned char*>(buffers_[static_cast<std::size_t>(b)]) != 0; });
    Repetition mean{0, milliseconds(last - begin) / runs, {}};
    for (const Clock::duration t : times) mean.launches.push_back(milliseconds(t) / runs);
    return mean;
  }

 private:
  std::vector<NativeLibrary::Function> functions_;  // of each kernel
};

// -------------------------------------------------------------------------------------------------------- the device

// What Linux says of the processor under one of the names.
std::string fromCpuInfo(const std::vector<std::string>& keys) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    for (const std::string& key : keys)
      if (const auto colon = line.find(": "); line.starts_with(key) && colon != std::string::npos)
        return line.substr(colon + 2);
  return {};
}

std::uint64_t systemValue(int name) { return static_cast<std::uint64_t>(std::max(0L, sysconf(name))); }

DeviceInfo describe(const NativeCompiler* compiler) {
  DeviceInfo d;
  d.name = "native";
  d.languageVersion = "C11";
  d.type = "cpu";
  d.vendor = fromCpuInfo({"vendor_id", "CPU implementer"});
  d.deviceVersion = fromCpuInfo({"model name", "CPU part"});
  d.computeUnits = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  d.clockMHz = std::atoi(fromCpuInfo({"cpu MHz"}).c_str());
  d.maxWorkGroupSize = 4096;
  d.maxWorkItemSizes = {4096, 4096, 4096};
  d.globalMemory = systemValue(_SC_PHYS_PAGES) * systemValue(_SC_PAGESIZE);
  d.maxAllocation = d.globalMemory;
  d.localMemory = 512U << 10U;  // on the stack of a thread
  d.cacheBytes = lastCacheBytes();
  d.cacheLineBytes = static_cast<int>(systemValue(_SC_LEVEL1_DCACHE_LINESIZE));
  d.maxImageWidth = d.maxImageHeight = 1U << 16U;  // arrays like any other
  d.fp64 = true;
  d.unifiedMemory = true;
  if (compiler == nullptr) return d;
  const auto has = [&](std::string_view macro) { return compiler->macro(macro).has_value(); };
  d.platform = compiler->isClang() ? "clang" : "gcc";
  d.platformVersion = compiler->macro("__VERSION__").value_or("");
  d.driverVersion = compiler->version();
  d.vectorWidthF32 = has("__AVX512F__") ? 16 : has("__AVX__") ? 8 : 4;
  d.fp16 = has("__FLT16_MAX__");
  return d;
}

class NativeDevice : public Device {
 public:
  explicit NativeDevice(const NativeCompiler& compiler) : info_(describe(&compiler)), builder_(compiler) {}

  const DeviceInfo& info() const override { return info_; }

 protected:
  std::unique_ptr<Executable> loadChecked(const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes,
                                          const LoadOptions& options) override {
    return std::make_unique<NativeExecutable>(info_, builder_, plan, sizes, options);
  }

 private:
  const DeviceInfo info_;
  Builder builder_;
};

}  // namespace

DeviceInfo nativeDeviceInfo() {
  try {
    const NativeCompiler compiler = NativeCompiler::find();
    return describe(&compiler);
  } catch (const UserError&) {  // opening it says why
    return describe(nullptr);
  }
}

std::unique_ptr<Device> makeNativeDevice() { return std::make_unique<NativeDevice>(NativeCompiler::find()); }

}  // namespace lift::runtime
