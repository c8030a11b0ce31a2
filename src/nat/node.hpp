// The representation of a Nat: immutable interned nodes.
//
// Every node is a polynomial: a list of terms `coefficient * monomial`, sorted by `compareMonomials`. A monomial is a
// sorted list of atoms; an atom is a variable or an opaque operation on two nodes. An atom is its own monomial and its
// own one-term polynomial, so the algorithms read `terms` and `factors` of any node without asking for its kind:
//
//   node         kind                       terms                      factors
//   constant c   constant                   {c, one} (none for 0)      (only of `one`: none)
//   atom a       variable, floorDiv, ...    {1, a}                     a
//   monomial     product                    {1, itself}                its atoms, sorted, with repetition
//   c * m        product                    {c, m}                     -
//   sum          sum                        two or more                -
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lift/nat_code.hpp"

namespace lift::detail {

struct NatVarData {
  std::string name;
  std::uint64_t id;
  NatVar::Role role;
  std::int64_t lower;
  std::optional<Nat> upper;
  std::uint64_t namePrefix;  // the first eight characters, big-endian: compares like the name
};

struct NatTerm {
  std::int64_t coefficient;
  const NatNode* monomial;
};

struct NatNode {
  using Kind = Nat::Kind;

  Kind kind = Kind::constant;
  bool hasFloorDiv = false;  // a floorDiv or mod is a factor of a term (not deeper)
  bool hasMod = false;
  mutable std::atomic<std::uint8_t> positivity{0};  // memo of `isPositive`
  std::uint32_t height = 0;                         // nesting of opaque operations
  std::uint32_t termCount = 0;
  std::uint32_t factorCount = 0;
  std::uint64_t hash = 0;
  std::uint64_t latest = 0;        // one more than the greatest id of a variable in it
  std::uint64_t variableMask = 0;  // bit (id mod 64) of each variable: a quick "does not mention"
  Range range;
  const NatTerm* termData = nullptr;
  const NatNode* const* factorData = nullptr;
  const NatVarData* variableData = nullptr;
  const NatNode* left = nullptr;  // operands of an opaque operation
  const NatNode* right = nullptr;
  NatTerm ownTerm{1, nullptr};
  const NatNode* ownFactor = nullptr;
  mutable std::atomic<const std::vector<Nat>*> operandList{nullptr};      // made on demand
  mutable std::atomic<const std::vector<NatVar>*> variableList{nullptr};  // made on demand

  std::span<const NatTerm> terms() const { return {termData, termCount}; }
  std::span<const NatNode* const> factors() const { return {factorData, factorCount}; }
  bool isConstant() const { return kind == Kind::constant; }
  std::int64_t constantValue() const { return termCount == 0 ? 0 : termData[0].coefficient; }
  bool isOperation() const { return kind >= Kind::floorDiv; }

  // Nat keeps its representation to itself; the module's own files pass through here.
  static Nat wrap(const NatNode* node) { return Nat(node); }
  static NatVar wrap(const NatVarData* data) { return NatVar(data); }
  static const NatVarData* data(NatVar variable) { return variable.data_; }
};

using Node = const NatNode*;

// Interning: equal arguments give the same node. Arguments must be canonical (sorted, combined, no zero terms).
Node internConstant(std::int64_t value);
Node internVariable(const NatVarData* data);
Node internOperation(NatNode::Kind kind, Node left, Node right);
Node internMonomial(std::span<const Node> factors);
Node internTerms(std::span<const NatTerm> terms);
inline Node one() {
  static const Node node = internConstant(1);
  return node;
}

// Structural orders: negative, zero or positive. Zero only for the same node. Monomials of higher degree come first,
// so the constant term of a sum is its last.
int compareNodes(Node a, Node b);
int compareMonomials(Node a, Node b);
int compareAtoms(Node a, Node b);

// Checked arithmetic; overflow throws UserError.
[[noreturn]] void throwOverflow();
inline std::int64_t checkedAdd(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_add_overflow(a, b, &result)) throwOverflow();
  return result;
}
inline std::int64_t checkedMul(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) throwOverflow();
  return result;
}
inline std::int64_t checkedNegate(std::int64_t a) { return checkedMul(a, -1); }
inline std::int64_t floorQuotient(std::int64_t a, std::int64_t b) {
  if (b == -1) return checkedNegate(a);
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline std::int64_t floorRemainder(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace lift::detail
