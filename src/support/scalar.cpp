#include "lift/scalar.hpp"

#include <bit>
#include <limits>

namespace lift {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

namespace {

constexpr ScalarInfo table[] = {
    // scalar, Lift, OpenCL C, C, npy, bytes, float, signed
    {Scalar::boolean, "bool", "uchar", "uint8_t", "b1", 1, false, false},
    {Scalar::i8, "i8", "char", "int8_t", "i1", 1, false, true},
    {Scalar::u8, "u8", "uchar", "uint8_t", "u1", 1, false, false},
    {Scalar::i16, "i16", "short", "int16_t", "i2", 2, false, true},
    {Scalar::u16, "u16", "ushort", "uint16_t", "u2", 2, false, false},
    {Scalar::i32, "i32", "int", "int32_t", "i4", 4, false, true},
    {Scalar::u32, "u32", "uint", "uint32_t", "u4", 4, false, false},
    {Scalar::i64, "i64", "long", "int64_t", "i8", 8, false, true},
    {Scalar::u64, "u64", "ulong", "uint64_t", "u8", 8, false, false},
    {Scalar::f16, "f16", "half", "uint16_t", "f2", 2, true, true},
    {Scalar::h16, "h16", "half", "_Float16", "f2", 2, true, true},
    {Scalar::f32, "f32", "float", "float", "f4", 4, true, true},
    {Scalar::f64, "f64", "double", "double", "f8", 8, true, true},
};
static_assert(std::size(table) == scalarCount);

consteval bool inOrder() {
  for (int i = 0; i < scalarCount; ++i)
    if (static_cast<int>(table[i].scalar) != i) return false;
  return true;
}
static_assert(inOrder());

// Narrows an IEEE format given as bits (with `Mantissa` mantissa bits and exponent bias `bias`) to binary16.
template <class Bits, int Mantissa, int bias>
std::uint16_t narrow(Bits bits) {
  constexpr int width = static_cast<int>(sizeof(Bits)) * 8;
  constexpr Bits one = 1;
  constexpr Bits fractionMask = (one << Mantissa) - 1;
  constexpr int maxExponent = 2 * bias + 1;
  const auto sign = static_cast<std::uint16_t>((bits >> (width - 16)) & 0x8000u);
  const int exponent = static_cast<int>((bits >> Mantissa) & static_cast<Bits>(maxExponent));
  const Bits fraction = bits & fractionMask;

  if (exponent == maxExponent) {
    if (fraction == 0) return sign | 0x7C00u;
    // The upper payload survives; a payload that would vanish must not turn the NaN into infinity.
    const auto payload = static_cast<std::uint16_t>(fraction >> (Mantissa - 10));
    return static_cast<std::uint16_t>(sign | 0x7C00u | (payload != 0 ? payload : 0x200u));
  }
  const int e = exponent - bias + 15;  // exponent field of the result, were it normal
  if (e >= 31) return sign | 0x7C00u;
  if (e < -10) return sign;  // below half of the smallest subnormal (zeros and subnormals of the source too)
  const Bits significand = fraction | (one << Mantissa);
  const int shift = Mantissa - 10 + (e <= 0 ? 1 - e : 0);
  Bits result = significand >> shift;
  const Bits rest = significand & ((one << shift) - 1);
  const Bits half = one << (shift - 1);
  if (rest > half || (rest == half && (result & 1) != 0)) ++result;
  // The implicit bit adds one to the exponent field; a carry out of the fraction moves on to the next exponent, from
  // the largest subnormal to the smallest normal and from the largest finite to infinity.
  if (e > 0) result += static_cast<Bits>(e - 1) << 10;
  return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(result));
}

}  // namespace

const ScalarInfo& info(Scalar scalar) { return table[static_cast<int>(scalar)]; }

std::optional<Scalar> scalarNamed(std::string_view name) {
  for (const ScalarInfo& row : table)
    if (row.name == name) return row.scalar;
  return std::nullopt;
}

float halfToFloat(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
  const std::uint32_t fraction = bits & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

std::uint16_t floatToHalf(float value) { return narrow<std::uint32_t, 23, 127>(std::bit_cast<std::uint32_t>(value)); }

std::uint16_t doubleToHalf(double value) {
  return narrow<std::uint64_t, 52, 1023>(std::bit_cast<std::uint64_t>(value));
}

}  // namespace lift
