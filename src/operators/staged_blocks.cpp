#include "lift/staged_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "lift/integers.hpp"

namespace lift {

namespace {

constexpr std::int64_t mostOfItem = 16, mostItems = 64, mostDepth = 64, widest = 4;
constexpr std::int64_t deepest = 16;            // of a good block: of layers of VGG-16 on an NVIDIA H200
constexpr std::int64_t mostLoaded = 16;         // of a step by a work-item: what the pass `ahead` keeps in registers
constexpr std::int64_t mostAccumulators = 128;  // more than any device has registers for

bool hasVectors(const StagedSize::Operand& operand) { return operand.neighbours % 2 == 0; }

// What a block has to fit into, and what its cost depends on.
struct Limits {
  explicit Limits(const runtime::DeviceInfo* device) {
    if (device == nullptr) return;
    if (device->localMemoryIsDedicated) registers = 128;
    if (device->registers > 0) registers = device->registers;
    if (device->maxWorkGroupSize > 0)
      items = std::min<std::int64_t>(items, static_cast<std::int64_t>(device->maxWorkGroupSize));
    // Two groups of a unit work in turns: one copies while the other computes.
    if (device->localMemory > 0) localBytes = static_cast<std::int64_t>(device->localMemory) / 2;
    if (device->computeUnits > 0) units = device->computeUnits;
  }

  std::int64_t registers = 64, items = 256, localBytes = 32 << 10, units = 16;
};

struct Block {
  std::int64_t rows, columns, rowItems, columnItems, depth = 0;

