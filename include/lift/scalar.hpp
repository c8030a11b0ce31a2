// Scalar types, shared by tensors, types of terms and kernels: one table row each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lift {

enum class Scalar : std::uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, h16, f32, f64 };

// How one scalar type appears everywhere.
struct ScalarInfo {
  Scalar scalar;
  std::string_view name;    // in Lift text: "f32", "bool"
  std::string_view opencl;  // in OpenCL C registers and buffers: "float"; bool is stored as uchar
  std::string_view c;       // in C, in arrays: "int32_t"; f16 is its bits
  std::string_view npy;     // dtype in .npy headers without byte order: "f4", "b1"
  std::size_t bytes;
  bool isFloat, isSigned;
};

// The table, in the order of the enumeration.
const ScalarInfo& info(Scalar scalar);
std::optional<Scalar> scalarNamed(std::string_view name);
inline constexpr int scalarCount = 13;

inline bool isFloat(Scalar s) { return info(s).isFloat; }
inline bool isInteger(Scalar s) { return !info(s).isFloat && s != Scalar::boolean; }

// IEEE binary16, of two types, as ARM's compilers have __fp16 and _Float16: f16 is a storage type, widened to f32 where
// it is loaded; h16 is computed in, and rounds after each operation.
inline bool isHalf(Scalar s) { return s == Scalar::f16 || s == Scalar::h16; }
// Whether elements of both are the same bytes with the same meaning, so that a tensor of one serves as the other.
inline bool sameInMemory(Scalar a, Scalar b) { return a == b || (isHalf(a) && isHalf(b)); }

// IEEE binary16 conversions, round to nearest even; used wherever one is stored. Every bit pattern survives
// half -> float -> half, NaN payloads included. The double form rounds once, not through float.
float halfToFloat(std::uint16_t bits);
std::uint16_t floatToHalf(float value);
std::uint16_t doubleToHalf(double value);

}  // namespace lift
