// Programs restated so that parts stand alone: sums of sums as one sum, loops in the order of products, products that a
// program computes within other loops by maps of their own, arrays that indices select as those, folds over arrays as
// iterations, and long sums in chunks.
#include <algorithm>
#include <functional>
#include <unordered_set>

#include "lift/build.hpp"
#include "lift/rewrite_check.hpp"
#include "lift/strategies.hpp"
#include "lift/terms.hpp"
#include "parts.hpp"
#include "restating.hpp"

namespace lift::detail::parts {
namespace {

using namespace rewrite;

// ---------------------------------------------------------------------------------------------- loops of products

enum class Kind : std::uint8_t { batch, rows, columns };  // of a loop: which operands depend on it

// The next step that brings a product's loops into the order batch, rows, columns: the rule, and how many maps below
// the term it applies. Nothing once they are in order.
std::optional<std::pair<std::string, int>> nextStep(const Recognised& form) {
  const auto& loops = form.nest.loops;
  if (loops.size() < 2) return std::nullopt;
  std::size_t ofOne = loops.size();  // the innermost loop of rows or columns gives the columns
  while (ofOne > 0 && form.dependsOn[0][ofOne - 1] == form.dependsOn[1][ofOne - 1]) ofOne--;
  if (ofOne == 0) return std::nullopt;
  const bool columnsAreFirst = form.dependsOn[0][ofOne - 1];
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < loops.size(); i++) {
    const bool columns = form.dependsOn[columnsAreFirst ? 0 : 1][i], rows = form.dependsOn[columnsAreFirst ? 1 : 0][i];
    kinds.push_back(columns == rows ? Kind::batch : columns ? Kind::columns : Kind::rows);
  }
  // The rule that interchanges a loop with the next, whose elements may be pairs of which one component is its.
  const auto interchange = [&](std::size_t i) -> const char* {
    const Expr inner = loops[i + 1].input, variable = loops[i].variable;
    if (!inner.hasFree(variable)) return "mapInterchange";
    const Spine pairs = spineOf(inner);
    if (!pairs.isPrim(Prim::zip) || pairs.arguments.size() != 2) return nullptr;
    if (!pairs.arguments[1].hasFree(variable)) return "mapMapZipLeft";
    return pairs.arguments[0].hasFree(variable) ? nullptr : "mapMapZipRight";
  };
  const auto step = [](const char* rule, std::size_t i) {
    return std::pair<std::string, int>(rule, static_cast<int>(i));
  };
  // Windows of a row in lanes: its rows are one product each.
  constexpr std::int64_t vector = 8;
  const auto columns = loops.back().length().constant();
  const bool inLanes = ofOne == loops.size() && columns && columnsLieTogether(form) && *columns % vector == 0;
  const auto last = loops.size() - 1;
  const auto rank = [&](std::size_t i) {  // the order that loops should have
    if (kinds[i] == Kind::batch) return 0;
    if (kinds[i] == Kind::rows) return 2;
    return inLanes && i < last ? 1 : 3;
  };
  for (std::size_t i = 0; i < last; i++)
    if (const char* rule = rank(i) > rank(i + 1) ? interchange(i) : nullptr) return step(rule, i);
  for (std::size_t i = 0; i < last; i++)
    if (kinds[i] == kinds[i + 1] && kinds[i] != Kind::batch && rank(i) == rank(i + 1) && rank(i) != 1)
      return step("mapFlattenInner", i);
  return std::nullopt;
}

// The maps of a nest under whatever moves their results, from the outermost.
std::vector<Path> nestPaths(Expr e) {
  std::vector<Path> maps;
  Path path;
  for (;;) {
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive() || s.arguments.empty()) return maps;
    if (isComputingMap(e)) {
      maps.push_back(path);
      path = path + toBody;
      e = s.arguments[0].body();
    } else if (movesData(s.head.prim())) {
      path.push_back(1);
      e = s.arguments.back();
    } else {
      return maps;
    }
  }
}

}  // namespace

