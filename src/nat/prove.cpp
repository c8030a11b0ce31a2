// Proofs. All of them rest on one question: is a polynomial non-negative for all values of its variables?
#include "lift/diagnostic.hpp"
#include "polynomial.hpp"

#include <numeric>
#include <unordered_map>

namespace lift::detail {

namespace {

// Bounds a polynomial from below by eliminating its atoms, the latest first: e = C*A + R is at least C*L + R if
// A >= L and C >= 0, and at least C*U + R if A <= U and C <= 0. Bounds of an atom mention only earlier variables and
// operations nested less deeply, so this ends; `steps` keeps alternatives from multiplying.
class NonNegative {
 public:
  explicit NonNegative(int steps) : steps_(steps) {}

  bool prove(const Poly& e) {
    const Range range = rangeOf(e);
    if (range.lower >= 0) return true;
    if (range.upper < 0 || --steps_ < 0) return false;
    const Node atom = latestAtom(e);
    if (!atom) return false;
    Parts parts = split(e, atom);
    switch (atom->kind) {
      case NatNode::Kind::variable: return proveVariable(parts);
      case NatNode::Kind::floorDiv: return proveFloorDiv(parts);
      case NatNode::Kind::mod: return proveMod(parts);
      default: return proveExtremum(parts);
    }
  }

 private:
  // e == factor * atom + rest. The factor may itself mention the atom.
  struct Parts {
    Node atom;
    Poly factor;
    Poly rest;
    bool linear = true;
  };

  enum class Sign { nonNegative, nonPositive, unknown };

  static bool earlier(Node a, Node b) {
    if (a->latest != b->latest) return a->latest < b->latest;
    if (a->height != b->height) return a->height < b->height;
    return compareAtoms(a, b) < 0;
  }

  static Node latestAtom(const Poly& e) {
    Node latest = nullptr;
    for (const NatTerm& term : e)
      for (Node factor : term.monomial->factors())
        if (!latest || earlier(latest, factor)) latest = factor;
    return latest;
  }

  static Parts split(const Poly& e, Node atom) {
    Parts parts{.atom = atom, .factor = {}, .rest = {}};
    for (const NatTerm& term : e) {
      if (!hasFactor(term.monomial, atom)) {
        parts.rest.push_back(term);
        continue;
      }
      const Node others = divideMonomial(term.monomial, atom);
      parts.linear = parts.linear && !hasFactor(others, atom);
      parts.factor.push_back({term.coefficient, others});
    }
    normalise(parts.factor);
    return parts;
  }

  Sign signOf(const Poly& e) {
    const Range range = rangeOf(e);
    if (range.lower >= 0) return Sign::nonNegative;
    if (range.upper <= 0) return Sign::nonPositive;
    if (prove(e)) return Sign::nonNegative;
    if (prove(negate(e))) return Sign::nonPositive;
    return Sign::unknown;
  }

  bool proveWith(const Parts& parts, std::span<const NatTerm> bound) {
    return prove(add(multiply(parts.factor, bound), parts.rest));
  }

  bool proveVariable(const Parts& parts) {
    const NatVarData& variable = *parts.atom->variableData;
    const auto withLower = [&] {
      return variable.lower != Range::minusInfinity && proveWith(parts, constantPoly(variable.lower));
    };
    const auto withUpper = [&] { return variable.upper && proveWith(parts, variable.upper->node()->terms()); };
    switch (signOf(parts.factor)) {
      case Sign::nonNegative: return withLower();
      case Sign::nonPositive: return withUpper();
      // A linear function is least at an end of the interval.
      case Sign::unknown: return parts.linear && withUpper() && withLower();
    }
    return false;
  }

