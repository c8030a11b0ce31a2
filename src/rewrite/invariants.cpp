// Names for what loops would compute again and again.
#include <algorithm>
#include <unordered_set>

#include "lift/strategies.hpp"
#include "lift/terms.hpp"

namespace lift::strategies {

using namespace rewrite;

namespace {

// Of the arguments of a primitive, the function runs many times.
bool isLoop(const Spine& s) { return s.head.isPrimitive() && traits(s.head.prim()).loop != Traits::Loop::none; }

// The greatest subterms of `body` that some loop in it computes again and again though nothing bound in `body` occurs
// in them.
class Invariants {
 public:
  explicit Invariants(const std::function<bool(Expr)>& pays) : pays_(pays) {}

  std::vector<Expr> of(Expr body) {
    visit(body, false, false);
    return std::move(found_);
  }

 private:
  // `guarded`: what runs perhaps not at all.
  void visit(Expr e, bool inLoop, bool guarded) {
    if (e.isLambda()) {
      bound_.insert(e.parameter());
      visit(e.body(), inLoop, guarded);
      bound_.erase(e.parameter());
      return;
    }
    if (!e.isApply()) return;
    if (inLoop && isFree(e) && pays_(e) && !(guarded && mayFailWithin(e))) {
      if (std::ranges::find(found_, e) == found_.end()) found_.push_back(e);
      return;
    }
    const Spine s = spineOf(e);
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      const Expr a = s.arguments[i];
      const bool runs = a.isLambda() && isLoop(s);
      visit(a, inLoop || runs, guarded || isOptional(s, i));
    }
  }

  bool isFree(Expr e) const {
    const auto& free = e.freeVariables();
    return std::ranges::none_of(free, [&](Expr v) { return bound_.count(v) > 0; });
  }

  const std::function<bool(Expr)>& pays_;
  std::unordered_set<Expr> bound_;
  std::vector<Expr> found_;
};

double evaluationsOf(const Spine& s) {
  if (!isLoop(s)) return 1;
  const auto& nats = s.head.nats();
  if (s.isPrim(Prim::generate) || s.isPrim(Prim::iterate)) return estimate(nats[0]);
  return s.arguments.back().type().isArray() ? estimate(s.arguments.back().type().length()) : 1;
}

// The term with the first table that saves so many evaluations of each of its elements.
std::optional<Expr> withTable(Expr e, Rewriting& r, const std::function<bool(Expr)>& costly) {
  constexpr double fewestReads = 8, mostElements = 1 << 22;
  std::optional<Expr> found;
  const std::function<void(Expr, const Path&, double)> find = [&](Expr term, const Path& path, double evaluations) {
    if (found || !term.isApply() || !costly(term)) return;
    const Spine s = spineOf(term);
    if (term.type().isScalar() && evaluations > fewestReads) {
      const Rule& rule = ruleNamed(ruleAt("tableOf", path));
      if (const auto tabled = applyRule(rule, e).term) {
        double elements = 1;
        for (const Nat n : shapeOf(spineOf(*tabled).arguments[1].type())) elements *= estimate(n);
        if (elements <= mostElements && evaluations >= fewestReads * elements) found = use(rule)(e, r);
        if (found) return;
      }
    }
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      const Expr a = s.arguments[i];
      const Path place = path + argumentPath(s, i);
      if (a.isLambda())
        find(a.body(), place + Path{0}, evaluations * evaluationsOf(s));
      else
        find(a, place, evaluations);
    }
  };
  find(e, {}, 1);
  return found;
}

}  // namespace

Strategy tablesOfIndices(std::function<bool(Expr)> costly) {
  return [costly = std::move(costly)](Expr e, Rewriting& r) -> std::optional<Expr> {
    bool any = false;
    const std::function<Expr(Expr)> walk = [&](Expr term) -> Expr {
      const Strategy further = [&](Expr x, Rewriting&) { return std::optional(walk(x)); };
      if (spineOf(term).isCall(Prim::let)) return *seq({argument(further), function(rewrite::body(further))})(term, r);
      const auto now = withTable(term, r, costly);
      any = any || now;
      return now ? walk(*now) : term;
    };
    const Expr now = walk(e);
    return any ? std::optional(now) : std::nullopt;
  };
}

Strategy invariantsNamed(std::function<bool(Expr)> pays) {
  return [pays = std::move(pays)](Expr e, Rewriting& r) -> std::optional<Expr> {
    const std::function<Expr(Expr)> walk = [&](Expr term) {
      const Spine s = spineOf(term);
      const bool inwards = isLoop(s) || s.isPrim(Prim::let);
      const Strategy further = [&](Expr x, Rewriting&) -> std::optional<Expr> { return walk(x); };
      const Strategy inside = [&](Expr b, Rewriting& rewriting) -> std::optional<Expr> {
        Strategy below = further;
        for (const Expr v : Invariants(pays).of(b))
          if (const auto path = pathOf(v, b)) {
            b = *use(ruleAt("letOf", *path))(b, rewriting);
            below = seq({function(rewrite::body(below)), argument(further)});
          }
        return below(b, rewriting);
      };
      for (std::size_t i = 0; i < s.arguments.size(); i++) {
        const Expr a = s.arguments[i];
        if (!a.isLambda() && !a.isApply()) continue;
        const Strategy change = !a.isLambda() ? further : rewrite::body(inwards ? inside : further);
        term = *at(argumentPath(s, i), change)(term, r);
      }
      return term;
    };
    return walk(e);
  };
}

}  // namespace lift::strategies
