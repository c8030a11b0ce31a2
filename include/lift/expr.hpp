// Terms: typed, immutable, hash-consed.
//
// Five forms: variable, lambda, application, literal, primitive at its sizes. Functions take one argument; several
// are curried (primitives) or a tuple (functions that primitives call). A term knows its type at construction, an
// ill-typed term cannot be built (InternalError). Equality is address equality; terms that differ only in the identity
// of bound variables print equally under Names::canonical.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "lift/nat.hpp"
#include "lift/ops.hpp"
#include "lift/primitive.hpp"
#include "lift/source.hpp"
#include "lift/type.hpp"

namespace lift {

namespace detail {
struct ExprNode;
}

class Expr {
 public:
  enum class Form : std::uint8_t { variable, lambda, apply, literal, natLiteral, primitive };

  // A new variable, different from every other.
  static Expr variable(std::string name, Type type);
  static Expr lambda(Expr parameter, Expr body);
  static Expr apply(Expr function, Expr argument);
  static Expr literal(ScalarValue value);
  static Expr nat(Nat value);  // a size as an i32 value
  // `type` is the instance of the primitive's scheme; `nats` its size arguments. `detail` is the Op of Prim::op, the
  // Scalar of Prim::convert, the IndexFn of Prim::reorder (whose size arguments are `nats`), and 0 otherwise.
  // `place` is kept for primitives that may fail when they run (mayFail): two of them are not equal.
  static Expr primitive(Prim prim, std::vector<Nat> nats, Type type, std::uint8_t detail = 0, Span place = {});

  Form form() const;
  bool isVariable() const { return form() == Form::variable; }
  bool isLambda() const { return form() == Form::lambda; }
  bool isApply() const { return form() == Form::apply; }
  bool isLiteral() const { return form() == Form::literal; }
  bool isNatLiteral() const { return form() == Form::natLiteral; }
  bool isPrimitive() const { return form() == Form::primitive; }
  Type type() const;

  const std::string& name() const;   // variable
  std::uint64_t id() const;          // variable
  Expr parameter() const;            // lambda
  Expr body() const;                 // lambda
  Expr function() const;             // apply
  Expr argument() const;             // apply
  const ScalarValue& value() const;  // literal
  Nat natValue() const;              // natLiteral
  Prim prim() const;                 // primitive
  const std::vector<Nat>& nats() const;
  Op op() const;            // Prim::op
  Scalar target() const;    // Prim::convert
  IndexFn indexFn() const;  // Prim::reorder
  Span place() const;       // primitive: where it stands, for what goes wrong when it runs

  bool hasFree(Expr variable) const;  // cached sets of free variables
  const std::vector<Expr>& freeVariables() const;

  friend bool operator==(Expr a, Expr b) { return a.node_ == b.node_; }
  friend bool operator!=(Expr a, Expr b) { return a.node_ != b.node_; }
  const detail::ExprNode* node() const { return node_; }

  explicit Expr(const detail::ExprNode* node) : node_(node) {}

 private:
  const detail::ExprNode* node_;
};

}  // namespace lift

template <>
struct std::hash<lift::Expr> {
  std::size_t operator()(lift::Expr e) const { return std::hash<const void*>()(e.node()); }
};

namespace lift {

// Whether the primitive, when it runs, may find its data wrong: an index out of range, an integer divided by zero.
bool mayFail(Expr primitive);

// f(a)(b)(c) as head f and arguments a, b, c.
struct Spine {
  Expr head;
  std::vector<Expr> arguments;
  bool isPrim(Prim p) const { return head.isPrimitive() && head.prim() == p; }
  bool isCall(Prim p) const;  // of p with all of its arguments
};
inline bool endsKernel(const Spine& s) { return s.head.isPrimitive() && endsKernel(s.head.prim()); }
Spine spineOf(Expr e);
Expr applyAll(Expr head, const std::vector<Expr>& arguments);

// Capture-avoiding by construction: bound variables are unique to their lambda.
Expr substitute(Expr e, Expr variable, Expr replacement);
Expr substitute(Expr e, const std::unordered_map<Expr, Expr>& replacements);
// Replaces sizes everywhere: in types, size arguments and literals.
Expr substitute(Expr e, const std::map<NatVar, Nat>& sizes);
// The general form: rewrites every size and every type variable of the term.
// `onPrimitive`, when given, is told the new form of every primitive.
Expr mapTypes(Expr e, const std::function<Nat(Nat)>& onNat, const std::function<Type(Type)>& onTypeVariable,
              const std::function<void(Expr before, Expr after)>& onPrimitive = {});
// Long normal form: redexes are reduced (by substitution), components of written tuples taken, and function arguments
// expanded, so that every argument of function type is a lambda.
Expr etaLong(Expr e);

// A side condition of a primitive that inference could not decide: an assumption about sizes, checked when they are
// bound. `origin` says where it comes from ("split(k) of [n]f32 at conv.lift:12:7").
struct SizeCondition {
  enum class Kind : std::uint8_t { divides, lessEqual, equal } kind = Kind::divides;
  Nat left;   // divides: divisor
  Nat right;  // divides: number
  std::string origin;

  std::string str() const;  // "4 | n", "3 <= n"
};

// Whether the condition holds for all, some or no values of the variables in it.
Truth holds(const SizeCondition& condition);

// The side conditions of a primitive at its sizes and types, those of its scheme and of its index function; also those
// that are proved or refuted. Their origin is "split(k) of [n]f32".
std::vector<SizeCondition> conditionsOf(Expr primitive);

// A whole program: parameters, result, the sizes it is symbolic in, and what it assumes of them.
struct Program {
  std::string name;
  std::vector<NatVar> sizes;  // in order of appearance
  std::vector<NatVar> tunables;
  std::vector<Expr> parameters;  // variables
  Expr body = Expr::nat(0);
  std::vector<SizeCondition> conditions;
  std::unordered_map<Expr, Span> spans;  // where the primitives of the body stand, for diagnostics

  Type result() const { return body.type(); }
  std::vector<Divides> facts() const;  // the divisibility conditions
};

// The same program at given sizes; conditions that become true vanish, a false one throws UserError (status program).
Program specialise(const Program& program, const std::map<NatVar, Nat>& sizes);

// Throws UserError (status program) for indices that are out of range whatever the data is. Those under a condition are
// left to those who run the program.
void checkIndices(const Program& program);

// Checks every node against the table's schemes, independently of inference; throws InternalError naming the node.
void verify(const Program& program);

// Text that parses back to the same program (up to the identity of variables). With Names::canonical binders are
// numbered, so that programs which differ only in names print equally; Names::given keeps the user's where unique.
enum class Names { given, canonical };
std::string print(const Program& program, Names names = Names::given);
std::string print(Expr e, Names names = Names::given);

}  // namespace lift
