// Devices: choosing one, loading plans onto it, running and timing them.
//
//   auto device = runtime::openDevice({.device = "0"});
//   auto program = device->load(plan);
//   runtime::Execution e = program->run({{"x", x}, {"y", y}});   // e.outputs.at("z"), e.launches[0].milliseconds
//   runtime::Timing t = program->measure({{"x", x}, {"y", y}}, {.repetitions = 20});   // t.median()
//
// A plan (kernel.hpp) says what to launch; its symbolic sizes are bound from the shapes of the inputs each time it is
// run. Every device does the same checks in the same order: the plan is well formed, inputs fit, launches and buffers
// fit the device. Then an OpenCL device compiles and launches, and so does "native", the processor by way of C; the
// device "null" returns zeros, which is all one needs to test what lies above. What is wrong with the data is a
// UserError of status `program`, what the device cannot do one of status `device`; an error of OpenCL never leaves as
// anything else.
//
// Thread safety: the functions here and Device::load may be called from several threads at once (that is how a tuner
// compiles in parallel); one Executable is used by one thread at a time. An Executable may outlive its Device. Two
// Executables that run at the same time share the hardware, so measure alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lift/kernel.hpp"
#include "lift/nat.hpp"
#include "lift/plan_memory.hpp"
#include "lift/scalar.hpp"
#include "lift/tensor.hpp"

namespace lift::runtime {

// --------------------------------------------------------------------------------------------------------- devices

// How fast a device is, of profiles; 0: not known. A unit is one of DeviceInfo::computeUnits, a cycle one of its clock.
struct Throughput {
  int bundle = 0;                // work-items that run in lockstep: a quad, a warp, a wave; 1 on processors
  int fmaPerCycle = 0;           // multiply-adds of f32 of a unit, by lane
  int halfFmaPerCycle = 0;       // the same of h16; 0: as many as of f32
  int accessesPer100Cycles = 0;  // of a unit: loads and stores of a bundle, of one cache line each
  int texelsPer100Cycles = 0;    // of a unit: reads of images by a bundle, by a pipe of their own; 0: as loads
  int itemsPerUnit = 0;          // work-items that a unit holds at once, with `registers` each
  int cachePerCycle = 0;         // bytes that all units together get of the last cache
  int bandwidth = 0;             // of memory, MB/s
  int launchNanoseconds = 0;
  int efficiency = 0;  // hundredths: of what the others promise, what was reached where it was measured
};

// What is known of a device; sizes in bytes. Those that are built in (native; the pseudo devices emulator and null)
// have index -1.
struct DeviceInfo {
  int platformIndex = -1;
  int deviceIndex = -1;  // within the platform
  std::string platform;
  std::string platformVendor;
  std::string platformVersion;
  std::string name;
  std::string vendor;
  std::string driverVersion;
  std::string deviceVersion;    // "OpenCL 3.0 …"
  std::string languageVersion;  // "OpenCL C 1.2 …"; "C11"
  std::string type;             // "cpu", "gpu", "accelerator", "custom" or "pseudo"
  int computeUnits = 0;
  int clockMHz = 0;
  std::uint64_t maxWorkGroupSize = 0;
  std::array<std::uint64_t, 3> maxWorkItemSizes{};
  std::uint64_t localMemory = 0;
  bool localMemoryIsDedicated = false;  // false: it is ordinary memory, as on most processors
  std::uint64_t globalMemory = 0;
  std::uint64_t maxAllocation = 0;
  std::uint64_t maxImageWidth = 0;  // texels of images in two dimensions; 0: it has no images
  std::uint64_t maxImageHeight = 0;
  std::uint64_t cacheBytes = 0;  // of the last cache before memory
  int cacheLineBytes = 0;
  int vectorWidthF32 = 1;  // native
  bool fp16 = false;       // half arithmetic; storage as half always works
  bool fp64 = false;
  bool unifiedMemory = false;  // shares memory with the host
  std::vector<std::string> extensions;
  // Of profiles, which may say more than drivers do; 0: not known. Bytes: what one work-item's arrays should not
  // exceed.
  std::array<std::uint64_t, 3> maxGlobalSizes{};
  std::uint64_t privateMemory = 0;
  int registers = 0;  // of 32 bits, that a work-item may use and leave the device enough work-items to hide latency
  Throughput throughput;

