// A rule and a strategy of one's own: docs/rewriting.md explains this program line by line.
//
//   build/own_rule
#include <iostream>

#include "lift/codegen.hpp"
#include "lift/diagnostic.hpp"
#include "lift/rewrite_check.hpp"
#include "lift/text.hpp"

using namespace lift;
using namespace lift::rewrite;

namespace {

// Scaling twice is scaling once.
const Rule& scaleOnce() {
  static const Rule rule("scaleOnce", "map(fun x => x * c, map(fun x => x * d, xs)) => map(fun x => x * (c * d), xs)");
  return rule;
}

// Chunks of `chunk` elements, one per work-item, in vectors of four.
Strategy chunksInLanes(std::int64_t chunk) {
  const Strategy chunks = topDown(use("mapSplit", {{"k", chunk}}));
  const Strategy lanes = bottomUp(use("vectoriseMap", {{"w", 4}}));
  const Strategy placed = seq({topDown(use("mapToGlobal0")), everywhere(use("mapToUnrolledFully"))});
  return seq({chunks, named("lanes", lanes), placed});
}

int run() {
  const CheckResult checked = checkRule(scaleOnce(), {.samples = 200, .seed = 1});
  std::cout << scaleOnce().text() << "\n"
            << checked.samples << " instances, " << (checked.disagreement ? checked.disagreement->what : "all equal")
            << "\n\n";

  const Program program = parseProgram(*addSource(
      "scale.lift", "def scale(xs: [4096]f32): [4096]f32 = xs |> map(fun x => x * 3.0) |> map(fun x => x * 0.5)"));
  Rewriting rewriting(program);
  rewriting.apply(seq({topDown(use(scaleOnce())), chunksInLanes(16)}));
  std::cout << rewriting.derivation().str() << "\n" << print(rewriting.program()) << "\n";
  std::cout << compile(rewriting.program()).sources[0];
  return checked.disagreement ? 1 : 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const UserError& e) {
    std::cerr << render(e.diagnostics());
    return static_cast<int>(e.status());
  }
}
