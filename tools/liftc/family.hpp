// Convolution families on the command line: from a layer and a family's name to a plan, for every subcommand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common.hpp"
#include "lift/conv.hpp"

namespace liftc {

struct CompiledLayer {
  lift::kernel::Plan plan;
  std::map<std::string, std::int64_t> config;  // values of the family's tunables
  double milliseconds = 0;                     // of compilation, without the driver's
};

// --family and --config.
struct FamilyOptions {
  std::string family = "blocked";
  std::vector<std::string> config;  // name=value,name=value

  void add(CLI::App& app);
  // The one place where a family's name becomes a plan. Nothing when a stage to stop after was reached. Throws
  // UserError (usage) for a tunable that the family does not have.
  std::optional<CompiledLayer> compile(const lift::ConvSpec& spec, const CodegenOptions& codegen) const;
};

// lift::readShapes; a file without a layer is a UserError (program).
std::vector<lift::ConvSpec> readLayers(const std::string& path);

}  // namespace liftc
