// Lowering: the value of a term as a view.
#include <fmt/format.h>

#include "lowerer.hpp"

namespace lift::detail {

ViewPtr Lowering::apply(Expr lambda, const EnvPtr& env, const ViewPtr& argument) {
  ensure(lambda.is(Expr::Form::lambda), "function arguments are lambdas after etaLong");
  return read(lambda.body(), bindParameter(lambda, env, argument));
}

ViewPtr Lowering::read(Expr e, const EnvPtr& env) {
  switch (e.form()) {
    case Expr::Form::variable:
      return lookUp(env, e);
    case Expr::Form::literal: {
      ScalarValue v = e.value();
      if (v.type == Scalar::f16) v = convert(v, Scalar::f32);
      return valueView(e.type(), kernel::literal(v));
    }
    case Expr::Form::natLiteral:
      return valueView(e.type(), kernel::index(e.natValue()));
    default:
      break;
  }
  const Spine s = spineOf(e);
  ensure(s.head.is(Expr::Form::primitive), "a term is a variable, a literal or an application of a primitive");
  const auto& a = s.arguments;
  const auto& nats = s.head.nats();
  const Prim prim = s.head.prim();
  switch (prim) {
    case Prim::map: {
      const ViewPtr in = read(a[1], env);
      return lazyView(e.type(), [this, f = a[0], env, in](Nat i) { return apply(f, env, in->at(i)); });
    }
    case Prim::generate:
      return lazyView(e.type(), [this, f = a[0], env](Nat i) {
        return apply(f, env, valueView(f.parameter().type(), kernel::index(i)));
      });
    case Prim::let: {
      ViewPtr in = read(a[1], env);
      if (a[1].type().isRegister() && !a[1].type().is(Type::Kind::tuple)) in = inRegister(in, a[0].parameter().name());
      return apply(a[0], env, in);
    }
    case Prim::vectorize:
      return apply(a[0], env, read(a[1], env));
    case Prim::id:
      return read(a[0], env);
    case Prim::zip:
    case Prim::tuple: {
      std::vector<ViewPtr> parts;
      for (const Expr x : a) parts.push_back(read(x, env));
      return prim == Prim::zip ? zipView(std::move(parts)) : tupleView(std::move(parts));
    }
    case Prim::unzip:
      return unzipView(read(a[0], env));
    case Prim::get:
      return read(a[0], env)->component(static_cast<int>(*nats[0].constant()));
    case Prim::split:
      return splitView(read(a[0], env), nats[0]);
    case Prim::join:
      return joinView(read(a[0], env));
    case Prim::slide:
    case Prim::slideStrict:
      return slideView(read(a[0], env), nats[0], nats[1]);
    case Prim::pad:
      return padView(read(a[1], env), nats[0], nats[1], read(a[0], env));
    case Prim::padClamp:
    case Prim::padMirror:
    case Prim::padWrap:
      return padIndexView(read(a[0], env), prim, nats[0], nats[1]);
    case Prim::transpose:
      return transposeView(read(a[0], env));
    case Prim::reorder:
      return reorderView(read(a[0], env), s.head.indexFn(), nats);
    case Prim::concat:
      return concatView(read(a[0], env), read(a[1], env));
    case Prim::take:
      return takeView(read(a[0], env), nats[0]);
    case Prim::drop:
      return dropView(read(a[0], env), nats[0]);
    case Prim::asVector:
      return asVectorView(read(a[0], env), nats[0]);
    case Prim::asScalar:
      return asScalarView(read(a[0], env));
    case Prim::at:
      return elementAt(read(a[0], env), read(a[1], env));
    case Prim::op:
      return valueView(e.type(), operation(s.head.op(), a, env));
    case Prim::convert: {
      const ExprPtr from = value(read(a[0], env));
      if (s.head.target() != Scalar::f16) return valueView(e.type(), kernel::convertTo(from, s.head.target()));
      // Half is a storage type: what is stored is rounded then, constants are now.
      if (const auto* l = std::get_if<kernel::Literal>(&from->node))
        return valueView(e.type(),
                         kernel::literal(convert(convert(l->value, Scalar::f16), Scalar::f32), from->type.width));
      return valueView(e.type(), kernel::convertTo(from, Scalar::f32));
    }
    case Prim::splat: {
      const int width = valueTypeOf(e.type()).width;
      return valueView(e.type(), kernel::splat(value(read(a[0], env)), width));
    }
    case Prim::dot:
      return valueView(e.type(), dot(value(read(a[0], env)), value(read(a[1], env))));
    case Prim::reduce:
    case Prim::reduceSeq:
    case Prim::reduceSeqUnroll:
      return reduce(s, env);
    case Prim::toPrivate:
      requireConstantSizes(s.head, e.type(), Space::priv);
      return materialise(a[0], env, Space::priv, nameFor(a[0], "p"));
    case Prim::toLocal:
      requireConstantSizes(s.head, e.type(), Space::local);
      return materialise(a[0], env, Space::local, nameFor(a[0], "tile"));
    case Prim::toGlobal:
      return materialise(a[0], env, Space::global, nameFor(a[0], "tmp"));
    case Prim::mapLcl:
      requireConstantSizes(s.head, e.type(), Space::local);
      return materialise(e, env, Space::local, "tile");
    case Prim::mapSeq:
    case Prim::mapSeqUnroll:
    case Prim::scan:
    case Prim::scanSeq:
    case Prim::scanExclusive:
    case Prim::scanExclusiveSeq:
    case Prim::iterate:
      return materialise(e, env, ownSpace(e.type()), "p");
    case Prim::mapGlb:
    case Prim::mapWrg:
      break;
  }
  refuse(spans_, s.head, fmt::format("the result of {} is read inside its own kernel", info(prim).name),
         "an intermediate result of all work-groups needs toGlobal outside of every map");
}

std::string Lowering::nameFor(Expr e, const char* otherwise) {
  return e.is(Expr::Form::variable) ? e.name() : otherwise;
}

std::optional<Nat> Lowering::natOf(const ExprPtr& e) {
  if (const auto* i = std::get_if<kernel::Index>(&e->node)) return i->value;
  if (const auto* l = std::get_if<kernel::Literal>(&e->node); l && e->type == ValueType{Scalar::i32, 1})
    return Nat(l->value.integer);
  return std::nullopt;
}

ViewPtr Lowering::elementAt(const ViewPtr& index, const ViewPtr& array) {
  const ExprPtr i = value(index);
  if (const auto n = natOf(i)) return array->at(*n);
  const NatVar v = NatVar::fresh("at", 0, array->type().length() - Nat(1), NatVar::Role::index);
  emit(kernel::DeclareIndex{v, i});
  return array->at(Nat(v));
}

ExprPtr Lowering::operation(Op op, const std::vector<Expr>& operands, const EnvPtr& env) {
  std::vector<ExprPtr> args;
  if (op == Op::select) {
    const ExprPtr condition = value(read(operands[0], env));
    const ExprPtr then = value(read(operands[1], env)), otherwise = value(read(operands[2], env));
    if (condition->type.width == 1) {
      const int width = std::max(then->type.width, otherwise->type.width);
      return kernel::choose(condition, widen(then, width), widen(otherwise, width));
    }
    args = {condition, then, otherwise};
  } else {
    for (const Expr o : operands) args.push_back(value(read(o, env)));
    if (const auto folded = onIndices(op, args)) return *folded;
  }
  int width = 1;
  for (const ExprPtr& a : args) width = std::max(width, a->type.width);
  for (ExprPtr& a : args) a = widen(a, width);
  return kernel::operation(op, std::move(args));
}

ExprPtr Lowering::widen(const ExprPtr& e, int width) { return e->type.width == width ? e : kernel::splat(e, width); }

std::optional<ExprPtr> Lowering::onIndices(Op op, const std::vector<ExprPtr>& args) {
  std::vector<Nat> n;
  bool anyIndex = false;
  for (const ExprPtr& a : args) {
    const auto nat = natOf(a);
    if (!nat) return std::nullopt;
    anyIndex = anyIndex || std::holds_alternative<kernel::Index>(a->node);
    n.push_back(*nat);
  }
  if (!anyIndex) return std::nullopt;
  using kernel::Relation;
  const auto isNonNegative = [](Nat x) { return lessEqual(Nat(0), x) == Truth::proved; };
  const auto isPositive = [](Nat x) { return less(Nat(0), x) == Truth::proved; };
  switch (op) {
    case Op::add:
      return kernel::index(n[0] + n[1]);
    case Op::sub:
      return kernel::index(n[0] - n[1]);
    case Op::mul:
      return kernel::index(n[0] * n[1]);
    case Op::neg:
      return kernel::index(-n[0]);
    case Op::min:
      return kernel::index(min(n[0], n[1]));
    case Op::max:
      return kernel::index(max(n[0], n[1]));
    case Op::div:
      if (isNonNegative(n[0]) && isPositive(n[1])) return kernel::index(floorDiv(n[0], n[1]));
      return std::nullopt;
    case Op::mod:
      if (isNonNegative(n[0]) && isPositive(n[1])) return kernel::index(mod(n[0], n[1]));
      return std::nullopt;
    case Op::lt:
      return kernel::test({{n[0], Relation::less, n[1]}});
    case Op::le:
      return kernel::test({{n[0], Relation::lessEqual, n[1]}});
    case Op::gt:
      return kernel::test({{n[1], Relation::less, n[0]}});
    case Op::ge:
      return kernel::test({{n[1], Relation::lessEqual, n[0]}});
    case Op::eq:
      return kernel::test({{n[0], Relation::equal, n[1]}});
    case Op::ne:
      return kernel::test({{n[0], Relation::notEqual, n[1]}});
    default:
      return std::nullopt;
  }
}

ExprPtr Lowering::dot(ExprPtr a, ExprPtr b) {
  if (!isAtom(a)) a = declare("a", a);
  if (!isAtom(b)) b = declare("b", b);
  ExprPtr sum = kernel::operation(Op::mul, {kernel::lane(a, 0), kernel::lane(b, 0)});
  for (int l = 1; l < a->type.width; l++)
    sum = kernel::operation(Op::add, {sum, kernel::operation(Op::mul, {kernel::lane(a, l), kernel::lane(b, l)})});
  return sum;
}

int Lowering::unrollOf(const Spine& s) {
  const Prim p = s.head.prim();
  if (p != Prim::mapSeqUnroll && p != Prim::reduceSeqUnroll) return 0;
  const auto factor = s.head.nats()[0].constant();
  if (!factor || *factor < 0)
    throw UserError(ExitStatus::program, fmt::format("{}: the unroll factor must be a constant", info(p).name));
  return *factor == 0 ? -1 : static_cast<int>(*factor);
}

ViewPtr Lowering::reduce(const Spine& s, const EnvPtr& env) {
  const Expr init = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
  const ViewPtr xs = read(in, env);
  std::vector<kernel::BufferId> buffers;
  ViewPtr acc;
  if (init.type().isRegister() && !init.type().is(Type::Kind::tuple)) {
    const ExprPtr v = value(read(init, env));
    const kernel::VarId variable = newVariable("acc", v->type);
    emit(kernel::Declare{variable, v});
    acc = std::make_shared<RegisterView>(init.type(), variable);
  } else {
    const Space space = ownSpace(init.type());
    acc = allocate(init.type(), space, "acc", &buffers);
    write(init, env, {acc, space});
  }
  loop("i", in.type().length(), LoopKind::sequential, 0, unrollOf(s),
       [&](Nat i) { step(f, env, acc, buffers, xs->at(i)); });
  return acc;
}

void Lowering::step(Expr f, const EnvPtr& env, const ViewPtr& acc, const std::vector<kernel::BufferId>& buffers,
                    const ViewPtr& x) {
  const Type type = acc->type();
  const EnvPtr inner = bindParameter(f, env, tupleView({acc, x}));
  if (goesOnReducing(f)) {
    const Spine s = spineOf(f.body());
    const ViewPtr xs = read(s.arguments[2], inner);
    return loop("i", s.arguments[2].type().length(), LoopKind::sequential, 0, unrollOf(s),
                [&](Nat i) { step(s.arguments[1], inner, acc, buffers, xs->at(i)); });
  }
  if (type.isRegister()) {
    // All components are computed before the first is replaced.
    const ViewPtr next = read(f.body(), inner);
    std::vector<std::pair<ViewPtr, ExprPtr>> updates;
    leafValues(next, acc, updates);
    if (updates.size() > 1)
      for (auto& [to, v] : updates)
        if (!isAtom(v) || std::holds_alternative<kernel::VarRef>(v->node)) v = declare("next", v);
    for (const auto& [to, v] : updates) store(to, v);
    return;
  }
  const Space space = ownSpace(type);
  Block direct = collect([&] { write(f.body(), inner, {acc, space}); });
  if (type.isArray() && mayStoreInPlace(direct, buffers)) {
    for (kernel::Stmt& s : direct) block_->push_back(std::move(s));
    return;
  }
  const ViewPtr next = allocate(type, space, "next");
  write(f.body(), inner, {next, space});
  copy(next, {acc, space});
}

void Lowering::leafValues(const ViewPtr& from, const ViewPtr& to, std::vector<std::pair<ViewPtr, ExprPtr>>& out) {
  if (!to->type().is(Type::Kind::tuple)) {
    out.emplace_back(to, value(from));
    return;
  }
  for (int c = 0; c < static_cast<int>(to->type().components().size()); c++)
    leafValues(from->component(c), to->component(c), out);
}

}  // namespace lift::detail
