#include "lift/expr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <deque>

#include "lift/diagnostic.hpp"
#include "lift/interning.hpp"
#include "rebuild.hpp"
#include "size_limits.hpp"

namespace lift {
namespace detail {

// What variables, literals, sizes and primitives have; most terms are lambdas and applications.
struct ExprLeaf {
  std::string name = {};       // variable
  std::uint64_t id = 0;        // variable
  ScalarValue value = {};      // literal
  Nat nat = {};                // natLiteral
  std::vector<Nat> nats = {};  // primitive
  Span place = {};             // primitive
};

namespace {
// Never destroyed: terms of static storage duration may outlive any other static object.
const ExprLeaf* noLeaf() {
  static const auto* none = new ExprLeaf;
  return none;
}

const std::vector<Expr>* noVariables() {
  static const auto* none = new std::vector<Expr>;
  return none;
}
}  // namespace

struct ExprNode {
  Expr::Form form;
  std::uint8_t detail = 0;  // primitive
  bool isEtaLong = true;    // etaLong gives the term itself
  Prim prim = Prim::id;     // primitive
  Type type;
  std::array<const ExprNode*, 2> children = {};   // lambda: parameter, body; apply: function, argument
  const ExprLeaf* leaf = noLeaf();                // others
  const std::vector<Expr>* free = noVariables();  // sorted by id; terms share them
};

namespace {

bool byId(Expr a, Expr b) { return a.id() < b.id(); }

bool same(const ScalarValue& a, const ScalarValue& b) {
  return a.type == b.type && a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
}

bool same(const ExprLeaf& a, const ExprLeaf& b) {
  return a.id == b.id && a.nat == b.nat && a.nats == b.nats && a.place.file == b.place.file &&
         a.place.begin == b.place.begin && a.place.end == b.place.end && same(a.value, b.value);
}

bool same(const ExprNode& a, const ExprNode& b) {
  return a.form == b.form && a.type == b.type && a.children == b.children && a.prim == b.prim && a.detail == b.detail &&
         (a.leaf == b.leaf || same(*a.leaf, *b.leaf));
}

std::uint64_t hashOf(const ExprNode& node) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(node.form), std::hash<Type>()(node.type));
  h = mix(h, static_cast<std::uint64_t>(node.prim) * 256 + node.detail);
  for (const ExprNode* child : node.children) h = mix(h, reinterpret_cast<std::uintptr_t>(child));
  const ExprLeaf& leaf = *node.leaf;
  if (&leaf == noLeaf()) return h;
  h = mix(h, leaf.id);
  h = mix(h, std::bit_cast<std::uint64_t>(leaf.value.real) ^ static_cast<std::uint64_t>(leaf.value.integer));
  h = mix(h, leaf.nat.hash());
  h = mix(h, leaf.place.begin);
  for (const Nat n : leaf.nats) h = mix(h, n.hash());
  return h;
}

// Where nodes lie, and what they refer to.
class ExprStorage {
 public:
  const ExprNode* make(ExprNode node) {
    if (node.leaf != noLeaf()) node.leaf = &leaves_.emplace_back(*node.leaf);
    ExprNode* made = &nodes_.emplace_back(node);
    made->free = freeOf(Expr(made));
    return made;
  }

 private:
  const std::vector<Expr>* freeOf(Expr e) {
    switch (e.form()) {
      case Expr::Form::variable: return &variables_.emplace_back(1, e);
      case Expr::Form::lambda: {
        if (!e.body().hasFree(e.parameter())) return e.body().node()->free;
        std::vector<Expr> rest = e.body().freeVariables();
        std::erase(rest, e.parameter());
        return rest.empty() ? noVariables() : &variables_.emplace_back(std::move(rest));
      }
      case Expr::Form::apply: {
        const std::vector<Expr>*a = e.function().node()->free, *b = e.argument().node()->free;
        if (a == b || b->empty()) return a;
        if (a->empty()) return b;
        std::vector<Expr> both;
        std::ranges::set_union(*a, *b, std::back_inserter(both), byId);
        if (both.size() == a->size()) return a;
        return both.size() == b->size() ? b : &variables_.emplace_back(std::move(both));
      }
      default: return noVariables();
    }
  }

  std::deque<ExprNode> nodes_;
  std::deque<ExprLeaf> leaves_;
  std::deque<std::vector<Expr>> variables_;
};

const ExprNode* intern(const ExprNode& node) {
  static auto& table = *new InternTable<ExprNode, ExprStorage>;
  return table.intern(
      hashOf(node), [&](const ExprNode& other) { return same(node, other); },
      [&](ExprStorage& storage) { return storage.make(node); });
}

const ExprNode* intern(ExprNode node, const ExprLeaf& leaf) {
  node.leaf = &leaf;
  return intern(node);
}

}  // namespace
}  // namespace detail

