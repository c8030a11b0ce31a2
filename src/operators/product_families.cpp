// Families of matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lift/staged_blocks.hpp"
#include "lift/strategies.hpp"
#include "lift/terms.hpp"
#include "lift/transposition.hpp"
#include "part_tiles.hpp"
#include "restating.hpp"

namespace lift::detail::parts {

using namespace rewrite;

namespace {

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
  // Whether a group's copy of columns pays, and is of a known size.
  bool canCopyNear() const {
    constexpr std::int64_t fewest = 8;
    const auto shape = shapeOf(columnsOf.type());
    return shape.size() == 2 && shape[1].constant() && estimated(rows()) >= fewest;
  }
  // The transposition that is the array of rows, where it pays to have its result in memory: a step's elements of rows
  // lie side by side, those of the next step far away, so that each tile reads as many lines of caches as there are
  // steps. That costs where the second cache does not hold the array, and many tiles read it.
  std::optional<Transposition> transposedRows() const {
    constexpr std::int64_t fewest = 64;
    const auto shape = shapeOf(rowsOf.type());
    if (!canCopy() || !spineOf(rowsOf).isPrim(Prim::transpose) || shape.size() != 2) return std::nullopt;
    const auto n = shape[0].constant(), steps = shape[1].constant();
    const Type element = rowsOf.type().element().element();
    if (!n || !steps || !element.isScalar() || estimated(columns()) < fewest) return std::nullopt;
    const auto bytes = static_cast<std::int64_t>(info(scalarOf(element)).bytes);
    if (*n * *steps * bytes <= secondCache) return std::nullopt;
    return Transposition{.restated = rowsOf, .moved = {}, .element = element, .rows = *steps, .columns = *n};
  }
  // Whether a copy of all columns pays where there are no panels.
  bool paysToCopyAll() const {
    constexpr std::int64_t rowsOfCopy = 8;
    const bool inVectors = columnsLieTogether() && columns().constant().value_or(1) % 2 == 0;
    return !exchanged && !canCopy() && !inVectors && estimated(rows()) >= rowsOfCopy;
  }
};

// The families of a product.
class ProductFamilies {
 public:
  explicit ProductFamilies(const Recognised& form)
      : product_(form),
        windows_(form.pattern == Pattern::convolution),
        fewSums_(isOfFewSums(form)),
        size_(sizeOf(form)) {}

