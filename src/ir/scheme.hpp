// Type schemes of primitives, parsed from the table once and instantiated with fresh variables at each use.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lift/syntax.hpp"
#include "solver.hpp"

namespace lift::detail {

// Names of sizes and types in scope while a SynType is turned into a Type.
struct TypeNames {
  std::map<std::string, Nat> sizes;
  std::map<std::string, Type> types;
};

const SynScheme& schemeOf(Prim prim);

// A scheme with its variables replaced by fresh ones; `names` holds what each stands for. Size parameters are among
// them: bind them with Solver::unify, or set them before through `given`.
class Instance {
 public:
  Instance(Prim prim, Solver& solver, const std::map<std::string, Nat>& given, Span origin);

  std::vector<Type> parameters;  // of the data and function parameters, in order
  Type result;

  struct Condition {
    SizeCondition::Kind kind;
    Nat left, right;
  };
  std::vector<Condition> conditions;

  Type functionType() const;

 private:
  Type typeOf(const SynType& type);
  Nat natOf(const Syn& size);

  Solver& solver_;
  TypeNames names_;
  Span origin_;
};

// The size arguments of a primitive by the names of its scheme; throws InternalError when one is missing.
std::map<std::string, Nat> sizeArguments(Prim prim, const std::vector<Nat>& nats);

// What an index function with these sizes requires of an array of n elements.
std::vector<Instance::Condition> indexConditions(IndexFn fn, const std::vector<Nat>& nats, Nat n);

// Sizes are written with the operators of expressions; arithmetic on already known operands.
// `leaf` gives the value of everything that is not an operator or a literal.
Nat natOfSyntax(const Syn& syn, const std::function<Nat(const Syn&)>& leaf);

}  // namespace lift::detail
