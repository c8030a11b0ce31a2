// Solvers, simulations, statistics, images and layers, as users write them.
#include "programs/reference.hpp"

namespace lift::programs {
namespace {

using Field = std::vector<Vector>;

Field fieldOf(const Grid& x) {
  Field f;
  for (Int i = 0; i < x.size(0); i++) f.push_back(vectorOf(x.size(1), [&](Int j) { return x(i, j); }));
  return f;
}
double at(const Field& f, Int i, Int j) { return f.at(static_cast<std::size_t>(i))[j]; }

template <class F>
Field fieldOf(Int h, Int w, const F& f) {
  Field field;
  for (Int i = 0; i < h; i++) field.push_back(vectorOf(w, [&](Int j) { return f(i, j); }));
  return field;
}
Tensor tensorOf(const Field& f) {
  return make(A2{std::ssize(f), std::ssize(f[0])}, [&](Int i, Int j) { return at(f, i, j); });
}

// ---- solvers

Tensors relaxed(const Tensors& in) {
  const Grid start(in, "u");
  const Int h = start.size(0), w = start.size(1);
  Field u = fieldOf(start);
  const double limit = Grid(in, "limit")();
  Int steps = 0;
  for (double change = limit + 1; change > limit && steps < 500; steps++) {
    const Field v = fieldOf(h, w, [&](Int i, Int j) {
      if (i == 0 || j == 0 || i == h - 1 || j == w - 1) return at(u, i, j);
      return (at(u, i - 1, j) + at(u, i + 1, j) + at(u, i, j - 1) + at(u, i, j + 1)) / 4;
    });
    change = 0;
    for (Int i = 0; i < h; i++)
      for (Int j = 0; j < w; j++) change = std::max(change, std::abs(at(u, i, j) - at(v, i, j)));
    u = v;
  }
  return {{"out.0", tensorOf(u)}, {"out.1", single(static_cast<double>(steps), Scalar::i32)}};
}

// By elimination, which has nothing in common with the program.
Tensors solved(const Tensors& in) {
  Field a = fieldOf(Grid(in, "a"));
  Vector x = vectorOf(Grid(in, "b"));
  const Int n = std::ssize(x);
  const auto row = [&](Int i) -> Vector& { return a[static_cast<std::size_t>(i)]; };
  for (Int p = 0; p < n; p++)
    for (Int i = p + 1; i < n; i++) {
      const double factor = row(i)[p] / row(p)[p];
      for (Int j = p; j < n; j++) row(i)[j] -= factor * row(p)[j];
      x[i] -= factor * x[p];
    }
  for (Int i = n; i-- > 0;) {
    for (Int j = i + 1; j < n; j++) x[i] -= row(i)[j] * x[j];
    x[i] /= row(i)[i];
  }
  return out(x);
}

Tensors scalings(const Tensors& in) {
  const Grid k(in, "k"), a(in, "a"), b(in, "b");
  const Int n = k.size(0), m = k.size(1);
  Vector u(static_cast<std::size_t>(n), 1.0), v(static_cast<std::size_t>(m), 1.0);
  for (int step = 0; step < 20; step++) {
    u = vectorOf(n, [&](Int i) { return a(i) / sum(m, [&](Int j) { return k(i, j) * v[j]; }); });
    v = vectorOf(m, [&](Int j) { return b(j) / sum(n, [&](Int i) { return k(i, j) * u[i]; }); });
  }
  return {{"out.0", make(u)}, {"out.1", make(v)}};
}

void solvers(Table& table) {
  const auto border = [](double limit) { return [limit](Tensors& in) { in.at("limit").set(0, limit); }; };
  // Steps of one work-item, and of many.
  table.add("relax", "main", {{{"h", 6}, {"w", 7}}, {{"h", 1}, {"w", 1}}, {{"h", 40}, {"w", 50}}}, 40, border(0.0613),
            relaxed);
  table.add("relax", "main", {{{"h", 45}, {"w", 40}}}, 40, border(3), relaxed);
  const auto root = [](const Tensors& in) {
    const Grid c(in, "c");
    return out(A1{c.size(0)}, [&](Int i) { return std::sqrt(c(i)); });
  };
  const auto positive = [](Tensors& in) { rescale(in, "c", 0.1, 3); };
  table.add("relax", "roots", {{{"n", 50}}, {{"n", 1}}}, 100, positive, root);
  table.add("relax", "fixed", {{{"n", 50}}, {{"n", 1}}}, 10, positive, root);
  const auto definite = [](Tensors& in) {
    Tensor& a = in.at("a");
    const Int n = a.shape[0];
    for (Int i = 0; i < n; i++)
      for (Int j = 0; j <= i; j++) {
        const double value = i == j ? 2 + a.get(i * n + i) : 0.5 * a.get(i * n + j) / static_cast<double>(n);
        a.set(i * n + j, value);
        a.set(j * n + i, value);
      }
  };
  table.add("conjugate", "main", {{{"n", 9}}, {{"n", 1}}, {{"n", 140}}}, 2000, definite, solved);
  const auto mass = [](Tensors& in) {
    for (const char* name : {"k", "a", "b"}) rescale(in, name, 0.5, 1.5);
  };
  table.add("transport", "main", {{{"n", 7}, {"m", 9}}, {{"n", 1}, {"m", 1}}}, 200, mass, scalings);
}

// ---- simulations

Tensors streamed(const Tensors& in) {
  const Grid start(in, "f");
  const Int h = start.size(1), w = start.size(2);
  constexpr std::array<Int, 9> cx{0, 1, 0, -1, 0, 1, -1, -1, 1}, cy{0, 0, 1, 0, -1, 1, 1, -1, -1};
  Vector f = vectorOf(9 * h * w, [&](Int p) { return start(p / (h * w), p / w % h, p % w); });
  for (int step = 0; step < 3; step++) {
    Vector next(f.size());
    for (Int i = 0; i < h; i++)
      for (Int j = 0; j < w; j++) {
        std::array<double, 9> s{};
        double rho = 0, x = 0, y = 0;
        for (std::size_t k = 0; k < 9; k++) {
          s[k] = f[static_cast<Int>(k) * h * w + wrap(i - cy[k], h) * w + wrap(j - cx[k], w)];
          rho += s[k], x += s[k] * static_cast<double>(cx[k]), y += s[k] * static_cast<double>(cy[k]);
        }
        x /= rho, y /= rho;
        for (std::size_t k = 0; k < 9; k++) {
          const double along = 3 * (static_cast<double>(cx[k]) * x + static_cast<double>(cy[k]) * y);
          const double weight = k == 0 ? 4.0 / 9 : k < 5 ? 1.0 / 9 : 1.0 / 36;
          const double rest = rho * weight * (1 + along + along * along / 2 - 1.5 * (x * x + y * y));
          next[static_cast<Int>(k) * h * w + i * w + j] = s[k] + 0.6 * (rest - s[k]);
        }
      }
    f = next;
  }
  return out(A3{9, h, w}, [&](Int k, Int i, Int j) { return f[(k * h + i) * w + j]; });
}

Tensors flowed(const Tensors& in) {
  const Grid f(in, "f");
  const Int h = f.size(0), w = f.size(1);
  Field u = fieldOf(f);
  for (int step = 0; step < 20; step++)
    u = fieldOf(h, w, [&](Int i, Int j) {
      const auto near = [&](Int di, Int dj) { return at(u, clamp(i + di, h), clamp(j + dj, w)); };
      const double here = near(0, 0), x = near(0, 1) - here, y = near(1, 0) - here;
      const double flow = near(0, 1) + near(0, -1) + near(-1, 0) + near(1, 0) - 4 * here;
      return here + 0.01 * (flow / std::sqrt(x * x + y * y + 0.01) + 0.2 * (f(i, j) - here));
    });
  return {{"out", tensorOf(u)}};
}

// ---- images

Tensors edges(const Tensors& in) {
  const Grid image(in, "img");
  const Int h = image.size(0), w = image.size(1);
  const auto filter = [&](const auto& read, const std::array<double, 9>& k) {
    return fieldOf(h, w, [&](Int i, Int j) {
      return sum(9, [&](Int p) {
        return k[static_cast<std::size_t>(p)] * read(clamp(i + p / 3 - 1, h), clamp(j + p % 3 - 1, w));
      });
    });
  };
  const Field soft = filter([&](Int i, Int j) { return image(i, j) / 16; }, {1, 2, 1, 2, 4, 2, 1, 2, 1});
  const auto ofSoft = [&](Int i, Int j) { return at(soft, i, j); };
  const Field x = filter(ofSoft, {-1, 0, 1, -2, 0, 2, -1, 0, 1}), y = filter(ofSoft, {-1, -2, -1, 0, 0, 0, 1, 2, 1});
  const auto strength = [&](Int i, Int j) { return at(x, i, j) * at(x, i, j) + at(y, i, j) * at(y, i, j); };
  return out(A2{h, w}, [&](Int i, Int j) {
    if (i == 0 || j == 0 || i == h - 1 || j == w - 1) return 0.0;
    const bool across = std::abs(at(x, i, j)) > std::abs(at(y, i, j));
    const Int di = across ? 0 : 1, dj = across ? 1 : 0;
    const double m = strength(i, j);
    return m >= strength(i - di, j - dj) && m >= strength(i + di, j + dj) && m > 0.2 ? m : 0.0;
  });
}

Tensors transformed(const Tensors& in) {
  const Grid image(in, "img"), q(in, "q");
  const auto basis = [](Int u, Int x) {
    return (u == 0 ? std::sqrt(0.125) : 0.5) * std::cos(static_cast<double>((2 * x + 1) * u) * std::acos(-1.0) / 16);
  };
  return out(A2{image.size(0), image.size(1)}, [&](Int i, Int j) {
    return q(i % 8, j % 8) * sum(64, [&](Int p) {
             return basis(i % 8, p / 8) * basis(j % 8, p % 8) * image(i / 8 * 8 + p / 8, j / 8 * 8 + p % 8);
           });
  });
}

Tensors alike(const Tensors& in) {
  const Grid image(in, "img");
  return out(A2{image.size(0) - 4, image.size(1) - 4}, [&](Int i, Int j) {
    const auto pixel = [&](Int p) { return image(i + p / 5, j + p % 5); };
    const auto weight = [&](Int p) { return std::exp(-10 * std::pow(pixel(p) - pixel(12), 2)); };
    return sum(25, [&](Int p) { return weight(p) * pixel(p); }) / sum(25, weight);
  });
}

void pictures(Table& table) {
  table.add(
      "lattice", "main", {{{"h", 5}, {"w", 6}}, {{"h", 1}, {"w", 1}}}, 60,
      [](Tensors& in) { rescale(in, "f", 0.5, 1.5); }, streamed);
  table.add("canny", "main", {{{"h", 12}, {"w", 15}}, {{"h", 1}, {"w", 1}}}, 40, edges);
  table.add("jpeg", "main", {{{"h", 2}, {"w", 3}}, {{"h", 1}, {"w", 1}}}, 100, transformed);
  table.add("denoise", "main", {{{"h", 9}, {"w", 11}}, {{"h", 5}, {"w", 5}}}, 60, alike);
  table.add("denoise", "variation", {{{"h", 7}, {"w", 8}}, {{"h", 1}, {"w", 1}}}, 200, flowed);
}

// ---- statistics and layers

Tensors covariances(const Tensors& in) {
  const Grid x(in, "x");
  const Int n = x.size(0), d = x.size(1);
  const auto count = static_cast<double>(n);
  const Vector mean = vectorOf(d, [&](Int j) { return sum(n, [&](Int i) { return x(i, j); }) / count; });
  return out(A2{d, d}, [&](Int j, Int k) {
    return sum(n, [&](Int i) { return (x(i, j) - mean[j]) * (x(i, k) - mean[k]); }) / count;
  });
}

Tensors integers(const Tensors& in) {
  const Grid a(in, "a"), b(in, "b"), scale(in, "scale");
  return out(A2{a.size(0), b.size(0)}, Scalar::i8, [&](Int i, Int j) {
    const double exact = sum(a.size(1), [&](Int l) { return a(i, l) * b(j, l); }) * scale(j);
    return std::clamp(std::round(exact), -128.0, 127.0);
  });
}

Tensors block(const Tensors& in) {
  const Grid x(in, "x"), gamma(in, "gamma"), beta(in, "beta"), w1(in, "w1"), b1(in, "b1"), w2(in, "w2"), b2(in, "b2");
  const Int n = x.size(0), d = x.size(1), f = b1.size(0);
  const auto width = static_cast<double>(d);
  const Field hidden = fieldOf(n, f, [&](Int i, Int k) {
    const double mean = sum(d, [&](Int j) { return x(i, j); }) / width;
    const double variance = sum(d, [&](Int j) { return (x(i, j) - mean) * (x(i, j) - mean); }) / width;
    const auto normal = [&](Int j) { return (x(i, j) - mean) / std::sqrt(variance + 0.01) * gamma(j) + beta(j); };
    const double e = sum(d, [&](Int j) { return normal(j) * w1(j, k); }) + b1(k);
    return 0.5 * e * (1 + std::tanh(0.7978845608 * (e + 0.044715 * e * e * e)));
  });
  return out(A2{n, d}, [&](Int i, Int j) {
    return x(i, j) + sum(f, [&](Int k) { return at(hidden, i, k) * w2(k, j); }) + b2(j);
  });
}

// The transform by its definition.
Tensors fourier(const Tensors& in) {
  const Grid re(in, "xs.0"), im(in, "xs.1");
  const Int rows = re.size(0), n = re.size(1);
  const auto part = [&](bool imaginary) {
    return make(A2{rows, n}, [&](Int r, Int k) {
      return sum(n, [&](Int i) {
        const double angle = -2 * M_PI * static_cast<double>(i * k % n) / static_cast<double>(n);
        const double c = std::cos(angle), s = std::sin(angle);
        return imaginary ? re(r, i) * s + im(r, i) * c : re(r, i) * c - im(r, i) * s;
      });
    });
  };
  return {{"out.0", part(false)}, {"out.1", part(true)}};
}

Tensors molecules(const Tensors& in) {
  const Grid x(in, "positions.0"), y(in, "positions.1"), z(in, "positions.2"), lists(in, "neighbours");
  const Int n = lists.size(0);
  std::array<Vector, 3> force{vectorOf(n, [](Int) { return 0.0; }), vectorOf(n, [](Int) { return 0.0; }),
                              vectorOf(n, [](Int) { return 0.0; })};
  double energy = 0;
  for (Int i = 0; i < n; i++)
    for (Int l = 0; l < lists.size(1); l++) {
      const Int j = static_cast<Int>(lists(i, l));
      if (j < 0) continue;
      const std::array<double, 3> d{x(i) - x(j), y(i) - y(j), z(i) - z(j)};
      const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], r6 = r2 * r2 * r2;
      if (r2 >= 1.5 || r2 <= 0.25) continue;
      for (std::size_t a = 0; a < 3; a++) force[a][i] += d[a] * (48 / (r6 * r6 * r2) - 24 / (r6 * r2));
      energy += 2 / (r6 * r6) - 2 / r6;
    }
  return {
      {"out.0.0", make(force[0])}, {"out.0.1", make(force[1])}, {"out.0.2", make(force[2])}, {"out.1", single(energy)}};
}

// Points on a grid of thirds, so that no distance is at a bound, and neighbours some of which are none.
void onGrid(Tensors& in) {
  for (const char* name : {"positions.0", "positions.1", "positions.2"}) {
    Tensor& t = in.at(name);
    for (Int i = 0; i < t.size(); i++) t.set(i, std::round(3 * t.get(i)) / 3 + 0.01 * t.get(i));
  }
  Tensor& lists = in.at("neighbours");
  const Int n = lists.shape[0];
  for (Int i = 0; i < lists.size(); i++) lists.set(i, static_cast<double>(i * 7 % (n + 2) - 2));
}

void statistics(Table& table) {
  table.add("covariance", "main", {{{"n", 30}, {"d", 6}}, {{"n", 1}, {"d", 1}}}, 60, covariances);
  // Halves are rounded away from zero; powers of two scale without an error.
  table.addExact(
      "quantised", "main", {{{"n", 5}, {"k", 19}, {"m", 6}}, {{"n", 1}, {"k", 1}, {"m", 1}}},
      [](Tensors& in) {
        Tensor& scale = in.at("scale");
        for (Int i = 0; i < scale.size(); i++) scale.set(i, i % 2 == 0 ? 0.0078125 : 0.00390625);
      },
      integers);
  table.add("fft", "main", {{{"k", 3}, {"rows", 2}, {"n", 8}}, {{"k", 5}, {"rows", 3}, {"n", 32}}}, 400, fourier);
  table.add("molecules", "main", {{{"n", 9}, {"k", 4}}, {{"n", 40}, {"k", 17}}}, 4000, onGrid, molecules);
  table.add("transformer", "main", {{{"n", 4}, {"d", 10}, {"f", 7}}, {{"n", 1}, {"d", 1}, {"f", 1}}}, 300, block);
}

}  // namespace

void addScience(Table& table) {
  solvers(table);
  pictures(table);
  statistics(table);
}

}  // namespace lift::programs
