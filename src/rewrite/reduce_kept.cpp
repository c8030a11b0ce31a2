// Reductions of arrays whose steps mostly change nothing, such as lists of the greatest so far.
#include "computed.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

// A step leaves an element a of the accumulator as it is where `value` compares so with what `of` gives of a, or, if
// not `holds`, where it does not.
struct Kept {
  Op compare;  // with the value on the left
  Expr value, of;
  bool holds;
};

bool isElement(Expr e, Expr element) {
  if (e == element) return true;
  const std::vector<Expr> parts = components(e);
  for (std::size_t i = 0; i < parts.size(); i++)
    if (parts.size() < 2 || parts[i] != get(element, i)) return false;
  return element.type().isTuple() && parts.size() == element.type().components().size();
}

std::optional<Op> turned(Op op) {
  switch (op) {
    case Op::lt: return Op::gt;
    case Op::le: return Op::ge;
    case Op::gt: return Op::lt;
    case Op::ge: return Op::le;
    default: return std::nullopt;
  }
}

// How a map over the accumulator, over its indices, or over both zipped with others computes the next accumulator.
std::optional<Kept> keptBy(const Spine& map, Expr accumulator) {
  const Expr q = map.arguments[0].parameter(), step = map.arguments[0].body();
  const Expr a = Expr::variable("a", accumulator.type().element());
  std::unordered_map<Expr, Expr> reads;  // of the element itself
  const Spine zipped = spineOf(map.arguments[1]);
  const bool isZip = zipped.isPrim(Prim::zip);
  const std::vector<Expr> arrays = isZip ? zipped.arguments : std::vector{map.arguments[1]};
  for (std::size_t i = 0; i < arrays.size(); i++) {
    const Expr element = isZip ? get(q, i) : q;
    if (arrays[i] == accumulator) reads.emplace(element, a);
    if (isIndices(arrays[i])) nameReads(step, element, accumulator, a, reads);
  }
  const Spine choice = spineOf(replaceTerms(step, reads));
  if (!isChoice(choice)) return std::nullopt;
  const bool holds = isElement(choice.arguments[1], a);
  if (!holds && !isElement(choice.arguments[2], a)) return std::nullopt;
  const Spine condition = spineOf(choice.arguments[0]);
  const auto other = condition.isPrim(Prim::op) ? turned(condition.head.op()) : std::nullopt;
  if (!other || !condition.arguments[0].type().isScalar()) return std::nullopt;
  for (const std::size_t side : {0, 1}) {
    const Expr value = condition.arguments[side], of = condition.arguments[1 - side];
    if (value.hasFree(a) || value.hasFree(q) || value.hasFree(accumulator)) continue;
    if (!of.hasFree(a) || of.hasFree(q) || of.hasFree(accumulator)) continue;
    return Kept{side == 0 ? condition.head.op() : *other, value, Expr::lambda(a, of), holds};
  }
  return std::nullopt;
}

// Of what elements of the array give, that with which the comparison holds last; where it holds with none that is NaN,
// the least or greatest of the others.
std::optional<Expr> lastOf(const Kept& kept, Expr array) {
  const bool isLess = kept.compare == Op::lt || kept.compare == Op::le;
  const bool isLeast = isLess == kept.holds;
  const Type scalar = kept.of.body().type();
  if (scalarOf(scalar) == Scalar::boolean) return std::nullopt;
  const auto end = isLeast ? ScalarValue::Extreme::highest : ScalarValue::Extreme::lowest;
  const Expr p = Expr::variable("p", Type::tuple({scalar, array.type().element()}));
  const Expr m = get(p, 0), a = substitute(kept.of.body(), kept.of.parameter(), get(p, 1));
  Expr further = operation(isLeast ? Op::lt : Op::gt, {a, m});
  if (kept.holds) further = operation(Op::logicalOr, {further, operation(Op::ne, {a, a})});
  return reduce(Expr::literal(ScalarValue::extreme(scalarOf(scalar), end)),
                Expr::lambda(p, call(Prim::ifThenElse, {further, a, m})), array);
}

}  // namespace

std::optional<Expr> reduceUnlessKept(Expr reduction) {
  const Spine s = spineOf(reduction);
  if (!s.isPrim(Prim::reduce) || !s.arguments[0].type().isArray()) return std::nullopt;
  const Expr zs = s.arguments[0], xs = s.arguments[2];
  const auto step = foldStepOf(s.arguments[1]);
  if (!step) return std::nullopt;
  const LetChain names = letsOf(step->body);
  const Spine map = spineOf(names.body);
  const auto kept = map.isPrim(Prim::map) ? keptBy(map, step->accumulator) : std::nullopt;
  if (!kept) return std::nullopt;
  const Expr z = Expr::variable("z", zs.type()), y = Expr::variable("y", zs.type());
  const auto before = lastOf(*kept, z), after = lastOf(*kept, y);
  if (!before || !after) return std::nullopt;
  const Expr state = Expr::variable("state", Type::tuple({zs.type(), before->type()}));
  const Expr q = Expr::variable("q", Type::tuple({state.type(), step->element.type()}));
  const Expr asks = operation(kept->compare, {kept->value, get(get(q, 0), 1)});
  const Expr same = tuple({get(get(q, 0), 0), get(get(q, 0), 1)}), next = let(y, names.body, tuple({y, *after}));
  const Expr choice = call(Prim::ifThenElse, {asks, kept->holds ? same : next, kept->holds ? next : same});
  const Expr body =
      substitute(let(names.bound, choice), {{step->accumulator, get(get(q, 0), 0)}, {step->element, get(q, 1)}});
  const Expr f = withFreshBinders(Expr::lambda(q, etaLong(body)));
  return let(z, zs, get(reduce(tuple({z, *before}), f, xs), 0));
}

}  // namespace lift::rewrite::detail
