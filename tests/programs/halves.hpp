// Programs of halves: stored (f16) and computed in (h16), judged by the compiler's own half type.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "lift/codegen.hpp"
#include "lift/device.hpp"
#include "lift/inputs.hpp"
#include "lift/text.hpp"

namespace lift::programs {

__extension__ using Half = _Float16;
using Halves = std::vector<Half>;

constexpr std::size_t halfRows = 12, halfColumns = 32;

struct HalfProgram {
  const char* text;  // "T" stands for the type of the elements
  // Of x and y, rows by columns, computed in Half or in float.
  std::function<Halves(const Halves&, const Halves&)> inHalf, inFloat;
  double roundings;  // of a result, in units of the last place of max(|expected|, 1)
};

// What a program computes with numbers of type R, in plain loops.
template <class R>
Halves scaled(const Halves& x, const Halves& y) {
  Halves out;
  for (std::size_t i = 0; i < x.size(); i++) {
    const R product = static_cast<R>(static_cast<R>(x[i]) * static_cast<R>(1.5));
    out.push_back(static_cast<Half>(static_cast<R>(product + static_cast<R>(y[i]))));
  }
  return out;
}

template <class R>
Halves largerScaled(const Halves& x, const Halves& y) {
  Halves out;
  for (std::size_t i = 0; i < x.size(); i++) {
    const R a = static_cast<R>(static_cast<R>(x[i]) * static_cast<R>(2.0)), b = static_cast<R>(y[i]);
    out.push_back(static_cast<Half>(a > b ? a : b));
  }
  return out;
}

template <class R, class Sum>
Halves rowProducts(const Halves& x, const Halves& y) {
  Halves out;
  for (std::size_t row = 0; row < halfRows; row++) {
    Sum sum = 0;
    for (std::size_t i = row * halfColumns; i < (row + 1) * halfColumns; i++)
      sum = static_cast<Sum>(sum + static_cast<Sum>(static_cast<R>(static_cast<R>(x[i]) * static_cast<R>(y[i]))));
    out.push_back(static_cast<Half>(sum));
  }
  return out;
}

inline const std::vector<HalfProgram>& halfPrograms() {
  static const std::vector<HalfProgram> all{
      {"def main(x: [n][m]T, y: [n][m]T) = zip(join(x), join(y)) |> map(fun (a, b) => a * 1.5 + b)", scaled<Half>,
       scaled<float>, 1},
      {"def main(x: [n][m]T, y: [n][m]T) = zip(asVector(4, join(x)), asVector(4, join(y))) |> "
       "map(vectorize(4, fun (a, b) => a * 1.5 + b)) |> asScalar",
       scaled<Half>, scaled<float>, 1},
      {"def main(x: [n][m]T, y: [n][m]T) = zip(join(x), join(y)) |> map(fun (a, b) => max(a * 2.0, b))",
       largerScaled<Half>, largerScaled<float>, 0},
      {"def main(x: [n][m]T, y: [n][m]T) = zip(x, y) |> "
       "map(fun (u, v) => zip(u, v) |> reduce(0.0, fun (sum, (a, b)) => sum + a * b))",
       rowProducts<Half, Half>, rowProducts<float, float>, 24},
      {"def main(x: [n][m]T, y: [n][m]T) = zip(x, y) |> "
       "map(fun (u, v) => T(zip(u, v) |> reduce(0.0f32, fun (sum, (a, b)) => sum + f32(a * b))))",
       rowProducts<Half, float>, rowProducts<float, float>, 2},
      {"def main(x: [n][m]T, y: [n][m]T) = zip(x, y) |> mapWrg(0, fun (u, v) => "
       "let near = toLocal(mapLcl(0, id, u)) in mapLcl(0, fun (a, b) => a * 1.5 + b, zip(near, v))) |> join",
       scaled<Half>, scaled<float>, 1},
  };
  return all;
}

// What is wrong, or nothing.
inline std::string wrongHalves(runtime::Device& device, const HalfProgram& p, Scalar elements) {
  std::string text = p.text;
  for (std::size_t at = 0; (at = text.find('T', at)) != std::string::npos;) text.replace(at, 1, info(elements).name);
  const Program program =
      atValues(parseProgram(*addSource("halves.lift", text)), {{"n", halfRows}, {"m", halfColumns}});
  std::map<std::string, Tensor> inputs;
  std::vector<Halves> values;
  for (const char* name : {"x", "y"}) {
    Tensor t(Scalar::f16, {halfRows, halfColumns});  // as files give them, for either type
    fillRandom(t, 1, name);
    values.emplace_back(static_cast<std::size_t>(t.size()));
    std::memcpy(values.back().data(), t.bytes.data(), t.bytes.size());
    inputs.emplace(name, std::move(t));
  }
  const Halves expected = (elements == Scalar::h16 ? p.inHalf : p.inFloat)(values[0], values[1]);
  const Tensor actual = device.load(compile(program))->run(inputs).outputs.at("out");
  if (static_cast<std::size_t>(actual.size()) != expected.size()) return text + ": another shape";
  for (std::size_t i = 0; i < expected.size(); i++) {
    const double got = actual.get(static_cast<std::int64_t>(i)), want = static_cast<double>(expected[i]);
    // Half's numbers from 1 to 2 are 2^-10 apart; a sum of halves stored once is off by one place more at most.
    if (!(std::abs(got - want) <= p.roundings * 0x1p-10 * std::max(1.0, std::abs(want))))
      return fmt::format("{}: [{}] is {}, not {}", text, i, got, want);
  }
  return {};
}

}  // namespace lift::programs
