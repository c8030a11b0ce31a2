// The reference interpreter: what every primitive means. Slow, eager, obviously right; the judge of everything else.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lift/expr.hpp"
#include "lift/tensor.hpp"

namespace lift {

// A value of the language. Vectors and arrays are both sequences; the type tells them apart.
struct Value {
  using Sequence = std::vector<Value>;
  std::variant<ScalarValue, std::shared_ptr<const Sequence>> data;  // sequence: array, vector or tuple
};

// Tensors of a value's leaves and back: {"": t} for arrays and scalars, {".0": …, ".1": …} for tuples of arrays.
std::map<std::string, Tensor> toTensors(const Value& value, Type type);
Value fromTensors(const std::map<std::string, Tensor>& leaves, Type type);

// Runs a program whose sizes are all constants (see specialise). Inputs are named as the parameters, with leaf paths
// appended ("bodies.0"). The result has the leaf paths appended to "out". Throws UserError (status program) for an
// index out of range or a division by zero, naming the primitive.
std::map<std::string, Tensor> interpret(const Program& program, const std::map<std::string, Tensor>& inputs);

}  // namespace lift
