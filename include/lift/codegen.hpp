// From programs to plans: mapping, kernel boundaries, lowering, passes, OpenCL C.
//
//   program --(map: only where the user mapped nothing)--> mapped program --outline--> one term per kernel
//     --lower--> kernel tree --optimise--> kernel tree --print--> OpenCL C 1.2
//
// What contains OpenCL maps or reductions is compiled as written. What contains none, the whole program or what it
// keeps in memory by toGlobal outside of all functions, is given the default mapping first: outer maps over global
// dimensions, everything below sequential, and intermediates that would be computed more than once (or stand under
// toGlobal) in global memory, each by a kernel of its own; results of few operations that overlapping windows share are
// computed again instead.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/expr.hpp"
#include "lift/kernel.hpp"
#include "lift/kernel_passes.hpp"

namespace lift {

// Decisions that the default mapping leaves to the user.
struct MappingOptions {
  // Sums and products of floating-point numbers are rounded in the order of the elements: not divided, not
  // reassociated.
  bool strictReductions = false;
  // Elements of a chunk where a reduction is divided; 0: by what they cost.
  std::int64_t chunk = 0;
};

struct CompileOptions {
  MappingOptions mapping;
  // Work-group size per dimension; chosen from the program where not given.
  std::array<std::optional<std::int64_t>, 3> local;
  // Number of work-groups per dimension for mapWrg; as many as there is work where not given.
  std::array<std::optional<std::int64_t>, 3> groups;
  std::int64_t maxGroupSize = 256;  // work-items in a group, as the device allows or as is wanted
  // Parameters whose contents stay, e.g. the weights of a network: what depends on nothing else is computed once, by
  // the plan's preparation launches.
  std::vector<std::string> constants;
  // Kernels that check every index and divisor, and record the first that is wrong (Plan::faults).
  bool checkBounds = false;
  kernel::PassOptions passes;
  // Called with the text of every stage: "parse" is the caller's; then "map", "outline", "lower", each pass, "print".
  std::function<void(std::string_view stage, const std::string& text)> dump;
};

struct StageTime {
  std::string stage;
  double milliseconds = 0;
};
struct CompileReport {
  std::vector<StageTime> times;  // in order of first occurrence
  kernel::Notes notes;
  double total() const;
};

// Whether the program says itself where its work runs.
bool isMapped(const Program& program);

// A step of the default mapping: a rule that it applied, and where.
struct MappingStep {
  std::string_view rule;  // "reduceInChunks"
  std::string_view text;  // what it replaces: "reduce(z, f, xs) => …"
  std::string place;      // "reduce at dot.lift:3:5"; empty where it is the whole program
};

// The default mapping (see above); what is mapped already stays as it is. What it decided, and why, goes to the notes;
// the steps are what it did, in order: the same program has the same steps.
Program mapByDefault(const Program& program, const MappingOptions& options = {}, kernel::Notes* notes = nullptr,
                     std::vector<MappingStep>* steps = nullptr);

// Rules that OpenCL imposes: mapLcl only inside mapWrg, one mapping per dimension, no work-group map inside a
// work-item, no local memory outside of a group, … Throws UserError (status program) with all violations.
void checkMapping(const Program& program);

// The whole way. The plan's buffers are named as the parameters and "out", with the paths of leaves of tuples.
// Throws UserError (status program) for what cannot be compiled, e.g. private memory of symbolic size.
kernel::Plan compile(const Program& program, const CompileOptions& options = {}, CompileReport* report = nullptr);

}  // namespace lift
