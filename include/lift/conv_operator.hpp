// Convolution layers as an operator: forward 2D cross-correlation with bias, by the families of docs/convolutions.md
// and, of Winograd's algorithms, docs/winograd.md.
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

// "conv". Descriptors are parseConv's, and may name layouts and elements: "ic64ih56oc64kh3ph1 with input nchw, elements
// f16".
Operator convOperator();

// Its tolerance is convTolerance's, its judge oneDNN where the build has it and the elements are f32, else
// convReference.
Workload convWorkload(const ConvSpec& spec, const ConvLayouts& layouts = {});

// The layer of a workload of this operator; nothing of others.
std::optional<ConvSpec> layerOf(const Workload& workload);

}  // namespace lift
