// Programs derived part by part, on an OpenCL device.
#include "operators/parted.hpp"

using namespace lift;

TEST_CASE("parts compute what the program does on a device", "[cl]") {
  const auto device = runtime::openDevice();
  for (const parted::Case& c : parted::cases()) DYNAMIC_SECTION(c.name) {
      CHECK(parted::errorOn(*device, c) < parted::tolerance);
    }
}
