// One line per expectation: an expression and the text of its canonical form.
#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "lift/diagnostic.hpp"
#include "lift/nat.hpp"

using namespace lift;

namespace {

void check(Nat input, const std::string& expected) { CHECK(input.str() == expected); }

Nat ranged(const char* name, std::int64_t lower, std::int64_t upper) {
  return NatVar::fresh(name, lower, Nat(upper), NatVar::Role::index);
}

constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::min();

// Sizes (at least 1, unbounded), loop indices below them, indices of constant ranges, and integers without bounds.
struct Names {
  Nat n = NatVar::size("n"), m = NatVar::size("m"), a = NatVar::size("a"), b = NatVar::size("b");
  Nat c = NatVar::size("c");
  Nat i = NatVar::index("i", n), j = NatVar::index("j", m);
  Nat x = NatVar::index("x", a), y = NatVar::index("y", b), z = NatVar::index("z", c);
  Nat p = ranged("p", 0, 3), q = ranged("q", 0, 7), r = ranged("r", 0, 31), s = ranged("s", -4, 4);
  Nat t = ranged("t", -8, -1), single = ranged("single", 0, 0);
  Nat u = NatVar::fresh("u", unbounded, std::nullopt), v = NatVar::fresh("v", unbounded, std::nullopt);
};

}  // namespace

TEST_CASE_METHOD(Names, "constants fold") {
  check(Nat(), "0");
  check(Nat(7), "7");
  check(Nat(-7), "-7");
  check(Nat(2) + 3, "5");
  check(Nat(2) - 3, "-1");
  check(Nat(2) * -3, "-6");
  check(Nat(7) / 2, "3");
  check(Nat(-7) / 2, "-4");
  check(Nat(7) / -2, "-4");
  check(Nat(-7) / -2, "3");
  check(Nat(7) % 2, "1");
  check(Nat(-7) % 2, "1");
  check(Nat(7) % -2, "-1");
  check(Nat(-7) % -2, "-1");
  check(Nat(0) / 5, "0");
  check(Nat(0) % 5, "0");
  check(ceilDiv(Nat(7), 2), "4");
  check(ceilDiv(Nat(8), 2), "4");
  check(ceilDiv(Nat(-7), 2), "-3");
  check(min(3, 4), "3");
  check(max(3, 4), "4");
  check(max(-3, -4), "-3");
}

TEST_CASE_METHOD(Names, "sums and products have one form") {
  check(n + n, "2*n");
  check(n - n, "0");
  check(n + 0, "n");
  check(0 + n, "n");
  check(n * 1, "n");
  check(n * 0, "0");
  check(n + m, "m + n");
  check(m + n, "m + n");
  check(n * m, "m*n");
  check(n * n, "n*n");
  check(n * n * n - n * n, "n*n*n - n*n");
  check(2 * n + 3 * n, "5*n");
  check((n + 1) * (n - 1), "n*n - 1");
  check((n + m) * (n + m), "m*m + 2*m*n + n*n");
  check((n + m) * (n - m), "n*n - m*m");
  check(2 * (n + 3) - 6, "2*n");
  check(-n, "-n");
  check(-(-n), "n");
  check(3 - n, "3 - n");
  check(-n - 3, "-n - 3");
  check(n - 2, "n - 2");
  check(4 * n + 3, "4*n + 3");
  check(-2 * n + m, "m - 2*n");
  check(n * m + n + m + 1, "m*n + m + n + 1");
  check((n + 1) * (m + 1), "m*n + m + n + 1");
  check(-2 * n * m, "-2*m*n");
}

