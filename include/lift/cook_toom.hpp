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

// Points that round little: 0, then pairs of opposite ones, of which 5/8 and 3/2 are the best pair for F(4, 3).
std::vector<Rational> defaultPoints(int m, int r);

// How much more than a direct sum the algorithm rounds, for outputs of `dimensions` nested filters: the factor by which
// errors of random inputs grow, from the matrices' norms (cook_toom.cpp). 1 is as exact as a direct sum.
double amplification(const CookToom& f, int dimensions);

// A linear map by a matrix, as a function of an array of numbers in the language: factors 0 and 1 are not there,
// and sums that several results share have a name. "fun x => let a = x[1] + x[2] in [x[0] + a, …]"
std::string linearMap(const Matrix& matrix);

// Rules made for sizes and points. Their names say what they are made of, so that a derivation replays them:
//   cookToom<4,3: 0 5/8 -5/8 3/2 -3/2>      a filter of one dimension
//   cookToom2D<4,3: 0 5/8 -5/8 3/2 -3/2>    of two dimensions, by rows and by columns
// Throws UserError (usage) for a name of this form that is none. ruleNamed finds them.
const Rule& cookToomRule(int dimensions, int m, int r, const std::vector<Rational>& points);
bool isCookToomName(std::string_view name);
const Rule& cookToomNamed(std::string_view name);

}  // namespace lift::rewrite
