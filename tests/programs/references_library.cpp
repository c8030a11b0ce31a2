#include "programs/reference.hpp"

namespace lift::programs {
namespace {

// The bit operations on integers of T by way of 64-bit arithmetic and single bits.
template <class T>
Tensors bits(const Tensors& in, Scalar type) {
  using U = std::make_unsigned_t<T>;
  constexpr int width = 8 * static_cast<int>(sizeof(T));
  const Grid xs(in, "xs"), ys(in, "ys");
  const auto result = [&](const auto& f) {
    return make(A1{xs.size(0)}, type, [&](Int i) { return f(static_cast<T>(xs(i)), static_cast<T>(ys(i))); });
  };
  const auto bit = [](U x, int i) { return static_cast<int>(x >> i & 1); };
  return {{"out.0", result([](T x, T y) { return static_cast<T>((x & y) ^ (x | ~y)); })},
          {"out.1", result([](T x, T y) {
             const int by = static_cast<int>(static_cast<U>(y) % width);
             return static_cast<T>(static_cast<T>(static_cast<Int>(x) * (Int{1} << by)) ^ static_cast<T>(x >> by));
           })},
          {"out.2", result([&](T x, T y) {
             U turned = 0;
             for (int i = 0; i < width; i++)
               if (bit(static_cast<U>(x), i))
                 turned |= static_cast<U>(U{1} << (static_cast<unsigned>(i + static_cast<U>(y) % width) % width));
             return static_cast<T>(turned);
           })},
          {"out.3", result([&](T x, T) {
             int ones = 0, leading = 0;
             for (int i = 0; i < width; i++) ones += bit(static_cast<U>(x), i);
             while (leading < width && !bit(static_cast<U>(x), width - 1 - leading)) leading++;
             return ones + leading;
           })},
          {"out.4", result([](T x, T y) { return static_cast<T>((static_cast<Int>(x) * y) >> width); })},
          {"out.5", result([](T x, T) {
             const Int magnitude = static_cast<T>(x < 0 ? -static_cast<Int>(x) : x);
             return magnitude < -3 ? -3 : magnitude > 5 ? 5 : magnitude;
           })}};
}

// Over the whole range of the type.
Prepare wide(double range) {
  return [range](Tensors& in) {
    Int state = 1;
    for (auto& [name, t] : in)
      for (Int i = 0; i < t.size(); i++) {
        state = (state * 48271) % 2147483647;
        t.set(i, std::floor((static_cast<double>(state) / 2147483647 - 0.5) * range));
      }
  };
}

Tensors sobel(const Tensors& in) {
  const Grid x(in, "x");
  return filtered(x, 3, 3, clamp, [](Int i, Int j) { return static_cast<double>((j - 1) * (i == 1 ? 2 : 1)); });
}

Tensors lookup(const Tensors& in) {
  const Grid at(in, "at"), xs(in, "xs");
  const A1 n{xs.size(0)};
  const auto index = [&](Int i, Int m) { return static_cast<Int>(at(i)) % m; };
  const double table[] = {0.5, -1.5, 2.5, 4, 8};
  return {{"out.0", make(n, [&](Int i) { return table[index(i, 5)]; })},
          {"out.1.0", make(n, [&](Int i) { return index(i, 2) == 0 ? 1.5 : -2.5; })},
          {"out.1.1", make(n, Scalar::i32, [&](Int i) { return index(i, 2) == 0 ? 3 : 7; })},
          {"out.2", make(n, [&](Int i) {
             return index(i, 3) == 0 ? xs(i) : index(i, 3) == 1 ? xs(i) + 1 : 2 * xs(i);
           })}};
}

Int first(const Grid& xs, double sign) {
  Int best = 0;
  for (Int i = 1; i < xs.size(0); i++)
    if (sign * xs(i) > sign * xs(best)) best = i;
  return best;
}

Tensors statistics(const Tensors& in) {
  const Grid xs(in, "xs");
  const Int n = xs.size(0);
  const double mean = sum(n, [&](Int i) { return xs(i); }) / static_cast<double>(n);
  return {{"out.0", single(mean)},
          {"out.1", single(sum(n, [&](Int i) { return (xs(i) - mean) * (xs(i) - mean); }) / static_cast<double>(n))},
          {"out.2", single(std::sqrt(sum(n, [&](Int i) { return xs(i) * xs(i); })))},
          {"out.3", single(static_cast<double>(first(xs, 1)), Scalar::i32)},
          {"out.4", single(static_cast<double>(first(xs, -1)), Scalar::i32)},
          {"out.5", single(xs(first(xs, 1)))},
          {"out.6", single(sum(n, [&](Int i) { return xs(i) > 0 ? 1 : 0; }), Scalar::i32)}};
}

Tensors integers(const Tensors& in) {
  const Grid xs(in, "xs");
  const auto total = static_cast<std::int16_t>(static_cast<Int>(sum(xs.size(0), [&](Int i) { return xs(i); })));
  const auto count = static_cast<std::int16_t>(xs.size(0));
  return {{"out.0", single(xs(first(xs, 1)), Scalar::i16)},
          {"out.1", single(xs(first(xs, -1)), Scalar::i16)},
          {"out.2", single(static_cast<double>(first(xs, 1)), Scalar::i32)},
          {"out.3", single(total, Scalar::i16)},
          {"out.4", single(total / count, Scalar::i16)}};
}

Tensors parts(const Tensors& in) {
  const Grid xs(in, "xs");
  const Int n = xs.size(0);
  return {
      {"out.0", make(A1{n}, [&](Int i) { return xs(n - 1 - i); })},
      {"out.1", make(A1{n}, [&](Int i) { return xs((i + 2) % n); })},
      {"out.2", make(A1{2 * n}, [&](Int i) { return xs(i % n); })},
      {"out.3", make(A1{n - 1}, [&](Int i) { return xs(i + 1) - xs(i); })},
      {"out.4", make(A1{n}, [&](Int i) { return sum(i + 1, [&](Int j) { return xs(j); }); })},
      {"out.5", make(A1{n}, [&](Int i) { return -1 + 2.0 * static_cast<double>(i) / static_cast<double>(n - 1); })}};
}

Tensors algebra(const Tensors& in) {
  const Grid a(in, "a"), b(in, "b"), x(in, "x");
  const Int n = a.size(0), k = a.size(1), m = b.size(1);
  return {{"out.0", make(A2{n, m}, [&](Int i, Int j) { return product(a, false, b, false, k, i, j); })},
          {"out.1", make(A1{n}, [&](Int i) { return sum(k, [&](Int l) { return a(i, l) * x(l); }); })},
          {"out.2", make(A2{n, k}, [&](Int i, Int j) {
             return std::exp(a(i, j)) / sum(k, [&](Int l) { return std::exp(a(i, l)); });
           })}};
}

Tensors zips(const Tensors& in) {
  const Grid a(in, "a"), b(in, "b"), c(in, "c");
  const A2 shape{a.size(0), a.size(1)};
  return {{"out.0", make(shape, [&](Int i, Int j) { return a(i, j) * b(i, j) + c(i, j); })},
          {"out.1", make(shape, [&](Int i, Int j) { return a(i, j) - c(i, j); })}};
}

}  // namespace

void addLibrary(Table& table) {
  table.addExact("library", "bits8", {{{"n", 100}}}, wide(256),
                 [](const Tensors& in) { return bits<std::int8_t>(in, Scalar::i8); });
  table.addExact("library", "bits16", {{{"n", 100}}}, wide(65536),
                 [](const Tensors& in) { return bits<std::int16_t>(in, Scalar::i16); });
  table.addExact("library", "bits32", {{{"n", 100}}}, wide(4294967296),
                 [](const Tensors& in) { return bits<std::int32_t>(in, Scalar::i32); });
  for (const char* entry : {"sobel", "sobelUnrolled"})
    table.add("library", entry, {{{"h", 7}, {"w", 9}}, {{"h", 1}, {"w", 1}}}, 12, sobel);
  table.add(
      "library", "lookup", {{{"n", 30}}}, 2, [](Tensors& in) { absolute(in, "at"); }, lookup);
  table.add("library", "statistics", {{{"n", 100}}, {{"n", 1}}}, 200, statistics);
  table.addExact("library", "integers", {{{"n", 50}}, {{"n", 1}}}, wide(65536), integers);
  table.add("library", "parts", {{{"n", 20}}, {{"n", 3}}}, 40, parts);
  table.add("library", "algebra", {{{"n", 5}, {"k", 6}, {"m", 7}}}, 40, algebra);
  table.add("library", "zips", {{{"h", 4}, {"w", 5}}}, 4, zips);
}

}  // namespace lift::programs
