// Halves on the emulator, and in the interpreter by what the emulator is compared with elsewhere.
#include <catch2/catch.hpp>

#include "lift/interpreter.hpp"
#include "programs/halves.hpp"

namespace lift::programs {

TEST_CASE("the emulator stores halves, and computes in them") {
  const auto device = runtime::makeEmulatorDevice();
  for (const HalfProgram& p : halfPrograms())
    for (const Scalar elements : {Scalar::f16, Scalar::h16}) CHECK(wrongHalves(*device, p, elements) == "");
}

TEST_CASE("f16 rounds where it is stored, h16 after each operation") {
  const auto value = [](const char* expression) {
    return interpret(parseProgram(*addSource("half.lift", fmt::format("def main = {}", expression))), {})
        .at("out")
        .get(0);
  };
  CHECK(value("(2048f16 + 1.0) - 2048.0") == 1);
  CHECK(value("(2048h16 + 1.0) - 2048.0") == 0);
  CHECK(value("f32(h16(0.1)) * 3.0") == 0.2999267578125);
  CHECK(value("f32(h16(0.1) * 3.0)") == static_cast<double>(static_cast<Half>(0.2999267578125f)));
  CHECK(value("reduce(0h16, add, generate(4096, fun i => 1h16))") == 2048);
}

}  // namespace lift::programs
