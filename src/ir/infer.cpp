// Type inference: from surface syntax to typed terms.
//
// Applications are elaborated data first: arguments that are not functions, then functions, whose parameter types are
// known by then. So lambdas rarely need annotations, and operators and projections resolve where they stand.
// Definitions are expanded at each use (they are polymorphic in types and sizes); an argument that the body uses more
// than once, or under a lambda, is bound by `let` unless it only rearranges data.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lift/diagnostic.hpp"
#include "lift/syntax.hpp"
#include "scheme.hpp"
#include "solver.hpp"

namespace lift {
namespace {

using detail::Instance;
using detail::Solver;
using detail::TypeClass;
using detail::TypeNames;

struct Scope;
using ScopePtr = std::shared_ptr<const Scope>;

// An argument that is elaborated where it is used: functions, so that each use has its own types.
struct Thunk {
  SynPtr syntax;
  ScopePtr scope;
};
using Binding = std::variant<Expr, Nat, Thunk>;

struct Scope {
  std::string name;
  Binding binding;
  ScopePtr parent;
};

ScopePtr extend(ScopePtr scope, std::string name, Binding binding) {
  return std::make_shared<const Scope>(Scope{std::move(name), std::move(binding), std::move(scope)});
}

const Binding* lookUp(const ScopePtr& scope, const std::string& name) {
  for (const Scope* s = scope.get(); s; s = s->parent.get())
    if (s->name == name) return &s->binding;
  return nullptr;
}

// An argument of a call that is being elaborated, with the scope it is written in.
struct Argument {
  std::string name;
  SynPtr syntax;
  ScopePtr scope;
};

constexpr int maxExpansionDepth = 200;
constexpr int maxIterateExpansion = 64;

SynPtr typedSyntax(Expr e, Span span) { return std::make_shared<const Syn>(Syn{span, Syn::Typed{e}}); }

// Whether evaluating the term again costs nothing but index arithmetic.
bool onlyRearranges(Expr e) {
  switch (e.form()) {
    case Expr::Form::variable:
    case Expr::Form::literal:
    case Expr::Form::natLiteral:
      return true;
    case Expr::Form::lambda:
      return onlyRearranges(e.body());
    case Expr::Form::apply:
      return onlyRearranges(e.function()) && onlyRearranges(e.argument());
    case Expr::Form::primitive:
      break;
  }
  switch (e.prim()) {
    case Prim::map:
    case Prim::zip:
    case Prim::unzip:
    case Prim::tuple:
    case Prim::get:
    case Prim::split:
    case Prim::join:
    case Prim::slide:
    case Prim::slideStrict:
    case Prim::pad:
    case Prim::padClamp:
    case Prim::padMirror:
    case Prim::padWrap:
    case Prim::transpose:
    case Prim::reorder:
    case Prim::concat:
    case Prim::take:
    case Prim::drop:
    case Prim::asVector:
    case Prim::asScalar:
    case Prim::generate:
      return true;
    default:
      return false;
  }
}

// Occurrences of a free variable, counted up to two; one under a lambda counts as two.
int occurrences(Expr e, Expr variable, bool underLambda = false) {
  if (!e.hasFree(variable)) return 0;
  switch (e.form()) {
    case Expr::Form::variable:
      return underLambda ? 2 : 1;
    case Expr::Form::lambda:
      return occurrences(e.body(), variable, true);
    case Expr::Form::apply: {
      const int n = occurrences(e.function(), variable, underLambda);
      return n >= 2 ? 2 : std::min(2, n + occurrences(e.argument(), variable, underLambda));
    }
    default:
      return 0;
  }
}

Expr makeLet(Expr variable, Expr value, Expr body) {
  const Type f = Type::function(variable.type(), body.type());
  const Expr let = Expr::primitive(Prim::let, {}, Type::function(f, Type::function(variable.type(), body.type())));
  return applyAll(let, {Expr::lambda(variable, body), value});
}

std::size_t editDistance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); i++) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); j++) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

class Inference {
 public:
  Inference(const Module& module, const Module& prelude) : module_(module), prelude_(prelude) {}

  Program program(const Definition& entry);

 private:
  // --------------------------------------------------------------------------------------------------- reporting
  void report(Span span, std::string message, std::string hint = {}, std::vector<Diagnostic> notes = {});
  Expr poison(std::optional<Type> expected) { return Expr::variable("?", expected.value_or(solver_.freshType())); }
  bool expect(Type actual, Type expected, Span span, const std::string& what = {});
  std::string show(Type t) const { return solver_.zonk(t).str(); }

  // ----------------------------------------------------------------------------------------------- names and types
  const Definition* definition(const std::string& name) const;
  std::string suggestion(const std::string& name, const ScopePtr& scope) const;
  Nat sizeOf(const SynPtr& syntax, const ScopePtr& scope);
  Type typeOf(const SynTypePtr& type, const ScopePtr& scope, TypeNames& names);
  // Free names in the lengths of a type that nothing binds yet.
  void freeSizes(const SynType& type, const ScopePtr& scope, std::vector<std::pair<std::string, Span>>& out) const;
  void freeSizes(const Syn& size, const ScopePtr& scope, std::vector<std::pair<std::string, Span>>& out) const;
  ScopePtr bindPattern(const SynPattern& pattern, Expr value, ScopePtr scope);
  static std::string nameOf(const SynPattern& pattern) { return pattern.components.empty() ? pattern.name : "p"; }

