// Tokens of the Lift text syntax.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/source.hpp"

namespace lift::syntax {

// clang-format off
enum class Tok : std::uint8_t {
  end, error, name, number, string,
  // reserved words
  kwDef, kwTune, kwType, kwImport, kwLet, kwIn, kwFun, kwIf, kwThen, kwElse, kwTrue, kwFalse, kwInf, kwNan,
  // punctuation
  doubleArrow, pipe, arrow, orOr, andAnd, equalEqual, notEqual, lessEqual, greaterEqual, shiftLeft, shiftRight, dotDot,
  leftParen, rightParen, leftBracket, rightBracket, comma, colon, dot, equals, bar, ampersand, caret, tilde,
  plus, minus, star, slash, percent, less, greater, bang,
};
// clang-format on
inline constexpr int tokCount = static_cast<int>(Tok::bang) + 1;

// How reserved words and punctuation are written; empty for the other kinds.
std::string_view spelling(Tok kind);
inline bool isReservedWord(Tok kind) { return kind >= Tok::kwDef && kind <= Tok::kwNan; }

// Names, reserved words and literals: what would read as one token if nothing stood between two of them.
inline bool isWord(Tok kind) { return kind >= Tok::name && kind <= Tok::kwNan; }

struct Token {
  Tok kind = Tok::end;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// The whole text as tokens, the last of which is Tok::end. What is no token becomes Tok::error and a diagnostic.
// The end token lies directly behind the last one, so that "unexpected end" points at text.
std::vector<Token> lex(const SourceFile& file, std::vector<Diagnostic>& errors);

}  // namespace lift::syntax
