#include <algorithm>
#include <random>

#include "fixtures.hpp"

using namespace lift;
using namespace lift::runtime;
using namespace lift::runtime::testing;
using kernel::Lifetime;
using kernel::shareMemory;
using kernel::Slots;
using kernel::temporaryLifetimes;

namespace {

using Role = kernel::PlanBuffer::Role;
using Lifetimes = std::vector<std::optional<Lifetime>>;

// A chain: input 0, temporaries, output last; launch i reads buffer i and writes buffer i + 1.
kernel::Plan chain(int temporaries) {
  kernel::Plan p;
  p.buffers.push_back(planBuffer("in", {4}, Role::input));
  for (int i = 0; i < temporaries; i++)
    p.buffers.push_back(planBuffer("t" + std::to_string(i), {4 + i}, Role::temporary));
  p.buffers.push_back(planBuffer("out", {4}, Role::output));
  p.kernels = {kernelOf("step", {parameter("from", 4, true), parameter("to", 4, false)}, {}, 4, 1)};
  for (int i = 0; i <= temporaries; i++) p.launches.push_back({0, {i, i + 1}});
  return p;
}

std::int64_t total(const Slots& slots) {
  std::int64_t sum = 0;
  for (std::int64_t b : slots.bytes) sum += b;
  return sum;
}

}  // namespace

TEST_CASE("lifetimes run from the first to the last launch that uses a temporary", "[null]") {
  kernel::Plan p = chain(3);
  CHECK(temporaryLifetimes(p) == Lifetimes{{}, Lifetime{0, 1}, Lifetime{1, 2}, Lifetime{2, 3}, {}});
  p.launches.push_back({0, {1, 4}});  // uses t0 again
  CHECK(temporaryLifetimes(p)[1] == Lifetime{0, 4});
}

TEST_CASE("temporaries that no launch uses have no lifetime and no memory", "[null]") {
  kernel::Plan p = chain(1);
  p.buffers.push_back(planBuffer("unused", {1000}, Role::temporary));
  CHECK_FALSE(temporaryLifetimes(p)[3].has_value());
  CHECK(deviceMemoryOf(p, bindSizes(p, {{"in", {Scalar::f32, {4}}}})).use.temporariesUnshared == 16);
}

TEST_CASE("what is prepared lives to the end, for the launches are repeated", "[null]") {
  kernel::Plan p = chain(4);
  p.preparation = {p.launches[0], p.launches[1]};  // in -> t0 -> t1
  p.launches.erase(p.launches.begin(), p.launches.begin() + 2);
  const Lifetimes lifetimes = temporaryLifetimes(p);
  CHECK(lifetimes[1] == Lifetime{0, 1});  // only within the preparation
  CHECK(lifetimes[2] == Lifetime{1, 4});  // read by the first launch, and again by each repetition
  CHECK(lifetimes[3] == Lifetime{2, 3});
  CHECK(deviceMemoryOf(p, bindSizes(p, {{"in", {Scalar::f32, {4}}}})).use.prepared == 20);  // t1
}

TEST_CASE("what goes into a loop or comes out of it lives through it, and what it exchanges through both", "[null]") {
  kernel::Plan p = chain(5);  // launch i: buffer i to i + 1
  p.loops = {{2, 4, Nat(3), {}}};
  CHECK(temporaryLifetimes(p) ==
        Lifetimes{{}, Lifetime{0, 1}, Lifetime{1, 3}, Lifetime{2, 3}, Lifetime{2, 4}, Lifetime{4, 5}, {}});
  p = chain(5);
  p.launches[3].arguments = {3, 2};  // back
  for (kernel::PlanBuffer& b : p.buffers) b.shape = {4};
  p.loops = {{2, 3, Nat(3), {{2, 3}}}};
  const Lifetimes lifetimes = temporaryLifetimes(p);
  CHECK(lifetimes[2] == Lifetime{1, 3});
  CHECK(lifetimes[3] == lifetimes[2]);
  const Slots slots = shareMemory(lifetimes, {16, 16, 16, 16, 16, 16, 16});
  CHECK(slots.slot[2] != slots.slot[3]);
}

