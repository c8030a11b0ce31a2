// What work-groups touch: the kernel's tree is run for a group with nothing but its indices.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "lift/bounds.hpp"
#include "lift/kernel_passes.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/nat_code.hpp"

namespace lift::bounds {
namespace {

using namespace kernel;

// Values of index variables by place; nothing for those that come from data.
using Values = std::vector<std::optional<std::int64_t>>;

// Elements of one buffer that a group has touched. Buffers may be larger than memory: pages are made as they are
// touched.
class Touched {
 public:
  explicit Touched(std::int64_t size) : size_(size) {}

  std::int64_t elements() const { return elements_; }
  void startGroup() {
    constexpr std::size_t mostKept = 1 << 14;
    if (pages_.size() > mostKept) pages_.clear(), last_ = nullptr;
    group_++;
    elements_ = 0;
  }
  void touch(std::int64_t first, std::int64_t count) {
    if (elements_ == size_) return;
    for (std::int64_t i = std::max<std::int64_t>(first, 0); i < std::min(first + count, size_); i++)
      if (std::exchange(stampAt(i), group_) != group_) elements_++;
  }
  void touchAll() { elements_ = size_; }

 private:
  static constexpr std::int64_t ofPage = 1 << 12;
  using Page = std::vector<std::uint32_t>;  // by element: the group that touched it last

  std::uint32_t& stampAt(std::int64_t i) {
    if (last_ == nullptr || i / ofPage != lastAt_) {
      lastAt_ = i / ofPage;
      last_ = &pages_.try_emplace(lastAt_, std::size_t{ofPage}).first->second;
    }
    return (*last_)[static_cast<std::size_t>(i % ofPage)];
  }

  std::int64_t size_, elements_ = 0, lastAt_ = 0;
  std::uint32_t group_ = 0;
  std::unordered_map<std::int64_t, Page> pages_;
  Page* last_ = nullptr;
};

class Follower {
 public:
  explicit Follower(const Kernel& k) : k_(k) {
    for (const Buffer& b : k.buffers) {
      const bool isGlobal = b.space == AddressSpace::global;
      const std::int64_t size = isGlobal ? b.count.constant().value_or(0) : 0;
      read_.emplace_back(size);
      written_.emplace_back(size);
    }
    for (std::size_t d = 0; d < 3; d++) {
      local_[d] = k.range.local[d].constant().value_or(1);
      groups_[d] = k.range.global[d].constant().value_or(1) / local_[d];
    }
  }

  std::int64_t groups() const { return groups_[0] * groups_[1] * groups_[2]; }

  // Bytes that the group touches.
  double bytesOf(std::int64_t group) {
    group_ = {group % groups_[0], group / groups_[0] % groups_[1], group / groups_[0] / groups_[1]};
    for (auto* all : {&read_, &written_})
      for (Touched& t : *all) t.startGroup();
    follow(k_.body);
    double bytes = 0;
    for (std::size_t b = 0; b < k_.buffers.size(); b++)
      bytes += static_cast<double>((read_[b].elements() + written_[b].elements()) * bytesPerElement(b));
    return bytes;
  }

 private:
  std::int64_t bytesPerElement(std::size_t b) const {
    return static_cast<std::int64_t>(info(k_.buffers[b].scalar).bytes);
  }

  std::size_t placeOf(NatVar v) {
    const auto [at, isNew] = places_.emplace(v.id(), values_.size());
    if (isNew) values_.emplace_back();
    return at->second;
  }
  std::optional<std::int64_t> evaluate(Nat n) {
    if (const auto c = n.constant()) return c;
    using Value = std::optional<std::int64_t>;
    auto code = codes_.find(n);
    if (code == codes_.end()) code = codes_.emplace(n, NatCode(n, [this](NatVar v) { return placeOf(v); })).first;
    return code->second.evaluate<Value>(
        [&](const NatCode::Leaf& l) { return l.isConstant ? Value(l.value) : values_[l.place()]; },
        [](Nat::Kind kind, const Value& a, const Value& b) { return combine(kind, a, b); });
  }

  // The variables that accesses, conditions and counts of a statement mention; whether it accesses global memory.
  struct Needs {
    std::set<std::uint64_t> variables;
    bool accesses = false;
  };
  const Needs& needsOf(const Stmt& s) {
    if (const auto found = needs_.find(&s); found != needs_.end()) return found->second;
    Needs needs;
    forEachNat(s, [&](Nat n) {
      for (const NatVar v : n.variables()) needs.variables.insert(v.id());
    });
    forEachAccess(s, [&](BufferId b, Nat, int, bool) { needs.accesses = needs.accesses || isGlobal(b); });
    forEachBlock(s, [&](const Block& block) {
      for (const Stmt& inner : block) {
        const Needs& of = needsOf(inner);
        needs.variables.insert(of.variables.begin(), of.variables.end());
        needs.accesses = needs.accesses || of.accesses;
      }
    });
    if (is<DeclareIndex>(s)) needs.accesses = true;
    return needs_.emplace(&s, std::move(needs)).first->second;
  }
  bool isGlobal(BufferId b) const { return k_.buffers[b].space == AddressSpace::global; }

