// Barriers by dependence analysis.
//
// The body is walked in execution order with the list of accesses that no barrier separates from here. An access that
// conflicts with one of them needs a barrier: right before its statement, or, where the earlier access lies before a
// loop that the later one is in, before that loop. A loop is walked again with what its end leaves behind, until that
// is stable: so loop-carried dependences are found, and a barrier placed for them makes others superfluous.
#include <algorithm>
#include <memory>

#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"
#include "uniform.hpp"

namespace lift::kernel {
namespace {

constexpr int nowhere = -1;
// Accesses to one buffer that are told apart; beyond, one that may be anywhere stands for all.
constexpr std::size_t maxEntries = 64;
// Accesses with one base that are told apart; beyond, they become one range.
constexpr std::size_t maxConstants = 16;

struct Entry {
  Access access;
  std::size_t common = 0;       // leading loops of its path that are still in the iteration it was made in
  int anchor = nowhere;         // depth of the outermost statement around us that it was made before
  const Stmt* cover = nullptr;  // a barrier after it that fences other memory only

  bool sameKind(const Entry& o) const {
    return access.base == o.access.base && access.unknown == o.access.unknown && access.write == o.access.write &&
           access.path == o.access.path && common == o.common && anchor == o.anchor && cover == o.cover;
  }
  bool covers(const Entry& o) const {
    return sameKind(o) && (access.unknown || (access.lo <= o.access.lo && o.access.hi <= access.hi));
  }
};

// By buffer.
class Pending {
 public:
  std::map<BufferId, std::vector<Entry>> lists;

  // True when it was not covered yet.
  bool add(const Entry& e) {
    std::vector<Entry>& list = lists[e.access.buffer];
    std::size_t alike = 0;
    for (const Entry& o : list) {
      if (o.covers(e)) return false;
      alike += o.sameKind(e);
    }
    Entry added = e;
    if (alike >= maxConstants) {
      for (const Entry& o : list)
        if (o.sameKind(e)) {
          added.access.lo = std::min(added.access.lo, o.access.lo);
          added.access.hi = std::max(added.access.hi, o.access.hi);
        }
      std::erase_if(list, [&](const Entry& o) { return o.sameKind(e); });
    } else if (list.size() >= maxEntries && !e.access.unknown) {
      added.access.unknown = true;
      added.access.base = 0;
      added.access.lo = added.access.hi = 0;
      std::erase_if(list, [&](const Entry& o) {
        return o.access.write == added.access.write && o.anchor == added.anchor && o.cover == added.cover;
      });
      return add(added);
    }
    list.push_back(added);
    return true;
  }
  void addAll(const Pending& other) {
    for (const auto& [b, list] : other.lists)
      for (const Entry& e : list) add(e);
  }
  template <class F>
  void each(F&& f) {
    for (auto& [b, list] : lists)
      for (Entry& e : list) f(e);
  }
  template <class F>
  void erase(F&& f) {
    for (auto& [b, list] : lists) std::erase_if(list, f);
  }
};

class Analysis {
 public:
  Analysis(const Kernel& k, Dependence& d) : k_(k), dependence_(d), written_(k.buffers.size()) {
    std::vector<bool> read(k.buffers.size());
    forEachStmt(k.body, [&](const Stmt& s) {
      forEachAccess(s, [&](BufferId b, Nat, int, bool isStore) {
        if (!isStore)
          read[b] = true;
        else
          written_[b] = k.buffers[b].space != AddressSpace::priv;
      });
    });
    for (std::size_t b = 0; b < read.size(); b++) written_[b] = written_[b] && (read[b] || !k.storesOnce);
  }

  bool needed() const { return std::ranges::find(written_, true) != written_.end(); }

  Placement run() {
    paths_.push_back(std::make_unique<LoopPath>());
    path_ = paths_.back().get();
    visit(k_.body);
    return std::move(placed_);
  }

 private:
  struct Frame {
    const Stmt* stmt;
    Pending before;  // what was pending when we entered: pending again behind it if it never runs
  };

  // ------------------------------------------------------------------------------------------------- accesses

