// Rules: built from their text, applied to terms.
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "lift/diagnostic.hpp"
#include "lift/text.hpp"
#include "match.hpp"
#include "terms.hpp"

namespace lift::rewrite {
namespace {

void collectSizes(Expr e, std::vector<NatVar>& out) {
  const auto add = [&](Nat n) {
    for (const NatVar v : n.variables()) out.push_back(v);
  };
  detail::anySubterm(e, [&](Expr s, const auto&) {
    if (s.isNatLiteral()) add(s.natValue());
    if (s.isPrimitive())
      for (const Nat n : s.nats()) add(n);
    s.type().forEachNat(add);
    return false;
  });
}

// Whether the heads of both spines can be the same: most terms are told from most rules by that.
bool fits(Expr pattern, Expr term) {
  while (pattern.isApply()) {
    if (pattern.function().isVariable()) return true;
    if (!term.isApply()) return false;
    pattern = pattern.function();
    term = term.function();
  }
  if (!pattern.isPrimitive()) return true;
  return term.isPrimitive() && term.prim() == pattern.prim();
}

void collectVectorElements(Type t, std::set<std::uint64_t>& out) {
  if (t.isVector() && t.element().isVariable()) out.insert(t.element().variableId());
  for (const Type part : t.parts()) collectVectorElements(part, out);
}

// Why the rule's condition does not hold of what its metavariables stand for; empty when it does.
std::string refusal(When when, const detail::Matcher& matcher) {
  switch (when) {
    case When::always:
    case When::rounds: return {};
    case When::inlines:
      return detail::inlines(matcher.value("f"), matcher.value("x")) ? ""
                                                                     : "the value would be computed more than once";
    case When::moves: return onlyMovesData(matcher.value("f")) ? "" : "the function computes";
    case When::selects:
      return anyPrimitive(matcher.value("f"), [](Expr p) { return !movesData(p.prim()) && p.prim() != Prim::at; })
                 ? "the function computes"
                 : "";
    case When::computes: return onlyMovesData(matcher.value("f")) ? "the function only moves data" : "";
    case When::accumulates:
      return detail::accumulates(matcher.value("f")) ? "" : "the function does more than add to its accumulator";
    case When::linear: return detail::isLinear(matcher.value("f")) ? "" : "the function is not seen to be linear";
  }
  return {};
}

// The text in front of the arrow that belongs to no function.
std::string leftOf(const std::string& text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); i++) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0 && text.compare(i, 4, " => ") == 0) return text.substr(0, i);
  }
  throw InternalError("a rule has two sides: " + text);
}

constexpr const char* anyFloat = "float";

// The text with another word for `float`.
std::string withFloat(const std::string& text, std::string_view type) {
  if (text.find(anyFloat) == std::string::npos) return text;
  static const std::regex word(fmt::format("{}\\b", anyFloat));  // also behind the digits of a literal
  return std::regex_replace(text, word, std::string(type));
}

}  // namespace

Rule::Rule(const RuleRow& row)
    : name_(row.name), text_(row.text), origin_(row.origin), halves_(row.halves), when_(row.when), whole_(row.whole) {
  addForms();
}

Rule::Rule(std::string name, const std::string& text) : name_(std::move(name)), text_(text), origin_("given") {
  addForms();
  static_cast<void>(built());
}

Rule::Rule(const RuleRow& row, std::vector<std::string> tunables, Computation compute)
    : name_(row.name),
      text_(row.text),
      origin_(row.origin),
      when_(row.when),
      compute_(std::move(compute)),
      computedTunables_(std::move(tunables)) {}

void Rule::addForms() {
  if (withFloat(text_, "") == text_) return;
  for (const Scalar s : {Scalar::f16, Scalar::h16, Scalar::f64}) {
    Rule form = *this;
    form.forms_.clear();
    form.float_ = s;
    if (isHalf(s) && !halves_.empty()) form.text_ = halves_;
    form.lazily_ = std::make_shared<Lazily>();
    forms_.push_back(std::move(form));
  }
}

const Rule& Rule::formFor(Expr term) const {
  if (forms_.empty()) return *this;
  Type type = term.type();
  while (type.hasLength()) type = type.element();
  if (!type.isScalar()) return *this;
  const auto form = std::ranges::find_if(forms_, [&](const Rule& f) { return f.float_ == scalarOf(type); });
  return form == forms_.end() ? *this : *form;
}

const Rule::Built& Rule::built() const {
  std::call_once(lazily_->once, [this] { build(lazily_->built); });
  return lazily_->built;
}

