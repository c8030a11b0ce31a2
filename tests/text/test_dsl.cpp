// The C++ embedding builds the same syntax as text.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "lift/diagnostic.hpp"
#include "lift/dsl.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"
#include "show.hpp"

using namespace lift::dsl;
using lift::test::refusalOf;
using lift::test::show;

namespace {

std::string tree(const E& e) { return show(*e.syntax()); }
std::string tree(const T& t) { return show(*t.syntax()); }
std::string fromText(const std::string& text) { return print(lift::parseProgram(*lift::addSource("t.lift", text))); }

const std::string thisFile = __FILE__;
constexpr Named nameless{"nameless"};

}  // namespace

TEST_CASE("dsl: literals") {
  CHECK(tree(E(1)) == "1");
  CHECK(tree(E(std::int64_t{1} << 40)) == "1099511627776");
  CHECK(tree(E(std::size_t{7})) == "7");
  CHECK(tree(E(1.5)) == "real:1.5");
  CHECK(tree(E(1.5f)) == "realf32:1.5");
  CHECK(tree(E(true)) == "#true");
  CHECK(tree(E(lift::Nat(3))) == "size");
}

TEST_CASE("dsl: operators") {
  const E a = name("a"), b = name("b");
  CHECK(tree(a + b) == "(add a b)");
  CHECK(tree(a - 1) == "(sub a 1)");
  CHECK(tree(2.0 * a) == "(mul real:2 a)");
  CHECK(tree(a / b % 3) == "(mod (div a b) 3)");
  CHECK(tree(-a) == "(neg a)");
  CHECK(tree(!(a < b)) == "(not (lt a b))");
  CHECK(tree(a <= b && a != b || a >= 0) == "(or (and (le a b) (ne a b)) (ge a 0))");
  CHECK(tree(a > b == b) == "(eq (gt a b) b)");
}

TEST_CASE("dsl: calls, partial ones and pipes") {
  const E xs = name("xs"), f = name("f");
  CHECK(tree(map(f, xs)) == "(map f xs)");
  CHECK(tree(map(f)) == "(map f)");
  CHECK(tree(mapGlb(0)(f)(xs)) == "(((mapGlb 0) f) xs)");
  CHECK(tree(xs | split(4) | map(f) | join) == "(join ((map f) ((split 4) xs)))");
  CHECK(tree(reduce(0, add, xs)) == "(reduce 0 add xs)");
  CHECK(tree(reduce(arg("init", 0), arg("f", add), xs)) == "(reduce init=0 f=add xs)");
  CHECK(tree(call("slide2D", 3, 3, 1, 1, xs)) == "(slide2D 3 3 1 1 xs)");
  CHECK(tree(reorder(stride(8), xs)) == "(reorder (stride 8) xs)");
  CHECK(tree(reorder(reverse, xs)) == "(reorder reverse xs)");
  CHECK(tree(f(1, 2, 3, 4, 5, 6, 7, 8)) == "(f 1 2 3 4 5 6 7 8)");
  CHECK(tree(select(xs[0] < 1, 2, 3)) == "(select (lt (at xs 0) 1) 2 3)");
  CHECK(tree(fma(sqrt(xs[0]), 2.0, pow(f, 3))) == "(fma (sqrt (at xs 0)) real:2 (pow f 3))");
  CHECK(tree(f16(xs[0])) == "(f16 (at xs 0))");
  CHECK(tree(map(i32, xs)) == "(map i32 xs)");
}

TEST_CASE("dsl: functions") {
  CHECK(tree(fun([](E x) { return x + 1; })) == "(fun x'1 (add x'1 1))");
  CHECK(tree(fun([](E x, E y) { return x * y; })) == "(fun (x'1 x'2) (mul x'1 x'2))");
  CHECK(tree(fun([](E x, E y, E z) { return tuple(z, y, x); })) == "(fun (x'1 x'2 x'3) (tuple x'3 x'2 x'1))");
  CHECK(tree(map([](E) { return E(0); }, name("xs"))) == "(map (fun x'1 0) xs)");
  CHECK(tree(fun([](E p) { return p.get(1) + p.get(0); })) == "(fun x'1 (add (get 1 x'1) (get 0 x'1)))");
  // Nested parameters differ; what was built outside keeps its own.
  const E inner = fun([](E x) { return x; });
  CHECK(tree(fun([&](E x) { return fun([&](E y) { return inner(x + y); }); })) ==
        "(fun x'1 (fun x'2 ((fun x'1 x'1) (add x'1 x'2))))");
}

TEST_CASE("dsl: let, ascription") {
  CHECK(tree(let(name("v"), [](E x) { return x + x; })) == "(let x'1 v (add x'1 x'1))");
  CHECK(tree(let(name("v"), [](E x, E y) { return x + y; })) == "(let (x'1 x'2) v (add x'1 x'2))");
  CHECK(tree(name("v").as(array(3, f32))) == "(as v [3]f32)");
}

TEST_CASE("dsl: types") {
  const E n = size("n");
  CHECK(tree(T(f32)) == "f32");
  CHECK(tree(array(n, f32)) == "[n]f32");
  CHECK(tree(array(n + 1, 3, i8)) == "[(add n 1)][3]i8");
  CHECK(tree(array(n, 2, 3, vec(4, f16))) == "[n][2][3]<4>f16");
  CHECK(tree(array(n, 2, 3, 4, boolean)) == "[n][2][3][4]bool");
  CHECK(tree(tuple({f32, array(n, u8)})) == "(f32, [n]u8)");
  CHECK(tree(function(tuple({f32, f32}), f32)) == "((f32, f32) -> f32)");
  CHECK(tree(typeVariable("t")) == "'t");
  CHECK(tree(T(lift::Type::vector(4, lift::Type::scalar(lift::Scalar::f32)))) == "<size>f32");
}

