#include "lift/ops.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "lift/diagnostic.hpp"

namespace lift {

namespace {

// Precedences of C, among the operators there are.
// clang-format off
enum : int {
  none, oring, anding, bitOring, bitXoring, bitAnding, equality, relational, shifting, additive, multiplicative, unary
};

constexpr OpInfo table[] = {
    // op, name, infix, precedence, arity, typing, OpenCL for floats, for integers where different, exact, meaning
    {Op::add, "add", "+", additive, 2, OpTyping::numeric, "+", "", true, "sum; integers wrap"},
    {Op::sub, "sub", "-", additive, 2, OpTyping::numeric, "-", "", true, "difference; integers wrap"},
    {Op::mul, "mul", "*", multiplicative, 2, OpTyping::numeric, "*", "", true, "product; integers wrap"},
    {Op::div, "div", "/", multiplicative, 2, OpTyping::numeric, "/", "", true, "quotient; integers truncate towards zero"},
    {Op::mod, "mod", "%", multiplicative, 2, OpTyping::numeric, "fmod", "%", true, "remainder with the sign of the dividend"},
    {Op::neg, "neg", "", unary, 1, OpTyping::numeric, "-", "", true, "negation; integers wrap"},
    {Op::min, "min", "", none, 2, OpTyping::numeric, "fmin", "min", true, "the smaller; a number rather than NaN"},
    {Op::max, "max", "", none, 2, OpTyping::numeric, "fmax", "max", true, "the larger; a number rather than NaN"},
    {Op::abs, "abs", "", none, 1, OpTyping::numeric, "fabs", "abs", true, "absolute value; the smallest integer stays itself"},
    {Op::floor, "floor", "", none, 1, OpTyping::floating, "floor", "", true, "largest integral value not above"},
    {Op::ceil, "ceil", "", none, 1, OpTyping::floating, "ceil", "", true, "smallest integral value not below"},
    {Op::round, "round", "", none, 1, OpTyping::floating, "round", "", true, "nearest integral value, halves away from zero"},
    {Op::trunc, "trunc", "", none, 1, OpTyping::floating, "trunc", "", true, "integral part, towards zero"},
    {Op::sqrt, "sqrt", "", none, 1, OpTyping::floating, "sqrt", "", true, "square root"},
    {Op::rsqrt, "rsqrt", "", none, 1, OpTyping::floating, "rsqrt", "", false, "one over the square root"},
    {Op::cbrt, "cbrt", "", none, 1, OpTyping::floating, "cbrt", "", false, "cube root"},
    {Op::exp, "exp", "", none, 1, OpTyping::floating, "exp", "", false, "e to the power"},
    {Op::exp2, "exp2", "", none, 1, OpTyping::floating, "exp2", "", false, "2 to the power"},
    {Op::log, "log", "", none, 1, OpTyping::floating, "log", "", false, "natural logarithm"},
    {Op::log2, "log2", "", none, 1, OpTyping::floating, "log2", "", false, "logarithm to base 2"},
    {Op::log10, "log10", "", none, 1, OpTyping::floating, "log10", "", false, "logarithm to base 10"},
    {Op::sin, "sin", "", none, 1, OpTyping::floating, "sin", "", false, "sine of radians"},
    {Op::cos, "cos", "", none, 1, OpTyping::floating, "cos", "", false, "cosine of radians"},
    {Op::tan, "tan", "", none, 1, OpTyping::floating, "tan", "", false, "tangent of radians"},
    {Op::asin, "asin", "", none, 1, OpTyping::floating, "asin", "", false, "arc sine, in radians"},
    {Op::acos, "acos", "", none, 1, OpTyping::floating, "acos", "", false, "arc cosine, in radians"},
    {Op::atan, "atan", "", none, 1, OpTyping::floating, "atan", "", false, "arc tangent, in radians"},
    {Op::atan2, "atan2", "", none, 2, OpTyping::floating, "atan2", "", false, "angle of the point (second, first), in radians"},
    {Op::sinh, "sinh", "", none, 1, OpTyping::floating, "sinh", "", false, "hyperbolic sine"},
    {Op::cosh, "cosh", "", none, 1, OpTyping::floating, "cosh", "", false, "hyperbolic cosine"},
    {Op::tanh, "tanh", "", none, 1, OpTyping::floating, "tanh", "", false, "hyperbolic tangent"},
    {Op::erf, "erf", "", none, 1, OpTyping::floating, "erf", "", false, "error function"},
    {Op::pow, "pow", "", none, 2, OpTyping::floating, "pow", "", false, "the first to the power of the second"},
    {Op::fma, "fma", "", none, 3, OpTyping::floating, "fma", "", true, "a * b + c, rounded once"},
    {Op::lt, "lt", "<", relational, 2, OpTyping::comparison, "<", "", true, "less; false with NaN"},
    {Op::le, "le", "<=", relational, 2, OpTyping::comparison, "<=", "", true, "less or equal; false with NaN"},
    {Op::gt, "gt", ">", relational, 2, OpTyping::comparison, ">", "", true, "greater; false with NaN"},
    {Op::ge, "ge", ">=", relational, 2, OpTyping::comparison, ">=", "", true, "greater or equal; false with NaN"},
    {Op::eq, "eq", "==", equality, 2, OpTyping::comparison, "==", "", true, "equal; false with NaN"},
    {Op::ne, "ne", "!=", equality, 2, OpTyping::comparison, "!=", "", true, "not equal; true with NaN"},
    {Op::logicalAnd, "and", "&&", anding, 2, OpTyping::logical, "&&", "", true, "both"},
    {Op::logicalOr, "or", "||", oring, 2, OpTyping::logical, "||", "", true, "at least one"},
    {Op::logicalNot, "not", "", unary, 1, OpTyping::logical, "!", "", true, "the opposite"},
    {Op::bitAnd, "bitAnd", "&", bitAnding, 2, OpTyping::integral, "&", "", true, "bitwise and"},
    {Op::bitOr, "bitOr", "|", bitOring, 2, OpTyping::integral, "|", "", true, "bitwise or"},
    {Op::bitXor, "bitXor", "^", bitXoring, 2, OpTyping::integral, "^", "", true, "bitwise exclusive or"},
    {Op::bitNot, "bitNot", "", unary, 1, OpTyping::integral, "~", "", true, "bitwise not, written ~x"},
    {Op::shl, "shl", "<<", shifting, 2, OpTyping::integral, "<<", "", true, "shift left by the low bits of the amount"},
    {Op::shr, "shr", ">>", shifting, 2, OpTyping::integral, ">>", "", true, "shift right by the low bits of the amount, keeping the sign"},
    {Op::rotateBits, "rotateBits", "", none, 2, OpTyping::integral, "rotate", "", true, "rotate left by the low bits of the amount"},
    {Op::popcount, "popcount", "", none, 1, OpTyping::integral, "popcount", "", true, "number of bits that are 1"},
    {Op::clz, "clz", "", none, 1, OpTyping::integral, "clz", "", true, "number of leading bits that are 0"},
    {Op::mulHigh, "mulHigh", "", none, 2, OpTyping::integral, "mul_hi", "", true, "the high half of the product of double width"},
    {Op::select, "select", "", none, 3, OpTyping::selection, "?:", "", true, "the second where the first is true, else the third"},
};
// clang-format on
static_assert(std::size(table) == opCount);

consteval bool inOrder() {
  for (int i = 0; i < opCount; ++i)
    if (static_cast<int>(table[i].op) != i) return false;
  return true;
}
static_assert(inOrder());

// The low bits of `value` as the integer type holds them.
std::int64_t wrap(Scalar type, std::uint64_t value) {
  switch (type) {
    case Scalar::i8: return static_cast<std::int8_t>(value);
    case Scalar::u8: return static_cast<std::uint8_t>(value);
    case Scalar::i16: return static_cast<std::int16_t>(value);
    case Scalar::u16: return static_cast<std::uint16_t>(value);
    case Scalar::i32: return static_cast<std::int32_t>(value);
    case Scalar::u32: return static_cast<std::uint32_t>(value);
    default: return static_cast<std::int64_t>(value);
  }
}

// Truncation towards zero, saturating at the ends of the type; NaN is 0.
std::int64_t saturate(Scalar type, double value) {
  if (std::isnan(value)) return 0;
  if (type == Scalar::u64) {
    if (value <= 0) return 0;
    if (value >= 0x1p64) return -1;  // all bits set
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
  }
  if (type == Scalar::i64) {
    if (value < -0x1p63) return std::numeric_limits<std::int64_t>::min();
    if (value >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(value);
  }
  const int bits = static_cast<int>(info(type).bytes) * 8;
  const bool isSigned = info(type).isSigned;
  const double low = isSigned ? -std::ldexp(1.0, bits - 1) : 0.0;
  const double high = std::ldexp(1.0, isSigned ? bits - 1 : bits) - 1;
  return static_cast<std::int64_t>(std::clamp(value, low, high));
}

double roundTo(Scalar type, double value) {
  switch (type) {
    case Scalar::f16:
    case Scalar::h16: return halfToFloat(doubleToHalf(value));
    case Scalar::f32: return static_cast<float>(value);
    default: return value;
  }
}

// The operations that <cmath> has, for F float or double.
template <class F>
struct MathFunctions {
  template <class... Operands>
  struct Row {
    Op op;
    F (*f)(Operands...);
  };
  static constexpr Row<F> unary[] = {
      {Op::abs, std::fabs},    {Op::floor, std::floor}, {Op::ceil, std::ceil}, {Op::round, std::round},
      {Op::trunc, std::trunc}, {Op::sqrt, std::sqrt},   {Op::cbrt, std::cbrt}, {Op::exp, std::exp},
      {Op::exp2, std::exp2},   {Op::log, std::log},     {Op::log2, std::log2}, {Op::log10, std::log10},
      {Op::sin, std::sin},     {Op::cos, std::cos},     {Op::tan, std::tan},   {Op::asin, std::asin},
      {Op::acos, std::acos},   {Op::atan, std::atan},   {Op::sinh, std::sinh}, {Op::cosh, std::cosh},
      {Op::tanh, std::tanh},   {Op::erf, std::erf}};
  static constexpr Row<F, F> binary[] = {
      {Op::mod, std::fmod}, {Op::min, std::fmin}, {Op::max, std::fmax}, {Op::atan2, std::atan2}, {Op::pow, std::pow}};
};

template <class F>
F floatOperation(Op op, std::span<const ScalarValue> v) {
  const F a = static_cast<F>(v[0].real);
  const F b = v.size() > 1 ? static_cast<F>(v[1].real) : F(0);
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    case Op::neg: return -a;
    case Op::rsqrt: return F(1) / std::sqrt(a);
    case Op::fma: return std::fma(a, b, static_cast<F>(v[2].real));
    default: break;
  }
  for (const auto& row : MathFunctions<F>::unary)
    if (row.op == op) return row.f(a);
  for (const auto& row : MathFunctions<F>::binary)
    if (row.op == op) return row.f(a, b);
  throw InternalError("apply: no such operation on floats");
}

std::int64_t integerOperation(Op op, Scalar type, std::span<const ScalarValue> v) {
  const std::int64_t a = v[0].integer;
  const std::int64_t b = v.size() > 1 ? v[1].integer : 0;
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  const bool wideUnsigned = type == Scalar::u64;  // the one type whose values `integer` holds as a bit pattern
  const auto bits = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  const int width = static_cast<int>(info(type).bytes) * 8;
  const int amount = static_cast<int>(ub) & (width - 1);
  const std::uint64_t pattern = ua & (~std::uint64_t{0} >> (64 - width));  // of a, without the bits of its sign beyond
  const bool less = wideUnsigned ? ua < ub : a < b;
  switch (op) {
    case Op::add: return wrap(type, ua + ub);
    case Op::sub: return wrap(type, ua - ub);
    case Op::mul: return wrap(type, ua * ub);
    case Op::div:
    case Op::mod:
      if (b == 0) throw UserError(ExitStatus::program, "integer division by zero");
      if (wideUnsigned) return wrap(type, op == Op::div ? ua / ub : ua % ub);
      if (b == -1) return op == Op::div ? wrap(type, 0 - ua) : 0;  // the smallest integer has no positive counterpart
      return wrap(type, bits(op == Op::div ? a / b : a % b));
    case Op::neg: return wrap(type, 0 - ua);
    case Op::min: return less ? a : b;
    case Op::max: return less ? b : a;
    case Op::abs: return info(type).isSigned && a < 0 ? wrap(type, 0 - ua) : a;
    case Op::bitAnd: return wrap(type, ua & ub);
    case Op::bitOr: return wrap(type, ua | ub);
    case Op::bitXor: return wrap(type, ua ^ ub);
    case Op::shl: return wrap(type, ua << amount);
    case Op::shr: return wideUnsigned ? wrap(type, ua >> amount) : wrap(type, bits(a >> amount));
    case Op::bitNot: return wrap(type, ~ua);
    case Op::rotateBits: return wrap(type, amount == 0 ? ua : pattern << amount | pattern >> (width - amount));
    case Op::popcount: return std::popcount(pattern);
    case Op::clz: return std::countl_zero(pattern) - (64 - width);
    case Op::mulHigh: {
      __extension__ using Wide = __int128;
      const Wide product = wideUnsigned ? static_cast<Wide>(static_cast<unsigned __int128>(ua) * ub) : Wide(a) * b;
      return wrap(type, static_cast<std::uint64_t>(product >> width));
    }
    default: throw InternalError("apply: no such operation on integers");
  }
}

template <class T>
bool compareAs(Op op, T a, T b) {
  switch (op) {
    case Op::lt: return a < b;
    case Op::le: return a <= b;
    case Op::gt: return a > b;
    case Op::ge: return a >= b;
    case Op::eq: return a == b;
    case Op::ne: return a != b;
    default: throw InternalError("apply: not a comparison");
  }
}

bool comparison(Op op, const ScalarValue& a, const ScalarValue& b) {
  if (isFloat(a.type)) return compareAs(op, a.real, b.real);
  if (a.type == Scalar::u64)
    return compareAs(op, static_cast<std::uint64_t>(a.integer), static_cast<std::uint64_t>(b.integer));
  return compareAs(op, a.integer, b.integer);
}

bool admits(Op op, OpTyping typing, Scalar t) {
  switch (typing) {
    case OpTyping::numeric: return t != Scalar::boolean;
    case OpTyping::floating: return isFloat(t);
    case OpTyping::integral: return isInteger(t);
    case OpTyping::comparison: return t != Scalar::boolean || op == Op::eq || op == Op::ne;
    case OpTyping::logical: return t == Scalar::boolean;
    case OpTyping::selection: return true;
  }
  return false;
}

}  // namespace

const OpInfo& info(Op op) { return table[static_cast<int>(op)]; }

bool isAtomic(Op op, Scalar scalar) {
  const bool isOfNumbers = op == Op::add || op == Op::mul || op == Op::min || op == Op::max;
  const bool isOfBits = op == Op::bitAnd || op == Op::bitOr || op == Op::bitXor;
  if (scalar == Scalar::f32) return isOfNumbers;
  return (isOfNumbers || isOfBits) && (scalar == Scalar::i32 || scalar == Scalar::u32);
}

std::optional<Op> opNamed(std::string_view name) {
  for (const OpInfo& row : table)
    if (row.name == name) return row.op;
  return std::nullopt;
}

std::optional<Op> opInfix(std::string_view spelling) {
  if (spelling.empty()) return std::nullopt;
  for (const OpInfo& row : table)
    if (row.infix == spelling) return row.op;
  return std::nullopt;
}

std::optional<Scalar> resultType(Op op, std::span<const Scalar> operands) {
  const OpInfo& row = info(op);
  if (operands.size() != static_cast<std::size_t>(row.arity)) return std::nullopt;
  if (row.typing == OpTyping::selection) {
    if (operands[0] != Scalar::boolean) return std::nullopt;
    operands = operands.subspan(1);
  }
  for (const Scalar t : operands)
    if (t != operands[0] || !admits(op, row.typing, t)) return std::nullopt;
  return row.typing == OpTyping::comparison ? Scalar::boolean : operands[0];
}

ScalarValue ScalarValue::of(Scalar type, double value) {
  ScalarValue result{type, 0, 0};
  if (isFloat(type))
    result.real = roundTo(type, value);
  else if (type == Scalar::boolean)
    result.integer = value != 0;
  else
    result.integer = saturate(type, value);
  return result;
}

ScalarValue ScalarValue::ofInteger(Scalar type, std::int64_t value) {
  ScalarValue result{type, 0, 0};
  if (type == Scalar::f32)
    result.real = static_cast<float>(value);  // rounds once, where a detour through double would round twice
  else if (isFloat(type))
    result.real = roundTo(type, static_cast<double>(value));
  else if (type == Scalar::boolean)
    result.integer = value != 0;
  else
    result.integer = wrap(type, static_cast<std::uint64_t>(value));
  return result;
}

ScalarValue ScalarValue::extreme(Scalar type, Extreme end) {
  const bool isLowest = end == Extreme::lowest;
  if (isFloat(type)) return of(type, isLowest ? -INFINITY : INFINITY);
  if (type == Scalar::boolean) return ofInteger(type, isLowest ? 0 : 1);
  const int bits = static_cast<int>(info(type).bytes) * 8;
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);  // the bit of the sign
  const std::uint64_t least = info(type).isSigned ? top : 0;
  return ofInteger(type, static_cast<std::int64_t>(isLowest ? least : ~least));
}

