// Iterations that only add zeros are left out: those of a reduction over what an array holds where it was padded with
// zeros. Of `t[r, …] = p(r) ? x : 0` and a later `for (i …) sum = sum + t[f(i), …] * w` the loop's body is run where
// p(f(i)) holds; the branch of a condition that only adds zeros goes. Only where no value is infinite or NaN: their
// products with 0 are left out, too.
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
      fill(s, {});
    }
    padded_ = before;  // another iteration fills it anew
  }

 private:
  // What is padded from this statement on.
  void fill(const Stmt& s, std::vector<For> loops) {
    if (const auto* f = as<For>(s); f != nullptr && f->body.size() == 1 && f->kind != LoopKind::group) {
      loops.push_back(withBody(*f, {}));
      return fill(f->body[0], std::move(loops));
    }
    const auto* st = as<Store>(s);
    if (st == nullptr || kernel_.buffers[st->buffer].space == AddressSpace::global || stores_[st->buffer] != 1) return;
    const auto* choice = as<Choose>(st->value);
    const auto* t = choice == nullptr ? nullptr : as<Test>(choice->condition);
    if (t == nullptr || !isZero(choice->otherwise)) return;
    Padded p{{}, {}, t->all};
    std::map<std::int64_t, For, std::greater<>> byStride;
    Nat rest = st->index;
    for (const For& f : loops) {
      const auto linear = rest.linearIn(f.index);
      const auto stride = linear ? linear->coefficient.constant() : std::nullopt;
      if (!stride || *stride < 1 || !f.count.constant() || !byStride.emplace(*stride, f).second) return;
      rest = linear->rest;
    }
    std::int64_t extent = st->value->type.width / std::max(1, kernel_.buffers[st->buffer].width);
    for (auto it = byStride.rbegin(); it != byStride.rend(); ++it) {
      if (it->first < extent) return;  // elements of one place
      extent = it->first * *it->second.count.constant();
    }
    if (rest != Nat(0)) return;
    for (const auto& [stride, f] : byStride) {
      p.loops.push_back(f);
      p.strides.push_back(stride);
    }
    padded_[st->buffer] = std::move(p);
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
      if (const auto at = atPlaces(c, p, body); at && (at->lhs.mentions(loop.index) || at->rhs.mentions(loop.index)))
        needed.push_back(*at);
    if (!needed.empty()) loop.body = {Stmt{If{test(std::move(needed)), std::move(loop.body), {}}}};
  }

  // The comparison of the places that are read, if it is the same of all of them.
  static std::optional<Comparison> atPlaces(const Comparison& c, const Padded& p, const Body& body) {
    std::optional<Comparison> all;
    for (const Nat place : body.places) {
      std::map<NatVar, Nat> indices;
      for (std::size_t d = 0; d < p.loops.size(); d++)
        indices.emplace(p.loops[d].index, mod(floorDiv(place, Nat(p.strides[d])), p.loops[d].count));
      const Comparison at{c.lhs.substitute(indices), c.relation, c.rhs.substitute(indices)};
      if (all && (at.lhs != all->lhs || at.rhs != all->rhs)) return std::nullopt;
      all = at;
    }
    const bool isInside =
        std::ranges::any_of(body.bound, [&](NatVar v) { return all->lhs.mentions(v) || all->rhs.mentions(v); });
    return isInside ? std::nullopt : all;
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
