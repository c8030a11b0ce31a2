// Passes that change where and how memory is read and written: own, hoist, join, order.
#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

TEST_CASE("own: what work-items share out of a private array is each one's own part") {
  const auto made = [](std::int64_t items, std::int64_t stride, bool reversed) {
    Maker m;
    m.range({8, 1, 1}, {8, 1, 1});
    const auto in = m.in("in", 32), out = m.out("out", 32), p = m.priv("acc", 64);
    const auto own = [&](Nat l, Nat i) { return stride * l + i; };
    const auto fill = [&](Nat l) {
      return seq("i", 4, [&](Nat i) { return Store{p, own(l, i), load(in, 4 * l + i)}; });
    };
    const auto use = [&](Nat l) {
      const Nat from = reversed ? 7 - l : l;
      return seq("i", 4, [&](Nat i) { return Store{out, 4 * l + i, load(p, own(from, i))}; });
    };
    m.k.body = block(Allocate{p}, lcl("l", items, fill), lcl("l", items, use));
    return pass("own", pass("trips", m.k)).buffers[p].count;
  };
  CHECK(made(8, 4, false) == Nat(4));
  CHECK(made(8, 8, false) == Nat(4));
  CHECK(made(5, 4, false) == Nat(4));
  CHECK(made(16, 4, false) == Nat(64));  // a work-item runs the loop twice
  CHECK(made(8, 0, false) == Nat(64));   // every work-item has all of it
  CHECK(made(8, 4, true) == Nat(64));    // what is read lies elsewhere
}

TEST_CASE("hoist: sums that a loop would repeat") {
  Maker m;
  const NatVar n = m.size("n");
  const auto in = m.in("in", Nat(n) * Nat(n)), out = m.out("out", Nat(n) * Nat(n));
  m.k.body = block(seq("y", Nat(n), [&](Nat y) {
    return seq("x", Nat(n) - 1, [&](Nat x) { return Store{out, y * Nat(n) + x, load(in, y * Nat(n) + x + 1)}; });
  }));
  CHECK(bodyText(pass("hoist", m.k)) == R"(  for (int y = 0; y < n; y++) {
    for (int x = 0; x < n - 1; x++) {
      const int in_at = n * y + x;
      out[in_at] = in[in_at + 1];
    }
  }
)");
}

TEST_CASE("hoist: quotients that are used twice") {
  Maker m;
  const auto in = m.in("in", 200), out = m.out("out", 20);
  const Nat i = counter("i", 18);
  m.k.body = block(seq(i, Store{out, i, add(load(in, 10 * (i / 3) + i % 3), load(in, i / 3))}));
  CHECK(bodyText(pass("hoist", m.k)) == R"(  for (int i = 0; i < 18; i++) {
    const int i_div_3 = i / 3;
    out[i] = in[10 * i_div_3 + i % 3] + in[i_div_3];
  }
)");
}

TEST_CASE("hoist: nothing to gain, nothing done") {
  Maker m;
  const auto in = m.in("in", 100), out = m.out("out", 100);
  const Nat i = counter("i", 9), j = counter("j", 10);
  m.k.body = block(seq(i, seq(j, Store{out, 10 * i + j, load(in, i + j)})));
  CHECK(bodyText(pass("hoist", m.k)) == bodyText(m.k));
}

