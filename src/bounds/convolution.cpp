// Bounds of convolutions by their descriptors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "axis.hpp"
#include "dataflow.hpp"
#include "lift/bounds.hpp"
#include "lift/cook_toom.hpp"
#include "lift/diagnostic.hpp"
#include "transforms.hpp"

namespace lift::bounds {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

std::int64_t outputsOf(const ConvSpec& c) { return c.batch * c.oc * c.oh * c.ow; }

std::int64_t inputsOf(const ConvSpec& c) {
  const Axis rows = Axis::rows(c), columns = Axis::columns(c);
  return c.batch * c.ic * rows.read() * columns.read() + c.oc * c.icPerGroup() * rows.usedTaps() * columns.usedTaps() +
         c.oc;
}

// What both algorithms have in common.
ConvBound start(const ConvSpec& c) {
  ConvBound b;
  b.reuse = real(c.kh * c.kw) / real(c.sh * c.sw);
  b.mostReuse = Axis::rows(c).mostReuse() * Axis::columns(c).mostReuse();
  b.compulsory = inputsOf(c) + outputsOf(c);
  return b;
}

void addDataflow(ConvBound& b, const ConvSpec& c, const TileModel& model, std::int64_t fast) {
  b.dataflow = bestTile(c, model, fast);
  if (!b.dataflow) {
    b.reason = fmt::format("no tile fits into {} elements", fast);
    return;
  }
  const double sums = real(fast) / model.sums;  // xyz
  b.dataflow->area = std::sqrt(sums * b.reuse);
  b.dataflow->channels = std::sqrt(sums / b.reuse);
  const double outputs = real(outputsOf(c)), weights = real(c.reduction());
  b.dataflow->ideal = 2 * outputs * weights / std::sqrt(b.reuse * sums) + outputs;
}

}  // namespace

ConvBound boundOf(const ConvSpec& c, std::int64_t fast) {
  const Axis rows = Axis::rows(c), columns = Axis::columns(c);
  ConvBound b = start(c);
  b.algorithm = "direct";
  const double products = real(c.batch * c.oc * c.icPerGroup()) * real(rows.inside()) * real(columns.inside());
  const double reuse = real(std::max<std::int64_t>(b.mostReuse, 1)), outputs = real(outputsOf(c));
  b.order = real(c.reduction()) * outputs / (4 * std::sqrt(2 * b.reuse * real(fast)));
  // Lemma 4.9: the products; 4.10: their sums. 4.8: the vertices of both, here without products of padding.
  b.composite = compositeBound(
      2 * products - outputs,
      [reuse](double size) {
        const auto inProducts = [=](double h) { return 2 * size * std::sqrt(reuse * h); };
        const auto inSums = [](double h) { return std::max(0.0, h - 1); };
        return std::vector<Step>{{inProducts, inProducts}, {inSums, inSums}};
      },
      fast);
  b.bound = std::max(lowerBound({products, reuse, inputsOf(c), outputsOf(c)}, fast),
                     static_cast<std::int64_t>(std::ceil(b.composite)));
  addDataflow(b, c, {}, fast);
  return b;
}

std::string whyNotWinograd(const ConvSpec& c) {
  if (c.kh * c.kw == 1) return "a kernel of one tap has nothing to transform";
  if (c.sh != 1 || c.sw != 1) return "the algorithm is for windows at every pixel, the layer's have a stride";
  if (c.dh != 0 || c.dw != 0) return "the algorithm is for neighbouring taps, the layer's are apart";
  return "";
}

ConvBound winogradBound(const ConvSpec& c, TileOutputs m, std::int64_t fast) {
  if (const std::string why = whyNotWinograd(c); !why.empty())
    throw UserError(ExitStatus::program, fmt::format("no bound of Winograd's algorithm: {}", why));
  const auto transform = [](const Axis& axis, int outputs) {
    const int taps = static_cast<int>(axis.taps);
    return rewrite::cookToom(taps == 1 ? 1 : outputs, taps);
  };
  const Axis rowAxis = Axis::rows(c), columnAxis = Axis::columns(c);
  const rewrite::CookToom rows = transform(rowAxis, m.rows), columns = transform(columnAxis, m.columns);
  ConvBound b = start(c);
  b.algorithm = fmt::format("F({}x{},{}x{})", rows.m, columns.m, rows.r, columns.r);
  const double outputs = real(outputsOf(c)), positions = (rows.m + rows.r - 1.0) * (columns.m + columns.r - 1.0);
  const double tile = rows.m * columns.m, taps = real(c.kh * c.kw), channels = real(c.icPerGroup());
  b.order = outputs * channels * std::sqrt(positions * taps / tile / real(fast));

  // Products of transformed tiles and kernels: of all tiles, or of the whole ones, whose inputs stand for less.
  const double kernels = std::max(1.0, reuseOfTaps(rows) * reuseOfTaps(columns));
  for (const bool whole : {false, true}) {
    const Transformed r = transformed(rows, rowAxis, whole), k = transformed(columns, columnAxis, whole);
    SumOfProducts sum{r.products * k.products * real(c.batch * c.oc) * channels,
                      std::max(1.0, r.reuse * k.reuse) * kernels, inputsOf(c), outputsOf(c)};
    b.bound = std::max(b.bound, lowerBound(sum, fast));
    if (whole) continue;
    const double overlap =
        std::ceil((rows.m + rows.r - 1.0) / rows.m) * std::ceil((columns.m + columns.r - 1.0) / columns.m);
    const double passed = sum.reuse;
    // Lemmas 4.15 to 4.18. Products and their sums are the vertices that count: transforms are few beside them.
    b.composite = compositeBound(
        2 * sum.products - r.products * k.products * real(c.batch * c.oc),
        [=](double size) {
          const auto products = [=](double h) { return h * std::sqrt(h) + positions * size * std::sqrt(h); };
          return std::vector<Step>{
              {[=](double h) { return 2 * h * positions * overlap; }, [=](double h) { return h * passed; }},
              {products, products},
              {[](double h) { return std::max(0.0, h - 1); }, [=](double h) { return std::min(h, size * positions); }},
              {[=](double h) { return std::min(2 * h * tile, (2 * positions - 1) * size); },
               [](double h) { return h; }}};
        },
        fast);
  }
  b.bound = std::max(b.bound, static_cast<std::int64_t>(std::ceil(b.composite)));
  // Section 5.3: two arrays of transformed sums for each tile.
  addDataflow(b, c, {2 * positions / tile, rows.m, columns.m, false}, fast);
  return b;
}

}  // namespace lift::bounds
