#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/primitive.hpp"
#include "lift/text.hpp"
#include "show.hpp"

using namespace lift;
using lift::test::show;

namespace {

Module parse(const std::string& text) { return parseModule(*addSource("t.lift", text)); }

SynPtr parseExpr(const std::string& text) { return parse("def it = " + text).definitions.at(0).body; }

std::string expr(const std::string& text) { return show(*parseExpr(text)); }
std::string type(const std::string& text) { return show(*parseType(*addSource("type", text))); }

// What a user would read.
std::string errors(const std::function<void()>& run) {
  try {
    run();
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::program);
    return error.what();
  }
  return "no error";
}
std::string errorsOf(const std::string& text) {
  return errors([&] { parse(text); });
}

std::string covered(const Span& span) { return span.file->text.substr(span.begin, span.end - span.begin); }

template <class Form>
const Form& as(const SynPtr& syn) {
  return std::get<Form>(syn->node);
}

std::string repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

// --- Literals and names ---------------------------------------------------------------------------------------------

TEST_CASE("names") {
  CHECK(expr("x") == "x");
  CHECK(expr("_x1'") == "_x1'");
  CHECK(expr("letter") == "letter");
  CHECK(expr("nat") == "nat");
  CHECK(expr("index") == "index");
}

TEST_CASE("integer literals") {
  CHECK(expr("0") == "0");
  CHECK(expr("007") == "7");
  CHECK(expr("9223372036854775807") == "9223372036854775807");
  CHECK(expr("-9223372036854775808") == "-9223372036854775808");
}

TEST_CASE("real literals") {
  CHECK(expr("1.5") == "real:1.5");
  CHECK(expr("2e-3") == "real:0.002");
  CHECK(expr("2E+3") == "real:2000");
  CHECK(expr("0.1") == "real:0.1");
  CHECK(expr("1.7976931348623157e308") == "real:1.7976931348623157e+308");
  CHECK(expr("1e-400") == "real:0");
  CHECK(expr("0.0e999999999999999999999") == "real:0");
  CHECK(expr("inf") == "real:inf");
  CHECK(std::isnan(as<Syn::Real>(parseExpr("nan")).value));
}

TEST_CASE("literals with a type") {
  CHECK(expr("1.5f16") == "realf16:1.5");
  CHECK(expr("3f32") == "realf32:3");
  CHECK(expr("2e-3f64") == "realf64:0.002");
  CHECK(expr("7i64") == "reali64:7");
  CHECK(expr("255u8") == "realu8:255");
  CHECK(expr("-128i8") == "reali8:-128");
}

TEST_CASE("64-bit literals that a double would round") {
  CHECK(expr("9007199254740992i64") == "reali64:9007199254740992");
  CHECK(expr("9007199254740993i64") == "(as 9007199254740993 i64)");
  CHECK(expr("18446744073709551615u64") == "(as -1 u64)");
}

TEST_CASE("booleans") {
  CHECK(expr("true") == "#true");
  CHECK(expr("!false") == "(not #false)");
}

TEST_CASE("a sign before a literal is part of it") {
  CHECK(expr("-1") == "-1");
  CHECK(expr("-1.5f32") == "realf32:-1.5");
  CHECK(expr("-inf") == "real:-inf");
  CHECK(expr("-x") == "(neg x)");
  CHECK(expr("- -1") == "(neg -1)");
  CHECK(expr("1 -1") == "(sub 1 1)");
  CHECK(expr("-(1)") == "(neg 1)");
  CHECK(std::signbit(as<Syn::Real>(parseExpr("-0.0")).value));
}

// --- Operators ------------------------------------------------------------------------------------------------------

TEST_CASE("every operator of the table") {
  int operators = 0;
  for (int i = 0; i < opCount; ++i) {
    const OpInfo& row = info(static_cast<Op>(i));
    if (row.infix.empty()) continue;
    ++operators;
    CHECK(expr(fmt::format("a {} b", row.infix)) == fmt::format("({} a b)", row.name));
  }
  CHECK(operators == 18);
}

TEST_CASE("tighter operators first, for every pair of the table") {
  int pairs = 0;
  for (int i = 0; i < opCount; ++i)
    for (int j = 0; j < opCount; ++j) {
      const OpInfo &a = info(static_cast<Op>(i)), &b = info(static_cast<Op>(j));
      const bool chain = a.typing == OpTyping::comparison && a.precedence == b.precedence;
      if (a.infix.empty() || b.infix.empty() || chain) continue;
      ++pairs;
      const std::string left = fmt::format("({} ({} x y) z)", b.name, a.name);
      const std::string right = fmt::format("({} x ({} y z))", a.name, b.name);
      CHECK(expr(fmt::format("x {} y {} z", a.infix, b.infix)) == (a.precedence >= b.precedence ? left : right));
    }
  CHECK(pairs > 140);
}

