// Iterations that only add zeros are left out: those of a reduction over what an array holds where it was padded with
// zeros. Of `t[r, …] = p(r) ? x : 0` and a later `for (i …) sum = sum + t[f(i), …] * w` the loop's body is run where
// p(f(i)) holds, of several sums where it does for one of them; the branch of a condition that only adds zeros goes.
// Only where no value is infinite or NaN: their products with 0 are left out, too.
#include <algorithm>
#include <map>
#include <set>

#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

// An array that a nest of loops fills: its elements are zero where the condition is false of the loops' indices.
struct Padded {
  std::vector<For> loops;  // without their bodies; the array's dimensions, largest stride first
  std::vector<std::int64_t> strides;
  std::vector<Comparison> condition;
};

bool isZero(const ExprPtr& e) {
  const auto* l = as<Literal>(e);
  return l != nullptr && l->value.asDouble() == 0;
}

class Absent {
 public:
  explicit Absent(Kernel& kernel) : kernel_(kernel) {
    forEachStmt(kernel_.body, [&](const Stmt& s) {
      if (const auto* st = as<Store>(s)) stores_[st->buffer]++;
    });
  }

  void block(Block& b) {
    const auto before = padded_;
    for (Stmt& s : b) {
      if (auto* loop = as<For>(s); loop != nullptr && loop->kind == LoopKind::sequential) leaveOut(*loop);
      if (auto* branch = as<If>(s); branch != nullptr && addsZeros(branch->otherwise)) branch->otherwise.clear();
      forEachBlock(s, [&](Block& inner) { block(inner); });
      fill(s);
    }
    padded_ = before;  // another iteration fills it anew
  }

 private:
  // What is padded from this statement on: an array whose stores are all inside of a nest of loops, the innermost of
  // which may have several, in loops of their own.
  void fill(const Stmt& s) {
    std::vector<For> loops;
    const Block* body = nullptr;
    for (const For* f = as<For>(s); f != nullptr && f->kind != LoopKind::group;) {
      loops.push_back(withBody(*f, {}));
      body = &f->body;
      f = body->size() == 1 ? as<For>(body->front()) : nullptr;
    }
    if (body == nullptr || anyStmt(*body, [](const Stmt& inner) { return is<If>(inner); })) return;
    std::vector<const Store*> stores;
    std::vector<NatVar> inside;  // known in the body alone
    forEachStmt(*body, [&](const Stmt& inner) {
      if (const auto* st = as<Store>(inner)) stores.push_back(st);
      if (const auto* f = as<For>(inner)) inside.push_back(f->index);
      if (const auto* d = as<DeclareIndex>(inner)) inside.push_back(d->variable);
    });
    if (stores.empty()) return;
    const BufferId array = stores[0]->buffer;
    if (kernel_.buffers[array].space == AddressSpace::global || stores_[array] != int(stores.size())) return;
    std::optional<Padded> all;
    std::int64_t extent = 0;  // of an iteration's elements
    for (const Store* st : stores) {
      auto p = st->buffer == array ? paddedBy(*st, loops, extent) : std::nullopt;
      if (!p || (all && all->strides != p->strides)) return;
      if (!all || all->condition.empty()) {
        all = std::move(p);
      } else if (!isZero(st->value)) {
        std::erase_if(all->condition, [&](const Comparison& c) { return !std::ranges::count(p->condition, c); });
        if (all->condition.empty()) return;
      }
    }
    for (std::size_t d = all->loops.size(); d-- > 0;) {
      if (all->strides[d] < extent) return;  // elements of one place
      extent = all->strides[d] * *all->loops[d].count.constant();
    }
    std::erase_if(all->condition, [&](const Comparison& c) {
      return std::ranges::any_of(inside, [&](NatVar v) { return c.lhs.mentions(v) || c.rhs.mentions(v); });
    });
    padded_[array] = std::move(*all);
  }

  // Of one store in the loops, without a condition if it stores zero; `extent` grows to what it writes of an
  // iteration's elements.
  std::optional<Padded> paddedBy(const Store& store, const std::vector<For>& loops, std::int64_t& extent) const {
    Padded p;
    if (!isZero(store.value)) {
      const auto* choice = as<Choose>(store.value);
      const auto* t = choice == nullptr ? nullptr : as<Test>(choice->condition);
      if (t == nullptr || t->all.empty() || !isZero(choice->otherwise)) return std::nullopt;
      p.condition = t->all;
    }
    std::map<std::int64_t, For, std::greater<>> byStride;
    Nat rest = store.index;
    for (const For& f : loops) {
      const auto linear = rest.linearIn(f.index);
      const auto stride = linear ? linear->coefficient.constant() : std::nullopt;
      if (!stride || *stride < 1 || !f.count.constant() || !byStride.emplace(*stride, f).second) return std::nullopt;
      rest = linear->rest;
    }
    const auto first = rest.lower();
    const auto last = rest.upper();
    if (!first || *first < 0 || !last) return std::nullopt;
    extent = std::max(extent, *last + store.value->type.width / std::max(1, kernel_.buffers[store.buffer].width));
    for (const auto& [stride, f] : byStride) {
      p.loops.push_back(f);
      p.strides.push_back(stride);
    }
    return p;
  }

