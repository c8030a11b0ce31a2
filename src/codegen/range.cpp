// Launch geometry: work-group and global sizes from the parallel loops, and single-item work outside of them.
#include <algorithm>
#include <array>
#include <set>

#include "lift/kernel_walk.hpp"
#include "lowering.hpp"

namespace lift::detail {
namespace {

using kernel::Block;
using kernel::For;
using kernel::LoopKind;

constexpr std::int64_t preferredGlobalGroup = 64;    // work-items of a group that mapGlb's dimension 0 is cut into
constexpr std::int64_t preferredSymbolicGroup = 64;  // where the amount of work is not known

using Counts = std::array<std::vector<Nat>, 3>;

void parallelCounts(const Block& block, Counts& group, Counts& local, Counts& global) {
  for (const kernel::Stmt& s : block) {
    if (const auto* f = std::get_if<For>(&s.node)) {
      const auto d = static_cast<std::size_t>(f->dim);
      if (f->kind == LoopKind::group) group[d].push_back(f->count);
      if (f->kind == LoopKind::local) local[d].push_back(f->count);
      if (f->kind == LoopKind::global) global[d].push_back(f->count);
      parallelCounts(f->body, group, local, global);
    } else if (const auto* i = std::get_if<kernel::If>(&s.node)) {
      parallelCounts(i->then, group, local, global);
      parallelCounts(i->otherwise, group, local, global);
    }
  }
}

// Whether memory is written outside of the loops that the dimension distributes.
bool storesOutside(const kernel::Kernel& k, const Block& block, int dim) {
  return std::any_of(block.begin(), block.end(), [&](const kernel::Stmt& s) {
    if (const auto* st = std::get_if<kernel::Store>(&s.node))
      return k.buffers[st->buffer].space != kernel::AddressSpace::priv;
    const auto* f = std::get_if<For>(&s.node);
    if (f && f->dim == dim && (f->kind == LoopKind::group || f->kind == LoopKind::global)) return false;
    bool found = false;
    kernel::forEachBlock(s, [&](const Block& inner) { found = found || storesOutside(k, inner, dim); });
    return found;
  });
}

Nat largest(const std::vector<Nat>& counts) {
  Nat n = counts.at(0);
  for (const Nat c : counts) n = max(n, c);
  return n;
}

// The largest divisor of n that is at most `limit`; `limit` itself when divisors would make tiny groups.
std::int64_t groupSizeFor(std::int64_t n, std::int64_t limit) {
  if (n <= limit) return n;
  std::int64_t best = 1;
  for (std::int64_t d = 2; d <= limit; d++)
    if (n % d == 0) best = d;
  return best * 4 >= limit ? best : limit;
}

// A loop of one iteration per dimension makes work-item (or group) 0 do the statement alone.
Block alone(kernel::Stmt statement, const std::vector<std::pair<LoopKind, int>>& dimensions) {
  Block block;
  block.push_back(std::move(statement));
  for (auto d = dimensions.rbegin(); d != dimensions.rend(); ++d) {
    For loop{NatVar::index("one", 1), Nat(1), d->first, d->second, kernel::Trip::any, 0, std::move(block)};
    block.clear();
    block.push_back({std::move(loop)});
  }
  return block;
}

// The memory that a statement reads and writes, where nothing that it computes is needed behind it but in memory, and
// it holds no parallel loops.
std::optional<kernel::AddressSpace> updatedBy(const kernel::Kernel& k, const kernel::Stmt& s) {
  std::set<kernel::BufferId> loaded, stored;
  std::set<kernel::VarId> declared, assigned;
  bool parallel = false;
  const auto visit = [&](const kernel::Stmt& x, const auto& self) -> void {
    if (const auto* f = std::get_if<For>(&x.node)) parallel = parallel || f->kind != LoopKind::sequential;
    if (const auto* d = std::get_if<kernel::Declare>(&x.node)) declared.insert(d->variable);
    if (const auto* a = std::get_if<kernel::Assign>(&x.node)) assigned.insert(a->variable);
    if (const auto* a = std::get_if<kernel::AssignLane>(&x.node)) assigned.insert(a->variable);
    if (const auto* st = std::get_if<kernel::Store>(&x.node)) stored.insert(st->buffer);
    kernel::forEachRoot(x, [&](const kernel::ExprPtr& root) {
      kernel::forEachExpr(*root, [&](const kernel::Expr& e) {
        if (const auto* l = std::get_if<kernel::Load>(&e.node)) loaded.insert(l->buffer);
      });
    });
    kernel::forEachBlock(x, [&](const Block& inner) {
      for (const kernel::Stmt& y : inner) self(y, self);
    });
  };
  visit(s, visit);
  if (parallel || !std::includes(declared.begin(), declared.end(), assigned.begin(), assigned.end())) return {};
  for (const kernel::BufferId b : stored)
    if (loaded.contains(b) && k.buffers[b].space != kernel::AddressSpace::priv) return k.buffers[b].space;
  return {};
}

class StoreGuard {
 public:
  explicit StoreGuard(kernel::Kernel& kernel) : kernel_(kernel) {
    for (std::size_t d = 0; d < 3; d++) {
      manyItems_[d] = kernel.range.local[d] != Nat(1);
      manyGroups_[d] = kernel.range.global[d] != kernel.range.local[d];
    }
  }

