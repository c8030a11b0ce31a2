#include <catch2/catch.hpp>
#include <cmath>

#include "bounds/pebbles.hpp"
#include "lift/bounds.hpp"
#include "lift/diagnostic.hpp"

using namespace lift;
using bounds::SumOfProducts;

namespace {

struct Small {
  pebbles::Graph graph;
  SumOfProducts sum;
};

// rows × depth times depth × columns.
Small product(int rows, int columns, int depth) {
  Small s;
  std::vector<std::vector<int>> a, b;
  for (int i = 0; i < rows; i++) {
    a.emplace_back();
    for (int k = 0; k < depth; k++) a.back().push_back(s.graph.add());
  }
  for (int j = 0; j < columns; j++) {
    b.emplace_back();
    for (int k = 0; k < depth; k++) b.back().push_back(s.graph.add());
  }
  for (const auto& row : a)
    for (const auto& column : b) {
      std::vector<int> terms;
      for (std::size_t k = 0; k < row.size(); k++) terms.push_back(s.graph.add({row[k], column[k]}));
      s.graph.addSum(terms);
    }
  s.sum = {double(rows) * columns * depth, 1, (rows + columns) * depth, rows * columns};
  return s;
}

// Windows of one dimension.
Small convolution(int inputs, int taps, int stride, int kernels) {
  Small s;
  std::vector<int> in;
  std::vector<std::vector<int>> weights;
  for (int i = 0; i < inputs; i++) in.push_back(s.graph.add());
  for (int j = 0; j < kernels; j++) {
    weights.emplace_back();
    for (int k = 0; k < taps; k++) weights.back().push_back(s.graph.add());
  }
  const int windows = (inputs - taps) / stride + 1;
  for (int w = 0; w < windows; w++)
    for (const auto& kernel : weights) {
      std::vector<int> terms;
      for (int k = 0; k < taps; k++)
        terms.push_back(s.graph.add({in[std::size_t(w * stride + k)], kernel[std::size_t(k)]}));
      s.graph.addSum(terms);
    }
  s.sum = {double(windows) * kernels * taps, std::ceil(double(taps) / stride), inputs + kernels * taps,
           windows * kernels};
  return s;
}

}  // namespace

TEST_CASE("no game of pebbles on a small graph has less traffic than the bound") {
  int games = 0, above = 0;
  const auto judge = [&](const Small& s, const std::string& what) {
    for (int red = int(bounds::leastFastMemory); red <= 6; red++) {
      const auto best = pebbles::fewest(s.graph, red);
      if (!best) continue;
      INFO(what << " with " << red << " pebbles");
      CHECK(bounds::lowerBound(s.sum, red) <= *best);
      games++;
      above += *best > bounds::compulsory(s.sum);
    }
  };
  for (int rows = 1; rows <= 2; rows++)
    for (int columns = 1; columns <= 2; columns++)
      for (int depth = 1; depth <= 2; depth++)
        judge(product(rows, columns, depth),
              std::to_string(rows) + " " + std::to_string(columns) + " " + std::to_string(depth));
  judge(product(3, 2, 1), "3 2 1");
  judge(product(3, 3, 1), "3 3 1");
  judge(product(3, 1, 2), "3 1 2");
  judge(product(2, 1, 3), "2 1 3");
  judge(convolution(3, 2, 1, 1), "3 2 1 1");
  judge(convolution(4, 2, 1, 1), "4 2 1 1");
  judge(convolution(5, 3, 1, 1), "5 3 1 1");
  judge(convolution(5, 3, 2, 1), "5 3 2 1");
  judge(convolution(3, 2, 1, 2), "3 2 1 2");
  CHECK(games >= 25);
  CHECK(above >= 3);
}

namespace {

// A matrix product by tiles of rows × columns sums, the depth outside, on a machine that counts.
struct Played {
  std::int64_t traffic;
  bool ok;
};
Played tiled(int rows, int columns, int depth, int tileRows, int tileColumns, std::int64_t room) {
  pebbles::Machine m(room);
  for (int i = 0; i < rows; i += tileRows)
    for (int j = 0; j < columns; j += tileColumns) {
      const int r = std::min(tileRows, rows - i), c = std::min(tileColumns, columns - j);
      for (int k = 0; k < depth; k++) {
        for (int x = 0; x < r; x++) m.load(i + x);
        for (int y = 0; y < c; y++) {
          m.load(j + y);
          for (int x = 0; x < r; x++) {
            m.hold();  // the product
            if (k == 0) continue;
            m.hold();   // the sum
            m.free(2);  // product and sum before
          }
          m.free();
        }
        m.free(r);
      }
      for (int x = 0; x < r * c; x++) m.store();
      m.free(r * c);
    }
  return {m.traffic(), m.ok()};
}

}  // namespace

TEST_CASE("schedules of matrix products have more traffic than the bound, and good ones little more") {
  int schedules = 0;
  for (const int n : {6, 17, 40})
    for (const int tile : {1, 2, 4, 5, 8, 13}) {
      const int room = tile * tile + tile + 3;
      const Played p = tiled(n, n, 2 * n, tile, tile, room);
      const std::int64_t bound = bounds::lowerBound({2.0 * n * n * n, 1, 4 * n * n, n * n}, room);
      INFO(n << " in tiles of " << tile << ": " << p.traffic << " of at least " << bound);
      CHECK(p.ok);
      CHECK(bound <= p.traffic);
      schedules++;
    }
  CHECK(schedules == 18);
  // Far above all sizes of fast memory the bound is 0.96 of what tiles of √S come to.
  const double n = 1e5, fast = 1e4;
  const auto bound = bounds::lowerBound({n * n * n, 1, 0, 0}, std::int64_t(fast));
  CHECK(double(bound) * std::sqrt(fast) / (n * n * n) == Approx(1.926).epsilon(0.005));
  CHECK(!tiled(6, 6, 6, 3, 3, 9).ok);  // the machine does say so
}

TEST_CASE("the bound of composite algorithms is the paper's for direct convolution") {
  for (const double reuse : {1.0, 7.5625, 9.0, 25.0})
    for (const double size : {64.0, 4096.0}) {
      const auto inProducts = [=](double h) { return 2 * size * std::sqrt(reuse * h); };
      const auto inSums = [](double h) { return std::max(0.0, h - 1); };
      const double t = bounds::largestSet({{inProducts, inProducts}, {inSums, inSums}}, size);
      const double lemma = 4 * size * std::sqrt(reuse * size) + size - 1;  // 4.11
      CHECK(t >= lemma * 0.999);  // from above, but for the vertices that all go to the first step
      CHECK(t <= lemma * 1.01);
    }
}

TEST_CASE("a fast memory that holds no product is refused") {
  CHECK_THROWS_AS(bounds::lowerBound({8, 1, 8, 4}, 3), UserError);
  CHECK(bounds::lowerBound({8, 1, 8, 4}, 4) == 12);
}
