// Private to ir: changes of terms.
#pragma once

#include <unordered_map>

#include "lift/expr.hpp"

namespace lift::detail {

// A change of terms that visits every node once, however many ways lead to it: Change::rebuilt says what becomes of a
// node, `parts` rebuilds what is below one.
template <class Change>
class Rebuilding {
 public:
  Expr operator()(Expr e) {
    if (const auto done = memo_.find(e); done != memo_.end()) return done->second;
    const Expr result = static_cast<Change&>(*this).rebuilt(e);
    memo_.insert_or_assign(e, result);
    return result;
  }

 protected:
  Expr parts(Expr e) {
    if (e.isLambda()) return Expr::lambda(e.parameter(), (*this)(e.body()));
    if (!e.isApply()) return e;
    const Expr f = (*this)(e.function());
    return Expr::apply(f, (*this)(e.argument()));
  }

  std::unordered_map<Expr, Expr> memo_;
};

}  // namespace lift::detail
