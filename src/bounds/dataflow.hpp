// Private to bounds: the paper's dataflow, tile by tile.
#pragma once

#include <optional>

#include "lift/bounds.hpp"

namespace lift::bounds {

// What a tile of results needs of fast memory, and of which sizes tiles are. Rows and columns of tiles are multiples.
struct TileModel {
  double sums = 1;  // elements of fast memory for each result
  std::int64_t rowUnit = 1, columnUnit = 1;
  bool streams = true;  // room for the operands of a step besides
};

// Of all tiles of the layer that fit the one of least volume; nothing where none fits.
std::optional<Dataflow> bestTile(const ConvSpec& layer, const TileModel& model, std::int64_t fast);

}  // namespace lift::bounds
