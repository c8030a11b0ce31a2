// Lowering: the value of a term as a view.
#include <fmt/format.h>

#include <algorithm>

#include "lift/interpreter.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/mapping.hpp"
#include "lowerer.hpp"

namespace lift::detail {

ViewPtr Lowering::apply(Expr lambda, const EnvPtr& env, const ViewPtr& argument) {
  ensure(lambda.isLambda(), "function arguments are lambdas after etaLong");
  return read(lambda.body(), bindParameter(lambda, env, argument));
}

bool Lowering::isByLane(Expr f) {
  const auto& outside = f.freeVariables();
  const auto isInside = [&](Expr v) { return std::ranges::find(outside, v) == outside.end(); };
  const auto isRead = [&](Expr e) {  // at(i)
    if (!e.isApply() || !e.function().isPrimitive() || e.function().prim() != Prim::at) return false;
    return std::ranges::any_of(e.argument().freeVariables(), isInside);
  };
  const auto keepsOwn = [&](Expr e) {
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive()) return false;
    const Traits& t = traits(s.head.prim());
    const bool keeps =
        t.memory != Traits::Memory::none ||
        (t.loop != Traits::Loop::none && t.loop != Traits::Loop::map && t.loop != Traits::Loop::generate);
    return keeps && std::ranges::any_of(e.freeVariables(), isInside);
  };
  const auto chooses = [](Expr e) { return choosesWhatMayFail(spineOf(e)); };
  return anyTerm(f, isRead) || anyTerm(f, keepsOwn) || anyTerm(f, chooses);
}

ViewPtr Lowering::read(Expr e, const EnvPtr& env) {
  switch (e.form()) {
    case Expr::Form::variable: return lookUp(env, e);
    case Expr::Form::literal: {
      ScalarValue v = e.value();
      if (v.type == Scalar::f16) v = convert(v, Scalar::f32);
      return valueView(e.type(), kernel::literal(v));
    }
    case Expr::Form::natLiteral: return valueView(e.type(), integer(e.natValue()));
    default: break;
  }
  const Spine s = spineOf(e);
  ensure(s.head.isPrimitive(), "a term is a variable, a literal or an application of a primitive");
  if (ViewPtr elsewhere = layout(s, env)) return elsewhere;
  if (ViewPtr value = computed(e, s, env)) return value;
  if (ViewPtr memory = kept(e, s, env)) return memory;
  ensure(s.isPrim(Prim::mapGlb) || s.isPrim(Prim::mapWrg), "every other primitive has a view");
  refuse(spans_, s.head, fmt::format("the result of {} is read inside its own kernel", info(s.head.prim()).name),
         "an intermediate result of all work-groups needs toGlobal outside of every map");
}

// The value of a primitive that only moves data: the same elements at other indices. Like the functions below, it
// returns nothing for other primitives.
ViewPtr Lowering::layout(const Spine& s, const EnvPtr& env) {
  const auto& a = s.arguments;
  const auto& nats = s.head.nats();
  const Prim prim = s.head.prim();
  switch (prim) {
    case Prim::id: return read(a[0], env);
    case Prim::zip:
    case Prim::tuple: {
      std::vector<ViewPtr> parts;
      for (const Expr x : a) parts.push_back(read(x, env));
      return prim == Prim::zip ? zipView(std::move(parts)) : tupleView(std::move(parts));
    }
    case Prim::unzip: return unzipView(read(a[0], env));
    case Prim::get: return read(a[0], env)->component(static_cast<int>(*nats[0].constant()));
    case Prim::split: return splitView(read(a[0], env), nats[0]);
    case Prim::join: return joinView(read(a[0], env));
    case Prim::slide:
    case Prim::slideStrict: return slideView(read(a[0], env), nats[0], nats[1]);
    case Prim::pad: return padView(read(a[1], env), nats[0], nats[1], read(a[0], env));
    case Prim::padClamp:
    case Prim::padMirror:
    case Prim::padWrap: return padIndexView(read(a[0], env), prim, nats[0], nats[1]);
    case Prim::transpose: return transposeView(read(a[0], env));
    case Prim::reorder: return reorderView(read(a[0], env), s.head.indexFn(), nats);
    case Prim::concat: return concatView(read(a[0], env), read(a[1], env));
    case Prim::take: return takeView(read(a[0], env), nats[0]);
    case Prim::drop: return dropView(read(a[0], env), nats[0]);
    case Prim::asVector: return asVectorView(read(a[0], env), nats[0]);
    case Prim::asScalar: return asScalarView(read(a[0], env));
    default: return nullptr;
  }
}

