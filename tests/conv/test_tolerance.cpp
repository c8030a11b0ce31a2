// The tolerance lets every honest order of summation pass and catches every wrong kernel.
#include <algorithm>
#include <cmath>
#include <functional>

#include "helpers.hpp"

using namespace lift;
using namespace lift::test;

namespace {

// One output in float arithmetic; `order` sums the products in the way of some kernel.
using Sum = std::function<float(const std::vector<float>&, const std::vector<float>&, float)>;

float inOrder(const std::vector<float>& x, const std::vector<float>& w, float bias) {
  float sum = bias;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * w[i];
  return sum;
}
float backwards(const std::vector<float>& x, const std::vector<float>& w, float bias) {
  float sum = 0;
  for (std::size_t i = x.size(); i-- > 0;) sum += x[i] * w[i];
  return sum + bias;
}
float fused(const std::vector<float>& x, const std::vector<float>& w, float bias) {
  float sum = bias;
  for (std::size_t i = 0; i < x.size(); ++i) sum = std::fma(x[i], w[i], sum);
  return sum;
}
float lanes(const std::vector<float>& x, const std::vector<float>& w, float bias) {
  float sums[16] = {};
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % 16] += x[i] * w[i];
  float sum = bias;
  for (const float lane : sums) sum += lane;
  return sum;
}
// All positive products first: partial sums grow as large as they can.
float sortedSigns(const std::vector<float>& x, const std::vector<float>& w, float bias) {
  float sum = bias;
  for (const bool positive : {true, false})
    for (std::size_t i = 0; i < x.size(); ++i)
      if ((x[i] * w[i] > 0) == positive) sum += x[i] * w[i];
  return sum;
}

// The products of one output.
void gather(const ConvSpec& s, const ConvTensors& t, std::int64_t point, std::vector<float>& x, std::vector<float>& w) {
  x.clear(), w.clear();
  const std::int64_t k = point % s.oc, col = point / s.oc % s.ow, row = point / s.oc / s.ow % s.oh;
  const std::int64_t n = point / s.oc / s.ow / s.oh, icg = s.icPerGroup();
  for (std::int64_t i = 0; i < s.kh; ++i)
    for (std::int64_t j = 0; j < s.kw; ++j)
      for (std::int64_t c = 0; c < icg; ++c) {
        const std::int64_t y = row * s.sh - s.padTop + i * (s.dh + 1), z = col * s.sw - s.padLeft + j * (s.dw + 1);
        if (y < 0 || y >= s.ih || z < 0 || z >= s.iw) continue;
        x.push_back(t.input.data<float>()[((n * s.ih + y) * s.iw + z) * s.ic + k / s.ocPerGroup() * icg + c]);
        w.push_back(t.weights.data<float>()[((k * s.kh + i) * s.kw + j) * icg + c]);
      }
}

// Error of a summation order at sampled points, in units of the tolerance.
double errorOf(const ConvSpec& s, const ConvTensors& t, const Sum& sum, std::int64_t samples) {
  const std::vector<std::int64_t> points = samplePoints(s, samples, 5);
  const std::vector<double> want = referenceAt(s, t, points);
  Tensor got(Scalar::f32, s.outputShape());
  std::vector<float> x, w;
  for (const std::int64_t point : points) {
    gather(s, t, point, x, w);
    got.set(point, sum(x, w, t.bias.data<float>()[point % s.oc]));
  }
  return errorAt(got, points, want) / convTolerance(s, Scalar::f32);
}

const std::vector<std::pair<std::string, Sum>>& orders() {
  static const std::vector<std::pair<std::string, Sum>> table = {{"in order", inOrder},
                                                                 {"backwards", backwards},
                                                                 {"fused", fused},
                                                                 {"16 lanes", lanes},
                                                                 {"positive products first", sortedSigns}};
  return table;
}

// How far beyond the tolerance a wrong result is.
double excess(const ConvSpec& s, const Tensor& wrong, const Tensor& right) {
  return largestError({{"out", wrong}}, {{"out", right}}) / convTolerance(s, right.scalar);
}

// The shapes that the mistakes are made on; all have more than one tap on each axis, a stride or padding.
std::vector<ConvSpec> victims() {
  std::vector<ConvSpec> specs;
  for (const char* text : {"ic64ih28oc32kh3ph1", "ic16ih17oc16kh5kw3ph2pw1", "ic3ih35oc32kh11sh4ph2",
                           "g4ic16ih14oc32kh3ph1", "mb2ic13ih17iw19oc23kh3sh2ph1", "ic8ih23iw29oc12kh3kw5dh2dw1ph3pw2",
                           "g24ic24ih17oc24kh3ph1", "ic512ih7oc64kh3ph1"})
    specs.push_back(parseConv(text));
  return specs;
}

}  // namespace

