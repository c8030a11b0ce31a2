// Symbolic integers: array sizes, tuning parameters, loop indices and memory indices.
//
// A Nat is an interned canonical expression: a sum of products over atoms with 64-bit integer coefficients. Atoms are
// ranged variables, floor division, modulo, minimum and maximum. (The name follows the literature; values may be
// negative, e.g. the amount of a cropping `pad`.)
//
// Division has one meaning everywhere: a / b is floor(a / b) and a % b is a - b * floor(a / b). C's operators are only
// printed where both operands are proved non-negative. Equal canonical forms are the same node, so == is a pointer
// comparison; two Nats that are equal as functions usually, but not always, have the same form — use `equal`.
//
// Arithmetic is checked: overflow of a coefficient throws UserError ("size exceeds 64 bits").
// All functions are thread-safe; nodes live as long as the process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lift {

namespace detail {
struct NatNode;
struct NatVarData;
}  // namespace detail

class Nat;

// Proofs answer proved, refuted (false for every value in range) or unknown.
enum class Truth { refuted, unknown, proved };

// A variable. Identity is per creation: two variables of one name are different. `lower` is a constant bound (the least
// int64_t: none), `upper` an inclusive bound that may mention variables created earlier (a loop index i of `n`
// iterations has upper n - 1).
class NatVar {
 public:
  // What a variable stands for; only printing and inference care.
  enum class Role : std::uint8_t { size, tunable, index, meta };

  static NatVar fresh(std::string name, std::int64_t lower, std::optional<Nat> upper, Role role = Role::size);
  static NatVar size(std::string name);                     // a size parameter: lower 1, no upper bound
  static NatVar index(std::string name, const Nat& count);  // 0 <= i < count

  const std::string& name() const;
  std::uint64_t id() const;  // increases with creation
  Role role() const;
  std::int64_t lower() const;
  std::optional<Nat> upper() const;

  friend bool operator==(NatVar a, NatVar b) { return a.data_ == b.data_; }
  friend bool operator<(NatVar a, NatVar b) { return a.id() < b.id(); }

 private:
  friend class Nat;
  friend struct detail::NatNode;
  explicit NatVar(const detail::NatVarData* data) : data_(data) {}
  const detail::NatVarData* data_;
};

class Nat {
 public:
  enum class Kind : std::uint8_t { constant, variable, sum, product, floorDiv, mod, min, max };

  Nat() : Nat(std::int64_t{0}) {}
  Nat(int value) : Nat(std::int64_t{value}) {}  // NOLINT: sizes are written as plain integers
  Nat(std::int64_t value);                      // NOLINT
  Nat(NatVar variable);                         // NOLINT

  Kind kind() const;
  // Structure, for printers and traversals. Operands of `sum` are the terms in canonical order (a constant term last),
  // of `product` the constant coefficient (if not 1) followed by the atoms, with repetition for powers.
  const std::vector<Nat>& operands() const;
  std::optional<std::int64_t> constant() const;
  std::optional<NatVar> variable() const;

  // Least and greatest value over all values of the variables, where known as constants; cached.
  std::optional<std::int64_t> lower() const;
  std::optional<std::int64_t> upper() const;

  std::vector<NatVar> variables() const;  // distinct, in order of creation
  bool mentions(NatVar variable) const;

  // Simultaneous substitution; the result is canonical again.
  Nat substitute(const std::map<NatVar, Nat>& replacements) const;
  // The value under an assignment; throws InternalError when a variable is missing. Division by zero throws UserError.
  std::int64_t evaluate(const std::function<std::int64_t(NatVar)>& value) const;

  // If linear in `variable` (which occurs in no other atom): coefficient and remainder, this == coefficient*v + rest.
  struct Linear;
  std::optional<Linear> linearIn(NatVar variable) const;

  std::string str() const;  // "4*n + 3", "(n - 2) / 4", "min(a, b)": the text syntax, read back by the parser

  friend bool operator==(Nat a, Nat b) { return a.node_ == b.node_; }
  friend bool operator!=(Nat a, Nat b) { return a.node_ != b.node_; }
  std::size_t hash() const;

  const detail::NatNode* node() const { return node_; }

 private:
  friend struct detail::NatNode;
  explicit Nat(const detail::NatNode* node) : node_(node) {}
  const detail::NatNode* node_;
};

struct Nat::Linear {
  Nat coefficient;
  Nat rest;
};

Nat operator+(Nat a, Nat b);
Nat operator-(Nat a, Nat b);
Nat operator-(Nat a);
Nat operator*(Nat a, Nat b);
Nat floorDiv(Nat a, Nat b);  // constant zero divisor throws UserError
Nat mod(Nat a, Nat b);
Nat min(Nat a, Nat b);
Nat max(Nat a, Nat b);
Nat ceilDiv(Nat a, Nat b);               // floorDiv(a + b - 1, b)
Nat sum(const std::vector<Nat>& terms);  // in one step: adding one by one makes a node of every partial sum
inline Nat operator/(Nat a, Nat b) { return floorDiv(a, b); }
inline Nat operator%(Nat a, Nat b) { return mod(a, b); }

// A structural total order that does not depend on addresses or creation order of equal names; for deterministic
// output.
bool structurallyLess(Nat a, Nat b);

// Proofs over all values of the variables in their ranges.
Truth equal(Nat a, Nat b);
Truth less(Nat a, Nat b);
Truth lessEqual(Nat a, Nat b);
Truth divides(Nat divisor, Nat number);

// "divisor divides number": learnt from a `split` or `asVector`, assumed by what comes after it.
struct Divides {
  Nat divisor;
  Nat number;
};
// Equality that may use the facts: (n / 4) * 4 equals n when 4 divides n.
Truth equalUnder(const std::vector<Divides>& facts, Nat a, Nat b);

// Simplification of index expressions that may use the facts: (n/4)*4 -> n.
Nat simplifyUnder(const std::vector<Divides>& facts, Nat a);

}  // namespace lift

template <>
struct std::hash<lift::Nat> {
  std::size_t operator()(lift::Nat n) const { return n.hash(); }
};
template <>
struct std::hash<lift::NatVar> {
  std::size_t operator()(lift::NatVar v) const { return std::hash<std::uint64_t>()(v.id()); }
};
