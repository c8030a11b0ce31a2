// Iterations and folds over arrays, scans and reductions of rows, which a GPU's work-groups share.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lift::steps {

struct Case {
  std::string text;
  std::map<std::string, std::int64_t> sizes;
  std::int64_t groups;       // of a kernel
  std::int64_t kernels = 1;  // that have so many groups
};

inline const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      // Edit distances by antidiagonals: a state of two arrays, and a number that steps count.
      {"def distance(a: [n]i32, b: [m]i32): i32 =\n"
       "  let start = (generate(n + 1, fun i => if i == 0 then 0 else 1000), generate(n + 1, fun i => if i <= 1 then 1 "
       "else 1000)) in\n"
       "  let (_, last) = generate(n + m - 1, fun d => d + 2) |> reduce(start, fun ((older, old), d) =>\n"
       "    (old, generate(n + 1, fun i =>\n"
       "      if i == 0 || i == d then d else if i > d || d - i > m then 1000\n"
       "      else min(older[i - 1] + (if a[i - 1] % 3 == b[d - i - 1] % 3 then 0 else 1), min(old[i - 1], old[i]) + "
       "1)))) in\n"
       "  last[n]\n"
       "def main(a: [p][n]i32, b: [p][m]i32): [p]i32 = map(fun (x, y) => distance(x, y), zip(a, b))\n",
       {{"p", 5}, {"n", 20}, {"m", 23}},
       5},
      // Conjugate gradients: reductions in a step, numbers in the state.
      {"def solve(a: [n][n]f32, b: [n]f32): [n]f32 =\n"
       "  let (x, _, _, _) = iterate(4)(fun (x, r, p, rs) =>\n"
       "    let ap = map(fun row => 0.1 * dotProduct(row, p), a) in\n"
       "    let alpha = rs / (10.0 + square(dotProduct(p, ap))) in\n"
       "    let r2 = zipWith(fun (u, v) => u - alpha * v, r, ap) in\n"
       "    let rs2 = sum(map(square, r2)) in\n"
       "    (zipWith(fun (u, v) => u + alpha * v, x, p), r2, zipWith(fun (u, v) => u + 0.5 * v, r2, p), rs2))((fill(n, "
       "0.0), b, b, sum(map(square, b)))) in x\n"
       "def main(a: [p][n][n]f32, b: [p][n]f32): [p][n]f32 = zip(a, b) |> map(solve)\n",
       {{"p", 3}, {"n", 33}},
       3},
      // Shortest paths: a state of two dimensions, and rows that the counted number chooses.
      {"def main(ds: [p][n][n]f32): [p][n][n]f32 = ds |> map(fun d => indices(n) |> reduce(d, fun (d, k) =>\n"
       "  d |> map(fun row => zipWith(fun (x, y) => min(x, row[k] + y), row, d[k]))))\n",
       {{"p", 3}, {"n", 9}},
       3},
      // The same of one graph: one group.
      {"def main(d: [n][n]f32): [n][n]f32 = indices(n) |> reduce(d, fun (d, k) =>\n"
       "  d |> map(fun row => zipWith(fun (x, y) => min(x, row[k] + y), row, d[k])))\n",
       {{"n", 12}},
       1},
      // LU decomposition by indices.
      {"def main(as: [p][n][n]f32): [p][n][n]f32 = as |> map(fun a => indices(n) |> reduce(a, fun (a, k) =>\n"
       "  generate(n, fun i => generate(n, fun j => if i > k && j > k then a[i][j] - a[i][k] * a[k][j] / 8.0\n"
       "    else if i > k && j == k then a[i][k] / 2.0 else a[i][j]))))\n",
       {{"p", 2}, {"n", 7}},
       2},
      // Stencils in steps, in one and two dimensions.
      {"def main(us: [p][n]f32): [p][n]f32 = us |> map(iterate(10)(fun u => u |> padClamp(1, 1) |> slide(3, 1)\n"
       "  |> map(fun w => 0.25 * w[0] + 0.5 * w[1] + 0.25 * w[2])))\n",
       {{"p", 4}, {"n", 40}},
       4},
      {"def main(gs: [p][n][m]i32): [p][n][m]i32 = gs |> map(iterate(3)(fun g =>\n"
       "  g |> padWrap2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1) |> map2D(fun w => let s = sum(join(w)) in\n"
       "    if s % 3 == 0 then 1 else if s % 4 == 1 then w[1][1] else 0)))\n",
       {{"p", 2}, {"n", 11}, {"m", 6}},
       2},
      // Power iteration: of the last state the number is the result.
      {"def main(as: [p][n][n]f32): [p]f32 = as |> map(fun a =>\n"
       "  let (_, l) = iterate(5)(fun (v, l) => let w = a |> map(fun row => dotProduct(row, v)) in\n"
       "    let s = sqrt(1.0 + sum(map(square, w))) in (map(fun x => x / s, w), s))((fill(n, 0.5), 0.0)) in l)\n",
       {{"p", 3}, {"n", 34}},
       3},
      // Viterbi: what a step adds comes from memory, and transitions are the same for all.
      {"def main(pi: [s]f32, t: [s][s]f32, em: [b][l][s]f32): [b][s]f32 = em |> map(fun e => e |> reduce(pi,\n"
       "  fun (alpha, ek) => zipWith(add, ek, map(fun col => maximum(zipWith(add, col, alpha)), transpose(t)))))\n",
       {{"s", 19}, {"b", 3}, {"l", 6}},
       3},
      // A batch of two dimensions, elements that take a loop each, and a map of what is left.
      {"def main(xs: [p][q][l][n]f32): [p][q][n]f32 = map2D(fun rows => rows |> reduce(fill(n, 1.0), fun (s, row) =>\n"
       "    let m = sum(row) in zipWith(fun (a, b) => a * 0.5 + b / (2.0 + m * m), reverse(s), row)) |> map(fun v => v "
       "* "
       "v), xs)\n",
       {{"p", 2}, {"q", 3}, {"l", 4}, {"n", 36}},
       6},
      // A triangular solve, each step of which sets an element.
      {"def main(ls: [p][n][n]f32, bs: [p][n]f32): [p][n]f32 = zip(ls, bs) |> map(fun (l, b) =>\n"
       "  indices(n) |> reduce(b, fun (x, k) => generate(n, fun i => if i > k then x[i] - 0.1 * l[i][k] * x[k] else "
       "x[i])))\n",
       {{"p", 3}, {"n", 21}},
       3},
      // Scans: of rows; of one short array; in chunks, of which the last is filled, with what stands before each.
      {"def main(x: [h][w]f32): [h][w]f32 = map(fun row => let s = cumsum(row) in let m = maximum(row) in map(fun v => "
       "v "
       "/ (9.0 + m), s), x)\n",
       {{"h", 4}, {"w", 130}},
       4},
      {"def main(x: [n]i32): [n]i32 = scanExclusive(7, max, x)\n", {{"n", 1021}}, 1},
      {"def main(x: [n]f32): [n]f32 = scan(0.5, add, x)\n", {{"n", 5000}}, 3, 2},
      {"def main(x: [n]f32, y: [n]f32): [n](f32, f32) = zip(x, y) |> scanExclusive((0.0, 1.0), fun ((s, m), (a, b)) => "
       "(s + a, max(m, b)))\n",
       {{"n", 3264}},
       3,
       2},
      // Columns, which are few.
      {"def main(x: [h][w]f32): [h][w]f32 = transpose(map(cumsum, transpose(x)))\n", {{"h", 100}, {"w", 6}}, 6},
      // Arrays that are put together of such numbers, alone, beside another array, and of more.
      {"def main(x: [h][w]f32): [h][2]f32 = map(fun row => [0.5 * sum(row), maximum(row)], x)\n",
       {{"h", 5}, {"w", 300}},
       5},
      {"def main(x: [h][w]f32) = x |> map(fun row =>\n"
       "  (map(square, row), concat([maximum(row)], concat(row, [sum(row)])), [sum(row)]))\n",
       {{"h", 5}, {"w", 300}},
       5},
      // Sums of rows of what is computed twice in them.
      {"def main(x: [h][w]f32): [h]f32 = map(fun row => sum(row) + maximum(map(square, row)), x)\n",
       {{"h", 5}, {"w", 300}},
       5},
  };
  return all;
}

}  // namespace lift::steps
