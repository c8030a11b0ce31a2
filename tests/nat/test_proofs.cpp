// Proofs about symbolic ranges, reasoning under facts, and the mistakes of earlier simplifiers.
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

#include "lift/diagnostic.hpp"
#include "lift/nat.hpp"

using namespace lift;

namespace {

constexpr Truth proved = Truth::proved;
constexpr Truth refuted = Truth::refuted;
constexpr Truth unknown = Truth::unknown;

struct Names {
  Nat n = NatVar::size("n"), m = NatVar::size("m"), k = NatVar::size("k");
  NatVar nVariable = *n.variable();
  NatVar iVariable = NatVar::index("i", n);
  Nat i = iVariable, j = NatVar::index("j", m), l = NatVar::index("l", k);
  Nat u = NatVar::fresh("u", std::numeric_limits<std::int64_t>::min(), std::nullopt);
  Nat v = NatVar::fresh("v", std::numeric_limits<std::int64_t>::min(), std::nullopt);
};

}  // namespace

TEST_CASE_METHOD(Names, "order of sizes and indices") {
  CHECK(less(i, n) == proved);
  CHECK(less(n, i) == refuted);
  CHECK(lessEqual(0, i) == proved);
  CHECK(less(i, 0) == refuted);
  CHECK(less(i, m) == unknown);
  CHECK(lessEqual(1, n) == proved);
  CHECK(less(0, n) == proved);
  CHECK(less(1, n) == unknown);
  CHECK(less(n, 1) == refuted);
  CHECK(lessEqual(n, 1) == unknown);
  CHECK(lessEqual(n, n) == proved);
  CHECK(less(n, n) == refuted);
  CHECK(less(n, n + 1) == proved);
  CHECK(lessEqual(n, n * m) == proved);
  CHECK(less(n, n * m) == unknown);
  CHECK(lessEqual(n + m, n * m + 1) == proved);
  CHECK(lessEqual(u, v) == unknown);
  CHECK(lessEqual(0, n * n - 2 * n + 1) == unknown);
}

TEST_CASE_METHOD(Names, "flat indices stay within their arrays") {
  CHECK(less(i + n * j, n * m) == proved);
  CHECK(less(j + m * i, n * m) == proved);
  CHECK(less(i * m * k + j * k + l, n * m * k) == proved);
  CHECK(less(i + n * j, n * m - 1) == unknown);
  CHECK(lessEqual(i + n * j, n * m - 1) == proved);
  CHECK(lessEqual(0, n * m - 1 - i - n * j) == proved);
  CHECK(less(n * m, i + n * j) == refuted);
  const Nat w = NatVar::index("w", 3);
  CHECK(less(i + w, n + 2) == proved);
  CHECK(less(i + w, n) == unknown);
  CHECK(less(2 * i + 1, 2 * n) == proved);
  CHECK(less((n - 1 - i) * m + j, n * m) == proved);
}

TEST_CASE_METHOD(Names, "order of quotients and remainders") {
  CHECK(lessEqual(n / 4 * 4, n) == proved);
  CHECK(less(n, n / 4 * 4 + 4) == proved);
  CHECK(lessEqual(n, ceilDiv(n, 4) * 4) == proved);
  CHECK(less(ceilDiv(n, 4) * 4, n + 4) == proved);
  CHECK(less(ceilDiv(n, 4) * 4, n + 3) == unknown);
  CHECK(lessEqual(n / m * m, n) == proved);
  CHECK(less(n % m, m) == proved);
  CHECK(lessEqual(n % m, n) == proved);
  CHECK(lessEqual(0, n % m) == proved);
  CHECK(lessEqual(u % 4, 3) == proved);
  CHECK(lessEqual(u % m, u) == unknown);
  CHECK(lessEqual(n / m, n) == proved);
  CHECK(less(i / 4, ceilDiv(n, 4)) == proved);
  CHECK(less(i / m, n) == proved);
  CHECK(less(u / 4 * 4, u - 4) == refuted);
  CHECK(less(i / 4 * 4 + i % 4, n) == proved);
  const Nat tile = NatVar::index("tile", n / 4);
  const Nat lane = NatVar::index("lane", 4);
  CHECK(less(4 * tile + lane, n) == proved);
  const Nat padded = NatVar::index("padded", ceilDiv(n, 4));
  CHECK(less(4 * padded + lane, n) == unknown);
  CHECK(less(4 * padded + lane, n + 3) == proved);
}

