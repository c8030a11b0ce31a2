// Maps, reductions, scans, iteration, generation, vectorisation, and the scalar operations.
#include <fmt/format.h>

#include "ir/interpreter_helpers.hpp"

namespace lift {

TEST_CASE("interpreter: map applies the function to every element") {
  CHECK(values("def main(x: [n]f32) = map(fun v => v * v, x)", {{"x", f32({1, 2, 3})}}) == Values{1, 4, 9});
  CHECK(values("def main(x: [n]f32) = map(fun v => v * v, x)", {{"x", f32({-3})}}) == Values{9});
}

TEST_CASE("interpreter: maps of the OpenCL dialect mean map") {
  for (const char* map :
       {"mapGlb(0, f)", "mapWrg(1, f)", "mapLcl(2, f)", "mapSeq(f)", "mapSeqUnroll(0, f)", "mapSeqUnroll(2, f)"}) {
    INFO(map);
    CHECK(values(std::string("def f(v: f32) = v + 1.0 def main(x: [n]f32) = x |> ") + map,
                 {{"x", f32({1, 5, 2, 4})}}) == Values{2, 6, 3, 5});
  }
}

TEST_CASE("interpreter: a function may be a primitive that waits for its array") {
  CHECK(values("def main(x: [n][m]f32) = map(map(abs), x)", {{"x", tensor(Scalar::f32, {2, 2}, {-1, 2, -3, 4})}}) ==
        Values{1, 2, 3, 4});
  CHECK(values("def main(x: [n][m]f32) = map(reduce(0.0, add), x)", {{"x", counting({2, 3})}}) == Values{3, 12});
}

TEST_CASE("interpreter: a partial application of a primitive is a value") {
  // Not written as a lambda: inference would expand it.
  const Type i32 = Type::scalar(Scalar::i32), row = Type::array(3, i32);
  const Expr i = Expr::variable("i", i32);
  const Expr rows = call(Prim::generate, {2}, {Expr::lambda(i, iota(3))}, Type::array(2, row));
  const Type drop = Type::function(row, Type::array(1, i32));
  const Expr waiting = Expr::primitive(Prim::drop, {2}, drop);
  const Expr term = call(Prim::map, {}, {waiting, rows}, Type::array(2, drop.result()));
  CHECK(valuesOf(toTensors(evaluate(term), term.type()).at("")) == Values{2, 2});
  const Type negate = Type::function(i32, i32);
  const Type mapping = Type::function(negate, Type::function(row, row));
  const Expr inner = Expr::apply(Expr::primitive(Prim::map, {}, mapping),
                                 Expr::primitive(Prim::op, {}, negate, static_cast<std::uint8_t>(Op::neg)));
  const Expr outer = call(Prim::map, {}, {inner, rows}, Type::array(2, row));
  CHECK(valuesOf(toTensors(evaluate(outer), outer.type()).at("")) == Values{0, -1, -2, 0, -1, -2});
}

TEST_CASE("interpreter: reductions fold from the left") {
  for (const char* reduce : {"reduce(100.0, sub)", "reduceSeq(100.0, sub)", "reduceSeqUnroll(0, 100.0, sub)",
                             "reduceSeqUnroll(2, 100.0, sub)"}) {
    INFO(reduce);
    const std::string text = std::string("def main(x: [n]f32) = x |> ") + reduce;
    CHECK(values(text, {{"x", f32({1, 2, 4, 8})}}) == Values{85});
    CHECK(values(text, {{"x", f32({1})}}) == Values{99});
  }
  // Division tells the order: ((64 / 2) / 4) / 8.
  CHECK(values("def main(x: [n]f32) = reduce(64.0, div, x)", {{"x", f32({2, 4, 8})}}) == Values{1});
}

TEST_CASE("interpreter: a reduction's accumulator may have another type than its elements") {
  const Tensors out = runAll(
      "def main(x: [n]f32) = reduce((0, 0.0), fun ((count, total), v) => (count + select(v > 0.0, 1, 0), total + v), "
      "x)",
      {{"x", f32({1, -2, 3})}});
  CHECK(out.at("out.0").scalar == Scalar::i32);
  CHECK(valuesOf(out.at("out.0")) == Values{2});
  CHECK(valuesOf(out.at("out.1")) == Values{2});
}

TEST_CASE("interpreter: a reduction's accumulator may be an array") {
  CHECK(values("def main(x: [n][3]f32) = reduce(fill(3, 0.0), fun (acc, row) => zipWith(add, acc, row), x)",
               {{"x", counting({4, 3})}}) == Values{18, 22, 26});
}

TEST_CASE("interpreter: scan is inclusive") {
  for (const char* scan : {"scan", "scanSeq"}) {
    const std::string text = std::string("def main(x: [n]f32) = ") + scan + "(10.0, add, x)";
    CHECK(values(text, {{"x", f32({1, 2, 3})}}) == Values{11, 13, 16});
    CHECK(values(text, {{"x", f32({5})}}) == Values{15});
  }
}

TEST_CASE("interpreter: scanExclusive starts with the initial value") {
  for (const char* scan : {"scanExclusive", "scanExclusiveSeq"}) {
    const std::string text = std::string("def main(x: [n]f32) = ") + scan + "(10.0, sub, x)";
    CHECK(values(text, {{"x", f32({1, 2, 3})}}) == Values{10, 9, 7});
    CHECK(values(text, {{"x", f32({5})}}) == Values{10});
  }
}

TEST_CASE("interpreter: if, && and || leave out what they need not know") {
  for (const char* body : {"if x > 9 then 1 / 0 else x", "(if x > 9 then (xs[x], x) else (0, x)).1",
                           "(if x > 9 then generate(2, fun i => xs[x + i]) else generate(2, fun i => x))[1]"}) {
    INFO(body);
    CHECK(values(std::string("def main(x: i32, xs: [2]i32) = ") + body,
                 {{"x", tensor(Scalar::i32, {}, {5})}, {"xs", tensor(Scalar::i32, {2}, {1, 2})}}) == Values{5});
  }
  CHECK(values("def main(x: i32) = x == 0 || 6 / x == 2 && !(x != 0 && 1 / (x - 3) > 0)",
               {{"x", tensor(Scalar::i32, {}, {0})}}) == Values{1});
}

TEST_CASE("interpreter: iterateWhile asks before each application, at most count times") {
  const auto run = [](const char* count, double x) {
    return values(
        fmt::format("def main(x: i32) = iterateWhile({}, fun v => 100 / (10 - v) > 0, fun v => v + 1, x)", count),
        {{"x", tensor(Scalar::i32, {}, {x})}});
  };
  CHECK(run("3", 0) == Values{3});
  CHECK(run("10", 0) == Values{10});
  CHECK(run("0", 10) == Values{10});
  CHECK(run("100", 11) == Values{11});
}

TEST_CASE("interpreter: iterate applies a function so many times") {
  CHECK(values("def main(x: f32) = iterate(10, fun v => 2.0 * v, x)", {{"x", tensor(Scalar::f32, {}, {3})}}) ==
        Values{3072});
  CHECK(values("def main(x: f32) = iterate(0, fun v => 2.0 * v, x)", {{"x", tensor(Scalar::f32, {}, {3})}}) ==
        Values{3});
  CHECK(values("def main(x: [8]f32) = iterate(3, fun y => split(2, y) |> map(reduce(0.0, add)), x)",
               {{"x", counting({8})}}) == Values{28});
}

TEST_CASE("interpreter: long arrays and many iterations need no deep stack") {
  CHECK(values("def main(x: [n]i32) = reduce(0, add, scan(0, add, map(fun v => v - v + 1, x)))",
               {{"x", counting({20000}, Scalar::i32)}}) == Values{200010000});
  CHECK(values("def main(x: i32) = iterate(100000, fun v => v + 1, x)", {{"x", tensor(Scalar::i32, {}, {0})}}) ==
        Values{100000});
}

TEST_CASE("interpreter: let computes once and binds") {
  CHECK(values("def main(x: f32) = let y = x + 1.0 in let z = y * y in z - y", {{"x", tensor(Scalar::f32, {}, {2})}}) ==
        Values{6});
  // An inner variable hides an outer one of the same name.
  CHECK(values("def main(x: f32) = let y = x in let y = y + 1.0 in map(fun y => y * 10.0, fill(1, y))",
               {{"x", tensor(Scalar::f32, {}, {2})}}) == Values{30});
}

TEST_CASE("interpreter: functions see the variables around them") {
  CHECK(values("def main(a: [n]f32, b: [m]f32) = map(fun x => map(fun y => 10.0 * x + y, b), a)",
               {{"a", f32({1, 2})}, {"b", f32({3, 4, 5})}}) == Values{13, 14, 15, 23, 24, 25});
}

TEST_CASE("interpreter: id and the address spaces are identities") {
  for (const char* f : {"id", "toGlobal", "toLocal", "toPrivate"})
    CHECK(values(std::string("def main(x: [n]f32) = ") + f + "(x)", {{"x", f32({4, 2})}}) == Values{4, 2});
}

TEST_CASE("interpreter: generate passes the index") {
  const Tensor out = run("def main = generate(4, fun i => i * i)");
  CHECK(out.scalar == Scalar::i32);
  CHECK(valuesOf(out) == Values{0, 1, 4, 9});
  CHECK(values("def main = generate2D(2, 3, fun (i, j) => 10 * i + j)") == Values{0, 1, 2, 10, 11, 12});
}

TEST_CASE("interpreter: a size is an i32 value") {
  const Tensor out = run("def main(x: [n]f32) = n + 1", {{"x", f32({1, 2, 3})}});
  CHECK(out.scalar == Scalar::i32);
  CHECK(out.shape.empty());
  CHECK(valuesOf(out) == Values{4});
}

TEST_CASE("interpreter: asVector and asScalar regroup") {
  const Tensor out = run("def main(x: [n]f32) = asVector(4, x)", {{"x", counting({8})}});
  CHECK(out.shape == Shape{2, 4});
  CHECK(valuesOf(out) == Values{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(run("def main(x: [n]f32x2) = asScalar(x)", {{"x", counting({3, 2})}}).shape == Shape{6});
}

TEST_CASE("interpreter: operations act lane by lane on vectors") {
  CHECK(values("def main(x: [n]f32x4, y: [n]f32x4) = zip(x, y) |> map(fun (a, b) => a * b + a)",
               {{"x", counting({1, 4})}, {"y", tensor(Scalar::f32, {1, 4}, {1, 0, 2, 3})}}) == Values{0, 1, 6, 12});
}

TEST_CASE("interpreter: splat fills every lane") {
  CHECK(values("def main(x: f32) = splat(4, x)", {{"x", tensor(Scalar::f32, {}, {7})}}) == Values{7, 7, 7, 7});
}

TEST_CASE("interpreter: dot is the sum of the lanes' products from the left, of more than four of their halves") {
  CHECK(values("def main(x: f32x4, y: f32x4) = dot(x, y)",
               {{"x", f32({1, 2, 3, 4})}, {"y", f32({10, 100, 1000, 10000})}}) == Values{43210});
  // In f32, (1e8 + 1) - 1e8 is 0 and (1e8 - 1e8) + 1 is 1.
  CHECK(values("def main(x: f32x3, y: f32x3) = dot(x, y)", {{"x", f32({1e8, 1, -1e8})}, {"y", f32({1, 1, 1})}}) ==
        Values{0});
  CHECK(values("def main(x: f32x3, y: f32x3) = dot(x, y)", {{"x", f32({1e8, -1e8, 1})}, {"y", f32({1, 1, 1})}}) ==
        Values{1});
  CHECK(values("def main(x: f32x8, y: f32x8) = dot(x, y)",
               {{"x", f32({1e8, 1, 0, 0, -1e8, 0, 0, 0})}, {"y", f32({1, 1, 1, 1, 1, 1, 1, 1})}}) == Values{1});
}

TEST_CASE("interpreter: vectorize makes a scalar function one of vectors") {
  CHECK(values("def main(x: f32x4) = vectorize(4, fun v => select(v > 1.0, v, 0.0 - v), x)",
               {{"x", f32({0.5, 1, 2, 3})}}) == Values{-0.5, -1, 2, 3});
}

TEST_CASE("interpreter: vectorize takes and gives tuples") {
  const Tensors out = runAll("def main(x: f32x2, y: f32x2) = vectorize(2, fun (a, b) => (a + b, a < b), (x, y))",
                             {{"x", f32({1, 5})}, {"y", f32({3, 2})}});
  CHECK(valuesOf(out.at("out.0")) == Values{4, 7});
  CHECK(out.at("out.1").scalar == Scalar::boolean);
  CHECK(valuesOf(out.at("out.1")) == Values{1, 0});
  CHECK(values("def main(x: f32x2, y: f32x2, z: f32x2) = vectorize(2, fun (a, (b, c)) => a * b + c, (x, (y, z)))",
               {{"x", f32({1, 5})}, {"y", f32({3, 2})}, {"z", f32({100, 200})}}) == Values{103, 210});
}

TEST_CASE("interpreter: conversions truncate, round and act lane by lane") {
  const Tensor truncated = run("def main(x: [n]f32) = map(fun v => i32(v), x)", {{"x", f32({1.9, -1.9, 3e9})}});
  CHECK(truncated.scalar == Scalar::i32);
  CHECK(valuesOf(truncated) == Values{1, -1, 2147483647});
  CHECK(values("def main(x: [n]i32) = map(fun v => f32(v), x)", {{"x", i32({16777217})}}) == Values{16777216});
  CHECK(values("def main(x: i32x2) = f32(x) / splat(2, 2.0)", {{"x", i32({1, 3})}}) == Values{0.5, 1.5});
}

TEST_CASE("interpreter: arithmetic in f32 rounds to f32") {
  CHECK(values("def main(x: f32) = x + 1.0", {{"x", tensor(Scalar::f32, {}, {16777216})}}) == Values{16777216});
  CHECK(values("def main(x: f64) = x + 1.0", {{"x", tensor(Scalar::f64, {}, {16777216})}}) == Values{16777217});
}

TEST_CASE("interpreter: f16 is computed in f32 and narrows in the result") {
  // 2049 is no half; the intermediate keeps it, the result rounds it to 2048.
  const Tensors x{{"x", tensor(Scalar::f16, {1}, {2048})}};
  CHECK(values("def main(x: [1]f16) = map(fun v => v + 1.0 - 2048.0, x)", x) == Values{1});
  const Tensor narrow = run("def main(x: [1]f16) = map(fun v => v + 1.0, x)", x);
  CHECK(narrow.scalar == Scalar::f16);
  CHECK(valuesOf(narrow) == Values{2048});
}

TEST_CASE("interpreter: integers wrap and 64-bit values keep all bits") {
  CHECK(values("def main(x: i32) = x + 1", {{"x", tensor(Scalar::i32, {}, {2147483647})}}) == Values{-2147483648.0});
  Tensor wide(Scalar::i64, {1});
  wide.data<std::int64_t>()[0] = (std::int64_t{1} << 53) + 1;
  CHECK(run("def main(x: [1]i64) = map(fun v => v + 1, x)", {{"x", wide}}).data<std::int64_t>()[0] ==
        (std::int64_t{1} << 53) + 2);
}

TEST_CASE("interpreter: integer division by zero is refused") {
  CHECK(refusal("def main(x: [n]i32, y: [n]i32) = zip(x, y) |> map(div)", {{"x", i32({1, 7})}, {"y", i32({1, 0})}}) ==
        "an integer is divided by zero");
  CHECK(refusal("def main(x: [n]i32, y: [n]i32) = zip(x, y) |> map(mod)", {{"x", i32({1, 8})}, {"y", i32({1, 0})}}) ==
        "an integer is divided by zero");
  CHECK(refusal("def main(x: [n]f32) = map(fun v => 1.0 / v, x)", {{"x", f32({0})}}) == "accepted");
}

TEST_CASE("interpreter: every primitive has arguments it accepts in this program") {
  // A convolution in the low-level style of the paper, with most of what maps and address spaces there are.
  const std::string text = R"(
    def main(weights: [k][3][3]f32, image: [h][w]f32) =
      pad2D(1, 1, 1, 1, 0.0, image) |> slide2D(3, 3, 1, 1) |> mapWrg(1, mapLcl(0, fun window =>
        let flat = toPrivate(mapSeq(id, join(window))) in
        weights |> mapSeq(fun kernel => reduceSeqUnroll(0, 0.0, fun (acc, (x, y)) => acc + x * y, zip(flat, join(kernel))))))
      |> toGlobal)";
  const Tensor out = run(text, {{"weights", counting({2, 3, 3})}, {"image", counting({2, 2})}});
  CHECK(out.shape == Shape{2, 2, 2});
  // Kernel 0 at the top left: 0*4 + 1*5 + 2*7 + 3*8; kernel 1 has weights greater by nine.
  CHECK(out.get(0) == 43);
  CHECK(out.get(1) == 43 + 9 * 6);
}

}  // namespace lift
