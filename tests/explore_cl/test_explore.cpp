// Exploration on a device: the best of few candidates is much faster than the default lowering.
#include <catch2/catch.hpp>

#include "lift/explore.hpp"
#include "lift/text.hpp"

using namespace lift;

TEST_CASE("matrix product: the best derivation is at least three times as fast as the default lowering") {
  const Program program = parseProgram(
      *addSource("product.lift",
                 "def product(a: [256][256]f32, b: [256][256]f32): [256][256]f32 = map(fun row => map(fun column => "
                 "reduce(0.0, fun (acc, (x, y)) => acc + x * y, zip(row, column)), transpose(b)), a)"));
  std::map<std::string, Tensor> inputs;
  for (const char* name : {"a", "b"}) {
    Tensor t(Scalar::f32, {256, 256});
    fillRandom(t, 1, name);
    inputs.emplace(name, std::move(t));
  }
  const auto device = runtime::openDevice();
  const explore::Exploration e =
      explore::explore(program, *device, inputs, {.depth = 4, .width = 6, .candidates = 8, .repetitions = 3});
  CHECK(e.run == 8);
  REQUIRE(!e.ranking.empty());
  CHECK(e.defaultMilliseconds > 3 * e.ranking[0].milliseconds);
  const Program again = rewrite::replay(program, e.ranking[0].derived.derivation());
  CHECK(print(again, Names::canonical) == print(e.ranking[0].derived.program(), Names::canonical));
}
