// Where work runs: the default mapping of functional programs.
//
// The decisions are here; what terms cost is cost.hpp's, what becomes of them transform.hpp's.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cost.hpp"
#include "lift/build.hpp"
#include "lift/diagnostic.hpp"
#include "lowering.hpp"
#include "transform.hpp"

namespace lift {
namespace {

using namespace build;
using detail::Accumulation;
using detail::accumulationOf;
using detail::computesArray;
using detail::computesElements;
using detail::estimate;
using detail::recomputedOperations;
using detail::sharesElements;
using detail::underLayouts;

constexpr int maxDimensions = 3;

// A launch is worth so many operations: less work is not divided.
constexpr double dividedOperations = 16384;
// Work-items that keep all cores of a processor busy.
constexpr double enoughItems = 64;
// Chunks of a reduction that keep all cores busy when work-items come in groups of 64.
constexpr std::int64_t enoughChunks = 1024;
// Operations of a work-item beside which its own cost is small.
constexpr double itemOperations = 1024;
// Accumulators of a reduction that take turns: two vectors of eight floats.
constexpr int lanes = 16;
// Operations on an element that are worth being saved by storing it for all elements of a nest.
constexpr double storedOperations = 64;
// Operations on an element up to which the accumulators' loop is worth being unrolled.
constexpr double laneOperations = 32;

// Whether the primitive says where its work runs, or in which order.
bool isPlace(Expr p) {
  return info(p.prim()).dialect == Dialect::opencl && traits(p.prim()).loop != Traits::Loop::none;
}

class DefaultMapping {
 public:
  DefaultMapping(const Program& program, const MappingOptions& options, kernel::Notes* notes,
                 std::vector<MappingStep>* steps)
      : parameters_(program.parameters.begin(), program.parameters.end()),
        spans_(program.spans),
        options_(options),
        notes_(notes),
        steps_(steps) {}

  // Where the primitives stand, those included that took the place of others.
  detail::Spans takeSpans() { return std::move(spans_); }

  Expr run(Expr body) {
    Expr e = etaLong(body);
    for (const auto& [rule, apply] : std::initializer_list<std::pair<std::string_view, Expr (*)(Expr)>>{
             {"nameMoves", detail::namesOfValuesOnly},
             {"generateAsMap", detail::generatesAsMaps},
             {"reduceByKey", detail::reductionsByIndex},
             {"reduceElements", detail::reductionsOfElements},
             {"reduceRows", detail::reductionsOfRows}})
      e = stepped(rule, e, apply(e));
    e = stepped("letOutOfLoop", e,
                detail::loopInvariants(e, [this](Expr x) { return isWorthNaming(x) && !isClosed(x); }));
    return result(stepped("letOutOfArgument", e, detail::flatNames(e)));
  }

 private:
  // The term that a kernel computes: parallel over its outermost dimensions.
  Expr result(Expr e) {
    if (kept_.count(e)) return e;
    if (!e.is(Expr::Form::apply)) return identityMap(e);
    Spine s = spineOf(e);
    auto& a = s.arguments;
    if (s.isPrim(Prim::iterate)) return iterated(e, s);
    if (!e.type().isArray() && !e.type().is(Type::Kind::tuple)) return alone(e);
    if (s.isPrim(Prim::tuple)) return results(s);
    if (isWrittenThrough(s.head.prim())) {
      for (Expr& x : a) x = result(x);
      return applyAll(s.head, a);
    }
    switch (s.head.prim()) {
      case Prim::let: {
        const Expr name = a[0].parameter();
        if (a[1].type().isArray() && detail::readsOfElement(a[0].body(), name) <= 1) {
          step("letInline", s.head);
          return result(etaLong(substitute(a[0].body(), name, a[1])));
        }
        parameters_.insert(name);
        const bool keeps = mayMove(a[1]) && (a[1].type().isArray() || !isCheap(a[1]));
        const Expr value = keeps ? kept(a[1], "it is named") : sequential(a[1]);
        if (kept_.count(value)) keptNames_.insert(name);
        return let(name, value, result(a[0].body()));
      }
      case Prim::toGlobal:
        return result(a[0]);
      case Prim::ifThenElse:
        guards_.eachArgument(s, [&](Expr x, bool branch) {
          if (branch) return result(x);
          return mayMove(x) && !isCheap(x) ? kept(x, "it is a condition") : operand(x);
        });
        return applyAll(s.head, a);
      case Prim::map:
        if (isInvertibleIn(a[0].body(), a[0].parameter())) {
          a[1] = result(a[1]);
          return applyAll(s.head, a);
        }
        if (onlyMovesData(e)) return identityMap(e);
        if (const Expr divided = spread(e); divided != e) return result(divided);
        if (const Expr stored = withNamesStored(e); stored != e) return result(stored);
        return mapNest(e, depthOf(e));
      case Prim::reduceByIndex:
        return reducedByIndex(e, s);
      case Prim::scan:
      case Prim::scanExclusive:
        return scanned(e, s);
      default:
        break;
    }
    if (onlyMovesData(e)) return identityMap(e);
    return alone(e);
  }

