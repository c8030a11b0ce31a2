#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/tensor.hpp"

using namespace lift;

TEST_CASE("a new tensor is zero and knows its size") {
  const Tensor tensor(Scalar::f32, {2, 3});
  CHECK(tensor.size() == 6);
  CHECK(tensor.bytes.size() == 24);
  for (int i = 0; i < 6; ++i) CHECK(tensor.get(i) == 0);
  CHECK(tensor.describe() == "f32[2][3]");
  CHECK(Tensor(Scalar::boolean, {}).size() == 1);
  CHECK(Tensor(Scalar::boolean, {}).describe() == "bool");
  CHECK(Tensor(Scalar::i64, {4, 0, 5}).bytes.empty());
}

TEST_CASE("impossible shapes are refused") {
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THROWS_AS(Tensor(Scalar::f32, {huge, huge}), UserError);
  CHECK_THROWS_AS(Tensor(Scalar::f32, {0, huge, huge}), UserError);
  CHECK_THROWS_AS(Tensor(Scalar::f32, {std::numeric_limits<std::int64_t>::max()}), UserError);
  CHECK_THROWS_AS(Tensor(Scalar::f32, {2, -1}), InternalError);
}

TEST_CASE("elements of every type are set and read") {
  for (int i = 0; i < scalarCount; ++i) {
    const auto scalar = static_cast<Scalar>(i);
    CAPTURE(info(scalar).name);
    Tensor tensor(scalar, {3});
    tensor.set(1, 1);
    CHECK(tensor.get(0) == 0);
    CHECK(tensor.get(1) == 1);
    CHECK(tensor.get(2) == 0);
    tensor.set(2, -2.5);
    const double expected = isFloat(scalar) ? -2.5 : scalar == Scalar::boolean ? 1 : info(scalar).isSigned ? -2 : 0;
    CHECK(tensor.get(2) == expected);
    CHECK(tensor.get(1) == 1);
  }
}

TEST_CASE("an element outside is an internal error") {
  Tensor tensor(Scalar::i16, {2, 2});
  CHECK_THROWS_AS(tensor.get(4), InternalError);
  CHECK_THROWS_AS(tensor.get(-1), InternalError);
  CHECK_THROWS_AS(tensor.set(4, 0), InternalError);
  CHECK_NOTHROW(tensor.set(3, 0));
}

TEST_CASE("64-bit integers pass exactly through at and put") {
  Tensor tensor(Scalar::u64, {1});
  tensor.put(0, ScalarValue::ofInteger(Scalar::u64, -2));
  CHECK(tensor.data<std::uint64_t>()[0] == 0xFFFFFFFFFFFFFFFEu);
  CHECK(tensor.at(0).integer == -2);
  CHECK(tensor.at(0).type == Scalar::u64);
}

TEST_CASE("put converts as C does and narrows halves") {
  Tensor bytes(Scalar::u8, {1});
  bytes.put(0, ScalarValue::ofInteger(Scalar::i32, 300));
  CHECK(bytes.get(0) == 44);
  Tensor halves(Scalar::f16, {1});
  ScalarValue wide{Scalar::f16, 2049, 0};  // as arithmetic on halves leaves it
  halves.put(0, wide);
  CHECK(halves.get(0) == 2048);
  CHECK(halves.data<std::uint16_t>()[0] == 0x6800);
}

TEST_CASE("random data are the same everywhere") {
  // Frozen: databases and expected files depend on them.
  Tensor floats(Scalar::f32, {4});
  fillRandom(floats, 1, "x");
  CHECK(floats.get(0) == 5521772 * 0x1p-23);
  CHECK(floats.get(1) == -6786626 * 0x1p-23);
  CHECK(floats.get(3) == 5841098 * 0x1p-23);
  Tensor integers(Scalar::i32, {6});
  fillRandom(integers, 1, "x");
  const int expected[] = {5, -7, 0, 5, 4, -6};
  for (int i = 0; i < 6; ++i) CHECK(integers.get(i) == expected[i]);
}

TEST_CASE("random data fill their range") {
  constexpr int count = 20000;
  for (int s = 0; s < scalarCount; ++s) {
    const auto scalar = static_cast<Scalar>(s);
    CAPTURE(info(scalar).name);
    Tensor tensor(scalar, {count});
    fillRandom(tensor, 7, "w");
    double least = 1e9, most = -1e9, sum = 0;
    std::set<double> values;
    for (int i = 0; i < count; ++i) {
      const double value = tensor.get(i);
      least = std::fmin(least, value);
      most = std::fmax(most, value);
      sum += value;
      values.insert(value);
    }
    if (isFloat(scalar)) {
      CHECK(least >= -1);
      CHECK(least < -0.999);
      CHECK(most < 1);
      CHECK(most > 0.998);
      CHECK(std::fabs(sum / count) < 0.02);
      CHECK(values.size() > (isHalf(scalar) ? 2000 : 19900));
    } else if (scalar == Scalar::boolean) {
      CHECK(values == std::set<double>{0, 1});
      CHECK(std::fabs(sum / count - 0.5) < 0.02);
    } else {
      CHECK(values.size() == 16);
      CHECK(least == (info(scalar).isSigned ? -8 : 0));
    }
  }
}

