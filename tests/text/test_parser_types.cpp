// The parser: types, schemes and modules.

#include "lift/primitive.hpp"
#include "parser_helpers.hpp"

using namespace lift;
using namespace lift::test;

// --- Types ----------------------------------------------------------------------------------------------------------

TEST_CASE("scalar types by name") {
  for (int i = 0; i < scalarCount; ++i) {
    const std::string name(info(static_cast<Scalar>(i)).name);
    CHECK(type(name) == name);
  }
}

TEST_CASE("array, vector and tuple types") {
  CHECK(type("[n]f32") == "[n]f32");
  CHECK(type("[n][m + 1][3]f32") == "[n][(add m 1)][3]f32");
  CHECK(type("f32x4") == "<4>f32");
  CHECK(type("i8x16") == "<16>i8");
  CHECK(type("<w>t") == "<w>'t");
  CHECK(type("<2 * w>f32") == "<(mul 2 w)>f32");
  CHECK(type("[n / 4](f32x4, [m]i32)") == "[(div n 4)](<4>f32, [m]i32)");
  CHECK(type("(f32)") == "f32");
  CHECK(type("[n](t)") == "[n]'t");
  CHECK(type("[min(a, b)]t") == "[(min a b)]'t");
}

TEST_CASE("function types group to the right and hold arrays whole") {
  CHECK(type("t -> u -> v") == "('t -> ('u -> 'v))");
  CHECK(type("(t -> u) -> v") == "(('t -> 'u) -> 'v)");
  CHECK(type("[n]t -> u") == "([n]'t -> 'u)");
  CHECK(type("[n](t -> u)") == "[n]('t -> 'u)");
  CHECK(type("(u, t) -> u") == "(('u, 't) -> 'u)");
}

TEST_CASE("names that only look like vectors") {
  CHECK(type("f32x") == "'f32x");
  CHECK(type("fx4") == "'fx4");
  CHECK(type("x4") == "'x4");
  CHECK(type("f32xy") == "'f32xy");
}

TEST_CASE("kinds") {
  CHECK(type("nat") == "#nat");
  CHECK(type("index") == "#index");
  CHECK(
      brief(refusalOf([] { type("[n]nat"); })) ==
      "1:4-6 'nat' is no type of values (it stands alone, as in def f(k: nat, …); sizes in scalar arithmetic are i32)");
}

TEST_CASE("a type alone, and no more") {
  CHECK(brief(refusalOf([] { type("f32 f32"); })) ==
        "1:5-7 unexpected 'f32' behind the type (functions are called f(x))");
}

TEST_CASE("types of other languages") {
  CHECK(brief(refusalOf([] { type("[n]float"); })) == "1:4-8 there is no type 'float' (write f32)");
}

// --- Schemes --------------------------------------------------------------------------------------------------------

TEST_CASE("a scheme with sizes and a condition") {
  const SynScheme s = parseScheme(*addSource("row", "split(k: nat, in: [n]t): [n / k][k]t where k | n"));
  CHECK(s.name == "split");
  REQUIRE(s.parameters.size() == 2);
  CHECK(s.parameters[0].name == "k");
  CHECK(show(*s.parameters[0].type) == "#nat");
  CHECK(s.parameters[1].name == "in");
  CHECK(show(*s.parameters[1].type) == "[n]'t");
  CHECK(show(*s.result) == "[(div n k)][k]'t");
  REQUIRE(s.conditions.size() == 1);
  CHECK(s.conditions[0].kind == SizeCondition::Kind::divides);
  CHECK(show(*s.conditions[0].left) == "k");
  CHECK(show(*s.conditions[0].right) == "n");
}

TEST_CASE("several conditions") {
  const SynScheme s = parseScheme(*addSource("row", "f(in: [n]t): t where size <= n, step | n - size, a * b == n"));
  REQUIRE(s.conditions.size() == 3);
  CHECK(s.conditions[0].kind == SizeCondition::Kind::lessEqual);
  CHECK(s.conditions[1].kind == SizeCondition::Kind::divides);
  CHECK(show(*s.conditions[1].right) == "(sub n size)");
  CHECK(s.conditions[2].kind == SizeCondition::Kind::equal);
}

TEST_CASE("every row of the primitives table") {
  int rows = 0;
  for (int i = 0; i < primCount; ++i) {
    const PrimInfo& row = info(static_cast<Prim>(i));
    INFO(row.scheme);
    const SynScheme s = parseScheme(*addSource("row", std::string(row.scheme)));
    CHECK(!s.parameters.empty());
    CHECK(s.result);
    ++rows;
  }
  CHECK(rows == primCount);
}

TEST_CASE("a scheme needs its types") {
  CHECK(brief(refusalOf([] { parseScheme(*addSource("row", "map(f, in: [n]t): [n]u")); })) ==
        "1:6 expected ':' and the parameter's type, found ','");
}

// --- Modules --------------------------------------------------------------------------------------------------------

