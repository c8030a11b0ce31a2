// Terms up to the identity of bound variables.
#pragma once

#include <unordered_map>
#include <vector>

#include "lift/expr.hpp"

namespace lift {

// One term for all that differ only in the identity of bound variables and in the places of primitives: what one object
// gives for them is the same. Shared terms are visited once, where their text may be exponentially long.
class Canonical {
 public:
  Expr operator()(Expr e) { return of(e).term; }

 private:
  struct Known {
    Expr term;
    std::size_t height;  // of lambdas within each other, by which their parameters are chosen
  };
  Known of(Expr e);
  Expr parameter(std::size_t height, Type type);

  std::unordered_map<Expr, Known> known_;
  std::vector<std::unordered_map<Type, Expr>> parameters_;
};

}  // namespace lift
