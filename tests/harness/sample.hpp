// A share of the cases of a long test in each run, all of them in tests/long.sh.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "harness/setting.hpp"

namespace lift::test {

// Every n-th case, from another one on for every seed, which is printed and which LIFT_TEST_SEED repeats. All cases
// with LIFT_SAMPLE=all.
class Sample {
 public:
  explicit Sample(std::uint32_t n) : n_(takesAll() ? 1 : n), next_(takesAll() ? 0 : newSeed() % n) {
    if (n_ > 1) std::cout << "one of " << n << " cases, LIFT_TEST_SEED=" << next_ << std::endl;
  }
  static bool takesAll() {
    const char* wish = std::getenv("LIFT_SAMPLE");
    return wish != nullptr && std::string_view(wish) == "all";
  }
  // Whether the next case belongs to the sample.
  bool takes() { return next_++ % n_ == 0; }

 private:
  std::uint32_t n_, next_;
};

}  // namespace lift::test
