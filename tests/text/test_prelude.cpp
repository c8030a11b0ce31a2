// What the definitions of the prelude mean, on small arrays written out.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <regex>
#include <string>

#include "lift/files.hpp"
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
  CHECK(value("mapSeq3D(fun x => x / 100, cube)") == value("map3D(fun x => x / 100, cube)"));
  CHECK(value("mapWrg3D(mapLcl3D(square), [[[cube]]])") == value("[[[map3D(square, cube)]]]"));
  CHECK(value("mapWrg2D(mapLcl2D(square), split2D(3, 2, image))") ==
        value("map2D(map2D(square), split2D(3, 2, image))"));
}

TEST_CASE("zips") {
  CHECK(value("zipWith(add, row, row)") == "[4] 0 2 4 6");
  CHECK(value("zipWith2D(fun (a, b) => a - b, image, image)") == "[3][4] 0 0 0 0 0 0 0 0 0 0 0 0");
  CHECK(value("map2D(fun (a, b) => a + b, zip2D(image, image))") == "[3][4] 0 2 4 6 20 22 24 26 40 42 44 46");
  CHECK(value("map3D(fun (a, b) => a - b, zip3D(cube, cube)) |> flatten3D |> sum") == " 0");
  CHECK(value("zipWith(fun (a, b, c) => a + b * c, row, row, row)") == "[4] 0 2 6 12");
  CHECK(value("row |> zipWith(fun (a, b, c) => a + b * c, row, row)") == "[4] 0 2 6 12");
  CHECK(value("zipWith2D(fun (a, b, c) => a + b - c, image, image, image)") == value("image"));
  CHECK(value("zipWith3D(fun (a, b, c, d) => a + b - c - d, cube, cube, cube, cube) |> flatten3D |> sum") == " 0");
  CHECK(value("map2D(fun (a, b, c) => a - b + c, zip2D(image, image, image))") == value("image"));
  CHECK(value("map3D(fun (a, b, c) => a - b + c, zip3D(cube, cube, cube))") == value("cube"));
  CHECK(value("unzip2D(zip2D(image, map2D(neg, image), image)).1") == value("map2D(neg, image)"));
  CHECK(value("unzip3D(zip3D(cube, map3D(neg, cube))).0") == value("cube"));
  CHECK(value("let both = (row, row) in map(add, zip(both))") == "[4] 0 2 4 6");
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
  CHECK(value("crop3D(1, 2, 0, 1, 1, 0, cube)") == "[1][2][1] 101 111");
  CHECK(value("padClamp3D(1, 0, 0, 0, 0, 1, crop3D(0, 2, 0, 1, 0, 1, cube))") ==
        "[2][2][3] 0 0 1 10 10 11 0 0 1 10 10 11");
  CHECK(value("padMirror3D(0, 2, 0, 0, 2, 0, crop3D(0, 2, 0, 2, 0, 0, cube))") ==
        "[4][1][4] 100 101 101 100 0 1 1 0 0 1 1 0 100 101 101 100");
  CHECK(value("padWrap3D(0, 1, 0, 0, 1, 0, crop3D(0, 2, 0, 2, 0, 0, cube))") ==
        "[3][1][3] 100 101 100 0 1 0 100 101 100");
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

TEST_CASE("parts of arrays") {
  CHECK(value("length(row)") == " 4");
  CHECK(value("length(cube) + length(cube[0])") == " 5");
  CHECK(value("(head(row), last(row))") == " 0;  3");
  CHECK(value("(init(row), tail(row))") == "[3] 0 1 2; [3] 1 2 3");
  CHECK(value("reverse(row)") == "[4] 3 2 1 0");
  CHECK(value("rotate(1, row)") == "[4] 1 2 3 0");
  CHECK(value("repeat(2, take(2, row))") == "[4] 0 1 0 1");
  CHECK(value("gather([3, 0, 0], row)") == "[3] 3 0 0");
  CHECK(value("diff([1.0, 4.0, 9.5])") == "[2] 3 5.5");
  CHECK(value("flatten(image)") == value("flatten2D(image)"));
}

TEST_CASE("made arrays") {
  CHECK(value("fill3D(1, 2, 2, 7)") == "[1][2][2] 7 7 7 7");
  CHECK(value("indices(3)") == "[3] 0 1 2");
  CHECK(value("enumerate([5, 6])") == "[2] 0 1; [2] 5 6");
  CHECK(value("linspace(5, 0.0, 2.0)") == "[5] 0 0.5 1 1.5 2");
  CHECK(value("linspace(1, 3.0, 4.0)") == "[1] 3");

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

TEST_CASE("reductions of every type of numbers") {
  CHECK(value("(maximum([-5i8, -7i8]), minimum([5u8, 7u8]))") == " -5;  5");
  CHECK(value("(maximum([3u64, 18446744073709551615u64]), minimum([-9223372036854775808i64, 3i64]))") ==
        " 1.8446744073709552e+19;  -9.223372036854776e+18");
  CHECK(value("(maximum([-2.5f64]), minimum([nan, 7f16]))") == " -2.5;  7");
  CHECK(value("((lowest : i16), (highest : i16), (lowest : u32), (highest : u32), (highest : f32))") ==
        " -32768;  32767;  0;  4294967295;  inf");
  CHECK(value("reduce3D(0, add, cube)") == value("sum(flatten3D(cube))"));
  CHECK(value("maximumIndexed([2, 7, 7, 1])") == " 1;  7");
  CHECK(value("minimumIndexed([2.0, 1.0, 1.0])") == " 1;  1");
  CHECK(value("(argmax([nan, 1.0, 3.0, 3.0]), argmin([4u8, 2u8, 2u8]))") == " 2;  1");
  CHECK(value("(argmax2D(image), argmin2D(image))") == " 2;  3;  0;  0");
  CHECK(value("(mean([1.0f64, 2.0f64, 6.0f64]), average([1, 2, 6]))") == " 3;  3");
  CHECK(value("(variance([1.0, 3.0]), standardDeviation([1.0, 5.0]))") == " 1;  2");
  CHECK(value("count(fun x => x % 2 == 0, row)") == " 2");
  CHECK(value("histogram(3, [0u8, 2u8, 2u8, 9u8])") == "[3] 1 0 2");
  CHECK(value("scatter([0, 0, 0], [2, 0, 2, 7], [5, 6, 7, 8])") == "[3] 6 0 7");
  CHECK(value("(cumsum([1, 2, 3]), cumprod([1, 2, 3]))") == "[3] 1 3 6; [3] 1 2 6");
}

TEST_CASE("linear algebra") {
  CHECK(value("matmul([[1, 2], [3, 4]], [[5, 6], [7, 8]])") == "[2][2] 19 22 43 50");
  CHECK(value("matvec([[1, 2], [3, 4]], [5, 6])") == "[2] 17 39");
  CHECK(value("outer([1, 2], [3, 4, 5])") == "[2][3] 3 4 5 6 8 10");
  CHECK(value("norm([3.0, 4.0])") == " 5");
  CHECK(value("softmax([1000.0, 1000.0])") == "[2] 0.5 0.5");
}

TEST_CASE("scalar functions") {
  CHECK(value("(map(sign, [-2.5, 0.0, 7.0]), sign(-3i8))") == "[3] -1 0 1;  -1");
  CHECK(value("(isNaN(nan), isNaN(1.0), isInfinite(-inf), isInfinite(nan))") == " 1;  0;  1;  0");
  CHECK(value("(pi : f64)") == " 3.141592653589793");

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
  const std::string text = readFile(__FILE__).value();
  REQUIRE(prelude().definitions.size() > 90);
  for (const Definition& d : prelude().definitions) {
    INFO(d.name << " has no test in this file");
    CHECK(std::regex_search(text, std::regex("value\\(.*\\b" + d.name + "\\b")));
  }
}
