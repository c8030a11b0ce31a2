// Every program of the catalogue on the OpenCL device; under Oclgrind too (tests/oclgrind.sh).
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>

#include "programs/on_device.hpp"

namespace lift::programs {

TEST_CASE("the OpenCL device computes what the references compute") {
  const auto device = runtime::openDevice();
  REQUIRE_FALSE(device->info().pseudo());
  runtime::LoadOptions loading;
  if (const char* options = std::getenv("LIFT_BUILD_OPTIONS")) loading.buildOptions = options;
  for (const CatalogueEntry& entry : catalogue()) DYNAMIC_SECTION(entry.name()) {
      const std::string wrong = runOn(*device, entry, {}, loading);
      // Without doubles a program of doubles is refused for that, and for nothing else.
      if (!device->info().fp64 && wrong.find("computes in f64, which the device cannot") != std::string::npos)
        std::cout << "without f64: " << entry.name() << "\n";
      else
        CHECK(wrong == "");
    }
}

}  // namespace lift::programs
