// Halves on the OpenCL device.
#include <catch2/catch.hpp>

#include "lift/diagnostic.hpp"
#include "programs/halves.hpp"

namespace lift::programs {

TEST_CASE("the OpenCL device stores halves, and computes in them or says that it cannot") {
  const auto device = runtime::openDevice();
  for (const HalfProgram& p : halfPrograms()) {
    CHECK(wrongHalves(*device, p, Scalar::f16) == "");
    if (device->info().fp16)
      CHECK(wrongHalves(*device, p, Scalar::h16) == "");
    else
      CHECK_THROWS_WITH(wrongHalves(*device, p, Scalar::h16), Catch::Contains("does not report cl_khr_fp16"));
  }
}

}  // namespace lift::programs
