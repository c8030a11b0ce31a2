// The structural verifier: what every pass and the lowering promise.
#include <fmt/format.h>

#include <unordered_set>

#include "lift/kernel_walk.hpp"

namespace lift::kernel {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& k)
      : k_(k),
        declared_(k.variables.size()),
        visible_(k.variables.size()),
        allocated_(k.buffers.size()),
        reachable_(k.buffers.size()) {}

  void run() {
    for (NatVar v : k_.sizes) visibleNats_.insert(v);
    for (const Variable& v : k_.variables) registerType(v.type, v.name);
    std::unordered_set<BufferId> arguments;
    for (BufferId b : k_.arguments) {
      check(b < k_.buffers.size(), "argument {} is no buffer", b);
      check(k_.buffers[b].space == AddressSpace::global, "argument {} is not global", k_.buffers[b].name);
      check(arguments.insert(b).second, "argument {} occurs twice", k_.buffers[b].name);
    }
    for (BufferId b = 0; b < k_.buffers.size(); b++) {
      const Buffer& buffer = k_.buffers[b];
      // The size of a global buffer is the caller's business: a kernel that reads only the first element need not know
      // it.
      if (buffer.space != AddressSpace::global) nat(buffer.count, "size of " + buffer.name);
      check(!buffer.isImage || (buffer.space == AddressSpace::global && isFloat(buffer.scalar)),
            "{} is an image, but no global array of floats", buffer.name);
      check(isWidth(buffer.width), "{} has elements of width {}", buffer.name, buffer.width);
      if (buffer.space == AddressSpace::global) {
        check(arguments.contains(b), "global buffer {} is no argument", buffer.name);
        check(buffer.width == 1, "global buffer {} has vector elements", buffer.name);
      } else {
        check(!buffer.readOnly, "{} is read-only but not global", buffer.name);
      }
      if (buffer.space == AddressSpace::constant) {
        check(buffer.width == 1 && buffer.count == Nat(static_cast<std::int64_t>(buffer.values.size())) &&
                  std::ranges::all_of(buffer.values, [&](const ScalarValue& v) { return v.type == buffer.scalar; }),
              "table {} does not hold its values", buffer.name);
      } else {
        check(buffer.values.empty(), "{} has values but is no table", buffer.name);
      }
      reachable_[b] = buffer.space != AddressSpace::priv;
    }
    for (int d = 0; d < 3; d++) {
      nat(k_.range.global[static_cast<std::size_t>(d)], "global range");
      nat(k_.range.local[static_cast<std::size_t>(d)], "local range");
    }
    block(k_.body);
  }

 private:
  template <class... Args>
  void check(bool holds, fmt::format_string<Args...> text, Args&&... args) const {
    if (!holds) throw InternalError("kernel " + k_.name + ": " + fmt::format(text, std::forward<Args>(args)...));
  }

  static bool isWidth(int w) { return w == 1 || w == 2 || w == 3 || w == 4 || w == 8 || w == 16; }

  void registerType(ValueType t, const std::string& what) const {
    check(isWidth(t.width), "{} has width {}", what, t.width);
    check(t.scalar != Scalar::f16, "{} is a value of type f16", what);
  }

  void nat(Nat n, const std::string& where) {
    if (n.constant() || checked_.contains(n)) return;
    for (NatVar v : n.variables())
      check(visibleNats_.contains(v), "{}: {} mentions {}, which nothing in scope defines", where, n.str(), v.name());
    checked_.insert(n);
  }

  // Leaving a scope invalidates what was checked under its variables.
  void define(NatVar v, const std::string& what) {
    check(visibleNats_.insert(v).second, "{} {} is already defined in an enclosing scope", what, v.name());
  }
  void undefine(NatVar v) {
    visibleNats_.erase(v);
    checked_.clear();
  }

  void access(BufferId b, Nat index, ValueType t, const char* what) {
    check(b < k_.buffers.size(), "{} of buffer {} of {}", what, b, k_.buffers.size());
    const Buffer& buffer = k_.buffers[b];
    check(reachable_[b], "{} of {} outside of its scope", what, buffer.name);
    const Scalar scalar = buffer.scalar == Scalar::f16 ? Scalar::f32 : buffer.scalar;
    check(t.scalar == scalar, "{} of {}: {} instead of {}", what, buffer.name, info(t.scalar).name, info(scalar).name);
    check(buffer.width == 1 || buffer.width == t.width, "{} of {}: width {} instead of {}", what, buffer.name, t.width,
          buffer.width);
    nat(index, fmt::format("{} of {}", what, buffer.name));
  }

  void expr(const ExprPtr& e) {
    if (e == nullptr) throw InternalError("kernel " + k_.name + ": null expression");
    forEachChild(*e, [&](const ExprPtr& c) { expr(c); });
    registerType(e->type, "an expression");
    const ValueType t = e->type;
    match(
        e->node,
        [&](const Literal& l) { check(l.value.type == t.scalar, "literal of another type than its expression"); },
        [&](const Index& i) {
          check(t == ValueType{Scalar::i32, 1}, "index that is no i32");
          nat(i.value, "index");
        },
        [&](const VarRef& v) { variable(v.variable, t); }, [&](const Load& l) { access(l.buffer, l.index, t, "load"); },
        [&](const Operation& o) {
          check(operation(o.op, o.args)->type == t, "operation {} of a wrong type", info(o.op).name);
        },
        [&](const Convert& c) { check(c.value->type.width == t.width, "conversion changes the width"); },
        [&](const Splat& s) {
          check(s.value->type == ValueType{t.scalar, 1} && t.width > 1, "splat of a wrong type");
        },
        [&](const Lane& l) {
          check(t == ValueType{l.vector->type.scalar, 1}, "lane of a wrong type");
          check(l.lane >= 0 && l.lane < l.vector->type.width, "lane {} of a vector of {}", l.lane,
                l.vector->type.width);
        },
        [&](const AnyLane& any) {
          check(t == ValueType{Scalar::boolean, 1} && any.vector->type.scalar == Scalar::boolean,
                "anyLane of a wrong type");
        },
        [&](const MakeVector& m) {
          check(static_cast<int>(m.lanes.size()) == t.width, "vector of {} lanes has width {}", m.lanes.size(),
                t.width);
          for (const ExprPtr& lane : m.lanes)
            check(lane->type == ValueType{t.scalar, 1}, "vector with a lane of another type");
        },
        [&](const Test& test) {
          check(t == ValueType{Scalar::boolean, 1}, "test that is no bool");
          for (const Comparison& c : test.all) {
            nat(c.lhs, "test");
            nat(c.rhs, "test");
          }
        },
        [&](const Choose& c) {
          check(c.condition->type == ValueType{Scalar::boolean, 1}, "choose on a condition that is no bool");
          check(c.then->type == t && c.otherwise->type == t, "choose between values of another type");
        });
  }

  void variable(VarId v, ValueType t) const {
    check(v < k_.variables.size(), "variable {} of {}", v, k_.variables.size());
    check(visible_[v], "{} is used outside of its scope", k_.variables[v].name);
    check(k_.variables[v].type == t, "{} is used with another type than its own", k_.variables[v].name);
  }

  // What the statements of a block define, until its end.
  struct Defined {
    std::vector<VarId> variables;
    std::vector<BufferId> buffers;
    std::vector<NatVar> nats;
  };

  void block(const Block& b) {
    Defined defined;
    for (const Stmt& s : b) {
      forEachRoot(s, [&](const ExprPtr& e) { expr(e); });
      std::visit([&](const auto& node) { statement(node, defined); }, s.node);
    }
    for (VarId v : defined.variables) visible_[v] = false;
    for (BufferId buffer : defined.buffers) reachable_[buffer] = false;
    for (NatVar v : defined.nats) undefine(v);
  }

  void statement(const Declare& d, Defined& defined) {
    check(d.variable < k_.variables.size(), "declaration of variable {} of {}", d.variable, k_.variables.size());
    const Variable& v = k_.variables[d.variable];
    check(!declared_[d.variable], "{} is declared twice", v.name);
    check(!d.value || (*d.value)->type == v.type, "{} is initialised with another type", v.name);
    declared_[d.variable] = visible_[d.variable] = true;
    defined.variables.push_back(d.variable);
  }
  void statement(const Assign& a, const Defined&) const { variable(a.variable, a.value->type); }
  void statement(const AssignLane& a, const Defined&) const {
    check(a.variable < k_.variables.size(), "assignment to variable {}", a.variable);
    const auto& [name, t] = k_.variables[a.variable];
    variable(a.variable, t);
    check(a.lane >= 0 && a.lane < t.width, "assignment to lane {} of {}", a.lane, name);
    check(a.value->type == ValueType{t.scalar, 1}, "lane of {} gets another type", name);
  }
  void statement(const DeclareIndex& d, Defined& defined) {
    check(d.value->type == ValueType{Scalar::i32, 1}, "{} is named after a value that is no i32", d.variable.name());
    define(d.variable, "index");
    defined.nats.push_back(d.variable);
  }
  void statement(const Store& st, const Defined&) {
    access(st.buffer, st.index, st.value->type, "store");
    const Buffer& b = k_.buffers[st.buffer];
    check(!b.readOnly, "store to the read-only {}", b.name);
    const bool isShared = b.space == AddressSpace::local || b.space == AddressSpace::global;
    check(!st.update ||
              (isShared && !b.isImage && st.value->type == ValueType{b.scalar, 1} && isAtomic(*st.update, b.scalar)),
          "update of {} that is not made at once", b.name);
  }
  void statement(const Prefetch& p, const Defined&) {
    check(p.buffer < k_.buffers.size(), "prefetch of buffer {}", p.buffer);
    const Buffer& b = k_.buffers[p.buffer];
    check(b.space == AddressSpace::global && !b.isImage, "prefetch of {}, no array of global memory", b.name);
    nat(p.index, "prefetch of " + b.name);
  }
  void statement(const Allocate& a, Defined& defined) {
    check(a.buffer < k_.buffers.size() && k_.buffers[a.buffer].space == AddressSpace::priv,
          "allocation of something that is no private array");
    check(!allocated_[a.buffer], "{} is allocated twice", k_.buffers[a.buffer].name);
    allocated_[a.buffer] = reachable_[a.buffer] = true;
    defined.buffers.push_back(a.buffer);
  }
  void statement(const For& f, const Defined&) {
    const bool isSequential = f.kind == LoopKind::sequential;
    check(f.dim >= 0 && f.dim < 3, "loop {} in dimension {}", f.index.name(), f.dim);
    check(!isSequential || f.trip == Trip::any, "sequential loop {} claims a trip count", f.index.name());
    nat(f.count, "trip count of " + f.index.name());
    if (f.running) {
      check(isSequential, "parallel loop {} may end early", f.index.name());
      variable(*f.running, {Scalar::boolean, 1});
    }
    define(f.index, "loop index");
    block(f.body);
    undefine(f.index);
  }
  void statement(const If& i, const Defined&) {
    check(i.condition->type == ValueType{Scalar::boolean, 1}, "if on a condition that is no bool");
    block(i.then);
    block(i.otherwise);
  }
  void statement(const Fault& x, const Defined&) {
    check(k_.faults.has_value(), "a fault without a buffer for it");
    check(x.value->type == ValueType{Scalar::i32, 1}, "a fault whose value is no i32");
    nat(x.bound, "fault");
  }
  void statement(const Combine& c, const Defined&) {
    check(c.variable < k_.variables.size() && c.parts < k_.buffers.size(), "a combination of nothing");
    const Buffer& parts = k_.buffers[c.parts];
    variable(c.variable, {parts.scalar, 1});
    check(parts.space == AddressSpace::local && parts.width == 1, "{} is no local memory of scalars", parts.name);
  }
  static void statement(const Barrier&, const Defined&) {}
  static void statement(const Comment&, const Defined&) {}

  const Kernel& k_;
  std::vector<bool> declared_, visible_, allocated_, reachable_;
  std::unordered_set<NatVar> visibleNats_;
  std::unordered_set<Nat> checked_;
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace lift::kernel
