// An array whose elements are brought into another order by layouts alone. Each of its indices is a sum of digits
// (affine.hpp): the array is taken apart into them and put together again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lift/affine.hpp"

namespace lift::affine {

using Digits = std::vector<Digit>;

inline bool has(const Digits& digits, Digit d) { return std::ranges::find(digits, d) != digits.end(); }
inline void append(Digits& digits, const Digits& more) { digits.insert(digits.end(), more.begin(), more.end()); }

// Thrown where a term is not what is looked for: why.
struct Not {
  std::string why;
};

// Digits and their extents; those below 0 are no digits of the element, and have the extents that they are given.
class Extents {
 public:
  explicit Extents(const Element& e) : element_(e) {}
  void set(Digit virtualDigit, std::int64_t extent) { virtual_[virtualDigit] = extent; }
  std::int64_t of(Digit d) const { return d < 0 ? virtual_.at(d) : element_.extents[static_cast<std::size_t>(d)]; }
  std::int64_t of(const Digits& digits) const {
    std::int64_t n = 1;
    for (const Digit d : digits) n *= of(d);
    return n;
  }

 private:
  const Element& element_;
  std::map<Digit, std::int64_t> virtual_;
};

Digits outermostFirst(const Form& form);  // the digits by the sizes of their coefficients

// Starts from an array whose dimensions are given digits one by one, from the outermost on: `add` for each. Then
// `arrange` brings the digits into other dimensions. All throw Not where no layout does.
class Arranged {
 public:
  Arranged(Expr array, const Extents& extents) : array_(array), extents_(extents) {}

  Expr array() const { return array_; }

  // Of the next dimension only the `count` elements from the index `from` on are kept.
  void part(std::int64_t from, std::int64_t count);
  // The next dimension is these digits.
  void add(const Digits& digits);
  // The elements of the next dimension that the form reads are its digits; those outside of it are zeros.
  void add(const Form& form);
  // Copies of the array for all values of the digits that it does not depend on.
  void repeat(const Digits& digits);
  // Each dimension joined of its digits; all together those that there are.
  void arrange(const std::vector<Digits>& wanted);

 private:
  Type typeAt(int depth) const;
  std::int64_t padded(std::int64_t from, std::int64_t count);
  void added(const Digits& digits);
  // f of each array of the dimension `depth`.
  void each(int depth, const std::function<Expr(Expr)>& f);

  Expr array_;
  const Extents& extents_;
  Digits order_;
  int dims_ = 0;
};

}  // namespace lift::affine
