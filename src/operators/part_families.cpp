// Families for the patterns of parts. The first is what is taken where nothing has been measured.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

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

// What a model takes a size for that is given when kernels run; its tiles are filled.
std::int64_t estimated(Nat n) { return n.constant().value_or(1000); }

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
Cut cutOfColumns(Nat columns, std::int64_t longest, bool mayFill = true) {
  constexpr std::int64_t good = 8, widest = 16;
  const std::int64_t length = estimated(columns), vector = widestVector(length);
  Cut cut{mayFill && (!columns.constant() || (vector < good && vector != length)), 0, length};
  const std::int64_t whole = (length + widest - 1) / widest * widest;
  cut.longest = std::min(cut.fill ? whole : length, longest);
  return cut;
}

Cut cutOfRows(Nat rows) {
  constexpr std::int64_t good = 4, usual = 8, longest = 16;
  const std::int64_t length = estimated(rows);
  const bool fill = !rows.constant() || largestDivisor(length, usual) < std::min(good, length);
  return {fill, fill ? longest : std::min(length, longest), length};
}

// Any tile, in whole vectors of 16 at most: the last one is filled up.
Cut filledCut(Nat n, std::int64_t longest) {
  constexpr std::int64_t widest = 16;
  const std::int64_t length = estimated(n);
  return {true, std::min((length + widest - 1) / widest * widest, longest), length};
}

// Accumulators of a tile and vectors of a stencil's item.
constexpr std::int64_t mostVectors = 64, mostVectorsOfItem = 16;

// Of the tiles that the cuts take the one that costs least.
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

std::string isNotKnown(Nat size) { return fmt::format("the size {} is not known", size.str()); }

// Why the loops cannot be cut into tiles whose innermost dimension is in vectors; empty where they can.
std::string notInLanes(Nat columns) { return estimated(columns) < 2 ? "it has one column" : ""; }

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
    const std::size_t loop = form.nest.loops.size() - (exchanged ? 1 : 2);
    const std::size_t ofRow = form.dependsOn[0][loop] ? 0 : 1;
    rowsApart = apart(stridesOf(form.nest, form.operands[ofRow], loop));
    stepsApart = apart(stridesInside(form.nest, form.operands[1 - ofRow]));
  }

  int batch;
  Expr rowsOf, columnsOf;
  bool exchanged = false, together = false;
  std::int64_t rowsApart = 1, stepsApart = 1;  // ProductSize

  static std::int64_t apart(const std::vector<std::optional<std::int64_t>>& strides) {
    return strides.size() == 1 && strides[0] ? std::abs(*strides[0]) : 1;
  }
  Nat rows() const { return rowsOf.type().length(); }
  Nat columns() const { return columnsOf.type().length(); }
  // Whether neighbouring columns have their elements side by side in memory.
  bool columnsLieTogether() const { return exchanged ? spineOf(columnsOf).isPrim(Prim::transpose) : together; }
  // Whether a copy of the columns is an array of vectors.
  bool canCopy() const { return batch == 0 && shapeOf(columnsOf.type()).size() == 2; }
  // So many rows pay for a copy of the columns: of elements side by side it is fast.
  std::int64_t rowsOfCopy() const { return columnsLieTogether() ? 8 : 32; }
  bool paysToCopy() const { return canCopy() && estimated(rows()) >= rowsOfCopy(); }
  // Whether a copy of all columns pays where there are no panels.
  bool paysToCopyAll() const {
    constexpr std::int64_t rowsOfCopy = 8;
    const bool inVectors = columnsLieTogether() && columns().constant().value_or(1) % 2 == 0;
    return !exchanged && !canCopy() && !inVectors && estimated(rows()) >= rowsOfCopy;
  }
};