  std::int64_t allRows() const { return rows * rowItems; }
  std::int64_t allColumns() const { return columns * columnItems; }
  std::int64_t items() const { return rowItems * columnItems; }
};

std::int64_t vectorOf(const StagedSize::Operand& operand) { return std::min(widest, widestVector(operand.neighbours)); }

// Whether steps of the block's depth are whole, in whole vectors, which all work-items copy the same number of.
bool isEven(const StagedSize& size, const Block& block) {
  const auto copies = [&](const StagedSize::Operand& operand, std::int64_t of) {
    const std::int64_t vector = vectorOf(operand);
    return (operand.across ? of : block.depth) % vector == 0 && of * block.depth / vector % block.items() == 0;
  };
  return (size.fillsDepth || size.depth % block.depth == 0) && copies(size.ofRows, block.allRows()) &&
         copies(size.ofColumns, block.allColumns());
}

// Cycles of a compute unit for each product, by what GPUs have in common: four vectors from local memory, or 16
// elements copied to it, take as long as 64 products. Besides, each step has its barriers, a block computes what is
// cropped, and a unit with few work-items waits for memory.
double costOf(const StagedSize& size, const Block& block, std::int64_t units) {
  constexpr std::int64_t together = 32;  // work-items that take their steps together
  const auto p = static_cast<double>(block.rows), k = static_cast<double>(block.columns);
  const auto rows = static_cast<double>(block.allRows()), columns = static_cast<double>(block.allColumns());
  constexpr double ofBarriers = 32, itemsOfUnit = 256;
  const double product = 1 + (p + 3 * k) / (p * k) + 16 * (1 / rows + 1 / columns) +
                         ofBarriers / (static_cast<double>(block.depth) * p * k);
  const auto blocks = [](std::int64_t n, double of) { return std::ceil(static_cast<double>(n) / of); };
  const double groups = static_cast<double>(size.batch) * blocks(size.rows, rows) * blocks(size.columns, columns);
  const double ofUnit = std::ceil(groups / static_cast<double>(units));
  const double steps = blocks(size.depth, static_cast<double>(block.depth)) * static_cast<double>(block.depth);
  const auto items = static_cast<double>(roundedUp(block.items(), together));
  return steps * product * rows * columns * (items / static_cast<double>(block.items())) * ofUnit *
         std::max(1.0, itemsOfUnit / (ofUnit * items));
}

}  // namespace

strategies::StagedProduct stagedTunables(rewrite::Rewriting& r, const StagedSize& size, const StagedNames& names) {
  using Kind = SizeCondition::Kind;
  strategies::StagedProduct p;
  p.rows = r.tunable(names.rows, 2, mostOfItem);
  p.columns = r.tunable(names.columns, 2, mostOfItem);
  p.lanes = r.tunable(names.lanes, 2, widest);
  p.rowLanes = r.tunable(names.rowLanes, 2, widest);
  p.rowItems = r.tunable(names.rowItems, 1, mostItems);
  p.columnItems = r.tunable(names.columnItems, 1, mostItems);
  p.depth = r.tunable(names.depth, 1, std::min(size.depth, mostDepth));
  p.ofRows.across = size.ofRows.across;
  p.ofColumns.across = size.ofColumns.across;
  if (hasVectors(size.ofRows)) p.ofRows.vector = r.tunable(names.rowVector, 2, widest);
  const bool same = p.ofRows.vector && std::string_view(names.rowVector) == names.columnVector;
  if (hasVectors(size.ofColumns))
    p.ofColumns.vector = same ? *p.ofRows.vector : r.tunable(names.columnVector, 2, widest);
  p.unroll = r.tunable(names.unroll, 1, 16);
  p.fillDepth = size.fillsDepth;
  p.batch = size.batchLoops;
  r.assume({Kind::lessEqual, p.rows * p.columns, mostAccumulators, "accumulators of a work-item"});
  r.assume({Kind::divides, p.lanes, Nat(widest), "lanes of registers"});
  r.assume({Kind::divides, p.rowLanes, Nat(widest), "lanes of rows"});
  const auto ofVector = [&](const std::optional<Nat>& vector, const StagedSize::Operand& operand) {
    if (!vector) return;
    r.assume({Kind::divides, *vector, Nat(widest), "lanes of a copy"});
    r.assume({Kind::divides, *vector, operand.neighbours, "whole vectors of neighbours"});
  };
  ofVector(p.ofRows.vector, size.ofRows);
  if (!same) ofVector(p.ofColumns.vector, size.ofColumns);
  r.assume({Kind::divides, p.unroll, p.depth, "copies of the loop over a copied block"});
  return p;
}

Nat chunkTunable(rewrite::Rewriting& r, const StagedSize& size) {
  const Nat chunk = r.tunable("chunk", 1, size.depth);
  r.assume({SizeCondition::Kind::divides, chunk, Nat(size.depth), "chunks of a sum"});
  return chunk;
}

StagedBlock stagedBlock(const StagedSize& size, const runtime::DeviceInfo* device, const StagedNames& names) {
  const Limits limits(device);
  std::optional<Block> best;
  double least = 0;
  const auto consider = [&](Block b) {
    constexpr std::int64_t ofAddresses = 16, fewestItems = 16;
    if (b.rows > std::max<std::int64_t>(2, size.rows) || b.rows * b.columns > mostAccumulators) return;
    if (b.items() < fewestItems || b.items() > limits.items) return;
    // What a step copies is loaded while the one before computes; an assembler takes some registers more.
    const std::int64_t words = std::max<std::int64_t>(1, size.elementBytes / 4), lines = b.allRows() + b.allColumns();
    const std::int64_t free =
        limits.registers * 7 / 8 - ofAddresses - words * (b.rows * b.columns + b.rows + b.columns);
    const std::int64_t loaded = std::min(mostLoaded, free) * b.items() / (words * lines);
    const std::int64_t held = limits.localBytes / (lines * size.elementBytes);
    for (b.depth = std::min({size.depth, deepest, loaded, held}); b.depth > 0; b.depth--) {
      if (!isEven(size, b)) continue;
      const double cost = costOf(size, b, limits.units);
      if (best && cost >= least) continue;
      least = cost;
      best = b;
    }
  };
  for (std::int64_t rows = 2; rows <= mostOfItem; rows *= 2)
    for (const std::int64_t columns : {4, 8, 16, 2})
      for (std::int64_t rowItems = 1; rowItems <= mostItems; rowItems *= 2)
        for (std::int64_t columnItems = 1; columnItems <= mostItems; columnItems *= 2)
          consider({rows, columns, rowItems, columnItems});
  if (!best) {  // no block is copied evenly: one work-item of its own
    best = Block{4, 4, 1, 1, std::min(size.depth, deepest)};
    while (!isEven(size, *best)) best->depth--;
    least = costOf(size, *best, limits.units);
  }
  Config c{{names.rows, best->rows},
           {names.columns, best->columns},
           {names.lanes, std::min(widest, best->columns)},
           {names.rowLanes, std::min(widest, best->rows)},
           {names.rowItems, best->rowItems},
           {names.columnItems, best->columnItems},
           {names.depth, best->depth},
           {names.unroll, largestDivisor(best->depth, 4)}};
  if (hasVectors(size.ofRows)) c[names.rowVector] = vectorOf(size.ofRows);
  if (hasVectors(size.ofColumns)) c[names.columnVector] = vectorOf(size.ofColumns);
  return {c, least};
}

// Measured on an NVIDIA H200: 5 us, and 4.8 TB/s, where a unit multiplies and adds 224 thousand million times a second.
double memoryCost(double elements, const runtime::DeviceInfo* device) {
  constexpr double ofElement = 25;
  return ofElement * elements / static_cast<double>(Limits(device).units);
}

StagedBlock stagedChunks(const StagedSize& size, const runtime::DeviceInfo* device, const StagedNames& names) {
  constexpr std::int64_t shortest = 64, most = 64;
  std::optional<StagedBlock> best;
  for (std::int64_t chunks = 1; chunks <= most; chunks++) {
    const std::int64_t chunk = size.depth / chunks;
    const auto inVectors = [&](const StagedSize::Operand& o) { return o.across || chunk % vectorOf(o) == 0; };
    if (size.depth % chunks != 0 || !inVectors(size.ofRows) || !inVectors(size.ofColumns)) continue;
    if (chunks > 1 && chunk < shortest) break;
    StagedSize ofChunks = size;
    ofChunks.batch = chunks;
    ofChunks.depth = chunk;
    StagedBlock block = stagedBlock(ofChunks, device, names);
    block.config["chunk"] = ofChunks.depth;
    block.cost += launchCost + memoryCost(2.0 * static_cast<double>(size.rows * size.columns * chunks), device);
    if (!best || block.cost < best->cost) best = block;
  }
  return *best;
}

}  // namespace lift
