// liftc explain: how a kernel came to be, step by step from the program it started as.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <optional>
#include <set>

#include "common.hpp"
#include "explained.hpp"
#include "lift/bounds.hpp"
#include "lift/diagnostic.hpp"
#include "lift/inputs.hpp"
#include "lift/parts.hpp"
#include "lift/rewrite_check.hpp"
#include "parts.hpp"

namespace lift::liftc {
namespace {

using rewrite::Step;

// ------------------------------------------------------------------------------------------------------------- steps

// The program after the last step; `see` gets the program after each, and the number of steps before it.
Program follow(const Explained& s, const std::function<void(std::size_t, const Step&, const Program&)>& see = {}) {
  if (s.derivation.steps.empty()) return s.source;
  std::size_t done = 0;
  return rewrite::replay(s.source, s.derivation, [&](const Step& step, const Program& program) {
    if (see) see(done++, step, program);
  });
}

Json stepJson(const Step& step) {
  const auto& rule = rewrite::ruleNamed(step.rule);
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
void followMapping(const Explained& s,
                   const std::function<void(const Step&, const std::string&, const Program&)>& see) {
  Program before = s.unmapped;
  before.body = etaLong(before.body);
  rewrite::replay(s.unmapped, s.mapping, [&](const Step& step, const Program& program) {
    Expr term = before.body;
    for (const auto child : step.path)
      term = term.isLambda() ? term.body() : child == 0 ? term.function() : term.argument();
    see(step, placeIn(before.spans, term), program);
    before.body = program.body;
  });
}

void showMapping(const Explained& s, bool terms) {
  std::cout << "\nBy the default mapping\n";
  std::size_t done = 0;
  followMapping(s, [&](const Step& step, const std::string& place, const Program& program) {
    std::cout << fmt::format("{}/{}  {}{}{}\n    {}\n", ++done, s.mapping.steps.size(), step.str(),
                             place.empty() ? "" : ", ", place, rewrite::ruleNamed(step.rule).text());
    if (terms) std::cout << print(program);
  });
  if (!s.notes.empty()) std::cout << "\n";
  for (const std::string& n : s.notes) std::cout << "  " << n << "\n";
  std::cout << print(*s.mapped);
}

void showSteps(const Explained& s, bool terms) {
  std::cout << s.title << "\n\nFrom\n" << print(s.source);
  const std::size_t count = s.derivation.steps.size();
  if (count == 0 && !s.mapped) std::cout << "\nno rule was applied\n";
  follow(s, [&](std::size_t i, const Step& step, const Program& program) {
    const auto& rule = rewrite::ruleNamed(step.rule);
    std::cout << fmt::format("\n{}/{}  {}\n    {}\n    from {}\n", i + 1, count, step.str(), rule.text(),
                             rule.origin());
    if (terms) std::cout << print(program);
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

Json stepsJson(const Explained& s, bool terms) {
  Json j{{"schema", 1}};
  j.update(s.facts);
  j["source"] = print(s.source);
  j["steps"] = Json::array();
  follow(s, [&](std::size_t, const Step& step, const Program& program) {
    Json row = stepJson(step);
    if (terms) row["program"] = print(program);
    j["steps"].push_back(std::move(row));
  });
  if (s.mapped) {
    j["mapping"] = s.notes;
    j["mapping_steps"] = Json::array();
    followMapping(s, [&](const Step& step, const std::string& place, const Program& program) {
      Json row = stepJson(step);
      row["term"] = place;
      if (terms) row["program"] = print(program);
      j["mapping_steps"].push_back(std::move(row));
    });
    j["mapped"] = print(*s.mapped);
  }
  if (!s.parts.empty()) j["parts"] = s.parts;
  if (!s.memory.is_null()) j["memory"] = s.memory;
  return j;
}

// ------------------------------------------------------------------------------------------------------------ replay

// The kernels of the derivation, made once more, beside those that are recorded.
Json replayed(const Explained& s) {
  if (s.digests.empty())
    throw UserError(ExitStatus::program, "there are no digests to compare the kernels with",
                    "OpenCL kernels have them; C functions have none");
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
    std::cout << fmt::format("kernel {}: sha256 {}, {}\n", k["name"], k["sha256"],
                             same                      ? "replayed: the same"
                             : k["replayed"].is_null() ? "replayed: there is NO SUCH KERNEL"
                                                       : "replayed: ANOTHER, " + k["replayed"].get<std::string>());
  }
  if (!replay["ok"].get<bool>() && replay["generator"] != generator)
    std::cout << fmt::format("it was generated by {}, this is {}\n", replay["generator"], generator);
}

// ----------------------------------------------------------------------------------------------------------- traffic

constexpr std::int64_t usualFastMemory = 32 * 1024;  // bytes

// For a layer, what its kernels move, compared with what any must move.
std::optional<bounds::Nearness> nearness(const Explained& s) {
  if (!s.facts.contains("conv")) return std::nullopt;
  return bounds::nearnessOf(parseConv(s.facts["conv"].get<std::string>()), s.derivation, s.generate(s.program),
                            usualFastMemory);
}

Json toJson(const bounds::Nearness& n) {
  return {{"distinct_bytes", n.traffic.distinct},
          {"working_set_bytes", n.traffic.workingSet},
          {"algorithm", n.algorithm},
          {"bound_bytes", n.bound},
          {"ratio", n.ratio}};
}

void show(const bounds::Nearness& n) {
  std::cout << fmt::format(
      "\ntraffic: work-groups touch {:.2f} MB, {:.2f} times the bound of {} for {:.1f} KiB (`liftc bound`)\n",
      n.traffic.distinct * 1e-6, n.ratio, n.algorithm, static_cast<double>(n.fast) / 1024);
}

// ------------------------------------------------------------------------------------------------------------- check

// The interpreter is slow: programs of more operations are not followed.
constexpr std::int64_t mostInterpreted = 200'000;
constexpr int samplesOfRule = 50;

// Every rule that the derivation uses, on random instances, and the program after every step, without rounding.
Json checked(const Explained& s) {
  Json j{{"ok", true}, {"rules", 0}, {"programs", 0}, {"followed", s.operations <= mostInterpreted}};
  const auto wrong = [&](const std::string& what) {
    if (j["ok"].get<bool>()) j["wrong"] = what;
    j["ok"] = false;
  };
  std::set<std::string> rules;
  for (const Step& step : s.derivation.steps) rules.insert(step.rule);
  for (const std::string& name : rules) {
    const auto result = rewrite::checkRule(rewrite::ruleNamed(name), {.samples = samplesOfRule});
    if (result.disagreement) wrong(fmt::format("rule {}: {}", name, result.disagreement->what));
    if (result.samples < samplesOfRule) wrong(fmt::format("rule {}: only {} instances", name, result.samples));
    j["rules"] = j["rules"].get<int>() + 1;
  }
  if (!j["followed"].get<bool>()) return j;
  const Program source = atValues(s.source, s.config);
  follow(s, [&](std::size_t i, const Step& step, const Program& program) {
    if (const auto what = rewrite::exactDifference(source, atValues(program, s.config), 1))
      wrong(fmt::format("step {}, {}: {}", i + 1, step.str(), *what));
    j["programs"] = j["programs"].get<int>() + 1;
  });
  return j;
}

void showChecked(const Json& check) {
  std::cout << fmt::format("\n{} rules on {} random instances each", check["rules"], samplesOfRule);
  if (check["followed"].get<bool>())
    std::cout << fmt::format(", and the programs after {} steps, without rounding", check["programs"]);
  std::cout << (check["ok"].get<bool>() ? ": all equal\n" : ": WRONG, " + check["wrong"].get<std::string>() + "\n");
  if (!check["followed"].get<bool>())
    std::cout << "the layer is too large to be interpreted after every step: take one of fewer channels and rows\n";
}

int explain(const Explained& s, const ExplainOptions& o) {
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
  if (o.json) printJson(j);
  return ok ? 0 : static_cast<int>(ExitStatus::wrong);
}

// -------------------------------------------------------------------------------------------------------- difference

// A line of a difference: in both ' ', only in the first '-', only in the second '+'.
struct Change {
  char where;
  std::string step;
};

// What was added and removed from `a` to `b`, by a longest common subsequence.
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

int difference(const Explained& a, const Explained& b, bool json) {
  const std::vector<Change> all = changes(a.derivation.steps, b.derivation.steps);
  const auto count = [&](char where) {
    return std::ranges::count_if(all, [&](const Change& c) { return c.where == where; });
  };
  if (json) {
    Json j{{"schema", 1}, {"a", a.facts}, {"b", b.facts}, {"common", count(' ')}, {"steps", Json::array()}};
    for (const Change& c : all)
      if (c.where != ' ') j["steps"].push_back({{"in", c.where == '-' ? "a" : "b"}, {"step", c.step}});
    printJson(j);
    return 0;
  }
  std::cout << fmt::format("--- {}\n+++ {}\n{} steps in both, {} only in the first, {} only in the second\n", a.title,
                           b.title, count(' '), count('-'), count('+'));
  for (const Change& c : all)
    if (c.where != ' ' || count(' ') < std::ssize(all)) std::cout << c.where << " " << c.step << "\n";
  return 0;
}

}  // namespace

int explain(const Workload& workload, const FamilyOptions& family, bool json, const runtime::DeviceInfo* device) {
  Explained s = device != nullptr ? onDevice(workload, family, *device) : ofWorkload(workload, family, {});
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
         "A kernel (.cl), a manifest.json, a program (.lift), or a layer's descriptor; with --db a layer's best entry "
         "there, or a program as `liftc run --db` takes it on the device")
      ->required();
  sub->add_option("--diff", o->diff, "Another one: print how the two derivations differ")->type_name("WHAT");
  o->program.addValues(*sub);
  sub->add_flag("--steps", o->steps, "Print the program after each step");
  sub->add_flag("--replay", o->replay, "Generate the kernels again; exit status 4 when a digest differs");
  sub->add_flag("--check", o->check,
                "Check every rule on random instances, and of a small layer the program after every step, without "
                "rounding; exit status 4 when one is wrong");
  sub->add_flag("--json", o->json, "Print as JSON");
  sub->add_option("--op", o->op, "Operator of descriptors")->capture_default_str();
  o->family.add(*sub);
  o->layouts.add(*sub);
  o->device.addChoice(*sub);
  onCall(*sub, status, [o] {
    const Explained subject = explainedBy(o->what, *o);
    return o->diff.empty() ? explain(subject, *o) : difference(subject, explainedBy(o->diff, *o), o->json);
  });
}

}  // namespace lift::liftc
