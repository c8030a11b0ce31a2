#include "dialect.hpp"

#include <fmt/format.h>

namespace lift::kernel {

std::string Text::within(int least) const { return binds < least ? '(' + text + ')' : text; }

std::optional<Infix> infixOf(Op op) {
  switch (op) {
    case Op::add: return Infix{"+", additive};
    case Op::sub: return Infix{"-", additive};
    case Op::mul: return Infix{"*", multiplicative};
    case Op::div: return Infix{"/", multiplicative};
    case Op::mod: return Infix{"%", multiplicative};  // integers only
    case Op::lt: return Infix{"<", relational};
    case Op::le: return Infix{"<=", relational};
    case Op::gt: return Infix{">", relational};
    case Op::ge: return Infix{">=", relational};
    case Op::eq: return Infix{"==", equality};
    case Op::ne: return Infix{"!=", equality};
    case Op::logicalAnd: return Infix{"&&", andAlso};
    case Op::logicalOr: return Infix{"||", orElse};
    case Op::bitAnd: return Infix{"&", bitAnd_};
    case Op::bitOr: return Infix{"|", bitOr_};
    case Op::bitXor: return Infix{"^", bitXor_};
    case Op::shl: return Infix{"<<", shift};
    case Op::shr: return Infix{">>", shift};
    default: return std::nullopt;
  }
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
