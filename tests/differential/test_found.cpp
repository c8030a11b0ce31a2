#include <catch2/catch.hpp>

#include "differential/found.hpp"
#include "differential/judges.hpp"

namespace lift::differential {

TEST_CASE("programs that once were wrong mean the same to all") {
  const auto device = runtime::makeEmulatorDevice();
  for (const Found& f : found) {
    INFO(f.what << f.text);
    CHECK(disagreement(f.text, *device) == "");
  }
}

}  // namespace lift::differential
