// Plans on an OpenCL device.
#include "opencl_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cl_bindings.hpp"
#include "cl_program.hpp"
#include "host_memory.hpp"
#include "lift/stopwatch.hpp"
#include "opencl_list.hpp"
#include "opencl_team.hpp"
#include "outputs.hpp"

namespace lift::runtime {
namespace {

using kernel::Kernel;
using kernel::Launch;
using kernel::PlanBuffer;

// Shared by the device and what it loaded, so that either may go first.
struct Opened {
  DeviceInfo info;
  cl::Device device;
  cl::Context context;
  std::unique_ptr<BuiltPrograms> kept = std::make_unique<BuiltPrograms>();
  std::shared_ptr<OpenClTeam> team = {};  // that computes for it
};

class OpenClExecutable : public Executable {
 public:
  OpenClExecutable(std::shared_ptr<const Opened> opened, const kernel::Plan& plan,
                   const std::map<std::string, std::int64_t>& sizes, const LoadOptions& options)
      : Executable(opened->info, plan, sizes), opened_(std::move(opened)) {
    ensure(plan.sources.size() == plan.kernels.size(), "the kernels of the plan have not been printed");
    std::vector<SourceUnit> units;
    for (std::size_t k = 0; k < plan.kernels.size(); k++)
      units.push_back({kernelNameIn(plan.sources[k], plan.kernels[k].name), plan.sources[k]});
    built_ = buildKernels(opened_->context, {opened_->device}, opened_->info, units, options, *opened_->kept);
    build_ = built_.report;
    queue_ = makeQueue();
  }

  Timer timer() const override { return timer_; }

  // Nothing may be running when the buffers go.
  ~OpenClExecutable() override {
    try {
      queue_.finish();
    } catch (const cl::Error&) {
    }
  }

 protected:
  void upload(const Binding& binding, const DeviceMemory& memory,
              const std::map<std::string, Tensor>& inputs) override {
    if (!allocated_ || *allocated_ != binding.sizes) allocate(binding, memory);
    for (std::size_t b = 0; b < plan().buffers.size(); b++) {
      const PlanBuffer& buffer = plan().buffers[b];
      if (binding.bytes[b] == 0) continue;
      const auto bytes = static_cast<std::size_t>(binding.bytes[b]);
      if (buffer.role == PlanBuffer::Role::input)
        guarded("write input " + buffer.name, [&] {
          return queue_.enqueueWriteBuffer(bufferOf(b), CL_TRUE, 0, bytes, inputs.at(buffer.name).bytes.data());
        });
      // Written rather than filled: Oclgrind 21.10 takes what was filled for uninitialised, even where kernels have
      // written it since, and later kernels may read results.
      if (buffer.role == PlanBuffer::Role::output)
        guarded("fill output " + buffer.name, [&] {
          const std::vector<std::byte> ones(bytes, std::byte{0xFF});
          return queue_.enqueueWriteBuffer(bufferOf(b), CL_TRUE, 0, bytes, ones.data());
        });
    }
    guarded("write the inputs", [&] { return queue_.finish(); });
  }

  Repetition launch(const Binding& binding, const std::vector<Launch>& launches,
                    const std::vector<kernel::LaunchLoop>& loops, int runs, Timed timed) override {
    const bool together = timed == Timed::together;
    const cl::CommandQueue queue = together ? untimedQueue() : queue_;
    std::vector<std::pair<std::size_t, cl::Event>> events;  // of what may not be complete
    events.reserve(launches.size() * static_cast<std::size_t>(runs));
    std::vector<double> milliseconds(launches.size(), 0.0), times(launches.size(), 0.0);
    std::vector<Geometry> geometries;
    for (const Launch& l : launches) geometries.push_back(geometryOf(kernelOf(l), binding));
    setArguments_.assign(built_.kernels.size(), {});
    const Stopwatch whole;
    const auto one = [&](std::size_t i) {
      const Stopwatch own;
      cl::Event event;
      enqueue(queue, binding, launches[i], geometries[i], together ? nullptr : &event);
      if (event() == nullptr) return;  // no work-items, or not timed
      events.emplace_back(i, std::move(event));
      if (timer_ == Timer::device) return;
      guarded("run kernel " + kernelOf(launches[i]).name, [&] { return queue.finish(); });
      milliseconds[i] += own.milliseconds();
    };
    const auto completed = [&] {
      for (const auto& [i, event] : events) {
        checkStatus(launches[i], event);
        if (timer_ == Timer::device) milliseconds[i] += deviceTime(event);
        times[i]++;
      }
      events.clear();
    };
    const auto holds = [&](int b) {
      unsigned char flag = 0;
      guarded("read a condition", [&] {
        return queue.enqueueReadBuffer(bufferOf(static_cast<std::size_t>(b)), CL_TRUE, 0, sizeof flag, &flag);
      });
      completed();
      return flag != 0;
    };
    for (int r = 0; r < runs; r++)
      kernel::forEachLaunch(
          launches.size(), loops, [&](Nat n) { return binding.evaluate(n); }, one,
          [&](int a, int b) {
            std::swap(buffers_[static_cast<std::size_t>(a)], buffers_[static_cast<std::size_t>(b)]);
          },
          holds);
    guarded("run the kernels", [&] { return queue.finish(); });
    const double all = whole.milliseconds();
    completed();
    // A clock that stands still, or nearly so, is none: no launch takes less than 100 ns. This run's time is shared
    // out, later ones are timed launch by launch.
    constexpr double least = 1e-4;
    const double sum = std::accumulate(times.begin(), times.end(), 0.0);
    if (sum > 0 && std::ranges::all_of(milliseconds, [](double t) { return t < least; })) {
      timer_ = Timer::host;
      for (std::size_t i = 0; i < times.size(); i++) milliseconds[i] += all * times[i] / sum;
    }
    for (double& ms : milliseconds) ms /= runs;
    return {0, all / runs, std::move(milliseconds)};
  }

