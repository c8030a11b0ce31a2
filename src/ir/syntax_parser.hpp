// Recursive-descent parser of expressions and types, the one syntax of programs, sizes, types and schemes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lexer.hpp"
#include "lift/syntax.hpp"

namespace lift::syntax {

// The first thing wrong in a stretch of text; thrown to whoever knows where parsing can go on. Without a message the
// lexer has already reported it.
struct SyntaxError {
  Diagnostic diagnostic;
};

// Trees higher than this are refused, so that everybody may recurse over them (with sanitizers, inference fills half a
// stack of 8 MiB then).
inline constexpr int highestTree = 500;
inline constexpr std::size_t mostElements = 1024;  // of an array literal

// Parsed pieces with what their parent needs: `height` bounds the tree, `span` includes parentheses around it.
struct ParsedExpr {
  SynPtr syn;
  Span span;
  int height = 0;
};
struct ParsedType {
  SynTypePtr type;
  int height = 0;
};
struct ParsedPattern {
  SynPattern pattern;
  int height = 0;
};

// A number's text: the number as written, its digits (in decimal perhaps with point and exponent), the type behind it.
struct Numeral {
  std::string_view written, digits, suffix;
  int base = 10;
};

class Parser {
 public:
  // Characters that are no token go to `errors`.
  Parser(const SourceFile& file, std::vector<Diagnostic>& errors);

  ParsedExpr expression();
  // An expression of operators that bind at least as tightly (ops.hpp); a size is one of `additive` operators.
  ParsedExpr expressionAbove(int precedence);
  ParsedExpr size();
  // `nat` and `index` are types of parameters only.
  enum class Sorts { typesOnly, natToo, natAndIndexToo };
  ParsedType type(Sorts sorts = Sorts::typesOnly);
  // The name of a definition, parameter or pattern; `what` says which in the diagnostic.
  std::string binder(const std::string& what);
  // name, name: type, …  up to and including the ')' that closes `open`. Given `patterns`, (a, b) may stand for a name:
  // the pattern goes there, and its text, which no expression can say, is the parameter's name.
  std::vector<Definition::Parameter> parameters(const Token& open, Sorts sorts, bool typesRequired,
                                                std::vector<ParsedPattern>* patterns = nullptr);
  // type name(parameters) = type, known from there on.
  TypeAlias typeAlias();
  // Makes the import's prefix and aliases known.
  void addImport(const Import& import);
  // let pattern = parameter in …, for each pattern, in front of the body.
  ParsedExpr takeApart(const std::vector<ParsedPattern>& patterns, ParsedExpr body);

  const Token& peek(std::size_t ahead = 0) const;
  bool at(Tok kind) const { return peek().kind == kind; }
  Token take();
  bool accept(Tok kind);
  // "expected ')' to close the call, found 'x'": `context` is " to close the call".
  Token expect(Tok kind, const std::string& context = {}, const std::string& hint = {});
  Token expectClosing(Tok kind, const Token& open, const std::string& what);
  [[noreturn]] void fail(Span span, std::string message, std::string hint = {}, std::vector<Diagnostic> notes = {});
  // `message` is followed by ", found …".
  [[noreturn]] void failHere(const std::string& message, std::string hint = {}, std::vector<Diagnostic> notes = {});
  // Fails at the token that cannot follow a complete expression or type.
  [[noreturn]] void failBehind(const std::string& what);

  Span spanOf(const Token& token) const { return {&file_, token.begin, token.end}; }
  std::string_view text(const Token& token) const { return text(spanOf(token)); }
  std::string_view text(Span span) const {
    return std::string_view(file_.text).substr(span.begin, span.end - span.begin);
  }
  std::string describe(const Token& token) const;

  // What another language has there, and how it is written here; empty where nothing is known.
  std::string habit() const;
  bool isCast() const;  // whether "(i32)" or its like stands right before

 private:
  class Nesting;

  ParsedExpr binary(int precedence);
  ParsedExpr prefix();
  ParsedExpr postfix();
  ParsedExpr primary();
  ParsedExpr letIn();
  ParsedExpr fun();
  ParsedExpr ifThenElse();
  ParsedExpr ascribed();  // an expression, or one with its type
  ParsedExpr parenthesised();
  ParsedExpr call(ParsedExpr function);
  ParsedExpr projection(ParsedExpr tuple);
  ParsedExpr subscript(ParsedExpr array);
  ParsedExpr number(Span sign);
  std::optional<Scalar> suffixType(const Token& token, const Numeral& n);
  ParsedExpr integer(const Numeral& n, std::optional<Scalar> scalar, bool negative, Span span);
  ParsedExpr arrayLiteral();
  ParsedExpr word(const Token& token);
  bool atLetFunction() const;

  ParsedPattern pattern();
  ParsedPattern pattern(std::unordered_set<std::string>& bound);

  ParsedType typePrefix();
  ParsedType typeName();
  ParsedType aliasedType(const TypeAlias& alias, Span span);
  [[noreturn]] void failArraySuffix(const Token& element);

  ParsedExpr node(Span span, int heightBelow, decltype(Syn::node) form);
  ParsedType typeNode(Span span, int heightBelow, decltype(SynType::node) form);
  ParsedExpr operation(std::string_view name, Span span, std::vector<ParsedExpr> operands);
  [[noreturn]] void failTooDeep(Span span);
  int checkedHeight(Span span, int heightBelow);

  const SourceFile& file_;
  std::vector<Token> tokens_;
  std::vector<std::uint32_t> closing_;  // of an opening bracket's token, the index of the closing one, else 0
  std::size_t next_ = 0;
  int depth_ = 0;
  std::unordered_map<std::string, TypeAlias> aliases_;  // by name, those of imports with their prefix
  std::unordered_set<std::string> prefixes_;            // of imports
};

// Bounds the parser's own recursion.
class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) {
    if (++parser_.depth_ > highestTree) {
      --parser_.depth_;
      parser_.failTooDeep(parser_.spanOf(parser_.peek()));
    }
  }
  ~Nesting() { --parser_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Parser& parser_;
};

// Nothing for what does not fit, or is no number.
std::optional<std::uint64_t> parseInteger(std::string_view digits, int base = 10);

}  // namespace lift::syntax

namespace lift {

// Public as a part of lift/text.hpp; here, because it is this parser's.
using Importer = std::function<std::shared_ptr<const Module>(const std::string& path, Span span)>;
Module parseModule(const SourceFile& file, const Importer& importer = {});

}  // namespace lift