  bool mayMove(Expr e) const { return guards_.allow(e); }

  // Steps over kernels, where the state is an array or a step is much work; else one work-item takes them all.
  Expr iterated(Expr e, const Spine& s) {
    const Expr f = s.arguments[0], in = s.arguments[1];
    if (!detail::holdsArrays(in.type()) && work_.of(f.body()) < dividedOperations) return alone(e);
    parameters_.insert(f.parameter());
    const Expr start = onlyMovesData(in) ? operand(in) : result(in);
    iterations_++;
    const Expr step = Expr::lambda(f.parameter(), result(f.body()));
    iterations_--;
    return applyAll(s.head, {step, start});
  }

  // Results beside each other: those of one shape share a kernel, each of several shapes has one of its own.
  Expr results(Spine s) {
    const auto lengthOf = [](Expr e) { return e.type().isArray() ? e.type().length() : Nat(1); };
    const bool alike = std::all_of(s.arguments.begin(), s.arguments.end(),
                                   [&](Expr e) { return !isKeptName(e) && lengthOf(e) == lengthOf(s.arguments[0]); });
    for (Expr& x : s.arguments) {
      if (iterations_ == 0 && isKeptName(x) && given_.insert(x).second) continue;  // is where it is kept
      const bool own = !alike && mayMove(x) && x.is(Expr::Form::apply) && !x.type().is(Type::Kind::tuple);
      x = own ? kept(x, "it is a result") : result(x);
      if (own && iterations_ > 0) x = detail::copied(x);  // the state is in one place
    }
    return applyAll(s.head, s.arguments);
  }
  bool isKeptName(Expr e) const { return keptNames_.count(e) > 0; }

  // Whether evaluating the term runs a scan, an iteration, or a loop whose value it names: as the input of a map that
  // is a dimension, each of the map's work-items would do it again. Those that are stored in front of the kernel do not
  // count.
  bool runsLoops(Expr e) const {
    if (e.is(Expr::Form::lambda)) return runsLoops(e.body());
    if (!e.is(Expr::Form::apply) || kept_.count(e) || (computesArray(e) && isClosed(e))) return false;
    const Spine s = spineOf(e);
    if (s.head.is(Expr::Form::primitive) && detail::runsInOrder(s.head.prim())) return true;
    if (isChosen(s, e.type())) return true;
    // What a row shares.
    if (s.isPrim(Prim::let) && !isClosed(s.arguments[1]) &&
        anyPrimitive(s.arguments[1], [](Expr p) { return detail::runsLoop(p); }))
      return true;
    return std::any_of(s.arguments.begin(), s.arguments.end(), [&](Expr a) { return runsLoops(a); });
  }
  // An array that a condition chooses, put into memory since something is computed before an element of it is read.
  static bool isChosen(const Spine& s, Type type) {
    return s.isPrim(Prim::ifThenElse) && type.isArray() &&
           (computesFirst(s.arguments[1]) || computesFirst(s.arguments[2]));
  }
  static bool computesFirst(Expr e) {
    if (!e.is(Expr::Form::apply)) return false;
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::at) || (s.head.is(Expr::Form::primitive) && detail::runsLoop(s.head))) return true;
    if (s.isPrim(Prim::let) && (s.arguments[1].type().isRegister() || computesFirst(s.arguments[0].body())))
      return true;
    return std::any_of(s.arguments.begin(), s.arguments.end(), [&](Expr a) { return computesFirst(a); });
  }
  // Whether the elements of a map below another may go to work-items of their own.
  bool isDimension(Expr e) const { return computesElements(e) && !runsLoops(spineOf(e).arguments[1]); }
  // Dimensions of a nest: its outermost maps, up to three; a map over one element takes none.
  static bool isTrivial(Expr map) { return spineOf(map).arguments[1].type().length() == Nat(1); }
  int depthOf(Expr map) const {
    int depth = isTrivial(map) ? 0 : 1;
    Expr body = underLayouts(spineOf(map).arguments[0].body());
    while (depth < maxDimensions && isDimension(body)) {
      if (!isTrivial(body)) depth++;
      body = underLayouts(spineOf(body).arguments[0].body());
    }
    return std::max(depth, 1);
  }

