// Products in blocks whose operands go through local memory: whatever lies side by side, of any sizes; where they are
// the first choice, and of which blocks.
#include "staged.hpp"

using namespace lift;
using staged::gpu;
using staged::Product;

TEST_CASE("products in blocks are right, whatever lies side by side, of any sizes", "[null]") {
  const auto emulator = runtime::makeEmulatorDevice();
  CHECK(staged::rightOn(*emulator, [] { return true; }) == 72);
}

TEST_CASE("products of sizes that are given when kernels run are right in blocks, too", "[null]") {
  const auto emulator = runtime::makeEmulatorDevice();
  int blocks = 0;
  for (const Product& p : staged::products()) {
    INFO(p.name);
    const Program program = parted::symbolic({p.name, p.text, {}, {}});
    const PartedProgram parted = partsOf(program);
    REQUIRE(parted.parts.size() == 1);
    if (std::ranges::none_of(parted.parts[0].workload.families, [](const auto& f) { return f.name == "staged"; }))
      continue;  // nothing fills the last step of its sums
    Workload w = programWorkload(program, 0);
    w.families = {partsFamily(parted, {{"staged", staged::familyOf(parted.parts[0]).defaults, ""}})};
    const Variant v = derive(w, partsFamilyName);
    const auto executable = emulator->load(compileVariant(v, v.defaults));
    for (const auto& [n, m, k] : {std::array<std::int64_t, 3>{32, 48, 16}, {37, 41, 19}}) {
      const Program at = parted::load({p.name, p.text, {{"n", n}, {"m", m}, {"k", k}}, {}});
      const auto inputs = parted::inputsOf(at);
      CHECK(largestError(executable->run(inputs).outputs, interpret(at, inputs)) < parted::tolerance);
      blocks++;
    }
  }
  CHECK(blocks == 16);
}

TEST_CASE("products whose sums are in chunks are right, and first where blocks are too few", "[null]") {
  const auto emulator = runtime::makeEmulatorDevice();
  int blocks = 0;
  for (const Product& p : staged::products()) {
    const Part part = staged::partOf(p, {{"n", 21}, {"m", 34}, {"k", 48}});
    if (std::ranges::none_of(part.workload.families, [](const auto& f) { return f.name == "stagedSplitK"; })) continue;
    INFO(p.name);
    const Variant v = derive(part.workload, "stagedSplitK");
    verify(v.program);
    const auto inputs = part.workload.makeInputs(5);
    const auto expected = part.workload.expected(inputs);
    for (const std::int64_t chunk : {4, 12, 16, 48}) {
      Config c = v.defaults;
      c["chunk"] = chunk;
      for (auto& [name, value] : c)
        if (name != "chunk") value = name.ends_with("Items") || name.ends_with("Vector") ? 2 : 4;
      CHECK(spaceOf(v, {}).contains(c));
      const kernel::Plan plan = compileVariant(v, c);
      CHECK(plan.kernels.size() == 2);
      CHECK(largestError(emulator->load(plan)->run(inputs).outputs, expected) < parted::tolerance);
      blocks++;
    }
  }
  CHECK(blocks == 28);  // of sums, not in batches
  const auto splits = [](std::int64_t n, std::int64_t m, std::int64_t k) {
    const Part part = staged::partOf(staged::products()[0], {{"n", n}, {"m", m}, {"k", k}});
    return part.workload.family("stagedSplitK").firstOn(runtime::readProfile("nvidia-h200"));
  };
  CHECK(splits(196, 512, 1024));
  CHECK(splits(64, 64, 2048));
  CHECK_FALSE(splits(4096, 4096, 1024));
  CHECK_FALSE(splits(128, 128, 64));
}

TEST_CASE("products are in blocks on GPUs with local memory of its own, where blocks pay", "[null]") {
  const auto chosen = [](const Product& p, std::int64_t n, std::int64_t m, const runtime::DeviceInfo& device) {
    const Program program = parted::load({p.name, p.text, {{"n", n}, {"m", m}, {"k", 256}}, {}});
    const Choice choice = choose(programWorkload(program, 0), &device, {.tuned = false});
    return choice.variant.family == partsFamilyName && choice.config.contains("p1_rowItems");
  };
  for (const Product& p : staged::products()) {
    INFO(p.name);
    CHECK(chosen(p, 256, 256, gpu()));
    CHECK_FALSE(chosen(p, 256, 256, runtime::readProfile("mali-g72")));
    CHECK_FALSE(chosen(p, 256, 256, runtime::readProfile("generic-cpu")));
  }
  CHECK_FALSE(chosen(staged::products()[0], 8, 256, gpu()));
  CHECK_FALSE(chosen(staged::products()[0], 256, 8, gpu()));
}

TEST_CASE("searches of products on GPUs are of the blocks that are taken there", "[null]") {
  const Product& p = staged::products()[0];
  const Program program = parted::load({p.name, p.text, {{"n", 256}, {"m", 256}, {"k", 256}}, {}});
  const auto hasBlocks = [&](const runtime::DeviceInfo& device) {
    const tune::Problem problem = tuningProblem(programWorkload(program, 0), device, {partsFamilyName});
    REQUIRE_FALSE(problem.subspaces.at(0).search.start.empty());
    return problem.subspaces[0].search.start[0].contains("p1_rowItems");
  };
  CHECK(hasBlocks(gpu()));
  CHECK_FALSE(hasBlocks(runtime::readProfile("generic-cpu")));
}

TEST_CASE("blocks of products copy in vectors and keep what they add in registers", "[null]") {
  runtime::DeviceInfo device = gpu();
  device.computeUnits = 132;
  for (std::size_t i = 0; i < 4; i++) {
    const Product& p = staged::products()[i];
    INFO(p.name);
    const Part part = staged::partOf(p, {{"n", 2048}, {"m", 2048}, {"k", 2048}});
    const Config c = staged::familyOf(part).preferred(device);
    CHECK(c.at("rows") * c.at("columns") == 64);
    CHECK(c.at("rowItems") * c.at("columnItems") == 256);
    CHECK(c.at("rowVector") == 4);
    CHECK(c.at("columnVector") == 4);
  }
}
