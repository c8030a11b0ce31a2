// Lowering: from a term to the kernel tree, by two mutually recursive translations.
//
//   read(e)       the value of e as a view: layouts compose views, a map that nobody schedules stays an unevaluated
//                 function of its index (so producers fuse into consumers), loops are emitted and leave their result
//                 in memory
//   write(e, out) statements that store e into the destination view `out`: layouts turn around and act on the
//                 destination, maps become loops
//
// Every statement goes to the current block, in program order.
#include <fmt/format.h>

#include <set>

#include "analysis.hpp"
#include "lift/diagnostic.hpp"
#include "lowering.hpp"

namespace lift::detail {
namespace {

using kernel::Block;
using kernel::ExprPtr;
using kernel::LoopKind;
using kernel::Space;
using kernel::ValueType;

constexpr int maxUnrolledIterations = 64;

ValueType valueTypeOf(Type type) {
  ValueType t;
  const Scalar s = scalarOf(type);
  t.scalar = s == Scalar::f16 ? Scalar::f32 : s;
  if (type.is(Type::Kind::vector)) {
    const auto width = type.length().constant();
    if (!width)
      throw UserError(ExitStatus::program, "a vector's width must be a constant when code is generated",
                      fmt::format("give a value to {}", type.length().str()));
    t.width = static_cast<int>(*width);
  }
  return t;
}

// A value in registers, as an expression.
class ValueView final : public View {
 public:
  ValueView(Type type, ExprPtr expr) : View(type), expr(std::move(expr)) {}
  const ExprPtr expr;
};

// A variable that can be written.
class RegisterView final : public View {
 public:
  RegisterView(Type type, kernel::VarId variable) : View(type), variable(variable) {}
  const kernel::VarId variable;
};

ViewPtr valueView(Type type, ExprPtr e) { return std::make_shared<ValueView>(type, std::move(e)); }

// Where a term's result goes, and in which address space that is.
struct Destination {
  ViewPtr view;
  Space space;
  Destination with(ViewPtr v) const { return {std::move(v), space}; }
};

struct Env;
using EnvPtr = std::shared_ptr<const Env>;
struct Env {
  Expr variable;
  ViewPtr view;
  EnvPtr parent;
};

class Lowering {
 public:
  LoweredKernel run(const Stage& stage, const std::string& name) {
    kernel_.name = name;
    EnvPtr env;
    for (const Expr v : stage.body.freeVariables()) {
      env = extend(env, v, globalMemory(v, true));
    }
    const Destination out{globalMemory(stage.output, false), Space::global};
    block_ = &kernel_.body;
    write(stage.body, env, out);
    clearVectors(kernel_.body);
    kernel_.sizes = sizesIn(kernel_.body);
    return {std::move(kernel_), std::move(arguments_)};
  }

 private:
  // ---------------------------------------------------------------------------------------------------- environment
  static EnvPtr extend(EnvPtr env, Expr variable, ViewPtr view) {
    return std::make_shared<const Env>(Env{variable, std::move(view), std::move(env)});
  }
  static const ViewPtr& lookUp(const EnvPtr& env, Expr variable) {
    for (const Env* e = env.get(); e; e = e->parent.get())
      if (e->variable == variable) return e->view;
    throw InternalError("unbound variable " + variable.name());
  }

  // The environment in which a lambda's body runs on an argument. Scalars that the body uses more than once are
  // computed once, into a register.
  EnvPtr bindParameter(Expr lambda, const EnvPtr& env, const ViewPtr& argument) {
    const Expr parameter = lambda.parameter();
    if (!lambda.body().hasFree(parameter)) return env;
    if (parameter.type().isArray()) return extend(env, parameter, argument);
    const Uses uses(parameter, lambda.body());
    return extend(env, parameter, force(argument, uses, {}, parameter.name()));
  }

  ViewPtr force(const ViewPtr& v, const Uses& uses, std::vector<int> path, const std::string& name) {
    if (v->type().is(Type::Kind::tuple)) {
      std::vector<ViewPtr> parts;
      for (int i = 0; i < static_cast<int>(v->type().components().size()); i++) {
        path.push_back(i);
        parts.push_back(uses.of(path) ? force(v->component(i), uses, path, fmt::format("{}_{}", name, i))
                                      : v->component(i));
        path.pop_back();
      }
      return tupleView(std::move(parts));
    }
    if (v->type().isArray() || uses.of(path) < 2) return v;
    return inRegister(v, name);
  }

