#include "family.hpp"

#include <algorithm>

#include "lift/terms.hpp"

namespace lift::detail {

using namespace rewrite;

bool isApplied(Expr e, Prim prim) {
  const Spine s = spineOf(e);
  return s.isCall(prim) && (prim != Prim::zip || s.arguments.size() == 2);
}

bool isMap(Expr e) { return isApplied(e, Prim::map); }

bool isMapOver(Expr e, Prim prim) { return isMap(e) && isApplied(argumentOf(e, 1), prim); }

bool isReduction(Expr e) { return isApplied(e, Prim::reduce); }
bool isOverReduction(Expr e) { return isMap(e) && isReduction(bodyOf(e)); }
bool isOverReductions(Expr e) { return isMap(e) && isOverReduction(bodyOf(e)); }
bool isOverFilledBlocks(Expr e) {
  return isMapOver(e, Prim::split) && isApplied(argumentOf(argumentOf(e, 1), 0), Prim::padClamp);
}

bool contains(Expr e, Prim prim) {
  return anyPrimitive(e, [prim](Expr p) { return p.prim() == prim; });
}

Expr argumentOf(Expr application, std::size_t i) { return spineOf(application).arguments.at(i); }

Expr bodyOf(Expr map) { return argumentOf(map, 0).body(); }

std::function<bool(Expr)> around(std::function<bool(Expr)> inner) {
  return [inner = std::move(inner)](Expr e) { return isMap(e) && inner(bodyOf(e)); };
}

Strategy computing(const char* rule, Arguments arguments) {
  return inside(isComputingMap, use(rule, std::move(arguments)));
}

std::function<bool(Expr)> isKept(bool (*which)(Expr)) {
  return [which](Expr e) { return isApplied(e, Prim::toGlobal) && which(argumentOf(e, 0)); };
}
Strategy kept(bool (*which)(Expr), Strategy s) { return inside(isKept(which), argument(std::move(s))); }

bool readsWeights(Expr e) {
  const auto& free = e.freeVariables();
  return std::ranges::any_of(free, [](Expr v) { return v.name() == "weights"; });
}

std::int64_t evenTile(std::int64_t n, std::int64_t most, double border) {
  std::int64_t best = 1;
  double least = static_cast<double>(n) * (1 + border);
  for (std::int64_t k = 2; k <= std::min(n, most); k++) {
    const double work = static_cast<double>(ceilDiv(n, k)) * (static_cast<double>(k) + border);
    if (work > least) continue;
    least = work;
    best = k;
  }
  return best;
}

void assumeLanes(Rewriting& r, Nat lanes) {
  r.assume({SizeCondition::Kind::divides, lanes, Nat(mostLanes), "lanes of registers"});
}

void assumeAccumulators(Rewriting& r, Nat accumulators) {
  r.assume({SizeCondition::Kind::lessEqual, accumulators, mostAccumulators, "accumulators of a work-item"});
}

double shareInImage(const ConvSpec& spec) {
  std::int64_t inImage = 0;
  for (std::int64_t window = 0; window < spec.oh; window++)
    for (std::int64_t tap = 0; tap < spec.kh; tap++) {
      const std::int64_t row = window * spec.sh + tap * (spec.dh + 1) - spec.padTop;
      inImage += row >= 0 && row < spec.ih ? 1 : 0;
    }
  return static_cast<double>(inImage) / static_cast<double>(spec.oh * spec.kh);
}

bool hasVectors(std::int64_t channels) { return channels % 2 == 0; }

std::int64_t channelsApart(const ConvSpec& spec, Layout layout) {
  return blockOf(layout) > 1 ? blockOf(layout) : layout == Layout::nhwc ? spec.ic : 1;
}

Phases allPhases(const ConvSpec& s) { return {s.dilatesRows() && s.sh == 1, s.dilatesColumns() && s.sw == 1}; }

ConvSpec decimated(const ConvSpec& spec, Phases phases) {
  ConvSpec s = spec;
  const auto cut = [&](std::int64_t& in, std::int64_t& padStart, std::int64_t& padEnd, std::int64_t& dilation) {
    in = (padStart + in + padEnd + dilation) / (dilation + 1);
    s.batch *= dilation + 1;
    padStart = padEnd = dilation = 0;
  };
  if (phases.rows) cut(s.ih, s.padTop, s.padBottom, s.dh);
  if (phases.columns) cut(s.iw, s.padLeft, s.padRight, s.dw);
  s.setPadding(s.padTop, s.padLeft, s.padBottom, s.padRight);
  return s;
}

ConvSpec atStrideOne(const ConvSpec& layer) {
  ConvSpec s = decimated(layer, allPhases(layer));
  if (s.sh == 1 && s.sw == 1) return s;
  const auto cut = [](std::int64_t& in, std::int64_t out, std::int64_t& taps, std::int64_t& stride) {
    taps = ceilDiv(taps, stride);
    in = out - 1 + taps;
    stride = 1;
  };
  s.ic *= s.sh * s.sw;
  cut(s.ih, s.oh, s.kh, s.sh);
  cut(s.iw, s.ow, s.kw, s.sw);
  s.setPadding(0, 0, 0, 0);
  return s;
}

bool loadsInputs(const VectorRegisters& of) { return of.count < 32; }

std::int64_t accumulatorsBeside(std::int64_t vectors, const VectorRegisters& of) {
  return of.count - std::max<std::int64_t>(4, vectors + int{loadsInputs(of)});
}

double stepCost(std::int64_t inputs, std::int64_t vectors, const VectorRegisters& of) {
  const bool loads = loadsInputs(of);
  const double latency = loads ? 10 : 8, ofVector = 1, ofInput = loads ? 1 : 0.25;
  constexpr double ofLoop = 1, ofSpilling = 2;
  const bool spills = loads && inputs * vectors + vectors + 1 >= of.count;
  return std::max(latency, static_cast<double>(inputs * vectors)) + ofVector * static_cast<double>(vectors) +
         ofInput * static_cast<double>(inputs) + (spills ? ofSpilling : 0) + ofLoop;
}

std::int64_t lanesFor(std::int64_t n, const VectorRegisters& of, Layout output) {
  constexpr std::int64_t perVector = 16;  // what a vector costs beside its lanes: registers take one instruction each
  const std::int64_t most = blockOf(output) > 1 ? std::min(of.lanes, blockOf(output)) : of.lanes;
  std::int64_t best = most;
  for (std::int64_t lanes = most / 2; lanes >= 2; lanes /= 2)
    if (ceilDiv(n, lanes) * (lanes + perVector) < ceilDiv(n, best) * (best + perVector)) best = lanes;
  return best;
}

std::int64_t widestVectorOf(std::int64_t n, const VectorRegisters& of) { return std::min(widestVector(n), of.lanes); }

void exposePhases(const ConvSpec& spec, Phases phases, Rewriting& r) {
  const ConvSpec s = decimated(spec, phases);
  const auto cut = [&](const char* rule, std::int64_t dilation, std::int64_t taps, std::int64_t in) {
    r.apply(topDown(use(rule, {{"d", Nat(dilation + 1)}, {"k", Nat(taps)}, {"n", Nat(in)}})));
  };
  if (phases.count() > 0) r.apply(normalise({"letInline"}));
  if (phases.rows) cut("rowPhases", spec.dh, spec.kh, s.ih);
  if (phases.columns) cut("columnPhases", spec.dw, spec.kw, s.iw);
  exposeWindows(r);
}

void applyLayoutsOut(Rewriting& r, const Strategy& strategy) {
  r.apply(strategy);
  r.apply(layoutsOut());
}

void exposeWindows(Rewriting& r) {
  applyLayoutsOut(r, normalise({"mapIdentity", "idAway", "transposeTwice", "letInline", "slideMap", "transposeMapSlide",
                                "mapFusionMoves"}));
}

bool isWindowsMap(Expr e) {
  if (!isMapOver(e, Prim::slide)) return false;
  const Expr slid = argumentOf(argumentOf(e, 1), 0);
  return isApplied(slid, Prim::transpose) && argumentOf(slid, 0).isVariable();
}
bool isRowsMap(Expr e) { return isMapOver(e, Prim::slide) && isWindowsMap(bodyOf(e)); }

void splitWindows(Rewriting& r, bool (*where)(Expr), Nat k) {
  r.apply(inside(where, use("mapSplit", {{"k", k}})));
  r.apply(topDown(use("splitSlide")));
  applyLayoutsOut(r, normalise({"mapFusionMoves"}));
}

void padWindowsTo(Rewriting& r, const ConvSpec& spec, Nat rows, Nat columns) {
  r.apply(inside(isRowsMap, use("padColumns", {{"r", missingTo(spec.ow, columns) * Nat(spec.sw)}})));
  r.apply(normalise({"mapWindows"}));
  padRowsTo(r, Nat(spec.oh), Nat(spec.sh), rows);
}

void padRowsTo(Rewriting& r, Nat height, Nat stride, Nat rows) {
  applyLayoutsOut(r, inside(isRowsMap, use("padWindows", {{"r", missingTo(height, rows) * stride}})));
}

void arrangeWeights(Rewriting& r, int maps) {
  r.apply(inside(isReduction, argument(argument(use("keepAhead")))));
  for (int map = 0; map < maps; map++) r.apply(topDown(use("precompute")));
  r.apply(kept([](Expr) { return true; }, seq({ofWhatIsUsed(), copyInParallel(3)})));
}

void windowsIntoReduction(Rewriting& r, Lanes lanes) {
  if (lanes == Lanes::ofResults) r.apply(topDown(use("mapAsScalarOut")));
  r.apply(topDown(use("mapReduceZipLeft")));
  reductionInLoops(r);
}

void reductionInLoops(Rewriting& r) {
  r.apply(layoutsOut());
  r.apply(normalise({"mapIdentity", "mapFirst", "mapSecond", "transposeMapJoin", "mapJoin", "zipJoin", "reduceJoin",
                     "reduceMap", "mapFusionMoves"}));
}

void lowerTile(Rewriting& r, int loops, Nat unroll) {
  for (int loop = 0; loop < loops; loop++) r.apply(topDown(use("reduceToLoop")));
  r.apply(topDown(use("reduceToUnrolled", {{"u", unroll}})));
  for (int map = 0; map < 2; map++) r.apply(computing("mapToUnrolled", {{"u", 0}}));
}

}  // namespace lift::detail
