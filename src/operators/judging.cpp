#include "judging.hpp"

#include <algorithm>
#include <random>

#include "lift/build.hpp"
#include "lift/terms.hpp"

namespace lift::detail {

bool canJudgeRows(const Program& program) {
  const Spine s = spineOf(program.body);
  return s.isCall(Prim::map) && onlyMovesData(s.arguments[1]);
}

std::vector<std::int64_t> rowsToJudge(const Program& program, double operations) {
  constexpr double mostOperations = 4e6;  // some seconds of the interpreter
  constexpr std::int64_t least = 3, most = 64;
  if (operations <= mostOperations || !canJudgeRows(program)) return {};
  const auto length = program.result().length().constant();
  if (!length || *length <= least) return {};
  const auto affordable = static_cast<std::int64_t>(mostOperations / operations * static_cast<double>(*length));
  const std::int64_t count = std::min(*length, std::clamp(affordable, least, most));
  std::vector<std::int64_t> rows{0, *length - 1};
  std::mt19937_64 random(1);
  while (std::ssize(rows) < count) {
    const auto row = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(*length));
    if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
  }
  std::ranges::sort(rows);
  return rows;
}

Program ofRows(const Program& program, const std::vector<std::int64_t>& rows) {
  const Spine s = spineOf(program.body);
  const Expr in = s.arguments[1];
  const auto one = [&](std::int64_t row) { return build::take(1, row == 0 ? in : build::drop(row, in)); };
  Expr some = one(rows.back());
  for (auto row = rows.rbegin() + 1; row != rows.rend(); ++row) some = build::call(Prim::concat, {one(*row), some});
  Program out = program;
  out.body = build::map(s.arguments[0], some);
  return out;
}

}  // namespace lift::detail
