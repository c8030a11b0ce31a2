#include "problem.hpp"

#include <fmt/format.h>

#include <set>

#include "lift/codegen.hpp"
#include "lift/conv_family.hpp"
#include "lift/conv_program.hpp"
#include "lift/diagnostic.hpp"
#include "lift/digest.hpp"
#include "lift/interpreter.hpp"
#include "lift/space.hpp"
#include "lift/text.hpp"

namespace liftc {
namespace {

namespace tune = lift::tune;

constexpr const char* programFamily = "program";  // the one family of a program of the user's

tune::ProblemData layerData(const lift::ConvSpec& spec, const lift::ConvLayouts& layouts) {
  const lift::ConvTensors t = lift::randomConvTensors(spec, 1);
  auto expected = lift::convOneDnn(spec, t.input, t.weights, t.bias);
  if (!expected) expected = lift::convReference(spec, t.input, t.weights, t.bias);
  return {t.in(layouts),
          {{"out", lift::convertLayout(*expected, lift::Layout::nhwc, layouts.output)}},
          lift::convTolerance(spec, lift::Scalar::f32)};
}

tune::Variant layerVariant(const ProblemChoice& choice, const lift::ConvVariant& variant,
                           const lift::DeviceLimits& limits) {
  const lift::Space space(variant.program.tunables, choice.constraints(variant.program, limits));
  tune::Variant made{tune::familyOf(variant.family, space), variant.derivation.record(), layerPlan(variant), space};
  if (const auto start = space.lowered(variant.defaults)) made.family.start = {*start};
  return made;
}

// The families asked for, else those that have something to choose.
std::vector<lift::ConvVariant> layerFamilies(const ProblemChoice& choice, const lift::ConvSpec& spec) {
  const lift::ConvLayouts layouts = choice.layouts.layouts();
  std::vector<lift::ConvVariant> found;
  for (const std::string& family : choice.families) found.push_back(lift::deriveConv(spec, family, layouts));
  if (!found.empty()) return found;
  for (const lift::ConvFamily& family : lift::convFamilies())
    if (lift::ConvVariant v = lift::deriveConv(spec, family.name, layouts); !v.program.tunables.empty())
      found.push_back(std::move(v));
  return found;
}

tune::Problem layerProblem(const ProblemChoice& choice, const lift::DeviceLimits& limits) {
  const lift::ConvSpec spec = lift::parseConv(choice.conv);
  tune::Problem problem;
  problem.row = problemRow(spec, choice.layouts);
  for (const lift::ConvVariant& variant : layerFamilies(choice, spec))
    problem.variants.push_back(layerVariant(choice, variant, limits));
  problem.data = [spec, layouts = choice.layouts.layouts()] { return layerData(spec, layouts); };
  return problem;
}

void checkResult(const lift::Program& program) {
  for (const lift::Leaf& leaf : lift::leavesOf(program.result()))
    for (const lift::Nat n : leaf.shape)
      for (const lift::NatVar t : program.tunables)
        if (lift::simplifyUnder(program.facts(), n).mentions(t))
          throw lift::UserError(lift::ExitStatus::program,
                                fmt::format("the shape of the result, {}, depends on tunables", program.result().str()),
                                "join what they split, so that every configuration computes the same");
}

[[noreturn]] void failWithoutPoints() {
  throw lift::UserError(lift::ExitStatus::program, "no values of the tunables satisfy all constraints",
                        "`liftc tune --explain-constraints` prints them");
}

std::optional<lift::Config> firstPoint(const lift::Space& space) {
  std::optional<lift::Config> first;
  space.forEach([&](const lift::Config& config) {
    first = config;
    return false;
  });
  return first;
}

bool hasPoint(const lift::Space& space) { return firstPoint(space).has_value(); }

// A program's results do not depend on its tunables: any valid point tells what is right.
tune::ProblemData programData(const lift::Program& program, const lift::Config& point, const Tensors& inputs) {
  std::map<lift::NatVar, lift::Nat> values;
  for (const lift::NatVar t : program.tunables) values.emplace(t, lift::Nat(point.at(t.name())));
  return {inputs, lift::interpret(lift::specialise(program, values), inputs), 0};
}

// The program at its sizes, symbolic in its tunables.
lift::Program programOf(const ProblemChoice& choice) {
  const lift::Program symbolic = lift::readProgram(choice.file, choice.entry);
  if (symbolic.tunables.empty())
    throw lift::UserError(lift::ExitStatus::program, fmt::format("'{}' has no tunables", choice.file),
                          "`tune k in 1..32` in a program declares one");
  std::map<lift::NatVar, lift::Nat> sizes;
  const auto given = parseValues(choice.sizes, "--size");
  checkValues(symbolic, given);
  for (const lift::NatVar s : symbolic.sizes) {
    const auto found = given.find(s.name());
    if (found == given.end())
      throw lift::UserError(lift::ExitStatus::program, fmt::format("the size {} has no value", s.name()),
                            fmt::format("give one with --size {}=…", s.name()));
    sizes.emplace(s, lift::Nat(found->second));
  }
  return lift::specialise(symbolic, sizes);
}

tune::Problem programProblem(const ProblemChoice& choice, const lift::DeviceLimits& limits) {
  const lift::Program program = programOf(choice);
  checkResult(program);
  // Hardware limits need a mapping.
  const lift::Space space(program.tunables, choice.constraints(lift::mapByDefault(program), limits));
  DataOptions data;
  data.fill = choice.fill;
  const std::optional<lift::Config> first = firstPoint(space);
  if (!first) failWithoutPoints();
  const lift::Config point = *first;
  const Tensors inputs = makeInputs(program, point, data).tensors;

  tune::Problem problem;
  const std::string text = lift::print(program, lift::Names::canonical);
  problem.row.key =
      fmt::format("program {} {}", program.name, lift::runtime::hex(lift::runtime::sha256(text)).substr(0, 16));
  problem.row.label = fmt::format("{} {}", program.name, fmt::join(choice.sizes, " "));
  for (const auto& [name, tensor] : inputs) problem.row.tensorBytes += static_cast<std::int64_t>(tensor.bytes.size());
  problem.variants = {tune::variantOf(programFamily, program, space, text)};
  problem.data = [=] {
    tune::ProblemData made = programData(program, point, inputs);
    made.tolerance = choice.rtol;
    return made;
  };
  return problem;
}

void checkGiven(const ProblemChoice& choice) {
  if (choice.file.empty() == choice.conv.empty())
    throw lift::UserError(lift::ExitStatus::usage, "give a program or --conv DESCRIPTOR",
                          "for example liftc tune --conv mb1ic64ih56oc64oh56kh3ph1 --points 100");
  for (const std::string& family : choice.families)
    if (!choice.file.empty() && family != programFamily)
      throw lift::UserError(lift::ExitStatus::usage, fmt::format("--family: there is no family '{}'", family),
                            fmt::format("a program of your own is one family, '{}'", programFamily));
}

// `known` are the tunables of all families.
void checkFixed(const ProblemChoice& choice, const std::set<std::string>& known) {
  for (const auto& [name, value] : parseValues(choice.fixed, "--fix"))
    if (known.count(name) == 0)
      throw lift::UserError(lift::ExitStatus::usage, fmt::format("--fix: there is no tunable '{}'", name),
                            fmt::format("the tunables are {}", fmt::join(known, ", ")));
}

}  // namespace

void ProblemChoice::add(cli::App& app) {
  app.add_option("file", file, "Program (.lift) with tunables");
  app.add_option("--entry", entry, "Definition to use (default: main, else the last)");
  app.add_option("-s,--size", sizes, "Value of a size of the program, NAME=VALUE")->type_name("NAME=VALUE");
  app.add_option("--conv", conv, "Convolution layer: its descriptor");
  app.add_option("--family", families, "Only this family of programs; may be repeated");
  app.add_option("--fix", fixed, "Search only configurations in which these tunables have these values")
      ->type_name("K=V,…");
  app.add_option("--fill", fill, "Contents of a program's inputs: zeros, ones or random:SEED")->capture_default_str();
  app.add_option("--rtol", rtol, "Largest error of a program's results, relative to their root mean square")
      ->capture_default_str();
  layouts.add(app);
  device.add(app);
}

std::vector<std::string> ProblemChoice::problemWords() const {
  std::vector<std::string> words;
  const auto option = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  if (!file.empty()) words.push_back(file);
  option("--conv", conv);
  option("--entry", entry);
  for (const std::string& s : sizes) option("--size", s);
  const auto order = layouts.words();
  words.insert(words.end(), order.begin(), order.end());
  return words;
}

std::vector<std::string> ProblemChoice::words() const {
  std::vector<std::string> words = problemWords();
  const auto option = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  for (const std::string& f : families) option("--family", f);
  for (const std::string& f : fixed) option("--fix", f);
  if (!file.empty()) option("--fill", fill);
  option("--platform", device.platform);
  option("--device", device.device);
  option("--build-options", device.buildOptions);
  if (device.noCache) words.emplace_back("--no-cache");
  return words;
}

std::vector<FamilyProgram> ProblemChoice::programs() const {
  checkGiven(*this);
  std::vector<FamilyProgram> programs;
  if (conv.empty()) {
    const ProgramOptions options{file, entry, sizes, {}};
    programs.push_back({programFamily, lift::mapByDefault(options.readAtValues())});
    lift::checkMapping(programs[0].program);
  } else {
    for (lift::ConvVariant& v : layerFamilies(*this, lift::parseConv(conv)))
      programs.push_back({std::move(v.family), std::move(v.program)});
  }
  std::set<std::string> tunables;
  for (const FamilyProgram& p : programs)
    for (const lift::NatVar t : p.program.tunables) tunables.insert(t.name());
  checkFixed(*this, tunables);
  return programs;
}

std::vector<lift::Constraint> ProblemChoice::constraints(const lift::Program& program,
                                                         const lift::DeviceLimits& limits) const {
  std::vector<lift::Constraint> constraints = lift::constraintsOf(program, limits);
  const auto values = parseValues(fixed, "--fix");
  for (const lift::NatVar t : program.tunables)
    if (const auto value = values.find(t.name()); value != values.end())
      constraints.push_back({{lift::SizeCondition::Kind::equal, t, value->second, fmt::format("--fix {}", t.name())},
                             lift::Constraint::Kind::user,
                             {t}});
  return constraints;
}

tune::Problem ProblemChoice::problem(const lift::runtime::DeviceInfo& info) const {
  checkGiven(*this);
  const lift::DeviceLimits limits = lift::parseDeviceLimits(info.toJson());
  tune::Problem p = conv.empty() ? programProblem(*this, limits) : layerProblem(*this, limits);
  std::set<std::string> tunables;
  for (const tune::Variant& v : p.variants)
    for (const lift::Tunable& t : v.space->tunables()) tunables.insert(t.name());
  checkFixed(*this, tunables);
  if (std::none_of(p.variants.begin(), p.variants.end(), [](const tune::Variant& v) { return hasPoint(*v.space); }))
    failWithoutPoints();
  p.row.command = commandLine(problemWords());
  if (p.row.label.empty()) p.row.label = conv;
  return p;
}

ProblemChoice ProblemChoice::parse(const std::string& command) {
  ProblemChoice choice;
  cli::App app;
  choice.add(app);
  try {
    app.parse(commandWords(command));
  } catch (const cli::ParseError& e) {
    throw lift::UserError(lift::ExitStatus::program,
                          fmt::format("cannot follow the command '{}': {}", command, e.what()));
  }
  return choice;
}

tune::Regenerate ProblemChoice::regenerate() const {
  checkGiven(*this);
  std::function<tune::PlanOf(const std::string&)> planOf;
  if (conv.empty()) {
    const tune::PlanOf plan = tune::planOf(programOf(*this), {});
    planOf = [plan](const std::string& family) { return family == programFamily ? plan : tune::PlanOf(); };
  } else {
    planOf = [spec = lift::parseConv(conv), order = layouts.layouts()](const std::string& family) {
      return layerPlan(lift::deriveConv(spec, family, order));
    };
  }
  return tune::regenerateBy(planOf, device.buildOptions);
}

}  // namespace liftc
