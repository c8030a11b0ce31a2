// Type inference: from surface syntax to typed terms.
//
// Applications are elaborated data first: arguments that are not functions, then functions, whose parameter types are
// known by then. So lambdas rarely need annotations, and operators and projections resolve where they stand.
// Definitions are expanded at each use (they are polymorphic in types and sizes); an argument that the body uses more
// than once, or under a lambda, is bound by `let` unless it only rearranges data.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/syntax.hpp"
#include "scheme.hpp"
#include "solver.hpp"

namespace lift::detail {

struct Scope;
using ScopePtr = std::shared_ptr<const Scope>;

// An argument that is elaborated where it is used: functions, so that each use has its own types.
struct Thunk {
  SynPtr syntax;
  ScopePtr scope;
};
using Binding = std::variant<Expr, Nat, Thunk>;

struct Scope {
  std::string name;
  Binding binding;
  ScopePtr parent;
};

inline ScopePtr extend(ScopePtr scope, std::string name, Binding binding) {
  return std::make_shared<const Scope>(Scope{std::move(name), std::move(binding), std::move(scope)});
}

inline const Binding* lookUp(const ScopePtr& scope, const std::string& name) {
  for (const Scope* s = scope.get(); s; s = s->parent.get())
    if (s->name == name) return &s->binding;
  return nullptr;
}

// An argument of a call that is being elaborated, with the scope it is written in.
struct Argument {
  std::string name;
  SynPtr syntax;
  ScopePtr scope;
};

inline SynPtr typedSyntax(Expr e, Span span) { return std::make_shared<const Syn>(Syn{span, Syn::Typed{e}}); }

struct Metavariables;

class Inference {
 public:
  Inference(const Module& module, const Module& prelude) : module_(module), prelude_(prelude) {}

  Program program(const Definition& entry);
  TypedRule rule(const SynRule& syntax);

 private:
  // --------------------------------------------------------------------------------------------------- reporting
  void report(Span span, std::string message, std::string hint = {}, std::vector<Diagnostic> notes = {});
  // Where the user wrote it: for what stands in a definition of another file, the call that led there.
  Span place(Span span) const;
  Expr poison(std::optional<Type> expected) { return Expr::variable("?", expected.value_or(solver_.freshType())); }
  bool expect(Type actual, Type expected, Span span, const std::string& what = {});
  std::string show(Type t) const { return solver_.zonk(t).str(); }

  // ----------------------------------------------------------------------------------------------- names and types
  const Definition* definition(const std::string& name, Span where) const;
  std::string suggestion(const std::string& name, const ScopePtr& scope) const;
  Nat sizeOf(const SynPtr& syntax, const ScopePtr& scope);
  Type typeOf(const SynTypePtr& type, const ScopePtr& scope, TypeNames& names);
  // Free names in the lengths of a type that nothing binds yet.
  void freeSizes(const SynType& type, const ScopePtr& scope, std::vector<std::pair<std::string, Span>>& out) const;
  void freeSizes(const Syn& size, const ScopePtr& scope, std::vector<std::pair<std::string, Span>>& out) const;
  ScopePtr bindPattern(const SynPattern& pattern, Expr value, ScopePtr scope);
  static std::string nameOf(const SynPattern& pattern) { return pattern.components.empty() ? pattern.name : "p"; }

  // --------------------------------------------------------------------------------------------------------- terms
  // Throws UserError for terms that nest too deeply, which everybody else then may recurse over. The parser's bound is
  // not enough: definitions are expanded, and the C++ embedding has no parser.
  Expr infer(const SynPtr& syntax, const ScopePtr& scope, std::optional<Type> expected = {});
  Expr inferNode(const SynPtr& syntax, const ScopePtr& scope, std::optional<Type> expected);
  Expr inferCall(SynPtr head, ScopePtr scope, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr finish(Expr e, std::optional<Type> expected, Span span);
  Expr literal(ScalarValue value, TypeClass kind, std::optional<Type> expected, Span span);
  Expr lambda(const Syn::Fun& fun, const ScopePtr& scope, std::optional<Type> expected);
  Expr let(const SynPattern& pattern, const Argument& value, const SynPtr& body, const ScopePtr& scope,
           std::optional<Type> expected);
  Expr etaExpand(SynPtr head, ScopePtr scope, std::vector<Argument> arguments, Type expected, Span span);

  Expr spread(Expr value, Type wanted);
  Expr primitive(Prim prim, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr operation(Op op, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr conversion(Scalar to, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr tuple(const std::vector<Argument>& parts, std::optional<Type> expected, Span span);
  Expr project(const SynPtr& tuple, const ScopePtr& scope, int component, std::optional<Type> expected, Span span);
  Expr zip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span);
  Expr unzip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span);
  Expr vectorize(std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr iterate(std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr expand(const Definition& def, std::vector<Argument> arguments, std::optional<Type> expected, Span span);

  bool isFunction(const Argument& argument);
  Type vectorOf(Nat width, Type t, Span span);
  std::optional<Type> scalarsOf(Type t);
  void settle(Program& program, const SourceFile* file);  // of the entry
  void reportEquations(const std::vector<Solver::Equation>& open);
  void reportClasses();
  std::unordered_map<Expr, Expr> literalValues();
  void metavariables(const SynPtr& syntax, Metavariables& names);
  void metavariables(const SynType& type, Metavariables& names);

  const Module& module_;
  const Module& prelude_;
  Solver solver_;
  std::vector<Diagnostic> errors_;
  int nesting_ = 0;  // calls of infer that have not returned

  struct Condition {
    SizeCondition::Kind kind;
    Nat left, right;
    Span span, place;
    std::string primitive;
    Type argument;  // the array it constrains
  };
  std::vector<Condition> conditions_;
  struct Literal {
    Expr placeholder;
    ScalarValue value;
    Span span;
  };
  std::vector<Literal> literals_;
  struct Expansion {
    Span call;
    std::string name;
  };
  std::vector<Expansion> expansions_;
  TypeNames typeVariables_;  // of a rule: names of types, known throughout
  std::map<std::string, NatVar> tunables_;
  std::unordered_map<Expr, Span> spans_;  // of primitives, before their types are final
};

}  // namespace lift::detail
