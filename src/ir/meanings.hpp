// Private to ir: what primitives mean, and sequences of values.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/interpreter.hpp"

namespace lift::detail {

// The value of a primitive with all its arguments.
Value meaningOf(Expr prim, std::vector<Value> arguments, const Arithmetic& arithmetic);

inline std::int64_t constantOf(Nat n) {
  const auto value = n.constant();
  if (!value) throw InternalError("the interpreter met the symbolic size " + n.str());
  return *value;
}

inline std::int64_t length(const Value::Sequence& s) { return static_cast<std::int64_t>(s.size()); }
inline const Value& element(const Value::Sequence& s, std::int64_t i) { return s[static_cast<std::size_t>(i)]; }
inline Value index(std::int64_t i) { return Value::of(ScalarValue::ofInteger(Scalar::i32, i)); }

// [f(0), …, f(n - 1)]
template <class F>
Value build(std::int64_t n, const F& f) {
  Value::Sequence out;
  out.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; i++) out.push_back(f(i));
  return Value::of(std::move(out));
}

}  // namespace lift::detail
