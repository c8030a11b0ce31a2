// The family `staged`: blocks of pixels by output channels, their inputs and weights copied to local memory a few
// elements of the reduction at a time, for GPUs whose local memory is apart from their caches: the implicit matrix
// product of all windows and all kernels (Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014). Every
// step is a rule; the order is
//
//   the padded input, by a kernel of its own, so that no load asks where it is;
//   the windows of all images in one row, padded to whole blocks, as are the kernels;
//   the product of windows and kernels in blocks, by work-groups (rewrite::strategies::stagedProduct).
#include "family.hpp"
#include "lift/staged_blocks.hpp"

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

}  // namespace

void deriveStaged(const ConvSpec& spec, Layout input, Rewriting& r) {
  const bool grouped = spec.groups > 1;
  const strategies::StagedProduct product = stagedTunables(r, sizeOf(spec), names);
  exposeWindows(r);
  if (copiesInput(spec, input)) padAhead(r, grouped, product.ofRows.vector);
  for (int level = 0; level < (grouped ? 1 : 2); level++) {  // rows, images
    r.apply(inside([](Expr e) { return isMap(e) && isOverReductions(bodyOf(e)); }, use("mapFlattenInner")));
    r.apply(layoutsOut());
    r.apply(normalise({"splitTwice"}));
  }
  if (grouped) {  // images, groups
    r.apply(inside(isComputingMap, use("mapFlatten")));
    r.apply(layoutsOut());
  }
  r.apply(inside(isComputingMap, strategies::stagedProduct(product)));
}

bool prefersStaged(const ConvSpec& s, Layout input, const runtime::DeviceInfo& device) {
  constexpr std::int64_t shortest = 64;  // of shorter sums blocks are mostly copies
  return device.type == "gpu" && device.localMemoryIsDedicated && s.groups == 1 && s.reduction() >= shortest &&
         fillsTiles(s) && !prefersStagedWinograd(s, input, device);
}

Config stagedDefaults(const ConvSpec& s) { return stagedBlock(sizeOf(s), nullptr, names); }

Config stagedPreferred(const ConvSpec& s, const runtime::DeviceInfo& device) {
  return device.type == "gpu" ? stagedBlock(sizeOf(s), &device, names) : Config();
}

}  // namespace lift::detail
