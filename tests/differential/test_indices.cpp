// Random indices that do not depend on data: refused where they are out of range whatever the size is, else not.
//
// LIFT_TEST_SEED and LIFT_DIFF_COUNT choose another or a longer run.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <iostream>

#include "differential/judges.hpp"
#include "lift/diagnostic.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"

namespace lift::differential {
namespace {

// An index of an array x, and whether it is out of range for every size.
struct Index {
  std::string text;
  bool wrong;
};

// Of a length that is a number, or n: i32 constants, and expressions of the length.
Index drawn(Choices& choices, std::int64_t length, bool symbolic) {
  const std::int64_t back = choices.pick(-2, length + 1);
  const std::string size = symbolic ? "n" : choices.coin() ? "length(x)" : std::to_string(length);
  switch (choices.pick(0, 3)) {
    case 0:  // from the end
      return {fmt::format("{} - {}", size, back), back <= 0 || (!symbolic && back > length)};
    case 1:  // from the front; n may be anything
      return {std::to_string(back), back < 0 || (!symbolic && back >= length)};
    case 2: {
      const std::int64_t k = choices.pick(0, 3);
      return {fmt::format("{} + {}", size, k), true};
    }
    default: return {fmt::format("{} / 2", size), false};
  }
}

// Where the index is evaluated for sure, and where something decides whether it is.
std::string around(Choices& choices, const std::string& index, bool& decided) {
  decided = choices.pick(0, 2) == 2;
  if (decided) return fmt::format("if x[0] > 0.5 then x[{}] else 0.25", index);
  if (choices.coin()) return fmt::format("let k = {} in x[k] * 2.0", index);
  return fmt::format("map(fun a => a + x[{}], x)", index);
}

bool isRefused(const std::string& text) {
  const std::string refusal = test::refusalOf([&] { parseProgram(*addSource("index.lift", text)); });
  return refusal.find("is out of range of") != std::string::npos;
}

}  // namespace

TEST_CASE("random indices are refused where they are out of range whatever the size is") {
  const std::int64_t count = setting("LIFT_DIFF_COUNT", 2000 / thinning);
  const std::int64_t seed = seedOr(20);
  int wrong = 0, right = 0, guarded = 0;
  for (std::int64_t i = 0; i < count; i++) {
    Choices choices = Choices::random(static_cast<std::uint64_t>(seed * 1000003 + i));
    const std::int64_t length = choices.pick(1, 9);
    const bool symbolic = choices.coin();
    const Index index = drawn(choices, length, symbolic);
    bool decided = false;
    const std::string body = around(choices, index.text, decided);
    const std::string text = fmt::format("def main(x: [{}]f32) = {}\n", symbolic ? "n" : std::to_string(length), body);
    (!index.wrong ? right : decided ? guarded : wrong)++;
    INFO("LIFT_TEST_SEED=" << seed << ", index " << i << "\n" << text);
    CHECK(isRefused(text) == (index.wrong && !decided));
  }
  std::cout << fmt::format("random indices: {} of seed {}; {} out of range, {} of them where they may not be evaluated",
                           count, seed, wrong + guarded, guarded)
            << std::endl;
  CHECK(wrong * 10 >= count);
  CHECK(right * 10 >= count);
  CHECK(guarded * 20 >= count);
}

}  // namespace lift::differential
