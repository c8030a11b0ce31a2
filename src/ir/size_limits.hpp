// Sizes of programs that 64 bits do not hold.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>

#include "lift/diagnostic.hpp"
#include "lift/expr.hpp"

namespace lift {

// Throws UserError (program) for an array that has more elements than 64 bits count.
void checkElements(const Program& program);

// Throws the error of arithmetic, which knows no places, again: where it is that a size cannot be computed as `now`
// does it, and at which of these values, if there are any. The spans are those of the body's primitives.
[[noreturn]] void failAtSizes(Expr body, const std::unordered_map<Expr, Span>& spans,
                              const std::function<Nat(Nat)>& now, const std::map<NatVar, Nat>& values,
                              const UserError& e);

}  // namespace lift
