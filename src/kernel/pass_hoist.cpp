// Names for index arithmetic: what several accesses share, and what a loop would compute again and again.
//
// An integer is a sum; its terms belong to the block that defines the innermost of their variables. The partial sums
// from the outermost block inwards are what can be computed early. First repeated quotients and remainders get names,
// then the partial sums that are used twice or below a loop, and cost more than one operation.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "lift/kernel_walk.hpp"
#include "lift/nat_code.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

std::vector<Nat> termsOf(Nat n) { return n.kind() == Nat::Kind::sum ? n.operands() : std::vector<Nat>{n}; }

int cost(Nat n) {
  int c = 0;
  for (Nat o : n.operands()) c += cost(o);
  switch (n.kind()) {
    case Nat::Kind::sum:
    case Nat::Kind::product: return c + static_cast<int>(n.operands().size()) - 1;
    case Nat::Kind::floorDiv:
    case Nat::Kind::mod: return c + 4;
    case Nat::Kind::min:
    case Nat::Kind::max: return c + 1;
    default: return c;
  }
}

bool isDivision(Nat n) { return n.kind() == Nat::Kind::floorDiv || n.kind() == Nat::Kind::mod; }

std::string nameFor(Nat n, const std::string& wish) {
  if (!isDivision(n)) return wish;
  const auto a = n.operands()[0].variable();
  const auto b = n.operands()[1];
  const char* what = n.kind() == Nat::Kind::mod ? "mod" : "div";
  if (a && b.constant()) return fmt::format("{}_{}_{}", a->name(), what, *b.constant());
  return a ? fmt::format("{}_{}", a->name(), what) : what;
}

// Rebuilds an integer with every quotient and remainder replaced by f.
template <class F>
Nat mapDivisions(Nat n, F&& f) {
  if (n.constant() || n.variable()) return n;
  if (isDivision(n)) return f(n);
  const auto& parts = n.operands();
  Nat result = mapDivisions(parts[0], f);
  for (std::size_t i = 1; i < parts.size(); i++) result = combine(n.kind(), result, mapDivisions(parts[i], f));
  return result;
}

bool hasDivision(Nat n) {
  if (isDivision(n)) return true;
  return std::ranges::any_of(n.operands(), hasDivision);
}

// One walk in execution order that first counts, then rewrites; blocks are numbered in the order of entering them.
class Hoist {
 public:
  Hoist(Kernel& k, bool divisions) : k_(k), divisions_(divisions) {}

  void run() {
    for (NatVar v : k_.sizes) level_[v] = 0;
    count(k_.body, false);
    decide();
    if (names_.empty()) return;
    nextBlock_ = 0;
    k_.body = rewrite(k_.body, false);
  }

 private:
  struct Level {
    int block;
    bool repeats;  // the body of a loop that may run more than once
    const Stmt* current = nullptr;
  };
  struct Candidate {
    Nat value;           // without names
    int block;           // where it belongs
    const Stmt* before;  // first statement there that needs it
    int outer;           // the candidate that is its largest part, or -1
    Nat rest;            // what is added to that
    int uses = 0;
    bool repeated = false;  // used below a loop that its block is not in
    std::string wish;
    std::optional<NatVar> name;
  };
  struct KeyHash {
    std::size_t operator()(const std::pair<int, Nat>& k) const {
      return k.second.hash() * 31 + static_cast<std::size_t>(k.first);
    }
  };

  std::size_t levelOf(Nat n) const {
    std::size_t level = 0;
    for (NatVar v : n.variables()) {
      const auto found = level_.find(v);
      level = std::max(level, found == level_.end() ? levels_.size() - 1 : found->second);
    }
    return level;
  }

  int use(std::size_t level, Nat value, std::size_t from, int outer, Nat rest, const std::string& wish) {
    const auto [at, isNew] = index_.try_emplace({levels_[level].block, value}, static_cast<int>(candidates_.size()));
    if (isNew)
      candidates_.push_back({value, levels_[level].block, levels_[level].current, outer, rest, 0, false, wish, {}});
    Candidate& c = candidates_[static_cast<std::size_t>(at->second)];
    c.uses++;
    for (std::size_t l = level + 1; l <= from; l++) c.repeated = c.repeated || levels_[l].repeats;
    return at->second;
  }

