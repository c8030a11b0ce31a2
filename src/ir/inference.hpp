// Type inference: from surface syntax to typed terms.
//
// Applications are elaborated data first: arguments that are not functions, then functions, whose parameter types are
// known by then. So lambdas rarely need annotations, and operators and projections resolve where they stand.
// Definitions are expanded for each use (they are polymorphic in types and sizes), once for the same arguments; an
// argument that the body uses more than once, or under a lambda, is bound by `let` unless it only rearranges data, and
// so is what is used several times (share.hpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/syntax.hpp"
#include "scheme.hpp"
#include "solver.hpp"

namespace lift::detail {

class Scope;
struct Globals;

constexpr int maxAliases = 1000;  // definitions that only name others

// A definition; the names in it are those of the file that it stands in.
struct Global {
  const Definition* definition;
  const Globals* home;
  // Of one that is passed as an argument: the definition in whose text it is named, null outside of definitions.
  std::optional<const Definition*> namedIn = {};
};

struct Thunk;

// What the text of a file can name wherever it stands: its definitions and tunables, then what is around the file (the
// prelude; around that, primitives and operations). Index functions of reorder are no names of values.
struct Globals {
  std::unordered_map<std::string, std::variant<Nat, Global, Prim, Op, Scalar, ScalarValue::Extreme>> names;
  const Globals* around = nullptr;
};

// The names of a place in a text: what is bound around it, innermost first, then the globals of its file. A name means
// what the scope says that it is written in, wherever it is elaborated.
class Scope {
 public:
  struct Local;
  using Binding = std::variant<Expr, Nat, Thunk, Global, Prim, Op, Scalar, ScalarValue::Extreme>;

  Scope() = default;  // of terms that have no names
  explicit Scope(const Globals* globals, const Definition* within = nullptr) : globals_(globals), within_(within) {}

  Scope with(std::string name, Binding binding) const;
  std::optional<Binding> find(const std::string& name) const;
  void forEachName(const std::function<void(const std::string&)>& visit) const;

  const Definition* within() const { return within_; }  // whose text it is; null outside of definitions
  const Local* innermost() const { return locals_.get(); }

 private:
  std::shared_ptr<const Local> locals_;
  const Globals* globals_ = nullptr;
  const Definition* within_ = nullptr;
};

// A function that is elaborated where it is used, so that each use has its own types.
struct Thunk {
  SynPtr syntax;
  Scope scope;
};
using Binding = Scope::Binding;

// What the name means in the scope; an operator is its operation everywhere.
std::optional<Binding> meaningOf(const Syn::Name& name, const Scope& scope);

struct Scope::Local {
  std::string name;
  Binding binding;
  std::shared_ptr<const Local> parent;
};

// An argument of a call that is being elaborated, with the scope it is written in.
struct Argument {
  std::string name;
  SynPtr syntax;
  Scope scope;
};

inline SynPtr typedSyntax(Expr e, Span span) { return std::make_shared<const Syn>(Syn{span, Syn::Typed{e}}); }

// The text at a span, where there is one and it is short; else a name for it.
std::string written(Span span, const std::string& otherwise);

// How a lane of a vector is reached; empty for other values.
inline std::string laneHint(Type t) { return t.isVector() ? "a lane of a vector v is asScalar([v])[i]" : ""; }

// Primitives of as many arguments as one gives them.
inline bool isVariadic(Prim prim) { return prim == Prim::zip || prim == Prim::tuple || prim == Prim::arrayOf; }

struct Metavariables;

class Inference {
 public:
  Inference(const Module& module, const Module& prelude);

  Program program(const Definition& entry);
  TypedRule rule(const SynRule& syntax);

 private:
  // --------------------------------------------------------------------------------------------------- reporting
  void report(Span span, std::string message, std::string hint = {}, std::vector<Diagnostic> notes = {});
  // Where the user wrote it: for what stands in a definition of another file, the call that led there.
  Span place(Span span) const;
  // What stands for a term after an error below it: of a type that fits everything, so that nothing follows.
  Expr poison(std::optional<Type> expected);
  bool isPoison(Type t) const { return solver_.isPoison(t); }
  // The type, if it is known to be that of a function.
  std::optional<Type> functionType(Type t) const {
    t = solver_.resolve(t);
    return t.isFunction() ? std::optional<Type>(t) : std::nullopt;
  }
  bool expect(Type actual, Type expected, Span span, const std::string& what = {});
  // For messages: a type that is longer than some lines ends in "…".
  std::string show(Type t) const {
    constexpr std::size_t most = 240;
    const std::string text = solver_.zonk(t).str();
    return text.size() <= most ? text : text.substr(0, most) + "…";
  }

