// Convolution families on the command line: from a layer and a family's name to a plan, for every subcommand.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common.hpp"
#include "lift/conv.hpp"
#include "lift/conv_family.hpp"

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

// A variant at a configuration; what `config` leaves out is the variant's default. `start` is when its derivation
// began: part of the compiler's time.
std::optional<CompiledLayer> compileVariant(const lift::ConvVariant& variant, const lift::ConvConfig& config,
                                            const CodegenOptions& codegen, std::chrono::steady_clock::time_point start);

// lift::readShapes; a file without a layer is a UserError (program).
std::vector<lift::ConvSpec> readLayers(const std::string& path);

}  // namespace liftc