TEST_CASE_METHOD(Names, "order of minima and maxima") {
  CHECK(lessEqual(min(n, m), n) == proved);
  CHECK(lessEqual(min(n, m), m) == proved);
  CHECK(lessEqual(n, max(n, m)) == proved);
  CHECK(less(max(n, m), n) == refuted);
  CHECK(lessEqual(min(n, m), max(n, m)) == proved);
  CHECK(less(min(max(u, 0), n - 1), n) == proved);
  CHECK(lessEqual(0, min(max(u, 0), n - 1)) == proved);
  CHECK(equal(min(n, m) + max(n, m), n + m) == proved);
  CHECK(less(min(n, m), min(n, m) + 1) == proved);
}

TEST_CASE_METHOD(Names, "equality beyond the canonical form") {
  CHECK(equal(n, n) == proved);
  CHECK(equal(n, m) == unknown);
  CHECK(equal(n, n + 1) == refuted);
  CHECK(equal(2 * n, 2 * m + 1) == refuted);
  CHECK(equal(6 * n + 4, 3 * m) == refuted);
  CHECK(equal(n, 0) == refuted);
  CHECK(equal(i, n) == refuted);
  CHECK(equal(n - n % 4, n / 4 * 4) == proved);
  CHECK(equal((-u) / 4, (3 * u) / 4 - u) == proved);
  CHECK(equal((u / 2 + v) / 2, (u + 2 * v) / 4) == proved);
  CHECK(equal(u % 4 + u / 4 * 4 + v % 3, u + v - v / 3 * 3) == proved);
  CHECK(equal((u % 12) / 4, (u / 4) % 3) == proved);
  CHECK(equal(u % 6, u % 3 + 3 * ((u / 3) % 2)) == proved);
  CHECK(equal(u / 4, u / 3) == unknown);
  CHECK(equal(NatVar::index("once", 1), 0) == proved);
}

TEST_CASE_METHOD(Names, "divisibility") {
  CHECK(divides(4, 8 * n + 4) == proved);
  CHECK(divides(4, 8 * n + 2) == refuted);
  CHECK(divides(4, n) == unknown);
  CHECK(divides(n, n * m) == proved);
  CHECK(divides(n, n * u + i) == unknown);
  CHECK(divides(n, n * m + 1) == unknown);  // n may be 1
  CHECK(divides(n + 1, n * n - 1) == proved);
  CHECK(divides(1, u) == proved);
  CHECK(divides(0, 0) == proved);
  CHECK(divides(0, n) == refuted);
  CHECK(divides(u, u) == proved);  // even for zero
  CHECK(divides(u, 0) == proved);
  CHECK(divides(-4, 8 * n) == proved);
  CHECK(divides(4, n / 4 * 4) == proved);
  CHECK(divides(4, n - n % 4) == proved);
}

