// Private to bounds: one dimension of a convolution.
#pragma once

#include <cstdint>
#include <vector>

#include "lift/conv.hpp"

namespace lift::bounds {

struct Axis {
  std::int64_t in, out, taps, stride, distance, before;  // `distance` of neighbouring taps, `before`: padding

  static Axis rows(const ConvSpec& c) { return {c.ih, c.oh, c.kh, c.sh, c.dh + 1, c.padTop}; }
  static Axis columns(const ConvSpec& c) { return {c.iw, c.ow, c.kw, c.sw, c.dw + 1, c.padLeft}; }

  std::int64_t place(std::int64_t window, std::int64_t tap) const { return window * stride - before + tap * distance; }
  bool isInside(std::int64_t place) const { return place >= 0 && place < in; }

  std::int64_t inside() const;                                // pairs of a window and a tap that lie in the input
  std::int64_t usedTaps() const { return usedTaps(0, out); }  // taps of which some pair does
  std::int64_t usedTaps(std::int64_t first, std::int64_t count) const;
  std::int64_t mostReuse() const;  // pairs that read one element, at most
  // Elements of the input that windows first … first + count - 1 read.
  std::int64_t read(std::int64_t first, std::int64_t count) const;
  std::int64_t read() const { return read(0, out); }
  // What tiles of so many windows read: summed over all tiles, and the most of one.
  struct Tiled {
    std::int64_t tiles = 0, inputs = 0, mostInputs = 0, taps = 0;
  };
  Tiled tiled(std::int64_t windows) const;
};

// The sizes of tiles of n elements that differ in the number of tiles, ascending; multiples of `unit`.
std::vector<std::int64_t> tileSizes(std::int64_t n, std::int64_t unit = 1);

}  // namespace lift::bounds