Strategy productLoops() {
  return [](Expr e, Rewriting& r) -> std::optional<Expr> {
    constexpr int most = 16;
    for (int i = 0; i < most; i++) {
      const Recognised form = recognise(e);
      if (form.operands.empty() || !form.reduces) return e;
      const auto step = nextStep(form);
      if (!step) return e;
      const auto now = seq({strategies::below(step->second, strategies::outermost(use(step->first))),
                            normalise({"mapSplitOut"}), strategies::tidy()})(e, r);
      if (!now) return e;
      e = *now;
    }
    return e;
  };
}

Strategy columnsCopied() {
  return [](Expr e, Rewriting& r) -> std::optional<Expr> {
    const std::vector<Path> maps = nestPaths(e);
    if (maps.size() < 2) return std::nullopt;
    const Path columns = maps.back();
    const Expr map = partAt(e, columns), column = spineOf(map).arguments[0].parameter();
    std::optional<Expr> operand;
    const std::function<void(Expr)> find = [&](Expr x) {
      const Spine s = spineOf(x);
      const Spine in = s.isPrim(Prim::reduce) ? spineOf(s.arguments[2]) : s;
      if (s.isPrim(Prim::reduce) && in.isPrim(Prim::zip))
        for (const Expr a : in.arguments)
          if (a.hasFree(column)) operand = a;
      if (!operand && x.isApply())
        for (const Expr a : s.arguments) find(a);
    };
    find(spineOf(map).arguments[0].body());
    const auto place = operand ? pathOf(*operand, map) : std::nullopt;
    if (!place) return std::nullopt;
    const auto apart = at(columns, use(ruleAt("mapFission", *place)))(e, r);
    if (!apart) return std::nullopt;
    // Where the rest uses the column, too, it stays beside what is copied.
    const auto alone = at(columns, use("mapOfSecond"))(*apart, r);
    Path copied = columns + Path{1};
    if (!alone) copied = copied + Path{1};
    const auto now = at(copied, use("columnsFirst"))(alone ? *alone : *apart, r);
    if (!now) return std::nullopt;
    copied = copied + Path{1};
    const auto outside = lifted(*now, r, copied);
    if (!outside) return std::nullopt;
    const int rank = std::min<int>(3, static_cast<int>(shapeOf(partAt(*outside, copied).type()).size()));
    return at(copied, seq({use("keepAhead"), argument(strategies::copyInParallel(rank))}))(*outside, r);
  };
}

namespace {

// The first place that `accepts`, which is also told whether a loop runs it.
std::optional<Path> placeWhere(Expr e, const std::function<bool(Expr, bool inLoop)>& accepts) {
  std::optional<Path> place;
  const std::function<void(Expr, const Path&, bool)> find = [&](Expr term, const Path& path, bool inLoop) {
    if (place) return;
    if (term.isLambda()) return find(term.body(), path + Path{0}, inLoop);
    if (!term.isApply()) return;
    if (accepts(term, inLoop)) return void(place = path);
    const Spine s = spineOf(term);
    const bool runsOnce = s.isPrim(Prim::let) || !s.head.isPrimitive() || isIteration(s.head.prim());
    for (std::size_t i = 0; i < s.arguments.size(); i++)
      find(s.arguments[i], path + argumentPath(s, i), inLoop || (!runsOnce && s.arguments[i].isLambda()));
  };
  find(e, {}, false);
  return place;
}

// A kernel cannot end inside of a loop: there toGlobal asks for nothing.
Strategy keptOutsideLoops() {
  return [](Expr e, Rewriting& r) -> std::optional<Expr> {
    const auto isInLoop = [](Expr term, bool inLoop) { return inLoop && spineOf(term).isPrim(Prim::toGlobal); };
    while (const auto place = placeWhere(e, isInLoop)) {
      const auto now = at(*place, use("keepNot"))(e, r);
      if (!now) return std::nullopt;
      e = *now;
    }
    return e;
  };
}

// The chosen strategies, wherever loops run a term or none does.
Strategy wherever(bool inLoops, const std::function<std::optional<Strategy>(Expr)>& chosen) {
  return [=](Expr e, Rewriting& r) -> std::optional<Expr> {
    std::unordered_set<Expr> refused;
    bool any = false;
    const auto accepts = [&](Expr term, bool inLoop) {
      return inLoop == inLoops && refused.count(term) == 0 && chosen(term).has_value();
    };
    while (const auto place = placeWhere(e, accepts)) {
      const Expr term = partAt(e, *place);
      if (const auto now = at(*place, *chosen(term))(e, r)) {
        e = *now;
        any = true;
      } else {
        refused.insert(term);
      }
    }
    return any ? std::optional(e) : std::nullopt;
  };
}

}  // namespace

