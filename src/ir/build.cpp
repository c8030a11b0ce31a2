#include "lift/build.hpp"

#include "lift/diagnostic.hpp"
#include "scheme.hpp"

namespace lift::build {
namespace {

Type lanesOf(Nat width, Type scalars) {
  if (scalars.isArray()) return Type::array(scalars.length(), lanesOf(width, scalars.element()));
  if (!scalars.isTuple()) return Type::vector(width, scalars);
  std::vector<Type> parts;
  for (const Type c : scalars.components()) parts.push_back(lanesOf(width, c));
  return Type::tuple(std::move(parts));
}

Type resultOf(Op op, const std::vector<Type>& in) {
  switch (info(op).typing) {
    case OpTyping::numeric:
    case OpTyping::floating:
    case OpTyping::integral: return in.at(0);
    case OpTyping::comparison:
    case OpTyping::logical: {
      const Type truth = Type::scalar(Scalar::boolean);
      return in.at(0).isVector() ? Type::vector(in[0].length(), truth) : truth;
    }
    case OpTyping::selection: return in.at(1);
  }
  throw InternalError("unknown typing of an operation");
}

Type byScheme(Prim prim, const std::vector<Nat>& nats, const std::vector<Type>& in) {
  detail::Solver solver;
  const detail::Instance instance(prim, solver, detail::sizeArguments(prim, nats), {});
  ensure(instance.parameters.size() == in.size(), "a primitive has all its arguments");
  for (std::size_t i = 0; i < in.size(); i++)
    ensure(solver.unify(instance.parameters[i], in[i], {}), "an argument fits the primitive's scheme");
  return solver.zonk(instance.result);
}

// Of the primitives whose schemes are but typical instances, by their rules; of the others by their schemes.
Type resultOf(Prim prim, const std::vector<Nat>& nats, const std::vector<Type>& in, std::uint8_t detail) {
  switch (prim) {
    case Prim::tuple: return Type::tuple(in);
    case Prim::get: return in.at(0).components().at(static_cast<std::size_t>(nats.at(0).constant().value()));
    case Prim::arrayOf: return Type::array(static_cast<std::int64_t>(in.size()), in.at(0));
    case Prim::zip: {
      std::vector<Type> elements;
      for (const Type t : in) elements.push_back(t.element());
      return Type::array(in.at(0).length(), Type::tuple(std::move(elements)));
    }
    case Prim::unzip: {
      std::vector<Type> arrays;
      for (const Type c : in.at(0).element().components()) arrays.push_back(Type::array(in[0].length(), c));
      return Type::tuple(std::move(arrays));
    }
    case Prim::vectorize: return lanesOf(nats.at(0), in.at(0).result());
    case Prim::op: return resultOf(static_cast<Op>(detail), in);
    case Prim::convert: {
      const Type to = Type::scalar(static_cast<Scalar>(detail));
      return in.at(0).isVector() ? Type::vector(in[0].length(), to) : to;
    }
    default: return byScheme(prim, nats, in);
  }
}

}  // namespace

Expr call(Prim prim, std::vector<Nat> nats, const std::vector<Expr>& arguments, std::uint8_t detail) {
  std::vector<Type> types;
  for (const Expr a : arguments) types.push_back(a.type());
  const Type type = Type::function(types, resultOf(prim, nats, types, detail));
  return applyAll(Expr::primitive(prim, std::move(nats), type, detail), arguments);
}

Expr operation(Op op, const std::vector<Expr>& operands) {
  return call(Prim::op, {}, operands, static_cast<std::uint8_t>(op));
}

Expr convert(Expr in, Scalar to) { return call(Prim::convert, {}, {in}, static_cast<std::uint8_t>(to)); }

Expr integer(std::int64_t value) { return Expr::literal(ScalarValue::ofInteger(Scalar::i32, value)); }

Expr let(Expr variable, Expr value, Expr body) { return call(Prim::let, {Expr::lambda(variable, body), value}); }

Expr let(const std::vector<std::pair<Expr, Expr>>& names, Expr body) {
  for (auto name = names.rbegin(); name != names.rend(); ++name) body = let(name->first, name->second, body);
  return body;
}

Expr tuple(const std::vector<Expr>& parts) { return parts.size() == 1 ? parts[0] : call(Prim::tuple, parts); }

Expr get(Expr tuple, std::size_t component) {
  return call(Prim::get, {Nat(static_cast<std::int64_t>(component))}, {tuple});
}

Expr component(Expr tuple, std::size_t i) {
  const Spine s = spineOf(tuple);
  return s.isPrim(Prim::tuple) && s.arguments.size() == tuple.type().components().size() ? s.arguments[i]
                                                                                         : get(tuple, i);
}

std::vector<Expr> components(Expr e) {
  if (!e.type().isTuple()) return {e};
  std::vector<Expr> parts;
  for (std::size_t i = 0; i < e.type().components().size(); i++) parts.push_back(component(e, i));
  return parts;
}

Expr map(Expr f, Expr in) { return call(Prim::map, {f, in}); }
Expr reduce(Expr init, Expr f, Expr in) { return call(Prim::reduce, {init, f, in}); }
Expr reduceSeq(Expr init, Expr f, Expr in) { return call(Prim::reduceSeq, {init, f, in}); }
Expr zip(const std::vector<Expr>& arrays) { return arrays.size() == 1 ? arrays[0] : call(Prim::zip, arrays); }
Expr splat(Nat width, Expr scalar) { return call(Prim::splat, {width}, {scalar}); }
Expr split(Nat size, Expr in) { return call(Prim::split, {size}, {in}); }
Expr take(Nat count, Expr in) { return call(Prim::take, {count}, {in}); }
Expr drop(Nat count, Expr in) { return call(Prim::drop, {count}, {in}); }

Expr indices(Nat count) {
  const Expr i = Expr::variable("i", Type::scalar(Scalar::i32));
  return call(Prim::generate, {count}, {Expr::lambda(i, i)});
}

bool isIndices(Expr e) {
  const Spine s = spineOf(e);
  return s.isPrim(Prim::generate) && s.arguments[0].body() == s.arguments[0].parameter();
}

Expr fill(Nat count, Expr value) {
  return call(Prim::generate, {count}, {Expr::lambda(Expr::variable("i", Type::scalar(Scalar::i32)), value)});
}

Expr zeros(Type type) {
  return type.isArray() ? fill(type.length(), zeros(type.element()))
                        : Expr::literal(ScalarValue::of(scalarOf(type), 0));
}

}  // namespace lift::build