namespace {

// Equal up to sizes that only facts (or later binding) can relate, (n / 4) * 4 against n, and up to type variables,
// which are there only while inference runs.
bool compatible(Type a, Type b) {
  if (a == b || a.isVariable() || b.isVariable()) return true;
  if (a.kind() != b.kind() || a.isScalar()) return false;
  if (a.hasLength() && equal(a.length(), b.length()) == Truth::refuted) return false;
  return std::ranges::equal(a.parts(), b.parts(), compatible);
}

}  // namespace

using detail::ExprNode;

namespace {

// While inference runs, a type that is not known yet may become that of integers.
bool mayFail(Prim prim, Type type, std::uint8_t detail) {
  if (prim == Prim::at) return true;
  if (prim != Prim::op || (static_cast<Op>(detail) != Op::div && static_cast<Op>(detail) != Op::mod)) return false;
  Type operand = type.parameter();
  if (operand.isVector()) operand = operand.element();
  return !operand.isScalar() || !isFloat(operand.scalar());
}

// Of an application: no redex, no component of a tuple that is there, and functions are given as lambdas.
bool isEtaLong(Expr function, Expr argument) {
  if (function.isLambda() || !function.node()->isEtaLong || !argument.node()->isEtaLong) return false;
  if (argument.type().isFunction()) return argument.isLambda();
  return !function.isPrimitive() || function.prim() != Prim::get || !spineOf(argument).isPrim(Prim::tuple);
}

}  // namespace

Expr Expr::variable(std::string name, Type type) {
  static std::atomic<std::uint64_t> next{1};
  return Expr(detail::intern({.form = Form::variable, .type = type}, {.name = std::move(name), .id = next++}));
}

Expr Expr::lambda(Expr parameter, Expr body) {
  ensure(parameter.isVariable(), "the parameter of a lambda must be a variable");
  return Expr(detail::intern({.form = Form::lambda,
                              .isEtaLong = body.node()->isEtaLong,
                              .type = Type::function(parameter.type(), body.type()),
                              .children = {parameter.node(), body.node()}}));
}

Expr Expr::apply(Expr function, Expr argument) {
  const Type type = function.type();
  ensure(type.isFunction(), "only functions can be applied");
  if (!compatible(type.parameter(), argument.type()))
    throw InternalError(fmt::format("ill-typed application: a function of {} applied to {}", type.parameter().str(),
                                    argument.type().str()));
  return Expr(detail::intern({.form = Form::apply,
                              .isEtaLong = isEtaLong(function, argument),
                              .type = type.result(),
                              .children = {function.node(), argument.node()}}));
}

Expr Expr::literal(ScalarValue value) {
  return Expr(detail::intern({.form = Form::literal, .type = Type::scalar(value.type)}, {.value = value}));
}

Expr Expr::nat(Nat value) {
  return Expr(detail::intern({.form = Form::natLiteral, .type = Type::scalar(Scalar::i32)}, {.nat = value}));
}

Expr Expr::primitive(Prim prim, std::vector<Nat> nats, Type type, std::uint8_t detail, Span place) {
  if (!mayFail(prim, type, detail)) place = {};
  return Expr(detail::intern({.form = Form::primitive, .detail = detail, .prim = prim, .type = type},
                             {.nats = std::move(nats), .place = place}));
}

bool mayFail(Expr primitive) {
  return primitive.isPrimitive() && mayFail(primitive.prim(), primitive.type(), primitive.node()->detail);
}

Expr::Form Expr::form() const { return node_->form; }
Type Expr::type() const { return node_->type; }
const std::string& Expr::name() const { return node_->leaf->name; }
std::uint64_t Expr::id() const { return node_->leaf->id; }
Expr Expr::parameter() const {
  ensure(isLambda(), "parameter() of a term that is not a lambda");
  return Expr(node_->children[0]);
}
Expr Expr::body() const {
  ensure(isLambda(), "body() of a term that is not a lambda");
  return Expr(node_->children[1]);
}
Expr Expr::function() const {
  ensure(isApply(), "function() of a term that is not an application");
  return Expr(node_->children[0]);
}
Expr Expr::argument() const {
  ensure(isApply(), "argument() of a term that is not an application");
  return Expr(node_->children[1]);
}
const ScalarValue& Expr::value() const { return node_->leaf->value; }
Nat Expr::natValue() const { return node_->leaf->nat; }
Span Expr::place() const { return node_->leaf->place; }
Prim Expr::prim() const { return node_->prim; }
const std::vector<Nat>& Expr::nats() const { return node_->leaf->nats; }
Op Expr::op() const { return static_cast<Op>(node_->detail); }
Scalar Expr::target() const { return static_cast<Scalar>(node_->detail); }
IndexFn Expr::indexFn() const { return static_cast<IndexFn>(node_->detail); }
const std::vector<Expr>& Expr::freeVariables() const { return *node_->free; }
bool Expr::hasFree(Expr variable) const { return std::ranges::binary_search(*node_->free, variable, detail::byId); }

