// The pass `ahead`: what the next step of a loop copies to local memory is loaded while this one computes.
#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

// Work-items l of a group add, in 4 steps, what others of them copied: `vectors` of 4 elements each.
struct Steps {
  int vectors = 2;
  bool changes = false;   // what is copied is written elsewhere
  bool computes = false;  // a step computes before it waits

  Kernel kernel() const {
    Maker m;
    const BufferId in = changes ? m.out("in", 2048) : m.in("in", 2048), out = m.out("out", 64);
    const BufferId tile = m.local("tile", 64 * vectors * 4);
    const VarId acc = m.var("acc");
    m.range({64, 1, 1}, {64, 1, 1});
    const auto item = [](auto body) { return lcl("l", 64, 0, body); };
    m.k.body = block(
        Declare{acc, number(0)},
        seq("s", 4,
            [&](Nat s) {
              Block body;
              if (computes) body.push_back({Assign{acc, mul(ref(acc, f32), number(2))}});
              for (int i = 0; i < vectors; i++)
                body.push_back({item([&](Nat l) {
                  const VarId x = m.var("x", vec(4));
                  const Nat at = 4 * l + 256 * i;
                  return block(Declare{x, load(in, at + 64 * s, vec(4))}, Store{tile, at, ref(x, vec(4))});
                })});
              body.push_back({item([&](Nat l) { return Assign{acc, add(ref(acc, f32), load(tile, 255 - 4 * l))}; })});
              return body;
            }),
        item([&](Nat l) {
          return Store{out, l, ref(acc, f32)};
        }));
    return pass("barriers", pass("trips", m.k));
  }

  Kernel ahead() const {
    PassOptions options;
    options.joinVectors = true;
    return pass("ahead", kernel(), options);
  }
  bool isChanged() const { return bodyText(ahead()) != bodyText(kernel()); }
};

std::vector<float> results(const Kernel& k) {
  Memory memory{floats(ramp(2048)), floats(ramp(64))};
  const EmulatorReport report = emulate(k, memory, {});
  INFO(printOpenCL(k));
  CHECK(report.ok());
  return floats(memory[1]);
}

}  // namespace

TEST_CASE("ahead: the next step's copies are loaded before this one computes") {
  const Steps steps{.vectors = 1};
  CHECK(bodyText(steps.ahead()) == R"(  __local float tile[256];
  float acc = 0.0f;
  float4 x;
  {
    const int l = get_local_id(0);
    x = vload4(0, in + 4 * l);
  }
  for (int s = 0; s < 4; s++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      const int l = get_local_id(0);
      vstore4(x, 0, tile + 4 * l);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (s + 1 < 4) {
      const int l = get_local_id(0);
      x = vload4(0, in + 4 * l + 64 * s + 64);
    }
    const int l = get_local_id(0);
    acc = acc + tile[255 - 4 * l];
  }
  const int l = get_local_id(0);
  out[l] = acc;
)");
  CHECK(results(Steps().ahead()) == results(Steps().kernel()));
  CHECK(pass("ahead", Steps().kernel()).body.size() == Steps().kernel().body.size());  // unless asked for
}

TEST_CASE("ahead: what changes, what else a step does in front of its barriers, and what registers do not hold") {
  CHECK(Steps{.vectors = 4}.isChanged());
  CHECK_FALSE(Steps{.vectors = 5}.isChanged());
  CHECK_FALSE(Steps{.changes = true}.isChanged());
  CHECK_FALSE(Steps{.computes = true}.isChanged());
}
