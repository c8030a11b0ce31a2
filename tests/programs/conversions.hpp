// Conversions between all types of scalars, and tables of all types, as a device computes them and as the interpreter.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lift/codegen.hpp"
#include "lift/device.hpp"
#include "lift/interpreter.hpp"
#include "lift/text.hpp"

namespace lift::programs {

inline std::vector<double> conversionValues(Scalar from) {
  std::vector<double> values{0, 1, 2, 7, 100, 127};
  if (from == Scalar::boolean) return {0, 1, 1, 0, 1, 0};
  const bool isSigned = info(from).isSigned || isFloat(from);
  if (isSigned) values.insert(values.end(), {-1, -2, -7, -100, -128});
  if (info(from).bytes > 1) values.insert(values.end(), {128, 129, 255, 256, 1000, 2049, 30000});
  if (info(from).bytes > 1 && isSigned) values.insert(values.end(), {-129, -256, -30000});
  if (info(from).bytes > 2) values.insert(values.end(), {32768, 65535, 65536, 16777217, 2147483647});
  if (info(from).bytes > 2 && isSigned) values.insert(values.end(), {-32769, -65537, -2147483648.0});
  if (info(from).bytes == 8 || from == Scalar::f32)
    values.insert(values.end(), {2147483648.0, 4294967295.0, 4294967296.0, 9007199254740992.0});
  if (isFloat(from)) {
    const double inf = std::numeric_limits<double>::infinity();
    values.insert(values.end(), {0.5, 1.5, 2.5, -0.5, -1.5, 0.1, 99.9, -0.0, inf, -inf});
    values.push_back(std::nan(""));
    if (!isHalf(from)) values.insert(values.end(), {1e10, -1e10, 1e19, 2e19, 1e30, -1e30, 1e-8});
  }
  return values;
}

// h16 is of devices with half arithmetic, f64 of those with doubles.
inline bool computes(const runtime::Device& device, Scalar scalar) {
  return (scalar != Scalar::h16 || device.info().fp16) && (scalar != Scalar::f64 || device.info().fp64);
}

// What differs, or nothing.
inline std::string wrongConversion(runtime::Device& device, Scalar from) {
  std::string targets;
  std::vector<Scalar> to;
  for (int i = 0; i < scalarCount; i++) {
    const auto scalar = static_cast<Scalar>(i);
    if (!computes(device, scalar)) continue;
    to.push_back(scalar);
    targets += fmt::format("{}{}(x)", targets.empty() ? "" : ", ", info(scalar).name);
  }
  if (!computes(device, from)) return {};
  const std::string text =
      fmt::format("def main(xs: [n]{}) = map(fun x => ({}), xs) |> unzip", info(from).name, targets);
  const std::vector<double> values = conversionValues(from);
  Tensor xs(from, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); i++) xs.set(static_cast<std::int64_t>(i), values[i]);
  Program program = parseProgram(*addSource("convert.lift", text));
  program = specialise(program, {{program.sizes.at(0), Nat(xs.size())}});
  const auto expected = interpret(program, {{"xs", xs}});
  const auto actual = device.load(compile(program))->run({{"xs", xs}}).outputs;
  std::string wrong;
  for (std::size_t t = 0; t < to.size(); t++) {
    const Tensor &e = expected.at(fmt::format("out.{}", t)), &a = actual.at(fmt::format("out.{}", t));
    for (std::int64_t i = 0; i < xs.size(); i++) {
      const ScalarValue x = e.at(i), y = a.at(i);
      const bool same =
          isFloat(to[t]) ? x.real == y.real || (std::isnan(x.real) && std::isnan(y.real)) : x.integer == y.integer;
      if (!same)
        wrong += fmt::format("{} {} to {}: {} instead of {}\n", info(from).name, values[static_cast<std::size_t>(i)],
                             info(to[t]).name, a.get(i), e.get(i));
    }
  }
  return wrong;
}

// Literals of every kind of elements, each read at an index that the kernel computes.
struct LiteralTable {
  const char* program;
  std::vector<double> expected;  // of the output, or of all outputs one after the other
};
inline const std::vector<LiteralTable>& tables() {
  static const std::vector<LiteralTable> all{
      {"def main(at: [n]i32) = map(fun i => [1.5f16, 0.1, -65504.0][i % 3], at)", {1.5, 0.0999755859375, -65504, 1.5}},
      {"def main(at: [n]i32) = map(fun i => [true, false, true][i % 3], at)", {1, 0, 1, 1}},
      {"def main(at: [n]i32) = map(fun i => [-128i8, 127, 1][i % 3], at)", {-128, 127, 1, -128}},
      {"def main(at: [n]i32) = map(fun i => [18446744073709551615u64 >> 32, 7, 1][i % 3], at)",
       {4294967295.0, 7, 1, 4294967295.0}},
      {"def main(at: [n]i32) = map(fun i => [0.1f64, 1e300, -inf][i % 3], at)", {0.1, 1e300, -INFINITY, 0.1}},
      {"def main(at: [n]i32) = map(fun i => [splat(2, 1.5), splat(2, -2.0), splat(2, 0.5)][i % 3], at) |> asScalar",
       {1.5, 1.5, -2, -2, 0.5, 0.5, 1.5, 1.5}},
      {"def main(at: [n]i32) = map(fun i => [splat(3, 1i8), splat(3, 2), splat(3, -3)][i % 3], at) |> asScalar",
       {1, 1, 1, 2, 2, 2, -3, -3, -3, 1, 1, 1}},
      {"def main(at: [n]i32) = map(fun i => [(1.5f16, true), (2.0, false), (3.0, true)][i % 3], at) |> unzip",
       {1.5, 2, 3, 1.5, 1, 0, 1, 1}},
      {"def main(at: [n]i32) = map(fun i => [[true, false], [false, false], [true, true]][i % 3][i % 2], at)",
       {1, 0, 1, 0}},
  };
  return all;
}

inline std::string wrongTable(runtime::Device& device, const LiteralTable& table) {
  Tensor at(Scalar::i32, {4});
  for (int i = 0; i < 4; i++) at.set(i, i);
  Program program = parseProgram(*addSource("table.lift", table.program));
  program = specialise(program, {{program.sizes.at(0), Nat(4)}});
  std::string wrong;
  const auto judge = [&](const char* who, const std::map<std::string, Tensor>& outputs) {
    std::vector<double> values;
    for (const auto& [name, t] : outputs)
      for (std::int64_t i = 0; i < t.size(); i++) values.push_back(t.get(i));
    if (values != table.expected) wrong += fmt::format("{}: {}", who, table.program);
  };
  judge("interpreter", interpret(program, {{"at", at}}));
  judge("device", device.load(compile(program))->run({{"at", at}}).outputs);
  return wrong;
}

}  // namespace lift::programs