TEST_CASE_METHOD(Names, "text of operations") {
  check(n / 4, "n/4");
  check((n - 2) / 4, "(n - 2)/4");
  check((n + 2) / 4, "(n + 2)/4");
  check((n - 2) / 4 + 1, "(n + 2)/4");
  check((n + 3) / 4, "(n + 3)/4");
  check((n - 1) / 4, "(n - 1)/4");
  check(2 * n / 3, "(2*n)/3");
  check(n / m, "n/m");
  check(n / (m * c), "n/(c*m)");
  check(n / (m + 1), "n/(m + 1)");
  check(n % 4, "n % 4");
  check((n + m) % 4, "(m + n) % 4");
  check(3 * (n % 4), "3*(n % 4)");
  check(3 * (n / 4) + 1, "3*(n/4) + 1");
  check(m * (n / 4), "m*(n/4)");
  check(n / 4 * 4, "4*(n/4)");
  check(n / 4 % 2, "(n/4) % 2");
  check(n % 4 + n / 4, "n/4 + n % 4");
  check(min(n, m), "min(m, n)");
  check(max(n, m + 1), "max(m + 1, n)");
  check(min(n, m) * 2, "2*min(m, n)");
  check(min(n, m) / 2, "min(m, n)/2");
  check(min(min(n, m), c), "min(min(c, m), n)");
  check(min(c, min(m, n)), "min(min(c, m), n)");
  check(min(n, n), "n");
  check(1 - n / 4, "1 - n/4");
}

TEST_CASE_METHOD(Names, "multiples leave the numerator") {
  check(4 * n / 4, "n");
  check((4 * n + 3) / 4, "n");
  check((4 * n + 4) / 4, "n + 1");
  check((4 * n + 5) / 4, "n + 1");
  check((4 * n - 1) / 4, "n - 1");
  check((4 * n + m) / 4, "n + m/4");
  check((8 * n + m) / 4, "2*n + m/4");
  check((5 * n) / 4, "n + n/4");
  check((4 * u + 2) / 4, "u");
  check((4 * u - 3) / 4, "u - 1");
  check(n * m / n, "m");
  check((n * m + n) / n, "m + 1");
  check((n * m + i) / n, "m");
  check((n * u + i) / n, "u");
  check((n * u + v) / n, "u + v/n");
  check((2 * n * m) / (2 * n), "m");
  check((6 * n * m) / (2 * n), "3*m");
  check((n * m + n * c) / n, "c + m");
  check((n + m) * c / (n + m), "c");
  check(((n + 2) * c + 1) / (n + 2), "c");
  check((n * n - 1) / (n + 1), "n - 1");
  check((n + 5) / n, "5/n + 1");
  check(n / n, "1");
  check((4 * n) % 4, "0");
  check((4 * n + 3) % 4, "3");
  check((4 * n + m) % 4, "m % 4");
  check((n * m) % n, "0");
  check((n * u + v) % n, "v % n");
  check((n * m + i) % n, "i");
  check((n + i) % n, "i");
  check((i + n * j) % n, "i");
  check(n % n, "0");
  check(n % 1, "0");
  check(n / 1, "n");
  check((5 * n) % 4, "n % 4");
}

TEST_CASE_METHOD(Names, "ranges decide divisions") {
  check(p / 4, "0");
  check(p % 4, "p");
  check(q / 8, "0");
  check(q / 4, "q/4");
  check(q % 4, "q % 4");
  check(q % 8, "q");
  check((q + 8) / 8, "1");
  check((q + 8) % 8, "q");
  check((p + 1) / 4, "(p + 1)/4");
  check((p + 1) / 5, "0");
  check((4 * q + p) / 4, "q");
  check((4 * q + p) % 4, "p");
  check((q + 3) / 16, "0");
  check(t / 8, "-1");
  check(t % 8, "t + 8");
  check((t + 8) / 8, "0");
  check(i / n, "0");
  check(i % n, "i");
  check((i + n) / n, "1");
  check((i - n) / n, "-1");
  check((i - n) % n, "i");
  check((n - 1 - i) / n, "0");
  check((n - 1 - i) % n, "n - i - 1");
  check((-i - 1) / n, "-1");
  check((-i - 1) % n, "n - i - 1");
  check((i + 1) / n, "(i + 1)/n");
  check((i + 1) % n, "(i + 1) % n");
  check((i - 1) % n, "(i + n - 1) % n");
  check((i - 1) / n, "(i - 1)/n");
  check(i / (n + 1), "0");
  check((i + 1) / (n + 1), "0");
  check((i + 1) % (n + 1), "i + 1");
  check(single / 3, "0");
  check(single % 3, "single");
  check((n * j + i) / (n * m), "0");
  check((n * j + i) % (n * m), "j*n + i");
}

