// The field, and programs interpreted in it.
#include <catch2/catch.hpp>
#include <random>

#include "lift/exact.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

Program programOf(const std::string& text) { return parseProgram(*addSource("exact.lift", text)); }

Tensor tensorOf(const std::vector<float>& values) {
  Tensor t(Scalar::f32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); i++) t.data<float>()[i] = values[i];
  return t;
}

std::string valueOf(const std::string& text, const std::vector<float>& xs) {
  return field::show(interpretExactly(programOf(text), {{"xs", tensorOf(xs)}}).scalar().integer);
}

}  // namespace

TEST_CASE("the field has the laws of one") {
  constexpr std::uint64_t seed = 7;
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto draw = [&] { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(field::prime)); };
  for (int i = 0; i < 1000; i++) {
    const std::int64_t a = draw(), b = draw(), c = draw();
    CHECK(field::multiply(a, field::add(b, c)) == field::add(field::multiply(a, b), field::multiply(a, c)));
    CHECK(field::multiply(field::multiply(a, b), c) == field::multiply(a, field::multiply(b, c)));
    CHECK(field::add(field::subtract(a, b), b) == a);
    if (a != 0) CHECK(field::multiply(a, field::inverse(a)) == 1);
  }
  CHECK(field::multiply(field::prime - 1, field::prime - 1) == 1);  // (-1)²
}

TEST_CASE("numbers become the fractions that they are") {
  CHECK(field::show(field::ofReal(0.625)) == "5/8");
  CHECK(field::show(field::ofReal(-2.25)) == "-9/4");
  CHECK(field::show(field::ofReal(0)) == "0");
  CHECK(field::show(field::ofInteger(-12)) == "-12");
  CHECK(field::ofReal(0x1p-40) == field::inverse(field::ofReal(0x1p40)));
  CHECK(field::ofReal(0.1f) != field::multiply(1, field::inverse(10)));  // not one tenth, and not taken for it
}

TEST_CASE("sums in the field do not depend on their order") {
  const std::vector<float> xs = {1e8F, 1.25F, -1e8F, 0.5F};
  CHECK(valueOf("def main(xs: [4]f32) = reduce(0.0, add, xs)", xs) == "7/4");
  CHECK(valueOf("def main(xs: [4]f32) = reduce(0.0, add, reorder(reverse, xs))", xs) == "7/4");
  CHECK(valueOf("def main(xs: [4]f32) = xs[1] / 3.0 * 6.0", xs) == "5/2");
}

TEST_CASE("the order of the field is that of small integers") {
  const std::vector<float> xs = {-3, 2, 7, -8};
  CHECK(valueOf("def main(xs: [4]f32) = reduce(-inf, max, xs)", xs) == "7");
  CHECK(valueOf("def main(xs: [4]f32) = reduce(inf, min, xs)", xs) == "-8");
  CHECK(valueOf("def main(xs: [4]f32) = if xs[0] < xs[1] then abs(xs[3]) else 0.0", xs) == "8");
}

TEST_CASE("unknown functions are equal at equal operands only") {
  const std::vector<float> xs = {1, 2, 3, 0};
  const auto exp = [&](const std::string& x) { return valueOf("def main(xs: [4]f32) = exp(" + x + ")", xs); };
  CHECK(exp("xs[0] + xs[1]") == exp("xs[2]"));
  CHECK(exp("xs[0]") != exp("xs[1]"));
  CHECK(exp("xs[0]") != valueOf("def main(xs: [4]f32) = sqrt(xs[0])", xs));
  CHECK(valueOf("def main(xs: [4]f32) = xs[0] / xs[3]", xs) != valueOf("def main(xs: [4]f32) = xs[1] / xs[3]", xs));
}

TEST_CASE("differences in the field are told with their place") {
  const std::map<std::string, Tensor> in = {{"xs", tensorOf({1, 2})}};
  const auto doubled = [&](const std::string& f) {
    return interpretExactly(programOf("def main(xs: [2]f32) = map(fun x => " + f + ", xs)"), in);
  };
  std::int64_t compared = 0;
  CHECK(!exactDifference(doubled("x + x"), doubled("2.0 * x"), &compared));
  CHECK(compared == 2);
  CHECK(exactDifference(doubled("x * x"), doubled("x")) == "element [1] is 4 before and 2 after");
}
