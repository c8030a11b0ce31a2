// Long sums in chunks: of deep products, and of columns.
#include <algorithm>

#include "lift/integers.hpp"
#include "lift/strategies.hpp"
#include "lift/terms.hpp"
#include "part_tiles.hpp"
#include "parts.hpp"
#include "restating.hpp"

namespace lift::detail::parts {

using namespace rewrite;

namespace {

// About `most` steps for a chunk: all chunks are of one length where some divisor is not far below.
std::int64_t chunkLength(std::int64_t steps, std::int64_t most) {
  const std::int64_t even = largestDivisor(steps, most);
  return 2 * even >= most ? even : most;
}

// Steps of a chunk where a product of few rows and columns sums so many that its tiles would read the operands again
// and again from far memory: what a near cache holds of both. Nothing where the sums are short, or where the partial
// results would be more than the operands.
std::optional<std::int64_t> chunkOf(Expr e) {
  constexpr std::int64_t fewestChunks = 16;
  const Recognised form = recognise(e);
  if (form.pattern != Pattern::product || !form.reduces || !form.reduced || form.nest.loops.size() < 2)
    return std::nullopt;
  const auto steps = form.reduced->constant();
  std::int64_t rows = 1, columns = 1;
  for (std::size_t i = 0; i < form.nest.loops.size(); i++) {
    const auto length = form.nest.loops[i].length().constant();
    if (!length || form.dependsOn[0][i] == form.dependsOn[1][i]) return std::nullopt;
    (form.dependsOn[0][i] ? rows : columns) *= *length;
  }
  if (!steps) return std::nullopt;
  constexpr auto element = static_cast<std::int64_t>(sizeof(float));
  const std::int64_t longest = secondCache / 2 / (element * (rows + columns));  // beside what tiles need
  if (*steps < fewestChunks * longest || rows * columns > longest * (rows + columns)) return std::nullopt;
  return chunkLength(*steps, longest);
}

// Rows of a chunk where columns are reduced that lie side by side in rows far apart: chunks are read from the first
// element to the last. Nothing for arrays that near caches hold.
std::optional<std::int64_t> chunkOfColumns(Expr e) {
  constexpr std::int64_t fewestChunks = 8, fewestRows = 32;
  const Recognised form = recognise(e);
  if (form.pattern != Pattern::rows || !form.reduced || !form.input || form.nest.loops.size() != 1) return std::nullopt;
  const auto rows = form.reduced->constant(), columns = e.type().length().constant();
  const auto strides = stridesOf(form.nest, *form.input);
  const bool areColumns = std::ranges::count(strides, 1) > 0 &&
                          std::ranges::all_of(strides, [](const auto& s) { return s == 0 || s == 1; });
  constexpr auto element = static_cast<std::int64_t>(sizeof(float));
  if (!rows || !columns || !areColumns || *rows * *columns * element < secondCache) return std::nullopt;
  const std::int64_t chunk = std::max(fewestRows, secondCache / 8 / (element * *columns));
  if (*rows < fewestChunks * chunk) return std::nullopt;
  return chunkLength(*rows, chunk);
}

}  // namespace

Strategy deepProductsInChunks() {
  return outsideLoops([](Expr e) -> std::optional<Strategy> {
    const auto steps = isComputingMap(e) ? chunkOf(e) : std::nullopt;
    if (!steps) return std::nullopt;
    const Arguments chunk{{"c", Nat(*steps)}};
    const Strategy inChunks = orElse(use("productInChunks", chunk), use("productInChunksSwapped", chunk));
    return seq({productLoops(), topDown(inChunks), strategies::tidy()});
  });
}

Strategy columnsInChunks() {
  return outsideLoops([](Expr e) -> std::optional<Strategy> {
    const auto rows = isComputingMap(e) ? chunkOfColumns(e) : std::nullopt;
    if (!rows) return std::nullopt;
    const Strategy inChunks = topDown(use("reduceRowsInChunks", {{"c", Nat(*rows)}}));
    const Strategy sumsFirst = seq({topDown(use("mapReduceFission")), strategies::tidy(), inChunks});
    return seq({strategies::tidy(), orElse(inChunks, sumsFirst), strategies::tidy()});
  });
}

}  // namespace lift::detail::parts
