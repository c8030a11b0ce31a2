// Exploration on a device: the best of few candidates is much faster than the default lowering.
#include <catch2/catch.hpp>

#include "lift/explore.hpp"
#include "lift/inputs.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

struct Problem {
  Program program;
  std::map<std::string, Tensor> inputs;
};

Problem problemOf(const std::string& text) {
  Problem p{parseProgram(*addSource("problem.lift", text)), {}};
  p.inputs = randomInputs(p.program, 1);
  return p;
}

const std::string product =
    "def product(a: [256][256]f32, b: [256][256]f32): [256][256]f32 = map(fun row => map(fun column => "
    "reduce(0.0, fun (acc, (x, y)) => acc + x * y, zip(row, column)), transpose(b)), a)";

// The best derivation leads to the best program.
void checkReplays(const Problem& p, const explore::Exploration& e) {
  REQUIRE(!e.ranking.empty());
  const Program again = rewrite::replay(p.program, e.ranking[0].derived.derivation());
  CHECK(print(again, Names::canonical) == print(e.ranking[0].derived.program(), Names::canonical));
}

}  // namespace

TEST_CASE("matrix product: the best derivation is at least three times as fast as the default lowering") {
  const Problem p = problemOf(product);
  const auto device = runtime::openDevice();
  const explore::Exploration e =
      explore::explore(p.program, *device, p.inputs, {.depth = 4, .width = 6, .candidates = 8, .repetitions = 3});
  CHECK(e.run == 8);
  CHECK(e.ended == "candidates");
  CHECK(e.wrong == 0);
  CHECK(e.run == static_cast<int>(e.ranking.size()) + e.slow + e.failed);
  checkReplays(p, e);
  // On a GPU the default, an element for each work-item, is no slow one.
  if (device->info().type == "cpu") CHECK(e.defaultMilliseconds > 3 * e.ranking[0].milliseconds);
}

TEST_CASE("an exploration that is stopped has the best so far") {
  const Problem p = problemOf(product);
  const auto device = runtime::openDevice();
  int lines = 0;
  const explore::Exploration e = explore::explore(p.program, *device, p.inputs,
                                                  {.depth = 1,
                                                   .stop = [&] { return lines > 4; },  // two of them are of candidates
                                                   .repetitions = 1,
                                                   .progress = [&](const std::string&) { lines++; }});
  CHECK(e.ended == "stopped");
  CHECK(e.run == 2);
  CHECK(e.run == static_cast<int>(e.ranking.size()) + e.slow + e.failed + e.wrong);
}
