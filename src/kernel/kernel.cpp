// Builders: the only way expressions come into being, so that their types are always consistent.
#include "lift/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lift/diagnostic.hpp"
#include "lift/integers.hpp"
#include "lift/kernel_walk.hpp"

namespace lift::kernel {
namespace {

ExprPtr make(ValueType type, decltype(Expr::node) node) {
  return std::make_shared<const Expr>(Expr{type, std::move(node)});
}

Scalar registerType(Scalar s) { return s == Scalar::f16 ? Scalar::f32 : s; }

[[noreturn]] void illTyped(Op op, const std::string& what) {
  throw InternalError(fmt::format("operation {}: {}", info(op).name, what));
}

}  // namespace

bool holds(std::int64_t lhs, Relation relation, std::int64_t rhs) {
  switch (relation) {
    case Relation::less: return lhs < rhs;
    case Relation::lessEqual: return lhs <= rhs;
    case Relation::equal: return lhs == rhs;
    case Relation::notEqual: return lhs != rhs;
  }
  throw InternalError("unknown relation");
}

Nat PlanBuffer::count() const {
  Nat product = 1;
  for (const Nat& n : shape) product = product * n;
  return product;
}

ExprPtr literal(ScalarValue value, int width) {
  if (value.type == Scalar::f16) value.type = Scalar::f32;
  return make({value.type, width}, Literal{value});
}

ExprPtr index(Nat value) { return make({Scalar::i32, 1}, Index{value}); }

ExprPtr ref(VarId variable, ValueType type) { return make(type, VarRef{variable}); }

ExprPtr load(BufferId buffer, Nat at, ValueType type) {
  type.scalar = registerType(type.scalar);
  return make(type, Load{buffer, at});
}

ExprPtr operation(Op op, std::vector<ExprPtr> args) {
  const OpInfo& row = info(op);
  if (static_cast<int>(args.size()) != row.arity)
    illTyped(op, fmt::format("{} operands instead of {}", args.size(), row.arity));
  const int width = args[0]->type.width;
  for (const ExprPtr& a : args)
    if (a->type.width != width) illTyped(op, fmt::format("widths {} and {} mixed", width, a->type.width));
  const std::size_t first = row.typing == OpTyping::selection ? 1 : 0;
  const Scalar t = args[first]->type.scalar;
  for (std::size_t i = first; i < args.size(); i++)
    if (args[i]->type.scalar != t)
      illTyped(op, fmt::format("types {} and {} mixed", info(t).name, info(args[i]->type.scalar).name));
  const auto require = [&](bool holds) {
    if (!holds) illTyped(op, fmt::format("not defined on {}", info(t).name));
  };
  Scalar result = t;
  switch (row.typing) {
    case OpTyping::numeric: require(t != Scalar::boolean); break;
    case OpTyping::floating: require(isFloat(t)); break;
    case OpTyping::integral: require(isInteger(t)); break;
    case OpTyping::logical: require(t == Scalar::boolean); break;
    case OpTyping::comparison:
      require(t != Scalar::boolean || op == Op::eq || op == Op::ne);
      result = Scalar::boolean;
      break;
    case OpTyping::selection:
      if (args[0]->type.scalar != Scalar::boolean) illTyped(op, "the condition is not boolean");
      break;
  }
  return make({result, width}, Operation{op, std::move(args)});
}

ExprPtr test(std::vector<Comparison> all) { return make({Scalar::boolean, 1}, Test{std::move(all)}); }

ExprPtr choose(ExprPtr condition, ExprPtr then, ExprPtr otherwise) {
  if (condition->type != ValueType{Scalar::boolean, 1}) throw InternalError("choose: the condition is no scalar bool");
  if (then->type != otherwise->type) throw InternalError("choose: sides of different types");
  const ValueType type = then->type;
  return make(type, Choose{std::move(condition), std::move(then), std::move(otherwise)});
}

ExprPtr splat(ExprPtr value, int width) {
  if (value->type.width != 1) throw InternalError("splat: not a scalar");
  if (width == 1) return value;
  if (const auto* l = as<Literal>(value)) return literal(l->value, width);
  const Scalar scalar = value->type.scalar;
  return make({scalar, width}, Splat{std::move(value)});
}

ExprPtr lane(ExprPtr vector, int lane) {
  if (lane < 0 || lane >= vector->type.width) throw InternalError("lane out of range");
  if (vector->type.width == 1) return vector;
  if (const auto* s = as<Splat>(vector)) return s->value;
  if (const auto* l = as<Literal>(vector)) return literal(l->value);
  if (const auto* m = as<MakeVector>(vector)) return m->lanes[static_cast<std::size_t>(lane)];
  const Scalar scalar = vector->type.scalar;
  return make({scalar, 1}, Lane{std::move(vector), lane});
}

ExprPtr anyLane(ExprPtr vector) {
  if (vector->type.scalar != Scalar::boolean) throw InternalError("anyLane: no vector of booleans");
  if (vector->type.width == 1) return vector;
  if (const auto* s = as<Splat>(vector)) return s->value;
  if (const auto* l = as<Literal>(vector)) return literal(l->value);
  return make({Scalar::boolean, 1}, AnyLane{std::move(vector)});
}

namespace {

// The variable whose lanes these are, all of them and in their order; else null.
ExprPtr wholeOf(const std::vector<ExprPtr>& lanes) {
  ExprPtr whole;
  for (std::size_t i = 0; i < lanes.size(); i++) {
    const auto* l = as<Lane>(lanes[i]);
    const auto* v = l != nullptr && l->lane == static_cast<int>(i) ? as<VarRef>(l->vector) : nullptr;
    if (v == nullptr || l->vector->type.width != static_cast<int>(lanes.size())) return nullptr;
    if (whole && std::get<VarRef>(whole->node).variable != v->variable) return nullptr;
    whole = l->vector;
  }
  return whole;
}

}  // namespace

ExprPtr makeVector(std::vector<ExprPtr> lanes) {
  if (lanes.empty()) throw InternalError("vector without lanes");
  if (lanes.size() == 1) return lanes[0];
  const ValueType type{lanes[0]->type.scalar, static_cast<int>(lanes.size())};
  for (const ExprPtr& l : lanes)
    if (l->type != ValueType{type.scalar, 1}) throw InternalError("vector of lanes of different types");
  if (std::ranges::all_of(lanes, [&](const ExprPtr& l) { return isSameLiteral(l, lanes[0]); }))
    return splat(lanes[0], type.width);
  if (ExprPtr whole = wholeOf(lanes)) return whole;
  return make(type, MakeVector{std::move(lanes)});
}

bool isSameLiteral(const ExprPtr& a, const ExprPtr& b) {
  const auto *l = as<Literal>(a), *r = as<Literal>(b);
  return l != nullptr && r != nullptr && a->type == b->type && identical(l->value, r->value);
}

ExprPtr convertTo(ExprPtr value, Scalar to) {
  to = registerType(to);
  if (value->type.scalar == to) return value;
  if (const auto* l = as<Literal>(value)) return literal(convert(l->value, to), value->type.width);
  const int width = value->type.width;
  return make({to, width}, Convert{std::move(value)});
}

BufferId addBuffer(Kernel& kernel, Buffer buffer) {
  const auto id = static_cast<BufferId>(kernel.buffers.size());
  if (buffer.space == AddressSpace::global) kernel.arguments.push_back(id);
  kernel.buffers.push_back(std::move(buffer));
  return id;
}

VarId addVariable(Kernel& kernel, std::string name, ValueType type) {
  kernel.variables.push_back({std::move(name), type});
  return static_cast<VarId>(kernel.variables.size() - 1);
}

namespace {

bool isOfSizes(Nat n) {
  return std::ranges::all_of(n.variables(), [](NatVar v) { return v.role() == NatVar::Role::size; });
}

class IndexBounds {
 public:
  explicit IndexBounds(const Kernel& kernel) : kernel_(kernel) {
    forEachStmt(kernel.body, [&](const Stmt& s) {
      if (const auto* d = as<DeclareIndex>(s))
        if (const auto* index = as<Index>(d->value)) named_.emplace(d->variable, index->value);
      forEachNat(s, [&](Nat n) { within(n); });
      forEachExpr(s, [&](const Expr& e) {
        const auto* t = as<Test>(e);
        for (const Comparison& c : t == nullptr ? std::vector<Comparison>() : t->all) {
          add(c.lhs);
          add(c.rhs);
        }
      });
    });
  }

