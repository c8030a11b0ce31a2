// Convolution layers: the descriptor that tests, tuner, benchmark and command line share, the layer's reference
// results, and the judges that know nothing of the compiler.
//
// Forward 2D cross-correlation with bias, as every deep-learning library defines it:
//   out[n][y][x][k] = bias[k] + sum over i, j, c of
//     in[n][y*sh - padTop + i*(dh+1)][x*sw - padLeft + j*(dw+1)][group(k)*(ic/g) + c] * weights[k][i][j][c]
// where reading outside of the input gives zero.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/tensor.hpp"

namespace lift {

// One layer. Sizes and amounts are in elements; `h` and `w` mean rows and columns.
struct ConvSpec {
  std::int64_t groups = 1;                                            // channel groups; ic means depthwise
  std::int64_t batch = 1;                                             // images
  std::int64_t ic = 0, ih = 0, iw = 0;                                // input channels (of all groups), rows, columns
  std::int64_t oc = 0, oh = 0, ow = 0;                                // output channels (of all groups), rows, columns
  std::int64_t kh = 0, kw = 0;                                        // kernel taps
  std::int64_t sh = 1, sw = 1;                                        // stride: distance of neighbouring windows
  std::int64_t dh = 0, dw = 0;                                        // dilation minus one: input elements between taps
  std::int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;  // rows or columns of zeros
  std::string name;                                                   // a label without double quotes; may be empty

  // The layer of these padding amounts: sets the output size, and trims padBottom and padRight to what the windows
  // read, so that equal layers are equal specs. The other members must be set.
  void setPadding(std::int64_t top, std::int64_t left, std::int64_t bottom, std::int64_t right);

  // What makes this no convolution, as messages; empty for every spec that a parser of this header returned.
  std::vector<std::string> problems() const;

  // The canonical one-token descriptor; parseConv gives back an equal spec.
  std::string str() const;

  std::int64_t icPerGroup() const { return ic / groups; }
  std::int64_t ocPerGroup() const { return oc / groups; }
  std::int64_t reduction() const { return icPerGroup() * kh * kw; }  // products per output element
  std::int64_t extentH() const { return (kh - 1) * (dh + 1) + 1; }   // input rows a window spans
  std::int64_t extentW() const { return (kw - 1) * (dw + 1) + 1; }
  bool dilatesRows() const { return kh > 1 && dh > 0; }  // one tap has no neighbours
  bool dilatesColumns() const { return kw > 1 && dw > 0; }

  // Shapes of the natural layouts: channels innermost, as in the language's programs.
  std::vector<std::int64_t> inputShape() const { return {batch, ih, iw, ic}; }
  std::vector<std::int64_t> weightShape() const { return {oc, kh, kw, icPerGroup()}; }
  std::vector<std::int64_t> biasShape() const { return {oc}; }
  std::vector<std::int64_t> outputShape() const { return {batch, oh, ow, oc}; }

  // Two operations for each tap of each window, taps in the padding included: what papers report, and what all
  // GFLOP/s of this project divide by (bias not counted).
  std::int64_t operations() const;
  // Bytes of input, weights, bias and output together: the least traffic of the layer.
  std::int64_t tensorBytes(Scalar scalar = Scalar::f32) const;

  bool operator==(const ConvSpec&) const = default;
};

// Reads one descriptor; `name` is what diagnostics print as the file. Throws UserError (status program) with every
// error found, each with its place in the text. Two notations:
//
// benchdnn's token, g1mb1ic64ih224iw224oc64oh224ow224kh3kw3sh1sw1ph1pw1n"vgg2", keys in any order, `_` ignored, the
// name quoted or bare (then it runs to the next blank). As in benchdnn: a missing value of one axis is the
// other axis's; g, sh default to 1, dh to 0 (dilation minus one); without oh the padding is symmetric, 0 by default,
// and fixes oh; with oh and without ph the padding is split evenly, the odd row going to the bottom; with both, ph is
// the top's and oh fixes the bottom's. Unlike benchdnn: mb defaults to 1 (not 2); each missing value is taken from the
// other axis by itself (benchdnn does it only when the axis has none), except that an output size is copied only
// between equal axes; a 1D layer needs ih1kh1; and an output size is refused when it leaves out a window that
// fits or puts a window wholly into extra padding.
//
// MIOpenDriver's flags in one string, with or without a leading "MIOpenDriver conv" or "conv":
// -n 1 -c 64 -H 224 -W 224 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 1, short or long (--in_channels 64 or
// --in_channels=64). -l and -j are the dilation itself, 1 for none. Padding is symmetric. Sizes must be given
// (MIOpenDriver would assume a 32x32 image); -n defaults to 1. Flags about running (-F 1, -V, -t, -i, ...) are ignored.
ConvSpec parseConv(std::string_view text, const std::string& name = "<descriptor>");

// One descriptor a line; blank lines and comments from a `#` at the beginning or after a blank are skipped. Throws
// UserError with the errors of all lines; so does a file without any.
std::vector<ConvSpec> readShapes(const std::filesystem::path& path);
std::vector<ConvSpec> parseShapes(std::string_view contents, const std::string& name);
std::vector<Span> descriptorLines(const SourceFile& file);  // the lines of such a file, without comments and blanks

// Orders of the dimensions in memory, outermost first: of activations (n image, c channel, h row, w column) and of
// weights (o output channel, i input channel of the group). nChw16c and nChw8c are oneDNN's: blocks of so many
// channels (C), and the channels of a block innermost; five dimensions, and channels a multiple of the block.
enum class Layout { nchw, nhwc, nChw16c, nChw8c, oihw, ohwi };
std::string_view layoutName(Layout layout);
std::optional<Layout> layoutNamed(std::string_view name);
bool isWeightLayout(Layout layout);
std::int64_t blockOf(Layout layout);  // channels of a block; 1 where there are no blocks
// Copies a tensor of any element type from one layout to another of the same kind.
Tensor convertLayout(const Tensor& tensor, Layout from, Layout to);

// How a layer's caller has its tensors: layouts, and what their elements are and are computed in. f16 is stored as half
// and computed in f32, h16 is computed in half, sums included.
struct ConvLayouts {
  Layout input = Layout::nhwc, weights = Layout::ohwi, output = Layout::nhwc;
  Scalar elements = Scalar::f32;  // or f16, h16

