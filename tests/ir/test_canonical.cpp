// Terms up to the identity of bound variables.
#include <catch2/catch.hpp>

#include "lift/canonical.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

// The program's result as a function of its parameters.
Expr closed(const std::string& text) {
  const Program program = parseProgram(*addSource("canonical.lift", text));
  Expr e = program.body;
  for (auto p = program.parameters.rbegin(); p != program.parameters.rend(); ++p) e = Expr::lambda(*p, e);
  return e;
}

}  // namespace

TEST_CASE("terms are the same where they differ only in bound variables and in places") {
  Canonical canonical;
  const auto same = [&](const std::string& a, const std::string& b) {
    const Expr x = closed(a), y = closed(b);
    CHECK(x != y);
    CHECK(canonical(x).type() == x.type());
    return canonical(x) == canonical(y);
  };
  const std::string nested = "def f(xs: [8][4]f32) = map(fun a => map(fun b => b + a[1], a), xs)";
  CHECK(same(nested, "def g(ys: [8][4]f32) =\n  map(fun b => map(fun a => a + b[1], b), ys)"));
  CHECK(!same(nested, "def f(xs: [8][4]f32) = map(fun a => map(fun b => a[1] + b, a), xs)"));
  CHECK(!same(nested, "def f(xs: [8][4]f32) = map(fun a => map(fun b => b + a[2], a), xs)"));
  CHECK(!same(nested, "def f(xs: [4][4]f32) = map(fun a => map(fun b => b + a[1], a), xs)"));
  CHECK(!same("def f(x: f32, y: f32) = x - y", "def f(x: f32, y: f32) = y - x"));
}

TEST_CASE("free variables are their own") {
  const Expr x = Expr::variable("x", Type::scalar(Scalar::f32)), y = Expr::variable("x", x.type());
  const Expr ignored = Expr::variable("z", x.type()), other = Expr::variable("z", x.type());
  Canonical canonical;
  CHECK(canonical(Expr::lambda(ignored, x)) == canonical(Expr::lambda(other, x)));
  CHECK(canonical(Expr::lambda(ignored, x)) != canonical(Expr::lambda(other, y)));
  CHECK(canonical(x) == x);
}

TEST_CASE("shared terms are visited once") {
  const auto squares = [](std::size_t count) {
    const Expr x = Expr::variable("x", Type::scalar(Scalar::f32));
    const Type unary = Type::function(x.type(), x.type());
    Expr e = x;
    for (std::size_t i = 0; i < count; i++) {
      const Expr multiply =
          Expr::primitive(Prim::op, {}, Type::function(x.type(), unary), static_cast<std::uint8_t>(Op::mul));
      e = Expr::apply(Expr::apply(multiply, e), e);
    }
    return Expr::lambda(x, e);
  };
  Canonical canonical;
  CHECK(canonical(squares(200)) == canonical(squares(200)));
  CHECK(canonical(squares(200)) != canonical(squares(199)));
}
