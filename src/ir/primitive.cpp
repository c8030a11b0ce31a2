#include "lift/primitive.hpp"

#include <array>

#include "lift/diagnostic.hpp"

namespace lift {
namespace {

constexpr auto F = Dialect::functional;
constexpr auto O = Dialect::opencl;
constexpr auto S = Dialect::scalar;

using Data = Traits::Data;
using Writing = Traits::Writing;
using Loop = Traits::Loop;
using Level = Traits::Level;
using Memory = Traits::Memory;
using Work = Traits::Work;
using Lazy = Traits::Lazy;

// The kinds of primitives by their traits.
constexpr Traits valued(Work work, Lazy lazy = Lazy::none) {
  return {Data::computed, Writing::stored, Loop::none, Level::open, Memory::none, work, lazy};
}
constexpr Traits layout(Writing writing) {
  return {Data::moved, writing, Loop::none, Level::open, Memory::none, Work::none, Lazy::none};
}
constexpr Traits loop(Loop loop, Level level, Memory memory, Data data = Data::computed) {
  return {data, Writing::stored, loop, level, memory, Work::none, Lazy::none};
}
constexpr Traits kept(Memory memory) {
  return {Data::computed, Writing::stored, Loop::none, Level::open, memory, Work::none, Lazy::none};
}
constexpr Traits moved = layout(Writing::stored), parts = layout(Writing::inParts),
                 invertible = layout(Writing::inverted), cropping = layout(Writing::cropped);
constexpr Traits iteration{Data::computed, Writing::stored, Loop::iterate,  Level::sequential,
                           Memory::priv,   Work::none,      Lazy::functions};

// In the order of the enumeration; info() checks that once.
constexpr std::array<PrimInfo, primCount> table{{
    {Prim::map, "map", "map(f: t -> u, in: [n]t): [n]u", F, "applies f to every element",
     loop(Loop::map, Level::open, Memory::none, Data::moved)},
    {Prim::reduce, "reduce", "reduce(init: u, f: (u, t) -> u, in: [n]t): u", F,
     "folds from the left: f((f((init, x0)), x1)) …", loop(Loop::reduce, Level::open, Memory::none)},
    {Prim::scan, "scan", "scan(init: u, f: (u, t) -> u, in: [n]t): [n]u", F,
     "inclusive prefix fold: out[0] = f((init, x0)), out[i] = f((out[i-1], xi))",
     loop(Loop::scan, Level::open, Memory::priv)},
    {Prim::scanExclusive, "scanExclusive", "scanExclusive(init: u, f: (u, t) -> u, in: [n]t): [n]u", F,
     "exclusive prefix fold: out[0] = init, out[i] = f((out[i-1], x(i-1)))",
     loop(Loop::scan, Level::open, Memory::priv)},
    {Prim::reduceByIndex, "reduceByIndex", "reduceByIndex(init: [n]u, f: (u, t) -> u, in: [m](i32, t)): [n]u", F,
     "for every (i, x) in order, element i becomes f((element i, x)); pairs whose i is outside change nothing",
     loop(Loop::reduceByIndex, Level::open, Memory::priv)},
    {Prim::iterate, "iterate", "iterate(count: nat, f: t -> t, in: t): t", F,
     "applies f count times; an f that changes sizes is allowed when count is a constant", iteration},
    {Prim::iterateWhile, "iterateWhile", "iterateWhile(count: nat, while: t -> bool, f: t -> t, in: t): t", F,
     "applies f as long as the condition holds, at most count times", iteration},
    {Prim::ifThenElse, "if", "if(condition: bool, a: t, b: t): t", F,
     "a where the condition holds, else b, written if condition then a else b; the other is not evaluated",
     valued(Work::none, Lazy::branches)},
    {Prim::let, "let", "let(f: t -> u, in: t): u", F, "computes in once and binds it: let x = in in f(x)", moved},
    {Prim::id, "id", "id(in: t): t", F, "the value itself; under a mapping, a copy", invertible},
    {Prim::generate, "generate", "generate(count: nat, f: i32 -> t): [count]t where 1 <= count", F,
     "f(0), f(1), … f(count - 1)", loop(Loop::generate, Level::sequential, Memory::none, Data::moved)},
    {Prim::vectorize, "vectorize", "vectorize(width: nat, f: t -> u, in: <width>t): <width>u", F,
     "a function of scalars, or of tuples or arrays of scalars, lane by lane on vectors", valued(Work::none)},
    {Prim::zip, "zip", "zip(a: [n]t, b: [n]u): [n](t, u)", F, "array of tuples from two or more arrays of one length",
     parts},
    {Prim::unzip, "unzip", "unzip(in: [n](t, u)): ([n]t, [n]u)", F, "tuple of arrays from an array of tuples", parts},
    {Prim::tuple, "tuple", "tuple(a: t, b: u): (t, u)", F, "a tuple of two or more values, written (a, b)", parts},
    {Prim::get, "get", "get(component: nat, in: (t, u)): t", F, "a component of a tuple, written in.component", moved},
    {Prim::arrayOf, "arrayOf", "arrayOf(a: t, b: t): [2]t", F, "an array of one or more values, written [a, b]", parts},
    {Prim::split, "split", "split(size: nat, in: [n]t): [n / size][size]t where 1 <= size, size | n", F,
     "consecutive chunks of size elements", invertible},
    {Prim::join, "join", "join(in: [n][m]t): [n * m]t", F, "concatenates the rows", invertible},
    {Prim::slide, "slide",
     "slide(size: nat, step: nat, in: [n]t): [(n - size + step) / step][size]t where 1 <= size, 1 <= step, size <= n",
     F, "windows of size elements, one every step; a trailing partial window is dropped", moved},
    {Prim::slideStrict, "slideStrict",
     "slideStrict(size: nat, step: nat, in: [n]t): [(n - size) / step + 1][size]t where 1 <= size, size <= n, step | n "
     "- size",
     F, "slide whose windows must cover the input exactly", moved},
    {Prim::pad, "pad",
     "pad(left: nat, right: nat, value: t, in: [n]t): [left + n + right]t where 1 <= left + n + right", F,
     "a constant value on both sides (a scalar also pads rows); negative amounts crop", moved},
    {Prim::padClamp, "padClamp",
     "padClamp(left: nat, right: nat, in: [n]t): [left + n + right]t where 1 <= left + n + right", F,
     "repeats the edge elements; negative amounts crop", moved},
    {Prim::padMirror, "padMirror",
     "padMirror(left: nat, right: nat, in: [n]t): [left + n + right]t where 1 <= left + n + right", F,
     "mirrors at the edges, edge included: … x1 x0 | x0 x1 …; negative amounts crop", moved},
    {Prim::padWrap, "padWrap",
     "padWrap(left: nat, right: nat, in: [n]t): [left + n + right]t where 1 <= left + n + right", F,
     "continues periodically; negative amounts crop", moved},
    {Prim::transpose, "transpose", "transpose(in: [n][m]t): [m][n]t", F, "exchanges the two outer dimensions",
     invertible},
    {Prim::reorder, "reorder", "reorder(by: index, in: [n]t): [n]t", F,
     "permutes: out[i] = in[f(i)] for a named index function f", invertible},
    {Prim::concat, "concat", "concat(a: [n]t, b: [m]t): [n + m]t", F, "a followed by b", parts},
    {Prim::take, "take", "take(count: nat, in: [n]t): [count]t where count <= n, 1 <= count", F,
     "the first count elements", cropping},
    {Prim::drop, "drop", "drop(count: nat, in: [n]t): [n - count]t where count <= n - 1", F, "all but the first count",
     moved},
    {Prim::at, "at", "at(index: i32, in: [n]t): t", F, "the element at a computed index, written in[index]",
     valued(Work::one)},
    {Prim::asVector, "asVector", "asVector(width: nat, in: [n]t): [n / width]<width>t where width | n", F,
     "vectors of width consecutive scalars", invertible},
    {Prim::asScalar, "asScalar", "asScalar(in: [n]<w>t): [n * w]t", F, "the scalars of the vectors in order",
     invertible},
    {Prim::op, "op", "add(a: t, b: t): t", S, "a scalar operation of the operations table, lane by lane on vectors",
     valued(Work::operation)},
    {Prim::convert, "convert", "f32(in: t): f32", S, "conversion to the named scalar type", valued(Work::one)},
    {Prim::splat, "splat", "splat(width: nat, in: t): <width>t", S, "one scalar in every lane", valued(Work::none)},
    {Prim::dot, "dot", "dot(a: <w>t, b: <w>t): t", S,
     "sum of the products of the lanes; of more than four, the halves are added first", valued(Work::one)},
    {Prim::anyLane, "anyLane", "anyLane(in: <w>bool): bool", S, "whether a lane holds", valued(Work::one)},
    {Prim::mapGlb, "mapGlb", "mapGlb(dim: nat, f: t -> u, in: [n]t): [n]u", O,
     "map over all work-items of dimension dim", loop(Loop::map, Level::global, Memory::global)},
    {Prim::mapWrg, "mapWrg", "mapWrg(dim: nat, f: t -> u, in: [n]t): [n]u", O, "map over work-groups of dimension dim",
     loop(Loop::map, Level::group, Memory::global)},
    {Prim::mapLcl, "mapLcl", "mapLcl(dim: nat, f: t -> u, in: [n]t): [n]u", O,
     "map over the work-items of a group in dimension dim", loop(Loop::map, Level::local, Memory::local)},
    {Prim::reduceLcl, "reduceLcl", "reduceLcl(init: u, f: (u, t) -> u, in: [n]t): u", O,
     "reduce by the work-items of a group (in dimension 0), which then put together what each has",
     loop(Loop::reduce, Level::local, Memory::none)},
    {Prim::reduceByIndexLcl, "reduceByIndexLcl", "reduceByIndexLcl(init: [n]u, f: (u, t) -> u, in: [m](i32, t)): [n]u",
     O, "reduceByIndex by the work-items of a group (in dimension 0), in local memory, each update at once",
     loop(Loop::reduceByIndex, Level::local, Memory::local)},
    {Prim::reduceByIndexGlb, "reduceByIndexGlb", "reduceByIndexGlb(init: [n]u, f: (u, t) -> u, in: [m](i32, t)): [n]u",
     O, "reduceByIndex by all work-items (of dimension 0), outside of every map, in global memory, each update at once",
     loop(Loop::reduceByIndex, Level::global, Memory::global)},
    {Prim::mapSeq, "mapSeq", "mapSeq(f: t -> u, in: [n]t): [n]u", O, "map in a sequential loop",
     loop(Loop::map, Level::sequential, Memory::priv)},
    {Prim::mapSeqUnroll, "mapSeqUnroll", "mapSeqUnroll(factor: nat, f: t -> u, in: [n]t): [n]u", O,
     "mapSeq unrolled by factor; 0 unrolls completely", loop(Loop::map, Level::sequential, Memory::priv)},
    {Prim::reduceSeq, "reduceSeq", "reduceSeq(init: u, f: (u, t) -> u, in: [n]t): u", O,
     "reduce in a sequential loop with the accumulator in private memory",
     loop(Loop::reduce, Level::sequential, Memory::none)},
    {Prim::reduceSeqUnroll, "reduceSeqUnroll", "reduceSeqUnroll(factor: nat, init: u, f: (u, t) -> u, in: [n]t): u", O,
     "reduceSeq unrolled by factor; 0 unrolls completely", loop(Loop::reduce, Level::sequential, Memory::none)},
    {Prim::scanSeq, "scanSeq", "scanSeq(init: u, f: (u, t) -> u, in: [n]t): [n]u", O, "scan in a sequential loop",
     loop(Loop::scan, Level::sequential, Memory::priv)},
    {Prim::scanExclusiveSeq, "scanExclusiveSeq", "scanExclusiveSeq(init: u, f: (u, t) -> u, in: [n]t): [n]u", O,
     "scanExclusive in a sequential loop", loop(Loop::scan, Level::sequential, Memory::priv)},
    {Prim::toGlobal, "toGlobal", "toGlobal(in: t): t", O,
     "the value is stored in global memory; outside of every map it starts a new kernel", kept(Memory::global)},
    {Prim::toImage, "toImage", "toImage(in: t): t", O,
     "toGlobal into an image, which kernels read in vectors of four floats, by a way of their own on many GPUs",
     kept(Memory::global)},
    {Prim::toLocal, "toLocal", "toLocal(in: t): t", O, "the value is stored in the work-group's local memory",
     kept(Memory::local)},
    {Prim::toPrivate, "toPrivate", "toPrivate(in: t): t", O, "the value is stored in private memory (registers)",
     kept(Memory::priv)},
}};

constexpr std::array<IndexFnInfo, indexFnCount> indexFns{{
    {IndexFn::reverse, "reverse", 0, "i -> n - 1 - i", "last element first"},
    {IndexFn::stride, "stride", 1, "i -> i / (n / s) + s * (i % (n / s))",
     "every s-th element first, so that neighbouring chunks of n / s elements interleave; s divides n"},
    {IndexFn::unstride, "unstride", 1, "i -> i / s + (n / s) * (i % s)", "the inverse of stride(s); s divides n"},
    {IndexFn::shift, "shift", 1, "i -> (i + k) % n", "rotates left by k"},
    {IndexFn::transpose, "transpose", 2, "i -> (i % r) * c + i / r",
     "a flat row-major r by c array read column by column; r * c = n"},
}};

}  // namespace

const PrimInfo& info(Prim prim) {
  const PrimInfo& row = table[static_cast<std::size_t>(prim)];
  ensure(row.prim == prim, "the primitives table is out of order");
  return row;
}

std::optional<Prim> primNamed(std::string_view name) {
  for (const PrimInfo& row : table)
    if (row.name == name && row.prim != Prim::op && row.prim != Prim::convert) return row.prim;
  return std::nullopt;
}

const IndexFnInfo& info(IndexFn fn) {
  const IndexFnInfo& row = indexFns[static_cast<std::size_t>(fn)];
  ensure(row.fn == fn, "the table of index functions is out of order");
  return row;
}

std::optional<IndexFn> indexFnNamed(std::string_view name) {
  for (const IndexFnInfo& row : indexFns)
    if (row.name == name) return row.fn;
  return std::nullopt;
}

}  // namespace lift
