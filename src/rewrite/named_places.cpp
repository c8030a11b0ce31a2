// Names of places in a program, and where rewriting moves them.
//
// A rule is applied once more to the term with a mark around each named part: the rule carries the mark along, whatever
// it does with the part. Where it looks into the part, or drops it, the name is gone.
#include <fmt/format.h>

#include <algorithm>

#include "lift/diagnostic.hpp"
#include "lift/rewrite.hpp"
#include "match.hpp"
#include "terms.hpp"

namespace lift::rewrite {
namespace {

// The term with `mark` applied to the parts at the paths.
Expr marked(Expr e, Expr mark, const std::vector<Path>& paths, const Path& here = {}) {
  const bool any = std::ranges::any_of(paths, [&](const Path& p) { return isAbove(here, p); });
  if (!any) return e;
  const auto child = [&](std::uint8_t c, Expr of) { return marked(of, mark, paths, here + Path{c}); };
  Expr now = e;
  if (e.isLambda()) now = Expr::lambda(e.parameter(), child(0, e.body()));
  if (e.isApply()) now = Expr::apply(child(0, e.function()), child(1, e.argument()));
  return std::ranges::find(paths, here) == paths.end() ? now : Expr::apply(mark, now);
}

// The term without marks; the paths of what they were applied to are added.
Expr unmarked(Expr e, Expr mark, std::vector<Path>& paths, const Path& here) {
  if (!e.hasFree(mark)) return e;
  if (e.isLambda()) return Expr::lambda(e.parameter(), unmarked(e.body(), mark, paths, here + Path{0}));
  if (!e.isApply()) return e;
  if (e.function() == mark) {
    paths.push_back(here);
    return unmarked(e.argument(), mark, paths, here);
  }
  const Expr f = unmarked(e.function(), mark, paths, here + Path{0});
  return Expr::apply(f, unmarked(e.argument(), mark, paths, here + Path{1}));
}

// Applies the rule without asking its condition, which was asked of the term without marks.
std::optional<Expr> appliedTo(const Rule& any, const Arguments& arguments, const std::vector<Divides>& facts, Expr e) {
  const Rule& rule = any.formFor(e);
  if (rule.computation()) return rule.computation()(e, arguments);
  detail::Matcher matcher(rule, arguments, facts);
  if (!matcher.matches(e)) return std::nullopt;
  return matcher.instance(rule.typed().right);
}

}  // namespace

void Rewriting::giveName(const std::string& name, Expr term) {
  ensure(!term.type().isFunction(), "names are given to values");
  names_[name] = {{path_}, {}};
}

const std::vector<Path>& Rewriting::places(const std::string& name) const {
  const auto found = names_.find(name);
  if (found == names_.end())
    throw UserError(ExitStatus::program, fmt::format("no place has the name '{}'", name), "a strategy name gives one");
  if (found->second.places.empty())
    throw UserError(ExitStatus::program, fmt::format("'{}' is gone: {}", name, found->second.gone));
  return found->second.places;
}

void Rewriting::forwardNames(const Rule& rule, const Arguments& arguments, Expr before, Expr after) {
  for (auto& [name, named] : names_) {
    std::vector<Path> below, now;
    for (const Path& place : named.places)
      if (place.size() > path_.size() && isAbove(path_, place))
        below.emplace_back(place.begin() + static_cast<std::ptrdiff_t>(path_.size()), place.end());
      else
        now.push_back(place);
    if (below.empty()) continue;
    const auto carried = [&](const std::vector<Path>& paths) {
      const Type type = partAt(before, paths[0]).type();
      const Expr mark = Expr::variable("mark", Type::function({type}, type));
      std::vector<Path> to;
      const auto made = appliedTo(rule, arguments, facts_, marked(before, mark, paths));
      if (!made || !detail::alphaEqual(unmarked(*made, mark, to, {}), after)) return false;
      for (const Path& p : to)
        if (const Path place = path_ + p; std::ranges::find(now, place) == now.end()) now.push_back(place);
      return true;
    };
    // Equal terms are marked together, since a rule may treat equal terms alike. A term that differs in type, or that
    // the rule looks into at one of the places, gets a mark of its own.
    const auto sameType = [&](const Path& path) {
      return partAt(before, path).type() == partAt(before, below[0]).type();
    };
    if (below.size() == 1 || !std::ranges::all_of(below, sameType) || !carried(below))
      for (const Path& path : below) carried({path});
    named.places = std::move(now);
    if (named.places.empty())
      named.gone = fmt::format("step {}, {}, took it apart or dropped it", derivation_.steps.size(),
                               derivation_.steps.back().str());
  }
}

Strategy name(std::string name) {
  return [name = std::move(name)](Expr e, Rewriting& r) -> std::optional<Expr> {
    if (e.type().isFunction()) {
      r.miss(fmt::format("'{}' would name a function: name its body, or what it is applied to", name));
      return std::nullopt;
    }
    r.giveName(name, e);
    return e;
  };
}

Strategy atName(std::string name, Strategy s) {
  return [name = std::move(name), s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    const auto mark = r.mark();
    const std::size_t from = r.path().size();
    bool any = false;
    for (std::size_t i = 0;; i++) {
      std::vector<Path> places;
      try {
        places = r.places(name);
      } catch (const UserError& error) {
        if (!any) r.miss(error.what());
      }
      if (i >= places.size()) break;
      if (!isAbove(r.path(), places[i])) continue;
      const Path below(places[i].begin() + static_cast<std::ptrdiff_t>(from), places[i].end());
      const auto next = at(below, s)(e, r);
      if (!next) {
        r.undo(mark);
        return std::nullopt;
      }
      any = true;
      e = *next;
    }
    return any ? std::optional(e) : std::nullopt;
  };
}

}  // namespace lift::rewrite
