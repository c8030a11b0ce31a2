// The report of tuning: one HTML file that needs no network.
#pragma once

#include <string>
#include <vector>

#include "lift/tune_db.hpp"

namespace lift::tune {

// The command that measures the point again, without what names a device.
std::string commandOf(const ProblemRow& problem, const Measurement& m);

// For each problem, of what was measured on the device: the best time against the points tried; time against
// workspace, with the Pareto front; the best parameters; how sensitive the time is to each tunable; every point with
// the command that measures it again. For all of them together: throughput and memory by layer, beside peers where the
// database has them (peerFamily).
// Empty `problems`: all. Tables and charts are plain HTML and SVG; light or dark as the reader's system is.
std::string report(const Database& database, const std::string& device, const std::vector<std::string>& problems = {});

// Explorers on one recorded sweep: of each, how much slower than the best of the recording the best found is, after the
// first, the second, … measurement; medians over seeds.
struct Comparison {
  std::string title;
  std::size_t points = 0;
  double budgetSeconds = 60;
  struct Row {
    std::string explorer;
    double to5 = 0, to1 = 0;      // measurements until within 5 % and 1 % of the best
    std::vector<double> regrets;  // 0.1: 10 % slower; infinite where nothing has a time yet
    double regretAfter = 0;       // the budget's seconds
  };
  std::vector<Row> rows;
};

// One HTML file as above: for each recording a plot of the regrets, and the table.
std::string comparisonReport(const std::vector<Comparison>& comparisons, int seeds);

}  // namespace lift::tune
