// Reductions and scans in parts, and nests of which a part becomes a kernel of its own.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "default_mapping.hpp"
#include "lift/build.hpp"
#include "lift/integers.hpp"
#include "lift/strategies.hpp"

namespace lift::detail {

namespace {

// Chunks of a reduction that keep all cores busy when work-items come in groups of 64.
constexpr std::int64_t enoughChunks = 1024;
// Operations of a work-item beside which its own cost is small.
constexpr double itemOperations = 1024;
// Accumulators of a reduction that take turns: two vectors of eight floats.
constexpr std::int64_t lanes = 16;
// Operations on an element up to which the accumulators' loop is worth being unrolled.
constexpr double laneOperations = 32;

Expr reductionOf(const Spine& s) { return applyAll(s.head, s.arguments); }

// Elements of a chunk: enough work for an item, enough chunks for all cores, few enough to be put together by one.
std::int64_t goodChunk(std::optional<std::int64_t> length, double each) {
  std::int64_t most = static_cast<std::int64_t>(itemOperations);
  if (length)
    while (most * most * 64 < *length) most *= 2;
  std::int64_t chunk = 1;
  while (chunk < most && static_cast<double>(chunk) * each < itemOperations) chunk *= 2;
  while (length && chunk > 4 * lanes && *length / chunk < enoughChunks) chunk /= 2;
  return std::max<std::int64_t>(chunk, 2);
}

// The same for a graphics processor: little work for an item, since many are needed.
std::int64_t smallChunk(double each) {
  constexpr std::int64_t usual = 64;
  constexpr double operations = 4096;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(operations / each), 2, usual);
}

// Elements of the component with the most dimensions.
Nat extentOf(Type type) {
  std::vector<Nat> largest;
  for (const Leaf& leaf : leavesOf(type))
    if (leaf.shape.size() > largest.size()) largest = leaf.shape;
  return elementCount(largest);
}

}  // namespace

double launchesOf(Expr e) {
  if (!e.isApply()) return 0;
  const Spine s = spineOf(e);
  double launches = computesElements(e) ? 1 : s.head.isPrimitive() && takesSteps(s.head) ? 3 : 0;
  const bool opens = launches == 0;
  for (const Expr a : s.arguments) {
    const bool function = a.isLambda();
    if (!function || opens) launches += launchesOf(function ? a.body() : a);
  }
  return launches;
}

// Elements of a chunk, `each` operations for each; nothing where one work-item does it all as well.
std::optional<std::int64_t> DefaultMapping::chunkFor(Nat length, double each) const {
  // While tunables have no values only their constraints are asked for, and chunks must not add any.
  if (std::ranges::any_of(length.variables(), [](NatVar v) { return v.role() == NatVar::Role::tunable; }))
    return std::nullopt;
  const auto known = length.constant();
  std::int64_t chunk = options_.chunk;
  if (chunk == 0) {
    if (known && static_cast<double>(*known) * each < (options_.isGpu ? dividedOnGpu : dividedOperations))
      return std::nullopt;
    chunk = options_.isGpu ? smallChunk(each) : goodChunk(known, each);
  }
  if (less(length, Nat(2 * chunk)) == Truth::proved) return std::nullopt;
  // For a graphics processor chunks are divided again; of a length that is not known until it is estimated to be short.
  constexpr double few = 16;
  if (options_.isGpu && !known && estimate(length) < few) return std::nullopt;
  return chunk;
}

// Elements of a chunk of the reduction, where dividing it is allowed and pays.
std::optional<Nat> DefaultMapping::chunkOf(const Spine& s) {
  const Nat length = s.arguments[2].type().length();
  const double whole = work_.of(reductionOf(s)) - work_.of(s.arguments[0]);
  const auto chunk = chunkFor(length, std::max(1.0, whole / std::max(1.0, estimate(length))));
  if (!chunk || !mayDivide(s.head, s.arguments[0], s.arguments[1])) return std::nullopt;
  return Nat(*chunk);
}

// A reduction in chunks. For a graphics processor the chunks' results are many: they may be divided again.
Expr DefaultMapping::inChunks(Expr reduction, Nat chunk) {
  const Expr e = apply("reduceInChunks", reduction, {{"c", chunk}});
  if (!options_.isGpu) return e;
  rewrite::Path outer = partialsOf(e);
  outer.pop_back();
  return at(e, outer, [this](Expr loop) { return apply("loopToReduce", loop); });
}