TEST_CASE("definitions") {
  const Module m = parse(
      "-- a comment\n"
      "def dot(x: [n]f32, y: [n]f32): f32 = x  -- another\n"
      "def twice(k: nat, f, x) = f(f(x))\n"
      "def three: i32 = 3\n"
      "def four = 4");
  REQUIRE(m.definitions.size() == 4);
  CHECK(m.definitions[0].name == "dot");
  REQUIRE(m.definitions[0].parameters.size() == 2);
  CHECK(m.definitions[0].parameters[1].name == "y");
  CHECK(show(*m.definitions[0].parameters[1].type) == "[n]f32");
  CHECK(show(*m.definitions[0].result) == "f32");
  CHECK(covered(m.definitions[0].span) == "dot");
  CHECK(covered(m.definitions[0].parameters[1].span) == "y");
  CHECK(show(*m.definitions[1].parameters[0].type) == "#nat");
  CHECK(!m.definitions[1].parameters[1].type);
  CHECK(!m.definitions[1].result);
  CHECK(m.definitions[2].parameters.empty());
  CHECK(show(*m.definitions[2].result) == "i32");
  CHECK(show(*m.definitions[3].body) == "4");
  CHECK(m.tunables.empty());
}

TEST_CASE("patterns as parameters are lets in front of the body") {
  const Module m = parse("def f((a, (b, _)), (c): i32, (d, e): (f32, i32)) = a");
  const auto& parameters = m.definitions.at(0).parameters;
  REQUIRE(parameters.size() == 3);
  CHECK(parameters[0].name == "(a, (b, _))");
  CHECK(covered(parameters[0].span) == "(a, (b, _))");
  CHECK(!parameters[0].type);
  CHECK(show(*parameters[1].type) == "i32");
  CHECK(show(*parameters[2].type) == show(*parse("def g(x: (f32, i32)) = x").definitions[0].parameters[0].type));
  CHECK(as<Syn::Let>(m.definitions[0].body).pattern.components.size() == 2);
  CHECK_THAT(errorsOf("def f((a, b), a) = a"), Catch::Contains("there are two parameters 'a'"));
  CHECK_THAT(errorsOf("def f(a, (a, b)) = a"), Catch::Contains("'a' is bound twice in this pattern"));
}

TEST_CASE("tunables") {
  const Module m = parse("tune k in 1..16\ntune j in k + 1..2 * n\ndef f = 1");
  REQUIRE(m.tunables.size() == 2);
  CHECK(m.tunables[0].name == "k");
  CHECK(show(*m.tunables[0].low) == "1");
  CHECK(show(*m.tunables[0].high) == "16");
  CHECK(show(*m.tunables[1].low) == "(add k 1)");
  CHECK(show(*m.tunables[1].high) == "(mul 2 n)");
  CHECK(m.definitions.size() == 1);
}

TEST_CASE("an empty text is an empty module") {
  CHECK(parse("").definitions.empty());
  CHECK(parse(" \t\r\n-- only a comment").definitions.empty());
  CHECK(parse("\xEF\xBB\xBF"
              "def f = 1")
            .definitions.size() == 1);
}

TEST_CASE("spans are exact") {
  const SynPtr e = parseExpr("f(a, -b) + (c * d)[0]");
  CHECK(covered(e->span) == "f(a, -b) + (c * d)[0]");
  const auto& sum = as<Syn::Call>(e);
  CHECK(covered(sum.function->span) == "+");
  CHECK(covered(sum.arguments[0].value->span) == "f(a, -b)");
  const auto& call = as<Syn::Call>(sum.arguments[0].value);
  CHECK(covered(call.function->span) == "f");
  CHECK(covered(call.arguments[1].value->span) == "-b");
  CHECK(covered(sum.arguments[1].value->span) == "(c * d)[0]");
  CHECK(covered(as<Syn::Subscript>(sum.arguments[1].value).array->span) == "c * d");
}

TEST_CASE("spans of binding forms") {
  const SynPtr e = parseExpr("let (a, b: f32) = p in (fun x: i32 => (x : i32), if c then 1 else 2)");
  CHECK(covered(e->span) == "let (a, b: f32) = p in (fun x: i32 => (x : i32), if c then 1 else 2)");
  const auto& let = as<Syn::Let>(e);
  CHECK(covered(let.pattern.span) == "(a, b: f32)");
  CHECK(covered(let.pattern.components[1].span) == "b: f32");
  CHECK(covered(let.pattern.components[1].type->span) == "f32");
  const auto& tuple = as<Syn::Tuple>(let.body);
  CHECK(covered(tuple.components[0]->span) == "fun x: i32 => (x : i32)");
  CHECK(covered(as<Syn::Fun>(tuple.components[0]).body->span) == "x : i32");
  CHECK(covered(tuple.components[1]->span) == "if c then 1 else 2");
}

TEST_CASE("spans of types") {
  const Module m = parse("def f(x: [n + 1](f32, <4>i8)): a -> b = x");
  const SynTypePtr t = m.definitions[0].parameters[0].type;
  CHECK(covered(t->span) == "[n + 1](f32, <4>i8)");
  const auto& array = std::get<SynType::Array>(t->node);
  CHECK(covered(array.length->span) == "n + 1");
  CHECK(covered(std::get<SynType::Tuple>(array.element->node).components[1]->span) == "<4>i8");
  CHECK(covered(m.definitions[0].result->span) == "a -> b");
}
