// A kernel's work, counted on its tree: bundles of neighbouring work-items are followed through a few iterations of
// each loop, with nothing but their indices.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "lift/bounds.hpp"
#include "lift/integers.hpp"
#include "lift/kernel_passes.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/predict.hpp"

namespace lift {
namespace {

using namespace kernel;

constexpr std::int64_t iterationsFollowed = 3, groupsFollowed = 3, bundlesFollowed = 2;
constexpr double accessesFollowed = 2e5;  // of whole groups, for what is distinct

// The k-th of so many evenly spread positions of n.
std::int64_t spread(std::int64_t k, std::int64_t of, std::int64_t n) { return (2 * k + 1) * n / (2 * of); }

class Follower {
 public:
  Follower(const Kernel& k, int bundle, int line) : k_(k), bundle_(std::max(1, bundle)), line_(std::max(4, line)) {
    for (std::size_t d = 0; d < 3; d++) {
      local_[d] = k.range.local[d].constant().value();
      groups_[d] = k.range.global[d].constant().value() / local_[d];
    }
  }

  KernelWork run() {
    const std::int64_t items = local_[0] * local_[1] * local_[2], groups = groups_[0] * groups_[1] * groups_[2];
    const std::int64_t perGroup = ceilDiv(items, bundle_);
    const std::int64_t followedGroups = std::min(groups, groupsFollowed);
    const std::int64_t followedBundles = std::min(perGroup, bundlesFollowed);
    const double share = static_cast<double>(groups) / static_cast<double>(followedGroups) *
                         static_cast<double>(perGroup) / static_cast<double>(followedBundles);
    for (std::int64_t g = 0; g < followedGroups; g++)
      for (std::int64_t b = 0; b < followedBundles; b++)
        followBundle(spread(g, followedGroups, groups), spread(b, followedBundles, perGroup), share);
    work_.items = static_cast<double>(items * groups);
    work_.groups = static_cast<double>(groups);
    work_.bundles = static_cast<double>(perGroup * groups);
    return work_;
  }

 private:
  using Values = std::unordered_map<NatVar, std::int64_t>;
  // An access at one iteration of the loops around it: the lines that the bundle's items touch.
  struct Touched {
    double weight = 0;
    std::set<std::int64_t> lines;
  };

  void followBundle(std::int64_t group, std::int64_t bundle, double share) {
    touched_.clear();
    group_ = {group % groups_[0], group / groups_[0] % groups_[1], group / groups_[0] / groups_[1]};
    const std::int64_t items = local_[0] * local_[1] * local_[2];
    for (std::int64_t l = bundle * bundle_; l < std::min(items, (bundle + 1) * bundle_); l++) {
      item_ = {l % local_[0], l / local_[0] % local_[1], l / local_[0] / local_[1]};
      values_.clear();
      path_ = 0;
      follow(k_.body, share);
    }
    for (const auto& [place, t] : touched_) {
      work_.accesses += t.weight;
      const double lines = t.weight * static_cast<double>(t.lines.size());
      work_.lines += lines;
      if (k_.buffers[place.buffer].isImage) work_.imageLines += lines;
    }
  }

  std::int64_t evaluate(Nat n) const {
    return n.evaluate([&](NatVar v) {
      const auto found = values_.find(v);
      return found == values_.end() ? std::int64_t{0} : found->second;  // an index that comes from data
    });
  }

  bool holds(const kernel::Expr& condition) const {
    const auto* t = as<Test>(condition);
    if (t == nullptr) return true;  // of data: as if always
    return std::ranges::all_of(
        t->all, [&](const Comparison& c) { return kernel::holds(evaluate(c.lhs), c.relation, evaluate(c.rhs)); });
  }

