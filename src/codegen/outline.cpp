// Kernel boundaries: an intermediate that lives in global memory is computed by a kernel of its own.
#include <fmt/format.h>

#include <algorithm>

#include "lift/build.hpp"
#include "lift/canonical.hpp"
#include "lift/diagnostic.hpp"
#include "lowering.hpp"

namespace lift::detail {

using namespace build;

namespace {

// Up to so many steps of an iteration over kernels are launches of their own; more are a loop of launches.
constexpr std::int64_t maxUnrolledSteps = 16;

// Whether it is an iteration over kernels.
bool stepsInParallel(const Spine& s) {
  return s.head.isPrimitive() && isIteration(s.head.prim()) &&
         std::any_of(s.arguments.begin(), s.arguments.end() - 1, runsInParallel);
}

class Outliner {
 public:
  explicit Outliner(const Program& program) {
    for (const Expr p : program.parameters) available_.insert(p);
  }

  Outline run(Expr body) {
    results(etaLong(body), "");
    std::ranges::sort(
        loops_, [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : a.last > b.last; });
    return {std::move(stages_), std::move(loops_)};
  }

 private:
  bool isAvailable(Expr e) const {
    for (const Expr v : e.freeVariables())
      if (!available_.count(v)) return false;
    return true;
  }

  Expr temporary(Expr body) {
    if (waits(body)) {
      Span place;
      anyPrimitive(body, [&](Expr p) {
        if (mayFail(p)) place = p.place();
        return mayFail(p);
      });
      throw UserError(
          ExitStatus::program,
          "what may fail stands in an intermediate result, which is computed before the condition of 'if' is known",
          "compute it in front of the if, or leave toGlobal and the parallel map out of its branch", place);
    }
    const Expr out = Expr::variable("tmp", body.type());
    push({out, named(body), {}});
    available_.insert(out);
    return out;
  }

  // What an update in place starts from is a stage of its own.
  void push(Stage stage) {
    if (updateOf(stage.body)) {
      stage.start = Expr::variable("start", stage.output.type());
      stages_.push_back({*stage.start, startOf(stage.body), {}});
    }
    stages_.push_back(std::move(stage));
  }

  // In an image where the program says so.
  Expr keptAsAsked(Expr value) {
    const Expr out = temporary(result(value));
    stages_.back().inImage = spineOf(value).isPrim(Prim::toImage);
    return out;
  }

  // The body of a stage under the lets outside of every map that it needs.
  Expr named(Expr body) const {
    std::unordered_set<Expr> needed(body.freeVariables().begin(), body.freeVariables().end());
    for (auto let = lets_.rbegin(); let != lets_.rend(); ++let) {
      if (needed.count(let->first) == 0) continue;
      body = build::let(let->first, let->second, body);
      needed.insert(let->second.freeVariables().begin(), let->second.freeVariables().end());
    }
    return body;
  }

  // The body of the function of a let outside of every map; the value is an intermediate or gets a name.
  Expr opened(Expr f, Expr value) {
    const Expr x = bound(value, f.parameter());
    return x == f.parameter() ? f.body() : substitute(f.body(), f.parameter(), x);
  }

  // Whether the let names what registers hold, for what one work-item computes.
  static bool isOfOneStage(const Spine& let) {
    const auto hasStages = [](Expr e) {
      return anyPrimitive(e, [](Expr p) { return isKernelMap(p.prim()) || endsKernel(p.prim()); });
    };
    return let.arguments[1].type().isRegister() && !hasStages(let.arguments[1]) && !hasStages(let.arguments[0].body());
  }

