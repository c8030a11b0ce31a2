// Conditions that many values share are asked once: `a = p ? x : 0; b = p && q ? y : 0; …` becomes
// `if (p) { a = x; b = q ? y : 0; … } else { a = 0; b = 0; … }`. Compilers make a jump of each condition around a load.
// So are those of values that are declared for a branch: `v = p ? x : y; if (p) { f(v) } else { g(v) }` becomes `if (p)
// { v = x; f(v) } else { v = y; g(v) }`.
#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "expand.hpp"
#include "mentions.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

// Fewer conditions are not worth a second copy of the statements.
constexpr int fewestUses = 8;
constexpr std::int64_t mostNodes = 20'000;  // of the statements that are copied

using Conjunction = std::vector<Comparison>;
bool contains(const Conjunction& all, const Comparison& c) { return std::ranges::find(all, c) != all.end(); }
bool includes(const Conjunction& all, const Conjunction& some) {
  return std::ranges::all_of(some, [&](const Comparison& c) { return contains(all, c); });
}

const Test* testOf(const Expr& e) {
  const auto* c = as<Choose>(e);
  return c == nullptr ? nullptr : as<Test>(c->condition);
}

// Computes only, in sequence, and declares nothing that later statements see.
bool isCopied(const Stmt& s) {
  if (const auto* f = as<For>(s))
    return f->kind == LoopKind::sequential && !f->running &&
           std::ranges::all_of(f->body, [](const Stmt& x) { return isCopied(x) || is<Declare>(x); });
  return is<Assign>(s) || is<AssignLane>(s) || is<Store>(s);
}

template <class F>
void forEachStmt(const Stmt& s, F&& f) {
  f(s);
  forEachBlock(s, [&](const Block& inner) {
    for (const Stmt& x : inner) forEachStmt(x, f);
  });
}

class Unswitch {
 public:
  explicit Unswitch(Kernel& kernel) : kernel_(kernel) {}

  Block block(const Block& from) {
    Block to;
    for (std::size_t i = 0; i < from.size();) {
      std::size_t end = i;
      while (end < from.size() && isCopied(from[end])) end++;
      if (end > i) {
        run({from.begin() + static_cast<std::ptrdiff_t>(i), from.begin() + static_cast<std::ptrdiff_t>(end)}, to);
        i = end;
      } else {
        Stmt s = inside(from[i++]);
        if (auto* branch = as<If>(s))
          moveInto(*branch, to, {from.begin() + static_cast<std::ptrdiff_t>(i), from.end()});
        to.push_back(std::move(s));
      }
    }
    return to;
  }

 private:
  Stmt inside(Stmt s) {
    forEachBlock(s, [&](Block& b) { b = block(b); });
    return s;
  }

