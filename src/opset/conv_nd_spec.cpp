// Descriptors of convolutions in one to three dimensions, and of their transposes.
#include <fmt/format.h>

#include <algorithm>

#include "fields.hpp"
#include "lift/integers.hpp"
#include "lift/opset.hpp"

namespace lift {

namespace {

using opset::Fields;
using opset::Key;

constexpr std::string_view letters = "dhw";
constexpr std::string_view sizes = "iokspd";  // of each axis
constexpr std::array<std::string_view, 3> lines = {"planes", "rows", "columns"};
constexpr std::array<std::string_view, 6> meanings = {"input",     "output",     "kernel",
                                                      "stride of", "padding of", "dilation of"};

// "id", "ih", … "dw"
std::string_view keyOf(std::size_t size, std::size_t axis) {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> keys;
    for (const char s : sizes)
      for (const char a : letters) keys.push_back({s, a});
    return keys;
  }();
  return all[size * 3 + axis];
}
enum Size : std::size_t { in, out, kernel, stride, padding, dilation };

std::vector<Key> keys() {
  std::vector<Key> all = {
      {"g", "groups", 1, 1}, {"mb", "batch", 1, 1}, {"ic", "input channels"}, {"oc", "output channels"}};
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> made;
    for (const std::string_view meaning : meanings)
      for (const std::string_view line : lines) made.push_back(fmt::format("{} {}", meaning, line));
    return made;
  }();
  for (std::size_t s = 0; s < sizes.size(); s++)
    for (std::size_t a = 0; a < 3; a++)
      all.push_back({keyOf(s, a), texts[s * 3 + a], s >= padding ? 0 : 1, 0});  // 0: what is not given yet
  return all;
}

class Reader {
 public:
  Reader(std::string_view text, bool transposed) : fields_(transposed ? "deconv" : "conv3d", text, keys()) {
    spec_.transposed = transposed;
  }

  ConvNdSpec read() {
    fields_.check();
    spec_.groups = fields_.at("g");
    spec_.batch = fields_.at("mb");
    spec_.ic = fields_.at("ic");
    spec_.oc = fields_.at("oc");
    spec_.name = fields_.name();
    for (const std::string_view channels : {"ic", "oc"})
      if (fields_.at(channels) % spec_.groups != 0)
        fields_.error(channels,
                      fmt::format("'{}' is {}, which is not divisible into {} groups ('g')", channels,
                                  fields_.at(channels), spec_.groups),
                      "channels are counted over all groups");
    spec_.rank = 1;
    for (std::size_t axis = 0; axis < 2; axis++)
      if (isMentioned(axis)) spec_.rank = std::max(spec_.rank, static_cast<int>(3 - axis));
    std::string absent;
    for (const std::size_t size : {in, kernel})
      if (valueOf(size, 2) == std::nullopt)
        absent += fmt::format("{}'{}' ({} {})", absent.empty() ? "" : ", ", keyOf(size, 2), meanings[size], lines[2]);
    if (!absent.empty()) fields_.missing(absent);
    fields_.check();
    for (std::size_t axis = first(); axis < 3; axis++) settle(axis);
    fields_.check();
    opset::checkElements(fields_, "the input", spec_.inputShape());
    opset::checkElements(fields_, "the array of weights", spec_.weightShape());
    opset::checkElements(fields_, "the output", spec_.outputShape());
    fields_.check();
    return spec_;
  }

 private:
  std::size_t first() const { return static_cast<std::size_t>(3 - spec_.rank); }
  bool isGiven(std::size_t size, std::size_t axis) const { return fields_.isWritten(keyOf(size, axis)); }
  bool isMentioned(std::size_t axis) const {
    for (std::size_t size = 0; size < sizes.size(); size++)
      if (isGiven(size, axis)) return true;
    return false;
  }

  // What is given for the axis, else for the nearest other one of the descriptor.
  std::optional<std::int64_t> valueOf(std::size_t size, std::size_t axis) const {
    static constexpr std::array<std::array<std::size_t, 3>, 3> nearest = {{{0, 1, 2}, {1, 2, 0}, {2, 1, 0}}};
    for (const std::size_t a : nearest[axis])
      if (a >= first() && isGiven(size, a)) return fields_.at(keyOf(size, a));
    return std::nullopt;
  }

  // An output's size stands for another axis only where the two are equal otherwise.
  std::optional<std::int64_t> outputOf(std::size_t axis) const {
    if (isGiven(out, axis)) return fields_.at(keyOf(out, axis));
    for (std::size_t other = first(); other < 3; other++) {
      const auto same = [&](std::size_t size) { return valueOf(size, axis) == valueOf(size, other); };
      if (isGiven(out, other) && same(in) && same(kernel) && same(stride) && same(padding) && same(dilation))
        return fields_.at(keyOf(out, other));
    }
    return std::nullopt;
  }

