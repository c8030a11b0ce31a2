// Families for the patterns of parts. The first is what is taken where nothing has been measured.
#include <fmt/format.h>

#include <algorithm>

#include "lift/strategies.hpp"
#include "lift/terms.hpp"
#include "parts.hpp"

namespace lift::detail::parts {
namespace {

using namespace rewrite;

std::int64_t largestDivisor(std::int64_t n, std::int64_t most) {
  for (std::int64_t d = std::min(n, most); d > 1; d--)
    if (n % d == 0) return d;
  return 1;
}

std::int64_t widestVector(std::int64_t n) {
  std::int64_t width = 16;
  while (n % width != 0) width /= 2;
  return width;
}

// Why the loops cannot be cut into tiles whose innermost dimension is in vectors; empty where they can.
std::string notInLanes(const Recognised& form) {
  const Nat columns = form.nest.loops.back().input.type().length();
  if (!columns.constant()) return fmt::format("what divides {} is not known", columns.str());
  if (*columns.constant() % 2 != 0) return fmt::format("no vector divides {} columns", columns.str());
  return "";
}

// The two innermost loops of a product.
struct ProductShape {
  explicit ProductShape(const Recognised& form)
      : batch(static_cast<int>(form.nest.loops.size()) - 2),
        rowsOf(form.nest.loops[form.nest.loops.size() - 2].input),
        columnsOf(form.nest.loops.back().input) {}

  int batch;
  Expr rowsOf, columnsOf;

  Nat rows() const { return rowsOf.type().length(); }
  Nat columns() const { return columnsOf.type().length(); }
  // Whether neighbouring columns have their elements side by side in memory.
  bool columnsLieTogether() const { return spineOf(columnsOf).isPrim(Prim::transpose); }
  // Whether a copy of the columns is an array of vectors.
  bool canCopy() const { return batch == 0 && shapeOf(columnsOf.type()).size() == 2; }
};
// So many rows pay for a copy of the columns.
constexpr std::int64_t rowsOfCopy = 32;

std::string notInTiles(const Recognised& form) {
  if (!form.rowsThenColumns) return "its rows and columns are not the two innermost dimensions";
  const ProductShape product(form);
  const auto rows = product.rows().constant();
  if (!rows) return fmt::format("what divides {} is not known", product.rows().str());
  if (!product.columnsLieTogether() && product.canCopy() && *rows < rowsOfCopy)
    return fmt::format("{} rows do not pay for a copy of the columns", *rows);
  return notInLanes(form);
}

// The families of a product, the first what is likely to be faster.
std::vector<OperatorFamily> productFamilies(const Recognised& form) {
  const ProductShape product(form);
  const std::int64_t rows = *product.rows().constant(), columns = *product.columns().constant();
  const int batch = product.batch;
  const auto derive = [=](bool panels) {
    return [=](Rewriting& r) {
      const Nat rowsOfTile = r.tunable("rows", 1, std::min<std::int64_t>(rows, 16));
      const Nat columnsOfTile = r.tunable("columns", 2, std::min<std::int64_t>(columns, 64));
      const Nat lanes = r.tunable("lanes", 2, 16);
      r.assume({SizeCondition::Kind::lessEqual, rowsOfTile * columnsOfTile, lanes * Nat(64), "accumulators"});
      r.apply(strategies::fused());
      r.apply(strategies::matrixProduct({rowsOfTile, columnsOfTile, lanes, batch, panels}));
    };
  };
  const std::int64_t lanes = widestVector(columns);
  const std::int64_t width = columns % (2 * lanes) == 0 ? 2 * lanes : lanes;
  const Config defaults{{"lanes", lanes}, {"columns", width}, {"rows", largestDivisor(rows, 8)}};

  std::vector<OperatorFamily> families{
      {"tiles", "a tile of rows by columns in registers, columns in lanes", derive(false), defaults}};
  if (!product.canCopy()) return families;
  // Columns that a near cache does not hold are better read in order.
  constexpr std::int64_t nearCache = 512 << 10;
  const auto elements = (product.columns() * product.columnsOf.type().element().length()).constant();
  const bool isLarge = !elements || *elements * static_cast<std::int64_t>(sizeof(float)) > nearCache;
  const bool first = rows >= rowsOfCopy && (isLarge || !product.columnsLieTogether());
  families.insert(first ? families.begin() : families.end(),
                  {"panels", "the same, each tile's columns copied to be read in order", derive(true), defaults});
  return families;
}

bool isSliding(Expr p) { return p.prim() == Prim::slide || p.prim() == Prim::slideStrict; }
bool isPadding(Expr p) {
  return p.prim() == Prim::pad || p.prim() == Prim::padClamp || p.prim() == Prim::padMirror ||
         p.prim() == Prim::padWrap;
}

// The input with its padding in memory, so that neighbours are read as vectors.
Strategy paddedInMemory() {
  return [](Expr term, Rewriting& r) {
    const auto& inputs = term.freeVariables();
    const auto isPadded = [&inputs](Expr e) {
      const auto& free = e.freeVariables();
      return e.type().isArray() && e.is(Expr::Form::apply) && onlyMovesData(e) && anyPrimitive(e, isPadding) &&
             !anyPrimitive(e, isSliding) && std::all_of(free.begin(), free.end(), [&](Expr v) {
               return std::find(inputs.begin(), inputs.end(), v) != inputs.end();
             });
    };
    const auto copied = [](Expr e, Rewriting& rewriting) {
      const int rank = std::min<int>(3, static_cast<int>(shapeOf(e.type()).size()));
      return seq({use("keepAhead"), argument(strategies::copyInParallel(rank))})(e, rewriting);
    };
    return attempt(inside(isPadded, copied))(term, r);
  };
}

// Neighbouring windows of a row per work-item, in lanes.
std::vector<OperatorFamily> stencilFamilies(const Recognised& form) {
  const std::int64_t columns = *form.nest.loops.back().input.type().length().constant();
  const int outer = static_cast<int>(form.nest.loops.size()) - 1;
  OperatorFamily family;
  family.name = "lanes";
  family.meaning = "neighbouring windows of a row in lanes, padding in memory";
  family.derive = [=](Rewriting& r) {
    const Nat columnsOfItem = r.tunable("columns", 2, std::min<std::int64_t>(columns, 128));
    const Nat lanes = r.tunable("lanes", 2, 16);
    r.assume({SizeCondition::Kind::lessEqual, columnsOfItem, lanes * Nat(16), "accumulators"});
    r.apply(paddedInMemory());
    r.apply(strategies::fused());
    r.apply(strategies::stencil(columnsOfItem, lanes, outer));
  };
  const std::int64_t lanes = widestVector(columns);
  family.defaults = {{"lanes", lanes}, {"columns", columns % (2 * lanes) == 0 ? 2 * lanes : lanes}};
  return {family};
}

}  // namespace

Families familiesOf(const Recognised& form) {
  Families families;
  const auto add = [&](const std::string& refused, auto made) {
    families.reason = refused;
    if (refused.empty()) families.all = made(form);
  };
  if (form.pattern == Pattern::product || form.pattern == Pattern::convolution) add(notInTiles(form), productFamilies);
  if (form.pattern == Pattern::stencil)
    add(form.reduces ? notInLanes(form) : "its windows are not reduced", stencilFamilies);
  families.all.push_back({defaultFamily, "the default mapping", {}});
  return families;
}

}  // namespace lift::detail::parts
