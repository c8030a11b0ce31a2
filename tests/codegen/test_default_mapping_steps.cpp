// The default mapping as a derivation: it replays, its rules are of the tables, and what it keeps twice is kept once.
#include <catch2/catch.hpp>
#include <set>

#include "codegen/helpers.hpp"

using namespace lift;
using codegen_tests::parse;

namespace {

bool has(const rewrite::Derivation& d, const std::string& rule) {
  return d.str().find(rule + "(") != std::string::npos || d.str().find(rule + " at") != std::string::npos ||
         d.str().find(rule + "<") != std::string::npos;
}

}  // namespace

TEST_CASE("steps of the default mapping are rules, one after the other") {
  const struct {
    std::string text;
    std::set<std::string> rules;
  } cases[] = {
      {"def p(xs: [65536]f32) = xs |> sum", {"reduceInChunks", "keepAhead", "mapInParallel0", "reduceInLanes"}},
      {"def p(xs: [65536]f32) = xs |> scan(0.0, add)", {"scanInChunks", "scanInOrder"}},
      {"def p(xs: [n]i32) = generate(64, fun b => sum(map(fun x => if x == b then 1 else 0, xs)))",
       {"generateAsMap", "mapByKey", "reduceByIndexInChunks"}},
      {"def p(xs: [64][64]f32) = map(fun r => let s = sum(r) in map(fun x => x / s, r), xs)",
       {"reduceInLanes", "mapInParallel0"}},
      {"def p(xs: [64][64]f32) = map(fun r => let s = sum(r) in map(fun x => exp(x - s), r), xs)",
       {"reduceInLanes", "mapInLanes", "mapInParallel0"}},
      {"def p(xs: [64][93]f32) = map(softmax, xs)", {"mapPeel", "mapInLanes", "letToPrivate"}},
      {"def p(xs: [4][64][96]f32) = transpose(xs) |> map(fun v => sum(map(square, join(v))))",
       {"mapJoin", "reduceJoin", "reduceInLanes"}},
      {"def p(xs: [4][64][12][12]f32) = transpose(xs) |> map(fun v => sum(map(square, flatten3D(v))))",
       {"mapJoin", "joinTwice", "reduceJoin", "reduceInLanes"}},
      {"def p(xs: [64][4][12][12]f32) = map(fun v => sum(flatten3D(v)), xs)", {"reduceInLanes"}},
      {"def p(xs: [8][8]f32) = transpose(xs)", {"copyMap"}},
  };
  for (const auto& [text, rules] : cases) {
    INFO(text);
    const Program program = parse(text);
    const Mapping mapping = mappingOf(program);
    INFO(mapping.derivation.str());
    for (const std::string& rule : rules) CHECK(has(mapping.derivation, rule));
    int steps = 0;
    const Program again = rewrite::replay(program, mapping.derivation, [&](const auto&, const Program& p) {
      verify(p);
      steps++;
    });
    CHECK(steps == static_cast<int>(mapping.derivation.steps.size()));
    CHECK(compile(again).sources == compile(program).sources);
    CHECK(compile(again).launches.size() == compile(program).launches.size());
  }
}

TEST_CASE("rows of rows that do not lie in memory in order stay rows") {
  const auto joinsTwice = [](const std::string& text) { return has(mappingOf(parse(text)).derivation, "joinTwice"); };
  CHECK(joinsTwice("def p(xs: [4][64][12][12]f32) = transpose(xs) |> map(fun v => sum(flatten3D(v)))"));
  CHECK_FALSE(
      joinsTwice("def p(xs: [4][64][12][12]f32) = "
                 "transpose(xs) |> map(fun v => sum(flatten3D(map(fun r => transpose(r), v))))"));
  CHECK_FALSE(
      joinsTwice("def p(xs: [64][4][24][24]f32) = map(fun v => sum(flatten3D(map(fun r => "
                 "map(fun q => take(20, q), r), v))), xs)"));
}

TEST_CASE("the default mapping is a strategy of a program that was rewritten before") {
  rewrite::Rewriting r(parse("def p(xs: [64]f32) = map(fun x => x + 1.0, map(fun x => x * 2.0, xs))"));
  r.apply(rewrite::use("mapFusion"));
  r.apply(defaultMapping(r.program()));
  CHECK(isMapped(r.program()));
  CHECK(r.derivation().steps.front().rule == "mapFusion");
  CHECK(compile(r.program()).sources.size() == 1);
}

TEST_CASE("what is kept twice is computed by one kernel, also where steps are replayed") {
  const std::string text =
      "def p(xs: [4096][64]f32) = (map(fun r => sum(r) + sum(map(sum, xs)), xs), map(fun r => sum(r) * sum(map(sum, "
      "xs)), xs))";
  const Program program = parse(text);
  const Mapping mapping = mappingOf(program);
  const Program again = rewrite::replay(program, rewrite::Derivation::parse(mapping.derivation.str(), program));
  CHECK(compile(again).launches.size() == compile(program).launches.size());
  CHECK(compile(program).launches.size() < 8);
}
