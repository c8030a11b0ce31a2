#include "lift/accumulation.hpp"

#include <algorithm>
#include <unordered_map>

#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "terms.hpp"

namespace lift::rewrite {

using namespace build;

namespace {

using detail::FoldStep;

struct Row {
  Op op;
  bool idempotent;  // of equal operands gives the same: any result may be counted in twice
  int neutral;      // where it is not idempotent
};

// The associative operations, all of them commutative. On floating-point numbers add and mul round.
constexpr Row associative[] = {
    {Op::add, false, 0},   {Op::mul, false, 1},       {Op::min, true, 0},
    {Op::max, true, 0},    {Op::logicalAnd, true, 0}, {Op::logicalOr, true, 0},
    {Op::bitAnd, true, 0}, {Op::bitOr, true, 0},      {Op::bitXor, false, 0},
};

const Row* rowOf(Op op) {
  const auto* row =
      std::find_if(std::begin(associative), std::end(associative), [&](const Row& r) { return r.op == op; });
  return row == std::end(associative) ? nullptr : row;
}

// The components of a tuple that is written out, that `if` chooses as a whole (each component then chosen by itself),
// or that stands below names (each component below those names that it mentions).
std::vector<Expr> componentsOf(Expr e) {
  const Spine s = spineOf(e);
  std::vector<Expr> parts;
  if (s.isPrim(Prim::let) && s.arguments[0].isLambda()) {
    const Expr name = s.arguments[0].parameter();
    for (const Expr part : componentsOf(s.arguments[0].body()))
      parts.push_back(part.hasFree(name) ? let(name, s.arguments[1], part) : part);
    return parts;
  }
  if (!isChoice(s)) return components(e);
  const std::vector<Expr> then = componentsOf(s.arguments[1]), otherwise = componentsOf(s.arguments[2]);
  for (std::size_t i = 0; i < then.size(); i++)
    parts.push_back(call(Prim::ifThenElse, {s.arguments[0], then[i], otherwise[i]}));
  return parts;
}

// A part of the accumulator that is computed from itself by one operation.
struct Part {
  std::optional<Op> op;  // nothing: it is left as it is
};

// How `body` depends on `accumulator`; nothing where that is not known to be an accumulation.
std::optional<Part> partOf(Expr body, Expr accumulator) {
  if (body == accumulator) return Part{};
  const Spine s = spineOf(body);
  if (!s.head.isPrimitive()) return std::nullopt;
  const auto& a = s.arguments;
  const auto free = [&](Expr e) { return !e.hasFree(accumulator); };
  // The accumulation `inner`, continued by `op`.
  const auto continued = [&](Op op, Expr inner) -> std::optional<Part> {
    const auto part = partOf(inner, accumulator);
    if (!part || !rowOf(op) || (part->op && *part->op != op)) return std::nullopt;
    return Part{op};
  };
  if (isChoice(s)) {
    const auto then = partOf(a[1], accumulator), otherwise = partOf(a[2], accumulator);
    if (!free(a[0]) || !then || !otherwise || (then->op && otherwise->op && *then->op != *otherwise->op))
      return std::nullopt;
    return then->op ? then : otherwise;
  }
  switch (s.head.prim()) {
    case Prim::op:
      if (s.head.op() == Op::fma) return free(a[0]) && free(a[1]) ? continued(Op::add, a[2]) : std::nullopt;
      if (s.head.op() == Op::sub) return free(a[1]) ? continued(Op::add, a[0]) : std::nullopt;
      if (a.size() != 2) return std::nullopt;
      // Behind && and ||, an operand that may fail must not be evaluated where the accumulator has decided already.
      if (isOptional(s, 1) && mayFailWithin(a[1])) return std::nullopt;
      if (free(a[1])) return continued(s.head.op(), a[0]);
      return free(a[0]) ? continued(s.head.op(), a[1]) : std::nullopt;
    case Prim::let: return free(a[1]) ? partOf(a[0].body(), accumulator) : std::nullopt;
    case Prim::reduce:
    case Prim::reduceSeq:
    case Prim::reduceSeqUnroll: {
      const auto step = detail::foldStepOf(a[1]);
      const auto part = step ? partOf(step->body, step->accumulator) : std::nullopt;
      if (!part || !part->op || !free(a[1]) || !free(a[2])) return std::nullopt;
      return continued(*part->op, a[0]);
    }
    default: return std::nullopt;
  }
}

Expr neutralOf(const Row& row, Type type) {
  const ScalarValue value = ScalarValue::ofInteger(scalarOf(type), row.neutral);
  const Expr scalar = Expr::literal(value);
  return type.isVector() ? splat(type.length(), scalar) : scalar;
}

Expr partsOf(Expr tuple, int i, bool whole) { return whole ? tuple : get(tuple, i); }

// How two results of a part of the accumulator are put together, and where a chunk's starts.
struct PartAccumulation {
  std::function<Expr(Expr, Expr)> combine;
  std::function<Expr(Expr init)> start;
  bool exact;
};

std::optional<PartAccumulation> accumulationOfPart(Expr body, Expr part);

// A part that is an array, computed element by element: map(g, part), map(g, zip(part, ys)), map(fun i => … part[i] …,
// indices).
std::optional<PartAccumulation> accumulationOfArray(const Spine& map, Expr part) {
  if (!map.isPrim(Prim::map)) return std::nullopt;
  const Expr p = map.arguments[0].parameter(), in = map.arguments[1];
  const Expr own = Expr::variable("own", part.type().element());
  std::unordered_map<Expr, Expr> names;
  const Spine arrays = spineOf(in);
  for (std::size_t i = 0; arrays.isPrim(Prim::zip) && i < arrays.arguments.size(); i++)
    if (arrays.arguments[i] == part)
      names.emplace(get(p, static_cast<int>(i)), own);
    else if (arrays.arguments[i].hasFree(part))
      return std::nullopt;
  if (isIndices(in)) detail::nameReads(map.arguments[0], p, part, own, names);
  if (in == part) names.emplace(p, own);
  const Expr element = replaceTerms(map.arguments[0].body(), names);
  const auto inner = element.hasFree(part) ? std::nullopt : accumulationOfPart(element, own);
  if (!inner) return std::nullopt;
  const auto combine = [inner](Expr left, Expr right) {
    const Expr both = zip({left, right}), q = Expr::variable("q", both.type().element());
    return build::map(Expr::lambda(q, inner->combine(get(q, 0), get(q, 1))), both);
  };
  const auto start = [inner](Expr init) {
    const Expr z = Expr::variable("z", init.type().element()), each = inner->start(z);
    return each.hasFree(z) ? build::map(Expr::lambda(z, each), init) : fill(init.type().length(), each);
  };
  return PartAccumulation{combine, start, inner->exact};
}

std::optional<PartAccumulation> accumulationOfPart(Expr body, Expr part) {
  if (body.type().isArray() && body != part) return accumulationOfArray(spineOf(body), part);
  if (!body.type().isScalar() && !body.type().isVector() && body != part) return std::nullopt;
  const auto found = partOf(body, part);
  if (!found) return std::nullopt;
  const Row* row = found->op ? rowOf(*found->op) : nullptr;
  return PartAccumulation{[=](Expr left, Expr right) {
                            return row ? operation(row->op, {left, right}) : left;
                          },
                          [=](Expr init) { return row && !row->idempotent ? neutralOf(*row, init.type()) : init; },
                          !row || row->idempotent || !isFloat(scalarOf(body.type()))};
}

// Every component by operations of its own.
std::optional<Accumulation> byOperations(const FoldStep& step, Expr init, const std::vector<Expr>& bodies, bool whole) {
  const Expr q = Expr::variable("q", Type::tuple({init.type(), init.type()}));
  std::vector<Expr> combined, starts;
  bool exact = true;
  for (int i = 0; i < static_cast<int>(bodies.size()); i++) {
    const Expr body = bodies[static_cast<std::size_t>(i)];
    const Expr part = Expr::variable("part", body.type());
    const Expr own = replaceTerms(body, {{partsOf(step.accumulator, i, whole), part}});
    const auto found = own.hasFree(step.accumulator) ? std::nullopt : accumulationOfPart(own, part);
    if (!found) return std::nullopt;
    combined.push_back(found->combine(partsOf(get(q, 0), i, whole), partsOf(get(q, 1), i, whole)));
    starts.push_back(found->start(partsOf(init, i, whole)));
    exact = exact && found->exact;
  }
  const Expr result = whole ? combined[0] : tuple(combined);
  return Accumulation{Expr::lambda(q, result), etaLong(whole ? starts[0] : tuple(starts)), true, exact};
}

// A choice between the accumulator and a candidate, by a comparison of one component of both.
struct Comparison {
  Op op;
  int component;
  bool accumulatorFirst;  // the comparison's left operand is the accumulator's
  bool choosesCandidate;  // where the comparison holds; else the accumulator
  std::vector<Expr> candidate;

