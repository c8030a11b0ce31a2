#include "terms.hpp"

#include <algorithm>
#include <iterator>

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
      case Expr::Form::apply:
        return (*this)(a.function(), b.function()) && (*this)(a.argument(), b.argument());
      default:
        return a == b;
    }
  }

 private:
  std::unordered_map<Expr, Expr> renamed_;
};

bool isAssociativeAndCommutative(Op op) {
  switch (op) {
    case Op::add:
    case Op::mul:
    case Op::min:
    case Op::max:
      return true;
    default:
      return false;
  }
}

bool accumulatesInto(Expr body, Expr accumulator);

// f of (…, accumulator, …) gives the accumulator's new value, element by element or lane by lane.
bool accumulatesByParts(Expr f, const std::vector<Expr>& parts, Expr accumulator) {
  if (!f.is(Expr::Form::lambda)) return false;
  const auto position = std::find(parts.begin(), parts.end(), accumulator);
  if (position == parts.end()) return false;
  for (const Expr p : parts)
    if (p != accumulator && p.hasFree(accumulator)) return false;
  if (std::count(parts.begin(), parts.end(), accumulator) > 1) return false;
  const Expr inner = component(f.parameter(), static_cast<std::size_t>(position - parts.begin()));
  const Expr marker = Expr::variable("acc", inner.type());
  return accumulatesInto(replaceTerms(f.body(), {{inner, marker}}), marker);
}

bool accumulatesInto(Expr body, Expr accumulator) {
  const Spine s = spineOf(body);
  const auto& a = s.arguments;
  if (!s.head.is(Expr::Form::primitive)) return false;
  const auto isFreeOfIt = [&](Expr e) { return !e.hasFree(accumulator); };
  switch (s.head.prim()) {
    case Prim::op:
      if (s.head.op() == Op::fma) return a[2] == accumulator && isFreeOfIt(a[0]) && isFreeOfIt(a[1]);
      return isAssociativeAndCommutative(s.head.op()) &&
             ((a[0] == accumulator && isFreeOfIt(a[1])) || (a[1] == accumulator && isFreeOfIt(a[0])));
    case Prim::map:
    case Prim::mapSeq:
    case Prim::mapSeqUnroll: {
      const Spine in = spineOf(a[1]);
      return in.isPrim(Prim::zip) && isFreeOfIt(a[0]) && accumulatesByParts(a[0], in.arguments, accumulator);
    }
    case Prim::vectorize: {
      const Spine in = spineOf(a[1]);
      return in.isPrim(Prim::tuple) && isFreeOfIt(a[0]) && accumulatesByParts(a[0], in.arguments, accumulator);
    }
    case Prim::reduce:
    case Prim::reduceSeq:
    case Prim::reduceSeqUnroll:
      return a[0] == accumulator && isFreeOfIt(a[1]) && isFreeOfIt(a[2]) && accumulates(a[1]);
    default:
      return false;
  }
}

}  // namespace

bool alphaEqual(Expr a, Expr b) { return AlphaEqual()(a, b); }

bool anySubterm(Expr e, const std::function<bool(Expr, const std::vector<Expr>&)>& visit) {
  std::vector<Expr> binders;
  const std::function<bool(Expr)> walk = [&](Expr term) {
    if (visit(term, binders)) return true;
    if (term.is(Expr::Form::apply)) return walk(term.function()) || walk(term.argument());
    if (!term.is(Expr::Form::lambda)) return false;
    binders.push_back(term.parameter());
    const bool found = walk(term.body());
    binders.pop_back();
    return found;
  };
  return walk(e);
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

bool accumulates(Expr f) {
  if (!f.is(Expr::Form::lambda) || !f.parameter().type().is(Type::Kind::tuple)) return false;
  const Expr p = f.parameter();
  const Expr accumulator = Expr::variable("acc", p.type().components()[0]);
  const Expr element = Expr::variable("x", p.type().components()[1]);
  const Expr body = replaceTerms(f.body(), {{component(p, 0), accumulator}, {component(p, 1), element}});
  return !body.hasFree(p) && accumulatesInto(body, accumulator);
}

}  // namespace lift::rewrite::detail
