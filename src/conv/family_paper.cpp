// The family `paper`: the four kernels of "Automatic Generation of Specialized Direct Convolutions for Mobile GPUs"
// (Mogers et al., 2020), section 4.2, with the tunables of its Table 2 and the NDRange of its Table 1:
//
//   pad      the input, by the layer's padding and rho rows and columns more
//   partial  tiles of theta by theta; a work-group has one tile and kappa kernels, a work-item one chunk of omega
//            elements of each of sigma windows, and the same chunk of the kernels: partial sums (Listing 4)
//   sum      the partial sums of each window and its kernel's bias
//   crop     what the rho rows and columns have made
//
// The partial sums are cut off the sum first, by moving them out of every map; then each kernel is derived by itself.
#include <algorithm>

#include "family.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

constexpr std::int64_t mostKernels = 32;
// Each is a float of workspace for every output: more are never worth their memory.
constexpr std::int64_t mostChunks = 64;

std::int64_t paddedRows(const ConvSpec& s) { return s.ih + s.padTop + s.padBottom; }
std::int64_t paddedColumns(const ConvSpec& s) { return s.iw + s.padLeft + s.padRight; }

// Where rows and columns are alike, one theta and one rho are for both.
bool isSquare(const ConvSpec& s) {
  return paddedRows(s) == paddedColumns(s) && s.extentH() == s.extentW() && s.sh == s.sw;
}

struct Tunables {
  Nat theta, thetaColumns, rho, rhoColumns, kappa, sigma, omega;
  std::optional<Nat> upsilon;
  Nat coalesce, unroll;
};

Tunables declare(const ConvSpec& s, Rewriting& r) {
  Tunables t;
  // Tiles from the size of a kernel to double the padded input, as in section 5.1.
  t.theta = r.tunable("theta", s.extentH(), 2 * paddedRows(s));
  t.rho = r.tunable("rho", 0, paddedRows(s));
  t.thetaColumns = isSquare(s) ? t.theta : r.tunable("thetaColumns", s.extentW(), 2 * paddedColumns(s));
  t.rhoColumns = isSquare(s) ? t.rho : r.tunable("rhoColumns", 0, paddedColumns(s));
  t.kappa = r.tunable("kappa", 1, std::min(s.ocPerGroup(), mostKernels));
  t.sigma = r.tunable("sigma", 1, mostAccumulators);
  t.omega = r.tunable("omega", 1, s.reduction());
  if (s.reduction() % 2 == 0) t.upsilon = r.tunable("upsilon", 2, mostLanes);
  t.coalesce = r.tunable("coalesce", 0, 1);
  t.unroll = r.tunable("unroll", 1, 16);
  // Where the layer's own windows cover its rows, so do those of the crop.
  if ((paddedRows(s) - s.extentH()) % s.sh == 0)
    r.assume({SizeCondition::Kind::divides, s.sh, t.rho, "whole crop of rows"});
  if (!isSquare(s) && (paddedColumns(s) - s.extentW()) % s.sw == 0)
    r.assume({SizeCondition::Kind::divides, s.sw, t.rhoColumns, "whole crop of columns"});
  assumeAccumulators(r, t.kappa * t.sigma);
  r.assume({SizeCondition::Kind::lessEqual, floorDiv(s.reduction(), t.omega), mostChunks, "partial sums of a window"});
  return t;
}

// The map over the windows of one row.
bool isOverWindows(Expr e) {
  return isMapOver(e, Prim::slide) && isApplied(argumentOf(argumentOf(e, 1), 0), Prim::transpose);
}

// A map over windows or tiles that directly holds another, which holds no third.
bool isOverPairs(Expr e) {
  return isMapOver(e, Prim::slideStrict) && isMapOver(bodyOf(e), Prim::slideStrict) &&
         !isMapOver(bodyOf(bodyOf(e)), Prim::slideStrict);
}

// Kernels are split as they are, windows after they have been flattened.
bool isOverKernelGroups(Expr e) {
  return isMapOver(e, Prim::split) && !isApplied(argumentOf(argumentOf(e, 1), 0), Prim::join);
}

// Applies s to the partial convolution, which is the only kept value that contains a reduction; padding is the other
// kept value.
Strategy partial(Strategy s) {
  return kept([](Expr e) { return contains(e, Prim::reduce); }, std::move(s));
}
Strategy padding(Strategy s) {
  return kept([](Expr e) { return !contains(e, Prim::reduce); }, std::move(s));
}

// rho further rows and columns at the bottom and the right, and the crop of what comes of them.
void extend(Rewriting& r, const Tunables& t) {
  r.apply(inside(around(isOverWindows), use("padColumns", {{"r", t.rhoColumns}})));
  r.apply(normalise({"mapWindows"}));
  r.apply(inside(around(isOverWindows), use("padWindows", {{"r", t.rho}})));
}

