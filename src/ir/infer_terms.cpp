// Inference: terms, calls, lambdas.
#include <fmt/format.h>
#include <algorithm>

#include "inference.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"

namespace lift::detail {

// ------------------------------------------------------------------------------------------------------------ terms

Expr Inference::finish(Expr e, std::optional<Type> expected, Span span) {
  if (expected) expect(e.type(), *expected, span);
  return e;
}

Expr Inference::literal(ScalarValue value, TypeClass kind, std::optional<Type> expected, Span span) {
  if (expected && !solver_.fits(*expected, kind)) {
    report(span, fmt::format("expected {}, found {}", show(*expected), describe(kind)),
           hintOfLiteral(kind, solver_.resolve(*expected)));
    return poison(expected);
  }
  const Expr placeholder = Expr::variable("literal", solver_.freshType());
  solver_.require(placeholder.type(), kind, span);
  literals_.push_back({placeholder, value, place(span), {}});
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
  Expr e = Expr::nat(0);
  try {
    e = inferNode(syntax, scope, expected);
  } catch (const UserError& error) {  // of arithmetic of sizes, which knows no places
    const Diagnostic& told = error.diagnostics().front();
    if (told.span || !syntax->span) throw;
    throw UserError(error.status(), told.message, told.hint, place(syntax->span));
  }
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
  if (t.isScalar() || t.isVariable()) return 1;
  const auto [known, isNew] = parts_.emplace(t, 1);
  if (!isNew) return known->second;
  std::size_t count = 1;
  if (t.isTuple()) {
    for (const Type c : t.components()) count += partsOf(c);
  } else if (t.isFunction()) {
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
  if (const auto* s = std::get_if<Syn::Integer>(&node)) {
    if (s->type) return finish(Expr::literal(ScalarValue::ofInteger(*s->type, s->value)), expected, span);
    return literal(ScalarValue::ofInteger(Scalar::i64, s->value), TypeClass::integerLiteral, expected, span);
  }
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
    if (is<SynType::Nat>(s->type)) return finish(Expr::nat(sizeOf(s->value, scope)), expected, span);
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
  while (const auto* call = as<Syn::Call>(head)) {
    std::vector<Argument> inner;
    for (const auto& a : call->arguments) inner.push_back({a.name, a.value, scope});
    arguments.insert(arguments.begin(), inner.begin(), inner.end());
    head = call->function;
  }
  if (const auto* fun = as<Syn::Fun>(head); fun && !arguments.empty())
    return callFun({head, scope}, *fun, "this function", std::move(arguments), expected, span);
  const auto* named = as<Syn::Name>(head);
  if (!named) {
    if (arguments.empty()) return infer(head, scope, expected);
    return applyValue(infer(head, scope), arguments, expected, head->span, {}, span);
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
    if (const auto* fun = as<Syn::Fun>(t->syntax); fun && !arguments.empty())
      return callFun(*t, *fun, fmt::format("'{}'", name), std::move(arguments), expected, span);
    return inferCall(t->syntax, t->scope, std::move(arguments), expected, span);
  }
  if (const Expr* e = std::get_if<Expr>(&*binding)) return applyValue(*e, arguments, expected, head->span, name, span);
  if (const Nat* n = std::get_if<Nat>(&*binding))
    return applyValue(Expr::nat(*n), arguments, expected, head->span, name, span);
  if (const auto* end = std::get_if<ScalarValue::Extreme>(&*binding))
    return applyValue(extreme(*end, arguments.empty() ? expected : std::nullopt, span), arguments, expected, head->span,
                      name, span);
  return call(*binding, scope, std::move(arguments), expected, span);
}

// f(a, b) of fun (x, y) => … is f((a, b)), and its arguments may be functions, as those of definitions.
Expr Inference::callFun(const Thunk& thunk, const Syn::Fun& fun, const std::string& callee,
                        std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const auto& components = fun.parameter.components;
  const std::string takes = fmt::format("it is fun {} => …", written(fun.parameter.span, nameOf(fun.parameter)));
  const bool isOne = arguments.size() == 1 && (components.empty() || arguments.front().name.empty());
  if (!isOne && arguments.size() != components.size()) {
    const std::string wanted = components.empty() ? "one argument" : fmt::format("{} arguments", components.size());
    report(span, fmt::format("{} takes {}, found {}", callee, wanted, arguments.size()),
           components.empty() ? "several values are one tuple: f((x, y)), taken apart by fun (a, b) => …" : takes);
    return poison(expected);
  }
  const auto parameters = parametersOf(isOne ? std::vector{fun.parameter} : components);
  const auto slots = slotsOf(callee, parameters, arguments, takes);
  if (!slots) return poison(expected);
  if (isOne && isFunction(arguments.front()))
    return let(fun.parameter, arguments.front(), fun.body, thunk.scope, expected);

  std::vector<Binding> key{thunk};
  for (const Argument* a : *slots) {
    if (auto f = asFunction(*a)) {
      key.push_back(std::move(*f));
      continue;
    }
    const Expr value = infer(a->syntax, a->scope);
    if (isPoison(value.type())) return poison(expected);
    key.push_back(bindingOf(value, a->syntax->span));
  }
  if (isOne && !components.empty() && std::get_if<Expr>(&key[1]) &&
      !componentsOf(std::get<Expr>(key[1]), components.size())) {
    report(arguments.front().syntax->span,
           fmt::format("{} takes {} arguments, or a tuple of them; found {}", callee, components.size(),
                       show(std::get<Expr>(key[1]).type())),
           takes);
    return poison(expected);
  }
  if (const auto known = instanceOf(nullptr, key, expected)) return finish(*known, expected, span);
  Scope scope = thunk.scope;
  std::vector<std::pair<Expr, Expr>> bound;
  for (std::size_t i = 0; i < slots->size(); i++) {
    const SynPattern& pattern = isOne ? fun.parameter : components[i];
    if (const Expr* value = std::get_if<Expr>(&key[i + 1])) {
      Expr name = *value;
      if (!value->isVariable()) {
        name = Expr::variable(nameOf(pattern), value->type());
        bound.emplace_back(name, *value);
      }
      scope = bindPattern(pattern, name, std::move(scope));
    } else if (pattern.components.empty()) {
      scope = scope.with(pattern.name, key[i + 1]);
    } else {
      report((*slots)[i]->syntax->span, fmt::format("{} takes a tuple here, found a function", callee), takes);
      return poison(expected);
    }
  }
  const Expr result = build::let(bound, infer(fun.body, scope, expected));
  remember(nullptr, std::move(key), result);
  return result;
}

// A value, called with arguments if there are any; `name` is empty unless it is written as a name.
Expr Inference::applyValue(Expr value, const std::vector<Argument>& arguments, std::optional<Type> expected, Span span,
                           const std::string& name, Span call) {
  for (const Argument& a : arguments) {
    const Type type = solver_.resolve(value.type());
    if (isPoison(type)) return poison(expected);
    if (!type.isFunction()) {
      if (reportsSurplus(arguments.size(), call)) return poison(expected);
      report(span,
             name.empty() ? fmt::format("a value of type {} cannot be called", show(type))
                          : fmt::format("'{}' is not a function", name),
             name.empty() ? "there is an argument too many" : "");
      return poison(expected);
    }
    if (!value.type().isFunction()) {  // the parameter of a function that was not known to be one
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
    if (type.isFunction()) {
      parameter = type.parameter();
      result = type.result();
    } else if (!type.isVariable()) {
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
  if (pattern.components.empty() && functionType(v.type()))
    return infer(body, scope.with(pattern.name, bindingOf(v, value.syntax->span)), expected);
  if (v.isVariable() || (as<Syn::Name>(value.syntax) && onlyMovesData(v)))
    return infer(body, bindPattern(pattern, v, scope), expected);  // another name
  const Expr variable = Expr::variable(nameOf(pattern), v.type());
  const Expr inner = infer(body, bindPattern(pattern, variable, scope), expected);
  return build::let(variable, v, inner);
}

Binding Inference::bindingOf(Expr value, Span span) const {
  if (functionType(value.type())) return Thunk{typedSyntax(value, span), {}};
  return value;
}

std::optional<Binding> Inference::asFunction(const Argument& argument) {
  SynPtr s = argument.syntax;
  Scope scope = argument.scope;
  std::size_t arguments = 0;
  for (int steps = 0; steps < maxAliases; steps++) {
    if (as<Syn::Fun>(s)) return arguments == 0 ? std::optional<Binding>(Thunk{s, scope}) : std::nullopt;
    if (const auto* call = as<Syn::Call>(s)) {
      arguments += call->arguments.size();
      s = call->function;
      continue;
    }
    const Thunk whole{argument.syntax, argument.scope};
    const auto* name = as<Syn::Name>(s);
    if (!name) {
      const auto* typed = as<Syn::Typed>(s);
      if (typed && solver_.resolve(typed->term.type()).isFunction()) return whole;
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
      parameters = solver_.resolve(e->type()).isFunction() ? 1 : 0;
    }
    const Global* g = std::get_if<Global>(&*b);
    if (g && arguments == parameters && as<Syn::Fun>(g->definition->body)) return whole;
    if (arguments >= parameters) return std::nullopt;
    if (arguments > 0) return whole;
    return g ? Binding(Global{g->definition, g->home, g->namedIn.value_or(scope.within())}) : *b;
  }
  return std::nullopt;
}

// A function of one value wants a callee that lacks several arguments: they are the components of the value.
Expr Inference::partial(const Binding& callee, std::size_t missing, const Scope& from, std::vector<Argument> arguments,
                        Type expected, Span span) {
  expected = solver_.resolve(expected);
  if (expected.isVariable()) {
    if (isPoison(expected)) return poison(expected);
    const Type f = Type::function(solver_.freshType(), solver_.freshType());
    solver_.unify(expected, f, span);
    expected = f;
  }
  if (!expected.isFunction()) {
    report(span, fmt::format("expected {}, found a function: an argument is missing", show(expected)));
    return poison(expected);
  }
  const Expr x = Expr::variable("x", expected.parameter());
  const bool curried = solver_.resolve(expected.result()).isFunction();
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

}  // namespace lift::detail
