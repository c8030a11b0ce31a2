// Counts, and their division into tiles and vectors. All numbers are positive.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lift {

// Of indices and sizes in kernels, which are `int` where nothing says that they may be larger.
inline constexpr std::int64_t largestInt = 2147483647;

constexpr std::int64_t ceilDiv(std::int64_t n, std::int64_t k) { return (n + k - 1) / k; }

// The least multiple of k that is not less than n.
constexpr std::int64_t roundedUp(std::int64_t n, std::int64_t k) { return ceilDiv(n, k) * k; }

// The largest divisor of n that is not greater than `most`.
constexpr std::int64_t largestDivisor(std::int64_t n, std::int64_t most) {
  for (std::int64_t d = std::min(n, most); d > 1; d--)
    if (n % d == 0) return d;
  return 1;
}

// The widest vector of OpenCL C, in elements, into which n elements divide: 16, 8, 4, 2 or 1.
constexpr std::int64_t widestVector(std::int64_t n) {
  std::int64_t width = 16;
  while (n % width != 0) width /= 2;
  return width;
}

}  // namespace lift
