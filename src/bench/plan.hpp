// Plans as contestants, and plans of a kernel that someone else wrote.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lift/bench.hpp"

namespace lift::bench {

using Inputs = std::map<std::string, Tensor>;
using FromOutput = std::function<Tensor(const Tensor&)>;  // from the buffer `out` to the natural layout

std::unique_ptr<Contestant> contest(std::unique_ptr<runtime::Executable> executable, const Inputs& inputs,
                                    FromOutput fromOutput, std::string implementation);

// A plan that launches the kernel `name` of `source` once; its arguments are the buffers in their order.
kernel::Plan planOf(const std::string& name, std::string source, std::vector<kernel::PlanBuffer> buffers,
                    const kernel::NDRange& range);

}  // namespace lift::bench
