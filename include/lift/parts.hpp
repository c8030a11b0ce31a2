// Parts of a program: what is computed in one go between arrays that are kept in memory, each with a pattern and the
// families that derive it.
//
//   const PartedProgram parted = partsOf(program);         // let p1 = toGlobal(…) in let p2 = toGlobal(…) in …
//   parted.parts[0].pattern                                // Pattern::product
//   const Workload& w = parted.parts[0].workload;          // the part alone: a problem that is tuned by itself
//   const OperatorFamily family = partsFamily(parted, {}); // the whole, each part by its first family that derives it
//
// A part is a stage of the program outside of all functions (in the step of an iteration, too): its result, what a let
// names, and what a stage reads that runs loops of its own. What is computed element by element from inputs alone stays
// in the stage that reads it, unless that one reads it many times.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/operator.hpp"

namespace lift {

// Read off a part's term, however it is written.
enum class Pattern : std::uint8_t {
  product,        // for every pair of a row and a column a reduction of both, in a batch perhaps
  convolution,    // the same of windows and kernels
  stencil,        // for every window of neighbours a reduction or an expression of them
  rows,           // for every row a reduction of it
  reduction,      // of a whole array
  elementwise,    // for every element an expression of it
  transposition,  // the same of data that is moved so that other elements lie side by side
  other,
};
std::string_view name(Pattern pattern);  // "matrix product"

struct Part {
  std::string name;  // p1, p2, … in the order in which they are computed
  Pattern pattern = Pattern::other;
  std::string place;         // in the source, "f.lift:3:5" or "f.lift:3:5 to 4:9"; empty where nothing is known
  Expr term = Expr::nat(0);  // in PartedProgram::program
  int epilogues = 0;         // elementwise maps of its result that are computed with it (epilogue.hpp)
  rewrite::Path path;        // where
  std::string reason;        // why the pattern's families do not take it; empty where one does, or there are none
  Workload workload;  // what it reads are the parameters; the families are the pattern's, the last is `defaultFamily`
  // Of an operator that was registered and recognises it: the same computation between layouts of its own. Of a part
  // whose result is finished element by element (epilogue.hpp): the part without that. Its families are the part's
  // first, and what is known of one is known of the other.
  std::shared_ptr<const Workload> same = {};
};
inline constexpr const char* defaultFamily = "default";  // of a part: the default mapping

struct PartedProgram {
  Program program;  // with the parts named
  std::vector<Part> parts;
  bool isRestated = false;  // by loops of their own
};
// inOrder: only families that round as the program does.
PartedProgram partsOf(const Program& program, bool inOrder = false);

// A matrix product or a convolution as a sum of products: result (i, j) is the sum over k of first(i, k) · second(j,
// k). Counts are upper bounds where values are padding, exact otherwise.
struct PartProducts {
  double rows = 1, columns = 1, depth = 1;  // how many i, j and k; of a batch, k counts its elements, too
  // How many of the operands' values are no elements of an input, and how many are one element, at most.
  struct Operand {
    double constant = 0, uses = 0;
  } first, second;
  // Products of two inputs' elements, at least.
  double products() const { return rows * columns * depth - first.constant * columns - second.constant * rows; }
};
// Nothing where the part is neither, or an operand is more than a layout of inputs of known sizes: `why` says so.
std::optional<PartProducts> productsOf(const Part& part, std::string* why = nullptr);

// How a part is derived. Where no family but the default mapping does, `reason` says why.
struct PartChoice {
  std::string family;
  Config config = {};
  std::string origin;  // of the configuration: "the family's default", "measured …"
  std::string reason = {};
};
// The first family that derives the part, of these in their order, or of all; the last of them is the default mapping.
PartChoice defaultChoice(const Part& part, std::vector<std::string> families = {});

// The family `parts` of a program: all its parts derived, each by the family chosen for it. Tunables are those of the
// parts with the part's name before them: "p1_rows".
inline constexpr const char* partsFamilyName = "parts";
OperatorFamily partsFamily(const PartedProgram& parted, std::vector<PartChoice> choices = {});
// Whether a part has another choice than the default mapping, or was only made a part by a restatement.
bool derivesAny(const OperatorFamily& partsFamily);

// The workload with those of its families, and of its parts', that round floating-point numbers as its program does:
// no rule of their derivations may round otherwise. The others are refused. Where none is left, the default mapping.
Workload inOrder(const Workload& workload);

// A program that is one product of matrices of f32, each a parameter: out[i][j] = sum of left[i][k] * right[k][j];
// without j of a matrix and a vector.
struct MatrixProduct {
  std::string left, right;       // parameters
  bool transposedLeft = false;   // the parameter is [k][i]
  bool transposedRight = false;  // the parameter is [j][k]
  std::int64_t rows = 0, columns = 1, depth = 0;
};
std::optional<MatrixProduct> matrixProductOf(const Program& program);

}  // namespace lift
