// One-way matching of a rule's left side against a term.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "lift/rewrite.hpp"

namespace lift::rewrite::detail {

class Matcher {
 public:
  Matcher(const Rule& rule, const Arguments& arguments, const std::vector<Divides>& facts);

  bool matches(Expr term);

  // After a match.
  Expr instance(Expr side) const;
  Type instance(Type t) const;
  SizeCondition instance(const SizeCondition& condition) const;
  Expr value(const std::string& metavariable) const;

 private:
  struct SizeEquation {
    Nat pattern, subject;
    bool mustHold;  // a size argument, which says what the term means; lengths in types follow from others
  };

  bool match(Expr pattern, Expr subject);
  bool match(Type pattern, Type subject);
  bool match(Nat pattern, Nat subject, bool mustHold);
  bool matchCall(Expr pattern, Expr subject);
  std::optional<Expr> find(Expr pattern, Expr body);
  bool replaceWhole(Expr& body, const std::unordered_map<Expr, Expr>& places) const;
  bool bind(Expr metavariable, Expr value);
  bool holdsFor(Nat a, Nat b, bool mustHold) const;
  bool solve();

  bool isMetavariable(Expr e) const;
  bool isPlace(Expr pattern) const;
  Expr inSubject(Expr place) const;
  bool mentionsBound(Expr e) const;

  Nat instance(Nat n) const { return n.substitute(sizes_); }

  const Rule* rule_;
  const std::vector<Divides>* facts_;
  std::unordered_map<Expr, Expr> values_;          // metavariables
  std::unordered_map<Expr, Expr> bound_;           // bound variables of the pattern, in the subject
  std::unordered_map<std::uint64_t, Type> types_;  // type variables
  std::map<NatVar, Nat> sizes_;                    // size metavariables
  std::set<NatVar> arguments_;                     // those that are size arguments of primitives
  std::vector<SizeEquation> equations_;            // those that no single size decides
};

}  // namespace lift::rewrite::detail
