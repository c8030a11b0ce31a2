// Data that is moved into another order. LIFT_TEST_SEED chooses another run.
#include "harness/setting.hpp"
#include "operators/moved.hpp"

using namespace lift;

TEST_CASE("random permutations of dimensions are moved in tiles", "[parts]") {
  const auto seed = static_cast<std::uint64_t>(test::seedOr(11));
  CHECK(moved::checkOn(*runtime::makeEmulatorDevice(), seed, 120, true) > 20);
}
