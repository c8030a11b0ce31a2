// What a kernel computes: parallel over its outermost maps, everything below in order.
#include "default_mapping.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lift/build.hpp"
#include "lift/strategies.hpp"

namespace lift::detail {

namespace {

// A map over one element takes no dimension.
bool isTrivial(Expr map) { return spineOf(map).arguments[1].type().length() == Nat(1); }

bool computesFirst(Expr e) {
  if (!e.isApply()) return false;
  const Spine s = spineOf(e);
  if (s.head.isPrimitive() && takesSteps(s.head)) return true;
  if (s.isPrim(Prim::let) && (s.arguments[1].type().isRegister() || computesFirst(s.arguments[0].body()))) return true;
  return std::ranges::any_of(s.arguments, [&](Expr a) { return computesFirst(a); });
}

std::vector<Expr> with(std::vector<Expr> layouts, Expr layout) {
  layouts.push_back(layout);
  return layouts;
}

// Of each dimension of an array the levels of a nest that its index is made of, from the slowest to the fastest one;
// the level below them all is that of a work-item's own elements. Those of one element are none.
using Levels = std::vector<std::vector<int>>;

void applyLayout(Expr layout, Levels& dimensions, std::size_t from);

// What the layouts of the term, down to what they rearrange, do to the dimensions from `from` on.
void applyLayouts(Expr term, Expr rearranged, Levels& dimensions, std::size_t from) {
  if (term == rearranged) return;
  applyLayouts(spineOf(term).arguments.back(), rearranged, dimensions, from);
  applyLayout(term, dimensions, from);
}

void applyLayout(Expr layout, Levels& dimensions, std::size_t from) {
  const Spine s = spineOf(layout);
  if (s.isPrim(Prim::map)) return applyLayouts(s.arguments[0].body(), s.arguments[0].parameter(), dimensions, from + 1);
  if (from >= dimensions.size()) return;
  const auto at = dimensions.begin() + static_cast<std::ptrdiff_t>(from);
  if (s.isPrim(Prim::split)) {
    dimensions.insert(at, std::vector<int>(*at));
  } else if (s.isPrim(Prim::transpose) && from + 1 < dimensions.size()) {
    std::swap(at[0], at[1]);
  } else if (s.isPrim(Prim::join) && from + 1 < dimensions.size()) {
    at[0].insert(at[0].end(), at[1].begin(), at[1].end());
    dimensions.erase(at + 1);
  }
}

// Whether the loop goes over its last argument, one element after the other.
bool goesOver(const Spine& s) {
  if (!s.head.isPrimitive() || s.arguments.empty()) return false;
  const Traits::Loop loop = traits(s.head.prim()).loop;
  return loop == Traits::Loop::reduce || loop == Traits::Loop::scan || loop == Traits::Loop::reduceByIndex;
}

bool readsOnce(Expr map) {
  const Spine s = spineOf(map);
  const Expr in = Expr::variable("in", s.arguments[1].type());
  return readsOfElement(build::map(s.arguments[0], in), in) <= 1;
}

}  // namespace

bool isChosen(const Spine& s, Type type) {
  return s.isPrim(Prim::ifThenElse) && type.isArray() &&
         (computesFirst(s.arguments[1]) || computesFirst(s.arguments[2]));
}

// The term that a kernel computes: parallel over its outermost dimensions.
Expr DefaultMapping::result(Expr e, const Layouts& through) {
  if (isKept(e)) return e;
  ofKernel_ = e.type();
  if (!e.isApply()) return copy(e);
  const Spine s = spineOf(e);
  if (s.head.isPrimitive() && isIteration(s.head.prim())) return iterated(e);
  if (!e.type().isArray() && !e.type().isTuple()) {
    // What stands behind a name is divided where it is much: what it reads is there before its kernels.
    const double much = options_.isGpu ? dividedOnGpu : dividedOperations;
    return s.isPrim(Prim::let) && work_.of(s.arguments[0].body()) >= much ? resultOfLet(e) : alone(e);
  }
  if (s.isPrim(Prim::tuple)) return results(e);
  if (isWrittenThrough(s.head.prim())) {
    const bool isLayout = s.arguments.size() == 1;
    return parts(e, [&](Expr x) { return isLayout ? result(x, with(through, e)) : besideOthers(x, with(through, e)); });
  }
  switch (s.head.prim()) {
    case Prim::let: return resultOfLet(e);
    case Prim::toGlobal:
    case Prim::toImage: return result(apply(s.isPrim(Prim::toImage) ? "keepInNoImage" : "keepNot", e));
    case Prim::ifThenElse:
      if (hasStepsOfOwn(e)) return alone(e);
      return eachArgument(e, [&](Expr x, bool branch) {
        if (branch) return besideOthers(x);
        return mayMove(x) && !isCheap(x) ? kept(x, "it is a condition") : operand(x);
      });
    case Prim::map: return resultOfMap(e, through);
    case Prim::reduce: return inSteps(e);
    case Prim::reduceByIndex: return reducedByIndex(e);
    case Prim::scan:
    case Prim::scanExclusive: return scanned(e);
    default:
      if (onlyMovesData(e)) return copy(e);
      return movesData(s.head.prim()) && e.type().isArray() ? copied(alone(e)) : alone(e);
  }
}

// Whether a branch has arrays that are computed in order and cannot be kept in memory before the condition is known: a
// work-item that computes them reads them.
bool DefaultMapping::hasStepsOfOwn(Expr choice) {
  const std::function<bool(Expr, bool)> among = [&](Expr e, bool isResult) {
    if (!e.isApply() || mayMove(e)) return false;
    const Spine s = spineOf(e);
    const bool inOrder = s.head.isPrimitive() && runsInOrder(s.head.prim()) && holdsArrays(e.type());
    if (inOrder && (!isResult || isIteration(s.head.prim()))) return true;
    if (s.isPrim(Prim::let)) {
      if (!mayMove(s.arguments[1])) guards_.hold(s.arguments[0].parameter());
      if (among(s.arguments[0].body(), isResult)) return true;
    }
    return std::ranges::any_of(s.arguments, [&](Expr a) { return among(a, false); });
  };
  bool found = false;
  eachArgument(choice, [&](Expr x, bool branch) {
    found = found || (branch && among(x, true));
    return x;
  });
  return found;
}

// Of several things that one kernel computes.
Expr DefaultMapping::besideOthers(Expr e, const Layouts& through) {
  if (!isUpdatedInPlace(underLayouts(e))) return result(e, through);
  return copied(kept(e, "its elements are changed where they are"));
}

Expr DefaultMapping::resultOfLet(Expr e) {
  const Spine s = spineOf(e);
  const Expr name = s.arguments[0].parameter();
  const Spine value = spineOf(s.arguments[1]);
  const bool isStored = endsKernel(value) || runsInSteps(value);
  if (s.arguments[1].type().isArray() && !isStored && isComputedWhereRead(s.arguments[1], name, s.arguments[0].body()))
    return result(apply("letUnfold", e));
  const bool moves = mayMove(s.arguments[1]);
  if (moves)
    parameters_.insert(name);
  else
    guards_.hold(name);
  e = argument(e, 1, [&](Expr v) {
    const bool keeps = moves && (v.type().isArray() || !isCheap(v) || isCostlyNumber(v, ofKernel_));
    return keeps ? kept(v, "it is named") : inside(v);
  });
  if (const Expr v = spineOf(e).arguments[1]; isKept(v)) {
    keptNames_.insert(name);
    if (runsInParallel(v)) computedInStep_[name] = iterations_;
  }
  return functionBody(e, 0, [this](Expr b) { return result(b); });
}

Expr DefaultMapping::resultOfMap(Expr e, const Layouts& through) {
  const Spine s = spineOf(e);
  if (isInvertibleIn(s.arguments[0].body(), s.arguments[0].parameter()))
    return argument(e, 1, [&](Expr x) { return result(x, with(through, e)); });
  if (onlyMovesData(e)) return copy(e);
  if (const auto joined = together(e)) return result(preparation_.elements(*joined), through);
  if (const auto shared = sharedByGroups(e)) return *shared;
  if (const Expr body = s.arguments[0].body(); options_.isGpu && updatesAtOnce(body))
    return apply("mapToGroups0", argument(functionBody(e, 0, [this](Expr b) { return updatedByGroup(b); }), 1,
                                          [this](Expr in) { return operand(in); }));
  // Computed rows that are read often get a name, and as one memory; those of the outermost map are stored anyway.
  for (const Nest nest = nestOf(e); const rewrite::Path& level : nest.levels)
    if (!level.empty() && readsRowsOften(partAt(e, level)))
      return resultOfMap(at(e, level, [this](Expr map) { return apply("mapFusion", map); }), through);
  if (const auto stored = withNumbersStored(e)) return result(*stored, through);
  if (const auto divided = spread(e)) return result(*divided, through);
  if (const auto stored = withNamesStored(e)) return result(*stored, through);
  if (const auto flat = flattened(e)) return result(*flat, through);
  return mapNest(e, placesOf(e, through));
}

// A nest of more maps than there are dimensions, its two outermost as one: where the outer three are few work-items,
// and on a GPU, which has more at once, and whose neighbours are to have neighbouring elements. Few elements stay a
// work-item's own.
std::optional<Expr> DefaultMapping::flattened(Expr map) {
  constexpr std::int64_t few = 4;
  const std::function<bool(Expr)> isInMemory = [&](Expr e) {
    if (isKept(e) || onlyMovesData(e)) return true;
    if (!e.isApply()) return false;
    const Spine s = spineOf(e);
    return s.head.isPrimitive() && (movesData(s.head.prim()) || s.isPrim(Prim::map)) &&
           std::ranges::all_of(s.arguments, isInMemory);
  };
  const Expr body = spineOf(map).arguments[0].body();
  if (!options_.isGpu && !hasFewItems(map)) return std::nullopt;
  if (!isInMemory(spineOf(map).arguments[1]) || !computesElements(body) || !isInMemory(spineOf(body).arguments[1]))
    return std::nullopt;
  std::size_t dimensions = 0, levels = 0;
  for (Expr at = map;;) {
    levels += isTrivial(at) ? 0 : 1;
    if (spineOf(at).arguments[1].type().length().constant().value_or(few + 1) > few) dimensions = levels;
    at = underLayouts(spineOf(at).arguments[0].body());
    if (!isDimension(at)) break;
  }
  return dimensions > maxDimensions ? attempt("mapFlatten", map) : std::nullopt;
}

// The dimensions of the nest's maps, dimension 0 for the innermost; on a GPU for that whose elements lie side by side
// in memory once they are written through the layouts, if they fill a good part of a warp.
std::vector<int> DefaultMapping::placesOf(Expr map, const Layouts& through) const {
  constexpr std::int64_t fewest = 16, few = 8;  // elements of a work-item that lie between those of neighbours
  const int depth = depthOf(map);
  int first = depth - 1;
  if (options_.isGpu) {
    std::vector<Nat> lengths;  // of the levels
    const std::function<Levels(Expr)> dimensionsOf = [&](Expr e) {
      const Expr body = spineOf(e).arguments[0].body(), below = underLayouts(body);
      const bool isOwn = isTrivial(e) && (isDimension(below) || !lengths.empty());
      Levels dimensions = {isOwn ? std::vector<int>() : std::vector{static_cast<int>(lengths.size())}};
      if (!isOwn) lengths.push_back(spineOf(e).arguments[1].type().length());
      Levels inside;
      if (static_cast<int>(lengths.size()) < depth && isDimension(below))
        inside = dimensionsOf(below);
      else if (below.type().isArray())
        for (const Nat n : shapeOf(below.type()))
          inside.push_back(n.constant().value_or(few + 1) <= few ? std::vector<int>() : std::vector{depth});
      applyLayouts(body, below, inside, 0);
      dimensions.insert(dimensions.end(), inside.begin(), inside.end());
      return dimensions;
    };
    Levels dimensions = dimensionsOf(map);
    for (auto layout = through.rbegin(); layout != through.rend(); ++layout) applyLayout(*layout, dimensions, 0);
    while (!dimensions.empty() && dimensions.back().empty()) dimensions.pop_back();
    const int fastest = dimensions.empty() ? depth : dimensions.back().back();
    if (fastest < depth && lengths[static_cast<std::size_t>(fastest)].constant().value_or(fewest) >= fewest)
      first = fastest;
  }
  std::vector<int> places;
  for (int level = 0, place = depth - 1; level < depth; level++) places.push_back(level == first ? 0 : place--);
  return places;
}

Expr DefaultMapping::iterated(Expr e) {
  if (const auto shared = sharedByGroup(e)) return copied(*shared);
  if (!takesLaunches(e) || !mayMove(e)) return alone(e);
  const Spine s = spineOf(e);
  const std::size_t functions = s.arguments.size() - 1;
  e = argument(e, functions, [this](Expr x) { return onlyMovesData(x) ? operand(x) : result(x); });
  iterations_++;
  for (std::size_t i = 0; i < functions; i++) {
    parameters_.insert(s.arguments[i].parameter());
    e = functionBody(e, i, [this](Expr b) { return result(b); });
  }
  iterations_--;
  return e;
}

// How work-items share a result.
DefaultMapping::Manner DefaultMapping::mannerOf(Expr e) const {
  const Expr computed = underLayouts(e);
  if (!computed.isApply()) return Manner::byElement;
  const Spine s = spineOf(computed);
  if (s.head.isPrimitive() && runsInOrder(s.head.prim())) return Manner::byOne;
  return std::ranges::any_of(s.arguments, [&](Expr a) { return runsLoops(a); }) ? Manner::byRow : Manner::byElement;
}

// Results beside each other: those of one length that work-items share in one manner have a kernel together, others,
// and arrays that one work-item computes, one each.
Expr DefaultMapping::results(Expr e) {
  const Spine s = spineOf(e);
  const auto lengthOf = [](Expr x) { return x.type().isArray() ? x.type().length() : Nat(1); };
  const bool alike = std::ranges::all_of(s.arguments, [&](Expr x) {
    const Manner manner = mannerOf(x);
    return !isKeptName(x) && lengthOf(x) == lengthOf(s.arguments[0]) && manner == mannerOf(s.arguments[0]) &&
           (manner != Manner::byOne || !x.type().isArray());
  });
  const bool inStep = iterations_ > 0;
  // A state is in one place if a step changes some of it by index. Else what a step's kernels store is the next state.
  const bool updates = inStep && std::ranges::any_of(s.arguments, [&](Expr x) { return isUpdate(x); });
  const auto isComputed = [&](Expr name) {
    const auto found = computedInStep_.find(name);
    return found != computedInStep_.end() && found->second == iterations_;
  };
  return parts(e, [&](Expr x) {
    if (inStep ? !updates && isComputed(x) : isKeptName(x) && given_.insert(x).second) return x;  // is where it is kept
    if (inStep && isUpdate(x)) return updated(x);
    const bool computes = x.isApply() && (x.type().isArray() || !isCheap(x));
    const bool apart = !alike || isUpdatedInPlace(underLayouts(x));
    const bool own = apart && mayMove(x) && computes && !x.type().isTuple();
    x = own ? kept(x, "it is a result") : result(x);
    return own && inStep && (updates || !runsInParallel(x)) ? copied(x) : x;
  });
}

// Pure data movement: every element is copied by a work-item of its own.
Expr DefaultMapping::copy(Expr e) { return copied(operand(e)); }

Expr DefaultMapping::copied(Expr e) {
  if (e.type().isTuple()) {
    if (!spineOf(e).isPrim(Prim::tuple)) e = apply("tupleOfParts", e);
    return parts(e, [this](Expr x) { return copied(x); });
  }
  const int depth = static_cast<int>(std::min(maxDimensions, shapeOf(e.type()).size()));
  return depth == 0 ? e : *strategies::copyInParallel(depth)(e, rewriting_);
}

// What the only work-item of a kernel does.
Expr DefaultMapping::alone(Expr e, bool shared) {
  if (!e.isApply() || isKept(e)) return e;
  shared = shared || sharesElements(spineOf(e));
  const bool divides = spineOf(e).isPrim(Prim::reduce) && chunkOf(spineOf(e));
  const auto in = goesOver(spineOf(e)) && !divides ? std::optional(spineOf(e).arguments.back()) : std::nullopt;
  e = eachArgument(e, [&](Expr x, bool) {
    if (x.isLambda()) return insideLoop(spineOf(e), x);
    return x == in ? ahead(x, shared) : operand(x, shared);
  });
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::reduce) && isClosed(e) && mayMove(e))
    if (const auto chunk = chunkOf(s)) {
      e = inChunks(e, *chunk);
      rewrite::Path partials = partialsOf(e);
      e = at(e, partials, [this](Expr x) { return kept(x, "chunks in parallel"); });
      if (!options_.isGpu) return e;
      partials.pop_back();
      return at(e, partials, [this](Expr x) { return alone(x); });
    }
  return inOrder(e);
}

