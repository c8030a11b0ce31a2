#include "dialect.hpp"

#include <fmt/format.h>

namespace lift::kernel {

std::string Text::within(int least) const { return binds < least ? '(' + text + ')' : text; }

std::optional<Infix> infixOf(Op op) {
  const OpInfo& row = info(op);  // Lift spells these as C does; C has one precedence more, that of ?:
  return row.infix.empty() ? std::nullopt : std::optional(Infix{row.infix, row.precedence + ternary});
}

bool isSmallInteger(Scalar s) { return isInteger(s) && info(s).bytes < 4; }

Scalar integerOf(std::size_t bytes) {
  switch (bytes) {
    case 1: return Scalar::i8;
    case 2: return Scalar::i16;
    case 4: return Scalar::i32;
    default: return Scalar::i64;
  }
}

std::string shortestReal(ScalarValue v) {
  std::string s = v.type == Scalar::f64 ? fmt::format("{}", v.real) : fmt::format("{}", static_cast<float>(v.real));
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

}  // namespace lift::kernel
