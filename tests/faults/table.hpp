// The seeded faults: small mistakes as one makes them, each in one place of the product's sources.
//
// The sources themselves know nothing of them. seed_faults writes copies of the files concerned in which every fault
// can be switched on at run time; the test programs linked with these copies are the judges that must report it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lift::faults {

enum class Judge {
  nats,          // tests/nat: brute force at all points of the ranges
  views,         // tests/views: the naive algebra
  kernels,       // tests/kernel: random kernels, optimised, under the emulator
  programs,      // tests/programs: the catalogue under the emulator
  costs,         // tests/programs: how the work of the catalogue grows
  mapping,       // tests/codegen: which maps are dimensions, what is computed once
  differential,  // tests/differential: random programs, interpreter against emulator; random indices
  parts,         // tests/operators: patterns of parts, and the families that derive them
  searches,      // tests/tune: explorers, models, sweeps, databases
  predictions,   // tests/predict
  pocl,          // tests/differential_cl on PoCL
  oclgrind,      // the same under Oclgrind
};

struct Fault {
  std::string_view name;    // rows of one name are one fault
  std::string_view file;    // in src/
  std::string_view from;    // stands there exactly once
  std::string_view to;      // FAULT is whether the fault is on
  Judge judge;              // must report it
  std::string_view report;  // must stand in its report
};
const std::vector<Fault>& table();

// How often `what` stands in `text`.
int occurrences(const std::string& text, std::string_view what);

}  // namespace lift::faults
