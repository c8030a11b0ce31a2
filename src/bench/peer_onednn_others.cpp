// oneDNN's matrix product, and its convolutions in one to three dimensions and their transposes.
#include "peers.hpp"

#ifdef LIFT_HAVE_ONEDNN
#include <dnnl.hpp>
#include <unordered_map>

#include "lift/diagnostic.hpp"
#include "lift/stopwatch.hpp"
#endif

namespace lift::bench {

#ifdef LIFT_HAVE_ONEDNN

namespace {

using dnnl::memory;
constexpr auto f32 = memory::data_type::f32;

// A tensor of ours as oneDNN's dimensions and their strides.
struct Described {
  memory::dims sizes, strides;

  memory::desc plain() const { return {sizes, f32, strides}; }
  memory::desc any() const { return {sizes, f32, memory::format_tag::any}; }
};

// The dimension at `channels` as oneDNN's second one: ours has it innermost.
Described channelsSecond(const std::vector<std::int64_t>& shape) {
  Described d{{shape[0], shape.back()}, {}};
  d.sizes.insert(d.sizes.end(), shape.begin() + 1, shape.end() - 1);
  d.strides = d.sizes;
  std::int64_t stride = shape.back();
  for (std::size_t i = d.sizes.size() - 1; i >= 2; i--) {
    d.strides[i] = stride;
    stride *= d.sizes[i];
  }
  d.strides[1] = 1;
  d.strides[0] = stride;
  return d;
}

Described grouped(Described weights, std::int64_t groups) {
  if (groups == 1) return weights;
  weights.sizes[0] /= groups;
  weights.sizes.insert(weights.sizes.begin(), groups);
  weights.strides.insert(weights.strides.begin(), weights.strides[0] * weights.sizes[1]);
  return weights;
}

// A primitive and its arguments.
class OneDnnPrimitive final : public Contestant {
 public:
  OneDnnPrimitive() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  const dnnl::engine& engine() const { return engine_; }
  // Sets it up; what the primitive wants in another layout than ours is brought into it now.
  template <class Primitive, class Description>
  void use(const Description& chosen,
           const std::vector<std::tuple<int, const Tensor*, dnnl::memory::desc, dnnl::memory::desc>>& read,
           const dnnl::memory::desc& ours, std::vector<std::int64_t> shape) {
    implementation_ = chosen.impl_info_str();
    scratch_ = chosen.query_s64(dnnl::query::memory_consumption_s64);
    primitive_ = Primitive(chosen);
    ours_ = ours;
    shape_ = std::move(shape);
    result_ = dnnl::memory(chosen.dst_desc(), engine_);
    bytes_ = static_cast<std::int64_t>(chosen.dst_desc().get_size());
    for (const auto& [argument, tensor, from, to] : read) {
      // oneDNN's interface is not const, but a source is only read.
      dnnl::memory source(from, engine_, const_cast<std::byte*>(tensor->bytes.data())), wanted(to, engine_);
      dnnl::reorder(source, wanted).execute(stream_, source, wanted);
      stream_.wait();
      arguments_[argument] = wanted;
      bytes_ += static_cast<std::int64_t>(to.get_size());
    }
    arguments_[DNNL_ARG_DST] = result_;
  }

  double run(int runs) override {
    const Stopwatch watch;
    for (int i = 0; i < runs; i++) primitive_.execute(stream_, arguments_);
    stream_.wait();
    return watch.milliseconds() / runs;
  }
  std::map<std::string, Tensor> outputs() override {
    Tensor out(Scalar::f32, shape_);
    dnnl::memory ours(ours_, engine_, out.bytes.data());
    dnnl::reorder(result_, ours).execute(stream_, result_, ours);
    stream_.wait();
    return {{"out", std::move(out)}};
  }
  Memory memory() const override { return {bytes_, scratch_, 0}; }
  std::string implementation() const override { return implementation_; }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  dnnl::memory::desc ours_;
  dnnl::memory result_;
  std::vector<std::int64_t> shape_;
  std::string implementation_;
  std::int64_t bytes_ = 0, scratch_ = 0;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// The contestant that `make` sets up, or why oneDNN has none.
template <class Make>
Setup setUp(const Make& make) {
  auto contestant = std::make_unique<OneDnnPrimitive>();
  try {
    make(*contestant);
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_unimplemented || e.status == dnnl_invalid_arguments)
      return {nullptr, "no implementation of it on this processor"};
    throw InternalError(std::string("oneDNN: ") + e.what());
  }
  return {std::move(contestant)};
}

template <class Convolution>
void convolve(OneDnnPrimitive& contestant, const ConvNdSpec& s, dnnl::algorithm algorithm, const Inputs& in) {
  const Described src = channelsSecond(s.inputShape()), dst = channelsSecond(s.outputShape());
  const Described weights = grouped(channelsSecond(s.weightShape()), s.groups);
  const dnnl::memory::desc bias({s.oc}, f32, dnnl::memory::format_tag::x);
  dnnl::memory::dims strides, dilations, start, end;
  for (std::size_t axis = static_cast<std::size_t>(3 - s.rank); axis < 3; axis++) {
    const ConvAxis& a = s.axes[axis];
    strides.push_back(a.stride);
    dilations.push_back(a.dilation);
    start.push_back(a.padStart);
    end.push_back(a.padEnd);
  }
  const typename Convolution::desc description(dnnl::prop_kind::forward_inference, algorithm, src.any(), weights.any(),
                                               bias, dst.any(), strides, dilations, start, end);
  const typename Convolution::primitive_desc chosen(description, contestant.engine());
  contestant.use<Convolution>(chosen,
                              {{DNNL_ARG_SRC, &in.at("input"), src.plain(), chosen.src_desc()},
                               {DNNL_ARG_WEIGHTS, &in.at("weights"), weights.plain(), chosen.weights_desc()},
                               {DNNL_ARG_BIAS, &in.at("biases"), bias, bias}},
                              dst.plain(), s.outputShape());
}

}  // namespace

Setup setUpOneDnnConvNd(const ConvNdSpec& spec, const Inputs& inputs) {
  return setUp([&](OneDnnPrimitive& contestant) {
    if (spec.transposed)
      convolve<dnnl::deconvolution_forward>(contestant, spec, dnnl::algorithm::deconvolution_direct, inputs);
    else
      convolve<dnnl::convolution_forward>(contestant, spec, dnnl::algorithm::convolution_direct, inputs);
  });
}

Setup setUpOneDnnProduct(const MatrixProduct& p, const Inputs& inputs) {
  return setUp([&](OneDnnPrimitive& contestant) {
    const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
      return dnnl::memory::desc({rows, columns}, f32,
                                transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1});
    };
    const auto a = matrix(p.rows, p.depth, p.transposedLeft), b = matrix(p.depth, p.columns, p.transposedRight),
               out = matrix(p.rows, p.columns, false);
    const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, out), contestant.engine());
    const bool isVector = inputs.at(p.right).shape.size() == 1;
    contestant.use<dnnl::matmul>(
        chosen, {{DNNL_ARG_SRC, &inputs.at(p.left), a, a}, {DNNL_ARG_WEIGHTS, &inputs.at(p.right), b, b}}, out,
        isVector ? std::vector{p.rows} : std::vector{p.rows, p.columns});
  });
}

#else

Setup setUpOneDnnConvNd(const ConvNdSpec&, const Inputs&) { return {nullptr, "not built in"}; }
Setup setUpOneDnnProduct(const MatrixProduct&, const Inputs&) { return {nullptr, "not built in"}; }

#endif

}  // namespace lift::bench
