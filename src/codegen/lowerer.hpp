// Lowering: from a term to the kernel tree, by two mutually recursive translations.
//
//   read(e)       the value of e as a view: layouts compose views, a map that nobody schedules stays an unevaluated
//                 function of its index (so producers fuse into consumers), loops are emitted and leave their result
//                 in memory
//   write(e, out) statements that store e into the destination view `out`: layouts turn around and act on the
//                 destination, maps become loops
//
// Every statement goes to the current block, in program order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis.hpp"
#include "lift/diagnostic.hpp"
#include "lowering.hpp"

namespace lift::detail {

using kernel::AddressSpace;
using kernel::Block;
using kernel::ExprPtr;
using kernel::LoopKind;
using kernel::ValueType;

// Of a scalar or vector type; half counts as f32, since it is a storage type only.
ValueType valueTypeOf(Type type);

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

// The condition of a GuardedView that is no comparison of indices.
class ValueCondition final : public Condition {
 public:
  explicit ValueCondition(ExprPtr value) : value(std::move(value)) {}
  const ExprPtr value;
};

// The view as one of that kind, else null.
template <class Kind>
const Kind* viewAs(const ViewPtr& v) {
  return dynamic_cast<const Kind*>(v.get());
}

inline ViewPtr valueView(Type type, ExprPtr e) { return std::make_shared<ValueView>(type, std::move(e)); }

// Where a term's result goes, and in which address space that is.
struct Destination {
  ViewPtr view;
  AddressSpace space;
  bool isResult = false;  // the kernel's, which it does not read
  Destination with(ViewPtr v) const { return {std::move(v), space, isResult}; }
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
  Lowering(const Spans& spans, const Keeping& keeping, std::vector<kernel::Site>* sites)
      : spans_(spans), keeping_(keeping), sites_(sites) {}
  LoweredKernel run(const Stage& stage, const std::string& name);

 private:
  // ----------------------------------------------------------------------------------------------------- environment
  static EnvPtr extend(EnvPtr env, Expr variable, ViewPtr view);
  static const ViewPtr& lookUp(const EnvPtr& env, Expr variable);
  // The environment in which a lambda's body runs on an argument. Scalars that the body uses more than once are
  // computed once, into a register.
  EnvPtr bindParameter(Expr lambda, const EnvPtr& env, const ViewPtr& argument);
  ViewPtr force(const ViewPtr& v, const Uses& uses, std::vector<int> path, const std::string& name);
  ViewPtr inRegister(const ViewPtr& v, const std::string& name);
  static bool isAtom(const ExprPtr& e);

  // ------------------------------------------------------------------------------------------------------ statements
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
  // What the kernel has besides statements, at one time, and the way back to it: where views are read only to look at
  // them, and what they emit is collected and left out.
  struct Made {
    std::size_t buffers, variables, kernelArguments, arguments;
    std::optional<kernel::BufferId> faults;
    std::unordered_map<Expr, ViewPtr> tables;
    std::set<kernel::BufferId> writtenByLane;
  };
  Made made() const;
  void backTo(Made made);
  kernel::VarId newVariable(const std::string& name, ValueType type);
  ExprPtr declare(const std::string& name, const ExprPtr& value);
  template <class Body>
  void loop(const std::string& name, Nat count, LoopKind kind, int dim, int unroll, Body&& body,
            std::optional<kernel::VarId> running = {}) {
    const NatVar index = NatVar::index(name, count);
    loops_.push_back({index, count, kind, dim});
    Block inner = collect([&] { body(Nat(index)); });
    loops_.pop_back();
    if (!inner.empty())
      emit(kernel::For{index, count, kind, dim, kernel::Trip::any, unroll, std::move(inner), running});
  }

  // ---------------------------------------------------------------------------------------------------------- memory
  kernel::BufferId newBuffer(const std::string& name, Scalar scalar, int width, AddressSpace space, Nat count,
                             bool readOnly);
  static std::string leafName(const std::string& base, const std::string& path);
  ViewPtr globalMemory(Expr variable, bool readOnly, bool temporary = false,
                       std::vector<kernel::BufferId>* made = nullptr);
  static bool hasConstantSizes(Type type);
  // Of what a work-item keeps for itself: private memory, global where the size is known only when the kernel runs.
  static AddressSpace ownSpace(Type type) { return hasConstantSizes(type) ? AddressSpace::priv : AddressSpace::global; }
  void requireConstantSizes(Expr primitive, Type type, AddressSpace space) const;  // for private and local memory
  // Memory for a value of the type; the buffers made are appended to `made` when given.
  ViewPtr allocate(Type type, AddressSpace space, const std::string& name,
                   std::vector<kernel::BufferId>* made = nullptr);
  ViewPtr arrayMemory(Type type, AddressSpace space, const std::string& name, std::vector<kernel::BufferId>* made);
  // Where a work-item, or a group where its work-items share the work, keeps a value between the steps of a loop.
  AddressSpace spaceForSteps(const Spine& s, Type type) const;
  // Computes e into new memory.
  ViewPtr materialise(Expr e, const EnvPtr& env, AddressSpace space, const std::string& name);