// The value of a primitive that is computed where it is read.
ViewPtr Lowering::computed(Expr e, const Spine& s, const EnvPtr& env) {
  const auto& a = s.arguments;
  switch (s.head.prim()) {
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
      if (a[1].type().isRegister() && !a[1].type().isTuple()) in = inRegister(in, a[0].parameter().name());
      return apply(a[0], env, in);
    }
    case Prim::ifThenElse: return conditional(e, s, env);
    case Prim::vectorize:
      if (isByLane(a[0])) return vectorizeLanes(s, env);
      return inAllLanes(apply(a[0], env, read(a[1], env)), e.type(), s.head.nats()[0]);
    case Prim::arrayOf:
      if (isTable(e)) return table(e);
      return elementsView(e.type(), deferred(a, env));
    case Prim::at: return elementAt(s.head, read(a[0], env), read(a[1], env));
    case Prim::op: return valueView(e.type(), operation(s.head, a, env));
    case Prim::convert: {
      const ExprPtr from = value(read(a[0], env));
      if (s.head.target() != Scalar::f16) return valueView(e.type(), kernel::convertTo(from, s.head.target()));
      // Half is a storage type: what is stored is rounded then, constants are now.
      if (const auto* l = as<kernel::Literal>(from))
        return valueView(e.type(),
                         kernel::literal(convert(convert(l->value, Scalar::f16), Scalar::f32), from->type.width));
      return valueView(e.type(), kernel::convertTo(from, Scalar::f32));
    }
    case Prim::splat: {
      const int width = valueTypeOf(e.type()).width;
      return valueView(e.type(), kernel::splat(value(read(a[0], env)), width));
    }
    case Prim::anyLane: return valueView(e.type(), kernel::anyLane(value(read(a[0], env))));
    case Prim::dot: return valueView(e.type(), dot(value(read(a[0], env)), value(read(a[1], env))));
    case Prim::reduce:
    case Prim::reduceSeq:
    case Prim::reduceSeqUnroll: return reduce(s, env);
    case Prim::reduceLcl: return reduceInGroup(s, env);
    case Prim::iterateWhile: return iterateWhile(s, env);
    default: return nullptr;
  }
}

// The value of a primitive that is put into memory before it is read.
ViewPtr Lowering::kept(Expr e, const Spine& s, const EnvPtr& env) {
  const auto& a = s.arguments;
  const Prim prim = s.head.prim();
  switch (prim) {
    case Prim::toPrivate:
    case Prim::toLocal:
    case Prim::toGlobal:
    case Prim::toImage: {
      const AddressSpace space = spaceOf(prim);
      requireConstantSizes(s.head, e.type(), space);
      return materialise(a[0], env, space, a[0].isVariable() ? a[0].name() : nameIn(space));
    }
    case Prim::mapLcl:
    case Prim::reduceByIndexLcl:
      requireConstantSizes(s.head, e.type(), AddressSpace::local);
      return materialise(e, env, AddressSpace::local, nameIn(AddressSpace::local));
    case Prim::mapSeq:
    case Prim::mapSeqUnroll:
    case Prim::scan:
    case Prim::scanSeq:
    case Prim::scanExclusive:
    case Prim::scanExclusiveSeq:
    case Prim::reduceByIndexGlb:  // which is refused where it is read inside of its kernel
    case Prim::reduceByIndex: return materialise(e, env, ownSpace(e.type()), nameIn(AddressSpace::priv));
    case Prim::iterate: {  // numbers, too, which `materialise` would come back here to read
      const AddressSpace space = spaceForSteps(s, e.type());
      if (!isWrittenOut(s)) return iterateInLoop(s, env, space);
      const ViewPtr result = allocateState(e.type(), space, nameIn(space));
      write(e, env, {result, space});
      return result;
    }
    default: return nullptr;
  }
}