TEST_CASE_METHOD(Names, "common factors cancel") {
  check((4 * u) / 8, "u/2");
  check((4 * u) % 8, "4*(u % 2)");
  check((4 * r + p) / 8, "r/2");
  check((4 * r + p) % 8, "p + 4*(r % 2)");
  check((4 * u + 3) / 8, "u/2");
  check((4 * u + 5) / 8, "(u + 1)/2");
  check((6 * u) / 4, "u + u/2");
  check((n * u) / (n * m), "u/m");
  check((n * u) % (n * m), "n*(u % m)");
  check((2 * n * u) / (4 * n), "u/2");
  check((n * u + i) / (n * m), "u/m");
  check((n * u + i) % (n * m), "n*(u % m) + i");
  check((c * u) / (c * m + c), "u/(m + 1)");
  check((2 * u) / (2 * n + 4), "u/(n + 2)");
  check((8 * u + q) / 32, "u/4");
  check((8 * u + 2 * p + 1) / 32, "u/4");
  check((12 * u + 4) / 8, "u + (u + 1)/2");
}

TEST_CASE_METHOD(Names, "nested divisions merge") {
  check(n / 4 / 3, "n/12");
  check((n / 4 + 1) / 2, "(n + 4)/8");
  check(((n + 3) / 4 + 1) / 2, "(n + 7)/8");
  check(n / m / c, "n/(c*m)");
  check(n / 2 / 2 / 2, "n/8");
  check(u / 2 / 3, (u / 6).str());
  check(n % 8 % 4, "n % 4");
  check(n % 4 % 8, "n % 4");
  check(n % 12 % 4, "n % 4");
  check(n % 8 / 4, "(n/4) % 2");
  check(n % (4 * m) / 4, "(n/4) % m");
  check(n % (m * c) % c, "n % c");
  check(n % (m * c) / c, "(n/c) % m");
  check((n % 8 + 1) % 4, "(n + 1) % 4");
  check((n % 8 + m) % 8, "(m + n) % 8");
  check((3 * (n % 8)) % 4, "(3*n) % 4");
  check(n % 6 % 4, "(n % 6) % 4");
  check(-(n % 8) % 8, ((-n) % 8).str());
}

TEST_CASE_METHOD(Names, "quotient and remainder recombine") {
  check(n / 4 * 4 + n % 4, "n");
  check(n % 4 + 4 * (n / 4), "n");
  check(3 * (n % 4) + 12 * (n / 4), "3*n");
  check(m * (n % 4) + 4 * m * (n / 4), "m*n");
  check(n / m * m + n % m, "n");
  check(c * (n / m) * m + c * (n % m), "c*n");
  check(n - n / 4 * 4, "n % 4");
  check(2 * n - n / 4 * 8, "2*(n % 4)");
  check(n - n / m * m, "n % m");
  check(c * n - c * m * (n / m), "c*(n % m)");
  check(n - n % 4, "n - n % 4");
  check(n / 4 - 2 * (n / 8), "(n/4) % 2");
  check((n / 4) % 2 + 2 * (n / 8), "n/4");
  check(4 * (n / 4 % 2) + 8 * (n / 8), "4*(n/4)");
  check(8 * (n / 8) + 4 * (n / 4 % 2) + n % 4, "n");
  check(n / 4 * 4 + n % 4 + m, "m + n");
  check(n / 4 * 4 + m + n % 4 - m, "n");
  check(i / 3 * 3 + i % 3, "i");
  check((n + 2) / 4 * 4 + (n + 2) % 4, "n + 2");
  check((n - 2) / 4 * 4 + (n - 2) % 4, "n - 2");
  check((u - 7) / 4 * 4 + (u - 7) % 4, "u - 7");
  check(u / -4 * -4 + u % -4, "u");
  check((n + 1) / (m + 1) * (m + 1) + (n + 1) % (m + 1), "n + 1");
  check((i - 1) / n * n + (i - 1) % n, "i - 1");
  check(n / 4 * 4 + m % 4, "4*(n/4) + m % 4");
  check(n / 4 * 4 - n % 4, "4*(n/4) - n % 4");
}

