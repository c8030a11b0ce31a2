// Fractions against the same in doubles, where these are exact, and at the ends of 64 bits.
#include <catch2/catch.hpp>
#include <limits>

#include "lift/diagnostic.hpp"
#include "lift/rational.hpp"

using lift::Rational;

TEST_CASE("fractions are in lowest terms with a positive denominator") {
  CHECK(Rational(6, -4).str() == "-3/2");
  CHECK(Rational(0, -7).str() == "0");
  CHECK(Rational(8, 4).str() == "2");
  CHECK(Rational(-5, 8).toDouble() == -0.625);
}

TEST_CASE("arithmetic of fractions is exact") {
  int compared = 0;
  for (std::int64_t a = -6; a <= 6; a++)
    for (std::int64_t b = -6; b <= 6; b++) {
      const Rational x(a, 8), y(b, 4);  // doubles hold all that comes of these, but quotients
      CHECK((x + y).toDouble() == x.toDouble() + y.toDouble());
      CHECK((x - y).toDouble() == x.toDouble() - y.toDouble());
      CHECK((x * y).toDouble() == x.toDouble() * y.toDouble());
      CHECK(-x == Rational(-a, 8));
      if (b != 0) CHECK(x / y * y == x);
      compared++;
    }
  CHECK(compared == 169);
}

TEST_CASE("what does not fit 64 bits is refused") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(Rational(most) + 1, lift::UserError);
  CHECK_THROWS_AS(Rational(most) * 2, lift::UserError);
  CHECK_THROWS_AS(Rational(1, most) * Rational(1, 2), lift::UserError);
  CHECK_THROWS_AS(Rational(1, most) - Rational(1, most - 1), lift::UserError);
  CHECK_THROWS_AS(Rational(std::numeric_limits<std::int64_t>::min(), 3), lift::UserError);
  CHECK(Rational(most) * Rational(3, most) == 3);
}

TEST_CASE("fractions are read") {
  CHECK(Rational::parse("-5/8") == Rational(-5, 8));
  CHECK(Rational::parse("3") == Rational(3));
  for (const char* text : {"", "/", "1/", "/2", "1/0", "1/-2", "a", "1.5", "1/2/3", "99999999999999999999"}) {
    INFO(text);
    CHECK(!Rational::parse(text));
  }
}
