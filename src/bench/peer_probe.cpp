// tools/bench/conv_blocked.cl, a kernel written by hand, in the best of its tilings for the layer.
#include <fmt/format.h>

#include <algorithm>

#include "peers.hpp"
#include "plan.hpp"
#include "probe_source.hpp"

namespace lift::bench {
namespace {

using kernel::PlanBuffer;
constexpr std::int64_t lanes = 16;

// A register tile of `pixels` x `vectors` accumulators; `unroll` of the loop over 16 channels.
struct Tiling {
  std::int64_t pixels, vectors, unroll;
  std::string str() const { return fmt::format("tile {}x{}, unrolled by {}", pixels, vectors, unroll); }
};

std::vector<Tiling> tilingsFor(const ConvSpec& s) {
  std::vector<Tiling> all;
  for (const auto& [pixels, vectors] : {std::pair<std::int64_t, std::int64_t>{14, 2}, {7, 4}})
    if (s.ow % pixels == 0 && s.oc % (lanes * vectors) == 0)
      for (const std::int64_t unroll : {1, 4, 16}) all.push_back({pixels, vectors, unroll});
  return all;
}

std::string unsupported(const ConvSpec& s) {
  if (s.kh != 3 || s.kw != 3 || s.sh != 1 || s.sw != 1 || s.dh != 0 || s.dw != 0 || s.padTop != 1 || s.padLeft != 1 ||
      s.padBottom != 1 || s.padRight != 1)
    return "only 3x3, stride 1, padding 1";
  if (s.batch != 1 || s.groups != 1) return "only one image and one group";
  if (s.ic % lanes != 0) return "only input channels in multiples of 16";
  if (tilingsFor(s).empty()) return "only multiples of 14 columns and 32 output channels, or of 7 and 64";
  return {};
}

// [ih][iw][ic] to [ic/16][ih+2][iw+2][16]
Tensor blockedInput(const ConvSpec& s, const Tensor& input) {
  Tensor blocked(Scalar::f32, {s.ic / lanes, s.ih + 2, s.iw + 2, lanes});
  float* to = blocked.data<float>();
  const float* from = input.data<float>();
  for (std::int64_t y = 0; y < s.ih; ++y)
    for (std::int64_t x = 0; x < s.iw; ++x)
      for (std::int64_t c = 0; c < s.ic; ++c)
        to[((c / lanes * (s.ih + 2) + y + 1) * (s.iw + 2) + x + 1) * lanes + c % lanes] = *from++;
  return blocked;
}

// [oc][9][ic] to [oc/(16*vectors)][ic/16][9][16][16*vectors]
Tensor blockedWeights(const ConvSpec& s, const Tensor& weights, std::int64_t vectors) {
  const std::int64_t block = lanes * vectors;
  Tensor blocked(Scalar::f32, {s.oc / block, s.ic / lanes, 9, lanes, block});
  float* to = blocked.data<float>();
  const float* from = weights.data<float>();
  for (std::int64_t k = 0; k < s.oc; ++k)
    for (std::int64_t t = 0; t < 9; ++t)
      for (std::int64_t c = 0; c < s.ic; ++c)
        to[(((k / block * (s.ic / lanes) + c / lanes) * 9 + t) * lanes + c % lanes) * block + k % block] = *from++;
  return blocked;
}

// [oc/16][oh][ow][16] to [1][oh][ow][oc]
Tensor plainOutput(const ConvSpec& s, const Tensor& blocked) {
  Tensor output(Scalar::f32, s.outputShape());
  const float* from = blocked.data<float>();
  for (std::int64_t k = 0; k < s.oc; k += lanes)
    for (std::int64_t pixel = 0; pixel < s.oh * s.ow; ++pixel, from += lanes)
      std::copy_n(from, lanes, output.data<float>() + pixel * s.oc + k);
  return output;
}

kernel::Plan planFor(const ConvSpec& s, const Tiling& v) {
  const std::string source = fmt::format(
      "#define C {}\n#define H {}\n#define W {}\n#define HP {}\n#define WP {}\n#define PX {}\n#define KV {}\n"
      "#define UC {}\n{}",
      s.ic, s.oh, s.ow, s.ih + 2, s.iw + 2, v.pixels, v.vectors, v.unroll, probeSource);
  const std::int64_t block = lanes * v.vectors;
  kernel::NDRange range;
  range.global = {Nat(s.ow / v.pixels), Nat(s.oh), Nat(s.oc / block)};
  return planOf(source,
                {{"input", Scalar::f32, {s.ic / lanes, s.ih + 2, s.iw + 2, lanes}, PlanBuffer::Role::input},
                 {"weights", Scalar::f32, {s.oc / block, s.ic / lanes, 9, lanes, block}, PlanBuffer::Role::input},
                 {"biases", Scalar::f32, {s.oc}, PlanBuffer::Role::input},
                 {"out", Scalar::f32, {s.oc / lanes, s.oh, s.ow, lanes}, PlanBuffer::Role::output}},
                {{"conv", range, {"input", "weights", "biases", "out"}}});
}

std::unique_ptr<Contestant> contestTiling(const Layer& layer, const Tiling& v) {
  const ConvSpec& s = layer.spec;
  runtime::LoadOptions options;
  options.buildOptions = "-cl-fast-relaxed-math";
  const Inputs inputs = {{"input", blockedInput(s, layer.tensors.input)},
                         {"weights", blockedWeights(s, layer.tensors.weights, v.vectors)},
                         {"biases", layer.tensors.bias}};
  return contest(
      layer.device.load(planFor(s, v), {}, options), inputs, [s](const Tensor& out) { return plainOutput(s, out); },
      v.str());
}

}  // namespace

Setup setUpProbe(const Layer& layer) {
  if (layer.device.info().builtIn()) return {nullptr, "needs an OpenCL device"};
  if (std::string reason = unsupported(layer.spec); !reason.empty()) return {nullptr, std::move(reason)};
  Fastest tilings;
  for (const Tiling& v : tilingsFor(layer.spec)) tilings.tryOut({contestTiling(layer, v)});
  return std::move(tilings.best);
}

}  // namespace lift::bench