// Whether the reduction's elements may be taken in other groups than one by one.
bool DefaultMapping::mayDivide(Expr primitive, Expr init, Expr f) {
  const bool divided = init.type().isRegister() || primitive.prim() == Prim::reduceByIndex;
  const auto accumulation = divided ? rewrite::accumulationOf(init, f) : std::nullopt;
  if (!accumulation) {
    note(primitive, "stays in sequence: its function is not known to be associative");
    return false;
  }
  const bool strict = !accumulation->exact && options_.strictReductions;
  if (strict) note(primitive, "stays in sequence: --strict-reductions keeps the order of roundings");
  return !strict;
}

// Of a reduction in chunks, where the chunks' results stand: there may be a reduction of the rest around them.
rewrite::Path DefaultMapping::partialsOf(Expr e) {
  const Spine s = spineOf(e);
  if (spineOf(s.arguments[2]).isPrim(Prim::map)) return argumentPath(s, 2);
  return argumentPath(s, 0) + partialsOf(s.arguments[0]);
}

// Whether the state of a reduction or a scan has arrays, and a step is worth the launches that compute it: its kernels,
// and those that copy the state and count the steps.
bool DefaultMapping::runsInSteps(const Spine& s) {
  return options_.chunk > 0 ? foldsArrays(s) : foldsByLaunches(applyAll(s.head, s.arguments));
}

// A reduction or a scan whose steps wait for each other: each step is mapped like a program of its own, where that pays
// and no condition decides about it, since a step takes its element by an index.
Expr DefaultMapping::inSteps(Expr e) {
  if (const auto shared = sharedByGroup(e)) return copied(*shared);
  const Spine s = spineOf(e);
  const Expr element = build::call(Prim::at, {Expr::variable("k", Type::scalar(Scalar::i32)), s.arguments[2]});
  if (!runsInSteps(s) || !mayMove(e) || !guards_.allow(element)) return alone(e);
  note(s.head, "its steps run one after the other, each over many work-items");
  const bool scans = s.isPrim(Prim::scan);
  return result(apply(s.isPrim(Prim::reduce) ? "reduceToSteps" : scans ? "scanToSteps" : "scanExclusiveToSteps", e));
}

// A scan in chunks, each from what stands before it, where that is allowed and pays.
Expr DefaultMapping::scanned(Expr e) {
  const Spine s = spineOf(e);
  const Nat length = e.type().length();
  if (!mayMove(e)) return alone(e);
  const double each = std::max(1.0, (work_.of(e) - work_.of(s.arguments[0])) / std::max(1.0, estimate(length)));
  const auto ofGroup = chunkOfGroup(s);
  const auto chunk = ofGroup ? ofGroup : chunkFor(length, each);
  if (!chunk || !mayDivide(s.head, s.arguments[0], s.arguments[1])) return inSteps(e);
  const strategies::ScanRules& rules = strategies::rulesOfScan(s.head.prim());
  if (ofGroup && *length.constant() <= *chunk) return result(apply(rules.asRow, e));
  if (ofGroup && *length.constant() % *chunk != 0)
    return argument(apply(rules.filled, e, {{"k", strategies::missingTo(length, *chunk)}}), 0,
                    [this](Expr filled) { return scanned(filled); });
  e = argument(e, 2, [this](Expr in) { return operand(in); });
  e = apply(rules.inChunks, e, {{"c", Nat(*chunk)}});
  const auto totals = [&](Expr x) { return argument(x, 2, [&](Expr t) { return kept(t, "chunks in parallel"); }); };
  const auto ofChunks = [&](Expr join) {
    return argument(join, 0, [&](Expr map) {
      return argument(map, 1, [&](Expr zip) {
        return argument(zip, 0, [&](Expr offsets) {
          offsets = totals(offsets);
          if (options_.isGpu) offsets = apply("loopToScanExclusive", offsets);  // many, as in inChunks
          return kept(offsets, "what stands before each chunk");
        });
      });
    });
  };
  if (spineOf(e).isPrim(Prim::join)) return result(ofChunks(e));
  e = argument(e, 0, ofChunks);
  return result(argument(e, 1, [&](Expr rest) { return argument(rest, 0, totals); }));
}

// Whether some elements of an array that is there are changed.
bool DefaultMapping::isUpdate(Expr e) const {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduceByIndex) || !onlyMovesData(s.arguments[0]) || !isClosed(s.arguments[0])) return false;
  const auto changes = s.arguments[2].type().length().constant();
  return changes && static_cast<double>(*changes) < dividedOperations;
}

