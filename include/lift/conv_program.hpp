// The convolution layer as a program: Listing 3 of the Lift paper, for every ConvSpec.
#pragma once

#include "lift/conv.hpp"
#include "lift/expr.hpp"

namespace lift {

// The layer in the natural layouts of ConvSpec, of elements of one type: parameters weights, biases and input, all
// sizes constant. Batch and groups are maps around Listing 3, dilation picks the taps from each window.
Program convProgram(const ConvSpec& spec, Scalar elements = Scalar::f32);

// A layer's program, or what was derived from it, with tensors in other layouts: permutations of dimensions around it,
// which are views and cost no copy.
Program withLayouts(Program program, const ConvLayouts& layouts);

}  // namespace lift