// Whether the term is closed, and made of literals by operations.
bool Lowering::isTable(Expr e) {
  switch (e.form()) {
    case Expr::Form::literal: return true;
    case Expr::Form::natLiteral: return e.natValue().constant().has_value();
    case Expr::Form::apply: return isTable(e.argument()) && isTable(e.function());
    case Expr::Form::primitive:
      switch (e.prim()) {
        case Prim::arrayOf:
        case Prim::tuple:
        case Prim::op:
        case Prim::convert: return true;
        case Prim::splat: return e.nats()[0].constant().has_value();
        default: return false;
      }
    default: return false;
  }
}

namespace {

// The scalars of a value, leaf by leaf of its type; next is the first leaf.
void flatten(const Value& value, Type type, std::size_t first, std::vector<std::vector<ScalarValue>>& leaves) {
  if (type.isScalar()) return leaves[first].push_back(value.scalar());
  if (type.isTuple()) {
    for (std::size_t c = 0; c < type.components().size(); c++) {
      flatten(value.sequence()[c], type.components()[c], first, leaves);
      first += leavesOf(type.components()[c]).size();
    }
    return;
  }
  for (const Value& x : value.sequence()) flatten(x, type.element(), first, leaves);
}

}  // namespace

ViewPtr Lowering::table(Expr e) {
  if (const auto found = tables_.find(e); found != tables_.end()) return found->second;
  const std::vector<Leaf> leaves = leavesOf(e.type());
  std::vector<std::vector<ScalarValue>> values(leaves.size());
  flatten(evaluate(e), e.type(), 0, values);
  std::vector<Storage> storage;
  for (std::size_t l = 0; l < leaves.size(); l++) {
    // Half is a storage type, and these are not stored: numbers of f32, as all that is computed.
    const Scalar scalar = keptAs(leaves[l].scalar);
    for (ScalarValue& v : values[l]) v = convert(v, scalar);
    storage.push_back({newBuffer(leafName("table", leaves[l].path), scalar, 1, AddressSpace::constant,
                                 Nat(static_cast<std::int64_t>(values[l].size())), false)});
    kernel_.buffers.back().values = std::move(values[l]);
  }
  return tables_.emplace(e, memoryView(e.type(), storage)).first->second;
}

std::vector<GuardedView::Deferred> Lowering::deferred(const std::vector<Expr>& terms, const EnvPtr& env) {
  std::vector<GuardedView::Deferred> views;
  for (const Expr x : terms) views.push_back([this, x, env] { return read(x, env); });
  return views;
}

AddressSpace Lowering::spaceOf(Prim prim) {
  switch (traits(prim).memory) {
    case Traits::Memory::global: return AddressSpace::global;
    case Traits::Memory::local: return AddressSpace::local;
    case Traits::Memory::priv: return AddressSpace::priv;
    case Traits::Memory::none: break;
  }
  throw InternalError("the value of the primitive is not kept in memory");
}

std::string Lowering::nameIn(AddressSpace space) {
  return space == AddressSpace::priv ? "p" : space == AddressSpace::local ? "tile" : "tmp";
}

// The size as an integer of a program, which wraps.
ExprPtr Lowering::integer(Nat n) {
  if (const auto c = n.constant()) return kernel::index(Nat(static_cast<std::int32_t>(*c)));
  const bool isSum = n.kind() == Nat::Kind::sum;
  if (fitsInt(n) || (!isSum && n.kind() != Nat::Kind::product)) return kernel::index(n);
  ExprPtr result = integer(n.operands()[0]);
  for (std::size_t i = 1; i < n.operands().size(); i++)
    result = kernel::operation(isSum ? Op::add : Op::mul, {result, integer(n.operands()[i])});
  return result;
}

std::optional<Nat> Lowering::natOf(const ExprPtr& e) {
  if (const auto* i = as<kernel::Index>(e)) return fitsInt(i->value) ? std::optional(i->value) : std::nullopt;
  if (const auto* l = as<kernel::Literal>(e); l && e->type == ValueType{Scalar::i32, 1}) return Nat(l->value.integer);
  return std::nullopt;
}

std::optional<ScalarValue> Lowering::constantOf(const ExprPtr& e) {
  if (const auto* l = as<kernel::Literal>(e); l != nullptr && e->type.width == 1) return l->value;
  const auto n = e->type == ValueType{Scalar::i32, 1} ? natOf(e) : std::nullopt;
  const auto c = n ? n->constant() : std::nullopt;
  return c ? std::optional(ScalarValue::ofInteger(Scalar::i32, *c)) : std::nullopt;
}

