// What is kept in memory, each by a kernel of its own.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "default_mapping.hpp"

namespace lift::detail {

void DefaultMapping::note(Expr term, const std::string& text) {
  if (!notes_) return;
  kernel::Note n{"map", placeIn(spans_, term) + ": " + text};
  if (std::none_of(notes_->begin(), notes_->end(), [&](const auto& m) { return m.text == n.text; }))
    notes_->push_back(std::move(n));
}

// A closed term in memory, computed by a kernel of its own; the same one for equal terms.
Expr DefaultMapping::kept(Expr e, std::string_view why) {
  if (isKept(e)) return e;
  const bool isMarked = endsKernel(spineOf(e));
  const Expr value = isMarked ? spineOf(e).arguments[0] : e;
  const bool inImage = spineOf(e).isPrim(Prim::toImage);
  const Expr key = canonical_(inImage ? e : value);
  Expr k = isMarked ? e : apply("keepAhead", e);
  if (const auto found = known_.find(key); found != known_.end()) {
    for (const rewrite::Step& step : found->second.steps) {
      const auto next = rewrite::at(step.path, rewrite::use(step.rule, step.arguments))(k, rewriting_);
      ensure(next.has_value(), "equal terms are mapped by the same steps");
      k = *next;
    }
    return found->second.term;
  }
  const std::size_t first = rewriting_.derivation().steps.size(), above = rewriting_.path().size();
  const auto around = std::pair(ofKernel_, std::exchange(evaluations_, 1));
  k = argument(k, 0, [this](Expr x) { return result(x); });
  std::tie(ofKernel_, evaluations_) = around;
  Kept kept{k, {}};
  const auto& steps = rewriting_.derivation().steps;
  for (std::size_t i = first; i < steps.size(); i++) {
    kept.steps.push_back(steps[i]);
    auto& path = kept.steps.back().path;
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(above));
  }
  kept_.insert(k);
  known_.emplace(key, std::move(kept));
  if (notes_ != nullptr)
    note(value, fmt::format("{} is kept in memory, computed by a kernel of its own: {}", e.type().str(), why));
  return k;
}

// Work that is worth doing once instead of at every use.
bool DefaultMapping::isExpensive(Expr e) {
  if (isKept(e)) return false;
  if (const auto known = expensive_.find(e); known != expensive_.end()) return known->second;
  bool is = false;
  if (e.isLambda()) is = isExpensive(e.body());
  if (e.isApply()) is = isChosen(spineOf(e), e.type()) || isExpensive(e.function()) || isExpensive(e.argument());
  if (e.isPrimitive()) is = takesSteps(e);
  return expensive_[e] = is;
}

bool DefaultMapping::isCheap(Expr e) { return !isExpensive(e) || work_.of(e) <= recomputedOperations; }

// A value, no array, that costs a loop.
bool DefaultMapping::isWorthNaming(Expr e) {
  return e.type().isRegister() && e.isApply() && (!isCheap(e) || isCostlyNumber(e, ofKernel_, evaluations_));
}

// Whether the array gets memory of its own; `shared` says that its elements are read for several results. Of a map
// that only moves data, what it moves may get some.
bool DefaultMapping::isStored(Expr e, bool shared) {
  // Of a loop whose value is a tuple, components with arrays are read.
  const bool ofTuple = e.type().isTuple() && holdsArrays(e.type()) && e.isApply() && spineOf(e).head.isPrimitive() &&
                       takesSteps(spineOf(e).head);
  if (isKept(e) || !(computesArray(e) || ofTuple) || !isClosed(e) || !mayMove(e)) return false;
  if (const Spine s = spineOf(e); s.isPrim(Prim::map) && onlyMovesData(s.arguments[0])) return false;
  return isExpensive(e) || (shared && operations(e, shared) > recomputedOperations);
}

// Scalar operations, about, that an element of the term costs where it is not stored. What is below is counted as it
// will be: an array that is stored costs nothing more.
double DefaultMapping::operations(Expr e, bool shared) {
  if (e.isLambda()) return operations(e.body(), shared);
  if (!e.isApply() || isKept(e)) return 0;
  auto& known = operations_[shared ? 1 : 0];
  if (const auto found = known.find(e); found != known.end()) return found->second;
  const Spine s = spineOf(e);
  const bool below = shared || sharesElements(s);
  double count = s.isPrim(Prim::op) || s.isPrim(Prim::convert) ? 1 : 0;
  for (const Expr a : s.arguments) {
    const bool reads = s.isPrim(Prim::map) && !a.isLambda();
    const double times = reads ? occurrences(s.arguments[0].body(), s.arguments[0].parameter()) : 1;
    if (!isStored(a, below)) count += times * operations(a, below);
  }
  return known[e] = count;
}

bool DefaultMapping::isClosed(Expr e) const {
  const auto& free = e.freeVariables();
  return std::ranges::all_of(free, [&](Expr v) { return parameters_.count(v) > 0; });
}

// Whether the term may be evaluated in front of the conditions around it.
bool DefaultMapping::mayMove(Expr e) const { return guards_.allow(e); }

