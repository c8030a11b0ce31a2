// liftc explain: how a kernel came to be, step by step from the program it started as.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <optional>
#include <set>

#include "common.hpp"
#include "lift/bounds.hpp"
#include "lift/conv_operator.hpp"
#include "lift/diagnostic.hpp"
#include "lift/inputs.hpp"
#include "lift/kernel_header.hpp"
#include "lift/parts.hpp"
#include "lift/rewrite_check.hpp"
#include "lift/space.hpp"
#include "parts.hpp"
#include "workload.hpp"

namespace liftc {
namespace {

using lift::ExitStatus;
using lift::Program;
using lift::UserError;
using lift::kernel::Plan;
using lift::rewrite::Derivation;
using lift::rewrite::Step;

// What is explained: a derivation, and the kernels at its end. A program that is compiled as it is written has no
// steps.
struct Subject {
  std::string title;
  Json facts;  // of what, by which family, with which configuration
  std::map<std::string, std::int64_t> config;
  Program source;   // where the derivation starts
  Program program;  // what the strategy of today makes of it
  Derivation derivation;
  std::function<Plan(const Program& derived)> generate;
  // Of a program that is compiled as it is written: the default mapping, and what it decided; else nothing.
  std::optional<Program> mapped;
  std::vector<std::string> notes;
  Program unmapped;                            // what it was made of
  Derivation mapping;                          // by these steps
  Json parts = Json::array(), memory;          // of a program: its parts, and what its plan keeps between kernels
  std::int64_t operations = 0;                 // of a layer
  std::map<std::string, std::string> digests;  // of the kernels by name, as they are recorded
  std::string generator = liftc::generator;    // what recorded them
};

std::map<std::string, std::string> digestsOf(const Plan& plan) {
  std::map<std::string, std::string> digests;
  for (std::size_t k = 0; k < plan.kernels.size(); k++)
    digests[plan.kernels[k].name] = lift::runtime::kernelDigest(plan.sources[k]);
  return digests;
}

// The default mapping of a program that does not say where its work runs.
void addMapping(Subject& s, const Program& program, const lift::MappingOptions& options) {
  if (lift::isMapped(program)) return;
  lift::kernel::Notes notes;
  lift::Mapping mapping = lift::mappingOf(program, options, &notes);
  s.unmapped = program;
  s.mapped = std::move(mapping.program);
  s.mapping = std::move(mapping.derivation);
  for (const auto& n : notes) s.notes.push_back(n.text);
}

// `recorded` replaces the steps that the family takes now.
Subject ofConfig(const lift::Variant& variant, const lift::Config& config, const CodegenOptions& codegen,
                 const std::string& recorded) {
  Subject s;
  s.config = variant.defaults;
  for (const auto& [name, value] : config) s.config[name] = value;
  s.title = fmt::format("{}, family {}{}{}", wordsOf(variant.workload).command.back(), variant.family,
                        s.config.empty() ? "" : ", ", lift::str(s.config));
  s.operations = variant.workload.operations;
  s.facts = toJson(variant.workload);
  s.facts.update({{"family", variant.family}, {"config", s.config}});
  s.source = variant.source;
  s.program = variant.program;
  addMapping(s, lift::configured(variant, s.config), {});  // refuses what is no configuration
  s.derivation = recorded.empty() ? variant.derivation : Derivation::parse(recorded, variant.source);
  s.generate = [variant = variant, config = s.config, codegen](const Program& derived) mutable {
    variant.program.body = derived.body;
    const auto compiled = compileAt(variant, config, codegen, std::chrono::steady_clock::now());
    return compiled ? compiled->plan : Plan();
  };
  return s;
}

Subject ofWorkload(const lift::Workload& workload, const FamilyOptions& family, const CodegenOptions& codegen,
                   const std::string& recorded = {}) {
  return ofConfig(lift::derive(workload, family.familyOf(workload)), parseValues(family.config, "--config"), codegen,
                  recorded);
}

// The best entry that a tuning database has for the workload, of whatever device, with the steps that it recorded.
Subject ofEntry(const lift::Workload& workload, const FamilyOptions& options) {
  namespace tune = lift::tune;
  const tune::Database db = openExistingDatabase(options.db);
  const auto best = tune::fastest(db.select({.problem = workload.key(), .family = options.family}));
  if (!best)
    throw UserError(ExitStatus::program, fmt::format("'{}' has no result for {}", options.db, workload.descriptor),
                    "`liftc db list` prints what it has");
  std::string recorded;
  for (const tune::DerivationRow& row : db.derivations())
    if (row.id == best->derivation) recorded = row.text;
  Subject s = ofConfig(lift::derive(workload, best->key.family), best->key.config, {}, recorded);
  s.title += fmt::format("\n{:.3f} ms, measured by {}", best->median(), best->provenance);
  return s;
}

lift::Workload workloadOf(const Program& program, const CodegenOptions& codegen) {
  const lift::Workload w = lift::programWorkload(program, 0);
  return codegen.strictReductions ? lift::inOrder(w) : w;
}

// A program by its parts, each by a family of its own.
Subject byParts(const ProgramOptions& options, const FamilyOptions& family, const CodegenOptions& codegen) {
  lift::Workload w = workloadOf(options.readAtValues(), codegen);
  w.constants = codegen.constants;
  Subject s = ofWorkload(w, family, codegen);
  const auto sizes = options.values();
  s.title = fmt::format("{} of {}{}{}, family {}{}{}", s.source.name, options.file, sizes.empty() ? "" : " at ",
                        lift::str(sizes), family.family, s.config.empty() ? "" : ", ", lift::str(s.config));
  s.facts = {{"program", s.source.name},
             {"file", options.file},
             {"sizes", sizes},
             {"family", family.family},
             {"config", s.config}};
  const Plan plan = s.generate(s.program);
  s.parts = partsJson(lift::derive(w, family.family), s.config, plan);
  s.memory = memoryJson(plan);
  return s;
}

// By the default mapping, or by the one that it has.
Subject asWritten(const ProgramOptions& options, const CodegenOptions& codegen) {
  Subject s;
  s.source = options.readAtValues();
  s.config = options.values();
  s.title = fmt::format("{} of {}{}{}, compiled as it is written", s.source.name, options.file,
                        s.config.empty() ? "" : " at ", lift::str(s.config));
  if (!lift::isMapped(s.source)) {
    lift::MappingOptions mapping;
    mapping.strictReductions = codegen.strictReductions;
    addMapping(s, s.source, mapping);
  }
  s.facts = {{"program", s.source.name}, {"file", options.file}, {"sizes", s.config}};
  s.generate = [codegen](const Program& program) { return codegen.compile(program, 0).value_or(Plan()); };
  if (s.source.tunables.empty() && !lift::isMapped(s.source)) s.parts = partsJson(s.source);
  return s;
}

// As `liftc compile` takes it.
Subject ofProgram(ProgramOptions options, FamilyOptions family, const CodegenOptions& codegen) {
  if (family.family.empty()) {
    const Program program = options.readAtValues();
    if (lift::isMapped(program) || !program.tunables.empty()) return asWritten(options, codegen);
    family.family = workloadOf(program, codegen).families[0].name;
    family.config.clear();  // is the program's
  } else if (family.family != lift::programFamily) {
    options.config.clear();  // is the family's
  }
  return family.family == lift::programFamily ? asWritten(options, codegen) : byParts(options, family, codegen);
}

// The subject of a command that a header or a manifest holds. Programs are read from the current folder.
Subject ofCommand(const std::string& command, const std::string& recorded = {}) {
  const std::vector<std::string> words = commandWords(command);
  const bool isLayer = words.size() > 2 && words[1] == "conv", isOp = words.size() > 3 && words[1] == "op";
  cli::App app;
  std::vector<std::string> named;
  FamilyOptions family;
  LayoutOptions layouts;
  ProgramOptions program;
  CodegenOptions codegen;
  if (isLayer || isOp) {
    app.add_option("named", named)->expected(isOp ? 3 : 2);
    family.add(app);
    layouts.add(app);
  } else {
    program.add(app);
    family.addOfProgram(app);
  }
  codegen.add(app);
  try {
    app.parse({words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)), words.end()});
  } catch (const cli::ParseError& e) {
    throw UserError(ExitStatus::program, fmt::format("cannot follow the command '{}': {}", command, e.what()));
  }
  if (!isLayer && !isOp) {
    family.config = program.config;
    return ofProgram(program, family, codegen);
  }
  const lift::Workload workload =
      isOp ? workloadNamed(named[0], named[1]) : layouts.workload(lift::parseConv(named[0]));
  return ofWorkload(workload, family, codegen, recorded);
}