  // The part of the program's result that `path` names. A tuple of which a component is kept in memory is made of
  // components that each have a kernel; what is kept is stored once.
  void results(Expr e, const std::string& path) {
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::let) && !isOfOneStage(s)) return results(etaLong(opened(s.arguments[0], s.arguments[1])), path);
    const auto isKept = [&](Expr a) { return stageOf(a) != nullptr || endsKernel(spineOf(a)); };
    if (s.isPrim(Prim::tuple) && std::ranges::any_of(s.arguments, isKept)) {
      for (std::size_t i = 0; i < s.arguments.size(); i++) results(s.arguments[i], path + fmt::format(".{}", i));
      return;
    }
    if (!path.empty() && isAvailable(e) && isKept(e)) {
      const Expr kept = operand(e);
      if (Stage* stage = stageOf(kept); stage && !stage->result) {
        stage->result = path;
        return;
      }
      e = kept;
    }
    const Expr body = result(e);
    push({Expr::variable("out", e.type()), named(body), path});
  }
  Stage* stageOf(Expr e) {
    const auto stage = std::ranges::find_if(stages_, [&](const Stage& s) { return s.output == e; });
    return stage == stages_.end() ? nullptr : &*stage;
  }

  // The term whose value is the stage's result; what can be written through to the destination stays.
  Expr result(Expr e) {
    if (!e.isApply()) return e;
    Spine s = spineOf(e);
    auto& a = s.arguments;
    if (isWrittenThrough(s.head.prim())) {
      // A component that is kept is complete before what is beside it.
      for (Expr& x : a)
        x = (s.isPrim(Prim::tuple) && endsKernel(spineOf(x))) || (a.size() > 1 && updateOf(x)) ? operand(x) : result(x);
      return applyAll(s.head, a);
    }
    switch (s.head.prim()) {
      case Prim::toGlobal:
      case Prim::toImage:  // what the program gives is no image
        return result(a[0]);
      case Prim::ifThenElse:
        guards_.eachArgument(s, [&](Expr x, bool branch) { return branch && !updateOf(x) ? result(x) : operand(x); });
        return applyAll(s.head, a);
      case Prim::reduceByIndex:
      case Prim::reduceByIndexGlb:
        if (s.isPrim(Prim::reduceByIndex) && !updateOf(e)) break;
        for (std::size_t i = 1; i < a.size(); i++) a[i] = operand(a[i]);
        a[0] = isComputedInParallel(a[0]) && !updateOf(a[0]) ? result(a[0]) : operand(a[0]);
        if (!runsInParallel(a[0])) a[0] = copied(a[0]);
        return applyAll(s.head, a);
      case Prim::let:
        if (waits(a[1]) || isOfOneStage(s) || !isAvailable(a[1])) {
          if (waits(a[1])) guards_.hold(a[0].parameter());
          a[1] = operand(a[1]);
          return applyAll(s.head, {Expr::lambda(a[0].parameter(), result(a[0].body())), a[1]});
        }
        return result(opened(a[0], a[1]));
      case Prim::iterate:
      case Prim::iterateWhile:
        if (stepsInParallel(s)) {
          const Expr value = iterated(s);
          return onlyMovesData(value) ? copied(value) : result(value);
        }
        break;
      case Prim::map:
        if (isInvertibleIn(a[0].body(), a[0].parameter()) || isCroppedResult(e)) {
          a[1] = result(a[1]);
          return applyAll(s.head, a);
        }
        break;
      case Prim::take:
        if (!isCroppedResult(e)) break;
        a[0] = result(a[0]);
        return applyAll(s.head, a);
      default: break;
    }
    for (Expr& x : a) x = operand(x);
    return applyAll(s.head, a);
  }

  // What stands for the value of a let outside of every map: an intermediate, or, where computing it again costs a few
  // operations, a name that every stage which needs it defines. That is `wish` unless it names another value already.
  Expr bound(Expr value, Expr wish) {
    if (onlyMovesData(value)) return operand(value);
    // What the last step leaves in memory stays there.
    const Spine kept = spineOf(value), steps = spineOf(kept.isPrim(Prim::toGlobal) ? kept.arguments[0] : value);
    if (value.type().isTuple() && stepsInParallel(steps) && isAvailable(value)) {
      Expr last = iterated(steps);
      for (Spine let = spineOf(last); let.isPrim(Prim::let) && !waits(let.arguments[1]); let = spineOf(last))
        last = etaLong(opened(let.arguments[0], let.arguments[1]));
      return bound(last, wish);
    }
    if (value.type().isArray() || anyPrimitive(value, takesSteps)) return keptAsAsked(value);
    if (const Spine s = spineOf(value); s.isPrim(Prim::tuple)) {
      std::vector<Expr> parts;
      for (const Expr x : s.arguments) parts.push_back(bound(x, Expr::variable(wish.name(), x.type())));
      return tuple(parts);
    }
    const Expr computed = operand(value);
    if (waits(computed) || !value.type().isRegister() || value.type().isTuple()) return computed;
    const Expr name = available_.count(wish) ? Expr::variable(wish.name(), wish.type()) : wish;
    available_.insert(name);
    lets_.emplace_back(name, computed);
    return name;
  }

