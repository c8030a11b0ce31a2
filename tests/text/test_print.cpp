// What is printed reads back as the same program: same text, same values.
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/interpreter.hpp"
#include "lift/tensor.hpp"
#include "lift/text.hpp"

using namespace lift;

namespace {

Program programOf(const std::string& text) { return parseProgram(*addSource("print.lift", text)); }

std::map<std::string, Tensor> valuesAt(const Program& program, std::int64_t size) {
  std::map<NatVar, Nat> sizes;
  for (const NatVar v : program.sizes) sizes.emplace(v, size);
  for (const NatVar v : program.tunables) sizes.emplace(v, v.lower());
  const Program known = specialise(program, sizes);
  std::map<std::string, Tensor> inputs;
  std::size_t position = 0;  // the names of parameters may change
  for (const Expr p : known.parameters) {
    for (const Leaf& leaf : leavesOf(p.type())) {
      std::vector<std::int64_t> shape;
      for (const Nat n : leaf.shape) shape.push_back(*n.constant());
      Tensor t(leaf.scalar, shape);
      fillRandom(t, 1, std::to_string(position++));
      inputs.emplace(p.name() + leaf.path, std::move(t));
    }
  }
  return interpret(known, inputs);
}

bool same(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, t] : a) {
    const auto other = b.find(name);
    if (other == b.end() || t.size() != other->second.size()) return false;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const double x = t.get(i), y = other->second.get(i);
      if (x != y && (x == x || y == y)) return false;
    }
  }
  return true;
}

// Each program, and a size at which it runs.
struct Case {
  const char* text;
  std::int64_t size = 6;
};

const std::vector<Case> cases{
    // A let of another name, of a literal or of a size is none.
    {"def f(xs: [n]f32) = map(sqrt, xs)\n"
     "def main(xs: [n]f32) = let a = f(xs) in let b = f(xs) in (map(square, a), zipWith(mul, a, b))"},
    {"def main(x: f32): f32 = (fun a => a + 1.0)(x)"},
    {"def main(x: f32): f32 = let(fun a => a + 1.0, x)"},
    {"def main(x: f32): f32 = let y = 3f32 in x + y * y"},
    {"def main(x: f32): f32 = let y = true in if y then x else 2.0 * x"},
    {"def main(xs: [n]f32): i32 = let k = length(xs) in k * k"},
    {"def main(xs: [n]f32): f32 = (let f = fun a => a + 1.0 in f)(xs[0])"},
    // Sizes that stand as values divide as sizes do.
    {"def f(k: nat) = k + 1\ndef main(xs: [n]f32): i32 = f(2 * n) * f(n / 2) - f(n % 4) * 2"},
    {"def f(k: nat) = k\ndef main(xs: [n]f32): i32 = f((n - 9) / 2) * 10 + f((n - 9) % 2)"},
    {"def f(k: nat) = k * 2\ndef main(xs: [n]f32): i32 = f(0 - n) + f(1 - 2) - f(min(n, 4)) + f(n * n - 3 * n)"},
    {"def main(xs: [n - 1]f32): [n - 1]i32 = map(fun x => length(xs) + 2, xs)"},
    {"def main(xs: [n]f32): f32 = xs[(n / 2 : nat)] + xs[(min(n, 3) - 1 : nat)]"},
    {"def main(xs: [n * m]f32): i32 = length(xs) / 3 + length(xs) % 7"},
    {"def main(xs: [(n + 3) / 2 - 1]f32): [(n + 3) / 2 - 1]f32 = map(sqrt, xs)"},
    // No name of a size hides a primitive of the text.
    {"def main(xs: [min]f32): f32 = minimum(xs)"},
    {"def main(xs: [n]f32, join: nat, splat: f32): [n]f32 = map2D(fun x => x * f32(join), split(2, xs)) |> flatten"},
    {"tune map in 2..4\ndef main(xs: [n]f32): [n]f32 = map2D(sqrt, split(map, xs)) |> flatten"},
    {"def f32(xs: [n]i32): f32 = xs[0] |> fun x => sqrt(convert(x))"},
    // Ranges stay, of sizes that types mention, too.
    {"def main(p: nat in 0..n, xs: [n]f32): [n + 2 * p]f32 = pad(p, p, 7.0, xs)", 3},
    {"def main(p: nat in -2.., xs: [n + p]f32): [n]f32 = pad(0, -p, 7.0, xs)", 3},
    {"def main(min: nat in 0..4, k: nat in 0..min + 1, xs: [n]f32): f32 = minimum(xs) + f32(k)", 3},
    // Literals, signs and precedences.
    {"def main(x: f32): f32 = -x - -1.0 - (-(x)) * -2.0 - 1e-20 * 1e20 + 16777216.0"},
    {"def main(x: f16): f16 = x * 0.1 + 65504.0 + inf - nan"},
    {"def main(x: h16, y: f16): (h16, <4>h16) = (x * 0.1 + h16(y) + inf, splat(4, 2.0))"},
    {"def main(x: u64, y: i64): (u64, i64) = (x + 18446744073709551615u64, y + (-9223372036854775808i64))"},
    {"def main(x: bool, y: bool): bool = !x == y && (x == y) == (y != x)"},
    {"def main(x: i32): i32 = (x & 3) == 2 |> fun b => if b then ~x else x << 2 >> 1"},
    {"def main(x: i32): i32 = (if x < 1 then 1 else 2) + (let y = x + 1 in y * y) + 1"},
    {"def main(xs: [n][2]f32): [n]f32 = map(fun r => (let s = r[0] * r[1] in s * s) + r[0], xs)"},
    // Names.
    {"def main(x: f32): (f32, f32) = let _ = x * x in let _ = x + x in (x, x)"},
    {"def main(x: f32): f32 = let x_2 = x * x in let x = x_2 * x in x * x"},
    {"def main(xs: [k]f32, add: f32): f32 = reduce(add, fun (a, b) => a + b, xs)"},
    // Forms.
    {"def f(p) = p.0 + p.1\ndef main(x: f32): f32 = f((x, x)) + f((1.0, x))"},
    {"def main(xs: [4 * n]f32): [4 * n]f32 = asVector(4, xs) |> map(vectorize(4, fun x => x * 2.0)) |> asScalar"},
    {"def main(xs: [n]f32): [n]f32 = iterateWhile(n, fun v => v[0] > 1.0, map(fun x => x * 0.5), xs)"},
    {"def main = ([[1, 2], [3, 4]], [1.5f16], [true, false], [(1, 2.0), (3, 4.0)])"},
    {"def main(xs: [n]f32): [n]f32 = reorder(shift(2), xs) |> reorder(stride(2)) |> reorder(transpose(2, n / 2))"},
};

}  // namespace