// What one work-item goes over in order: elements that cost much are computed before, by many.
Expr DefaultMapping::ahead(Expr e, bool shared) {
  constexpr double aheadOperations = 8;  // on an element, beside which a store and a load are little
  if (e.isApply() && spineOf(e).isPrim(Prim::zip)) return parts(e, [&](Expr x) { return ahead(x, shared); });
  const double work = work_.of(e);
  const bool pays =
      options_.isGpu ? work >= dividedOnGpu : work >= dividedOperations && work > aheadOperations * elementsOf(e);
  if (pays && !isKept(e) && computesElements(e) && isClosed(e) && mayMove(e))
    return kept(e, "one work-item goes over its elements");
  return operand(e, shared);
}

// ------------------------------------------------------------------------------------------------------------- nests

// Whether evaluating the term runs a scan, an iteration, or a loop whose value it names: as the input of a map that is
// a dimension, each of the map's work-items would do it again. Those that are stored in front of the kernel do not
// count.
bool DefaultMapping::runsLoops(Expr e) const {
  if (e.isLambda()) return runsLoops(e.body());
  if (!e.isApply() || isKept(e) || (computesArray(e) && isClosed(e))) return false;
  const Spine s = spineOf(e);
  if (s.head.isPrimitive() && runsInOrder(s.head.prim())) return true;
  if (isChosen(s, e.type())) return true;
  // What a row shares.
  if (s.isPrim(Prim::let) && !isClosed(s.arguments[1]) && anyPrimitive(s.arguments[1], takesSteps)) return true;
  return std::ranges::any_of(s.arguments, [&](Expr a) { return runsLoops(a); });
}

