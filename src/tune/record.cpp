// Measurements: names, statistics, identities.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "lift/diagnostic.hpp"
#include "lift/digest.hpp"
#include "lift/tune_db.hpp"

namespace lift::tune {
namespace {

constexpr std::size_t idCharacters = 16;  // of a digest: enough for a database of any size

std::string identity(const std::string& text) { return runtime::hex(runtime::sha256(text)).substr(0, idCharacters); }

template <class Enum, std::size_t n>
std::optional<Enum> lookup(const std::array<std::string_view, n>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

constexpr std::array<std::string_view, 7> statusNames = {
    "ok", "skipped", "wrong", "build_error", "build_timeout", "run_timeout", "crash"};
constexpr std::array<std::string_view, 2> phaseNames = {"sweep", "retime"};

}  // namespace

std::string_view name(Status status) { return statusNames.at(static_cast<std::size_t>(status)); }
std::optional<Status> statusNamed(std::string_view name) { return lookup<Status>(statusNames, name); }
std::string_view name(Phase phase) { return phaseNames.at(static_cast<std::size_t>(phase)); }
std::optional<Phase> phaseNamed(std::string_view name) { return lookup<Phase>(phaseNames, name); }

std::string utcNow() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

double Measurement::median() const {
  return times.empty() ? std::numeric_limits<double>::infinity() : runtime::median(times);
}

double Measurement::undisturbed() const {
  return times.empty() ? std::numeric_limits<double>::infinity() : runtime::quantile(times, 0.25);
}

double Measurement::spread() const { return runtime::spread(times); }

DeviceRow deviceRow(const runtime::DeviceInfo& info) {
  auto properties = nlohmann::ordered_json::parse(info.toJson());
  // Where it stands in the list, and what varies from day to day on one machine.
  for (const char* passing :
       {"platform_index", "device_index", "clock_mhz", "global_memory_bytes", "max_allocation_bytes"})
    ensure(properties.erase(passing) == 1, "a device property has another name now");
  DeviceRow row{{}, info.name, info.vendor, info.platform, info.type, info.driverVersion, properties.dump()};
  row.id = identity(row.properties);
  return row;
}

DerivationRow derivationRow(std::string text) { return {identity(text), std::move(text)}; }

std::string kernelIdentity(const kernel::Plan& plan, std::string_view buildOptions) {
  std::string text(buildOptions);
  const auto add = [&](const std::string& part) { text += '\0' + part; };
  for (const auto* launches : {&plan.preparation, &plan.launches}) {
    add("launches");
    for (const kernel::Launch& launch : *launches) {
      const auto k = static_cast<std::size_t>(launch.kernel);
      add(plan.sources[k]);
      for (const auto& extent : {plan.kernels[k].range.global, plan.kernels[k].range.local})
        for (const Nat n : extent) add(n.str());
      for (const int buffer : launch.arguments) add(std::to_string(buffer));
    }
  }
  for (const kernel::LaunchLoop& loop : plan.loops) {
    add(fmt::format("loop {} to {}, {} times", loop.first, loop.last, loop.count.str()));
    for (const auto& [a, b] : loop.swaps) add(fmt::format("{} and {}", a, b));
    if (loop.condition) add(fmt::format("while {} at {}", loop.condition->buffer, loop.condition->at));
  }
  for (const kernel::PlanBuffer& b : plan.buffers) add(b.count().str());
  return identity(text);
}

namespace {
constexpr std::string_view unknownPrefix = "unknown: ";
}

std::string unknownKernels(const std::string& generator, const std::string& derivation) {
  return fmt::format("{}{}, derivation {}", unknownPrefix, generator, derivation);
}

bool areUnknown(std::string_view kernels) { return kernels.starts_with(unknownPrefix); }

namespace {
constexpr std::string_view peerPrefix = "peer:";
}

std::string peerFamily(std::string_view peer) { return std::string(peerPrefix) + std::string(peer); }

bool isPeer(const Measurement& measurement) { return measurement.key.family.starts_with(peerPrefix); }

std::string peerName(std::string_view family) { return std::string(family.substr(peerPrefix.size())); }

namespace {

constexpr double alike = 1.02, farMore = 2;

// Valid measurements of ours, the fastest first: those that were made again, where there are any, else all. The first
// of them errs at most twice as much as any whose time cannot be told from its own.
std::vector<const Measurement*> ranked(const std::vector<Measurement>& measurements) {
  const auto counts = [](const Measurement& m) { return m.valid() && !isPeer(m); };
  const bool again = std::ranges::any_of(
      measurements, [&](const Measurement& m) { return counts(m) && m.key.phase == Phase::retime; });
  std::vector<const Measurement*> ranking;
  for (const Measurement& m : measurements)
    if (counts(m) && (m.key.phase == Phase::retime || !again)) ranking.push_back(&m);
  std::ranges::stable_sort(ranking, {}, [](const Measurement* m) { return m->undisturbed(); });
  const auto end = std::ranges::find_if(
      ranking, [&](const Measurement* m) { return m->undisturbed() > alike * ranking.front()->undisturbed(); });
  const auto exact = std::min_element(
      ranking.begin(), end, [](const Measurement* a, const Measurement* b) { return a->maxError < b->maxError; });
  if (exact != end && ranking.front()->maxError > farMore * (*exact)->maxError)
    std::rotate(ranking.begin(), exact, exact + 1);
  return ranking;
}

constexpr std::size_t mostRegenerated = 8;  // compiling costs some 10 ms each

}  // namespace

std::optional<Measurement> fastest(const std::vector<Measurement>& measurements) {
  const auto ranking = ranked(measurements);
  return ranking.empty() ? std::nullopt : std::optional(*ranking.front());
}

bool isClearlyBetter(const Measurement& a, const Measurement& b) {
  const double one = a.undisturbed(), other = b.undisturbed();
  return alike * one < other || (one <= alike * other && farMore * a.maxError < b.maxError);
}

std::optional<Current> fastestCurrent(const std::vector<Measurement>& measurements, const Regenerate& regenerate) {
  auto ranking = ranked(measurements);
  if (ranking.size() > mostRegenerated) ranking.resize(mostRegenerated);
  std::optional<Current> stale;
  for (const Measurement* m : ranking) {
    const std::string kernels = regenerate(m->key.family, m->key.config);
    if (kernels.empty()) continue;
    if (kernels == m->key.kernels) return Current{*m, false};
    if (!stale) stale = Current{*m, true};
  }
  return stale;
}

std::vector<std::size_t> paretoFront(const std::vector<Measurement>& measurements) {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < measurements.size(); i++)
    if (measurements[i].valid() && !isPeer(measurements[i])) points.push_back(i);
  const auto cost = [&](std::size_t i) { return std::pair(measurements[i].workspaceBytes, measurements[i].median()); };
  std::ranges::sort(points, [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
  std::vector<std::size_t> front;
  for (const std::size_t i : points)
    if (front.empty() || measurements[i].median() < measurements[front.back()].median()) front.push_back(i);
  return front;
}

}  // namespace lift::tune
