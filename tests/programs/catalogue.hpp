// The programs of this folder, the sizes they are judged at, and what they compute, written down a second time in plain
// C++. Every judge (interpreter, emulator, devices) walks the same table.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lift/expr.hpp"
#include "lift/tensor.hpp"

namespace lift::programs {

using Tensors = std::map<std::string, Tensor>;
using Sizes = std::map<std::string, std::int64_t>;

struct CatalogueEntry {
  std::string file;   // in this folder, without ".lift"
  std::string entry;  // the definition; "main" unless the file holds several
  Sizes sizes;        // a value for each size of the program
  // Inputs as interpret() takes them to outputs as it gives them ("out", or "out.0" …). Computes in double.
  std::function<Tensors(const Tensors&)> reference;
  // Greatest error relative to max(|expected|, 1); 0 for integers.
  double tolerance;
  // Changes the random inputs where not every number will do; may be empty.
  std::function<void(Tensors&)> prepare;

  std::string name() const;  // "mm nn k=5 m=3 n=7"
};
const std::vector<CatalogueEntry>& catalogue();

// The program at the entry's sizes.
Program load(const CatalogueEntry& entry);
// Its random inputs.
Tensors inputsOf(const CatalogueEntry& entry, const Program& program);
// What is wrong with a result, or nothing.
std::string judge(const CatalogueEntry& entry, const Tensors& actual, const Tensors& expected);

}  // namespace lift::programs
