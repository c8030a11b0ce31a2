// Constructs over an array of f32 of one dimension, each of which makes another of the same length.
#pragma once

#include <string>

#include "differential/drawing.hpp"

namespace lift::differential {

class Rows {
 public:
  explicit Rows(Drawing& drawing) : d_(drawing) {}

  // One construct more around the expression. The length is a number or n.
  std::string stage(const std::string& e, const std::string& length);

  // An f32 that depends on all elements of a variable.
  std::string summary(const std::string& v, const std::string& length);

  // How often a step is repeated: up to four times, more often than kernels are repeated one by one, or a number that
  // is known when the program runs.
  std::string repetitions();

 private:
  std::string normalised(const std::string& e, const std::string& length);
  std::string guarded(const std::string& e, const std::string& length);
  std::string guardedElement(const std::string& v, const std::string& length);
  std::string guardedDivision(const std::string& v, const std::string& length);
  std::string guardedArray(const std::string& e, const std::string& length);
  std::string literals(const std::string& e, const std::string& length);
  std::string generated(const std::string& e, const std::string& length);
  std::string iterated(const std::string& e, const std::string& length);
  std::string byName(const std::string& e, const std::string& length);
  std::string hiding(const std::string& e, const std::string& length);
  std::string integers(const std::string& v, const std::string& length);

  Drawing& d_;
};

}  // namespace lift::differential
