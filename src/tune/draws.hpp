// Points at random, of several families in turn.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lift/explorer.hpp"
#include "random.hpp"

namespace lift::tune {

// What `choose` gives, so many points at most; fewer where it gives none any more.
template <class F>
std::vector<Point> collected(std::size_t most, F&& choose) {
  std::vector<Point> points;
  while (points.size() < most) {
    std::optional<Point> point = choose();
    if (!point) break;
    points.push_back(std::move(*point));
  }
  return points;
}

// A family's points to start with, then its others in random order.
inline std::function<std::optional<Config>()> fromStart(const SearchSpace& family, std::uint64_t seed) {
  return [start = family.start, draw = family.draw(seed), asked = std::size_t{0}]() mutable -> std::optional<Config> {
    if (asked < start.size()) return start[asked++];
    while (auto config = draw())
      if (std::ranges::find(start, *config) == start.end()) return config;
    return std::nullopt;
  };
}

// Distinct points of the families in turn; families that end drop out.
class Draws {
 public:
  Draws(const std::vector<SearchSpace>& families, std::uint64_t seed) {
    Random random(seed);
    for (const SearchSpace& f : families) streams_.push_back({f.name, fromStart(f, random.bits())});
  }

  std::optional<Point> next() {
    while (!streams_.empty()) {
      turn_ %= streams_.size();
      Stream& stream = streams_[turn_];
      if (auto config = stream.next()) {
        turn_++;
        return Point{stream.family, std::move(*config)};
      }
      streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(turn_));
    }
    return std::nullopt;
  }

  // The next that is not in the set yet, where it then is.
  std::optional<Point> fresh(std::set<Point>& asked) {
    while (auto point = next())
      if (asked.insert(*point).second) return point;
    return std::nullopt;
  }

 private:
  struct Stream {
    std::string family;
    std::function<std::optional<Config>()> next;
  };
  std::vector<Stream> streams_;
  std::size_t turn_ = 0;
};

}  // namespace lift::tune