  // The nest with `dimensions` dimensions left to give, the innermost being 0.
  Expr mapNest(Expr e, int dimensions, bool inLambda = false) {
    const Spine s = spineOf(e);
    const Expr f = s.arguments[0];
    const Expr in = inLambda ? inside(s.arguments[1]) : input(e, s.arguments[1]);
    noteRows(f, in);
    const Expr below = underLayouts(f.body());
    const bool loop = isTrivial(e) && isDimension(below);
    step(loop ? "mapToLoop" : "mapToGlobal", e);
    if (loop) return call(Prim::mapSeq, {Expr::lambda(f.parameter(), underneath(f.body(), dimensions)), in});
    const Expr body = dimensions > 1 ? underneath(f.body(), dimensions - 1) : sequential(f.body());
    return call(Prim::mapGlb, {Nat(dimensions - 1)}, {Expr::lambda(f.parameter(), body), in});
  }
  // The input of a nest. Where each of its elements is read by one work-item, that one computes it.
  Expr input(Expr nest, Expr in) {
    if (hasFewItems(nest) || !readsOnce(nest)) return operand(in);
    return produced(in, static_cast<std::size_t>(depthOf(nest)));
  }
  static bool readsOnce(Expr map) {
    const Spine s = spineOf(map);
    const Expr in = Expr::variable("in", s.arguments[1].type());
    return detail::readsOfElement(build::map(s.arguments[0], in), in) <= 1;
  }
  Expr produced(Expr e, std::size_t dimensions) {
    if (!e.is(Expr::Form::apply) || kept_.count(e) || isKernelBoundary(e)) return operand(e);
    Spine s = spineOf(e);
    switch (s.head.is(Expr::Form::primitive) ? s.head.prim() : Prim::toGlobal) {
      case Prim::zip:
      case Prim::transpose:
        for (Expr& a : s.arguments) a = produced(a, dimensions);
        return applyAll(s.head, s.arguments);
      case Prim::map: {
        if (!readsOnce(e)) break;
        if (onlyMovesData(s.arguments[0])) {
          s.arguments[1] = produced(s.arguments[1], dimensions);
          return applyAll(s.head, s.arguments);
        }
        if (detail::holdsArrays(e.type()) && shapeOf(e.type()).size() > dimensions) break;
        if (anyPrimitive(e, [](Expr p) { return detail::runsInOrder(p.prim()); })) break;
        const Expr f = Expr::lambda(s.arguments[0].parameter(), inside(s.arguments[0].body()));
        return applyAll(s.head, {f, produced(s.arguments[1], dimensions)});
      }
      default:
        break;
    }
    return operand(e);
  }
  Expr underneath(Expr body, int dimensions) {
    if (computesElements(body)) return mapNest(body, dimensions, true);
    Spine s = spineOf(body);
    s.arguments[0] = underneath(s.arguments[0], dimensions);
    return applyAll(s.head, s.arguments);
  }

  // Pure data movement: every element is copied by a work-item of its own.
  Expr identityMap(Expr e) {
    step("copy", e);
    return detail::copied(operand(e));
  }

  // What one work-item does.
  Expr sequential(Expr e) { return inside(e); }

  // What the only work-item of a kernel does.
  Expr alone(Expr e, bool shared = false) {
    if (!e.is(Expr::Form::apply) || kept_.count(e)) return e;
    Spine s = spineOf(e);
    shared = shared || sharesElements(s);
    guards_.eachArgument(s, [&](Expr x, bool) {
      return x.is(Expr::Form::lambda) ? Expr::lambda(x.parameter(), inside(x.body())) : operand(x, shared);
    });
    if (s.isPrim(Prim::reduce) && isClosed(e) && mayMove(e))
      if (const auto divided = partial(s)) {
        step("reduceInChunks", s.head);
        return divided->whole(kept(divided->partials, "chunks in parallel"));
      }
    return renamed(s);
  }

  // ------------------------------------------------------------------------------------------- reductions in parts

  // The reduction by chunks, where that is allowed and pays.
  std::optional<detail::PartialReduction> partial(const Spine& s) {
    const Expr init = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
    const Nat length = in.type().length();
    const double each = std::max(1.0, (work_.of(reductionOf(s)) - work_.of(init)) / std::max(1.0, estimate(length)));
    const auto chunk = chunkFor(length, each);
    const auto accumulation = chunk ? mayDivide(s.head, init, f) : std::nullopt;
    if (!accumulation) return std::nullopt;
    return detail::partialReduction(*accumulation, init, f, in, Nat(*chunk));
  }
  static Expr reductionOf(const Spine& s) { return applyAll(s.head, s.arguments); }

  // Elements of a chunk, `each` operations for each; nothing where one work-item does it all as well.
  std::optional<std::int64_t> chunkFor(Nat length, double each) const {
    const auto known = length.constant();
    std::int64_t chunk = options_.chunk;
    if (chunk == 0) {
      if (known && static_cast<double>(*known) * each < dividedOperations) return std::nullopt;
      chunk = chunkOf(known, each);
    }
    if (less(length, Nat(2 * chunk)) == Truth::proved) return std::nullopt;
    return chunk;
  }
  // Elements of a chunk: enough work for an item, enough chunks for all cores, few enough to be put together by one.
  static std::int64_t chunkOf(std::optional<std::int64_t> length, double each) {
    std::int64_t most = static_cast<std::int64_t>(itemOperations);
    if (length)
      while (most * most * 64 < *length) most *= 2;
    std::int64_t chunk = 1;
    while (chunk < most && static_cast<double>(chunk) * each < itemOperations) chunk *= 2;
    while (length && chunk > 4 * lanes && *length / chunk < enoughChunks) chunk /= 2;
    return std::max<std::int64_t>(chunk, 2);
  }

