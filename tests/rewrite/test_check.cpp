// The checker: it passes every rule of the tables, and it finds what is wrong with broken ones.
#include <catch2/catch.hpp>
#include <set>

#include "lift/interpreter.hpp"
#include "lift/rewrite_check.hpp"
#include "lift/text.hpp"

using namespace lift;
using namespace lift::rewrite;

namespace {

constexpr std::uint64_t seed = 1;

}  // namespace

TEST_CASE("every rule keeps types and values on random instances") {
  const int samples = 15;
  int rules = 0;
  for (const RuleTable& table : ruleTables())
    for (const Rule& rule : table.rules) {
      INFO(rule.name() << ": " << rule.text() << ", seed " << seed);
      const CheckResult r = checkRule(rule, {.samples = samples, .seed = seed});
      if (r.disagreement) {
        UNSCOPED_INFO(r.disagreement->what << "\n" << print(r.disagreement->before));
      }
      CHECK(!r.disagreement);
      CHECK(r.samples == samples);
      CHECK(r.exact > 0);  // some of them in numbers that round
      rules++;
    }
  CHECK(rules >= 100);
}

TEST_CASE("names of rules are unique") {
  std::set<std::string> names;
  for (const RuleTable& table : ruleTables())
    for (const Rule& rule : table.rules) {
      INFO(rule.name());
      CHECK(names.insert(rule.name()).second);
      CHECK(!rule.origin().empty());
    }
}

TEST_CASE("broken rules are found wrong") {
  const auto [name, text, when] = GENERATE(table<std::string, std::string, When>({
      {"swapped composition", "map(g, map(f, xs)) => map(fun x => f(g(x)), xs)", When::always},
      {"wrong tile step", "slide(2, 1, (xs: [8]t)) => take(7, join(map(fun t => slide(2, 1, t), slide(3, 1, xs))))",
       When::always},
      {"dropped join", "map(f, (xs: [4]t)) => map(fun ys => f(ys[0]), split(1, reorder(reverse, xs)))", When::always},
      {"wrong side of zip", "zip(map(f, xs), ys) => map(fun (x, y) => (y, f(x)), zip(xs, ys))", When::always},
      {"off by one", "reduce(i, f, (xs: [n]t)) => reduce(i, f, take(n - k, xs))", When::always},
      {"missing reorder", "join(transpose(split(k, xs))) => xs", When::always},
      {"wrong reorder", "join(transpose(split(k, xs))) => reorder(unstride(k), xs)", When::always},
      {"order changed without the condition", "reduce(i, f, xs) => reduce(i, f, reorder(reverse, xs))", When::always},
      {"initial value used twice", "reduce(i, f, xs) => reduce(i, f, map(fun ys => reduce(i, f, ys), split(k, xs)))",
       When::accumulates},
      {"operands swapped", "reduce(i, f, xs) => reduce(i, fun (a, x) => f((x, a)), xs)", When::always},
      {"halo forgotten", "slide(3, 1, padClamp(1, 1, xs)) => slide(3, 1, padWrap(1, 1, xs))", When::always},
      {"transposed once", "map(fun r => map(f, r), xss) => map(fun r => map(f, r), transpose(xss))", When::always},
      {"a coefficient as far off as rounding",
       "map(fun x => x * 0.1 + x * 0.2, (xs: [n]f32)) => map(fun x => x * 0.3, xs)", When::rounds},
      {"a product forgotten",
       "reduce((i: f32), fun (acc, x) => acc + f(x), (xs: [n]f32)) => reduce(i, fun (acc, x) => acc + f(x), take(n - "
       "1, xs))",
       When::rounds},
      {"one lane everywhere", "map(f, xs) => asScalar(map(fun v => splat(2, f(v[0])), split(2, xs)))", When::always},
  }));
  INFO(name << ": " << text << ", seed " << seed);
  const CheckResult r = checkRule(Rule(RuleRow{name, text, "broken", when}), {.samples = 500, .seed = seed});
  REQUIRE(r.disagreement);
  CHECK(!r.disagreement->what.empty());
  CHECK(r.samples < 500);

  // The reproducer is a program that parses back.
  const std::string before = print(r.disagreement->before);
  CHECK(print(parseProgram(*addSource("before.lift", before))) == before);
}

TEST_CASE("functions that give truths are drawn") {
  const auto check = [](const std::string& text) {
    INFO(text << ", seed " << seed);
    return checkRule(Rule("choice", text), {.samples = 100, .seed = seed});
  };
  for (const char* text :
       {"map(fun x => if f(x) then g(x) else h(x), xs) => map(fun x => if !f(x) then h(x) else g(x), xs)",
        "map(fun x => f(x) && g(x), xs) => map(fun x => !(!g(x) || !f(x)), xs)"}) {
    const CheckResult r = check(text);
    if (r.disagreement) {
      UNSCOPED_INFO(r.disagreement->what << "\n" << print(r.disagreement->before));
    }
    CHECK(!r.disagreement);
    CHECK(r.samples == 100);
  }
  CHECK(check("map(fun x => if f(x) then g(x) else h(x), xs) => map(fun x => if f(x) then h(x) else g(x), xs)")
            .disagreement);
  CHECK(check("map(fun x => f(x) && g(x), xs) => map(fun x => f(x) || g(x), xs)").disagreement);
}

TEST_CASE("a tile step that changes lengths is refused when the rule is built") {
  CHECK_THROWS_WITH(
      Rule("wrong", "split(k, slide(n, s, xs)) => map(fun t => slide(n, s, t), slide((k - 1) * s + n, s, xs))"),
      Catch::Contains("these lengths must be equal"));
}

TEST_CASE("the same seed draws the same instances") {
  const Rule wrong("wrong", "reduce(i, f, xs) => reduce(i, f, reorder(reverse, xs))");
  const CheckResult a = checkRule(wrong), b = checkRule(wrong), c = checkRule(wrong, {.seed = 2});
  REQUIRE((a.disagreement && b.disagreement && c.disagreement));
  CHECK(print(a.disagreement->before) == print(b.disagreement->before));
  CHECK(a.disagreement->fill == b.disagreement->fill);
  CHECK(a.disagreement->fill != c.disagreement->fill);
}

TEST_CASE("a rule that nothing fits gets no samples") {
  const CheckResult r = checkRule(Rule("impossible", "split(9, join((xs: [2][2]t))) => split(9, join(xs))"),
                                  {.samples = 5, .triesPerSample = 3});
  CHECK(r.samples == 0);
  CHECK(r.draws == 15);
  CHECK(!r.disagreement);
}