Strategy outsideLoops(const std::function<std::optional<Strategy>(Expr)>& chosen) { return wherever(false, chosen); }

Strategy sumsTogether() {
  // What is computed of joined elements is computed once they are joined.
  const auto ofJoined = [](Expr e) {
    const Spine s = spineOf(e);
    return s.isPrim(Prim::reduce) && isLoop(s) && spineOf(s.arguments.back()).isPrim(Prim::join);
  };
  return seq({keptOutsideLoops(), strategies::fused(), attempt(everywhere(use("factorsOutOfSum"))),
              normalise({"reduceOfReductions", "reduceFlatten", "joinMapZip"}),
              attempt(everywhere(when(ofJoined, argument(normalise({"joinMap", "joinMapZip"}))))),
              strategies::fused()});
}

// Outer loops over indices as maps, as those over elements are; but not those over keys, which stay as they are for the
// default mapping.
Strategy indicesAsElements() {
  return [](Expr e, Rewriting& r) -> std::optional<Expr> {
    const std::function<std::optional<Expr>(Expr)> walk = [&](Expr term) -> std::optional<Expr> {
      const Spine s = spineOf(term);
      if (isResultLayout(s, Crops::yes)) return argument([&](Expr inner, Rewriting&) { return walk(inner); })(term, r);
      if (!s.isPrim(Prim::generate) || !s.arguments[0].isLambda() || onlyMovesData(s.arguments[0])) return std::nullopt;
      const auto isOverKeys = [](Expr map) { return applyRule(ruleNamed("mapByKey"), map).term.has_value(); };
      const Strategy inside = function(body([&](Expr inner, Rewriting&) { return walk(inner); }));
      return seq({use("generateAsMap"), when([&](Expr map) { return !isOverKeys(map); }, attempt(inside))})(term, r);
    };
    return walk(e);
  };
}

Strategy canonical() {
  // A state whose elements go on by themselves is one reduction for each element, unless registers hold it.
  const auto hasLongState = [](Expr e) {
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::reduce) || !e.type().isArray() || !s.arguments[1].isLambda()) return false;
    const auto length = e.type().length().constant();
    return (!length || *length > registerElements) && letsOf(s.arguments[1].body()).bound.empty();
  };
  return seq({sumsTogether(), attempt(everywhere(when(hasLongState, seq({use("reduceElements"), sumsTogether()})))),
              productLoops(), attempt(indicesAsElements())});
}

