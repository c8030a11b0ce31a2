// What parts cost on a device at a configuration, by counting what the innermost loop does. Only the order of a
// family's configurations matters: times are in cycles, and what all configurations share is left out.
#include <algorithm>
#include <cmath>
#include <numeric>

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
    if (isGpu && device.registers > 0) registers = device.registers;
    if (isGpu) return;
    lanes = std::max(4, device.vectorWidthF32);
    registers = lanes >= 16 ? 32 : 16;  // AVX-512; AVX, SSE and NEON
  }

  bool isGpu;
  double units;
  double lanes = 1;        // of f32 in a register
  double registers = 128;  // of a work-item; of a graphics processor so that half of all work-items run
};

double tilesOf(std::int64_t length, std::int64_t tile) {
  return std::ceil(static_cast<double>(length) / static_cast<double>(tile));
}

// Work-items of so many cycles each: whole rounds on a processor's cores; on a graphics processor too few items leave
// it idle.
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

}  // namespace

double costOfProduct(const runtime::DeviceInfo& device, const ProductSize& size, const Tile& tile) {
  const Machine m(device);
  const auto [rows, columns, lanes] = tile;
  const double values = static_cast<double>(size.values), r = static_cast<double>(rows) * values;
  const double vectors = instructions(m, columns, lanes) * values, accumulators = static_cast<double>(rows) * vectors;
  double loads = vectors + r;
  constexpr double fromNextCache = 8;  // a line, in loads
  if (!m.isGpu && rows > linesHeld(size.rowsApart)) loads += fromNextCache * r;
  if (m.isGpu)  // neighbours read neighbouring vectors of four
    loads = static_cast<double>(columns) / static_cast<double>(std::min<std::int64_t>(lanes, 4)) *
                std::max(1.0, static_cast<double>(columns) / 4) +
            r;
  double cycles = cyclesOf(m, loads, accumulators * values, accumulators, accumulators + vectors + 1);
  // Columns that the first cache does not hold come from the second one for each tile, or from further away.
  constexpr double firstCache = 16 << 10;  // bytes: half of it
  const bool isNear = size.panels || size.depth <= linesHeld(size.stepsApart, Cache::second);
  const double perCycle = isNear ? 16 : 8, ofStep = static_cast<double>(columns) * values * sizeof(float);
  if (!m.isGpu && ofStep * static_cast<double>(size.depth) > firstCache) cycles = std::max(cycles, ofStep / perCycle);
  const double begin = 40 + 2 * accumulators;  // of a tile: indices, zeros, stores
  // A copy's elements are read and written, in the second cache or beyond.
  constexpr double secondCache = 1 << 20;
  const double copied = static_cast<double>(size.columns * size.depth) * values;
  const double ofCopied = copied * sizeof(float) < secondCache ? 1.5 : 6;
  const double tiles = static_cast<double>(size.batch) * tilesOf(size.rows, rows) * tilesOf(size.columns, columns);
  return inParallel(m, tiles, static_cast<double>(size.depth) * cycles + begin) +
         (size.panels ? inParallel(m, copied, ofCopied) : 0);
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