TEST_CASE("join: neighbouring scalars become vectors where their place is aligned") {
  Maker m;
  const auto in = m.in("in", 100), bytes = m.in("bytes", 100, Scalar::u8), out = m.out("out", 100);
  const VarId a = m.var("a"), b = m.var("b"), c = m.var("c"), d = m.var("d");
  const auto sum = [&](VarId v) { return ref(v, f32); };
  const auto byte = [&](Nat i) { return convertTo(load(bytes, i, {Scalar::u8, 1}), Scalar::f32); };
  m.k.body = block(seq("i", 8, [&](Nat i) {
    const Nat at = 4 * i;
    return block(Declare{a, load(in, at)}, Declare{b, load(in, at + 1)}, Declare{c, load(in, at + 2)},
                 Declare{d, load(in, at + 3)}, Store{out, at, sum(a)}, Store{out, at + 1, sum(b)},
                 Store{out, at + 2, sum(c)}, Store{out, at + 3, sum(d)},
                 // two of them: four are not aligned
                 Store{out, at + 38, sum(a)}, Store{out, at + 39, sum(b)}, Store{out, at + 40, sum(c)},
                 // at odd places
                 Store{out, i, sum(a)}, Store{out, i + 1, sum(b)},
                 // in another order; of what memory has, which may change
                 Store{out, at + 61, sum(a)}, Store{out, at + 60, sum(b)}, Store{out, at + 64, load(out, 0)},
                 Store{out, at + 65, load(out, 1)}, Store{out, at + 68, byte(at)}, Store{out, at + 69, byte(at + 1)});
  }));
  CHECK(bodyText(pass("join", m.k)) == bodyText(m.k));  // unless asked for
  PassOptions options;
  options.joinVectors = true;
  CHECK(bodyText(pass("join", m.k, options)) == R"(  for (int i = 0; i < 8; i++) {
    const float4 in_v = vload4(0, in + 4 * i);
    const float a = in_v.s0;
    const float b = in_v.s1;
    const float c = in_v.s2;
    const float d = in_v.s3;
    vstore4((float4)(a, b, c, d), 0, out + 4 * i);
    vstore2((float2)(a, b), 0, out + 4 * i + 38);
    out[4 * i + 40] = c;
    out[i] = a;
    out[i + 1] = b;
    out[4 * i + 61] = a;
    out[4 * i + 60] = b;
    out[4 * i + 64] = out[0];
    out[4 * i + 65] = out[1];
    out[4 * i + 68] = (float)bytes[4 * i];
    out[4 * i + 69] = (float)bytes[4 * i + 1];
  }
)");
}

TEST_CASE("order: scalars stored far apart in turns are stored in the order of memory") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 256), memory = m.out("memory", 64);
  const VarId v = m.var("v", vec(2)), w = m.var("w", vec(2)), u = m.var("u", vec(2));
  const auto first = [&](VarId x) { return lane(ref(x, vec(2)), 0); };
  const auto second = [&](VarId x) { return lane(ref(x, vec(2)), 1); };
  m.k.body = block(seq("i", 8, [&](Nat i) {
    return block(Declare{v, load(in, i * 4, vec(2))}, Store{out, i * 2, first(v)}, Store{out, i * 2 + 100, second(v)},
                 Declare{w, load(memory, i * 4 + 2, vec(2))}, Store{out, i * 2 + 1, first(w)},
                 Store{out, i * 2 + 101, second(w)},
                 // without a gap, and of what may be written
                 Store{out, 201, first(v)}, Declare{u, load(memory, i * 4, vec(2))}, Store{out, 200, first(u)},
                 // in order; not known which is first; what is read may have been written
                 Store{out, i, first(v)}, Store{out, i + 1, first(w)}, Store{out, i * 3, first(v)},
                 Store{out, 9, first(v)}, Store{out, 8, load(out, 9)});
  }));
  CHECK(bodyText(pass("order", m.k)) == R"(  for (int i = 0; i < 8; i++) {
    const float2 v = vload2(0, in + 4 * i);
    const float2 w = vload2(0, memory + 4 * i + 2);
    vstore2((float2)(v.s0, w.s0), 0, out + 2 * i);
    vstore2((float2)(v.s1, w.s1), 0, out + 2 * i + 100);
    out[201] = v.s0;
    const float2 u = vload2(0, memory + 4 * i);
    out[200] = u.s0;
    out[i] = v.s0;
    out[i + 1] = w.s0;
    out[3 * i] = v.s0;
    out[9] = v.s0;
    out[8] = out[9];
  }
)");
  PassOptions aligned;
  aligned.joinVectors = true;  // vectors are left to `join`
  CHECK(bodyText(pass("order", m.k, aligned)).find("vstore") == std::string::npos);
}
