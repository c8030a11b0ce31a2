// Counters: what a kernel contains and what one launch of it does.
#include <fmt/format.h>

#include <set>

#include "lift/kernel_passes.hpp"
#include "lift/kernel_walk.hpp"

namespace lift::kernel {
namespace {

class Counter {
 public:
  Counter(const Kernel& k, const std::map<NatVar, std::int64_t>& sizes) : k_(k), values_(sizes) {
    for (std::size_t d = 0; d < 3; d++) {
      local_[d] = static_cast<double>(evaluate(k.range.local[d]));
      groups_[d] = static_cast<double>(evaluate(k.range.global[d])) / local_[d];
    }
  }

  Counts run() {
    structure(k_.body);
    usedBy(k_.body);
    c_.localBytes = evaluate(localBytes(k_));
    // Work-items per dimension until a parallel loop says how the work is divided.
    work(k_.body, groups_, local_);
    return c_;
  }

 private:
  using Triple = std::array<double, 3>;

  std::int64_t evaluate(Nat n) const {
    return n.evaluate([&](NatVar v) {
      const auto found = values_.find(v);
      // An index that comes from data: the counts are estimates then.
      if (found == values_.end() && v.role() == NatVar::Role::index) return std::int64_t{0};
      if (found == values_.end()) throw UserError(ExitStatus::program, fmt::format("size {} has no value", v.name()));
      return found->second;
    });
  }
  std::int64_t bytes(const Buffer& b) const {
    return evaluate(b.count) * b.width * static_cast<std::int64_t>(info(b.scalar).bytes);
  }

  void structure(const Block& body) {
    forEachStmt(body, [&](const Stmt& s) {
      c_.statements += !is<Comment>(s);
      match(
          s.node, [&](const For& f) { c_.loops += f.trip == Trip::any; },
          [&](const Allocate& a) {
            c_.privateArrays++;
            c_.privateArrayBytes += bytes(k_.buffers[a.buffer]);
          },
          [](const auto&) {});
      forEachExpr(s, [&](const Expr& e) { c_.vectorOperations += is<Operation>(e) && e.type.width > 1; });
    });
  }

  // The variables that the block uses and does not declare.
  std::set<VarId> usedBy(const Block& body) {
    std::set<VarId> used, declared;
    for (const Stmt& s : body) {
      forEachExpr(s, [&](const Expr& e) {
        if (const auto* r = as<VarRef>(e)) used.insert(r->variable);
      });
      if (const auto v = ownRead(s)) used.insert(*v);
      if (const auto* d = as<Declare>(s)) declared.insert(d->variable);
      if (const auto* a = as<Assign>(s)) used.insert(a->variable);
      if (const auto* a = as<AssignLane>(s)) used.insert(a->variable);
      std::set<VarId> inner;
      forEachBlock(s, [&](const Block& b) { inner.merge(usedBy(b)); });
      if (is<For>(s)) c_.liveBytes = std::max(c_.liveBytes, registerBytes(inner));
      used.merge(inner);
    }
    for (const VarId v : declared) used.erase(v);
    return used;
  }

  std::int64_t registerBytes(const std::set<VarId>& variables) const {
    std::int64_t sum = 0;
    for (const VarId v : variables) {
      const ValueType type = k_.variables[v].type;
      sum += type.width * static_cast<std::int64_t>(info(type.scalar).bytes);
    }
    return sum;
  }

  static double product(const Triple& a, const Triple& b) { return a[0] * a[1] * a[2] * b[0] * b[1] * b[2]; }

  // `groups` and `items` say how often the block runs, by dimension.
  void work(const Block& b, const Triple& groups, const Triple& items) {
    const double times = product(groups, items);
    for (const Stmt& s : b) {
      forEachRoot(s, [&](const ExprPtr& e) { expr(*e, times); });
      if (is<AssignLane>(s)) c_.laneMoves += times;
      if (const auto* st = as<Store>(s)) traffic(st->buffer, st->value->type.width, times, true);
      if (is<Barrier>(s) || is<Combine>(s)) c_.barriers += times;
      if (const auto* f = as<For>(s)) loop(*f, groups, items);
      if (const auto* i = as<If>(s)) branches(*i, groups, items);
    }
  }

