// Which parts a program has: what is computed between arrays that are kept in memory gets a name.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "parts.hpp"

namespace lift::detail::parts {
namespace {

bool holdsArrays(Type type) {
  if (!type.is(Type::Kind::tuple)) return type.isArray();
  const auto& parts = type.components();
  return std::any_of(parts.begin(), parts.end(), holdsArrays);
}

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
  explicit Naming(const Program& program) : inScope_(program.parameters.begin(), program.parameters.end()) {}

  Expr program(Expr body) {
    return framed([&] { return result(body); });
  }

 private:
  // How a stage reads its inputs: each element once, some times as windows and rows do, or for many results.
  enum class Reader : std::uint8_t { once, several, many };

  struct Frame {
    std::vector<std::pair<Expr, Expr>> lets;  // in the order of evaluation
    std::unordered_map<Expr, Expr> known;     // terms that have a name
  };

  // The term under the names that were given while it was made.
  template <class F>
  Expr framed(F&& make) {
    frames_.emplace_back();
    Expr e = make();
    const Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (auto l = frame.lets.rbegin(); l != frame.lets.rend(); ++l) e = build::let(l->first, l->second, e);
    return e;
  }

  // The program's result, or that of a step of an iteration.
  Expr result(Expr e) {
    if (!e.is(Expr::Form::apply)) return e;
    Spine s = spineOf(e);
    if (s.isPrim(Prim::let)) return result(opened(s));
    if (s.isPrim(Prim::tuple)) {
      for (Expr& x : s.arguments) x = isComputed(x) ? named(x) : visit(x, Reader::once, false, false);
      return applyAll(s.head, s.arguments);
    }
    return isIteration(s) ? iterated(s) : stage(e);
  }

  // The body of a let, its value named.
  Expr opened(const Spine& let) {
    const Expr f = let.arguments[0], value = let.arguments[1];
    if (onlyMovesData(value)) return etaLong(substitute(f.body(), f.parameter(), value));
    if (holdsArrays(value.type()) || runsLoops(value))
      return etaLong(substitute(f.body(), f.parameter(), named(value, f.parameter().name())));
    frames_.back().lets.emplace_back(f.parameter(), visit(value, Reader::once, false, false));
    inScope_.insert(f.parameter());
    return f.body();
  }

  static bool isIteration(const Spine& s) { return s.isPrim(Prim::iterate) && holdsArrays(s.arguments[1].type()); }

  Expr iterated(Spine s) {
    const Expr f = s.arguments[0];
    if (isComputed(s.arguments[1])) s.arguments[1] = named(s.arguments[1]);
    inScope_.insert(f.parameter());
    s.arguments[0] = Expr::lambda(f.parameter(), framed([&] { return result(f.body()); }));
    return applyAll(s.head, s.arguments);
  }

  // What one part computes; arrays that it reads and that are parts themselves are names.
  Expr stage(Expr e) {
    if (!e.is(Expr::Form::apply)) return e;
    if (const auto found = operatorPartOf(e)) return withInputsNamed(e, found->match.inputs);
    Spine s = spineOf(e);
    if (!s.head.is(Expr::Form::primitive)) return e;
    if (s.isPrim(Prim::let) && isClosed(e)) return stage(opened(s));
    if (s.isPrim(Prim::toGlobal)) return stage(s.arguments[0]);
    const bool layout = isInvertibleLayout(s.head.prim()) || s.isPrim(Prim::unzip);
    if (layout || (s.isPrim(Prim::map) && !isComputingMap(e))) {
      s.arguments.back() = stage(s.arguments.back());
      return applyAll(s.head, s.arguments);
    }
    visitArguments(s, readerOf(e), false, false);
    return applyAll(s.head, s.arguments);
  }

  // What an operator computes is one part; arrays that are computed for it are others.
  Expr withInputsNamed(Expr e, const std::vector<Expr>& inputs) {
    std::unordered_map<Expr, Expr> names;
    for (const Expr input : inputs)
      if (!input.is(Expr::Form::variable)) names.emplace(input, named(input));
    return replaceTerms(e, names);
  }

