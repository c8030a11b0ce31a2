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
