// Peers of products, bilinear forms, conv3d and deconv against the references; products found in programs.
#include <catch2/catch.hpp>

#include "lift/bench.hpp"
#include "lift/opset.hpp"
#include "lift/parts.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

// How many peers took part; all that did must be right.
int right(const Workload& w) {
  INFO(w.key());
  const auto inputs = w.makeInputs(5), expected = w.expected(inputs);
  int took = 0;
  for (const bench::WorkloadPeer& peer : bench::peersOf(w)) {
    INFO(peer.name);
    const bench::Setup setup = peer.setUp(inputs);
    if (!setup.contestant) {
      CHECK_FALSE(setup.absent.empty());
      continue;
    }
    CHECK(setup.contestant->run(2) > 0);
    CHECK(largestError(setup.contestant->outputs(), expected) <= w.tolerance);
    took++;
  }
  return took;
}

Workload named(const std::string& name, const std::string& descriptor) {
  for (const Operator& op : tensorOperators())
    if (op.name == name) return op.parse(descriptor);
  throw InternalError("no operator " + name);
}

Program programOf(const std::string& text) { return parseProgram(*addSource("p.lift", "def main" + text)); }

}  // namespace

TEST_CASE("peers of other operators are right where they take part") {
  int took = 0;
  for (const auto& [op, descriptor] : {std::pair("gemv", "m13k21"),
                                       {"gemm", "m7n9k12"},
                                       {"bilinear", "i4j5k6l7"},
                                       {"conv3d", "ic3id4ih5iw6oc4kd3kh2kw3pd1ph1pw2sh2dw1"},
                                       {"conv3d", "g2mb2ic4iw9oc6kw3pw1"},
                                       {"deconv", "ic3id2ih4iw3oc5kd2kh3kw4sd2sh1sw2ph1"},
                                       {"deconv", "g2mb2ic4ih5oc6kh4sh2ph1"},
                                       {"deconv", "ic4iw5oc3kw3sw2pw1ow10"},
                                       {"deconv", "ic4iw5oc3kw3dw1"}})
    took += right(named(op, descriptor));
  if (haveOneDnn()) CHECK(took >= 8);
  CHECK(bench::peersOf(named("shift", "c3h4w4k3")).empty());
}

TEST_CASE("matrix products in programs") {
  for (const auto& [text, left, right_] :
       {std::tuple("(a: [5][7]f32, b: [7][3]f32) = matmul(a, b)", false, false),
        {"(a: [7][5]f32, b: [7][3]f32) = matmul(transpose(a), b)", true, false},
        {"(a: [5][7]f32, b: [3][7]f32) = a |> map(fun r => b |> map(fun c => sum(zipWith(mul, c, r))))", false, true},
        {"(a: [7][5]f32, b: [3][7]f32) = matmul(transpose(a), transpose(b))", true, true},
        {"(a: [7][5]f32, b: [7]f32) = matvec(transpose(a), b)", true, false}}) {
    INFO(text);
    const auto found = matrixProductOf(programOf(text));
    REQUIRE(found);
    CHECK(found->left == "a");
    CHECK(found->transposedLeft == left);
    CHECK(found->transposedRight == right_);
    CHECK(found->depth == 7);
    right(programWorkload(programOf(text), 1e-5));
  }
  for (const char* text :
       {"(a: [5][7]f32, b: [7][3]f32) = map2D(fun x => x + 1.0, matmul(a, b))",
        "(a: [5][7]f32, b: [7][3]f32) = transpose(matmul(a, b))", "(a: [5][7]f32) = map(sum, a)",
        "(a: [5][7]f64, b: [7][3]f64) = matmul(a, b)", "(a: [5][7]f32, b: [2][7][3]f32) = map(matmul(a), b)",
        "(a: [5][7]f32, b: [7][3]f32) = a |> map(fun r => transpose(b) |> map(fun c => reduce(1.0, fun (s, (x, y)) => "
        "s + x "
        "* y, zip(r, c))))"}) {
    INFO(text);
    CHECK_FALSE(matrixProductOf(programOf(text)));
  }
}
