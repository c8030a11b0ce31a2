#include "equal_indices.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "lift/kernel_walk.hpp"

namespace lift::kernel {
namespace {

bool isSame(const ExprPtr& a, const ExprPtr& b);

template <class T>
bool areSame(const T& a, const T& b) {
  return std::ranges::equal(a, b, [](const ExprPtr& x, const ExprPtr& y) { return isSame(x, y); });
}

// Whether two expressions compute the same of the same variables and memory.
bool isSame(const ExprPtr& a, const ExprPtr& b) {
  if (a == b) return true;
  if (a->type != b->type || a->node.index() != b->node.index()) return false;
  const auto as = [&]<class T>(const T&) -> const T& { return std::get<T>(b->node); };
  return match(
      a->node, [&](const Literal&) { return isSameLiteral(a, b); },
      [&](const Index& i) { return i.value == as(i).value; },
      [&](const VarRef& v) { return v.variable == as(v).variable; },
      [&](const Load& l) { return l.buffer == as(l).buffer && l.index == as(l).index; },
      [&](const Operation& o) { return o.op == as(o).op && areSame(o.args, as(o).args); },
      [&](const Convert& c) { return isSame(c.value, as(c).value); },
      [&](const Splat& s) { return isSame(s.value, as(s).value); },
      [&](const Lane& l) { return l.lane == as(l).lane && isSame(l.vector, as(l).vector); },
      [&](const AnyLane& l) { return isSame(l.vector, as(l).vector); },
      [&](const MakeVector& m) { return areSame(m.lanes, as(m).lanes); },
      [&](const Test& t) { return t.all == as(t).all; },
      [&](const Choose& c) {
        const Choose& d = as(c);
        return isSame(c.condition, d.condition) && isSame(c.then, d.then) && isSame(c.otherwise, d.otherwise);
      });
}

class EqualIndices {
 public:
  explicit EqualIndices(const Kernel& k) : changes_(k.variables.size()), stored_(k.buffers.size()) {
    std::vector<bool> isDeclared(k.variables.size());
    forEachStmt(k.body, [&](const Stmt& s) {
      match(
          s.node,
          [&](const Declare& d) {
            changes_[d.variable] = changes_[d.variable] || !d.value || isDeclared[d.variable];
            isDeclared[d.variable] = true;
          },
          [&](const Assign& a) { changes_[a.variable] = true; },
          [&](const AssignLane& a) { changes_[a.variable] = true; },
          [&](const Combine& c) { changes_[c.variable] = true; }, [&](const Store& st) { stored_[st.buffer] = true; },
          [](const auto&) {});
    });
  }

  void run(Block& b) {
    const std::size_t outside = known_.size();
    Block kept;
    for (Stmt& s : b) {
      if (!same_.empty()) mapAllNats(s, [&](Nat n) { return n.substitute(same_); });
      if (const auto* d = as<DeclareIndex>(s); d != nullptr && staysTheSame(*d->value)) {
        const auto first = known_.end() - static_cast<std::ptrdiff_t>(std::min(known_.size(), mostCompared));
        const auto equal = std::find_if(first, known_.end(), [&](const auto& k) { return isSame(k.second, d->value); });
        if (equal != known_.end()) {
          same_.emplace(d->variable, equal->first);
          continue;
        }
        known_.emplace_back(d->variable, d->value);
      }
      forEachBlock(s, [&](Block& inner) { run(inner); });
      kept.push_back(std::move(s));
    }
    b = std::move(kept);
    known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(outside), known_.end());
  }

 private:
  bool staysTheSame(const Expr& value) const {
    bool stays = true;
    forEachExpr(value, [&](const Expr& e) {
      if (const auto* v = as<VarRef>(e)) stays = stays && !changes_[v->variable];
      if (const auto* l = as<Load>(e)) stays = stays && !stored_[l->buffer];
    });
    return stays;
  }

  static constexpr std::size_t mostCompared = 256;

  std::vector<bool> changes_, stored_;
  std::vector<std::pair<NatVar, ExprPtr>> known_;  // in scope, the last of them last
  std::map<NatVar, Nat> same_;
};

}  // namespace

void joinEqualIndices(Kernel& kernel) { EqualIndices(kernel).run(kernel.body); }

}  // namespace lift::kernel
