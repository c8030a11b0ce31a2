#include "terms.hpp"

#include <algorithm>
#include <unordered_set>

#include "lift/accumulation.hpp"

namespace lift::rewrite::detail {
namespace {

class AlphaEqual {
 public:
  bool operator()(Expr a, Expr b) {
    if (a == b && renamed_.empty()) return true;
    if (a.form() != b.form() || a.type() != b.type()) return false;
    switch (a.form()) {
      case Expr::Form::variable: {
        const auto found = renamed_.find(a);
        return found == renamed_.end() ? a == b : found->second == b;
      }
      case Expr::Form::lambda: {
        const Expr p = a.parameter();
        renamed_.insert_or_assign(p, b.parameter());
        const bool same = (*this)(a.body(), b.body());
        renamed_.erase(p);
        return same;
      }
      case Expr::Form::apply: return (*this)(a.function(), b.function()) && (*this)(a.argument(), b.argument());
      default: return a == b;
    }
  }

 private:
  std::unordered_map<Expr, Expr> renamed_;
};

// Whether terms are linear in some variables together.
class Linear {
 public:
  explicit Linear(Expr parameter) { variables_.insert(parameter); }

  bool operator()(Expr e) {
    if (e.isVariable()) return variables_.count(e) > 0;
    const Spine s = spineOf(e);
    const auto& a = s.arguments;
    if (!s.head.isPrimitive() || a.empty()) return false;
    const Prim prim = s.head.prim();
    if (prim == Prim::op) return operation(s.head.op(), a);
    if (prim == Prim::at) return isFree(a[0]) && (*this)(a[1]);
    if (traits(prim).loop == Traits::Loop::map || prim == Prim::let || prim == Prim::vectorize)
      return a.size() == 2 && under(a[0], a[1]);
    const Traits& t = traits(prim);
    const bool keepsValues = movesData(prim) || t.memory != Traits::Memory::none || prim == Prim::splat;
    return t.loop == Traits::Loop::none && keepsValues && std::ranges::all_of(a, [&](Expr x) { return (*this)(x); });
  }

 private:
  bool isFree(Expr e) const {
    return std::ranges::none_of(variables_, [&](Expr v) { return e.hasFree(v); });
  }

  bool operation(Op op, const std::vector<Expr>& a) {
    switch (op) {
      case Op::neg: return isFloat(scalarOf(a[0].type())) && (*this)(a[0]);
      case Op::add:
      case Op::sub: return (*this)(a[0]) && (*this)(a[1]);
      case Op::mul: return (isFree(a[0]) && (*this)(a[1])) || (isFree(a[1]) && (*this)(a[0]));
      case Op::div: return isFloat(scalarOf(a[0].type())) && isFree(a[1]) && (*this)(a[0]);
      default: return false;
    }
  }

  bool body(Expr f) { return f.isLambda() && (*this)(f.body()); }

  // f of a value, or of the elements of one.
  bool under(Expr f, Expr value) {
    if (!f.isLambda()) return false;
    if (isFree(value)) return body(f);
    if (!(*this)(value)) return false;
    variables_.insert(f.parameter());
    const bool linear = body(f);
    variables_.erase(f.parameter());
    return linear;
  }

  std::unordered_set<Expr> variables_;
};

}  // namespace

bool isLinear(Expr f) { return f.isLambda() && Linear(f.parameter())(f.body()); }

bool alphaEqual(Expr a, Expr b) { return AlphaEqual()(a, b); }

bool anySubterm(Expr e, const std::function<bool(Expr, const std::vector<Expr>&)>& visit) {
  std::vector<Expr> binders;
  const std::function<bool(Expr)> walk = [&](Expr term) {
    if (visit(term, binders)) return true;
    if (term.isApply()) return walk(term.function()) || walk(term.argument());
    if (!term.isLambda()) return false;
    binders.push_back(term.parameter());
    const bool found = walk(term.body());
    binders.pop_back();
    return found;
  };
  return walk(e);
}

std::unordered_set<Expr> evaluatedAlways(Expr e) {
  std::unordered_set<Expr> all;
  const std::function<void(Expr)> visit = [&](Expr x) {
    if (!all.insert(x).second) return;
    if (x.isLambda()) return visit(x.body());
    if (!x.isApply()) return;
    const Spine s = spineOf(x);
    for (std::size_t i = 0; i < s.arguments.size(); i++)
      if (!isOptional(s, i)) visit(s.arguments[i]);
  };
  visit(e);
  return all;
}

void nameReads(Expr term, Expr index, Expr array, Expr name, std::unordered_map<Expr, Expr>& replacements) {
  anyTerm(term, [&](Expr e) {
    const Spine read = spineOf(e);
    const bool is = read.isCall(Prim::at) && read.arguments[0] == index && read.arguments[1] == array;
    if (is) replacements.emplace(e, name);
    return false;
  });
}

bool inlines(Expr f, Expr x) {
  if (onlyMovesData(x)) return true;
  int uses = 0;
  anySubterm(f.body(), [&](Expr e, const std::vector<Expr>& binders) {
    if (e == f.parameter()) uses += binders.empty() ? 1 : 2;
    return uses > 1;
  });
  return uses <= 1;
}

std::optional<FoldStep> foldStepOf(Expr f) {
  const Expr p = f.parameter();
  const auto& types = p.type().components();
  const Expr accumulator = Expr::variable("acc", types[0]), element = Expr::variable("x", types[1]);
  const Expr body = replaceTerms(f.body(), {{component(p, 0), accumulator}, {component(p, 1), element}});
  return body.hasFree(p) ? std::nullopt : std::optional(FoldStep{accumulator, element, body});
}

bool accumulates(Expr f) {
  if (!f.isLambda() || !f.parameter().type().isTuple()) return false;
  const auto accumulation = accumulationOf(Expr::variable("z", f.parameter().type().components()[0]), f);
  return accumulation && accumulation->commutative;
}

}  // namespace lift::rewrite::detail
