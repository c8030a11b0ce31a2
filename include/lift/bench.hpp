// Measuring implementations of a workload side by side: the compiled kernels and their peers, in one process, in turns,
// on the same data, on all cores; each result is compared with the reference.
//
//   std::vector<bench::Entry> entries;
//   entries.push_back({"ours", {bench::contestPlan(*device, plan, inputs)}});
//   for (const bench::Peer& p : bench::peers()) entries.push_back({p.name, p.setUp({spec, tensors, *device})});
//   for (const bench::Result& r : bench::compare(expected, tolerance, entries)) …  // r.name, r.milliseconds, r.ok
//
// All times are of the host's clock, from the call until the result is in memory, so that an implementation's own
// overhead counts. Short runs follow one another, as the layers of a network do, and who has a queue waits for the last
// of them: their mean counts (so does MIOpenDriver). Not counted is what a user does once for a layer: preparing
// weights, bringing tensors into the layouts that an implementation asks for, compiling.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lift/conv.hpp"
#include "lift/device.hpp"
#include "lift/kernel.hpp"
#include "lift/operator.hpp"
#include "lift/stopwatch.hpp"
#include "lift/tensor.hpp"

namespace lift::bench {

// ------------------------------------------------------------------------------------------------------ contestants

// Bytes that an implementation holds.
struct Memory {
  std::int64_t tensors = 0;    // input, weights, bias and output; activations in the layouts it runs on
  std::int64_t workspace = 0;  // scratch memory of a run
  std::int64_t prepared = 0;   // another copy of the weights, made once
};

// An implementation set up for one problem, with its tensors filled.
class Contestant {
 public:
  virtual ~Contestant() = default;
  // Computes so many times, one after the other, and waits for the last; the milliseconds of one.
  virtual double run(int runs) = 0;
  // Results of the last run by name; of a layer "out", in ConvSpec's natural layout.
  virtual std::map<std::string, Tensor> outputs() = 0;
  Tensor output() { return outputs().at("out"); }
  virtual Memory memory() const = 0;               // once it has run
  virtual std::string implementation() const = 0;  // which of its variants runs; may be empty
};

// A contestant, or the reason why there is none.
struct Setup {
  std::unique_ptr<Contestant> contestant;
  std::string absent = {};
};

// What all contestants are given.
struct Layer {
  const ConvSpec& spec;
  const ConvTensors& tensors;  // f32, natural layouts
  runtime::Device& device;     // for those that use OpenCL
};

// A plan as a contestant.
std::unique_ptr<Contestant> contestPlan(runtime::Device& device, const kernel::Plan& plan,
                                        const std::map<std::string, Tensor>& inputs,
                                        const runtime::LoadOptions& options = {});
// One with the inputs `input`, `weights` and `biases` in these layouts.
std::unique_ptr<Contestant> contestPlan(runtime::Device& device, const kernel::Plan& plan, const ConvTensors& tensors,
                                        const ConvLayouts& layouts = {}, const runtime::LoadOptions& options = {});

// A kernel that someone else wrote: the function `name` of a source, and its arguments, buffers of the plan.
struct WrittenKernel {
  std::string name;
  kernel::NDRange range;
  std::vector<std::string> arguments;
};
// A plan that launches the kernels of a source one after the other. Kernels only read the plan's inputs.
kernel::Plan planOf(const std::string& source, std::vector<kernel::PlanBuffer> buffers,
                    const std::vector<WrittenKernel>& kernels);

// An implementation that we are measured against: a row of the table.
struct Peer {
  std::string name;   // as in reports: "onednn_direct"
  std::string group;  // as users choose it: "onednn"
  std::function<Setup(const Layer&)> setUp;
};
const std::vector<Peer>& peers();

// Peers of a workload that is no layer: of matrix products (parts.hpp), however the program is written, of bilinear
// forms, conv3d and deconv. They are given the workload's inputs.
struct WorkloadPeer {
  std::string name;
  std::string group;
  std::function<Setup(const std::map<std::string, Tensor>& inputs)> setUp;
};
std::vector<WorkloadPeer> peersOf(const Workload& workload);

// -------------------------------------------------------------------------------------------------------- measuring

struct TurnOptions {
  int repetitions = 10;          // turns of each contestant
  double turnMilliseconds = 20;  // a turn repeats shorter runs until this has passed
  // Shorter runs are timed together, so many as fill this, which is long beside what threads take to wake for the first
  // and for whoever waits for the last (docs/benchmarks.md); 0: each by itself.
  double batchMilliseconds = 10;
  double totalMilliseconds = 5000;  // who has spent so much is passed over, after its first turn
  // Where a contestant's median is above `disturbed` times its least time, something else ran meanwhile: all take
  // `repetitions` turns again, at most `rounds` times in all, and medians are of all of them.
  double disturbed = 1.25;
  int rounds = 4;
  // Called before each turn. Threads of the contestant before may still spin, waiting for more work.
  std::function<void()> quieten = {};
};

// All contestants take a turn, then all again, so that whatever slows the machine down meets them alike. A turn begins
// with a run that is not counted: it wakes the threads and fills the caches. Returns each one's times in milliseconds.
std::vector<std::vector<double>> measureInTurns(const std::vector<Contestant*>& contestants,
                                                const TurnOptions& options = {});

// Waits until this process uses (almost) no processor time any more, for at most 200 ms: OpenMP's and OpenBLAS's
// threads spin for some milliseconds when their work is done, and would disturb whoever runs next.
void waitUntilQuiet();

// What else runs on the machine while something is measured.
class OtherLoad {
 public:
  // Processors that other programs have used since the object was made, on the mean, and that the host of a virtual
  // machine kept from it. Nothing in the first half second, for the system counts in hundredths, and nothing where it
  // does not tell (Linux does, in /proc/stat).
  std::optional<double> processors() const;

 private:
  static std::optional<double> seconds();  // of processor time, since the machine started

  Stopwatch watch_;
  std::optional<double> before_ = seconds();
};

struct Entry {
  std::string name;
  Setup setup;
};

struct Result {
  std::string name;
  std::string absent;  // why there is nothing else here; empty when there is
  std::string implementation;
  std::vector<double> times;  // of a run, as each measurement found it, in order, milliseconds
  double milliseconds = 0;    // their median
  double fastest = 0;
  double spread = 0;  // runtime::spread of them
  Memory memory;
  double error = 0;  // largestError against what was expected
  bool ok = false;   // within the tolerance
};
// One result for each entry, in their order; errors are against `expected`.
std::vector<Result> compare(const std::map<std::string, Tensor>& expected, double tolerance,
                            const std::vector<Entry>& entries, const TurnOptions& options = {});

// The most GFLOP/s of fused multiply-adds on f32 that kernels reach on the device: independent chains in registers,
// the widest vectors, every compute unit. 0 for pseudo devices.
double peakGflops(runtime::Device& device);
// GB/s that a kernel copies of arrays larger than caches, read and written bytes together. 0 for pseudo devices.
double copyBandwidth(runtime::Device& device);
// Milliseconds that a run of a plan takes whose one kernel does nothing, measured as all contestants are: what a launch
// costs in the driver and here. 0 for pseudo devices.
double emptyRun(runtime::Device& device, const TurnOptions& options = {});

}  // namespace lift::bench
