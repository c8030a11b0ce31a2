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

// ---- particles and signals

Tensors bodies(const Tensors& in) {
  const Grid dt(in, "dt"), p(in, "position"), v(in, "velocity"), mass(in, "mass");
  const Int n = p.size(0);
  const auto velocity = [&](Int i, Int lane) {
    return v(i, lane) + dt() * sum(n, [&](Int j) {
                          const double r2 =
                              sum(3, [&](Int k) { return (p(j, k) - p(i, k)) * (p(j, k) - p(i, k)); }) + 0.01;
                          return (p(j, lane) - p(i, lane)) * mass(j) / (r2 * std::sqrt(r2));
                        });
  };
  return {{"out.0", make(A2{n, 4}, [&](Int i, Int lane) { return p(i, lane) + dt() * velocity(i, lane); })},
          {"out.1", make(A2{n, 4}, velocity)}};
}

void particles(Table& table) {
  const Prepare flat = [](Tensors& in) {
    for (const char* name : {"position", "velocity"})
      for (Int i = 3; i < in.at(name).size(); i += 4) in.at(name).set(i, 0);
    absolute(in, "mass");
  };
  // Close bodies multiply errors of their distance by its inverse third power.
  table.add("nbody", "main", {{{"n", 64}}, {{"n", 1}}, {{"n", 17}}}, 1000, flat, bodies);
  table.add("nbody", "tiled", {{{"n", 64}}, {{"n", 8}}}, 1000, flat, bodies);

  table.add("mriq", "phiMag", {{{"k", 128}}}, 3, [](const Tensors& in) {
    const Grid r(in, "phiR"), i(in, "phiI");
    return out(A1{r.size(0)}, [&](Int k) { return r(k) * r(k) + i(k) * i(k); });
  });
  // The phase is up to six turns: its rounding counts twenty-fold in every term.
  table.add("mriq", "q", {{{"n", 64}, {"k", 128}}, {{"n", 3}, {"k", 1}}}, 20 * 128, [](const Tensors& in) {
    const Grid x(in, "x"), y(in, "y"), z(in, "z"), kx(in, "kx"), ky(in, "ky"), kz(in, "kz"), mag(in, "mag");
    const auto phase = [&](Int i, Int k) { return 2 * std::acos(-1.0) * (kx(k) * x(i) + ky(k) * y(i) + kz(k) * z(i)); };
    const Int n = x.size(0), samples = kx.size(0);
    return Tensors{
        {"out.0",
         make(A1{n}, [&](Int i) { return sum(samples, [&](Int k) { return mag(k) * std::cos(phase(i, k)); }); })},
        {"out.1",
         make(A1{n}, [&](Int i) { return sum(samples, [&](Int k) { return mag(k) * std::sin(phase(i, k)); }); })}};
  });
}

// ---- stencils

Reference threePoints(Border border) {
  return [=](const Tensors& in) {
    const Grid x(in, "x");
    const Int n = x.size(0);
    return out(A1{n}, [&](Int i) { return 0.25 * x(border(i - 1, n)) + 0.5 * x(i) + 0.25 * x(border(i + 1, n)); });
  };
}

// Five steps of the mean of three, on inner points only, then of an array whose edges repeat.
Vector means(Vector x, bool borders) {
  for (int step = 0; step < 5; step++) {
    const Vector old = x;
    const Int n = static_cast<Int>(old.size());
    x.clear();
    for (Int i = borders ? 0 : 1; i < (borders ? n : n - 1); i++)
      x.push_back((old[clamp(i - 1, n)] + old[i] + old[clamp(i + 1, n)]) / 3);
  }
  return x;
}

Reference fiveMeans(bool borders) {
  return [=](const Tensors& in) { return out(means(vectorOf(Grid(in, "x")), borders)); };
}

// Five points of a clamped image, equal weights, several times.
Tensors swapped(const Tensors& in) {
  Tensors now{{"out", in.at("x")}};
  for (int step = 0; step < 4; step++) {
    const Tensors old = now;
    now = filtered(Grid(old, "out"), 3, 3, clamp, [](Int i, Int j) { return i == 1 || j == 1 ? 0.2 : 0.0; });
  }
  return now;
}

