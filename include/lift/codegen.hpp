// From programs to plans: kernel boundaries, lowering, passes, OpenCL C.
//
//   program --(map: what says not where it runs, by the default mapping, mapping.hpp)--> mapped program
//     --outline--> one term per kernel --lower--> kernel tree --optimise--> kernel tree --print--> OpenCL C 1.2
//
// A program that says where its work runs is compiled as written.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/compile_target.hpp"
#include "lift/expr.hpp"
#include "lift/kernel.hpp"
#include "lift/kernel_passes.hpp"
#include "lift/mapping.hpp"

namespace lift {

struct CompileOptions {
  MappingOptions mapping;
  // Work-group size per dimension; chosen from the program where not given.
  std::array<std::optional<std::int64_t>, 3> local;
  // Number of work-groups per dimension for mapWrg; as many as there is work where not given.
  std::array<std::optional<std::int64_t>, 3> groups;
  // Work-items in a group, as the device allows or as is wanted. Where it is not given as many as is usual, and on a
  // GPU four times as many in kernels of a few groups.
  std::optional<std::int64_t> maxGroupSize;
  // Parameters whose contents stay, e.g. the weights of a network: what depends on nothing else is computed once, by
  // the plan's preparation launches.
  std::vector<std::string> constants;
  CompileTarget target;
  // Kernels that check every index and divisor, and record the first that is wrong (Plan::faults).
  bool checkBounds = false;
  kernel::PassOptions passes;
  kernel::OpenclOptions opencl;
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

// Rules that OpenCL imposes: mapLcl only inside mapWrg, one mapping per dimension, no work-group map inside a
// work-item, no local memory outside of a group, … Throws UserError (status program) with all violations.
void checkMapping(const Program& program);

// The whole way. The plan's buffers are named as the parameters and "out", with the paths of leaves of tuples.
// Throws UserError (status program) for what cannot be compiled, e.g. private memory of symbolic size.
kernel::Plan compile(const Program& program, const CompileOptions& options = {}, CompileReport* report = nullptr);

}  // namespace lift