// Whether the elements of a map below another may go to work-items of their own.
bool DefaultMapping::isDimension(Expr e) const { return computesElements(e) && !runsLoops(spineOf(e).arguments[1]); }

// Dimensions of a nest: its outermost maps, up to three.
int DefaultMapping::depthOf(Expr map) const {
  int depth = isTrivial(map) ? 0 : 1;
  Expr body = underLayouts(spineOf(map).arguments[0].body());
  while (depth < static_cast<int>(maxDimensions) && isDimension(body)) {
    if (!isTrivial(body)) depth++;
    body = underLayouts(spineOf(body).arguments[0].body());
  }
  return std::max(depth, 1);
}

DefaultMapping::Nest DefaultMapping::nestOf(Expr e) const {
  Nest nest;
  nest.innermost = e;
  Expr at = e;
  rewrite::Path path;
  while (nest.levels.size() < maxDimensions && (nest.levels.empty() || isDimension(at))) {
    nest.levels.push_back(path);
    nest.innermost = at;
    const Spine s = spineOf(at);
    nest.items = nest.items * s.arguments[1].type().length();
    path = path + argumentPath(spineOf(at), 0) + rewrite::Path{0};
    Expr below = s.arguments[0].body();
    for (const Expr under = underLayouts(below); below != under; below = spineOf(below).arguments.back())
      path.push_back(1);
    at = below;
    nest.body = path;
  }
  return nest;
}

