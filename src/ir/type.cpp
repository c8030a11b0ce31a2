#include "lift/type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>

#include "lift/diagnostic.hpp"
#include "lift/interning.hpp"

namespace lift {
namespace detail {

struct TypeNode {
  Type::Kind kind;
  Scalar scalar = Scalar::f32;  // scalar
  Nat length;                   // vector, array
  std::vector<Type> parts;      // vector, array: element; tuple: components; function: parameter, result
  std::uint64_t variable = 0;   // variable
  std::string name;             // variable, for printing only
  bool metas = false;
};

bool same(const TypeNode& a, const TypeNode& b) {
  return a.kind == b.kind && a.scalar == b.scalar && a.length == b.length && a.parts == b.parts &&
         a.variable == b.variable;
}

namespace {

bool hasMetaVariable(Nat n) {
  if (n.constant()) return false;
  for (const NatVar v : n.variables())
    if (v.role() == NatVar::Role::meta) return true;
  return false;
}

const TypeNode* intern(TypeNode node) {
  static auto& table = *new InternTable<TypeNode, std::deque<TypeNode>>;
  std::uint64_t h = mix(static_cast<std::uint64_t>(node.kind), static_cast<std::uint64_t>(node.scalar));
  h = mix(mix(h, node.length.hash()), node.variable);
  node.metas = node.kind == Type::Kind::variable || hasMetaVariable(node.length);
  for (const Type t : node.parts) {
    h = mix(h, std::hash<Type>()(t));
    node.metas = node.metas || t.hasMetas();
  }
  return table.intern(
      h, [&](const TypeNode& other) { return same(node, other); },
      [&](std::deque<TypeNode>& nodes) { return &nodes.emplace_back(std::move(node)); });
}

}  // namespace
}  // namespace detail

using detail::TypeNode;

Type Type::scalar(Scalar s) {
  TypeNode n{Kind::scalar, s, {}, {}, 0, {}, false};
  return Type(detail::intern(std::move(n)));
}
Type Type::vector(Nat width, Type element) {
  return Type(detail::intern({Kind::vector, Scalar::f32, width, {element}, 0, {}, false}));
}
Type Type::array(Nat length, Type element) {
  return Type(detail::intern({Kind::array, Scalar::f32, length, {element}, 0, {}, false}));
}
Type Type::tuple(std::vector<Type> components) {
  return Type(detail::intern({Kind::tuple, Scalar::f32, {}, std::move(components), 0, {}, false}));
}
Type Type::function(Type parameter, Type result) {
  return Type(detail::intern({Kind::function, Scalar::f32, {}, {parameter, result}, 0, {}, false}));
}
Type Type::function(const std::vector<Type>& parameters, Type result) {
  for (auto p = parameters.rbegin(); p != parameters.rend(); ++p) result = function(*p, result);
  return result;
}
Type Type::variable(std::uint64_t id, std::string name) {
  return Type(detail::intern({Kind::variable, Scalar::f32, {}, {}, id, std::move(name), true}));
}
Type Type::freshVariable(std::string name) {
  static std::atomic<std::uint64_t> next{1};
  return variable(next++, std::move(name));
}

Type::Kind Type::kind() const { return node_->kind; }
Scalar Type::scalar() const {
  ensure(isScalar(), "scalar() of a type that is not scalar");
  return node_->scalar;
}
Nat Type::length() const {
  ensure(hasLength(), "length() of a type that has none");
  return node_->length;
}
Type Type::element() const {
  ensure(hasLength(), "element() of a type that has none");
  return node_->parts[0];
}
const std::vector<Type>& Type::components() const {
  ensure(isTuple(), "components() of a type that is not a tuple");
  return node_->parts;
}
Type Type::parameter() const {
  ensure(isFunction(), "parameter() of a type that is not a function");
  return node_->parts[0];
}
Type Type::result() const {
  ensure(isFunction(), "result() of a type that is not a function");
  return node_->parts[1];
}
const std::vector<Type>& Type::parts() const { return node_->parts; }
std::uint64_t Type::variableId() const { return node_->variable; }
bool Type::hasMetas() const { return node_->metas; }

bool Type::isRegister() const {
  switch (kind()) {
    case Kind::scalar:
    case Kind::vector: return true;
    case Kind::tuple: return std::ranges::all_of(parts(), &Type::isRegister);
    default: return false;
  }
}

Type Type::substitute(const std::map<NatVar, Nat>& sizes) const {
  if (sizes.empty()) return *this;
  return substitute([&](Nat n) { return n.substitute(sizes); }, [](Type t) { return t; });
}

Type Type::substitute(const std::function<Nat(Nat)>& onNat, const std::function<Type(Type)>& onVariable) const {
  if (isVariable()) return onVariable(*this);
  TypeNode copy = *node_;
  if (hasLength()) copy.length = onNat(length());
  for (Type& t : copy.parts) t = t.substitute(onNat, onVariable);
  return Type(detail::intern(std::move(copy)));
}

void Type::forEachNat(const std::function<void(Nat)>& visit) const {
  if (hasLength()) visit(length());
  for (const Type t : parts()) t.forEachNat(visit);
}

std::string Type::str() const {
  switch (kind()) {
    case Kind::scalar: return std::string(info(node_->scalar).name);
    case Kind::variable: return node_->name;
    case Kind::vector:
      if (element().isScalar() && length().constant())
        return fmt::format("{}x{}", element().str(), *length().constant());
      return fmt::format("<{}>{}", length().str(), element().str());
    case Kind::array: {
      const std::string inner = element().isFunction() ? "(" + element().str() + ")" : element().str();
      return fmt::format("[{}]{}", length().str(), inner);
    }
    case Kind::tuple: {
      std::string s = "(";
      for (std::size_t i = 0; i < components().size(); i++) s += (i ? ", " : "") + components()[i].str();
      return s + ")";
    }
    case Kind::function: {
      const std::string from = parameter().isFunction() ? "(" + parameter().str() + ")" : parameter().str();
      return from + " -> " + result().str();
    }
  }
  throw InternalError("unknown kind of type");
}

Scalar scalarOf(Type type) { return type.isScalar() ? type.scalar() : type.element().scalar(); }

std::vector<Nat> shapeOf(Type type) {
  std::vector<Nat> shape;
  for (; type.isArray(); type = type.element()) shape.push_back(type.length());
  return shape;
}

Type baseOf(Type type) {
  while (type.isArray()) type = type.element();
  return type;
}

bool holdsArrays(Type type) {
  return type.isTuple() ? std::ranges::any_of(type.components(), holdsArrays) : type.isArray();
}

namespace {
void collectLeaves(Type type, const std::string& path, std::vector<Nat> shape, std::vector<Leaf>& out) {
  for (; type.isArray(); type = type.element()) shape.push_back(type.length());
  if (type.isTuple()) {
    for (std::size_t i = 0; i < type.components().size(); i++)
      collectLeaves(type.components()[i], path + "." + std::to_string(i), shape, out);
    return;
  }
  if (type.isVector()) shape.push_back(type.length());
  out.push_back({path, scalarOf(type), std::move(shape)});
}
}  // namespace

Nat elementCount(const std::vector<Nat>& shape) {
  Nat count = 1;
  for (const Nat n : shape) count = count * n;
  return count;
}

std::vector<Leaf> leavesOf(Type type) {
  std::vector<Leaf> out;
  collectLeaves(type, "", {}, out);
  return out;
}

}  // namespace lift
