// The parser: expressions.
#include <fmt/format.h>

#include <cmath>

#include "lift/primitive.hpp"
#include "parser_helpers.hpp"

using namespace lift;
using namespace lift::test;

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
  CHECK(expr("7i64") == "i64:7");
  CHECK(expr("255u8") == "u8:255");
  CHECK(expr("-128i8") == "i8:-128");
}

TEST_CASE("64-bit literals that a double would round") {
  CHECK(expr("9007199254740992i64") == "i64:9007199254740992");
  CHECK(expr("9007199254740993i64") == "i64:9007199254740993");
  CHECK(expr("18446744073709551615u64") == "u64:-1");
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
  CHECK(expr("f(x : f32)") == "(f (as x f32))");
  CHECK(expr("f(n : nat, init = (x : f32), y)") == expr("f((n : nat), init = x : f32, y)"));
}
