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
