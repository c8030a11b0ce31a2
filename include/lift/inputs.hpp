// Programs at values of their sizes, and tensors to run them on.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lift/expr.hpp"
#include "lift/tensor.hpp"

namespace lift {

// The program with the sizes and tunables that `values` names replaced; others stay symbolic, and other names say
// nothing. Throws as specialise().
Program atValues(const Program& program, const std::map<std::string, std::int64_t>& values);

// Inputs as interpret() takes them, of a program whose sizes are constants: a random tensor for each leaf of each
// parameter (see fillRandom), which depends on the leaf's name and the seed alone.
std::map<std::string, Tensor> randomInputs(const Program& program, std::uint64_t seed);

}  // namespace lift