  ViewPtr inRegister(const ViewPtr& v, const std::string& name) {
    if (dynamic_cast<const RegisterView*>(v.get())) return v;
    const ExprPtr e = value(v);
    if (isAtom(e)) return valueView(v->type(), e);
    return valueView(v->type(), declare(name, e));
  }

  static bool isAtom(const ExprPtr& e) {
    return std::holds_alternative<kernel::VarRef>(e->node) || std::holds_alternative<kernel::Literal>(e->node) ||
           std::holds_alternative<kernel::Index>(e->node);
  }

  // ----------------------------------------------------------------------------------------------------- statements
  template <class Node>
  void emit(Node node) {
    block_->push_back(kernel::Stmt{std::move(node)});
  }

  // Runs `body` with a new current block and returns what it emitted.
  template <class Body>
  Block collect(Body&& body) {
    Block collected;
    Block* const saved = block_;
    block_ = &collected;
    body();
    block_ = saved;
    return collected;
  }

  kernel::VarId newVariable(const std::string& name, ValueType type) {
    kernel_.variables.push_back({name, type});
    return static_cast<kernel::VarId>(kernel_.variables.size() - 1);
  }

  ExprPtr declare(const std::string& name, const ExprPtr& value) {
    const kernel::VarId v = newVariable(name, value->type);
    emit(kernel::Declare{v, value});
    return kernel::ref(v, value->type);
  }

  template <class Body>
  void loop(const std::string& name, Nat count, LoopKind kind, int dim, int unroll, Body&& body) {
    const NatVar index = NatVar::index(name, count);
    loops_.push_back({index, count, kind});
    Block inner = collect([&] { body(Nat(index)); });
    loops_.pop_back();
    if (!inner.empty()) emit(kernel::For{index, count, kind, dim, kernel::Trip::any, unroll, std::move(inner)});
  }

  // --------------------------------------------------------------------------------------------------------- memory
  kernel::BufferId newBuffer(const std::string& name, Scalar scalar, int width, Space space, Nat count, bool readOnly) {
    kernel_.buffers.push_back({name, scalar, width, space, count, readOnly});
    return static_cast<kernel::BufferId>(kernel_.buffers.size() - 1);
  }

  static Nat countOf(const std::vector<Nat>& shape) {
    Nat n = 1;
    for (const Nat d : shape) n = n * d;
    return n;
  }

  static std::string leafName(const std::string& base, const std::string& path) {
    std::string name = base + path;
    for (char& c : name)
      if (c == '.') c = '_';
    return name;
  }

  ViewPtr globalMemory(Expr variable, bool readOnly, bool temporary = false) {
    std::vector<Storage> storage;
    int leaf = 0;
    for (const Leaf& l : leavesOf(variable.type())) {
      const auto b =
          newBuffer(leafName(variable.name(), l.path), l.scalar, 1, Space::global, countOf(l.shape), readOnly);
      kernel_.arguments.push_back(b);
      arguments_.push_back({variable, leaf++, temporary});
      storage.push_back({b});
    }
    return memoryView(variable.type(), storage);
  }

  // Memory for a value of the type; the buffers made are appended to `made` when given.
  ViewPtr allocate(Type type, Space space, const std::string& name, std::vector<kernel::BufferId>* made = nullptr) {
    if (space == Space::priv) {
      if (type.is(Type::Kind::tuple)) {
        std::vector<ViewPtr> parts;
        for (std::size_t i = 0; i < type.components().size(); i++)
          parts.push_back(allocate(type.components()[i], space, fmt::format("{}_{}", name, i), made));
        return tupleView(std::move(parts));
      }
      if (!type.isArray()) {
        const kernel::VarId v = newVariable(name, valueTypeOf(type));
        emit(kernel::Declare{v, std::nullopt});
        return std::make_shared<RegisterView>(type, v);
      }
      return arrayMemory(type, space, name, made);
    }
    // Shared memory that a work-item uses for itself has one part for each of them.
    std::vector<Loop> owners;
    for (const Loop& l : loops_)
      if (l.kind == LoopKind::local || (space == Space::global && l.kind != LoopKind::sequential)) owners.push_back(l);
    Type whole = type;
    for (auto l = owners.rbegin(); l != owners.rend(); ++l) whole = Type::array(l->count, whole);
    ViewPtr view = space == Space::local ? arrayMemory(whole, space, name, made)
                                         : globalMemory(Expr::variable(name, whole), false, true);
    for (const Loop& l : owners) view = view->at(Nat(l.index));
    return view;
  }