TEST_CASE("a condition that the host reads is kept while its loop runs", "[null]") {
  kernel::Plan p = chain(5);
  p.buffers[3].scalar = Scalar::boolean;
  p.loops = {{2, 4, Nat(3), {}, kernel::LaunchLoop::Condition{3, 3}}};
  CHECK(temporaryLifetimes(p)[3] == Lifetime{2, 3});
  p.launches[3].arguments = {2, 4};  // nothing but the host
  CHECK(temporaryLifetimes(p)[3] == Lifetime{2, 3});
  p.loops.clear();
  CHECK(temporaryLifetimes(p)[3] == Lifetime{2, 2});
}

TEST_CASE("buffers with disjoint lifetimes share", "[null]") {
  const Slots s = shareMemory({Lifetime{0, 1}, Lifetime{1, 2}, Lifetime{2, 3}}, {100, 50, 80});
  CHECK(s.slot == std::vector<int>{0, 1, 0});
  CHECK(s.bytes == std::vector<std::int64_t>{100, 50});
}

TEST_CASE("buffers that meet in one launch do not share", "[null]") {
  const Slots s = shareMemory({Lifetime{0, 1}, Lifetime{1, 1}}, {8, 8});
  CHECK(s.slot[0] != s.slot[1]);
}

TEST_CASE("slots whose memory a loop exchanges are of one size", "[null]") {
  // 1 and 2 are exchanged; 0 shares the memory of 1 or 2 and is larger.
  const Slots s = shareMemory({Lifetime{0, 0}, Lifetime{1, 4}, Lifetime{1, 4}}, {100, 16, 16}, {{1, 2}});
  CHECK(s.slot[1] != s.slot[2]);
  CHECK(s.of == std::vector<std::vector<std::size_t>>{{0, 1, 2}, {0, 1, 2}});
  CHECK(s.bytes == std::vector<std::int64_t>{100, 100});
}

TEST_CASE("buffers without lifetime have no slot", "[null]") {
  const Slots s = shareMemory({{}, Lifetime{0, 0}}, {1000, 8});
  CHECK(s.slot == std::vector<int>{-1, 0});
  CHECK(s.bytes == std::vector<std::int64_t>{8});
  CHECK(shareMemory({}, {}).bytes.empty());
}

TEST_CASE("random lifetimes: nothing alive together shares, slots are large enough, never worse than no sharing",
          "[null]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; round++) {
    Lifetimes lifetimes;
    std::vector<std::int64_t> bytes;
    std::int64_t unshared = 0;
    std::vector<std::int64_t> alive(24, 0);
    for (int i = 0; i < 12; i++) {
      const int first = static_cast<int>(random() % 20);
      lifetimes.push_back(Lifetime{first, first + static_cast<int>(random() % 4)});
      bytes.push_back(static_cast<std::int64_t>(random() % 1000));
      unshared += bytes.back();
      for (int t = lifetimes.back()->first; t <= lifetimes.back()->last; t++)
        alive[static_cast<std::size_t>(t)] += bytes.back();
    }
    const Slots s = shareMemory(lifetimes, bytes);
    for (std::size_t i = 0; i < 12; i++) {
      REQUIRE(s.bytes[static_cast<std::size_t>(s.slot[i])] >= bytes[i]);
      for (std::size_t j = 0; j < i; j++)
        if (s.slot[i] == s.slot[j])
          REQUIRE((lifetimes[i]->last < lifetimes[j]->first || lifetimes[j]->last < lifetimes[i]->first));
    }
    REQUIRE(total(s) <= unshared);
    REQUIRE(total(s) >= *std::max_element(alive.begin(), alive.end()));
  }
}

TEST_CASE("a chain of any length needs two temporaries' memory", "[null]") {
  const kernel::Plan p = chain(10);
  const DeviceMemory l = deviceMemoryOf(p, bindSizes(p, {{"in", {Scalar::f32, {4}}}}));
  CHECK(l.temporaries.bytes.size() == 2);
  CHECK(l.use.temporaries == (13 + 12) * 4);
  CHECK(l.use.temporariesUnshared == (4 + 13) * 10 / 2 * 4);
  CHECK(l.use.inputs == 16);
  CHECK(l.use.outputs == 16);
  CHECK(l.use.total() == 32 + 100);
}