  void run() { visit(kernel_.body); }

 private:
  void visit(Block& block) {
    Block out;
    for (kernel::Stmt& s : block) {
      if (const auto space = updatedBy(kernel_, s); space && !undistributed(*space).empty()) {
        for (kernel::Stmt& wrapped : alone(std::move(s), undistributed(*space))) out.push_back(std::move(wrapped));
        continue;
      }
      if (auto* f = std::get_if<For>(&s.node)) {
        const auto d = static_cast<std::size_t>(f->dim);
        const auto saved = std::pair(items_, groups_);
        if (f->kind == LoopKind::local || f->kind == LoopKind::global) items_[d] = true;
        if (f->kind == LoopKind::group || f->kind == LoopKind::global) groups_[d] = true;
        visit(f->body);
        std::tie(items_, groups_) = saved;
      } else if (auto* i = std::get_if<kernel::If>(&s.node)) {
        visit(i->then);
        visit(i->otherwise);
      } else if (const auto* st = std::get_if<kernel::Store>(&s.node)) {
        const auto dimensions = undistributed(kernel_.buffers[st->buffer].space);
        if (!dimensions.empty()) {
          for (kernel::Stmt& wrapped : alone(std::move(s), dimensions)) out.push_back(std::move(wrapped));
          continue;
        }
      }
      out.push_back(std::move(s));
    }
    block = std::move(out);
  }

  // Dimensions of the launch in which several groups or work-items would do the same to memory of the space.
  std::vector<std::pair<LoopKind, int>> undistributed(kernel::AddressSpace space) const {
    std::vector<std::pair<LoopKind, int>> dimensions;
    for (int d = 2; d >= 0; d--) {
      const auto u = static_cast<std::size_t>(d);
      if (space == kernel::AddressSpace::global && manyGroups_[u] && !groups_[u])
        dimensions.emplace_back(LoopKind::group, d);
      if (space != kernel::AddressSpace::priv && manyItems_[u] && !items_[u])
        dimensions.emplace_back(LoopKind::local, d);
    }
    return dimensions;
  }

  kernel::Kernel& kernel_;
  std::array<bool, 3> manyItems_{}, manyGroups_{};  // of the launch
  std::array<bool, 3> items_{}, groups_{};          // distributed by the loops around
};

}  // namespace

void chooseRange(kernel::Kernel& kernel, const CompileOptions& options) {
  Counts group, local, global;
  parallelCounts(kernel.body, group, local, global);
  std::int64_t room = options.maxGroupSize;
  for (std::size_t d = 0; d < 3; d++) {
    Nat size = 1;
    if (options.local[d]) {
      size = *options.local[d];
    } else if (!local[d].empty()) {
      const auto n = largest(local[d]).constant();
      size = n ? std::min(*n, room) : std::min(preferredSymbolicGroup, room);
    } else if (!global[d].empty() && d == 0) {
      const std::int64_t limit = std::min(preferredGlobalGroup, room);
      const auto n = largest(global[d]).constant();
      size = n ? groupSizeFor(*n, limit) : limit;
    }
    room = std::max<std::int64_t>(1, room / *size.constant());
    Nat groups = 1;
    if (options.groups[d])
      groups = *options.groups[d];
    else if (!group[d].empty())
      groups = largest(group[d]);
    else if (!global[d].empty())
      groups = ceilDiv(largest(global[d]), size);
    // Where the loops are of no elements there is still what is done outside of them.
    if (storesOutside(kernel, kernel.body, static_cast<int>(d))) groups = max(1, groups);
    kernel.range.local[d] = size;
    kernel.range.global[d] = groups * size;
  }
}

void guardSharedStores(kernel::Kernel& kernel) { StoreGuard(kernel).run(); }

}  // namespace lift::detail
