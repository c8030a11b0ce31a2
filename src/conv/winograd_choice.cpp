// Which family a layer is computed by where nothing was measured, by estimates; and the configurations of the Winograd
// families.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "winograd.hpp"

namespace lift::detail {

namespace {

// Bytes of a group's transformed kernels.
std::int64_t kernelBytes(const ConvSpec& s, const Winograd& w) {
  return w.products() * s.icPerGroup() * s.ocPerGroup() * static_cast<std::int64_t>(sizeof(float));
}
// Kernels whose products a block keeps at a time: halves of them, in whole vectors, while these are not few.
std::int64_t kernelsAtATime(std::int64_t kernels, std::int64_t lanes) {
  constexpr std::int64_t fewest = 64;
  std::int64_t n = kernels;
  while (n % 2 == 0 && n / 2 >= fewest && n / 2 % lanes == 0) n /= 2;
  return n;
}

// Bytes that a fused kernel keeps of a tile: it, transformed, and its products with so many kernels.
std::int64_t keptBytes(const ConvSpec& s, const Winograd& w, std::int64_t kernels) {
  return w.products() * (s.icPerGroup() + kernels) * static_cast<std::int64_t>(sizeof(float));
}

// Bytes of transformed kernels that a core's own cache holds in good part; tiles of a block for which more are worth
// being read.
constexpr std::int64_t own = 4 << 20, fewestOfBlock = 4;

constexpr int usualUnits = 2;  // cores, where no device is known

// Estimates of what a layer of stride one takes on a processor, in units of a multiply-add of its products. The weights
// were fitted to measured times (docs/winograd.md, "Which one is taken").
constexpr double perMultiplyAdd = 1.15;  // with what is loaded for it
constexpr double perLaunch = 250'000;    // of a kernel

double timeToRead(double weights) {
  constexpr double mostNear = 32 << 20, near = 1.7, far = 8;  // bytes, and an element
  return weights * (weights * sizeof(float) <= mostNear ? near : far);
}

// By the family `blocked`, whose vectors are filled up where a group's outputs are few or odd, and which leaves out
// rows of taps in the padding.
double directTime(const ConvSpec& s) {
  constexpr std::int64_t fewest = 4, most = 16;  // lanes
  constexpr double fast = 12;                    // of vectors of fewer lanes the loads take longer than the sums
  const std::int64_t out = s.ocPerGroup();
  const auto lanes =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp(out, fewest, most))));
  const double filled = static_cast<double>(ceilDiv(out, lanes) * lanes) / static_cast<double>(out);
  constexpr double leastFitted = 2.0 / 3;  // share of the rows of taps: the weights were fitted to layers of more
  const double multiplyAdds = std::min(1.0, shareInImage(s) / leastFitted) * static_cast<double>(s.operations()) / 2;
  return perMultiplyAdd * multiplyAdds * filled * std::max(1.0, fast / static_cast<double>(lanes)) +
         timeToRead(static_cast<double>(s.oc * s.reduction())) + perLaunch;
}

// By the family `dots`, which adds up a vector for each output.
double dotsTime(const ConvSpec& s) {
  constexpr double perProduct = 1.1, perSum = 80, fast = 12;  // lanes
  const auto outputs = static_cast<double>(s.batch * s.oc * s.oh * s.ow);
  const double narrow = fast / static_cast<double>(widestVectorOf(s.icPerGroup(), {}));
  return perMultiplyAdd * perProduct * static_cast<double>(s.operations()) / 2 * std::max(1.0, narrow) +
         perSum * outputs + timeToRead(static_cast<double>(s.oc * s.reduction())) + perLaunch;
}

// Few outputs of each channel, of long sums: both direct families take as long as it takes to read the weights, which
// `dots` reads where they are, and once for all images of one pixel.
bool isFullyConnected(const ConvSpec& s) {
  constexpr std::int64_t longSum = 256, fewImages = 8;
  const std::int64_t images = s.kh * s.kw == 1 ? fewImages : 1;
  return s.oh * s.ow == 1 && s.batch <= images && s.reduction() >= longSum;
}

