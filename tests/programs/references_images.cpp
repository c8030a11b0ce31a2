// Images, grids of cells, volumes.
#include "programs/reference.hpp"

namespace lift::programs {
namespace {

double gradient(const Grid& image, Int y, Int x, bool alongX) {
  return sum(3, [&](Int i) {
    const auto at = [&](Int across, Int along) {
      return image(clamp(y + (alongX ? across : along), image.size(0)),
                   clamp(x + (alongX ? along : across), image.size(1)));
    };
    return (i == 1 ? 2 : 1) * (at(i - 1, 1) - at(i - 1, -1)) / 8;
  });
}

Tensors harris(const Tensors& in) {
  const Grid image(in, "image");
  const A2 shape{image.size(0), image.size(1)};
  Tensors products;
  for (const auto& [name, a, b] :
       {std::tuple("xx", true, true), std::tuple("yy", false, false), std::tuple("xy", true, false)})
    products.emplace(name, make(shape, Scalar::f64, [&, a = a, b = b](Int y, Int x) {
                       return gradient(image, y, x, a) * gradient(image, y, x, b);
                     }));
  const auto boxed = [&](const char* name, Int y, Int x) {
    const Grid p(products, name);
    return sum(9, [&](Int k) { return p(clamp(y + k / 3 - 1, shape[0]), clamp(x + k % 3 - 1, shape[1])); });
  };
  return out(shape, [&](Int y, Int x) {
    const double xx = boxed("xx", y, x), yy = boxed("yy", y, x), xy = boxed("xy", y, x);
    return xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy);
  });
}

Tensors diffused(const Tensors& in) {
  const double lambda = Grid(in, "lambda")();
  const A2 shape{in.at("image").shape[0], in.at("image").shape[1]};
  Tensors now{{"image", in.at("image")}};
  for (int step = 0; step < 3; step++) {
    const Grid image(now, "image");
    const Int pixels = shape[0] * shape[1];
    const auto n = static_cast<double>(pixels);
    const auto flat = [&](Int i) { return image(i / shape[1], i % shape[1]); };
    const double mean = sum(pixels, flat) / n;
    const double variance = sum(pixels, [&](Int i) { return flat(i) * flat(i); }) / n - mean * mean;
    const double q0 = variance / (mean * mean);
    const auto difference = [&](Int y, Int x, Int dy, Int dx) {
      return image(clamp(y + dy, shape[0]), clamp(x + dx, shape[1])) - image(y, x);
    };
    const Tensors coefficients = out(shape, Scalar::f64, [&](Int y, Int x) {
      const double c = image(y, x);
      double squares = 0, total = 0;
      for (const auto& [dy, dx] : {A2{-1, 0}, A2{1, 0}, A2{0, -1}, A2{0, 1}}) {
        const double d = difference(y, x, dy, dx);
        squares += d * d;
        total += d;
      }
      const double g2 = squares / (c * c), l = total / c;
      const double q = (0.5 * g2 - 0.0625 * l * l) / ((1 + 0.25 * l) * (1 + 0.25 * l));
      return std::min(std::max(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0.0), 1.0);
    });
    const Grid k(coefficients, "out");
    now = {{"image", make(shape, Scalar::f64, [&](Int y, Int x) {
              const double divergence = k(y, x) * (difference(y, x, -1, 0) + difference(y, x, 0, -1)) +
                                        k(clamp(y + 1, shape[0]), x) * difference(y, x, 1, 0) +
                                        k(y, clamp(x + 1, shape[1])) * difference(y, x, 0, 1);
              return image(y, x) + 0.25 * lambda * divergence;
            })}};
  }
  const Grid result(now, "image");
  return out(shape, [&](Int y, Int x) { return result(y, x); });
}

double bilinear(const Grid& image, Int oh, Int ow, Int y, Int x) {
  const auto place = [](Int i, Int from, Int to) {
    return std::max((static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5, 0.0);
  };
  const Int h = image.size(0), w = image.size(1);
  const double sy = place(y, h, oh), sx = place(x, w, ow);
  const Int y0 = std::min(static_cast<Int>(sy), h - 1), x0 = std::min(static_cast<Int>(sx), w - 1);
  const double fy = sy - static_cast<double>(y0), fx = sx - static_cast<double>(x0);
  const auto row = [&](Int r) { return (1 - fx) * image(r, x0) + fx * image(r, std::min(x0 + 1, w - 1)); };
  return (1 - fy) * row(y0) + fy * row(std::min(y0 + 1, h - 1));
}

// f applied to a grid of integers, `steps` times.
template <class F>
Tensors repeated(Tensor grid, Int steps, const F& f) {
  Tensors now{{"out", std::move(grid)}};
  for (Int step = 0; step < steps; step++) {
    const Tensors old = now;
    const Grid cells(old, "out");
    now = out(A2{cells.size(0), cells.size(1)}, Scalar::i32, [&](Int y, Int x) { return f(cells, y, x); });
  }
  return now;
}

Tensors life(const Tensors& in, Int generations) {
  return repeated(in.at("cells"), generations, [](const Grid& cells, Int y, Int x) {
    const double alive = sum(9, [&](Int k) {
      return k == 4 ? 0.0 : cells(wrap(y + k / 3 - 1, cells.size(0)), wrap(x + k % 3 - 1, cells.size(1)));
    });
    return alive == 3 || (alive == 2 && cells(y, x) == 1) ? 1 : 0;
  });
}

Tensors components(const Tensors& in, Int steps) {
  const Grid image(in, "image");
  const Int w = image.size(1);
  Tensor labels =
      make(A2{image.size(0), w}, Scalar::i32, [&](Int y, Int x) { return image(y, x) > 0 ? y * w + x + 1 : 0; });
  return repeated(std::move(labels), steps, [](const Grid& cells, Int y, Int x) {
    double least = cells(y, x);
    if (least == 0) return 0.0;
    for (const auto& [dy, dx] : {A2{-1, 0}, A2{1, 0}, A2{0, -1}, A2{0, 1}})
      if (const double other = cells.orZero(y + dy, x + dx); other > 0) least = std::min(least, other);
    return least;
  });
}

// weight(i, j, k) on the 27 neighbours of each place of a volume, read through a border; nothing is zero outside.
template <class Weight>
Tensors neighbourhoods(const Grid& x, Border border, const Weight& weight) {
  return out(A3{x.size(0), x.size(1), x.size(2)}, [&](Int z, Int y, Int c) {
    return sum(27, [&](Int t) {
      const A3 at{z + t / 9 - 1, y + t / 3 % 3 - 1, c + t % 3 - 1};
      if (border) return weight(t) * x(border(at[0], x.size(0)), border(at[1], x.size(1)), border(at[2], x.size(2)));
      for (std::size_t d = 0; d < 3; d++)
        if (at[d] < 0 || at[d] >= x.size(d)) return 0.0;
      return weight(t) * x(at[0], at[1], at[2]);
    });
  });
}
Tensors heated(const Tensors& in, int steps) {
  Tensors now{{"out", in.at("x")}};
  for (int i = 0; i < steps; i++) {
    const Tensors old = now;
    now = neighbourhoods(Grid(old, "out"), nullptr, [](Int t) {
      const bool beside = t == 4 || t == 22 || t == 10 || t == 16 || t == 12 || t == 14;
      return t == 13 ? 0.4 : beside ? 0.1 : 0.0;
    });
  }
  return now;
}

void images(Table& table) {
  const std::vector<Sizes> shapes{{{"h", 12}, {"w", 15}}, {{"h", 1}, {"w", 2}}};
  table.add("harris", "main", shapes, 100, harris);
  // Ratios to the pixel: none may be near zero.
  const Prepare bright = [](Tensors& in) { rescale(in, "image", 0.5, 1.5), rescale(in, "lambda", 0.1, 0.5); };
  table.add("srad", "main", {{{"steps", 3}, {"h", 12}, {"w", 15}}, {{"steps", 3}, {"h", 2}, {"w", 3}}}, 1000, bright,
            diffused);
  table.addExact("median", "main", shapes, [](const Tensors& in) {
    const Grid image(in, "image");
    return out(A2{image.size(0), image.size(1)}, [&](Int y, Int x) {
      std::array<double, 9> v{};
      for (Int k = 0; k < 9; k++)
        v[static_cast<std::size_t>(k)] =
            image(mirror(y + k / 3 - 1, image.size(0)), mirror(x + k % 3 - 1, image.size(1)));
      std::sort(v.begin(), v.end());
      return v[4];
    });
  });
  for (const auto& [oh, ow, h, w] : {A4{7, 11, 5, 6}, A4{3, 2, 9, 8}, A4{2, 2, 1, 1}})
    table.add("resize", "main", {{{"oh", oh}, {"ow", ow}, {"h", h}, {"w", w}}}, 50,
              [oh = oh, ow = ow](const Tensors& in) {
                const Grid image(in, "image");
                return out(A2{oh, ow}, [&, oh, ow](Int y, Int x) { return bilinear(image, oh, ow, y, x); });
              });
  table.add("convolve", "image", {{{"a", 3}, {"b", 5}, {"h", 8}, {"w", 9}}, {{"a", 2}, {"b", 1}, {"h", 1}, {"w", 4}}},
            30, [](const Tensors& in) {
              const Grid kernel(in, "kernel");
              return filtered(Grid(in, "xs"), kernel.size(0), kernel.size(1), clamp,
                              [&](Int i, Int j) { return kernel(i, j); });
            });
  table.add("convolve", "line", {{{"k", 5}, {"n", 40}}, {{"k", 4}, {"n", 3}}}, 10, [](const Tensors& in) {
    const Grid kernel(in, "kernel"), x(in, "xs");
    const Int k = kernel.size(0), n = x.size(0);
    return out(A1{n}, [&](Int i) {
      return sum(k, [&](Int j) {
        const Int from = i - k / 2 + j;
        return 0 <= from && from < n ? kernel(k - 1 - j) * x(from) : 0.0;
      });
    });
  });
}

void cells(Table& table) {
  const Prepare binary = [](Tensors& in) {
    for (auto& [name, t] : in)
      for (Int i = 0; i < t.size(); i++) t.set(i, t.get(i) > 0 ? 1 : 0);
  };
  for (const Int steps : {5, 1}) {
    table.addExact("life", "main",
                   {{{"generations", steps}, {"h", 9}, {"w", 8}}, {{"generations", steps}, {"h", 3}, {"w", 1}}}, binary,
                   [steps](const Tensors& in) { return life(in, steps); });
    table.addExact("components", "main",
                   {{{"steps", steps}, {"h", 7}, {"w", 9}}, {{"steps", steps}, {"h", 1}, {"w", 1}}}, binary,
                   [steps](const Tensors& in) { return components(in, steps); });
  }
}

void volumes(Table& table) {
  const std::vector<Sizes> shapes{{{"d", 4}, {"h", 5}, {"w", 6}}, {{"d", 1}, {"h", 1}, {"w", 2}}};
  table.add("stencil3d", "heat", shapes, 20, [](const Tensors& in) { return heated(in, 1); });
  table.add("stencil3d", "clamped", shapes, 30,
            [](const Tensors& in) { return neighbourhoods(Grid(in, "x"), clamp, [](Int) { return 1.0 / 27; }); });
  table.add("stencil3d", "mirrored", shapes, 30, [](const Tensors& in) {
    const Grid weights(in, "weights");
    return neighbourhoods(Grid(in, "x"), mirror, [&](Int t) { return weights(t / 9, t / 3 % 3, t % 3); });
  });
  table.add("stencil3d", "steps", {{{"count", 3}, {"d", 4}, {"h", 5}, {"w", 6}}}, 60,
            [](const Tensors& in) { return heated(in, 3); });
}

}  // namespace

void addImages(Table& table) {
  images(table);
  cells(table);
  volumes(table);
}

}  // namespace lift::programs