  std::map<std::string, Tensor> download(const Binding& binding) override {
    return readOutputs(plan(), binding, [&](std::size_t b, Tensor& tensor) {
      guarded("read output " + plan().buffers[b].name, [&] {
        return queue_.enqueueReadBuffer(bufferOf(b), CL_TRUE, 0, tensor.bytes.size(), tensor.bytes.data());
      });
    });
  }

 private:
  const Kernel& kernelOf(const Launch& launch) const { return plan().kernels[static_cast<std::size_t>(launch.kernel)]; }

  // Of what is no image.
  cl::Buffer bufferOf(std::size_t b) const { return cl::Buffer(buffers_[b](), true); }

  void allocate(const Binding& binding, const DeviceMemory& memory) {
    // The old ones first, so that both sets are never there together.
    allocated_.reset();
    buffers_.clear();
    memory_.clear();
    if (opened_->info.type == "cpu") requireHostMemory(plan(), binding, memory.use);
    std::vector<cl::Buffer> slots;
    for (std::size_t s = 0; s < memory.temporaries.of.size(); s++)
      slots.push_back(isImage(memory.temporaries.of[s]) ? cl::Buffer()
                                                        : createBuffer("temporaries", memory.temporaries.bytes[s]));
    for (std::size_t b = 0; b < plan().buffers.size(); b++) {
      const int slot = memory.temporaries.slot[b];
      if (slot >= 0 && plan().buffers[b].isImage)
        buffers_.push_back(createImage(plan().buffers[b], binding.bytes[b]));
      else if (slot >= 0)
        buffers_.push_back(slots[static_cast<std::size_t>(slot)]);
      else if (plan().buffers[b].role == PlanBuffer::Role::temporary)
        buffers_.emplace_back();  // no launch uses it
      else
        buffers_.push_back(createBuffer(plan().buffers[b].name, binding.bytes[b]));
    }
    allocated_ = binding.sizes;
  }

  // What is large on a processor is ours, in large pages.
  cl::Buffer createBuffer(const std::string& what, std::int64_t bytes) {
    // OpenCL has no empty buffers, and a kernel's argument must be one.
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 4));
    return guarded(fmt::format("allocate {} bytes for {}", size, what), [&] {
      if (opened_->info.type != "cpu" || bytes < largePageBytes)
        return cl::Buffer(opened_->context, CL_MEM_READ_WRITE, size);
      void* const memory = memory_.emplace_back(allocateHostMemory(bytes)).get();
      return cl::Buffer(opened_->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, memory);
    });
  }

  bool isImage(const std::vector<std::size_t>& slot) const {
    return std::ranges::any_of(slot, [&](std::size_t b) { return plan().buffers[b].isImage; });
  }
  cl::Image2D createImage(const PlanBuffer& buffer, std::int64_t bytes) const {
    const cl::ImageFormat format(CL_RGBA, buffer.scalar == Scalar::f32 ? CL_FLOAT : CL_HALF_FLOAT);
    const auto rows = static_cast<std::size_t>(std::max<std::int64_t>(imageRows(buffer, bytes), 1));
    return guarded(fmt::format("create an image of {} rows", rows), [&] {
      return cl::Image2D(opened_->context, CL_MEM_READ_WRITE, format, ImageLayout::rowTexels, rows);
    });
  }

  // Some drivers have no queues with profiling.
  cl::CommandQueue makeQueue() {
    try {
      return cl::CommandQueue(opened_->context, opened_->device, cl::QueueProperties::Profiling);
    } catch (const cl::Error&) {
      timer_ = Timer::host;
    }
    return plainQueue();
  }
  cl::CommandQueue plainQueue() {
    return guarded("create a command queue on " + opened_->info.name,
                   [&] { return cl::CommandQueue(opened_->context, opened_->device); });
  }
  // Without profiling; a run has ended before the other queue is used.
  const cl::CommandQueue& untimedQueue() {
    if (untimed_() == nullptr) untimed_ = plainQueue();
    return untimed_;
  }

