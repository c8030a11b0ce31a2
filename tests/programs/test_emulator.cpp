// Every program of the catalogue through the compiler, its kernels interpreted under the emulator's checks.
#include <catch2/catch.hpp>

#include "programs/on_device.hpp"

namespace lift::programs {

TEST_CASE("the emulator computes what the references compute, and finds nothing wrong with the kernels") {
  const auto device = runtime::makeEmulatorDevice();
  for (const CatalogueEntry& entry : catalogue()) DYNAMIC_SECTION(entry.name()) {
      CHECK(runOn(*device, entry) == "");
    }
}

TEST_CASE("so do the kernels as lowered, with only the passes that correctness needs") {
  const auto device = runtime::makeEmulatorDevice();
  CompileOptions options;
  options.passes.skip = {"trips", "unroll", "simplify", "scalars", "declare", "copies", "dead", "hoist"};
  for (const CatalogueEntry& entry : catalogue()) DYNAMIC_SECTION(entry.name()) {
      CHECK(runOn(*device, entry, options) == "");
    }
}

TEST_CASE("so do kernels launched with other work-group sizes than they ask for") {
  const auto device = runtime::makeEmulatorDevice();
  CompileOptions options;
  options.local = {3, 2, 1};
  options.groups = {2, 3, 1};
  for (const CatalogueEntry& entry : catalogue()) DYNAMIC_SECTION(entry.name()) {
      CHECK(runOn(*device, entry, options) == "");
    }
}

}  // namespace lift::programs