namespace {

template <class Bits>
std::uint64_t loadBits(const std::byte* from) {
  Bits bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

template <class Bits>
void storeBits(std::byte* to, std::uint64_t value) {
  const auto bits = static_cast<Bits>(value);
  std::memcpy(to, &bits, sizeof bits);
}

}  // namespace

ScalarValue loadScalar(Scalar type, const std::byte* from) {
  const std::size_t bytes = info(type).bytes;
  const std::uint64_t bits = bytes == 1   ? loadBits<std::uint8_t>(from)
                             : bytes == 2 ? loadBits<std::uint16_t>(from)
                             : bytes == 4 ? loadBits<std::uint32_t>(from)
                                          : loadBits<std::uint64_t>(from);
  if (type == Scalar::boolean) return {type, 0, bits != 0 ? 1 : 0};
  if (!isFloat(type)) return {type, 0, wrap(type, bits)};
  if (isHalf(type)) return {type, halfToFloat(static_cast<std::uint16_t>(bits)), 0};
  if (type == Scalar::f32) return {type, std::bit_cast<float>(static_cast<std::uint32_t>(bits)), 0};
  return {type, std::bit_cast<double>(bits), 0};
}

void storeScalar(Scalar type, std::byte* to, const ScalarValue& value) {
  auto bits = static_cast<std::uint64_t>(value.integer);
  if (isHalf(type)) bits = doubleToHalf(value.real);
  if (type == Scalar::f32) bits = std::bit_cast<std::uint32_t>(static_cast<float>(value.real));
  if (type == Scalar::f64) bits = std::bit_cast<std::uint64_t>(value.real);
  const std::size_t bytes = info(type).bytes;
  if (bytes == 1) storeBits<std::uint8_t>(to, bits);
  if (bytes == 2) storeBits<std::uint16_t>(to, bits);
  if (bytes == 4) storeBits<std::uint32_t>(to, bits);
  if (bytes == 8) storeBits<std::uint64_t>(to, bits);
}

bool identical(const ScalarValue& a, const ScalarValue& b) {
  if (a.type != b.type) return false;
  if (!isFloat(a.type)) return a.integer == b.integer;
  if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) && std::isnan(b.real);
  return a.real == b.real && std::signbit(a.real) == std::signbit(b.real);
}

