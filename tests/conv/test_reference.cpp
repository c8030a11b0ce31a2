// The references against results worked out by hand, against each other and against oneDNN.
#include <cmath>

#include "harness/setting.hpp"
#include "helpers.hpp"

using namespace lift;
using namespace lift::test;

namespace {
Tensor of(std::vector<std::int64_t> shape, const std::vector<double>& values) {
  Tensor t(Scalar::f32, std::move(shape));
  REQUIRE(t.size() == static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) t.set(static_cast<std::int64_t>(i), values[i]);
  return t;
}
std::vector<double> values(const Tensor& t) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < t.size(); ++i) result.push_back(t.get(i));
  return result;
}
using Values = std::vector<double>;

// The size that an output of random data has. Where a layer has few outputs that happen to cancel, their own root mean
// square is far below it and tells nothing of the roundings.
double scaleOf(const ConvSpec& spec, const ConvTensors& t) {
  return std::sqrt(static_cast<double>(spec.reduction())) * rootMeanSquare(t.input) * rootMeanSquare(t.weights) +
         rootMeanSquare(t.bias);
}
}  // namespace

TEST_CASE("a layer worked out by hand: padding, bias, no flipping of the kernel") {
  const ConvSpec s = parseConv("ic1ih2iw3oc1kh2kw2ph1pw0oh2ow2");
  const Tensor out = convReference(s, of(s.inputShape(), {1, 2, 3, 4, 5, 6}),
                                   of(s.weightShape(), {10, 100, 1000, 10000}), of(s.biasShape(), {0.5}));
  // The first window's upper row is padding: 1000 * 1 + 10000 * 2 + 0.5.
  CHECK(values(out) == Values{21000.5, 32000.5, 54210.5, 65320.5});
}

TEST_CASE("a layer worked out by hand: two input channels, two output channels") {
  const ConvSpec s = parseConv("ic2ih1iw2oc2kh1");
  const Tensor out = convReference(s, of(s.inputShape(), {1, 2, 3, 4}), of(s.weightShape(), {1, 10, 100, 1000}),
                                   of(s.biasShape(), {0, 0.25}));
  CHECK(values(out) == Values{21, 2100.25, 43, 4300.25});
}

TEST_CASE("a layer worked out by hand: groups") {
  const ConvSpec s = parseConv("g2ic4ih1oc2kh1");
  const Tensor out = convReference(s, of(s.inputShape(), {1, 2, 3, 4}), of(s.weightShape(), {1, 10, 100, 1000}),
                                   of(s.biasShape(), {0, 0}));
  CHECK(values(out) == Values{21, 4300});
}

TEST_CASE("a layer worked out by hand: stride and dilation") {
  const ConvSpec s = parseConv("ic1ih1iw9oc1kh1kw2sw3dw2");
  REQUIRE(s.ow == 2);
  const Tensor out = convReference(s, of(s.inputShape(), {1, 2, 3, 4, 5, 6, 7, 8, 9}), of(s.weightShape(), {1, 10}),
                                   of(s.biasShape(), {0}));
  CHECK(values(out) == Values{41, 74});  // elements 0 and 3, 3 and 6
}

