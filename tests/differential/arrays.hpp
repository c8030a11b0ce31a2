// Stages: constructs over an array of f32 of known shape, which often change the shape.
#pragma once

#include <functional>
#include <optional>

#include "differential/loops.hpp"
#include "differential/rows.hpp"

namespace lift::differential {

std::string typeOf(const Shape& shape);
std::int64_t sizeOf(const Shape& shape);

class Arrays {
 public:
  explicit Arrays(Drawing& drawing) : d_(drawing), rows_(drawing), loops_(drawing) {}

  // Applies one construct to an array of the shape and updates the shape; sometimes below some maps.
  std::string stage(const std::string& e, Shape& shape);
  // The same of constructs of Loops, of which some fit every array of one or two dimensions.
  std::string loop(const std::string& e, Shape& shape);

 private:
  // Of each, nothing where it does not fit the shape.
  using Text = std::optional<std::string>;
  Text map(const std::string& e, Shape& shape);
  Text split(const std::string& e, Shape& shape);
  Text join(const std::string& e, Shape& shape);
  Text transpose(const std::string& e, Shape& shape);
  Text slide(const std::string& e, Shape& shape);
  Text pad(const std::string& e, Shape& shape);
  Text padIndices(const std::string& e, Shape& shape);
  Text part(const std::string& e, Shape& shape);
  Text reorder(const std::string& e, Shape& shape);
  Text concat(const std::string& e, Shape& shape);
  Text reduce(const std::string& e, Shape& shape);
  Text scan(const std::string& e, Shape& shape);
  Text reduceByIndex(const std::string& e, Shape& shape);
  Text zip(const std::string& e, Shape& shape);
  Text at(const std::string& e, Shape& shape);
  Text vectorize(const std::string& e, Shape& shape);
  Text iterate(const std::string& e, Shape& shape);
  Text tuple(const std::string& e, Shape& shape);
  Text guard(const std::string& e, Shape& shape);
  Text conditional(const std::string& e, Shape& shape);
  Text iterateWhile(const std::string& e, Shape& shape);
  Text keep(const std::string& e, Shape& shape);
  Text row(const std::string& e, Shape& shape);
  Text generate(const std::string& e, Shape& shape);
  Text byName(const std::string& e, Shape& shape);
  Text loopOrNothing(const std::string& e, Shape& shape);
  Text reduceAll(const std::string& e, Shape& shape);

  std::string mapOver(const std::string& e, std::size_t depth, const std::function<std::string(std::string)>& f);
  std::string zipped(const std::string& v, std::size_t rank);
  std::string zippedRows(const std::string& x, const std::string& y, std::size_t rank);

  Drawing& d_;
  Rows rows_;
  Loops loops_;
};

}  // namespace lift::differential
