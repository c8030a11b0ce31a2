#include "common.hpp"

#include <fmt/format.h>

#include <cctype>
#include <iostream>
#include <sstream>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/inputs.hpp"
#include "lift/listed.hpp"
#include "lift/space.hpp"
#include "lift/text.hpp"

namespace lift::liftc {

void ProgramOptions::add(cli::App& app) {
  app.add_option("file", file, "Program (.lift); - reads standard input")->required();
  addValues(app);
  app.add_option("--config", config, "Values of tunables, k=v,k=v")->type_name("K=V,…");
}

void ProgramOptions::addValues(cli::App& app) {
  app.add_option("--entry", entry, "Definition of the program to use (default: main, else the last)");
  app.add_option("-s,--size", sizes, "Value of a size or tunable of the program, NAME=VALUE")->type_name("NAME=VALUE");
}

Program ProgramOptions::read() const { return readProgram(file, entry); }

Program ProgramOptions::readAtValues() const {
  const Program program = read();
  const auto given = values();
  checkValues(program, given);
  return atValues(program, given);
}

std::map<std::string, std::int64_t> ProgramOptions::values() const {
  auto values = parseValues(sizes, "--size");
  auto more = parseValues(config, "--config");
  values.merge(more);
  if (!more.empty())
    throw UserError(ExitStatus::usage, fmt::format("--config: --size gives '{}', too", more.begin()->first));
  return values;
}

std::vector<std::string> ProgramOptions::words() const {
  std::vector<std::string> words{std::filesystem::path(file).filename().string()};
  if (!entry.empty()) words.insert(words.end(), {"--entry", entry});
  for (const auto& [name, value] : values()) words.insert(words.end(), {"--size", fmt::format("{}={}", name, value)});
  return words;
}

void DeviceOptions::addChoice(cli::App& app) {
  app.add_option("--platform", platform, "OpenCL platform: index or part of its name (or LIFTC_PLATFORM)");
  app.add_option("--device", device,
                 "Device: index or part of its name; native: the processor, by a C compiler; emulator; null (or "
                 "LIFTC_DEVICE)");
}

void DeviceOptions::addProfile(cli::App& app) {
  app.add_option("--profile", profile,
                 "compile: for a device that is not at hand: portable (what every GPU has), mali-g72, adreno-630, "
                 "intel-gpu, amd-gfx1030, nvidia, generic-cpu, a file like an entry of `liftc devices --json`, or keys "
                 "of such a "
                 "file in place, type=gpu,max_work_group_size=256,…")
      ->type_name("NAME|FILE");
  app.add_option("--target", target, "opencl: kernels and host code; c: C functions with OpenMP, without OpenCL")
      ->oneOf({"opencl", "c"})
      ->capture_default_str();
}

void DeviceOptions::add(cli::App& app) {
  addChoice(app);
  app.add_option("--build-options", buildOptions, "Options for the device's compiler, e.g. -cl-fast-relaxed-math");
  app.add_flag("--no-cache", noCache, "Do not use the cache of compiled kernels");
}

runtime::DeviceChoice DeviceOptions::choice() const {
  runtime::DeviceChoice choice;
  if (!platform.empty()) choice.platform = platform;
  if (!device.empty()) choice.device = device;
  return choice;
}

bool DeviceOptions::isEmulator() const {
  return choice().withEnvironment().device == runtime::emulatorDeviceInfo().name;
}

runtime::DeviceInfo DeviceOptions::info() const { return runtime::findDevice(choice()); }

runtime::DeviceInfo DeviceOptions::compilesFor() const {
  const bool isC = target == "c";
  const auto byTarget = [&](runtime::DeviceInfo info) {
    if (info.type == "cpu" && info.takesC() != isC) info.languageVersion = isC ? "C11" : "";
    return info;
  };
  if (!profile.empty()) {
    if (!platform.empty() || !device.empty())
      throw UserError(ExitStatus::usage, "--profile stands in place of --platform and --device");
    return byTarget(runtime::readProfile(profile));
  }
  if (isC && platform.empty() && device.empty()) return runtime::nativeDeviceInfo();
  const runtime::DeviceChoice asked = choice().withEnvironment();
  const bool any = asked.platform || asked.device || runtime::haveOpenClDevice();
  return any ? byTarget(runtime::findDevice(asked)) : runtime::readProfile("portable");
}

void DeviceOptions::checkFits(const kernel::Plan& plan) const {
  if (target == "c")
    for (const kernel::Kernel& k : plan.kernels)
      if (const std::string why = kernel::whyNotC(k); !why.empty())
        throw UserError(ExitStatus::program, fmt::format("the kernel '{}' is no plain C: {}", k.name, why),
                        "compile it for OpenCL, or without mapLcl");
  if (profile.empty()) return;
  const runtime::DeviceInfo device = runtime::readProfile(profile);
  for (const kernel::Kernel& k : plan.kernels) runtime::checkNeeds(device, runtime::needsOf(k));
}

std::vector<std::string> DeviceOptions::words(const runtime::DeviceInfo& device) const {
  if (!profile.empty()) return {"--profile", std::filesystem::path(profile).filename().string()};
  if (target == "c") return {};  // is for this processor
  return {"--profile", device.description()};
}

bool areForAny(const kernel::Plan& plan, const std::function<std::optional<kernel::Plan>()>& madeForAny) {
  try {
    const auto other = madeForAny();
    return other && other->sources == plan.sources;
  } catch (const UserError&) {
    return false;
  }
}

std::unique_ptr<runtime::Device> DeviceOptions::open() const { return runtime::openDevice(choice()); }

runtime::LoadOptions DeviceOptions::load() const {
  runtime::LoadOptions options;
  options.buildOptions = buildOptions;
  options.cache = !noCache;
  return options;
}

void CodegenOptions::add(cli::App& app) {
  app.add_option("--local", local, "Work-group size per dimension, x,y,z")->delimiter(',')->expected(1, 3);
  app.add_option("--groups", groups, "Number of work-groups per dimension, x,y,z")->delimiter(',')->expected(1, 3);
  app.add_option("--max-group", maxGroup, "Most work-items in a group (default 256; on GPUs 1024 where groups are few)")
      ->positive();
  app.add_option("--print-after", printAfter, "Print what a stage produced (or all)")->type_name("STAGE");
  app.add_option("--stop-after", stopAfter, "Stop after a stage and print what it produced")->type_name("STAGE");
  app.add_option("--constant", constants, "Parameter whose contents stay: what depends on it alone is computed once")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--check-bounds", checkBounds,
               "Check indices and divisors when the kernels run, and report the first wrong one");
  app.add_option("--skip-pass", skipPasses, "Leave out an optimising pass")->type_name("PASS");
  app.add_flag("--strict-reductions", strictReductions,
               "Keep the order in which sums and products of floating-point numbers are rounded");
  app.add_flag(
      "--explain", explain,
      "Print what the default mapping keeps, divides and leaves in sequence, and why; which launches are saved");
  app.add_flag("--finite-math", finiteMath,
               "No value is infinite or NaN, and the sign of a zero means nothing: products with 0 vanish");
  app.add_flag("--timing", timing, "Print the compiler's time by stage, and what it could not do");
}

