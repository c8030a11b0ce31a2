// The peers that run on an OpenCL device, and the device's peak.
#include "conv/helpers.hpp"
#include "lift/bench.hpp"

using namespace lift;
using namespace lift::bench;
using namespace lift::test;

namespace {

Setup setUp(const std::string& name, const ConvSpec& spec, const ConvTensors& tensors, runtime::Device& device) {
  for (const Peer& peer : peers())
    if (peer.name == name) return peer.setUp({spec, tensors, device});
  FAIL("no peer " << name);
  return {};
}

// Whether the peer took part; then it must be right.
bool right(const std::string& name, const std::string& descriptor, runtime::Device& device) {
  INFO(name << " on " << descriptor);
  const ConvSpec s = parseConv(descriptor);
  const ConvTensors t = randomConvTensors(s, 7);
  const Setup setup = setUp(name, s, t, device);
  if (!setup.contestant) {
    CHECK_FALSE(setup.absent.empty());
    return false;
  }
  CHECK(setup.contestant->run(1) > 0);
  CHECK(isRight(s, setup.contestant->output(), reference(s, t)));
  return true;
}

}  // namespace

TEST_CASE("the kernel written by hand is right where it applies") {
  const auto device = runtime::openDevice();
  CHECK(right("probe", "ic16ih5iw14oc32kh3ph1", *device));
  CHECK(right("probe", "ic32ih4iw7oc64kh3ph1", *device));
  for (const char* other : {"ic3ih14oc32kh3ph1", "ic16ih15oc32kh3ph1", "ic16ih14oc16kh3ph1", "ic16ih14oc32kh3sh2ph1",
                            "ic16ih16oc32kh3", "mb2ic16ih14oc32kh3ph1", "ic16ih14oc32kh1"})
    CHECK_FALSE(right("probe", other, *device));
}

TEST_CASE("convgemm is right where it applies") {
  const auto device = runtime::openDevice();
  const bool here = right("clblast_convgemm", "ic3ih8iw9oc5kh3ph1", *device);
  CHECK(right("clblast_convgemm", "mb2ic4ih9iw8oc6kh3kw2sh2ph1pw0", *device) == here);
  CHECK_FALSE(right("clblast_convgemm", "g2ic4ih8oc4kh3ph1", *device));
  CHECK_FALSE(right("clblast_convgemm", "mb1ic16ih13oc16oh13kh2ph0", *device));
}

TEST_CASE("an OpenCL device has a peak") {
  const auto device = runtime::openDevice();
  const double peak = peakGflops(*device);
  CHECK(peak > 0.1);
  CHECK(peak < 1e6);
}

TEST_CASE("a run of an empty kernel takes time, though little") {
  const auto device = runtime::openDevice();
  const double each = emptyRun(*device), alone = emptyRun(*device, {.batchMilliseconds = 0});
  CHECK(each > 1e-5);
  CHECK(each < 10);
  CHECK(alone > 1e-5);
}
