// Conversions and tables on the OpenCL device.
#include <catch2/catch.hpp>

#include "programs/conversions.hpp"

namespace lift::programs {

TEST_CASE("the OpenCL device converts between all types as the interpreter does") {
  const auto device = runtime::openDevice();
  for (int i = 0; i < scalarCount; i++) CHECK(wrongConversion(*device, static_cast<Scalar>(i)) == "");
}

TEST_CASE("literals of all types of elements are tables on the OpenCL device") {
  const auto device = runtime::openDevice();
  for (const LiteralTable& t : tables()) CHECK(wrongTable(*device, t) == "");
}

}  // namespace lift::programs
