// The operators on an OpenCL device.
#include "opset/cases.hpp"

using namespace lift;

TEST_CASE("FlexTensor's cases made small, on a device", "[cl]") {
  const auto device = runtime::openDevice();
  for (const auto& [list, count] : opsets::lists())
    for (const opsets::Case& c : opsets::listed(list, true)) {
      INFO(c.op << " " << c.descriptor);
      const Workload w = c.workload();
      CHECK(opsets::judge(w, w.families[0].name, *device).ok());
    }
}

TEST_CASE("random workloads on a device, by every family that takes them", "[cl]") {
  const auto device = runtime::openDevice();
  std::mt19937_64 random(53);
  int checked = 0;
  for (const Operator& op : tensorOperators())
    for (int i = 0; i < 3; i++) {
      const opsets::Case c = opsets::drawn(op.name, random);
      const Workload w = c.workload();
      for (const OperatorFamily& family : w.families) {
        INFO(c.op << " " << c.descriptor << " by " << family.name << ", of seed 53");
        CHECK(opsets::judge(w, family.name, *device).ok());
        checked++;
      }
    }
  CHECK(checked >= 42);
}
