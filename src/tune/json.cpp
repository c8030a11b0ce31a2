#include "json.hpp"

#include <cmath>
#include <limits>

namespace lift::tune {
namespace {

// JSON has no NaN: null stands for it.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double numberFrom(const Json& j) { return j.is_null() ? std::numeric_limits<double>::quiet_NaN() : j.get<double>(); }

// The library would convert whatever number there is, with undefined results for large ones.
std::int64_t integerFrom(const Json& j) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!j.is_number_integer() || (j.is_number_unsigned() && j.get<std::uint64_t>() > most))
    throw nlohmann::json::type_error::create(302, "expected an integer of 64 bits", &j);
  return j.get<std::int64_t>();
}

Config configFrom(const Json& j) {
  Config config;
  for (const auto& [name, value] : j.get<std::map<std::string, Json>>()) config[name] = integerFrom(value);
  return config;
}

template <class T>
T named(const Json& j, const char* member, std::optional<T> (*lookup)(std::string_view)) {
  const auto found = lookup(j.at(member).get<std::string>());
  if (!found) throw nlohmann::json::other_error::create(501, std::string("unknown ") + member, &j);
  return *found;
}

}  // namespace

Json toJson(const Measurement& m) {
  return {{"kind", "measurement"},
          {"problem", m.key.problem},
          {"device", m.key.device},
          {"kernels", m.key.kernels},
          {"family", m.key.family},
          {"config", m.key.config},
          {"stage", name(m.key.phase)},
          {"derivation", m.derivation},
          {"generator", m.generator},
          {"status", name(m.status)},
          {"times_ms", m.times},
          {"workspace_bytes", m.workspaceBytes},
          {"compile_ms", number(m.compileMs)},
          {"build_ms", number(m.buildMs)},
          {"first_ms", number(m.firstMs)},
          {"timing_ms", number(m.timingMs)},
          {"max_error", number(m.maxError)},
          {"tolerance", number(m.tolerance)},
          {"detail", m.detail},
          {"provenance", m.provenance},
          {"measured_at", m.measuredAt}};
}

Json toJson(const ProblemRow& row) {
  return {{"kind", "problem"},
          {"key", row.key},
          {"label", row.label},
          {"command", row.command},
          {"operations", row.operations},
          {"tensor_bytes", row.tensorBytes}};
}

Json toJson(const DeviceRow& row) {
  return {{"kind", "device"},         {"id", row.id},     {"name", row.name},     {"vendor", row.vendor},
          {"platform", row.platform}, {"type", row.type}, {"driver", row.driver}, {"properties", row.properties}};
}

Json toJson(const DerivationRow& row) { return {{"kind", "derivation"}, {"id", row.id}, {"text", row.text}}; }

Measurement measurementFrom(const Json& j) {
  Measurement m;
  m.key.problem = j.at("problem");
  m.key.device = j.at("device");
  m.derivation = j.at("derivation");
  m.generator = j.at("generator");
  // Schema 1 had no identities of kernels.
  m.key.kernels = j.contains("kernels") ? j["kernels"].get<std::string>() : unknownKernels(m.generator, m.derivation);
  m.key.family = j.at("family");
  m.key.config = configFrom(j.at("config"));
  m.key.phase = named(j, "stage", &phaseNamed);
  m.status = named(j, "status", &statusNamed);
  m.times = j.at("times_ms").get<std::vector<double>>();
  m.workspaceBytes = integerFrom(j.at("workspace_bytes"));
  m.compileMs = numberFrom(j.at("compile_ms"));
  m.buildMs = numberFrom(j.at("build_ms"));
  // Files of before these were told.
  if (j.contains("first_ms")) m.firstMs = numberFrom(j["first_ms"]);
  if (j.contains("timing_ms")) m.timingMs = numberFrom(j["timing_ms"]);
  m.maxError = numberFrom(j.at("max_error"));
  m.tolerance = numberFrom(j.at("tolerance"));
  m.detail = j.at("detail");
  m.provenance = j.at("provenance");
  m.measuredAt = j.at("measured_at");
  return m;
}

ProblemRow problemFrom(const Json& j) {
  return {j.at("key"), j.at("label"), j.at("command"), integerFrom(j.at("operations")),
          integerFrom(j.at("tensor_bytes"))};
}

DeviceRow deviceFrom(const Json& j) {
  return {j.at("id"), j.at("name"), j.at("vendor"), j.at("platform"), j.at("type"), j.at("driver"), j.at("properties")};
}

DerivationRow derivationFrom(const Json& j) { return {j.at("id"), j.at("text")}; }

}  // namespace lift::tune
