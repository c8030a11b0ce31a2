// Products with matrices, bilinear forms, block-circulant products and shifts.
#include <fmt/format.h>

#include <random>

#include "fields.hpp"
#include "layout_text.hpp"
#include "lift/opset.hpp"
#include "lift/parallel.hpp"
#include "lift/text.hpp"
#include "products.hpp"

namespace lift::opset {

namespace {

using Tensors = std::map<std::string, Tensor>;
using Shape = std::vector<std::int64_t>;

// An array that a workload reads or gives.
struct Array {
  std::string_view name;
  Shape shape;
};

// What the operators of this file have in common. `products`: of one result, for the tolerance (conv.hpp); 0: exact.
Workload workload(std::string_view op, const Fields& fields, const std::vector<Key>& keys, const std::string& text,
                  std::int64_t products) {
  constexpr double roundoff = 0x1p-24;
  const double tolerance = products == 0 ? 0 : 2 * static_cast<double>(products + 4) * roundoff;
  std::string descriptor;
  for (const Key& k : keys)
    if (fields.at(k.key) != k.otherwise) descriptor += fmt::format("{}{}", k.key, fields.at(k.key));
  Workload w = programWorkload(parseProgram(*addSource(fmt::format("<{} {}>", op, descriptor), text)), tolerance);
  w.op = op;
  w.descriptor = descriptor;
  w.label = fields.name();
  w.judge = "plain loops";
  w.judgedRows = {};
  return w;
}

// Checks that the arrays can be indexed; sums their bytes.
std::int64_t bytesOf(Fields& fields, const std::vector<Array>& arrays) {
  std::int64_t bytes = 0;
  for (const Array& a : arrays) {
    checkElements(fields, a.name, a.shape);
    std::int64_t ofArray = sizeof(float);
    for (const std::int64_t n : a.shape) ofArray *= n;
    bytes += ofArray;
  }
  fields.check();
  return bytes;
}

// Element i of the result for every i, on all cores.
template <class Element>
Tensors computed(const Shape& shape, const Element& element) {
  Tensor out(Scalar::f32, shape);
  float* to = out.data<float>();
  const std::int64_t rows = shape.size() > 1 ? shape[0] : 1, columns = out.size() / rows;
  parallelFor(rows, [&](std::int64_t row) {
    for (std::int64_t i = row * columns; i < (row + 1) * columns; i++) to[i] = static_cast<float>(element(i));
  });
  return {{"out", std::move(out)}};
}

// Sum of n products of x[i * strideX] and y[i * strideY].
double dot(const float* x, std::int64_t strideX, const float* y, std::int64_t strideY, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; i++) sum += double{x[i * strideX]} * double{y[i * strideY]};
  return sum;
}

}  // namespace

Workload gemv(std::string_view text) {
  static const std::vector<Key> keys = {{"m", "rows"}, {"k", "columns"}};
  Fields f("gemv", text, keys);
  f.check();
  const std::int64_t m = f.at("m"), k = f.at("k");
  const std::int64_t bytes = bytesOf(f, {{"a", {m, k}}, {"x", {k}}, {"out", {m}}});
  Workload w = workload("gemv", f, keys,
                        fmt::format("def gemv(a: {}, x: {}) = matvec(a, x)\n", typeText({m, k}), typeText({k})), k);
  w.operations = 2 * m * k;
  w.tensorBytes = bytes;
  w.reference = [=](const Tensors& in) {
    const float *a = in.at("a").data<float>(), *x = in.at("x").data<float>();
    return computed({m}, [=](std::int64_t i) { return dot(a + i * k, 1, x, 1, k); });
  };
  return w;
}