namespace {

// zip2D(xs, ys) and its like name the tuple of their arrays: each array gets a name of its own, and none where it is
// read once outside of loops.
Strategy tuplesOfArraysApart() {
  return [](Expr e, Rewriting& r) -> std::optional<Expr> {
    const Spine s = spineOf(e);
    if (!s.isCall(Prim::let) || !holdsArrays(s.arguments[1].type())) return std::nullopt;
    const Spine arrays = spineOf(s.arguments[1]);
    if (!arrays.isPrim(Prim::tuple)) return std::nullopt;
    std::optional<Expr> apart = use("letTuple")(e, r);
    for (std::size_t i = arrays.arguments.size(); apart && i-- > 0;) {
      Path name;
      for (std::size_t k = 0; k < i; k++) name = name + Path{0, 1, 0};
      apart = attempt(at(name, use("letInline")))(*apart, r);
    }
    return apart;
  };
}

// Loops over indices that select elements, in their own or in inner loops, as loops over those elements.
Strategy arraysOfIndices() {
  const Strategy elements =
      orElse(use("elementsOfIndices"), orElse(seq({use("mapOfIndices"), use("elementsOfIndices")}),
                                              orElse(use("elementsBesideIndices"), use("reducedBesideIndices"))));
  return seq({attempt(normalise({"idAway", "letInline", "columnOfRows"})), everywhere(elements)});
}

// A rule for loops over indices wherever it applies, but not in steps whose state a work-item keeps, where an element
// is read no faster by other means; perhaps not in what is reduced, either.
Strategy rulesOfIndices(const std::string& rule, bool inReductions) {
  const auto isKept = [](Type state) {
    constexpr double mostOfItem = 1024;
    double elements = 0;
    for (const Leaf& leaf : leavesOf(state)) {
      double all = 1;
      for (const Nat n : leaf.shape) all *= estimate(n);
      elements += all;
    }
    return elements <= mostOfItem;
  };
  return [=](Expr e, Rewriting& r) -> std::optional<Expr> {
    bool any = false;
    const std::function<std::optional<Expr>(Expr)> walk = [&](Expr term) -> std::optional<Expr> {
      if (const auto now = spineOf(term).isPrim(Prim::generate) ? use(rule)(term, r) : std::nullopt) {
        any = true;
        term = *now;
      }
      const Spine s = spineOf(term);
      const bool folds = s.head.isPrimitive() && isLoop(s) && !s.isPrim(Prim::map);
      const bool iterates =
          s.head.isPrimitive() && isIteration(s.head.prim()) && !s.arguments.empty() && !s.arguments.back().isLambda();
      if (folds && !inReductions) return term;
      if (!(folds || iterates) || !isKept(s.arguments[folds ? 0 : s.arguments.size() - 1].type()))
        return rewrite::all([&](Expr child, Rewriting&) { return walk(child); })(term, r);
      for (std::size_t i = 0; i < s.arguments.size(); i++)
        if (!s.arguments[i].isLambda())
          term = *at(argumentPath(s, i), [&](Expr child, Rewriting&) { return walk(child); })(term, r);
      return term;
    };
    const auto now = walk(e);
    return any ? now : std::nullopt;
  };
}

// Sums of arrays, planes or rows that are added up, element by element: what is added is computed where the sum of its
// element is. Not where an array to be added has to be computed as a whole.
Strategy sumsOfElements() {
  const auto addsColumns = [](Expr e) {
    const Spine arrays = spineOf(spineOf(e).arguments[1]);
    const std::vector<Expr> all = arrays.isPrim(Prim::zip) ? arrays.arguments : std::vector{spineOf(e).arguments[1]};
    bool varies = false;
    for (const Expr columns : all) {
      const Spine transposed = spineOf(columns);
      if (!transposed.isPrim(Prim::transpose)) continue;  // what the sum starts with
      const Spine rows = spineOf(transposed.arguments[0]);
      if (!rows.isPrim(Prim::map)) return false;
      if (!onlyMovesData(rows.arguments[0])) return false;
      varies = varies || rows.arguments[0].body().hasFree(rows.arguments[0].parameter());
    }
    return varies;
  };
  const Strategy below = [](Expr e, Rewriting& r) {
    return e.type().element().isArray() ? function(body(sumsOfElements()))(e, r) : std::optional(e);
  };
  return seq({use("reduceElementsOfMaps"), when(addsColumns, identity()), below});
}

// The same of all that registers do not hold.
Strategy sumsOfLargeArrays() {
  const auto isLarge = [](Expr e) {
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::reduce) || !e.type().isArray() || !s.arguments[1].isLambda()) return false;
    double elements = 1;
    for (Type t = e.type(); t.isArray(); t = t.element()) elements *= estimate(t.length());
    return elements > static_cast<double>(registerElements) && letsOf(s.arguments[1].body()).bound.empty();
  };
  return everywhere(when(isLarge, sumsOfElements()));
}

