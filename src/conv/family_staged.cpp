// The family `staged`: blocks of pixels by output channels, their inputs and weights copied to local memory a few
// elements of the reduction at a time, for GPUs whose local memory is apart from their caches: the implicit matrix
// product of all windows and all kernels (Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014). Every
// step is a rule; the order is
//
//   the padded input, by a kernel of its own, so that no load asks where it is;
//   the windows of all images in one row, padded to whole blocks, as are the kernels;
//   the product of windows and kernels in blocks, by work-groups (rewrite::strategies::stagedProduct).
#include <limits>

#include "lift/staged_blocks.hpp"
#include "winograd.hpp"

namespace lift::detail {

using namespace rewrite;

namespace {

const StagedNames names = namesOfBlock("pixels", "pixelLanes", "pixelItems");

StagedSize sizeOf(const ConvSpec& s) {
  const bool grouped = s.groups > 1;
  const StagedSize::Operand channels{.neighbours = s.icPerGroup()};
  return {.batch = grouped ? s.batch * s.groups : 1,
          .rows = (grouped ? 1 : s.batch) * s.oh * s.ow,
          .columns = s.ocPerGroup(),
          .depth = s.reduction(),
          .ofRows = channels,
          .ofColumns = channels,
          .batchLoops = grouped ? 1 : 0};
}

// The layer as a product of all windows and all kernels.
void exposeProduct(const ConvSpec& spec, Layout input, std::optional<Nat> vector, Rewriting& r) {
  const bool grouped = spec.groups > 1;
  exposeWindows(r);
  if (copiesInput(spec, input)) padAhead(r, grouped, vector);
  for (int level = 0; level < (grouped ? 1 : 2); level++) {  // rows, images
    r.apply(inside(around(isOverReductions), use("mapFlattenInner")));
    r.apply(layoutsOut());
    r.apply(normalise({"splitTwice"}));
  }
  if (grouped) {  // images, groups
    applyLayoutsOut(r, computing("mapFlatten"));
  }
}

}  // namespace

void deriveStaged(const ConvSpec& spec, Layout input, Rewriting& r) {
  const strategies::StagedProduct product = stagedTunables(r, sizeOf(spec), names);
  exposeProduct(spec, input, product.ofRows.vector, r);
  r.apply(inside(isComputingMap, strategies::stagedProduct(product)));
}

void deriveStagedSplitK(const ConvSpec& spec, Layout input, Rewriting& r) {
  const Nat chunk = chunkTunable(r, sizeOf(spec));
  const strategies::StagedProduct product = stagedTunables(r, sizeOf(spec), names);
  exposeProduct(spec, input, product.ofRows.vector, r);
  r.apply(inside(isComputingMap, strategies::stagedSplitK(product, chunk)));
}

std::string preferredStaged(const ConvSpec& s, const ConvLayouts& layouts, const runtime::DeviceInfo& device) {
  constexpr std::int64_t shortest = 64;        // of shorter sums blocks are mostly copies
  constexpr std::int64_t fewestChannels = 16;  // of a group
  std::string family;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const char* name, double cost) {
    if (cost < least) family = name, least = cost;
  };
  const bool fills = s.groups == 1 ? fillsTiles(s) : std::min(s.icPerGroup(), s.ocPerGroup()) >= fewestChannels;
  if (device.type == "gpu" && device.localMemoryIsDedicated && fills && s.reduction() >= shortest) {
    consider("staged", stagedBlock(sizeOf(s), &device, names).cost);
    if (s.groups == 1) consider("stagedSplitK", stagedChunks(sizeOf(s), &device, names).cost / worthSplitting);
  }
  if (const auto cost = stagedWinogradCost(s, layouts, device)) consider("winogradStaged", *cost);
  return family;
}

Config stagedDefaults(const ConvSpec& s) { return stagedBlock(sizeOf(s), nullptr, names).config; }
Config stagedSplitKDefaults(const ConvSpec& s) { return stagedChunks(sizeOf(s), nullptr, names).config; }

Config stagedPreferred(const ConvSpec& s, const runtime::DeviceInfo& device) {
  return device.type == "gpu" ? stagedBlock(sizeOf(s), &device, names).config : Config();
}
Config stagedSplitKPreferred(const ConvSpec& s, const runtime::DeviceInfo& device) {
  return device.type == "gpu" ? stagedChunks(sizeOf(s), &device, names).config : Config();
}

}  // namespace lift::detail
