#include "fixtures.hpp"

using namespace lift;
using namespace lift::runtime;
using namespace lift::runtime::testing;

namespace {

using Role = kernel::PlanBuffer::Role;

Binding bindingOf(const kernel::Plan& plan, std::int64_t n) {
  std::map<std::string, ArrayType> types;
  for (const kernel::PlanBuffer& b : plan.buffers)
    if (b.role == Role::input) types[b.name] = {b.scalar, {n}};
  return bindSizes(plan, types);
}

std::string failure(const DeviceInfo& device, const kernel::Plan& plan, std::int64_t n) {
  return messageOf(ExitStatus::device, [&] {
    const Binding b = bindingOf(plan, n);
    checkLimits(device, plan, b, deviceMemoryOf(plan, b));
  });
}

}  // namespace

TEST_CASE("well-formed plans verify", "[null]") {
  verify(vectorAdd());
  verify(doubleThenAdd());
  verify(preparedScaling());
}

TEST_CASE("plans that are not well formed are internal errors", "[null]") {
  const auto broken = [](const auto& change) {
    kernel::Plan p = doubleThenAdd();
    change(p);
    CHECK_THROWS_AS(verify(p), InternalError);
  };
  broken([](kernel::Plan& p) { p.launches[0].kernel = 2; });
  broken([](kernel::Plan& p) { p.launches[0].kernel = -1; });
  broken([](kernel::Plan& p) { p.launches[0].arguments = {0}; });
  broken([](kernel::Plan& p) { p.launches[0].arguments = {0, 3}; });
  broken([](kernel::Plan& p) { p.launches[0].arguments = {0, -1}; });
  broken([](kernel::Plan& p) { p.buffers[1].scalar = Scalar::i32; });
  broken([](kernel::Plan& p) { p.sources.pop_back(); });
  broken([](kernel::Plan& p) { p.sizes.clear(); });
  broken([](kernel::Plan& p) { p.buffers.push_back(p.buffers[0]); });
  broken([](kernel::Plan& p) { p.kernels[0].range.global[2] = NatVar::size("n"); });  // another n
  broken([](kernel::Plan& p) { p.kernels[0].sizes = {NatVar::size("k")}; });
  broken([](kernel::Plan& p) { std::swap(p.launches[0], p.launches[1]); });  // reads before it is written
}

TEST_CASE("a loop of launches has launches, and a condition that one of them leaves", "[null]") {
  using Condition = kernel::LaunchLoop::Condition;
  const auto looped = [](std::size_t first, std::size_t last, std::optional<Condition> condition = {}) {
    kernel::Plan p = doubleThenAdd();
    p.buffers.push_back({"holds", Scalar::boolean, {}, Role::temporary});
    kernel::Kernel ask;
    ask.name = "ask";
    ask.arguments = {
        kernel::addBuffer(ask, {"holds", Scalar::boolean, 1, kernel::AddressSpace::global, Nat(1), false})};
    p.kernels.push_back(ask);
    p.sources.emplace_back();
    p.launches.insert(p.launches.begin(),
                      {static_cast<int>(p.kernels.size()) - 1, {static_cast<int>(p.buffers.size()) - 1}});
    p.loops = {{first, last, Nat(2), {}, condition}};
    return p;
  };
  const int holds = static_cast<int>(looped(0, 3).buffers.size()) - 1;
  CHECK_NOTHROW(verify(looped(0, 3)));
  CHECK_NOTHROW(verify(looped(0, 3, Condition{1, holds})));
  CHECK_NOTHROW(verify(looped(0, 3, Condition{3, holds})));
  for (const auto& [first, last, at, buffer] : {std::tuple(1, 1, 1, holds),
                                                {0, 4, 1, holds},
                                                {0, 3, 0, holds},
                                                {0, 3, 4, holds},
                                                {1, 3, 2, holds},
                                                {0, 3, 1, 0},
                                                {0, 3, 1, 1},
                                                {0, 3, 1, holds + 1},
                                                {0, 3, 1, -1}}) {
    INFO(first << " " << last << " " << at << " " << buffer);
    CHECK_THROWS_AS(verify(looped(static_cast<std::size_t>(first), static_cast<std::size_t>(last),
                                  Condition{static_cast<std::size_t>(at), buffer})),
                    InternalError);
  }
}

