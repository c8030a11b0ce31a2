#include "scheme.hpp"

#include <array>
#include <memory>
#include <mutex>

#include "lift/diagnostic.hpp"
#include "lift/listed.hpp"

namespace lift::detail {

const SynScheme& schemeOf(Prim prim) {
  static std::array<std::unique_ptr<const SynScheme>, primCount> cache;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto& slot = cache[static_cast<std::size_t>(prim)];
  if (!slot) {
    const PrimInfo& row = info(prim);
    slot = std::make_unique<SynScheme>(
        parseScheme(*addSource("<scheme of " + std::string(row.name) + ">", std::string(row.scheme))));
  }
  return *slot;
}

Nat natOfSyntax(const Syn& syn, const std::function<Nat(const Syn&)>& leaf) {
  if (const auto* integer = as<Syn::Integer>(syn); integer && !integer->type) return integer->value;
  if (const auto* size = as<Syn::Size>(syn)) return size->value;
  const auto* call = as<Syn::Call>(syn);
  if (!call) return leaf(syn);
  const auto* name = as<Syn::Name>(call->function);
  const auto op = name ? opNamed(name->text) : std::nullopt;
  if (!op) return leaf(syn);
  std::vector<Nat> operands;
  for (const auto& a : call->arguments) operands.push_back(natOfSyntax(*a.value, leaf));
  if (operands.size() == 1 && *op == Op::neg) return -operands[0];
  if (operands.size() == 2) switch (*op) {
      case Op::add: return operands[0] + operands[1];
      case Op::sub: return operands[0] - operands[1];
      case Op::mul: return operands[0] * operands[1];
      case Op::div: return floorDiv(operands[0], operands[1]);
      case Op::mod: return mod(operands[0], operands[1]);
      case Op::min: return min(operands[0], operands[1]);
      case Op::max: return max(operands[0], operands[1]);
      default: break;
    }
  return leaf(syn);
}

Instance::Instance(Prim prim, Solver& solver, const std::map<std::string, Nat>& given, Span origin)
    : result(Type::scalar(Scalar::i32)), solver_(solver), origin_(origin) {
  const SynScheme& scheme = schemeOf(prim);
  names_.sizes = given;
  for (const auto& p : scheme.parameters) {
    if (is<SynType::Nat>(p.type) || is<SynType::Index>(p.type)) continue;
    parameters.push_back(typeOf(*p.type));
  }
  result = typeOf(*scheme.result);
  for (const auto& c : scheme.conditions) conditions.push_back({c.kind, natOf(*c.left), natOf(*c.right)});
}

Type Instance::functionType() const { return Type::function(parameters, result); }

Nat Instance::natOf(const Syn& size) {
  return natOfSyntax(size, [this](const Syn& leaf) {
    const auto* name = as<Syn::Name>(leaf);
    ensure(name != nullptr, "a scheme's size is built from names and operators");
    auto found = names_.sizes.find(name->text);
    if (found == names_.sizes.end()) found = names_.sizes.emplace(name->text, solver_.freshNat(name->text)).first;
    return found->second;
  });
}

Type Instance::typeOf(const SynType& type) {
  if (const auto* t = as<SynType::ScalarName>(type)) return Type::scalar(t->scalar);
  if (const auto* t = as<SynType::Array>(type)) {
    const Nat length = natOf(*t->length);
    return Type::array(length, typeOf(*t->element));
  }
  if (const auto* t = as<SynType::Vector>(type)) {
    const Type element = typeOf(*t->element);
    solver_.require(element, TypeClass::scalar, origin_);
    return Type::vector(natOf(*t->width), element);
  }
  if (const auto* t = as<SynType::Tuple>(type)) {
    std::vector<Type> parts;
    for (const auto& c : t->components) parts.push_back(typeOf(*c));
    return Type::tuple(std::move(parts));
  }
  if (const auto* t = as<SynType::Function>(type)) {
    const Type parameter = typeOf(*t->parameter);
    return Type::function(parameter, typeOf(*t->result));
  }
  const auto* name = as<SynType::Name>(type);
  ensure(name != nullptr, "a scheme's type is built from types and names");
  auto found = names_.types.find(name->text);
  if (found == names_.types.end()) found = names_.types.emplace(name->text, solver_.freshType(name->text)).first;
  return found->second;
}

std::map<std::string, Nat> sizeArguments(Prim prim, const std::vector<Nat>& nats) {
  std::map<std::string, Nat> sizes;
  for (const auto& p : schemeOf(prim).parameters)
    if (is<SynType::Nat>(p.type)) {
      ensure(sizes.size() < nats.size(), "a primitive lacks a size");
      sizes.emplace(p.name, nats[sizes.size()]);
    }
  return sizes;
}

std::vector<Instance::Condition> indexConditions(IndexFn fn, const std::vector<Nat>& nats, Nat n) {
  switch (fn) {
    case IndexFn::stride:
    case IndexFn::unstride: return {{SizeCondition::Kind::divides, nats[0], n}};
    case IndexFn::transpose: return {{SizeCondition::Kind::equal, nats[0] * nats[1], n}};
    case IndexFn::reverse:
    case IndexFn::shift: return {};
  }
  return {};
}

}  // namespace lift::detail

namespace lift {
namespace {

// The array that a primitive works on: its last parameter.
Type lastParameter(Type type) {
  while (type.result().isFunction()) type = type.result();
  return type.parameter();
}

std::string applied(Expr primitive) {
  std::string sizes = listed(primitive.nats(), &Nat::str);
  if (primitive.prim() == Prim::reorder) {
    const std::string fn(info(primitive.indexFn()).name);
    sizes = sizes.empty() ? fn : fn + "(" + sizes + ")";
  }
  return std::string(info(primitive.prim()).name) + (sizes.empty() ? "" : "(" + sizes + ")");
}

}  // namespace

std::vector<SizeCondition> conditionsOf(Expr primitive) {
  const Prim prim = primitive.prim();
  std::vector<SizeCondition> conditions;
  if (detail::schemeOf(prim).conditions.empty() && prim != Prim::reorder) return conditions;
  const Type array = lastParameter(primitive.type());
  const std::string origin = applied(primitive) + " of " + array.str();
  detail::Solver solver;
  const detail::Instance instance(prim, solver, detail::sizeArguments(prim, primitive.nats()), {});
  solver.unify(instance.functionType(), primitive.type(), {});
  for (const auto& c : instance.conditions)
    conditions.push_back({c.kind, solver.zonk(c.left), solver.zonk(c.right), origin});
  if (prim == Prim::reorder)
    for (const auto& c : detail::indexConditions(primitive.indexFn(), primitive.nats(), array.length()))
      conditions.push_back({c.kind, c.left, c.right, origin});
  return conditions;
}

}  // namespace lift
