// What the families' strategies share.
#pragma once

#include "lift/conv_operator.hpp"
#include "lift/integers.hpp"
#include "lift/staged_blocks.hpp"
#include "lift/strategies.hpp"
#include "lift/vector_registers.hpp"

namespace lift::detail {

using rewrite::Arguments;
using rewrite::Rewriting;
using rewrite::Strategy;
using runtime::VectorRegisters;
using strategies::isComputingMap;

// The forms of terms that strategies look for.
bool isApplied(Expr e, Prim prim);  // prim applied to all its arguments; zip to two arrays
bool isMap(Expr e);                 // map applied to a function and an array
bool isMapOver(Expr e, Prim prim);  // map over an array that the primitive gives
bool contains(Expr e, Prim prim);   // anywhere
bool isReduction(Expr e);
bool isOverReduction(Expr e);   // a map around one: over kernels
bool isOverReductions(Expr e);  // a map around such maps: over windows
// A map over what is split after it was filled to whole blocks: over blocks of kernels.
bool isOverFilledBlocks(Expr e);
Expr argumentOf(Expr application, std::size_t i);
Expr bodyOf(Expr map);  // of the mapped function
// A map whose body is such a term.
std::function<bool(Expr)> around(std::function<bool(Expr)> inner);

// The rule at the outermost map that computes.
Strategy computing(const char* rule, Arguments arguments = {});
// Whether a term keeps a value in memory of which that holds; s at such a value.
std::function<bool(Expr)> isKept(bool (*which)(Expr));
Strategy kept(bool (*which)(Expr), Strategy s);

// The size, at most `most`, of tiles that cover n with little left over, where a tile takes `border` elements' work
// more than its own: of pixels in registers, as much as their weights' loads; of rows, as much as rows that are copied
// twice.
constexpr double pixelBorder = 2, rowBorder = 0.1;
std::int64_t evenTile(std::int64_t n, std::int64_t most, double border);

// Whether an input that is multiplied with vectors takes an instruction and a register: AVX-512 has products with an
// element of memory.
bool loadsInputs(const VectorRegisters& of);

// Accumulators that are worth having: more than any device has registers for.
constexpr std::int64_t mostAccumulators = 64;
void assumeAccumulators(Rewriting& r, Nat accumulators);
// Accumulators that a register tile of so many vectors may have, beside the operands of a step of its sums.
std::int64_t accumulatorsBeside(std::int64_t vectors, const VectorRegisters& of);
// What a step of a register tile costs, in products of vectors: these, at least as many as hide the latency of one, a
// load for each vector of weights, and one for each input, which is part of one where it comes with the multiplication,
// as on processors with 32 registers.
double stepCost(std::int64_t inputs, std::int64_t vectors, const VectorRegisters& of);

// Vectors of channels, at most of `mostLanes`.
constexpr std::int64_t mostLanes = 16;
void assumeLanes(Rewriting& r, Nat lanes);  // that they divide the widest vector's
bool hasVectors(std::int64_t channels);
// Lanes of the vectors that cover n channels: wide ones, unless narrow ones leave fewer lanes over. A block of the
// output's layout, if it has blocks, is whole vectors.
std::int64_t lanesFor(std::int64_t n, const VectorRegisters& of, Layout output = Layout::nhwc);
// The widest vector, at most a register, into which n elements divide.
std::int64_t widestVectorOf(std::int64_t n, const VectorRegisters& of);
// Elements from a pixel to its neighbour in a row.
std::int64_t channelsApart(const ConvSpec& spec, Layout layout);

// Listing 3 with its windows, layouts moved out of the maps: the start of all families.
void exposeWindows(Rewriting& r);

// Decimation of a layer with dilated kernels: outputs of every d-th row, from one of the first d on, read every d-th
// row of the input. So the layer is d layers whose kernels have no gaps between their rows; and so for columns.
struct Phases {
  bool rows = false, columns = false;
  int count() const { return int{rows} + int{columns}; }  // maps around the windows' maps
};
Phases allPhases(const ConvSpec& spec);  // of kernels that are dilated, at stride 1
// The layer of the phases together, as images of a batch, whose tensors are padded already in these dimensions.
ConvSpec decimated(const ConvSpec& spec, Phases phases);
// The layer of stride 1 that Winograd's algorithms compute: the phases of a dilated layer; of one with a stride, a
// layer whose channels are the phases of its rows and columns (rule stridesToChannels).
ConvSpec atStrideOne(const ConvSpec& layer);
// exposeWindows of the phases.
void exposePhases(const ConvSpec& spec, Phases phases, Rewriting& r);

bool readsWeights(Expr e);  // the program's parameter

using strategies::copyInParallel;
using strategies::layoutsOut;
using strategies::missingTo;
using strategies::ofWhatIsUsed;

// Applies the strategy, then moves layouts of results out of the maps that compute them.
void applyLayoutsOut(Rewriting& r, const Strategy& strategy);

// The map over the windows of one row, or tiles of them: they slide over columns of a variable, the rows of a window.
bool isWindowsMap(Expr e);
bool isRowsMap(Expr e);  // the map over rows of windows, or tiles of them

// Windows along one dimension in chunks of k, the chunks cut from the input.
void splitWindows(Rewriting& r, bool (*where)(Expr), Nat k);

// Reductions, one for each window of a tile, become one reduction of all the tile's accumulators. Vectors are of
// results, or of what is summed.
enum class Lanes : std::uint8_t { ofResults, ofElements };
void windowsIntoReduction(Rewriting& r, Lanes lanes = Lanes::ofResults);
// A reduction over the channels and taps of windows, written as one, as loops: blocks of channels, taps, channels.
void reductionInLoops(Rewriting& r);

// So many reductions in loops, one by `unroll` steps at a time, and the register tile in it, two maps, unrolled.
void lowerTile(Rewriting& r, int loops, Nat unroll);

// Windows more, at the bottom and the right, to whole tiles of rows by columns; what they give is cropped.
void padWindowsTo(Rewriting& r, const ConvSpec& spec, Nat rows, Nat columns);
// The same at the bottom alone.
void padRowsTo(Rewriting& r, Nat height, Nat stride, Nat rows);

// The weights in the order that the innermost reductions read them, by a kernel of their own that runs once: they
// depend on the elements of so many maps.
void arrangeWeights(Rewriting& r, int maps);

// Whether the padded input is written down, with a pixel's channels side by side. Else each element is read where it
// is.
bool copiesInput(const ConvSpec& spec, Layout input);
// The padded input of all images and groups, ahead of everything, copied in vectors of channels or one by one.
void padAhead(Rewriting& r, bool grouped, std::optional<Nat> vector);

// Each family: its strategy, and a configuration: of a processor's registers, where the family is for processors.
void derivePaper(const ConvSpec& spec, Rewriting& r);
Config paperDefaults(const ConvSpec& spec);
Config paperPreferred(const ConvSpec& spec, const runtime::DeviceInfo& device);  // empty: of nothing but GPUs

// `images`: the weights are read through images, in vectors of four.
void deriveTiled(const ConvSpec& spec, Layout input, bool images, Rewriting& r);
Config tiledDefaults(const ConvSpec& spec);
Config tiledPreferred(const ConvSpec& spec, const runtime::DeviceInfo& device);  // empty: of nothing but GPUs
// Whether groups have outputs enough for it; else most of its lanes compute what is cropped.
bool fillsTiles(const ConvSpec& spec);
// Whether they have, or inputs that are read in vectors.
bool suitsTiles(const ConvSpec& spec);

// Of blocks of a layer's products: columns are kernels, both copies have the same vectors.
inline StagedNames namesOfBlock(const char* rows, const char* rowLanes, const char* rowItems) {
  return {.rows = rows,
          .columns = "kernels",
          .rowLanes = rowLanes,
          .rowItems = rowItems,
          .columnItems = "kernelItems",
          .rowVector = "vector",
          .columnVector = "vector"};
}
void deriveStaged(const ConvSpec& spec, Layout input, Rewriting& r);
Config stagedDefaults(const ConvSpec& spec);
Config stagedPreferred(const ConvSpec& spec, const runtime::DeviceInfo& device);  // empty: of nothing but GPUs
// The same with the sums in chunks, for layers of few outputs, whose blocks are too few for the device. No groups.
void deriveStagedSplitK(const ConvSpec& spec, Layout input, Rewriting& r);
Config stagedSplitKDefaults(const ConvSpec& spec);
Config stagedSplitKPreferred(const ConvSpec& spec, const runtime::DeviceInfo& device);
// The family of those that copy to local memory that is likely the fastest of all on a GPU; empty where none is.
std::string preferredStaged(const ConvSpec& spec, const ConvLayouts& layouts, const runtime::DeviceInfo& device);

// Of the rows of taps of all windows those that lie in the image, as a share: `blocked` computes no others.
double shareInImage(const ConvSpec& spec);

void deriveBlocked(const ConvSpec& spec, const ConvLayouts& layouts, Rewriting& r);
Config blockedDefaults(const ConvSpec& spec, const ConvLayouts& layouts, const VectorRegisters& of);
// `inPlace`: the weights are read where they are, of each kernel a scalar at a time.
void derivePlanes(const ConvSpec& spec, bool inPlace, Rewriting& r);
Config planesDefaults(const ConvSpec& spec, const VectorRegisters& of);
// Whether a layer's kernels are so few that wide vectors of them are half empty or nearly so.
bool hasFewKernels(const ConvSpec& spec);
// Whether `planes` is likely the fastest of the direct families on a processor: rows that fill its vectors, and tensors
// in planes, which it reads and writes in vectors, or too few kernels for vectors of these.
bool prefersPlanes(const ConvSpec& spec, const ConvLayouts& layouts, const VectorRegisters& of = {});

// Sums in vectors of input channels, of groups with an even number of these.
void deriveDots(const ConvSpec& spec, const ConvLayouts& layouts, Rewriting& r);
Config dotsDefaults(const ConvSpec& spec, const ConvLayouts& layouts, const VectorRegisters& of);
// Whether it reads its operands in whole, wide vectors.
bool suitsDots(const ConvSpec& spec, const ConvLayouts& layouts);

void deriveDepthwise(const ConvSpec& spec, const ConvLayouts& layouts, Rewriting& r);
Config depthwiseDefaults(const ConvSpec& spec, const ConvLayouts& layouts, const VectorRegisters& of);
// For GPUs, without local memory: of groups of one input channel. The defaults are for a Mali's 64 registers.
void deriveDepthwiseTiled(const ConvSpec& spec, Rewriting& r);
Config depthwiseTiledDefaults(const ConvSpec& spec);
Config depthwiseTiledPreferred(const ConvSpec& spec, const runtime::DeviceInfo& device);  // empty: the defaults
// Whether that is likely the fastest family on the device.
bool prefersDepthwiseTiled(const ConvSpec& spec, const ConvLayouts& layouts, const runtime::DeviceInfo& device);
// Whether `depthwise` makes more of a layer's registers than `blocked`: vectors over a group's kernels are filled by
// fewer lanes than vectors over groups.
bool prefersLanesOfGroups(const ConvSpec& spec);

void deriveIm2col(const ConvSpec& spec, Rewriting& r);
Config im2colDefaults(const ConvSpec& spec, const VectorRegisters& of);
std::string whyNotIm2col(const ConvSpec& spec);  // why there is none of the layer; empty where there is
// Whether it is likely the fastest family of those that are no Winograd algorithms: weights that no cache holds, beside
// which the copy of the windows is small, and little padding, which `blocked` leaves out.
bool prefersIm2col(const ConvSpec& spec);

}  // namespace lift::detail