TEST_CASE("geometry is evaluated under the binding", "[null]") {
  const kernel::Plan p = vectorAdd();
  const Geometry g = geometryOf(p.kernels[0], bindingOf(p, 17));
  CHECK(g.global == std::array<std::size_t, 3>{32, 1, 1});
  CHECK(g.local == std::array<std::size_t, 3>{16, 1, 1});
  CHECK_FALSE(g.empty());
}

TEST_CASE("a global size of zero is an empty launch, other odd sizes are internal errors", "[null]") {
  kernel::Plan p = vectorAdd();
  const NatVar n = p.sizes[0];
  p.kernels[0].range.global[1] = Nat(n) - 17;
  CHECK(geometryOf(p.kernels[0], bindingOf(p, 17)).empty());
  CHECK_THROWS_AS(geometryOf(p.kernels[0], bindingOf(p, 16)), InternalError);
  p.kernels[0].range.global[1] = 1;
  p.kernels[0].range.global[0] = n;
  CHECK_THROWS_AS(geometryOf(p.kernels[0], bindingOf(p, 17)), InternalError);
  p.kernels[0].range.local[0] = Nat(n) - 17;
  CHECK_THROWS_AS(geometryOf(p.kernels[0], bindingOf(p, 17)), InternalError);
}

TEST_CASE("work-groups must fit the device", "[null]") {
  kernel::Plan p = vectorAdd();
  DeviceInfo d = nullDeviceInfo();
  p.kernels[0].range.local[1] = 8;
  p.kernels[0].range.global[1] = 8;
  d.maxWorkGroupSize = 127;
  CHECK(has(failure(d, p, 16),
            "kernel add has work-groups of 128 work-items (16 x 8 x 1), the device allows 127; device: null"));
  d.maxWorkGroupSize = 128;
  d.maxWorkItemSizes = {128, 7, 1};
  CHECK(has(failure(d, p, 16), "work-groups of 8 work-items in dimension 1, the device allows 7"));
}

TEST_CASE("buffers must fit the device, alone and together", "[null]") {
  const kernel::Plan p = doubleThenAdd();
  DeviceInfo d = nullDeviceInfo();
  d.maxAllocation = 399;
  CHECK(has(failure(d, p, 100), "x needs 400 bytes, the device allocates at most 399 at once"));
  d.maxAllocation = 400;
  d.globalMemory = 1199;
  CHECK(
      has(failure(d, p, 100),
          "the program needs 1200 bytes (400 for inputs, 400 for outputs, 400 for temporaries), the device has 1199"));
  d.globalMemory = 1200;
  const Binding b = bindingOf(p, 100);
  CHECK_NOTHROW(checkLimits(d, p, b, deviceMemoryOf(p, b)));
}

TEST_CASE("local memory must fit the device", "[null]") {
  kernel::Plan p = vectorAdd();
  for (const char* name : {"tile", "other"}) {
    kernel::Buffer local = parameter(name, 64, false);
    local.space = kernel::AddressSpace::local;
    kernel::addBuffer(p.kernels[0], local);
  }
  DeviceInfo d = nullDeviceInfo();
  d.localMemory = 511;
  CHECK(has(failure(d, p, 16), "kernel add needs 512 bytes of local memory, the device has 511"));
}

TEST_CASE("double precision must be there", "[null]") {
  kernel::Plan p = vectorAdd();
  kernel::addVariable(p.kernels[0], "v", {Scalar::f64, 1});
  DeviceInfo d = nullDeviceInfo();
  d.fp64 = false;
  CHECK(has(failure(d, p, 16), "kernel add computes in f64"));
}

TEST_CASE("half arithmetic must be there, half storage is everywhere", "[null]") {
  DeviceInfo d = nullDeviceInfo();
  d.fp16 = false;
  kernel::Plan p = vectorAdd();
  kernel::addVariable(p.kernels[0], "v", {Scalar::h16, 1});
  CHECK(has(failure(d, p, 16), "kernel add computes in h16"));
  CHECK(has(failure(d, p, 16), "does not report cl_khr_fp16"));
  d.fp16 = true;
  CHECK_NOTHROW(checkNeeds(d, needsOf(p.kernels[0])));
}

