// Convolution layers as an operator: forward 2D cross-correlation with bias, of the families naive, blocked and
// paper, and by Winograd's algorithms (docs/winograd.md).
//
//   const Workload layer = convWorkload(parseConv("ic64ih56oc64kh3ph1"));
//   const Variant v = derive(layer, "blocked");
//
// All variants of a layer compute the same function of weights, biases and input in the layouts asked for, and are
// compiled with weights and biases as constants: what depends on them alone is prepared once.
#pragma once

#include "lift/conv.hpp"
#include "lift/operator.hpp"

namespace lift {

// "conv". Descriptors are parseConv's, and may name layouts: "ic64ih56oc64kh3ph1 with input nchw, weights oihw".
Operator convOperator();

// Its tolerance is convTolerance's of f32, its judge oneDNN where the build has it, else convReference.
Workload convWorkload(const ConvSpec& spec, const ConvLayouts& layouts = {});

}  // namespace lift
