// Winograd's algorithms as families: which there are of a layer, their derivations, and configurations to start from.
#pragma once

#include "family.hpp"
#include "lift/cook_toom.hpp"

namespace lift::detail {

// Cook-Toom algorithms of rows and columns, F(m, taps), with m outputs of a tile in either dimension, or fewer where
// the kernel is long, and one where it has one tap. `fused`: transforms and products in one kernel, block by block.
// At the default points; the tunable `points` says which of rewrite::goodPoints are taken, where there are others.
struct Winograd {
  rewrite::CookToom rows, columns;
  bool fused = false;
  std::int64_t products() const { return (rows.m + rows.r - 1) * (columns.m + columns.r - 1); }  // of a tile
};
Winograd winogradOf(const ConvSpec& spec, std::int64_t m, bool fused);
void deriveWinograd(const ConvSpec& spec, const Winograd& w, Rewriting& r);
// For GPUs whose local memory is apart: the products in blocks whose operands are copied there, a work-item for each
// channel of a transformed tile. No groups.
void deriveWinogradStaged(const ConvSpec& spec, const Winograd& w, Rewriting& r);
// What it costs (StagedBlock::cost); nothing where it is never the fastest family.
std::optional<double> stagedWinogradCost(const ConvSpec& spec, const ConvLayouts& layouts,
                                         const runtime::DeviceInfo& device);
Config winogradStagedDefaults(const ConvSpec& spec, const Winograd& w);
Config winogradStagedPreferred(const ConvSpec& spec, const Winograd& w, const runtime::DeviceInfo& device);
Config winogradDefaults(const ConvSpec& spec, const Winograd& w, const ConvLayouts& layouts = {});
// For a processor: its registers, and blocks as large as a core's own cache allows. Empty where these are the defaults.
Config winogradPreferred(const ConvSpec& spec, const Winograd& w, const ConvLayouts& layouts,
                         const runtime::DeviceInfo& device);
// Why there is none of the layer; empty where there is.
std::string whyNotWinograd(const ConvSpec& spec, bool fused);
// Of these families and `dots` those that are likely faster than `blocked` for a layer of which nothing was measured,
// the fastest first.
std::vector<std::string> likelyFastest(const ConvSpec& spec, const ConvLayouts& layouts);
// Whether `winograd` is, on a processor whose caches or local memory do not suit the `winogradFused` that is preferred.
bool prefersUnfused(const ConvSpec& spec, const ConvLayouts& layouts, const runtime::DeviceInfo& device);
// How many sets of points there are to choose from, and the algorithms at one of them, counted from 1 on.
std::int64_t choicesOfPoints(const Winograd& w);
Winograd atPoints(const Winograd& w, std::int64_t points);
// The largest relative error of a right result, as convTolerance has it.
double winogradTolerance(const ConvSpec& spec, const Winograd& w, Scalar elements);

// Windows that are missing to whole tiles.
inline std::int64_t missingWindows(std::int64_t windows, std::int64_t m) { return (m - windows % m) % m; }
inline std::int64_t tilesOfImage(const ConvSpec& s, const Winograd& w) {
  return ceilDiv(s.oh, w.rows.m) * ceilDiv(s.ow, w.columns.m);
}
inline std::int64_t tilesOf(const ConvSpec& s, const Winograd& w) { return s.batch * tilesOfImage(s, w); }

constexpr std::int64_t mostTiles = 32;  // of a register tile

// The products of winogradStaged: a matrix product for each position of a tile; and what its tunables are called.
StagedSize stagedProducts(const ConvSpec& layer, const Winograd& w);
inline StagedNames namesOfStagedProducts() { return namesOfBlock("tiles", "tileLanes", "tileItems"); }

}  // namespace lift::detail
