// Programs of several parts, derived part by part and judged against the interpreter.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/parts.hpp"
#include "lift/text.hpp"

namespace lift::parted {

struct Case {
  std::string name, text;
  std::map<std::string, std::int64_t> sizes;
  std::vector<std::pair<Pattern, std::string>> parts;  // in order, with their families
};

inline Program symbolic(const Case& c) { return parseProgram(*addSource(c.name + ".lift", c.text)); }

inline Program load(const Case& c) { return atValues(symbolic(c), c.sizes); }

inline const std::string product =
    "def product(a, b) = a |> map(fun row => transpose(b) |> map(fun column => dotProduct(row, column)))\n";
inline const std::string smooth =
    "def smooth(w, xs) = xs |> padClamp2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1)\n"
    "  |> map2D(fun window => dotProduct(join(window), join(w)))\n";
inline const std::string planes =
    "def main(xs: [d][h][w]f32): [d - 2][h - 2][w - 2]f32 =\n"
    "  slide3D(3, 3, 3, 1, 1, 1, xs) |> map3D(fun window => sum(join(join(window))) / 27.0)\n";
inline const std::string signal =
    "def main(xs: [n]f32, w: [5]f32): [n]f32 =\n"
    "  xs |> pad(2, 2, 0.0) |> slide(5, 1) |> map(fun window => dotProduct(window, w))\n";

inline const std::vector<Case>& cases() {
  using P = Pattern;
  static const std::vector<Case> all = {
      {"sequence",
       product + smooth +
           "def main(a: [n][k]f32, b: [k][m]f32, w: [3][3]f32): [n][m]f32 =\n"
           "  product(a, b)\n"
           "    |> smooth(w)\n"
           "    |> map2D(fun x => max(x, 0.0) * 0.5)\n",
       {{"n", 12}, {"k", 10}, {"m", 32}},
       {{P::product, "tiles"}, {P::stencil, "strips"}}},
      {"a bias for each of columns that are copied",
       "def main(a: [n][k]f32, w: [m][k]f32, bias: [m]f32): [n][m]f32 =\n"
       "  a |> map(fun row => zip(w, bias) |> map(fun (column, c) => max(c + dotProduct(row, column), 0.0)))\n",
       {{"n", 21}, {"k", 17}, {"m", 23}},
       {{P::product, "copied"}}},
      {"products of a batch with a bias for each column",
       "def main(a: [b][n][k]f32, w: [b][m][k]f32, bias: [b][m]f32): [b][n][m]f32 =\n"
       "  zip(a, w, bias) |> map(fun (x, y, c) =>\n"
       "    x |> map(fun row => zip(y, c) |> map(fun (column, d) => d + dotProduct(row, column))))\n",
       {{"b", 2}, {"n", 33}, {"k", 12}, {"m", 17}},
       {{P::product, "copied"}}},
      {"rows of a batch of matrices, the batch within them",
       "def main(v: [n][h][k]f32, s: [h][m][k]f32): [n][h][m]f32 =\n"
       "  v |> map(fun row => zip(row, s) |> map(fun (x, t) => matvec(t, x)))\n",
       {{"n", 20}, {"h", 3}, {"k", 10}, {"m", 32}},
       {{P::product, "near"}}},
      {"rows by columns, each for a batch",
       "def main(a: [n][h][k]f32, b: [m][h][k]f32): [n][m][h]f32 =\n"
       "  a |> map(fun x => b |> map(fun y => zip(x, y) |> map(fun (p, q) => dotProduct(p, q))))\n",
       {{"n", 20}, {"h", 3}, {"k", 10}, {"m", 32}},
       {{P::product, "near"}}},
      {"attention of heads within tokens",
       "def main(q: [n][h][d]f32, k: [n][h][d]f32, v: [n][h][d]f32): [n][h][d]f32 =\n"
       "  q |> map(fun token => zip(token, transpose(k), transpose(v)) |> map(fun (a, keys, values) =>\n"
       "    let weights = softmax(map(fun b => dotProduct(a, b) * 0.25, keys)) in\n"
       "    matvec(transpose(values), weights)))\n",
       {{"n", 48}, {"h", 4}, {"d", 16}},
       {{P::product, "near"}, {P::rows, "default"}, {P::product, "tiles"}}},
      {"running sums and softmax of columns",
       "def main(x: [h][w]f32): [h][w]f32 =\n"
       "  let sums = transpose(map(cumsum, transpose(x))) in\n"
       "  transpose(map(softmax, transpose(sums)))\n",
       {{"h", 9}, {"w", 22}},
       {{P::other, "vectors"}, {P::rows, "vectors"}}},
      {"a transform by its definition, whose factors depend on indices alone",
       "def main(x: [t][f]f32): [t][f]f32 = x |> map(fun y => generate(f, fun k =>\n"
       "  enumerate(y) |> map(fun (i, v) => let a = 6.2831855 * f32(i * k % f) / f32(f) in v * cos(a)) |> sum))\n",
       {{"t", 24}, {"f", 32}},
       {{P::elementwise, "vectors"}, {P::product, "near"}}},
      {"the largest residual of each row and of all, and the sums of its columns",
       "def residual(u, f) = zip2D(u |> pad2D(1, 1, 1, 1, 0.0) |> slide2D(3, 3, 1, 1), f)\n"
       "  |> map2D(fun (v, r) => 4.0 * v[1][1] - v[0][1] - v[1][0] - v[1][2] - v[2][1] - r)\n"
       "def main(u: [h][w]f32, f: [h][w]f32): ([h]f32, f32, [w]f32) =\n"
       "  let e = residual(u, f) |> map2D(abs) in\n"
       "  (map(maximum, e), maximum(join(residual(f, u))), residual(u, u) |> transpose |> map(sum))\n",
       {{"h", 35}, {"w", 70}},
       {{P::stencil, "strips"},
        {P::rows, "rows"},
        {P::stencil, "strips"},
        {P::stencil, "strips"},
        {P::rows, "lanes"},
        {P::reduction, "default"}}},
      {"attention whose sums are divided at the end, by names of numbers between the loops",
       "def attend(q: [heads][n][d]f32, k: [heads][n][d]f32, v: [heads][n][d]f32): [heads][n][d]f32 =\n"
       "  zip(q, k, v) |> map(fun (a, b, c) => a |> map(fun x =>\n"
       "    let s = b |> map(fun y => dotProduct(x, y)) in\n"
       "    let m = maximum(s) in\n"
       "    let e = map(fun t => exp(t - m), s) in\n"
       "    let z = sum(e) in\n"
       "    transpose(c) |> map(fun column => dotProduct(e, column) / z)))\n",
       {{"heads", 2}, {"n", 48}, {"d", 32}},
       {{P::product, "near"}, {P::rows, "default"}, {P::product, "tiles"}, {P::rows, "default"}}},
      {"gradients of a batch of images, added up for each",
       "def main(images: [b][h][w]f32): [b]f32 = images |> map(fun image => image |> padClamp2D(1, 1, 1, 1)\n"
       "  |> slide2D(3, 3, 1, 1) |> map2D(fun v => square(v[1][2] - v[1][0]) + square(v[2][1] - v[0][1]))\n"
       "  |> map2D(sqrt) |> map(sum) |> sum)\n",
       {{"b", 3}, {"h", 9}, {"w", 40}},
       {{P::stencil, "strips"}, {P::rows, "rows"}}},
      {"branches that read other elements and divide, where one is chosen only if it may",
       "def main(xs: [n]f32, is: [n]i32): ([n]f32, [n]f32) = zip(indices(n), xs, is) |> map(fun (i, x, k) =>\n"
       "  let near = if i > 0 && i + 1 < n then cos(xs[i + 1] - xs[i - 1]) else sin(x) in\n"
       "  if k != 0 && abs(7 / k) < n then\n"
       "    (near, if xs[abs(7 / k)] > 0.0 then exp(xs[abs(is[abs(7 / k)] % n)]) else x)\n"
       "  else (x, near)) |> unzip\n",
       {{"n", 64}},
       {{P::elementwise, "vectors"}}},
      {"windows over a function of their places, in one reduction",
       "def main(x: [t][f]f32): [t](f32, f32) = x |> map(fun y =>\n"
       "  enumerate(y) |> reduce((0.0, 0.0), fun ((re, im), (i, v)) =>\n"
       "    let a = 0.5 * f32(i) in (re + v * cos(a), im + v * sin(a))))\n",
       {{"t", 24}, {"f", 21}},
       {{P::elementwise, "vectors"}, {P::elementwise, "vectors"}, {P::rows, "default"}}},
      {"rows by matrices that an index chooses",
       "def main(xs: [n][d]f32, chosen: [n]i32, ms: [e][d][h]f32): [n][h]f32 =\n"
       "  zip(xs, chosen) |> map(fun (x, k) => transpose(ms[abs(k) % e]) |> map(fun column => dotProduct(x, "
       "column)))\n",
       {{"n", 7}, {"d", 9}, {"e", 3}, {"h", 32}},
       {{P::rows, "lanes"}}},
      {"windows that sums of indices select",
       "def main(x: [n]f32, w: [5]f32): [n-9]f32 =\n"
       "  generate(n-9, fun i => sum(generate(5, fun c => w[c] * x[i + 2 * c + 1])))\n",
       {{"n", 80}},
       {{P::stencil, "strips"}}},
      {"the greatest of the windows of planes, whose taps are quotients and remainders",
       "def main(x: [c][2 * h + 1][2 * w + 1]f32): [c][h][w]f32 = x |> map(fun plane => generate2D(h, w, fun (i, j) "
       "=>\n"
       "  reduce(-inf, max, generate(9, fun t => plane[2 * i + t / 3][2 * j + t % 3]))))\n",
       {{"c", 3}, {"h", 5}, {"w", 16}},
       {{P::stencil, "strips"}}},
      {"means of windows by indices, of which a condition leaves out what is outside",
       "def main(x: [h][w]f32): [h][w]f32 =\n"
       "  let at = fun (i, j) => if i < 0 || j < 0 || i >= h || j >= w then 0.5 else x[i][j] in\n"
       "  generate2D(h, w, fun (i, j) => sum(generate(3, fun a => sum(generate(5, fun b => at(i + a - 1, j + b - "
       "3))))))\n",
       {{"h", 7}, {"w", 18}},
       {{P::stencil, "strips"}}},
      {"three dimensions of taps in one index, zeros outside",
       "def main(x: [d][h][w]f32, k: [3][3][3]f32): [d][h][w]f32 = generate3D(d, h, w, fun (i, j, l) =>\n"
       "  sum(generate(27, fun t => let a = i + t / 9 - 1 in let b = t / 3 % 3 + j - 1 in let c = l + t % 3 - 1 in\n"
       "    k[t / 9][t / 3 % 3][t % 3] * (if a >= 0 && a < d && (b >= 0 && h > b) then\n"
       "      if c < 0 || w <= c then 0.0 else x[a][b][c] else 0.0))))\n",
       {{"d", 4}, {"h", 5}, {"w", 18}},
       {{P::stencil, "strips"}}},
      {"windows by indices of which a condition leaves out more than what is outside",
       "def main(x: [n]f32): [n]f32 = generate(n, fun i => sum(generate(3, fun a =>\n"
       "  if i + a < 1 || i + a > n || i < 2 then 0.0 else x[i + a - 1])))\n",
       {{"n", 40}},
       {{P::rows, "default"}}},
      {"a convolution whose indices are held at the ends",
       "def held(i, n) = max(0, min(i, n - 1))\n"
       "def main(x: [h][w]f32, k: [3][3]f32): [h][w]f32 = generate2D(h, w, fun (i, j) =>\n"
       "  sum(generate(3, fun a => sum(generate(3, fun b => k[a][b] * x[held(i + a - 1, h)][held(j + b - 1, w)])))))\n",
       {{"h", 7}, {"w", 18}},
       {{P::stencil, "strips"}}},
      {"a step on a torus, written out",
       "def main(x: [h][w]f32): [h][w]f32 = generate2D(h, w, fun (i, j) =>\n"
       "  x[i][j] + 0.1 * (x[(i + 1) % h][j] + x[(i + h - 1) % h][j] + x[i][(j + 1) % w] + x[i][(j + w - 1) % w]))\n",
       {{"h", 7}, {"w", 32}},
       {{P::stencil, "strips"}}},
      {"neighbours that conditions choose, in a batch",
       "def step(x: [h][w]f32): [h][w]f32 = generate2D(h, w, fun (i, j) =>\n"
       "  let up = if i > 0 then x[i - 1][j] else x[i][j] in let left = if j == 0 then x[i][0] else x[i][j - 1] in\n"
       "  (if j < w - 1 then x[i][j + 1] else 0.5) + 0.25 * (up - left))\n"
       "def main(x: [b][h][w]f32): [b][h][w]f32 = map(step, x)\n",
       {{"b", 2}, {"h", 5}, {"w", 32}},
       {{P::stencil, "strips"}}},
      {"fluxes of two fields with zeros beside them, iterated",
       "def beside(u: [h][w]f32, i, j) = if i >= 0 && i < h && j >= 0 && j < w then u[i][j] else 0.0\n"
       "def main(u: [h][w]f32, v: [h][w]f32): ([h][w]f32, [h][w]f32) = iterate(3, fun (u, v) =>\n"
       "  (generate2D(h, w, fun (i, j) => u[i][j] + 0.1 * (beside(v, i, j + 1) - v[i][j])),\n"
       "   generate2D(h, w, fun (i, j) => v[i][j] + 0.1 * (u[i][j] - beside(u, i - 1, j)))), (u, v))\n",
       {{"h", 20}, {"w", 64}},
       {{P::stencil, "strips"}, {P::stencil, "strips"}}},
      {"weights of windows that loops over indices read in lanes",
       "def main(x: [h][w]f32): [h-4][w-4]f32 = slide2D(5, 5, 1, 1, x) |> map2D(fun q =>\n"
       "  let c = q[2][2] in\n"
       "  let (s, t) = reduce((0.0, 0.0), fun (acc, i) => reduce(acc, fun ((s, t), j) =>\n"
       "    let g = exp(f32(i * j) * -0.1 - (q[i][j] - c) * (q[i][j] - c)) in (s + g * q[i][j], t + g),\n"
       "    generate(5, fun k => k)), generate(5, fun k => k)) in s / t)\n",
       {{"h", 9}, {"w", 36}},
       {{P::stencil, "strips"}}},
      {"a mean of what windows give",
       "def main(x: [h][w]f32): f32 = slide2D(5, 5, 1, 1, x)\n"
       "  |> map2D(fun q => let m = sum(join(q)) / 25.0 in abs(q[2][2] - m) / (1.0 + m * m)) |> join |> sum\n",
       {{"h", 20}, {"w", 36}},
       {{P::stencil, "strips"}, {P::reduction, "default"}}},
      {"the least of what rows need, and where",
       "def main(x: [n][d]f32, y: [d]f32): (i32, f32) = minimumIndexed(map(fun row =>\n"
       "  sqrt(sum(map(fun (a, b) => (a - b) * (a - b), zip(row, y)))), x))\n",
       {{"n", 300}, {"d", 64}},
       {{P::rows, "rows"}, {P::reduction, "default"}}},
      {"a product whose rows and columns are one index",
       "def main(a: [n][k]f32, b: [k][m]f32): [n * m]f32 =\n"
       "  generate(n * m, fun t => sum(generate(k, fun l => a[t / m][l] * b[l][t % m])))\n",
       {{"n", 12}, {"k", 10}, {"m", 32}},
       {{P::product, "tiles"}}},
      {"two taps of many channels, by sums of indices",
       "def main(x: [c][n]f32, w: [c][c][2]f32): [c][n-8]f32 =\n"
       "  generate2D(c, n-8, fun (o, i) => sum(generate(c, fun k => w[o][k][0] * x[k][i] + w[o][k][1] * x[k][i + "
       "8])))\n",
       {{"c", 5}, {"n", 40}},
       {{P::rows, "vectors"}}},
      {"a stencil that is written out, beside another array",
       "def main(x: [h][w]f32, y: [h][w]f32): [h][w]f32 =\n"
       "  let smooth = slide2D(3, 3, 1, 1, pad2D(1, 1, 1, 1, 0.0, x))\n"
       "    |> map2D(fun s => 0.25 * (s[0][1] + s[1][0] + s[1][2] + s[2][1])) in\n"
       "  map2D(fun (a, b) => a + b, zip2D(smooth, y))\n",
       {{"h", 9}, {"w", 32}},
       {{P::stencil, "strips"}}},
      {"histograms of cells",
       "def main(m: [6 * h][6 * w]f32, a: [6 * h][6 * w]i32): [h][w][12]f32 =\n"
       "  zip2D(slide2D(6, 6, 6, 6, m), slide2D(6, 6, 6, 6, a)) |> map2D(fun (ms, as) => generate(12, fun b =>\n"
       "    sum(map(fun (v, k) => if k == b then v else 0.0, zip(join(ms), join(as))))))\n",
       {{"h", 3}, {"w", 20}},
       {{P::stencil, "vectors"}}},
      {"arrays that a name zips",
       product + "def main(a: [n][k]f32, b: [k][m]f32, c: [k][m]f32): [n][m]f32 =\n"
                 "  let both = zip(product(a, b), product(a, c)) in\n"
                 "  map(fun (x, y) => zipWith(add, reorder(reverse, x), y), both)\n",
       {{"n", 12}, {"k", 10}, {"m", 32}},
       {{P::product, "tiles"}, {P::product, "tiles"}, {P::elementwise, "default"}}},
      {"kernels of a signal, whose elements an index selects",
       "def main(w: [3][c][c]f32, x: [t][c]f32): [t][c]f32 =\n"
       "  slide(3, 1, pad(1, 1, fill(c, 0.0), x)) |> map(fun window => generate(c, id) |> map(fun o =>\n"
       "    sum(map(fun (row, kernel) => dotProduct(row, map(fun e => e[o], kernel)), zip(window, w)))))\n",
       {{"t", 12}, {"c", 16}},
       {{P::convolution, "tiles"}}},
      {"columns that are computed of elements",
       "def main(w: [k][m]f32, x: [n][k]f32): [n][m]f32 =\n"
       "  x |> map(fun row => generate(m, id) |> map(fun o => dotProduct(row, map(fun e => exp(e[o]), w))))\n",
       {{"n", 64}, {"k", 64}, {"m", 64}},
       {{P::transposition, "tiles"}, {P::product, "near"}}},
      {"long columns, which no chunk divides",
       "def main(x: [n][m]f32): [m]f32 = map(fun column => average(column), transpose(x))\n",
       {{"n", 1031}, {"m", 257}},
       {{P::rows, "vectors"}, {P::rows, "vectors"}}},
      {"the gradient of a layer's kernels",
       "def main(x: [n][h + 2][w + 2][c]f32, g: [n][h][w][k]f32): [k][3][3][c]f32 =\n"
       "  let windows = x |> map(slide2D(3, 3, 1, 1)) |> map(join) |> join in\n"
       "  transpose(join(map(join, g))) |> map(fun column => generate2D(3, 3, fun (i, j) =>\n"
       "    generate(c, id) |> map(fun l => dotProduct(column, map(fun window => window[i][j][l], windows)))))\n",
       {{"n", 2}, {"h", 5}, {"w", 6}, {"c", 16}, {"k", 8}},
       {{P::convolution, "tiles"}}},
      {"a convolution as a sum of planes",
       "def main(x: [c][h + 2][w + 2]f32, k: [o][c][3][3]f32): [o][h][w]f32 =\n"
       "  k |> map(fun kernels => zip(x, kernels)\n"
       "    |> map(fun (p, t) => slide2D(3, 3, 1, 1, p) |> map2D(fun v => dotProduct(join(v), join(t))))\n"
       "    |> reduce(fill2D(h, w, 0.0), zipWith2D(add)))\n",
       {{"c", 3}, {"h", 5}, {"w", 16}, {"o", 8}},
       {{P::convolution, "tiles"}}},
      {"rows that are added up, the first of them given, in pairs",
       "def main(x: [b][c][n]f32, first: [n](f32, f32)): [b][n](f32, f32) = x |> map(fun rows =>\n"
       "  rows |> map(fun row => slide(3, 1, pad(1, 1, 0.0, row)) |> map(fun v => (sum(v), maximum(v))))\n"
       "    |> reduce(first, zipWith(fun ((a, b), (c, d)) => (a - c, max(b, d)))))\n",
       {{"b", 3}, {"c", 4}, {"n", 37}},
       {{P::stencil, "strips"}}},
      {"softmax of rows, which are computed as a whole, added up",
       "def main(x: [n][m]f32): [m]f32 = map(softmax, x) |> reduce(fill(m, 0.0), zipWith(add))\n",
       {{"n", 9}, {"m", 33}},
       {{P::rows, "default"}, {P::rows, "vectors"}}},
      {"a matrix product as a sum of outer products",
       "def main(a: [k][n]f32, b: [k][m]f32): [n][m]f32 =\n"
       "  zip(a, b) |> map(fun (xs, ys) => map(fun x => map(fun y => x * y, ys), xs))\n"
       "    |> reduce(fill2D(n, m, 0.0), zipWith2D(add))\n",
       {{"k", 5}, {"n", 12}, {"m", 32}},
       {{P::product, "tiles"}}},
      {"columns with zeros at their ends, of rows of which only a part is read",
       "def main(x: [n][m]f32): [m][n]f32 = transpose(map(fun r => pad(0, 20, 0.0, take(m - 20, r)), x))\n",
       {{"n", 32}, {"m", 80}},
       {{P::other, "default"}}},
      {"a transposition by indices, with zeros",
       "def main(x: [n][m]f32): [m][n + 6]f32 =\n"
       "  generate2D(m, n + 6, fun (i, j) => if j < n then x[j][i] else 0.0)\n",
       {{"n", 32}, {"m", 80}},
       {{P::transposition, "tiles"}}},
      {"steps of a recurrence",
       "def main(x: [t][k]f32, w: [k][d]f32, u: [d][k]f32): [k]f32 =\n"
       "  reduce(fill(k, 0.0), fun (state, e) =>\n"
       "    zipWith(fun (a, b) => 0.01 * a + b, matvec(transpose(u), matvec(transpose(w), state)), e), x)\n",
       {{"t", 3}, {"k", 192}, {"d", 256}},
       {{P::rows, "lanes"}, {P::rows, "lanes"}, {P::other, "default"}, {P::other, "default"}}},
      {"steps of many states, each of which is multiplied by one matrix",
       "def main(w: [n][n]f32, x: [m][n]f32): [m]f32 = x |> map(fun start =>\n"
       "  norm(iterate(3, fun s => map(fun row => tanh(0.01 * dotProduct(row, s)), w), start)))\n",
       {{"n", 64}, {"m", 48}},
       {{P::product, "near"}, {P::rows, "rows"}}},
      {"recurrences of many sequences by the same matrices",
       "def main(x: [b][t][d]f32, w: [h][d]f32, u: [h][h]f32): [b][h]f32 = x |> map(fun sequence =>\n"
       "  sequence |> reduce(fill(h, 0.0), fun (s, e) =>\n"
       "    zip(w, u) |> map(fun (p, q) => tanh(dotProduct(p, e) + 0.1 * dotProduct(q, s)))))\n",
       {{"b", 48}, {"t", 3}, {"d", 32}, {"h", 64}},
       {{P::product, "near"},
        {P::other, "default"},
        {P::product, "near"},
        {P::other, "default"},
        {P::other, "default"}}},
      {"the same step by step of all sequences",
       "def main(x: [t][b][d]f32, w: [h][d]f32, u: [h][h]f32): [b][h]f32 = x |> reduce(fill2D(b, h, 0.0),\n"
       "  fun (states, es) => zip(states, es) |> map(fun (s, e) =>\n"
       "    zip(w, u) |> map(fun (p, q) => tanh(dotProduct(p, e) + 0.1 * dotProduct(q, s)))))\n",
       {{"b", 48}, {"t", 3}, {"d", 32}, {"h", 64}},
       {{P::product, "near"}, {P::product, "near"}, {P::other, "default"}, {P::other, "default"}}},
      {"places and speeds of many particles, which one matrix changes, and where they started",
       "def main(w: [n][n]f32, x: [b][m][n]f32): [b][m][n]f32 = x |> map2D(fun start =>\n"
       "  let (place, speed) = iterate(3, fun (p, v) =>\n"
       "    let u = zipWith(fun (a, b) => 0.9 * a - 0.001 * b, v, matvec(w, p)) in\n"
       "    (zipWith(fun (a, b, c) => 0.5 * (a + b) + c, p, u, start), u), (start, fill(n, 0.0))) in place)\n",
       {{"n", 64}, {"m", 24}, {"b", 2}},
       {{P::product, "near"}, {P::elementwise, "default"}, {P::other, "default"}}},
      {"steps of a few numbers each, which registers hold",
       "def main(x: [n]f32): [n]f32 = x |> map(fun a =>\n"
       "  iterate(8, fun y => 0.5 * (y + (1.0 + a * a) / y), 1.0))\n",
       {{"n", 4096}},
       {{P::other, "vectors"}}},
      {"elements by indices, each with a loop that ends early",
       "def main(x: [n]f32): [n][n]i32 = generate2D(n, n, fun (i, j) =>\n"
       "  let c = f32(j) * 0.03 - x[0] in let d = f32(i) * 0.03 - 1.0 in\n"
       "  iterateWhile(20, fun (a, b, t) => a * a + b * b <= 4.0, fun (a, b, t) =>\n"
       "    (a * a - b * b + c, 2.0 * a * b + d, t + 1), (0.0, 0.0, 0)).2)\n",
       {{"n", 48}},
       {{P::other, "vectors"}}},
      {"states of lanes that end apart, of integers and conditions",
       "def main(x: [n]u32): [n](u32, bool) = x |> map(fun a => let b = a % 64 in\n"
       "  iterateWhile(40, fun (v, odd) => v < 1000 && !(odd && v > 700), fun (v, odd) =>\n"
       "    (v + b + 1, !odd), (b, b < 9)))\n",
       {{"n", 96}},
       {{P::other, "vectors"}}},
      {"long states that go on in turns, padded",
       "def main(x: [n]f32): [n]f32 = x |> map(fun a => iterate(7, fun v =>\n"
       "  slide(2, 1, pad(0, 1, a, v)) |> map(fun w => 0.5 * (w[0] + a * w[1])), generate(33, fun i => a * "
       "f32(i)))[0])\n",
       {{"n", 64}},
       {{P::other, "vectors"}}},
      {"few columns that share what is costly",
       "def main(x: [n][3]f32, m: [n]f32): [n][3]f32 = x |> map(fun a => zip(x, m) |> map(fun (b, w) =>\n"
       "  let d = zipWith(fun (p, q) => q - p, a, b) in let r = sum(map(square, d)) + 0.1 in\n"
       "  let s = w / (r * sqrt(r)) in map(fun e => e * s, d)) |> transpose |> map(sum))\n",
       {{"n", 80}},
       {{P::rows, "vectors"}}},
      {"steps of matrices that the rows themselves have",
       "def main(x: [m][n]f32): [m][n]f32 = x |> map(fun start => iterate(3, fun s =>\n"
       "  start |> map(fun a => 0.01 * dotProduct(s, map(fun b => a * b, start))), start))\n",
       {{"n", 64}, {"m", 48}},
       {{P::other, "default"}}},
      {"approximated functions of elements",
       "def main(x: [n]f32, y: [n]f32): ([n]f32, [n]f32) =\n"
       "  unzip(map(fun (a, b) => if a > b then (cos(a), erf(b)) else (exp(a - b), b), zip(x, y)))\n",
       {{"n", 83}},
       {{P::elementwise, "vectors"}}},
      {"few rows, many columns that are read in order",
       "def main(a: [n][k]f32, b: [m][k]f32): [n][m]f32 = matmul(a, transpose(b))\n",
       {{"n", 5}, {"k", 9}, {"m", 40}},
       {{P::product, "near"}}},
      {"the name of a constant between heads and their products",
       "def main(q: [h][t][d]f32, k: [h][t][d]f32, v: [h][t][d]f32): [h][t][d]f32 =\n"
       "  zip(q, k, v) |> map(fun (a, b, c) =>\n"
       "    let scale = rsqrt(f32(d)) in\n"
       "    let scores = generate2D(t, t, fun (i, j) => if j <= i then dotProduct(a[i], b[j]) * scale else -1e30) in\n"
       "    matmul(map(softmax, scores), c))\n",
       {{"h", 2}, {"t", 32}, {"d", 64}},
       {{P::product, "near"}, {P::rows, "default"}, {P::product, "tiles"}}},
      {"a product by indices",
       "def main(a: [n][k]f32, b: [k][m]f32): [n][m]f32 =\n"
       "  generate2D(n, m, fun (i, j) => sum(generate(k, fun l => a[i][l] * b[l][j])))\n",
       {{"n", 12}, {"k", 10}, {"m", 32}},
       {{P::product, "tiles"}}},
      {"layers",
       "def main(xs: [h][w][c]f32, ks: [o][3][3][c]f32): f32 =\n"
       "  slide2D(3, 3, 1, 1, xs)\n"
       "    |> map2D(fun window => ks |> map(fun kernel =>\n"
       "         dotProduct(join(join(window)), join(join(kernel)))))\n"
       "    |> map3D(fun x => max(x, 0.0))\n"
       "    |> join |> join |> sum\n",
       {{"h", 8}, {"w", 9}, {"c", 3}, {"o", 8}},
       {{P::convolution, "copied"}, {P::reduction, "default"}}},
      {"sharing",
       product + "def main(a: [n][k]f32, b: [k][m]f32, c: [k][m]f32): ([n][m]f32, [n][m]f32) =\n"
                 "  (product(a, b), product(a, c))\n",
       {{"n", 8}, {"k", 6}, {"m", 16}},
       {{P::product, "tiles"}, {P::product, "tiles"}}},
      {"iterated",
       product + smooth +
           "def main(a: [n][n]f32, b: [n][n]f32, w: [3][3]f32): [n][n]f32 =\n"
           "  product(a, b) |> iterate(20, fun xs => xs |> smooth(w) |> map2D(fun x => 0.125 * x))\n",
       {{"n", 16}},
       {{P::product, "tiles"}, {P::stencil, "strips"}}},
      {"other spellings",
       // The second operand is stored by its columns; sums of products are a map and a sum; the result is transposed.
       "def main(a: [n][k]f32, bt: [m][k]f32): [m][n]f32 =\n"
       "  bt |> map(fun column => a |> map(fun row =>\n"
       "    zip(row, column) |> map(fun (x, y) => x * y) |> sum))\n",
       {{"n", 16}, {"k", 5}, {"m", 40}},
       {{P::product, "near"}}},
      {"batch",
       product + "def main(as: [b][n][k]f32, bs: [b][k][m]f32): [b][n][m]f32 =\n"
                 "  zip(as, bs) |> map(fun (x, y) => product(x, y))\n",
       {{"b", 3}, {"n", 4}, {"k", 5}, {"m", 8}},
       {{P::product, "tiles"}}},
      {"epilogues",
       "def main(alpha: f32, a: [n][k]f32, b: [k][m]f32, c: [n]f32): [n][m]f32 =\n"
       "  zip(a, c) |> map(fun (row, x) => transpose(b) |> map(fun column =>\n"
       "    max(alpha * dotProduct(row, column) + x, 0.0)))\n",
       {{"n", 8}, {"k", 5}, {"m", 16}},
       {{P::product, "tiles"}}},
      {"odd",
       product + "def main(a: [n][k]f32, b: [k][m]f32): [n][m]f32 = product(a, b)\n",
       {{"n", 7}, {"k", 3}, {"m", 13}},
       {{P::product, "default"}}},
      // Sizes that no tile divides.
      {"uneven product",
       product + "def main(a: [n][k]f32, b: [k][m]f32): [n][m]f32 = product(a, b)\n",
       {{"n", 13}, {"k", 5}, {"m", 37}},
       {{P::product, "near"}}},
      {"uneven rest",
       "def main(alpha: f32, a: [n][k]f32, bt: [m][k]f32): [m][n]f32 =\n"
       "  transpose(a |> map(fun row => bt |> map(fun column => max(alpha * dotProduct(row, column), 0.0))))\n",
       {{"n", 37}, {"k", 3}, {"m", 19}},
       {{P::product, "near"}}},
      {"uneven stencil",
       smooth + "def main(w: [3][3]f32, xs: [n][m]f32): [n][m]f32 = smooth(w, xs)\n",
       {{"n", 7}, {"m", 45}},
       {{P::stencil, "strips"}}},
      {"uneven steps",
       "def main(xs: [h][w]f32) =\n"
       "  slide2D(3, 2, 2, 3, xs) |> map2D(fun window => maximum(join(window)))\n",
       {{"h", 12}, {"w", 62}},
       {{P::stencil, "strips"}}},
      {"uneven planes", planes, {{"d", 4}, {"h", 5}, {"w", 23}}, {{P::stencil, "strips"}}},
      {"uneven signal", signal, {{"n", 83}}, {{P::stencil, "strips"}}},
      {"rows",
       "def main(xs: [n][m]f32): [n]f32 =\n"
       "  let means = xs |> map(fun row => sum(row) / f32(m)) in\n"
       "  means |> map(fun x => x - sum(means) / f32(n))\n",
       {{"n", 9}, {"m", 20}},
       {{P::rows, "default"}, {P::reduction, "default"}, {P::elementwise, "default"}}},
      {"heads of attention",
       "def head(q: [n][d]f32, k: [n][d]f32, v: [n][d]f32): [n][d]f32 =\n"
       "  let scores = q |> map(fun x => k |> map(fun y => dotProduct(x, y) * rsqrt(f32(d)))) in\n"
       "  let weights = scores |> map(softmax) in\n"
       "  matmul(weights, v)\n"
       "def main(q: [b][n][d]f32, k: [b][n][d]f32, v: [b][n][d]f32): [b][n][d]f32 =\n"
       "  zip(q, k, v) |> map(fun (x, y, z) => head(x, y, z))\n",
       {{"b", 3}, {"n", 48}, {"d", 24}},
       {{P::product, "near"}, {P::rows, "default"}, {P::product, "near"}}},
      {"nearest of centres",
       "def main(points: [n][d]f32, centres: [k][d]f32): [n]i32 = points |> map(fun p =>\n"
       "  argmin(centres |> map(fun c => zip(p, c) |> map(fun (a, b) => square(a - b)) |> sum)))\n",
       {{"n", 512}, {"d", 16}, {"k", 24}},
       {{P::product, "near"}, {P::rows, "default"}}},
      {"channels first",
       "def main(image: [c][h + 2][w + 2]f32, kernels: [f][c][3][3]f32): [f][h][w]f32 =\n"
       "  let windows = image |> slide3D(c, 3, 3, 1, 1, 1) |> join in\n"
       "  kernels |> map(fun k => windows |> map2D(fun v => dotProduct(flatten3D(v), flatten3D(k))))\n",
       {{"h", 5}, {"w", 16}, {"c", 3}, {"f", 8}},
       {{P::convolution, "tiles"}}},
      {"channels first, odd",
       "def main(image: [c][h + 2][w + 2]f32, kernels: [f][c][3][3]f32): [f][h][w]f32 =\n"
       "  let windows = image |> slide3D(c, 3, 3, 1, 1, 1) |> join in\n"
       "  kernels |> map(fun k => windows |> map2D(fun v => dotProduct(flatten3D(v), flatten3D(k))))\n",
       {{"h", 5}, {"w", 11}, {"c", 3}, {"f", 9}},
       {{P::convolution, "copied"}}},
      {"channels last, padded, sums of sums, a bias",
       "def main(image: [h][w][c]f32, kernels: [f][3][3][c]f32, bias: [f]f32): [h][w][f]f32 =\n"
       "  image |> pad2D(1, 1, 1, 1, fill(c, 0.0)) |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
       "    zip(kernels, bias) |> map(fun (k, b) => relu(b + sum(zip(window, k) |> map(fun (ws, ks) =>\n"
       "      sum(zip(ws, ks) |> map(fun (x, y) => dotProduct(x, y))))))))\n",
       {{"h", 10}, {"w", 12}, {"c", 8}, {"f", 24}},
       {{P::convolution, "copied"}}},
      {"batch, second operand by its columns",
       "def main(a: [b][n][k]f32, c: [b][m][k]f32): [b][n][m]f32 =\n"
       "  zip(a, c) |> map(fun (x, y) => matmul(x, transpose(y)))\n",
       {{"b", 3}, {"n", 12}, {"m", 21}, {"k", 5}},
       {{P::product, "copied"}}},
      {"sums of sums",
       "def main(x: [d][h][w]f32, k: [3][3][3]f32): [d][h][w]f32 =\n"
       "  x |> padClamp3D(1, 1, 1, 1, 1, 1) |> slide3D(3, 3, 3, 1, 1, 1) |> map3D(fun v =>\n"
       "    zip3D(v, k) |> map3D(fun (a, b) => a * b) |> map(fun p => p |> map(sum) |> sum) |> sum)\n",
       {{"d", 4}, {"h", 5}, {"w", 20}},
       {{P::stencil, "strips"}}},
      {"windows of what is computed",
       "def main(xs: [h][w]f32, ys: [h][w]f32): [h][w]f32 =\n"
       "  zipWith2D(mul, xs, ys) |> padClamp2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1) |> map2D(reduce2D(0.0, add))\n",
       {{"h", 7}, {"w", 32}},
       {{P::elementwise, "default"}, {P::stencil, "strips"}}},
      {"columns of a matrix",
       "def main(a: [n][m]f32, x: [n]f32): [m]f32 = transpose(a) |> map(fun c => dotProduct(c, x))\n",
       {{"n", 9}, {"m", 40}},
       {{P::rows, "lanes"}}},
      {"columns of a matrix, the vector first",
       "def main(a: [n][m]f32, x: [n]f32): [m]f32 = transpose(a) |> map(fun c => 0.5 * dotProduct(x, c))\n",
       {{"n", 9}, {"m", 40}},
       {{P::rows, "lanes"}}},
      {"nearest distances, reduced as they are found",
       "def main(points: [n][d]f32, centres: [k][d]f32): [n]f32 = points |> map(fun p =>\n"
       "  centres |> map(fun c => zipWith(fun (a, b) => square(a - b), p, c) |> sum) |> reduce(inf, min))\n",
       {{"n", 512}, {"d", 16}, {"k", 24}},
       {{P::product, "near"}, {P::rows, "default"}}},
      {"what a step needs of the last one and what it does not",
       "def main(xs: [t][d]f32, a: [h][d]f32, b: [h][h]f32): [h]f32 =\n"
       "  xs |> reduce(fill(h, 0.0), fun (state, x) => zip(a, b) |> map(fun (r, s) =>\n"
       "    tanh(dotProduct(r, x) + 0.1 * dotProduct(s, state))))\n",
       {{"t", 64}, {"d", 48}, {"h", 48}},
       {{P::product, "near"}, {P::reduction, "default"}}},
      {"windows and weights in two dimensions",
       "def main(image: [h + 4][w + 4]f32, t: [5][5]f32): [h][w]f32 = image |> slide2D(5, 5, 1, 1) |> map2D(fun v =>\n"
       "  zip2D(v, t) |> map2D(fun (a, b) => square(a - b)) |> join |> sum)\n",
       {{"h", 6}, {"w", 32}},
       {{P::stencil, "strips"}}},
      {"generations of cells",
       "def main(cells: [h][w]i32): [h][w]i32 = cells |> padWrap2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1) |> map2D(fun v "
       "=>\n"
       "  let c = v[1][1] in let k = sum(join(v)) - c in if k == 3 then 1 else if k == 2 then c else 0)\n",
       {{"h", 5}, {"w", 32}},
       {{P::stencil, "strips"}}},
      {"neighbours of a point",
       "def main(x: [d + 2][h + 2][w + 2]f32): [d][h][w]f32 =\n"
       "  x |> slide3D(3, 3, 3, 1, 1, 1) |> map3D(fun v => 0.4 * v[1][1][1]\n"
       "    + 0.1 * (v[0][1][1] + v[2][1][1] + v[1][0][1] + v[1][2][1] + v[1][1][0] + v[1][1][2]))\n",
       {{"d", 3}, {"h", 4}, {"w", 21}},
       {{P::stencil, "strips"}}},
      {"the second least of a window",
       "def main(xs: [h][w]f32): [h][w]f32 = xs |> padClamp2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1) |> map2D(fun v =>\n"
       "  let (least, second) = join(v) |> reduce((inf, inf), fun (acc, x) =>\n"
       "    if x < acc.0 then (x, acc.0) else (acc.0, min(acc.1, x))) in second - 0.5 * least)\n",
       {{"h", 5}, {"w", 16}},
       {{P::stencil, "strips"}}},
      {"a bilateral filter",
       "def main(image: [h][w]f32, near: [3][3]f32): [h][w]f32 =\n"
       "  image |> padMirror2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1) |> map2D(fun v =>\n"
       "    let (all, weights) = zip(join(v), join(near)) |> reduce((0.0, 0.0), fun (acc, (x, g)) =>\n"
       "      let weight = g * exp(0.0 - square(x - v[1][1])) in (acc.0 + weight * x, acc.1 + weight)) in all / "
       "weights)\n",
       {{"h", 5}, {"w", 16}},
       {{P::stencil, "strips"}}},
      {"means of several sums at once, over the digits of an index",
       "def main(x: [h + 4][w + 4]f32): [h][w]f32 = generate2D(h, w, fun (i, j) =>\n"
       "  let (total, weight) = reduce((0.0, 0.0), fun ((t, s), k) => let a = k / 3 in let b = k % 3 in\n"
       "    let like = exp(-sum(join(generate2D(3, 3, fun (p, q) =>\n"
       "      square(x[i + 1 + p][j + 1 + q] - x[i + a + p][j + b + q]))))) in\n"
       "    (t + like * x[i + a + 1][j + b + 1], s + like), indices(9)) in total / weight)\n",
       {{"h", 5}, {"w", 16}},
       {{P::stencil, "strips"}}},
      {"a stencil of what a map and a stencil compute",
       "def twice(f, x) = x |> padClamp2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1) |> map2D(f)\n"
       "def main(x: [h][w]f32): [h][w]f32 = map2D(square, x) |> twice(fun s => s[0][1] + s[2][1] - s[1][0])\n"
       "  |> twice(fun s => s[1][0] * s[1][2])\n",
       {{"h", 70}, {"w", 75}},
       {{P::stencil, "strips"}}},
      {"products that sums weight, a factor of which leaves the inner sums",
       "def main(x: [i][k][l]f32, b: [k][r]f32, c: [l][r]f32): [i][r]f32 = x |> map(fun plane => generate(r, fun q =>\n"
       "  sum(generate(k, fun a => sum(generate(l, fun z => plane[a][z] * b[a][q] * c[z][q]))))))\n",
       {{"i", 12}, {"k", 40}, {"l", 24}, {"r", 16}},
       {{P::product, "tiles"}, {P::rows, "default"}}},
      {"products in batches, of what is computed for each",
       "def main(x: [b][n][d]f32, w: [f][d]f32, u: [f]f32, v: [d][f]f32): [b][n][d]f32 = map(fun r =>\n"
       "  let z = map(fun row => map(fun (e, c) => tanh(dotProduct(e, row) + c), zip(w, u)), r) |> map(matvec(v)) in\n"
       "  zip2D(r, z) |> map2D(fun (a, c) => a + c), x)\n",
       {{"b", 2}, {"n", 64}, {"d", 32}, {"f", 80}},
       {{P::product, "near"}, {P::product, "near"}}},
      {"two products of the same windows",
       "def main(x: [n]f32, w: [64]f32, c: [33][64]f32, s: [33][64]f32): [(n - 48) / 16][33]f32 =\n"
       "  slide(64, 16, x) |> map(fun frame =>\n"
       "    let f = map(fun (a, b) => a * b, zip(frame, w)) in\n"
       "    zip(c, s) |> map(fun (a, b) => square(dotProduct(a, f)) + square(dotProduct(b, f))))\n",
       {{"n", 1072}},
       {{P::stencil, "strips"}, {P::product, "near"}, {P::product, "near"}}},
      {"layers in batches, each of a pooled image",
       "def conv(x: [c][h][w]f32, k: [o][c][3][3]f32): [o][h][w]f32 =\n"
       "  let all = x |> map(pad2D(1, 1, 1, 1, 0.0)) |> map(slide2D(3, 3, 1, 1)) |> channelsLast in\n"
       "  channelsFirst(map2D(fun v => map(fun t => dotProduct(flatten3D(v), flatten3D(t)), k), all))\n"
       "def pooled(x: [c][2 * h][2 * w]f32) = map(fun p => map2D(fun b => maximum(join(b)), split2D(2, 2, p)), x)\n"
       "def main(x: [n][c][2 * h][2 * w]f32, k: [o][c][3][3]f32): [n][o][h][w]f32 = map(fun i => conv(pooled(i), k), "
       "x)\n",
       {{"n", 2}, {"c", 8}, {"h", 8}, {"w", 8}, {"o", 16}},
       {{P::rows, "default"}, {P::convolution, "copied"}}},
      {"rows that are joined after a reduction of each",
       "def main(x: [b][k][v]f32): [b]f32 = map(fun l =>\n"
       "  let t = join(map(fun row => let m = maximum(row) in map(fun e => e - m, row), l)) in\n"
       "  sum(t) + sum(map(square, t)), x)\n",
       {{"b", 3}, {"k", 4}, {"v", 100}},
       {{P::rows, "default"}, {P::rows, "default"}}},
      {"products with both components of rows of pairs",
       "def main(x: [m][k]f32, c: [n][k]f32, s: [n][k]f32): [m][n]f32 =\n"
       "  let basis = zip2D(c, s) in x |> map(fun f => basis |> map(fun row => let (a, b) = unzip(row) in\n"
       "    sqrt(square(dotProduct(f, a)) + square(dotProduct(f, b)))))\n",
       {{"m", 64}, {"n", 48}, {"k", 64}},
       {{P::product, "copied"}, {P::product, "copied"}}},
      {"a reduction of products that a zip completes",
       "def main(x: [n][d]f32, w: [m][d]f32, b: [m]f32): f32 =\n"
       "  sum(map(fun r => sum(map(fun (s, c) => square(s + c), zip(map(dotProduct(r), w), b))), x))\n",
       {{"n", 64}, {"m", 48}, {"d", 64}},
       {{P::product, "near"}, {P::reduction, "default"}}},
      {"an elementwise map of long rows, which no vector divides",
       "def main(x: [n][m]f32, y: [n][m]f32): [n][m]f32 = zip2D(x, y) |> map2D(fun (a, b) => 2.0 * a + b)\n",
       {{"n", 213}, {"m", 77}},
       {{P::elementwise, "vectors"}}},
      {"a recurrence whose steps are products",
       "def main(xs: [t][n][k]f32, w: [k][k]f32, h: [n][k]f32): [t][n][k]f32 =\n"
       "  scan(h, fun (h, x) => zipWith2D(fun (a, b) => tanh(a + b), x, product(h, w)), xs)\n" +
           product,
       {{"t", 3}, {"n", 32}, {"k", 64}},
       {{P::product, "tiles"}, {P::other, "default"}, {P::other, "default"}, {P::other, "default"}}},
      {"stencils of a state beside a number",
       "def main(m: [h][w]f32): [h][w]f32 = let (i, r) = iterate(20, fun (i, v) => (i + 1,\n"
       "  v |> pad2D(1, 1, 1, 1, 0.0) |> slide2D(3, 3, 1, 1) |> map2D(fun s => 0.25 * (s[0][1] + s[2][1] + "
       "s[1][0]))),\n"
       "  (0, m)) in r\n",
       {{"h", 70}, {"w", 256}},
       {{P::stencil, "strips"}, {P::other, "default"}, {P::other, "default"}}},
      {"softmax of small products, a head at a time",
       "def main(q: [h][t][d]f32, k: [h][t][d]f32, v: [h][t][d]f32): [h][t][d]f32 = zip(q, k, v) |> map(fun (q, k, v) "
       "=>\n"
       "  matmul(map(softmax, matmul(q, transpose(k))), v))\n",
       {{"h", 2}, {"t", 20}, {"d", 16}},
       {{P::rows, "default"}, {P::product, "tiles"}}},
      {"functions of channels",
       "def main(x: [h][w][3]f32, m: [3][3]f32): [h][w][3]f32 = x |> map2D(fun p => matvec(m, p) |> map(exp))\n",
       {{"h", 3}, {"w", 37}},
       {{P::rows, "vectors"}}},
      {"functions of what indices select",
       "def main(x: [n]f32): [n]f32 = generate(n, fun i => let k = i * 7 % n in sin(x[k]) * x[n - 1 - k] + "
       "cos(x[i]))\n",
       {{"n", 83}},
       {{P::elementwise, "vectors"}}},
      {"iterated functions",
       "def main(x: [n]f32): [n]f32 =\n"
       "  map(fun e => let (y, z) = iterate(5, fun (y, z) => (cos(y) + e, z * 0.5 + y), (e, 1.0)) in y + z, x)\n",
       {{"n", 83}},
       {{P::other, "vectors"}}},
      {"recurrences of rows",
       "def main(z: [b][t]f32): [b]f32 = map(fun r =>\n"
       "  let (x, p) = r |> reduce((0.0, 1.0), fun ((x, p), y) => let q = p + 0.01 in let k = q / (q + 0.1) in\n"
       "    (x + k * (y - x), (1.0 - k) * q)) in x + p, z)\n",
       {{"b", 37}, {"t", 9}},
       {{P::rows, "vectors"}}},
      {"a convolution of what a pooled one leaves, its windows named",
       "def conv(x: [c][h + 2][w + 2]f32, k: [o][c][3][3]f32): [o][h][w]f32 =\n"
       "  let windows = x |> slide3D(c, 3, 3, 1, 1, 1) |> join in\n"
       "  k |> map(fun f => windows |> map2D(fun v => dotProduct(flatten3D(v), flatten3D(f))))\n"
       "def main(x: [b][c][2 * h + 2][2 * w + 2]f32, k: [o][c][3][3]f32, l: [p][o][3][3]f32): [b][p][h][w]f32 =\n"
       "  x |> map(fun image =>\n"
       "    let y = conv(image, k) |> map(fun p => p |> slide2D(2, 2, 2, 2) |> map2D(fun v => maximum(join(v)))) in\n"
       "    conv(y |> map(fun p => pad2D(1, 1, 1, 1, 0.0, p)), l))\n",
       {{"b", 2}, {"c", 3}, {"h", 8}, {"w", 8}, {"o", 10}, {"p", 8}},
       {{P::convolution, "tiles"}, {P::stencil, "strips"}, {P::convolution, "tiles"}}},
      {"a stencil of rows beside one of columns",
       "def smooth(xs: [h][w]f32) = xs |> map(fun r => r |> padMirror(1, 1) |> slide(3, 1) |> map(sum))\n"
       "def main(xs: [c][h][w]f32): [c][h][w]f32 = xs |> map(fun p =>\n"
       "  let soft = p |> smooth |> transpose |> smooth |> transpose in zipWith2D(sub, p, soft))\n",
       {{"c", 2}, {"h", 11}, {"w", 13}},
       {{P::stencil, "strips"}}},
      {"a stencil whose result is turned",
       "def main(xs: [h][w]f32): [w][h]f32 = xs |> padWrap2D(2, 2, 2, 2) |> slide2D(5, 5, 1, 1)\n"
       "  |> map2D(fun v => maximum(join(v)) - minimum(join(v))) |> transpose\n",
       {{"h", 11}, {"w", 13}},
       {{P::stencil, "strips"}}},
      {"windows of running sums in a batch",
       "def main(x: [b][h][w]f32): [b][h][w]f32 = x |> map(fun p =>\n"
       "  map(cumsum, p) |> padClamp2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1) |> map2D(fun v => sum(join(v))))\n",
       {{"b", 2}, {"h", 11}, {"w", 32}},
       {{P::other, "default"}, {P::stencil, "strips"}}},
      {"states along time, in a batch, read in the order of time",
       "def main(a: [b][t][c]f32, u: [b][t][c]f32, g: [b][t][c]f32): [b][t][c]f32 =\n"
       "  zip(a, u, g) |> map(fun (as, us, gs) =>\n"
       "    let states = zip(transpose(as), transpose(us)) |> map(fun (xs, ys) =>\n"
       "      zip(xs, ys) |> scan(0.0, fun (h, (x, y)) => x * h + y)) in\n"
       "    zipWith2D(fun (h, x) => h * sigmoid(x), transpose(states), gs))\n",
       {{"b", 2}, {"t", 20}, {"c", 32}},
       {{P::other, "vectors"}}},
      {"long states along time, in a batch",
       "def main(a: [b][t][c]f32, g: [b][t][c]f32): [b][t][c]f32 =\n"
       "  zip(a, g) |> map(fun (as, gs) =>\n"
       "    zipWith2D(fun (h, x) => h * sigmoid(x), transpose(map(cumsum, transpose(as))), gs))\n",
       {{"b", 2}, {"t", 1030}, {"c", 16}},
       {{P::other, "vectors"}, {P::elementwise, "vectors"}}},
      {"running sums of rows in a batch, each with another row",
       "def main(a: [b][c][t]f32, g: [b][c][t]f32): [b][c][t]f32 =\n"
       "  zip(a, g) |> map(fun (as, gs) => zipWith2D(fun (h, x) => h * exp(x), map(cumsum, as), gs))\n",
       {{"b", 2}, {"c", 16}, {"t", 48}},
       {{P::other, "default"}}},
      {"running sums of rows in a batch, joined",
       "def main(a: [b][c][t]f32, g: [b][c][t]f32): [b][c][t]f32 =\n"
       "  zip(a, g) |> map(fun (as, gs) => zipWith(fun (h, x) => h * exp(x), join(map(cumsum, as)), join(gs)) |> "
       "split(t))\n",
       {{"b", 2}, {"c", 16}, {"t", 48}},
       {{P::other, "default"}, {P::elementwise, "vectors"}}},
      {"rows over their lengths, which have no names",
       "def main(xs: [n][m]f32): [n][m]f32 = xs |> map(fun row => row |> map(fun x => x / norm(row)))\n",
       {{"n", 70}, {"m", 48}},
       {{P::rows, "default"}}},
      {"cosines of all pairs, each with the norms of both",
       "def main(a: [n][d]f32, b: [m][d]f32): [n][m]f32 =\n"
       "  a |> map(fun x => b |> map(fun y => dotProduct(x, y) / (norm(x) * norm(y))))\n",
       {{"n", 48}, {"m", 64}, {"d", 48}},
       {{P::rows, "default"}, {P::product, "near"}, {P::rows, "default"}}},
      {"planes", planes, {{"d", 5}, {"h", 6}, {"w", 18}}, {{P::stencil, "strips"}}},
      {"signal", signal, {{"n", 64}}, {{P::stencil, "strips"}}},
  };
  return all;
}

inline std::map<std::string, Tensor> inputsOf(const Program& program) { return randomInputs(program, 7); }

// The largest error of the program derived part by part, run on the device, against the interpreter.
inline double errorOn(runtime::Device& device, const Case& c) {
  const Program program = load(c);
  const Workload workload = programWorkload(program, 0);
  const Variant variant = derive(workload, partsFamilyName);
  verify(variant.program);
  const auto inputs = inputsOf(program);
  const auto run = device.load(compileVariant(variant, variant.defaults))->run(inputs);
  return largestError(run.outputs, interpret(program, inputs));
}
inline constexpr double tolerance = 1e-5;

}  // namespace lift::parted
