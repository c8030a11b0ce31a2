// The best configuration known for a problem on a device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "lift/tune_db.hpp"

namespace lift::tune {
namespace {

// "Mali-G72" and "Mali-G76" are of one line, as are a "H100" and a "H200".
std::string productLine(const std::string& name) {
  const auto last = name.find_last_not_of("0123456789 ");
  return name.substr(0, last == std::string::npos ? 0 : last + 1);
}

// 0 where the row does not say.
int vectorWidthOf(const DeviceRow& device) {
  const auto properties = nlohmann::json::parse(device.properties, nullptr, false);
  return properties.is_object() ? properties.value("vector_width_f32", 0) : 0;
}

// Processors are alike when the same compiler makes code for the same vectors; who made them matters less.
bool sameArchitecture(const DeviceRow& a, const DeviceRow& b) {
  if (a.type != b.type) return false;
  if (a.type != "cpu") return a.vendor == b.vendor && productLine(a.name) == productLine(b.name);
  return a.platform == b.platform && vectorWidthOf(a) == vectorWidthOf(b);
}

// Processors whose vectors have other widths: register tiles of one spill on the other, or leave half of it unused.
bool haveOtherVectors(const DeviceRow& a, const DeviceRow& b) {
  if (a.type != "cpu" || b.type != "cpu") return false;
  const int one = vectorWidthOf(a), other = vectorWidthOf(b);
  return one > 0 && other > 0 && one != other;
}

// The fastest of each device, as a candidate.
void collect(std::vector<Best>& candidates, const Database& db, bool shipped, const std::string& problem,
             const DeviceRow& wanted, const Regenerate& regenerate) {
  for (const DeviceRow& device : db.devices()) {
    if (haveOtherVectors(device, wanted)) continue;
    if (auto best = fastestCurrent(db.select({.problem = problem, .device = device.id}), regenerate))
      candidates.push_back({std::move(best->measurement), matchOf(device, wanted), device, shipped, best->stale});
  }
}

}  // namespace

std::string_view name(Match match) {
  constexpr std::array<std::string_view, 4> names = {"exact", "architecture", "vendor", "any"};
  return names.at(static_cast<std::size_t>(match));
}

Match matchOf(const DeviceRow& known, const DeviceRow& wanted) {
  if (known.id == wanted.id) return Match::exact;
  if (sameArchitecture(known, wanted)) return Match::architecture;
  return known.vendor == wanted.vendor && known.type == wanted.type ? Match::vendor : Match::any;
}

std::string Best::str() const {
  constexpr std::array<std::string_view, 4> where = {"this device", "a device of this architecture",
                                                     "a device of this vendor", "another device"};
  const std::string which = match == Match::exact ? "" : fmt::format(", {}", device.name);
  const char* changed = areUnknown(measurement.key.kernels) ? "; of kernels that were not recorded"
                                                            : "; stale: its kernels have changed since";
  const std::string config = lift::str(measurement.key.config);
  return fmt::format("{}family {}, measured on {}{} ({:.3f} ms{}{})", config.empty() ? "" : config + " of ",
                     measurement.key.family, where.at(static_cast<std::size_t>(match)), which, measurement.median(),
                     shipped ? "; shipped with liftc" : "", stale ? changed : "");
}

std::optional<Best> bestFor(const Database* own, const Database& shipped, const std::string& problem,
                            const DeviceRow& device, const Regenerate& regenerate) {
  std::vector<Best> candidates;
  if (own != nullptr) collect(candidates, *own, false, problem, device, regenerate);
  collect(candidates, shipped, true, problem, device, regenerate);
  const auto sameVendor = [&](const Best& b) { return b.device.vendor == device.vendor; };
  const auto nearer = [&](const Best& a, const Best& b) {
    if (a.match != b.match) return a.match < b.match;
    if (a.stale != b.stale) return !a.stale;
    if (a.shipped != b.shipped) return !a.shipped;
    if (sameVendor(a) != sameVendor(b)) return sameVendor(a);
    return a.measurement.median() < b.measurement.median();
  };
  const auto best = std::ranges::min_element(candidates, nearer);
  return best == candidates.end() ? std::nullopt : std::optional(std::move(*best));
}

}  // namespace lift::tune