  void access(BufferId b, Nat index, int width, bool write, std::vector<Entry>& list) const {
    if (!written_[b]) return;
    const std::int64_t unit = k_.buffers[b].width > 1 ? 1 : width;
    const auto [base, constant] = splitConstant(index);
    list.push_back({{b, base, constant, constant + unit - 1, false, write, path_}, path_->size(), nowhere, nullptr});
  }

  std::vector<Entry> accesses(const Stmt& s) const {
    std::vector<Entry> list;
    forEachAccess(s, [&](BufferId b, Nat index, int width, bool isStore) { access(b, index, width, isStore, list); });
    return list;
  }

  bool touchesMemory(const Stmt& s) {
    const auto found = touches_.find(&s);
    if (found != touches_.end()) return found->second;
    bool any = !accesses(s).empty() || is<Barrier>(s);
    forEachBlock(s, [&](const Block& b) {
      for (const Stmt& inner : b) any = touchesMemory(inner) || any;
    });
    return touches_[&s] = any;
  }

  bool conflict(const Entry& earlier, const Entry& now) {
    const LoopPath& a = *earlier.access.path;
    const LoopPath& b = *now.access.path;
    std::size_t common = 0;
    const std::size_t most = std::min({earlier.common, a.size(), b.size()});
    while (common < most && a[common] == b[common]) common++;
    return dependence_.conflict(earlier.access, now.access, common);
  }

  // ------------------------------------------------------------------------------------------------- placement

  Barrier& placementAt(const Stmt* s) {
    const auto [at, isNew] = placed_.try_emplace(s);
    log_.push_back({s, isNew ? std::nullopt : std::optional(at->second)});
    return at->second;
  }
  void rollBack(std::size_t mark) {
    while (log_.size() > mark) {
      if (log_.back().second)
        placed_[log_.back().first] = *log_.back().second;
      else
        placed_.erase(log_.back().first);
      log_.pop_back();
    }
  }

  static void raise(Barrier& b, AddressSpace space) { (space == AddressSpace::local ? b.local : b.global) = true; }
  static bool fences(const Barrier& b, AddressSpace space) { return space == AddressSpace::local ? b.local : b.global; }
  AddressSpace spaceOf(const Entry& e) const { return k_.buffers[e.access.buffer].space; }

  void pass(const Stmt* at, const Barrier& b, Pending& list, int deepestAnchor, bool includeHere) {
    const auto precedes = [&](const Entry& e) {
      return e.anchor == nowhere ? includeHere : includeHere || e.anchor <= deepestAnchor;
    };
    list.erase([&](const Entry& e) { return precedes(e) && fences(b, spaceOf(e)); });
    list.each([&](Entry& e) {
      if (precedes(e)) e.cover = at;
    });
  }

  // Places (or strengthens) barriers so that nothing pending conflicts with the accesses of `s`.
  void resolve(const Stmt& s, const std::vector<Entry>& now) {
    bool here = false, local = false, global = false;
    int anchor = nowhere;
    for (const Entry& n : now) {
      auto& list = pending_.lists[n.access.buffer];
      for (std::size_t i = 0; i < list.size(); i++) {
        if (!conflict(list[i], n)) continue;
        if (const Stmt* cover = list[i].cover; cover != nullptr && placed_.contains(cover)) {
          raise(placementAt(cover), spaceOf(n));
          const AddressSpace space = spaceOf(n);
          pending_.erase([&](const Entry& e) { return e.cover == cover && spaceOf(e) == space; });
          i = static_cast<std::size_t>(-1);  // the list changed: look again
          continue;
        }
        (spaceOf(n) == AddressSpace::local ? local : global) = true;
        if (list[i].anchor == nowhere)
          here = true;
        else
          anchor = std::max(anchor, list[i].anchor);
      }
    }
    if (!local && !global) return;
    const Stmt* at = here ? &s : frames_[static_cast<std::size_t>(anchor)].stmt;
    Barrier& b = placementAt(at);
    b.local |= local;
    b.global |= global;
    pass(at, b, pending_, anchor, here);
    if (!here)  // it precedes the inner loops entirely, whether they run or not
      for (std::size_t f = static_cast<std::size_t>(anchor); f < frames_.size(); f++)
        pass(at, b, frames_[f].before, anchor, false);
  }

