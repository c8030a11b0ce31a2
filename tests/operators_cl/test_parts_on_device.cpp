// Programs derived part by part, on an OpenCL device: a third of them in each run.
#include "harness/sample.hpp"
#include "operators/parted.hpp"
#include "operators/staged.hpp"

using namespace lift;

TEST_CASE("parts compute what the program does on a device", "[cl]") {
  const auto device = runtime::openDevice();
  test::Sample sample(3);
  std::size_t right = 0;
  for (const parted::Case& c : parted::cases()) {
    if (!sample.takes()) continue;
    INFO(c.name);
    CHECK(parted::errorOn(*device, c) < parted::tolerance);
    right++;
  }
  CHECK(right >= parted::cases().size() / 3);
}

TEST_CASE("products in blocks are right on a device", "[cl]") {
  const auto device = runtime::openDevice();
  test::Sample sample(3);
  CHECK(staged::rightOn(*device, [&] { return sample.takes(); }) >= 24);
}