// Indices of reductions, and of what has reductions, that are rows and columns in one: the quotient and the remainder.
Strategy digitsApart() {
  const auto isReduced = [](Expr e) {
    const Spine s = spineOf(e);
    return s.isPrim(Prim::reduce) && isLoop(s) && spineOf(s.arguments[2]).isPrim(Prim::generate);
  };
  const auto reduces = [](Expr e) {
    return spineOf(e).isPrim(Prim::generate) && anyPrimitive(e, [](Expr p) { return p.prim() == Prim::reduce; });
  };
  const Strategy rows = seq({argument(use("digitsOfIndices")), use("reduceJoin")});
  return everywhere(orElse(when(isReduced, seq({rows, repeat(rows)})), when(reduces, use("digitsOfIndices"))));
}

// Reductions of few columns, within loops, of rows whose elements share what is costly, as the components of a force
// do: one reduction of rows.
Strategy columnsTogether() {
  const auto sharesWork = [](Expr row) {
    return std::ranges::any_of(letsOf(row).bound, [](const auto& bound) {
      return anyPrimitive(bound.second, runsLoop) || approximates(bound.second);
    });
  };
  const auto chosen = [sharesWork](Expr e) -> std::optional<Strategy> {
    constexpr std::int64_t most = 16;
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::map) || !e.type().isArray() || e.type().length().constant().value_or(most + 1) > most)
      return std::nullopt;
    const Spine columns = spineOf(s.arguments[1]);
    const Spine rows = columns.isPrim(Prim::transpose) ? spineOf(columns.arguments[0]) : columns;
    const bool areRows = rows.isPrim(Prim::map) && rows.arguments[0].isLambda();
    return areRows && sharesWork(rows.arguments[0].body()) ? std::optional(use("reduceRows")) : std::nullopt;
  };
  return wherever(true, chosen);
}

// Where what a reduction computes of its element alone, apart from the accumulator, is worth it: the largest such term
// of register type.
std::optional<Path> elementWorth(const Spine& reduction, const std::function<bool(Expr)>& isWorth) {
  const Expr f = reduction.arguments[1];
  std::optional<Path> found;
  const std::function<void(Expr, const Path&, std::vector<Expr>)> find = [&](Expr e, const Path& path,
                                                                             std::vector<Expr> binders) {
    if (found || !e.hasFree(f.parameter())) return;
    const Expr rest =
        replaceTerms(e, {{build::get(f.parameter(), 1), Expr::variable("x", reduction.arguments[2].type().element())}});
    const bool isOfElement =
        !rest.hasFree(f.parameter()) && std::ranges::none_of(binders, [&](Expr b) { return e.hasFree(b); });
    if (isOfElement && e.type().isRegister()) {
      if (isWorth(e)) found = path;
      return;
    }
    if (!e.isApply()) return;
    const Spine s = spineOf(e);
    if (s.head.isPrimitive() && (runsLoop(s.head) || s.isPrim(Prim::map) || s.isPrim(Prim::ifThenElse))) return;
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      const Expr a = s.arguments[i];
      if (!a.isLambda()) {
        find(a, path + argumentPath(s, i), binders);
      } else {
        binders.push_back(a.parameter());
        find(a.body(), path + argumentPath(s, i) + Path{0}, binders);
        binders.pop_back();
      }
    }
  };
  find(f.body(), toBody, {});
  return found;
}

// Reductions of tuples over indices: what a step reads at its index alone, and computes of it, by maps of their own, as
// sums have them.
Strategy readsApart() {
  const auto reads = [](Expr e) { return anyTerm(e, [](Expr x) { return spineOf(x).isCall(Prim::at); }); };
  const Strategy apart = [=](Expr e, Rewriting& r) -> std::optional<Expr> {
    constexpr int most = 4;
    const Spine s = spineOf(e);
    if (!s.isCall(Prim::reduce) || !e.type().isTuple() || !s.arguments[1].isLambda() ||
        !build::isIndices(s.arguments[2]))
      return std::nullopt;
    std::optional<Expr> now;
    for (int i = 0; i < most; i++) {
      const auto place = elementWorth(spineOf(now.value_or(e)), reads);
      if (!place) break;
      const auto next =
          seq({use(ruleAt("reduceFission", *place)), at(Path{1, 1}, attempt(use("mapOfFirst")))})(now.value_or(e), r);
      if (!next) break;
      now = next;
    }
    return now;
  };
  const auto isOfTuples = [](Expr e) { return spineOf(e).isCall(Prim::reduce) && e.type().isTuple(); };
  return seq({attempt(normalise({"idAway"})), attempt(everywhere(when(isOfTuples, repeat(use("digitsOfReduced"))))),
              attempt(normalise({"letInline"})), everywhere(apart)});
}

