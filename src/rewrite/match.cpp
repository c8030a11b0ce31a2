#include "match.hpp"

#include <algorithm>

#include "lift/diagnostic.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {
namespace {

bool hasMeta(Nat n) {
  const auto variables = n.variables();
  return std::ranges::any_of(variables, [](NatVar v) { return v.role() == NatVar::Role::meta; });
}

// The parts of a call's argument: of f((x, y)) two, of f(x) one.
std::vector<Expr> partsOf(Expr argument) {
  const Spine s = spineOf(argument);
  return s.isPrim(Prim::tuple) ? s.arguments : std::vector<Expr>{argument};
}

}  // namespace

Matcher::Matcher(const Rule& rule, const Arguments& arguments, const std::vector<Divides>& facts)
    : rule_(&rule), facts_(&facts) {
  for (const auto& [name, value] : arguments) sizes_.emplace(rule.typed().sizes.at(name), value);
}

bool Matcher::matches(Expr term) {
  if (!match(rule_->typed().left, term) || !solve()) return false;
  for (const auto& [name, size] : rule_->typed().sizes)
    if (!sizes_.count(size)) return false;
  for (const std::uint64_t element : rule_->vectorElements())
    if (const auto type = types_.find(element); type != types_.end() && !type->second.isScalar()) return false;
  return true;
}

// ------------------------------------------------------------------------------------------------------------- sizes

bool Matcher::holdsFor(Nat a, Nat b, bool mustHold) const {
  if (a == b) return true;
  const Truth truth = equalUnder(*facts_, a, b);
  return mustHold ? truth == Truth::proved : truth != Truth::refuted;
}

bool Matcher::match(Nat pattern, Nat subject, bool mustHold) {
  pattern = instance(pattern);
  if (!hasMeta(pattern)) return holdsFor(pattern, subject, mustHold);
  if (const auto variable = pattern.variable()) {
    sizes_.emplace(*variable, subject);
    return true;
  }
  equations_.push_back({pattern, subject, mustHold});
  return true;
}

bool Matcher::solve() {
  for (bool progress = true; progress && !equations_.empty();) {
    progress = false;
    std::vector<SizeEquation> open;
    for (const SizeEquation& e : equations_) {
      const Nat pattern = instance(e.pattern);
      if (!hasMeta(pattern)) {
        if (!holdsFor(pattern, e.subject, e.mustHold)) return false;
        progress = true;
        continue;
      }
      std::optional<std::pair<NatVar, Nat>> solution;
      for (const NatVar v : pattern.variables()) {
        if (v.role() != NatVar::Role::meta) continue;
        const auto linear = (e.subject - pattern).linearIn(v);
        const auto factor = linear ? linear->coefficient.constant() : std::nullopt;
        if (factor && (*factor == 1 || *factor == -1) && !hasMeta(linear->rest))
          solution.emplace(v, *factor == 1 ? -linear->rest : linear->rest);
      }
      if (solution) {
        sizes_.insert(*solution);
        progress = true;
      } else {
        open.push_back(e);
      }
    }
    equations_ = std::move(open);
  }
  return true;
}

// ------------------------------------------------------------------------------------------------------------- types

Type Matcher::instance(Type t) const {
  return t.substitute([this](Nat n) { return instance(n); },
                      [this](Type v) {
                        const auto found = types_.find(v.variableId());
                        return found == types_.end() ? v : found->second;
                      });
}

bool Matcher::match(Type pattern, Type subject) {
  if (pattern == subject) return true;
  if (pattern.isVariable()) {
    if (subject.isFunction()) return false;  // what is of any type is a value
    const auto [entry, isNew] = types_.emplace(pattern.variableId(), subject);
    return isNew || entry->second == subject || match(entry->second, subject);
  }
  if (pattern.kind() != subject.kind() || pattern.isScalar()) return false;
  if (pattern.hasLength()) {
    // In split(k, join((xs: [n][k]t))) a length is a size argument as well; it does not follow from the subject's type.
    const auto length = pattern.length().variable();
    const bool mustHold = pattern.isVector() || (length && arguments_.count(*length) > 0);
    if (!match(pattern.length(), subject.length(), mustHold)) return false;
  }
  return std::ranges::equal(pattern.parts(), subject.parts(), [this](Type p, Type s) { return match(p, s); });
}

