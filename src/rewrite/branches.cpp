// Branches that are computed whichever is chosen, as lanes of a vector compute them.
#include <unordered_map>

#include "computed.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

// A branch in which nothing fails that would not where the branch is chosen: elsewhere indices are 0, for no array is
// empty, and divisors are 1.
class Harmless {
 public:
  Harmless(Expr condition, bool chosenIf) : condition_(condition), chosenIf_(chosenIf) {}

  Expr of(Expr e) {
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    const Expr now = withParts(e, [this](Expr part) { return of(part); });
    Spine s = spineOf(now);
    if (mayFail(s) && s.arguments.size() == 2) {
      const bool takesElement = s.isPrim(Prim::at);
      Expr& operand = s.arguments[takesElement ? 0 : 1];
      operand = where(operand, Expr::literal(ScalarValue::of(operand.type().scalar(), takesElement ? 0 : 1)));
    }
    return known_.emplace(e, applyAll(s.head, s.arguments)).first->second;
  }

 private:
  Expr where(Expr chosen, Expr otherwise) const {
    return operation(Op::select, {condition_, chosenIf_ ? chosen : otherwise, chosenIf_ ? otherwise : chosen});
  }

  Expr condition_;
  bool chosenIf_;
  std::unordered_map<Expr, Expr> known_;
};

bool isOfVectors(Expr e) {
  return anyTerm(e, [](Expr part) { return part.type().isVector(); });
}

std::optional<Expr> selected(Expr condition, Expr then, Expr otherwise) {
  const Type type = then.type();
  if (type.isScalar()) return operation(Op::select, {condition, then, otherwise});
  if (!type.isTuple()) return std::nullopt;
  std::vector<Expr> parts;
  for (std::size_t i = 0; i < type.components().size(); i++) {
    const auto part = selected(condition, component(then, i), component(otherwise, i));
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  return tuple(parts);
}

// c && d, c || d: the second where the first does not settle it.
std::optional<Expr> connectionAsSelect(Expr e, Op op) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::op) || s.head.op() != op || s.arguments.size() != 2 || isOfVectors(e)) return std::nullopt;
  const bool both = op == Op::logicalAnd;
  const Expr first = s.arguments[0], second = Harmless(first, both).of(s.arguments[1]);
  const Expr settled = Expr::literal(ScalarValue::of(Scalar::boolean, both ? 0 : 1));
  return selected(first, both ? second : settled, both ? settled : second);
}

}  // namespace

std::optional<Expr> ifAsSelect(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::ifThenElse) || isOfVectors(e)) return std::nullopt;
  const Expr condition = s.arguments[0];
  return selected(condition, Harmless(condition, true).of(s.arguments[1]),
                  Harmless(condition, false).of(s.arguments[2]));
}

std::optional<Expr> andAsSelect(Expr e) { return connectionAsSelect(e, Op::logicalAnd); }

std::optional<Expr> orAsSelect(Expr e) { return connectionAsSelect(e, Op::logicalOr); }

}  // namespace lift::rewrite::detail
