// What `liftc explain` tells of: a derivation, and the kernels at its end.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lift/rewrite.hpp"
#include "manifest.hpp"
#include "workload.hpp"

namespace lift::liftc {

// A program that is compiled as it is written has no steps.
struct Explained {
  std::string title;
  Json facts;  // of what, by which family, with which configuration
  std::map<std::string, std::int64_t> config;
  Program source;   // where the derivation starts
  Program program;  // what the strategy of today makes of it
  rewrite::Derivation derivation;
  std::function<kernel::Plan(const Program& derived)> generate;
  // For a program that is compiled as it is written: what the default mapping made of it, and what that decided.
  std::optional<Program> mapped;
  std::vector<std::string> notes;
  Program unmapped;                            // what it was made of
  rewrite::Derivation mapping;                 // by these steps
  Json parts = Json::array(), memory;          // of a program: its parts, and what its plan keeps between kernels
  std::int64_t operations = 0;                 // of a layer
  std::map<std::string, std::string> digests;  // of the kernels by name, as they are recorded
  std::string generator = liftc::generator;    // what recorded them
};

struct ExplainOptions {
  std::string what, diff;
  std::string op = "conv";  // the operator of descriptors
  FamilyOptions family;
  LayoutOptions layouts;
  ProgramOptions program;
  DeviceOptions device;  // of a program by what is known
  bool steps = false, replay = false, check = false, json = false;
};

// The digests of a plan's kernels, by their names.
std::map<std::string, std::string> digestsOf(const kernel::Plan& plan);
// `recorded` replaces the steps that the family takes now.
Explained ofWorkload(const Workload& workload, const FamilyOptions& family, const CodegenOptions& codegen,
                     const std::string& recorded = {}, const runtime::DeviceInfo* device = nullptr);
// As it is compiled for a device: by the best that is known of it there.
Explained onDevice(const Workload& workload, const FamilyOptions& family, const runtime::DeviceInfo& device);
// `what` is a file where one of that name exists, or where the name is that of a file; else a descriptor.
Explained explainedBy(const std::string& what, const ExplainOptions& o);

}  // namespace lift::liftc
