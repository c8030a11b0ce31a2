// Private to conv: a convolution layer as it is read off one element of its result (affine.hpp). Each index of an
// operand is a sum of digits with coefficients: a digit counts a loop, or a part of one where an index was divided.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lift/affine.hpp"
#include "recognise.hpp"

namespace lift::detail::layers {

using affine::Access;
using affine::Digit;
using affine::Element;
using affine::Form;
using Digits = std::vector<Digit>;

// Thrown where a term is no layer: why.
struct Not {
  std::string why;
};

inline bool has(const Digits& digits, Digit d) { return std::ranges::find(digits, d) != digits.end(); }
inline void append(Digits& digits, const Digits& more) { digits.insert(digits.end(), more.begin(), more.end()); }

// Rows and columns of the input, which are no digits of the element.
constexpr Digit rowsOfInput = -1, columnsOfInput = -2;

// Digits and their extents.
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

// The digits of a form that are wanted, as an index of their own times `unit`.
struct Index {
  Digits digits;
  std::int64_t unit = 1;
};
// Nothing where they are not one index.
std::optional<Index> indexOf(
    const Form& form, const Extents& extents, const std::function<bool(Digit)>& wanted = [](Digit) { return true; });

Digits outermostFirst(const Form& form);  // the digits by the sizes of their coefficients

// Rows or columns: outputs o and taps k read elements stride * o + dilation * k + offset of [first, end).
struct Axis {
  int dimension = -1;  // of the input; none: one element
  Digits outputs, taps;
  std::int64_t stride = 1, dilation = 1, offset = 0, first = 0, end = 1, padding = 0;
};

struct Layer {
  const Access* input = nullptr;
  const Access* weights = nullptr;
  Axis rows, columns;
  Digits images, groups, channels, kernels;
  ConvSpec spec;
};

// The layer of these operands whose outputs are the elements. Throws Not where it is none.
Layer readLayer(const Element& element, const affine::Sum& sum, const Extents& extents, const Access& input,
                const Access& weights);

// The element's array as the layer's program between layouts; `sum` stands for the layer's sum in the element's value.
Recognised restated(const Element& element, const Layer& layer, const Extents& extents, Expr sum);

}  // namespace lift::detail::layers
