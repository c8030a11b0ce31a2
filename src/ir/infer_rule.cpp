// Inference of rewrite rules: both sides in one scope of metavariables, whose types and sizes may stay open.
#include <algorithm>

#include "inference.hpp"
#include "lift/build.hpp"
#include "share.hpp"
#include "syntax_walk.hpp"

namespace lift::detail {

// The free names of a rule, by what they stand for, in order of appearance.
struct Metavariables {
  std::vector<std::string> values;
  std::vector<std::string> functions;  // of the values, those that are called
  std::vector<std::string> sizes;
  std::vector<std::string> types;
  std::vector<std::string> bound;  // by the functions and lets around the syntax that is looked at

  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  }
  static void add(std::vector<std::string>& names, const std::string& name) {
    if (!contains(names, name)) names.push_back(name);
  }
  void bind(const SynPattern& pattern) {
    if (pattern.components.empty()) bound.push_back(pattern.name);
    for (const SynPattern& c : pattern.components) bind(c);
  }
};

namespace {

void sizesOf(const Syn& size, Metavariables& names) {
  forEachName(size, [&](const Syn& n) { Metavariables::add(names.sizes, std::get<Syn::Name>(n.node).text); });
}

// The parameter that an argument is for: by its name, or by its position.
const SynTypePtr* parameterOf(const SynScheme& scheme, const Syn::Argument& argument, std::size_t position) {
  for (std::size_t i = 0; i < scheme.parameters.size(); i++)
    if (argument.name.empty() ? i == position : scheme.parameters[i].name == argument.name)
      return &scheme.parameters[i].type;
  return nullptr;
}

// The sides of a rule over its variables. Variables, sides and all sizes change together: one term holds them.
template <class Change>
void setSides(TypedRule& rule, Expr left, Expr right, const Change& change) {
  const auto closed = [&](Expr side) {
    for (auto v = rule.variables.rbegin(); v != rule.variables.rend(); ++v) side = Expr::lambda(*v, side);
    return side;
  };
  const Spine sides = spineOf(change(build::tuple({closed(left), closed(right)})));
  rule.left = sides.arguments[0];
  rule.right = sides.arguments[1];
  for (Expr& v : rule.variables) {
    v = rule.left.parameter();
    rule.left = rule.left.body();
    rule.right = rule.right.body();
  }
}

bool mentionsAny(const Solver::Equation& e, const std::vector<NatVar>& variables) {
  return std::ranges::any_of(variables, [&](NatVar v) { return e.left.mentions(v) || e.right.mentions(v); });
}

}  // namespace

void Inference::metavariables(const SynType& type, Metavariables& names) {
  forEachName(
      type, [&](const Syn& size) { Metavariables::add(names.sizes, std::get<Syn::Name>(size.node).text); },
      [&](const std::string& name) { Metavariables::add(names.types, name); });
}

void Inference::metavariables(const SynPtr& syntax, Metavariables& names) {
  const auto value = [&](const std::string& name, bool called) {
    if (Metavariables::contains(names.bound, name) || Scope(&names_).find(name) || indexFnNamed(name)) return;
    Metavariables::add(names.values, name);
    if (called) Metavariables::add(names.functions, name);
  };
  const auto& node = syntax->node;
  if (const auto* name = std::get_if<Syn::Name>(&node)) {
    value(name->text, false);
  } else if (const auto* call = std::get_if<Syn::Call>(&node)) {
    const auto* head = as<Syn::Name>(call->function);
    const auto prim = head ? primNamed(head->text) : std::nullopt;
    if (head)
      value(head->text, true);
    else
      metavariables(call->function, names);
    for (std::size_t i = 0; i < call->arguments.size(); i++) {
      const SynPtr& argument = call->arguments[i].value;
      const SynTypePtr* parameter = prim ? parameterOf(schemeOf(*prim), call->arguments[i], i) : nullptr;
      if (parameter && is<SynType::Nat>(*parameter)) {
        sizesOf(*argument, names);
      } else if (parameter && is<SynType::Index>(*parameter)) {
        if (as<Syn::Call>(argument)) sizesOf(*argument, names);
      } else {
        metavariables(argument, names);
      }
    }
  } else if (const auto* fun = std::get_if<Syn::Fun>(&node)) {
    const std::size_t outer = names.bound.size();
    names.bind(fun->parameter);
    metavariables(fun->body, names);
    names.bound.resize(outer);
  } else if (const auto* let = std::get_if<Syn::Let>(&node)) {
    metavariables(let->value, names);
    const std::size_t outer = names.bound.size();
    names.bind(let->pattern);
    metavariables(let->body, names);
    names.bound.resize(outer);
  } else if (const auto* tuple = std::get_if<Syn::Tuple>(&node)) {
    for (const SynPtr& c : tuple->components) metavariables(c, names);
  } else if (const auto* array = std::get_if<Syn::Array>(&node)) {
    for (const SynPtr& x : array->elements) metavariables(x, names);
  } else if (const auto* project = std::get_if<Syn::Project>(&node)) {
    metavariables(project->tuple, names);
  } else if (const auto* subscript = std::get_if<Syn::Subscript>(&node)) {
    metavariables(subscript->index, names);
    metavariables(subscript->array, names);
  } else if (const auto* ascribe = std::get_if<Syn::Ascribe>(&node)) {
    if (is<SynType::Nat>(ascribe->type)) return sizesOf(*ascribe->value, names);
    metavariables(ascribe->value, names);
    metavariables(*ascribe->type, names);
  }
}

