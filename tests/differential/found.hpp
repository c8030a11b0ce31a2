// Programs that the judges once disagreed about, as they were shrunk.
#pragma once

namespace lift::differential {

struct Found {
  const char* what;
  const char* text;
};

inline constexpr Found found[] = {
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
    {"indices that wrap as integers do, before they are compared, divided and used as keys", R"(
def main(x: [48]i32) =
  (generate(48, fun i => if i + 2147483640 < 0 then 1 else 0), generate(48, fun i => (i * 1000000007) % 7),
   generate(48, fun i => min(i * 1103515245, 5)), generate(48, fun i => x[abs(i * 1000000007 % 7)]),
   reduceByIndex(fill(7, 1), fun (a, v) => a * 3 + v, zip(generate(48, fun i => (i * 1103515245 + 12345) % 7), x)))
)"},
    {"sizes whose product wraps", R"(
def main(x: [n]i32) = map(fun v => v + (n * n * 500000000 : nat) / 7, x)
)"},
    {"integers that wrap: in comparisons, conversions, and before they are divided", R"(
def main(x: [4]i32, y: [4]i64, z: [8]i8, w: [4]u16) =
  (map(fun v => let top = max(v, 2147483647) in (if top + 1 > top then 1 else 0, top * 2 / 2, -(-top - 1), u64(top * top)), x),
   map(fun v => let top = max(v, 9223372036854775807) in top + 1 > top, y),
   asScalar(map(vectorize(4, fun v => max(v, 127) + 1), asVector(4, z))),
   map(fun v => u32(max(v, 65535) * max(v, 65535)), w))
)"},
    {"accumulators of numbers and arrays, each computed of what the others were", R"(
def main(x: [5]i32, y: [2][3]i32) =
  (reduce((0, [0, 0]), fun ((s, a), v) => (s + v, map(fun w => w + s, a)), x),
   reduce(((1, 2), [0, 0]), fun (((s, t), a), v) => ((t, s), a), x),
   scan((1, 2, generate(3, fun i => i)), fun ((s, t, a), v) => (t + v, s * 3, map(fun w => w * 3 + s - t, a)), x),
   map(fun row => reduce((1, [0, 0]), fun ((s, a), v) => (s * v, map(fun w => w + s, a)), row), y))
)"},
    {"a reduction that starts from an accumulator and reads it", R"(
def main(x: [2][3]i32) =
  (reduce([1, 2], fun (s, row) => reduce(s, fun (t, v) => zipWith(add, t, s), row), x),
   reduce([1, 2], fun (s, row) => let t = reorder(reverse, s) in reduce(s, fun (u, v) => zipWith(add, u, t), row), x),
   reduce([1, 2], fun (s, row) => let t = map(fun k => [5, 7, 11][abs(k) % 3], row) in
     reduce(s, fun (u, v) => map(fun a => a * v + t[0] + t[2], u), row), x))
)"},
    {"vectors of what is the same in all lanes", R"(
def main(x: [8]i32) =
  let s = sum(x) in
  let r = unzip(map(vectorize(4, fun v => (v + 1, 7)), asVector(4, x))) in
  (asScalar(map(vectorize(4, fun v => 7), asVector(4, x))), asScalar(map(vectorize(4, fun v => s), asVector(4, x))),
   asScalar(r.1), map(fun v => dot(vectorize(4, fun a => 3)(v), v), asVector(4, x)))
)"},
    {"&& whose second operand fails where the first does not hold, in parts of a reduction", R"(
def divides(i, x) = 12 / (if i > 4096 then 0 * x[i] else if i > 4092 then -12 else 1) > 0
def main(x: [8192]i32) =
  (reduce(true, fun (ok, i) => ok && divides(i, x), generate(8192, id)),
   scan(true, fun (ok, i) => ok && divides(i, x), generate(8192, id))[8191],
   reduceByIndex(fill(4, true), fun (ok, i) => ok && divides(i, x), generate(8192, fun i => (i % 4, i))))
)"},
    {"the least integer: over -1, its absolute value, in vectors, too", R"(
def main(x: [8]i32, y: [8]i64) =
  (map(fun v => let least = min(v, lowest) in
     (least % (v - v - 1), least / (v - v - 1), abs(least) < 0, abs(v) + abs(least)), x),
   map(fun v => let least = min(v, lowest) in (least % (v - v - 1), least / (v - v - 1), abs(least) < 0), y),
   asScalar(map(vectorize(4, fun v =>
     min(v, lowest) % (v - v - 1) + (if abs(min(v, lowest)) < 0 then 1 else 2)), asVector(4, x))))
)"},
    {"functions that a definition makes, as arguments of definitions and as names", R"(
def compose(f, g) = fun x => f(g(x))
def rows(f) = map(map(f))
def last(f) = let h = compose(f, abs) in h
def scaled(f, k) = let g = fun (h, y) => h(y) * k in g(compose(f, abs), 2.0)
def main(x: [2][3]f32) =
  let h = rows(compose(sqrt, fun y => y * y + 1.0)) in
  (h(h(x)), map(sum, rows(compose(compose(sqrt, abs), compose(abs, floor)))(x)),
   scaled(compose(sqrt, abs), x[0][0]), last(compose(abs, ceil))(x[1][1]), rows(compose(i32, abs))(x))
)"},
    {"the last value for each index, of rows that are kept, on a GPU", R"(
def main(x: [1][1]f32) = x |> map(scan(0.25, fun (a, b) => a * 0.5 + b)) |> map(fun v =>
  reduceByIndex(generate(1, fun b => f32(b) * 0.5), fun (a, x) => x, zip(generate(1, fun i => i32(v[i] * 5.0)), v)))
)"},
    {"a sum of an array that is named behind a number that is", R"(
def main(x: [n]f32) =
  let a = map(fun v => v - sum(x) / 8.0, x) in
  let b = map(fun v => v - sum(a) / 8.0, a) in
  (sum(b), let t = maximum(a) in let c = map(fun v => v - t, a) in sum(zipWith(mul, c, reverse(c))))
)"},
    {"comparisons of vectors, and what is chosen and counted by them", R"(
def main(x: [8]i32, y: [8]f32) =
  let v = asVector(4, x) in let w = asVector(4, y) in
  (map(fun v => v < splat(4, 0), v), map(fun v => anyLane(v < splat(4, -3) || !(v >= splat(4, -5))), v),
   asScalar(map(fun v => select(v < splat(4, 0), v, v + v), v)), reduce(splat(4, true), fun (a, v) => a && v == v, w),
   asScalar(scan(splat(4, false), fun (a, v) => a || v < splat(4, 0.5), w)), asScalar(map(lt, zip(w, reverse(w)))),
   asScalar(map(fun v => select(0 < v && v != 3, 1.0, 2.0), v)))
)"},
    {"changes by index of what others leave that were computed in parallel", R"(
def main(x: [n]i32, y: [n]i32) =
  (scatter(scatter(fill(2 * n, 0), map(fun v => v + count(fun w => w < v, y), x), x), y, y),
   reduceByIndex(reduceByIndex(fill(n, 0), add, zip(map(fun v => v + count(fun w => w < v, y), x), x)), add, zip(y, x)))
)"},
    {"functions of lanes that have loops, states and arrays of their own", R"(
def main(x: [8]i32, y: [2][2]i32) =
  let v = asVector(4, x) in
  (asScalar(map(vectorize(4, fun k => iterateWhile(9, fun w => w > 10 || w < -10, fun w => w / 2, k * 9)), v)),
   asScalar(map(vectorize(4, fun k => iterate(3, fun w => w / 2 + 1, k)), v)),
   asScalar(map(vectorize(4, fun k => reduce(k, fun (s, w) => if w > s then s + w else s - 1, x)), v)),
   asScalar(map(vectorize(4, fun k => scan(k, fun (s, w) => if w > s then s + w else s - 1, x)[3]), v)),
   map(asScalar, transpose(map(vectorize(4, fun k => scan(k, fun (s, w) => if w > s then s + w else s - 1, take(3, x))), v))),
   map(vectorize(2, fun row => (reduce(1, fun (s, w) => s * w - 1, row), row[abs(row[0]) % 2])), map(asVector(2), [join(y)]))
     |> map(fun (a, b) => asScalar([a, b])))
)"},
    {"work-groups in one branch, work-items of the whole range in the other", R"(
def main(x: [8][2]i32, at: [2]i32, y: [8][33]i32) =
  if at[0] < 100 then mapWrg(0, fun row =>
    mapLcl(0, id, toLocal(reduceByIndexLcl(mapLcl(0, id, fill(33, 0)), add, zip([1, 5], row)))), x)
  else mapGlb(1, mapGlb(0, id), y)
)"},
    {"an array that a group's work-items put together of a number that takes a loop", R"(
def main(x: [n][3][1]f32) =
  map(fun v0 => let v4 = iterate(n, fun v3 => map(fun r => map(fun a => a * 0.5 + 1.0, r), v3),
      map(fun v1 => reduceByIndex(generate(11, fun b => f32(b) * 0.5), fun (a, x) => a * 0.5 + x,
        zip(generate(1, fun i => (i * 1 + 1) % 13 - 1), v1)), v0)) in
    (map(fun a => a * 0.5 + 1.0, join(v4)), v4, [0.5, maximum(join(v4))]), x)
)"},
    {"steps that begin with an array of one row, of whose elements work-items compute one each", R"(
def main(x: [1][3]f32) =
  iterate(1,
    fun v => scan([0.5, 1.0, 2.0], fun (a, r) => map(fun (p, q) => p * 0.5 + q, zip(a, r)), v),
    map(fun r => map(fun a => a * 0.5 + 1.0, r), x))
)"},
};

}  // namespace lift::differential