TEST_CASE("operators of one precedence group to the left") {
  CHECK(expr("a - b - c + d") == "(add (sub (sub a b) c) d)");
  CHECK(expr("a / b * c % d") == "(mod (mul (div a b) c) d)");
}

TEST_CASE("prefix operators bind tighter than binary ones, looser than postfix") {
  CHECK(expr("-a * b") == "(mul (neg a) b)");
  CHECK(expr("!a && b") == "(and (not a) b)");
  CHECK(expr("-f(x)") == "(neg (f x))");
  CHECK(expr("-x[i].0") == "(neg (get 0 (at x i)))");
  CHECK(expr("--x\n y") == "y");  // a comment
  CHECK(expr("a - -b") == "(sub a (neg b))");
}

TEST_CASE("parentheses") {
  CHECK(expr("(a + b) * c") == "(mul (add a b) c)");
  CHECK(expr("a - (b - c)") == "(sub a (sub b c))");
  CHECK(expr("((x))") == "x");
}

TEST_CASE("the pipe is the loosest operator and applies to the right") {
  CHECK(expr("x |> f |> g") == "(g (f x))");
  CHECK(expr("x + y |> f") == "(f (add x y))");
  CHECK(expr("x |> split(4) |> map(f)") == "((map f) ((split 4) x))");
  CHECK(expr("fun x => x |> f") == "(fun x (f x))");
  CHECK(expr("x |> fun y => y |> f") == "((fun y (f y)) x)");
  CHECK(expr("let y = x |> f in y |> g") == "(let y (f x) (g y))");
}

// --- The other forms ------------------------------------------------------------------------------------------------

TEST_CASE("calls") {
  CHECK(expr("f(a)") == "(f a)");
  CHECK(expr("f(a, b + 1)") == "(f a (add b 1))");
  CHECK(expr("f(a)(b)(c)") == "(((f a) b) c)");
  CHECK(expr("(fun x => x)(y)") == "((fun x x) y)");
  CHECK(expr("mapWrg(0)(mapLcl(0)(f))(xs)") == "(((mapWrg 0) ((mapLcl 0) f)) xs)");
}

TEST_CASE("named arguments") {
  CHECK(expr("reduce(init = 0.0, f = add, in = xs)") == "(reduce init=real:0 f=add in=xs)");
  CHECK(expr("f(a = b, c)") == "(f a=b c)");
  CHECK(expr("f(a == b)") == "(f (eq a b))");
}

TEST_CASE("functions") {
  CHECK(expr("fun x => x + 1") == "(fun x (add x 1))");
  CHECK(expr("fun _ => 0") == "(fun _ 0)");
  CHECK(expr("fun (a, (b, c)) => a") == "(fun (a (b c)) a)");
  CHECK(expr("fun (x: f32) => x") == "(fun x:f32 x)");
  CHECK(expr("fun x: f32 -> i32 => x") == "(fun x:(f32 -> i32) x)");
  CHECK(expr("fun (a: f32, b: [n]i8) => a") == "(fun (a:f32 b:[n]i8) a)");
  CHECK(expr("fun (a, b): (f32, i8) => a") == "(fun (a b):(f32, i8) a)");
  CHECK(expr("fun (x) => fun y => x") == "(fun x (fun y x))");
  CHECK(expr("map(fun x => x, xs)") == "(map (fun x x) xs)");
}

TEST_CASE("let") {
  CHECK(expr("let x = 1 in x") == "(let x 1 x)");
  CHECK(expr("let (a, b) = p in a") == "(let (a b) p a)");
  CHECK(expr("let (a, b): (f32, f32) = p in a") == "(let (a b):(f32, f32) p a)");
  CHECK(expr("let x: f32 = 1 in x") == "(let x:f32 1 x)");
  CHECK(expr("let x = 1 in let y = 2 in x + y") == "(let x 1 (let y 2 (add x y)))");
  CHECK(expr("let x = let y = 1 in y in x") == "(let x (let y 1 y) x)");
  CHECK(expr("1 + let x = 2 in x * 3") == "(add 1 (let x 2 (mul x 3)))");
}

