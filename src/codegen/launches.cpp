// Launches that need not be: copies of intermediate results to results, work that nothing reads, and neighbours that
// one kernel can do. What is decided here is read off the kernels' trees, whatever terms they come from.
#include <fmt/format.h>

#include <algorithm>

#include "analysis.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/mapping.hpp"
#include "lowering.hpp"

namespace lift::detail {
namespace {

using kernel::AddressSpace;
using kernel::Block;
using kernel::BufferId;
using kernel::ExprPtr;
using kernel::For;
using kernel::Kernel;
using kernel::LoopKind;
using kernel::PlanBuffer;
using kernel::Stmt;

// How often statements of a kernel load from each buffer and store to it, and which store nothing but elements of
// another one, each at its own place.
struct Accesses {
  std::map<BufferId, int> loads, stores;
  std::vector<std::pair<BufferId, BufferId>> copies;  // to, from

  explicit Accesses(const Kernel& k) {
    kernel::forEachStmt(k.body, [&](const Stmt& s) {
      kernel::forEachAccess(s, [&](BufferId b, Nat, int, bool isStore) { (isStore ? stores : loads)[b]++; });
      const auto* st = as<kernel::Store>(s);
      const auto* l = st == nullptr || st->update ? nullptr : as<kernel::Load>(st->value);
      if (l != nullptr && l->index == st->index) copies.emplace_back(st->buffer, l->buffer);
    });
  }
};

// Without stores to the buffers, and loops and conditions in which there was nothing else.
Block without(const Block& from, const std::set<BufferId>& dropped) {
  Block to;
  for (const Stmt& s : from) {
    const auto* st = as<kernel::Store>(s);
    if (st != nullptr && dropped.contains(st->buffer)) continue;
    to.push_back(s);
    bool hadBlocks = false, isEmpty = true;
    kernel::forEachBlock(to.back(), [&](Block& inner) {
      inner = without(inner, dropped);
      hadBlocks = true;
      isEmpty = isEmpty && inner.empty();
    });
    if (hadBlocks && isEmpty) to.pop_back();
  }
  return to;
}

class Unneeded {
 public:
  explicit Unneeded(Launches& all) : all_(all) {}

  void run() {
    while (dropped()) {
    }
  }

 private:
  const Kernel& kernelOf(const Step& s) const { return all_.kernels[static_cast<std::size_t>(s.launch.kernel)]; }
  const PlanBuffer& buffer(int b) const { return all_.buffers[static_cast<std::size_t>(b)]; }
  const Accesses& accessesOf(const Step& s) {
    return accesses_.try_emplace(s.launch.kernel, kernelOf(s)).first->second;
  }