  // The terms of a sum without constant by levels, from the outermost inwards.
  std::vector<std::pair<std::size_t, Nat>> byLevel(Nat n) const {
    std::map<std::size_t, Nat> sums;
    for (Nat t : termsOf(n)) {
      const auto [at, isNew] = sums.try_emplace(levelOf(t), t);
      if (!isNew) at->second = at->second + t;
    }
    return {sums.begin(), sums.end()};
  }

  // Accesses that differ by a constant are one for all purposes but the number of uses.
  static Nat withoutConstant(Nat n) {
    if (n.kind() != Nat::Kind::sum) return n;
    const Nat last = n.operands().back();
    return last.constant() ? n - last : n;
  }

  void countNat(Nat n, const std::string& wish) {
    if (n.constant() || n.variable()) return;
    const Nat base = withoutConstant(n);
    const auto [at, isNew] = seen_.try_emplace({levels_.back().block, base}, -1);
    if (divisions_) {
      if (!isNew || !hasDivision(base)) return;
      mapDivisions(base, [&](Nat d) {
        use(levelOf(d), d, levels_.size() - 1, -1, d, wish);
        return d;
      });
      return;
    }
    if (!isNew) {
      candidates_[static_cast<std::size_t>(at->second)].uses++;
      return;
    }
    int outer = -1;
    Nat sum = 0;
    const auto parts = byLevel(base);
    // A partial sum counts as used by the next larger one, once, and the whole by every access.
    for (std::size_t i = 0; i < parts.size(); i++) {
      sum = sum + parts[i].second;
      const bool whole = i + 1 == parts.size();
      const std::size_t level = parts[i].first;
      const auto known = index_.find({levels_[level].block, sum});
      if (!whole && known != index_.end()) {
        const Nat next = sum + parts[i + 1].second;
        if (index_.contains({levels_[parts[i + 1].first].block, next})) {
          outer = known->second;
          continue;
        }
      }
      const std::size_t from = whole ? levels_.size() - 1 : parts[i + 1].first;
      outer = use(level, sum, from, outer, parts[i].second, wish);
    }
    seen_[{levels_.back().block, base}] = outer;
  }

  template <class F>
  void eachNat(const Stmt& s, F&& f) {
    forEachExpr(s, [&](const Expr& e) {
      const auto* l = as<Load>(e);
      const std::string& wish = l != nullptr ? wishFor(l->buffer) : plain_;
      forEachNat(e, [&](Nat n) { f(n, wish); });
    });
    if (const auto* st = as<Store>(s)) f(st->index, wishFor(st->buffer));
    if (const auto* p = as<Prefetch>(s)) f(p->index, wishFor(p->buffer));
    if (const auto* x = as<Fault>(s)) f(x->bound, plain_);
  }
  const std::string& wishFor(BufferId b) {
    std::string& s = wishes_[b];
    if (s.empty()) s = k_.buffers[b].name + "_at";
    return s;
  }

  static bool repeats(const For& f) { return f.kind == LoopKind::sequential || f.trip == Trip::any; }

  void count(const Block& b, bool repeating) {
    levels_.push_back({nextBlock_++, repeating});
    const std::size_t here = levels_.size() - 1;
    for (const Stmt& s : b) {
      levels_[here].current = &s;
      eachNat(s, [&](Nat n, const std::string& wish) { countNat(n, wish); });
      if (const auto* d = as<DeclareIndex>(s)) level_[d->variable] = here;
      if (const auto* f = as<For>(s)) {
        level_[f->index] = here + 1;
        count(f->body, repeats(*f));
      } else {
        forEachBlock(s, [&](const Block& inner) { count(inner, false); });
      }
    }
    levels_.pop_back();
  }

  void decide() {
    // Outer candidates come before those that contain them.
    for (Candidate& c : candidates_) {
      const bool outerNamed = c.outer >= 0 && candidates_[static_cast<std::size_t>(c.outer)].name;
      const Nat remaining = outerNamed ? c.rest : c.value;
      const int operations = cost(remaining) + (outerNamed ? 1 : 0);
      const bool worth = divisions_ ? c.uses >= 2 : operations >= 2 && (c.uses >= 2 || c.repeated);
      if (!worth) continue;
      c.name =
          NatVar::fresh(nameFor(c.value, c.wish), c.value.lower().value_or(INT32_MIN),
                        c.value.upper() ? std::optional(Nat(*c.value.upper())) : std::nullopt, NatVar::Role::index);
      names_.emplace(std::pair{c.block, c.value}, *c.name);
      insert_[c.before].push_back(static_cast<std::size_t>(&c - candidates_.data()));
    }
  }

