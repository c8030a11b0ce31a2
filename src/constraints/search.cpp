#include "search.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "lift/diagnostic.hpp"

namespace lift::detail {

std::uint64_t Random::below(std::uint64_t bound) {
  const std::uint64_t excess = -bound % bound;  // 2^64 modulo bound: leaves a multiple of bound
  std::uint64_t x = engine_();
  while (x < excess) x = engine_();
  return x % bound;
}

// --------------------------------------------------------------------------------------------------------------- order

namespace {

// before[t]: the tunables that come before t.
std::vector<std::set<int>> dependencies(const SpaceData& space) {
  std::map<NatVar, int> slots;
  for (const Tunable& t : space.tunables) slots.emplace(t.variable, static_cast<int>(slots.size()));
  std::vector<std::set<int>> before(space.size());
  for (const Constraint& c : space.constraints) {
    if (c.condition.kind == SizeCondition::Kind::equal) continue;
    for (const NatVar dependent : c.condition.left.variables())
      for (const NatVar on : c.condition.right.variables())
        if (!c.condition.left.mentions(on) && !c.condition.right.mentions(dependent))
          before[static_cast<std::size_t>(slots.at(dependent))].insert(slots.at(on));
  }
  return before;
}

}  // namespace

std::vector<int> searchOrder(const SpaceData& space, Random* random) {
  const std::vector<std::set<int>> before = dependencies(space);
  std::vector<int> open(space.size()), order;
  std::iota(open.begin(), open.end(), 0);
  const auto waitsFor = [&](int t) {
    const auto& needs = before[static_cast<std::size_t>(t)];
    return std::ranges::count_if(open, [&](int o) { return needs.count(o) != 0; });
  };
  while (!open.empty()) {
    // Those that wait for nothing; in a cycle, those that wait for least.
    std::vector<int> ready;
    auto least = static_cast<std::ptrdiff_t>(open.size());
    for (const int t : open) {
      const auto waits = waitsFor(t);
      if (waits < least) ready.clear();
      least = std::min(least, waits);
      if (waits == least) ready.push_back(t);
    }
    const int chosen = ready[random ? random->below(ready.size()) : 0];
    order.push_back(chosen);
    open.erase(std::ranges::find(open, chosen));
  }
  return order;
}

// -------------------------------------------------------------------------------------------------------------- search

Search::Search(std::shared_ptr<const SpaceData> space, std::vector<int> order)
    : space_(std::move(space)), order_(std::move(order)), levels_(order_.size()), values_(order_.size()) {
  std::vector<std::size_t> levelOf(order_.size());
  for (std::size_t level = 0; level < order_.size(); level++) levelOf[static_cast<std::size_t>(order_[level])] = level;
  std::vector<std::set<int>> relevant(order_.size());
  for (const Predicate& predicate : space_->predicates) {
    std::vector<std::size_t> at;
    for (const int v : predicate.variables()) at.push_back(levelOf[static_cast<std::size_t>(v)]);
    if (at.size() < 2) continue;  // has narrowed the domain already
    std::ranges::sort(at);
    levels_[at.back()].complete.push_back(&predicate);
    for (std::size_t i = 0; i + 1 < at.size(); i++) levels_[at[i]].partial.push_back(&predicate);
    for (std::size_t level = 0; level <= at.back(); level++)
      for (const std::size_t l : at)
        if (l < level) relevant[level].insert(order_[l]);
  }
  for (std::size_t level = 0; level < order_.size(); level++)
    levels_[level].relevant.assign(relevant[level].begin(), relevant[level].end());
  for (const Tunable& t : space_->tunables)
    ranges_.push_back(t.values.empty() ? Range{} : Range{t.values.front(), t.values.back()});
}

std::int64_t Search::width(std::size_t level) const {
  return static_cast<std::int64_t>(space_->tunables[static_cast<std::size_t>(order_[level])].values.size());
}

void Search::assign(std::size_t level, std::int64_t value) {
  const auto t = static_cast<std::size_t>(order_[level]);
  values_[t] = value;
  ranges_[t] = {value, value};
}

void Search::release(std::size_t level) {
  const auto t = static_cast<std::size_t>(order_[level]);
  const auto& values = space_->tunables[t].values;
  ranges_[t] = {values.front(), values.back()};
}

bool Search::admits(const Level& level) const {
  return std::ranges::all_of(level.complete, [&](const Predicate* p) { return p->holdsAt(values_); }) &&
         std::ranges::none_of(level.partial, [&](const Predicate* p) { return p->isRefutedOver(ranges_); });
}

std::vector<std::int64_t> Search::narrowed(std::size_t level) {
  std::vector<std::int64_t> left;
  const auto& all = space_->tunables[static_cast<std::size_t>(order_[level])].values;
  for (const std::int64_t value : all) {
    assign(level, value);
    if (admits(levels_[level])) left.push_back(value);
  }
  if (!all.empty()) release(level);
  return left;
}

std::vector<std::int64_t> Search::relevant(std::size_t level) const {
  std::vector<std::int64_t> key;
  for (const int t : levels_[level].relevant) key.push_back(values_[static_cast<std::size_t>(t)]);
  return key;
}

// ------------------------------------------------------------------------------------------------------------ counting

std::size_t Counter::Hash::operator()(const std::vector<std::int64_t>& key) const {
  std::uint64_t h = key.size();
  for (const std::int64_t x : key) h = (h ^ static_cast<std::uint64_t>(x)) * 0x9E3779B97F4A7C15 + (h >> 29);
  return h;
}

std::optional<std::uint64_t> Counter::below(std::size_t level) {
  if (level == search_.levels()) return 1;
  std::vector<std::int64_t> key = search_.relevant(level);
  if (const auto found = known_[level].find(key); found != known_[level].end()) return found->second;
  effort_ -= search_.width(level) + 1;
  if (effort_ < 0) return std::nullopt;
  const std::vector<std::int64_t> values = search_.narrowed(level);
  std::uint64_t sum = 0;
  for (const std::int64_t value : values) {
    search_.assign(level, value);
    const auto points = below(level + 1);
    search_.release(level);
    if (!points || __builtin_add_overflow(sum, *points, &sum)) return std::nullopt;
  }
  known_[level].emplace(std::move(key), sum);
  return sum;
}

// ------------------------------------------------------------------------------------------------------------ sampling

SearchTree::SearchTree(std::shared_ptr<const SpaceData> space, std::uint64_t seed, Sampler::Mode mode)
    : space_(space), random_(seed), search_(space, searchOrder(*space, &random_)), exhausted_(!space->possible) {
  if (mode != Sampler::Mode::uniform || exhausted_) return;
  counter_.emplace(search_, Space::defaultEffort);
  if (!counter_->below(0))
    throw UserError(ExitStatus::program, "the space is too large to be counted, so it cannot be sampled uniformly",
                    "narrow the ranges of the tunables, or sample as constrained");
}

std::optional<Config> SearchTree::next() {
  if (exhausted_ || !draw(root_, 0)) {
    exhausted_ = true;
    return std::nullopt;
  }
  exhausted_ = space_->size() == 0;  // one point
  return space_->config(search_.values());
}

void SearchTree::expand(Node& node, std::size_t level) {
  node.expanded = true;
  for (const std::int64_t value : search_.narrowed(level)) {
    Branch branch{value, 1, nullptr};
    if (counter_) {
      search_.assign(level, value);
      branch.weight = counter_->below(level + 1).value();
      search_.release(level);
    }
    node.weight += branch.weight;
    node.branches.push_back(std::move(branch));
  }
}

SearchTree::Branch& SearchTree::choose(Node& node) {
  std::uint64_t x = random_.below(node.weight);
  auto branch = node.branches.begin();
  for (; x >= branch->weight; ++branch) x -= branch->weight;
  return *branch;
}

// Whether a point was found; it is then the search's assignment.
bool SearchTree::draw(Node& node, std::size_t level) {
  if (level == search_.levels()) return true;
  if (!node.expanded) expand(node, level);
  while (node.weight > 0) {
    Branch& branch = choose(node);
    if (!branch.node) branch.node = std::make_unique<Node>();
    search_.assign(level, branch.value);
    const bool found = draw(*branch.node, level + 1);
    search_.release(level);
    const bool spent = !found || branch.node->weight == 0;
    if (spent || counter_) {
      const std::uint64_t used = counter_ && found ? 1 : branch.weight;
      branch.weight -= used;
      node.weight -= used;
    }
    if (spent) branch.node.reset();
    if (found) return true;
  }
  return false;
}

}  // namespace lift::detail
