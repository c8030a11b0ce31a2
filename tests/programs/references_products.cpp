// Products within other computations.
#include "programs/reference.hpp"

namespace lift::programs {
namespace {

Tensors heads(const Tensors& in) {
  const Grid q(in, "q"), k(in, "k"), v(in, "v");
  const Int n = q.size(1), d = q.size(2);
  const auto score = [&](Int b, Int i, Int j) {
    return sum(d, [&](Int l) { return q(b, i, l) * k(b, j, l); }) / std::sqrt(static_cast<double>(d));
  };
  Vector weights;  // of b, i, j
  for (Int row = 0; row < q.size(0) * n; row++) {
    const double total = sum(n, [&](Int j) { return std::exp(score(row / n, row % n, j)); });
    for (Int j = 0; j < n; j++) weights.push_back(std::exp(score(row / n, row % n, j)) / total);
  }
  return out(A3{q.size(0), n, d}, [&](Int b, Int i, Int l) {
    return sum(n, [&](Int j) { return weights[(b * n + i) * n + j] * v(b, j, l); });
  });
}

double squared(const Grid& a, Int i, const Grid& b, Int j) {
  return sum(a.size(1), [&](Int l) { return (a(i, l) - b(j, l)) * (a(i, l) - b(j, l)); });
}

Tensors assign(const Tensors& in) {
  const Grid points(in, "points"), centres(in, "centres");
  return out(A1{points.size(0)}, Scalar::i32, [&](Int i) {
    Int best = 0;
    for (Int c = 1; c < centres.size(0); c++)
      if (squared(points, i, centres, c) < squared(points, i, centres, best)) best = c;
    return best;
  });
}

Tensors channelsLast(const Tensors& in) {
  const Grid image(in, "image"), kernels(in, "kernels"), bias(in, "bias");
  return out(A3{image.size(0), image.size(1), kernels.size(0)}, [&](Int y, Int x, Int f) {
    const double total = sum(9, [&](Int p) {
      return sum(image.size(2),
                 [&](Int c) { return image.orZero(y + p / 3 - 1, x + p % 3 - 1, c) * kernels(f, p / 3, p % 3, c); });
    });
    return std::max(total + bias(f), 0.0);
  });
}

Tensors channelsFirst(const Tensors& in) {
  const Grid image(in, "image"), kernels(in, "kernels");
  return out(A3{kernels.size(0), image.size(1) - 2, image.size(2) - 2}, [&](Int f, Int y, Int x) {
    return sum(image.size(0), [&](Int c) {
      return sum(9, [&](Int p) { return image(c, y + p / 3, x + p % 3) * kernels(f, c, p / 3, p % 3); });
    });
  });
}

Tensors separable(const Tensors& in) {
  const Grid image(in, "image"), gx(in, "gx"), gy(in, "gy");
  return filtered(image, 7, 7, clamp, [&](Int i, Int j) { return gy(i) * gx(j); });
}

Tensors volume(const Tensors& in) {
  const Grid x(in, "x"), k(in, "k");
  return out(A3{x.size(0), x.size(1), x.size(2)}, [&](Int z, Int y, Int c) {
    return sum(27, [&](Int p) {
      const Int i = p / 9, j = p / 3 % 3, l = p % 3;
      return x(clamp(z + i - 1, x.size(0)), clamp(y + j - 1, x.size(1)), clamp(c + l - 1, x.size(2))) * k(i, j, l);
    });
  });
}

Tensors layers(const Tensors& in) {
  const Grid x(in, "x"), w1(in, "w1"), b1(in, "b1"), w2(in, "w2"), b2(in, "b2");
  const Int n = x.size(0), h = w1.size(0);
  Vector hidden;
  for (Int i = 0; i < n * h; i++)
    hidden.push_back(std::max(sum(x.size(1), [&](Int l) { return x(i / h, l) * w1(i % h, l); }) + b1(i % h), 0.0));
  return out(A2{n, w2.size(0)}, [&](Int i, Int o) {
    const auto term = [&](Int j) { return hidden[i * h + j] * w2(o, j); };
    return std::max(sum(h, term) + b2(o), 0.0);
  });
}

}  // namespace

void addProducts(Table& table) {
  const std::string file = "products";
  table.add(file, "heads", {{{"b", 2}, {"n", 40}, {"d", 48}}, {{"b", 1}, {"n", 3}, {"d", 2}}}, 200, heads);
  table.addExact(file, "assign", {{{"n", 300}, {"d", 8}, {"k", 56}}, {{"n", 1}, {"d", 1}, {"k", 2}}}, assign);
  table.add(file, "channelsLast", {{{"h", 5}, {"w", 6}, {"c", 4}, {"f", 24}}, {{"h", 2}, {"w", 3}, {"c", 1}, {"f", 1}}},
            200, channelsLast);
  table.add(file, "channelsFirst",
            {{{"h", 5}, {"w", 16}, {"c", 3}, {"f", 8}}, {{"h", 5}, {"w", 11}, {"c", 3}, {"f", 9}}}, 200, channelsFirst);
  table.add(file, "distances", {{{"n", 12}, {"m", 40}, {"d", 9}}, {{"n", 1}, {"m", 1}, {"d", 1}}}, 100,
            [](const Tensors& in) {
              const Grid a(in, "a"), b(in, "b");
              return out(A2{a.size(0), b.size(0)}, [&](Int i, Int j) { return std::sqrt(squared(a, i, b, j)); });
            });
  table.add(file, "columns", {{{"n", 9}, {"m", 40}}, {{"n", 1}, {"m", 1}}}, 100, [](const Tensors& in) {
    const Grid a(in, "a"), x(in, "x");
    return out(A1{a.size(1)}, [&](Int j) { return sum(a.size(0), [&](Int i) { return a(i, j) * x(i); }); });
  });
  table.add(file, "batched", {{{"b", 3}, {"n", 12}, {"m", 21}, {"k", 5}}, {{"b", 1}, {"n", 1}, {"m", 1}, {"k", 1}}},
            100, [](const Tensors& in) {
              const Grid a(in, "a"), c(in, "c");
              return out(A3{a.size(0), a.size(1), c.size(1)}, [&](Int b, Int i, Int j) {
                return sum(a.size(2), [&](Int l) { return a(b, i, l) * c(b, j, l); });
              });
            });
  table.add(file, "separable", {{{"h", 9}, {"w", 32}}, {{"h", 1}, {"w", 2}}}, 200, separable);
  table.add(file, "volume", {{{"d", 3}, {"h", 4}, {"w", 20}}, {{"d", 1}, {"h", 1}, {"w", 1}}}, 200, volume);
  table.add(file, "decomposed", {{{"i", 9}, {"k", 12}, {"l", 20}, {"r", 16}}, {{"i", 1}, {"k", 2}, {"l", 3}, {"r", 1}}},
            200, [](const Tensors& in) {
              const Grid x(in, "x"), b(in, "b"), c(in, "c");
              const Int l = x.size(2);
              return out(A2{x.size(0), b.size(1)}, [&](Int i, Int q) {
                return sum(x.size(1) * l, [&](Int p) { return x(i, p / l, p % l) * b(p / l, q) * c(p % l, q); });
              });
            });
  table.add(file, "layers", {{{"n", 12}, {"i", 9}, {"h", 40}, {"o", 10}}}, 400, layers);
}

}  // namespace lift::programs