TEST_CASE("honest float sums pass on all odd shapes, in every order") {
  for (const ConvSpec& s : shapes("odd.txt")) {
    const ConvTensors t = randomConvTensors(s, 13);
    for (const auto& [name, sum] : orders()) {
      INFO(s.str() << " " << name);
      CHECK(errorOf(s, t, sum, 2000) < 1);
    }
  }
}

TEST_CASE("honest float sums pass on long reductions, in every order") {
  for (const char* text : {"ic512ih6oc64kh3ph1", "ic2048ih3oc512kh1", "ic1024ih7oc16kh5ph2"}) {
    const ConvSpec s = parseConv(text);
    const ConvTensors t = randomConvTensors(s, 17);
    for (const auto& [name, sum] : orders()) {
      INFO(s.str() << " " << name);
      CHECK(errorOf(s, t, sum, 500) < 1);
    }
  }
}

TEST_CASE("honest float sums pass on activations without negative values") {
  for (const char* text : {"ic256ih8oc64kh3ph1", "ic16ih17oc16kh5kw3ph2pw1"}) {
    const ConvSpec s = parseConv(text);
    ConvTensors t = randomConvTensors(s, 19);
    for (std::int64_t i = 0; i < t.input.size(); ++i) t.input.set(i, std::max(0.0, t.input.get(i)));
    for (const auto& [name, sum] : orders()) {
      INFO(s.str() << " " << name);
      CHECK(errorOf(s, t, sum, 1000) < 1);
    }
  }
}

TEST_CASE("a dropped tap is caught") {
  for (const ConvSpec& s : victims()) {
    const ConvTensors t = randomConvTensors(s, 23);
    Tensor weights = t.weights;
    // The last tap of every kernel.
    const std::int64_t kernel = s.reduction(), icg = s.icPerGroup();
    for (std::int64_t k = 0; k < s.oc; ++k)
      for (std::int64_t c = 0; c < icg; ++c) weights.set(k * kernel + kernel - icg + c, 0);
    INFO(s.str());
    CHECK(excess(s, convReference(s, t.input, weights, t.bias), reference(s, t)) > 10);
  }
}

TEST_CASE("a single dropped product is caught") {
  for (const ConvSpec& s : victims()) {
    const ConvTensors t = randomConvTensors(s, 29);
    Tensor weights = t.weights;
    weights.set(s.reduction() / 2, 0);  // one channel of one tap of the first kernel
    INFO(s.str());
    CHECK(excess(s, convReference(s, t.input, weights, t.bias), reference(s, t)) > 2);
  }
}

TEST_CASE("windows off by one are caught") {
  for (const ConvSpec& s : victims()) {
    const ConvTensors t = randomConvTensors(s, 31);
    const Tensor right = reference(s, t);
    ConvSpec down = s, left = s;
    down.padTop -= 1;
    left.padLeft += 1;
    INFO(s.str());
    CHECK(excess(s, reference(down, t), right) > 10);
    CHECK(excess(s, reference(left, t), right) > 10);
  }
}

TEST_CASE("rows and columns exchanged in the kernel are caught") {
  for (const ConvSpec& s : victims()) {
    const ConvTensors t = randomConvTensors(s, 37);
    Tensor weights = t.weights;
    // The kernel [kh][kw] read as if it were [kw][kh].
    const std::int64_t icg = s.icPerGroup();
    for (std::int64_t k = 0; k < s.oc; ++k)
      for (std::int64_t i = 0; i < s.kh; ++i)
        for (std::int64_t j = 0; j < s.kw; ++j)
          for (std::int64_t c = 0; c < icg; ++c)
            weights.set(((k * s.kh + i) * s.kw + j) * icg + c,
                        t.weights.get((k * s.kh * s.kw + j * s.kh + i) * icg + c));
    INFO(s.str());
    CHECK(excess(s, convReference(s, t.input, weights, t.bias), reference(s, t)) > 10);
  }
}

TEST_CASE("a missing bias is caught") {
  for (const ConvSpec& s : victims()) {
    const ConvTensors t = randomConvTensors(s, 41);
    INFO(s.str());
    CHECK(excess(s, convReference(s, t.input, t.weights, Tensor(Scalar::f32, s.biasShape())), reference(s, t)) > 10);
  }
}

