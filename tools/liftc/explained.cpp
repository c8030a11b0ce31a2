#include "explained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/kernel_header.hpp"
#include "lift/parts.hpp"
#include "parts.hpp"

namespace lift::liftc {

using kernel::Plan;
using rewrite::Derivation;
using Profile = std::optional<runtime::DeviceInfo>;  // that kernels were compiled for

std::map<std::string, std::string> digestsOf(const Plan& plan) {
  std::map<std::string, std::string> digests;
  for (std::size_t k = 0; k < plan.kernels.size(); k++)
    digests[plan.kernels[k].name] = runtime::kernelDigest(plan.sources[k]);
  return digests;
}

namespace {

const runtime::DeviceInfo* pointer(const Profile& device) { return device ? &*device : nullptr; }

// The default mapping of a program that does not say where its work runs.
void addMapping(Explained& s, const Program& program, const MappingOptions& options) {
  if (isMapped(program)) return;
  kernel::Notes notes;
  Mapping mapping = mappingOf(program, options, &notes);
  s.unmapped = program;
  s.mapped = std::move(mapping.program);
  s.mapping = std::move(mapping.derivation);
  for (const auto& n : notes) s.notes.push_back(n.text);
}

// `recorded` replaces the steps that the family takes now.
Explained ofConfig(const Variant& variant, const Config& config, const CodegenOptions& codegen,
                   const std::string& recorded, const Profile& device = {}) {
  Explained s;
  s.config = variant.defaults;
  for (const auto& [name, value] : config) s.config[name] = value;
  s.title = fmt::format("{}, family {}{}{}", wordsOf(variant.workload).command.back(), variant.family,
                        s.config.empty() ? "" : ", ", str(s.config));
  s.operations = variant.workload.operations;
  s.facts = toJson(variant.workload);
  s.facts.update({{"family", variant.family}, {"config", s.config}});
  s.source = variant.source;
  s.program = variant.program;
  addMapping(s, configured(variant, s.config), {});  // refuses what is no configuration
  s.derivation = recorded.empty() ? variant.derivation : Derivation::parse(recorded, variant.source);
  s.generate = [variant = variant, config = s.config, codegen, device](const Program& derived) mutable {
    variant.program.body = derived.body;
    const auto compiled = compileAt(variant, config, codegen, {}, pointer(device));
    return compiled ? compiled->plan : Plan();
  };
  return s;
}

}  // namespace

Explained ofWorkload(const Workload& workload, const FamilyOptions& family, const CodegenOptions& codegen,
                     const std::string& recorded, const runtime::DeviceInfo* device) {
  const Config config = parseValues(family.config, "--config");
  const Choice choice = choose(workload, device, {.family = family.familyOf(workload), .config = config});
  return ofConfig(choice.variant, config, codegen, recorded, device != nullptr ? Profile(*device) : Profile());
}

Explained onDevice(const Workload& workload, const FamilyOptions& family, const runtime::DeviceInfo& device) {
  const std::optional<tune::Database> own = family.known();
  ChoiceOptions options{.family = family.family, .own = own ? &*own : nullptr, .tuned = !family.noTuned};
  if (!family.config.empty()) options.config = parseValues(family.config, "--config");
  const Choice choice = choose(workload, &device, options);
  Explained s = ofConfig(choice.variant, choice.config, {}, {}, device);
  s.title += fmt::format("\non {}: {}", device.name, choice.origin);
  return s;
}

namespace {

// The best entry that a tuning database has for the workload, of whatever device, with the steps that it recorded.
Explained ofEntry(const Workload& workload, const FamilyOptions& options) {
  namespace tune = tune;
  const tune::Database db = openExistingDatabase(options.db);
  const auto best = tune::fastest(db.select({.problem = workload.key(), .family = options.family}));
  if (!best)
    throw UserError(ExitStatus::program, fmt::format("'{}' has no result for {}", options.db, workload.descriptor),
                    "`liftc db list` prints what it has");
  std::string recorded;
  for (const tune::DerivationRow& row : db.derivations())
    if (row.id == best->derivation) recorded = row.text;
  Explained s = ofConfig(derive(workload, best->key.family), best->key.config, {}, recorded);
  s.title += fmt::format("\n{:.3f} ms, measured by {}", best->median(), best->provenance);
  return s;
}

Workload workloadOf(const Program& program, const CodegenOptions& codegen) {
  const Workload w = programWorkload(program, 0);
  return codegen.strictReductions ? inOrder(w) : w;
}

// A program by its parts, each by a family of its own: at the configuration that is given, else, where a database is,
// as what is known in it says for the device.
Explained byParts(const ProgramOptions& options, const FamilyOptions& family, const CodegenOptions& codegen,
                  const Profile& device, const tune::Database* known) {
  Workload w = workloadOf(options.readAtValues(), codegen);
  w.constants = codegen.constants;
  ChoiceOptions asked{.family = family.family, .own = known, .tuned = !family.noTuned};
  if (known == nullptr || !family.config.empty()) asked.config = parseValues(family.config, "--config");
  const auto [variant, config, origin, measured] = choose(w, pointer(device), asked);
  Explained s = ofConfig(variant, config, codegen, {}, device);
  const auto sizes = options.values();
  s.title = fmt::format("{} of {}{}{}, family {}{}{}", s.source.name, options.file, sizes.empty() ? "" : " at ",
                        str(sizes), family.family, s.config.empty() ? "" : ", ", str(s.config));
  s.facts = {{"program", s.source.name},
             {"file", options.file},
             {"sizes", sizes},
             {"family", family.family},
             {"config", s.config}};
  const Plan plan = s.generate(s.program);
  s.parts = partsJson(variant, s.config, plan, measured ? "tuned with the whole" : "as given");
  s.memory = memoryJson(plan);
  if (known != nullptr) s.title += "\n" + origin;
  return s;
}

// The program as it is compiled: by the default mapping, unless it is mapped already.
Explained asWritten(const ProgramOptions& options, const CodegenOptions& codegen, const Profile& device) {
  Explained s;
  s.source = options.readAtValues();
  s.config = options.values();
  s.title = fmt::format("{} of {}{}{}, compiled {}", s.source.name, options.file, s.config.empty() ? "" : " at ",
                        str(s.config), isMapped(s.source) ? "as it is written" : "by the default mapping");
  if (!isMapped(s.source)) {
    MappingOptions mapping;
    mapping.strictReductions = codegen.strictReductions;
    addMapping(s, s.source, mapping);
  }
  s.facts = {{"program", s.source.name}, {"file", options.file}, {"sizes", s.config}};
  s.generate = [=](const Program& program) {
    return codegen.compile(program, 0, nullptr, pointer(device)).value_or(Plan());
  };
  if (s.source.tunables.empty() && !isMapped(s.source)) s.parts = partsJson(s.source);
  return s;
}

// The program or the family's variant that `liftc compile` would take for these options.
Explained ofProgram(ProgramOptions options, FamilyOptions family, CodegenOptions codegen, const Profile& device = {},
                    const tune::Database* known = nullptr) {
  if (family.family.empty()) {
    const Program program = options.readAtValues();
    if (isMapped(program) || !program.tunables.empty()) {
      if (known != nullptr && !program.tunables.empty() && options.config.empty())
        options.config = {str(choose(workloadOf(program, codegen), pointer(device), {.own = known}).config)};
      return asWritten(options, codegen, device);
    }
    const Workload w = workloadOf(program, codegen);
    family.family = known == nullptr ? w.families[0].name : choose(w, pointer(device), {.own = known}).variant.family;
    family.config.clear();  // is the program's
    codegen.alignedVectors = device && device->type == "gpu";
  } else if (family.family != programFamily) {
    options.config.clear();  // is the family's
  }
  return family.family == programFamily ? asWritten(options, codegen, device)
                                        : byParts(options, family, codegen, device, known);
}

// The subject of a command that a header or a manifest holds. Programs are read from the current folder.
Explained ofCommand(const std::string& command, const std::string& recorded = {}) {
  const std::vector<std::string> words = commandWords(command);
  const bool isLayer = words.size() > 2 && words[1] == "conv", isOp = words.size() > 3 && words[1] == "op";
  cli::App app;
  std::vector<std::string> named;
  FamilyOptions family;
  LayoutOptions layouts;
  ProgramOptions program;
  CodegenOptions codegen;
  DeviceOptions device;
  if (isLayer || isOp) {
    app.add_option("named", named)->expected(isOp ? 3 : 2);
    family.add(app);
    layouts.add(app);
  } else {
    program.add(app);
    family.addOfProgram(app);
  }
  device.addProfile(app);
  codegen.add(app);
  try {
    app.parse({words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)), words.end()});
  } catch (const cli::ParseError& e) {
    throw UserError(ExitStatus::program, fmt::format("cannot follow the command '{}': {}", command, e.what()));
  }
  Profile profile;
  if (!device.profile.empty()) profile = runtime::readProfile(device.profile);
  if (!isLayer && !isOp) {
    family.config = program.config;
    if (!std::filesystem::exists(program.file))
      throw UserError(ExitStatus::program, fmt::format("cannot read the kernels' program, '{}'", program.file),
                      "kernels do not name its folder: run this there");
    return ofProgram(program, family, codegen, profile);
  }
  const Workload workload = isOp ? workloadNamed(named[0], named[1]) : layouts.workload(parseConv(named[0]));
  return ofWorkload(workload, family, codegen, recorded, pointer(profile));
}