// Changes one after the other; an array that takes the place of another is copied by many work-items.
Expr DefaultMapping::updated(Expr e) {
  const Expr f = spineOf(e).arguments[1];
  e = argument(e, 2, [this](Expr changes) { return operand(changes); });
  const bool copies = holdsArrays(f.body().type()) && f.body() == build::get(f.parameter(), 1);
  return functionBody(e, 1, [&](Expr b) { return copies ? copied(b) : inside(b); });
}

// Whether a group's work-items may update what the term reduces by index, in local memory.
bool DefaultMapping::updatesAtOnce(Expr e) const {
  constexpr std::int64_t most = 4096;  // elements
  const Spine s = spineOf(e);
  const auto elements = s.isPrim(Prim::reduceByIndex) ? e.type().length().constant() : std::nullopt;
  if (!elements || *elements > most) return false;
  const auto update = rewrite::atomicUpdateOf(e.type().element(), s.arguments[1]);
  return update && *elements * static_cast<std::int64_t>(update->operations.size()) <= most &&
         (update->exact || !options_.strictReductions);
}

Expr DefaultMapping::updatedByGroup(Expr e) {
  e = apply("reduceByIndexToItems", eachArgument(e, [this](Expr x, bool) { return inside(x); }));
  return apply("mapToItems0", apply("copyMap", e));
}

// Whether the elements that a reduction by index starts from are written by a kernel of their own, and then changed
// where they are.
bool DefaultMapping::startsApart(Expr e) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::reduceByIndex) || !mayMove(e)) return false;
  const auto leaves = leavesOf(e.type());
  if (std::ranges::any_of(leaves, [](const Leaf& l) { return l.scalar == Scalar::f16; })) return false;
  if (options_.chunk > 0 && options_.isGpu) return true;
  const auto elements = extentOf(e.type()).constant();
  // A processor's core writes as fast as memory takes it, what costs little.
  constexpr double costly = 8;  // operations on an element
  if (!options_.isGpu)
    return elements && static_cast<double>(*elements) >= dividedOperations &&
           work_.of(s.arguments[0]) >= costly * static_cast<double>(*elements);
  return !elements || static_cast<double>(*elements) >= dividedOnGpu;
}

// Numbers that a reduction by index updates.
static Nat updatesOf(const Spine& s) {
  return s.arguments[2].type().length() * extentOf(s.arguments[2].type().element().components()[1]);
}

// On a graphics processor: how all work-items reduce by index together, where the function allows it. They update each
// element at once; rows are updated element by element; of values that replace each other the last stays.
std::optional<std::string> DefaultMapping::ruleThatPays(Expr e) const {
  const Spine s = spineOf(e);
  if (!options_.isGpu || !s.isPrim(Prim::reduceByIndex) || !mayMove(e)) return std::nullopt;
  const auto updates = updatesOf(s).constant();
  if (options_.chunk == 0 && updates && static_cast<double>(*updates) < dividedOnGpu) return std::nullopt;
  return ruleOfItems(e);
}

std::optional<std::string> DefaultMapping::ruleOfItems(Expr e) const {
  const Spine s = spineOf(e);
  const Expr f = s.arguments[1], p = f.parameter();
  const Expr value = Expr::variable("v", p.type().components()[1]);
  if (!replaceTerms(f.body(), {{build::get(p, 1), value}}).hasFree(p)) return "lastByIndex";
  const Type element = e.type().element();
  if (element.isArray()) {
    const auto accumulation = rewrite::accumulationOf(Expr::variable("z", element), f);
    const bool mayDivide = accumulation && (accumulation->exact || !options_.strictReductions);
    return mayDivide ? std::optional<std::string>("reduceRowsByIndex") : std::nullopt;
  }
  const auto update = rewrite::atomicUpdateOf(element, f);
  const bool mayDivide = update && (update->exact || !options_.strictReductions);
  return mayDivide ? std::optional<std::string>("reduceByIndexToGlobal") : std::nullopt;
}

