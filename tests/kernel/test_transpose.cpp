// The pass `transpose`: vectors gathered at neighbouring places.
#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

// Lanes `stride` elements apart.
ExprPtr gathered(BufferId from, Nat at, int width, std::int64_t stride) {
  std::vector<ExprPtr> lanes;
  for (int l = 0; l < width; l++) lanes.push_back(load(from, at + Nat(l * stride)));
  return makeVector(std::move(lanes));
}

ExprPtr zeros(int width) { return literal(ScalarValue::of(Scalar::f32, 0), width); }

ExprPtr where(std::vector<Comparison> holds, ExprPtr then) {
  const int width = then->type.width;
  return choose(test(std::move(holds)), std::move(then), zeros(width));
}

}  // namespace

TEST_CASE("transpose: four neighbours are loaded along memory") {
  Maker m;
  const auto in = m.in("in", 1000), out = m.out("out", 100);
  m.k.body = block(seq("i", 4, [&](Nat i) {
    return block(Store{out, 16 * i, gathered(in, i + 1, 4, 100)},
                 Store{out, 16 * i + 4, add(gathered(in, i + 2, 4, 100), gathered(in, i + 4, 4, 100))},
                 Store{out, 16 * i + 8, gathered(in, i + 3, 4, 100)}, Store{out, 16 * i + 12, gathered(in, i, 4, 101)});
  }));
  CHECK(bodyText(pass("transpose", m.k)) == R"(  for (int i = 0; i < 4; i++) {
    const float4 in_row = vload4(0, in + i + 1);
    const float4 in_row_1 = vload4(0, in + i + 101);
    const float4 in_row_2 = vload4(0, in + i + 201);
    const float4 in_row_3 = vload4(0, in + i + 301);
    const float4 pairs = (float4)(in_row.s0, in_row_1.s0, in_row.s1, in_row_1.s1);
    const float4 pairs_1 = (float4)(in_row_2.s0, in_row_3.s0, in_row_2.s1, in_row_3.s1);
    const float4 pairs_2 = (float4)(in_row.s2, in_row_1.s2, in_row.s3, in_row_1.s3);
    const float4 pairs_3 = (float4)(in_row_2.s2, in_row_3.s2, in_row_2.s3, in_row_3.s3);
    const float4 in_v = (float4)(pairs.s0, pairs.s1, pairs_1.s0, pairs_1.s1);
    const float4 in_v_1 = (float4)(pairs.s2, pairs.s3, pairs_1.s2, pairs_1.s3);
    const float4 in_v_2 = (float4)(pairs_2.s0, pairs_2.s1, pairs_3.s0, pairs_3.s1);
    const float4 in_v_3 = (float4)(pairs_2.s2, pairs_2.s3, pairs_3.s2, pairs_3.s3);
    vstore4(in_v, 0, out + 16 * i);
    vstore4(in_v_1 + in_v_3, 0, out + 16 * i + 4);
    vstore4(in_v_2, 0, out + 16 * i + 8);
    vstore4((float4)(in[i], in[i + 101], in[i + 202], in[i + 303]), 0, out + 16 * i + 12);
  }
)");
  PassOptions aligned;
  aligned.joinVectors = true;
  CHECK(bodyText(pass("transpose", m.k, aligned)) == bodyText(m.k));
}

TEST_CASE("transpose: three neighbours, and what may be written in between, stay gathered") {
  Maker m;
  const auto in = m.in("in", 1000), memory = m.out("memory", 1000), out = m.out("out", 100);
  Block b;
  for (int i = 0; i < 3; i++) b.push_back({Store{out, 4 * i, gathered(in, 10 * i, 4, 100)}});
  for (int i = 0; i < 3; i++) b.push_back({Store{out, 4 * i + 20, gathered(in, i, 4, 200)}});
  for (int i = 0; i < 4; i++) b.push_back({Store{out, 4 * i + 40, gathered(memory, i, 4, 100)}});
  for (int i = 0; i < 4; i++) b.push_back({Store{out, 2 * i + 60, gathered(in, i, 2, 100)}});
  m.k.body = b;
  CHECK(bodyText(pass("transpose", m.k)) == bodyText(m.k));
}

TEST_CASE("transpose: under conditions, which are asked once") {
  Maker m;
  const auto in = m.in("in", 500), out = m.out("out", 100);
  m.k.body = block(seq("i", 4, [&](Nat i) {
    const std::vector<Comparison> inside{{0, Relation::less, i}};
    Block b;
    for (int c = 0; c < 4; c++)
      b.push_back({Store{out, 16 * i + 4 * c, where(inside, gathered(in, 4 * i + c - 4, 4, 100))}});
    return b;
  }));
  const std::string text = bodyText(pass("transpose", m.k));
  INFO(text);
  CHECK(text.find("  if (i > 0) {\n      const float4 in_row = vload4(0, in + 4 * i - 4);\n") != std::string::npos);
  CHECK(text.find("vstore4(in_v_3, 0, out + 16 * i + 12);") != std::string::npos);
  CHECK(text.find("?") == std::string::npos);
}

TEST_CASE("transpose: vectors of all widths, of columns at borders and in the middle, are what they were") {
  for (const int width : {4, 8, 16}) {
    for (const std::int64_t columns : {5, 6, 9}) {
      INFO(width << " lanes, " << columns << " columns");
      constexpr std::int64_t rows = 3, tiles = 4;
      const std::int64_t line = tiles * 4 + 8, plane = line * (rows + 2);
      Maker m;
      const auto in = m.in("in", plane * width), out = m.out("out", tiles * rows * columns * width);
      m.k.body = block(seq("t", tiles, [&](Nat t) {
        Block b;
        for (std::int64_t r = 0; r < rows; r++)
          for (std::int64_t c = 0; c < columns; c++) {
            const Nat x = 4 * t + Nat(c - 1);
            ExprPtr value = gathered(in, Nat(r * line) + x, width, plane);
            if (c == 0) value = where({{0, Relation::less, t}}, value);
            if (c >= 5) value = where({{x, Relation::less, line}, {t, Relation::less, tiles - 1}}, value);
            if (r == 1) value = where({{t, Relation::notEqual, 2}}, value);
            if (r == 2) value = add(value, value);
            b.push_back({Store{out, ((t * Nat(rows) + Nat(r)) * Nat(columns) + Nat(c)) * Nat(width), value}});
          }
        return b;
      }));
      const Kernel k = pass("transpose", m.k);
      CHECK(bodyText(k) != bodyText(m.k));
      const auto size = static_cast<std::size_t>(tiles * rows * columns * width);
      Memory expected{floats(ramp(static_cast<std::size_t>(plane * width))), floats(std::vector<float>(size))};
      Memory actual = expected;
      REQUIRE(emulate(m.k, expected).ok());
      REQUIRE(emulate(k, actual).ok());
      CHECK(expected == actual);
    }
  }
}