CodegenOptions CodegenOptions::within(const runtime::DeviceInfo* device) const {
  CodegenOptions options = *this;
  const auto usual = static_cast<std::uint64_t>(usualGroupSize);
  if (maxGroup == 0 && device != nullptr && device->maxWorkGroupSize > 0 && device->maxWorkGroupSize < usual)
    options.maxGroup = static_cast<std::int64_t>(device->maxWorkGroupSize);
  return options;
}

std::optional<kernel::Plan> CodegenOptions::compile(const Program& program, double parseMilliseconds,
                                                    CompileReport* report, const runtime::DeviceInfo* device) const {
  const std::string passNames = listed(kernel::passes(), &kernel::Pass::name);
  const auto checkStage = [&](const std::string& stage) {
    for (const char* s : {"map", "outline", "lower", "print"})
      if (stage == s) return;
    if (!kernel::passNamed(stage))
      throw UserError(ExitStatus::usage, fmt::format("unknown stage '{}'", stage),
                      "stages are map, outline, lower, " + passNames + ", print");
  };
  for (const std::string& stage : printAfter)
    if (stage != "all") checkStage(stage);
  if (!stopAfter.empty()) checkStage(stopAfter);
  for (const std::string& pass : skipPasses)
    if (!kernel::passNamed(pass))
      throw UserError(ExitStatus::usage, fmt::format("unknown pass '{}'", pass), "passes are " + passNames);

  struct Stop {};
  CompileOptions options;
  for (std::size_t d = 0; d < local.size(); d++) {
    if (local[d] < 1) throw UserError(ExitStatus::usage, "--local: sizes are at least 1");
    options.local[d] = local[d];
  }
  for (std::size_t d = 0; d < groups.size(); d++) {
    if (groups[d] < 1) throw UserError(ExitStatus::usage, "--groups: numbers are at least 1");
    options.groups[d] = groups[d];
  }
  if (const std::int64_t most = within(device).maxGroup; most > 0) options.maxGroupSize = most;
  options.passes.skip = skipPasses;
  options.mapping.strictReductions = strictReductions;
  options.passes.finiteMath = finiteMath;
  checkConstants(program);
  options.constants = constants;
  options.checkBounds = checkBounds;
  options.opencl.alignedVectors = alignedVectors;
  if (device != nullptr) options.target = parseDeviceLimits(device->toJson()).target;
  if (!printAfter.empty() || !stopAfter.empty())
    options.dump = [&](std::string_view stage, const std::string& text) {
      const auto wanted = [&](const std::string& s) { return s == stage || s == "all"; };
      if (std::ranges::any_of(printAfter, wanted)) std::cerr << fmt::format("-- after {}\n{}\n", stage, text);
      if (stopAfter != stage) return;
      std::cout << text;
      if (stage == "map" || stage == "outline") throw Stop{};  // the others come once for each kernel
    };
  CompileReport own;
  if (!report) report = &own;
  std::optional<kernel::Plan> plan;
  try {
    plan = lift::compile(program, options, report);
  } catch (const Stop&) {
    return std::nullopt;
  }
  if (!stopAfter.empty()) return std::nullopt;
  report->times.insert(report->times.begin(), {"parse", parseMilliseconds});
  if (explain)
    for (const auto& n : report->notes)
      if (n.pass == "map" || n.pass == "launches") std::cerr << n.text << "\n";
  if (timing) {
    std::cerr << fmt::format("{:<24}{:>10}\n", "stage", "ms");
    for (const auto& t : report->times) std::cerr << fmt::format("{:<24}{:>10.3f}\n", t.stage, t.milliseconds);
    std::cerr << fmt::format("{:<24}{:>10.3f}\n", "total", report->total());
    for (const auto& n : report->notes) std::cerr << fmt::format("note: {}: {}\n", n.pass, n.text);
  }
  return plan;
}

