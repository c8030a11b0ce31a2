// The parser: types, their aliases, and parameters.
#include "syntax_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "lift/scalar.hpp"
#include "syntax_walk.hpp"

namespace lift::syntax {
namespace {

// Types of other languages, which would otherwise read as type variables.
struct ForeignType {
  std::string_view name, ours;
};
constexpr ForeignType foreignTypes[] = {
    {"float", "f32"}, {"double", "f64"}, {"half", "f16"},   {"int", "i32"},    {"uint", "u32"},    {"long", "i64"},
    {"ulong", "u64"}, {"short", "i16"},  {"ushort", "u16"}, {"char", "i8"},    {"uchar", "u8"},    {"boolean", "bool"},
    {"Float", "f32"}, {"Int", "i32"},    {"Bool", "bool"},  {"Double", "f64"}, {"float32", "f32"}, {"int32", "i32"},
};

// "f32x4" as f32 and "4".
std::optional<std::pair<Scalar, std::string_view>> vectorNamed(std::string_view name) {
  const std::size_t x = name.rfind('x');
  if (x == std::string_view::npos || x + 1 == name.size()) return std::nullopt;
  const std::string_view width = name.substr(x + 1);
  if (width.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  if (const auto scalar = scalarNamed(name.substr(0, x))) return std::pair(*scalar, width);
  return std::nullopt;
}

}  // namespace

ParsedType Parser::type(Sorts sorts) {
  const Nesting nesting(*this);
  if (at(Tok::name) && sorts != Sorts::typesOnly && text(peek()) == "nat")
    return typeNode(spanOf(take()), 0, SynType::Nat{});
  if (at(Tok::name) && sorts == Sorts::natAndIndexToo && text(peek()) == "index")
    return typeNode(spanOf(take()), 0, SynType::Index{});
  ParsedType left = typePrefix();
  if (!accept(Tok::arrow)) return left;
  ParsedType right = type();
  const Span span = cover(left.type->span, right.type->span);
  const int below = std::max(left.height, right.height);
  return typeNode(span, below, SynType::Function{std::move(left.type), std::move(right.type)});
}

ParsedType Parser::typePrefix() {
  const Nesting nesting(*this);
  const Token first = peek();
  switch (first.kind) {
    case Tok::leftBracket: {
      take();
      ParsedExpr length = size();
      if (at(Tok::comma)) failHere("expected ']' to close the array length", "several dimensions are written [n][m]t");
      expectClosing(Tok::rightBracket, first, "the array length");
      ParsedType element = typePrefix();
      const Span span = cover(spanOf(first), element.type->span);
      const int below = std::max(length.height, element.height);
      return typeNode(span, below, SynType::Array{std::move(length.syn), std::move(element.type)});
    }
    case Tok::less: {
      take();
      ParsedExpr width = size();
      expectClosing(Tok::greater, first, "the vector width");
      ParsedType element = typePrefix();
      const Span span = cover(spanOf(first), element.type->span);
      const int below = std::max(width.height, element.height);
      return typeNode(span, below, SynType::Vector{std::move(width.syn), std::move(element.type)});
    }
    case Tok::leftParen: {
      take();
      if (at(Tok::rightParen)) failHere("expected a type", "there is no empty tuple");
      std::vector<SynTypePtr> components;
      ParsedType only;
      int below = 0;
      do {
        only = type();
        below = std::max(below, only.height);
        components.push_back(only.type);
      } while (accept(Tok::comma));
      const Token close = expectClosing(Tok::rightParen, first, components.size() > 1 ? "the tuple type" : "the type");
      if (components.size() == 1) return only;
      return typeNode(cover(spanOf(first), spanOf(close)), below, SynType::Tuple{std::move(components)});
    }
    case Tok::name: {
      ParsedType named = typeName();
      if (at(Tok::leftBracket)) failArraySuffix(first);
      if (at(Tok::less))
        fail(spanOf(first), fmt::format("there is no type '{}<…>'", text(first)), "arrays are written [n]f32");
      return named;
    }
    default: failHere("expected a type");
  }
}

// f32[h][w], as C writes [h][w]f32.
void Parser::failArraySuffix(const Token& element) {
  std::string lengths;
  std::uint32_t end = 0;
  for (std::size_t i = next_; tokens_[i].kind == Tok::leftBracket && closing_[i] != 0; i = closing_[i] + 1) {
    end = tokens_[closing_[i]].end;
    lengths += text(Span{&file_, tokens_[i].begin, end});
  }
  const std::string written = fmt::format("{}{}", lengths, text(element));
  fail(end ? Span{&file_, element.begin, end} : spanOf(peek()), "the lengths of an array stand before its elements",
       lengths.empty() || lengths.find("[]") != std::string::npos ? "arrays are written [n]f32"
                                                                  : fmt::format("write {}", written));
}

ParsedType Parser::typeName() {
  const Token token = take();
  const std::string_view name = text(token);
  const Span span = spanOf(token);
  if (const auto scalar = scalarNamed(name)) return typeNode(span, 0, SynType::ScalarName{*scalar});
  if (const auto vector = vectorNamed(name)) {
    const auto width = parseInteger(vector->second);
    if (!width || *width < 2 || *width > 1024)
      fail(span, fmt::format("a vector cannot have {} lanes", width ? fmt::to_string(*width) : "that many"));
    ParsedExpr lanes = node(span, 0, Syn::Integer{static_cast<std::int64_t>(*width)});
    ParsedType element = typeNode(span, 0, SynType::ScalarName{vector->first});
    return typeNode(span, 1, SynType::Vector{std::move(lanes.syn), std::move(element.type)});
  }
  if (name == "nat" || name == "index")
    fail(span, fmt::format("'{}' is no type of values", name),
         name == "nat" ? "it stands alone, as in def f(k: nat, …); sizes in scalar arithmetic are i32" : "");
  std::string whole(name);
  Span all = span;
  while (at(Tok::dot) && peek(1).kind == Tok::name) {  // of an imported file
    take();
    all = cover(all, spanOf(peek()));
    whole += fmt::format(".{}", text(take()));
  }
  if (const auto alias = aliases_.find(whole); alias != aliases_.end()) return aliasedType(alias->second, all);
  if (name == "_") fail(span, "'_' is no type", "leave the type out, or name it");
  for (const ForeignType& row : foreignTypes)
    if (row.name == name) fail(span, fmt::format("there is no type '{}'", name), fmt::format("write {}", row.ours));
  return typeNode(all, 0, SynType::Name{std::move(whole)});
}

// --- Aliases ----------------------------------------------------------------------------------------------------

namespace {

// What the parameters of an alias stand for.
struct AliasArguments {
  std::unordered_map<std::string, SynPtr> sizes;
  std::unordered_map<std::string, SynTypePtr> types;
};

SynPtr substituted(const SynPtr& size, const AliasArguments& known) {
  if (const auto* name = as<Syn::Name>(size)) {
    const auto found = known.sizes.find(name->text);
    return found == known.sizes.end() ? size : found->second;
  }
  const auto* call = as<Syn::Call>(size);
  if (!call) return size;
  Syn::Call copy{call->function, {}};
  for (const auto& a : call->arguments) copy.arguments.push_back({a.name, substituted(a.value, known)});
  return std::make_shared<const Syn>(Syn{size->span, std::move(copy)});
}

SynTypePtr substituted(const SynTypePtr& type, const AliasArguments& known) {
  if (const auto* name = as<SynType::Name>(type)) {
    const auto found = known.types.find(name->text);
    return found == known.types.end() ? type : found->second;
  }
  SynType copy = *type;
  detail::forEachPart(
      copy, [&](SynPtr& size) { size = substituted(size, known); },
      [&](SynTypePtr& part) { part = substituted(part, known); });
  return std::make_shared<const SynType>(std::move(copy));
}

// How high and how large the tree of a type is, aliases put in.
struct Extent {
  int height = 1;
  std::size_t nodes = 1;
  void add(const Extent& below) {
    height = std::max(height, below.height + 1);
    nodes += below.nodes;
  }
};

Extent extentOf(const SynType& type) {
  Extent extent;
  detail::forEachPart(
      type, [](const SynPtr&) {}, [&](const SynTypePtr& part) { extent.add(extentOf(*part)); });
  return extent;
}

bool mentionsSize(const SynType& type, const std::string& name) {
  bool found = false;
  detail::forEachName(
      type, [&](const Syn& size) { found = found || std::get<Syn::Name>(size.node).text == name; },
      [](const std::string&) {});
  return found;
}

}  // namespace

TypeAlias Parser::typeAlias() {
  expect(Tok::kwType);
  TypeAlias alias;
  alias.span = spanOf(peek());
  alias.name = binder("the name of a type");
  if (scalarNamed(alias.name) || vectorNamed(alias.name) || alias.name == "nat" || alias.name == "index")
    fail(alias.span, fmt::format("'{}' is a type already", alias.name));
  if (at(Tok::leftParen)) {
    const Token open = take();
    do {
      const Span span = spanOf(peek());
      TypeAlias::Parameter parameter{binder("the name of a parameter"), false};
      for (const auto& other : alias.parameters)
        if (other.name == parameter.name) fail(span, fmt::format("there are two parameters '{}'", parameter.name));
      alias.parameters.push_back(std::move(parameter));
    } while (accept(Tok::comma));
    expectClosing(Tok::rightParen, open, "the parameters");
  }
  const std::string hint = "types are named by type image = [h][w]f32, with parameters type matrix(n, m) = [n][m]f32";
  expect(Tok::equals, fmt::format(" before what '{}' stands for", alias.name), hint);
  alias.type = type().type;
  for (auto& parameter : alias.parameters) parameter.isSize = mentionsSize(*alias.type, parameter.name);
  if (!aliases_.emplace(alias.name, alias).second) fail(alias.span, fmt::format("'{}' is defined twice", alias.name));
  return alias;
}

void Parser::addImport(const Import& import) {
  const std::string prefix = import.prefix.empty() ? "" : import.prefix + ".";
  if (!import.prefix.empty()) prefixes_.insert(import.prefix);
  for (const TypeAlias& alias : import.module->types) aliases_.emplace(prefix + alias.name, alias);
}

ParsedType Parser::aliasedType(const TypeAlias& alias, Span span) {
  AliasArguments arguments;
  if (!alias.parameters.empty()) {
    const std::string hint = fmt::format("{} has {} parameter{}", alias.name, alias.parameters.size(),
                                         alias.parameters.size() == 1 ? "" : "s");
    const Token open = expect(Tok::leftParen, fmt::format(" behind '{}'", alias.name), hint);
    for (std::size_t i = 0; i < alias.parameters.size(); ++i) {
      if (i > 0) expect(Tok::comma, " between the arguments of the type", hint);
      const auto& parameter = alias.parameters[i];
      if (parameter.isSize)
        arguments.sizes.emplace(parameter.name, size().syn);
      else
        arguments.types.emplace(parameter.name, type().type);
    }
    span = cover(span, spanOf(expectClosing(Tok::rightParen, open, "the arguments of the type")));
  }
  constexpr std::size_t largest = 10000;
  const SynTypePtr whole = substituted(alias.type, arguments);
  const Extent extent = extentOf(*whole);
  if (extent.nodes > largest) fail(span, fmt::format("this type has more than {} parts", largest));
  return typeNode(span, extent.height - 1, whole->node);
}

std::vector<Definition::Parameter> Parser::parameters(const Token& open, Sorts sorts, bool typesRequired,
                                                      std::vector<ParsedPattern>* patterns) {
  std::vector<Definition::Parameter> result;
  std::unordered_set<std::string> names;
  do {
    const Token token = peek();
    Definition::Parameter parameter;
    parameter.span = spanOf(token);
    if (patterns && at(Tok::leftParen)) {
      ParsedPattern parsed = pattern(names);
      parameter.span = parsed.pattern.span;
      parameter.name = text(parameter.span);
      parameter.type = std::exchange(parsed.pattern.type, nullptr);
      result.push_back(std::move(parameter));
      patterns->push_back(std::move(parsed));
      continue;
    }
    if (!typesRequired && accept(Tok::star)) {
      parameter.isRest = true;
      parameter.span = spanOf(peek());
    }
    // Schemes call a primitive's array `in`.
    if (typesRequired && isReservedWord(token.kind))
      parameter.name = text(take());
    else
      parameter.name = binder("the name of a parameter");
    if (parameter.name != "_" && !names.insert(parameter.name).second)
      fail(parameter.span, fmt::format("there are two parameters '{}'", parameter.name));
    if (typesRequired && !at(Tok::colon)) failHere("expected ':' and the parameter's type");
    if (accept(Tok::colon)) parameter.type = type(sorts).type;
    if (parameter.type && is<SynType::Nat>(parameter.type) && accept(Tok::kwIn)) {
      const std::string hint = "ranges are written k: nat in 0..8, without an upper bound k: nat in 0..";
      SynType::Nat nat;
      nat.low = size().syn;
      expect(Tok::dotDot, " between the bounds", hint);
      if (!at(Tok::comma) && !at(Tok::rightParen)) nat.high = size().syn;
      const Span end = nat.high ? nat.high->span : spanOf(tokens_[next_ - 1]);
      parameter.type = typeNode(cover(parameter.type->span, end), 0, std::move(nat)).type;
    }
    result.push_back(std::move(parameter));
    if (result.back().isRest && at(Tok::comma))
      failHere("expected ')' behind the parameter of all remaining arguments", "*name is the last parameter");
  } while (accept(Tok::comma));
  if (at(Tok::leftBracket) || at(Tok::name))
    failHere("expected ')' to close the parameters", "the type stands behind a colon: x: [n]f32");
  expectClosing(Tok::rightParen, open, "the parameters");
  return result;
}

}  // namespace lift::syntax