bool Spine::isCall(Prim p) const {
  if (!isPrim(p)) return false;
  Type rest = head.type();
  for (std::size_t i = 0; i < arguments.size(); i++) rest = rest.result();
  return !rest.isFunction();
}

Spine spineOf(Expr e) {
  std::vector<Expr> arguments;
  while (e.isApply()) {
    arguments.push_back(e.argument());
    e = e.function();
  }
  std::ranges::reverse(arguments);
  return {e, std::move(arguments)};
}

Expr applyAll(Expr head, const std::vector<Expr>& arguments) {
  for (const Expr a : arguments) head = Expr::apply(head, a);
  return head;
}

namespace {

class Substitution : public detail::Rebuilding<Substitution> {
 public:
  explicit Substitution(const std::unordered_map<Expr, Expr>& replacements) : replacements_(replacements) {}

  Expr rebuilt(Expr e) {
    const auto& free = e.freeVariables();
    if (std::ranges::none_of(free, [&](Expr v) { return replacements_.count(v) > 0; })) return e;
    if (e.isVariable()) return replacements_.at(e);
    if (!e.isLambda() || !captures(e.parameter())) return parts(e);
    const Expr renamed = Expr::variable(e.parameter().name(), e.parameter().type());
    return Expr::lambda(renamed, (*this)(substitute(e.body(), e.parameter(), renamed)));
  }

 private:
  bool captures(Expr parameter) const {
    return std::ranges::any_of(replacements_, [&](const auto& r) { return r.second.hasFree(parameter); });
  }

  const std::unordered_map<Expr, Expr>& replacements_;
};

class TypeMapping : public detail::Rebuilding<TypeMapping> {
 public:
  TypeMapping(const std::function<Nat(Nat)>& onNat, const std::function<Type(Type)>& onVariable,
              const std::function<void(Expr, Expr)>& onPrimitive)
      : onNat_(onNat), onVariable_(onVariable), onPrimitive_(onPrimitive) {}

  Expr rebuilt(Expr e) {
    switch (e.form()) {
      case Expr::Form::variable: {
        const Type t = map(e.type());
        return t == e.type() ? e : Expr::variable(e.name(), t);
      }
      case Expr::Form::lambda: {
        const Expr parameter = (*this)(e.parameter());
        return Expr::lambda(parameter, (*this)(e.body()));
      }
      case Expr::Form::apply:
      case Expr::Form::literal: return parts(e);
      case Expr::Form::natLiteral: return Expr::nat(onNat_(e.natValue()));
      case Expr::Form::primitive: {
        std::vector<Nat> nats;
        for (const Nat n : e.nats()) nats.push_back(onNat_(n));
        const Expr p = Expr::primitive(e.prim(), std::move(nats), map(e.type()), e.node()->detail, e.place());
        if (onPrimitive_) onPrimitive_(e, p);
        return p;
      }
    }
    throw InternalError("unknown form of term");
  }

 private:
  Type map(Type t) { return t.substitute(onNat_, onVariable_); }

  const std::function<Nat(Nat)>& onNat_;
  const std::function<Type(Type)>& onVariable_;
  const std::function<void(Expr, Expr)>& onPrimitive_;
};

class EtaLong : public detail::Rebuilding<EtaLong> {
 public:
  Expr rebuilt(Expr e) {
    if (e.node()->isEtaLong) return e;
    if (!e.isApply()) return parts(e);
    Spine spine = spineOf(e);
    if (spine.head.isLambda()) {
      Expr reduced = substitute(spine.head.body(), spine.head.parameter(), spine.arguments[0]);
      for (std::size_t i = 1; i < spine.arguments.size(); i++) reduced = Expr::apply(reduced, spine.arguments[i]);
      return (*this)(reduced);
    }
    for (Expr& a : spine.arguments) a = a.type().isFunction() ? expand(a) : (*this)(a);
    if (spine.isPrim(Prim::get))
      if (const Spine tuple = spineOf(spine.arguments[0]); tuple.isPrim(Prim::tuple))
        return tuple.arguments[static_cast<std::size_t>(*spine.head.nats()[0].constant())];
    return applyAll(spine.head, spine.arguments);
  }