  std::vector<Nat> bounds;

 private:
  void within(Nat n) {
    const bool isAtom = n.kind() != Nat::Kind::sum && n.kind() != Nat::Kind::product;
    for (const Nat part : n.operands()) {
      if (isAtom) add(part);
      within(part);
    }
  }

  void add(Nat n) {
    if (!seen_.insert(n.node()).second) return;
    const auto bound = magnitude(n);
    const auto isAtMost = [](Nat a, Nat b) { return lessEqual(a, b) == Truth::proved; };
    if (!bound || fits(*bound) || std::ranges::any_of(bounds, [&](Nat b) { return isAtMost(*bound, b); })) return;
    std::erase_if(bounds, [&](Nat b) { return isAtMost(b, *bound); });
    bounds.push_back(*bound);
  }

  // Buffers have fewer elements than an int counts.
  bool fits(Nat bound) const {
    return lessEqual(bound, largestInt) == Truth::proved || std::ranges::any_of(kernel_.arguments, [&](BufferId b) {
             return lessEqual(bound, kernel_.buffers[b].count) == Truth::proved;
           });
  }

  // An upper bound of the magnitude, of sizes alone; none where a variable has no bounds.
  std::optional<Nat> magnitude(Nat n) const {
    if (const auto c = n.constant()) return Nat(std::abs(*c));
    if (const auto v = n.variable()) {
      if (const auto name = named_.find(*v); name != named_.end()) return magnitude(name->second);
      if (v->lower() < 0) return std::nullopt;
      if (v->role() == NatVar::Role::size) return n;
      return v->upper() ? magnitude(*v->upper()) : std::nullopt;
    }
    std::vector<Nat> parts;
    for (const Nat part : n.operands()) {
      const auto bound = magnitude(part);
      if (!bound) return std::nullopt;
      parts.push_back(*bound);
    }
    const auto isPositive = [](Nat x) { return lessEqual(0, x) == Truth::proved; };
    switch (n.kind()) {
      case Nat::Kind::sum: return sum(parts);
      case Nat::Kind::product: {
        Nat all = 1;
        for (const Nat part : parts) all = all * part;
        return all;
      }
      case Nat::Kind::floorDiv: {
        const Nat divisor = n.operands()[1];
        if (!isOfSizes(divisor) || lessEqual(1, divisor) != Truth::proved) return parts[0];
        return floorDiv(parts[0], divisor) + (isPositive(n.operands()[0]) ? 0 : 1);
      }
      case Nat::Kind::mod: return parts[1];
      case Nat::Kind::min:
        return std::ranges::all_of(n.operands(), isPositive) ? min(parts[0], parts[1]) : max(parts[0], parts[1]);
      default: return max(parts[0], parts[1]);
    }
  }