void stencils(Table& table) {
  const std::vector<Sizes> lines{{{"n", 128}}, {{"n", 5}}, {{"n", 1}}};
  table.add("stencil1d", "clamped", lines, 3, threePoints(clamp));
  table.add("stencil1d", "mirrored", lines, 3, threePoints(mirror));
  table.add("stencil1d", "wrapped", lines, 3, threePoints(wrap));
  table.add("stencil1d", "tiled", {{{"n", 128}}, {{"n", 16}}}, 3, threePoints(clamp));
  table.add("stencil1d", "constant", lines, 3, [](const Tensors& in) {
    const Grid x(in, "x");
    const auto at = [&](Int i) { return 0 <= i && i < x.size(0) ? x(i) : 1.5; };
    return out(A1{x.size(0)}, [&](Int i) { return 0.25 * at(i - 1) + 0.5 * at(i) + 0.25 * at(i + 1); });
  });
  table.add("stencil1d", "inside", {{{"n", 128}}, {{"n", 3}}}, 3, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A1{x.size(0) - 2}, [&](Int i) { return 0.25 * x(i) + 0.5 * x(i + 1) + 0.25 * x(i + 2); });
  });
  const auto wide = [](Border border) {
    return [border](const Tensors& in) {
      const Grid x(in, "x");
      return out(A1{x.size(0) + 24}, [&](Int i) { return 2 * x(border(i - 20, x.size(0))); });
    };
  };
  table.add("stencil1d", "wideMirror", {{{"n", 3}}, {{"n", 1}}, {{"n", 64}}}, 1, wide(mirror));
  table.add("stencil1d", "wideWrap", {{{"n", 3}}, {{"n", 1}}, {{"n", 64}}}, 1, wide(wrap));

  table.add("temporal", "main", {{{"n", 128}}, {{"n", 2}}}, 15, fiveMeans(true));
  table.add("temporal", "shrinking", {{{"n", 138}}, {{"n", 11}}}, 15, fiveMeans(false));
  table.add("temporal", "blocked", {{{"n", 138}}, {{"n", 26}}}, 15, fiveMeans(false));

  const auto blur = [](bool alongX, bool alongY) {
    return [=](const Tensors& in) {
      const Grid weights(in, "weights");
      return filtered(Grid(in, "image"), alongY ? 17 : 1, alongX ? 17 : 1, clamp,
                      [&](Int i, Int j) { return (alongY ? weights(i) : 1.0) * (alongX ? weights(j) : 1.0); });
    };
  };
  const std::vector<Sizes> images{{{"h", 20}, {"w", 32}}, {{"h", 3}, {"w", 5}}};
  table.add("blur17", "x", images, 17, blur(true, false));
  table.add("blur17", "y", images, 17, blur(false, true));
  table.add("blur17", "xy", images, 100, blur(true, true));
  table.add("blur17", "tiledX", {{{"h", 2}, {"w", 48}}, {{"h", 1}, {"w", 16}}}, 17, blur(true, false));

  const std::vector<Sizes> grids{{{"h", 32}, {"w", 32}}, {{"h", 5}, {"w", 3}}};
  const std::vector<Sizes> dots{{{"h", 1}, {"w", 1}}};
  const Reference listing1 = [](const Tensors& in) {
    const Grid weights(in, "weights"), image(in, "inData");
    return out(A2{image.size(0), image.size(1)}, [&](Int y, Int x) {
      return sum(
          3, [&](Int i) { return sum(3, [&](Int j) { return weights(i, j) * image.orZero(y + i - 1, x + j - 1); }); });
    });
  };
  const Reference gaussian3 = [](const Tensors& in) {
    return filtered(Grid(in, "inData"), 3, 3, clamp,
                    [](Int i, Int j) { return (i == 1 ? 2 : 1) * (j == 1 ? 2 : 1) / 16.0; });
  };
  const Reference gaussian5 = [](const Tensors& in) {
    const Grid weights(in, "weights");
    return filtered(Grid(in, "inData"), 5, 5, mirror, [&](Int i, Int j) { return weights(i, j); });
  };
  for (const auto& sizes : {grids, dots}) {
    table.add("stencil2d", "stencil2D", sizes, 9, listing1);
    table.add("stencil2d", "gaussian3", sizes, 9, gaussian3);
    table.add("stencil2d", "gaussian5", sizes, 25, gaussian5);
  }

  const std::vector<Sizes> inner{{{"h", 12}, {"w", 15}}, {{"h", 3}, {"w", 3}}};
  const std::vector<Sizes> volumes{{{"d", 7}, {"h", 6}, {"w", 5}}, {{"d", 3}, {"h", 3}, {"w", 3}}};
  table.add("jacobi", "five", inner, 5, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A2{x.size(0) - 2, x.size(1) - 2}, [&](Int i, Int j) {
      return 0.2 * (x(i + 1, j + 1) + x(i, j + 1) + x(i + 2, j + 1) + x(i + 1, j) + x(i + 1, j + 2));
    });
  });
  table.add("jacobi", "nine", inner, 9, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A2{x.size(0) - 2, x.size(1) - 2},
               [&](Int i, Int j) { return sum(9, [&](Int k) { return x(i + k / 3, j + k % 3); }) / 9; });
  });
  table.add("jacobi", "seven", volumes, 14, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A3{x.size(0) - 2, x.size(1) - 2, x.size(2) - 2}, [&](Int i, Int j, Int k) {
      const auto at = [&](Int a, Int b, Int c) { return x(i + 1 + a, j + 1 + b, k + 1 + c); };
      return 0.161 * at(0, 0, 1) + 0.162 * at(0, 0, -1) + 0.163 * at(0, 1, 0) + 0.164 * at(0, -1, 0) +
             0.165 * at(1, 0, 0) + 0.166 * at(-1, 0, 0) - 1.67 * at(0, 0, 0);
    });
  });
  table.add("jacobi", "heat", volumes, 14, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A3{x.size(0) - 2, x.size(1) - 2, x.size(2) - 2}, [&](Int i, Int j, Int k) {
      const auto at = [&](Int a, Int b, Int c) { return x(i + 1 + a, j + 1 + b, k + 1 + c); };
      const double around = at(1, 0, 0) + at(-1, 0, 0) + at(0, 1, 0) + at(0, -1, 0) + at(0, 0, 1) + at(0, 0, -1);
      return at(0, 0, 0) + 0.125 * (around - 6 * at(0, 0, 0));
    });
  });
  table.add("hotspot", "main", {{{"h", 16}, {"w", 16}}, {{"h", 1}, {"w", 7}}}, 200, [](const Tensors& in) {
    const Grid cap(in, "cap"), rx(in, "rx"), ry(in, "ry"), rz(in, "rz"), power(in, "power"), t(in, "temperature");
    const Int h = t.size(0), w = t.size(1);
    return out(A2{h, w}, [&](Int i, Int j) {
      const double c = t(i, j);
      const double vertical = t(clamp(i - 1, h), j) + t(clamp(i + 1, h), j) - 2 * c;
      const double horizontal = t(i, clamp(j - 1, w)) + t(i, clamp(j + 1, w)) - 2 * c;
      return c + cap() * (power(i, j) + vertical * ry() + horizontal * rx() + (80 - c) * rz());
    });
  });
  table.addExact("halide_blur", "main", {{{"h", 16}, {"w", 20}}, {{"h", 3}, {"w", 3}}}, [](const Tensors& in) {
    const Grid x(in, "image");
    const auto row = [&](Int i, Int j) { return static_cast<Int>(x(i, j) + x(i, j + 1) + x(i, j + 2)) / 3; };
    return out(A2{x.size(0) - 2, x.size(1) - 2}, Scalar::i32,
               [&](Int i, Int j) { return (row(i, j) + row(i + 1, j) + row(i + 2, j)) / 3; });
  });
}

