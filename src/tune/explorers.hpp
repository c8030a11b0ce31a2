// The explorers that have files of their own; `makeExplorer` knows them by their names.
#pragma once

#include <memory>
#include <vector>

#include "lift/explorer.hpp"

namespace lift::tune {

std::unique_ptr<Explorer> makeModelGuided(const std::vector<SearchSpace>& families, const ExplorerOptions& options);
std::unique_ptr<Explorer> makeWalks(const std::vector<SearchSpace>& families, const ExplorerOptions& options);
std::unique_ptr<Explorer> makeQ(const std::vector<SearchSpace>& families, const ExplorerOptions& options);

}  // namespace lift::tune
