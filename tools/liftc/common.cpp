#include "common.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/inputs.hpp"
#include "lift/space.hpp"
#include "lift/text.hpp"

namespace liftc {

using lift::ExitStatus;
using lift::Tensor;
using lift::UserError;

namespace {

constexpr std::int64_t shownElements = 8;  // of a row, before the dots

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

// A plan that has only the program's inputs: what binding sizes needs.
lift::kernel::Plan signatureOf(const lift::Program& program) {
  lift::kernel::Plan plan;
  plan.name = program.name;
  plan.sizes = program.sizes;
  plan.sizes.insert(plan.sizes.end(), program.tunables.begin(), program.tunables.end());
  for (const lift::Expr p : program.parameters)
    for (const lift::Leaf& l : lift::leavesOf(p.type()))
      plan.buffers.push_back({p.name() + l.path, l.scalar, l.shape, lift::kernel::PlanBuffer::Role::input});
  return plan;
}

// Sizes and tunables that have no value and do not occur in the shapes of the inputs that are there.
void checkDetermined(const lift::Program& program, const lift::kernel::Plan& signature, const Tensors& tensors,
                     bool filled, const std::map<std::string, std::int64_t>& values) {
  const auto occurs = [&](lift::NatVar v, bool anywhere) {
    for (const auto& b : signature.buffers)
      if (anywhere || tensors.count(b.name))
        for (const lift::Nat n : b.shape)
          for (const lift::NatVar w : n.variables())
            if (w == v) return true;
    return false;
  };
  const auto determined = [&](lift::NatVar v) { return values.count(v.name()) || occurs(v, !filled); };
  for (const lift::NatVar t : program.tunables)
    if (!determined(t))
      throw UserError(ExitStatus::program, fmt::format("the tunable {} has no value", t.name()),
                      fmt::format("give one with --size {}=…", t.name()));
  for (const lift::NatVar s : program.sizes)
    if (!determined(s))
      throw UserError(
          ExitStatus::program, fmt::format("the size {} has no value", s.name()),
          fmt::format("give one with --size {}=…{}", s.name(), occurs(s, true) ? ", or an input that has it" : ""));
}

void fillTensor(Tensor& t, const std::string& fill, const std::string& name) {
  if (fill == "zeros") return;
  if (fill == "ones") {
    for (std::int64_t i = 0; i < t.size(); i++) t.set(i, 1);
    return;
  }
  const std::string prefix = "random:";
  if (fill == "random") return lift::fillRandom(t, 0, name);
  if (fill.rfind(prefix, 0) == 0)
    return lift::fillRandom(t, static_cast<std::uint64_t>(parseInteger(fill.substr(prefix.size()), "--fill")), name);
  throw UserError(ExitStatus::usage, fmt::format("--fill: unknown '{}'", fill), "use zeros, ones or random:SEED");
}

void show(std::ostream& out, const Tensor& t, std::size_t dimension, std::int64_t& at, std::size_t indent) {
  if (dimension == t.shape.size()) {
    const double v = t.get(at++);
    out << (std::isnan(v) ? "nan" : lift::isInteger(t.scalar) ? fmt::format("{:.0f}", v) : fmt::format("{:g}", v));
    return;
  }
  std::int64_t below = 1;
  for (std::size_t d = dimension + 1; d < t.shape.size(); d++) below *= t.shape[d];
  const std::int64_t n = t.shape[dimension];
  out << "[";
  for (std::int64_t i = 0; i < n; i++) {
    if (i) out << (dimension + 1 == t.shape.size() ? ", " : ",\n" + std::string(indent + 1, ' '));
    if (n > 2 * shownElements && i == shownElements) {
      out << "…";
      const std::int64_t skipped = n - 2 * shownElements;
      at += skipped * below;
      i += skipped - 1;
      continue;
    }
    show(out, t, dimension + 1, at, indent + 1);
  }
  out << "]";
}

bool isNpz(const std::string& path) { return path.size() > 4 && path.substr(path.size() - 4) == ".npz"; }

// Errors are taken relative to the expected tensor's largest value.
bool compareOutputs(const Tensors& outputs, const DataOptions& data, bool json, Json& report) {
  Tensors expected;
  if (isNpz(data.expect))
    expected = lift::readNpz(data.expect);
  else
    expected["out"] = lift::readTensorFile(data.expect);
  bool ok = true;
  double worst = 0;
  for (const auto& [name, e] : expected) {
    const auto found = outputs.find(name);
    if (found == outputs.end())
      throw UserError(ExitStatus::usage, fmt::format("--expect: the program has no output '{}'", name),
                      "several outputs are compared with the tensors of an .npz file");
    double scale = 0;
    for (std::int64_t i = 0; i < e.size(); i++) scale = std::max(scale, std::abs(e.get(i)));
    const lift::Difference d = lift::compare(found->second, e, scale);
    const bool same = d.sameShape && d.finite && d.maxRel <= data.rtol;
    ok = ok && same;
    worst = std::max(worst, d.maxRel);
    if (json || (same && data.quiet)) continue;
    if (!d.sameShape)
      std::cerr << fmt::format("{}: expected {}, got {}: WRONG\n", name, e.describe(), found->second.describe());
    else
      std::cerr << fmt::format("{}: largest error {:.3g}, tolerance {:.3g}: {}\n", name, d.maxRel, data.rtol,
                               same ? "ok" : fmt::format("WRONG at element {}", d.at));
  }
  report["max_rel_err"] = worst;
  report["ok"] = ok;
  return ok;
}

}  // namespace

void ProgramOptions::add(cli::App& app) {
  app.add_option("file", file, "Program (.lift); - reads standard input")->required();
  app.add_option("--entry", entry, "Definition to use (default: main, else the last)");
  app.add_option("-s,--size", sizes, "Value of a size or tunable, NAME=VALUE")->type_name("NAME=VALUE");
  app.add_option("--config", config, "Values of tunables, k=v,k=v")->type_name("K=V,…");
}

lift::Program ProgramOptions::read() const { return lift::readProgram(file, entry); }

lift::Program ProgramOptions::readAtValues() const {
  const lift::Program program = read();
  const auto given = values();
  checkValues(program, given);
  return lift::atValues(program, given);
}

std::map<std::string, std::int64_t> ProgramOptions::values() const {
  auto values = parseValues(sizes, "--size");
  values.merge(parseValues(config, "--config"));
  return values;
}

std::vector<std::string> ProgramOptions::words() const {
  std::vector<std::string> words{std::filesystem::path(file).filename().string()};
  if (!entry.empty()) words.insert(words.end(), {"--entry", entry});
  for (const auto& [name, value] : values()) words.insert(words.end(), {"--size", fmt::format("{}={}", name, value)});
  return words;
}

void DataOptions::add(cli::App& app) {
  app.add_option("-i,--input", inputs, "Input tensor NAME=FILE (.npy, .pgm, .ppm), or an .npz of several")
      ->type_name("NAME=FILE");
  app.add_option("--fill", fill, "Contents of inputs that no file gives: zeros, ones or random:SEED")->type_name("HOW");
  app.add_option("-o,--output", outputs, "Where the result goes: FILE, or NAME=FILE for a part of a tuple")
      ->type_name("FILE");
  app.add_option("--expect", expect, "Compare the result with this tensor; exit status 4 when it differs")
      ->type_name("FILE");
  app.add_option("--rtol", rtol, "Largest error for --expect, relative to the tensor's largest value")
      ->capture_default_str();
  app.add_flag("-q,--quiet", quiet, "Print nothing but errors");
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
                 "intel-gpu, amd-gfx1030, nvidia, generic-cpu, or a file like an entry of `liftc devices --json`")
      ->type_name("NAME|FILE");
}

