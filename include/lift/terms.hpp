// Questions about terms that code generation and the inference of constraints share.
#pragma once

#include <functional>

#include "lift/expr.hpp"
#include "lift/primitive.hpp"

namespace lift {

// Layouts through which a result can be written: each has a layout that undoes it on the destination.
bool isInvertibleLayout(Prim prim);
// What is written by writing its arguments to parts of the destination: these layouts, and what puts arrays together.
bool isWrittenThrough(Prim prim);
// body, as a function of `parameter`, is a chain of invertible layouts (also under map).
bool isInvertibleIn(Expr body, Expr parameter);
// Evaluating the term (all of it) only moves data; variables and literals count.
bool onlyMovesData(Expr e);
bool anyPrimitive(Expr e, const std::function<bool(Expr primitive)>& test);

}  // namespace lift
