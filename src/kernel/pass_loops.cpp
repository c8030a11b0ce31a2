// Trip counts and complete unrolling.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "expand.hpp"
#include "mentions.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

Trip tripOf(const NDRange& range, const For& f) {
  const auto d = static_cast<std::size_t>(f.dim);
  const Nat n = parallelism(range, f.kind, f.dim);
  if (equal(f.count, n) == Truth::proved) return Trip::exactlyOnce;
  // `global` is a multiple of `local`, which the quotient does not know.
  if (f.kind == LoopKind::group && equal(f.count * range.local[d], range.global[d]) == Truth::proved)
    return Trip::exactlyOnce;
  if (lessEqual(f.count, n) == Truth::proved) return Trip::atMostOnce;
  return Trip::any;
}

// Which loops become constant indices of private arrays by unrolling.
class PrivateIndices {
 public:
  PrivateIndices(const Kernel& k, const PassOptions& options) {
    forEachStmt(k.body, [&](const Stmt& s) {
      if (const auto* f = as<For>(s))
        if (f->kind == LoopKind::sequential && !f->running && (f->unroll == 0 || f->unroll == -1))
          unrollable_.insert(f->index);
      if (const auto* d = as<DeclareIndex>(s))
        if (const auto* i = as<Index>(d->value)) definitions_.emplace(d->variable, i->value);
      forEachAccess(s, [&](BufferId b, Nat index, int width, bool isStore) {
        access(k, b, index);
        if (width > 1) ofVectors_.insert(b);
        if (width == 1 && isStore) ofScalars_.insert(b);
      });
    });
    std::vector<NatVar> variables;
    for (auto& [buffer, indices] : indices_) {
      const Buffer& b = k.buffers[buffer];
      const auto n = b.count.constant();
      const bool ofVectors = b.width > 1 || (ofVectors_.contains(buffer) && !ofScalars_.contains(buffer));
      if (!n || *n > (ofVectors ? options.scalarLimit : mostScalars) || b.scalar == Scalar::f16) continue;
      variables.clear();
      for (Nat i : indices) collect(i, variables);
      const bool all = std::ranges::all_of(variables, [&](NatVar v) { return unrollable_.contains(v); });
      if (all) arrays_.push_back(variables);
    }
    keepWanted();
  }

  // Gives up on unrolling this loop: the arrays that it indexes stay in memory, and loops that were to be unrolled only
  // for these arrays stay loops, too. Returns whether any loop was given up.
  bool refuse(NatVar loop) {
    const auto stays = [&](const std::vector<NatVar>& variables) {
      return std::ranges::find(variables, loop) != variables.end();
    };
    const std::size_t before = wanted_.size();
    std::erase_if(arrays_, stays);
    keepWanted();
    return wanted_.size() != before;
  }

  bool wants(NatVar v) const { return wanted_.contains(v); }

 private:
  static constexpr std::int64_t mostScalars = 64;  // registers, and some more

  void keepWanted() {
    wanted_.clear();
    for (const auto& variables : arrays_) wanted_.insert(variables.begin(), variables.end());
  }

  void access(const Kernel& k, BufferId b, Nat index) {
    if (k.buffers[b].space == AddressSpace::priv && !index.constant()) indices_[b].insert(index);
  }
  void collect(Nat n, std::vector<NatVar>& variables) const {
    for (NatVar v : n.variables()) {
      const auto d = definitions_.find(v);
      if (d == definitions_.end())
        variables.push_back(v);
      else
        collect(d->second, variables);
    }
  }

  std::unordered_set<NatVar> unrollable_, wanted_;
  std::unordered_map<NatVar, Nat> definitions_;
  std::map<BufferId, std::unordered_set<Nat>> indices_;
  std::set<BufferId> ofVectors_, ofScalars_;  // accessed in vectors; stored one by one
  std::vector<std::vector<NatVar>> arrays_;   // the loops that index those which may become scalars
};

