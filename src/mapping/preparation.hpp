// Private to mapping: the form of a program that mapping starts from.
#pragma once

#include "cost.hpp"
#include "walk.hpp"

namespace lift::detail {

// Names of what only rearranges are gone, a nest is maps, reductions of arrays are by element, by row or by index as it
// pays, or leave out steps that change nothing, loops compute nothing twice that `pays` to be named, and names stand in
// front of what they are used in.
class Preparation : Walk {
 public:
  Preparation(rewrite::Rewriting& rewriting, std::function<bool(Expr)> pays)
      : Walk(rewriting), pays_(std::move(pays)) {}

  Expr run(Expr e);
  Expr elements(Expr e);   // reductions of arrays as arrays of reductions, from the leaves
  Expr flatNames(Expr e);  // lets moved out of arguments

 private:
  Expr names(Expr e);
  Expr generates(Expr e);
  Expr byKey(Expr e);
  Expr unlessKept(Expr e);
  Expr rows(Expr e, bool inMap);
  Expr invariants(Expr e);
  using Change = std::function<Expr(Expr)>;
  Expr flatArguments(Expr e, std::size_t from, bool isFlat, const Change& below);

  std::function<bool(Expr)> pays_;
};

// The part of a map's body that is below invertible layouts.
Expr underLayouts(Expr e);

}  // namespace lift::detail
