#include "random_terms.hpp"

#include "terms.hpp"

namespace lift::rewrite::detail {
namespace {

constexpr int deepest = 2;  // of the terms that are drawn, below the root

const std::vector<Op> ofTruths = {Op::logicalAnd, Op::logicalOr};

bool isOfTruths(Type type) { return lift::scalarOf(type) == Scalar::boolean; }

}  // namespace

Type integerType(Type type) {
  switch (type.kind()) {
    case Type::Kind::array: return Type::array(type.length(), integerType(type.element()));
    case Type::Kind::vector: return Type::vector(type.length(), integerType(type.element()));
    case Type::Kind::tuple: {
      std::vector<Type> components;
      for (const Type c : type.components()) components.push_back(integerType(c));
      return Type::tuple(components);
    }
    default: return Type::scalar(Scalar::i32);
  }
}

Expr converted(Expr integers, Type type) {
  if (integers.type() == type) return integers;
  if (type.isArray()) return build::map("x", integers, [&](Expr x) { return converted(x, type.element()); });
  if (type.isTuple()) {
    std::vector<Expr> components;
    for (std::size_t i = 0; i < type.components().size(); i++)
      components.push_back(converted(component(integers, i), type.components()[i]));
    return build::tuple(components);
  }
  return build::convert(integers, lift::scalarOf(type));
}

void RandomTerms::addTo(Scope& scope, Expr e) {
  if (!e.type().isTuple()) return scope.push_back(e);
  for (std::size_t i = 0; i < e.type().components().size(); i++) addTo(scope, component(e, i));
}

std::optional<Expr> RandomTerms::function(Type type, Flavour flavour) {
  computes_ = flavour != Flavour::moves;
  const Expr parameter = Expr::variable("p", type.parameter());
  Scope scope;
  if (flavour == Flavour::linear) {
    const auto body = linear(type.result(), parameter);
    return body ? std::optional(Expr::lambda(parameter, *body)) : std::nullopt;
  }
  if (flavour != Flavour::accumulates) {
    addTo(scope, parameter);
    return lambda(parameter, scope, deepest, type.result());
  }
  if (!type.parameter().isTuple() || component(parameter, 0).type() != type.result()) return std::nullopt;
  for (std::size_t i = 1; i < type.parameter().components().size(); i++) addTo(scope, component(parameter, i));
  const auto body = accumulate(component(parameter, 0), scope);
  return body ? std::optional(Expr::lambda(parameter, *body)) : std::nullopt;
}

std::optional<Expr> RandomTerms::term(Type type, const std::vector<Expr>& free, Flavour flavour) {
  computes_ = flavour != Flavour::moves;
  Scope scope;
  for (const Expr e : free) addTo(scope, e);
  return draw(type, scope, deepest);
}

std::optional<Expr> RandomTerms::lambda(Expr parameter, const Scope& scope, int depth, Type result) {
  const auto body = draw(result, scope, depth);
  return body ? std::optional(Expr::lambda(parameter, *body)) : std::nullopt;
}

std::optional<Expr> RandomTerms::draw(Type type, const Scope& scope, int depth) {
  switch (type.kind()) {
    case Type::Kind::scalar: return scalar(type.scalar(), scope, depth);
    case Type::Kind::vector: return vector(type, scope, depth);
    case Type::Kind::array: return array(type, scope, depth);
    case Type::Kind::tuple: {
      const auto parts = ofAll(type.components(), [&](Type c) { return draw(c, scope, depth); });
      return parts ? std::optional(build::tuple(*parts)) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

Expr RandomTerms::operation(Expr a, Expr b) {
  static const std::vector<Op> ofNumbers = {Op::add, Op::sub, Op::mul, Op::min, Op::max};
  return build::operation(random_.pick(isOfTruths(a.type()) ? ofTruths : ofNumbers), {a, b});
}

// Some scalar in a value of the scope.
std::optional<Expr> RandomTerms::scalarOf(Expr e, Scalar type) {
  while (e.type().isArray() || e.type().isTuple()) {
    if (e.type().isTuple()) {
      e = component(e, random_.below(e.type().components().size()));
      continue;
    }
    if (!computes_) return std::nullopt;
    const auto length = static_cast<std::size_t>(*e.type().length().constant());
    e = build::call(Prim::at, {build::integer(static_cast<std::int64_t>(random_.below(length))), e});
  }
  if (!e.type().isScalar()) return std::nullopt;
  if (e.type().scalar() == type) return e;
  if (!computes_) return std::nullopt;
  return build::convert(e, type);
}

std::optional<Expr> RandomTerms::scalar(Scalar type, const Scope& scope, int depth) {
  if (computes_ && depth > 0 && !random_.oneIn(3)) {
    const bool compares = type == Scalar::boolean && !random_.oneIn(3);
    const Scalar of = compares ? Scalar::i32 : type;
    const auto a = scalar(of, scope, depth - 1), b = scalar(of, scope, depth - 1);
    return compares ? build::operation(Op::lt, {*a, *b}) : operation(*a, *b);
  }
  if (!scope.empty() && !random_.oneIn(6))
    if (const auto found = scalarOf(random_.pick(scope), type)) return found;
  return Expr::literal(ScalarValue::ofInteger(type, static_cast<std::int64_t>(random_.below(7)) - 3));
}

std::optional<Expr> RandomTerms::vector(Type type, const Scope& scope, int depth) {
  if (computes_ && depth > 0 && random_.oneIn(2)) {
    const auto a = vector(type, scope, depth - 1), b = vector(type, scope, depth - 1);
    return a && b ? std::optional(operation(*a, *b)) : std::nullopt;
  }
  Scope same;
  for (const Expr e : scope)
    if (e.type() == type) same.push_back(e);
  if (!same.empty() && !random_.oneIn(6)) return random_.pick(same);
  if (!computes_) return std::nullopt;
  const auto value = scalar(type.element().scalar(), scope, 0);
  return build::splat(type.length(), *value);
}

std::optional<Expr> RandomTerms::array(Type type, const Scope& scope, int depth) {
  Scope arrays;
  for (const Expr e : scope)
    if (e.type().isArray() && e.type().length() == type.length()) arrays.push_back(e);
  if (!arrays.empty() && !random_.oneIn(5)) {
    const Expr in = random_.pick(arrays);
    if (in.type() == type && random_.oneIn(2)) return in;
    if (in.type() == type && random_.oneIn(3))
      return build::call(Prim::reorder, {}, {in}, static_cast<std::uint8_t>(IndexFn::reverse));
    const Expr x = Expr::variable("x", in.type().element());
    Scope inner = scope;
    addTo(inner, x);
    addTo(inner, x);  // twice as likely as the others
    if (const auto f = lambda(x, inner, depth - 1, type.element())) return build::map(*f, in);
  }
  const Expr i = Expr::variable("i", Type::scalar(Scalar::i32));
  Scope inner = scope;
  inner.push_back(i);
  const auto f = lambda(i, inner, depth - 1, type.element());
  return f ? std::optional(build::call(Prim::generate, {type.length()}, {*f})) : std::nullopt;
}

std::optional<Expr> RandomTerms::accumulate(Expr accumulator, const Scope& scope) {
  static const std::vector<Op> ofNumbers = {Op::add, Op::mul, Op::min, Op::max};
  const Type type = accumulator.type();
  if (type.isTuple()) return std::nullopt;
  const auto element = draw(type, scope, 1);
  if (!element) return std::nullopt;
  if (!type.isArray()) {
    const Op op = random_.pick(isOfTruths(type) ? ofTruths : ofNumbers);
    return random_.oneIn(2) ? build::operation(op, {accumulator, *element})
                            : build::operation(op, {*element, accumulator});
  }
  const Expr both = Expr::variable("p", Type::tuple({type.element(), type.element()}));
  const auto body = accumulate(component(both, 0), {component(both, 1)});
  if (!body) return std::nullopt;
  const Expr zipped = build::zip({accumulator, *element});
  return build::map(Expr::lambda(both, *body), zipped);
}

// Sums of multiples of scalars of an array, or of a scalar.
std::optional<Expr> RandomTerms::linear(Type type, Expr of) {
  if (type.isArray()) {
    std::vector<Expr> elements;
    for (std::int64_t i = 0; i < *type.length().constant(); i++) {
      const auto element = linear(type.element(), of);
      if (!element) return std::nullopt;
      elements.push_back(*element);
    }
    return build::call(Prim::arrayOf, elements);
  }
  if (!type.isScalar() || isOfTruths(type)) return std::nullopt;
  const auto term = [&]() -> std::optional<Expr> {
    const auto x = scalarOf(of, type.scalar());
    if (!x) return std::nullopt;
    const Expr factor =
        Expr::literal(ScalarValue::ofInteger(type.scalar(), static_cast<std::int64_t>(random_.below(7)) - 3));
    return build::operation(Op::mul, {factor, *x});
  };
  const auto a = term(), b = term();
  if (!a || !b) return std::nullopt;
  return build::operation(random_.oneIn(2) ? Op::add : Op::sub, {*a, *b});
}

}  // namespace lift::rewrite::detail
