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

}  // namespace

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
