#include <fmt/format.h>

#include <array>
#include <cstring>

#include "lift/conv.hpp"

namespace lift {

namespace {

struct LayoutInfo {
  Layout layout;
  std::string_view name;
  bool weights;
};
constexpr LayoutInfo layouts[] = {
    {Layout::nchw, "nchw", false},
    {Layout::nhwc, "nhwc", false},
    {Layout::oihw, "oihw", true},
    {Layout::ohwi, "ohwi", true},
};

}  // namespace

std::string_view layoutName(Layout layout) { return layouts[static_cast<int>(layout)].name; }

std::optional<Layout> layoutNamed(std::string_view name) {
  for (const LayoutInfo& row : layouts)
    if (row.name == name) return row.layout;
  return std::nullopt;
}

bool isWeightLayout(Layout layout) { return layouts[static_cast<int>(layout)].weights; }

std::string ConvLayouts::str() const {
  std::string text;
  const auto add = [&](const char* tensor, Layout layout, Layout natural) {
    if (layout != natural) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tensor, layoutName(layout));
  };
  add("input", input, Layout::nhwc);
  add("weights", weights, Layout::ohwi);
  add("output", output, Layout::nhwc);
  return text;
}

std::map<std::string, Tensor> ConvTensors::in(const ConvLayouts& layouts) const {
  return {{"input", convertLayout(input, Layout::nhwc, layouts.input)},
          {"weights", convertLayout(weights, Layout::ohwi, layouts.weights)},
          {"biases", bias}};
}

Tensor convertLayout(const Tensor& tensor, Layout from, Layout to) {
  ensure(tensor.shape.size() == 4, "layouts are of rank-4 tensors");
  ensure(isWeightLayout(from) == isWeightLayout(to), "activations and weights have different layouts");
  // from[d] is the position in the source of the destination's dimension d.
  std::array<std::size_t, 4> source{};
  for (std::size_t d = 0; d < 4; ++d) source[d] = layoutName(from).find(layoutName(to)[d]);
  std::array<std::int64_t, 4> strides{};
  std::array<std::int64_t, 4> sourceStrides{1, 1, 1, 1};
  for (std::size_t d = 3; d-- > 0;) sourceStrides[d] = sourceStrides[d + 1] * tensor.shape[d + 1];
  std::vector<std::int64_t> shape(4);
  for (std::size_t d = 0; d < 4; ++d) {
    shape[d] = tensor.shape[source[d]];
    strides[d] = sourceStrides[source[d]];
  }
  Tensor result(tensor.scalar, shape);
  const std::size_t bytes = info(tensor.scalar).bytes;
  std::byte* out = result.bytes.data();
  for (std::int64_t a = 0; a < shape[0]; ++a)
    for (std::int64_t b = 0; b < shape[1]; ++b)
      for (std::int64_t c = 0; c < shape[2]; ++c) {
        const std::int64_t start = a * strides[0] + b * strides[1] + c * strides[2];
        for (std::int64_t d = 0; d < shape[3]; ++d, out += bytes)
          std::memcpy(out, tensor.bytes.data() + static_cast<std::size_t>(start + d * strides[3]) * bytes, bytes);
      }
  return result;
}

}  // namespace lift
