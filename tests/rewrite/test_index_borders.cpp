// Indices held at the ends of an array, wrapped around or turned back there, and elements beside an index: what the
// rewritten program computes, judged by the interpreter.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <random>

#include "lift/diagnostic.hpp"
#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/rewrite.hpp"
#include "lift/text.hpp"

using namespace lift;
using namespace lift::rewrite;
using Catch::Contains;

namespace {

// The program after the rule wherever it applies, empty where it does not; it computes the same.
std::string rewritten(const char* rule, const std::string& text) {
  Program program = parseProgram(*addSource("test.lift", text));
  program.body = etaLong(program.body);
  Rewriting r(program);
  if (!r.tryApply(everywhere(use(rule)))) return "";
  const std::string now = print(r.program().body);
  INFO(text << "\n" << now);
  const auto inputs = randomInputs(program, 1);
  const Tensor out = interpret(program, inputs).at("out");
  CHECK(compare(interpret(r.program(), inputs).at("out"), out, 1).maxRel == 0);
  return now;
}

std::string bordered(const std::string& index, const std::string& parameters = "xs: [7]i32") {
  return rewritten("bordersOfIndices", "def main(" + parameters + "): [7]i32 = generate(7, fun i => " + index + ")");
}

}  // namespace

TEST_CASE("indices that minima, remainders and conditions keep within an array read it with padding") {
  CHECK_THAT(bordered("xs[max(i - 2, 0)]"), Contains("padClamp(2, 0, xs)[i]"));
  CHECK_THAT(bordered("xs[min(6, 1 + i)]"), Contains("padClamp(0, 1, xs)[i + 1]"));
  CHECK_THAT(bordered("xs[if i == 0 then 0 else i - 1]"), Contains("padClamp(1, 0, xs)[i]"));
  CHECK_THAT(bordered("if i + 1 < 7 then xs[i + 1] else xs[i]"), Contains("padClamp(0, 1, xs)[i + 1]"));
  CHECK_THAT(bordered("xs[select(i < 1, 0, i - 1)]"), Contains("padClamp(1, 0, xs)[i]"));
  CHECK_THAT(bordered("xs[(i + 2) % 7]"), Contains("padWrap(0, 2, xs)[i + 2]"));
  CHECK_THAT(bordered("xs[(i + 6) % 7]"), Contains("padWrap(1, 0, xs)[i]"));
  CHECK_THAT(bordered("xs[((i - 3) % 7 + 7) % 7]"), Contains("padWrap(3, 0, xs)[i]"));
  CHECK_THAT(bordered("xs[if i < 2 then i + 5 else i - 2]"), Contains("padWrap(2, 0, xs)[i]"));
  CHECK_THAT(bordered("xs[if i < 1 then 0 - i else i - 1]"), Contains("padClamp(1, 0, xs)[i]"));
  CHECK_THAT(bordered("let j = i - 2 in xs[if j < 0 then -1 - j else j]"), Contains("padMirror(2, 0, xs)[i]"));
  CHECK_THAT(bordered("xs[min(max(6 - i, 0), 6)] + xs[max(i - 1, 0)] + xs[min(i + 1, 6)]"),
             Contains("padClamp(1, 1, xs)[i + 2]") && Contains("padClamp(1, 1, xs)[i]"));
  CHECK_THAT(bordered("sum(generate(3, fun j => xs[max(i + j - 2, 0)]))"), Contains("padClamp(2, 0, xs)[i + j]"));
  CHECK_THAT(bordered("reduce(0, fun (s, j) => s - xs[max(i + j - 2, 0)], generate(3, fun j => j))"),
             Contains("padClamp(2, 0, xs)[i + p.1]"));
}

TEST_CASE("each way in which indices end has padding of its own") {
  CHECK_THAT(bordered("xs[max(i - 1, 0)] + xs[(i + 6) % 7] + xs[min(i + 1, 6)]"),
             Contains("padClamp(1, 1, xs)[i + 2]") && Contains("padWrap(1, 0, xs)[i]"));
}

TEST_CASE("no padding stands for other indices") {
  CHECK(bordered("xs[i]").empty());
  CHECK(bordered("xs[6 - i]").empty());
  CHECK(bordered("xs[max(i - 2, 1)]").empty());
  CHECK(bordered("xs[min(i + 2, 5)]").empty());
  CHECK(bordered("xs[(i + 2) % 6]").empty());
  CHECK(bordered("xs[abs(i - 3)]").empty());
  CHECK(bordered("xs[if i < 2 then 0 else i]").empty());
  CHECK(bordered("xs[max(i, 3)]").empty());
  CHECK(bordered("xs[max(ys[i] - 1, 0) % 7]", "xs: [7]i32, ys: [7]i32").empty());
}

