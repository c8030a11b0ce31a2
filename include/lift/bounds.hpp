// Lower bounds of the traffic between a small fast memory and a large slow one, and how close a dataflow or a generated
// kernel comes to them.
//
//   const auto layer = bounds::boundOf(parseConv("ic64ih56oc64kh3ph1"), 8192);   // direct, S in elements
//   layer.bound                      // no schedule loads and stores fewer elements in all
//   layer.dataflow->volume           // what the tile layer.dataflow->tile loads and stores
//   bounds::trafficOf(plan)          // what the kernels of a plan do
//
// The model is the red-blue pebble game (Hong and Kung 1981): fast memory holds S elements, inputs begin in slow memory
// and results end there, values may be computed again. A bound counts loads and stores of elements.
//
// After Zhang, Xiao, Tan: "I/O Lower Bounds for Auto-tuning of Convolutions in CNNs" (PPoPP 2021); equations and lemmas
// are this paper's. Where a step of it holds only in order of magnitude, what is computed here is what can be proved;
// docs/bounds.md says what differs and why. In particular the volume of the Winograd dataflow after equation (22) lacks
// a factor of √2: with 2 (e+r-1)²/e² xyz = S, equation (22) gives 2√2 · outputs · ic · r (e+r-1) / (e √S) + outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lift/conv.hpp"
#include "lift/kernel.hpp"
#include "lift/parts.hpp"
#include "lift/space.hpp"

