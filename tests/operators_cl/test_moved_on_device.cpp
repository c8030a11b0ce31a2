// Data that is moved into another order, on an OpenCL device and by way of C. LIFT_TEST_SEED chooses another run.
#include "harness/setting.hpp"
#include "operators/moved.hpp"

using namespace lift;

TEST_CASE("random permutations of dimensions are moved in tiles on a device", "[cl]") {
  const auto seed = static_cast<std::uint64_t>(test::seedOr(12));
  CHECK(moved::checkOn(*runtime::openDevice(), seed, 24, false) > 4);
  CHECK(moved::checkOn(*runtime::makeNativeDevice(), seed, 24, false) > 4);
}