TEST_CASE("let is also a primitive") {
  CHECK(expr("let(fun x => x + x, y * y)") == "(let (fun x (add x x)) (mul y y))");
  CHECK(expr("let(f, x) + 1") == "(add (let f x) 1)");
  CHECK(expr("let(f)(x)") == "((let f) x)");
  CHECK(expr("let(f, let (a, b) = c in a)") == "(let f (let (a b) c a))");
}

TEST_CASE("conditionals") {
  CHECK(expr("if a < b then a else b") == "(if (lt a b) a b)");
  CHECK(expr("if a then 1 else if b then 2 else 3 + 4") == "(if a 1 (if b 2 (add 3 4)))");
}

TEST_CASE("tuples and components") {
  CHECK(expr("(a, b)") == "(tuple a b)");
  CHECK(expr("(a, (b, c), d + 1)") == "(tuple a (tuple b c) (add d 1))");
  CHECK(expr("p.0") == "(get 0 p)");
  CHECK(expr("p.0.1") == "(get 1 (get 0 p))");
  CHECK(expr("(a, b).1") == "(get 1 (tuple a b))");
  CHECK(expr("f(x).1(y)") == "((get 1 (f x)) y)");
}

TEST_CASE("subscripts") {
  CHECK(expr("xs[i]") == "(at xs i)");
  CHECK(expr("xs[i + 1][j]") == "(at (at xs (add i 1)) j)");
  CHECK(expr("f(xs)[0].1") == "(get 1 (at (f xs) 0))");
}

TEST_CASE("ascription") {
  CHECK(expr("(x : f32)") == "(as x f32)");
  CHECK(expr("(x + y : [n]f32x4)") == "(as (add x y) [n]<4>f32)");
  CHECK(expr("(a : f32, b)") == "(tuple (as a f32) b)");
  CHECK(expr("(fun x => x : f32 -> f32)") == "(as (fun x x) (f32 -> f32))");
}

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
  CHECK(errors([] { type("[n]nat"); }) ==
        "type:1:4: error: 'nat' is no type of values\n"
        "[n]nat\n"
        "   ^~~\n"
        "  hint: it stands alone, as in def f(k: nat, …); sizes in scalar arithmetic are i32\n");
}

TEST_CASE("a type alone, and no more") {
  CHECK(errors([] { type("f32 f32"); }) ==
        "type:1:5: error: unexpected 'f32' behind the type\n"
        "f32 f32\n"
        "    ^~~\n"
        "  hint: functions are called f(x)\n");
}