  ViewPtr arrayMemory(Type type, Space space, const std::string& name, std::vector<kernel::BufferId>* made) {
    std::vector<Storage> storage;
    const Type base = baseOf(type);
    for (Leaf l : leavesOf(type)) {
      int unit = 1;
      if (space == Space::priv && base.is(Type::Kind::vector)) {  // kept as vectors, for registers
        unit = valueTypeOf(base).width;
        l.shape.pop_back();
      }
      const Nat count = countOf(l.shape);
      if (!count.constant())
        throw UserError(ExitStatus::program,
                        fmt::format("{} memory needs constant sizes: {} depends on {}",
                                    space == Space::priv ? "private" : "local", type.str(), count.str()),
                        "give values to the sizes (--size n=…), or keep the array in global memory with toGlobal");
      const auto b = newBuffer(leafName(name, l.path), l.scalar, unit, space, count, false);
      if (space == Space::priv) emit(kernel::Allocate{b});
      if (made) made->push_back(b);
      storage.push_back({b, unit});
    }
    return memoryView(type, storage);
  }

  // Computes e into new memory.
  ViewPtr materialise(Expr e, const EnvPtr& env, Space space, const std::string& name) {
    if (space == Space::priv && !e.type().isArray() && !e.type().is(Type::Kind::tuple)) {
      const ExprPtr v = value(read(e, env));
      const kernel::VarId variable = newVariable(name, v->type);
      emit(kernel::Declare{variable, v});
      return std::make_shared<RegisterView>(e.type(), variable);
    }
    const ViewPtr memory = allocate(e.type(), space, name);
    write(e, env, {memory, space});
    return memory;
  }

  // --------------------------------------------------------------------------------------------------------- leaves
  static ExprPtr testOf(const std::vector<GuardedView::Bound>& bounds) {
    std::vector<kernel::Comparison> all;
    for (const auto& b : bounds) all.push_back({b.smaller, kernel::Relation::less, b.larger});
    return kernel::test(std::move(all));
  }

  ExprPtr value(const ViewPtr& v) {
    if (const auto* m = dynamic_cast<const ValueView*>(v.get())) return m->expr;
    if (const auto* m = dynamic_cast<const RegisterView*>(v.get()))
      return kernel::ref(m->variable, valueTypeOf(v->type()));
    if (const auto* m = dynamic_cast<const MemoryView*>(v.get()))
      return kernel::load(m->buffer, m->offset, valueTypeOf(v->type()));
    if (const auto* m = dynamic_cast<const GuardedView*>(v.get())) {
      ExprPtr inside, outside;
      const Block before = collect([&] { inside = value(m->inside()); });
      const Block beforeOutside = collect([&] { outside = value(m->outside()); });
      if (before.empty() && beforeOutside.empty()) return kernel::choose(testOf(m->bounds), inside, outside);
      const kernel::VarId result = newVariable("padded", valueTypeOf(v->type()));
      emit(kernel::Declare{result, std::nullopt});
      Block then = before, otherwise = beforeOutside;
      then.push_back({kernel::Assign{result, inside}});
      otherwise.push_back({kernel::Assign{result, outside}});
      emit(kernel::If{testOf(m->bounds), std::move(then), std::move(otherwise)});
      return kernel::ref(result, valueTypeOf(v->type()));
    }
    if (const auto* m = dynamic_cast<const VectorView*>(v.get())) {
      std::vector<ViewPtr> lanes;
      for (int l = 0; l < valueTypeOf(v->type()).width; l++) lanes.push_back(m->lane(l));
      return gather(lanes, v->type());
    }
    if (const auto* m = dynamic_cast<const LaneView*>(v.get())) return laneValue(*m);
    throw InternalError("not a leaf: a view of " + v->type().str());
  }

