#include "syntax_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "lift/ops.hpp"
#include "lift/scalar.hpp"
#include "scheme.hpp"

namespace lift::syntax {
namespace {

// Precedence of each binary operator's token; 0 for the others.
struct Infix {
  std::optional<Op> op;
  int precedence = 0;
};

const Infix& infix(Tok kind) {
  static const auto table = [] {
    std::array<Infix, tokCount> rows;
    for (int k = 0; k < tokCount; ++k)
      if (const auto op = opInfix(spelling(static_cast<Tok>(k)))) rows[k] = {op, info(*op).precedence};
    return rows;
  }();
  return table[static_cast<std::size_t>(kind)];
}

bool isComparison(const Infix& row) {
  return row.op && info(*row.op).typing == OpTyping::comparison && row.precedence == info(Op::lt).precedence;
}

// Types of other languages, which would otherwise read as type variables.
struct ForeignType {
  std::string_view name, ours;
};
constexpr ForeignType foreignTypes[] = {
    {"float", "f32"}, {"double", "f64"}, {"half", "f16"},   {"int", "i32"},    {"uint", "u32"},    {"long", "i64"},
    {"ulong", "u64"}, {"short", "i16"},  {"ushort", "u16"}, {"char", "i8"},    {"uchar", "u8"},    {"boolean", "bool"},
    {"Float", "f32"}, {"Int", "i32"},    {"Bool", "bool"},  {"Double", "f64"}, {"float32", "f32"}, {"int32", "i32"},
};

// What people type who come from other languages. A row tells what to write where its text could not stand, or where
// nothing could stand behind it.
struct Habit {
  std::string_view text, hint;
  enum Where { here, behind, either } where;
};
constexpr Habit habits[] = {
    {"and", "logical and is written &&", Habit::here},
    {"or", "logical or is written ||", Habit::here},
    {"not", "logical not is written !x", Habit::behind},
    {"mod", "the remainder is written %", Habit::here},
    {"div", "the quotient of integers is written /", Habit::here},
    {"for", "there are no loops: repetition is map, reduce, scan or iterate", Habit::either},
    {"while", "there are no loops: repetition is map, reduce, scan or iterate", Habit::either},
    {"return", "a body is an expression: its value is the result", Habit::either},
    {"lambda", "functions are written fun x => e", Habit::behind},
    {"function", "functions are written fun x => e", Habit::behind},
    {"fn", "functions are written fun x => e", Habit::behind},
    {"where", "what is used is named before: let x = e in …", Habit::either},
    {"elif", "conditions are written if c then a else if d then b else e", Habit::either},
    {"val", "bindings are written let x = e in …", Habit::behind},
    {"var", "bindings are written let x = e in …", Habit::behind},
    {"const", "bindings are written let x = e in …", Habit::behind},
    {"**", "powers are written pow(x, y); square(x) is x * x", Habit::here},
    {"//", "comments begin with --", Habit::here},
    {"/*", "comments begin with --", Habit::here},
    {"<>", "not equal is written !=", Habit::here},
    {"===", "equality is written ==", Habit::here},
    {"!==", "not equal is written !=", Habit::here},
    {"==>", "functions are written fun x => e", Habit::here},
    {"|||", "logical or is written ||", Habit::here},
    {"++", "arrays are joined by concat(a, b); there is no ++", Habit::here},
    {"+=", "names are not assigned to: let y = x + 1 in …", Habit::here},
    {"-=", "names are not assigned to: let y = x - 1 in …", Habit::here},
    {"*=", "names are not assigned to: let y = x * 2 in …", Habit::here},
    {":=", "bindings are written let x = e in …", Habit::here},
    {"].=", "arrays are not assigned to; a new one is made, as by map or generate", Habit::here},
    {"=", "equality is written ==", Habit::here},
    {"=>", "functions are written fun x => e", Habit::here},
    {"->", "functions are written fun x => e", Habit::here},
    {":", "a type stands behind its value in parentheses: (e : t)", Habit::here},
    {"in", "'in' belongs to let x = e in …", Habit::here},
    {"then", "conditions are written if c then a else b", Habit::here},
    {"else", "conditions are written if c then a else b", Habit::here},
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

std::optional<std::uint64_t> parseInteger(std::string_view digits, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// Out of double's range gives infinity or zero, depending on where the first digit stands.
double parseReal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t digit = mantissa.find_first_of("123456789");
  if (digit == std::string_view::npos) return 0;
  double magnitude = static_cast<double>(point) - static_cast<double>(digit);
  if (e != std::string_view::npos) {
    std::int64_t exponent = 0;
    std::string_view digits = text.substr(e + 1);
    const bool negative = digits.front() == '-';
    if (negative || digits.front() == '+') digits.remove_prefix(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc())
      exponent = std::numeric_limits<std::int32_t>::max();
    magnitude += static_cast<double>(negative ? -exponent : exponent);
  }
  return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace

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

Parser::Parser(const SourceFile& file, std::vector<Diagnostic>& errors) : file_(file), tokens_(lex(file, errors)) {
  closing_.resize(tokens_.size());
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    const Tok kind = tokens_[i].kind;
    if (kind == Tok::leftParen || kind == Tok::leftBracket) {
      open.push_back(i);
    } else if ((kind == Tok::rightParen || kind == Tok::rightBracket) && !open.empty()) {
      closing_[open.back()] = i;
      open.pop_back();
    }
  }
}

// --- Tokens -----------------------------------------------------------------------------------------------------

const Token& Parser::peek(std::size_t ahead) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }

Token Parser::take() {
  const Token token = peek();
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool Parser::accept(Tok kind) {
  if (!at(kind)) return false;
  take();
  return true;
}

Token Parser::expect(Tok kind, const std::string& context, const std::string& hint) {
  if (!at(kind)) failHere(fmt::format("expected '{}'{}", spelling(kind), context), hint);
  return take();
}

Token Parser::expectClosing(Tok kind, const Token& open, const std::string& what) {
  if (!at(kind)) {
    std::string hint = habit();
    if (hint.empty() && (isWord(peek().kind) || at(Tok::leftParen)) && !isReservedWord(peek().kind))
      hint = "a comma or an operator is missing";
    failHere(fmt::format("expected '{}' to close {}", spelling(kind), what), hint,
             {{Severity::note, spanOf(open), "opened here", {}, {}}});
  }
  return take();
}

void Parser::fail(Span span, std::string message, std::string hint, std::vector<Diagnostic> notes) {
  throw SyntaxError{{Severity::error, span, std::move(message), std::move(hint), std::move(notes)}};
}

// The habit that the token at hand, or the one before it, betrays; two signs side by side are looked up together.
std::string Parser::habit() const {
  const Token none{Tok::end, 0, 0};
  const Token before = next_ > 0 ? tokens_[next_ - 1] : none, here = peek();
  std::string pair;
  if (before.end > before.begin && before.end == here.begin && !isWord(before.kind) && !isWord(here.kind))
    pair = fmt::format("{}{}", text(before), text(here));
  if (before.kind == Tok::rightBracket && here.kind == Tok::equals) pair = "].=";
  for (const Habit& row : habits) {
    const bool isPair = row.text == pair;
    const bool isHere = row.where != Habit::behind && here.kind != Tok::end && row.text == text(here);
    const bool isBefore = row.where != Habit::here && before.end > before.begin && row.text == text(before);
    if (isPair || isHere || isBefore) return std::string(row.hint);
  }
  return {};
}

void Parser::failHere(const std::string& message, std::string hint, std::vector<Diagnostic> notes) {
  if (at(Tok::error)) throw SyntaxError{};
  if (hint.empty() && !at(Tok::colon)) hint = habit();
  // What is missing at the end of a definition is missing there, not where the next one begins.
  if ((at(Tok::kwDef) || at(Tok::kwTune) || at(Tok::kwType) || at(Tok::kwImport)) && next_ > 0) {
    const std::uint32_t end = tokens_[next_ - 1].end;
    fail({&file_, end, end}, message + ", found the end of the definition", std::move(hint), std::move(notes));
  }
  fail(spanOf(peek()), fmt::format("{}, found {}", message, describe(peek())), std::move(hint), std::move(notes));
}

void Parser::failBehind(const std::string& what) {
  if (at(Tok::error)) throw SyntaxError{};
  if (at(Tok::rightParen) || at(Tok::rightBracket))
    fail(spanOf(peek()), fmt::format("'{}' closes nothing", text(peek())));
  std::string hint = habit();
  if (hint.empty() && (at(Tok::name) || at(Tok::number))) hint = "functions are called f(x)";
  fail(spanOf(peek()), fmt::format("unexpected {} behind {}", describe(peek()), what), std::move(hint));
}

void Parser::failTooDeep(Span span) {
  fail(span, fmt::format("the nesting is deeper than {} levels", highestTree), "give parts of it names of their own");
}

std::string Parser::describe(const Token& token) const {
  if (token.kind == Tok::end) return "the end of the text";
  if (isReservedWord(token.kind)) return fmt::format("the reserved word '{}'", text(token));
  if (token.end - token.begin > 40) return token.kind == Tok::number ? "a number" : "a name";
  return fmt::format("'{}'", text(token));
}

std::string Parser::binder(const std::string& what) {
  if (isReservedWord(peek().kind))
    fail(spanOf(peek()), fmt::format("'{}' is a reserved word and cannot be {}", text(peek()), what));
  if (!at(Tok::name)) failHere(fmt::format("expected {}", what));
  return std::string(text(take()));
}

// --- Building ---------------------------------------------------------------------------------------------------

int Parser::checkedHeight(Span span, int heightBelow) {
  if (heightBelow >= highestTree) failTooDeep(span);
  return heightBelow + 1;
}

ParsedExpr Parser::node(Span span, int heightBelow, decltype(Syn::node) form) {
  const int height = checkedHeight(span, heightBelow);
  return {std::make_shared<const Syn>(Syn{span, std::move(form)}), span, height};
}

ParsedType Parser::typeNode(Span span, int heightBelow, decltype(SynType::node) form) {
  const int height = checkedHeight(span, heightBelow);
  return {std::make_shared<const SynType>(SynType{span, std::move(form)}), height};
}

// `span` is the operator's.
ParsedExpr Parser::operation(std::string_view name, Span span, std::vector<ParsedExpr> operands) {
  Syn::Call call;
  call.function = std::make_shared<const Syn>(Syn{span, Syn::Name{std::string(name), true}});
  int below = 1;
  for (ParsedExpr& operand : operands) {
    span = cover(span, operand.span);
    below = std::max(below, operand.height);
    call.arguments.push_back({{}, std::move(operand.syn)});
  }
  return node(span, below, std::move(call));
}

// --- Expressions ------------------------------------------------------------------------------------------------

ParsedExpr Parser::expression() {
  const Nesting nesting(*this);
  ParsedExpr left = binary(1);
  while (at(Tok::pipe)) {
    take();
    ParsedExpr right = binary(1);
    const Span span = cover(left.span, right.span);
    const int below = std::max(left.height, right.height);
    Syn::Call call{std::move(right.syn), {}};
    call.arguments.push_back({{}, std::move(left.syn)});
    left = node(span, below, std::move(call));
  }
  return left;
}

ParsedExpr Parser::expressionAbove(int precedence) {
  const Nesting nesting(*this);
  return binary(precedence);
}

ParsedExpr Parser::size() { return expressionAbove(info(Op::add).precedence); }

// Precedence climbing: one call per operand, whatever the number of precedence levels.
ParsedExpr Parser::binary(int precedence) {
  ParsedExpr left = prefix();
  bool compared = false;
  while (true) {
    const Token token = peek();
    const Infix& row = infix(token.kind);
    if (!row.op || row.precedence < precedence) return left;
    if (isComparison(row)) {
      if (compared) fail(spanOf(token), "comparisons do not chain", "write a < b && b < c");
      compared = true;
    } else {
      compared = false;
    }
    take();
    const Nesting nesting(*this);
    ParsedExpr right = binary(row.precedence + 1);
    std::vector<ParsedExpr> operands;
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    left = operation(info(*row.op).name, spanOf(token), std::move(operands));
  }
}

ParsedExpr Parser::prefix() {
  if (at(Tok::minus) || at(Tok::bang) || at(Tok::tilde)) {
    const Nesting nesting(*this);
    const Token sign = take();
    if (sign.kind == Tok::minus && (at(Tok::number) || at(Tok::kwInf) || at(Tok::kwNan)) && peek(1).kind != Tok::dot &&
        peek(1).kind != Tok::leftBracket && peek(1).kind != Tok::leftParen)
      return number(spanOf(sign));
    std::vector<ParsedExpr> operand;
    operand.push_back(prefix());
    const Op op = sign.kind == Tok::minus ? Op::neg : sign.kind == Tok::bang ? Op::logicalNot : Op::bitNot;
    return operation(info(op).name, spanOf(sign), std::move(operand));
  }
  return postfix();
}

ParsedExpr Parser::postfix() {
  ParsedExpr result = primary();
  while (true) {
    if (at(Tok::leftParen))
      result = call(std::move(result));
    else if (at(Tok::dot))
      result = projection(std::move(result));
    else if (at(Tok::leftBracket))
      result = subscript(std::move(result));
    else
      return result;
  }
}

ParsedExpr Parser::call(ParsedExpr function) {
  const Token open = take();
  if (at(Tok::rightParen)) failHere("expected an argument", "functions have at least one argument");
  Syn::Call form{std::move(function.syn), {}};
  int below = function.height;
  do {
    Syn::Argument argument;
    // `in` is what primitives call their last argument.
    if ((at(Tok::name) || at(Tok::kwIn)) && peek(1).kind == Tok::equals) {
      argument.name = text(take());
      take();
    }
    ParsedExpr value = expression();
    below = std::max(below, value.height);
    argument.value = std::move(value.syn);
    form.arguments.push_back(std::move(argument));
  } while (accept(Tok::comma));
  const Token close = expectClosing(Tok::rightParen, open, "the call");
  return node(cover(function.span, spanOf(close)), below, std::move(form));
}

ParsedExpr Parser::projection(ParsedExpr tuple) {
  take();
  if (const auto* prefix = std::get_if<Syn::Name>(&tuple.syn->node);
      prefix && at(Tok::name) && prefixes_.count(prefix->text)) {
    const Token member = take();
    return node(cover(tuple.span, spanOf(member)), 0, Syn::Name{fmt::format("{}.{}", prefix->text, text(member))});
  }
  const Token token = peek();
  const std::string_view digits = text(token);
  const auto component = token.kind == Tok::number ? parseInteger(digits) : std::nullopt;
  if (token.kind != Tok::number || !component) {
    std::string hint = "components are counted from 0: pair.0, pair.1";
    if (std::holds_alternative<Syn::Integer>(tuple.syn->node)) hint = "a literal has digits on both sides: 5.0";
    const bool isCalled = peek(1).kind == Tok::leftParen;
    if (at(Tok::name) && digits.front() != '_' && !isCalled)
      hint = "there are no records: a pattern names components, let (x, y) = p in …";
    if (at(Tok::name) && digits.front() != '_' && isCalled)
      hint = fmt::format("functions are called {0}(x), or x |> {0}", digits.substr(0, 40));
    if (digits == "length" || digits == "size" || digits == "len" || digits == "shape")
      hint = "the length of xs: [n]f32 is n, also written length(xs)";
    failHere("expected the number of a component behind '.'", hint);
  }
  if (*component > 1000) fail(spanOf(token), fmt::format("no tuple has a component {}", digits));
  take();
  return node(cover(tuple.span, spanOf(token)), tuple.height,
              Syn::Project{std::move(tuple.syn), static_cast<int>(*component)});
}

ParsedExpr Parser::subscript(ParsedExpr array) {
  const Token open = take();
  ParsedExpr index = expression();
  if (at(Tok::comma)) failHere("expected ']' to close the subscript", "several subscripts are written a[i][j]");
  if (at(Tok::colon)) failHere("expected ']' to close the subscript", "a part is written xs |> drop(a) |> take(n)");
  const Token close = expectClosing(Tok::rightBracket, open, "the subscript");
  return node(cover(array.span, spanOf(close)), std::max(array.height, index.height),
              Syn::Subscript{std::move(array.syn), std::move(index.syn)});
}

ParsedExpr Parser::primary() {
  switch (peek().kind) {
    case Tok::kwLet:
      if (atLetFunction()) return word(take());
      return letIn();
    case Tok::kwFun:
      return fun();
    case Tok::kwIf:
      return ifThenElse();
    case Tok::leftParen:
      return parenthesised();
    case Tok::number:
    case Tok::kwInf:
    case Tok::kwNan:
      return number({});
    case Tok::kwTrue:
    case Tok::kwFalse: {
      const Token token = take();
      return node(spanOf(token), 0, Syn::Boolean{token.kind == Tok::kwTrue});
    }
    case Tok::name:
      if (text(peek()) == "_") fail(spanOf(peek()), "'_' stands only in patterns", "give the value a name");
      return word(take());
    case Tok::leftBracket:
      return arrayLiteral();
    case Tok::string:
      failHere("expected an expression", "there are no strings in expressions");
    case Tok::dot:
      if (peek(1).kind == Tok::number)
        failHere("expected an expression", fmt::format("a literal has digits on both sides: 0.{}", text(peek(1))));
      break;
    default:
      break;
  }
  failHere("expected an expression");
}

ParsedExpr Parser::arrayLiteral() {
  const Token open = take();
  if (at(Tok::rightBracket)) failHere("expected an element", "arrays have at least one element");
  Syn::Array form;
  int below = 0;
  do {
    ParsedExpr element = expression();
    below = std::max(below, element.height);
    form.elements.push_back(std::move(element.syn));
    if (form.elements.size() > mostElements)
      fail(spanOf(open), fmt::format("an array literal has at most {} elements", mostElements),
           "longer tables are inputs of the program");
  } while (accept(Tok::comma));
  const Token close = expectClosing(Tok::rightBracket, open, "the array");
  return node(cover(spanOf(open), spanOf(close)), below, std::move(form));
}

ParsedExpr Parser::word(const Token& token) { return node(spanOf(token), 0, Syn::Name{std::string(text(token))}); }

// `let(f, x)` is the primitive, `let (a, b) = x in …` binds a tuple: what follows the parentheses tells.
bool Parser::atLetFunction() const {
  if (peek(1).kind != Tok::leftParen) return false;
  const std::uint32_t close = closing_[next_ + 1];
  if (close == 0) return false;
  const Tok behind = tokens_[close + 1].kind;
  return behind != Tok::equals && behind != Tok::colon;
}

// A column of lets is read in a loop: it is as common as a column of statements.
ParsedExpr Parser::letIn() {
  struct Binding {
    Span span;
    ParsedPattern pattern;
    ParsedExpr value;
  };
  std::vector<Binding> bindings;
  while (at(Tok::kwLet) && !atLetFunction()) {
    Binding binding;
    binding.span = spanOf(take());
    binding.pattern = pattern();
    if (at(Tok::leftParen) && closing_[next_] != 0 && !binding.pattern.pattern.name.empty()) {
      const Token open = peek(), close = tokens_[closing_[next_]];
      const std::string_view name = binding.pattern.pattern.name;
      const std::string parameters(text(Span{&file_, open.begin, close.end}));
      const bool isOne = parameters.find_first_of(",:") == std::string::npos;
      fail(cover(binding.pattern.pattern.span, spanOf(close)),
           fmt::format("let binds a name; '{}' is written with parameters", name),
           fmt::format("a local function is let {} = fun {} => …", name,
                       isOne ? parameters.substr(1, parameters.size() - 2) : parameters));
    }
    expect(Tok::equals, " behind the name that let binds",
           at(Tok::comma) ? "a tuple is taken apart by let (a, b) = e in …" : "bindings are written let x = e in …");
    binding.value = expression();
    if (!at(Tok::kwIn))
      failHere("expected 'in' behind the value that let binds", "bindings are written let x = e in …",
               {{Severity::note, binding.span, "this let", {}, {}}});
    take();
    bindings.push_back(std::move(binding));
    if (bindings.size() > highestTree)
      fail(bindings.back().span, fmt::format("there are more than {} lets in a row", highestTree),
           "give parts of them definitions of their own");
  }
  ParsedExpr body = expression();
  for (auto binding = bindings.rbegin(); binding != bindings.rend(); ++binding) {
    const int below = std::max({binding->pattern.height, binding->value.height, body.height});
    body = node(cover(binding->span, body.span), below,
                Syn::Let{std::move(binding->pattern.pattern), std::move(binding->value.syn), std::move(body.syn)});
  }
  return body;
}

ParsedExpr Parser::fun() {
  const Token keyword = take();
  ParsedPattern parameter = pattern();
  if (!at(Tok::doubleArrow)) {
    std::string hint = "functions are written fun x => e";
    if (at(Tok::name) || at(Tok::leftParen)) hint = "a function of several values takes a tuple: fun (a, b) => e";
    if (at(Tok::comma)) hint = "a function of several values takes a tuple: fun (a, b) => e";
    failHere("expected '=>' behind the parameter", hint);
  }
  take();
  ParsedExpr body = expression();
  return node(cover(spanOf(keyword), body.span), std::max(parameter.height, body.height),
              Syn::Fun{std::move(parameter.pattern), std::move(body.syn)});
}

ParsedExpr Parser::ifThenElse() {
  const Token keyword = take();
  std::vector<ParsedExpr> operands;
  operands.push_back(expression());
  if (!at(Tok::kwThen)) {
    const std::string hint = habit();
    failHere("expected 'then' behind the condition", hint.empty() ? "conditions are written if c then a else b" : hint);
  }
  take();
  operands.push_back(expression());
  expect(Tok::kwElse, " behind the value of 'then'", "every if has an else");
  operands.push_back(expression());
  return operation(info(Prim::ifThenElse).name, spanOf(keyword), std::move(operands));
}

ParsedExpr Parser::parenthesised() {
  const Token open = take();
  if (at(Tok::rightParen)) failHere("expected an expression", "there is no empty tuple");
  std::vector<SynPtr> components;
  int below = 0;
  ParsedExpr only;
  do {
    ParsedExpr component = expression();
    if (accept(Tok::colon)) {
      ParsedType ascribed = type(Sorts::natToo);
      const Span span = cover(component.span, ascribed.type->span);
      const int height = std::max(component.height, ascribed.height);
      component = node(span, height, Syn::Ascribe{std::move(component.syn), std::move(ascribed.type)});
    }
    below = std::max(below, component.height);
    components.push_back(component.syn);
    only = std::move(component);
  } while (accept(Tok::comma));
  const Token close = expectClosing(Tok::rightParen, open, components.size() > 1 ? "the tuple" : "the parenthesis");
  const Span span = cover(spanOf(open), spanOf(close));
  if (components.size() > 1) return node(span, below, Syn::Tuple{std::move(components)});
  only.span = span;
  return only;
}

// A literal, with the sign before it if `sign` is a span: -128i8 fits where 128i8 does not.
ParsedExpr Parser::number(Span sign) {
  const Token token = take();
  const Span span = cover(sign, spanOf(token));
  const bool negative = static_cast<bool>(sign);
  if (token.kind != Tok::number) {
    const double value =
        token.kind == Tok::kwInf ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return node(span, 0, Syn::Real{negative ? -value : value, std::nullopt});
  }

  const std::string_view whole = text(token);
  // 0xff, 0b101: a suffix is the integer type behind the digits.
  const bool isHex = whole.starts_with("0x") || whole.starts_with("0X");
  const bool isBinary = whole.starts_with("0b") || whole.starts_with("0B");
  // Where the suffix begins; an `e` belongs to the number if digits follow.
  std::size_t length = isHex      ? whole.find_first_not_of("0123456789abcdefABCDEF", 2)
                       : isBinary ? whole.find_first_not_of("01", 2)
                                  : whole.find_first_not_of("0123456789.");
  length = std::min(length, whole.size());
  if (!isHex && !isBinary && length < whole.size() && (whole[length] == 'e' || whole[length] == 'E')) {
    std::size_t digits = length + 1;
    if (digits < whole.size() && (whole[digits] == '+' || whole[digits] == '-')) ++digits;
    if (digits < whole.size() && whole[digits] >= '0' && whole[digits] <= '9') {
      length = std::min(whole.find_first_not_of("0123456789", digits), whole.size());
    }
  }
  const std::string_view digits = whole.substr(0, length);
  const std::string_view suffix = whole.substr(length);
  std::optional<Scalar> scalar;
  if (!suffix.empty()) {
    scalar = scalarNamed(suffix);
    std::string hint = "literals are written 1, 1.5, 2e-3, 0xff, 0b101, with a type as in 3f32, 7i64";
    if (suffix == "f" || suffix == "F") hint = fmt::format("write {}f32", digits);
    if (suffix == "u" || suffix == "U") hint = fmt::format("write {}u32", digits);
    if (suffix == "L" || suffix == "l") hint = fmt::format("write {}i64", digits);
    if (!scalar || *scalar == Scalar::boolean || ((isHex || isBinary) && isFloat(*scalar)))
      fail(spanOf(token), fmt::format("'{}' is no type of {}", suffix, isHex || isBinary ? "integers" : "numbers"),
           std::move(hint));
  }
  if ((isHex || isBinary) && length <= 2)
    fail(spanOf(token), fmt::format("{} has no digits", digits), "literals are written 0xff, 0b101");

  if (!isHex && !isBinary && digits.find_first_not_of("0123456789") != std::string_view::npos) {
    if (scalar && isInteger(*scalar))
      fail(spanOf(token), fmt::format("{} is no integer, as {} needs", digits, suffix),
           fmt::format("conversions are written {}({})", suffix, digits));
    const double value = parseReal(digits);
    if (std::isinf(scalar ? ScalarValue::of(*scalar, value).real : value))
      fail(spanOf(token), fmt::format("{} is too large for {}", digits, scalar ? suffix : "f64"), "infinity is inf");
    return node(span, 0, Syn::Real{negative ? -value : value, scalar});
  }

  if (scalar && isFloat(*scalar)) {
    const double value = parseReal(digits);
    if (std::isinf(ScalarValue::of(*scalar, value).real))
      fail(spanOf(token), fmt::format("{} is too large for {}", digits, suffix), "infinity is inf");
    return node(span, 0, Syn::Real{negative ? -value : value, scalar});
  }

  // Integers: the magnitude fits if the type's greatest (or, negated, least) value reaches it.
  const Scalar integer = scalar.value_or(Scalar::i64);
  const int bits = static_cast<int>(info(integer).bytes) * 8;
  std::uint64_t limit = ~std::uint64_t{0} >> (64 - bits);
  if (info(integer).isSigned) limit = limit / 2 + (negative ? 1 : 0);
  const auto magnitude = isHex      ? parseInteger(digits.substr(2), 16)
                         : isBinary ? parseInteger(digits.substr(2), 2)
                                    : parseInteger(digits);
  if (!magnitude || *magnitude > limit)
    fail(span, fmt::format("{}{} is out of range of {}", negative ? "-" : "",
                           digits.size() > 40 ? "the integer" : digits, info(integer).name));
  const std::uint64_t pattern = negative ? 0 - *magnitude : *magnitude;
  const auto value = static_cast<std::int64_t>(pattern);
  if (!scalar) return node(span, 0, Syn::Integer{value});
  constexpr std::uint64_t exact = std::uint64_t{1} << std::numeric_limits<double>::digits;
  if (*magnitude <= exact) {
    const auto real = static_cast<double>(*magnitude);
    return node(span, 0, Syn::Real{negative ? -real : real, scalar});
  }
  // A double would round it.
  ParsedType type = typeNode(span, 0, SynType::ScalarName{integer});
  ParsedExpr plain = node(span, 0, Syn::Integer{value});
  return node(span, 1, Syn::Ascribe{std::move(plain.syn), std::move(type.type)});
}

// --- Patterns ---------------------------------------------------------------------------------------------------

ParsedPattern Parser::pattern() {
  std::unordered_set<std::string> bound;
  return pattern(bound);
}

ParsedPattern Parser::pattern(std::unordered_set<std::string>& bound) {
  const Nesting nesting(*this);
  ParsedPattern result;
  const Token first = peek();
  if (accept(Tok::leftParen)) {
    if (at(Tok::rightParen)) failHere("expected a pattern", "there is no empty tuple; _ binds nothing");
    std::vector<ParsedPattern> components;
    do components.push_back(pattern(bound));
    while (accept(Tok::comma));
    const Token close = expectClosing(Tok::rightParen, first, "the pattern");
    if (components.size() == 1) {
      result = std::move(components.front());
    } else {
      for (ParsedPattern& component : components) {
        result.height = std::max(result.height, component.height);
        result.pattern.components.push_back(std::move(component.pattern));
      }
    }
    result.pattern.span = cover(spanOf(first), spanOf(close));
  } else {
    result.pattern.name = binder("a pattern");
    result.pattern.span = spanOf(first);
    if (result.pattern.name != "_" && !bound.insert(result.pattern.name).second)
      fail(spanOf(first), fmt::format("'{}' is bound twice in this pattern", result.pattern.name));
  }
  result.height = checkedHeight(result.pattern.span, result.height);
  if (at(Tok::colon)) {
    if (result.pattern.type) failHere("the pattern already has a type");
    take();
    ParsedType annotation = type();
    result.pattern.span = cover(result.pattern.span, annotation.type->span);
    result.pattern.type = std::move(annotation.type);
    result.height = std::max(result.height, annotation.height + 1);
  }
  return result;
}

// --- Types ------------------------------------------------------------------------------------------------------

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
      return named;
    }
    default:
      failHere("expected a type");
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
  if (const auto* name = std::get_if<Syn::Name>(&size->node)) {
    const auto found = known.sizes.find(name->text);
    return found == known.sizes.end() ? size : found->second;
  }
  const auto* call = std::get_if<Syn::Call>(&size->node);
  if (!call) return size;
  Syn::Call copy{call->function, {}};
  for (const auto& a : call->arguments) copy.arguments.push_back({a.name, substituted(a.value, known)});
  return std::make_shared<const Syn>(Syn{size->span, std::move(copy)});
}

SynTypePtr substituted(const SynTypePtr& type, const AliasArguments& known) {
  const auto make = [&](decltype(SynType::node) node) {
    return std::make_shared<const SynType>(SynType{type->span, std::move(node)});
  };
  if (const auto* t = std::get_if<SynType::Name>(&type->node)) {
    const auto found = known.types.find(t->text);
    return found == known.types.end() ? type : found->second;
  }
  if (const auto* t = std::get_if<SynType::Vector>(&type->node))
    return make(SynType::Vector{substituted(t->width, known), substituted(t->element, known)});
  if (const auto* t = std::get_if<SynType::Array>(&type->node))
    return make(SynType::Array{substituted(t->length, known), substituted(t->element, known)});
  if (const auto* t = std::get_if<SynType::Function>(&type->node))
    return make(SynType::Function{substituted(t->parameter, known), substituted(t->result, known)});
  if (const auto* t = std::get_if<SynType::Tuple>(&type->node)) {
    SynType::Tuple tuple;
    for (const SynTypePtr& c : t->components) tuple.components.push_back(substituted(c, known));
    return make(std::move(tuple));
  }
  return type;
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
  if (const auto* t = std::get_if<SynType::Vector>(&type.node)) extent.add(extentOf(*t->element));
  if (const auto* t = std::get_if<SynType::Array>(&type.node)) extent.add(extentOf(*t->element));
  if (const auto* t = std::get_if<SynType::Function>(&type.node)) {
    extent.add(extentOf(*t->parameter));
    extent.add(extentOf(*t->result));
  }
  if (const auto* t = std::get_if<SynType::Tuple>(&type.node))
    for (const SynTypePtr& c : t->components) extent.add(extentOf(*c));
  return extent;
}

bool mentionsSize(const Syn& size, const std::string& name) {
  if (const auto* n = std::get_if<Syn::Name>(&size.node)) return n->text == name;
  const auto* call = std::get_if<Syn::Call>(&size.node);
  return call && std::any_of(call->arguments.begin(), call->arguments.end(),
                             [&](const auto& a) { return mentionsSize(*a.value, name); });
}

bool mentionsSize(const SynType& type, const std::string& name) {
  if (const auto* t = std::get_if<SynType::Vector>(&type.node))
    return mentionsSize(*t->width, name) || mentionsSize(*t->element, name);
  if (const auto* t = std::get_if<SynType::Array>(&type.node))
    return mentionsSize(*t->length, name) || mentionsSize(*t->element, name);
  if (const auto* t = std::get_if<SynType::Function>(&type.node))
    return mentionsSize(*t->parameter, name) || mentionsSize(*t->result, name);
  const auto* tuple = std::get_if<SynType::Tuple>(&type.node);
  return tuple && std::any_of(tuple->components.begin(), tuple->components.end(),
                              [&](const SynTypePtr& c) { return mentionsSize(*c, name); });
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
    if (parameter.type && std::holds_alternative<SynType::Nat>(parameter.type->node) && accept(Tok::kwIn)) {
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
  expectClosing(Tok::rightParen, open, "the parameters");
  return result;
}

ParsedExpr Parser::takeApart(const std::vector<ParsedPattern>& patterns, ParsedExpr body) {
  for (auto p = patterns.rbegin(); p != patterns.rend(); ++p) {
    const Span span = p->pattern.span;
    ParsedExpr parameter = node(span, 0, Syn::Name{std::string(text(span))});
    body = node(body.span, std::max(p->height, body.height),
                Syn::Let{p->pattern, std::move(parameter.syn), std::move(body.syn)});
  }
  return body;
}

// --- Whole texts ------------------------------------------------------------------------------------------------

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
    if (const auto* name = std::get_if<Syn::Name>(&leaf.node))
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
        parser.failHere("expected 'def', 'tune', 'type' or 'import'",
                        "a program is a list of definitions: def f(x: [n]f32): [n]f32 = …");
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