  void settle(std::size_t axis) {
    ConvAxis& a = spec_.axes[axis];
    a.in = *valueOf(in, axis);
    a.kernel = *valueOf(kernel, axis);
    a.stride = valueOf(stride, axis).value_or(1);
    a.dilation = valueOf(dilation, axis).value_or(0);
    const auto pad = valueOf(padding, axis);
    const auto output = outputOf(axis);
    a.padStart = pad.value_or(0);
    if (a.extent() > largestInt)
      return fields_.error(keyOf(kernel, axis),
                           fmt::format("the kernel spans more than {} {}", largestInt, lines[axis]));
    spec_.transposed ? settleTransposed(axis, a, pad, output) : settleDirect(axis, a, pad, output);
  }

  void settleDirect(std::size_t axis, ConvAxis& a, std::optional<std::int64_t> pad,
                    std::optional<std::int64_t> output) {
    if (!output) {
      if (a.extent() > a.in + 2 * a.padStart)
        return fields_.error(keyOf(kernel, axis), fmt::format("a kernel of {} {} is larger than the padded input of {}",
                                                              a.extent(), lines[axis], a.in + 2 * a.padStart));
      a.out = (a.in + 2 * a.padStart - a.extent()) / a.stride + 1;
    } else {
      a.out = *output;
      const std::int64_t all = (a.out - 1) * a.stride + a.extent() - a.in;  // padding on both sides
      if (!pad) a.padStart = std::max<std::int64_t>(0, all) / 2;
      checkEnd(axis, a, all - a.padStart, pad.has_value());
    }
    a.padEnd = std::max<std::int64_t>(0, (a.out - 1) * a.stride + a.extent() - a.in - a.padStart);
  }

  void settleTransposed(std::size_t axis, ConvAxis& a, std::optional<std::int64_t> pad,
                        std::optional<std::int64_t> output) {
    const std::int64_t full = (a.in - 1) * a.stride + a.extent();
    if (!output) {
      a.out = full - 2 * a.padStart;
      if (a.out < 1)
        return fields_.error(keyOf(padding, axis),
                             fmt::format("padding {} leaves none of {} {}", a.padStart, full, lines[axis]));
    } else {
      a.out = *output;
      if (!pad) a.padStart = std::max<std::int64_t>(0, full - a.out) / 2;
      checkEnd(axis, a, full - a.out - a.padStart, pad.has_value());
    }
    a.padEnd = std::max<std::int64_t>(0, full - a.out - a.padStart);
  }

  // `end` is the padding there that the output's size asks for; negative where lines are left over.
  void checkEnd(std::size_t axis, const ConvAxis& a, std::int64_t end, bool padGiven) {
    const std::int64_t full = (a.in - 1) * a.stride + a.extent();
    const std::int64_t usual = spec_.transposed
                                   ? full - 2 * a.padStart
                                   : std::max<std::int64_t>(0, a.in + 2 * a.padStart - a.extent()) / a.stride + 1;
    const std::string hint =
        usual < 1 ? "" : fmt::format("stride {} and padding {} on both sides give {}", a.stride, a.padStart, usual);
    if (end <= -a.stride || end > std::max(padGiven ? a.padStart : 0, a.extent() - 1))
      fields_.error(keyOf(out, axis),
                    fmt::format("an output of {} {} does not fit an input of {}: it needs a padding of {} at the end",
                                a.out, lines[axis], a.in, end),
                    hint);
  }

  Fields fields_;
  ConvNdSpec spec_;
};

std::vector<std::int64_t> shapeOf(const ConvNdSpec& s, std::int64_t front, std::int64_t ConvAxis::*size,
                                  std::int64_t channels) {
  std::vector<std::int64_t> shape = {front};
  for (std::size_t axis = static_cast<std::size_t>(3 - s.rank); axis < 3; axis++) shape.push_back(s.axes[axis].*size);
  shape.push_back(channels);
  return shape;
}

}  // namespace

ConvNdSpec parseConvNd(std::string_view text, bool transposed) { return Reader(text, transposed).read(); }

std::string ConvNdSpec::str() const {
  std::string text;
  if (groups != 1) text += fmt::format("g{}", groups);
  text += fmt::format("mb{}ic{}oc{}", batch, ic, oc);
  const std::array<std::int64_t ConvAxis::*, 6> members = {&ConvAxis::in,     &ConvAxis::out,      &ConvAxis::kernel,
                                                           &ConvAxis::stride, &ConvAxis::padStart, &ConvAxis::dilation};
  for (std::size_t size = 0; size < sizes.size(); size++)
    for (std::size_t axis = static_cast<std::size_t>(3 - rank); axis < 3; axis++)
      text += fmt::format("{}{}", keyOf(size, axis), axes[axis].*members[size]);
  return text;
}

std::int64_t ConvNdSpec::operations() const {
  std::int64_t windows = batch;
  for (const ConvAxis& a : axes) windows *= transposed ? a.in : a.out;
  return 2 * windows * oc * icPerGroup() * taps();
}

std::vector<std::int64_t> ConvNdSpec::inputShape() const { return shapeOf(*this, batch, &ConvAxis::in, ic); }
std::vector<std::int64_t> ConvNdSpec::weightShape() const {
  return shapeOf(*this, oc, &ConvAxis::kernel, icPerGroup());
}
std::vector<std::int64_t> ConvNdSpec::outputShape() const { return shapeOf(*this, batch, &ConvAxis::out, oc); }

}  // namespace lift
