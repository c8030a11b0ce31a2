// Vectors, matrices, data that moves, scans.
#include <fmt/ranges.h>

#include "programs/reference.hpp"

namespace lift::programs {
namespace {

// ---- vectors

void vectors(Table& table) {
  const std::vector<Sizes> sizes{{{"n", 1024}}, {{"n", 37}}, {{"n", 1}}};
  table.add("scal", "main", sizes, 1, [](const Tensors& in) {
    const Grid alpha(in, "alpha"), x(in, "x");
    return out(A1{x.size(0)}, [&](Int i) { return alpha() * x(i); });
  });
  table.add("asum", "main", sizes, 1024, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(sum(x.size(0), [&](Int i) { return std::fabs(x(i)); }));
  });
  table.add("vector_add", "main", sizes, 1, [](const Tensors& in) {
    const Grid x(in, "x"), y(in, "y");
    return out(A1{x.size(0)}, [&](Int i) { return x(i) + y(i); });
  });
  table.add("saxpy", "main", sizes, 2, [](const Tensors& in) {
    const Grid alpha(in, "alpha"), x(in, "x"), y(in, "y");
    return out(A1{x.size(0)}, [&](Int i) { return alpha() * x(i) + y(i); });
  });

  const Reference dot = [](const Tensors& in) {
    const Grid x(in, "x"), y(in, "y");
    return out(sum(x.size(0), [&](Int i) { return x(i) * y(i); }));
  };
  table.add("dot", "main", sizes, 1024, dot);
  table.add("dot_two_kernels", "main", {{{"n", 1024}}, {{"n", 128}}}, 1024, dot);
  table.add("dot_vectors", "main", {{{"n", 1024}}, {{"n", 4}}}, 1024, dot);

