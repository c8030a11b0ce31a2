// Random decisions that can be written down, replayed and shrunk.
//
// A generator asks for numbers and knows nothing of shrinking: what it drew is a list of numbers, each counted from the
// least one allowed, and any list at all replays to something. So a failing case becomes smaller by making its list
// smaller: whole stages go with the numbers they drew, sizes and alternatives sink towards the first. (The idea is
// Hypothesis's: MacIver and Donaldson, "Test-Case Reduction via Test-Case Generation", ECOOP 2020.)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

namespace lift::differential {

class Choices {
 public:
  using List = std::vector<std::int64_t>;

  static Choices random(std::uint64_t seed);
  static Choices replay(List list);  // behind its end, the least number allowed

  std::int64_t pick(std::int64_t low, std::int64_t high);  // both included
  bool coin() { return pick(0, 1) == 1; }

  // What was drawn so far; replays to the same numbers.
  const List& drawn() const { return drawn_; }

 private:
  std::optional<std::mt19937_64> random_;
  List given_;
  List drawn_;
};

// A case that still fails and that no single step makes smaller (or the best within the number of attempts).
// `attempt` replays a list; it returns what was drawn where the case fails, and nothing where it does not.
Choices::List shrink(Choices::List failing, int attempts,
                     const std::function<std::optional<Choices::List>(const Choices::List&)>& attempt);

}  // namespace lift::differential
