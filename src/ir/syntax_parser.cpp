// The parser's tokens, complaints and nodes.
#include "syntax_parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lift::syntax {
namespace {

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
    {"//", "comments begin with --, and the quotient of integers is written /", Habit::here},
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
    {"as", "conversions are written i32(x)", Habit::here},
    {"then", "conditions are written if c then a else b", Habit::here},
    {"else", "conditions are written if c then a else b", Habit::here},
};

}  // namespace

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
      hint = isCast() ? fmt::format("conversions are written {}(x)", text(tokens_[next_ - 2]))
                      : "a comma or an operator is missing";
    failHere(fmt::format("expected '{}' to close {}", spelling(kind), what), hint,
             {{Severity::note, spanOf(open), "opened here", {}, {}}});
  }
  return take();
}

bool Parser::isCast() const {
  return next_ > 2 && tokens_[next_ - 1].kind == Tok::rightParen && tokens_[next_ - 3].kind == Tok::leftParen &&
         scalarNamed(text(tokens_[next_ - 2]));
}

void Parser::fail(Span span, std::string message, std::string hint, std::vector<Diagnostic> notes) {
  throw SyntaxError{{Severity::error, span, std::move(message), std::move(hint), std::move(notes)}};
}

// The habit that the token at hand, or the one before it, betrays; two signs side by side are looked up together, those
// that nothing stands before, too.
std::string Parser::habit() const {
  const Token none{Tok::end, 0, 0};
  const Token before = next_ > 0 ? tokens_[next_ - 1] : none, here = peek();
  const Token after = next_ + 1 < tokens_.size() ? tokens_[next_ + 1] : none;
  const auto ends = [](Tok kind) { return kind == Tok::comma || kind == Tok::rightParen; };
  const Token sign = ends(here.kind) ? before : ends(after.kind) ? here : none;
  if (const auto op = opInfix(text(sign)))
    return fmt::format("as a function, '{}' is named {}", text(sign), info(*op).name);
  std::string pair;
  if (after.begin == here.end && after.end > after.begin && !isWord(here.kind) && !isWord(after.kind))
    pair = fmt::format("{}{}", text(here), text(after));
  if (before.end > before.begin && before.end == here.begin && here.end > here.begin && !isWord(before.kind) &&
      !isWord(here.kind))
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

}  // namespace lift::syntax
