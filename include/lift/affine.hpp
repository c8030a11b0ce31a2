// One element of a term as an expression of elements of arrays, read off the term through all layouts:
//
//   out[y][x][k] = relu(bias[k] + sum over i, j, c of in[y + i - 1][x + j - 1][c] * weights[k][i][j][c])
//
// Its indices are affine expressions of digits: the indices of the result and of the sums. An index that a layout
// divides (`join` reads row i / n, column i % n) is several digits, the quotient and the remainder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lift/expr.hpp"

namespace lift::affine {

using Digit = int;  // its number: a position in Element::extents

// constant + the sum of coefficient * digit.
struct Form {
  std::int64_t constant = 0;
  std::map<Digit, std::int64_t> terms;  // coefficients, none of them 0

  bool operator==(const Form&) const = default;
};

// Outside of 0 <= index < length the element is zero: padding.
struct Guard {
  Form index;
  std::int64_t length = 0;
};

// An element of an array, or zero where a guard's index is out of bounds.
struct Access {
  Expr source;              // an array: a free variable of the term, or what is computed of such
  std::vector<Form> place;  // the index in each dimension, outermost first
  std::vector<Guard> guards;
};

// init + the sum over all values of the digits of `term`.
struct Sum {
  Expr init, term;
  std::vector<Digit> digits;  // the last varies fastest
};

struct Element {
  std::vector<std::int64_t> extents;  // of the digits
  // The digits of each dimension of the result, the fastest last; none of a dimension of one element.
  std::vector<std::vector<Digit>> result;
  Expr value = Expr::nat(0);                 // a scalar of the variables below
  std::map<std::uint64_t, Access> accesses;  // what variables stand for, by their ids
  std::map<std::uint64_t, Sum> sums;
  bool slides = false;  // whether windows slide on the way to what is read

  // What the term stands for, if it is one of the accesses' variables; else null.
  const Access* accessOf(Expr e) const {
    const auto found = e.isVariable() ? accesses.find(e.id()) : accesses.end();
    return found == accesses.end() ? nullptr : &found->second;
  }
};

// Nothing where the elements are no such expressions, or a size is not constant: `why` says so.
std::optional<Element> elementOf(Expr term, std::string* why = nullptr);

}  // namespace lift::affine
