// Unification over types and sizes: the constraint store of inference.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lift/expr.hpp"
#include "lift/source.hpp"
#include "lift/syntax.hpp"

namespace lift::detail {

class Solver {
 public:
  Nat freshNat(const std::string& name);
  // For a size that a definition names: at least 1, and named in messages.
  static Nat freshSize(const std::string& name) { return NatVar::fresh(name, 1, std::nullopt, NatVar::Role::meta); }
  // Where the origin of a requirement is reported, when it cannot be met in the end.
  std::function<Span(Span)> place = [](Span origin) { return origin; };
  // What the solution of an equation of sizes demands, where it is not shown: the equation as text, and its origin.
  // Equations whose solution would demand something stay open where nobody takes the demand.
  std::function<void(SizeCondition::Kind, Nat left, Nat right, const std::string& equation, Span origin)> demand;
  // Sizes made from now on are at least 1, which lets facts of divisibility apply to them.
  void assumePositive() { least_ = 1; }
  Type freshType(const std::string& name = "t") { return Type::freshVariable(name); }
  // What is unknown because of an error that is reported: equal to everything.
  Type poison();
  Nat poisonNat();
  bool isPoison(Type t) const;

  // Follows solved variables at the root only / everywhere.
  Type resolve(Type t) const;
  Type zonk(Type t) const;
  Nat zonk(Nat n) const;

  // Makes both equal. Size equations that cannot be decided yet are kept, with `origin` for their error message.
  // False: the types cannot be equal (nothing is undone; an error is being reported anyway).
  bool unify(Type a, Type b, Span origin);
  bool unify(Nat a, Nat b, Span origin);
  // Why lengths of two types, or two sizes, cannot be equal: "no size n has 2*n = 7". Empty where that is not why.
  std::string whyNot(Type a, Type b) const;
  std::string whyNot(Nat a, Nat b) const;

  void require(Type t, TypeClass c, Span origin) { classes_.push_back({t, c, place(origin)}); }

  struct Equation {
    Nat left, right;
    Span origin;
  };
  struct ClassError {
    Type type;
    TypeClass wanted;
    Span origin;
  };
  // Retries kept equations; those still open after the last useful retry are returned. `facts` may prove some.
  std::vector<Equation> settle(const std::vector<Divides>& facts);
  // Whether a type can be of the class as far as it is known.
  bool fits(Type t, TypeClass c) const;
  // Gives literals whose type nothing determines their default type (i32, f32).
  void applyDefaults();
  std::vector<ClassError> checkClasses() const;
  // What is asked of types that are not known.
  std::vector<std::pair<Type, TypeClass>> openClasses() const;

 private:
  bool occurs(Type variable, Type in) const;
  // One attempt: solved (true), contradictory (false) or undecided.
  Truth attempt(Nat a, Nat b, Span origin);
  // The one value of v, if there is one, for which a = b, and what it demands.
  struct Solution {
    Truth exists = Truth::unknown;
    Nat value;
    std::optional<std::pair<Nat, Nat>> divides;  // the first must divide the second
    bool isAtLeastOne = true;                    // else that must be shown
  };
  Solution solve(NatVar v, Nat a, Nat b) const;

  std::int64_t least_ = 0;
  mutable std::unordered_map<std::uint64_t, Type> types_;  // chains of variables shrink as they are followed
  std::unordered_set<std::uint64_t> poison_;
  std::set<NatVar> poisonNats_;
  std::map<NatVar, Nat> nats_;
  std::vector<Equation> equations_;
  struct ClassConstraint {
    Type type;
    TypeClass wanted;
    Span origin;
  };
  std::vector<ClassConstraint> classes_;
};

}  // namespace lift::detail