  void enqueue(const cl::CommandQueue& queue, const Binding& binding, const Launch& launch, const Geometry& g,
               cl::Event* event) {
    if (g.empty()) return;
    const Kernel& k = kernelOf(launch);
    cl::Kernel& compiled = built_.kernels[static_cast<std::size_t>(launch.kernel)];
    guarded("launch kernel " + k.name, [&] {
      setArguments(compiled, k, launch, binding, buffers_, setArguments_[static_cast<std::size_t>(launch.kernel)]);
      try {
        return queue.enqueueNDRangeKernel(compiled, cl::NullRange, cl::NDRange(g.global[0], g.global[1], g.global[2]),
                                          cl::NDRange(g.local[0], g.local[1], g.local[2]), nullptr, event);
      } catch (const cl::Error& error) {
        if (error.err() == CL_INVALID_WORK_GROUP_SIZE || error.err() == CL_OUT_OF_RESOURCES)
          refuseGroup(k, compiled, g);
        throw;
      }
    });
  }

  // A compiler may allow a kernel less than the device's limit: registers are shared by the group. What it reports is
  // not asked before, since some drivers report less than they run.
  void refuseGroup(const Kernel& k, const cl::Kernel& compiled, const Geometry& g) const {
    const std::size_t items = g.local[0] * g.local[1] * g.local[2];
    const std::size_t allowed = compiled.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(opened_->device);
    if (items > allowed)
      throw UserError(ExitStatus::device,
                      fmt::format("kernel {} has work-groups of {} work-items; as compiled for {} it allows {}", k.name,
                                  items, opened_->info.name, allowed),
                      fmt::format("--max-group {} makes them smaller", allowed));
  }

  void checkStatus(const Launch& launch, const cl::Event& event) const {
    guarded("run kernel " + kernelOf(launch).name, [&] {
      const cl_int status = event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>();
      return status < 0 ? throw cl::Error(status, "the launch") : status;
    });
  }

  // By the device's clock; 0 where it has none.
  static double deviceTime(const cl::Event& event) {
    try {
      const cl_ulong begin = event.getProfilingInfo<CL_PROFILING_COMMAND_START>();
      const cl_ulong end = event.getProfilingInfo<CL_PROFILING_COMMAND_END>();
      return end > begin ? static_cast<double>(end - begin) * 1e-6 : 0.0;
    } catch (const cl::Error&) {
      return 0;
    }
  }

  // Destroyed from the last to the first: buffers and queue before the programs, the context at the end.
  std::shared_ptr<const Opened> opened_;
  BuiltKernels built_;
  Timer timer_ = Timer::device;
  cl::CommandQueue queue_;           // with profiling, where there is any
  cl::CommandQueue untimed_;         // of runs whose launches are timed together; created for the first of them
  std::vector<HostMemory> memory_;   // what large buffers are, on a processor
  std::vector<cl::Memory> buffers_;  // one per plan buffer; temporaries of one slot share theirs
  std::vector<std::vector<cl_mem>> setArguments_;            // of each kernel, in these launches
  std::optional<std::map<NatVar, std::int64_t>> allocated_;  // the sizes for which the buffers are
};

class OpenClDeviceImpl : public Device {
 public:
  explicit OpenClDeviceImpl(std::shared_ptr<const Opened> opened) : opened_(std::move(opened)) {}

  const DeviceInfo& info() const override { return opened_->info; }

 protected:
  std::unique_ptr<Executable> loadChecked(const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes,
                                          const LoadOptions& options) override {
    if (opened_->team && isForTeams(plan)) return loadOnTeam(opened_->team, opened_->info, plan, sizes, options);
    return std::make_unique<OpenClExecutable>(opened_, plan, sizes, options);
  }

 private:
  std::shared_ptr<const Opened> opened_;
};

// Compilers of OpenCL 1.1 refuse the options that kernels are built with, some without a word in their log.
void requireLanguage(const DeviceInfo& d) {
  int major = 0, minor = 0;
  if (std::sscanf(d.languageVersion.c_str(), "OpenCL C %d.%d", &major, &minor) != 2) return;  // not said
  if (std::pair(major, minor) < std::pair(1, 2))
    throw UserError(ExitStatus::device,
                    fmt::format("{} of platform {} takes OpenCL C {}.{}, kernels are OpenCL C 1.2", d.name, d.platform,
                                major, minor),
                    "`liftc devices` shows which others there are");
}

}  // namespace

std::unique_ptr<Device> openOpenClDevice(const DeviceInfo& info) {
  for (OpenClDevice& d : findOpenClDevices()) {
    if (d.info.platformIndex != info.platformIndex || d.info.deviceIndex != info.deviceIndex) continue;
    requireLanguage(d.info);
    return guarded("open " + info.name, [&]() -> std::unique_ptr<Device> {
      Opened opened{std::move(d.info), d.device, cl::Context(d.device)};
      if (!d.members.empty()) opened.team = std::make_shared<OpenClTeam>(std::move(d.members));
      return std::make_unique<OpenClDeviceImpl>(std::make_shared<const Opened>(std::move(opened)));
    });
  }
  throw UserError(ExitStatus::device, fmt::format("device {} of platform {} is gone", info.deviceIndex, info.platform));
}

}  // namespace lift::runtime
