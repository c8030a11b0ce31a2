// The parser: whole texts.
#include "syntax_parser.hpp"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "scheme.hpp"

namespace lift::syntax {
namespace {

// Runs `parse` on the whole text.
template <class Parse>
auto whole(const SourceFile& file, Parse parse) {
  std::vector<Diagnostic> errors;
  Parser parser(file, errors);
  decltype(parse(parser)) result{};
  try {
    result = parse(parser);
  } catch (SyntaxError& error) {
    if (!error.diagnostic.message.empty()) errors.push_back(std::move(error.diagnostic));
  }
  throwErrors(std::move(errors));
  return result;
}

SynScheme::Condition condition(Parser& parser) {
  ParsedExpr left = parser.size();
  SizeCondition::Kind kind = SizeCondition::Kind::divides;
  if (parser.accept(Tok::lessEqual))
    kind = SizeCondition::Kind::lessEqual;
  else if (parser.accept(Tok::equalEqual))
    kind = SizeCondition::Kind::equal;
  else if (!parser.accept(Tok::bar))
    parser.failHere("expected '|', '<=' or '==' in the condition");
  ParsedExpr right = parser.size();
  return {kind, std::move(left.syn), std::move(right.syn)};
}

// def name(params): type = body
Definition definition(Parser& parser) {
  parser.expect(Tok::kwDef);
  Definition result;
  result.span = parser.spanOf(parser.peek());
  result.name = parser.binder("the name of a definition");
  if (result.name == "_") parser.fail(result.span, "a definition needs a name");
  std::vector<ParsedPattern> patterns;
  if (parser.at(Tok::leftParen)) {
    const Token open = parser.take();
    if (parser.at(Tok::rightParen))
      parser.failHere("expected a parameter", fmt::format("write def {} = … without parentheses", result.name));
    result.parameters = parser.parameters(open, Parser::Sorts::natToo, false, &patterns);
  }
  if (parser.accept(Tok::colon)) result.result = parser.type().type;
  std::string hint = "definitions are written def f(x: [n]f32): [n]f32 = …";
  if (parser.at(Tok::arrow)) hint = "the result type stands behind a colon: def f(x: f32): f32 = …";
  parser.expect(Tok::equals, fmt::format(" before the body of '{}'", result.name), hint);
  result.body = parser.takeApart(patterns, parser.expression()).syn;
  return result;
}

// tune k in lo..hi
TuneDeclaration tunable(Parser& parser) {
  parser.expect(Tok::kwTune);
  TuneDeclaration result;
  result.span = parser.spanOf(parser.peek());
  result.name = parser.binder("the name of a tunable");
  const std::string hint = "tunables are written tune k in 1..16";
  parser.expect(Tok::kwIn, fmt::format(" behind tunable '{}'", result.name), hint);
  result.low = parser.size().syn;
  parser.expect(Tok::dotDot, " between the bounds", hint);
  result.high = parser.size().syn;
  return result;
}

// import "filters.lift" as filters
Import importItem(Parser& parser, const Importer& importer) {
  parser.expect(Tok::kwImport);
  Import result;
  result.span = parser.spanOf(parser.peek());
  const std::string hint =
      "files are imported by import \"filters.lift\", with a prefix by import \"filters.lift\" as f";
  if (!parser.at(Tok::string)) parser.failHere("expected the name of a file between quotes", hint);
  std::string_view path = parser.text(parser.take());
  path = path.substr(1, path.size() - 2);
  if (parser.at(Tok::name) && parser.text(parser.peek()) == "as") {
    parser.take();
    result.prefix = parser.binder("the prefix of an import");
  }
  if (path.empty()) parser.fail(result.span, "expected the name of a file between quotes", hint);
  if (!importer)
    parser.fail(result.span, "a text that is no file cannot import", "imports are relative to the file they stand in");
  result.module = importer(std::string(path), result.span);
  parser.addImport(result);
  return result;
}

bool atItem(const Parser& parser) {
  return parser.at(Tok::kwDef) || parser.at(Tok::kwTune) || parser.at(Tok::kwType) || parser.at(Tok::kwImport);
}

}  // namespace
}  // namespace lift::syntax

