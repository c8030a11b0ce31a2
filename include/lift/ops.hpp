// Scalar operations: the one table that typing, interpretation, emulation, printing and documentation read.
//
// Every operation is total on its types except integer division by zero, and means what the OpenCL C 1.2 operator or
// builtin of the given spelling means: integer `/` and `%` truncate towards zero, shifts use the low bits of the amount
// (three for 8-bit types to six for 64-bit ones; C would promote a small scalar to int first, but not a vector), `>>`
// keeps the sign of signed types, signed overflow wraps. Integer `abs` has its operand's type, where OpenCL's has the
// unsigned one. On vectors every operation acts lane by lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lift/scalar.hpp"

namespace lift {

// clang-format off
enum class Op : std::uint8_t {
  add, sub, mul, div, mod, neg, min, max, abs,
  floor, ceil, round, trunc,
  sqrt, rsqrt, cbrt, exp, exp2, log, log2, log10,
  sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, erf,
  pow, fma,
  lt, le, gt, ge, eq, ne,
  logicalAnd, logicalOr, logicalNot,
  bitAnd, bitOr, bitXor, bitNot,
  shl, shr, rotateBits, popcount, clz, mulHigh,
  select,
};
// clang-format on
inline constexpr int opCount = static_cast<int>(Op::select) + 1;

// How operand and result types relate; t is one scalar (or vector) type throughout.
enum class OpTyping : std::uint8_t {
  numeric,     // (t, …) -> t, t integer or float
  floating,    // (t, …) -> t, t float
  integral,    // (t, …) -> t, t integer
  comparison,  // (t, t) -> bool, t integer, float or (eq, ne only) bool
  logical,     // (bool, …) -> bool
  selection,   // (bool, t, t) -> t, any scalar t: select(condition, ifTrue, ifFalse)
};

struct OpInfo {
  Op op;
  std::string_view name;   // function form in Lift text: "add", "min", "fma"
  std::string_view infix;  // binary operator in Lift text ("+"), empty when there is none
  int precedence;          // of the operator in Lift text and C (or 1, and 2, … multiplicative 10, prefix 11);
                           // larger binds tighter; 0 for builtins and select
  int arity;
  OpTyping typing;
  std::string_view opencl;  // operator (prefix for arity 1) or builtin name in OpenCL C for floats; select is "?:"
  std::string_view openclInteger;  // the same for integers where it differs (fmin/min, fabs/abs); else empty
  bool isExact;                    // every device computes the same bits
  std::string_view meaning;        // one line of documentation
};
const OpInfo& info(Op op);
// Whether devices put a number together with one in memory by it at once, whatever other work-items do there.
bool isAtomic(Op op, Scalar scalar);
std::optional<Op> opNamed(std::string_view name);
std::optional<Op> opInfix(std::string_view spelling);  // "+" -> add
// The type of the operation on operands of these types; nothing where they do not fit the table.
std::optional<Scalar> resultType(Op op, std::span<const Scalar> operands);

// One scalar value of any type. Floats are kept in `real` (already rounded to the type), others in `integer`
// (already wrapped to the type; booleans 0 or 1; u64 as its bit pattern).
struct ScalarValue {
  Scalar type = Scalar::f32;
  double real = 0;
  std::int64_t integer = 0;

  static ScalarValue of(Scalar type, double value);  // floats round; integers truncate and saturate, NaN is 0
  static ScalarValue ofInteger(Scalar type, std::int64_t value);  // integers wrap; floats round
  // The least and the greatest value; of floats the infinities.
  enum class Extreme : std::uint8_t { lowest, highest };
  static ScalarValue extreme(Scalar type, Extreme end);
  double asDouble() const;
  bool truth() const { return isFloat(type) ? real != 0 : integer != 0; }
};
// As it lies in memory, info(type).bytes bytes in the machine's order; booleans are 0 or 1.
ScalarValue loadScalar(Scalar type, const std::byte* from);
void storeScalar(Scalar type, std::byte* to, const ScalarValue& value);
// Of one type and indistinguishable: unlike 0.0 and -0.0; any NaN is like any other.
bool identical(const ScalarValue& a, const ScalarValue& b);

// Arithmetic of the operation in its type; f32 results are rounded to float, h16 results to half. f16 is a storage
// type: on f16 operands the result has type f16, but is computed in f32 and its `real` keeps f32 precision, as a
// kernel's register does; it narrows to half in convert() and when stored into a Tensor. Operand count and types must
// fit the table (InternalError). Integer division by zero throws UserError.
ScalarValue apply(Op op, std::span<const ScalarValue> operands);
// C conversion between scalar types (float to integer truncates and saturates at the ends).
ScalarValue convert(const ScalarValue& value, Scalar to);

}  // namespace lift
