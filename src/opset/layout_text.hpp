// Private to opset: layouts of arrays of several dimensions, as text of the language.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lift/expr.hpp"

namespace lift::opset {

// "[2][3]f32"
std::string typeText(const std::vector<std::int64_t>& shape, std::string_view element = "f32");

// A pipe of layouts behind the name of an array, or of several. Dimensions are counted from the outermost, 0.
class LayoutText {
 public:
  LayoutText(std::string name, std::vector<std::int64_t> shape);

  void each(int depth, const std::string& function);  // at every element below so many dimensions; keeps the shape
  void split(int dimension, std::int64_t inner);
  void join(int dimension);  // with the next one
  void move(int from, int to);
  void pad(int dimension, std::int64_t start, std::int64_t end);  // zeros; negative: crops
  void part(int dimension, std::int64_t from, std::int64_t count);
  void reverse(int dimension);

  const std::vector<std::int64_t>& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  // def layout(name: …) = name |> …
  Program program() const;
  const std::string& text() const { return text_; }

  // `count` elements from `from` on of a result that is written where it belongs.
  void resultPart(int dimension, std::int64_t from, std::int64_t count);
  // Windows of `taps` elements, `step` apart, every `stride` elements: a dimension of them after this one.
  void windows(int dimension, std::int64_t taps, std::int64_t step, std::int64_t stride);
  // `more` behind it along the outermost dimension.
  void append(const LayoutText& more);
  // `zeros` zeros after each element but the last.
  void spread(int dimension, std::int64_t zeros);
  // Every element so many times in a row.
  void repeat(int dimension, std::int64_t times);

 private:
  std::int64_t& size(int dimension) { return shape_[static_cast<std::size_t>(dimension)]; }

  std::string parameters_, text_;
  std::vector<std::int64_t> shape_;
};

// The program with `layout`'s result in place of the parameter that has the layout's name.
void readThrough(Program& program, const Program& layout);
// The program whose result goes through the layout.
void writeThrough(Program& program, const Program& layout);

}  // namespace lift::opset
