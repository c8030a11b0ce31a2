#include "lift/strategies.hpp"

#include <fmt/format.h>

#include "lift/diagnostic.hpp"
#include "lift/terms.hpp"

namespace lift::strategies {

using namespace rewrite;

namespace {

bool isComputingMap(Expr e) {
  const Spine s = spineOf(e);
  return s.isPrim(Prim::map) && s.arguments.size() == 2 && !onlyMovesData(s.arguments[0]);
}

Strategy when(std::function<bool(Expr)> holds, Strategy s) {
  return
      [holds = std::move(holds), s = std::move(s)](Expr e, Rewriting& r) { return holds(e) ? s(e, r) : std::nullopt; };
}

}  // namespace

Strategy raise() { return normalise({"global0ToMap", "global1ToMap", "global2ToMap", "loopToMap", "loopToReduce"}); }

Strategy tidy() {
  return seq({normalise({"mapIdentity", "idAway", "transposeTwice", "joinSplit", "splitJoin", "asScalarAsVector",
                         "asVectorAsScalar", "letInline", "mapFirst", "mapSecond", "mapOfFirst", "mapOfSecond",
                         "mapFusionMoves", "reduceMap"}),
              normalise({"mapTransposeOut", "mapJoinOut", "mapAsScalarOut"})});
}

Strategy outermost(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    const std::function<std::optional<Expr>(Expr)> walk = [&](Expr term) -> std::optional<Expr> {
      if (isComputingMap(term)) return s(term, r);
      const Spine spine = spineOf(term);
      if (!spine.head.is(Expr::Form::primitive) || !movesData(spine.head.prim()) || spine.arguments.empty())
        return std::nullopt;
      return argument([&](Expr inner, Rewriting&) { return walk(inner); })(term, r);
    };
    return walk(e);
  };
}

Strategy parallel(int dimensions) {
  const Strategy here = use(fmt::format("mapToGlobal{}", dimensions - 1));
  if (dimensions == 1) return outermost(here);
  return outermost(seq({function(body(parallel(dimensions - 1))), here}));
}

Strategy sequential(std::int64_t unrolled, std::int64_t unroll) {
  const auto isShort = [unrolled](Expr e) {
    if (!isComputingMap(e)) return false;
    const auto length = e.type().length().constant();
    return length && *length <= unrolled;
  };
  const Strategy reductions = unroll == 1 ? use("reduceToLoop") : use("reduceToUnrolled", {{"u", Nat(unroll)}});
  return seq({attempt(everywhere(reductions)), attempt(everywhere(when(isShort, use("mapToUnrolledFully")))),
              attempt(everywhere(when(isComputingMap, use("mapToLoop"))))});
}

Strategy matrixProduct(Nat rows, Nat columns, Nat lanes) {
  return seq({topDown(use("tileMaps", {{"k", rows}, {"l", columns}})), tidy(),
              named("a row of the tile", topDown(use("mapReduceZipRight"))), tidy(),
              named("its columns in lanes", topDown(use("vectoriseAccumulators", {{"w", lanes}}))), tidy(),
              named("its rows", topDown(use("mapReduceZipLeft"))), tidy(), parallel(2), sequential()});
}

Strategy stencil(Nat columns, Nat lanes) {
  return seq({tidy(), outermost(function(body(outermost(use("mapSplit", {{"k", columns}}))))), tidy(),
              named("neighbouring windows", topDown(use("mapReduceZipLeft"))), tidy(),
              named("in lanes", topDown(use("vectoriseAccumulatorsLeft", {{"w", lanes}}))), tidy(), parallel(2),
              sequential(64, 0)});
}

}  // namespace lift::strategies
