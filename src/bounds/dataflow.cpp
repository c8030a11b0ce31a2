// The paper's dataflow (sections 5.2 and 5.3): a tile of results stays in fast memory while the input channels go by,
// one at a time. Of a channel and a tile, the inputs or the weights stay for the tile's turn, whichever are fewer, and
// the others come one by one.
#include "dataflow.hpp"

#include <algorithm>

#include "axis.hpp"
#include "lift/integers.hpp"

namespace lift::bounds {
namespace {

// One element that comes by, a product, and the sum that takes the place of another.
constexpr std::int64_t inFlight = 3;

struct Dimension {
  std::int64_t size;
  Axis::Tiled reads;
};

std::vector<Dimension> dimensions(const Axis& axis, std::int64_t unit) {
  std::vector<Dimension> all;
  for (const std::int64_t size : tileSizes(axis.out, unit)) all.push_back({size, axis.tiled(size)});
  return all;
}

}  // namespace

std::optional<Dataflow> bestTile(const ConvSpec& layer, const TileModel& model, std::int64_t fast) {
  const Axis rows = Axis::rows(layer), columns = Axis::columns(layer);
  const auto allRows = dimensions(rows, model.rowUnit), allColumns = dimensions(columns, model.columnUnit);
  const std::int64_t taps = layer.kh * layer.kw;
  const std::int64_t outputs = layer.batch * layer.oh * layer.ow * layer.oc;
  std::optional<Dataflow> best;
  for (const std::int64_t channels : tileSizes(layer.ocPerGroup()))
    for (const std::int64_t images : tileSizes(layer.batch))
      for (const Dimension& r : allRows)
        for (const Dimension& c : allColumns) {
          // Several images at once only where a tile has whole ones.
          if (images > 1 && (r.size < layer.oh || c.size < layer.ow)) continue;
          const double sums = model.sums * static_cast<double>(images * r.size * c.size * channels);
          if (sums > static_cast<double>(fast)) break;
          const bool single = images * r.size * c.size * channels == 1;  // whose operands are read once
          const std::int64_t stay =
              single ? 0 : std::min(images * r.reads.mostInputs * c.reads.mostInputs, taps * channels);
          const std::int64_t memory = static_cast<std::int64_t>(sums) + (model.streams ? stay + inFlight : 0);
          if (memory > fast) continue;
          const std::int64_t channelTiles = ceilDiv(layer.ocPerGroup(), channels);
          const std::int64_t imageTiles = ceilDiv(layer.batch, images);
          const std::int64_t inputs = layer.batch * layer.ic * r.reads.inputs * c.reads.inputs * channelTiles;
          const std::int64_t weights = layer.oc * layer.icPerGroup() * imageTiles * r.reads.taps * c.reads.taps;
          const std::int64_t biases = layer.oc * imageTiles * r.reads.tiles * c.reads.tiles;
          const std::int64_t volume = inputs + weights + biases + outputs;
          if (best && volume >= best->volume) continue;
          best.emplace();
          best->tile = {images, std::min(r.size, layer.oh), std::min(c.size, layer.ow), channels};
          best->volume = volume;
          best->memory = memory;
        }
  return best;
}

}  // namespace lift::bounds
