// Workloads on the command line: from an operator's descriptor and a family's name to a plan, for every subcommand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common.hpp"
#include "lift/conv.hpp"
#include "lift/operator.hpp"
#include "lift/stopwatch.hpp"
#include "manifest.hpp"

namespace lift::liftc {

// --in-layout, --out-layout and --weights-layout, where `any` is freeLayouts'; --elements.
struct LayoutOptions {
  std::string input = "nhwc", output = "nhwc", weights = "ohwi", elements = "f32";
  std::int64_t lanes = 16;  // of the registers that `any` is for

  void add(cli::App& app);
  LayoutOptions on(const DeviceOptions& device) const;  // `any` for that device
  ConvLayouts of(const ConvSpec& layer) const;
  // The same, those of `any` natural.
  LayoutOptions natural() const;
  Workload workload(const ConvSpec& layer) const;
};

// What names a workload on the command line: {"conv", DESCRIPTOR} or {"op", NAME, DESCRIPTOR}, and the options that
// belong to it.
struct WorkloadWords {
  std::vector<std::string> command, options;
};
WorkloadWords wordsOf(const Workload& workload);
// The options of `liftc tune` and `liftc bench` that name it: "--conv ic64…".
std::vector<std::string> problemWords(const Workload& workload);
// What it is, for reports: {"conv": …} or {"op": …, "descriptor": …}.
Json toJson(const Workload& workload);
// How long each launch took: [{"kernel": …, "ms": …}].
Json toJson(const std::vector<runtime::LaunchTime>& launches);
// The operators that come with liftc, and those that a program registered before.
Workload workloadNamed(const std::string& op, const std::string& descriptor);

struct CompiledWorkload {
  kernel::Plan plan;
  std::string family;
  std::string origin;  // of family and config: "the family's default", "kappa=4 of …"
  Config config;
  bool measured = false;       // by the tuner
  Json parts = Json::array();  // of the family `parts`: how each is derived
  double tolerance = 0;
  double milliseconds = 0;  // of compilation, without the driver's
  Provenance provenance;
};

// Commands that only read make no file. Throws UserError (program) where there is none.
tune::Database openExistingDatabase(const std::filesystem::path& path);

// --family and --config. Without --config the best configuration known for the workload on the device is taken
// (tune_db.hpp), of the given family or of any; where nothing is known, the family's default.
struct FamilyOptions {
  std::string family;               // empty: any, or the workload's first
  std::vector<std::string> config;  // name=value,name=value
  std::string db;                   // where tuning's results are; empty: the default
  bool noTuned = false;
  std::int64_t maxWorkspace = anyWorkspace;  // bytes

  void add(cli::App& app);
  void addOfProgram(cli::App& app);  // of a program, which has --config already
  void addMaxWorkspace(cli::App& app);
  void checkWorkspace(const kernel::Plan& plan) const;  // throws UserError where it needs more
  bool isWithin(const kernel::Plan& plan) const;        // of known sizes: whether it needs no more
  // Where --max-workspace is given: tells which family was taken, and which were not for what they need.
  void tellWithin(const std::string& taken, const std::string& origin) const;
  std::vector<std::string> words() const;                // arguments that say the same
  std::string familyOf(const Workload& workload) const;  // the one asked for, else the first
  // The one place where a family's name becomes a plan. Nothing when a stage to stop after was reached. Throws
  // UserError (usage) for a tunable that the family does not have. Without a device the family's defaults are taken,
  // whatever their needs.
  std::optional<CompiledWorkload> compile(const Workload& workload, const CodegenOptions& codegen,
                                          const runtime::DeviceInfo* device = nullptr) const;

  // What tuning has found, to read: nothing where --config or --no-tuned say that it does not count, or there is none.
  std::optional<tune::Database> known() const;

 private:
  void addKnown(cli::App& app);
};

// The tuning database that was asked for, else the default one.
std::filesystem::path databasePath(const std::string& asked);

// A variant at a configuration; what `config` leaves out is the variant's default. `start` is when its derivation
// began: part of the compiler's time.
std::optional<CompiledWorkload> compileAt(const Variant& variant, const Config& config, const CodegenOptions& codegen,
                                          const Stopwatch& derivation, const runtime::DeviceInfo* device = nullptr);

// `liftc explain` of a workload, with the kernels generated again; as it is compiled for the device, if there is one.
int explain(const Workload& workload, const FamilyOptions& family, bool json, const runtime::DeviceInfo* device);

// Descriptors, one a line, of `op` where the line does not begin with the name of another operator: "gemm m64n64k64".
// Blank lines and comments as in readShapes. A file without a descriptor is a UserError (program); errors are reported
// at their places in the file.
std::vector<Workload> readWorkloads(const std::string& path, const std::string& op, const LayoutOptions& layouts);
// The same where only layers are taken: other operators are a UserError (program).
std::vector<ConvSpec> readLayers(const std::string& path);

}  // namespace lift::liftc
