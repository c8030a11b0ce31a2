#include "lift/dsl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/text.hpp"

namespace lift::dsl {
namespace {

struct Lines {
  const SourceFile* file = nullptr;
  std::vector<std::uint32_t> starts;
};

Lines linesOf(const SourceFile* file) {
  Lines lines{file, {0}};
  for (std::uint32_t i = 0; i < file->text.size(); ++i)
    if (file->text[i] == '\n') lines.starts.push_back(i + 1);
  return lines;
}

SynPtr make(Span span, decltype(Syn::node) node) { return std::make_shared<const Syn>(Syn{span, std::move(node)}); }
SynTypePtr makeType(Span span, decltype(SynType::node) node) {
  return std::make_shared<const SynType>(SynType{span, std::move(node)});
}
SynPtr makeName(Span span, std::string text) { return make(span, Syn::Name{std::move(text)}); }
// What C++ itself names: no definition of the program hides it.
SynPtr makeOperator(Span span, std::string text) { return make(span, Syn::Name{std::move(text), true}); }

E makeCall(Span span, SynPtr function, std::initializer_list<const At*> arguments) {
  Syn::Call call{std::move(function), {}};
  for (const At* a : arguments)
    if (a->given()) call.arguments.push_back({a->name(), a->syntax()});
  return E(make(span, std::move(call)));
}

// Lambdas under construction on this thread. A parameter is named by its level, so that it differs from those around
// it and the same program is always built with the same names.
thread_local int level = 0;

std::pair<SynPattern, E> underParameters(int count, const std::function<E(const std::vector<E>&)>& body, Where where) {
  struct Level {
    explicit Level(int by) : by(by) { level += by; }
    ~Level() { level -= by; }
    int by;
  };
  const Span span = spanOf(where);
  std::vector<SynPattern> names;
  std::vector<E> values;
  const Level inside(count);
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("x'{}", level - count + i + 1);
    names.push_back({span, name, {}, nullptr});
    values.push_back(E(makeName(span, name)));
  }
  SynPattern pattern = names.front();
  if (count > 1) pattern = {span, {}, std::move(names), nullptr};
  return {std::move(pattern), body(values)};
}

}  // namespace

Span spanOf(Where where) {
  if (where.line <= 0) return {};
  static std::mutex mutex;
  static std::map<std::string, Lines, std::less<>> files;
  const std::lock_guard lock(mutex);
  auto found = files.find(std::string_view(where.file));
  if (found == files.end()) {
    found = files.emplace(where.file, linesOf(addSource(where.file, readFile(where.file).value_or("")))).first;
  }
  // Without the file, or with another version of it, a text of empty lines still gives the line number.
  const auto line = static_cast<std::size_t>(where.line);
  if (line > found->second.starts.size())
    found->second = linesOf(addSource(where.file, std::string(std::max<std::size_t>(2 * line, 1000), '\n')));
  const Lines& lines = found->second;
  const std::string& text = lines.file->text;
  std::uint32_t begin = lines.starts[line - 1];
  std::uint32_t end = line < lines.starts.size() ? lines.starts[line] - 1 : static_cast<std::uint32_t>(text.size());
  const auto blank = [&](std::uint32_t i) { return text[i] == ' ' || text[i] == '\t' || text[i] == '\r'; };
  while (begin < end && blank(begin)) ++begin;
  while (end > begin && blank(end - 1)) --end;
  return {lines.file, begin, end};
}

At arg(std::string name, At value) {
  value.name_ = std::move(name);
  return value;
}

// --- Expressions ----------------------------------------------------------------------------------------------------