  // Leaves out what can be seen to be unneeded now; whether there was any.
  bool dropped() {
    std::map<int, int> loads;
    std::map<int, std::vector<std::size_t>> stores;  // by which steps
    for (std::size_t i = 0; i < all_.steps.size(); i++)
      eachArgument(all_.steps[i], [&](BufferId b, int there) {
        const Accesses& a = accessesOf(all_.steps[i]);
        if (const auto l = a.loads.find(b); l != a.loads.end()) loads[there] += l->second;
        if (const auto s = a.stores.find(b); s != a.stores.end())
          stores[there].insert(stores[there].end(), static_cast<std::size_t>(s->second), i);
      });
    for (std::size_t i = 0; i < all_.steps.size(); i++) {
      Step& step = all_.steps[i];
      const Kernel& k = kernelOf(step);
      if (!k.faults &&
          std::ranges::none_of(k.arguments, [&](BufferId b) { return accessesOf(step).stores.contains(b); })) {
        all_.steps.erase(all_.steps.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
      std::set<BufferId> unread;
      std::map<BufferId, int> at;
      eachArgument(step, [&](BufferId b, int there) {
        at[b] = there;
        if (buffer(there).role != PlanBuffer::Role::temporary || all_.fixed.contains(there) || loads.contains(there) ||
            !accessesOf(step).stores.contains(b))
          return;
        unread.insert(b);
        all_.note(fmt::format("{} is not stored: nothing reads it", buffer(there).name));
      });
      if (!unread.empty()) {
        leaveOut(step, unread);
        return true;
      }
      for (const auto& [to, from] : accessesOf(step).copies) {
        if (!at.contains(to) || !at.contains(from)) continue;
        if (!isTheSame(i, at.at(from), at.at(to), stores)) continue;
        all_.note(fmt::format("{} is stored where it is computed, not copied from {}", buffer(at.at(to)).name,
                              buffer(at.at(from)).name));
        leaveOut(step, {to});
        for (Step& s : all_.steps) std::ranges::replace(s.launch.arguments, at.at(from), at.at(to));
        return true;
      }
    }
    return false;
  }

  // Whether the step is the only one that stores to the result, and copies there all of an intermediate that nothing
  // changes afterwards.
  bool isTheSame(std::size_t step, int from, int to, const std::map<int, std::vector<std::size_t>>& stores) const {
    const PlanBuffer &a = buffer(from), &b = buffer(to);
    const auto computed = stores.find(from);
    return a.role == PlanBuffer::Role::temporary && b.role == PlanBuffer::Role::output && !a.isImage &&
           a.scalar == b.scalar && a.count() == b.count() && !all_.fixed.contains(from) &&
           stores.at(to) == std::vector{step} && !all_.runsInLoop(all_.steps[step].stage) && computed != stores.end() &&
           std::ranges::all_of(computed->second, [&](std::size_t s) { return s < step && !all_.steps[s].prepares; });
  }

  template <class F>
  void eachArgument(const Step& step, F&& f) const {
    const Kernel& k = kernelOf(step);
    for (std::size_t i = 0; i < k.arguments.size(); i++) f(k.arguments[i], step.launch.arguments[i]);
  }

  void leaveOut(Step& step, const std::set<BufferId>& stores) {
    const auto [made, isNew] = made_.try_emplace({step.launch.kernel, stores}, static_cast<int>(all_.kernels.size()));
    if (isNew) {
      Kernel k = kernelOf(step);
      k.body = without(k.body, stores);
      all_.kernels.push_back(std::move(k));
    }
    step.launch.kernel = made->second;
  }

  Launches& all_;
  std::map<int, Accesses> accesses_;                        // of kernels
  std::map<std::pair<int, std::set<BufferId>>, int> made_;  // kernels without stores of others
};

// ---------------------------------------------------------------------------------------------------------- neighbours

// What a work-item may compute, in additions and accesses, where kernels are joined: registers do not run out.
constexpr double mostOperations = 128;
constexpr std::size_t mostArguments = 32;

// Statements of another kernel as such of this one.
class Moved {
 public:
  Moved(Kernel& into, const Kernel& from, const std::map<BufferId, BufferId>& shared)
      : into_(into), firstVariable_(static_cast<kernel::VarId>(into.variables.size())) {
    into.variables.insert(into.variables.end(), from.variables.begin(), from.variables.end());
    for (BufferId b = 0; b < from.buffers.size(); b++) {
      const auto same = shared.find(b);
      buffers_.push_back(same != shared.end() ? same->second : static_cast<BufferId>(into.buffers.size()));
      if (same == shared.end())
        into.buffers.push_back(from.buffers[b]);
      else if (!from.buffers[b].readOnly)
        into.buffers[same->second].readOnly = false;
    }
    for (const BufferId b : from.arguments)
      if (!shared.contains(b)) into.arguments.push_back(buffers_[b]);
  }

  // Behind the block's own; `merges`: parallel loops over the same work-items become one.
  void append(Block& to, const Block& from, bool merges) {
    for (const Stmt& s : from) {
      const auto* loop = as<For>(s);
      auto* last = to.empty() ? nullptr : as<For>(to.back());
      if (merges && loop != nullptr && last != nullptr && loop->kind != LoopKind::sequential &&
          loop->kind == last->kind && loop->dim == last->dim && loop->count == last->count) {
        indices_.insert_or_assign(loop->index, Nat(last->index));
        append(last->body, loop->body, true);
        indices_.erase(loop->index);
      } else {
        to.push_back(moved(s));
      }
      merges = false;  // the rest stays behind what is now in front of it
    }
  }

 private:
  Stmt moved(Stmt s) {
    kernel::mapOwnNats(s, [&](Nat n) { return nat(n); });
    kernel::mapRoots(s, [&](const ExprPtr& e) { return expr(e); });
    kernel::match(
        s.node, [&](kernel::Declare& d) { d.variable += firstVariable_; },
        [&](kernel::Assign& a) { a.variable += firstVariable_; },
        [&](kernel::AssignLane& a) { a.variable += firstVariable_; },
        [&](kernel::DeclareIndex& d) {
          const NatVar v = d.variable;
          d.variable = NatVar::fresh(v.name(), v.lower(), v.upper(), v.role());
          indices_.insert_or_assign(v, Nat(d.variable));
        },
        [&](kernel::Store& st) { st.buffer = buffers_[st.buffer]; },
        [&](kernel::Prefetch& p) { p.buffer = buffers_[p.buffer]; },
        [&](kernel::Allocate& a) { a.buffer = buffers_[a.buffer]; },
        [&](For& f) {
          if (f.running) *f.running += firstVariable_;
        },
        [](auto&) {});
    kernel::forEachBlock(s, [&](Block& inner) {
      Block to;
      append(to, inner, false);
      inner = std::move(to);
    });
    return s;
  }

  Nat nat(Nat n) const { return indices_.empty() || n.constant() ? n : n.substitute(indices_); }

  ExprPtr expr(const ExprPtr& e) {
    if (const auto* v = as<kernel::VarRef>(e)) return kernel::ref(v->variable + firstVariable_, e->type);
    if (const auto* l = as<kernel::Load>(e)) return kernel::load(buffers_[l->buffer], nat(l->index), e->type);
    return kernel::mapNats(kernel::mapChildren(e, [&](const ExprPtr& c) { return expr(c); }),
                           [&](Nat n) { return nat(n); });
  }

  Kernel& into_;
  kernel::VarId firstVariable_;
  std::vector<BufferId> buffers_;  // by that of the other kernel
  std::map<NatVar, Nat> indices_;  // the same
};

// What a work-item executes, about; nothing where a loop's length is not known.
std::optional<double> operationsOf(const Block& block) {
  double operations = 0;
  for (const Stmt& s : block) {
    operations += is<kernel::Store>(s) ? 1 : 0;
    kernel::forEachExpr(s, [&](const kernel::Expr& e) {
      if (is<kernel::Load>(e)) operations++;
      if (const auto* o = as<kernel::Operation>(e)) operations += costOf(o->op);
    });
    const auto* f = as<For>(s);
    const auto times =
        f != nullptr && f->kind == LoopKind::sequential ? f->count.constant() : std::optional<std::int64_t>(1);
    bool areKnown = times.has_value();
    kernel::forEachBlock(s, [&](const Block& inner) {
      const auto own = operationsOf(inner);
      areKnown = areKnown && own;
      if (areKnown) operations += *own * static_cast<double>(*times);
    });
    if (!areKnown) return std::nullopt;
  }
  return operations;
}

// Whether its work-items are all alike and know nothing of each other.
bool isPlain(const Kernel& k) {
  const bool hasGroups = kernel::anyStmt(k.body, [](const Stmt& s) {
    const auto* f = as<For>(s);
    return (f != nullptr && (f->kind == LoopKind::group || f->kind == LoopKind::local)) || is<kernel::Combine>(s) ||
           is<kernel::Barrier>(s);
  });
  const std::set<BufferId> used = kernel::usedBuffers(k.body);
  return !k.faults && !hasGroups && std::ranges::none_of(used, [&](BufferId b) {
    return k.buffers[b].space == AddressSpace::local || k.buffers[b].isImage;
  });
}

class Joining {
 public:
  explicit Joining(Launches& all) : all_(all) {}

  void run() {
    std::vector<Step> steps;
    std::map<bool, std::size_t> last;  // by whether it prepares
    for (Step& s : all_.steps) {
      const auto before = last.find(s.prepares);
      if (before != last.end()) {
        Step& p = steps[before->second];
        if (!all_.isBetween(p.stage, s.stage) && joined(p, s)) continue;
      }
      last[s.prepares] = steps.size();
      steps.push_back(std::move(s));
    }
    all_.steps = std::move(steps);
  }

 private:
  struct Of {
    std::set<BufferId> stored;
    bool isPlain;
    std::optional<double> operations;
  };
  const Kernel& kernelOf(const Step& s) const { return all_.kernels[static_cast<std::size_t>(s.launch.kernel)]; }
  const Of& factsOf(const Step& s) {
    if (const auto known = facts_.find(s.launch.kernel); known != facts_.end()) return known->second;
    const Kernel& k = kernelOf(s);
    const std::vector<BufferId> stored = storedIn(k.body);
    return facts_[s.launch.kernel] = {{stored.begin(), stored.end()}, isPlain(k), operationsOf(k.body)};
  }

  // Makes the first step do the work of the second one as well, if it may.
  bool joined(Step& p, const Step& q) {
    const Kernel &a = kernelOf(p), &b = kernelOf(q);
    const Of &ofA = factsOf(p), &ofB = factsOf(q);
    if (!ofA.isPlain || !ofB.isPlain || a.range.global != b.range.global || a.range.local != b.range.local)
      return false;
    std::map<BufferId, BufferId> shared;  // of b: where it is in a
    bool independent = true;
    for (std::size_t j = 0; j < b.arguments.size(); j++)
      for (std::size_t i = 0; i < a.arguments.size(); i++)
        if (p.launch.arguments[i] == q.launch.arguments[j]) {
          shared.emplace(b.arguments[j], a.arguments[i]);
          independent = independent && !ofA.stored.contains(a.arguments[i]) && !ofB.stored.contains(b.arguments[j]);
        }
    // One work-item does one after the other.
    const bool isOne = std::ranges::all_of(a.range.global, [](Nat n) { return n == Nat(1); });
    if (!isOne &&
        !(independent && ofA.operations && ofB.operations && *ofA.operations + *ofB.operations <= mostOperations))
      return false;
    if (a.arguments.size() + b.arguments.size() - shared.size() > mostArguments) return false;
    const Key key{p.launch.kernel, q.launch.kernel, shared};
    const auto [made, isNew] = made_.try_emplace(key, static_cast<int>(all_.kernels.size()));
    if (isNew) {
      all_.note(fmt::format("{} and {} are one kernel", a.name, b.name));
      Kernel k = a;
      k.name = b.name;
      k.storesOnce = a.storesOnce && b.storesOnce;
      Moved(k, b, shared).append(k.body, b.body, independent);
      k.sizes = sizesIn(k.body);
      all_.kernels.push_back(std::move(k));
    }
    p.launch.kernel = made->second;
    for (std::size_t j = 0; j < q.launch.arguments.size(); j++)
      if (!shared.contains(kernelOf(q).arguments[j])) p.launch.arguments.push_back(q.launch.arguments[j]);
    p.stage = q.stage;
    return true;
  }

  using Key = std::tuple<int, int, std::map<BufferId, BufferId>>;
  Launches& all_;
  std::map<int, Of> facts_;  // of kernels
  std::map<Key, int> made_;
};

}  // namespace

bool Launches::runsInLoop(std::size_t stage) const {
  return std::ranges::any_of(loops, [&](const auto& l) { return l.first <= stage && stage < l.last; });
}

bool Launches::isBetween(std::size_t before, std::size_t behind) const {
  const auto between = [&](std::size_t stage) { return before < stage && stage <= behind; };
  return std::ranges::any_of(loops, [&](const Outline::Loop& l) {
    return between(l.first) || between(l.last) || (l.condition && between(l.condition->at));
  });
}

void Launches::note(std::string text) const {
  if (notes != nullptr) notes->push_back({"launches", std::move(text)});
}

void leaveOutUnneeded(Launches& launches) { Unneeded(launches).run(); }
void joinNeighbours(Launches& launches) { Joining(launches).run(); }

}  // namespace lift::detail
