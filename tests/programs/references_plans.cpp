// Programs of several kernels, and of kernels with barriers.
#include "programs/reference.hpp"

namespace lift::programs {
namespace {

// Five points of a clamped image, equal weights, several times.
Tensors swapped(const Tensors& in) {
  Tensors now{{"out", in.at("x")}};
  for (int step = 0; step < 4; step++) {
    const Tensors old = now;
    now = filtered(Grid(old, "out"), 3, 3, clamp, [](Int i, Int j) { return i == 1 || j == 1 ? 0.2 : 0.0; });
  }
  return now;
}

}  // namespace

void addPlans(Table& table) {
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
  const std::vector<Sizes> rows{{{"n", 3}, {"m", 600}}, {{"n", 2}, {"m", 37}}, {{"n", 1}, {"m", 1}}};
  table.add("barriers", "together", rows, 40, [](const Tensors& in) {
    const Grid x(in, "x");
    return out(A2{x.size(0), x.size(1)}, [&](Int i, Int j) {
      return std::exp(x(i, j)) / sum(x.size(1), [&](Int k) { return std::exp(x(i, k)); });
    });
  });
}

}  // namespace lift::programs
