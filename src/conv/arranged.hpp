// Private to conv: an array whose elements are brought into another order by layouts alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "layers.hpp"

namespace lift::detail::layers {

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
  // The elements of the next dimension that the form reads are its digits.
  void add(const Form& form);
  // Copies of the array for all values of the digits that it does not depend on.
  void repeat(const Digits& digits);
  // Each dimension joined of its digits; all together those that there are.
  void arrange(const std::vector<Digits>& wanted);

 private:
  Type typeAt(int depth) const;
  void added(const Digits& digits);
  // f of each array of the dimension `depth`.
  void each(int depth, const std::function<Expr(Expr)>& f);

  Expr array_;
  const Extents& extents_;
  Digits order_;
  int dims_ = 0;
};

}  // namespace lift::detail::layers
