// What is computed within loops by loops of its own: products, what they need, and arrays whose elements take a loop.
#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "part_tiles.hpp"
#include "parts.hpp"
#include "restating.hpp"

namespace lift::detail::parts {

using namespace rewrite;

bool isLoop(const Spine& s) { return s.isCall(Prim::map) || (isFold(s) && s.arguments.size() == 3); }

Expr functionOf(const Spine& loop) { return loop.arguments[loop.arguments.size() - 2]; }

bool Binder::accumulates(Expr term) const {
  if (!isLoop || variable.type() == value.type().element()) return false;
  const Expr element = build::get(variable, 1);
  return replaceTerms(term, {{element, Expr::variable("x", element.type())}}).hasFree(variable);
}

std::optional<std::vector<Expr>> Binder::arraysOf(Expr term) const {
  if (!isLoop) return std::nullopt;
  Expr x = variable;
  if (variable.type() != value.type().element()) {  // of a fold
    const Expr element = build::get(variable, 1);
    x = Expr::variable("x", element.type());
    term = replaceTerms(term, {{element, x}});
    if (term.hasFree(variable)) return std::nullopt;
  }
  const auto used = usedOfZip(x, value, term);
  if (!used) return std::nullopt;
  std::vector<Expr> arrays;
  for (const auto& [element, array] : *used) arrays.push_back(array);
  return arrays;
}

namespace {

// The applications of map and reduce whose function the place is in, from the outermost.
std::vector<Path> loopsAround(Expr e, const Path& place) {
  std::vector<Path> loops;
  for (std::size_t n = 0; n + toBody.size() <= place.size(); n++) {
    const Path here(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(n));
    if (isLoop(spineOf(partAt(e, here))) && isAbove(here + toBody, place)) loops.push_back(here);
  }
  return loops;
}

}  // namespace

std::optional<Expr> lifted(Expr e, Rewriting& r, Path& place) {
  const std::vector<Path> loops = loopsAround(e, place);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const Spine s = spineOf(partAt(e, *loop));
    if (!partAt(e, place).hasFree(functionOf(s).parameter())) continue;
    const Path below(place.begin() + static_cast<std::ptrdiff_t>(loop->size()), place.end());
    const auto now = at(*loop, use(ruleAt(s.isPrim(Prim::map) ? "mapFission" : "reduceFission", below)))(e, r);
    if (!now) return std::nullopt;
    place = *loop + Path{1, 1};  // of zip(what the loop runs over, the part's map)
    e = *attempt(at(place, orElse(use("mapOfFirst"), use("mapOfSecond"))))(*now, r);  // of what it needs alone
  }
  return e;
}

namespace {

// A reduction of products that is worth a family, and what has to be lifted out before it stands alone.
class Search {
 public:
  explicit Search(Expr program) : program_(program) { visit(program, {}); }
  const std::optional<Path>& found() const { return found_; }

 private:
  void visit(Expr e, const Path& path) {
    if (found_) return;
    if (e.isLambda()) {  // of no loop and no let: what is bound is not known
      return scoped({e.parameter(), e, path, false}, true, [&] { visit(e.body(), path + Path{0}); });
    }
    if (!e.isApply()) return;
    const Spine s = spineOf(e);
    if (s.head.isPrimitive() && isIteration(s.head.prim())) {  // a step is a program of its own
      std::vector<Binder> around;
      std::swap(around, around_);
      for (std::size_t i = 0; i < s.arguments.size(); i++)
        if (around.empty() && s.arguments[i].isLambda())
          visit(s.arguments[i].body(), path + argumentPath(s, i) + Path{0});
      std::swap(around, around_);
      if (!s.arguments.back().isLambda()) visit(s.arguments.back(), path + argumentPath(s, s.arguments.size() - 1));
      return;
    }
    const bool loop = isLoop(s), binds = loop || s.isCall(Prim::let);
    if (binds && functionOf(s).isLambda()) {
      if (!s.isPrim(Prim::map) && loop) visit(s.arguments[0], path + argumentPath(s, 0));
      visit(s.arguments.back(), path + Path{1});
      const Binder binder{functionOf(s).parameter(), s.arguments.back(), path, loop};
      if (s.isPrim(Prim::map)) noteResult(functionOf(s).body());
      scoped(binder, loop || !around_.empty(), [&] { visit(functionOf(s).body(), path + toBody); });
      if (!found_ && s.isPrim(Prim::reduce)) examine(s, path);
      if (!found_ && s.isPrim(Prim::reduce)) examineShared(partAt(program_, path), path);
      if (!found_ && !loop) examineName(s.arguments[1], path + Path{1});
      return;
    }
    if (s.isPrim(Prim::generate)) examineIndexed(e, path);
    if (found_) return;
    for (std::size_t i = 0; i < s.arguments.size(); i++) visit(s.arguments[i], path + argumentPath(s, i));
    if (!found_ && s.isPrim(Prim::reduce)) examine(s, path);
    if (!found_ && s.isPrim(Prim::reduce)) examineShared(e, path);
    if (!found_ && s.isPrim(Prim::join)) examineRows(s.arguments[0], path + Path{1});
    if (!found_ && s.head.isPrimitive() && isSlide(s.head)) examineWindows(s.arguments.back(), path + Path{1});
    if (!found_ && (s.isPrim(Prim::transpose) || s.isPrim(Prim::join))) examineAcross(e, path);
  }

