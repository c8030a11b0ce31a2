
#include "lift/diagnostic.hpp"
#include "lift/opset.hpp"
#include "lift/parallel.hpp"

namespace lift {

namespace {

// The input's index that tap k of output y reads; negative where that is in the padding or between inputs.
std::int64_t readAt(const ConvAxis& a, bool transposed, std::int64_t y, std::int64_t k) {
  std::int64_t i = 0;
  if (transposed) {
    const std::int64_t at = y + a.padStart - k * a.step();
    if (at < 0 || at % a.stride != 0) return -1;
    i = at / a.stride;
  } else {
    i = y * a.stride - a.padStart + k * a.step();
  }
  return i < a.in ? i : -1;
}

}  // namespace

Tensor convNdReference(const ConvNdSpec& s, const Tensor& input, const Tensor& weights, const Tensor& biases) {
  ensure(input.shape == s.inputShape() && weights.shape == s.weightShape(), "the tensors' shapes are not the layer's");
  const std::int64_t icg = s.icPerGroup(), ocg = s.ocPerGroup(), taps = s.taps();
  // Output channels innermost: [tap][ic/g][oc].
  std::vector<double> w(static_cast<std::size_t>(weights.size()));
  for (std::int64_t k = 0; k < s.oc; k++)
    for (std::int64_t t = 0; t < taps * icg; t++)
      w[static_cast<std::size_t>(t * s.oc + k)] = weights.get(k * taps * icg + t);
  Tensor output(Scalar::f32, s.outputShape());
  const auto& [d, h, v] = s.axes;
  const float* in = input.data<float>();
  float* out = output.data<float>();
  parallelFor(s.batch * d.out * h.out, [&](std::int64_t row) {
    const std::int64_t n = row / (d.out * h.out), z = row / h.out % d.out, y = row % h.out;
    std::vector<double> sums(static_cast<std::size_t>(s.oc));
    for (std::int64_t x = 0; x < v.out; x++) {
      for (std::int64_t k = 0; k < s.oc; k++) sums[static_cast<std::size_t>(k)] = biases.get(k);
      for (std::int64_t i = 0; i < d.kernel; i++)
        for (std::int64_t j = 0; j < h.kernel; j++)
          for (std::int64_t l = 0; l < v.kernel; l++) {
            const std::int64_t inZ = readAt(d, s.transposed, z, i), inY = readAt(h, s.transposed, y, j),
                               inX = readAt(v, s.transposed, x, l);
            if (inZ < 0 || inY < 0 || inX < 0) continue;
            const float* pixel = in + (((n * d.in + inZ) * h.in + inY) * v.in + inX) * s.ic;
            const double* tap = &w[static_cast<std::size_t>(((i * h.kernel + j) * v.kernel + l) * icg * s.oc)];
            for (std::int64_t g = 0; g < s.groups; g++)
              for (std::int64_t c = 0; c < icg; c++) {
                const double value = pixel[g * icg + c];
                const double* factors = tap + c * s.oc + g * ocg;
                double* sum = &sums[static_cast<std::size_t>(g * ocg)];
                for (std::int64_t k = 0; k < ocg; k++) sum[k] += value * factors[k];
              }
          }
      for (std::int64_t k = 0; k < s.oc; k++)
        out[(row * v.out + x) * s.oc + k] = static_cast<float>(sums[static_cast<std::size_t>(k)]);
    }
  });
  return output;
}

}  // namespace lift