  // A scan in chunks, each from what stands before it, where that is allowed and pays.
  Expr scanned(Expr e, Spine s) {
    const Expr init = s.arguments[0], f = s.arguments[1];
    const Nat length = e.type().length();
    if (!mayMove(e)) return alone(e);
    const double each = std::max(1.0, (work_.of(e) - work_.of(init)) / std::max(1.0, estimate(length)));
    const auto chunk = chunkFor(length, each);
    if (!chunk) return alone(e);
    const auto accumulation = mayDivide(s.head, init, f);
    if (!accumulation) return alone(e);
    s.arguments[2] = operand(s.arguments[2]);
    step("scanInChunks", s.head);
    const detail::PartialScan divided = detail::partialScan(*accumulation, s, Nat(*chunk));
    const Expr totals = kept(divided.totals, "chunks in parallel");
    const Expr offsets = kept(divided.offsets(totals), "what stands before each chunk");
    return result(divided.whole(totals, offsets));
  }

  // A reduction by index in chunks, each with elements of its own, where that is allowed and pays.
  Expr reducedByIndex(Expr e, const Spine& s) {
    const Expr init = s.arguments[0], in = s.arguments[2];
    const Nat elements = init.type().length(), length = in.type().length();
    const auto known = length.constant();
    if (!mayMove(e)) return alone(e);
    // Memory for all chunks is a fraction of the input; so is the work of putting them together.
    const Nat own = elements * extentOf(init.type().element()), each = extentOf(in.type().element().components()[1]);
    Nat chunk = options_.chunk > 0 ? Nat(options_.chunk) : (own * Nat(8) + each - 1) / each;
    if (const auto count = chunk.constant(); count && options_.chunk == 0) {
      if (known && static_cast<double>(*known) < dividedOperations) return alone(e);
      std::int64_t size = std::max<std::int64_t>(*count, static_cast<std::int64_t>(itemOperations));
      while (known && *known / size > enoughChunks) size *= 2;
      chunk = size;
    }
    if (less(length, Nat(2) * chunk) == Truth::proved) return alone(e);
    const Expr z = Expr::variable("z", init.type().element());
    const auto accumulation = mayDivide(s.head, z, s.arguments[1]);
    if (!accumulation) return alone(e);
    step("reduceByIndexInChunks", s.head);
    const auto divided = detail::partialByIndex(*accumulation, z, s, chunk);
    const Expr partials = kept(divided.partials, "chunks in parallel");
    std::optional<Expr> rest;
    if (divided.rest) rest = kept(*divided.rest, "what is left by the chunks");
    return result(detail::reductionsOfElements(divided.whole(partials, rest)));
  }

  // Elements of the component with the most dimensions.
  static Nat extentOf(Type type) {
    std::vector<Nat> largest;
    for (const Leaf& leaf : leavesOf(type))
      if (leaf.shape.size() > largest.size()) largest = leaf.shape;
    Nat extent = 1;
    for (const Nat n : largest) extent = extent * n;
    return extent;
  }

  // What is known of the reduction's function, where its elements may be taken in other groups than one by one.
  std::optional<Accumulation> mayDivide(Expr primitive, Expr init, Expr f) {
    const bool divided = init.type().isRegister() || primitive.prim() == Prim::reduceByIndex;
    const auto accumulation = divided ? accumulationOf(init, f) : std::nullopt;
    if (!accumulation)
      note(primitive, "stays in sequence: its function is not known to be associative");
    else if (!accumulation->exact && options_.strictReductions)
      note(primitive, "stays in sequence: --strict-reductions keeps the order of roundings");
    else
      return accumulation;
    return std::nullopt;
  }