TEST_CASE("the sampled reference agrees with the whole one at every point") {
  for (const ConvSpec& s : shapes("odd.txt")) {
    const ConvTensors t = randomConvTensors(s, 7, Scalar::f64);
    const Tensor whole = reference(s, t);
    std::vector<std::int64_t> points = samplePoints(s, 1000, 3);
    const std::vector<double> at = referenceAt(s, t, points);
    REQUIRE(at.size() == points.size());
    double worst = 0;
    for (std::size_t i = 0; i < points.size(); ++i) worst = std::max(worst, std::abs(at[i] - whole.get(points[i])));
    INFO(s.str());
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("half and integer layers are computed in double and rounded once") {
  const ConvSpec s = parseConv("ic8ih9oc5kh3ph1");
  const ConvTensors half = randomConvTensors(s, 5, Scalar::f16);
  const Tensor out = reference(s, half);
  CHECK(out.scalar == Scalar::f16);
  const std::vector<std::int64_t> points = samplePoints(s, 50, 1);
  const std::vector<double> exact = referenceAt(s, half, points);
  Tensor rounded(Scalar::f16, {50});
  for (std::size_t i = 0; i < 50; ++i) {
    rounded.set(static_cast<std::int64_t>(i), exact[i]);
    CHECK(out.get(points[i]) == rounded.get(static_cast<std::int64_t>(i)));
  }
  const ConvTensors whole = randomConvTensors(s, 5, Scalar::i32);
  const Tensor integers = reference(s, whole);
  const std::vector<double> same = referenceAt(s, whole, points);
  for (std::size_t i = 0; i < 50; ++i) CHECK(integers.get(points[i]) == same[i]);
}

TEST_CASE("tensors of the wrong shape are refused") {
  const ConvSpec s = parseConv("ic8ih9oc5kh3ph1");
  const ConvTensors t = randomConvTensors(s, 1);
  CHECK_THROWS_AS(convReference(s, t.weights, t.input, t.bias), InternalError);
}

TEST_CASE("the reference agrees with oneDNN on every odd shape") {
  if (!haveOneDnn()) {
    WARN("built without oneDNN");
    return;
  }
  int judged = 0;
  for (const ConvSpec& s : shapes("odd.txt")) {
    const ConvTensors t = randomConvTensors(s, 42);
    const Tensor want = reference(s, t);
    const std::optional<Tensor> got = convOneDnn(s, t.input, t.weights, t.bias);
    INFO(s.str());
    REQUIRE(got);
    CHECK(isRight(s, *got, want));
    ++judged;
  }
  CHECK(judged >= 30);
}

TEST_CASE("the reference agrees with oneDNN on random shapes") {
  if (!haveOneDnn()) {
    WARN("built without oneDNN");
    return;
  }
  const std::uint64_t seed = newSeed();
  INFO("LIFT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int n = 0; n < 60; ++n) {
    const ConvSpec s = randomSpec(random);
    const ConvTensors t = randomConvTensors(s, seed);
    const std::optional<Tensor> got = convOneDnn(s, t.input, t.weights, t.bias);
    INFO(s.str());
    REQUIRE(got);
    CHECK(isRight(s, *got, reference(s, t), scaleOf(s, t)));
  }
}

TEST_CASE("oneDNN in NCHW and by Winograd gives the same layer") {
  if (!haveOneDnn()) {
    WARN("built without oneDNN");
    return;
  }
  const ConvSpec s = parseConv("mb2ic32ih28oc48kh3ph1");
  const ConvTensors t = randomConvTensors(s, 3);
  const Tensor want = reference(s, t);
  for (const OneDnnMode mode : {OneDnnMode::direct, OneDnnMode::nchw, OneDnnMode::nchwDirect}) {
    const auto layer = OneDnnConv::make(s, mode, t);
    REQUIRE(layer);
    CHECK(layer->run(1) > 0);
    CHECK(!layer->implementation().empty());
    CHECK(layer->activationBytes() >= std::ssize(t.input.bytes) + std::ssize(want.bytes));
    CHECK(layer->weightBytes() >= std::ssize(t.weights.bytes));
    CHECK(layer->scratchBytes() >= 0);
    CHECK(isRight(s, layer->output(), want));
  }
  for (const OneDnnMode mode : {OneDnnMode::winograd, OneDnnMode::nchwWinograd})
    if (const auto layer = OneDnnConv::make(s, mode, t)) {
      layer->run(1);
      CHECK(largestError({{"out", layer->output()}}, {{"out", want}}) < 1e-3);
    }
}

TEST_CASE("oneDNN has no Winograd for strides, and says so by null") {
  CHECK(haveOneDnn() == !oneDnnVersion().empty());
  const ConvSpec s = parseConv("ic16ih28oc16kh3sh2ph1");
  CHECK(!OneDnnConv::make(s, OneDnnMode::winograd, randomConvTensors(s, 3)));
}

TEST_CASE("a VGG-16 layer: sampled points, the whole reference and oneDNN agree") {
  const ConvSpec s = shapes("vgg16.txt").back();
  REQUIRE(s.reduction() == 4608);
  const ConvTensors t = randomConvTensors(s, 1);
  const std::vector<std::int64_t> points = samplePoints(s, 64, 9);
  const std::vector<double> at = referenceAt(s, t, points);
  const Tensor whole = reference(s, t);
  CHECK(errorAt(whole, points, at) < 1e-6);
  if (const std::optional<Tensor> peer = convOneDnn(s, t.input, t.weights, t.bias)) {
    CHECK(isRight(s, *peer, whole));
    CHECK(errorAt(*peer, points, at) <= convTolerance(s, Scalar::f32));
  }
}