Explained ofKernels(const std::string& file, const std::string& text) {
  const auto kernels = runtime::readHeaders(text);
  if (kernels.empty())
    throw UserError(ExitStatus::program, fmt::format("'{}' has no header that says where its kernels come from", file),
                    "`liftc compile` and `liftc conv … compile` write one above every kernel");
  Explained s = ofCommand(kernels[0].header.command);
  s.generator = kernels[0].header.generator;
  for (const auto& k : kernels) {
    if (k.header.command != kernels[0].header.command)
      throw UserError(ExitStatus::program, fmt::format("'{}' has kernels of several commands", file),
                      "explain them one by one");
    if (!k.unchanged())
      std::cerr << fmt::format("warning: kernel '{}' was changed after it was generated\n", k.header.kernel);
    s.digests[k.header.kernel] = runtime::kernelDigest(k.source);
  }
  return s;
}

Explained ofManifest(const std::string& file, const std::string& text) {
  try {
    const Json manifest = Json::parse(text);
    std::string steps;
    if (const auto recorded = manifest.find("derivation"); recorded != manifest.end())
      for (const Json& step : *recorded) steps += step.get<std::string>() + "\n";
    Explained s = ofCommand(manifest.at("command"), steps);
    s.generator = manifest.at("generator").get<std::string>();
    const bool isC = manifest.value("target", "") == "c";  // functions of one file have no digests
    if (!isC)
      for (const Json& k : manifest.at("kernels")) s.digests[k.at("name")] = k.at("sha256").get<std::string>();
    return s;
  } catch (const Json::exception& e) {
    throw UserError(ExitStatus::program, fmt::format("'{}' is no manifest of liftc: {}", file, reasonOf(e)));
  }
}

}  // namespace

