// Programs restated so that parts stand alone: sums of sums as one sum, loops in the order of products, products that a
// program computes within other loops by maps of their own, arrays that indices select as those, folds over arrays as
// iterations, and long sums in chunks.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "lift/build.hpp"
#include "lift/integers.hpp"
#include "lift/rewrite_check.hpp"
#include "lift/strategies.hpp"
#include "lift/terms.hpp"
#include "part_tiles.hpp"
#include "parts.hpp"

namespace lift::detail::parts {
namespace {

using namespace rewrite;

const Path toBody = {0, 1, 0};  // of a map or a reduction: the body of its function

bool isLoop(const Spine& s) {
  const bool folds = s.isPrim(Prim::reduce) || s.isPrim(Prim::scan) || s.isPrim(Prim::scanExclusive);
  return (s.isPrim(Prim::map) && s.arguments.size() == 2) || (folds && s.arguments.size() == 3);
}

// The function of a loop, and what it runs over.
Expr functionOf(const Spine& loop) { return loop.arguments[loop.arguments.size() - 2]; }

// The applications of map and reduce whose function the place is in, from the outermost.
std::vector<Path> loopsAround(Expr e, const Path& place) {
  std::vector<Path> loops;
  for (std::size_t n = 0; n + toBody.size() <= place.size(); n++) {
    const Path here(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(n));
    if (isLoop(spineOf(partAt(e, here))) && isAbove(here + toBody, place)) loops.push_back(here);
  }
  return loops;
}

// The part at `place` by maps of its own, outside of all loops whose elements it depends on; `place` is where it is
// then.
std::optional<Expr> lifted(Expr e, Rewriting& r, Path& place) {
  const std::vector<Path> loops = loopsAround(e, place);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const Spine s = spineOf(partAt(e, *loop));
    if (!partAt(e, place).hasFree(functionOf(s).parameter())) continue;
    std::string rule = s.isPrim(Prim::map) ? "mapFission" : "reduceFission";
    rule += '<';
    for (auto child = place.begin() + static_cast<std::ptrdiff_t>(loop->size()); child != place.end(); ++child)
      rule += static_cast<char>('0' + *child);
    const auto now = at(*loop, use(rule + ">"))(e, r);
    if (!now) return std::nullopt;
    place = *loop + Path{1, 1};  // of zip(what the loop runs over, the part's map)
    e = *attempt(at(place, orElse(use("mapOfFirst"), use("mapOfSecond"))))(*now, r);  // of what it needs alone
  }
  return e;
}

// What stands around a term: loops and names, from the outermost. Names outside of all loops are as good as inputs.
struct Binder {
  Expr variable;  // of a reduction: accumulator and element
  Expr value;     // a name's; what a loop runs over
  Path place;     // of the loop or the let
  bool isLoop = false;

  // Whether the term needs what stands in the accumulator of a reduction.
  bool accumulates(Expr term) const {
    if (!isLoop || variable.type() == value.type().element()) return false;
    const Expr element = build::get(variable, 1);
    return replaceTerms(term, {{element, Expr::variable("x", element.type())}}).hasFree(variable);
  }

  // Of a map over arrays that are zipped: those whose elements the term needs, where it does not need all.
  std::optional<std::vector<Expr>> arraysOf(Expr term) const {
    const Spine zipped = spineOf(value);
    if (!isLoop || !zipped.isPrim(Prim::zip) || variable.type() != value.type().element()) return std::nullopt;
    std::vector<Expr> elements, arrays;
    std::unordered_map<Expr, Expr> names;
    for (std::size_t i = 0; i < zipped.arguments.size(); i++) {
      const Expr element = build::get(variable, i);
      elements.push_back(Expr::variable("x", element.type()));
      names.emplace(element, elements.back());
    }
    const Expr named = replaceTerms(term, names);
    if (named.hasFree(variable)) return std::nullopt;
    for (std::size_t i = 0; i < elements.size(); i++)
      if (named.hasFree(elements[i])) arrays.push_back(zipped.arguments[i]);
    return arrays.size() < elements.size() ? std::optional(arrays) : std::nullopt;
  }
};

// A reduction of products that is worth a family, and what has to be lifted out before it stands alone.
class Search {
 public:
  explicit Search(Expr program) : program_(program) { visit(program, {}); }
  const std::optional<Path>& found() const { return found_; }

