#include "part_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lift/strategies.hpp"
#include "lift/terms.hpp"

namespace lift::detail::parts {

using namespace rewrite;

std::int64_t estimated(Nat n) { return n.constant().value_or(1000); }

Cut cutOfColumns(Nat columns, std::int64_t longest, bool mayFill) {
  constexpr std::int64_t good = 8, widest = 16;
  const std::int64_t length = estimated(columns), vector = widestVector(length);
  Cut cut{mayFill && (!columns.constant() || (vector < good && vector != length)), 0, length};
  const std::int64_t whole = roundedUp(length, widest);
  cut.longest = std::min(cut.fill ? whole : length, longest);
  return cut;
}

Cut cutOfRows(Nat rows) {
  constexpr std::int64_t good = 4, usual = 8, longest = 16;
  const std::int64_t length = estimated(rows);
  const bool fill = !rows.constant() || largestDivisor(length, usual) < std::min(good, length);
  return {fill, fill ? longest : std::min(length, longest), length};
}

Cut filledCut(Nat n, std::int64_t longest) {
  constexpr std::int64_t widest = 16;
  const std::int64_t length = estimated(n);
  return {true, std::min(roundedUp(length, widest), longest), length};
}

std::string isNotKnown(Nat size) { return fmt::format("the size {} is not known", size.str()); }

std::string notInLanes(Nat columns) { return estimated(columns) < 2 ? "it has one column" : ""; }

Strategy paddedInMemory() {
  return [](Expr term, Rewriting& r) {
    const auto& inputs = term.freeVariables();
    const auto isPadded = [&inputs](Expr e) {
      const auto& free = e.freeVariables();
      return e.type().isArray() && e.isApply() && onlyMovesData(e) && anyPrimitive(e, isPadding) &&
             !anyPrimitive(e, isSlide) &&
             std::ranges::all_of(free, [&](Expr v) { return std::ranges::find(inputs, v) != inputs.end(); });
    };
    const auto copied = [](Expr e, Rewriting& rewriting) {
      const int rank = std::min<int>(3, static_cast<int>(shapeOf(e.type()).size()));
      return seq({use("keepAhead"), argument(strategies::copyInParallel(rank))})(e, rewriting);
    };
    return attempt(inside(isPadded, copied))(term, r);
  };
}

}  // namespace lift::detail::parts
