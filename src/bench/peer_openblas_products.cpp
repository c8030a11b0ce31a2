// OpenBLAS's matrix products, of the operands as they are.
#include "peers.hpp"

#ifdef LIFT_HAVE_OPENBLAS
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <thread>
#endif

namespace lift::bench {

#ifdef LIFT_HAVE_OPENBLAS

namespace {

class OpenBlasCall final : public Contestant {
 public:
  // `compute` fills the result from the inputs, by a workspace of so many floats.
  using Compute = std::function<void(const Inputs& inputs, float* out, float* workspace)>;
  OpenBlasCall(Inputs inputs, std::vector<std::int64_t> shape, std::int64_t workspace, Compute compute)
      : inputs_(std::move(inputs)),
        output_(Scalar::f32, std::move(shape)),
        workspace_(static_cast<std::size_t>(workspace)),
        compute_(std::move(compute)) {
    openblas_set_num_threads(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  }

  double run(int runs) override {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; i++) compute_(inputs_, output_.data<float>(), workspace_.data());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / runs;
  }
  std::map<std::string, Tensor> outputs() override { return {{"out", output_}}; }
  Memory memory() const override {
    auto bytes = static_cast<std::int64_t>(output_.bytes.size());
    for (const auto& [name, tensor] : inputs_) bytes += static_cast<std::int64_t>(tensor.bytes.size());
    return {bytes, static_cast<std::int64_t>(workspace_.size() * sizeof(float)), 0};
  }
  std::string implementation() const override { return openblas_get_config(); }

 private:
  Inputs inputs_;
  Tensor output_;
  std::vector<float> workspace_;
  Compute compute_;
};

}  // namespace

Setup setUpOpenBlasProduct(const MatrixProduct& p, const Inputs& inputs) {
  const auto m = static_cast<blasint>(p.rows), n = static_cast<blasint>(p.columns), k = static_cast<blasint>(p.depth);
  const bool isVector = inputs.at(p.right).shape.size() == 1;
  const auto vector = [=](const Inputs& in, float* out, float*) {
    const float *a = in.at(p.left).data<float>(), *x = in.at(p.right).data<float>();
    if (p.transposedLeft)
      cblas_sgemv(CblasRowMajor, CblasTrans, k, m, 1.0F, a, m, x, 1, 0.0F, out, 1);
    else
      cblas_sgemv(CblasRowMajor, CblasNoTrans, m, k, 1.0F, a, k, x, 1, 0.0F, out, 1);
  };
  const auto matrix = [=](const Inputs& in, float* out, float*) {
    cblas_sgemm(CblasRowMajor, p.transposedLeft ? CblasTrans : CblasNoTrans,
                p.transposedRight ? CblasTrans : CblasNoTrans, m, n, k, 1.0F, in.at(p.left).data<float>(),
                p.transposedLeft ? m : k, in.at(p.right).data<float>(), p.transposedRight ? k : n, 0.0F, out, n);
  };
  const std::vector<std::int64_t> shape = isVector ? std::vector{p.rows} : std::vector{p.rows, p.columns};
  return {std::make_unique<OpenBlasCall>(inputs, shape, 0,
                                         isVector ? OpenBlasCall::Compute(vector) : OpenBlasCall::Compute(matrix))};
}

// The product of b's and c's rows, and for each of its rows one with a's.
Setup setUpOpenBlasBilinear(const Inputs& inputs) {
  const auto& b = inputs.at("b").shape;
  const std::int64_t i = inputs.at("a").shape[0], j = b[0], k = b[1], l = b[2];
  return {std::make_unique<OpenBlasCall>(
      inputs, std::vector{i, j}, i * j * k, [=](const Inputs& in, float* out, float* product) {
        const auto columns = static_cast<blasint>(j * k), depth = static_cast<blasint>(l);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(i), columns, depth, 1.0F,
                    in.at("c").data<float>(), depth, in.at("b").data<float>(), depth, 0.0F, product, columns);
        for (std::int64_t row = 0; row < i; row++)
          cblas_sgemv(CblasRowMajor, CblasNoTrans, static_cast<blasint>(j), static_cast<blasint>(k), 1.0F,
                      product + row * columns, static_cast<blasint>(k), in.at("a").data<float>() + row * k, 1, 0.0F,
                      out + row * j, 1);
      })};
}

#else

Setup setUpOpenBlasProduct(const MatrixProduct&, const Inputs&) { return {nullptr, "not built in"}; }
Setup setUpOpenBlasBilinear(const Inputs&) { return {nullptr, "not built in"}; }

#endif

}  // namespace lift::bench