  bool operator==(const ConvLayouts&) const = default;
  std::string str() const;  // of what is not natural: "input nchw, weights oihw, elements f16"
};

// Where layouts are ours to choose: planes (nchw) of layers with few output channels, without strides, whose rows fill
// vectors; of layers of several groups the widest blocks that divide the channels, of at most a register's lanes where
// it has 8 or more; else the natural ones. Layers of groups do little with each element, and pixels of nhwc that are a
// power of two of bytes apart share few sets of a near cache; those of a block follow each other. Without lanes, on a
// GPU whose neighbouring work-items take neighbouring channels, the natural ones.
ConvLayouts freeLayouts(const ConvSpec& layer, std::int64_t lanes = 16);

// Deterministic inputs of a layer in the natural layouts, each from its own stream.
struct ConvTensors {
  Tensor input, weights, bias;

  std::map<std::string, Tensor> in(const ConvLayouts& layouts) const;  // by the names of a program's parameters
};
ConvTensors randomConvTensors(const ConvSpec& spec, std::uint64_t seed, Scalar scalar = Scalar::f32);

// The definition above in plain loops with double accumulation, all cores; natural layouts; the result has the input's
// element type. About a second for a layer of VGG-16 in an optimised build.
Tensor convReference(const ConvSpec& spec, const Tensor& input, const Tensor& weights, const Tensor& bias);

// The largest relative error, as largestError has it, that a correct implementation in this element type may show.
// f16 means half storage and float arithmetic, h16 half arithmetic; integers are exact: 0. Derivation in
// src/conv/tolerance.cpp.
double convTolerance(const ConvSpec& spec, Scalar scalar);

// --- oneDNN, as judge and as peer --------------------------------------------------------------------------------

// Its algorithm, and the layouts of input and output; weights are free (one-time).
enum class OneDnnMode {
  direct,        // layouts are oneDNN's to choose
  winograd,      // likewise
  nchw,          // the direct algorithm on NCHW
  nchwDirect,    // NCHW; each run reorders to the layouts that `direct` chooses, and back
  nchwWinograd,  // likewise with those of `winograd`
};

bool haveOneDnn();            // whether the build found oneDNN
std::string oneDnnVersion();  // "2.6.3", or empty

// A layer set up in oneDNN for f32: tensors in the layouts of its mode, ready to be timed in turns with others.
class OneDnnConv {
 public:
  // Null when the build has no oneDNN, or oneDNN has no implementation of this layer in this mode.
  static std::unique_ptr<OneDnnConv> make(const ConvSpec& spec, OneDnnMode mode, const ConvTensors& tensors);
  virtual ~OneDnnConv() = default;
  // Executes so many times, one after the other; the milliseconds of wall-clock of one.
  virtual double run(int runs) = 0;
  virtual Tensor output() = 0;                     // of the last run, NHWC
  virtual std::string implementation() const = 0;  // oneDNN's name for it: "jit:avx512_core"
  // Bytes, in the layouts that oneDNN chose.
  virtual std::int64_t activationBytes() const = 0;  // input and output, and copies in other layouts
  virtual std::int64_t weightBytes() const = 0;      // the reordered copy of the weights
  virtual std::int64_t scratchBytes() const = 0;     // memory a run needs besides
};

// The layer's result by oneDNN's direct algorithm, natural layouts, f32; nothing where make() would give null.
std::optional<Tensor> convOneDnn(const ConvSpec& spec, const Tensor& input, const Tensor& weights, const Tensor& bias);

}  // namespace lift
