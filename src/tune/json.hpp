// Measurements and rows as JSON: of export files, and between a sweep and its workers.
#pragma once

#include <nlohmann/json.hpp>

#include "lift/tune_db.hpp"

namespace lift::tune {

using Json = nlohmann::ordered_json;

// Of a Measurement, a ProblemRow, a DeviceRow or a DerivationRow.
template <class Row>
Json toJson(const Row& row);
// Throws nlohmann::json::exception for missing or ill-typed members.
template <class Row>
Row fromJson(const Json& j);

}  // namespace lift::tune
