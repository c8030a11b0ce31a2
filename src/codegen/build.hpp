// Terms built from their parts, with the instance of the primitive's type worked out.
#pragma once

#include <vector>

#include "lift/expr.hpp"

namespace lift::detail {

// A primitive applied to all its arguments.
Expr call(Prim prim, std::vector<Nat> nats, const std::vector<Expr>& arguments, Type result, std::uint8_t detail = 0);

Expr mapOver(Prim prim, std::vector<Nat> nats, Expr f, Expr in);
Expr reduceOver(Prim prim, Expr init, Expr f, Expr in);
Expr toGlobal(Expr e);
Expr bind(Expr variable, Expr value, Expr body);  // let variable = value in body
Expr tuple(const std::vector<Expr>& parts);
Expr get(Expr tuple, int component);
Expr zip(const std::vector<Expr>& arrays);
Expr split(Nat size, Expr in);
Expr take(Nat count, Expr in);
Expr drop(Nat count, Expr in);
Expr operation(Op op, const std::vector<Expr>& operands, Type result);
Expr splat(Nat width, Expr scalar);
// Every element copied by a work-item of its own.
Expr copied(Expr e);
// 0, 1, … n - 1
Expr indices(Nat count);
bool isIndices(Expr e);
// n times the value
Expr fill(Nat count, Expr value);

}  // namespace lift::detail
