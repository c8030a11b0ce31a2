// What the programs cost: the work of their kernels grows with a size as it must, and no faster.
#include <catch2/catch.hpp>
#include <cmath>

#include "harness/work.hpp"
#include "lift/codegen.hpp"
#include "programs/catalogue.hpp"

namespace lift::programs {
namespace {

struct Cost {
  const char* file;
  const char* entry;
  Sizes sizes;
  const char* grows;  // the size that is doubled
  int degree = 1;     // of the polynomial of it that bounds the work
};

// What a whole array determines is computed once, not by every work-item that needs it.
const std::vector<Cost> costs{
    {"normalise", "softmax", {{"n", 4096}}, "n"},
    {"normalise", "softmaxRows", {{"rows", 64}, {"n", 4096}}, "n"},
    {"normalise", "variance", {{"n", 4096}}, "n"},
    {"normalise", "normalised", {{"n", 4096}}, "n"},
    {"normalise", "layerNorm", {{"rows", 64}, {"n", 4096}}, "n"},
    {"normalise", "withMean", {{"n", 4096}}, "n"},
    {"nearest", "main", {{"n", 4096}}, "n"},
    {"nearest", "relative", {{"n", 4096}}, "n"},
    {"histogram", "main", {{"n", 4096}}, "n"},
    {"histogram", "chunked", {{"n", 4096}}, "n"},
    {"kmeans", "main", {{"n", 4096}, {"d", 4}, {"k", 8}}, "n"},
    {"kmeans", "main", {{"n", 256}, {"d", 4}, {"k", 64}}, "k"},
    {"attention", "main", {{"m", 64}, {"n", 512}, {"d", 16}, {"e", 16}}, "n"},
    {"attention", "main", {{"m", 64}, {"n", 64}, {"d", 16}, {"e", 256}}, "e"},
    {"rnn", "gated", {{"t", 4}, {"i", 64}, {"h", 128}}, "h", 2},
    {"logistic", "main", {{"n", 1024}, {"d", 16}}, "n"},
    {"logistic", "main", {{"n", 64}, {"d", 256}}, "d"},
    {"drawdown", "main", {{"n", 4096}}, "n"},
    {"pagerank", "main", {{"n", 4096}, {"m", 64}}, "n"},
    {"compact", "main", {{"n", 4096}}, "n"},
    {"bodies", "forces", {{"n", 256}}, "n", 2},
    {"bodies", "main", {{"n", 256}}, "n", 2},
    {"harris", "main", {{"h", 64}, {"w", 64}}, "h"},
    {"srad", "main", {{"steps", 3}, {"h", 64}, {"w", 64}}, "h"},
    {"floyd", "main", {{"n", 32}}, "n", 3},
    {"triangular", "lu", {{"n", 32}}, "n", 3},
    {"triangular", "columns", {{"n", 128}}, "n", 2},
    {"fir", "main", {{"k", 16}, {"n", 4096}}, "n"},
    {"life", "main", {{"generations", 3}, {"h", 64}, {"w", 64}}, "h"},
};

double workOf(const Cost& cost, int factor) {
  CatalogueEntry entry;
  entry.file = cost.file;
  entry.entry = cost.entry;
  entry.sizes = cost.sizes;
  entry.sizes.at(cost.grows) *= factor;
  return test::work(compile(load(entry)));
}

}  // namespace

TEST_CASE("the work of programs grows with their sizes as it must") {
  for (const Cost& cost : costs) DYNAMIC_SECTION(cost.file << " " << cost.entry << " in " << cost.grows) {
      const double once = workOf(cost, 1), twice = workOf(cost, 2);
      INFO(once << " operations and accesses, of twice the size " << twice);
      CHECK(once > 0);
      CHECK(twice <= once * std::pow(2, cost.degree) * 1.1);
    }
}

}  // namespace lift::programs