  // A vector of the lanes: one load where they are consecutive in memory.
  ExprPtr gather(const std::vector<ViewPtr>& lanes, Type type) {
    const auto* first = dynamic_cast<const MemoryView*>(lanes[0].get());
    bool consecutive = first && first->unit == 1, equal = first != nullptr;
    const auto* guard = dynamic_cast<const GuardedView*>(lanes[0].get());
    for (std::size_t l = 0; l < lanes.size(); l++) {
      const auto* m = dynamic_cast<const MemoryView*>(lanes[l].get());
      consecutive = consecutive && m && m->buffer == first->buffer &&
                    m->offset == first->offset + Nat(static_cast<std::int64_t>(l));
      equal = equal && m && m->buffer == first->buffer && m->offset == first->offset;
      const auto* g = dynamic_cast<const GuardedView*>(lanes[l].get());
      if (guard && g && g->bounds.size() == guard->bounds.size()) {
        for (std::size_t b = 0; b < g->bounds.size(); b++)
          if (g->bounds[b].smaller != guard->bounds[b].smaller || g->bounds[b].larger != guard->bounds[b].larger) {
            guard = nullptr;
            break;
          }
      } else {
        guard = nullptr;
      }
    }
    const ValueType vt = valueTypeOf(type);
    if (consecutive) return kernel::load(first->buffer, first->offset, vt);
    if (equal) return kernel::splat(value(lanes[0]), vt.width);
    if (guard) {
      // All lanes are under one condition: choose between two vectors.
      const auto vectorOf = [&](bool isInside) {
        const auto lane = [lanes, isInside](Nat l) {
          const auto* g = static_cast<const GuardedView*>(lanes.at(static_cast<std::size_t>(*l.constant())).get());
          return isInside ? g->inside() : g->outside();
        };
        return [type, lane]() -> ViewPtr {
          return std::make_shared<VectorView>(type, lazyView(Type::array(type.length(), type.element()), lane), Nat(0));
        };
      };
      return value(std::make_shared<GuardedView>(type, guard->bounds, vectorOf(true), vectorOf(false)));
    }
    std::vector<ExprPtr> parts;
    for (const ViewPtr& l : lanes) parts.push_back(value(l));
    if (std::all_of(parts.begin(), parts.end(), [&](const ExprPtr& p) { return p == parts[0]; }))
      return kernel::splat(parts[0], vt.width);
    return kernel::makeVector(std::move(parts));
  }

  ExprPtr laneValue(const LaneView& v) {
    if (const auto* m = dynamic_cast<const MemoryView*>(v.vector.get()); m && m->unit == 1)
      return kernel::load(m->buffer, m->offset + v.lane, valueTypeOf(v.type()));
    if (const auto* m = dynamic_cast<const VectorView*>(v.vector.get())) return value(m->scalars->at(m->base + v.lane));
    if (std::dynamic_pointer_cast<const GuardedView>(v.vector)) {
      const auto guarded = std::static_pointer_cast<const GuardedView>(v.vector);
      const auto lane = [type = v.type(), lane = v.lane](const ViewPtr& vector) -> ViewPtr {
        return std::make_shared<LaneView>(type, vector, lane);
      };
      return value(std::make_shared<GuardedView>(
          v.type(), guarded->bounds, [=] { return lane(guarded->inside()); },
          [=] { return lane(guarded->outside()); }));
    }
    ExprPtr vector = value(v.vector);
    if (!isAtom(vector)) vector = declare("v", vector);
    if (const auto l = v.lane.constant()) return kernel::lane(vector, static_cast<int>(*l));
    ExprPtr result = kernel::lane(vector, vector->type.width - 1);
    for (int l = vector->type.width - 2; l >= 0; l--)
      result =
          kernel::choose(kernel::test({{v.lane, kernel::Relation::equal, Nat(l)}}), kernel::lane(vector, l), result);
    return result;
  }

  void store(const ViewPtr& out, ExprPtr v) {
    if (const auto* m = dynamic_cast<const MemoryView*>(out.get())) return emit(kernel::Store{m->buffer, m->offset, v});
    if (const auto* m = dynamic_cast<const RegisterView*>(out.get())) return emit(kernel::Assign{m->variable, v});
    if (const auto* m = dynamic_cast<const VectorView*>(out.get())) {
      const int width = valueTypeOf(out->type()).width;
      std::vector<ViewPtr> lanes;
      for (int l = 0; l < width; l++) lanes.push_back(m->lane(l));
      const auto* first = dynamic_cast<const MemoryView*>(lanes[0].get());
      bool consecutive = first && first->unit == 1;
      for (int l = 1; l < width && consecutive; l++) {
        const auto* n = dynamic_cast<const MemoryView*>(lanes[static_cast<std::size_t>(l)].get());
        consecutive = n && n->buffer == first->buffer && n->offset == first->offset + Nat(l);
      }
      if (consecutive) return emit(kernel::Store{first->buffer, first->offset, v});
      if (!isAtom(v)) v = declare("v", v);
      for (int l = 0; l < width; l++) store(lanes[static_cast<std::size_t>(l)], kernel::lane(v, l));
      return;
    }
    if (const auto* m = dynamic_cast<const LaneView*>(out.get())) return storeLane(*m, std::move(v));
    throw InternalError("not a place to store to: a view of " + out->type().str());
  }

