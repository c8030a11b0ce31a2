// Random typed terms, for instances of rules.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "lift/expr.hpp"

namespace lift::rewrite::detail {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool oneIn(std::size_t n) { return below(n) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

 private:
  std::mt19937_64 engine_;  // the same on every platform, which the library's distributions are not
};

// The same with i32 for every scalar, and a value of it converted back: floating-point numbers that are integers, with
// which sums do not depend on their order.
Type integerType(Type type);
Expr converted(Expr integers, Type type);

// What the terms may do.
enum class Flavour : std::uint8_t {
  any,
  moves,        // rearrange only
  accumulates,  // functions of (accumulator, element): add to the accumulator
  linear,       // linear functions
};

class RandomTerms {
 public:
  explicit RandomTerms(Random& random) : random_(random) {}

  // A function of that type; nothing where there is none of the flavour.
  std::optional<Expr> function(Type type, Flavour flavour);
  // A term of that type that may mention `free`.
  std::optional<Expr> term(Type type, const std::vector<Expr>& free, Flavour flavour);

 private:
  using Scope = std::vector<Expr>;  // no tuples: their components instead

  std::optional<Expr> draw(Type type, const Scope& scope, int depth);
  std::optional<Expr> scalar(Scalar type, const Scope& scope, int depth);
  std::optional<Expr> vector(Type type, const Scope& scope, int depth);
  std::optional<Expr> array(Type type, const Scope& scope, int depth);
  std::optional<Expr> accumulate(Expr accumulator, const Scope& scope);
  std::optional<Expr> linear(Type type, Expr of);
  std::optional<Expr> lambda(Expr parameter, const Scope& scope, int depth, Type result);
  std::optional<Expr> scalarOf(Expr e, Scalar type);
  Expr operation(Expr a, Expr b);
  static void addTo(Scope& scope, Expr e);

  Random& random_;
  bool computes_ = true;
};

}  // namespace lift::rewrite::detail
