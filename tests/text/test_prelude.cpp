// What the definitions of the prelude mean, on small arrays written out.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lift/interpreter.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

// row: 0 1 2 3; image: 3 rows of 0 1 2 3 / 10 11 12 13 / 20 21 22 23; cube: two such, the second from 100.
constexpr const char* inputs =
    "def row = generate(4, fun i => i)\n"
    "def image = generate2D(3, 4, fun (i, j) => 10 * i + j)\n"
    "def cube = generate3D(2, 3, 4, fun (i, j, k) => 100 * i + 10 * j + k)\n"
    "def main = ";

// "[2][2] 0 1 2 3"
std::string value(const std::string& expression) {
  const SourceFile* file = addSource("prelude-test.lift", inputs + expression);
  const Program program = parseProgram(*file, "main");
  std::string text;
  for (const auto& [name, tensor] : interpret(program, {})) {
    if (!text.empty()) text += "; ";
    for (const std::int64_t extent : tensor.shape) text += fmt::format("[{}]", extent);
    for (std::int64_t i = 0; i < tensor.size(); ++i) text += fmt::format(" {}", tensor.get(i));
  }
  return text;
}

}  // namespace

TEST_CASE("maps over several dimensions") {
  CHECK(value("map2D(fun x => x + 1, image)") == "[3][4] 1 2 3 4 11 12 13 14 21 22 23 24");
  CHECK(value("image |> mapSeq2D(fun x => x % 10)") == "[3][4] 0 1 2 3 0 1 2 3 0 1 2 3");
  CHECK(value("mapGlb2D(neg, image)") == "[3][4] 0 -1 -2 -3 -10 -11 -12 -13 -20 -21 -22 -23");
  CHECK(value("map3D(fun x => x / 100, cube)") == "[2][3][4] 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1 1 1");
  CHECK(value("mapGlb3D(fun x => x / 100, cube)") == value("map3D(fun x => x / 100, cube)"));
  CHECK(value("mapWrg2D(mapLcl2D(square), split2D(3, 2, image))") ==
        value("map2D(map2D(square), split2D(3, 2, image))"));
}

TEST_CASE("zips") {
  CHECK(value("zipWith(add, row, row)") == "[4] 0 2 4 6");
  CHECK(value("zipWith2D(fun (a, b) => a - b, image, image)") == "[3][4] 0 0 0 0 0 0 0 0 0 0 0 0");
  CHECK(value("map2D(fun (a, b) => a + b, zip2D(image, image))") == "[3][4] 0 2 4 6 20 22 24 26 40 42 44 46");
  CHECK(value("map3D(fun (a, b) => a - b, zip3D(cube, cube)) |> flatten3D |> sum") == " 0");
}

TEST_CASE("windows") {
  CHECK(value("slide2D(2, 2, 1, 2, image)") == "[2][2][2][2] 0 1 10 11 2 3 12 13 10 11 20 21 12 13 22 23");
  CHECK(value("slideStrict2D(1, 2, 2, 2, image)") == "[2][2][1][2] 0 1 2 3 20 21 22 23");
  CHECK(value("slide3D(2, 2, 2, 1, 1, 2, cube)") ==
        "[1][2][2][2][2][2]"
        " 0 1 10 11 100 101 110 111 2 3 12 13 102 103 112 113"
        " 10 11 20 21 110 111 120 121 12 13 22 23 112 113 122 123");
  CHECK(value("slideStrict3D(2, 2, 2, 1, 1, 2, cube)") == value("slide3D(2, 2, 2, 1, 1, 2, cube)"));
  CHECK(value("tile2D(2, 1, image)") == value("join(slide2D(2, 2, 1, 1, image))"));
}

TEST_CASE("padding and cropping") {
  const std::string image = "[3][4] 0 1 2 3 10 11 12 13 20 21 22 23";
  CHECK(value("pad2D(1, 0, 0, 1, 7, image)") == "[4][5] 7 0 1 2 3 7 10 11 12 13 7 20 21 22 23 7 7 7 7 7");
  CHECK(value("pad2D(-1, -2, -1, 0, 7, image)") == "[2][1] 11 21");
  CHECK(value("pad3D(0, 1, 0, 0, 1, 0, 7, cube |> map2D(take(1)) |> map(take(2)))") ==
        "[3][2][2] 7 7 7 7 0 7 10 7 100 7 110 7");
  CHECK(value("pad2DChannels(1, 0, 0, 0, 7, cube |> map2D(take(2)) |> map(take(2)))") ==
        "[2][3][2] 7 7 0 1 10 11 7 7 100 101 110 111");
  CHECK(value("padClamp2D(1, 0, 1, 0, map(take(2), image))") == "[4][3] 0 0 1 0 0 1 10 10 11 20 20 21");
  CHECK(value("padMirror2D(0, 2, 0, 0, image)") == "[3][6] 0 1 2 3 3 2 10 11 12 13 13 12 20 21 22 23 23 22");
  CHECK(value("padWrap2D(1, 0, 0, 1, map(take(2), image))") == "[4][3] 1 0 1 11 10 11 21 20 21 1 0 1");
  CHECK(value("crop(1, 1, row)") == "[2] 1 2");
  CHECK(value("crop2D(1, 2, 0, 1, image)") == "[2][1] 1 11");
  CHECK(value("crop2D(1, 2, 3, 4, pad2D(1, 2, 3, 4, 7, image))") == image);
}

