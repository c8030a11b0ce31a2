// Programs that the judges once disagreed about, as they were shrunk.
#include <catch2/catch.hpp>

#include "differential/judges.hpp"

namespace lift::differential {
namespace {

struct Found {
  const char* what;
  const char* text;
};

constexpr Found found[] = {
    {"|| that guards a load", R"(
def main(x: [1][1][2]f32) =
  map(fun p => map(fun r => generate(2, fun i =>
    let k = i * 3 in if k < 0 || k >= 2 || r[k] <= 0.25 then r[i] else let e = r[k] in fma(e, e, 0.125)), p), x)
)"},
    {"a step of a loop that ends early reads rows of symbolic size from the end", R"(
def main(x: [2][n]f32) =
  map(fun r => iterateWhile(n, fun v => v[0] < 3.3, fun v => map(fun a => a * 0.5 + 1.0, reorder(reverse, v)), r), x)
)"},
    {"elements of rows of symbolic size that are chosen, with a name in a branch", R"(
def main(x: [2][n]f32) =
  map(fun r => map(fun a => a * 0.5 + 1.0,
    let k = i32(r[0] * 8.0) in
    if k >= 0 && k < n then let h = r[k] in map(fun a => a * 0.5 + h, r) else reorder(reverse, r)), x)
)"},
    {"elements of an array that is chosen in front of the outermost map", R"(
def main(x: [n]f32) =
  map(fun a => a * 0.5 + 1.0,
    let k = i32(x[0] * 8.0) in
    if k >= 0 && k < n then let h = x[k] in map(fun a => a * 0.5 + h, x) else reorder(reverse, x))
)"},
    {"a name in a branch of what is kept in memory, and of what may fail", R"(
def main(x: [1]f32) =
  let v = (let w = (let u = map(fun a => a * 0.5 + 1.0, x) in generate(1, fun i => u[i * 3 % 1] + f32(i))) in
           map(fun (a, b) => a * 0.5 + b, zip(w, reorder(reverse, w)))) in
  generate(1, fun i => let k = i * 3 in if k >= 0 && k < 1 then let e = v[k] in e * 0.5 + 1.0 else 0.25)
)"},
    {"scalars iterated where they are read: as an index, as an operand", R"(
def main(x: [4]f32) =
  map(fun v => x[i32(iterate(3, fun i => min(i + abs(v), 2.0), 0.0))] + iterate(3, fun (a, b) => (b, a + b), (v, 1.0)).0, x)
)"},
    {"definitions passed to those that they use", R"(
def dot(a, b) = sum(zipWith(mul, a, b))
def main(x: [2][3]f32) = zipWith(dot, x, reorder(reverse, x))
)"},
};

}  // namespace

TEST_CASE("programs that once were wrong mean the same to all") {
  const auto device = runtime::makeEmulatorDevice();
  for (const Found& f : found) {
    INFO(f.what << f.text);
    CHECK(disagreement(f.text, *device) == "");
  }
}

}  // namespace lift::differential
