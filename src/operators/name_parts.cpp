// Which parts a program has: what is computed between arrays that are kept in memory gets a name.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "lift/build.hpp"
#include "lift/mapping.hpp"
#include "lift/terms.hpp"
#include "parts.hpp"

namespace lift::detail::parts {
namespace {

bool runsLoops(Expr e) { return anyPrimitive(e, runsLoop); }

// Whether the map reads elements of its input again and again: one stands in the function of a map below, not as what
// that one maps over.
bool readsAgain(Expr map) {
  const Expr f = spineOf(map).arguments[0];
  std::unordered_set<Expr> rows{f.parameter()};
  for (Expr body = underLayouts(f.body()); isComputingMap(body);) {
    const Spine s = spineOf(body);
    for (const Expr row : rows)
      if (s.arguments[0].hasFree(row)) return true;
    rows.insert(s.arguments[0].parameter());
    body = underLayouts(s.arguments[0].body());
  }
  return false;
}

class Naming {
 public:
  explicit Naming(const Program& program)
      : program_(program), inScope_(program.parameters.begin(), program.parameters.end()) {}

  Expr program(Expr body) {
    return framed([&] { return result(body); });
  }

 private:
  // How often a stage reads an element of its inputs: once, several times (windows, rows), or for many results.
  enum class Reader : std::uint8_t { once, several, many };

  struct Frame {
    std::vector<std::pair<Expr, Expr>> lets;  // in the order of evaluation
    std::unordered_map<Expr, Expr> known;     // terms that have a name
  };

  // The term under the names that were given while it was made.
  template <class F>
  Expr framed(F&& make) {
    frames_.emplace_back();
    const Expr e = make();
    const Frame frame = std::move(frames_.back());
    frames_.pop_back();
    return build::let(frame.lets, e);
  }

  // The program's result, or that of a step of an iteration.
  Expr result(Expr e) {
    return within(e, [&](Expr) { return resultWithin(e); });
  }

  Expr resultWithin(Expr e) {
    if (!e.isApply()) return e;
    Spine s = spineOf(e);
    if (s.isPrim(Prim::let)) return result(opened(s));
    if (s.isPrim(Prim::tuple)) {
      for (Expr& x : s.arguments) x = resultOfTuple(x);
      return applyAll(s.head, s.arguments);
    }
    return hasStepsOfParts(e) ? iterated(s) : stage(e);
  }

  // What a step changes of an array of its state is changed where that is.
  Expr resultOfTuple(Expr e) {
    Spine s = spineOf(e);
    const bool changes = s.head.isPrimitive() && traits(s.head.prim()).loop == Traits::Loop::reduceByIndex;
    if (!changes || !inStep_ || !onlyMovesData(s.arguments[0]))
      return isComputed(e) ? named(e) : visit(e, Reader::once, false, false);
    visitArguments(s, readerOf(e), false, false);
    return applyAll(s.head, s.arguments);
  }

  // f of a term in which it is counted how often parts stand.
  template <class F>
  Expr within(Expr term, const F& f) {
    const Expr around = current_;
    current_ = term;
    const Expr made = f(term);
    current_ = around;
    return made;
  }

  // The body of a let, its value named.
  Expr opened(const Spine& let) {
    const Expr f = let.arguments[0], value = let.arguments[1];
    if (onlyMovesData(value)) return etaLong(substitute(f.body(), f.parameter(), value));
    if (const auto apart = ofComponents(f, value)) return *apart;
    if (spineOf(value).isPrim(Prim::zip))
      return etaLong(substitute(f.body(), f.parameter(), zippedOfNamed(value, f.parameter().name())));
    const bool isElementwise = isComputingMap(value) && !runsLoops(value);
    if (isFinishedIn(f.body(), f.parameter(), value) ||
        (isElementwise && isComputedWhereRead(value, f.parameter(), f.body()))) {
      wishes_.emplace(value, f.parameter().name());
      return etaLong(substitute(f.body(), f.parameter(), value));
    }
    if (holdsArrays(value.type()) || runsLoops(value) || (isCostly(value) && isClosed(value)))
      return etaLong(substitute(f.body(), f.parameter(), named(value, f.parameter().name())));
    frames_.back().lets.emplace_back(f.parameter(), visit(value, Reader::once, false, false));
    inScope_.insert(f.parameter());
    return f.body();
  }

