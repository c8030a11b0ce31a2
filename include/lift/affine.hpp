// One element of a term as an expression of elements of arrays, read off the term through all layouts:
//
//   out[y][x][k] = relu(bias[k] + sum over i, j, c of in[y + i - 1][x + j - 1][c] * weights[k][i][j][c])
//
// A place in an array is, for each dimension, a sum of multiples of digits: indices of the result and of sums, and
// where an index is divided on the way (as `join` does) the parts of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lift/expr.hpp"

namespace lift::affine {

using Digit = int;  // a number in Element::extents

struct Form {
  std::int64_t constant = 0;
  std::map<Digit, std::int64_t> terms;  // coefficients, none of them 0

  bool operator==(const Form&) const = default;
};

// Outside of 0 <= index < length the element is zero: it was padded.
struct Guard {
  Form index;
  std::int64_t length = 0;
};

struct Access {
  Expr source;  // an array: a free variable of the term, or what is computed of such
  std::vector<Form> place;
  std::vector<Guard> guards;
};

// init + the sum over all values of the digits of `term`.
struct Sum {
  Expr init, term;
  std::vector<Digit> digits;  // the last varies fastest
};

struct Element {
  std::vector<std::int64_t> extents;  // of the digits
  std::vector<std::vector<Digit>>
      result;                 // of each dimension of the result; the last varies fastest; of one element none
  Expr value = Expr::nat(0);  // a scalar of the variables below
  std::map<std::uint64_t, Access> accesses;  // what variables stand for, by their ids
  std::map<std::uint64_t, Sum> sums;
  bool slides = false;  // whether windows slide on the way to what is read
};

// Nothing where the term's elements are no such expressions: `why` says so. Sizes must be constant.
std::optional<Element> elementOf(Expr term, std::string* why = nullptr);

}  // namespace lift::affine