 private:
  void visit(Expr e, const Path& path) {
    if (found_) return;
    if (e.is(Expr::Form::lambda)) {  // of no loop and no let: what is bound is not known
      return scoped({e.parameter(), e, path, false}, true, [&] { visit(e.body(), path + Path{0}); });
    }
    if (!e.is(Expr::Form::apply)) return;
    const Spine s = spineOf(e);
    if (s.head.is(Expr::Form::primitive) && isIteration(s.head.prim())) {  // a step is a program of its own
      std::vector<Binder> around;
      std::swap(around, around_);
      for (std::size_t i = 0; i < s.arguments.size(); i++)
        if (around.empty() && s.arguments[i].is(Expr::Form::lambda))
          visit(s.arguments[i].body(), path + argumentPath(s, i) + Path{0});
      std::swap(around, around_);
      if (!s.arguments.back().is(Expr::Form::lambda))
        visit(s.arguments.back(), path + argumentPath(s, s.arguments.size() - 1));
      return;
    }
    const bool loop = isLoop(s), binds = loop || (s.isPrim(Prim::let) && s.arguments.size() == 2);
    if (binds && functionOf(s).is(Expr::Form::lambda)) {
      if (!s.isPrim(Prim::map) && loop) visit(s.arguments[0], path + argumentPath(s, 0));
      visit(s.arguments.back(), path + Path{1});
      const Binder binder{functionOf(s).parameter(), s.arguments.back(), path, loop};
      scoped(binder, loop || !around_.empty(), [&] { visit(functionOf(s).body(), path + toBody); });
      if (!found_ && s.isPrim(Prim::reduce)) examine(s, path);
      if (!found_ && !loop) examineName(s.arguments[1], path + Path{1});
      return;
    }
    if (s.isPrim(Prim::generate)) examineIndexed(e, path);
    if (found_) return;
    for (std::size_t i = 0; i < s.arguments.size(); i++) visit(s.arguments[i], path + argumentPath(s, i));
    if (!found_ && s.isPrim(Prim::reduce)) examine(s, path);
    if (!found_ && s.isPrim(Prim::join)) examineRows(s.arguments[0], path + Path{1});
  }

  template <class F>
  void scoped(const Binder& binder, bool counts, F&& f) {
    if (counts) around_.push_back(binder);
    f();
    if (counts) around_.pop_back();
  }

  // The binders that a term depends on, by way of names and what loops run over, too; nothing where one is of neither,
  // or an accumulator.
  std::optional<std::vector<bool>> dependence(Expr e) const {
    std::vector<bool> on(around_.size());
    const std::function<bool(Expr, std::size_t)> mark = [&](Expr term, std::size_t end) {
      for (std::size_t i = end; i-- > 0;) {
        const Binder& b = around_[i];
        if (!term.hasFree(b.variable)) continue;
        if (b.value.is(Expr::Form::lambda) || b.accumulates(term)) return false;
        if (const auto arrays = b.arraysOf(term)) {
          on[i] = true;
          if (!std::ranges::all_of(*arrays, [&](Expr a) { return mark(a, i); })) return false;
        } else if (!on[i]) {
          on[i] = true;
          if (!mark(b.value, i)) return false;
        }
      }
      return true;
    };
    return mark(e, around_.size()) ? std::optional(on) : std::nullopt;
  }

  // A product of few elements is as well computed where it is, and one of very many does not fit into memory.
  bool isWorth(const std::vector<bool>& a, const std::vector<bool>& b, Nat reduced) const {
    constexpr double enough = 1 << 17, enoughReduced = 4, most = 1 << 27;
    double rows = 1, columns = 1, elements = 1,
           work = reduced.constant() ? static_cast<double>(*reduced.constant()) : 0;
    if (work < enoughReduced) return false;
    for (std::size_t i = 0; i < around_.size(); i++) {
      if (!around_[i].isLoop || !(a[i] || b[i])) continue;
      const auto length = around_[i].value.type().length().constant();
      if (!length) return false;
      work *= static_cast<double>(*length);
      elements *= static_cast<double>(*length);
      if (!b[i]) rows *= static_cast<double>(*length);
      if (!a[i]) columns *= static_cast<double>(*length);
    }
    return rows >= 4 && columns >= 4 && work >= enough && elements <= most;
  }