TEST_CASE("images must be there, and be large enough", "[null]") {
  kernel::Plan p = doubleThenAdd();
  p.buffers[static_cast<std::size_t>(p.launches[0].arguments[1])].isImage = true;
  CHECK_THROWS_AS(verify(p), InternalError);  // for the kernels it is none
  p.kernels[0].buffers[1].isImage = p.kernels[1].buffers[0].isImage = true;
  CHECK_NOTHROW(verify(p));
  DeviceInfo d = nullDeviceInfo();
  d.maxImageHeight = 1;
  const Binding b = bindingOf(p, 4096);
  CHECK_NOTHROW(checkLimits(d, p, b, deviceMemoryOf(p, b)));
  CHECK(has(failure(d, p, 4097), "needs an image of 2 rows, the device has 1"));
  d.maxImageWidth = 1023;
  CHECK(has(failure(d, p, 16), "needs images in two dimensions with 1024 texels in a row, the device has 1023"));
}

TEST_CASE("a kernel that indexes beyond its plan buffer is an internal error", "[null]") {
  kernel::Plan p = vectorAdd();
  p.kernels[0].buffers[2].count = Nat(p.sizes[0]) + 1;
  const Binding b = bindingOf(p, 16);
  CHECK_THROWS_AS(checkLimits(nullDeviceInfo(), p, b, deviceMemoryOf(p, b)), InternalError);
}

TEST_CASE("the null device returns zeros of the right shapes", "[null]") {
  const auto device = makeNullDevice();
  const auto program = device->load(vectorAdd());
  const Execution e = program->run({{"x", tensorOf({1, 2, 3})}, {"y", tensorOf({4, 5, 6})}});
  REQUIRE(e.outputs.size() == 1);
  CHECK(e.outputs.at("sum").describe() == "f32[3]");
  CHECK(valuesOf(e.outputs.at("sum")) == std::vector<double>{0, 0, 0});
  REQUIRE(e.launches.size() == 1);
  CHECK(e.launches[0].kernel == "add");
  CHECK(e.milliseconds() == 0);
  CHECK(e.memory.inputs == 24);
  CHECK(e.memory.outputs == 12);
  CHECK(e.memory.temporaries == 0);
}

TEST_CASE("the null device needs no sources, and checks like any other", "[null]") {
  kernel::Plan p = vectorAdd();
  p.sources.clear();
  const auto program = makeNullDevice()->load(p, {{"n", 3}});
  CHECK(program->plan().name == "vectorAdd");
  const auto run = [&](const std::map<std::string, Tensor>& in) {
    return messageOf(ExitStatus::program, [&] { program->run(in); });
  };
  CHECK(has(run({{"x", tensorOf({1, 2, 3})}}), "input y : f32[n] is missing"));
  CHECK(has(run({{"x", tensorOf({1, 2})}, {"y", tensorOf({1, 2})}}), "n is 3 as given"));
  p.launches[0].kernel = 5;
  CHECK_THROWS_AS(makeNullDevice()->load(p), InternalError);
}

TEST_CASE("sizes beyond int are refused", "[null]") {
  kernel::Plan p = vectorAdd();
  p.buffers[0].shape = {};
  p.buffers[1].shape = {};
  p.buffers[2].shape = {};
  for (kernel::BufferId b : p.kernels[0].arguments) p.kernels[0].buffers[b].count = 1;
  const Tensor one(Scalar::f32, {});
  CHECK_NOTHROW(makeNullDevice()->load(p, {{"n", 2147483647}})->run({{"x", one}, {"y", one}}));
  const std::string m = messageOf(ExitStatus::program, [&] {
    makeNullDevice()->load(p, {{"n", 2147483648}})->run({{"x", one}, {"y", one}});
  });
  CHECK(has(m, "2147483648"));
}

