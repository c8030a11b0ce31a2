#include "im2col.hpp"

#include <algorithm>

#include "lift/parallel.hpp"

namespace lift::bench {

void im2col(const ConvSpec& s, std::int64_t group, const float* image, float* columns) {
  const std::int64_t channels = s.icPerGroup();
  parallelFor(s.oh, [&](std::int64_t y) {
    float* to = columns + y * s.ow * s.reduction();
    for (std::int64_t x = 0; x < s.ow; ++x)
      for (std::int64_t i = 0; i < s.kh; ++i)
        for (std::int64_t j = 0; j < s.kw; ++j, to += channels) {
          const std::int64_t inY = y * s.sh - s.padTop + i * (s.dh + 1), inX = x * s.sw - s.padLeft + j * (s.dw + 1);
          if (inY >= 0 && inY < s.ih && inX >= 0 && inX < s.iw)
            std::copy_n(image + (inY * s.iw + inX) * s.ic + group * channels, channels, to);
          else
            std::fill_n(to, channels, 0.0F);
        }
  });
}

bool im2colIsIdentity(const ConvSpec& s) {
  return s.kh == 1 && s.kw == 1 && s.sh == 1 && s.sw == 1 && s.groups == 1 && s.oh == s.ih && s.ow == s.iw &&
         s.padTop == 0 && s.padLeft == 0;
}

}  // namespace lift::bench
