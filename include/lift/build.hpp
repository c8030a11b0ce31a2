// Terms from their parts. The types of primitives follow from their arguments by the table's schemes; arguments that do
// not fit throw InternalError.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lift/expr.hpp"

namespace lift::build {

// A primitive applied to all its arguments; `detail` as for Expr::primitive.
Expr call(Prim prim, std::vector<Nat> nats, const std::vector<Expr>& arguments, std::uint8_t detail = 0);
inline Expr call(Prim prim, const std::vector<Expr>& arguments) { return call(prim, {}, arguments); }
Expr operation(Op op, const std::vector<Expr>& operands);
Expr convert(Expr in, Scalar to);
Expr integer(std::int64_t value);  // a literal of i32

Expr let(Expr variable, Expr value, Expr body);  // let variable = value in body
// The same of several names, of which later ones may be made of earlier ones.
Expr let(const std::vector<std::pair<Expr, Expr>>& names, Expr body);
Expr tuple(const std::vector<Expr>& parts);  // of one part, itself
Expr get(Expr tuple, std::size_t component);
// get, or the component itself where the tuple is written out.
Expr component(Expr tuple, std::size_t i);
std::vector<Expr> components(Expr e);  // of what is no tuple, itself
Expr map(Expr f, Expr in);
// map(fun name => body(name), in)
template <class Body>
Expr map(const std::string& name, Expr in, Body&& body) {
  const Expr element = Expr::variable(name, in.type().element());
  return map(Expr::lambda(element, body(element)), in);
}
Expr reduce(Expr init, Expr f, Expr in);
Expr reduceSeq(Expr init, Expr f, Expr in);
Expr zip(const std::vector<Expr>& arrays);  // of one array, itself
Expr splat(Nat width, Expr scalar);
Expr split(Nat size, Expr in);
Expr take(Nat count, Expr in);
Expr drop(Nat count, Expr in);
Expr indices(Nat count);  // 0, 1, … count - 1
bool isIndices(Expr e);
Expr fill(Nat count, Expr value);  // the value so many times
Expr zeros(Type type);             // literals, of a type without tuples

}  // namespace lift::build