// ------------------------------------------------------------------------------------------------------------- terms

bool Matcher::isMetavariable(Expr e) const {
  const auto& all = rule_->typed().variables;
  return e.isVariable() && std::ranges::find(all, e) != all.end();
}

bool Matcher::match(Expr pattern, Expr subject) {
  switch (pattern.form()) {
    case Expr::Form::variable:
      if (const auto found = bound_.find(pattern); found != bound_.end()) return found->second == subject;
      return bind(pattern, subject);
    case Expr::Form::literal: return pattern == subject;
    case Expr::Form::natLiteral: return subject.isNatLiteral() && match(pattern.natValue(), subject.natValue(), true);
    case Expr::Form::lambda: {
      if (!subject.isLambda() || !match(pattern.parameter().type(), subject.parameter().type())) return false;
      bound_.insert_or_assign(pattern.parameter(), subject.parameter());
      const bool matched = match(pattern.body(), subject.body());
      bound_.erase(pattern.parameter());
      return matched;
    }
    case Expr::Form::primitive: {
      if (!subject.isPrimitive() || pattern.prim() != subject.prim() || pattern.nats().size() != subject.nats().size())
        return false;
      if ((pattern.prim() == Prim::op && pattern.op() != subject.op()) ||
          (pattern.prim() == Prim::convert && pattern.target() != subject.target()) ||
          (pattern.prim() == Prim::reorder && pattern.indexFn() != subject.indexFn()))
        return false;
      for (std::size_t i = 0; i < pattern.nats().size(); i++) {
        if (!match(pattern.nats()[i], subject.nats()[i], true)) return false;
        if (const auto size = pattern.nats()[i].variable()) arguments_.insert(*size);
      }
      return match(pattern.type(), subject.type());
    }
    case Expr::Form::apply:
      if (isMetavariable(pattern.function())) return matchCall(pattern, subject);
      return subject.isApply() && match(pattern.function(), subject.function()) &&
             match(pattern.argument(), subject.argument());
  }
  return false;
}

bool Matcher::mentionsBound(Expr e) const {
  return std::ranges::any_of(bound_, [&](const auto& b) { return e.hasFree(b.second); });
}

bool Matcher::bind(Expr metavariable, Expr value) {
  if (mentionsBound(value) || !match(metavariable.type(), value.type())) return false;
  const auto [entry, isNew] = values_.emplace(metavariable, value);
  return isNew || alphaEqual(entry->second, value);
}

// A bound variable of the pattern, or a component of one.
bool Matcher::isPlace(Expr pattern) const {
  if (pattern.isVariable()) return bound_.count(pattern) > 0;
  const Spine s = spineOf(pattern);
  return s.isCall(Prim::get) && isPlace(s.arguments[0]);
}

Expr Matcher::inSubject(Expr place) const {
  if (place.isVariable()) return bound_.at(place);
  const Spine s = spineOf(place);
  return component(inSubject(s.arguments[0]), static_cast<std::size_t>(*s.head.nats()[0].constant()));
}

// Finds a subterm that the pattern matches, outside of what binders in the body bind. What a condition keeps from
// failing stays behind it.
std::optional<Expr> Matcher::find(Expr pattern, Expr body) {
  std::optional<Expr> found;
  anySubterm(body, [&](Expr e, const std::vector<Expr>& binders) {
    if (std::ranges::any_of(binders, [&](Expr b) { return e.hasFree(b); })) return false;
    Matcher trial = *this;
    if (!trial.match(pattern, e) || (mayFailWithin(e) && !evaluatedAlways(body).contains(e))) return false;
    *this = std::move(trial);
    found = e;
    return true;
  });
  return found;
}