  // The parts of program().
  Scope declareSizes(Program& program, const Definition& entry, Scope scope);
  Scope declareParameters(Program& program, const Definition& entry, Scope scope, TypeNames& names);
  void close(Program& program, const Definition& entry, Expr body, std::size_t own);

  // ----------------------------------------------------------------------------------------------- names and types
  void define(Globals& globals, const Module& module);  // and what it imports
  std::pair<std::int64_t, std::optional<Nat>> rangeIn(const SynType::Nat& range, const std::string& name,
                                                      const Scope& scope);
  NatVar tunable(const TuneDeclaration& t, const Module& module, Globals& home);
  std::string suggestion(const std::string& name, const Scope& scope) const;
  // The scope of a definition's body. A definition that uses itself ends the inference here.
  Scope enter(const Global& global, const Scope& from, Span use);
  Nat sizeOf(const SynPtr& syntax, const Scope& scope);
  Type typeOf(const SynTypePtr& type, const Scope& scope, TypeNames& names);
  // Free names in the lengths of a type that nothing binds yet.
  void freeSizes(const SynType& type, const Scope& scope, std::vector<std::pair<std::string, Span>>& out) const;
  std::string nestedLike(Type type, const SynPattern& pattern) const;  // a hint
  Scope bindPattern(const SynPattern& pattern, Expr value, Scope scope);
  // What a tuple of values is taken apart into, as parameters that arguments may name.
  static std::vector<Definition::Parameter> parametersOf(const std::vector<SynPattern>& patterns) {
    std::vector<Definition::Parameter> parameters;
    for (const SynPattern& p : patterns) parameters.push_back({p.span, nameOf(p), {}, false});
    return parameters;
  }
  static std::string nameOf(const SynPattern& pattern) { return pattern.components.empty() ? pattern.name : "p"; }

