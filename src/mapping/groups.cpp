// On a graphics processor: what the work-items of a group share, in local memory. Iterations and folds over arrays: a
// work-item of its own would keep the arrays in private memory, which is slow there, and launches for each step take
// longer than little work. Scans and reductions of rows: work-items with a row each would read elements that lie apart.
#include "default_mapping.hpp"
#include "lift/strategies.hpp"

namespace lift::detail {

namespace {

constexpr std::int64_t localBytes = 32 << 10;  // that every GPU has
constexpr std::int64_t copies = 3;  // of what is in local memory: two in turns, and what a step keeps besides

std::optional<std::int64_t> elementsOf(const Leaf& leaf) { return elementCount(leaf.shape).constant(); }

std::int64_t bytesOf(const Leaf& leaf) { return static_cast<std::int64_t>(info(leaf.scalar).bytes); }

bool fitsLocalMemory(const std::vector<Expr>& loops) {
  std::int64_t bytes = 0;
  for (const Expr loop : loops)
    for (const Leaf& leaf : leavesOf(loop.type())) {
      const auto count = elementsOf(leaf);
      if (!count || *count > localBytes) return false;
      bytes += *count * bytesOf(leaf);
    }
  return copies * bytes <= localBytes;
}

// Local memory that a group of so many work-items takes for the term, mapped.
std::int64_t localMemoryOf(Expr e, std::int64_t items) {
  if (e.isLambda()) return localMemoryOf(e.body(), items);
  if (!e.isApply()) return 0;
  const Spine s = spineOf(e);
  std::int64_t bytes = 0;
  for (const Leaf& leaf : leavesOf(e.type())) {
    // Of an iteration there is a third state: what its last step leaves.
    const bool isArray = s.isPrim(Prim::toLocal) || (s.isPrim(Prim::iterate) && !leaf.shape.empty());
    if (isArray) bytes += elementsOf(leaf).value_or(localBytes) * bytesOf(leaf);
    if (s.isPrim(Prim::reduceLcl)) bytes += items * bytesOf(leaf);
  }
  for (const Expr a : s.arguments) bytes += localMemoryOf(a, items);
  return bytes;
}

// Whether a state has arrays that registers do not hold.
bool isLongState(Type state) {
  return std::ranges::any_of(leavesOf(state),
                             [](const Leaf& leaf) { return elementsOf(leaf).value_or(0) > registerElements; });
}

}  // namespace

// Elements of a scan that a group takes at a time: rows of 17 for its work-items, which read local memory that lies in
// other banks than their neighbours'. Nothing where a work-item does it as well.
std::optional<std::int64_t> DefaultMapping::chunkOfGroup(const Spine& scan) const {
  constexpr std::int64_t row = 17, most = 128, fewest = 33;
  const auto length = scan.arguments[2].type().length().constant();
  if (!options_.isGpu || options_.chunk > 0 || !length || *length < fewest || !scan.arguments[0].type().isRegister())
    return std::nullopt;
  std::int64_t bytes = 0, items = most;
  for (const Leaf& leaf : leavesOf(scan.arguments[0].type())) bytes += bytesOf(leaf);
  while (copies * bytes * items * row > localBytes) items /= 2;
  return items * row;
}

// What the term's steps read and do not change, in memory.
Expr DefaultMapping::closedKept(Expr e) {
  const auto below = [this](Expr x) {
    if (x.isApply() && isStored(x, false)) return kept(x, "the same for all elements of a map");
    return closedKept(x);
  };
  if (!e.isApply() || isKept(e)) return e;
  return eachArgument(e, [&](Expr x, bool) { return x.isLambda() ? body(x, below) : below(x); });
}

// Whether the rows are chunks of an array that is filled to whole ones.
bool DefaultMapping::areRowsOfFilled(Expr rows) const {
  const Spine s = spineOf(rows);
  if (s.isPrim(Prim::zip))
    return std::ranges::all_of(s.arguments,
                               [&](Expr a) { return !a.type().element().isArray() || areRowsOfFilled(a); });
  const Spine filled = s.isPrim(Prim::split) ? spineOf(s.arguments[0]) : s;
  return filled.isPrim(Prim::padClamp) && isContiguous(filled.arguments.back());
}

// Whether it pays that a group computes the term: it takes steps over arrays, or goes over long rows, which lie side by
// side in memory or are few.
bool DefaultMapping::isSharedByGroup(Expr e, bool fewItems) {
  constexpr std::int64_t shortest = 64, longest = 1 << 14;  // longer reductions are divided among groups
  const auto loops = strategies::loopsOfGroup(e);
  if (!fitsLocalMemory(loops)) return false;
  // What work-items reduce or scan together is not rounded in the order of the elements.
  const auto keepsOrder = [&](Expr loop) {
    const Spine s = spineOf(loop);
    return !s.isPrim(Prim::iterate) && !foldsArrays(s) && !mayDivide(s.head, s.arguments[0], s.arguments[1]);
  };
  if (options_.strictReductions && std::ranges::any_of(loops, keepsOrder)) return false;
  return std::ranges::any_of(loops, [&](Expr loop) {
    const Spine s = spineOf(loop);
    if (stepsOverArrays(s)) return isLongState(loop.type());
    if (isScan(s) && foldsArrays(s)) return false;
    const auto length = s.arguments[2].type().length().constant();
    if (!length || *length < (isScan(s) ? shortest : 4 * shortest) || *length > longest) return false;
    return (fewItems || isContiguous(s.arguments[2])) && mayDivide(s.head, s.arguments[0], s.arguments[1]);
  });
}

// A nest of maps whose elements groups compute: one each.
std::optional<Expr> DefaultMapping::sharedByGroups(Expr e) {
  if (!options_.isGpu) return std::nullopt;
  const Nest nest = nestOf(e);
  for (const rewrite::Path& level : nest.levels) {
    const Spine map = spineOf(rewrite::partAt(e, level));
    if (areRowsOfFilled(map.arguments[1])) rows_.emplace(map.arguments[0].parameter(), map.arguments[1]);
    noteRows(map.arguments[0], map.arguments[1]);
  }
  if (!isSharedByGroup(rewrite::partAt(e, nest.body), hasFewItems(e))) return std::nullopt;
  const auto steps = strategies::stepsOfGroups(static_cast<int>(nest.levels.size()) - 1);
  const auto before = rewriting_.mark();
  const auto shared = steps(e, rewriting_);
  rewriting_.undo(before);
  if (!shared || localMemoryOf(*shared, groupSizeOnGpu(nest.items)) > localBytes) return std::nullopt;
  note(spineOf(e).head, "each element by a work-group, whose work-items share its loops");
  e = argument(e, 1, [this](Expr in) { return operand(in); });
  return *steps(at(e, nest.body, [this](Expr x) { return closedKept(x); }), rewriting_);
}

// An iteration or a fold of steps that are too little work for launches of their own, by one group.
std::optional<Expr> DefaultMapping::sharedByGroup(Expr e) {
  if (!options_.isGpu || options_.chunk > 0 || !isClosed(e) || !mayMove(e)) return std::nullopt;
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::get)) {
    const Expr state = s.arguments[0];
    e = argument(e, 0, [this](Expr x) { return sharedByGroup(x).value_or(x); });
    return spineOf(e).arguments[0] == state ? std::nullopt : std::optional(e);
  }
  if (!stepsOverArrays(s) || !isSharedByGroup(e, true)) return std::nullopt;
  const Expr step = s.arguments[s.isPrim(Prim::iterate) ? 0 : 1];
  if (work_.of(step) >= (launchesOf(step.body()) + 2) * sharedOperations) return std::nullopt;
  const auto before = rewriting_.mark();
  const Expr only = apply("inOneGroup", e);
  const auto shared = rewrite::at(argumentPath(spineOf(only), 1), strategies::stepsOfGroups(0))(only, rewriting_);
  rewriting_.undo(before);
  if (!shared || localMemoryOf(*shared, groupSizeOnGpu(1)) > localBytes) return std::nullopt;
  return argument(apply("inOneGroup", e), 1, [this](Expr map) { return kept(map, "a group shares its steps"); });
}

}  // namespace lift::detail

namespace lift {

std::int64_t groupSizeOnGpu(Nat groups) {
  constexpr std::int64_t few = 16;
  return groups.constant().value_or(few + 1) <= few ? 4 * usualGroupSize : usualGroupSize;
}

bool sharesStepsInGroups(Expr term) {
  Expr body = underLayouts(etaLong(term));
  if (!detail::computesElements(body)) return false;
  while (detail::computesElements(body)) body = underLayouts(spineOf(body).arguments[0].body());
  const auto loops = strategies::loopsOfGroup(body);
  if (!detail::fitsLocalMemory(loops)) return false;
  detail::Work work;
  return std::ranges::any_of(loops, [&](Expr loop) {
    const Spine s = spineOf(loop);
    if (!stepsOverArrays(s) || !detail::isLongState(loop.type())) return false;
    return work.of(s.arguments[s.isPrim(Prim::iterate) ? 0 : 1]) < detail::sharedOperations;
  });
}

}  // namespace lift
