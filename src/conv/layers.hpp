// Private to conv: a convolution layer as it is read off one element of its result (affine.hpp). Each index of an
// operand is a sum of digits with coefficients: a digit counts a loop, or a part of one where an index was divided.
#pragma once

#include <functional>
#include <optional>

#include "lift/affine.hpp"
#include "lift/arranged.hpp"
#include "recognise.hpp"

namespace lift::detail::layers {

using affine::Access;
using affine::append;
using affine::Digit;
using affine::Digits;
using affine::Element;
using affine::Extents;
using affine::Form;
using affine::has;
using affine::Not;  // thrown where a term is no layer
using affine::outermostFirst;

// Rows and columns of the input, which are no digits of the element.
constexpr Digit rowsOfInput = -1, columnsOfInput = -2;

// The digits of a form that are wanted, as an index of their own times `unit`.
struct Index {
  Digits digits;
  std::int64_t unit = 1;
};
// Nothing where they are not one index.
std::optional<Index> indexOf(
    const Form& form, const Extents& extents, const std::function<bool(Digit)>& wanted = [](Digit) { return true; });

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
