// Cook-Toom algorithms: m outputs of a filter with r taps by m + r - 1 products, and the rules that state them.
//
//   const CookToom f = cookToom(4, 3, defaultPoints(4, 3));
//   // y = AT · ((G · g) ⊙ (BT · d)) is y[i] = sum over j of d[i + j] * g[j]
//
// A polynomial of degree m + r - 2 is known by its values at m + r - 2 finite points and at infinity; the filter is the
// transpose of the product of two polynomials (Winograd 1980; Lavin and Gray, CVPR 2016, for convolutions). Everything
// is computed in fractions, so that the identity holds exactly; the choice of points decides how floating-point numbers
// round (Barabasz et al., arXiv 1803.10986).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lift/rational.hpp"
#include "lift/rewrite.hpp"

namespace lift::rewrite {

using Matrix = std::vector<std::vector<Rational>>;

struct CookToom {
  int m = 0, r = 0;
  std::vector<Rational> points;  // m + r - 2 finite ones; infinity is always the last
  Matrix at;                     // m by m + r - 1, of the products
  Matrix g;                      // m + r - 1 by r, of the taps
  Matrix bt;                     // m + r - 1 by m + r - 1, of the inputs
};

// Throws UserError (program) where the points are not m + r - 2 different ones, or m or r is below 1.
CookToom cookToom(int m, int r, const std::vector<Rational>& points);
CookToom cookToom(int m, int r);  // at the default points

// Sets of points to choose from, the default first: 0, then pairs of opposite ones. Some round less, some have cheaper
// coefficients; where one is the best of both, it stands alone. In each the pairs' sizes are in the same order, so that
// the matrices' signs are the same. Throws UserError (program) where none are known: above m + r = 20.
std::vector<std::vector<Rational>> goodPoints(int m, int r);
std::vector<Rational> defaultPoints(int m, int r);  // the first: 5/8 and 3/2 for F(4, 3), which round little

// How much more than a sum of products the algorithm rounds: the growth of the errors of random inputs, an upper
// estimate from the matrices' norms (cook_toom.cpp). Of algorithms that are nested the factors multiply.
double amplification(const CookToom& f);

// A linear map by a matrix, as a function of an array of numbers in the language: factors 0 and 1 are not there,
// and sums that several results share have a name. "fun x => let s0 = x[1] + x[2] in [x[0] + s0, …]"
std::string linearMap(const Matrix& matrix);

// The rule that one algorithm, for filters of one dimension, or two, for rows and columns of such of two, state. Its
// name says what it is made of, so that a derivation can be replayed:
//   cookToom<4,3: 0 5/8 -5/8 3/2 -3/2>
//   cookToom<2,3: 0 1 -1; 4,5: 0 1 -1 2 -2 1/2 -1/2>
const Rule& cookToomRule(const std::vector<CookToom>& dimensions);
// The same with algorithms of the same m and r to choose from in a dimension: which one is taken says the rule's
// tunable `points`, from 1 on, or the last where there are fewer. Coefficients are lists, of which each takes its
// element.
//   cookToom<4,3: 0 5/8 -5/8 3/2 -3/2 | 0 1 -1 2 -2>
const Rule& cookToomRule(const std::vector<std::vector<CookToom>>& dimensions);
// ruleNamed's part of the names. Throws UserError (usage) for one that is no such rule's.
bool isCookToomName(std::string_view name);
const Rule& cookToomNamed(std::string_view name);
std::vector<std::vector<CookToom>> cookToomDimensions(std::string_view name);  // its algorithms

}  // namespace lift::rewrite