// toGlobal or toImage as the program has it.
bool DefaultMapping::isKernelBoundary(Expr e) const { return endsKernel(spineOf(e)) && isClosed(e); }

// A term that is read outside of every lambda: expensive intermediates get a kernel of their own.
Expr DefaultMapping::operand(Expr e, bool shared) {
  if (!e.isApply() || isKept(e)) return e;
  if (isKernelBoundary(e)) return kept(e, "the program says so");
  if (isStored(e, shared)) {
    if (const auto byGroup = sharedByGroup(e)) return *byGroup;
    return kept(e, isExpensive(e) ? "it is expensive" : "several results read each of its elements");
  }
  return alone(e, shared);
}

// Whether an array whose elements are each read so often costs much less where it is stored.
bool DefaultMapping::isReadOften(Expr value, double reads, double storedOperations) {
  return (reads - 1) * work_.of(value) / elementsOf(value) > storedOperations;
}

// Whether a map reads elements of the computed rows that it runs over so often.
bool DefaultMapping::readsRowsOften(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::map) || !computesElements(e) || !computesElements(s.arguments[1])) return false;
  const Expr row = s.arguments[0].parameter(), computed = spineOf(s.arguments[1]).arguments[0].body();
  return row.type().isArray() && computesElements(underLayouts(computed)) &&
         isReadOften(computed, readsOfElement(s.arguments[0].body(), row));
}

// A term that one work-item evaluates, in which an array that is named, or the row of a map over computed rows, is read
// often: the work-item computes it once, in memory of its own.
Expr DefaultMapping::storedWithin(Expr e) {
  constexpr std::int64_t storedElements = 4096;  // that a work-item has room for
  constexpr double ownOperations = 8;            // on an element, that are worth a store to memory of its own
  const auto fits = [&](Type type) {
    const auto count = elementCount(shapeOf(type)).constant();
    return type.isArray() && leavesOf(type).size() == 1 && count && *count <= storedElements;
  };
  if (readsRowsOften(e) && fits(spineOf(e).arguments[1].type().element())) return apply("mapFusion", e);
  const Spine s = spineOf(e);
  if (!s.isCall(Prim::let) || !fits(s.arguments[1].type())) return e;
  const Expr value = s.arguments[1];
  if (isClosed(value) || !computesElements(underLayouts(value)) ||
      !isReadOften(value, readsOfElement(s.arguments[0].body(), s.arguments[0].parameter()), ownOperations))
    return e;
  e = argument(e, 1, [&](Expr v) {
    const std::function<Expr(Expr)> below = [&](Expr x) {
      const Spine t = spineOf(x);
      if (t.isPrim(Prim::map)) return apply("mapInOrder", x);
      return argument(t.isPrim(Prim::concat) ? argument(x, 1, below) : x, 0, below);
    };
    return below(resultInLanes(v));
  });
  if (const Spine stored = spineOf(spineOf(e).arguments[1]);
      stored.isPrim(Prim::asScalar) || stored.isPrim(Prim::concat))
    e = apply("letToPrivate", e);
  contiguous_.insert(spineOf(e).arguments[0].parameter());
  return e;
}

// A function that the loop runs.
Expr DefaultMapping::insideLoop(const Spine& loop, Expr f) {
  const double times = loop.head.isPrimitive() ? evaluations(loop) : 1;
  const double around = std::exchange(evaluations_, evaluations_ * times);
  f = inside(f);
  evaluations_ = around;
  return f;
}

// A term inside a lambda: what does not depend on the lambda is computed once, outside.
Expr DefaultMapping::inside(Expr e) {
  if (e.isLambda()) return body(e, [this](Expr b) { return inside(b); });
  if (!e.isApply() || isKept(e)) return e;
  if (isKernelBoundary(e)) return kept(e, "the program says so");
  // A kernel cannot end inside of a map: there toGlobal asks for nothing that sharing between work-items could see.
  if (const Spine s = spineOf(e); endsKernel(s))
    return inside(apply(s.isPrim(Prim::toImage) ? "keepInNoImage" : "keepNot", e));
  if (isClosed(e) && mayMove(e)) {
    // One element is computed, not stored with all others.
    if (const Spine s = spineOf(e); s.isPrim(Prim::at) && computesElements(s.arguments[1]) && !isKept(s.arguments[1]) &&
                                    !isExpensive(s.arguments[1]))
      return inside(apply("elementOfMap", e));
    // What depends on no input, either, where an element costs more than reading it.
    const bool array =
        computesArray(e) && !onlyMovesData(e) &&
        (isExpensive(e) || !e.freeVariables().empty() || work_.of(e) > recomputedOperations * elementsOf(e));
    if (array || isWorthNaming(e)) return kept(e, "the same for all elements of a map");
  }
  e = storedWithin(e);
  if (namesLanes(e)) return inside(apply("letUnfold", e));
  if (const Spine s = spineOf(e); s.isPrim(Prim::map)) noteRows(s.arguments[0], s.arguments[1]);
  const Spine s = spineOf(e);
  return inOrder(eachArgument(e, [&](Expr x, bool) { return x.isLambda() ? insideLoop(s, x) : inside(x); }));
}

}  // namespace lift::detail