  // Neighbours in memory: an element after the other.
  bool isContiguous(Expr e) const {
    if (e.is(Expr::Form::variable)) return parameters_.count(e) > 0 || rows_.count(e) > 0;
    if (kept_.count(e)) return true;
    const Spine s = spineOf(e);
    if (!s.head.is(Expr::Form::primitive)) return false;
    switch (s.head.prim()) {
      case Prim::zip:
        return std::all_of(s.arguments.begin(), s.arguments.end(), [&](Expr a) { return isContiguous(a); });
      case Prim::map:
        return isContiguous(s.arguments[1]);
      case Prim::generate:
        return true;
      case Prim::get:
      case Prim::take:
      case Prim::drop:
        return isContiguous(s.arguments[0]);
      default:
        return false;
    }
  }
  bool hasContiguousRows(Expr e) const {
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::split)) return isContiguous(s.arguments[0]);
    if (s.isPrim(Prim::slide) || s.isPrim(Prim::slideStrict)) return isContiguous(s.arguments[0]);
    if (s.isPrim(Prim::zip))
      return std::all_of(s.arguments.begin(), s.arguments.end(),
                         [&](Expr a) { return !a.type().element().isArray() || hasContiguousRows(a); });
    return !s.isPrim(Prim::map) && isContiguous(e);
  }
  void noteRows(Expr f, Expr in) {
    if (hasContiguousRows(in)) rows_.emplace(f.parameter(), in);
  }

  // Whether the part at `path` of an array's elements is an integer that is larger for every later element: the index
  // of generate(n, id), also where arrays are zipped, cut into rows, or mapped by what leaves it as it is. A path is
  // the components to take, the last one first.
  bool grows(Expr array, std::vector<int> path) const {
    if (const auto rows = rows_.find(array); rows != rows_.end()) {
      const Spine cut = spineOf(rows->second);
      return (cut.isPrim(Prim::split) || cut.isPrim(Prim::slide)) && grows(cut.arguments[0], std::move(path));
    }
    const Spine s = spineOf(array);
    if (s.isPrim(Prim::take) || s.isPrim(Prim::drop)) return grows(s.arguments[0], std::move(path));
    if (s.isPrim(Prim::zip)) {
      if (path.empty()) return false;
      const auto component = static_cast<std::size_t>(path.back());
      path.pop_back();
      return grows(s.arguments[component], std::move(path));
    }
    if (!s.isPrim(Prim::map) && !s.isPrim(Prim::generate)) return false;
    Expr body = s.arguments[0].body();
    for (Spine b = spineOf(body); b.isPrim(Prim::let) || (b.isPrim(Prim::tuple) && !path.empty()); b = spineOf(body)) {
      body = b.isPrim(Prim::let) ? b.arguments[0].body() : b.arguments[static_cast<std::size_t>(path.back())];
      if (b.isPrim(Prim::tuple)) path.pop_back();
    }
    const auto further = detail::componentPath(body, s.arguments[0].parameter());
    if (!further) return false;
    if (s.isPrim(Prim::generate)) return path.empty() && further->empty();
    path.insert(path.end(), further->begin(), further->end());
    return grows(s.arguments[1], std::move(path));
  }

  // Several accumulators in turns where the elements come from memory in order and may come in any: then the additions
  // do not wait for each other, and a processor does several at once.
  std::optional<Expr> byLanes(const Spine& s) {
    const Expr in = s.arguments[2];
    const Nat length = in.type().length();
    if (!s.arguments[0].type().isRegister()) return std::nullopt;
    if (less(length, Nat(4 * lanes)) != Truth::refuted || !isContiguous(in)) return std::nullopt;
    const double each = work_.of(reductionOf(s)) / std::max(1.0, estimate(length));
    const auto loops = [](Expr p) { return detail::runsLoop(p); };
    if (each > laneOperations || anyPrimitive(s.arguments[1], loops) || anyPrimitive(in, loops)) return std::nullopt;
    const auto accumulation = accumulationOf(s.arguments[0], s.arguments[1], [&](Expr number, Expr element) {
      auto path = detail::componentPath(number, element);
      return path && isInteger(scalarOf(number.type())) && grows(in, std::move(*path));
    });
    if (!accumulation || !accumulation->commutative || (!accumulation->exact && options_.strictReductions))
      return std::nullopt;
    return detail::laneReduction(*accumulation, s.arguments[0], s.arguments[1], in, lanes);
  }

  // The maps of a nest, and the innermost.
  struct Nest {
    int levels = 0;
    Expr innermost;
    Nat items = 1;
  };
  Nest nestOf(Expr e) const {
    Nest nest{0, e, 1};
    for (Expr map = e; nest.levels < maxDimensions && (nest.levels == 0 || isDimension(map)); nest.levels++) {
      nest.items = nest.items * spineOf(map).arguments[1].type().length();
      nest.innermost = map;
      map = underLayouts(spineOf(map).arguments[0].body());
    }
    return nest;
  }
  bool hasFewItems(Expr nest) const {
    const auto items = nestOf(nest).items.constant();
    return items && static_cast<double>(*items) < enoughItems;
  }

  // An array that the function of a nest names, and reads so often that its elements are better stored than computed
  // again, gets memory for all elements of the nest: it is computed by a kernel of its own.
  Expr withNamesStored(Expr e) {
    if (!mayMove(e)) return e;
    const auto [levels, innermost, items] = nestOf(e);
    const Expr body = underLayouts(spineOf(innermost).arguments[0].body());
    const detail::Names names = detail::namesOf(detail::flatNames(body));
    const auto below = [&](std::size_t from, std::size_t to, Expr x) {
      for (std::size_t i = to; i-- > from;) {
        const auto& [name, value] = names.bound[i];
        if (x.hasFree(name)) x = let(name, value, x);
      }
      return x;
    };
    for (std::size_t i = names.bound.size(); i-- > 0;) {
      const auto& [name, value] = names.bound[i];
      if (!computesArray(value) || isClosed(value)) continue;
      double elements = 1;
      for (const Nat n : shapeOf(value.type())) elements *= std::max(1.0, estimate(n));
      const Expr rest = below(i + 1, names.bound.size(), names.body);
      const double again = detail::readsOfElement(rest, name) - 1;
      if (again * work_.of(value) / elements <= storedOperations) continue;
      const Expr own = withFreshBinders(below(0, i, value));
      const Expr nest = replaceTerms(e, {{body, below(0, i, etaLong(substitute(rest, name, own)))}});
      step("mapFission", e);
      const detail::Fission f = detail::fission(nest, levels, own);
      return f.rest(kept(f.values, fmt::format("{} is read {} times", name.name(), again + 1)));
    }
    return e;
  }

  // A nest with too few work-items for all cores: what they would do alone becomes a kernel of its own, over more.
  Expr spread(Expr e) {
    if (!hasFewItems(e) || !mayMove(e)) return e;
    const auto [levels, innermost, items] = nestOf(e);
    Expr body = underLayouts(spineOf(innermost).arguments[0].body());
    if (const auto reduction = longReduction(body)) {
      const auto divided = partial(spineOf(*reduction));
      step("reduceInChunks", spineOf(*reduction).head);
      step("mapFission", e);
      const Expr parts = divided->partials;
      const Expr nest = replaceTerms(e, {{*reduction, divided->whole(parts)}});
      const detail::Fission f = detail::fission(nest, levels, parts);
      return f.rest(kept(f.values, "chunks in parallel"));
    }
    const Spine s = spineOf(body);
    if (!s.isPrim(Prim::let) || !computesElements(underLayouts(underNames(body)))) return e;
    const Expr value = s.arguments[1];
    if (work_.of(body) < dividedOperations / enoughItems) return e;
    step("mapFission", e);
    const Expr named = replaceTerms(e, {{body, substitute(s.arguments[0].body(), s.arguments[0].parameter(), value)}});
    const detail::Fission f = detail::fission(named, levels, value);
    return f.rest(kept(f.values, "few rows, each of many elements"));
  }
  static Expr underNames(Expr e) {
    for (Spine s = spineOf(e); s.isPrim(Prim::let); s = spineOf(e)) e = s.arguments[0].body();
    return e;
  }
  // A reduction that a work-item does once, and that may be divided.
  std::optional<Expr> longReduction(Expr e) {
    if (!e.is(Expr::Form::apply) || kept_.count(e)) return std::nullopt;
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::reduce) && partial(s)) return e;
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      const Expr a = s.arguments[i];
      if (a.is(Expr::Form::lambda) || (isOptional(s, i) && mayFailWithin(a))) continue;
      if (const auto found = longReduction(a)) return found;
    }
    return std::nullopt;
  }

  // ------------------------------------------------------------------------------------------------- what is kept

  // A closed term in memory, computed by a kernel of its own; the same one for equal terms.
  Expr kept(Expr e, std::string_view why) {
    if (kept_.count(e)) return e;
    std::string key = print(e, Names::canonical);
    for (const Expr v : e.freeVariables()) key += fmt::format(" {}", v.id());
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    step("toGlobalMemory", e);
    const Expr k = call(Prim::toGlobal, {result(e)});
    kept_.insert(k);
    known_.emplace(std::move(key), k);
    if (notes_ != nullptr)
      note(e, fmt::format("{} is kept in memory, computed by a kernel of its own: {}", e.type().str(), why));
    return k;
  }

  // Work that is worth doing once instead of at every use.
  bool isExpensive(Expr e) {
    if (kept_.count(e)) return false;
    if (const auto known = expensive_.find(e); known != expensive_.end()) return known->second;
    bool is = false;
    if (e.is(Expr::Form::lambda)) is = isExpensive(e.body());
    if (e.is(Expr::Form::apply))
      is = isChosen(spineOf(e), e.type()) || isExpensive(e.function()) || isExpensive(e.argument());
    if (e.is(Expr::Form::primitive)) is = detail::runsLoop(e);
    return expensive_[e] = is;
  }
  bool isCheap(Expr e) { return !isExpensive(e) || work_.of(e) <= recomputedOperations; }
  // A value, no array, that costs a loop.
  bool isWorthNaming(Expr e) { return e.type().isRegister() && e.is(Expr::Form::apply) && !isCheap(e); }

  // Whether the array gets memory of its own; `shared` says that its elements are read for several results. Of a map
  // that only moves data, what it moves may get some.
  bool isStored(Expr e, bool shared) {
    if (kept_.count(e) || !computesArray(e) || !isClosed(e) || !mayMove(e)) return false;
    if (const Spine s = spineOf(e); s.isPrim(Prim::map) && onlyMovesData(s.arguments[0])) return false;
    return isExpensive(e) || (shared && operations(e, shared) > recomputedOperations);
  }

  // Scalar operations, about, that an element of the term costs where it is not stored. What is below is counted as it
  // will be: an array that is stored costs nothing more.
  double operations(Expr e, bool shared) {
    if (e.is(Expr::Form::lambda)) return operations(e.body(), shared);
    if (!e.is(Expr::Form::apply) || kept_.count(e)) return 0;
    auto& known = operations_[shared ? 1 : 0];
    if (const auto found = known.find(e); found != known.end()) return found->second;
    const Spine s = spineOf(e);
    const bool below = shared || sharesElements(s);
    double count = s.isPrim(Prim::op) || s.isPrim(Prim::convert) ? 1 : 0;
    for (const Expr a : s.arguments) {
      const bool reads = s.isPrim(Prim::map) && !a.is(Expr::Form::lambda);
      const double times = reads ? detail::occurrences(s.arguments[0].body(), s.arguments[0].parameter()) : 1;
      if (!isStored(a, below)) count += times * operations(a, below);
    }
    return known[e] = count;
  }

  bool isClosed(Expr e) const {
    for (const Expr v : e.freeVariables())
      if (!parameters_.count(v)) return false;
    return true;
  }

  // toGlobal as the program has it.
  bool isKernelBoundary(Expr e) const { return spineOf(e).isPrim(Prim::toGlobal) && isClosed(e); }

  // A term that is read outside of every lambda: expensive intermediates get a kernel of their own.
  Expr operand(Expr e, bool shared = false) {
    if (!e.is(Expr::Form::apply) || kept_.count(e)) return e;
    if (isKernelBoundary(e)) return kept(spineOf(e).arguments[0], "the program says so");
    if (isStored(e, shared))
      return kept(e, isExpensive(e) ? "it is expensive" : "several results read each of its elements");
    return alone(e, shared);
  }

  // A term inside a lambda: what does not depend on the lambda is computed once, outside.
  Expr inside(Expr e) {
    if (e.is(Expr::Form::lambda)) return Expr::lambda(e.parameter(), inside(e.body()));
    if (!e.is(Expr::Form::apply) || kept_.count(e)) return e;
    if (isKernelBoundary(e)) return kept(spineOf(e).arguments[0], "the program says so");
    // A kernel cannot end inside of a map: there toGlobal asks for nothing that sharing between work-items could see.
    if (const Spine s = spineOf(e); s.isPrim(Prim::toGlobal)) return inside(s.arguments[0]);
    if (isClosed(e) && mayMove(e)) {
      const bool array = computesArray(e) && !onlyMovesData(e) && (isExpensive(e) || !e.freeVariables().empty());
      if (array || isWorthNaming(e)) return kept(e, "the same for all elements of a map");
    }
    Spine s = spineOf(e);
    if (s.isPrim(Prim::map)) noteRows(s.arguments[0], s.arguments[1]);
    guards_.eachArgument(s, [&](Expr x, bool) { return inside(x); });
    return renamed(s);
  }

  // A reduction over joined rows is a reduction over the rows of reductions of a row, in the same order: loops over
  // each dimension instead of one whose index must be divided. The same for rows that are zipped.
  static Expr reduceSeq(Expr init, Expr f, Expr in) {
    const Spine s = spineOf(in);
    std::vector<Expr> rows;
    if (s.isPrim(Prim::join)) {
      rows.push_back(s.arguments[0]);
    } else if (s.isPrim(Prim::zip)) {
      for (const Expr a : s.arguments) {
        const Spine joined = spineOf(a);
        if (!joined.isPrim(Prim::join)) break;
        rows.push_back(joined.arguments[0]);
      }
      const auto sameRows = [&](Expr r) {
        return r.type().length() == rows[0].type().length() &&
               r.type().element().length() == rows[0].type().element().length();
      };
      if (rows.size() != s.arguments.size() || !std::all_of(rows.begin(), rows.end(), sameRows)) rows.clear();
    }
    if (rows.empty()) return build::reduceSeq(init, f, in);
    const Expr outer = zip(rows);
    const Expr p = Expr::variable("p", Type::tuple({init.type(), outer.type().element()}));
    Expr row = get(p, 1);
    if (rows.size() > 1) {
      row = zip(components(row));
    }
    return reduceSeq(init, Expr::lambda(p, reduceSeq(get(p, 0), f, row)), outer);
  }

  Expr renamed(const Spine& s) {
    if (!s.head.is(Expr::Form::primitive)) return applyAll(s.head, s.arguments);
    Prim prim = s.head.prim();
    if (prim == Prim::reduce) {
      if (const auto lanes = byLanes(s)) {
        step("reduceInLanes", s.head);
        return *lanes;
      }
      step("reduceToLoop", s.head);
      return reduceSeq(s.arguments[0], s.arguments[1], s.arguments[2]);
    }
    if (prim == Prim::scan) prim = Prim::scanSeq;
    if (prim == Prim::scanExclusive) prim = Prim::scanExclusiveSeq;
    if (prim == s.head.prim()) return applyAll(s.head, s.arguments);
    step("scanToLoop", s.head);
    const Expr head = Expr::primitive(prim, s.head.nats(), s.head.type());
    if (const Span span = detail::spanOf(spans_, s.head)) spans_.emplace(head, span);
    return applyAll(head, s.arguments);
  }

  // The term's primitive, and where it stands; of one that the compiler made, where something in it stands.
  std::string placeIn(Expr term) const {
    const Expr head = spineOf(term).head;
    if (!head.is(Expr::Form::primitive)) return head.name();
    Span span = detail::spanOf(spans_, head);
    if (!span)
      anyPrimitive(term, [&](Expr p) {
        span = detail::spanOf(spans_, p);
        return static_cast<bool>(span);
      });
    return std::string(info(head.prim()).name) + (span ? " at " + placeOf(span) : "");
  }
  void note(Expr term, const std::string& text) {
    if (!notes_) return;
    kernel::Note n{"map", placeIn(term) + ": " + text};
    if (std::none_of(notes_->begin(), notes_->end(), [&](const auto& m) { return m.text == n.text; }))
      notes_->push_back(std::move(n));
  }
  void step(std::string_view rule, Expr term) {
    if (!steps_) return;
    steps_->push_back({rule, detail::equationOf(rule), placeIn(term)});
  }
  // The term after a rule was applied wherever it fits.
  Expr stepped(std::string_view rule, Expr before, Expr after) {
    if (steps_ && before != after) steps_->push_back({rule, detail::equationOf(rule), ""});
    return after;
  }

  detail::Guards guards_;
  std::unordered_set<Expr> parameters_;  // what is there before every kernel: inputs, and names of what is kept
  detail::Spans spans_;
  const MappingOptions& options_;
  kernel::Notes* notes_;
  std::vector<MappingStep>* steps_;
  detail::Work work_;
  std::unordered_set<Expr> kept_;                // terms toGlobal(…) that are mapped
  std::unordered_map<std::string, Expr> known_;  // the same by the term they keep
  int iterations_ = 0;                           // over kernels, that are being mapped
  std::unordered_set<Expr> keptNames_, given_;   // names of such; those that are results
  std::unordered_map<Expr, Expr> rows_;          // parameters that are rows with elements side by side; of which array
  std::unordered_map<Expr, bool> expensive_;
  std::array<std::unordered_map<Expr, double>, 2> operations_;  // by whether shared
};

