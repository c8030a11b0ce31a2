#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "family.hpp"
#include "lift/conv.hpp"

namespace lift {

namespace {

struct LayoutInfo {
  Layout layout;
  std::string_view name;
  bool weights;
  std::string_view order;  // a letter for each dimension; of blocks C, of the channels of one c
  std::int64_t block = 1;
};
constexpr LayoutInfo layouts[] = {
    {Layout::nchw, "nchw", false, "nchw"},
    {Layout::nhwc, "nhwc", false, "nhwc"},
    {Layout::nChw16c, "nChw16c", false, "nChwc", 16},
    {Layout::nChw8c, "nChw8c", false, "nChwc", 8},
    {Layout::oihw, "oihw", true, "oihw"},
    {Layout::ohwi, "ohwi", true, "ohwi"},
};
const LayoutInfo& infoOf(Layout layout) { return layouts[static_cast<int>(layout)]; }

struct Axis {
  char name;
  std::int64_t size, stride;
};

// A tensor's axes in memory, outermost first, with channels in blocks.
std::vector<Axis> axesOf(const LayoutInfo& layout, const std::vector<std::int64_t>& shape, std::int64_t block) {
  ensure(shape.size() == layout.order.size(), "a tensor's rank is not its layout's");
  std::vector<Axis> axes;
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    const bool divided = layout.order[d] == 'c' && layout.block == 1 && block > 1;
    ensure(!divided || shape[d] % block == 0, "blocks do not divide the channels");
    axes.insert(axes.begin(), {layout.order[d], divided ? block : shape[d], stride});
    if (divided) axes.insert(axes.begin(), {'C', shape[d] / block, stride * block});
  }
  return axes;
}

// Copies what the axes from `d` on span.
void copyAxes(const std::vector<Axis>& axes, std::size_t d, const std::byte* from, std::byte*& to, std::size_t bytes) {
  if (d == axes.size()) {
    std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  for (std::int64_t i = 0; i < axes[d].size; i++)
    copyAxes(axes, d + 1, from + static_cast<std::size_t>(i * axes[d].stride) * bytes, to, bytes);
}

}  // namespace

std::string_view layoutName(Layout layout) { return infoOf(layout).name; }

std::optional<Layout> layoutNamed(std::string_view name) {
  for (const LayoutInfo& row : layouts)
    if (row.name == name) return row.layout;
  return std::nullopt;
}

bool isWeightLayout(Layout layout) { return infoOf(layout).weights; }
std::int64_t blockOf(Layout layout) { return infoOf(layout).block; }

ConvLayouts freeLayouts(const ConvSpec& layer, std::int64_t lanes) {
  if (lanes == 0) return {};
  const auto widest = [lanes](std::int64_t channels) {
    for (const Layout blocked : {Layout::nChw16c, Layout::nChw8c})
      if (blockOf(blocked) <= std::max<std::int64_t>(8, lanes) && channels % blockOf(blocked) == 0) return blocked;
    return Layout::nhwc;
  };
  constexpr ConvLayouts planes{Layout::nchw, Layout::ohwi, Layout::nchw};
  const bool isPlane = detail::hasFewKernels(layer) && layer.sh * layer.sw == 1 && detail::prefersPlanes(layer, planes);
  if (layer.groups == 1) return isPlane ? planes : ConvLayouts{};
  return {widest(layer.ic), Layout::ohwi, widest(layer.oc)};
}

std::string ConvLayouts::str() const {
  std::string text;
  const auto add = [&](const char* tensor, Layout layout, Layout natural) {
    if (layout != natural) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", tensor, layoutName(layout));
  };
  add("input", input, Layout::nhwc);
  add("weights", weights, Layout::ohwi);
  add("output", output, Layout::nhwc);
  if (elements != Scalar::f32) text += fmt::format("{}elements {}", text.empty() ? "" : ", ", info(elements).name);
  return text;
}

std::map<std::string, Tensor> ConvTensors::in(const ConvLayouts& layouts) const {
  return {{"input", convertLayout(input, Layout::nhwc, layouts.input)},
          {"weights", convertLayout(weights, Layout::ohwi, layouts.weights)},
          {"biases", bias}};
}

Tensor convertLayout(const Tensor& tensor, Layout from, Layout to) {
  ensure(isWeightLayout(from) == isWeightLayout(to), "activations and weights have different layouts");
  const std::int64_t block = std::max(blockOf(from), blockOf(to));
  if (std::min(blockOf(from), blockOf(to)) > 1 && from != to)  // blocks of different sizes
    return convertLayout(convertLayout(tensor, from, Layout::nhwc), Layout::nhwc, to);
  const std::vector<Axis> source = axesOf(infoOf(from), tensor.shape, block);
  std::vector<Axis> axes;  // the source's, in the destination's order
  std::vector<std::int64_t> shape;
  for (const char name : infoOf(to).order) {
    const bool whole = name == 'c' && blockOf(to) == 1 && block > 1;  // blocks, and their channels
    shape.push_back(1);
    for (const char part : whole ? std::string("Cc") : std::string(1, name)) {
      axes.push_back(*std::ranges::find_if(source, [&](const Axis& a) { return a.name == part; }));
      shape.back() *= axes.back().size;
    }
  }
  Tensor result(tensor.scalar, shape);
  std::byte* out = result.bytes.data();
  copyAxes(axes, 0, tensor.bytes.data(), out, info(tensor.scalar).bytes);
  return result;
}

}  // namespace lift
