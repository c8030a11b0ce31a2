// Polynomials under construction: the working form of all algorithms of this module. Intermediate results of proofs
// and divisions are never interned.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "node.hpp"

namespace lift::detail {

// A vector of trivial values whose first N live in place.
template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineVector() = default;
  explicit InlineVector(std::span<const T> values) { append(values); }
  InlineVector(const InlineVector& other) { append(other); }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this == &other) return *this;
    size_ = 0;
    append(other);
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const T& back() const { return data()[size_ - 1]; }
  operator std::span<const T>() const { return {data(), size_}; }  // NOLINT: a vector is a span

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    capacity = std::max(capacity, 2 * capacity_);
    auto grown = std::make_unique<T[]>(capacity);
    std::copy_n(data(), size_, grown.get());
    heap_ = std::move(grown);
    capacity_ = capacity;
  }
  void push_back(T value) {
    reserve(size_ + 1);
    data()[size_++] = value;
  }
  void append(std::span<const T> values) {
    reserve(size_ + values.size());
    std::copy_n(values.data(), values.size(), data() + size_);
    size_ += values.size();
  }
  void erase(std::size_t i) {
    std::copy(begin() + i + 1, end(), begin() + i);
    --size_;
  }
  void resize(std::size_t size) { size_ = size; }  // only smaller

 private:
  T* data() { return heap_ ? heap_.get() : inline_; }
  const T* data() const { return heap_ ? heap_.get() : inline_; }
  void take(InlineVector& other) {
    heap_ = std::move(other.heap_);
    capacity_ = other.capacity_;
    size_ = other.size_;
    if (!heap_) std::copy_n(other.inline_, size_, inline_);
    other.size_ = 0;
    other.capacity_ = N;
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  std::unique_ptr<T[]> heap_;
  T inline_[N];
};

using Factors = InlineVector<Node, 6>;

// Sorted by monomial, no zero coefficients; terms() of an interned node is one.
using Poly = InlineVector<NatTerm, 6>;

inline Poly polyOf(Node node) { return Poly(node->terms()); }
Poly constantPoly(std::int64_t value);
Poly monomialPoly(std::int64_t coefficient, Node monomial);

Poly add(std::span<const NatTerm> a, std::span<const NatTerm> b, std::int64_t scaleOfB = 1);
Poly multiply(std::span<const NatTerm> a, std::span<const NatTerm> b);
Poly scale(std::span<const NatTerm> a, std::int64_t factor);
inline Poly negate(std::span<const NatTerm> a) { return scale(a, -1); }
inline Poly plus(std::span<const NatTerm> a, std::int64_t b) { return add(a, constantPoly(b)); }
// Sorts arbitrary terms and combines those of one monomial.
void normalise(Poly& terms);

// The sum of the terms with the polynomial replace(factor) for each factor.
template <class F>
Poly withFactors(std::span<const NatTerm> terms, F&& replace) {
  Poly sum;
  for (const NatTerm& term : terms) {
    Poly product = constantPoly(term.coefficient);
    for (Node factor : term.monomial->factors()) product = multiply(product, replace(factor));
    sum.append(product);
  }
  normalise(sum);
  return sum;
}

std::int64_t constantTerm(std::span<const NatTerm> a);
std::optional<std::int64_t> asConstant(std::span<const NatTerm> a);
Range rangeOf(std::span<const NatTerm> a);

Node multiplyMonomials(Node a, Node b);
// a / b if every factor of b is in a, else null.
Node divideMonomial(Node a, Node b);
Node commonMonomial(Node a, Node b);
bool hasFactor(Node monomial, Node atom);

// The interned node of a polynomial: quotients and remainders of the same division are recombined first (see
// divide.cpp), so this is the only way from a Poly to a Nat.
Node finish(Poly poly);

// Which form of division is built. `readable` is the canonical form of the interface: % is kept and operands of / and %
// are kept small and non-negative. `decisive` is used to decide equality: % is written with /, coefficients of a
// numerator over a constant are reduced to 0 <= c < divisor, and nested divisions are merged.
enum class Style : std::uint8_t { readable, decisive };

Poly floorDivPoly(Poly a, Node b, Style style);
Poly modPoly(Poly a, Node b);
Node minNode(Node a, Node b);
Node maxNode(Node a, Node b);
// a / b if b divides a as polynomials.
std::optional<Poly> divideExactly(std::span<const NatTerm> a, Node b);

// x >= 0 for all values of the variables. `steps` bounds the work; false when it is used up.
bool isNonNegative(const Poly& x, int steps);
bool isPositive(Node node);
// Work allowed while an expression is built, and in an explicit proof.
constexpr int stepsOfConstruction = 48;
constexpr int stepsOfProof = 2000;

// The decisive form; see Style.
Poly decisiveForm(Node node);

}  // namespace lift::detail
