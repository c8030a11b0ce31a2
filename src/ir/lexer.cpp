#include "lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "lift/characters.hpp"

namespace lift::syntax {
namespace {

// In the order of the enumeration; where one spelling begins with another, the longer one comes first.
constexpr std::string_view spellings[] = {
    "",    "",     "",     "",       "",  //
    "def", "tune", "type", "import", "let", "in", "fun", "if", "then", "else", "true", "false", "inf",
    "nan", "=>",   "|>",   "->",     "||",  "&&", "==",  "!=", "<=",   ">=",   "<<",   ">>",    "..",  //
    "(",   ")",    "[",    "]",      ",",   ":",  ".",   "=",  "|",    "&",    "^",    "~",            //
    "+",   "-",    "*",    "/",      "%",   "<",  ">",   "!",
};
static_assert(std::size(spellings) == tokCount);

bool isNameStart(char c) { return isLetter(c) || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || isDigit(c) || c == '\''; }
bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

// What people type who come from papers and other languages.
struct Confusable {
  std::string_view text, hint;
};
constexpr Confusable confusables[] = {
    {"→", "write => in a function, -> in a type"},
    {"λ", "functions are written fun x => e"},
    {"\\", "functions are written fun x => e"},
    {"×", "multiplication is written *"},
    {"·", "multiplication is written *"},
    {"−", "minus is written -"},
    {"≤", "write <="},
    {"≥", "write >="},
    {"≠", "write !="},
    {"∧", "write &&"},
    {"∨", "write ||"},
    {"{", "a body is an expression without braces: fun x => let y = e in y + y"},
    {"}", "a body is an expression without braces: fun x => let y = e in y + y"},
    {";", "bindings are written let x = e in …"},
    {"?", "a choice is written if c then a else b"},
    {"#", "comments begin with --"},
    {"'", "a name begins with a letter"},
};

class Lexer {
 public:
  Lexer(const SourceFile& file, std::vector<Diagnostic>& errors) : file_(file), text_(file.text), errors_(errors) {}

  std::vector<Token> run() {
    tokens_.reserve(text_.size() / 4 + 1);
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (skipBlank(), at_ < text_.size()) next();
    const std::uint32_t last = tokens_.empty() ? 0 : tokens_.back().end;
    tokens_.push_back({Tok::end, last, last});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skipBlank() {
    while (at_ < text_.size()) {
      if (isSpace(text_[at_])) {
        ++at_;
      } else if (peek() == '-' && peek(1) == '-') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }

  void push(Tok kind, std::size_t begin) {
    tokens_.push_back({kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_)});
  }

  Tok punctuation() const {
    for (int k = static_cast<int>(Tok::doubleArrow); k < tokCount; ++k)
      if (text_.substr(at_).starts_with(spellings[k])) return static_cast<Tok>(k);
    return Tok::error;
  }

  void next() {
    const std::size_t begin = at_;
    if (isNameStart(peek())) {
      while (isNamePart(peek())) ++at_;
      push(wordKind(text_.substr(begin, at_ - begin)), begin);
    } else if (isDigit(peek())) {
      number();
      push(Tok::number, begin);
    } else if (peek() == '"') {
      string();
    } else if (const Tok kind = punctuation(); kind != Tok::error) {
      at_ += spelling(kind).size();
      push(kind, begin);
    } else {
      unknown();
      push(Tok::error, begin);
    }
  }

  static Tok wordKind(std::string_view word) {
    for (int k = static_cast<int>(Tok::kwDef); isReservedWord(static_cast<Tok>(k)); ++k)
      if (spellings[k] == word) return static_cast<Tok>(k);
    return Tok::name;
  }

  // Digits, fraction, exponent and type suffix. After '.', as in `pair.0.1`, a number is a component's: digits only.
  void number() {
    while (isDigit(peek())) ++at_;
    if (!tokens_.empty() && tokens_.back().kind == Tok::dot) return;
    if (peek() == '.' && isDigit(peek(1))) {
      ++at_;
      while (isDigit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (isDigit(peek(1 + sign))) {
        at_ += 1 + sign;
        while (isDigit(peek())) ++at_;
      }
    }
    while (isNamePart(peek())) ++at_;  // the suffix, good or bad; the parser looks at it
  }

  // The name of a file, on one line; there are no escapes.
  void string() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && peek() != '"' && peek() != '\n') ++at_;
    const bool closed = peek() == '"';
    if (closed) ++at_;
    push(closed ? Tok::string : Tok::error, begin);
    if (closed) return;
    const Span span{&file_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_)};
    errors_.push_back({Severity::error, span, "the string has no end", "the name of a file stands between quotes", {}});
  }

  // One diagnostic for a run of characters that begin no token.
  void unknown() {
    const std::size_t begin = at_;
    const std::size_t length = codePointLength(text_.substr(at_));
    const std::string_view character = text_.substr(begin, length);
    const unsigned byte = static_cast<unsigned char>(text_[begin]);
    std::string message;
    std::string hint;
    if (length == 0) {
      message = fmt::format("byte 0x{:02x} is not UTF-8 text", byte);
    } else if (byte < 0x20 || byte == 0x7F) {
      message = fmt::format("unexpected control character 0x{:02x}", byte);
    } else {
      message = fmt::format("unexpected character '{}'", character);
      for (const Confusable& row : confusables)
        if (row.text == character) hint = row.hint;
      if (hint.empty() && length > 1) hint = "names are made of A-Z a-z 0-9 _ and '";
    }
    at_ += std::max<std::size_t>(length, 1);
    while (at_ < text_.size() && !isSpace(peek()) && !isNamePart(peek()) && punctuation() == Tok::error) {
      const std::size_t more = codePointLength(text_.substr(at_));
      if ((more == 0) != (length == 0)) break;
      at_ += std::max<std::size_t>(more, 1);
    }
    const Span span{&file_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(at_)};
    errors_.push_back({Severity::error, span, std::move(message), std::move(hint), {}});
  }

  const SourceFile& file_;
  std::string_view text_;
  std::vector<Diagnostic>& errors_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::string_view spelling(Tok kind) { return spellings[static_cast<std::size_t>(kind)]; }

std::vector<Token> lex(const SourceFile& file, std::vector<Diagnostic>& errors) { return Lexer(file, errors).run(); }

}  // namespace lift::syntax