std::int64_t exprNodes(const Expr& e) {
  std::int64_t n = 1;
  forEachChild(e, [&](const ExprPtr& c) { n += exprNodes(*c); });
  return n;
}

// Nodes of a block, about, after the unrolling that is decided so far; saturates.
class Sizes {
 public:
  explicit Sizes(std::function<bool(const For&)> unrolls) : unrolls_(std::move(unrolls)) {}

  std::int64_t of(const Block& b) {
    std::int64_t n = 0;
    for (const Stmt& s : b) {
      n += 1;
      forEachRoot(s, [&](const ExprPtr& e) { n += exprNodes(*e); });
      if (const auto* f = as<For>(s)) {
        n += ofLoop(*f);
      } else {
        forEachBlock(s, [&](const Block& inner) { n += of(inner); });
      }
      n = std::min(n, most);
    }
    return n;
  }

  std::int64_t ofBody(const For& f) {
    const auto found = bodies_.find(&f);
    if (found != bodies_.end()) return found->second;
    return bodies_[&f] = of(f.body);
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t ofLoop(const For& f) {
    constexpr std::int64_t loopNodes = 256;  // what a loop takes a driver, besides its body
    const std::int64_t body = ofBody(f);
    if (!unrolls_(f)) return loopNodes + body;
    const std::int64_t times = std::clamp<std::int64_t>(f.count.upper().value_or(1), 1, most);
    return body > most / times ? most : body * times;
  }
  std::function<bool(const For&)> unrolls_;
  std::unordered_map<const For*, std::int64_t> bodies_;
};

// Whether a short loop stores several scalars of each iteration far apart from each other, and next to those of the
// next iteration: unrolled, they are stored in the order of memory (pass_order).
bool storesInTurns(const Kernel& k, const For& f) {
  constexpr std::int64_t mostTrips = 16;
  if (f.count.constant().value_or(mostTrips + 1) > mostTrips) return false;
  std::map<BufferId, std::int64_t> stores;
  for (const Stmt& s : f.body) {
    const auto* st = as<Store>(s);
    if (st == nullptr || st->value->type.width != 1 || k.buffers[st->buffer].space != AddressSpace::global) continue;
    const Nat next = st->index.substitute({{f.index, Nat(f.index) + Nat(1)}});
    stores[st->buffer] += next - st->index == Nat(1) ? 1 : 0;
  }
  return std::ranges::any_of(stores, [](const auto& s) { return s.second >= 4; });
}

// Whether the iterations of a short loop compute differently: conditions compare its index with most of its values.
// Unrolled, each computes its own; some compilers (GCC) else compute all of them, and choose.
bool choosesByIteration(const For& f) {
  constexpr std::int64_t mostTrips = 8;
  const std::int64_t trips = f.count.constant().value_or(mostTrips + 1);
  if (trips < 2 || trips > mostTrips) return false;
  std::set<std::int64_t> values;
  const auto see = [&](const Expr& e) {
    const auto* test = as<Test>(e);
    if (test == nullptr) return;
    for (const Comparison& c : test->all) {
      const auto distance = (c.lhs - c.rhs).linearIn(f.index);
      const auto value = distance ? distance->rest.constant() : std::nullopt;
      if (value && (distance->coefficient == Nat(1) || distance->coefficient == Nat(-1)) && std::abs(*value) < trips)
        values.insert(std::abs(*value));
    }
  };
  for (const Stmt& s : f.body) forEachExpr(s, see);
  return 2 * static_cast<std::int64_t>(values.size()) >= trips;
}

// Loops of a few iterations inside others, small enough that every compiler writes them out; PoCL puts work-items in
// the lanes of vectors before it does. Also longer ones that divide their index, as windows and tiles that were joined
// are read: written out, quotients and remainders are numbers. (Of those of long rows pass_nest makes two.)
std::unordered_set<NatVar> tinyLoops(const Block& body) {
  constexpr std::int64_t mostTrips = 4, mostNodes = 128, mostTripsDivided = 32, mostNodesDivided = 1000;
  std::unordered_set<NatVar> tiny;
  forEachStmt(body, [&](const Stmt& outer) {
    const auto* around = as<For>(outer);
    if (around == nullptr || around->kind != LoopKind::sequential) return;
    for (const Stmt& s : around->body) {
      const auto* f = as<For>(s);
      if (f == nullptr || f->kind != LoopKind::sequential || f->unroll != 0 || f->running) continue;
      const std::int64_t trips = f->count.constant().value_or(mostTripsDivided + 1);
      if (trips < 1 || trips > mostTripsDivided || !isInnermost(*f)) continue;
      const std::int64_t nodes = trips * Sizes([](const For&) { return false; }).of(f->body);
      if ((trips <= mostTrips && nodes <= mostNodes) || (nodes <= mostNodesDivided && divisorIn(f->body, f->index) > 0))
        tiny.insert(f->index);
    }
  });
  return tiny;
}

}  // namespace