TEST_CASE_METHOD(Names, "facts about a variable") {
  const std::vector<Divides> facts{{4, n}};
  CHECK(equalUnder(facts, n / 4 * 4, n) == proved);
  CHECK(equalUnder({}, n / 4 * 4, n) == unknown);
  CHECK(equalUnder(facts, n % 4, 0) == proved);
  CHECK(equalUnder(facts, n % 2, 0) == proved);
  CHECK(equalUnder(facts, n % 3, 0) == unknown);
  CHECK(equalUnder(facts, n, 4 * m + 2) == refuted);
  CHECK(equalUnder(facts, (n + u) / 4, n / 4 + u / 4) == proved);
  CHECK(equalUnder(facts, (n + u) % 4, u % 4) == proved);
  CHECK(equalUnder(facts, n / 2, n / 4 * 2) == proved);
  CHECK(equalUnder(facts, n * m / 4, n / 4 * m) == proved);
  CHECK(equalUnder(facts, ceilDiv(n, 4), n / 4) == proved);
  CHECK(simplifyUnder(facts, n / 4 * 4) == n);
  CHECK(simplifyUnder(facts, n / 4 * 4 * m + 1) == n * m + 1);
  CHECK(simplifyUnder(facts, n % 4) == Nat(0));
  CHECK(simplifyUnder(facts, (n + u) % 4) == u % 4);
  CHECK(simplifyUnder(facts, (n / 4 * 4 + u) / 8) == (n + u) / 8);
  CHECK(simplifyUnder(facts, n / 2) == n / 2);
  CHECK(simplifyUnder(facts, m + n / 3) == m + n / 3);
  CHECK(simplifyUnder(facts, ceilDiv(n, 4)) == n / 4);
}

TEST_CASE_METHOD(Names, "facts about sums, products and symbolic divisors") {
  CHECK(equalUnder({{4, n - 2}}, (n - 2) / 4 * 4 + 2, n) == proved);
  CHECK(equalUnder({{4, n - 2}}, n % 4, 2) == proved);
  CHECK(equalUnder({{4, n + m}}, (n + m) / 4 * 4, n + m) == proved);
  CHECK(equalUnder({{4, n * m}}, n * m / 4 * 4, n * m) == proved);
  CHECK(equalUnder({{4, n * m}}, n * m % 4, 0) == proved);
  CHECK(equalUnder({{k, n}}, n / k * k, n) == proved);
  CHECK(equalUnder({{k, n}}, n % k, 0) == proved);
  CHECK(equalUnder({{k, n}, {k, m}}, (n + m) / k, n / k + m / k) == proved);
  CHECK(equalUnder({{k * m, n}}, n / (k * m) * m * k, n) == proved);
  CHECK(equalUnder({{4, n}, {3, n}}, n / 12 * 12, n) == proved);
  CHECK(equalUnder({{4, n}, {3, n / 4}}, n / 12 * 12, n) == proved);
  CHECK(equalUnder({{2, 3 * n + 1}}, n % 2, 1) == proved);
  CHECK(equalUnder({{u, v}}, v / u * u, v) == unknown);  // u may be zero
  CHECK(simplifyUnder({{k, n}}, n / k * k + 1) == n + 1);
  CHECK(simplifyUnder({{4, n * m}}, (n * m / 4 * 4 + u) / 8) == (n * m + u) / 8);
  CHECK(simplifyUnder({{4, n * m}}, n * m % 4) == Nat(0));
}

TEST_CASE_METHOD(Names, "facts keep loop bounds") {
  // i < n and n = 4*t, so i/4 < t.
  CHECK(equalUnder({{4, n}}, (i / 4) / (n / 4), 0) == proved);
  CHECK(simplifyUnder({{4, n}}, (i / 4) % (n / 4)) == i / 4);
}

// Earlier simplifiers matched on operand order.
TEST_CASE_METHOD(Names, "defect 1: rules do not depend on the order of operands") {
  CHECK((n * m + i) / n == (i + m * n) / n);
  CHECK((1 + i + n + u) % n == (u + n + i + 1) % n);
  CHECK(i % 4 + i / 4 * 4 == 4 * (i / 4) + i % 4);
}