  void storeLane(const LaneView& out, ExprPtr v) {
    if (const auto* m = dynamic_cast<const MemoryView*>(out.vector.get())) {
      if (m->unit == 1) return emit(kernel::Store{m->buffer, m->offset + out.lane, v});
      writtenByLane_.insert(m->buffer);
      const ValueType type = valueTypeOf(m->type());
      const ExprPtr old = declare("v", kernel::load(m->buffer, m->offset, type));
      const kernel::VarId variable = std::get<kernel::VarRef>(old->node).variable;
      assignLane(variable, type.width, out.lane, v);
      return emit(kernel::Store{m->buffer, m->offset, old});
    }
    if (const auto* m = dynamic_cast<const VectorView*>(out.vector.get()))
      return store(m->scalars->at(m->base + out.lane), v);
    if (const auto* m = dynamic_cast<const RegisterView*>(out.vector.get()))
      return assignLane(m->variable, valueTypeOf(m->type()).width, out.lane, v);
    throw InternalError("not a lane to store to");
  }

  void assignLane(kernel::VarId variable, int width, Nat lane, ExprPtr v) {
    if (const auto l = lane.constant()) return emit(kernel::AssignLane{variable, static_cast<int>(*l), v});
    if (!isAtom(v)) v = declare("v", v);
    for (int l = 0; l < width; l++) {
      Block then;
      then.push_back({kernel::AssignLane{variable, l, v}});
      emit(kernel::If{kernel::test({{lane, kernel::Relation::equal, Nat(l)}}), std::move(then), {}});
    }
  }

  // Lanes of private vectors are written by writing the whole vector back, so these start as zero.
  void clearVectors(Block& block) {
    for (std::size_t i = 0; i < block.size(); i++) {
      if (auto* f = std::get_if<kernel::For>(&block[i].node)) {
        clearVectors(f->body);
      } else if (auto* branch = std::get_if<kernel::If>(&block[i].node)) {
        clearVectors(branch->then);
        clearVectors(branch->otherwise);
      } else if (const auto* a = std::get_if<kernel::Allocate>(&block[i].node); a && writtenByLane_.count(a->buffer)) {
        const kernel::Buffer& b = kernel_.buffers[a->buffer];
        const NatVar k = NatVar::index("k", b.count);
        const Scalar scalar = b.scalar == Scalar::f16 ? Scalar::f32 : b.scalar;
        Block body;
        body.push_back({kernel::Store{a->buffer, Nat(k), kernel::literal(ScalarValue::of(scalar, 0), b.width)}});
        kernel::For loop{k, b.count, LoopKind::sequential, 0, kernel::Trip::any, 0, std::move(body)};
        block.insert(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, kernel::Stmt{std::move(loop)});
        i++;
      }
    }
  }

  // Element by element, in sequential loops.
  void copy(const ViewPtr& from, const Destination& to) {
    const Type type = to.view->type();
    if (type.isArray()) {
      loop("i", type.length(), LoopKind::sequential, 0, 0, [&](Nat i) { copy(from->at(i), to.with(to.view->at(i))); });
    } else if (type.is(Type::Kind::tuple)) {
      for (int c = 0; c < static_cast<int>(type.components().size()); c++)
        copy(from->component(c), to.with(to.view->component(c)));
    } else {
      store(to.view, value(from));
    }
  }

  // ----------------------------------------------------------------------------------------------------------- read
  ViewPtr apply(Expr lambda, const EnvPtr& env, const ViewPtr& argument) {
    ensure(lambda.is(Expr::Form::lambda), "function arguments are lambdas after etaLong");
    return read(lambda.body(), bindParameter(lambda, env, argument));
  }