Kernel tripsPass(Kernel kernel, const PassOptions&) {
  Expander expander(kernel, [&](const For&, For& loop) -> std::int64_t {
    if (loop.count.constant().value_or(1) <= 0 || loop.count.upper().value_or(1) <= 0) return 0;
    if (loop.kind == LoopKind::sequential) return loop.count == Nat(1) ? 1 : -1;
    loop.trip = tripOf(kernel.range, loop);
    return loop.trip == Trip::exactlyOnce && loop.count == Nat(1) ? 1 : -1;
  });
  kernel.body = expander.run(kernel.body);
  return kernel;
}

Kernel unrollPass(Kernel kernel, const PassOptions& options) {
  PrivateIndices indices(kernel, options);
  const std::unordered_set<NatVar> tiny = tinyLoops(kernel.body);
  std::unordered_set<NatVar> large;  // loops that are not unrolled, though the program asks
  const auto candidate = [&](const For& f) {
    return f.kind == LoopKind::sequential && ((f.unroll == -1 && !large.contains(f.index)) ||
                                              (f.unroll == 0 && (tiny.contains(f.index) || indices.wants(f.index) ||
                                                                 storesInTurns(kernel, f) || choosesByIteration(f))));
  };
  // An array becomes scalars where all loops that index it are unrolled; it is in vain for some of them.
  for (bool more = true; more;) {
    more = false;
    Sizes sizes(candidate);
    forEachStmt(kernel.body, [&](const Stmt& s) {
      const auto* f = as<For>(s);
      if (more || !f || !candidate(*f)) return;
      const auto n = f->count.upper();
      const std::int64_t size = sizes.ofBody(*f), budget = f->unroll == -1 ? options.unrollLimit : options.unrollBudget;
      if (n && (*n <= 0 || size <= budget / *n)) return;
      if (!n && f->unroll == -1) return;  // said below
      note(options, "unroll",
           fmt::format("{} is not unrolled: {} iterations of {} nodes exceed the budget of {}", f->index.name(),
                       f->count.str(), size, budget));
      more = f->unroll == -1 ? large.insert(f->index).second : indices.refuse(f->index);
    });
  }
  const Block body = std::move(kernel.body);
  Expander expander(kernel, [&](const For& original, For& loop) -> std::int64_t {
    if (!candidate(original)) {
      if (large.contains(original.index)) loop.unroll = 0;
      return -1;
    }
    const auto n = loop.count.constant();
    if (!n) {
      if (loop.unroll == -1)
        note(options, "unroll",
             fmt::format("{} is not unrolled: its count {} is not constant", loop.index.name(), loop.count.str()));
      loop.unroll = 0;
      return -1;
    }
    return std::max<std::int64_t>(*n, 0);
  });
  kernel.body = expander.run(body);
  return kernel;
}

}  // namespace lift::kernel
