#include "lift/conv.hpp"
#include "lift/parallel.hpp"

namespace lift {

namespace {

std::vector<double> doubles(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.get(static_cast<std::int64_t>(i));
  return values;
}

}  // namespace

ConvTensors randomConvTensors(const ConvSpec& spec, std::uint64_t seed, Scalar scalar) {
  ConvTensors tensors{Tensor(scalar, spec.inputShape()), Tensor(scalar, spec.weightShape()),
                      Tensor(scalar, spec.biasShape())};
  fillRandom(tensors.input, seed, "input");
  fillRandom(tensors.weights, seed, "weights");
  fillRandom(tensors.bias, seed, "biases");
  return tensors;
}

Tensor convReference(const ConvSpec& spec, const Tensor& input, const Tensor& weights, const Tensor& bias) {
  ensure(input.shape == spec.inputShape(), "the input's shape is not the layer's");
  ensure(weights.shape == spec.weightShape(), "the weights' shape is not the layer's");
  ensure(bias.shape == spec.biasShape(), "the bias's shape is not the layer's");
  const std::vector<double> in = doubles(input);
  const std::vector<double> biases = doubles(bias);
  const std::int64_t icg = spec.icPerGroup(), ocg = spec.ocPerGroup();

  // Weights with the output channels innermost, [kh][kw][ic/g][oc], so that the inner loop runs over contiguous
  // accumulators, each of which adds its products in one fixed order.
  std::vector<double> w(static_cast<std::size_t>(weights.size()));
  const std::int64_t taps = spec.kh * spec.kw * icg;
  for (std::int64_t k = 0; k < spec.oc; ++k)
    for (std::int64_t t = 0; t < taps; ++t) w[static_cast<std::size_t>(t * spec.oc + k)] = weights.get(k * taps + t);

  Tensor output(input.scalar, spec.outputShape());
  parallelFor(spec.batch * spec.oh, [&](std::int64_t row) {
    const std::int64_t n = row / spec.oh, y = row % spec.oh;
    std::vector<double> sums;
    for (std::int64_t x = 0; x < spec.ow; ++x) {
      sums = biases;
      for (std::int64_t i = 0; i < spec.kh; ++i) {
        const std::int64_t inY = y * spec.sh - spec.padTop + i * (spec.dh + 1);
        if (inY < 0 || inY >= spec.ih) continue;
        for (std::int64_t j = 0; j < spec.kw; ++j) {
          const std::int64_t inX = x * spec.sw - spec.padLeft + j * (spec.dw + 1);
          if (inX < 0 || inX >= spec.iw) continue;
          const double* pixel = &in[static_cast<std::size_t>(((n * spec.ih + inY) * spec.iw + inX) * spec.ic)];
          for (std::int64_t g = 0; g < spec.groups; ++g)
            for (std::int64_t c = 0; c < icg; ++c) {
              const double value = pixel[g * icg + c];
              const double* factors = &w[static_cast<std::size_t>(((i * spec.kw + j) * icg + c) * spec.oc + g * ocg)];
              double* sum = &sums[static_cast<std::size_t>(g * ocg)];
              for (std::int64_t k = 0; k < ocg; ++k) sum[k] += value * factors[k];
            }
        }
      }
      for (std::int64_t k = 0; k < spec.oc; ++k)
        output.set((row * spec.ow + x) * spec.oc + k, sums[static_cast<std::size_t>(k)]);
    }
  });
  return output;
}

}  // namespace lift