// Where an element of a long reduction is computed in loops of its own.
std::optional<Path> costlyElementIn(const Spine& reduction) {
  constexpr double fewElements = 256, shortest = 16;
  if (estimate(reduction.arguments[2].type().length()) < fewElements) return std::nullopt;
  return elementWorth(reduction, [](Expr e) { return anyPrimitive(e, runsLoop) && stepsWrittenOut(e) >= shortest; });
}

// Whether a term is computed of several elements of windows.
bool isStencil(Expr e) {
  constexpr std::size_t fewestReads = 4;
  std::unordered_set<Expr> reads;
  forEachTerm(e, [&](Expr x) {
    if (spineOf(x).isCall(Prim::at) && x.type().isRegister()) reads.insert(x);
  });
  return reads.size() >= fewestReads;
}

// The stencil that a reduction, or a map of reductions, reads: its map, or what the reduction computes of an element.
std::optional<Path> reducedStencilIn(Expr term) {
  constexpr double fewElements = 32;
  const Spine s = spineOf(term);
  if (!isLoop(s) || s.isPrim(Prim::scan) || !functionOf(s).isLambda() || !anyPrimitive(term, isSlide))
    return std::nullopt;
  const Expr x = functionOf(s).parameter();
  const bool reduces = s.isPrim(Prim::reduce);
  const auto reducesElement = [&](Expr e) {
    const Spine r = spineOf(e);
    return r.isPrim(Prim::reduce) && r.arguments.size() == 3 && underLayouts(r.arguments[2]) == x;
  };
  if (!reduces && !anyTerm(functionOf(s).body(), reducesElement)) return std::nullopt;
  Type rows = s.arguments.back().type();
  if (!reduces) rows = rows.element();
  if (!rows.isArray() || estimate(rows.length()) < fewElements) return std::nullopt;
  Path path = argumentPath(s, s.arguments.size() - 1);
  Expr map = s.arguments.back();
  for (; isResultLayout(spineOf(map), Crops::no); map = spineOf(map).arguments.back()) path.push_back(1);
  if (isComputingMap(map) && isStencil(map)) return path;
  return reduces ? elementWorth(s, isStencil) : std::nullopt;
}

// Stencils that are reduced, by rows or as a whole, as arrays in memory: lanes take neighbouring windows. Not where an
// element of the stencil is reduced several times.
Strategy stencilsApart(const Program& program) {
  double given = 0;
  for (const Expr p : program.parameters)
    for (const Leaf& leaf : leavesOf(p.type())) given = std::max(given, estimate(elementCount(leaf.shape)));
  return [given](Expr e, Rewriting& r) -> std::optional<Expr> {
    bool any = false;
    std::unordered_set<Expr> seen;
    const auto isNew = [&](Expr term, bool) { return !seen.contains(term) && reducedStencilIn(term); };
    while (const auto place = placeWhere(e, isNew)) {
      const Expr term = partAt(e, *place);
      seen.insert(term);
      Path stencil = *place + *reducedStencilIn(term);
      Rewriting tried = r;
      const auto apart = lifted(e, tried, stencil);
      double elements = 1;
      if (apart)
        for (const Nat n : shapeOf(partAt(*apart, stencil).type())) elements *= estimate(n);
      if (!apart || elements > 2 * given) continue;
      const Strategy kept = seq(
          {normalise({"mapFusion", "zipJoin", "mapJoin", "mapJoinOut"}), use("keepAhead"), normalise({"keptJoin"})});
      if (const auto now = seq({at(stencil, kept), normalise({"reduceOfSecond"})})(*apart, tried)) {
        r = tried;
        e = *now;
        any = true;
      }
    }
    return any ? std::optional(e) : std::nullopt;
  };
}