// ---- layers

struct Layer {
  Int strideY = 1, strideX = 1;
  Int left = 0, right = 0, top = 0, bottom = 0;
  Int tapY = 1, tapX = 1;  // distance of taps
};

// A convolution of one image, channels innermost; reading outside gives zero, negative padding crops.
Tensors convolved(const Layer& l, const Grid& weights, const Grid* biases, const Grid& image) {
  const Int kernels = weights.size(0), kh = weights.size(1), kw = weights.size(2), channels = weights.size(3);
  const Int reachY = l.tapY * (kh - 1) + 1, reachX = l.tapX * (kw - 1) + 1;
  const Int height = image.size(0), width = image.size(1);
  const Int oh = (l.top + height + l.bottom - reachY) / l.strideY + 1;
  const Int ow = (l.left + width + l.right - reachX) / l.strideX + 1;
  return out(A3{oh, ow, kernels}, [&](Int y, Int x, Int k) {
    double acc = biases ? (*biases)(k) : 0.0;
    for (Int i = 0; i < kh; i++)
      for (Int j = 0; j < kw; j++)
        for (Int c = 0; c < channels; c++)
          acc += image.orZero(y * l.strideY - l.top + i * l.tapY, x * l.strideX - l.left + j * l.tapX, c) *
                 weights(k, i, j, c);
    return acc;
  });
}

Reference convolution(const Layer& l) {
  return [=](const Tensors& in) {
    const Grid biases(in, "biases");
    return convolved(l, Grid(in, "weights"), &biases, Grid(in, "input"));
  };
}

Tensors batched(const Tensors& in) {
  const Grid biases(in, "biases"), input(in, "input");
  std::vector<Tensors> images;
  for (Int n = 0; n < input.size(0); n++) {
    const Tensors image{{"image", make(A3{input.size(1), input.size(2), input.size(3)},
                                       [&](Int i, Int j, Int c) { return input(n, i, j, c); })}};
    images.push_back(convolved({1, 1, 1, 1, 1, 1}, Grid(in, "weights"), &biases, Grid(image, "image")));
  }
  const std::vector<Int>& shape = images[0].at("out").shape;
  return out(A4{input.size(0), shape[0], shape[1], shape[2]},
             [&](Int n, Int i, Int j, Int k) { return Grid(images[static_cast<std::size_t>(n)], "out")(i, j, k); });
}