Subject ofKernels(const std::string& file, const std::string& text) {
  const auto kernels = lift::runtime::readHeaders(text);
  if (kernels.empty())
    throw UserError(ExitStatus::program, fmt::format("'{}' has no header that says where its kernels come from", file),
                    "`liftc compile` and `liftc conv … compile` write one above every kernel");
  Subject s = ofCommand(kernels[0].header.command);
  s.generator = kernels[0].header.generator;
  for (const auto& k : kernels) {
    if (k.header.command != kernels[0].header.command)
      throw UserError(ExitStatus::program, fmt::format("'{}' has kernels of several commands", file),
                      "explain them one by one");
    if (!k.unchanged())
      std::cerr << fmt::format("warning: kernel '{}' was changed after it was generated\n", k.header.kernel);
    s.digests[k.header.kernel] = lift::runtime::kernelDigest(k.source);
  }
  return s;
}

Subject ofManifest(const std::string& file, const std::string& text) {
  try {
    const Json manifest = Json::parse(text);
    std::string steps;
    if (const auto recorded = manifest.find("derivation"); recorded != manifest.end())
      for (const Json& step : *recorded) steps += step.get<std::string>() + "\n";
    Subject s = ofCommand(manifest.at("command").get<std::string>(), steps);
    s.generator = manifest.at("generator").get<std::string>();
    for (const Json& k : manifest.at("kernels")) s.digests[k.at("name")] = k.at("sha256").get<std::string>();
    return s;
  } catch (const Json::exception& e) {
    throw UserError(ExitStatus::program, fmt::format("'{}' is no manifest of liftc: {}", file, e.what()));
  }
}

