// Bounds of the parts of programs.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "lift/bounds.hpp"
#include "lift/diagnostic.hpp"

namespace lift::bounds {
namespace {

void forEachScalar(Type t, std::int64_t count, const std::function<void(Scalar, std::int64_t)>& f) {
  if (t.isScalar()) return f(t.scalar(), count);
  const auto length = t.hasLength() ? t.length().constant() : 1;
  if (!length) {
    for (const NatVar v : t.length().variables())
      if (v.role() == NatVar::Role::tunable)
        throw UserError(ExitStatus::program, fmt::format("the tunable {} has no value", v.name()),
                        fmt::format("give one with --size {}=…", v.name()));
    throw UserError(ExitStatus::program, fmt::format("the size {} is not known", t.length().str()),
                    "give it with -s NAME=VALUE");
  }
  for (const Type part : t.parts()) forEachScalar(part, count * *length, f);
}

}  // namespace

PartBound boundOf(const Part& part, std::int64_t fastBytes) {
  const Program& program = part.workload.program;
  PartBound b;
  b.elementBytes = 8;
  const auto bytes = [&](Type type) {
    std::int64_t all = 0;
    forEachScalar(type, 1, [&](Scalar s, std::int64_t count) {
      const std::int64_t ofElement = info(s).bytes;
      b.elementBytes = std::min(b.elementBytes, ofElement);
      all += count * ofElement;
    });
    return all;
  };
  std::int64_t inputs = 0;
  const std::int64_t outputs = bytes(program.result());
  for (const Expr p : program.parameters) inputs += bytes(p.type());
  SumOfProducts sum{0, 1, inputs / b.elementBytes, outputs / b.elementBytes};
  b.compulsory = compulsory(sum);
  if (const auto products = productsOf(part, &b.reason)) {
    b.products = sum.products = std::max(0.0, products->products());
    b.reuse = sum.reuse = std::max(1.0, products->first.uses) * std::max(1.0, products->second.uses);
  }
  b.bound = lowerBound(sum, fastBytes / b.elementBytes);
  return b;
}

}  // namespace lift::bounds
