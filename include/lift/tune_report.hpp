// The report of tuning: one HTML file that needs no network.
#pragma once

#include <string>
#include <vector>

#include "lift/tune_db.hpp"

namespace lift::tune {

// For each problem, of what was measured on the device: the best time against the points tried; time against
// workspace, with the Pareto front; the best parameters; how sensitive the time is to each tunable; every point with
// the command that measures it again. For all of them together: throughput and memory by layer, beside peers where the
// database has them (peerFamily).
// Empty `problems`: all. Tables and charts are plain HTML and SVG; light or dark as the reader's system is.
std::string report(const Database& database, const std::string& device, const std::vector<std::string>& problems = {});

}  // namespace lift::tune
