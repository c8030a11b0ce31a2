// On a graphics processor: iterations and folds over arrays whose steps the work-items of a group share, in local
// memory. A work-item of its own would keep the arrays in private memory, which is slow there, and launches for each
// step take longer than little work.
#include "default_mapping.hpp"
#include "lift/strategies.hpp"

namespace lift::detail {

namespace {

// Whether the states are more than registers hold, and local memory, which every GPU has so much of, holds them.
bool fitGroups(const std::vector<Type>& states) {
  constexpr std::int64_t registers = 16, localBytes = 32 << 10;
  constexpr std::int64_t copies = 3;  // two in turns, and what a step keeps besides
  std::int64_t bytes = 0;
  bool areLong = false;
  for (const Type state : states)
    for (const Leaf& leaf : leavesOf(state)) {
      Nat elements = 1;
      for (const Nat n : leaf.shape) elements = elements * n;
      const auto count = elements.constant();
      if (!count || *count > localBytes) return false;
      areLong = areLong || *count > registers;
      bytes += *count * static_cast<std::int64_t>(info(leaf.scalar).bytes);
    }
  return areLong && copies * bytes <= localBytes;
}

}  // namespace

// What the term's steps read and do not change, in memory.
Expr DefaultMapping::closedKept(Expr e) {
  const auto below = [this](Expr x) {
    if (x.is(Expr::Form::apply) && isStored(x, false)) return kept(x, "the same for all elements of a map");
    return closedKept(x);
  };
  if (!e.is(Expr::Form::apply) || isKept(e)) return e;
  return eachArgument(e, [&](Expr x, bool) { return x.is(Expr::Form::lambda) ? body(x, below) : below(x); });
}

// A nest of maps whose elements are computed in such steps: a group for each element.
std::optional<Expr> DefaultMapping::sharedByGroups(Expr e) {
  if (!options_.isGpu) return std::nullopt;
  const Nest nest = nestOf(e);
  if (!fitGroups(strategies::statesOfGroup(rewrite::partAt(e, nest.body)))) return std::nullopt;
  const auto steps = strategies::stepsOfGroups(static_cast<int>(nest.levels.size()) - 1);
  const auto before = rewriting_.mark();
  if (!steps(e, rewriting_)) return std::nullopt;
  rewriting_.undo(before);
  note(spineOf(e).head, "each element by a work-group, whose work-items share its steps");
  e = argument(e, 1, [this](Expr in) { return operand(in); });
  return *steps(at(e, nest.body, [this](Expr x) { return closedKept(x); }), rewriting_);
}

// The only iteration of a kernel, of steps that are too little work for launches of their own, by one group.
std::optional<Expr> DefaultMapping::sharedByGroup(Expr e) {
  if (!options_.isGpu || options_.chunk > 0 || !isClosed(e) || !mayMove(e)) return std::nullopt;
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::get)) {
    const Expr state = s.arguments[0];
    e = argument(e, 0, [this](Expr x) { return sharedByGroup(x).value_or(x); });
    return spineOf(e).arguments[0] == state ? std::nullopt : std::optional(e);
  }
  if (!fitGroups(strategies::statesOfGroup(e)) || (!s.isPrim(Prim::iterate) && !foldsArrays(s))) return std::nullopt;
  const Expr step = s.arguments[s.isPrim(Prim::iterate) ? 0 : 1];
  if (work_.of(step) >= (launchesOf(step.body()) + 2) * dividedOperations) return std::nullopt;
  const auto before = rewriting_.mark();
  const Expr alone = apply("inOneGroup", e);
  const bool isShared =
      rewrite::at(argumentPath(spineOf(alone), 1), strategies::stepsOfGroups(0))(alone, rewriting_).has_value();
  rewriting_.undo(before);
  if (!isShared) return std::nullopt;
  return argument(apply("inOneGroup", e), 1, [this](Expr map) { return kept(map, "a group shares its steps"); });
}

}  // namespace lift::detail
