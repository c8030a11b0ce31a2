// Rules that no strategy, move or mapping of liftc uses, for scripts (`liftc rewrite --apply`) and strategies of one's
// own: standard laws of the functional language, and lowerings that complete a set.
#include "tables.hpp"

namespace lift::rewrite::detail {

std::vector<RuleRow> furtherRules() {
  return {
      {"unzipZip", "unzip(zip(xs, ys)) => (xs, ys)", "inverse"},
      {"zipUnzip", "zip(unzip((xs: [n](t, u))).0, unzip(xs).1) => xs", "inverse"},
      {"concatTakeDrop", "concat(take(n, xs), drop(n, xs)) => xs", "inverse"},
      {"mapPairFission", "map(fun x => (f(x), g(x)), xs) => zip(map(f, xs), map(g, xs))", "maps tupled"},
      {"zipOfMaps", "zip(map(f, xs), map(g, ys)) => map(fun (x, y) => (f(x), g(y)), zip(xs, ys))", "naturality"},
      {"mapGenerate", "map(f, generate(n, g)) => generate(n, fun i => let(f, g(i)))", "deforestation"},
      {"letInvariant", "map(fun x => let(fun y => f((x, y)), e), xs) => let(fun y => map(fun x => f((x, y)), xs), e)",
       "code motion out of loops"},
      {"mapStrided", "map(f, xs) => reorder(unstride(s), map(f, reorder(stride(s), xs)))",
       "lift-conv §4.1, coalescing"},
      {"reduceMapFission", "reduce(i, fun (acc, x) => let(fun y => f((acc, y)), g(x)), xs) => reduce(i, f, map(g, xs))",
       "fold fusion, backwards"},
      {"joinReduce", "reduce(i, fun (acc, xs) => reduce(acc, f, xs), xss) => reduce(i, f, join(xss))",
       "fold of folds, backwards"},
      {"reduceInterchange",
       "reduce(i, fun (acc, xs) => reduce(acc, f, xs), xss) => "
       "reduce(i, fun (acc, xs) => reduce(acc, f, xs), transpose(xss))",
       "loop interchange", When::accumulates},
      {"reducePeel", "reduce(i, f, xs) => reduce(reduce(i, f, take(k, xs)), f, drop(k, xs))", "peeling"},
      {"reduceConcat", "reduce(i, f, concat(xs, ys)) => reduce(reduce(i, f, xs), f, ys)", "fold of a concatenation"},
      {"reduceTogether",
       "(reduce(i, f, xs), reduce(j, g, xs)) => reduce((i, j), fun ((a, b), x) => (f((a, x)), g((b, x))), xs)",
       "banana split"},
      {"scanMap", "scan(i, f, map(g, xs)) => scan(i, fun (acc, x) => let(fun y => f((acc, y)), g(x)), xs)",
       "fold fusion"},
      {"splitMap", "split(k, map(f, xs)) => map(fun ys => map(f, ys), split(k, xs))", "naturality"},
      {"transposeMapMap", "transpose(map(fun r => map(f, r), xss)) => map(fun c => map(f, c), transpose(xss))",
       "naturality"},
      {"takeMap", "take(n, map(f, xs)) => map(f, take(n, xs))", "naturality"},
      {"dropMap", "drop(n, map(f, xs)) => map(f, drop(n, xs))", "naturality"},
      {"mapConcat", "map(f, concat(xs, ys)) => concat(map(f, xs), map(f, ys))", "naturality"},
      {"letToLocal", "let(f, x) => let(f, toLocal(x))", "lift-conv §4.2"},
      {"letToGlobal", "let(f, x) => let(f, toGlobal(x))", "lift-conv §4.2"},
      {"mapToGlobalMemory", "map(f, xs) => toGlobal(map(f, xs))", "a kernel of its own"},
      {"mapToPrivateMemory", "map(f, xs) => toPrivate(map(f, xs))", "lift-conv §4.2"},
      {"mapToItems2", "map(f, xs) => mapLcl(2, f, xs)", "lift-conv §3.2"},
  };
}

}  // namespace lift::rewrite::detail
