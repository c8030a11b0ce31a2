// The combinators and traversals.
#include "lift/rewrite.hpp"

#include <unordered_set>

namespace lift::rewrite {
namespace {

// s at the child, in place. Nothing where there is no such child.
std::optional<Expr> atChild(std::uint8_t child, Expr e, const Strategy& s, Rewriting& r) {
  const bool isLambda = e.isLambda();
  if (isLambda ? child != 0 : !e.isApply()) return std::nullopt;
  const Expr old = isLambda ? e.body() : child == 0 ? e.function() : e.argument();
  const auto changed = r.at(child, [&] { return s(old, r); });
  if (!changed) return std::nullopt;
  if (*changed == old) return e;
  if (isLambda) return Expr::lambda(e.parameter(), *changed);
  return child == 0 ? Expr::apply(*changed, e.argument()) : Expr::apply(e.function(), *changed);
}

int childrenOf(Expr e) { return e.isLambda() ? 1 : e.isApply() ? 2 : 0; }

}  // namespace

Strategy use(std::string_view rule, Arguments arguments) { return use(ruleNamed(rule), std::move(arguments)); }

Strategy use(const Rule& rule, Arguments arguments) {
  return [&rule, arguments = std::move(arguments)](Expr e, Rewriting& r) { return r.applyHere(rule, arguments, e); };
}

Strategy identity() {
  return [](Expr e, Rewriting&) { return std::optional(e); };
}

Strategy fail() {
  return [](Expr, Rewriting&) { return std::optional<Expr>(); };
}

Strategy seq(std::vector<Strategy> strategies) {
  return [strategies = std::move(strategies)](Expr e, Rewriting& r) -> std::optional<Expr> {
    const auto mark = r.mark();
    for (const Strategy& s : strategies) {
      const auto next = s(e, r);
      if (!next) {
        r.undo(mark);
        return std::nullopt;
      }
      e = *next;
    }
    return e;
  };
}

Strategy orElse(Strategy first, Strategy second) {
  return [first = std::move(first), second = std::move(second)](Expr e, Rewriting& r) {
    const auto result = first(e, r);
    return result ? result : second(e, r);
  };
}

Strategy attempt(Strategy s) { return orElse(std::move(s), identity()); }

Strategy repeat(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) {
    while (const auto next = s(e, r)) e = *next;
    return std::optional(e);
  };
}

Strategy one(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    for (int child = 0; child < childrenOf(e); child++)
      if (auto changed = atChild(static_cast<std::uint8_t>(child), e, s, r)) return changed;
    return std::nullopt;
  };
}

Strategy all(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    const auto mark = r.mark();
    for (int child = 0; child < childrenOf(e); child++) {
      const auto changed = atChild(static_cast<std::uint8_t>(child), e, s, r);
      if (!changed) {
        r.undo(mark);
        return std::nullopt;
      }
      e = *changed;
    }
    return e;
  };
}

Strategy topDown(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    const std::function<std::optional<Expr>(Expr)> walk = [&](Expr term) -> std::optional<Expr> {
      if (auto changed = s(term, r)) return changed;
      return one([&](Expr child, Rewriting&) { return walk(child); })(term, r);
    };
    return walk(e);
  };
}

Strategy bottomUp(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    const std::function<std::optional<Expr>(Expr)> walk = [&](Expr term) -> std::optional<Expr> {
      if (auto changed = one([&](Expr child, Rewriting&) { return walk(child); })(term, r)) return changed;
      return s(term, r);
    };
    return walk(e);
  };
}

Strategy everywhere(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    bool any = false;
    const std::function<std::optional<Expr>(Expr)> walk = [&](Expr term) -> std::optional<Expr> {
      if (const auto changed = s(term, r)) {
        any = true;
        term = *changed;
      }
      return all([&](Expr child, Rewriting&) { return walk(child); })(term, r);
    };
    const auto result = walk(e);
    return any ? result : std::nullopt;
  };
}

Strategy normalise(const std::vector<std::string>& names) {
  std::vector<Strategy> rules;
  for (const std::string& name : names) rules.push_back(use(name));
  return [rules = std::move(rules)](Expr start, Rewriting& r) {
    std::unordered_set<Expr> normal;
    const auto atRoot = [&](Expr e) -> std::optional<Expr> {
      for (const Strategy& rule : rules)
        if (auto changed = rule(e, r)) return changed;
      return std::nullopt;
    };
    // What changes below may make room for a rule above.
    const std::function<Expr(Expr)> walk = [&](Expr e) {
      if (normal.count(e)) return e;
      for (;;) {
        while (const auto changed = atRoot(e)) e = *changed;
        const Expr before = e;
        e = *all([&](Expr child, Rewriting&) { return std::optional(walk(child)); })(e, r);
        if (e == before) break;
      }
      normal.insert(e);
      return e;
    };
    return std::optional(walk(start));
  };
}

Strategy when(std::function<bool(Expr)> holds, Strategy s) {
  return
      [holds = std::move(holds), s = std::move(s)](Expr e, Rewriting& r) { return holds(e) ? s(e, r) : std::nullopt; };
}

Strategy inside(std::function<bool(Expr)> where, Strategy s) { return topDown(when(std::move(where), std::move(s))); }

Strategy body(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    return e.isLambda() ? atChild(0, e, s, r) : std::nullopt;
  };
}

Strategy function(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    return atChild(
        0, e, [&](Expr f, Rewriting&) { return atChild(1, f, s, r); }, r);
  };
}

Strategy argument(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    return e.isApply() ? atChild(1, e, s, r) : std::nullopt;
  };
}

Strategy at(Path path, Strategy s) {
  for (auto child = path.rbegin(); child != path.rend(); ++child)
    s = [child = *child, s = std::move(s)](Expr e, Rewriting& r) { return atChild(child, e, s, r); };
  return s;
}

Strategy named(std::string name, Strategy s) {
  return [name = std::move(name), s = std::move(s)](Expr e, Rewriting& r) {
    const auto result = s(e, r);
    if (!result) r.miss(name + " does not apply");
    return result;
  };
}

}  // namespace lift::rewrite
