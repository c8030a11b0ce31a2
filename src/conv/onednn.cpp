#include "lift/conv.hpp"
#include "lift/stopwatch.hpp"

#ifdef LIFT_HAVE_ONEDNN
#include <fmt/format.h>

#include <dnnl.hpp>
#include <unordered_map>
#endif

namespace lift {

#ifdef LIFT_HAVE_ONEDNN

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

class Layer final : public OneDnnConv {
 public:
  // Stays empty where oneDNN has no implementation.
  Layer(const ConvSpec& spec, OneDnnMode mode, const ConvTensors& tensors)
      : spec_(spec), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const auto f32 = memory::data_type::f32;
    const memory::dims src = {spec.batch, spec.ic, spec.ih, spec.iw};
    const memory::dims dst = {spec.batch, spec.oc, spec.oh, spec.ow};
    const bool grouped = spec.groups > 1;
    const memory::dims weights = grouped
                                     ? memory::dims{spec.groups, spec.ocPerGroup(), spec.icPerGroup(), spec.kh, spec.kw}
                                     : memory::dims{spec.oc, spec.ic, spec.kh, spec.kw};
    // [oc][kh][kw][ic/g] is the same memory as [g][oc/g][kh][kw][ic/g].
    const memory::desc ourSrc(src, f32, Tag::nhwc);
    const memory::desc ourWeights(weights, f32, grouped ? Tag::gohwi : Tag::ohwi);
    // Winograd's weights can be made from this layout only.
    const memory::desc plainWeights(weights, f32, grouped ? Tag::goihw : Tag::oihw);
    const memory::desc ourBias({spec.oc}, f32, Tag::x);
    ourDst_ = memory::desc(dst, f32, Tag::nhwc);

    const Tag activations = mode == OneDnnMode::nchw ? Tag::nchw : Tag::any;
    const bool winograd = mode == OneDnnMode::winograd || mode == OneDnnMode::nchwWinograd;
    const auto algorithm = winograd ? dnnl::algorithm::convolution_winograd : dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::desc description(
        dnnl::prop_kind::forward_inference, algorithm, memory::desc(src, f32, activations),
        memory::desc(weights, f32, Tag::any), ourBias, memory::desc(dst, f32, activations), {spec.sh, spec.sw},
        {spec.dh, spec.dw}, {spec.padTop, spec.padLeft}, {spec.padBottom, spec.padRight});
    const dnnl::convolution_forward::primitive_desc chosen(description, engine_, /*allow_empty=*/true);
    if (!chosen) return;
    implementation_ = chosen.impl_info_str();
    activationBytes_ = chosen.src_desc().get_size() + chosen.dst_desc().get_size();
    weightBytes_ = chosen.weights_desc().get_size();
    scratchBytes_ = chosen.query_s64(dnnl::query::memory_consumption_s64);
    dst_ = memory(chosen.dst_desc(), engine_);
    memory input = reordered(tensors.input, ourSrc, chosen.src_desc());
    const std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, input},
        {DNNL_ARG_WEIGHTS, reordered(reordered(tensors.weights, ourWeights, plainWeights), chosen.weights_desc())},
        {DNNL_ARG_BIAS, reordered(tensors.bias, ourBias, ourBias)},
        {DNNL_ARG_DST, dst_}};
    steps_.push_back({dnnl::convolution_forward(chosen), arguments});
    if (mode != OneDnnMode::nchwDirect && mode != OneDnnMode::nchwWinograd) return;
    implementation_ += " between reorders";
    const memory::desc from(src, f32, Tag::nchw), to(dst, f32, Tag::nchw);
    activationBytes_ += from.get_size() + to.get_size();
    const memory given = reordered(tensors.input, ourSrc, from), wanted(to, engine_);
    steps_.insert(steps_.begin(), reorder(given, input));
    steps_.push_back(reorder(dst_, wanted));
    dst_ = wanted;
  }

  double run(int runs) override {
    const Stopwatch watch;
    for (int i = 0; i < runs; i++)
      for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
    stream_.wait();
    return watch.milliseconds() / runs;
  }

  Tensor output() override {
    Tensor result(Scalar::f32, spec_.outputShape());
    memory ours(ourDst_, engine_, result.bytes.data());
    dnnl::reorder(dst_, ours).execute(stream_, dst_, ours);
    stream_.wait();
    return result;
  }

  std::string implementation() const override { return implementation_; }
  std::int64_t activationBytes() const override { return static_cast<std::int64_t>(activationBytes_); }
  std::int64_t weightBytes() const override { return static_cast<std::int64_t>(weightBytes_); }
  std::int64_t scratchBytes() const override { return scratchBytes_; }

  bool empty() const { return implementation_.empty(); }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };
  static Step reorder(const memory& from, const memory& to) {
    return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
  }

  memory reordered(const Tensor& tensor, const memory::desc& from, const memory::desc& to) {
    // oneDNN's interface is not const, but a source is only read.
    return reordered(memory(from, engine_, const_cast<std::byte*>(tensor.bytes.data())), to);
  }
  memory reordered(memory from, const memory::desc& to) {
    memory result(to, engine_);
    dnnl::reorder(from, result).execute(stream_, from, result);
    stream_.wait();
    return result;
  }

  ConvSpec spec_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  memory::desc ourDst_;
  std::vector<Step> steps_;  // of a run
  std::string implementation_;
  std::size_t activationBytes_ = 0, weightBytes_ = 0;
  std::int64_t scratchBytes_ = 0;
  memory dst_;
};

}  // namespace

bool haveOneDnn() { return true; }

std::string oneDnnVersion() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

std::unique_ptr<OneDnnConv> OneDnnConv::make(const ConvSpec& spec, OneDnnMode mode, const ConvTensors& tensors) {
  for (const Tensor* tensor : {&tensors.input, &tensors.weights, &tensors.bias})
    ensure(tensor->scalar == Scalar::f32, "oneDNN judges f32 layers only");
  ensure(tensors.input.shape == spec.inputShape() && tensors.weights.shape == spec.weightShape() &&
             tensors.bias.shape == spec.biasShape(),
         "the tensors' shapes are not the layer's");
  try {
    auto layer = std::make_unique<Layer>(spec, mode, tensors);
    if (layer->empty()) return nullptr;
    return layer;
  } catch (const dnnl::error& failure) {
    throw InternalError(fmt::format("oneDNN: {}", failure.what()));
  }
}

#else

bool haveOneDnn() { return false; }
std::string oneDnnVersion() { return {}; }
std::unique_ptr<OneDnnConv> OneDnnConv::make(const ConvSpec&, OneDnnMode, const ConvTensors&) { return nullptr; }

#endif

std::optional<Tensor> convOneDnn(const ConvSpec& spec, const Tensor& input, const Tensor& weights, const Tensor& bias) {
  const std::unique_ptr<OneDnnConv> layer = OneDnnConv::make(spec, OneDnnMode::direct, {input, weights, bias});
  if (!layer) return std::nullopt;
  layer->run(1);
  return layer->output();
}

}  // namespace lift
