#include "solver.hpp"

#include <algorithm>
#include <utility>

namespace lift::detail {

Nat Solver::freshNat(const std::string& name) { return NatVar::fresh(name, least_, std::nullopt, NatVar::Role::meta); }

Type Solver::poison() {
  const Type t = freshType("?");
  poison_.insert(t.variableId());
  return t;
}

Nat Solver::poisonNat() {
  const NatVar v = NatVar::fresh("?", 1, std::nullopt, NatVar::Role::meta);
  poisonNats_.insert(v);
  return v;
}

bool Solver::isPoison(Type t) const {
  t = resolve(t);
  return t.isVariable() && poison_.count(t.variableId()) > 0;
}

Type Solver::resolve(Type t) const {
  Type root = t;
  for (; root.isVariable();) {
    const auto found = types_.find(root.variableId());
    if (found == types_.end()) break;
    root = found->second;
  }
  while (t != root && t.isVariable()) t = std::exchange(types_.find(t.variableId())->second, root);
  return root;
}

Nat Solver::zonk(Nat n) const {
  if (nats_.empty() || n.constant()) return n;
  for (;;) {
    std::map<NatVar, Nat> known;
    for (const NatVar v : n.variables())
      if (v.role() == NatVar::Role::meta)
        if (const auto found = nats_.find(v); found != nats_.end()) known.insert(*found);
    if (known.empty()) return n;
    n = n.substitute(known);
  }
}

Type Solver::zonk(Type t) const {
  if (!t.hasMetas()) return t;
  return t.substitute([&](Nat n) { return zonk(n); },
                      [&](Type v) {
                        const Type r = resolve(v);
                        return r.isVariable() ? r : zonk(r);
                      });
}

bool Solver::occurs(Type variable, Type in) const {
  in = resolve(in);
  return in == variable || std::ranges::any_of(in.parts(), [&](Type part) { return occurs(variable, part); });
}

bool Solver::unify(Type a, Type b, Span origin) {
  a = resolve(a);
  b = resolve(b);
  if (a == b || (isPoison(a) && !b.isVariable()) || (isPoison(b) && !a.isVariable())) return true;
  if (isPoison(a)) std::swap(a, b);
  if (b.isVariable() && !a.isVariable()) std::swap(a, b);
  if (a.isVariable()) {
    if (occurs(a, b)) return false;
    types_.emplace(a.variableId(), b);
    return true;
  }
  if (a.kind() != b.kind() || a.isScalar() || a.parts().size() != b.parts().size()) return false;
  bool all = true;
  for (std::size_t i = 0; i < a.parts().size(); i++) all = unify(a.parts()[i], b.parts()[i], origin) && all;
  return (!a.hasLength() || unify(a.length(), b.length(), origin)) && all;
}

namespace {

bool hasMetas(Nat n) {
  const auto variables = n.variables();
  return std::ranges::any_of(variables, [](NatVar v) { return v.role() == NatVar::Role::meta; });
}

bool isUnit(Nat n) { return n == Nat(1) || n == Nat(-1); }

// "2*n = h", what mentions the variable first.
std::string equationOf(NatVar v, Nat a, Nat b) {
  return a.mentions(v) ? a.str() + " = " + b.str() : b.str() + " = " + a.str();
}

}  // namespace

// From c*v = r with c > 0: v = r / c where c divides r.
Solver::Solution Solver::solve(NatVar v, Nat a, Nat b) const {
  const auto linear = (a - b).linearIn(v);
  if (!linear) return {};
  Nat factor = linear->coefficient, number = -linear->rest;
  if (less(factor, 0) == Truth::proved) {
    factor = -factor;
    number = -number;
  }
  if (less(0, factor) != Truth::proved) return {};
  Solution solution;
  solution.exists = divides(factor, number);
  if (solution.exists == Truth::refuted) return solution;
  if (solution.exists == Truth::unknown) {
    if (!demand || hasMetas(factor) || hasMetas(number)) return {};
    solution.divides.emplace(factor, number);
    solution.exists = Truth::proved;
  }
  solution.value = floorDiv(number, factor);
  // Lengths are at least 1, and so is v where c*v is one; else that must be shown.
  const Nat product = linear->coefficient * Nat(v);
  if (v.lower() >= 1 && a != product && b != product && a != -product && b != -product) {
    const Truth positive = lessEqual(1, solution.value);
    solution.isAtLeastOne = positive == Truth::proved;
    if (positive == Truth::refuted) solution.exists = Truth::refuted;
  }
  return solution;
}

Truth Solver::attempt(Nat a, Nat b, Span origin) {
  a = zonk(a);
  b = zonk(b);
  if (a == b) return Truth::proved;
  const auto poisoned = [&](Nat n) {
    const auto variables = n.variables();
    return std::ranges::any_of(variables, [&](NatVar v) { return poisonNats_.count(v) > 0; });
  };
  if (!poisonNats_.empty() && (poisoned(a) || poisoned(b))) return Truth::proved;
  const Nat difference = a - b;
  if (const auto c = difference.constant()) return *c == 0 ? Truth::proved : Truth::refuted;
  if (!hasMetas(difference)) return equal(a, b);
  // By a variable that needs no division where there is one.
  for (const bool units : {true, false})
    for (const NatVar v : difference.variables()) {
      if (v.role() != NatVar::Role::meta) continue;
      const auto linear = difference.linearIn(v);
      if (!linear || isUnit(linear->coefficient) != units) continue;
      const Solution solution = solve(v, a, b);
      if (solution.exists == Truth::unknown) continue;
      if (solution.exists == Truth::refuted) return Truth::refuted;
      if (demand && solution.divides)
        demand(SizeCondition::Kind::divides, solution.divides->first, solution.divides->second, equationOf(v, a, b),
               origin);
      if (demand && !solution.isAtLeastOne)
        demand(SizeCondition::Kind::lessEqual, 1, solution.value, equationOf(v, a, b), origin);
      nats_.emplace(v, solution.value);
      return Truth::proved;
    }
  return Truth::unknown;
}

std::string Solver::whyNot(Nat a, Nat b) const {
  a = zonk(a);
  b = zonk(b);
  const auto variables = (a - b).variables();
  for (const NatVar v : variables) {
    if (v.role() != NatVar::Role::meta || v.lower() < 1) continue;  // one that has no name of the user's
    const auto hasName = [&](NatVar other) { return other.name() == v.name(); };
    if (std::ranges::count_if(variables, hasName) > 1) continue;  // one could not tell which is meant
    const Solution solution = solve(v, a, b);
    if (solution.exists == Truth::refuted) return "no size " + v.name() + " has " + equationOf(v, a, b);
    if (solution.exists == Truth::unknown)
      return "the size " + v.name() + " does not follow from " + equationOf(v, a, b);
  }
  return {};
}

std::string Solver::whyNot(Type a, Type b) const {
  a = resolve(a);
  b = resolve(b);
  if (a.kind() != b.kind()) return {};
  std::string why = a.hasLength() ? whyNot(a.length(), b.length()) : std::string();
  for (std::size_t i = 0; why.empty() && i < std::min(a.parts().size(), b.parts().size()); i++)
    why = whyNot(a.parts()[i], b.parts()[i]);
  return why;
}

bool Solver::unify(Nat a, Nat b, Span origin) {
  switch (attempt(a, b, origin)) {
    case Truth::proved: return true;
    case Truth::refuted: return false;
    case Truth::unknown: equations_.push_back({a, b, place(origin)}); return true;
  }
  return false;
}

std::vector<Solver::Equation> Solver::settle(const std::vector<Divides>& facts) {
  for (bool progress = true; progress;) {
    progress = false;
    std::vector<Equation> open;
    for (const Equation& e : equations_) {
      if (attempt(e.left, e.right, e.origin) == Truth::proved)
        progress = true;
      else
        open.push_back(e);
    }
    equations_ = std::move(open);
  }
  std::vector<Equation> undecided;
  for (const Equation& e : equations_) {
    const Nat left = zonk(e.left), right = zonk(e.right);
    if (equalUnder(facts, left, right) != Truth::proved) undecided.push_back({left, right, e.origin});
  }
  return undecided;
}

void Solver::applyDefaults() {
  const auto apply = [&](TypeClass wanted, Scalar scalar) {
    for (const auto& c : classes_) {
      if (c.wanted != wanted) continue;
      Type t = resolve(c.type);
      if (t.isVector()) t = resolve(t.element());
      if (t.isVariable()) types_.emplace(t.variableId(), Type::scalar(scalar));
    }
  };
  apply(TypeClass::realLiteral, Scalar::f32);
  apply(TypeClass::integerLiteral, Scalar::i32);
}

bool Solver::fits(Type t, TypeClass wanted) const { return lift::fits(zonk(t), wanted); }

std::vector<Solver::ClassError> Solver::checkClasses() const {
  std::vector<ClassError> errors;
  for (const auto& c : classes_)
    if (!fits(c.type, c.wanted)) errors.push_back({zonk(c.type), c.wanted, c.origin});
  return errors;
}

std::vector<std::pair<Type, TypeClass>> Solver::openClasses() const {
  std::vector<std::pair<Type, TypeClass>> open;
  for (const auto& c : classes_)
    if (const Type t = zonk(c.type); t.hasMetas()) open.emplace_back(t, c.wanted);
  return open;
}

}  // namespace lift::detail

namespace lift {

bool fits(Type t, TypeClass wanted) {
  if (t.isVector() && wanted != TypeClass::scalar) t = t.element();
  if (t.isVariable()) return true;
  if (!t.isScalar()) return false;
  const Scalar s = t.scalar();
  switch (wanted) {
    case TypeClass::scalar:
    case TypeClass::comparable: return true;
    case TypeClass::numeric:
    case TypeClass::integerLiteral: return s != Scalar::boolean;
    case TypeClass::floating:
    case TypeClass::realLiteral: return isFloat(s);
    case TypeClass::integral: return isInteger(s);
  }
  return false;
}

}  // namespace lift
