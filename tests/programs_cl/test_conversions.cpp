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
  for (const LiteralTable& t : tables())
    if (device->info().fp64 || std::string(t.program).find("f64") == std::string::npos)
      CHECK(wrongTable(*device, t) == "");
    else
      CHECK_THROWS_WITH(wrongTable(*device, t), Catch::Contains("computes in f64, which the device cannot"));
}

}  // namespace lift::programs
