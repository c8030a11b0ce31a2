// OpenBLAS's matrix products: of the operands as they are, and of a layer by im2col, one for each image and group.
#include "im2col.hpp"
#include "peers.hpp"

#ifdef LIFT_HAVE_OPENBLAS
#include <cblas.h>

#include <algorithm>
#include <thread>

#include "lift/parallel.hpp"
#include "lift/stopwatch.hpp"
#endif

namespace lift::bench {

#ifdef LIFT_HAVE_OPENBLAS

namespace {

class OpenBlas final : public Contestant {
 public:
  // `compute` fills the result by a workspace of so many floats; `inputBytes` are those that it reads.
  using Compute = std::function<void(float* out, float* workspace)>;
  OpenBlas(std::int64_t inputBytes, std::vector<std::int64_t> shape, std::int64_t workspace, Compute compute)
      : inputBytes_(inputBytes),
        output_(Scalar::f32, std::move(shape)),
        workspace_(static_cast<std::size_t>(workspace)),
        compute_(std::move(compute)) {
    openblas_set_num_threads(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  }

  double run(int runs) override {
    const Stopwatch watch;
    for (int i = 0; i < runs; i++) compute_(output_.data<float>(), workspace_.data());
    return watch.milliseconds() / runs;
  }
  std::map<std::string, Tensor> outputs() override { return {{"out", output_}}; }
  Memory memory() const override {
    return {inputBytes_ + static_cast<std::int64_t>(output_.bytes.size()),
            static_cast<std::int64_t>(workspace_.size() * sizeof(float)), 0};
  }
  std::string implementation() const override { return openblas_get_config(); }

 private:
  std::int64_t inputBytes_;
  Tensor output_;
  std::vector<float> workspace_;
  Compute compute_;
};

std::int64_t bytesOf(const Inputs& inputs) {
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : inputs) bytes += static_cast<std::int64_t>(tensor.bytes.size());
  return bytes;
}

// out[pixel][k] = bias[k] + sum over t of columns[pixel][t] * weights[k][t], for the kernels k of the group.
void multiply(const ConvSpec& s, const ConvTensors& tensors, std::int64_t image, std::int64_t group, float* result,
              float* columns) {
  const float* in = tensors.input.data<float>() + image * s.ih * s.iw * s.ic;
  if (!im2colIsIdentity(s)) {
    im2col(s, group, in, columns);
    in = columns;
  }
  const std::int64_t pixels = s.oh * s.ow, kernels = s.ocPerGroup(), taps = s.reduction();
  const float* weights = tensors.weights.data<float>() + group * kernels * taps;
  const float* bias = tensors.bias.data<float>() + group * kernels;
  float* out = result + image * pixels * s.oc + group * kernels;
  parallelFor(s.oh, [&](std::int64_t y) {
    for (std::int64_t p = y * s.ow; p < (y + 1) * s.ow; ++p) std::copy_n(bias, kernels, out + p * s.oc);
  });
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(pixels), static_cast<blasint>(kernels),
              static_cast<blasint>(taps), 1.0F, in, static_cast<blasint>(taps), weights, static_cast<blasint>(taps),
              1.0F, out, static_cast<blasint>(s.oc));
}

}  // namespace

Setup setUpOpenBlas(const Layer& layer) {
  const ConvSpec& s = layer.spec;
  const std::int64_t outputBytes = s.batch * s.oh * s.ow * s.oc * static_cast<std::int64_t>(sizeof(float));
  return {std::make_unique<OpenBlas>(s.tensorBytes() - outputBytes, s.outputShape(),
                                     im2colIsIdentity(s) ? 0 : s.oh * s.ow * s.reduction(),
                                     [s, &tensors = layer.tensors](float* out, float* columns) {
                                       for (std::int64_t n = 0; n < s.batch; ++n)
                                         for (std::int64_t g = 0; g < s.groups; ++g)
                                           multiply(s, tensors, n, g, out, columns);
                                     })};
}

Setup setUpOpenBlasProduct(const MatrixProduct& p, const Inputs& inputs) {
  const auto m = static_cast<blasint>(p.rows), n = static_cast<blasint>(p.columns), k = static_cast<blasint>(p.depth);
  const bool isVector = inputs.at(p.right).shape.size() == 1;
  const std::vector<std::int64_t> shape = isVector ? std::vector{p.rows} : std::vector{p.rows, p.columns};
  return {std::make_unique<OpenBlas>(bytesOf(inputs), shape, 0, [=](float* out, float*) {
    const float *a = inputs.at(p.left).data<float>(), *b = inputs.at(p.right).data<float>();
    const auto transposed = [](bool yes) { return yes ? CblasTrans : CblasNoTrans; };
    if (isVector)
      cblas_sgemv(CblasRowMajor, transposed(p.transposedLeft), p.transposedLeft ? k : m, p.transposedLeft ? m : k, 1.0F,
                  a, p.transposedLeft ? m : k, b, 1, 0.0F, out, 1);
    else
      cblas_sgemm(CblasRowMajor, transposed(p.transposedLeft), transposed(p.transposedRight), m, n, k, 1.0F, a,
                  p.transposedLeft ? m : k, b, p.transposedRight ? k : n, 0.0F, out, n);
  })};
}

// The product of b's and c's rows, and for each of its rows one with a's.
Setup setUpOpenBlasBilinear(const Inputs& inputs) {
  const auto& b = inputs.at("b").shape;
  const std::int64_t i = inputs.at("a").shape[0], j = b[0], k = b[1], l = b[2];
  return {std::make_unique<OpenBlas>(bytesOf(inputs), std::vector{i, j}, i * j * k, [=](float* out, float* product) {
    const auto columns = static_cast<blasint>(j * k), depth = static_cast<blasint>(l);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(i), columns, depth, 1.0F,
                inputs.at("c").data<float>(), depth, inputs.at("b").data<float>(), depth, 0.0F, product, columns);
    for (std::int64_t row = 0; row < i; row++)
      cblas_sgemv(CblasRowMajor, CblasNoTrans, static_cast<blasint>(j), static_cast<blasint>(k), 1.0F,
                  product + row * columns, static_cast<blasint>(k), inputs.at("a").data<float>() + row * k, 1, 0.0F,
                  out + row * j, 1);
  })};
}

#else

Setup setUpOpenBlas(const Layer&) { return {nullptr, "not built in"}; }
Setup setUpOpenBlasProduct(const MatrixProduct&, const Inputs&) { return {nullptr, "not built in"}; }
Setup setUpOpenBlasBilinear(const Inputs&) { return {nullptr, "not built in"}; }

#endif

}  // namespace lift::bench