std::optional<ExprPtr> Lowering::onConstants(Op op, const std::vector<ExprPtr>& args) {
  std::vector<ScalarValue> values;
  for (const ExprPtr& a : args) {
    const auto known = constantOf(a);
    if (!known) return std::nullopt;
    values.push_back(*known);
  }
  const bool divides = (op == Op::div || op == Op::mod) && !isFloat(values[0].type);
  if (divides && values[1].integer == 0) return std::nullopt;  // a fault of the program's, when it runs
  return kernel::literal(lift::apply(op, values));
}

ViewPtr Lowering::elementAt(Expr primitive, const ViewPtr& index, const ViewPtr& array) {
  ExprPtr i = value(index);
  const Nat length = array->type().length();
  if (const auto n = natOf(i)) {
    const bool inside = lessEqual(Nat(0), *n) == Truth::proved && less(*n, length) == Truth::proved;
    if (sites_ == nullptr || inside) return array->at(*n);
  }
  if (sites_ != nullptr) i = checkedIndex(primitive, i, length);
  const NatVar v = NatVar::fresh("at", 0, length - Nat(1), NatVar::Role::index);
  emit(kernel::DeclareIndex{v, i});
  return array->at(Nat(v));
}

ExprPtr Lowering::operation(Expr primitive, const std::vector<Expr>& operands, const EnvPtr& env) {
  const Op op = primitive.op();
  if (op == Op::logicalAnd || op == Op::logicalOr) return logical(op, operands, env);
  std::vector<ExprPtr> args;
  for (const Expr o : operands) args.push_back(value(read(o, env)));
  if (op == Op::select && args[0]->type.width == 1) {
    const int width = std::max(args[1]->type.width, args[2]->type.width);
    return kernel::choose(args[0], widen(args[1], width), widen(args[2], width));
  }
  if (op != Op::select)
    if (const auto folded = onIndices(op, args)) return *folded;
  if (const auto folded = onConstants(op, args)) return *folded;
  if (sites_ != nullptr && mayFail(primitive)) args[1] = checkedDivisor(primitive, args[1]);
  return lanewise(op, std::move(args));
}

ExprPtr Lowering::lanewise(Op op, std::vector<ExprPtr> args) {
  int width = 1;
  for (const ExprPtr& a : args) width = std::max(width, a->type.width);
  for (ExprPtr& a : args) a = widen(a, width);
  return kernel::operation(op, std::move(args));
}

ExprPtr Lowering::logical(Op op, const std::vector<Expr>& operands, const EnvPtr& env) {
  ExprPtr a = value(read(operands[0], env)), b;
  Block before = collect([&] { b = value(read(operands[1], env)); });
  const bool decides = op == Op::logicalOr;
  if (before.empty() || a->type.width > 1) {  // as C's operators do
    for (kernel::Stmt& s : before) block_->push_back(std::move(s));
    return lanewise(op, {a, b});
  }
  const ExprPtr known = kernel::literal(ScalarValue::ofInteger(Scalar::boolean, decides ? 1 : 0));
  const auto right = [&] {
    for (kernel::Stmt& s : before) block_->push_back(std::move(s));
    return std::vector{b};
  };
  const auto left = [&] { return std::vector{known}; };
  return decides ? choose(a, "either", left, right)[0] : choose(a, "both", right, left)[0];
}

// In a register, unless it is a comparison of indices, about which the passes know more.
ExprPtr Lowering::conditionOf(Expr condition, const EnvPtr& env) {
  const ExprPtr c = value(read(condition, env));
  return isAtom(c) || is<kernel::Test>(c) ? c : declare("condition", c);
}

namespace {

// Whether the statements only name indices and numbers that cost no more than reading an array that was stored.
bool namesLittle(const Block& block) {
  constexpr double mostAdditions = 8;
  double additions = 0;
  return std::ranges::all_of(block, [&](const kernel::Stmt& s) {
    const auto* number = as<kernel::Declare>(s);
    if (!is<kernel::DeclareIndex>(s) && (number == nullptr || !number->value)) return false;
    kernel::forEachExpr(s, [&](const kernel::Expr& x) {
      if (const auto* o = as<kernel::Operation>(x)) additions += costOf(o->op);
    });
    return additions <= mostAdditions;
  });
}

}  // namespace

