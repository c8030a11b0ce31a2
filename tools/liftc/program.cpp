// Subcommands on program files: check, print, eval, compile, run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "common.hpp"
#include "lift/diagnostic.hpp"
#include "lift/interpreter.hpp"
#include "lift/parts.hpp"
#include "lift/stopwatch.hpp"
#include "manifest.hpp"
#include "parts.hpp"
#include "program.hpp"
#include "workload.hpp"

namespace lift::liftc {
namespace {

std::string highOf(NatVar v) { return v.upper() ? v.upper()->str() : ""; }

// The signature as it would be declared: name(parameters): result.
std::string signatureText(const Program& program) {
  std::vector<std::string> parameters;
  for (const NatVar s : program.sizes) {
    bool isMentioned = false;
    for (const Expr p : program.parameters)
      p.type().forEachNat([&](Nat n) { isMentioned = isMentioned || n.mentions(s); });
    if (s.lower() != 1 || s.upper())
      parameters.push_back(fmt::format("{}: nat in {}..{}", s.name(), s.lower(), highOf(s)));
    else if (!isMentioned)
      parameters.push_back(s.name() + ": nat");
  }
  for (const Expr p : program.parameters) parameters.push_back(fmt::format("{}: {}", p.name(), p.type().str()));
  const std::string list = fmt::format("{}", fmt::join(parameters, ", "));
  return fmt::format("{}{}: {}", program.name, list.empty() ? "" : "(" + list + ")", program.result().str());
}

// What the default mapping decided, without its reasons.
void printSummary(const kernel::Notes& notes, const std::string& file) {
  constexpr std::size_t most = 4;
  for (std::size_t i = 0; i < std::min(notes.size(), most); i++) {
    const std::string& text = notes[i].text;
    const std::size_t subject = text.find(": ");  // "map at f.lift:1:2: [n]f32 is kept …: it is named"
    const std::size_t reason = text.rfind(": ");
    std::cout << "  " << text.substr(0, reason > subject ? reason : text.size()) << "\n";
  }
  if (notes.size() > most) std::cout << fmt::format("  … and {} more\n", notes.size() - most);
  if (!notes.empty() && file != "-") std::cout << fmt::format("  `liftc explain {}` says why\n", file);
}

Json choiceJson(const CompiledProgram& compiled) {
  Json choice{{"family", compiled.family}, {"config_origin", compiled.origin}};
  if (!compiled.parts.empty()) choice["parts"] = compiled.parts;
  return choice;
}

// How the parts are derived, where one is or could be.
void printChoice(const CompiledProgram& compiled) {
  if (const std::string text = partChoicesText(compiled.parts); !text.empty()) std::cerr << text << "\n";
}

// --config is the program's, or the family's where one is given.
void moveConfig(ProgramOptions& program, FamilyOptions& family) {
  if (!family.family.empty()) family.config = std::exchange(program.config, {});
}

Json signatureJson(const Program& program) {
  Json j;
  j["name"] = program.name;
  j["parameters"] = Json::array();
  for (const Expr p : program.parameters) j["parameters"].push_back({{"name", p.name()}, {"type", p.type().str()}});
  j["result"] = program.result().str();
  j["sizes"] = Json::array();
  for (const NatVar v : program.sizes) j["sizes"].push_back(v.name());
  j["tunables"] = Json::array();
  for (const NatVar v : program.tunables)
    j["tunables"].push_back(
        {{"name", v.name()}, {"low", v.lower()}, {"high", v.upper() ? v.upper()->str() : std::string("inf")}});
  j["conditions"] = Json::array();
  for (const auto& c : program.conditions) j["conditions"].push_back({{"condition", c.str()}, {"origin", c.origin}});
  return j;
}

}  // namespace

std::optional<CompiledProgram> compileProgram(const Program& program, const FamilyOptions& family,
                                              const CodegenOptions& codegen, double parseMilliseconds,
                                              const runtime::DeviceInfo* device) {
  const bool asWritten = isMapped(program) || !program.tunables.empty();
  if (family.family.empty() ? asWritten : family.family == programFamily && family.config.empty()) {
    CompileReport report;
    auto plan = codegen.compile(program, parseMilliseconds, &report, device);
    if (!plan) return std::nullopt;
    family.checkWorkspace(*plan);
    return CompiledProgram{std::move(*plan), report.total(), programFamily, "as it is written", {}, family};
  }
  Workload w = programWorkload(program, 0);
  w.constants = codegen.constants;
  auto compiled = family.compile(w, codegen, device);
  if (!compiled) return std::nullopt;
  const bool byParts = compiled->family == partsFamilyName;
  FamilyOptions asked = family;
  // Elsewhere its parts may have families.
  if (family.family.empty() && (byParts || w.families[0].name == partsFamilyName)) asked.family = compiled->family;
  if (byParts && !compiled->config.empty()) asked.config = {str(compiled->config)};
  Json parts = std::move(compiled->parts);
  if (!byParts && family.family.empty()) parts = partChoicesJson(w.family(partsFamilyName), {});
  return CompiledProgram{std::move(compiled->plan),
                         compiled->milliseconds,
                         compiled->family,
                         compiled->origin,
                         byParts ? std::move(compiled->provenance) : Provenance(),
                         std::move(asked),
                         std::move(parts)};
}

void addCheck(cli::App& app, int& status) {
  struct Options {
    ProgramOptions program;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand("check", "Parse and type-check a program, and check where it runs its work");
  o->program.add(*sub);
  sub->add_flag("--json", o->json, "Print the program's signature as JSON");
  onCall(*sub, status, [o] {
    const Program program = o->program.readAtValues();
    kernel::Notes notes;
    checkMapping(mapByDefault(program, {}, &notes));
    if (o->json) {
      Json j = signatureJson(program);
      j["mapping"] = Json::array();
      for (const auto& n : notes) j["mapping"].push_back(n.text);
      printJson(j);
      return 0;
    }
    std::cout << signatureText(program) << "\n";
    for (const NatVar t : program.tunables)
      std::cout << fmt::format("  tune {} in {}..{}\n", t.name(), t.lower(), highOf(t));
    for (const auto& c : program.conditions) std::cout << "  requires " << c.str() << "  (" << c.origin << ")\n";
    printSummary(notes, o->program.file);
    return 0;
  });
}

void addPrint(cli::App& app, int& status) {
  struct Options {
    ProgramOptions program;
    std::string stage = "infer";
    bool canonical = false;
  };
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand("print", "Print the program with all definitions expanded; the text parses back");
  o->program.add(*sub);
  sub->add_option("--after", o->stage, "infer: as written; map: with the default mapping")
      ->oneOf({"infer", "map"})
      ->capture_default_str();
  sub->add_flag("--canonical", o->canonical, "Number the variables, so that equal programs print equally");
  onCall(*sub, status, [o] {
    Program program = o->program.readAtValues();
    if (o->stage == "map") program = mapByDefault(program);
    std::cout << print(program, o->canonical ? Names::canonical : Names::given);
    return 0;
  });
}

void addEval(cli::App& app, int& status) {
  struct Options {
    ProgramOptions program;
    DataOptions data;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand("eval", "Run a program in the reference interpreter");
  o->program.add(*sub);
  o->data.add(*sub);
  sub->add_flag("--json", o->json, "Print a report as JSON");
  onCall(*sub, status, [o] {
    const Program program = o->program.read();
    const Inputs inputs = makeInputs(program, o->program.values(), o->data);
    const Tensors outputs = interpret(atSizes(program, inputs.sizes), inputs.tensors);
    Json report{{"program", program.name}, {"device", "interpreter"}};
    const int code = finishOutputs(outputs, o->data, o->json, report);
    if (o->json) printJson(report);
    return code;
  });
}

void addCompile(cli::App& app, int& status) {
  struct Options {
    ProgramOptions program;
    FamilyOptions family;
    CodegenOptions codegen;
    DeviceOptions device;
    std::string output, prefix;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand("compile", "Generate OpenCL kernels, or C, and a manifest of how to launch them");
  o->program.add(*sub);
  o->family.addOfProgram(*sub);
  o->family.addMaxWorkspace(*sub);
  o->codegen.add(*sub);
  o->device.addChoice(*sub);
  o->device.addProfile(*sub);
  cli::Option* output = sub->add_option("-o,--output", o->output,
                                        "Folder for KERNEL.cl, manifest.json, host.c and host.h; default: print");
  addPrefix(*sub, o->prefix)->needs(output);
  sub->add_flag("--json", o->json, "Print the manifest and the compiler's times as JSON");
  onCall(*sub, status, [o] {
    const Stopwatch watch;
    moveConfig(o->program, o->family);
    const Program program = o->program.readAtValues();
    const runtime::DeviceInfo device = o->device.compilesFor();
    auto compiled = compileProgram(program, o->family, o->codegen, watch.milliseconds(), &device);
    if (!compiled) return 0;
    o->device.checkFits(compiled->plan);
    if (!o->codegen.constants.empty() && compiled->plan.preparation.empty())
      std::cerr << render({Severity::warning,
                           {},
                           fmt::format("nothing is computed ahead of {}", fmt::join(o->codegen.constants, ", ")),
                           "what is kept between runs are arrays in global memory: toGlobal(…) around the value",
                           {}});
    if (!o->json && compiled->family == partsFamilyName) printChoice(*compiled);
    compiled->provenance.addChoice(device, compiled->origin);
    auto& command = compiled->provenance.command;
    command = {"compile"};
    ProgramOptions values = o->program;  // of the program's tunables; --config is the family's
    if (compiled->family == partsFamilyName) {
      values.sizes.insert(values.sizes.end(), values.config.begin(), values.config.end());
      values.config.clear();
    }
    const CodegenOptions codegen = o->codegen.within(&device);
    const auto forAny = [&]() -> std::optional<kernel::Plan> {
      auto again = compileProgram(program, compiled->asked, codegen.silent(), 0, nullptr);
      return again ? std::optional(std::move(again->plan)) : std::nullopt;
    };
    std::vector<std::string> profile;  // decides families and mapping, too
    if (!o->device.profile.empty() || !areForAny(compiled->plan, forAny)) profile = o->device.words(device);
    for (const auto& words : {values.words(), compiled->asked.words(), codegen.words(), profile})
      command.insert(command.end(), words.begin(), words.end());
    deliver(compiled->plan, compiled->provenance, o->output, o->json, compiled->milliseconds, o->prefix,
            o->device.target);
    return 0;
  });
}

namespace {

struct RunOptions {
  ProgramOptions program;
  FamilyOptions family;
  CodegenOptions codegen;
  DataOptions data;
  DeviceOptions device;
  int repetitions = 0;
  bool symbolic = false;
  bool json = false;
};

int run(RunOptions& o) {
  const Stopwatch watch;
  moveConfig(o.program, o.family);
  const Program program = o.program.read();
  const double parse = watch.milliseconds();
  const auto device = o.device.open();
  const Inputs inputs = makeInputs(program, o.program.values(), o.data, &device->info());
  std::map<NatVar, std::int64_t> fixed = inputs.sizes;
  std::map<std::string, std::int64_t> given;  // when the kernels run
  if (o.symbolic) {
    static_cast<void>(atSizes(program, inputs.sizes));  // reports sizes that break a condition of the program
    std::erase_if(fixed, [&](const auto& size) { return !std::ranges::count(program.tunables, size.first); });
    for (const auto& [v, value] : inputs.sizes)
      if (!fixed.contains(v)) given[v.name()] = value;
  }
  // What an emulator is asked for is what is wrong.
  o.codegen.checkBounds = o.codegen.checkBounds || o.device.isEmulator();
  const auto compiled = compileProgram(atSizes(program, fixed), o.family, o.codegen, parse, &device->info());
  if (!compiled) return 0;
  const auto executable = device->load(compiled->plan, given, o.device.load());
  const runtime::Execution e = executable->run(inputs.tensors);
  Json report{{"program", program.name}, {"device", device->info().name}, {"ms", e.milliseconds()}};
  report["launches"] = toJson(e.launches);
  if (o.repetitions > 0) {
    runtime::MeasureOptions measure;
    measure.repetitions = o.repetitions;
    const auto timing = executable->measure(inputs.tensors, measure);
    report.update({{"ms", timing.median()}, {"launches", toJson(timing.launches)}});
  }
  const bool byHost = executable->timer() == runtime::Timer::host;
  if (byHost) report["timer"] = "host";
  report["workspace_bytes"] = e.memory.temporaries;
  report["workspace_bytes_unshared"] = e.memory.temporariesUnshared;
  report.update(choiceJson(*compiled));
  const int code = finishOutputs(e.outputs, o.data, o.json, report);
  if (o.json)
    printJson(report);
  else if (!o.data.quiet) {
    printChoice(*compiled);
    std::cerr << fmt::format("{} on {}: {:.3f} ms{}\n", program.name, device->info().name, report["ms"],
                             byHost ? " by the host's clock" : "");
  }
  return code;
}

}  // namespace

void addRun(cli::App& app, int& status) {
  auto o = std::make_shared<RunOptions>();
  cli::App* sub = app.add_subcommand("run", "Compile a program and run it on a device");
  o->program.add(*sub);
  o->family.addOfProgram(*sub);
  o->family.addMaxWorkspace(*sub);
  o->data.add(*sub);
  o->device.add(*sub);
  o->codegen.add(*sub);
  sub->add_option("--repeat", o->repetitions, "Time this many repetitions and report the median");
  sub->add_flag("--symbolic", o->symbolic, "Keep sizes as kernel arguments instead of specialising to them");
  sub->add_flag("--json", o->json, "Print a report as JSON");
  onCall(*sub, status, [o, sub] {
    if (sub->count("--repeat") > 0 && o->repetitions < 1) throw UserError(ExitStatus::usage, "--repeat: at least 1");
    return run(*o);
  });
}

}  // namespace lift::liftc