  // ---------------------------------------------------------------------------------------------------------- leaves
  static ExprPtr testOf(const GuardedView::Guard& guard);
  ExprPtr value(const ViewPtr& v);
  // A vector of the lanes: one load where they are consecutive in memory.
  ExprPtr gather(const std::vector<ViewPtr>& lanes, Type type);
  ExprPtr laneValue(const LaneView& v);
  // Values of which one side is computed: an expression where nothing needs a statement, else a conditional.
  using Values = std::function<std::vector<ExprPtr>()>;
  std::vector<ExprPtr> choose(const ExprPtr& condition, const std::string& name, const Values& then,
                              const Values& otherwise);
  void store(const ViewPtr& out, ExprPtr v);
  void storeLanes(const std::vector<ViewPtr>& lanes, const ExprPtr& v);
  void storeLane(const LaneView& out, ExprPtr v);
  void assignLane(kernel::VarId variable, int width, Nat lane, ExprPtr v);
  // Lanes of private vectors are written by writing the whole vector back, so these start as zero.
  void clearVectors(Block& block);
  // Element by element, in sequential loops, or the outermost dimension by the work-items of a group.
  void copy(const ViewPtr& from, const Destination& to, LoopKind kind = LoopKind::sequential);

  // ------------------------------------------------------------------------------------------------------------ read
  ViewPtr apply(Expr lambda, const EnvPtr& env, const ViewPtr& argument);
  ViewPtr read(Expr e, const EnvPtr& env);
  ViewPtr layout(const Spine& s, const EnvPtr& env);
  ViewPtr computed(Expr e, const Spine& s, const EnvPtr& env);
  ViewPtr kept(Expr e, const Spine& s, const EnvPtr& env);
  // Array literals: constant ones are tables, the elements of others are computed where they are read.
  static bool isTable(Expr e);
  ViewPtr table(Expr e);
  std::vector<GuardedView::Deferred> deferred(const std::vector<Expr>& terms, const EnvPtr& env);
  static AddressSpace spaceOf(Prim prim);         // where its value is kept
  static std::string nameIn(AddressSpace space);  // of what the program does not name
  static ExprPtr integer(Nat n);
  static std::optional<Nat> natOf(const ExprPtr& e);
  static std::optional<ScalarValue> constantOf(const ExprPtr& e);
  ViewPtr elementAt(Expr primitive, const ViewPtr& index, const ViewPtr& array);
  ExprPtr operation(Expr primitive, const std::vector<Expr>& operands, const EnvPtr& env);
  static ExprPtr lanewise(Op op, std::vector<ExprPtr> args);
  // a && b, a || b: b only where a leaves it open.
  ExprPtr logical(Op op, const std::vector<Expr>& operands, const EnvPtr& env);
  ExprPtr conditionOf(Expr condition, const EnvPtr& env);
  ViewPtr conditional(Expr e, const Spine& s, const EnvPtr& env);
  // Whether a function of scalars has no form on vectors: each lane may read another element of an array, must not
  // compute a branch that it does not take, or has a state or an array of its own in a loop.
  static bool isByLane(Expr f);
  // Lane by lane, each by itself.
  ViewPtr vectorizeLanes(const Spine& s, const EnvPtr& env);
  ViewPtr laneOf(const ViewPtr& vectors, Type scalars, int lane);
  ViewPtr ofLanes(const std::vector<ViewPtr>& lanes, Type vectors);
  // What `leaf` gives for the scalars and vectors of the type, in order, in its tuples.
  static ViewPtr composed(Type type, const std::function<ViewPtr(Type)>& leaf);
  // The leaves in order, as values of the type.
  static ViewPtr registersOf(Type type, const std::vector<ExprPtr>& leaves);
  static ExprPtr widen(const ExprPtr& e, int width);
  // Registers of the type, which has that many lanes, where the view may be of what is the same in all of them.
  ViewPtr inAllLanes(const ViewPtr& v, Type type, Nat lanes);
  // Arithmetic on indices stays symbolic, so that what it indexes is understood.
  static std::optional<ExprPtr> onIndices(Op op, const std::vector<ExprPtr>& args);
  // So are numbers that are known, of which the indices of a step may be made.
  static std::optional<ExprPtr> onConstants(Op op, const std::vector<ExprPtr>& args);
  ExprPtr dot(ExprPtr a, ExprPtr b);
  static int unrollOf(const Spine& s);
  ViewPtr reduce(const Spine& s, const EnvPtr& env);
  ViewPtr reduceInGroup(const Spine& s, const EnvPtr& env);
  // The i32 of a state that each step raises by one: a component of it, or the state itself.
  struct Counter {
    std::optional<int> component = {};

