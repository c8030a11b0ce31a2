// Families for the patterns of parts. The first is what is taken where nothing has been measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "lift/accumulation.hpp"
#include "lift/mapping.hpp"
#include "lift/strategies.hpp"
#include "lift/terms.hpp"
#include "part_tiles.hpp"
#include "restating.hpp"

namespace lift::detail::parts {

using namespace rewrite;

namespace {

// Reductions in the term that are not within another loop.
int reductionsIn(Expr e) {
  if (!e.isApply()) return 0;
  const Spine s = spineOf(e);
  int count = s.isPrim(Prim::reduce) ? 1 : 0;
  for (const Expr a : s.arguments) count += reductionsIn(a.isLambda() ? a.body() : a);
  return count;
}

}  // namespace

double stepsWrittenOut(Expr element, double mostOfReduction) {
  constexpr double many = 1e9;
  std::unordered_map<Expr, double> known;  // terms share what they contain
  const std::function<double(Expr)> steps = [&](Expr e) -> double {
    if (e.isLambda()) return steps(e.body());
    if (!e.isApply()) return 0;
    if (const auto found = known.find(e); found != known.end()) return found->second;
    const Spine s = spineOf(e);
    const bool loops =
        s.isPrim(Prim::generate) || strategies::isComputingMap(e) || (s.head.isPrimitive() && runsLoop(s.head));
    double inside = 0, all = 0;
    for (const Expr a : s.arguments) (loops && a.isLambda() ? inside : all) += steps(a);
    if (loops) {
      const Type over = s.arguments.back().type().isArray() ? s.arguments.back().type() : e.type();
      const auto length = over.isArray() ? over.length().constant() : std::nullopt;
      all += std::max(1.0, inside) * (length ? static_cast<double>(*length) : many);
      if (s.isPrim(Prim::reduce) && all < many) all = std::min(all, mostOfReduction);
    }
    return known[e] = all;
  };
  return steps(element);
}

bool prefersGroups(const runtime::DeviceInfo& device) { return device.type == "gpu" && device.localMemoryIsDedicated; }

bool elementsLieTogether(const Recognised& form) {
  constexpr std::int64_t shortest = 64;
  if (!form.reduces || !form.input || !form.nest.body.type().isRegister() || reductionsIn(form.nest.body) != 1)
    return false;
  if (const auto length = form.reduced->constant(); !length || *length < shortest) return false;
  const auto strides = stridesInside(form.nest, *form.input);
  return std::ranges::all_of(strides, [](const auto& s) { return s == 1; });
}

namespace {

// Whether the work-items of a group can put together what each has of every reduction.
bool reducesByOperations(Expr e) {
  return !anyTerm(e, [](Expr term) {
    const Spine s = spineOf(term);
    if (!s.isCall(Prim::reduce)) return false;
    const auto accumulation = accumulationOf(s.arguments[0], s.arguments[1]);
    return !accumulation || !operationsOf(*accumulation);
  });
}

std::string notInRowSums(const Recognised& form) {
  return estimated(form.nest.innermost()) < 2 ? "it has one row" : "";
}

// A name for an array that is computed element by element.
bool namesMap(Expr e) {
  const Spine s = spineOf(e);
  return s.isCall(Prim::let) && strategies::isComputingMap(s.arguments[1]);
}

// Arrays that are computed element by element have no names: their elements are computed where they are read.
Strategy withoutNamedMaps() {
  return seq({attempt(everywhere(when(namesMap, use("letUnfold")))), normalise({"mapFusion", "reduceMapFusion"}),
              canonical()});
}

// Whether loops run in the steps of a loop: much work for what is read.
bool hasNestedLoops(Expr e) {
  return anyTerm(e, [](Expr term) {
    const Spine s = spineOf(term);
    const auto runsLoops = [](Expr a) { return a.isLambda() && anyPrimitive(a, runsLoop); };
    return s.head.isPrimitive() && runsLoop(s.head) && std::ranges::any_of(s.arguments, runsLoops);
  });
}

// Whether all rows read the same elements, and are enough work-items for a GPU: each reads what its neighbours do.
bool areManyRowsOfSameElements(const Recognised& form) {
  constexpr double enough = 16384;
  for (std::size_t i = 0; i < form.nest.loops.size(); i++)
    if (std::ranges::any_of(stridesOf(form.nest, *form.input, i), [](const auto& s) { return s != 0; })) return false;
  return estimate(form.nest.elements()) >= enough;
}

OperatorFamily sumsByGroups(const Recognised& form) {
  constexpr std::int64_t longest = 16;
  return {.name = "groups",
          .meaning = "a row per work-group, whose work-items reduce it together, by sub-groups where there are any",
          .derive =
              [outer = form.nest.outer(), most = std::min(*form.reduced->constant(), longest)](Rewriting& r) {
                const Nat elements = r.tunable("elements", 1, most);
                r.apply(canonical());
                r.apply(strategies::rowsOfGroups(outer, elements));
              },
          .defaults = {{"elements", 1}},
          .firstOn = [shared = areManyRowsOfSameElements(form)](
                         const runtime::DeviceInfo& device) { return prefersGroups(device) && !shared; }};
}

// Whether rows are too few work-items, and so long that the default mapping divides each.
bool areFewLongRows(const Recognised& form) {
  constexpr std::int64_t longest = 1 << 15, fewest = 64;
  return *form.reduced->constant() > longest && form.nest.elements().constant().value_or(fewest) < fewest;
}

// Several rows per work-item, their sums in lanes.
std::vector<OperatorFamily> rowSumFamilies(const Recognised& form) {
  const std::int64_t rows = estimated(form.nest.innermost()), depth = *form.reduced->constant();
  constexpr std::int64_t largestGroup = 64;
  const Cut cut = cutOfRows(form.nest.innermost());
  OperatorFamily family;
  family.name = "rows";
  family.meaning = "several rows per work-item, each summed in lanes";
  family.derive = [=, outer = form.nest.outer()](Rewriting& r) {
    const Nat rowsOfItem = r.tunable("rows", 1, cut.longest);
    const Nat group = r.tunable("group", 1, largestGroup);
    r.apply(canonical());
    r.apply(strategies::rowSums({rowsOfItem, group, outer, cut.fill}));
  };
  // A processor's group should take about as long as waking another core does; on other devices groups should have many
  // work-items.
  family.preferred = [=](const runtime::DeviceInfo& device) -> Config {
    constexpr std::int64_t elementsOfGroup = 1 << 15;
    constexpr std::int64_t longRow = 512;  // so far apart, each row is a stream of its own: prefetchers follow few
    const std::int64_t usualRows = depth < longRow ? 8 : 4;
    const bool isGpu = device.type == "gpu";
    const std::int64_t rowsOfItem = isGpu      ? 1
                                    : cut.fill ? std::min(usualRows, rows)
                                               : largestDivisor(rows, std::min(usualRows, cut.longest));
    std::int64_t group =
        isGpu ? largestGroup : std::clamp<std::int64_t>(elementsOfGroup / (rowsOfItem * depth), 1, largestGroup);
    const auto isGood = [&](std::int64_t g) {
      const std::int64_t k = rowsOfItem * g, missing = roundedUp(rows, k) - rows;
      return missing == 0 || (cut.fill && 8 * missing <= rows);
    };
    while (group > 1 && !isGood(group)) group--;
    return {{"rows", rowsOfItem}, {"group", group}};
  };
  std::vector<OperatorFamily> families = {withUsualDefaults(std::move(family))};
  if (reducesByOperations(form.nest.body)) families.push_back(sumsByGroups(form));
  if (areFewLongRows(form))
    for (OperatorFamily& f : families) f.firstOn = [](const runtime::DeviceInfo&) { return false; };
  return families;
}

// Whether rows are reduced more than once, or an element of the result is computed of each of theirs and of what they
// are reduced to: softmax, normalisation, variance.
bool usesItsReductions(const Recognised& form) {
  constexpr double shortest = 64;
  const Expr body = form.nest.body;
  if (!form.reduces || estimate(*form.reduced) < shortest || !reducesByOperations(body) || hasNestedLoops(body))
    return false;
  const Type row = body.type();
  if (!row.isRegister() && !(row.isArray() && row.element().isRegister())) return false;
  const auto readsInOrder = [&](Expr e) {
    const Spine s = spineOf(e);
    if (!s.isCall(Prim::reduce)) return false;
    Expr in = s.arguments[2];
    while (strategies::isComputingMap(in)) in = spineOf(in).arguments.back();
    const auto strides = stridesInside(form.nest, in);
    return std::ranges::all_of(strides, [](const auto& stride) { return stride == 1; });
  };
  return anyTerm(body, readsInOrder);
}

OperatorFamily rowsByGroups(const Recognised& form) {
  return {
      .name = "groups",
      .meaning = "a row per work-group, whose work-items reduce it together and share what is computed of each element",
      .derive =
          [outer = form.nest.outer()](Rewriting& r) {
            r.apply(canonical());
            r.apply(withoutNamedMaps());
            r.apply(strategies::rowsOfGroups(outer));
          },
      .firstOn = isGpu};  // no other family for GPUs takes such rows
}

// Whether all that is computed are long reductions, whose chunks work-groups reduce.
bool isOfGroups(const Recognised& form) {
  constexpr std::int64_t shortest = 2048;
  return form.pattern == Pattern::reduction && form.reduces && form.nest.body.type().isRegister() &&
         form.reduced->constant().value_or(shortest) >= shortest && reducesByOperations(form.nest.body) &&
         !hasNestedLoops(form.nest.body);
}

OperatorFamily reductionByGroups(const Recognised& form) {
  // Enough groups for all units of large devices, few enough for one group to put together what they give.
  constexpr std::int64_t groups = 1024, shortest = 1024, ofGroup = 256;
  const auto length = form.reduced->constant();
  std::int64_t chunk = 4 * shortest;
  if (length) {
    const std::int64_t least = std::max(shortest, roundedUp(ceilDiv(*length, groups), ofGroup));
    for (chunk = least; *length % chunk != 0 && chunk < 2 * least;) chunk += ofGroup;
    if (*length % chunk != 0) chunk = least;
  }
  return {.name = "groups",
          .meaning = "a chunk per work-group, whose work-items reduce it together, and a group for what all give",
          .derive =
              [chunk](Rewriting& r) {
                r.apply(canonical());
                r.apply(strategies::reductionsByGroups(chunk));
              },
          .firstOn = isGpu};
}

constexpr std::int64_t unrolledWindow = 400;  // of more steps kernels are too long
constexpr std::int64_t unrolledRow = 32;      // of more elements drivers take long to build them

// One row of windows, or of what else is reduced.
StencilSize rowsOfWindows(const Recognised& form) {
  constexpr std::int64_t usualWindow = 9;
  return {1, estimated(form.nest.innermost()),
          form.reduced ? form.reduced->constant().value_or(usualWindow) : usualWindow};
}

// The columns of a work-item, in at most so many vectors, that cost least.
Tile stripOn(const runtime::DeviceInfo& device, const Cut& columns, const StencilSize& size, std::int64_t vectors = 1) {
  return cheapest(Cut{false, 1, 1}, columns, vectors,
                  [&](const Tile& tile) { return costOfStencil(device, size, tile.columns, tile.lanes); });
}

// Neighbouring windows of a row per work-item, in lanes.
std::vector<OperatorFamily> stencilFamilies(const Recognised& form) {
  const int outer = form.nest.outer();
  StencilSize size = rowsOfWindows(form);
  for (int i = 0; i < outer; i++)
    size.rows *= form.nest.loops[static_cast<std::size_t>(i)].length().constant().value_or(1);
  const bool windows = form.pattern == Pattern::stencil;
  const Cut cut = cutOfColumns(form.nest.innermost(), 128, windows);
  const double written = std::max(static_cast<double>(size.window), windows ? stepsWrittenOut(form.nest.body) : 0);
  const std::int64_t unroll = written <= (windows ? unrolledWindow : unrolledRow) ? 0 : windows ? 1 : 4;
  OperatorFamily family;
  family.name = "lanes";
  family.meaning = windows ? "neighbouring windows of a row in lanes, padding in memory" : "neighbouring rows in lanes";
  family.forProcessors = true;  // elsewhere neighbouring work-items read what lies side by side
  family.derive = [=](Rewriting& r) {
    const Nat columnsOfItem = r.tunable("columns", 2, cut.longest);
    const Nat lanes = r.tunable("lanes", 2, 16);
    r.assume({SizeCondition::Kind::lessEqual, columnsOfItem, lanes * Nat(mostVectorsOfItem), "accumulators"});
    if (cut.fill) {
      r.apply(canonical());
      r.apply(strategies::filledWindows(columnsOfItem, outer));
    }
    if (windows) r.apply(paddedInMemory());
    r.apply(canonical());
    r.apply(strategies::stencil(columnsOfItem, lanes, outer, unroll));
  };
  family.preferred = [=](const runtime::DeviceInfo& device) -> Config {
    const Tile t = stripOn(device, cut, size, mostVectorsOfItem);
    return {{"columns", t.columns}, {"lanes", t.lanes}};
  };
  return {withUsualDefaults(std::move(family))};
}

// An element at an index that the map's element gives, of an array that it does not.
std::optional<Path> gatherIn(Expr map) {
  const Spine s = spineOf(map);
  if (!strategies::isComputingMap(map)) return std::nullopt;
  const Expr f = s.arguments[0], x = f.parameter();
  std::optional<Expr> gather;
  anyTerm(f.body(), [&](Expr e) {
    const Spine at = spineOf(e);
    if (at.isCall(Prim::at) && e != f.body() && e.type().isScalar() && at.arguments[0].hasFree(x) &&
        !at.arguments[1].hasFree(x))
      gather = e;
    return gather.has_value();
  });
  return gather ? pathOf(*gather, map) : std::nullopt;
}

// A name for an index.
bool namesIndex(Expr e) {
  const Spine s = spineOf(e);
  return s.isCall(Prim::let) && s.arguments[1].type() == Type::scalar(Scalar::i32);
}

// Reads at computed indices moved into maps of their own: there are no vectors of such reads, but of all else.
Strategy gathersApart() {
  constexpr int most = 8;
  const Strategy apart = [](Expr e, Rewriting& r) -> std::optional<Expr> {
    std::optional<Expr> now;
    for (int i = 0; i < most; i++) {
      const auto gather = gatherIn(now.value_or(e));
      if (!gather) break;
      const auto next = use(ruleAt("mapFission", *gather))(now.value_or(e), r);
      if (!next) break;
      now = next;
    }
    return now;
  };
  return seq({attempt(function(body(everywhere(when(namesIndex, use("letUnfold")))))), apart});
}

// Choices of which lanes cannot compute what is not chosen, for it may fail, made ones of which they can. A condition
// is part of every index that it guards: those that approximate functions would be computed again for each, and choices
// within choices grow with every one around them, so that large ones stay.
Strategy choicesInLanes() {
  constexpr std::size_t largest = 500;  // nodes of a choice
  const auto isGuarded = [](Expr e) {
    const Spine s = spineOf(e);
    std::unordered_map<Expr, std::size_t> known;
    return choosesWhatMayFail(s) && !approximates(s.arguments[0]) && treeSize(e, largest, known) <= largest;
  };
  return everywhere(when(isGuarded, orElse(use("ifAsSelect"), orElse(use("andAsSelect"), use("orAsSelect")))));
}

// A window per lane, whatever is computed of it; of long rows no array but the result is kept.
OperatorFamily windowsInLanes(const Recognised& form, bool keepsArrays = true) {
  const int outer = form.nest.outer();
  const StencilSize size = rowsOfWindows(form);
  const Cut cut = cutOfColumns(form.nest.innermost(), 16);
  OperatorFamily family;
  family.name = "vectors";
  const bool windows = form.pattern == Pattern::stencil, elementwise = form.pattern == Pattern::elementwise;
  family.forProcessors = true;
  family.meaning =
      windows ? "neighbouring windows, one in each lane, padding in memory" : "neighbouring rows, one in each lane";
  family.derive = [=](Rewriting& r) {
    const Nat lanes = r.tunable("lanes", 2, cut.longest);
    r.apply(canonical());
    r.apply(attempt(choicesInLanes()));
    if (elementwise) r.apply(attempt(strategies::below(outer, strategies::outermost(gathersApart()))));
    if (cut.fill && windows) r.apply(strategies::filledWindows(lanes, outer));
    if (windows) r.apply(seq({paddedInMemory(), canonical()}));
    if (!keepsArrays) r.apply(withoutNamedMaps());
    r.apply(strategies::mapsInLanes(lanes, outer, cut.fill && !windows));
  };
  family.preferred = [=](const runtime::DeviceInfo& device) -> Config {
    return {{"lanes", stripOn(device, cut, size).lanes}};
  };
  return withUsualDefaults(std::move(family));
}

// Whether vectors of what neighbours read of an input are loaded element by element.
bool neighboursLieApart(const Recognised& form) {
  const auto strides = form.input ? stridesOf(form.nest, *form.input) : std::vector<std::optional<std::int64_t>>();
  return std::ranges::any_of(strides, [](const auto& s) { return s != 0 && s != 1; });
}

// The same, read where it is: rows of vectors, whose loops are split where padding begins.
OperatorFamily stripsOfWindows(const Recognised& form) {
  const int outer = form.nest.outer();
  const StencilSize size = rowsOfWindows(form);
  const double steps = stepsWrittenOut(form.nest.body, HUGE_VAL);
  // Of longer reductions the outer loops stay: drivers take long to build what is written out.
  const double unrolledSteps = neighboursLieApart(form) ? 200 : unrolledWindow;
  const auto isLong = [=](Expr e) {
    return spineOf(e).isCall(Prim::reduce) && stepsWrittenOut(e, HUGE_VAL) > unrolledSteps;
  };
  const Cut cut = cutOfColumns(form.nest.innermost(), 16);
  const std::int64_t columns = size.columns;
  double rows = 1;
  for (int i = 0; i < outer; i++) rows *= estimate(form.nest.loops[static_cast<std::size_t>(i)].length());
  // Vectors of a strip: of unknown rows few are filled, and few strips of much work are too few for all cores.
  const auto longestOf = [=, known = form.nest.innermost().constant().has_value()](std::int64_t lanes) -> std::int64_t {
    constexpr double enoughSteps = 1 << 15, enoughRows = 16;
    const std::int64_t most = known ? 64 : 8;
    if (rows >= enoughRows) return most;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(enoughSteps / (steps * static_cast<double>(lanes))), 1,
                                    most);
  };
  OperatorFamily family;
  family.name = "strips";
  family.meaning = "a strip of a row in vectors per work-item, padding where its loop begins and ends";
  family.forProcessors = true;
  family.derive = [=](Rewriting& r) {
    const Nat lanes = r.tunable("lanes", 2, cut.longest);
    constexpr std::int64_t most = 1 << 16;  // vectors of a strip
    const Nat vectors = r.tunable("vectors", 1, std::min((columns + 1) / 2, most));
    r.apply(canonical());
    if (cut.fill) r.apply(strategies::filledWindows(lanes * vectors, outer));
    r.apply(seq({canonical(), strategies::stripsInLanes(lanes, vectors, isLong, outer)}));
  };
  family.preferred = [=](const runtime::DeviceInfo& device) -> Config {
    const Tile t = stripOn(device, cut, size);
    const std::int64_t longest = longestOf(t.lanes), vectors = ceilDiv(columns, t.lanes),
                       strips = ceilDiv(vectors, longest);
    return {{"lanes", t.lanes}, {"vectors", cut.fill ? ceilDiv(vectors, strips) : largestDivisor(vectors, longest)}};
  };
  return withUsualDefaults(std::move(family));
}

// Whether this reduces rows, and all that neighbouring rows read of their elements lies side by side, or is the same.
bool neighboursReadClose(const Recognised& form) {
  if (!form.reduces || !form.input) return false;
  const auto strides = stridesOf(form.nest, *form.input);
  return std::ranges::all_of(strides, [](const auto& stride) { return stride == 0 || stride == 1; });
}

// Whether some of that lies side by side, and not all is the same.
bool neighboursLieTogether(const Recognised& form) {
  if (!neighboursReadClose(form)) return false;
  const auto strides = stridesOf(form.nest, *form.input);
  return std::ranges::count(strides, 1) > 0;
}

// Whether private memory holds the arrays that loops leave in each lane. On processors it is a stack of 8 MiB, which 64
// work-items of 16 lanes share, with room for some copies. Of a row that is written as a part of the result, no map
// needs memory, nor does what is written there.
bool keepsLittle(Expr body, bool isWritten = false) {
  constexpr std::int64_t mostBytes = 4096;
  Nat bytes = 0;
  Expr written = underLayouts(body);
  while (spineOf(written).isPrim(Prim::let)) written = underLayouts(spineOf(written).arguments[0].body());
  forEachTerm(body, [&](Expr e) {
    const Spine s = spineOf(e);
    const bool loop = e.isApply() && !e.type().isFunction() && s.head.isPrimitive() &&
                      (runsLoop(s.head) || strategies::isComputingMap(e));
    const bool isKept = loop && !(isWritten && (e == written || strategies::isComputingMap(e)));
    for (const Leaf& leaf : isKept ? leavesOf(e.type()) : std::vector<Leaf>()) {
      const Nat count = leaf.shape.empty() ? 0 : elementCount(leaf.shape);
      bytes = bytes + count * static_cast<std::int64_t>(info(leaf.scalar).bytes);
    }
  });
  return bytes.constant() && *bytes.constant() <= mostBytes;
}

// Whether an elementwise map of many elements in long rows reads its own element of every input, and these lie side by
// side. Where the number of elements is not known, it does not: the scalar kernel is a tenth as long.
bool readsInVectors(const Recognised& form) {
  constexpr std::int64_t shortest = 64, fewest = 1 << 14;
  if (form.nest.turned || form.nest.elements().constant().value_or(0) < fewest ||
      *form.nest.innermost().constant() < shortest)
    return false;
  const bool gathers = anyTerm(form.nest.body, [&](Expr e) { return spineOf(e).isCall(Prim::at); });
  const auto strides = stridesOf(form.nest, form.nest.loops.back().variable);
  return !gathers && std::ranges::all_of(strides, [](const auto& s) { return s == 1; });
}

// Whether each row may be computed in a lane of its own. Rows must give few values, and it must pay: neighbouring rows
// read what lies side by side or is the same, or they approximate functions and are short, or their reductions cannot
// be divided among lanes, or what they read is read again and again in steps that wait for each other.
bool neighboursAreInLanes(const Recognised& form) {
  constexpr std::int64_t most = 16;
  if (form.nest.loops.empty()) return false;
  Nat values = 1;
  for (const Leaf& leaf : leavesOf(form.nest.body.type())) values = values * elementCount(leaf.shape);
  const bool isShort = form.reduced && form.reduced->constant().value_or(most + 1) <= most;
  const Expr body = form.nest.body;
  bool pays = false;
  if (form.pattern == Pattern::rows)
    pays = neighboursReadClose(form) || (isShort && approximates(body)) || !reducesByOperations(body);
  if (form.pattern == Pattern::elementwise) pays = approximates(body) || readsInVectors(form);
  if (form.pattern == Pattern::other) pays = anyPrimitive(body, runsLoop) || approximates(body);
  const Expr lane = form.nest.loops.back().variable;
  const bool gathers = anyTerm(body, [&](Expr e) {
    const Spine s = spineOf(e);
    return s.isCall(Prim::at) && s.arguments[0].hasFree(lane);
  });
  pays = pays && (form.pattern == Pattern::elementwise || !gathers);
  return pays && keepsLittle(body) && values.constant() && *values.constant() <= most &&
         notInLanes(form.nest.innermost()).empty();
}

// Whether the rows are columns, of what is read and of the result.
bool isOfColumns(const Recognised& form) {
  if (!form.nest.turned || !form.nest.innermost().constant()) return false;
  const Type row = form.nest.body.type();
  if (!row.isArray() || !row.element().isScalar() || !keepsLittle(form.nest.body, !form.isFinished)) return false;
  const auto strides = stridesOf(form.nest, form.nest.loops.back().variable);
  return std::ranges::all_of(strides, [](const auto& s) { return s == 1; });
}

std::string notInVectors(const Recognised& form) {
  const Nat rows = form.nest.innermost();
  if (!rows.constant()) return isNotKnown(rows);
  const std::string refused = notInLanes(rows);
  if (!refused.empty() || *rows.constant() % 2 == 0) return refused;
  return fmt::format("no vector divides {} rows", rows.str());
}

}  // namespace

