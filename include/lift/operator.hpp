// Operators: what is computed, how results are judged, and which families of programs compute it, in one place that
// tuner, benchmarks and the command line read. Adding one is a folder (docs/adding_an_operator.md).
//
//   registerOperator({.name = "maxpool", .meaning = "…", .syntax = "…", .parse = parseMaxPool});
//   const Workload w = operatorNamed("maxpool").parse("c64 ih56 iw56 k2 s2");
//   const Variant v = derive(w, "lines");                              // a program with tunables
//   const kernel::Plan plan = compileVariant(v, v.defaults);
//
// A workload is an operator at sizes: a layer, or a program of the user's own. Its families are strategies that rewrite
// its program; a variant is the program that a family makes of it, symbolic in tunables; a configuration gives these
// values. All variants of a workload compute the same.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/codegen.hpp"
#include "lift/device.hpp"
#include "lift/expr.hpp"
#include "lift/rewrite.hpp"
#include "lift/space.hpp"
#include "lift/tensor.hpp"
#include "lift/tune.hpp"
#include "lift/tune_db.hpp"

namespace lift {

// ----------------------------------------------------------------------------------------------------- descriptions

struct PartedProgram;  // lift/parts.hpp
struct PartChoice;

// A family of implementations of one workload.
struct OperatorFamily {
  std::string name;
  std::string meaning;                              // one line
  std::function<void(rewrite::Rewriting&)> derive;  // rewrites the workload's program; empty: as it is
  Config defaults = {};                             // of the tunables that `derive` makes; good on some device
  double toleranceFactor = 1;                       // on Workload::tolerance, for algorithms that round more
  // The factor at a configuration, where some round less than others: toleranceFactor at most. Empty: of all the same.
  std::function<double(const Config&)> toleranceFactorAt = {};
  // Of a family that derives the program's parts one by one: these, from whose program `derive` starts, and how each is
  // derived.
  std::shared_ptr<const PartedProgram> parted = {};
  std::shared_ptr<const std::vector<PartChoice>> choices = {};
  // For graphics processors: the first choice there, not elsewhere; kernels are printed as these like them
  // (kernel::OpenclOptions).
  bool forGpus = false;
  // Of a part: not for graphics processors, which take the next one.
  bool forProcessors = false;
  // Good on the device, by a model of it: a point of the family's space, but for limits of the device. Empty: the
  // defaults are what is known.
  std::function<Config(const runtime::DeviceInfo&)> preferred = {};
  // Devices on which it comes before all other families.
  std::function<bool(const runtime::DeviceInfo&)> firstOn = {};
};

struct Workload {
  std::string op;                      // Operator::name
  std::string descriptor;              // canonical: the operator parses it to the same workload
  std::string label;                   // for people; may be empty
  Program program;                     // in the language, all sizes constant
  std::vector<std::string> constants;  // parameters whose contents stay from run to run, weights for instance
  std::int64_t operations = 0;         // of one run, as papers count them; 0: unknown
  std::int64_t tensorBytes = 0;        // of inputs and results together
  // Largest error that a right result may show, relative to max(|expected|, root mean square of all expected). It
  // follows from the element type and the length of reductions; 0 where results are exact.
  double tolerance = 0;
  // Inputs by the parameters' names. Empty: random numbers in [-1, 1).
  std::function<std::map<std::string, Tensor>(std::uint64_t seed)> inputs = {};
  // Results by name ("out"), computed without anything of the compiler. Empty: by the interpreter, which is slow.
  std::function<std::map<std::string, Tensor>(const std::map<std::string, Tensor>& inputs)> reference = {};
  std::string judge = {};                             // who computes the reference, for people
  std::vector<OperatorFamily> families = {};          // the first is the default
  std::map<std::string, std::string> refused = {};    // families that have no program for it, and why
  std::function<Program(const Program&)> outer = {};  // what surrounds a configured program, layouts for instance
  // Where the interpreter would take long for all: the elements of the result's outermost dimension that are judged,
  // and that `expected` gives. Empty: all.
  std::vector<std::int64_t> judgedRows = {};
  bool finiteMath = false;  // PassOptions::finiteMath: results of infinite or NaN inputs are not promised
  CompileTarget target;     // of the device that it is chosen or tuned for

