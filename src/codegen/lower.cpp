// Lowering: kernels, environments, statements and memory.
#include <fmt/format.h>

#include <algorithm>

#include "lowerer.hpp"

namespace lift::detail {

ValueType valueTypeOf(Type type) {
  ValueType t;
  const Scalar s = scalarOf(type);
  t.scalar = keptAs(s);
  if (type.isVector()) {
    const auto width = type.length().constant();
    if (!width)
      throw UserError(ExitStatus::program, "a vector's width must be a constant when code is generated",
                      fmt::format("give a value to {}", type.length().str()));
    t.width = static_cast<int>(*width);
  }
  return t;
}

LoweredKernel Lowering::run(const Stage& stage, const std::string& name) {
  kernel_.name = name;
  kernel_.storesOnce = true;
  EnvPtr env;
  for (const Expr v : stage.body.freeVariables()) {
    env = extend(env, v, globalMemory(v, true));
  }
  keepsHalves_ = keeping_.halves.has(stage.output);
  inPlace_ = stage.inPlace;
  if (stage.start) inPlace_.push_back(spineOf(*updateOf(stage.body)).arguments[0]);
  const Destination out{globalMemory(stage.output, false), AddressSpace::global, true};
  block_ = &kernel_.body;
  write(stage.body, env, out);
  clearVectors(kernel_.body);
  kernel_.sizes = sizesIn(kernel_.body);
  return {std::move(kernel_), std::move(arguments_)};
}

EnvPtr Lowering::extend(EnvPtr env, Expr variable, ViewPtr view) {
  return std::make_shared<const Env>(Env{variable, std::move(view), std::move(env)});
}

const ViewPtr& Lowering::lookUp(const EnvPtr& env, Expr variable) {
  for (const Env* e = env.get(); e; e = e->parent.get())
    if (e->variable == variable) return e->view;
  throw InternalError("unbound variable " + variable.name());
}

EnvPtr Lowering::bindParameter(Expr lambda, const EnvPtr& env, const ViewPtr& argument) {
  const Expr parameter = lambda.parameter();
  if (!lambda.body().hasFree(parameter)) return env;
  if (parameter.type().isArray()) return extend(env, parameter, argument);
  const Uses uses(parameter, lambda.body());
  return extend(env, parameter, force(argument, uses, {}, parameter.name()));
}

ViewPtr Lowering::force(const ViewPtr& v, const Uses& uses, std::vector<int> path, const std::string& name) {
  if (v->type().isTuple()) {
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

ViewPtr Lowering::inRegister(const ViewPtr& v, const std::string& name) {
  if (viewAs<RegisterView>(v)) return v;
  const ExprPtr e = value(v);
  if (isAtom(e)) return valueView(v->type(), e);
  return valueView(v->type(), declare(name, e));
}

bool Lowering::isAtom(const ExprPtr& e) {
  return is<kernel::VarRef>(e) || is<kernel::Literal>(e) || is<kernel::Index>(e);
}

Lowering::Made Lowering::made() const {
  return {kernel_.buffers.size(), kernel_.variables.size(), kernel_.arguments.size(),
          arguments_.size(),      kernel_.faults,           tables_,
          writtenByLane_};
}

void Lowering::backTo(Made made) {
  kernel_.buffers.resize(made.buffers);
  kernel_.variables.resize(made.variables);
  kernel_.arguments.resize(made.kernelArguments);
  arguments_.resize(made.arguments);
  kernel_.faults = made.faults;
  tables_ = std::move(made.tables);
  writtenByLane_ = std::move(made.writtenByLane);
}

kernel::VarId Lowering::newVariable(const std::string& name, ValueType type) {
  kernel_.variables.push_back({name, type});
  return static_cast<kernel::VarId>(kernel_.variables.size() - 1);
}

ExprPtr Lowering::declare(const std::string& name, const ExprPtr& value) {
  const kernel::VarId v = newVariable(name, value->type);
  emit(kernel::Declare{v, value});
  return kernel::ref(v, value->type);
}

kernel::BufferId Lowering::newBuffer(const std::string& name, Scalar scalar, int width, AddressSpace space, Nat count,
                                     bool readOnly) {
  const auto isSuch = [&](kernel::BufferId b) {
    const kernel::Buffer& spare = kernel_.buffers[b];
    return spare.scalar == scalar && spare.width == width && spare.space == space && spare.count == count;
  };
  if (const auto found = std::ranges::find_if(spare_, isSuch); found != spare_.end()) {
    const kernel::BufferId b = *found;
    spare_.erase(found);
    return b;
  }
  kernel_.buffers.push_back({name, scalar, width, space, count, readOnly});
  return static_cast<kernel::BufferId>(kernel_.buffers.size() - 1);
}

std::string Lowering::leafName(const std::string& base, const std::string& path) {
  std::string name = base + path;
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
}

ViewPtr Lowering::globalMemory(Expr variable, bool readOnly, bool temporary, std::vector<kernel::BufferId>* made) {
  std::vector<Storage> storage;
  int leaf = 0;
  for (const Leaf& l : leavesOf(variable.type())) {
    const Scalar scalar = keeping_.halves.has(variable) ? l.scalar : keptAs(l.scalar);
    const auto b =
        newBuffer(leafName(variable.name(), l.path), scalar, 1, AddressSpace::global, elementCount(l.shape), readOnly);
    kernel_.buffers[b].isImage = keeping_.images.contains(variable);
    kernel_.arguments.push_back(b);
    arguments_.push_back({variable, leaf++, temporary});
    if (made) made->push_back(b);
    storage.push_back({b});
  }
  return memoryView(variable.type(), storage);
}

bool Lowering::hasConstantSizes(Type type) {
  const std::vector<Leaf> leaves = leavesOf(type);
  return std::ranges::all_of(leaves, [](const Leaf& l) { return elementCount(l.shape).constant().has_value(); });
}

void Lowering::requireConstantSizes(Expr primitive, Type type, AddressSpace space) const {
  if (space != AddressSpace::global && !hasConstantSizes(type))
    refuse(spans_, primitive,
           fmt::format("{} memory needs constant sizes, which {} has not",
                       space == AddressSpace::priv ? "private" : "local", type.str()),
           "give values to the sizes (--size n=…), or keep the array in global memory with toGlobal");
}

ViewPtr Lowering::allocate(Type type, AddressSpace space, const std::string& name,
                           std::vector<kernel::BufferId>* made) {
  if (space == AddressSpace::priv) {
    if (type.isTuple()) {
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
    if (l.kind == LoopKind::local || (space == AddressSpace::global && l.kind != LoopKind::sequential))
      owners.push_back(l);
  Type whole = type;
  for (auto l = owners.rbegin(); l != owners.rend(); ++l) whole = Type::array(l->count, whole);
  ViewPtr view = space == AddressSpace::local ? arrayMemory(whole, space, name, made)
                                              : globalMemory(Expr::variable(name, whole), false, true, made);
  for (const Loop& l : owners) view = view->at(Nat(l.index));
  return view;
}

ViewPtr Lowering::arrayMemory(Type type, AddressSpace space, const std::string& name,
                              std::vector<kernel::BufferId>* made) {
  std::vector<Storage> storage;
  const Type base = baseOf(type);
  for (Leaf l : leavesOf(type)) {
    int unit = 1;
    if (space == AddressSpace::priv && base.isVector()) {  // kept as vectors, for registers
      unit = valueTypeOf(base).width;
      l.shape.pop_back();
    }
    const Nat count = elementCount(l.shape);
    ensure(count.constant().has_value(), "private and local memory have constant sizes");
    const auto b = newBuffer(leafName(name, l.path), keptAs(l.scalar), unit, space, count, false);
    if (space == AddressSpace::priv) emit(kernel::Allocate{b});
    if (made) made->push_back(b);
    storage.push_back({b, unit});
  }
  return memoryView(type, storage);
}

AddressSpace Lowering::spaceForSteps(const Spine& s, Type type) const {
  const bool shared = std::ranges::any_of(s.arguments, [](Expr a) {
    return anyPrimitive(a, [](Expr p) { return traits(p.prim()).level == Traits::Level::local; });
  });
  if (shared) requireConstantSizes(s.head, type, AddressSpace::local);
  if (shared) return AddressSpace::local;
  // A work-item's own: what is large does not fit a thread's stack, which holds the arrays of a whole work-group.
  constexpr std::int64_t mostElements = 4096;
  for (const Leaf& l : leavesOf(type))
    if (elementCount(l.shape).constant().value_or(0) > mostElements) return AddressSpace::global;
  return ownSpace(type);
}

ViewPtr Lowering::materialise(Expr e, const EnvPtr& env, AddressSpace space, const std::string& name) {
  if (space == AddressSpace::priv && !e.type().isArray() && !e.type().isTuple()) {
    const ExprPtr v = value(read(e, env));
    const kernel::VarId variable = newVariable(name, v->type);
    emit(kernel::Declare{variable, v});
    return std::make_shared<RegisterView>(e.type(), variable);
  }
  const ViewPtr memory = allocate(e.type(), space, name);
  write(e, env, {memory, space});
  return memory;
}

LoweredKernel lower(const Stage& stage, const std::string& name, const Spans& spans, const Keeping& keeping,
                    std::vector<kernel::Site>* sites) {
  return Lowering(spans, keeping, sites).run(stage, name);
}

}  // namespace lift::detail