// Reductions by index, of each row one, that a graphics processor's work-items do as one: of few rows, or of long ones
// which are not left to a group each.
std::optional<Expr> DefaultMapping::together(Expr e) {
  constexpr std::int64_t longRow = 64, enoughGroups = 64;
  if (!options_.isGpu || ofChunks_) return std::nullopt;
  Nat rows = 1;
  Expr reduction = e;
  std::vector<Expr> names;
  for (Spine s = spineOf(e); s.isCall(Prim::map); s = spineOf(reduction)) {
    rows = rows * s.arguments[1].type().length();
    names.push_back(s.arguments[0].parameter());
    reduction = underLayouts(s.arguments[0].body());
  }
  const Spine s = spineOf(reduction);
  if (names.empty() || !s.isPrim(Prim::reduceByIndex) || !mayMove(e)) return std::nullopt;
  if (std::ranges::any_of(names, [&](Expr x) { return s.arguments[1].hasFree(x); })) return std::nullopt;
  if (options_.chunk == 0) {
    const auto all = (rows * updatesOf(s)).constant(), each = updatesOf(s).constant(), count = rows.constant();
    const bool isLong = each.value_or(longRow) >= longRow, areMany = count.value_or(enoughGroups) >= enoughGroups;
    if ((all && static_cast<double>(*all) < dividedOnGpu) || (!isLong && !hasFewItems(e))) return std::nullopt;
    if (areMany && updatesAtOnce(reduction)) return std::nullopt;
  }
  if (!ruleOfItems(reduction)) return std::nullopt;
  const std::function<Expr(Expr)> joined = [&](Expr x) -> Expr {
    const Spine t = spineOf(x);
    if (t.isPrim(Prim::reduceByIndex)) return x;
    if (underLayouts(x) != x) return argument(x, t.arguments.size() - 1, joined);
    x = functionBody(x, 0, joined);
    return attempt("reduceEachByIndex", x).value_or(x);
  };
  const Expr made = joined(e);
  return made == e ? std::nullopt : std::optional(made);
}

// A reduction by index whose elements are changed where they are, of what other kernels have written there.
Expr DefaultMapping::inPlace(Expr e) {
  e = argument(e, 0, [this](Expr zs) {
    const Expr below = underLayouts(zs);
    return onlyMovesData(zs) || computesElements(below) ? result(zs) : copied(operand(zs));
  });
  e = functionBody(e, 1, [this](Expr b) { return inside(b); });
  return argument(e, 2, [this](Expr in) { return operand(in); });
}

// A reduction by index that is not divided into chunks.
Expr DefaultMapping::updatedInPlace(Expr e) {
  const auto rule = ruleThatPays(e);
  if (!rule) return startsApart(e) ? inPlace(e) : alone(e);
  if (*rule == "reduceByIndexToGlobal") {
    note(spineOf(e).head, "all work-items update its elements, each update at once");
    return apply(*rule, inPlace(e));
  }
  e = argument(e, 2, [this](Expr in) { return operand(in); });
  const auto divided = attempt(*rule, e);
  return divided ? result(preparation_.elements(*divided)) : startsApart(e) ? inPlace(e) : alone(e);
}

// Whether its kernel changes elements where they are, which nothing else computes beside it.
bool DefaultMapping::isUpdatedInPlace(Expr e) {
  return spineOf(e).isPrim(Prim::reduceByIndex) && (startsApart(e) || ruleThatPays(e));
}

// A reduction by index in chunks, each with elements of its own, where that is allowed and pays.
Expr DefaultMapping::reducedByIndex(Expr e) {
  const Spine s = spineOf(e);
  const Expr init = s.arguments[0], in = s.arguments[2];
  const Nat elements = init.type().length(), length = in.type().length();
  const auto known = length.constant();
  if (!mayMove(e)) return alone(e);
  // Memory for all chunks is a fraction of the input; so is the work of putting them together.
  const Nat own = elements * extentOf(init.type().element()), each = extentOf(in.type().element().components()[1]);
  Nat chunk = options_.chunk > 0 ? Nat(options_.chunk) : ceilDiv(own * Nat(8), each);
  if (options_.isGpu && options_.chunk == 0 && !ofChunks_ && updatesAtOnce(e)) {
    constexpr std::int64_t groups = 256, ofGroup = 256, usual = 16384;
    chunk = known ? roundedUp(ceilDiv(*known, groups), ofGroup) : usual;
  } else if (ruleThatPays(e)) {
    return updatedInPlace(e);
  } else if (const auto count = chunk.constant(); count && options_.chunk == 0) {
    if (known && static_cast<double>(*known) < dividedOperations) return updatedInPlace(e);
    std::int64_t size = *count;
    if (!options_.isGpu) size = std::max<std::int64_t>(size, static_cast<std::int64_t>(itemOperations));
    while (!options_.isGpu && known && *known / size > enoughChunks) size *= 2;
    chunk = size;
  }
  if (less(length, Nat(2) * chunk) == Truth::proved ||
      !mayDivide(s.head, Expr::variable("z", init.type().element()), s.arguments[1]))
    return updatedInPlace(e);
  const bool around = std::exchange(ofChunks_, true);
  e = apply("reduceByIndexInChunks", e, {{"c", chunk}});
  e = argument(e, 1, [&](Expr zip) {
    zip = argument(zip, 1, [&](Expr columns) {
      return argument(columns, 0, [&](Expr x) { return kept(x, "chunks in parallel"); });
    });
    if (spineOf(zip).arguments.size() == 2) return zip;
    return argument(zip, 2, [&](Expr rest) { return kept(rest, "what is left by the chunks"); });
  });
  ofChunks_ = around;
  return result(preparation_.elements(e));
}

