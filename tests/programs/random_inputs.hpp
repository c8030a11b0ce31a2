// Inputs of programs whose sizes are known.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lift/expr.hpp"
#include "lift/tensor.hpp"

namespace lift {

// A tensor for each parameter, or each component of one, that depends on its name and the seed alone.
inline std::map<std::string, Tensor> randomInputs(const Program& program, std::uint64_t seed) {
  std::map<std::string, Tensor> inputs;
  for (const Expr p : program.parameters)
    for (const Leaf& leaf : leavesOf(p.type())) {
      std::vector<std::int64_t> shape;
      for (const Nat n : leaf.shape) shape.push_back(n.constant().value());
      Tensor t(leaf.scalar, std::move(shape));
      fillRandom(t, seed, p.name() + leaf.path);
      inputs.emplace(p.name() + leaf.path, std::move(t));
    }
  return inputs;
}

}  // namespace lift
