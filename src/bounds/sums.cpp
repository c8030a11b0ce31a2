// Bounds of sums of products and of composite algorithms.
//
// The proof of lowerBound. A game with Q loads and stores is cut into h = ⌈Q / x⌉ phases of x of them. Of each result
// follow the pebble that is stored last back to what it was computed from: this gives every product one computation
// that counts. In phase t, let A and B be the elements of both operands that are in fast memory at some time, C the
// results that a product of the phase counts for.
//   - By Loomis and Whitney (1949) the products of the phase are at most √(reuse · A · B · C): they are triples
//     (i, j, k), and their projections have at most reuse₁ · A, reuse₂ · B and C elements.
//   - A and B were in fast memory at the beginning, or were loaded. What counts of each of the C results is in fast
//     memory at the end, or was stored. So A + B + C ≤ S - c(t-1) + c(t) + x, where c(t) ≤ S are the pebbles on
//     results at the end of phase t; c(0) = S may be taken, since nothing is in fast memory at the beginning, and
//     c(h) = 0.
//   - So a phase has at most g(u) = √reuse · (u / 3)^1.5 products, u = A + B + C. g is convex: the sum over all
//     phases is greatest where c(t) is 0 and S in turns.
// Where that sum is less than the products that there are, there must be more phases. Any x gives a bound.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lift/bounds.hpp"
#include "lift/diagnostic.hpp"

namespace lift::bounds {
namespace {

struct Phases {
  double reuse, fast, size;

  double products(double elements) const { return std::sqrt(reuse) * std::pow(elements / 3, 1.5); }
  double most(double count) const {
    const double rising = std::floor((count - 1) / 2), falling = rising + 1, level = count - rising - falling;
    return rising * products(2 * fast + size) + falling * products(size) + level * products(fast + size);
  }
  // The fewest phases that have so many products.
  double least(double wanted) const {
    const double two = products(size) + products(2 * fast + size);
    double count = std::max(1.0, 2 * std::floor(wanted / two) - 2);
    while (most(count) < wanted) count++;
    return count;
  }
};

}  // namespace

std::int64_t compulsory(const SumOfProducts& sum) { return sum.inputs + sum.outputs; }

std::int64_t lowerBound(const SumOfProducts& sum, std::int64_t fast) {
  if (fast < leastFastMemory)
    throw UserError(ExitStatus::usage, fmt::format("a fast memory of {} elements is too small to compute in", fast),
                    fmt::format("sums of products need {} at least", leastFastMemory));
  const double wanted = sum.products * (1 - 1e-9);  // rounding must not add a phase
  double best = 0;
  const auto f = static_cast<double>(fast);
  for (double size = 1; size <= 8 * f; size = std::max(size + 1, std::floor(size * 1.02)))
    best = std::max(best, (Phases{sum.reuse, f, size}.least(wanted) - 1) * size + 1);
  return std::max(compulsory(sum), static_cast<std::int64_t>(best));
}

double largestSet(const std::vector<Step>& steps, double size) {
  // All ways to give the steps parts of the S vertices, in units; every part is rounded up to the next.
  const int units = steps.size() <= 2 ? 64 : 16;
  double most = 0;
  const std::function<void(std::size_t, int, double, double)> give = [&](std::size_t step, int left, double passed,
                                                                         double sum) {
    if (step == steps.size()) {
      most = std::max(most, sum);
      return;
    }
    for (int part = 0; part <= left; part++) {
      const double own = std::min(size, size * (part + 1) / units);
      const double h = own + passed;
      give(step + 1, left - part, steps[step].passedOn(h), sum + steps[step].generated(h));
    }
  };
  give(0, units, 0, 0);
  return size + most;
}

double compositeBound(double vertices, const std::function<std::vector<Step>(double size)>& steps, std::int64_t fast) {
  const auto s = static_cast<double>(fast);
  return std::max(0.0, s * (vertices / largestSet(steps(2 * s), 2 * s) - 1));
}

}  // namespace lift::bounds
