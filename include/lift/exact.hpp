// Arithmetic without rounding, for judging rules: the interpreter over a prime field.
//
// Two terms that are equal as real numbers but add in another order give other bits, and no tolerance tells that from a
// wrong coefficient. Over the integers modulo a prime every sum, difference, product and quotient is exact, so that
// both sides of an equation of such terms give the same element whatever their order, and the sides of a wrong one
// differ at nearly every input: an identity of polynomials of degree d that does not hold holds at random elements with
// a chance of d / p (Schwartz and Zippel). The method is Mirage's (OSDI 2025), with one prime, p = 2^61 - 1.
//
// What is no arithmetic: comparisons, min, max and abs order elements by their representative nearest to zero, which
// is the order of the numbers where they are integers; quotients by zero, functions such as exp, rounding and
// conversions of what is no small integer are unknown functions: equal operands give equal, otherwise random, results.
// Integers and truth values are computed as always.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lift/interpreter.hpp"

namespace lift {

namespace field {
inline constexpr std::int64_t prime = (std::int64_t{1} << 61) - 1;
// Elements are 0 … prime - 1.
std::int64_t ofInteger(std::int64_t value);
std::int64_t ofReal(double value);  // exactly; infinities are the ends of the order
std::int64_t add(std::int64_t a, std::int64_t b);
std::int64_t subtract(std::int64_t a, std::int64_t b);
std::int64_t multiply(std::int64_t a, std::int64_t b);
std::int64_t inverse(std::int64_t a);  // of an element that is not 0
// The fraction of small numbers that the element stands for, "3/8"; else the element itself, "#123".
std::string show(std::int64_t element);
}  // namespace field

// The arithmetic of the field: floating-point numbers have their element in ScalarValue::integer.
const Arithmetic& exactArithmetic();

// A program's value in the field; inputs as interpret() takes them, of which every number is taken exactly.
Value interpretExactly(const Program& program, const std::map<std::string, Tensor>& inputs);

// Where two such values of one type differ, in words: "element [0][3] is 4 before and 5 after"; nothing where they are
// equal. `compared` counts the scalars that were compared, if given.
std::optional<std::string> exactDifference(const Value& before, const Value& after, std::int64_t* compared = nullptr);

}  // namespace lift