// ---------------------------------------------------------------------------------------------- accumulators in turns

// What a map of arrays does to the order of their elements.
enum class Order : std::uint8_t { kept, joined, other };  // joined: kept, of rows of rows

static Order orderOf(const Spine& map) {
  if (!map.arguments[0].isLambda()) return Order::other;
  const Expr row = map.arguments[0].parameter();
  Order order = Order::kept;
  const std::function<bool(Expr)> isRow = [&](Expr x) -> bool {
    if (x == row) return true;
    const Spine t = spineOf(x);
    if (t.isPrim(Prim::join)) order = Order::joined;
    if (t.isPrim(Prim::map) && x.type().element().isArray() && orderOf(t) != Order::kept) return false;
    if (t.isPrim(Prim::map) || t.isPrim(Prim::join)) return isRow(t.arguments.back());
    return (t.isPrim(Prim::zip) || t.isPrim(Prim::get)) && std::ranges::all_of(t.arguments, isRow);
  };
  return isRow(map.arguments[0].body()) ? order : Order::other;
}

// Whether all elements of an array of rows come from memory in order, row after row.
bool DefaultMapping::isDense(Expr e) const {
  if (isKept(e) || dense_.contains(e)) return true;
  if (e.isVariable()) {
    const auto row = rows_.find(e);
    return parameters_.count(e) > 0 || (row != rows_.end() && isDense(row->second));
  }
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::zip) || s.isPrim(Prim::get))
    return std::ranges::all_of(s.arguments, [&](Expr a) { return isDense(a); });
  return s.isCall(Prim::map) && isDense(s.arguments[1]) && orderOf(s) != Order::other;
}

// Whether each element of an array of arrays of rows is dense, wherever they are.
bool DefaultMapping::hasDenseElements(Expr e) const {
  if (isDense(e)) return true;
  if (const auto row = rows_.find(e); row != rows_.end()) {
    const Spine whole = spineOf(row->second);
    return whole.isPrim(Prim::transpose) && isDense(whole.arguments[0]);
  }
  const Spine s = spineOf(e);
  return s.isCall(Prim::map) && orderOf(s) != Order::other && hasDenseElements(s.arguments[1]);
}

// Whether neighbours are neighbours in memory.
bool DefaultMapping::isContiguous(Expr e) const {
  if (isKept(e) || contiguous_.count(e) > 0) return true;
  if (e.isVariable()) return parameters_.count(e) > 0 || rows_.count(e) > 0;
  const Spine s = spineOf(e);
  if (!s.head.isPrimitive()) return false;
  switch (s.head.prim()) {
    case Prim::zip: return std::ranges::all_of(s.arguments, [&](Expr a) { return isContiguous(a); });
    case Prim::map: return isContiguous(s.arguments[1]);
    case Prim::join: return isDense(s.arguments[0]);
    case Prim::generate: return true;
    case Prim::get:
    case Prim::take:
    case Prim::drop:
    case Prim::at: return isContiguous(s.arguments.back());
    default: return false;
  }
}

bool DefaultMapping::hasContiguousRows(Expr e) const {
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::split) || (s.head.isPrimitive() && isSlide(s.head))) return isContiguous(s.arguments[0]);
  if (s.isPrim(Prim::zip))
    return std::ranges::all_of(s.arguments,
                               [&](Expr a) { return !a.type().element().isArray() || hasContiguousRows(a); });
  if (s.isPrim(Prim::transpose)) return e.type().element().element().isArray() && isContiguous(s.arguments[0]);
  if (!s.isPrim(Prim::map)) return isContiguous(e);
  const Order order = orderOf(s);
  return order == Order::kept ? hasContiguousRows(s.arguments[1])
                              : order == Order::joined && hasDenseElements(s.arguments[1]);
}

