// The parser: hostile texts, and those that are shipped.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <random>
#include <vector>

#include "harness/setting.hpp"
#include "lift/files.hpp"
#include "lift/primitive.hpp"
#include "parser_helpers.hpp"

using namespace lift;
using namespace lift::test;

// --- Hostile texts --------------------------------------------------------------------------------------------------

TEST_CASE("deep nesting is refused, not crashed on") {
  const std::vector<std::pair<std::string, std::string>> forms = {
      {"(", ")"},
      {"f(", ")"},
      {"-", ""},
      {"!", ""},
      {"x[", "]"},
      {"fun x => ", ""},
      {"(x, ", ")"},
      {"1 + (", ")"},
      {"1 * ", ""},
      {"if a then b else ", ""},
      {"let x = ", ""},
      {"(x : [", "]t)"},
      {"let x = 1 in ", ""},
      {"let(f, ", ")"},
      {"x |> ", ""},
  };
  for (const auto& [open, close] : forms) {
    INFO(open);
    const int deep = 20000;
    const std::string text = errorsOf("def f = " + repeat(open, deep) + "x" + repeat(close, deep));
    // Lists that read in a loop may be long; what is nested may not be deep.
    if (open != "1 * ") CHECK(text.find("error: ") != std::string::npos);
  }
  const std::string nesting = errorsOf("def f = " + repeat("(", 600) + "x" + repeat(")", 600));
  CHECK(nesting.find("t.lift:1:509: error: the nesting is deeper than 500 levels\n") == 0);
}

TEST_CASE("long chains are as high as they are long") {
  for (const std::string link : {" + x", "(x)", ".0", "[0]", " |> f", " == x"}) {
    INFO(link);
    CHECK_NOTHROW(parseExpr("x" + repeat(link, 450)));
    CHECK(errorsOf("def f = x" + repeat(link, 20000)).find("the nesting is deeper than 500 levels") !=
          std::string::npos);
  }
}

TEST_CASE("deep patterns and types are refused") {
  const int deep = 20000;
  CHECK(errorsOf("def f = fun " + repeat("(a, ", deep) + "x" + repeat(")", deep) + " => 1").find("error") !=
        std::string::npos);
  CHECK(errorsOf("def f = fun " + repeat("(", deep) + "x" + repeat(")", deep) + " => 1").find("nesting") !=
        std::string::npos);
  for (const std::string open : {"[n]", "<4>", "(", "t -> ", "[", "(t, "}) {
    INFO(open);
    CHECK(errorsOf("def f(x: " + repeat(open, deep) + "t").find("error") != std::string::npos);
  }
}

TEST_CASE("alternating chains and nesting cannot add up") {
  // Each level is a chain of its own; only the height of the tree counts.
  std::string text = "x";
  for (int i = 0; i < 40; ++i) text = "(" + text + ")" + repeat(" + y", 100);
  CHECK(errorsOf("def f = " + text).find("the nesting is deeper than 500 levels") != std::string::npos);
  std::string types = "t";
  for (int i = 0; i < 40; ++i) types = "[(x : " + types + ")" + repeat(" + y", 100) + "]t";
  CHECK(errorsOf("def f(x: " + types + ") = 1").find("the nesting is deeper than 500 levels") != std::string::npos);
}

TEST_CASE("long texts take linear time") {
  const auto seconds = [](const std::string& text) {
    const auto start = std::chrono::steady_clock::now();
    const std::string result = errorsOf(text);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return std::pair(passed.count(), result);
  };
  std::string definitions;
  for (int i = 0; i < 20000; ++i) definitions += fmt::format("def f{}(x: [n]f32) = map(fun (a, b) => a + b, x)\n", i);
  const auto [time, result] = seconds(definitions);
  CHECK(result == "");
  CHECK(time < 30);
  CHECK(seconds("def f = g(" + repeat("x, ", 200000) + "x)").first < 30);
  CHECK(seconds(repeat("let(", 200000)).first < 30);
  CHECK(seconds(repeat("def (", 50000)).first < 30);
  CHECK(seconds(repeat("\x80", 300000)).first < 30);
}