Families familiesOf(const Recognised& form) {
  Families families;
  const auto add = [&](const std::string& refused, auto made) {
    families.reason = refused;
    if (refused.empty()) families.all = made(form);
  };
  if (form.pattern == Pattern::product || form.pattern == Pattern::convolution) {
    add(notInTiles(form), productFamilies);
    // Few rows or columns do not pay for an order in which sums are not in lanes.
    const bool hasDots = hasDotProducts(form);
    if (hasDots)
      families.all.insert(isFewByMany(form) ? families.all.begin() : families.all.end(), dotProductFamily(form));
    if (!families.all.empty()) families.reason.clear();
    // On GPUs these come before others that are first there.
    if (notStaged(form).empty()) {
      const auto staged = stagedFamilies(form);
      families.all.insert(families.all.begin(), staged.begin(), staged.end());
    }
    if (hasDots && isOfFewSums(form) && form.nest.loops.size() <= 3 && reducesByOperations(form.nest.body))
      families.all.insert(families.all.begin(), sumsByGroups(form));
  }
  if (form.pattern == Pattern::stencil) {
    const auto& loops = form.nest.loops;
    const bool padded =
        std::ranges::any_of(loops, [](const auto& loop) { return anyPrimitive(loop.input, isPadding); });
    const bool isShort = stepsWrittenOut(form.nest.body) <= unrolledWindow &&
                         (!form.reduces || form.reduced->constant().value_or(unrolledWindow + 1) <= unrolledWindow);
    add(notInLanes(form.nest.innermost()), [&](const Recognised& stencil) {
      std::vector<OperatorFamily> all;
      if (isShort) all.push_back(stripsOfWindows(stencil));
      if (stencil.reduces) all.push_back(stencilFamilies(stencil).front());
      // Windows that are not reduced are too little work for a copy of their padded input.
      if (stencil.reduces || !padded) all.push_back(windowsInLanes(stencil));
      return all;
    });
  }
  if (isOfGroups(form)) families.all.push_back(reductionByGroups(form));
  const bool isRows = form.pattern == Pattern::rows;
  if (isRows && elementsLieTogether(form))
    add(notInRowSums(form), rowSumFamilies);
  else if (isRows && neighboursLieTogether(form))
    add(notInVectors(form), stencilFamilies);
  else if (isRows && usesItsReductions(form))
    add(notInRowSums(form), [](const Recognised& rows) { return std::vector{rowsByGroups(rows)}; });
  if (neighboursAreInLanes(form)) {
    families.all.push_back(windowsInLanes(form));
    families.reason.clear();
  } else if (isOfColumns(form)) {
    families.all.push_back(windowsInLanes(form, false));
    families.reason.clear();
  }
  families.all.push_back({defaultFamily, "the default mapping", {}});
  // What is the first choice on some devices is none on others: searches there begin with the rest.
  std::ranges::stable_partition(families.all, [](const OperatorFamily& f) { return !f.firstOn; });
  return families;
}

}  // namespace lift::detail::parts
