// Inference of whole programs: what is left open is settled, then replaced throughout the term.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "inference.hpp"
#include "lift/listed.hpp"
#include "lift/terms.hpp"
#include "share.hpp"
#include "size_limits.hpp"

namespace lift::detail {

namespace {

bool mentions(const Solver::Equation& e, NatVar::Role role) {
  for (const Nat side : {e.left, e.right})
    for (const NatVar v : side.variables())
      if (v.role() == role) return true;
  return false;
}

bool holdsFunction(const Solver& solver, Type t) {
  t = solver.resolve(t);
  if (t.isTuple()) return std::ranges::any_of(t.components(), [&](Type c) { return holdsFunction(solver, c); });
  return t.isFunction() || (t.isArray() && holdsFunction(solver, t.element()));
}

Span spanOfParameter(const Definition& definition, const std::string& name) {
  for (const auto& p : definition.parameters)
    if (p.name == name) return p.span;
  return definition.span;
}

// n / (n / p) = p holds where p divides n.
std::optional<Divides> equalParts(const Solver::Equation& e) {
  for (const auto& [quotient, parts] : {std::pair(e.left, e.right), std::pair(e.right, e.left)}) {
    if (quotient.kind() != Nat::Kind::floorDiv) continue;
    const Nat number = quotient.operands()[0], length = quotient.operands()[1];
    if (length.kind() == Nat::Kind::floorDiv && length.operands()[0] == number && length.operands()[1] == parts)
      return Divides{parts, number};
  }
  return std::nullopt;
}

bool isDivided(Nat n) { return n.kind() == Nat::Kind::floorDiv || std::ranges::any_of(n.operands(), isDivided); }

std::string at(Span span) { return span ? " at " + placeOf(span) : std::string(); }

}  // namespace

// -------------------------------------------------------------------------------------------------- what stays open

void Inference::reportEquations(const std::vector<Solver::Equation>& open) {
  std::vector<std::pair<Nat, Nat>> said;
  for (const Solver::Equation& e : open) {
    if (mentions(e, NatVar::Role::meta) && !errors_.empty()) continue;  // what an error left open
    if (std::ranges::find_if(said, [&](const auto& s) {
          return (s.first == e.left && s.second == e.right) || (s.first == e.right && s.second == e.left);
        }) != said.end())
      continue;
    said.emplace_back(e.left, e.right);
    if (const std::string why = solver_.whyNot(e.left, e.right); !why.empty()) {
      report(e.origin, why, "a size that does not follow from lengths is a parameter of its own: k: nat");
      continue;
    }
    report(
        e.origin,
        fmt::format("these lengths must be equal, which cannot be shown: {} and {}", e.left.str(), e.right.str()),
        isDivided(e.left) || isDivided(e.right)
            ? "a length that is divided has a remainder: name its factors, as in [count * size]f32, and split by size"
            : "use one name for equal sizes");
  }
}

std::string Inference::describe(TypeClass c) {
  switch (c) {
    case TypeClass::scalar:
    case TypeClass::comparable: return "a scalar";
    case TypeClass::numeric:
    case TypeClass::integerLiteral: return "a number";
    case TypeClass::floating:
    case TypeClass::realLiteral: return "a floating-point number";
    case TypeClass::integral: return "an integer";
  }
  return {};
}

std::string Inference::hintOfLiteral(TypeClass kind, Type expected) {
  if (expected.isArray()) return "fill(n, x) is an array of n times x";
  if (kind != TypeClass::realLiteral || !expected.isScalar() || !isInteger(expected.scalar())) return {};
  return "an integer has no point, and becomes a floating-point number by f32(…)";
}

// After another error these follow from it; of one type that does not fit, the first place is said.
void Inference::reportClasses() {
  if (!errors_.empty()) return;
  std::vector<Type> said;
  for (const auto& e : solver_.checkClasses()) {
    const Type type = solver_.zonk(e.type);
    if (std::ranges::find(said, type) != said.end()) continue;
    said.push_back(type);
    if (e.wanted == TypeClass::integerLiteral || e.wanted == TypeClass::realLiteral)
      report(e.origin, fmt::format("expected {}, found {}", type.str(), describe(e.wanted)),
             hintOfLiteral(e.wanted, type));
    else
      report(e.origin, fmt::format("expected {}, found {}", describe(e.wanted), type.str()));
  }
}

// What stands for the literals' placeholders, now that their types are known.
std::unordered_map<Expr, Expr> Inference::literalValues() {
  std::unordered_map<Expr, Expr> values;
  for (const Literal& l : literals_) {
    const Type type = solver_.zonk(l.placeholder.type());
    const Scalar scalar = scalarOf(type);
    const ScalarValue value = l.extreme ? ScalarValue::extreme(scalar, *l.extreme)
                              : l.value.type == Scalar::i64 && !isFloat(scalar)
                                  ? ScalarValue::ofInteger(scalar, l.value.integer)
                                  : ScalarValue::of(scalar, l.value.asDouble());
    const double real = l.value.asDouble();
    const bool fits = isFloat(scalar)
                          ? std::isfinite(value.real) || !std::isfinite(real)
                          : value.integer == l.value.integer && (scalar != Scalar::u64 || value.integer >= 0);
    if (!l.extreme && !fits)
      report(l.span, fmt::format("{} does not fit {}",
                                 isFloat(l.value.type) ? fmt::to_string(real) : fmt::to_string(l.value.integer),
                                 info(scalar).name));
    Expr e = Expr::literal(value);
    if (type.isVector())
      e = Expr::apply(Expr::primitive(Prim::splat, {type.length()}, Type::function(Type::scalar(scalar), type)), e);
    values.emplace(l.placeholder, e);
  }
  for (const Expr c : conversions_) {
    const Type type = solver_.zonk(c.type());
    if (const Type to = type.result(); to.isScalar() || to.isVector())
      values.emplace(c, Expr::primitive(Prim::convert, {}, type, static_cast<std::uint8_t>(scalarOf(to))));
  }
  return values;
}

// Whether the condition cannot hold.
bool Inference::reportRefuted(const Condition& c) {
  const Nat left = solver_.zonk(c.left), right = solver_.zonk(c.right);
  if (holds({c.kind, left, right, {}}) != Truth::refuted) return false;
  const std::string subject = subjectOf(c);
  switch (c.kind) {
    case SizeCondition::Kind::divides:
      report(c.place, fmt::format("{}: {} does not divide {}", subject, left.str(), right.str()));
      break;
    case SizeCondition::Kind::lessEqual:
      if (left == Nat(1) && c.argument)
        report(c.place, fmt::format("{}: the result would have length {}", subject, right.str()),
               "lengths are at least 1");
      else
        report(c.place, fmt::format("{}: {} is more than {}", subject, left.str(), right.str()));
      break;
    case SizeCondition::Kind::equal:
      report(c.place, fmt::format("{}: {} is not {}", subject, left.str(), right.str()));
      break;
  }
  return true;
}

// ----------------------------------------------------------------------------------------------------------- program

std::vector<Solver::Equation> Inference::openEquations() {
  solver_.settle({});
  solver_.applyDefaults();
  std::vector<Divides> facts;
  for (const Condition& c : conditions_)
    if (c.kind == SizeCondition::Kind::divides) facts.push_back({solver_.zonk(c.left), solver_.zonk(c.right)});
  return solver_.settle(facts);
}

void Inference::settle(Program& program, const SourceFile* file) {
  std::vector<Solver::Equation> open;
  for (const Solver::Equation& e : openEquations()) {
    if (const auto parts = equalParts(e)) {
      program.conditions.push_back({SizeCondition::Kind::divides, parts->divisor, parts->number,
                                    "parts of equal length" + (e.origin.file == file ? at(e.origin) : std::string())});
      continue;
    }
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
    if (reportRefuted(c)) continue;
    const SizeCondition condition{c.kind, solver_.zonk(c.left), solver_.zonk(c.right), subjectOf(c) + at(c.place)};
    if (holds(condition) == Truth::unknown && std::ranges::none_of(program.conditions, [&](const SizeCondition& o) {
          return o.kind == condition.kind && o.left == condition.left && o.right == condition.right;
        }))
      program.conditions.push_back(condition);
  }
}

// The bounds of a tunable, or of a parameter of kind nat.
std::pair<std::int64_t, std::optional<Nat>> Inference::rangeIn(const SynType::Nat& range, const std::string& name,
                                                               const Scope& scope) {
  const int before = failures_;
  const Nat low = sizeOf(range.low, scope);
  const auto high = range.high ? std::optional(sizeOf(range.high, scope)) : std::nullopt;
  if (failures_ == before && !low.constant())
    report(range.low->span, fmt::format("the lower bound of '{}' must be a constant", name));
  if (failures_ == before && high && less(*high, low) == Truth::proved)
    report(cover(range.low->span, range.high->span),
           fmt::format("the range of '{}' is empty: {} to {}", name, low.str(), high->str()));
  return {low.constant().value_or(1), high};
}

// A tunable is known in its file, and to those that import the file.
NatVar Inference::tunable(const TuneDeclaration& t, const Module& module, Globals& home) {
  const Scope scope(&home);
  const auto [low, high] = rangeIn({t.low, t.high}, t.name, scope);
  const NatVar v = NatVar::fresh(t.name, low, high, NatVar::Role::tunable);
  home.names.insert_or_assign(t.name, Nat(v));
  for (const auto& [other, names] : modules_)
    for (const Import& import : other->imports)
      if (import.module.get() == &module)
        names->names.emplace(import.prefix.empty() ? t.name : import.prefix + "." + t.name, Nat(v));
  return v;
}

// The sizes of the program: parameters of type nat, and free names of the other parameters' types.
Scope Inference::declareSizes(Program& program, const Definition& entry, Scope scope) {
  std::vector<std::pair<std::string, Span>> free;
  for (const auto& p : entry.parameters) {
    if (p.name.front() == '(')  // a pattern (syntax_parser.hpp)
      report(p.span, "an input of the program needs a name", "name it, and take it apart with let (a, b) = … in");
    if (p.type && is<SynType::Nat>(p.type)) {
      free.emplace_back(p.name, p.span);
    } else if (!p.type) {
      report(p.span, fmt::format("parameter '{}' of the program needs a type", p.name),
             fmt::format("for example {}: [n]f32", p.name));
    }
  }
  for (const auto& p : entry.parameters)
    if (p.type && !is<SynType::Nat>(p.type)) freeSizes(*p.type, scope, free);
  // A range may speak of the sizes without one, and of those before it.
  const auto rangeOf = [&](const std::string& name) -> const SynType::Nat* {
    for (const auto& p : entry.parameters)
      if (const auto* nat = p.type && p.name == name ? as<SynType::Nat>(p.type) : nullptr)
        return nat->low ? nat : nullptr;
    return nullptr;
  };
  for (const auto& [name, where] : free)
    if (!rangeOf(name)) scope = scope.with(name, Nat(NatVar::size(name)));
  for (const auto& [name, where] : free)
    if (const SynType::Nat* range = rangeOf(name)) {
      const auto [low, high] = rangeIn(*range, name, scope);
      scope = scope.with(name, Nat(NatVar::fresh(name, low, high)));
    }
  for (const auto& [name, where] : free) {
    program.sizes.push_back(*std::get<Nat>(*scope.find(name)).variable());
    for (const NatVar t : program.tunables)
      if (t.name() == name)
        report(where, fmt::format("'{}' is a tunable, too", name), "values are given by name: rename one of the two");
  }
  return scope;
}

Scope Inference::declareParameters(Program& program, const Definition& entry, Scope scope, TypeNames& names) {
  for (const auto& p : entry.parameters) {
    if (!p.type || is<SynType::Nat>(p.type)) continue;
    if (const auto other = scope.find(p.name); other && (std::get_if<Nat>(&*other) || std::get_if<Expr>(&*other)))
      report(p.span, fmt::format("'{}' is declared twice", p.name));
    const Expr v = Expr::variable(p.name, typeOf(p.type, scope, names));
    if (holdsFunction(solver_, v.type()))
      report(p.span, "an input cannot be a function",
             "inputs and results are numbers, arrays and tuples; a definition that main uses may take functions");
    program.parameters.push_back(v);
    scope = scope.with(p.name, v);
  }
  if (!errors_.empty()) throw UserError(ExitStatus::program, errors_);
  for (const Expr p : program.parameters) {
    const Span where = spanOfParameter(entry, p.name());
    for (const Leaf& leaf : leavesOf(p.type()))
      for (const Nat n : leaf.shape)
        conditions_.push_back({SizeCondition::Kind::lessEqual,
                               1,
                               n,
                               where,
                               where,
                               fmt::format("the lengths of {}: {}", p.name(), p.type().str()),
                               {}});
  }
  return scope;
}

// What inference found out put into the body: literals, types and sizes. Of the tunables the first `own` stay; those of
// imported files that the program does not use are none of its own.
void Inference::close(Program& program, const Definition& entry, Expr body, std::size_t own) {
  Expr closed = withoutAliases(substitute(nameShared(body, shared_, single_), literalValues()));
  for (auto p = program.parameters.rbegin(); p != program.parameters.rend(); ++p) closed = Expr::lambda(*p, closed);
  std::unordered_map<Expr, std::size_t> sizes;
  if (treeSize(closed, mostTerms, sizes) > mostTerms)
    throw UserError(ExitStatus::program,
                    fmt::format("the program has more than {} parts when its definitions are expanded", mostTerms),
                    "rearrangements such as concat and transpose are written out at every use", entry.span);
  bool undetermined = false;
  std::set<NatVar> mentioned;
  const auto zonked = [&](Nat n) { return solver_.zonk(n); };
  try {
    closed = mapTypes(
        closed,
        [&](Nat n) {
          const Nat known = zonked(n);
          for (const NatVar v : known.variables()) mentioned.insert(v);
          return known;
        },
        [&](Type v) {
          const Type t = solver_.zonk(v);
          undetermined = undetermined || t.hasMetas();
          return t;
        },
        [&](Expr before, Expr after) {
          if (const auto found = spans_.find(before); found != spans_.end())
            program.spans.emplace(after, found->second);
        });
  } catch (const UserError& e) {
    failAtSizes(closed, spans_, zonked, {}, e);
  }
  if (undetermined || closed.type().hasMetas())
    report(entry.body->span, "the type of a part of this program is not determined",
           "annotate a parameter: fun (x: f32) => …");
  if (!errors_.empty()) throw UserError(ExitStatus::program, errors_);
  for (std::size_t i = program.tunables.size(); i-- > own;) {
    const NatVar t = program.tunables[i];
    if (mentioned.count(t))
      for (const NatVar v : t.upper() ? t.upper()->variables() : std::vector<NatVar>()) mentioned.insert(v);
    else
      program.tunables.erase(program.tunables.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (Expr& p : program.parameters) {
    p = closed.parameter();
    closed = closed.body();
  }
  program.body = closed;
}

Program Inference::program(const Definition& entry) {
  Program program;
  program.name = entry.name;
  Scope scope(&names_, &entry);
  for (const auto& [module, home] : modules_)
    for (const TuneDeclaration& t : module->tunables) program.tunables.push_back(tunable(t, *module, *home));
  const std::size_t own = modules_.front().first->tunables.size();
  for (std::size_t i = 0; i < program.tunables.size(); i++)
    for (std::size_t j = 0; j < i; j++)
      if (program.tunables[i].name() == program.tunables[j].name())
        report(entry.span, fmt::format("there are two tunables '{}'", program.tunables[i].name()),
               "values are given by name: rename the one of the imported file");
  scope = declareSizes(program, entry, std::move(scope));
  TypeNames names;
  scope = declareParameters(program, entry, std::move(scope), names);
  std::optional<Type> result;
  if (entry.result) result = typeOf(entry.result, scope, names);
  const Expr body = infer(entry.body, scope, result);
  settle(program, entry.body->span.file);
  if (errors_.empty() && holdsFunction(solver_, body.type()))
    report(entry.body->span,
           fmt::format("the program's result {} a function: {}",
                       solver_.resolve(body.type()).isFunction() ? "is" : "holds", show(body.type())),
           "an argument is missing");
  if (!errors_.empty()) throw UserError(ExitStatus::program, errors_);
  close(program, entry, body, own);
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
  if (!chosen && !entry.empty())
    throw UserError(ExitStatus::usage, fmt::format("there is no definition '{}'", entry),
                    "the file defines " + listed(module.definitions, &Definition::name));
  if (!chosen) chosen = &module.definitions.back();
  Program program = detail::Inference(module, prelude).program(*chosen);
  checkElements(program);
  checkIndices(program);
#ifndef NDEBUG
  verify(program);
#endif
  return program;
}

}  // namespace lift
