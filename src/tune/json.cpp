#include "json.hpp"

#include <cmath>
#include <limits>

#include "fields.hpp"

namespace lift::tune {
namespace {

Json valueOf(const auto& value) { return value; }
Json valueOf(Phase phase) { return name(phase); }
Json valueOf(Status status) { return name(status); }
// JSON has no NaN: null stands for it.
Json valueOf(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

void read(const Json& j, std::string& value) { value = j.get<std::string>(); }
void read(const Json& j, std::vector<double>& value) { value = j.get<std::vector<double>>(); }
void read(const Json& j, double& value) {
  value = j.is_null() ? std::numeric_limits<double>::quiet_NaN() : j.get<double>();
}
// The library would convert whatever number there is, with undefined results for large ones.
void read(const Json& j, std::int64_t& value) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!j.is_number_integer() || (j.is_number_unsigned() && j.get<std::uint64_t>() > most))
    throw nlohmann::json::type_error::create(302, "expected an integer of 64 bits", &j);
  value = j.get<std::int64_t>();
}
void read(const Json& j, Config& config) {
  for (const auto& [name, value] : j.get<std::map<std::string, Json>>()) read(value, config[name]);
}

template <class T>
T known(const Json& j, const char* what, std::optional<T> found) {
  if (!found) throw nlohmann::json::other_error::create(501, std::string("unknown ") + what, &j);
  return *found;
}
void read(const Json& j, Phase& phase) { phase = known(j, "stage", phaseNamed(j.get<std::string>())); }
void read(const Json& j, Status& status) { status = known(j, "status", statusNamed(j.get<std::string>())); }

// Whether files of before may lack the member: schema 1 had no identities of kernels, nor these times.
bool isLater(std::string_view member) { return member == "kernels" || member == "first_ms" || member == "timing_ms"; }

void complete(Measurement& m) {
  if (m.key.kernels.empty()) m.key.kernels = unknownKernels(m.generator, m.derivation);
}
void complete(auto& /*row*/) {}

}  // namespace

template <class Row>
Json toJson(const Row& row) {
  Json j{{"kind", kindOf(row)}};
  forEachField(row, [&](const char* name, const auto& value) { j[name] = valueOf(value); });
  return j;
}

template <class Row>
Row fromJson(const Json& j) {
  Row row;
  forEachField(row, [&](const char* name, auto& value) {
    if (!isLater(name) || j.contains(name)) read(j.at(name), value);
  });
  complete(row);
  return row;
}

template Json toJson(const Measurement&);
template Json toJson(const ProblemRow&);
template Json toJson(const DeviceRow&);
template Json toJson(const DerivationRow&);
template Measurement fromJson(const Json&);
template ProblemRow fromJson(const Json&);
template DeviceRow fromJson(const Json&);
template DerivationRow fromJson(const Json&);

}  // namespace lift::tune
