// Bounds of the parts of programs.
#include <fmt/format.h>

#include <algorithm>

#include "lift/bounds.hpp"
#include "lift/diagnostic.hpp"

namespace lift::bounds {
namespace {

std::int64_t elements(Type t) {
  if (t.isScalar()) return 1;
  const auto length = t.hasLength() ? t.length().constant() : 1;
  if (!length)
    throw UserError(ExitStatus::program, fmt::format("the size {} is not known", t.length().str()),
                    "give it with -s NAME=VALUE");
  std::int64_t sum = 0;
  for (const Type part : t.parts()) sum += elements(part);
  return *length * sum;
}

}  // namespace

PartBound boundOf(const Part& part, std::int64_t fast) {
  const Program& program = part.workload.program;
  PartBound b;
  SumOfProducts sum{0, 1, 0, elements(program.result())};
  for (const Expr p : program.parameters) sum.inputs += elements(p.type());
  b.compulsory = compulsory(sum);
  if (const auto products = productsOf(part, &b.reason)) {
    b.products = sum.products = std::max(0.0, products->products());
    b.reuse = sum.reuse = std::max(1.0, products->first.uses) * std::max(1.0, products->second.uses);
  }
  b.bound = lowerBound(sum, fast);
  return b;
}

}  // namespace lift::bounds