TEST_CASE("random bytes") {
  const auto seed = static_cast<std::uint64_t>(test::seedOr(1));
  std::mt19937_64 random(seed);
  int parsed = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text(random() % 60, ' ');
    for (char& c : text) c = static_cast<char>(random());
    if (random() % 2) text = "def f = " + text;
    INFO("LIFT_TEST_SEED=" << seed << ", text " << i);
    try {
      parse(text);
      ++parsed;
    } catch (const UserError& error) {
      ++refused;
      REQUIRE(!error.diagnostics().empty());
    }
  }
  std::cout << "random bytes: seed " << seed << ", " << parsed << " parsed, " << refused << " refused\n";
  CHECK(parsed + refused == 5000);
}

TEST_CASE("random token soup") {
  const auto seed = static_cast<std::uint64_t>(test::seedOr(1));
  std::mt19937_64 random(seed);
  const std::vector<std::string> words = {
      "def", "tune", "let",   "in", "fun", "if",  "then", "else", "true",    "inf",      "x",      "f",           "_",
      "nat", "f32",  "f32x4", "1",  "2.5", "3i8", "=>",   "|>",   "->",      "||",       "&&",     "==",          "!=",
      "<=",  ">=",   "..",    "(",  ")",   "[",   "]",    ",",    ":",       ".",        "=",      "|",           "+",
      "-",   "*",    "/",     "%",  "<",   ">",   "!",    "é",    "def g =", "fun x =>", "(x, y)", "let x = 1 in"};
  int parsed = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = "def f =";
    for (std::size_t n = random() % 25; n > 0; --n) text += " " + words[random() % words.size()];
    INFO("seed " << seed << ": " << text);
    try {
      const Module m = parse(text);
      ++parsed;
      for (const Definition& d : m.definitions) REQUIRE(d.body);
    } catch (const UserError& error) {
      ++refused;
      for (const Diagnostic& d : error.diagnostics()) REQUIRE(!d.message.empty());
    }
  }
  std::cout << "random tokens: seed " << seed << ", " << parsed << " parsed, " << refused << " refused\n";
  CHECK(parsed + refused == 5000);
  CHECK(parsed > 25);
  CHECK(refused > 2500);
}

TEST_CASE("truncated programs") {
  const std::string text =
      "tune k in 1..16\ndef f(n: nat, x: [n](f32, <4>i8)): [n]f32 =\n"
      "  let (a, b): t = x |> split(k) in map(fun (p, q) => if p.0 < q[1] then -p.1 else 2.5e-3f32, zip(a, b))\n";
  CHECK_NOTHROW(parse(text));
  int refused = 0;
  for (std::size_t length = 0; length < text.size(); ++length) {
    INFO(text.substr(0, length));
    const std::string result = errorsOf(text.substr(0, length));
    if (result != "") {
      ++refused;
      CHECK(result.find("error: ") != std::string::npos);
    }
  }
  CHECK(refused > 150);
}

// --- What is shipped ------------------------------------------------------------------------------------------------

TEST_CASE("the prelude parses and is documented") {
  const Module& m = prelude();
  CHECK(m.definitions.size() > 40);
  CHECK(&m == &prelude());
  CHECK(m.tunables.empty());
  for (const std::string name : {"map2D", "slide2D", "pad2D", "zip2D", "crop2D", "mapGlb2D", "dotProduct"}) {
    INFO(name);
    CHECK(std::any_of(m.definitions.begin(), m.definitions.end(), [&](const Definition& d) { return d.name == name; }));
  }
}

TEST_CASE("the prelude hides no primitive and no operation") {
  for (const Definition& d : prelude().definitions) {
    INFO(d.name);
    CHECK(!primNamed(d.name));
    CHECK(!opNamed(d.name));
    CHECK(!scalarNamed(d.name));
  }
}

TEST_CASE("the examples parse") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LIFT_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".lift") continue;
    const std::string text = readFile(entry.path()).value();
    INFO(entry.path());
    CHECK(text.starts_with("-- "));
    CHECK(refusalOf([&] { parseModule(*addSource(entry.path().filename(), text)); }) == "");
    ++files;
  }
  CHECK(files >= 6);
}

TEST_CASE("files that cannot be read") {
  CHECK(refusalOf([] { readProgram("no/such.lift"); }) ==
        "error: cannot read 'no/such.lift': No such file or directory\n");
  CHECK(refusalOf([] { readProgram(LIFT_SOURCE_DIR); }) ==
        fmt::format("error: cannot read '{}': it is a directory\n", LIFT_SOURCE_DIR));
}
