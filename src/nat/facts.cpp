#include "polynomial.hpp"
namespace lift {
Truth equalUnder(const std::vector<Divides>&, Nat a, Nat b) { return equal(a, b); }
Nat simplifyUnder(const std::vector<Divides>&, Nat a) { return a; }
}  // namespace lift