TEST_CASE("a printed program reads back with the same text and the same values") {
  for (const Case& c : cases) {
    INFO(c.text);
    const Program program = programOf(c.text);
    const auto expected = valuesAt(program, c.size);
    for (const Names names : {Names::given, Names::canonical}) {
      const std::string text = print(program, names);
      INFO(text);
      const Program again = programOf(text);
      verify(again);
      CHECK(print(again, names) == text);
      CHECK(same(valuesAt(again, c.size), expected));
    }
  }
}

TEST_CASE("a size reads back as itself") {
  const std::uint64_t seed = 20;
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const std::vector<NatVar> variables{NatVar::size("n"), NatVar::size("m"), NatVar::fresh("p", 0, {}),
                                      NatVar::fresh("k", 2, Nat(9), NatVar::Role::tunable)};
  const std::function<Nat(int)> any = [&](int depth) -> Nat {
    if (depth == 0) return below(2) == 0 ? Nat(below(9) - 4) : Nat(variables[static_cast<std::size_t>(below(4))]);
    const Nat a = any(depth - 1), b = any(depth - 1);
    switch (below(8)) {
      case 0: return -a;
      case 1: return b == Nat(0) ? a : floorDiv(a, b);
      case 2: return b == Nat(0) ? a : mod(a, b);
      case 3: return min(a, b);
      case 4: return max(a, b);
      case 5: return a * b;
      case 6: return a - b;
      default: return a + b;
    }
  };
  int compound = 0;
  for (int i = 0; i < 2000; ++i) {
    const Nat n = any(1 + below(3));
    compound += !n.constant() && !n.variable();
    const Nat again = parseSize(*addSource("size", n.str()), [&](const std::string& name) -> std::optional<Nat> {
      for (const NatVar v : variables)
        if (v.name() == name) return Nat(v);
      return std::nullopt;
    });
    INFO(n.str());
    CHECK(again == n);
  }
  CHECK(compound > 1000);
}
