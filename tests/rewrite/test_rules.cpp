// Rules: what building them refuses, what their left sides match, what they need of sizes.
#include <catch2/catch.hpp>
#include <filesystem>
#include <regex>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/rewrite.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"

using namespace lift;
using namespace lift::rewrite;
using Catch::Contains;

namespace {

Program programOf(const std::string& text) { return parseProgram(*addSource("test.lift", text)); }

// The body after the rule at its root, as text; empty where it does not apply.
std::string rewritten(const std::string& rule, const std::string& program, const Arguments& arguments = {}) {
  const Applied applied = applyRule(Rule("r", rule), etaLong(programOf(program).body), arguments);
  return applied.term ? print(*applied.term) : "";
}

std::string refusal(const std::string& rule, const std::string& program, const Arguments& arguments = {}) {
  return applyRule(Rule("r", rule), etaLong(programOf(program).body), arguments).reason;
}

std::string errorOf(const std::string& rule) {
  return test::refusalOf([&] { const Rule built("r", rule); });
}

}  // namespace

TEST_CASE("a rule that says too little or the wrong thing is refused with its place") {
  CHECK_THAT(errorOf("map(f, xs) => map(g, xs)"), Contains("nothing on the left side says what 'g' is"));
  CHECK_THAT(errorOf("map(f, xs) => reduce(i, f, xs)"), Contains("<rule r>:1:"));
  CHECK_THAT(errorOf("join(xss) => xss"), Contains("<rule r>:1:14"));
  CHECK_THAT(errorOf("map(f, xs) =>"), Contains("<rule r>:1:"));
  CHECK_THAT(errorOf("map(f, xs)"), Contains("=>"));
  CHECK_THAT(errorOf("split(k, xs) => xs"), Contains("error"));
  CHECK(errorOf("map(f, xs) => join(map(fun ys => map(f, ys), split(k, xs)))").empty());
}

TEST_CASE("sizes of the right side alone are tunables") {
  CHECK(Rule("r", "xs => join(split(k, xs))").tunables() == std::vector<std::string>{"k"});
  CHECK(Rule("r", "join(split(k, xs)) => xs").tunables().empty());
  CHECK_THROWS_WITH(rewritten("xs => join(split(k, xs))", "def p(xs: [8]f32) = xs"), Contains("needs a value for 'k'"));
}

TEST_CASE("functions match whatever is written in their place") {
  const std::string fuse = "map(g, map(f, xs)) => map(fun x => g(f(x)), xs)";
  CHECK(rewritten(fuse, "def p(xs: [8]f32) = map(sqrt, map(abs, xs))") == "map(fun x => sqrt(abs(x)), xs)");
  CHECK(rewritten(fuse, "def p(xs: [8]f32) = map(abs, xs)").empty());
  CHECK(rewritten(fuse, "def p(y: f32, xs: [8]f32) = map(fun x => x + y, map(fun x => x * y, xs))") ==
        "map(fun x => x * y + y, xs)");
}

TEST_CASE("a function of a tuple matches a body by its parts") {
  const std::string swap = "map(fun (x, y) => f((x, y)), zip(xs, ys)) => map(fun (y, x) => f((x, y)), zip(ys, xs))";
  CHECK(rewritten(swap, "def p(xs: [8]f32, ys: [8]f32) = map(fun (x, y) => x - y, zip(xs, ys))") ==
        "map(fun p => p.1 - p.0, zip(ys, xs))");
}

TEST_CASE("a context matches the first subterm like its part") {
  const std::string hoist =
      "map(fun x => c((x, toGlobal(f(x)))), xs) => map(fun (x, y) => c((x, y)), zip(xs, toGlobal(map(f, xs))))";
  const std::string body = rewritten(hoist, "def p(xs: [8]f32) = map(fun x => x + toGlobal(sqrt(x)), xs)");
  CHECK_THAT(body, Contains("toGlobal(map(fun x => sqrt(x), xs))") || Contains("toGlobal(map("));
  CHECK(rewritten(hoist, "def p(xs: [8]f32) = map(fun x => x + 1, xs)").empty());
}

TEST_CASE("a metavariable that occurs twice stands for one term") {
  const std::string same = "zip(xs, xs) => map(fun x => (x, x), xs)";
  CHECK(!rewritten(same, "def p(xs: [8]f32) = zip(xs, xs)").empty());
  CHECK(rewritten(same, "def p(xs: [8]f32, ys: [8]f32) = zip(xs, ys)").empty());
  CHECK(!rewritten("zip(map(f, xs), map(f, ys)) => map(fun (x, y) => (f(x), f(y)), zip(xs, ys))",
                   "def p(a: [8]f32, b: [8]f32) = zip(map(fun u => u + 1, a), map(fun v => v + 1, b))")
             .empty());
}

