// Private to conv: convolutions in programs that know nothing of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lift/conv.hpp"
#include "lift/operator.hpp"

namespace lift::detail {

// The layer that every element of the term is an output of, however the term is written: operands in any layout of
// arrays, sums in any order, a bias, and what is computed of each output besides. Nothing where it is none, or no
// layer of f32, f16 or h16 in two dimensions at most: `why` says so.
struct Recognised {
  ConvSpec spec;
  ConvLayouts layouts;        // those of the arrays, where they are such; natural ones otherwise
  std::vector<Expr> sources;  // what it reads
  // The same as the layer's program between layouts:
  //   let input = … in let weights = … in let biases = … in layouts of the result(map(…, the layer's program))
  Expr restated = Expr::nat(0);
  rewrite::Path layer;  // where the layer's program is
};
std::optional<Recognised> recogniseConv(Expr term, std::string* why = nullptr);

// From a term to `restated`.
rewrite::Rule convRule();

// As Operator::recognise has it.
std::optional<OperatorMatch> matchConv(Expr term);

}  // namespace lift::detail
