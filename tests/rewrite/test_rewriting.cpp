// Strategies, derivations, normal forms.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "lift/diagnostic.hpp"
#include "lift/interpreter.hpp"
#include "lift/rewrite.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"

using namespace lift;
using namespace lift::rewrite;
using Catch::Contains;

namespace {

Program programOf(const std::string& text) { return parseProgram(*addSource("test.lift", text)); }

const std::string nested = "def p(xs: [8][8]f32) = map(fun row => map(fun x => x + 1, row), xs)";

// The body after the strategy, as text; empty where it does not apply.
std::string after(const Strategy& s, const std::string& program = nested) {
  Rewriting r(programOf(program));
  return r.tryApply(s) ? print(r.program().body, Names::canonical) : "";
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
  return n;
}

const Strategy loop = use("mapToLoop");

int sizeOf(Expr e) {
  switch (e.form()) {
    case Expr::Form::lambda: return 1 + sizeOf(e.body());
    case Expr::Form::apply: return 1 + sizeOf(e.function()) + sizeOf(e.argument());
    default: return 1;
  }
}

std::vector<std::string> simplifications() {
  std::vector<std::string> names;
  for (const RuleTable& t : ruleTables())
    if (t.name == "simplification")
      for (const Rule& r : t.rules) names.push_back(r.name());
  return names;
}

// A random composition of stages that keep an [8][8]i32.
std::string randomProgram(std::mt19937_64& random) {
  static const std::vector<std::string> stages = {
      "transpose(@)",
      "reorder(reverse, @)",
      "reorder(shift(3), @)",
      "map(fun r => r, @)",
      "map(fun r => reorder(reverse, r), @)",
      "map(fun r => asScalar(asVector(4, r)), @)",
      "join(split(2, @))",
      "split(8, join(@))",
      "take(8, @)",
      "take(8, padClamp(0, 2, @))",
      "concat(take(3, @), drop(3, @))",
      "let(fun y => y, @)",
      "iterate(1, fun y => transpose(y), @)",
      "id(@)",
      "reorder(unstride(2), reorder(stride(2), @))",
  };
  std::string body = "xs";
  for (int i = 0; i < 8; i++) {
    std::string stage = stages[random() % stages.size()];
    for (auto at = stage.find('@'); at != std::string::npos; at = stage.find('@', at + body.size()))
      stage.replace(at, 1, body);
    body = stage;
    if (body.size() > 4000) break;
  }
  return "def p(xs: [8][8]i32): [8][8]i32 = " + body;
}

}  // namespace

TEST_CASE("each combinator") {
  CHECK(count(after(identity()), "mapSeq") == 0);
  CHECK(after(fail()).empty());
  CHECK(count(after(loop), "mapSeq") == 1);
  CHECK(after(loop) != after(bottomUp(loop)));
  CHECK(after(topDown(loop)) == after(loop));
  CHECK(count(after(everywhere(loop)), "mapSeq") == 2);
  CHECK(after(seq({loop, loop})).empty());
  CHECK(after(seq({loop, topDown(loop)})) == after(everywhere(loop)));
  CHECK(after(orElse(fail(), loop)) == after(loop));
  CHECK(after(orElse(loop, fail())) == after(loop));
  CHECK(after(attempt(fail())) == after(identity()));
  CHECK(after(repeat(topDown(loop))) == after(everywhere(loop)));
  CHECK(after(one(loop)).empty());
  CHECK(after(all(identity())) == after(identity()));
  CHECK(after(all(fail())).empty());
  CHECK(after(function(body(loop))) == after(bottomUp(loop)));
  CHECK(after(at({0, 1, 0}, loop)) == after(bottomUp(loop)));
  CHECK(after(at({1}, loop)).empty());
  CHECK(after(argument(loop)).empty());
  CHECK(after(inside([](Expr e) { return e.isLambda(); }, body(loop))) == after(bottomUp(loop)));
}

TEST_CASE("what a strategy did before it failed is undone") {
  Rewriting r(programOf("def p(xs: [n][8]f32) = map(fun row => map(fun x => x + 1, row), xs)"));
  const std::string before = print(r.program());
  CHECK(!r.tryApply(seq({use("mapSplit", {{"k", 4}}), fail()})));
  CHECK(print(r.program()) == before);
  CHECK(r.program().conditions.empty());
  CHECK(r.derivation().steps.empty());
}

