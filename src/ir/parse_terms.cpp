// The parser: expressions and patterns.
#include "syntax_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "lift/ops.hpp"

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

}  // namespace

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
    ParsedExpr value = ascribed();
    below = std::max(below, value.height);
    argument.value = std::move(value.syn);
    form.arguments.push_back(std::move(argument));
  } while (accept(Tok::comma));
  const Token close = expectClosing(Tok::rightParen, open, "the call");
  return node(cover(function.span, spanOf(close)), below, std::move(form));
}

ParsedExpr Parser::projection(ParsedExpr tuple) {
  take();
  if (const auto* prefix = as<Syn::Name>(tuple.syn); prefix && at(Tok::name) && prefixes_.count(prefix->text)) {
    const Token member = take();
    return node(cover(tuple.span, spanOf(member)), 0, Syn::Name{fmt::format("{}.{}", prefix->text, text(member))});
  }
  const Token token = peek();
  const std::string_view digits = text(token);
  const auto component = token.kind == Tok::number ? parseInteger(digits) : std::nullopt;
  if (token.kind != Tok::number || !component) {
    std::string hint = "components are counted from 0: pair.0, pair.1";
    if (is<Syn::Integer>(tuple.syn)) hint = "a literal has digits on both sides: 5.0";
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
    case Tok::kwFun: return fun();
    case Tok::kwIf: return ifThenElse();
    case Tok::leftParen: return parenthesised();
    case Tok::number:
    case Tok::kwInf:
    case Tok::kwNan: return number({});
    case Tok::kwTrue:
    case Tok::kwFalse: {
      const Token token = take();
      return node(spanOf(token), 0, Syn::Boolean{token.kind == Tok::kwTrue});
    }
    case Tok::name:
      if (text(peek()) == "_") fail(spanOf(peek()), "'_' stands only in patterns", "give the value a name");
      return word(take());
    case Tok::leftBracket: return arrayLiteral();
    case Tok::string: failHere("expected an expression", "there are no strings in expressions");
    case Tok::dot:
      if (peek(1).kind == Tok::number)
        failHere("expected an expression", fmt::format("a literal has digits on both sides: 0.{}", text(peek(1))));
      break;
    default: break;
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

ParsedExpr Parser::ascribed() {
  ParsedExpr value = expression();
  if (!accept(Tok::colon)) return value;
  ParsedType given = type(Sorts::natToo);
  const Span span = cover(value.span, given.type->span);
  return node(span, std::max(value.height, given.height), Syn::Ascribe{std::move(value.syn), std::move(given.type)});
}

ParsedExpr Parser::parenthesised() {
  const Token open = take();
  if (at(Tok::rightParen)) failHere("expected an expression", "there is no empty tuple");
  std::vector<SynPtr> components;
  int below = 0;
  ParsedExpr only;
  do {
    ParsedExpr component = ascribed();
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
ParsedExpr Parser::takeApart(const std::vector<ParsedPattern>& patterns, ParsedExpr body) {
  for (auto p = patterns.rbegin(); p != patterns.rend(); ++p) {
    const Span span = p->pattern.span;
    ParsedExpr parameter = node(span, 0, Syn::Name{std::string(text(span))});
    body = node(body.span, std::max(p->height, body.height),
                Syn::Let{p->pattern, std::move(parameter.syn), std::move(body.syn)});
  }
  return body;
}

}  // namespace lift::syntax