E E::integer(std::int64_t value, Where where) { return E(make(spanOf(where), Syn::Integer{value})); }
E E::boolean(bool value, Where where) { return E(make(spanOf(where), Syn::Boolean{value})); }
E::E(double value, Where where) : syntax_(make(spanOf(where), Syn::Real{value, std::nullopt})) {}
E::E(float value, Where where) : syntax_(make(spanOf(where), Syn::Real{value, Scalar::f32})) {}
E::E(Nat size, Where where) : syntax_(make(spanOf(where), Syn::Size{size})) {}
E::E(Expr term, Where where) : syntax_(make(spanOf(where), Syn::Typed{term})) {}
E::E(Named name, Where where) : syntax_(makeOperator(spanOf(where), name.name())) {}
E::E(ScalarType conversion, Where where)
    : syntax_(makeOperator(spanOf(where), std::string(info(conversion.scalar()).name))) {}

E E::operator()(At a, At b, At c, At d, At e, At f, At g, At h) const {
  return makeCall(a.span(), syntax_, {&a, &b, &c, &d, &e, &f, &g, &h});
}
E Named::operator()(At a, At b, At c, At d, At e, At f, At g, At h) const {
  return makeCall(a.span(), makeOperator(a.span(), name_), {&a, &b, &c, &d, &e, &f, &g, &h});
}
E ScalarType::operator()(At value) const {
  return makeCall(value.span(), makeOperator(value.span(), std::string(info(scalar_).name)), {&value});
}
E call(std::string function, At a, At b, At c, At d, At e, At f, At g, At h, Where where) {
  const Span span = spanOf(where);
  return makeCall(span, makeName(span, std::move(function)), {&a, &b, &c, &d, &e, &f, &g, &h});
}

E E::operator[](At index) const { return E(make(index.span(), Syn::Subscript{syntax_, index.syntax()})); }
E E::get(int component, Where where) const { return E(make(spanOf(where), Syn::Project{syntax_, component})); }
E E::as(const T& type, Where where) const { return E(make(spanOf(where), Syn::Ascribe{syntax_, type.syntax()})); }

E operator|(At in, At function) { return makeCall(function.span(), function.syntax(), {&in}); }

namespace detail {

E operation(const char* name, const At& a, const At& b, const At& c) {
  return makeCall(a.span(), makeOperator(a.span(), name), {&a, &b, &c});
}

E lambda(int parameters, const std::function<E(const std::vector<E>&)>& body, Where where) {
  auto [pattern, result] = underParameters(parameters, body, where);
  return E(make(spanOf(where), Syn::Fun{std::move(pattern), result.syntax()}));
}

E bind(const SynPtr& value, int parameters, const std::function<E(const std::vector<E>&)>& body, Where where) {
  auto [pattern, result] = underParameters(parameters, body, where);
  return E(make(spanOf(where), Syn::Let{std::move(pattern), value, result.syntax()}));
}

}  // namespace detail

E name(std::string text, Where where) { return E(makeName(spanOf(where), std::move(text))); }

E arrayOf(std::initializer_list<At> elements, Where where) {
  Syn::Array form;
  for (const At& x : elements) form.elements.push_back(x.syntax());
  return E(make(spanOf(where), std::move(form)));
}

E tuple(At a, At b, At c, At d, At e, At f, At g, At h) {
  Syn::Tuple components;
  for (const At* x : {&a, &b, &c, &d, &e, &f, &g, &h})
    if (x->given()) components.components.push_back(x->syntax());
  return E(make(a.span(), std::move(components)));
}

// --- Types ----------------------------------------------------------------------------------------------------------

namespace {

SynTypePtr syntaxOf(Type type, Span span) {
  const auto size = [&](Nat n) { return make(span, Syn::Size{n}); };
  switch (type.kind()) {
    case Type::Kind::scalar: return makeType(span, SynType::ScalarName{type.scalar()});
    case Type::Kind::vector:
      return makeType(span, SynType::Vector{size(type.length()), syntaxOf(type.element(), span)});
    case Type::Kind::array: return makeType(span, SynType::Array{size(type.length()), syntaxOf(type.element(), span)});
    case Type::Kind::tuple: {
      SynType::Tuple tuple;
      for (const Type component : type.components()) tuple.components.push_back(syntaxOf(component, span));
      return makeType(span, std::move(tuple));
    }
    case Type::Kind::function:
      return makeType(span, SynType::Function{syntaxOf(type.parameter(), span), syntaxOf(type.result(), span)});
    case Type::Kind::variable: break;
  }
  throw InternalError("a type variable has no syntax");
}

}  // namespace