  // A term that the stage reads; also inside lambdas, where its value does not depend on them.
  Expr operand(Expr e) {
    if (!e.isApply() && !e.isLambda()) return e;
    if (auto done = memo_.find(e); done != memo_.end()) return done->second;
    const Expr out = rebuilt(e);
    memo_.emplace(e, out);
    return out;
  }

  Expr rebuilt(Expr e) {
    if (e.isLambda()) return Expr::lambda(e.parameter(), operand(e.body()));
    Spine s = spineOf(e);
    if (isAvailable(e)) {
      if (endsKernel(s)) {
        const Expr key = canonical_(e);
        if (const auto same = kept_.find(key); same != kept_.end()) return same->second;
        const Expr kept = keptAsAsked(e);
        kept_.insert_or_assign(key, kept);
        return kept;
      }
      if (s.head.isPrimitive() && (isKernelMap(s.head.prim()) || isAroundKernelMap(s))) return temporary(result(e));
      if (stepsInParallel(s)) return operand(iterated(s));
      if (s.isPrim(Prim::let) && runsInParallel(e) && !waits(s.arguments[1]))
        return operand(opened(s.arguments[0], s.arguments[1]));
    }
    guards_.eachArgument(s, [&](Expr x, bool) { return operand(x); });
    return applyAll(s.head, s.arguments);
  }

  // A loop around a map over work-items: where an array has only one row.
  static bool isAroundKernelMap(const Spine& s) {
    const Traits& t = traits(s.head.prim());
    return t.loop == Traits::Loop::map && t.level == Traits::Level::sequential && runsInParallel(s.arguments[0]);
  }

  // What may fail in a branch must not be computed before its condition is known.
  bool waits(Expr e) const { return !guards_.allow(e); }

  // iterate over kernels: its value as a term whose last step is not computed yet, where there is a last step.
  Expr iterated(const Spine& s) {
    const Nat count = s.head.nats()[0];
    const Expr f = s.arguments[s.arguments.size() - 2], in = s.arguments.back();
    const auto step = [&](Expr value) {
      std::unordered_map<Expr, Expr> parts;
      const Spine tuple = spineOf(value);
      for (std::size_t i = 0; tuple.isPrim(Prim::tuple) && i < tuple.arguments.size(); i++)
        parts.emplace(get(f.parameter(), i), tuple.arguments[i]);
      return substitute(replaceTerms(f.body(), parts), f.parameter(), value);
    };
    const auto started = [&] { return temporary(onlyMovesData(in) ? copied(operand(in)) : result(in)); };
    if (s.isPrim(Prim::iterateWhile)) {
      const Expr state = started(), holds = s.arguments[0];
      looped(count, state, step(state), false, substitute(holds.body(), holds.parameter(), state));
      return state;
    }
    const bool updates = updatesInParallel(f);
    if (const auto known = count.constant();
        known && !updates && (*known <= maxUnrolledSteps || f.parameter().type() != f.body().type())) {
      Expr value = in;
      for (std::int64_t i = 0; i < *known; i++) {
        if (i > 0 || !onlyMovesData(value)) value = stored(result(value), [&](Expr x) { return isInMemory(x); });
        value = step(value);
      }
      return value;
    }
    const Expr state = started();
    const bool happens = !updates && lessEqual(Nat(1), count) == Truth::proved;
    looped(happens ? count - Nat(1) : count, state, step(state), happens);
    return happens ? step(state) : state;
  }