  bool builtIn() const { return platformIndex < 0; }        // takes kernels as trees, not as OpenCL C
  bool takesC() const { return languageVersion == "C11"; }  // only kernels that are plain C (kernel::whyNotC)
  bool pseudo() const { return type == "pseudo"; }          // its times say nothing
  bool hasExtension(const std::string& extension) const;
  // An object with fixed keys in fixed order; `indent` as in nlohmann::json::dump.
  std::string toJson(int indent = -1) const;
  // What of it decides which kernels are made, in one line that readProfile takes: "type=gpu,max_work_group_size=…".
  std::string description() const;
};
std::string toJson(const std::vector<DeviceInfo>& devices, int indent = -1);  // an array

// A device that is not at hand: one of those that ship with liftc ("portable": what every GPU has; "mali-g72",
// "mali-g57", "adreno-630", "intel-gpu", "amd-gfx900", "amd-gfx1030", "nvidia", "nvidia-h200", "generic-cpu"), else a
// file with keys of DeviceInfo::toJson, of which "name" and "type" are needed, else "type=…,KEY=VALUE,…" of such keys.
// What it leaves out is unknown, and limits nothing. It cannot be opened. Throws UserError: usage for neither, program
// for what the file holds.
DeviceInfo readProfile(const std::string& nameOrFile);

// All OpenCL devices of all platforms in the loader's order, then those that are built in. Empty of OpenCL devices when
// there is no loader, platform or driver; does not throw.
std::vector<DeviceInfo> listDevices();

// Drivers that OpenCL's loader was told of (OCL_ICD_VENDORS, else /etc/OpenCL/vendors) and cannot load. The loader
// leaves them out without a word.
struct UnusableDriver {
  std::string file;     // the .icd file
  std::string library;  // that it names
  std::string reason;
};
std::vector<UnusableDriver> unusableDrivers();

// A platform or device is named by index or by a part of its name or vendor, in any case. A device's index counts
// among the devices of the platforms that match, so without a platform it counts all OpenCL devices. Devices that are
// built in are named exactly ("native"), and then the platform does not matter.
struct DeviceChoice {
  std::optional<std::string> platform = {};
  std::optional<std::string> device = {};

  // Fills in what is not given from LIFTC_PLATFORM and LIFTC_DEVICE; empty strings count as not given.
  DeviceChoice withEnvironment() const;
};

// Which of `devices` the choice names: the first match; the first OpenCL device for an empty choice.
// Throws UserError (device) that lists what exists when nothing matches. Looks at nothing but its arguments.
std::size_t chooseDevice(const std::vector<DeviceInfo>& devices, const DeviceChoice& choice);

class Device;

// Has PoCL's kernels computed by a team of threads of ours, one for each core, which takes a launch from 10
// microseconds to 1 or 2: by POCL_DEVICES, unless it is set, so before OpenCL is first used in the process. Who uses
// OpenCL beside this library sees devices of one unit for them then, before that of all cores; listDevices() leaves
// them out. Of PoCL's other drivers (of CUDA, …) none is there then.
void requestTeams();

// chooseDevice over listDevices() and the environment, and opens it.
std::unique_ptr<Device> openDevice(const DeviceChoice& choice = {});
DeviceInfo findDevice(const DeviceChoice& choice = {});  // without opening it
bool haveOpenClDevice();

// Adds a device that is built in, named by info.name; replaces one of the same name. `open` must be callable from any
// thread.
void registerDevice(DeviceInfo info, std::function<std::unique_ptr<Device>()> open);

// -------------------------------------------------------------------------------------------------- running a plan

struct LoadOptions {
  // For the device's compiler: OpenCL's, where they are added to "-cl-std=CL1.2", or C's. Nothing that changes results
  // is on by default: ask for "-cl-fast-relaxed-math" here.
  std::string buildOptions = {};
  bool cache = true;  // use the cache of program binaries (below)
};

struct BuildReport {
  double milliseconds = 0;  // building or loading all programs and creating the kernels
  int programs = 0;         // programs of the plan; all kernels share one unless their names clash
  int cacheHits = 0;        // of these, taken from the cache of binaries
};

// Bytes of device memory of one binding of the sizes.
struct MemoryUse {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t temporaries = 0;          // the workspace: temporaries whose lifetimes are disjoint share memory
  std::int64_t temporariesUnshared = 0;  // what it would be without sharing
  std::int64_t prepared = 0;             // of the temporaries: what preparation leaves for the launches
  std::int64_t total() const { return inputs + outputs + temporaries; }
};

// Whose clock times are from: the device's, or the host's around each launch where the device's stands still or its
// queues do not profile. The host's include what a launch costs.
enum class Timer : std::uint8_t { device, host };

struct LaunchTime {
  std::string kernel;
  double milliseconds = 0;  // 0 for a launch that had no work-items
};

struct Execution {
  std::map<std::string, Tensor> outputs;
  std::vector<LaunchTime> preparation;  // one-time launches
  std::vector<LaunchTime> launches;
  double wallMilliseconds = 0;  // host clock, from the first launch until all are done; no transfers, no preparation
  MemoryUse memory;
  Timer timer = Timer::device;
  double milliseconds() const;  // sum over `launches`
};

struct MeasureOptions {
  int repetitions = 10;
  int warmup = 1;        // repetitions before these, which are not recorded
  bool outputs = false;  // read the results of the last repetition back
  // Gives up once a repetition (a warm-up too) takes longer on the device: what is slower is of no interest.
  double stopAboveMilliseconds = std::numeric_limits<double>::infinity();
  // Shorter runs follow one another in the queue for about so long and are a repetition together: a device that falls
  // asleep between them would be measured by how long it takes to wake.
  double batchMilliseconds = 1;
};

// A run, or the mean of several that follow one another in the queue.
struct Repetition {
  double milliseconds = 0;      // sum of the launches' device times
  double wallMilliseconds = 0;  // host clock, from the first enqueue until all are done
  std::vector<double> launches;
};
// How many runs of so many milliseconds fill `batchMilliseconds`: at least one, at most 2048.
int runsInBatch(double milliseconds, double batchMilliseconds);

// Whether a driver is building or running kernels for this process; a handler of signals may ask.
bool isDriverAtWork() noexcept;

// What so large a part of the values, of which there is at least one, is below, by linear interpolation.
double quantile(std::vector<double> values, double part);
double median(std::vector<double> values);
// Distance of the quartiles over the median; 0 for fewer than two values.
double spread(const std::vector<double>& values);

struct Timing {
  std::vector<Repetition> repetitions;  // at least one
  std::vector<LaunchTime> preparation;
  std::vector<LaunchTime> launches;       // of each the median of the repetitions
  std::map<std::string, Tensor> outputs;  // when asked for
  MemoryUse memory;
  Timer timer = Timer::device;
  bool stopped = false;  // a repetition exceeded the limit; it is the last one recorded