  ViewPtr read(Expr e, const EnvPtr& env) {
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
        if (a[1].type().isRegister() && !a[1].type().is(Type::Kind::tuple))
          in = inRegister(in, a[0].parameter().name());
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
        const Scalar to = s.head.target() == Scalar::f16 ? Scalar::f32 : s.head.target();
        return valueView(e.type(), kernel::convertTo(value(read(a[0], env)), to));
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
        return materialise(a[0], env, Space::priv, nameFor(a[0], "p"));
      case Prim::toLocal:
        return materialise(a[0], env, Space::local, nameFor(a[0], "tile"));
      case Prim::toGlobal:
        return materialise(a[0], env, Space::global, nameFor(a[0], "tmp"));
      case Prim::mapLcl:
        return materialise(e, env, Space::local, "tile");
      case Prim::mapSeq:
      case Prim::mapSeqUnroll:
      case Prim::scan:
      case Prim::scanSeq:
      case Prim::scanExclusive:
      case Prim::scanExclusiveSeq:
      case Prim::iterate:
        return materialise(e, env, Space::priv, "p");
      case Prim::mapGlb:
      case Prim::mapWrg:
        break;
    }
    throw UserError(ExitStatus::program, fmt::format("the result of {} is read inside its own kernel", info(prim).name),
                    "an intermediate result of all work-groups needs toGlobal outside of every map");
  }

  static std::string nameFor(Expr e, const char* otherwise) {
    return e.is(Expr::Form::variable) ? e.name() : otherwise;
  }

  static std::optional<Nat> natOf(const ExprPtr& e) {
    if (const auto* i = std::get_if<kernel::Index>(&e->node)) return i->value;
    if (const auto* l = std::get_if<kernel::Literal>(&e->node); l && e->type == ValueType{Scalar::i32, 1})
      return Nat(l->value.integer);
    return std::nullopt;
  }

  ViewPtr elementAt(const ViewPtr& index, const ViewPtr& array) {
    const ExprPtr i = value(index);
    if (const auto n = natOf(i)) return array->at(*n);
    const NatVar v = NatVar::fresh("at", 0, array->type().length() - Nat(1), NatVar::Role::index);
    emit(kernel::DeclareIndex{v, i});
    return array->at(Nat(v));
  }