T::T(ScalarType scalar, Where where) : syntax_(makeType(spanOf(where), SynType::ScalarName{scalar.scalar()})) {}
T::T(Type type, Where where) : syntax_(syntaxOf(type, spanOf(where))) {}

T array(At length, const T& element) {
  return T(makeType(length.span(), SynType::Array{length.syntax(), element.syntax()}));
}
T array(At rows, At columns, const T& element) { return array(std::move(rows), array(std::move(columns), element)); }
T array(At planes, At rows, At columns, const T& element) {
  return array(std::move(planes), array(std::move(rows), std::move(columns), element));
}
T array(At outermost, At planes, At rows, At columns, const T& element) {
  return array(std::move(outermost), array(std::move(planes), std::move(rows), std::move(columns), element));
}
T vec(At width, const T& element) {
  return T(makeType(width.span(), SynType::Vector{width.syntax(), element.syntax()}));
}
T tuple(std::vector<T> components, Where where) {
  SynType::Tuple tuple;
  for (const T& component : components) tuple.components.push_back(component.syntax());
  return T(makeType(spanOf(where), std::move(tuple)));
}
T function(const T& parameter, const T& result, Where where) {
  return T(makeType(spanOf(where), SynType::Function{parameter.syntax(), result.syntax()}));
}
T typeVariable(std::string name, Where where) { return T(makeType(spanOf(where), SynType::Name{std::move(name)})); }

// --- Programs -------------------------------------------------------------------------------------------------------

Parameter::Parameter(std::string name, T type, Where where)
    : name(std::move(name)), type(type.syntax()), where(where) {}
Parameter::Parameter(std::string name, Where where) : name(std::move(name)), where(where) {}

Parameter nat(std::string name, Where where) {
  return {std::move(name), T(makeType(spanOf(where), SynType::Nat{})), where};
}

Parameter nat(std::string name, E low, E high, Where where) {
  return {std::move(name), T(makeType(spanOf(where), SynType::Nat{low.syntax(), high.syntax()})), where};
}

Tunable tune(std::string name, E low, E high, Where where) {
  return {std::move(name), std::move(low), std::move(high), where};
}

namespace detail {

Definition definition(std::string name, std::vector<Parameter> parameters, int expected,
                      const std::function<E(const std::vector<E>&)>& body, const T* result, Where where) {
  const Span span = spanOf(where);
  if (static_cast<std::size_t>(expected) != parameters.size())
    throw UserError(ExitStatus::program,
                    fmt::format("'{}' has {} parameter{}, its body takes {}", name, parameters.size(),
                                parameters.size() == 1 ? "" : "s", expected),
                    {}, span);
  std::vector<E> values;
  Definition definition{span, std::move(name), {}, result ? result->syntax() : nullptr, nullptr};
  for (Parameter& p : parameters) {
    const Span place = spanOf(p.where);
    values.push_back(E(makeName(place, p.name)));
    definition.parameters.push_back({place, std::move(p.name), std::move(p.type), false});
  }
  definition.body = body(values).syntax();
  return definition;
}

}  // namespace detail

Program program(std::vector<Definition> definitions, const std::vector<Tunable>& tunables) {
  ensure(!definitions.empty(), "a program has a definition");
  Module module{std::move(definitions), {}};
  for (const Tunable& t : tunables)
    module.tunables.push_back({spanOf(t.where), t.name, t.low.syntax(), t.high.syntax()});
  return infer(module, prelude(), module.definitions.back().name);
}

}  // namespace lift::dsl
