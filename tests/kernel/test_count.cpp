#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

TEST_CASE("count: a matrix product") {
  Maker m;
  const NatVar n = m.size("n");
  const auto a = m.in("a", Nat(n) * Nat(n)), b = m.in("b", Nat(n) * Nat(n)), c = m.out("c", Nat(n) * Nat(n));
  m.range({Nat(n), Nat(n), 1}, {1, 1, 1});
  const VarId s = m.var("s");
  const Nat k = counter("k", Nat(n));
  m.k.body = block(glb("y", Nat(n), 1, [&](Nat y) {
    return glb("x", Nat(n), [&](Nat x) {
      return block(
          Declare{s, number(0)},
          seq(k, Assign{s, operation(Op::fma, {load(a, y * Nat(n) + k), load(b, k * Nat(n) + x), ref(s, f32)})}),
          Store{c, y * Nat(n) + x, ref(s, f32)});
    });
  }));
  const Counts counts = count(m.k, {{n, 10}});
  CHECK(counts.flops == 2000);
  CHECK(counts.global.loads == 2000);
  CHECK(counts.global.bytesLoaded == 8000);
  CHECK(counts.global.stores == 100);
  CHECK(counts.global.bytesStored == 400);
  CHECK(counts.loops == 3);
  CHECK_THROWS_AS(count(m.k), UserError);
}

TEST_CASE("count: what a loop keeps in registers") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64);
  const VarId sum = m.var("sum", vec(8)), factor = m.var("factor"), product = m.var("product", vec(8));
  const VarId before = m.var("before", vec(16));
  const Nat i = counter("i", 8);
  m.k.body = block(Declare{before, load(in, 0, vec(16))}, Store{out, 0, ref(before, vec(16))},
                   Declare{sum, splat(number(0), 8)}, Declare{factor, load(in, 0)},
                   seq(i, Declare{product, mul(load(in, 8 * i, vec(8)), splat(ref(factor, f32), 8))},
                       Assign{sum, add(ref(sum, vec(8)), ref(product, vec(8)))}),
                   Store{out, 16, ref(sum, vec(8))});
  CHECK(count(m.k).liveBytes == 8 * 4 + 4);
}

TEST_CASE("count: of two branches the one that does more") {
  for (const bool swaps : {false, true}) {
    Maker m;
    const auto in = m.in("in", 64), out = m.out("out", 64);
    Block one = block(Store{out, 0, load(in, 0)});
    Block three = block(seq("i", 3, [&](Nat i) { return Store{out, i, load(in, i)}; }));
    if (swaps) std::swap(one, three);
    m.k.body = block(glb("g", 10, [&](Nat g) { return If{test({{g, Relation::less, Nat(5)}}), one, three}; }));
    m.range({10, 1, 1}, {1, 1, 1});
    CHECK(count(m.k).global.loads == 30);
    CHECK(count(m.k).global.stores == 30);
  }
}

TEST_CASE("count: work outside of parallel loops is done by every work-item") {
  Maker m;
  const auto out = m.out("out", 64);
  m.range({64, 1, 1}, {16, 1, 1});
  const Nat g = counter("g", 2), l = counter("l", 8);
  m.k.body =
      block(Store{out, 0, number(0)}, wrg(g, Store{out, g, number(0)}, lcl(l, Store{out, 8 * g + l, number(0)})));
  CHECK(count(m.k).global.stores == 64 + 2 * 16 + 2 * 8);
}

TEST_CASE("count: trip counts that depend on outer loops") {
  Maker m;
  const auto out = m.out("out", 64);
  const Nat i = counter("i", 4);
  m.k.body = block(seq(i, seq("j", i, [&](Nat j) { return Store{out, 4 * i + j, number(0)}; })));
  CHECK(count(m.k).global.stores == 6);
}

TEST_CASE("count: vectors count by lane, spaces apart") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), tile = m.local("tile", 64), p = m.priv("p", 2, 4);
  const auto half = m.in("half", 64, Scalar::f16);
  m.k.body = block(Allocate{p}, Store{p, 0, mul(load(in, 0, vec(4)), load(half, 0, vec(4)))},
                   Store{tile, 0, load(p, 0, vec(4))}, Barrier{true, false},
                   Store{out, 0, operation(Op::fma, {load(tile, 0), load(tile, 1), load(tile, 2)})});
  const Counts k = count(m.k);
  CHECK(k.flops == 4 + 2);
  CHECK(k.global.bytesLoaded == 16 + 8);
  CHECK(k.global.bytesStored == 4);
  CHECK(k.local.bytesStored == 16);
  CHECK(k.local.loads == 3);
  CHECK(k.priv.loads == 1);
  CHECK(k.barriers == 1);
  CHECK(k.localBytes == 256);
  CHECK(k.privateArrayBytes == 32);
  CHECK(k.privateArrays == 1);
  CHECK(k.vectorOperations == 1);
}

TEST_CASE("count: structure by name") {
  Maker m;
  const auto out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return Store{tile, l, number(0)};
                       }),
                   seq("i", 4, [&](Nat) {
                     return lcl("l", 60, [&](Nat l) { return Store{out, l, load(tile, l + 4)}; });
                   }));
  const auto s = structure(optimise(m.k));
  CHECK(s.at("barrier") == 1);
  CHECK(s.at("loop") == 1);
  CHECK(s.at("if") == 1);
  CHECK(s.at("private_array") == 0);
  CHECK(s.at("local_bytes") == 256);
}