void DefaultMapping::noteRows(Expr f, Expr in) {
  if (hasContiguousRows(in)) rows_.emplace(f.parameter(), in);
}

// Whether the term names an array that is not stored, and reduces what it would know to come from memory in order if
// the name did not hide it.
bool DefaultMapping::namesLanes(Expr e) const {
  const Spine let = spineOf(e);
  if (options_.isGpu || !let.isCall(Prim::let) || !computesElements(let.arguments[1])) return false;
  const Expr name = let.arguments[0].parameter(), value = let.arguments[1];
  if (!isContiguous(value)) return false;
  return anyTerm(let.arguments[0].body(), [&](Expr term) {
    const Spine s = spineOf(term);
    return s.isCall(Prim::reduce) && s.arguments[2].hasFree(name) &&
           less(s.arguments[2].type().length(), Nat(4 * lanes)) == Truth::refuted &&
           isContiguous(substitute(s.arguments[2], name, value));
  });
}

// Several accumulators in turns where the elements come from memory in order and may come in any: then the additions do
// not wait for each other, and a processor does several at once.
std::optional<Expr> DefaultMapping::byLanes(Expr e) {
  const Spine s = spineOf(e);
  const Expr init = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
  const Nat length = in.type().length();
  if (options_.isGpu || !init.type().isRegister()) return std::nullopt;
  if (less(length, Nat(4 * lanes)) != Truth::refuted || !isContiguous(in)) return std::nullopt;
  const double each = work_.of(e) / std::max(1.0, estimate(length));
  if (each > laneOperations || anyPrimitive(f, takesSteps) || anyPrimitive(in, takesSteps)) return std::nullopt;
  const auto accumulation = rewrite::accumulationOf(init, f, rewrite::growing(in, rows_));
  if (!accumulation || !accumulation->commutative || (!accumulation->exact && options_.strictReductions))
    return std::nullopt;
  // What makes the order of elements not matter may be known from the maps around.
  for (std::size_t levels = 0; levels <= depth(); levels++) {
    const auto [term, path] = around(e, levels);
    if (levels > 0 && !spineOf(term).isPrim(Prim::map)) continue;
    const auto made = rewriting_.above(levels, [&, around = term, place = path] {
      return attemptAt("reduceInLanes", place, around, {{"w", Nat(lanes)}});
    });
    if (!made) continue;
    return partAt(*made, path);
  }
  throw InternalError("a reduction that may be divided in lanes is");
}

// The row that a work-item gives, of functions that libraries approximate, in vectors where its elements are computed
// of what comes from memory in order: compilers do not make vectors of such loops.
Expr DefaultMapping::resultInLanes(Expr e) {
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::let)) return functionBody(e, 0, [this](Expr b) { return resultInLanes(b); });
  const auto length = !options_.isGpu && computesElements(e) ? e.type().length().constant() : std::nullopt;
  if (!length || !e.type().element().isScalar() || *length < 4 * lanes || !approximates(e) ||
      anyPrimitive(e, takesSteps) || !isContiguous(s.arguments[1]))
    return e;
  Expr fused = e;
  while (computesElements(spineOf(fused).arguments[1])) {
    const auto next = attempt("mapFusion", fused);
    if (!next) return fused;
    fused = *next;
  }
  return inVectors(fused);
}

// A map in vectors as wide as can be, those of its last elements narrower where no wide one divides their number.
Expr DefaultMapping::inVectors(Expr map) {
  constexpr std::int64_t fewest = 4, good = 8;
  const std::int64_t length = *map.type().length().constant();
  std::int64_t width = std::min(lanes, widestVector(length));
  if (width < good)
    width = std::min(lanes, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(length))));
  if (width < fewest) return map;
  const std::int64_t left = length % width;
  if (left == 0) return attempt("mapInLanes", map, {{"w", Nat(width)}}).value_or(map);
  const auto peeled = attempt("mapPeel", map, {{"k", Nat(length - left)}});
  if (!peeled) return map;
  const Expr first = argument(*peeled, 0, [this](Expr x) { return inVectors(x); });
  return argument(first, 1, [this](Expr x) { return inVectors(x); });
}

// --------------------------------------------------------------------------------------------------- nests divided