  double median() const;  // of the repetitions' device times, in milliseconds
};

struct Binding;
struct DeviceMemory;

// A plan on a device. Buffers are kept from run to run while the sizes stay the same.
class Executable {
 public:
  virtual ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const kernel::Plan& plan() const { return plan_; }
  const BuildReport& build() const { return build_; }
  virtual Timer timer() const { return Timer::device; }  // of the runs so far

  // Uploads the inputs, runs preparation and launches, reads the outputs back. Outputs are filled with 0xFF bytes
  // (NaN) beforehand, so that an element that no kernel writes is seen.
  Execution run(const std::map<std::string, Tensor>& inputs);

  // Uploads once, prepares once, then runs the launches warmup + repetitions times, one repetition at a time.
  Timing measure(const std::map<std::string, Tensor>& inputs, const MeasureOptions& options = {});

  // The steps of `measure`, for who takes turns with others: uploads and prepares; runs the launches so many times and
  // waits for the last; reads its outputs back. The last two want the first before them.
  struct Prepared {
    std::vector<LaunchTime> launches;
    MemoryUse memory;
  };
  Prepared prepare(const std::map<std::string, Tensor>& inputs);
  Repetition repeat(int runs = 1);
  // The same, no launch timed by itself, which drivers of GPUs take some microseconds for: mean milliseconds of a run
  // by the host's clock.
  double repeatTogether(int runs);
  std::map<std::string, Tensor> outputs();

 protected:
  Executable(const DeviceInfo& info, const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes);

  // What a device implements, called in this order with inputs, sizes and limits checked.
  virtual void upload(const Binding& binding, const DeviceMemory& memory,
                      const std::map<std::string, Tensor>& inputs) = 0;
  // Runs the launches in order, in their loops, so many times, and waits for them: the mean times of a run, by the
  // device's clock for each launch (the sum is the caller's), by the host's until all are done. Where they are timed
  // together, the device's may be left out.
  enum class Timed : std::uint8_t { eachLaunch, together };
  virtual Repetition launch(const Binding& binding, const std::vector<kernel::Launch>& launches,
                            const std::vector<kernel::LaunchLoop>& loops, int runs, Timed timed) = 0;
  virtual std::map<std::string, Tensor> download(const Binding& binding) = 0;

  BuildReport build_;

 private:
  const Binding& binding() const;

  const DeviceInfo info_;
  const kernel::Plan plan_;
  const std::map<std::string, std::int64_t> sizes_;
  std::unique_ptr<const Binding> binding_;  // of the inputs that were prepared
};

class Device {
 public:
  virtual ~Device();
  virtual const DeviceInfo& info() const = 0;

  // Checks the plan, compiles its kernels. `sizes` binds symbolic sizes by name, those that inputs do not determine at
  // least. A plan that is not well formed is an InternalError, one that the device cannot build a UserError (device)
  // with the driver's log.
  std::unique_ptr<Executable> load(const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes = {},
                                   const LoadOptions& options = {});

