#include "analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "lift/diagnostic.hpp"
#include "lift/kernel_walk.hpp"

namespace lift::detail {

// ------------------------------------------------------------------------------------------------------------- uses

Uses::Uses(Expr parameter, Expr body) : parameter_(parameter) { visit(body, 1); }

int Uses::of(const std::vector<int>& path) const {
  int n = 0;
  for (const auto& [used, count] : counts_) {
    const auto common = static_cast<std::ptrdiff_t>(std::min(used.size(), path.size()));
    if (std::equal(used.begin(), used.begin() + common, path.begin())) n += count;
  }
  return n;
}

void Uses::visit(Expr e, int weight) {
  if (!e.hasFree(parameter_)) return;
  std::vector<int> path;
  Expr inner = e;
  while (inner.isApply() && inner.function().isPrimitive() && inner.function().prim() == Prim::get) {
    path.insert(path.begin(), static_cast<int>(*inner.function().nats()[0].constant()));
    inner = inner.argument();
  }
  if (inner == parameter_) {
    counts_[path] += weight;
    return;
  }
  if (e.isLambda()) visit(e.body(), 2);
  if (!e.isApply()) return;
  const bool let = e.function().isPrimitive() && e.function().prim() == Prim::let;
  if (let && e.argument().isLambda()) {  // runs once
    visit(e.argument().body(), weight);
  } else {
    visit(e.function(), weight);
    visit(e.argument(), weight);
  }
}

// --------------------------------------------------------------------------------------------------------- in place

namespace {

using kernel::Block;

bool isWatched(const std::vector<kernel::BufferId>& buffers, kernel::BufferId b) {
  return std::ranges::find(buffers, b) != buffers.end();
}

}  // namespace

std::vector<kernel::BufferId> storedIn(const Block& block) {
  std::set<kernel::BufferId> stored;
  kernel::forEachStmt(block, [&](const kernel::Stmt& s) {
    if (const auto* store = as<kernel::Store>(s)) stored.insert(store->buffer);
  });
  return {stored.begin(), stored.end()};
}

bool mayStoreInPlace(const Block& block, const std::vector<kernel::BufferId>& buffers) {
  std::vector<kernel::Load> pending;  // loads whose store has not come yet
  bool safe = true;
  for (const kernel::Stmt& s : block) {
    kernel::forEachExpr(s, [&](const kernel::Expr& e) {
      if (const auto* l = as<kernel::Load>(e); l && isWatched(buffers, l->buffer)) pending.push_back(*l);
    });
    kernel::forEachBlock(s, [&](const Block& inner) { safe = safe && mayStoreInPlace(inner, buffers); });
    const auto* store = as<kernel::Store>(s);
    if (!store || !isWatched(buffers, store->buffer)) continue;
    for (const kernel::Load& l : pending) safe = safe && l.buffer == store->buffer && l.index == store->index;
    pending.clear();
  }
  return safe && pending.empty();
}

// ---------------------------------------------------------------------------------------------------------- sharing

namespace {

using kernel::BufferId;
using kernel::LoopKind;

// Of the arrays that a kernel makes for itself, the parallel loops around their accesses.
class Sharing {
 public:
  explicit Sharing(const LoweredKernel& lowered) : kernel_(lowered.kernel) {
    for (std::size_t i = 0; i < lowered.arguments.size(); i++)
      if (lowered.arguments[i].temporary) depth_[kernel_.arguments[i]] = 0;
    visit(kernel_.body);
  }

  void check() const {
    for (const auto& [buffer, a] : accesses_) {
      const std::string& name = kernel_.buffers[buffer].name;
      if (isPrivate(buffer) ? !readsOwn(a) : !staysInGroup(a))
        throw UserError(ExitStatus::program,
                        fmt::format("elements of {} array {} are read by work-{} that did not compute them",
                                    isPrivate(buffer) ? "the private" : "an intermediate", name,
                                    isPrivate(buffer) ? "items" : "groups"),
                        isPrivate(buffer)
                            ? "what mapLcl leaves in private memory or an accumulator is read by mapLcl of the same "
                              "dimension, as in mapLcl(0, id); toLocal shares it"
                            : "an intermediate result of all work-groups needs toGlobal outside of every map; give "
                              "values to the sizes (--size n=…) to keep it in private memory");
    }
  }

 private:
  using Loops = std::set<std::pair<LoopKind, int>>;

  // Those that distribute over work-groups.
  static Loops overGroups(Loops loops) {
    std::erase_if(loops, [](const auto& l) { return l.first == LoopKind::local; });
    return loops;
  }

  // Where an access is, as far as it depends on the loop of one kind and dimension: coefficient * index + rest.
  struct Place {
    std::pair<LoopKind, int> loop;
    Nat coefficient, rest;
  };
  struct Accesses {
    std::set<Loops> stores, loads;
    std::vector<Place> stored;
    std::vector<std::optional<Place>> loaded;  // nothing where it is no such sum
  };

