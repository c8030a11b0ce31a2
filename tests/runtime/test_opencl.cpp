// On the default OpenCL device.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "fixtures.hpp"

using namespace lift;
using namespace lift::runtime;
using namespace lift::runtime::testing;

namespace {

using Role = kernel::PlanBuffer::Role;

std::map<std::string, Tensor> addends(std::int64_t n) {
  Tensor x(Scalar::f32, {n});
  Tensor y(Scalar::f32, {n});
  for (std::int64_t i = 0; i < n; i++) {
    x.set(i, static_cast<double>(i));
    y.set(i, 0.5);
  }
  return {{"x", x}, {"y", y}};
}

void checkSum(const Execution& e, std::int64_t n) {
  const Tensor& sum = e.outputs.at("sum");
  REQUIRE(sum.shape == std::vector<std::int64_t>{n});
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < n; i++) wrong += sum.get(i) == static_cast<double>(i) + 0.5 ? 0 : 1;
  CHECK(wrong == 0);
}

// Moves vectors of every width between arrays in all kinds of memory, at odd places. out[width's rank][i] is i, but for
// as many elements from 2 on as two vectors have: the first is elements `width + 1`, …, the second the table's from 3
// on.
constexpr std::int64_t moved = 40;

kernel::Plan vectorMoves(const std::string& type, const std::string& extension) {
  const Nat results = 4 * moved;
  std::string table, body;
  for (int i = 0; i < moved; i++) table += fmt::format("{}, ", 100 - i);
  for (int rank = 0; rank < 4; rank++)
    body += fmt::format(
        "  for (int i = 0; i < {0}; i++) own[i] = in[i], near[i] = 0, far[i] = 0;\n"
        "  vstore{1}(vload{1}(1, own + 1), 0, near + 3);\n"
        "  vstore{1}(vload{1}(0, near + 3), 1, far + 1);\n"
        "  vstore{1}(vload{1}(1, far + 1), 0, own + 2);\n"
        "  vstore{1}(vload{1}(0, table + 3), 1, own + 2);\n"
        "  for (int i = 0; i < {0}; i++) out[i + {2}] = own[i];\n",
        moved, 2 << rank, rank * moved);
  kernel::Plan p;
  p.name = "moves";
  p.buffers = {planBuffer("in", {moved}, Role::input), planBuffer("far", {4 * moved}, Role::temporary),
               planBuffer("out", {results}, Role::output)};
  p.kernels = {kernelOf(
      "move", {parameter("in", moved, true), parameter("far", 4 * moved, false), parameter("out", results, false)}, {},
      1, 1)};
  p.sources = {
      fmt::format("{3}__constant {0} table[{1}] = {{{4}}};\n"
                  "__kernel void move(__global const float* in, __global float* memory, __global float* out) {{\n"
                  "  __local {0} near[{1}];\n  {0} own[{1}];\n  __global {0}* far = (__global {0}*)memory;\n{2}}}\n",
                  type, moved, body,
                  extension.empty() ? "" : fmt::format("#pragma OPENCL EXTENSION {} : enable\n", extension), table)};
  p.launches = {{0, {0, 1, 2}}};
  return p;
}

}  // namespace

TEST_CASE("OpenCL devices are listed with their properties", "[cl]") {
  const DeviceInfo d = listDevices().front();
  REQUIRE_FALSE(d.pseudo());
  CHECK(d.platformIndex == 0);
  CHECK(d.deviceIndex == 0);
  for (const std::string& s : {d.platform, d.platformVersion, d.name, d.driverVersion, d.deviceVersion, d.type})
    CHECK_FALSE(s.empty());
  CHECK(d.computeUnits >= 1);
  CHECK(d.maxWorkGroupSize >= 1);
  CHECK(d.maxWorkItemSizes[2] >= 1);
  CHECK(d.globalMemory > d.localMemory);
  CHECK(d.maxAllocation > 0);
  CHECK(openDevice()->info().toJson() == d.toJson());
}