  // The first array below what moves data that is computed: a product would compute it again for each of its rows or
  // columns.
  static std::optional<Path> computedIn(Expr e) {
    Path path;
    for (;;) {
      if (!e.is(Expr::Form::apply) || onlyMovesData(e)) return std::nullopt;
      const Spine s = spineOf(e);
      if (!s.head.is(Expr::Form::primitive)) return std::nullopt;
      const bool layout = isInvertibleLayout(s.head.prim()) || isPadding(s.head) || isCrop(s.head.prim()) ||
                          s.isPrim(Prim::slide) || s.isPrim(Prim::slideStrict) ||
                          (s.isPrim(Prim::map) && !isComputingMap(e));
      if (!layout)
        return isComputingMap(e) || (e.type().isArray() && anyPrimitive(e, runsLoop)) ? std::optional(path)
                                                                                      : std::nullopt;
      path.push_back(1);
      e = s.arguments.back();
    }
  }

  // An array with a name within loops, too large for a work-item's memory, each element of which takes a loop: it would
  // be computed again wherever an element is read.
  void examineName(Expr value, const Path& path) {
    constexpr double mostOfItem = 4096;
    if (value.type().isArray() && anyPrimitive(value, runsLoop)) liftLarge(value, path, mostOfItem);
  }

  // Joined rows each of which takes a loop for all of its elements: it would run for each of them.
  void examineRows(Expr joined, const Path& path) {
    constexpr double few = 256;
    if (!isComputingMap(joined)) return;
    const Spine row = spineOf(underLayouts(spineOf(joined).arguments[0].body()));
    if (row.isPrim(Prim::let) && row.arguments.size() == 2 && anyPrimitive(row.arguments[1], runsLoop))
      liftLarge(joined, path, few);
  }

  // An array that depends on loops around, and has more elements for each of their iterations.
  void liftLarge(Expr array, const Path& path, double few) {
    constexpr double most = 1 << 27;
    const auto on = dependence(array);
    if (!on || std::ranges::find(*on, true) == on->end()) return;
    const std::vector<Nat> shape = shapeOf(array.type());
    const bool known = std::ranges::all_of(shape, [](Nat n) { return n.constant().has_value(); });
    double elements = 1, all = 1;
    for (const Nat n : shape) elements *= estimate(n);
    for (std::size_t i = 0; i < around_.size(); i++) {
      if (!(*on)[i]) continue;
      if (!around_[i].isLoop) return;
      all *= estimate(around_[i].value.type().length());
    }
    if (known && elements > few && elements * all <= most) lift(path);
  }

  void examine(const Spine& reduction, const Path& path) {
    const Spine operands = spineOf(reduction.arguments[2]);
    if (!operands.isPrim(Prim::zip) || operands.arguments.size() != 2 || !reduction.arguments[0].type().isRegister())
      return;
    const auto a = dependence(operands.arguments[0]), b = dependence(operands.arguments[1]);
    if (!a || !b || !isWorth(*a, *b, reduction.arguments[2].type().length())) return;
    if (!dependence(reduction.arguments[0])) return;
    if (isOfOperator()) return;
    std::vector<bool> on(around_.size());
    for (std::size_t i = 0; i < on.size(); i++) on[i] = (*a)[i] || (*b)[i];
    if (liftNeeded(on)) return;
    for (std::size_t i = 0; i < 2; i++)
      if (const auto below = computedIn(operands.arguments[i]); below && dependsOnLoop(operands.arguments[i]))
        return lift(path + argumentPath(reduction, 2) + argumentPath(operands, i) + *below);
    // The largest nest of maps whose element is the sum.
    std::vector<const Binder*> loops;
    for (std::size_t i = 0; i < around_.size(); i++)
      if (on[i] && around_[i].isLoop) loops.push_back(&around_[i]);
    for (std::size_t from = 0; from < loops.size(); from++) {
      const Nest nest = nestOf(partAt(program_, loops[from]->place));
      if (nest.loops.size() < loops.size() - from) continue;
      const Expr sum = partAt(program_, path);
      bool whole = nest.loops.size() == loops.size() - from && nest.body != sum ? isExpressionOf(nest.body, sum) : true;
      for (std::size_t i = 0; i < nest.loops.size() && from + i < loops.size(); i++)
        whole = whole && nest.loops[i].variable == loops[from + i]->variable;
      if (!whole || nest.loops.size() != loops.size() - from) continue;
      if (from > 0) return lift(loops[from]->place);
      if (nest.body != sum && readsPairs(loops, nest.body, sum)) return lift(path);
      return;
    }
    lift(path);
  }

