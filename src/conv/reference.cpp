#include <algorithm>
#include <iterator>
#include <set>

#include "lift/conv.hpp"
#include "lift/parallel.hpp"

namespace lift {

namespace {

std::vector<double> doubles(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.get(static_cast<std::int64_t>(i));
  return values;
}

void ensureShapes(const ConvSpec& spec, const Tensor& input, const Tensor& weights, const Tensor& bias) {
  ensure(input.shape == spec.inputShape(), "the input's shape is not the layer's");
  ensure(weights.shape == spec.weightShape(), "the weights' shape is not the layer's");
  ensure(bias.shape == spec.biasShape(), "the bias's shape is not the layer's");
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
  ensureShapes(spec, input, weights, bias);
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

std::vector<double> convReferenceAt(const ConvSpec& spec, const Tensor& input, const Tensor& weights,
                                    const Tensor& bias, const std::vector<std::int64_t>& points) {
  ensureShapes(spec, input, weights, bias);
  std::vector<double> results;
  results.reserve(points.size());
  const std::int64_t icg = spec.icPerGroup();
  for (const std::int64_t point : points) {
    ensure(point >= 0 && point < spec.batch * spec.oh * spec.ow * spec.oc, "sampled point outside of the output");
    const std::int64_t k = point % spec.oc;
    const std::int64_t x = point / spec.oc % spec.ow;
    const std::int64_t y = point / spec.oc / spec.ow % spec.oh;
    const std::int64_t n = point / spec.oc / spec.ow / spec.oh;
    const std::int64_t firstChannel = k / spec.ocPerGroup() * icg;
    double sum = 0;
    for (std::int64_t c = 0; c < icg; ++c)
      for (std::int64_t i = 0; i < spec.kh; ++i)
        for (std::int64_t j = 0; j < spec.kw; ++j) {
          const std::int64_t inY = y * spec.sh + i * (spec.dh + 1) - spec.padTop;
          const std::int64_t inX = x * spec.sw + j * (spec.dw + 1) - spec.padLeft;
          if (inY >= 0 && inY < spec.ih && inX >= 0 && inX < spec.iw)
            sum += input.get(((n * spec.ih + inY) * spec.iw + inX) * spec.ic + firstChannel + c) *
                   weights.get(((k * spec.kh + i) * spec.kw + j) * icg + c);
        }
    results.push_back(sum + bias.get(k));
  }
  return results;
}

std::vector<std::int64_t> convSamplePoints(const ConvSpec& spec, std::int64_t count, std::uint64_t seed) {
  const std::int64_t size = spec.batch * spec.oh * spec.ow * spec.oc;
  count = std::min(count, size);
  std::set<std::int64_t> points;
  // Mistakes at borders, strides and tails show in the corners first.
  for (const std::int64_t n : {std::int64_t{0}, spec.batch - 1})
    for (const std::int64_t y : {std::int64_t{0}, spec.oh - 1})
      for (const std::int64_t x : {std::int64_t{0}, spec.ow - 1})
        for (const std::int64_t k : {std::int64_t{0}, spec.oc - 1})
          if (std::ssize(points) < count) points.insert(((n * spec.oh + y) * spec.ow + x) * spec.oc + k);
  // SplitMix64, as fixed by its definition: the same points everywhere.
  std::uint64_t state = seed;
  const auto next = [&state] {
    std::uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  if (2 * count > size) {  // more than half of all: drawing would repeat itself
    for (std::int64_t p = 0; p < size && std::ssize(points) < count; ++p) points.insert(p);
  }
  while (std::ssize(points) < count)
    points.insert(static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(size)));
  return {points.begin(), points.end()};
}

}  // namespace lift