  // What is loaded twice from one place is loaded once: compilers see to that.
  void access(bool stores, BufferId b, Nat index, int width, double weight) {
    const Buffer& buffer = k_.buffers[b];
    if (buffer.space == AddressSpace::constant) return;
    Touched& t = touched_[{path_, b, width, stores, index}];
    t.weight = weight;
    if (buffer.space == AddressSpace::priv) {
      t.lines.insert(0);  // interleaved, so that a bundle's are side by side
      return;
    }
    const auto bytes = static_cast<std::int64_t>(info(buffer.scalar).bytes);
    const std::int64_t first = evaluate(index) * bytes, last = first + width * bytes - 1;
    for (std::int64_t line = first / line_; line <= last / line_; line++) t.lines.insert(line);
  }

  void follow(const kernel::Expr& e, double weight) {
    if (const auto* l = as<Load>(e)) access(false, l->buffer, l->index, e.type.width, weight);
    if (const auto* c = as<Choose>(e)) return follow(holds(*c->condition) ? *c->then : *c->otherwise, weight);
    forEachChild(e, [&](const ExprPtr& child) { follow(*child, weight); });
  }

  void follow(const Block& block, double weight) {
    for (const Stmt& s : block) {
      if (const auto* loop = as<For>(s)) {
        follow(*loop, weight);
        continue;
      }
      if (const auto* i = as<If>(s)) {
        follow(holds(*i->condition) ? i->then : i->otherwise, weight);
        continue;
      }
      forEachRoot(s, [&](const ExprPtr& e) { follow(*e, weight); });
      if (const auto* d = as<DeclareIndex>(s)) {
        const auto* known = as<Index>(d->value);
        values_[d->variable] = known != nullptr ? evaluate(known->value) : 0;
      }
      if (const auto* st = as<Store>(s)) access(true, st->buffer, st->index, st->value->type.width, weight);
    }
  }

  void follow(const For& f, double weight) {
    const auto d = static_cast<std::size_t>(f.dim);
    std::int64_t first = 0, step = 1;
    if (f.kind == LoopKind::group) first = group_[d], step = groups_[d];
    if (f.kind == LoopKind::local) first = item_[d], step = local_[d];
    if (f.kind == LoopKind::global) first = group_[d] * local_[d] + item_[d], step = groups_[d] * local_[d];
    const std::int64_t count = evaluate(f.count);
    if (first >= count) return;
    const std::int64_t trips = ceilDiv(count - first, step), followed = std::min(trips, iterationsFollowed);
    const std::size_t outer = path_;
    for (std::int64_t k = 0; k < followed; k++) {
      values_[f.index] = first + spread(k, followed, trips) * step;
      path_ = outer * 31 + static_cast<std::size_t>(k) + 1;
      follow(f.body, weight * static_cast<double>(trips) / static_cast<double>(followed));
    }
    path_ = outer;
  }

  struct Place {
    std::size_t path;
    BufferId buffer;
    int width;
    bool stores;
    Nat index;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& p) const {
      return ((std::hash<Nat>()(p.index) * 31 + p.path) * 31 + p.buffer) * 64 + static_cast<std::size_t>(p.width) * 2 +
             std::size_t{p.stores};
    }
  };

  const Kernel& k_;
  const std::int64_t bundle_, line_;
  std::array<std::int64_t, 3> local_{}, groups_{}, group_{}, item_{};
  Values values_;
  std::size_t path_ = 0;
  std::unordered_map<Place, Touched, PlaceHash> touched_;
  KernelWork work_;
};

}  // namespace

KernelWork workOf(const Kernel& k, const runtime::DeviceInfo& device) {
  KernelWork work = Follower(k, device.throughput.bundle, device.cacheLineBytes).run();
  const Counts counts = count(k);
  work.operations = counts.flops / 2 + counts.integerOps;
  work.halves = counts.halfFlops / 2;
  work.groupBytes = bounds::trafficOf(k, accessesFollowed).distinct;
  work.instructions = counts.operations / 2 + counts.laneMoves;
  for (const BufferId b : usedBuffers(k.body))
    if (k.buffers[b].space == AddressSpace::global)
      work.bufferBytes += static_cast<double>(k.buffers[b].count.constant().value_or(0)) *
                          static_cast<double>(info(k.buffers[b].scalar).bytes);
  return work;
}

}  // namespace lift
