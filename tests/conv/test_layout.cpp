#include <set>

#include "helpers.hpp"

using namespace lift;

namespace {
Tensor counting(Scalar scalar, std::vector<std::int64_t> shape) {
  Tensor t(scalar, std::move(shape));
  for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(i));
  return t;
}
}  // namespace

TEST_CASE("layouts have names") {
  std::set<std::string_view> names;
  for (const Layout layout :
       {Layout::nchw, Layout::nhwc, Layout::nChw16c, Layout::nChw8c, Layout::oihw, Layout::ohwi}) {
    CHECK(layoutNamed(layoutName(layout)) == layout);
    names.insert(layoutName(layout));
  }
  CHECK(names == std::set<std::string_view>{"nchw", "nhwc", "nChw16c", "nChw8c", "oihw", "ohwi"});
  CHECK(!layoutNamed("chwn"));
}

TEST_CASE("nhwc to nchw moves each element to its place") {
  const Tensor nhwc = counting(Scalar::f32, {2, 3, 4, 5});
  const Tensor nchw = convertLayout(nhwc, Layout::nhwc, Layout::nchw);
  REQUIRE(nchw.shape == std::vector<std::int64_t>{2, 5, 3, 4});
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t h = 0; h < 3; ++h)
      for (std::int64_t w = 0; w < 4; ++w)
        for (std::int64_t c = 0; c < 5; ++c)
          REQUIRE(nchw.get(((n * 5 + c) * 3 + h) * 4 + w) == nhwc.get(((n * 3 + h) * 4 + w) * 5 + c));
}

TEST_CASE("ohwi to oihw moves each element to its place") {
  const Tensor ohwi = counting(Scalar::i32, {3, 2, 5, 4});
  const Tensor oihw = convertLayout(ohwi, Layout::ohwi, Layout::oihw);
  REQUIRE(oihw.shape == std::vector<std::int64_t>{3, 4, 2, 5});
  for (std::int64_t o = 0; o < 3; ++o)
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t w = 0; w < 5; ++w)
        for (std::int64_t i = 0; i < 4; ++i)
          REQUIRE(oihw.get(((o * 4 + i) * 2 + h) * 5 + w) == ohwi.get(((o * 2 + h) * 5 + w) * 4 + i));
}

TEST_CASE("layouts in blocks have blocks of channels outside of rows, and a block's channels innermost") {
  const Tensor nhwc = counting(Scalar::f32, {2, 3, 4, 32});
  for (const Layout layout : {Layout::nChw16c, Layout::nChw8c}) {
    const std::int64_t block = blockOf(layout);
    const Tensor blocked = convertLayout(nhwc, Layout::nhwc, layout);
    REQUIRE(blocked.shape == std::vector<std::int64_t>{2, 32 / block, 3, 4, block});
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t h = 0; h < 3; ++h)
        for (std::int64_t w = 0; w < 4; ++w)
          for (std::int64_t c = 0; c < 32; ++c)
            REQUIRE(blocked.get((((n * (32 / block) + c / block) * 3 + h) * 4 + w) * block + c % block) ==
                    nhwc.get(((n * 3 + h) * 4 + w) * 32 + c));
    const Tensor nchw = convertLayout(nhwc, Layout::nhwc, Layout::nchw);
    CHECK(convertLayout(blocked, layout, Layout::nchw).bytes == nchw.bytes);
    CHECK(convertLayout(nchw, Layout::nchw, layout).bytes == blocked.bytes);
    CHECK(convertLayout(blocked, layout, Layout::nhwc).bytes == nhwc.bytes);
    CHECK(convertLayout(blocked, layout, layout).bytes == blocked.bytes);
  }
  CHECK(convertLayout(convertLayout(nhwc, Layout::nhwc, Layout::nChw16c), Layout::nChw16c, Layout::nChw8c).bytes ==
        convertLayout(nhwc, Layout::nhwc, Layout::nChw8c).bytes);
  CHECK_THROWS_AS(convertLayout(counting(Scalar::f32, {1, 1, 1, 12}), Layout::nhwc, Layout::nChw8c), InternalError);
  CHECK(freeLayouts(parseConv("g8ic48ih5oc24kh3")) == ConvLayouts{Layout::nChw16c, Layout::ohwi, Layout::nChw8c});
  CHECK(freeLayouts(parseConv("g8ic48ih5oc48kh3"), 8) == ConvLayouts{Layout::nChw8c, Layout::ohwi, Layout::nChw8c});
  CHECK(freeLayouts(parseConv("g19ic19ih5oc19kh3")) == ConvLayouts{});
  CHECK(freeLayouts(parseConv("ic48ih5oc24kh3")) == ConvLayouts{});
  CHECK(freeLayouts(parseConv("ic1ih28oc64kh3")) == ConvLayouts{});
  constexpr ConvLayouts planes{Layout::nchw, Layout::ohwi, Layout::nchw};
  CHECK(freeLayouts(parseConv("ic48ih30oc3kh3")) == planes);
  CHECK(freeLayouts(parseConv("ic48ih20oc3kh3")) == ConvLayouts{});  // 18 of 32 lanes
  CHECK(freeLayouts(parseConv("ic48ih30oc3kh3sh2")) == ConvLayouts{});
  CHECK(freeLayouts(parseConv("ic64ih196oc2kh1")) == planes);
  CHECK(freeLayouts(parseConv("ic64ih7oc2kh1")) == ConvLayouts{});
}

TEST_CASE("there and back gives the same bytes, for every element size") {
  for (const Scalar scalar : {Scalar::u8, Scalar::f16, Scalar::f32, Scalar::f64}) {
    const Tensor t = counting(scalar, {2, 3, 5, 7});
    CHECK(convertLayout(convertLayout(t, Layout::nchw, Layout::nhwc), Layout::nhwc, Layout::nchw).bytes == t.bytes);
    CHECK(convertLayout(convertLayout(t, Layout::oihw, Layout::ohwi), Layout::ohwi, Layout::oihw).bytes == t.bytes);
    CHECK(convertLayout(t, Layout::nchw, Layout::nchw).bytes == t.bytes);
  }
}

TEST_CASE("activations are no weights") {
  CHECK_THROWS_AS(convertLayout(Tensor(Scalar::f32, {1, 1, 1, 1}), Layout::nchw, Layout::ohwi), InternalError);
  CHECK_THROWS_AS(convertLayout(Tensor(Scalar::f32, {1, 1}), Layout::nchw, Layout::nhwc), InternalError);
}