ViewPtr Lowering::conditional(Expr e, const Spine& s, const EnvPtr& env) {
  const auto& a = s.arguments;
  if (e.type().isRegister()) {
    const ExprPtr condition = e.type().isTuple() ? conditionOf(a[0], env) : value(read(a[0], env));
    std::vector<ExprPtr> results;
    if (condition->type.width > 1) {  // in a vectorised function
      const std::vector<ExprPtr> then = leafValues(read(a[1], env)), otherwise = leafValues(read(a[2], env));
      for (std::size_t i = 0; i < then.size(); i++)
        results.push_back(lanewise(Op::select, {condition, then[i], otherwise[i]}));
    } else {
      results = choose(
          condition, "chosen", [&] { return leafValues(read(a[1], env)); },
          [&] { return leafValues(read(a[2], env)); });
    }
    return registersOf(e.type(), results);
  }
  // Elements of two arrays that need no memory are read where they are, and indices and numbers that say where are
  // computed again for each; else the chosen one is put into memory.
  Made before = made();
  ViewPtr then, otherwise;
  const Block ofThen = collect([&] { then = read(a[1], env); });
  const Block ofOtherwise = collect([&] { otherwise = read(a[2], env); });
  const auto guarded = [&](const GuardedView::Deferred& inside, const GuardedView::Deferred& outside) {
    GuardedView::Guard guard{{}, std::make_shared<ValueCondition>(conditionOf(a[0], env))};
    return std::make_shared<GuardedView>(e.type(), std::move(guard), inside, outside);
  };
  if (ofThen.empty() && ofOtherwise.empty()) return guarded([then] { return then; }, [otherwise] { return otherwise; });
  backTo(std::move(before));
  if (namesLittle(ofThen) && namesLittle(ofOtherwise))
    return guarded([this, e = a[1], env] { return read(e, env); }, [this, e = a[2], env] { return read(e, env); });
  return materialise(e, env, spaceForSteps(s, e.type()), "chosen");
}

ViewPtr Lowering::composed(Type type, const std::function<ViewPtr(Type)>& leaf) {
  if (!type.isTuple()) return leaf(type);
  std::vector<ViewPtr> parts;
  for (const Type c : type.components()) parts.push_back(composed(c, leaf));
  return tupleView(std::move(parts));
}

ViewPtr Lowering::registersOf(Type type, const std::vector<ExprPtr>& leaves) {
  std::size_t next = 0;
  return composed(type, [&](Type t) { return valueView(t, leaves[next++]); });
}

ViewPtr Lowering::laneOf(const ViewPtr& vectors, Type scalars, int lane) {
  if (scalars.isArray())
    return lazyView(scalars, [=, this](const Nat& i) { return laneOf(vectors->at(i), scalars.element(), lane); });
  std::vector<ExprPtr> lanes;
  for (const ExprPtr& v : leafValues(vectors)) lanes.push_back(v->type.width > 1 ? kernel::lane(v, lane) : v);
  return registersOf(scalars, lanes);
}

ViewPtr Lowering::ofLanes(const std::vector<ViewPtr>& lanes, Type vectors) {
  if (vectors.isArray())
    return lazyView(vectors, [=, this](const Nat& i) {
      std::vector<ViewPtr> elements;
      for (const ViewPtr& lane : lanes) elements.push_back(lane->at(i));
      return ofLanes(elements, vectors.element());
    });
  if (vectors.isTuple()) {
    std::vector<ViewPtr> parts;
    for (std::size_t c = 0; c < vectors.components().size(); c++) {
      std::vector<ViewPtr> components;
      for (const ViewPtr& lane : lanes) components.push_back(lane->component(static_cast<int>(c)));
      parts.push_back(ofLanes(components, vectors.components()[c]));
    }
    return tupleView(std::move(parts));
  }
  std::vector<ExprPtr> values;
  for (const ViewPtr& lane : lanes) values.push_back(value(lane));
  return valueView(vectors, kernel::makeVector(std::move(values)));
}