TEST_CASE("what a metavariable stands for may not mention bound variables") {
  const std::string invariant = "map(fun x => map(f, ys), xs) => map(fun x => map(f, ys), xs)";
  CHECK(!rewritten(invariant, "def p(a: [4]f32, b: [8]f32) = map(fun x => map(sqrt, b), a)").empty());
  CHECK(rewritten(invariant, "def p(a: [4][8]f32) = map(fun row => map(sqrt, row), a)").empty());
}

TEST_CASE("sizes match, also as linear equations") {
  const std::string chunks = "split(k, join((xs: [n][k]t))) => xs";
  CHECK(rewritten(chunks, "def p(xs: [2][4]f32) = split(4, join(xs))") == "xs");
  CHECK(rewritten(chunks, "def p(xs: [2][4]f32) = split(2, join(xs))").empty());
  CHECK(rewritten("take(n + 2, xs) => take(n + 2, take(n + 3, xs))", "def p(xs: [8]f32) = take(6, xs)") ==
        "take(6, take(7, xs))");
  CHECK(rewritten("slide(n, n, xs) => split(n, xs)", "def p(xs: [8]f32) = slide(2, 2, xs)") == "split(2, xs)");
  CHECK(rewritten("slide(n, n, xs) => split(n, xs)", "def p(xs: [8]f32) = slide(3, 1, xs)").empty());
}

TEST_CASE("conditions on sizes are proved, refuted or left to the program") {
  const std::string tile = "map(f, xs) => join(map(fun ys => map(f, ys), split(k, xs)))";
  CHECK(refusal(tile, "def p(xs: [112]f32) = map(sqrt, xs)", {{"k", 5}}) == "needs 5 | 112");
  CHECK(refusal(tile, "def p(xs: [112]f32) = map(sqrt, xs)", {{"k", 7}}).empty());
  const Applied applied =
      applyRule(Rule("r", tile), etaLong(programOf("def p(xs: [n]f32) = map(sqrt, xs)").body), {{"k", 4}});
  REQUIRE(applied.term);
  REQUIRE(applied.conditions.size() == 1);
  CHECK(applied.conditions[0].str() == "4 | n");
}

TEST_CASE("vectors are made of scalars only") {
  const std::string lanes = "map(f, xs) => asScalar(map(fun v => vectorize(w, f, v), asVector(w, xs)))";
  CHECK(!rewritten(lanes, "def p(xs: [8]f32) = map(sqrt, xs)", {{"w", 4}}).empty());
  CHECK(rewritten(lanes, "def p(xs: [8][8]f32) = map(fun row => map(sqrt, row), xs)", {{"w", 4}}).empty());
}

TEST_CASE("conditions on functions") {
  const Rule& reordered = ruleNamed("reduceStrided");
  const auto applies = [&](const std::string& f) {
    const Program p = programOf("def p(xs: [8]f32): f32 = reduce(0.0, " + f + ", xs)");
    return applyRule(reordered, etaLong(p.body), {{"s", 2}}).term.has_value();
  };
  CHECK(applies("fun (acc, x) => acc + x * x"));
  CHECK(applies("fun (acc, x) => max(x, acc)"));
  CHECK(applies("fun (acc, x) => acc - x"));
  CHECK(!applies("fun (acc, x) => x - acc"));
  CHECK(!applies("fun (acc, x) => acc * 0.5 + x"));
}

TEST_CASE("liftc uses every rule that is not in the table of further ones, and none of those") {
  namespace fs = std::filesystem;
  const fs::path sources = fs::path(LIFT_SOURCE_DIR) / "src";
  std::string text;  // of strategies, moves and mappings
  for (const auto& entry : fs::recursive_directory_iterator(sources)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".cpp" || file.rfind("rules_", 0) == 0) continue;
    text += readFile(entry.path()).value();
  }
  // As "mapToLoop", as "letOf" of letOf<01>, as "mapToGlobal{}" or "moreWindows{}D" with a number.
  const auto isUsed = [&](const std::string& name) {
    const std::string plain = name.substr(0, name.find('<'));
    const std::string numbered = std::regex_replace(plain, std::regex("[0-9]+(D?)$"), "{}$1");
    return text.find('"' + plain + '"') != std::string::npos ||
           (numbered != plain && text.find('"' + numbered + '"') != std::string::npos);
  };
  int used = 0, further = 0;
  for (const RuleTable& table : ruleTables())
    for (const Rule& rule : table.rules) {
      if (table.name == "Cook-Toom") continue;  // made for the numbers that a family asks for
      INFO(rule.name());
      CHECK(isUsed(rule.name()) == (table.name != "further"));
      (table.name == "further" ? further : used)++;
    }
  CHECK(used > 100);
  CHECK(further > 0);
}
