// Statistics and machine learning.
#include "programs/reference.hpp"

namespace lift::programs {
namespace {

Vector softmaxOf(const Vector& xs) {
  const double greatest = *std::max_element(xs.begin(), xs.end());
  double total = 0;
  for (const double x : xs) total += std::exp(x - greatest);
  Vector out;
  for (const double x : xs) out.push_back(std::exp(x - greatest) / total);
  return out;
}

struct Moments {
  double mean, variance;
};
Moments momentsOf(const Vector& xs) {
  const auto n = static_cast<double>(xs.size());
  Moments m{0, 0};
  for (const double x : xs) m.mean += x / n;
  for (const double x : xs) m.variance += (x - m.mean) * (x - m.mean) / n;
  return m;
}

Vector rowOf(const Grid& x, Int i) {
  return vectorOf(x.size(1), [&](Int j) { return x(i, j); });
}

void normalisation(Table& table) {
  const std::vector<Sizes> lines{{{"n", 1000}}, {{"n", 37}}, {{"n", 1}}};
  const std::vector<Sizes> rows{{{"rows", 5}, {"n", 33}}, {{"rows", 1}, {"n", 1}}};
  table.add("normalise", "softmax", lines, 1000,
            [](const Tensors& in) { return out(softmaxOf(vectorOf(Grid(in, "xs")))); });
  table.add("normalise", "softmaxRows", rows, 40, [](const Tensors& in) {
    const Grid x(in, "xs");
    return out(A2{x.size(0), x.size(1)}, [&](Int i, Int j) { return softmaxOf(rowOf(x, i))[j]; });
  });
  table.add("normalise", "variance", lines, 1000,
            [](const Tensors& in) { return out(momentsOf(vectorOf(Grid(in, "xs"))).variance); });
  // One number has no deviation to divide by.
  table.add("normalise", "normalised", {{{"n", 1000}}, {{"n", 37}}}, 1000, [](const Tensors& in) {
    const Grid x(in, "xs");
    const Moments m = momentsOf(vectorOf(x));
    return out(A1{x.size(0)}, [&](Int i) { return (x(i) - m.mean) / std::sqrt(m.variance); });
  });
  table.add("normalise", "layerNorm", rows, 1000, [](const Tensors& in) {
    const Grid x(in, "xs"), gamma(in, "gamma"), beta(in, "beta");
    return out(A2{x.size(0), x.size(1)}, [&](Int i, Int j) {
      const Moments m = momentsOf(rowOf(x, i));
      return (x(i, j) - m.mean) / std::sqrt(m.variance + 0.00001) * gamma(j) + beta(j);
    });
  });
  table.add("normalise", "withMean", lines, 1000, [](const Tensors& in) {
    const Grid x(in, "xs");
    return Tensors{{"out.0", make(A1{x.size(0)}, [&](Int i) { return 2 * x(i); })},
                   {"out.1", single(momentsOf(vectorOf(x)).mean)}};
  });
}

double squaredDistance(const Grid& a, Int i, const Grid& b, Int j) {
  return sum(a.size(1), [&](Int l) { return (a(i, l) - b(j, l)) * (a(i, l) - b(j, l)); });
}

Tensors clusters(const Tensors& in) {
  const Grid points(in, "points"), centres(in, "centres");
  const Int n = points.size(0), k = centres.size(0);
  const Vector owners = vectorOf(n, [&](Int i) {
    Int best = 0;
    for (Int c = 1; c < k; c++)
      if (squaredDistance(points, i, centres, c) < squaredDistance(points, i, centres, best)) best = c;
    return static_cast<double>(best);
  });
  const auto mean = [&](Int c, Int l) {
    double total = 0;
    int count = 0;
    for (Int i = 0; i < n; i++)
      if (owners[i] == static_cast<double>(c)) total += points(i, l), count++;
    return count > 0 ? total / count : centres(c, l);
  };
  return {{"out.0", make(owners, Scalar::i32)}, {"out.1", make(A2{k, centres.size(1)}, mean)}};
}

// How far point i is from the one asked for.
double distance(const Tensors& in, Int i) {
  const Grid x(in, "points.0"), y(in, "points.1"), qx(in, "q.0"), qy(in, "q.1");
  return std::hypot(x(i) - qx(), y(i) - qy());
}
Int nearestOf(const Tensors& in) {
  Int best = 0;
  for (Int i = 1; i < in.at("points.0").size(); i++)
    if (distance(in, i) < distance(in, best)) best = i;
  return best;
}

// The values of one key are added up by f(key, whether it is the index, value).
void keyed(Table& table) {
  const Prepare keys = [](Tensors& in) {
    Tensor& k = in.at("keys");
    for (Int i = 0; i < k.size(); i++) k.set(i, static_cast<double>((i * i * 5 + 3 * i) % 71 - 3));
  };
  const auto sumOf = [](const Tensors& in, Int key) {
    const Grid k(in, "keys"), v(in, "values");
    return sum(k.size(0), [&](Int i) { return k(i) == static_cast<double>(key) ? v(i) : 0; });
  };
  const auto sizeOf = [](const Tensors& in, Int key) {
    const Grid k(in, "keys");
    return sum(k.size(0), [&](Int i) { return k(i) == static_cast<double>(key) ? 1 : 0; });
  };
  const std::vector<Sizes> sizes{{{"n", 20000}}, {{"n", 300}}, {{"n", 1}}};
  table.add("histogram", "weighted", sizes, 400, keys,
            [=](const Tensors& in) { return out(A1{64}, [&](Int b) { return sumOf(in, b); }); });
  table.add("histogram", "moments", sizes, 400, keys, [=](const Tensors& in) {
    return Tensors{{"out.0", make(A1{64}, Scalar::i32, [&](Int b) { return sizeOf(in, b); })},
                   {"out.1", make(A1{64}, [&](Int b) { return sumOf(in, b); })}};
  });
  table.add("histogram", "means", sizes, 400, keys, [=](const Tensors& in) {
    return out(A1{64}, [&](Int b) {
      const double size = b < 60 ? sizeOf(in, b) : 0;
      return size > 0 ? sumOf(in, b) / size : sumOf(in, b);
    });
  });
  table.addExact("histogram", "last", sizes, keys, [](const Tensors& in) {
    const Grid k(in, "keys"), v(in, "values");
    return out(A1{64}, [&](Int b) {
      double last = -1;
      for (Int i = 0; i < k.size(0); i++)
        if (k(i) == static_cast<double>(b)) last = v(i);
      return last;
    });
  });
  table.add("histogram", "rows", {{{"n", 300}, {"d", 5}}, {{"n", 1}, {"d", 1}}}, 40, keys, [](const Tensors& in) {
    const Grid k(in, "keys"), v(in, "values");
    return out(A2{64, v.size(1)}, [&](Int b, Int j) {
      return sum(k.size(0), [&](Int i) { return k(i) == static_cast<double>(b) ? v(i, j) : 0; });
    });
  });
  table.addExact(
      "histogram", "ofRows", {{{"m", 5}, {"n", 40}}},
      [](Tensors& in) {
        Tensor& xs = in.at("xs");
        for (Int i = 0; i < xs.size(); i++) xs.set(i, static_cast<double>((i * 7 + i / 3) % 20 - 2));
      },
      [](const Tensors& in) {
        const Grid x(in, "xs");
        return out(A2{x.size(0), 16}, Scalar::i32, [&](Int r, Int b) {
          return sum(x.size(1), [&](Int i) { return x(r, i) == static_cast<double>(b) ? 1 : 0; });
        });
      });
  table.add("histogram", "total", {{{"n", 200}}, {{"n", 1}}}, 200, [](const Tensors& in) {
    const Grid x(in, "xs");
    return out(A1{100}, [&](Int j) { return sum(x.size(0), [&](Int i) { return x(i, j); }); });
  });
}

void searches(Table& table) {
  table.add("kmeans", "main", {{{"n", 40}, {"d", 3}, {"k", 4}}, {{"n", 1}, {"d", 1}, {"k", 2}}}, 40, clusters);
  table.add("nearest", "main", {{{"n", 1000}}, {{"n", 7}}, {{"n", 1}}}, 5, [](const Tensors& in) {
    const Int best = nearestOf(in);
    return Tensors{{"out.0", single(distance(in, best) * distance(in, best))},
                   {"out.1", single(static_cast<double>(best), Scalar::i32)}};
  });
  table.add("nearest", "relative", {{{"n", 1000}}, {{"n", 7}}, {{"n", 1}}}, 5, [](const Tensors& in) {
    const double least = distance(in, nearestOf(in));
    return out(A1{in.at("points.0").size()}, [&](Int i) { return distance(in, i) - least; });
  });

  const Reference counts = [](const Tensors& in) {
    const Grid x(in, "xs");
    return out(A1{1024}, Scalar::i32,
               [&](Int b) { return sum(x.size(0), [&](Int i) { return x(i) == static_cast<double>(b) ? 1 : 0; }); });
  };
  // Negative ones and those too great are in no bin.
  const Prepare spread = [](Tensors& in) {
    Tensor& xs = in.at("xs");
    for (Int i = 0; i < xs.size(); i++) xs.set(i, static_cast<double>((i * i * 7 + 13 * i) % 1100 - 20));
  };
  table.addExact("histogram", "main", {{{"n", 320}}}, spread, counts);
  table.addExact("histogram", "chunked", {{{"n", 320}}}, spread, counts);
  table.addExact("histogram", "folded", {{{"n", 64}}}, spread, counts);
  keyed(table);
}

Tensors recurrent(const Tensors& in) {
  const Grid xs(in, "xs"), wx(in, "wx"), wh(in, "wh"), bias(in, "bias");
  const Int hidden = bias.size(0);
  Vector state(hidden), all;
  for (Int t = 0; t < xs.size(0); t++) {
    const Vector old = state;
    for (Int k = 0; k < hidden; k++)
      state[k] = std::tanh(0.25 * (sum(xs.size(1), [&](Int i) { return wx(k, i) * xs(t, i); }) +
                                   sum(hidden, [&](Int j) { return wh(k, j) * old[j]; }) + bias(k)));
    all.insert(all.end(), state.begin(), state.end());
  }
  return out(A2{xs.size(0), hidden}, [&](Int t, Int k) { return all[t * hidden + k]; });
}

Tensors gatedUnit(const Tensors& in) {
  const Grid xs(in, "xs");
  const Int hidden = in.at("uz").shape.at(0), inputs = xs.size(1);
  Vector state(hidden);
  for (Int t = 0; t < xs.size(0); t++) {
    const auto sums = [&](const char* w, const char* u, const Vector& old) {
      const Grid ofInput(in, w), ofState(in, u);
      return vectorOf(hidden, [&](Int k) {
        return 0.25 * (sum(inputs, [&](Int i) { return ofInput(k, i) * xs(t, i); }) +
                       sum(hidden, [&](Int j) { return ofState(k, j) * old[j]; }));
      });
    };
    const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
    const Vector z = sums("wz", "uz", state), r = sums("wr", "ur", state);
    Vector kept = state;
    for (Int k = 0; k < hidden; k++) kept[k] *= logistic(r[k]);
    const Vector c = sums("wc", "uc", kept);
    for (Int k = 0; k < hidden; k++) state[k] += logistic(z[k]) * (std::tanh(c[k]) - state[k]);
  }
  return out(state);
}

Tensors ofExperts(const Tensors& in) {
  const Grid xs(in, "xs"), gates(in, "gates"), experts(in, "experts");
  const Int d = xs.size(1);
  return out(A2{xs.size(0), experts.size(2)}, [&](Int i, Int k) {
    const Vector scores =
        vectorOf(gates.size(0), [&](Int e) { return sum(d, [&](Int l) { return gates(e, l) * xs(i, l); }); });
    const Int best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    return sum(d, [&](Int l) { return xs(i, l) * experts(best, l, k); });
  });
}

void networks(Table& table) {
  table.add("experts", "main", {{{"n", 9}, {"d", 6}, {"e", 3}, {"h", 16}}, {{"n", 1}, {"d", 1}, {"e", 1}, {"h", 1}}},
            100, ofExperts);
  table.add("rnn", "main", {{{"t", 6}, {"i", 4}, {"h", 5}}, {{"t", 1}, {"i", 1}, {"h", 1}}}, 100, recurrent);
  table.add("rnn", "gated", {{{"t", 6}, {"i", 4}, {"h", 21}}, {{"t", 1}, {"i", 1}, {"h", 1}}}, 100, gatedUnit);
  table.add("attention", "main", {{{"m", 5}, {"n", 9}, {"d", 8}, {"e", 6}}, {{"m", 1}, {"n", 1}, {"d", 1}, {"e", 1}}},
            100, [](const Tensors& in) {
              const Grid q(in, "queries"), k(in, "keys"), v(in, "values");
              const Int d = q.size(1), n = k.size(0);
              return out(A2{q.size(0), v.size(1)}, [&](Int i, Int e) {
                const Vector weights = softmaxOf(vectorOf(n, [&](Int j) {
                  return sum(d, [&](Int l) { return q(i, l) * k(j, l); }) / std::sqrt(static_cast<double>(d));
                }));
                return sum(n, [&](Int j) { return weights[j] * v(j, e); });
              });
            });
  table.add("attention", "causal", {{{"heads", 3}, {"n", 9}, {"d", 8}}, {{"heads", 1}, {"n", 1}, {"d", 1}}}, 100,
            [](const Tensors& in) {
              const Grid q(in, "queries"), k(in, "keys"), v(in, "values");
              const Int n = q.size(1), d = q.size(2);
              return out(A3{q.size(0), n, d}, [&](Int h, Int i, Int e) {
                const Vector weights = softmaxOf(vectorOf(i + 1, [&](Int j) {
                  return sum(d, [&](Int l) { return q(h, i, l) * k(h, j, l); }) / std::sqrt(static_cast<double>(d));
                }));
                return sum(i + 1, [&](Int j) { return weights[j] * v(h, j, e); });
              });
            });
  table.add(
      "logistic", "main", {{{"n", 50}, {"d", 7}}, {{"n", 1}, {"d", 1}}}, 100,
      [](Tensors& in) {
        Tensor& labels = in.at("labels");
        for (Int i = 0; i < labels.size(); i++) labels.set(i, labels.get(i) > 0 ? 1 : 0);
      },
      [](const Tensors& in) {
        const Grid w(in, "weights"), x(in, "samples"), y(in, "labels");
        const Int n = x.size(0), d = x.size(1);
        const Vector p =
            vectorOf(n, [&](Int i) { return 1 / (1 + std::exp(-sum(d, [&](Int l) { return w(l) * x(i, l); }))); });
        const auto count = static_cast<double>(n);
        const auto loss = [&](Int i) { return -std::log(y(i) > 0.5 ? p[i] : 1 - p[i]); };
        return Tensors{
            {"out.0",
             make(A1{d}, [&](Int l) { return sum(n, [&](Int i) { return x(i, l) * (p[i] - y(i)); }) / count; })},
            {"out.1", single(sum(n, loss) / count)}};
      });
}

}  // namespace

void addLearning(Table& table) {
  normalisation(table);
  searches(table);
  networks(table);
}

}  // namespace lift::programs
