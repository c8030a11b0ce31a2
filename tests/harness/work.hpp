// How much the kernels of a plan do.
#pragma once

#include <map>

#include "lift/kernel.hpp"
#include "lift/kernel_passes.hpp"

namespace lift::test {

// Operations and accesses to memory of all launches, at these sizes.
inline double work(const kernel::Plan& plan, const std::map<NatVar, std::int64_t>& sizes = {}) {
  double total = 0;
  const auto evaluate = [&](Nat n) { return n.evaluate([&](NatVar v) { return sizes.at(v); }); };
  const std::vector<double> times = kernel::timesOfLaunches(plan, evaluate);
  for (std::size_t i = 0; i < times.size(); i++) {
    const kernel::Counts c = kernel::count(plan.kernels[static_cast<std::size_t>(plan.launches[i].kernel)], sizes);
    total += (c.flops + c.integerOps) * times[i];
    for (const kernel::Traffic& t : {c.global, c.local, c.priv}) total += (t.loads + t.stores) * times[i];
  }
  return total;
}

}  // namespace lift::test
