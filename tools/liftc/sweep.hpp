// Tuning from the command line: sweeps over problems, with progress, and what they found.
#pragma once

#include "problem.hpp"

namespace lift::liftc {

// The options of a sweep; those that are not of a problem.
struct SweepChoice {
  std::string shapes;                          // a file of layers, in place of ProblemChoice::conv
  tune::SweepOptions options{.explorer = {}};  // as far as the user says them; no explorer: "model", dry run "random"
  std::string timeLimit;                       // "90s", "10m", "2h"; empty: none
  int workers = 0;                             // 0: one for each core
  std::string config;                          // one point to measure, in place of a sweep…
  bool isPoint = false;                        // where it is given, which it is empty for a family without tunables
  bool dryRun = false;
  bool alone = false;     // models take no experience from the database
  std::string predicted;  // a profile: times are predicted for it, none is measured
  std::string db, report;
  std::string troubles;  // hidden: "3=loop,5=crash"
  bool json = false, quiet = false;

  void add(cli::App& app);
  void addMeasuring(cli::App& app);  // only how points are measured
};

// The best of a problem, as reports have it.
Json bestJson(const tune::ProblemRow& row, const tune::Measurement& best);

// The command that measures the point again on the device.
std::string againOn(const tune::DeviceRow& device, const tune::ProblemRow& row, const tune::Measurement& m);

// "1.234 ms, 5.6 GFLOP/s"; of what is not counted in operations the time alone.
std::string speed(const tune::ProblemRow& row, const tune::Measurement& m);

// Sweeps over the problem, or over all layers of the file of shapes. The exit status: 130 after Ctrl-C, as shells have
// it; what was measured is kept.
int runSweeps(const ProblemChoice& problem, const SweepChoice& sweep);

// Searches for the best configuration of an operator's workload for so many seconds; what was found is in the database
// (empty: the default one). In a process of its own, which takes the search's terms and sizes with it: those live as
// long as their process, and whoever benches hundreds of workloads would need tens of gigabytes. False after Ctrl-C.
bool tuneWorkload(const Workload& workload, const DeviceOptions& device, double seconds, const std::string& db,
                  bool quiet);

// What is predicted for the profile beside what was measured, on recorded sweeps (files of JSON lines).
int judgePredictions(const std::vector<std::string>& files, const std::string& profile, bool json);

// Table of explorers on recorded sweeps (files of JSON lines): how many measurements until near the best, and how much
// slower than it the best found is after some, and after so many seconds as they were recorded. `report`: a file for
// the same as HTML with plots, or empty.
int compareExplorers(const std::vector<std::string>& files, int seeds, double seconds, const std::string& report,
                     bool json);

}  // namespace lift::liftc