// Listing 4 at theta 5, sigma 3, kappa 2, omega 6 with 3 by 3 kernels: what each chunk of each window contributes.
Tensors partialSums(const Tensors& in) {
  const Grid weights(in, "weights"), x(in, "input");
  const Int channels = x.size(2), chunkCount = 9 * channels / 6;
  const Int tilesX = (x.size(1) - 5) / 3 + 1, tiles = ((x.size(0) - 5) / 3 + 1) * tilesX;
  return out(A6{tiles, weights.size(0) / 2, 3, chunkCount, 3, 2},
             [&](Int t, Int g, Int wg, Int chunk, Int s, Int kappa) {
               const Int window = wg * 3 + s;
               const Int y0 = t / tilesX * 3 + window / 3, x0 = t % tilesX * 3 + window % 3;
               return sum(6, [&](Int e) {
                 const Int tap = chunk + e * chunkCount;  // elements of a chunk are chunkCount apart
                 const Int i = tap / (3 * channels), j = tap / channels % 3, c = tap % channels;
                 return x(y0 + i, x0 + j, c) * weights(g * 2 + kappa, i, j, c);
               });
             });
}

// The greatest or the mean of windows; the mean counts padding.
Reference pooled(bool greatest, Int size, Int step, Int padding) {
  return [=](const Tensors& in) {
    const Grid x(in, "x");
    const Int oh = (x.size(0) + 2 * padding - size) / step + 1, ow = (x.size(1) + 2 * padding - size) / step + 1;
    return out(A3{oh, ow, x.size(2)}, [&](Int i, Int j, Int c) {
      double most = -INFINITY, total = 0;
      for (Int a = 0; a < size; a++)
        for (Int b = 0; b < size; b++) {
          const double v = x.orZero(i * step + a - padding, j * step + b - padding, c);
          most = std::max(most, v);
          total += v;
        }
      return greatest ? most : total / static_cast<double>(size * size);
    });
  };
}

