// Inference of whole programs: what is left open is settled, then replaced throughout the term.
#include <fmt/format.h>
#include <algorithm>

#include "inference.hpp"

namespace lift::detail {

namespace {

bool mentions(const Solver::Equation& e, NatVar::Role role) {
  for (const Nat side : {e.left, e.right})
    for (const NatVar v : side.variables())
      if (v.role() == role) return true;
  return false;
}

std::string at(Span span) { return span ? " at " + placeOf(span) : std::string(); }

}  // namespace

// -------------------------------------------------------------------------------------------------- what stays open

void Inference::reportEquations(const std::vector<Solver::Equation>& open) {
  for (const Solver::Equation& e : open) {
    if (mentions(e, NatVar::Role::meta) && !errors_.empty()) continue;
    report(e.origin,
           fmt::format("these lengths must be equal, which cannot be shown: {} and {}", e.left.str(), e.right.str()),
           "use one name for equal sizes");
  }
}

void Inference::reportClasses() {
  for (const auto& e : solver_.checkClasses()) {
    const char* wanted = "a scalar";
    switch (e.wanted) {
      case TypeClass::numeric:
        wanted = "a number";
        break;
      case TypeClass::floating:
        wanted = "a floating-point number";
        break;
      case TypeClass::integral:
        wanted = "an integer";
        break;
      case TypeClass::integerLiteral:
        wanted = "a number";
        break;
      case TypeClass::realLiteral:
        wanted = "a floating-point number";
        break;
      default:
        break;
    }
    std::string hint;
    if (e.wanted == TypeClass::realLiteral) hint = "this literal is a floating-point number; an integer has no point";
    report(e.origin, fmt::format("expected {}, found {}", wanted, solver_.zonk(e.type).str()), hint);
  }
}

// What stands for the literals' placeholders, now that their types are known.
std::unordered_map<Expr, Expr> Inference::literalValues() {
  std::unordered_map<Expr, Expr> values;
  for (const Literal& l : literals_) {
    const Type type = solver_.zonk(l.placeholder.type());
    const Scalar scalar = scalarOf(type);
    const ScalarValue value = l.value.type == Scalar::i64 && !isFloat(scalar)
                                  ? ScalarValue::ofInteger(scalar, l.value.integer)
                                  : ScalarValue::of(scalar, l.value.asDouble());
    if (l.value.type == Scalar::i64 && !isFloat(scalar) && value.integer != l.value.integer && scalar != Scalar::u64)
      report(l.span, fmt::format("{} does not fit {}", l.value.integer, info(scalar).name));
    Expr e = Expr::literal(value);
    if (type.is(Type::Kind::vector))
      e = Expr::apply(Expr::primitive(Prim::splat, {type.length()}, Type::function(Type::scalar(scalar), type)), e);
    values.emplace(l.placeholder, e);
  }
  return values;
}

// ----------------------------------------------------------------------------------------------------------- program

void Inference::settle(Program& program, const SourceFile* file) {
  solver_.settle({});
  solver_.applyDefaults();
  std::vector<Divides> facts;
  for (const Condition& c : conditions_)
    if (c.kind == SizeCondition::Kind::divides) facts.push_back({solver_.zonk(c.left), solver_.zonk(c.right)});

  std::vector<Solver::Equation> open;
  for (const Solver::Equation& e : solver_.settle(facts)) {
    const bool undecided = mentions(e, NatVar::Role::tunable) && !mentions(e, NatVar::Role::meta);
    if (undecided && equal(e.left, e.right) != Truth::refuted)
      program.conditions.push_back(
          {SizeCondition::Kind::equal, e.left, e.right,
           "the lengths of two types" + (e.origin.file == file ? at(e.origin) : std::string())});
    else
      open.push_back(e);
  }
  reportEquations(open);
  reportClasses();
  for (const Condition& c : conditions_) {
    const Nat left = solver_.zonk(c.left), right = solver_.zonk(c.right);
    const SizeCondition condition{c.kind, left, right,
                                  fmt::format("{} of {}{}", c.primitive, solver_.zonk(c.argument).str(), at(c.place))};
    const Truth truth = holds(condition);
    if (truth == Truth::proved) continue;
    if (truth == Truth::unknown) {
      if (std::none_of(program.conditions.begin(), program.conditions.end(), [&](const SizeCondition& o) {
            return o.kind == condition.kind && o.left == condition.left && o.right == condition.right;
          }))
        program.conditions.push_back(condition);
      continue;
    }
    const std::string array = solver_.zonk(c.argument).str();
    switch (c.kind) {
      case SizeCondition::Kind::divides:
        report(c.span, fmt::format("{} of {}: {} does not divide {}", c.primitive, array, left.str(), right.str()));
        break;
      case SizeCondition::Kind::lessEqual:
        if (left == Nat(1))
          report(c.span, fmt::format("{} of {}: the result would have length {}", c.primitive, array, right.str()),
                 "lengths are at least 1");
        else
          report(c.span, fmt::format("{} of {}: {} is more than {}", c.primitive, array, left.str(), right.str()));
        break;
      case SizeCondition::Kind::equal:
        report(c.span, fmt::format("{} of {}: {} is not {}", c.primitive, array, left.str(), right.str()));
        break;
    }
  }
}

Program Inference::program(const Definition& entry) {
  Program program;
  program.name = entry.name;
  ScopePtr scope;
  for (const TuneDeclaration& t : module_.tunables) {
    const Nat low = sizeOf(t.low, scope), high = sizeOf(t.high, scope);
    if (low.constant() && high.constant() && *low.constant() > *high.constant())
      report(t.span,
             fmt::format("the range of tunable '{}' is empty: {} to {}", t.name, *low.constant(), *high.constant()));
    const NatVar v = NatVar::fresh(t.name, low.constant().value_or(1), high, NatVar::Role::tunable);
    tunables_.emplace(t.name, v);
    program.tunables.push_back(v);
    scope = extend(scope, t.name, Nat(v));
  }
  std::vector<std::pair<std::string, Span>> free;
  for (const auto& p : entry.parameters) {
    if (p.name.front() == '(')  // a pattern (syntax_parser.hpp)
      report(p.span, "an input of the program needs a name", "name it, and take it apart with let (a, b) = … in");
    if (p.type && std::holds_alternative<SynType::Nat>(p.type->node)) {
      free.emplace_back(p.name, p.span);
    } else if (!p.type) {
      report(p.span, fmt::format("parameter '{}' of the program needs a type", p.name),
             fmt::format("for example {}: [n]f32", p.name));
    }
  }
  for (const auto& p : entry.parameters)
    if (p.type && !std::holds_alternative<SynType::Nat>(p.type->node)) freeSizes(*p.type, scope, free);
  for (const auto& [name, where] : free) {
    const NatVar v = NatVar::size(name);
    program.sizes.push_back(v);
    scope = extend(scope, name, Nat(v));
  }
  TypeNames names;
  for (const auto& p : entry.parameters) {
    if (!p.type || std::holds_alternative<SynType::Nat>(p.type->node)) continue;
    if (lookUp(scope, p.name)) report(p.span, fmt::format("'{}' is declared twice", p.name));
    const Expr v = Expr::variable(p.name, typeOf(p.type, scope, names));
    program.parameters.push_back(v);
    scope = extend(scope, p.name, v);
  }
  if (!errors_.empty()) throw UserError(ExitStatus::program, errors_);
  std::optional<Type> result;
  if (entry.result) result = typeOf(entry.result, scope, names);
  Expr body = infer(entry.body, scope, result);
  settle(program, entry.body->span.file);
  if (errors_.empty() && solver_.resolve(body.type()).is(Type::Kind::function))
    report(entry.body->span, fmt::format("the program's result is a function: {}", show(body.type())),
           "an argument is missing");
  if (!errors_.empty()) throw UserError(ExitStatus::program, errors_);

  // Everything is known now: put in the literals and replace what inference left open.
  Expr closed = substitute(body, literalValues());
  for (auto p = program.parameters.rbegin(); p != program.parameters.rend(); ++p) closed = Expr::lambda(*p, closed);
  bool undetermined = false;
  closed = mapTypes(
      closed, [&](Nat n) { return solver_.zonk(n); },
      [&](Type v) {
        const Type t = solver_.zonk(v);
        undetermined = undetermined || t.hasMetas();
        return t;
      },
      [&](Expr before, Expr after) {
        if (const auto found = spans_.find(before); found != spans_.end()) program.spans.emplace(after, found->second);
      });
  if (undetermined || closed.type().hasMetas())
    report(entry.body->span, "the type of a part of this program is not determined",
           "annotate a parameter: fun (x: f32) => …");
  if (!errors_.empty()) throw UserError(ExitStatus::program, errors_);
  for (Expr& p : program.parameters) {
    p = closed.parameter();
    closed = closed.body();
  }
  program.body = closed;
  return program;
}

}  // namespace lift::detail

namespace lift {

Program infer(const Module& module, const Module& prelude, const std::string& entry) {
  if (module.definitions.empty())
    throw UserError(ExitStatus::program, "there is no definition to compile", "write def main(x: [n]f32): … = …");
  const Definition* chosen = nullptr;
  for (const Definition& d : module.definitions) {
    for (const Definition& other : module.definitions)
      if (&other < &d && other.name == d.name)
        throw UserError(ExitStatus::program, fmt::format("'{}' is defined twice", d.name), {}, d.span);
    if (d.name == (entry.empty() ? "main" : entry)) chosen = &d;
  }
  if (!chosen && !entry.empty()) {
    std::string known;
    for (const Definition& d : module.definitions) known += (known.empty() ? "" : ", ") + d.name;
    throw UserError(ExitStatus::usage, fmt::format("there is no definition '{}'", entry), "the file defines " + known);
  }
  if (!chosen) chosen = &module.definitions.back();
  Program program = detail::Inference(module, prelude).program(*chosen);
#ifndef NDEBUG
  verify(program);
#endif
  return program;
}

}  // namespace lift