void DeviceOptions::add(cli::App& app) {
  addChoice(app);
  app.add_option("--build-options", buildOptions, "Options for the device's compiler, e.g. -cl-fast-relaxed-math");
  app.add_flag("--no-cache", noCache, "Do not use the cache of compiled kernels");
}

lift::runtime::DeviceChoice DeviceOptions::choice() const {
  lift::runtime::DeviceChoice choice;
  if (!platform.empty()) choice.platform = platform;
  if (!device.empty()) choice.device = device;
  return choice;
}

bool DeviceOptions::isEmulator() const {
  return choice().withEnvironment().device == lift::runtime::emulatorDeviceInfo().name;
}

lift::runtime::DeviceInfo DeviceOptions::info() const { return lift::runtime::findDevice(choice()); }

lift::runtime::DeviceInfo DeviceOptions::compilesFor() const {
  if (!profile.empty()) {
    if (!platform.empty() || !device.empty())
      throw UserError(ExitStatus::usage, "--profile stands in place of --platform and --device");
    return lift::runtime::readProfile(profile);
  }
  const lift::runtime::DeviceChoice asked = choice().withEnvironment();
  const bool any = asked.platform || asked.device || lift::runtime::haveOpenClDevice();
  return any ? lift::runtime::findDevice(asked) : lift::runtime::readProfile("portable");
}

