// Inference: terms, calls, lambdas, definitions.
#include <fmt/format.h>
#include <algorithm>

#include "inference.hpp"

namespace lift::detail {
namespace {

constexpr int maxExpansionDepth = 200;

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
  return movesData(e.prim());
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

}  // namespace

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
  constexpr int deepest = 1000;
  if (nesting_ == deepest)
    throw UserError(ExitStatus::program,
                    fmt::format("the program nests deeper than {} levels when its definitions are expanded", deepest),
                    "write a repeated stage with iterate", syntax->span);
  ++nesting_;
  const Expr e = inferNode(syntax, scope, expected);
  --nesting_;
  return e;
}

Expr Inference::inferNode(const SynPtr& syntax, const ScopePtr& scope, std::optional<Type> expected) {
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
    TypeNames names = typeVariables_;
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
  if (const Definition* d = definition(name, head->span)) return expand(*d, std::move(arguments), expected, span);
  if (const auto prim = primNamed(name)) return primitive(*prim, std::move(arguments), expected, span);
  if (const auto op = opNamed(name)) return operation(*op, std::move(arguments), expected, span);
  if (const auto scalar = scalarNamed(name)) return conversion(*scalar, std::move(arguments), expected, span);
  if (indexFnNamed(name)) {
    report(head->span, fmt::format("'{}' is an index function; it only stands as the first argument of reorder", name),
           fmt::format("write reorder({}, xs)", name));
    return poison(expected);
  }
  report(head->span, fmt::format("unknown name '{}'", name.size() > 60 ? name.substr(0, 57) + "..." : name),
         suggestion(name, scope));
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
  if (v.is(Expr::Form::variable)) return infer(body, bindPattern(pattern, v, scope), expected);  // another name
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
    if (const Definition* d = definition(name->text, s->span)) return arguments < d->parameters.size();
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
    const auto uses =
        std::count_if(expansions_.begin(), expansions_.end(), [&](const auto& e) { return e.name == def.name; });
    report(span,
           uses > 1 ? fmt::format("'{}' uses itself", def.name)
                    : fmt::format("definitions are nested too deeply at '{}'", def.name),
           "a definition cannot use itself; repetition is written with iterate, map or reduce");
    throw UserError(ExitStatus::program, errors_);  // going on would try every path of the recursion
  }
  std::vector<Argument> rest(arguments.begin() + static_cast<std::ptrdiff_t>(arity), arguments.end());
  arguments.resize(arity);

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

}  // namespace lift::detail
