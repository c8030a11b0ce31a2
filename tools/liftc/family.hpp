// Convolution families on the command line: from a layer and a family's name to a plan, for every subcommand.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common.hpp"
#include "lift/conv.hpp"
#include "lift/conv_family.hpp"
#include "lift/tune.hpp"
#include "manifest.hpp"

namespace liftc {

// --in-layout, --out-layout and --weights-layout.
struct LayoutOptions {
  std::string input = "nhwc", output = "nhwc", weights = "ohwi";

  void add(cli::App& app);
  lift::ConvLayouts layouts() const;
  std::vector<std::string> words() const;  // that give these options again
};

Json toJson(const lift::ConvLayouts& layouts);

struct CompiledLayer {
  lift::kernel::Plan plan;
  lift::ConvLayouts layouts;
  std::string family;
  std::string origin;                          // of family and config: "the family's default", "kappa=4 of …"
  std::map<std::string, std::int64_t> config;  // values of the family's tunables
  double milliseconds = 0;                     // of compilation, without the driver's
  Provenance provenance;
};

// Commands that only read make no file. Throws UserError (program) where there is none.
lift::tune::Database openExistingDatabase(const std::filesystem::path& path);

// What tuning knows a layer by; its name does not matter.
std::string problemKey(lift::ConvSpec spec, const lift::ConvLayouts& layouts);
lift::tune::ProblemRow problemRow(const lift::ConvSpec& spec, const LayoutOptions& layouts);

// --family and --config. Without --config the best configuration known for the layer on the device is taken
// (tune_db.hpp), of the given family or of any; where nothing is known, the family's default.
struct FamilyOptions {
  std::string family = "blocked";
  std::vector<std::string> config;  // name=value,name=value
  LayoutOptions layouts;
  std::string db;  // where tuning's results are; empty: the default
  bool noTuned = false;

  void add(cli::App& app);
  std::filesystem::path databasePath() const;
  std::vector<std::string> families() const;  // the one that was asked for, else all
  // The one place where a family's name becomes a plan. Nothing when a stage to stop after was reached. Throws
  // UserError (usage) for a tunable that the family does not have. Without a device the family's defaults are taken,
  // whatever their needs.
  std::optional<CompiledLayer> compile(const lift::ConvSpec& spec, const CodegenOptions& codegen,
                                       const lift::runtime::DeviceInfo* device = nullptr) const;

 private:
  cli::Option* familyOption_ = nullptr;
};

// The variant with defaults that the device can hold: lowered (space.hpp) where the family's are beyond its limits.
lift::ConvVariant variantFor(const lift::ConvSpec& spec, std::string_view family, const lift::ConvLayouts& layouts,
                             const lift::runtime::DeviceInfo& device);

// A variant at a configuration; what `config` leaves out is the variant's default. `start` is when its derivation
// began: part of the compiler's time.
std::optional<CompiledLayer> compileVariant(const lift::ConvVariant& variant, const lift::ConvConfig& config,
                                            const CodegenOptions& codegen, std::chrono::steady_clock::time_point start);

// The plans of a layer's configurations.
lift::tune::PlanOf layerPlan(const lift::ConvVariant& variant);

// lift::readShapes; a file without a layer is a UserError (program).
std::vector<lift::ConvSpec> readLayers(const std::string& path);

}  // namespace liftc
