#include "differential/loops.hpp"

#include <fmt/format.h>

namespace lift::differential {

std::optional<std::string> Loops::stage(const std::string& e, Shape& shape) {
  using Construct = Text (Loops::*)(const std::string&, Shape&);
  static constexpr Construct constructs[] = {&Loops::scanOfRows,    &Loops::scanOfTuples, &Loops::reduceRows,
                                             &Loops::repeated,      &Loops::windows,      &Loops::planeWindows,
                                             &Loops::repeatedWhile, &Loops::integers,     &Loops::halves};
  return (this->*constructs[d_.pick(0, std::size(constructs) - 1)])(e, shape);
}

// ------------------------------------------------------------------------------------------------- states of loops

std::string Loops::firstRow(std::int64_t length) {
  if (d_.coin()) return fmt::format("generate({}, fun _ => 0.5)", length);
  return fmt::format("generate({}, fun j => f32(j % 4) * 0.25)", length);
}

// The state after a step: a row that depends on the state and on a row of the same length. Errors do not grow.
std::string Loops::next(const std::string& state, const std::string& row, std::int64_t length) {
  const auto zipped = [&](const std::string& s) {
    return fmt::format("map(fun (a, b) => a * 0.5 + b, zip({}, {}))", s, row);
  };
  switch (d_.pick(0, 8)) {
    case 0: return zipped(state);
    case 1: return zipped(fmt::format("reorder(reverse, {})", state));
    case 2: return zipped(fmt::format("map(fun w => w[0] * 0.25 + w[1], slide(2, 1, padClamp(1, 0, {})))", state));
    case 3: return fmt::format("generate({0}, fun j => {1}[j] + 0.5 * {2}[(j * 3 + 1) % {0}])", length, row, state);
    case 4: return fmt::format("let s = maximum({}) in map(fun b => b * 0.5 + s * 0.25, {})", state, row);
    case 5:
      if (d_.isExact()) return fmt::format("if {0}[0] > {1}[0] then {2} else {1}", state, row, zipped(state));
      [[fallthrough]];
    default:  // every element reads the whole state
      d_.count("state of products");
      d_.rounds();
      return fmt::format(
          "map(fun (q, b) => b + 0.125 * reduce(0.0, fun (s, (a, c)) => s + a * c, zip({}, q)), zip(generate({}, fun i "
          "=> generate({}, fun k => f32((i * 3 + k) % 5) * 0.125 - 0.25)), {}))",
          state, length, length, row);
  }
}

Loops::Text Loops::scanOfRows(const std::string& e, Shape& shape) {
  if (shape.size() != 2) return std::nullopt;
  d_.count("scan of rows");
  const std::string acc = d_.fresh(), row = d_.fresh(), primitive = d_.oneOf({"scan", "scanExclusive"});
  const std::string first = firstRow(shape[1]), body = next(acc, row, shape[1]);
  if (d_.coin()) return fmt::format("{}({}, fun ({}, {}) => {}, {})", primitive, first, acc, row, body, e);
  d_.count("scan of tuples");
  const std::string s = d_.fresh();
  return fmt::format(
      "map(fun (r, s) => map(fun a => a + s * 0.25, r), {0}(({1}, 0.5), fun (({2}, {3}), {4}) => ({5}, {3} * 0.5 + "
      "{4}[0]), {6}))",
      primitive, first, acc, s, row, body, e);
}

Loops::Text Loops::scanOfTuples(const std::string& e, Shape& shape) {
  if (shape.size() != 1) return std::nullopt;
  d_.count("scan of tuples");
  const std::string primitive = d_.oneOf({"scan", "scanExclusive"});
  return fmt::format("map(fun (a, b) => a - b * 0.25, {}((0.25, {}), fun ((p, q), v) => ({}, p * 0.5 + v), {}))",
                     primitive, d_.oneOf({"0.5", "lowest"}), d_.oneOf({"q * 0.5", "max(q, v)", "q - v * 0.5"}), e);
}

Loops::Text Loops::reduceRows(const std::string& e, Shape& shape) {
  if (shape.size() != 2) return std::nullopt;
  d_.count("reduce of rows");
  const std::int64_t length = shape[1];
  shape.erase(shape.begin());
  const std::string acc = d_.fresh(), row = d_.fresh(), s = d_.fresh();
  const std::string first = firstRow(length), body = next(acc, row, length);
  switch (d_.pick(0, 2)) {
    case 0: return fmt::format("reduce({}, fun ({}, {}) => {}, {})", first, acc, row, body, e);
    case 1:
      return fmt::format(
          "let (p, q) = reduce(({0}, 0.5), fun (({1}, {2}), {3}) => ({4}, {2} * 0.5 + {3}[0]), {5}) in map(fun a => a "
          "* "
          "0.5 + q, p)",
          first, acc, s, row, body, e);
    default:
      return fmt::format(
          "let (p, q) = reduce(({0}, {0}), fun (({1}, {2}), {3}) => ({2}, {4}), {5}) in map(fun (a, b) => a - b * "
          "0.25, "
          "zip(p, q))",
          first, acc, s, row, body, e);
  }
}

// A plane again and again.
Loops::Text Loops::repeated(const std::string& e, Shape& shape) {
  if (shape.size() != 2) return std::nullopt;
  d_.count("iterate");
  const std::int64_t times = d_.coin() ? d_.pick(0, 4) : d_.pick(17, 20);
  const std::string v = d_.fresh(), row = d_.fresh(), s = d_.fresh();
  switch (d_.pick(0, 3)) {
    case 0:
      return fmt::format(
          "iterate({0}, fun {1} => map2D(fun w => w[0][1] * 0.25 + w[1][0] * 0.25 + w[2][1] * 0.5, slide2D(3, 3, 1, 1, "
          "{2}(1, 1, 1, 1, {1}))), {3})",
          times, v, d_.oneOf({"padClamp2D", "padWrap2D"}), e);
    case 1: {
      const std::string body = next(row, v + "[0]", shape[1]);
      return fmt::format("iterate({}, fun {} => map(fun {} => {}, {}), {})", times, v, row, body, v, e);
    }
    case 2:
      return fmt::format(
          "iterate({0}, fun {1} => scan({2}, fun (a, {3}) => map(fun (a, b) => a * 0.5 + b * 0.5, zip(a, {3})), {1}), "
          "{4})",
          d_.pick(0, 4), v, firstRow(shape[1]), row, e);
    default:
      return fmt::format(
          "iterate({0}, fun ({1}, {2}) => (map2D(fun a => a * 0.5 + {2} * 0.25, {1}), maximum(join({1}))), ({3}, "
          "0.5)).0",
          times, v, s, e);
  }
}

Loops::Text Loops::repeatedWhile(const std::string& e, Shape& shape) {
  if (shape.size() != 2 || !d_.isExact()) return std::nullopt;
  d_.count("iterateWhile");
  const std::string v = d_.fresh(), s = d_.fresh();
  const std::int64_t times = d_.pick(0, 12);
  // Steps of kernels, outside of every map, else of one work-item.
  const std::string kept = d_.pick(0, 3) > 0 ? "toGlobal" : "id";
  if (d_.coin())
    return fmt::format(
        "iterateWhile({0}, fun {1} => maximum(join({1})) > {2}, fun {1} => {5}(map(fun r => map(fun a => a * 0.5 - "
        "0.125, "
        "{3}), {1})), {4})",
        times, v, d_.oneOf({"0.25", "1.0"}), d_.coin() ? "r" : "reorder(reverse, r)", e, kept);
  return fmt::format(
      "iterateWhile({0}, fun ({1}, {2}) => {2} < 3.0, fun ({1}, {2}) => ({4}(transpose(transpose(map2D(fun a => a * "
      "0.5 + "
      "{2} * 0.25, {1})))), {2} + abs({1}[0][0])), ({3}, 0.5)).0",
      times, v, s, e, kept);
}

// ---------------------------------------------------------------------------------------------- windows of indices

Loops::Text Loops::windows(const std::string& e, Shape& shape) {
  if (shape.size() != 1) return std::nullopt;
  const std::int64_t step = d_.pick(1, 3), apart = d_.pick(1, 3), from = d_.pick(0, 2), n = shape[0];
  const std::int64_t taps = d_.pick(1, 4), count = (n - from - (taps - 1) * apart - 1) / step + 1;
  if (n <= from + (taps - 1) * apart) return std::nullopt;
  d_.count("window of indices");
  shape[0] = count;
  const std::string v = d_.fresh(), element = fmt::format("{}[{} * i + {} * k + {}]", v, step, apart, from);
  const std::string head = fmt::format("let {} = {} in ", v, parenthesised(e));
  switch (d_.pick(0, 3)) {
    case 0:
      return head + fmt::format("generate({}, fun i => reduce(0.5, fun (acc, k) => acc * 0.5 + {}, generate({}, id)))",
                                count, element, taps);
    case 1:
      return head + fmt::format("generate({}, fun i => maximum(generate({}, fun k => {})))", count, taps, element);
    case 2: {
      d_.rounds();
      return head + fmt::format("generate({}, fun i => sum(generate({}, fun k => {} * f32(k + 1) * 0.25)))", count,
                                taps, element);
    }
    default:
      return head + fmt::format("generate({0}, fun i => {1}[{2} * i + {3}] * 0.5 - {1}[{2} * ({4} - i) + {3}])", count,
                                v, step, from, count - 1);
  }
}

Loops::Text Loops::planeWindows(const std::string& e, Shape& shape) {
  if (shape.size() != 2) return std::nullopt;
  const std::int64_t step = d_.pick(1, 2), h = d_.pick(1, 3), w = d_.pick(1, 3), apart = d_.pick(1, 2);
  const std::int64_t rows = (shape[0] - h) / step + 1, columns = shape[1] - (w - 1) * apart;
  if (shape[0] < h || columns < 1) return std::nullopt;
  d_.count("window of indices");
  shape = {rows, columns};
  const std::string v = d_.fresh();
  const std::string element = fmt::format("{}[{} * y + i][x + {} * j]", v, step, apart);
  const std::string head =
      fmt::format("let {} = {} in generate2D({}, {}, fun (y, x) => ", v, parenthesised(e), rows, columns);
  switch (d_.pick(0, 2)) {
    case 0: return head + fmt::format("maximum(join(generate2D({}, {}, fun (i, j) => {}))))", h, w, element);
    case 1:
      d_.rounds();
      return head + fmt::format("sum(join(generate2D({}, {}, fun (i, j) => {} * 0.25))))", h, w, element);
    default:
      return head + fmt::format(
                        "reduce(0.5, fun (s, i) => reduce(s, fun (t, j) => t * 0.5 + {}, generate({}, id)), "
                        "generate({}, id)))",
                        element, w, h);
  }
}

// ---------------------------------------------------------------------------------------------------- other numbers

Loops::Text Loops::integers(const std::string& e, Shape& shape) {
  if (shape.size() != 1 || !d_.isExact()) return std::nullopt;
  d_.count("integers");
  const std::string numbers = fmt::format("map(fun a => i32(clamp(-8.0, 8.0, a) * 8.0), {})", e);
  switch (d_.pick(0, 4)) {
    case 0:
      return fmt::format("map(fun k => f32({}) * 0.125, {})",
                         d_.oneOf({"(k * 7 + 3) % 16", "k ^ (k >> 1)", "k / 3 - k % 5", "(k & 7) | (k << 1)",
                                   "i32(u8(k)) - 64", "i32(i8(k * 37))", "abs(k) - min(k, 3)", "i32(u32(k) >> 27)",
                                   "i32(i64(k) * 1000003i64 % 17i64)", "~k + (if k > 2 then k * k else -k)"}),
                         numbers);
    case 1:
      return fmt::format("map(fun k => f32(k % 16) * 0.25, {}(1, {}, {}))", d_.oneOf({"scan", "scanExclusive"}),
                         d_.oneOf({"add", "max", "fun (a, k) => a * 3 + k", "fun (a, k) => a ^ k"}), numbers);
    case 2: return fmt::format("map(fun k => f32(u8(k)) * 0.0625, scan(0u8, fun (a, k) => a + u8(k), {}))", numbers);
    case 3:
      return fmt::format(
          "map(fun (k, b) => (if b then f32(k) else 0.5) * 0.125, scan((0, false), fun ((k, b), a) => (k + a, k > a), "
          "{}))",
          numbers);
    default:
      return fmt::format(
          "map(fun k => f32(k % 8), iterate({}, fun ks => map(fun (a, b) => (a + b * 3) % 1000, zip(ks, "
          "reorder(reverse, ks))), {}))",
          d_.pick(0, 20), numbers);
  }
}

Loops::Text Loops::halves(const std::string& e, Shape& shape) {
  if (shape.size() != 1 || !d_.isExact()) return std::nullopt;
  d_.count("f16");
  // Numbers that halves hold exactly: a device rounds where it stores.
  const std::string rounded = fmt::format("map(fun a => f16(round(clamp(-8.0, 8.0, a * 4.0))), {})", e);
  switch (d_.pick(0, 2)) {
    case 0: return fmt::format("map(fun a => f32(a) * 0.5 + 0.25, {})", rounded);
    case 1: return fmt::format("map(f32, scan(0.5f16, fun (acc, a) => max(acc - 1.0, a), {}))", rounded);
    default: return fmt::format("map(f32, toGlobal({}))", rounded);
  }
}

}  // namespace lift::differential
