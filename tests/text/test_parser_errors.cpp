// The parser: what is wrong with a text.
#include <fmt/format.h>

#include "parser_helpers.hpp"

using namespace lift;
using namespace lift::test;

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
  CHECK(briefly("def f = g(1, (2, 3])") ==
        "1:19 expected ')' to close the tuple, found ']'\n"
        "1:14 note: opened here");
}

TEST_CASE("a bracket too many") { CHECK(briefly("def f = g(1))") == "1:13 ')' closes nothing"); }

TEST_CASE("the text ends too early") {
  CHECK(briefly("def f(x) = x +\n\n") == "1:15 expected an expression, found the end of the text");
  CHECK(briefly("def") == "1:4 expected the name of a definition, found the end of the text");
}

TEST_CASE("unknown characters, in UTF-8 and not") {
  CHECK(briefly("def f = 2 × θ") ==
        "1:11 unexpected character '×' (multiplication is written *)\n"
        "1:13 unexpected character 'θ' (names are made of A-Z a-z 0-9 _ and ')");
  CHECK(errorsOf("def f = \xff\xfe") ==
        "t.lift:1:9: error: byte 0xff is not UTF-8 text\n"
        "def f = \xff\xfe\n"
        "        ^~\n");
  CHECK(briefly(std::string("def f = \0 1", 11)) == "1:9 unexpected control character 0x00");
}

TEST_CASE("reserved words bind nothing") {
  CHECK(briefly("def f(in) = 1") == "1:7-8 'in' is a reserved word and cannot be the name of a parameter");
  CHECK(briefly("def f = fun then => 1") == "1:13-16 'then' is a reserved word and cannot be a pattern");
}

TEST_CASE("one error for each definition, in order") {
  CHECK(briefly("def a = (1\n"
                "def b = 2\n"
                "tune k 1..3\n"
                "def c = fun x -> x\n"
                "def a = 3\n") ==
        "1:11 expected ')' to close the parenthesis, found the end of the definition\n"
        "1:9 note: opened here\n"
        "3:8 expected 'in' behind tunable 'k', found '1' (tunables are written tune k in 1..16)\n"
        "4:15-16 expected '=>' behind the parameter, found '->' (functions are written fun x => e)");
}

TEST_CASE("a name defined twice") {
  CHECK(briefly("def a = 1\ntune a in 1..2") ==
        "2:6 'a' is defined twice\n"
        "1:5 note: first defined here");
}

TEST_CASE("names bound twice at once") {
  CHECK(briefly("def f(x, y, x) = x") == "1:13 there are two parameters 'x'");
  CHECK(briefly("def f = fun (a, (b, a)) => a") == "1:21 'a' is bound twice in this pattern");
  CHECK(expr("fun (_, _) => 1") == "(fun (_ _) 1)");
}

TEST_CASE("what other languages write") {
  CHECK(briefly("def f(x) = x => x") ==
        "1:14-15 unexpected '=>' behind the definition (functions are written fun x => e)");
  CHECK(briefly("def f(x) = g x") == "1:14 unexpected 'x' behind the definition (functions are called f(x))");
  CHECK(briefly("def f(x) = if x then 1") ==
        "1:23 expected 'else' behind the value of 'then', found the end of the text (every if has an else)");
  CHECK(briefly("def f() = 1") == "1:7 expected a parameter, found ')' (write def f = … without parentheses)");
  CHECK(briefly("def f(x) = x._1") ==
        "1:14-15 expected the number of a component behind '.', found '_1' (components are counted from 0: pair.0, "
        "pair.1)");
  CHECK(briefly("x = 1") ==
        "1:1 expected 'def', 'tune', 'type' or 'import', found 'x' (a program is a list of definitions: def f(x: "
        "[n]f32): [n]f32 = …)");
}

TEST_CASE("comparisons do not chain") {
  CHECK(briefly("def f = a < b <= c") == "1:15-16 comparisons do not chain (write a < b && b < c)");
  CHECK(expr("(a < b) == (b < c)") == "(eq (lt a b) (lt b c))");
  CHECK(expr("a < b == b < c") == "(eq (lt a b) (lt b c))");
}

TEST_CASE("literals that no type holds") {
  CHECK(briefly("def f = 300u8") == "1:9-13 300 is out of range of u8");
  CHECK(briefly("def f = -129i8") == "1:9-14 -129 is out of range of i8");
  CHECK(briefly("def f = -9223372036854775809") == "1:9-28 -9223372036854775809 is out of range of i64");
  CHECK(briefly("def f = -1u8") == "1:9-12 -1 is out of range of u8");
  CHECK(briefly("def f = 1e39f32") == "1:9-15 1e39 is too large for f32 (infinity is inf)");
  CHECK(briefly("def f = 1e999") == "1:9-13 1e999 is too large for f64 (infinity is inf)");
  CHECK(briefly("def f = 1.5i32") == "1:9-14 1.5 is no integer, as i32 needs (conversions are written i32(1.5))");
  CHECK(briefly("def f = 1x") ==
        "1:9-10 'x' is no type of numbers (literals are written 1, 1.5, 2e-3, 0xff, 0b101, with a type as in 3f32, "
        "7i64)");
}

TEST_CASE("many errors are counted, not shown") {
  std::string distinct;
  for (int i = 0; i < 50; ++i) distinct += fmt::format("def f{} = (\n", i);
  const std::string all = errorsOf(distinct);
  CHECK(all.find("t.lift:20:") != std::string::npos);
  CHECK(all.find("t.lift:21:") == std::string::npos);
  CHECK(all.substr(all.size() - 31) == "note: 30 more errors not shown\n");
}