TEST_CASE_METHOD(Names, "split and join, constant sizes") {
  const Nat flat = r * 32 + q * 4 + p;
  check(flat / 32, "r");
  check(flat / 4 % 8, "q");
  check(flat % 4, "p");
  check(flat % 32, "p + 4*q");
  check(flat % 32 / 4, "q");
  check(flat / 4, "q + 8*r");
  check((i * 4 + p) / 4, "i");
  check((i * 4 + p) % 4, "p");
  check((q * 4 + p) / 8, "q/2");
  check((q * 4 + p) % 8, "p + 4*(q % 2)");
  check((q * 4 + p) / 2, "2*q + p/2");
  check((q * 4 + p) % 2, "p % 2");
  check(r / 8 * 8 + r % 8, "r");
  check((r / 8 * 8 + r % 8) / 4, "r/4");
}

TEST_CASE_METHOD(Names, "split and join, symbolic sizes") {
  const Nat flat = x * b * c + y * c + z;
  check(flat / (b * c), "x");
  check(flat / c % b, "y");
  check(flat % c, "z");
  check(flat / c, "b*x + y");
  check(flat % (b * c), "c*y + z");
  check(flat % (b * c) / c, "y");
  check(flat / c / b, "x");
  check(flat % (a * b * c), "b*c*x + c*y + z");
  check(flat / (a * b * c), "0");
  check((i + n * j) / n, "j");
  check((j + m * i) % m, "j");
  check((n * m - 1 - i - n * j) / n, "m - j - 1");
  check((n * m - 1 - i - n * j) % n, "n - i - 1");
  check((x * (b + 2) + y + 2) / (b + 2), "x");
  check((x * (b + 2) + y + 2) % (b + 2), "y + 2");
  check((i % n * m + j) / m, "i");
  check((4 * i + p) / (4 * n), "0");
  check((4 * (i + n * x) + p) / (4 * n), "x");
  check((4 * (i + n * x) + p) % (4 * n), "4*i + p");
}

TEST_CASE_METHOD(Names, "minima and maxima are resolved by order") {
  check(min(i, n), "i");
  check(max(i, n), "n");
  check(min(i, n - 1), "i");
  check(max(i, 0), "i");
  check(max(i - 1, 0), "max(i - 1, 0)");
  check(min(i + 1, n), "i + 1");
  check(min(i + 1, n - 1), "min(i + 1, n - 1)");
  check(max(n, 1), "n");
  check(max(n, 2), "max(n, 2)");
  check(min(p, 3), "p");
  check(min(p, 2), "min(p, 2)");
  check(max(min(n, m), n), "n");
  check(min(max(n, m), n), "n");
  check(max(min(n, m), min(m, n)), "min(m, n)");
  check(min(n, min(n, m)), "min(m, n)");
  check(min(n, n + 1), "n");
  check(min(n / 4, n), "n/4");
  check(max(n % 4, 3), "3");
  check(min(n % m, m), "n % m");
  check(max(n, n * m), "m*n");
  check(min(max(i, 0), n - 1), "i");
}

TEST_CASE_METHOD(Names, "divisors of unknown sign keep their operands") {
  check(u / v, "u/v");
  check(u % v, "u % v");
  check((u * v) / v, "(u*v)/v");
  check((u * v) % v, "(u*v) % v");
  check(v / v, "v/v");
  check(s % s, "s % s");
  check((v * n + i) / (v * n), "(n*v + i)/(n*v)");
  check(u / -m, ((-u) / m).str());
  check(u % -m, (-((-u) % m)).str());
  check(u / t, ((-u) / (-t)).str());
  check((t * u) / t, "u");
  CHECK_THROWS_AS(n / 0, UserError);
  CHECK_THROWS_AS(n % 0, UserError);
}
