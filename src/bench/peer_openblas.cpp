// im2col and OpenBLAS's matrix product, one for each image and channel group.
#include "im2col.hpp"
#include "peers.hpp"

#ifdef LIFT_HAVE_OPENBLAS
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "lift/parallel.hpp"
#endif

namespace lift::bench {

#ifdef LIFT_HAVE_OPENBLAS

namespace {

class OpenBlas final : public Contestant {
 public:
  OpenBlas(const ConvSpec& spec, const ConvTensors& tensors)
      : spec_(spec), tensors_(tensors), output_(Scalar::f32, spec.outputShape()) {
    openblas_set_num_threads(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
    if (!im2colIsIdentity(spec)) columns_.resize(static_cast<std::size_t>(spec.oh * spec.ow * spec.reduction()));
  }

  double run(int runs) override {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i)
      for (std::int64_t n = 0; n < spec_.batch; ++n)
        for (std::int64_t g = 0; g < spec_.groups; ++g) multiply(n, g);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / runs;
  }

  std::map<std::string, Tensor> outputs() override { return {{"out", output_}}; }
  Memory memory() const override {
    return {spec_.tensorBytes(), static_cast<std::int64_t>(columns_.size() * sizeof(float)), 0};
  }
  std::string implementation() const override { return openblas_get_config(); }

 private:
  // out[pixel][k] = bias[k] + sum over t of columns[pixel][t] * weights[k][t], for the kernels k of the group.
  void multiply(std::int64_t image, std::int64_t group) {
    const float* in = tensors_.input.data<float>() + image * spec_.ih * spec_.iw * spec_.ic;
    if (!columns_.empty()) im2col(spec_, group, in, columns_.data());
    const std::int64_t pixels = spec_.oh * spec_.ow, kernels = spec_.ocPerGroup(), taps = spec_.reduction();
    const float* weights = tensors_.weights.data<float>() + group * kernels * taps;
    const float* bias = tensors_.bias.data<float>() + group * kernels;
    float* out = output_.data<float>() + image * pixels * spec_.oc + group * kernels;
    parallelFor(spec_.oh, [&](std::int64_t y) {
      for (std::int64_t p = y * spec_.ow; p < (y + 1) * spec_.ow; ++p) std::copy_n(bias, kernels, out + p * spec_.oc);
    });
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(pixels), static_cast<blasint>(kernels),
                static_cast<blasint>(taps), 1.0F, columns_.empty() ? in : columns_.data(), static_cast<blasint>(taps),
                weights, static_cast<blasint>(taps), 1.0F, out, static_cast<blasint>(spec_.oc));
  }

  ConvSpec spec_;
  const ConvTensors& tensors_;
  Tensor output_;
  std::vector<float> columns_;
};

}  // namespace

Setup setUpOpenBlas(const Layer& layer) { return {std::make_unique<OpenBlas>(layer.spec, layer.tensors)}; }

#else

Setup setUpOpenBlas(const Layer&) { return {nullptr, "not built in"}; }

#endif

}  // namespace lift::bench
