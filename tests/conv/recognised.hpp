// Convolutions written in many ways, none of which says that it is one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lift/conv_operator.hpp"
#include "lift/inputs.hpp"
#include "lift/interpreter.hpp"
#include "lift/parts.hpp"
#include "lift/text.hpp"

namespace lift::recognised {

struct Case {
  std::string name, text;
  std::vector<std::string> layers;  // of the parts that are convolutions, in order; "" of others
};

inline const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"channels last, taps outermost",
       "def main(x: [9][10][8]f32, k: [16][3][3][8]f32, b: [16]f32): [9][10][16]f32 =\n"
       "  x |> pad2D(1, 1, 1, 1, fill(8, 0.0)) |> slide2D(3, 3, 1, 1) |> map2D(fun window => zip(k, b) |>\n"
       "    map(fun (kernel, bias) => bias + sum(zip(window, kernel) |> map(fun (ws, ks) =>\n"
       "      sum(zip(ws, ks) |> map(fun (p, q) => dotProduct(p, q)))))))\n",
       {"ic8ih9iw10oc16kh3ph1"}},
      {"channels first, channels outermost",
       "def main(x: [8][7][9]f32, k: [16][8][3][3]f32): [16][5][7]f32 =\n"
       "  let windows = x |> slide3D(8, 3, 3, 1, 1, 1) |> join in\n"
       "  k |> map(fun kernel => windows |> map2D(fun v => dotProduct(flatten3D(v), flatten3D(kernel))))\n",
       {"ic8ih7iw9oc16kh3 with input nchw, weights oihw, output nchw"}},
      {"planes of channels in turn, channels as the outer sum",
       "def main(x: [6][8][8]f32, k: [4][6][3][3]f32): [4][6][6]f32 =\n"
       "  let windows = x |> map(slide2D(3, 3, 1, 1)) |> transpose |> map(transpose) in\n"
       "  k |> map(fun kernel => windows |> map2D(fun channels =>\n"
       "    sum(zip(channels, kernel) |> map(fun (w, q) => dotProduct(join(w), join(q))))))\n",
       {"ic6ih8oc4kh3 with input nchw, weights oihw, output nchw"}},
      {"planes added up, each a filter of one channel",
       "def main(x: [6][8][8]f32, k: [4][6][3][3]f32): [4][6][6]f32 = k |> map(fun kernel => zip(x, kernel)\n"
       "    |> map(fun (plane, t) => slide2D(3, 3, 1, 1, plane) |> map2D(fun w => dotProduct(join(w), join(t))))\n"
       "    |> reduce(fill2D(6, 6, 0.0), zipWith2D(add)))\n",
       {"ic6ih8oc4kh3 with input nchw, weights oihw, output nchw"}},
      {"by indices, zeros where they are outside",
       "def main(x: [7][9][8]f32, k: [3][3][8][16]f32): [7][9][16]f32 =\n"
       "  let at = fun (i, j, m) => if i < 0 || j < 0 || i >= 7 || j >= 9 then 0.0 else x[i][j][m] in\n"
       "  generate3D(7, 9, 16, fun (i, j, l) => sum(generate(3, fun a => sum(generate(3, fun b =>\n"
       "    sum(generate(8, fun m => at(i + a - 1, j + b - 1, m) * k[a][b][m][l])))))))\n",
       {"ic8ih7iw9oc16kh3ph1"}},
      {"bounds one by one, written the other way round; a step of 2",
       "def main(x: [7][9][8]f32, k: [3][3][8][16]f32): [4][4][16]f32 =\n"
       "  generate3D(4, 4, 16, fun (i, j, l) => sum(generate(3, fun a => sum(generate(3, fun b =>\n"
       "    let row = 2 * i + a in let column = b + j * 2 in sum(generate(8, fun m =>\n"
       "      (if 1 <= row && row - 1 < 7 then if !(column < 1) && 10 > column then x[row - 1][column - 1][m] else "
       "0.0\n"
       "        else 0.0) * k[a][b][m][l])))))))\n",
       {"ic8ih7iw9oc16oh4ow4kh3sh2ph1pw1"}},
      {"bounds that leave rows out",
       "def main(x: [9][9][8]f32, k: [3][3][8][16]f32): [9][9][16]f32 =\n"
       "  let at = fun (i, j, m) => if i < 2 || j < 0 || i > 6 || j >= 9 then 0.0 else x[i][j][m] in\n"
       "  generate3D(9, 9, 16, fun (i, j, l) => sum(generate(3, fun a => sum(generate(3, fun b =>\n"
       "    sum(generate(8, fun m => at(i + a - 1, j + b - 1, m) * k[a][b][m][l])))))))\n",
       {"ic8ih5iw9oc16oh9ow9kh3ph3pw1"}},
      {"windows read from their ends: the gradient of a layer's inputs",
       "def main(k: [8][6][3][3]f32, g: [2][8][7][9]f32): [2][6][7][9]f32 =\n"
       "  let padded = map2D(pad2D(1, 1, 1, 1, 0.0), g) in\n"
       "  generate(2, fun n => generate3D(6, 7, 9, fun (c, y, x) => sum(generate(8, fun o => sum(join(generate2D(3, "
       "3,\n"
       "    fun (i, j) => k[o][c][i][j] * padded[n][o][y + 2 - i][x + 2 - j])))))))\n",
       {"mb2ic8ih7iw9oc6kh3ph1 with input nchw, output nchw"}},
      {"rows read from their ends, columns not, dilated",
       "def main(w: [8][3][3][4]f32, x: [12][11][4]f32): [8][9][8]f32 =\n"
       "  generate3D(8, 9, 8, fun (y, z, k) => sum(generate(3, fun i => sum(generate(3, fun j => sum(generate(4,\n"
       "    fun c => w[k][i][j][c] * x[y + 2 * (2 - i)][z + j][c])))))))\n",
       {"ic4ih12iw11oc8oh8ow9kh3kw3dh1dw0ph0pw0"}},
      {"taps as quotient and remainder of one index, planes in a map",
       "def main(x: [6][8][9]f32, k: [4][6][3][3]f32): [4][6][7]f32 = k |> map(fun kernel =>\n"
       "  generate2D(6, 7, fun (i, j) => sum(zip(x, kernel) |> map(fun (plane, t) =>\n"
       "    sum(generate(9, fun e => plane[i + e / 3][j + e % 3] * t[e / 3][e % 3]))))))\n",
       {"ic6ih8iw9oc4kh3 with input nchw, weights oihw, output nchw"}},
      {"images in a map, two layers with taps and channels in one index",
       "def conv(x: [h][w][c]f32, k: [3][3][c][o]f32): [h][w][o]f32 =\n"
       "  let at = fun (i, j, m) => if i < 0 || j < 0 || i >= h || j >= w then 0.0 else x[i][j][m] in\n"
       "  generate3D(h, w, o, fun (i, j, l) => sum(generate(9 * c, fun t =>\n"
       "    let a = t / (3 * c) in let b = t / c % 3 in at(i + a - 1, j + b - 1, t % c) * k[a][b][t % c][l])))\n"
       "def main(x: [2][7][11][16]f32, k: [3][3][16][16]f32, s: [16]f32, q: [3][3][16][16]f32): [2][7][11][16]f32 =\n"
       "  x |> map(fun image =>\n"
       "    let y = conv(image, k) |> map2D(fun pixel => zip(pixel, s) |> map(fun (e, f) => relu(e * f))) in\n"
       "    zipWith3D(add, image, conv(y, q)))\n",
       {"mb2ic16ih7iw11oc16kh3ph1", "mb2ic16ih7iw11oc16kh3ph1"}},
      {"stride 2",
       "def main(x: [11][12][4]f32, k: [8][3][3][4]f32): [6][6][8]f32 =\n"
       "  x |> pad2D(0, 1, 1, 1, fill(4, 0.0)) |> slide2D(3, 3, 2, 2) |> map2D(fun window =>\n"
       "    k |> map(fun kernel => dotProduct(flatten3D(window), flatten3D(kernel))))\n",
       {"ic4ih11iw12oc8oh6ow6kh3kw3sh2ph1pw0"}},
      {"dilation 2",
       "def main(x: [10][11][4]f32, k: [8][3][3][4]f32): [6][7][8]f32 =\n"
       "  x |> slide2D(5, 5, 1, 1) |> map2D(fun window =>\n"
       "    let taps = window |> slide(1, 2) |> join |> map(fun row => join(slide(1, 2, row))) in\n"
       "    k |> map(fun kernel => dotProduct(flatten3D(taps), flatten3D(kernel))))\n",
       {"ic4ih10iw11oc8kh3dh1"}},
      {"depthwise, channels last",
       "def main(x: [8][9][12]f32, k: [12][3][3]f32, b: [12]f32): [8][9][12]f32 =\n"
       "  x |> pad2D(1, 1, 1, 1, fill(12, 0.0)) |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
       "    zip(window |> join |> transpose, k, b) |> map(fun (w, kernel, bias) => dotProduct(w, join(kernel)) + "
       "bias))\n",
       {"g12ic12ih8iw9oc12kh3ph1"}},
      {"depthwise, channels first",
       "def main(x: [6][8][9]f32, k: [6][3][3]f32): [6][6][7]f32 =\n"
       "  zip(x, k) |> map(fun (plane, kernel) => plane |> slide2D(3, 3, 1, 1) |> map2D(fun w =>\n"
       "    dotProduct(join(w), join(kernel))))\n",
       {"g6ic6ih8iw9oc6kh3 with input nchw, output nchw"}},
      {"groups",
       "def main(x: [7][8][8]f32, k: [2][6][3][3][4]f32): [7][8][12]f32 =\n"
       "  x |> pad2D(1, 1, 1, 1, fill(8, 0.0)) |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
       "    zip(window |> map2D(split(4)) |> map(transpose) |> transpose, k) |> map(fun (w, kernels) =>\n"
       "      kernels |> map(fun kernel => dotProduct(flatten3D(w), flatten3D(kernel)))) |> join)\n",
       {"g2ic8ih7iw8oc12kh3ph1"}},
      {"one dimension",
       "def main(x: [20][4]f32, k: [8][5][4]f32): [20][8]f32 =\n"
       "  x |> pad(2, 2, fill(4, 0.0)) |> slide(5, 1) |> map(fun window =>\n"
       "    k |> map(fun kernel => dotProduct(join(window), join(kernel))))\n",
       {"ic4ih1iw20oc8kh1kw5ph0pw2"}},
      {"odd channels, kernels in front of pixels",
       "def main(x: [7][6][3]f32, k: [5][3][3][3]f32): [5][5][4]f32 =\n"
       "  k |> map(fun kernel => x |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
       "    dotProduct(flatten3D(window), flatten3D(kernel))))\n",
       {"ic3ih7iw6oc5kh3 with output nchw"}},
      {"batch 2, relu, a residual and scales",
       "def main(x: [2][6][7][4]f32, k: [8][3][3][4]f32, s: [8]f32, t: [8]f32, r: [2][6][7][8]f32): [2][6][7][8]f32 =\n"
       "  zip(x, r) |> map(fun (image, rs) =>\n"
       "    zip2D(image |> pad2D(1, 1, 1, 1, fill(4, 0.0)) |> slide2D(3, 3, 1, 1), rs) |> map2D(fun (window, rest) =>\n"
       "      zip(k, s, t, rest) |> map(fun (kernel, scale, shift, more) =>\n"
       "        relu(dotProduct(flatten3D(window), flatten3D(kernel)) * scale + shift + more))))\n",
       {"mb2ic4ih6iw7oc8kh3ph1"}},
      {"rows by rows: 3 x 1",
       "def main(x: [9][8][4]f32, k: [8][3][4]f32): [7][8][8]f32 =\n"
       "  x |> slide(3, 1) |> map(fun rows => transpose(rows) |> map(fun w =>\n"
       "    k |> map(fun kernel => dotProduct(join(w), join(kernel)))))\n",
       {"ic4ih9iw8oc8kh3kw1"}},
      {"a network",
       "def conv(k, b, x) = x |> pad2D(1, 1, 1, 1, fill(8, 0.0)) |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
       "  zip(k, b) |> map(fun (kernel, bias) => relu(bias + dotProduct(flatten3D(window), flatten3D(kernel)))))\n"
       "def pool(x) = x |> slide2D(2, 2, 2, 2) |> map2D(fun w => w |> join |> transpose |> map(maximum))\n"
       "def main(x: [2][16][16][8]f32, k1: [8][3][3][8]f32, b1: [8]f32, k2: [16][3][3][8]f32, b2: [16]f32,\n"
       "         m: [10][1024]f32): [2][10]f32 =\n"
       "  x |> map(fun image => image |> conv(k1, b1) |> conv(k2, b2) |> pool) |> map(flatten3D)\n"
       "    |> map(fun v => m |> map(fun row => dotProduct(row, v)))\n",
       {"mb2ic8ih16oc8kh3ph1", "mb2ic8ih16oc16kh3ph1", "", ""}},
      // What looks like one.
      {"other weights at each place",
       "def main(x: [8][9]f32, k: [6][7][3][3]f32): [6][7]f32 =\n"
       "  zip2D(x |> slide2D(3, 3, 1, 1), k) |> map2D(fun (w, kernel) => dotProduct(join(w), join(kernel)))\n",
       {""}},
      {"windows that are read in both directions",
       "def main(w: [3]f32, x: [12]f32): [10]f32 =\n"
       "  generate(10, fun i => sum(generate(3, fun j => w[j] * x[i + j] * x[i + 2 - j])))\n",
       {""}},
      {"windows that wrap",
       "def main(x: [8][8][4]f32, k: [4][3][3][4]f32): [8][8][4]f32 =\n"
       "  x |> padWrap2D(1, 1, 1, 1) |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
       "    k |> map(fun kernel => dotProduct(flatten3D(window), flatten3D(kernel))))\n",
       {""}},
      {"padding that is not zero",
       "def main(x: [8][8][4]f32, k: [4][3][3][4]f32): [8][8][4]f32 =\n"
       "  x |> pad2D(1, 1, 1, 1, fill(4, 1.0)) |> slide2D(3, 3, 1, 1) |> map2D(fun window =>\n"
       "    k |> map(fun kernel => dotProduct(flatten3D(window), flatten3D(kernel))))\n",
       {""}},
      {"by indices, ones where they are outside",
       "def main(x: [7][9][8]f32, k: [3][3][8][16]f32): [7][9][16]f32 =\n"
       "  let at = fun (i, j, m) => if i < 0 || j < 0 || i >= 7 || j >= 9 then 1.0 else x[i][j][m] in\n"
       "  generate3D(7, 9, 16, fun (i, j, l) => sum(generate(3, fun a => sum(generate(3, fun b =>\n"
       "    sum(generate(8, fun m => at(i + a - 1, j + b - 1, m) * k[a][b][m][l])))))))\n",
       {""}},
      {"a product", "def main(a: [12][8]f32, b: [8][16]f32): [12][16]f32 = matmul(a, b)\n", {""}},
  };
  return all;
}

inline Program load(const Case& c) { return parseProgram(*addSource(c.name + ".lift", c.text)); }

inline void registerConv() {
  static const bool once = [] {
    registerOperator(convOperator());
    return true;
  }();
  static_cast<void>(once);
}

inline std::map<std::string, Tensor> inputsOf(const Program& program) { return randomInputs(program, 7); }

}  // namespace lift::recognised