TEST_CASE("types of other languages") {
  CHECK(errors([] { type("[n]float"); }) ==
        "type:1:4: error: there is no type 'float'\n"
        "[n]float\n"
        "   ^~~~~\n"
        "  hint: write f32\n");
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
  CHECK(errors([] { parseScheme(*addSource("row", "map(f, in: [n]t): [n]u")); }) ==
        "row:1:6: error: expected ':' and the parameter's type, found ','\n"
        "map(f, in: [n]t): [n]u\n"
        "     ^\n");
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
  const auto* first = std::get_if<Syn::Let>(&m.definitions[0].body->node);
  REQUIRE(first);
  CHECK(first->pattern.components.size() == 2);
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

// --- Errors, as a whole ---------------------------------------------------------------------------------------------

TEST_CASE("an unclosed call names its opening") {
  CHECK(errorsOf("def f(x) = map(g,\n  zip(x, y)\ndef h = 1") ==
        "t.lift:2:12: error: expected ')' to close the call, found the end of the definition\n"
        "  zip(x, y)\n"
        "           ^\n"
        "t.lift:1:15: note: opened here\n"
        "def f(x) = map(g,\n"
        "              ^\n");
}

TEST_CASE("a bracket of the wrong kind") {
  CHECK(errorsOf("def f = g(1, (2, 3])") ==
        "t.lift:1:19: error: expected ')' to close the tuple, found ']'\n"
        "def f = g(1, (2, 3])\n"
        "                  ^\n"
        "t.lift:1:14: note: opened here\n"
        "def f = g(1, (2, 3])\n"
        "             ^\n");
}

TEST_CASE("a bracket too many") {
  CHECK(errorsOf("def f = g(1))") ==
        "t.lift:1:13: error: ')' closes nothing\n"
        "def f = g(1))\n"
        "            ^\n");
}

TEST_CASE("the text ends too early") {
  CHECK(errorsOf("def f(x) = x +\n\n") ==
        "t.lift:1:15: error: expected an expression, found the end of the text\n"
        "def f(x) = x +\n"
        "              ^\n");
  CHECK(errorsOf("def") ==
        "t.lift:1:4: error: expected the name of a definition, found the end of the text\n"
        "def\n"
        "   ^\n");
}

TEST_CASE("unknown characters, in UTF-8 and not") {
  CHECK(errorsOf("def f = 2 × θ") ==
        "t.lift:1:11: error: unexpected character '×'\n"
        "def f = 2 × θ\n"
        "          ^\n"
        "  hint: multiplication is written *\n"
        "t.lift:1:13: error: unexpected character 'θ'\n"
        "def f = 2 × θ\n"
        "            ^\n"
        "  hint: names are made of A-Z a-z 0-9 _ and '\n");
  CHECK(errorsOf("def f = \xff\xfe") ==
        "t.lift:1:9: error: byte 0xff is not UTF-8 text\n"
        "def f = \xff\xfe\n"
        "        ^~\n");
  CHECK(errorsOf(std::string("def f = \0 1", 11)) ==
        "t.lift:1:9: error: unexpected control character 0x00\n"
        "def f = ? 1\n"
        "        ^\n");
}

TEST_CASE("reserved words bind nothing") {
  CHECK(errorsOf("def f(in) = 1") ==
        "t.lift:1:7: error: 'in' is a reserved word and cannot be the name of a parameter\n"
        "def f(in) = 1\n"
        "      ^~\n");
  CHECK(errorsOf("def f = fun then => 1") ==
        "t.lift:1:13: error: 'then' is a reserved word and cannot be a pattern\n"
        "def f = fun then => 1\n"
        "            ^~~~\n");
}

TEST_CASE("one error for each definition, in order") {
  CHECK(errorsOf("def a = (1\n"
                 "def b = 2\n"
                 "tune k 1..3\n"
                 "def c = fun x -> x\n"
                 "def a = 3\n") ==
        "t.lift:1:11: error: expected ')' to close the parenthesis, found the end of the definition\n"
        "def a = (1\n"
        "          ^\n"
        "t.lift:1:9: note: opened here\n"
        "def a = (1\n"
        "        ^\n"
        "t.lift:3:8: error: expected 'in' behind tunable 'k', found '1'\n"
        "tune k 1..3\n"
        "       ^\n"
        "  hint: tunables are written tune k in 1..16\n"
        "t.lift:4:15: error: expected '=>' behind the parameter, found '->'\n"
        "def c = fun x -> x\n"
        "              ^~\n"
        "  hint: functions are written fun x => e\n");
}

TEST_CASE("a name defined twice") {
  CHECK(errorsOf("def a = 1\ntune a in 1..2") ==
        "t.lift:2:6: error: 'a' is defined twice\n"
        "tune a in 1..2\n"
        "     ^\n"
        "t.lift:1:5: note: first defined here\n"
        "def a = 1\n"
        "    ^\n");
}

TEST_CASE("names bound twice at once") {
  CHECK(errorsOf("def f(x, y, x) = x") ==
        "t.lift:1:13: error: there are two parameters 'x'\n"
        "def f(x, y, x) = x\n"
        "            ^\n");
  CHECK(errorsOf("def f = fun (a, (b, a)) => a") ==
        "t.lift:1:21: error: 'a' is bound twice in this pattern\n"
        "def f = fun (a, (b, a)) => a\n"
        "                    ^\n");
  CHECK(expr("fun (_, _) => 1") == "(fun (_ _) 1)");
}

TEST_CASE("what other languages write") {
  CHECK(errorsOf("def f(x) = x => x") ==
        "t.lift:1:14: error: unexpected '=>' behind the definition\n"
        "def f(x) = x => x\n"
        "             ^~\n"
        "  hint: functions are written fun x => e\n");
  CHECK(errorsOf("def f(x) = g x") ==
        "t.lift:1:14: error: unexpected 'x' behind the definition\n"
        "def f(x) = g x\n"
        "             ^\n"
        "  hint: functions are called f(x)\n");
  CHECK(errorsOf("def f(x) = if x then 1") ==
        "t.lift:1:23: error: expected 'else' behind the value of 'then', found the end of the text\n"
        "def f(x) = if x then 1\n"
        "                      ^\n"
        "  hint: every if has an else\n");
  CHECK(errorsOf("def f() = 1") ==
        "t.lift:1:7: error: expected a parameter, found ')'\n"
        "def f() = 1\n"
        "      ^\n"
        "  hint: write def f = … without parentheses\n");
  CHECK(errorsOf("def f(x) = x._1") ==
        "t.lift:1:14: error: expected the number of a component behind '.', found '_1'\n"
        "def f(x) = x._1\n"
        "             ^~\n"
        "  hint: components are counted from 0: pair.0, pair.1\n");
  CHECK(errorsOf("x = 1") ==
        "t.lift:1:1: error: expected 'def', 'tune', 'type' or 'import', found 'x'\n"
        "x = 1\n"
        "^\n"
        "  hint: a program is a list of definitions: def f(x: [n]f32): [n]f32 = …\n");
}

TEST_CASE("comparisons do not chain") {
  CHECK(errorsOf("def f = a < b <= c") ==
        "t.lift:1:15: error: comparisons do not chain\n"
        "def f = a < b <= c\n"
        "              ^~\n"
        "  hint: write a < b && b < c\n");
  CHECK(expr("(a < b) == (b < c)") == "(eq (lt a b) (lt b c))");
  CHECK(expr("a < b == b < c") == "(eq (lt a b) (lt b c))");
}

TEST_CASE("literals that no type holds") {
  CHECK(errorsOf("def f = 300u8") ==
        "t.lift:1:9: error: 300 is out of range of u8\n"
        "def f = 300u8\n"
        "        ^~~~~\n");
  CHECK(errorsOf("def f = -129i8") ==
        "t.lift:1:9: error: -129 is out of range of i8\n"
        "def f = -129i8\n"
        "        ^~~~~~\n");
  CHECK(errorsOf("def f = 9223372036854775808") ==
        "t.lift:1:9: error: 9223372036854775808 is out of range of i64\n"
        "def f = 9223372036854775808\n"
        "        ^~~~~~~~~~~~~~~~~~~\n");
  CHECK(errorsOf("def f = 1e39f32") ==
        "t.lift:1:9: error: 1e39 is too large for f32\n"
        "def f = 1e39f32\n"
        "        ^~~~~~~\n"
        "  hint: infinity is inf\n");
  CHECK(errorsOf("def f = 1e999") ==
        "t.lift:1:9: error: 1e999 is too large for f64\n"
        "def f = 1e999\n"
        "        ^~~~~\n"
        "  hint: infinity is inf\n");
  CHECK(errorsOf("def f = 1.5i32") ==
        "t.lift:1:9: error: 1.5 is no integer, as i32 needs\n"
        "def f = 1.5i32\n"
        "        ^~~~~~\n"
        "  hint: conversions are written i32(1.5)\n");
  CHECK(errorsOf("def f = 1x") ==
        "t.lift:1:9: error: 'x' is no type of numbers\n"
        "def f = 1x\n"
        "        ^~\n"
        "  hint: literals are written 1, 1.5, 2e-3, 0xff, 0b101, with a type as in 3f32, 7i64\n");
}

TEST_CASE("many errors are counted, not shown") {
  std::string distinct;
  for (int i = 0; i < 50; ++i) distinct += fmt::format("def f{} = (\n", i);
  const std::string all = errorsOf(distinct);
  CHECK(all.find("t.lift:20:") != std::string::npos);
  CHECK(all.find("t.lift:21:") == std::string::npos);
  CHECK(all.substr(all.size() - 31) == "note: 30 more errors not shown\n");
}

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
  CHECK(result == "no error");
  CHECK(time < 30);
  CHECK(seconds("def f = g(" + repeat("x, ", 200000) + "x)").first < 30);
  CHECK(seconds(repeat("let(", 200000)).first < 30);
  CHECK(seconds(repeat("def (", 50000)).first < 30);
  CHECK(seconds(repeat("\x80", 300000)).first < 30);
}

TEST_CASE("random bytes") {
  const auto seed = Catch::rngSeed() ? Catch::rngSeed() : 1u;
  std::mt19937_64 random(seed);
  int parsed = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text(random() % 60, ' ');
    for (char& c : text) c = static_cast<char>(random());
    if (random() % 2) text = "def f = " + text;
    INFO("seed " << seed << ", text " << i);
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
  const auto seed = Catch::rngSeed() ? Catch::rngSeed() : 1u;
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
    if (result != "no error") {
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
    std::ifstream stream(entry.path());
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    INFO(entry.path());
    CHECK(text.starts_with("-- "));
    CHECK(errors([&] { parseModule(*addSource(entry.path().filename(), text)); }) == "no error");
    ++files;
  }
  CHECK(files >= 6);
}

TEST_CASE("files that cannot be read") {
  CHECK(errors([] { readProgram("no/such.lift"); }) ==
        "error: cannot read 'no/such.lift': No such file or directory\n");
  CHECK(errors([] { readProgram(LIFT_SOURCE_DIR); }) ==
        fmt::format("error: cannot read '{}': it is a directory\n", LIFT_SOURCE_DIR));
}