void layers(Table& table) {
  table.add("fully_connected", "main",
            {{{"outputs", 10}, {"inputs", 33}, {"batch", 3}}, {{"outputs", 1}, {"inputs", 1}, {"batch", 1}}}, 34,
            [](const Tensors& in) {
              const Grid weights(in, "weights"), biases(in, "biases"), x(in, "x");
              return out(A2{x.size(0), weights.size(0)}, [&](Int n, Int o) {
                return std::max(0.0, biases(o) + sum(x.size(1), [&](Int i) { return x(n, i) * weights(o, i); }));
              });
            });

  const auto sizes = [](Int k, Int kh, Int kw, Int c, Int h, Int w) {
    return Sizes{{"k", k}, {"kh", kh}, {"kw", kw}, {"c", c}, {"h", h}, {"w", w}};
  };
  const auto conv = [&](const char* entry, const Layer& layer, const std::vector<Sizes>& at) {
    table.add("conv_layer", entry, at, 200, convolution(layer));
  };
  const Layer one{1, 1, 1, 1, 1, 1};
  // The toy layers, then kernels of odd shapes, primes, single channels.
  conv("main", one,
       {sizes(4, 4, 2, 4, 9, 9), sizes(6, 3, 2, 3, 6, 5), sizes(3, 1, 7, 2, 5, 11), sizes(2, 5, 3, 3, 7, 13),
        sizes(1, 3, 3, 1, 7, 5), sizes(5, 2, 2, 1, 6, 6), sizes(1, 3, 3, 7, 5, 5), sizes(2, 3, 3, 3, 1, 1)});
  conv("unpadded", {},
       {sizes(4, 4, 2, 4, 9, 9), sizes(3, 1, 1, 5, 4, 7), sizes(2, 1, 7, 3, 2, 11), sizes(1, 1, 1, 1, 1, 1)});
  conv("stride2", {2, 2, 1, 1, 1, 1}, {sizes(3, 3, 3, 5, 9, 9), sizes(2, 3, 3, 3, 8, 10), sizes(2, 1, 1, 3, 7, 5)});
  conv("stride3", {3, 3, 1, 1, 1, 1}, {sizes(3, 3, 3, 2, 11, 13), sizes(2, 5, 3, 1, 9, 10)});
  conv("stride4", {4, 4, 2, 2, 2, 2}, {sizes(2, 11, 11, 3, 17, 19), sizes(3, 3, 3, 2, 10, 7)});
  conv("stride21", {2, 1, 1, 1, 1, 1}, {sizes(2, 3, 5, 2, 9, 8)});
  conv("asymmetric", {1, 1, 0, 2, 1, 3}, {sizes(2, 3, 3, 2, 5, 7), sizes(3, 4, 2, 1, 3, 3)});
  conv("wide", {1, 1, 4, 4, 4, 4}, {sizes(2, 3, 3, 2, 4, 3), sizes(1, 2, 2, 3, 1, 1)});
  conv("cropping", {1, 1, -1, 1, 1, -2}, {sizes(2, 3, 3, 2, 7, 7)});
  conv("dilation2", {1, 1, 2, 2, 2, 2, 2, 2}, {sizes(2, 3, 3, 2, 7, 8), sizes(2, 2, 2, 3, 5, 5)});
  conv("dilation32", {1, 1, 0, 1, 3, 2, 3, 2}, {sizes(3, 3, 3, 2, 8, 9), sizes(2, 2, 3, 1, 7, 5)});
  const auto images = [&](Int n, Sizes s) {
    s.emplace("n", n);
    return s;
  };
  table.add("conv_layer", "batched", {images(3, sizes(2, 3, 3, 3, 5, 4)), images(1, sizes(2, 3, 3, 1, 3, 3))}, 200,
            batched);

  table.add("partial_conv", "main", {{}}, 200, convolution(one));
  table.add("partial_conv", "partial",
            {{{"k", 4}, {"c", 4}, {"h", 8}, {"w", 11}}, {{"k", 2}, {"c", 2}, {"h", 5}, {"w", 5}}}, 50, partialSums);

  const std::vector<Sizes> maps{
      {{"h", 8}, {"w", 6}, {"c", 3}}, {{"h", 7}, {"w", 5}, {"c", 1}}, {{"h", 3}, {"w", 3}, {"c", 2}}};
  table.addExact("pooling", "max2", maps, pooled(true, 2, 2, 0));
  table.addExact("pooling", "max3stride2", maps, pooled(true, 3, 2, 0));
  table.add("pooling", "average2", maps, 5, pooled(false, 2, 2, 0));
  table.add("pooling", "average3stride1", maps, 10, pooled(false, 3, 1, 1));
  table.add("pooling", "globalAverage", maps, 50, [](const Tensors& in) {
    const Grid x(in, "x");
    const Int h = x.size(0), w = x.size(1);
    return out(A1{x.size(2)}, [&](Int c) {
      return sum(h * w, [&](Int i) { return x(i / w, i % w, c); }) / static_cast<double>(h * w);
    });
  });
  table.addExact("pooling", "rectified", maps, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A3{x.size(0), x.size(1), x.size(2)}, [&](Int i, Int j, Int c) { return std::max(0.0, x(i, j, c)); });
  });
  table.add("pooling", "biased", maps, 1, [](const Tensors& in) {
    const Grid x(in, "x"), biases(in, "biases");
    return out(A3{x.size(0), x.size(1), x.size(2)}, [&](Int i, Int j, Int c) { return x(i, j, c) + biases(c); });
  });
  table.add(
      "pooling", "batchNorm", maps, 30, [](Tensors& in) { absolute(in, "variance"); },
      [](const Tensors& in) {
        const Grid x(in, "x"), gamma(in, "gamma"), beta(in, "beta"), mean(in, "mean"), variance(in, "variance");
        return out(A3{x.size(0), x.size(1), x.size(2)}, [&](Int i, Int j, Int c) {
          return gamma(c) * (x(i, j, c) - mean(c)) / std::sqrt(variance(c) + 0.001) + beta(c);
        });
      });
}

// ---- several kernels, barriers

void plans(Table& table) {
  table.add("plans", "padConvolveCrop", {{{"h", 9}, {"w", 8}}, {{"h", 1}, {"w", 1}}}, 9, [](const Tensors& in) {
    const Grid weights(in, "weights"), x(in, "x");
    return out(A2{x.size(0), x.size(1)}, [&](Int i, Int j) {
      return sum(9, [&](Int k) { return weights(k / 3, k % 3) * x.orZero(i + k / 3 - 1, j + k % 3 - 1); });
    });
  });
  table.add("plans", "twoProducts",
            {{{"m", 5}, {"k", 7}, {"l", 3}, {"n", 4}}, {{"m", 1}, {"k", 1}, {"l", 1}, {"n", 1}}}, 50,
            [](const Tensors& in) {
              const Grid a(in, "a"), b(in, "b"), c(in, "c");
              return out(A2{a.size(0), c.size(1)}, [&](Int i, Int j) {
                return sum(c.size(0), [&](Int l) { return product(a, false, b, false, a.size(1), i, l) * c(l, j); });
              });
            });
  table.add("plans", "swapped", {{{"h", 8}, {"w", 9}}, {{"h", 1}, {"w", 2}}}, 30, swapped);

  table.add("barriers", "staging", {{{"n", 48}, {"m", 64}}, {{"n", 16}, {"m", 16}}}, 500, [](const Tensors& in) {
    const Grid x(in, "x"), y(in, "y");
    const double total = sum(y.size(0), [&](Int j) { return y(j); });
    return out(A1{x.size(0)}, [&](Int i) { return x(i) * total; });
  });
  const std::vector<Sizes> groups{{{"n", 64}}, {{"n", 16}}};
  table.add("barriers", "twoArrays", groups, 4, [](const Tensors& in) {
    const Grid x(in, "x"), y(in, "y");
    return out(A1{x.size(0)}, [&](Int i) {
      const Int start = i / 16 * 16, l = i % 16;
      return 2 * x(start + 15 - l) * (y(start + (l + 5) % 16) + 1);
    });
  });
  table.add("barriers", "groupsInLoop", {{{"k", 3}, {"n", 32}}, {{"k", 1}, {"n", 16}}}, 2, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A2{x.size(0), x.size(1)}, [&](Int r, Int i) {
      const double v = x(r, i / 16 * 16 + 15 - i % 16);
      return v * v + 1;
    });
  });
  table.add("barriers", "uneven", groups, 20, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A1{x.size(0) / 16}, [&](Int g) { return 3 * sum(16, [&](Int i) { return x(g * 16 + i); }); });
  });
  table.add("barriers", "nothing", groups, 2, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A1{x.size(0)}, [&](Int i) { return 2 * x(i) - 1; });
  });
}

