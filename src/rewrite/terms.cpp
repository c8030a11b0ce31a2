#include "terms.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>

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

// Whether terms are linear in some variables together.
class Linear {
 public:
  explicit Linear(Expr parameter) { variables_.insert(parameter); }

  bool operator()(Expr e) {
    if (e.is(Expr::Form::variable)) return variables_.count(e) > 0;
    const Spine s = spineOf(e);
    const auto& a = s.arguments;
    if (!s.head.is(Expr::Form::primitive) || a.empty()) return false;
    switch (s.head.prim()) {
      case Prim::op:
        return operation(s.head.op(), a);
      case Prim::map:
      case Prim::mapSeq:
      case Prim::mapSeqUnroll:
      case Prim::let:
      case Prim::vectorize:
        return a.size() == 2 && under(a[0], a[1]);
      case Prim::at:
        return isFree(a[0]) && (*this)(a[1]);
      case Prim::slide:
      case Prim::slideStrict:
      case Prim::take:
      case Prim::drop:
      case Prim::split:
      case Prim::join:
      case Prim::transpose:
      case Prim::reorder:
      case Prim::asVector:
      case Prim::asScalar:
      case Prim::splat:
      case Prim::id:
      case Prim::get:
      case Prim::zip:
      case Prim::unzip:
      case Prim::tuple:
      case Prim::arrayOf:
      case Prim::concat:
      case Prim::padClamp:
      case Prim::padMirror:
      case Prim::padWrap:
      case Prim::toGlobal:
      case Prim::toLocal:
      case Prim::toPrivate:
        return std::all_of(a.begin(), a.end(), *this);
      default:
        return false;
    }
  }

 private:
  bool isFree(Expr e) const {
    return std::none_of(variables_.begin(), variables_.end(), [&](Expr v) { return e.hasFree(v); });
  }

  bool operation(Op op, const std::vector<Expr>& a) {
    switch (op) {
      case Op::neg:
        return isFloat(scalarOf(a[0].type())) && (*this)(a[0]);
      case Op::add:
      case Op::sub:
        return (*this)(a[0]) && (*this)(a[1]);
      case Op::mul:
        return (isFree(a[0]) && (*this)(a[1])) || (isFree(a[1]) && (*this)(a[0]));
      case Op::div:
        return isFloat(scalarOf(a[0].type())) && isFree(a[1]) && (*this)(a[0]);
      default:
        return false;
    }
  }

  bool body(Expr f) { return f.is(Expr::Form::lambda) && (*this)(f.body()); }

  // f of a value, or of the elements of one.
  bool under(Expr f, Expr value) {
    if (!f.is(Expr::Form::lambda)) return false;
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

bool isLinear(Expr f) { return f.is(Expr::Form::lambda) && Linear(f.parameter())(f.body()); }

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
