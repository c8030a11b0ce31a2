// Every program of the catalogue on the OpenCL device.
#include <catch2/catch.hpp>

#include "programs/on_device.hpp"

namespace lift::programs {

TEST_CASE("the OpenCL device computes what the references compute") {
  const auto device = runtime::openDevice();
  REQUIRE_FALSE(device->info().pseudo());
  for (const CatalogueEntry& entry : catalogue()) DYNAMIC_SECTION(entry.name()) {
      CHECK(runOn(*device, entry) == "");
    }
}

}  // namespace lift::programs
