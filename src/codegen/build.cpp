#include "build.hpp"

#include <algorithm>

namespace lift::detail {

Expr call(Prim prim, std::vector<Nat> nats, const std::vector<Expr>& arguments, Type result, std::uint8_t detail) {
  Type type = result;
  for (auto a = arguments.rbegin(); a != arguments.rend(); ++a) type = Type::function(a->type(), type);
  return applyAll(Expr::primitive(prim, std::move(nats), type, detail), arguments);
}

Expr mapOver(Prim prim, std::vector<Nat> nats, Expr f, Expr in) {
  return call(prim, std::move(nats), {f, in}, Type::array(in.type().length(), f.type().result()));
}

Expr reduceOver(Prim prim, Expr init, Expr f, Expr in) { return call(prim, {}, {init, f, in}, init.type()); }

Expr toGlobal(Expr e) { return call(Prim::toGlobal, {}, {e}, e.type()); }

Expr bind(Expr variable, Expr value, Expr body) {
  return call(Prim::let, {}, {Expr::lambda(variable, body), value}, body.type());
}

Expr tuple(const std::vector<Expr>& parts) {
  std::vector<Type> types;
  for (const Expr p : parts) types.push_back(p.type());
  return call(Prim::tuple, {}, parts, Type::tuple(types));
}

Expr get(Expr tuple, int component) {
  return call(Prim::get, {Nat(component)}, {tuple}, tuple.type().components()[static_cast<std::size_t>(component)]);
}

Expr zip(const std::vector<Expr>& arrays) {
  std::vector<Type> elements;
  for (const Expr a : arrays) elements.push_back(a.type().element());
  return call(Prim::zip, {}, arrays, Type::array(arrays[0].type().length(), Type::tuple(elements)));
}

Expr split(Nat size, Expr in) {
  return call(Prim::split, {size}, {in},
              Type::array(in.type().length() / size, Type::array(size, in.type().element())));
}

Expr take(Nat count, Expr in) { return call(Prim::take, {count}, {in}, Type::array(count, in.type().element())); }

Expr drop(Nat count, Expr in) {
  return call(Prim::drop, {count}, {in}, Type::array(in.type().length() - count, in.type().element()));
}

Expr operation(Op op, const std::vector<Expr>& operands, Type result) {
  return call(Prim::op, {}, operands, result, static_cast<std::uint8_t>(op));
}

Expr splat(Nat width, Expr scalar) { return call(Prim::splat, {width}, {scalar}, Type::vector(width, scalar.type())); }

namespace {

Expr copied(Expr e, int dimension) {
  const Expr x = Expr::variable("x", e.type().element());
  return mapOver(Prim::mapGlb, {Nat(dimension)}, Expr::lambda(x, dimension > 0 ? copied(x, dimension - 1) : x), e);
}

}  // namespace

Expr copied(Expr e) {
  if (e.type().is(Type::Kind::tuple)) {
    std::vector<Expr> parts;
    const bool written = spineOf(e).isPrim(Prim::tuple);
    for (int i = 0; i < static_cast<int>(e.type().components().size()); i++)
      parts.push_back(copied(written ? spineOf(e).arguments[static_cast<std::size_t>(i)] : get(e, i)));
    return tuple(parts);
  }
  const int depth = std::min<int>(3, static_cast<int>(shapeOf(e.type()).size()));
  return depth == 0 ? e : copied(e, depth - 1);
}

Expr indices(Nat count) {
  const Expr i = Expr::variable("i", Type::scalar(Scalar::i32));
  return call(Prim::generate, {count}, {Expr::lambda(i, i)}, Type::array(count, i.type()));
}

bool isIndices(Expr e) {
  const Spine s = spineOf(e);
  return s.isPrim(Prim::generate) && s.arguments[0].body() == s.arguments[0].parameter();
}

Expr fill(Nat count, Expr value) {
  const Expr i = Expr::variable("i", Type::scalar(Scalar::i32));
  return call(Prim::generate, {count}, {Expr::lambda(i, value)}, Type::array(count, value.type()));
}

}  // namespace lift::detail