  // Whether work-items share the changes that a step makes by index: no step may copy the array that they change.
  static bool updatesInParallel(Expr f) {
    const Spine s = spineOf(letsOf(f.body()).body);
    return s.isPrim(Prim::tuple) && std::ranges::any_of(s.arguments, [](Expr e) {
             const Spine change = spineOf(e);
             return change.isPrim(Prim::reduceByIndex) && runsInParallel(change.arguments[1]);
           });
  }

  // A loop of the stages of `step`, which computes the next state from `state`, behind those of the condition, if any.
  // What does not depend on it is computed before the loop.
  void looped(Nat count, Expr state, Expr step, bool happens, std::optional<Expr> condition = {}) {
    if (count == Nat(0)) return;
    const std::size_t first = stages_.size(), inner = loops_.size();
    const auto before = memo_;
    const auto keptBefore = kept_;
    std::optional<Expr> holds;
    if (condition) holds = temporary(result(*condition));
    const std::size_t firstOfStep = stages_.size();
    const Expr value = result(step);
    std::vector<Expr> own = ownOf(state, firstOfStep, inner);
    const bool updates =
        std::ranges::any_of(spineOf(value).arguments, [](Expr x) { return spineOf(x).isPrim(Prim::reduceByIndex); });
    const Expr next = stored(value, [&](Expr x) { return !updates && std::erase(own, x) > 0; });
    stages_.back().inPlace = updatedIn(value, state, firstOfStep);
    kept_ = keptBefore;
    memo_ = before;  // what was computed in the loop may never be, and changes

    std::unordered_set<Expr> changing{state};
    std::vector<std::size_t> stay, go;
    const auto isStart = [&](std::size_t i) {
      return i + 1 < stages_.size() && stages_[i + 1].start == stages_[i].output;
    };
    for (std::size_t i = first; i < stages_.size(); i++) {
      std::vector<Expr> read = readBy(stages_[i]);
      if (isStart(i)) std::ranges::copy(readBy(stages_[i + 1]), std::back_inserter(read));  // they stay together
      const bool inLoop = std::any_of(loops_.begin() + static_cast<std::ptrdiff_t>(inner), loops_.end(),
                                      [&](const auto& l) { return l.first <= i && i < l.last; });
      // Where the loop may run no step at all, what may fail stays inside of it.
      const bool perhaps =
          !happens && (mayFailWithin(stages_[i].body) || (isStart(i) && mayFailWithin(stages_[i + 1].body)));
      const bool decides = holds && stages_[i].output == *holds;
      const bool isNext = next.hasFree(stages_[i].output) || (isStart(i) && next.hasFree(stages_[i + 1].output));
      if (inLoop || perhaps || decides || isNext ||
          std::ranges::any_of(read, [&](Expr v) { return changing.count(v) > 0; })) {
        changing.insert(stages_[i].output);
        stay.push_back(i);
      } else {
        go.push_back(i);
      }
    }
    std::vector<std::size_t> order = go;
    order.insert(order.end(), stay.begin(), stay.end());
    std::vector<Stage> moved;
    for (const std::size_t i : order) moved.push_back(stages_[i]);
    std::copy(moved.begin(), moved.end(), stages_.begin() + static_cast<std::ptrdiff_t>(first));
    const auto now = [&](std::size_t i) {
      return first + static_cast<std::size_t>(std::ranges::find(order, i) - order.begin());
    };
    for (std::size_t l = inner; l < loops_.size(); l++) {
      const std::size_t length = loops_[l].last - loops_[l].first;
      const std::size_t beginning = now(loops_[l].first);
      if (loops_[l].condition) loops_[l].condition->at += beginning - loops_[l].first;
      loops_[l].first = beginning;
      loops_[l].last = loops_[l].first + length;
    }
    loops_.push_back({first + go.size(), stages_.size(), count, state, next});
    if (holds) loops_.back().condition = {now(firstOfStep - 1) + 1, *holds};
  }

