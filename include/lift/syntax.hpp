// Surface syntax: what the parser and the C++ DSL build, and inference turns into typed terms.
//
// Sizes and values share one expression syntax; which of the two a name or an operator means is known from where it
// stands (a primitive's size argument, an array length, a scalar expression).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lift/expr.hpp"
#include "lift/node.hpp"
#include "lift/source.hpp"

namespace lift {

struct Syn;
using SynPtr = std::shared_ptr<const Syn>;
struct SynType;
using SynTypePtr = std::shared_ptr<const SynType>;

// fun x, fun (a, (b, c)), fun (x: f32), fun _ . Exactly one of name / components is used.
struct SynPattern {
  Span span;
  std::string name;  // "_" binds nothing
  std::vector<SynPattern> components;
  SynTypePtr type;  // annotation or null
};

struct Syn {
  struct Name {
    std::string text;
    bool isOperator = false;  // always means the operation: no definition of its name hides it
  };
  struct Integer {
    std::int64_t value;  // of u64 its bits
    std::optional<Scalar> type = {};
  };  // 1, 1u8
  struct Real {
    double value;
    std::optional<Scalar> type;
  };  // 1.5, 1.5f16, 2e-3f64 (also 3f32)
  struct Boolean {
    bool value;
  };
  struct Argument {
    std::string name;
    SynPtr value;
  };  // name empty unless written `init = e`
  // f(a, b). Infix a + b is Call(Name "add"), unary -a is Call(Name "neg"); x |> f is Call(f, {x}); adjacent calls
  // f(a)(b) nest. The operators are op-table names (ops.hpp).
  struct Call {
    SynPtr function;
    std::vector<Argument> arguments;
  };
  struct Fun {
    SynPattern parameter;
    SynPtr body;
  };
  struct Tuple {
    std::vector<SynPtr> components;
  };  // at least two
  struct Array {
    std::vector<SynPtr> elements;
  };  // [a, b, c], at least one
  struct Project {
    SynPtr tuple;
    int component;
  };  // e.0
  struct Subscript {
    SynPtr array;
    SynPtr index;
  };  // e[i]
  struct Let {
    SynPattern pattern;
    SynPtr value;
    SynPtr body;
  };
  struct Ascribe {
    SynPtr value;
    SynTypePtr type;
  };  // (e : t)
  struct Typed {
    Expr term;
  };  // an existing term
  struct Size {
    Nat value;
  };  // an existing size

  Span span;
  std::variant<Name, Integer, Real, Boolean, Call, Fun, Tuple, Array, Project, Subscript, Let, Ascribe, Typed, Size>
      node;
};

struct SynType {
  struct ScalarName {
    Scalar scalar;
  };
  struct Vector {
    SynPtr width;
    SynTypePtr element;
  };  // f32x4, <w>f32
  struct Array {
    SynPtr length;
    SynTypePtr element;
  };  // [n]t
  struct Tuple {
    std::vector<SynTypePtr> components;
  };
  struct Function {
    SynTypePtr parameter, result;
  };  // t -> u
  struct Name {
    std::string text;
  };  // a type variable
  struct Nat {
    SynPtr low, high;
  };                // "nat", "nat in low..", "nat in low..high": only as the type of a definition's parameter
  struct Index {};  // "index": only in schemes of primitives

  Span span;
  std::variant<ScalarName, Vector, Array, Tuple, Function, Name, Nat, Index> node;
};

// def name(params): type = body. Parameters of prelude-like definitions may be untyped; those of the program that is
// compiled are typed.
struct Definition {
  Span span;  // of the name
  std::string name;
  struct Parameter {
    Span span;
    std::string name;
    SynTypePtr type;
    bool isRest = false;  // *name, the last: all arguments from here on, several as a tuple
  };
  std::vector<Parameter> parameters;
  SynTypePtr result;  // or null
  SynPtr body;
};

// tune k in lo..hi   (both inclusive)
struct TuneDeclaration {
  Span span;
  std::string name;
  SynPtr low, high;
};

// type image = [h][w]f32, type pair(t, n) = ([n]t, [n]t). The parser puts the type in the alias's place; sizes that are
// no parameters are those of the place.
struct TypeAlias {
  Span span;
  std::string name;
  struct Parameter {
    std::string name;
    bool isSize;
  };
  std::vector<Parameter> parameters;
  SynTypePtr type;
};

struct Module;
// import "filters.lift" as filters: definitions of another file, without a prefix under their own names.
struct Import {
  Span span;
  std::string prefix;
  std::shared_ptr<const Module> module;
};

struct Module {
  std::vector<Definition> definitions;
  std::vector<TuneDeclaration> tunables;
  std::vector<TypeAlias> types{};
  std::vector<Import> imports{};
};

// "name(a: nat, f: (u, t) -> u, in: [n]t): [n]u where k | n, size <= n": the rows of the primitives table.
struct SynScheme {
  std::string name;
  std::vector<Definition::Parameter> parameters;
  SynTypePtr result;
  struct Condition {
    SizeCondition::Kind kind;
    SynPtr left, right;
  };
  std::vector<Condition> conditions;
};

// Lexing and parsing of sizes, types and schemes (src/ir) is shared by the table and the text language. They throw
// UserError (status program) with spans into `file`.
SynTypePtr parseType(const SourceFile& file);
SynScheme parseScheme(const SourceFile& file);

// A size as Nat::str() prints it; `named` gives names their sizes.
Nat parseSize(const SourceFile& file, const std::function<std::optional<Nat>(const std::string& name)>& named);

// left => right: a rewrite rule. Free names are metavariables.
struct SynRule {
  SynPtr left, right;
};
SynRule parseRule(const SourceFile& file);

// What a type variable may stand for, as the operations on its values ask.
enum class TypeClass { scalar, numeric, floating, integral, comparable, integerLiteral, realLiteral };
bool fits(Type t, TypeClass wanted);  // as far as the type is known

// A rule with its types. Both sides mention type variables and sizes of role meta, which a match determines.
struct TypedRule {
  std::vector<Expr> variables;          // metavariables that stand for values and functions, in order of appearance
  std::map<std::string, NatVar> sizes;  // metavariables that stand for sizes, by name
  Expr left = Expr::nat(0), right = Expr::nat(0);
  std::vector<std::pair<Type, TypeClass>> classes;  // of type variables
  std::vector<SizeCondition> assumed;               // by the left side
  std::vector<SizeCondition> required;              // by the right side, beyond those
};

// Names that `prelude` does not define are sizes where a size stands (a size argument, the length in a type), values
// elsewhere. Both sides get one type. Throws UserError with all errors found.
TypedRule inferRule(const SynRule& rule, const Module& prelude);

// Type inference. Elaborates the definition `entry` (empty: the only one, else "main", else the last) of `module`;
// names that the module does not define are looked up in `prelude`. Throws UserError with all errors found.
Program infer(const Module& module, const Module& prelude, const std::string& entry = {});

}  // namespace lift
