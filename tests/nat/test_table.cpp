#include <catch2/catch.hpp>
#include "lift/nat.hpp"
using namespace lift;
TEST_CASE("smoke") {
  Nat n = NatVar::size("n"), m = NatVar::size("m"), b = NatVar::size("b"), c = NatVar::size("c");
  Nat i = NatVar::index("i", n), j = NatVar::index("j", m);
  CHECK((4 * n + 3).str() == "4*n + 3");
  CHECK((n - 2).str() == "n - 2");
  CHECK((2 - n).str() == "2 - n");
  CHECK(((n - 2) / 4).str() == "(n - 2)/4");
  CHECK(less(i + n * j, n * m) == Truth::proved);
  CHECK((i + n * j) / n == j);
  CHECK((i + n * j) % n == i);
  Nat x = NatVar::index("x", n), y = NatVar::index("y", b), z = NatVar::index("z", c);
  Nat flat = x * b * c + y * c + z;
  CHECK(flat / (b * c) == x);
  CHECK(flat / c % b == y);
  CHECK(flat % c == z);
  CHECK(flat % (b * c) == y * c + z);
  CHECK((i / 3) * 3 + i % 3 == i);
  CHECK(i - 3 * (i / 3) == i % 3);
  CHECK(((i * 4 + 3) / 4) == i);
  CHECK((n / 4 * 4).str() == "4*(n/4)");
  CHECK((i % 32) / 8 == (i / 8) % 4);
  CHECK((n / 4) / 3 == n / 12);
}
