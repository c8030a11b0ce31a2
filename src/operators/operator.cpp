#include "lift/operator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "judging.hpp"
#include "lift/diagnostic.hpp"
#include "lift/digest.hpp"
#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/listed.hpp"
#include "lift/parts.hpp"
#include "lift/rewrite_check.hpp"

namespace lift {
namespace {

std::vector<Operator>& registry() {
  static std::vector<Operator> all;
  return all;
}

}  // namespace

void registerOperator(Operator op) {
  for (const Operator& o : registry())
    if (o.name == op.name)
      throw UserError(ExitStatus::usage, fmt::format("there is an operator '{}' already", op.name));
  if (!op.rules.empty()) rewrite::registerRules({op.name, "terms restated as programs of the operator", op.rules});
  registry().push_back(std::move(op));
}

const std::vector<Operator>& operators() { return registry(); }

const Operator& operatorNamed(std::string_view name) {
  for (const Operator& o : registry())
    if (o.name == name) return o;
  throw UserError(ExitStatus::usage, fmt::format("there is no operator '{}'", name),
                  "the operators are " + listed(registry(), &Operator::name));
}

const OperatorFamily& Workload::family(std::string_view name) const {
  for (const OperatorFamily& f : families)
    if (f.name == name) return f;
  if (const auto why = refused.find(std::string(name)); why != refused.end())
    throw UserError(ExitStatus::usage, fmt::format("family '{}' has no program for {}: {}", name, key(), why->second),
                    "its families are " + listed(families, &OperatorFamily::name));
  throw UserError(ExitStatus::usage, fmt::format("there is no family '{}' of {}", name, label.empty() ? key() : label),
                  families.empty() ? "it has none" : "its families are " + listed(families, &OperatorFamily::name));
}

std::map<std::string, Tensor> Workload::makeInputs(std::uint64_t seed) const {
  return inputs ? inputs(seed) : randomInputs(program, seed);
}

std::map<std::string, Tensor> Workload::expected(const std::map<std::string, Tensor>& in) const {
  if (!judgedRows.empty()) return interpret(detail::ofRows(program, judgedRows), in);
  return reference ? reference(in) : interpret(program, in);
}

Variant derive(const Workload& workload, std::string_view family) {
  const OperatorFamily& row = workload.family(family);
  const Program& source = row.parted ? row.parted->program : workload.program;
  rewrite::Rewriting rewriting(source);
  if (row.derive) row.derive(rewriting);
  Variant v{workload,
            row.name,
            source,
            row.derive ? rewriting.program() : source,
            rewriting.derivation(),
            row.defaults,
            workload.tolerance * row.toleranceFactor};
  // So that the derivation replays: its arguments mention the tunables, its rules stand on the conditions.
  v.source.tunables = v.program.tunables;
  v.source.conditions = v.program.conditions;
  return v;
}

Config Variant::completed(Config config) const {
  config.insert(defaults.begin(), defaults.end());
  return config;
}

namespace {

// The values of the variant's tunables at a configuration. Throws UserError (usage) for a name that is none of them,
// and for values that are out of range.
std::map<NatVar, Nat> valuesAt(const Variant& variant, const Config& config) {
  const auto& tunables = variant.program.tunables;
  for (const auto& [name, value] : config)
    if (std::ranges::none_of(tunables, [&wanted = name](NatVar t) { return t.name() == wanted; })) {
      const std::string known = listed(tunables, &NatVar::name);
      throw UserError(ExitStatus::usage, fmt::format("family '{}' has no tunable '{}'", variant.family, name),
                      known.empty() ? "it has none" : "its tunables are " + known);
    }
  std::map<NatVar, Nat> sizes;
  for (const NatVar t : tunables) {
    const auto given = config.find(t.name());
    const std::int64_t value = given != config.end() ? given->second : variant.defaults.at(t.name());
    if (value < t.lower() || (t.upper() && less(*t.upper(), value) == Truth::proved))
      throw UserError(ExitStatus::usage, fmt::format("{} = {} is out of its range, {} to {}", t.name(), value,
                                                     t.lower(), t.upper() ? t.upper()->str() : "any"));
    sizes.emplace(t, value);
  }
  return sizes;
}

}  // namespace

double Variant::toleranceAt(const Config& config) const {
  const auto& factor = workload.family(family).toleranceFactorAt;
  if (!factor) return tolerance;
  static_cast<void>(valuesAt(*this, config));
  return workload.tolerance * factor(completed(config));
}

Program configured(const Variant& variant, const Config& config) {
  const std::map<NatVar, Nat> sizes = valuesAt(variant, config);
  try {
    const Program program = specialise(variant.program, sizes);
    return variant.workload.outer ? variant.workload.outer(program) : program;
  } catch (const UserError& e) {  // of the program itself all conditions hold
    throw UserError(ExitStatus::usage, e.diagnostics());
  }
}

CompileOptions optionsOf(const Variant& variant, CompileOptions options) {
  options.constants = variant.workload.constants;
  options.target = variant.workload.target;
  options.passes.finiteMath |= variant.workload.finiteMath;
  options.opencl.alignedVectors = variant.workload.family(variant.family).forGpus || variant.workload.target.isGpu;
  return options;
}

kernel::Plan compileVariant(const Variant& variant, const Config& config, CompileOptions options,
                            CompileReport* report) {
  return compile(configured(variant, config), optionsOf(variant, std::move(options)), report);
}

namespace {

// By which the family may round otherwise than the workload's program; nothing where none does, or it derives nothing.
std::optional<std::string> roundingRuleOf(const Workload& workload, const OperatorFamily& family) {
  if (!family.derive) return std::nullopt;
  try {
    return rewrite::roundingRule(derive(workload, family.name).derivation);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

Workload inOrder(const Workload& workload) {
  Workload w = workload;
  w.families.clear();
  std::optional<OperatorFamily> last;  // what derives no part
  for (const OperatorFamily& f : workload.families) {
    if (f.parted) {
      OperatorFamily parts = partsFamily(partsOf(workload.program, true));
      derivesAny(parts) ? w.families.push_back(std::move(parts)) : void(last = std::move(parts));
    } else if (const auto rule = roundingRuleOf(workload, f)) {
      w.refused[f.name] = fmt::format("{} may round otherwise", *rule);
    } else {
      w.families.push_back(f);
    }
  }
  if (last) w.families.push_back(std::move(*last));
  if (w.families.empty()) w.families.push_back({defaultFamily, "the default mapping", {}});
  return w;
}

// ---------------------------------------------------------------------------------------------- programs of the user

namespace {

void checkResult(const Program& program) {
  for (const Leaf& leaf : leavesOf(program.result()))
    for (const Nat n : leaf.shape)
      for (const NatVar t : program.tunables)
        if (simplifyUnder(program.facts(), n).mentions(t))
          throw UserError(ExitStatus::program,
                          fmt::format("the shape of the result, {}, depends on tunables", program.result().str()),
                          "join what they split, so that every configuration computes the same");
}

Config firstPoint(const Program& program) {
  if (program.tunables.empty()) return {};
  // What sizes without values decide is asked when they have them.
  const auto isOpen = [&](const Constraint& c) {
    return std::ranges::any_of(c.variables,
                               [&](NatVar v) { return std::ranges::find(program.sizes, v) != program.sizes.end(); });
  };
  std::vector<Constraint> constraints = constraintsOf(program, {});
  std::erase_if(constraints, isOpen);
  std::optional<Config> first;
  Space(program.tunables, std::move(constraints)).forEach([&](const Config& config) {
    first = config;
    return false;
  });
  if (!first)
    throw UserError(ExitStatus::program, "no values of the tunables satisfy all constraints",
                    "`liftc tune --explain-constraints` prints them");
  return *first;
}

// The family of its parts, in front where it derives one; of a program that is one part what is known of this.
void addParts(Workload& w) {
  OperatorFamily family = partsFamily(partsOf(w.program));
  if (const auto& parts = family.parted->parts; parts.size() == 1) {
    w.operations = parts[0].workload.operations;
    if (const auto& rows = parts[0].workload.judgedRows; detail::canJudgeRows(w.program)) w.judgedRows = rows;
  }
  const bool isFirst = derivesAny(family);
  if (!isFirst)
    family.firstOn = [parted = family.parted](const runtime::DeviceInfo& device) {
      return std::ranges::any_of(parted->parts, [&](const Part& part) {
        const auto& own = part.workload.families;
        return std::ranges::any_of(own, [&](const OperatorFamily& f) { return f.firstOn && f.firstOn(device); });
      });
    };
  w.families.insert(isFirst ? w.families.begin() : w.families.end(), std::move(family));
}

}  // namespace

Workload programWorkload(const Program& program, double tolerance, std::map<std::string, Tensor> inputs) {
  checkResult(program);
  Workload w;
  w.op = programFamily;
  const std::string text = print(program, Names::canonical);
  w.descriptor = fmt::format("{} {}", program.name, runtime::hex(runtime::sha256(text)).substr(0, 16));
  w.label = program.name;
  w.program = program;
  w.tolerance = tolerance;
  w.judge = "interpreter";
  OperatorFamily asWritten{programFamily, "the program as it is written", {}, firstPoint(program)};
  if (sharesStepsInGroups(program.body))
    asWritten.firstOn = [](const runtime::DeviceInfo& device) { return device.type == "gpu"; };
  w.families = {asWritten};
  if (isMapped(program))
    w.refused.emplace(partsFamilyName, "it says itself where its work runs");
  else if (!program.tunables.empty())
    w.refused.emplace(partsFamilyName, "it has tunables of its own");
  else
    addParts(w);
  for (const auto& [name, tensor] : inputs) w.tensorBytes += static_cast<std::int64_t>(tensor.bytes.size());
  if (!inputs.empty()) w.inputs = [inputs](std::uint64_t) { return inputs; };
  // A program's results do not depend on its tunables: any valid point tells what is right.
  w.reference = [at = atValues(program, asWritten.defaults)](const std::map<std::string, Tensor>& in) {
    return interpret(at, in);
  };
  return w;
}

}  // namespace lift
