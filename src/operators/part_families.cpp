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

// How a dimension of `length` is cut into tiles.
struct Cut {
  bool fill = false;         // no good size of tiles divides it: the last tile is filled up and cropped
  std::int64_t longest = 0;  // of a tile
  std::int64_t length = 0;

  bool takes(std::int64_t tile) const { return tile <= longest && (fill || length % tile == 0); }
};

// Columns, in vectors: whole vectors of eight or more, or of all columns, need no filling.
Cut cutOfColumns(std::int64_t length, std::int64_t longest, bool mayFill = true) {
  constexpr std::int64_t good = 8, widest = 16;
  const std::int64_t vector = widestVector(length);
  Cut cut{mayFill && vector < good && vector != length, 0, length};
  const std::int64_t whole = (length + widest - 1) / widest * widest;
  cut.longest = std::min(cut.fill ? whole : length, longest);
  return cut;
}

Cut cutOfRows(std::int64_t length) {
  constexpr std::int64_t good = 4, usual = 8, longest = 16;
  const bool fill = largestDivisor(length, usual) < std::min(good, length);
  return {fill, fill ? longest : std::min(length, longest), length};
}

// Accumulators of a tile and vectors of a stencil's item.
constexpr std::int64_t mostVectors = 64, mostVectorsOfItem = 16;

// Of the tiles that the cuts take the one that costs least.
struct Tile {
  std::int64_t rows = 1, columns = 0, lanes = 0;
};
template <class Cost>
Tile cheapest(const Cut& rows, const Cut& columns, std::int64_t vectors, const Cost& cost) {
  Tile best;
  double least = 0;
  for (std::int64_t l = 2; l <= 16; l *= 2)
    for (std::int64_t c = l; c <= columns.longest; c += l)
      for (std::int64_t r = 1; columns.takes(c) && r <= rows.longest && r * c <= l * vectors; r++) {
        if (!rows.takes(r)) continue;
        const double costs = cost(Tile{r, c, l});
        if (best.lanes != 0 && costs >= least) continue;
        best = {r, c, l};
        least = costs;
      }
  return best;
}