  std::string key() const { return op + " " + descriptor; }   // what tuning knows it by
  const OperatorFamily& family(std::string_view name) const;  // throws UserError (usage)
  std::map<std::string, Tensor> makeInputs(std::uint64_t seed) const;
  std::map<std::string, Tensor> expected(const std::map<std::string, Tensor>& inputs) const;
};

// A term of a program that computes what a workload does.
struct OperatorMatch {
  std::string descriptor;    // of the workload
  std::vector<Expr> inputs;  // the arrays that the term reads: free variables, or computed
  std::string rule;          // restates the term as the workload's program between layouts: let input = … in …
  rewrite::Path program;     // where the workload's program is then
};

struct Operator {
  std::string name;
  std::string meaning;                                         // one line
  std::string syntax;                                          // of descriptors, for help
  std::function<Workload(std::string_view descriptor)> parse;  // throws UserError (program)
  // Whether a term, however it is written, computes what a workload of the operator does: parts of programs that do are
  // derived by its families (parts.hpp). Empty: none is recognised.
  std::function<std::optional<OperatorMatch>(Expr term)> recognise = {};
  std::vector<rewrite::Rule> rules = {};  // its own, by which terms are restated
};

// Throws UserError (usage) where there is one of the name.
void registerOperator(Operator op);
const std::vector<Operator>& operators();
const Operator& operatorNamed(std::string_view name);  // throws UserError (usage)

// A program of the user's, at its sizes, as a workload. Its family `programFamily` has the program's tunables; where it
// has none and says nothing of where it runs, `partsFamilyName` derives its parts (lift/parts.hpp), and is the first
// where there is a family for one of them. Throws UserError (program) where results depend on tunables, or no values
// satisfy what it requires.
inline constexpr const char* programFamily = "program";
Workload programWorkload(const Program& program, double tolerance, std::map<std::string, Tensor> inputs = {});

// --------------------------------------------------------------------------------------------------------- variants

struct Variant {
  Workload workload;
  std::string family;
  Program source;                  // the workload's program, with the tunables and conditions of `program`
  Program program;                 // derived from it; symbolic in its tunables
  rewrite::Derivation derivation;  // from `source` to `program`
  Config defaults;                 // valid
  double tolerance = 0;            // the family's

  // With the defaults of the tunables that it does not have, as records have not that are older than a tunable.
  Config completed(Config config) const;
  // At a configuration: `tolerance` at most. Throws as `configured` does.
  double toleranceAt(const Config& config) const;
};
Variant derive(const Workload& workload, std::string_view family);

// The variant's program at a configuration: values that the configuration leaves out are the default's. Throws
// UserError (usage) for a name that is no tunable of the variant, and for values that are out of range or break a
// condition, which it names.
Program configured(const Variant& variant, const Config& config);

// `options.constants` and `options.target` are the workload's, `options.opencl` the family's.
CompileOptions optionsOf(const Variant& variant, CompileOptions options = {});
kernel::Plan compileVariant(const Variant& variant, const Config& config, CompileOptions options = {},
                            CompileReport* report = nullptr);

// The limits of what variants are compiled to: a group of more work-items than usualGroupSize would have them take
// turns, each with the private memory of all.
DeviceLimits compiledWithin(DeviceLimits limits);
// The space of a variant's configurations on a device.
Space spaceOf(const Variant& variant, const DeviceLimits& limits, std::vector<Constraint> further = {});

// ----------------------------------------------------------------------------------------------------------- choosing

// A variant and a configuration, and why they were chosen.
struct Choice {
  Variant variant;
  Config config;
  std::string origin;  // "the family's default", "kappa=4 of family paper, measured on this device (0.81 ms)"
  bool measured = false;
};

constexpr std::int64_t anyWorkspace = std::numeric_limits<std::int64_t>::max();

struct ChoiceOptions {
  std::string family = {};                   // empty: any, or the first where nothing is known
  std::optional<Config> config = {};         // in place of the best known
  const tune::Database* own = nullptr;       // what the user has measured
  bool tuned = true;                         // false: the family's default, whatever is known
  std::int64_t maxWorkspace = anyWorkspace;  // bytes that the plan may use beside the tensors
};

// The configuration that was asked for, else the best known of the workload on the device, else the default of the
// first family that the device can hold, lowered to its limits; on a GPU of the first for GPUs, where there is one.
// Without a device, or with a pseudo device, nothing is known. What was measured on the device is passed over where the
// choice without it was not measured beside it and its kernels have less than half the instructions. Families that need
// more workspace than `maxWorkspace` are passed over; where all do, some other configurations of each are tried; throws
// UserError (program) where these need more, too.
Choice choose(const Workload& workload, const runtime::DeviceInfo* device, const ChoiceOptions& options = {});

// For models of processors: cache lines so many f32 apart that a cache holds at once. Those a multiple of the size of
// its ways apart are in the same set. Usual are 8 ways of 4 KiB, of which one is left to what else is read, and in the
// second cache 8 of 128 KiB.
enum class Cache : std::uint8_t { first, second };
std::int64_t linesHeld(std::int64_t apart, Cache cache = Cache::first);

// ------------------------------------------------------------------------------------------------------------- tuning

using FurtherConstraints = std::function<std::vector<Constraint>(const std::string& family, const Program& program)>;
// Of the families asked for, else of all that have tunables, of which those with too many values are passed over.
// `further` are constraints beside those of the program and the device. Searches begin with what `choose` takes where
// nothing was measured, then with the families' defaults; of families for other kinds of devices with nothing, unless
// they are asked for.
tune::Problem tuningProblem(const Workload& workload, const runtime::DeviceInfo& device,
                            const std::vector<std::string>& families = {}, const FurtherConstraints& further = {});

// The kernels of the workload's configurations as they are made now for a device; `families`: only of these, empty: of
// all.
tune::Regenerate regenerate(const Workload& workload, const DeviceLimits& limits, std::string buildOptions = {},
                            std::vector<std::string> families = {});

}  // namespace lift
