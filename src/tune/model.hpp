// The explorer "model".
#pragma once

#include <memory>
#include <vector>

#include "lift/explorer.hpp"

namespace lift::tune {

std::unique_ptr<Explorer> makeModelGuided(const std::vector<SearchSpace>& families, const ExplorerOptions& options);

}  // namespace lift::tune
