#include "space.hpp"
#include <fmt/format.h>

#include <iostream>

#include "lift/diagnostic.hpp"
#include "lift/space.hpp"

namespace liftc {
namespace {

using lift::Config;
using lift::Constraint;
using lift::Space;

// ------------------------------------------------------------------------------------------------------------- showing

Json constraintJson(const Constraint& c) {
  Json names = Json::array();
  for (const lift::NatVar v : c.variables) names.push_back(v.name());
  return {{"kind", lift::name(c.kind)},
          {"condition", c.condition.str()},
          {"tunables", std::move(names)},
          {"origin", c.condition.origin}};
}

void show(const Constraint& c) {
  std::cout << fmt::format("{:<10}{}\n{:<10}  {}\n", lift::name(c.kind), c.condition.str(), "", c.condition.origin);
}

std::string rangeOf(lift::NatVar tunable) {
  return fmt::format("{} in {}..{}", tunable.name(), tunable.lower(), tunable.upper() ? tunable.upper()->str() : "");
}

Json countJson(const lift::Count& count) {
  return {{"points", count.points}, {"exact", count.exact}, {"low", count.low}, {"high", count.high}};
}

std::string describe(const lift::Count& count) {
  return count.exact ? fmt::format("{:.0f} points", count.points)
                     : fmt::format("about {:.3g} points ({:.3g} to {:.3g})", count.points, count.low, count.high);
}

// Sizes that have no value are no obstacle to an explanation, but nothing can be counted then.
int explanation(const lift::Program& program, const std::vector<Constraint>& constraints, bool json) {
  std::optional<Space> space;
  if (program.sizes.empty()) space.emplace(program.tunables, constraints);
  if (json) {
    Json j{{"tunables", Json::array()}, {"constraints", Json::array()}};
    for (const lift::NatVar t : program.tunables)
      j["tunables"].push_back(
          {{"name", t.name()}, {"low", t.lower()}, {"high", t.upper() ? t.upper()->str() : std::string("inf")}});
    for (const Constraint& c : constraints) j["constraints"].push_back(constraintJson(c));
    if (space) j["space"] = countJson(space->count());
    std::cout << j.dump(2) << "\n";
    return 0;
  }
  for (std::size_t i = 0; i < program.tunables.size(); i++)
    std::cout << fmt::format("{:<10}{}{}\n", "tunable", rangeOf(program.tunables[i]),
                             space ? fmt::format(": {} values", space->tunables()[i].values.size()) : "");
  for (const Constraint& c : constraints) show(c);
  if (space) std::cout << describe(space->count()) << "\n";
  return 0;
}

// A condition with the configuration's numbers, "5 | 128".
std::string atConfig(const lift::SizeCondition& condition, const Space& space, const Config& config) {
  std::map<lift::NatVar, lift::Nat> values;
  for (const auto& t : space.tunables()) values.emplace(t.variable, config.at(t.name()));
  return lift::SizeCondition{condition.kind, condition.left.substitute(values), condition.right.substitute(values), {}}
      .str();
}

int rejection(const Space& space, const Config& config, bool json) {
  const auto violated = space.why(config);
  if (json) {
    Json j{{"config", config}, {"valid", violated.empty()}, {"violated", Json::array()}};
    for (const Constraint* c : violated) {
      j["violated"].push_back(constraintJson(*c));
      j["violated"].back()["values"] = atConfig(c->condition, space, config);
    }
    std::cout << j.dump(2) << "\n";
    return 0;
  }
  if (violated.empty()) std::cout << "valid\n";
  for (const Constraint* c : violated) {
    show(*c);
    std::cout << fmt::format("{:<10}  here {}\n", "", atConfig(c->condition, space, config));
  }
  return 0;
}

}  // namespace

void SpaceQuestion::add(CLI::App& app) {
  app.add_option("--profile", profile, "For the two below: limits of a device that is not at hand (see profiles/)")
      ->type_name("FILE");
  CLI::Option* question = app.add_option("--why", why, "Print what a configuration of a program violates");
  question->type_name("K=V,…");
  app.add_flag("--explain-constraints", explain, "Print what ties a program's tunables, and why")->excludes(question);
}

int SpaceQuestion::answer(const ProgramOptions& options, const DeviceOptions& device, bool json) const {
  if (options.file.empty())
    throw lift::UserError(lift::ExitStatus::usage, "--explain-constraints and --why take a program's file");
  const lift::Program program = lift::mapByDefault(options.readAtValues());
  lift::checkMapping(program);
  const lift::DeviceLimits limits =
      profile.empty() ? lift::parseDeviceLimits(device.info().toJson()) : lift::readDeviceLimits(profile);
  const std::vector<Constraint> constraints = lift::constraintsOf(program, limits);
  if (explain) return explanation(program, constraints, json);
  return rejection(Space(program.tunables, constraints), parseValues({why}, "--why"), json);
}

}  // namespace liftc