// A map over arrays side by side without those that its function does not use.
Expr DefaultMapping::ofWhatItUses(Expr map) { return attempt("mapOfUsed", map).value_or(map); }

// The value in the body of a nest by a nest of its own, kept in memory.
Expr DefaultMapping::apart(Expr nest, const Nest& levels, Expr value, const std::string& why) {
  for (std::size_t level = levels.levels.size(); level-- > 0;) {
    nest = at(nest, levels.levels[level], [&](Expr map) {
      const auto place = rewrite::pathOf(value, spineOf(map).arguments[0].body());
      ensure(place.has_value(), "the value is in the nest");
      return applyTo("mapFission", argumentPath(spineOf(map), 0) + rewrite::Path{0} + *place, map);
    });
    // It reads no more than it uses: what is not read would stand in it again, and in what reads it in turn.
    nest = at(nest, levels.levels[level], [&](Expr map) {
      return argument(map, 1,
                      [&](Expr zip) { return argument(zip, 1, [&](Expr values) { return ofWhatItUses(values); }); });
    });
    value = spineOf(spineOf(partAt(nest, levels.levels[level])).arguments[1]).arguments[1];
  }
  return argument(nest, 1, [&](Expr zip) { return argument(zip, 1, [&](Expr values) { return kept(values, why); }); });
}

// The i-th value of a chain of names with the names before it that it uses.
static Expr wholeOf(const LetChain& names, std::size_t i) {
  Expr value = names.bound[i].second;
  for (std::size_t j = i; j-- > 0;)
    if (value.hasFree(names.bound[j].first)) value = build::let(names.bound[j].first, names.bound[j].second, value);
  return value;
}

// Whether a map of much work, behind names of numbers that take loops, but less work, would be a dimension without
// them.
bool DefaultMapping::namesHideDimension(const LetChain& names) {
  const Expr map = underLayouts(names.body);
  if (!isDimension(map) || !anyPrimitive(spineOf(map).arguments[0], takesSteps)) return false;
  double work = 0;
  for (std::size_t i = 0; i < names.bound.size(); i++) {
    if (!names.body.hasFree(names.bound[i].first)) continue;
    const Expr whole = wholeOf(names, i);
    if (isClosed(whole) || !isWorthNaming(whole)) return false;
    work += work_.of(whole);
  }
  constexpr double enough = 0.25;
  return work_.of(names.body) >= enough * work;
}

// What the function of a nest names gets memory for all elements of the nest, and is computed by a kernel of its own:
// an array that is read so often that its elements are better stored than computed again; a number that takes a loop,
// where a map of loops is behind it, which becomes a dimension of the nest.
std::optional<Expr> DefaultMapping::withNamesStored(Expr e) {
  if (!mayMove(e)) return std::nullopt;
  const auto mark = rewriting_.mark();
  const Nest nest = nestOf(e);
  e = at(e, nest.body, [this](Expr body) { return preparation_.flatNames(body); });
  const LetChain names = letsOf(partAt(e, nest.body));
  const bool hidden = nest.levels.size() < maxDimensions && namesHideDimension(names);
  for (std::size_t i = names.bound.size(); i-- > 0;) {
    const auto& [name, value] = names.bound[i];
    const bool isNumber = hidden && names.body.hasFree(name);
    if (!isNumber && (!computesArray(value) || isClosed(value))) continue;
    Expr rest = names.body;
    for (std::size_t j = names.bound.size(); --j > i;)
      if (rest.hasFree(names.bound[j].first)) rest = build::let(names.bound[j].first, names.bound[j].second, rest);
    const double reads = readsOfElement(rest, name);
    if (!isNumber && !isReadOften(value, reads)) continue;
    Expr own = value;
    e = at(e, nest.body, [&](Expr body) { return withNamesInside(body, i, own); });
    e = apart(e, nest, own,
              isNumber ? fmt::format("{} is the same for all that a map computes", name.name())
                       : fmt::format("{} is read {} times", name.name(), reads));
    return at(e, nest.body, [&](Expr body) { return withoutNames(body, names.bound.size(), i); });
  }
  rewriting_.undo(mark);
  return std::nullopt;
}

