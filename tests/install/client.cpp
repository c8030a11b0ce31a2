// What a user of the installed package writes: sizes are symbolic, and simplify.
#include <iostream>
#include <lift/nat.hpp>

int main() {
  const lift::Nat n = lift::NatVar::size("n");
  const bool simplified = (2 * n + n) == 3 * n;
  std::cout << (2 * n + n).str() << "\n";
  return simplified ? 0 : 1;
}