  // Where the first of several equal elements stays, as in `if e < d then e else d`.
  bool keepsFirst() const { return choosesCandidate ? op == Op::lt || op == Op::gt : op == Op::le || op == Op::ge; }
};

std::optional<Comparison> comparisonOf(const FoldStep& step, const std::vector<Expr>& bodies, bool whole) {
  const auto acc = [&](int i) { return partsOf(step.accumulator, i, whole); };
  const auto isFree = [&](Expr e) { return !e.hasFree(step.accumulator); };
  Comparison found{};
  std::optional<Expr> condition;
  for (int i = 0; i < static_cast<int>(bodies.size()); i++) {
    const Expr body = bodies[static_cast<std::size_t>(i)];
    const Spine s = spineOf(body);
    if (!body.type().isScalar() || !isChoice(s) || (condition && *condition != s.arguments[0])) return std::nullopt;
    condition = s.arguments[0];
    const bool first = s.arguments[2] == acc(i) && isFree(s.arguments[1]);
    const bool second = s.arguments[1] == acc(i) && isFree(s.arguments[2]);
    if ((!first && !second) || (i > 0 && first != found.choosesCandidate)) return std::nullopt;
    found.choosesCandidate = first;
    found.candidate.push_back(s.arguments[first ? 1 : 2]);
  }
  const Spine test = spineOf(*condition);
  if (!test.isPrim(Prim::op) || lift::info(test.head.op()).typing != OpTyping::comparison) return std::nullopt;
  found.op = test.head.op();
  if (found.op == Op::eq || found.op == Op::ne) return std::nullopt;
  for (int i = 0; i < static_cast<int>(found.candidate.size()); i++) {
    const Expr candidate = found.candidate[static_cast<std::size_t>(i)];
    found.component = i;
    found.accumulatorFirst = test.arguments[0] == acc(i) && test.arguments[1] == candidate;
    if (found.accumulatorFirst || (test.arguments[1] == acc(i) && test.arguments[0] == candidate)) return found;
  }
  return std::nullopt;
}

// The accumulator or a candidate, by a comparison of a component of both. Where a component grows from element to
// element and the first of equals is kept, the least of that component decides among equals, in whatever order they
// come: an accumulator that no element has replaced equals none that one has.
std::optional<Accumulation> byChoice(const FoldStep& step, Expr init, const std::vector<Expr>& bodies, bool whole,
                                     const Grows& grows) {
  const auto found = comparisonOf(step, bodies, whole);
  if (!found) return std::nullopt;
  const Expr q = Expr::variable("q", Type::tuple({init.type(), init.type()}));
  const auto part = [&](int side, int i) { return partsOf(get(q, side), i, whole); };
  // Whether the result at side `later` replaces the one at side `earlier`.
  const auto replaces = [&](int later, int earlier) {
    const Expr was = part(earlier, found->component), is = part(later, found->component);
    const Expr test = operation(found->op, {found->accumulatorFirst ? was : is, found->accumulatorFirst ? is : was});
    return found->choosesCandidate ? test : operation(Op::logicalNot, {test});
  };
  // A comparison that fails for NaN must not choose the candidate, else the order of elements matters.
  const bool ordered = found->choosesCandidate || !isFloat(scalarOf(found->candidate[found->component].type()));
  std::optional<int> index;
  for (int i = 0; grows && ordered && found->keepsFirst() && i < static_cast<int>(found->candidate.size()); i++)
    if (grows(found->candidate[static_cast<std::size_t>(i)], step.element)) index = i;
  Expr later = replaces(1, 0);
  if (index) {
    const Expr before = operation(Op::lt, {part(1, *index), part(0, *index)});
    const Expr equal = operation(Op::logicalNot, {replaces(0, 1)});
    later = operation(Op::logicalOr, {later, operation(Op::logicalAnd, {equal, before})});
  }
  std::vector<Expr> parts;
  for (int i = 0; i < static_cast<int>(found->candidate.size()); i++)
    parts.push_back(operation(Op::select, {later, part(1, i), part(0, i)}));
  return Accumulation{Expr::lambda(q, whole ? parts[0] : tuple(parts)), init, index.has_value(), ordered};
}

// The components that `part` takes of nested tuples `of`, the last one first; nothing where it does more.
std::optional<std::vector<int>> componentPath(Expr part, Expr of) {
  std::vector<int> path;
  for (Spine s = spineOf(part); part != of; s = spineOf(part)) {
    if (!s.isCall(Prim::get)) return std::nullopt;
    path.push_back(static_cast<int>(*s.head.nats()[0].constant()));
    part = s.arguments[0];
  }
  return path;
}

// Whether the part at `path` of an array's elements grows. A path is the components to take, the last one first.
bool grows(Expr array, std::vector<int> path, const Rows& rows) {
  if (const auto found = rows.find(array); found != rows.end()) {
    const Spine cut = spineOf(found->second);
    return (cut.isPrim(Prim::split) || cut.isPrim(Prim::slide)) && grows(cut.arguments[0], std::move(path), rows);
  }
  const Spine s = spineOf(array);
  if (s.isPrim(Prim::take) || s.isPrim(Prim::drop)) return grows(s.arguments[0], std::move(path), rows);
  if (s.isPrim(Prim::zip)) {
    if (path.empty()) return false;
    const auto component = static_cast<std::size_t>(path.back());
    path.pop_back();
    return grows(s.arguments[component], std::move(path), rows);
  }
  if (!s.isPrim(Prim::map) && !s.isPrim(Prim::generate)) return false;
  Expr body = s.arguments[0].body();
  for (Spine b = spineOf(body); b.isPrim(Prim::let) || (b.isPrim(Prim::tuple) && !path.empty()); b = spineOf(body)) {
    body = b.isPrim(Prim::let) ? b.arguments[0].body() : b.arguments[static_cast<std::size_t>(path.back())];
    if (b.isPrim(Prim::tuple)) path.pop_back();
  }
  const auto further = componentPath(body, s.arguments[0].parameter());
  if (!further) return false;
  if (s.isPrim(Prim::generate)) return path.empty() && further->empty();
  path.insert(path.end(), further->begin(), further->end());
  return grows(s.arguments[1], std::move(path), rows);
}

}  // namespace

Grows growing(Expr in, const Rows& rows) {
  return [in, &rows](Expr number, Expr element) {
    auto path = componentPath(number, element);
    return path && isInteger(scalarOf(number.type())) && grows(in, std::move(*path), rows);
  };
}

std::optional<std::vector<Op>> operationsOf(const Accumulation& accumulation) {
  std::vector<Op> operations;
  const std::function<bool(Expr)> visit = [&](Expr e) {
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::tuple)) return std::ranges::all_of(s.arguments, visit);
    if (!s.isPrim(Prim::op) || !e.type().isScalar()) return false;
    operations.push_back(s.head.op());
    return true;
  };
  return visit(accumulation.combine.body()) ? std::optional(operations) : std::nullopt;
}