void DeviceOptions::checkFits(const lift::kernel::Plan& plan) const {
  if (profile.empty()) return;
  const lift::runtime::DeviceInfo device = lift::runtime::readProfile(profile);
  for (const lift::kernel::Kernel& k : plan.kernels) lift::runtime::checkNeeds(device, lift::runtime::needsOf(k));
}

std::unique_ptr<lift::runtime::Device> DeviceOptions::open() const { return lift::runtime::openDevice(choice()); }

lift::runtime::LoadOptions DeviceOptions::load() const {
  lift::runtime::LoadOptions options;
  options.buildOptions = buildOptions;
  options.cache = !noCache;
  return options;
}

void CodegenOptions::add(cli::App& app) {
  app.add_option("--local", local, "Work-group size per dimension, x,y,z")->delimiter(',')->expected(1, 3);
  app.add_option("--groups", groups, "Number of work-groups per dimension, x,y,z")->delimiter(',')->expected(1, 3);
  app.add_option("--max-group", maxGroup, "Most work-items in a group (default 256)");
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
  app.add_flag("--explain", explain, "Print what the default mapping keeps, divides and leaves in sequence, and why");
  app.add_flag("--finite-math", finiteMath,
               "No value is infinite or NaN, and the sign of a zero means nothing: products with 0 vanish");
  app.add_flag("--timing", timing, "Print the compiler's time by stage, and what it could not do");
}

CodegenOptions CodegenOptions::within(const lift::runtime::DeviceInfo* device) const {
  CodegenOptions options = *this;
  const auto usual = static_cast<std::uint64_t>(lift::CompileOptions().maxGroupSize);
  if (maxGroup == 0 && device != nullptr && device->maxWorkGroupSize > 0 && device->maxWorkGroupSize < usual)
    options.maxGroup = static_cast<std::int64_t>(device->maxWorkGroupSize);
  return options;
}

