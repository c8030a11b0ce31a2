// What the subcommands of liftc share: options, inputs and outputs, devices, messages.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.hpp"
#include "lift/codegen.hpp"
#include "lift/device.hpp"
#include "lift/expr.hpp"
#include "lift/tensor.hpp"

namespace lift::liftc {

using Json = nlohmann::ordered_json;

}  // namespace lift::liftc

// A value of JSON as the string, number or bool that it is; an integer as a real number where the format is one's.
template <>
struct fmt::formatter<lift::liftc::Json> {
  std::string_view specification;  // what stands behind the colon

  constexpr auto parse(fmt::format_parse_context& context) {
    const auto end = std::find(context.begin(), context.end(), '}');
    specification = {context.begin(), end};
    return end;
  }
  template <class Context>
  auto format(const lift::liftc::Json& value, Context& context) const {
    const auto as = [&](const auto& held) {
      return fmt::format_to(context.out(), fmt::runtime(fmt::format("{{:{}}}", specification)), held);
    };
    const bool isReal = specification.find_first_of("efg") != std::string_view::npos;
    if (value.is_string()) return as(value.get_ref<const std::string&>());
    if (value.is_boolean()) return as(value.get<bool>());
    return value.is_number_float() || isReal ? as(value.get<double>()) : as(value.get<std::int64_t>());
  }
};

namespace lift::liftc {

using Tensors = std::map<std::string, Tensor>;

// A program file, its entry, and values for its sizes and tunables.
struct ProgramOptions {
  std::string file;
  std::string entry;
  std::vector<std::string> sizes;   // name=value
  std::vector<std::string> config;  // name=value,name=value

  void add(cli::App& app);
  void addValues(cli::App& app);  // --entry and --size, for commands that take other things than programs, too
  Program read() const;
  Program readAtValues() const;  // at the sizes that were given; the others stay symbolic
  std::map<std::string, std::int64_t> values() const;
  std::vector<std::string> words() const;  // arguments that say the same; the file by its name, without folders
};

// Where inputs come from and outputs go.
struct DataOptions {
  std::vector<std::string> inputs;   // name=file, or an .npz of several
  std::string fill;                  // zeros, ones, random:SEED
  std::vector<std::string> outputs;  // file, or name=file
  std::string expect;                // file to compare the output with
  double rtol = 1e-4;
  bool quiet = false;

  void add(cli::App& app);
};

struct DeviceOptions {
  std::string platform, device;
  std::string profile;            // a device that is not at hand, to compile for
  std::string target = "opencl";  // of what is compiled; or "c"
  std::string buildOptions;
  bool noCache = false;

  void add(cli::App& app);
  void addChoice(cli::App& app);   // which; part of `add`
  void addProfile(cli::App& app);  // --profile and --target, for commands that compile
  bool isGiven() const { return !platform.empty() || !device.empty(); }
  runtime::DeviceChoice choice() const;
  bool isEmulator() const;
  runtime::DeviceInfo info() const;  // without opening it
  // What to compile for where nothing is run: the profile asked for, else the device that `run` takes, else, where
  // there is none and none was asked for, "portable". For the target "c" it is this processor where none was asked for,
  // and other processors are taken as GCC serves them.
  runtime::DeviceInfo compilesFor() const;
  // Throws UserError (device) where a profile was asked for and a kernel exceeds it, as --config and --local can do,
  // and UserError (program) where --target c was and a kernel is no plain C.
  void checkFits(const kernel::Plan& plan) const;
  // Arguments by which other machines compile for the device that compilesFor() told.
  std::vector<std::string> words(const runtime::DeviceInfo& device) const;
  std::unique_ptr<runtime::Device> open() const;
  runtime::LoadOptions load() const;
};

// How code is generated, and what of it is shown.
struct CodegenOptions {
  std::vector<std::int64_t> local, groups;
  std::int64_t maxGroup = 0;
  std::vector<std::string> printAfter, skipPasses;
  bool finiteMath = false;
  std::string stopAfter;
  std::vector<std::string> constants;  // parameters whose contents stay
  bool checkBounds = false;
  bool timing = false;
  bool strictReductions = false;
  bool alignedVectors = false;  // kernel::OpenclOptions; no option, families say it
  bool explain = false;

