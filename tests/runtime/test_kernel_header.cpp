// Headers of generated kernels: written, read back, and what has been changed below them noticed.
#include "lift/kernel_header.hpp"

#include <catch2/catch.hpp>

using namespace lift;
using namespace lift::runtime;

namespace {

const std::string command = "liftc conv g1mb1ic3 compile --family blocked --config pixels=4";

kernel::Plan twoKernels() {
  kernel::Plan plan;
  plan.kernels.resize(2);
  plan.kernels[0].name = "first";
  plan.kernels[1].name = "second";
  plan.sources = {"__kernel void first() {\n}\n", "// liftc is no header by itself\n__kernel void second() {}\n"};
  return plan;
}

}  // namespace

TEST_CASE("headers of several kernels are read back with their texts", "[null]") {
  const kernel::Plan plan = twoKernels(), headed = withHeaders(plan, command, "liftc 1.2");
  const auto kernels = readHeaders("/* by hand */\n" + headed.sources[0] + headed.sources[1]);
  REQUIRE(kernels.size() == 2);
  for (std::size_t k = 0; k < 2; k++) {
    CHECK(kernels[k].source == plan.sources[k]);
    CHECK(kernels[k].header.command == command);
    CHECK(kernels[k].header.kernel == plan.kernels[k].name);
    CHECK(kernels[k].header.generator == "liftc 1.2");
    CHECK(kernels[k].header.digest == kernelDigest(plan.sources[k]));
    CHECK(kernels[k].unchanged());
  }
  CHECK(kernelDigest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2, B.1
}

TEST_CASE("a kernel that was edited below its header is noticed", "[null]") {
  std::string text = withHeaders(twoKernels(), command, "liftc 1.2").sources[0];
  text.insert(text.find("{\n") + 2, "  int a;\n");
  REQUIRE(readHeaders(text).size() == 1);
  CHECK_FALSE(readHeaders(text)[0].unchanged());
  CHECK(readHeaders("__kernel void plain() {}").empty());
  CHECK(readHeaders("// liftc conv x compile\n// kernel conv, sha256 12, by liftc 1.2\n").empty());
  CHECK(readHeaders("").empty());
}