  // What an operator computes by indices of its own, within loops over other arrays.
  void examineIndexed(Expr e, const Path& path) {
    constexpr double enough = 1 << 10, most = 1 << 27;  // results
    const bool isInLoop = std::ranges::any_of(around_, [](const Binder& b) { return b.isLoop; });
    if (!isInLoop || !anyPrimitive(e, [](Expr p) { return p.prim() == Prim::reduce; })) return;
    const auto on = dependence(e);
    if (!on) return;
    double results = 1;
    for (Type t = e.type(); t.isArray(); t = t.element()) results *= estimate(t.length());
    for (std::size_t i = 0; i < around_.size(); i++)
      if ((*on)[i] && around_[i].isLoop) results *= estimate(around_[i].value.type().length());
    if (results < enough || results > most) return;
    const auto part = operatorPartOf(e);
    if (!part || isOfOperator() || liftNeeded(*on)) return;
    const Path largest = largestPart(path, part->match.inputs);
    if (dependsOnLoop(partAt(program_, largest))) lift(largest);
  }

  // What an operator reads that is computed within the loops around.
  std::optional<Path> computedInputOf(const Path& place, const std::vector<Expr>& inputs) const {
    for (const Expr input : inputs)
      if (const auto below = computedIn(input); below && dependsOnLoop(input))
        return place + *pathOf(input, partAt(program_, place)) + *below;
    return std::nullopt;
  }

  // What an operator computes stays whole: true where the loops around are of one, which is lifted where it is not the
  // outermost.
  bool isOfOperator() {
    bool isOutermost = true;
    for (const Binder& b : around_) {
      if (!b.isLoop) continue;
      if (const auto part = operatorPartOf(partAt(program_, b.place))) {
        if (!isOutermost)
          lift(computedInputOf(b.place, part->match.inputs).value_or(largestPart(b.place, part->match.inputs)));
        return true;
      }
      isOutermost = false;
    }
    return false;
  }

  // What is needed of the binders by a name, or as an array that is computed.
  bool liftNeeded(const std::vector<bool>& on) {
    for (std::size_t i = 0; i < around_.size(); i++) {
      if (!on[i]) continue;
      std::optional<Path> needed;
      if (!around_[i].isLoop && around_[i].value.type().isArray()) needed = around_[i].place + Path{1};
      if (around_[i].isLoop && dependsOnLoop(around_[i].value))
        if (const auto below = computedIn(around_[i].value)) needed = around_[i].place + Path{1} + *below;
      if (needed) return lift(*needed), true;
    }
    return false;
  }

  // With what is computed of its elements alone; `inputs` are what it reads.
  Path largestPart(Path place, const std::vector<Expr>& inputs) const {
    Path largest = place;
    while (!place.empty() && place.back() == 1) {
      place.pop_back();
      const Expr around = partAt(program_, place);
      if (!around.is(Expr::Form::apply) || !isComputingMap(around)) continue;
      const auto part = operatorPartOf(around);
      const bool readsSame = part && std::ranges::all_of(inputs, [&](Expr input) {
                               const auto& all = part->match.inputs;
                               return std::ranges::find(all, input) != all.end();
                             });
      if (readsSame) largest = place;
    }
    return largest;
  }

  // Whether the term is computed of that sum by operations, and no other loops.
  static bool isExpressionOf(Expr e, Expr sum) {
    const Expr rest = replaceTerms(e, {{sum, Expr::variable("r", sum.type())}});
    return rest != e && !anyPrimitive(rest, [](Expr p) { return runsLoop(p) || p.prim() == Prim::map; });
  }

  // Whether rows or columns are pairs, of which the sum reads one component and the rest another.
  static bool readsPairs(const std::vector<const Binder*>& loops, Expr body, Expr sum) {
    const Expr rest = replaceTerms(body, {{sum, Expr::variable("r", sum.type())}});
    return std::ranges::any_of(loops, [&](const Binder* loop) {
      return loop->variable.type().is(Type::Kind::tuple) && sum.hasFree(loop->variable) && rest.hasFree(loop->variable);
    });
  }

  bool dependsOnLoop(Expr e) const {
    return std::ranges::any_of(around_, [&](const Binder& b) { return e.hasFree(b.variable); });
  }

  void lift(const Path& path) { found_ = path; }

