// Types of terms: interned, immutable, compared by address.
//
//   t ::= scalar | <w>t (vector of w scalars) | [n]t (array) | (t, u, …) (tuple) | t -> u (function) | type variable
//
// Lengths and widths are Nats, so a type may mention size parameters, tunables and, during inference, metavariables.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lift/nat.hpp"
#include "lift/scalar.hpp"

namespace lift {

namespace detail {
struct TypeNode;
}

class Type {
 public:
  enum class Kind : std::uint8_t { scalar, vector, array, tuple, function, variable };

  static Type scalar(Scalar s);
  static Type vector(Nat width, Type element);
  static Type array(Nat length, Type element);
  static Type tuple(std::vector<Type> components);
  static Type function(Type parameter, Type result);
  static Type function(const std::vector<Type>& parameters, Type result);  // curried
  static Type variable(std::uint64_t id, std::string name = "t");
  static Type freshVariable(std::string name = "t");

  Kind kind() const;
  bool isScalar() const { return kind() == Kind::scalar; }
  bool isVector() const { return kind() == Kind::vector; }
  bool isArray() const { return kind() == Kind::array; }
  bool isTuple() const { return kind() == Kind::tuple; }
  bool isFunction() const { return kind() == Kind::function; }
  bool isVariable() const { return kind() == Kind::variable; }
  bool hasLength() const { return isArray() || isVector(); }
  Scalar scalar() const;                        // scalar
  Nat length() const;                           // array length, vector width
  Type element() const;                         // array, vector
  const std::vector<Type>& components() const;  // tuple
  Type parameter() const;                       // function
  Type result() const;                          // function
  const std::vector<Type>& parts() const;       // what it is made of: element, components, or parameter and result
  std::uint64_t variableId() const;             // variable

  bool hasMetas() const;    // mentions a type variable or a meta NatVar
  bool isRegister() const;  // scalar, vector, or tuple of such: a value that fits registers

  // Replaces sizes and type variables, simultaneously.
  Type substitute(const std::map<NatVar, Nat>& sizes) const;
  Type substitute(const std::function<Nat(Nat)>& onNat, const std::function<Type(Type)>& onVariable) const;
  // All Nats that occur in the type, outside in.
  void forEachNat(const std::function<void(Nat)>& visit) const;

  std::string str() const;  // text syntax: "[n][3]f32", "f32x4", "<w>f32", "(f32, i32) -> f32"

  friend bool operator==(Type a, Type b) { return a.node_ == b.node_; }
  friend bool operator!=(Type a, Type b) { return a.node_ != b.node_; }
  const detail::TypeNode* node() const { return node_; }

 private:
  explicit Type(const detail::TypeNode* node) : node_(node) {}
  const detail::TypeNode* node_;
};

// The scalar of a scalar or vector type.
Scalar scalarOf(Type type);

// Array lengths outside in, and what is below them: [n][3](f32, i32) has shape {n, 3} and base (f32, i32).
std::vector<Nat> shapeOf(Type type);
Type baseOf(Type type);
Nat elementCount(const std::vector<Nat>& shape);  // the product of the lengths: 1 where there are none

// An array, or a tuple with arrays in it.
bool holdsArrays(Type type);

// The leaves of a type: one per scalar or vector component of its tuples, each with the array lengths around it.
// `path` names the component: "" or ".0", ".1.0". A vector of width w is a trailing dimension w of its leaf.
struct Leaf {
  std::string path;
  Scalar scalar;
  std::vector<Nat> shape;
};
std::vector<Leaf> leavesOf(Type type);

}  // namespace lift

template <>
struct std::hash<lift::Type> {
  std::size_t operator()(lift::Type t) const { return std::hash<const void*>()(t.node()); }
};
