#include "share.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "rebuild.hpp"

namespace lift::detail {

namespace {

std::vector<Expr> childrenOf(Expr e) {
  if (e.isLambda()) return {e.body()};
  if (e.isApply()) return {e.function(), e.argument()};
  return {};
}

bool isLet(Expr e) {
  return e.isApply() && e.function().isApply() && e.function().function().isPrimitive() &&
         e.function().function().prim() == Prim::let && e.function().argument().isLambda();
}

// The nodes of a term, children before parents, and who uses whom.
class Graph {
 public:
  explicit Graph(Expr root) {
    visit(root);
    parents_.resize(nodes_.size());
    for (int i = 0; i < size(); i++)
      for (const Expr c : childrenOf(nodes_[static_cast<std::size_t>(i)])) parents_[at(c)].push_back(i);
    // The immediate dominator: the innermost node that all ways from the root go through.
    dominator_.assign(nodes_.size(), size() - 1);
    for (int i = size() - 2; i >= 0; i--) {
      int common = parents(i).front();
      for (const int p : parents(i))
        for (int other = p; common != other;)
          (common < other ? common : other) = dominator_[static_cast<std::size_t>(std::min(common, other))];
      dominator_[static_cast<std::size_t>(i)] = common;
    }
  }

  int size() const { return static_cast<int>(nodes_.size()); }
  Expr node(int i) const { return nodes_[static_cast<std::size_t>(i)]; }
  std::size_t at(Expr e) const { return static_cast<std::size_t>(index_.at(e)); }
  int find(Expr e) const {
    const auto found = index_.find(e);
    return found == index_.end() ? -1 : found->second;
  }
  const std::vector<int>& parents(int i) const { return parents_[static_cast<std::size_t>(i)]; }
  int dominator(int i) const { return dominator_[static_cast<std::size_t>(i)]; }

 private:
  void visit(Expr e) {
    if (index_.count(e)) return;
    for (const Expr c : childrenOf(e)) visit(c);
    index_.emplace(e, size());
    nodes_.push_back(e);
  }

  std::vector<Expr> nodes_;
  std::unordered_map<Expr, int> index_;
  std::vector<std::vector<int>> parents_;
  std::vector<int> dominator_;
};

class Naming : public Rebuilding<Naming> {
 public:
  Naming(Expr root, const std::unordered_set<Expr>& shared) : graph_(root) {
    for (int i = 0; i < graph_.size(); i++) {
      const Expr e = graph_.node(i);
      if (!shared.count(e) || graph_.parents(i).size() < 2 || !e.isApply() || e.type().isFunction() || onlyMovesData(e))
        continue;
      if (const int place = placeOf(i); place >= 0) named_[graph_.node(place)].push_back(e);
    }
  }

  Expr rebuilt(Expr e) {
    std::vector<std::pair<Expr, Expr>> lets;
    const Expr result = named(e, lets);
    return build::let(lets, result);
  }

 private:
  // The term below `lets`: what is named at it, and what is named at that.
  Expr named(Expr e, std::vector<std::pair<Expr, Expr>>& lets) {
    if (const auto here = named_.find(e); here != named_.end())
      for (const Expr t : here->second) {  // in the order of the graph: what another needs comes first
        const Expr value = named(t, lets);
        const Expr variable = Expr::variable("shared", value.type());
        lets.emplace_back(variable, value);
        memo_.emplace(t, variable);
      }
    return parts(e);
  }

  // The innermost complete application around all uses that needs the value whenever it is evaluated; -1 if none.
  int placeOf(int i) const {
    int place = graph_.dominator(i);
    while (graph_.node(place).type().isFunction()) {
      if (!graph_.node(place).isApply() || place == graph_.dominator(place)) return -1;
      place = graph_.dominator(place);
    }
    if (!graph_.node(place).isApply()) return -1;
    // All nodes between, from the value outwards: does each need it?
    std::unordered_map<int, bool> needs{{i, true}};
    std::vector<int> open(graph_.parents(i));
    std::unordered_set<int> between;
    while (!open.empty()) {
      const int n = open.back();
      open.pop_back();
      if (!between.insert(n).second || n == place) continue;
      open.insert(open.end(), graph_.parents(n).begin(), graph_.parents(n).end());
    }
    std::vector<int> order(between.begin(), between.end());
    std::ranges::sort(order);
    const auto needed = [&](Expr e) {
      const auto known = needs.find(graph_.find(e));
      return known != needs.end() && known->second;
    };
    for (const int n : order) needs[n] = isNeeded(graph_.node(n), needed);
    return needs[place] ? place : -1;
  }