// A program that says where some of its kernels run: what it keeps in memory by toGlobal, or gives as a result, without
// saying where it is computed is mapped as if it stood alone.
class RestMapping {
 public:
  using Map = std::function<Expr(Expr)>;
  explicit RestMapping(Map map) : map_(std::move(map)) {}

  // Of the program's result, or that of a step of an iteration.
  Expr result(Expr e) const {
    if (!e.is(Expr::Form::apply)) return e;
    Spine s = spineOf(e);
    auto& a = s.arguments;
    if (s.isPrim(Prim::let) || s.isPrim(Prim::iterate)) {
      a[0] = Expr::lambda(a[0].parameter(), result(a[0].body()));
      a[1] = kept(a[1]);
    } else if (s.isPrim(Prim::tuple)) {
      for (Expr& x : a) x = result(x);
    } else {
      return saysWhere(e) ? e : map_(e);
    }
    return applyAll(s.head, a);
  }

 private:
  Expr kept(Expr e) const {
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::iterate)) return result(e);
    return s.isPrim(Prim::toGlobal) && !saysWhere(e) ? build::call(Prim::toGlobal, {map_(s.arguments[0])}) : e;
  }
  static bool saysWhere(Expr e) { return anyPrimitive(e, isPlace); }

  Map map_;
};

}  // namespace

bool isMapped(const Program& program) { return anyPrimitive(program.body, isPlace); }

Program mapByDefault(const Program& program, const MappingOptions& options, kernel::Notes* notes,
                     std::vector<MappingStep>* steps) {
  Program out = program;
  const auto mapped = [&](Expr body, const std::vector<Expr>& parameters) {
    Program part = out;
    part.parameters = parameters;
    DefaultMapping mapping(part, options, notes, steps);
    const Expr result = mapping.run(body);
    out.spans = mapping.takeSpans();
    return result;
  };
  out.body = isMapped(program) ? RestMapping([&](Expr e) { return mapped(e, e.freeVariables()); }).result(program.body)
                               : mapped(program.body, program.parameters);
  return out;
}

}  // namespace lift
