// The emulator: work-items of a group in lock-step under masks, so that a barrier is a point that all of them pass, and
// between two barriers the accesses of all of them are compared.
#include "lift/emulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "emulator_memory.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/nat_code.hpp"

namespace lift::kernel {
namespace {

std::int64_t wrapped(std::uint64_t x) { return static_cast<std::int64_t>(x); }

struct StepLimit {};

class Emulator {
 public:
  Emulator(const Kernel& k, std::vector<std::vector<std::byte>>& memory, const std::map<NatVar, std::int64_t>& sizes,
           const EmulatorOptions& options)
      : k_(k), sizes_(sizes), options_(options), findings_(options.maxFindings, report_) {
    for (std::size_t d = 0; d < 3; d++) {
      const std::int64_t global = constant(k.range.global[d]);
      local_[d] = constant(k.range.local[d]);
      if (local_[d] < 1 || global < 1 || global % local_[d] != 0)
        throw UserError(ExitStatus::program, fmt::format("kernel {}: range {} is no multiple of work-group size {}",
                                                         k.name, global, local_[d]));
      groups_[d] = global / local_[d];
    }
    lanes_ = static_cast<std::size_t>(local_[0] * local_[1] * local_[2]);
    findings_.describe = [this](std::size_t lane) { return describe(lane); };
    if (memory.size() != k.arguments.size())
      throw UserError(ExitStatus::program,
                      fmt::format("kernel {} has {} arguments, not {}", k.name, k.arguments.size(), memory.size()));
    memories_.resize(k.buffers.size());
    for (std::size_t i = 0; i < memory.size(); i++) {
      const Buffer& b = k.buffers[k.arguments[i]];
      const std::int64_t n = constant(b.count);
      if (memory[i].size() < static_cast<std::size_t>(n) * info(b.scalar).bytes)
        throw UserError(ExitStatus::program, fmt::format("argument {} has {} bytes, which is fewer than {} elements",
                                                         b.name, memory[i].size(), n));
      const bool initialised = i >= options.uninitialised.size() || !options.uninitialised[i];
      memories_[k.arguments[i]] = std::make_unique<EmulatedMemory>(b, n, 1, &memory[i], initialised);
    }
    for (BufferId b = 0; b < k.buffers.size(); b++)
      if (k.buffers[b].space != AddressSpace::global)
        memories_[b] = std::make_unique<EmulatedMemory>(k.buffers[b], constant(k.buffers[b].count),
                                                        k.buffers[b].space == AddressSpace::priv ? lanes_ : 1, nullptr,
                                                        k.buffers[b].space == AddressSpace::constant);
    registers_.resize(k.variables.size());
    for (std::size_t v = 0; v < registers_.size(); v++) {
      registers_[v].values.resize(lanes_ * static_cast<std::size_t>(k.variables[v].type.width));
      registers_[v].known.resize(lanes_);
    }
    for (std::size_t l = 0; l < lanes_; l++) all_.push_back(l);
    for (NatVar v : k.sizes) {
      const auto value = sizes.find(v);
      if (value == sizes.end()) throw UserError(ExitStatus::program, fmt::format("size {} has no value", v.name()));
      for (std::size_t l = 0; l < lanes_; l++) integer(slot(v), l) = value->second;
    }
  }

  EmulatorReport run() {
    try {
      for (group_[2] = 0; group_[2] < groups_[2]; group_[2]++)
        for (group_[1] = 0; group_[1] < groups_[1]; group_[1]++)
          for (group_[0] = 0; group_[0] < groups_[0]; group_[0]++) {
            now_.startGroup();
            for (BufferId b = 0; b < k_.buffers.size(); b++)
              if (k_.buffers[b].space == AddressSpace::local) memories_[b]->forget();
            execute(k_.body, all_);
          }
    } catch (const StepLimit&) {
      report_.completed = false;
    }
    return std::move(report_);
  }

 private:
  using Lanes = std::vector<std::size_t>;
  using Wide = std::array<ScalarValue, 16>;
  struct Register {
    std::vector<ScalarValue> values;   // by work-item, then lane
    std::vector<std::uint16_t> known;  // bit per lane
  };

