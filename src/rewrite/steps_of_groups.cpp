// The strategy of work-groups whose work-items share what computes an element: each step of iterations over arrays,
// the rows of scans, reductions.
#include "lift/strategies.hpp"
#include "lift/terms.hpp"

namespace lift::strategies {

using namespace rewrite;

namespace {

// Where what a group computes goes: to the result's memory, to local memory, or where it is read.
enum class To { result, local, reader };

Strategy byGroup(To to);

// Whether a work-item computes it alone, and all do the same: loops that they cannot share.
bool isOfOneItem(const Spine& s) {
  return s.head.isPrimitive() &&
         (traits(s.head.prim()).loop == Traits::Loop::reduceByIndex || s.isPrim(Prim::iterateWhile));
}

// A map over the group's work-items, what it computes of an element in sequence.
Strategy overItems(To to) {
  const Strategy map = seq({function(body(sequential(16))), use("mapToItems0")});
  return to == To::local ? seq({use("mapToLocalMemory"), argument(map)}) : map;
}

// A copy by the group's work-items, of matrices element by element.
Strategy copied(To to) {
  const Strategy elements =
      seq({use("copyMap"), function(body(use("copyMap"))), use("mapFlatten"), argument(overItems(to))});
  return orElse(when([](Expr e) { return e.type().element().isArray(); }, elements),
                seq({use("copyMap"), overItems(to)}));
}

Strategy inLocalMemory() { return seq({use("keepAhead"), use("keepNear")}); }

Strategy argumentAt(std::size_t i, const Strategy& s) {
  return [i, s](Expr e, Rewriting& r) { return rewrite::at(argumentPath(spineOf(e), i), s)(e, r); };
}

// Elements of a row that a work-item scans: of odd rows neighbours do not wait for each other's local memory.
std::optional<std::int64_t> rowOfScan(std::int64_t length) {
  for (const std::int64_t row : {17, 15, 19, 13, 21, 16, 11, 23, 9, 20, 12, 18, 14, 10, 24, 8, 32})
    if (length % row == 0) return row;
  return std::nullopt;
}

// A scan in local memory: a row by each work-item, from what stands before it. What each row gives is scanned the same
// way, until one work-item does it as fast.
Strategy scanned() {
  return [](Expr e, Rewriting& r) -> std::optional<Expr> {
    constexpr std::int64_t fewElements = 32, usualRow = 16;
    const Spine s = spineOf(e);
    const auto length = s.arguments[2].type().length().constant();
    const ScanRules& rules = rulesOfScan(s.head.prim());
    if (!length || !s.arguments[0].type().isRegister()) return std::nullopt;
    const Strategy isThere = when([](Expr x) { return spineOf(x).isPrim(Prim::toLocal); }, identity());
    const Strategy placed = argument(orElse(isThere, byGroup(To::local)));
    if (*length <= fewElements) return seq({placed, use(rules.inOrder), inLocalMemory()})(e, r);
    const auto row = rowOfScan(*length);
    if (!row) return seq({use(rules.filled, {{"k", missingTo(*length, usualRow)}}), argument(scanned())})(e, r);
    const Strategy offsets = seq({use("loopToScanExclusive"), scanned()});
    const Strategy rows = seq({argument(argumentAt(0, offsets)), overItems(To::result)});
    return seq({placed, use("letOf<1>"),
                function(body(seq({use(rules.inChunks, {{"c", Nat(*row)}}), argument(rows), inLocalMemory()})))})(e, r);
  };
}

// The first number, in what an array is put together of, that takes a loop: of [0.5, maximum(xs)] the maximum.
std::optional<Path> numberOfLoop(Expr e) {
  if (e.type().isRegister()) return anyPrimitive(e, takesSteps) ? std::optional(Path{}) : std::nullopt;
  if (!e.isApply()) return std::nullopt;
  const Spine s = spineOf(e);
  for (std::size_t i = 0; i < s.arguments.size(); i++)
    if (const auto below = s.arguments[i].isLambda() ? std::nullopt : numberOfLoop(s.arguments[i]))
      return argumentPath(s, i) + *below;
  return std::nullopt;
}

std::optional<Expr> computed(Expr e, Rewriting& r, To to) {
  const bool isTuple = e.type().isTuple(), stores = to != To::reader && (e.type().isArray() || isTuple);
  const Spine s = spineOf(e);
  if (!e.isApply() || (onlyMovesData(e) && !s.isPrim(Prim::tuple))) {
    if (!stores) return e;
    return isTuple ? seq({use("tupleOfParts"), byGroup(to)})(e, r) : copied(to)(e, r);
  }
  const bool isOfSteps = stepsOverArrays(s);
  if (stores && isTuple && !s.isPrim(Prim::tuple) && !s.isPrim(Prim::let) && !(isOfSteps && to == To::local))
    return seq({use("letValue"), byGroup(to)})(e, r);
  const auto arguments = [&](To each) {
    std::vector<Strategy> all;
    for (std::size_t i = 0; i < s.arguments.size(); i++)
      if (!s.arguments[i].isLambda()) all.push_back(argumentAt(i, byGroup(each)));
    return seq(std::move(all));
  };
  if (s.isPrim(Prim::let)) {
    const bool isKept = s.arguments[1].type().isArray() && !onlyMovesData(s.arguments[1]);
    return seq({argumentAt(1, byGroup(isKept ? To::local : To::reader)), function(body(byGroup(to)))})(e, r);
  }
  if (s.isPrim(Prim::tuple)) return arguments(to)(e, r);
  if (isOfOneItem(s)) return std::nullopt;
  if (isScan(s)) return (to == To::result ? seq({scanned(), copied(to)}) : scanned())(e, r);
  if (isOfSteps && s.isPrim(Prim::reduce)) {
    // Elements that take no loops are computed in the step that takes them.
    const bool areNear = anyPrimitive(s.arguments[2], takesSteps);
    return seq({use("reduceToSteps"), areNear ? identity() : attempt(use("letUnfold")), byGroup(to)})(e, r);
  }
  if (isOfSteps) {
    const Strategy steps = seq({argumentAt(1, byGroup(To::local)), function(body(byGroup(To::local)))});
    return (to == To::result ? seq({steps, copied(to)}) : steps)(e, r);
  }
  if (stores && isComputingMap(e)) {
    const Strategy flat = seq({use("mapFlatten"), tidy(), byGroup(to)});
    const Strategy rows = seq({argumentAt(1, byGroup(To::reader)), overItems(to)});
    return (isComputingMap(s.arguments[0].body()) ? orElse(flat, rows) : rows)(e, r);
  }
  if (stores && isResultLayout(s, Crops::yes)) return argument(byGroup(to))(e, r);
  if (s.isPrim(Prim::generate) && stores) return seq({use("generateAsMap"), byGroup(to)})(e, r);
  if (s.isPrim(Prim::reduce)) {
    constexpr std::int64_t shortest = 32;
    const bool isShort = s.arguments[2].type().length().constant().value_or(shortest) < shortest;
    return seq({arguments(To::reader), isShort ? identity() : attempt(use("reduceToItems"))})(e, r);
  }
  if (s.isPrim(Prim::ifThenElse)) {
    if (anyPrimitive(e, [](Expr p) { return traits(p.prim()).loop == Traits::Loop::iterate; })) return std::nullopt;
    return stores ? copied(to)(e, r) : e;
  }
  if (!stores) return arguments(To::reader)(e, r);
  // All work-items compute such a number, before they copy.
  if (const auto place = numberOfLoop(e)) return seq({use(ruleAt("letOf", *place)), byGroup(to)})(e, r);
  return seq({arguments(To::reader), copied(to)})(e, r);
}

Strategy byGroup(To to) {
  return [to](Expr e, Rewriting& r) { return computed(e, r, to); };
}

}  // namespace

const ScanRules& rulesOfScan(Prim scan) {
  static constexpr ScanRules inclusive{"scanInOrder", "scanInChunks", "scanFilled", "scanAsRow"};
  static constexpr ScanRules exclusive{"scanExclusiveInOrder", "scanExclusiveInChunks", "scanExclusiveFilled",
                                       "scanExclusiveAsRow"};
  return scan == Prim::scan ? inclusive : exclusive;
}

std::vector<Expr> loopsOfGroup(Expr e) {
  if (!e.isApply()) return {};
  const Spine s = spineOf(e);
  std::vector<Expr> loops;
  const auto add = [&](Expr below) {
    const auto more = loopsOfGroup(below);
    loops.insert(loops.end(), more.begin(), more.end());
  };
  if (stepsOverArrays(s) || isScan(s) || s.isPrim(Prim::reduce)) loops.push_back(e);
  const bool opens = stepsOverArrays(s) || s.isPrim(Prim::let);
  for (const Expr a : s.arguments)
    if (!a.isLambda() || opens) add(a.isLambda() ? a.body() : a);
  return loops;
}

Strategy stepsOfGroups(int outer) {
  return seq({fused(), below(outer + 1, byGroup(To::result)), placedBy("mapToGroups", outer + 1)});
}

}  // namespace lift::strategies