bool DefaultMapping::hasFewItems(Expr nest) const {
  const auto items = nestOf(nest).items.constant();
  return items && static_cast<double>(*items) < (options_.isGpu ? enoughItemsOfGpu : enoughItems);
}

// Work-items of an element of the nest's outermost `levels` maps, about: each computes what the levels' functions take.
double DefaultMapping::itemsBelow(Expr nest, std::size_t levels) const {
  double items = 1;
  const auto paths = nestOf(nest).levels;
  for (std::size_t i = levels; i < paths.size(); i++)
    items *= estimate(spineOf(partAt(nest, paths[i])).arguments[1].type().length());
  return items;
}

// The nest over work-items, `places` being the dimensions of its maps.
Expr DefaultMapping::mapNest(Expr e, std::span<const int> places, bool inLambda) {
  const Expr nest = e;
  e = argument(e, 1, [&](Expr in) { return inLambda ? inside(in) : input(nest, in); });
  const Spine s = spineOf(e);
  noteRows(s.arguments[0], s.arguments[1]);
  const bool loop = isTrivial(e) && isDimension(underLayouts(s.arguments[0].body()));
  const auto below = places.subspan(loop ? 0 : 1);
  e = functionBody(e, 0, [&](Expr b) { return below.empty() ? resultInLanes(inside(b)) : underneath(b, below); });
  return apply(loop ? "mapInOrder" : fmt::format("mapInParallel{}", places[0]), e);
}

