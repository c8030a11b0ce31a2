// Programs that grow exponentially when their definitions are expanded, and long ones: checked in time, or refused.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <unordered_set>

#include "lift/diagnostic.hpp"
#include "lift/terms.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"

using namespace lift;

namespace {

// `first`, then `next` with {0} and {1} for the number of a definition and of the one before it, then `last`.
std::string chain(int length, const std::string& first, const std::string& next, const std::string& last) {
  std::string text = first + "\n";
  for (int i = 1; i < length; ++i) text += fmt::format(fmt::runtime(next), i, i - 1) + "\n";
  return text + fmt::format(fmt::runtime(last), length - 1) + "\n";
}

Program programOf(const std::string& text) { return parseProgram(*addSource("limits.lift", text)); }

std::string errorOf(const std::string& text) {
  const auto errors = test::diagnosticsOf([&] { verify(programOf(text)); });
  CHECK(errors.size() <= 1);
  return render(errors);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t countTerms(Expr e, std::unordered_set<Expr>& seen) {
  if (!seen.insert(e).second) return 0;
  if (e.isLambda()) return 1 + countTerms(e.body(), seen);
  if (e.isApply()) return 1 + countTerms(e.function(), seen) + countTerms(e.argument(), seen);
  return 1;
}

std::size_t termsOf(const std::string& text) {
  std::unordered_set<Expr> seen;
  return countTerms(programOf(text).body, seen);
}

}  // namespace

TEST_CASE("what grows exponentially when it is expanded is refused") {
  for (const std::string& text : {
           chain(40, "def d0(x) = x * x", "def d{0}(x) = d{1}(x) + d{1}(x + 1.0)", "def main(x: f32) = d{0}(x)"),
           chain(40, "def d0(x) = x * x", "def d{0}(x) = d{1}(d{1}(x))", "def main(x: f32) = d{0}(x)"),
           chain(40, "def main(x: f32) =\nlet d0 = fun x => x * x in", "let d{0} = fun x => d{1}(x) + d{1}(x + 1.0) in",
                 "d{0}(x)"),
       }) {
    INFO(text);
    CHECK(has(errorOf(text), "the program has more than 200000 parts when its definitions are expanded"));
  }
  CHECK(has(errorOf(chain(40, "def d0(x) = x * x", "def d{0}(x) = d{1}(d{1}(x))", "def main(x: f32) = d{0}(x)")),
            "'d0' is expanded "));
  for (const std::string& text : {
           chain(40, "def d0(x) = (x, x)", "def d{0}(x) = (d{1}(x), d{1}(x))", "def main(x: f32) = d{0}(x)"),
           chain(40, "def d0(x) = zip(x, x)", "def d{0}(x) = zip(d{1}(x), d{1}(x))",
                 "def main(x: [n]f32): i32 = length(d{0}(x))"),
       }) {
    INFO(text);
    CHECK(has(errorOf(text), "a type here has more than 10000 parts"));
  }
}

TEST_CASE("rearrangements that are used several times are refused where they would be written out too often") {
  const auto halves = [](int n) {
    return chain(n, "def d0(xs) = transpose(xs)", "def d{0}(xs) = concat(d{1}(xs), d{1}(xs))",
                 "def main(xs: [n][2]f32) = map2D(sqrt, d{0}(xs))");
  };
  CHECK(errorOf(halves(10)) == "");
  CHECK(has(errorOf(halves(40)), "the program has more than 2000000 parts when its definitions are expanded"));
}

TEST_CASE("what is the same is there once, however long the chain") {
  const auto defs = [](int n) {
    return chain(n, "def d0(x) = x * x", "def d{0}(x) = d{1}(x) - d{1}(x)", "def main(x: f32) = d{0}(x)");
  };
  const auto lets = [](int n) {
    return chain(n, "def main(x: f32) =\nlet a0 = x * x in", "let a{0} = a{1} - a{1} in", "a{0}");
  };
  const auto constants = [](int n) {
    return chain(n, "def d0 = 1.5", "def d{0} = d{1} + d{1}", "def main(x: f32) = x * d{0}");
  };
  for (const auto& program : {std::function<std::string(int)>(defs), std::function<std::string(int)>(lets),
                              std::function<std::string(int)>(constants)}) {
    const std::size_t some = termsOf(program(50)), more = termsOf(program(100)), most = termsOf(program(200));
    CHECK(most - more == 2 * (more - some));
    CHECK(errorOf(program(200)) == "");
  }
  // A size is a number, however it was computed; an index that is a long product is no proof's.
  CHECK(print(programOf(chain(60, "def k0 = 1", "def k{0} = k{1} + k{1}",
                              "def main = generate(2, fun i => i) |> take(k{0} / k{0})")))
            .find("take(1") != std::string::npos);
  CHECK(errorOf(chain(60, "def main(xs: [n]i32) = map(fun i =>\nlet a0 = i * i in", "let a{0} = a{1} * a{1} in",
                      "xs[a{0}], generate(n, id))")) == "");
}

TEST_CASE("long programs are refused at a limit that the message says") {
  CHECK(has(errorOf(chain(5000, "def main(x: f32) =\nlet a0 = x * x in", "let a{0} = a{1} - a{1} in", "a{0}")),
            "there are more than 500 lets in a row"));
  for (const std::string& text : {
           chain(5000, "def d0(x) = x * x", "def d{0}(x) = d{1}(x) * 0.5", "def main(x: f32) = d{0}(x)"),
           chain(5000, "def d0(x) = x * x", "def d{0}(x) = d{1}(d{1}(x))", "def main(x: f32) = d{0}(x)"),
           chain(5000, "def d0 = 1.5", "def d{0} = d{1} + d{1}", "def main(x: f32) = x * d{0}"),
           chain(5000, "def k0 = 1", "def k{0} = k{1} + 1", "def main = generate(k{0}, id)"),
       })
    CHECK(has(errorOf(text), "the program nests deeper than 1000 levels when its definitions are expanded"));
  CHECK(errorOf(chain(5000, "def d0(x) = x * x", "def d{0}(x) = x * {1}.0", "def main(x: f32) = d{0}(x)")) == "");
  CHECK(has(errorOf("def main(xs: [n]f32) = xs " +
                    [] {
                      std::string stages;
                      for (int i = 0; i < 5000; ++i) stages += "|> map(sqrt) ";
                      return stages;
                    }()),
            "the nesting is deeper than 500 levels"));
}

TEST_CASE("terms that share parts are walked once for each part") {
  const Type f32 = Type::scalar(Scalar::f32);
  const Expr add =
      Expr::primitive(Prim::op, {}, Type::function(f32, Type::function(f32, f32)), static_cast<std::uint8_t>(Op::add));
  const Expr x = Expr::variable("x", f32);
  Expr e = x;
  for (int i = 0; i < 100; ++i) e = applyAll(add, {e, e});
  Program program;
  program.name = "main";
  program.parameters = {x};
  program.body = e;
  verify(program);
  checkIndices(program);
  CHECK(withFreshBinders(e) == e);
  const Expr f = withFreshBinders(Expr::lambda(x, e));
  CHECK(f.parameter() != x);
  CHECK(f.freeVariables().empty());
  CHECK(onlyMovesData(x));
  CHECK(mayFailWithin(e) == false);
  CHECK(etaLong(e) == e);
}
