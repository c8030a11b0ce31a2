// What parts cost on a device at a configuration, by counting what the innermost loop does. Only the order of a
// family's configurations matters: times are in cycles, and what all configurations share is left out.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lift/integers.hpp"
#include "lift/vector_registers.hpp"
#include "parts.hpp"

namespace lift {

std::int64_t linesHeld(std::int64_t apart, Cache cache) {
  const std::int64_t waySize = cache == Cache::first ? 4 << 10 : 128 << 10, ways = cache == Cache::first ? 7 : 8;
  return ways * (waySize / std::gcd(apart * static_cast<std::int64_t>(sizeof(float)), waySize));
}

}  // namespace lift

namespace lift::detail::parts {
namespace {

// What the model knows of a device.
struct Machine {
  explicit Machine(const runtime::DeviceInfo& device)
      : isGpu(device.type == "gpu"), units(std::max(1, device.computeUnits)) {
    if (device.localMemory > 0) near = std::min(near, static_cast<std::int64_t>(device.localMemory));
    if (isGpu && device.registers > 0) registers = device.registers;
    if (isGpu) return;
    const runtime::VectorRegisters vectors = runtime::vectorRegisters(device);
    lanes = static_cast<double>(vectors.lanes);
    registers = static_cast<double>(vectors.count);
  }