double winogradTime(const ConvSpec& s, const Winograd& w) {
  constexpr double perAddition = 2, perKept = 4, perCropped = 40;  // of an element
  constexpr double perTileApart = 0.3;                             // of a multiply-add
  const double fast = s.groups > 1 ? 6 : 16;  // lanes; transforms and products take longer with fewer
  const Config config = winogradDefaults(s, w);
  const auto at = [&](const char* tunable) {
    const auto found = config.find(tunable);
    return found == config.end() ? 1.0 : static_cast<double>(found->second);
  };
  const auto in = static_cast<double>(s.icPerGroup()), out = static_cast<double>(s.ocPerGroup());
  const auto groups = static_cast<double>(s.groups), products = static_cast<double>(w.products());
  const double tiles = groups * static_cast<double>(tilesOf(s, w)), weights = groups * products * in * out;
  const auto sides = static_cast<double>(w.rows.m + w.rows.r + w.columns.m + w.columns.r - 2);
  const double ofTile = perMultiplyAdd * products * in * out * (1 + perTileApart / at("tiles")) +
                        perAddition * products * sides / 2 * (in + out);
  double time = tiles * ofTile * std::max(1.0, fast / at("lanes"));
  if (w.fused) {
    const double blocks = tiles / at("block");
    time *= std::ceil(blocks / usualUnits) * usualUnits / blocks;
    constexpr double mostReadAgain = 10 << 20;  // bytes of which caches hold a good part
    const double again = weights * sizeof(float) <= mostReadAgain ? weights / 2 : timeToRead(weights);
    time += perLaunch + (blocks / groups - 1) * again;
  } else {
    time += perKept * tiles * products * (in + out) + 3 * perLaunch;
  }
  if (missingWindows(s.oh, w.rows.m) + missingWindows(s.ow, w.columns.m) > 0)
    time += perCropped * static_cast<double>(s.batch * s.oc * s.oh * s.ow);
  return time + timeToRead(weights);
}

}  // namespace

std::vector<std::string> likelyFastest(const ConvSpec& layer, const ConvLayouts& layouts) {
  const ConvSpec s = decimated(layer, allPhases(layer));
  // A family has to take so much less than those before it, which round less or take less memory.
  constexpr double gain = 0.85, gainOfDots = 0.9;
  const double direct = directTime(s);
  std::vector<std::pair<double, std::string>> faster;  // than `blocked`
  if (suitsDots(s, layouts) && !prefersLanesOfGroups(s))
    if (const double time = dotsTime(s); time < gainOfDots * direct || isFullyConnected(s))
      faster.emplace_back(time, "dots");
  if (layouts.elements != Scalar::h16 && s.sh == 1 && s.sw == 1 && whyNotWinograd(s, true).empty()) {
    // Elements of planes are gathered for lanes of channels, and scattered; the family `planes` has lanes of pixels.
    constexpr double perGathered = 40;
    std::int64_t gathered = 0;
    if (layouts.input == Layout::nchw) gathered += s.batch * s.ic * s.ih * s.iw;
    if (layouts.output == Layout::nchw) gathered += s.batch * s.oc * s.oh * s.ow;
    for (const auto& [name, m, fused] :
         {std::tuple("winogradFused", 4, true), {"winograd2", 2, false}, {"winograd", 4, false}}) {
      if (s.groups > 1 && !fused) continue;
      const double time = winogradTime(s, winogradOf(s, m, fused)) + perGathered * static_cast<double>(gathered);
      if (time < gain * direct) faster.emplace_back(time, name);
    }
  }
  std::size_t first = 0;
  for (std::size_t i = 1; i < faster.size(); i++)
    if (faster[i].first < gain * faster[first].first) first = i;
  if (!faster.empty()) {
    std::swap(faster.front(), faster[first]);
    std::sort(faster.begin() + 1, faster.end());
  }
  std::vector<std::string> names;
  for (auto& [time, name] : faster) names.push_back(std::move(name));
  return names;
}

bool prefersUnfused(const ConvSpec& layer, const ConvLayouts& layouts, const runtime::DeviceInfo& device) {
  if (device.type != "cpu") return false;
  const std::vector<std::string> order = likelyFastest(layer, layouts);
  if (order.empty() || order.front() != "winogradFused") return false;
  const ConvSpec s = decimated(layer, allPhases(layer));
  const Winograd w = winogradOf(s, 4, true);
  // A cache that is larger than this for each core belongs to many more cores, and is far from each.
  constexpr std::uint64_t mostOfUnit = 64 << 20;
  const std::int64_t kernels = kernelBytes(s, w);
  const std::uint64_t cache = device.cacheBytes, units = static_cast<std::uint64_t>(std::max(1, device.computeUnits));
  if (kernels > own && cache > 0 && (cache < static_cast<std::uint64_t>(kernels) || cache > mostOfUnit * units))
    return true;
  // Local memory for too few tiles: each block reads all kernels.
  const std::int64_t atATime = kernelsAtATime(s.ocPerGroup(), widestVectorOf(s.ocPerGroup(), vectorRegisters(device)));
  const auto fit = static_cast<std::int64_t>(device.localMemory) / keptBytes(s, w, atATime);
  return device.localMemory > 0 && largestDivisor(tilesOfImage(s, w), std::max<std::int64_t>(1, fit)) <
                                       std::min(fewestOfBlock, winogradDefaults(layer, w, layouts).at("block"));
}

