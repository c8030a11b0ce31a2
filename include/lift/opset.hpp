// Operators of tensors beside 2D convolution: products with matrices, bilinear forms, convolutions in one to three
// dimensions and their transposes, block-circulant products, shifts. Each is a program of a few lines, a reference in
// plain loops, and the families that what it is made of has: of the program's parts (parts.hpp), or of the 2D
// convolution (conv_operator.hpp) that it is between other layouts.
//
// Definitions, all sums over what stands on the right only:
//   gemv       out[i] = a[i][k] x[k]                                       "m1024k512"
//   gemm       out[n][i][j] = a[n][i][k] b[n][k][j]                        "b2m64n48k32"; without a batch no n
//   bilinear   out[i][j] = a[i][k] b[j][k][l] c[i][l]                      "i8j16k32l32"
//   bcm        out[n][p b + r] = w[p][q][(r - s) mod b] x[n][q b + s]      "n64p4q4b16": block-circulant matrix
//   shift      out[n][y][x][c] = images[n][y s - p + i (d+1)][x s - p + j (d+1)][c], at[c] = k i + j; zero outside
//   conv3d     the convolution of conv.hpp in one, two or three dimensions
//   deconv     its transpose: out is what conv3d's gradient with respect to the input is
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lift/operator.hpp"

namespace lift {

// gemv, gemm, bilinear, bcm, shift, conv3d, deconv.
std::vector<Operator> tensorOperators();

// One axis of a convolution. Of a transposed one, `in` and `out` are its own input and output.
struct ConvAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1;
  std::int64_t dilation = 0;  // minus one: elements between taps
  std::int64_t padStart = 0;  // zeros; of a transposed convolution outputs that are left away
  std::int64_t padEnd = 0;

  std::int64_t step() const { return dilation + 1; }                 // distance of taps
  std::int64_t extent() const { return (kernel - 1) * step() + 1; }  // what a window spans
  bool operator==(const ConvAxis&) const = default;
};

// A convolution or its transpose. Tensors have the channels innermost:
//   input [batch][in…][ic], weights [oc][kernel…][ic/groups], biases [oc], output [batch][out…][oc]
// where … are the last `rank` of depth, rows and columns; the others have one element.
struct ConvNdSpec {
  bool transposed = false;
  int rank = 3;
  std::int64_t groups = 1, batch = 1, ic = 0, oc = 0;
  std::array<ConvAxis, 3> axes;  // depth, rows, columns
  std::string name;

  std::string str() const;  // canonical; parseConvNd gives back an equal spec, but for the name
  std::int64_t icPerGroup() const { return ic / groups; }
  std::int64_t ocPerGroup() const { return oc / groups; }
  std::int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  std::int64_t operations() const;  // two for each tap of each window, as ConvSpec counts them
  std::vector<std::int64_t> inputShape() const;
  std::vector<std::int64_t> weightShape() const;
  std::vector<std::int64_t> outputShape() const;

  bool operator==(const ConvNdSpec&) const = default;
};

// benchdnn's tokens, "ic64id16ih28oc128kd3kh3pd1ph1": axes d, h and w. The highest axis that is mentioned is the rank;
// what an axis lacks is its neighbour's. Strides are 1, dilations and paddings 0 where none is given; the output's size
// follows or fixes the padding at the end, as with parseConv. Throws UserError (program) with all errors at their
// places.
ConvNdSpec parseConvNd(std::string_view text, bool transposed);

// In plain loops with double accumulation.
Tensor convNdReference(const ConvNdSpec& spec, const Tensor& input, const Tensor& weights, const Tensor& biases);

// "conv3d" or "deconv".
Workload convNdWorkload(const ConvNdSpec& spec);

}  // namespace lift
