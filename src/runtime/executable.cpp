// What all devices share: the order of checks and steps of a run, and the statistics of a measurement.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"

namespace lift::runtime {
namespace {

double sum(const std::vector<LaunchTime>& times) {
  double total = 0;
  for (const LaunchTime& t : times) total += t.milliseconds;
  return total;
}

std::vector<LaunchTime> named(const kernel::Plan& plan, const std::vector<kernel::Launch>& launches,
                              const std::vector<double>& milliseconds) {
  ensure(launches.size() == milliseconds.size(), "one time for each launch");
  std::vector<LaunchTime> times;
  for (std::size_t i = 0; i < launches.size(); i++)
    times.push_back({plan.kernels[static_cast<std::size_t>(launches[i].kernel)].name, milliseconds[i]});
  return times;
}

}  // namespace

namespace {

std::atomic<int> driversAtWork = 0;

// While it lives, the device's driver builds or runs something.
class DriverAtWork {
 public:
  explicit DriverAtWork(const DeviceInfo& device) : isDriver_(!device.builtIn()) { driversAtWork += int{isDriver_}; }
  ~DriverAtWork() { driversAtWork -= int{isDriver_}; }
  DriverAtWork(const DriverAtWork&) = delete;
  DriverAtWork& operator=(const DriverAtWork&) = delete;

 private:
  const bool isDriver_;
};

}  // namespace

bool isDriverAtWork() noexcept { return driversAtWork > 0; }

double quantile(std::vector<double> values, double part) {
  ensure(!values.empty(), "quantile of nothing");
  std::ranges::sort(values);
  const double at = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double fraction = at - static_cast<double>(below), low = values[below];
  const double high = fraction > 0 ? values[below + 1] : low;
  return low == high ? low : low + fraction * (high - low);  // of infinite values, too
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double spread(const std::vector<double>& values) {
  const double middle = values.size() < 2 ? 0 : median(values);
  return middle > 0 ? (quantile(values, 0.75) - quantile(values, 0.25)) / middle : 0;
}

double Execution::milliseconds() const { return sum(launches); }

double Timing::median() const {
  std::vector<double> values;
  for (const Repetition& r : repetitions) values.push_back(r.milliseconds);
  return runtime::median(std::move(values));
}

// ------------------------------------------------------------------------------------------------------ executables

Executable::Executable(const DeviceInfo& info, const kernel::Plan& plan,
                       const std::map<std::string, std::int64_t>& sizes)
    : info_(info), plan_(plan), sizes_(sizes) {
  // A driver's words for arithmetic that the device has not are many; the limits of groups may depend on sizes.
  for (const kernel::Kernel& k : plan_.kernels) {
    const KernelNeeds needs = needsOf(k);
    checkNeeds(info_, {.kernel = k.name, .f64 = needs.f64, .h16 = needs.h16});
  }
}

Executable::~Executable() = default;

const Binding& Executable::binding() const {
  ensure(binding_ != nullptr, "an executable runs when its inputs are prepared");
  return *binding_;
}

Executable::Prepared Executable::prepare(const std::map<std::string, Tensor>& inputs) {
  binding_.reset();
  Binding binding = bindSizes(plan_, typesOf(inputs), sizes_);
  for (const auto& [name, tensor] : inputs)
    ensure(static_cast<std::int64_t>(tensor.bytes.size()) ==
               tensor.size() * static_cast<std::int64_t>(lift::info(tensor.scalar).bytes),
           "the bytes of a tensor do not fit its shape");
  const DeviceMemory memory = deviceMemoryOf(plan_, binding);
  checkLimits(info_, plan_, binding, memory);
  const DriverAtWork atWork(info_);
  upload(binding, memory, inputs);
  Prepared prepared{
      named(plan_, plan_.preparation, launch(binding, plan_.preparation, {}, 1, Timed::eachLaunch).launches),
      memory.use};
  binding_ = std::make_unique<const Binding>(std::move(binding));
  return prepared;
}

int runsInBatch(double milliseconds, double batchMilliseconds) {
  constexpr double most = 2048;
  return static_cast<int>(std::clamp(batchMilliseconds / std::max(milliseconds, 1e-6), 1.0, most));
}

Repetition Executable::repeat(int runs) {
  const DriverAtWork atWork(info_);
  Repetition r = launch(binding(), plan_.launches, plan_.loops, runs, Timed::eachLaunch);
  for (double ms : r.launches) r.milliseconds += ms;
  return r;
}

double Executable::repeatTogether(int runs) {
  const DriverAtWork atWork(info_);
  return launch(binding(), plan_.launches, plan_.loops, runs, Timed::together).wallMilliseconds;
}

std::map<std::string, Tensor> Executable::outputs() {
  const DriverAtWork atWork(info_);
  std::map<std::string, Tensor> all = download(binding());
  if (!plan_.faults) return all;
  const Tensor record = all.extract(plan_.buffers[static_cast<std::size_t>(*plan_.faults)].name).mapped();
  const auto site = static_cast<std::size_t>(std::max(0.0, record.get(0)));  // all bytes 0xFF: -1
  if (site == 0) return all;
  ensure(site <= plan_.sites.size(), "a fault at a site of the plan");
  const kernel::Site& s = plan_.sites[site - 1];
  throw UserError(ExitStatus::program, fmt::format(fmt::runtime(s.message), record.get(1), record.get(2)), {}, s.span);
}

Execution Executable::run(const std::map<std::string, Tensor>& inputs) {
  Prepared prepared = prepare(inputs);
  const Repetition r = repeat();
  Execution e;
  e.wallMilliseconds = r.wallMilliseconds;
  e.launches = named(plan_, plan_.launches, r.launches);
  e.preparation = std::move(prepared.launches);
  e.memory = prepared.memory;
  e.outputs = outputs();
  e.timer = timer();
  return e;
}

Timing Executable::measure(const std::map<std::string, Tensor>& inputs, const MeasureOptions& options) {
  ensure(options.repetitions >= 1, "a measurement needs a repetition");
  Prepared prepared = prepare(inputs);
  Timing t;
  t.preparation = std::move(prepared.launches);
  t.memory = prepared.memory;
  int runs = 1;
  for (int i = -options.warmup; i < options.repetitions && !t.stopped; i++) {
    Repetition r = repeat(runs);
    runs = runsInBatch(std::max(r.milliseconds, r.wallMilliseconds), options.batchMilliseconds);
    t.stopped = r.milliseconds > options.stopAboveMilliseconds;
    if (i >= 0 || t.stopped) t.repetitions.push_back(std::move(r));
  }
  std::vector<double> medians;
  for (std::size_t l = 0; l < plan_.launches.size(); l++) {
    std::vector<double> times;
    for (const Repetition& r : t.repetitions) times.push_back(r.launches[l]);
    medians.push_back(runtime::median(std::move(times)));
  }
  t.launches = named(plan_, plan_.launches, medians);
  if (options.outputs) t.outputs = outputs();
  t.timer = timer();
  return t;
}

// ---------------------------------------------------------------------------------------------------------- devices

Device::~Device() = default;

std::unique_ptr<Executable> Device::load(const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes,
                                         const LoadOptions& options) {
  verify(plan);
  const DriverAtWork atWork(info());
  return loadChecked(plan, sizes, options);
}

}  // namespace lift::runtime
