// Conditions that guard what must not be computed.
#include "programs/reference.hpp"

namespace lift::programs {
namespace {

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

}  // namespace

void addGuards(Table& table) {
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
  for (const int k : {2, 9}) {  // of 9 elements
    const auto given = [k](Tensors& in) { in.at("k").set(0, k); };
    const std::vector<Sizes> nine{Sizes{{"n", 9}}};
    table.add("guards", "decay", nine, 64, given, [=](const Tensors& in) {
      const Grid x(in, "xs");
      return out(A1{9}, [&](Int i) { return k < 9 ? x(i) * std::pow(x(k), 40) : x(i); });
    });
    // sum over j <= i of w^(i - j) x_j
    const auto filtered = [](const auto& x, double w, Int i) {
      return sum(i + 1, [&](Int j) { return std::pow(w, static_cast<double>(i - j)) * x(j); });
    };
    table.add("guards", "filtered", nine, 64, given, [=](const Tensors& in) {
      const Grid x(in, "xs");
      return out(A1{9}, [&](Int i) { return k < 9 ? filtered(x, x(k), i) + filtered(x, x(k), k) : x(i); });
    });
    table.add("guards", "scaled", nine, 64, given, [=](const Tensors& in) {
      const Grid x(in, "xs");
      const auto s = [&](Int j) { return x(j) * x(k); };
      return out(A1{9}, [&](Int i) { return k < 9 ? filtered(s, s(k), i) : x(i); });
    });
  }
  const auto planes = [](Tensors& in) {
    Tensor& pairs = in.at("pairs");
    const Int n = in.at("a").shape[0];
    for (Int k = 0; k < pairs.size(); k++) pairs.set(k, static_cast<double>((k % 2 == 0 ? k / 2 : k / 4 + 1) % n));
  };
  table.add("guards", "rotations", {{{"m", 4}, {"n", 5}}, {{"m", 1}, {"n", 2}}}, 64, planes, [](const Tensors& in) {
    const Grid start(in, "a"), pairs(in, "pairs");
    const Int n = start.size(0);
    std::vector<Vector> a;
    for (Int i = 0; i < n; i++) a.push_back(vectorOf(n, [&](Int j) { return start(i, j); }));
    for (Int k = 0; k < pairs.size(0); k++) {
      const auto p = static_cast<Int>(pairs(k, 0)), q = static_cast<Int>(pairs(k, 1));
      if (p == q) continue;
      const double length = std::hypot(a[p][p], a[q][p]), c = a[p][p] / length, s = a[q][p] / length;
      for (const bool ofRows : {true, false})
        for (Int i = 0; i < n; i++) {
          double &x = ofRows ? a[p][i] : a[i][p], &y = ofRows ? a[q][i] : a[i][q];
          std::tie(x, y) = std::pair(c * x - s * y, s * x + c * y);
        }
    }
    return out(A2{n, n}, [&](Int i, Int j) { return a[i][j]; });
  });
}

}  // namespace lift::programs