TEST_CASE_METHOD(Names, "defect 2: a remainder is simplified only if the result is in range") {
  // (c + i + 2m + 2j + m*j) % (2 + m) was i + c - 4.
  const Nat whole = 5 + i + 2 * m + 2 * j + m * j;
  const Nat result = whole % (2 + m);
  for (std::int64_t size = 1; size <= 5; ++size)
    for (std::int64_t x = 0; x < 9; ++x) {
      const auto value = [&](NatVar v) { return v == *m.variable() ? size : v == iVariable ? x : std::int64_t{0}; };
      const std::int64_t expected = (5 + x + 2 * size) % (2 + size);
      CHECK(result.evaluate(value) == expected);
    }
  const Nat inRange = NatVar::index("r", m);
  CHECK((inRange + 2 * m + 2 * j + m * j + 4) % (2 + m) == inRange);
}

TEST_CASE_METHOD(Names, "defect 3: constants do not cancel across a remainder that may be negative") {
  CHECK((3 + m + i) % m == (3 + i) % m);
  CHECK((3 + m + i) % m != 3 + i);
  const auto value = [&](NatVar v) { return v == *m.variable() ? std::int64_t{7} : std::int64_t{0}; };
  CHECK(((m + i - 2) % m).evaluate(value) == 5);
  CHECK(((i - 2) % m).evaluate(value) == 5);
}

TEST_CASE_METHOD(Names, "defect 4: one modulo n is not one if n may be one") {
  CHECK(Nat(1) % n != Nat(1));
  CHECK((Nat(1) % n).substitute({{nVariable, 1}}) == Nat(0));
  CHECK((Nat(1) % n).substitute({{nVariable, 2}}) == Nat(1));
  CHECK(Nat(1) % (n + 1) == Nat(1));
  CHECK(Nat(1) / n != Nat(0));
}

TEST_CASE_METHOD(Names, "defect 5: a smaller number divided by a greater one may be minus one") {
  const Nat negative = NatVar::fresh("negative", -3, Nat(-1));
  CHECK(less(negative, n) == proved);
  CHECK(negative / n != Nat(0));
  CHECK((negative / 3) == Nat(-1));
  CHECK((u / n).kind() == Nat::Kind::floorDiv);
  CHECK((i - 1) / n != Nat(0));
}

TEST_CASE_METHOD(Names, "defect 6: one meaning of division for constants, evaluation and bounds") {
  for (std::int64_t a = -9; a <= 9; ++a)
    for (std::int64_t b = -4; b <= 4; ++b) {
      if (b == 0) continue;
      const auto value = [&](NatVar w) { return w == *u.variable() ? a : b; };
      CHECK((Nat(a) / Nat(b)).constant() == (u / v).evaluate(value));
      CHECK((Nat(a) % Nat(b)).constant() == (u % v).evaluate(value));
      const NatVar w = NatVar::fresh("w", a, Nat(a));
      CHECK((Nat(w) / b).lower() == (u / v).evaluate(value));
      CHECK((Nat(w) / b).upper() == (u / v).evaluate(value));
    }
}

TEST_CASE_METHOD(Names, "defect 7: bounds are exact and equal things are one node") {
  CHECK((n / 128) == (n / 128));
  CHECK((n / 128).node() == (n / Nat(64) / 2).node());
  CHECK(*(4 * Nat(NatVar::index("step", 3)) + 1).upper() == 9);
}

TEST_CASE("overflow is an error of the user") {
  const Nat n = NatVar::size("n");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(Nat(most) + 1, UserError);
  CHECK_THROWS_AS(most * n + n, UserError);
  CHECK_THROWS_AS((most * n) * 2, UserError);
  CHECK_THROWS_WITH(Nat(most) * 2, Catch::Contains("size exceeds 64 bits"));
  CHECK_THROWS_AS(-Nat(std::numeric_limits<std::int64_t>::min()), UserError);
  CHECK(less(n * most, n) != proved);
}

TEST_CASE("a proof that would need more work than allowed is unknown") {
  Nat product = 1;
  for (int k = 0; k < 12; ++k) product = product * (Nat(NatVar::size("n" + std::to_string(k))) - 2);
  CHECK(lessEqual(0, product) == unknown);
}