  // Moves into a branch what is declared right before it by choices on its condition and not mentioned after it.
  void moveInto(If& branch, Block& before, std::span<const Stmt> after) {
    const auto* t = as<Test>(branch.condition);
    if (t == nullptr) return;
    std::size_t first = before.size();
    for (std::size_t at = before.size(); at-- > 0;) {
      const auto* d = as<Declare>(before[at]);
      if (d == nullptr || !d->value) break;
      if (countOf(before[at], t->all) == 0) continue;
      if (isMentioned(d->variable, after)) break;
      first = at;
    }
    const auto begin = before.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::any_of(begin, before.end(),
                    [&](const Stmt& s) { return isMentioned(std::get<Declare>(s.node).variable, after); }))
      return;
    Expander copies(kernel_);
    const auto under = [&](Block& then, bool holds) {
      Block all = decided(Block(begin, before.end()), t->all, holds);
      std::ranges::move(branches(std::move(then), t->all, holds), std::back_inserter(all));
      then = copies.run(all);
    };
    under(branch.then, true);
    under(branch.otherwise, false);
    before.erase(begin, before.end());
  }

  static bool isMentioned(VarId v, std::span<const Stmt> statements) {
    bool is = false;
    for (const Stmt& s : statements) forEachMention(s, [&](VarId other) { is = is || other == v; });
    return is;
  }

  // Statements that may be copied: under the condition that most values share, from the first of these to the last,
  // where it decides most choices between these.
  void run(const Block& from, Block& to) {
    const Conjunction shared = mostShared(from);
    const auto uses = [&](const Stmt& s) { return countOf(s, shared) > 0; };
    const auto first = std::ranges::find_if(from, uses);
    const auto last = std::find_if(from.rbegin(), from.rend(), uses).base();
    if (shared.empty() || first >= last || !decidesMost(Block(first, last), shared)) {
      for (const Stmt& s : from) to.push_back(inside(s));
      return;
    }
    run({from.begin(), first}, to);
    const Block some(first, last);
    Expander copies(kernel_);
    Block then = copies.run(decided(some, shared, true));
    to.push_back({If{test(shared), block(then), block(copies.run(decided(some, shared, false)))}});
    run({last, from.end()}, to);
  }

  // The conjunction, of comparisons that the statements leave as they are, that most choices ask.
  static Conjunction mostShared(const Block& statements) {
    std::set<NatVar> bound;
    std::int64_t nodes = 0;
    for (const Stmt& s : statements)
      forEachStmt(s, [&](const Stmt& x) {
        if (const auto* f = as<For>(x)) bound.insert(f->index);
      });
    std::vector<std::pair<Conjunction, int>> uses;
    for (const Stmt& s : statements)
      forEachStmt(s, [&](const Stmt& x) {
        forEachExpr(x, [&](const Expr& e) {
          nodes++;
          const Test* t = testOf(e);
          if (t == nullptr) return;
          Conjunction fixed;
          for (const Comparison& c : t->all)
            if (isFixed(c.lhs, bound) && isFixed(c.rhs, bound)) fixed.push_back(c);
          if (fixed.empty()) return;
          const auto known = std::ranges::find_if(
              uses, [&](const auto& u) { return includes(u.first, fixed) && includes(fixed, u.first); });
          if (known == uses.end())
            uses.emplace_back(fixed, 1);
          else
            known->second++;
        });
      });
    const auto most = std::ranges::max_element(uses, [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == uses.end() || most->second < fewestUses || nodes > mostNodes ? Conjunction() : most->first;
  }

  static bool isFixed(Nat n, const std::set<NatVar>& bound) {
    const auto& variables = n.variables();
    return std::ranges::none_of(variables, [&](NatVar v) { return bound.contains(v); });
  }

  static bool asks(const Expr& e, const Conjunction& shared) {
    const Test* t = testOf(e);
    return t != nullptr && includes(t->all, shared);
  }

  static int countOf(const Stmt& s, const Conjunction& shared) {
    int n = 0;
    forEachStmt(s, [&](const Stmt& x) { forEachExpr(x, [&](const Expr& e) { n += asks(e, shared); }); });
    return n;
  }

  // Whether the shared condition decides at least half of all choices. If not, the copies of the statements would be
  // left with many choices on other conditions.
  static bool decidesMost(const Block& statements, const Conjunction& shared) {
    int decided = 0, all = 0;
    for (const Stmt& s : statements) {
      decided += countOf(s, shared);
      all += countOf(s, {});
    }
    return 2 * decided >= all;
  }

  static ExprPtr decided(const ExprPtr& e, const Conjunction& shared, bool holds) {
    const ExprPtr mapped = mapChildren(e, [&](const ExprPtr& c) { return decided(c, shared, holds); });
    if (!asks(*mapped, shared)) return mapped;
    const auto& c = std::get<Choose>(mapped->node);
    if (!holds) return c.otherwise;
    std::vector<Comparison> rest;
    for (const Comparison& x : testOf(*mapped)->all)
      if (!contains(shared, x)) rest.push_back(x);
    return rest.empty() ? c.then : choose(test(std::move(rest)), c.then, c.otherwise);
  }
  // The statements with those of the branches that are taken, where the conjunction decides that.
  static Block branches(Block from, const Conjunction& shared, bool holds) {
    Block to;
    for (Stmt& s : from) {
      forEachBlock(s, [&](Block& inner) { inner = branches(std::move(inner), shared, holds); });
      auto* branch = as<If>(s);
      const Test* t = branch == nullptr ? nullptr : as<Test>(branch->condition);
      if (t != nullptr && (holds ? includes(shared, t->all) : includes(t->all, shared)))
        std::ranges::move(holds ? branch->then : branch->otherwise, std::back_inserter(to));
      else
        to.push_back(std::move(s));
    }
    return to;
  }
  static Block decided(Block statements, const Conjunction& shared, bool holds) {
    for (Stmt& s : statements) {
      mapRoots(s, [&](const ExprPtr& e) { return decided(e, shared, holds); });
      if (auto* f = as<For>(s)) f->body = decided(std::move(f->body), shared, holds);
    }
    return statements;
  }

  Kernel& kernel_;
};

}  // namespace

Kernel unswitchPass(Kernel kernel, const PassOptions&) {
  kernel.body = Unswitch(kernel).block(kernel.body);
  return kernel;
}

}  // namespace lift::kernel