  bool isGpu;
  double units;
  double lanes = 1;               // of f32 in a register
  std::int64_t near = 768 << 10;  // bytes of local memory that the second cache of a processor holds
  double registers = 128;         // of a work-item; of a graphics processor so that half of all work-items run
};

double tilesOf(std::int64_t length, std::int64_t tile) {
  return std::ceil(static_cast<double>(length) / static_cast<double>(tile));
}

// The time of `items` work-items of `cycles` each. A processor's cores take them in whole rounds; a graphics processor
// is idle in part where there are too few.
double inParallel(const Machine& m, double items, double cycles) {
  constexpr double itemsOfUnit = 1024;  // that hide latency
  return m.isGpu ? std::max(items, m.units * itemsOfUnit) * cycles : std::ceil(items / m.units) * cycles;
}

// Two loads and two operations start in a cycle; an accumulator is ready for the next sum after four; what registers do
// not hold is stored and loaded again.
double cyclesOf(const Machine& m, double loads, double operations, double accumulators, double live) {
  constexpr double latency = 4;
  const double spilled = std::max(0.0, live - m.registers);
  if (m.isGpu) return std::max(operations, 4 * loads) + 8 * spilled;  // a load takes as long as four operations
  const double chains = accumulators > 0 ? operations / accumulators * latency : 0;
  return std::max({operations / 2, loads / 2, chains}) + 2 * spilled;
}

// Instructions for `count` elements in vectors of `lanes`: wider ones take several, narrower ones one.
double instructions(const Machine& m, std::int64_t count, std::int64_t lanes) {
  const auto l = static_cast<double>(lanes);
  return static_cast<double>(count) / l * std::ceil(l / m.lanes);
}

constexpr double elementApart = 2;  // elements that do not lie side by side are collected for vectors

// Of a tile of a product, for one step of its sums.
double loadsOf(const Machine& m, const ProductSize& size, const Tile& tile) {
  const auto values = static_cast<double>(size.values), columns = static_cast<double>(tile.columns);
  const double rows = static_cast<double>(tile.rows) * values;
  if (m.isGpu)  // neighbours read neighbouring vectors of four
    return columns / static_cast<double>(std::min<std::int64_t>(tile.lanes, 4)) * std::max(1.0, columns / 4) + rows;
  constexpr double fromNextCache = 8;  // a line, in loads
  double loads = instructions(m, tile.columns, tile.lanes) * values + rows;
  if (tile.rows > linesHeld(size.rowsApart)) loads += fromNextCache * rows;
  if (size.columnsRead == ColumnsRead::inPlace && !size.together) loads += elementApart * columns * values;
  return loads;
}

// A lower bound for a step whose columns a processor's first cache does not hold: they come from the second cache once
// for each tile, or from further away.
double cyclesOfColumns(const Machine& m, const ProductSize& size, const Tile& tile) {
  constexpr double firstCache = 16 << 10;  // bytes: half of it
  constexpr double pairOfLines = 128;      // bytes: a line is fetched with its neighbour
  const double bytes = static_cast<double>(tile.columns) * static_cast<double>(size.values) * sizeof(float);
  if (m.isGpu || bytes * static_cast<double>(size.depth) <= firstCache) return 0;
  if (size.columnsRead != ColumnsRead::inPlace) return bytes / 24;
  const bool apart = static_cast<double>(size.stepsApart) * sizeof(float) >= pairOfLines;
  const double fetched = apart ? std::max(bytes, pairOfLines) : bytes;
  return fetched / (size.depth <= linesHeld(size.stepsApart, Cache::second) ? 16 : 8);
}

double cyclesOfTile(const Machine& m, const ProductSize& size, const Tile& tile) {
  const auto values = static_cast<double>(size.values);
  const double vectors = instructions(m, tile.columns, tile.lanes) * values;
  const double accumulators = static_cast<double>(tile.rows) * vectors;
  const double computing =
      cyclesOf(m, loadsOf(m, size, tile), accumulators * values, accumulators, accumulators + vectors + 1);
  const double begin = 40 + 2 * accumulators;  // of a tile: indices, zeros, stores
  return static_cast<double>(size.depth) * std::max(computing, cyclesOfColumns(m, size, tile)) + begin;
}

// The first reading of a tile's columns: steps are so far apart that no line is fetched ahead. Elements that do not lie
// together are transposed in registers.
double cyclesOfFirst(const Machine& m, const ProductSize& size, const Tile& tile) {
  constexpr double ofStep = 10, ofLine = 8;
  const double elements = static_cast<double>(tile.columns * size.values);
  const double lines = std::ceil(elements * sizeof(float) / 64);
  return m.isGpu ? 0 : static_cast<double>(size.depth) * (size.together ? ofStep + ofLine * lines : elements);
}

// Of groups that copy their columns near; infinite where local memory, or the second cache, does not hold them.
double costWithGroups(const Machine& m, const ProductSize& size, const Tile& tile, std::int64_t tiles) {
  const std::int64_t elements = tile.columns * size.depth * size.values;
  if (elements * static_cast<std::int64_t>(sizeof(float)) > m.near) return std::numeric_limits<double>::infinity();
  const double stored = static_cast<double>(size.depth * size.values) * instructions(m, tile.columns, tile.lanes);
  const double groups =
      static_cast<double>(size.batch) * tilesOf(size.rows, tile.rows * tiles) * tilesOf(size.columns, tile.columns);
  return inParallel(m, groups,
                    cyclesOfFirst(m, size, tile) + stored + static_cast<double>(tiles) * cyclesOfTile(m, size, tile));
}

}  // namespace

std::int64_t tilesOfGroup(const runtime::DeviceInfo& device, const ProductSize& size, const Tile& tile) {
  const Machine m(device);
  const auto tiles = static_cast<std::int64_t>(tilesOf(size.rows, tile.rows));
  std::int64_t best = tiles;
  for (std::int64_t blocks = 2; blocks <= std::min<std::int64_t>(tiles, 4 * device.computeUnits); blocks++)
    if (const std::int64_t of = ceilDiv(tiles, blocks);
        costWithGroups(m, size, tile, of) < costWithGroups(m, size, tile, best))
      best = of;
  return best;
}

double costOfProduct(const runtime::DeviceInfo& device, const ProductSize& size, const Tile& tile) {
  const Machine m(device);
  if (size.columnsRead == ColumnsRead::near) return costWithGroups(m, size, tile, tilesOfGroup(device, size, tile));
  // A copy's elements are read and written, in the second cache or beyond.
  const double copied = static_cast<double>(size.columns * size.depth * size.values);
  const double ofCopied = (copied * sizeof(float) < secondCache ? 1.5 : 6) + (size.together ? 0 : elementApart);
  const double strips = static_cast<double>(size.batch) * tilesOf(size.columns, tile.columns);
  return inParallel(m, strips * tilesOf(size.rows, tile.rows), cyclesOfTile(m, size, tile)) +
         (size.columnsRead == ColumnsRead::panels ? inParallel(m, copied, ofCopied)
                                                  : inParallel(m, strips, cyclesOfFirst(m, size, tile)));
}

double costOfStencil(const runtime::DeviceInfo& device, const StencilSize& size, std::int64_t columns,
                     std::int64_t lanes) {
  const Machine m(device);
  const double vectors = instructions(m, columns, lanes);
  double loads = 2 * vectors;  // most are of two cache lines
  if (m.isGpu) loads = vectors * std::max(1.0, static_cast<double>(columns) / 4);
  const double cycles = cyclesOf(m, loads, vectors, vectors, vectors + 2);
  return inParallel(m, static_cast<double>(size.rows) * tilesOf(size.columns, columns),
                    static_cast<double>(size.window) * cycles + 40 + 2 * vectors);
}

OperatorFamily withUsualDefaults(OperatorFamily family) {
  family.defaults = family.preferred(usualProcessor());
  return family;
}

const runtime::DeviceInfo& usualProcessor() {
  static const runtime::DeviceInfo usual = [] {
    runtime::DeviceInfo d;
    d.type = "cpu";
    d.computeUnits = 1;
    d.vectorWidthF32 = 16;
    return d;
  }();
  return usual;
}

}  // namespace lift::detail::parts
