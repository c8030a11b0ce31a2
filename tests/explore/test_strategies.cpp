// The strategies on the matrix product, a blur and Jacobi's method: from their naive functional form to tiles in lanes.
#include <catch2/catch.hpp>
#include <set>

#include "lift/codegen.hpp"
#include "lift/explore.hpp"
#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/strategies.hpp"
#include "lift/text.hpp"

using namespace lift;
using namespace lift::rewrite;

namespace {

Program programOf(const std::string& text) { return parseProgram(*addSource("test.lift", text)); }

std::map<std::string, Tensor> inputsOf(const Program& program) { return randomInputs(program, 1); }

// The kernel of the program after the strategy, whose value has stayed what it was.
std::string kernelOf(const Program& program, const Strategy& strategy) {
  Rewriting r(program);
  r.apply(strategy);
  verify(r.program());
  const auto inputs = inputsOf(program);
  CHECK(compare(interpret(r.program(), inputs).at("out"), interpret(program, inputs).at("out"), 1).maxAbs == 0);
  CHECK(print(replay(program, r.derivation()), Names::canonical) == print(r.program(), Names::canonical));
  const kernel::Plan plan = compile(r.program());
  REQUIRE(plan.kernels.size() == 1);
  return plan.sources[0];
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
  return n;
}

const std::string product =
    "def product(a: [8][16]f32, b: [16][32]f32): [8][32]f32 = map(fun row => map(fun column => "
    "reduce(0.0, fun (acc, (x, y)) => acc + x * y, zip(row, column)), transpose(b)), a)";

// The weights of a blur or of Jacobi's cross are an input.
std::string stencilOf(const std::string& source) {
  return "def stencil(weights: [3][3]f32, xs: [16][16]f32): [16][16]f32 = " + source +
         " |> slide2D(3, 3, 1, 1) |> map2D(fun window => "
         "reduce(0.0, fun (acc, (x, w)) => acc + x * w, zip(join(window), join(weights))))";
}

}  // namespace

TEST_CASE("matrix product: a tile of rows by vectors in registers") {
  const std::string kernel = kernelOf(programOf(product), strategies::matrixProduct({4, 16, 8}));
  CHECK(count(kernel, "float8 acc") == 8);
  CHECK(count(kernel, "for (") == 1);
  CHECK(count(kernel, "vstore8") == 8);
}

TEST_CASE("matrix product: tiles of a group, whose columns it copies") {
  strategies::ProductTile tile{4, 16, 8};
  tile.tilesOfGroup = 2;
  const std::string kernel = kernelOf(programOf(product), strategies::matrixProduct(tile));
  CHECK(count(kernel, "__local float") == 1);
  CHECK(count(kernel, "float8 acc") == 8);
  CHECK(count(kernel, "for (") == 3);     // what is copied, tiles, the reduction
  CHECK(count(kernel, "vstore8") == 10);  // two of them to local memory
  CHECK(count(kernel, "barrier") == 0);
}

TEST_CASE("matrix product: columns whose elements lie one after the other are copied in blocks") {
  const std::string transposed =
      "def product(a: [8][16]f32, b: [32][16]f32): [8][32]f32 = map(fun row => map(fun column => "
      "reduce(0.0, fun (acc, (x, y)) => acc + x * y, zip(row, column)), b), a)";
  strategies::ProductTile tile{4, 16, 8};
  tile.tilesOfGroup = 2;
  const std::string apart = kernelOf(programOf(transposed), strategies::matrixProduct(tile));
  tile.copiedInBlocks = 4;
  const std::string inBlocks = kernelOf(programOf(transposed), strategies::matrixProduct(tile));
  CHECK(count(apart, "vload4") == 0);
  CHECK(count(inBlocks, "vload4") == 1);
}

TEST_CASE("gaussian blur: neighbouring pixels in lanes") {
  const std::string kernel = kernelOf(programOf(stencilOf("padClamp2D(1, 1, 1, 1, xs)")), strategies::stencil(8, 4));
  CHECK(count(kernel, "vstore4") == 2);
}

TEST_CASE("jacobi 2D: neighbouring points in lanes") {
  const std::string kernel = kernelOf(programOf(stencilOf("pad2D(1, 1, 1, 1, 0.0, xs)")), strategies::stencil(16, 8));
  CHECK(count(kernel, "vstore8") == 2);
}

TEST_CASE("mapped programs are raised to functional form") {
  Rewriting r(programOf("def p(xs: [8][8]f32) = mapGlb(1, fun row => mapSeq(fun x => x + 1, row), xs)"));
  r.apply(strategies::raise());
  CHECK(!isMapped(r.program()));
}

TEST_CASE("exploration reaches every program once, and keeps its value") {
  const Program p = programOf(product);
  const auto all = explore::enumerate(p, {.depth = 2, .width = 4});
  CHECK(all.size() > 10);
  std::set<std::string> texts;
  const auto inputs = inputsOf(p);
  const Tensor expected = interpret(p, inputs).at("out");
  for (const explore::Derived& d : all) {
    CAPTURE(d.moves);
    CHECK(d.moves.size() <= 2);
    CHECK(texts.insert(print(d.program().body, Names::canonical)).second);
    CHECK(compare(interpret(d.program(), inputs).at("out"), expected, 1).maxAbs < 1e-5);
    for (const explore::Derived& lowered : explore::lowerings(d)) {
      CHECK(isMapped(lowered.program()));
      checkMapping(lowered.program());
    }
  }
}

TEST_CASE("deriving keeps to its budgets") {
  const Program p = programOf(product);
  CHECK(explore::enumerate(p, {.depth = 3, .programs = 7}).size() == 7);
  CHECK(explore::enumerate(p, {.depth = 3, .seconds = 0}).size() == 1);
  int asked = 0;
  CHECK(explore::enumerate(p, {.depth = 3, .stop = [&] { return ++asked > 100; }}).size() > 1);
  CHECK(asked > 100);
}