TEST_CASE("dsl: a program is the program of the text") {
  const E n = size("n");
  const lift::Program dot = program("dot", {{"x", array(n, f32)}, {"y", array(n, f32)}}, [](E x, E y) {
    return zip(x, y) | map([](E a, E b) { return a * b; }) | reduce(0, add);
  });
  CHECK(print(dot, lift::Names::canonical) ==
        print(lift::parseProgram(*lift::addSource("t.lift",
                                                  "def dot(x: [n]f32, y: [n]f32) =\n"
                                                  "  zip(x, y) |> map(fun (a, b) => a * b) |> reduce(0, add)")),
              lift::Names::canonical));
}

TEST_CASE("dsl: the prelude, sizes, tunables, result types") {
  const E h = size("h"), w = size("w");
  const Tunable k = tune("k", 1, 16);
  const lift::Program blur = program(
      "blur", {nat("step"), {"image", array(h, w, f32)}},
      [&](E step, E image) { return call("slide2D", 3, 3, step, k, image) | call("map2D", name("join")); }, {k});
  CHECK(print(blur, lift::Names::canonical) ==
        print(lift::parseProgram(*lift::addSource(
                  "t.lift",
                  "tune k in 1..16\n"
                  "def blur(step: nat, image: [h][w]f32) = slide2D(3, 3, step, k, image) |> map2D(join)")),
              lift::Names::canonical));
  CHECK(fromText("def f(x: f32): f32 = x") == print(program("f", {{"x", f32}}, f32, [](E x) { return x; })));
}

TEST_CASE("dsl: sizes of a range") {
  const lift::Program padded = program("padded", {nat("p", 0, 8), {"x", array(size("n"), f32)}},
                                       [](E p, E x) { return call("pad", p, p, 0.0, x); });
  CHECK(print(padded) == fromText("def padded(p: nat in 0..8, x: [n]f32) = pad(p, p, 0.0, x)"));
}

TEST_CASE("dsl: several definitions") {
  const lift::Program p =
      program({define("twice", {Parameter("f"), Parameter("x")}, [](E f, E x) { return f(f(x)); }),
               define("main", {{"x", f32}}, f32, [](E x) { return call("twice", name("sqrt"), x); })});
  CHECK(print(p) == fromText("def twice(f, x) = f(f(x))\ndef main(x: f32): f32 = twice(sqrt, x)"));
}

TEST_CASE("dsl: typed terms and sizes") {
  const lift::Expr x = lift::Expr::variable("x", lift::Type::array(4, lift::Type::scalar(lift::Scalar::f32)));
  CHECK(tree(map(name("sqrt"), x)) == "(map sqrt typed)");
  CHECK(tree(split(lift::Nat(2), x)) == "(split size typed)");
}

TEST_CASE("dsl: diagnostics name the C++ line") {
  int line = 0;
  const std::string text = refusalOf([&] {
    program("bad", {{"x", array(size("n"), f32)}}, [&](E x) {
      line = __LINE__ + 1;
      return x | nameless;
    });
  });
  CHECK(text.find(fmt::format("{}:{}:", thisFile, line)) == 0);
  CHECK(text.find("unknown name 'nameless'") != std::string::npos);
  CHECK(text.find("      return x | nameless;\n      ^~~~") != std::string::npos);
}

TEST_CASE("dsl: lines of files that are not there") {
  const lift::Span span = spanOf({"/no/such/file.cpp", 40});
  CHECK(lift::positionOf(*span.file, span.begin).line == 40);
  const lift::Span later = spanOf({"/no/such/file.cpp", 4000});
  CHECK(lift::positionOf(*later.file, later.begin).line == 4000);
  CHECK(!spanOf({"", 0}));
}

TEST_CASE("dsl: a body of another number of parameters") {
  const std::string text = refusalOf([] { program("bad", {{"x", f32}}, [](E x, E y) { return x + y; }); });
  CHECK(text.find("'bad' has 1 parameter, its body takes 2") != std::string::npos);
}

TEST_CASE("chains that nest too deeply for everybody to recurse over are refused") {
  const auto chain = [](int stages) {
    return [stages] {
      program("deep", {{"x", array(3, f32)}}, [&](E x) {
        for (int i = 0; i < stages; ++i) x = x | map([](E v) { return v + 1; });
        return x;
      });
    };
  };
  CHECK(refusalOf(chain(300)) == "");
  CHECK(refusalOf(chain(5000)).find("nests deeper than 1000 levels") != std::string::npos);
}

TEST_CASE("definitions that nest too deeply when they are expanded are refused") {
  std::string text = "def d0(x) = x\n";
  for (int i = 1; i <= 10; ++i) {
    std::string body = fmt::format("d{}(x)", i - 1);
    for (int stage = 0; stage < 200; ++stage) body += " |> map(fun v => v + 1)";
    text += fmt::format("def d{}(x) = {}\n", i, body);
  }
  text += "def main(x: [3]f32) = d10(x)";
  CHECK(refusalOf([&] { fromText(text); }).find("nests deeper than 1000 levels") != std::string::npos);
}