std::optional<AtomicUpdate> atomicUpdateOf(Type element, Expr f) {
  const Expr z = Expr::variable("z", element);
  const bool isTuple = element.isTuple();
  const std::vector<Type> numbers = isTuple ? element.components() : std::vector{element};
  if (!std::ranges::all_of(numbers, [](Type t) { return t.isScalar(); })) return std::nullopt;
  const auto accumulation = accumulationOf(z, f);
  const auto operations = accumulation ? operationsOf(*accumulation) : std::nullopt;
  if (!operations || operations->size() != numbers.size()) return std::nullopt;
  std::vector<Expr> starts;
  for (std::size_t i = 0; i < numbers.size(); i++) {
    const Op op = (*operations)[i];
    const Scalar scalar = scalarOf(numbers[i]);
    if (!isAtomic(op, scalar)) return std::nullopt;
    const bool isExtreme = op == Op::min || op == Op::max;
    const auto end = op == Op::min ? ScalarValue::Extreme::highest : ScalarValue::Extreme::lowest;
    const int neutral = op == Op::bitAnd ? -1 : op == Op::mul ? 1 : 0;
    starts.push_back(
        Expr::literal(isExtreme ? ScalarValue::extreme(scalar, end) : ScalarValue::ofInteger(scalar, neutral)));
  }
  return AtomicUpdate{*operations, isTuple ? tuple(starts) : starts[0], accumulation->exact};
}

bool dividesEvenly(Nat chunk, Nat length) {
  return length / chunk * chunk == length || lift::divides(chunk, length) == Truth::proved;
}

bool isChoice(const Spine& s) {
  const bool select = s.isPrim(Prim::op) && s.head.op() == Op::select;
  return (select || s.isPrim(Prim::ifThenElse)) && s.arguments.size() == 3;
}

std::optional<Expr> neutralOf(Op op, Type type) {
  const Row* row = rowOf(op);
  if (row == nullptr || row->idempotent) return std::nullopt;
  return neutralOf(*row, type);
}

std::optional<Accumulation> accumulationOf(Expr init, Expr f, const Grows& grows) {
  if (!f.isLambda()) return std::nullopt;
  const auto step = detail::foldStepOf(f);
  if (!step) return std::nullopt;
  const bool whole = !init.type().isTuple();
  std::vector<Expr> bodies{step->body};
  if (!whole) bodies = componentsOf(step->body);
  if (auto found = byOperations(*step, init, bodies, whole)) return found;
  return byChoice(*step, init, bodies, whole, grows);
}

}  // namespace lift::rewrite
