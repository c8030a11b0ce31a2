// Stencils in one to three dimensions.
#include <cmath>

#include "programs/reference.hpp"

namespace lift::programs {
namespace {

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

}  // namespace

void addStencils(Table& table) {
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
  table.add("borders", "bilateral", {{{"h", 16}, {"w", 20}}, {{"h", 1}, {"w", 7}}}, 200, [](const Tensors& in) {
    const Grid x(in, "image");
    const Int h = x.size(0), w = x.size(1);
    return out(A2{h, w}, [&](Int i, Int j) {
      double total = 0, weight = 0;
      for (Int a = -3; a <= 3; a++)
        for (Int b = -3; b <= 3; b++) {
          const double value = x(clamp(i + a, h), clamp(j + b, w)), away = value - x(i, j);
          const double k = std::exp(-0.1 * static_cast<double>(a * a + b * b) - 4 * away * away);
          total += k * value;
          weight += k;
        }
      return total / weight;
    });
  });
  table.add("borders", "nonLocal", {{{"h", 16}, {"w", 20}}, {{"h", 1}, {"w", 7}}}, 200, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A2{x.size(0) - 6, x.size(1) - 6}, [&](Int i, Int j) {
      double total = 0, weight = 0;
      for (Int a = 0; a < 5; a++)
        for (Int b = 0; b < 5; b++) {
          double away = 0;
          for (Int p = 0; p < 3; p++)
            for (Int q = 0; q < 3; q++) {
              const double d = x(i + 2 + p, j + 2 + q) - x(i + a + p, j + b + q);
              away += d * d;
            }
          const double like = std::exp(-2 * away);
          total += like * x(i + a + 1, j + b + 1);
          weight += like;
        }
      return total / weight;
    });
  });
  table.add("borders", "reaction", {{{"h", 16}, {"w", 32}}, {{"h", 1}, {"w", 7}}}, 30, [](const Tensors& in) {
    const Grid u(in, "u"), v(in, "v");
    const Int h = u.size(0), w = u.size(1);
    const auto spread = [&](const Grid& g, Int i, Int j) {
      return g((i + 1) % h, j) + g((i + h - 1) % h, j) + g(i, (j + 1) % w) + g(i, (j + w - 1) % w) - 4 * g(i, j);
    };
    const auto both = [&](Int i, Int j) { return u(i, j) * v(i, j) * v(i, j); };
    const A2 shape{h, w};
    return Tensors{
        {"out.0",
         make(shape,
              [&](Int i, Int j) { return u(i, j) + 0.16 * spread(u, i, j) - both(i, j) + 0.035 * (1 - u(i, j)); })},
        {"out.1", make(shape, [&](Int i, Int j) { return 0.9 * v(i, j) + 0.08 * spread(v, i, j) + both(i, j); })}};
  });
  table.addExact("halide_blur", "main", {{{"h", 16}, {"w", 20}}, {{"h", 3}, {"w", 3}}}, [](const Tensors& in) {
    const Grid x(in, "image");
    const auto row = [&](Int i, Int j) { return static_cast<Int>(x(i, j) + x(i, j + 1) + x(i, j + 2)) / 3; };
    return out(A2{x.size(0) - 2, x.size(1) - 2}, Scalar::i32,
               [&](Int i, Int j) { return (row(i, j) + row(i + 1, j) + row(i + 2, j)) / 3; });
  });
}

}  // namespace lift::programs