  // The one that does more: which is taken is not known.
  void branches(const If& i, const Triple& groups, const Triple& items) {
    const Counts before = c_;
    work(i.then, groups, items);
    if (i.otherwise.empty()) return;
    const Counts then = std::exchange(c_, before);
    work(i.otherwise, groups, items);
    const auto done = [](const Counts& c) { return c.flops + c.integerOps + c.global.loads + c.global.stores; };
    if (done(then) >= done(c_)) c_ = then;
  }

  void loop(const For& f, Triple groups, Triple items) {
    const std::int64_t n = evaluate(f.count);
    if (n <= 0) return;
    // Where inner trip counts depend on the index, look at every iteration.
    const bool each = decidesCount(f);
    scale(f, each ? 1.0 : static_cast<double>(n), groups, items);
    for (std::int64_t i = 0; i < (each ? n : 1); i++) {
      values_[f.index] = i;
      work(f.body, groups, items);
    }
    values_.erase(f.index);
  }

  static void scale(const For& f, double n, Triple& groups, Triple& items) {
    const auto d = static_cast<std::size_t>(f.dim);
    switch (f.kind) {
      case LoopKind::sequential: groups[d] *= n; break;
      case LoopKind::group: groups[d] = n; break;
      case LoopKind::local: items[d] = n; break;
      case LoopKind::global:
        groups[d] = n;
        items[d] = 1;
        break;
    }
  }

  static bool decidesCount(const For& f) {
    return anyStmt<For>(f.body, [&](const For& inner) { return inner.count.mentions(f.index); });
  }

  void traffic(BufferId b, int width, double times, bool isStore) {
    const Buffer& buffer = k_.buffers[b];
    Traffic& t = buffer.space == AddressSpace::global  ? c_.global
                 : buffer.space == AddressSpace::local ? c_.local
                                                       : c_.priv;
    const double moved = times * width * static_cast<double>(info(buffer.scalar).bytes);
    (isStore ? t.stores : t.loads) += times;
    (isStore ? t.bytesStored : t.bytesLoaded) += moved;
  }

  void expr(const Expr& e, double times) {
    if (const auto* l = as<Load>(e)) traffic(l->buffer, e.type.width, times, false);
    if (const auto* v = as<MakeVector>(e)) c_.laneMoves += times * static_cast<double>(v->lanes.size());
    if (is<Lane>(e) || is<AnyLane>(e)) c_.laneMoves += times;
    if (const auto* o = as<Operation>(e)) {
      const double lanes = times * e.type.width;
      const OpTyping typing = info(o->op).typing;
      const bool counts = typing != OpTyping::comparison && typing != OpTyping::selection;
      if (counts && isFloat(e.type.scalar)) {
        const double flops = o->op == Op::fma ? 2 * lanes : lanes;
        c_.flops += flops;
        if (e.type.scalar == Scalar::h16) c_.halfFlops += flops;
        c_.operations += times;
      }
      if (counts && !isFloat(e.type.scalar)) c_.integerOps += lanes;
    }
    forEachChild(e, [&](const ExprPtr& c) { expr(*c, times); });
  }

  const Kernel& k_;
  std::map<NatVar, std::int64_t> values_;
  Triple local_{}, groups_{};
  Counts c_;
};

}  // namespace

Counts count(const Kernel& kernel, const std::map<NatVar, std::int64_t>& sizes) { return Counter(kernel, sizes).run(); }

std::map<std::string, std::int64_t> structure(const Kernel& kernel) {
  std::map<std::string, std::int64_t> result;
  for (const char* key : {"barrier", "loop", "if", "statement", "private_array", "local_bytes"}) result[key] = 0;
  forEachStmt(kernel.body, [&](const Stmt& s) {
    match(
        s.node, [&](const Barrier&) { result["barrier"]++; }, [&](const Combine&) { result["barrier"]++; },
        [&](const For& f) {
          result["loop"] += f.trip == Trip::any;
          result["if"] += f.trip == Trip::atMostOnce;
        },
        [&](const If&) { result["if"]++; }, [&](const Allocate&) { result["private_array"]++; }, [](const auto&) {});
    result["statement"] += !is<Comment>(s);
  });
  result["local_bytes"] = localBytes(kernel).constant().value_or(0);
  return result;
}

}  // namespace lift::kernel
