// Programs on the command line: from a file to a plan.
#pragma once

#include <optional>
#include <string>

#include "common.hpp"
#include "manifest.hpp"
#include "workload.hpp"

namespace lift::liftc {

// The plan of a program: by the family asked for, else part by part where a part has a family, else by the default
// mapping.
struct CompiledProgram {
  kernel::Plan plan;
  double milliseconds = 0;  // of compilation
  std::string family = {}, origin = {};
  Provenance provenance = {};  // but for the command
  FamilyOptions asked = {};    // options that ask for the same
  Json parts = Json::array();
};
// Nothing when a stage to stop after was reached.
std::optional<CompiledProgram> compileProgram(const Program& program, const FamilyOptions& family,
                                              const CodegenOptions& codegen, double parseMilliseconds,
                                              const runtime::DeviceInfo* device);

}  // namespace lift::liftc