TEST_CASE("a plan of symbolic size runs for every size", "[cl]") {
  const auto program = openDevice()->load(vectorAdd());
  CHECK(program->build().programs == 1);
  CHECK(program->build().milliseconds > 0);
  for (std::int64_t n : {1, 16, 600'001, 1000, 17, 17}) {  // one of them in large pages
    const Execution e = program->run(addends(n));
    checkSum(e, n);
    REQUIRE(e.launches.size() == 1);
    CHECK(e.launches[0].kernel == "add");
    CHECK(e.launches[0].milliseconds > 0);
    CHECK(e.wallMilliseconds > 0);
    CHECK(e.memory.total() == 3 * 4 * n);
  }
}

TEST_CASE("vectors of every type are loaded and stored at any place of every memory", "[cl]") {
  const auto device = openDevice();
  Tensor in(Scalar::f32, {moved});
  for (std::int64_t i = 0; i < moved; i++) in.set(i, static_cast<double>(i));
  int types = 0;
  for (const auto& [type, extension] : {std::pair("char", ""),
                                        {"uchar", ""},
                                        {"short", ""},
                                        {"ushort", ""},
                                        {"int", ""},
                                        {"uint", ""},
                                        {"long", ""},
                                        {"ulong", ""},
                                        {"float", ""},
                                        {"double", "cl_khr_fp64"},
                                        {"half", "cl_khr_fp16"}}) {
    if (*extension != '\0' && !device->info().hasExtension(extension)) continue;
    INFO(type);
    const Execution e = device->load(vectorMoves(type, extension))->run({{"in", in}});
    const Tensor& out = e.outputs.at("out");
    int wrong = 0;
    for (std::int64_t rank = 0; rank < 4; rank++)
      for (std::int64_t i = 0; i < moved; i++) {
        const std::int64_t width = 2 << rank, lane = i - 2;
        const std::int64_t wanted = lane < 0 || lane >= 2 * width ? i
                                    : lane < width                ? width + 1 + lane
                                                                  : 97 + width - lane;
        wrong += out.get(rank * moved + i) == static_cast<double>(wanted) ? 0 : 1;
      }
    CHECK(wrong == 0);
    types++;
  }
  CHECK(types >= 9);
}

TEST_CASE("kernels of a plan share a program, temporaries carry values between them", "[cl]") {
  const auto program = openDevice()->load(doubleThenAdd());
  CHECK(program->build().programs == 1);
  const Execution e = program->run({{"x", tensorOf({1, 2.5, -3})}});
  CHECK(valuesOf(e.outputs.at("out")) == std::vector<double>{3, 6, -5});
  CHECK(e.launches.size() == 2);
  CHECK(e.memory.temporaries == 12);
  CHECK(e.outputs.size() == 1);
}

TEST_CASE("kernels of one name and different sources get programs of their own", "[cl]") {
  kernel::Plan p = doubleThenAdd();
  p.kernels[1].name = "twice";
  p.sources[1].replace(p.sources[1].find("void plus"), 9, "void twice");
  const auto program = openDevice()->load(p);
  CHECK(program->build().programs == 2);
  CHECK(valuesOf(program->run({{"x", tensorOf({1})}}).outputs.at("out")) == std::vector<double>{3});
}

TEST_CASE("sources that cannot stand in one program are built apart", "[cl]") {
  kernel::Plan p = doubleThenAdd();
  // A clash that the concatenation does not know how to resolve.
  for (std::string& s : p.sources) s = "typedef struct { float v; } box;\n" + s;
  const auto program = openDevice()->load(p);
  CHECK(program->build().programs == 2);
  CHECK(valuesOf(program->run({{"x", tensorOf({1})}}).outputs.at("out")) == std::vector<double>{3});
}

TEST_CASE("preparation runs once, launches again and again", "[cl]") {
  const auto program = openDevice()->load(preparedScaling());
  const std::map<std::string, Tensor> in = {{"x", tensorOf({1, 2})}, {"w", tensorOf({3, 4})}};
  const Timing t = program->measure(in, {.repetitions = 5, .warmup = 1, .outputs = true});
  REQUIRE(t.repetitions.size() == 5);
  CHECK(t.preparation.size() == 1);
  CHECK(t.median() > 0);
  CHECK(t.repetitions[0].wallMilliseconds > 0);
  CHECK(t.repetitions[0].launches.size() == 1);
  CHECK(valuesOf(t.outputs.at("out")) == std::vector<double>{9, 32});
  // New weights are prepared anew.
  const Execution e = program->run({{"x", tensorOf({1, 2})}, {"w", tensorOf({1, 10})}});
  CHECK(valuesOf(e.outputs.at("out")) == std::vector<double>{1, 200});
  CHECK(e.preparation.size() == 1);
}

TEST_CASE("the steps of a measurement, one by one", "[cl]") {
  const auto program = openDevice()->load(preparedScaling());
  CHECK_THROWS_AS(program->repeat(), InternalError);
  CHECK_THROWS_AS(program->outputs(), InternalError);
  const Executable::Prepared prepared = program->prepare({{"x", tensorOf({1, 2})}, {"w", tensorOf({3, 4})}});
  CHECK(prepared.launches.size() == 1);
  CHECK(prepared.memory.prepared == 8);
  CHECK(program->repeat().launches.size() == 1);
  CHECK(program->repeat().wallMilliseconds > 0);
  CHECK(valuesOf(program->outputs().at("out")) == std::vector<double>{9, 32});
}

TEST_CASE("shared temporaries do not disturb each other", "[cl]") {
  // x -> t0 -> t1 -> t2 -> t3 -> out, each step doubling: two slots for four temporaries.
  kernel::Plan p = doubleThenAdd();
  const Nat n = p.sizes[0];
  p.buffers = {planBuffer("x", {n}, Role::input)};
  for (int i = 0; i < 4; i++) p.buffers.push_back(planBuffer("t", {n}, Role::temporary));
  p.buffers.push_back(planBuffer("out", {n}, Role::output));
  p.launches.clear();
  for (int i = 0; i < 5; i++) p.launches.push_back({0, {i, i + 1}});
  const auto program = openDevice()->load(p);
  const Execution e = program->run({{"x", tensorOf({1, -3})}});
  CHECK(valuesOf(e.outputs.at("out")) == std::vector<double>{32, -96});
  CHECK(e.memory.temporaries == 16);
  CHECK(e.memory.temporariesUnshared == 32);
}

TEST_CASE("elements that no kernel writes are NaN, also in a second run", "[cl]") {
  kernel::Plan p = vectorAdd();
  p.sources[0].replace(p.sources[0].find("i < n"), 5, "i < n && x[i] > 0");
  const auto program = openDevice()->load(p);
  CHECK(valuesOf(program->run({{"x", tensorOf({1, 2})}, {"y", tensorOf({1, 1})}}).outputs.at("sum")) ==
        std::vector<double>{2, 3});
  const Execution e = program->run({{"x", tensorOf({1, -2})}, {"y", tensorOf({1, 1})}});
  CHECK(e.outputs.at("sum").get(0) == 2);
  CHECK(std::isnan(e.outputs.at("sum").get(1)));
}

TEST_CASE("launches without work-items and empty arrays", "[cl]") {
  kernel::Plan p = doubleThenAdd();
  const Nat m = Nat(p.sizes[0]) - 1;  // all but the last
  p.buffers[1].shape = p.buffers[2].shape = {m};
  for (kernel::Kernel& k : p.kernels) {
    for (kernel::Buffer& b : k.buffers) b.count = m;
    k.range.global[0] = m;
  }
  const auto program = openDevice()->load(p);
  const Execution e = program->run({{"x", tensorOf({1})}});
  CHECK(e.outputs.at("out").shape == std::vector<std::int64_t>{0});
  CHECK(e.milliseconds() == 0);
  CHECK(valuesOf(program->run({{"x", tensorOf({1, 2})}}).outputs.at("out")) == std::vector<double>{3});
}

TEST_CASE("a source that does not compile: log, source and options are shown", "[cl]") {
  kernel::Plan p = doubleThenAdd();
  p.sources[1].replace(p.sources[1].find("t[i] +"), 6, "t[i] + undeclared +");
  const auto device = openDevice();
  const std::string m = messageOf(ExitStatus::device, [&] { device->load(p, {}, {.buildOptions = "-DUNUSED=1"}); });
  CHECK(has(m, "error: cannot build kernel plus for "));  // not kernel twice, which shares its program
  CHECK(has(m, "CL_BUILD_PROGRAM_FAILURE (-11)"));
  CHECK(has(m, "the driver's log:"));
  CHECK(has(m, "undeclared"));
  CHECK(has(m, "the source begins:"));
  CHECK(has(m, "__kernel void plus"));
  CHECK(has(m, "-cl-std=CL1.2 -DUNUSED=1"));
}

TEST_CASE("a kernel that its source does not define", "[cl]") {
  kernel::Plan p = vectorAdd();
  p.sources[0] = "static int f(int a) { return a; }\n";
  const auto device = openDevice();
  CHECK(has(messageOf(ExitStatus::device, [&] { device->load(p); }), "cannot build kernel add"));
}

TEST_CASE("a plan that was not printed is an internal error", "[cl]") {
  kernel::Plan p = vectorAdd();
  p.sources.clear();
  const auto device = openDevice();
  CHECK_THROWS_AS(device->load(p), InternalError);
}

TEST_CASE("build options reach the compiler", "[cl]") {
  kernel::Plan p = vectorAdd();
  p.sources[0].replace(p.sources[0].find("+ y[i]"), 6, "+ FACTOR * y[i]");
  const auto program = openDevice()->load(p, {}, {.buildOptions = "-DFACTOR=3"});
  CHECK(valuesOf(program->run({{"x", tensorOf({1})}, {"y", tensorOf({2})}}).outputs.at("sum")) ==
        std::vector<double>{7});
}

TEST_CASE("inputs are checked before anything is launched", "[cl]") {
  const auto program = openDevice()->load(vectorAdd());
  const auto run = [&](const std::map<std::string, Tensor>& in) {
    return messageOf(ExitStatus::program, [&] { program->run(in); });
  };
  CHECK(has(run({{"x", tensorOf({1})}}), "input y : f32[n] is missing"));
  CHECK(has(run({{"x", tensorOf({1, 2})}, {"y", tensorOf({1})}}), "expected f32[n], got f32[1]"));
  CHECK(has(run({{"x", Tensor(Scalar::i32, {1})}, {"y", tensorOf({1})}}), "expected f32[n], got i32[1]"));
  checkSum(program->run(addends(5)), 5);  // and it still works
}

TEST_CASE("limits of the device are checked with numbers", "[cl]") {
  kernel::Plan p = vectorAdd();
  const auto device = openDevice();
  const auto tooMany = static_cast<std::int64_t>(device->info().maxWorkGroupSize * 2);
  p.kernels[0].range.local[0] = p.kernels[0].range.global[0] = tooMany;
  const auto program = device->load(p);
  const std::string m = messageOf(ExitStatus::device, [&] { program->run(addends(5)); });
  CHECK(has(m, "work-groups of " + std::to_string(tooMany) + " work-items"));
  CHECK(has(m, "the device allows " + std::to_string(device->info().maxWorkGroupSize)));
}

TEST_CASE("binaries are cached, and a damaged cache is rebuilt", "[cl]") {
  const TemporaryFolder folder;
  const Variable xdg("XDG_CACHE_HOME", folder.path().string());
  const auto load = [](const LoadOptions& options = {}) { return openDevice()->load(vectorAdd(), {}, options); };
  if (openDevice()->info().platform == "Portable Computing Language") {  // whose own cache does it
    const Variable own("POCL_KERNEL_CACHE", std::nullopt);
    CHECK(load()->build().cacheHits == 0);
    CHECK(load()->build().cacheHits == 0);
    CHECK(cacheSummary().entries == 0);
  }
  const Variable pocl("POCL_KERNEL_CACHE", "0");
  CHECK(load()->build().cacheHits == 0);
  REQUIRE(cacheSummary().entries == 1);
  const auto again = load();
  CHECK(again->build().cacheHits == 1);
  checkSum(again->run(addends(33)), 33);
  // Other options are another program.
  CHECK(load({.buildOptions = "-DX"})->build().cacheHits == 0);
  CHECK(load({.cache = false})->build().cacheHits == 0);
  for (const auto& file : std::filesystem::directory_iterator(cacheSummary().directory)) {
    std::fstream f(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(200);
    f.write("damage", 6);
  }
  const auto rebuilt = load();
  CHECK(rebuilt->build().cacheHits == 0);
  checkSum(rebuilt->run(addends(3)), 3);
  CHECK(load()->build().cacheHits == 1);
}

TEST_CASE("kernels that a device has built are not built again", "[cl]") {
  const auto device = openDevice();
  const LoadOptions fresh{.cache = false};
  const auto first = device->load(vectorAdd(), {}, fresh), again = device->load(vectorAdd(), {}, fresh);
  CHECK(first->build().programs == 1);
  CHECK(again->build().programs == 0);
  checkSum(first->run(addends(5)), 5);
  checkSum(again->run(addends(33)), 33);
  checkSum(first->run(addends(7)), 7);  // arguments are each load's own
  CHECK(device->load(vectorAdd(), {}, {.buildOptions = "-DX", .cache = false})->build().programs == 1);
  kernel::Plan other = vectorAdd();
  other.sources.front() += "// another text\n";
  CHECK(device->load(other, {}, fresh)->build().programs == 1);
}

TEST_CASE("the cache is left alone when it is off or cannot be written", "[cl]") {
  const TemporaryFolder folder;
  const Variable xdg("XDG_CACHE_HOME", folder.path().string());
  const Variable pocl("POCL_KERNEL_CACHE", "0");
  const auto device = openDevice();
  {
    const Variable off("LIFTC_CACHE", "off");
    checkSum(device->load(vectorAdd())->run(addends(3)), 3);
    CHECK(std::filesystem::is_empty(folder.path()));
  }
  std::ofstream(folder.path() / "liftc") << "a file where the directory should be";
  checkSum(device->load(vectorAdd())->run(addends(3)), 3);
}

TEST_CASE("an executable may outlive its device", "[cl]") {
  std::unique_ptr<Executable> program;
  {
    const auto device = openDevice();
    program = device->load(vectorAdd());
  }
  checkSum(program->run(addends(20)), 20);
}

TEST_CASE("plans are loaded from several threads", "[cl]") {
  const auto device = openDevice();
  std::vector<std::unique_ptr<Executable>> programs(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < programs.size(); i++)
    threads.emplace_back([&, i] {
      kernel::Plan p = vectorAdd();
      p.sources[0] += "// " + std::to_string(i) + "\n";
      programs[i] = device->load(p);
    });
  for (std::thread& t : threads) t.join();
  for (const auto& program : programs) checkSum(program->run(addends(9)), 9);
}

TEST_CASE("a printed kernel runs: builders, printer and runtime agree", "[cl]") {
  kernel::Plan p = vectorAdd();
  kernel::Kernel& k = p.kernels[0];
  const NatVar i = NatVar::index("i", p.sizes[0]);
  const kernel::ValueType f32{Scalar::f32, 1};
  kernel::For loop{
      .index = i, .count = p.sizes[0], .kind = kernel::LoopKind::global, .trip = kernel::Trip::atMostOnce, .body = {}};
  loop.body.push_back(
      {kernel::Store{2, i, kernel::operation(Op::add, {kernel::load(0, i, f32), kernel::load(1, i, f32)})}});
  k.body.push_back({loop});
  kernel::verify(k);
  p.sources[0] = kernel::printOpenCL(k);
  const auto program = openDevice()->load(p);
  checkSum(program->run(addends(100)), 100);
}
