// The pass `lanes`: vectors of which only the first lanes are used.
#include <catch2/catch.hpp>

#include "random_vectors.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

ExprPtr eight(double x) { return literal(ScalarValue::of(Scalar::f32, x), 8); }

// How many variables are narrower than before.
int narrower(const Kernel& now, const Kernel& before) {
  int n = 0;
  for (std::size_t v = 0; v < now.variables.size(); v++)
    n += now.variables[v].type.width < before.variables[v].type.width;
  return n;
}

}  // namespace

TEST_CASE("lanes: sums of which four lanes are stored have four") {
  Maker m;
  const auto in = m.in("in", 256), weights = m.in("weights", 256), out = m.out("out", 64);
  const auto acc = m.var("acc", vec(8)), v = m.var("v", vec(8));
  const auto sum = [&] { return ref(acc, vec(8)); };
  m.k.body = block(Declare{acc, eight(0)},
                   seq("i", 9,
                       [&](Nat i) {
                         std::vector<ExprPtr> lanes;  // what is beyond the last channel is it once more
                         for (int l = 0; l < 8; l++) lanes.push_back(load(in, 36 * i + Nat(std::min(l, 3))));
                         const ExprPtr inside = choose(test({{0, Relation::less, i}}), makeVector(lanes), eight(0));
                         return Assign{acc, add(sum(), mul(inside, load(weights, 8 * i, vec(8))))};
                       }),
                   Declare{v, operation(Op::max, {sum(), splat(load(in, 7), 8)})});
  for (int l = 0; l < 4; l++) m.k.body.push_back({Store{out, l, lane(ref(v, vec(8)), l)}});
  CHECK(bodyText(pass("lanes", m.k)) == R"(  float4 acc = (float4)(0.0f);
  for (int i = 0; i < 9; i++) {
    acc = acc + (i > 0 ? vload4(0, in + 36 * i) : (float4)(0.0f)) * vload4(0, weights + 8 * i);
  }
  const float4 v = fmax(acc, (float4)(in[7]));
  out[0] = v.s0;
  out[1] = v.s1;
  out[2] = v.s2;
  out[3] = v.s3;
)");
}

TEST_CASE("lanes: as many as there are vectors of, and all where any use takes all") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 64);
  const auto rows = m.priv("rows", 2, 8);
  const auto a = m.var("a", vec(8)), b = m.var("b", vec(8));
  const auto widthOf = [&](const ExprPtr& value, auto... uses) {
    m.k.body = block(Allocate{rows}, Store{rows, 0, eight(1)}, Declare{a, value}, uses...);
    return m.k.variables[a].type.width == 8 ? pass("lanes", m.k).variables[a].type.width : 0;
  };
  const auto stored = [&](int l) { return Store{out, l, lane(ref(a, vec(8)), l)}; };
  const ExprPtr loaded = load(in, 0, vec(8));
  CHECK(widthOf(loaded, stored(0)) == 1);
  CHECK(widthOf(loaded, stored(1)) == 2);
  CHECK(widthOf(loaded, stored(2)) == 4);  // of 3 as of 4
  CHECK(widthOf(loaded, stored(0), stored(3)) == 4);
  CHECK(widthOf(loaded, stored(4)) == 8);
  CHECK(widthOf(loaded, stored(0), Store{out, 8, ref(a, vec(8))}) == 8);
  CHECK(widthOf(loaded, stored(0), AssignLane{a, 5, number(2)}, stored(1)) == 8);
  CHECK(widthOf(load(rows, 0, vec(8)), stored(0)) == 8);  // loaded whole
  CHECK(widthOf(loaded) == 8);                            // of no use at all
  CHECK(widthOf(loaded, Declare{b, ref(a, vec(8))}, Store{out, 1, lane(ref(b, vec(8)), 1)}) == 2);
  CHECK(widthOf(loaded, Declare{b, ref(a, vec(8))}, Store{out, 1, ref(b, vec(8))}) == 8);
  CHECK(widthOf(loaded, stored(0),
                Store{out, 1, choose(anyLane(operation(Op::lt, {ref(a, vec(8)), eight(3)})), number(1), number(0))}) ==
        8);
}

TEST_CASE("lanes: random statements on vectors compute the same") {
  const unsigned first = 1;
  constexpr int samples = 400, words = 96;
  int narrowed = 0;
  for (unsigned seed = first; seed < first + samples; seed++) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const int width = 4 << random() % 3, used = 1 + static_cast<int>(random() % static_cast<unsigned>(width));
    const Kernel whole = randomOnVectors(random, {width, used, random() % 4 == 0, words});
    const Kernel k = pass("lanes", whole);
    INFO(bodyText(whole) << "of which " << used << " of " << width << " lanes are used:\n" << bodyText(k));
    narrowed += narrower(k, whole) > 0;
    Memory expected{floats(ramp(words, -9))}, actual = expected;
    REQUIRE(emulate(whole, expected).ok());
    REQUIRE(emulate(k, actual).ok());
    REQUIRE(actual == expected);
  }
  CHECK(narrowed > samples / 3);
}