  // ------------------------------------------------------------------------------------------------- integers

  std::int64_t constant(Nat n) const {
    return n.evaluate([&](NatVar v) {
      const auto found = sizes_.find(v);
      if (found == sizes_.end()) throw UserError(ExitStatus::program, fmt::format("size {} has no value", v.name()));
      return found->second;
    });
  }

  std::size_t slot(NatVar v) {
    const auto [at, isNew] = slots_.try_emplace(v, slots_.size());
    if (isNew) integers_.resize(slots_.size() * lanes_);
    return at->second;
  }
  std::int64_t& integer(std::size_t slot, std::size_t lane) { return integers_[slot * lanes_ + lane]; }

  std::int64_t evaluate(Nat n, std::size_t lane) {
    if (const auto c = n.constant()) return *c;
    auto code = codes_.find(n);
    if (code == codes_.end()) code = codes_.emplace(n, NatCode(n, [this](NatVar v) { return slot(v); })).first;
    return code->second.evaluate<std::int64_t>(
        [&](const NatCode::Leaf& l) { return l.isConstant ? l.value : integer(l.place(), lane); },
        [&](Nat::Kind kind, std::int64_t a, std::int64_t b) { return applied(kind, a, b, n, lane); });
  }

  // As the device computes it, but for division by zero.
  std::int64_t applied(Nat::Kind kind, std::int64_t a, std::int64_t b, Nat of, std::size_t lane) {
    switch (kind) {
      case Nat::Kind::sum: return wrapped(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
      case Nat::Kind::product: return wrapped(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      case Nat::Kind::min: return std::min(a, b);
      case Nat::Kind::max: return std::max(a, b);
      default: break;
    }
    if (b == 0) {
      findings_.add("division", "", [&] { return fmt::format("{} divides by zero by {}", of.str(), describe(lane)); });
      return 0;
    }
    const std::int64_t q = a / b, r = a % b;
    const bool below = r != 0 && (r < 0) != (b < 0);
    return kind == Nat::Kind::floorDiv ? q - below : below ? r + b : r;
  }

  // --------------------------------------------------------------------------------------------------- values

  std::string describe(std::size_t lane) const {
    const auto l = static_cast<std::int64_t>(lane);
    return fmt::format("work-item ({}, {}, {}) of group ({}, {}, {})", l % local_[0], l / local_[0] % local_[1],
                       l / (local_[0] * local_[1]), group_[0], group_[1], group_[2]);
  }

  std::int64_t groupNumber() const { return (group_[2] * groups_[1] + group_[1]) * groups_[0] + group_[0]; }

  void load(const Load& l, std::size_t width, std::size_t lane, ScalarValue* to) {
    const std::int64_t at = evaluate(l.index, lane);
    EmulatedMemory& m = *memories_[l.buffer];
    const std::int64_t first = m.buffer.width > 1 ? at * m.buffer.width : at;
    for (std::size_t i = 0; i < width; i++)
      to[i] = m.read(first + static_cast<std::int64_t>(i), {lane, groupNumber()}, now_, findings_);
  }

  ScalarValue readLane(const VarRef& v, std::size_t i, std::size_t lane) {
    const Register& r = registers_[v.variable];
    const Variable& variable = k_.variables[v.variable];
    if ((r.known[lane] >> i & 1) == 0) {
      findings_.add("uninitialised", variable.name, [&] {
        return fmt::format("uninitialised read of variable {} by {}", variable.name, describe(lane));
      });
      return ScalarValue::ofInteger(variable.type.scalar, 0);
    }
    return r.values[lane * static_cast<std::size_t>(variable.type.width) + i];
  }

  bool holds(const Comparison& c, std::size_t lane) {
    return kernel::holds(evaluate(c.lhs, lane), c.relation, evaluate(c.rhs, lane));
  }

  ScalarValue applied(Op op, std::span<const ScalarValue> args, Scalar result, std::size_t lane) {
    if ((op == Op::div || op == Op::mod) && !isFloat(args[0].type) && args[1].integer == 0) {
      findings_.add("division", "value", [&] { return fmt::format("integer division by zero by {}", describe(lane)); });
      return ScalarValue::ofInteger(result, 0);
    }
    return lift::apply(op, args);
  }

  ScalarValue scalar(const Expr& e, std::size_t lane) {
    return match(
        e.node, [&](const Literal& l) { return l.value; },
        [&](const Index& i) { return ScalarValue::ofInteger(Scalar::i32, evaluate(i.value, lane)); },
        [&](const VarRef& v) { return readLane(v, 0, lane); },
        [&](const Load& l) {
          ScalarValue v;
          load(l, 1, lane, &v);
          return v;
        },
        [&](const Operation& o) {
          std::array<ScalarValue, 3> args;
          for (std::size_t i = 0; i < o.args.size(); i++) {
            args[i] = scalar(*o.args[i], lane);
            // As C's operators, these leave the other side where the first decides.
            if (o.op == Op::logicalAnd && !args[0].truth()) return args[0];
            if (o.op == Op::logicalOr && args[0].truth()) return args[0];
          }
          return applied(o.op, {args.data(), o.args.size()}, e.type.scalar, lane);
        },
        [&](const Convert& c) { return convert(scalar(*c.value, lane), e.type.scalar); },
        [&](const Splat& s) { return scalar(*s.value, lane); },
        [&](const Lane& l) {
          if (const auto* v = as<VarRef>(l.vector)) return readLane(*v, static_cast<std::size_t>(l.lane), lane);
          Wide w;
          wide(*l.vector, lane, w.data());
          return w[static_cast<std::size_t>(l.lane)];
        },
        [&](const AnyLane& any) {
          Wide w;
          wide(*any.vector, lane, w.data());
          const auto lanes = std::span(w).first(static_cast<std::size_t>(any.vector->type.width));
          const bool holds = std::ranges::any_of(lanes, [](const ScalarValue& v) { return v.truth(); });
          return ScalarValue::ofInteger(Scalar::boolean, holds ? 1 : 0);
        },
        [&](const MakeVector& m) { return scalar(*m.lanes[0], lane); },
        [&](const Test& t) {
          const bool all = std::ranges::all_of(t.all, [&](const Comparison& c) { return holds(c, lane); });
          return ScalarValue::ofInteger(Scalar::boolean, all ? 1 : 0);
        },
        [&](const Choose& c) { return scalar(scalar(*c.condition, lane).truth() ? *c.then : *c.otherwise, lane); });
  }

  void wide(const Expr& e, std::size_t lane, ScalarValue* to) {
    const auto width = static_cast<std::size_t>(e.type.width);
    if (width == 1) {
      *to = scalar(e, lane);
      return;
    }
    match(
        e.node, [&](const Literal& l) { std::fill_n(to, width, l.value); },
        [&](const VarRef& v) {
          for (std::size_t i = 0; i < width; i++) to[i] = readLane(v, i, lane);
        },
        [&](const Load& l) { load(l, width, lane, to); },
        [&](const Operation& o) {
          std::array<Wide, 3> args;
          for (std::size_t i = 0; i < o.args.size(); i++) wide(*o.args[i], lane, args[i].data());
          for (std::size_t l = 0; l < width; l++) {
            const std::array<ScalarValue, 3> values{args[0][l], args[1][l], args[2][l]};
            to[l] = applied(o.op, {values.data(), o.args.size()}, e.type.scalar, lane);
          }
        },
        [&](const Convert& c) {
          wide(*c.value, lane, to);
          for (std::size_t l = 0; l < width; l++) to[l] = convert(to[l], e.type.scalar);
        },
        [&](const Splat& s) { std::fill_n(to, width, scalar(*s.value, lane)); },
        [&](const MakeVector& m) {
          for (std::size_t l = 0; l < width; l++) to[l] = scalar(*m.lanes[l], lane);
        },
        [&](const Choose& c) { wide(scalar(*c.condition, lane).truth() ? *c.then : *c.otherwise, lane, to); },
        [](const auto&) { throw InternalError("a vector from an expression that has none"); });
  }

  // ----------------------------------------------------------------------------------------------- statements

  void set(VarId v, const Expr& value, std::size_t lane) {
    Wide w;
    wide(value, lane, w.data());
    const auto width = static_cast<std::size_t>(value.type.width);
    std::copy_n(w.begin(), width, registers_[v].values.begin() + static_cast<std::ptrdiff_t>(lane * width));
    registers_[v].known[lane] = static_cast<std::uint16_t>((1u << width) - 1);
  }

  void execute(const Block& b, const Lanes& active) {
    for (const Stmt& s : b) {
      if (active.empty()) return;
      report_.steps += active.size();
      if (report_.steps > options_.stepLimit) throw StepLimit{};
      std::visit([&](const auto& statement) { execute(statement, active); }, s.node);
    }
  }

  // What each work-item does for itself.
  template <class S>
  void execute(const S& statement, const Lanes& active) {
    for (const std::size_t lane : active) step(statement, lane);
  }

  void step(const Declare& d, std::size_t lane) {
    registers_[d.variable].known[lane] = 0;
    if (d.value) set(d.variable, **d.value, lane);
  }
  void step(const Assign& a, std::size_t lane) { set(a.variable, *a.value, lane); }
  void step(const AssignLane& a, std::size_t lane) {
    const auto width = static_cast<std::size_t>(k_.variables[a.variable].type.width);
    Register& r = registers_[a.variable];
    r.values[lane * width + static_cast<std::size_t>(a.lane)] = scalar(*a.value, lane);
    r.known[lane] = static_cast<std::uint16_t>(r.known[lane] | 1u << a.lane);
  }
  void step(const DeclareIndex& d, std::size_t lane) {
    const std::size_t at = slot(d.variable);
    const auto* i = as<Index>(d.value);
    integer(at, lane) = i != nullptr ? evaluate(i->value, lane) : scalar(*d.value, lane).integer;
  }
  void step(const Allocate& a, std::size_t lane) { memories_[a.buffer]->forgetLane(lane); }
  void step(const Prefetch&, std::size_t) {}
  void step(const Comment&, std::size_t) {}

  void step(const Fault& x, std::size_t lane) {
    EmulatedMemory& m = *memories_[*k_.faults];
    if (m.peek(0).integer != -1) return;
    const std::array<std::int64_t, 3> record{x.site, scalar(*x.value, lane).integer, evaluate(x.bound, lane)};
    for (std::size_t i = 0; i < record.size(); i++)
      m.poke(static_cast<std::int64_t>(i), ScalarValue::ofInteger(Scalar::i32, record[i]));
  }

  void step(const Store& st, std::size_t lane) {
    Wide w;
    wide(*st.value, lane, w.data());
    const std::int64_t at = evaluate(st.index, lane);
    EmulatedMemory& m = *memories_[st.buffer];
    const std::int64_t first = m.buffer.width > 1 ? at * m.buffer.width : at;
    const auto next = [&](const ScalarValue& old) {
      return applied(*st.update, std::array{old, w[0]}, old.type, lane);
    };
    if (st.update) return m.update(first, next, {lane, groupNumber()}, now_, findings_);
    for (int i = 0; i < st.value->type.width; i++)
      m.write(first + i, w[static_cast<std::size_t>(i)], {lane, groupNumber()}, now_, findings_,
              options_.allowUniformWrites);
  }

  void execute(const If& i, const Lanes& active) {
    Lanes then, otherwise;
    for (std::size_t l : active) (scalar(*i.condition, l).truth() ? then : otherwise).push_back(l);
    execute(i.then, then);
    execute(i.otherwise, otherwise);
  }

  void requireAll(const Lanes& active, std::string_view what) {
    if (active.size() == lanes_) return;
    findings_.add("divergent", "", [&] {
      std::size_t missing = 0;
      while (missing < active.size() && active[missing] == missing) missing++;
      return fmt::format("divergent {}: not reached by {}", what, describe(missing));
    });
  }

  void execute(const Barrier& barrier, const Lanes& active) {
    requireAll(active, "barrier");
    now_.barrier(barrier.local, barrier.global);
  }
  void execute(const Combine& c, const Lanes& active) {
    requireAll(active, "combination");
    ScalarValue all = readLane({c.variable}, 0, active[0]);
    for (std::size_t i = 1; i < active.size(); i++)
      all = applied(c.op, std::array{all, readLane({c.variable}, 0, active[i])}, all.type, active[i]);
    for (std::size_t l : active) {
      registers_[c.variable].values[l] = all;
      registers_[c.variable].known[l] = 1;
    }
  }

  void execute(const For& f, const Lanes& active) {
    if (f.kind == LoopKind::sequential)
      sequential(f, active);
    else
      parallel(f, active);
  }

  void sequential(const For& f, const Lanes& active) {
    const std::size_t at = slot(f.index);
    std::vector<std::int64_t> count(active.size());
    for (std::size_t k = 0; k < active.size(); k++) count[k] = evaluate(f.count, active[k]);
    Lanes running = active;
    for (std::int64_t i = 0;; i++) {
      running.clear();
      for (std::size_t k = 0; k < active.size(); k++)
        if (i < count[k] && (!f.running || registers_[*f.running].values[active[k]].truth()))
          running.push_back(active[k]);
      if (running.empty()) return;
      for (std::size_t l : running) integer(at, l) = i;
      execute(f.body, running);
      report_.steps++;
    }
  }

  std::int64_t localId(std::size_t lane, std::size_t d) const {
    const auto l = static_cast<std::int64_t>(lane);
    return d == 0 ? l % local_[0] : d == 1 ? l / local_[0] % local_[1] : l / (local_[0] * local_[1]);
  }

  void parallel(const For& f, const Lanes& active) {
    const std::size_t at = slot(f.index);
    const auto d = static_cast<std::size_t>(f.dim);
    const std::int64_t stride = f.kind == LoopKind::group   ? groups_[d]
                                : f.kind == LoopKind::local ? local_[d]
                                                            : groups_[d] * local_[d];
    std::vector<std::int64_t> id(active.size()), count(active.size());
    Lanes running;
    for (std::size_t k = 0; k < active.size(); k++) {
      const std::size_t lane = active[k];
      const std::int64_t item = localId(lane, d);
      id[k] = f.kind == LoopKind::group ? group_[d] : f.kind == LoopKind::local ? item : group_[d] * local_[d] + item;
      count[k] = evaluate(f.count, lane);
      const std::int64_t times = id[k] < count[k] ? (count[k] - id[k] + stride - 1) / stride : 0;
      if (f.trip != Trip::any && (times > 1 || (f.trip == Trip::exactlyOnce && times != 1)))
        findings_.add("trip", f.index.name(), [&] {
          return fmt::format("loop over {} claims to run {} but runs {} times for {}", f.index.name(),
                             f.trip == Trip::exactlyOnce ? "exactly once" : "at most once", times, describe(lane));
        });
      integer(at, lane) = id[k];
      if (f.trip == Trip::exactlyOnce || (f.trip == Trip::atMostOnce && times > 0)) running.push_back(lane);
    }
    if (f.trip != Trip::any) {
      execute(f.body, running);
      return;
    }
    while (true) {
      running.clear();
      for (std::size_t k = 0; k < active.size(); k++)
        if (id[k] < count[k]) {
          running.push_back(active[k]);
          integer(at, active[k]) = id[k];
          id[k] += stride;
        }
      if (running.empty()) return;
      execute(f.body, running);
    }
  }

  const Kernel& k_;
  const std::map<NatVar, std::int64_t>& sizes_;
  const EmulatorOptions& options_;
  EmulatorReport report_;
  EmulatorFindings findings_;
  std::array<std::int64_t, 3> local_{}, groups_{}, group_{};
  std::size_t lanes_ = 1;
  Lanes all_;
  std::vector<std::unique_ptr<EmulatedMemory>> memories_;
  std::vector<Register> registers_;
  std::unordered_map<NatVar, std::size_t> slots_;
  std::vector<std::int64_t> integers_;
  std::unordered_map<Nat, NatCode> codes_;
  EmulatorClock now_;
};

}  // namespace

EmulatorReport emulate(const Kernel& kernel, std::vector<std::vector<std::byte>>& memory,
                       const std::map<NatVar, std::int64_t>& sizes, const EmulatorOptions& options) {
  return Emulator(kernel, memory, sizes, options).run();
}

}  // namespace lift::kernel
