// A convolution as matrix products: the windows of an image become the rows of a matrix.
#pragma once

#include <cstdint>

#include "lift/conv.hpp"

namespace lift::bench {

// Columns of the matrix of one channel group: what a window reads, [kh][kw][ic/g], as the weights are laid out.
// Writes oh*ow such rows, on all cores; `image` is [ih][iw][ic], taps in the padding are zero.
void im2col(const ConvSpec& spec, std::int64_t group, const float* image, float* columns);

// Whether that matrix is the image itself: one tap, stride one, no padding, one group.
bool im2colIsIdentity(const ConvSpec& spec);

}  // namespace lift::bench
