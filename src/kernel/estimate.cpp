// What a plan promises before it runs.
#include <algorithm>
#include <array>
#include <cmath>

#include "lift/kernel_passes.hpp"

namespace lift::kernel {
namespace {

// What processors with vectors of 256 bits have, and a work-item of a graphics processor at half occupancy, about.
constexpr double vectorBytes = 32, registerBytes = 32 * vectorBytes;
constexpr double scalarBytes = 4;

// Accesses or operations of any width as instructions on vectors of the device's width.
double instructions(double count, double bytes) { return std::max(count, bytes / vectorBytes); }

double instructionsOf(const Counts& c) {
  double total = c.laneMoves;
  for (const Traffic& t : {c.global, c.local, c.priv})
    total += instructions(t.loads, t.bytesLoaded) + instructions(t.stores, t.bytesStored);
  // Of values that live through a loop, those that registers do not hold are loaded and stored by each operation.
  const auto live = static_cast<double>(c.liveBytes);
  const double spilled = live > registerBytes ? 1 - registerBytes / live : 0;
  return total + instructions(c.operations, c.flops * scalarBytes) * (1 + 2 * spilled);
}

double valueOf(Nat n) { return static_cast<double>(n.constant().value_or(1)); }

// Counts of all launches of a plan: sums of what is executed, and of the kernel with the most instructions what
// describes one kernel.
struct Totals {
  Counts sum, heaviest;
  double instructions = 0, most = -1, launches = 0, statements = 0;
  double groups = 1, groupSize = 1;  // of the heaviest

  void add(const Kernel& kernel, double times) {
    const Counts c = count(kernel);
    sum.flops += c.flops * times;
    sum.integerOps += c.integerOps * times;
    sum.operations += c.operations * times;
    sum.laneMoves += c.laneMoves * times;
    sum.barriers += c.barriers * times;
    statements += c.statements * times;
    sum.global += c.global * times;
    sum.local += c.local * times;
    sum.priv += c.priv * times;
    const double own = instructionsOf(c);
    instructions += own * times;
    launches += times;
    if (own <= most) return;
    most = own;
    heaviest = c;
    groups = groupSize = 1;
    for (std::size_t d = 0; d < 3; d++) {
      groupSize *= valueOf(kernel.range.local[d]);
      groups *= valueOf(kernel.range.global[d]) / std::max(1.0, valueOf(kernel.range.local[d]));
    }
  }
};

Totals totalsOf(const Plan& plan) {
  Totals totals;
  const std::vector<double> times = timesOfLaunches(plan, [](Nat n) { return n.constant().value_or(1); });
  for (std::size_t i = 0; i < times.size(); i++)
    if (times[i] > 0) totals.add(plan.kernels[static_cast<std::size_t>(plan.launches[i].kernel)], times[i]);
  return totals;
}

struct PlanBytes {
  double tensors = 0, temporaries = 0;  // inputs and outputs; the rest
};

PlanBytes bytesOf(const Plan& plan) {
  PlanBytes bytes;
  for (const PlanBuffer& b : plan.buffers)
    (b.role == PlanBuffer::Role::temporary ? bytes.temporaries : bytes.tensors) +=
        valueOf(b.count()) * static_cast<double>(info(b.scalar).bytes);
  return bytes;
}

struct Feature {
  std::string_view name;
  double (*of)(const Totals& t, const PlanBytes& bytes);
};

double perOperation(const Totals& t, double count) { return count / std::max(1.0, t.sum.flops + t.sum.integerOps); }

// clang-format off
constexpr std::array<Feature, 24> features = {{
    {"instructions", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.instructions); }},
    {"operations", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.sum.operations); }},
    {"global_loads", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.sum.global.loads); }},
    {"global_stores", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.sum.global.stores); }},
    {"global_bytes_loaded", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.sum.global.bytesLoaded); }},
    {"global_bytes_stored", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.sum.global.bytesStored); }},
    {"local_accesses", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.sum.local.loads + t.sum.local.stores); }},
    {"private_accesses", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.sum.priv.loads + t.sum.priv.stores); }},
    {"lane_moves", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.sum.laneMoves); }},
    {"barriers", [](const Totals& t, const PlanBytes&) { return perOperation(t, t.sum.barriers); }},
    {"operations_by_byte", [](const Totals& t, const PlanBytes& b) { return t.sum.flops / std::max(1.0, b.tensors); }},
    {"traffic_over_tensors", [](const Totals& t, const PlanBytes& b) { return (t.sum.global.bytesLoaded + t.sum.global.bytesStored) / std::max(1.0, b.tensors); }},
    {"temporaries_over_tensors", [](const Totals&, const PlanBytes& b) { return b.temporaries / std::max(1.0, b.tensors); }},
    {"tensor_bytes", [](const Totals&, const PlanBytes& b) { return b.tensors; }},
    {"launches", [](const Totals& t, const PlanBytes&) { return t.launches; }},
    {"statements", [](const Totals& t, const PlanBytes&) { return t.statements; }},
    {"heaviest_share", [](const Totals& t, const PlanBytes&) { return t.most / std::max(1.0, t.instructions); }},
    {"groups", [](const Totals& t, const PlanBytes&) { return t.groups; }},
    {"group_size", [](const Totals& t, const PlanBytes&) { return t.groupSize; }},
    {"instructions_by_item", [](const Totals& t, const PlanBytes&) { return t.most / std::max(1.0, t.groups * t.groupSize); }},
    {"live_bytes", [](const Totals& t, const PlanBytes&) { return static_cast<double>(t.heaviest.liveBytes); }},
    {"private_array_bytes", [](const Totals& t, const PlanBytes&) { return static_cast<double>(t.heaviest.privateArrayBytes); }},
    {"local_bytes", [](const Totals& t, const PlanBytes&) { return static_cast<double>(t.heaviest.localBytes); }},
    {"bytes_by_group", [](const Totals& t, const PlanBytes&) { return (t.heaviest.global.bytesLoaded + t.heaviest.global.bytesStored) / std::max(1.0, t.groups); }},
}};
// clang-format on

}  // namespace

Traffic Traffic::operator*(double times) const {
  return {loads * times, stores * times, bytesLoaded * times, bytesStored * times};
}

Traffic& Traffic::operator+=(const Traffic& other) {
  loads += other.loads;
  stores += other.stores;
  bytesLoaded += other.bytesLoaded;
  bytesStored += other.bytesStored;
  return *this;
}

double estimateOf(const Plan& plan) { return totalsOf(plan).instructions; }

Forecast forecastOf(const Plan& plan) {
  constexpr double none = 1e-6;  // what is not there at all, beside what is per operation
  const Totals totals = totalsOf(plan);
  const PlanBytes bytes = bytesOf(plan);
  Forecast forecast{totals.instructions, {}};
  for (const Feature& f : features)
    forecast.features.push_back(static_cast<float>(std::log2(std::max(none, f.of(totals, bytes)))));
  return forecast;
}

const std::vector<std::string_view>& featureNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Feature& f : features) all.push_back(f.name);
    return all;
  }();
  return names;
}

}  // namespace lift::kernel
