// Tables of constants, and what vanishes where a factor is known.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kernel/make.hpp"

namespace lift::kernel {

using namespace make;

namespace {

BufferId table(Kernel& k, const std::vector<double>& values) {
  std::vector<ScalarValue> scalars;
  for (const double v : values) scalars.push_back(ScalarValue::of(Scalar::f32, v));
  return addBuffer(k, {"weights", Scalar::f32, 1, AddressSpace::constant, Nat(static_cast<std::int64_t>(values.size())),
                       false, scalars});
}

std::string simplified(const ExprPtr& e, Kernel k, BufferId out, bool finite = false) {
  k.body = block(Store{out, 0, e});
  PassOptions options;
  options.finiteMath = finite;
  const std::string text = printOpenCL(passNamed("simplify")->run(std::move(k), options));
  const std::size_t begin = text.find("out[0] = ") + 9;
  return text.substr(begin, text.find(';', begin) - begin);
}

}  // namespace

TEST_CASE("a table is declared with its values and read by the emulator") {
  Maker m;
  const BufferId out = m.out("out", 3), weights = table(m.k, {1, -0.5, 3});
  const auto body = seq("i", 3, [&](Nat i) { return Store{out, i, load(weights, i)}; });
  m.k.body = block(body);
  verify(m.k);
  CHECK(printOpenCL(m.k).find("__constant float weights[3] = {\n    1.0f, -0.5f, 3.0f,\n};\n") != std::string::npos);
  std::vector<std::vector<std::byte>> memory{std::vector<std::byte>(12)};
  const EmulatorReport report = emulate(m.k, memory);
  CHECK(report.findings.empty());
  float values[3];
  std::memcpy(values, memory[0].data(), sizeof values);
  CHECK(values[0] == 1);
  CHECK(values[1] == -0.5);
  CHECK(values[2] == 3);
}

TEST_CASE("a table that does not hold its values is refused") {
  Maker m;
  table(m.k, {1, 2});
  m.k.buffers.back().count = 3;
  CHECK_THROWS_AS(verify(m.k), InternalError);
}

TEST_CASE("an element at a constant index is the constant, and factors 1, -1 and 0 vanish where they may") {
  Maker m;
  const BufferId out = m.out("out", 1), in = m.in("x", 1), weights = table(m.k, {1, -1, 0, 2});
  const auto weight = [&](int i) { return load(weights, i); };
  const ExprPtr x = load(in, 0);
  const auto times = [&](int i) { return operation(Op::mul, {x, weight(i)}); };
  CHECK(simplified(weight(3), m.k, out) == "2.0f");
  CHECK(simplified(times(0), m.k, out) == "x[0]");
  CHECK(simplified(times(1), m.k, out) == "-x[0]");
  CHECK(simplified(times(2), m.k, out) == "x[0] * 0.0f");
  CHECK(simplified(operation(Op::add, {number(0), x}), m.k, out) == "0.0f + x[0]");
  CHECK(simplified(operation(Op::sub, {x, number(0)}), m.k, out) == "x[0]");
  CHECK(simplified(times(2), m.k, out, true) == "0.0f");
  CHECK(simplified(operation(Op::add, {times(2), times(3)}), m.k, out, true) == "x[0] * 2.0f");
}

}  // namespace lift::kernel
