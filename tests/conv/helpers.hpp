// What several of this folder's tests use.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lift/conv.hpp"

namespace lift::test {

inline std::vector<ConvSpec> shapes(const std::string& file) {
  return readShapes(std::string(LIFT_SOURCE_DIR "/shapes/") + file);
}

inline Tensor reference(const ConvSpec& spec, const ConvTensors& t) {
  return convReference(spec, t.input, t.weights, t.bias);
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