struct ExplainOptions {
  std::string what, diff;
  std::string op = "conv";  // the operator of descriptors
  FamilyOptions family;
  LayoutOptions layouts;
  std::vector<std::string> sizes;
  std::string entry;
  bool steps = false, replay = false, check = false, json = false;
};

bool endsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A file where there is one, or where the name is one's; else a descriptor.
Subject subjectNamed(const std::string& what, const ExplainOptions& o) {
  if (endsWith(what, ".lift")) {
    ProgramOptions program;
    program.file = what;
    program.entry = o.entry;
    program.sizes = o.sizes;
    program.config = o.family.config;
    Subject s = ofProgram(program, o.family, {});
    if (o.replay) s.digests = digestsOf(s.generate(s.derivation.steps.empty() ? s.source : s.program));
    return s;
  }
  const bool isManifest = endsWith(what, ".json");
  if (!isManifest && !endsWith(what, ".cl") && !std::filesystem::is_regular_file(what)) {
    const lift::Workload workload =
        o.op == "conv" ? o.layouts.workload(lift::parseConv(what)) : workloadNamed(o.op, what);
    const bool chosen = !o.family.config.empty() || o.family.db.empty();
    Subject s = chosen ? ofWorkload(workload, o.family, {}) : ofEntry(workload, o.family);
    s.digests = digestsOf(s.generate(s.program));
    return s;
  }
  const std::string text = readFile(what);
  return isManifest ? ofManifest(what, text) : ofKernels(what, text);
}

// ------------------------------------------------------------------------------------------------------------- steps

// The program after the last step; `see` gets the program after each, and the number of steps before it.
Program follow(const Subject& s, const std::function<void(std::size_t, const Step&, const Program&)>& see = {}) {
  if (s.derivation.steps.empty()) return s.source;
  std::size_t done = 0;
  return lift::rewrite::replay(s.source, s.derivation, [&](const Step& step, const Program& program) {
    if (see) see(done++, step, program);
  });
}

Json stepJson(const Step& step) {
  const auto& rule = lift::rewrite::ruleNamed(step.rule);
  Json arguments = Json::object();
  for (const auto& [name, value] : step.arguments) arguments[name] = value.str();
  std::string place;
  for (const auto child : step.path) place += std::to_string(child);
  return {{"rule", step.rule},
          {"text", rule.text()},
          {"origin", rule.origin()},
          {"arguments", arguments},
          {"place", place}};
}

