// Floor division and modulo.
//
// Everything rests on one identity: floor((q*d + r) / d) == q + floor(r / d) and (q*d + r) % d == r % d for all
// integers q and r and every d != 0. The rules below choose q such that r lies in a known multiple of the interval [0,
// d), or such that what remains has fewer or smaller operands. They look at coefficients and ranges, never at the order
// in which operands are written. Apart from the two rules for divisors of unknown sign, all need d > 0 proved.
#include <numeric>

#include "lift/diagnostic.hpp"
#include "polynomial.hpp"

namespace lift::detail {

namespace {

std::int64_t roundedQuotient(const NatTerm& term, std::int64_t divisor, Style style) {
  // The constant is reduced to 0 <= c < divisor, which makes the form unique: (n - 2)/4 and (n + 2)/4 - 1 are one
  // node. Other coefficients keep their sign, since -i is simpler than 3*i - 4*i.
  const bool down = style == Style::decisive || term.monomial == one();
  return down ? floorQuotient(term.coefficient, divisor) : term.coefficient / divisor;
}

// Moves multiples of a one-term divisor from `a` to the quotient that is returned.
Poly extractByTerm(Poly& a, const NatTerm& divisor, Style style) {
  Poly quotient;
  std::size_t kept = 0;
  for (const NatTerm& term : a) {
    NatTerm rest = term;
    if (const Node monomial = divideMonomial(term.monomial, divisor.monomial)) {
      const std::int64_t q = roundedQuotient(term, divisor.coefficient, style);
      if (q != 0) quotient.push_back({q, monomial});
      rest.coefficient -= q * divisor.coefficient;
    }
    if (rest.coefficient != 0) a[kept++] = rest;
  }
  a.resize(kept);
  normalise(quotient);
  return quotient;
}

// Long division by the leading term of a sum. With `onlyIfShorter`, a step that does not remove terms is not taken.
Poly extractBySum(Poly& a, Node divisor, bool onlyIfShorter) {
  Poly quotient;
  const NatTerm lead = divisor->terms()[0];
  for (std::size_t i = 0; i < a.size();) {
    const Node monomial = divideMonomial(a[i].monomial, lead.monomial);
    const std::int64_t q = monomial ? a[i].coefficient / lead.coefficient : 0;
    if (q != 0) {
      const Poly step = monomialPoly(q, monomial);
      Poly rest = add(a, multiply(step, divisor->terms()), -1);
      if (!onlyIfShorter || rest.size() < a.size()) {
        quotient = add(quotient, step);
        a = std::move(rest);
        i = 0;
        continue;
      }
    }
    ++i;
  }
  return quotient;
}

// The m for which m*d <= a < (m + 1)*d is proved.
std::optional<std::int64_t> quotientByRange(const Poly& a, Node d) {
  const Range range = rangeOf(a);
  if (range.bounded() || range.lower >= 0 || range.upper < 0) {
    const Range quotient = combine(Nat::Kind::floorDiv, range, d->range);
    if (quotient.bounded() && quotient.lower == quotient.upper) return quotient.lower;
  }
  // Symbolic: only 0 and -1 are worth trying; other multiples of the divisor are already extracted.
  if (range.upper >= 0 && isNonNegative(a, stepsOfConstruction) &&
      isNonNegative(plus(add(d->terms(), a, -1), -1), stepsOfConstruction))
    return 0;
  if (range.lower < 0 && isNonNegative(plus(negate(a), -1), stepsOfConstruction) &&
      isNonNegative(add(a, d->terms()), stepsOfConstruction))
    return -1;
  return std::nullopt;
}

struct Extraction {
  Poly quotient;
  Poly rest;
  bool settled = false;  // floor(rest / d) is zero
};

Extraction extract(const Poly& a, Node d, Style style) {
  Extraction result;
  result.rest = a;
  if (d->termCount == 1) {
    result.quotient = extractByTerm(result.rest, d->terms()[0], style);
  } else {
    result.quotient = extractBySum(result.rest, d, style == Style::readable);
  }
  const auto settle = [&](Extraction& e) {
    if (e.rest.empty()) {
      e.settled = true;
    } else if (const auto m = quotientByRange(e.rest, d)) {
      e.quotient = plus(e.quotient, *m);
      e.rest = add(e.rest, scale(d->terms(), -*m));
      e.settled = true;
    }
    return e.settled;
  };
  if (settle(result) || d->termCount == 1) return result;
  // Terms that do not get fewer may still lead to a remainder in range.
  Extraction full{.quotient = {}, .rest = a};
  full.quotient = extractBySum(full.rest, d, false);
  if (full.rest.size() <= 2 * a.size() && settle(full)) return full;
  return result;
}

// The greatest common factor of two terms, and of all terms of a polynomial.
NatTerm commonFactor(const NatTerm& s, const NatTerm& t) {
  return {std::gcd(s.coefficient, t.coefficient), commonMonomial(s.monomial, t.monomial)};
}

NatTerm content(std::span<const NatTerm> a) {
  NatTerm result = a[0];
  for (const NatTerm& term : a.subspan(1)) result = commonFactor(result, term);
  result.coefficient = std::abs(result.coefficient);
  return result;
}

bool isPositiveTerm(const NatTerm& term) {
  return term.coefficient > 0 && std::ranges::all_of(term.monomial->factors(), [](Node f) { return isPositive(f); });
}

// a == g*high + low with 0 <= low < g, d == g*divisor: then a / d == high / divisor, and
// a % d == g*(high % divisor) + low. Turns (4*i + j)/8 into i/2 for 0 <= j < 4.
struct Split {
  NatTerm factor;
  Poly high;
  Poly low;
  Node divisor;
};

std::optional<Split> splitByCommonFactor(const Poly& a, Node d) {
  const NatTerm whole = content(d->terms());
  if (whole.coefficient == 1 && whole.monomial == one()) return std::nullopt;
  InlineVector<NatTerm, 8> tried;
  for (const NatTerm& term : a) {
    if (term.monomial == one() && a.size() > 1) continue;  // a constant follows the other terms
    const NatTerm factor = commonFactor(whole, term);
    if (factor.coefficient == 1 && factor.monomial == one()) continue;
    const auto same = [&](const NatTerm& t) {
      return t.coefficient == factor.coefficient && t.monomial == factor.monomial;
    };
    if (std::ranges::any_of(tried, same) || !isPositiveTerm(factor)) continue;
    tried.push_back(factor);

    Split split{.factor = factor, .high = {}, .low = {}, .divisor = nullptr};
    for (const NatTerm& t : a) {
      const Node monomial = divideMonomial(t.monomial, factor.monomial);
      if (monomial && t.coefficient % factor.coefficient == 0) {
        split.high.push_back({t.coefficient / factor.coefficient, monomial});
      } else {
        split.low.push_back(t);
      }
    }
    if (split.high.empty()) continue;
    normalise(split.high);
    Node factorNode = internTerms(monomialPoly(factor.coefficient, factor.monomial));
    if (!split.low.empty()) {
      const auto m = quotientByRange(split.low, factorNode);
      if (!m) continue;
      split.high = plus(split.high, *m);
      split.low = add(split.low, scale(factorNode->terms(), -*m));
    }
    split.divisor = internTerms(*divideExactly(d->terms(), factorNode));
    return split;
  }
  return std::nullopt;
}

// The operation that a polynomial consists of, apart from a constant: floorDiv(x, y) + c.
Node singleOperation(const Poly& a, NatNode::Kind kind, bool constantAllowed) {
  if (a.empty() || a[0].coefficient != 1 || a[0].monomial->kind != kind) return nullptr;
  if (a.size() == 1) return a[0].monomial;
  return constantAllowed && a.size() == 2 && a[1].monomial == one() ? a[0].monomial : nullptr;
}

Node mergeableDivision(const Poly& a, Style style) {
  if (style == Style::readable) return singleOperation(a, NatNode::Kind::floorDiv, true);
  for (const NatTerm& term : a)
    if (term.coefficient == 1 && term.monomial->kind == NatNode::Kind::floorDiv) return term.monomial;
  return nullptr;
}

// A multiple m*d whose addition makes a numerator non-negative, if ranges show one. C's division can then be used.
std::int64_t shiftToNonNegative(const Poly& a, Node d) {
  const Range range = rangeOf(a);
  if (range.lower >= 0) return 0;
  if (d->isConstant()) {
    if (range.lower == Range::minusInfinity || range.lower == Range::minusInfinity + 1) return 0;
    return -floorQuotient(range.lower, d->constantValue());
  }
  if (isNonNegative(a, stepsOfConstruction)) return 0;
  return isNonNegative(add(a, d->terms()), stepsOfConstruction) ? 1 : 0;
}

// Normalises the sign of the divisor. Rules apply only if it is proved.
enum class Sign { positive, negative, unknown };
Sign signOf(Node d) {
  if (d->range.lower >= 1) return Sign::positive;
  if (d->range.upper <= -1) return Sign::negative;
  if (d->isConstant()) throw UserError(ExitStatus::program, "division by zero");
  if (isPositive(d)) return Sign::positive;
  if (isPositive(internTerms(negate(d->terms())))) return Sign::negative;
  return Sign::unknown;
}

Poly operationPoly(NatNode::Kind kind, const Poly& a, Node b) {
  return monomialPoly(1, internOperation(kind, finish(a), b));
}

}  // namespace

std::optional<Poly> divideExactly(std::span<const NatTerm> a, Node b) {
  Poly rest(a);
  if (b->termCount == 0) return std::nullopt;
  Poly quotient =
      b->termCount == 1 ? extractByTerm(rest, b->terms()[0], Style::readable) : extractBySum(rest, b, false);
  if (!rest.empty()) return std::nullopt;
  return quotient;
}

Poly floorDivPoly(Poly a, Node d, Style style) {
  switch (signOf(d)) {
    case Sign::positive: break;
    case Sign::negative: return floorDivPoly(negate(a), internTerms(negate(d->terms())), style);
    case Sign::unknown: return operationPoly(NatNode::Kind::floorDiv, a, d);
  }
  if (d == one()) return a;
  Extraction e = extract(a, d, style);
  if (e.settled) return e.quotient;

  if (const auto split = splitByCommonFactor(e.rest, d))
    return add(e.quotient, floorDivPoly(split->high, split->divisor, style));

  // (x/y + z)/d == (x + z*y)/(y*d)
  if (const Node inner = mergeableDivision(e.rest, style); inner && isPositive(inner->right)) {
    const Poly others = add(e.rest, monomialPoly(1, inner), -1);
    return add(e.quotient, floorDivPoly(add(inner->left->terms(), multiply(others, inner->right->terms())),
                                        internTerms(multiply(inner->right->terms(), d->terms())), style));
  }
  // (x % (d*m))/d == (x/d) % m
  if (const Node inner = singleOperation(e.rest, NatNode::Kind::mod, false))
    if (const auto m = divideExactly(inner->right->terms(), d); m && isPositive(internTerms(*m)))
      return add(e.quotient, modPoly(floorDivPoly(polyOf(inner->left), d, style), internTerms(*m)));

  if (style == Style::readable) {
    const std::int64_t shift = shiftToNonNegative(e.rest, d);
    e.rest = add(e.rest, scale(d->terms(), shift));
    e.quotient = plus(e.quotient, -shift);
  }
  return add(e.quotient, operationPoly(NatNode::Kind::floorDiv, e.rest, d));
}

Poly modPoly(Poly a, Node d) {
  switch (signOf(d)) {
    case Sign::positive: break;
    case Sign::negative: return negate(modPoly(negate(a), internTerms(negate(d->terms()))));
    case Sign::unknown: return operationPoly(NatNode::Kind::mod, a, d);
  }
  if (d == one()) return {};
  Extraction e = extract(a, d, Style::readable);
  if (e.settled) return e.rest;

  // c*(x % m) may be replaced by c*x if d divides c*m.
  for (const NatTerm& term : e.rest) {
    if (!term.monomial->hasMod) continue;
    for (Node factor : term.monomial->factors()) {
      if (factor->kind != NatNode::Kind::mod) continue;
      const Poly rest = monomialPoly(term.coefficient, divideMonomial(term.monomial, factor));
      if (!divideExactly(multiply(rest, factor->right->terms()), d)) continue;
      Poly unwrapped = add(e.rest, monomialPoly(term.coefficient, term.monomial), -1);
      return modPoly(add(unwrapped, multiply(rest, factor->left->terms())), d);
    }
  }
  if (const auto split = splitByCommonFactor(e.rest, d))
    return add(split->low, multiply(monomialPoly(split->factor.coefficient, split->factor.monomial),
                                    modPoly(split->high, split->divisor)));
  e.rest = add(e.rest, scale(d->terms(), shiftToNonNegative(e.rest, d)));
  return operationPoly(NatNode::Kind::mod, e.rest, d);
}

// ------------------------------------------------------------------------------------------------------ recombination

namespace {

// Whether `part` occurs in `whole` with exactly its coefficients; constants may differ.
bool contains(const Poly& whole, const Poly& part) {
  bool any = false;
  for (const NatTerm& term : part) {
    if (term.monomial == one()) continue;
    any = true;
    const NatTerm* found = std::ranges::lower_bound(
        whole, term, [](const NatTerm& s, const NatTerm& t) { return compareMonomials(s.monomial, t.monomial) < 0; });
    if (found == whole.end() || found->monomial != term.monomial || found->coefficient != term.coefficient)
      return false;
  }
  return any;
}

Poly replacePart(const Poly& whole, const Poly& part, const Poly& replacement) {
  return add(add(whole, part, -1), replacement);
}

// c*m*(x/m) + c*(x % m) -> c*x for the modulo `factor` of the term.
bool recombineMod(Poly& sum, const NatTerm& term, Node factor) {
  const Poly outer = monomialPoly(term.coefficient, divideMonomial(term.monomial, factor));
  const Poly quotient = floorDivPoly(polyOf(factor->left), factor->right, Style::readable);
  const Poly multiple = multiply(outer, multiply(factor->right->terms(), quotient));
  if (!contains(sum, multiple)) return false;
  const Poly part = add(multiple, monomialPoly(term.coefficient, term.monomial));
  sum = replacePart(sum, part, multiply(outer, factor->left->terms()));
  return true;
}

// c*x - c*m*(x/m) -> c*(x % m) for the division `factor` of the term.
bool recombineFloorDiv(Poly& sum, const NatTerm& term, Node factor) {
  const NatTerm lead = factor->right->terms()[0];
  const Node rest = divideMonomial(term.monomial, factor);
  if (term.coefficient % lead.coefficient != 0) return false;
  const Node outerMonomial = divideMonomial(rest, lead.monomial);
  if (!outerMonomial) return false;
  const Poly outer = monomialPoly(checkedNegate(term.coefficient / lead.coefficient), outerMonomial);
  const Poly multiple = multiply(factor->right->terms(), monomialPoly(1, factor));
  const Poly part = multiply(outer, add(factor->left->terms(), multiple, -1));
  if (!contains(sum, part)) return false;
  sum = replacePart(sum, part, multiply(outer, modPoly(polyOf(factor->left), factor->right)));
  return true;
}

// c*(x/y) - c*m*(x/(y*m)) -> c*((x/y) % m), for constants y and m.
bool recombineNested(Poly& sum, const NatTerm& term, Node factor) {
  if (!factor->right->isConstant()) return false;
  const Node rest = divideMonomial(term.monomial, factor);
  for (const NatTerm& other : sum) {
    if (other.monomial == term.monomial || !other.monomial->hasFloorDiv || term.coefficient % other.coefficient != 0)
      continue;
    const Node finer = divideMonomial(other.monomial, rest);
    const std::int64_t m = checkedNegate(term.coefficient / other.coefficient);
    if (!finer || finer->kind != NatNode::Kind::floorDiv || m < 2) continue;
    if (!finer->right->isConstant() || finer->right->constantValue() > factor->right->constantValue() / m) continue;
    const Poly coarse = floorDivPoly(monomialPoly(1, finer), internConstant(m), Style::readable);
    if (coarse.empty() || coarse[0].monomial != factor || coarse[0].coefficient != 1) continue;
    if (!asConstant(add(coarse, monomialPoly(1, factor), -1))) continue;
    const Poly outer = monomialPoly(other.coefficient, rest);
    const Poly part = multiply(outer, add(monomialPoly(1, finer), scale(coarse, m), -1));
    sum = replacePart(sum, part, multiply(outer, modPoly(monomialPoly(1, finer), internConstant(m))));
    return true;
  }
  return false;
}

bool recombineOnce(Poly& sum) {
  for (const NatTerm& term : sum) {
    if (!term.monomial->hasFloorDiv && !term.monomial->hasMod) continue;
    for (Node factor : term.monomial->factors()) {
      // Copied: the rules replace the sum.
      const NatTerm current = term;
      if (factor->kind == NatNode::Kind::mod && recombineMod(sum, current, factor)) return true;
      if (factor->kind != NatNode::Kind::floorDiv) continue;
      if (recombineFloorDiv(sum, current, factor) || recombineNested(sum, current, factor)) return true;
    }
  }
  return false;
}

}  // namespace

Node finish(Poly poly) {
  if (poly.size() > 1 && std::ranges::any_of(poly, [](auto& t) { return t.monomial->hasFloorDiv; })) {
    // Every step removes a division from the sum; the count is there for safety.
    for (std::size_t k = 2 * poly.size(); k > 0 && recombineOnce(poly); --k) {
    }
  }
  return internTerms(poly);
}

// -------------------------------------------------------------------------------------------------- minimum, maximum

namespace {

void flatten(Node node, NatNode::Kind kind, Factors& operands) {
  if (node->kind != kind) return operands.push_back(node);
  flatten(node->left, kind, operands);
  flatten(node->right, kind, operands);
}

// Drops operands that another one makes redundant, and orders the others.
Node extremum(NatNode::Kind kind, Node a, Node b) {
  Factors operands;
  flatten(a, kind, operands);
  flatten(b, kind, operands);
  std::ranges::sort(operands, [](Node s, Node t) { return compareNodes(s, t) < 0; });
  const auto redundant = [&](Node x, Node y) {  // x is never needed beside y
    const Poly difference =
        kind == NatNode::Kind::min ? add(x->terms(), y->terms(), -1) : add(y->terms(), x->terms(), -1);
    return isNonNegative(difference, stepsOfConstruction);
  };
  for (std::size_t i = 0; i < operands.size();) {
    bool drop = false;
    for (std::size_t j = 0; j < operands.size() && !drop; ++j) drop = i != j && redundant(operands[i], operands[j]);
    if (drop) {
      operands.erase(i);
    } else {
      ++i;
    }
  }
  Node result = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) result = internOperation(kind, result, operands[i]);
  return result;
}

}  // namespace

Node minNode(Node a, Node b) { return extremum(NatNode::Kind::min, a, b); }
Node maxNode(Node a, Node b) { return extremum(NatNode::Kind::max, a, b); }

}  // namespace lift::detail