  // The value of a step in memory: a variable, or a tuple of them and of their components, where some components are
  // there already and `stays` says that they need not move.
  Expr stored(Expr value, const std::function<bool(Expr)>& stays) {
    const Spine s = spineOf(value);
    std::vector<Expr> parts, others;
    for (std::size_t i = 0; s.isPrim(Prim::tuple) && i < s.arguments.size(); i++) {
      parts.push_back(s.arguments[i]);
      if (!stays(s.arguments[i])) others.push_back(s.arguments[i]);
    }
    if (others.size() == parts.size()) return temporary(onlyMovesData(value) ? copied(value) : value);
    if (others.empty()) return value;
    const Expr rest = others.size() == 1 ? others[0] : tuple(others);
    const Expr there = temporary(onlyMovesData(rest) ? copied(rest) : rest);
    for (std::size_t i = 0, k = 0; i < parts.size() && k < others.size(); i++)
      if (parts[i] == others[k]) {
        parts[i] = others.size() == 1 ? there : get(there, k);
        k++;
      }
    return tuple(parts);
  }

  // Whether the term is an array or a number that is stored: a variable, or a component of one.
  bool isInMemory(Expr e) const {
    while (spineOf(e).isPrim(Prim::get) && spineOf(e).arguments.size() == 1) e = spineOf(e).arguments[0];
    return available_.count(e) > 0;
  }

  static std::vector<Expr> readBy(const Stage& stage) {
    std::vector<Expr> read(stage.body.freeVariables().begin(), stage.body.freeVariables().end());
    if (stage.start) read.push_back(*stage.start);
    return read;
  }

  // What the stages from `first` on compute from the state, each once in a step: not in loops of their own.
  std::vector<Expr> ownOf(Expr state, std::size_t first, std::size_t inner) const {
    std::unordered_set<Expr> changing{state};
    std::vector<Expr> own;
    for (std::size_t i = first; i < stages_.size(); i++) {
      const Expr output = stages_[i].output;
      const bool inLoop = std::any_of(loops_.begin() + static_cast<std::ptrdiff_t>(inner), loops_.end(),
                                      [&](const auto& l) { return (l.first <= i && i < l.last) || l.state == output; });
      if (!std::ranges::any_of(readBy(stages_[i]), [&](Expr v) { return changing.count(v) > 0; })) continue;
      changing.insert(output);
      if (!inLoop) own.push_back(output);
    }
    return own;
  }

  // Components of the state of which a step changes some elements by index, and that nothing else in the step reads.
  std::vector<Expr> updatedIn(Expr value, Expr state, std::size_t first) const {
    std::vector<Expr> updated;
    const Spine s = spineOf(value);
    if (!s.isPrim(Prim::tuple)) return updated;
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      const Spine change = spineOf(s.arguments[i]);
      const Expr component = get(state, i), there = Expr::variable("there", component.type());
      if (!change.isPrim(Prim::reduceByIndex) || change.arguments[0] != component) continue;
      // With the other components under names of their own, the state is read where this one is.
      std::unordered_map<Expr, Expr> others{{component, there}};
      std::vector<Expr> readers{change.arguments[1], change.arguments[2]};
      for (std::size_t j = 0; j < s.arguments.size(); j++) {
        if (j == i) continue;
        others.emplace(get(state, j), Expr::variable("other", s.arguments[j].type()));
        readers.push_back(s.arguments[j]);
      }
      for (std::size_t k = first; k + 1 < stages_.size(); k++) readers.push_back(stages_[k].body);
      const bool isRead = std::ranges::any_of(readers, [&](Expr e) {
        const Expr apart = replaceTerms(e, others);
        return apart.hasFree(there) || apart.hasFree(state);
      });
      if (!isRead) updated.push_back(component);
    }
    return updated;
  }

  Guards guards_;
  std::unordered_set<Expr> available_;
  std::vector<Stage> stages_;
  std::vector<Outline::Loop> loops_;
  std::vector<std::pair<Expr, Expr>> lets_;  // variables and their values, which name only what is in front of them
  std::unordered_map<Expr, Expr> memo_;
  std::unordered_map<Expr, Expr> kept_;  // intermediates by what they keep
  Canonical canonical_;
};

}  // namespace

Outline outline(const Program& program) { return Outliner(program).run(program.body); }

}  // namespace lift::detail