// What is reduced as an array in memory where an element takes loops: lanes and work-items compute that, and a
// reduction of numbers is left.
Strategy elementsApart() {
  const auto chosen = [](Expr e) -> std::optional<Strategy> {
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::reduce) || !isLoop(s) || !s.arguments[1].isLambda()) return std::nullopt;
    const auto place = costlyElementIn(s);
    if (!place) return std::nullopt;
    const Strategy ofWhatItNeeds = attempt(orElse(use("mapOfFirst"), use("mapOfSecond")));
    return seq({use(ruleAt("reduceFission", *place)), at(Path{1, 1}, seq({ofWhatItNeeds, use("keepAhead")}))});
  };
  return outsideLoops(chosen);
}

// Within loops, rows that are computed in order, where they are read: a work-item that has a row computes it once.
Strategy rowsWhereRead() {
  const auto chosen = [](Expr e) -> std::optional<Strategy> {
    const Spine s = spineOf(e), zipped = s.isCall(Prim::map) ? spineOf(s.arguments[1]) : s;
    if (!zipped.isPrim(Prim::zip)) return std::nullopt;
    const bool any = std::ranges::any_of(zipped.arguments, [](Expr array) {
      const Spine rows = spineOf(array);
      return rows.isCall(Prim::map) && isComputedInOrder(rows.arguments[0].body());
    });
    return any ? std::optional(use("mapFusionOfZipped")) : std::nullopt;
  };
  return wherever(true, chosen);
}

// What a loop would compute again for each element, in loops of its own, has a name in front of it. What depends on
// nothing within the program is a part.
Strategy sharedNamed(const Program& program) {
  const auto pays = [parameters =
                         std::unordered_set<Expr>(program.parameters.begin(), program.parameters.end())](Expr e) {
    constexpr std::int64_t fewest = 8;
    const auto& free = e.freeVariables();
    if (!e.type().isRegister() || std::ranges::all_of(free, [&](Expr v) { return parameters.contains(v); }))
      return false;
    return anyTerm(e, [&](Expr x) {
      const Spine s = spineOf(x);
      return s.head.isPrimitive() && takesSteps(s.head) && x.type().isRegister() && isLoop(s) &&
             s.arguments.back().type().length().constant().value_or(fewest) >= fewest;
    });
  };
  return [pays](Expr e, Rewriting& r) -> std::optional<Expr> {
    const Expr now = *strategies::invariantsNamed(pays)(e, r);
    return now == e ? std::nullopt : std::optional(now);
  };
}

// Reductions and scans of arrays whose steps are launches, as iterations: what a step computes are parts.
Strategy stepsApart() {
  const auto toSteps = [](Expr e) -> std::optional<Strategy> {
    const Spine s = spineOf(e);
    if (!foldsByLaunches(e) || !anyPrimitive(s.arguments[1], runsLoop)) return std::nullopt;
    return use(s.isPrim(Prim::reduce) ? "reduceToSteps"
               : s.isPrim(Prim::scan) ? "scanToSteps"
                                      : "scanExclusiveToSteps");
  };
  return seq({outsideLoops(toSteps), strategies::fused()});
}

// The innermost name of a number around the place, without which what stands there cannot be lifted, in its place: of
// let m = maximum(s) in let e = map(fun x => exp(x - m), s) in … the name m.
Strategy nameUnfolded(const Path& place) {
  return [place](Expr e, Rewriting& r) -> std::optional<Expr> {
    const Expr term = partAt(e, place);
    for (Path above = place; !above.empty();) {
      above.pop_back();
      const Spine s = spineOf(partAt(e, above));
      if (s.isCall(Prim::let) && s.arguments[1].type().isRegister() && isAbove(above + toBody, place) &&
          term.hasFree(s.arguments[0].parameter()))
        return at(above, use("letUnfold"))(e, r);
    }
    return std::nullopt;
  };
}

}  // namespace

