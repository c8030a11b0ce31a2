// What the function of a reduction does to its accumulator, and so how the reduction may be divided.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lift/expr.hpp"

namespace lift::rewrite {

// A reduction whose elements may be divided into chunks, each reduced by the same function, where what the chunks leave
// is put together in their order:
//   reduce(z, f, xs ++ ys) = combine(reduce(z, f, xs), reduce(start, f, ys))
struct Accumulation {
  Expr combine;      // of a pair of results: those of earlier elements, those of later ones
  Expr start;        // where a chunk starts: what combine leaves as it is, at the side of any result
  bool commutative;  // elements may also come in another order
  bool exact;        // the result is the same bit by bit; sums and products of floating-point numbers are rounded
};

// Whether a number, computed from an element of the reduced array, is larger for every later element.
using Grows = std::function<bool(Expr number, Expr element)>;

// Whether the numbers grow that are, in the elements of `in`, the index of generate(n, id): also where arrays are
// zipped, cut into rows, or mapped by what leaves it as it is. `rows`: variables that are an element of an array of
// rows, and that array.
using Rows = std::unordered_map<Expr, Expr>;
Grows growing(Expr in, const Rows& rows);

// What is known of f from the operations that it applies to its accumulator:
//   - one associative operation of the accumulator and a value that does not depend on it (add, mul, min, max, and, or,
//     bitAnd, bitOr, bitXor; sub as the addition of the opposite), also under a condition on the element, in a
//     reduction of the element, by components of tuples and by elements of arrays;
//   - the choice between the accumulator and a candidate by a comparison of one of their components (argmin).
std::optional<Accumulation> accumulationOf(Expr init, Expr f, const Grows& grows = {});

// The operations that put two results together, of each scalar of them; nothing for another way (argmin).
std::optional<std::vector<Op>> operationsOf(const Accumulation& accumulation);

// Of a reduction by index into numbers of the type, or tuples of them: the operation that puts the updates of each
// number together, which work-items may make at once, and what these leave as it is, where an update starts; nothing
// for another way. `exact`: whatever the order.
struct AtomicUpdate {
  std::vector<Op> operations;
  Expr start;
  bool exact;
};
std::optional<AtomicUpdate> atomicUpdateOf(Type element, Expr f);

// Whether chunks of that length leave no rest.
bool dividesEvenly(Nat chunk, Nat length);

// A choice, written as `if` or select, and its arguments: condition, then, otherwise.
bool isChoice(const Spine& s);
// What an associative operation leaves as it is, where that is a number of the type.
std::optional<Expr> neutralOf(Op op, Type type);

}  // namespace lift::rewrite