// Replaces bound variables that are used whole by tuples of their places; false where places are missing.
bool Matcher::replaceWhole(Expr& body, const std::unordered_map<Expr, Expr>& places) const {
  const std::function<std::optional<Expr>(Expr)> whole = [&](Expr e) -> std::optional<Expr> {
    if (const auto found = places.find(e); found != places.end()) return found->second;
    if (!e.type().isTuple()) return std::nullopt;
    const auto all = ofAll(build::components(e), whole);
    return all ? std::optional(build::tuple(*all)) : std::nullopt;
  };
  for (const auto& [pattern, subject] : bound_) {
    if (!body.hasFree(subject) || places.contains(subject)) continue;
    const auto replacement = whole(subject);
    if (!replacement) return false;
    body = substitute(body, subject, *replacement);
  }
  return true;
}

// f((x, y)) with bound x and y matches every term: f becomes the function of what stands for x and y. An argument that
// is no place is looked for in the term, which must have it somewhere.
bool Matcher::matchCall(Expr pattern, Expr subject) {
  if (!match(pattern.type(), subject.type())) return false;
  const std::vector<Expr> parts = partsOf(pattern.argument());
  Expr body = subject;
  std::vector<Expr> variables(parts.size(), subject);  // what stands for each part in the body
  std::unordered_map<Expr, Expr> places;
  for (std::size_t i = 0; i < parts.size(); i++) {
    if (isPlace(parts[i])) {
      const Expr place = inSubject(parts[i]);
      variables[i] = place.isVariable() ? place : Expr::variable("t", place.type());
      places.emplace(place, variables[i]);
    } else {
      const auto hole = find(parts[i], body);
      if (!hole) return false;
      variables[i] = Expr::variable("t", hole->type());
      body = replaceTerms(body, {{*hole, variables[i]}});
    }
  }
  if (std::ranges::any_of(places, [](const auto& p) { return p.first != p.second; })) body = replaceTerms(body, places);
  if (!replaceWhole(body, places)) return false;
  if (parts.size() == 1) return bind(pattern.function(), Expr::lambda(variables[0], body));
  std::vector<Type> types;
  for (const Expr v : variables) types.push_back(v.type());
  const Expr parameter = Expr::variable("p", Type::tuple(types));
  std::unordered_map<Expr, Expr> components;
  for (std::size_t i = 0; i < variables.size(); i++) components.emplace(variables[i], component(parameter, i));
  return bind(pattern.function(), Expr::lambda(parameter, substitute(body, components)));
}

// --------------------------------------------------------------------------------------------------------- instances

Expr Matcher::value(const std::string& metavariable) const {
  for (const auto& [v, e] : values_)
    if (v.name() == metavariable) return e;
  throw InternalError("the rule has no metavariable " + metavariable);
}

SizeCondition Matcher::instance(const SizeCondition& condition) const {
  return {condition.kind, instance(condition.left), instance(condition.right), condition.origin};
}

Expr Matcher::instance(Expr side) const {
  const auto& variables = rule_->typed().variables;
  for (auto v = variables.rbegin(); v != variables.rend(); ++v) side = Expr::lambda(*v, side);
  side = withFreshBinders(mapTypes(
      side, [this](Nat n) { return instance(n); },
      [this](Type v) {
        const auto found = types_.find(v.variableId());
        return found == types_.end() ? v : found->second;
      }));
  std::unordered_map<Expr, Expr> arguments;
  for (const Expr v : variables) {
    if (const auto found = values_.find(v); found != values_.end()) arguments.emplace(side.parameter(), found->second);
    side = side.body();
  }
  return etaLong(substitute(side, arguments));
}

}  // namespace lift::rewrite::detail
