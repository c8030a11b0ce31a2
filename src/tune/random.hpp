// Random numbers that are the same on every platform, which the standard's distributions are not.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace lift::tune {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // in [0, 1)
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(unit() * static_cast<double>(n)); }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; i--) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace lift::tune
