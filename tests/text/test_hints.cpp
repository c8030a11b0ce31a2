// What people type who come from other languages: each gets one message, and what to write instead.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"

using namespace lift;

namespace {

struct Typed {
  std::string expression;  // the body of main(xs: [n]f32, ys: [n]f32, m: [n][n]f32, x: f32, i: i32, b: bool)
  std::string message, hint;
};

std::vector<Diagnostic> diagnosticsOf(const std::string& text) {
  return test::diagnosticsOf([&] { parseProgram(*addSource("typed.lift", text)); });
}

void checkAll(const std::vector<Typed>& rows, const std::string& before, const std::string& behind = {}) {
  for (const Typed& row : rows) {
    INFO(row.expression);
    const std::vector<Diagnostic> found = diagnosticsOf(before + row.expression + behind);
    REQUIRE(found.size() == 1);
    CHECK(found[0].message == row.message);
    CHECK(found[0].hint == row.hint);
    CHECK(found[0].span.begin >= before.size());
  }
}

}  // namespace

TEST_CASE("expressions of other languages") {
  const std::string loops = "there are no loops: repetition is map, reduce, scan or iterate";
  const std::string functions = "functions are written fun x => e";
  const std::string bindings = "bindings are written let x = e in …";
  checkAll(
      {
          {"x ** 2", "expected an expression, found '*'", "powers are written pow(x, y); square(x) is x * x"},
          {"x ^ 2.0", "'^' works on integers, found f32", "powers are written pow(x, y); square(x) is x * x"},
          {".5 * x", "expected an expression, found '.'", "a literal has digits on both sides: 0.5"},
          {"5. * x", "expected the number of a component behind '.', found '*'",
           "a literal has digits on both sides: 5.0"},
          {"1f * x", "'f' is no type of numbers", "write 1f32"},
          {"0x1z", "'z' is no type of integers",
           "literals are written 1, 1.5, 2e-3, 0xff, 0b101, with a type as in 3f32, 7i64"},
          {"let a, b = (1, 2) in x", "expected '=' behind the name that let binds, found ','",
           "a tuple is taken apart by let (a, b) = e in …"},
          {"let a = x; a", "unexpected character ';'", bindings},
          {"if b then x", "expected 'else' behind the value of 'then', found the end of the text",
           "every if has an else"},
          {"if x = 1.0 then x else x", "expected 'then' behind the condition, found '='", "equality is written =="},
          {"if b and b then x else x", "expected 'then' behind the condition, found 'and'",
           "logical and is written &&"},
          {"if b or b then x else x", "expected 'then' behind the condition, found 'or'", "logical or is written ||"},
          {"if not b then x else x", "expected 'then' behind the condition, found 'b'", "logical not is written !x"},
          {"(x <> 1.0)", "expected an expression, found '>'", "not equal is written !="},
          {"(x === 1.0)", "expected an expression, found '='", "equality is written =="},
          {"x // comment", "expected an expression, found '/'",
           "comments begin with --, and the quotient of integers is written /"},
          {"x /* comment */", "expected an expression, found '*'", "comments begin with --"},
          {"x # comment", "unexpected character '#'", "comments begin with --"},
          {"map(\\x -> x, xs)", "unexpected character '\\'", functions},
          {"map(lambda x: x, xs)", "expected ')' to close the call, found 'x'", functions},
          {"map(x => x, xs)", "expected ')' to close the call, found '=>'", functions},
          {"map(x -> x, xs)", "expected ')' to close the call, found '->'", functions},
          {"map(fun x -> x, xs)", "expected '=>' behind the parameter, found '->'", functions},
          {"map(fun a b => a, xs)", "expected '=>' behind the parameter, found 'b'",
           "a function of several values takes a tuple: fun (a, b) => e"},
          {"xs.length", "expected the number of a component behind '.', found 'length'",
           "the length of xs: [n]f32 is n, also written length(xs)"},
          {"xs.map(sqrt)", "expected the number of a component behind '.', found 'map'",
           "functions are called map(x), or x |> map"},
          {"len(xs)", "unknown name 'len'", "the length of xs: [n]t is n, also written length(xs)"},
          {"True", "unknown name 'True'", "write true"},
          {"for i in xs", "unexpected 'i' behind the definition", loops},
          {"while b", "unexpected 'b' behind the definition", loops},
          {"return x", "unexpected 'x' behind the definition", "a body is an expression: its value is the result"},
          {"map(sqrt xs)", "expected ')' to close the call, found 'xs'", "a comma or an operator is missing"},
          {"zip(xs ys)", "expected ')' to close the call, found 'ys'", "a comma or an operator is missing"},
          {"m[0][1] = x", "unexpected '=' behind the definition",
           "arrays are not assigned to; a new one is made, as by map or generate"},
          {"m[0, 1]", "expected ']' to close the subscript, found ','", "several subscripts are written a[i][j]"},
          {"xs[0:2]", "expected ']' to close the subscript, found ':'", "a part is written xs |> drop(a) |> take(n)"},
          {"i += 1", "expected an expression, found '='", "names are not assigned to: let y = x + 1 in …"},
          {"xs ++ ys", "expected an expression, found '+'", "arrays are joined by concat(a, b); there is no ++"},
          {"[x for x in xs]", "expected ']' to close the array, found 'for'", loops},
          {"[]", "expected an element, found ']'", "arrays have at least one element"},
          {"[x, b]", "the elements of an array are of one type: expected f32, found bool", ""},
      },
      "def main(xs: [n]f32, ys: [n]f32, m: [n][n]f32, x: f32, i: i32, b: bool) = ");
}