TEST_CASE("a tunable leaves conditions") {
  Rewriting r(programOf("def p(xs: [n]f32) = map(fun x => x + 1, xs)"));
  const Nat k = r.tunable("k", 1, 64);
  r.apply(use("mapSplit", {{"k", k}}));
  const Program p = r.program();
  REQUIRE(p.conditions.size() == 1);
  CHECK(p.conditions[0].str() == "k | n");
  CHECK_THAT(p.conditions[0].origin, Contains("rule 'mapSplit'"));
  CHECK(p.tunables.size() == 1);
  CHECK_THROWS_AS(specialise(p, {{p.sizes[0], 10}, {p.tunables[0], 4}}), UserError);
}

TEST_CASE("a size argument is the length that the rule's type names, or the rule does not fit") {
  const Program p = programOf("tune k in 2..64\ndef p(xs: [8][8]f32) = join(split(k, join(xs)))");
  Rewriting r(p);
  CHECK(!r.tryApply(topDown(use("splitJoin"))));  // k may be 8
  const Program at = specialise(p, {{p.tunables[0], 8}});
  CHECK(Rewriting(at).tryApply(topDown(use("splitJoin"))));
}

TEST_CASE("failures say which rule, where and why") {
  Rewriting r(programOf("def p(xs: [112]f32) = map(fun x => x + 1, xs)"));
  const auto apply = [&] { r.apply(topDown(use("mapSplit", {{"k", 5}}))); };
  CHECK_THAT(test::refusalOf(apply),
             Contains("does not apply to 'p'") && Contains("rule 'mapSplit'") && Contains("needs 5 | 112"));
  CHECK_THROWS_WITH(use("mapSplitt"), Contains("there is no rule 'mapSplitt'"));
}

TEST_CASE("rewriting without an end is stopped by the budget") {
  Rewriting r(programOf("def p(xs: [8]f32) = map(fun x => x + 1, xs)"), 50);
  const auto apply = [&] {
    r.apply(repeat(use("mapStrided", {{"s", 2}})));
    r.apply(repeat(topDown(use("shareArray"))));
  };
  CHECK_THAT(test::refusalOf(apply), Contains("does not come to an end") && Contains("shareArray"));
}

TEST_CASE("derivations print, parse and replay to the same program") {
  const Program start = programOf("def p(xs: [n][64]f32) = map(fun row => map(fun x => x + 1, row), xs)");
  Rewriting r(start);
  r.apply(seq({topDown(use("mapSplit", {{"k", 4}})), bottomUp(use("mapSplit", {{"k", 8}})),
               topDown(use("mapToGlobal0")), everywhere(loop)}));
  const std::string text = r.derivation().str();
  const Derivation parsed = Derivation::parse(text, start);
  CHECK(parsed.str() == text);
  int steps = 0;
  const Program again = replay(start, parsed, [&](const Step&, const Program& p) {
    verify(p);
    steps++;
  });
  CHECK(print(again, Names::canonical) == print(r.program(), Names::canonical));
  CHECK(steps == static_cast<int>(r.derivation().steps.size()));
  CHECK(again.conditions.size() == r.program().conditions.size());
}

TEST_CASE("derivations that are no derivations") {
  const Program p = programOf(nested);
  for (const char* text : {"mapToLoop", "mapToLoop at 012", "mapSplit(k 4) at .", "mapSplit(k at ."})
    CHECK_THROWS_WITH(Derivation::parse(text, p), Contains("is not a step of a derivation"));
  CHECK_THROWS_WITH(Derivation::parse("mapSplit(k = x) at .", p), Contains("this is no size"));
  CHECK_THROWS_WITH(replay(p, Derivation::parse("mapToLoop at 111", p)), Contains("step 1 of the derivation"));
}

TEST_CASE("simplification ends in one normal form, whatever the order of its rules") {
  const std::uint64_t seed = 1;
  std::mt19937_64 random(seed);
  std::vector<std::string> names = simplifications();
  int steps = 0;
  for (int sample = 0; sample < 40; sample++) {
    const Program p = programOf(randomProgram(random));
    INFO("seed " << seed << ", sample " << sample << "\n" << print(p));
    std::string first;
    for (int order = 0; order < 4; order++) {
      Rewriting r(p, 2000);
      r.apply(normalise(names));
      const std::string normal = print(r.program().body, Names::canonical);
      if (first.empty()) first = normal;
      CHECK(normal == first);
      std::shuffle(names.begin(), names.end(), random);
      // Every step makes the term smaller, lets written out.
      int size = sizeOf(etaLong(p.body));
      replay(p, r.derivation(), [&](const Step& s, const Program& now) {
        INFO(s.rule);
        CHECK(sizeOf(now.body) < size);
        size = sizeOf(now.body);
        steps++;
      });
    }
  }
  CHECK(steps > 200);
}
