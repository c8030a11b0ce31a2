#include "layout_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lift/diagnostic.hpp"
#include "lift/terms.hpp"
#include "lift/text.hpp"

namespace lift::opset {

std::string typeText(const std::vector<std::int64_t>& shape, std::string_view element) {
  std::string text;
  for (const std::int64_t n : shape) text += fmt::format("[{}]", n);
  return text + std::string(element);
}

LayoutText::LayoutText(std::string name, std::vector<std::int64_t> shape)
    : parameters_(fmt::format("{}: {}", name, typeText(shape))), text_(std::move(name)), shape_(std::move(shape)) {}

void LayoutText::each(int depth, const std::string& function) {
  std::string f = function;
  for (; depth > 0; depth--) f = fmt::format("map({})", f);
  text_ += " |> " + f;
}

void LayoutText::split(int dimension, std::int64_t inner) {
  each(dimension, fmt::format("split({})", inner));
  ensure(size(dimension) % inner == 0, "a split of what it does not divide");
  size(dimension) /= inner;
  shape_.insert(shape_.begin() + dimension + 1, inner);
}

void LayoutText::join(int dimension) {
  each(dimension, "join");
  size(dimension) *= size(dimension + 1);
  shape_.erase(shape_.begin() + dimension + 1);
}

void LayoutText::move(int from, int to) {
  const auto swap = [&](int outer) {
    each(outer, "transpose");
    std::swap(size(outer), size(outer + 1));
  };
  for (; from < to; from++) swap(from);
  for (; from > to; from--) swap(from - 1);
}

void LayoutText::pad(int dimension, std::int64_t start, std::int64_t end) {
  const std::int64_t from = std::max<std::int64_t>(0, -start);
  part(dimension, from, size(dimension) - from - std::max<std::int64_t>(0, -end));
  start = std::max<std::int64_t>(0, start);
  end = std::max<std::int64_t>(0, end);
  if (start == 0 && end == 0) return;
  move(dimension, rank() - 1);
  each(rank() - 1, fmt::format("pad({}, {}, 0.0)", start, end));
  shape_.back() += start + end;
  move(rank() - 1, dimension);
}

void LayoutText::part(int dimension, std::int64_t from, std::int64_t count) {
  if (from > 0) each(dimension, fmt::format("drop({})", from));
  if (from + count < size(dimension)) each(dimension, fmt::format("take({})", count));
  size(dimension) = count;
}

void LayoutText::resultPart(int dimension, std::int64_t from, std::int64_t count) {
  if (from > 0) each(dimension, fmt::format("rotate({})", from));
  if (count < size(dimension)) each(dimension, fmt::format("take({})", count));
  size(dimension) = count;
}

void LayoutText::reverse(int dimension) { each(dimension, "reverse"); }

void LayoutText::windows(int dimension, std::int64_t taps, std::int64_t step, std::int64_t stride) {
  const std::int64_t extent = (taps - 1) * step + 1;
  each(dimension, fmt::format("slide({}, {})", extent, stride));
  size(dimension) = (size(dimension) - extent) / stride + 1;
  shape_.insert(shape_.begin() + dimension + 1, taps);
  if (step == 1) return;
  each(dimension + 1, fmt::format("slide(1, {})", step));
  each(dimension + 1, "join");
}

void LayoutText::spread(int dimension, std::int64_t zeros) {
  const std::int64_t length = (size(dimension) - 1) * (zeros + 1) + 1;
  move(dimension, rank() - 1);
  split(rank() - 1, 1);
  each(rank() - 1, fmt::format("pad(0, {}, 0.0)", zeros));
  shape_.back() = zeros + 1;
  join(rank() - 2);
  part(rank() - 1, 0, length);
  move(rank() - 1, dimension);
}

void LayoutText::repeat(int dimension, std::int64_t times) {
  if (times == 1) return;
  each(dimension, fmt::format("repeat({})", times));
  size(dimension) *= times;
}

void LayoutText::append(const LayoutText& more) {
  parameters_ += ", " + more.parameters_;
  text_ = fmt::format("concat({}, {})", text_, more.text_);
  size(0) += more.shape_[0];
}

Program LayoutText::program() const {
  return parseProgram(
      *addSource("<layout>", fmt::format("def layout({}): {} = {}", parameters_, typeText(shape_), text_)));
}

void readThrough(Program& program, const Program& layout) {
  const Expr own = layout.parameters[0];
  for (Expr& parameter : program.parameters) {
    if (parameter.name() != own.name()) continue;
    program.body = substitute(program.body, parameter, layout.body);
    parameter = own;
  }
}

void writeThrough(Program& program, const Program& layout) {
  program.body = substitute(layout.body, layout.parameters[0], program.body);
}

}  // namespace lift::opset