  Expr program_;
  std::vector<Binder> around_;
  std::optional<Path> found_;
};

// ---------------------------------------------------------------------------------------------- loops of products

enum class Kind : std::uint8_t { batch, rows, columns };  // of a loop: which operands depend on it

// The next step towards batch, rows, columns: the rule, and how many maps it stands below; nothing where all is done.
std::optional<std::pair<std::string, int>> nextStep(const Recognised& form) {
  const auto& loops = form.nest.loops;
  if (loops.size() < 2) return std::nullopt;
  const bool columnsAreFirst = form.dependsOn[0].back();
  if (columnsAreFirst == form.dependsOn[1].back()) return std::nullopt;
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < loops.size(); i++) {
    const bool columns = form.dependsOn[columnsAreFirst ? 0 : 1][i], rows = form.dependsOn[columnsAreFirst ? 1 : 0][i];
    kinds.push_back(columns == rows ? Kind::batch : columns ? Kind::columns : Kind::rows);
  }
  const auto mayInterchange = [&](std::size_t i) { return !loops[i + 1].input.hasFree(loops[i].variable); };
  const auto step = [](const char* rule, std::size_t i) {
    return std::pair<std::string, int>(rule, static_cast<int>(i));
  };
  // Windows of a row in lanes: its rows are one product each.
  constexpr std::int64_t vector = 8;
  const auto columns = loops.back().input.type().length().constant();
  const bool inLanes = columns && columnsLieTogether(form) && *columns % vector == 0;
  const auto last = loops.size() - 1;
  const auto rank = [&](std::size_t i) {  // the order that loops should have
    if (kinds[i] == Kind::batch) return 0;
    if (kinds[i] == Kind::rows) return 2;
    return inLanes && i < last ? 1 : 3;
  };
  for (std::size_t i = 0; i < last; i++)
    if (rank(i) > rank(i + 1) && mayInterchange(i)) return step("mapInterchange", i);
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
    if (!s.head.is(Expr::Form::primitive) || s.arguments.empty()) return maps;
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
      if (!operand && x.is(Expr::Form::apply))
        for (const Expr a : s.arguments) find(a);
    };
    find(spineOf(map).arguments[0].body());
    const auto place = operand ? pathOf(*operand, map) : std::nullopt;
    if (!place) return std::nullopt;
    std::string fission = "mapFission<";
    for (const std::uint8_t child : *place) fission += static_cast<char>('0' + child);
    const auto now = at(columns, seq({use(fission + ">"), use("mapOfSecond"), argument(use("columnsFirst"))}))(e, r);
    if (!now) return std::nullopt;
    Path copied = columns + Path{1, 1};
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
    if (term.is(Expr::Form::lambda)) return find(term.body(), path + Path{0}, inLoop);
    if (!term.is(Expr::Form::apply)) return;
    if (accepts(term, inLoop)) return void(place = path);
    const Spine s = spineOf(term);
    const bool runsOnce = s.isPrim(Prim::let) || !s.head.is(Expr::Form::primitive) || isIteration(s.head.prim());
    for (std::size_t i = 0; i < s.arguments.size(); i++)
      find(s.arguments[i], path + argumentPath(s, i), inLoop || (!runsOnce && s.arguments[i].is(Expr::Form::lambda)));
  };
  find(e, {}, false);
  return place;
}

// At every place that no loop runs, the strategy that `chosen` has for the term, where it applies.
Strategy outsideLoops(const std::function<std::optional<Strategy>(Expr)>& chosen) {
  return [chosen](Expr e, Rewriting& r) -> std::optional<Expr> {
    std::unordered_set<Expr> refused;
    bool any = false;
    const auto accepts = [&](Expr term, bool inLoop) {
      return !inLoop && refused.count(term) == 0 && chosen(term).has_value();
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

}  // namespace

Strategy sumsTogether() {
  // What is computed of joined elements is computed once they are joined.
  const auto ofJoined = [](Expr e) {
    const Spine s = spineOf(e);
    return s.isPrim(Prim::reduce) && isLoop(s) && spineOf(s.arguments.back()).isPrim(Prim::join);
  };
  return seq({keptOutsideLoops(), strategies::fused(), normalise({"reduceOfReductions", "reduceFlatten", "joinMapZip"}),
              attempt(everywhere(when(ofJoined, argument(normalise({"joinMap", "joinMapZip"}))))),
              strategies::fused()});
}

Strategy canonical() {
  // A state whose elements go on by themselves is one reduction for each element, unless registers hold it.
  const auto hasLongState = [](Expr e) {
    constexpr std::int64_t registers = 16;
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::reduce) || !e.type().isArray() || !s.arguments[1].is(Expr::Form::lambda)) return false;
    const auto length = e.type().length().constant();
    return (!length || *length > registers) && letsOf(s.arguments[1].body()).bound.empty();
  };
  return seq({sumsTogether(), attempt(everywhere(when(hasLongState, seq({use("reduceElements"), sumsTogether()})))),
              productLoops()});
}

