// Lowering: values computed in steps, each from what the one before left: reductions and iterations.
#include <fmt/format.h>

#include "lift/accumulation.hpp"
#include "lift/build.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/terms.hpp"
#include "lowerer.hpp"

namespace lift::detail {

int Lowering::unrollOf(const Spine& s) {
  const Prim p = s.head.prim();
  if (p != Prim::mapSeqUnroll && p != Prim::reduceSeqUnroll) return 0;
  const auto factor = s.head.nats()[0].constant();
  if (!factor || *factor < 0)
    throw UserError(ExitStatus::program, fmt::format("{}: the unroll factor must be a constant", info(p).name));
  return *factor == 0 ? -1 : static_cast<int>(*factor);
}

ViewPtr Lowering::reduce(const Spine& s, const EnvPtr& env) {
  const Expr init = s.arguments[0];
  const ViewPtr xs = read(s.arguments[2], env);
  Accumulator acc;
  if (init.type().isRegister() && !init.type().isTuple()) {
    const ExprPtr v = value(read(init, env));
    const kernel::VarId variable = newVariable("acc", v->type);
    emit(kernel::Declare{variable, v});
    acc.view = std::make_shared<RegisterView>(init.type(), variable);
  } else {
    const AddressSpace space = ownSpace(init.type());
    acc.view = allocate(init.type(), space, "acc", &acc.buffers);
    write(init, env, {acc.view, space});
  }
  accumulate(s, env, xs, acc);
  return acc.view;
}

// Each work-item reduces its elements from where a part may start; then all have the whole.
ViewPtr Lowering::reduceInGroup(const Spine& s, const EnvPtr& env) {
  const Expr init = s.arguments[0], f = s.arguments[1];
  const auto accumulation = init.type().isRegister() ? rewrite::accumulationOf(init, f) : std::nullopt;
  const auto operations = accumulation ? rewrite::operationsOf(*accumulation) : std::nullopt;
  if (!operations)
    refuse(spans_, s.head, "the function of reduceLcl does not add to its accumulator by one operation on scalars",
           "work-items put together what each has: by +, *, min, max, and, or, bitAnd, bitOr or bitXor");
  checkNest(s.head, LoopKind::local, 0, {});
  const ViewPtr xs = read(s.arguments[2], env);
  std::vector<kernel::VarId> variables;
  std::vector<ViewPtr> starts;
  leaves(read(accumulation->start, env), starts);
  const auto declared = [&](Type type) {
    const ExprPtr start = value(starts[variables.size()]);
    variables.push_back(newVariable("acc", start->type));
    emit(kernel::Declare{variables.back(), start});
    return std::make_shared<RegisterView>(type, variables.back());
  };
  const Accumulator acc{composed(init.type(), declared), {}};
  loop("lcl0", s.arguments[2].type().length(), LoopKind::local, 0, 0, [&](Nat i) { step(f, env, acc, xs->at(i)); });
  std::vector<ExprPtr> results = leafValues(read(init, env));
  for (std::size_t i = 0; i < variables.size(); i++) {
    // As many as the group has work-items, which chooseRange knows.
    const Scalar scalar = results[i]->type.scalar;
    const kernel::BufferId parts = newBuffer("parts", scalar, 1, AddressSpace::local, Nat(1), false);
    emit(kernel::Combine{variables[i], (*operations)[i], parts});
    results[i] = lanewise((*operations)[i], {results[i], kernel::ref(variables[i], results[i]->type)});
  }
  return registersOf(init.type(), results);
}

void Lowering::accumulate(const Spine& s, const EnvPtr& env, const ViewPtr& xs, const Accumulator& acc) {
  loop("i", s.arguments[2].type().length(), LoopKind::sequential, 0, unrollOf(s),
       [&](Nat i) { step(s.arguments[1], env, acc, xs->at(i)); });
}

void Lowering::step(Expr f, const EnvPtr& env, const Accumulator& acc, const ViewPtr& x) {
  const EnvPtr inner = bindParameter(f, env, tupleView({acc.view, x}));
  if (goesOnReducing(f)) {
    const Spine s = spineOf(f.body());
    return accumulate(s, inner, read(s.arguments[2], inner), acc);
  }
  advance(f.body(), inner, acc, ownSpace(acc.view->type()));
}

void Lowering::advance(Expr next, const EnvPtr& env, const Accumulator& acc, AddressSpace space) {
  if (acc.view->type().isRegister()) return replace(acc.view, read(next, env));
  Made before = made();
  Block direct = collect([&] { write(next, env, {acc.view, space}); });
  const bool registersLast = assignLast(direct, acc.view);
  if (registersLast && mayStoreInPlace(direct, acc.buffers.empty() ? storedIn(direct) : acc.buffers)) {
    for (kernel::Stmt& s : direct) block_->push_back(std::move(s));
    return;
  }
  backTo(std::move(before));
  const ViewPtr apart = allocateState(acc.view->type(), space, "next");
  write(next, env, {apart, space});
  copy(apart, {acc.view, space}, space == AddressSpace::local ? LoopKind::local : LoopKind::sequential);
}

// Assigns a step's new values to the accumulator's registers after the last statement of the block that reads the old
// ones. False where some value is not assigned whole by the block itself.
bool Lowering::assignLast(Block& step, const ViewPtr& accumulator) {
  std::vector<ViewPtr> all;
  leaves(accumulator, all);
  std::set<kernel::VarId> registers;
  for (const ViewPtr& v : all)
    if (const auto* r = viewAs<RegisterView>(v)) registers.insert(r->variable);
  const auto isLane = [&](const kernel::Stmt& s) {
    const auto* lane = as<kernel::AssignLane>(s);
    return lane != nullptr && registers.contains(lane->variable);
  };
  Block now, last;
  for (kernel::Stmt& s : step) {
    auto* a = as<kernel::Assign>(s);
    if (a != nullptr && registers.contains(a->variable)) {
      const ValueType type = a->value->type;
      const kernel::VarId next = newVariable("next", type);
      last.push_back({kernel::Assign{a->variable, kernel::ref(next, type)}});
      now.push_back({kernel::Declare{next, a->value}});
      continue;
    }
    bool assigns = isLane(s);
    kernel::forEachBlock(s, [&](const Block& inner) {
      assigns = assigns || kernel::anyStmt(inner, [&](const kernel::Stmt& x) {
                  const auto* deep = as<kernel::Assign>(x);
                  return isLane(x) || (deep != nullptr && registers.contains(deep->variable));
                });
    });
    if (assigns) return false;
    now.push_back(std::move(s));
  }
  std::ranges::move(last, std::back_inserter(now));
  step = std::move(now);
  return true;
}

void Lowering::replace(const ViewPtr& registers, const ViewPtr& next) {
  std::vector<ViewPtr> to;
  leaves(registers, to);
  std::vector<ExprPtr> values = leafValues(next);
  if (to.size() > 1)
    for (ExprPtr& v : values)
      if (!isAtom(v) || is<kernel::VarRef>(v)) v = declare("next", v);
  for (std::size_t i = 0; i < to.size(); i++) store(to[i], values[i]);
}

Expr Lowering::Counter::of(Expr state) const {
  return component ? build::component(state, static_cast<std::size_t>(*component)) : state;
}

ViewPtr Lowering::Counter::of(const ViewPtr& state) const { return component ? state->component(*component) : state; }

ViewPtr Lowering::Counter::at(Nat number, const ViewPtr& state) const {
  if (!fitsInt(number)) return state;
  const ViewPtr known = valueView(of(state)->type(), kernel::index(number));
  if (!component) return known;
  std::vector<ViewPtr> parts;
  for (int c = 0; c < static_cast<int>(state->type().components().size()); c++)
    parts.push_back(c == *component ? known : state->component(c));
  return tupleView(std::move(parts));
}

bool Lowering::Counter::isRaisedBy(Expr f) const {
  const Expr now = of(f.parameter()), next = of(letsOf(f.body()).body);
  if (now.type() != Type::scalar(Scalar::i32)) return false;
  const Spine sum = spineOf(next);
  const auto isOne = [](Expr e) {
    return (e.isLiteral() && e.value().integer == 1) || (e.isNatLiteral() && e.natValue() == Nat(1));
  };
  const auto is = [&](std::size_t a, std::size_t b) { return sum.arguments[a] == now && isOne(sum.arguments[b]); };
  return sum.isPrim(Prim::op) && sum.head.op() == Op::add && (is(0, 1) || is(1, 0));
}

namespace {

// What is asked before a step: whether a number of the state is less than what no step changes.
struct Comparison {
  std::optional<int> component;  // of the state; none: the state itself
  Expr bound;
};

std::optional<Comparison> comparisonOf(Expr condition) {
  const Spine s = spineOf(condition.body());
  if (!s.isPrim(Prim::op) || (s.head.op() != Op::lt && s.head.op() != Op::gt)) return std::nullopt;
  const bool isFirst = s.head.op() == Op::lt;
  const Expr state = condition.parameter(), number = s.arguments[isFirst ? 0 : 1], bound = s.arguments[isFirst ? 1 : 0];
  if (bound.hasFree(state)) return std::nullopt;
  if (number == state) return Comparison{{}, bound};
  const Spine n = spineOf(number);
  if (!n.isPrim(Prim::get) || n.arguments[0] != state) return std::nullopt;
  return Comparison{static_cast<int>(*n.head.nats()[0].constant()), bound};
}

}  // namespace

// The term as an index, where no statement is needed to compute it.
std::optional<Nat> Lowering::indexOf(Expr e, const EnvPtr& env) {
  ExprPtr known;
  Made before = made();
  const bool isThere = collect([&] { known = value(read(e, env)); }).empty();
  const auto index = isThere ? natOf(known) : std::nullopt;
  if (!index) backTo(std::move(before));
  return index;
}

// How many steps there are, if that is known before the first one: those of a state whose number grows to a bound.
Nat Lowering::stepsTo(const ExprPtr& bound, const ExprPtr& first, Nat most) {
  const auto from = natOf(first), to = natOf(bound);
  if (from && to) return min(most, max(0, *to - *from));
  const auto wide = [](const ExprPtr& e) { return kernel::convertTo(e, Scalar::i64); };
  const ExprPtr none = kernel::literal(ScalarValue::ofInteger(Scalar::i64, 0));
  const ExprPtr between = lanewise(Op::max, {none, lanewise(Op::sub, {wide(bound), wide(first)})});
  const NatVar steps = NatVar::fresh("steps", 0, most, NatVar::Role::index);
  emit(kernel::DeclareIndex{steps,
                            kernel::convertTo(lanewise(Op::min, {wide(kernel::index(most)), between}), Scalar::i32)});
  return steps;
}

ViewPtr Lowering::iterateWhile(const Spine& s, const EnvPtr& env) {
  const Expr condition = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
  const bool registers = in.type().isRegister();
  const AddressSpace space = registers ? AddressSpace::priv : spaceForSteps(s, in.type());
  Accumulator state;
  state.view = allocate(in.type(), space, "state", &state.buffers);
  if (registers)
    replace(state.view, read(in, env));
  else
    write(in, env, {state.view, space});
  // Whether there is another step, after `done` of them; the condition is only asked where the count leaves it open.
  const Nat count = s.head.nats()[0];
  const bool mayFail = mayFailWithin(condition);
  const auto comparison = comparisonOf(condition);
  if (const Counter counter{comparison ? comparison->component : std::nullopt};
      comparison && counter.isRaisedBy(f) && fitsInt(count) && (!mayFail || lessEqual(1, count) == Truth::proved)) {
    const auto from = indexOf(counter.of(in), env);
    const Nat steps = stepsTo(value(read(comparison->bound, env)),
                              from ? kernel::index(*from) : value(counter.of(state.view)), count);
    loop("step", steps, LoopKind::sequential, 0, 0, [&](Nat step) {
      const ViewPtr before = from ? counter.at(*from + step, state.view) : state.view;
      advance(f.body(), bindParameter(f, env, before), state, space);
    });
    return state.view;
  }
  const auto goesOn = [&](Nat done) {
    const auto holds = [&] { return std::vector{value(apply(condition, env, state.view))}; };
    const auto no = [&] { return std::vector{kernel::literal(ScalarValue::ofInteger(Scalar::boolean, 0))}; };
    return mayFail ? choose(kernel::test({{done, kernel::Relation::less, count}}), "holds", holds, no)[0] : holds()[0];
  };
  const ExprPtr first = goesOn(0);
  const kernel::VarId running = newVariable("running", first->type);
  emit(kernel::Declare{running, first});
  loop(
      "step", count, LoopKind::sequential, 0, 1,
      [&](Nat step) {
        advance(f.body(), bindParameter(f, env, state.view), state, space);
        emit(kernel::Assign{running, goesOn(step + Nat(1))});
      },
      running);
  return state.view;
}

}  // namespace lift::detail