  // --------------------------------------------------------------------------------------------------------- terms
  Expr infer(const SynPtr& syntax, const ScopePtr& scope, std::optional<Type> expected = {});
  Expr inferCall(SynPtr head, ScopePtr scope, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr finish(Expr e, std::optional<Type> expected, Span span);
  Expr literal(ScalarValue value, TypeClass kind, std::optional<Type> expected, Span span);
  Expr lambda(const Syn::Fun& fun, const ScopePtr& scope, std::optional<Type> expected);
  Expr let(const SynPattern& pattern, const Argument& value, const SynPtr& body, const ScopePtr& scope,
           std::optional<Type> expected);
  Expr etaExpand(SynPtr head, ScopePtr scope, std::vector<Argument> arguments, Type expected, Span span);

  Expr primitive(Prim prim, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr operation(Op op, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr conversion(Scalar to, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr tuple(const std::vector<Argument>& parts, std::optional<Type> expected, Span span);
  Expr project(const SynPtr& tuple, const ScopePtr& scope, int component, std::optional<Type> expected, Span span);
  Expr zip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span);
  Expr unzip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span);
  Expr vectorize(std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr iterate(std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr expand(const Definition& def, std::vector<Argument> arguments, std::optional<Type> expected, Span span);

  bool isFunction(const Argument& argument);
  Type vectorOf(Nat width, Type t, Span span);
  std::optional<Type> scalarsOf(Type t);
  void settle(Program& program);

  const Module& module_;
  const Module& prelude_;
  Solver solver_;
  std::vector<Diagnostic> errors_;

  struct Condition {
    SizeCondition::Kind kind;
    Nat left, right;
    Span span;
    std::string primitive;
    Type argument;  // the array it constrains
  };
  std::vector<Condition> conditions_;
  struct Literal {
    Expr placeholder;
    ScalarValue value;
    Span span;
  };
  std::vector<Literal> literals_;
  struct Expansion {
    Span call;
    std::string name;
  };
  std::vector<Expansion> expansions_;
  std::map<std::string, NatVar> tunables_;
  std::unordered_map<Expr, Span> spans_;  // of primitives, before their types are final
};

// -------------------------------------------------------------------------------------------------------- reporting

void Inference::report(Span span, std::string message, std::string hint, std::vector<Diagnostic> notes) {
  Diagnostic d{Severity::error, span, std::move(message), std::move(hint), std::move(notes)};
  // An error inside a definition of another file is an error of the call, as the user sees it.
  if (!expansions_.empty()) {
    const Span call = expansions_.front().call;
    if (call && span.file != call.file) {
      d.notes.push_back(
          {Severity::note, span, fmt::format("in the definition of '{}'", expansions_.back().name), {}, {}});
      d.span = call;
    } else if (call) {
      d.notes.push_back(
          {Severity::note, call, fmt::format("while expanding '{}' here", expansions_.front().name), {}, {}});
    }
  }
  for (const Diagnostic& other : errors_)
    if (other.span.file == d.span.file && other.span.begin == d.span.begin && other.message == d.message) return;
  errors_.push_back(std::move(d));
}

bool Inference::expect(Type actual, Type expected, Span span, const std::string& what) {
  if (solver_.unify(actual, expected, span)) return true;
  const Type a = solver_.zonk(actual), e = solver_.zonk(expected);
  std::string hint;
  if (a.isScalar() && e.isScalar() && a != e) hint = fmt::format("convert with {}(…)", e.str());
  if (a.isScalar() && e.is(Type::Kind::vector)) hint = fmt::format("splat({}, …) makes a vector", e.length().str());
  report(span, fmt::format("{}expected {}, found {}", what.empty() ? "" : what + ": ", e.str(), a.str()), hint);
  return false;
}

// -------------------------------------------------------------------------------------------------- names and types

const Definition* Inference::definition(const std::string& name) const {
  for (const Module* m : {&module_, &prelude_})
    for (const Definition& d : m->definitions)
      if (d.name == name) return &d;
  return nullptr;
}

std::string Inference::suggestion(const std::string& name, const ScopePtr& scope) const {
  std::string best;
  std::size_t distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  const auto consider = [&](std::string_view candidate) {
    const std::size_t d = editDistance(name, std::string(candidate));
    if (d < distance) {
      distance = d;
      best = candidate;
    }
  };
  for (const Scope* s = scope.get(); s; s = s->parent.get()) consider(s->name);
  for (const Module* m : {&module_, &prelude_})
    for (const Definition& d : m->definitions) consider(d.name);
  for (int i = 0; i < primCount; i++) consider(info(static_cast<Prim>(i)).name);
  for (int i = 0; i < opCount; i++) consider(info(static_cast<Op>(i)).name);
  return best.empty() ? "`liftc primitives` lists the primitives" : fmt::format("did you mean '{}'?", best);
}

Nat Inference::sizeOf(const SynPtr& syntax, const ScopePtr& scope) {
  return detail::natOfSyntax(*syntax, [&](const Syn& leaf) -> Nat {
    if (const auto* name = std::get_if<Syn::Name>(&leaf.node)) {
      if (const Binding* b = lookUp(scope, name->text)) {
        if (const Nat* n = std::get_if<Nat>(b)) return *n;
        if (const Thunk* t = std::get_if<Thunk>(b)) return sizeOf(t->syntax, t->scope);
        report(leaf.span, fmt::format("'{}' is a value; a size is needed here", name->text),
               "sizes are integers, names in array types, and parameters of type nat");
        return 1;
      }
      if (const Definition* d = definition(name->text); d && d->parameters.empty()) return sizeOf(d->body, nullptr);
      report(leaf.span, fmt::format("unknown size '{}'", name->text),
             "sizes are named in the types of the parameters, or declared as `k: nat`");
      return 1;
    }
    report(leaf.span, "this is not a size", "sizes are built from integers, names, + - * / %, min and max");
    return 1;
  });
}

void Inference::freeSizes(const Syn& size, const ScopePtr& scope,
                          std::vector<std::pair<std::string, Span>>& out) const {
  if (const auto* name = std::get_if<Syn::Name>(&size.node)) {
    if (!lookUp(scope, name->text) && !definition(name->text) &&
        std::none_of(out.begin(), out.end(), [&](const auto& o) { return o.first == name->text; }))
      out.emplace_back(name->text, size.span);
  } else if (const auto* call = std::get_if<Syn::Call>(&size.node)) {
    for (const auto& a : call->arguments) freeSizes(*a.value, scope, out);
  }
}

void Inference::freeSizes(const SynType& type, const ScopePtr& scope,
                          std::vector<std::pair<std::string, Span>>& out) const {
  if (const auto* t = std::get_if<SynType::Array>(&type.node)) {
    freeSizes(*t->length, scope, out);
    freeSizes(*t->element, scope, out);
  } else if (const auto* t = std::get_if<SynType::Vector>(&type.node)) {
    freeSizes(*t->width, scope, out);
    freeSizes(*t->element, scope, out);
  } else if (const auto* t = std::get_if<SynType::Tuple>(&type.node)) {
    for (const auto& c : t->components) freeSizes(*c, scope, out);
  } else if (const auto* t = std::get_if<SynType::Function>(&type.node)) {
    freeSizes(*t->parameter, scope, out);
    freeSizes(*t->result, scope, out);
  }
}

Type Inference::typeOf(const SynTypePtr& type, const ScopePtr& scope, TypeNames& names) {
  if (const auto* t = std::get_if<SynType::ScalarName>(&type->node)) return Type::scalar(t->scalar);
  if (const auto* t = std::get_if<SynType::Array>(&type->node)) {
    const Nat length = sizeOf(t->length, scope);
    if (const auto c = length.constant(); c && *c < 1)
      report(t->length->span, fmt::format("an array cannot have length {}", *c), "lengths are at least 1");
    return Type::array(length, typeOf(t->element, scope, names));
  }
  if (const auto* t = std::get_if<SynType::Vector>(&type->node)) {
    const Nat width = sizeOf(t->width, scope);
    if (const auto c = width.constant(); c && *c != 2 && *c != 3 && *c != 4 && *c != 8 && *c != 16)
      report(t->width->span, fmt::format("{} is not a vector width", *c), "OpenCL has vectors of 2, 3, 4, 8 and 16");
    const Type element = typeOf(t->element, scope, names);
    solver_.require(element, TypeClass::scalar, type->span);
    return Type::vector(width, element);
  }
  if (const auto* t = std::get_if<SynType::Tuple>(&type->node)) {
    std::vector<Type> parts;
    for (const auto& c : t->components) parts.push_back(typeOf(c, scope, names));
    return Type::tuple(std::move(parts));
  }
  if (const auto* t = std::get_if<SynType::Function>(&type->node)) {
    const Type parameter = typeOf(t->parameter, scope, names);
    return Type::function(parameter, typeOf(t->result, scope, names));
  }
  if (const auto* t = std::get_if<SynType::Name>(&type->node)) {
    if (const auto found = names.types.find(t->text); found != names.types.end()) return found->second;
    report(type->span, fmt::format("unknown type '{}'", t->text),
           "scalar types are bool, i8 … u64, f16, f32 and f64; vectors are written f32x4");
    const Type fresh = solver_.freshType(t->text);
    names.types.emplace(t->text, fresh);
    return fresh;
  }
  report(type->span, "'nat' can only be the type of a definition's parameter");
  return solver_.freshType();
}

ScopePtr Inference::bindPattern(const SynPattern& pattern, Expr value, ScopePtr scope) {
  if (pattern.type) {
    TypeNames names;
    std::vector<std::pair<std::string, Span>> free;
    expect(value.type(), typeOf(pattern.type, scope, names), pattern.span);
  }
  if (pattern.components.empty()) {
    if (pattern.name == "_") return scope;
    return extend(std::move(scope), pattern.name, value);
  }
  Type type = solver_.resolve(value.type());
  if (type.is(Type::Kind::variable)) {
    std::vector<Type> parts;
    for (std::size_t i = 0; i < pattern.components.size(); i++) parts.push_back(solver_.freshType());
    solver_.unify(type, Type::tuple(parts), pattern.span);
    type = solver_.resolve(type);
  }
  if (!type.is(Type::Kind::tuple) || type.components().size() != pattern.components.size()) {
    report(pattern.span,
           fmt::format("this pattern has {} components, the value is {}", pattern.components.size(), show(type)));
    for (const SynPattern& c : pattern.components) scope = bindPattern(c, poison({}), std::move(scope));
    return scope;
  }
  for (std::size_t i = 0; i < pattern.components.size(); i++) {
    const Expr get =
        Expr::primitive(Prim::get, {Nat(static_cast<std::int64_t>(i))}, Type::function(type, type.components()[i]));
    scope = bindPattern(pattern.components[i], Expr::apply(get, value), std::move(scope));
  }
  return scope;
}

// ------------------------------------------------------------------------------------------------------------ terms

Expr Inference::finish(Expr e, std::optional<Type> expected, Span span) {
  if (expected) expect(e.type(), *expected, span);
  return e;
}

Expr Inference::literal(ScalarValue value, TypeClass kind, std::optional<Type> expected, Span span) {
  const Expr placeholder = Expr::variable("literal", solver_.freshType());
  solver_.require(placeholder.type(), kind, span);
  literals_.push_back({placeholder, value, span});
  return finish(placeholder, expected, span);
}

Expr Inference::infer(const SynPtr& syntax, const ScopePtr& scope, std::optional<Type> expected) {
  const Span span = syntax->span;
  const auto& node = syntax->node;
  if (std::get_if<Syn::Name>(&node)) return inferCall(syntax, scope, {}, expected, span);
  if (std::get_if<Syn::Call>(&node)) return inferCall(syntax, scope, {}, expected, span);
  if (const auto* s = std::get_if<Syn::Integer>(&node))
    return literal(ScalarValue::ofInteger(Scalar::i64, s->value), TypeClass::integerLiteral, expected, span);
  if (const auto* s = std::get_if<Syn::Real>(&node)) {
    if (s->type) return finish(Expr::literal(ScalarValue::of(*s->type, s->value)), expected, span);
    return literal(ScalarValue::of(Scalar::f64, s->value), TypeClass::realLiteral, expected, span);
  }
  if (const auto* s = std::get_if<Syn::Boolean>(&node))
    return finish(Expr::literal(ScalarValue::ofInteger(Scalar::boolean, s->value)), expected, span);
  if (const auto* s = std::get_if<Syn::Fun>(&node)) return lambda(*s, scope, expected);
  if (const auto* s = std::get_if<Syn::Tuple>(&node)) {
    std::vector<Argument> parts;
    for (const SynPtr& c : s->components) parts.push_back({{}, c, scope});
    return tuple(parts, expected, span);
  }
  if (const auto* s = std::get_if<Syn::Project>(&node)) return project(s->tuple, scope, s->component, expected, span);
  if (const auto* s = std::get_if<Syn::Subscript>(&node))
    return primitive(Prim::at, {{{}, s->index, scope}, {{}, s->array, scope}}, expected, span);
  if (const auto* s = std::get_if<Syn::Let>(&node))
    return let(s->pattern, {{}, s->value, scope}, s->body, scope, expected);
  if (const auto* s = std::get_if<Syn::Ascribe>(&node)) {
    TypeNames names;
    const Type type = typeOf(s->type, scope, names);
    return finish(infer(s->value, scope, type), expected, span);
  }
  if (const auto* s = std::get_if<Syn::Typed>(&node)) return finish(s->term, expected, span);
  if (const auto* s = std::get_if<Syn::Size>(&node)) return finish(Expr::nat(s->value), expected, span);
  throw InternalError("unknown form of syntax");
}

Expr Inference::inferCall(SynPtr head, ScopePtr scope, std::vector<Argument> arguments, std::optional<Type> expected,
                          Span span) {
  // f(a)(b) and x |> f(a) are one call with two arguments.
  while (const auto* call = std::get_if<Syn::Call>(&head->node)) {
    std::vector<Argument> inner;
    for (const auto& a : call->arguments) inner.push_back({a.name, a.value, scope});
    arguments.insert(arguments.begin(), inner.begin(), inner.end());
    head = call->function;
  }
  if (const auto* fun = std::get_if<Syn::Fun>(&head->node); fun && !arguments.empty()) {
    const Argument value = arguments.front();
    if (arguments.size() == 1) return let(fun->parameter, value, fun->body, scope, expected);
    report(head->span, "this function takes one argument", "several arguments are a tuple: fun (a, b) => …");
    return poison(expected);
  }
  const auto* named = std::get_if<Syn::Name>(&head->node);
  if (!named) {
    if (arguments.empty()) return infer(head, scope, expected);
    const Expr f = infer(head, scope);
    if (solver_.resolve(f.type()).is(Type::Kind::function)) {
      Expr result = f;
      for (const Argument& a : arguments) {
        const Type type = solver_.resolve(result.type());
        if (!type.is(Type::Kind::function)) break;
        result = Expr::apply(result, infer(a.syntax, a.scope, type.parameter()));
      }
      return finish(result, expected, span);
    }
    report(head->span, fmt::format("a value of type {} cannot be called", show(f.type())));
    return poison(expected);
  }

  const std::string& name = named->text;
  if (const Binding* b = lookUp(scope, name)) {
    if (const Thunk* t = std::get_if<Thunk>(b)) return inferCall(t->syntax, t->scope, arguments, expected, span);
    if (!arguments.empty()) {
      if (const Expr* e = std::get_if<Expr>(b); e && solver_.resolve(e->type()).is(Type::Kind::function))
        return finish(
            Expr::apply(*e, infer(arguments[0].syntax, arguments[0].scope, solver_.resolve(e->type()).parameter())),
            expected, span);
      report(head->span, fmt::format("'{}' is not a function", name));
      return poison(expected);
    }
    if (const Nat* n = std::get_if<Nat>(b)) return finish(Expr::nat(*n), expected, span);
    return finish(std::get<Expr>(*b), expected, span);
  }
  if (const Definition* d = definition(name)) return expand(*d, std::move(arguments), expected, span);
  if (const auto prim = primNamed(name)) return primitive(*prim, std::move(arguments), expected, span);
  if (const auto op = opNamed(name)) return operation(*op, std::move(arguments), expected, span);
  if (const auto scalar = scalarNamed(name)) return conversion(*scalar, std::move(arguments), expected, span);
  if (indexFnNamed(name)) {
    report(head->span, fmt::format("'{}' is an index function; it only stands as the first argument of reorder", name),
           fmt::format("write reorder({}, xs)", name));
    return poison(expected);
  }
  report(head->span, fmt::format("unknown name '{}'", name), suggestion(name, scope));
  return poison(expected);
}

Expr Inference::lambda(const Syn::Fun& fun, const ScopePtr& scope, std::optional<Type> expected) {
  Type parameter = solver_.freshType();
  std::optional<Type> result;
  if (expected) {
    const Type type = solver_.resolve(*expected);
    if (type.is(Type::Kind::function)) {
      parameter = type.parameter();
      result = type.result();
    } else if (!type.is(Type::Kind::variable)) {
      report(fun.parameter.span, fmt::format("expected {}, found a function", show(type)));
      return poison(expected);
    }
  }
  const Expr variable = Expr::variable(nameOf(fun.parameter), parameter);
  const ScopePtr inner = bindPattern(fun.parameter, variable, scope);
  const Expr f = Expr::lambda(variable, infer(fun.body, inner, result));
  if (expected && !result) solver_.unify(*expected, f.type(), fun.parameter.span);
  return f;
}

Expr Inference::let(const SynPattern& pattern, const Argument& value, const SynPtr& body, const ScopePtr& scope,
                    std::optional<Type> expected) {
  if (isFunction(value) && pattern.components.empty())
    return infer(body, extend(scope, pattern.name, Thunk{value.syntax, value.scope}), expected);
  const Expr v = infer(value.syntax, value.scope);
  const Expr variable = Expr::variable(nameOf(pattern), v.type());
  const Expr inner = infer(body, bindPattern(pattern, variable, scope), expected);
  return makeLet(variable, v, inner);
}

// Whether the argument is written as a function, without elaborating it.
bool Inference::isFunction(const Argument& argument) {
  SynPtr s = argument.syntax;
  ScopePtr scope = argument.scope;
  std::vector<std::size_t> given;
  std::size_t arguments = 0;
  for (;;) {
    if (std::get_if<Syn::Fun>(&s->node)) return arguments == 0;
    if (const auto* call = std::get_if<Syn::Call>(&s->node)) {
      arguments += call->arguments.size();
      s = call->function;
      continue;
    }
    const auto* name = std::get_if<Syn::Name>(&s->node);
    if (!name) {
      if (const auto* typed = std::get_if<Syn::Typed>(&s->node))
        return solver_.resolve(typed->term.type()).is(Type::Kind::function);
      return false;
    }
    if (const Binding* b = lookUp(scope, name->text)) {
      if (const Thunk* t = std::get_if<Thunk>(b)) {
        s = t->syntax;
        scope = t->scope;
        continue;
      }
      const Expr* e = std::get_if<Expr>(b);
      return e && arguments == 0 && solver_.resolve(e->type()).is(Type::Kind::function);
    }
    if (const Definition* d = definition(name->text)) return arguments < d->parameters.size();
    if (const auto prim = primNamed(name->text)) {
      if (*prim == Prim::zip || *prim == Prim::tuple) return arguments < 2;
      return arguments < detail::schemeOf(*prim).parameters.size();
    }
    if (const auto op = opNamed(name->text)) return arguments < static_cast<std::size_t>(info(*op).arity);
    return scalarNamed(name->text) && arguments == 0;
  }
}

// A partial application as a lambda: its missing last argument becomes a variable of the type expected for it.
Expr Inference::etaExpand(SynPtr head, ScopePtr scope, std::vector<Argument> arguments, Type expected, Span span) {
  expected = solver_.resolve(expected);
  if (expected.is(Type::Kind::variable)) {
    const Type f = Type::function(solver_.freshType(), solver_.freshType());
    solver_.unify(expected, f, span);
    expected = f;
  }
  if (!expected.is(Type::Kind::function)) {
    report(span, fmt::format("expected {}, found a function: an argument is missing", show(expected)));
    return poison(expected);
  }
  const Expr x = Expr::variable("x", expected.parameter());
  arguments.push_back({{}, typedSyntax(x, span), nullptr});
  return Expr::lambda(x, inferCall(std::move(head), std::move(scope), std::move(arguments), expected.result(), span));
}

Expr Inference::expand(const Definition& def, std::vector<Argument> arguments, std::optional<Type> expected,
                       Span span) {
  const std::size_t arity = def.parameters.size();
  if (arguments.size() < arity)
    return etaExpand(std::make_shared<const Syn>(Syn{span, Syn::Name{def.name}}), nullptr, std::move(arguments),
                     expected.value_or(solver_.freshType()), span);
  if (expansions_.size() >= maxExpansionDepth) {
    report(span, fmt::format("definitions are nested too deeply at '{}'", def.name),
           "a definition cannot use itself; repetition is written with iterate, map or reduce");
    return poison(expected);
  }
  std::vector<Argument> rest(arguments.begin() + static_cast<std::ptrdiff_t>(arity), arguments.end());
  arguments.resize(arity);
  if (!rest.empty() && arity == 0 && !def.body) rest.clear();

  // Named arguments go to their parameters, the others fill what is left in order.
  std::vector<const Argument*> slots(arity, nullptr);
  for (const Argument& a : arguments) {
    if (a.name.empty()) continue;
    const auto p =
        std::find_if(def.parameters.begin(), def.parameters.end(), [&](const auto& q) { return q.name == a.name; });
    if (p == def.parameters.end()) {
      report(a.syntax->span, fmt::format("'{}' has no parameter named '{}'", def.name, a.name));
      return poison(expected);
    }
    slots[static_cast<std::size_t>(p - def.parameters.begin())] = &a;
  }
  std::size_t next = 0;
  for (const Argument& a : arguments) {
    if (!a.name.empty()) continue;
    while (next < arity && slots[next]) next++;
    if (next < arity) slots[next] = &a;
  }
  if (std::find(slots.begin(), slots.end(), nullptr) != slots.end()) {
    report(span, fmt::format("two arguments of '{}' are given for one parameter", def.name));
    return poison(expected);
  }

  // Sizes first, then the names that the parameter types introduce, then data, then functions.
  ScopePtr scope;
  TypeNames names;
  std::vector<std::pair<std::string, Span>> free;
  for (std::size_t i = 0; i < arity; i++) {
    const auto& p = def.parameters[i];
    if (p.type && std::holds_alternative<SynType::Nat>(p.type->node))
      scope = extend(scope, p.name, sizeOf(slots[i]->syntax, slots[i]->scope));
  }
  for (const auto& p : def.parameters)
    if (p.type && !std::holds_alternative<SynType::Nat>(p.type->node)) freeSizes(*p.type, scope, free);
  if (def.result) freeSizes(*def.result, scope, free);
  for (const auto& [name, where] : free)
    if (!tunables_.count(name)) scope = extend(scope, name, solver_.freshNat(name));
  for (const auto& [name, v] : tunables_)
    if (!lookUp(scope, name)) scope = extend(scope, name, Nat(v));
  const auto collectTypeNames = [&](const SynTypePtr& type, auto&& self) -> void {
    if (!type) return;
    if (const auto* t = std::get_if<SynType::Name>(&type->node)) {
      names.types.emplace(t->text, solver_.freshType(t->text));
    } else if (const auto* t = std::get_if<SynType::Array>(&type->node)) {
      self(t->element, self);
    } else if (const auto* t = std::get_if<SynType::Vector>(&type->node)) {
      self(t->element, self);
    } else if (const auto* t = std::get_if<SynType::Tuple>(&type->node)) {
      for (const auto& c : t->components) self(c, self);
    } else if (const auto* t = std::get_if<SynType::Function>(&type->node)) {
      self(t->parameter, self);
      self(t->result, self);
    }
  };
  for (const auto& p : def.parameters) collectTypeNames(p.type, collectTypeNames);
  collectTypeNames(def.result, collectTypeNames);

  struct Bound {
    Expr variable, value;
  };
  std::vector<Bound> bound;
  for (std::size_t i = 0; i < arity; i++) {
    const auto& p = def.parameters[i];
    if (p.type && std::holds_alternative<SynType::Nat>(p.type->node)) continue;
    if (isFunction(*slots[i])) continue;
    std::optional<Type> type;
    if (p.type) type = typeOf(p.type, scope, names);
    const Expr value = infer(slots[i]->syntax, slots[i]->scope, type);
    const Expr variable = Expr::variable(p.name, value.type());
    bound.push_back({variable, value});
    scope = extend(scope, p.name, variable);
  }
  for (std::size_t i = 0; i < arity; i++)
    if (isFunction(*slots[i])) scope = extend(scope, def.parameters[i].name, Thunk{slots[i]->syntax, slots[i]->scope});

  expansions_.push_back({span, def.name});
  std::optional<Type> result;
  if (rest.empty()) result = expected;
  if (def.result) {
    const Type declared = typeOf(def.result, scope, names);
    if (result) expect(declared, *result, span);
    result = declared;
  }
  Expr body =
      rest.empty() ? infer(def.body, scope, result) : inferCall(def.body, scope, std::move(rest), expected, span);
  expansions_.pop_back();

  for (auto b = bound.rbegin(); b != bound.rend(); ++b) {
    if (onlyRearranges(b->value) || occurrences(body, b->variable) <= 1)
      body = substitute(body, b->variable, b->value);
    else
      body = makeLet(b->variable, b->value, body);
  }
  return body;
}

// ------------------------------------------------------------------------------------------------------- primitives

Expr Inference::tuple(const std::vector<Argument>& parts, std::optional<Type> expected, Span span) {
  std::vector<std::optional<Type>> wanted(parts.size());
  if (expected) {
    const Type t = solver_.resolve(*expected);
    if (t.is(Type::Kind::tuple) && t.components().size() == parts.size())
      for (std::size_t i = 0; i < parts.size(); i++) wanted[i] = t.components()[i];
  }
  std::vector<Expr> values;
  std::vector<Type> types;
  for (std::size_t i = 0; i < parts.size(); i++) {
    values.push_back(infer(parts[i].syntax, parts[i].scope, wanted[i]));
    types.push_back(values.back().type());
  }
  Type type = Type::tuple(types);
  for (auto t = types.rbegin(); t != types.rend(); ++t) type = Type::function(*t, type);
  return finish(applyAll(Expr::primitive(Prim::tuple, {}, type), values), expected, span);
}

Expr Inference::project(const SynPtr& tuple, const ScopePtr& scope, int component, std::optional<Type> expected,
                        Span span) {
  const Expr value = infer(tuple, scope);
  const Type type = solver_.resolve(value.type());
  if (type.is(Type::Kind::variable)) {
    report(span, "the tuple's type is not known here", "annotate it, e.g. fun (p: (f32, f32)) => p.0");
    return poison(expected);
  }
  if (!type.is(Type::Kind::tuple)) {
    report(span, fmt::format("a value of type {} has no components", show(type)));
    return poison(expected);
  }
  if (component < 0 || static_cast<std::size_t>(component) >= type.components().size()) {
    report(span, fmt::format("{} has no component {}", show(type), component),
           fmt::format("components are numbered 0 to {}", type.components().size() - 1));
    return poison(expected);
  }
  const Expr get = Expr::primitive(Prim::get, {Nat(component)},
                                   Type::function(type, type.components()[static_cast<std::size_t>(component)]));
  return finish(Expr::apply(get, value), expected, span);
}

Expr Inference::zip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span) {
  const Nat n = solver_.freshNat("n");
  std::vector<Expr> values;
  std::vector<Type> arrays, elements;
  for (const Argument& a : arguments) {
    const Expr e = infer(a.syntax, a.scope);
    const Type element = solver_.freshType();
    const Nat length = solver_.freshNat("n");
    if (!solver_.unify(e.type(), Type::array(length, element), a.syntax->span)) {
      report(a.syntax->span, fmt::format("zip takes arrays, found {}", show(e.type())));
      return poison(expected);
    }
    if (!solver_.unify(length, n, span)) {
      report(
          span,
          fmt::format("zip of arrays of unequal lengths: {} and {}", solver_.zonk(n).str(), solver_.zonk(length).str()),
          {}, {{Severity::note, a.syntax->span, fmt::format("this one is {}", show(e.type())), {}, {}}});
      return poison(expected);
    }
    values.push_back(e);
    arrays.push_back(e.type());
    elements.push_back(element);
  }
  Type type = Type::array(n, Type::tuple(elements));
  for (auto t = arrays.rbegin(); t != arrays.rend(); ++t) type = Type::function(*t, type);
  return finish(applyAll(Expr::primitive(Prim::zip, {}, type), values), expected, span);
}

Expr Inference::unzip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span) {
  const Expr e = infer(arguments[0].syntax, arguments[0].scope);
  const Type type = solver_.resolve(e.type());
  const Type element = type.isArray() ? solver_.resolve(type.element()) : type;
  if (!type.isArray() || !element.is(Type::Kind::tuple)) {
    report(span, fmt::format("unzip takes an array of tuples, found {}", show(type)));
    return poison(expected);
  }
  std::vector<Type> arrays;
  for (const Type c : element.components()) arrays.push_back(Type::array(type.length(), c));
  const Expr prim = Expr::primitive(Prim::unzip, {}, Type::function(type, Type::tuple(arrays)));
  return finish(Expr::apply(prim, e), expected, span);
}

// <w>t for a scalar t, component by component for tuples.
Type Inference::vectorOf(Nat width, Type t, Span span) {
  t = solver_.resolve(t);
  if (t.is(Type::Kind::tuple)) {
    std::vector<Type> parts;
    for (const Type c : t.components()) parts.push_back(vectorOf(width, c, span));
    return Type::tuple(std::move(parts));
  }
  solver_.require(t, TypeClass::scalar, span);
  return Type::vector(width, t);
}

std::optional<Type> Inference::scalarsOf(Type t) {
  t = solver_.resolve(t);
  if (t.is(Type::Kind::vector)) return t.element();
  if (!t.is(Type::Kind::tuple)) return std::nullopt;
  std::vector<Type> parts;
  for (const Type c : t.components()) {
    const auto s = scalarsOf(c);
    if (!s) return std::nullopt;
    parts.push_back(*s);
  }
  return Type::tuple(std::move(parts));
}

Expr Inference::vectorize(std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  if (arguments.size() < 2) {
    report(span, "vectorize takes a width and a function", "write vectorize(4, f)");
    return poison(expected);
  }
  const Nat width = sizeOf(arguments[0].syntax, arguments[0].scope);
  std::optional<Expr> in;
  std::optional<Type> vectors;
  if (arguments.size() > 2) {
    in = infer(arguments[2].syntax, arguments[2].scope);
    vectors = in->type();
  } else if (expected && solver_.resolve(*expected).is(Type::Kind::function)) {
    vectors = solver_.resolve(*expected).parameter();
  }
  Type scalars = solver_.freshType();
  if (vectors) {
    if (const auto s = scalarsOf(*vectors)) {
      scalars = *s;
    } else if (!solver_.resolve(*vectors).is(Type::Kind::variable)) {
      report(span, fmt::format("vectorize({}) works on vectors, found {}", width.str(), show(*vectors)));
      return poison(expected);
    }
  }
  const Type result = solver_.freshType();
  const Expr f = infer(arguments[1].syntax, arguments[1].scope, Type::function(scalars, result));
  const Type from = vectorOf(width, scalars, span);
  const Type type = Type::function(f.type(), Type::function(from, vectorOf(width, result, span)));
  Expr e = Expr::apply(Expr::primitive(Prim::vectorize, {width}, type), f);
  if (in) {
    expect(in->type(), from, arguments[2].syntax->span);
    e = Expr::apply(e, *in);
  }
  return finish(e, expected, span);
}

Expr Inference::iterate(std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const Nat count = sizeOf(arguments[0].syntax, arguments[0].scope);
  Expr value = infer(arguments[2].syntax, arguments[2].scope);
  const Expr x = Expr::variable("x", value.type());
  const auto step = [&](Expr in) {
    return inferCall(arguments[1].syntax, arguments[1].scope, {{{}, typedSyntax(in, span), nullptr}}, {}, span);
  };
  const Expr once = step(x);
  const Type from = solver_.zonk(x.type()), to = solver_.zonk(once.type());
  if (from == to || from.hasMetas()) {
    expect(once.type(), x.type(), span, "iterate's function must keep the type");
    const Type f = Type::function(x.type(), x.type());
    const Expr prim = Expr::primitive(Prim::iterate, {count}, Type::function(f, f));
    return finish(applyAll(prim, {Expr::lambda(x, once), value}), expected, span);
  }
  const auto times = count.constant();
  if (!times || *times > maxIterateExpansion || *times < 0) {
    report(span, fmt::format("iterate's function changes {} to {}", from.str(), to.str()),
           fmt::format("then the count must be a constant up to {}", maxIterateExpansion));
    return poison(expected);
  }
  for (std::int64_t i = 0; i < *times; i++) value = step(value);
  return finish(value, expected, span);
}

Expr Inference::operation(Op op, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const OpInfo& row = info(op);
  const auto arity = static_cast<std::size_t>(row.arity);
  const std::string shown(row.infix.empty() ? row.name : row.infix);
  if (arguments.size() > arity) {
    report(span,
           fmt::format("'{}' takes {} operand{}, found {}", shown, arity, arity == 1 ? "" : "s", arguments.size()));
    return poison(expected);
  }
  if (arguments.empty()) {  // the operation as a function, of a tuple when it has several operands
    Type parameter = solver_.freshType(), result = solver_.freshType();
    if (arity > 1) {
      std::vector<Type> parts;
      for (std::size_t i = 0; i < arity; i++) parts.push_back(solver_.freshType());
      parameter = Type::tuple(parts);
    }
    if (expected) expect(Type::function(parameter, result), *expected, span);
    parameter = solver_.resolve(parameter);
    const Expr p = Expr::variable("p", parameter);
    std::vector<Argument> operands;
    for (std::size_t i = 0; i < arity; i++) {
      Expr component = p;
      if (arity > 1)
        component = Expr::apply(Expr::primitive(Prim::get, {Nat(static_cast<std::int64_t>(i))},
                                                Type::function(parameter, parameter.components()[i])),
                                p);
      operands.push_back({{}, typedSyntax(component, span), nullptr});
    }
    return Expr::lambda(p, operation(op, operands, result, span));
  }
  if (arguments.size() < arity) {
    report(span, fmt::format("'{}' takes {} operands, found {}", shown, arity, arguments.size()));
    return poison(expected);
  }

  const Type boolean = Type::scalar(Scalar::boolean);
  const Type t = solver_.freshType();
  std::vector<Type> operands(arity, t);
  Type result = t;
  switch (row.typing) {
    case OpTyping::numeric:
      solver_.require(t, TypeClass::numeric, span);
      break;
    case OpTyping::floating:
      solver_.require(t, TypeClass::floating, span);
      break;
    case OpTyping::integral:
      solver_.require(t, TypeClass::integral, span);
      break;
    case OpTyping::comparison:
      solver_.require(t, op == Op::eq || op == Op::ne ? TypeClass::comparable : TypeClass::numeric, span);
      result = boolean;
      break;
    case OpTyping::logical:
      std::fill(operands.begin(), operands.end(), boolean);
      result = boolean;
      break;
    case OpTyping::selection:
      operands[0] = boolean;
      solver_.require(t, TypeClass::comparable, span);
      break;
  }
  if (expected) solver_.unify(result, *expected, span);
  std::vector<Expr> values;
  for (std::size_t i = 0; i < arity; i++) {
    const Expr v = infer(arguments[i].syntax, arguments[i].scope);
    if (!solver_.unify(v.type(), operands[i], arguments[i].syntax->span)) {
      const Type found = solver_.zonk(v.type()), wanted = solver_.zonk(operands[i]);
      std::string hint;
      if (found.isScalar() && wanted.isScalar()) hint = fmt::format("convert with {}(…)", wanted.str());
      if (found.isScalar() != wanted.isScalar()) hint = "splat(w, x) makes a vector of a scalar";
      report(arguments[i].syntax->span,
             fmt::format("operand of '{}': expected {}, found {}", shown, wanted.str(), found.str()), hint);
      return poison(expected);
    }
    values.push_back(v);
  }
  Type type = result;
  for (auto o = operands.rbegin(); o != operands.rend(); ++o) type = Type::function(*o, type);
  return finish(applyAll(Expr::primitive(Prim::op, {}, type, static_cast<std::uint8_t>(op)), values), expected, span);
}

Expr Inference::conversion(Scalar to, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const auto prim = [&](Type from) {
    const Type r = solver_.resolve(from);
    const Type result = r.is(Type::Kind::vector) ? Type::vector(r.length(), Type::scalar(to)) : Type::scalar(to);
    return Expr::primitive(Prim::convert, {}, Type::function(from, result), static_cast<std::uint8_t>(to));
  };
  if (arguments.empty()) {
    Type from = solver_.freshType();
    if (expected && solver_.resolve(*expected).is(Type::Kind::function)) from = solver_.resolve(*expected).parameter();
    return finish(prim(from), expected, span);
  }
  if (arguments.size() != 1) {
    report(span, fmt::format("{}(…) converts one value", info(to).name));
    return poison(expected);
  }
  const Expr value = infer(arguments[0].syntax, arguments[0].scope);
  if (solver_.resolve(value.type()).is(Type::Kind::variable)) solver_.applyDefaults();
  const Type from = solver_.resolve(value.type());
  if (!from.isScalar() && !from.is(Type::Kind::vector) && !from.is(Type::Kind::variable)) {
    report(span, fmt::format("{}(…) converts scalars and vectors, found {}", info(to).name, show(from)));
    return poison(expected);
  }
  return finish(Expr::apply(prim(value.type()), value), expected, span);
}

Expr Inference::primitive(Prim prim, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const PrimInfo& row = info(prim);
  const SynScheme& scheme = detail::schemeOf(prim);
  const auto headSyntax = [&] { return std::make_shared<const Syn>(Syn{span, Syn::Name{std::string(row.name)}}); };

  if (prim == Prim::tuple && arguments.size() >= 2) return tuple(arguments, expected, span);
  if (prim == Prim::zip && arguments.size() >= 2) return zip(arguments, expected, span);
  if (prim == Prim::zip || prim == Prim::tuple ||
      ((prim == Prim::unzip || prim == Prim::get || prim == Prim::iterate) &&
       arguments.size() < scheme.parameters.size()))
    return etaExpand(headSyntax(), nullptr, std::move(arguments), expected.value_or(solver_.freshType()), span);

  if (arguments.size() > scheme.parameters.size()) {
    report(span,
           fmt::format("{} takes {} argument{}, found {}", row.name, scheme.parameters.size(),
                       scheme.parameters.size() == 1 ? "" : "s", arguments.size()),
           fmt::format("its type is {}", row.scheme));
    return poison(expected);
  }

  // Named arguments go to their parameters, the others fill what is left in order.
  std::vector<const Argument*> slots(scheme.parameters.size(), nullptr);
  for (const Argument& a : arguments) {
    if (a.name.empty()) continue;
    std::size_t i = 0;
    while (i < slots.size() && scheme.parameters[i].name != a.name) i++;
    if (i == slots.size() || slots[i]) {
      report(a.syntax->span, fmt::format("{} has no parameter named '{}' left to give", row.name, a.name),
             fmt::format("its type is {}", row.scheme));
      return poison(expected);
    }
    slots[i] = &a;
  }
  std::size_t next = 0;
  for (const Argument& a : arguments) {
    if (!a.name.empty()) continue;
    while (slots[next]) next++;
    slots[next] = &a;
  }
  if (prim == Prim::unzip) return unzip(arguments, expected, span);
  if (prim == Prim::vectorize) return vectorize(std::move(arguments), expected, span);
  if (prim == Prim::iterate) return iterate({*slots[0], *slots[1], *slots[2]}, expected, span);
  if (prim == Prim::get) {
    const auto component = sizeOf(slots[0]->syntax, slots[0]->scope).constant();
    return project(slots[1]->syntax, slots[1]->scope, static_cast<int>(component.value_or(-1)), expected, span);
  }

  // Sizes and the index function.
  std::map<std::string, Nat> given;
  std::vector<Nat> nats;
  std::uint8_t detail = 0;
  std::vector<const Argument*> data;
  std::vector<std::string> dataNames;
  for (std::size_t i = 0; i < slots.size(); i++) {
    const auto& p = scheme.parameters[i];
    const bool isNat = std::holds_alternative<SynType::Nat>(p.type->node);
    const bool isIndex = std::holds_alternative<SynType::Index>(p.type->node);
    if (!isNat && !isIndex) {
      data.push_back(slots[i]);
      dataNames.push_back(p.name);
      continue;
    }
    if (!slots[i]) {
      report(span, fmt::format("{} needs its {} '{}'", row.name, isNat ? "size" : "index function", p.name),
             fmt::format("its type is {}", row.scheme));
      return poison(expected);
    }
    if (isNat) {
      const Nat value = sizeOf(slots[i]->syntax, slots[i]->scope);
      given.emplace(p.name, value);
      nats.push_back(value);
      continue;
    }
    SynPtr fn = slots[i]->syntax;
    std::vector<SynPtr> fnArguments;
    if (const auto* call = std::get_if<Syn::Call>(&fn->node)) {
      for (const auto& a : call->arguments) fnArguments.push_back(a.value);
      fn = call->function;
    }
    const auto* name = std::get_if<Syn::Name>(&fn->node);
    const auto found = name ? indexFnNamed(name->text) : std::nullopt;
    if (!found) {
      report(slots[i]->syntax->span, "this is not an index function",
             "reorder takes reverse, stride(s), unstride(s), shift(k) or transpose(r, c)");
      return poison(expected);
    }
    if (static_cast<int>(fnArguments.size()) != info(*found).arity) {
      report(slots[i]->syntax->span,
             fmt::format("{} takes {} sizes, found {}", info(*found).name, info(*found).arity, fnArguments.size()));
      return poison(expected);
    }
    detail = static_cast<std::uint8_t>(*found);
    for (const SynPtr& a : fnArguments) nats.push_back(sizeOf(a, slots[i]->scope));
  }

  const auto positive = [&](std::size_t i, std::string_view what) {
    if (i < nats.size() && nats[i].upper() && *nats[i].upper() < 1) {
      report(span, fmt::format("{}: {} must be at least 1, found {}", row.name, what, nats[i].str()));
      return false;
    }
    return true;
  };
  if (prim == Prim::split && !positive(0, "the chunk size")) return poison(expected);
  if ((prim == Prim::slide || prim == Prim::slideStrict) && !(positive(0, "the window") && positive(1, "the step")))
    return poison(expected);
  if (prim == Prim::asVector || prim == Prim::splat)
    if (const auto w = nats[0].constant(); w && *w != 2 && *w != 3 && *w != 4 && *w != 8 && *w != 16) {
      report(span, fmt::format("{} is not a vector width", *w), "OpenCL has vectors of 2, 3, 4, 8 and 16");
      return poison(expected);
    }
  if (prim == Prim::mapGlb || prim == Prim::mapWrg || prim == Prim::mapLcl)
    if (const auto d = nats[0].constant(); !d || *d < 0 || *d > 2) {
      report(span, fmt::format("{}: the dimension must be 0, 1 or 2, found {}", row.name, nats[0].str()));
      return poison(expected);
    }

  Instance instance(prim, solver_, given, span);
  const std::size_t missing = static_cast<std::size_t>(std::count(data.begin(), data.end(), nullptr));
  for (std::size_t i = 0; i + missing < data.size(); i++)
    if (!data[i]) {
      report(span, fmt::format("{}: argument '{}' is missing", row.name, dataNames[i]),
             fmt::format("its type is {}", row.scheme));
      return poison(expected);
    }
  Type type = instance.functionType();
  if (expected && missing > 0) {
    Type partial = instance.result;
    for (std::size_t i = data.size(); i-- > data.size() - missing;)
      partial = Type::function(instance.parameters[i], partial);
    expect(partial, *expected, span, std::string(row.name));
  } else if (expected && prim != Prim::splat) {
    solver_.unify(instance.result, *expected, span);  // a mismatch is reported below, with the arguments known
  }

  // Data first, functions when their parameter types are known.
  std::vector<std::optional<Expr>> values(data.size());
  for (const bool functions : {false, true})
    for (std::size_t i = 0; i < data.size(); i++) {
      if (!data[i] || solver_.resolve(instance.parameters[i]).is(Type::Kind::function) != functions || values[i])
        continue;
      const Argument& a = *data[i];
      if (functions) {
        values[i] = infer(a.syntax, a.scope, instance.parameters[i]);
        continue;
      }
      values[i] = infer(a.syntax, a.scope);
      if (!solver_.unify(values[i]->type(), instance.parameters[i], a.syntax->span)) {
        const Type found = solver_.zonk(values[i]->type()), wanted = solver_.zonk(instance.parameters[i]);
        report(a.syntax->span,
               fmt::format("argument '{}' of {}: expected {}, found {}", dataNames[i], row.name, wanted.str(),
                           found.str()),
               fmt::format("its type is {}", row.scheme));
        return poison(expected);
      }
    }

  for (const auto& c : instance.conditions)
    conditions_.push_back({c.kind, c.left, c.right, span, std::string(row.name), instance.parameters.back()});
  if (prim == Prim::reorder) {
    const Nat n = solver_.resolve(instance.parameters.back()).is(Type::Kind::array)
                      ? solver_.resolve(instance.parameters.back()).length()
                      : Nat(1);
    const auto fn = static_cast<IndexFn>(detail);
    if (fn == IndexFn::stride || fn == IndexFn::unstride)
      conditions_.push_back({SizeCondition::Kind::divides, nats[0], n, span, "reorder", instance.parameters.back()});
    if (fn == IndexFn::transpose)
      conditions_.push_back(
          {SizeCondition::Kind::equal, nats[0] * nats[1], n, span, "reorder", instance.parameters.back()});
  }

  Expr e = Expr::primitive(prim, nats, type, detail);
  spans_.emplace(e, expansions_.empty() ? span : expansions_.front().call);
  for (const auto& v : values)
    if (v) e = Expr::apply(e, *v);
  return finish(e, expected, span);
}

// ----------------------------------------------------------------------------------------------------------- program

void Inference::settle(Program& program) {
  solver_.settle({});
  solver_.applyDefaults();
  std::vector<Divides> facts;
  for (const Condition& c : conditions_)
    if (c.kind == SizeCondition::Kind::divides) facts.push_back({solver_.zonk(c.left), solver_.zonk(c.right)});

  for (const auto& e : solver_.settle(facts)) {
    bool tunable = false, open = false;
    for (const Nat side : {e.left, e.right})
      for (const NatVar v : side.variables()) {
        tunable = tunable || v.role() == NatVar::Role::tunable;
        open = open || v.role() == NatVar::Role::meta;
      }
    if (tunable && !open && equal(e.left, e.right) != Truth::refuted) {
      program.conditions.push_back({SizeCondition::Kind::equal, e.left, e.right, "the lengths of two types"});
      continue;
    }
    if (open && !errors_.empty()) continue;
    report(e.origin,
           fmt::format("these lengths must be equal, which cannot be shown: {} and {}", e.left.str(), e.right.str()),
           "use one name for equal sizes");
  }
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
  for (const Condition& c : conditions_) {
    const Nat left = solver_.zonk(c.left), right = solver_.zonk(c.right);
    const SizeCondition condition{
        c.kind, left, right,
        fmt::format(
            "{} of {}{}", c.primitive, solver_.zonk(c.argument).str(),
            c.span ? fmt::format(" at {}:{}", c.span.file->name, positionOf(*c.span.file, c.span.begin).line) : "")};
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
    const NatVar v = NatVar::fresh(t.name, low.constant().value_or(1), high, NatVar::Role::tunable);
    tunables_.emplace(t.name, v);
    program.tunables.push_back(v);
    scope = extend(scope, t.name, Nat(v));
  }
  std::vector<std::pair<std::string, Span>> free;
  for (const auto& p : entry.parameters) {
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
  settle(program);
  if (!errors_.empty()) throw UserError(ExitStatus::program, errors_);

  // Everything is known now: put in the literals and replace what inference left open.
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
  Expr closed = substitute(body, values);
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
  if (program.body.type().is(Type::Kind::function))
    report(entry.body->span, fmt::format("the program's result is a function: {}", program.body.type().str()),
           "an argument is missing");
  if (!errors_.empty()) throw UserError(ExitStatus::program, errors_);
  return program;
}

}  // namespace

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
  return Inference(module, prelude).program(*chosen);
}

}  // namespace lift