Workload gemm(std::string_view text) {
  static const std::vector<Key> keys = {
      {"b", "products", 1, 1}, {"m", "rows"}, {"n", "columns"}, {"k", "elements of a sum"}};
  Fields f("gemm", text, keys);
  f.check();
  const std::int64_t b = f.at("b"), m = f.at("m"), n = f.at("n"), k = f.at("k");
  const auto shape = [b](std::int64_t rows, std::int64_t columns) {
    return b == 1 ? Shape{rows, columns} : Shape{b, rows, columns};
  };
  const std::int64_t bytes = bytesOf(f, {{"a", shape(m, k)}, {"b", shape(k, n)}, {"out", shape(m, n)}});
  Workload w = workload("gemm", f, keys,
                        fmt::format("def gemm(a: {}, b: {}) = {}\n", typeText(shape(m, k)), typeText(shape(k, n)),
                                    b == 1 ? "matmul(a, b)" : "map(matmul, zip(a, b))"),
                        k);
  w.operations = 2 * b * m * n * k;
  w.tensorBytes = bytes;
  w.reference = [=](const Tensors& in) {
    const float* left = in.at("a").data<float>();
    // The columns of b as rows: a large b is read in order.
    std::vector<float> columns(static_cast<std::size_t>(b * n * k));
    const float* right = in.at("b").data<float>();
    parallelFor(b * n, [&](std::int64_t c) {
      for (std::int64_t l = 0; l < k; l++)
        columns[static_cast<std::size_t>(c * k + l)] = right[(c / n * k + l) * n + c % n];
    });
    return computed(shape(m, n), [&](std::int64_t i) {
      const std::int64_t batch = i / (m * n), row = i / n % m, column = i % n;
      return dot(left + (batch * m + row) * k, 1, columns.data() + (batch * n + column) * k, 1, k);
    });
  };
  return w;
}

Workload bilinear(std::string_view text) {
  static const std::vector<Key> keys = {
      {"i", "rows"}, {"j", "columns"}, {"k", "left elements"}, {"l", "right elements"}};
  Fields f("bilinear", text, keys);
  f.check();
  const std::int64_t i = f.at("i"), j = f.at("j"), k = f.at("k"), l = f.at("l");
  const std::int64_t bytes =
      bytesOf(f, {{"a", {i, k}}, {"b", {j, k, l}}, {"c", {i, l}}, {"out", {i, j}}, {"the array of b c", {i, j, k}}});
  // A matrix product, b c, and for every row of it one with a vector.
  Workload w = workload("bilinear", f, keys,
                        fmt::format(R"(def bilinear(a: {}, b: {}, c: {}) =
  let bc = matmul(c, transpose(join(b))) |> map(split({})) in
  zip(bc, a) |> map(fun (matrix, row) => matvec(matrix, row))
)",
                                    typeText({i, k}), typeText({j, k, l}), typeText({i, l}), k),
                        k * l);
  w.operations = 2 * i * j * k * l;
  w.tensorBytes = bytes - 4 * i * j * k;
  w.reference = [=](const Tensors& in) {
    const float *a = in.at("a").data<float>(), *b = in.at("b").data<float>(), *c = in.at("c").data<float>();
    return computed({i, j}, [=](std::int64_t at) {
      double sum = 0;
      for (std::int64_t x = 0; x < k; x++)
        sum += double{a[at / j * k + x]} * dot(b + (at % j * k + x) * l, 1, c + at / j * l, 1, l);
      return sum;
    });
  };
  return w;
}

Workload blockCirculant(std::string_view text) {
  static const std::vector<Key> keys = {
      {"n", "vectors", 1, 1}, {"p", "rows of blocks"}, {"q", "columns of blocks"}, {"b", "elements of a block"}};
  Fields f("bcm", text, keys);
  f.check();
  const std::int64_t n = f.at("n"), p = f.at("p"), q = f.at("q"), b = f.at("b");
  const std::int64_t bytes =
      bytesOf(f, {{"w", {p, q, b}}, {"x", {n, q * b}}, {"out", {n, p * b}}, {"the matrix", {p * b, q * b}}});
  // Row r of a block is its first column in reverse from its element r on, again from the beginning after the end.
  Workload w = workload(
      "bcm", f, keys,
      fmt::format(R"(def circulant(column: [{0}]f32) = column |> reverse |> padWrap(0, {1}) |> slide({0}, 1) |> reverse
def bcm(w: {2}, x: {3}) =
  let rows = w |> map(fun blocks => blocks |> map(circulant) |> transpose |> map(join)) |> join in
  matmul(x, transpose(rows))
)",
                  b, b - 1, typeText({p, q, b}), typeText({n, q * b})),
      q * b);
  w.operations = 2 * n * p * q * b * b;
  w.tensorBytes = bytes - 4 * p * b * q * b;
  w.reference = [=](const Tensors& in) {
    const float *weights = in.at("w").data<float>(), *x = in.at("x").data<float>();
    return computed({n, p * b}, [=](std::int64_t at) {
      const std::int64_t row = at % (p * b), r = row % b;
      double sum = 0;
      for (std::int64_t s = 0; s < q * b; s++)
        sum += double{weights[(row / b * q + s / b) * b + (r - s % b + b) % b]} * double{x[at / (p * b) * q * b + s]};
      return sum;
    });
  };
  return w;
}

