// What terms cost, in scalar operations: the decisions of the default mapping rest on these numbers alone.
#pragma once

#include <unordered_map>

#include "lift/terms.hpp"

namespace lift::detail {

// Results that several windows share are stored when one costs more operations than this; cheaper ones are computed
// again for every window. A load and a store, and a launch, are worth some dozen operations; without a bound, a chain
// of stencils would cost operations exponential in its length.
constexpr double recomputedOperations = 16;
// A map whose function computes; layouts alone are written through.
bool computesElements(Expr e);
bool computesArray(Expr e);
// Whether elements of the arguments occur several times in the result: windows that overlap, also of inner rows.
bool sharesElements(const Spine& s);
// Elements of an array.
double elementsOf(Expr array);
// How often a primitive runs its functions.
double evaluations(const Spine& s);
// How often the term, of which one element is evaluated, reads the variable.
double occurrences(Expr e, Expr variable);

// How often each element of the array that the variable stands for is read when the term is evaluated completely,
// about: 1 where it is read by one element of a map over it, 3 by windows of three, n by a map over n others.
double readsOfElement(Expr e, Expr variable);

// Operations of evaluating terms completely.
class Work {
 public:
  double of(Expr e);

 private:
  std::unordered_map<Expr, double> known_;
};

}  // namespace lift::detail