  void add(cli::App& app);
  // These options, with groups that the device allows; nullptr: any.
  CodegenOptions within(const runtime::DeviceInfo* device) const;
  // Compiles, for a device in groups that it allows; prints stages and timing to standard error as asked. Nothing when
  // a stage to stop after was reached.
  std::optional<kernel::Plan> compile(const Program& program, double parseMilliseconds, CompileReport* report = nullptr,
                                      const runtime::DeviceInfo* device = nullptr) const;
  void checkConstants(const Program& program) const;  // throws UserError (usage) for one that it has no parameter for
  std::vector<std::string> words() const;             // arguments that say the same of the kernels
  CodegenOptions silent() const;                      // which print nothing
};

// Whether kernels are those that are made for no device in particular, so that no command need name one.
bool areForAny(const kernel::Plan& plan, const std::function<std::optional<kernel::Plan>()>& madeForAny);

// A command as a shell reads it: words with anything but letters, digits and some punctuation are quoted.
std::string commandLine(const std::vector<std::string>& words);
// The words of such a command. Throws UserError (program) where a quote is not closed.
std::vector<std::string> commandWords(const std::string& command);

// The integer that a text is. Throws UserError (usage), which names the option.
std::int64_t parseInteger(const std::string& text, const std::string& option);
// "name=value" pairs, also several in one argument separated by commas. Throws UserError (usage).
std::map<std::string, std::int64_t> parseValues(const std::vector<std::string>& arguments, const std::string& option);

// Throws UserError (usage) for a value of no size or tunable of the program, or out of its range.
void checkValues(const Program& program, const std::map<std::string, std::int64_t>& values);

// The program's inputs from files and fill; sizes are bound from the files' shapes and `values`.
struct Inputs {
  Tensors tensors;
  std::map<NatVar, std::int64_t> sizes;
};
// Throws UserError, naming the array, before anything is made that the device, or this machine, has no memory for.
Inputs makeInputs(const Program& program, const std::map<std::string, std::int64_t>& values, const DataOptions& data,
                  const runtime::DeviceInfo* device = nullptr);

// Throws UserError where the device, or this machine, has no memory for the arrays of a program of known sizes.
void checkMemory(const Program& program, const runtime::DeviceInfo& device);

// The same with every size and tunable replaced by its value.
Program atSizes(const Program& program, const std::map<NatVar, std::int64_t>& sizes);

// Writes outputs as asked, or shows them on standard output; compares with --expect. Returns the exit status.
int finishOutputs(const Tensors& outputs, const DataOptions& data, bool json, Json& report);

// Throws UserError (usage) for one of the options that was given, of which it says what they go with: "a program".
void refuse(const cli::App& sub, const std::vector<std::string>& options, const std::string& with);
// The same of programs' sizes and layers' layouts, where what is given is no program, or no layer.
void refuseValues(const cli::App& sub);
void refuseLayouts(const cli::App& sub, const std::string& with);
// Throws UserError (usage) unless just one of what excludes one another is given; each has a name.
void checkOne(const std::vector<std::pair<bool, std::string>>& all, const std::string& wanted, const std::string& hint);

// What a subcommand does, and its exit status; prints diagnostics of a UserError and turns it into the exit status.
void onCall(cli::App& sub, int& status, std::function<int()> body);

// GFLOP/s of so many operations; 0 where there is no time.
double gflops(std::int64_t operations, double milliseconds);

// The text of JSON, in which what is no UTF-8 (a file's name may be none) is replaced; on one line where `indent` is
// -1.
std::string dump(const Json& json, int indent = 2);
void printJson(const Json& json);
std::string reasonOf(const Json::exception& e);  // without the library's "[json.exception…]"

// These throw UserError (program) with the reason.
void makeFolderOf(const std::filesystem::path& path);  // where it is to be written
void writeFile(const std::filesystem::path& path, const std::string& contents);

void addCheck(cli::App& app, int& status);
void addPrint(cli::App& app, int& status);
void addEval(cli::App& app, int& status);
void addCompile(cli::App& app, int& status);
void addRun(cli::App& app, int& status);
void addConv(cli::App& app, int& status);
void addOp(cli::App& app, int& status);
void addOffline(cli::App& app, int& status);
void addExplain(cli::App& app, int& status);
void addBench(cli::App& app, int& status);
void addBound(cli::App& app, int& status);
void addDevices(cli::App& app, int& status);
void addPrimitives(cli::App& app, int& status);
void addRules(cli::App& app, int& status);
void addRewrite(cli::App& app, int& status);
void addCache(cli::App& app, int& status);
void addTune(cli::App& app, int& status);
void addDb(cli::App& app, int& status);
void addReduce(cli::App& app, int& status);
void addTuneWorker(cli::App& app, int& status);
void addTuneChild(cli::App& app, int& status);

}  // namespace lift::liftc