namespace {

// zip2D(xs, ys) and its like name the tuple of their arrays: each array gets a name of its own, and none where it is
// read once outside of loops.
Strategy tuplesOfArraysApart() {
  return [](Expr e, Rewriting& r) -> std::optional<Expr> {
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::let) || s.arguments.size() != 2 || !holdsArrays(s.arguments[1].type())) return std::nullopt;
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
  const Strategy elements = orElse(use("elementsOfIndices"), seq({use("mapOfIndices"), use("elementsOfIndices")}));
  return seq({attempt(normalise({"idAway", "letInline", "columnOfRows"})), everywhere(elements)});
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
    constexpr double registers = 16;
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::reduce) || !e.type().isArray() || !s.arguments[1].is(Expr::Form::lambda)) return false;
    double elements = 1;
    for (Type t = e.type(); t.isArray(); t = t.element()) elements *= estimate(t.length());
    return elements > registers && letsOf(s.arguments[1].body()).bound.empty();
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

// Reductions over arrays whose steps are launches, as iterations: what a step computes are parts.
Strategy stepsApart() {
  const auto toSteps = [](Expr e) -> std::optional<Strategy> {
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::reduce) || !foldsByLaunches(e) || !anyPrimitive(s.arguments[1], runsLoop)) return std::nullopt;
    return use("reduceToSteps");
  };
  return seq({outsideLoops(toSteps), strategies::fused()});
}

// Whether a step of an iteration, one for each element of loops over so many, sums products of its state and of rows of
// an array that is the same for all of these: of all states together that is a product of matrices.
class SharedProducts {
 public:
  SharedProducts(std::unordered_set<Expr> own, double elements) : own_(std::move(own)), elements_(elements) {}

  bool in(Expr e) {
    if (e.is(Expr::Form::lambda)) return in(e.body());
    if (!e.is(Expr::Form::apply)) return false;
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::reduce) && isProduct(s)) return true;
    const bool binds = isLoop(s) || (s.isPrim(Prim::let) && s.arguments.size() == 2);
    if (!binds || !functionOf(s).is(Expr::Form::lambda))
      return std::ranges::any_of(s.arguments, [&](Expr a) { return in(a); });
    for (std::size_t i = 0; i < s.arguments.size(); i++)
      if (s.arguments[i] != functionOf(s) && in(s.arguments[i])) return true;
    const Expr variable = functionOf(s).parameter(), over = s.arguments.back();
    Expr body = functionOf(s).body();
    const double length = isLoop(s) ? estimate(over.type().length()) : 1;
    if (!isOwn(over) && (s.isPrim(Prim::map) || !isLoop(s))) {
      shared_.emplace_back(variable, length);
      return in(body);
    }
    own_.insert(variable);
    const Spine zipped = spineOf(over);
    for (std::size_t i = 0; s.isPrim(Prim::map) && zipped.isPrim(Prim::zip) && i < zipped.arguments.size(); i++) {
      if (isOwn(zipped.arguments[i])) continue;
      const Expr element = build::get(variable, i);
      shared_.emplace_back(Expr::variable("x", element.type()), length);
      body = replaceTerms(body, {{element, shared_.back().first}});
    }
    return in(body);
  }

 private:
  bool isOwn(Expr e) const {
    return std::ranges::any_of(e.freeVariables(), [&](Expr v) { return own_.contains(v); });
  }

  bool isProduct(const Spine& reduction) const {
    constexpr double enough = 1 << 17, few = 4;
    const Spine operands = spineOf(reduction.arguments[2]);
    if (!operands.isPrim(Prim::zip) || operands.arguments.size() != 2 || !reduction.arguments[0].type().isRegister())
      return false;
    const bool first = isOwn(operands.arguments[0]);
    if (first == isOwn(operands.arguments[1])) return false;
    double rows = 1;
    for (const auto& [variable, length] : shared_)
      if (operands.arguments[first ? 1 : 0].hasFree(variable)) rows *= length;
    const double steps = estimate(reduction.arguments[2].type().length());
    return rows >= few && elements_ >= few && steps >= few && rows * elements_ * steps >= enough;
  }

  std::unordered_set<Expr> own_;  // what depends on the element or the state
  std::vector<std::pair<Expr, double>> shared_;
  double elements_;
};