double ScalarValue::asDouble() const {
  if (isFloat(type)) return real;
  if (type == Scalar::u64) return static_cast<double>(static_cast<std::uint64_t>(integer));
  return static_cast<double>(integer);
}

ScalarValue apply(Op op, std::span<const ScalarValue> operands) {
  const OpInfo& row = info(op);
  ensure(operands.size() == static_cast<std::size_t>(row.arity), "apply: wrong number of operands");
  Scalar types[3] = {};
  for (std::size_t i = 0; i < operands.size(); ++i) types[i] = operands[i].type;
  const std::optional<Scalar> type = resultType(op, std::span(types).first(operands.size()));
  ensure(type.has_value(), "apply: operand types do not fit the operation");

  ScalarValue result{*type, 0, 0};
  switch (row.typing) {
    case OpTyping::comparison: result.integer = comparison(op, operands[0], operands[1]); break;
    case OpTyping::logical:
      result.integer = op == Op::logicalAnd  ? operands[0].truth() && operands[1].truth()
                       : op == Op::logicalOr ? operands[0].truth() || operands[1].truth()
                                             : !operands[0].truth();
      break;
    case OpTyping::selection: return operands[0].truth() ? operands[1] : operands[2];
    case OpTyping::numeric:
    case OpTyping::floating:
    case OpTyping::integral:
      // Twice the digits of h16 and more are enough to round once more after.
      if (*type == Scalar::f64 || *type == Scalar::h16)
        result.real = roundTo(*type, floatOperation<double>(op, operands));
      else if (isFloat(*type))
        result.real = floatOperation<float>(op, operands);
      else
        result.integer = integerOperation(op, *type, operands);
      break;
  }
  return result;
}

ScalarValue convert(const ScalarValue& value, Scalar to) {
  if (isFloat(value.type)) return ScalarValue::of(to, value.real);
  if (value.type == Scalar::u64 && isFloat(to)) {
    const auto bits = static_cast<std::uint64_t>(value.integer);
    ScalarValue result{to, 0, 0};
    result.real =
        to == Scalar::f32 ? static_cast<double>(static_cast<float>(bits)) : roundTo(to, static_cast<double>(bits));
    return result;
  }
  return ScalarValue::ofInteger(to, value.integer);
}

}  // namespace lift