// The steps of the default mapping; `see` gets each with what it was applied to, "reduce at dot.lift:3:5", and the
// program after it.
void followMapping(const Subject& s, const std::function<void(const Step&, const std::string&, const Program&)>& see) {
  Program before = s.unmapped;
  before.body = lift::etaLong(before.body);
  lift::rewrite::replay(s.unmapped, s.mapping, [&](const Step& step, const Program& program) {
    lift::Expr term = before.body;
    for (const auto child : step.path)
      term = term.is(lift::Expr::Form::lambda) ? term.body() : child == 0 ? term.function() : term.argument();
    see(step, lift::placeIn(before.spans, term), program);
    before.body = program.body;
  });
}

void showMapping(const Subject& s, bool terms) {
  std::cout << "\nBy the default mapping\n";
  std::size_t done = 0;
  followMapping(s, [&](const Step& step, const std::string& place, const Program& program) {
    std::cout << fmt::format("{}/{}  {}{}{}\n    {}\n", ++done, s.mapping.steps.size(), step.str(),
                             place.empty() ? "" : ", ", place, lift::rewrite::ruleNamed(step.rule).text());
    if (terms) std::cout << lift::print(program);
  });
  if (!s.notes.empty()) std::cout << "\n";
  for (const std::string& n : s.notes) std::cout << "  " << n << "\n";
  std::cout << lift::print(*s.mapped);
}

void showSteps(const Subject& s, bool terms) {
  std::cout << s.title << "\n\nFrom\n" << lift::print(s.source);
  const std::size_t count = s.derivation.steps.size();
  if (count == 0 && !s.mapped) std::cout << "\nno rule was applied\n";
  follow(s, [&](std::size_t i, const Step& step, const Program& program) {
    const auto& rule = lift::rewrite::ruleNamed(step.rule);
    std::cout << fmt::format("\n{}/{}  {}\n    {}\n    from {}\n", i + 1, count, step.str(), rule.text(),
                             rule.origin());
    if (terms) std::cout << lift::print(program);
  });
  if (s.mapped) showMapping(s, terms);
  if (!s.parts.empty()) {
    std::cout << "\nParts\n";
    printParts(s.parts);
  }
  if (!s.memory.is_null()) {
    std::cout << "\nMemory between kernels\n";
    printMemory(s.memory);
  }
}

Json stepsJson(const Subject& s, bool terms) {
  Json j{{"schema", 1}};
  j.update(s.facts);
  j["source"] = lift::print(s.source);
  j["steps"] = Json::array();
  follow(s, [&](std::size_t, const Step& step, const Program& program) {
    Json row = stepJson(step);
    if (terms) row["program"] = lift::print(program);
    j["steps"].push_back(std::move(row));
  });
  if (s.mapped) {
    j["mapping"] = s.notes;
    j["mapping_steps"] = Json::array();
    followMapping(s, [&](const Step& step, const std::string& place, const Program& program) {
      Json row = stepJson(step);
      row["term"] = place;
      if (terms) row["program"] = lift::print(program);
      j["mapping_steps"].push_back(std::move(row));
    });
    j["mapped"] = lift::print(*s.mapped);
  }
  if (!s.parts.empty()) j["parts"] = s.parts;
  if (!s.memory.is_null()) j["memory"] = s.memory;
  return j;
}

// ------------------------------------------------------------------------------------------------------------ replay

// The kernels of the derivation, made once more, beside those that are recorded.
Json replayed(const Subject& s) {
  const auto made = digestsOf(s.generate(follow(s)));
  Json j{{"ok", true}, {"generator", s.generator}, {"kernels", Json::array()}};
  for (const auto& [name, digest] : s.digests) {
    const auto found = made.find(name);
    const bool same = found != made.end() && found->second == digest;
    if (!same) j["ok"] = false;
    j["kernels"].push_back(
        {{"name", name}, {"sha256", digest}, {"replayed", found == made.end() ? Json(nullptr) : Json(found->second)}});
  }
  return j;
}

void showReplay(const Json& replay) {
  std::cout << "\n";
  for (const Json& k : replay["kernels"]) {
    const bool same = k["sha256"] == k["replayed"];
    std::cout << fmt::format("kernel {}: sha256 {}, {}\n", k["name"].get<std::string>(), k["sha256"].get<std::string>(),
                             same                      ? "replayed: the same"
                             : k["replayed"].is_null() ? "replayed: there is NO SUCH KERNEL"
                                                       : "replayed: ANOTHER, " + k["replayed"].get<std::string>());
  }
  if (!replay["ok"].get<bool>() && replay["generator"] != generator)
    std::cout << fmt::format("it was generated by {}, this is {}\n", replay["generator"].get<std::string>(), generator);
}