TEST_CASE("operations on arrays, arguments in another order") {
  checkAll(
      {
          {"xs + ys", "'+' works on scalars and vectors, found [n]f32", "write zipWith(add, xs, ys)"},
          {"xs * 2.0", "'*' works on scalars and vectors, found [n]f32", "write map(fun x => x * 2.0, xs)"},
          {"1.0 - xs", "'-' works on scalars and vectors, found [n]f32", "write map(fun x => 1.0 - x, xs)"},
          {"sqrt(xs)", "'sqrt' works on scalars and vectors, found [n]f32", "write map(sqrt, xs)"},
          {"max(xs, ys)", "'max' works on scalars and vectors, found [n]f32", "write zipWith(max, xs, ys)"},
          {"(x, x) + (x, x)", "'+' works on scalars and vectors, found (f32, f32)", ""},
          {"reduce(add, 0.0, xs)", "argument 'init' of reduce is a value, found a function",
           "write reduce(0.0, add, xs)"},
          {"reduce(xs, 0.0, add)", "argument 'in' of reduce is a value, found a function",
           "write reduce(xs, add, 0.0)"},
          {"reduce(add, xs)", "argument 'init' of reduce is a value, found a function", "write reduce(init, add, xs)"},
          {"scan(add, xs)", "argument 'init' of scan is a value, found a function", "write scan(init, add, xs)"},
          {"map(xs, sqrt)", "argument 'in' of map is a value, found a function", "write map(sqrt, xs)"},
          {"xs[x]", "argument 'index' of at: expected i32, found f32", "convert with i32(…)"},
          {"i & 1 == 0", "'&' works on integers, found bool",
           "& binds less tightly than a comparison, as in C: write (a & b) == c"},
          {"b & b", "'&' works on integers, found bool", "logical and is written &&"},
          {"~b", "'bitNot' works on integers, found bool", "logical not is written !x"},
      },
      "def main(xs: [n]f32, ys: [n]f32, x: f32, i: i32, b: bool) = ");
}

TEST_CASE("lengths behind the element type") {
  checkAll(
      {
          {"f32[10]", "the lengths of an array stand before its elements", "write [10]f32"},
          {"f32[n][4]", "the lengths of an array stand before its elements", "write [n][4]f32"},
          {"f32[]", "the lengths of an array stand before its elements", "arrays are written [n]f32"},
          {"float", "there is no type 'float'", "write f32"},
          {"[n, m]f32", "expected ']' to close the array length, found ','", "several dimensions are written [n][m]t"},
      },
      "def main(x: ", ") = x");
}