Expr DefaultMapping::underneath(Expr body, std::span<const int> places) {
  if (computesElements(body)) return mapNest(body, places, true);
  return argument(body, spineOf(body).arguments.size() - 1, [&](Expr x) { return underneath(x, places); });
}

// The input of a nest. Where each of its elements is read by one work-item, that one computes it.
Expr DefaultMapping::input(Expr nest, Expr in) {
  if (hasFewItems(nest) || !readsOnce(nest)) return operand(in);
  return produced(in, nest);
}

Expr DefaultMapping::produced(Expr e, Expr nest) {
  if (!e.isApply() || isKept(e) || isKernelBoundary(e)) return operand(e);
  const Spine s = spineOf(e);
  const auto further = [&](Expr x) { return produced(x, nest); };
  if (s.isPrim(Prim::zip) || s.isPrim(Prim::transpose)) return parts(e, further);
  if (!s.isPrim(Prim::map) || !readsOnce(e)) return operand(e);
  if (onlyMovesData(s.arguments[0])) return argument(e, 1, further);
  const std::size_t dimensions = shapeOf(e.type()).size();
  if (dimensions > static_cast<std::size_t>(depthOf(nest)) || isReadOften(e, itemsBelow(nest, dimensions)))
    return operand(e);
  if (anyPrimitive(e, [](Expr p) { return runsInOrder(p.prim()); })) return operand(e);
  e = functionBody(e, 0, [this](Expr b) { return inside(b); });
  return argument(e, 1, further);
}

