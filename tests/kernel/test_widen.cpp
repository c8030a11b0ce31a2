// The pass `widen`: loops that copy narrow vectors one behind the other copy wide ones.
#include <catch2/catch.hpp>

#include "lift/kernel_walk.hpp"
#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

PassOptions forProcessors() {
  PassOptions options;
  options.lineBytes = 64;
  return options;
}

// out[at + i * apart] = in[7 + i * width], vectors, in `count` iterations.
Kernel copying(int width, Nat count, int apart, Scalar scalar = Scalar::f32) {
  Maker m;
  const auto in = m.in("in", 4096, scalar), out = m.out("out", 4096, scalar);
  const ValueType type{scalar, width};
  m.k.body = block(seq("i", count, [&](Nat i) {
    return Store{out, Nat(2) + Nat(apart) * i, load(in, Nat(7) + Nat(width) * i, type)};
  }));
  return m.k;
}

Memory run(const Kernel& k) {
  Memory memory{floats(ramp(4096, 1)), floats(std::vector<float>(4096, -1))};
  REQUIRE(emulate(k, memory).ok());
  return memory;
}

int stores(const Kernel& k) {
  int n = 0;
  forEachStmt(k.body, [&](const Stmt& s) { n += is<Store>(s); });
  return n;
}

bool isUnchanged(const Kernel& k, const PassOptions& options = forProcessors()) {
  return bodyText(pass("widen", k, options)) == bodyText(k);
}

}  // namespace

TEST_CASE("widen: every element is copied, and none besides, whatever is left over") {
  int loops = 0;
  for (const int width : {2, 3, 4, 8})
    for (int count = 1; count <= 60; count++) {
      const Kernel before = copying(width, count, width), after = pass("widen", before, forProcessors());
      INFO(width << " lanes, " << count << " times:\n" << bodyText(after));
      CHECK(run(before) == run(after));
      CHECK(stores(after) <= count * width / 16 + 4);  // beside whole vectors 8, 4 and 3 lanes, or 8, 4, 2 and 1
      const bool isLoop = std::ranges::any_of(after.body, [](const Stmt& s) { return is<For>(s); });
      CHECK(isLoop == (count * width >= 7 * 16));
      loops += isLoop;
    }
  CHECK(loops > 20);
}

TEST_CASE("widen: the pixels of an image's row") {
  CHECK(bodyText(pass("widen", copying(3, 13, 3), forProcessors())) ==
        "  vstore16(vload16(0, in + 7), 0, out + 2);\n"
        "  vstore16(vload16(0, in + 23), 0, out + 18);\n"
        "  vstore4(vload4(0, in + 39), 0, out + 34);\n"
        "  vstore3(vload3(0, in + 43), 0, out + 38);\n");
}

TEST_CASE("widen: what is no such copy stays") {
  CHECK_FALSE(isUnchanged(copying(3, 13, 3)));
  CHECK_FALSE(isUnchanged(copying(3, 13, 3, Scalar::i32)));
  CHECK(isUnchanged(copying(3, 13, 3), {}));  // not asked for
  CHECK(isUnchanged(copying(3, 13, 4)));      // gaps
  CHECK(isUnchanged(copying(3, 13, 2)));      // one over the other
  CHECK(isUnchanged(copying(1, 13, 1)));      // compilers do that
  CHECK(isUnchanged(copying(16, 13, 16)));    // wide already

  Maker m;
  const auto in = m.in("in", 4096), out = m.out("out", 4096);
  const auto looped = [&](auto&& statement) {
    m.k.body = block(seq("i", 13, [&](Nat i) { return statement(Nat(3) * i); }));
    return m.k;
  };
  const NatVar n = m.size("n");
  m.k.body = block(seq("i", n, [&](Nat i) { return Store{out, Nat(3) * i, load(in, Nat(3) * i, vec(3))}; }));
  CHECK(isUnchanged(m.k));  // of no known length
  const ExprPtr one = makeVector({number(1), number(1), number(1)});
  CHECK(isUnchanged(looped([&](Nat at) { return Store{out, at, add(load(in, at, vec(3)), one)}; })));
  CHECK(isUnchanged(looped([&](Nat at) { return Store{out, at + Nat(1), load(out, at, vec(3))}; })));
  CHECK(isUnchanged(looped([&](Nat at) {
    return block(Store{out, at, load(in, at, vec(3))}, Store{out, at + Nat(100), load(in, at, vec(3))});
  })));
}
