// Kernel boundaries: an intermediate that lives in global memory is computed by a kernel of its own.
#include <fmt/format.h>

#include "lift/diagnostic.hpp"
#include "lowering.hpp"

namespace lift::detail {
namespace {

constexpr std::int64_t maxPlanIterations = 4096;

bool runsInParallel(Expr e) {
  return anyPrimitive(e, [](Expr p) { return p.prim() == Prim::mapGlb || p.prim() == Prim::mapWrg; });
}

class Outliner {
 public:
  explicit Outliner(const Program& program) : spans_(program.spans) {
    for (const Expr p : program.parameters) available_.insert(p);
  }

  std::vector<Stage> run(Expr body) {
    const Expr last = result(etaLong(body));
    stages_.push_back({Expr::variable("out", last.type()), last});
    return std::move(stages_);
  }

 private:
  bool isAvailable(Expr e) const {
    for (const Expr v : e.freeVariables())
      if (!available_.count(v)) return false;
    return true;
  }

  Expr temporary(Expr body) {
    const Expr out = Expr::variable("tmp", body.type());
    stages_.push_back({out, body});
    available_.insert(out);
    return out;
  }

  // The term whose value is the stage's result; what can be written through to the destination stays.
  Expr result(Expr e) {
    if (!e.is(Expr::Form::apply)) return e;
    Spine s = spineOf(e);
    auto& a = s.arguments;
    if (isWrittenThrough(s.head.prim())) {
      for (Expr& x : a) x = result(x);
      return applyAll(s.head, a);
    }
    switch (s.head.prim()) {
      case Prim::toGlobal:
        return result(a[0]);
      case Prim::let:
        return result(substitute(a[0].body(), a[0].parameter(), bound(a[1])));
      case Prim::iterate:
        if (runsInParallel(a[0])) return result(unrolled(s));
        break;
      case Prim::map:
        if (isInvertibleIn(a[0].body(), a[0].parameter())) {
          a[1] = result(a[1]);
          return applyAll(s.head, a);
        }
        break;
      default:
        break;
    }
    for (Expr& x : a) x = operand(x);
    return applyAll(s.head, a);
  }

  // A let outside of every map: its value is an intermediate, unless reading it again costs nothing.
  Expr bound(Expr value) {
    if (onlyMovesData(value) || !value.type().isArray()) return operand(value);
    return temporary(result(value));
  }

  // A term that the stage reads; also inside lambdas, where its value does not depend on them.
  Expr operand(Expr e) {
    if (!e.is(Expr::Form::apply) && !e.is(Expr::Form::lambda)) return e;
    if (auto done = memo_.find(e); done != memo_.end()) return done->second;
    const Expr out = rebuilt(e);
    memo_.emplace(e, out);
    return out;
  }

  Expr rebuilt(Expr e) {
    if (e.is(Expr::Form::lambda)) return Expr::lambda(e.parameter(), operand(e.body()));
    Spine s = spineOf(e);
    if (isAvailable(e)) {
      if (s.isPrim(Prim::toGlobal)) return temporary(result(s.arguments[0]));
      if (s.isPrim(Prim::mapGlb) || s.isPrim(Prim::mapWrg)) return temporary(result(e));
      if (s.isPrim(Prim::iterate) && runsInParallel(s.arguments[0])) return operand(unrolled(s));
      if (s.isPrim(Prim::let) && runsInParallel(e))
        return operand(substitute(s.arguments[0].body(), s.arguments[0].parameter(), bound(s.arguments[1])));
    }
    for (Expr& x : s.arguments) x = operand(x);
    return applyAll(s.head, s.arguments);
  }

  // iterate over kernels: one launch a step (equal kernels are made once).
  Expr unrolled(const Spine& s) {
    const auto count = s.head.nats()[0].constant();
    if (!count || *count > maxPlanIterations || *count < 0)
      refuse(spans_, s.head,
             fmt::format("iterate over kernels needs a constant count up to {}, found {}", maxPlanIterations,
                         s.head.nats()[0].str()),
             "give a value to the size (--size …)");
    Expr value = s.arguments[1];
    for (std::int64_t i = 0; i < *count; i++) {
      if (i > 0 || !onlyMovesData(value)) value = temporary(result(value));
      value = substitute(s.arguments[0].body(), s.arguments[0].parameter(), value);
    }
    return value;
  }

  const Spans& spans_;
  std::unordered_set<Expr> available_;
  std::vector<Stage> stages_;
  std::unordered_map<Expr, Expr> memo_;
};

}  // namespace

std::vector<Stage> outline(const Program& program) { return Outliner(program).run(program.body); }

}  // namespace lift::detail