// ---- applications

Tensors extremes(const Tensors& in) {
  const Grid x(in, "xs");
  Int least = 0, most = 0;
  for (Int i = 1; i < x.size(0); i++) {
    if (x(i) < x(least)) least = i;
    if (x(i) > x(most)) most = i;
  }
  return {{"out.0.0", single(x(least))},
          {"out.0.1", single(static_cast<double>(least), Scalar::i32)},
          {"out.1.0", single(x(most))},
          {"out.1.1", single(static_cast<double>(most), Scalar::i32)}};
}

// Rows take entries in turn, so that with few entries the last are empty; columns are any.
void compressedRows(Tensors& in) {
  Tensor &starts = in.at("starts"), &columns = in.at("columns");
  const Int rows = starts.size() - 1, entries = columns.size();
  for (Int r = 0; r <= rows; r++) starts.set(r, static_cast<double>(std::min(entries, r * ((entries + rows) / rows))));
  starts.set(rows, static_cast<double>(entries));
  for (Int e = 0; e < entries; e++) columns.set(e, static_cast<double>((e * 7 + 3) % in.at("x").size()));
}

Tensors compressedProduct(const Tensors& in) {
  const Grid starts(in, "starts"), columns(in, "columns"), values(in, "values"), x(in, "x");
  return out(A1{starts.size(0) - 1}, [&](Int r) {
    double total = 0;
    for (auto e = static_cast<Int>(starts(r)); e < static_cast<Int>(starts(r + 1)); e++)
      total += values(e) * x(static_cast<Int>(columns(e)));
    return total;
  });
}

Tensors acoustics(const Tensors& in) {
  const Grid before(in, "before"), now(in, "now");
  const A3 room{now.size(0), now.size(1), now.size(2)};
  return out(room, [&](Int z, Int y, Int x) {
    int neighbours = 0;
    double around = 0;
    for (std::size_t axis = 0; axis < 3; axis++)
      for (const Int step : {-1, 1}) {
        A3 at{z, y, x};
        at[axis] += step;
        if (at[axis] < 0 || at[axis] >= room[axis]) continue;
        neighbours++;
        around += now(at[0], at[1], at[2]);
      }
    const double loss = neighbours < 6 ? 0.95 : 1.0;
    return loss * ((2 - 0.25 * neighbours) * now(z, y, x) + 0.25 * around - loss * before(z, y, x));
  });
}

// In floats, operation by operation: whether a point stays near is a matter of bits.
Tensors mandelbrot(Int h, Int w, Int steps, float pixel, float top) {
  const auto count = [=](Int y, Int x) {
    const float cr = static_cast<float>(x) * pixel - 2, ci = static_cast<float>(y) * pixel - top;
    float a = 0, b = 0;
    int near = 0;
    for (Int k = 0; k < steps; k++) {
      const float aa = a * a, bb = b * b, norm = aa + bb;
      if (!(norm <= 4)) break;
      const float difference = aa - bb, product = 2 * a * b;
      a = difference + cr;
      b = product + ci;
      near++;
    }
    return near;
  };
  return out(A2{h, w}, Scalar::i32, count);
}

