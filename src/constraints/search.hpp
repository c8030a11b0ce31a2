// The search behind counting, enumeration and sampling: tunables in an order, values one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "lift/space.hpp"
#include "predicate.hpp"

namespace lift::detail {

struct SpaceData {
  std::vector<Tunable> tunables;  // the search numbers them by their positions here
  std::vector<Constraint> constraints;
  std::vector<Predicate> predicates;  // one per constraint
  bool possible = true;               // whether the constraints that mention no tunable hold

  std::size_t size() const { return tunables.size(); }
  bool holds(const std::vector<std::int64_t>& values) const;  // all predicates
  Config config(const std::vector<std::int64_t>& values) const;
  std::vector<std::int64_t> values(const Config& config) const;  // throws UserError (usage)
};

// Numbers below a bound, the same on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound);

 private:
  std::mt19937_64 engine_;
};

// An order of the tunables in which what is divided comes before its divisor and a bound before what it bounds, as far
// as the constraints have no cycle; without `random`, ties are broken by position.
std::vector<int> searchOrder(const SpaceData& space, Random* random = nullptr);

// A partial assignment: the tunables at the first `level` positions of an order have values.
class Search {
 public:
  Search(std::shared_ptr<const SpaceData> space, std::vector<int> order);

  std::size_t levels() const { return order_.size(); }
  std::int64_t width(std::size_t level) const;  // values that `narrowed` tries
  void assign(std::size_t level, std::int64_t value);
  void release(std::size_t level);
  const std::vector<std::int64_t>& values() const { return values_; }  // by position of the tunable

  // The values of the tunable at `level` that no constraint excludes, given those before it: constraints whose
  // tunables all have values are evaluated, the others refuted by the ranges of what is open.
  std::vector<std::int64_t> narrowed(std::size_t level);
  // Values assigned before `level` on which the points below it depend.
  std::vector<std::int64_t> relevant(std::size_t level) const;

 private:
  struct Level {
    std::vector<const Predicate*> complete;  // their last tunable is this level's
    std::vector<const Predicate*> partial;   // mention this level's tunable and later ones
    std::vector<int> relevant;
  };
  bool admits(const Level& level) const;

  std::shared_ptr<const SpaceData> space_;
  std::vector<int> order_;
  std::vector<Level> levels_;
  std::vector<std::int64_t> values_;
  std::vector<Range> ranges_;
};

// Counts points below partial assignments; equal remainders of the search are counted once.
class Counter {
 public:
  Counter(Search& search, std::int64_t effort) : search_(search), effort_(effort), known_(search.levels()) {}

  // Nothing once the effort is used up, or beyond 64 bits.
  std::optional<std::uint64_t> below(std::size_t level);

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::int64_t>& key) const;
  };
  Search& search_;
  std::int64_t effort_;  // values that may still be tried
  std::vector<std::unordered_map<std::vector<std::int64_t>, std::uint64_t, Hash>> known_;
};

// What has been drawn, as a tree over the tunables in order: every node knows its values that still lead somewhere.
class SearchTree {
 public:
  SearchTree(std::shared_ptr<const SpaceData> space, std::uint64_t seed, Sampler::Mode mode);
  std::optional<Config> next();

 private:
  struct Node;
  struct Branch {
    std::int64_t value = 0;
    std::uint64_t weight = 1;  // 0: nothing left below; uniform: the number of points left
    std::unique_ptr<Node> node;
  };
  struct Node {
    std::vector<Branch> branches;
    std::uint64_t weight = 0;  // sum over the branches
    bool expanded = false;
  };
  bool draw(Node& node, std::size_t level);
  void expand(Node& node, std::size_t level);
  Branch& choose(Node& node);

  std::shared_ptr<const SpaceData> space_;
  Random random_;
  Search search_;
  std::optional<Counter> counter_;  // uniform
  Node root_;
  bool exhausted_ = false;
};

}  // namespace lift::detail
