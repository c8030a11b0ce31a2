// Private to mapping: the form of a program that mapping starts from.
#pragma once

#include "cost.hpp"
#include "walk.hpp"

namespace lift::detail {

// Brings a program into the form that mapping starts from: names of mere rearrangements are inlined, nests are nested
// maps, reductions of arrays are reductions by element, by row or by index (or skip steps that change nothing) as it
// pays, nothing is computed twice within loops that `pays` to be named, and names stand in front of what uses them.
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
  using Change = std::function<Expr(Expr)>;
  Expr flatArguments(Expr e, std::size_t from, bool isFlat, const Change& below);

  std::function<bool(Expr)> pays_;
};

}  // namespace lift::detail