  void visit(const Block& block) {
    for (const kernel::Stmt& s : block) {
      if (const auto* a = as<kernel::Allocate>(s)) depth_[a->buffer] = path_.size();
      kernel::forEachAccess(s, [&](BufferId b, Nat index, int, bool isStore) {
        if (!depth_.contains(b)) return;
        Accesses& a = accesses_[b];
        (isStore ? a.stores : a.loads).insert(parallelLoops(b));
        if (isPrivate(b)) notePlaces(a, index, depth_.at(b), isStore);
      });
      const auto* loop = as<kernel::For>(s);
      if (loop) {
        path_.push_back(loop);
        if (loop->kind != LoopKind::sequential && !(loop->count == Nat(1))) all_.emplace(loop->kind, loop->dim);
      }
      kernel::forEachBlock(s, [&](const Block& inner) { visit(inner); });
      if (loop) path_.pop_back();
    }
  }

  bool isPrivate(BufferId b) const { return kernel_.buffers[b].space == kernel::AddressSpace::priv; }

  // From the allocation inwards.
  Loops parallelLoops(BufferId buffer) const {
    Loops loops;
    for (std::size_t i = depth_.at(buffer); i < path_.size(); i++)
      if (path_[i]->kind != LoopKind::sequential) loops.emplace(path_[i]->kind, path_[i]->dim);
    return loops;
  }

  void notePlaces(Accesses& a, Nat index, std::size_t from, bool isStore) const {
    for (std::size_t i = from; i < path_.size(); i++) {
      if (path_[i]->kind == LoopKind::sequential || path_[i]->count == Nat(1)) continue;
      const auto linear = index.linearIn(path_[i]->index);
      const auto place = linear
                             ? std::optional(Place{{path_[i]->kind, path_[i]->dim}, linear->coefficient, linear->rest})
                             : std::nullopt;
      if (!isStore) a.loaded.push_back(place);
      if (isStore && place && place->coefficient != Nat(0)) a.stored.push_back(*place);
    }
  }

  // Whether the work-items that read the array share the filling of it by the same loops, so that each reads what it
  // stored itself.
  static bool readsOwn(const Accesses& a) {
    Loops filled;
    for (const Loops& loops : a.stores) filled.insert(loops.begin(), loops.end());
    const bool sameLoops = std::ranges::all_of(a.loads, [&](const Loops& around) {
      return std::includes(around.begin(), around.end(), filled.begin(), filled.end());
    });
    return sameLoops && std::ranges::all_of(a.loaded, [&](const auto& load) {
             return a.stored.empty() || (load && mayBeOwn(*load, a.stored));
           });
  }

  static bool mayBeOwn(const Place& load, const std::vector<Place>& stored) {
    bool isShared = false;
    for (const Place& s : stored) {
      if (s.loop != load.loop) continue;
      isShared = true;
      const auto leastLoaded = load.rest.lower(), leastStored = s.rest.lower();
      const auto mostLoaded = load.rest.upper(), mostStored = s.rest.upper();
      const bool isOutside = (leastLoaded && leastStored && *leastLoaded < *leastStored) ||
                             (mostLoaded && mostStored && *mostLoaded > *mostStored);
      if (s.coefficient == load.coefficient && !isOutside) return true;
    }
    return !isShared;
  }

  // All accesses are under the same loops that distribute over groups, and those are all of the kernel's: groups of a
  // loop that stands elsewhere would read what one of them stores.
  bool staysInGroup(const Accesses& a) const {
    std::set<Loops> different;
    for (const auto* kind : {&a.stores, &a.loads})
      for (const Loops& loops : *kind) different.insert(overGroups(loops));
    const Loops all = overGroups(all_);
    return different.size() <= 1 &&
           (different.empty() ||
            std::includes(different.begin()->begin(), different.begin()->end(), all.begin(), all.end()));
  }

  const kernel::Kernel& kernel_;
  std::vector<const kernel::For*> path_;
  Loops all_;                              // of more than one step
  std::map<BufferId, std::size_t> depth_;  // loops around the allocation; temporaries are allocated outside of all
  std::map<BufferId, Accesses> accesses_;
};

}  // namespace

void checkSharing(const LoweredKernel& lowered) { Sharing(lowered).check(); }

// ------------------------------------------------------------------------------------------------------------ sizes

std::vector<NatVar> sizesIn(const Block& block) {
  std::set<NatVar> sizes;
  const auto note = [&](Nat n) {
    if (n.constant()) return;
    for (const NatVar v : n.variables())
      if (v.role() == NatVar::Role::size || v.role() == NatVar::Role::tunable) sizes.insert(v);
  };
  kernel::forEachStmt(block, [&](const kernel::Stmt& s) { kernel::forEachNat(s, note); });
  return {sizes.begin(), sizes.end()};
}

}  // namespace lift::detail