  const Reference total = [](const Tensors& in) {
    const Grid x(in, "x");
    return out(sum(x.size(0), [&](Int i) { return x(i); }));
  };
  for (const char* entry : {"halving", "several", "unrolled"})
    table.add("reduction", entry, {{{"n", 1024}}, {{"n", 128}}}, 1024, total);
  table.add("reduction", "severalThenTree", {{{"n", 1024}}, {{"n", 256}}}, 1024, total);
}

// ---- matrices

Reference matrixProduct(bool transposeA, bool transposeB) {
  return [=](const Tensors& in) {
    const Grid a(in, "a"), b(in, "b");
    const Int m = a.size(transposeA ? 1 : 0), k = a.size(transposeA ? 0 : 1), n = b.size(transposeB ? 0 : 1);
    return out(A2{m, n}, [&](Int i, Int j) { return product(a, transposeA, b, transposeB, k, i, j); });
  };
}

void matrices(Table& table) {
  table.add("gemv_n", "main", {{{"m", 64}, {"n", 64}}, {{"m", 3}, {"n", 17}}, {{"m", 1}, {"n", 1}}}, 64,
            [](const Tensors& in) {
              const Grid alpha(in, "alpha"), beta(in, "beta"), a(in, "a"), x(in, "x"), y(in, "y");
              return out(A1{a.size(0)}, [&](Int i) {
                return alpha() * sum(a.size(1), [&](Int j) { return a(i, j) * x(j); }) + beta() * y(i);
              });
            });
  table.add("gemv_t", "main", {{{"m", 64}, {"n", 64}}, {{"m", 3}, {"n", 17}}, {{"m", 1}, {"n", 1}}}, 64,
            [](const Tensors& in) {
              const Grid alpha(in, "alpha"), beta(in, "beta"), a(in, "a"), x(in, "x"), y(in, "y");
              return out(A1{a.size(1)}, [&](Int j) {
                return alpha() * sum(a.size(0), [&](Int i) { return a(i, j) * x(i); }) + beta() * y(j);
              });
            });

  const std::vector<Sizes> odd{
      {{"m", 16}, {"k", 16}, {"n", 16}}, {{"m", 3}, {"k", 5}, {"n", 7}}, {{"m", 1}, {"k", 1}, {"n", 1}}};
  const std::vector<Sizes> tiles{
      {{"m", 16}, {"k", 16}, {"n", 16}}, {{"m", 4}, {"k", 8}, {"n", 12}}, {{"m", 4}, {"k", 4}, {"n", 4}}};
  table.add("mm", "nn", odd, 16, matrixProduct(false, false));
  table.add("mm", "nt", odd, 16, matrixProduct(false, true));
  table.add("mm", "tn", odd, 16, matrixProduct(true, false));
  table.add("mm", "tt", odd, 16, matrixProduct(true, true));
  table.add("mm_tiled", "main", tiles, 16, matrixProduct(false, false));
  table.add("mm_register_blocked", "main", tiles, 16, matrixProduct(false, false));
  table.add("mm_register_blocked", "main", {{{"m", 8}, {"k", 3}, {"n", 4}}}, 16, matrixProduct(false, false));
  table.add("sgemm", "main", odd, 16, [](const Tensors& in) {
    const Grid alpha(in, "alpha"), beta(in, "beta"), a(in, "a"), b(in, "b"), c(in, "c");
    return out(A2{a.size(0), b.size(1)},
               [&](Int i, Int j) { return alpha() * product(a, false, b, false, a.size(1), i, j) + beta() * c(i, j); });
  });
}

// ---- data movement

void movement(Table& table) {
  const Sizes abc{{"a", 2}, {"b", 3}, {"c", 5}};
  const Sizes abcd{{"a", 2}, {"b", 3}, {"c", 4}, {"d", 5}};
  // Dimension k of the result is dimension order[k] of x.
  const auto transposed = []<std::size_t N>(const std::array<std::size_t, N>& order) {
    return [order](const Tensors& in) {
      const Grid x(in, "x");
      std::array<Int, N> shape;
      for (std::size_t k = 0; k < N; k++) shape[k] = x.size(order[k]);
      return out(shape, [&](auto... index) {
        std::array<Int, N> from;
        for (std::size_t k = 0; k < N; k++) from[order[k]] = std::array{index...}[k];
        return std::apply(x, from);
      });
    };
  };
  const auto matrix = transposed(std::array<std::size_t, 2>{1, 0});
  table.addExact("transpose", "dims10", {{{"a", 32}, {"b", 32}}, {{"a", 3}, {"b", 7}}, {{"a", 1}, {"b", 4}}}, matrix);
  table.addExact("transpose", "tiled", {{{"m", 32}, {"n", 32}}, {{"m", 8}, {"n", 24}}}, matrix);
  using Three = std::array<std::size_t, 3>;
  for (const Three& order : {Three{0, 2, 1}, Three{1, 0, 2}, Three{1, 2, 0}, Three{2, 0, 1}, Three{2, 1, 0}})
    table.addExact("transpose", fmt::format("dims{}", fmt::join(order, "")), {abc}, transposed(order));
  using Four = std::array<std::size_t, 4>;
  for (const Four& order : {Four{0, 2, 1, 3}, Four{2, 3, 0, 1}, Four{3, 2, 1, 0}})
    table.addExact("transpose", fmt::format("dims{}", fmt::join(order, "")), {abcd}, transposed(order));
  for (const char* entry : {"reversed", "unplaced"})
    table.addExact("images", entry, {{{"n", 1500}}, {{"n", 5}}, {{"n", 1}}}, [](const Tensors& in) {
      const Grid x(in, "x");
      return out(A1{x.size(0)}, [&](Int i) {
        const double v = x(x.size(0) - 4 + i % 4 - i / 4 * 4);
        return 4 * v * v;
      });
    });

  // 2 x + 1 of the element that stands at source(i, n).
  const auto moved = [](const auto& source) {
    return Reference([source](const Tensors& in) {
      const Grid x(in, "x");
      return out(A1{x.size(0)}, [&](Int i) { return 2 * x(source(i, x.size(0))) + 1; });
    });
  };
  const std::vector<Sizes> n{{{"n", 128}}, {{"n", 8}}};
  // A matrix of n/8 rows of 8, read column by column, and the way back.
  const auto byColumns = [](Int i, Int n) { return (i % (n / 8)) * 8 + i / (n / 8); };
  const auto byRows = [](Int i, Int n) { return (i % 8) * (n / 8) + i / 8; };
  table.add("movement", "gatherReverse", n, 2, moved([](Int i, Int n) { return n - 1 - i; }));
  table.add("movement", "scatterReverse", n, 2, moved([](Int i, Int n) { return n - 1 - i; }));
  table.add("movement", "gatherStride", n, 2, moved(byColumns));
  table.add("movement", "scatterStride", n, 2, moved(byRows));
  table.add("movement", "strideBothSides", n, 2, moved([](Int i, Int) { return i; }));
  table.add("movement", "rotate", n, 2, moved([](Int i, Int n) { return (i + 3) % n; }));
  table.add("movement", "transposed", n, 2, moved(byRows));
  table.add(
      "movement", "indexed", {{{"m", 100}, {"n", 13}}}, 2, [](Tensors& in) { absolute(in, "index"); },
      [](const Tensors& in) {
        const Grid index(in, "index"), x(in, "x");
        return out(A1{index.size(0)}, [&](Int i) { return 2 * x(static_cast<Int>(index(i))) + 1; });
      });
  table.add("movement", "halves", {{{"n", 9}, {"m", 6}}, {{"n", 3}, {"m", 2}}}, 2, [](const Tensors& in) {
    const Grid x(in, "x"), y(in, "y");
    const Int n = x.size(0);
    return out(A1{n + y.size(0) - 3}, [&](Int i) { return 2 * (i + 2 < n ? x(i + 2) : y(i + 2 - n)) + 1; });
  });
}

// ---- scans

// Sums of the elements before i, and of i too when inclusive.
Reference prefixSums(bool inclusive, Scalar scalar) {
  return [=](const Tensors& in) {
    const Grid x(in, "x");
    return out(A1{x.size(0)}, scalar, [&](Int i) { return sum(inclusive ? i + 1 : i, [&](Int j) { return x(j); }); });
  };
}

void scans(Table& table) {
  const std::vector<Sizes> sizes{{{"n", 1000}}, {{"n", 7}}, {{"n", 1}}};
  table.add("scan", "inclusive", sizes, 1000, prefixSums(true, Scalar::f32));
  table.add("scan", "exclusive", sizes, 1000, prefixSums(false, Scalar::f32));
  table.addExact("scan", "integers", sizes, prefixSums(true, Scalar::i32));
  table.addExact("scan", "blocked", {{{"n", 1000}}, {{"n", 10}}}, prefixSums(true, Scalar::i32));
}

}  // namespace

void addBasics(Table& table) {
  vectors(table);
  matrices(table);
  movement(table);
  scans(table);
}

}  // namespace lift::programs
