// Plans as contestants.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "lift/bench.hpp"

namespace lift::bench {

using Inputs = std::map<std::string, Tensor>;
using FromOutput = std::function<Tensor(const Tensor&)>;  // from the buffer `out` to the natural layout

std::unique_ptr<Contestant> contest(std::unique_ptr<runtime::Executable> executable, const Inputs& inputs,
                                    FromOutput fromOutput, std::string implementation);

}  // namespace lift::bench
