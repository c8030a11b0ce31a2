#include "space.hpp"
#include <fmt/format.h>

#include <iostream>

#include "lift/diagnostic.hpp"
#include "lift/listed.hpp"
#include "lift/space.hpp"

namespace lift::liftc {
namespace {

// ----------------------------------------------------------------------------------------------------------- answers

Json constraintJson(const Constraint& c) {
  Json names = Json::array();
  for (const NatVar v : c.variables) names.push_back(v.name());
  return {{"kind", name(c.kind)},
          {"condition", c.condition.str()},
          {"tunables", std::move(names)},
          {"origin", c.condition.origin}};
}

Json countJson(const Count& count) {
  return {{"points", count.points}, {"exact", count.exact}, {"low", count.low}, {"high", count.high}};
}

// Sizes that have no value are no obstacle to an explanation, but nothing can be counted then.
Json explanation(const FamilyProgram& of, const std::vector<Constraint>& constraints) {
  const Program& program = of.program;
  Json answer{{"family", of.family}, {"tunables", Json::array()}, {"constraints", Json::array()}};
  for (const NatVar t : program.tunables)
    answer["tunables"].push_back(
        {{"name", t.name()}, {"low", t.lower()}, {"high", t.upper() ? t.upper()->str() : std::string("inf")}});
  for (const Constraint& c : constraints) answer["constraints"].push_back(constraintJson(c));
  if (!program.sizes.empty()) return answer;
  const Space space(program.tunables, constraints);
  for (std::size_t i = 0; i < program.tunables.size(); i++)
    answer["tunables"][i]["values"] = space.tunables()[i].values.size();
  answer["space"] = countJson(space.count());
  return answer;
}

// A condition with the configuration's numbers, "5 | 128".
std::string atConfig(const SizeCondition& condition, const Space& space, const Config& config) {
  std::map<NatVar, Nat> values;
  for (const auto& t : space.tunables()) values.emplace(t.variable, config.at(t.name()));
  return SizeCondition{condition.kind, condition.left.substitute(values), condition.right.substitute(values), {}}.str();
}

// What it violates of that which ties the tunables that it has.
Json rejection(const FamilyProgram& of, std::vector<Constraint> constraints, const Config& config) {
  const auto& all = of.program.tunables;
  std::vector<std::string> unknown, missing;
  std::vector<NatVar> given;
  for (const auto& [name, value] : config)
    if (std::ranges::find(all, name, &NatVar::name) == all.end()) unknown.push_back(fmt::format("'{}'", name));
  for (const NatVar t : all)
    if (config.contains(t.name()))
      given.push_back(t);
    else
      missing.push_back(t.name());
  if (!unknown.empty())
    throw UserError(ExitStatus::usage,
                    fmt::format("--why: family '{}' has no tunable {}", of.family, fmt::join(unknown, ", ")),
                    all.empty() ? "it has none" : "its tunables are " + listed(all, &NatVar::name));
  std::erase_if(constraints, [&](const Constraint& c) {
    return std::ranges::any_of(c.variables, [&](NatVar v) { return std::ranges::find(given, v) == given.end(); });
  });
  const Space space(given, constraints);
  const auto violated = space.why(config);
  Json answer{{"family", of.family},
              {"config", config},
              {"valid", violated.empty()},
              {"missing", missing},
              {"violated", Json::array()}};
  for (const Constraint* c : violated) {
    answer["violated"].push_back(constraintJson(*c));
    answer["violated"].back()["values"] = atConfig(c->condition, space, config);
  }
  return answer;
}

// ------------------------------------------------------------------------------------------------------------- showing

void showConstraint(const Json& c) {
  std::cout << fmt::format("{:<10}{}\n{:<10}  {}\n", c.at("kind"), c.at("condition"), "", c.at("origin"));
}

std::string describe(const Json& count) {
  const double points = count.at("points");
  if (count.at("exact").get<bool>()) return fmt::format("{:.0f} points", points);
  return fmt::format("about {:.3g} points ({:.3g} to {:.3g})", points, count.at("low"), count.at("high"));
}

void showExplanation(const Json& answer) {
  for (const Json& t : answer.at("tunables")) {
    const std::string high = t.at("high");
    std::cout << fmt::format("{:<10}{} in {}..{}", "tunable", t.at("name"), t.at("low"), high == "inf" ? "" : high);
    if (t.contains("values")) std::cout << fmt::format(": {} values", t["values"]);
    std::cout << "\n";
  }
  for (const Json& c : answer.at("constraints")) showConstraint(c);
  if (answer.contains("space")) std::cout << describe(answer["space"]) << "\n";
}

void showRejection(const Json& answer) {
  const auto missing = answer.at("missing").get<std::vector<std::string>>();
  const std::string without =
      missing.empty() ? "" : fmt::format(", as far as it goes without {}", fmt::join(missing, ", "));
  if (answer.at("valid").get<bool>()) std::cout << fmt::format("valid{}\n", without);
  for (const Json& c : answer.at("violated")) {
    showConstraint(c);
    std::cout << fmt::format("{:<10}  here {}\n", "", c.at("values"));
  }
}

}  // namespace

void SpaceQuestion::add(cli::App& app) {
  app.add_option("--profile", profile,
                 "For the two below: a device that is not at hand, portable, mali-g72, generic-cpu or a file")
      ->type_name("NAME|FILE");
  cli::Option* question = app.add_option("--why", why, "Print what a configuration violates");
  question->type_name("K=V,…");
  app.add_flag("--explain-constraints", explain, "Print what ties the tunables, and why")->excludes(question);
}

int SpaceQuestion::answer(const ProblemChoice& problem, bool json) const {
  const std::vector<FamilyProgram> programs = problem.programs();
  if (!explain && programs.size() > 1)
    throw UserError(ExitStatus::usage, "--why takes a configuration of one family", "name it with --family");
  const DeviceLimits limits = profile.empty() ? parseDeviceLimits(problem.device.info().toJson())
                                              : parseDeviceLimits(runtime::readProfile(profile).toJson());
  Json answers = Json::array();
  for (const FamilyProgram& of : programs) {
    const std::vector<Constraint> constraints = problem.constraints(of, limits);
    answers.push_back(explain ? explanation(of, constraints) : rejection(of, constraints, parseValues({why}, "--why")));
  }
  if (json) {
    printJson(answers.size() == 1 ? answers[0] : answers);
    return 0;
  }
  for (const Json& answer : answers) {
    if (answers.size() > 1) std::cout << fmt::format("family {}\n", answer.at("family"));
    explain ? showExplanation(answer) : showRejection(answer);
  }
  return 0;
}

}  // namespace lift::liftc