  // ----------------------------------------------------------------------------------------------------- walk

  void visit(const Block& block) {
    for (const Stmt& s : block) {
      if (const auto* b = as<Barrier>(s)) {
        pass(nullptr, *b, pending_, nowhere, true);
        continue;
      }
      if (!touchesMemory(s)) continue;
      const std::vector<Entry> now = accesses(s);
      if (!now.empty()) {
        resolve(s, now);
        for (const Entry& e : now) pending_.add(e);
      }
      if (const auto* f = as<For>(s)) loop(s, *f);
      if (const auto* i = as<If>(s)) branch(s, *i);
    }
  }

  int enter(const Stmt& s) {
    const int depth = static_cast<int>(frames_.size());
    pending_.each([&](Entry& e) {
      if (e.anchor == nowhere) e.anchor = depth;
    });
    frames_.push_back({&s, pending_});
    return depth;
  }
  void release(Pending& list, int depth) {
    Pending result;
    list.each([&](Entry& e) {
      if (e.anchor == depth) e.anchor = nowhere;
      result.add(e);
    });
    list = std::move(result);
  }

  void branch(const Stmt& s, const If& i) {
    const int depth = enter(s);  // all work-items may not come in here: barriers for the past go before it
    visit(i.then);
    const Pending afterThen = pending_;
    pending_ = frames_.back().before;
    visit(i.otherwise);
    pending_.addAll(afterThen);
    release(pending_, depth);
    frames_.pop_back();
  }

  // Whether work-items other than those of the loop's own dimension share the work of its body.
  bool distributesInside(const Block& b) const {
    return anyStmt<For>(b, [&](const For& f) { return dependence_.distributes(f); });
  }

  void loop(const Stmt& s, const For& f) {
    const int depth = enter(s);
    const LoopPath* outer = path_;
    const LoopPath*& inner = pathInside_[&f];
    if (inner == nullptr) {
      paths_.push_back(std::make_unique<LoopPath>(*path_));
      paths_.back()->push_back(&f);
      inner = paths_.back().get();
    }
    // Iterations of a parallel loop are independent; what recurs from one to the next is storage that the work-items of
    // other dimensions share.
    const bool repeats = f.trip == Trip::any && (!dependence_.distributes(f) || distributesInside(f.body));
    const std::size_t mark = log_.size();
    const Pending saved = pending_;
    const std::vector<Frame> savedFrames = frames_;
    Pending carried;
    for (bool stable = false; !stable;) {
      rollBack(mark);
      pending_ = saved;
      frames_ = savedFrames;
      pending_.addAll(carried);
      path_ = inner;
      visit(f.body);
      path_ = outer;
      stable = true;
      if (!repeats) break;
      pending_.each([&](const Entry& e) {
        if (e.anchor != nowhere) return;
        Entry again = e;
        again.common = std::min(e.common, outer->size());
        stable = !carried.add(again) && stable;
      });
    }
    const bool runs = f.trip == Trip::exactlyOnce ||
                      (f.kind == LoopKind::sequential && !f.running && f.count.lower().value_or(0) >= 1);
    if (!runs) pending_.addAll(frames_.back().before);
    release(pending_, depth);
    frames_.pop_back();
  }

  const Kernel& k_;
  Dependence& dependence_;
  std::vector<bool> written_;
  std::vector<std::unique_ptr<LoopPath>> paths_;
  std::unordered_map<const For*, const LoopPath*> pathInside_;
  const LoopPath* path_ = nullptr;
  std::unordered_map<const Stmt*, bool> touches_;
  Placement placed_;
  std::vector<std::pair<const Stmt*, std::optional<Barrier>>> log_;
  Pending pending_;
  std::vector<Frame> frames_;
};

}  // namespace

Kernel barriersPass(Kernel kernel, const PassOptions&) {
  Dependence dependence(kernel.range);
  if (!dependence.anyShared()) return kernel;
  Analysis analysis(kernel, dependence);
  if (!analysis.needed()) return kernel;
  const Placement placed = analysis.run();
  kernel.body = insertBarriers(kernel, dependence, placed);
  return kernel;
}

}  // namespace lift::kernel
