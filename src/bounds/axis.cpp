#include "axis.hpp"
#include "lift/integers.hpp"

#include <algorithm>
#include <set>

namespace lift::bounds {

std::int64_t Axis::inside() const {
  std::int64_t count = 0;
  for (std::int64_t w = 0; w < out; w++)
    for (std::int64_t t = 0; t < taps; t++) count += isInside(place(w, t));
  return count;
}

std::int64_t Axis::usedTaps(std::int64_t first, std::int64_t count) const {
  std::int64_t used = 0;
  for (std::int64_t t = 0; t < taps; t++) {
    bool any = false;
    for (std::int64_t w = first; w < std::min(out, first + count) && !any; w++) any = isInside(place(w, t));
    used += any;
  }
  return used;
}

std::int64_t Axis::mostReuse() const {
  std::vector<std::int64_t> reads(static_cast<std::size_t>(in));
  for (std::int64_t w = 0; w < out; w++)
    for (std::int64_t t = 0; t < taps; t++)
      if (isInside(place(w, t))) reads[static_cast<std::size_t>(place(w, t))]++;
  return reads.empty() ? 0 : *std::ranges::max_element(reads);
}

std::int64_t Axis::read(std::int64_t first, std::int64_t count) const {
  std::set<std::int64_t> places;
  for (std::int64_t w = first; w < std::min(out, first + count); w++)
    for (std::int64_t t = 0; t < taps; t++)
      if (isInside(place(w, t))) places.insert(place(w, t));
  return static_cast<std::int64_t>(places.size());
}

Axis::Tiled Axis::tiled(std::int64_t windows) const {
  Tiled tiled;
  for (std::int64_t w = 0; w < out; w += windows) {
    const std::int64_t reads = read(w, windows);
    tiled.tiles++;
    tiled.inputs += reads;
    tiled.mostInputs = std::max(tiled.mostInputs, reads);
    tiled.taps += usedTaps(w, windows);
  }
  return tiled;
}

std::vector<std::int64_t> tileSizes(std::int64_t n, std::int64_t unit) {
  const std::int64_t units = ceilDiv(n, unit);
  std::set<std::int64_t> sizes;
  for (std::int64_t tiles = 1; tiles <= units; tiles++) sizes.insert(ceilDiv(units, tiles) * unit);
  return {sizes.begin(), sizes.end()};
}

}  // namespace lift::bounds
