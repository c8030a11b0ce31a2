// Loops over an array of f32 whose state is an array or a tuple, windows selected by indices, and numbers of other
// types.
#pragma once

#include <optional>

#include "differential/drawing.hpp"

namespace lift::differential {

using Shape = std::vector<std::int64_t>;

class Loops {
 public:
  explicit Loops(Drawing& drawing) : d_(drawing) {}

  // Applies one construct to an array of the shape and updates the shape; nothing where it does not fit the shape.
  std::optional<std::string> stage(const std::string& e, Shape& shape);

 private:
  using Text = std::optional<std::string>;
  Text scanOfRows(const std::string& e, Shape& shape);
  Text scanOfTuples(const std::string& e, Shape& shape);
  Text reduceRows(const std::string& e, Shape& shape);
  Text repeated(const std::string& e, Shape& shape);
  Text repeatedWhile(const std::string& e, Shape& shape);
  Text windows(const std::string& e, Shape& shape);
  Text planeWindows(const std::string& e, Shape& shape);
  Text integers(const std::string& e, Shape& shape);
  Text halves(const std::string& e, Shape& shape);

  std::string firstRow(std::int64_t length);
  std::string next(const std::string& state, const std::string& row, std::int64_t length);

  Drawing& d_;
};

}  // namespace lift::differential