namespace lift::bounds {

// --------------------------------------------------------------------------------------------------- sums of products

// Results that are sums of products of one value of each of two operands, as in a matrix product: result (i, j) is the
// sum over k of first(i, k) · second(j, k).
struct SumOfProducts {
  double products = 0;  // that every schedule computes
  // Pairs (i, k) that an element of fast memory stands for, times pairs (j, k) that one stands for, at most. 1 in a
  // matrix product; in a convolution a pixel is in several windows.
  double reuse = 1;
  std::int64_t inputs = 0, outputs = 0;  // elements that are read, and results
};

// Elements that are loaded or stored at least once.
std::int64_t compulsory(const SumOfProducts& sum);

// Least number of loads and stores with a fast memory of S elements: about 1.93 · products / √(reuse · S), or what is
// compulsory. The proof is in src/bounds/sums.cpp. Throws UserError (usage) for S below leastFastMemory.
std::int64_t lowerBound(const SumOfProducts& sum, std::int64_t fast);
constexpr std::int64_t leastFastMemory = 4;  // a sum, two operands and their product

// ------------------------------------------------------------------------------------------------ composite algorithms

// A step of an algorithm: the most vertices, and the most vertices that the next step reads, that h vertices generate
// (equation 4). Both grow with h.
struct Step {
  std::function<double(double h)> generated, passedOn;
};

// T(S) of Theorem 4.5, from above: the most vertices of a set that S vertices dominate.
double largestSet(const std::vector<Step>& steps, double size);

// Theorem 4.6: S (|V| / T(2S) - 1), at least 0; `steps` are those of a partition of the size given.
double compositeBound(double vertices, const std::function<std::vector<Step>(double size)>& steps, std::int64_t fast);

// -------------------------------------------------------------------------------------------------------- convolutions

// Elements of the results that are computed at once.
struct Tile {
  std::int64_t images = 1, rows = 1, columns = 1, channels = 1;
};

// The paper's dataflow: the sums of a tile stay in fast memory while the input channels go by.
struct Dataflow {
  double area = 0, channels = 0;  // the optimal tile, xy = R z, of any real size
  double ideal = 0;               // elements, by equation (21), or (22) with the √2
  Tile tile;                      // of integers, within the layer: that of least volume that fits
  std::int64_t volume = 0;        // elements that it loads and stores, borders, padding and last tiles as they are
  std::int64_t memory = 0;        // elements of fast memory that it takes
};

struct ConvBound {
  std::string algorithm;             // "direct", "F(4x4,3x3)"
  double reuse = 0;                  // R = kh kw / (sh sw), equation (13)
  std::int64_t mostReuse = 0;        // windows that an element is in, at most
  double order = 0;                  // the term of the Ω in equation (14) or (19)
  double composite = 0;              // by Theorem 4.6
  std::int64_t compulsory = 0;       // inputs, weights, biases, outputs
  std::int64_t bound = 0;            // the largest that is proved
  std::optional<Dataflow> dataflow;  // nothing where no tile fits
  std::string reason;                // why
};

// Direct convolution, any layer. Groups are independent: a group's R and tiles are those of a layer of its channels.
ConvBound boundOf(const ConvSpec& layer, std::int64_t fast);

// Winograd's algorithms F(m, r) of rows and columns with the points of cookToom; m, the outputs of a tile, where a
// dimension has more than one tap. Throws UserError (program) saying why where `whyNotWinograd` does.
struct TileOutputs {
  int rows = 1, columns = 1;
};
ConvBound winogradBound(const ConvSpec& layer, TileOutputs m, std::int64_t fast);
inline ConvBound winogradBound(const ConvSpec& layer, int m, std::int64_t fast) {
  return winogradBound(layer, TileOutputs{m, m}, fast);
}
std::string whyNotWinograd(const ConvSpec& layer);  // empty where there is a bound

// ----------------------------------------------------------------------------------------------------------- programs

// A part of a program by itself, its inputs in slow memory. Where the part is no sum of products of two operands, no
// bound but the compulsory one is known.
struct PartBound {
  std::int64_t elementBytes = 4;  // of the smallest element of inputs and results: larger ones count as several
  std::int64_t compulsory = 0;    // elements of inputs and results
  std::int64_t bound = 0;         // at least as much
  double reuse = 0;               // 0: no sum of products
  double products = 0;
  std::string reason;  // why no more than `compulsory` is known; empty otherwise
};
// Throws UserError (program) where sizes are not known.
PartBound boundOf(const Part& part, std::int64_t fastBytes);

// -------------------------------------------------------------------------------------------- the optimality condition

// The inequalities of the paper's Table 1 on a tile of x · y pixels by z channels, for a fast memory of S_b elements.
enum class Inequality : std::uint8_t {
  fits,      // xyz <= S_b
  channels,  // z <= √(S_b / R)
  pixels,    // xy <= √(S_b R)
};
inline constexpr Inequality allInequalities[] = {Inequality::fits, Inequality::channels, Inequality::pixels};

// On tiles whose pixels and channels are given in a program's tunables.
std::vector<Constraint> optimalityDomain(Nat pixels, Nat channels, double reuse, std::int64_t fast,
                                         const std::vector<Inequality>& inequalities = {std::begin(allInequalities),
                                                                                        std::end(allInequalities)});

// Those of the layer's family whose program this is, on what a work-group computes; for Winograd's algorithms on its
// tiles of transformed products, R = 1. None for a family that has no such tile.
std::vector<Constraint> optimalityDomain(const ConvSpec& layer, const std::string& family, const Program& program,
                                         std::int64_t fast);

// The paper's Table 2: the spaces of TVM's templates for layers of AlexNet. Each split of a dimension into four
// (results) or three (sums) is a chain of divisors; loops are unrolled in three ways, explicitly or not.
struct TemplateSpace {
  std::string name;  // the paper's
  ConvSpec layer;
  bool winograd = false;
  double printed = 0, printedDomain = 0;  // sizes as the paper prints them, to three digits
  double reuse() const;                   // R of the domain: 1 for Winograd, where it is of matrix products
};
const std::vector<TemplateSpace>& templateSpaces();
Space spaceOf(const TemplateSpace& space, std::int64_t fast, const std::vector<Inequality>& inequalities);

// ------------------------------------------------------------------------------------------------ generated kernels

// What the launches of a plan move, preparation not counted; bytes.
struct PlanTraffic {
  // Issued: every load and store of every work-item, as kernel::count counts them. Caches may serve most of the loads.
  kernel::Traffic global, local;
  // Of global memory, what a work-group reads or writes, each byte once for reading and once for writing, summed over
  // all work-groups: the traffic where each group's working set stays in fast memory and nothing stays from one group
  // to the next.
  double distinct = 0;
  double workingSet = 0;     // the most distinct bytes of one group
  std::int64_t groups = 0;   // work-groups of all launches
  std::int64_t counted = 0;  // of which so many were counted, evenly spread; the others are taken to be like them
};
// Nothing is run. Where indices come from data, all that the buffer holds is taken to be read.
PlanTraffic trafficOf(const kernel::Plan& plan);
// Of one launch. About so many accesses are followed, of as many groups as they are enough for, one at least.
PlanTraffic trafficOf(const kernel::Kernel& kernel, double accessesToFollow = 3e6);

// Distinct traffic against a bound: that for S, or, where a work-group's working set is larger, for a fast memory that
// holds it. 1 is as little as there can be.
struct Nearness {
  PlanTraffic traffic;
  std::string algorithm;   // whose bound it is, or "inputs and outputs" where no other is known
  std::int64_t fast = 0;   // bytes
  std::int64_t bound = 0;  // bytes
  double ratio = 0;
};
// Of a layer's plan, derived like this. Elements are as large as the smallest that it reads or writes.
Nearness nearnessOf(const ConvSpec& layer, const rewrite::Derivation& derivation, const kernel::Plan& plan,
                    std::int64_t fastBytes);
// Of a program's plan: the parts' bounds together. `families`: those that derive the parts, or none at all; parts by
// Winograd's algorithms have their inputs and outputs.
Nearness nearnessOf(const std::vector<Part>& parts, const std::vector<std::string>& families, const kernel::Plan& plan,
                    std::int64_t fastBytes);

}  // namespace lift::bounds
