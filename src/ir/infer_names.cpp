// Inference: messages, names, sizes, types and patterns.
#include <fmt/format.h>
#include <algorithm>

#include "inference.hpp"

namespace lift::detail {
namespace {

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

}  // namespace

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

Span Inference::place(Span span) const {
  if (expansions_.empty()) return span;
  const SourceFile* users = expansions_.front().call.file;
  for (auto e = expansions_.rbegin(); e != expansions_.rend() && span.file != users; ++e) span = e->call;
  return span;
}

bool Inference::expect(Type actual, Type expected, Span span, const std::string& what) {
  if (solver_.unify(actual, expected, span)) return true;
  const Type a = solver_.zonk(actual), e = solver_.zonk(expected);
  std::string hint;
  if (a.isScalar() && e.isScalar() && a != e) hint = fmt::format("convert with {}(…)", e.str());
  if (a.isScalar() && e.is(Type::Kind::vector)) hint = fmt::format("splat({}, …) makes a vector", e.length().str());
  if (a.is(Type::Kind::function) && !e.is(Type::Kind::function)) hint = "an argument is missing";
  report(span, fmt::format("{}expected {}, found {}", what.empty() ? "" : what + ": ", e.str(), a.str()), hint);
  return false;
}

// -------------------------------------------------------------------------------------------------- names and types

// A name inside the prelude means the prelude's definition, whatever the program defines.
const Definition* Inference::definition(const std::string& name, Span where) const {
  const bool inPrelude =
      where.file && !prelude_.definitions.empty() && where.file == prelude_.definitions.front().span.file;
  for (const Module* m : {&module_, &prelude_}) {
    if (inPrelude && m == &module_) continue;
    for (const Definition& d : m->definitions)
      if (d.name == name) return &d;
  }
  return nullptr;
}

std::string Inference::suggestion(const std::string& name, const ScopePtr& scope) const {
  if (name.size() > 60) return "`liftc primitives` lists the primitives";
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
      if (const Definition* d = definition(name->text, leaf.span); d && d->parameters.empty())
        return sizeOf(d->body, nullptr);
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
    if (!lookUp(scope, name->text) && !definition(name->text, size.span) &&
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
    TypeNames names = typeVariables_;
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

}  // namespace lift::detail
