#include <catch2/catch.hpp>

#include "lift/bounds.hpp"
#include "lift/conv_operator.hpp"
#include "lift/conv_program.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

[[maybe_unused]] const bool registered = (registerOperator(convOperator()), true);  // parts that are layers

PartedProgram parted(const std::string& text) { return partsOf(parseProgram(*addSource("bounds.lift", text))); }

}  // namespace

TEST_CASE("a matrix product has the bound of its sizes") {
  const auto p = parted(
      "def f(a: [96][64]f32, b: [64][80]f32) = map(fun r => map(fun c => reduce(0.0, fun (s, (x, y)) => s + x * y, "
      "zip(r, c)), transpose(b)), a)");
  REQUIRE(p.parts.size() == 1);
  const auto b = bounds::boundOf(p.parts[0], 4 * 256);
  CHECK(b.products == 96.0 * 64 * 80);
  CHECK(b.reuse == 1);
  CHECK(b.compulsory == 96 * 64 + 64 * 80 + 96 * 80);
  CHECK(b.bound == bounds::lowerBound({96.0 * 64 * 80, 1, 96 * 64 + 64 * 80, 96 * 80}, 256));
  CHECK(b.bound > b.compulsory);
}

TEST_CASE("elements are as large as the smallest that a part reads or writes") {
  const auto product = [](const std::string& a, const std::string& b, const std::string& y) {
    const auto p = parted("def f(a: [96][64]" + a + ", b: [64][80]" + b +
                          ") = map(fun r => map(fun c => reduce(0.0, fun (s, (x, y)) => s + x * " + y +
                          ", zip(r, c)), transpose(b)), a)");
    return bounds::boundOf(p.parts.at(0), 1024);
  };
  constexpr double products = 96.0 * 64 * 80;
  constexpr std::int64_t inputs = 96 * 64 + 64 * 80, outputs = 96 * 80;
  const auto halves = product("f16", "f16", "y"), doubles = product("f64", "f64", "y");
  CHECK(halves.elementBytes == 2);
  CHECK(halves.bound == bounds::lowerBound({products, 1, inputs, outputs}, 512));
  CHECK(doubles.elementBytes == 8);
  CHECK(doubles.bound == bounds::lowerBound({products, 1, inputs, outputs}, 128));
  const auto mixed = product("f64", "f32", "f64(y)");
  CHECK(mixed.elementBytes == 4);
  CHECK(mixed.compulsory == 2 * 96 * 64 + 64 * 80 + 2 * outputs);
  CHECK(mixed.products == products);
}

TEST_CASE("a convolution found in a program has the bound of its descriptor, but for the padding") {
  int layers = 0;
  for (const char* text : {"ic16ih12oc24oh12kh3ph1", "ic8ih14oc16kh5", "ic8ih15oc16kh3sh2", "mb2ic8ih9oc8oh9kh3ph1"}) {
    const ConvSpec c = parseConv(text);
    const auto p = partsOf(convProgram(c));
    INFO(text);
    REQUIRE(p.parts.size() == 1);
    const auto of = bounds::boundOf(p.parts[0], 4 * 64);
    const auto layer = bounds::boundOf(c, 64);
    CHECK(of.reason.empty());
    CHECK(of.reuse == double(layer.mostReuse));
    // Padding counts once for each window here, and no window less than what it holds there.
    CHECK(of.bound <= layer.bound);
    CHECK(of.bound >= layer.bound / 2);
    layers++;
  }
  CHECK(layers == 4);
}

TEST_CASE("parts by Winograd's algorithms are held against their inputs and outputs") {
  const auto parts =
      parted(
          "def f(x: [26][26][64]f32, w: [64][3][3][64]f32) = slide2D(3, 3, 1, 1, x) |> map2D(fun v =>\n"
          "  w |> map(fun k => reduce(0.0, fun (s, (a, b)) => s + a * b, zip(join(join(v)), join(join(k))))))")
          .parts;
  REQUIRE(parts.size() == 1);
  const Workload& w = parts[0].workload;
  const Config smallGroups{{"bands", 1}, {"rows", 1}, {"pixels", 2}, {"groups", 1}, {"vectors", 1}, {"lanes", 8}};
  const kernel::Plan plan = compileVariant(derive(w, "blocked"), smallGroups);
  const auto direct = bounds::nearnessOf(parts, {"blocked"}, plan, 1024);
  const auto winograd = bounds::nearnessOf(parts, {"winograd"}, plan, 1024);
  const auto b = bounds::boundOf(parts[0], direct.fast);
  INFO(direct.fast << " bytes");
  REQUIRE(b.compulsory < b.bound);
  CHECK(direct.bound == b.bound * b.elementBytes);
  CHECK(winograd.bound == b.compulsory * b.elementBytes);
}

TEST_CASE("of other parts the compulsory bound is known, and why") {
  const auto blur = parted("def f(x: [66]f32) = map(fun w => reduce(0.0, fun (s, v) => s + v, w), slide(3, 1, x))");
  const auto b = bounds::boundOf(blur.parts.at(0), 4 * 16);
  CHECK(b.bound == 66 + 64);
  CHECK(b.reason == "it is no sum of products of two operands");
  // Sums of products that no second loop reads again: a filter, a matrix times a vector, dot products of pairs of rows.
  const std::string products = " |> map(fun (p, q) => p * q) |> sum";
  for (const auto& [text, why] :
       {std::pair("def f(x: [66]f32, w: [3]f32) = map(fun d => zip(d, w)" + products + ", slide(3, 1, x))",
                  "the same for all results"),
        {"def f(a: [8][9]f32, x: [9]f32) = map(fun r => zip(r, x)" + products + ", a)", "the same for all results"},
        {"def f(a: [8][9]f32, b: [8][9]f32) = map(fun (r, s) => zip(r, s)" + products + ", zip(a, b))", "together"}}) {
    const auto of = bounds::boundOf(parted(text).parts.at(0), 4 * 16);
    INFO(text);
    CHECK(of.bound == of.compulsory);
    CHECK_THAT(of.reason, Catch::Contains(why));
  }
  const auto computed = parted(
      "def f(a: [8][8]f32, b: [8][8]f32, i: [8]i32) = map(fun r => map(fun c => reduce(0.0, fun (s, (x, y)) => s + x * "
      "y, "
      "zip(map(fun j => r[j], i), c)), b), a)");
  const auto gathered = bounds::boundOf(computed.parts.at(0), 4 * 16);
  CHECK(gathered.bound == gathered.compulsory);
  CHECK(!gathered.reason.empty());
}