TEST_CASE("shapes") {
  CHECK(value("split2D(3, 2, image)") == "[1][2][3][2] 0 1 10 11 20 21 2 3 12 13 22 23");
  CHECK(value("join2D(split2D(3, 2, image))") == value("image"));
  CHECK(value("join2D(split2D(1, 4, image))") == value("image"));
  CHECK(value("flatten2D(image)") == "[12] 0 1 2 3 10 11 12 13 20 21 22 23");
  CHECK(value("flatten3D(cube) |> take(13) |> drop(11)") == "[2] 23 100");
  CHECK(value("transposeInner(cube |> map2D(take(2)))") == "[2][2][3] 0 10 20 1 11 21 100 110 120 101 111 121");
  CHECK(value("channelsFirst(cube |> map2D(take(2)))") == "[2][2][3] 0 10 20 100 110 120 1 11 21 101 111 121");
  CHECK(value("channelsLast(cube |> map2D(take(1)))") == "[3][1][2] 0 100 10 110 20 120");
  CHECK(value("channelsLast(channelsFirst(cube))") == value("cube"));
}

TEST_CASE("made arrays") {
  CHECK(value("fill(3, 7)") == "[3] 7 7 7");
  CHECK(value("fill2D(2, 3, 7)") == "[2][3] 7 7 7 7 7 7");
  CHECK(value("generate2D(2, 2, fun (i, j) => i - j)") == "[2][2] 0 -1 1 0");
  CHECK(value("generate3D(1, 2, 2, fun (i, j, k) => 2 * j + k)") == "[1][2][2] 0 1 2 3");
}

TEST_CASE("reductions") {
  CHECK(value("reduce2D(0, add, image)") == " 138");
  CHECK(value("sum(row)") == " 6");
  CHECK(value("product(map(fun x => x + 1, row))") == " 24");
  CHECK(value("maximum(map(f32, row))") == " 3");
  CHECK(value("minimum(map(fun x => f64(x) - 1.5, row))") == " -1.5");
  CHECK(value("average(map(f32, row))") == " 1.5");
  CHECK(value("(all(map(fun x => x < 4, row)), any(map(fun x => x > 3, row)))") == " 1;  0");
  CHECK(value("dotProduct(row, row)") == " 14");
}

TEST_CASE("scalar functions") {
  CHECK(value("map(square, row)") == "[4] 0 1 4 9");
  CHECK(value("map(clamp(1, 2), row)") == "[4] 1 1 2 2");
  CHECK(value("map(fun x => relu(x - 2), row)") == "[4] 0 0 0 1");
  CHECK(value("lerp(2.0, 4.0, 0.25)") == " 2.5");
  CHECK(value("sigmoid(0.0)") == " 0.5");
}

TEST_CASE("a program's own definition takes precedence") {
  const SourceFile* file = addSource("own.lift", "def square(x) = x + 1\ndef main = square(square(1))");
  CHECK(interpret(parseProgram(*file), {}).at("out").get(0) == 3);
}

TEST_CASE("every definition of the prelude is used above") {
  // By name, in this file: what is added to the prelude gets a test.
  const std::vector<std::string> tested = {
      "map2D",        "map3D",         "mapSeq2D",      "mapGlb2D", "mapGlb3D",       "mapWrg2D",
      "mapLcl2D",     "zipWith",       "zipWith2D",     "zip2D",    "zip3D",          "slide2D",
      "slide3D",      "slideStrict2D", "slideStrict3D", "pad2D",    "pad3D",          "pad2DChannels",
      "padClamp2D",   "padMirror2D",   "padWrap2D",     "crop",     "crop2D",         "split2D",
      "join2D",       "flatten2D",     "flatten3D",     "tile2D",   "transposeInner", "channelsFirst",
      "channelsLast", "generate2D",    "generate3D",    "fill",     "fill2D",         "reduce2D",
      "sum",          "product",       "maximum",       "minimum",  "average",        "all",
      "any",          "dotProduct",    "square",        "clamp",    "lerp",           "relu",
      "sigmoid"};
  std::set<std::string> defined;
  for (const Definition& d : prelude().definitions) defined.insert(d.name);
  CHECK(defined == std::set<std::string>(tested.begin(), tested.end()));
}
