#include "lift/tensor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "lift/diagnostic.hpp"
#include "lift/free_memory.hpp"

namespace lift {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
// Bytes of a dense array, or a UserError. Zero extents do not excuse absurd ones: strides must stay computable.
std::size_t byteCount(Scalar scalar, const std::vector<std::int64_t>& shape) {
  std::int64_t bytes = static_cast<std::int64_t>(info(scalar).bytes);
  bool empty = false;
  for (const std::int64_t extent : shape) {
    ensure(extent >= 0, "Tensor: negative extent");
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, extent, &bytes))
      throw UserError(ExitStatus::program, "a tensor of this shape does not fit into memory");
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

std::size_t offsetOf(const Tensor& tensor, std::int64_t index) {
  const std::size_t width = info(tensor.scalar).bytes;
  ensure(index >= 0 && static_cast<std::uint64_t>(index) < tensor.bytes.size() / width, "Tensor: index out of range");
  return static_cast<std::size_t>(index) * width;
}

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// splitmix64.
struct Generator {
  std::uint64_t state;
  std::uint64_t next() { return mix(state += 0x9E3779B97F4A7C15u); }
};

// |a - b|, exact where double is not: on 64-bit integers.
double distance(const ScalarValue& a, const ScalarValue& b) {
  if (isFloat(a.type) || a.type != b.type) return std::fabs(a.asDouble() - b.asDouble());
  const auto ua = static_cast<std::uint64_t>(a.integer);
  const auto ub = static_cast<std::uint64_t>(b.integer);
  const bool less = a.type == Scalar::u64 ? ua < ub : a.integer < b.integer;
  return static_cast<double>(less ? ub - ua : ua - ub);
}

}  // namespace

Tensor::Tensor(Scalar type, std::vector<std::int64_t> extents) : scalar(type), shape(std::move(extents)) {
  const std::size_t count = byteCount(scalar, shape);
  // What is smaller is as well tried.
  constexpr std::size_t large = std::size_t{64} << 20U;
  if (const std::int64_t left = count < large ? 0 : freeMemory(); count >= large && std::cmp_greater(count, left))
    throw UserError(
        ExitStatus::program,
        fmt::format("a tensor {} does not fit into memory: it needs {} bytes, {} are free", describe(), count, left));
  try {
    bytes.resize(count);
  } catch (const std::exception&) {  // bad_alloc or length_error
    throw UserError(ExitStatus::program, fmt::format("a tensor {} does not fit into memory", describe()));
  }
}

std::int64_t Tensor::size() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return 0;
    count *= extent;
  }
  return count;
}

double Tensor::get(std::int64_t index) const { return at(index).asDouble(); }

void Tensor::set(std::int64_t index, double value) {
  storeScalar(scalar, bytes.data() + offsetOf(*this, index), ScalarValue::of(scalar, value));
}

ScalarValue Tensor::at(std::int64_t index) const { return loadScalar(scalar, bytes.data() + offsetOf(*this, index)); }

void Tensor::put(std::int64_t index, const ScalarValue& value) {
  storeScalar(scalar, bytes.data() + offsetOf(*this, index), convert(value, scalar));
}

std::string Tensor::describe() const {
  std::string text(info(scalar).name);
  for (const std::int64_t extent : shape) text += fmt::format("[{}]", extent);
  return text;
}

void fillRandom(Tensor& tensor, std::uint64_t seed, std::string_view stream) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : stream) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  Generator generator{mix(seed + 0x9E3779B97F4A7C15u) ^ mix(hash)};
  const Scalar scalar = tensor.scalar;
  const std::size_t width = info(scalar).bytes;
  ScalarValue value{scalar, 0, 0};
  for (std::size_t at = 0; at + width <= tensor.bytes.size(); at += width) {
    const std::uint64_t bits = generator.next() >> 40;  // 24 bits
    if (isHalf(scalar))
      value.real = static_cast<double>(bits >> 13) * 0x1p-10 - 1.0;  // more bits would round some values up to 1
    else if (isFloat(scalar))
      value.real = static_cast<double>(bits) * 0x1p-23 - 1.0;
    else if (scalar == Scalar::boolean)
      value.integer = static_cast<std::int64_t>(bits >> 23);
    else
      value.integer = static_cast<std::int64_t>(bits >> 20) - (info(scalar).isSigned ? 8 : 0);
    storeScalar(scalar, tensor.bytes.data() + at, value);
  }
}

Difference compare(const Tensor& actual, const Tensor& expected, double floor) {
  Difference result;
  if (actual.shape != expected.shape) {
    result.sameShape = false;
    result.maxAbs = result.maxRel = infinity;
    return result;
  }
  const std::int64_t count = expected.size();
  for (std::int64_t i = 0; i < count; ++i) {
    const ScalarValue a = actual.at(i);
    const ScalarValue b = expected.at(i);
    const double x = a.asDouble();
    const double y = b.asDouble();
    double abs = 0;
    double rel = 0;
    if (std::isfinite(x) && std::isfinite(y)) {
      abs = distance(a, b);
      if (abs != 0) rel = abs / std::fmax(std::fabs(y), floor);
    } else if (x != y && !(std::isnan(x) && std::isnan(y))) {
      result.finite = false;
      abs = rel = infinity;
    }
    result.maxAbs = std::fmax(result.maxAbs, abs);
    if (rel > result.maxRel || (rel > 0 && result.at < 0)) {
      result.maxRel = rel;
      result.at = i;
    }
  }
  return result;
}

double largestMagnitude(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (const double value = std::fabs(tensor.get(i)); std::isfinite(value)) largest = std::fmax(largest, value);
  return largest;
}

double rootMeanSquare(const Tensor& tensor) {
  const double largest = largestMagnitude(tensor);
  if (largest == 0) return 0;
  const double unit = std::ldexp(1.0, std::ilogb(largest));  // the squares of f64 would overflow
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (const double value = tensor.get(i); std::isfinite(value)) {
      sum += (value / unit) * (value / unit);
      ++count;
    }
  return unit * std::sqrt(sum / static_cast<double>(count));
}

double largestError(const std::map<std::string, Tensor>& actual, const std::map<std::string, Tensor>& expected) {
  double worst = 0;
  for (const auto& [name, wanted] : expected) {
    const auto found = actual.find(name);
    if (found == actual.end()) return infinity;
    worst = std::fmax(worst, compare(found->second, wanted, rootMeanSquare(wanted)).maxRel);
  }
  return worst;
}

}  // namespace lift
