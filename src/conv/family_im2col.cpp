// The family `im2col`: every window a row of a matrix in memory, times the matrix of kernels. Every step is a rule; the
// order is
//
//   windows kept, out of the maps over a row's windows, rows and images; these three maps as one;
//   windows padded to whole tiles of `pixels`, kernels to whole tiles of `vectors` * `lanes`; tiles of windows by
//   kernels;
//   the reduction out of a tile, which is its accumulators; lanes over kernels;
//   the weights in the order of the loops, by a kernel of their own that runs once;
//   windows copied one element per work-item; tiles over work-groups of one work-item.
#include <algorithm>

#include "family.hpp"
#include "lift/terms.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

constexpr std::int64_t mostPixels = 32, mostVectors = 8;

// All windows of all images, as rows of a matrix that is kept.
void keepWindows(Rewriting& r) {
  r.apply(inside(isReduction, argument(function(use("keepAhead")))));
  r.apply(normalise({"keptJoin"}));
  for (int map = 0; map < 3; map++) {  // windows, rows, images
    r.apply(topDown(use("precompute")));
    r.apply(normalise({"mapOfSecond", "mapSecond"}));
  }
  for (int map = 0; map < 2; map++) r.apply(topDown(use("mapJoinFlat")));
}

// Tiles of windows follow each other, so that a tile of kernels is read from near.
void lower(Rewriting& r, Nat unroll) {
  r.apply(kept(onlyMovesData, copyInParallel(3)));  // windows
  for (const char* rule : {"mapToGroups0", "mapToGroups1"}) r.apply(computing(rule));
  lowerTile(r, 0, unroll);
}

}  // namespace

std::string whyNotIm2col(const ConvSpec& spec) {
  if (spec.groups > 1) return "it has groups of channels, which blocked takes";
  if (spec.kh == 1 && spec.kw == 1) return "its kernels have one tap: a copy of the input would gain nothing";
  return {};
}

bool prefersIm2col(const ConvSpec& spec) {
  constexpr std::int64_t mostCached = (16 << 20) / sizeof(float), fewest = 8;
  const std::int64_t weights = spec.oc * spec.reduction(), windows = spec.batch * spec.oh * spec.ow * spec.reduction();
  constexpr double leastInImage = 0.75;  // of less, `blocked` leaves out more than im2col gains
  return whyNotIm2col(spec).empty() && weights > mostCached && fewest * windows <= weights &&
         shareInImage(spec) >= leastInImage;
}

void deriveIm2col(const ConvSpec& spec, Rewriting& r) {
  const std::int64_t windows = spec.batch * spec.oh * spec.ow;
  const Nat pixels = r.tunable("pixels", 1, std::min(windows, mostPixels));
  const Nat lanes = r.tunable("lanes", 2, mostLanes);
  const Nat vectors = r.tunable("vectors", 1, std::min(spec.oc, mostVectors));
  const Nat unroll = r.tunable("unroll", 1, 16);
  assumeAccumulators(r, pixels * vectors);
  assumeLanes(r, lanes);
  r.assume({SizeCondition::Kind::divides, unroll, spec.reduction(), "copies of the loop over a window's elements"});

  exposeWindows(r);
  keepWindows(r);
  applyLayoutsOut(r, inside(isOverReduction, use("mapPadded", {{"k", missingTo(spec.oc, lanes * vectors)}})));
  r.apply(inside(isOverReductions, use("mapPadded", {{"k", missingTo(windows, pixels)}})));
  applyLayoutsOut(r, inside(isOverReductions, use("tileMaps", {{"k", pixels}, {"l", lanes * vectors}})));
  r.apply(topDown(use("mapReduceZipRight")));
  r.apply(topDown(use("vectoriseAccumulators", {{"w", lanes}})));
  r.apply(topDown(use("mapAsScalarOut")));
  applyLayoutsOut(r, topDown(use("mapReduceZipLeft")));
  arrangeWeights(r, 1);
  lower(r, unroll);
}

Config im2colDefaults(const ConvSpec& spec, const VectorRegisters& of) {
  Config config{{"unroll", largestDivisor(spec.reduction(), 4)}};
  const std::int64_t lanes = config["lanes"] = lanesFor(spec.oc, of);
  const std::int64_t kernels = ceilDiv(spec.oc, lanes), windows = spec.batch * spec.oh * spec.ow;
  // Registers but for the operands; more vectors than pixels, since each pixel is a stream of its own.
  const std::int64_t registers = of.count - 4;
  constexpr double vectorBorder = 1;  // a tile's inputs are loaded once for all its vectors
  const std::int64_t vectors = config["vectors"] = evenTile(kernels, 4, vectorBorder);
  config["pixels"] = evenTile(windows, std::min(mostPixels, registers / vectors), pixelBorder);
  return config;
}

}  // namespace lift::detail