  // x - d + 1 <= d*A <= x for A = x/d and d > 0; so d*e is bounded, and e > -1 is enough for an integer.
  bool proveFloorDiv(const Parts& parts) {
    const Node x = parts.atom->left;
    const Node d = parts.atom->right;
    if (!isPositive(d)) return proveWithRange(parts);
    const auto scaled = [&](const Poly& bound) {
      const Poly e = add(multiply(parts.factor, bound), multiply(d->terms(), parts.rest));
      return prove(plus(add(e, d->terms()), -1));
    };
    const auto withLower = [&] { return scaled(plus(add(x->terms(), d->terms(), -1), 1)); };
    const auto withUpper = [&] { return scaled(polyOf(x)); };
    switch (signOf(parts.factor)) {
      case Sign::nonNegative: return withLower() || withConstant(parts, parts.atom->range.lower) || withZero(parts, x);
      case Sign::nonPositive:
        return withUpper() || withConstant(parts, parts.atom->range.upper) ||
               (prove(polyOf(x)) && proveWith(parts, x->terms()));
      case Sign::unknown: return parts.linear && withUpper() && withLower();
    }
    return false;
  }

  bool withZero(const Parts& parts, Node x) { return prove(polyOf(x)) && prove(parts.rest); }

  bool proveMod(const Parts& parts) {
    const Node x = parts.atom->left;
    const Node d = parts.atom->right;
    if (!isPositive(d)) return proveWithRange(parts);
    const Poly greatest = plus(polyOf(d), -1);
    switch (signOf(parts.factor)) {
      case Sign::nonNegative: return prove(parts.rest);
      case Sign::nonPositive:
        return proveWith(parts, greatest) || withConstant(parts, parts.atom->range.upper) ||
               (prove(polyOf(x)) && proveWith(parts, x->terms()));
      case Sign::unknown: return parts.linear && prove(parts.rest) && proveWith(parts, greatest);
    }
    return false;
  }

  // The value is that of one operand; on the other side either operand is a bound.
  bool proveExtremum(const Parts& parts) {
    const auto left = [&] { return proveWith(parts, parts.atom->left->terms()); };
    const auto right = [&] { return proveWith(parts, parts.atom->right->terms()); };
    const Sign bounded = parts.atom->kind == NatNode::Kind::min ? Sign::nonPositive : Sign::nonNegative;
    if (signOf(parts.factor) == bounded && (left() || right())) return true;
    return left() && right();
  }

  bool withConstant(const Parts& parts, std::int64_t bound) {
    if (bound == Range::minusInfinity || bound == Range::plusInfinity) return false;
    return proveWith(parts, constantPoly(bound));
  }

  // For divisors of unknown sign.
  bool proveWithRange(const Parts& parts) {
    const Range range = parts.atom->range;
    switch (signOf(parts.factor)) {
      case Sign::nonNegative: return withConstant(parts, range.lower);
      case Sign::nonPositive: return withConstant(parts, range.upper);
      case Sign::unknown: return false;
    }
    return false;
  }

  int steps_;
};

}  // namespace

bool isNonNegative(const Poly& x, int steps) {
  try {
    return NonNegative(steps).prove(x);
  } catch (const UserError&) {
    return false;  // a bound exceeds 64 bits
  }
}

bool isPositive(Node node) {
  if (node->range.lower >= 1) return true;
  if (node->range.upper < 1) return false;
  enum : std::uint8_t { untried, proved, failed };
  std::uint8_t memo = node->positivity.load(std::memory_order_relaxed);
  if (memo == untried) {
    memo = isNonNegative(plus(polyOf(node), -1), stepsOfConstruction) ? proved : failed;
    node->positivity.store(memo, std::memory_order_relaxed);
  }
  return memo == proved;
}

// ---------------------------------------------------------------------------------------------------- decisive form

namespace {

class Decisive {
 public:
  Poly form(Node node) {
    if (node->height == 0) return polyOf(node);
    if (const auto found = memo_.find(node); found != memo_.end()) return found->second;
    Poly sum = node->isOperation() ? operation(node) : withFactors(node->terms(), [&](Node f) { return form(f); });
    return memo_.emplace(node, std::move(sum)).first->second;
  }