// Why the loops cannot be cut into tiles whose innermost dimension is in vectors; empty where they can.
std::string notInLanes(Nat columns) {
  if (!columns.constant()) return fmt::format("the size {} is not known", columns.str());
  if (*columns.constant() < 2) return "it has one column";
  return "";
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

// The two innermost loops of a product.
struct ProductShape {
  explicit ProductShape(const Recognised& form)
      : batch(static_cast<int>(form.nest.loops.size()) - 2),
        rowsOf(form.nest.loops[form.nest.loops.size() - 2].input),
        columnsOf(form.nest.loops.back().input),
        together(detail::parts::columnsLieTogether(form)) {
    // Few rows do not pay for a copy of many columns, but a copy of the rows is small: the transposed product.
    const auto n = rows().constant(), m = columns().constant();
    exchanged = n && m && *n > 1 && canCopy() && !columnsLieTogether() && *n < rowsOfCopy() && *m >= rowsOfCopy() &&
                shapeOf(rowsOf.type()).size() == 2;
    if (exchanged) std::swap(rowsOf, columnsOf);
  }

  int batch;
  Expr rowsOf, columnsOf;
  bool exchanged = false, together = false;

  Nat rows() const { return rowsOf.type().length(); }
  Nat columns() const { return columnsOf.type().length(); }
  // Whether neighbouring columns have their elements side by side in memory.
  bool columnsLieTogether() const { return exchanged ? spineOf(columnsOf).isPrim(Prim::transpose) : together; }
  // Whether a copy of the columns is an array of vectors.
  bool canCopy() const { return batch == 0 && shapeOf(columnsOf.type()).size() == 2; }
  // So many rows pay for a copy of the columns: of elements side by side it is fast.
  std::int64_t rowsOfCopy() const { return columnsLieTogether() ? 8 : 32; }
  bool paysToCopy() const { return canCopy() && *rows().constant() >= rowsOfCopy(); }
  // Whether a copy of all columns pays where there are no panels.
  bool paysToCopyAll() const {
    constexpr std::int64_t rowsOfCopy = 8;
    const bool inVectors = columnsLieTogether() && *columns().constant() % 2 == 0;
    return !exchanged && !canCopy() && !inVectors && *rows().constant() >= rowsOfCopy;
  }
};

std::string notInTiles(const Recognised& form) {
  if (!form.rowsThenColumns) return "its rows and columns are not the two innermost dimensions";
  const ProductShape product(form);
  const auto rows = product.rows().constant();
  if (!rows) return fmt::format("the size {} is not known", product.rows().str());
  if (const std::string refused = notInLanes(product.columns()); !refused.empty() || product.paysToCopy())
    return refused;
  if (!product.columnsLieTogether() && product.canCopy())
    return fmt::format("{} rows do not pay for a copy of the columns", *rows);
  const std::int64_t columns = *product.columns().constant();
  return columns % 2 != 0 && !product.paysToCopyAll()
             ? fmt::format("no vector divides {} columns, which are not copied", columns)
             : "";
}

// The families of a product, the first what is likely to be faster.
std::vector<OperatorFamily> productFamilies(const Recognised& form) {
  const ProductShape product(form);
  const std::int64_t rows = *product.rows().constant(), columns = *product.columns().constant();
  std::int64_t batch = 1;
  for (int i = 0; i < product.batch; i++)
    batch *= form.nest.loops[static_cast<std::size_t>(i)].input.type().length().constant().value_or(1);
  const ProductSize size{batch, rows, columns, form.reduced->constant().value_or(256)};

  const bool windows = form.pattern == Pattern::convolution;
  const auto family = [&](const char* name, const char* meaning, bool panels, bool copied = false) {
    const Cut ofRows = cutOfRows(rows), ofColumns = cutOfColumns(columns, 64, panels || copied);
    OperatorFamily f{name, meaning, [=, maps = product.batch, exchanged = product.exchanged](Rewriting& r) {
                       const Nat rowsOfTile = r.tunable("rows", 1, ofRows.longest);
                       const Nat columnsOfTile = r.tunable("columns", 2, ofColumns.longest);
                       const Nat lanes = r.tunable("lanes", 2, 16);
                       r.assume({SizeCondition::Kind::lessEqual, rowsOfTile * columnsOfTile, lanes * Nat(mostVectors),
                                 "accumulators"});
                       r.apply(canonical());
                       if (windows) r.apply(seq({paddedInMemory(), canonical()}));
                       if (exchanged) r.apply(strategies::outermost(use("mapInterchange")));
                       r.apply(strategies::matrixProduct({rowsOfTile, columnsOfTile, lanes, maps, panels, ofRows.fill,
                                                          ofColumns.fill, copied ? columnsCopied() : nullptr}));
                     }};
    f.preferred = [=](const runtime::DeviceInfo& device) -> Config {
      const Tile t = cheapest(ofRows, ofColumns, mostVectors, [&](const Tile& tile) {
        return costOfProduct(device, size, tile.rows, tile.columns, tile.lanes);
      });
      return {{"rows", t.rows}, {"columns", t.columns}, {"lanes", t.lanes}};
    };
    f.defaults = f.preferred(usualProcessor());
    return f;
  };
  const auto tiles = [&] { return family("tiles", "a tile of rows by columns in registers, columns in lanes", false); };
  const auto panels = [&] {
    return family("panels", "the same, each tile's columns copied to be read in order", true);
  };
  if (product.paysToCopyAll())
    return {family("copied", "a tile in registers, all columns copied so that those of a tile stand side by side",
                   false, true)};
  if (!product.paysToCopy()) return {tiles()};
  if (cutOfColumns(columns, 64).fill) return {panels()};
  // Columns that a near cache does not hold are better read in order.
  constexpr std::int64_t nearCache = 512 << 10, rowsOfLarge = 32;
  const std::int64_t bytes = columns * size.depth * static_cast<std::int64_t>(sizeof(float));
  const bool first = rows >= rowsOfLarge && (bytes > nearCache || !product.columnsLieTogether());
  return first ? std::vector{panels(), tiles()} : std::vector{tiles(), panels()};
}

// Neighbouring windows of a row per work-item, in lanes.
std::vector<OperatorFamily> stencilFamilies(const Recognised& form) {
  const auto& loops = form.nest.loops;
  const int outer = static_cast<int>(loops.size()) - 1;
  StencilSize size{1, *loops.back().input.type().length().constant(), form.reduced->constant().value_or(9)};
  for (int i = 0; i < outer; i++)
    size.rows *= loops[static_cast<std::size_t>(i)].input.type().length().constant().value_or(1);
  const bool windows = form.pattern == Pattern::stencil;
  const Cut cut = cutOfColumns(size.columns, 128, windows);
  constexpr std::int64_t unrolledWindow = 400;  // of more elements kernels are too long
  const std::int64_t unroll = size.window <= unrolledWindow ? 0 : 1;
  OperatorFamily family;
  family.name = "lanes";
  family.meaning = windows ? "neighbouring windows of a row in lanes, padding in memory" : "neighbouring rows in lanes";
  family.derive = [=](Rewriting& r) {
    const Nat columnsOfItem = r.tunable("columns", 2, cut.longest);
    const Nat lanes = r.tunable("lanes", 2, 16);
    r.assume({SizeCondition::Kind::lessEqual, columnsOfItem, lanes * Nat(mostVectorsOfItem), "accumulators"});
    if (cut.fill) {
      r.apply(canonical());
      r.apply(strategies::filledWindows(columnsOfItem, outer));
    }
    if (windows) r.apply(paddedInMemory());
    r.apply(canonical());
    r.apply(strategies::stencil(columnsOfItem, lanes, outer, unroll));
  };
  family.preferred = [=](const runtime::DeviceInfo& device) -> Config {
    const Tile t = cheapest(Cut{false, 1, 1}, cut, mostVectorsOfItem,
                            [&](const Tile& tile) { return costOfStencil(device, size, tile.columns, tile.lanes); });
    return {{"columns", t.columns}, {"lanes", t.lanes}};
  };
  family.defaults = family.preferred(usualProcessor());
  return {family};
}

// Of a reduction of rows: whether all that neighbouring rows read lies side by side, or is the same.
bool neighboursLieTogether(const Recognised& form) {
  if (!form.reduces || !form.input) return false;
  const auto strides = stridesOf(form.nest, *form.input);
  const auto is = [&](std::int64_t n) { return std::count(strides.begin(), strides.end(), n); };
  return is(1) > 0 && is(0) + is(1) == static_cast<std::ptrdiff_t>(strides.size());
}

std::string notInVectors(const Recognised& form) {
  const Nat rows = form.nest.loops.back().input.type().length();
  const std::string refused = notInLanes(rows);
  if (!refused.empty() || *rows.constant() % 2 == 0) return refused;
  return fmt::format("no vector divides {} rows", rows.str());
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
    add(form.reduces ? notInLanes(form.nest.loops.back().input.type().length()) : "its windows are not reduced",
        stencilFamilies);
  if (form.pattern == Pattern::rows && neighboursLieTogether(form)) add(notInVectors(form), stencilFamilies);
  families.all.push_back({defaultFamily, "the default mapping", {}});
  return families;
}

}  // namespace lift::detail::parts
