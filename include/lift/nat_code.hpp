// Integers as straight-line code, for what is evaluated again and again: searches of spaces, emulators, counters.
//
//   const NatCode code(n, [&](NatVar v) { return placeOf(v); });
//   code.evaluate<std::optional<std::int64_t>>(
//       [&](const NatCode::Leaf& l) { return l.isConstant ? l.value : values[l.place()]; }, checked);
//
// What is computed with, numbers or ranges of numbers, and what overflow and division by zero mean, says the caller.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "lift/nat.hpp"

namespace lift {

// An interval of integers; the extreme values of the type stand for "no bound". May be empty (lower > upper) when a
// loop never runs: then every statement about its index is true.
struct Range {
  static constexpr std::int64_t minusInfinity = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t plusInfinity = std::numeric_limits<std::int64_t>::max();

  std::int64_t lower = minusInfinity;
  std::int64_t upper = plusInfinity;

  bool bounded() const { return lower != minusInfinity && upper != plusInfinity; }
};
Range operator+(Range a, Range b);
Range operator*(Range a, Range b);

// The operation of a kind, which is neither constant nor variable, on two operands.
Nat combine(Nat::Kind kind, Nat a, Nat b);
// Holds every value that operands of these ranges lead to.
Range combine(Nat::Kind kind, Range a, Range b);
// Nothing where an operand is nothing, for a division by zero, and beyond 64 bits.
std::optional<std::int64_t> combine(Nat::Kind kind, std::optional<std::int64_t> a, std::optional<std::int64_t> b);

class NatCode {
 public:
  struct Leaf {
    bool isConstant = true;
    std::int64_t value = 0;  // of a constant; place of a variable
    std::size_t place() const { return static_cast<std::size_t>(value); }
  };

  // `placeOf` numbers the variables.
  NatCode(Nat value, const std::function<std::size_t(NatVar)>& placeOf);

  // valueOf(const Leaf&) and apply(Nat::Kind, T, T) give values; operations of several operands are applied pairwise.
  template <class T, class ValueOf, class Apply>
  T evaluate(const ValueOf& valueOf, const Apply& apply) const {
    std::array<T, usualDepth> few;  // NOLINT: every element is written before it is read
    std::vector<T> many(deepest_ > usualDepth ? deepest_ : 0);
    T* const stack = many.empty() ? few.data() : many.data();
    std::size_t top = 0;
    for (const Step& s : steps_) {
      if (s.isLeaf()) {
        stack[top++] = valueOf(Leaf{s.kind == Nat::Kind::constant, s.value});
      } else {
        stack[top - 2] = apply(s.kind, stack[top - 2], stack[top - 1]);
        --top;
      }
    }
    return stack[0];
  }

 private:
  static constexpr std::size_t usualDepth = 16;
  struct Step {
    Nat::Kind kind = Nat::Kind::constant;
    std::int64_t value = 0;  // as a leaf's
    bool isLeaf() const { return kind == Nat::Kind::constant || kind == Nat::Kind::variable; }
  };
  void append(Nat value, const std::function<std::size_t(NatVar)>& placeOf);

  std::vector<Step> steps_;  // in postfix order
  std::size_t depth_ = 0, deepest_ = 0;
};

}  // namespace lift