Workload shift(std::string_view text) {
  static const std::vector<Key> keys = {{"mb", "images", 1, 1},
                                        {"c", "channels"},
                                        {"h", "rows"},
                                        {"w", "columns"},
                                        {"k", "places of a row and of a column"},
                                        {"s", "stride", 1, 1},
                                        {"p", "padding", 0, 0},
                                        {"d", "elements between places", 0, 0}};
  Fields f("shift", text, keys);
  f.check();
  const std::int64_t mb = f.at("mb"), c = f.at("c"), h = f.at("h"), wide = f.at("w"), k = f.at("k"), s = f.at("s"),
                     p = f.at("p"), d = f.at("d") + 1, extent = (k - 1) * d + 1;
  if (extent > std::min(h, wide) + 2 * p)
    f.error("k", fmt::format("windows of {} elements are larger than the padded image", extent));
  f.check();
  const std::int64_t rows = (h + 2 * p - extent) / s + 1, columns = (wide + 2 * p - extent) / s + 1;
  const std::int64_t bytes = bytesOf(f, {{"images", {mb, h, wide, c}}, {"at", {c}}, {"out", {mb, rows, columns, c}}});
  const std::string padded = p == 0 ? "image" : fmt::format("pad2DChannels({0}, {0}, {0}, {0}, 0.0, image)", p);
  const std::string places =
      d == 1 ? "window" : fmt::format("map(fun row => join(slide(1, {0}, row)), join(slide(1, {0}, window)))", d);
  Workload w = workload("shift", f, keys,
                        fmt::format(R"(def shifted(image, at) =
  {} |> slide2D({}, {}, {}, {})
  |> map2D(fun window => zip(transpose(join({})), at) |> map(fun (places, i) => places[i]))
def shift(images: {}, at: [{}]i32) = images |> map(fun image => shifted(image, at))
)",
                                    padded, extent, extent, s, s, places, typeText({mb, h, wide, c}), c),
                        0);
  w.operations = mb * rows * columns * c;
  w.tensorBytes = bytes;
  w.inputs = [=](std::uint64_t seed) {
    Tensor in(Scalar::f32, {mb, h, wide, c}), at(Scalar::i32, {c});
    fillRandom(in, seed, "images");
    std::mt19937_64 random(seed);
    for (std::int64_t i = 0; i < c; i++)
      at.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(k * k));
    return Tensors{{"images", std::move(in)}, {"at", std::move(at)}};
  };
  w.reference = [=](const Tensors& tensors) {
    const float* in = tensors.at("images").data<float>();
    const std::int32_t* at = tensors.at("at").data<std::int32_t>();
    return computed({mb, rows, columns, c}, [=](std::int64_t i) {
      const std::int64_t channel = i % c, place = at[channel];
      const std::int64_t y = i / c / columns % rows * s - p + place / k * d,
                         x = i / c % columns * s - p + place % k * d;
      const bool inside = y >= 0 && y < h && x >= 0 && x < wide;
      return inside ? in[((i / c / columns / rows * h + y) * wide + x) * c + channel] : 0.0F;
    });
  };
  return w;
}

}  // namespace lift::opset
