// Lowering: statements that store a term into a destination.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>

#include "lift/accumulation.hpp"
#include "lift/kernel_walk.hpp"
#include "lowerer.hpp"

namespace lift::detail {
namespace {

constexpr int maxUnrolledIterations = 64;

// The dimensions that the block's work-items of the whole range, or its groups, share work in.
std::set<int> rangesOver(const Block& block) {
  std::set<int> dimensions;
  kernel::forEachStmt(block, [&](const kernel::Stmt& s) {
    const auto* f = as<kernel::For>(s);
    if (f != nullptr && (f->kind == LoopKind::global || f->kind == LoopKind::group)) dimensions.insert(f->dim);
  });
  return dimensions;
}

// A branch in fewer dimensions than the other one is for the first work-item of each that it lacks: the others must
// not compute arrays of its own, too.
void takeAlso(const std::set<int>& dimensions, const std::set<int>& own, Block& branch) {
  if (branch.empty()) return;
  for (const int d : dimensions) {
    if (own.contains(d)) continue;
    Block one;
    one.push_back({kernel::For{NatVar::index("only", Nat(1)), Nat(1), LoopKind::global, d, kernel::Trip::any, 0,
                               std::move(branch)}});
    branch = std::move(one);
  }
}

}  // namespace

void Lowering::write(Expr e, const EnvPtr& env, const Destination& out) {
  if (e.isVariable()) return copy(lookUp(env, e), out);
  if (!e.isApply()) return store(out.view, value(read(e, env)));
  const Spine s = spineOf(e);
  if (!writeThrough(e, s, env, out) && !writeComputed(e, s, env, out)) copy(read(e, env), out);
}

// Stores an array that the primitive computes, by loops or conditions around the stores. Returns whether it is such a
// primitive.
bool Lowering::writeComputed(Expr e, const Spine& s, const EnvPtr& env, const Destination& out) {
  const auto& a = s.arguments;
  switch (s.head.prim()) {
    case Prim::map:
    case Prim::mapSeq:
    case Prim::mapSeqUnroll:
    case Prim::mapGlb:
    case Prim::mapWrg:
    case Prim::mapLcl: mapLoop(s, env, out); return true;
    case Prim::generate: generateLoop(s, env, out); return true;
    case Prim::let: {
      ViewPtr in = read(a[1], env);
      if (a[1].type().isRegister() && !a[1].type().isTuple()) in = inRegister(in, a[0].parameter().name());
      write(a[0].body(), bindParameter(a[0], env, in), out);
      return true;
    }
    case Prim::vectorize:  // what it gives of an array is written element by element
      if (!e.type().isArray() || isByLane(a[0])) return false;
      write(a[0].body(), bindParameter(a[0], env, read(a[1], env)), out);
      return true;
    case Prim::scan:
    case Prim::scanSeq:
    case Prim::scanExclusive:
    case Prim::scanExclusiveSeq: scan(s, env, out); return true;
    case Prim::reduce:
    case Prim::reduceSeq:
    case Prim::reduceSeqUnroll: {
      const auto buffers = startsFrom(s, env, out);
      if (buffers) accumulate(s, env, read(a[2], env), {out.view, *buffers});
      return buffers.has_value();
    }
    case Prim::reduceByIndex: reduceByIndex(s, env, out); return true;
    case Prim::reduceByIndexLcl:
      if (out.space == AddressSpace::local) reduceByIndexAtOnce(s, env, out, LoopKind::local);
      return out.space == AddressSpace::local;
    case Prim::reduceByIndexGlb: reduceByIndexAtOnce(s, env, out, LoopKind::global); return true;
    case Prim::iterate: iterate(s, env, out); return true;
    case Prim::ifThenElse: {
      if (e.type().isRegister()) return false;
      const ExprPtr condition = conditionOf(a[0], env);
      Block then = collect([&] { write(a[1], env, out); }), otherwise = collect([&] { write(a[2], env, out); });
      const std::set<int> ofThen = rangesOver(then), ofOtherwise = rangesOver(otherwise);
      takeAlso(ofOtherwise, ofThen, then);
      takeAlso(ofThen, ofOtherwise, otherwise);
      emit(kernel::If{condition, std::move(then), std::move(otherwise)});
      return true;
    }
    default: return false;
  }
}

// Stores the arguments of a primitive that moves data, into the destination seen through the inverse of the layout.
// Returns whether it has an inverse.
bool Lowering::writeThrough(Expr e, const Spine& s, const EnvPtr& env, const Destination& out) {
  const auto& a = s.arguments;
  switch (s.head.prim()) {
    case Prim::map: {
      if (!isInvertibleIn(a[0].body(), a[0].parameter()) && !isCroppedResult(e)) return false;
      const ViewPtr inner =
          lazyView(a[1].type(), [f = a[0], to = out.view](Nat i) { return undo(f.body(), f.parameter(), to->at(i)); });
      write(a[1], env, out.with(inner));
      return true;
    }
    case Prim::toGlobal:
    case Prim::toImage:
    case Prim::toLocal:
    case Prim::toPrivate:
      if (spaceOf(s.head.prim()) != out.space) return false;
      write(a[0], env, out);
      return true;
    case Prim::tuple:
      for (std::size_t c = 0; c < a.size(); c++) write(a[c], env, out.with(out.view->component(static_cast<int>(c))));
      return true;
    case Prim::arrayOf:
      if (isTable(e)) return false;
      for (std::size_t i = 0; i < a.size(); i++)
        write(a[i], env, out.with(out.view->at(Nat(static_cast<std::int64_t>(i)))));
      return true;
    case Prim::zip: {
      const ViewPtr parts = unzipView(out.view);
      for (std::size_t c = 0; c < a.size(); c++) write(a[c], env, out.with(parts->component(static_cast<int>(c))));
      return true;
    }
    case Prim::id:  // a copy goes through the destination in order
      if (onlyMovesData(a[0])) return false;
      write(a[0], env, out);
      return true;
    case Prim::unzip:
    case Prim::join:
    case Prim::split:
    case Prim::transpose:
    case Prim::reorder:
    case Prim::asScalar: write(a[0], env, out.with(undoLayout(s, out.view))); return true;
    case Prim::asVector:  // lane by lane only where each is computed by itself
      if (onlyMovesData(a[0])) return false;
      write(a[0], env, out.with(undoLayout(s, out.view)));
      return true;
    case Prim::take:
      if (!isCroppedResult(e)) return false;
      write(a[0], env, out.with(undoLayout(s, out.view)));
      return true;
    case Prim::concat: {
      const Nat n = a[0].type().length();
      write(a[0], env, out.with(takeView(out.view, n)));
      write(a[1], env, out.with(dropView(out.view, n)));
      return true;
    }
    default: return false;
  }
}

namespace {

std::pair<LoopKind, const char*> kindOf(Prim map) {
  switch (traits(map).level) {
    case Traits::Level::open:
    case Traits::Level::sequential: return {LoopKind::sequential, "i"};
    case Traits::Level::local: return {LoopKind::local, "lcl"};
    case Traits::Level::group: return {LoopKind::group, "wrg"};
    case Traits::Level::global: return {LoopKind::global, "glb"};
  }
  throw InternalError("unknown level of a map");
}

}  // namespace

void Lowering::mapLoop(const Spine& s, const EnvPtr& env, const Destination& out) {
  const auto [kind, prefix] = kindOf(s.head.prim());
  int dim = 0;
  std::string name = prefix;
  if (kind != LoopKind::sequential) {
    dim = static_cast<int>(*s.head.nats()[0].constant());
    name += std::to_string(dim);
    checkNest(s.head, kind, dim, out);
  }
  const Expr f = s.arguments[0];
  const ViewPtr in = read(s.arguments[1], env);
  loop(name, s.arguments[1].type().length(), kind, dim, unrollOf(s), [&](Nat i) {
    const EnvPtr inner = bindParameter(f, env, in->at(i));
    write(f.body(), inner, out.with(out.view->at(i)));
  });
}

void Lowering::generateLoop(const Spine& s, const EnvPtr& env, const Destination& out) {
  const Expr f = s.arguments[0];
  loop("i", s.head.nats()[0], LoopKind::sequential, 0, 0, [&](Nat i) {
    const EnvPtr inner = bindParameter(f, env, valueView(f.parameter().type(), kernel::index(i)));
    write(f.body(), inner, out.with(out.view->at(i)));
  });
}

// The rules of mappings hold for the program as written (mapping.cpp); here they are asked of the kernel, where a map
// that nobody places runs in the loops that read its result.
void Lowering::checkNest(Expr primitive, LoopKind kind, int dim, const Destination& out) const {
  const auto name = info(primitive.prim()).name;
  const bool together = isByGroup(primitive.prim());
  if (std::ranges::any_of(loops_, [&](const Loop& l) { return l.kind == kind && (l.dim == dim || together); }))
    refuse(spans_, primitive,
           together ? fmt::format("{} would run inside mapLcl, where its result is read", name)
                    : fmt::format("{0}({1}) would run inside {0}({1}), where its result is read", name, dim),
           "a map around it that is not placed runs where it is read: place it with mapSeq, or use another dimension");
  if (kind != LoopKind::local && !out.isResult)
    refuse(spans_, primitive, fmt::format("the result of {} is read inside its own kernel", name),
           "an intermediate result of all work-groups needs toGlobal outside of every map");
}

ViewPtr Lowering::undoLayout(const Spine& s, const ViewPtr& out) {
  if (s.isPrim(Prim::unzip)) {
    std::vector<ViewPtr> parts;
    for (std::size_t c = 0; c < out->type().components().size(); c++)
      parts.push_back(out->component(static_cast<int>(c)));
    return zipView(std::move(parts));
  }
  const Type in = s.arguments[0].type();
  switch (s.head.prim()) {
    case Prim::join: return splitView(out, in.element().length());
    case Prim::split: return joinView(out);
    case Prim::transpose: return transposeView(out);
    case Prim::reorder: return reorderView(out, s.head.indexFn(), s.head.nats(), true);
    case Prim::asVector: return asScalarView(out);
    case Prim::asScalar: return asVectorView(out, in.element().length());
    case Prim::take: return croppedView(out, in.length());
    case Prim::id: return out;
    default: throw InternalError("not an invertible layout");
  }
}

ViewPtr Lowering::undo(Expr body, Expr parameter, const ViewPtr& out) {
  if (body == parameter) return out;
  const Spine s = spineOf(body);
  if (s.head.prim() == Prim::map) {
    const Expr f = s.arguments[0];
    return undo(s.arguments[1], parameter,
                lazyView(s.arguments[1].type(), [f, out](Nat i) { return undo(f.body(), f.parameter(), out->at(i)); }));
  }
  return undo(s.arguments[0], parameter, undoLayout(s, out));
}

void Lowering::scan(const Spine& s, const EnvPtr& env, const Destination& out) {
  const Expr init = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
  const bool exclusive = s.isPrim(Prim::scanExclusive) || s.isPrim(Prim::scanExclusiveSeq);
  const ViewPtr xs = read(in, env);
  std::vector<kernel::BufferId> buffers;
  const AddressSpace space = ownSpace(init.type());
  const ViewPtr acc = allocate(init.type(), space, "acc", &buffers);
  write(init, env, {acc, space});
  loop("i", in.type().length(), LoopKind::sequential, 0, 0, [&](Nat i) {
    if (exclusive) copy(acc, out.with(out.view->at(i)));
    step(f, env, {acc, buffers}, xs->at(i));
    if (!exclusive) copy(acc, out.with(out.view->at(i)));
  });
}

// Whether numbers that are written there are rounded to 16 bits.
bool Lowering::storesHalves(Type type, const Destination& out) const {
  const auto leaves = leavesOf(type);
  return out.isResult && keepsHalves_ &&
         std::ranges::any_of(leaves, [](const Leaf& l) { return l.scalar == Scalar::f16; });
}

void Lowering::reduceByIndex(const Spine& s, const EnvPtr& env, const Destination& out) {
  const Expr init = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
  if (storesHalves(init.type(), out)) {  // what is accumulated is rounded once
    const ViewPtr all = allocate(init.type(), AddressSpace::global, "acc");
    reduceByIndex(s, env, {all, AddressSpace::global});
    return copy(all, out);
  }
  const ViewPtr xs = read(in, env);
  const Nat length = init.type().length();
  const bool inPlace = std::ranges::find(inPlace_, init) != inPlace_.end();
  if (!inPlace) write(init, env, out);
  loop("i", in.type().length(), LoopKind::sequential, 0, 0, [&](Nat i) {
    const ViewPtr x = xs->at(i);
    atKey(x, length, [&](Nat at) {
      const ViewPtr element = out.view->at(at);
      const bool replaces = Uses(f.parameter(), f.body()).of({0}) == 0;
      if (!inPlace || !replaces) return step(f, env, {element, {}}, x->component(1));
      write(f.body(), bindParameter(f, env, tupleView({element, x->component(1)})), out.with(element));
    });
  });
}

// The update of the element that a pair's first component selects, where there is one.
void Lowering::atKey(const ViewPtr& pair, Nat length, const std::function<void(Nat at)>& update) {
  ExprPtr key = value(pair->component(0));
  if (!isAtom(key) && !natOf(key)) key = declare("key", key);
  Block then = collect([&] {
    const NatVar at = NatVar::fresh("at", 0, length - Nat(1), NatVar::Role::index);
    emit(kernel::DeclareIndex{at, key});
    update(at);
  });
  emit(kernel::If{isIndex(key, length), std::move(then), {}});
}

// Each work-item updates what its pairs select at once, by what the function makes of where a part may start. Of a
// kernel of all work-items the elements are there already.
void Lowering::reduceByIndexAtOnce(const Spine& s, const EnvPtr& env, const Destination& out, LoopKind kind) {
  const Expr init = s.arguments[0], f = s.arguments[1];
  const auto update = rewrite::atomicUpdateOf(init.type().element(), f);
  if (!update)
    refuse(
        spans_, s.head,
        fmt::format("the function of {} does not update each number by one operation of its own",
                    info(s.head.prim()).name),
        "work-items update at once: i32 and u32 by +, *, min, max, bitAnd, bitOr or bitXor, f32 by +, *, min or max");
  checkNest(s.head, kind, 0, out);
  const ViewPtr xs = read(s.arguments[2], env);
  const bool isThere = std::ranges::find(inPlace_, init) != inPlace_.end();
  if (!isThere && kind == LoopKind::global)
    refuse(spans_, s.head, "the result of reduceByIndexGlb is a part of what its own kernel computes",
           "keep it with toGlobal, outside of every map");
  if (!isThere) write(init, env, out);
  loop(kind == LoopKind::local ? "lcl0" : "glb0", s.arguments[2].type().length(), kind, 0, 0, [&](Nat i) {
    const ViewPtr x = xs->at(i);
    atKey(x, init.type().length(), [&](Nat at) {
      const ViewPtr element = out.view->at(at), pair = tupleView({read(update->start, env), x->component(1)});
      const ViewPtr made = read(f.body(), bindParameter(f, env, pair));
      const bool isTuple = element->type().isTuple();
      for (std::size_t c = 0; c < update->operations.size(); c++) {
        const int number = static_cast<int>(c);
        const auto place = std::dynamic_pointer_cast<const MemoryView>(isTuple ? element->component(number) : element);
        ensure(place != nullptr, "memory holds the elements that work-items update");
        const ExprPtr v = value(isTuple ? made->component(number) : made);
        emit(kernel::Store{place->buffer, place->offset, v, false, update->operations[c]});
      }
    });
  });
}

namespace {

// Whether both views are of the same places in memory, element by element; these places' buffers.
bool haveSamePlaces(const ViewPtr& a, const ViewPtr& b, std::vector<kernel::BufferId>& buffers) {
  const Type type = a->type();
  if (type.isArray()) {
    const Nat i(NatVar::index("i", type.length()));
    return haveSamePlaces(a->at(i), b->at(i), buffers);
  }
  if (const auto* m = viewAs<MemoryView>(a)) {
    const auto* n = viewAs<MemoryView>(b);
    buffers.push_back(m->buffer);
    return n != nullptr && m->buffer == n->buffer && m->offset == n->offset && m->unit == n->unit;
  }
  const auto *v = viewAs<VectorView>(a), *w = viewAs<VectorView>(b);
  if (v == nullptr || w == nullptr) return false;
  for (int l = 0; l < valueTypeOf(type).width; l++)
    if (!haveSamePlaces(v->lane(l), w->lane(l), buffers)) return false;
  return true;
}

}  // namespace

// Where a reduction into an array starts from what the array holds, as the reduction of a part of the elements does:
// the array's buffers.
std::optional<std::vector<kernel::BufferId>> Lowering::startsFrom(const Spine& s, const EnvPtr& env,
                                                                  const Destination& out) {
  const Expr init = s.arguments[0];
  if (!init.type().isArray() || out.space != AddressSpace::priv || !onlyMovesData(init)) return std::nullopt;
  std::vector<kernel::BufferId> buffers;
  bool areSame = false;
  Made before = made();
  collect([&] { areSame = haveSamePlaces(out.view, read(init, env), buffers); });
  backTo(std::move(before));
  if (!areSame || reads(s.arguments[1], env, buffers) || reads(s.arguments[2], env, buffers)) return std::nullopt;
  return buffers;
}

// Whether the term may read one of the buffers by a variable of the environment. What is read is not computed for good.
bool Lowering::reads(Expr e, const EnvPtr& env, const std::vector<kernel::BufferId>& buffers) {
  Made before = made();
  bool found = false;
  const auto among = [&](kernel::BufferId b) { return std::ranges::find(buffers, b) != buffers.end(); };
  const auto note = [&](const kernel::Expr& x) {
    if (const auto* l = as<kernel::Load>(x)) found = found || among(l->buffer);
  };
  const std::function<void(const ViewPtr&)> look = [&](const ViewPtr& v) {
    const Type type = v->type();
    if (type.isArray()) return look(v->at(Nat(NatVar::index("i", type.length()))));
    if (!type.isTuple()) return kernel::forEachExpr(*value(v), note);
    for (int c = 0; c < static_cast<int>(type.components().size()); c++) look(v->component(c));
  };
  std::unordered_set<Expr> bound, seen;
  const std::function<void(Expr)> visit = [&](Expr x) {
    if (found || !seen.insert(x).second) return;
    Expr root = x;
    while (spineOf(root).isPrim(Prim::get)) root = spineOf(root).arguments[0];
    if (root.isVariable()) {
      if (!bound.contains(root)) look(read(x, env));
    } else if (x.isLambda()) {
      bound.insert(x.parameter());
      visit(x.body());
    } else if (x.isApply()) {
      visit(x.function());
      visit(x.argument());
    }
  };
  const kernel::Block computed = collect([&] { visit(e); });
  kernel::forEachStmt(computed, [&](const kernel::Stmt& s) { kernel::forEachExpr(s, note); });
  backTo(std::move(before));
  return found;
}

// What a step has written, where numbers that are known (the 2 * length of `fun (xs, length) => (f(length, xs), 2 *
// length)`, from 1 on) are read as constants.
ViewPtr Lowering::withConstants(Expr state, const EnvPtr& env, const ViewPtr& written) {
  const Spine s = spineOf(state);
  if (!s.isPrim(Prim::tuple)) return written;
  std::vector<ViewPtr> components;
  for (std::size_t i = 0; i < s.arguments.size(); i++) {
    components.push_back(written->component(static_cast<int>(i)));
    if (!s.arguments[i].type().isScalar()) continue;
    ExprPtr known;
    if (!collect([&] { known = value(read(s.arguments[i], env)); }).empty()) continue;
    if (const auto number = constantOf(known))
      components.back() = std::make_shared<ValueView>(s.arguments[i].type(), kernel::literal(*number));
  }
  return tupleView(std::move(components));
}

namespace {

bool isLongArray(const Leaf& leaf) {
  return !leaf.shape.empty() && elementCount(leaf.shape).constant().value_or(registerElements + 1) > registerElements;
}

}  // namespace

// Whether the steps go from one memory to another and back, in a loop of two: those of long arrays, of which a step
// knows no numbers, and copies of it would be long. A work-group's state may have numbers beside them.
bool Lowering::alternates(const Spine& iterate, AddressSpace space) {
  const Type state = iterate.arguments[1].type();
  if (iterate.head.nats()[0].constant().value_or(0) <= 2 || iterate.arguments[0].body().type() != state) return false;
  const auto leaves = leavesOf(state);
  if (space != AddressSpace::local) return std::ranges::all_of(leaves, isLongArray);
  return std::ranges::any_of(leaves, isLongArray) &&
         std::ranges::all_of(leaves, [](const Leaf& leaf) { return leaf.shape.empty() || isLongArray(leaf); });
}

bool Lowering::isWrittenOut(const Spine& iterate) const {
  const auto times = iterate.head.nats()[0].constant();
  return times &&
         (*times <= maxUnrolledIterations || alternates(iterate, spaceForSteps(iterate, iterate.arguments[1].type())));
}

ViewPtr Lowering::allocateState(Type type, AddressSpace space, const std::string& name,
                                std::vector<kernel::BufferId>* made) {
  if (space != AddressSpace::local) return allocate(type, space, name, made);
  if (!type.isTuple()) return allocate(type, type.isArray() ? space : AddressSpace::priv, name, made);
  std::vector<ViewPtr> parts;
  for (const Type c : type.components())
    parts.push_back(allocateState(c, space, fmt::format("{}_{}", name, parts.size()), made));
  return tupleView(std::move(parts));
}

void Lowering::iterate(const Spine& s, const EnvPtr& env, const Destination& out) {
  const Expr f = s.arguments[0], in = s.arguments[1];
  const AddressSpace space = spaceForSteps(s, in.type());
  if (!isWrittenOut(s)) return copy(iterateInLoop(s, env, space), out);
  const std::int64_t times = *s.head.nats()[0].constant();
  if (times == 0) return write(in, env, out);
  std::vector<kernel::BufferId> ofStep;  // local memory, but for states
  const auto stepTo = [&](const ViewPtr& from, const Destination& to) {
    const bool isFirst = ofStep.empty();
    const std::size_t first = kernel_.buffers.size();
    const std::vector<kernel::BufferId> before = isFirst ? spare_ : std::exchange(spare_, ofStep);
    write(f.body(), bindParameter(f, env, from), to);
    if (!isFirst) spare_ = before;
    for (std::size_t b = first; isFirst && b < kernel_.buffers.size(); b++)
      if (kernel_.buffers[b].space == AddressSpace::local) ofStep.push_back(static_cast<kernel::BufferId>(b));
  };
  std::array<ViewPtr, 2> memory;
  if (alternates(s, space)) {
    for (std::size_t i = 0; i < 2; i++) memory[i] = allocateState(in.type(), space, fmt::format("step{}", i));
    Counter counter;
    std::optional<Nat> counted;  // before the first step
    for (int c = 0; !counted && in.type().isTuple() && c < static_cast<int>(in.type().components().size()); c++)
      if (counter.component = c; counter.isRaisedBy(f)) counted = indexOf(counter.of(in), env);
    const auto stepAfter = [&](Nat done, const ViewPtr& from, const Destination& to) {
      stepTo(counted ? counter.at(*counted + done, from) : from, to);
    };
    const std::int64_t first = onlyMovesData(in) ? 1 : 0;  // a step from where the state is before all of them
    first > 0 ? stepTo(read(in, env), {memory[0], space}) : write(in, env, {memory[0], space});
    const std::int64_t between = times - 1 - first;  // steps from one memory to the other
    loop("step", between / 2, LoopKind::sequential, 0, 1, [&](Nat pair) {
      stepAfter(first + 2 * pair, memory[0], {memory[1], space});
      stepAfter(first + 2 * pair + 1, memory[1], {memory[0], space});
    });
    if (between % 2 != 0) {
      stepAfter(times - 2, memory[0], {memory[1], space});
      std::swap(memory[0], memory[1]);
    }
    return stepAfter(times - 1, memory[0], out);
  }
  ViewPtr from = read(in, env);
  for (std::int64_t i = 0; i + 1 < times; i++) {
    ViewPtr& to = memory[static_cast<std::size_t>(i % 2)];
    if (!to) to = allocate(in.type(), space, fmt::format("step{}", i % 2));
    const EnvPtr before = bindParameter(f, env, from);
    write(f.body(), before, {to, space});
    from = withConstants(f.body(), before, to);
  }
  stepTo(from, out);
}

ViewPtr Lowering::iterateInLoop(const Spine& s, const EnvPtr& env, AddressSpace space) {
  const Expr f = s.arguments[0], in = s.arguments[1];
  Accumulator state;
  state.view = allocateState(in.type(), space, "state", &state.buffers);
  write(in, env, {state.view, space});
  loop("step", s.head.nats()[0], LoopKind::sequential, 0, 1,
       [&](Nat) { advance(f.body(), bindParameter(f, env, state.view), state, space); });
  return state.view;
}

}  // namespace lift::detail
