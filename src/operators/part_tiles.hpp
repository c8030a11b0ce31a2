// Private to operators: how the families of parts cut loops into tiles.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "lift/integers.hpp"
#include "lift/transposition.hpp"
#include "parts.hpp"

namespace lift::detail::parts {

inline bool isGpu(const runtime::DeviceInfo& device) { return device.type == "gpu"; }

// The value that models assume for a size which is only known when kernels run; tiles of such sizes are filled up.
std::int64_t estimated(Nat n);

// How a dimension of `length` is cut into tiles.
struct Cut {
  bool fill = false;         // no good size of tiles divides it: the last tile is filled up and cropped
  std::int64_t longest = 0;  // of a tile
  std::int64_t length = 0;

  bool takes(std::int64_t tile) const { return tile <= longest && (fill || length % tile == 0); }
};

// Columns, in vectors: whole vectors of eight or more, or of all columns, need no filling.
Cut cutOfColumns(Nat columns, std::int64_t longest, bool mayFill = true);

Cut cutOfRows(Nat rows);

// Any tile, in whole vectors of 16 at most: the last one is filled up.
Cut filledCut(Nat n, std::int64_t longest);

// Accumulators of a tile and vectors of a stencil's item.
constexpr std::int64_t mostVectors = 64, mostVectorsOfItem = 16;

// The tile of least cost among those that the cuts take; a tile without lanes where all costs are infinite.
template <class Cost>
Tile cheapest(const Cut& rows, const Cut& columns, std::int64_t vectors, const Cost& cost) {
  Tile best;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t l = 2; l <= 16; l *= 2)
    for (std::int64_t c = l; c <= columns.longest; c += l)
      for (std::int64_t r = 1; columns.takes(c) && r <= rows.longest && r * c <= l * vectors; r++) {
        if (!rows.takes(r)) continue;
        const double costs = cost(Tile{r, c, l});
        if (costs >= least) continue;
        best = {r, c, l};
        least = costs;
      }
  return best;
}

std::string isNotKnown(Nat size);
// Why the loops cannot be cut into tiles whose innermost dimension is in vectors; empty where they can.
std::string notInLanes(Nat columns);

// The input with its padding in memory, so that neighbours are read as vectors.
rewrite::Strategy paddedInMemory();

// Why a product is not computed in tiles; empty where it is, by these families, the cheapest first.
std::string notInTiles(const Recognised& form);
std::vector<OperatorFamily> productFamilies(const Recognised& form);
// Whether every element is a sum of elements that lie in memory in order, which dotProductFamily adds in lanes.
bool hasDotProducts(const Recognised& form);
// Whether there are so few sums that a work-item for each leaves a graphics processor idle.
bool isOfFewSums(const Recognised& form);
// Whether a side of a product is too short to pay for a copy of the other.
bool isFewByMany(const Recognised& form);
// A tile of sums per work-item, each in lanes.
OperatorFamily dotProductFamily(const Recognised& form);
// Why a product is not computed in blocks whose operands go through local memory; empty where it is.
std::string notStaged(const Recognised& form);
std::vector<OperatorFamily> stagedFamilies(const Recognised& form);
// Whether rows should be reduced by a work-group each, whose work-items read what lies side by side. (Neighbouring
// work-items with a row each would read from places far apart.)
bool prefersGroups(const runtime::DeviceInfo& device);
// Whether every element of the result is one long sum of elements that lie in memory in order.
bool elementsLieTogether(const Recognised& form);

// Families for data that is moved into another order; none where it has no vectors.
std::vector<OperatorFamily> transpositionFamilies(const rewrite::Transposition& t);
// The tiles of that family's defaults.
strategies::TransposedTiles usualTiles(const rewrite::Transposition& t);

}  // namespace lift::detail::parts