    Expr of(Expr state) const;
    ViewPtr of(const ViewPtr& state) const;
    ViewPtr at(Nat number, const ViewPtr& state) const;  // the state, where it is known to be that number
    bool isRaisedBy(Expr f) const;
  };
  struct Accumulator {
    ViewPtr view;
    std::vector<kernel::BufferId> buffers;  // of an array; empty where it is a part of memory that is not known here
  };
  void accumulate(const Spine& s, const EnvPtr& env, const ViewPtr& xs, const Accumulator& acc);  // elements xs
  void step(Expr f, const EnvPtr& env, const Accumulator& acc, const ViewPtr& x);                 // acc = f((acc, x))
  // What `acc` holds becomes the value of `next`, which may read it.
  void advance(Expr next, const EnvPtr& env, const Accumulator& acc, AddressSpace space);
  // All components of `next` are computed before the first of the registers is replaced.
  bool reads(Expr e, const EnvPtr& env, const std::vector<kernel::BufferId>& buffers);
  bool assignLast(Block& step, const ViewPtr& accumulator);
  void replace(const ViewPtr& registers, const ViewPtr& next);
  std::vector<ExprPtr> leafValues(const ViewPtr& v);
  static void leaves(const ViewPtr& v, std::vector<ViewPtr>& out);
  // Loops that may end early leave their state; registers stay where they are.
  ViewPtr iterateWhile(const Spine& s, const EnvPtr& env);
  std::optional<Nat> indexOf(Expr e, const EnvPtr& env);
  Nat stepsTo(const ExprPtr& bound, const ExprPtr& first, Nat most);

  // ----------------------------------------------------------------------------------------------------------- write
  void write(Expr e, const EnvPtr& env, const Destination& out);
  bool writeThrough(Expr e, const Spine& s, const EnvPtr& env, const Destination& out);
  bool writeComputed(Expr e, const Spine& s, const EnvPtr& env, const Destination& out);
  // Whether a parallel loop may stand here, given the loops that are around it in the kernel.
  void checkNest(Expr primitive, LoopKind kind, int dim, const Destination& out) const;
  std::optional<std::vector<kernel::BufferId>> startsFrom(const Spine& s, const EnvPtr& env, const Destination& out);
  void mapLoop(const Spine& s, const EnvPtr& env, const Destination& out);
  void generateLoop(const Spine& s, const EnvPtr& env, const Destination& out);
  // The destination of x when the destination of layout(x) is given.
  static ViewPtr undoLayout(const Spine& s, const ViewPtr& out);
  // The same for a chain of layouts on `parameter` (isInvertibleIn).
  static ViewPtr undo(Expr body, Expr parameter, const ViewPtr& out);
  void scan(const Spine& s, const EnvPtr& env, const Destination& out);
  bool storesHalves(Type type, const Destination& out) const;
  // The destination is updated in place, unless it would round.
  void reduceByIndex(const Spine& s, const EnvPtr& env, const Destination& out);
  void reduceByIndexAtOnce(const Spine& s, const EnvPtr& env, const Destination& out, LoopKind kind);
  void atKey(const ViewPtr& pair, Nat length, const std::function<void(Nat at)>& update);
  ViewPtr withConstants(Expr state, const EnvPtr& env, const ViewPtr& written);
  // Two memories in turns when the count is known, and small or the state one of long arrays, else a state that each
  // step replaces.
  static bool alternates(const Spine& iterate, AddressSpace space);
  bool isWrittenOut(const Spine& iterate) const;
  // Memory for the state of an iteration: of a work-group's, numbers are in registers, the same in all work-items.
  ViewPtr allocateState(Type type, AddressSpace space, const std::string& name,
                        std::vector<kernel::BufferId>* made = nullptr);
  void iterate(const Spine& s, const EnvPtr& env, const Destination& out);
  ViewPtr iterateInLoop(const Spine& s, const EnvPtr& env, AddressSpace space);

  // ---------------------------------------------------------------------------------------------------------- checks
  int siteOf(Expr primitive, std::string_view message);
  void recordUnless(const ExprPtr& holds, int site, const ExprPtr& value, Nat bound);
  // Whether 0 <= index < length.
  static ExprPtr isIndex(const ExprPtr& index, Nat length);
  ExprPtr checkedIndex(Expr primitive, const ExprPtr& index, Nat length);
  ExprPtr checkedDivisor(Expr primitive, const ExprPtr& divisor);

  struct Loop {
    NatVar index;
    Nat count;
    LoopKind kind;
    int dim;
  };
  const Spans& spans_;
  const Keeping& keeping_;
  std::vector<Expr> inPlace_;               // terms whose value the result's memory holds already
  bool keepsHalves_ = false;                // the kernel's result is kept in halves
  std::vector<kernel::Site>* const sites_;  // null: without checks
  kernel::Kernel kernel_;
  std::vector<KernelArgument> arguments_;
  Block* block_ = nullptr;
  std::vector<Loop> loops_;
  std::unordered_map<Expr, ViewPtr> tables_;
  std::set<kernel::BufferId> writtenByLane_;  // private arrays of vectors
  std::vector<kernel::BufferId> spare_;       // local memory of the step before, which this one may use again
};

}  // namespace lift::detail