  // A zip of arrays that have names of their own: nothing is moved.
  Expr zippedOfNamed(Expr e, const std::string& name) {
    Spine s = spineOf(e);
    if (!s.isPrim(Prim::zip)) return isComputed(e) ? named(e, name) : e;
    for (Expr& a : s.arguments) a = zippedOfNamed(a, name);
    return applyAll(s.head, s.arguments);
  }

  // The components of a tuple that is written out have names of their own.
  static std::optional<Expr> ofComponents(Expr f, Expr value) {
    const Spine s = spineOf(value);
    if (!s.isPrim(Prim::tuple) || !holdsArrays(value.type())) return std::nullopt;
    std::unordered_map<Expr, Expr> names;
    std::vector<Expr> variables;
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      variables.push_back(Expr::variable(f.parameter().name(), s.arguments[i].type()));
      names.emplace(build::get(f.parameter(), i), variables.back());
    }
    Expr body = replaceTerms(f.body(), names);
    if (body.hasFree(f.parameter())) return std::nullopt;
    for (std::size_t i = variables.size(); i-- > 0;) body = build::let(variables[i], s.arguments[i], body);
    return body;
  }

  // The functions of an iteration are programs of their own.
  Expr iterated(Spine s) {
    if (isComputed(s.arguments.back())) s.arguments.back() = named(s.arguments.back());
    const bool around = inStep_;
    inStep_ = true;
    for (std::size_t i = 0; i + 1 < s.arguments.size(); i++) {
      const Expr f = s.arguments[i];
      inScope_.insert(f.parameter());
      s.arguments[i] = Expr::lambda(f.parameter(), framed([&] { return result(f.body()); }));
    }
    inStep_ = around;
    return applyAll(s.head, s.arguments);
  }

  // What one part computes; arrays that it reads and that are parts themselves are names.
  Expr stage(Expr e) {
    if (!e.isApply()) return e;
    if (const auto found = operatorPartOf(e)) return withInputsNamed(e, found->match.inputs);
    if (isJoinedOfParts(e)) {
      std::unordered_map<Expr, Expr> staged;
      for (const Expr x : joinedOf(e)) staged.emplace(x, stage(x));
      return replaceTerms(e, staged);
    }
    Spine s = spineOf(e);
    if (!s.head.isPrimitive()) return e;
    if (s.isPrim(Prim::let) && isClosed(e)) return within(opened(s), [&](Expr body) { return stage(body); });
    if (s.isPrim(Prim::toGlobal)) return stage(s.arguments[0]);
    const bool layout = isInvertibleLayout(s.head.prim()) || s.isPrim(Prim::unzip);
    if (layout || (s.isPrim(Prim::map) && !isComputingMap(e))) {
      Expr& moved = s.arguments.back();
      moved = hasStepsOfParts(moved) ? named(moved) : stage(moved);
      return applyAll(s.head, s.arguments);
    }
    if (const auto finished = withEpilogue(e)) return *finished;
    visitArguments(s, readerOf(e), false, false);
    return applyAll(s.head, s.arguments);
  }

  // The arrays that a concatenation puts together, of concatenations theirs; of other terms themselves.
  static std::vector<Expr> joinedOf(Expr e) {
    const auto both = joinedIn(e);
    if (!both) return {e};
    std::vector<Expr> all;
    for (const Joined& x : *both)
      for (const Expr part : joinedOf(x.term)) all.push_back(part);
    return all;
  }
  // Whether all these are derived by families: then each is a part, written where it belongs.
  bool isJoinedOfParts(Expr e) const {
    const std::vector<Expr> all = joinedOf(e);
    return all.size() > 1 && std::ranges::all_of(all, [&](Expr x) {
             return isClosed(x) && !isNamed(x) && hasFamily(x, program_, false);
           });
  }

