// A layer in the format of ONNX (onnx.proto, IR version 8, operator set 13): one Conv, NCHW, whose weights and bias are
// constants of the model.
#pragma once

#include <string>

#include "lift/conv.hpp"

namespace lift::bench {

// The bytes of the model; its input is called "X", its output "Y". Tensors are f32, in the natural layouts.
std::string onnxModel(const ConvSpec& spec, const ConvTensors& tensors);

}  // namespace lift::bench