// ----------------------------------------------------------------------------------------------------------- traffic

constexpr std::int64_t usualFastMemory = 32 * 1024 / 4;  // elements

// Of a layer: what its kernels move against what must be.
std::optional<lift::bounds::Nearness> nearness(const Subject& s) {
  if (!s.facts.contains("conv")) return std::nullopt;
  return lift::bounds::nearnessOf(lift::parseConv(s.facts["conv"].get<std::string>()), s.derivation,
                                  s.generate(s.program), usualFastMemory);
}

Json toJson(const lift::bounds::Nearness& n) {
  return {{"distinct_bytes", n.traffic.distinct},
          {"working_set_bytes", n.traffic.workingSet},
          {"algorithm", n.algorithm},
          {"bound_bytes", n.bound * 4},
          {"ratio", n.ratio}};
}

void show(const lift::bounds::Nearness& n) {
  std::cout << fmt::format(
      "\ntraffic: work-groups touch {:.2f} MB, {:.2f} times the bound of {} for {:.1f} KiB (`liftc bound`)\n",
      n.traffic.distinct * 1e-6, n.ratio, n.algorithm, static_cast<double>(n.fast) / 256);
}

// ------------------------------------------------------------------------------------------------------------- check

// The interpreter is slow: programs of more operations are not followed.
constexpr std::int64_t mostInterpreted = 200'000;
constexpr int samplesOfRule = 50;

// Every rule that the derivation uses, on random instances, and the program after every step, without rounding.
Json checked(const Subject& s) {
  Json j{{"ok", true}, {"rules", 0}, {"programs", 0}, {"followed", s.operations <= mostInterpreted}};
  const auto wrong = [&](const std::string& what) {
    if (j["ok"].get<bool>()) j["wrong"] = what;
    j["ok"] = false;
  };
  std::set<std::string> rules;
  for (const Step& step : s.derivation.steps) rules.insert(step.rule);
  for (const std::string& name : rules) {
    const auto result = lift::rewrite::checkRule(lift::rewrite::ruleNamed(name), {.samples = samplesOfRule});
    if (result.disagreement) wrong(fmt::format("rule {}: {}", name, result.disagreement->what));
    if (result.samples < samplesOfRule) wrong(fmt::format("rule {}: only {} instances", name, result.samples));
    j["rules"] = j["rules"].get<int>() + 1;
  }
  if (!j["followed"].get<bool>()) return j;
  const Program source = lift::atValues(s.source, s.config);
  follow(s, [&](std::size_t i, const Step& step, const Program& program) {
    if (const auto what = lift::rewrite::exactDifference(source, lift::atValues(program, s.config), 1))
      wrong(fmt::format("step {}, {}: {}", i + 1, step.str(), *what));
    j["programs"] = j["programs"].get<int>() + 1;
  });
  return j;
}

void showChecked(const Json& check) {
  std::cout << fmt::format("\n{} rules on {} random instances each", check["rules"].get<int>(), samplesOfRule);
  if (check["followed"].get<bool>())
    std::cout << fmt::format(", and the programs after {} steps, without rounding", check["programs"].get<int>());
  std::cout << (check["ok"].get<bool>() ? ": all equal\n" : ": WRONG, " + check["wrong"].get<std::string>() + "\n");
  if (!check["followed"].get<bool>())
    std::cout << "the layer is too large to be interpreted after every step: take one of fewer channels and rows\n";
}

int explain(const Subject& s, const ExplainOptions& o) {
  Json j;
  if (o.json)
    j = stepsJson(s, o.steps);
  else
    showSteps(s, o.steps);
  if (const auto near = nearness(s)) o.json ? void(j["traffic"] = toJson(*near)) : show(*near);
  bool ok = true;
  if (o.replay) {
    j["replay"] = replayed(s);
    ok = j["replay"]["ok"].get<bool>();
    if (!o.json) showReplay(j["replay"]);
  }
  if (o.check) {
    j["check"] = checked(s);
    ok = ok && j["check"]["ok"].get<bool>();
    if (!o.json) showChecked(j["check"]);
  }
  if (o.json) std::cout << j.dump(2) << "\n";
  return ok ? 0 : static_cast<int>(ExitStatus::wrong);
}