  // What is computed element by element of a result that nothing else reads, and that a family derives: a stage of
  // both.
  std::optional<Expr> withEpilogue(Expr e) {
    const auto isOwn = [&](Expr array) {
      return mayBeCore(array) && !spineOf(underLayouts(array)).isPrim(Prim::toGlobal) && isClosed(array) &&
             !isNamed(array) && usesOf(array, current_) == 1;
    };
    const auto result = resultOfEpilogue(e, isOwn);
    if (!result) return std::nullopt;
    const Expr hole = Expr::variable("result", result->type());
    inScope_.insert(hole);
    const Expr inner = stage(*result);
    Expr filled = inner;
    if (mayBeCore(inner) && !hasFamily(inner, program_, true)) filled = bound(*result, inner, "");
    const Expr rest = replaceTerms(e, {{*result, hole}});
    if (filled != inner) return stage(substitute(rest, hole, filled));
    Spine s = spineOf(rest);
    visitArguments(s, readerOf(rest), false, false);
    return substitute(applyAll(s.head, s.arguments), hole, inner);
  }

  bool isNamed(Expr e) const {
    return std::ranges::any_of(frames_, [&](const Frame& f) { return f.known.count(e) > 0; });
  }

  // Whether the value of a let is what an epilogue in its body finishes, and read by nothing else.
  static bool isFinishedIn(Expr body, Expr name, Expr value) {
    if (!value.type().isArray() || !mayBeCore(value) || spineOf(value).isPrim(Prim::toGlobal)) return false;
    if (usesOf(name, body) != 1) return false;
    const std::function<bool(Expr)> finishes = [&](Expr e) {
      if (!e.isApply() || !e.hasFree(name)) return false;
      if (resultOfEpilogue(e, [&](Expr array) { return underLayouts(array) == name; })) return true;
      const Spine s = spineOf(e);
      if (s.isPrim(Prim::let) && finishes(s.arguments[0].body())) return true;
      return std::ranges::any_of(s.arguments, finishes);
    };
    return finishes(body);
  }

  // How often a part stands in a term.
  static int usesOf(Expr part, Expr term) {
    std::unordered_map<Expr, int> counts;
    constexpr int most = 2;
    const std::function<int(Expr)> count = [&](Expr e) -> int {
      if (e == part) return 1;
      if (const auto found = counts.find(e); found != counts.end()) return found->second;
      int n = 0;
      if (e.isLambda()) n = count(e.body());
      if (e.isApply()) n = count(e.function()) + count(e.argument());
      return counts.emplace(e, std::min(n, most)).first->second;
    };
    return count(term);
  }

  // What an operator computes is one part; arrays that are computed for it are others.
  Expr withInputsNamed(Expr e, const std::vector<Expr>& inputs) {
    std::unordered_map<Expr, Expr> names;
    for (const Expr input : inputs)
      if (!input.isVariable()) names.emplace(input, named(input));
    return replaceTerms(e, names);
  }

  static Reader readerOf(Expr e) {
    if (!isComputingMap(e)) return Reader::once;
    if (readsAgain(e)) return Reader::many;
    return runsLoops(spineOf(e).arguments[0]) ? Reader::several : Reader::once;
  }

  // What windows that overlap read of a stage with loops is stored: families read neighbours as vectors.
  static bool overlaps(const Spine& s) {
    return s.head.isPrimitive() && isSlide(s.head) && s.head.nats()[0] != s.head.nats()[1];
  }

  void visitArguments(Spine& s, Reader reader, bool inLoop, bool guarded) {
    if (reader == Reader::several && overlaps(s)) reader = Reader::many;
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      Expr& a = s.arguments[i];
      a = visit(a, reader, inLoop || (a.isLambda() && !s.isPrim(Prim::let)), guarded || isOptional(s, i));
    }
  }

