// The red-blue pebble game, played by brute force. Shares no code with the bounds it judges.
#pragma once

#include <bit>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pebbles {

// Vertices without predecessors are inputs. At most 32.
struct Graph {
  std::vector<std::uint32_t> predecessors;  // by vertex, as sets
  std::uint32_t outputs = 0;

  int add(const std::vector<int>& from = {}) {
    std::uint32_t set = 0;
    for (const int v : from) set |= 1U << v;
    predecessors.push_back(set);
    return static_cast<int>(predecessors.size()) - 1;
  }
  // The sum of all, from the left; an output.
  void addSum(const std::vector<int>& terms) {
    int sum = terms.at(0);
    for (std::size_t i = 1; i < terms.size(); i++) sum = add({sum, terms[i]});
    outputs |= 1U << sum;
  }
};

// The fewest loads and stores with so many red pebbles; nothing where there is no way, or above `limit` states.
inline std::optional<int> fewest(const Graph& graph, int red, std::size_t limit = 250'000) {
  const auto count = static_cast<int>(graph.predecessors.size());
  std::uint32_t inputs = 0;
  for (int v = 0; v < count; v++)
    if (graph.predecessors[static_cast<std::size_t>(v)] == 0) inputs |= 1U << v;
  const auto key = [](std::uint32_t reds, std::uint32_t blues) { return (std::uint64_t{blues} << 32) | reds; };
  std::unordered_map<std::uint64_t, int> cost;
  std::deque<std::pair<std::uint64_t, int>> queue;  // ascending in cost
  const auto reach = [&](std::uint32_t reds, std::uint32_t blues, int at, bool free) {
    const std::uint64_t k = key(reds, blues);
    const auto found = cost.find(k);
    if (found != cost.end() && found->second <= at) return;
    cost[k] = at;
    free ? queue.emplace_front(k, at) : queue.emplace_back(k, at);
  };
  reach(0, 0, 0, true);
  while (!queue.empty()) {
    const auto [k, at] = queue.front();
    queue.pop_front();
    if (cost.at(k) < at) continue;
    if (cost.size() > limit) return std::nullopt;
    const auto reds = static_cast<std::uint32_t>(k), blues = static_cast<std::uint32_t>(k >> 32);
    if ((blues & graph.outputs) == graph.outputs) return at;
    // A pebble on v, in place of another where there is no room.
    const auto place = [&](std::uint32_t v, std::uint32_t needed, int price) {
      if (std::popcount(reds) < red) return reach(reds | v, blues, at + price, price == 0);
      for (std::uint32_t rest = reds & ~needed; rest != 0; rest &= rest - 1)
        reach((reds & ~(rest & -rest)) | v, blues, at + price, price == 0);
    };
    for (int i = 0; i < count; i++) {
      const std::uint32_t v = 1U << i, before = graph.predecessors[static_cast<std::size_t>(i)];
      if ((reds & v) != 0) {
        if ((inputs & v) == 0 && (blues & v) == 0) reach(reds, blues | v, at + 1, false);
        continue;
      }
      if (((inputs | blues) & v) != 0) place(v, 0, 1);
      if (before != 0 && (reds & before) == before) place(v, before, 0);
    }
  }
  return std::nullopt;
}

// Fast memory of a schedule that is given: checks each step, counts loads and stores.
class Machine {
 public:
  explicit Machine(std::int64_t room) : room_(room) {}
  void load(std::int64_t) { hold(), traffic_++; }
  void hold() { ok_ = ok_ && ++used_ <= room_; }
  void free(std::int64_t n = 1) { used_ -= n; }
  void store() { traffic_++; }
  bool ok() const { return ok_ && used_ >= 0; }
  std::int64_t traffic() const { return traffic_; }

 private:
  std::int64_t room_, used_ = 0, traffic_ = 0;
  bool ok_ = true;
};

}  // namespace pebbles
