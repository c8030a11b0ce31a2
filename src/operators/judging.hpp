// Private to operators: results of which the interpreter computes some rows.
#pragma once

#include <cstdint>
#include <vector>

#include "lift/expr.hpp"

namespace lift::detail {

// Elements of the result's outermost dimension, the first and the last among them, where computing all of `operations`
// would take the interpreter long; none where it does not, or where elements cannot be computed apart.
std::vector<std::int64_t> rowsToJudge(const Program& program, double operations);

// Whether the result is a map over an array that only moves data.
bool canJudgeRows(const Program& program);

// The program whose result has only these elements, of one whose rows can be judged.
Program ofRows(const Program& program, const std::vector<std::int64_t>& rows);

}  // namespace lift::detail