  Nat named(Nat n) {
    if (n.constant() || n.variable()) return n;
    const Nat base = withoutConstant(n);
    const auto [at, isNew] = renamed_.try_emplace({levels_.back().block, base}, base);
    if (isNew) at->second = renamed(base);
    if (at->second == base) return n;
    return base == n ? at->second : at->second + n.operands().back();
  }

  Nat renamed(Nat n) const {
    if (divisions_) {
      if (!hasDivision(n)) return n;
      return mapDivisions(n, [&](Nat d) {
        const auto found = names_.find({levels_[levelOf(d)].block, d});
        return found == names_.end() ? d : Nat(found->second);
      });
    }
    const auto parts = byLevel(n);
    Nat sum = 0, result = n;
    for (const auto& [level, terms] : parts) {
      sum = sum + terms;
      const auto found = names_.find({levels_[level].block, sum});
      if (found != names_.end()) result = n - sum + Nat(found->second);
    }
    return result;
  }

  Block rewrite(const Block& b, bool repeating) {
    levels_.push_back({nextBlock_++, repeating});
    const std::size_t here = levels_.size() - 1;
    Block to;
    for (const Stmt& s : b) {
      const auto declared = insert_.find(&s);
      if (declared != insert_.end())
        for (const std::size_t i : declared->second) {
          const Candidate& c = candidates_[i];
          const auto* outer = c.outer >= 0 ? &candidates_[static_cast<std::size_t>(c.outer)] : nullptr;
          const Nat value = outer == nullptr ? c.value : outer->name ? Nat(*outer->name) + c.rest : partial(c);
          to.push_back({DeclareIndex{*c.name, index(value)}});
        }
      Stmt copy;
      if (const auto* f = as<For>(s)) {
        level_[f->index] = here + 1;
        copy.node = withBody(*f, rewrite(f->body, repeats(*f)));
      } else if (const auto* i = as<If>(s)) {
        const ExprPtr condition = mapAllNats(i->condition, [&](Nat n) { return named(n); });
        Block then = rewrite(i->then, false);
        copy.node = If{condition, std::move(then), rewrite(i->otherwise, false)};
      } else {
        copy = s;
        mapAllNats(copy, [&](Nat n) { return named(n); });
        if (const auto* d = as<DeclareIndex>(s)) level_[d->variable] = here;
      }
      to.push_back(std::move(copy));
    }
    levels_.pop_back();
    return to;
  }

  // The value of a candidate in terms of the nearest named part.
  Nat partial(const Candidate& c) const {
    if (c.outer < 0) return c.value;
    const Candidate& o = candidates_[static_cast<std::size_t>(c.outer)];
    return (o.name ? Nat(*o.name) : partial(o)) + c.rest;
  }

  Kernel& k_;
  const bool divisions_;
  int nextBlock_ = 0;
  std::vector<Level> levels_;
  std::unordered_map<NatVar, std::size_t> level_;
  std::vector<Candidate> candidates_;
  std::unordered_map<std::pair<int, Nat>, int, KeyHash> index_;
  std::unordered_map<std::pair<int, Nat>, int, KeyHash> seen_;     // by the block of the access: its candidate
  std::unordered_map<std::pair<int, Nat>, Nat, KeyHash> renamed_;  // likewise
  std::unordered_map<std::pair<int, Nat>, NatVar, KeyHash> names_;
  std::unordered_map<const Stmt*, std::vector<std::size_t>> insert_;
  std::unordered_map<BufferId, std::string> wishes_;
  const std::string plain_ = "at";
};

}  // namespace

Kernel hoistPass(Kernel kernel, const PassOptions&) {
  Hoist(kernel, true).run();
  Hoist(kernel, false).run();
  return kernel;
}

}  // namespace lift::kernel
