// What kernels are made for: properties of a device and of its compiler that change their code, not what they may use.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace lift {

struct CompileTarget {
  bool isC = false;  // kernels are compiled as C where they are plain C, else as OpenCL C
  // A graphics processor: it joins what neighbouring work-items read and write side by side, each a number at a time.
  bool isGpu = false;
  // Copies of f16 that kernels leave to each other are numbers of f32, too, not halves: for devices that convert halves
  // by code, which inner loops would run for every element that they read.
  bool wideCopies = false;
  // Bytes of a vector register, for compilers that keep wider vectors in memory, as GCC does; 0: vectors of any width.
  int vectorBytes = 0;
  // Bytes of a cache line, for processors: lines of large results are asked for before they are stored to; 0: they are
  // not.
  int lineBytes = 0;
  // Bytes of the last cache, of such processors: larger results are stored past it; 0: none are.
  std::int64_t cacheBytes = 0;
  // Work-items that a group may have, and in each dimension.
  std::int64_t groupSize = std::numeric_limits<std::int64_t>::max();
  std::array<std::int64_t, 3> groupSizes{groupSize, groupSize, groupSize};
};

}  // namespace lift