TEST_CASE("each dimension of an array has borders of its own") {
  const auto plane = [](const std::string& element) {
    return rewritten("bordersOfIndices",
                     "def main(a: [5][6]i32): [5][6]i32 = generate(5, fun i => generate(6, fun j => " + element + "))");
  };
  CHECK_THAT(plane("a[max(i - 1, 0)][(j + 1) % 6] - a[i][j]"),
             Contains("padClamp(1, 0, map(fun row_2 => padWrap(0, 1, row_2), a))[i][j + 1]"));
  CHECK_THAT(plane("if j > 0 then a[i][j - 1] else a[i][0]"), Contains("map(fun row => padClamp(1, 0, row), a)[i][j]"));
  CHECK_THAT(plane("a[i][max(j - 1, 0)] + sum(a[i])"), Contains("[i][j] + ") && Contains("a[i])"));
  CHECK(plane("if j > 0 && i > 0 then a[i - 1][j - 1] else a[i][0]").empty());
}

TEST_CASE("conditions may leave out what is beside the array") {
  const auto zeros = [](const std::string& element) {
    return rewritten("paddingOfIndices", "def main(xs: [7]i32): [7]i32 = generate(7, fun i => " + element + ")");
  };
  CHECK_THAT(zeros("(if i > 0 then xs[i - 1] else 3) + xs[i]"),
             Contains("pad(1, 0, 3, xs)[i]") && Contains("pad(1, 0, 3, xs)[i + 1]"));
  CHECK_THAT(zeros("(if i > 0 then xs[i - 1] else 3) + (if i < 6 then xs[i + 1] else 4)"),
             Contains("pad(1, 0, 3, xs)[i] + pad(0, 1, 4, xs)[i + 1]"));
  CHECK(zeros("if i > 1 then xs[i - 1] else 3").empty());
}

TEST_CASE("elements beside an index are of one window") {
  const auto windows = [](const std::string& text) { return rewritten("windowsBesideIndices", text); };
  CHECK_THAT(windows("def main(xs: [9]i32): [7]i32 = generate(7, fun i => xs[i] - xs[i + 2])"),
             Contains("slide(3, 1, xs)[i][0] - slide(3, 1, xs)[i][2]"));
  CHECK_THAT(windows("def main(xs: [9]i32): [4]i32 = generate(4, fun i => xs[2 * i + 1] - xs[2 * i + 2])"),
             Contains("slide(2, 2, drop(1, xs))[i][0]"));
  CHECK_THAT(
      windows("def main(a: [5][6]i32): [3][6]i32 = generate(3, fun i => generate(6, fun j => a[i][j] - a[i + 2][j]))"),
      Contains("map(transpose, slide(3, 1, a))") || Contains("transpose(w), slide(3, 1, a))"));
  CHECK_FALSE(windows("def main(a: [3][5][6]i32): [4][5]i32 = generate(4, fun i => generate(5, fun j =>\n"
                      "  a[1][i][j] - a[1][i + 1][j + 1] + sum(generate(2, fun k => a[1][i + k][j]))))")
                  .empty());
  CHECK_THAT(windows("def main(xs: [9]i32): [7]i32 = generate(7, fun i => sum(generate(3, fun d => xs[i - d + 2])))"),
             Contains("slide(3, 1, xs)[i]"));
  CHECK(windows("def main(a: [3][6]i32, k: [3]i32): [5]i32 = generate(5, fun i =>\n"
                "  sum(generate(3, fun c => k[c] * (a[c][i] - a[c][i + 1]))))")
            .empty());
  CHECK(windows("def main(xs: [9]i32): [7]i32 = generate(7, fun i => xs[i] - xs[i])").empty());
  CHECK(windows("def main(xs: [9]i32): [7]i32 = generate(7, fun i => if i < 5 then xs[i + 4] - xs[i] else 0)").empty());
}

TEST_CASE("random indices within an array") {
  std::mt19937 random(20);
  const auto number = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const std::function<std::string(int)> index = [&](int depth) -> std::string {
    const auto inner = [&] { return index(depth - 1); };
    if (depth == 0) return number(0, 4) == 0 ? fmt::to_string(number(0, 7)) : fmt::format("(i + {})", number(-4, 8));
    switch (number(0, 6)) {
      case 0: return fmt::format("max({}, {})", inner(), number(0, 1));
      case 1: return fmt::format("min({}, {})", inner(), number(5, 7));
      case 2: return fmt::format("({} % {})", inner(), number(6, 8));
      case 3: return fmt::format("({} + {})", inner(), number(0, 1) == 0 ? 7 : -1);
      case 4: {
        const char* comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
        return fmt::format("(if {} {} {} then {} else {})", inner(), comparisons[number(0, 5)], number(0, 6), inner(),
                           inner());
      }
      case 5: return fmt::format("abs({})", inner());
      default: return fmt::format("({} - {})", inner(), number(0, 1) == 0 ? 7 : 1);
    }
  };
  int applied = 0;
  for (int k = 0; k < 3000; k++) {
    const std::string i = index(number(1, 3));
    const Program places =
        parseProgram(*addSource("places.lift", "def main(k: i32): [7]i32 = generate(7, fun i => k + " + i + ")"));
    const Tensor at = interpret(places, {{"k", Tensor(Scalar::i32, {})}}).at("out");
    bool inside = true;
    for (std::int64_t j = 0; j < 7; j++) inside = inside && at.get(j) >= 0 && at.get(j) < 7;
    if (inside) applied += bordered("xs[" + i + "]").empty() ? 0 : 1;
  }
  CHECK(applied > 20);
}