ViewPtr Lowering::vectorizeLanes(const Spine& s, const EnvPtr& env) {
  const Expr f = s.arguments[0];
  ViewPtr vectors = read(s.arguments[1], env);
  if (s.arguments[1].type().isRegister()) {
    std::vector<ExprPtr> values = leafValues(vectors);
    for (ExprPtr& v : values)
      if (!isAtom(v)) v = declare("v", v);
    vectors = registersOf(s.arguments[1].type(), values);
  }
  std::vector<ViewPtr> lanes;
  for (int l = 0; l < static_cast<int>(*s.head.nats()[0].constant()); l++) {
    lanes.push_back(apply(f, env, laneOf(vectors, f.parameter().type(), l)));
    if (lanes.back()->type().isRegister()) lanes.back() = registersOf(lanes.back()->type(), leafValues(lanes.back()));
  }
  return ofLanes(lanes, s.head.type().result().result());
}

ViewPtr Lowering::inAllLanes(const ViewPtr& v, Type type, Nat lanes) {
  if (!type.isRegister()) return v;
  std::vector<ExprPtr> values = leafValues(v);
  for (ExprPtr& x : values) x = widen(x, static_cast<int>(*lanes.constant()));
  return registersOf(type, values);
}

ExprPtr Lowering::widen(const ExprPtr& e, int width) { return e->type.width == width ? e : kernel::splat(e, width); }

std::optional<ExprPtr> Lowering::onIndices(Op op, const std::vector<ExprPtr>& args) {
  std::vector<Nat> n;
  bool anyIndex = false;
  for (const ExprPtr& a : args) {
    const auto nat = natOf(a);
    if (!nat) return std::nullopt;
    anyIndex = anyIndex || is<kernel::Index>(a);
    n.push_back(*nat);
  }
  if (!anyIndex) return std::nullopt;
  using kernel::Relation;
  if (const auto result = onNats(op, n)) return kernel::index(*result);
  switch (op) {
    case Op::lt: return kernel::test({{n[0], Relation::less, n[1]}});
    case Op::le: return kernel::test({{n[0], Relation::lessEqual, n[1]}});
    case Op::gt: return kernel::test({{n[1], Relation::less, n[0]}});
    case Op::ge: return kernel::test({{n[1], Relation::lessEqual, n[0]}});
    case Op::eq: return kernel::test({{n[0], Relation::equal, n[1]}});
    case Op::ne: return kernel::test({{n[0], Relation::notEqual, n[1]}});
    default: return std::nullopt;
  }
}

ExprPtr Lowering::dot(ExprPtr a, ExprPtr b) {
  if (!isAtom(a)) a = declare("a", a);
  if (!isAtom(b)) b = declare("b", b);
  const auto sumOf = [](int lanes, const auto& term) {
    ExprPtr sum = term(0);
    for (int l = 1; l < lanes; l++) sum = kernel::operation(Op::add, {sum, term(l)});
    return sum;
  };
  constexpr int fromLeft = dotFromLeft;
  if (a->type.width <= fromLeft)
    return sumOf(a->type.width, [&](int l) {
      return kernel::operation(Op::mul, {kernel::lane(a, l), kernel::lane(b, l)});
    });
  ExprPtr sums = kernel::operation(Op::mul, {a, b});
  while (sums->type.width > fromLeft) {
    if (!isAtom(sums)) sums = declare("sums", sums);
    const auto half = [&](int first) {
      std::vector<ExprPtr> lanes;
      for (int l = 0; l < sums->type.width / 2; l++) lanes.push_back(kernel::lane(sums, first + l));
      return kernel::makeVector(std::move(lanes));
    };
    sums = kernel::operation(Op::add, {half(0), half(sums->type.width / 2)});
  }
  sums = declare("sums", sums);
  return sumOf(fromLeft, [&](int l) { return kernel::lane(sums, l); });
}

void Lowering::leaves(const ViewPtr& v, std::vector<ViewPtr>& out) {
  if (!v->type().isTuple()) return out.push_back(v);
  for (int c = 0; c < static_cast<int>(v->type().components().size()); c++) leaves(v->component(c), out);
}

std::vector<ExprPtr> Lowering::leafValues(const ViewPtr& v) {
  std::vector<ViewPtr> all;
  leaves(v, all);
  std::vector<ExprPtr> values;
  for (const ViewPtr& leaf : all) values.push_back(value(leaf));
  return values;
}

}  // namespace lift::detail
