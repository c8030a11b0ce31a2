// Measurements and rows as JSON: of export files, and between a sweep and its workers.
#pragma once

#include <nlohmann/json.hpp>

#include "lift/tune_db.hpp"

namespace lift::tune {

using Json = nlohmann::ordered_json;

Json toJson(const Measurement& m);
Json toJson(const ProblemRow& row);
Json toJson(const DeviceRow& row);
Json toJson(const DerivationRow& row);

// These throw nlohmann::json::exception for missing or ill-typed members.
Measurement measurementFrom(const Json& j);
ProblemRow problemFrom(const Json& j);
DeviceRow deviceFrom(const Json& j);
DerivationRow derivationFrom(const Json& j);

}  // namespace lift::tune