  // The cheapest first.
  std::vector<OperatorFamily> all() {
    const bool fills = cutOfColumns(product_.columns(), mostColumns).fill;
    const bool copiesAll = product_.paysToCopyAll();
    const bool copiesOnGpus = product_.paysToCopy() && !fewSums_ && (fills || !product_.columnsLieTogether());
    if (copiesAll || copiesOnGpus)
      add("copied", "a tile in registers, all columns copied so that those of a tile stand side by side",
          {ColumnsRead::inPlace, filled(), columnsCopied(), !copiesAll});
    if (!copiesAll && (!product_.paysToCopy() || !fills))
      add("tiles", "a tile of rows by columns in registers, columns in lanes",
          {ColumnsRead::inPlace, {cutOfRows(product_.rows()), cutOfColumns(product_.columns(), mostColumns, false)}});
    if (product_.paysToCopy())
      add("panels", "the same, each tile's columns copied to be read in order", {ColumnsRead::panels, filled()});
    constexpr std::int64_t mostRowsNear = 12;  // filled rows have addresses of their own: registers hold no more
    if (product_.canCopyNear())
      add("near", "tiles one below the other, whose columns a group of one work-item copies near",
          {ColumnsRead::near, filled(mostRowsNear, 2 * mostColumns)});
    std::ranges::stable_sort(found_, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<OperatorFamily> sorted;
    for (auto& [cost, family] : found_) sorted.push_back(std::move(family));
    return sorted;
  }

 private:
  static constexpr std::int64_t mostRows = 16, mostColumns = 64;

  struct Cuts {
    Cut rows, columns;
  };
  // What tells the families apart.
  struct Way {
    ColumnsRead columnsRead;
    Cuts cuts;
    Strategy prepared = nullptr;
    bool firstOnGpus = false;  // where neighbouring work-items should read neighbouring columns, and only there
  };

  Cuts filled(std::int64_t rows = mostRows, std::int64_t columns = mostColumns) const {
    return {filledCut(product_.rows(), rows), filledCut(product_.columns(), columns)};
  }

  ProductSize sizeOf(const Recognised& form) const {
    ProductSize size{1, estimated(product_.rows()), estimated(product_.columns()),
                     form.reduced->constant().value_or(256)};
    for (int i = 0; i < product_.batch; i++)
      size.batch *= form.nest.loops[static_cast<std::size_t>(i)].length().constant().value_or(1);
    size.values = static_cast<std::int64_t>(leavesOf(form.nest.body.type()).size());
    size.rowsApart = product_.rowsApart;
    size.stepsApart = product_.stepsApart;
    size.together = product_.columnsLieTogether();
    return size;
  }

  static Tile tileOn(const runtime::DeviceInfo& device, const Cuts& cuts, const ProductSize& size) {
    return cheapest(cuts.rows, cuts.columns, mostVectors,
                    [&](const Tile& tile) { return costOfProduct(device, size, tile); });
  }

  void add(const char* name, const char* meaning, const Way& way) {
    ProductSize size = size_;
    size.columnsRead = way.columnsRead;
    const Tile tile = tileOn(usualProcessor(), way.cuts, size);
    if (tile.lanes == 0) return;
    OperatorFamily f{name, meaning, derivation(way)};
    f.forProcessors = way.columnsRead != ColumnsRead::inPlace;
    if (way.firstOnGpus) f.firstOn = isGpu;
    f.preferred = [cuts = way.cuts, size](const runtime::DeviceInfo& device) -> Config {
      const Tile t = tileOn(device, cuts, size);
      if (t.lanes == 0) return {};
      Config config{{"rows", t.rows}, {"columns", t.columns}, {"lanes", t.lanes}};
      if (size.columnsRead == ColumnsRead::near) config["group"] = tilesOfGroup(device, size, t);
      return config;
    };
    f.defaults = f.preferred(usualProcessor());
    if (way.prepared) size.columnsRead = ColumnsRead::panels;  // all columns are copied, too
    found_.emplace_back(costOfProduct(usualProcessor(), size, tile), std::move(f));
  }

  std::function<void(Rewriting&)> derivation(const Way& way) const {
    const bool near = way.columnsRead == ColumnsRead::near;
    const std::int64_t block = size_.together ? 1 : widestVector(size_.depth);
    const auto rowsCopied = near && !windows_ ? product_.transposedRows() : std::nullopt;
    return [=, maps = product_.batch, exchanged = product_.exchanged, windows = windows_,
            rows = size_.rows](Rewriting& r) {
      strategies::ProductTile tile;
      tile.rows = r.tunable("rows", 1, way.cuts.rows.longest);
      tile.columns = r.tunable("columns", 2, way.cuts.columns.longest);
      tile.lanes = r.tunable("lanes", 2, 16);
      tile.batch = maps;
      tile.panels = way.columnsRead == ColumnsRead::panels;
      tile.fillRows = way.cuts.rows.fill;
      tile.fillColumns = way.cuts.columns.fill;
      tile.prepared = way.prepared;
      if (near) tile.tilesOfGroup = r.tunable("group", 1, rows);
      if (near && block > 1) tile.copiedInBlocks = block;
      r.assume(
          {SizeCondition::Kind::lessEqual, tile.rows * tile.columns, tile.lanes * Nat(mostVectors), "accumulators"});
      r.apply(canonical());
      if (windows) r.apply(seq({paddedInMemory(), canonical()}));
      if (exchanged) r.apply(strategies::outermost(use("mapInterchange")));
      if (rowsCopied)
        r.apply(strategies::outermost(
            argument(seq({use("keepAhead"), argument(strategies::transposedTiles(usualTiles(*rowsCopied)))}))));
      r.apply(strategies::matrixProduct(tile));
    };
  }

  ProductShape product_;
  bool windows_, fewSums_;
  ProductSize size_;
  std::vector<std::pair<double, OperatorFamily>> found_;  // with what they cost
};

}  // namespace

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

std::vector<OperatorFamily> productFamilies(const Recognised& form) { return ProductFamilies(form).all(); }

bool hasDotProducts(const Recognised& form) {
  if (form.pattern != Pattern::product || !form.rowsThenColumns || !elementsLieTogether(form)) return false;
  return form.nest.rows().constant() && form.nest.innermost().constant();
}

bool isOfFewSums(const Recognised& form) {
  constexpr std::int64_t few = 1 << 14;
  std::int64_t sums = 1;
  for (const Nest::Loop& loop : form.nest.loops) sums *= estimated(loop.length());
  return hasDotProducts(form) && sums <= few;
}

bool isFewByMany(const Recognised& form) {
  constexpr std::int64_t few = 32;
  const ProductShape product(form);
  return std::min(*product.rows().constant(), *product.columns().constant()) < few;
}

namespace {

// The only reduction in the term, of numbers.
std::optional<Expr> sumIn(Expr body) {
  std::optional<Expr> sum;
  int count = 0;
  anyTerm(body, [&](Expr e) {
    if (const Spine s = spineOf(e); s.isCall(Prim::reduce)) {
      count++;
      sum = e;
    }
    return false;
  });
  return count == 1 && sum->type().isScalar() ? sum : std::nullopt;
}

// Whether zeros fill the last step of the sums.
bool fillsSteps(const Recognised& form) {
  return applyRule(ruleNamed("reduceFilled"), *sumIn(form.nest.body), {{"k", 0}}).term.has_value();
}

// Whether chunks of the sums can be sums of their own.
bool canBeInChunks(const Recognised& form) {
  return form.reduced->constant() && applyRule(ruleNamed("reducePartial"), *sumIn(form.nest.body), {{"k", 1}}).term;
}

// The sum of each element by a strategy of products in blocks; what is computed of it, where it is.
Strategy inBlocks(Strategy staged) {
  return [staged = std::move(staged)](Expr e, Rewriting& r) -> std::optional<Expr> {
    const auto sum = sumIn(nestOf(e).body);
    if (!sum || *sum == nestOf(e).body) return staged(e, r);
    Path place = *pathOf(*sum, e);
    const auto apart = lifted(e, r, place);
    if (!apart) return std::nullopt;
    return seq({at(place, staged), attempt(strategies::outermost(use("mapIntoResult")))})(*apart, r);
  };
}

}  // namespace

std::string notStaged(const Recognised& form) {
  if (form.pattern != Pattern::product || !form.rowsThenColumns) return "it is no product of rows and columns";
  if (!form.nest.body.type().isScalar() || !sumIn(form.nest.body)) return "its elements are more than a sum";
  if (std::min(estimated(form.nest.rows()), estimated(form.nest.innermost())) < 2)
    return "it has one row or one column";
  return form.reduced->constant() || fillsSteps(form) ? "" : isNotKnown(*form.reduced);
}

namespace {

// How a group copies the operand whose elements are those of the loop.
StagedSize::Operand stagedOperand(const Recognised& form, std::size_t loop) {
  const Expr operand = form.operands[form.dependsOn[0][loop] ? 0 : 1];
  const auto along = stridesInside(form.nest, operand), across = stridesOf(form.nest, operand, loop);
  if (along.size() != 1 || across.size() != 1 || !operand.type().element().isScalar()) return {};
  const bool isAcross = along[0] != 1 && across[0] == 1;
  const auto apart = isAcross ? along[0] : across[0];
  const auto length = (isAcross ? form.nest.loops[loop].input : operand).type().length().constant();
  if (!length || !apart || (isAcross ? across : along)[0] != 1) return {isAcross};
  return {isAcross, std::gcd(*length, *apart)};
}

}  // namespace

std::vector<OperatorFamily> stagedFamilies(const Recognised& form) {
  constexpr std::int64_t usualDepth = 16;
  const auto& loops = form.nest.loops;
  const std::size_t inner = loops.size() - 1, outer = inner - 1;
  StagedSize size{.batch = 1,
                  .rows = estimated(form.nest.rows()),
                  .columns = estimated(form.nest.innermost()),
                  .depth = estimated(*form.reduced),
                  .ofRows = stagedOperand(form, outer),
                  .ofColumns = stagedOperand(form, inner),
                  .elementBytes = static_cast<std::int64_t>(info(scalarOf(form.nest.body.type())).bytes),
                  .fillsDepth = form.reduced->constant().value_or(1) % usualDepth != 0 && fillsSteps(form),
                  .batchLoops = static_cast<int>(outer)};
  for (std::size_t i = 0; i < outer; i++) size.batch *= estimated(loops[i].length());
  OperatorFamily staged{"staged", "blocks of rows by columns, operands copied to local memory: for GPUs",
                        [size](Rewriting& r) {
                          r.apply(canonical());
                          r.apply(inBlocks(strategies::stagedProduct(stagedTunables(r, size))));
                        }};
  const auto ofGpu = [](const runtime::DeviceInfo& device) { return device.type == "gpu" ? &device : nullptr; };
  staged.defaults = stagedBlock(size, nullptr).config;
  staged.preferred = [=](const runtime::DeviceInfo& device) { return stagedBlock(size, ofGpu(device)).config; };
  // Blocks of fewer are too small to pay for barriers; unless neighbouring work-items, one for each column, would read
  // elements far apart.
  const std::int64_t few = size.ofColumns.across ? 32 : 4;
  const bool pays = std::min(size.rows, size.columns) >= few;
  if (size.batchLoops > 0 || size.fillsDepth || !canBeInChunks(form)) {
    staged.firstOn = [=](const runtime::DeviceInfo& device) { return pays && prefersGroups(device); };
    return {staged};
  }
  OperatorFamily split = staged;
  split.name = "stagedSplitK";
  split.meaning = "the same, sums in chunks by work-groups of their own, added by another kernel (split-K)";
  split.derive = [size](Rewriting& r) {
    const Nat chunk = chunkTunable(r, size);
    r.apply(canonical());
    r.apply(inBlocks(strategies::stagedSplitK(stagedTunables(r, size), chunk)));
  };
  split.defaults = stagedChunks(size, nullptr).config;
  split.preferred = [=](const runtime::DeviceInfo& device) { return stagedChunks(size, ofGpu(device)).config; };
  const auto splits = [size](const runtime::DeviceInfo& device) {
    return stagedChunks(size, &device).cost < worthSplitting * stagedBlock(size, &device).cost;
  };
  staged.firstOn = [=](const runtime::DeviceInfo& d) { return pays && prefersGroups(d) && !splits(d); };
  split.firstOn = [=](const runtime::DeviceInfo& d) { return pays && prefersGroups(d) && splits(d); };
  return {staged, split};
}

OperatorFamily dotProductFamily(const Recognised& form) {
  const ProductShape product(form);
  const std::int64_t rows = *form.nest.rows().constant(), columns = *form.nest.innermost().constant();
  constexpr std::int64_t most = 24, longest = 16, usual = 8;  // accumulators, of a side
  const auto derive = [=, batch = product.batch](Rewriting& r) {
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
  return {.name = "dots",
          .meaning = "a tile of sums in registers, each in lanes",
          .derive = derive,
          .defaults = {{"rows", fewRows ? first : second}, {"columns", fewRows ? second : first}},
          .forProcessors = true};
}

}  // namespace lift::detail::parts
