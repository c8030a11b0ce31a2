#include "differential/rows.hpp"

#include <fmt/format.h>

namespace lift::differential {
namespace {

// Values of any size and sign as numbers that all sums of a few thousand of them hold exactly.
std::string quantised(const std::string& v) {
  return fmt::format("map(fun a => round(clamp(-8.0, 8.0, a * 4.0)), {})", v);
}

std::string integral(const std::string& v) {
  return fmt::format("map(fun a => i32(clamp(-8.0, 8.0, a * 4.0)), {})", v);
}

}  // namespace

std::string Rows::stage(const std::string& e, const std::string& length) {
  using Construct = std::string (Rows::*)(const std::string&, const std::string&);
  static constexpr Construct constructs[] = {&Rows::normalised, &Rows::guarded,  &Rows::guardedArray, &Rows::literals,
                                             &Rows::generated,  &Rows::iterated, &Rows::byName,       &Rows::hiding,
                                             &Rows::guarded,    &Rows::iterated};
  const auto which = static_cast<std::size_t>(d_.pick(0, std::size(constructs)));
  if (which > 0)
    if (std::string text = (this->*constructs[which - 1])(e, length); !text.empty()) return text;
  d_.count("map");
  return fmt::format("map(fun a => {}, {})", d_.scalar("a"), e);
}

// ------------------------------------------------------------------------------------- what depends on all elements

std::string Rows::summary(const std::string& v, const std::string& length) {
  switch (d_.pick(0, 7)) {
    case 0: return fmt::format("{}({})", d_.oneOf({"maximum", "minimum"}), v);
    case 1:
      return fmt::format("sum({}) / {}", quantised(v),
                         d_.coin() ? fmt::format("f32(length({}))", v) : fmt::format("f32({})", length));
    case 2: {  // elements of one sign: the sum is as exact as its additions
      const std::string positive = fmt::format("map(fun a => abs(clamp(-8.0, 8.0, a)) + 0.25, {})", v);
      d_.count("rounded sum");
      d_.rounds();
      return fmt::format("{}({})", d_.oneOf({"average", "variance"}), positive);
    }
    case 3: return fmt::format("f32(length({})) * 0.125", v);
    case 4:
      if (!d_.isExact()) break;
      return fmt::format("f32({}({}) % 8)", d_.oneOf({"argmax", "argmin"}), v);
    case 5:
      if (!d_.isExact()) break;
      return fmt::format("f32(count(fun a => a > 0.25, {}) % 8)", v);
    default:
      if (!d_.isExact()) break;
      return integers(v, length);
  }
  return fmt::format("maximum({})", v);
}

// Reductions of integers, which are exact in every order: some may be divided, others seem so.
std::string Rows::integers(const std::string& v, const std::string& length) {
  d_.count("reduction of integers");
  const std::string q = integral(v);
  const auto folded = [&](const char* init, const char* f) {
    return fmt::format("f32(reduce({}, fun (acc, a) => {}, {}) % 8)", init, f, q);
  };
  switch (d_.pick(0, 15)) {
    case 0: return fmt::format("f32(sum({}) % 8)", q);
    case 1: return fmt::format("f32(product({}) % 8)", q);
    case 2: return folded("5", "acc ^ a");
    case 3: return folded("3", "acc - a");
    case 4: return folded("3", "if a > 1 then acc + a else acc");
    case 5: return folded("3", "acc * 3 + a");
    case 6:
    case 14: return folded("3", "(acc + a) * 3");
    case 7: return folded("3", "max(acc + a, 0)");
    case 8:
    case 15: return folded("3", "if a > 0 then acc + a else acc * 3");
    case 9: return folded("3", "if acc > a then acc - a else acc + 2 * a");
    case 10: return folded("3", "min(max(acc, a), 2)");
    case 11:
      return fmt::format(
          "let s = reduce((1, (2, 0)), fun ((s, (p, m)), a) => (s + a, (p * a, max(m, a))), {}) in "
          "f32((s.0 + s.1.0 * 3 + s.1.1) % 8)",
          q);
    case 12:
      return fmt::format("(if {}(map(fun a => a > {}, {})) then 1.0 else 0.5)", d_.oneOf({"any", "all"}),
                         d_.pick(-3, 6), q);
    default:
      return fmt::format(
          "f32(reduce((0, lowest), fun ((i, m), (j, a)) => if a >= m then (j, a) else (i, m), zip(indices({}), "
          "{})).0 % 8)",
          length, q);
  }
}

std::string Rows::normalised(const std::string& e, const std::string& length) {
  d_.count("scalar of an array");
  const std::string v = d_.fresh(), m = d_.fresh();
  const std::string value = summary(v, length);
  const bool isNamed = d_.coin();
  const std::string s = isNamed ? m : parenthesised(value);
  const std::string body = d_.coin() ? fmt::format("a / (1.0 + abs({}))", s) : fmt::format("a * 0.5 + {} * 0.125", s);
  return fmt::format("let {} = {} in {}map(fun a => {}, {})", v, parenthesised(e),
                     isNamed ? fmt::format("let {} = {} in ", m, value) : "", body, v);
}

// ----------------------------------------------------------------------------------------------------------- guards

std::string Rows::guarded(const std::string& e, const std::string& length) {
  if (!d_.isExact()) return "";
  const std::string v = d_.fresh();
  const std::string element = d_.pick(0, 2) == 2 ? guardedDivision(v, length) : guardedElement(v, length);
  return fmt::format("let {} = {} in generate({}, fun i => {})", v, parenthesised(e), length, element);
}

std::string Rows::guardedElement(const std::string& v, const std::string& length) {
  d_.count("guarded index");
  const std::string index = d_.coin() ? fmt::format("i * 3 - {}", d_.pick(0, 4))
                                      : fmt::format("i32({}[i] * 8.0) * {}", v, d_.coin() ? "1" : "1000000");
  const std::string outside = fmt::format("k < 0 || k >= {}", length), inside = fmt::format("k >= 0 && k < {}", length);
  std::string value;
  switch (d_.pick(0, 7)) {
    case 0:
      d_.count("let in a branch");
      value = fmt::format("if {} then let e = {}[k] in {} else 0.25", inside, v, d_.scalar("e"));
      break;
    case 1:
      d_.count("let in a branch");
      value = fmt::format("if {} then 0.25 else let e = {}[k] in {}", outside, v, d_.scalar("e"));
      break;
    case 2:
      d_.count("guarding && or ||");
      value = fmt::format("if {0} && {1}[k] > 0.25 then {1}[k] - 0.25 else {1}[i]", inside, v);
      break;
    case 3:
      d_.count("guarding && or ||");
      value =
          fmt::format("if {0} || {1}[k] <= 0.25 then {1}[i] else let e = {1}[k] in {2}", outside, v, d_.scalar("e"));
      break;
    case 4:
    case 5:
      d_.count("if of tuples");
      value = fmt::format("let (p, q) = if {} then let e = {}[k] in (e, {}) else (0.25, 1.0) in p - q * 0.5", inside, v,
                          d_.scalar("e"));
      break;
    case 6: {  // what a program says twice is computed once, but only where it is used
      const std::string call = d_.called({"a"}, {v + "[k]"}, [](const auto& p) { return p[0] + " * 0.5 + 1.0"; });
      value = fmt::format("if {0} then {1} else (if {0} then {1} else 0.25)", inside, call);
      break;
    }
    default: value = fmt::format("if k >= 0 then (if k < {} then {}[k] else 0.5) else 0.25", length, v);
  }
  return fmt::format("let k = {} in {}", index, value);
}

std::string Rows::guardedDivision(const std::string& v, const std::string& length) {
  d_.count("guarded division");
  const std::string q = fmt::format("let q = i32({}[(i * 3 + 1) % {}] * 4.0) in ", v, length);
  switch (d_.pick(0, 3)) {
    case 0: return q + "if q == 0 then 0.25 else f32(12 / q)";
    case 1: d_.count("guarding && or ||"); return q + "if q != 0 && 12 / q > 2 then f32(12 % q) else 0.25";
    case 2:
      d_.count("guarding && or ||");
      return q + fmt::format("if q == 0 || 12 / q < 3 then {}[i] else f32(12 / q) * 0.125", v);
    default: d_.count("let in a branch"); return q + "if q == 0 then 0.25 else let h = 12 / q in f32(h * h + h)";
  }
}

// Branches that are arrays; what one of them reads may exist only where it is chosen.
std::string Rows::guardedArray(const std::string& e, const std::string& length) {
  if (!d_.isExact()) return "";
  d_.count("if of arrays");
  const std::string v = d_.fresh(), k = d_.fresh();
  const std::string mapped = fmt::format("map(fun a => {}, {})", d_.scalar("a"), v);
  const std::string other = d_.coin() ? v : fmt::format("reorder(reverse, {})", v);
  const std::string head = fmt::format("let {} = {} in ", v, parenthesised(e));
  switch (d_.pick(0, 2)) {
    case 0: return head + fmt::format("if {} > 0.5 then {} else {}", parenthesised(summary(v, length)), mapped, other);
    case 1:
      d_.count("let in a branch");
      return head + fmt::format(
                        "let {0} = i32({1}[0] * 8.0) in if {0} >= 0 && {0} < {2} then let h = {1}[{0}] in map(fun a => "
                        "a * 0.5 + h, {1}) else {3}",
                        k, v, length, other);
    default:
      d_.count("guarded division");
      return head + fmt::format(
                        "let {0} = i32({1}[0] * 4.0) in if {0} == 0 then {2} else map(fun a => a * 0.5 + f32(12 / "
                        "{0}), {1})",
                        k, v, other);
  }
}

// ---------------------------------------------------------------------------------------------- arrays that are made

std::string Rows::literals(const std::string& e, const std::string& length) {
  d_.count("array literal");
  const std::string v = d_.fresh();
  const std::string windows = fmt::format("slide(3, 1, padClamp(1, 1, {}))", v);
  std::string value;
  switch (d_.pick(0, 4)) {
    case 0: value = fmt::format("generate({}, fun i => {}[i] * [0.5, 1.0, -2.0][i % 3])", length, v); break;
    case 1:
      value = fmt::format("let k = [0.25, 0.5, -0.25] in map(fun w => w[0] * k[0] + w[1] * k[1] + w[2] * k[2], {})",
                          windows);
      break;
    case 2: value = fmt::format("map(fun a => maximum([a, {}, 0.5]), {})", d_.scalar("a"), v); break;
    case 3:
      value = fmt::format(
          "map(fun w => reduce(-8.0, fun (acc, (a, k)) => max(acc, a * k), zip(w, [0.5, 1.0, -1.0])), {})", windows);
      break;
    default: value = fmt::format("map(fun p => p[0] * 0.5 + p[1], transpose([{0}, reorder(reverse, {0})]))", v);
  }
  return fmt::format("let {} = {} in {}", v, parenthesised(e), value);
}

std::string Rows::generated(const std::string& e, const std::string& length) {
  const std::string v = d_.fresh();
  const std::int64_t m = d_.pick(1, 5);
  const std::string element = fmt::format("{}[(i + j) % {}] * 0.5 + f32(j - i % 4)", v, length);
  std::string all;
  if (d_.coin()) {
    d_.count("generate2D");
    all = fmt::format("generate2D({}, {}, fun (i, j) => {})", length, m, element);
  } else {
    d_.count("nested generate");
    all = fmt::format("generate({}, fun i => generate({}, fun j => {}))", length, m, element);
  }
  return fmt::format("let {} = {} in map(fun r => reduce(0.25, fun (acc, a) => acc * 0.5 + a, r), {})", v,
                     parenthesised(e), all);
}

// -------------------------------------------------------------------------------------------------------- iterations

std::string Rows::repetitions() {
  const std::int64_t kind = d_.pick(0, d_.hasSize ? 4 : 1);
  if (kind == 0) return std::to_string(d_.pick(0, 4));
  if (kind == 1) {
    d_.count("many repetitions");
    return std::to_string(d_.pick(17, 20));
  }
  d_.count("symbolic count");
  return kind == 2 ? "n" : d_.oneOf({"n + 1", "2 * n - 1", "n - 1"});
}

std::string Rows::iterated(const std::string& e, const std::string&) {
  const std::string v = d_.fresh(), times = repetitions();
  switch (d_.pick(0, 3)) {
    case 0:
      d_.count("iterate");
      return fmt::format("iterate({}, fun {} => map(fun a => {}, {}), {})", times, v, d_.step("a"),
                         d_.coin() ? v : fmt::format("reorder(reverse, {})", v), e);
    case 1:
      d_.count("iterate");
      return fmt::format(
          "iterate({0}, fun {1} => map(fun w => w[0] * 0.5 + w[1] * 0.5, slide(2, 1, padClamp({2}, {1}))), {3})", times,
          v, d_.coin() ? "1, 0" : "0, 1", e);
    case 2: {
      d_.count("iterate");
      d_.count("iterate of two arrays");
      const std::string p = d_.fresh(), q = d_.fresh();
      return fmt::format(
          "let {0} = {1} in (iterate({2}, fun ({3}, {4}) => ({4}, map(fun (a, b) => a * 0.5 + b * 0.25, zip({3}, "
          "{4}))), ({0}, reorder(reverse, {0})))).{5}",
          v, parenthesised(e), times, p, q, d_.coin() ? 0 : 1);
    }
    default:
      if (!d_.isExact()) return "";
      d_.count("iterateWhile");
      return fmt::format("iterateWhile({0}, fun {1} => {1}[0] < 3.3, fun {1} => map(fun a => {2}, {3}), {4})", times, v,
                         d_.step("a"), d_.coin() ? v : fmt::format("reorder(reverse, {})", v), e);
  }
}

// -------------------------------------------------------------------------------------------------------- definitions

std::string Rows::byName(const std::string& e, const std::string&) {
  const std::string v = d_.fresh();
  switch (d_.pick(0, 4)) {
    case 0: return fmt::format("map({}, {})", d_.named({"a"}, d_.scalar("a")), e);
    case 1:
      return fmt::format("let {0} = {1} in zipWith({2}, {0}, reorder(reverse, {0}))", v, parenthesised(e),
                         d_.named({"a", "b"}, "a * 0.5 - b"));
    case 2: return fmt::format("scan(0.25, {}, {})", d_.named({"a", "b"}, "a * 0.5 + b"), e);
    case 3: return fmt::format("map({}, slide(2, 1, padClamp(1, 0, {})))", d_.named({"w"}, "w[0] * 0.5 + w[1]"), e);
    default:
      return fmt::format("let {0} = {1} in let s = reduce(0.5, {2}, {0}) in map(fun a => a * 0.5 + s, {0})", v,
                         parenthesised(e), d_.named({"a", "b"}, "a * 0.5 + b"));
  }
}

// A definition that hides one of the prelude's, beside a call of what uses that there.
std::string Rows::hiding(const std::string& e, const std::string&) {
  struct Pair {
    const char *hidden, *user;
    bool rounds;
  };
  static constexpr Pair pairs[] = {{"maximumIndexed", "argmax", false},
                                   {"enumerate", "argmin", false},
                                   {"mean", "average", true},
                                   {"square", "variance", true},
                                   {"dotProduct", "norm", true}};
  if (!d_.isExact()) return "";
  const Pair& p = pairs[d_.pick(0, std::size(pairs) - 1)];
  const std::string function = d_.namedAs(p.hidden, "a", d_.scalar("a"));
  if (function.empty()) return "";
  if (p.rounds) d_.rounds();
  const std::string v = d_.fresh();
  const std::string value = fmt::format("{}(map(fun a => clamp(-8.0, 8.0, a), {}))", p.user, v);
  return fmt::format("let {0} = {1} in let s = {2} in map(fun a => {3}(a) * 0.5 + s * 0.125, {0})", v, parenthesised(e),
                     p.rounds ? value : fmt::format("f32({} % 8)", value), function);
}

}  // namespace lift::differential