std::optional<lift::kernel::Plan> CodegenOptions::compile(const lift::Program& program, double parseMilliseconds,
                                                          lift::CompileReport* report,
                                                          const lift::runtime::DeviceInfo* device) const {
  std::string passNames;
  for (const auto& p : lift::kernel::passes()) passNames += fmt::format("{}{}", passNames.empty() ? "" : ", ", p.name);
  const auto checkStage = [&](const std::string& stage) {
    for (const char* s : {"map", "outline", "lower", "print"})
      if (stage == s) return;
    if (!lift::kernel::passNamed(stage))
      throw UserError(ExitStatus::usage, fmt::format("unknown stage '{}'", stage),
                      "stages are map, outline, lower, " + passNames + ", print");
  };
  for (const std::string& stage : printAfter)
    if (stage != "all") checkStage(stage);
  if (!stopAfter.empty()) checkStage(stopAfter);
  for (const std::string& pass : skipPasses)
    if (!lift::kernel::passNamed(pass))
      throw UserError(ExitStatus::usage, fmt::format("unknown pass '{}'", pass), "passes are " + passNames);

  struct Stop {};
  lift::CompileOptions options;
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
  for (const std::string& name : constants)
    if (std::none_of(program.parameters.begin(), program.parameters.end(),
                     [&](lift::Expr p) { return p.name() == name; }))
      throw UserError(ExitStatus::usage, fmt::format("--constant: '{}' has no parameter '{}'", program.name, name));
  options.constants = constants;
  options.checkBounds = checkBounds;
  options.opencl.alignedVectors = alignedVectors;
  options.wideCopies = device != nullptr && lift::parseDeviceLimits(device->toJson()).wideCopies;
  if (!printAfter.empty() || !stopAfter.empty())
    options.dump = [&](std::string_view stage, const std::string& text) {
      const auto wanted = [&](const std::string& s) { return s == stage || s == "all"; };
      if (std::any_of(printAfter.begin(), printAfter.end(), wanted))
        std::cerr << fmt::format("-- after {}\n{}\n", stage, text);
      if (stopAfter != stage) return;
      std::cout << text;
      if (stage == "map" || stage == "outline") throw Stop{};  // the others come once for each kernel
    };
  lift::CompileReport own;
  if (!report) report = &own;
  std::optional<lift::kernel::Plan> plan;
  try {
    plan = lift::compile(program, options, report);
  } catch (const Stop&) {
    return std::nullopt;
  }
  if (!stopAfter.empty()) return std::nullopt;
  report->times.insert(report->times.begin(), {"parse", parseMilliseconds});
  if (explain)
    for (const auto& n : report->notes)
      if (n.pass == "map") std::cerr << n.text << "\n";
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

std::string commandLine(const std::vector<std::string>& words) {
  const auto quoted = [](const std::string& word) {
    const auto plain = [](unsigned char c) { return std::isalnum(c) || std::strchr("-_.,=/:+", c); };
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
    std::string out = "'";
    for (const char c : word) {
      if (c == '\'') out += "'\\'";
      out += std::iscntrl(static_cast<unsigned char>(c)) ? '?' : c;  // one line, whatever a file is called
    }
    return out + "'";
  };
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + quoted(word);
  return line;
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

std::map<std::string, std::int64_t> parseValues(const std::vector<std::string>& arguments, const std::string& option) {
  std::map<std::string, std::int64_t> values;
  for (const std::string& argument : arguments) {
    std::stringstream parts(argument);
    std::string part;
    while (std::getline(parts, part, ',')) {
      const auto equals = part.find('=');
      if (equals == std::string::npos || equals == 0)
        throw UserError(ExitStatus::usage, fmt::format("{}: expected NAME=VALUE, found '{}'", option, part));
      values[part.substr(0, equals)] = parseInteger(part.substr(equals + 1), option);
    }
  }
  return values;
}

void checkValues(const lift::Program& program, const std::map<std::string, std::int64_t>& values) {
  std::map<lift::NatVar, lift::Nat> given;
  for (const auto* list : {&program.sizes, &program.tunables})
    for (const lift::NatVar v : *list)
      if (const auto value = values.find(v.name()); value != values.end()) given.emplace(v, value->second);
  for (const auto& [name, value] : values) {
    std::optional<lift::NatVar> found;
    std::string known;
    for (const auto* list : {&program.sizes, &program.tunables})
      for (const lift::NatVar v : *list) {
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

Inputs makeInputs(const lift::Program& program, const std::map<std::string, std::int64_t>& values,
                  const DataOptions& data) {
  checkValues(program, values);
  Inputs inputs;
  for (const std::string& argument : data.inputs) {
    const auto equals = argument.find('=');
    if (equals == std::string::npos) {
      if (!isNpz(argument))
        throw UserError(ExitStatus::usage, fmt::format("-i: expected NAME=FILE or an .npz file, found '{}'", argument));
      for (auto& [name, tensor] : lift::readNpz(argument)) inputs.tensors[name] = std::move(tensor);
    } else {
      inputs.tensors[argument.substr(0, equals)] = lift::readTensorFile(argument.substr(equals + 1));
    }
  }

  const lift::kernel::Plan signature = signatureOf(program);
  std::string known;
  for (const auto& b : signature.buffers) known += (known.empty() ? "" : ", ") + b.name;
  for (const auto& input : inputs.tensors)
    if (std::none_of(signature.buffers.begin(), signature.buffers.end(),
                     [&](const auto& b) { return b.name == input.first; }))
      throw UserError(ExitStatus::program, fmt::format("the program has no input '{}'", input.first),
                      known.empty() ? "it has none at all" : "its inputs are " + known);
  checkDetermined(program, signature, inputs.tensors, !data.fill.empty(), values);
  if (!data.fill.empty()) {
    // Sizes come from the inputs that are there; the others get tensors of the shapes that follow.
    lift::kernel::Plan partial = signature;
    partial.buffers.clear();
    for (const auto& b : signature.buffers)
      if (inputs.tensors.count(b.name)) partial.buffers.push_back(b);
    const lift::runtime::Binding binding =
        lift::runtime::bindSizes(partial, lift::runtime::typesOf(inputs.tensors), values);
    for (const auto& b : signature.buffers) {
      if (inputs.tensors.count(b.name)) continue;
      std::vector<std::int64_t> shape;
      for (const lift::Nat n : b.shape) shape.push_back(binding.evaluate(n));
      Tensor t(b.scalar, shape);
      fillTensor(t, data.fill, b.name);
      inputs.tensors[b.name] = std::move(t);
    }
  }
  inputs.sizes = lift::runtime::bindSizes(signature, lift::runtime::typesOf(inputs.tensors), values).sizes;
  return inputs;
}

lift::Program atSizes(const lift::Program& program, const std::map<lift::NatVar, std::int64_t>& sizes) {
  std::map<lift::NatVar, lift::Nat> values;
  for (const auto& [v, value] : sizes) values.emplace(v, lift::Nat(value));
  return lift::specialise(program, values);
}

int finishOutputs(const Tensors& outputs, const DataOptions& data, bool json, Json& report) {
  for (const std::string& o : data.outputs) {
    const auto equals = o.find('=');
    const std::string name = equals == std::string::npos ? "out" : o.substr(0, equals);
    const std::string path = equals == std::string::npos ? o : o.substr(equals + 1);
    if (equals == std::string::npos && isNpz(path)) {
      lift::writeNpz(path, outputs);
      continue;
    }
    const auto found = outputs.find(name);
    if (found == outputs.end()) {
      std::string known;
      for (const auto& [n, t] : outputs) known += (known.empty() ? "" : ", ") + n;
      throw UserError(ExitStatus::usage, fmt::format("-o: there is no output '{}'", name),
                      "outputs are " + known + "; several go to one .npz file");
    }
    if (std::filesystem::path(path).has_parent_path())
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    lift::writeTensorFile(path, found->second);
  }
  Json shapes = Json::object();
  for (const auto& [name, t] : outputs) shapes[name] = t.describe();
  report["outputs"] = shapes;
  if (data.outputs.empty() && data.expect.empty() && !json && !data.quiet)
    for (const auto& [name, t] : outputs) {
      std::int64_t at = 0;
      std::cout << name << ": " << t.describe() << "\n";
      show(std::cout, t, 0, at, 0);
      std::cout << "\n";
    }
  if (data.expect.empty()) return 0;
  return compareOutputs(outputs, data, json, report) ? 0 : static_cast<int>(ExitStatus::wrong);
}

namespace {

// The body's exit status; diagnostics of a UserError are printed.
int guarded(const std::function<int()>& body) {
  try {
    return body();
  } catch (const UserError& e) {
    std::cerr << lift::render(e.diagnostics());
    return static_cast<int>(e.status());
  } catch (const lift::InternalError& e) {
    std::cerr << fmt::format("liftc: internal error: {}\nThis is a bug of liftc; please report it with the command.\n",
                             e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    std::cerr << fmt::format("error: cannot write '{}': {}\n", e.path1().string(), e.code().message());
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory\n";
  }
  return static_cast<int>(ExitStatus::program);
}

}  // namespace

void onCall(cli::App& sub, int& status, std::function<int()> body) {
  sub.callback([&status, body = std::move(body)] { status = guarded(body); });
}

std::string readFile(const std::string& path) {
  auto text = lift::readFile(path);
  if (!text) throw UserError(ExitStatus::program, fmt::format("cannot read '{}'", path));
  return std::move(*text);
}

void writeFile(const std::filesystem::path& path, const std::string& contents) {
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << contents;
  out.close();
  if (!out) throw UserError(ExitStatus::program, fmt::format("cannot write '{}'", path.string()));
}

}  // namespace liftc