// Iterations or folds within maps whose steps have such products, as those of all elements, by the rule that exchanges
// both: the products are parts.
Strategy loopsOutside(Prim loop, const char* rule) {
  // Below the maps of a term: where such an iteration is.
  const auto found = [loop](Expr map) {
    std::optional<Path> place;
    std::vector<Binder> around;
    const std::function<void(Expr, const Path&)> find = [&](Expr e, const Path& path) {
      if (place || !e.is(Expr::Form::apply)) return;
      const Spine s = spineOf(e);
      const bool isFull = !e.type().is(Type::Kind::function) && s.arguments.size() >= 2;
      if (s.isPrim(loop) && isFull && functionOf(s).is(Expr::Form::lambda)) {
        std::unordered_set<Expr> own{functionOf(s).parameter()};
        double elements = 1;
        std::vector<Expr> needed{e};  // and what the loops run over that it depends on
        for (auto b = around.rbegin(); b != around.rend(); ++b) {
          own.insert(b->variable);
          if (!b->isLoop || std::ranges::none_of(needed, [&](Expr x) { return x.hasFree(b->variable); })) continue;
          elements *= estimate(b->value.type().length());
          needed.push_back(b->value);
        }
        if (holdsArrays(e.type()) && SharedProducts(own, elements).in(functionOf(s).body())) place = path;
        return;
      }
      const bool isMap = s.isPrim(Prim::map) && s.arguments.size() == 2;
      for (std::size_t i = 0; i < s.arguments.size(); i++) {
        const Expr a = s.arguments[i];
        if (!a.is(Expr::Form::lambda)) find(a, path + argumentPath(s, i));
        if (!a.is(Expr::Form::lambda) || !(isMap || s.isPrim(Prim::let))) continue;
        around.push_back({a.parameter(), s.arguments.back(), path, isMap});
        find(a.body(), path + argumentPath(s, i) + Path{0});
        around.pop_back();
      }
    };
    find(map, {});
    return place;
  };
  const Strategy outside = [rule](Expr e, Rewriting& r) -> std::optional<Expr> {
    const std::function<Strategy(Expr)> exchanged = [&](Expr map) {
      const Expr below = spineOf(map).arguments[0].body();
      const Strategy here = use(rule);
      return spineOf(below).isPrim(Prim::map) ? seq({function(body(exchanged(below))), here}) : here;
    };
    return exchanged(e)(e, r);
  };
  return outsideLoops([found, outside](Expr e) -> std::optional<Strategy> {
    const auto place = isComputingMap(e) ? found(e) : std::nullopt;
    if (!place) return std::nullopt;
    return [place = *place, outside](Expr map, Rewriting& r) -> std::optional<Expr> {
      Path now = place;
      const auto apart = lifted(map, r, now);
      return apart && now != place ? seq({at(now, outside), strategies::tidy()})(*apart, r) : std::nullopt;
    };
  });
}

// About `most` steps for a chunk: all chunks are of one length where some divisor is not far below.
std::int64_t chunkLength(std::int64_t steps, std::int64_t most) {
  const std::int64_t even = largestDivisor(steps, most);
  return 2 * even >= most ? even : most;
}

// Steps of a chunk where a product of few rows and columns sums so many that its tiles would read the operands again
// and again from far memory: what a near cache holds of both. Nothing where the sums are short, or where the partial
// results would be more than the operands.
std::optional<std::int64_t> chunkOf(Expr e) {
  constexpr std::int64_t fewestChunks = 16;
  const Recognised form = recognise(e);
  if (form.pattern != Pattern::product || !form.reduces || !form.reduced || form.nest.loops.size() < 2)
    return std::nullopt;
  const auto steps = form.reduced->constant();
  std::int64_t rows = 1, columns = 1;
  for (std::size_t i = 0; i < form.nest.loops.size(); i++) {
    const auto length = form.nest.loops[i].input.type().length().constant();
    if (!length || form.dependsOn[0][i] == form.dependsOn[1][i]) return std::nullopt;
    (form.dependsOn[0][i] ? rows : columns) *= *length;
  }
  if (!steps) return std::nullopt;
  constexpr auto element = static_cast<std::int64_t>(sizeof(float));
  const std::int64_t longest = secondCache / 2 / (element * (rows + columns));  // beside what tiles need
  if (*steps < fewestChunks * longest || rows * columns > longest * (rows + columns)) return std::nullopt;
  return chunkLength(*steps, longest);
}

