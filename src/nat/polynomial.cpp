#include "polynomial.hpp"

namespace lift::detail {

Poly constantPoly(std::int64_t value) { return monomialPoly(value, one()); }

Poly monomialPoly(std::int64_t coefficient, Node monomial) {
  Poly result;
  if (coefficient != 0) result.push_back({coefficient, monomial});
  return result;
}

Poly add(std::span<const NatTerm> a, std::span<const NatTerm> b, std::int64_t scaleOfB) {
  Poly sum;
  sum.reserve(a.size() + b.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const int order = compareMonomials(a[i].monomial, b[j].monomial);
    if (order < 0) {
      sum.push_back(a[i++]);
    } else if (order > 0) {
      sum.push_back({checkedMul(b[j].coefficient, scaleOfB), b[j].monomial});
      ++j;
    } else {
      const std::int64_t c = checkedAdd(a[i].coefficient, checkedMul(b[j].coefficient, scaleOfB));
      if (c != 0) sum.push_back({c, a[i].monomial});
      ++i;
      ++j;
    }
  }
  sum.append(a.subspan(i));
  for (; j < b.size(); ++j) sum.push_back({checkedMul(b[j].coefficient, scaleOfB), b[j].monomial});
  return sum;
}

Poly scale(std::span<const NatTerm> a, std::int64_t factor) {
  Poly result;
  if (factor == 0) return result;
  result.reserve(a.size());
  for (const NatTerm& term : a) result.push_back({checkedMul(term.coefficient, factor), term.monomial});
  return result;
}

Poly multiply(std::span<const NatTerm> a, std::span<const NatTerm> b) {
  if (a.empty() || b.empty()) return {};
  if (const auto c = asConstant(a)) return scale(b, *c);
  if (const auto c = asConstant(b)) return scale(a, *c);
  Poly product;
  product.reserve(a.size() * b.size());
  for (const NatTerm& s : a)
    for (const NatTerm& t : b)
      product.push_back({checkedMul(s.coefficient, t.coefficient), multiplyMonomials(s.monomial, t.monomial)});
  normalise(product);
  return product;
}

void normalise(Poly& terms) {
  std::ranges::sort(terms,
                    [](const NatTerm& s, const NatTerm& t) { return compareMonomials(s.monomial, t.monomial) < 0; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size();) {
    NatTerm combined = terms[i];
    for (++i; i < terms.size() && terms[i].monomial == combined.monomial; ++i)
      combined.coefficient = checkedAdd(combined.coefficient, terms[i].coefficient);
    if (combined.coefficient != 0) terms[kept++] = combined;
  }
  terms.resize(kept);
}

std::int64_t constantTerm(std::span<const NatTerm> a) {
  return !a.empty() && a.back().monomial == one() ? a.back().coefficient : 0;
}

std::optional<std::int64_t> asConstant(std::span<const NatTerm> a) {
  if (a.empty()) return 0;
  if (a.size() == 1 && a[0].monomial == one()) return a[0].coefficient;
  return std::nullopt;
}

Range rangeOf(std::span<const NatTerm> a) {
  Range sum{0, 0};
  for (const NatTerm& term : a) sum = sum + Range{term.coefficient, term.coefficient} * term.monomial->range;
  return sum;
}

Node multiplyMonomials(Node a, Node b) {
  if (a == one()) return b;
  if (b == one()) return a;
  Factors factors;
  factors.reserve(a->factorCount + b->factorCount);
  factors.append(a->factors());
  factors.append(b->factors());
  std::inplace_merge(factors.begin(), factors.begin() + a->factorCount, factors.end(),
                     [](Node s, Node t) { return compareAtoms(s, t) < 0; });
  return internMonomial(factors);
}

namespace {

// Walks two sorted lists of atoms; calls common(atom) for each pair and onlyLeft(atom) for what remains of `a`.
// Returns whether all of `b` was met.
template <class Common, class OnlyLeft>
bool walkFactors(Node a, Node b, Common common, OnlyLeft onlyLeft) {
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  bool all = true;
  while (i < a->factorCount && j < b->factorCount) {
    const int order = compareAtoms(a->factorData[i], b->factorData[j]);
    if (order == 0) common(a->factorData[i]);
    if (order < 0) onlyLeft(a->factorData[i]);
    if (order > 0) all = false;
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
  all = all && j == b->factorCount;
  for (; i < a->factorCount; ++i) onlyLeft(a->factorData[i]);
  return all;
}

}  // namespace

Node divideMonomial(Node a, Node b) {
  if (a == b) return one();
  if (b == one()) return a;
  if (b->factorCount > a->factorCount || (b->variableMask & ~a->variableMask)) return nullptr;
  Factors rest;
  if (!walkFactors(
          a, b, [](Node) {}, [&](Node atom) { rest.push_back(atom); }))
    return nullptr;
  return internMonomial(rest);
}

Node commonMonomial(Node a, Node b) {
  if (a == b) return a;
  Factors common;
  walkFactors(
      a, b, [&](Node atom) { common.push_back(atom); }, [](Node) {});
  return internMonomial(common);
}

bool hasFactor(Node monomial, Node atom) {
  return std::ranges::find(monomial->factors(), atom) != monomial->factors().end();
}

}  // namespace lift::detail
