// Settings of a test run from the environment: how long it is, and its seed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace lift::test {

// A number from the environment.
inline std::int64_t setting(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

// The seed of a random test, which LIFT_TEST_SEED replaces.
inline std::int64_t seedOr(std::int64_t otherwise) { return setting("LIFT_TEST_SEED", otherwise); }

// Another seed for every run, which LIFT_TEST_SEED repeats.
inline std::uint32_t newSeed() { return static_cast<std::uint32_t>(seedOr(std::random_device{}())); }

}  // namespace lift::test
