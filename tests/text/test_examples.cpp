// The examples compute what their comments say: each against a loop nest written here.

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

struct Run {
  std::map<std::string, Tensor> inputs;
  Tensor out;

  double in(const std::string& name, const std::vector<std::int64_t>& at) const { return element(inputs.at(name), at); }
  double result(const std::vector<std::int64_t>& at) const { return element(out, at); }

  static double element(const Tensor& tensor, const std::vector<std::int64_t>& at) {
    REQUIRE(at.size() == tensor.shape.size());
    std::int64_t index = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      REQUIRE(at[d] < tensor.shape[d]);
      index = index * tensor.shape[d] + at[d];
    }
    return tensor.get(index);
  }
};

// Runs an example at the given sizes and tunables on random inputs.
Run run(const std::string& name, const std::map<std::string, std::int64_t>& sizes) {
  const Program symbolic = readProgram(std::string(LIFT_SOURCE_DIR "/examples/") + name);
  const Program program = atValues(symbolic, sizes);
  CHECK(program.conditions.empty());
  Run run;
  run.inputs = randomInputs(program, 1);
  run.out = interpret(program, run.inputs).at("out");
  return run;
}

}  // namespace

TEST_CASE("parts of equal length: as many as asked for, where their number divides the length") {
  const auto conditions = [](const std::string& text) {
    std::vector<std::string> all;
    for (const SizeCondition& c : parseProgram(*addSource("parts.lift", text)).conditions) all.push_back(c.str());
    return all;
  };
  CHECK(conditions("def main(parts: nat, xs: [n]f32): [parts]f32 = split(n / parts, xs) |> map(sum)")[0] ==
        "parts | n");
  CHECK(conditions("def main(xs: [n]f32): [8]f32 = map(sum, split(n / 8, xs))")[0] == "8 | n");
  CHECK_THROWS_AS(conditions("def main(xs: [n]f32): [8]f32 = map(sum, split(n / 4, xs))"), UserError);
}

TEST_CASE("example: dot") {
  const Run r = run("dot.lift", {{"n", 100}});
  double expected = 0;
  for (int i = 0; i < 100; ++i) expected += r.in("x", {i}) * r.in("y", {i});
  CHECK(r.result({}) == Approx(expected).margin(1e-4));
}

TEST_CASE("example: matmul") {
  const Run r = run("matmul.lift", {{"n", 3}, {"k", 5}, {"m", 4}});
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) {
      double expected = 0;
      for (int k = 0; k < 5; ++k) expected += r.in("a", {i, k}) * r.in("b", {k, j});
      CHECK(r.result({i, j}) == Approx(expected).margin(1e-5));
    }
}

TEST_CASE("example: gaussian_blur") {
  const int h = 5, w = 4;
  const Run r = run("gaussian_blur.lift", {{"h", h}, {"w", w}});
  std::vector<double> image;
  for (int i = 0; i < h * w; ++i) image.push_back(r.in("image", {i / w, i % w}));
  for (int step = 0; step < 16; ++step) {
    std::vector<double> blurred;
    for (int i = 0; i < h * w; ++i) {
      double sum = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          sum +=
              (dy ? 1 : 2) * (dx ? 1 : 2) / 16.0 *
              image[static_cast<std::size_t>(std::clamp(i / w + dy, 0, h - 1) * w + std::clamp(i % w + dx, 0, w - 1))];
      blurred.push_back(sum);
    }
    image = blurred;
  }
  // Rounding to whole grey levels may differ by one where the sum lies between two.
  for (int i = 0; i < h * w; ++i)
    CHECK(r.result({i / w, i % w}) == Approx(image[static_cast<std::size_t>(i)]).margin(0.501));
}

TEST_CASE("example: stencil2d, Listing 1") {
  const Run r = run("stencil2d.lift", {{"height", 6}, {"width", 7}});
  REQUIRE(r.out.shape == std::vector<std::int64_t>{4, 5});
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 5; ++x) {
      double expected = 0;
      for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) expected += r.in("weights", {dy, dx}) * r.in("inputData", {y + dy, x + dx});
      CHECK(r.result({y, x}) == Approx(expected).margin(1e-5));
    }
}

TEST_CASE("example: conv_layer, Listing 3") {
  const int h = 5, w = 6, channels = 3, kernels = 4;
  const Run r = run("conv_layer.lift",
                    {{"inputHeight", h}, {"inputWidth", w}, {"inputChannels", channels}, {"numKernels", kernels}});
  for (int k = 0; k < kernels; ++k)
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        double expected = r.in("biases", {k});
        for (int dy = 0; dy < 3; ++dy)
          for (int dx = 0; dx < 3; ++dx)
            for (int c = 0; c < channels; ++c) {
              const int iy = y + dy - 1, ix = x + dx - 1;
              if (iy >= 0 && iy < h && ix >= 0 && ix < w)
                expected += r.in("weights", {k, dy, dx, c}) * r.in("input", {iy, ix, c});
            }
        CHECK(r.result({k, y, x}) == Approx(expected).margin(1e-5));
      }
}

TEST_CASE("example: partial_conv, Listing 4") {
  // 3 by 3 tiles of 5 by 5 pixels, 3 by 3 windows in each; the partial sums of a window add up to the convolution.
  const int side = 11, channels = 4, kernels = 4, theta = 5, kappa = 2, sigma = 3, omega = 12, upsilon = 4;
  const Run r = run("partial_conv.lift", {{"paddedInputHeight", side},
                                          {"paddedInputWidth", side},
                                          {"inputChannels", channels},
                                          {"numKernels", kernels},
                                          {"theta", theta},
                                          {"kappa", kappa},
                                          {"sigma", sigma},
                                          {"omega", omega},
                                          {"upsilon", upsilon}});
  const int chunks = 9 * channels / omega;
  REQUIRE(r.out.shape == std::vector<std::int64_t>{9, kernels / kappa, kappa, 9 / sigma, sigma, chunks});
  for (int tile = 0; tile < 9; ++tile)
    for (int k = 0; k < kernels; ++k)
      for (int window = 0; window < 9; ++window) {
        double expected = 0, sum = 0;
        const int y = tile / 3 * (theta - 2) + window / 3, x = tile % 3 * (theta - 2) + window % 3;
        for (int dy = 0; dy < 3; ++dy)
          for (int dx = 0; dx < 3; ++dx)
            for (int c = 0; c < channels; ++c)
              expected += r.in("weights", {k, dy, dx, c}) * r.in("input", {y + dy, x + dx, c});
        for (int chunk = 0; chunk < chunks; ++chunk)
          sum += r.result({tile, k / kappa, k % kappa, window / sigma, window % sigma, chunk});
        CHECK(sum == Approx(expected).margin(1e-5));
        // Coalescing: chunk c has the elements c, c + chunks, c + 2 * chunks, … of the flat window.
        double first = 0;
        for (int i = 0; i < 9 * channels; i += chunks) {
          const int c = i % channels, dx = i / channels % 3, dy = i / channels / 3;
          first += r.in("weights", {k, dy, dx, c}) * r.in("input", {y + dy, x + dx, c});
        }
        CHECK(r.result({tile, k / kappa, k % kappa, window / sigma, window % sigma, 0}) == Approx(first).margin(1e-5));
      }
}
