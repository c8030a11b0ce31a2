// The rule tables, one file each. A row is one line: name, left => right, origin, and what it asks beyond types.
#pragma once

#include <vector>

#include "lift/rewrite.hpp"

namespace lift::rewrite::detail {

std::vector<RuleRow> algorithmicRules();
std::vector<RuleRow> movementRules();
std::vector<RuleRow> tilingRules();
std::vector<RuleRow> filterRules();
std::vector<RuleRow> groupRules();
std::vector<RuleRow> reductionRules();
std::vector<RuleRow> partialRules();
std::vector<RuleRow> vectorRules();
std::vector<RuleRow> memoryRules();
std::vector<RuleRow> loweringRules();
std::vector<RuleRow> placingRules();
std::vector<RuleRow> raisingRules();
std::vector<RuleRow> furtherRules();
std::vector<RuleRow> simplificationRules();

}  // namespace lift::rewrite::detail