  template <class Needed>
  static bool isNeeded(Expr e, const Needed& needed) {
    // Of a condition's branches one is evaluated, of other arguments that may be left out perhaps none.
    if (e.isApply()) {
      const Spine s = spineOf(e);
      bool always = false, optional = false, eachBranch = true;
      for (std::size_t i = 0; i < s.arguments.size(); i++)
        if (isOptional(s, i)) {
          optional = true;
          eachBranch = eachBranch && needed(s.arguments[i]);
        } else {
          always = always || needed(s.arguments[i]);
        }
      if (optional) return always || (s.isCall(Prim::ifThenElse) && eachBranch);
    }
    const auto children = childrenOf(e);
    return std::ranges::any_of(children, needed);
  }

  Graph graph_;
  std::unordered_map<Expr, std::vector<Expr>> named_;  // what is named at a node
};

class Inlining : public Rebuilding<Inlining> {
 public:
  Inlining(Expr root, const std::unordered_set<Expr>& single) : graph_(root) {
    for (int i = 0; i < graph_.size(); i++) {  // inner lets first
      const Expr e = graph_.node(i);
      if (!isLet(e)) continue;
      const Expr f = e.function().argument();
      if (single.count(f.parameter()) && isUsedOnce(f.parameter(), f)) inlined_.emplace(f.parameter(), e.argument());
    }
  }

  Expr rebuilt(Expr e) {
    if (inlined_.empty()) return e;
    if (e.isVariable()) {
      const auto value = inlined_.find(e);
      return value == inlined_.end() ? e : (*this)(value->second);
    }
    if (isLet(e) && inlined_.count(e.function().argument().parameter())) return (*this)(e.function().argument().body());
    return parts(e);
  }

 private:
  // Going outwards from the variable there is one way to its lambda, and no other lambda on it but those of lets that
  // are inlined themselves.
  bool isUsedOnce(Expr variable, Expr lambda) const {
    int i = graph_.find(variable);
    if (i < 0) return true;  // not used at all
    while (graph_.node(i) != lambda) {
      if (graph_.parents(i).size() != 1) return false;
      i = graph_.parents(i).front();
      const Expr e = graph_.node(i);
      if (e.isLambda() && e != lambda && !inlined_.count(e.parameter())) return false;
    }
    return true;
  }

  Graph graph_;
  std::unordered_map<Expr, Expr> inlined_;  // variables, and the values in their places
};

// A let of a name, a literal or a size is another name for it; a lambda at an argument is a let.
class Aliases : public Rebuilding<Aliases> {
 public:
  Expr rebuilt(Expr e) {
    if (isLet(e)) return bound(e.function().argument(), e.argument());
    if (e.isApply() && e.function().isLambda()) return bound(e.function(), e.argument());
    return parts(e);
  }

 private:
  Expr bound(Expr lambda, Expr argument) {
    const Expr value = (*this)(argument);
    const bool isAtom = value.isVariable() || value.isLiteral() || value.isNatLiteral();
    if (isAtom) memo_.insert_or_assign(lambda.parameter(), value);
    const Expr body = (*this)(lambda.body());
    return isAtom ? body : build::let(lambda.parameter(), value, body);
  }
};

}  // namespace

Expr withoutAliases(Expr term) { return Aliases()(term); }

Expr nameShared(Expr term, const std::unordered_set<Expr>& shared, const std::unordered_set<Expr>& single) {
  if (!shared.empty()) term = Naming(term, shared)(term);
  if (!single.empty()) term = Inlining(term, single)(term);
  return term;
}

}  // namespace lift::detail
