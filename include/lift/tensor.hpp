// Dense row-major tensors in host memory, and their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lift/scalar.hpp"

namespace lift {

// A dense array: `bytes` holds product(shape) elements of `scalar`, row-major, native byte order. Rank 0 is one scalar.
// Vectors of the language (f32x4) are a trailing dimension of that width.
struct Tensor {
  Scalar scalar = Scalar::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  Tensor() = default;
  // Zero-filled.
  Tensor(Scalar scalar, std::vector<std::int64_t> shape);

  std::int64_t size() const;  // number of elements
  // Element access with conversion through double (exact for every type but 64-bit integers beyond 2^53).
  double get(std::int64_t index) const;
  void set(std::int64_t index, double value);
  template <class T> T* data() { return reinterpret_cast<T*>(bytes.data()); }
  template <class T> const T* data() const { return reinterpret_cast<const T*>(bytes.data()); }
  std::string describe() const;  // "f32[3][224]"
};

// .npy format versions 1, 2 and 3; C or Fortran order (converted), little or big endian (converted).
// Throws UserError (status program) that names the file and what is wrong with it: missing, truncated, bad magic,
// malformed header, unsupported dtype, size mismatch. Never allocates more than the file can hold.
Tensor readNpy(const std::filesystem::path& path);
Tensor parseNpy(std::string_view contents, const std::string& name);
// Written to a temporary file beside it and renamed.
void writeNpy(const std::filesystem::path& path, const Tensor& tensor);
std::string formatNpy(const Tensor& tensor);

// .npz: a zip archive of .npy members, stored or deflated; keys without the ".npy".
std::map<std::string, Tensor> readNpz(const std::filesystem::path& path);
std::map<std::string, Tensor> parseNpz(std::string_view contents, const std::string& name);
void writeNpz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);

// Deterministic on every platform (own generator): floats uniform in [-1, 1) with 24 random bits, integers uniform
// in [-8, 8) or [0, 16), booleans fair. Different `stream` strings (the input's name) give independent data.
void fillRandom(Tensor& tensor, std::uint64_t seed, std::string_view stream);

struct Difference {
  double maxAbs = 0;       // largest |a - b|
  double maxRel = 0;       // largest |a - b| / max(|b|, floor)
  std::int64_t at = -1;    // element of the largest relative difference
  bool sameShape = true;
  bool finite = true;      // false when one side is NaN or infinite and the other is not the same
};
// `floor` keeps the relative error meaningful near zero: errors are taken relative to max(|expected|, floor).
Difference compare(const Tensor& actual, const Tensor& expected, double floor);

}  // namespace lift