std::vector<std::string> CodegenOptions::words() const {
  std::vector<std::string> words;
  if (!local.empty()) words.insert(words.end(), {"--local", fmt::format("{}", fmt::join(local, ","))});
  if (!groups.empty()) words.insert(words.end(), {"--groups", fmt::format("{}", fmt::join(groups, ","))});
  if (maxGroup > 0) words.insert(words.end(), {"--max-group", std::to_string(maxGroup)});
  for (const std::string& name : constants) words.insert(words.end(), {"--constant", name});
  if (checkBounds) words.emplace_back("--check-bounds");
  if (strictReductions) words.emplace_back("--strict-reductions");
  if (finiteMath) words.emplace_back("--finite-math");
  for (const std::string& pass : skipPasses) words.insert(words.end(), {"--skip-pass", pass});
  return words;
}

void CodegenOptions::checkConstants(const Program& program) const {
  for (const std::string& name : constants)
    if (std::ranges::none_of(program.parameters, [&](Expr p) { return p.name() == name; }))
      throw UserError(
          ExitStatus::usage, fmt::format("--constant: '{}' has no parameter '{}'", program.name, name),
          program.parameters.empty() ? "" : "its parameters are " + listed(program.parameters, &Expr::name));
}

CodegenOptions CodegenOptions::silent() const {
  CodegenOptions options = *this;
  options.printAfter.clear();
  options.explain = options.timing = false;
  return options;
}

std::string commandLine(const std::vector<std::string>& words) {
  const auto quoted = [](const std::string& word) {
    const auto plain = [](unsigned char c) { return std::isalnum(c) || std::strchr("-_.,=/:+", c); };
    if (!word.empty() && std::ranges::all_of(word, plain)) return word;
    std::string out = "'";
    for (const char c : word) {
      if (c == '\'') out += "'\\'";
      out += std::iscntrl(static_cast<unsigned char>(c)) ? '?' : c;  // one line, whatever a file is called
    }
    return out + "'";
  };
  return listed(words, quoted, " ");
}

std::vector<std::string> commandWords(const std::string& command) {
  std::vector<std::string> words;
  bool inWord = false, inQuotes = false;
  for (std::size_t i = 0; i < command.size(); i++) {
    const char c = command[i];
    const bool separates = c == ' ' && !inQuotes;
    if (!separates && !inWord) words.emplace_back();
    inWord = !separates;
    if (separates) continue;
    if (c == '\'')
      inQuotes = !inQuotes;
    else if (c == '\\' && !inQuotes && i + 1 < command.size())
      words.back() += command[++i];
    else
      words.back() += c;
  }
  if (inQuotes) throw UserError(ExitStatus::program, fmt::format("a quote is not closed in the command: {}", command));
  return words;
}

std::int64_t parseInteger(const std::string& text, const std::string& option) {
  try {
    std::size_t used = 0;
    const std::int64_t value = std::stoll(text, &used);
    if (used == text.size()) return value;
  } catch (const std::out_of_range&) {
    throw UserError(ExitStatus::usage, fmt::format("{}: {} is out of range", option, text));
  } catch (const std::invalid_argument&) {
  }
  throw UserError(ExitStatus::usage, fmt::format("{}: '{}' is not an integer", option, text));
}

