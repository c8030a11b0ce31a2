#include "uniform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "lift/kernel_walk.hpp"

namespace lift::kernel {
namespace {

bool hasBarrier(const Stmt& s) {
  bool found = is<Barrier>(s) || is<Combine>(s);
  forEachBlock(s, [&](const Block& b) { found = found || std::ranges::any_of(b, hasBarrier); });
  return found;
}

class Builder {
 public:
  Builder(Kernel& k, const Dependence& d, const Placement& placed) : k_(k), dependence_(d), placed_(placed) {}

  Block block(const Block& from) {
    Block to;
    for (const Stmt& s : from) {
      const auto barrier = placed_.find(&s);
      if (barrier != placed_.end()) to.push_back({barrier->second});
      if (const auto* f = as<For>(s)) {
        loop(*f, to);
      } else if (const auto* i = as<If>(s)) {
        branch(*i, to);
      } else {
        if (const auto* d = as<DeclareIndex>(s))
          if (!isUniform(*d->value)) varying_.insert(d->variable);
        to.push_back(s);
      }
    }
    return to;
  }

 private:
  bool isUniform(Nat n) const {
    if (n.constant() || varying_.empty()) return true;
    for (NatVar v : n.variables())
      if (varying_.contains(v)) return false;
    return true;
  }
  // Conservative: variables and memory may differ between work-items.
  bool isUniform(const Expr& e) const {
    if (is<VarRef>(e)) return false;
    if (const auto* l = as<Load>(e))
      if (!k_.buffers[l->buffer].readOnly) return false;
    bool uniform = true;
    forEachNat(e, [&](Nat n) { uniform = uniform && isUniform(n); });
    forEachChild(e, [&](const ExprPtr& c) { uniform = uniform && isUniform(*c); });
    return uniform;
  }

  void loop(const For& f, Block& to) {
    if (dependence_.distributes(f)) varying_.insert(f.index);
    For result = withBody(f, block(f.body));
    if (std::ranges::none_of(result.body, hasBarrier)) {
      to.push_back({std::move(result)});
      return;
    }
    requireUniform(f);
    const Nat n = parallelism(k_.range, f.kind, f.dim);
    const bool even = !dependence_.distributes(f) || f.trip == Trip::exactlyOnce ||
                      (f.trip == Trip::any && divides(n, f.count) == Truth::proved);
    if (even) {
      to.push_back({std::move(result)});
      return;
    }
    // The loop as rounds that all work-items make together, of which some work-items are idle in the last one.
    const bool once = f.trip == Trip::atMostOnce;
    const Nat rounds = once ? Nat(1) : ceilDiv(f.count, n);
    const NatVar round = NatVar::index(f.index.name() + "_round", rounds);
    const NatVar id = NatVar::index(f.index.name(), n);
    varying_.insert(id);
    const Nat i = once ? Nat(id) : Nat(round) * n + Nat(id);
    const std::map<NatVar, Nat> now{{f.index, i}};
    forEachStmt(result.body, [&](Stmt& s) { mapAllNats(s, [&](Nat n) { return n.substitute(now); }); });
    For items{id, n, f.kind, f.dim, Trip::exactlyOnce, 0, guarded(result.body, test({{i, Relation::less, f.count}}))};
    if (once) {
      to.push_back({std::move(items)});
    } else {
      Block body;
      body.push_back({std::move(items)});
      to.push_back({For{round, rounds, LoopKind::sequential, 0, Trip::any, 0, std::move(body)}});
    }
  }

  void branch(const If& i, Block& to) {
    If result{i.condition, block(i.then), block(i.otherwise)};
    if (isUniform(*i.condition) || !hasBarrier({result})) {
      to.push_back({std::move(result)});
      return;
    }
    appendGuarded(result, nullptr, to);
  }

  // Both sides of a conditional one after the other, everything but barriers guarded. `outer` may be null.
  void appendGuarded(const If& i, const ExprPtr& outer, Block& to) {
    const VarId c = addVariable(k_, "taken", {Scalar::boolean, 1});
    const ExprPtr no = literal(ScalarValue::ofInteger(Scalar::boolean, 0));
    to.push_back({Declare{c, outer == nullptr ? i.condition : choose(outer, i.condition, no)}});
    const ExprPtr taken = ref(c, {Scalar::boolean, 1});
    append(guarded(i.then, taken), to);
    if (i.otherwise.empty()) return;
    ExprPtr other = operation(Op::logicalNot, {taken});
    if (outer != nullptr) other = operation(Op::logicalAnd, {outer, other});
    append(guarded(i.otherwise, other), to);
  }

  static void append(Block from, Block& to) {
    for (Stmt& s : from) to.push_back(std::move(s));
  }

  // The block with everything but barriers under the guard. Declarations stay visible to what follows.
  Block guarded(const Block& from, const ExprPtr& guard) {
    Block to, segment;
    const auto flush = [&] {
      if (!segment.empty()) to.push_back({If{guard, std::move(segment), {}}});
      segment.clear();
    };
    for (const Stmt& s : from) {
      if (const auto* d = as<Declare>(s)) {
        to.push_back({Declare{d->variable, {}}});
        if (d->value) segment.push_back({Assign{d->variable, *d->value}});
      } else if (is<Allocate>(s)) {
        to.push_back(s);
      } else if (const auto* x = as<DeclareIndex>(s)) {
        if (is<Index>(x->value)) {
          to.push_back(s);  // arithmetic only, harmless for idle work-items
        } else {
          flush();
          to.push_back({DeclareIndex{x->variable, choose(guard, x->value, index(Nat(0)))}});
        }
      } else if (!hasBarrier(s)) {
        segment.push_back(s);
      } else if (const auto* f = as<For>(s)) {
        flush();
        For loop = withBody(*f, guarded(f->body, guard));
        requireUniform(*f);
        to.push_back({std::move(loop)});
      } else if (const auto* i = as<If>(s)) {
        flush();
        appendGuarded(*i, guard, to);
      } else {
        flush();
        to.push_back(s);  // the barrier or combination
      }
    }
    flush();
    return to;
  }

  // A loop that contains a barrier.
  void requireUniform(const For& f) const {
    if (isUniform(f.count) && !f.running) return;
    throw UserError(
        ExitStatus::program,
        fmt::format("kernel {}: a barrier is needed in the loop over {}, which runs {}{} times: not equally often for "
                    "all work-items of a group",
                    k_.name, f.index.name(), f.running ? "at most " : "", f.count.str()));
  }

  Kernel& k_;
  const Dependence& dependence_;
  const Placement& placed_;
  std::unordered_set<NatVar> varying_;
};

}  // namespace

Block insertBarriers(Kernel& kernel, const Dependence& dependence, const Placement& placed) {
  const Block body = std::move(kernel.body);
  return Builder(kernel, dependence, placed).block(body);
}

}  // namespace lift::kernel