TEST_CASE("one wrong pixel at the edge is caught") {
  for (const ConvSpec& s : victims()) {
    const ConvTensors t = randomConvTensors(s, 43);
    const Tensor right = reference(s, t);
    Tensor wrong = right;
    const std::int64_t last = right.size() - s.oc;
    for (std::int64_t k = 0; k < s.oc; ++k) wrong.set(last + k, 0);  // the tail that was not computed
    INFO(s.str());
    CHECK(excess(s, wrong, right) > 10);
  }
}

TEST_CASE("padding that repeats the border instead of zero is caught") {
  const ConvSpec s = parseConv("ic64ih28oc32kh3ph1");
  const ConvTensors t = randomConvTensors(s, 47);
  // The same layer on an input that was already widened by its own border.
  ConvSpec inner = s;
  inner.ih += 2, inner.iw += 2, inner.padTop = inner.padLeft = 0;
  inner.setPadding(0, 0, 0, 0);
  Tensor widened(Scalar::f32, inner.inputShape());
  for (std::int64_t y = 0; y < inner.ih; ++y)
    for (std::int64_t x = 0; x < inner.iw; ++x)
      for (std::int64_t c = 0; c < s.ic; ++c) {
        const std::int64_t fromY = std::clamp<std::int64_t>(y - 1, 0, s.ih - 1);
        const std::int64_t fromX = std::clamp<std::int64_t>(x - 1, 0, s.iw - 1);
        widened.set((y * inner.iw + x) * s.ic + c, t.input.get((fromY * s.iw + fromX) * s.ic + c));
      }
  CHECK(excess(s, convReference(inner, widened, t.weights, t.bias), reference(s, t)) > 10);
}

TEST_CASE("channels of the wrong group are caught") {
  const ConvSpec s = parseConv("g4ic16ih14oc32kh3ph1");
  const ConvTensors t = randomConvTensors(s, 53);
  Tensor shifted = t.input;
  for (std::int64_t i = 0; i < shifted.size(); ++i)
    shifted.set(i, t.input.get(i / s.ic * s.ic + (i % s.ic + s.icPerGroup()) % s.ic));
  CHECK(excess(s, convReference(s, shifted, t.weights, t.bias), reference(s, t)) > 10);
}

TEST_CASE("NaN, infinity and wrong shapes never pass") {
  const ConvSpec s = parseConv("ic8ih9oc5kh3ph1");
  const ConvTensors t = randomConvTensors(s, 59);
  const Tensor right = reference(s, t);
  CHECK(isRight(s, right, right));
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    Tensor wrong = right;
    wrong.set(17, bad);
    CHECK(!isRight(s, wrong, right));
    CHECK(compare(wrong, right, rootMeanSquare(right)).at == 17);
  }
  CHECK(!isRight(s, Tensor(Scalar::f32, {1, 9, 9, 4}), right));
}

TEST_CASE("the tolerance follows element type and reduction length") {
  const ConvSpec small = parseConv("ic1ih9oc1kh1"), large = parseConv("ic512ih9oc1kh3");
  CHECK(convTolerance(small, Scalar::f32) == Approx(10 * std::ldexp(1.0, -24)));
  CHECK(convTolerance(large, Scalar::f32) == Approx(2 * 4612 * std::ldexp(1.0, -24)));
  CHECK(convTolerance(large, Scalar::f32) < 1e-3);
  CHECK(convTolerance(large, Scalar::f64) < 1e-11);
  CHECK(convTolerance(small, Scalar::f16) > std::ldexp(1.0, -11));
  CHECK(convTolerance(large, Scalar::h16) > 50 * convTolerance(large, Scalar::f16));
  CHECK(convTolerance(large, Scalar::h16) < 0.15);
  CHECK(convTolerance(small, Scalar::i32) == 0);
  Tensor t(Scalar::f32, {4});
  for (int i = 0; i < 4; ++i) t.set(i, i % 2 ? 3 : -3);
  CHECK(rootMeanSquare(t) == 3);
}

TEST_CASE("integer layers must be exact") {
  const ConvSpec s = parseConv("ic8ih9oc5kh3ph1");
  const Tensor right = reference(s, randomConvTensors(s, 61, Scalar::i32));
  Tensor wrong = right;
  wrong.set(3, right.get(3) + 1);
  CHECK(isRight(s, right, right));
  CHECK(!isRight(s, wrong, right));
}
