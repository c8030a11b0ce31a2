// Modules: definitions and tunables around the shared expression syntax.
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "../ir/syntax_parser.hpp"
#include "lift/text.hpp"

namespace lift {
namespace {

using syntax::Parser;
using syntax::Tok;
using syntax::Token;

// def name(params): type = body
Definition definition(Parser& parser) {
  parser.expect(Tok::kwDef);
  Definition result;
  result.span = parser.spanOf(parser.peek());
  result.name = parser.binder("the name of a definition");
  if (result.name == "_") parser.fail(result.span, "a definition needs a name");
  if (parser.at(Tok::leftParen)) {
    const Token open = parser.take();
    if (parser.at(Tok::rightParen))
      parser.failHere("expected a parameter", fmt::format("write def {} = … without parentheses", result.name));
    result.parameters = parser.parameters(open, Parser::Sorts::natToo, false);
  }
  if (parser.accept(Tok::colon)) result.result = parser.type().type;
  std::string hint = "definitions are written def f(x: [n]f32): [n]f32 = …";
  if (parser.at(Tok::arrow)) hint = "the result type stands behind a colon: def f(x: f32): f32 = …";
  parser.expect(Tok::equals, fmt::format(" before the body of '{}'", result.name), hint);
  result.body = parser.expression().syn;
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

bool atItem(const Parser& parser) { return parser.at(Tok::kwDef) || parser.at(Tok::kwTune); }

std::string readAll(std::istream& stream, const std::string& name) {
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (stream.bad()) throw UserError(ExitStatus::program, fmt::format("cannot read '{}'", name));
  return text;
}

}  // namespace

Module parseModule(const SourceFile& file) {
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
      if (parser.at(Tok::kwTune)) {
        module.tunables.push_back(tunable(parser));
        declare(module.tunables.back().name, module.tunables.back().span);
      } else if (parser.at(Tok::kwDef)) {
        module.definitions.push_back(definition(parser));
        declare(module.definitions.back().name, module.definitions.back().span);
      } else {
        parser.failHere("expected 'def' or 'tune'", "a program is a list of definitions: def f(x: [n]f32): [n]f32 = …");
      }
      if (!parser.at(Tok::end) && !atItem(parser)) parser.failBehind("the definition");
    } catch (syntax::SyntaxError& error) {
      if (!error.diagnostic.message.empty()) errors.push_back(std::move(error.diagnostic));
      // An error at the keyword of the next item leaves that item to be read.
      while (!parser.at(Tok::end) && !atItem(parser)) parser.take();
    }
  }
  syntax::throwErrors(std::move(errors));
  return module;
}

Program parseProgram(const SourceFile& file, const std::string& entry) {
  return infer(parseModule(file), prelude(), entry);
}

Program readProgram(const std::filesystem::path& path, const std::string& entry) {
  if (path == "-") return parseProgram(*addSource("<stdin>", readAll(std::cin, "<stdin>")), entry);
  std::ifstream stream(path, std::ios::binary);
  const int error = errno;
  if (!stream || std::filesystem::is_directory(path))
    throw UserError(ExitStatus::program,
                    fmt::format("cannot read '{}': {}", path.string(),
                                stream ? "it is a directory" : std::generic_category().message(error)));
  return parseProgram(*addSource(path.string(), readAll(stream, path.string())), entry);
}

}  // namespace lift