  // Collects what a loop's iteration reads, and whether it only adds products of elements of one padded array.
  struct Body {
    std::optional<BufferId> array = {};
    std::vector<Nat> places = {};  // of the elements, of all lanes
    std::set<VarId> zeros = {};    // variables that are zero where these are
    std::set<NatVar> bound = {};   // by loops inside
    std::set<VarId> declared = {};
  };

  bool vanishes(const ExprPtr& e, Body& body) const {
    return match(
        e->node, [&](const Literal&) { return isZero(e); },
        [&](const VarRef& v) { return body.zeros.contains(v.variable); },
        [&](const Load& l) {
          if (!padded_.contains(l.buffer) || (body.array && body.array != l.buffer)) return false;
          body.array = l.buffer;
          for (int lane = 0; lane < e->type.width / std::max(1, kernel_.buffers[l.buffer].width); lane++)
            body.places.push_back(l.index + Nat(lane));
          return true;
        },
        [&](const Splat& s) { return vanishes(s.value, body); },
        [&](const Lane& l) { return vanishes(l.vector, body); },
        [&](const Operation& o) { return o.op == Op::mul && (vanishes(o.args[0], body) || vanishes(o.args[1], body)); },
        [](const auto&) { return false; });
  }

  bool onlyAdds(const Block& statements, Body& body) const {
    return std::ranges::all_of(statements, [&](const Stmt& s) {
      if (const auto* f = as<For>(s)) {
        body.bound.insert(f->index);
        return f->kind == LoopKind::sequential && !f->running && onlyAdds(f->body, body);
      }
      if (const auto* d = as<Declare>(s)) {
        body.declared.insert(d->variable);
        if (d->value && vanishes(*d->value, body)) body.zeros.insert(d->variable);
        return d->value.has_value();
      }
      const auto* a = as<Assign>(s);
      const auto* o = a == nullptr ? nullptr : as<Operation>(a->value);
      if (o == nullptr || body.declared.contains(a->variable)) return false;
      const auto isSum = [&](const ExprPtr& e) {
        const auto* v = as<VarRef>(e);
        return v != nullptr && v->variable == a->variable;
      };
      if (o->op == Op::add) return isSum(o->args[0]) && vanishes(o->args[1], body);
      return o->op == Op::fma && isSum(o->args[2]) && (vanishes(o->args[0], body) || vanishes(o->args[1], body));
    });
  }

  bool addsZeros(const Block& statements) const {
    Body body;
    return onlyAdds(statements, body) && !body.array;
  }

  void leaveOut(For& loop) {
    Body body;
    if (!onlyAdds(loop.body, body) || !body.array) return;
    const Padded& p = padded_.at(*body.array);
    std::vector<Comparison> needed;
    for (const Comparison& c : p.condition)
      if (const auto at = atPlaces(c, p, body, loop.index)) needed.push_back(*at);
    if (!needed.empty()) loop.body = {Stmt{If{test(std::move(needed)), std::move(loop.body), {}}}};
  }

  // The comparison of the places that are read by an iteration: of one of them that holds wherever it does of any. None
  // where that is not known, does not depend on the loop, or would be asked in each iteration of a loop inside.
  static std::optional<Comparison> atPlaces(const Comparison& c, const Padded& p, const Body& body, NatVar loop) {
    std::optional<Comparison> loosest;
    const auto roomOf = [](const Comparison& at) { return at.rhs - at.lhs; };
    bool differ = false;
    for (const Nat place : body.places) {
      std::map<NatVar, Nat> indices;
      for (std::size_t d = 0; d < p.loops.size(); d++)
        indices.emplace(p.loops[d].index, mod(floorDiv(place, Nat(p.strides[d])), p.loops[d].count));
      const Comparison at{c.lhs.substitute(indices), c.relation, c.rhs.substitute(indices)};
      const auto looser = loosest ? (roomOf(at) - roomOf(*loosest)).constant() : std::optional<std::int64_t>(1);
      if (!looser) return std::nullopt;
      differ = differ || (loosest && *looser != 0);
      if (*looser > 0) loosest = at;
    }
    const Nat room = roomOf(*loosest);
    if (!room.mentions(loop) || std::ranges::any_of(body.bound, [&](NatVar v) { return room.mentions(v); }))
      return std::nullopt;
    if (!differ) return loosest;
    const bool isOrder = c.relation == Relation::less || c.relation == Relation::lessEqual;
    const std::int64_t least = c.relation == Relation::less ? 1 : 0;
    const bool alwaysHolds = room.lower() && *room.lower() >= least;
    const bool isCheap = room.linearIn(loop) || !body.bound.empty();  // for what an iteration does
    return isOrder && !alwaysHolds && isCheap ? loosest : std::nullopt;
  }

  Kernel& kernel_;
  std::map<BufferId, int> stores_;
  std::map<BufferId, Padded> padded_;
};

}  // namespace

Kernel absentPass(Kernel kernel, const PassOptions& options) {
  if (options.finiteMath) Absent(kernel).block(kernel.body);
  return kernel;
}

}  // namespace lift::kernel