// ------------------------------------------------------------------------------------------------- one work-item

// The primitive as a work-item runs it: a reduction or a scan one element after the other.
Expr DefaultMapping::inOrder(Expr e) {
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::reduce)) {
    if (const auto lanes = byLanes(e)) return *lanes;
    return reduceInOrder(e);
  }
  if (!isScan(s)) return e;
  e = apply(strategies::rulesOfScan(s.head.prim()).inOrder, e);
  if (const auto span = spans_.find(s.head); span != spans_.end()) {
    const Span place = span->second;
    spans_.emplace(spineOf(e).head, place);
  }
  return e;
}

// A reduction over joined rows is a reduction over the rows of reductions of a row, in the same order: loops over each
// dimension instead of one whose index must be divided. The same for rows that are zipped.
Expr DefaultMapping::reduceInOrder(Expr e) {
  e = argument(e, 2, [this](Expr x) { return inJoinedRows(x); });
  const bool joined = spineOf(spineOf(e).arguments[2]).isPrim(Prim::join);
  const auto rows = attempt(joined ? "reduceJoin" : "reduceZipJoin", e);
  if (!rows) return apply("reduceInOrder", e);
  const Spine outer = spineOf(*rows);
  const Expr row = build::get(outer.arguments[1].parameter(), 1);
  if (hasContiguousRows(outer.arguments[2])) contiguous_.insert(row);
  if (hasDenseElements(outer.arguments[2])) dense_.insert(row);
  return reduceInOrder(functionBody(*rows, 1, [this](Expr x) { return inOrder(x); }));
}

