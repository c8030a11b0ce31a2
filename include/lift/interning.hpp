// Hash-consing for sizes, types and terms: equal nodes are one node, so equality is equality of addresses. Nodes live
// as long as the process, and threads may intern at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lift::detail {

// The hash of what was hashed to `hash` and of one more value: all bits of the result depend on all bits of both (the
// finaliser of SplitMix64), so that any bits of it may choose a slot, also where values are addresses.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) + 0x9e3779b97f4a7c15u + (hash << 6);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

// The set of all nodes: a hash table with linear probing, in parts that are locked apart. Storage is what the nodes of
// one part lie in.
template <class Node, class Storage>
class InternTable {
 public:
  // The node of this hash for which matches(node) holds. Where there is none it is made: make(storage), with its part
  // of the table locked, must not intern a node of the same kind.
  template <class Matches, class Make>
  const Node* intern(std::uint64_t hash, const Matches& matches, const Make& make) {
    return parts_[hash >> (64 - partBits)].intern(hash, matches, make);
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;  // here as well, to look at a node only when it is likely the right one
    const Node* node = nullptr;
  };

  class Part {
   public:
    template <class Matches, class Make>
    const Node* intern(std::uint64_t hash, const Matches& matches, const Make& make) {
      const std::lock_guard lock(mutex_);
      if (2 * (count_ + 1) > slots_.size()) grow();
      std::size_t i = hash & (slots_.size() - 1);
      for (; slots_[i].node; i = (i + 1) & (slots_.size() - 1))
        if (slots_[i].hash == hash && matches(*slots_[i].node)) return slots_[i].node;
      ++count_;
      slots_[i] = {hash, make(storage_)};
      return slots_[i].node;
    }

   private:
    void grow() {
      std::vector<Slot> old(slots_.empty() ? 1024 : 2 * slots_.size());
      old.swap(slots_);
      for (const Slot& moved : old) {
        if (!moved.node) continue;
        std::size_t i = moved.hash & (slots_.size() - 1);
        while (slots_[i].node) i = (i + 1) & (slots_.size() - 1);
        slots_[i] = moved;
      }
    }

    std::mutex mutex_;
    std::vector<Slot> slots_;  // a power of two of them, half of them free at least
    std::size_t count_ = 0;
    Storage storage_;
  };

  static constexpr int partBits = 4;
  std::array<Part, std::size_t{1} << partBits> parts_;
};

}  // namespace lift::detail