 private:
  Poly operation(Node node) {
    const Poly left = form(node->left);
    const Node right = internTerms(form(node->right));
    switch (node->kind) {
      case NatNode::Kind::floorDiv: return floorDivPoly(left, right, Style::decisive);
      case NatNode::Kind::mod:
        return add(left, multiply(right->terms(), floorDivPoly(left, right, Style::decisive)), -1);
      case NatNode::Kind::min: return polyOf(minNode(internTerms(left), right));
      default:  // max(a, b) == a + b - min(a, b)
        return add(add(left, right->terms()), minNode(internTerms(left), right)->terms(), -1);
    }
  }

  std::unordered_map<Node, Poly> memo_;
};

}  // namespace

Poly decisiveForm(Node node) { return Decisive().form(node); }

namespace {

// Runs a proof; a result that does not fit 64 bits proves nothing.
template <class Proof>
Truth attempt(Proof proof) {
  try {
    return proof();
  } catch (const UserError&) {
    return Truth::unknown;
  }
}

bool proveNonNegative(Node node, const Poly& decisive) {
  return isNonNegative(polyOf(node), stepsOfProof) || (node->height > 0 && isNonNegative(decisive, stepsOfProof));
}

// Every value is congruent to the constant term modulo the common factor of the other coefficients.
bool isNonZeroByDivisibility(const Poly& e) {
  std::int64_t factor = 0;
  for (const NatTerm& term : e)
    if (term.monomial != one()) factor = std::gcd(factor, term.coefficient);
  return factor > 1 && constantTerm(e) % factor != 0;
}

}  // namespace

}  // namespace lift::detail

namespace lift {

using namespace detail;

Truth equal(Nat a, Nat b) {
  if (a == b) return Truth::proved;
  return attempt([&] {
    const Node difference = (a - b).node();
    const Poly form = decisiveForm(difference);
    if (form.empty()) return Truth::proved;
    if (form.size() == 1 && asConstant(form)) return Truth::refuted;
    const auto nonNegative = [](const Poly& e) { return isNonNegative(e, stepsOfProof); };
    const Poly given = polyOf(difference);
    if (isNonZeroByDivisibility(form) || isNonZeroByDivisibility(given)) return Truth::refuted;
    const Poly negative = negate(given);
    const Range range = difference->range;
    if (range.lower > 0 || range.upper < 0) return Truth::refuted;
    if (nonNegative(given)) {
      if (nonNegative(negative)) return Truth::proved;
      return nonNegative(plus(given, -1)) ? Truth::refuted : Truth::unknown;
    }
    return nonNegative(plus(negative, -1)) ? Truth::refuted : Truth::unknown;
  });
}

Truth lessEqual(Nat a, Nat b) {
  return attempt([&] {
    const Node difference = (b - a).node();
    const Poly form = decisiveForm(difference);
    if (proveNonNegative(difference, form)) return Truth::proved;
    const Node opposite = (a - b - 1).node();
    return proveNonNegative(opposite, plus(negate(form), -1)) ? Truth::refuted : Truth::unknown;
  });
}

Truth less(Nat a, Nat b) {
  return attempt([&] { return lessEqual(a + 1, b); });
}

Truth divides(Nat divisor, Nat number) {
  return attempt([&] {
    if (divideExactly(number.node()->terms(), divisor.node())) return Truth::proved;
    if (divisor == Nat(0)) return equal(number, 0);
    const Truth remainderIsZero = equal(mod(number, divisor), 0);
    // The remainder says nothing where the divisor is zero: zero divides only zero.
    if (equal(divisor, 0) == Truth::refuted) return remainderIsZero;
    const bool neverDivides = remainderIsZero == Truth::refuted && equal(number, 0) == Truth::refuted;
    return neverDivides ? Truth::refuted : Truth::unknown;
  });
}

}  // namespace lift