// What is computed of the elements of joined rows as joined rows of this: of arrays of rows that lie in memory in order
// as long ones, each all of an array's.
Expr DefaultMapping::inJoinedRows(Expr array) {
  if (!array.isApply()) return array;
  const Expr e = attempt("mapJoin", array).value_or(array);
  if (!spineOf(e).isPrim(Prim::join)) return e;
  const Expr joined = argument(e, 0, [this](Expr x) { return inJoinedRows(x); });
  const Spine rows = spineOf(spineOf(joined).arguments[0]);
  return rows.isPrim(Prim::join) && hasDenseElements(rows.arguments[0]) ? apply("joinTwice", joined) : joined;
}

}  // namespace lift::detail

namespace lift {

namespace {

// Whether the type has sizes that are not known.
bool isSymbolic(Type type) {
  bool is = false;
  type.forEachNat([&](Nat n) { is = is || !n.constant(); });
  return is;
}

}  // namespace

bool approximates(Expr e) {
  return anyPrimitive(e, [](Expr p) { return p.prim() == Prim::op && !info(p.op()).isExact && p.op() != Op::rsqrt; });
}

bool isCostlyNumber(Expr e, Type result, double times) {
  constexpr double many = 1 << 14;  // evaluations
  if (!e.type().isRegister() || e.freeVariables().empty() || !approximates(e)) return false;
  return std::ranges::any_of(leavesOf(result), [&](const Leaf& leaf) {
    double elements = times;
    for (const Nat n : leaf.shape) elements *= estimate(n);
    return elements >= many;
  });
}

// Where a host asks before each step, it takes longer than what is little work for one work-item.
bool takesLaunches(Expr e) {
  const Spine s = spineOf(e);
  if (!s.head.isPrimitive() || !isIteration(s.head.prim())) return false;
  const Type state = s.arguments.back().type();
  if (s.isPrim(Prim::iterateWhile) ? isSymbolic(state) : holdsArrays(state)) return true;
  detail::Work work;
  double operations = 0;
  for (std::size_t i = 0; i + 1 < s.arguments.size(); i++) {
    if (anyPrimitive(s.arguments[i], [](Expr p) { return endsKernel(p.prim()); })) return true;
    operations += work.of(s.arguments[i]);
  }
  return operations >= detail::dividedOperations;
}

bool foldsByLaunches(Expr e) {
  const Spine s = spineOf(e);
  if (!foldsArrays(s)) return false;
  detail::Work work;
  return work.of(s.arguments[1]) >= (detail::launchesOf(s.arguments[1].body()) + 2) * detail::dividedOperations;
}

}  // namespace lift