  static Reader readerOf(Expr e) {
    if (!isComputingMap(e)) return Reader::once;
    if (readsAgain(e)) return Reader::many;
    return runsLoops(spineOf(e).arguments[0]) ? Reader::several : Reader::once;
  }

  // What windows that overlap read of a stage with loops is stored: families read neighbours as vectors.
  static bool overlaps(const Spine& s) {
    return (s.isPrim(Prim::slide) || s.isPrim(Prim::slideStrict)) && s.head.nats()[0] != s.head.nats()[1];
  }

  void visitArguments(Spine& s, Reader reader, bool inLoop, bool guarded) {
    if (reader == Reader::several && overlaps(s)) reader = Reader::many;
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      Expr& a = s.arguments[i];
      const bool perhaps = (s.isPrim(Prim::ifThenElse) && i > 0) || s.isPrim(Prim::iterateWhile);
      a = visit(a, reader, inLoop || (a.is(Expr::Form::lambda) && !s.isPrim(Prim::let)), guarded || perhaps);
    }
  }

  // `guarded`: evaluated perhaps not at all.
  Expr visit(Expr e, Reader reader, bool inLoop, bool guarded) {
    if (e.is(Expr::Form::lambda)) return Expr::lambda(e.parameter(), visit(e.body(), reader, inLoop, guarded));
    if (!e.is(Expr::Form::apply)) return e;
    if (isClosed(e) && !(guarded && mayFailWithin(e)) && isStage(e, reader, inLoop)) return named(e);
    Spine s = spineOf(e);
    visitArguments(s, reader, inLoop, guarded);
    return applyAll(s.head, s.arguments);
  }

  bool isStage(Expr e, Reader reader, bool inLoop) const {
    const Spine s = spineOf(e);
    if (!s.head.is(Expr::Form::primitive)) return false;
    if (s.isPrim(Prim::toGlobal) || isIteration(s)) return true;
    if (!holdsArrays(e.type())) return inLoop && runsLoops(e);
    if (runsLoop(s.head) || s.isPrim(Prim::ifThenElse) || s.isPrim(Prim::let)) return runsLoops(e);
    if (s.isPrim(Prim::generate)) return runsLoops(s.arguments[0]);
    if (!isComputingMap(e)) return false;
    if (runsLoops(s.arguments[0]) || (runsLoops(s.arguments[1]) && operatorPartOf(e))) return true;
    // Element by element.
    return reader == Reader::many || (inLoop && !e.freeVariables().empty()) ||
           (reader == Reader::several && runsLoops(s.arguments[1]));
  }

  bool isComputed(Expr e) const { return e.is(Expr::Form::apply) && holdsArrays(e.type()) && !onlyMovesData(e); }

  bool isClosed(Expr e) const {
    const auto& free = e.freeVariables();
    return std::all_of(free.begin(), free.end(), [&](Expr v) { return inScope_.count(v) > 0; });
  }

  Expr named(Expr e, const std::string& wish = "") {
    for (const Frame& frame : frames_)
      if (const auto found = frame.known.find(e); found != frame.known.end()) return found->second;
    const Spine s = spineOf(e);
    const Expr value = isIteration(s) ? iterated(s) : stage(e);
    const std::string name = !wish.empty() ? wish : isIteration(s) ? "state" : fmt::format("part{}", ++count_);
    const Expr variable = Expr::variable(name, e.type());
    frames_.back().known.emplace(e, variable);
    frames_.back().lets.emplace_back(variable, isIteration(s) ? value : build::call(Prim::toGlobal, {value}));
    inScope_.insert(variable);
    return variable;
  }

  std::unordered_set<Expr> inScope_;  // what is there before the stage
  std::vector<Frame> frames_;
  int count_ = 0;
};

}  // namespace

Expr withPartsNamed(const Program& program) { return Naming(program).program(etaLong(program.body)); }

}  // namespace lift::detail::parts
