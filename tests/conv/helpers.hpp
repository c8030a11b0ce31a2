// What several of this folder's tests use.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "brief.hpp"
#include "lift/conv.hpp"

namespace lift::test {

inline std::vector<ConvSpec> shapes(const std::string& file) {
  return readShapes(std::string(LIFT_SOURCE_DIR "/shapes/") + file);
}

inline Tensor reference(const ConvSpec& spec, const ConvTensors& t) {
  return convReference(spec, t.input, t.weights, t.bias);
}

// Whether a layer's result is as near to the expected one as a right one is. Errors are taken relative to `scale` at
// least.
inline bool isRight(const ConvSpec& spec, const Tensor& actual, const Tensor& expected, double scale = 0) {
  return compare(actual, expected, std::max(rootMeanSquare(expected), scale)).maxRel <=
         convTolerance(spec, expected.scalar);
}

// The layer's definition for single outputs (row-major indices into the output), not rounded to the element type.
// Shares no code with convReference.
inline std::vector<double> referenceAt(const ConvSpec& spec, const ConvTensors& t,
                                       const std::vector<std::int64_t>& points) {
  std::vector<double> results;
  results.reserve(points.size());
  const std::int64_t icg = spec.icPerGroup();
  for (const std::int64_t point : points) {
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
            sum += t.input.get(((n * spec.ih + inY) * spec.iw + inX) * spec.ic + firstChannel + c) *
                   t.weights.get(((k * spec.kh + i) * spec.kw + j) * icg + c);
        }
    results.push_back(sum + t.bias.get(k));
  }
  return results;
}

// Distinct sorted indices for it.
inline std::vector<std::int64_t> samplePoints(const ConvSpec& spec, std::int64_t count, std::uint64_t seed) {
  const std::int64_t size = spec.batch * spec.oh * spec.ow * spec.oc;
  std::mt19937_64 random(seed);
  std::set<std::int64_t> points{0, size - 1};
  while (std::ssize(points) < std::min(count, size / 2))
    points.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size)));
  return {points.begin(), points.end()};
}

// The largest error at these points, relative to the expected value or the root mean square of all.
inline double errorAt(const Tensor& actual, const std::vector<std::int64_t>& points,
                      const std::vector<double>& expected) {
  double squares = 0, worst = 0;
  for (const double e : expected) squares += e * e;
  const double floor = std::sqrt(squares / static_cast<double>(expected.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double error = std::abs(actual.get(points[i]) - expected[i]) / std::max(std::abs(expected[i]), floor);
    if (std::isnan(error)) return HUGE_VAL;
    worst = std::max(worst, error);
  }
  return worst;
}

// The whole text of the diagnostics of a descriptor; empty when it is accepted.
inline std::string complaint(const std::string& text) {
  try {
    parseConv(text, "conv");
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::program);
    return error.what();
  }
  return {};
}

inline std::string briefly(const std::string& text) { return brief(complaint(text)); }

// A legal layer of random shape.
inline ConvSpec randomSpec(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  for (;;) {
    ConvSpec s;
    s.groups = pick(0, 2) ? 1 : pick(2, 5);
    s.batch = pick(1, 3);
    s.ic = s.groups * pick(1, 9), s.oc = s.groups * pick(1, 9);
    s.ih = pick(1, 40), s.iw = pick(1, 40);
    s.kh = pick(1, 7), s.kw = pick(1, 7);
    s.sh = pick(1, 4), s.sw = pick(1, 4);
    if (pick(0, 2) == 0) s.dh = pick(0, 3), s.dw = pick(0, 3);
    const std::int64_t top = pick(0, s.extentH()), left = pick(0, s.extentW());
    if (s.extentH() > s.ih + top || s.extentW() > s.iw + left) continue;
    s.setPadding(top, left, pick(0, s.extentH() - 1), pick(0, s.extentW() - 1));
    if (pick(0, 1)) s.name = "layer " + std::to_string(pick(0, 99));
    return s;
  }
}

}  // namespace lift::test