  const Kernel& kernel_;
  std::map<NatVar, Nat> named_;
  std::set<const detail::NatNode*> seen_;
};

}  // namespace

std::vector<Nat> boundsOfIndices(const Kernel& kernel) {
  return kernel.sizes.empty() ? std::vector<Nat>() : IndexBounds(kernel).bounds;
}

void checkSizes(const Kernel& kernel, const std::map<NatVar, std::int64_t>& sizes) {
  for (NatVar v : kernel.sizes) {
    const auto found = sizes.find(v);
    if (found == sizes.end()) throw UserError(ExitStatus::program, fmt::format("size {} has no value", v.name()));
    if (found->second > largestInt || found->second < v.lower())
      throw UserError(ExitStatus::program, fmt::format("size {} cannot be {}", v.name(), found->second));
  }
  const auto value = [&](NatVar v) {
    const auto found = sizes.find(v);
    if (found == sizes.end()) throw UserError(ExitStatus::program, fmt::format("size {} has no value", v.name()));
    return found->second;
  };
  for (BufferId b : kernel.arguments) {
    const Buffer& buffer = kernel.buffers[b];
    if (buffer.count.constant()) continue;  // then the printed index types fit it
    const std::int64_t n = buffer.count.evaluate(value);
    if (n > largestInt)
      throw UserError(ExitStatus::program,
                      fmt::format("{} has {} elements; kernels of symbolic size index with 32 bits", buffer.name, n),
                      "compile for constant sizes");
  }
  for (const Nat bound : boundsOfIndices(kernel))
    if (const std::int64_t n = bound.evaluate(value); n > largestInt)
      throw UserError(
          ExitStatus::program,
          fmt::format("indices of {} come to {}; kernels of symbolic size index with 32 bits", kernel.name, n),
          "compile for constant sizes");
}

void forEachLaunch(std::size_t launches, const std::vector<LaunchLoop>& loops,
                   const std::function<std::int64_t(Nat)>& evaluate, const std::function<void(std::size_t)>& launch,
                   const std::function<void(int, int)>& swap, const std::function<bool(int)>& holds) {
  // The launches from `at` to `end`; of the loops that begin there, the first is number `loop`.
  const std::function<void(std::size_t, std::size_t, std::size_t)> run = [&](std::size_t at, std::size_t end,
                                                                             std::size_t loop) {
    while (at < end) {
      while (loop < loops.size() && loops[loop].first < at) loop++;
      if (loop == loops.size() || loops[loop].first != at) {
        launch(at++);
        continue;
      }
      const LaunchLoop& l = loops[loop];
      const std::int64_t count = evaluate(l.count);
      for (std::int64_t i = 0; i < count; i++) {
        if (l.condition) {
          run(l.first, l.condition->at, loop + 1);
          if (!holds(l.condition->buffer)) break;
        }
        run(l.condition ? l.condition->at : l.first, l.last, loop + 1);
        for (const auto& [a, b] : l.swaps) swap(a, b);
      }
      at = l.last;
      loop++;
    }
  };
  run(0, launches, 0);
}

std::vector<double> timesOfLaunches(const Plan& plan, const std::function<std::int64_t(Nat)>& evaluate) {
  std::vector<double> times(plan.launches.size(), 1);
  for (const LaunchLoop& l : plan.loops)
    for (std::size_t i = l.first; i < l.last; i++)
      times[i] *= static_cast<double>(std::max<std::int64_t>(0, evaluate(l.count)));
  return times;
}

Nat localBytes(const Kernel& kernel) {
  Nat bytes = 0;
  for (const Buffer& b : kernel.buffers)
    if (b.space == AddressSpace::local)
      bytes = bytes + b.count * Nat(b.width * static_cast<std::int64_t>(info(b.scalar).bytes));
  return bytes;
}

bool computesIn(const Kernel& kernel, Scalar scalar) {
  const auto computes = [&](const Stmt& s) {
    return anyExpr(s, [&](const Expr& e) { return e.type.scalar == scalar; });
  };
  return std::ranges::any_of(kernel.buffers, [&](const Buffer& b) { return b.scalar == scalar; }) ||
         std::ranges::any_of(kernel.variables, [&](const Variable& v) { return v.type.scalar == scalar; }) ||
         anyStmt(kernel.body, computes);
}

}  // namespace lift::kernel