void applications(Table& table) {
  table.addExact("argminmax", "main", {{{"n", 64}}, {{"n", 7}}, {{"n", 1}}}, extremes);
  table.add("spmv", "main", {{{"rows", 6}, {"nnz", 40}, {"n", 9}}, {{"rows", 5}, {"nnz", 3}, {"n", 1}}}, 40,
            compressedRows, compressedProduct);
  table.add("acoustic", "main", {{{"d", 5}, {"h", 6}, {"w", 7}}, {{"d", 1}, {"h", 1}, {"w", 3}}}, 20, acoustics);
  for (const auto& [h, w, k] : {A3{13, 17, 20}, A3{1, 1, 1}, A3{4, 5, 100}})
    for (const auto& [entry, pixel, top] :
         {std::tuple("main", 0.1875F, 1.125F), std::tuple("endingEarly", 0.1875F, 1.125F),
          std::tuple("zoomed", 0x1p-8F, 1.0F)})
      table.addExact(
          "mandelbrot", entry, {{{"h", h}, {"w", w}, {"k", k}}},
          [h = h, w = w, k = k, pixel = pixel, top = top](const Tensors&) { return mandelbrot(h, w, k, pixel, top); });
}

// ---- conditions that guard

// Indices of which some are far outside.
void farAway(Tensors& in) {
  Tensor& at = in.at("at");
  const Int n = in.count("xs") != 0 ? in.at("xs").size() : 64;
  const std::array<double, 4> far{1 << 30, -1, -(1 << 30), static_cast<double>(n)};
  for (Int i = 0; i < at.size(); i++)
    at.set(i, i % 3 == 1 ? far[static_cast<std::size_t>(i / 3 % 4)] : static_cast<double>(i * 7 % n));
}

void someZeros(Tensors& in) {
  Tensor &a = in.at("a"), &b = in.at("b");
  for (Int i = 0; i < a.size(); i++) a.set(i, static_cast<double>(i * 37 % 101 - 50));
  for (Int i = 0; i < b.size(); i++) b.set(i, static_cast<double>(i * 5 % 7 - 3));
}