void Rule::build(Built& out) const {
  const std::string text = withFloat(compute_ ? leftOf(text_) + " => " + leftOf(text_) : text_, info(float_).name);
  const SourceFile* file = addSource("<rule " + name_ + ">", text);
  TypedRule& typed = out.typed;
  typed = inferRule(parseRule(*file), prelude());
  if (!whole_) {
    typed.left = etaLong(typed.left);
    typed.right = etaLong(typed.right);
  }
  for (const Expr v : typed.variables)
    if (typed.right.hasFree(v) && !typed.left.hasFree(v))
      throw UserError(ExitStatus::program,
                      fmt::format("rule '{}': nothing on the left side says what '{}' is", name_, v.name()),
                      "only sizes may stand on the right side alone: they are the rule's tunables",
                      Span{file, 0, static_cast<std::uint32_t>(text.size())});
  for (const Expr side : {typed.left, typed.right})
    detail::anySubterm(side, [&](Expr e, const auto&) {
      if (e.isPrimitive()) collectVectorElements(e.type(), out.vectorElements);
      return false;
    });
  std::vector<NatVar> left, right;
  collectSizes(typed.left, left);
  collectSizes(typed.right, right);
  const auto has = [](const std::vector<NatVar>& all, NatVar v) { return std::ranges::find(all, v) != all.end(); };
  for (const auto& [name, size] : typed.sizes)
    if (!has(left, size) && has(right, size)) out.tunables.push_back(name);
  for (const std::string& tunable : computedTunables_) {
    typed.sizes.emplace(tunable, NatVar::fresh(tunable, 1, std::nullopt, NatVar::Role::meta));
    out.tunables.push_back(tunable);
  }
}

namespace {

// Equal where these facts hold: 32 / k * k is 32 where k divides 32.
bool isSame(Type a, Type b, const std::vector<Divides>& facts) {
  if (a == b) return true;
  if (!a.isArray() || !b.isArray() || !isSame(a.element(), b.element(), facts)) return false;
  return equalUnder(facts, a.length(), b.length()) == Truth::proved;
}

// What the term's primitives ask to be divided as conditions, and as facts; not where one of them is refuted.
bool assumeDivisions(Expr term, Applied& applied, std::vector<Divides>& facts) {
  return !anyPrimitive(term, [&](Expr p) {
    for (const SizeCondition& c : conditionsOf(p)) {
      const Truth truth = holds(c);
      if (truth == Truth::refuted) return applied.reason = "needs " + c.str(), true;
      if (truth == Truth::proved || c.kind != SizeCondition::Kind::divides) continue;
      applied.conditions.push_back(c);
      facts.push_back({c.left, c.right});
    }
    return false;
  });
}

}  // namespace

Applied applyRule(const Rule& any, Expr term, const Arguments& arguments, const std::vector<Divides>& facts) {
  const Rule& rule = any.formFor(term);
  for (const std::string& tunable : rule.tunables())
    if (!arguments.count(tunable))
      throw UserError(ExitStatus::usage, fmt::format("rule '{}' needs a value for '{}'", rule.name(), tunable));
  for (const auto& [name, value] : arguments)
    if (!rule.typed().sizes.contains(name) && std::ranges::count(rule.tunables(), name) == 0)
      throw UserError(ExitStatus::usage, fmt::format("rule '{}' has no size '{}'", rule.name(), name));
  Applied result;
  if (rule.computation()) {
    if (term.type().isFunction()) return result;  // a primitive that lacks arguments
    const auto made = rule.computation()(term, arguments);
    if (!made) return result;
    std::vector<Divides> known = facts;
    if (!isSame(made->type(), term.type(), facts) && !assumeDivisions(*made, result, known)) return result;
    ensure(isSame(made->type(), term.type(), known), "a computed rule keeps the type");
    result.term = etaLong(*made);
    return result;
  }
  if (!fits(rule.typed().left, term)) return result;
  detail::Matcher matcher(rule, arguments, facts);
  if (!matcher.matches(term)) return result;
  for (const auto& [type, wanted] : rule.typed().classes)
    if (const Type found = matcher.instance(type); !lift::fits(found, wanted)) {
      result.reason = fmt::format("its operations take no {}", found.str());
      return result;
    }
  result.reason = refusal(rule.when(), matcher);
  if (!result.reason.empty()) return result;
  for (const SizeCondition& c : rule.typed().required) {
    std::optional<SizeCondition> instance;
    try {
      instance = matcher.instance(c);
    } catch (const UserError& e) {  // these values make a divisor zero
      result.reason = fmt::format("needs {}: {}", c.str(), e.what());
      return result;
    }
    const SizeCondition& condition = *instance;
    switch (holds(condition)) {
      case Truth::proved: break;
      case Truth::refuted: result.reason = "needs " + condition.str(); return result;
      case Truth::unknown: result.conditions.push_back(condition); break;
    }
  }
  result.term = matcher.instance(rule.typed().right);
  return result;
}

}  // namespace lift::rewrite
