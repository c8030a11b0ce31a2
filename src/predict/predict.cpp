#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lift/diagnostic.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/plan_memory.hpp"
#include "lift/predict.hpp"

namespace lift {
namespace {

using runtime::DeviceInfo;

// Accesses that the kernel's text has, each once.
double accessesInText(const kernel::Kernel& k) {
  double n = 0;
  kernel::forEachStmt(
      k.body, [&](const kernel::Stmt& s) { kernel::forEachAccess(s, [&](kernel::BufferId, Nat, int, bool) { n++; }); });
  return n;
}

// By how much a compiler's spills multiply the accesses: what it spills is in the loops, as what is accessed is.
double spillFactor(const kernel::Kernel& k, const KernelStatistics* s) {
  if (s == nullptr || s->spills.value_or(0) == 0) return 1;
  return 1 + static_cast<double>(*s->spills) / std::max(1.0, accessesInText(k));
}

KernelPrediction predictKernel(const kernel::Kernel& k, const DeviceInfo& device, const KernelStatistics* statistics) {
  const runtime::Throughput& t = device.throughput;
  const KernelWork w = workOf(k, device);
  KernelPrediction p;
  p.kernel = k.name;
  const double units = std::max(1, device.computeUnits);
  // Of the units, those that have work; of what a unit holds, at least what hides the latency of its pipes.
  const double rounds = w.groups / units;
  const double busy = rounds <= 1 ? rounds : rounds / std::ceil(rounds);
  const double itemsOfUnit = w.items / std::min(units, std::max(1.0, w.groups));
  const double hidden = t.bundle > 1 ? std::min(1.0, itemsOfUnit / static_cast<double>(t.itemsPerUnit)) : 1.0;
  p.filled = busy * std::max(hidden, 1.0 / 16);
  const double idleLanes = w.bundles * t.bundle / std::max(1.0, w.items);
  const double cycles = units * p.filled * device.clockMHz * 1e3 * t.efficiency / 100;  // of a millisecond
  const double ofHalves = t.halfFmaPerCycle > 0 ? t.halfFmaPerCycle : t.fmaPerCycle;
  const double lanes = (w.operations - w.halves) / t.fmaPerCycle + w.halves / ofHalves;  // cycles of a unit
  p.arithmetic = t.bundle > 1 ? lanes * idleLanes / cycles : std::max(w.instructions / 2, lanes) / cycles;
  // Images are read by a pipe of their own, where there is one.
  const double imageLines = t.texelsPer100Cycles > 0 ? w.imageLines : 0;
  p.accesses = (w.lines - imageLines) * spillFactor(k, statistics) / (cycles * t.accessesPer100Cycles / 100);
  if (imageLines > 0) p.images = imageLines / (cycles * t.texelsPer100Cycles / 100);
  p.cache = w.groupBytes / (device.clockMHz * 1e3 * t.cachePerCycle);
  // What the last cache does not hold comes again for each group.
  const double held = std::min(1.0, static_cast<double>(device.cacheBytes) / std::max(1.0, w.bufferBytes));
  p.memory = (w.bufferBytes + (1 - held) * std::max(0.0, w.groupBytes - w.bufferBytes) / 8) / (t.bandwidth * 1e3);
  p.launch = t.launchNanoseconds * 1e-6;
  const std::pair<double, const char*> parts[] = {{p.arithmetic, "arithmetic"},
                                                  {p.accesses, "loads and stores"},
                                                  {p.images, "images"},
                                                  {p.cache, "cache"},
                                                  {p.memory, "memory"}};
  const auto slowest = *std::max_element(std::begin(parts), std::end(parts));
  p.milliseconds = slowest.first + p.launch;
  p.limit = slowest.first < p.launch ? "launch" : slowest.second;
  return p;
}

void checkThroughput(const DeviceInfo& device) {
  if (!canPredict(device))
    throw UserError(ExitStatus::usage, fmt::format("the profile of {} does not say how fast it is", device.name),
                    "docs/predictions.md lists the keys; the profiles mali-g72 and generic-cpu have them");
}

class Predictor final : public tune::Measurer {
 public:
  Predictor(const tune::Problem& problem, DeviceInfo device) : problem_(problem), device_(std::move(device)) {}

  void measure(const tune::Feed& feed, const tune::BestMs&,
               const std::function<void(std::size_t, tune::Measurement)>& done, const tune::Stop& stop,
               const tune::Stop& late) override {
    std::size_t number = 0;
    for (auto tasks = feed(); !tasks.empty(); tasks = feed())
      for (const tune::Task& t : tasks) {
        if (stop() || late()) return;
        done(number++, predicted(t.point));
      }
  }
  std::vector<std::vector<double>> retime(const std::vector<tune::Point>& points, int, const tune::Stop&) override {
    return std::vector<std::vector<double>>(points.size());  // it would say the same again
  }

 private:
  tune::Measurement predicted(const tune::Point& point) const {
    tune::Measurement m;
    m.key.family = point.family;
    m.key.config = point.config;
    try {
      const kernel::Plan plan = problem_.subspace(point.family).plan(point.config);
      m.key.kernels = tune::kernelIdentity(plan);
      m.workspaceBytes = kernel::workspaceOf(plan);
      m.times = {predict(plan, device_).milliseconds};
      m.detail = "predicted, not measured";
    } catch (const UserError& e) {
      m.status = tune::Status::buildError;
      m.detail = e.diagnostics().front().message;
    }
    return m;
  }

  const tune::Problem& problem_;
  const DeviceInfo device_;
};

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) end++;
    for (std::size_t k = i; k < end; k++)
      rank[order[k]] = static_cast<double>(i + end - 1) / 2;  // of equal ones the mean
    i = end;
  }
  return rank;
}

}  // namespace

bool canPredict(const DeviceInfo& device) {
  const runtime::Throughput& t = device.throughput;
  return device.computeUnits > 0 && device.clockMHz > 0 && device.cacheLineBytes > 0 && t.bundle > 0 &&
         t.fmaPerCycle > 0 && t.accessesPer100Cycles > 0 && t.itemsPerUnit > 0 && t.cachePerCycle > 0 &&
         t.bandwidth > 0 && t.efficiency > 0;
}

PlanPrediction predict(const kernel::Plan& plan, const DeviceInfo& device, const StatisticsByKernel& statistics) {
  checkThroughput(device);
  PlanPrediction all;
  std::map<int, KernelPrediction> known;
  const std::vector<double> times = kernel::timesOfLaunches(plan, [](Nat n) { return n.constant().value_or(1); });
  for (std::size_t i = 0; i < times.size(); i++) {
    if (times[i] == 0) continue;
    const int index = plan.launches[i].kernel;
    const kernel::Kernel& k = plan.kernels[static_cast<std::size_t>(index)];
    if (known.count(index) == 0) {
      const auto s = statistics.find(k.name);
      known[index] = predictKernel(k, device, s == statistics.end() ? nullptr : &s->second);
      all.kernels.push_back(known[index]);
    }
    all.milliseconds += known[index].milliseconds * times[i];
  }
  return all;
}

std::unique_ptr<tune::Measurer> makePredictor(const tune::Problem& problem, const DeviceInfo& device) {
  checkThroughput(device);
  return std::make_unique<Predictor>(problem, device);
}

double rankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> ra = ranks(a), rb = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < ra.size(); i++) {
    ab += (ra[i] - mean) * (rb[i] - mean);
    aa += (ra[i] - mean) * (ra[i] - mean);
    bb += (rb[i] - mean) * (rb[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace lift
