// Programs of the catalogue on the OpenCL device; under Oclgrind too (tests/oclgrind.sh). Its driver builds each for
// seconds: a third of them in each run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>

#include "harness/sample.hpp"
#include "programs/on_device.hpp"

namespace lift::programs {

TEST_CASE("the OpenCL device computes what the references compute") {
  const auto device = runtime::openDevice();
  REQUIRE_FALSE(device->info().pseudo());
  runtime::LoadOptions loading;
  if (const char* options = std::getenv("LIFT_BUILD_OPTIONS")) loading.buildOptions = options;
  test::Sample sample(3);
  std::size_t right = 0;
  for (const CatalogueEntry& entry : catalogue()) {
    if (!sample.takes()) continue;
    INFO(entry.name());
    const std::string wrong = runOn(*device, entry, {}, loading);
    // Without doubles a program of doubles is refused for that, and for nothing else.
    if (!device->info().fp64 && wrong.find("computes in f64, which the device cannot") != std::string::npos)
      std::cout << "without f64: " << entry.name() << "\n";
    else
      CHECK(wrong == "");
    right += wrong.empty();
  }
  CHECK(right >= catalogue().size() / 4);
}

TEST_CASE("what kernels store past the caches is right on the OpenCL device") {
  const auto device = runtime::openDevice();
  if (device->info().platform != "Portable Computing Language") return;  // others have no such stores
  CompileOptions options;
  options.passes.lineBytes = 64;
  options.passes.cacheBytes = 1;
  int streams = 0;
  for (const CatalogueEntry& entry : catalogue()) {
    const std::vector<std::string> sources = compile(load(entry), options).sources;
    if (std::ranges::none_of(sources,
                             [](const std::string& s) { return s.find("vstore_stream_") != std::string::npos; }))
      continue;
    INFO(entry.name());
    CHECK(runOn(*device, entry, options) == "");
    streams++;
  }
  CHECK(streams >= 3);
}

}  // namespace lift::programs
