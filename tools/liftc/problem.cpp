#include "problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <limits>
#include <map>

#include "lift/bounds.hpp"
#include "lift/codegen.hpp"
#include "lift/conv_operator.hpp"
#include "lift/diagnostic.hpp"
#include "lift/inputs.hpp"
#include "lift/listed.hpp"
#include "lift/parts.hpp"
#include "lift/space.hpp"

namespace lift::liftc {
namespace {

// The program at its sizes, symbolic in its tunables.
Program programOf(const ProblemChoice& choice) {
  const Program symbolic = choice.source.read();
  const auto given = parseValues(choice.source.sizes, "--size");
  checkValues(symbolic, given);
  for (const NatVar s : symbolic.sizes)
    if (given.count(s.name()) == 0)
      throw UserError(ExitStatus::program, fmt::format("the size {} has no value", s.name()),
                      fmt::format("give one with --size {}=…", s.name()));
  return atValues(symbolic, given);
}

void checkGiven(const ProblemChoice& choice) {
  checkOne({{!choice.source.file.empty(), choice.source.file},
            {!choice.conv.empty(), "--conv"},
            {!choice.op.empty(), "--op"}},
           "a program, --conv DESCRIPTOR or --op NAME DESCRIPTOR",
           "for example liftc tune --conv mb1ic64ih56oc64oh56kh3ph1 --points 100");
  for (const std::string& family : choice.families)
    if (!choice.source.file.empty() && choice.part == 0 && family != programFamily && family != partsFamilyName)
      throw UserError(ExitStatus::usage, fmt::format("--family: there is no family '{}'", family),
                      fmt::format("a program of your own has two, '{}' and '{}'", programFamily, partsFamilyName));
  if (choice.part > 0 && choice.source.file.empty()) throw UserError(ExitStatus::usage, "--part goes with a program");
}

void checkTunables(const Workload& w, const ProblemChoice& choice) {
  const auto has = [](const OperatorFamily& f) { return !f.defaults.empty(); };
  if (std::ranges::any_of(w.families, has)) return;
  if (choice.part > 0)
    throw UserError(ExitStatus::program,
                    fmt::format("part {} of '{}' has no tunables", choice.part, choice.source.file),
                    "no family but the default mapping computes it; `liftc explain FILE` says why");
  throw UserError(
      ExitStatus::program, fmt::format("'{}' has no tunables", choice.source.file),
      "its parts are computed by the default mapping (`liftc explain FILE` says why), and it declares none: "
      "`tune k in 1..32` in a program that is mapped by hand would");
}

// A part of the program, as `liftc explain` counts them.
Workload partOf(const Program& program, const ProblemChoice& choice) {
  const std::vector<Part> parts = partsOf(program).parts;
  if (static_cast<std::size_t>(choice.part) > parts.size())
    throw UserError(ExitStatus::usage,
                    fmt::format("--part {}: '{}' has {} part{}", choice.part, choice.source.file, parts.size(),
                                parts.size() == 1 ? "" : "s"),
                    "`liftc explain FILE` lists them");
  const Part& part = parts[static_cast<std::size_t>(choice.part) - 1];
  // Tuned as the operator that computes it, and known to it, too; or without what is computed of each element.
  Workload w = part.same ? *part.same : part.workload;
  w.label = fmt::format("{} at {}", part.workload.label, part.place);
  if (w.op != part.workload.op) return w;
  w.tolerance = choice.rtol;
  checkTunables(w, choice);
  return w;
}

// The least and the greatest value of each tunable, of all families.
using Ranges = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;

void addTo(Ranges& ranges, NatVar tunable) {
  const auto upper = tunable.upper() ? tunable.upper()->constant() : std::nullopt;
  const std::int64_t high = upper.value_or(std::numeric_limits<std::int64_t>::max());
  const auto [range, isNew] = ranges.emplace(tunable.name(), std::pair(tunable.lower(), high));
  if (!isNew) range->second = {std::min(range->second.first, tunable.lower()), std::max(range->second.second, high)};
}

void checkFixed(const ProblemChoice& choice, const Ranges& known) {
  for (const auto& [name, value] : parseValues(choice.fixed, "--fix")) {
    const auto range = known.find(name);
    if (range == known.end())
      throw UserError(ExitStatus::usage, fmt::format("--fix: there is no tunable '{}'", name),
                      "the tunables are " + listed(known, &Ranges::value_type::first));
    const auto [low, high] = range->second;
    if (value < low || value > high)
      throw UserError(ExitStatus::usage,
                      fmt::format("--fix: {} = {} is out of its range, {} to {}", name, value, low, high));
  }
}

}  // namespace

void ProblemChoice::add(cli::App& app) {
  app.add_option("file", source.file, "Program (.lift) with tunables");
  source.addValues(app);
  app.add_option("--part", part, "Part of a program, as `liftc explain` counts them: tuned by itself")->positive();
  app.add_option("--conv", conv, "Convolution layer: its descriptor");
  app.add_option("--op", op, "Operator and its descriptor: --op conv ic64ih56oc64kh3ph1")
      ->expected(2)
      ->type_name("NAME DESCRIPTOR");
  app.add_option("--family", families, "Only this family of programs; may be repeated");
  app.add_option("--fix", fixed, "Search only configurations in which these tunables have these values")
      ->type_name("K=V,…");
  app.add_option("--optimality-domain", domain,
                 "Of a layer: search only tiles near the optimum for so many bytes of fast memory (docs/bounds.md)")
      ->asSize();
  app.add_option("--fill", fill, "Contents of a program's inputs: zeros, ones or random:SEED")->capture_default_str();
  app.add_option("--rtol", rtol, "Largest error of a program's results, relative to their root mean square")
      ->nonNegative()
      ->capture_default_str();
  layouts.add(app);
  device.add(app);
}

void ProblemChoice::checkOptions(const cli::App& sub, bool lists) const {
  if (!isProgram() || lists) refuseValues(sub);
  if (conv.empty() && !lists) refuseLayouts(sub, "--conv and --shapes");
}

std::vector<std::string> ProblemChoice::problemWords() const {
  if (!isProgram()) return liftc::problemWords(workload());
  std::vector<std::string> words{source.file};
  if (!source.entry.empty()) words.insert(words.end(), {"--entry", source.entry});
  for (const std::string& s : source.sizes) words.insert(words.end(), {"--size", s});
  if (part > 0) words.insert(words.end(), {"--part", std::to_string(part)});
  return words;
}

Workload ProblemChoice::workload() const {
  checkGiven(*this);
  if (!conv.empty()) return layouts.on(device).workload(parseConv(conv));
  if (!op.empty()) return workloadNamed(op[0], op[1]);
  const Program program = programOf(*this);
  if (part > 0) return partOf(program, *this);
  DataOptions data;
  data.fill = fill;
  Workload w = programWorkload(program, rtol);
  w = programWorkload(program, rtol, makeInputs(program, w.family(programFamily).defaults, data).tensors);
  w.label = fmt::format("{} {}", program.name, fmt::join(source.sizes, " "));
  checkTunables(w, *this);
  return w;
}

std::vector<std::string> ProblemChoice::words() const {
  std::vector<std::string> words = problemWords();
  const auto option = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  for (const std::string& f : families) option("--family", f);
  for (const std::string& f : fixed) option("--fix", f);
  if (domain > 0) option("--optimality-domain", std::to_string(domain));
  if (!source.file.empty()) option("--fill", fill);
  option("--platform", device.platform);
  option("--device", device.device);
  option("--build-options", device.buildOptions);
  if (device.noCache) words.emplace_back("--no-cache");
  return words;
}

std::vector<FamilyProgram> ProblemChoice::programs() const {
  checkGiven(*this);
  std::vector<FamilyProgram> programs;
  if (const Program program = isProgram() ? source.readAtValues() : Program(); !program.tunables.empty()) {
    programs.push_back({programFamily, mapByDefault(program)});
    checkMapping(programs[0].program);
  } else {
    const Workload w = workload();
    for (const OperatorFamily& family : w.families) {
      if (!families.empty() && std::ranges::find(families, family.name) == families.end()) continue;
      Program program = mapByDefault(derive(w, family.name).program);
      if (!families.empty() || !program.tunables.empty()) programs.push_back({family.name, std::move(program)});
    }
    for (const std::string& family : families) static_cast<void>(w.family(family));
  }
  Ranges tunables;
  for (const FamilyProgram& p : programs)
    for (const NatVar t : p.program.tunables) addTo(tunables, t);
  checkFixed(*this, tunables);
  return programs;
}

std::vector<Constraint> ProblemChoice::constraints(const FamilyProgram& of, const DeviceLimits& limits) const {
  std::vector<Constraint> constraints = constraintsOf(of.program, isProgram() ? limits : compiledWithin(limits));
  const auto more = asked(of.family, of.program);
  constraints.insert(constraints.end(), more.begin(), more.end());
  return constraints;
}

std::vector<Constraint> ProblemChoice::asked(const std::string& family, const Program& program) const {
  std::vector<Constraint> constraints;
  if (domain > 0) {
    const auto layer = isProgram() && part == 0 ? std::nullopt : layerOf(workload());
    if (!layer)
      throw UserError(ExitStatus::usage, "--optimality-domain is of convolution layers",
                      "name one with --conv or --op conv, or a program's part that is one with --part");
    constraints = bounds::optimalityDomain(*layer, family, program, domain / sizeof(float));
  }
  const auto values = parseValues(fixed, "--fix");
  for (const NatVar t : program.tunables)
    if (const auto value = values.find(t.name()); value != values.end())
      constraints.push_back({{SizeCondition::Kind::equal, t, value->second, fmt::format("--fix {}", t.name())},
                             Constraint::Kind::user,
                             {t}});
  return constraints;
}

tune::Problem ProblemChoice::problem(const runtime::DeviceInfo& info) const {
  const Workload w = workload();
  Ranges tunables;
  tune::Problem p;
  try {
    p = tuningProblem(w, info, families, [&](const std::string& family, const Program& program) {
      for (const NatVar t : program.tunables) addTo(tunables, t);
      return asked(family, program);
    });
  } catch (const UserError&) {
    if (!tunables.empty()) checkFixed(*this, tunables);
    throw;
  }
  checkFixed(*this, tunables);
  p.row.command = commandLine(problemWords());
  if (p.row.label.empty()) p.row.label = w.descriptor;
  return p;
}

ProblemChoice ProblemChoice::parse(const std::string& command) {
  ProblemChoice choice;
  cli::App app;
  choice.add(app);
  try {
    app.parse(commandWords(command));
  } catch (const cli::ParseError& e) {
    throw UserError(ExitStatus::program, fmt::format("cannot follow the command '{}': {}", command, e.what()));
  }
  return choice;
}

tune::Regenerate ProblemChoice::regenerate(const tune::DeviceRow& row) const {
  const Workload made = workload();
  return lift::regenerate(made, parseDeviceLimits(row.properties), device.buildOptions);
}

}  // namespace lift::liftc