  // `guarded`: evaluated perhaps not at all.
  Expr visit(Expr e, Reader reader, bool inLoop, bool guarded) {
    if (e.isLambda()) return Expr::lambda(e.parameter(), visit(e.body(), reader, inLoop, guarded));
    if (!e.isApply()) return e;
    if (isClosed(e) && !(guarded && mayFailWithin(e)) && isStage(e, reader, inLoop)) return named(e);
    Spine s = spineOf(e);
    visitArguments(s, reader, inLoop, guarded);
    return applyAll(s.head, s.arguments);
  }

  bool isStage(Expr e, Reader reader, bool inLoop) const {
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive()) return false;
    if (s.isPrim(Prim::toGlobal) || takesLaunches(e)) return true;
    if (!holdsArrays(e.type())) return inLoop && (runsLoops(e) || (s.isPrim(Prim::op) && isCostly(e)));
    if (runsLoop(s.head) || s.isPrim(Prim::ifThenElse) || s.isPrim(Prim::let)) return runsLoops(e);
    if (s.isPrim(Prim::generate)) return runsLoops(s.arguments[0]);
    if (!isComputingMap(e)) return false;
    if (runsLoops(s.arguments[0]) || (runsLoops(s.arguments[1]) && operatorPartOf(e))) return true;
    // A map that reads its input element by element.
    return reader == Reader::many || (inLoop && !e.freeVariables().empty()) ||
           (reader == Reader::several && runsLoops(s.arguments[1]));
  }

  bool isCostly(Expr e) const { return isCostlyNumber(e, current_.type()); }

  bool isComputed(Expr e) const { return e.isApply() && holdsArrays(e.type()) && !onlyMovesData(e); }

  bool isClosed(Expr e) const {
    const auto& free = e.freeVariables();
    return std::ranges::all_of(free, [&](Expr v) { return inScope_.count(v) > 0; });
  }

  Expr named(Expr e, const std::string& wish = "") {
    for (const Frame& frame : frames_)
      if (const auto found = frame.known.find(e); found != frame.known.end()) return found->second;
    const Spine s = spineOf(e);
    return bound(e, hasStepsOfParts(e) ? iterated(s) : stage(e), wish);
  }

  // Whether stages differ in nothing but the identity of what they bind.
  static bool isSame(Expr a, Expr b) {
    const auto variables = [](Expr e) {
      std::vector<Expr> all;
      forEachTerm(e, [&](Expr x) {
        if (x.isVariable() && std::ranges::find(e.freeVariables(), x) != e.freeVariables().end()) all.push_back(x);
      });
      return all;
    };
    return a.type() == b.type() && variables(a) == variables(b) &&
           print(a, Names::canonical) == print(b, Names::canonical);
  }

  // A name for `e`, the value of which is that stage.
  Expr bound(Expr e, Expr value, std::string name) {
    const bool iterates = hasStepsOfParts(e);
    if (const auto wish = wishes_.find(e); name.empty() && wish != wishes_.end()) name = wish->second;
    const Expr computed = iterates ? value : build::call(Prim::toGlobal, {value});
    for (const Frame& frame : frames_)
      for (const auto& [known, same] : frame.lets)
        if (isSame(same, computed)) return frames_.back().known.emplace(e, known).first->second;
    if (name.empty()) name = iterates ? "state" : fmt::format("part{}", ++count_);
    const Expr variable = Expr::variable(name, e.type());
    frames_.back().known.emplace(e, variable);
    frames_.back().lets.emplace_back(variable, computed);
    inScope_.insert(variable);
    return variable;
  }

  const Program& program_;
  Expr current_ = Expr::nat(0);                   // the program or the step that is named
  std::unordered_map<Expr, std::string> wishes_;  // names that values had in the text
  std::unordered_set<Expr> inScope_;              // what is there before the stage
  std::vector<Frame> frames_;
  int count_ = 0;
  bool inStep_ = false;  // of an iteration
};

}  // namespace

Expr withPartsNamed(const Program& program) { return Naming(program).program(etaLong(program.body)); }

}  // namespace lift::detail::parts
