// Iterations and folds within maps, exchanged with them: steps of all elements at once.
#include <algorithm>
#include <functional>
#include <unordered_set>

#include "lift/build.hpp"
#include "lift/strategies.hpp"
#include "lift/terms.hpp"
#include "parts.hpp"
#include "restating.hpp"

namespace lift::detail::parts {

using namespace rewrite;

namespace {

// Whether a step of an iteration, one for each element of loops over so many, sums products of its state and of rows of
// an array that is the same for all of these: of all states together that is a product of matrices.
class SharedProducts {
 public:
  SharedProducts(std::unordered_set<Expr> own, double elements) : own_(std::move(own)), elements_(elements) {}

  bool in(Expr e) {
    if (e.isLambda()) return in(e.body());
    if (!e.isApply()) return false;
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::reduce) && isProduct(s)) return true;
    const bool binds = isLoop(s) || s.isCall(Prim::let);
    if (!binds || !functionOf(s).isLambda()) return std::ranges::any_of(s.arguments, [&](Expr a) { return in(a); });
    for (std::size_t i = 0; i < s.arguments.size(); i++)
      if (s.arguments[i] != functionOf(s) && in(s.arguments[i])) return true;
    const Expr variable = functionOf(s).parameter(), over = s.arguments.back();
    Expr body = functionOf(s).body();
    const double length = isLoop(s) ? estimate(over.type().length()) : 1;
    if (!isOwn(over) && (s.isPrim(Prim::map) || !isLoop(s))) {
      shared_.emplace_back(variable, length);
      return in(body);
    }
    own_.insert(variable);
    const Spine zipped = spineOf(over);
    for (std::size_t i = 0; s.isPrim(Prim::map) && zipped.isPrim(Prim::zip) && i < zipped.arguments.size(); i++) {
      if (isOwn(zipped.arguments[i])) continue;
      const Expr element = build::get(variable, i);
      shared_.emplace_back(Expr::variable("x", element.type()), length);
      body = replaceTerms(body, {{element, shared_.back().first}});
    }
    return in(body);
  }

 private:
  bool isOwn(Expr e) const {
    return std::ranges::any_of(e.freeVariables(), [&](Expr v) { return own_.contains(v); });
  }

  bool isProduct(const Spine& reduction) const {
    constexpr double enough = 1 << 17, few = 4;
    const Spine operands = spineOf(reduction.arguments[2]);
    if (!operands.isPrim(Prim::zip) || operands.arguments.size() != 2 || !reduction.arguments[0].type().isRegister())
      return false;
    const bool first = isOwn(operands.arguments[0]);
    if (first == isOwn(operands.arguments[1])) return false;
    double rows = 1;
    for (const auto& [variable, length] : shared_)
      if (operands.arguments[first ? 1 : 0].hasFree(variable)) rows *= length;
    const double steps = estimate(reduction.arguments[2].type().length());
    return rows >= few && elements_ >= few && steps >= few && rows * elements_ * steps >= enough;
  }

  std::unordered_set<Expr> own_;  // what depends on the element or the state
  std::vector<std::pair<Expr, double>> shared_;
  double elements_;
};

}  // namespace

Strategy loopsOutside(Prim loop, const char* rule) {
  // Where such an iteration is, below the maps of a term.
  const auto found = [loop](Expr map) {
    std::optional<Path> place;
    std::vector<Binder> around;
    const std::function<void(Expr, const Path&)> find = [&](Expr e, const Path& path) {
      if (place || !e.isApply()) return;
      const Spine s = spineOf(e);
      const bool isFull = !e.type().isFunction() && s.arguments.size() >= 2;
      if (s.isPrim(loop) && isFull && functionOf(s).isLambda()) {
        std::unordered_set<Expr> own{functionOf(s).parameter()};
        double elements = 1;
        std::vector<Expr> needed{e};  // and what the loops run over that it depends on
        for (auto b = around.rbegin(); b != around.rend(); ++b) {
          own.insert(b->variable);
          if (!b->isLoop || std::ranges::none_of(needed, [&](Expr x) { return x.hasFree(b->variable); })) continue;
          elements *= estimate(b->value.type().length());
          needed.push_back(b->value);
        }
        if (holdsArrays(e.type()) && SharedProducts(own, elements).in(functionOf(s).body())) place = path;
        return;
      }
      const bool isMap = s.isCall(Prim::map);
      for (std::size_t i = 0; i < s.arguments.size(); i++) {
        const Expr a = s.arguments[i];
        if (!a.isLambda()) find(a, path + argumentPath(s, i));
        if (!a.isLambda() || !(isMap || s.isPrim(Prim::let))) continue;
        around.push_back({a.parameter(), s.arguments.back(), path, isMap});
        find(a.body(), path + argumentPath(s, i) + Path{0});
        around.pop_back();
      }
    };
    find(map, {});
    return place;
  };
  const Strategy outside = [rule](Expr e, Rewriting& r) -> std::optional<Expr> {
    const std::function<Strategy(Expr)> exchanged = [&](Expr map) {
      const Expr below = spineOf(map).arguments[0].body();
      const Strategy here = use(rule);
      return spineOf(below).isPrim(Prim::map) ? seq({function(body(exchanged(below))), here}) : here;
    };
    return exchanged(e)(e, r);
  };
  return outsideLoops([found, outside](Expr e) -> std::optional<Strategy> {
    const auto place = isComputingMap(e) ? found(e) : std::nullopt;
    if (!place) return std::nullopt;
    return [place = *place, outside](Expr map, Rewriting& r) -> std::optional<Expr> {
      Path now = place;
      const auto apart = lifted(map, r, now);
      return apart && now != place ? seq({at(now, outside), strategies::tidy()})(*apart, r) : std::nullopt;
    };
  });
}

}  // namespace lift::detail::parts
