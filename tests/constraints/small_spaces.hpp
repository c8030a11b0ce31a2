// Small spaces of many kinds, and what brute force says of them.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/space.hpp"

namespace small {

using lift::Config;
using lift::Constraint;
using lift::Nat;
using lift::NatVar;
using lift::SizeCondition;
using lift::Space;

inline NatVar tunable(const std::string& name, std::int64_t low, std::int64_t high) {
  return NatVar::fresh(name, low, Nat(high), NatVar::Role::tunable);
}

inline Constraint constraint(SizeCondition::Kind kind, Nat left, Nat right) {
  std::set<NatVar> variables;
  for (const Nat side : {left, right})
    for (const NatVar v : side.variables()) variables.insert(v);
  return {{kind, left, right, "a test"}, Constraint::Kind::algorithm, {variables.begin(), variables.end()}};
}
inline Constraint mustDivide(Nat left, Nat right) { return constraint(SizeCondition::Kind::divides, left, right); }
inline Constraint mustNotExceed(Nat left, Nat right) { return constraint(SizeCondition::Kind::lessEqual, left, right); }
inline Constraint mustEqual(Nat left, Nat right) { return constraint(SizeCondition::Kind::equal, left, right); }

struct Example {
  std::string name;
  std::vector<NatVar> tunables;
  std::vector<Constraint> constraints;

  Space space() const { return Space(tunables, constraints); }
};

// By Nat's own evaluation; what exceeds 64 bits does not hold.
inline bool holds(const SizeCondition& c, const std::function<std::int64_t(NatVar)>& value) try {
  const std::int64_t left = c.left.evaluate(value), right = c.right.evaluate(value);
  switch (c.kind) {
    case SizeCondition::Kind::divides: return left > 0 && right % left == 0;
    case SizeCondition::Kind::lessEqual: return left <= right;
    case SizeCondition::Kind::equal: return left == right;
  }
  return false;
} catch (const lift::UserError&) {
  return false;
}

inline std::set<Config> bruteForce(const Example& example) {
  std::set<Config> points;
  Config config;
  const std::function<void(std::size_t)> assign = [&](std::size_t i) {
    if (i == example.tunables.size()) {
      const auto value = [&](NatVar v) { return config.at(v.name()); };
      for (const Constraint& c : example.constraints)
        if (!holds(c.condition, value)) return;
      points.insert(config);
      return;
    }
    const NatVar t = example.tunables[i];
    for (std::int64_t x = t.lower(); x <= *t.upper()->constant(); x++) {
      config[t.name()] = x;
      assign(i + 1);
    }
    config.erase(t.name());
  };
  assign(0);
  return points;
}

inline std::vector<Example> examples() {
  const NatVar a = tunable("a", 1, 24), b = tunable("b", 1, 24), c = tunable("c", 1, 24), d = tunable("d", 0, 1);
  const NatVar tile = tunable("tile", 3, 9), padding = tunable("padding", 0, 8), vector = tunable("vector", 1, 8);
  const NatVar chunk = tunable("chunk", 1, 12), shift = tunable("shift", -6, 6), group = tunable("group", 1, 9);
  const Nat windows = (Nat(tile) - 2) * (Nat(tile) - 2), large = std::int64_t{1} << 55;
  return {
      {"no tunables", {}, {}},
      {"one tunable, no constraints", {a}, {}},
      {"divisors", {a}, {mustDivide(a, 48)}},
      {"a chain of divisors", {a, b, c}, {mustDivide(a, 24), mustDivide(b, a), mustDivide(c, b)}},
      {"independent", {a, b, d}, {mustDivide(a, 12), mustNotExceed(b, 3)}},
      {"a cycle", {a, b}, {mustDivide(a, Nat(b) * 3), mustDivide(b, Nat(a) * 5)}},
      {"tile and padding", {tile, padding}, {mustDivide(Nat(tile) - 2, Nat(11) + Nat(padding) - Nat(tile))}},
      {"the paper's in small",
       {padding, tile, group, chunk, vector},
       {mustDivide(Nat(tile) - 2, Nat(9) + Nat(padding) - Nat(tile)), mustNotExceed(tile, Nat(9) + Nat(padding)),
        mustDivide(group, windows), mustDivide(chunk, 12), mustDivide(vector, chunk), mustDivide(vector, 16),
        mustNotExceed(windows / Nat(group) * (Nat(12) / Nat(chunk)), 24)}},
      {"sums, minima, remainders",
       {a, b, shift},
       {mustEqual(Nat(a) + Nat(b) % 5, Nat(20) + Nat(shift)), mustNotExceed(lift::min(a, b), Nat(shift) * Nat(shift)),
        mustNotExceed(floorDiv(shift, 4), Nat(b) - 9)}},
      {"beyond 64 bits in places", {a, c}, {mustNotExceed(Nat(a) * Nat(c) * large, large * 200)}},
      {"division by zero in places", {a, shift}, {mustEqual(Nat(a) / Nat(shift), 3)}},
      {"contradictory", {a, b}, {mustNotExceed(Nat(a) + 20, b), mustNotExceed(10, a)}},
      {"impossible without tunables", {a}, {mustNotExceed(5, 4)}},
  };
}

}  // namespace small