void guards(Table& table) {
  table.add("guards", "neighbours", {{{"n", 9}}, {{"n", 1}}}, 4, [](const Tensors& in) {
    const Grid x(in, "xs");
    return out(A1{x.size(0)}, [&](Int i) {
      if (i == 0) return x(0);
      const double d = x(i) - x(i - 1);
      return d * d + d;
    });
  });
  const auto inside = [](const Grid& x, Int i) { return 0 <= i && i < x.size(0); };
  const std::vector<Sizes> gathers{{{"n", 8}, {"m", 30}}, {{"n", 5}, {"m", 1}}};
  table.add("guards", "gather", gathers, 4, farAway, [=](const Tensors& in) {
    const Grid x(in, "xs"), at(in, "at");
    return out(A1{at.size(0)}, [&](Int k) {
      const auto i = static_cast<Int>(at(k));
      return inside(x, i) ? x(i) * x(i) + x(i) : -1;
    });
  });
  for (const char* entry : {"shares", "sharesByFour"})
    table.addExact("guards", entry, {{{"n", 28}}, {{"n", 4}}}, someZeros, [](const Tensors& in) {
      const Grid a(in, "a"), b(in, "b");
      return out(A1{a.size(0)}, Scalar::i32, [&](Int i) {
        const auto x = static_cast<Int>(a(i)), y = static_cast<Int>(b(i));
        return y == 0 ? 0 : x / y + x % y;
      });
    });
  table.addExact("guards", "short", gathers, farAway, [=](const Tensors& in) {
    const Grid x(in, "xs"), at(in, "at");
    return out(A1{at.size(0)}, Scalar::boolean, [&](Int k) {
      const auto i = static_cast<Int>(at(k));
      const auto squared = [&] { return static_cast<float>(x(i)) * static_cast<float>(x(i)); };
      return (inside(x, i) && squared() > 0.1F) || i < 0 || x(i % x.size(0)) > 0.5;
    });
  });
  table.addExact("guards", "pairs", gathers, farAway, [=](const Tensors& in) {
    const Grid x(in, "xs"), at(in, "at");
    const A1 m{at.size(0)};
    const auto i = [&](Int k) { return static_cast<Int>(at(k)); };
    const auto component = [&](const auto& f, double otherwise, Scalar scalar) {
      return make(m, scalar, [&](Int k) { return inside(x, i(k)) ? f(i(k)) : otherwise; });
    };
    return Tensors{{"out.0", component([&](Int a) { return x(a); }, 0, Scalar::f32)},
                   {"out.1.0", component([](Int a) { return static_cast<double>(a); }, -1, Scalar::i32)},
                   {"out.1.1", component([&](Int a) { return x(x.size(0) - 1 - a); }, 1, Scalar::f32)}};
  });
  const auto even = [](const Tensors& in) { return static_cast<Int>(Grid(in, "k")()) % 2 == 0; };
  for (const int k : {0, 2})
    table.add(
        "guards", "hidden", {{{"n", 5 + k}}}, 4, [k](Tensors& in) { in.at("k").set(0, k); },
        [k](const Tensors& in) {
          const Grid x(in, "xs");
          return out(A1{x.size(0)}, [&](Int i) { return x(i) + (k == 0 ? 0 : 2); });  // 0 + 0 + 1 + 1
        });
  for (const int k : {2, 3}) {
    const auto given = [k](Tensors& in) { in.at("k").set(0, k); };
    const auto positive = [k](Tensors& in) {
      in.at("k").set(0, k);
      absolute(in, "ys");
    };
    table.addExact("guards", "rows", {{{"n", k}, {"m", 5}}}, given, [=](const Tensors& in) {
      const Grid x(in, "xs"), y(in, "ys");
      return out(A2{x.size(0), x.size(1)}, [&](Int i, Int j) { return even(in) ? 2 * x(i, j) : y(i, j); });
    });
    table.add("guards", "picked", {{{"n", 68 + k}}}, 4, positive, [=](const Tensors& in) {
      const Grid x(in, "xs"), y(in, "ys");
      return out(A1{x.size(0)}, [&](Int i) { return 1 + (even(in) ? x(i) : std::sqrt(y(i))); });
    });
    table.add("guards", "bothOf", {{{"n", k}}}, 1, given, [=](const Tensors& in) {
      const Grid x(in, "xs");
      return Tensors{{"out.0", make(A1{x.size(0)}, [&](Int i) { return x(i) + (even(in) ? 1 : 0); })},
                     {"out.1", make(A1{x.size(0)}, [&](Int i) { return x(i) - (even(in) ? 0 : 1); })}};
    });
  }
  table.add("guards", "pickedRow", {{{"n", 9}, {"m", 5}}}, 8, [](const Tensors& in) {
    const Grid x(in, "xss"), y(in, "yss");
    return out(A1{x.size(0)},
               [&](Int i) { return sum(x.size(1), [&](Int j) { return x(i, 0) > 0.5 ? x(i, j) : y(i, j); }); });
  });
  table.add("guards", "scanned", {{{"n", 9}, {"m", 5}}}, 8, [](const Tensors& in) {
    const Grid x(in, "xss");
    return out(A2{x.size(0), x.size(1)}, [&](Int i, Int j) {
      return 0.5 * (x(i, 0) > 0.5 ? sum(j + 1, [&](Int k) { return x(i, k); }) : x(i, x.size(1) - 1 - j));
    });
  });
  table.add("guards", "groups", {{{"n", 5}}}, 2, [](const Tensors& in) {
    const Grid x(in, "xs");
    return out(A1{x.size(0)}, [&](Int i) {
      const Int row = i - i % 8;
      return x(row) > 0.5 ? x(i) + x(row + 7) : i % 2 == 0 ? x(i + 1) : x(i);
    });
  });
  table.addExact("guards", "collatz", {{{"n", 40}}}, farAway, [](const Tensors& in) {
    const Grid at(in, "at");
    return out(A1{at.size(0)}, Scalar::i32, [&](Int k) {
      Int x = 1 + std::max<Int>(0, static_cast<Int>(at(k))) % 64, steps = 0;
      for (; steps < 100 && x != 1; steps++) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
      return steps;
    });
  });
  table.add("guards", "grow", {{{"k", 30}, {"n", 6}, {"m", 4}}, {{"k", 1}, {"n", 1}, {"m", 1}}}, 60,
            [](const Tensors& in) {
              const Grid x(in, "xss");
              const Int steps = x.size(1) == 1 ? 1 : 30;
              return out(A2{x.size(0), x.size(1)}, [&](Int i, Int j) {
                Vector row = vectorOf(x.size(1), [&](Int c) { return x(i, c); });
                for (Int s = 0; s < steps; s++) {
                  double total = 0;
                  for (const double v : row) total += v;
                  if (!(total < 5)) break;
                  for (double& v : row) v = v * 1.5 + 0.25;
                }
                return row[j];
              });
            });
  table.addExact(
      "guards", "first", {{{"n", 9}, {"m", 5}}},
      [](Tensors& in) {  // none in the first row
        for (Int j = 0; j < 5; j++) in.at("xss").set(j, 0.25);
      },
      [](const Tensors& in) {
        const Grid x(in, "xss");
        const auto firstOf = [&](Int i) {
          Int j = 0;
          while (j < x.size(1) && x(i, j) < 0.5) j++;
          return j;
        };
        return out(A1{x.size(0)}, Scalar::i32, firstOf);
      });
}

}  // namespace

const std::vector<CatalogueEntry>& catalogue() {
  static const Table table = [] {
    Table all;
    for (const auto add : {addLearning, addImages, addNumbers, addLibrary, addProducts, vectors, matrices, movement,
                           scans, particles, stencils, layers, plans, applications, guards})
      add(all);
    return all;
  }();
  return table.rows();
}

}  // namespace lift::programs