namespace {

constexpr std::int64_t usuallyKept = 384 << 10;  // bytes of a block

// The tiles of a block, which keeps at most `most`, so that `units` cores are done soonest. To read the kernels takes
// as long as to compute some tiles. Where rows of so many tiles are given, a block is of whole rows, or a part of one.
std::int64_t tilesOfBlock(std::int64_t ofImage, std::int64_t images, std::int64_t most, std::int64_t units,
                          std::optional<std::int64_t> row) {
  constexpr std::int64_t kernelsRead = 2;
  std::int64_t best = 1, least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t block = 1; block <= std::min(most, ofImage); block++) {
    if (ofImage % block != 0 || (row && *row % block != 0 && block % *row != 0)) continue;
    const std::int64_t time = ceilDiv(images * ofImage / block, units) * (block + kernelsRead);
    if (time <= least) std::tie(best, least) = std::pair(block, time);
  }
  return best;
}

// Lanes of channels that the transform of the inputs loads at once. In planes each comes from a line of its own: where
// planes lie whole ways of the first cache apart, all are kept in the same set, which holds as many as there are ways.
// Elsewhere more lanes gained nothing, either.
std::int64_t lanesLoaded(const ConvSpec& layer, const ConvLayouts& layouts, const VectorRegisters& of) {
  constexpr std::int64_t ways = 8;  // of processors today at least so many
  const std::int64_t lanes = widestVectorOf(atStrideOne(layer).icPerGroup(), of);
  return layouts.input == Layout::nchw ? std::min(lanes, ways) : lanes;
}

// A block's transformed tiles and products take at most `mostKept` bytes.
Config defaultsFor(const ConvSpec& layer, const Winograd& w, const ConvLayouts& layouts, std::int64_t mostKept,
                   std::int64_t units, const VectorRegisters& of) {
  const ConvSpec spec = atStrideOne(layer);
  Config config{{"unroll", largestDivisor(spec.icPerGroup(), 4)}};
  if (choicesOfPoints(w) > 1) config["points"] = 1;
  std::int64_t kernels = spec.ocPerGroup(), tiles = tilesOf(spec, w), lanes = 1;
  if (hasVectors(kernels)) config["lanes"] = lanes = widestVectorOf(kernels, of);
  if (hasVectors(spec.icPerGroup())) config["load"] = lanesLoaded(layer, layouts, of);
  if (w.fused) {
    config["kernels"] = kernels = kernelsAtATime(kernels, lanes);
    // In planes, tiles that begin in one row and end in another lie in two pieces of each plane.
    const bool planes = layouts.input == Layout::nchw || layouts.output == Layout::nchw;
    const auto row = planes ? std::optional(ceilDiv(spec.ow, w.columns.m)) : std::nullopt;
    tiles = config["block"] = tilesOfBlock(tilesOfImage(spec, w), spec.batch * spec.groups,
                                           mostKept / keptBytes(spec, w, kernels), units, row);
  }
  kernels /= lanes;
  std::int64_t most = 0;
  const auto take = [&](std::int64_t perItem, std::int64_t vectors) {
    most = perItem * vectors;
    config["tiles"] = perItem;
    config["vectors"] = vectors;
  };
  if (of.count < 32) {  // few registers: all of them
    double least = 0;
    for (const std::int64_t vectors : {2, 3, 4, 1}) {
      if (kernels % vectors != 0) continue;
      const std::int64_t fit = std::min(mostTiles, accumulatorsBeside(vectors, of) / vectors);
      // A block takes local memory for tiles that it is filled up with, too.
      const std::int64_t perItem = w.fused ? largestDivisor(tiles, fit) : evenTile(tiles, fit, pixelBorder);
      const double all =
          static_cast<double>(kernels / vectors * ceilDiv(tiles, perItem)) * stepCost(perItem, vectors, of);
      if (least > 0 && all >= least) continue;
      least = all;
      take(perItem, vectors);
    }
    return config;
  }
  // Half the registers: the sums over channels are short beside what is loaded for them, and more accumulators were
  // slower on all layers of VGG-16 (docs/winograd.md).
  const std::int64_t registers = of.count / 2;
  const auto consider = [&](const auto& tilesOfItem) {
    for (const std::int64_t vectors : {4, 3, 2, 5, 6, 1}) {
      if (kernels % vectors != 0) continue;
      const std::int64_t perItem = tilesOfItem(std::min(mostTiles, registers / vectors));
      if (perItem * vectors > most) take(perItem, vectors);
    }
  };
  consider([&](std::int64_t fit) { return largestDivisor(tiles, fit); });
  // Tiles that are filled up cost a little at each; less than half of the registers in use costs more.
  if (2 * most < std::min(registers, tiles))
    consider([&](std::int64_t fit) { return evenTile(tiles, fit, pixelBorder); });
  return config;
}

}  // namespace

