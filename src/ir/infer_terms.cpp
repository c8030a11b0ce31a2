// Inference: terms, calls, lambdas, definitions.
#include <fmt/format.h>
#include <algorithm>

#include "inference.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"

namespace lift::detail {
namespace {

// "it is defined as f(x: f32, y)"; empty where it has no text.
std::string signatureOf(const Definition& def) {
  if (def.parameters.empty()) return {};
  const auto& last = def.parameters.back();
  const Span text = cover(def.span, last.type ? last.type->span : last.span);
  if (!text.file) return {};
  const std::string_view written = std::string_view(text.file->text).substr(text.begin);
  if (written.substr(0, def.name.size()) != def.name) return {};
  return fmt::format("it is defined as {})", written.substr(0, text.end - text.begin));
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------ terms

Expr Inference::finish(Expr e, std::optional<Type> expected, Span span) {
  if (expected) expect(e.type(), *expected, span);
  return e;
}

Expr Inference::literal(ScalarValue value, TypeClass kind, std::optional<Type> expected, Span span) {
  if (expected && !solver_.fits(*expected, kind)) {
    report(span, fmt::format("expected {}, found {}", show(*expected), describe(kind)),
           kind == TypeClass::realLiteral ? "an integer has no point" : "");
    return poison(expected);
  }
  const Expr placeholder = Expr::variable("literal", solver_.freshType());
  solver_.require(placeholder.type(), kind, span);
  literals_.push_back({placeholder, value, span, {}});
  return finish(placeholder, expected, span);
}

Expr Inference::extreme(ScalarValue::Extreme end, std::optional<Type> expected, Span span) {
  const std::size_t before = literals_.size();
  const Expr e = literal({}, TypeClass::numeric, expected, span);
  if (literals_.size() > before) literals_.back().extreme = end;
  return e;
}

Expr Inference::infer(const SynPtr& syntax, const Scope& scope, std::optional<Type> expected) {
  if (nesting_ >= deepest) failTooDeep(syntax->span);
  if (++elaborated_ == mostElaborated) failTooLarge(syntax->span);
  ++nesting_;
  const int before = failures_;
  const Expr e = inferNode(syntax, scope, expected);
  --nesting_;
  if (partsOf(e.type()) > mostParts)
    throw UserError(ExitStatus::program, fmt::format("a type here has more than {} parts", mostParts),
                    "elements that are of one type belong in an array", place(syntax->span));
  return failures_ == before ? e : poison(expected);
}

void Inference::failTooDeep(Span span) const {
  throw UserError(ExitStatus::program,
                  fmt::format("the program nests deeper than {} levels when its definitions are expanded", deepest),
                  "write a repeated stage with iterate", span);
}

// A definition is expanded for each of its uses with arguments of its own, and what it uses is, too.
void Inference::failTooLarge(Span span) const {
  std::pair<const Definition*, std::size_t> most{nullptr, 0};
  for (const auto& [definition, count] : expanded_)
    if (count > most.second) most = {definition, count};
  std::string hint = "a stage that is repeated is written with iterate, a value that is the same is named with let";
  if (most.first) hint = fmt::format("'{}' is expanded {} times; {}", most.first->name, most.second, hint);
  throw UserError(ExitStatus::program,
                  fmt::format("the program has more than {} parts when its definitions are expanded", mostElaborated),
                  hint, place(span));
}

// Components and elements of a type, those within them included; a part of it that is shared counts wherever it is.
std::size_t Inference::partsOf(Type t) {
  t = solver_.resolve(t);
  if (t.isScalar() || t.is(Type::Kind::variable)) return 1;
  const auto [known, isNew] = parts_.emplace(t, 1);
  if (!isNew) return known->second;
  std::size_t count = 1;
  if (t.is(Type::Kind::tuple)) {
    for (const Type c : t.components()) count += partsOf(c);
  } else if (t.is(Type::Kind::function)) {
    count += partsOf(t.parameter()) + partsOf(t.result());
  } else {
    count += partsOf(t.element());
  }
  return parts_[t] = std::min(count, mostParts + 1);
}

Expr Inference::inferNode(const SynPtr& syntax, const Scope& scope, std::optional<Type> expected) {
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
  if (const auto* s = std::get_if<Syn::Array>(&node)) {
    std::vector<Argument> elements;
    for (const SynPtr& x : s->elements) elements.push_back({{}, x, scope});
    return array(elements, expected, span);
  }
  if (const auto* s = std::get_if<Syn::Project>(&node)) return project(s->tuple, scope, s->component, expected, span);
  if (const auto* s = std::get_if<Syn::Subscript>(&node))
    return primitive(Prim::at, {{{}, s->index, scope}, {{}, s->array, scope}}, expected, span);
  if (const auto* s = std::get_if<Syn::Let>(&node))
    return let(s->pattern, {{}, s->value, scope}, s->body, scope, expected);
  if (const auto* s = std::get_if<Syn::Ascribe>(&node)) {
    if (std::holds_alternative<SynType::Nat>(s->type->node))
      return finish(Expr::nat(sizeOf(s->value, scope)), expected, span);
    TypeNames names = typeVariables_;
    const Type type = typeOf(s->type, scope, names);
    return finish(infer(s->value, scope, type), expected, span);
  }
  if (const auto* s = std::get_if<Syn::Typed>(&node)) return finish(s->term, expected, span);
  if (const auto* s = std::get_if<Syn::Size>(&node)) return finish(Expr::nat(s->value), expected, span);
  throw InternalError("unknown form of syntax");
}

Expr Inference::inferCall(SynPtr head, Scope scope, std::vector<Argument> arguments, std::optional<Type> expected,
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
    return applyValue(infer(head, scope), arguments, expected, head->span, {});
  }

  const std::string& name = named->text;
  const auto binding = meaningOf(*named, scope);
  if (!binding) {
    if (indexFnNamed(name))
      report(head->span,
             fmt::format("'{}' is an index function; it only stands as the first argument of reorder", name),
             fmt::format("write reorder({}, xs)", name));
    else
      report(head->span, fmt::format("unknown name '{}'", name.size() > 60 ? name.substr(0, 57) + "..." : name),
             suggestion(name, scope));
    return poison(expected);
  }
  if (const Thunk* t = std::get_if<Thunk>(&*binding)) {
    const auto* fun = std::get_if<Syn::Fun>(&t->syntax->node);
    if (!fun || arguments.size() != 1 || isFunction(arguments.front()))
      return inferCall(t->syntax, t->scope, std::move(arguments), expected, span);
    const Expr value = infer(arguments.front().syntax, arguments.front().scope);
    const std::vector<Binding> key{*t, value};
    if (const auto known = instanceOf(nullptr, key, expected)) return finish(*known, expected, span);
    const Argument argument{{}, typedSyntax(value, arguments.front().syntax->span), {}};
    const Expr result = let(fun->parameter, argument, fun->body, t->scope, expected);
    remember(nullptr, key, result);
    return result;
  }
  if (const Expr* e = std::get_if<Expr>(&*binding)) return applyValue(*e, arguments, expected, head->span, name);
  if (const Nat* n = std::get_if<Nat>(&*binding))
    return applyValue(Expr::nat(*n), arguments, expected, head->span, name);
  if (const auto* end = std::get_if<ScalarValue::Extreme>(&*binding))
    return applyValue(extreme(*end, arguments.empty() ? expected : std::nullopt, span), arguments, expected, head->span,
                      name);
  return call(*binding, scope, std::move(arguments), expected, span);
}

// A value, called with arguments if there are any; `name` is empty unless it is written as a name.
Expr Inference::applyValue(Expr value, const std::vector<Argument>& arguments, std::optional<Type> expected, Span span,
                           const std::string& name) {
  for (const Argument& a : arguments) {
    const Type type = solver_.resolve(value.type());
    if (isPoison(type)) return poison(expected);
    if (!type.is(Type::Kind::function)) {
      report(span, name.empty() ? fmt::format("a value of type {} cannot be called", show(type))
                                : fmt::format("'{}' is not a function", name));
      return poison(expected);
    }
    if (!value.type().is(Type::Kind::function)) {  // the parameter of a function that was not known to be one
      if (errors_.empty())
        report(span,
               fmt::format("{} stands for a function that was left out", name.empty() ? "this" : "'" + name + "'"),
               "functions are arguments of calls, not of functions that are passed on");
      return poison(expected);
    }
    value = Expr::apply(value, infer(a.syntax, a.scope, type.parameter()));
  }
  return finish(value, expected, span);
}

Expr Inference::call(const Binding& callee, const Scope& from, std::vector<Argument> arguments,
                     std::optional<Type> expected, Span span) {
  if (const auto* global = std::get_if<Global>(&callee))
    return expand(*global, from, std::move(arguments), expected, span);
  if (const auto* prim = std::get_if<Prim>(&callee))
    return *prim == Prim::convert ? conversion(std::move(arguments), expected, span)
                                  : primitive(*prim, std::move(arguments), expected, span);
  if (const auto* op = std::get_if<Op>(&callee)) return operation(*op, std::move(arguments), expected, span);
  if (const auto* to = std::get_if<Scalar>(&callee)) return conversion(*to, std::move(arguments), expected, span);
  throw InternalError("a call of what is no function");
}

Expr Inference::lambda(const Syn::Fun& fun, const Scope& scope, std::optional<Type> expected) {
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
  const Scope inner = bindPattern(fun.parameter, variable, scope);
  const Expr body = infer(fun.body, inner, result);
  if (functionType(body.type())) {
    report(fun.body->span, "the result of a function cannot be a function", "an argument is missing");
    return poison(expected);
  }
  const Expr f = Expr::lambda(variable, body);
  if (expected && !result) solver_.unify(*expected, f.type(), fun.parameter.span);
  return f;
}

Expr Inference::let(const SynPattern& pattern, const Argument& value, const SynPtr& body, const Scope& scope,
                    std::optional<Type> expected) {
  if (pattern.components.empty())
    if (const auto f = asFunction(value)) return infer(body, scope.with(pattern.name, *f), expected);
  const Expr v = infer(value.syntax, value.scope);
  if (v.is(Expr::Form::variable) || (std::get_if<Syn::Name>(&value.syntax->node) && onlyMovesData(v)))
    return infer(body, bindPattern(pattern, v, scope), expected);  // another name
  const Expr variable = Expr::variable(nameOf(pattern), v.type());
  const Expr inner = infer(body, bindPattern(pattern, variable, scope), expected);
  return build::let(variable, v, inner);
}

std::optional<Binding> Inference::asFunction(const Argument& argument) {
  SynPtr s = argument.syntax;
  Scope scope = argument.scope;
  std::size_t arguments = 0;
  for (int steps = 0; steps < maxAliases; steps++) {
    if (std::get_if<Syn::Fun>(&s->node)) return arguments == 0 ? std::optional<Binding>(Thunk{s, scope}) : std::nullopt;
    if (const auto* call = std::get_if<Syn::Call>(&s->node)) {
      arguments += call->arguments.size();
      s = call->function;
      continue;
    }
    const Thunk whole{argument.syntax, argument.scope};
    const auto* name = std::get_if<Syn::Name>(&s->node);
    if (!name) {
      const auto* typed = std::get_if<Syn::Typed>(&s->node);
      if (typed && solver_.resolve(typed->term.type()).is(Type::Kind::function)) return whole;
      return std::nullopt;
    }
    const auto b = meaningOf(*name, scope);
    if (!b) return std::nullopt;
    std::size_t parameters = 0;
    if (const Thunk* t = std::get_if<Thunk>(&*b)) {
      s = t->syntax;
      scope = t->scope;
      continue;
    }
    if (const Global* g = std::get_if<Global>(&*b)) {
      parameters = g->definition->parameters.size();
      if (parameters == 0) {
        s = g->definition->body;
        scope = Scope(g->home, g->definition);
        continue;
      }
    } else if (const Prim* prim = std::get_if<Prim>(&*b)) {
      parameters = *prim == Prim::tuple ? 2 : isVariadic(*prim) ? 1 : schemeOf(*prim).parameters.size();
    } else if (const Op* op = std::get_if<Op>(&*b)) {
      parameters = static_cast<std::size_t>(info(*op).arity);
    } else if (std::get_if<Scalar>(&*b)) {
      parameters = 1;
    } else if (const Expr* e = std::get_if<Expr>(&*b)) {
      parameters = solver_.resolve(e->type()).is(Type::Kind::function) ? 1 : 0;
    }
    if (arguments >= parameters) return std::nullopt;
    return arguments == 0 ? *b : Binding(whole);
  }
  return std::nullopt;
}

// A function of one value wants a callee that lacks several arguments: they are the components of the value.
Expr Inference::partial(const Binding& callee, std::size_t missing, const Scope& from, std::vector<Argument> arguments,
                        Type expected, Span span) {
  expected = solver_.resolve(expected);
  if (expected.is(Type::Kind::variable)) {
    if (isPoison(expected)) return poison(expected);
    const Type f = Type::function(solver_.freshType(), solver_.freshType());
    solver_.unify(expected, f, span);
    expected = f;
  }
  if (!expected.is(Type::Kind::function)) {
    report(span, fmt::format("expected {}, found a function: an argument is missing", show(expected)));
    return poison(expected);
  }
  const Expr x = Expr::variable("x", expected.parameter());
  const bool curried = solver_.resolve(expected.result()).is(Type::Kind::function);
  if (missing == 1 || curried) {
    arguments.push_back({{}, typedSyntax(x, span), {}});
  } else {
    const auto parts = componentsOf(x, missing);
    if (!parts) {
      if (!isPoison(x.type()))
        report(
            span,
            fmt::format("this function takes {} arguments, it is given one value of type {}", missing, show(x.type())),
            "several arguments are given as a tuple of as many components");
      return poison(expected);
    }
    for (const Expr part : *parts) arguments.push_back({{}, typedSyntax(part, span), {}});
  }
  return Expr::lambda(x, call(callee, from, std::move(arguments), expected.result(), span));
}

// The components of a tuple of `count`; nothing if the value is none. A value of unknown type becomes one.
std::optional<std::vector<Expr>> Inference::componentsOf(Expr value, std::size_t count) {
  Type type = solver_.resolve(value.type());
  if (type.is(Type::Kind::variable) && !isPoison(type)) {
    std::vector<Type> parts;
    for (std::size_t i = 0; i < count; i++) parts.push_back(solver_.freshType());
    solver_.unify(type, Type::tuple(parts), {});
    type = solver_.resolve(type);
  }
  if (!type.is(Type::Kind::tuple) || type.components().size() != count) return std::nullopt;
  std::vector<Expr> parts;
  for (std::size_t i = 0; i < count; i++) parts.push_back(componentOf(value, type, i));
  return parts;
}

std::optional<Expr> Inference::incomplete(const Binding& callee, std::size_t arity, const Scope& from,
                                          std::vector<Argument>& arguments, std::optional<Type> expected, Span span) {
  if (arguments.size() >= arity) return std::nullopt;
  const std::size_t missing = arity - arguments.size();
  const bool wanted = expected && solver_.resolve(*expected).is(Type::Kind::function);
  if (!wanted && !arguments.empty() && arguments.back().name.empty() && !isFunction(arguments.back())) {
    // f((a, b)) is f(a, b).
    const Argument last = arguments.back();
    if (const auto* tuple = std::get_if<Syn::Tuple>(&last.syntax->node)) {
      if (tuple->components.size() == missing + 1) {
        arguments.pop_back();
        for (const SynPtr& c : tuple->components) arguments.push_back({{}, c, last.scope});
        return std::nullopt;
      }
    } else {
      const Expr value = infer(last.syntax, last.scope);
      if (isPoison(value.type())) return poison(expected);
      const Type type = solver_.resolve(value.type());
      if (type.is(Type::Kind::tuple) && type.components().size() == missing + 1) {
        const Expr p = onlyMovesData(value) ? value : Expr::variable("p", value.type());
        arguments.pop_back();
        const std::vector<Expr> parts = *componentsOf(p, missing + 1);
        for (const Expr part : parts) arguments.push_back({{}, typedSyntax(part, last.syntax->span), {}});
        const Expr result = call(callee, from, std::move(arguments), expected, span);
        if (p == value) return result;
        single_.insert(p);
        return build::let(p, value, result);
      }
    }
  }
  return partial(callee, missing, from, std::move(arguments), expected.value_or(solver_.freshType()), span);
}

std::optional<std::vector<const Argument*>> Inference::slotsOf(const std::string& callee,
                                                               const std::vector<Definition::Parameter>& parameters,
                                                               const std::vector<Argument>& arguments,
                                                               const std::string& hint) {
  std::vector<const Argument*> slots(parameters.size(), nullptr);
  for (const Argument& a : arguments) {
    if (a.name.empty()) continue;
    std::size_t i = 0;
    while (i < slots.size() && parameters[i].name != a.name) i++;
    if (i == slots.size() || slots[i]) {
      report(a.syntax->span,
             i == slots.size() ? fmt::format("{} has no parameter named '{}'", callee, a.name)
                               : fmt::format("parameter '{}' of {} is given twice", a.name, callee),
             hint);
      return std::nullopt;
    }
    slots[i] = &a;
  }
  std::size_t next = 0;
  for (const Argument& a : arguments) {
    if (!a.name.empty()) continue;
    while (slots[next]) next++;
    slots[next] = &a;
  }
  return slots;
}

Expr Inference::expand(const Global& global, const Scope& from, std::vector<Argument> arguments,
                       std::optional<Type> expected, Span span) {
  const Definition& def = *global.definition;
  const std::size_t arity = def.parameters.size();
  for (std::size_t i = arguments.size(); i < arity; i++)
    if (const auto& p = def.parameters[i]; p.type && std::holds_alternative<SynType::Nat>(p.type->node)) {
      report(span, fmt::format("'{}' needs its size '{}'", def.name, p.name), signatureOf(def));
      return poison(expected);
    }
  if (const auto done = incomplete(global, arity, from, arguments, expected, span)) return *done;
  if (arity > 0 && def.parameters.back().isRest && arguments.size() > arity) {
    const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(arity) - 1;
    const Expr all = tuple({first, arguments.end()}, {}, span);
    arguments.erase(first, arguments.end());
    arguments.push_back({{}, typedSyntax(all, span), {}});
  }
  std::vector<Argument> rest(arguments.begin() + static_cast<std::ptrdiff_t>(arity), arguments.end());
  arguments.resize(arity);
  const auto places = slotsOf(fmt::format("'{}'", def.name), def.parameters, arguments, signatureOf(def));
  if (!places) return poison(expected);
  const auto& slots = *places;

  // Sizes first, then the names that the parameter types introduce, then data, then functions.
  Scope scope = enter(global, from, span);
  TypeNames names;
  std::vector<std::pair<std::string, Span>> free;
  for (std::size_t i = 0; i < arity; i++) {
    const auto& p = def.parameters[i];
    if (p.type && std::holds_alternative<SynType::Nat>(p.type->node))
      scope = scope.with(p.name, sizeOf(slots[i]->syntax, slots[i]->scope));
  }
  for (const auto& p : def.parameters)
    if (p.type && !std::holds_alternative<SynType::Nat>(p.type->node)) freeSizes(*p.type, scope, free);
  if (def.result) freeSizes(*def.result, scope, free);
  for (const auto& [name, where] : free) scope = scope.with(name, solver_.freshNat(name));
  for (std::size_t i = 0; i < arity; i++) {
    const auto& p = def.parameters[i];
    const auto* nat = p.type ? std::get_if<SynType::Nat>(&p.type->node) : nullptr;
    if (!nat || !nat->low) continue;
    const auto [low, high] = rangeIn(*nat, p.name, scope);
    const Nat value = std::get<Nat>(*scope.find(p.name));
    const std::string subject = fmt::format("argument '{}' of {}", p.name, def.name);
    const Span where = slots[i]->syntax->span;
    conditions_.push_back({SizeCondition::Kind::lessEqual, low, value, where, place(where), subject, {}});
    if (high) conditions_.push_back({SizeCondition::Kind::lessEqual, value, *high, where, place(where), subject, {}});
  }
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

  std::vector<Binding> given;
  for (std::size_t i = 0; i < arity; i++) {
    const auto& p = def.parameters[i];
    if (p.type && std::holds_alternative<SynType::Nat>(p.type->node)) {
      given.push_back(solver_.zonk(std::get<Nat>(*scope.find(p.name))));
    } else if (auto f = asFunction(*slots[i])) {
      given.push_back(std::move(*f));
    } else {
      const Expr value = infer(slots[i]->syntax, slots[i]->scope);
      if (p.type && !expect(value.type(), typeOf(p.type, scope, names), slots[i]->syntax->span,
                            fmt::format("argument '{}' of {}", p.name, def.name)))
        return poison(expected);
      given.push_back(value);
    }
  }
  if (rest.empty())
    if (const auto known = instanceOf(&def, given, expected)) return finish(*known, expected, span);

  // A value that is mere rearrangement is bound as it is, another by a variable.
  std::vector<std::pair<Expr, Expr>> bound;
  for (std::size_t i = 0; i < arity; i++) {
    Binding argument = given[i];
    if (const Expr* value = std::get_if<Expr>(&argument); value && !onlyMovesData(*value)) {
      bound.emplace_back(Expr::variable(def.parameters[i].name, value->type()), *value);
      argument = bound.back().first;
    }
    scope = scope.with(def.parameters[i].name, std::move(argument));
  }

  ++expanded_[&def];
  std::vector<Span> written;
  for (const Argument* a : slots) written.push_back(a->syntax->span);
  expansions_.push_back({span, &def, std::move(written)});
  std::optional<Type> result;
  if (rest.empty()) result = expected;
  if (def.result) {
    const Type declared = typeOf(def.result, scope, names);
    if (result) expect(declared, *result, span);
    result = declared;
  }
  const bool isWhole = rest.empty();
  Expr body = isWhole ? infer(def.body, scope, result) : inferCall(def.body, scope, std::move(rest), expected, span);
  expansions_.pop_back();
  for (auto b = bound.rbegin(); b != bound.rend(); ++b) {
    single_.insert(b->first);
    body = build::let(b->first, b->second, body);
  }
  if (isWhole) remember(&def, std::move(given), body);
  return body;
}

// ----------------------------------------------------------------------------------------------------------- sharing

std::vector<const void*> Inference::identity(const void* code, const std::vector<Binding>& arguments) {
  std::vector<const void*> id{code};
  for (const Binding& b : arguments) {
    if (const Expr* e = std::get_if<Expr>(&b)) id.push_back(e->node());
    if (const Nat* n = std::get_if<Nat>(&b)) id.push_back(n->node());
    if (const Global* g = std::get_if<Global>(&b)) id.push_back(g->definition);
    if (const Prim* p = std::get_if<Prim>(&b)) id.push_back(&info(*p));
    if (const Op* o = std::get_if<Op>(&b)) id.push_back(&info(*o));
    if (const Scalar* s = std::get_if<Scalar>(&b)) id.push_back(&info(*s));
    if (const Thunk* t = std::get_if<Thunk>(&b)) id.insert(id.end(), {t->syntax.get(), t->scope.innermost()});
  }
  return id;
}

// A term is the same for every use of the arguments when they determine its type: nothing is left in it that one use
// could decide otherwise than another. Else it is when the type is just the one that is wanted.
std::optional<Expr> Inference::instanceOf(const void* code, const std::vector<Binding>& arguments,
                                          std::optional<Type> expected) {
  const auto found = instances_.find(identity(code, arguments));
  if (found == instances_.end()) return std::nullopt;
  std::unordered_set<std::uint64_t> types;
  std::set<NatVar> sizes;
  const auto collect = [&](Type t, bool isArgument) {
    bool known = true;
    solver_.zonk(t).substitute(
        [&](Nat n) {
          for (const NatVar v : n.variables())
            if (v.role() == NatVar::Role::meta) known = (isArgument ? sizes.insert(v).second : sizes.count(v)) && known;
          return n;
        },
        [&](Type v) {
          const std::uint64_t id = v.variableId();
          known = isPoison(v) || ((isArgument ? types.insert(id).second : types.count(id) > 0) && known);
          return v;
        });
    return known;
  };
  for (const Binding& b : arguments)
    if (const Expr* e = std::get_if<Expr>(&b)) collect(e->type(), true);
  for (const Expanded& i : found->second)
    if (collect(i.term.type(), false) || (expected && solver_.zonk(i.term.type()) == solver_.zonk(*expected))) {
      shared_.insert(i.term);
      return i.term;
    }
  return std::nullopt;
}

bool Inference::callsDefinition(const Argument& argument) {
  const Syn* s = argument.syntax.get();
  while (const auto* call = std::get_if<Syn::Call>(&s->node)) s = call->function.get();
  const auto* name = std::get_if<Syn::Name>(&s->node);
  const auto b = name ? meaningOf(*name, argument.scope) : std::nullopt;
  return b && std::get_if<Global>(&*b);
}

void Inference::remember(const void* code, std::vector<Binding> arguments, Expr term) {
  auto id = identity(code, arguments);
  instances_[std::move(id)].push_back({std::move(arguments), term});
}

}  // namespace lift::detail