  template <class F>
  void scoped(const Binder& binder, bool counts, F&& f) {
    if (counts) around_.push_back(binder);
    f();
    if (counts) around_.pop_back();
  }

  // Which binders a term depends on, also through names and through what loops run over; nothing where it depends on an
  // accumulator, or on a variable that none of the binders bind.
  std::optional<std::vector<bool>> dependence(Expr e) const {
    std::vector<bool> on(around_.size());
    const std::function<bool(Expr, std::size_t)> mark = [&](Expr term, std::size_t end) {
      for (std::size_t i = end; i-- > 0;) {
        const Binder& b = around_[i];
        if (!term.hasFree(b.variable)) continue;
        if (b.value.isLambda() || b.accumulates(term)) return false;
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

  // Whether lifting pays. A product of few elements is as well computed where it is, if it has a family there and does
  // not compute its operands again for each element; one of very many elements does not fit into memory.
  static constexpr double enough = 1 << 12, enoughInPlace = 1 << 17;  // products
  bool isWorth(const std::vector<bool>& a, const std::vector<bool>& b, Nat reduced, double leastWork) const {
    constexpr double enoughReduced = 4, most = 1 << 27;
    double rows = 1, columns = 1, elements = 1, work = estimate(reduced);
    if (work < enoughReduced) return false;
    for (std::size_t i = 0; i < around_.size(); i++) {
      if (!around_[i].isLoop || !(a[i] || b[i])) continue;
      const double length = estimate(around_[i].value.type().length());
      work *= length;
      elements *= length;
      if (!b[i]) rows *= length;
      if (!a[i]) columns *= length;
    }
    return rows >= 4 && columns >= 4 && work >= leastWork && elements <= most;
  }

  // Whether an element of the operand is computed in loops, by way of names of arrays, too.
  bool takesLoop(Expr operand, const std::vector<bool>& on) const {
    if (anyPrimitive(operand, runsLoop)) return true;
    for (std::size_t i = 0; i < on.size(); i++)
      if (const Binder& b = around_[i]; on[i] && b.value.type().isArray() && anyPrimitive(b.value, runsLoop))
        return true;
    return false;
  }

  // The first array below what moves data that is computed: a product would compute it again for each of its rows or
  // columns.
  static std::optional<Path> computedIn(Expr e) {
    Path path;
    for (;;) {
      if (!e.isApply() || onlyMovesData(e)) return std::nullopt;
      const Spine s = spineOf(e);
      if (!s.head.isPrimitive()) return std::nullopt;
      const bool layout = isInvertibleLayout(s.head.prim()) || isPadding(s.head) || isCrop(s.head.prim()) ||
                          isSlide(s.head) || (s.isPrim(Prim::map) && !isComputingMap(e));
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
    if (!value.type().isArray() || !anyPrimitive(value, runsLoop)) return;
    const Path below = computedIn(value).value_or(Path{});  // without the windows that a name may stand for
    liftLarge(partAt(value, below), path + below, mostOfItem, true);
  }

  // Joined rows each of which takes a loop for all of its elements: it would run for each of them.
  void examineRows(Expr joined, const Path& path) {
    constexpr double few = 256;
    if (!isComputingMap(joined)) return;
    const Spine row = spineOf(underLayouts(spineOf(joined).arguments[0].body()));
    if (row.isCall(Prim::let) && anyPrimitive(row.arguments[1], runsLoop)) liftLarge(joined, path, few);
  }

  // Windows of what is computed in order: all that is before an element would be computed for each window that reads
  // it.
  void examineWindows(Expr array, const Path& path) {
    constexpr double few = 256;
    const auto below = computedIn(array);
    if (below && isComputedInOrder(partAt(array, *below))) liftLarge(partAt(array, *below), path + *below, few);
  }

  // Columns of what is computed row by row in order, or rows of such rows put together: what reads their elements by
  // loops of its own would compute whole rows for each. They are stored in the order in which they are read.
  void examineAcross(Expr moved, const Path& path) {
    constexpr double few = 256;
    if (results_.count(moved) > 0) return;
    const auto below = computedIn(moved);
    if (below && isComputedInOrder(partAt(moved, *below))) liftLarge(moved, path, few, true);
  }

  // Layouts that the elements of a loop's result are written through.
  void noteResult(Expr e) {
    for (; isResultLayout(spineOf(e), Crops::no); e = spineOf(e).arguments.back()) results_.insert(e);
  }

  // An array that depends on loops around, and has more elements for each of their iterations; of unknown sizes where
  // each work-item would keep all of it.
  void liftLarge(Expr array, const Path& path, double few, bool ofUnknownSize = false) {
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
    if (known ? elements > few && elements * all <= most : ofUnknownSize) lift(path);
  }

  void examine(const Spine& reduction, const Path& path) {
    const Spine operands = spineOf(reduction.arguments[2]);
    if (!operands.isPrim(Prim::zip) || operands.arguments.size() != 2 || !reduction.arguments[0].type().isRegister())
      return;
    const auto a = dependence(operands.arguments[0]), b = dependence(operands.arguments[1]);
    const bool takesLoops = a && b && (takesLoop(operands.arguments[0], *a) || takesLoop(operands.arguments[1], *b));
    const Nat reduced = reduction.arguments[2].type().length();
    if (!a || !b || !isWorth(*a, *b, reduced, enough)) return;
    if (!dependence(reduction.arguments[0])) return;
    if (isOfOperator()) return;
    std::vector<bool> on(around_.size());
    for (std::size_t i = 0; i < on.size(); i++) on[i] = (*a)[i] || (*b)[i];
    if (!takesLoops && !isWorth(*a, *b, reduced, enoughInPlace)) {
      if (isBesideMore(partAt(program_, path), on)) lift(path);
      return;
    }
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

  // A number that takes a loop, within loops of which it does not depend on one further out: it would be computed again
  // for each of that one's elements.
  void examineShared(Expr reduction, const Path& path) {
    constexpr double often = 8, enough = 1 << 12, fewReduced = 8;
    if (!reduction.type().isRegister()) return;
    const auto on = dependence(reduction);
    if (!on) return;
    const auto deepest = std::find(on->rbegin(), on->rend(), true);
    if (deepest == on->rend()) return;
    // Where all of that loop depends on no more, it is a part.
    const auto ofLoop = dependence(partAt(program_, around_[static_cast<std::size_t>(on->rend() - deepest) - 1].place));
    bool more = !ofLoop;
    for (std::size_t i = 0; i < on->size(); i++) more = more || ((*ofLoop)[i] && !(*on)[i]);
    if (!more) return;
    double again = 1, elements = 1;
    bool below = false;  // a loop that it depends on
    for (std::size_t i = around_.size(); i-- > 0;) {
      if (!around_[i].isLoop) {
        if ((*on)[i]) return;
        continue;
      }
      if (!isMap(around_[i])) return;
      const double length = estimate(around_[i].value.type().length());
      below = below || (*on)[i];
      if ((*on)[i]) elements *= length;
      if (below && !(*on)[i]) again *= length;
    }
    const double reduced = estimate(spineOf(reduction).arguments[2].type().length());
    if (again >= often && reduced >= fewReduced && again * elements * reduced >= enough && !isOfOperator()) lift(path);
  }

  bool isMap(const Binder& loop) const { return spineOf(partAt(program_, loop.place)).isPrim(Prim::map); }

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

  // What an operator computes stays whole. Returns true where the loops around are such an operator's; it is lifted
  // where it is not the outermost.
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
      if (!around_[i].isLoop && around_[i].value.type().isArray())
        needed = around_[i].place + Path{1} + computedIn(around_[i].value).value_or(Path{});
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
      if (!around.isApply() || !isComputingMap(around)) continue;
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
      return loop->variable.type().isTuple() && sum.hasFree(loop->variable) && rest.hasFree(loop->variable);
    });
  }

  // Whether a loop has, beside the sum's rows or columns, elements that change with a loop around it as these do not: a
  // residual. Such loops are no tiles.
  bool isBesideMore(Expr sum, const std::vector<bool>& on) const {
    const Binder* innermost = nullptr;
    for (std::size_t i = 0; i < on.size(); i++) {
      if (!on[i]) continue;
      if (!around_[i].isLoop) return false;
      innermost = &around_[i];
    }
    const Expr body = functionOf(spineOf(partAt(program_, innermost->place))).body();
    const auto ofSum = innermost->arraysOf(sum);
    const auto ofRest = innermost->arraysOf(replaceTerms(body, {{sum, Expr::variable("r", sum.type())}}));
    if (!ofSum || !ofRest) return false;
    return std::ranges::any_of(around_, [&](const Binder& around) {
      const auto changes = [&](Expr array) { return array.hasFree(around.variable); };
      return std::ranges::any_of(*ofRest, changes) && std::ranges::none_of(*ofSum, changes);
    });
  }

  bool dependsOnLoop(Expr e) const {
    return std::ranges::any_of(around_, [&](const Binder& b) { return e.hasFree(b.variable); });
  }

  void lift(const Path& path) { found_ = path; }

  Expr program_;
  std::vector<Binder> around_;
  std::unordered_set<Expr> results_;
  std::optional<Path> found_;
};

}  // namespace

std::optional<Path> placeToLift(Expr program) { return Search(program).found(); }

}  // namespace lift::detail::parts