std::string notInTiles(const Recognised& form) {
  if (!form.rowsThenColumns) return "its rows and columns are not the two innermost dimensions";
  const ProductShape product(form);
  if (const std::string refused = notInLanes(product.columns()); !refused.empty() || product.paysToCopy())
    return refused;
  if (!product.columnsLieTogether() && product.canCopy())
    return fmt::format("{} rows do not pay for a copy of the columns", product.rows().str());
  if (product.paysToCopyAll()) return "";
  const auto columns = product.columns().constant();
  if (!columns) return isNotKnown(product.columns());
  return *columns % 2 != 0 ? fmt::format("no vector divides {} columns, which are not copied", *columns) : "";
}

// The families of a product, the first what is likely to be faster.
std::vector<OperatorFamily> productFamilies(const Recognised& form) {
  const ProductShape product(form);
  const std::int64_t rows = estimated(product.rows()), columns = estimated(product.columns());
  std::int64_t batch = 1;
  for (int i = 0; i < product.batch; i++)
    batch *= form.nest.loops[static_cast<std::size_t>(i)].input.type().length().constant().value_or(1);
  const auto values = static_cast<std::int64_t>(leavesOf(form.nest.body.type()).size());
  const ProductSize size{
      batch, rows, columns, form.reduced->constant().value_or(256), values, product.rowsApart, product.stepsApart};

  const bool windows = form.pattern == Pattern::convolution;
  struct Cuts {
    Cut rows, columns;
  };
  const auto cutsOf = [&](bool fill) -> Cuts {
    if (fill) return {filledCut(product.rows(), 16), filledCut(product.columns(), 64)};
    return {cutOfRows(product.rows()), cutOfColumns(product.columns(), 64, false)};
  };
  const auto sizeWith = [&](bool panels) {
    ProductSize s = size;
    s.panels = panels;
    return s;
  };
  const auto tileOn = [](const runtime::DeviceInfo& device, const Cuts& cuts, const ProductSize& s) {
    return cheapest(cuts.rows, cuts.columns, mostVectors,
                    [&](const Tile& tile) { return costOfProduct(device, s, tile); });
  };
  const auto family = [&](const char* name, const char* meaning, bool panels, bool copied = false) {
    const Cuts cuts = cutsOf(panels || copied);
    OperatorFamily f{
        name, meaning, [=, maps = product.batch, exchanged = product.exchanged](Rewriting& r) {
          const Nat rowsOfTile = r.tunable("rows", 1, cuts.rows.longest);
          const Nat columnsOfTile = r.tunable("columns", 2, cuts.columns.longest);
          const Nat lanes = r.tunable("lanes", 2, 16);
          r.assume(
              {SizeCondition::Kind::lessEqual, rowsOfTile * columnsOfTile, lanes * Nat(mostVectors), "accumulators"});
          r.apply(canonical());
          if (windows) r.apply(seq({paddedInMemory(), canonical()}));
          if (exchanged) r.apply(strategies::outermost(use("mapInterchange")));
          r.apply(strategies::matrixProduct({rowsOfTile, columnsOfTile, lanes, maps, panels, cuts.rows.fill,
                                             cuts.columns.fill, copied ? columnsCopied() : nullptr}));
        }};
    f.preferred = [tileOn, cuts, s = sizeWith(panels)](const runtime::DeviceInfo& device) -> Config {
      const Tile t = tileOn(device, cuts, s);
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
  if (cutOfColumns(product.columns(), 64).fill) return {panels()};
  const auto costs = [&](bool panels) {
    const ProductSize s = sizeWith(panels);
    return costOfProduct(usualProcessor(), s, tileOn(usualProcessor(), cutsOf(panels), s));
  };
  const bool first = !product.columnsLieTogether() || costs(true) < costs(false);
  return first ? std::vector{panels(), tiles()} : std::vector{tiles(), panels()};
}

// Reductions in the term that are not within another loop.
int reductionsIn(Expr e) {
  if (!e.is(Expr::Form::apply)) return 0;
  const Spine s = spineOf(e);
  int count = s.isPrim(Prim::reduce) ? 1 : 0;
  for (const Expr a : s.arguments) count += reductionsIn(a.is(Expr::Form::lambda) ? a.body() : a);
  return count;
}

// Whether every element of the result is one long sum of elements that lie in memory in order.
bool elementsLieTogether(const Recognised& form) {
  constexpr std::int64_t shortest = 64;
  if (!form.reduces || !form.input || !form.nest.body.type().isRegister() || reductionsIn(form.nest.body) != 1)
    return false;
  if (const auto length = form.reduced->constant(); !length || *length < shortest) return false;
  const auto strides = stridesInside(form.nest, *form.input);
  return std::all_of(strides.begin(), strides.end(), [](const auto& s) { return s == 1; });
}

std::string notInRowSums(const Recognised& form) {
  const auto& loops = form.nest.loops;
  const Nat rows = loops.back().input.type().length();
  if (loops.size() > 3) return "it has more than three dimensions";
  return estimated(rows) < 2 ? "it has one row" : "";
}

// Several rows per work-item, their sums in lanes.
std::vector<OperatorFamily> rowSumFamilies(const Recognised& form) {
  const int outer = static_cast<int>(form.nest.loops.size()) - 1;
  const Nat length = form.nest.loops.back().input.type().length();
  const std::int64_t rows = estimated(length);
  const std::int64_t depth = *form.reduced->constant();
  constexpr std::int64_t largestGroup = 64;
  const Cut cut = cutOfRows(length);
  OperatorFamily family;
  family.name = "rows";
  family.meaning = "several rows per work-item, each summed in lanes";
  family.derive = [=](Rewriting& r) {
    const Nat rowsOfItem = r.tunable("rows", 1, cut.longest);
    const Nat group = r.tunable("group", 1, largestGroup);
    r.apply(canonical());
    r.apply(strategies::rowSums({rowsOfItem, group, outer, cut.fill}));
  };
  // A processor's group should take about as long as waking another core does; the groups of others should have many
  // work-items.
  family.preferred = [=](const runtime::DeviceInfo& device) -> Config {
    constexpr std::int64_t elementsOfGroup = 1 << 15;
    constexpr std::int64_t longRow = 512;  // so far apart, each row is a stream of its own: prefetchers follow few
    const std::int64_t usualRows = depth < longRow ? 8 : 4;
    const bool isGpu = device.type == "gpu";
    const std::int64_t rowsOfItem = isGpu      ? 1
                                    : cut.fill ? std::min(usualRows, rows)
                                               : largestDivisor(rows, std::min(usualRows, cut.longest));
    std::int64_t group =
        isGpu ? largestGroup : std::clamp<std::int64_t>(elementsOfGroup / (rowsOfItem * depth), 1, largestGroup);
    const auto isGood = [&](std::int64_t g) {
      const std::int64_t k = rowsOfItem * g, missing = (rows + k - 1) / k * k - rows;
      return missing == 0 || (cut.fill && 8 * missing <= rows);
    };
    while (group > 1 && !isGood(group)) group--;
    return {{"rows", rowsOfItem}, {"group", group}};
  };
  family.defaults = family.preferred(usualProcessor());
  return {family};
}

bool hasDotProducts(const Recognised& form) {
  if (form.pattern != Pattern::product || !form.rowsThenColumns || !elementsLieTogether(form)) return false;
  const auto& loops = form.nest.loops;
  return loops[loops.size() - 2].input.type().length().constant() && loops.back().input.type().length().constant();
}

// Whether a side of a product is too short to pay for a copy of the other.
bool isFewByMany(const Recognised& form) {
  constexpr std::int64_t few = 32;
  const ProductShape product(form);
  return std::min(*product.rows().constant(), *product.columns().constant()) < few;
}

// A tile of sums per work-item, each in lanes.
OperatorFamily dotProductFamily(const Recognised& form) {
  const ProductShape product(form);
  const std::int64_t rows = *form.nest.loops[form.nest.loops.size() - 2].input.type().length().constant();
  const std::int64_t columns = *form.nest.loops.back().input.type().length().constant();
  constexpr std::int64_t most = 24, longest = 16, usual = 8;  // accumulators, of a side
  OperatorFamily family;
  family.name = "dots";
  family.meaning = "a tile of sums in registers, each in lanes";
  family.derive = [=, batch = product.batch](Rewriting& r) {
    const Nat rowsOfTile = r.tunable("rows", 1, std::min(rows, longest));
    const Nat columnsOfTile = r.tunable("columns", 1, std::min(columns, longest));
    r.assume({SizeCondition::Kind::lessEqual, rowsOfTile * columnsOfTile, Nat(most), "accumulators"});
    r.apply(canonical());
    r.apply(strategies::dotProducts(rowsOfTile, columnsOfTile, batch));
  };
  // The shorter side as a whole, if it may be: then the longer one is read once.
  const bool fewRows = rows <= columns;
  const std::int64_t first = largestDivisor(std::min(rows, columns), usual);
  const std::int64_t second = largestDivisor(std::max(rows, columns), std::min(longest, most / first));
  family.defaults = {{"rows", fewRows ? first : second}, {"columns", fewRows ? second : first}};
  return family;
}

constexpr std::int64_t unrolledWindow = 400;  // of more elements kernels are too long

// Neighbouring windows of a row per work-item, in lanes.
std::vector<OperatorFamily> stencilFamilies(const Recognised& form) {
  const auto& loops = form.nest.loops;
  const int outer = static_cast<int>(loops.size()) - 1;
  const Nat columns = loops.back().input.type().length();
  StencilSize size{1, estimated(columns), form.reduced->constant().value_or(9)};
  for (int i = 0; i < outer; i++)
    size.rows *= loops[static_cast<std::size_t>(i)].input.type().length().constant().value_or(1);
  const bool windows = form.pattern == Pattern::stencil;
  const Cut cut = cutOfColumns(columns, 128, windows);
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

// A name for an array that is computed element by element.
bool namesMap(Expr e) {
  const Spine s = spineOf(e);
  return s.isPrim(Prim::let) && s.arguments.size() == 2 && strategies::isComputingMap(s.arguments[1]);
}

// A window per lane, whatever is computed of it; of long rows no array but the result is kept.
OperatorFamily windowsInLanes(const Recognised& form, bool keepsArrays = true) {
  const auto& loops = form.nest.loops;
  const int outer = static_cast<int>(loops.size()) - 1;
  const Nat columns = loops.back().input.type().length();
  const StencilSize size{1, estimated(columns), form.reduced ? form.reduced->constant().value_or(9) : 9};
  const Cut cut = cutOfColumns(columns, 16);
  OperatorFamily family;
  family.name = "vectors";
  const bool windows = form.pattern == Pattern::stencil;
  family.meaning =
      windows ? "neighbouring windows, one in each lane, padding in memory" : "neighbouring rows, one in each lane";
  family.forProcessors = !keepsArrays;  // elsewhere neighbouring work-items read what lies side by side
  family.derive = [=](Rewriting& r) {
    const Nat lanes = r.tunable("lanes", 2, cut.longest);
    r.apply(canonical());
    if (cut.fill && windows) r.apply(strategies::filledWindows(lanes, outer));
    if (windows) r.apply(seq({paddedInMemory(), canonical()}));
    if (!keepsArrays)
      r.apply(seq({attempt(everywhere(when(namesMap, use("letUnfold")))), normalise({"mapFusion", "reduceMapFusion"}),
                   canonical()}));
    r.apply(strategies::mapsInLanes(lanes, outer, cut.fill && !windows));
  };
  family.preferred = [=](const runtime::DeviceInfo& device) -> Config {
    const Tile t = cheapest(Cut{false, 1, 1}, cut, 1,
                            [&](const Tile& tile) { return costOfStencil(device, size, tile.columns, tile.lanes); });
    return {{"lanes", t.lanes}};
  };
  family.defaults = family.preferred(usualProcessor());
  return family;
}

// The same, read where it is: rows of vectors, whose loops are split where padding begins.
OperatorFamily stripsOfWindows(const Recognised& form) {
  const auto& loops = form.nest.loops;
  const int outer = static_cast<int>(loops.size()) - 1;
  const Nat length = loops.back().input.type().length();
  const std::int64_t columns = estimated(length);
  const StencilSize size{1, columns, form.reduced ? form.reduced->constant().value_or(9) : 9};
  const Cut cut = cutOfColumns(length, 16);
  const std::int64_t longest = length.constant() ? 64 : 8;  // vectors of a strip; of unknown rows few are filled
  OperatorFamily family;
  family.name = "strips";
  family.meaning = "a strip of a row in vectors per work-item, padding where its loop begins and ends";
  family.forProcessors = true;
  family.derive = [=](Rewriting& r) {
    const Nat lanes = r.tunable("lanes", 2, cut.longest);
    const Nat vectors = r.tunable("vectors", 1, (columns + 1) / 2);
    r.apply(canonical());
    if (cut.fill) r.apply(strategies::filledWindows(lanes * vectors, outer));
    r.apply(seq({canonical(), strategies::stripsInLanes(lanes, vectors, outer)}));
  };
  family.preferred = [=](const runtime::DeviceInfo& device) -> Config {
    const Tile t = cheapest(Cut{false, 1, 1}, cut, 1,
                            [&](const Tile& tile) { return costOfStencil(device, size, tile.columns, tile.lanes); });
    const std::int64_t vectors = (columns + t.lanes - 1) / t.lanes, strips = (vectors + longest - 1) / longest;
    return {{"lanes", t.lanes},
            {"vectors", cut.fill ? (vectors + strips - 1) / strips : largestDivisor(vectors, longest)}};
  };
  family.defaults = family.preferred(usualProcessor());
  return family;
}

// Of a reduction of rows: whether all that neighbouring rows read of its elements lies side by side, or is the same.
bool neighboursReadClose(const Recognised& form) {
  if (!form.reduces || !form.input) return false;
  const auto strides = stridesOf(form.nest, *form.input);
  return std::all_of(strides.begin(), strides.end(), [](const auto& stride) { return stride == 0 || stride == 1; });
}

// Whether some of that does lie side by side.
bool neighboursLieTogether(const Recognised& form) {
  if (!neighboursReadClose(form)) return false;
  const auto strides = stridesOf(form.nest, *form.input);
  return std::count(strides.begin(), strides.end(), 1) > 0;
}

// Whether loops run in the steps of a loop: much work for what is read.
bool hasNestedLoops(Expr e) {
  if (e.is(Expr::Form::lambda)) return hasNestedLoops(e.body());
  if (!e.is(Expr::Form::apply)) return false;
  const Spine s = spineOf(e);
  const bool loop = s.head.is(Expr::Form::primitive) && runsLoop(s.head);
  return std::any_of(s.arguments.begin(), s.arguments.end(), [&](Expr a) {
    return (loop && a.is(Expr::Form::lambda) && anyPrimitive(a, runsLoop)) || hasNestedLoops(a);
  });
}

// Whether private memory holds the arrays that loops leave in each lane: on processors a stack of 8 MiB those of 64
// work-items of 16 lanes, and some copies. Of a row that is a part of the result no map is kept, nor what is written
// there.
bool keepsLittle(Expr body, bool isWritten = false) {
  constexpr std::int64_t mostBytes = 4096;
  Nat bytes = 0;
  Expr written = underLayouts(body);
  while (spineOf(written).isPrim(Prim::let)) written = underLayouts(spineOf(written).arguments[0].body());
  std::unordered_set<Expr> seen;
  const std::function<void(Expr)> visit = [&](Expr e) {
    if (!seen.insert(e).second) return;
    if (e.is(Expr::Form::lambda)) return visit(e.body());
    if (!e.is(Expr::Form::apply)) return;
    const Spine s = spineOf(e);
    const bool loop = s.head.is(Expr::Form::primitive) && (runsLoop(s.head) || strategies::isComputingMap(e));
    const bool isKept = loop && !(isWritten && (e == written || strategies::isComputingMap(e)));
    for (const Leaf& leaf : isKept ? leavesOf(e.type()) : std::vector<Leaf>()) {
      Nat count = leaf.shape.empty() ? 0 : static_cast<std::int64_t>(info(leaf.scalar).bytes);
      for (const Nat n : leaf.shape) count = count * n;
      bytes = bytes + count;
    }
    for (const Expr x : s.arguments) visit(x);
  };
  visit(body);
  return bytes.constant() && *bytes.constant() <= mostBytes;
}

// Whether rows may each have a lane of their own: they give few values, and read what lies in vectors, or the same as
// their neighbours, or read it again and again in steps that wait for each other.
bool neighboursAreInLanes(const Recognised& form) {
  constexpr std::int64_t most = 16;
  if (form.nest.loops.empty()) return false;
  Nat values = 1;
  for (const Leaf& leaf : leavesOf(form.nest.body.type()))
    for (const Nat n : leaf.shape) values = values * n;
  const bool pays = form.pattern == Pattern::rows ? neighboursReadClose(form)
                                                  : form.pattern == Pattern::other && hasNestedLoops(form.nest.body);
  return pays && keepsLittle(form.nest.body) && values.constant() && *values.constant() <= most &&
         notInLanes(form.nest.loops.back().input.type().length()).empty();
}

// Whether the rows are columns, of what is read and of the result.
bool isOfColumns(const Recognised& form) {
  const auto& loops = form.nest.loops;
  if (!form.nest.turned || !loops.back().input.type().length().constant()) return false;
  const Type row = form.nest.body.type();
  if (!row.isArray() || !row.element().isScalar() || !keepsLittle(form.nest.body, true)) return false;
  const auto strides = stridesOf(form.nest, loops.back().variable);
  return std::all_of(strides.begin(), strides.end(), [](const auto& s) { return s == 1; });
}

std::string notInVectors(const Recognised& form) {
  const Nat rows = form.nest.loops.back().input.type().length();
  if (!rows.constant()) return isNotKnown(rows);
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
  if (form.pattern == Pattern::product || form.pattern == Pattern::convolution) {
    add(notInTiles(form), productFamilies);
    // Few rows or columns do not pay for an order in which sums are not in lanes.
    if (hasDotProducts(form))
      families.all.insert(isFewByMany(form) ? families.all.begin() : families.all.end(), dotProductFamily(form));
    if (!families.all.empty()) families.reason.clear();
  }
  if (form.pattern == Pattern::stencil) {
    const auto& loops = form.nest.loops;
    const bool padded =
        std::any_of(loops.begin(), loops.end(), [](const auto& loop) { return anyPrimitive(loop.input, isPadding); });
    const bool isShort =
        !form.reduces || (form.reduced && form.reduced->constant().value_or(unrolledWindow + 1) <= unrolledWindow);
    add(notInLanes(form.nest.loops.back().input.type().length()), [&](const Recognised& stencil) {
      std::vector<OperatorFamily> all;
      if (isShort) all.push_back(stripsOfWindows(stencil));
      if (stencil.reduces) all.push_back(stencilFamilies(stencil).front());
      // Windows that are not reduced are too little work for a copy of their padded input.
      if (stencil.reduces || !padded) all.push_back(windowsInLanes(stencil));
      return all;
    });
  }
  const bool isRows = form.pattern == Pattern::rows;
  if (isRows && elementsLieTogether(form))
    add(notInRowSums(form), rowSumFamilies);
  else if (isRows && neighboursLieTogether(form))
    add(notInVectors(form), stencilFamilies);
  if (neighboursAreInLanes(form)) {
    families.all.push_back(windowsInLanes(form));
    families.reason.clear();
  } else if (isOfColumns(form)) {
    families.all.push_back(windowsInLanes(form, false));
    families.reason.clear();
  }
  families.all.push_back({defaultFamily, "the default mapping", {}});
  return families;
}

}  // namespace lift::detail::parts
