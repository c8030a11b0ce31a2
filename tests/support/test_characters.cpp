#include "lift/characters.hpp"

#include <catch2/catch.hpp>

using namespace lift;

TEST_CASE("numbers at the front of text") {
  const auto read = [](std::string_view text) { return leadingNumber(text); };
  CHECK(read("12x") == std::pair<std::int64_t, std::size_t>(12, 2));
  CHECK(read("-3") == std::pair<std::int64_t, std::size_t>(-3, 2));
  CHECK(read("007") == std::pair<std::int64_t, std::size_t>(7, 3));
  for (const char* none : {"", "-", "x1", "+1", " 1"}) CHECK(read(none).second == 0);
  CHECK(read("2147483647").first == largestInt);
  CHECK(read("99999999999999999999999999").first > largestInt);
  CHECK(read("-99999999999999999999999999") == std::pair<std::int64_t, std::size_t>(-4 * largestInt, 27));
}