Config winogradDefaults(const ConvSpec& layer, const Winograd& w, const ConvLayouts& layouts) {
  return defaultsFor(layer, w, layouts, usuallyKept, usualUnits, {});
}

Config winogradPreferred(const ConvSpec& layer, const Winograd& w, const ConvLayouts& layouts,
                         const runtime::DeviceInfo& device) {
  if (device.type != "cpu") return {};
  // Drivers of processors give as much local memory as a core's own cache has, which holds kernels, too.
  const auto local = static_cast<std::int64_t>(device.localMemory);
  const std::int64_t kept = std::max(usuallyKept, local / 8 * 3);
  const Config config = defaultsFor(layer, w, layouts, local > 0 ? std::min(kept, local) : kept,
                                    std::max(1, device.computeUnits), runtime::vectorRegisters(device));
  return config == winogradDefaults(layer, w, layouts) ? Config() : config;
}

namespace {

Config atFirstPoints(const Winograd& w, Config config) {
  if (!config.empty() && choicesOfPoints(w) > 1) config["points"] = 1;
  return config;
}

}  // namespace

std::optional<double> stagedWinogradCost(const ConvSpec& layer, const ConvLayouts& layouts,
                                         const runtime::DeviceInfo& device) {
  constexpr std::int64_t fewestChannels = 16;  // of fewer, transforms are most of the work
  const ConvSpec s = decimated(layer, allPhases(layer));
  // Tiles that reach over the edge take more registers to transform than Mali has, whose local memory is not apart.
  constexpr std::int64_t fewestOperations = 100'000'000, outputs = 4;  // of a tile of 3 by 3
  const bool isForMali = s.kh == 3 && s.oh % outputs == 0 && s.ow % outputs == 0 && s.operations() >= fewestOperations;
  // Of devices of which limits are known and nothing else, the family is asked for that needs the least.
  if (device.type != "gpu" || device.computeUnits == 0 || !(device.localMemoryIsDedicated || isForMali))
    return std::nullopt;
  if (layouts.input != Layout::nhwc || layouts.elements == Scalar::h16 || !whyNotWinograd(layer, false).empty() ||
      s.sh != 1 || s.sw != 1 || s.kh != s.kw || (s.kh != 3 && s.kh != 5) || std::min(s.ic, s.oc) < fewestChannels)
    return std::nullopt;
  const StagedSize products = stagedProducts(layer, winogradOf(layer, 4, false));
  // Transformed weights are read; transformed tiles and products written and read.
  const auto elements =
      products.batch * (products.columns * products.depth + 2 * products.rows * (products.columns + products.depth));
  return stagedBlock(products, &device, namesOfStagedProducts()).cost + 2 * launchCost +
         memoryCost(static_cast<double>(elements), &device);
}

Config winogradStagedDefaults(const ConvSpec& s, const Winograd& w) {
  return atFirstPoints(w, stagedBlock(stagedProducts(s, w), nullptr, namesOfStagedProducts()).config);
}

Config winogradStagedPreferred(const ConvSpec& s, const Winograd& w, const runtime::DeviceInfo& device) {
  return device.type == "gpu"
             ? atFirstPoints(w, stagedBlock(stagedProducts(s, w), &device, namesOfStagedProducts()).config)
             : Config();
}

}  // namespace lift::detail
