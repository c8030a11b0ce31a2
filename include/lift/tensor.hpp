// Dense row-major tensors in host memory, and their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lift/ops.hpp"
#include "lift/scalar.hpp"

namespace lift {

// A dense array: `bytes` holds product(shape) elements of `scalar`, row-major, native byte order. Rank 0 is one scalar.
// Vectors of the language (f32x4) are a trailing dimension of that width.
struct Tensor {
  Scalar scalar = Scalar::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;

  Tensor() = default;
  // Zero-filled. Extents must not be negative (InternalError); sizes that no memory holds throw UserError.
  Tensor(Scalar scalar, std::vector<std::int64_t> shape);

  std::int64_t size() const;  // number of elements
  // Element access with conversion through double (exact for every type but 64-bit integers beyond 2^53).
  double get(std::int64_t index) const;
  void set(std::int64_t index, double value);
  // The same, exact for every type: `put` converts as C does, so an f16 narrows here.
  ScalarValue at(std::int64_t index) const;
  void put(std::int64_t index, const ScalarValue& value);
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
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

// .npz: a zip archive of .npy members, stored or deflated; keys without the ".npy". Other members are passed over.
// Checksums are verified; damaged, encrypted or overlapping members throw UserError (status program). Written stored,
// with a fixed time, so that equal tensors give equal files.
std::map<std::string, Tensor> readNpz(const std::filesystem::path& path);
std::map<std::string, Tensor> parseNpz(std::string_view contents, const std::string& name);
void writeNpz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);
std::string formatNpz(const std::map<std::string, Tensor>& tensors);

// Binary PGM (P5) and PPM (P6) with a maximal value up to 255, as u8[h][w] and u8[h][w][3]; samples as they stand in
// the file. Formatting clamps other element types to 0..255 and rounds; the shape chooses between the two formats.
Tensor parseImage(std::string_view contents, const std::string& name);
std::string formatImage(const Tensor& tensor);

// By extension: .npy, .pgm, .ppm. Another extension throws UserError with status usage, a file that is missing or
// damaged, or a tensor that the format cannot hold, with status program.
Tensor readTensorFile(const std::filesystem::path& path);
void writeTensorFile(const std::filesystem::path& path, const Tensor& tensor);

// Deterministic on every platform (own generator): floats uniform in [-1, 1) with 24 random bits (of half: 11, exact),
// integers uniform in [-8, 8) or, unsigned, [0, 16), booleans fair. Different `stream` strings (the input's name) give
// independent data.
void fillRandom(Tensor& tensor, std::uint64_t seed, std::string_view stream);

struct Difference {
  double maxAbs = 0;     // largest |a - b|; infinite when shapes or non-finite elements differ
  double maxRel = 0;     // largest |a - b| / max(|b|, floor); infinite likewise
  std::int64_t at = -1;  // element of the largest relative difference; -1 when all are equal
  bool sameShape = true;
  bool finite = true;  // false when one side is NaN or infinite and the other is not the same
};
// `floor` keeps the relative error meaningful near zero: errors are taken relative to max(|expected|, floor).
Difference compare(const Tensor& actual, const Tensor& expected, double floor);

// What errors are taken relative to. Both of the finite elements alone: beside an infinity every error would be small.
double largestMagnitude(const Tensor& tensor);
double rootMeanSquare(const Tensor& tensor);
// Of results by name: the largest error relative to max(|expected|, root mean square of all expected). Infinite where a
// result is missing, has another shape, or is no number where there should be one.
double largestError(const std::map<std::string, Tensor>& actual, const std::map<std::string, Tensor>& expected);

}  // namespace lift