// -------------------------------------------------------------------------------------------------------- difference

// A line of a difference: in both ' ', only in the first '-', only in the second '+'.
struct Change {
  char where;
  std::string step;
};

// By a longest common subsequence.
std::vector<Change> changes(const std::vector<Step>& a, const std::vector<Step>& b) {
  std::vector<std::string> left, right;
  for (const Step& s : a) left.push_back(s.str());
  for (const Step& s : b) right.push_back(s.str());
  std::vector<std::vector<std::size_t>> common(left.size() + 1, std::vector<std::size_t>(right.size() + 1, 0));
  for (std::size_t i = left.size(); i-- > 0;)
    for (std::size_t j = right.size(); j-- > 0;)
      common[i][j] = left[i] == right[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::vector<Change> out;
  for (std::size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    if (i < left.size() && j < right.size() && left[i] == right[j])
      out.push_back({' ', left[i++]}), j++;
    else if (j == right.size() || (i < left.size() && common[i + 1][j] >= common[i][j + 1]))
      out.push_back({'-', left[i++]});
    else
      out.push_back({'+', right[j++]});
  }
  return out;
}

int difference(const Subject& a, const Subject& b, bool json) {
  const std::vector<Change> all = changes(a.derivation.steps, b.derivation.steps);
  const auto count = [&](char where) {
    return std::count_if(all.begin(), all.end(), [&](const Change& c) { return c.where == where; });
  };
  if (json) {
    Json j{{"schema", 1}, {"a", a.facts}, {"b", b.facts}, {"common", count(' ')}, {"steps", Json::array()}};
    for (const Change& c : all)
      if (c.where != ' ') j["steps"].push_back({{"in", c.where == '-' ? "a" : "b"}, {"step", c.step}});
    std::cout << j.dump(2) << "\n";
    return 0;
  }
  std::cout << fmt::format("--- {}\n+++ {}\n{} steps in both, {} only in the first, {} only in the second\n", a.title,
                           b.title, count(' '), count('-'), count('+'));
  for (const Change& c : all)
    if (c.where != ' ' || count(' ') < std::ssize(all)) std::cout << c.where << " " << c.step << "\n";
  return 0;
}

}  // namespace

int explain(const lift::Workload& workload, const FamilyOptions& family, bool json) {
  Subject s = ofWorkload(workload, family, {});
  s.digests = digestsOf(s.generate(s.program));
  ExplainOptions o;
  o.replay = true;
  o.json = json;
  return explain(s, o);
}

void addExplain(cli::App& app, int& status) {
  auto o = std::make_shared<ExplainOptions>();
  cli::App* sub = app.add_subcommand("explain", "Tell how a kernel was derived, rule by rule");
  sub->add_option(
         "what", o->what,
         "A kernel (.cl), a manifest.json, a program (.lift), or a layer's descriptor; with --db its best entry "
         "there")
      ->required();
  sub->add_option("--diff", o->diff, "Another one: print how the two derivations differ")->type_name("WHAT");
  sub->add_option("-s,--size", o->sizes, "Of a program: value of a size or tunable, NAME=VALUE")
      ->type_name("NAME=VALUE");
  sub->add_option("--entry", o->entry, "Of a program: definition to use (default: main, else the last)");
  sub->add_flag("--steps", o->steps, "Print the program after each step");
  sub->add_flag("--replay", o->replay, "Generate the kernels again; exit status 4 when a digest differs");
  sub->add_flag("--check", o->check,
                "Check every rule on random instances, and of a small layer the program after every step, without "
                "rounding; exit status 4 when one is wrong");
  sub->add_flag("--json", o->json, "Print as JSON");
  sub->add_option("--op", o->op, "Operator of descriptors")->capture_default_str();
  o->family.add(*sub);
  o->layouts.add(*sub);
  onCall(*sub, status, [o] {
    const Subject subject = subjectNamed(o->what, *o);
    return o->diff.empty() ? explain(subject, *o) : difference(subject, subjectNamed(o->diff, *o), o->json);
  });
}

}  // namespace liftc