TypedRule Inference::rule(const SynRule& syntax) {
  Metavariables names;
  metavariables(syntax.left, names);
  const std::size_t onTheLeft = names.sizes.size();
  metavariables(syntax.right, names);

  TypedRule rule;
  Scope scope(&names_);
  solver_.assumePositive();
  solver_.demand = {};
  std::map<NatVar, Nat> open;  // while types are inferred the rule's own sizes are what they are
  std::vector<NatVar> tunables;
  for (const std::string& name : names.sizes) {
    const NatVar size = NatVar::size(name);
    if (rule.sizes.size() >= onTheLeft) tunables.push_back(size);
    const NatVar metavariable = NatVar::fresh(name, 1, std::nullopt, NatVar::Role::meta);
    open.emplace(size, metavariable);
    rule.sizes.emplace(name, metavariable);
    scope = scope.with(name, Nat(size));
  }
  const auto known = [&](Nat n) { return solver_.zonk(n).substitute(open); };
  for (const std::string& name : names.types) typeVariables_.types.emplace(name, solver_.freshType(name));
  for (const std::string& name : names.values) {
    const bool called = Metavariables::contains(names.functions, name);
    const Type type = called ? Type::function(solver_.freshType(), solver_.freshType()) : solver_.freshType();
    rule.variables.push_back(Expr::variable(name, type));
    scope = scope.with(name, rule.variables.back());
  }

  const Expr left = infer(syntax.left, scope);
  const std::size_t assumed = conditions_.size();
  const Expr right = infer(syntax.right, scope);  // not towards the left side's type, whose sizes it would solve for
  expect(right.type(), left.type(), syntax.right->span, "the right side of the rule");
  // Lengths that only some values of the tunables make equal are a condition of the rule.
  std::vector<Solver::Equation> conditional, unequal;
  for (const Solver::Equation& e : openEquations()) (mentionsAny(e, tunables) ? conditional : unequal).push_back(e);
  reportEquations(unequal);
  reportClasses();
  if (!errors_.empty()) throw UserError(ExitStatus::program, errors_);

  const auto named = [&](Expr side) { return substitute(nameShared(side, shared_, single_), literalValues()); };
  const Expr l = named(left), r = named(right);
  setSides(rule, l, r, [&](Expr both) {
    return mapTypes(both, known, [&](Type v) { return solver_.zonk(v).substitute(known, [](Type t) { return t; }); });
  });
  rule.classes = solver_.openClasses();
  for (const Solver::Equation& e : conditional)
    rule.required.push_back({SizeCondition::Kind::equal, known(e.left), known(e.right), "the lengths of two types"});
  for (std::size_t i = 0; i < conditions_.size(); i++) {
    const Condition& c = conditions_[i];
    (i < assumed ? rule.assumed : rule.required).push_back({c.kind, known(c.left), known(c.right), c.subject});
  }
  return rule;
}

}  // namespace lift::detail

namespace lift {

TypedRule inferRule(const SynRule& rule, const Module& prelude) {
  const Module none;
  return detail::Inference(none, prelude).rule(rule);
}

}  // namespace lift
