// Conversions and tables in the interpreter and on the emulator.
#include <catch2/catch.hpp>

#include "programs/conversions.hpp"

namespace lift::programs {

TEST_CASE("the emulator converts between all types as the interpreter does") {
  const auto device = runtime::makeEmulatorDevice();
  for (int i = 0; i < scalarCount; i++) CHECK(wrongConversion(*device, static_cast<Scalar>(i)) == "");
}

TEST_CASE("the interpreter converts as the language says") {
  const auto converted = [](const std::string& expression) {
    return interpret(parseProgram(*addSource("convert.lift", "def main = " + expression)), {}).at("out").get(0);
  };
  CHECK(converted("i32(-1.9)") == -1);
  CHECK(converted("u8(-1.9)") == 0);
  CHECK(converted("u8(300.0)") == 255);
  CHECK(converted("u8(300)") == 44);
  CHECK(converted("i8(200)") == -56);
  CHECK(converted("i32(inf)") == 2147483647);
  CHECK(converted("i64(-inf)") == -9223372036854775808.0);
  CHECK(converted("i32(nan)") == 0);
  CHECK(converted("bool(0.5)") == 1);
  CHECK(converted("bool(-0.0)") == 0);
  CHECK(converted("f32(true)") == 1);
  CHECK(converted("f32(16777217)") == 16777216);
  CHECK(converted("f16(2049)") == 2048);
  CHECK(converted("u16(f16(0.1) * f16(10000.0))") == 999);
}

TEST_CASE("literals of all types of elements are tables on the emulator") {
  const auto device = runtime::makeEmulatorDevice();
  for (const LiteralTable& t : tables()) CHECK(wrongTable(*device, t) == "");
}

}  // namespace lift::programs
