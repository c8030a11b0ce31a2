// Private to operators: how parts are found, and what is known of their form.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lift/parts.hpp"
#include "lift/strategies.hpp"

namespace lift::detail::parts {

// What is known of an array, or of arrays of tuples component by component.
template <class Leaf>
struct ByComponent {
  std::vector<ByComponent> components;  // none: `leaf` says it
  Leaf leaf;

  template <class F>
  void forEachLeaf(F&& f) {
    if (components.empty()) f(leaf);
    for (ByComponent& c : components) c.forEachLeaf(f);
  }
};

using strategies::isComputingMap;

// The program with its parts named: let p1 = toGlobal(…) in …, the last one as its result.
Expr withPartsNamed(const Program& program);

// The program restated so that more of it becomes parts with families: what is multiplied within other loops by loops
// of its own, folds over arrays as iterations, long sums in chunks. As it is where there is nothing of the kind, or,
// inOrder, where that may round sums otherwise.
Program restated(const Program& program, bool inOrder);
// Fused, and sums of sums as one sum.
rewrite::Strategy sumsTogether();
// The same, and the loops of a product in the order batch, rows, columns, where they may be interchanged: one of rows,
// one of columns.
rewrite::Strategy canonical();
// Copies a product's columns to memory by a kernel of its own, transposed: a row of the copy has one element of each
// column.
rewrite::Strategy columnsCopied();

// What a registered operator computes, too.
struct OperatorPart {
  const Operator* op;
  OperatorMatch match;
};
std::optional<OperatorPart> operatorPartOf(Expr term);

// Reductions, scans and iterations.
bool runsLoop(Expr primitive);
// Whether it computes an array the elements of which cannot be computed each by itself: by scans, iterations,
// reductions by index, and reductions that give arrays.
bool isComputedInOrder(Expr e);
// Whether families may derive what the term computes: loops run in it, or it computes of windows.
bool mayBeCore(Expr term);
// Steps of the innermost loops that are written out for an element. Of reductions these are at most `mostOfReduction`,
// beyond which their outer loops stay; maps are written out whole. Many where a length is not known.
double stepsWrittenOut(Expr element, double mostOfReduction = 300);
// Whether the term is an iteration over kernels of whose steps parts are made: of an array, or with loops in its steps.
bool hasStepsOfParts(Expr term);

// The arrays of a concatenation of what is computed, under layouts, and where they stand; nothing for other terms.
struct Joined {
  Expr term;
  rewrite::Path path;
};
std::optional<std::array<Joined, 2>> joinedIn(Expr e, rewrite::Path path = {});  // the path of e

// A term may end with epilogues: maps that compute something of each element of a result (epilogue.hpp), one after the
// other, perhaps with layouts between them. Here are the places of that result and of the maps, the outermost first.
struct Core {
  rewrite::Path path;  // of the result
  std::vector<rewrite::Path> epilogues;
};
Core coreOf(Expr term);
// The array that an epilogue finishes, which runs loops, of a map that computes; `isResult` may refuse arrays.
std::optional<Expr> resultOfEpilogue(Expr map, const std::function<bool(Expr)>& isResult);
// Whether the core of a term has a family besides the default mapping; `isFinished` where an epilogue reads its
// elements.
bool hasFamily(Expr term, const Program& whole, bool isFinished);

// The maps that a result is computed by, one within the other, the outermost first; and what the innermost computes.
struct Nest {
  struct Loop {
    Expr variable;  // an element of the input
    Expr input;

    Nat length() const { return input.type().length(); }
  };
  std::vector<Loop> loops;
  Expr body = Expr::nat(0);
  bool turned = false;  // what the innermost loop gives is transposed: neighbours' elements lie side by side

  int outer() const { return static_cast<int>(loops.size()) - 1; }  // loops around the innermost
  Nat innermost() const { return loops.back().length(); }
  Nat rows() const { return loops[loops.size() - 2].length(); }  // of a product with its rows and columns innermost
  Nat elements() const;                                          // of all loops
};
Nest nestOf(Expr term, std::size_t most = SIZE_MAX);  // at most so many loops
// For every input that the operand reads: the distance, in scalars, between what two neighbouring elements of a loop
// (counted from the outermost) read of it; 0 where they read the same, nothing where it is not known.
std::vector<std::optional<std::int64_t>> stridesOf(const Nest& nest, Expr operand, std::size_t loop);
// The same of the innermost loop.
std::vector<std::optional<std::int64_t>> stridesOf(const Nest& nest, Expr operand);

// The same of what neighbouring elements of an array have.
std::vector<std::optional<std::int64_t>> stridesInside(const Nest& nest, Expr array);

struct Recognised {
  Pattern pattern = Pattern::other;
  Nest nest;
  bool reduces = false;          // an element needs reductions, and no other loops
  std::optional<Nat> reduced;    // elements of the first reduction
  std::optional<Expr> input;     // what it reduces
  bool isFinished = false;       // its elements are read by an epilogue, not stored as they are computed
  bool rowsThenColumns = false;  // of a product: its rows and columns are the two innermost loops
  // Of a product or a convolution: its operands, and on which loops of the nest they depend. Of others: why none.
  std::vector<Expr> operands = {};
  std::vector<std::vector<bool>> dependsOn = {};
  std::string whyNoProduct = "it is no sum of products of two operands";
};
// Of a product or a convolution: whether what neighbouring elements of the innermost loop read lies side by side.
bool columnsLieTogether(const Recognised& form);
// `term` is in functional form, data movement tidied away.
Recognised recognise(Expr term);

// Of a part's program: its term as `recognise` takes it.
Expr tidied(const Program& program);

constexpr std::int64_t secondCache = 1 << 20;  // bytes of a processor's

// Models of cost, to compare configurations on one device.

// Where a product's tiles read their columns: in place, from a copy of all columns in the order in which they are read
// (panels), or from a copy that each group makes in local memory (near).
enum class ColumnsRead { inPlace, panels, near };
struct ProductSize {
  std::int64_t batch, rows, columns, depth;
  std::int64_t values = 1;  // scalars of an element, of tuples
  // In memory, scalars between what neighbouring rows read at a step, and between what a column reads at neighbouring
  // steps; 1 where it is not known.
  std::int64_t rowsApart = 1, stepsApart = 1;
  bool together = true;  // what neighbouring columns read lies side by side
  ColumnsRead columnsRead = ColumnsRead::inPlace;
};
struct Tile {
  std::int64_t rows = 1, columns = 0, lanes = 0;
};
double costOfProduct(const runtime::DeviceInfo& device, const ProductSize& size, const Tile& tile);
// The tiles of a group, one below the other, that copies its columns near; so that it costs least.
std::int64_t tilesOfGroup(const runtime::DeviceInfo& device, const ProductSize& size, const Tile& tile);
struct StencilSize {
  std::int64_t rows, columns, window;  // rows of the result, elements of a window
};
double costOfStencil(const runtime::DeviceInfo& device, const StencilSize& size, std::int64_t columns,
                     std::int64_t lanes);
// What is taken where the device is not known: one core with vectors of 512 bits.
const runtime::DeviceInfo& usualProcessor();
// The family, with what it prefers there as its defaults.
OperatorFamily withUsualDefaults(OperatorFamily family);

// The families of a pattern, that of the default mapping last; and why that is all, where the pattern has others.
struct Families {
  std::vector<OperatorFamily> all;
  std::string reason;
};
Families familiesOf(const Recognised& form);

}  // namespace lift::detail::parts
