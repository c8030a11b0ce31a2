// Hash-consing: equal nodes are one node, so equality is address equality. Nodes live as long as the process.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <unordered_set>
#include <utility>

namespace lift::detail {

inline std::size_t combine(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

// Node needs a member `hash` and a function `bool same(const Node&, const Node&)` found by lookup.
template <class Node>
class Interner {
 public:
  const Node* intern(Node&& node) {
    const std::lock_guard lock(mutex_);
    if (auto found = index_.find(&node); found != index_.end()) return *found;
    nodes_.push_back(std::move(node));
    index_.insert(&nodes_.back());
    return &nodes_.back();
  }

 private:
  struct Hash {
    std::size_t operator()(const Node* n) const { return n->hash; }
  };
  struct Same {
    bool operator()(const Node* a, const Node* b) const { return a->hash == b->hash && same(*a, *b); }
  };
  std::mutex mutex_;
  std::deque<Node> nodes_;  // addresses stay
  std::unordered_set<const Node*, Hash, Same> index_;
};

}  // namespace lift::detail