// Products of long sums as products of chunks, whose results are added.
Strategy deepProductsInChunks() {
  return outsideLoops([](Expr e) -> std::optional<Strategy> {
    const auto steps = isComputingMap(e) ? chunkOf(e) : std::nullopt;
    if (!steps) return std::nullopt;
    const Arguments chunk{{"c", Nat(*steps)}};
    const Strategy inChunks = orElse(use("productInChunks", chunk), use("productInChunksSwapped", chunk));
    return seq({productLoops(), topDown(inChunks), strategies::tidy()});
  });
}

// The same of columns that are reduced and lie side by side in rows far apart: chunks of rows are read from the first
// element to the last. Nothing for arrays that near caches hold.
std::optional<std::int64_t> chunkOfColumns(Expr e) {
  constexpr std::int64_t fewestChunks = 8, fewestRows = 32;
  const Recognised form = recognise(e);
  if (form.pattern != Pattern::rows || !form.reduced || !form.input || form.nest.loops.size() != 1) return std::nullopt;
  const auto rows = form.reduced->constant(), columns = e.type().length().constant();
  const auto strides = stridesOf(form.nest, *form.input);
  const bool areColumns = std::ranges::count(strides, 1) > 0 &&
                          std::ranges::all_of(strides, [](const auto& s) { return s == 0 || s == 1; });
  constexpr auto element = static_cast<std::int64_t>(sizeof(float));
  if (!rows || !columns || !areColumns || *rows * *columns * element < secondCache) return std::nullopt;
  const std::int64_t chunk = std::max(fewestRows, secondCache / 8 / (element * *columns));
  if (*rows < fewestChunks * chunk) return std::nullopt;
  return chunkLength(*rows, chunk);
}

Strategy columnsInChunks() {
  return outsideLoops([](Expr e) -> std::optional<Strategy> {
    const auto rows = isComputingMap(e) ? chunkOfColumns(e) : std::nullopt;
    if (!rows) return std::nullopt;
    const Strategy inChunks = topDown(use("reduceRowsInChunks", {{"c", Nat(*rows)}}));
    const Strategy sumsFirst = seq({topDown(use("mapReduceFission")), strategies::tidy(), inChunks});
    return seq({strategies::tidy(), orElse(inChunks, sumsFirst), strategies::tidy()});
  });
}

}  // namespace

Program restated(const Program& program, bool inOrder) {
  constexpr int most = 32;  // products and operands that are lifted
  Program eta = program;
  eta.body = etaLong(eta.body);
  Rewriting columns(eta);
  bool changed = columns.tryApply(everywhere(tuplesOfArraysApart()));
  changed |= columns.tryApply(everywhere(use("windowsOfColumns")));
  const Program start = changed ? columns.program() : program;
  Rewriting r(changed ? start : eta);
  // What a name for a constant, or for other names, stands between would not be found beside each other.
  const auto namesConstant = [](Expr e) {
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::let) || s.arguments.size() != 2 || !s.arguments[1].type().isRegister()) return false;
    return onlyMovesData(s.arguments[1]) ||
           (s.arguments[1].freeVariables().empty() && !anyPrimitive(s.arguments[1], runsLoop));
  };
  r.apply(attempt(everywhere(when(namesConstant, use("letUnfold")))));
  bool indexed = r.tryApply(digitsApart());
  for (const char* rule : {"paddingOfIndices", "windowsOfIndices"}) r.tryApply(everywhere(use(rule)));
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
  // What stood within other loops may stand alone by that.
  const bool alone = Search(etaLong(start.body)).found() && !Search(r.program().body).found();
  int lifts = 0;
  const auto liftProducts = [&] {
    for (bool more = true; more && lifts < most; lifts += more) {
      const Search search(r.program().body);
      const Strategy lift = [&](Expr e, Rewriting& rewriting) {
        Path place = *search.found();
        const auto now = lifted(e, rewriting, place);
        return place == *search.found() ? std::nullopt : now;
      };
      more = search.found() && r.tryApply(lift);
      if (more) r.apply(sumsTogether());
    }
  };
  liftProducts();
  if (r.tryApply(loopsOutside(Prim::reduce, "mapReduce"))) {
    outside = true;
    r.apply(sumsTogether());
  }
  const bool stepped = r.tryApply(stepsApart());
  if (stepped) liftProducts();
  bool chunked = false;
  if (!inOrder)
    for (const Strategy& inChunks : {deepProductsInChunks(), columnsInChunks()}) chunked |= r.tryApply(inChunks);
  const bool isRestated = lifts > 0 || indexed || alone || apart || outside || stepped || chunked;
  return !isRestated || (inOrder && roundingRule(r.derivation())) ? start : r.program();
}

}  // namespace lift::detail::parts