std::map<std::string, std::int64_t> parseValues(const std::vector<std::string>& arguments, const std::string& option) {
  std::map<std::string, std::int64_t> values;
  for (const std::string& argument : arguments) {
    std::stringstream parts(argument);
    std::string part;
    while (std::getline(parts, part, ',')) {
      const auto equals = part.find('=');
      if (equals == std::string::npos || equals == 0)
        throw UserError(ExitStatus::usage, fmt::format("{}: expected NAME=VALUE, found '{}'", option, part));
      const auto [at, isNew] = values.emplace(part.substr(0, equals), parseInteger(part.substr(equals + 1), option));
      if (!isNew) throw UserError(ExitStatus::usage, fmt::format("{}: '{}' is given twice", option, at->first));
    }
  }
  return values;
}

void checkValues(const Program& program, const std::map<std::string, std::int64_t>& values) {
  std::map<NatVar, Nat> given;
  for (const auto* list : {&program.sizes, &program.tunables})
    for (const NatVar v : *list)
      if (const auto value = values.find(v.name()); value != values.end()) given.emplace(v, value->second);
  for (const auto& [name, value] : values) {
    std::optional<NatVar> found;
    std::string known;
    for (const auto* list : {&program.sizes, &program.tunables})
      for (const NatVar v : *list) {
        if (v.name() == name) found = v;
        known += (known.empty() ? "" : ", ") + v.name();
      }
    if (!found)
      throw UserError(ExitStatus::usage, fmt::format("the program has no size '{}'", name),
                      known.empty() ? "all its sizes are constants" : "its sizes are " + known);
    const auto upper = found->upper() ? found->upper()->substitute(given).constant() : std::nullopt;
    if (value < found->lower() || (upper && value > *upper))
      throw UserError(ExitStatus::usage, fmt::format("{} = {} is out of range: {}{}", name, value,
                                                     upper ? "" : "at least ", found->lower()) +
                                             (upper ? fmt::format(" to {}", *upper) : ""));
  }
}

namespace {

// The body's exit status; diagnostics of a UserError are printed.
int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const UserError& e) {
    std::cerr << render(e.diagnostics());
    return static_cast<int>(e.status());
  } catch (const std::filesystem::filesystem_error& e) {
    std::cerr << fmt::format("error: '{}': {}\n", e.path1().string(), e.code().message());
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory\n";
  } catch (const std::exception& e) {  // InternalError, and what nobody expected
    std::cerr << fmt::format("liftc: internal error: {}\nThis is a bug of liftc; please report it with the command.\n",
                             e.what());
  }
  return static_cast<int>(ExitStatus::program);
}

}  // namespace

void refuse(const cli::App& sub, const std::vector<std::string>& options, const std::string& with) {
  for (const std::string& option : options)
    if (sub.count(option) > 0) throw UserError(ExitStatus::usage, fmt::format("{} goes with {}", option, with));
}

void refuseValues(const cli::App& sub) { refuse(sub, {"--size", "--entry"}, "a program"); }

void refuseLayouts(const cli::App& sub, const std::string& with) {
  refuse(sub, {"--in-layout", "--out-layout", "--weights-layout", "--elements"}, with);
}

void checkOne(const std::vector<std::pair<bool, std::string>>& all, const std::string& wanted,
              const std::string& hint) {
  std::vector<std::string> given;
  for (const auto& [isGiven, name] : all)
    if (isGiven) given.push_back(name);
  if (given.empty()) throw UserError(ExitStatus::usage, "give " + wanted, hint);
  if (given.size() > 1)
    throw UserError(ExitStatus::usage, fmt::format("{} and {} exclude each other", given[0], given[1]),
                    "give one alone: " + wanted);
}

void onCall(cli::App& sub, int& status, std::function<int()> body) {
  sub.callback([&status, body = std::move(body)] { status = guarded(body); });
}

double gflops(std::int64_t operations, double milliseconds) {
  return milliseconds > 0 ? static_cast<double>(operations) * 1e-6 / milliseconds : 0;
}

std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

std::string reasonOf(const Json::exception& e) {
  const std::string what = e.what();
  return what.substr(what.find("] ") + 2);
}

void printJson(const Json& json) { std::cout << dump(json) << "\n"; }

void makeFolderOf(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) throw UserError(ExitStatus::program, fmt::format("cannot write '{}': {}", path.string(), error.message()));
}

void writeFile(const std::filesystem::path& path, const std::string& contents) {
  makeFolderOf(path);
  lift::writeFile(path, contents);
}

}  // namespace lift::liftc