 protected:
  virtual std::unique_ptr<Executable> loadChecked(const kernel::Plan& plan,
                                                  const std::map<std::string, std::int64_t>& sizes,
                                                  const LoadOptions& options) = 0;
};

// The device that does nothing: it checks like any other, and every output is zero. Limits are those of a large device.
std::unique_ptr<Device> makeNullDevice();
DeviceInfo nullDeviceInfo();

// The processor itself: kernels are printed as C (kernel::printC) and built by the system's compiler, the words of CC,
// else cc, gcc or clang. LoadOptions::buildOptions are the compiler's. Opening it throws UserError (device) where there
// is no compiler, loading where a kernel is no plain C.
std::unique_ptr<Device> makeNativeDevice();
DeviceInfo nativeDeviceInfo();

// Interprets the kernels (emulator.hpp). Whatever it finds wrong with them is a UserError of status `wrong`.
std::unique_ptr<Device> makeEmulatorDevice();
DeviceInfo emulatorDeviceInfo();

// ------------------------------------------------------------------------------- what a run needs, without a device

// Values of all symbolic sizes of a plan, and the shapes that follow.
struct Binding {
  std::map<NatVar, std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> shapes;  // one per plan buffer
  std::vector<std::int64_t> bytes;                // one per plan buffer
  std::int64_t evaluate(Nat value) const;
};

struct ArrayType {
  Scalar scalar = Scalar::f32;
  std::vector<std::int64_t> shape;
};
std::map<std::string, ArrayType> typesOf(const std::map<std::string, Tensor>& tensors);

// Solves for the sizes: those in `given` first, then every dimension of an input that is linear in one size not yet
// known (n, n + 2, 2*n, n*m once m is known), until nothing changes; then checks every dimension. Throws UserError
// (program): missing or unknown inputs, element type, rank or dimensions that do not fit, contradictions, sizes out of
// range, unknown or undetermined sizes.
Binding bindSizes(const kernel::Plan& plan, const std::map<std::string, ArrayType>& inputs,
                  const std::map<std::string, std::int64_t>& given = {});

// Device memory of a plan: one allocation per input and output, one per slot of temporaries.
struct DeviceMemory {
  kernel::Slots temporaries;
  MemoryUse use;
};
DeviceMemory deviceMemoryOf(const kernel::Plan& plan, const Binding& binding);

// Rows of the image that so many bytes of a buffer are kept in.
std::int64_t imageRows(const kernel::PlanBuffer& buffer, std::int64_t bytes);

// A launch geometry with numbers. `empty` when a global size is zero: nothing is launched.
struct Geometry {
  std::array<std::size_t, 3> global{1, 1, 1};
  std::array<std::size_t, 3> local{1, 1, 1};
  bool empty() const { return global[0] == 0 || global[1] == 0 || global[2] == 0; }
};
// Throws InternalError for negative sizes and for a global size that is no multiple of the local one.
Geometry geometryOf(const kernel::Kernel& kernel, const Binding& binding);

// Throws InternalError unless indices are in range, launches have one buffer per argument of the right element type,
// sources (if any) are one per kernel, names of inputs and outputs are distinct, and all sizes are the plan's.
void verify(const kernel::Plan& plan);

// What a kernel's groups take of a device.
struct KernelNeeds {
  std::string kernel;
  std::array<std::int64_t, 3> group{1, 1, 1};  // work-items
  std::int64_t localBytes = 0;
  bool f64 = false, h16 = false;  // computes in it
  bool images = false;            // reads or writes some
  std::int64_t items() const { return group[0] * group[1] * group[2]; }
};
KernelNeeds needsOf(const kernel::Kernel& kernel);  // what depends on sizes is left out
// Throws UserError (device), with the numbers, where the device has less: local memory, work-group size, work-items per
// dimension, arithmetic in f64 and h16, images. Limits of 0 are unknown, but for those of images.
void checkNeeds(const DeviceInfo& device, const KernelNeeds& needs);

// The same of all kernels of a plan, and one allocation, all memory. Sizes beyond 32 bits: see kernel::checkSizes.
void checkLimits(const DeviceInfo& device, const kernel::Plan& plan, const Binding& binding,
                 const DeviceMemory& memory);

// ------------------------------------------------------------------------------------- the cache of program binaries

// Compiled programs are kept in $XDG_CACHE_HOME/liftc/programs (else ~/.cache/liftc/programs), keyed by source,
// options and the versions of platform, device and driver, or of the C compiler and the processor. LIFTC_CACHE=off (or
// 0, none) disables it. Nothing goes wrong when it cannot be written, and damaged entries are rebuilt.
struct CacheSummary {
  bool enabled = false;
  std::filesystem::path directory;  // empty when no home is known
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
};
CacheSummary cacheSummary();
std::int64_t clearCache();  // number of entries removed; removes nothing but entries

}  // namespace lift::runtime