// The reduction in vectors and in chunks of omega elements; coalesced, neighbouring chunks interleave, so that
// neighbouring work-items read neighbouring places.
void chunk(Rewriting& r, const ConvSpec& spec, const Tunables& t) {
  if (t.upsilon) {
    r.apply(inside(isReduction, use("reduceDot", {{"v", *t.upsilon}})));
    r.assume({SizeCondition::Kind::divides, *t.upsilon, t.omega, "vectors of a chunk"});
  }
  const Nat chunks = floorDiv(spec.reduction(), t.omega);
  r.apply(inside(isReduction, use("reduceStrided", {{"s", t.coalesce * (chunks - 1) + 1}})));
  const Nat steps = floorDiv(t.omega, t.upsilon.value_or(1));
  r.apply(inside(isReduction, use("reducePartial", {{"k", steps}})));
  r.assume({SizeCondition::Kind::divides, t.omega, spec.reduction(), "chunks of a window"});
  r.assume({SizeCondition::Kind::divides, t.unroll, steps, "copies of the loop over a chunk"});
  r.apply(normalise({"strideZip", "splitZip", "mapFusionMoves"}));
}

// What is computed ahead moves out of all maps around it: over images and groups of channels, and `inner` more.
void moveOut(Rewriting& r, bool grouped, int inner, const std::function<Strategy(Strategy)>& where) {
  for (int level = 0; level < inner + (grouped ? 2 : 1); level++) r.apply(where(topDown(use("precompute"))));
  r.apply(where(ofWhatIsUsed()));
}

void separate(Rewriting& r, bool grouped) {
  r.apply(
      inside([](Expr e) { return isReduction(e) && isOverReduction(argumentOf(e, 2)); }, argument(use("keepAhead"))));
  r.apply(layoutsOut());
  moveOut(r, grouped, 3, [](Strategy s) { return s; });
  r.apply(partial(inside([](Expr e) { return isMapOver(e, Prim::slide); }, argument(argument(use("keepAhead"))))));
  moveOut(r, grouped, 0, partial);
}

// From rows, windows, kernels, chunks to tiles, kernel groups, window groups, chunks, windows, kernels.
void tile(Rewriting& r, const Tunables& t) {
  const Strategy tidy = seq({normalise({"mapJoin", "mapFusionMoves", "transposeTwice"}), layoutsOut()});
  r.apply(partial(inside(isOverWindows, argument(use("slideTiled", {{"e", t.thetaColumns}})))));
  r.apply(
      partial(inside([](Expr e) { return isMapOver(e, Prim::slide); }, argument(use("slideTiled", {{"e", t.theta}})))));
  r.apply(partial(tidy));
  r.apply(partial(topDown(use("tileColumns"))));
  r.apply(partial(tidy));
  for (int pair = 0; pair < 2; pair++) {  // rows and columns of windows, of tiles
    r.apply(partial(inside(isOverPairs, use("mapFlatten"))));
    r.apply(partial(layoutsOut()));
  }
  r.apply(partial(inside(around(isOverReductions), use("mapSplit", {{"k", t.sigma}}))));
  r.apply(partial(inside(isOverReductions, use("mapSplit", {{"k", t.kappa}}))));
  r.apply(partial(layoutsOut()));
  for (int outer = 0; outer < 2; outer++) {  // windows, window groups
    r.apply(partial(inside(around(isOverKernelGroups), use("mapInterchange"))));
    r.apply(partial(layoutsOut()));
  }
  for (const char* rule : {"mapMapZipRight", "mapMapZipLeft"}) {
    r.apply(partial(topDown(use(rule))));
    r.apply(partial(layoutsOut()));
  }
}

// A work-item's windows share its kernels' weights, and the kernels its windows' inputs.
void share(Rewriting& r) {
  r.apply(partial(topDown(use("mapReduceZipRight"))));
  r.apply(partial(topDown(use("mapReduceZipLeft"))));
}

void lower(Rewriting& r, bool grouped, const Tunables& t) {
  for (int level = 0; level < (grouped ? 2 : 1); level++) {
    r.apply(partial(computing("mapFlatten")));
    r.apply(partial(layoutsOut()));
  }
  for (const char* rule : {"mapToGroups1", "mapToGroups0", "mapToItems1", "mapToItems0"})
    r.apply(partial(computing(rule)));
  for (int i = 0; i < 2; i++) r.apply(partial(computing("mapToUnrolled", {{"u", 0}})));
  r.apply(padding(copyInParallel(3)));
  r.apply(partial(topDown(use("reduceToUnrolled", {{"u", t.unroll}}))));

  for (int level = 0; level < (grouped ? 2 : 1); level++) applyLayoutsOut(r, computing("mapFlatten"));
  r.apply(computing("keepAhead"));
  for (const char* rule : {"mapToGlobal2", "mapToGlobal1", "mapToGlobal0"}) r.apply(computing(rule));
  r.apply(topDown(use("reduceToLoop")));
  r.apply(copyInParallel(3));
}