TEST_CASE("measurements have as many repetitions as asked for", "[null]") {
  const auto program = makeNullDevice()->load(preparedScaling());
  const std::map<std::string, Tensor> in = {{"x", tensorOf({1})}, {"w", tensorOf({2})}};
  const Timing t = program->measure(in, {.repetitions = 7, .warmup = 2, .outputs = true});
  CHECK(t.repetitions.size() == 7);
  CHECK(t.preparation.size() == 1);
  CHECK(t.repetitions[0].launches == std::vector<double>{0});
  CHECK(t.outputs.size() == 1);
  CHECK_FALSE(t.stopped);
  CHECK(program->measure(in).outputs.empty());
  CHECK_THROWS_AS(program->measure(in, {.repetitions = 0}), InternalError);
}

TEST_CASE("medians of repetitions", "[null]") {
  Timing t;
  for (double ms : {5.0, 1.0, 3.0}) t.repetitions.push_back({ms, 2 * ms, {ms - 1, 1}});
  CHECK(t.median() == 3);
  t.repetitions.push_back({100, 100, {99, 1}});
  CHECK(t.median() == 4);  // between 3 and 5
  CHECK_THROWS_AS(Timing{}.median(), InternalError);
}

namespace {

// A device whose launches take as long as a script says; counts what it is asked to do.
class Scripted : public Executable {
 public:
  Scripted(const kernel::Plan& plan, std::vector<double> script)
      : Executable(nullDeviceInfo(), plan, {}), script_(std::move(script)) {}
  int uploads = 0;
  int launches = 0;
  std::vector<int> batches;

 protected:
  void upload(const Binding&, const DeviceMemory&, const std::map<std::string, Tensor>&) override { uploads++; }
  Repetition launch(const Binding&, const std::vector<kernel::Launch>& all, const std::vector<kernel::LaunchLoop>&,
                    int runs, Timed) override {
    batches.push_back(runs);
    Repetition times;
    for (std::size_t i = 0; i < all.size(); i++)
      times.launches.push_back(script_[static_cast<std::size_t>(launches++) % script_.size()]);
    return times;
  }
  std::map<std::string, Tensor> download(const Binding&) override { return {}; }

 private:
  std::vector<double> script_;
};

}  // namespace

TEST_CASE("a measurement uploads and prepares once, and forgets the warm-up", "[null]") {
  Scripted s(preparedScaling(), {50, 40, 1, 2, 6});
  const Timing t = s.measure({{"x", tensorOf({1})}, {"w", tensorOf({2})}}, {.repetitions = 3, .warmup = 1});
  CHECK(s.uploads == 1);
  CHECK(s.launches == 5);
  REQUIRE(t.preparation.size() == 1);
  CHECK(t.preparation[0].milliseconds == 50);
  CHECK(t.median() == 2);
}

TEST_CASE("short runs are measured several at once", "[null]") {
  const std::map<std::string, Tensor> in = {{"x", tensorOf({1})}, {"y", tensorOf({2})}};
  Scripted quick(vectorAdd(), {0.25});  // prepared once, which is no run
  quick.measure(in, {.repetitions = 2, .warmup = 1});
  CHECK(quick.batches == std::vector{1, 1, 4, 4});
  Scripted alone(vectorAdd(), {0.25});
  alone.measure(in, {.repetitions = 2, .warmup = 1, .batchMilliseconds = 0});
  CHECK(alone.batches == std::vector{1, 1, 1, 1});
}

TEST_CASE("a hopeless measurement stops early", "[null]") {
  const std::map<std::string, Tensor> in = {{"x", tensorOf({1})}, {"y", tensorOf({2})}};
  Scripted warm(vectorAdd(), {9});
  const Timing t = warm.measure(in, {.repetitions = 5, .warmup = 2, .stopAboveMilliseconds = 8});
  CHECK(t.stopped);
  CHECK(warm.launches == 1);
  CHECK(t.median() == 9);
  Scripted later(vectorAdd(), {1, 1, 9});
  const Timing u = later.measure(in, {.repetitions = 5, .warmup = 1, .stopAboveMilliseconds = 8});
  CHECK(u.stopped);
  CHECK(later.launches == 3);
  CHECK(u.repetitions.size() == 2);
}
