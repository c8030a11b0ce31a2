// How an array of floats is kept in an OpenCL image.
#pragma once

#include <cstdint>

namespace lift {

// In two dimensions, four channels: element i is in texel i / 4, of which a row has `rowTexels`. Kernels access whole
// texels; the last row may be filled in part.
struct ImageLayout {
  static constexpr std::int64_t texelElements = 4, rowTexels = 1024;
  static constexpr std::int64_t rowElements = texelElements * rowTexels;
};

}  // namespace lift
