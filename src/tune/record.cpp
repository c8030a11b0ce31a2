// Measurements: names, statistics, identities.
#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

constexpr std::array<std::string_view, 7> statusNames = {
    "ok", "skipped", "wrong", "build_error", "build_timeout", "run_timeout", "crash"};
constexpr std::array<std::string_view, 2> stageNames = {"sweep", "retime"};

// By linear interpolation between the order statistics.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

std::string_view name(Status status) { return statusNames.at(static_cast<std::size_t>(status)); }
std::optional<Status> statusNamed(std::string_view name) { return lookup<Status>(statusNames, name); }
std::string_view name(Stage stage) { return stageNames.at(static_cast<std::size_t>(stage)); }
std::optional<Stage> stageNamed(std::string_view name) { return lookup<Stage>(stageNames, name); }

double Measurement::median() const {
  return times.empty() ? std::numeric_limits<double>::infinity() : quantile(sorted(times), 0.5);
}

double Measurement::spread() const {
  const double middle = median();
  if (times.size() < 2 || middle <= 0) return 0;
  const std::vector<double> order = sorted(times);
  return (quantile(order, 0.75) - quantile(order, 0.25)) / middle;
}

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

namespace {
constexpr std::string_view peerPrefix = "peer:";
}

std::string peerFamily(std::string_view peer) { return std::string(peerPrefix) + std::string(peer); }

bool isPeer(const Measurement& measurement) { return measurement.key.family.rfind(peerPrefix, 0) == 0; }

std::string peerName(std::string_view family) { return std::string(family.substr(peerPrefix.size())); }

std::optional<Measurement> fastest(const std::vector<Measurement>& measurements) {
  const auto counts = [](const Measurement& m) { return m.valid() && !isPeer(m); };
  const bool again = std::any_of(measurements.begin(), measurements.end(),
                                 [&](const Measurement& m) { return counts(m) && m.key.stage == Stage::retime; });
  const Measurement* best = nullptr;
  for (const Measurement& m : measurements)
    if (counts(m) && (m.key.stage == Stage::retime || !again) && (best == nullptr || m.median() < best->median()))
      best = &m;
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::vector<std::size_t> paretoFront(const std::vector<Measurement>& measurements) {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < measurements.size(); i++)
    if (measurements[i].valid() && !isPeer(measurements[i])) points.push_back(i);
  const auto cost = [&](std::size_t i) { return std::pair(measurements[i].workspaceBytes, measurements[i].median()); };
  std::sort(points.begin(), points.end(), [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
  std::vector<std::size_t> front;
  for (const std::size_t i : points)
    if (front.empty() || measurements[i].median() < measurements[front.back()].median()) front.push_back(i);
  return front;
}

}  // namespace lift::tune
