// Inference: calls of definitions, each expanded for its arguments.
#include <fmt/format.h>

#include <set>

#include "inference.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "syntax_walk.hpp"

namespace lift::detail {

std::string signatureOf(const Definition& def) {
  if (def.parameters.empty()) return {};
  const auto& last = def.parameters.back();
  const Span text = cover(def.span, last.type ? last.type->span : last.span);
  if (!text.file) return {};
  const std::string_view written = std::string_view(text.file->text).substr(text.begin);
  if (written.substr(0, def.name.size()) != def.name) return {};
  return fmt::format("it is defined as {})", written.substr(0, text.end - text.begin));
}

namespace {

// The pattern that takes apart the only parameter of a definition, if one does (syntax_parser.hpp).
const SynPattern* solePattern(const Definition& def) {
  if (def.parameters.size() != 1 || def.parameters[0].name.front() != '(') return nullptr;
  const auto* let = as<Syn::Let>(def.body);
  return let ? &let->pattern : nullptr;
}

bool isSame(Span a, Span b) { return a.file == b.file && a.begin == b.begin && a.end == b.end; }

bool isSize(const Definition::Parameter& p) { return p.type && is<SynType::Nat>(p.type); }

}  // namespace

// The components of a tuple of `count`; nothing if the value is none. A value of unknown type becomes one.
std::optional<std::vector<Expr>> Inference::componentsOf(Expr value, std::size_t count) {
  Type type = solver_.resolve(value.type());
  if (type.isVariable() && !isPoison(type)) {
    std::vector<Type> parts;
    for (std::size_t i = 0; i < count; i++) parts.push_back(solver_.freshType());
    solver_.unify(type, Type::tuple(parts), {});
    type = solver_.resolve(type);
  }
  if (!type.isTuple() || type.components().size() != count) return std::nullopt;
  std::vector<Expr> parts;
  for (std::size_t i = 0; i < count; i++) parts.push_back(componentOf(value, type, i));
  return parts;
}

std::optional<Expr> Inference::incomplete(const Binding& callee, std::size_t arity, const Scope& from,
                                          std::vector<Argument>& arguments, std::optional<Type> expected, Span span) {
  if (arguments.size() >= arity) return std::nullopt;
  const std::size_t missing = arity - arguments.size();
  const bool wanted = expected && solver_.resolve(*expected).isFunction();
  if (!wanted && !arguments.empty() && arguments.back().name.empty() && !isFunction(arguments.back())) {
    // f((a, b)) is f(a, b).
    const Argument last = arguments.back();
    if (const auto* tuple = as<Syn::Tuple>(last.syntax)) {
      if (tuple->components.size() == missing + 1) {
        arguments.pop_back();
        for (const SynPtr& c : tuple->components) arguments.push_back({{}, c, last.scope});
        return std::nullopt;
      }
    } else {
      const Expr value = infer(last.syntax, last.scope);
      if (isPoison(value.type())) return poison(expected);
      const Type type = solver_.resolve(value.type());
      if (type.isTuple() && type.components().size() == missing + 1) {
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

bool Inference::givesSizes(const Definition& def, const std::vector<Argument>& arguments, Span span) {
  for (std::size_t i = arguments.size(); i < def.parameters.size(); i++)
    if (const auto& p = def.parameters[i]; isSize(p)) {
      report(span, fmt::format("'{}' needs its size '{}'", def.name, p.name), signatureOf(def));
      return false;
    }
  return true;
}

Scope Inference::bindSizes(const Definition& def, const std::vector<const Argument*>& slots, Scope scope) {
  for (std::size_t i = 0; i < slots.size(); i++)
    if (const auto& p = def.parameters[i]; isSize(p))
      scope = scope.with(p.name, sizeOf(slots[i]->syntax, slots[i]->scope));
  std::vector<std::pair<std::string, Span>> free;
  for (const auto& p : def.parameters)
    if (p.type && !isSize(p)) freeSizes(*p.type, scope, free);
  if (def.result) freeSizes(*def.result, scope, free);
  for (const auto& [name, where] : free) scope = scope.with(name, Solver::freshSize(name));
  for (std::size_t i = 0; i < slots.size(); i++) {
    const auto& p = def.parameters[i];
    const auto* nat = p.type ? as<SynType::Nat>(p.type) : nullptr;
    if (!nat || !nat->low) continue;
    const auto [low, high] = rangeIn(*nat, p.name, scope);
    const Nat value = std::get<Nat>(*scope.find(p.name));
    const std::string subject = fmt::format("argument '{}' of {}", p.name, def.name);
    const Span where = slots[i]->syntax->span;
    conditions_.push_back({SizeCondition::Kind::lessEqual, low, value, where, place(where), subject, {}});
    if (high) conditions_.push_back({SizeCondition::Kind::lessEqual, value, *high, where, place(where), subject, {}});
  }
  return scope;
}

void Inference::freeTypes(const SynTypePtr& type, TypeNames& names) {
  if (!type) return;
  forEachName(
      *type, [](const Syn&) {}, [&](const std::string& name) { names.types.emplace(name, solver_.freshType(name)); });
}

std::optional<std::vector<Binding>> Inference::given(const Definition& def, const std::vector<const Argument*>& slots,
                                                     const Scope& scope, TypeNames& names) {
  std::vector<Binding> values;
  for (std::size_t i = 0; i < slots.size(); i++) {
    const auto& p = def.parameters[i];
    if (isSize(p)) {
      values.push_back(solver_.zonk(std::get<Nat>(*scope.find(p.name))));
    } else if (auto f = asFunction(*slots[i])) {
      values.push_back(std::move(*f));
    } else {
      const Expr value = infer(slots[i]->syntax, slots[i]->scope);
      if (p.type && !expect(value.type(), typeOf(p.type, scope, names), slots[i]->syntax->span,
                            fmt::format("argument '{}' of {}", p.name, def.name)))
        return std::nullopt;
      values.push_back(bindingOf(value, slots[i]->syntax->span));
    }
  }
  return values;
}

// Sizes first, then the names that the parameter types introduce, then data, then functions.
Expr Inference::expand(const Global& global, const Scope& from, std::vector<Argument> arguments,
                       std::optional<Type> expected, Span span) {
  const Definition& def = *global.definition;
  const std::size_t arity = def.parameters.size();
  if (!givesSizes(def, arguments, span)) return poison(expected);
  if (const auto done = incomplete(global, arity, from, arguments, expected, span)) return *done;
  if (arity > 0 && def.parameters.back().isRest && arguments.size() > arity) {
    const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(arity) - 1;
    const Expr all = tuple({first, arguments.end()}, {}, span);
    arguments.erase(first, arguments.end());
    arguments.push_back({{}, typedSyntax(all, span), {}});
  }
  // def f((a, b)) = … takes f(a, b), too.
  const SynPattern* pattern = solePattern(def);
  if (pattern && arguments.size() == pattern->components.size()) {
    const auto parts =
        slotsOf(fmt::format("'{}'", def.name), parametersOf(pattern->components), arguments, signatureOf(def));
    if (!parts) return poison(expected);
    std::vector<Argument> inOrder;
    for (const Argument* a : *parts) {
      if (isFunction(*a)) {
        report(a->syntax->span, fmt::format("'{}' takes a tuple of values, this is a function", def.name));
        return poison(expected);
      }
      inOrder.push_back(*a);
    }
    arguments = {{{}, typedSyntax(tuple(inOrder, {}, span), span), {}}};
  }
  // What the definition's result is applied to, where that is a function.
  std::vector<Argument> rest(arguments.begin() + static_cast<std::ptrdiff_t>(arity), arguments.end());
  arguments.resize(arity);
  const auto slots = slotsOf(fmt::format("'{}'", def.name), def.parameters, arguments, signatureOf(def));
  if (!slots) return poison(expected);

  const Scope scope = bindSizes(def, *slots, enter(global, from, span));
  TypeNames names;
  for (const auto& p : def.parameters) freeTypes(p.type, names);
  freeTypes(def.result, names);
  auto values = given(def, *slots, scope, names);
  if (!values) return poison(expected);
  if (!rest.empty()) return expandBody(def, *slots, *values, scope, names, std::move(rest), expected, span);
  if (const auto known = instanceOf(&def, *values, expected)) return finish(*known, expected, span);
  const Expr body = expandBody(def, *slots, *values, scope, names, {}, expected, span);
  remember(&def, std::move(*values), body);
  return body;
}

Expr Inference::expandBody(const Definition& def, const std::vector<const Argument*>& slots,
                           const std::vector<Binding>& values, Scope scope, TypeNames& names,
                           std::vector<Argument> rest, std::optional<Type> expected, Span span) {
  // A value that is mere rearrangement is bound as it is, another by a variable.
  std::vector<std::pair<Expr, Expr>> bound;
  for (std::size_t i = 0; i < values.size(); i++) {
    Binding argument = values[i];
    if (const Expr* value = std::get_if<Expr>(&argument); value && !onlyMovesData(*value)) {
      bound.emplace_back(Expr::variable(def.parameters[i].name, value->type()), *value);
      argument = bound.back().first;
    }
    scope = scope.with(def.parameters[i].name, std::move(argument));
  }

  ++expanded_[&def];
  std::vector<Span> written;
  for (const Argument* a : slots) written.push_back(a->syntax->span);
  expansions_.push_back({span, &def, std::move(written), rest.size()});
  std::optional<Type> result;
  if (rest.empty()) result = expected;
  if (def.result) {
    const Type declared = typeOf(def.result, scope, names);
    if (result) expect(declared, *result, span);
    result = declared;
  }
  const Expr body =
      rest.empty() ? infer(def.body, scope, result) : inferCall(def.body, scope, std::move(rest), expected, span);
  expansions_.pop_back();
  for (const auto& [name, value] : bound) single_.insert(name);
  return build::let(bound, body);
}

bool Inference::reportsSurplus(std::size_t surplus, Span call) {
  const auto passesOn = [&](const Expansion& e) { return surplus > 0 && e.surplus == surplus && isSame(e.call, call); };
  const Definition* def = nullptr;
  for (auto e = expansions_.rbegin(); e != expansions_.rend() && passesOn(*e); ++e) def = e->definition;
  if (def == nullptr) return false;
  const std::size_t takes = def->parameters.size();
  report(call,
         fmt::format("'{}' takes {} argument{}, found {}", def->name, takes, takes == 1 ? "" : "s", takes + surplus),
         signatureOf(*def));
  return true;
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
  while (const auto* call = as<Syn::Call>(s)) s = call->function.get();
  const auto* name = as<Syn::Name>(s);
  const auto b = name ? meaningOf(*name, argument.scope) : std::nullopt;
  return b && std::get_if<Global>(&*b);
}

void Inference::remember(const void* code, std::vector<Binding> arguments, Expr term) {
  auto id = identity(code, arguments);
  instances_[std::move(id)].push_back({std::move(arguments), term});
}

}  // namespace lift::detail
