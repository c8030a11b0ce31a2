// Loop fusion: sequential loops with the same count that only compute values and read the same memory become one loop,
// so that what both load is loaded once, and what both compute is computed once.
#include <algorithm>
#include <set>

#include "equal_indices.hpp"
#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

// Variables that the fused loops may assign: beyond, registers run out.
constexpr std::size_t maxAssigned = 64;

// What statements read and change.
struct Effects {
  std::set<VarId> read, written;
  std::set<NatVar> indicesUsed, indicesNamed;
  std::set<BufferId> loaded, stored;
  bool fixed = false;  // a barrier or a fault: nothing moves across it

  void add(const Stmt& s) {
    forEachNat(s, [&](Nat n) {
      for (const NatVar v : n.variables()) indicesUsed.insert(v);
    });
    if (const auto v = ownRead(s)) read.insert(*v);
    forEachExpr(s, [&](const Expr& e) {
      if (const auto* v = as<VarRef>(e)) read.insert(v->variable);
      if (const auto* l = as<Load>(e)) loaded.insert(l->buffer);
    });
    match(
        s.node, [&](const Declare& d) { written.insert(d.variable); },
        [&](const Assign& a) { written.insert(a.variable); },
        [&](const AssignLane& a) {
          read.insert(a.variable);
          written.insert(a.variable);
        },
        [&](const DeclareIndex& d) { indicesNamed.insert(d.variable); },
        [&](const Store& st) { stored.insert(st.buffer); }, [&](const Allocate& a) { stored.insert(a.buffer); },
        [&](const For& f) { indicesNamed.insert(f.index); }, [&](const Barrier&) { fixed = true; },
        [&](const Combine& c) {
          written.insert(c.variable);
          fixed = true;
        },
        [&](const Fault&) { fixed = true; }, [](const auto&) {});
    forEachBlock(s, [&](const Block& inner) {
      for (const Stmt& x : inner) add(x);
    });
  }
};

Effects effectsOf(const Stmt& s) {
  Effects e;
  e.add(s);
  return e;
}

template <class T>
bool disjoint(const std::set<T>& a, const std::set<T>& b) {
  return std::ranges::none_of(a, [&](const T& x) { return b.contains(x); });
}

// Whether two statements may change places.
bool commute(const Effects& a, const Effects& b) {
  return !a.fixed && !b.fixed && disjoint(a.read, b.written) && disjoint(a.written, b.read) &&
         disjoint(a.written, b.written) && disjoint(a.indicesUsed, b.indicesNamed) &&
         disjoint(a.indicesNamed, b.indicesUsed) && disjoint(a.loaded, b.stored) && disjoint(a.stored, b.loaded) &&
         disjoint(a.stored, b.stored);
}

const For* fusible(const Stmt& s) {
  const auto* f = as<For>(s);
  return f != nullptr && f->kind == LoopKind::sequential && !f->running ? f : nullptr;
}

// The statement with one index in place of another.
void rename(Stmt& s, NatVar from, NatVar to) {
  const std::map<NatVar, Nat> names{{from, Nat(to)}};
  mapAllNats(s, [&](Nat n) { return n.substitute(names); });
  forEachBlock(s, [&](Block& inner) {
    for (Stmt& x : inner) rename(x, from, to);
  });
}

Block fused(Block block);

// The loop at `second` as part of the one at `first`, where what stands between them lets it move there.
bool fuseInto(Block& block, std::size_t first, std::size_t second) {
  const For* a = fusible(block[first]);
  const For* b = fusible(block[second]);
  if (a == nullptr || b == nullptr || a->count != b->count || a->unroll != b->unroll) return false;
  const Effects ea = effectsOf(block[first]), eb = effectsOf(block[second]);
  if (!ea.stored.empty() || !eb.stored.empty() || disjoint(ea.loaded, eb.loaded) || !commute(ea, eb) ||
      ea.written.size() + eb.written.size() > maxAssigned)
    return false;
  // What the second needs moves in front of the first; the rest stays behind.
  std::vector<std::size_t> moved;
  std::vector<Effects> moving{eb}, staying;
  for (std::size_t i = second; i-- > first + 1;) {
    const Effects e = effectsOf(block[i]);
    const bool needed = std::ranges::any_of(moving, [&](const Effects& m) { return !commute(e, m); });
    if (!needed) {
      staying.push_back(e);
      continue;
    }
    const bool value = is<Declare>(block[i]) || is<DeclareIndex>(block[i]);
    if (!value || !commute(e, ea)) return false;
    moved.push_back(i);
    moving.push_back(e);
  }
  for (const Effects& m : moving)
    for (const Effects& s : staying)
      if (!commute(m, s)) return false;
  Block body = a->body;
  Stmt other = std::move(block[second]);
  for (Stmt& s : std::get<For>(other.node).body) {
    rename(s, std::get<For>(other.node).index, a->index);
    body.push_back(std::move(s));
  }
  For loop = withBody(*a, fused(std::move(body)));
  Block result(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(first));
  std::ranges::sort(moved);
  for (const std::size_t i : moved) result.push_back(block[i]);
  result.push_back(Stmt{std::move(loop)});
  for (std::size_t i = first + 1; i < block.size(); i++)
    if (i != second && !std::ranges::binary_search(moved, i)) result.push_back(std::move(block[i]));
  block = std::move(result);
  return true;
}

Block fused(Block block) {
  for (Stmt& s : block) forEachBlock(s, [](Block& inner) { inner = fused(std::move(inner)); });
  for (std::size_t second = 1; second < block.size(); second++) {
    if (fusible(block[second]) == nullptr) continue;
    for (std::size_t first = second; first-- > 0;)
      if (fuseInto(block, first, second)) {
        second = 0;  // what became one may fit another
        break;
      }
  }
  return block;
}

}  // namespace

Kernel fusePass(Kernel kernel, const PassOptions&) {
  kernel.body = fused(std::move(kernel.body));
  joinEqualIndices(kernel);
  return kernel;
}

}  // namespace lift::kernel
