// Constraints that give a program a meaning: those of its primitives, of its types and of its declarations.
#include <fmt/format.h>

#include <algorithm>

#include "collect.hpp"

namespace lift {
namespace detail {
namespace {

using Kind = Constraint::Kind;

constexpr int widestVector = 16;  // OpenCL's vectors that are as long in memory as their elements: 1, 2, 4, 8, 16

// Reads the algorithmic constraints off every primitive of a term.
class AlgorithmWalk {
 public:
  explicit AlgorithmWalk(Constraints& constraints) : constraints_(constraints) {}

  void visit(Expr e) {
    if (!seen_.insert(e).second) return;
    switch (e.form()) {
      case Expr::Form::primitive: return primitive(e);
      case Expr::Form::lambda: return visit(e.body());
      case Expr::Form::apply: visit(e.function()); return visit(e.argument());
      default: return;
    }
  }

 private:
  void primitive(Expr e) {
    const std::string place = constraints_.place(e);
    for (SizeCondition c : conditionsOf(e)) {
      c.origin += place;
      constraints_.add(Kind::algorithm, c);
    }
    const bool makesVectors = e.prim() == Prim::asVector || e.prim() == Prim::splat || e.prim() == Prim::vectorize;
    if (makesVectors && !e.nats()[0].constant())
      constraints_.add(Kind::algorithm, {SizeCondition::Kind::divides, e.nats()[0], widestVector,
                                         fmt::format("the vectors of {}{}", info(e.prim()).name, place)});
  }

  Constraints& constraints_;
  std::unordered_set<Expr> seen_;
};

// Primitives have results without empty arrays, given arguments without them; so what is left is the parameters.
void addLengths(const Program& program, Constraints& constraints) {
  for (const Expr p : program.parameters)
    for (const Leaf& leaf : leavesOf(p.type()))
      for (const Nat n : leaf.shape)
        constraints.lessEqual(Kind::algorithm, 1, n, fmt::format("the lengths of {}{}", p.name(), leaf.path));
}

void addRanges(const Program& program, Constraints& constraints) {
  for (const NatVar t : program.tunables) {
    const std::string origin = fmt::format("tune {} in {}..{}", t.name(), t.lower(), t.upper() ? t.upper()->str() : "");
    constraints.lessEqual(Kind::user, t.lower(), Nat(t), origin);
    if (t.upper()) constraints.lessEqual(Kind::user, Nat(t), *t.upper(), origin);
  }
}

std::vector<NatVar> variablesOf(const SizeCondition& condition) {
  std::vector<NatVar> all = condition.left.variables();
  for (const NatVar v : condition.right.variables())
    if (!condition.left.mentions(v)) all.push_back(v);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

void Constraints::add(Constraint::Kind kind, const SizeCondition& condition) {
  // What a range says is true of every value of the variable, but not of every value that a user may ask about.
  if (kind != Kind::user && holds(condition) == Truth::proved) return;
  if (std::ranges::any_of(found_, [&](const Constraint& c) {
        return c.condition.kind == condition.kind && c.condition.left == condition.left &&
               c.condition.right == condition.right;
      }))
    return;
  found_.push_back({condition, kind, variablesOf(condition)});
}

void Constraints::lessEqual(Constraint::Kind kind, Nat left, Nat right, std::string origin) {
  add(kind, {SizeCondition::Kind::lessEqual, left, right, std::move(origin)});
}

std::string Constraints::place(Expr primitive) const {
  const auto found = program_.spans.find(primitive);
  return found == program_.spans.end() || !found->second ? std::string() : " at " + placeOf(found->second);
}

}  // namespace detail

std::string_view name(Constraint::Kind kind) {
  switch (kind) {
    case Constraint::Kind::algorithm: return "algorithm";
    case Constraint::Kind::hardware: return "hardware";
    case Constraint::Kind::user: return "user";
  }
  return {};
}

std::string Constraint::str() const { return fmt::format("{}: {}", condition.str(), condition.origin); }

std::vector<Constraint> constraintsOf(const Program& program, const DeviceLimits& limits) {
  detail::Constraints constraints(program);
  detail::addRanges(program, constraints);
  detail::addLengths(program, constraints);
  detail::AlgorithmWalk(constraints).visit(program.body);
  for (const SizeCondition& c : program.conditions) constraints.add(Constraint::Kind::algorithm, c);
  detail::addResources(program, limits, constraints);
  return constraints.take();
}

}  // namespace lift
