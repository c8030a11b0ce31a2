#include "lift/inputs.hpp"

#include <utility>
#include <vector>

namespace lift {

Program atValues(const Program& program, const std::map<std::string, std::int64_t>& values) {
  std::map<NatVar, Nat> known;
  for (const auto* variables : {&program.sizes, &program.tunables})
    for (const NatVar v : *variables)
      if (const auto given = values.find(v.name()); given != values.end()) known.emplace(v, Nat(given->second));
  return specialise(program, known);
}

std::map<std::string, Tensor> randomInputs(const Program& program, std::uint64_t seed) {
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
