// The pass `narrow`: vectors wider than the target's registers.
#include <catch2/catch.hpp>

#include "random_vectors.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

PassOptions registersOf(int bytes) {
  PassOptions options;
  options.vectorBytes = bytes;
  return options;
}

ExprPtr lanesOf(VarId v, int width, const std::vector<int>& from) {
  std::vector<ExprPtr> lanes;
  for (const int l : from) lanes.push_back(lane(ref(v, vec(width)), l));
  return makeVector(std::move(lanes));
}

}  // namespace

TEST_CASE("narrow: vectors become several, where asked for") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 256);
  const auto rows = m.priv("rows", 2, 8);
  const auto small = m.var("small", vec(4)), a = m.var("a", vec(8)), half = m.var("half", vec(4));
  m.k.body = block(seq("i", 2, [&](Nat i) {
    return block(Allocate{rows}, Declare{small, load(in, i, vec(4))}, Declare{a, load(in, 8 * i, vec(8))},
                 Store{rows, i, add(ref(a, vec(8)), splat(load(in, i), 8))},
                 Assign{a, choose(test({{i, Relation::less, 1}}), load(rows, i, vec(8)),
                                  literal(ScalarValue::of(Scalar::f32, 2), 8))},
                 AssignLane{a, 5, lane(ref(a, vec(8)), 2)},
                 // halves of a vector are its parts
                 Declare{half, add(lanesOf(a, 8, {0, 1, 2, 3}), lanesOf(a, 8, {4, 5, 6, 7}))},
                 Store{out, 16 * i, add(ref(a, vec(8)), ref(a, vec(8)))}, Store{out, 4 * i + 64, ref(half, vec(4))},
                 Store{out, i + 100, ref(small, vec(4))});
  }));
  CHECK(bodyText(pass("narrow", m.k)) == bodyText(m.k));
  CHECK(bodyText(pass("narrow", m.k, registersOf(32))) == bodyText(m.k));
  CHECK(bodyText(pass("narrow", m.k, registersOf(16))) == R"(  for (int i = 0; i < 2; i++) {
    float4 rows[4];
    const float4 small = vload4(0, in + i);
    float4 a_0 = vload4(0, in + 8 * i);
    float4 a_4 = vload4(0, in + 8 * i + 4);
    rows[2 * i] = a_0 + (float4)(in[i]);
    rows[2 * i + 1] = a_4 + (float4)(in[i]);
    a_0 = i < 1 ? rows[2 * i] : (float4)(2.0f);
    a_4 = i < 1 ? rows[2 * i + 1] : (float4)(2.0f);
    a_4.s1 = a_0.s2;
    const float4 v_half = a_0 + a_4;
    vstore4(a_0 + a_0, 0, out + 16 * i);
    vstore4(a_4 + a_4, 0, out + 16 * i + 4);
    vstore4(v_half, 0, out + 4 * i + 64);
    vstore4(small, 0, out + i + 100);
  }
)");
}

TEST_CASE("narrow: a lane of several vectors holds where one of any of them does") {
  Maker m;
  const auto in = m.in("in", 8), out = m.out("out", 1);
  const ExprPtr below = operation(Op::lt, {load(in, 0, vec(8)), literal(ScalarValue::of(Scalar::f32, 2), 8)});
  m.k.body = block(Store{out, 0, choose(anyLane(below), number(1), number(0))});
  CHECK(bodyText(pass("narrow", m.k, registersOf(16))) ==
        "  out[0] = any(((vload4(0, in) < (float4)(2.0f)) | (vload4(0, in + 4) < (float4)(2.0f)))) ? 1.0f : 0.0f;\n");
}

TEST_CASE("narrow: all of a value is computed before any of it is kept") {
  Maker m;
  const auto memory = m.out("memory", 32);
  const auto a = m.var("a", vec(8));
  m.k.body = block(Declare{a, load(memory, 0, vec(8))}, Assign{a, lanesOf(a, 8, {7, 6, 5, 4, 3, 2, 1, 0})},
                   Store{memory, 16, ref(a, vec(8))}, Store{memory, 1, load(memory, 0, vec(8))});
  CHECK(bodyText(pass("narrow", m.k, registersOf(16))) == R"(  float4 a_0 = vload4(0, memory);
  float4 a_4 = vload4(0, memory + 4);
  const float4 part = (float4)(a_4.s3, a_4.s2, a_4.s1, a_4.s0);
  const float4 part_1 = (float4)(a_0.s3, a_0.s2, a_0.s1, a_0.s0);
  a_0 = part;
  a_4 = part_1;
  vstore4(a_0, 0, memory + 16);
  vstore4(a_4, 0, memory + 20);
  const float4 part_2 = vload4(0, memory);
  const float4 part_3 = vload4(0, memory + 4);
  vstore4(part_2, 0, memory + 1);
  vstore4(part_3, 0, memory + 5);
)");
}

TEST_CASE("narrow: elements of several sizes") {
  Maker m;
  const auto in = m.in("in", 32), out = m.out("out", 32, Scalar::f64);
  const auto bytes = m.in("bytes", 32, Scalar::i8);
  const auto small = load(bytes, 0, {Scalar::i8, 8});
  m.k.body = block(
      Store{out, 0, operation(Op::add, {convertTo(load(in, 0, vec(8)), Scalar::f64), convertTo(small, Scalar::f64)})});
  CHECK(bodyText(pass("narrow", m.k, registersOf(32))) ==
        R"(  vstore4(convert_double4(vload4(0, in)) + convert_double4(vload4(0, bytes)), 0, out);
  vstore4(convert_double4(vload4(0, in + 4)) + convert_double4(vload4(0, bytes + 4)), 0, out + 4);
)");  // 4 lanes of f64
  m.k.body = block(Store{out, 0, convertTo(load(in, 0, vec(3)), Scalar::f64)});
  CHECK(bodyText(pass("narrow", m.k, registersOf(16))) == bodyText(m.k));  // 3 lanes stay together
}

TEST_CASE("narrow: random statements on vectors compute the same") {
  const unsigned first = 1;
  constexpr int samples = 300, words = 96;
  int narrowed = 0;
  for (unsigned seed = first; seed < first + samples; seed++) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const int width = 4 << random() % 3;
    const Kernel whole = randomOnVectors(random, {width, width, true, words});
    Memory expected{floats(ramp(words, -9))};
    const Memory initial = expected;
    REQUIRE(emulate(whole, expected).ok());
    for (const int bytes : {8, 16, 32, 64}) {
      const Kernel k = pass("narrow", whole, registersOf(bytes));
      INFO(bodyText(whole) << "for registers of " << bytes << " bytes:\n" << bodyText(k));
      narrowed += bodyText(k) != bodyText(whole);
      Memory actual = initial;
      REQUIRE(emulate(k, actual).ok());
      REQUIRE(actual == expected);
    }
  }
  CHECK(narrowed > samples);
}