Explained explainedBy(const std::string& what, const ExplainOptions& o) {
  const bool isProgram = what.ends_with(".lift"), isManifest = what.ends_with(".json");
  const bool isDescriptor =
      !isProgram && !isManifest && !what.ends_with(".cl") && !std::filesystem::is_regular_file(what);
  if (o.device.isGiven() && !isDescriptor && (!isProgram || o.family.db.empty()))
    throw UserError(ExitStatus::usage, "--platform and --device say for which device a database's results are",
                    "they go with a layer's descriptor, or with a program (.lift) and --db");
  if (isProgram) {
    ProgramOptions program = o.program;
    program.file = what;
    program.config = o.family.config;
    std::optional<tune::Database> known;
    Profile device;
    if (!o.family.db.empty() && !o.family.noTuned)
      known = openExistingDatabase(o.family.db), device = o.device.compilesFor();
    Explained s = ofProgram(program, o.family, {}, device, known ? &*known : nullptr);
    if (o.replay) s.digests = digestsOf(s.generate(s.derivation.steps.empty() ? s.source : s.program));
    return s;
  }
  if (isDescriptor) {
    const Workload workload = o.op == "conv" ? o.layouts.workload(parseConv(what)) : workloadNamed(o.op, what);
    const bool chosen = !o.family.config.empty() || o.family.db.empty() || o.family.noTuned;
    Explained s = o.device.isGiven() ? onDevice(workload, o.family, o.device.compilesFor())
                  : chosen           ? ofWorkload(workload, o.family, {})
                                     : ofEntry(workload, o.family);
    s.digests = digestsOf(s.generate(s.program));
    return s;
  }
  const std::string text = readInput(what);
  return isManifest ? ofManifest(what, text) : ofKernels(what, text);
}

}  // namespace lift::liftc