Program restated(const Program& program, bool inOrder) {
  constexpr int most = 32;  // products and operands that are lifted
  Program eta = program;
  eta.body = etaLong(eta.body);
  Rewriting columns(eta);
  bool changed = columns.tryApply(everywhere(tuplesOfArraysApart()));
  changed |= columns.tryApply(everywhere(use("windowsOfColumns")));
  if (columns.tryApply(seq({attempt(sumsTogether()), rowsWhereRead()}))) changed = true;
  const Program start = changed ? columns.program() : program;
  Rewriting r(changed ? start : eta);
  // A name for a constant, or for other names, would hide that what stands on both sides of it belongs together.
  const auto namesConstant = [](Expr e) {
    const Spine s = spineOf(e);
    if (!s.isCall(Prim::let) || !s.arguments[1].type().isRegister()) return false;
    return onlyMovesData(s.arguments[1]) ||
           (s.arguments[1].freeVariables().empty() && !anyPrimitive(s.arguments[1], runsLoop));
  };
  r.apply(attempt(everywhere(when(namesConstant, use("letUnfold")))));
  const bool tabled = r.tryApply(strategies::tablesOfIndices(approximates));
  r.tryApply(readsApart());
  bool indexed = r.tryApply(digitsApart());
  for (const char* rule : {"paddingOfIndices", "bordersOfIndices"}) r.tryApply(rulesOfIndices(rule, true));
  r.tryApply(rulesOfIndices("windowsBesideIndices", false));
  r.tryApply(everywhere(use("windowsOfIndices")));
  indexed |= r.tryApply(arraysOfIndices());
  r.apply(sumsTogether());
  if (r.tryApply(arraysOfIndices())) {
    indexed = true;
    r.apply(sumsTogether());
  }
  const bool apart = r.tryApply(sumsOfLargeArrays());
  if (apart) r.apply(sumsTogether());
  bool outside = r.tryApply(loopsOutside(Prim::iterate, "mapIterate"));
  if (outside) r.apply(sumsTogether());
  // After that step a product may stand alone that stood within other loops before.
  const bool alone = placeToLift(etaLong(start.body)) && !placeToLift(r.program().body);
  int lifts = 0;
  const auto liftProducts = [&] {
    for (bool more = true; more && lifts < most; lifts += more) {
      const auto found = placeToLift(r.program().body);
      const Strategy lift = [&](Expr e, Rewriting& rewriting) {
        Path place = *found;
        const auto now = lifted(e, rewriting, place);
        return place == *found ? std::nullopt : now;
      };
      more = found && (r.tryApply(lift) || r.tryApply(nameUnfolded(*found)));
      if (more) r.apply(sumsTogether());
    }
    // Arrays of which only a part was read, which is lifted now: left there, their windows would look like a stencil's.
    if (lifts > 0) r.tryApply(normalise({"mapOfUsed", "mapFirst", "mapSecond"}));
  };
  liftProducts();
  if (r.tryApply(loopsOutside(Prim::reduce, "mapReduce"))) {
    outside = true;
    r.apply(sumsTogether());
  }
  const bool together = r.tryApply(columnsTogether());
  const bool stepped = r.tryApply(stepsApart());
  if (stepped) liftProducts();
  const bool named = r.tryApply(sharedNamed(program));
  bool elements = r.tryApply(elementsApart());
  elements |= r.tryApply(stencilsApart(program));
  if (elements) r.apply(sumsTogether());
  bool chunked = false;
  if (!inOrder)
    for (const Strategy& inChunks : {deepProductsInChunks(), columnsInChunks()}) chunked |= r.tryApply(inChunks);
  const bool isRestated = lifts > 0 || tabled || indexed || alone || apart || outside || together || stepped || named ||
                          elements || chunked;
  return !isRestated || (inOrder && roundingRule(r.derivation())) ? start : r.program();
}

}  // namespace lift::detail::parts
