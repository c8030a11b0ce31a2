// Matrix products whose operands go through local memory (strategies::stagedProduct): what is open of them, and the
// block to begin with.
#pragma once

#include <cstdint>

#include "lift/device.hpp"
#include "lift/rewrite.hpp"
#include "lift/space.hpp"
#include "lift/strategies.hpp"

namespace lift {

struct StagedSize {
  // What lies side by side in memory: elements of a sum, or, across, rows or columns of the product; so many, which
  // vectors divide.
  struct Operand {
    bool across = false;
    std::int64_t neighbours = 1;
  };
  std::int64_t batch, rows, columns, depth;
  Operand ofRows = {}, ofColumns = {};
  std::int64_t elementBytes = sizeof(float);
  bool fillsDepth = false;  // steps of any depth
  int batchLoops = 0;
};

// Of the tunables. Where both vectors have one name, both copies have the same.
struct StagedNames {
  const char *rows = "rows", *columns = "columns", *lanes = "lanes", *rowLanes = "rowLanes", *rowItems = "rowItems",
             *columnItems = "columnItems", *depth = "depth", *rowVector = "rowVector", *columnVector = "columnVector",
             *unroll = "unroll";
};

// The product with its tunables, and what they have to satisfy.
strategies::StagedProduct stagedTunables(rewrite::Rewriting& r, const StagedSize& size, const StagedNames& names = {});

// The tunable `chunk` of products whose sums are in chunks: it divides them.
Nat chunkTunable(rewrite::Rewriting& r, const StagedSize& size);

// The cheapest block by a count of what a unit does for each product, within the device's registers, half of its local
// memory, and its units; without a device, a usual GPU's. Where no block is copied evenly, one work-item has a block.
struct StagedBlock {
  Config config;
  double cost;  // of all blocks, in what a unit multiplies and adds in that time
};
StagedBlock stagedBlock(const StagedSize& size, const runtime::DeviceInfo* device, const StagedNames& names = {});

// The same for the products of chunks of the sums, each by groups of its own, and a kernel that adds up what they leave
// (split-K): the cheapest length of a chunk with its block.
StagedBlock stagedChunks(const StagedSize& size, const runtime::DeviceInfo* device, const StagedNames& names = {});

// Chunks are worth their launch where they cost so much less than whole sums: the count is not exact.
constexpr double worthSplitting = 0.95;

// In the same measure: a launch, and elements that all units together read or write.
constexpr double launchCost = 1 << 20;
double memoryCost(double elements, const runtime::DeviceInfo* device);

}  // namespace lift
