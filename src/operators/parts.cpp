// Parts of programs: where they stand, what is chosen for each, and the whole composed of them.
#include "lift/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>

#include "judging.hpp"
#include "lift/diagnostic.hpp"
#include "lift/digest.hpp"
#include "lift/strategies.hpp"
#include "lift/terms.hpp"
#include "lift/transposition.hpp"
#include "part_tiles.hpp"

namespace lift {
namespace {

using detail::rowsToJudge;
using detail::parts::Core;
using detail::parts::Recognised;
using rewrite::Path;
using rewrite::operator+;

// Calls `found` with the terms of the parts, in the order in which they run, and their paths.
void forEachPart(Expr e, const Path& path, const std::function<void(Expr, const Path&)>& found) {
  if (!e.isApply()) return;
  const Spine s = spineOf(e);
  const auto& a = s.arguments;
  if (s.isPrim(Prim::let)) {
    if (const Spine value = spineOf(a[1]); value.isPrim(Prim::toGlobal))
      found(value.arguments[0], path + Path{1, 1});
    else if (detail::parts::hasStepsOfParts(a[1]))
      forEachPart(a[1], path + Path{1}, found);
    return forEachPart(a[0].body(), path + Path{0, 1, 0}, found);
  }
  if (detail::parts::hasStepsOfParts(e)) {
    for (std::size_t i = 0; i + 1 < a.size(); i++)
      if (holdsArrays(a[i].type().result()) || anyPrimitive(a[i], detail::parts::runsLoop))
        forEachPart(a[i].body(), path + rewrite::argumentPath(s, i) + Path{0}, found);
    return;
  }
  if (s.isPrim(Prim::tuple)) {
    for (std::size_t i = 0; i < a.size(); i++) forEachPart(a[i], path + rewrite::argumentPath(s, i), found);
    return;
  }
  if (const auto both = detail::parts::joinedIn(e, path)) {
    for (const auto& x : *both) forEachPart(x.term, x.path, found);
    return;
  }
  found(e, path);
}

// Free variables in the order of the text.
std::vector<Expr> inputsOf(Expr term) {
  std::vector<Expr> inputs;
  const auto& free = term.freeVariables();
  forEachTerm(term, [&](Expr e) {
    if (e.isVariable() && std::ranges::find(free, e) != free.end()) inputs.push_back(e);
  });
  return inputs;
}

bool mentions(Type type, NatVar v) {
  bool found = false;
  type.forEachNat([&](Nat n) { found = found || n.mentions(v); });
  return found;
}

// The part as a program whose text says nothing of the one that it stands in.
Program aloneOf(Expr term, const Program& whole, Pattern pattern) {
  Program part;
  for (const char c : name(pattern)) part.name += c == ' ' ? '_' : c;
  std::unordered_map<Expr, Expr> renamed;
  for (const Expr v : inputsOf(term)) {
    const auto i = part.parameters.size();
    const std::string name = i < 26 ? std::string(1, static_cast<char>('a' + i)) : fmt::format("a{}", i);
    part.parameters.push_back(Expr::variable(name, v.type()));
    renamed.emplace(v, part.parameters.back());
  }
  part.body = substitute(term, renamed);
  part.spans = whole.spans;
  for (const NatVar v : whole.sizes) {
    const bool used = std::ranges::any_of(part.parameters, [&](Expr p) { return mentions(p.type(), v); }) ||
                      anyPrimitive(part.body, [&](Expr p) { return mentions(p.type(), v); });
    if (used) part.sizes.push_back(v);
  }
  for (const SizeCondition& c : whole.conditions) {
    const auto known = [&](NatVar v) {
      return std::ranges::find(part.sizes, v) != part.sizes.end() || (!c.left.mentions(v) && !c.right.mentions(v));
    };
    if (std::ranges::all_of(whole.sizes, known)) part.conditions.push_back(c);
  }
  return part;
}

// Where the part stands in the source: the smallest piece of text that is of no other part. Equal primitives of several
// parts are one term, and stand where the first of them does.
Span spanOf(Expr term, const Program& whole, const std::vector<Expr>& parts) {
  Span own, any;
  const auto smaller = [](Span a, Span b) { return !b || a.end - a.begin < b.end - b.begin; };
  anyPrimitive(term, [&](Expr p) {
    const auto found = whole.spans.find(p);
    if (found == whole.spans.end() || !found->second) return false;
    const Span span = found->second;
    const bool isShared = std::ranges::any_of(
        parts, [&](Expr other) { return other != term && anyPrimitive(other, [&](Expr q) { return q == p; }); });
    if (smaller(span, any)) any = span;
    if (!isShared && smaller(span, own)) own = span;
    return false;
  });
  return own ? own : any;
}

// What goes on in a further line ends there: a stage of a pipeline stands at the end of it.
std::string rangeOf(Span span) {
  if (!span) return {};
  const Position begin = positionOf(*span.file, span.begin), end = positionOf(*span.file, span.end);
  return placeOf(span) + (begin.line == end.line ? "" : fmt::format(" to {}:{}", end.line, end.column));
}

// Steps of the reductions: their elements for all elements of the result; 0 where that is not known.
std::int64_t stepsOf(const Recognised& form) {
  std::int64_t steps = form.reduced ? form.reduced->constant().value_or(0) : 0;
  for (const auto& loop : form.nest.loops) steps *= loop.length().constant().value_or(0);
  return steps;
}

// The families of a part's core, as they derive the part: then what is computed of each element of the result is
// computed where that is.
std::vector<OperatorFamily> withEpilogues(std::vector<OperatorFamily> families, const Core& core) {
  using namespace rewrite;
  if (core.epilogues.empty()) return families;
  for (OperatorFamily& f : families) {
    if (!f.derive) continue;
    f.derive = [core, derive = f.derive](Rewriting& r) {
      r.within(core.path, [&] { derive(r); });
      for (auto e = core.epilogues.rbegin(); e != core.epilogues.rend(); ++e)
        r.within(*e, [&] { r.apply(attempt(use("mapIntoResult"))); });
    };
  }
  return families;
}

// The operator's families, as they derive the part: restated as the operator's program, which they derive where it
// stands; then what it reads is inlined.
std::vector<OperatorFamily> familiesOf(const Workload& same, const OperatorMatch& match) {
  using namespace rewrite;
  std::vector<OperatorFamily> families;
  for (OperatorFamily f : same.families) {
    if (!f.derive) continue;
    f.derive = [match, derive = f.derive](Rewriting& r) {
      r.apply(use(match.rule));
      r.within(match.program, [&] { derive(r); });
      r.apply(repeat(use("letInline")));
      r.apply(attempt(strategies::outermost(use("mapIntoResult"))));
    };
    families.push_back(std::move(f));
  }
  return families;
}

Workload workloadOf(const Program& part, const Recognised& form, std::vector<OperatorFamily> families) {
  const Pattern pattern = form.pattern;
  Workload w;
  w.op = "part";
  const std::string hash = runtime::hex(runtime::sha256(print(part, Names::canonical))).substr(0, 16);
  w.descriptor = fmt::format("{} {} {}", part.name, part.result().str(), hash);
  w.label = fmt::format("{} {}", name(pattern), part.result().str());
  w.program = part;
  w.judge = "interpreter";
  if (pattern == Pattern::product || pattern == Pattern::convolution) w.operations = 2 * stepsOf(form);
  w.judgedRows = rowsToJudge(part, static_cast<double>(stepsOf(form)));
  w.families = std::move(families);
  return w;
}

std::string firstLine(const UserError& e) { return e.diagnostics().empty() ? e.what() : e.diagnostics()[0].message; }

// The part's families: those of an operator that computes it or its core, or else those of the core's pattern.
void addFamilies(Part& part, const Program& whole, bool ofOperators, bool isFinished = false) {
  const Program alone = aloneOf(part.term, whole, Pattern::other);
  Core core = detail::parts::coreOf(part.term);
  part.epilogues = static_cast<int>(core.epilogues.size());
  Recognised form = detail::parts::recognise(detail::parts::tidied(alone));
  form.isFinished = isFinished;
  auto [families, reason] = detail::parts::familiesOf(form);
  part.reason = std::move(reason);
  part.same = {};
  std::optional<detail::parts::OperatorPart> found;
  if (ofOperators && (found = detail::parts::operatorPartOf(part.term))) core = {};
  const Expr term = rewrite::partAt(part.term, core.path);
  if (ofOperators && !found) found = detail::parts::operatorPartOf(term);
  if (found) {
    form.pattern = Pattern::convolution;
    part.same = std::make_shared<const Workload>(found->op->parse(found->match.descriptor));
    const OperatorFamily byDefault = families.back();
    families = withEpilogues(familiesOf(*part.same, found->match), core);
    families.push_back(byDefault);
  } else if (!core.epilogues.empty()) {
    Recognised inner = detail::parts::recognise(detail::parts::tidied(aloneOf(term, whole, Pattern::other)));
    inner.isFinished = true;
    auto ofCore = detail::parts::familiesOf(inner);
    if (ofCore.all.size() > 1) {
      form = inner;
      part.same = std::make_shared<const Workload>(workloadOf(aloneOf(term, whole, inner.pattern), inner, ofCore.all));
      families = withEpilogues(std::move(ofCore.all), core);
      part.reason.clear();
    }
  }
  if (const auto moved = found ? std::nullopt : rewrite::transpositionOf(part.term)) {
    auto ofMoved = detail::parts::transpositionFamilies(*moved);
    if (!ofMoved.empty()) form.pattern = Pattern::transposition;
    families.insert(families.begin(), ofMoved.begin(), ofMoved.end());
  }
  part.pattern = form.pattern;
  part.workload = workloadOf(aloneOf(part.term, whole, form.pattern), form, std::move(families));
}

// Leaves the families that round as the part does: of an operator's, or else of the pattern's.
void keepOrder(Part& part, const Program& whole) {
  Workload ordered = inOrder(part.workload);
  if (part.same && ordered.families.size() == 1) {
    addFamilies(part, whole, false);
    ordered = inOrder(part.workload);
  }
  if (part.same) {
    Workload same = *part.same;
    std::erase_if(same.families, [&](const OperatorFamily& f) { return ordered.refused.contains(f.name); });
    part.same = std::make_shared<const Workload>(std::move(same));
  }
  if (ordered.families.size() == 1 && !ordered.refused.empty())
    part.reason = fmt::format("{}: {}", ordered.refused.begin()->first, ordered.refused.begin()->second);
  part.workload = std::move(ordered);
}

}  // namespace

std::optional<detail::parts::OperatorPart> detail::parts::operatorPartOf(Expr term) {
  for (const Operator& op : operators())
    if (op.recognise)
      if (auto match = op.recognise(term)) return OperatorPart{&op, std::move(*match)};
  return std::nullopt;
}

bool detail::parts::hasFamily(Expr term, const Program& whole, bool isFinished) {
  Part part;
  part.term = term;
  addFamilies(part, whole, true, isFinished);
  return part.workload.families.size() > 1;
}

PartedProgram partsOf(const Program& given, bool inOrder) {
  PartedProgram parted;
  const Program program = detail::parts::restated(given, inOrder);
  parted.program = program;
  parted.isRestated = program.body != given.body;
  parted.program.body = etaLong(detail::parts::withPartsNamed(program));
  std::vector<Expr> terms;
  forEachPart(parted.program.body, {}, [&](Expr term, const Path&) { terms.push_back(term); });
  forEachPart(parted.program.body, {}, [&](Expr term, const Path& path) {
    Part part;
    part.name = fmt::format("p{}", parted.parts.size() + 1);
    part.path = path;
    part.term = term;
    part.place = rangeOf(spanOf(term, program, terms));
    addFamilies(part, program, true);
    if (inOrder) keepOrder(part, program);
    parted.parts.push_back(std::move(part));
  });
  return parted;
}

PartChoice defaultChoice(const Part& part, std::vector<std::string> families) {
  // What is the first choice on some devices is none on others, where the default mapping is better.
  if (families.empty())
    for (const OperatorFamily& f : part.workload.families)
      if (!f.firstOn) families.push_back(f.name);
  std::string reason = part.reason;
  for (const std::string& name : families) {
    const OperatorFamily& family = part.workload.family(name);
    if (!family.derive) return {family.name, {}, "the default mapping", reason};
    try {
      const Variant v = derive(part.workload, family.name);
      static_cast<void>(configured(v, v.defaults));
      // Arrays whose sizes are not known may need memory that a kernel has not.
      if (!part.workload.program.sizes.empty()) static_cast<void>(compileVariant(v, v.defaults));
      return {family.name, v.defaults, "the family's default"};
    } catch (const UserError& e) {
      reason = fmt::format("{}: {}", family.name, firstLine(e));
    }
  }
  throw InternalError("a part without the family of the default mapping");
}

OperatorFamily partsFamily(const PartedProgram& parted, std::vector<PartChoice> choices) {
  if (choices.empty())
    for (const Part& part : parted.parts) choices.push_back(defaultChoice(part));
  ensure(choices.size() == parted.parts.size(), "a choice for each part");
  OperatorFamily family;
  for (std::size_t i = 0; i < choices.size(); i++) {
    const OperatorFamily& by = parted.parts[i].workload.family(choices[i].family);
    family.toleranceFactor = std::max(family.toleranceFactor, by.toleranceFactor);
  }
  family.name = partsFamilyName;
  family.meaning = "each part by a family of its own";
  for (std::size_t i = 0; i < choices.size(); i++)
    for (const auto& [tunable, value] : choices[i].config)
      family.defaults[fmt::format("{}_{}", parted.parts[i].name, tunable)] = value;
  family.parted = std::make_shared<const PartedProgram>(parted);
  family.choices = std::make_shared<const std::vector<PartChoice>>(choices);
  family.toleranceFactorAt = [parts = family.parted, chosen = family.choices](const Config& config) {
    double most = 1;
    for (std::size_t i = 0; i < chosen->size(); i++) {
      const Part& part = parts->parts[i];
      const OperatorFamily& by = part.workload.family((*chosen)[i].family);
      Config own = (*chosen)[i].config;
      for (auto& [tunable, value] : own) value = config.at(fmt::format("{}_{}", part.name, tunable));
      most = std::max(most, by.toleranceFactorAt ? by.toleranceFactorAt(own) : by.toleranceFactor);
    }
    return most;
  };
  family.derive = [parts = family.parted, chosen = family.choices](rewrite::Rewriting& r) {
    for (std::size_t i = 0; i < chosen->size(); i++) {
      const Part& part = parts->parts[i];
      const OperatorFamily& by = part.workload.family((*chosen)[i].family);
      if (!by.derive) continue;
      r.focus(part.path, part.name + "_");
      by.derive(r);
    }
    r.focus({}, "");
  };
  return family;
}

bool derivesAny(const OperatorFamily& partsFamily) {
  const auto& choices = *partsFamily.choices;
  return partsFamily.parted->isRestated ||
         std::ranges::any_of(choices, [](const PartChoice& c) { return c.family != defaultFamily; });
}

}  // namespace lift