// What an inner map of a nest runs over, where it is numbers that all work-items of the maps below would compute again:
// a kernel of its own computes them, for all elements of the maps around.
std::optional<Expr> DefaultMapping::withNumbersStored(Expr e) {
  if (!mayMove(e)) return std::nullopt;
  Nest nest = nestOf(e);
  for (std::size_t level = 1; level + 1 < nest.levels.size(); level++) {
    const double items = itemsBelow(e, level + 1);
    const std::function<std::optional<Expr>(Expr)> among = [&](Expr in) -> std::optional<Expr> {
      const Spine s = spineOf(in);
      if (s.isPrim(Prim::zip))
        for (const Expr a : s.arguments)
          if (const auto found = among(a)) return found;
      const bool numbers = computesElements(in) && in.type().element().isRegister() && isExpensive(in);
      return numbers && !isClosed(in) && isReadOften(in, items) ? std::optional(in) : std::nullopt;
    };
    if (const auto numbers = among(spineOf(partAt(e, nest.levels[level])).arguments[1])) {
      nest.levels.resize(level);
      return apart(e, nest, *numbers, "its elements are the same for all that a map computes");
    }
  }
  return std::nullopt;
}

namespace {

// Below so many names that a term begins with.
rewrite::Path bodyOf(std::size_t lets) {
  rewrite::Path path;
  for (; lets > 0; lets--) path = path + rewrite::Path{0, 1, 0};
  return path;
}

}  // namespace

// Of the names that a term begins with, the value of the i-th with the names before it inside: `own` is that value.
Expr DefaultMapping::withNamesInside(Expr e, std::size_t i, Expr& own) {
  for (std::size_t j = i; j-- > 0;)
    e = at(e, bodyOf(j), [&](Expr let) {
      const rewrite::Path value = bodyOf(i - j) + rewrite::Path{1};
      return partAt(let, value).hasFree(spineOf(let).arguments[0].parameter()) ? applyTo("letInto", value, let) : let;
    });
  own = partAt(e, bodyOf(i) + rewrite::Path{1});
  return e;
}

// Of the `count` names that a term begins with, the i-th is gone, as its value only moves data; and those before it
// that nothing uses any more.
Expr DefaultMapping::withoutNames(Expr e, std::size_t count, std::size_t i) {
  for (std::size_t j = count; j-- > 0;)
    e = at(e, bodyOf(j), [&](Expr let) {
      const Spine s = spineOf(let);
      return j != i && s.arguments[0].body().hasFree(s.arguments[0].parameter()) ? let : apply("letInline", let);
    });
  return e;
}

// A nest with too few work-items for all cores: what they would do alone becomes a kernel of its own, over more.
std::optional<Expr> DefaultMapping::spread(Expr e) {
  if (!hasFewItems(e) || !mayMove(e)) return std::nullopt;
  const Nest nest = nestOf(e);
  const Expr body = partAt(e, nest.body);
  if (const auto reduction = longReduction(body)) {
    const Nat chunk = *chunkOf(spineOf(*reduction));
    Expr partials = *reduction;
    e = at(e, nest.body + *rewrite::pathOf(*reduction, body), [&](Expr r) {
      r = inChunks(r, chunk);
      partials = partAt(r, partialsOf(r));
      return r;
    });
    return apart(e, nest, partials, "chunks in parallel");
  }
  const Spine s = spineOf(body);
  if (!s.isPrim(Prim::let) || !computesElements(underLayouts(letsOf(body).body))) return std::nullopt;
  const Expr value = s.arguments[1];
  const double least = options_.isGpu ? dividedOperations / enoughItems
                                      : dividedOperations / static_cast<double>(*nest.items.constant());
  if (work_.of(body) < least) return std::nullopt;
  // A number that is cheap is no kernel's work.
  if (value.type().isRegister() && isCheap(value))
    return at(e, nest.body, [this](Expr let) { return apply("letUnfold", let); });
  e = apart(e, nest, value, "few rows, each of many elements");
  e = at(e, nest.body, [this](Expr let) { return apply("letInline", let); });
  return at(e, nest.levels.front(), [this](Expr map) { return ofWhatItUses(map); });
}

// A reduction that a work-item does once, and that may be divided.
std::optional<Expr> DefaultMapping::longReduction(Expr e) {
  if (!e.isApply() || isKept(e)) return std::nullopt;
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::reduce) && chunkOf(s)) return e;
  for (std::size_t i = 0; i < s.arguments.size(); i++) {
    const Expr a = s.arguments[i];
    if (a.isLambda() || (isOptional(s, i) && mayFailWithin(a))) continue;
    if (const auto found = longReduction(a)) return found;
  }
  return std::nullopt;
}

}  // namespace lift::detail
