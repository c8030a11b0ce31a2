#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "lift/scalar.hpp"

using namespace lift;

TEST_CASE("the scalar table is in order and has no two equal names") {
  std::set<std::string_view> names;
  std::set<std::string_view> dtypes;
  for (int i = 0; i < scalarCount; ++i) {
    const ScalarInfo& row = info(static_cast<Scalar>(i));
    CHECK(row.scalar == static_cast<Scalar>(i));
    CHECK(scalarNamed(row.name) == row.scalar);
    CHECK(names.insert(row.name).second);
    // Files do not say whether half is computed in; what is read is storage.
    CHECK((row.scalar == Scalar::h16 || dtypes.insert(row.npy).second));
    // The digit of a dtype is its size, and Lift names say the bits.
    CHECK(row.npy.substr(1) == std::to_string(row.bytes));
    if (row.scalar != Scalar::boolean) CHECK(row.name.substr(1) == std::to_string(row.bytes * 8));
    CHECK(row.isFloat == (row.name[0] == 'f' || row.name[0] == 'h'));
    CHECK(row.isSigned == (row.isFloat || row.name[0] == 'i'));
  }
  CHECK_FALSE(scalarNamed("float").has_value());
  CHECK_FALSE(scalarNamed("").has_value());
}

TEST_CASE("booleans are neither integers nor floats") {
  CHECK_FALSE(isInteger(Scalar::boolean));
  CHECK_FALSE(isFloat(Scalar::boolean));
  CHECK(isInteger(Scalar::u64));
  CHECK(isFloat(Scalar::f16));
  CHECK_FALSE(isInteger(Scalar::f16));
  CHECK(isFloat(Scalar::h16));
  CHECK(sameInMemory(Scalar::f16, Scalar::h16));
  CHECK_FALSE(sameInMemory(Scalar::f16, Scalar::u16));
  CHECK(info(Scalar::boolean).opencl == "uchar");
}

TEST_CASE("every half pattern survives float and double") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = halfToFloat(half);
    REQUIRE(floatToHalf(value) == half);
    const bool isNan = (bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0;
    REQUIRE(std::isnan(value) == isNan);
    if (!isNan) REQUIRE(doubleToHalf(value) == half);
  }
}

TEST_CASE("half values are those of their definition") {
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const int exponent = static_cast<int>(bits >> 10);
    const double fraction = bits & 0x3FF;
    const double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    REQUIRE(halfToFloat(static_cast<std::uint16_t>(bits)) == value);
    REQUIRE(halfToFloat(static_cast<std::uint16_t>(bits | 0x8000)) == -value);
  }
  CHECK(halfToFloat(0x7C00) == std::numeric_limits<float>::infinity());
  CHECK(halfToFloat(0xFC00) == -std::numeric_limits<float>::infinity());
  CHECK(std::signbit(halfToFloat(0x8000)));
}

TEST_CASE("halves round to nearest with ties to even") {
  // Between every two neighbours, subnormals and the step to infinity included.
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const double low = halfToFloat(static_cast<std::uint16_t>(bits));
    const double high = bits == 0x7BFF ? 65536.0 : halfToFloat(static_cast<std::uint16_t>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    const float below = std::nextafter(middle, 0.0f);
    const float above = std::nextafter(middle, 1e30f);
    REQUIRE(floatToHalf(middle) == even);
    REQUIRE(floatToHalf(below) == bits);
    REQUIRE(floatToHalf(above) == bits + 1);
    REQUIRE(floatToHalf(-middle) == (even | 0x8000));
    REQUIRE(doubleToHalf(middle) == even);
    REQUIRE(doubleToHalf(std::nextafter(static_cast<double>(middle), 0.0)) == bits);
    REQUIRE(doubleToHalf(std::nextafter(static_cast<double>(middle), 1e30)) == bits + 1);
  }
}

TEST_CASE("halves overflow to infinity and underflow to zero") {
  CHECK(floatToHalf(65519.99f) == 0x7BFF);
  CHECK(floatToHalf(65520.0f) == 0x7C00);
  CHECK(floatToHalf(-1e30f) == 0xFC00);
  CHECK(floatToHalf(0x1p-25f) == 0);
  CHECK(floatToHalf(0x1.000002p-25f) == 1);
  CHECK(floatToHalf(-1e-40f) == 0x8000);
  CHECK(doubleToHalf(5e-324) == 0);
  CHECK(doubleToHalf(1e300) == 0x7C00);
}

TEST_CASE("a double rounds to half once") {
  // Through float this would become a tie first and then round down to even.
  const double value = 1.0 + 0x1p-11 + 0x1p-40;
  CHECK(doubleToHalf(value) == 0x3C01);
  CHECK(floatToHalf(static_cast<float>(value)) == 0x3C00);
}

TEST_CASE("a NaN stays a NaN whatever its payload") {
  for (const std::uint32_t payload : {0x1u, 0x1FFFu, 0x2000u, 0x400000u, 0x7FFFFFu}) {
    CHECK(std::isnan(halfToFloat(floatToHalf(std::bit_cast<float>(0x7F800000u | payload)))));
    CHECK(floatToHalf(std::bit_cast<float>(0xFF800000u | payload)) > 0xFC00);
  }
  CHECK(std::isnan(halfToFloat(doubleToHalf(std::bit_cast<double>(0x7FF0000000000001u)))));
}
