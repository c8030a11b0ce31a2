#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("C: a kernel is a loop over its work-items") {
  Maker m("scale");
  const NatVar n = m.size("n");
  const auto x = m.in("x", Nat(n)), y = m.out("y", Nat(n));
  m.range({Nat(1024), 1, 1}, {Nat(64), 1, 1});
  m.k.body = block(glb("i", Nat(n), [&](Nat i) { return Store{y, i, mul(number(2), load(x, i))}; }));
  const CKernels c = printC({m.k});
  CHECK(c.names == std::vector<std::string>{"scale_kernel"});
  CHECK(has(c.text, R"(
static void scale_kernel(const float* restrict x, float* restrict y, const int n) {
  #pragma omp parallel for
  for (int i = 0; i < n; i++) {
    y[i] = 2.0f * x[i];
  }
}
)"));
}

TEST_CASE("C: work-groups that differ are handed out one by one") {
  const auto text = [](bool isUneven) {
    Maker m;
    const NatVar n = m.size("n");
    const auto x = m.in("x", Nat(n) * 64), y = m.out("y", 64);
    const VarId sum = m.var("sum");
    m.range({64, 1, 1}, {1, 1, 1});
    m.k.body = block(wrg("g", 64, [&](Nat g) {
      return block(Declare{sum, number(0)},
                   seq("i", isUneven ? g + 1 : Nat(n),
                       [&](Nat i) {
                         return Assign{sum, add(ref(sum, f32), load(x, i))};
                       }),
                   Store{y, g, ref(sum, f32)});
    }));
    return printC({m.k}).text;
  };
  CHECK(has(text(true), "#pragma omp parallel for schedule(dynamic)"));
  CHECK(has(text(false), "#pragma omp parallel for\n"));
}

TEST_CASE("C: work-groups run in the order of devices, dimension 0 innermost") {
  Maker m;
  const auto x = m.in("x", 64), y = m.out("y", 4096);
  const VarId row = m.var("row");
  m.range({8, 8, 8}, {1, 1, 1});
  const auto inner = [&](Nat a, Nat count) {
    return wrg("c", count, 2, [&](Nat c) {
      return wrg("b", 8, 1, [&](Nat b) { return Store{y, 512 * b + 64 * a + c, ref(row, f32)}; });
    });
  };
  m.k.body = block(wrg("a", 8, [&](Nat a) { return block(Declare{row, load(x, a)}, inner(a, 8)); }));
  CHECK(has(printC({m.k}).text, R"(
  #pragma omp parallel for collapse(2)
  for (int c = 0; c < 8; c++) {
    for (int b = 0; b < 8; b++) {
      for (int a = 0; a < 8; a++) {
        const float row = x[a];
        y[64 * a + 512 * b + c] = row;
      }
    }
  }
)"));
  m.k.body = block(wrg("a", 8, [&](Nat a) { return block(Declare{row, load(x, a)}, inner(a, a)); }));
  CHECK(has(printC({m.k}).text, R"(
  #pragma omp parallel for
  for (int a = 0; a < 8; a++) {
    const float row = x[a];
    for (int c = 0; c < a; c++) {
      for (int b = 0; b < 8; b++) {
        y[64 * a + 512 * b + c] = row;
      }
    }
  }
)"));
}

TEST_CASE("C: names of the prelude, of <math.h> and of macros are not names of variables") {
  Maker m;
  const auto a = m.in("f32", 16), b = m.in("expf", 16), c = m.in("unix", 16), d = m.in("i32x4_min", 16);
  const auto out = m.out("NDEBUG", 16);
  m.k.body = block(Store{out, 0, add(add(load(a, 0), load(b, 0)), add(load(c, 0), load(d, 0)))});
  const std::string text = printC({m.k}).text;
  for (const char* name : {"f32,", "expf,", "unix,", "i32x4_min,", "NDEBUG)"})
    CHECK_FALSE(has(text, std::string(" restrict ") + name));
  CHECK(has(text, "NDEBUG_[0] = v_f32[0] + expf_[0] + "));
}