namespace lift {

using syntax::Parser;
using syntax::Tok;
using syntax::Token;

SynTypePtr parseType(const SourceFile& file) {
  return syntax::whole(file, [](Parser& parser) {
    SynTypePtr type = parser.type(Parser::Sorts::natAndIndexToo).type;
    if (!parser.at(Tok::end)) parser.failBehind("the type");
    return type;
  });
}

SynScheme parseScheme(const SourceFile& file) {
  return syntax::whole(file, [](Parser& parser) {
    SynScheme scheme;
    // Reserved words too: `let` is a primitive.
    if (!parser.at(Tok::name) && !syntax::isReservedWord(parser.peek().kind))
      parser.failHere("expected the name of a primitive");
    scheme.name = parser.text(parser.take());
    const Token open = parser.expect(Tok::leftParen, " before the parameters");
    scheme.parameters = parser.parameters(open, Parser::Sorts::natAndIndexToo, true);
    parser.expect(Tok::colon, " before the result type");
    scheme.result = parser.type().type;
    if (parser.at(Tok::name) && parser.text(parser.peek()) == "where") {
      do {
        parser.take();
        scheme.conditions.push_back(syntax::condition(parser));
      } while (parser.at(Tok::comma));
    }
    if (!parser.at(Tok::end)) parser.failBehind("the scheme");
    return scheme;
  });
}

Nat parseSize(const SourceFile& file, const std::function<std::optional<Nat>(const std::string& name)>& named) {
  const SynPtr size = syntax::whole(file, [](Parser& parser) {
    SynPtr size = parser.size().syn;
    if (!parser.at(Tok::end)) parser.failBehind("the size");
    return size;
  });
  return detail::natOfSyntax(*size, [&](const Syn& leaf) -> Nat {
    if (const auto* name = as<Syn::Name>(leaf))
      if (const auto found = named(name->text)) return *found;
    throw UserError(ExitStatus::program, "this is no size",
                    "sizes are built from integers, names of sizes, + - * / %, min and max", leaf.span);
  });
}

SynRule parseRule(const SourceFile& file) {
  return syntax::whole(file, [](Parser& parser) {
    SynRule rule;
    rule.left = parser.expression().syn;
    parser.expect(Tok::doubleArrow, " between the sides of the rule", "a rule is written left => right");
    rule.right = parser.expression().syn;
    if (!parser.at(Tok::end)) parser.failBehind("the rule");
    return rule;
  });
}

Module parseModule(const SourceFile& file, const Importer& importer) {
  std::vector<Diagnostic> errors;
  Parser parser(file, errors);
  Module module;
  std::unordered_map<std::string, Span> names;
  const auto declare = [&](const std::string& name, Span span) {
    const auto [first, isNew] = names.emplace(name, span);
    if (isNew) return;
    errors.push_back({Severity::error,
                      span,
                      fmt::format("'{}' is defined twice", name),
                      {},
                      {{Severity::note, first->second, "first defined here", {}, {}}}});
  };
  while (!parser.at(Tok::end)) {
    try {
      if (parser.at(Tok::kwImport)) {
        module.imports.push_back(syntax::importItem(parser, importer));
      } else if (parser.at(Tok::kwType)) {
        module.types.push_back(parser.typeAlias());
      } else if (parser.at(Tok::kwTune)) {
        module.tunables.push_back(syntax::tunable(parser));
        declare(module.tunables.back().name, module.tunables.back().span);
      } else if (parser.at(Tok::kwDef)) {
        module.definitions.push_back(syntax::definition(parser));
        declare(module.definitions.back().name, module.definitions.back().span);
      } else {
        const std::string habit = parser.habit();  // "//" for a comment
        parser.failHere("expected 'def', 'tune', 'type' or 'import'",
                        habit.empty() ? "a program is a list of definitions: def f(x: [n]f32): [n]f32 = …" : habit);
      }
      if (!parser.at(Tok::end) && !syntax::atItem(parser)) parser.failBehind("the definition");
    } catch (syntax::SyntaxError& error) {
      if (!error.diagnostic.message.empty()) errors.push_back(std::move(error.diagnostic));
      // An error at the keyword of the next item leaves that item to be read.
      while (!parser.at(Tok::end) && !syntax::atItem(parser)) parser.take();
    }
  }
  throwErrors(std::move(errors));
  return module;
}

}  // namespace lift