  ExprPtr operation(Op op, const std::vector<Expr>& operands, const EnvPtr& env) {
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

  static ExprPtr widen(const ExprPtr& e, int width) { return e->type.width == width ? e : kernel::splat(e, width); }

  // Arithmetic on indices stays symbolic, so that what it indexes is understood.
  static std::optional<ExprPtr> onIndices(Op op, const std::vector<ExprPtr>& args) {
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

  ExprPtr dot(ExprPtr a, ExprPtr b) {
    if (!isAtom(a)) a = declare("a", a);
    if (!isAtom(b)) b = declare("b", b);
    ExprPtr sum = kernel::operation(Op::mul, {kernel::lane(a, 0), kernel::lane(b, 0)});
    for (int l = 1; l < a->type.width; l++)
      sum = kernel::operation(Op::add, {sum, kernel::operation(Op::mul, {kernel::lane(a, l), kernel::lane(b, l)})});
    return sum;
  }

  static int unrollOf(const Spine& s) {
    const Prim p = s.head.prim();
    if (p != Prim::mapSeqUnroll && p != Prim::reduceSeqUnroll) return 0;
    const auto factor = s.head.nats()[0].constant();
    if (!factor || *factor < 0)
      throw UserError(ExitStatus::program, fmt::format("{}: the unroll factor must be a constant", info(p).name));
    return *factor == 0 ? -1 : static_cast<int>(*factor);
  }

  ViewPtr reduce(const Spine& s, const EnvPtr& env) {
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
      acc = allocate(init.type(), Space::priv, "acc", &buffers);
      write(init, env, {acc, Space::priv});
    }
    loop("i", in.type().length(), LoopKind::sequential, 0, unrollOf(s),
         [&](Nat i) { step(f, env, acc, buffers, xs->at(i)); });
    return acc;
  }

  // acc = f((acc, x))
  void step(Expr f, const EnvPtr& env, const ViewPtr& acc, const std::vector<kernel::BufferId>& buffers,
            const ViewPtr& x) {
    const Type type = acc->type();
    const EnvPtr inner = bindParameter(f, env, tupleView({acc, x}));
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
    Block direct = collect([&] { write(f.body(), inner, {acc, Space::priv}); });
    if (type.isArray() && mayStoreInPlace(direct, buffers)) {
      for (kernel::Stmt& s : direct) block_->push_back(std::move(s));
      return;
    }
    const ViewPtr next = allocate(type, Space::priv, "next");
    write(f.body(), inner, {next, Space::priv});
    copy(next, {acc, Space::priv});
  }

  void leafValues(const ViewPtr& from, const ViewPtr& to, std::vector<std::pair<ViewPtr, ExprPtr>>& out) {
    if (!to->type().is(Type::Kind::tuple)) {
      out.emplace_back(to, value(from));
      return;
    }
    for (int c = 0; c < static_cast<int>(to->type().components().size()); c++)
      leafValues(from->component(c), to->component(c), out);
  }

  // ---------------------------------------------------------------------------------------------------------- write
  void write(Expr e, const EnvPtr& env, const Destination& out) {
    if (e.is(Expr::Form::variable)) return copy(lookUp(env, e), out);
    if (!e.is(Expr::Form::apply)) return store(out.view, value(read(e, env)));
    const Spine s = spineOf(e);
    const auto& a = s.arguments;
    const Prim prim = s.head.prim();
    switch (prim) {
      case Prim::map:
        if (isInvertibleIn(a[0].body(), a[0].parameter())) {
          const ViewPtr inner = lazyView(
              a[1].type(), [f = a[0], to = out.view](Nat i) { return undo(f.body(), f.parameter(), to->at(i)); });
          return write(a[1], env, out.with(inner));
        }
        [[fallthrough]];
      case Prim::mapSeq:
      case Prim::mapSeqUnroll:
        return mapLoop(s, "i", LoopKind::sequential, 0, env, out);
      case Prim::mapGlb:
        return mapLoop(s, "glb", LoopKind::global, dimensionOf(s), env, out);
      case Prim::mapWrg:
        return mapLoop(s, "wrg", LoopKind::group, dimensionOf(s), env, out);
      case Prim::mapLcl:
        return mapLoop(s, "lcl", LoopKind::local, dimensionOf(s), env, out);
      case Prim::generate:
        return loop("i", e.type().length(), LoopKind::sequential, 0, 0, [&](Nat i) {
          const EnvPtr inner = bindParameter(a[0], env, valueView(a[0].parameter().type(), kernel::index(i)));
          write(a[0].body(), inner, out.with(out.view->at(i)));
        });
      case Prim::let: {
        ViewPtr in = read(a[1], env);
        if (a[1].type().isRegister() && !a[1].type().is(Type::Kind::tuple))
          in = inRegister(in, a[0].parameter().name());
        return write(a[0].body(), bindParameter(a[0], env, in), out);
      }
      case Prim::tuple:
        for (std::size_t c = 0; c < a.size(); c++) write(a[c], env, out.with(out.view->component(static_cast<int>(c))));
        return;
      case Prim::zip: {
        const ViewPtr parts = unzipView(out.view);
        for (std::size_t c = 0; c < a.size(); c++) write(a[c], env, out.with(parts->component(static_cast<int>(c))));
        return;
      }
      case Prim::unzip: {
        std::vector<ViewPtr> parts;
        for (std::size_t c = 0; c < e.type().components().size(); c++)
          parts.push_back(out.view->component(static_cast<int>(c)));
        return write(a[0], env, out.with(zipView(std::move(parts))));
      }
      case Prim::id:
      case Prim::join:
      case Prim::split:
      case Prim::transpose:
      case Prim::reorder:
      case Prim::asVector:
      case Prim::asScalar:
        return write(a[0], env, out.with(undoLayout(s, out.view)));
      case Prim::concat: {
        const Nat n = a[0].type().length();
        write(a[0], env, out.with(takeView(out.view, n)));
        return write(a[1], env, out.with(dropView(out.view, n)));
      }
      case Prim::toGlobal:
        return writeIn(Space::global, e, env, out);
      case Prim::toLocal:
        return writeIn(Space::local, e, env, out);
      case Prim::toPrivate:
        return writeIn(Space::priv, e, env, out);
      case Prim::scan:
      case Prim::scanSeq:
      case Prim::scanExclusive:
      case Prim::scanExclusiveSeq:
        return scan(s, env, out);
      case Prim::iterate:
        return iterate(s, env, out);
      default:
        break;
    }
    copy(read(e, env), out);
  }

  static int dimensionOf(const Spine& s) { return static_cast<int>(*s.head.nats()[0].constant()); }

  void mapLoop(const Spine& s, const char* name, LoopKind kind, int dim, const EnvPtr& env, const Destination& out) {
    const Expr f = s.arguments[0];
    const ViewPtr in = read(s.arguments[1], env);
    loop(kind == LoopKind::sequential ? name : fmt::format("{}{}", name, dim), s.arguments[1].type().length(), kind,
         dim, unrollOf(s), [&](Nat i) {
           const EnvPtr inner = bindParameter(f, env, in->at(i));
           write(f.body(), inner, out.with(out.view->at(i)));
         });
  }

  // The destination of x when the destination of layout(x) is given.
  static ViewPtr undoLayout(const Spine& s, const ViewPtr& out) {
    const Type in = s.arguments[0].type();
    switch (s.head.prim()) {
      case Prim::join:
        return splitView(out, in.element().length());
      case Prim::split:
        return joinView(out);
      case Prim::transpose:
        return transposeView(out);
      case Prim::reorder:
        return reorderView(out, s.head.indexFn(), s.head.nats(), true);
      case Prim::asVector:
        return asScalarView(out);
      case Prim::asScalar:
        return asVectorView(out, in.element().length());
      case Prim::id:
        return out;
      default:
        throw InternalError("not an invertible layout");
    }
  }

  // The same for a chain of layouts on `parameter` (isInvertibleIn).
  static ViewPtr undo(Expr body, Expr parameter, const ViewPtr& out) {
    if (body == parameter) return out;
    const Spine s = spineOf(body);
    if (s.head.prim() == Prim::map) {
      const Expr f = s.arguments[0];
      return undo(s.arguments[1], parameter, lazyView(s.arguments[1].type(), [f, out](Nat i) {
                    return undo(f.body(), f.parameter(), out->at(i));
                  }));
    }
    return undo(s.arguments[0], parameter, undoLayout(s, out));
  }

  void writeIn(Space space, Expr e, const EnvPtr& env, const Destination& out) {
    if (space == out.space) return write(e.argument(), env, out);
    copy(read(e, env), out);
  }

  void scan(const Spine& s, const EnvPtr& env, const Destination& out) {
    const Expr init = s.arguments[0], f = s.arguments[1], in = s.arguments[2];
    const bool exclusive = isExclusiveScan(s.head.prim());
    const ViewPtr xs = read(in, env);
    std::vector<kernel::BufferId> buffers;
    const ViewPtr acc = allocate(init.type(), Space::priv, "acc", &buffers);
    write(init, env, {acc, Space::priv});
    loop("i", in.type().length(), LoopKind::sequential, 0, 0, [&](Nat i) {
      if (exclusive) copy(acc, out.with(out.view->at(i)));
      step(f, env, acc, buffers, xs->at(i));
      if (!exclusive) copy(acc, out.with(out.view->at(i)));
    });
  }

  // Two memories in turns when the count is small and known, else one with a copy back each time.
  void iterate(const Spine& s, const EnvPtr& env, const Destination& out) {
    const Nat count = s.head.nats()[0];
    const Expr f = s.arguments[0], in = s.arguments[1];
    const bool shared = anyPrimitive(f, [](Expr p) { return p.prim() == Prim::mapLcl; });
    const Space space = shared ? Space::local : Space::priv;
    const auto times = count.constant();
    if (times && *times <= maxUnrolledIterations) {
      if (*times == 0) return write(in, env, out);
      ViewPtr from = read(in, env);
      std::array<ViewPtr, 2> memory;
      for (std::int64_t i = 0; i + 1 < *times; i++) {
        ViewPtr& to = memory[static_cast<std::size_t>(i % 2)];
        if (!to) to = allocate(in.type(), space, fmt::format("step{}", i % 2));
        write(f.body(), bindParameter(f, env, from), {to, space});
        from = to;
      }
      return write(f.body(), bindParameter(f, env, from), out);
    }
    const ViewPtr state = allocate(in.type(), space, "state"), next = allocate(in.type(), space, "next");
    write(in, env, {state, space});
    loop("step", count, LoopKind::sequential, 0, 1, [&](Nat) {
      write(f.body(), bindParameter(f, env, state), {next, space});
      copy(next, {state, space});
    });
    copy(state, out);
  }

  struct Loop {
    NatVar index;
    Nat count;
    LoopKind kind;
  };

  kernel::Kernel kernel_;
  std::vector<KernelArgument> arguments_;
  Block* block_ = nullptr;
  std::vector<Loop> loops_;
  std::set<kernel::BufferId> writtenByLane_;  // private arrays of vectors
};

}  // namespace

LoweredKernel lower(const Stage& stage, const std::string& name) { return Lowering().run(stage, name); }

}  // namespace lift::detail