// Tiles of one dimension.
struct Tiling {
  std::int64_t windows = 1;  // of a tile
  std::int64_t theta = 1, rho = 0;
};

// Tiles of t windows.
Tiling tilingBy(std::int64_t t, std::int64_t windows, std::int64_t padded, std::int64_t extent, std::int64_t stride) {
  std::int64_t covered = roundedUp(windows, t);
  if ((covered - 1) * stride + extent < padded) covered += t;  // rows that no window reads
  return {t, (t - 1) * stride + extent, (covered - 1) * stride + extent - padded};
}

// The tiles of a few windows that add the fewest windows to what the layer asks for.
Tiling tiling(std::int64_t windows, std::int64_t padded, std::int64_t extent, std::int64_t stride) {
  constexpr std::int64_t mostWindows = 8;
  Tiling best = tilingBy(1, windows, padded, extent, stride);
  for (std::int64_t t = 2; t <= mostWindows; t++)
    if (const Tiling tiles = tilingBy(t, windows, padded, extent, stride); tiles.rho <= best.rho) best = tiles;
  return best;
}

}  // namespace

void derivePaper(const ConvSpec& spec, Rewriting& r) {
  const bool grouped = spec.groups > 1;
  const Tunables t = declare(spec, r);
  exposeWindows(r);
  extend(r, t);
  chunk(r, spec, t);
  separate(r, grouped);
  tile(r, t);
  share(r);
  lower(r, grouped, t);
}

Config paperDefaults(const ConvSpec& s) {
  const Tiling rows = tiling(s.oh, paddedRows(s), s.extentH(), s.sh);
  const Tiling columns = tiling(s.ow, paddedColumns(s), s.extentW(), s.sw);
  Config config{{"theta", rows.theta}, {"rho", rows.rho}, {"coalesce", 1}, {"unroll", 1}};
  if (!isSquare(s)) {
    config["thetaColumns"] = columns.theta;
    config["rhoColumns"] = columns.rho;
  }
  config["kappa"] = largestDivisor(s.ocPerGroup(), 4);
  config["sigma"] = largestDivisor(rows.windows * columns.windows, 4);
  std::int64_t vector = 1;
  if (s.reduction() % 2 == 0) config["upsilon"] = vector = s.reduction() % 4 == 0 ? 4 : 2;
  config["omega"] = s.reduction() / largestDivisor(s.reduction() / vector, 8);
  return config;
}

// On a GPU: as many accumulators as its registers hold beside the operands, with few loads for each product, little
// left over of the output's rows and columns, and work-groups of a size that it likes.
Config paperPreferred(const ConvSpec& s, const runtime::DeviceInfo& device) {
  if (device.type != "gpu") return {};
  Config config = paperDefaults(s);
  const std::int64_t registers = device.registers > 0 ? device.registers : 64;
  const auto mostItems = static_cast<std::int64_t>(device.maxWorkGroupSize > 0 ? device.maxWorkGroupSize : 256);
  constexpr std::int64_t mostWindows = 8, fewestItems = 32;
  const std::int64_t chunks = s.reduction() / config["omega"];
  const auto covered = [](std::int64_t n, const Tiling& t) {
    return static_cast<double>((n + t.windows - 1) / t.windows * t.windows) / static_cast<double>(n);
  };
  double least = 0;
  for (std::int64_t rows = 1; rows <= std::min(mostWindows, s.oh); rows++)
    for (std::int64_t columns = 1; columns <= std::min(mostWindows, s.ow); columns++) {
      if (isSquare(s) && rows != columns) continue;
      const Tiling r = tilingBy(rows, s.oh, paddedRows(s), s.extentH(), s.sh);
      const Tiling c = tilingBy(columns, s.ow, paddedColumns(s), s.extentW(), s.sw);
      for (std::int64_t kappa = 1; kappa <= std::min(mostKernels, s.ocPerGroup()); kappa++)
        for (std::int64_t sigma = 1; sigma <= rows * columns; sigma++) {
          const std::int64_t items = chunks * (rows * columns / sigma);
          if (s.ocPerGroup() % kappa != 0 || rows * columns % sigma != 0 || items > mostItems) continue;
          if (4 * kappa * sigma > registers) continue;  // a quarter for sums: operands are vectors of four
          const double loads = static_cast<double>(kappa + sigma) / static_cast<double>(kappa * sigma);
          const double idle = std::max(1.0, static_cast<double>(fewestItems) / static_cast<double>(items));
          const double cost = (loads + 0.25) * covered(s.oh, r) * covered(s.ow, c) * idle;
          if (least > 0 && cost >= least) continue;
          least = cost;
          config["kappa"] = kappa;
          config["sigma"] = sigma;
          config["theta"] = r.theta;
          config["rho"] = r.rho;
          if (!isSquare(s)) config["thetaColumns"] = c.theta;
          if (!isSquare(s)) config["rhoColumns"] = c.rho;
        }
    }
  return config;
}

}  // namespace lift::detail