 private:
  Expr expand(Expr f) {
    if (f.isLambda()) return (*this)(f);
    const Expr x = Expr::variable("x", f.type().parameter());
    return Expr::lambda(x, (*this)(Expr::apply(f, x)));
  }
};

}  // namespace

Expr substitute(Expr e, Expr variable, Expr replacement) {
  return substitute(e, std::unordered_map<Expr, Expr>{{variable, replacement}});
}

Expr substitute(Expr e, const std::unordered_map<Expr, Expr>& replacements) { return Substitution(replacements)(e); }

Expr substitute(Expr e, const std::map<NatVar, Nat>& sizes) {
  return mapTypes(
      e, [&](Nat n) { return n.substitute(sizes); }, [](Type t) { return t; });
}

Expr mapTypes(Expr e, const std::function<Nat(Nat)>& onNat, const std::function<Type(Type)>& onTypeVariable,
              const std::function<void(Expr, Expr)>& onPrimitive) {
  return TypeMapping(onNat, onTypeVariable, onPrimitive)(e);
}

Expr etaLong(Expr e) { return EtaLong()(e); }

std::string SizeCondition::str() const {
  switch (kind) {
    case Kind::divides: return fmt::format("{} | {}", left.str(), right.str());
    case Kind::lessEqual: return fmt::format("{} <= {}", left.str(), right.str());
    case Kind::equal: return fmt::format("{} = {}", left.str(), right.str());
  }
  return {};
}

std::vector<Divides> Program::facts() const {
  std::vector<Divides> out;
  for (const SizeCondition& c : conditions)
    if (c.kind == SizeCondition::Kind::divides) out.push_back({c.left, c.right});
  return out;
}

Truth holds(const SizeCondition& condition) {
  switch (condition.kind) {
    case SizeCondition::Kind::divides: return divides(condition.left, condition.right);
    case SizeCondition::Kind::lessEqual: return lessEqual(condition.left, condition.right);
    case SizeCondition::Kind::equal: return equal(condition.left, condition.right);
  }
  return Truth::unknown;
}

Program specialise(const Program& program, const std::map<NatVar, Nat>& given) {
  if (given.empty()) return program;
  // Sizes that are left may be bounded by those that are given.
  std::map<NatVar, Nat> sizes = given;
  for (const NatVar v : program.sizes)
    if (const auto upper = v.upper(); upper && !given.count(v))
      if (const Nat now = upper->substitute(sizes); now != *upper)
        sizes.emplace(v, NatVar::fresh(v.name(), v.lower(), now, v.role()));

  Program out;
  out.name = program.name;
  const auto keep = [&](const std::vector<NatVar>& from, std::vector<NatVar>& to) {
    for (const NatVar v : from) {
      if (given.count(v)) continue;
      const auto bounded = sizes.find(v);
      to.push_back(bounded == sizes.end() ? v : *bounded->second.variable());
    }
  };
  keep(program.sizes, out.sizes);
  keep(program.tunables, out.tunables);

  std::vector<Diagnostic> errors;
  const auto refuse = [&](const SizeCondition& c, const std::string& now) {
    errors.push_back({Severity::error,
                      {},
                      fmt::format("{} does not hold at the given sizes: {}", c.str(), now),
                      "it is required by " + c.origin,
                      {}});
  };
  for (const SizeCondition& c : program.conditions) {
    try {
      const SizeCondition now{c.kind, c.left.substitute(sizes), c.right.substitute(sizes), c.origin};
      const Truth truth = holds(now);
      if (truth == Truth::refuted) refuse(c, now.str());
      if (truth == Truth::unknown) out.conditions.push_back(now);
    } catch (const UserError& e) {  // a divisor is zero
      refuse(c, e.diagnostics().front().message);
    }
  }
  if (!errors.empty()) throw UserError(ExitStatus::program, std::move(errors));

  // One substitution over a lambda of all parameters keeps variables and their uses together.
  Expr closed = program.body;
  for (auto p = program.parameters.rbegin(); p != program.parameters.rend(); ++p) closed = Expr::lambda(*p, closed);
  try {
    closed = mapTypes(
        closed, [&](Nat n) { return n.substitute(sizes); }, [](Type t) { return t; },
        [&](Expr before, Expr after) {
          if (const auto found = program.spans.find(before); found != program.spans.end())
            out.spans.emplace(after, found->second);
        });
  } catch (const UserError& e) {
    failAtSizes(
        program.body, program.spans, [&](Nat n) { return n.substitute(sizes); }, sizes, e);
  }
  for (std::size_t i = 0; i < program.parameters.size(); i++) {
    out.parameters.push_back(closed.parameter());
    closed = closed.body();
  }
  out.body = closed;
  checkElements(out);
  checkIndices(out);
  return out;
}

}  // namespace lift