  void access(std::vector<Touched>& all, BufferId b, Nat index, int width) {
    if (!isGlobal(b)) return;
    Touched& t = all[b];
    if (const auto at = evaluate(index))
      t.touch(*at, width);
    else
      t.touchAll();
  }

  std::optional<bool> truth(const kernel::Expr& e) {
    const auto* t = as<Test>(e);
    if (t == nullptr) return std::nullopt;
    for (const Comparison& c : t->all) {
      const auto a = evaluate(c.lhs), b = evaluate(c.rhs);
      if (!a || !b) return std::nullopt;
      if (!holds(*a, c.relation, *b)) return false;
    }
    return true;
  }

  void follow(const kernel::Expr& e) {
    if (const auto* l = as<Load>(e)) access(read_, l->buffer, l->index, e.type.width);
    if (const auto* c = as<Choose>(e)) {
      const auto which = truth(*c->condition);
      if (!which) follow(*c->condition);
      if (!which || *which) follow(*c->then);
      if (!which || !*which) follow(*c->otherwise);
      return;
    }
    forEachChild(e, [&](const ExprPtr& child) { follow(*child); });
  }

  void follow(const Block& block) {
    for (const Stmt& s : block) {
      if (!needsOf(s).accesses) continue;
      if (const auto* loop = as<For>(s)) {
        follow(*loop, needsOf(s));
        continue;
      }
      if (const auto* i = as<If>(s)) {
        const auto which = truth(*i->condition);
        if (!which) follow(*i->condition);
        if (!which || *which) follow(i->then);
        if (!which || !*which) follow(i->otherwise);
        continue;
      }
      forEachRoot(s, [&](const ExprPtr& e) { follow(*e); });
      if (const auto* d = as<DeclareIndex>(s)) {
        const auto* known = as<Index>(d->value);
        const auto value = known ? evaluate(known->value) : std::nullopt;
        values_[placeOf(d->variable)] = value;
      }
      if (const auto* st = as<Store>(s)) access(written_, st->buffer, st->index, st->value->type.width);
    }
  }

  // All iterations that the group's work-items make; one where nothing depends on which.
  void follow(const For& f, const Needs& needs) {
    const std::int64_t count = evaluate(f.count).value_or(0);
    const std::size_t place = placeOf(f.index);
    const auto d = static_cast<std::size_t>(f.dim);
    const auto run = [&](std::int64_t i) {
      values_[place] = i;
      follow(f.body);
    };
    switch (f.kind) {
      case LoopKind::group:
        for (std::int64_t i = group_[d]; i < count; i += groups_[d]) run(i);
        return;
      case LoopKind::global:
        for (std::int64_t first = group_[d] * local_[d]; first < count; first += groups_[d] * local_[d])
          for (std::int64_t i = first; i < std::min(first + local_[d], count); i++) run(i);
        return;
      default:
        const bool depends = needs.variables.count(f.index.id()) > 0;
        for (std::int64_t i = 0; i < (depends ? count : std::min<std::int64_t>(count, 1)); i++) run(i);
    }
  }

  const Kernel& k_;
  std::vector<Touched> read_, written_;
  std::array<std::int64_t, 3> local_{}, groups_{}, group_{};
  std::unordered_map<std::uint64_t, std::size_t> places_;
  Values values_;
  std::unordered_map<Nat, NatCode> codes_;
  std::unordered_map<const Stmt*, Needs> needs_;
};

}  // namespace

PlanTraffic trafficOf(const Kernel& k, double accessesToFollow) {
  PlanTraffic t;
  const Counts counts = count(k);
  t.global = counts.global;
  t.local = counts.local;
  Follower follower(k);
  t.groups = follower.groups();
  const double ofGroup = (counts.global.loads + counts.global.stores) / static_cast<double>(t.groups);
  t.counted =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(accessesToFollow / std::max(ofGroup, 1.0)), 1, t.groups);
  double sum = 0;
  for (std::int64_t i = 0; i < t.counted; i++) {
    const double bytes = follower.bytesOf((2 * i + 1) * t.groups / (2 * t.counted));
    sum += bytes;
    t.workingSet = std::max(t.workingSet, bytes);
  }
  t.distinct = sum * static_cast<double>(t.groups) / static_cast<double>(t.counted);
  return t;
}

PlanTraffic trafficOf(const Plan& plan) {
  PlanTraffic all;
  std::map<int, PlanTraffic> kernels;
  const std::vector<double> times = timesOfLaunches(plan, [](Nat n) { return n.constant().value_or(1); });
  for (std::size_t i = 0; i < times.size(); i++) {
    if (times[i] == 0) continue;
    const int kernel = plan.launches[i].kernel;
    if (!kernels.count(kernel)) kernels[kernel] = trafficOf(plan.kernels[static_cast<std::size_t>(kernel)]);
    const PlanTraffic& t = kernels[kernel];
    all.global += t.global * times[i];
    all.local += t.local * times[i];
    all.distinct += t.distinct * times[i];
    all.workingSet = std::max(all.workingSet, t.workingSet);
    all.groups += t.groups * static_cast<std::int64_t>(times[i]);
    all.counted += t.counted * static_cast<std::int64_t>(times[i]);
  }
  return all;
}

}  // namespace lift::bounds
