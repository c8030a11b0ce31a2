// Launch geometry: work-group and global sizes from the parallel loops, and single-item work outside of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/integers.hpp"
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
  kernel::forEachStmt(block, [&](const kernel::Stmt& s) {
    const auto* f = as<For>(s);
    if (f == nullptr) return;
    const auto d = static_cast<std::size_t>(f->dim);
    if (f->kind == LoopKind::group) group[d].push_back(f->count);
    if (f->kind == LoopKind::local) local[d].push_back(f->count);
    if (f->kind == LoopKind::global) global[d].push_back(f->count);
  });
}

// Whether memory is written outside of the loops that the dimension distributes.
bool storesOutside(const kernel::Kernel& k, const Block& block, int dim) {
  return std::ranges::any_of(block, [&](const kernel::Stmt& s) {
    if (const auto* st = as<kernel::Store>(s)) return k.buffers[st->buffer].space != kernel::AddressSpace::priv;
    const auto* f = as<For>(s);
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

// Work-items of a group at most, where the user does not say it. Loops over global dimensions have as many groups as
// their size gives.
std::int64_t mostItems(const Counts& group, const Counts& global, bool isGpu) {
  if (!isGpu || std::ranges::any_of(global, [](const auto& counts) { return !counts.empty(); })) return usualGroupSize;
  Nat groups = 1;
  for (const auto& counts : group)
    if (!counts.empty()) groups = groups * largest(counts);
  return groupSizeOnGpu(groups);
}

// The largest divisor of n that is at most `limit`; `limit` itself when divisors would make tiny groups.
std::int64_t groupSizeFor(std::int64_t n, std::int64_t limit) {
  if (n <= limit) return n;
  std::int64_t best = 1;
  for (std::int64_t d = 2; d <= limit; d++)
    if (n % d == 0) best = d;
  return best * 4 >= limit ? best : limit;
}

// How many rows of `items` work-items make a work-group of a GPU: a divisor of n that makes the group large enough and
// leaves few lanes idle in the last bundle of work-items that run together.
std::int64_t rowsThatFill(std::int64_t n, std::int64_t items, std::int64_t most) {
  constexpr std::int64_t together = 32, enough = 2 * together;
  constexpr double good = 0.95;
  std::int64_t best = 1;
  double filled = 0;
  for (std::int64_t rows = 1; rows <= std::min(n, most) && filled < good; rows++) {
    const std::int64_t group = rows * items;
    const double fills = static_cast<double>(group) / static_cast<double>(std::max(enough, roundedUp(group, together)));
    if (n % rows == 0 && fills > filled) best = rows, filled = fills;
  }
  return best;
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
std::optional<kernel::AddressSpace> updatedBy(const kernel::Kernel& k, const kernel::Stmt& statement) {
  std::set<kernel::BufferId> loaded, stored;
  std::set<kernel::VarId> declared, assigned;
  bool parallel = false;
  const auto visit = [&](const kernel::Stmt& s) {
    if (const auto* f = as<For>(s)) parallel = parallel || f->kind != LoopKind::sequential;
    if (const auto* d = as<kernel::Declare>(s)) declared.insert(d->variable);
    if (const auto* a = as<kernel::Assign>(s)) assigned.insert(a->variable);
    if (const auto* a = as<kernel::AssignLane>(s)) assigned.insert(a->variable);
    parallel = parallel || is<kernel::Combine>(s);
    kernel::forEachAccess(s,
                          [&](kernel::BufferId b, Nat, int, bool isStore) { (isStore ? stored : loaded).insert(b); });
  };
  visit(statement);
  kernel::forEachBlock(statement, [&](const Block& inner) { kernel::forEachStmt(inner, visit); });
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
      if (auto* f = as<For>(s)) {
        const auto d = static_cast<std::size_t>(f->dim);
        const auto saved = std::pair(items_, groups_);
        if (f->kind == LoopKind::local || f->kind == LoopKind::global) items_[d] = true;
        if (f->kind == LoopKind::group || f->kind == LoopKind::global) groups_[d] = true;
        visit(f->body);
        std::tie(items_, groups_) = saved;
      } else if (auto* i = as<kernel::If>(s)) {
        visit(i->then);
        visit(i->otherwise);
      } else if (const auto* st = as<kernel::Store>(s)) {
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

// Few work-items, each of so many statements, are divided into as many groups as keep several cores at work, but not
// into smaller ones than fill vectors. Of shorter ones a group has several rows, where these are so much shorter than a
// group and there are enough of them.
constexpr std::int64_t fewGroups = 4, smallGroup = 8, enoughGroups = 32, muchShorter = 4;
constexpr double longItem = 4096;

// What a work-item executes, about; loops whose length is not known count as long.
double statementsOf(const Block& block) {
  double n = 0;
  for (const kernel::Stmt& s : block) {
    double inner = 1;
    kernel::forEachBlock(s, [&](const Block& b) { inner += statementsOf(b); });
    const auto* f = as<For>(s);
    const bool repeats = f != nullptr && f->kind == LoopKind::sequential;
    n += repeats ? inner * static_cast<double>(f->count.constant().value_or(longItem)) : inner;
  }
  return n;
}

// Work-items of the smallest group that fills vectors: a processor's work-items that compute in vectors fill them
// alone.
std::int64_t smallestGroup(const kernel::Kernel& kernel, bool isGpu) {
  int lanes = 1;
  for (const kernel::Variable& v : kernel.variables) lanes = std::max(lanes, v.type.width);
  return isGpu ? smallGroup : std::max<std::int64_t>(1, smallGroup / lanes);
}

// Room for what every work-item of a group has where they put it together.
void chooseParts(kernel::Kernel& kernel) {
  const auto& [items, rows, planes] = kernel.range.local;
  kernel::forEachStmt(kernel.body, [&](const kernel::Stmt& s) {
    const auto* c = as<kernel::Combine>(s);
    if (c == nullptr) return;
    if (rows != Nat(1) || planes != Nat(1))
      throw UserError(ExitStatus::program, "reduceLcl in a work-group of more than one dimension",
                      "use mapLcl(0) for all that the group's work-items do");
    kernel.buffers[c->parts].count = items;
  });
}

}  // namespace

void chooseRange(kernel::Kernel& kernel, const CompileOptions& options) {
  Counts group, local, global;
  parallelCounts(kernel.body, group, local, global);
  const std::int64_t usual = mostItems(group, global, options.target.isGpu);
  // Of a graphics processor's largest group a power of two: Mali's 384 is for kernels of few registers only.
  const auto ofDevice = static_cast<std::uint64_t>(options.target.groupSize);
  const std::int64_t most = options.target.isGpu && !options.maxGroupSize
                                ? static_cast<std::int64_t>(std::bit_floor(ofDevice))
                                : options.target.groupSize;
  std::int64_t left = std::min(options.maxGroupSize.value_or(usual), most), items = 1;
  for (std::size_t d = 0; d < 3; d++) {
    const std::int64_t room = std::min(left, options.target.groupSizes[d]);
    Nat size = 1;
    if (options.local[d]) {
      size = *options.local[d];
    } else if (!local[d].empty()) {
      const auto n = largest(local[d]).constant();
      size = n ? std::min(*n, room) : std::min(preferredSymbolicGroup, room);
    } else if (!global[d].empty() && d == 0) {
      std::int64_t limit = std::min(preferredGlobalGroup, room);
      const auto n = largest(global[d]).constant();
      const bool isFlat = global[1].empty() && global[2].empty();
      if (n && isFlat && *n < fewGroups * limit && statementsOf(kernel.body) >= longItem)
        limit = std::clamp(*n / fewGroups, std::min(smallestGroup(kernel, options.target.isGpu), limit), limit);
      size = n ? groupSizeFor(*n, limit) : limit;
    } else if (!global[d].empty() && options.target.isGpu) {
      const auto n = largest(global[d]).constant();
      size = n ? rowsThatFill(*n, items, room) : std::clamp<std::int64_t>(preferredGlobalGroup / items, 1, room);
    } else if (!global[d].empty() && muchShorter * items <= preferredGlobalGroup &&
               statementsOf(kernel.body) < longItem) {
      const auto n = largest(global[d]).constant();
      const std::int64_t limit =
          std::min({preferredGlobalGroup / items, room, n.value_or(enoughGroups * room) / enoughGroups});
      if (limit > 1) size = n ? groupSizeFor(*n, limit) : limit;
    }
    items *= *size.constant();
    left = std::max<std::int64_t>(1, left / *size.constant());
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
  chooseParts(kernel);
}

namespace {

bool runsLoop(const Block& block) {
  return kernel::anyStmt<For>(block, [](const For& f) { return f.kind == LoopKind::sequential; });
}

// Whether one of the nests reads what another one stores.
bool areDependent(const std::vector<kernel::Kernel>& nests) {
  std::map<kernel::BufferId, std::set<const kernel::Kernel*>> stores, loads;
  for (const kernel::Kernel& k : nests)
    kernel::forEachStmt(k.body, [&](const kernel::Stmt& s) {
      kernel::forEachAccess(
          s, [&](kernel::BufferId b, Nat, int, bool isStore) { (isStore ? stores : loads)[b].insert(&k); });
    });
  return std::ranges::any_of(loads, [&](const auto& load) {
    const auto stored = stores.find(load.first);
    return stored != stores.end() && (stored->second.size() > 1 || stored->second != load.second);
  });
}

// Local memory of other nests takes no room.
void dropLocal(kernel::Kernel& nest) {
  const std::set<kernel::BufferId> used = kernel::usedBuffers(nest.body);
  for (kernel::BufferId b = 0; b < nest.buffers.size(); b++)
    if (nest.buffers[b].space == kernel::AddressSpace::local && !used.contains(b)) nest.buffers[b].count = 0;
}

}  // namespace

std::vector<kernel::Kernel> withRanges(kernel::Kernel whole, const CompileOptions& options) {
  chooseRange(whole, options);
  std::vector<kernel::Kernel> nests;
  for (const kernel::Stmt& s : whole.body) {
    const auto* loop = as<For>(s);
    const bool isParallel = loop && (loop->kind == LoopKind::group || loop->kind == LoopKind::global);
    if (!isParallel || !runsLoop(loop->body)) return {whole};
    nests.push_back(whole);
    nests.back().name += fmt::format("_{}", static_cast<char>('a' + nests.size() - 1));
    nests.back().body = {s};
    dropLocal(nests.back());
    chooseRange(nests.back(), options);
  }
  const bool areAlike = std::ranges::all_of(nests, [&](const kernel::Kernel& k) {
    return k.range.global == whole.range.global && k.range.local == whole.range.local;
  });
  constexpr std::size_t most = 26;  // letters
  if (areAlike || nests.size() > most || areDependent(nests)) return {whole};
  return nests;
}

void guardSharedStores(kernel::Kernel& kernel) { StoreGuard(kernel).run(); }

}  // namespace lift::detail