  // --------------------------------------------------------------------------------------------------------- terms
  // Throws UserError for terms that nest too deeply, which everybody else then may recurse over. The parser's bound is
  // not enough: definitions are expanded, and the C++ embedding has no parser.
  Expr infer(const SynPtr& syntax, const Scope& scope, std::optional<Type> expected = {});
  [[noreturn]] void failTooDeep(Span span) const;
  [[noreturn]] void failTooLarge(Span span) const;
  std::size_t partsOf(Type t);
  Expr inferNode(const SynPtr& syntax, const Scope& scope, std::optional<Type> expected);
  Expr inferCall(SynPtr head, Scope scope, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  // A call of a function that is written out, under a name or not.
  Expr callFun(const Thunk& thunk, const Syn::Fun& fun, const std::string& callee, std::vector<Argument> arguments,
               std::optional<Type> expected, Span span);
  // A call of what has a name: a definition, a primitive, an operation or a conversion.
  Expr call(const Binding& callee, const Scope& from, std::vector<Argument> arguments, std::optional<Type> expected,
            Span span);
  Expr finish(Expr e, std::optional<Type> expected, Span span);
  Expr literal(ScalarValue value, TypeClass kind, std::optional<Type> expected, Span span);
  Expr lambda(const Syn::Fun& fun, const Scope& scope, std::optional<Type> expected);
  Expr let(const SynPattern& pattern, const Argument& value, const SynPtr& body, const Scope& scope,
           std::optional<Type> expected);
  // Arguments that a callee of `arity` parameters still lacks; then it is a function of what is missing, unless its
  // last argument is a tuple of what is missing.
  std::optional<Expr> incomplete(const Binding& callee, std::size_t arity, const Scope& from,
                                 std::vector<Argument>& arguments, std::optional<Type> expected, Span span);
  std::optional<std::vector<Expr>> componentsOf(Expr value, std::size_t count);
  Expr applyValue(Expr value, const std::vector<Argument>& arguments, std::optional<Type> expected, Span span,
                  const std::string& name, Span call);
  // Reports arguments that a definition was given beyond its parameters, where they are just those that its body, the
  // call at this span, has no use for. False where there are none such.
  bool reportsSurplus(std::size_t surplus, Span call);
  Expr partial(const Binding& callee, std::size_t missing, const Scope& from, std::vector<Argument> arguments,
               Type expected, Span span);
  // The arguments by parameter: named ones go to theirs, the others fill what is left in order. Nothing after an error.
  std::optional<std::vector<const Argument*>> slotsOf(const std::string& callee,
                                                      const std::vector<Definition::Parameter>& parameters,
                                                      const std::vector<Argument>& arguments, const std::string& hint);

  Expr spread(Expr value, Type wanted);
  Expr primitive(Prim prim, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr operation(Op op, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr operationAsFunction(Op op, std::optional<Type> expected, Span span);
  struct OperationTypes;
  OperationTypes typesOf(Op op);  // fresh ones, for one use
  void widenTruth(Op op, OperationTypes& types, const std::vector<Expr>& values, Span span);
  bool takesOperand(Op op, const OperationTypes& types, std::size_t i, Expr value, Span span);  // else reports
  // lowest and highest, of the type that their place asks for.
  Expr extreme(ScalarValue::Extreme end, std::optional<Type> expected, Span span);
  // convert(x), to the type that its place asks for.
  Expr conversion(std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr conversion(Scalar to, std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  // A component of a value whose type, resolved, is the given one.
  static Expr componentOf(Expr value, Type type, std::size_t i);
  Expr tuple(const std::vector<Argument>& parts, std::optional<Type> expected, Span span);
  Expr array(const std::vector<Argument>& elements, std::optional<Type> expected, Span span);
  Expr project(const SynPtr& tuple, const Scope& scope, int component, std::optional<Type> expected, Span span);
  Expr ifThenElse(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span);
  Expr zip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span);
  Expr unzip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span);
  Expr vectorize(std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  Expr iterate(std::vector<Argument> arguments, std::optional<Type> expected, Span span);
  // A call of a definition, and its parts.
  Expr expand(const Global& global, const Scope& from, std::vector<Argument> arguments, std::optional<Type> expected,
              Span span);
  bool givesSizes(const Definition& def, const std::vector<Argument>& arguments, Span span);  // else reports
  Scope bindSizes(const Definition& def, const std::vector<const Argument*>& slots, Scope scope);
  void freeTypes(const SynTypePtr& type, TypeNames& names);  // names in a type, each for a type to be found
  // What the parameters are given; nothing after an error.
  std::optional<std::vector<Binding>> given(const Definition& def, const std::vector<const Argument*>& slots,
                                            const Scope& scope, TypeNames& names);
  // The body at these values, applied to `rest` where there is any.
  Expr expandBody(const Definition& def, const std::vector<const Argument*>& slots, const std::vector<Binding>& values,
                  Scope scope, TypeNames& names, std::vector<Argument> rest, std::optional<Type> expected, Span span);

  static std::vector<const void*> identity(const void* code, const std::vector<Binding>& arguments);
  std::optional<Expr> instanceOf(const void* code, const std::vector<Binding>& arguments, std::optional<Type> expected);
  static bool callsDefinition(const Argument& argument);
  void remember(const void* code, std::vector<Binding> arguments, Expr term);

  // What the name of an argument is bound to that is written as a function (without elaborating it); else nothing.
  std::optional<Binding> asFunction(const Argument& argument);
  // What a name is bound to that stands for the value: a function is no value of a let, it is applied where it is
  // named.
  Binding bindingOf(Expr value, Span span) const;
  std::string whatLacks(const Argument& argument) const;
  bool isFunction(const Argument& argument) { return asFunction(argument).has_value(); }
  // By its scheme, its arguments in the order of the scheme's parameters. Those that return false have reported why.
  struct SchemeCall;
  Expr byScheme(Prim prim, const std::vector<const Argument*>& slots, std::optional<Type> expected, Span span);
  bool takeSizes(SchemeCall& call, const std::vector<const Argument*>& slots);
  bool takeIndexFunction(SchemeCall& call, const Argument& argument);
  bool areLegal(const SchemeCall& call);
  bool expectResult(const SchemeCall& call, const Instance& instance, std::optional<Type> expected);
  bool takeData(SchemeCall& call, const Instance& instance);
  bool addConditions(const SchemeCall& call, const Instance& instance);
  bool takeApart(std::vector<Argument>& arguments);
  // Reports a function where a primitive takes a value: reduce(add, 0, xs).
  bool inOrder(const PrimInfo& row, const SynScheme& scheme, const std::vector<const Argument*>& slots);
  // Reports an operand that no operation takes: an array, or a float where bits are meant.
  bool fitsOperation(Op op, const std::vector<Argument>& operands, const std::vector<Expr>& values, Span span);
  Type vectorOf(Nat width, Type t, Span span);
  std::optional<Type> scalarsOf(Type t);
  // Solves what is left, with defaults for literals and what conditions say of divisors; what stays open.
  std::vector<Solver::Equation> openEquations();
  void settle(Program& program, const SourceFile* file);  // of the entry
  void reportEquations(const std::vector<Solver::Equation>& open);
  void reportClasses();
  static std::string describe(TypeClass c);
  static std::string hintOfLiteral(TypeClass kind, Type expected);  // where a literal of that kind is not expected
  std::unordered_map<Expr, Expr> literalValues();
  void metavariables(const SynPtr& syntax, Metavariables& names);
  void metavariables(const SynType& type, Metavariables& names);

  Globals builtins_, preludeNames_, names_;
  std::unordered_map<const Definition*, std::vector<const Definition*>> uses_;  // definitions by those that use them
  std::map<const Module*, Globals> imported_;
  std::vector<std::pair<const Module*, Globals*>> modules_;  // the program's file and what it imports
  Solver solver_;
  std::vector<Diagnostic> errors_;
  int failures_ = 0;  // reports, those that repeat another included
  int nesting_ = 0;   // calls of infer that have not returned
  // What is expanded grows exponentially where definitions use one another several times: bounds for who walks it.
  static constexpr int deepest = 1000;
  static constexpr std::size_t mostElaborated = 200'000, mostParts = 10'000, mostTerms = 2'000'000;
  std::size_t elaborated_ = 0;                                   // calls of infer
  std::unordered_map<const Definition*, std::size_t> expanded_;  // how often
  std::unordered_map<Type, std::size_t> parts_;
  std::unordered_map<const Definition*, Nat> sizes_;  // values of constants that stand for sizes

  struct Condition {
    SizeCondition::Kind kind;
    Nat left, right;
    Span span, place;
    std::string subject;           // what demands it: a primitive, a parameter
    std::optional<Type> argument;  // the array that the primitive works on
  };
  std::vector<Condition> conditions_;
  bool reportRefuted(const Condition& condition);
  // "split of [n]f32"
  std::string subjectOf(const Condition& c) const {
    return c.argument ? c.subject + " of " + solver_.zonk(*c.argument).str() : c.subject;
  }
  struct Literal {
    Expr placeholder;
    ScalarValue value;
    Span span;
    std::optional<ScalarValue::Extreme> extreme;  // of the type, in place of the value
  };
  std::vector<Literal> literals_;
  std::vector<Expr> conversions_;  // placeholders, functions from what is converted to what is wanted
  struct Expansion {
    Span call;
    const Definition* definition;
    std::vector<Span> arguments;  // where they stand, by parameter
    std::size_t surplus;          // so many more, for what the body is
  };
  std::vector<Expansion> expansions_;

  // What a definition, or a local function, is at given arguments: elaborated once and shared.
  struct Expanded {
    std::vector<Binding> arguments;  // alive as long as their addresses identify them
    Expr term;
  };
  std::map<std::vector<const void*>, std::vector<Expanded>> instances_;
  std::unordered_set<Expr> shared_;  // terms used more than once
  std::unordered_set<Expr> single_;  // variables that a let binds which is there only if the variable is used twice
  TypeNames typeVariables_;          // of a rule: names of types, known throughout
  std::unordered_map<Expr, Span> spans_;  // of primitives, before their types are final
};

// "it is defined as f(x: f32, y)"; empty where the definition has no text.
std::string signatureOf(const Definition& def);

}  // namespace lift::detail
