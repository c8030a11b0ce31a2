// Primitives that move data.
#include "ir/interpreter_helpers.hpp"

namespace lift {

TEST_CASE("interpreter: zip pairs, projections take apart") {
  const Tensors x{{"a", f32({1, 2})}, {"b", i32({3, 4})}};
  const Tensors out = runAll("def main(a: [n]f32, b: [n]i32) = zip(a, b)", x);
  CHECK(valuesOf(out.at("out.0")) == Values{1, 2});
  CHECK(valuesOf(out.at("out.1")) == Values{3, 4});
  CHECK(values("def main(a: [n]f32, b: [n]i32) = map(fun p => p.1, zip(a, b))", x) == Values{3, 4});
}

TEST_CASE("interpreter: zip takes any number of arrays") {
  CHECK(values("def main(a: [n]f32, b: [n]f32, c: [n]f32, d: [n]f32) ="
               "  zip(a, b, c, d) |> map(fun (w, x, y, z) => w + 10.0 * x + 100.0 * y + 1000.0 * z)",
               {{"a", f32({1})}, {"b", f32({2})}, {"c", f32({3})}, {"d", f32({4})}}) == Values{4321});
}

TEST_CASE("interpreter: zip refuses arrays of different lengths") {
  const Type i32 = Type::scalar(Scalar::i32), pairs = Type::array(3, Type::tuple({i32, i32}));
  CHECK(refusal(call(Prim::zip, {}, {iota(3), iota(4)}, pairs)) == "zip: arrays of 3 and 4 elements");
}

TEST_CASE("interpreter: unzip is the inverse of zip") {
  const Tensors out =
      runAll("def main(x: [n](f32, (i32, f32))) = let (a, bc) = unzip(x) in let (b, c) = unzip(bc) in (c, (b, a))",
             {{"x.0", f32({1, 2})}, {"x.1.0", i32({3, 4})}, {"x.1.1", f32({5, 6})}});
  CHECK(out.size() == 3);
  CHECK(valuesOf(out.at("out.0")) == Values{5, 6});
  CHECK(valuesOf(out.at("out.1.0")) == Values{3, 4});
  CHECK(valuesOf(out.at("out.1.1")) == Values{1, 2});
}

TEST_CASE("interpreter: tuples of arrays of tuples have leaves of every path") {
  const Tensors out = runAll("def main(x: [n][m]f32) = (map(fun row => (map(fun v => (v, -v), row), 1), x), 2.5)",
                             {{"x", counting({2, 3})}});
  CHECK(out.size() == 4);
  CHECK(out.at("out.0.0.0").shape == Shape{2, 3});
  CHECK(valuesOf(out.at("out.0.0.1")) == Values{0, -1, -2, -3, -4, -5});
  CHECK(valuesOf(out.at("out.0.1")) == Values{1, 1});
  CHECK(out.at("out.1").shape.empty());
}

TEST_CASE("interpreter: split makes chunks and join undoes them") {
  const Tensor out = run("def main(x: [n]f32) = split(2, x)", {{"x", counting({6})}});
  CHECK(out.shape == Shape{3, 2});
  CHECK(valuesOf(out) == Values{0, 1, 2, 3, 4, 5});
  CHECK(run("def main(x: [n]f32) = join(split(3, x))", {{"x", counting({6})}}).shape == Shape{6});
  CHECK(run("def main(x: [n]f32) = split(n, x)", {{"x", counting({1})}}).shape == Shape{1, 1});
}

TEST_CASE("interpreter: split refuses a remainder") {
  const Type i32 = Type::scalar(Scalar::i32);
  CHECK(refusal(call(Prim::split, {4}, {iota(10)}, Type::array(2, Type::array(4, i32)))) ==
        "split: 10 elements do not split into chunks of 4");
  CHECK(refusal("def main(x: [n]f32) = split(4, x)", {{"x", counting({10})}}) != "accepted");
}

TEST_CASE("interpreter: join may meet rows of one element") {
  CHECK(values("def main(x: [n][m]f32) = join(x)", {{"x", counting({3, 1})}}) == Values{0, 1, 2});
  CHECK(values("def main(x: [n][m]f32) = join(x)", {{"x", counting({1, 3})}}) == Values{0, 1, 2});
}

TEST_CASE("interpreter: slide makes overlapping windows") {
  const Tensor out = run("def main(x: [n]f32) = slide(3, 1, x)", {{"x", counting({5})}});
  CHECK(out.shape == Shape{3, 3});
  CHECK(valuesOf(out) == Values{0, 1, 2, 1, 2, 3, 2, 3, 4});
}

TEST_CASE("interpreter: slide drops a trailing partial window") {
  CHECK(values("def main(x: [n]f32) = slide(3, 2, x)", {{"x", counting({6})}}) == Values{0, 1, 2, 2, 3, 4});
  CHECK(values("def main(x: [n]f32) = slide(2, 5, x)", {{"x", counting({6})}}) == Values{0, 1});
  CHECK(values("def main(x: [n]f32) = slide(2, 5, x)", {{"x", counting({7})}}) == Values{0, 1, 5, 6});
  CHECK(values("def main(x: [n]f32) = slide(1, 1, x)", {{"x", counting({1})}}) == Values{0});
}

TEST_CASE("interpreter: slide refuses a window wider than the array") {
  CHECK(refusal("def main(x: [n]f32) = slide(4, 1, x)", {{"x", counting({3})}}) != "accepted");
  const Type i32 = Type::scalar(Scalar::i32);
  CHECK(refusal(call(Prim::slide, {4, 1}, {iota(3)}, Type::array(1, Type::array(4, i32)))) ==
        "slide: no window of size 4 with step 1 in 3 elements");
}

TEST_CASE("interpreter: slideStrict refuses a remainder that slide drops") {
  CHECK(values("def main(x: [n]f32) = slideStrict(3, 2, x)", {{"x", counting({5})}}) == Values{0, 1, 2, 2, 3, 4});
  CHECK(refusal("def main(x: [n]f32) = slideStrict(3, 2, x)", {{"x", counting({6})}}) != "accepted");
  const Type i32 = Type::scalar(Scalar::i32);
  CHECK(refusal(call(Prim::slideStrict, {3, 2}, {iota(6)}, Type::array(2, Type::array(3, i32)))) ==
        "slideStrict: windows of size 3 with step 2 do not cover 6 elements");
}

TEST_CASE("interpreter: pad adds a constant on both sides") {
  CHECK(values("def main(x: [n]f32) = pad(2, 1, 9.0, x)", {{"x", f32({1, 2})}}) == Values{9, 9, 1, 2, 9});
  CHECK(values("def main(x: [n]f32) = pad(0, 0, 9.0, x)", {{"x", f32({1, 2})}}) == Values{1, 2});
}

TEST_CASE("interpreter: pad with negative amounts crops") {
  CHECK(values("def main(x: [n]f32) = pad(-1, -2, 9.0, x)", {{"x", counting({6})}}) == Values{1, 2, 3});
  CHECK(values("def main(x: [n]f32) = pad(-2, 1, 9.0, x)", {{"x", counting({4})}}) == Values{2, 3, 9});
  CHECK(values("def main(x: [n]f32) = padClamp(-1, 2, x)", {{"x", counting({3})}}) == Values{1, 2, 2, 2});
  CHECK(values("def main(x: [n]f32) = padMirror(1, -1, x)", {{"x", counting({3})}}) == Values{0, 0, 1});
  CHECK(values("def main(x: [n]f32) = padWrap(1, -1, x)", {{"x", counting({3})}}) == Values{2, 0, 1});
}

TEST_CASE("interpreter: pad refuses to crop more than there is") {
  const Type i32 = Type::scalar(Scalar::i32);
  CHECK(refusal(call(Prim::padClamp, {-3, -2}, {iota(4)}, Type::array(1, i32))) ==
        "padClamp: 4 elements cannot be padded by -3 and -2");
}

TEST_CASE("interpreter: pad takes an array as its value") {
  const Tensor out = run("def main(x: [n][2]f32) = pad(1, 0, fill(2, 5.0), x)", {{"x", counting({1, 2})}});
  CHECK(out.shape == Shape{2, 2});
  CHECK(valuesOf(out) == Values{5, 5, 0, 1});
}

TEST_CASE("interpreter: padClamp repeats the edges") {
  CHECK(values("def main(x: [n]f32) = padClamp(2, 3, x)", {{"x", f32({4, 5})}}) == Values{4, 4, 4, 5, 5, 5, 5});
  CHECK(values("def main(x: [n]f32) = padClamp(1, 1, x)", {{"x", f32({4})}}) == Values{4, 4, 4});
}

TEST_CASE("interpreter: padMirror repeats the edge and goes on beyond n") {
  CHECK(values("def main(x: [n]f32) = padMirror(2, 2, x)", {{"x", f32({1, 2, 3})}}) == Values{2, 1, 1, 2, 3, 3, 2});
  CHECK(values("def main(x: [n]f32) = padMirror(5, 5, x)", {{"x", f32({1, 2})}}) ==
        Values{1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2});
  CHECK(values("def main(x: [n]f32) = padMirror(3, 2, x)", {{"x", f32({7})}}) == Values{7, 7, 7, 7, 7, 7});
}

TEST_CASE("interpreter: padWrap is periodic") {
  CHECK(values("def main(x: [n]f32) = padWrap(2, 1, x)", {{"x", f32({1, 2, 3})}}) == Values{2, 3, 1, 2, 3, 1});
  CHECK(values("def main(x: [n]f32) = padWrap(5, 3, x)", {{"x", f32({1, 2})}}) == Values{2, 1, 2, 1, 2, 1, 2, 1, 2, 1});
}

TEST_CASE("interpreter: transpose exchanges the outer dimensions") {
  const Tensor out = run("def main(x: [n][m]f32) = transpose(x)", {{"x", counting({2, 3})}});
  CHECK(out.shape == Shape{3, 2});
  CHECK(valuesOf(out) == Values{0, 3, 1, 4, 2, 5});
  CHECK(valuesOf(run("def main(x: [n][m][k]f32) = transpose(x)", {{"x", counting({2, 2, 2})}})) ==
        Values{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(run("def main(x: [n][m]f32) = transpose(x)", {{"x", counting({1, 4})}}).shape == Shape{4, 1});
}

TEST_CASE("interpreter: reorder reverse, shift") {
  CHECK(values("def main(x: [n]f32) = reorder(reverse, x)", {{"x", counting({4})}}) == Values{3, 2, 1, 0});
  CHECK(values("def main(x: [n]f32) = reorder(shift(1), x)", {{"x", counting({4})}}) == Values{1, 2, 3, 0});
  CHECK(values("def main(x: [n]f32) = reorder(shift(9), x)", {{"x", counting({4})}}) == Values{1, 2, 3, 0});
  CHECK(values("def main(x: [n]f32) = reorder(shift(-1), x)", {{"x", counting({4})}}) == Values{3, 0, 1, 2});
}

TEST_CASE("interpreter: reorder stride takes every s-th element first, unstride undoes it") {
  CHECK(values("def main(x: [n]f32) = reorder(stride(2), x)", {{"x", counting({6})}}) == Values{0, 2, 4, 1, 3, 5});
  CHECK(values("def main(x: [n]f32) = reorder(unstride(2), x)", {{"x", counting({6})}}) == Values{0, 3, 1, 4, 2, 5});
  CHECK(values("def main(x: [n]f32) = reorder(unstride(3), reorder(stride(3), x))", {{"x", counting({12})}}) ==
        valuesOf(counting({12})));
  CHECK(values("def main(x: [n]f32) = reorder(stride(3), reorder(unstride(3), x))", {{"x", counting({12})}}) ==
        valuesOf(counting({12})));
  CHECK(values("def main(x: [n]f32) = reorder(stride(1), x)", {{"x", counting({3})}}) == Values{0, 1, 2});
}

TEST_CASE("interpreter: reorder transpose reads a flat matrix by columns") {
  CHECK(values("def main(x: [n]f32) = reorder(transpose(2, 3), x)", {{"x", counting({6})}}) ==
        Values{0, 3, 1, 4, 2, 5});
  CHECK(values("def main(x: [n][m]f32) = reorder(transpose(n, m), join(x))", {{"x", counting({3, 4})}}) ==
        values("def main(x: [n][m]f32) = join(transpose(x))", {{"x", counting({3, 4})}}));
}

TEST_CASE("interpreter: reorder refuses sizes that are no permutation") {
  const Type array = Type::array(6, Type::scalar(Scalar::i32));
  const auto reorder = [&](IndexFn fn, std::vector<Nat> nats) {
    return refusal(call(Prim::reorder, std::move(nats), {iota(6)}, array, static_cast<std::uint8_t>(fn)));
  };
  CHECK(reorder(IndexFn::stride, {4}) == "reorder: stride 4 does not divide 6 elements");
  CHECK(reorder(IndexFn::unstride, {4}) == "reorder: unstride 4 does not divide 6 elements");
  CHECK(reorder(IndexFn::transpose, {2, 4}) == "reorder: 6 elements are not 2 rows of 4");
  CHECK(reorder(IndexFn::transpose, {3, 2}) == "accepted");
}

TEST_CASE("interpreter: concat, take, drop") {
  const Tensors x{{"a", f32({1, 2, 3})}, {"b", f32({4, 5})}};
  CHECK(values("def main(a: [n]f32, b: [m]f32) = concat(a, b)", x) == Values{1, 2, 3, 4, 5});
  CHECK(values("def main(a: [n]f32, b: [m]f32) = concat(take(1, a), drop(1, b))", x) == Values{1, 5});
  CHECK(values("def main(a: [n]f32, b: [m]f32) = take(n, a)", x) == Values{1, 2, 3});
  CHECK(values("def main(a: [n]f32, b: [m]f32) = drop(0, a)", x) == Values{1, 2, 3});
  const Type i32 = Type::scalar(Scalar::i32);
  CHECK(refusal(call(Prim::take, {4}, {iota(3)}, Type::array(4, i32))) == "take: 4 of 3 elements");
  CHECK(refusal(call(Prim::drop, {4}, {iota(3)}, Type::array(1, i32))) == "drop: 4 of 3 elements");
}

TEST_CASE("interpreter: at takes the element of a computed index") {
  const std::string text = "def main(index: [m]i32, x: [n]f32) = map(fun i => x[i], index)";
  CHECK(values(text, {{"index", i32({2, 0, 2})}, {"x", f32({5, 6, 7})}}) == Values{7, 5, 7});
  CHECK(values("def main(x: [n][m]f32) = x[1][0] + x[0][2]", {{"x", counting({2, 3})}}) == Values{5});
}

TEST_CASE("interpreter: at refuses an index out of range with its numbers") {
  const std::string text = "def main(index: [m]i32, x: [n]f32) = map(fun i => x[i], index)";
  CHECK(refusal(text, {{"index", i32({3})}, {"x", f32({5, 6, 7})}}) == "index 3 is out of range of 3 elements");
  CHECK(refusal(text, {{"index", i32({-1})}, {"x", f32({5})}}) == "index -1 is out of range of 1 elements");
}

TEST_CASE("interpreter: arrays of vectors are moved as wholes") {
  CHECK(values("def main(x: [n]f32x2) = reorder(reverse, x)", {{"x", counting({3, 2})}}) == Values{4, 5, 2, 3, 0, 1});
  CHECK(values("def main(x: [n]f32x2) = pad(1, 0, splat(2, 9.0), x)", {{"x", counting({1, 2})}}) == Values{9, 9, 0, 1});
}

TEST_CASE("interpreter: inputs are refused when missing, of another type or another shape") {
  const std::string text = "def main(x: [3]f32, y: (i32, [2]f32)) = (map(fun v => v, x), y)";
  const Tensors good{{"x", counting({3})}, {"y.0", tensor(Scalar::i32, {}, {1})}, {"y.1", counting({2})}};
  CHECK(refusal(text, good) == "accepted");
  Tensors bad = good;
  bad.erase("y.1");
  CHECK(refusal(text, bad) == "no tensor for y.1");
  bad = good;
  bad.at("x") = counting({4});
  CHECK(refusal(text, bad) == "the tensor for x is f32[4], expected f32[3]");
  bad.at("x") = counting({3}, Scalar::f64);
  CHECK(refusal(text, bad) == "the tensor for x is f64[3], expected f32[3]");
  bad = good;
  bad.emplace("unused", counting({1}));
  CHECK(refusal(text, bad) == "accepted");
}

TEST_CASE("interpreter: a program with open sizes is refused") {
  const Program program = parseProgram(*addSource("test.lift", "def main(x: [n]f32) = map(fun v => v, x)"));
  const auto run = [&] { interpret(program, {{"x", counting({3})}}); };
  CHECK(refusalOf(run) == "the size n of main has no value");
}

TEST_CASE("interpreter: toTensors and fromTensors are inverse") {
  const Type f32 = Type::scalar(Scalar::f32);
  const Type type = Type::array(
      2, Type::tuple({Type::array(3, Type::vector(2, f32)), Type::tuple({f32, Type::scalar(Scalar::i64)})}));
  const Tensors leaves{{"v.0", counting({2, 3, 2})}, {"v.1.0", counting({2})}, {"v.1.1", counting({2}, Scalar::i64)}};
  const Tensors back = toTensors(fromTensors(leaves, type, "v"), type, "w");
  REQUIRE(back.size() == 3);
  for (const auto& [name, t] : leaves) {
    const Tensor& other = back.at(std::string("w").append(name, 1));
    CHECK(other.scalar == t.scalar);
    CHECK(other.shape == t.shape);
    CHECK(other.bytes == t.bytes);
  }
}

TEST_CASE("interpreter: a value of one kind is not one of another") {
  const Value number = evaluate(Expr::nat(3));
  CHECK(number.scalar().integer == 3);
  CHECK_THROWS_AS(number.sequence(), InternalError);
  CHECK_THROWS_AS(number.function(), InternalError);
  CHECK_THROWS_AS(evaluate(iota(2)).scalar(), InternalError);
  CHECK_THROWS_AS(evaluate(Expr::variable("x", Type::scalar(Scalar::f32))), InternalError);
}

}  // namespace lift