TEST_CASE("random data differ by seed and by stream") {
  const auto filled = [](std::uint64_t seed, std::string_view stream) {
    Tensor tensor(Scalar::f32, {64});
    fillRandom(tensor, seed, stream);
    return tensor;
  };
  const auto equal = [](const Tensor& a, const Tensor& b) {
    int same = 0;
    for (int i = 0; i < 64; ++i) same += a.get(i) == b.get(i);
    return same;
  };
  CHECK(equal(filled(1, "x"), filled(1, "x")) == 64);
  CHECK(equal(filled(1, "x"), filled(2, "x")) < 2);
  CHECK(equal(filled(1, "x"), filled(1, "y")) < 2);
  CHECK(equal(filled(0, ""), filled(1, "")) < 2);
}

TEST_CASE("equal tensors do not differ") {
  Tensor tensor(Scalar::f32, {5});
  fillRandom(tensor, 3, "");
  tensor.set(1, std::nan(""));
  tensor.set(2, std::numeric_limits<double>::infinity());
  const Difference difference = compare(tensor, tensor, 1e-3);
  CHECK(difference.maxAbs == 0);
  CHECK(difference.maxRel == 0);
  CHECK(difference.at == -1);
  CHECK(difference.sameShape);
  CHECK(difference.finite);
}

TEST_CASE("differences are relative to the expected value or the floor") {
  Tensor expected(Scalar::f64, {3});
  expected.set(0, 100);
  expected.set(1, -4);
  expected.set(2, 0.0001);
  Tensor actual = expected;
  actual.set(0, 101);
  actual.set(1, -4.5);
  actual.set(2, 0.0011);
  const Difference coarse = compare(actual, expected, 1.0);
  CHECK(coarse.maxAbs == 1);
  CHECK(coarse.maxRel == Approx(0.125));
  CHECK(coarse.at == 1);
  const Difference fine = compare(actual, expected, 1e-3);
  CHECK(fine.maxRel == Approx(1.0));
  CHECK(fine.at == 2);
}

TEST_CASE("NaN and infinity on one side only are never within tolerance") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto differ = [](double a, double b) {
    Tensor actual(Scalar::f32, {3}), expected(Scalar::f32, {3});
    actual.set(1, a);
    expected.set(1, b);
    return compare(actual, expected, 1);
  };
  for (const auto& [a, b] : {std::pair{std::nan(""), 1.0},
                             {1.0, std::nan("")},
                             {infinity, 1.0},
                             {1.0, -infinity},
                             {infinity, -infinity},
                             {std::nan(""), infinity}}) {
    CAPTURE(a, b);
    const Difference difference = differ(a, b);
    CHECK_FALSE(difference.finite);
    CHECK(difference.at == 1);
    CHECK(difference.maxRel == infinity);
  }
  CHECK(differ(-infinity, -infinity).finite);
  CHECK(differ(std::nan(""), std::nan("")).maxRel == 0);
}

TEST_CASE("tensors of different shapes differ without end") {
  const Difference difference = compare(Tensor(Scalar::f32, {2, 3}), Tensor(Scalar::f32, {3, 2}), 1);
  CHECK_FALSE(difference.sameShape);
  CHECK(difference.maxRel > 1e300);
}

TEST_CASE("what errors are taken relative to is finite") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto of = [](double a, double b, double c) {
    Tensor t(Scalar::f64, {3});
    t.set(0, a);
    t.set(1, b);
    t.set(2, c);
    return t;
  };
  const auto error = [](const Tensor& actual, const Tensor& expected) {
    return largestError({{"out", actual}}, {{"out", expected}});
  };
  for (const double odd : {infinity, -infinity, std::nan("")}) {
    const Tensor expected = of(odd, 3, -4);
    CHECK(largestMagnitude(expected) == 4);
    CHECK(rootMeanSquare(expected) == std::sqrt(12.5));
    CHECK(error(expected, expected) == 0);
    CHECK(error(of(odd, 999, -4), expected) > 200);
  }
  // Squares that overflow, or are 0.
  for (const double unit : {1e200, 1e-200}) {
    const Tensor expected = of(3 * unit, 4 * unit, 0);
    CHECK(error(of(3 * unit, 40 * unit, 0), expected) > 8.9);
    CHECK(error(of(3 * unit, 40 * unit, 0), expected) < 9.1);
  }
  CHECK(rootMeanSquare(of(0, 0, infinity)) == 0);
}

TEST_CASE("64-bit integers are compared exactly") {
  Tensor a(Scalar::i64, {1}), b(Scalar::i64, {1});
  a.data<std::int64_t>()[0] = (std::int64_t{1} << 60) + 1;
  b.data<std::int64_t>()[0] = std::int64_t{1} << 60;
  CHECK(compare(a, b, 1).maxAbs == 1);
  CHECK(compare(a, b, 1).at == 0);
}

TEST_CASE("element types may differ when values agree") {
  Tensor a(Scalar::i32, {2}), b(Scalar::f64, {2});
  a.set(0, -3);
  b.set(0, -3);
  b.set(1, 0.5);
  CHECK(compare(a, b, 1).maxAbs == 0.5);
  CHECK(compare(a, b, 1).at == 1);
}
