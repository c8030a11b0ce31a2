#include "differential/arrays.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lift::differential {
namespace {

constexpr std::int64_t largestArray = 4096;

}  // namespace

std::string typeOf(const Shape& shape) {
  std::string s;
  for (const std::int64_t n : shape) s += fmt::format("[{}]", n);
  return s + "f32";
}

std::int64_t sizeOf(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

std::string Arrays::stage(const std::string& e, Shape& shape) {
  if (shape.size() > 1 && d_.pick(0, 2) == 0) {
    Shape below(shape.begin() + 1, shape.end());
    const std::string v = d_.fresh();
    const std::string body = stage(v, below);
    shape.resize(1);
    shape.insert(shape.end(), below.begin(), below.end());
    return fmt::format("map(fun {} => {}, {})", v, body, e);
  }
  using Stage = Text (Arrays::*)(const std::string&, Shape&);
  static constexpr Stage stages[] = {
      &Arrays::map,           &Arrays::split,
      &Arrays::join,          &Arrays::transpose,
      &Arrays::slide,         &Arrays::pad,
      &Arrays::padIndices,    &Arrays::part,
      &Arrays::reorder,       &Arrays::concat,
      &Arrays::reduce,        &Arrays::scan,
      &Arrays::zip,           &Arrays::at,
      &Arrays::vectorize,     &Arrays::iterate,
      &Arrays::tuple,         &Arrays::guard,
      &Arrays::keep,          &Arrays::conditional,
      &Arrays::generate,      &Arrays::byName,
      &Arrays::reduce,        &Arrays::row,
      &Arrays::iterateWhile,  &Arrays::row,
      &Arrays::padIndices,    &Arrays::generate,
      &Arrays::row,           &Arrays::reduceAll,
      &Arrays::reduceByIndex, &Arrays::loopOrNothing,
      &Arrays::loopOrNothing, &Arrays::loopOrNothing,
      &Arrays::loopOrNothing,
  };
  while (true) {
    const auto which = static_cast<std::size_t>(d_.pick(0, std::size(stages) - 1));
    if (Text text = (this->*stages[which])(e, shape)) return *text;
  }
}

std::string Arrays::mapOver(const std::string& e, std::size_t depth, const std::function<std::string(std::string)>& f) {
  const std::string v = d_.fresh();
  return fmt::format("map(fun {} => {}, {})", v, depth == 0 ? f(v) : mapOver(v, depth - 1, f), e);
}

Arrays::Text Arrays::map(const std::string& e, Shape& shape) {
  d_.count("map");
  return mapOver(e, shape.size() - 1, [&](const std::string& v) { return d_.scalar(v); });
}

// --------------------------------------------------------------------------------------------------------- layouts

Arrays::Text Arrays::split(const std::string& e, Shape& shape) {
  if (shape.size() > 3) return std::nullopt;
  std::vector<std::int64_t> divisors;
  for (std::int64_t k = 1; k <= shape[0]; k++)
    if (shape[0] % k == 0) divisors.push_back(k);
  const std::int64_t k = divisors[static_cast<std::size_t>(d_.pick(0, static_cast<std::int64_t>(divisors.size()) - 1))];
  d_.count("split");
  shape[0] /= k;
  shape.insert(shape.begin() + 1, k);
  return fmt::format("split({}, {})", k, e);
}

Arrays::Text Arrays::join(const std::string& e, Shape& shape) {
  if (shape.size() < 2) return std::nullopt;
  d_.count("join");
  shape[1] *= shape[0];
  shape.erase(shape.begin());
  return fmt::format("join({})", e);
}

Arrays::Text Arrays::transpose(const std::string& e, Shape& shape) {
  if (shape.size() < 2) return std::nullopt;
  d_.count("transpose");
  std::swap(shape[0], shape[1]);
  return fmt::format("transpose({})", e);
}

Arrays::Text Arrays::slide(const std::string& e, Shape& shape) {
  const std::int64_t n = shape[0], size = d_.pick(1, n), step = d_.pick(1, 3);
  const std::int64_t windows = (n - size + step) / step;
  if (shape.size() > 3 || windows < 1 || sizeOf(shape) / n * windows * size > largestArray) return std::nullopt;
  d_.count("slide");
  shape[0] = size;
  shape.insert(shape.begin(), windows);
  return fmt::format("slide({}, {}, {})", size, step, e);
}

Arrays::Text Arrays::pad(const std::string& e, Shape& shape) {
  const std::int64_t n = shape[0], l = d_.pick(-1, 3), r = d_.pick(-1, 3);
  if (l + n + r < 1 || n + std::min<std::int64_t>(l, 0) + std::min<std::int64_t>(r, 0) < 1) return std::nullopt;
  d_.count("pad");
  shape[0] += l + r;
  return fmt::format("pad({}, {}, 0.5, {})", l, r, e);
}

Arrays::Text Arrays::padIndices(const std::string& e, Shape& shape) {
  const std::int64_t l = d_.pick(0, 3), r = d_.pick(0, 3);
  const std::string kind = d_.oneOf({"padClamp", "padMirror", "padWrap"});
  d_.count(kind);
  shape[0] += l + r;
  return fmt::format("{}({}, {}, {})", kind, l, r, e);
}

Arrays::Text Arrays::part(const std::string& e, Shape& shape) {
  const std::int64_t n = shape[0], k = d_.pick(1, n);
  if (d_.coin()) {
    d_.count("take");
    shape[0] = k;
    return fmt::format("take({}, {})", k, e);
  }
  if (k == n) return std::nullopt;
  d_.count("drop");
  shape[0] = n - k;
  return fmt::format("drop({}, {})", k, e);
}

Arrays::Text Arrays::reorder(const std::string& e, Shape& shape) {
  d_.count("reorder");
  switch (d_.pick(0, 2)) {
    case 0: return fmt::format("reorder(reverse, {})", e);
    case 1: return fmt::format("reorder(shift({}), {})", d_.pick(0, shape[0]), e);
    default: {
      std::int64_t s = d_.pick(1, shape[0]);
      while (shape[0] % s != 0) s--;
      return fmt::format("reorder({}({}), {})", d_.coin() ? "stride" : "unstride", s, e);
    }
  }
}

Arrays::Text Arrays::concat(const std::string& e, Shape& shape) {
  if (2 * sizeOf(shape) > largestArray) return std::nullopt;
  d_.count("concat");
  if (shape.size() == 1 && d_.coin()) {
    d_.count("array literal");
    shape[0] += 3;
    return fmt::format("concat({}, [0.5, -1.0, 2.0])", e);
  }
  const std::string v = d_.fresh();
  shape[0] *= 2;
  return fmt::format("let {0} = {1} in concat({0}, {0})", v, parenthesised(e));
}

Arrays::Text Arrays::zip(const std::string& e, Shape& shape) {
  d_.count("zip");
  const std::string v = d_.fresh();
  return fmt::format("let {0} = {1} in {2}", v, parenthesised(e), zipped(v, shape.size()));
}

std::string Arrays::zipped(const std::string& v, std::size_t rank) {
  const std::string a = d_.fresh(), b = d_.fresh();
  if (rank == 1) return fmt::format("map(fun ({0}, {1}) => {0} * 0.5 + {1}, zip({2}, reorder(reverse, {2})))", a, b, v);
  return fmt::format("map(fun ({0}, {1}) => {2}, zip({3}, reorder(reverse, {3})))", a, b, zippedRows(a, b, rank - 1),
                     v);
}

std::string Arrays::zippedRows(const std::string& x, const std::string& y, std::size_t rank) {
  const std::string a = d_.fresh(), b = d_.fresh();
  const std::string inner = rank == 1 ? fmt::format("{} - {} * 0.25", a, b) : zippedRows(a, b, rank - 1);
  return fmt::format("map(fun ({}, {}) => {}, zip({}, {}))", a, b, inner, x, y);
}

Arrays::Text Arrays::tuple(const std::string& e, Shape&) {
  d_.count("tuple");
  const std::string v = d_.fresh();
  return fmt::format("map(fun ({0}, _) => {0}, zip({1}, {1}))", v, parenthesised(e));
}

Arrays::Text Arrays::keep(const std::string& e, Shape&) {
  d_.count("toGlobal");
  return fmt::format("toGlobal({})", e);
}

Arrays::Text Arrays::at(const std::string& e, Shape& shape) {
  if (shape.size() != 1) return std::nullopt;
  d_.count("at");
  const std::string v = d_.fresh();
  const std::int64_t n = shape[0], m = d_.pick(1, 8);
  shape[0] = m;
  if (!d_.isExact() || d_.coin())
    return fmt::format("let {0} = {1} in generate({2}, fun i => {0}[(i * 3 + 1) % {3}])", v, parenthesised(e), m, n);
  return fmt::format("let {0} = {1} in generate({2}, fun i => {0}[max(0, min(i32({0}[i % {3}] * 4.0), {4}))])", v,
                     parenthesised(e), m, n, n - 1);
}

Arrays::Text Arrays::vectorize(const std::string& e, Shape& shape) {
  if (shape.size() != 1) return std::nullopt;
  d_.count("vectorize");
  const std::string v = d_.fresh();
  const std::int64_t missing = (4 - shape[0] % 4) % 4;
  shape[0] += missing;
  const std::string all = missing == 0 ? e : fmt::format("padClamp(0, {}, {})", missing, e);
  return fmt::format("asScalar(map(vectorize(4, fun {} => {}), asVector(4, {})))", v, d_.scalar(v), all);
}

Arrays::Text Arrays::generate(const std::string& e, Shape& shape) {
  if (shape.size() > 2) return std::nullopt;
  const std::string v = d_.fresh(), n = std::to_string(shape[0]);
  const std::string row = fmt::format("{}[(i * 3 + j) % {}]", v, n);
  const std::string element = shape.size() == 1 ? row : fmt::format("{}[j % {}]", row, shape[1]);
  const std::int64_t kind = d_.pick(0, 3), a = d_.pick(1, 5), b = d_.pick(1, 5), c = kind < 2 ? 0 : d_.pick(1, 4);
  const std::string head = fmt::format("let {} = {} in ", v, parenthesised(e));
  if (kind < 2)
    shape = {a, b};
  else
    shape = {a, b, c};
  switch (kind) {
    case 0:
      d_.count("generate2D");
      return head + fmt::format("generate2D({}, {}, fun (i, j) => {} + f32(i))", a, b, element);
    case 1:
      d_.count("nested generate");
      return head + fmt::format("generate({}, fun i => generate({}, fun j => {} + f32(i)))", a, b, element);
    case 2:
      d_.count("generate3D");
      return head + fmt::format("generate3D({}, {}, {}, fun (i, j, k) => {} + f32(i - k))", a, b, c, element);
    default:
      d_.count("nested generate");
      return head + fmt::format("generate({}, fun i => generate({}, fun j => generate({}, fun k => {} + f32(i - k))))",
                                a, b, c, element);
  }
}

// ---------------------------------------------------------------------------------------------- reductions and loops

Arrays::Text Arrays::reduce(const std::string& e, Shape& shape) {
  if (shape.size() < 2 || shape.size() > 3) return std::nullopt;
  d_.count("reduce");
  const std::string v = d_.fresh(), row = d_.fresh();
  if (shape.size() == 2) {
    shape.pop_back();
    if (d_.pick(0, 2) == 2)  // two accumulators that change places
      return fmt::format(
          "map(fun {0} => let s = reduce((0.5, 0.25), fun (acc, {1}) => (acc.1, acc.0 * 0.5 + {2}), {0}) in "
          "s.0 - s.1, {3})",
          row, v, d_.scalar(v), e);
    return fmt::format("map(fun {} => reduce(0.5, fun (acc, {}) => acc * 0.5 + {}, {}), {})", row, v, d_.scalar(v), row,
                       e);
  }
  // The accumulator is an array: rows are added up.
  shape.erase(shape.begin());
  const std::string zero = fmt::format("generate({}, fun _ => generate({}, fun _ => 0.0))", shape[0], shape[1]);
  return fmt::format(
      "reduce({0}, fun (acc, {1}) => map(fun (p, q) => map(fun (a, b) => a + b * 0.5, zip(p, q)), zip({2}, {1})), {3})",
      zero, v, d_.coin() ? "reorder(reverse, acc)" : "acc", e);
}

std::string Arrays::loop(const std::string& e, Shape& shape) {
  while (true)
    if (Text text = loops_.stage(e, shape)) return *text;
}

Arrays::Text Arrays::loopOrNothing(const std::string& e, Shape& shape) { return loops_.stage(e, shape); }

// A scalar of every row.
Arrays::Text Arrays::reduceAll(const std::string& e, Shape& shape) {
  if (shape.size() != 2) return std::nullopt;
  d_.count("scalar of an array");
  const std::string row = d_.fresh(), length = std::to_string(shape[1]);
  shape.pop_back();
  return fmt::format("map(fun {} => {}, {})", row, rows_.summary(row, length), e);
}

Arrays::Text Arrays::scan(const std::string& e, Shape& shape) {
  if (shape.size() != 1) return std::nullopt;
  const std::string primitive = d_.oneOf({"scan", "scanExclusive"});
  d_.count(primitive);
  return fmt::format("{}(0.25, fun (acc, v) => acc * 0.5 + v, {})", primitive, e);
}

// Numbers or rows by keys, of which some are out of range.
Arrays::Text Arrays::reduceByIndex(const std::string& e, Shape& shape) {
  if (shape.size() > 2) return std::nullopt;
  const std::int64_t elements = d_.pick(1, 12);
  const std::string count = std::to_string(elements), v = d_.fresh();
  const std::string key = d_.isExact() && shape.size() == 1 && d_.coin()
                              ? fmt::format("i32({}[i] * 5.0)", v)
                              : fmt::format("(i * {} + 1) % {} - 1", d_.pick(1, 5), elements + 2);
  std::string init = d_.coin() ? "0.25" : "f32(b) * 0.5", body;
  switch (d_.pick(0, 3)) {
    case 0: body = "a * 0.5 + x"; break;
    case 1: body = "max(x, a)"; break;
    case 2: body = "x"; break;
    default: body = "a + x * 0.0625"; d_.rounds();
  }
  if (shape.size() == 2) {
    const std::string width = std::to_string(shape[1]);
    init = fmt::format("generate({}, fun j => {} + f32(j) * 0.25)", width, init);
    switch (d_.pick(0, 2)) {
      case 0: body = fmt::format("generate({}, fun j => let a = acc[j] in let x = row[j] in {})", width, body); break;
      case 1: body = fmt::format("zip(reverse(acc), row) |> map(fun (a, x) => {})", body); break;
      default: body = fmt::format("zip(row, acc) |> map(fun (x, a) => {})", body);
    }
  }
  d_.count("reduceByIndex");
  const std::string function = fmt::format("fun ({}) => {}", shape.size() == 2 ? "acc, row" : "a, x", body);
  const std::string result = fmt::format(
      "let {0} = {1} in reduceByIndex(generate({2}, fun b => {3}), {4}, zip(generate({5}, fun i => {6}), {0}))", v,
      parenthesised(e), count, init, function, shape[0], key);
  shape[0] = elements;
  return parenthesised(result);
}

Arrays::Text Arrays::iterate(const std::string& e, Shape& shape) {
  if (shape.size() != 2) return std::nullopt;
  d_.count("iterate");
  const std::string v = d_.fresh();
  return fmt::format("iterate({}, fun {} => map(fun r => map(fun a => {}, r), {}), {})", rows_.repetitions(), v,
                     d_.step("a"), v, e);
}

Arrays::Text Arrays::iterateWhile(const std::string& e, Shape& shape) {
  if (!d_.isExact()) return std::nullopt;
  d_.count("iterateWhile");
  const std::int64_t steps = d_.pick(0, 5);
  return mapOver(e, shape.size() - 1, [&](const std::string& v) {
    return fmt::format(
        "iterateWhile({0}, fun (a, c) => a + c < 3.3, fun (a, c) => ({1}, a * 0.5 + c), ({2}, {2} * 0.25)).{3}", steps,
        d_.scalar("a"), v, d_.coin() ? 0 : 1);
  });
}

// ------------------------------------------------------------------------------------------------------------ choices

// Indices of which some are out of range.
Arrays::Text Arrays::guard(const std::string& e, Shape& shape) {
  if (shape.size() != 1 || !d_.isExact()) return std::nullopt;
  d_.count("guard");
  const std::string v = d_.fresh();
  const std::int64_t n = shape[0];
  shape[0] = d_.pick(1, 8);
  const std::string index = d_.coin() ? fmt::format("i * 3 - {}", d_.pick(0, 4))
                                      : fmt::format("i32({}[i % {}] * 8.0) * {}", v, n, d_.coin() ? "1" : "1000000");
  return fmt::format(
      "let {0} = {1} in generate({2}, fun i => let k = {3} in if k >= 0 && k < {4} then let e = {0}[k] in {5} else "
      "0.25)",
      v, parenthesised(e), shape[0], index, n, d_.scalar("e"));
}

Arrays::Text Arrays::conditional(const std::string& e, Shape& shape) {
  if (!d_.isExact()) return std::nullopt;
  d_.count("conditional");
  const std::string v = d_.fresh();
  std::string first = v;
  for (std::size_t i = 0; i < shape.size(); i++) first += "[0]";
  const std::string mapped = mapOver(v, shape.size() - 1, [&](const std::string& x) { return d_.scalar(x); });
  const std::string other = d_.coin() ? v : fmt::format("reorder(reverse, {})", v);
  return fmt::format("let {0} = {1} in if {2} > 0.0 then {3} else {4}", v, parenthesised(e), first,
                     d_.coin() ? mapped : other, d_.coin() ? v : mapped);
}

// ------------------------------------------------------------------------------------------------------- definitions

Arrays::Text Arrays::row(const std::string& e, Shape& shape) {
  if (shape.size() != 1) return std::nullopt;
  return rows_.stage(e, std::to_string(shape[0]));
}

Arrays::Text Arrays::byName(const std::string& e, Shape& shape) {
  const std::string v = d_.fresh(), let = fmt::format("let {} = {} in ", v, parenthesised(e));
  if (shape.size() == 3) return fmt::format("map3D({}, {})", d_.named({"a"}, d_.scalar("a")), e);
  if (shape.size() != 2) return std::nullopt;
  switch (d_.pick(0, 3)) {
    case 0: return fmt::format("map2D({}, {})", d_.named({"a"}, d_.scalar("a")), e);
    case 1:
      return let + fmt::format("zipWith2D({0}, {1}, reorder(reverse, {1}))", d_.named({"a", "b"}, "a - b * 0.25"), v);
    case 2:
      return let + fmt::format("let s = reduce2D(0.5, {}, {}) in map2D(fun a => a * 0.5 + s, {})",
                               d_.named({"a", "b"}, "a * 0.5 + b"), v, v);
    default: {
      const std::string name = d_.capturing();
      return fmt::format("let {0} = 0.75 in map2D(fun a => a * {0}, {1})", name, e);
    }
  }
}

}  // namespace lift::differential
